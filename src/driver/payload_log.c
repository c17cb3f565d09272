/* The payload log: under which name it has what, and what the core retains. */
#include "driver_internal.h"

/* What is combined of a group takes the place of the process's own contribution; what all gave has
 * one of its own. */
uint32_t hark_driver_log_peer(const struct hark_name *name, bool made)
{
    if (name->to == HARK_PROCESS) return name->way == HARK_IN ? name->peer | LOG_CHILD : name->peer;
    if (name->way == HARK_IN) return name->peer | LOG_ALL;
    return name->peer | (made ? LOG_MADE : LOG_GROUP);
}

/* The log's entry, envelope included; HARK_L_*. */
int hark_driver_log_entry(struct hark_driver *d, const struct hark_name *name, uint32_t *peer,
    const void **at, uint64_t *length)
{
    int status = HARK_L_ENONE;
    if (name->to == HARK_GROUP && name->way == HARK_OUT) {
        *peer = hark_driver_log_peer(name, true);
        status = hark_log_get(d->log, *peer, name->ctx, name->ssn, at, length);
    }
    if (status != HARK_L_ENONE) return status;
    *peer = hark_driver_log_peer(name, false);
    return hark_log_get(d->log, *peer, name->ctx, name->ssn, at, length);
}

void hark_driver_log_trim(struct hark_driver *d, const struct hark_name *name)
{
    hark_log_trim(d->log, hark_driver_log_peer(name, false), name->ctx, name->ssn);
    if (name->to == HARK_GROUP)
        hark_log_trim(d->log, hark_driver_log_peer(name, true), name->ctx, name->ssn);
}

int hark_driver_log_failed(struct hark_driver *d, int status)
{
    int what = status == HARK_L_EFULL ? HARK_D_ELOG : HARK_D_ESYSTEM;
    return hark_driver_fail(d, what, "payload log", hark_log_error(d->log));
}

int hark_driver_retain(
    struct hark_driver *d, const struct hark_name *name, const struct subject *subject)
{
    uint8_t envelope[ENVELOPE] = {0};
    bool arrived = subject->held || subject->frame; /* a contribution, or what all gave */
    const void *payload = subject->held    ? subject->held->payload
                          : subject->frame ? subject->arrived
                                           : subject->payload;
    struct hark_log_part part[2] = {{payload, subject->length}, {envelope, sizeof envelope}};
    hark_put64(envelope, (uint64_t)subject->tag);
    int status =
        hark_log_retain(d->log, hark_driver_log_peer(name, arrived), name->ctx, name->ssn, part, 2);
    if (status < 0) return hark_driver_log_failed(d, status);
    hark_driver_log_figures(d);
    if (d->waiting_count) hark_driver_from_log(d, name);
    return HARK_D_OK;
}

int hark_driver_reserve(
    struct hark_driver *d, const struct hark_name *name, struct subject *subject, void **at)
{
    int status = hark_log_reserve(d->log, hark_driver_log_peer(name, false), name->ctx, name->ssn,
        subject->length + ENVELOPE, at);
    if (status < 0) return hark_driver_log_failed(d, status);
    hark_put64((uint8_t *)*at + subject->length, (uint64_t)subject->tag);
    subject->retained = true;
    hark_driver_log_figures(d);
    return HARK_D_OK;
}
