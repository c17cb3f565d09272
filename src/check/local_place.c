/* local_place.c: where the application is in its program: how it goes on, and what it can do there.
 */
#include "local.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

const struct hark_op *app_op(const struct lab *lab)
{
    return &lab->scenario->op[lab->who_now][lab->at.app.pc];
}

void app_go_to(struct lab *lab, uint32_t pc)
{
    const struct hark_op *op = lab->scenario->op[lab->who_now];
    while (op[pc].type == HARK_OP_ELSE) pc = op[pc].to;
    lab->at.app.pc = (uint16_t)pc;
}

void app_go_on(struct lab *lab)
{
    app_go_to(lab, lab->at.app.pc + 1u);
}

int app_first(const struct lab *lab, uint32_t peer, uint8_t only)
{
    for (uint32_t i = 0; i < lab->at.inboxes; i++) { /* by sender and ssn */
        const struct frame *f = frame_of(lab, lab->at.inbox[i]);
        if (frame_source(lab, f) == peer && (only == 0 || frame_ssn(f) == only)) return (int)i;
    }
    return -1;
}

uint64_t app_history(uint64_t history, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x[4] = {history, a, b, c};
    uint64_t h = XXH3_64bits(x, sizeof x);
    return h ? h : 1;
}

uint64_t app_combined(uint64_t a, uint64_t b)
{
    return app_history(a, b, 1, 2);
}

bool app_waits(struct lab *lab)
{
    const struct hark_op *op = app_op(lab);
    if (lab->at.app.inside) return false;
    if (op->type == HARK_OP_WAIT) return lab->at.app.open >> op->peer & 1;
    return op->type == HARK_OP_RECEIVE || op->type == HARK_OP_TAKE || op->type == HARK_OP_RESULT;
}

uint32_t app_can(struct lab *lab)
{
    const struct local *l = &lab->at;
    const struct hark_op *op = app_op(lab);
    uint32_t from = 0;
    if (l->app.inside || op->type == HARK_OP_END) return 0;
    switch (op->type) {
    case HARK_OP_RECEIVE:
    case HARK_OP_PROBE:
    case HARK_OP_LOOK:
        for (uint32_t i = 0; i < lab->ranks; i++)
            if ((op->peer < 0 || op->peer == (int)i) && app_first(lab, i, op->ssn) >= 0)
                from |= 1u << i;
        if (from == 0 && op->type == HARK_OP_LOOK)
            return op->peer < 0 ? 1u << lab->ranks : 1u << op->peer;
        return from;
    case HARK_OP_TAKE: return app_first(lab, group_source(lab, hark_op_tree(op), false), 0) >= 0;
    case HARK_OP_RESULT: return app_first(lab, group_source(lab, hark_op_tree(op), true), 0) >= 0;
    case HARK_OP_WAIT:
        return !(l->app.open >> op->peer & 1) || app_first(lab, (uint32_t)op->peer, op->ssn) >= 0;
    case HARK_OP_OUTPUT:
        return l->app.shown < l->shown || lab->protocol->unstable == NULL ||
               lab->protocol->unstable(lab->core) == 0;
    default: return 1;
    }
}
