/* parallel.c: the search of everything by several threads.
 *
 * Nearly every step that a search takes is known, and so are the parts of nearly every state that
 * it comes to. So threads need not exclude each other: in a round each expands states of its own
 * part with a copy of the exploration that is frozen, reads what all share, and puts what it finds
 * into boxes, one for each part. A state that needs anything new, is an end or is violated it
 * leaves to the first thread, which expands these in the ordinary way while the others wait. Then
 * each empties the boxes for its own part, in the order of the threads: so searches with as many
 * threads number their states alike. Threads wait for each other between these three, and nowhere
 * else.
 */
#include "search_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND = 1 << 15 /* states, of all threads */, FEW = 16 /* more, of each */ };

struct entry { /* a state, its predecessor, the step */
    struct job job;
    uint32_t from;
    struct job_step step;
};

struct box {
    struct entry *at;
    uint32_t count, room, mark; /* mark: where the state that is being expanded began */
};

struct worker {
    struct exploration x; /* frozen */
    struct crew *crew;
    uint32_t number;
    struct box *box; /* one for each part */
    struct reliance_log log;
    uint32_t *left, lefts;  /* rows of its part that are for the first thread */
    uint64_t from, to, end; /* rows of its part: of this round; all of this depth end at `end` */
    uint64_t transitions;
    bool failed; /* no memory for its part */
    pthread_t thread;
};

struct crew {
    struct exploration *x;
    struct worker *worker;
    uint32_t workers, threads; /* threads: that were started */
    uint64_t noticed;          /* see in_vain() */
    bool over;
    pthread_mutex_t begin;
    pthread_barrier_t turn;
};

/* ---- what is known --------------------------------------------------------------------------- */

static bool box_put(struct box *b, const struct job *job, uint32_t from, struct job_step step)
{
    if (b->count == b->room) {
        uint32_t room = b->room ? b->room * 2 : 1 << 8;
        struct entry *at = realloc(b->at, room * sizeof *at);
        if (at == NULL) return false;
        b->at = at;
        b->room = room;
    }
    b->at[b->count++] = (struct entry){*job, from, step};
    return true;
}

/* As expand(), where nothing is new. False: something is, or it is an end, or violated. */
static bool expand_known(struct worker *w, uint64_t i)
{
    struct exploration *x = &w->x;
    struct job_step step[JOB_STEPS];
    struct job job = state_job(x, i);
    uint32_t failing;
    x->reduction.state = (uint32_t)i;
    uint32_t n = job_steps(&x->lab, &job, step, &failing);
    bool moves = false;
    for (uint32_t k = 0; k < n && !x->lab.failed; k++) {
        struct job next = job;
        bool happened;
        if (k == n - failing && !moves) return false;
        if (take_step(x, &next, step[k], &happened) || x->lab.failed) return false;
        if (!happened || memcmp(&next, &job, sizeof job) == 0) continue;
        if (!box_put(&w->box[states_part(x->q, next.at)], &next, (uint32_t)i, step[k]))
            return false;
        moves = true;
    }
    if (x->lab.failed || !moves) return false;
    w->transitions += n;
    return true;
}

static void expand_slice(struct worker *w)
{
    struct exploration *x = &w->x;
    *x = *w->crew->x;
    lab_freeze(&x->lab, &w->crew->x->lab);
    x->reduction.lab = &x->lab;
    x->reduction.log = &w->log;
    w->log.count = 0;
    x->lab.looked_up = w->transitions = w->lefts = 0;
    for (uint32_t p = 0; p < x->parts; p++) w->box[p].count = 0;
    for (uint64_t row = w->from; row < w->to; row++) {
        uint64_t looked_up = x->lab.looked_up;
        for (uint32_t p = 0; p < x->parts; p++) w->box[p].mark = w->box[p].count;
        if (expand_known(w, row * x->parts + w->number)) continue;
        for (uint32_t p = 0; p < x->parts; p++) w->box[p].count = w->box[p].mark;
        x->lab.looked_up = looked_up;
        x->lab.failed = false;
        w->left[w->lefts++] = (uint32_t)row;
    }
}

static void empty_boxes(struct worker *w)
{
    enum { BATCH = 64 };
    const struct crew *c = w->crew;
    struct states q = c->x->q[w->number]; /* a copy: others write beside it */
    struct states_new new[BATCH];
    for (uint32_t k = 0; k < c->workers && !w->failed; k++) {
        const struct box *b = &c->worker[k].box[w->number];
        for (uint32_t at = 0, n; at < b->count && !w->failed; at += n) {
            for (n = 0; n < BATCH && at + n < b->count; n++) {
                const struct entry *e = &b->at[at + n];
                new[n] = (struct states_new){e->job.at, e->from, e->step};
            }
            w->failed = states_put(&q, new, n) < 0;
        }
    }
    c->x->q[w->number] = q;
}

/* ---- the first thread ------------------------------------------------------------------------ */

