/* collective.h: a collective call: its arguments, and how it is carried out. */
#ifndef HARK_MPI_COLLECTIVE_H
#define HARK_MPI_COLLECTIVE_H

#include "internal.h"

/* What a call sends or receives: one block, or a block for each process. */
struct blocks {
    const void *data;
    long long count; /* elements of each block, if counts is NULL */
    MPI_Datatype datatype;
    /* Of the v and w calls: for each block its count, and where it begins: in extents of the type,
     * of w calls in bytes. Of int, or of MPI_Count and MPI_Aint. */
    const void *counts, *displacements;
    bool wide_counts, wide_displacements;
    bool listed;                   /* it should have counts */
    const MPI_Datatype *datatypes; /* of w calls: for each block */
    struct type *type;             /* of the datatype */
    struct type **types;           /* of the datatypes: memory of malloc */
};

struct elements { /* of a block */
    uint8_t *at;
    size_t count;
    struct type *type;
};

/* Which processes have blocks to send, or to receive. LEAVES: all but the root of an
 * intercommunicator; of an intracommunicator all. */
enum who { NOBODY, EVERYBODY, ROOT, LEAVES };
enum place { PLACE_NONE, PLACE_OUT, PLACE_IN };

struct collective;
struct call;
/* What MPI_Bcast, MPI_Ibcast, MPI_Bcast_init ... have in common. */
struct family {
    /* One round: sends all that this process ever sends, and posts its receives. */
    void (*start)(struct collective *x);
    /* Intracommunicators of two processes and more: what a blocking call does. NULL: one round. */
    void (*block)(struct call *k);
    enum who out, in;
    bool rooted, reduces;
    enum place in_place;            /* which buffer may be MPI_IN_PLACE */
    bool out_for_each, in_for_each; /* a block for each process */
    bool neighbours;                /* of the topology, in place of processes */
};

struct call {
    const struct family *family;
    const char *name; /* PMPI_Bcast */
    struct comm *c;
    struct blocks out, in;
    bool in_place;
    int root;
    MPI_Op operation;
    struct op *op;
    int tag;
    int status;        /* of the application layer: the first error */
    size_t sent, room; /* of the first message that is not as long as it should be */
    int sources_count, destinations_count;
    const int *sources, *destinations; /* of neighbourhoods */
};

struct arrival { /* a receive of one round */
    struct hark_request r;
    struct elements to;
};

struct collective { /* one round of messages */
    struct call k;
    struct arrival *arrivals;
    size_t count, done, room;
    uint8_t *memory;                    /* of contributions */
    size_t each;                        /* elements of a contribution */
    void (*last)(struct collective *x); /* when all have arrived; NULL: nothing */
};

extern const struct family hark_mpi_barrier, hark_mpi_bcast, hark_mpi_gather, hark_mpi_scatter,
    hark_mpi_allgather, hark_mpi_alltoall, hark_mpi_reduce, hark_mpi_allreduce,
    hark_mpi_reduce_scatter, hark_mpi_scan, hark_mpi_exscan, hark_mpi_neighbor_allgather,
    hark_mpi_neighbor_alltoall;

/* ---- the three forms of a call: collective_call.c ---------------------------------------------
 */

int hark_mpi_collective_block(struct call *k, MPI_Comm comm, const char *name);
int hark_mpi_collective_begin(
    struct call *k, MPI_Comm comm, MPI_Request *request, const char *name);
/* Persistent. */
int hark_mpi_collective_init(struct call *k, MPI_Comm comm, MPI_Request *request, const char *name);

/* ---- blocks: collective_block.c ---------------------------------------------------------------
 */

struct elements hark_mpi_block(const struct blocks *b, int i);
long long hark_mpi_block_count(const struct blocks *b, int i);
static inline size_t block_bytes(struct elements b)
{
    return b.count * b.type->size;
}
/* The elements from `first` on, `count` of them. */
static inline struct elements block_part(struct elements b, size_t first, size_t count)
{
    uintptr_t skip = (uintptr_t)((ptrdiff_t)first * b.type->extent); /* `at` may be MPI_BOTTOM */
    return (struct elements){(uint8_t *)((uintptr_t)b.at + skip), count, b.type};
}
/* Memory for `count` elements in the program's layout, as many times as `times`. Element 0 of the
 * i-th is at hark_mpi_span_at(). To be given to hark_mpi_scratch_free(). */
uint8_t *hark_mpi_span(const struct type *t, size_t count, size_t times);
uint8_t *hark_mpi_span_at(uint8_t *span, const struct type *t, size_t count, size_t i);

