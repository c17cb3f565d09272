/* What only connections below libfabric can suffer: they are cut, again and again, between two ends
 * that live. And a few words that open() and peer() have to say. */
#include "fabric/fabric.h"
#include "harness.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

const struct conformance_transport conformance_subject = {
    .name = "fabric", .ops = &hark_fabric_transport};

enum { FD_MOST = 256 };

/* Is it one of ours, over TCP? */
static bool is_connection(int fd)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    return getpeername(fd, (struct sockaddr *)&at, &length) == 0 && at.ss_family == AF_INET;
}

/* Those that are there before any end opens belong to somebody else. */
static void find_strangers(bool strange[FD_MOST])
{
    for (int fd = 0; fd < FD_MOST; fd++) strange[fd] = is_connection(fd);
}

static unsigned cut(const bool strange[FD_MOST], uint64_t draw)
{
    int found[FD_MOST];
    unsigned count = 0;
    for (int fd = 0; fd < FD_MOST; fd++)
        if (!strange[fd] && is_connection(fd)) found[count++] = fd;
    if (count == 0) return 0;
    return shutdown(found[draw % count], SHUT_RDWR) == 0;
}

static void try_to_send(
    struct parcel *p, struct end *e, uint64_t id, uint64_t longest, uint64_t *sent)
{
    if (!p->header)
        parcel_make(p, e, 1 - e->me, 0, id + *sent, 0, mix(id + *sent + e->me) % longest);
    int status = parcel_send(p, e);
    MUST(status == HARK_T_OK || status == HARK_T_AGAIN);
    if (status == HARK_T_AGAIN) return;
    parcel_free(p);
    ++*sent;
}

/* Two ends, frames both ways or one way; connections end at moments that `seed` draws. All that
 * either says to the other arrives once. */
static unsigned talk_while_cut(uint64_t seed, uint64_t frames, uint64_t longest, bool answer)
{
    struct job job;
    struct end e[2];
    struct parcel p[2];
    bool strange[FD_MOST];
    uint64_t sent[2] = {0, answer ? 0 : frames};
    const size_t back = answer ? frames : 0;
    unsigned cuts = 0;
    memset(p, 0, sizeof p);
    find_strangers(strange);
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    for (uint64_t step = 0; e[1].count < frames || e[0].count < back; step++) {
        for (uint32_t i = 0; i < 2; i++) {
            if (sent[i] < frames) try_to_send(&p[i], &e[i], seed * 1000, longest, &sent[i]);
            if (e[1].count == frames && e[0].count == back) break;
            if (sent[0] == frames && sent[1] == frames) MUST(e[i].t->ops->wait(e[i].t, 1) >= 0);
            end_poll(&e[i]);
        }
        if (mix(seed * 7919 + step) % 40 == 0 && cuts < 20) cuts += cut(strange, mix(step));
    }
    for (uint32_t i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < frames && (answer || i == 1); k++)
            MUST(end_heard(&e[i], seed * 1000 + k) == 1);
        MUST(e[i].broken == 0 && e[i].open_places == 0 && e[i].t->figures.refused == 0);
    }
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
    return cuts;
}

static void cut_again_and_again(void **state)
{
    (void)state;
    unsigned cuts = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        cuts += talk_while_cut(seed, 100, 2000, seed % 2);
        cuts += talk_while_cut(seed, 12, 900000, seed % 2);
    }
    MUST(cuts > 30);
}

/* The last frame of all is lost after it has left, and nothing follows that would tell: its sender
 * asks, after a second. */
static void the_last_is_lost(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    bool strange[FD_MOST];
    find_strangers(strange);
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2);
    send_wholly(&e[0], 1, 0, 2, 0, 10, e, 0);
    while (!e[0].t->ops->drained(e[0].t)) end_poll(&e[0]);
    while (cut(strange, 0) == 0) ends_poll(e, 0);
    for (unsigned draw = 1; draw < 8; draw++) (void)cut(strange, draw);
    while (e[1].count < 2) {
        for (uint32_t i = 0; i < 2; i++) MUST(e[i].t->ops->wait(e[i].t, 10) >= 0);
        ends_poll(e, 2);
    }
    MUST(end_heard(&e[1], 1) == 1 && end_heard(&e[1], 2) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

static void refused(struct hark_transport_config *config, const char *why)
{
    struct hark_transport *t;
    char error[200] = "";
    MUST(hark_fabric_transport.open(&t, config, error) < 0 && t == NULL);
    if (!strstr(error, why)) fprintf(stderr, "found: %s\n", error);
    MUST(strstr(error, why) != NULL && strchr(error, '\n') == NULL);
}

static void words(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct hark_transport_config config;
    const char *const wrong[] = {"", "tcp:127.0.0.1:1", "fabric:", "fabric:other:0200", NULL};
    char longer[300];
    job_begin(&job, 2);
    end_config(&config, &job, 0, 0, &e);
    config.encrypts = true;
    refused(&config, "nothing is encrypted");
    end_config(&config, &job, 0, 0, &e);
    config.option[0] = 100;
    refused(&config, "the provider");
    end_config(&config, &job, 0, 0, &e);
    config.option[1] = 4096;
    refused(&config, "256 KiB");
    end_config(&config, &job, 0, 0, &e);
    config.address = "192.0.2.77"; /* of nobody */
    refused(&config, "192.0.2.77");
    end_open(&e, &job, 0, 0);
    const char *address = e.t->ops->address(e.t);
    for (size_t i = 0; wrong[i]; i++)
        MUST(e.t->ops->peer(e.t, 1, 0, wrong[i]) == HARK_T_EINVAL && strstr(e.t->error, "rank 1"));
    snprintf(longer, sizeof longer, "%s00", address);
    MUST(e.t->ops->peer(e.t, 1, 0, longer) == HARK_T_EINVAL);
    snprintf(longer, sizeof longer, "%.*s", (int)strlen(address) - 1, address);
    MUST(e.t->ops->peer(e.t, 1, 0, longer) == HARK_T_EINVAL);
    end_close(&e);
    job_end(&job);
}

/* A library that libfabric loads takes over signals; they are the program's. */
static void signals_stay(void **state)
{
    (void)state;
    const int numbers[] = {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGBUS, SIGILL};
    struct sigaction before[6], after;
    struct job job;
    struct end e;
    for (int i = 0; i < 6; i++) MUST(sigaction(numbers[i], NULL, &before[i]) == 0);
    job_begin(&job, 1);
    end_open(&e, &job, 0, 0);
    end_close(&e);
    job_end(&job);
    for (int i = 0; i < 6; i++) {
        MUST(sigaction(numbers[i], NULL, &after) == 0);
        MUST(after.sa_handler == before[i].sa_handler);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(signals_stay), TEST(words), TEST(the_last_is_lost),
        TEST(cut_again_and_again)}; /* the first loads the library */
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    hang_after(PATIENCE);
    return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
