/* diagram_window.c: which part of a long trace is shown, if nobody says. */
#include <math.h>
#include <stdlib.h>

#include "diagram.h"

#define MESSAGES_DEFAULT 300u /* or 40 for each process, if that is more */

/* Messages are kept in the order in which they were sent: the number of those sent before `time`.
 */
static uint32_t sent_before(const struct dg_story *s, uint64_t time)
{
    uint32_t low = 0, high = s->messages;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->message[middle].sent < time) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The moment `count` messages before (or after) `time`. */
static uint64_t messages_before(const struct dg_story *s, uint64_t time, uint32_t count)
{
    uint32_t i = sent_before(s, time);
    return i > count ? s->message[i - count].sent : s->start;
}

static uint64_t messages_after(const struct dg_story *s, uint64_t time, uint32_t count)
{
    uint64_t i = (uint64_t)sent_before(s, time) + count;
    return i < s->messages ? s->message[i].sent : s->end;
}

struct episode {   /* from a failure until failure-free rules applied again */
    uint64_t back; /* what the earliest process went back to */
    uint64_t from, to;
};

/* Counts the episodes and describes the first. A failure before anyone recovered belongs to the one
 * before. */
static uint32_t episodes(const struct dg_story *s, struct episode *first)
{
    uint32_t count = 0;
    bool settled = true;
    for (uint32_t i = 0; i < s->marks; i++) {
        const struct dg_mark *m = &s->mark[i];
        bool ends = m->kind == HARK_TRACE_RECOVERED;
        if (m->kind == HARK_TRACE_KILL || m->kind == HARK_TRACE_ROLLBACK ||
            m->kind == HARK_TRACE_FAILED) {
            if (settled && count++ == 0) first->from = m->time;
            settled = false;
        } else if (ends) {
            settled = true;
        }
        if (count == 1 && (ends || m->kind == HARK_TRACE_RESTART)) first->to = m->time;
    }
    if (count == 0) return 0;
    if (first->to < first->from) first->to = s->end;
    first->back = first->from;
    for (uint32_t i = 0; i < s->spans; i++) {
        const struct dg_span *p = &s->span[i];
        if (p->kind == DG_LOST && p->to >= first->from && p->to <= first->to &&
            p->from < first->back)
            first->back = p->from;
    }
    return count;
}

static void around(struct dg_layout *l, const struct episode *e, uint32_t budget)
{
    const struct dg_story *s = &l->story;
    uint32_t all = sent_before(s, e->to) - sent_before(s, e->back);
    uint32_t recovery = sent_before(s, e->to) - sent_before(s, e->from);
    if (budget > DG_SINGLE) budget = DG_SINGLE;
    uint32_t margin = all < budget ? (budget - all) / 2 : 0;
    if (margin < budget / 20 + 4) margin = budget / 20 + 4;
    if (all <= DG_SINGLE) {
        l->from = messages_before(s, e->back, margin);
        l->to = messages_after(s, e->to, margin);
        return;
    }
    /* Too long for one picture: the end of what was lost, and as much of the recovery as there is
     * room for. */
    l->from = messages_before(s, e->from, DG_SINGLE / 5);
    l->to = recovery <= DG_SINGLE / 10 * 7 ? e->to : messages_after(s, e->from, DG_SINGLE / 10 * 7);
}

static uint64_t ns(double ms, uint64_t most)
{
    double value = ms * 1e6;
    return value >= (double)most ? most : (uint64_t)value;
}

static void mark_shown(struct dg_layout *l, uint32_t budget)
{
    struct dg_story *s = &l->story;
    l->shown = 0;
    for (uint32_t i = 0; i < s->messages; i++) {
        struct dg_message *m = &s->message[i];
        uint64_t last = m->got != DG_NEVER ? m->got : m->sent;
        m->shown = m->sent <= l->to && last >= l->from;
        if (m->shown) l->shown++;
    }
    l->light = s->schedule == NULL && l->shown > budget / 2 * 3;
    for (uint32_t i = 0; i < s->marks; i++) {
        struct dg_mark *m = &s->mark[i];
        bool on_row = m->rank >= s->trace->job.ranks || l->row[m->rank] != DG_NONE;
        m->shown = on_row && m->time >= l->from && m->time <= l->to;
    }
}

void hark_diagram_window_choose(struct dg_layout *l, const struct hark_diagram_options *o)
{
    struct dg_story *s = &l->story;
    uint32_t usual = l->rows * 40 > MESSAGES_DEFAULT ? l->rows * 40 : MESSAGES_DEFAULT;
    uint32_t budget = o->messages != 0 ? o->messages : usual;
    struct episode first = {0, 0, 0};
    l->from = s->start;
    l->to = s->end;
    l->episodes = episodes(s, &first);
    if (s->schedule != NULL) {
        /* all of it */
    } else if (o->window) {
        l->from += ns(o->from_ms, s->end - s->start);
        l->to = s->start + ns(o->to_ms, s->end - s->start);
    } else if (s->messages > budget) {
        l->chosen = true;
        if (l->episodes > 0) around(l, &first, budget);
        else l->to = messages_after(s, s->start, budget);
    }
    l->windowed = l->from > s->start || l->to < s->end;
    l->chosen = l->chosen && l->windowed;
    mark_shown(l, usual);
}
