/* status.c: how the job stands, for `hark ps` and for metrics. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../agent/lease.h"
#include "../store/descriptor.h"
#include "hark/registry.h"

/* ---- what there is to say -------------------------------------------------------------------- */

static uint32_t job_state(const struct supervisor *s)
{
    switch (s->phase) {
    case FINISHING: return HARK_JOB_FINISHING;
    case ENDING: return HARK_JOB_ENDING;
    default: break;
    }
    for (uint32_t i = 0; s->host && i < s->o->hosts; i++)
        if (!s->host[i].was_ready) return HARK_JOB_STARTING; /* one that is back can wait */
    return HARK_JOB_RUNNING;
}

static uint32_t process_state(const struct child *c)
{
    const struct supervisor *s = c->s;
    const bool rank = c->rank != HARK_RECOVERY;
    if (c->finished && !c->goes_back) return HARK_PROCESS_FINISHED;
    if (s->phase == ENDING && !c->runs) return HARK_PROCESS_ENDED;
    if (s->phase == FINISHING && !c->runs) return HARK_PROCESS_FINISHED;
    if (c->goes_back || c->dead || (c->restarts && !c->hello)) return HARK_PROCESS_RECOVERING;
    if (!c->hello) return HARK_PROCESS_STARTING;
    if (rank && hark_service_is_down(core_of(s), c->rank)) return HARK_PROCESS_RECOVERING;
    return hark_sup_slot(c)->state == HARK_B_BUSY ? HARK_PROCESS_RUNNING : HARK_PROCESS_WAITING;
}

/* When a checkpoint was taken is known of those that were decided in this run. */
static uint64_t checkpoint_age(const struct child *c, uint64_t id, uint64_t now)
{
    return id && c->checkpointed == id && now >= c->checkpointed_at ? now - c->checkpointed_at
                                                                    : HARK_STATUS_UNKNOWN;
}

static void take_process(const struct child *c, uint64_t now, struct hark_status_process *p)
{
    const struct hark_board_slot *slot = hark_sup_slot(c);
    const uint64_t id = c->rank == HARK_RECOVERY ? 0 : hark_service_wave(core_of(c->s), c->rank, 0);
    *p = (struct hark_status_process){.rank = c->rank,
        .host = c->host ? c->host->number : HARK_STATUS_NO_HOST,
        .state = process_state(c),
        .inc = c->inc,
        .restarts = c->restarts,
        .deliveries = slot->deliveries,
        .messages = slot->messages,
        .bytes = slot->bytes,
        .log_bytes = slot->log_bytes,
        .checkpoint = id,
        .age_ns = checkpoint_age(c, id, now)};
}

static uint32_t host_state(const struct host *h)
{
    if (h->lost) return HARK_HOST_DEAD;
    if (!h->ready) return HARK_HOST_STARTING;
    return h->spare ? HARK_HOST_SPARE : HARK_HOST_READY;
}

static void take_hosts(const struct supervisor *s, struct hark_job_status *status)
{
    const uint64_t now = s->host ? hark_lease_now() : 0;
    for (uint32_t i = 0; i < status->hosts; i++) {
        const struct host *h = &s->host[i];
        status->host[i] = (struct hark_status_host){.name = h->name,
            .state = host_state(h),
            .silent_ns = h->heard && now >= h->heard ? now - h->heard : HARK_STATUS_UNKNOWN};
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].host && s->child[i].runs)
            status->host[s->child[i].host->number].processes++;
}

static void take_totals(const struct supervisor *s, uint64_t now, struct hark_job_status *status)
{
    status->age_ns = HARK_STATUS_UNKNOWN;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        const struct child *c = &s->child[i];
        const uint64_t age = checkpoint_age(c, hark_service_wave(core_of(s), i, 0), now);
        if (age < status->age_ns) status->age_ns = age;
    }
}

bool hark_sup_status(const struct supervisor *s, bool processes, struct hark_job_status *status)
{
    const uint64_t now = hark_sup_now();
    *status = (struct hark_job_status){.job = s->job,
        .pid = (uint32_t)getpid(),
        .state = job_state(s),
        .program = s->o->program->argv[0],
        .protocol = s->o->protocol->name,
        .transport = s->o->transport->name,
        .store = s->o->store ? s->store_path : "",
        .ranks = s->o->ranks,
        .failures = s->failures,
        .recoveries = s->recoveries,
        .elapsed_ns = (s->ended ? s->ended : now) - s->started,
        .hosts = s->host ? s->o->hosts : 0,
        .processes = processes ? s->count : 0};
    status->host = calloc(status->hosts ? status->hosts : 1, sizeof *status->host);
    status->process = calloc(status->processes ? status->processes : 1, sizeof *status->process);
    if (status->host == NULL || status->process == NULL) {
        hark_status_free(status);
        return false;
    }
    take_totals(s, now, status);
    take_hosts(s, status);
    for (uint32_t i = 0; i < status->processes; i++)
        take_process(&s->child[i], now, &status->process[i]);
    return true;
}

/* ---- whoever asks ---------------------------------------------------------------------------- */

static int on_ask(void *self, const uint8_t *at, size_t length, struct hark_inquiry_answer *answer)
{
    struct hark_control ask, m;
    struct hark_job_status status;
    const long whole = hark_control_parse(&ask, at, length);
    if (whole <= 0) return (int)whole;
    const uint32_t version = hark_control_get32(&ask), processes = hark_control_get32(&ask);
    if (ask.type != HARK_STATUS_ASK || ask.bad) return -1;
    if (!hark_sup_status(self, processes != 0 && version == HARK_STATUS_VERSION, &status))
        return -1;
    hark_status_put(&m, &status);
    hark_status_free(&status);
    *answer = (struct hark_inquiry_answer){m.at, m.length};
    if (!m.bad) return 1;
    answer->at = NULL;
    hark_control_free(&m);
    return -1;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
        (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    const int fd =
        hark_descriptor_above(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd < 0) return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    const int why = -errno;
    close(fd);
    return why;
}

/* The run does not need it: without it, it goes on. */
void hark_sup_status_open(struct supervisor *s)
{
    char path[sizeof s->directory + sizeof "/" HARK_STATUS_SOCKET];
    snprintf(path, sizeof path, "%s/" HARK_STATUS_SOCKET, s->directory);
    int fd = listen_at(path);
    const int why = fd < 0 ? fd : hark_inquiry_open(&s->status, &s->loop, fd, on_ask, s);
    if (why < 0) hark_sup_say("hark ps cannot show this run: %s: %s", path, strerror(-why));
}

void hark_sup_status_close(struct supervisor *s)
{
    hark_inquiry_close(s->status);
    s->status = NULL;
}
