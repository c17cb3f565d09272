/* directory.h: what a handle of a directory store keeps, for its files: directory.c,
 * directory_job.c.
 */
#ifndef HARK_STORE_DIRECTORY_H
#define HARK_STORE_DIRECTORY_H

#include "hark/store.h"
#include "image.h"
#include "increment.h"

struct directory {
    struct hark_store store;
    int root;
    uint32_t ranks;
    uint32_t ready;  /* the rank whose directory this handle has made durable last, or UINT32_MAX */
    uint32_t number; /* of the next temporary: a name that a cleaner may just be looking at is not
                        used again */
    uint32_t writer; /* of images: image.h; 0: not known */
    struct hark_increments images; /* how they are written */
    char job[HARK_IMAGE_JOB_MAX + 1];
    char path[]; /* as given: for messages only, everything goes by `root` */
};

/* Writes what went wrong with `name` (NULL: the store) into the store's error; `why` NULL: errno.
 * Returns `status`. */
int hark_directory_say(
    struct directory *d, int status, const char *what, const char *name, const char *why);
/* Takes the store for the job: makes its job file, or compares it. `fresh`: there must be no image.
 * HARK_S_OK, HARK_S_EINVAL: it is of another job, or no store; HARK_S_EDAMAGED, HARK_S_ESYSTEM. */
int hark_directory_claim(struct directory *d, bool fresh);
/* Lists the images in the directory `name` of a rank, ascending, the first `room` of them. Returns
 * how many there are, or HARK_S_ESYSTEM with errno. */
int hark_directory_list_rank(int root, const char *name, uint64_t *id, uint32_t room);

#endif
