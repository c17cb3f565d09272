/* shared.c: images that go from the host's own store to the one that all hosts share, and come from
 * there.
 *
 * That store may be slow, or hang. So a thread does it, one thing after the other, and the agent
 * goes on meanwhile. A file that is to be put there is opened at once: it can be read though its
 * image is dropped.
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/store.h"

enum what { FLUSH, GET, SWEEP };

struct task { /* the thread sees nothing else */
    struct task *next;
    _Atomic bool useless;       /* what it brings is not wanted any more */
    struct hark_shared *shared; /* NULL: nobody waits for it any more */
    uv_work_t work;
    enum what what;
    char *job, *from, *to; /* paths of stores */
    uint32_t ranks, rank, number, kept;
    uint64_t id, *keep;
    int fd, status;
    char error[256];
};

struct hark_shared {
    struct agent *a;
    struct task *task; /* the first is being done */
};

/* ---- by the thread --------------------------------------------------------------------------- */

static int fails(struct task *t, const char *path, int why)
{
    snprintf(t->error, sizeof t->error, "%.180s: %s", path, strerror(why));
    return why == ENOENT ? HARK_S_ENONE : HARK_S_ESYSTEM;
}

static int open_image(struct task *t)
{
    char *path;
    if (t->fd >= 0) return HARK_S_OK;
    if (asprintf(&path, "%s/r%u/%llu", t->from, t->rank, (unsigned long long)t->id) < 0)
        return fails(t, "an image", ENOMEM);
    t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int status = t->fd < 0 ? fails(t, path, errno) : HARK_S_OK;
    /* Not that image alone: its whole store is gone, so nothing is known of it. */
    if (status == HARK_S_ENONE && access(t->from, F_OK) < 0) {
        (void)fails(t, t->from, errno);
        status = HARK_S_ESYSTEM;
    }
    free(path);
    return status;
}

static int sweep(struct task *t, struct hark_store *store)
{
    uint64_t id[256];
    const int n = store->ops->list(store, t->rank, id, 256);
    int status = n < 0 ? n : HARK_S_OK;
    uint64_t last = 0;
    for (uint32_t k = 0; k < t->kept; k++)
        if (t->keep[k] > last) last = t->keep[k];
    for (int i = 0; i < n && i < 256; i++) {
        bool keeps = id[i] > last; /* another host's, just now */
        for (uint32_t k = 0; k < t->kept; k++) keeps |= t->keep[k] == id[i];
        if (t->useless) break;
        if (!keeps && store->ops->drop(store, t->rank, id[i]) < 0) status = HARK_S_ESYSTEM;
    }
    return status;
}

/* The store names where it was to go. */
static void say_damaged(struct task *t, const char *error)
{
    const char *why = strstr(error, ": ");
    snprintf(t->error, sizeof t->error, "image %.120s/r%u/%llu%.100s", t->from, t->rank,
        (unsigned long long)t->id, why ? why : " is damaged");
}

/* Asked by the store, just before the image gets its name. */
static bool is_useful(void *of)
{
    struct task *t = of;
    return !t->useless;
}

static void work(uv_work_t *w)
{
    struct task *t = w->data;
    struct hark_store *store = NULL;
    t->status = t->what == SWEEP ? HARK_S_OK : open_image(t);
    if (t->status == HARK_S_OK)
        t->status = hark_store_open_directory(&store, t->to, t->job, t->ranks, false, t->error);
    if (t->status != HARK_S_OK) return;
    if (t->what == SWEEP) t->status = sweep(t, store);
    else t->status = hark_store_import(store, t->rank, t->id, t->fd, is_useful, t);
    if (t->status == HARK_S_EDAMAGED) say_damaged(t, store->error);
    else if (t->status != HARK_S_OK) memcpy(t->error, store->error, sizeof t->error);
    store->ops->close(store);
}

/* ---- by the loop ----------------------------------------------------------------------------- */

static void free_task(struct task *t)
{
    if (t->fd >= 0) close(t->fd);
    free(t->job);
    free(t->from);
    free(t->to);
    free(t->keep);
    free(t);
}

static void tell_flushed(struct agent *a, const struct task *t)
{
    struct hark_control m;
    const bool none = t->status == HARK_S_ENONE || t->status == HARK_S_EDAMAGED;
    if (none) hark_depot_lacks(a, t->rank, t->id, t->status, t->error);
    hark_control_begin(&m, HARK_A_FLUSHED);
    hark_control_put32(&m, t->rank);
    hark_control_put64(&m, t->id);
    hark_control_put32(&m, t->number);
    hark_control_put32(&m, t->status == HARK_S_OK ? HARK_FLUSHED
                           : none                 ? HARK_FLUSHED_NONE
                                                  : HARK_FLUSHED_NOT);
    hark_control_puts(&m, t->error, strlen(t->error));
    hark_agent_say(a, &m);
}

