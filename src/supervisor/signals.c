/* signals.c: what each signal to `hark run` does. hark-run(1), SIGNALS, is this table in words. */
#include "internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum action {
    PASS_AND_END, /* the processes get it; the run ends when they have, or after the grace time; a
                     second one ends it at once */
    SAY_AND_END,  /* the same, but the processes get SIGTERM, and a line says which signal it was */
    END_NOW,      /* as a second one */
    PASS,         /* those processes get it that handle it */
    CONTINUE      /* the processes go on */
};

static const struct row {
    int number;
    enum action action;
} table[] = {{SIGINT, PASS_AND_END}, {SIGTERM, PASS_AND_END}, {SIGHUP, PASS_AND_END},
    {SIGQUIT, END_NOW}, {SIGUSR1, PASS}, {SIGUSR2, PASS}, {SIGCONT, CONTINUE},
    {SIGXCPU, SAY_AND_END}, {SIGALRM, SAY_AND_END}, {SIGVTALRM, SAY_AND_END},
    {SIGPROF, SAY_AND_END}, {SIGPOLL, SAY_AND_END}, {SIGPWR, SAY_AND_END},
    {SIGSTKFLT, SAY_AND_END}};
#define ROWS (sizeof table / sizeof table[0])
HARK_STATIC_ASSERT(ROWS == HARK_SUP_SIGNALS, "each has a handle");

/* ---- to the processes ------------------------------------------------------------------------ */

static void pass(const struct supervisor *s, int number)
{
    char name[24];
    uint32_t passed = 0;
    for (uint32_t i = 0; i < s->o->ranks; i++) passed += hark_sup_pass(&s->child[i], number);
    if (passed == 0)
        hark_sup_say("%s came: no process handles it, so it was passed on to none (it would have "
                     "ended them)",
            hark_sup_signal_name(number, name));
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void end_now(struct supervisor *s)
{
    s->phase = ENDING;
    s->exit = 128 + s->signal;
    hark_sup_kill_all(s);
    hark_sup_child_gone(s);
}

static void grace_is_over(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    char name[24];
    uint32_t left = 0;
    for (uint32_t i = 0; i < s->o->ranks; i++) left += s->child[i].runs;
    if (left && s->phase == RUNNING)
        hark_sup_say("%" PRIu32 " process%s not ended within %.3g s of %s; killed", left,
            left > 1 ? "es have" : " has", (double)s->o->grace_ms / 1000,
            hark_sup_signal_name(s->signal, name));
    end_now(s);
}

static void begin_to_end(struct supervisor *s, int number, int passed_on)
{
    if (s->signal) {
        end_now(s);
        return;
    }
    s->signal = number;
    hark_sup_signal_groups(s, passed_on, false);
    if (s->phase != ENDING) uv_timer_start(&s->grace, grace_is_over, s->o->grace_ms, 0);
    s->finish_due = true; /* all may have finished already, and wait for their output */
}

static void act(struct supervisor *s, const struct row *row)
{
    char name[24];
    switch (row->action) {
    case PASS_AND_END: begin_to_end(s, row->number, row->number); break;
    case SAY_AND_END:
        if (s->signal == 0)
            hark_sup_say("%s came: the run ends", hark_sup_signal_name(row->number, name));
        begin_to_end(s, row->number, SIGTERM);
        break;
    case END_NOW:
        if (s->signal == 0) s->signal = row->number;
        end_now(s);
        break;
    case PASS: pass(s, row->number); break;
    case CONTINUE: hark_sup_signal_groups(s, SIGCONT, true); break;
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct supervisor *s = handle->data;
    const struct row *row = &table[handle - s->on_signal];
    bool ends = row->action != PASS && row->action != CONTINUE,
         checkpoint = number == s->o->checkpoint_on && s->phase == RUNNING;
    if (s->ended && ends) { /* only its output is left, and nobody reads that */
        s->signal = number;
        s->give_up = true;
        uv_stop(&s->loop);
    } else if (checkpoint && !s->checkpoint_asked) {
        hark_sup_ask_checkpoint(s);
    } else if (s->ended == 0 && !(checkpoint && !ends)) { /* a second one does what it does without
                                                             the option */
        act(s, row);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

void hark_sup_signals_open(struct supervisor *s)
{
    for (size_t i = 0; i < ROWS; i++) {
        uv_signal_t *handle = &s->on_signal[i];
        uv_signal_init(&s->loop, handle);
        handle->data = s;
        if (!hark_sup_signal_ignored(s, table[i].number) || table[i].number == s->o->checkpoint_on)
            uv_signal_start(handle, on_signal, table[i].number);
    }
}

int hark_sup_signal_number(const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < ROWS; i++) {
        const char *known = sigabbrev_np(table[i].number);
        bool can = table[i].action != CONTINUE && table[i].action != END_NOW;
        if (can && known && strcmp(known, name) == 0) return table[i].number;
    }
    return 0;
}
