/* Steps: the effects of one, and what must follow them. */
#include "driver_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "hark/parts/member.h"

int hark_driver_shut(struct hark_driver *d)
{
    if (d->shut & SHUT_GONE) return HARK_D_EGONE;
    hark_driver_refuse(d, "a call from a hook",
        "the effects of a step are being performed; call when the hook and what led to it have "
        "returned");
    return HARK_D_EBUSY;
}

int hark_driver_trim(struct hark_driver *d, const struct hark_name *name)
{
    int status = d->waiting_count ? hark_driver_trimmed(d, name) : HARK_D_OK;
    if (status < 0) return status;
    hark_driver_log_trim(d, name);
    hark_driver_log_figures(d);
    return HARK_D_OK;
}

/* In the place of entries for the usual message that there are not, or not any more. */
static int not_posted(
    struct hark *p, const struct hark_posting *message, uint8_t *header, struct hark_posted *posted)
{
    (void)p, (void)message, (void)header, (void)posted;
    return HARK_UNUSUAL;
}

static int not_received(struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    (void)p, (void)header, (void)received;
    return HARK_UNUSUAL;
}

void hark_driver_unusual(struct hark_driver *d)
{
    d->post = not_posted;
    d->receive = not_received;
}

static int perform_store(struct hark_driver *d, const struct hark_effect *x)
{
    switch (x->type) {
    case HARK_COMMIT:
        HARK_POINT("commit", d->me);
        driver_count(&d->figures->checkpoints, 1);
        if (d->hooks.committed) d->hooks.committed(d->hooks.self, x->u.checkpoint.id);
        HARK_POINT("committed", d->me);
        return HARK_D_OK;
    case HARK_DROP:
        hark_driver_drop_image(d, x->u.checkpoint.id);
        if (d->hooks.dropped) d->hooks.dropped(d->hooks.self, x->u.checkpoint.id);
        return HARK_D_OK;
    default: return hark_driver_trim(d, &x->u.trim.name);
    }
}

static inline int perform(
    struct hark_driver *d, const struct hark_effect *x, struct subject *subject)
{
    if (__builtin_expect(d->hooks.observe != NULL, 0)) d->hooks.observe(d->hooks.self, NULL, x);
    switch (x->type) {
    case HARK_TRANSMIT: return hark_driver_transmit(d, &x->u.transmit, subject);
    case HARK_RETAIN:
        return subject->retained ? HARK_D_OK : hark_driver_retain(d, &x->u.retain.name, subject);
    case HARK_HANDUP: /* the owner may take it at once, which is a step: when this one's effects are
                         done */
        subject->handup = true;
        return HARK_D_OK;
    case HARK_HOLD: hark_driver_hold(d, subject); return HARK_D_OK;
    case HARK_DISCARD: hark_driver_discard(d, subject); return HARK_D_OK;
    case HARK_OFFER: hark_driver_ask(d, x->u.offer.peer, &x->u.offer.name); return HARK_D_OK;
    case HARK_TRIM:
    case HARK_COMMIT:
    case HARK_DROP: return perform_store(d, x);
    case HARK_CAPTURE:
        if (subject->handup && subject->up == NULL) {
            int status = hark_driver_handup_later(d, subject);
            if (status < 0) return status;
        }
        return hark_driver_capture(d, x->u.checkpoint.id);
    case HARK_PERSIST: d->hooks.persist(d->hooks.self, &x->u.persist); return HARK_D_OK;
    case HARK_RESUME: d->hooks.resume(d->hooks.self); return HARK_D_OK;
    case HARK_SUPPRESS: driver_count(&d->figures->suppressed, 1); return HARK_D_OK;
    case HARK_DIVERGED: d->hooks.diverged(d->hooks.self, &x->u.diverged); return HARK_D_OK;
    case HARK_RECOVERED: d->hooks.recovered(d->hooks.self); return HARK_D_OK;
    case HARK_COMBINE: return hark_driver_combine(d, &x->u.combine.name, x->u.combine.part);
    case HARK_ROLLBACK:
        d->shut |= SHUT_GONE;
        d->post = not_posted;
        d->awaited = NULL;
        d->hooks.rollback(d->hooks.self, x->u.checkpoint.id);
        return HARK_D_EGONE;
    default:
        return hark_driver_fail(
            d, HARK_D_ECORE, "the core", "an effect that this driver does not know");
    }
}

