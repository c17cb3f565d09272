/* Collectives by messages: binomial trees; reductions in the order of ranks. */
#include <stdlib.h>
#include <string.h>

#include "app_internal.h"

#define P hark_process

static int next_tag(void)
{
    return (int)(app.own[2]++ & INT32_MAX);
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

#define COMBINE(ctype)                                                                                                 \
    do {                                                                                                               \
        ctype *a = left;                                                                                               \
        const ctype *b = right;                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                           \
            switch (operation) {                                                                                       \
            case HARK_SUM: a[i] = (ctype)(a[i] + b[i]); break;                                                         \
            case HARK_PRODUCT: a[i] = (ctype)(a[i] * b[i]); break;                                                     \
            case HARK_MIN: a[i] = b[i] < a[i] ? b[i] : a[i]; break;                                                    \
            default: a[i] = b[i] > a[i] ? b[i] : a[i]; break;                                                          \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* left = left (operation) right. */
static void combine(void *left, const void *right, size_t count, enum hark_type type, enum hark_operation operation)
{
    switch (type) {
    case HARK_INT32: COMBINE(int32_t); break;
    case HARK_INT64: COMBINE(int64_t); break;
    case HARK_UINT64: COMBINE(uint64_t); break;
    case HARK_DOUBLE: COMBINE(double); break;
    }
}

static int bcast(void *data, size_t length, int root, int tag)
{
    int n = (int)P.setup.ranks, me = ((int)P.setup.rank - root + n) % n, bit = 1;
    for (; bit < n; bit <<= 1) {
        if (!(me & bit)) continue;
        int status = app_recv(data, length, (me - bit + root) % n, CTX_COLLECTIVE, tag, NULL);
        if (status < 0) return status;
        break;
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit >= n) continue;
        int status = app_send(data, length, (me + bit + root) % n, CTX_COLLECTIVE, tag);
        if (status < 0) return status;
    }
    return HARK_A_OK;
}

/* The tree is rooted at rank 0 whatever the root, so that the order of combination is that of ranks. */
static int reduce_to_zero(void *sum, size_t count, enum hark_type type, enum hark_operation operation, int tag)
{
    int n = (int)P.setup.ranks, me = (int)P.setup.rank;
    size_t bytes = count * size_of(type);
    void *part = malloc(bytes ? bytes : 1);
    if (part == NULL) hark_process_fatal("rank %d: no memory for a reduction", me);
    int status = HARK_A_OK;
    for (int bit = 1; bit < n && status >= 0; bit <<= 1) {
        if (me & bit) {
            status = app_send(sum, bytes, me - bit, CTX_COLLECTIVE, tag);
            break;
        }
        if (me + bit >= n) continue;
        status = app_recv(part, bytes, me + bit, CTX_COLLECTIVE, tag, NULL);
        if (status >= 0) combine(sum, part, count, type, operation);
    }
    free(part);
    return status;
}

int hark_barrier(void)
{
    uint64_t nothing = 0;
    if (!app.joined) return HARK_A_EINIT;
    int tag = next_tag(), status = reduce_to_zero(&nothing, 0, HARK_UINT64, HARK_SUM, tag);
    return status < 0 ? status : bcast(&nothing, 0, 0, tag);
}

int hark_bcast(void *data, size_t length, int root)
{
    if (!app.joined) return HARK_A_EINIT;
    if (root < 0 || root >= (int)P.setup.ranks) return HARK_A_ERANK;
    if (data == NULL && length) return HARK_A_EARGUMENT;
    return bcast(data, length, root, next_tag());
}

static int reduce_valid(const void *data, const void *result, size_t count, enum hark_type type,
    enum hark_operation operation, bool needs_result)
{
    if (!app.joined) return HARK_A_EINIT;
    if (size_of(type) == 0 || operation > HARK_MAX || (unsigned)operation > HARK_MAX) return HARK_A_EARGUMENT;
    if (count && (data == NULL || (needs_result && result == NULL))) return HARK_A_EARGUMENT;
    return HARK_A_OK;
}

int hark_reduce(const void *data, void *result, size_t count, enum hark_type type, enum hark_operation operation,
    int root)
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
    if (status >= 0 && root != 0 && me == 0) status = app_send(sum, bytes, root, CTX_COLLECTIVE, tag);
    if (status >= 0 && root != 0 && me == root) status = app_recv(sum, bytes, 0, CTX_COLLECTIVE, tag, NULL);
    if (status >= 0 && me == root && bytes) memcpy(result, sum, bytes);
    free(sum);
    return status;
}

int hark_allreduce(const void *data, void *result, size_t count, enum hark_type type, enum hark_operation operation)
{
    int status = reduce_valid(data, result, count, type, operation, true);
    if (status < 0) return status;
    size_t bytes = count * size_of(type);
    if (bytes && data != result) memcpy(result, data, bytes);
    int tag = next_tag();
    status = reduce_to_zero(result, count, type, operation, tag);
    return status < 0 ? status : bcast(result, bytes, 0, tag);
}
