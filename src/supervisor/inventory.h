/* inventory.h: what is in a store of checkpoints, for people: whose it is, and what its job can go
 * back to. */
#ifndef HARK_SUPERVISOR_INVENTORY_H
#define HARK_SUPERVISOR_INVENTORY_H

#include "../control/clusters.h"
#include "keeper.h"

struct hark_inventory {
    char job[65];
    uint32_t ranks;
    bool in_use;    /* a run holds it now */
    char *identity; /* lines NAME=VALUE, as the run that made it wrote them; NULL: there is no
                       record yet */
    const struct hark_protocol *protocol; /* of the identity */
    struct hark_clusters clusters;
    struct hark_store *images, *record;
    struct hark_keeper *keeper; /* as of the record; NULL: there is none */
    uint8_t *fell_back; /* of each rank, when hark_keeper_resume() has been tried: to an older image
                           than the newest */
    uint32_t lost;      /* and whose images are all damaged */
    bool finished;
    char *host_store; /* of each host, the directory with the images; NULL: they are in `images` */
    char *hosts;      /* that have ever had some: "a, b and 3 more"; NULL: not known */
};

/* Opens the store in `path`; changes nothing in it, but that what crashed writers left is removed.
 * 0, or -1 and one line in error: there is no store, it is damaged, or its record is of a newer
 * hark. Of a record that can not be read the images can still be looked at: then 0, `keeper` is
 * NULL, and the line is in error; else error is "". */
int hark_inventory_open(struct hark_inventory *v, const char *path, char error[HARK_KEEPER_ERROR]);
void hark_inventory_close(struct hark_inventory *v);

/* The value of a line of the identity, to be freed; NULL: there is none, or no memory. */
char *hark_inventory_value(const struct hark_inventory *v, const char *name);

#endif
