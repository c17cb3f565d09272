/* stall.c: nothing moves: says once which process waits where, and what to do where that is known.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART_MOST 4 /* lines on who does not reach whom */
#define LINES_MOST                                                                                 \
    12 /* of those that wait alike; a deadlock of thousands of processes is told by the first */

void hark_sup_waits(struct child *c, struct hark_control *m)
{
    struct hark_waits w;
    if (hark_waits_get(m, &w) && c->rank != HARK_RECOVERY) {
        c->waits = w;
        c->waits_known = true;
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "a message of rank 1 with tag 7". */
static void message_words(int32_t from, int32_t tag, char text[80])
{
    char rank[24] = "any rank", number[24] = "any tag";
    if (from >= 0) snprintf(rank, sizeof rank, "rank %" PRId32, from);
    if (tag >= 0) snprintf(number, sizeof number, "tag %" PRId32, tag);
    snprintf(text, 80, "a message of %s with %s", rank, number);
}

static void ordinal(uint64_t n, char text[24])
{
    static const char *const end[] = {"th", "st", "nd", "rd"};
    bool teen = n % 100 >= 11 && n % 100 <= 13;
    snprintf(text, 24, "%" PRIu64 "%s", n, n % 10 <= 3 && !teen ? end[n % 10] : "th");
}

/* What comes behind "rank 3" or "ranks 3-5", which take another form of the verb. */
static void waits_words(const struct hark_waits *w, bool many, char text[256])
{
    const char *waits = many ? "wait" : "waits";
    char message[80], nth[24];
    message_words(w->from, w->tag, message);
    switch (w->what) {
    case HARK_WAITS_MESSAGE: snprintf(text, 256, "%s in %s for %s", waits, w->call, message); break;
    case HARK_WAITS_ANY:
        snprintf(text, 256, "%s in %s for one of %" PRIu32 " messages", waits, w->call, w->count);
        break;
    case HARK_WAITS_COLLECTIVE:
        if (w->from >= 0)
            snprintf(text, 256, "%s in %s for rank %" PRId32, waits, w->call, w->from);
        else snprintf(text, 256, "%s in %s", waits, w->call);
        break;
    case HARK_WAITS_CHECKPOINT:
        ordinal(w->calls, nth);
        snprintf(text, 256,
            "%s in %s %s hark_checkpoint call for the other processes' call of that number", waits,
            many ? "their" : "its", nth);
        break;
    case HARK_WAITS_FINALIZE:
        snprintf(text, 256, "%s in %s until all processes have called it", waits, w->call);
        break;
    case HARK_WAITS_ROOM: snprintf(text, 256, "%s in %s for room", waits, w->call); break;
    default: snprintf(text, 256, "%s", waits); break;
    }
    size_t at = strlen(text);
    if (w->untaken == 0) return;
    message_words(w->untaken_from, w->untaken_tag, message);
    if (w->untaken == 1)
        snprintf(text + at, 256 - at, "; %s has come, and no receive takes it", message);
    else
        snprintf(text + at, 256 - at,
            "; %" PRIu32 " messages have come that no receive takes, first %s", w->untaken,
            message);
}

/* ---- groups of those that wait alike --------------------------------------------------------- */

static bool alike(const struct child *a, const struct child *b)
{
    const struct hark_waits *x = &a->waits, *y = &b->waits;
    if (a->waits_known != b->waits_known) return false;
    return !a->waits_known || (strcmp(x->call, y->call) == 0 && x->what == y->what &&
                                  x->from == y->from && x->tag == y->tag && x->count == y->count &&
                                  (x->what != HARK_WAITS_CHECKPOINT || x->calls == y->calls) &&
                                  x->untaken == y->untaken && x->untaken_from == y->untaken_from &&
                                  x->untaken_tag == y->untaken_tag);
}

/* Marks in member[] all from rank `first` on that wait as it does and are not marked in done[]; how
 * many. */
static uint32_t gather_alike(
    const struct supervisor *s, uint32_t first, uint8_t *member, uint8_t *done)
{
    uint32_t n = 0;
    memset(member, 0, s->o->ranks);
    for (uint32_t r = first; r < s->o->ranks; r++) {
        if (done[r] || !alike(&s->child[first], &s->child[r])) continue;
        member[r] = done[r] = 1;
        n++;
    }
    return n;
}

static void say_groups(const struct supervisor *s, uint8_t *member, uint8_t *done)
{
    char ranks[200], text[256];
    uint32_t lines = 0, left = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        if (done[r]) continue;
        if (lines++ == LINES_MOST) {
            for (uint32_t k = r; k < s->o->ranks; k++) left += !done[k];
            hark_sup_say("  and %s more, each elsewhere",
                hark_sup_count(left, "process", "processes", text));
            return;
        }
        bool many = gather_alike(s, r, member, done) > 1;
        hark_sup_name_ranks(s, member, ranks, sizeof ranks);
        waits_words(&s->child[r].waits, many, text);
        hark_sup_say("  rank%s %s %s", many ? "s" : "", ranks, text);
    }
}

/* ---- advice ---------------------------------------------------------------------------------- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* One waits in a checkpoint call that another one of its group has not made, or has long passed. */
static bool advise_checkpoints(const struct supervisor *s, uint8_t *member)
{
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const struct hark_waits *w = &s->child[r].waits;
        if (!s->child[r].waits_known || w->what != HARK_WAITS_CHECKPOINT) continue;
        for (uint32_t other = 0; other < s->o->ranks; other++) {
            const struct child *o = &s->child[other];
            if (!o->waits_known || o->waits.calls == w->calls) continue;
            if (!hark_service_same_wave(core_of(s), r, other)) continue;
            char ours[200], theirs[200];
            for (int k = 0; k < 2; k++) {
                uint64_t calls = k ? o->waits.calls : w->calls;
                for (uint32_t i = 0; i < s->o->ranks; i++)
                    member[i] = s->child[i].waits_known &&
                                hark_service_same_wave(core_of(s), r, i) &&
                                s->child[i].waits.calls == calls;
                hark_sup_name_ranks(s, member, k ? theirs : ours, sizeof ours);
            }
            bool one = strpbrk(ours, " -") == NULL, other_one = strpbrk(theirs, " -") == NULL;
            hark_sup_say("  rank%s %s ha%s called hark_checkpoint %" PRIu64
                         " time%s, rank%s %s %" PRIu64 " time%s: under %s %s "
                         "must call it equally often; see hark-run(1), CHECKPOINTS",
                one ? "" : "s", ours, one ? "s" : "ve", w->calls, plural(w->calls),
                other_one ? "" : "s", theirs, o->waits.calls, plural(o->waits.calls),
                s->o->protocol->name,
                hark_service_same_wave(core_of(s), 0, s->o->ranks - 1)
                    ? "all processes"
                    : "the processes of a cluster");
            return true;
        }
    }
    return false;
}

