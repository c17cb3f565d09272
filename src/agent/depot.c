/* depot.c: images in a host's own store: what is there, and what of it is dropped, or undone. */
#include "depot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/store.h"

struct hark_depot_check { /* of an image here, for a process that is to begin */
    struct hark_depot_check *next;
    struct agent *a;
    uint32_t rank;
    uint64_t id;
    struct hark_placing *placing;
};

/* ---- images of processes that are to begin --------------------------------------------------- */

static void end_check(struct hark_depot_check *k)
{
    struct hark_depot_check **at = &k->a->depot->checking;
    while (*at != k) at = &(*at)->next;
    *at = k->next;
    if (k->placing) hark_placing_end(k->placing);
    free(k);
}

static void checked(void *self, int status, const char *error)
{
    struct hark_depot_check *k = self;
    struct agent *a = k->a;
    const uint32_t rank = k->rank;
    const uint64_t id = k->id;
    k->placing = NULL;
    end_check(k);
    a->image_came(a, rank, id, hark_depot_found(a, rank, id, status, error));
}

void hark_depot_check(struct agent *a, uint32_t rank, uint64_t id)
{
    struct hark_depot_check *k = a->depot ? calloc(1, sizeof *k) : NULL;
    if (k) {
        *k = (struct hark_depot_check){.next = a->depot->checking, .a = a, .rank = rank, .id = id};
        a->depot->checking = k;
        const struct hark_placing_of of = {
            .rank = rank, .id = id, .file = -1, .self = k, .done = checked};
        k->placing = hark_placing_begin(a, &of);
    }
    if (k && k->placing) return;
    if (k) end_check(k);
    a->image_came(a, rank, id, false);
}

/* ---- what is here ---------------------------------------------------------------------------- */

/* The images of the rank here; to be freed. NULL: no memory, or they can not be read. */
static uint64_t *images_of(struct agent *a, uint32_t rank, uint32_t *count)
{
    const int there = a->store ? a->store->ops->list(a->store, rank, NULL, 0) : 0;
    *count = there > 0 ? (uint32_t)there : 0;
    uint64_t *id = calloc(*count + 1, sizeof *id);
    const int n = id && *count ? a->store->ops->list(a->store, rank, id, *count) : 0;
    if (n < 0 || id == NULL) *count = 0;
    else if ((uint32_t)n < *count) *count = (uint32_t)n;
    return id;
}

void hark_depot_list(struct agent *a)
{
    for (uint32_t rank = 0; a->store && rank < a->job.ranks; rank++) {
        uint32_t n;
        uint64_t *id = images_of(a, rank, &n);
        for (uint32_t i = 0; i < n; i++) hark_depot_tell(a, rank, id[i], HARK_HOLDS_WHOLE);
        free(id);
    }
}

void hark_depot_drop(struct agent *a, uint32_t rank, uint64_t below)
{
    uint32_t n;
    uint64_t *id = images_of(a, rank, &n);
    if (a->depot) hark_depot_forget_placed(a->depot, rank, 0, below, UINT32_MAX);
    for (uint32_t i = 0; i < n && id[i] < below; i++) hark_depot_remove(a, rank, id[i]);
    free(id);
}

void hark_depot_undo(struct agent *a, uint32_t rank, uint64_t above, uint32_t round)
{
    struct hark_depot *d = a->depot;
    struct hark_depot_check *next;
    if (d && round > d->undone[rank]) d->undone[rank] = round;
    if (d) hark_peers_undo(a, rank, above, round);
    for (struct hark_depot_check *k = d ? d->checking : NULL; k; k = next) {
        next = k->next; /* what it waits for was given up */
        if (k->rank == rank && k->id > above) end_check(k);
    }
    if (d) hark_depot_forget_placed(d, rank, above + 1, UINT64_MAX, round);
    uint32_t n;
    uint64_t *id = images_of(a, rank, &n);
    for (uint32_t i = 0; i < n; i++)
        if (id[i] > above && !(d && hark_depot_is_placed(d, rank, id[i])))
            hark_depot_remove(a, rank, id[i]);
    free(id);
}

/* ---- opened and closed ----------------------------------------------------------------------- */

/* Copies that came in part to an agent that died are of no use. */
static void empty(int directory)
{
    const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = again >= 0 ? fdopendir(again) : NULL;
    for (const struct dirent *e; all && (e = readdir(all)) != NULL;)
        if (e->d_name[0] != '.') (void)unlinkat(directory, e->d_name, 0);
    if (all) closedir(all);
    else if (again >= 0) close(again);
}

bool hark_depot_open(struct agent *a, char error[256])
{
    const struct hark_connection_config config = hark_peer_config(a);
    char why[200] = "no memory";
    a->depot = calloc(1, sizeof *a->depot);
    if (a->depot) a->depot->undone = calloc(a->job.ranks, sizeof *a->depot->undone);
    if (a->depot && a->depot->undone) {
        (void)mkdirat(a->store_fd, "in", 0700);
        a->depot->in = openat(a->store_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (a->depot->in >= 0) empty(a->depot->in);
        if (a->depot->in < 0)
            snprintf(why, sizeof why, "%s/in: %s", a->store_path, strerror(errno));
        else if (hark_listener_open(&a->depot->listener, &config, NULL, 0, why) == 0) return true;
    }
    snprintf(error, 256, "%s", why);
    return false;
}

uint16_t hark_depot_port(const struct agent *a)
{
    return a->depot && a->depot->listener ? hark_listener_port(a->depot->listener) : 0;
}

void hark_depot_close(struct agent *a)
{
    struct hark_depot *d = a->depot;
    if (d == NULL) return;
    hark_peers_close(a);
    while (d->checking) end_check(d->checking);
    if (d->listener) hark_listener_close(d->listener);
    if (d->in > 0) close(d->in);
    free(d->undone);
    free(d->placed);
    free(d);
    a->depot = NULL;
}
