/* Collectives: by groups where the protocol knows them, else by messages along the same binomial
 * trees. Either way reductions combine in the same order, so that the protocol does not change a
 * result: each its own and then those of its children, by rank; rank 0 those of its children first,
 * which camel keeps without its own (causal/reduction.h). docs/collectives.md has the table. */
#include <stdlib.h>
#include <string.h>

#include "app_state.h"

#define P hark_process

static int next_tag(void)
{
    return (int)(hark_app.own[2]++ & INT32_MAX);
}

static size_t size_of(enum hark_type type)
{
    switch (type) {
    case HARK_INT32: return 4;
    case HARK_INT64:
    case HARK_UINT64:
    case HARK_DOUBLE: return 8;
    default: return 0;
    }
}

#define COMBINE(ctype)                                                                             \
    do {                                                                                           \
        ctype *a = left;                                                                           \
        const ctype *b = right;                                                                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            switch (operation) {                                                                   \
            case HARK_SUM: a[i] = (ctype)(a[i] + b[i]); break;                                     \
            case HARK_PRODUCT: a[i] = (ctype)(a[i] * b[i]); break;                                 \
            case HARK_MIN: a[i] = b[i] < a[i] ? b[i] : a[i]; break;                                \
            default: a[i] = b[i] > a[i] ? b[i] : a[i]; break;                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* left = left (operation) right. */
static void combine(
    void *left, const void *right, size_t count, enum hark_type type, enum hark_operation operation)
{
    switch (type) {
    case HARK_INT32: COMBINE(int32_t); break;
    case HARK_INT64: COMBINE(int64_t); break;
    case HARK_UINT64: COMBINE(uint64_t); break;
    case HARK_DOUBLE: COMBINE(double); break;
    }
}

/* What a contribution is made of, as the tag of its message. */
static int kind_of(enum hark_type type, enum hark_operation operation)
{
    return (int)operation << 8 | (int)type;
}

void hark_app_combine(
    void *self, uint16_t ctx, int64_t tag, void *into, const void *part, uint64_t length)
{
    enum hark_type type = (enum hark_type)(tag & 255);
    size_t width = size_of(type);
    (void)self;
    if ((tag & HARK_APP_COMBINES) && hark_app.combine) {
        hark_app.combine((int)tag, into, part, (size_t)length);
        return;
    }
    if (ctx != CTX_REDUCTION || width == 0 || length % width)
        hark_process_fatal(
            "rank %u: a contribution to a reduction is of another type than the others",
            P.setup.rank);
    combine(into, part, length / width, type, (enum hark_operation)(tag >> 8));
}

/* Another than rank 0 hands it to rank 0 first: the group is rank 0's (C-7). */
static int bcast_to_group(void *data, size_t length, int root, int tag)
{
    int me = (int)P.setup.rank, status = HARK_A_OK;
    if (me == root && root != 0) status = hark_app_send(data, length, 0, CTX_COLLECTIVE, tag);
    if (me == 0 && root != 0) status = hark_app_recv(data, length, root, CTX_COLLECTIVE, tag, NULL);
    if (status < 0) return status;
    if (me != 0) return hark_app_recv(data, length, 0, CTX_MULTICAST, tag, NULL);
    return P.setup.ranks > 1 ? hark_app_group(data, length, CTX_MULTICAST, tag) : HARK_A_OK;
}

static int bcast_tree(void *data, size_t length, int root, int tag)
{
    int n = (int)P.setup.ranks, me = ((int)P.setup.rank - root + n) % n, bit = 1;
    if (P.groups) return bcast_to_group(data, length, root, tag);
    for (; bit < n; bit <<= 1) {
        if (!(me & bit)) continue;
        int status = hark_app_recv(data, length, (me - bit + root) % n, CTX_COLLECTIVE, tag, NULL);
        if (status < 0) return status;
        break;
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit >= n) continue;
        int status = hark_app_send(data, length, (me + bit + root) % n, CTX_COLLECTIVE, tag);
        if (status < 0) return status;
    }
    return HARK_A_OK;
}

/* Of one that has children: their contributions, as they are combined. Only rank 0 needs a third
 * piece of memory. */
static int reduce_messages(
    void *sum, size_t count, enum hark_type type, enum hark_operation operation, int tag)
{
    int n = (int)P.setup.ranks, me = (int)P.setup.rank;
    size_t bytes = count * size_of(type);
    uint8_t *part = malloc(2 * bytes + 1), *rest = me == 0 ? part + bytes : sum;
    if (part == NULL) hark_process_fatal("rank %d: no memory for a reduction", me);
    int status = HARK_A_OK;
    for (int bit = 1; bit < n && status >= 0; bit <<= 1) {
        if (me & bit) {
            status = hark_app_send(sum, bytes, me - bit, CTX_COLLECTIVE, tag);
            break;
        }
        if (me + bit >= n) continue;
        bool first = me == 0 && bit == 1;
        status = hark_app_recv(first ? rest : part, bytes, me + bit, CTX_COLLECTIVE, tag, NULL);
        if (status >= 0 && !first) combine(rest, part, count, type, operation);
    }
    if (status >= 0 && me == 0 && n > 1) combine(sum, rest, count, type, operation);
    free(part);
    return status;
}

/* The tree is rooted at rank 0 whatever the root, so that the order of combination is the same. */
static int reduce_to_zero(
    void *sum, size_t count, enum hark_type type, enum hark_operation operation, int tag)
{
    size_t bytes = count * size_of(type);
    int kind = kind_of(type, operation);
    if (P.setup.ranks == 1) return HARK_A_OK;
    if (!P.reduces) return reduce_messages(sum, count, type, operation, tag);
    int status = hark_app_group(sum, bytes, CTX_REDUCTION, kind);
    return status < 0 || P.setup.rank ? status
                                      : hark_app_recv(sum, bytes, 0, CTX_REDUCTION, kind, NULL);
}

static int barrier(void)
{
    uint64_t nothing = 0;
    if (!hark_app_ready()) return HARK_A_EINIT;
    int tag = next_tag(), status = reduce_to_zero(&nothing, 0, HARK_UINT64, HARK_SUM, tag);
    return status < 0 ? status : bcast_tree(&nothing, 0, 0, tag);
}

static int bcast(void *data, size_t length, int root)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    if (root < 0 || root >= (int)P.setup.ranks) return HARK_A_ERANK;
    if (data == NULL && length) return HARK_A_EARGUMENT;
    if (length > P.payload_limit)
        return HARK_A_ELENGTH; /* also where it is not sent: nobody waits for it */
    return bcast_tree(data, length, root, next_tag());
}

