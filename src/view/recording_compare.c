/* recording_compare.c: are two runs the same, message by message?
 *
 * Sends are compared channel by channel, for in which order a process sends on different channels
 * is nobody's affair; deliveries in the order of the process. */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

struct sent {
    struct hark_recording_entry e;
    uint64_t order;  /* among all sends of the process, from 0 */
    uint64_t number; /* in its channel, from 1 */
    uint64_t before; /* deliveries that the process had made */
};

struct sends {
    struct sent *at;
    size_t count, room;
};

/* A channel of which messages from some number on are not the same. */
struct broken {
    uint32_t from, to;
    uint16_t channel;
    struct hark_difference first;
    uint64_t order;              /* of that message, among all sends of the process */
    uint64_t before_a, before_b; /* deliveries that the process had made by then */
};

struct compare {
    const struct hark_recording *a, *b;
    struct hark_comparison *result;
    struct sends of_a, of_b; /* of the process at hand */
    struct broken *broken;
    size_t broken_count, broken_room;
};

/* Room for one more. */
static bool grow(void **at, size_t count, size_t *room, size_t size)
{
    if (count < *room) return true;
    size_t more = *room * 2 + 1024;
    void *p = realloc(*at, more * size);
    if (p == NULL) return false;
    *at = p;
    *room = more;
    return true;
}

/* ---- sends ----------------------------------------------------------------------------------- */

static int by_channel(const struct hark_recording_entry *x, const struct hark_recording_entry *y)
{
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    return (int)hark_recording_channel(x->ctx) - (int)hark_recording_channel(y->ctx);
}

