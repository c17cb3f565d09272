/* local_twin.c: every step is made twice, on a large block, and on one that went through pack and
 * unpack into the smallest one there is; and a usual message by the entries for it as well. All
 * must come to the same. */
#undef HARK_LINK /* steps blocks of its own */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_ROOM = 1 << 10 /* in a block without any, nothing is as usual */ };

/* ---- the twin -------------------------------------------------------------------------------- */

static bool twin_grow(struct lab *lab, uint64_t bytes)
{
    struct hark *t = realloc(lab->twin, bytes);
    if (t == NULL) {
        lab_starve(lab);
        return false;
    }
    lab->twin = t;
    lab->twin_bytes = bytes;
    return true;
}

void twin_make(struct lab *lab, uint32_t packed)
{
    const struct hark *block = core_unpacked(lab, packed);
    if (block == NULL || !twin_grow(lab, block->used)) return;
    memcpy(lab->twin, block, block->used);
    lab->twin->more = lab->core->more;
}

static uint64_t twin_pack(const struct lab *lab, uint8_t bytes[LOCAL_PACK])
{
    return hark_pack(
        lab->twin, lab_protocol(lab, lab->who_now)->shape, bytes, (uint64_t)LOCAL_PACK);
}

static bool is_packed(struct hark_bytes bytes, const uint8_t *at, uint64_t length)
{
    return bytes.length == length && memcmp(bytes.at, at, length) == 0;
}

/* `before`: the twin, packed. */
static int twin_step(
    struct lab *lab, const struct hark_event *e, struct hark_bytes before, struct hark_effects *fx)
{
    static uint8_t after[LOCAL_PACK];
    const struct hark_protocol *protocol = lab_protocol(lab, lab->who_now);
    for (;;) {
        int status = protocol->step(lab->twin, e, fx);
        if (status != HARK_EFULL) return status;
        if (!is_packed(before, after, twin_pack(lab, after))) lab_violate(lab, VIOLATED_TWIN_EFULL);
        uint64_t wants = (hark_wants(lab->twin, e) + 1) / 2;
        if (wants <= lab->twin->bytes) wants = lab->twin->bytes + 64;
        if (!twin_grow(lab, wants)) return HARK_EFULL;
        hark_grow(lab->twin, wants);
    }
}

void twin_check(struct lab *lab, const struct hark_event *e, struct hark_bytes before, int status)
{
    static struct hark_effect effects[EFFECTS];
    static uint8_t bytes[BYTES], two[LOCAL_PACK];
    const struct hark_effects *fx = &lab->fx;
    struct hark_effects mine = {
        .at = effects, .room = EFFECTS, .bytes = bytes, .bytes_room = BYTES, .spare = SPARE};
    int other = twin_step(lab, e, before, &mine);
    if (lab->failed) return;
    if (other != status) lab_violate(lab, VIOLATED_TWIN_STEP);
    if (status < 0 || other < 0) return;
    if (mine.count != fx->count || mine.used != fx->used) lab_violate(lab, VIOLATED_TWIN_STEP);
    for (uint32_t i = 0; i < mine.count && i < fx->count; i++) {
        struct hark_effect a = mine.at[i], b = fx->at[i];
        if (a.type == HARK_TRANSMIT && b.type == HARK_TRANSMIT) {
            struct hark_bytes *h = &a.u.transmit.header, *g = &b.u.transmit.header;
            if (h->length != g->length || memcmp(h->at, g->at, h->length) != 0)
                lab_violate(lab, VIOLATED_TWIN_STEP);
            h->at = g->at = NULL;
        }
        if (memcmp(&a, &b, sizeof a) != 0) lab_violate(lab, VIOLATED_TWIN_STEP);
    }
    if (!is_packed(core_packed(lab), two, twin_pack(lab, two)))
        lab_violate(lab, VIOLATED_TWIN_STATE);
}

/* ---- the usual message ----------------------------------------------------------------------- */