static int reduce_valid(const void *data, const void *result, size_t count, enum hark_type type,
    enum hark_operation operation, bool needs_result)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    if (size_of(type) == 0 || operation > HARK_MAX || (unsigned)operation > HARK_MAX)
        return HARK_A_EARGUMENT;
    if (count && (data == NULL || (needs_result && result == NULL))) return HARK_A_EARGUMENT;
    return count > P.payload_limit / size_of(type) ? HARK_A_ELENGTH : HARK_A_OK;
}

static int reduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation, int root)
{
    int me = (int)P.setup.rank;
    int status = reduce_valid(data, result, count, type, operation, me == root);
    if (status < 0) return status;
    if (root < 0 || root >= (int)P.setup.ranks) return HARK_A_ERANK;
    size_t bytes = count * size_of(type);
    void *sum = malloc(bytes ? bytes : 1);
    if (sum == NULL) hark_process_fatal("rank %d: no memory for a reduction", me);
    if (bytes) memcpy(sum, data, bytes);
    int tag = next_tag();
    status = reduce_to_zero(sum, count, type, operation, tag);
    if (status >= 0 && root != 0 && me == 0)
        status = hark_app_send(sum, bytes, root, CTX_COLLECTIVE, tag);
    if (status >= 0 && root != 0 && me == root)
        status = hark_app_recv(sum, bytes, 0, CTX_COLLECTIVE, tag, NULL);
    if (status >= 0 && me == root && bytes) memcpy(result, sum, bytes);
    free(sum);
    return status;
}

static int allreduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation)
{
    int status = reduce_valid(data, result, count, type, operation, true);
    if (status < 0) return status;
    size_t bytes = count * size_of(type);
    if (bytes && data != result) memcpy(result, data, bytes);
    int tag = next_tag();
    status = reduce_to_zero(result, count, type, operation, tag);
    return status < 0 ? status : bcast_tree(result, bytes, 0, tag);
}

/* ---- by messages under every protocol: each process has another part ------------------------- */

static int parts_valid(const void *part, const void *all, size_t length, bool needs_all)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    if (length && (part == NULL || (needs_all && all == NULL))) return HARK_A_EARGUMENT;
    return length > P.payload_limit ? HARK_A_ELENGTH : HARK_A_OK;
}

