/* What collective calls send and receive: blocks of elements. */
#include "collective.h"

static long long number_at(const void *list, bool is_count, bool wide, int i)
{
    if (!wide) return ((const int *)list)[i];
    return is_count ? (long long)((const MPI_Count *)list)[i]
                    : (long long)((const MPI_Aint *)list)[i];
}

long long hark_mpi_block_count(const struct blocks *b, int i)
{
    return b->counts ? number_at(b->counts, true, b->wide_counts, i) : b->count;
}

/* Without displacements blocks lie one behind the other. */
static ptrdiff_t place_of(const struct blocks *b, int i)
{
    if (b->displacements) {
        ptrdiff_t at = (ptrdiff_t)number_at(b->displacements, false, b->wide_displacements, i);
        return b->types ? at : at * b->type->extent;
    }
    ptrdiff_t before = b->counts ? 0 : i * (ptrdiff_t)b->count;
    for (int j = 0; b->counts && j < i; j++) before += (ptrdiff_t)hark_mpi_block_count(b, j);
    return before * b->type->extent;
}

struct elements hark_mpi_block(const struct blocks *b, int i)
{
    return (struct elements){(uint8_t *)((uintptr_t)b->data + (uintptr_t)place_of(b, i)),
        (size_t)hark_mpi_block_count(b, i), b->types ? b->types[i] : b->type};
}

/* ---- memory for elements ----------------------------------------------------------------------
 */

/* Bytes from the first to the last of `count` elements, and where the element 0 is among them. */
static size_t span_of(const struct type *t, size_t count, ptrdiff_t *zero)
{
    ptrdiff_t last = count ? (ptrdiff_t)(count - 1) * t->extent : 0;
    ptrdiff_t low = last < 0 ? last : 0, high = last > 0 ? last : 0;
    *zero = -(low + t->true_lower);
    size_t bytes = (size_t)(high - low + t->true_extent);
    return (bytes + 15) & ~(size_t)15;
}

uint8_t *hark_mpi_span(const struct type *t, size_t count, size_t times)
{
    ptrdiff_t zero;
    return hark_mpi_scratch(span_of(t, count, &zero) * times);
}

uint8_t *hark_mpi_span_at(uint8_t *span, const struct type *t, size_t count, size_t i)
{
    ptrdiff_t zero;
    size_t bytes = span_of(t, count, &zero);
    return span + bytes * i + zero;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

void hark_mpi_give(struct call *k, int peer, struct elements b)
{
    note_status(k, hark_mpi_coll_send_type(k->c, b.at, b.count, b.type, peer, k->tag));
}

static void land(struct hark_request *r, const void *payload, size_t length)
{
    struct arrival *a = (struct arrival *)r;
    hark_mpi_unpack(
        a->to.type, a->to.count, a->to.at, 0, payload, length < r->room ? length : r->room);
}

void hark_mpi_expect(struct call *k, struct arrival *a, int peer, struct elements to)
{
    a->to = to;
    bool is_block = hark_mpi_type_is_block(to.type, to.count);
    uint8_t *data = is_block ? hark_mpi_type_first(to.type, to.at) : NULL;
    hark_mpi_coll_post(k->c, &a->r, data, block_bytes(to), peer, k->tag);
    if (!is_block) a->r.land = land;
}

/* A part of a sum has to be whole; elsewhere less may come than there is room for. */
void hark_mpi_arrived(struct call *k, const struct arrival *a)
{
    size_t length = a->r.info.length, room = a->r.room;
    if (length > room || (k->family->reduces && length < room)) note_length(k, length, room);
}

void hark_mpi_take(struct call *k, int peer, struct elements b)
{
    struct arrival a;
    hark_mpi_expect(k, &a, peer, b);
    hark_app_complete(&a.r, k->name + 1);
    hark_mpi_arrived(k, &a);
}

/* A send does not wait for its receiver, so the one may follow the other. */
void hark_mpi_swap(struct call *k, int to, struct elements out, int from, struct elements in)
{
    hark_mpi_give(k, to, out);
    hark_mpi_take(k, from, in);
}

void hark_mpi_copy(struct call *k, struct elements from, struct elements to)
{
    if (block_bytes(from) > block_bytes(to)) note_length(k, block_bytes(from), block_bytes(to));
    if (block_bytes(from))
        hark_mpi_type_copy(from.at, from.count, from.type, to.at, to.count, to.type);
}
