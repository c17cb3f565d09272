/* Communicators: what they are made of, and how they are made. */
#include <stdio.h>
#include <unistd.h>

#include "internal.h"

struct comm hark_mpi_world, hark_mpi_self;

/* ---- contexts ---------------------------------------------------------------------------------
 */

/* The first half of them all processes of a communicator agree on. Of the others each belongs to
 * one process of the job, which may name it without asking anyone: MPI_Comm_idup. */
enum { AGREED = CONTEXTS / 2, WORDS = AGREED / 64 };
static uint64_t used[CONTEXTS / 64]; /* a bit for each context of this process */
/* Of those, the ones of communicators that requests kept after MPI_Comm_free. When such a request
 * is done depends on timing, and which contexts are free must not: it is in messages. So these come
 * back only when there are no others. */
static uint64_t late[CONTEXTS / 64];

static void mark(uint16_t context, bool is_used)
{
    uint64_t bit = UINT64_C(1) << context % 64;
    if (is_used) used[context / 64] |= bit;
    else used[context / 64] &= ~bit;
}

void hark_mpi_context_free(uint16_t context)
{
    mark(context, false);
}

void hark_mpi_contexts_put(void (*put)(const void *from, size_t length))
{
    put(used, sizeof used);
    put(late, sizeof late);
}

void hark_mpi_contexts_get(void (*get)(void *to, size_t length))
{
    get(used, sizeof used);
    get(late, sizeof late);
}

static void free_late_ones(void)
{
    for (int i = 0; i < CONTEXTS / 64; i++) used[i] &= ~late[i], late[i] = 0;
}

static int lowest_free(const uint64_t word[WORDS])
{
    for (int i = 0; i < WORDS; i++)
        for (int bit = 0; ~word[i] && bit < 64; bit++)
            if (!(word[i] >> bit & 1)) return i * 64 + bit;
    return -1;
}

static bool is_free(int context)
{
    return !(used[context / 64] >> context % 64 & 1);
}

/* One of this process's own; negative: there is none. The first few take turns, for another process
 * may not have freed the communicator yet that had one; more would be of no use, for a protocol
 * keeps an account of each context that two processes ever use. */
static int own_context(void)
{
    enum { TURNS = 8 };
    static int last;
    int first = AGREED + hark_rank(), step = hark_size();
    for (int n = 0; n < TURNS; n++) {
        last = (last + 1) % TURNS;
        int context = first + last * step;
        if (context < CONTEXTS && is_free(context)) return mark((uint16_t)context, true), context;
    }
    for (int context = first; context < CONTEXTS; context += step)
        if (is_free(context)) return mark((uint16_t)context, true), context;
    return -1;
}

/* Who agrees, in this order, and how they talk. */
struct members {
    struct comm *c;
    const struct group *g;
    int me, of, tag;
};

static int send_to(const struct members *m, const void *data, size_t length, int to)
{
    return hark_app_send(
        data, length, hark_mpi_group_world_rank(m->g, to), hark_mpi_context(m->c, m->of), m->tag);
}

static int receive_from(const struct members *m, void *data, size_t room, int from)
{
    return hark_app_recv(data, room, hark_mpi_group_world_rank(m->g, from),
        hark_mpi_context(m->c, m->of), m->tag, NULL);
}

/* The contexts that any member uses, in all of them: up a binomial tree and down again. */
static int unite(const struct members *m, uint64_t word[WORDS])
{
    uint64_t part[WORDS];
    int n = m->g->size, bit = 1, status = HARK_A_OK;
    for (; bit < n && status >= 0; bit <<= 1) {
        if (m->me & bit) {
            status = send_to(m, word, sizeof part, m->me - bit);
            if (status >= 0) status = receive_from(m, word, sizeof part, m->me - bit);
            break;
        }
        if (m->me + bit >= n) continue;
        status = receive_from(m, part, sizeof part, m->me + bit);
        for (int i = 0; i < WORDS && status >= 0; i++) word[i] |= part[i];
    }
    for (bit >>= 1; bit > 0 && status >= 0; bit >>= 1)
        if (m->me + bit < n) status = send_to(m, word, sizeof part, m->me + bit);
    return status;
}

