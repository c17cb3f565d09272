/* mixed.c: opening, closing, peers, polling and sleeping. See mixed.h and, for who does what,
 * inside.h. */
#include "inside.h"

#include "../fabric/fabric.h"
#include "../uv/uv.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define HOT 16u /* polls that look at the sockets after one that found something there */

int hark_mixed_failed(struct mixed *m, const char *what, int why)
{
    snprintf(m->e->head.error, sizeof m->e->head.error, "mixed: %s: %s", what, strerror(why));
    return HARK_T_ESYSTEM;
}

int hark_mixed_after(struct mixed *m, int status)
{
    struct hark_transport *t = &m->e->head;
    const struct hark_transport_figures *now = &m->far->figures, *seen = &m->seen;
    t->figures.frames_out += now->frames_out - seen->frames_out;
    t->figures.frames_in += now->frames_in - seen->frames_in;
    t->figures.bytes_out += now->bytes_out - seen->bytes_out;
    t->figures.bytes_in += now->bytes_in - seen->bytes_in;
    t->figures.refused += now->refused - seen->refused;
    t->figures.reconnects += now->reconnects - seen->reconnects;
    m->seen = *now;
    t->unreached = m->far->unreached;
    if (m->far->apart && !t->apart) t->apart = m->go = true;
    if (status < 0) memcpy(t->error, m->far->error, sizeof t->error);
    return status;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void close_parts(struct mixed *m)
{
    hark_mixed_watch_close(m);
    for (uint32_t number = 0; m->e && number <= m->e->ranks; number++) hark_mixed_forget(m, number);
    if (m->far) m->between->transport->close(m->far);
    if (m->e) hark_shm_transport.close(&m->e->head);
    free(m->peers);
    free(m);
}

/* The part between hosts comes first: it looks at the whole config. */
static int open_parts(
    struct mixed *m, const struct hark_transport_config *c, const char *listen, char error[200])
{
    char job[JOB_MOST + 1];
    struct hark_transport *shm;
    struct hark_transport_config part = *c;
    part.address = listen;
    m->between = hark_mixed_far(c->option[MIXED_BETWEEN]);
    int status = m->between->open(&m->far, &part, error);
    if (status != HARK_T_OK) return status;
    (void)hark_mixed_job(job, c->job, m->host);
    part.job = job;
    part.address = NULL;
    memset(part.option, 0, sizeof part.option);
    part.option[0] = c->option[MIXED_RING];
    part.option[1] = c->option[MIXED_SPIN];
    status = hark_shm_transport.open(&shm, &part, error);
    if (status != HARK_T_OK) return status;
    m->e = (struct end *)(void *)shm;
    m->e->beside = &m->beside;
    m->beside.send = hark_mixed_send;
    shm->ops = &hark_mixed_transport;
    snprintf(
        m->address, sizeof m->address, "%s %s", m->host, m->between->transport->address(m->far));
    status = hark_mixed_watch_open(m);
    /* who was given an address may hear of somebody before being told where that is */
    if (status == HARK_T_OK && c->address) status = hark_mixed_watch_start(m);
    if (status != HARK_T_OK) memcpy(error, shm->error, 200);
    return status;
}

static struct mixed *new_mixed(const struct hark_transport_config *c, char host[HOST_MOST + 1])
{
    struct mixed *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    memcpy(m->host, host, sizeof m->host);
    m->watch.epoll = m->watch.timer = -1;
    if (c->ranks <= HARK_RANKS_MAX) m->peers = calloc((size_t)c->ranks + 1, sizeof *m->peers);
    if (m->peers || c->ranks > HARK_RANKS_MAX) return m; /* the latter is refused in words */
    free(m);
    return NULL;
}

static int refuse(char error[200], int status, const char *why)
{
    if (error) snprintf(error, 200, "mixed: %s", why);
    return status;
}

static int open_end(
    struct hark_transport **t, const struct hark_transport_config *c, char error[200])
{
    char host[HOST_MOST + 1] = HOST_DEFAULT, job[JOB_MOST + 1], text[WHY], said[200] = "";
    const char *listen = NULL;
    *t = NULL;
    const char *why = hark_mixed_bad_config(c, text);
    if (!why && c->address && !(listen = hark_mixed_host(c->address, host)))
        why = "an address is HOST ADDRESS, HOST 1 .. 15 of [A-Za-z0-9-]";
    if (!why && !hark_mixed_job(job, c->job, host)) {
        snprintf(text, sizeof text, "the job and its host make %s-%s, more than %d characters",
            c->job, host, JOB_MOST);
        why = text;
    }
    if (why) return refuse(error, HARK_T_EINVAL, why);
    struct mixed *m = new_mixed(c, host);
    if (!m) return refuse(error, HARK_T_ESYSTEM, "no memory for so many ranks");
    int status = open_parts(m, c, listen, said);
    if (status == HARK_T_OK) {
        *t = &m->e->head;
        return HARK_T_OK;
    }
    if (error) memcpy(error, said, sizeof said);
    close_parts(m);
    return status;
}

static void close_end(struct hark_transport *t)
{
    close_parts(mixed_of(t));
}

/* See mixed.h: the name of a job, or that of one of its hosts. */
static void sweep(const char *job, const char *directory)
{
    char name[JOB_MOST + 1];
    if (!job) return;
    hark_shm_transport.sweep(job, NULL);
    if (hark_mixed_job(name, job, HOST_DEFAULT)) hark_shm_transport.sweep(name, NULL);
    hark_uv_transport.sweep(job, directory);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static const char *own_address(const struct hark_transport *t)
{
    return mixed_of(t)->address;
}

static int bad_address(struct mixed *m, uint32_t rank, const char *why)
{
    snprintf(m->e->head.error, sizeof m->e->head.error, "mixed: address of rank %u: %s", rank, why);
    return HARK_T_EINVAL;
}

/* A newer incarnation: nothing is left of what was for others, and where it is is not known yet. */
static int renew(struct mixed *m, uint32_t number, uint32_t inc)
{
    struct peer *p = &m->peers[number];
    hark_mixed_forget(m, number);
    p->way = WAY_UNKNOWN;
    p->inc = inc;
    int status = m->between->transport->peer(m->far, end_rank(m->e, number), inc, NULL);
    return hark_mixed_after(m, status);
}

static int is_at(struct mixed *m, uint32_t number, const char *host, const char *where)
{
    struct peer *p = &m->peers[number];
    enum way way = strcmp(host, m->host) == 0 ? WAY_NEAR : WAY_FAR;
    uint32_t rank = end_rank(m->e, number);
    int status = HARK_T_OK;
    if (p->way != WAY_UNKNOWN && p->way != way)
        return bad_address(m, rank, "this incarnation is on another host");
    if (way == WAY_FAR) status = hark_mixed_watch_start(m);
    if (way == WAY_FAR && status == HARK_T_OK)
        status = hark_mixed_after(m, m->between->transport->peer(m->far, rank, p->inc, where));
    if (status != HARK_T_OK) return status;
    if (p->way == WAY_UNKNOWN && way == WAY_NEAR && p->first) m->near++;
    p->way = way;
    if (p->stalled) m->go = true;
    p->stalled = false;
    return hark_mixed_pump(m, number);
}

static int peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct mixed *m = mixed_of(t);
    struct end *e = m->e;
    char host[HOST_MOST + 1];
    const char *where = NULL;
    uint32_t number = end_number(e, rank);
    if (number > e->ranks || inc == UINT32_MAX) return HARK_T_EINVAL;
    if (address && !(where = hark_mixed_host(address, host)))
        return bad_address(m, rank, "an address is HOST ADDRESS, HOST 1 .. 15 of [A-Za-z0-9-]");
    if (inc < e->known[number]) return HARK_T_OK; /* old news */
    int status = hark_shm_transport.peer(t, rank, inc, NULL);
    if (number == e->number || status != HARK_T_OK) return status;
    if (inc > m->peers[number].inc) status = renew(m, number, inc);
    if (where && status == HARK_T_OK) status = is_at(m, number, host, where);
    if (m->watch.runs && far_has_work(m)) look_again(m);
    return status;
}

static void withdraw(struct hark_transport *t, struct hark_outgoing *o)
{
    struct mixed *m = mixed_of(t);
    uint32_t number = end_number(m->e, o->to);
    if (number > m->e->ranks || m->peers[number].way != WAY_FAR) {
        shm_withdraw(t, o);
        return;
    }
    if (m->between->withdraw) m->between->withdraw(m->far, o);
    else m->between->transport->withdraw(m->far, o);
    (void)hark_mixed_after(m, HARK_T_OK);
    look_again(m);
}

static int behind(const struct hark_transport *t, uint32_t rank)
{
    const struct mixed *m = mixed_of(t);
    uint32_t number = end_number(m->e, rank);
    if (number > m->e->ranks) return 0;
    const struct peer *p = &m->peers[number];
    return shm_behind(t, rank) || (p->turn == m->e->turn && p->streak > 0);
}

/* ---- polling and sleeping -------------------------------------------------------------------- */

static int poll_far(struct mixed *m)
{
    if (!m->watch.runs) return 0;
    int count = hark_mixed_after(m, m->between->transport->poll(m->far));
    if (count > 0) m->e->turn++; /* something was heard */
    if (count > 0) m->hot = HOT;
    else if (m->hot > 0) m->hot--;
    return count;
}

/* The next poll() is to come here too; or the thread is to say when. `left_out`: the other hosts
 * were not heard this time. */
static void look_or_watch(struct mixed *m, bool left_out)
{
    if (m->near > 0 || m->trouble) look_again(m);
    if (!m->watch.runs) return;
    bool hot = m->hot > 0 && atomic_load(&m->watch.fired);
    if (left_out || hot || far_has_work(m)) look_again(m);
    else (void)hark_mixed_watch_arm(m);
}

HARK_COLD int poll_both(struct mixed *m)
{
    int count = 0, status = m->trouble;
    bool left_out = true, far = m->far_first = !m->far_first;
    (void)atomic_exchange(&m->watch.look, 0);
    m->trouble = 0;
    m->e->head.enough = false;
    for (int i = 0; i < 2 && status == 0 && !m->e->head.enough; i++, far = !far) {
        int n = far ? poll_far(m) : shm_poll(&m->e->head);
        if (n < 0) status = n;
        else count += n;
        if (far) left_out = false;
    }
    if (status == 0) status = hark_mixed_pump_all(m);
    if (count > 0) m->trouble = status;
    look_or_watch(m, left_out);
    return count == 0 && status < 0 ? status : count;
}

static int poll_end(struct hark_transport *t)
{
    struct mixed *m = mixed_of(t);
    if (__builtin_expect(atomic_load_explicit(&m->watch.look, memory_order_relaxed) != 0, 0))
        return poll_both(m);
    return shm_poll(t);
}

static void run_far(struct mixed *m)
{
    (void)hark_mixed_after(m, m->between->transport->wait(m->far, 0)); /* without sleeping */
}

/* An answer from another host may come soon after the last frame from there, and to be woken for it
 * takes two switches, to the thread and from there. */
static void look_a_while(struct mixed *m)
{
    for (; m->hot > 0 && !far_has_work(m) && !shm_has_work(m->e); m->hot--) {
        sched_yield();
        run_far(m);
    }
    m->hot = 0;
}

/* True if nothing comes from other hosts but what the thread will tell. */
static bool may_sleep(struct mixed *m)
{
    bool told = atomic_exchange(&m->watch.look, 0) || atomic_load(&m->watch.fired);
    if (told || far_has_work(m)) run_far(m);
    if (atomic_load(&m->watch.fired)) look_a_while(m);
    bool may = !far_has_work(m) && hark_mixed_watch_arm(m);
    if (!may || m->near > 0 || m->trouble) look_again(m);
    return may && !m->trouble && !m->go;
}

static int wait_end(struct hark_transport *t, int milliseconds)
{
    struct mixed *m = mixed_of(t);
    if (m->go || (m->watch.runs && !may_sleep(m))) milliseconds = 0;
    m->go = false;
    return hark_shm_transport.wait(t, milliseconds);
}

static bool apart(struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200])
{
    struct mixed *m = mixed_of(t);
    const bool is = m->between->transport->apart(m->far, rank, milliseconds, text);
    t->unreached = m->far->unreached;
    return is || (t->apart = false);
}

