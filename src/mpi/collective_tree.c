/* Broadcasts and reductions to one process, along trees. Of few processes the tree is a star: then
 * each of them is woken up once. Long messages go in segments, so that a process passes on the
 * first while the next are on their way. */
#include "collective.h"

/* ---- barrier ----------------------------------------------------------------------------------
 */

/* To rank 0, and back. */
void hark_mpi_barrier_by_star(struct call *k)
{
    const struct elements nothing = {NULL, 0, TYPE(MPI_BYTE)};
    for (int i = 1; i < k->c->size && k->c->rank == 0; i++) hark_mpi_take(k, i, nothing);
    for (int i = 1; i < k->c->size && k->c->rank == 0; i++) hark_mpi_give(k, i, nothing);
    if (k->c->rank != 0) hark_mpi_swap(k, 0, nothing, 0, nothing);
}

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

/* Where a process is in the tree: relative to the root, and by which bit below its parent. */
struct position {
    int me, bit, root;
    bool star;
};

static struct position position_of(const struct comm *c, int root)
{
    struct position p = {(c->rank - root + c->size) % c->size, 1, root, c->size <= STAR_PROCESSES};
    while (p.bit < c->size && !(p.me & p.bit)) p.bit <<= 1;
    return p;
}

static int parent_of(const struct comm *c, const struct position *p)
{
    return p->star ? p->root : (p->me - p->bit + p->root) % c->size;
}

static void send_to_children(
    struct call *k, const struct position *p, const void *data, size_t length)
{
    int n = k->c->size;
    for (int i = 1; p->star && p->me == 0 && i < n; i++)
        note_status(k, hark_mpi_coll_send(k->c, data, length, (i + p->root) % n, k->tag));
    for (int bit = p->bit >> 1; !p->star && bit > 0; bit >>= 1)
        if (p->me + bit < n)
            note_status(
                k, hark_mpi_coll_send(k->c, data, length, (p->me + bit + p->root) % n, k->tag));
}

/* Programs of MPICH know that a broadcast which is shorter than expected is an error; to those of
 * Open MPI it is none. */
#if defined(HARK_MPI_MPICH)
enum { SHORT_IS_ERROR = true };
#else
enum { SHORT_IS_ERROR = false };
#endif

size_t hark_mpi_bcast_length(struct call *k, size_t length, size_t room)
{
    if (length > room || (SHORT_IS_ERROR && length < room)) note_length(k, length, room);
    return length;
}

size_t hark_mpi_bcast_receive(struct call *k, void *data, size_t room, int peer)
{
    struct hark_request r;
    hark_mpi_coll_post(k->c, &r, data, room, peer, k->tag);
    hark_app_complete(&r, k->name + 1);
    return hark_mpi_bcast_length(k, r.info.length, room);
}

/* This process has room for less than the root sends: its children are to see the length. */
static void pass_on_more(
    struct call *k, const struct position *p, const void *data, size_t room, size_t length)
{
    uint8_t *whole = hark_mpi_scratch(length);
    memcpy(whole, data, room);
    memset(whole + room, 0, length - room);
    send_to_children(k, p, whole, length);
    hark_mpi_scratch_free(whole);
}

/* A message shorter than a segment is the last one: who expects another length than the root sends
 * has an error, and waits for nothing that does not come. */
static void bcast_bytes(struct call *k, uint8_t *data, size_t total, int root)
{
    if (hark_mpi_multicasts(k)) {
        hark_mpi_bcast_to_group(k, data, total, root);
        return;
    }
    struct position p = position_of(k->c, root);
    size_t at = 0, length;
    do {
        size_t room = least(total - at, SEGMENT);
        length = p.me == 0 ? room : hark_mpi_bcast_receive(k, data + at, room, parent_of(k->c, &p));
        if (length <= room) send_to_children(k, &p, data + at, length);
        else pass_on_more(k, &p, data + at, room, length);
        at += least(length, room);
    } while (length == SEGMENT);
}

void hark_mpi_bcast_from(struct call *k, struct elements b, int root)
{
    size_t total = block_bytes(b);
    if (hark_mpi_type_is_block(b.type, b.count) && !hark_mpi_has_padding(b.type)) {
        bcast_bytes(k, hark_mpi_type_first(b.type, b.at), total, root);
        return;
    }
    uint8_t *packed = hark_mpi_scratch(total);
    bool is_source = k->c->rank == root;
    if (is_source) hark_mpi_pack(b.type, b.count, b.at, 0, packed, total);
    if (is_source && hark_mpi_has_padding(b.type)) hark_mpi_clear_padding(b.type, packed, total);
    bcast_bytes(k, packed, total, root);
    if (!is_source && k->status >= 0) hark_mpi_unpack(b.type, b.count, b.at, 0, packed, total);
    hark_mpi_scratch_free(packed);
}

