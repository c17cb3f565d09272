/* receive.c: frames out of rings. */
#include "end.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the senders ----------------------------------------------------------------------------- */

void in_free(struct end *e, struct in *in)
{
    ring_unmap(in->reader.ring, in->reader.size);
    if (in->bell) bell_unmap(in->bell, e->ranks);
    lent_close(&in->lent, e->job, in->from, false);
    free(in->header);
    free(in);
}

/* Takes a ring out of those to look at, and tells the sink of a frame that will never be whole. */
static void bury(struct end *e, uint32_t i)
{
    struct in *in = e->in[i];
    if (in->dead) e->dead--;
    e->in[i] = e->in[--e->in_count];
    if (in->half && in->place) e->sink.broken(e->sink.self, &in->frame, in->place);
    in_free(e, in);
}

/* What stands in it cannot be: nothing more is read from it, and its writer will find out. */
static void refuse(struct end *e, uint32_t i)
{
    struct in *in = e->in[i];
    e->head.figures.refused++;
    atomic_store(&in->reader.ring->head, RING_REFUSED);
    if (in->bell) bell_ring(in->bell, true);
    bury(e, i);
}

/* Maps the ring that sender `number` has announced. */
static int meet(struct end *e, uint32_t number, struct process from)
{
    struct segment_name name;
    struct in *in = calloc(1, sizeof *in);
    if (!in) return end_failed(e, "cannot keep a sender", "", ENOMEM);
    segment_ring_name(&name, e->job, from, e->me);
    int status = ring_map(&in->reader, &name, from, e->me);
    if (status != RING_OK) {
        int why = errno;
        free(in);
        if (status == RING_NOMEMORY && why != ENOENT && why != ELOOP)
            return end_failed(e, "cannot map", name.path, why);
        if (status == RING_CORRUPT) e->head.figures.refused++;
        segment_remove(&name);
        return HARK_T_OK;
    }
    in->from = from;
    in->number = number;
    in->bell = bell_open(e->job, from, e->ranks, false);
    in->fence =
        e->opened != BELL_BARRIER || !in->bell || atomic_load(&in->bell->opened) != BELL_BARRIER;
    for (uint32_t i = 0; i < e->in_count; i++)
        if (e->in[i]->number == number) { /* an older incarnation, which then is dead */
            bury(e, i);
            break;
        }
    e->in[e->in_count++] = in;
    segment_remove(&name); /* both ends have it now, and nobody else needs it */
    return HARK_T_OK;
}