static int grow(struct hark_driver *d, const struct hark_event *event)
{
    uint64_t bytes = hark_wants(d->core, event);
    struct hark *p = realloc(d->core, bytes);
    if (p == NULL)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for the protocol's state");
    d->core = p;
    hark_grow(p, bytes);
    return HARK_D_OK;
}

/* An answer that is known while effects are still being performed: it is given when they are done.
 */
int hark_driver_later(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    (void)subject;
    d->later = true;
    d->stored = *event;
    return HARK_D_OK;
}

/* What must wait until all effects of a step are done, and may be steps of their own. */
int hark_driver_aftermath(struct hark_driver *d)
{
    int status = HARK_D_OK;
    while (status >= 0 && (d->combined || d->later || (d->offer.due && !d->offering))) {
        struct subject none = {0};
        struct hark_event stored = d->stored;
        if (d->combined) {
            status = hark_driver_combined(d);
        } else if (d->later) {
            d->later = false;
            status = driver_step(d, &stored, &none);
        } else {
            d->offering = true;
            status = hark_driver_offer(d);
            d->offering = false;
        }
    }
    return status;
}

/* A step that moved nothing: 0 if the event is to be given again, 1 if later, else what the caller
 * is told. */
static int moved_nothing(struct hark_driver *d, int status, const struct hark_event *event,
    struct subject *subject, bool *again)
{
    *again = false;
    switch (status) {
    case HARK_EFULL: *again = true; return grow(d, event);
    case HARK_WAIT: return 1;
    case HARK_EFRAME: /* not one of ours: dropped and counted */
        driver_count(&d->figures->refused, 1);
        hark_driver_discard(d, subject);
        return HARK_D_OK;
    default:
        snprintf(d->error, sizeof d->error, "%s: %s: %s", d->protocol->name,
            hark_event_text(event->type), hark_status_text(status));
        return HARK_D_ECORE;
    }
}

/* Performs the effects of a step, and of those that continue it. */
static int perform_all(
    struct hark_driver *d, int status, const struct hark_event *event, struct subject *subject)
{
    static const struct hark_event go_on = {.type = HARK_CONTINUE};
    for (;; status = d->protocol->step(d->core, event, &d->fx)) {
        if (status != HARK_OK && status != HARK_MORE) {
            bool again;
            int result = moved_nothing(d, status, event, subject, &again);
            if (again && result >= 0) continue;
            return result;
        }
        uint32_t n = d->fx.count;
        for (uint32_t i = 0; i < n; i++) {
            subject->next = i + 1 < n ? &d->fx.at[i + 1] : NULL;
            int result = perform(d, &d->fx.at[i], subject);
            if (result < 0) return result;
        }
        if (status == HARK_OK) return HARK_D_OK;
        event = &go_on;
    }
}

/* A step within these effects would write over those that are not performed yet, so the driver is
 * shut for that long. */
int hark_driver_effects(
    struct hark_driver *d, int status, const struct hark_event *event, struct subject *subject)
{
    int (*post)(struct hark *, const struct hark_posting *, uint8_t *, struct hark_posted *) =
        d->post;
    d->shut |= SHUT_BUSY;
    d->post = not_posted;
    status = perform_all(d, status, event, subject);
    d->shut &= (uint8_t)~SHUT_BUSY;
    if (!d->shut) d->post = post;
    if (status != HARK_D_OK) return status;
    if (subject->handup) hark_driver_handup(d, subject);
    return d->offer.due || d->later || d->combined ? hark_driver_aftermath(d) : HARK_D_OK;
}

int hark_driver_step_seldom(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    if (d->shut) return hark_driver_shut(d);
    d->hooks.observe(d->hooks.self, event, NULL);
    return hark_driver_effects(d, d->protocol->step(d->core, event, &d->fx), event, subject);
}
