/* quiet.c: looks at the board: can anything move? */
#include "internal.h"

#define SECOND        UINT64_C(1000000000)
#define QUIET_NS      (SECOND / 5)  /* so long nothing has moved, and no frame is on its way */
#define QUIET_LOST_NS (2 * SECOND)  /* or: frames were lost with a process that died */
#define AWAKE_NS      (5 * SECOND)  /* so long, though they wake, as to try to reach somebody */
#define HOPELESS_NS   (5 * SECOND)  /* and so long still nothing after QUIET */
#define HOSTS_NS      (60 * SECOND) /* with hosts, which may not reach each other for a while */

struct sums {
    uint64_t out, in;  /* frames */
    uint64_t stirring; /* changes when anything does, be it only that a process woke and slept again
                        */
    uint64_t progress; /* changes when an application or a recovery gets further */
    uint64_t moves;    /* changes when a frame leaves or arrives, or with progress */
    bool sends, apart; /* somebody waits in a send, and does not reach its receiver */
};

/* False: somebody is busy, starting or gone. */
static bool add_up(const struct supervisor *s, struct sums *sum)
{
    if (hark_sup_host_silent(s)) return false; /* nobody knows what is there */
    *sum = (struct sums){.progress = hark_service_epoch(core_of(s))};
    for (uint32_t i = 0; i < s->count; i++) {
        const struct child *c = &s->child[i];
        const struct hark_board_slot *slot = hark_sup_slot(c);
        if (!c->runs || !c->hello) return false;
        if (slot->state == HARK_B_BUSY && !c->finished) return false;
        const bool apart = slot->state == HARK_B_APART && !c->finished;
        sum->apart |= apart;
        sum->sends |= apart || (slot->state == HARK_B_SENDS && !c->finished);
        sum->out += slot->frames_out;
        sum->in += slot->frames_in;
        sum->stirring += slot->turn;
        sum->progress += slot->messages + slot->deliveries + slot->replayed + slot->suppressed +
                         slot->checkpoints;
    }
    /* Of numbers that only rise the sum changes with each. */
    sum->moves = sum->out + sum->in + sum->progress;
    sum->stirring += sum->moves;
    return true;
}

static void tell_all(struct supervisor *s, uint8_t type)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_end(&m);
    for (uint32_t i = 0; i < s->count; i++) {
        s->child[i].look_turn = hark_sup_slot(&s->child[i])->turn;
        hark_sup_tell(&s->child[i], &m);
    }
    hark_control_free(&m);
}

/* One that is stopped, or gets no processor, looks asleep too. Who has been awake since it was
 * asked, and sleeps again, has found nothing to do. */
static bool all_looked(const struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (hark_sup_slot(&s->child[i])->turn == s->child[i].look_turn) return false;
    return true;
}

static void say_quiet(struct supervisor *s, const struct sums *sum)
{
    s->quiet_said = true;
    s->look_asked = false;
    s->look_progress = sum->progress;
    for (uint32_t i = 0; i < s->count; i++) s->child[i].waits_known = false;
    tell_all(s, HARK_C_QUIET);
}

/* It has said so for `since` ns, and nothing has moved since then. */
static void stand_still(struct supervisor *s, uint64_t since)
{
    const uint64_t hopeless = s->host ? HOSTS_NS : HOPELESS_NS;
    if (hark_sup_stalled(s, since) || since < hopeless || hark_service_down(core_of(s)) == 0)
        return;
    s->diverged++;
    hark_sup_say("diverged: recovery can not end, every process waits for a message that nobody "
                 "sends again");
    hark_sup_advise_diverged(s);
    hark_sup_end(s, 1);
}

/* For long nothing has come or gone, though somebody was awake now and then. */
static bool only_awake(struct supervisor *s, const struct sums *sum, bool still, uint64_t now)
{
    if (!still || sum->moves != s->look_moved) s->look_moved_since = now;
    s->look_moved = sum->moves;
    return now - s->look_moved_since >= AWAKE_NS;
}

/* Nobody computes, and somebody waits in a send: it is not QUIET, for behind the send another
 * message may follow that others wait for. A long message may only be slow; but if its receiver is
 * not reached, which is found out when they look, the job stands still. */
static void sends_stand_still(
    struct supervisor *s, const struct sums *sum, bool still, uint64_t now)
{
    if (!still || !sum->sends || sum->moves != s->sends_moves) {
        if (s->sends_asked) hark_sup_moves(s);
        s->sends_asked = false;
        s->sends_moves = sum->moves;
        s->sends_since = s->sends_looked = now;
    } else if (now - s->sends_looked >= QUIET_LOST_NS) {
        s->sends_asked = true;
        s->sends_looked = now;
        tell_all(s, HARK_C_LOOK);
    } else if (s->sends_asked && sum->apart && all_looked(s)) {
        (void)hark_sup_stalled(s, now - s->sends_since);
    }
}

void hark_sup_check_quiescence(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    struct sums sum = {0};
    uint64_t now = hark_sup_awake();
    if (s->phase != RUNNING || s->signal) return;
    hark_sup_look_for_store(s);
    hark_sup_hurry(s);
    hark_sup_let_out(s);
    bool still = add_up(s, &sum);
    sends_stand_still(s, &sum, still, now);
    if (s->phase != RUNNING) return;
    still = still && !sum.sends;
    const bool awake = only_awake(s, &sum, still, now);
    if (s->quiet_said && !still) {
        s->look_since = now;
    } else if (s->quiet_said && sum.progress == s->look_progress) {
        /* That QUIET itself wakes everybody and sends frames is no progress. */
        if (!all_looked(s)) s->look_since = now;
        stand_still(s, now - s->look_since);
    } else if (!still || s->quiet_said || (!awake && sum.stirring != s->look_stirring)) {
        if (!still || sum.moves != s->look_moves)
            s->look_asked = false; /* not only that they were awake and looked */
        if (s->quiet_said && still) hark_sup_moves(s);
        s->quiet_said = false;
        s->look_since = now;
        s->look_stirring = still ? sum.stirring : 0;
    } else if (now - s->look_since >=
               (sum.out == sum.in || s->look_asked ? QUIET_NS : QUIET_LOST_NS)) {
        s->look_since = now;
        if (s->look_asked && all_looked(s)) {
            say_quiet(s, &sum);
        } else if (!s->look_asked) {
            s->look_asked = true;
            s->look_moves = sum.moves;
            tell_all(s, HARK_C_LOOK);
        }
    }
}