static int agree_once(const struct members *m)
{
    uint64_t word[WORDS];
    memcpy(word, used, sizeof(uint64_t[WORDS]));
    if (m->g->size > 1 && unite(m, word) < 0) return -1;
    return lowest_free(word);
}

/* All members see that there is none, and try again. */
static int agree(const struct members *m)
{
    int context = agree_once(m);
    if (context < 0) {
        free_late_ones();
        context = agree_once(m);
    }
    if (context >= 0) mark((uint16_t)context, true);
    return context;
}

int hark_mpi_context_agree(struct comm *c)
{
    int tag = hark_mpi_coll_tag(c);
    if (c->remote == NULL)
        return agree(&(struct members){c, c->group, c->rank, OF_COLLECTIVES, tag});
    /* Both groups in one order: that first whose first process has the lower rank in the job. */
    struct group *a = c->group, *b = c->remote;
    bool first = hark_mpi_group_world_rank(a, 0) < hark_mpi_group_world_rank(b, 0);
    if (!first) a = c->remote, b = c->group;
    int n = 0, *world = hark_mpi_memory((size_t)(a->size + b->size) * sizeof *world);
    for (int i = 0; i < a->size; i++) world[n++] = hark_mpi_group_world_rank(a, i);
    for (int i = 0; i < b->size; i++) world[n++] = hark_mpi_group_world_rank(b, i);
    struct group both = {.size = n, .world = world};
    int context = agree(
        &(struct members){c, &both, first ? c->rank : a->size + c->rank, OF_COLLECTIVES, tag});
    free(world);
    return context;
}

int hark_mpi_context_agree_group(struct comm *c, struct group *g, int tag)
{
    return agree(&(struct members){c, g, g->rank, OF_WINDOWS, tag});
}

/* ---- objects ----------------------------------------------------------------------------------
 */

struct comm *hark_mpi_comm_make(struct group *group, struct group *remote, uint16_t context)
{
    struct comm *c = hark_mpi_new(KIND_COMM, sizeof *c);
    c->group = group;
    c->remote = remote;
    c->rank = group->rank;
    c->size = group->size;
    c->context = context;
    c->errhandler = hark_mpi_world.errhandler;
    c->errhandler->o.references++;
    return c;
}

void hark_mpi_comm_release(struct comm *c)
{
    if (--c->o.references || c->o.predefined) return;
    if (c->outlives) late[c->context / 64] |= UINT64_C(1) << c->context % 64;
    else if (c->context) hark_mpi_context_free(c->context);
    hark_mpi_group_release(c->group);
    if (c->remote) hark_mpi_group_release(c->remote);
    if (c->local) hark_mpi_comm_release(c->local);
    hark_mpi_errhandler_release(c->errhandler);
    if (c->topology) hark_mpi_topology_release(c->topology);
    if (c->info) hark_mpi_info_release(c->info);
    hark_mpi_delete(&c->o);
}

static struct group *again(struct group *g)
{
    g->o.references++;
    return g;
}

#define NEED_POINTER(c, p) NEED(c, p, MPI_ERR_ARG, #p " is NULL")
#define NO_CONTEXT(c)                                                                              \
    hark_mpi_error(c, MPI_ERR_OTHER, __func__,                                                     \
        "there is no context for one more communicator: %d are in use; free some", CONTEXTS)

PUBLIC(Comm_size)
int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, size);
    *size = c->size;
    return MPI_SUCCESS;
}

PUBLIC(Comm_rank)
int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, rank);
    *rank = c->rank;
    return MPI_SUCCESS;
}

PUBLIC(Comm_group)
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, group);
    *group = HANDLE(MPI_Group, again(c->group));
    return MPI_SUCCESS;
}