static int in_channels(const void *left, const void *right)
{
    const struct sent *x = left, *y = right;
    const int channel = by_channel(&x->e, &y->e);
    if (channel) return channel;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* All sends of a process, channel by channel. */
static bool read_sends(const struct hark_recording *r, uint32_t rank, struct sends *s)
{
    struct hark_recording_cursor c = hark_recording_part(r, rank);
    struct hark_recording_entry e;
    uint64_t before = 0;
    s->count = 0;
    while (hark_recording_next(&c, &e)) {
        if (e.kind == HARK_RECORDED_DELIVERY) before++;
        if (e.kind != HARK_RECORDED_SEND) continue;
        if (!grow((void **)&s->at, s->count, &s->room, sizeof *s->at)) return false;
        s->at[s->count] = (struct sent){.e = e, .order = s->count, .before = before};
        s->count++;
    }
    if (s->count) qsort(s->at, s->count, sizeof *s->at, in_channels);
    for (size_t i = 0; i < s->count; i++) {
        const bool first = i == 0 || by_channel(&s->at[i - 1].e, &s->at[i].e) != 0;
        s->at[i].number = first ? 1 : s->at[i - 1].number + 1;
    }
    return true;
}

static bool same_shape(const struct sent *x, const struct sent *y)
{
    return x && y && x->e.ctx == y->e.ctx && x->e.tag == y->e.tag && x->e.length == y->e.length;
}

/* x and y are in the place of each other; NULL: there is none. */
static bool note_broken(
    struct compare *c, uint32_t rank, const struct sent *x, const struct sent *y)
{
    if (!grow((void **)&c->broken, c->broken_count, &c->broken_room, sizeof *c->broken))
        return false;
    const struct sent *it = x ? x : y;
    struct broken *b = &c->broken[c->broken_count++];
    *b = (struct broken){.from = rank,
        .to = it->e.peer,
        .channel = hark_recording_channel(it->e.ctx),
        .first = {.any = true,
            .rank = rank,
            .number = it->number,
            .in_first = x != NULL,
            .in_second = y != NULL},
        .order = it->order,
        .before_a = x ? x->before : y->before,
        .before_b = y ? y->before : x->before};
    if (x) b->first.a = x->e;
    if (y) b->first.b = y->e;
    return true;
}

static size_t end_of_channel(const struct sends *s, size_t from)
{
    size_t i = from;
    while (i < s->count && by_channel(&s->at[i].e, &s->at[from].e) == 0) i++;
    return i;
}

/* One channel: the messages from *x and *y on, which are in of_a and of_b or, if that channel is
 * not there, none. */
static bool compare_channel(struct compare *c, uint32_t rank, const struct sent *x, size_t x_count,
    const struct sent *y, size_t y_count)
{
    const size_t most = x_count > y_count ? x_count : y_count;
    bool differs = false, in_shape = false;
    if (x_count) c->result->channels++;
    c->result->channels_of_both++;
    for (size_t i = 0; i < most && !in_shape; i++) {
        const struct sent *p = i < x_count ? &x[i] : NULL, *q = i < y_count ? &y[i] : NULL;
        const bool shape = same_shape(p, q);
        if (shape && p->e.digest == q->e.digest) continue;
        in_shape = !shape;
        if (differs) continue;
        differs = true;
        if (!note_broken(c, rank, p, q)) return false;
    }
    c->result->channels_differ += differs;
    c->result->channels_in_shape += in_shape;
    return true;
}

static bool compare_sends(struct compare *c, uint32_t rank)
{
    size_t i = 0, k = 0;
    if (!read_sends(c->a, rank, &c->of_a) || !read_sends(c->b, rank, &c->of_b)) return false;
    c->result->sends += c->of_a.count;
    while (i < c->of_a.count || k < c->of_b.count) {
        int order = i == c->of_a.count   ? 1
                    : k == c->of_b.count ? -1
                                         : by_channel(&c->of_a.at[i].e, &c->of_b.at[k].e);
        const size_t i_end = order <= 0 ? end_of_channel(&c->of_a, i) : i;
        const size_t k_end = order >= 0 ? end_of_channel(&c->of_b, k) : k;
        if (!compare_channel(c, rank, c->of_a.at + i, i_end - i, c->of_b.at + k, k_end - k))
            return false;
        i = i_end;
        k = k_end;
    }
    return true;
}

/* ---- deliveries ------------------------------------------------------------------------------ */

static bool next_delivery(struct hark_recording_cursor *c, struct hark_recording_entry *e)
{
    while (hark_recording_next(c, e))
        if (e->kind == HARK_RECORDED_DELIVERY) return true;
    return false;
}

static bool same_delivery(
    const struct hark_recording_entry *x, const struct hark_recording_entry *y)
{
    return x->peer == y->peer && x->ctx == y->ctx && x->number == y->number;
}

static void note_delivery(struct compare *c, const struct hark_difference *d)
{
    c->result->ranks_differ++;
    if (!c->result->delivery.any) c->result->delivery = *d;
}

static void compare_deliveries(struct compare *c, uint32_t rank)
{
    struct hark_recording_cursor x = hark_recording_part(c->a, rank),
                                 y = hark_recording_part(c->b, rank);
    struct hark_difference d = {.rank = rank};
    for (;;) {
        d.in_first = next_delivery(&x, &d.a);
        d.in_second = next_delivery(&y, &d.b);
        if (!d.in_first && !d.in_second) return;
        d.number++;
        c->result->deliveries += d.in_first;
        if (d.in_first && d.in_second && same_delivery(&d.a, &d.b)) continue;
        break;
    }
    d.any = true;
    note_delivery(c, &d);
    while (d.in_first && next_delivery(&x, &d.a)) c->result->deliveries++;
}

/* ---- the reason ------------------------------------------------------------------------------ */

static int by_receiver(const void *left, const void *right)
{
    const struct broken *x = left, *y = right;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (int)x->channel - (int)y->channel;
}

/* Is that message to `rank` another one in the second recording? Of what goes to a group every
 * receiver has the same. */
static bool is_broken(const struct compare *c, const struct hark_recording_entry *e, uint32_t rank)
{
    for (int group = 0; group < 2; group++) {
        const struct broken key = {.from = e->peer,
            .to = group ? HARK_RECORDING_GROUP : rank,
            .channel = hark_recording_channel(e->ctx)};
        const struct broken *b =
            bsearch(&key, c->broken, c->broken_count, sizeof *c->broken, by_receiver);
        if (b && e->number >= b->first.number) return true;
    }
    return false;
}

/* Had the sender taken the same messages, in the same order and with the same contents, before it
 * sent the first that differs? */
static bool took_the_same(const struct compare *c, const struct broken *b)
{
    struct hark_recording_cursor x = hark_recording_part(c->a, b->from),
                                 y = hark_recording_part(c->b, b->from);
    struct hark_recording_entry e, f;
    if (b->before_a != b->before_b) return false;
    for (uint64_t i = 0; i < b->before_a; i++) {
        if (!next_delivery(&x, &e) || !next_delivery(&y, &f) || !same_delivery(&e, &f))
            return false;
        if (is_broken(c, &e, b->from)) return false;
    }
    return true;
}

/* A sender that had taken the same before is where the difference began: that is the one to show,
 * else the one of the lowest rank. Of each sender the earliest is enough: before a later one it had
 * taken these messages, and more. */
static void find_first(struct compare *c)
{
    struct hark_comparison *to = c->result;
    for (size_t i = 0, next; i < c->broken_count && !to->unprompted; i = next) {
        const struct broken *earliest = &c->broken[i];
        for (next = i + 1; next < c->broken_count && c->broken[next].from == earliest->from; next++)
            if (c->broken[next].order < earliest->order) earliest = &c->broken[next];
        to->unprompted = took_the_same(c, earliest);
        if (to->unprompted) to->unprompted_rank = earliest->from;
        if (to->unprompted || !to->send.any) to->send = earliest->first;
    }
}

int hark_recording_compare(
    const struct hark_recording *a, const struct hark_recording *b, struct hark_comparison *result)
{
    struct compare c = {.a = a, .b = b, .result = result};
    bool memory = true;
    memset(result, 0, sizeof *result);
    for (uint32_t rank = 0; rank < a->ranks && memory; rank++) {
        memory = compare_sends(&c, rank);
        compare_deliveries(&c, rank);
    }
    find_first(&c);
    free(c.of_a.at);
    free(c.of_b.at);
    free(c.broken);
    return memory ? HARK_RECORDING_OK : HARK_RECORDING_ESYSTEM;
}
