/* coder_task.c: what may take long, by a thread: all that this host has of a generation is read and
 * checked, or brought to the disk. */
#include "coder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/store.h"

struct image {
    uint32_t rank;
    uint64_t id;
};

struct hark_coder_task { /* the thread sees nothing else */
    struct hark_coder_task *next;
    struct hark_coder *coder; /* NULL: nobody waits for it any more */
    uv_work_t work;
    bool finish, good, remove; /* remove: what it may have left */
    uint64_t number, run;
    char *store, *path, *name; /* of the host's store, the generation, and what that is named then
                                */
    char *job;
    uint32_t ranks, parities, images;
    uint8_t sum[HARK_CODE_MOST][HARK_CODED_SUM];
    struct image *image;
    uint8_t *table;
    size_t length;
    char why[300];
};

/* ---- by the thread --------------------------------------------------------------------------- */

static bool check_images(struct hark_coder_task *t)
{
    struct hark_store *store;
    char error[256];
    if (hark_store_open_directory(&store, t->path, t->job, t->ranks, false, error) != HARK_S_OK) {
        snprintf(t->why, sizeof t->why, "%s", error);
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < t->images; i++) {
        ok = store->ops->verify(store, t->image[i].rank, t->image[i].id) == HARK_S_OK;
        if (!ok) snprintf(t->why, sizeof t->why, "%s", store->error);
    }
    store->ops->close(store);
    return ok;
}

static bool sum_of(int fd, uint8_t *piece, uint8_t sum[HARK_CODED_SUM])
{
    crypto_generichash_state hash;
    ssize_t n;
    crypto_generichash_init(&hash, NULL, 0, HARK_CODED_SUM);
    while ((n = read(fd, piece, HARK_CODER_PIECE)) > 0)
        crypto_generichash_update(&hash, piece, (size_t)n);
    crypto_generichash_final(&hash, sum, HARK_CODED_SUM);
    return n == 0;
}

static bool check_parity(struct hark_coder_task *t, uint32_t i, int fd, uint8_t *piece)
{
    uint8_t sum[HARK_CODED_SUM];
    if (fd >= 0 && sum_of(fd, piece, sum) && memcmp(sum, t->sum[i], sizeof sum) == 0) return true;
    snprintf(t->why, sizeof t->why, "%.200s/parity%u: %s", t->path, i,
        fd < 0 ? strerror(errno) : "its checksum is wrong: it is damaged");
    return false;
}

/* Each parity is checked, or synced. */
static bool parities(struct hark_coder_task *t, int directory)
{
    uint8_t *piece = malloc(HARK_CODER_PIECE);
    bool ok = piece != NULL;
    for (uint32_t i = 0; ok && i < t->parities; i++) {
        char name[32];
        hark_generation_parity_name(name, i);
        const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        ok = t->finish ? fd >= 0 && fsync(fd) == 0 : check_parity(t, i, fd, piece);
        if (fd >= 0) close(fd);
    }
    free(piece);
    return ok;
}

static bool sync_links(const struct hark_coder_task *t, int directory)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < t->images; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%u", t->image[i].rank);
        const int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok = fd >= 0 && fsync(fd) == 0;
        if (fd >= 0) close(fd);
    }
    return ok;
}

/* A directory that bears the name of a generation is whole. */
static bool finish(struct hark_coder_task *t, int directory)
{
    char above[4096];
    if (!parities(t, directory) || !sync_links(t, directory) ||
        !hark_generation_write(directory, t->table, t->length) || rename(t->path, t->name) < 0)
        return false;
    snprintf(above, sizeof above, "%s/codes", t->store);
    const int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return ok;
}

static void work(uv_work_t *w)
{
    struct hark_coder_task *t = w->data;
    const int directory = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    errno = 0;
    if (directory >= 0 && t->finish) t->good = finish(t, directory);
    else if (directory >= 0) t->good = check_images(t) && parities(t, directory);
    if (!t->good && t->why[0] == 0)
        snprintf(t->why, sizeof t->why, "%.200s: %s", t->path, strerror(errno ? errno : EIO));
    if (directory >= 0) close(directory);
}

/* ---- by the loop ----------------------------------------------------------------------------- */

static void free_task(struct hark_coder_task *t)
{
    free(t->store);
    free(t->path);
    free(t->name);
    free(t->job);
    free(t->image);
    free(t->table);
    free(t);
}

static void remove_left(const struct hark_coder_task *t)
{
    hark_remove_tree(t->path);
    if (t->name) hark_remove_tree(t->name);
}

static void over(struct hark_coder *c, struct hark_coder_task *t)
{
    struct hark_generation *g = hark_generation_find(c, t->number, t->run);
    struct hark_coder_task **at = &c->task;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    if (g == NULL) {
        remove_left(t);
        return;
    }
    if (!t->good && !t->finish)
        hark_agent_say_line(
            c->a, HARK_A_SAY, "%s; it is not used, another part of the code is", t->why);
    else if (!t->good) hark_coder_say_trouble(c, t->why);
    if (t->finish) c->finished(c, g, t->good);
    else c->checked(c, g, t->good);
}

static void after(uv_work_t *w, int cancelled)
{
    struct hark_coder_task *t = w->data;
    (void)cancelled;
    if (t->coder) over(t->coder, t);
    else if (t->remove) remove_left(t), hark_remove_tree(t->store);
    free_task(t);
}

static bool copy_images(struct hark_coder_task *t, const struct hark_coded *g)
{
    t->image = calloc(g->items + 1, sizeof *t->image);
    for (uint32_t i = 0; t->image && i < g->items; i++)
        if (g->item[i].host == g->me)
            t->image[t->images++] = (struct image){g->item[i].rank, g->item[i].id};
    return t->image != NULL;
}

static bool begin(struct hark_coder *c, const struct hark_generation *g, bool finish)
{
    const struct agent *a = c->a;
    struct hark_coder_task *t = calloc(1, sizeof *t);
    if (t == NULL) return false;
    *t = (struct hark_coder_task){.coder = c,
        .finish = finish,
        .number = g->table.number,
        .run = g->table.run,
        .store = strdup(a->store_path),
        .path = hark_generation_path(a, &g->table, g->kept ? "" : ".new"),
        .name = finish ? hark_generation_path(a, &g->table, "") : NULL,
        .job = strdup(a->job.job),
        .ranks = a->job.ranks,
        .parities = g->table.code.parity};
    memcpy(t->sum, g->sum, sizeof t->sum);
    if (finish) t->table = hark_generation_table(g, &t->length);
    t->work.data = t;
    if (t->store == NULL || t->path == NULL || t->job == NULL || (finish && !t->name) ||
        (finish && !t->table) || !copy_images(t, &g->table) ||
        uv_queue_work(&c->a->loop, &t->work, work, after) != 0) {
        free_task(t);
        return false;
    }
    t->next = c->task;
    c->task = t;
    return true;
}

bool hark_coder_task_check(struct hark_coder *c, const struct hark_generation *g)
{
    return begin(c, g, false);
}

bool hark_coder_task_finish(struct hark_coder *c, const struct hark_generation *g)
{
    return begin(c, g, true);
}

void hark_coder_tasks_part(struct hark_coder *c, bool remove)
{
    for (struct hark_coder_task *t = c->task; t; t = t->next) {
        t->coder = NULL;
        t->remove = remove;
    }
    c->task = NULL;
}
