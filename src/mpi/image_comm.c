/* Groups and communicators in checkpoints. They are there in full, but for attributes: those are
 * the program's (attribute_image.c). */
#include "image.h"

static void *made(enum kind kind, int64_t number)
{
    return hark_mpi_made(&hark_mpi_slots[kind], (uint32_t)number, kind);
}

/* Objects that are always there have a number below those that are made. */
enum { GROUP_WORLD = 1, GROUP_SELF, GROUP_EMPTY, COMM_WORLD = 1, COMM_SELF };

static int64_t number_of_group(const struct group *g)
{
    if (g == NULL) return 0;
    if (g == &hark_mpi_group_world) return GROUP_WORLD;
    if (g == &hark_mpi_group_self) return GROUP_SELF;
    return g == &hark_mpi_group_empty ? GROUP_EMPTY : g->o.number;
}

static struct group *numbered_group(int64_t number)
{
    switch (number) {
    case 0: return NULL;
    case GROUP_WORLD: return &hark_mpi_group_world;
    case GROUP_SELF: return &hark_mpi_group_self;
    case GROUP_EMPTY: return &hark_mpi_group_empty;
    default: return made(KIND_GROUP, number);
    }
}

int64_t hark_mpi_comm_number(const struct comm *c)
{
    if (c == NULL) return 0;
    return c == &hark_mpi_world ? COMM_WORLD : c == &hark_mpi_self ? COMM_SELF : c->o.number;
}

struct comm *hark_mpi_numbered_comm(int64_t number)
{
    if (number == COMM_WORLD) return &hark_mpi_world;
    if (number == COMM_SELF) return &hark_mpi_self;
    return number ? made(KIND_COMM, number) : NULL;
}

/* ---- groups -----------------------------------------------------------------------------------
 */

static void put_group(const struct group *g)
{
    put_int(g->size);
    hark_mpi_put(g->world, (size_t)g->size * sizeof *g->world);
}

static void empty_group(struct group *g)
{
    free((void *)(uintptr_t)g->world);
    free(g->local);
    g->world = g->local = NULL;
}

void hark_mpi_group_forget(struct object *o)
{
    empty_group((struct group *)o);
    hark_mpi_delete(o);
}

static void get_group(struct group *g)
{
    empty_group(g);
    g->size = (int)get_int();
    int *world = hark_mpi_memory((size_t)g->size * sizeof *world);
    hark_mpi_get(world, (size_t)g->size * sizeof *world);
    g->world = world;
    g->rank = MPI_UNDEFINED;
    for (int i = 0; i < g->size; i++)
        if (world[i] == hark_rank()) g->rank = i;
}

/* ---- communicators ----------------------------------------------------------------------------
 */

static void put_comm(const struct comm *c)
{
    const int64_t of[] = {c->context, c->calls, c->channels, c->outlives, number_of_group(c->group),
        number_of_group(c->remote), hark_mpi_comm_number(c->local)};
    hark_mpi_put(of, sizeof of);
    hark_mpi_put(c->name, sizeof c->name);
    hark_mpi_buffer_put(&c->buffer, hark_mpi_put);
    hark_mpi_errhandler_put(c->errhandler, hark_mpi_put);
    hark_mpi_info_put(c->info, hark_mpi_put);
    hark_mpi_topology_put(c->topology, hark_mpi_put);
    hark_mpi_attributes_put(c->attributes, hark_mpi_put);
}

/* One that was there keeps its topology, which never changes: calls that were begun point into it.
 */
static void get_topology(struct comm *c)
{
    struct topology *t = hark_mpi_topology_get(hark_mpi_get);
    if (c->o.is_new) c->topology = t;
    else if (t) hark_mpi_topology_release(t);
}

static void get_comm(struct comm *c)
{
    int64_t of[7];
    hark_mpi_get(of, sizeof of);
    c->context = (uint32_t)of[0];
    c->calls = (uint32_t)of[1];
    c->channels = (uint32_t)of[2];
    c->outlives = of[3];
    c->group = numbered_group(of[4]);
    c->remote = numbered_group(of[5]);
    c->local = hark_mpi_numbered_comm(of[6]);
    hark_mpi_get(c->name, sizeof c->name);
    hark_mpi_buffer_get(&c->buffer, hark_mpi_get);
    c->errhandler = hark_mpi_errhandler_get(hark_mpi_get);
    c->info = hark_mpi_info_get(hark_mpi_get);
    get_topology(c);
    hark_mpi_attributes_get(&c->attributes, hark_mpi_get);
    if (c->group == NULL) hark_mpi_fatal(1, "the checkpoint names a group that it does not have");
    c->rank = c->group->rank;
    c->size = c->group->size;
}

/* One that was freed after hark_restarted. */
void hark_mpi_comm_forget(struct object *o)
{
    struct comm *c = (struct comm *)o;
    if (c->topology) hark_mpi_topology_release(c->topology);
    hark_mpi_attributes_forget(&c->attributes);
    hark_mpi_delete(o);
}

/* ---- all of them ------------------------------------------------------------------------------
 */

void hark_mpi_comms_put(void)
{
    for (EACH_SLOT(KIND_GROUP, o)) put_group((struct group *)o);
    hark_mpi_buffer_put(&hark_mpi_buffer, hark_mpi_put);
    put_comm(&hark_mpi_world);
    put_comm(&hark_mpi_self);
    for (EACH_SLOT(KIND_COMM, o)) put_comm((struct comm *)o);
}

void hark_mpi_comms_get(void)
{
    for (EACH_SLOT(KIND_GROUP, o)) get_group((struct group *)o);
    hark_mpi_buffer_get(&hark_mpi_buffer, hark_mpi_get);
    get_comm(&hark_mpi_world);
    get_comm(&hark_mpi_self);
    for (EACH_SLOT(KIND_COMM, o)) get_comm((struct comm *)o);
}
