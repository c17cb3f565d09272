/* send.c: frames into rings. */
#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the receivers --------------------------------------------------------------------------- */

void out_free(struct end *e, uint32_t number)
{
    struct out *out = e->out[number];
    if (!out) return;
    e->out[number] = NULL;
    if (out->need) e->stalled--;
    if (out->offer) {
        atomic_store(&out->offer->state, DIRECT_WITHDRAWN);
        e->offers--;
    }
    ring_unmap(out->writer.ring, out->writer.size);
    if (out->bell) bell_unmap(out->bell, e->ranks);
    free(out);
}

static int no_memory(struct end *e, const char *what)
{
    return end_failed(e, what, "", ENOMEM);
}

/* The first frame to an incarnation: finds its bell or makes it, makes the ring, tells. */
static int out_make(struct end *e, uint32_t number, struct process to)
{
    struct segment_name name;
    struct out *out = calloc(1, sizeof *out);
    if (!out) return no_memory(e, "cannot keep a receiver");
    out->to = to;
    out->fence = true; /* until we know better, see publish() */
    e->out[number] = out;
    out->bell = bell_open(e->job, to, e->ranks, true);
    if (!out->bell) {
        int why = errno;
        out_free(e, number);
        segment_bell_name(&name, e->job, to);
        return end_no_memory(e, "cannot open", name.path, bell_bytes(e->ranks), why);
    }
    if (atomic_load(&out->bell->asleep) == BELL_CLOSED) {
        out->gone = true;
        return HARK_T_OK;
    }
    segment_ring_name(&name, e->job, e->me, to);
    if (ring_make(&out->writer, &name, e->me, to, e->ring_size) != RING_OK) {
        int why = errno;
        out_free(e, number);
        return end_no_memory(
            e, "cannot make", name.path, why == EFBIG ? RING_SIZE_MIN : RING_FIRST_PAGE, why);
    }
    out->writer.leave = e->leave;
    bell_announce(out->bell, e->number, e->me.inc);
    return HARK_T_OK;
}

static bool has_closed(const struct out *out)
{
    return atomic_load_explicit(&out->bell->asleep, memory_order_acquire) == BELL_CLOSED;
}

void out_want(struct out *out)
{
    out->wants = true;
    atomic_store(&out->writer.ring->wanting, out->writer.tail + out->need - out->writer.size);
}

static bool is_open(const struct out *out)
{
    uint32_t state = atomic_load_explicit(&out->offer->state, memory_order_acquire);
    return state == DIRECT_OFFERED || state == DIRECT_TAKING;
}

bool out_has_room(struct out *out)
{
    if (has_closed(out)) return true; /* send() will say EGONE */
    if (out->offer) return !is_open(out);
    uint64_t head = atomic_load_explicit(&out->writer.ring->head, memory_order_acquire);
    return head > out->writer.tail || out->writer.tail + out->need - head <= out->writer.size;
}

/* Room for a record of `need` bytes is missing: remembered for wait(), which asks to be woken. */
static void stall(struct end *e, struct out *out, uint64_t need)
{
    if (out->need == 0) e->stalled++;
    out->need = ring_missing(&out->writer, need);
}

static void unstall(struct end *e, struct out *out)
{
    if (out->need == 0) return;
    e->stalled--;
    out->need = 0;
    if (out->wants) atomic_store_explicit(&out->writer.ring->wanting, 0, memory_order_relaxed);
    out->wants = false;
}

/* Beside the transport's: memory is short, and the ring has none for a record as long as this; the
 * frame has to go another way. */
enum { SEND_SHORT = 2, SEND_OTHERWISE = 3 };

/* ---- one record ------------------------------------------------------------------------------ */

/* There is no room for a record: why? */
static int cannot(struct end *e, struct out *out, uint64_t need, int status)
{
    if (has_closed(out)) {
        unstall(e, out);
        out->gone = true;
        return HARK_T_EGONE;
    }
    if (status == RING_FULL) {
        stall(e, out, need);
        bell_ring(out->bell, out->fence); /* the ring may have gone to its beginning, which the
                                             reader has to see */
        return HARK_T_AGAIN;
    }
    if (status == RING_NOMEMORY) return SEND_SHORT;
    e->head.figures.refused++;
    return end_failed(e, "the ring to a receiver is corrupt, or refused by it", "", EBADMSG);
}

/* As ring_reserve(), in this transport's words; HARK_T_AGAIN when there is no room; or SEND_SHORT.
 */
