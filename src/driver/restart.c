/* A new incarnation: what the core is told of it. */
#include "driver_internal.h"

int hark_driver_restart(struct hark_driver *d, uint64_t id, uint32_t re, uint32_t inc,
    const struct hark_region **region, uint32_t *count)
{
    struct hark_event e = {.type = HARK_RESTARTED};
    struct subject none = {0};
    int status = HARK_D_OK;
    *count = 0;
    *region = NULL;
    if (d->shut) return hark_driver_shut(d);
    e.u.restarted.checkpoint = id;
    e.u.restarted.re = re;
    e.u.restarted.inc = inc;
    e.u.restarted.old_core = d->kept;
    e.u.restarted.undone = d->again;
    e.u.restarted.undone_count = d->again_count;
    if (id) status = hark_driver_image_read(d, id, &e, count);
    if (status >= 0) status = driver_step(d, &e, &none);
    *region = d->image_region;
    hark_driver_log_figures(d);
    return status;
}

void hark_driver_again(struct hark_driver *d, const uint64_t *id, uint32_t count)
{
    d->again = id;
    d->again_count = count;
}

void hark_driver_kept(struct hark_driver *d, struct hark_bytes kept)
{
    d->kept = kept;
}

void hark_driver_restarted(struct hark_driver *d)
{
    hark_driver_image_close(d);
}