PUBLIC(Comm_remote_group)
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, group);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    *group = HANDLE(MPI_Group, again(c->remote));
    return MPI_SUCCESS;
}

PUBLIC(Comm_remote_size)
int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, size);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    *size = c->remote->size;
    return MPI_SUCCESS;
}

PUBLIC(Comm_test_inter)
int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, flag);
    *flag = c->remote != NULL;
    return MPI_SUCCESS;
}

static int compare_groups(struct group *a, struct group *b)
{
    int result;
    PMPI_Group_compare(HANDLE(MPI_Group, a), HANDLE(MPI_Group, b), &result);
    return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

PUBLIC(Comm_compare)
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    NEED_COMM(a, comm1);
    NEED_COMM(b, comm2);
    NEED_POINTER(a, result);
    *result = MPI_UNEQUAL;
    if (a == b) *result = MPI_IDENT;
    if (a == b || !a->remote != !b->remote) return MPI_SUCCESS;
    int local = compare_groups(a->group, b->group);
    int remote = a->remote ? compare_groups(a->remote, b->remote) : MPI_CONGRUENT;
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) return MPI_SUCCESS;
    *result = local == MPI_SIMILAR || remote == MPI_SIMILAR ? MPI_SIMILAR : MPI_CONGRUENT;
    return MPI_SUCCESS;
}

PUBLIC(Comm_free)
int PMPI_Comm_free(MPI_Comm *comm)
{
    NEED_POINTER(NULL, comm);
    NEED_COMM(c, *comm);
    NEED(c, !c->o.predefined, MPI_ERR_COMM, "a predefined communicator can not be freed");
    int code = hark_mpi_attributes_delete(&c->o, &c->attributes);
    NEED(c, code == MPI_SUCCESS, code,
        "the delete function of an attribute has failed with code %d", code);
    c->outlives = c->o.references > 1;
    hark_mpi_comm_release(c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Comm_disconnect)
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    NEED_POINTER(NULL, comm);
    NEED_COMM(c, *comm);
    int code = PMPI_Barrier(*comm);
    return code ? code : PMPI_Comm_free(comm);
}

PUBLIC(Comm_set_name)
int PMPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, name);
    snprintf(c->name, sizeof c->name, "%s", name);
    return MPI_SUCCESS;
}

PUBLIC(Comm_get_name)
int PMPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    if (comm == MPI_COMM_NULL && name && length) { /* has a name since MPI 4.1 */
        *length = (int)strlen(strcpy(name, "MPI_COMM_NULL"));
        return MPI_SUCCESS;
    }
#endif
    NEED_COMM(c, comm);
    NEED_POINTER(c, name && length);
    *length = (int)strlen(c->name);
    memcpy(name, c->name, (size_t)*length + 1);
    return MPI_SUCCESS;
}

/* ---- new ones of old ones ---------------------------------------------------------------------
 */

/* What a duplicate takes over: the attributes that their functions copy, and the error handler. */
static int take_over(struct comm *from, struct comm *to, const char *call)
{
    int error = MPI_SUCCESS;
    hark_mpi_errhandler_replace(&to->errhandler, from->errhandler);
    if (hark_mpi_attributes_copy(&from->o, from->attributes, &to->attributes, &error) == 0)
        return MPI_SUCCESS;
    return hark_mpi_error(
        from, error, call, "the copy function of an attribute has failed with code %d", error);
}

static int duplicate(struct comm *c, MPI_Comm *newcomm, const char *call)
{
    int context = hark_mpi_context_agree(c);
    if (context < 0)
        return hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
    struct comm *d =
        hark_mpi_comm_make(again(c->group), c->remote ? again(c->remote) : NULL, (uint16_t)context);
    if (c->topology) d->topology = hark_mpi_topology_again(c->topology);
    MPI_Comm local = MPI_COMM_NULL;
    if (c->local && PMPI_Comm_dup(HANDLE(MPI_Comm, c->local), &local) == MPI_SUCCESS)
        d->local = COMM(local);
    int code = take_over(c, d, call);
    if (code) {
        (void)hark_mpi_attributes_delete(&d->o, &d->attributes);
        hark_mpi_comm_release(d);
        *newcomm = MPI_COMM_NULL;
        return code;
    }
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

PUBLIC(Comm_dup)
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int code = duplicate(c, newcomm, __func__);
#if MPI_VERSION < 4
    if (code == MPI_SUCCESS && c->info) COMM(*newcomm)->info = hark_mpi_info_copy(c->info);
#endif
    return code;
}

