/* aside.c: a store that is used by a turn, while the loop goes on (turns.c). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct aside {
    struct hark_store head;
    struct supervisor *s;
    struct hark_store *store; /* where the images are */
};

static struct aside *of(struct hark_store *store)
{
    return (struct aside *)(void *)store;
}

static struct hark_store *begin(struct hark_store *store)
{
    hark_sup_away(of(store)->s);
    return of(store)->store;
}

static int end(struct hark_store *store, int status)
{
    memcpy(store->error, of(store)->store->error, sizeof store->error);
    hark_sup_back(of(store)->s);
    return status;
}

static int write_aside(struct hark_store *store, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    struct hark_store *to = begin(store);
    HARK_POINT("aside", HARK_TRACE_SUPERVISOR);
    return end(store, to->ops->write(to, rank, id, section, count));
}

static int read_aside(struct hark_store *store, uint32_t rank, uint64_t id,
    const struct hark_section **section, uint32_t *count, void **handle)
{
    struct hark_store *from = begin(store);
    return end(store, from->ops->read(from, rank, id, section, count, handle));
}

static void release_aside(struct hark_store *store, void *handle)
{
    of(store)->store->ops->release(of(store)->store, handle);
}

static int verify_aside(struct hark_store *store, uint32_t rank, uint64_t id)
{
    struct hark_store *from = begin(store);
    return end(store, from->ops->verify(from, rank, id));
}

static int drop_aside(struct hark_store *store, uint32_t rank, uint64_t id)
{
    struct hark_store *from = begin(store);
    return end(store, from->ops->drop(from, rank, id));
}

static int list_aside(struct hark_store *store, uint32_t rank, uint64_t *id, uint32_t room)
{
    struct hark_store *from = begin(store);
    return end(store, from->ops->list(from, rank, id, room));
}

static void close_aside(struct hark_store *store)
{
    of(store)->store->ops->close(of(store)->store);
    free(store);
}

static const struct hark_store_ops ops = {"aside", write_aside, read_aside, release_aside,
    verify_aside, drop_aside, list_aside, close_aside};

bool hark_sup_aside(struct supervisor *s, struct hark_store **store)
{
    struct aside *a = calloc(1, sizeof *a);
    if (a == NULL) return false;
    a->head.ops = &ops;
    a->s = s;
    a->store = *store;
    *store = &a->head;
    return true;
}