static void expand_left(struct crew *c)
{
    struct exploration *x = c->x;
    for (uint32_t k = 0; k < c->workers; k++)
        reduction_take_log(&x->reduction, &c->worker[k].log); /* before anything is refuted */
    for (uint32_t k = 0; k < c->workers; k++) {
        const struct worker *w = &c->worker[k];
        x->r->transitions += w->transitions;
        x->lab.looked_up += w->x.lab.looked_up;
        for (uint32_t i = 0; i < w->lefts && !x->r->violated && !x->lab.failed; i++)
            expand(x, (uint64_t)w->left[i] * x->parts + w->number);
    }
    add_found(x);
}

/* How many states of a part are one round: fewer where a limit is near. */
static uint64_t share(const struct exploration *x)
{
    uint64_t most = x->options->most_states, states = states_of(x),
             room = most > states ? (most - states) / 8 : 0;
    return (most && room < ROUND ? room : ROUND) / x->parts + FEW;
}

/* False: nothing is left to do. */
static bool next_round(struct crew *c)
{
    uint64_t states = 0, most = share(c->x);
    for (uint32_t k = 0; k < c->workers; k++) {
        struct worker *w = &c->worker[k];
        w->from = w->to;
        w->to = w->end - w->from < most ? w->end : w->from + most;
        states += w->to - w->from;
    }
    return states > 0;
}

static bool next_depth(struct crew *c)
{
    for (uint32_t k = 0; k < c->workers; k++) c->worker[k].end = c->x->q[k].count;
    if (!next_round(c)) return false;
    c->x->r->depth++;
    return true;
}

static uint64_t bytes_found(const struct crew *c)
{
    uint64_t bytes = c->workers * (sizeof *c->worker + (ROUND / c->workers + FEW) * 4);
    for (uint32_t k = 0; k < c->workers; k++) bytes += c->worker[k].log.room * 4;
    for (uint32_t k = 0; k < c->workers; k++)
        for (uint32_t p = 0; p < c->workers; p++)
            bytes += c->worker[k].box[p].room * sizeof(struct entry);
    return bytes;
}

/* What each is to do in the next round, or it is over. */
static void plan(struct crew *c)
{
    struct exploration *x = c->x;
    uint64_t waiting = 0;
    x->found_bytes = bytes_found(c);
    for (uint32_t k = 0; k < c->workers; k++) {
        if (c->worker[k].failed) lab_starve(&x->lab);
        waiting += x->q[k].count - c->worker[k].to;
    }
    show_progress(x, states_of(x), waiting, false);
    c->over = x->r->violated || x->lab.failed || in_vain(x, &c->noticed) ||
              (!next_round(c) && !next_depth(c));
    c->over = c->over || enough(x);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void turn(struct crew *c)
{
    pthread_barrier_wait(&c->turn);
}

static void rounds(struct worker *w)
{
    struct crew *c = w->crew;
    while (!c->over) {
        expand_slice(w);
        turn(c);
        if (w->number == 0) expand_left(c);
        turn(c);
        empty_boxes(w);
        turn(c);
        if (w->number == 0) plan(c);
        turn(c);
    }
}

static void *work(void *worker)
{
    struct worker *w = worker;
    pthread_mutex_lock(&w->crew->begin); /* until all are there, or can not be */
    pthread_mutex_unlock(&w->crew->begin);
    rounds(w);
    return NULL;
}

static bool start(struct crew *c, uint32_t number)
{
    struct worker *w = &c->worker[number];
    w->crew = c;
    w->number = number;
    w->end = c->x->q[number].count; /* the first state, of one of them */
    w->box = calloc(c->workers, sizeof *w->box);
    w->left = malloc((ROUND / c->workers + FEW) * sizeof *w->left);
    if (w->box == NULL || w->left == NULL) return false;
    if (number == 0) return true;
    if (pthread_create(&w->thread, NULL, work, w) != 0) return false;
    c->threads++;
    return true;
}

static void finish(struct crew *c)
{
    for (uint32_t k = 1; k <= c->threads; k++) pthread_join(c->worker[k].thread, NULL);
    for (uint32_t k = 0; k < c->workers && c->worker; k++) {
        struct worker *w = &c->worker[k];
        for (uint32_t p = 0; p < c->workers && w->box; p++) free(w->box[p].at);
        free(w->box);
        free(w->left);
        free(w->log.at);
    }
    free(c->worker);
    c->x->found_bytes = 0;
}

void explore_parallel(struct exploration *x)
{
    struct crew c = {.x = x, .workers = x->parts, .begin = PTHREAD_MUTEX_INITIALIZER};
    c.worker = calloc(c.workers, sizeof *c.worker);
    pthread_barrier_init(&c.turn, NULL, c.workers);
    pthread_mutex_lock(&c.begin);
    bool there = c.worker != NULL;
    for (uint32_t k = 0; k < c.workers && there; k++) there = start(&c, k);
    if (there) plan(&c);
    else lab_fail(&x->lab, "no memory for as many threads");
    c.over = c.over || !there;
    pthread_mutex_unlock(&c.begin);
    if (there) rounds(&c.worker[0]);
    finish(&c);
    pthread_barrier_destroy(&c.turn);
}