/* The call by which its program has ended. */
static const char *end_of(const struct child *c)
{
    const bool known = c->waits_known && c->waits.what == HARK_WAITS_FINALIZE;
    return known ? c->waits.call : "hark_finalize";
}

/* Something that was sent has not arrived: hosts may not reach each other. */
static bool some_under_way(const struct supervisor *s)
{
    uint64_t frames = 0;
    for (uint32_t i = 0; i < s->count; i++)
        frames += hark_sup_slot(&s->child[i])->frames_out - hark_sup_slot(&s->child[i])->frames_in;
    return frames != 0;
}

/* One waits for a message of a process that has left. */
static bool advise_finalize(const struct supervisor *s)
{
    if (s->host && some_under_way(s)) return false;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const struct hark_waits *w = &s->child[r].waits;
        bool waits = s->child[r].waits_known &&
                     (w->what == HARK_WAITS_MESSAGE || w->what == HARK_WAITS_COLLECTIVE);
        if (!waits || w->from < 0 || (uint32_t)w->from >= s->o->ranks ||
            !s->child[w->from].finished)
            continue;
        hark_sup_say("  rank %" PRId32 " has called %s and sends nothing any more: rank %" PRIu32
                     " waits for a message "
                     "that was never sent",
            w->from, end_of(&s->child[w->from]), r);
        return true;
    }
    return false;
}

static bool all_finished(const struct supervisor *s)
{
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (!s->child[r].finished) return false;
    return true;
}

void hark_sup_say_waits(struct supervisor *s)
{
    uint8_t *member = calloc(s->o->ranks, 1), *done = calloc(s->o->ranks, 1);
    hark_sup_say("nothing moves: every process waits");
    if (member && done) {
        say_groups(s, member, done);
        if (!advise_checkpoints(s, member)) (void)advise_finalize(s);
    }
    free(member);
    free(done);
}

bool hark_sup_stalled(struct supervisor *s, uint64_t since_ns)
{
    bool limit = s->o->stall_limit_ms && since_ns >= s->o->stall_limit_ms * UINT64_C(1000000);
    if (all_finished(s)) return false; /* only their output waits, for its reader */
    if (since_ns >= HARK_SUP_STALL_NS && !s->stall_said) {
        s->stall_said = true;
        hark_sup_say_waits(s);
        if (!limit && hark_service_down(core_of(s)) == 0)
            hark_sup_say(
                "  the program stands still by itself%s; Ctrl-C ends it, and --stall-limit "
                "T would after that time",
                s->host ? ", or some of its hosts do not reach each other" : "");
    }
    if (!limit) return false;
    if (!s->stall_said) hark_sup_say_waits(s);
    hark_sup_say("nothing has moved for %.6g s (--stall-limit): the run ends",
        (double)s->o->stall_limit_ms / 1000);
    hark_sup_end(s, 1);
    return true;
}

/* "rank 3 (host b)". */
static void name_with_host(const struct child *c, char text[300])
{
    char name[32];
    hark_sup_name(c, name);
    if (c->host) snprintf(text, 300, "%s (host %s)", name, c->host->name);
    else snprintf(text, 300, "%s", name);
}

/* One that is dead is not reached either, nor one on a host that is cut off from us too: of these
 * there are other lines. */
void hark_sup_apart(const struct child *c, struct hark_control *m)
{
    struct supervisor *s = c->s;
    const uint32_t rank = hark_control_get32(m), slot = rank == HARK_RECOVERY ? s->o->ranks : rank;
    const uint64_t milliseconds = hark_control_get64(m);
    char ours[300], theirs[300];
    size_t length;
    const char *text = hark_control_gets(m, &length);
    if (m->bad || slot >= s->count || s->apart_said == APART_MOST) return;
    const struct child *to = &s->child[slot];
    if (!to->hello || hark_sup_is_dead(to) || to->goes_back || hark_sup_host_silent(s)) return;
    name_with_host(c, ours);
    name_with_host(to, theirs);
    s->apart_said++;
    hark_sup_say("%s has not reached %s for %.0f s: %.*s%s%s", ours, theirs,
        (double)milliseconds / 1000, (int)length, text,
        c->host != to->host ? "; do their hosts reach each other, on all ports?" : "",
        s->apart_said == APART_MOST ? " (of others it is not said any more)" : "");
}

void hark_sup_moves(struct supervisor *s)
{
    for (uint32_t r = 0; r < s->o->ranks; r++) s->child[r].waits_known = false;
    if (s->stall_said) hark_sup_say("the processes move again");
    s->stall_said = false;
}
