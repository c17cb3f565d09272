/* turns.c: what a turn of the loop has to do, by a thread of its own, so that a store that does not
 * answer for a while does not keep us from answering agents, which would end their processes.
 *
 * There is one baton: while the turn runs the loop waits for it, and nothing happens at the same
 * time. Only while the turn waits for a file (hark_sup_away() to hark_sup_back()) the loop goes on:
 * it answers beats and inquiries, and notes all else. */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS UINT64_C(20000000)    /* the loop waits so long for a file itself */
#define SAY_NS      UINT64_C(10000000000) /* then it is said that the store does not answer */

enum baton {
    LOOP,    /* the turn is over, or has not begun */
    TURN,    /* it runs */
    AWAY,    /* it waits for a file */
    RETURNED /* the file has answered, and it waits for the baton */
};

struct hark_turns {
    struct supervisor *s;
    void (*turn)(struct supervisor *s);
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum baton baton; /* under lock */
    bool ends;        /* under lock */
    bool open, begun; /* turns are the thread's; it is there */
    uv_async_t returned;
    uint64_t away_since; /* of the loop: when it went on without the turn; 0: it did not */
    bool said;
};

static void set(struct hark_turns *t, enum baton baton)
{
    t->baton = baton;
    pthread_cond_broadcast(&t->changed);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *take_turns(void *self)
{
    struct hark_turns *t = self;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->baton != TURN && !t->ends) pthread_cond_wait(&t->changed, &t->lock);
        if (t->ends) break;
        pthread_mutex_unlock(&t->lock);
        t->turn(t->s);
        pthread_mutex_lock(&t->lock);
        set(t, LOOP);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static bool is_turn(const struct hark_turns *t)
{
    return t && t->open && pthread_equal(t->thread, pthread_self());
}

void hark_sup_away(const struct supervisor *s)
{
    struct hark_turns *t = s->turns;
    if (!is_turn(t)) return;
    pthread_mutex_lock(&t->lock);
    set(t, AWAY);
    pthread_mutex_unlock(&t->lock);
}

void hark_sup_back(const struct supervisor *s)
{
    struct hark_turns *t = s->turns;
    const int error = errno;
    if (!is_turn(t)) return;
    pthread_mutex_lock(&t->lock);
    set(t, RETURNED);
    uv_async_send(&t->returned);
    while (t->baton != TURN) pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
    errno = error;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The turn has the baton: until it is over, or `patience` (0: for ever) longer away than that.
 * False: it is away still. */
static bool await_turn(struct hark_turns *t, uint64_t patience)
{
    const uint64_t until = hark_sup_now() + patience;
    struct timespec at; /* of CLOCK_MONOTONIC */
    at.tv_sec = (time_t)(until / 1000000000);
    at.tv_nsec = (long)(until % 1000000000);
    while (t->baton != LOOP) {
        if (t->baton == RETURNED) set(t, TURN);
        else if (t->baton == TURN || patience == 0) pthread_cond_wait(&t->changed, &t->lock);
        else if (pthread_cond_timedwait(&t->changed, &t->lock, &at) == ETIMEDOUT &&
                 t->baton == AWAY)
            return false;
    }
    return true;
}

static void say_away(struct hark_turns *t, uint64_t now)
{
    struct supervisor *s = t->s;
    if (t->said || now - t->away_since < SAY_NS) return;
    t->said = true;
    hark_sup_say("store %s: it has not answered for %.0f s; until it does no checkpoint is decided "
                 "and no process begins again",
        s->store_path, (double)(now - t->away_since) / 1e9);
}

static void is_over(struct hark_turns *t)
{
    if (t->said) hark_sup_say("store %s: it answers again", t->s->store_path);
    t->said = false;
    t->away_since = 0;
}

void hark_sup_take_turn(struct supervisor *s, void (*turn)(struct supervisor *s))
{
    struct hark_turns *t = s->turns;
    if (t == NULL || !t->open) {
        turn(s);
        return;
    }
    pthread_mutex_lock(&t->lock);
    if (t->baton == LOOP) {
        t->turn = turn;
        set(t, TURN);
    }
    const uint64_t now = hark_sup_now();
    const bool over = t->baton != AWAY && await_turn(t, PATIENCE_NS);
    if (!over && t->away_since == 0) t->away_since = now;
    pthread_mutex_unlock(&t->lock);
    if (over) is_over(t);
    else say_away(t, now);
}

bool hark_sup_frozen(const struct supervisor *s)
{
    return s->turns && s->turns->open && s->turns->away_since && !is_turn(s->turns);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* It is there for the loop to wake up. */
static void on_returned(uv_async_t *async)
{
    (void)async;
}

static int begin_thread(struct hark_turns *t)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all); /* signals are for the loop */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(&t->thread, NULL, take_turns, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

bool hark_sup_turns_open(struct supervisor *s)
{
    struct hark_turns *t = calloc(1, sizeof *t);
    int status = t ? -uv_async_init(&s->loop, &t->returned, on_returned) : ENOMEM;
    if (status) {
        free(t);
        t = NULL;
    } else {
        t->s = s;
        s->turns = t;
        status = begin_thread(t);
        t->open = t->begun = status == 0;
    }
    if (status)
        hark_sup_say(
            "no %s for the files of the job: %s", t ? "thread" : "memory", strerror(status));
    return status == 0;
}

void hark_sup_turns_stop(struct supervisor *s)
{
    struct hark_turns *t = s->turns;
    if (t == NULL || !t->open) return;
    pthread_mutex_lock(&t->lock);
    (void)await_turn(t, 0);
    pthread_mutex_unlock(&t->lock);
    t->open = false;
    is_over(t);
}

/* Its handle is closed with the loop. */
void hark_sup_turns_free(struct supervisor *s)
{
    struct hark_turns *t = s->turns;
    if (t && t->begun) {
        pthread_mutex_lock(&t->lock);
        t->ends = true;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
    }
    free(t);
    s->turns = NULL;
}
