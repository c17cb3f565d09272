/* Trees: broadcasts and reductions to one process, of long messages in segments, so that a process
 * passes on the first while the next are on their way. */
#include "collective.h"

/* ---- barrier ----------------------------------------------------------------------------------
 */

/* Dissemination: in each step twice as far. */
void hark_mpi_barrier_by_steps(struct call *k)
{
    const struct elements nothing = {NULL, 0, TYPE(MPI_BYTE)};
    int n = k->c->size, me = k->c->rank;
    for (int step = 1; step < n; step <<= 1)
        hark_mpi_swap(k, (me + step) % n, nothing, (me - step + n) % n, nothing);
}

/* ---- broadcast --------------------------------------------------------------------------------
 */

static void send_to_children(
    struct call *k, int lowest_bit, const void *data, size_t length, int root)
{
    int n = k->c->size, me = (k->c->rank - root + n) % n;
    for (int bit = lowest_bit >> 1; bit > 0; bit >>= 1)
        if (me + bit < n)
            note_status(k, hark_mpi_coll_send(k->c, data, length, (me + bit + root) % n, k->tag));
}

/* Programs of MPICH know that a broadcast which is shorter than expected is an error; to those of
 * Open MPI it is none. */
#if defined(HARK_MPI_MPICH)
enum { SHORT_IS_ERROR = true };
#else
enum { SHORT_IS_ERROR = false };
#endif

/* The length of a message, which may be more than there is room for. */
static size_t receive_bytes(struct call *k, void *data, size_t room, int peer)
{
    struct hark_request r;
    hark_mpi_coll_post(k->c, &r, data, room, peer, k->tag);
    hark_app_complete(&r, k->name + 1);
    size_t length = r.info.length;
    if (length > room || (SHORT_IS_ERROR && length < room)) note_length(k, length, room);
    return length;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* This process has room for less than the root sends: its children are to see the length. */
static void pass_on_more(
    struct call *k, int bit, const void *data, size_t room, size_t length, int root)
{
    uint8_t *whole = hark_mpi_memory(length);
    memcpy(whole, data, room);
    memset(whole + room, 0, length - room);
    send_to_children(k, bit, whole, length, root);
    free(whole);
}

/* Along a binomial tree. A message shorter than a segment is the last one: who expects another
 * length than the root sends has an error, and waits for nothing that does not come. */
static void bcast_bytes(struct call *k, uint8_t *data, size_t total, int root)
{
    int n = k->c->size, me = (k->c->rank - root + n) % n, bit = 1;
    size_t at = 0, length;
    while (bit < n && !(me & bit)) bit <<= 1;
    do {
        size_t room = least(total - at, SEGMENT);
        length = me == 0 ? room : receive_bytes(k, data + at, room, (me - bit + root) % n);
        if (length <= room) send_to_children(k, bit, data + at, length, root);
        else pass_on_more(k, bit, data + at, room, length, root);
        at += least(length, room);
    } while (length == SEGMENT);
}

void hark_mpi_bcast_by_tree(struct call *k)
{
    struct elements b = hark_mpi_block(&k->in, 0);
    size_t total = block_bytes(b);
    if (b.type->contiguous) {
        bcast_bytes(k, b.at + b.type->true_lower, total, k->root);
        return;
    }
    uint8_t *packed = hark_mpi_memory(total);
    if (is_root(k)) hark_mpi_pack(b.type, b.count, b.at, 0, packed, total);
    bcast_bytes(k, packed, total, k->root);
    if (!is_root(k) && k->status >= 0) hark_mpi_unpack(b.type, b.count, b.at, 0, packed, total);
    free(packed);
}

/* ---- sums: contributions of neighbouring ranks, combined in their order -----------------------
 */

void hark_mpi_sum_begin(struct sum *s, struct elements own, bool may_change, uint8_t *a, uint8_t *b)
{
    *s = (struct sum){.now = own, .may_change = may_change};
    s->spare[0] = (struct elements){a, own.count, own.type};
    s->spare[1] = (struct elements){b, own.count, own.type};
}

uint8_t *hark_mpi_sum_other(const struct sum *s)
{
    return s->now.at == s->spare[0].at ? s->spare[1].at : s->spare[0].at;
}

static void make_changeable(struct call *k, struct sum *s, size_t first, size_t count)
{
    if (s->may_change) return;
    struct elements to = {hark_mpi_sum_other(s), s->now.count, s->now.type};
    hark_mpi_copy(k, block_part(s->now, first, count), block_part(to, first, count));
    s->now = to;
    s->may_change = true;
}

/* Elements `first` .. `first + count`, of ranks next to those of the sum. */
void hark_mpi_sum_take(
    struct call *k, struct sum *s, int peer, bool peer_is_lower, size_t first, size_t count)
{
    if (peer_is_lower) make_changeable(k, s, first, count);
    struct elements theirs = {hark_mpi_sum_other(s), s->now.count, s->now.type};
    struct elements part = block_part(theirs, first, count),
                    mine = block_part(s->now, first, count);
    hark_mpi_take(k, peer, part);
    if (peer_is_lower) {
        combine(k, part, mine);
    } else {
        combine(k, mine, part);
        s->now = theirs;
        s->may_change = true;
    }
}

/* ---- reduction to a root ----------------------------------------------------------------------
 */

/* Of the ranks `first` .. `first + many` the one that has their sum: the root, if it is one of
 * them. So ranks are combined in one order whatever the root is. */
static int holder(int first, int many, int root)
{
    return root >= first && root < first + many ? root : first;
}

static void reduce_segment(struct call *k, struct sum *s, int root)
{
    int n = k->c->size, me = k->c->rank;
    for (int many = 1; many < n; many <<= 1) {
        int first = me & -many, next = first ^ many;
        if (next >= n) continue;
        int joint = holder(first & ~many, 2 * many, root);
        if (me != joint) {
            hark_mpi_give(k, joint, s->now);
            return;
        }
        hark_mpi_sum_take(k, s, holder(next, many, root), next < first, 0, s->now.count);
    }
}

/* To `result` of the root, which may be `own`. Others need no result. */
void hark_mpi_reduce_to(struct call *k, struct elements own, struct elements result, int root)
{
    size_t most = SEGMENT / (own.type->size ? own.type->size : 1);
    if (most == 0) most = 1;
    if (most > own.count) most = own.count;
    uint8_t *memory = hark_mpi_span(own.type, most, 2);
    uint8_t *a = hark_mpi_span_at(memory, own.type, most, 0);
    uint8_t *b = hark_mpi_span_at(memory, own.type, most, 1);
    for (size_t at = 0; at == 0 || at < own.count; at += most) {
        size_t count = own.count - at < most ? own.count - at : most;
        struct sum s;
        struct elements to = block_part(result, at, count);
        bool has_result = k->c->rank == root;
        hark_mpi_sum_begin(
            &s, block_part(own, at, count), own.at == result.at, has_result ? to.at : a, b);
        reduce_segment(k, &s, root);
        if (has_result && s.now.at != to.at) hark_mpi_copy(k, s.now, to);
        if (most == 0) break;
    }
    free(memory);
}

void hark_mpi_reduce_by_tree(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0);
    hark_mpi_reduce_to(k, own,
        is_root(k) ? hark_mpi_block(&k->in, 0) : (struct elements){NULL, 0, own.type}, k->root);
}