/* Are the effects of a SEND those that post() has told? */
static bool posted_alike(const struct lab *lab, const struct hark_posted *posted,
    const uint8_t *header, const struct hark_posting *m)
{
    const struct hark_effects *fx = &lab->fx;
    if (fx->count != 1u + posted->retain || fx->at[0].type != HARK_TRANSMIT) return false;
    const struct hark_transmit *x = &fx->at[0].u.transmit;
    const struct hark_name *name = &x->name;
    if (x->peer != m->peer || x->inc != posted->inc || x->determinants != posted->determinants ||
        x->replay || x->header.length != posted->header_length ||
        memcmp(x->header.at, header, posted->header_length) != 0)
        return false;
    if (name->peer != m->peer || name->ctx != m->ctx || name->way != HARK_OUT ||
        name->to != HARK_PROCESS || name->ssn != posted->ssn)
        return false;
    return !posted->retain || (fx->at[1].type == HARK_RETAIN &&
                                  memcmp(&fx->at[1].u.retain.name, name, sizeof *name) == 0);
}

/* Are the effects of an ARRIVE those that receive() has told? */
static bool received_alike(
    const struct hark_effects *fx, const struct hark_received *received, struct hark_bytes header)
{
    struct hark_head h;
    const bool trims = received->trim != 0;
    if (fx->count != 1u + trims || fx->at[0].type != HARK_HANDUP ||
        fx->at[0].u.handup.logged != received->logged)
        return false;
    if (!trims) return true;
    if (hark_head_get(&h, header, hark_get16(header.at)) < 0) return false;
    const struct hark_name name = {h.src, h.ctx, HARK_OUT, HARK_PROCESS, received->trim};
    return fx->at[1].type == HARK_TRIM && memcmp(&fx->at[1].u.trim.name, &name, sizeof name) == 0;
}

/* Before a step: does it to the twin, or nothing. `before`: the core, packed. */
void usual_try(struct lab *lab, const struct hark_event *e, uint32_t before, struct usual *u)
{
    const struct hark_protocol *protocol = lab_protocol(lab, lab->who_now);
    u->status = HARK_UNUSUAL;
    u->received = (struct hark_received){0};
#ifdef LAB_STEP_ALONE /* test/mutants/run.sh: what is wrong with step is to be seen by itself */
    return;
#endif
    bool post = e->type == HARK_SEND && protocol->post;
    if (!post && !(e->type == HARK_ARRIVE && protocol->receive)) return;
    twin_make(lab, before);
    if (lab->failed || !twin_grow(lab, lab->twin_bytes + USUAL_ROOM)) return;
    hark_grow(lab->twin, lab->twin_bytes);
    u->status = post ? protocol->post(lab->twin, &e->u.send, u->header, &u->posted)
                     : protocol->receive(lab->twin, e->u.frame.header, &u->received);
    u->length = twin_pack(lab, u->after);
    const struct hark_bytes was = {
        intern_at(&lab->part, before), intern_length(&lab->part, before)};
    if (u->status == HARK_UNUSUAL && !is_packed(was, u->after, u->length))
        lab_violate(lab, VIOLATED_UNUSUAL);
}

/* After the step: it has done the same. A step with more effects than fit (MORE) is never usual. */
void usual_check(struct lab *lab, const struct hark_event *e, int status, const struct usual *u)
{
    static struct hark_effect effects[EFFECTS];
    static uint8_t bytes[BYTES], delivered[LOCAL_PACK];
    if (u->status == HARK_UNUSUAL) return;
    const bool post = e->type == HARK_SEND;
    bool alike = u->status == HARK_OK && status == HARK_OK;
    if (alike && post) {
        alike = posted_alike(lab, &u->posted, u->header, &e->u.send) &&
                is_packed(core_packed(lab), u->after, u->length);
    } else if (alike) {
        struct hark_effects fx = {
            .at = effects, .room = EFFECTS, .bytes = bytes, .bytes_room = BYTES, .spare = SPARE};
        struct hark_event deliver = {.type = HARK_DELIVER};
        deliver.u.frame = e->u.frame;
        alike = received_alike(&lab->fx, &u->received, e->u.frame.header);
        if (alike) twin_make(lab, core_pack(lab));
        alike = alike && !lab->failed &&
                twin_step(lab, &deliver, core_packed(lab), &fx) == HARK_OK && fx.count == 0 &&
                is_packed((struct hark_bytes){u->after, (uint32_t)u->length}, delivered,
                    twin_pack(lab, delivered));
    }
    if (!alike && !lab->failed) lab_violate(lab, post ? VIOLATED_POST : VIOLATED_RECEIVE);
}