PUBLIC(Comm_dup_with_info)
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int code = duplicate(c, newcomm, __func__);
    struct info *given = INFO(info);
    if (code == MPI_SUCCESS && given) hark_mpi_comm_hints(COMM(*newcomm), given);
    return code;
}

/* ---- duplicates that are complete later -------------------------------------------------------
 *
 * The first process of the communicator names the contexts, and sends them when it starts: no
 * process sends anything later, so none depends on what others wait for. */

struct contexts {
    uint16_t own, local; /* local: of an intercommunicator; own 0: there are none */
};

static void take_contexts(struct comm *d, struct contexts named)
{
    d->context = named.own;
    mark(named.own, true);
    if (d->local == NULL) return;
    d->local->context = named.local;
    mark(named.local, true);
}

static void land_contexts(struct hark_request *at, const void *payload, size_t length)
{
    struct request *r = (struct request *)((char *)at - offsetof(struct request, receive));
    struct contexts named;
    if (length != sizeof named) hark_mpi_fatal(1, "MPI_Comm_idup: a message of %zu bytes", length);
    memcpy(&named, payload, sizeof named);
    if (named.own) take_contexts(r->buffer, named);
    else r->status.MPI_ERROR = MPI_ERR_OTHER;
}

static int send_contexts(struct comm *c, struct group *to, struct contexts named, int tag)
{
    int status = HARK_A_OK;
    for (int i = 0; i < to->size && status >= 0; i++) {
        int rank = hark_mpi_group_world_rank(to, i);
        if (rank == hark_rank()) continue;
        status =
            hark_app_send(&named, sizeof named, rank, hark_mpi_context(c, OF_COLLECTIVES), tag);
    }
    return status;
}

static int name_contexts(struct comm *c, struct comm *d, int tag, MPI_Request *request)
{
    int own = own_context(), local = c->remote ? own_context() : 0;
    struct contexts named = {(uint16_t)own, (uint16_t)local};
    bool none = own < 0 || local < 0;
    if (none) named = (struct contexts){0};
    int status = send_contexts(c, c->group, named, tag);
    if (c->remote && status >= 0) status = send_contexts(c, c->remote, named, tag);
    *request = HANDLE(MPI_Request, &hark_mpi_request_done);
    if (none) return NO_CONTEXT(c);
    take_contexts(d, named);
    return hark_mpi_status(c, status, "MPI_Comm_idup");
}

static void await_contexts(struct comm *c, struct comm *d, int from, int tag, MPI_Request *request)
{
    struct request *r = hark_mpi_request_new(c);
    r->what = REQUEST_SEND; /* its receive is for the library: no part of its status */
    r->active = true;
    r->buffer = d;
    r->receive = (struct hark_request){.from = from,
        .tag = tag,
        .ctx = hark_mpi_context(c, OF_COLLECTIVES),
        .room = sizeof(struct contexts),
        .land = land_contexts};
    r->receive.mask = hark_app_mask(tag, r->receive.ctx);
    hark_app_post(&r->receive);
    *request = HANDLE(MPI_Request, r);
}

