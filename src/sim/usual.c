/* usual.c: a message that is as most are (hark_protocol.post and receive): no event, no effects.
 * The effects would be, by hark.h, TRANSMIT and perhaps RETAIN, or HANDUP and perhaps TRIM. */
#include <string.h>

#include "parts.h"

bool sim_usual_post(struct sim *s, uint32_t who, const struct hark_posting *message)
{
    struct sim_process *p = &s->p[who];
    struct hark_posted posted;
    if (message->to != HARK_PROCESS || message->peer == who ||
        s->protocol->post(p->core, message, s->bytes, &posted) != HARK_OK)
        return false;
    const uint32_t frame = sim_frame_new(s);
    if (frame == SIM_NONE) return true;
    struct sim_frame *f = sim_frame(s, frame);
    f->length = message->length;
    f->next = SIM_NONE;
    if (posted.header_length <= SIM_HEADER) {
        memcpy(f->header.bytes, s->bytes, SIM_HEADER); /* as long as all are */
        f->header_length = posted.header_length & INT32_MAX;
        f->logged = 0;
    } else if (!sim_frame_write(s, f, s->bytes, posted.header_length)) {
        return true;
    }
    s->r->piggyback_bytes += posted.header_length - HARK_WIRE_HEAD;
    s->r->determinants_piggybacked += posted.determinants;
    sim_leave(s, who, frame, message->peer);
    const struct hark_name name = {message->peer, message->ctx, HARK_OUT, HARK_PROCESS, posted.ssn};
    if (posted.retain && sim_log_more(s, p, &name, message->length) &&
        !hark_service_by_line(s->protocol))
        sim_count_logged(s, s->posted_part, message->length);
    sim_ask(s, who);
    return true;
}

bool sim_usual_receive(struct sim *s, uint32_t who, uint32_t frame)
{
    struct sim_frame *f = sim_frame(s, frame);
    const struct hark_bytes header = {sim_header(f), f->header_length};
    struct hark_received received = {0};
    if (!s->usual || s->traffic ||
        s->protocol->receive(s->p[who].core, header, &received) != HARK_OK)
        return false;
    if (received.logged) f->logged = 1;
    if (received.trim) {
        struct hark_head h;
        (void)hark_head_get(&h, header, s->protocol->kind);
        sim_trim(s, who, &(struct hark_name){h.src, h.ctx, HARK_OUT, HARK_PROCESS, received.trim});
    }
    sim_ask(s, who);
    return true;
}
