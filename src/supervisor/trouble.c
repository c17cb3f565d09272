/* trouble.c: a store that fails, for a process or for us; a program that its protocol does not
 * suit. */
#include <inttypes.h>

#include "internal.h"

#include "hark/registry.h"

static bool is_troubled(const struct supervisor *s)
{
    bool any = s->record_failed;
    for (uint32_t i = 0; i < s->count; i++) any |= s->child[i].troubled;
    return any;
}

/* A trouble that is over and comes back, as on a disk that is nearly full, is said once in this
 * time. */
static const uint64_t SAID_FOR = UINT64_C(60) * 1000 * 1000 * 1000; /* ns */

void hark_sup_trouble(struct supervisor *s, struct child *whose, const char *line)
{
    uint64_t now = hark_sup_now();
    s->troubles++;
    hark_sup_look_for_store(s);
    if (!is_troubled(s) && !s->store_gone &&
        (s->trouble_said == 0 || now - s->trouble_said >= SAID_FOR)) {
        s->trouble_said = now;
        hark_sup_say("%s; the run goes on with the checkpoints that it has", line);
    }
    if (whose) whose->troubled = true;
    else s->record_failed = true;
}

/* A wave of the group of `rank` was decided: its members' images are written again, and so is the
 * record. */
void hark_sup_works_again(struct supervisor *s, uint32_t rank)
{
    s->record_failed = false;
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (hark_service_same_wave(core_of(s), r, rank)) s->child[r].troubled = false;
}

void hark_sup_lost(struct supervisor *s)
{
    hark_sup_say("%s", s->lost);
    hark_sup_end(s, 1);
}

/* Processes that were lost at once, if they are more than the copies of a determinant survive; 0:
 * they are not. Mates that only went back are no loss, so teams are not looked at. */
static uint32_t lost_more_than_copies(const struct supervisor *s)
{
    const struct recovery *r = s->recoveries ? &s->recovery[s->recoveries - 1] : NULL;
    const uint32_t copies = s->o->core.copies ? s->o->core.copies : 1;
    uint32_t lost = 0;
    if (r == NULL || !s->o->protocol->unstable || hark_service_by_cluster(s->o->protocol)) return 0;
    for (uint32_t i = 0; i < s->o->ranks; i++) lost += r->rolled[i];
    return lost > copies ? lost : 0;
}

static void advise_copies(const struct supervisor *s, uint32_t lost)
{
    enum { COPIES_MOST = 8 };
    const uint32_t copies = s->o->core.copies ? s->o->core.copies : 1;
    char ranks[200];
    hark_sup_name_ranks(s, s->recovery[s->recoveries - 1].rolled, ranks, sizeof ranks);
    hark_sup_say("ranks %s were lost at once: %s keeps what each received %" PRIu32
                 " time%s elsewhere, so it survives the loss of %" PRIu32
                 "; that may be the reason, not the program",
        ranks, s->o->protocol->name, copies, copies == 1 ? "" : "s", copies);
    if (lost < s->o->ranks && lost <= COPIES_MOST)
        hark_sup_say("for so many losses at once use --copies %" PRIu32, lost);
    else
        hark_sup_say("for so many losses at once use --protocol %s: see `hark help protocols`",
            hark_protocol_for(HARK_FOR_ANY)->name);
}

void hark_sup_advise_diverged(const struct supervisor *s)
{
    const struct hark_protocol *p = s->o->protocol;
    const uint32_t lost = lost_more_than_copies(s);
    if (lost) advise_copies(s, lost);
    else if (p->unstable)
        hark_sup_say("under %s a process must do the same again when it receives the same in the "
                     "same order: nothing may depend on a clock "
                     "or chance that --journal does not keep, nor on a process number; a program "
                     "that can not do without needs "
                     "--protocol %s: see `hark help protocols`",
            p->name, hark_protocol_for(HARK_FOR_ANY)->name);
    else if (!hark_service_by_all(p))
        hark_sup_say("under %s a process must send the same again in whatever order messages "
                     "come; this one does not. If the order decides what it sends, use --protocol "
                     "%s (see `hark help protocols`); if a clock or random numbers do, --journal; "
                     "if it takes checkpoints, look whether all it needs is protected, also the "
                     "loop counter",
            p->name, hark_protocol_for(HARK_FOR_PIECEWISE)->name);
}