static int duplicate_later(
    struct comm *c, MPI_Comm *newcomm, MPI_Request *request, const char *call)
{
    int tag = hark_mpi_coll_tag(c), first = hark_mpi_group_world_rank(c->group, 0);
    struct comm *d = hark_mpi_comm_make(again(c->group), c->remote ? again(c->remote) : NULL, 0);
    if (c->topology) d->topology = hark_mpi_topology_again(c->topology);
    if (c->local) d->local = hark_mpi_comm_make(again(c->group), NULL, 0);
    if (c->remote && hark_mpi_group_world_rank(c->remote, 0) < first)
        first = hark_mpi_group_world_rank(c->remote, 0);
    *newcomm = HANDLE(MPI_Comm, d);
    int code = MPI_SUCCESS;
    if (first == hark_rank()) code = name_contexts(c, d, tag, request);
    else await_contexts(c, d, first, tag, request);
    return code ? code : take_over(c, d, call);
}

PUBLIC(Comm_idup)
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    NEED_COMM(c, comm);
    NEED(c, newcomm && request, MPI_ERR_ARG, "newcomm or request is NULL");
    return duplicate_later(c, newcomm, request, __func__);
}

PUBLIC(Comm_idup_with_info)
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    NEED_COMM(c, comm);
    NEED(c, newcomm && request, MPI_ERR_ARG, "newcomm or request is NULL");
    const struct info *given = INFO(info);
    int code = duplicate_later(c, newcomm, request, __func__);
    if (code == MPI_SUCCESS && given) hark_mpi_comm_hints(COMM(*newcomm), given);
    return code;
}

/* ---- parts ------------------------------------------------------------------------------------
 */