static void tell_came(struct agent *a, const struct task *t)
{
    enum hark_agent_holds whole = HARK_HOLDS_WHOLE;
    if (t->status != HARK_S_OK) {
        hark_agent_say_line(a, HARK_A_SAY, "%s", t->error);
        whole = t->status == HARK_S_EDAMAGED || t->status == HARK_S_ENONE ? HARK_HOLDS_UNSHARED
                                                                          : HARK_HOLDS_NOT;
    }
    hark_depot_tell(a, t->rank, t->id, whole);
}

static void begin_next(struct hark_shared *s);

static void after(uv_work_t *w, int cancelled)
{
    struct task *t = w->data;
    struct hark_shared *s = t->shared;
    if (s && !cancelled) {
        s->task = t->next;
        if (t->what == FLUSH && !t->useless) tell_flushed(s->a, t);
        if (t->what == GET && !t->useless) tell_came(s->a, t);
        begin_next(s);
    }
    free_task(t);
}

static void begin_next(struct hark_shared *s)
{
    if (s->task) uv_queue_work(&s->a->loop, &s->task->work, work, after);
}

static struct task *add(struct agent *a, enum what what, uint32_t rank, uint64_t id)
{
    struct hark_shared *s = a->shared;
    struct task *t = s ? calloc(1, sizeof *t) : NULL, **at;
    if (t == NULL) return NULL;
    *t = (struct task){.shared = s,
        .what = what,
        .job = strdup(a->job.job),
        .from = strdup(what == GET ? a->job.store : a->store_path),
        .to = strdup(what == GET ? a->store_path : a->job.store),
        .ranks = a->job.ranks,
        .rank = rank,
        .id = id,
        .fd = -1};
    if (t->job == NULL || t->from == NULL || t->to == NULL) {
        free_task(t);
        return NULL;
    }
    t->work.data = t;
    for (at = &s->task; *at;) at = &(*at)->next;
    *at = t;
    return t;
}

static void begin(struct hark_shared *s, const struct task *t)
{
    if (s->task == t) begin_next(s);
}

void hark_shared_flush(struct agent *a, uint32_t rank, uint64_t id, uint32_t number)
{
    struct task *t = add(a, FLUSH, rank, id);
    if (t == NULL) {
        const struct task none = {.rank = rank,
            .id = id,
            .number = number,
            .status = HARK_S_ESYSTEM,
            .error = "no memory for a checkpoint on its way to the store that all share"};
        tell_flushed(a, &none);
        return;
    }
    t->number = number;
    (void)open_image(t); /* else the thread says why */
    begin(a->shared, t);
}

void hark_shared_get(struct agent *a, uint32_t rank, uint64_t id)
{
    struct task *t = add(a, GET, rank, id);
    if (t) begin(a->shared, t);
    else a->image_came(a, rank, id, false);
}

void hark_shared_undo(struct agent *a, uint32_t rank, uint64_t above)
{
    /* Nor is a sweep: one of these numbers may be given again. The next one sweeps. */
    for (struct task *t = a->shared ? a->shared->task : NULL; t; t = t->next)
        if (t->rank == rank && (t->what == SWEEP || t->id > above)) t->useless = true;
}

void hark_shared_sweep(struct agent *a, uint32_t rank, const uint64_t *keep, uint32_t kept)
{
    uint64_t *copy = calloc(kept + 1, sizeof *copy);
    struct task *t = copy ? add(a, SWEEP, rank, 0) : NULL;
    if (t == NULL) { /* the next one sweeps */
        free(copy);
        return;
    }
    memcpy(copy, keep, kept * sizeof *copy);
    t->keep = copy;
    t->kept = kept;
    begin(a->shared, t);
}

bool hark_shared_open(struct agent *a)
{
    a->shared = calloc(1, sizeof *a->shared);
    if (a->shared) a->shared->a = a;
    return a->shared != NULL;
}

/* The task that is being done goes on, but comes to nothing. */
void hark_shared_close(struct agent *a)
{
    struct hark_shared *s = a->shared;
    if (s == NULL) return;
    struct task *t = s->task;
    if (t) {
        t->shared = NULL;
        t->useless = true;
        t = t->next;
    }
    while (t) {
        struct task *next = t->next;
        free_task(t);
        t = next;
    }
    free(s);
    a->shared = NULL;
}
