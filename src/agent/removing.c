/* removing.c: by threads, what takes long to be freed.
 *
 * A file system may need a second for an image of a gigabyte whose last name or descriptor goes. A
 * loop that does that is silent meanwhile, and hark run would take its host for dead. So a name
 * goes while the file is open, which is quick, and a thread closes it.
 */
#include "janitor.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ----------------------------------------------------------------------------------- */

struct closing {
    uv_work_t work;
    int fd;
};

static void close_it(uv_work_t *w)
{
    close(((struct closing *)w->data)->fd);
}

static void is_closed(uv_work_t *w, int cancelled)
{
    (void)cancelled; /* nobody does */
    free(w->data);
}

void hark_agent_close(uv_loop_t *loop, int fd)
{
    struct closing *c = malloc(sizeof *c);
    if (c) {
        c->fd = fd;
        c->work.data = c;
        if (uv_queue_work(loop, &c->work, close_it, is_closed) == 0) return;
        free(c);
    }
    close(fd);
}

/* ---- trees ----------------------------------------------------------------------------------- */

struct hark_removing {
    uv_work_t work;
    struct agent *a; /* NULL: nobody waits for it any more */
    void (*done)(struct agent *a);
    char *path[HARK_REMOVED];
};

static void remove_trees(uv_work_t *w)
{
    struct hark_removing *r = w->data;
    for (int i = 0; i < HARK_REMOVED; i++)
        if (r->path[i]) hark_remove_tree(r->path[i]);
}

static void end(struct hark_removing *r)
{
    for (int i = 0; i < HARK_REMOVED; i++) free(r->path[i]);
    free(r);
}

static void are_removed(uv_work_t *w, int cancelled)
{
    struct hark_removing *r = w->data;
    (void)cancelled; /* nobody does */
    if (r->a) r->done(r->a);
    end(r);
}

struct hark_removing *hark_removing_begin(
    struct agent *a, const char *const path[HARK_REMOVED], void (*done)(struct agent *a))
{
    struct hark_removing *r = calloc(1, sizeof *r);
    if (r == NULL) return NULL;
    *r = (struct hark_removing){.a = a, .done = done};
    r->work.data = r;
    bool ok = true;
    for (int i = 0; i < HARK_REMOVED; i++) {
        r->path[i] = path[i] ? strdup(path[i]) : NULL;
        ok &= path[i] == NULL || r->path[i];
    }
    if (ok && uv_queue_work(&a->loop, &r->work, remove_trees, are_removed) == 0) return r;
    end(r);
    return NULL;
}

void hark_removing_leave(struct hark_removing *r)
{
    r->a = NULL;
}
