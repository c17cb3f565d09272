/* Contexts: the numbers that tell the messages of one communicator from those of another, and how
 * the processes of a communicator agree on a free one. */
#include "comm.h"

/* On those below CONTEXTS all processes of a communicator agree. Of the others each belongs to one
 * process of the job, which may name it without asking anyone: MPI_Comm_idup. It names each once,
 * for nothing tells it when the last process has freed the communicator that had it, which would
 * take messages of the next one until then. */
enum { WORDS = CONTEXTS / 64 };
static uint64_t used[WORDS]; /* a bit for each context of this process below CONTEXTS */
/* Of those, the ones of communicators that requests kept after MPI_Comm_free. When such a request
 * is done depends on timing, and which contexts are free must not: it is in messages. So these come
 * back only when there are no others. */
static uint64_t late[WORDS];
static uint32_t named; /* how many of its own this process has named: hark_mpi_context_own() */

void hark_mpi_context_mark(uint32_t context, bool is_used)
{
    if (context >= CONTEXTS) return;
    uint64_t bit = UINT64_C(1) << context % 64;
    if (is_used) used[context / 64] |= bit;
    else used[context / 64] &= ~bit;
}

void hark_mpi_context_free(uint32_t context)
{
    hark_mpi_context_mark(context, false);
}

void hark_mpi_context_free_late(uint32_t context)
{
    if (context < CONTEXTS) late[context / 64] |= UINT64_C(1) << context % 64;
}

void hark_mpi_contexts_put(void (*put)(const void *from, size_t length))
{
    put(used, sizeof used);
    put(late, sizeof late);
    put(&named, sizeof named);
}

void hark_mpi_contexts_get(void (*get)(void *to, size_t length))
{
    get(used, sizeof used);
    get(late, sizeof late);
    get(&named, sizeof named);
}

static void free_late_ones(void)
{
    for (int i = 0; i < WORDS; i++) used[i] &= ~late[i], late[i] = 0;
}

static int lowest_free(const uint64_t word[WORDS])
{
    for (int i = 0; i < WORDS; i++)
        for (int bit = 0; ~word[i] && bit < 64; bit++)
            if (!(word[i] >> bit & 1)) return i * 64 + bit;
    return -1;
}

int hark_mpi_context_own(void)
{
    const int64_t context = CONTEXTS + hark_rank() + (int64_t)named * hark_size();
    if (context >= CONTEXT_LIMIT) return -1;
    named++;
    return (int)context;
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
    memcpy(word, used, sizeof used);
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
    if (context >= 0) hark_mpi_context_mark((uint32_t)context, true);
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

int hark_mpi_context_agree_between(
    struct comm *local, int leader, MPI_Comm peer, int other, int tag)
{
    uint64_t word[WORDS], theirs[WORDS] = {0};
    memcpy(word, used, sizeof used);
    struct members m = {local, local->group, local->rank, OF_COLLECTIVES, hark_mpi_coll_tag(local)};
    if (unite(&m, word) < 0) return -1;
    if (local->rank == leader)
        PMPI_Sendrecv(word, sizeof word, MPI_BYTE, other, tag, theirs, sizeof theirs, MPI_BYTE,
            other, tag, peer, MPI_STATUS_IGNORE);
    if (PMPI_Bcast(theirs, sizeof theirs, MPI_BYTE, leader, HANDLE(MPI_Comm, local))) return -1;
    for (int i = 0; i < WORDS; i++) word[i] |= theirs[i];
    int context = lowest_free(word);
    if (context >= 0) hark_mpi_context_mark((uint32_t)context, true);
    return context;
}
