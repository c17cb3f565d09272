/* Looking: the first message that a receive would take is seen, and stays (probe, iprobe). A
 * protocol repeats in a replay what was seen, so a look that sees the same again must be no new
 * choice. */
#include "app_state.h"
#include "prologue.h"
#include "queue.h"

#define P hark_process

static struct hark_request sought(int from, uint32_t ctx, int tag)
{
    int mask = hark_app_mask(tag, ctx);
    return (struct hark_request){.from = from, .ctx = ctx, .tag = tag, .mask = mask};
}

/* May the application see m? Protocols that repeat this choice may say: not this one now. */
static bool seen(const struct hark_message *m)
{
    int status = hark_driver_look(P.driver, m);
    if (status == HARK_D_EGONE) hark_process_poll(); /* does not come back */
    if (status < 0) hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
    return status == 0;
}

static struct hark_request *first_without(const struct hark_message *m, uint64_t count)
{
    for (struct hark_request *q = hark_app.posted; q; q = q->next)
        if (!q->reserved && q->claims != count && hark_queue_fits_message(q, m)) return q;
    return NULL;
}

/* Is m left when each posted receive has its message? A receive takes one: the oldest message of
 * the channel goes to the first receive that it fits, the next one to the first of the others. What
 * a receive of any source takes is not known yet, and a replay may choose another one than it would
 * take now; so all that such a receive could take is its own. */
static bool is_left(const struct hark_message *m)
{
    static uint64_t counts;
    if (hark_queue_claimant(NULL, m) == NULL) return true;
    const struct hark_request channel = sought((int)m->from, hark_queue_context(m), HARK_ANY_TAG);
    const uint64_t count = ++counts;
    for (const struct hark_message *x = hark_queue_first(&channel); x;
         x = hark_queue_next(&channel, x)) {
        struct hark_request *q = first_without(x, count);
        if (x == m) return q == NULL;
        if (q && q->from == HARK_ANY_SOURCE) return false;
        if (q) q->claims = count;
    }
    return false;
}

/* What the same look has seen: that it sees until something is taken, for what comes meanwhile is
 * behind it. That is no new choice, so a program that waits by looking for several messages in turn
 * has nothing more recorded. NULL: it has not looked, or not lately. */
static const struct hark_message *seen_before(int from, uint32_t ctx, int tag)
{
    for (unsigned i = 0; i < hark_app.looks && i < APP_SEEN; i++) {
        const struct seen *s = &hark_app.seen[i];
        if (s->from == from && s->ctx == ctx && s->tag == tag && is_left(s->message))
            return s->message;
    }
    return NULL;
}

/* Was x there before one of those from `first` to `end`: on its channel, or seen by a look that
 * they fit too? */
static bool precedes(
    const struct hark_message *x, const struct hark_message *first, const struct hark_message *end)
{
    for (const struct hark_message *y = first; y != end; y = y->next) {
        if (x->from == y->from && x->ctx == y->ctx) return true;
        for (unsigned i = 0; i < hark_app.looks && i < APP_SEEN; i++) {
            const struct seen *s = &hark_app.seen[i];
            const struct hark_request r = sought(s->from, s->ctx, s->tag);
            if (s->message == x && hark_queue_fits_message(&r, y)) return true;
        }
    }
    return false;
}

/* m was seen though `place` fits too: it was before that the first time, in whatever order a replay
 * has handed them up; and with it what was before it. */
static void put_before(struct hark_message *m, struct hark_message *place)
{
    struct hark_message *first = place, *previous;
    for (struct hark_message *x = m; x != place; x = previous) {
        previous = x->previous;
        if (x != m && !precedes(x, first, place)) continue;
        hark_queue_move(x, first);
        first = x;
    }
    hark_app.claimed.last = NULL;
}

/* Where the look begins: behind those that the same look has passed, since receives were posted for
 * them. They are until one is unposted, so a program that polls does not pass them again. */
static struct hark_message *look_from(const struct hark_request *r)
{
    if (hark_app.claimed.last && hark_app.claimed.deliveries == hark_app.own[3] &&
        hark_app.claimed.from == r->from && hark_app.claimed.tag == r->tag &&
        hark_app.claimed.ctx == r->ctx)
        return hark_queue_next(r, hark_app.claimed.last);
    return hark_queue_first(r);
}

static void passed(const struct hark_request *r, const struct hark_message *m)
{
    hark_app.claimed.from = r->from;
    hark_app.claimed.tag = r->tag;
    hark_app.claimed.ctx = r->ctx;
    hark_app.claimed.deliveries = hark_app.own[3];
    hark_app.claimed.last = m;
}

/* The first message that a receive posted now would take: it is seen. NULL: there is none. */
static const struct hark_message *see(int from, uint32_t ctx, int tag)
{
    struct hark_request r = sought(from, ctx, tag);
    struct hark_message *put_off = NULL;
    for (struct hark_message *m = look_from(&r); m; m = hark_queue_next(&r, m)) {
        if (!is_left(m)) {
            if (put_off == NULL) passed(&r, m);
            continue;
        }
        if (!seen(m)) {
            if (put_off == NULL) put_off = m;
            continue;
        }
        if (put_off) put_before(m, put_off);
        hark_app.seen[hark_app.looks++ % APP_SEEN] = (struct seen){from, tag, ctx, m};
        return m;
    }
    return NULL;
}

bool hark_app_look(int from, uint32_t ctx, int tag, struct hark_info *info)
{
    if (hark_prologue.replaying) return hark_prologue_look(info);
    const struct hark_message *m = seen_before(from, ctx, tag);
    if (m == NULL) m = see(from, ctx, tag);
    if (m == NULL) return false;
    struct hark_info found = {(int)m->from, (int32_t)m->tag, m->length};
    if (hark_prologue.recording) hark_prologue_seen(&found, ctx);
    if (info) *info = found;
    return true;
}

int hark_probe(int from, int tag, struct hark_info *info)
{
    int status = hark_app_valid(NULL, 0, from, tag);
    if (status < 0) return status;
    const struct hark_request r = sought(from, CTX_POINT, tag);
    while (!hark_app_look(from, CTX_POINT, tag, info))
        hark_app_wait("hark_probe", HARK_WAITS_MESSAGE, &r, 1);
    return HARK_A_OK;
}

int hark_iprobe(int from, int tag, bool *found, struct hark_info *info)
{
    int status = found ? hark_app_valid(NULL, 0, from, tag) : HARK_A_EARGUMENT;
    if (status < 0) return status;
    hark_process_poll();
    const struct hark_request r = sought(from, CTX_POINT, tag);
    while (!(*found = hark_app_look(from, CTX_POINT, tag, info)) && !hark_app_missed())
        hark_app_wait("hark_iprobe", HARK_WAITS_MESSAGE, &r, 1);
    return HARK_A_OK;
}