static inline int reserve(
    struct end *e, struct out *out, uint64_t need, struct ring_record **record)
{
    int status = ring_reserve(&out->writer, need, record);
    if (__builtin_expect(status == RING_OK, 1)) {
        if (__builtin_expect(out->need != 0, 0)) unstall(e, out);
        return HARK_T_OK;
    }
    return cannot(e, out, need, status);
}

/* The same for a record that can not be shorter: it gets what memory there is. */
static int reserve_all(struct end *e, struct out *out, uint64_t need, struct ring_record **record)
{
    int status = reserve(e, out, need, record);
    if (__builtin_expect(status != SEND_SHORT, 1)) return status;
    if (ring_grow(&out->writer, need) == RING_OK) return reserve(e, out, need, record);
    return end_no_memory(e, "no room in", "/dev/shm", need, ENOSPC);
}

static inline void publish(struct end *e, struct out *out, struct ring_record *record,
    uint64_t need, uint32_t kind, uint64_t bytes)
{
    ring_publish(&out->writer, record, need, kind, bytes);
    if (__builtin_expect(bell_ring(out->bell, out->fence) == BELL_CLOSED, 0)) out->gone = true;
    if (__builtin_expect(out->fence, 0)) /* one that has not come yet has not slept yet */
        out->fence = e->opened != BELL_BARRIER || atomic_load(&out->bell->opened) != BELL_BARRIER;
}

/* memcpy() without the call for what most headers and small payloads are: two moves that may
 * overlap. */
static inline void copy(uint8_t *to, const uint8_t *from, uint64_t count)
{
    if (count - 8 <= 8) {
        uint64_t head, tail;
        memcpy(&head, from, 8);
        memcpy(&tail, from + count - 8, 8);
        memcpy(to, &head, 8);
        memcpy(to + count - 8, &tail, 8);
    } else if (count - 16 <= 48) {
        struct {
            uint64_t a, b;
        } head, middle, tail;
        uint64_t half = count > 32 ? 16 : 0, last = count - 16;
        memcpy(&head, from, 16);
        memcpy(&middle, from + half, 16);
        memcpy(&tail, from + last, 16);
        if (count > 48) memcpy(to + 32, from + 32, 16);
        memcpy(to, &head, 16);
        memcpy(to + half, &middle, 16);
        memcpy(to + last, &tail, 16);
    } else {
        memcpy(to, from, (size_t)count);
    }
}

/* Copies `count` bytes of the payload, from its byte `from` on. */
static inline void gather(uint8_t *to, const struct hark_outgoing *o, uint64_t from, uint64_t count)
{
    if (__builtin_expect(from + count <= o->part[0].length && count > 0, 1)) {
        copy(to, (const uint8_t *)o->part[0].at + from, count);
        return;
    }
    for (int i = 0; count > 0; i++) {
        uint64_t length = o->part[i].length;
        if (from >= length) {
            from -= length;
            continue;
        }
        uint64_t piece = length - from < count ? length - from : count;
        memcpy(to, (const uint8_t *)o->part[i].at + from, (size_t)piece);
        to += piece;
        count -= piece;
        from = 0;
    }
}

/* One more piece of the payload to where it is kept. */
static void keep_piece(const struct hark_outgoing *o, uint64_t from, uint64_t count)
{
    if (o->part[0].at != o->keep && count)
        memcpy((uint8_t *)o->keep + from, (const uint8_t *)o->part[0].at + from, (size_t)count);
}

/* The record that begins a frame whose payload is read where it is kept. */
static int send_place(struct end *e, struct out *out, const struct hark_outgoing *o,
    uint64_t length, struct lent_place place)
{
    struct ring_record *record = NULL;
    if ((out->writer.tail & (out->writer.size - 1)) >= out->writer.rewind)
        ring_rewind(&out->writer, o->header.length);
    uint64_t header = ring_round(o->header.length, 8),
             need = ring_need(RING_FIRST, header + sizeof place);
    int status = reserve_all(e, out, need, &record);
    if (status != HARK_T_OK) return status;
    uint8_t *at = (uint8_t *)(record + 1);
    record->header = o->header.length | RING_ELSEWHERE;
    record->payload = length;
    copy(at, o->header.at, o->header.length);
    memcpy(at + header, &place, sizeof place);
    keep_piece(o, 0, place.part);
    publish(e, out, record, need, RING_FIRST, header + sizeof place);
    return HARK_T_OK;
}

