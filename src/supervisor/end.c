/* end.c: the end of a job, wished for or not. */
#include "internal.h"

#include <signal.h>

#define GRACE_MS                                                                                   \
    3000 /* for processes to end after a signal, and for the recovery process after all others */

/* The recovery process knows nothing that is worth waiting for when all others have ended. */
void hark_sup_stop_if_gone(struct supervisor *s)
{
    const struct child *left = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->child[i].runs) continue;
        left = &s->child[i];
        if (left->rank != HARK_RECOVERY) return;
    }
    if (left == NULL) uv_stop(&s->loop);
    else if (s->phase == ENDING) hark_sup_signal(left, SIGKILL, false);
}

void hark_sup_kill_all(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++) hark_sup_signal(&s->child[i], SIGKILL, false);
}

static void grace_is_over(uv_timer_t *timer)
{
    hark_sup_kill_all(timer->data);
}

/* Less than a signal gives: there is one already that has ended. */
static void give_grace(struct supervisor *s)
{
    bool on = uv_is_active((uv_handle_t *)&s->grace);
    if (!on || uv_timer_get_due_in(&s->grace) > GRACE_MS)
        uv_timer_start(&s->grace, grace_is_over, GRACE_MS, GRACE_MS);
}

void hark_sup_end(struct supervisor *s, int status)
{
    if (s->phase != ENDING) {
        s->phase = ENDING;
        s->exit = status;
        if (s->signal) give_grace(s); /* they have been told to end themselves */
        else hark_sup_kill_all(s);
    }
    hark_sup_stop_if_gone(s);
}

void hark_sup_no_memory(struct supervisor *s, const char *what)
{
    if (s->phase != ENDING) hark_sup_say("no memory for %s", what);
    hark_sup_end(s, 1);
}

void hark_sup_child_gone(struct supervisor *s)
{
    if (s->phase == FINISHING) {
        for (uint32_t i = 0; i < s->o->ranks; i++)
            if (s->child[i].runs) return;
        give_grace(s); /* only the recovery process may be left */
    }
    hark_sup_stop_if_gone(s);
}
