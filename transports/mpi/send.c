/* send.c: frames into messages. */
#include "end.h"

#include <string.h>

static bool is_legal(const struct end *e, const struct hark_outgoing *o, uint64_t *length)
{
    *length = 0;
    if (number_of(e, o->to) > e->ranks || o->inc == UINT32_MAX) return false;
    if (o->header.length == 0 || o->header.length > HARK_HEADER_MAX) return false;
    if (o->header.length > e->limit) return false;
    for (int i = 0; i < 3; i++) {
        if (o->part[i].length > e->limit - o->header.length - *length) return false;
        *length += o->part[i].length;
    }
    return true;
}

/* Copies `bytes` of the payload from `at` on. */
static void copy_payload(uint8_t *to, const struct hark_outgoing *o, uint64_t at, uint64_t bytes)
{
    for (int i = 0; i < 3 && bytes > 0; i++) {
        const struct hark_part *part = &o->part[i];
        uint64_t skip = at < part->length ? at : part->length, n = part->length - skip;
        if (n > bytes) n = bytes;
        if (n > 0) memcpy(to, (const uint8_t *)part->at + skip, (size_t)n);
        at -= skip;
        to += n;
        bytes -= n;
    }
}

/* The next message of the frame; `begun`: not its first. o->done counts header and payload. */
static struct message *next_message(
    const struct end *e, const struct peer *p, const struct hark_outgoing *o, uint64_t length)
{
    bool first = o->done == 0;
    uint32_t header = first ? o->header.length : 0;
    uint64_t at = first ? 0 : o->done - o->header.length, n = length - at;
    if (n > PIECE) n = PIECE;
    struct message *m = message_new(sizeof(struct head) + header + n);
    if (!m) return NULL;
    m->rank = p->rank;
    m->port = p->port;
    *message_head(m) = (struct head){.kind = first ? KIND_FRAME : KIND_REST,
        .from = e->me.rank,
        .from_inc = e->me.inc,
        .to = o->to,
        .to_inc = o->inc,
        .from_port = e->port,
        .header = o->header.length,
        .job = e->job,
        .length = length,
        .at = at};
    if (first) memcpy(message_body(m), o->header.at, header);
    copy_payload(message_body(m) + header, o, at, n);
    return m;
}

static uint64_t next_bytes(const struct hark_outgoing *o, uint64_t length)
{
    uint64_t left = o->done == 0 ? length : length - (o->done - o->header.length);
    uint64_t header = o->done == 0 ? o->header.length : 0;
    return sizeof(struct head) + header + (left < PIECE ? left : PIECE);
}

static int hand_over(struct end *e, struct peer *p, struct message *m)
{
    p->sent += m->bytes;
    if (p->rank >= 0) return hark_mpi_post(e, m);
    if (!p->kept.first) e->kept++;
    queue_put(&p->kept, m);
    return HARK_T_OK;
}

static int send_messages(struct end *e, struct peer *p, struct hark_outgoing *o, uint64_t length)
{
    while (o->done < o->header.length + length) {
        uint64_t bytes = next_bytes(o, length);
        if (p->sent - p->acked + bytes > e->window) {
            p->stalled = true;
            return HARK_T_AGAIN;
        }
        struct message *m = next_message(e, p, o, length);
        if (!m) return hark_mpi_failed(e->head.error, "cannot send", MPI_SUCCESS);
        uint64_t taken = bytes - sizeof(struct head);
        int status = hand_over(e, p, m);
        if (status != HARK_T_OK) return status;
        o->done += taken;
    }
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += o->header.length + length;
    return HARK_T_OK;
}

int hark_mpi_send(struct hark_transport *t, struct hark_outgoing *o)
{
    struct end *e = (struct end *)t;
    struct peer *p;
    uint64_t length;
    if (!is_legal(e, o, &length)) return HARK_T_EINVAL;
    hub_lock(e->mpi);
    int status = hark_mpi_peer_at(e, number_of(e, o->to), o->inc, &p);
    if (status == HARK_T_OK) {
        p->stalled = false;
        status = send_messages(e, p, o, length);
    }
    hub_unlock(e->mpi);
    return status;
}
