/* shm.c: opening, closing, peers and sleeping. See shm.h; send.c and receive.c move the frames. */
#include "shm.h"

#include "end.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RING_SIZE   (512u * 1024)
#define FRAME_LIMIT (1ull << 30)
#define SPINS_MIN   16u
#define SPINS_MAX   2048u
#define SHORT_SLEEP                                                                                \
    100000u           /* nanoseconds: whoever is woken that soon had better not have slept         \
                       */
#define SECOND_LOOK 1 /* milliseconds */
#define YIELDS      6u
#define COPY_YIELDS 4096u
#define PAGE        4096u
#define RING_USUAL  (2 * PAGE) /* left free for each ring that may still be made */

int end_failed(struct end *e, const char *what, const char *which, int why)
{
    snprintf(e->head.error, sizeof e->head.error, "shm: %s%s%s: %s", what, which[0] ? " " : "",
        which, why == EBADMSG ? "it does not hold what it should" : strerror(why));
    return HARK_T_ESYSTEM;
}

/* What all processes need at least if each of them talks to each other one: a page for each ring
 * and bell. */
static uint64_t least_of_all(const struct end *e)
{
    uint64_t n = e->ranks + 1ull, bell = ring_round(bell_bytes(e->ranks), PAGE);
    return n * ((n - 1) * PAGE + bell);
}

static unsigned long long kib(uint64_t bytes)
{
    return (bytes + 1023) / 1024;
}

int end_no_memory(struct end *e, const char *what, const char *which, uint64_t bytes, int why)
{
    uint64_t all, free;
    char line[320], smaller[40] = "";
    if (why == EFBIG) {
        snprintf(e->head.error, sizeof e->head.error,
            "shm: %llu KiB of shared memory are over the file size limit "
            "(ulimit -f), which holds for them too: raise it, or use --transport uv",
            kib(bytes));
        return HARK_T_ESYSTEM;
    }
    if (why != ENOSPC || !segment_memory(&all, &free)) return end_failed(e, what, which, why);
    if (e->ring_size > RING_SIZE_MIN)
        snprintf(smaller, sizeof smaller, ", --option ring=%u", RING_SIZE_MIN);
    snprintf(line, sizeof line,
        "shm: /dev/shm is full: %llu of %llu KiB are free, %llu more are needed (%llu if all %u "
        "processes talk to each other): use --transport uv%s or a larger /dev/shm",
        (unsigned long long)free / 1024, kib(all), kib(bytes), kib(least_of_all(e)), e->ranks,
        smaller);
    snprintf(e->head.error, sizeof e->head.error, "%.199s", line);
    return HARK_T_ESYSTEM;
}

/* ---- open and close -------------------------------------------------------------------------- */

static const char *bad_config(const struct hark_transport_config *c)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    uint64_t size = c->option[0];
    if (!c->job || !c->job[0] || strlen(c->job) > 40 || c->job[strspn(c->job, legal)])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX)
        return "the number of ranks is out of its range";
    if (c->me >= c->ranks && c->me != HARK_RECOVERY) return "no such rank";
    if (c->inc == UINT32_MAX) return "the incarnation is out of its range";
    if (!c->sink.place || !c->sink.arrived || !c->sink.broken) return "the sink is not complete";
    if (size && (size < RING_SIZE_MIN || size > RING_SIZE_MAX || (size & (size - 1))))
        return "option 0, the size of a ring, is not a power of two of 256 KiB .. 256 MiB";
    if (c->option[1] > 100000) return "option 1, the looks before it yields, is above 100000";
    return NULL;
}

static void free_end(struct end *e)
{
    if (e->bell) bell_unmap(e->bell, e->ranks);
    lent_close(&e->lent, e->job, e->me, true);
    free(e->in);
    free(e->out);
    free(e->known);
    free(e->met);
    free(e);
}

static struct end *new_end(const struct hark_transport_config *c)
{
    size_t count = (size_t)c->ranks + 1;
    struct end *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->sink = c->sink;
    e->me = (struct process){c->me, c->inc};
    e->ranks = c->ranks;
    e->number = end_number(e, c->me);
    e->limit = c->frame_limit ? c->frame_limit : FRAME_LIMIT;
    e->ring_size = c->option[0] ? c->option[0] : RING_SIZE;
    e->spins_fixed = (uint32_t)c->option[1];
    e->spins = SPINS_MIN;
    e->yields = YIELDS;
    strcpy(e->job, c->job);
    snprintf(e->address, sizeof e->address, "shm");
    e->in = calloc(count, sizeof *e->in);
    e->out = calloc(count, sizeof *e->out);
    e->known = calloc(count, sizeof *e->known);
    e->met = calloc(count, sizeof *e->met);
    if (e->in && e->out && e->known && e->met) return e;
    free_end(e);
    return NULL;
}

/* Who fills a ring first does not take it all: every pair of processes may still want to talk. In
 * two pages they can, if need be. But in a small /dev/shm rings would rather be larger than many.
 */