void hark_mpi_bcast_by_tree(struct call *k)
{
    hark_mpi_bcast_from(k, hark_mpi_block(&k->in, 0), k->root);
}

/* ---- sums: contributions of neighbouring ranks, combined in their order -----------------------
 */

void hark_mpi_sum_begin(struct sum *s, struct elements own, bool may_change, uint8_t *a, uint8_t *b)
{
    *s = (struct sum){.now = own, .may_change = may_change};
    s->spare[0] = (struct elements){a, own.count, own.type};
    s->spare[1] = (struct elements){b, own.count, own.type};
}

static uint8_t *other(const struct sum *s)
{
    return s->now.at == s->spare[0].at ? s->spare[1].at : s->spare[0].at;
}

static void make_changeable(struct call *k, struct sum *s)
{
    if (s->may_change) return;
    struct elements to = {other(s), s->now.count, s->now.type};
    hark_mpi_copy(k, s->now, to);
    s->now = to;
    s->may_change = true;
}

void hark_mpi_sum_take(struct call *k, struct sum *s, int peer, bool peer_is_lower)
{
    if (peer_is_lower) make_changeable(k, s);
    struct elements theirs = {other(s), s->now.count, s->now.type};
    hark_mpi_take(k, peer, theirs);
    if (peer_is_lower) {
        combine(k, theirs, s->now);
    } else {
        combine(k, s->now, theirs);
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
        hark_mpi_sum_take(k, s, holder(next, many, root), next < first);
    }
}

static void reduce_by_tree(
    struct call *k, struct elements own, struct elements result, int root, size_t most)
{
    uint8_t *memory = hark_mpi_span(own.type, most, 2);
    uint8_t *a = hark_mpi_span_at(memory, own.type, most, 0);
    uint8_t *b = hark_mpi_span_at(memory, own.type, most, 1);
    bool has_result = k->c->rank == root;
    for (size_t at = 0; at < own.count; at += most) {
        size_t count = least(own.count - at, most);
        struct elements to = block_part(result, at, count);
        struct sum s;
        hark_mpi_sum_begin(
            &s, block_part(own, at, count), own.at == result.at, has_result ? to.at : a, b);
        reduce_segment(k, &s, root);
        if (has_result && s.now.at != to.at) hark_mpi_copy(k, s.now, to);
    }
    hark_mpi_scratch_free(memory);
}

/* The root has all contributions, and combines them in the order of ranks. */
static void reduce_by_star(struct call *k, struct elements own, struct elements result, int root)
{
    if (k->c->rank != root) {
        hark_mpi_give(k, root, own);
        return;
    }
    uint8_t *memory = hark_mpi_span(own.type, own.count, 2);
    struct elements sum = {hark_mpi_span_at(memory, own.type, own.count, 0), own.count, own.type};
    struct elements next = {hark_mpi_span_at(memory, own.type, own.count, 1), own.count, own.type};
    for (int i = 0; i < k->c->size; i++) {
        struct elements to = i == 0 ? sum : next;
        if (i == root) hark_mpi_copy(k, own, to);
        else hark_mpi_take(k, i, to);
        if (i == 0) continue;
        combine(k, sum, next);
        struct elements swapped = sum;
        sum = next;
        next = swapped;
    }
    hark_mpi_copy(k, sum, result);
    hark_mpi_scratch_free(memory);
}

void hark_mpi_reduce_to(struct call *k, struct elements own, struct elements result, int root)
{
    if (hark_mpi_reduces_in_group(k, own)) hark_mpi_reduce_in_group(k, own, result, root);
    else if (k->c->size <= STAR_PROCESSES && block_bytes(own) <= STAR_BYTES)
        reduce_by_star(k, own, result, root);
    else reduce_by_tree(k, own, result, root, segment_elements(own));
}

void hark_mpi_reduce_by_tree(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), none = {NULL, 0, own.type};
    hark_mpi_reduce_to(k, own, is_root(k) ? hark_mpi_block(&k->in, 0) : none, k->root);
}