/* Piece by piece, so that the receiver copies one while we copy the next. */
HARK_COLD int send_kept(struct end *e, struct out *out, struct hark_outgoing *o, uint64_t length,
    struct lent_place place)
{
    bool there = o->part[0].at == o->keep;
    if (!out->half) {
        place.part = there || length < RING_CHUNK ? length : RING_CHUNK;
        int status = send_place(e, out, o, length, place);
        if (status != HARK_T_OK || place.part == length) return status;
        out->half = true;
        out->length = length;
        out->done = place.part;
    }
    while (out->done < length) {
        struct ring_record *record = NULL;
        uint64_t part = length - out->done < RING_CHUNK ? length - out->done : RING_CHUNK;
        int status = reserve_all(e, out, RING_LINE, &record);
        o->done = o->header.length + out->done;
        if (status != HARK_T_OK) return status;
        keep_piece(o, out->done, part);
        record->header = (uint32_t)part | RING_ELSEWHERE;
        record->payload = out->done;
        publish(e, out, record, RING_LINE, RING_REST, 0);
        out->done += part;
    }
    out->half = false;
    return HARK_T_OK;
}

/* The record that begins a frame: its header and the first `part` bytes of its payload. */
HARK_HOT int send_first(
    struct end *e, struct out *out, const struct hark_outgoing *o, uint64_t length, uint64_t part)
{
    struct ring_record *record = NULL;
    if (__builtin_expect((out->writer.tail & (out->writer.size - 1)) >= out->writer.rewind, 0))
        ring_rewind(&out->writer, length);
    uint64_t header = ring_round(o->header.length, 8), need = ring_need(RING_FIRST, header + part);
    int status = reserve(e, out, need, &record);
    if (__builtin_expect(status != HARK_T_OK, 0)) {
        if (status == SEND_SHORT && (part == 0 || o->header.length + part <= RING_SMALL))
            status = reserve_all(e, out, need, &record);
        if (status != HARK_T_OK) return status;
    }
    uint8_t *at = (uint8_t *)(record + 1);
    record->header = o->header.length;
    record->payload = length;
    copy(at, o->header.at, o->header.length);
    gather(at + header, o, 0, part);
    publish(e, out, record, need, RING_FIRST, header + part);
    return HARK_T_OK;
}

static int send_rest(struct end *e, struct out *out, const struct hark_outgoing *o)
{
    while (out->done < out->length) {
        struct ring_record *record = NULL;
        uint64_t part = out->small ? RING_SMALL : RING_CHUNK;
        if (part > out->length - out->done) part = out->length - out->done;
        uint64_t need = ring_need(RING_REST, part);
        int status =
            out->small ? reserve_all(e, out, need, &record) : reserve(e, out, need, &record);
        if (status == SEND_SHORT) {
            out->small = true;
            continue;
        }
        if (status != HARK_T_OK) return status;
        record->payload = out->done;
        gather((uint8_t *)record + RING_LINE, o, out->done, part);
        publish(e, out, record, need, RING_REST, part);
        out->done += part;
    }
    out->half = out->small = false;
    return HARK_T_OK;
}

/* ---- payloads that the receiver takes itself ------------------------------------------------- */

/* For a receiver that waits, if it has found that to be the faster way. One that is behind would
 * make us wait. */
static bool had_better_offer(struct end *e, struct out *out, const struct hark_outgoing *o)
{
    uint64_t length = o->part[0].length;
    if (!o->stays || length <= DIRECT_LEAST || out->half || out->ring_only ||
        (o->part[1].length | o->part[2].length) != 0 || o->part[0].at == o->keep)
        return false;
    if (out->left_out < out->shy) {
        out->left_out++;
        return false;
    }
    if ((o->keep && out->streak > 0) || (!e->direct && !(e->direct = direct_open(&e->proof))))
        return false;
    uint64_t prefers = atomic_load_explicit(&out->writer.ring->prefers, memory_order_relaxed);
    bool ring = prefers >> direct_class(length) & 1;
    return ring == (++out->longs % DIRECT_AGAIN == 0);
}