static inline uint8_t *part_of(const void *all, size_t length, int rank)
{
    return (uint8_t *)(uintptr_t)all + length * (size_t)rank;
}

static int gather(const void *data, size_t length, void *all, int root)
{
    int me = (int)P.setup.rank, n = (int)P.setup.ranks,
        status = parts_valid(data, all, length, me == root);
    if (status < 0) return status;
    if (root < 0 || root >= n) return HARK_A_ERANK;
    int tag = next_tag();
    if (me != root) return hark_app_send(data, length, root, CTX_COLLECTIVE, tag);
    if (length) memmove(part_of(all, length, me), data, length);
    for (int from = 0; from < n && status >= 0; from++)
        if (from != me)
            status =
                hark_app_recv(part_of(all, length, from), length, from, CTX_COLLECTIVE, tag, NULL);
    return status;
}

static int scatter(const void *all, void *data, size_t length, int root)
{
    int me = (int)P.setup.rank, n = (int)P.setup.ranks,
        status = parts_valid(data, all, length, me == root);
    if (status < 0) return status;
    if (root < 0 || root >= n) return HARK_A_ERANK;
    int tag = next_tag();
    if (me != root) return hark_app_recv(data, length, root, CTX_COLLECTIVE, tag, NULL);
    for (int to = 0; to < n && status >= 0; to++)
        if (to != me)
            status = hark_app_send(part_of(all, length, to), length, to, CTX_COLLECTIVE, tag);
    if (length && status >= 0) memmove(data, part_of(all, length, me), length);
    return status;
}

/* Round the ring: each passes on what it got last. */
static int allgather(const void *data, size_t length, void *all)
{
    int me = (int)P.setup.rank, n = (int)P.setup.ranks,
        status = parts_valid(data, all, length, true);
    if (status < 0) return status;
    int tag = next_tag();
    if (length) memmove(part_of(all, length, me), data, length);
    for (int step = 1; step < n && status >= 0; step++) {
        status = hark_app_send(part_of(all, length, (me - step + 1 + n) % n), length, (me + 1) % n,
            CTX_COLLECTIVE, tag);
        if (status >= 0)
            status = hark_app_recv(part_of(all, length, (me - step + n) % n), length,
                (me - 1 + n) % n, CTX_COLLECTIVE, tag, NULL);
    }
    return status;
}

static int alltoall(const void *data, void *all, size_t length)
{
    int me = (int)P.setup.rank, n = (int)P.setup.ranks,
        status = parts_valid(data, all, length, true);
    if (status < 0) return status;
    if (length && data == all) return HARK_A_EARGUMENT;
    int tag = next_tag();
    if (length) memcpy(part_of(all, length, me), part_of(data, length, me), length);
    for (int step = 1; step < n && status >= 0; step++) {
        status = hark_app_send(
            part_of(data, length, (me + step) % n), length, (me + step) % n, CTX_COLLECTIVE, tag);
        if (status >= 0)
            status = hark_app_recv(part_of(all, length, (me - step + n) % n), length,
                (me - step + n) % n, CTX_COLLECTIVE, tag, NULL);
    }
    return status;
}

/* ---- the calls: while in one of them, a process that waits says which ------------------------ */

static int leave(int status)
{
    hark_app.collective = NULL;
    return status;
}

int hark_barrier(void)
{
    hark_app.collective = "hark_barrier";
    return leave(barrier());
}

int hark_bcast(void *data, size_t length, int root)
{
    hark_app.collective = "hark_bcast";
    return leave(bcast(data, length, root));
}

int hark_reduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation, int root)
{
    hark_app.collective = "hark_reduce";
    return leave(reduce(data, result, count, type, operation, root));
}

int hark_allreduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation)
{
    hark_app.collective = "hark_allreduce";
    return leave(allreduce(data, result, count, type, operation));
}

int hark_gather(const void *data, size_t length, void *all, int root)
{
    hark_app.collective = "hark_gather";
    return leave(gather(data, length, all, root));
}

int hark_scatter(const void *all, void *data, size_t length, int root)
{
    hark_app.collective = "hark_scatter";
    return leave(scatter(all, data, length, root));
}

int hark_allgather(const void *data, size_t length, void *all)
{
    hark_app.collective = "hark_allgather";
    return leave(allgather(data, length, all));
}

int hark_alltoall(const void *data, void *all, size_t length)
{
    hark_app.collective = "hark_alltoall";
    return leave(alltoall(data, all, length));
}