int meet_announced(struct end *e)
{
    uint32_t announced = atomic_load_explicit(&e->bell->announced, memory_order_acquire);
    for (uint32_t number = 0; number <= e->ranks; number++) {
        uint32_t now = atomic_load_explicit(&e->bell->slot[number], memory_order_acquire);
        if (now == e->met[number]) continue;
        struct process from = {end_rank(e, number), now - 1};
        if (now != 0 && from.inc >= e->known[number]) {
            int status = meet(e, number, from);
            if (status != HARK_T_OK) return status; /* to be tried again */
        } else if (now != 0) {
            struct segment_name name;
            segment_ring_name(&name, e->job, from, e->me);
            segment_remove(&name);
        }
        e->met[number] = now;
    }
    e->seen = announced;
    return HARK_T_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Of a record: it stays where it is, to be looked at again. */
enum { PUT_OFF = -1000 };

static void arrived(struct end *e, const struct hark_frame *frame, const void *payload)
{
    e->head.figures.frames_in++;
    e->head.figures.bytes_in += frame->header.length + frame->length;
    e->sink.arrived(e->sink.self, frame, payload);
}

/* The beginning of a frame that is longer than a record. */
static int begin_long(struct end *e, struct in *in, const struct hark_frame *frame,
    const uint8_t *part, uint64_t length)
{
    if (frame->header.length > in->header_room) {
        uint8_t *header = realloc(in->header, frame->header.length);
        if (!header) return end_failed(e, "cannot keep a header", "", ENOMEM);
        in->header = header;
        in->header_room = frame->header.length;
    }
    memcpy(in->header, frame->header.at, frame->header.length);
    in->frame = *frame;
    in->frame.header.at = in->header;
    in->half = true;
    in->source = NULL;
    in->place = e->sink.place(e->sink.self, &in->frame);
    if (in->place) memcpy(in->place, part, (size_t)length);
    in->got = in->first = length;
    in->waited = in->idle;
    if (in->waited) in->began = direct_now();
    return 0;
}

/* A long frame took so much time: which way is the better one? */
static void measure(struct in *in, uint64_t length, bool direct, uint64_t time)
{
    uint64_t before = atomic_load_explicit(&in->reader.ring->prefers, memory_order_relaxed);
    uint64_t prefers = direct_measured(&in->times, (uint32_t)before, length, direct, time);
    if (prefers != before)
        atomic_store_explicit(&in->reader.ring->prefers, prefers, memory_order_relaxed);
}

/* The same for one whose payload came in pieces. If we waited for the first of them, it is known
 * how long the others took. */
static void measure_pieces(struct in *in)
{
    uint64_t length = in->frame.length, others = length - in->first;
    if (!in->waited || length <= DIRECT_LEAST || others == 0) return;
    double time = (double)(direct_now() - in->began) * (double)length / (double)others;
    measure(in, length, false, (uint64_t)time);
}

/* The copy of an offered payload, into `place`. What becomes of `state` is the answer. */
static int take(struct end *e, struct in *in, const struct hark_frame *frame,
    struct direct_offer *offer, void *place)
{
    uint32_t state = DIRECT_OFFERED, answer = DIRECT_REFUSED;
    bool taken = atomic_compare_exchange_strong(&offer->state, &state, DIRECT_TAKING);
    uint64_t began = direct_now();
    if (taken && direct_copy(offer, place, frame->length)) answer = DIRECT_DONE;
    if (answer == DIRECT_DONE) measure(in, frame->length, true, direct_now() - began);
    state = DIRECT_TAKING;
    bool said = taken && atomic_compare_exchange_strong(&offer->state, &state, answer);
    bool whole = said && answer == DIRECT_DONE;
    if (whole) arrived(e, frame, place);
    else e->sink.broken(e->sink.self, frame, place);
    if (in->bell) bell_ring(in->bell, in->fence);
    return whole;
}

/* A payload that is still where its sender has it. PUT_OFF if nobody wants it yet. */
static int offered(
    struct end *e, struct in *in, struct hark_frame *frame, const uint8_t *at, uint64_t length)
{
    struct direct_offer *offer = (struct direct_offer *)(uintptr_t)at;
    in->put_off = NULL;
    if (length != sizeof *offer) return RING_CORRUPT;
    uint32_t state = atomic_load_explicit(&offer->state, memory_order_acquire);
    if (state == DIRECT_WITHDRAWN) {
        in->insist = false;
        in->put_off_count = 0;
        return 0;
    }
    if (state != DIRECT_OFFERED) return RING_CORRUPT;
    frame->offered = !in->insist && in->put_off_count++ < DIRECT_PATIENCE;
    void *place = e->sink.place(e->sink.self, frame);
    if (!place) {
        in->put_off = offer;
        return PUT_OFF;
    }
    frame->offered = in->insist = false;
    in->put_off_count = 0;
    return take(e, in, frame, offer, place);
}

/* A frame whose payload lies where its sender keeps it. */
static int elsewhere(
    struct end *e, struct in *in, struct hark_frame *frame, const uint8_t *at, uint64_t length)
{
    struct lent_place place;
    if (length != sizeof place) return RING_CORRUPT;
    memcpy(&place, at, sizeof place);
    if (place.part > frame->length || (place.part == 0 && frame->length > 0)) return RING_CORRUPT;
    const uint8_t *payload = lent_look(&in->lent, e->job, in->from, place, frame->length);
    if (payload && place.part < frame->length) {
        int status = begin_long(e, in, frame, payload, place.part);
        in->source = payload;
        return status;
    }
    if (payload) {
        arrived(e, frame, payload);
        return 1;
    }
    /* Gone: with its dead owner, or by somebody else's hand; then the sender must hear of it. */
    if (errno == EBADMSG || errno == ENOENT) return RING_CORRUPT;
    return end_failed(e, "cannot map what a sender lends", "", errno);
}

/* Returns 1 if a frame has arrived, 0 if not yet, PUT_OFF, RING_CORRUPT, or a status of this
 * transport. */
static inline int first(struct end *e, struct in *in, const struct ring_read *read)
{
    const uint8_t *at = (const uint8_t *)(read->record + 1);
    uint32_t head = read->record->header;
    struct hark_frame frame = {in->from.rank, in->from.inc,
        {at, head & ~(RING_ELSEWHERE | RING_DIRECT)}, read->record->payload, false};
    uint64_t header = ring_round(frame.header.length, 8), part = read->bytes - header;
    if (__builtin_expect(in->half || frame.header.length - 1u >= HARK_HEADER_MAX ||
                             header > read->bytes || frame.header.length > e->limit ||
                             frame.length > e->limit - frame.header.length,
            0))
        return RING_CORRUPT;
    if (__builtin_expect((head & (RING_ELSEWHERE | RING_DIRECT)) != 0, 0))
        return head & RING_DIRECT ? offered(e, in, &frame, at + header, part)
                                  : elsewhere(e, in, &frame, at + header, part);
    if (__builtin_expect(part > frame.length, 0)) return RING_CORRUPT;
    if (__builtin_expect(part < frame.length, 0))
        return begin_long(e, in, &frame, at + header, part);
    arrived(e, &frame, at + header);
    return 1;
}

static int rest(struct end *e, struct in *in, const struct ring_read *read)
{
    const uint8_t *from = (const uint8_t *)read->record + RING_LINE;
    uint64_t bytes = read->bytes;
    uint32_t head = read->record->header;
    if (bytes > 0) in->source = NULL; /* its sender does not lend it any more */
    if (in->source) {
        if (!(head & RING_ELSEWHERE)) return RING_CORRUPT;
        from = in->source + in->got;
        bytes = head & ~RING_ELSEWHERE;
    }
    if (!in->half || read->record->payload != in->got || bytes > in->frame.length - in->got)
        return RING_CORRUPT;
    if (in->place) memcpy((uint8_t *)in->place + in->got, from, (size_t)bytes);
    in->got += bytes;
    if (in->got < in->frame.length) return 0;
    in->half = false;
    measure_pieces(in);
    arrived(e, &in->frame, in->place);
    return 1;
}

/* Reads what there is, at most about a whole ring, so that others get their turn. Returns how many
 * frames arrived, or a negative status. Sets *corrupt if the ring must be refused.
 *
 * If the ring was empty the last time, it is most likely empty again after one frame; but to see
 * that, the line that the writer has just touched would have to come over, and the answer to this
 * frame would wait for it. So the look is left to the next poll(). */
static int drain(struct end *e, struct in *in, bool *corrupt)
{
    bool one = in->idle;
    struct ring_read read;
    int count = 0, status;
    uint64_t enough = in->reader.head + in->reader.size;
    while (in->reader.head < enough && (status = ring_next(&in->reader, &read)) != RING_EMPTY) {
        if (__builtin_expect(status == RING_OK, 1))
            status = read.kind == RING_FIRST  ? first(e, in, &read)
                     : read.kind == RING_REST ? rest(e, in, &read)
                                              : 0;
        if (__builtin_expect(status < 0, 0)) {
            if (status == PUT_OFF) break;
            *corrupt = status == RING_CORRUPT;
            return *corrupt ? count : status;
        }
        count += status;
        bool enough_for_now = one && status > 0;
        if (__builtin_expect(ring_done(&in->reader, &read), 0)) {
            if (__builtin_expect(in->fence, 0)) atomic_thread_fence(memory_order_seq_cst);
            else atomic_signal_fence(memory_order_seq_cst);
            uint64_t wanting =
                atomic_load_explicit(&in->reader.ring->wanting, memory_order_relaxed);
            if (wanting && in->reader.head >= wanting && in->bell) bell_ring(in->bell, in->fence);
        }
        if (enough_for_now || e->head.enough) break;
    }
    in->idle = false;
    return count;
}

int shm_poll(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    int count = 0;
    for (uint32_t i = 0; __builtin_expect(e->dead > 0, 0) && i < e->in_count;)
        if (e->in[i]->dead) bury(e, i);
        else i++;
    if (__builtin_expect(
            atomic_load_explicit(&e->bell->announced, memory_order_acquire) != e->seen, 0)) {
        int status = meet_announced(e);
        if (status != HARK_T_OK) return status;
    }
    e->head.enough = false;
    /* Where the last poll had enough the next one goes on, so that everybody gets a turn. */
    for (uint32_t n = 0, i = e->first; n < e->in_count && !e->head.enough; n++) {
        bool corrupt = false;
        if (i >= e->in_count) i = 0;
        e->first = i + 1;
        if (ring_ready(&e->in[i]->reader)) {
            int status = drain(e, e->in[i], &corrupt);
            if (status < 0) return status;
            count += status;
        } else {
            e->in[i]->idle = true;
        }
        if (__builtin_expect(corrupt, 0)) refuse(e, i);
        else i++;
    }
    if (count) e->turn++;
    return count;
}
