/* rollback.c: those that go back though they live. They are told by FAILED, which has them in D and
 * their next incarnations in it; their cores say ROLLBACK, they say AGAIN, and execute their
 * programs again. Who can not, does not answer in time (it is stopped, or computes without a call
 * of hark), or is not up yet (it has nothing to keep) is killed and started anew, as the same
 * incarnation: nobody has met that one yet. */
#include "internal.h"

#include <signal.h>
#include <stdio.h>

#define ANSWER_MS 2000 /* so long recovery may wait for a process that computes */

static uint32_t patience(const struct supervisor *s)
{
    return s->o->answer_ms ? s->o->answer_ms : ANSWER_MS;
}

void hark_sup_send_back(struct child *c)
{
    if (c->goes_back) return; /* with another one before; what it will be told is what is then */
    c->goes_back = true;
    c->finished = false;
    c->answer_by = hark_sup_awake() + patience(c->s) * UINT64_C(1000000);
    if (!c->hello) hark_sup_replace(c);
}

void hark_sup_replace(struct child *c)
{
    c->goes_back = true;
    c->finished = false;
    if (!c->runs) return;
    c->answer_by = 0;
    if (c->lacks_image) { /* nobody is there who could die */
        c->lacks_image = false;
        c->ended = c->s->deaths_due = true;
        c->status = SIGKILL;
        return;
    }
    hark_sup_signal(c, SIGKILL, false);
}

void hark_sup_hurry(struct supervisor *s)
{
    char name[32];
    uint64_t now = hark_sup_awake();
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (!c->runs || !c->goes_back || c->answer_by == 0 || now < c->answer_by) continue;
        c->answer_by = 0;
        hark_sup_say("%s does not go back by itself in %u ms; it is killed and started again",
            hark_sup_name(c, name), patience(s));
        hark_sup_signal(c, SIGKILL, false);
    }
}

static void could_not(struct child *c, const char *why, size_t length)
{
    char name[32];
    c->s->troubles++;
    c->goes_back = true; /* its next incarnation has not begun */
    c->answer_by = 0;
    hark_sup_say("%s can not execute its program again: %.*s; it is killed and started again",
        hark_sup_name(c, name), (int)length, why);
    hark_sup_signal(c, SIGKILL, false);
}

void hark_sup_on_rollback_request(struct child *c, struct hark_control *m)
{
    struct hark_control go;
    char name[32];
    size_t length;
    int kept = (int)hark_control_get32(m);
    const char *why = hark_control_gets(m, &length);
    if (m->bad) return;
    if (c->hello) { /* nobody has told it to */
        hark_sup_signal(c, SIGKILL, false);
        return;
    }
    if (length) {
        could_not(c, why, length);
        return;
    }
    if (c->s->signal) { /* that was passed on, and may be lost with it: the end was asked for */
        hark_sup_end(c->s, 128 + c->s->signal);
        return;
    }
    if (c->dying) return; /* before its next incarnation has begun: that is started */
    for (int k = 0; k < 2; k++)
        hark_sup_drain(c, k ? HARK_PIPE_ERR : HARK_PIPE_OUT, true); /* of the earlier incarnation */
    if (c->rank == 0 && hark_sup_input_seek(c->s, 0) != 0) {
        could_not(c, "no pipe for its input", sizeof "no pipe for its input" - 1);
        return;
    }
    hark_sup_incarnate(c);
    c->kept = kept;
    hark_sup_fresh(c);
    hark_control_begin(&go, HARK_C_GO);
    hark_control_end(&go);
    hark_sup_tell(c, &go);
    hark_control_free(&go);
    hark_sup_setup(c);
    if (c->s->o->verbose)
        hark_sup_say("%s goes back as process %d", hark_sup_name(c, name), (int)c->local.pid);
}