static inline void note_status(struct call *k, int status)
{
    if (status < 0 && k->status >= 0) k->status = status;
}
static inline void note_length(struct call *k, size_t sent, size_t room)
{
    if (k->status < 0) return;
    k->sent = sent;
    k->room = room;
    k->status = HARK_A_ETRUNCATE;
}
/* Errors are noted in the call; it carries on, so that nobody waits for it in vain. */
void hark_mpi_give(struct call *k, int peer, struct elements b);
void hark_mpi_take(struct call *k, int peer, struct elements b);
/* Posts a receive into `to`; `a` stays where it is until the receive is done. */
void hark_mpi_expect(struct call *k, struct arrival *a, int peer, struct elements to);
/* The receive is done: notes an error in the call if the message is too long, or, in a reduction,
 * too short. */
void hark_mpi_arrived(struct call *k, const struct arrival *a);
void hark_mpi_swap(struct call *k, int to, struct elements out, int from, struct elements in);
void hark_mpi_copy(struct call *k, struct elements from, struct elements to);
/* `into` = `from` (operation) `into`: `from` is of lower ranks. */
static inline void combine(const struct call *k, struct elements from, struct elements into)
{
    hark_mpi_combine(k->op, from.at, into.at, into.count, into.type);
}

/* ---- algorithms -------------------------------------------------------------------------------
 */

/* Measured on two processors with bench/collectives_mpi.c: few processes are waked up once by a
 * star, where a tree wakes up some of them several times. */
enum {
    SEGMENT = 128 << 10,   /* bytes: longer messages go along trees in several */
    STAR_PROCESSES = 16,   /* at most; more have trees */
    STAR_BYTES = 32 << 10, /* of a contribution to a reduction */
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Elements of a segment: at least one, and no more than there are. */
static inline size_t segment_elements(struct elements all)
{
    size_t most = all.type->size ? SEGMENT / all.type->size : all.count;
    if (most > all.count) most = all.count;
    return most ? most : 1;
}

/* The sum so far of some neighbouring ranks, and memory for two more. */
struct sum {
    struct elements now;
    bool may_change; /* it is not the program's */
    struct elements spare[2];
};

/* `a` and `b` have room for the elements of `own`, and outlive the sum. */
void hark_mpi_sum_begin(
    struct sum *s, struct elements own, bool may_change, uint8_t *a, uint8_t *b);
/* Receives from `peer` the sum of the ranks next to those of `s`, and combines the two. */
void hark_mpi_sum_take(struct call *k, struct sum *s, int peer, bool peer_is_lower);
/* Reduces to `result` at the root; `result` may be `own`. */
void hark_mpi_reduce_to(struct call *k, struct elements own, struct elements result, int root);

/* A broadcast from `root`, as a part of any collective call. */
void hark_mpi_bcast_from(struct call *k, struct elements b, int root);

void hark_mpi_one_round(struct call *k);
void hark_mpi_barrier_by_star(struct call *k);
void hark_mpi_barrier_by_steps(struct call *k);
void hark_mpi_bcast_by_tree(struct call *k);
void hark_mpi_reduce_by_tree(struct call *k);
void hark_mpi_allreduce_by_doubling(struct call *k);
void hark_mpi_allreduce_by_tree(struct call *k);
void hark_mpi_allreduce_by_parts(struct call *k);
void hark_mpi_reduce_scatter_by_tree(struct call *k);
void hark_mpi_scan_by_chain(struct call *k);
void hark_mpi_allgather_by_ring(struct call *k);
void hark_mpi_allgather_by_tree(struct call *k);
void hark_mpi_alltoall_by_pairs(struct call *k);

/* By groups of the protocol: collective_group.c. */
bool hark_mpi_multicasts(const struct call *k);
void hark_mpi_bcast_to_group(struct call *k, uint8_t *data, size_t total, int root);
bool hark_mpi_reduces_in_group(const struct call *k, struct elements own);
void hark_mpi_reduce_in_group(
    struct call *k, struct elements own, struct elements result, int root);
/* Receives from `peer` a part of a broadcast, and notes its length as below. Returns the length,
 * which may be more than `room`. */
size_t hark_mpi_bcast_receive(struct call *k, void *data, size_t room, int peer);
/* Notes an error in the call if the part is longer than `room`, or, for programs of MPICH, shorter.
 * Returns the length. */
size_t hark_mpi_bcast_length(struct call *k, size_t length, size_t room);

/* The choice of an algorithm: collective_choice.c. */
void hark_mpi_choose_barrier(struct call *k);
void hark_mpi_choose_allreduce(struct call *k);
void hark_mpi_choose_reduce_scatter(struct call *k);
void hark_mpi_choose_allgather(struct call *k);
void hark_mpi_choose_alltoall(struct call *k);

static inline bool is_root(const struct call *k)
{
    return k->c->remote ? k->root == MPI_ROOT : k->root == k->c->rank;
}
static inline int peers_of(const struct call *k)
{
    return hark_mpi_peers(k->c)->size;
}

#endif
