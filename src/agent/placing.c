/* placing.c: by threads, images of the host's own store are verified, and copies put there.
 *
 * An image may have gigabytes. A loop that reads and syncs them is silent meanwhile, and hark run
 * would take its host for dead. The loop alone decides what has a name in the store: the
 * thread verifies a copy and syncs it, the loop gives it its name, unless it is not wanted any
 * more, and the thread syncs that.
 */
#include "depot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/store.h"

struct hark_placing {
    struct agent *a; /* NULL: nobody waits for it any more */
    struct hark_placing_of of;
    char *name; /* our own, as of.file is */
    uv_loop_t *loop;
    uv_work_t work;
    struct hark_store *store; /* for the thread alone: it has the text of the last error */
    int store_fd;
    bool named; /* what is left is to bring its name to the disk */
    int status;
    char error[256];
};

static int fails(struct hark_placing *p)
{
    snprintf(p->error, sizeof p->error, "checkpoint %llu of rank %u: %s",
        (unsigned long long)p->of.id, p->of.rank, strerror(errno));
    return HARK_S_ESYSTEM;
}

/* ---- by the thread --------------------------------------------------------------------------- */

static int verify(struct hark_placing *p)
{
    const int status = p->of.file < 0
                           ? p->store->ops->verify(p->store, p->of.rank, p->of.id)
                           : hark_store_verify_file(p->store, p->of.rank, p->of.id, p->of.file);
    if (status != HARK_S_OK) memcpy(p->error, p->store->error, sizeof p->error);
    else if (p->of.name && fsync(p->of.file) < 0) return fails(p);
    return status;
}

static int sync_name(struct hark_placing *p)
{
    char parent[32];
    snprintf(parent, sizeof parent, "r%u", p->of.rank);
    const int fd = openat(p->store_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int status = fd >= 0 && fsync(fd) == 0 && fsync(p->store_fd) == 0 ? HARK_S_OK : fails(p);
    if (fd >= 0) close(fd);
    return status;
}

static void work(uv_work_t *w)
{
    struct hark_placing *p = w->data;
    p->status = p->named ? sync_name(p) : verify(p);
}

/* ---- by the loop ----------------------------------------------------------------------------- */

static void free_placing(struct hark_placing *p)
{
    if (p->store) p->store->ops->close(p->store);
    if (p->store_fd >= 0) close(p->store_fd);
    if (p->of.file >= 0) hark_agent_close(p->loop, p->of.file); /* it may have no name */
    free(p->name);
    free(p);
}

static bool name_it(struct hark_placing *p)
{
    char to[64];
    hark_depot_name(to, p->of.rank, p->of.id);
    *strchr(to, '/') = 0;
    if (mkdirat(p->store_fd, to, 0700) == 0 || errno == EEXIST) {
        hark_depot_name(to, p->of.rank, p->of.id);
        p->named = renameat(p->of.directory, p->of.name, p->store_fd, to) == 0;
    }
    if (!p->named) p->status = fails(p);
    return p->named;
}

static void after(uv_work_t *w, int cancelled)
{
    struct hark_placing *p = w->data;
    (void)cancelled; /* then nobody waits for it */
    if (p->a && p->status == HARK_S_OK && p->of.name && !p->named && name_it(p)) {
        if (p->of.named) p->of.named(p->of.self);
        uv_queue_work(&p->a->loop, &p->work, work, after);
        return;
    }
    if (p->a) p->of.done(p->of.self, p->status, p->error);
    free_placing(p);
}

struct hark_placing *hark_placing_begin(struct agent *a, const struct hark_placing_of *of)
{
    struct hark_placing *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->a = a;
    p->loop = &a->loop;
    p->of = *of;
    p->of.name = p->name = of->name ? strdup(of->name) : NULL;
    p->of.file = of->file < 0 ? -1 : fcntl(of->file, F_DUPFD_CLOEXEC, 0);
    p->store_fd = fcntl(a->store_fd, F_DUPFD_CLOEXEC, 0);
    p->work.data = p;
    if ((of->name && !p->of.name) || (of->file >= 0 && p->of.file < 0) || p->store_fd < 0 ||
        hark_store_open_directory(
            &p->store, a->store_path, a->job.job, a->job.ranks, false, p->error) != HARK_S_OK) {
        free_placing(p);
        return NULL;
    }
    uv_queue_work(&a->loop, &p->work, work, after);
    return p;
}

void hark_placing_end(struct hark_placing *p)
{
    p->a = NULL;
    (void)uv_cancel((uv_req_t *)&p->work); /* if its thread has not begun */
}
