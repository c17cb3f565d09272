/* Broadcasts and reductions by the groups of the protocol, where it knows groups (camel): then what
 * all processes get is logged once, by rank 0 of the job, whoever passes it on; and what they
 * contribute by few. The groups are of the whole job, in its order: communicators of other
 * processes have trees and stars. */
#include "collective.h"

enum { GROUP_SEGMENT = 16 << 20 }; /* bytes: longer messages go in several */

/* Contexts with which a tag of the group is not negative; duplicates of a program that makes
 * thousands with MPI_Comm_idup have others, and no broadcasts in groups. */
#define GROUP_CONTEXTS (1 << 15)
HARK_STATIC_ASSERT(CONTEXTS <= GROUP_CONTEXTS, "those that processes agree on have broadcasts");

static bool is_whole_job(const struct comm *c)
{
    if (c->remote || c->size != hark_size()) return false;
    for (int i = 0; i < c->size; i++)
        if (hark_mpi_group_world_rank(c->group, i) != i) return false;
    return true;
}

bool hark_mpi_multicasts(const struct call *k)
{
    return __builtin_expect(hark_process.groups, 0) && k->c->context < GROUP_CONTEXTS &&
           is_whole_job(k->c);
}

/* In the channel of the group, which all communicators share: which one it is, and which call. */
static int multicast_tag(const struct call *k)
{
    return (int)(k->c->context << 16) | (k->tag & UINT16_MAX);
}

/* The length of what rank 0 of the job has sent to a group, or a group to it. */
static size_t receive_from(
    const struct call *k, uint16_t group, int tag, uint8_t *data, size_t room)
{
    struct hark_request r = {.data = data, .room = room, .from = 0, .tag = tag, .ctx = group};
    r.mask = hark_app_mask(tag, group);
    hark_app_post(&r);
    hark_app_complete(&r, k->name + 1);
    return r.info.length;
}

static size_t receive_multicast(const struct call *k, uint8_t *data, size_t room)
{
    return receive_from(k, HARK_PROCESS_MULTICAST, multicast_tag(k), data, room);
}

/* The group is rank 0's: another root hands the bytes to it. A message shorter than a segment is
 * the last one, so who expects another length waits for nothing that does not come. */
void hark_mpi_bcast_to_group(struct call *k, uint8_t *data, size_t total, int root)
{
    const int me = k->c->rank;
    size_t at = 0, length;
    do {
        const size_t left = total - at, room = left < GROUP_SEGMENT ? left : GROUP_SEGMENT;
        length = room;
        if (root != 0 && me == root)
            note_status(k, hark_mpi_coll_send(k->c, data + at, room, 0, k->tag));
        if (root != 0 && me == 0) length = hark_mpi_bcast_receive(k, data + at, room, root);
        if (length > room) length = room; /* it is noted, and the others get what is here */
        if (me == 0) {
            note_status(
                k, hark_app_group(data + at, length, HARK_PROCESS_MULTICAST, multicast_tag(k)));
        } else {
            size_t got = receive_multicast(k, data + at, room); /* the root its own */
            if (me != root) length = hark_mpi_bcast_length(k, got, room);
        }
        at += length < room ? length : room;
    } while (length == GROUP_SEGMENT);
}

/* ---- reductions -------------------------------------------------------------------------------
 */

/* What a contribution is made of, as the tag of its message. */
enum { KIND = HARK_APP_COMBINES, KIND_OPERATION = 8 };
HARK_STATIC_ASSERT(ELEMENTS <= 1 << KIND_OPERATION, "an element fits below the operation");

/* Real numbers would have other bits than under another protocol, which combines in another order.
 */
static bool is_exact(const struct type *t)
{
    const enum element e = t->element;
    bool is_integer = e >= ELEMENT_INT8 && e <= ELEMENT_UINT64;
    bool is_logical = e >= ELEMENT_BOOL && e <= ELEMENT_LOGICAL8;
    return t->o.predefined && (is_integer || is_logical || e == ELEMENT_BYTE);
}

bool hark_mpi_reduces_in_group(const struct call *k, struct elements own)
{
    return __builtin_expect(hark_process.reduces, 0) && k->op->operation != OPERATION_USER &&
           is_exact(own.type) && is_whole_job(k->c);
}

/* Contributions are combined along a tree to rank 0, and go on to the root. */
void hark_mpi_reduce_in_group(struct call *k, struct elements own, struct elements result, int root)
{
    const int me = k->c->rank,
              kind = KIND | (int)k->op->operation << KIND_OPERATION | (int)own.type->element;
    const size_t most = GROUP_SEGMENT / own.type->size;
    uint8_t *memory = me == 0 && root != 0 ? hark_mpi_span(own.type, own.count, 1) : NULL;
    struct elements sum = result;
    if (memory) sum.at = hark_mpi_span_at(memory, own.type, own.count, 0);
    for (size_t at = 0; at < own.count; at += most) {
        struct elements part = block_part(own, at, own.count - at < most ? own.count - at : most);
        note_status(k, hark_app_group(part.at, block_bytes(part), HARK_PROCESS_REDUCTION, kind));
        if (me != 0) continue;
        receive_from(
            k, HARK_PROCESS_REDUCTION, kind, block_part(sum, at, part.count).at, block_bytes(part));
    }
    sum.count = own.count;
    if (me == 0 && root != 0) hark_mpi_give(k, root, sum);
    if (me == root && root != 0) hark_mpi_take(k, 0, result);
    hark_mpi_scratch_free(memory);
}

/* Anywhere on the way: hark_app.combine. */
void hark_mpi_combine_part(int kind, void *into, const void *part, size_t length)
{
    const enum operation operation = (enum operation)(kind >> KIND_OPERATION & UINT8_MAX);
    const enum element element = (enum element)(kind & UINT8_MAX);
    if (!hark_mpi_combine_bytes(operation, element, part, into, length))
        hark_mpi_fatal(1, "a contribution to a reduction is of another type than the others");
}