static void wake(struct hark_transport *t)
{
    hark_shm_transport.wake(t);
}

static int drained(struct hark_transport *t)
{
    struct mixed *m = mixed_of(t);
    return m->kept == 0 && m->between->transport->drained(m->far);
}

static void *lend(struct hark_transport *t, uint64_t bytes)
{
    return hark_shm_transport.lend(t, bytes);
}

static void reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    hark_mixed_copy_lent(mixed_of(t), at, bytes);
    hark_shm_transport.reclaim(t, at, bytes);
}

/* `strangers` of uv has no place left. */
static const struct hark_transport_option options[] = {
    {"ring", MIXED_RING, 256u << 10, 256u << 20, true, NULL},
    {"spin", MIXED_SPIN, 1, 100000, false, NULL},
    {"handshake-ms", MIXED_HANDSHAKE, 1, 3600000, false, NULL},
    {"window", MIXED_WINDOW, 256u << 10, 1u << 30, false, NULL},
    {"between", MIXED_BETWEEN, 1, 1 + HARK_FABRIC, false, hark_mixed_between},
#if HARK_FABRIC
    {"provider", MIXED_PROVIDER, 1, HARK_FABRIC_PROVIDERS, false, hark_fabric_providers},
#endif
    HARK_TRANSPORT_OPTIONS_END};

const struct hark_transport_ops hark_mixed_transport = {
    .options = options,
    .name = "mixed",
    .open = open_end,
    .address = own_address,
    .peer = peer,
    .send = shm_send,
    .poll = poll_end,
    .wait = wait_end,
    .wake = wake,
    .drained = drained,
    .close = close_end,
    .lend = lend,
    .reclaim = reclaim,
    .withdraw = withdraw,
    .behind = behind,
    .sweep = sweep,
    .apart = apart,
};