static uint64_t to_leave(const struct end *e)
{
    uint64_t all, free, rings = (e->ranks + 1ull) * e->ranks;
    if (!segment_memory(&all, &free)) return 0;
    return rings * RING_USUAL < all / 2 ? rings * RING_USUAL : all / 2;
}

static int move_in(struct end *e)
{
    struct segment_name name;
    segment_bell_name(&name, e->job, e->me);
    if (e->me.inc > 0) segment_remove_older(e->job, e->me);
    e->bell = bell_open(e->job, e->me, e->ranks, true);
    if (!e->bell) return end_no_memory(e, "cannot open", name.path, bell_bytes(e->ranks), errno);
    e->leave = to_leave(e);
    uint32_t opened = 0;
    e->opened = bell_register();
    if (atomic_compare_exchange_strong(&e->bell->opened, &opened, e->opened)) return HARK_T_OK;
    return end_failed(
        e, "open already, or left behind by a job that was never swept:", name.path, EEXIST);
}

static int shm_open_end(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    *t = NULL;
    const char *why = bad_config(config);
    if (why) {
        if (error) snprintf(error, 200, "shm: %s", why);
        return HARK_T_EINVAL;
    }
    struct end *e = new_end(config);
    if (!e) {
        if (error) snprintf(error, 200, "shm: no memory for %u ranks", config->ranks);
        return HARK_T_ESYSTEM;
    }
    e->head.ops = &hark_shm_transport;
    int status = move_in(e);
    if (status != HARK_T_OK) {
        if (error) memcpy(error, e->head.error, 200);
        free_end(e);
        return status;
    }
    *t = &e->head;
    return HARK_T_OK;
}

/* What is announced and was never mapped is ours to remove. Each side says that it leaves before it
 * looks for what the other left: so one of the two finds it. */
static void shm_close(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    struct segment_name name;
    atomic_store(&e->bell->asleep, BELL_CLOSED);
    atomic_thread_fence(memory_order_seq_cst);
    segment_bell_name(&name, e->job, e->me);
    segment_remove(&name);
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct out *out = e->out[number];
        if (!out) continue;
        if (out->gone || atomic_load(&out->bell->asleep) == BELL_CLOSED) {
            segment_ring_name(&name, e->job, e->me, out->to);
            segment_remove(&name);
        }
        out_free(e, number);
    }
    e->sink = (struct hark_sink){NULL, NULL, NULL, NULL}; /* from here on nobody hears anything */
    for (uint32_t i = 0; i < e->in_count; i++) e->in[i]->half = false;
    (void)meet_announced(e);
    for (uint32_t i = 0; i < e->in_count; i++) {
        /* who waits for room in this ring shall find that we are gone */
        if (e->in[i]->bell) bell_ring(e->in[i]->bell, true);
        in_free(e, e->in[i]);
    }
    free_end(e);
}