struct comm *hark_mpi_comm_of_first(struct comm *c, int size, const char *call, int *code)
{
    int context = hark_mpi_context_agree(c);
    *code = MPI_SUCCESS;
    if (context < 0) {
        *code = hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
        return NULL;
    }
    if (c->rank >= size) {
        hark_mpi_context_free((uint16_t)context);
        return NULL;
    }
    int *world = hark_mpi_memory((size_t)size * sizeof *world);
    for (int i = 0; i < size; i++) world[i] = hark_mpi_group_world_rank(c->group, i);
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_make(size, world), NULL, (uint16_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    return d;
}

/* The part of group g that is in this process's place: those that gave its color, by key and
 * rank. */
struct place {
    int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct group *part_of(const struct group *g, const struct place *all, int color)
{
    int n = 0, *world = hark_mpi_memory((size_t)g->size * sizeof *world);
    struct place *mine = hark_mpi_memory((size_t)g->size * sizeof *mine);
    for (int i = 0; i < g->size; i++)
        if (all[i].color == color) mine[n] = all[i], mine[n++].rank = i;
    qsort(mine, (size_t)n, sizeof *mine, by_key);
    for (int i = 0; i < n; i++) world[i] = hark_mpi_group_world_rank(g, mine[i].rank);
    free(mine);
    return hark_mpi_group_make(n, world);
}

/* All of this process's group, and of an intercommunicator the others. */
static int all_places(struct comm *c, struct place mine, struct place *local, struct place *remote)
{
    MPI_Comm comm = HANDLE(MPI_Comm, c->remote ? c->local : c);
    int code = PMPI_Allgather(&mine, 3, MPI_INT, local, 3, MPI_INT, comm);
    if (code == MPI_SUCCESS && c->remote)
        code = PMPI_Allgather(&mine, 3, MPI_INT, remote, 3, MPI_INT, HANDLE(MPI_Comm, c));
    return code;
}

/* Contexts of all parts at once: they are disjoint, and so one number serves all. */
static int split(struct comm *c, int color, int key, MPI_Comm *newcomm, const char *call)
{
    struct place mine = {color, key, c->rank};
    int others = c->remote ? c->remote->size : 0, code;
    struct place *local = hark_mpi_memory((size_t)(c->size + others) * sizeof *local);
    struct place *remote = local + c->size;
    *newcomm = MPI_COMM_NULL;
    code = all_places(c, mine, local, remote);
    int context = code ? -1 : hark_mpi_context_agree(c);
    MPI_Comm own = MPI_COMM_NULL;
    if (code == MPI_SUCCESS && c->remote)
        code = PMPI_Comm_split(HANDLE(MPI_Comm, c->local), color, key, &own);
    if (code == MPI_SUCCESS && context < 0)
        code = hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
    if (code == MPI_SUCCESS && color == MPI_UNDEFINED) hark_mpi_context_free((uint16_t)context);
    if (code == MPI_SUCCESS && color != MPI_UNDEFINED) {
        struct group *g = part_of(c->group, local, color);
        struct group *r = c->remote ? part_of(c->remote, remote, color) : NULL;
        if (r && r->size == 0) {
            hark_mpi_group_release(g);
            hark_mpi_group_release(r);
            hark_mpi_context_free((uint16_t)context);
            PMPI_Comm_free(&own);
        } else {
            struct comm *d = hark_mpi_comm_make(g, r, (uint16_t)context);
            if (r) d->local = COMM(own);
            hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
            *newcomm = HANDLE(MPI_Comm, d);
        }
    }
    free(local);
    return code;
}

PUBLIC(Comm_split)
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    NEED(c, color >= 0 || color == MPI_UNDEFINED, MPI_ERR_ARG,
        "the color is %d, and must be MPI_UNDEFINED or at least 0", color);
    return split(c, color, key, newcomm, __func__);
}

#if defined(HARK_MPI_MPICH)
/* Those that reach the directory. */
static int color_of_directory(const struct info *hints)
{
    const char *name = hints ? hark_mpi_info_value(hints, "nbhd_common_dirname") : NULL;
    return name && access(name, F_OK) == 0 ? 0 : MPI_UNDEFINED;
}
#endif

#if defined(MPI_COMM_TYPE_RESOURCE_GUIDED)
/* The processes of a set that sessions know. */
static int color_of_set(const struct info *hints)
{
    const char *name = hints ? hark_mpi_info_value(hints, "mpi_pset_name") : NULL;
    if (name && strcmp(name, "mpi://WORLD") == 0) return 0;
    if (name && strcmp(name, "mpi://SELF") == 0) return hark_mpi_world.rank;
    return MPI_UNDEFINED;
}
#endif

/* All processes of a job are on one machine, and none is bound to a part of it: there is nothing
 * smaller that only some of them share. Negative: there is no such kind. */
static int color_of_kind(int kind, const struct info *hints)
{
    (void)hints;
#if MPI_VERSION >= 4
    const char *resource = hints ? hark_mpi_info_value(hints, "mpi_hw_resource_type") : NULL;
    if (kind == MPI_COMM_TYPE_HW_UNGUIDED) return MPI_UNDEFINED;
    if (kind == MPI_COMM_TYPE_HW_GUIDED)
        return resource && strcmp(resource, "mpi_shared_memory") == 0 ? 0 : MPI_UNDEFINED;
#endif
#if defined(MPI_COMM_TYPE_RESOURCE_GUIDED)
    if (kind == MPI_COMM_TYPE_RESOURCE_GUIDED)
        return resource ? color_of_kind(MPI_COMM_TYPE_HW_GUIDED, hints) : color_of_set(hints);
#endif
#if defined(HARK_MPI_MPICH)
    if (kind == MPIX_COMM_TYPE_NEIGHBORHOOD) return color_of_directory(hints);
#elif defined(HARK_MPI_OPENMPI)
    if (kind >= OMPI_COMM_TYPE_HWTHREAD && kind <= OMPI_COMM_TYPE_CLUSTER) return 0;
#endif
    return kind == MPI_COMM_TYPE_SHARED ? 0 : kind == MPI_UNDEFINED ? MPI_UNDEFINED : INT_MIN;
}

PUBLIC(Comm_split_type)
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int color = color_of_kind(split_type, INFO(info));
    NEED(c, color != INT_MIN, MPI_ERR_ARG, "there is no split_type %d", split_type);
    return split(c, color, key, newcomm, __func__);
}

/* Of a communicator's processes those in `group`; each names a group that it is in, or the same as
 * all. As a split: the color is the lowest rank of the group, the key the place in it. */