/* Puts the offer into the ring. HARK_T_AGAIN: it is there, or there is no room; SEND_OTHERWISE. */
static int send_offer(struct end *e, struct out *out, struct hark_outgoing *o)
{
    struct ring_record *record = NULL;
    const uint64_t header = ring_round(o->header.length, 8);
    const uint64_t need = ring_need(RING_FIRST, header + sizeof(struct direct_offer));
    int status = reserve(e, out, need, &record);
    if (status != HARK_T_OK) return status == SEND_SHORT ? SEND_OTHERWISE : status;
    uint8_t *at = (uint8_t *)(record + 1);
    record->header = o->header.length | RING_DIRECT;
    record->payload = o->part[0].length;
    copy(at, o->header.at, o->header.length);
    out->offer = (struct direct_offer *)(uintptr_t)(at + header);
    out->offer->pid = (uint32_t)getpid();
    out->offer->payload = (uintptr_t)o->part[0].at;
    out->offer->proof = (uintptr_t)&e->proof;
    out->offer->expected = e->proof;
    atomic_store_explicit(&out->offer->state, DIRECT_OFFERED, memory_order_relaxed);
    publish(e, out, record, need, RING_FIRST, header + sizeof *out->offer);
    o->done = o->header.length;
    e->offers++;
    e->late = false;
    out->asked = 0;
    stall(e, out, RING_LINE); /* wait() looks whether it is taken */
    return HARK_T_AGAIN;
}

static void end_offer(struct end *e, struct out *out, struct hark_outgoing *o)
{
    out->offer = NULL;
    e->offers--;
    unstall(e, out);
    o->done = 0;
}

/* A frame that was offered: HARK_T_AGAIN, it is still open; HARK_T_OK, it is taken; SEND_OTHERWISE.
 * Once the log has the payload, or the receiver does not look, it is not left to wait. */
static int send_offered(struct end *e, struct out *out, struct hark_outgoing *o)
{
    uint32_t state = DIRECT_OFFERED;
    if (e->late || o->part[0].at == o->keep || ++out->asked > DIRECT_PATIENCE)
        (void)atomic_compare_exchange_strong(&out->offer->state, &state, DIRECT_WITHDRAWN);
    if (is_open(out) && !has_closed(out)) return HARK_T_AGAIN;
    state = atomic_exchange(&out->offer->state, DIRECT_WITHDRAWN);
    end_offer(e, out, o);
    out->left_out = 0;
    out->shy = state == DIRECT_DONE ? 0 : out->shy < DIRECT_SHY ? 2 * out->shy + 1 : DIRECT_SHY;
    if (state == DIRECT_DONE) return HARK_T_OK;
    if (state == DIRECT_REFUSED) out->ring_only = true;
    return SEND_OTHERWISE;
}

/* The caller gives up a frame that had HARK_T_AGAIN. */
void shm_withdraw(struct hark_transport *t, struct hark_outgoing *o)
{
    struct end *e = (struct end *)t;
    uint32_t number = end_number(e, o->to);
    struct out *out = number > e->ranks ? NULL : e->out[number];
    if (!out || out->to.inc != o->inc || !out->offer || o->done == 0) return;
    atomic_store(&out->offer->state, DIRECT_WITHDRAWN);
    end_offer(e, out, o);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The length of the payload, or UINT64_MAX if the frame is out of its range. */
static inline uint64_t payload_length(const struct end *e, const struct hark_outgoing *o)
{
    uint64_t length = 0, limit = e->limit;
    if (o->header.length - 1u >= HARK_HEADER_MAX || o->header.length > limit) return UINT64_MAX;
    limit -= o->header.length;
    if ((o->part[1].length | o->part[2].length) == 0)
        return o->part[0].length <= limit ? o->part[0].length : UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        if (o->part[i].length > limit - length) return UINT64_MAX;
        length += o->part[i].length;
    }
    return length;
}

/* Of find_out(): the frame has been sent already. */
enum { SENT_BESIDE = 4 };

/* Makes e->out[number] the one to incarnation o->inc. */
static int find_out(struct end *e, uint32_t number, struct hark_outgoing *o)
{
    if (o->inc == UINT32_MAX) return HARK_T_EINVAL;
    if (o->inc < e->known[number]) return HARK_T_EGONE;
    if (o->inc > e->known[number]) {
        int status = e->head.ops->peer(&e->head, o->to, o->inc, NULL);
        if (status != HARK_T_OK) return status;
    }
    if (e->beside) {
        int status = e->beside->send(&e->head, o);
        if (status != SEND_NEAR) return status == HARK_T_OK ? SENT_BESIDE : status;
    }
    if (o->done) return HARK_T_EGONE; /* its first half went to an end that is no more */
    return out_make(e, number, (struct process){o->to, o->inc});
}