static void shm_sweep(const char *job, const char *directory)
{
    (void)directory;
    segment_sweep(job);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static const char *shm_address(const struct hark_transport *t)
{
    return ((const struct end *)t)->address;
}

static int shm_peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct end *e = (struct end *)t;
    struct segment_name name;
    uint32_t number = end_number(e, rank);
    (void)address; /* names say it all */
    if (number > e->ranks || inc == UINT32_MAX) return HARK_T_EINVAL;
    if (inc <= e->known[number]) return HARK_T_OK;
    e->known[number] = inc;
    struct out *out = e->out[number];
    if (out && out->to.inc < inc) {
        segment_ring_name(&name, e->job, e->me, out->to);
        segment_remove(&name);
        segment_bell_name(&name, e->job, out->to); /* the dead need none; perhaps it was we who made
                                                      it */
        segment_remove(&name);
        out_free(e, number);
    }
    for (uint32_t i = 0; i < e->in_count; i++)
        if (e->in[i]->number == number && e->in[i]->from.inc < inc && !e->in[i]->dead) {
            e->in[i]->dead = true;
            e->dead++;
        }
    return HARK_T_OK;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static bool something_to_do(struct end *e)
{
    if (e->dead || atomic_load_explicit(&e->bell->announced, memory_order_acquire) != e->seen)
        return true;
    for (uint32_t i = 0; i < e->in_count; i++)
        if (in_ready(e->in[i])) return true;
    if (__builtin_expect(e->stalled > 0, 0))
        for (uint32_t number = 0; number <= e->ranks; number++)
            if (e->out[number] && e->out[number]->need && out_has_room(e->out[number])) return true;
    return atomic_load_explicit(&e->woken, memory_order_relaxed) != 0;
}

bool shm_has_work(struct end *e)
{
    return something_to_do(e);
}

static inline void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool copied_now(const struct end *e)
{
    for (uint32_t number = 0; number <= e->ranks; number++)
        if (e->out[number] && e->out[number]->offer &&
            atomic_load(&e->out[number]->offer->state) == DIRECT_TAKING)
            return true;
    return false;
}

/* A receiver that copies a payload out of our memory is soon done: to be woken would take longer.
 * Others may have the processor meanwhile. */
static bool comes_when_copied(struct end *e)
{
    for (uint32_t i = 0; e->offers > 0 && i < COPY_YIELDS && copied_now(e); i++) {
        sched_yield();
        if (something_to_do(e)) return true;
    }
    return false;
}

/* Looks again for a moment, as long as that has paid off lately; then lets others have the
 * processor a few times. With more processes than processors the former is kept short by its own
 * failures. */
static bool comes_soon(struct end *e)
{
    uint32_t spins = e->spins_fixed ? e->spins_fixed : e->spins;
    for (uint32_t i = 0; i < spins; i++) {
        pause_a_little();
        if (!something_to_do(e)) continue;
        if (e->spins < SPINS_MAX) e->spins *= 2;
        return true;
    }
    if (e->spins > SPINS_MIN) e->spins /= 2;
    for (uint32_t i = 0; i < e->yields; i++) {
        sched_yield();
        if (!something_to_do(e)) continue;
        e->yields = YIELDS;
        if (e->spins < 4 * SPINS_MIN) e->spins *= 2; /* so that the former gets its chance again */
        return true;
    }
    if (e->yields > 1) e->yields--;
    return comes_when_copied(e);
}

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waking costs the other side more than a message does. Where it happens soon after falling asleep
 * again and again, both would stay slow for ever: so a short sleep makes the next looks longer. */
static void sleep_now(struct end *e, uint32_t count, int milliseconds)
{
    uint64_t from = nanoseconds();
    bool longer = milliseconds < 0 || milliseconds > SECOND_LOOK;
    bool over = bell_sleep(e->bell, count, longer ? SECOND_LOOK : milliseconds);
    if (over && longer && !something_to_do(e)) /* see bell.h: the barrier alone is not enough */
        (void)bell_sleep(e->bell, count, milliseconds < 0 ? -1 : milliseconds - SECOND_LOOK);
    if (nanoseconds() - from > SHORT_SLEEP) return;
    e->spins = e->spins * 4 < SPINS_MAX ? e->spins * 4 : SPINS_MAX;
    e->yields = YIELDS;
}

static void fall_asleep(struct end *e, int milliseconds)
{
    uint32_t count = atomic_load(&e->bell->count);
    do e->sleeps++;
    while (e->sleeps == 0 || e->sleeps == BELL_CLOSED);
    atomic_store(&e->bell->asleep, e->sleeps);
    for (uint32_t number = 0; e->stalled > 0 && number <= e->ranks; number++)
        if (e->out[number] && e->out[number]->need) out_want(e->out[number]);
    bell_barrier();
    if (!something_to_do(e)) sleep_now(e, count, milliseconds);
    atomic_store(&e->bell->asleep, 0);
}

/* Who is about to fall asleep takes what it has put off: its sender may be busy with other things,
 * and what it sent before may be behind that. True if there is something. */
static bool insists(struct end *e)
{
    bool any = false;
    for (uint32_t i = 0; i < e->in_count; i++) {
        struct in *in = e->in[i];
        if (in->put_off == NULL || in->insist) continue;
        in->insist = any = true;
    }
    return any;
}

static int shm_wait(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    e->turn++;
    if (!something_to_do(e) && milliseconds != 0 && !comes_soon(e)) {
        if (e->offers > 0 && !e->late) e->late = true; /* to be withdrawn: send_offered() */
        else if (!insists(e)) fall_asleep(e, milliseconds);
    }
    if (atomic_load_explicit(&e->woken, memory_order_relaxed)) atomic_exchange(&e->woken, 0);
    return HARK_T_OK;
}

static void shm_wake(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    atomic_store(&e->woken, 1);
    bell_ring(e->bell, true);
}

static int shm_drained(struct hark_transport *t)
{
    (void)t; /* what was taken lies in shared memory, and stays there without us */
    return 1;
}

static void *shm_lend(struct hark_transport *t, uint64_t bytes)
{
    struct end *e = (struct end *)t;
    return lent_make(&e->lent, e->job, e->me, bytes, e->leave);
}

static void shm_reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    struct end *e = (struct end *)t;
    (void)bytes;
    lent_remove(&e->lent, e->job, e->me, at);
}

static const struct hark_transport_option options[] = {
    {"ring", 0, 256u << 10, 256u << 20, true, NULL}, {"spin", 1, 1, 100000, false, NULL},
    HARK_TRANSPORT_OPTIONS_END};

const struct hark_transport_ops hark_shm_transport = {
    .options = options,
    .name = "shm",
    .open = shm_open_end,
    .address = shm_address,
    .peer = shm_peer,
    .send = shm_send,
    .poll = shm_poll,
    .wait = shm_wait,
    .wake = shm_wake,
    .drained = shm_drained,
    .close = shm_close,
    .lend = shm_lend,
    .reclaim = shm_reclaim,
    .withdraw = shm_withdraw,
    .behind = shm_behind,
    .sweep = shm_sweep,
};
