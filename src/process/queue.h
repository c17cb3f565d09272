/* Posted receives and untaken messages: two lists, oldest first, and who fits whom.
 *
 * The lists are walked. In most programs they are short, or what is sought is among their first.
 * When walks over long lists have been long, an index of both lists is made (queue.c): then each
 * function takes the same time whatever their lengths are. The index goes when both are short
 * again. */
#ifndef HARK_PROCESS_QUEUE_H
#define HARK_PROCESS_QUEUE_H

#include "app_state.h"

/* Lists are long when one of them has more than this many members, and until both have at most half
 * of that beyond their first. A walk is long if it passes more. Tests have a smaller number. */
#ifndef HARK_QUEUE_SHORT
#define HARK_QUEUE_SHORT 64
#endif

static inline uint32_t hark_queue_context(const struct hark_message *m)
{
    return hark_app_context(m->ctx, m->tag);
}

static inline bool hark_queue_fits(
    const struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag)
{
    return r->ctx == ctx && (r->from == HARK_ANY_SOURCE || r->from == (int)from) &&
           ((tag ^ r->tag) & r->mask) == 0;
}

static inline bool hark_queue_fits_message(
    const struct hark_request *r, const struct hark_message *m)
{
    return hark_queue_fits(r, m->from, hark_queue_context(m), (int32_t)m->tag);
}

static inline bool hark_queue_marked(const struct hark_message *m)
{
    return m->ctx >= HARK_APP_CONTEXTS && m->tag & HARK_APP_MARK; /* a channel is as the context */
}

/* ---- of long lists: queue.c ---------------------------------------------------
 */

void hark_queue_post_behind(struct hark_request *r);
void hark_queue_unpost_among(struct hark_request *r);
void hark_queue_long_add(struct hark_message *m);
void hark_queue_long_remove(struct hark_message *m);
struct hark_request *hark_queue_long_claimant(
    struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag, const struct hark_message *m);
struct hark_message *hark_queue_long_first(const struct hark_request *r);
struct hark_message *hark_queue_long_next(
    const struct hark_request *r, const struct hark_message *m);
struct hark_message *hark_queue_long_channel(
    const struct hark_request *q, const struct hark_message *m);
struct hark_message *hark_queue_long_marked(void);

/* ---- both lists -------------------------------------------------------------------------------
 */

/* As the last. From then until it is unposted the links in *r belong to the queue. */
static inline void hark_queue_post(struct hark_request *r)
{
    r->next = NULL;
    r->early = NULL;
    r->claims = 0;
    r->previous = hark_app.posted_last;
    if (r->previous) r->previous->next = r;
    else hark_app.posted = r;
    hark_app.posted_last = r;
    if (__builtin_expect(r->previous || hark_app.many, 0)) hark_queue_post_behind(r);
}

/* Afterwards r has neither status nor info. */
static inline void hark_queue_unpost(struct hark_request *r)
{
    if (__builtin_expect(hark_app.posted != hark_app.posted_last || hark_app.many, 0))
        hark_queue_unpost_among(r);
    else hark_app.posted = hark_app.posted_last = NULL;
}

/* As the newest. From then until it is removed m->owner belongs to the queue. */
static inline void hark_queue_add(struct hark_message *m)
{
    m->next = NULL;
    m->previous = hark_app.last;
    hark_app.last = m;
    hark_app.marked += hark_queue_marked(m);
    if (m->previous) {
        m->previous->next = m;
        hark_app.untaken_more++;
    } else hark_app.first = m;
    if (__builtin_expect(hark_app.many || hark_app.untaken_more >= HARK_QUEUE_SHORT, 0))
        hark_queue_long_add(m);
}

static inline void hark_queue_unlink(struct hark_message *m)
{
    if (m->previous) m->previous->next = m->next;
    else hark_app.first = m->next;
    if (m->next) m->next->previous = m->previous;
    else hark_app.last = m->previous;
}

static inline void hark_queue_remove(struct hark_message *m)
{
    hark_app.marked -= hark_queue_marked(m);
    if (hark_app.first != hark_app.last) hark_app.untaken_more--;
    hark_queue_unlink(m);
    if (__builtin_expect(hark_app.many, 0)) hark_queue_long_remove(m);
}

/* Moves m, which is there, to before `place`, which is another one and older than it. */
void hark_queue_move(struct hark_message *m, struct hark_message *place);

/* ---- who fits whom ----------------------------------------------------------------------------
 */

/* The first receive posted before r that could take such a message; r itself if there is none. r
 * may be NULL: one that is not posted. One into whose memory the transport writes can take no
 * other message. `m` is the message if it is in the queue, else NULL. */
static inline struct hark_request *hark_queue_claimant_of(
    struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag, const struct hark_message *m)
{
    if (hark_app.posted == r) return r;
    if (hark_app.many) return hark_queue_long_claimant(r, from, ctx, tag, m);
    for (struct hark_request *q = hark_app.posted; q != r; q = q->next)
        if (!q->reserved && hark_queue_fits(q, from, ctx, tag)) return q;
    return r;
}

static inline struct hark_request *hark_queue_claimant(
    struct hark_request *r, const struct hark_message *m)
{
    return hark_queue_claimant_of(r, m->from, hark_queue_context(m), (int32_t)m->tag, m);
}

/* The oldest untaken message that fits r, which need not be posted. NULL: there is none. */
static inline struct hark_message *hark_queue_first(const struct hark_request *r)
{
    if (hark_app.many) return hark_queue_long_first(r);
    struct hark_message *m = hark_app.first;
    while (m && !hark_queue_fits_message(r, m)) m = m->next;
    return m;
}

/* The next newer one after m, which fits r too. */
static inline struct hark_message *hark_queue_next(
    const struct hark_request *r, const struct hark_message *m)
{
    if (hark_app.many) return hark_queue_long_next(r, m);
    struct hark_message *x = m->next;
    while (x && !hark_queue_fits_message(r, x)) x = x->next;
    return x;
}

/* The oldest message from m's sender in m's context that fits q; m, which fits q, at the latest. */
static inline struct hark_message *hark_queue_channel(
    const struct hark_request *q, const struct hark_message *m)
{
    if (hark_app.many) return hark_queue_long_channel(q, m);
    struct hark_message *x = hark_app.first;
    while (x->from != m->from || !hark_queue_fits_message(q, x)) x = x->next;
    return x;
}

/* Where a walk over the list begins that is to find all marked messages which a posted receive
 * could take. NULL: there are none. */
static inline struct hark_message *hark_queue_marked_first(void)
{
    if (hark_app.marked == 0) return NULL;
    return hark_app.many ? hark_queue_long_marked() : hark_app.first;
}

#endif
