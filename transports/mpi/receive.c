/* receive.c: messages into frames. */
#include "end.h"

#include <string.h>

/* ---- what may be a message ------------------------------------------------------------------- */

bool hark_mpi_well_formed(struct message *m)
{
    const struct head *h = message_head(m);
    if (m->bytes < sizeof *h || h->from_port >= PORTS_MOST || h->from_inc == UINT32_MAX)
        return false;
    uint64_t rest = m->bytes - sizeof *h;
    if (h->kind == KIND_ACK) return rest == 0;
    if (h->header == 0 || h->header > HARK_HEADER_MAX) return false;
    if (h->kind == KIND_FRAME) {
        if (h->at != 0 || rest < h->header) return false;
        rest -= h->header;
        return rest == (h->length < PIECE ? h->length : PIECE);
    }
    if (h->kind != KIND_REST || h->at < PIECE || h->at >= h->length) return false;
    uint64_t left = h->length - h->at;
    return rest == (left < PIECE ? left : PIECE);
}

/* Is it from where that process is, as far as known? And not over the limit of this end? */
static bool is_credible(const struct end *e, const struct peer *p, struct message *m)
{
    const struct head *h = message_head(m);
    if (p->rank >= 0 && (p->rank != m->rank || p->port != (int)h->from_port)) return false;
    return h->header <= e->limit && h->length <= e->limit - h->header;
}

void hark_mpi_acked(struct end *e, struct message *m)
{
    const struct head *h = message_head(m);
    uint32_t number = number_of(e, h->from);
    struct peer *p = number <= e->ranks ? e->peers[number] : NULL;
    if (!p || h->from_inc != p->inc) return;
    if (h->at > p->sent) return;
    p->acked = h->at;
    if (p->stalled) e->go = true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void hand_up(struct end *e, const struct hark_frame *frame, const void *payload)
{
    e->head.figures.frames_in++;
    e->head.figures.bytes_in += frame->header.length + frame->length;
    hub_unlock(e->mpi);
    e->sink.arrived(e->sink.self, frame, payload);
    hub_lock(e->mpi);
}

/* A long frame begins: the sink gives it a place. */
static void begin_half(
    struct end *e, struct peer *p, const struct hark_frame *frame, struct message *m)
{
    uint8_t *payload = message_body(m) + frame->header.length;
    p->half = (struct half){.first = m, .frame = *frame, .got = PIECE};
    hub_unlock(e->mpi);
    void *place = e->sink.place(e->sink.self, frame);
    hub_lock(e->mpi);
    p->half.place = place;
    if (place) memcpy(place, payload, PIECE);
}

static void end_half(struct end *e, struct peer *p)
{
    struct half half = p->half;
    p->half.first = NULL;
    hand_up(e, &half.frame, half.place);
    free(half.first);
}

/* Returns how many frames are whole with it, or -1: it does not continue what was begun. */
static int continue_half(struct end *e, struct peer *p, struct message *m)
{
    const struct head *h = message_head(m);
    struct half *half = &p->half;
    uint64_t n = m->bytes - sizeof *h;
    if (!half->first || h->at != half->got || h->length != half->frame.length) return -1;
    if (half->place) memcpy((uint8_t *)half->place + half->got, message_body(m), (size_t)n);
    half->got += n;
    if (half->got < half->frame.length) return 0;
    end_half(e, p);
    return 1;
}

/* The sink is told of the half frames that will not become whole. */
static void bury(struct end *e)
{
    for (uint32_t i = 0; e->lost > 0 && i <= e->ranks; i++) {
        struct peer *p = e->peers[i];
        if (!p || !p->half.first || !p->half.lost) continue;
        struct half half = p->half;
        p->half = (struct half){0};
        e->lost--;
        hub_unlock(e->mpi);
        if (half.place) e->sink.broken(e->sink.self, &half.frame, half.place);
        free(half.first);
        hub_lock(e->mpi);
    }
}

/* ---- polling --------------------------------------------------------------------------------- */

/* Tells the sender how far its stream was taken, in the memory of its own message, so that this
 * can not fail for want of memory. Takes m over. */
static int acknowledge(struct end *e, struct peer *p, struct message *m)
{
    if (p->taken - p->told < ACK_EVERY) {
        free(m);
        return HARK_T_OK;
    }
    struct head *h = message_head(m);
    *h = (struct head){.kind = KIND_ACK,
        .from = e->me.rank,
        .from_inc = e->me.inc,
        .to = h->from,
        .to_inc = h->from_inc,
        .from_port = e->port,
        .job = e->job,
        .at = p->taken};
    m->bytes = sizeof *h;
    m->rank = p->rank;
    m->port = p->port;
    p->told = p->taken;
    return hark_mpi_post(e, m);
}

/* Takes over m. Returns how many frames are whole with it, or -1: it is refused. */
static int take_frame(struct end *e, struct peer *p, struct message **m)
{
    const struct head *h = message_head(*m);
    if (h->kind == KIND_REST) return continue_half(e, p, *m);
    struct hark_frame frame = {
        h->from, h->from_inc, {message_body(*m), h->header}, h->length, false};
    if (p->half.first) return -1; /* the last one is not whole */
    if (h->length <= PIECE) {
        hand_up(e, &frame, message_body(*m) + h->header);
        return 1;
    }
    begin_half(e, p, &frame, *m);
    *m = NULL; /* kept for the header */
    return 0;
}

/* Takes over m. Returns how many frames are whole with it, or a negative status. */
static int take(struct end *e, struct message *m)
{
    const struct head *h = message_head(m);
    uint32_t number = number_of(e, h->from), inc = h->from_inc;
    struct peer *p = NULL;
    int status = number <= e->ranks ? hark_mpi_peer_at(e, number, inc, &p) : HARK_T_EINVAL;
    if (e->lost) bury(e);
    if (status == HARK_T_OK && !is_credible(e, p, m)) status = HARK_T_EINVAL;
    if (status == HARK_T_OK) status = hark_mpi_peer_found(e, p, m->rank, (int)h->from_port);
    if (status != HARK_T_OK) {
        e->head.figures.refused += status == HARK_T_EINVAL;
        free(m);
        return status == HARK_T_ESYSTEM ? status : 0; /* EGONE: of a dead incarnation */
    }
    uint64_t bytes = m->bytes;
    int whole = take_frame(e, p, &m);
    if (whole < 0) e->head.figures.refused++;
    if (p->inc != inc || !m) { /* the sink has heard of another incarnation meanwhile */
        if (p->inc == inc) p->taken += bytes;
        free(m);
        return whole > 0 ? whole : 0;
    }
    p->taken += bytes;
    status = acknowledge(e, p, m);
    if (status != HARK_T_OK) e->trouble = status;
    return whole > 0 ? whole : 0;
}

int hark_mpi_poll(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    int count = 0;
    e->head.enough = false;
    hub_lock(e->mpi);
    int status = hark_mpi_progress(e->mpi, e->head.error);
    if (e->lost) bury(e);
    uint32_t waiting = e->queue.count; /* not those that other threads bring meanwhile */
    for (; waiting > 0 && !e->head.enough; waiting--) {
        int whole = take(e, queue_take(&e->queue));
        if (whole < 0) status = whole;
        else count += whole;
    }
    if (e->lost) bury(e);
    if (status == HARK_T_OK) status = e->trouble;
    if (count == 0) e->trouble = HARK_T_OK;
    hub_unlock(e->mpi);
    return count == 0 && status != HARK_T_OK ? status : count;
}
