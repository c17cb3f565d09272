/* checkpoint.c: checkpoints on demand: a signal asks for one, for which a batch system has warned,
 * or a person wants it. */
#include "internal.h"

void hark_sup_checkpoint_wanted(struct child *c)
{
    struct hark_control m;
    if (!c->checkpoint_due || !c->hello) return;
    hark_control_begin(&m, HARK_C_CHECKPOINT);
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
}

void hark_sup_ask_checkpoint(struct supervisor *s)
{
    char name[24];
    s->checkpoint_asked = true;
    hark_sup_say("%s came: the program takes a checkpoint when it calls hark_checkpoint next",
        hark_sup_signal_name(s->o->checkpoint_on, name));
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        s->child[r].checkpoint_due = true;
        hark_sup_checkpoint_wanted(&s->child[r]);
    }
    hark_sup_checkpoint_done(s);
}

void hark_sup_checkpointed(struct supervisor *s, uint32_t rank)
{
    const uint64_t now = hark_sup_now();
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        struct child *c = &s->child[r];
        if (!hark_service_same_wave(core_of(s), r, rank)) continue;
        c->checkpoint_due = false;
        c->checkpointed = hark_service_wave(core_of(s), r, 0);
        c->checkpointed_at = now;
    }
    hark_sup_checkpoint_done(s);
}

void hark_sup_checkpoint_done(struct supervisor *s)
{
    char name[24];
    if (!s->checkpoint_asked || s->phase != RUNNING) return;
    uint32_t finished = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        if (!s->child[r].finished && s->child[r].checkpoint_due) return;
        finished += s->child[r].finished;
    }
    if (finished == s->o->ranks) return; /* too late: the job is done */
    s->checkpoint_asked = false;
    hark_sup_signal_name(s->o->checkpoint_on, name);
    if (!s->o->then_stop) {
        hark_sup_say("the checkpoint that %s asked for is taken; the run goes on", name);
        return;
    }
    hark_sup_say("the checkpoint that %s asked for is taken; the run stops, and goes on from there "
                 "with --resume",
        name);
    if (hark_sup_flush_then_end(s)) return;
    hark_sup_end(s, HARK_RUN_AGAIN);
}