PUBLIC(Comm_create)
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    struct group *g = GROUP(group);
    NEED(c, g, MPI_ERR_GROUP, "the group is not valid");
    int color = MPI_UNDEFINED;
    for (int i = 0; i < g->size; i++) {
        int rank = hark_mpi_group_local_rank(c->group, hark_mpi_group_world_rank(g, i));
        NEED(c, rank != MPI_UNDEFINED, MPI_ERR_GROUP,
            "the group has a process that is not in the communicator");
        if (g->rank != MPI_UNDEFINED && (color == MPI_UNDEFINED || rank < color)) color = rank;
    }
    /* Between two groups there is one new communicator: what they choose meets in one color. */
    if (c->remote && color != MPI_UNDEFINED) color = 0;
    return split(c, color, g->rank == MPI_UNDEFINED ? 0 : g->rank, newcomm, __func__);
}

PUBLIC(Comm_create_group)
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    struct group *g = GROUP(group);
    NEED(c, g, MPI_ERR_GROUP, "the group is not valid");
    NEED_TAG(c, tag);
    *newcomm = MPI_COMM_NULL;
    if (g->rank == MPI_UNDEFINED) return MPI_SUCCESS;
    int context = hark_mpi_context_agree_group(c, g, tag);
    if (context < 0) return NO_CONTEXT(c);
    struct comm *d = hark_mpi_comm_make(again(g), NULL, (uint16_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

/* ---- intercommunicators -----------------------------------------------------------------------
 */

/* A context that is free in both groups, which know each other by their leaders alone. */
static int agree_between(struct comm *local, int leader, MPI_Comm peer, int other, int tag)
{
    uint64_t word[WORDS], theirs[WORDS] = {0};
    memcpy(word, used, sizeof(uint64_t[WORDS]));
    struct members m = {local, local->group, local->rank, OF_COLLECTIVES, hark_mpi_coll_tag(local)};
    if (unite(&m, word) < 0) return -1;
    if (local->rank == leader)
        PMPI_Sendrecv(word, sizeof word, MPI_BYTE, other, tag, theirs, sizeof theirs, MPI_BYTE,
            other, tag, peer, MPI_STATUS_IGNORE);
    if (PMPI_Bcast(theirs, sizeof theirs, MPI_BYTE, leader, HANDLE(MPI_Comm, local))) return -1;
    for (int i = 0; i < WORDS; i++) word[i] |= theirs[i];
    int context = lowest_free(word);
    if (context >= 0) mark((uint16_t)context, true);
    return context;
}

/* Leaders exchange their groups; both groups learn of the other's, and all agree on a context. */
PUBLIC(Intercomm_create)
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
    int remote_leader, int tag, MPI_Comm *newcomm)
{
    NEED_COMM(c, local_comm);
    NEED_POINTER(c, newcomm);
    NEED(c, !c->remote, MPI_ERR_COMM, "the local communicator is an intercommunicator");
    NEED(c, local_leader >= 0 && local_leader < c->size, MPI_ERR_RANK,
        "the local leader is %d, and the communicator has ranks 0 .. %d", local_leader,
        c->size - 1);
    int size[2] = {c->size, 0};
    int code;
    struct comm *own = hark_mpi_comm_of_first(c, c->size, __func__, &code);
    if (own == NULL) return code;
    MPI_Comm local = HANDLE(MPI_Comm, own);
    int *mine = hark_mpi_memory((size_t)c->size * sizeof *mine);
    for (int i = 0; i < c->size; i++) mine[i] = hark_mpi_group_world_rank(c->group, i);
    if (c->rank == local_leader)
        code = PMPI_Sendrecv(&size[0], 1, MPI_INT, remote_leader, tag, &size[1], 1, MPI_INT,
            remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = PMPI_Bcast(&size[1], 1, MPI_INT, local_leader, local);
    int *others = hark_mpi_memory((size_t)size[1] * sizeof *others);
    if (code == MPI_SUCCESS && c->rank == local_leader)
        code = PMPI_Sendrecv(mine, size[0], MPI_INT, remote_leader, tag, others, size[1], MPI_INT,
            remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = PMPI_Bcast(others, size[1], MPI_INT, local_leader, local);
    free(mine);
    if (code) {
        free(others);
        return code;
    }
    struct group *remote = hark_mpi_group_make(size[1], others);
    int context = agree_between(own, local_leader, peer_comm, remote_leader, tag);
    if (context < 0) {
        hark_mpi_group_release(remote);
        return NO_CONTEXT(c);
    }
    struct comm *d = hark_mpi_comm_make(again(c->group), remote, (uint16_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    d->local = own;
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

/* Which group comes first: that whose processes say low; if both say the same, that with the lower
 * first rank in the job. */
static int own_group_first(struct comm *c, int high, bool *first)
{
    int theirs = high, tag = hark_mpi_coll_tag(c);
    if (c->rank == 0) {
        int status =
            hark_mpi_coll_exchange(c, &high, sizeof high, 0, &theirs, sizeof theirs, 0, tag);
        if (status < 0) return hark_mpi_status(c, status, "MPI_Intercomm_merge");
    }
    int code = PMPI_Bcast(&theirs, 1, MPI_INT, 0, HANDLE(MPI_Comm, c->local));
    *first = !high == !theirs
                 ? hark_mpi_group_world_rank(c->group, 0) < hark_mpi_group_world_rank(c->remote, 0)
                 : !high;
    return code;
}

PUBLIC(Intercomm_merge)
int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newcomm)
{
    NEED_COMM(c, intercomm);
    NEED_POINTER(c, newcomm);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    bool first = false;
    int code = own_group_first(c, high, &first);
    if (code) return code;
    int context = hark_mpi_context_agree(c);
    if (context < 0) return NO_CONTEXT(c);
    struct group *a = first ? c->group : c->remote, *b = first ? c->remote : c->group;
    int n = 0, *world = hark_mpi_memory((size_t)(a->size + b->size) * sizeof *world);
    for (int i = 0; i < a->size; i++) world[n++] = hark_mpi_group_world_rank(a, i);
    for (int i = 0; i < b->size; i++) world[n++] = hark_mpi_group_world_rank(b, i);
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_make(n, world), NULL, (uint16_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

/* ---- the predefined ones ----------------------------------------------------------------------
 */

static void predefine(
    struct comm *c, struct group *g, MPI_Comm handle, uint16_t context, const char *name)
{
    hark_mpi_predefine(&c->o, KIND_COMM, BITS(handle));
    c->group = g;
    c->rank = g->rank;
    c->size = g->size;
    c->context = context;
    c->errhandler = ERRHANDLER(MPI_ERRORS_ARE_FATAL);
    snprintf(c->name, sizeof c->name, "%s", name);
    mark(context, true);
}

void hark_mpi_predefine_comms(void)
{
    static int self;
    self = hark_rank();
    hark_mpi_group_world = (struct group){.size = hark_size(), .rank = self};
    hark_mpi_group_self = (struct group){.size = 1, .world = &self};
    hark_mpi_group_empty = (struct group){.rank = MPI_UNDEFINED};
    hark_mpi_own(&hark_mpi_group_world.o, KIND_GROUP, sizeof(struct group));
    hark_mpi_own(&hark_mpi_group_self.o, KIND_GROUP, sizeof(struct group));
    hark_mpi_predefine(&hark_mpi_group_empty.o, KIND_GROUP, BITS(MPI_GROUP_EMPTY));
    mark(CONTEXT_APP, true);
    predefine(
        &hark_mpi_world, &hark_mpi_group_world, MPI_COMM_WORLD, CONTEXT_WORLD, "MPI_COMM_WORLD");
    predefine(&hark_mpi_self, &hark_mpi_group_self, MPI_COMM_SELF, CONTEXT_SELF, "MPI_COMM_SELF");
}
