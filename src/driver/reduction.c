/* Reductions: what COMBINE says is done at once, in the payload log; the core hears COMBINED behind
 * its effects. */
#include "driver_internal.h"

#include <stdlib.h>
#include <string.h>

/* One part more. */
static int add(struct hark_driver *d, const struct hark_name *name)
{
    struct sum *s = &d->sum;
    uint32_t peer;
    const void *at;
    uint64_t length;
    int status = hark_driver_log_entry(d, name, &peer, &at, &length);
    if (status == HARK_L_ENONE || (status >= 0 && length < ENVELOPE))
        return hark_driver_fail(d, HARK_D_ECORE, "COMBINE", "the log lacks a contribution");
    if (status < 0)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "payload log", hark_log_error(d->log));
    if (s->parts == 0) {
        if (length > s->room) {
            uint8_t *bigger = realloc(s->at, length);
            if (bigger == NULL)
                return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a reduction");
            s->at = bigger;
            s->room = length;
        }
        memcpy(s->at, at, length); /* with its envelope */
        s->length = length;
    } else if (length != s->length) {
        return hark_driver_fail(
            d, HARK_D_EINVAL, "reduction", "contributions of different lengths");
    } else {
        d->hooks.combine(d->hooks.self, name->ctx, (int64_t)hark_get64(s->at + length - ENVELOPE),
            s->at, at, length - ENVELOPE);
    }
    s->parts++;
    if (name->to == HARK_PROCESS) hark_driver_log_trim(d, name); /* used up */
    return HARK_D_OK;
}

/* All parts are there. */
static int finish(struct hark_driver *d, const struct hark_name *name, uint32_t part)
{
    struct sum *s = &d->sum;
    struct hark_log_part sum = {s->at, s->length};
    if (s->parts == 0) return hark_driver_fail(d, HARK_D_ECORE, "COMBINE", "nothing");
    s->parts = 0;
    int status =
        hark_log_retain(d->log, hark_driver_log_peer(name, true), name->ctx, name->ssn, &sum, 1);
    if (status < 0)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "payload log", hark_log_error(d->log));
    if (name->way == HARK_OUT)
        hark_log_trim(d->log, hark_driver_log_peer(name, false), name->ctx, name->ssn);
    hark_driver_log_figures(d);
    if (part != HARK_COMBINE_REPLY) return HARK_D_OK;
    d->combined = true;
    d->sum.answer = *name;
    return HARK_D_OK;
}

int hark_driver_combine(struct hark_driver *d, const struct hark_name *name, uint32_t part)
{
    if (d->hooks.combine == NULL)
        return hark_driver_fail(d, HARK_D_ECORE, "the core", "COMBINE, and the owner can not");
    return part != HARK_COMBINE_OPERAND ? finish(d, name, part) : add(d, name);
}

int hark_driver_combined(struct hark_driver *d)
{
    struct hark_event e = {.type = HARK_COMBINED};
    e.u.combined.name = d->sum.answer;
    d->combined = false;
    return driver_step_bare(d, &e);
}
