/* From all to all: allgather and alltoall. */
#include "collective.h"

/* ---- allgather --------------------------------------------------------------------------------
 */

static void copy_own(struct call *k)
{
    if (!k->in_place)
        hark_mpi_copy(k, hark_mpi_block(&k->out, 0), hark_mpi_block(&k->in, k->c->rank));
}

/* Each passes on what came last. */
void hark_mpi_allgather_by_ring(struct call *k)
{
    int n = k->c->size, me = k->c->rank, right = (me + 1) % n, left = (me - 1 + n) % n;
    copy_own(k);
    for (int step = 0; step < n - 1; step++)
        hark_mpi_swap(k, right, hark_mpi_block(&k->in, (me - step + n) % n), left,
            hark_mpi_block(&k->in, (me - step - 1 + n) % n));
}

static void swap_bytes(struct call *k, int to, const uint8_t *out, size_t out_length, int from,
    uint8_t *in, size_t room)
{
    note_status(k, hark_mpi_coll_exchange(k->c, out, out_length, to, in, room, from, k->tag));
}

/* Blocks of one length, packed: the own one first, then those of the next ranks. */
static void unpack_all(struct call *k, const uint8_t *packed, size_t length)
{
    int n = k->c->size, me = k->c->rank;
    for (int i = k->in_place ? 1 : 0; i < n; i++) {
        struct elements to = hark_mpi_block(&k->in, (me + i) % n);
        hark_mpi_unpack(to.type, to.count, to.at, 0, packed + length * (size_t)i, length);
    }
}

/* Bruck: in each step a process has twice as many blocks. */
void hark_mpi_allgather_by_doubling(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), one = hark_mpi_block(&k->in, 0);
    int n = k->c->size, me = k->c->rank;
    size_t length = block_bytes(one);
    uint8_t *packed = hark_mpi_memory(length * (size_t)n);
    if (block_bytes(own) > length) note_length(k, block_bytes(own), length);
    hark_mpi_pack(own.type, own.count, own.at, 0, packed,
        block_bytes(own) < length ? block_bytes(own) : length);
    for (int has = 1; has < n; has <<= 1) {
        size_t more = (size_t)(has < n - has ? has : n - has) * length;
        swap_bytes(k, (me - has + n) % n, packed, more, (me + has) % n,
            packed + (size_t)has * length, more);
    }
    if (length) unpack_all(k, packed, length);
    free(packed);
}

/* ---- alltoall ---------------------------------------------------------------------------------
 */

/* To one and from another in each step. */
void hark_mpi_alltoall_by_pairs(struct call *k)
{
    int n = k->c->size, me = k->c->rank;
    hark_mpi_copy(k, hark_mpi_block(&k->out, me), hark_mpi_block(&k->in, me));
    for (int step = 1; step < n; step++) {
        int to = (me + step) % n, from = (me - step + n) % n;
        hark_mpi_swap(k, to, hark_mpi_block(&k->out, to), from, hark_mpi_block(&k->in, from));
    }
}

/* Blocks whose distance has this bit, one behind the other; or back into their places. */
static size_t collect(
    uint8_t *by_distance, uint8_t *together, size_t length, int n, int bit, bool back)
{
    size_t at = 0;
    for (int i = bit; i < n; i++) {
        if (!(i & bit)) continue;
        uint8_t *block = by_distance + length * (size_t)i;
        if (back) memcpy(block, together + at, length);
        else memcpy(together + at, block, length);
        at += length;
    }
    return at;
}

/* Bruck: blocks are sorted by the distance that they have to go, and go it bit by bit, many in one
 * message. */
static void move_by_bits(struct call *k, uint8_t *blocks, size_t length)
{
    int n = k->c->size, me = k->c->rank;
    uint8_t *out = hark_mpi_memory(2 * length * (size_t)n), *in = out + length * (size_t)n;
    for (int bit = 1; bit < n; bit <<= 1) {
        size_t bytes = collect(blocks, out, length, n, bit, false);
        swap_bytes(k, (me + bit) % n, out, bytes, (me - bit + n) % n, in, bytes);
        collect(blocks, in, length, n, bit, true);
    }
    free(out);
}

void hark_mpi_alltoall_by_bits(struct call *k)
{
    struct elements in = hark_mpi_block(&k->in, 0);
    int n = k->c->size, me = k->c->rank;
    size_t length = block_bytes(in);
    uint8_t *blocks = hark_mpi_memory(length * (size_t)n);
    size_t sent = block_bytes(hark_mpi_block(&k->out, 0));
    if (sent > length) note_length(k, sent, length);
    for (int i = 0; i < n && length; i++) {
        struct elements b = hark_mpi_block(&k->out, (me + i) % n);
        size_t bytes = block_bytes(b) < length ? block_bytes(b) : length;
        hark_mpi_pack(b.type, b.count, b.at, 0, blocks + length * (size_t)i, bytes);
    }
    move_by_bits(k, blocks, length);
    for (int i = 0; i < n && length; i++) {
        struct elements b = hark_mpi_block(&k->in, (me - i + n) % n);
        hark_mpi_unpack(b.type, b.count, b.at, 0, blocks + length * (size_t)i, length);
    }
    free(blocks);
}