/* How much of the payload goes into the record that begins a long frame. */
static uint64_t first_part(const struct out *out, uint32_t header, uint64_t length)
{
    uint64_t part = header > RING_CHUNK - RING_MIN_PART ? RING_MIN_PART : RING_CHUNK - header;
    if (out->small) part = header < RING_SMALL ? RING_SMALL - header : 0;
    return part < length ? part : length;
}

/* A frame of more than one record; `small`: of small ones, though it may be short. */
HARK_COLD int send_long(
    struct end *e, struct out *out, struct hark_outgoing *o, uint64_t length, bool small)
{
    if (!out->half) {
        out->small = small;
        uint64_t part = first_part(out, o->header.length, length);
        int status = send_first(e, out, o, length, part);
        if (status == SEND_SHORT) {
            out->small = true;
            part = first_part(out, o->header.length, length);
            status = send_first(e, out, o, length, part);
        }
        if (status != HARK_T_OK) return status;
        out->half = true;
        out->length = length;
        out->done = part;
    } else if (length != out->length || o->done != o->header.length + out->done) {
        return HARK_T_EINVAL; /* not the frame that is half sent */
    }
    int status = send_rest(e, out, o);
    o->done = o->header.length + out->done;
    return status;
}

static inline void taken(
    struct end *e, struct out *out, const struct hark_outgoing *o, uint64_t length)
{
    out->streak++;
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += o->header.length + length;
}

/* Of more than one record, or one that goes on, or is kept; or the receiver is new or gone. */
HARK_COLD int send_seldom(struct end *e, struct out *out, struct hark_outgoing *o, uint64_t length)
{
    struct lent_place place;
    int status = out->beside ? e->beside->send(&e->head, o) : SEND_NEAR;
    if (status != SEND_NEAR) return status;
    status = SEND_OTHERWISE;
    if (out->gone) {
        if (out->offer) shm_withdraw(&e->head, o);
        return HARK_T_EGONE;
    }
    if ((o->done != 0) != (out->half || out->offer)) return HARK_T_EINVAL;
    bool kept = o->keep && lent_find(&e->lent, o->keep, length, &place);
    if (out->offer) status = send_offered(e, out, o);
    else if (had_better_offer(e, out, o)) status = send_offer(e, out, o);
    if (status == HARK_T_OK) kept = false; /* the receiver has it, and `keep` may not */
    else if (status != SEND_OTHERWISE) return status;
    else if (kept) status = send_kept(e, out, o, length, place);
    else if (!out->half && o->header.length + length <= RING_CHUNK)
        status = send_first(e, out, o, length, length);
    else status = send_long(e, out, o, length, false);
    if (status == SEND_SHORT) status = send_long(e, out, o, length, true);
    if (status != HARK_T_OK) return status;
    if (o->keep && !kept) keep_piece(o, 0, length);
    taken(e, out, o, length);
    return HARK_T_OK;
}

int shm_send(struct hark_transport *t, struct hark_outgoing *o)
{
    struct end *e = (struct end *)t;
    uint32_t number = end_number(e, o->to);
    uint64_t length = payload_length(e, o);
    int status;
    if (__builtin_expect(number > e->ranks || length == UINT64_MAX, 0)) return HARK_T_EINVAL;
    struct out *out = e->out[number];
    if (__builtin_expect(!out || out->to.inc != o->inc, 0)) {
        status = find_out(e, number, o);
        if (status != HARK_T_OK) return status == SENT_BESIDE ? HARK_T_OK : status;
        out = e->out[number];
    }
    if (out->turn != e->turn) {
        out->turn = e->turn;
        out->streak = 0;
    }
    if (__builtin_expect(out->seldom == 0 && o->done == 0 && o->keep == NULL &&
                             o->header.length + length <= RING_CHUNK,
            1)) {
        status = send_first(e, out, o, length, length);
        if (__builtin_expect(status == HARK_T_OK, 1)) {
            taken(e, out, o, length);
            return HARK_T_OK;
        }
        if (status != SEND_SHORT) return status;
    }
    return send_seldom(e, out, o, length);
}

/* Who has sent to it and has not listened since does not wait for an answer. */
int shm_behind(const struct hark_transport *t, uint32_t rank)
{
    const struct end *e = (const struct end *)t;
    uint32_t number = end_number(e, rank);
    const struct out *out = number > e->ranks ? NULL : e->out[number];
    return out && out->turn == e->turn && out->streak > 0;
}
