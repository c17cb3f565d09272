/* One-sided calls: MPI_Put, MPI_Get and their kin. Each is checked, and queued for its target. */
#include "window.h"

/* The arguments of any of them. What a call does not have is zero. */
struct asked {
    const char *call;
    enum does does;
    const void *origin;
    long long count;
    MPI_Datatype type;
    void *result;
    long long result_count;
    MPI_Datatype result_type;
    int target;
    MPI_Aint displacement;
    long long target_count;
    MPI_Datatype target_type;
    bool combines;
    MPI_Op op;
    const void *compare;
    bool has_request;
    MPI_Request *request;
};

#define WRONG(code, ...) return hark_mpi_error_on(&w->h.o, code, k->call, __VA_ARGS__)
#define NEEDS(condition, code, ...)                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) WRONG(code, __VA_ARGS__);                           \
    } while (0)

/* ---- checks: each returns 0 or the code of the error that was raised --------------------------
 */

static int check_elements(struct window *w, const struct asked *k, const char *what, const void *at,
    long long count, MPI_Datatype handle, const struct type **type)
{
    const struct type *t = *type = TYPE(handle);
    NEEDS(count >= 0, MPI_ERR_COUNT, "the %s count is %lld, and must not be negative", what, count);
    NEEDS(t, MPI_ERR_TYPE, "the %s datatype is not valid: was it freed?", what);
    NEEDS(
        t->committed, MPI_ERR_TYPE, "the %s datatype is not committed: call MPI_Type_commit", what);
    NEEDS(at || count == 0 || t->size == 0 || t->true_lower != 0, MPI_ERR_BUFFER,
        "the %s buffer is NULL", what);
    return MPI_SUCCESS;
}

static int check_epoch(struct window *w, const struct asked *k)
{
    const struct lane *l = &w->lane[k->target];
    NEEDS(!k->has_request || l->lock != LOCK_NONE, MPI_ERR_RMA_SYNC,
        "rank %d is not locked: call MPI_Win_lock or MPI_Win_lock_all first", k->target);
    NEEDS(l->lock != LOCK_NONE || l->started || (w->fence_open && w->started == NULL),
        MPI_ERR_RMA_SYNC,
        "no epoch with rank %d is open: call MPI_Win_fence, MPI_Win_start or MPI_Win_lock first",
        k->target);
    return MPI_SUCCESS;
}

/* The first and the last byte that the target's elements have, from the displacement. */
static void reach(const struct type *t, size_t count, int64_t *low, int64_t *high)
{
    int64_t last = (int64_t)(count - 1) * t->extent;
    *low = t->true_lower + (last < 0 ? last : 0);
    *high = t->true_lower + t->true_extent + (last > 0 ? last : 0);
}

static int check_range(struct window *w, const struct asked *k, struct access *a)
{
    int64_t low, high, bytes = w->of[k->target].bytes;
    if (a->target_count == 0 || a->target_type->size == 0) return MPI_SUCCESS;
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        a->at = k->displacement;
        return MPI_SUCCESS;
    }
    NEEDS(k->displacement >= 0, MPI_ERR_DISP, "the displacement is %lld, and must not be negative",
        (long long)k->displacement);
    NEEDS(!__builtin_mul_overflow(k->displacement, w->of[k->target].unit, &a->at), MPI_ERR_DISP,
        "the displacement is %lld", (long long)k->displacement);
    reach(a->target_type, a->target_count, &low, &high);
    NEEDS(a->at + low >= 0 && a->at + high <= bytes, MPI_ERR_RMA_RANGE,
        "bytes %lld .. %lld of rank %d are accessed, and its window has %lld bytes",
        (long long)(a->at + low), (long long)(a->at + high - 1), k->target, (long long)bytes);
    return MPI_SUCCESS;
}

/* The predefined datatype that all elements of a datatype have; NULL: they differ. */
static struct type *element_of(struct type *t)
{
    struct type *element = NULL;
    if (t->o.predefined) return t;
    for (size_t i = 0; i < t->parts; i++) {
        if (t->part[i].count == 0 || t->part[i].type->size == 0) continue;
        struct type *one = element_of(t->part[i].type);
        if (one == NULL ||
            (element && (one->element != element->element || one->size != element->size)))
            return NULL;
        element = one;
    }
    return element;
}

static int check_op(struct window *w, const struct asked *k, struct access *a)
{
    a->op = OP(k->op);
    NEEDS(a->op, MPI_ERR_OP, "the operation is MPI_OP_NULL, or not valid");
    NEEDS(a->op->operation != OPERATION_USER, MPI_ERR_OP,
        "the operation is one that the program has made: only predefined ones may be here");
    if (a->op->operation == OPERATION_NO_OP) {
        NEEDS(k->does != DOES_ACCUMULATE, MPI_ERR_OP, "the operation is MPI_NO_OP");
        return MPI_SUCCESS;
    }
    if (a->count == 0 || a->type->size == 0) return MPI_SUCCESS;
    struct type *target = element_of((struct type *)(uintptr_t)a->target_type);
    struct type *origin = element_of((struct type *)(uintptr_t)a->type);
    NEEDS(origin && target, MPI_ERR_TYPE, "a datatype has elements of several kinds");
    if (a->op->operation == OPERATION_REPLACE) return MPI_SUCCESS;
    NEEDS(origin->element == target->element, MPI_ERR_TYPE,
        "the elements of origin and target are of different kinds");
    NEEDS(hark_mpi_op_defined(a->op, target), MPI_ERR_OP,
        "the operation is not defined for the datatype %s", target->name);
    a->element = target;
    return MPI_SUCCESS;
}

/* Integers, logicals and bytes. */
static int check_compare(struct window *w, const struct asked *k, const struct access *a)
{
    const struct type *t = a->type;
    bool logical = t->element >= ELEMENT_BOOL && t->element <= ELEMENT_LOGICAL8;
    NEEDS(k->compare, MPI_ERR_BUFFER, "compare_addr is NULL");
    NEEDS(t->o.predefined && (logical || hark_mpi_op_defined(hark_mpi_op_of(OPERATION_BAND), t)),
        MPI_ERR_TYPE,
        "the datatype is %s, and must be a predefined one of integers, logicals or bytes",
        t->name[0] ? t->name : "the program's");
    return MPI_SUCCESS;
}

static bool ignores_origin(const struct asked *k)
{
    const struct op *op = k->combines ? OP(k->op) : NULL;
    return k->does == DOES_GET || (op && op->operation == OPERATION_NO_OP);
}

static bool has_result(const struct asked *k)
{
    return k->does != DOES_PUT && k->does != DOES_ACCUMULATE;
}

static int check_lengths(struct window *w, const struct asked *k, const struct access *a)
{
    size_t target = a->target_count * a->target_type->size;
    size_t origin = a->type ? a->count * a->type->size : 0;
    size_t result = a->result_type ? a->result_count * a->result_type->size : 0;
    NEEDS(a->type == NULL || origin <= target, MPI_ERR_TRUNCATE,
        "%zu bytes are sent, and the target's elements have %zu", origin, target);
    NEEDS(a->result_type == NULL || (a->type ? origin : target) <= result, MPI_ERR_TRUNCATE,
        "%zu bytes come back, and the buffer has room for %zu", a->type ? origin : target, result);
    return MPI_SUCCESS;
}

static int check(struct window *w, const struct asked *k, struct access *a)
{
    const struct type *result = NULL;
    int code = check_epoch(w, k);
    if (code == 0 && !ignores_origin(k))
        code = check_elements(w, k, "origin", k->origin, k->count, k->type, &a->type);
    if (code == 0 && has_result(k))
        code = check_elements(w, k, "result", k->result, k->result_count, k->result_type, &result);
    if (code == 0) /* whose buffer is no concern of this process */
        code = check_elements(w, k, "target", k, k->target_count, k->target_type, &a->target_type);
    if (code) return code;
    a->result_type = (struct type *)(uintptr_t)result;
    if (k->combines) code = check_op(w, k, a);
    if (k->does == DOES_COMPARE) code = check_compare(w, k, a);
    if (code == 0) code = check_range(w, k, a);
    return code ? code : check_lengths(w, k, a);
}

/* ---- what all of them do ----------------------------------------------------------------------
 */

/* A request is done when the call returns: then what is sent has left its buffer, and results are
 * waited for. */
static int queue(struct window *w, const struct asked *k, const struct access *a)
{
    int status = hark_mpi_access_queue(w, a);
    if (status >= 0 && k->has_request && a->result_type)
        status = hark_mpi_lane_flush(w, k->target, 0, k->call + 1);
    NEEDS(status >= 0, MPI_ERR_OTHER, "%s", hark_app_error(status));
    return MPI_SUCCESS;
}

static int ask(MPI_Win win, const struct asked *k)
{
    NEED_OPEN();
    struct window *w = (struct window *)WINDOW(win);
    if (w == NULL)
        return hark_mpi_error(
            NULL, MPI_ERR_WIN, k->call, "the window is MPI_WIN_NULL, or not valid: was it freed?");
    NEEDS(k->request || !k->has_request, MPI_ERR_ARG, "request is NULL");
    if (k->has_request) *k->request = HANDLE(MPI_Request, &hark_mpi_request_done);
    if (k->target == MPI_PROC_NULL) return MPI_SUCCESS;
    NEEDS(k->target >= 0 && k->target < w->comm->size, MPI_ERR_RANK,
        "the target is %d, and the window has ranks 0 .. %d", k->target, w->comm->size - 1);
    struct access a = {.does = k->does,
        .origin = k->origin,
        .compare = k->compare,
        .count = (size_t)k->count,
        .result = k->result,
        .result_count = (size_t)k->result_count,
        .target = k->target,
        .target_count = (size_t)k->target_count};
    int code = check(w, k, &a);
    return code ? code : queue(w, k, &a);
}

/* ---- the functions of MPI ---------------------------------------------------------------------
 */

#define ORIGIN(count_type) const void *origin, count_type origin_count, MPI_Datatype origin_type
#define RESULT(count_type) void *result, count_type result_count, MPI_Datatype result_type
#define TARGET(count_type)                                                                         \
    int target, MPI_Aint displacement, count_type target_count, MPI_Datatype target_type
#define GIVES_ORIGIN .origin = origin, .count = origin_count, .type = origin_type
#define GIVES_RESULT .result = result, .result_count = result_count, .result_type = result_type
#define GIVES_TARGET                                                                               \
    .target = target, .displacement = displacement, .target_count = target_count,                  \
    .target_type = target_type
#define GIVES_OP      .combines = true, .op = op
#define GIVES_REQUEST .has_request = true, .request = request

#define ASKS(does_what, ...)                                                                       \
    {                                                                                              \
        const struct asked k = {.call = __func__, .does = does_what, __VA_ARGS__};                 \
        return ask(win, &k);                                                                       \
    }

/* Counts in an int, or in an MPI_Count; with a request, or without. */
#define FOUR_FORMS(X) X(, int) X(_c, MPI_Count)

#define DECLARE(suffix, count_type)                                                                \
    int PMPI_Put##suffix(ORIGIN(count_type), TARGET(count_type), MPI_Win win);                     \
    int PMPI_Rput##suffix(                                                                         \
        ORIGIN(count_type), TARGET(count_type), MPI_Win win, MPI_Request *request);                \
    int PMPI_Get##suffix(RESULT(count_type), TARGET(count_type), MPI_Win win);                     \
    int PMPI_Rget##suffix(                                                                         \
        RESULT(count_type), TARGET(count_type), MPI_Win win, MPI_Request *request);                \
    int PMPI_Accumulate##suffix(ORIGIN(count_type), TARGET(count_type), MPI_Op op, MPI_Win win);   \
    int PMPI_Raccumulate##suffix(                                                                  \
        ORIGIN(count_type), TARGET(count_type), MPI_Op op, MPI_Win win, MPI_Request *request);     \
    int PMPI_Get_accumulate##suffix(                                                               \
        ORIGIN(count_type), RESULT(count_type), TARGET(count_type), MPI_Op op, MPI_Win win);       \
    int PMPI_Rget_accumulate##suffix(ORIGIN(count_type), RESULT(count_type), TARGET(count_type),   \
        MPI_Op op, MPI_Win win, MPI_Request *request);
#pragma GCC visibility push(default)
FOUR_FORMS(DECLARE)
#pragma GCC visibility pop

#define DEFINE_PUT(suffix, count_type)                                                             \
    PUBLIC(Put##suffix)                                                                            \
    int PMPI_Put##suffix(ORIGIN(count_type), TARGET(count_type), MPI_Win win)                      \
        ASKS(DOES_PUT, GIVES_ORIGIN, GIVES_TARGET) PUBLIC(Rput##suffix) int PMPI_Rput##suffix(     \
            ORIGIN(count_type), TARGET(count_type), MPI_Win win, MPI_Request *request)             \
            ASKS(DOES_PUT, GIVES_ORIGIN, GIVES_TARGET, GIVES_REQUEST)
#define DEFINE_GET(suffix, count_type)                                                             \
    PUBLIC(Get##suffix)                                                                            \
    int PMPI_Get##suffix(RESULT(count_type), TARGET(count_type), MPI_Win win)                      \
        ASKS(DOES_GET, GIVES_RESULT, GIVES_TARGET) PUBLIC(Rget##suffix) int PMPI_Rget##suffix(     \
            RESULT(count_type), TARGET(count_type), MPI_Win win, MPI_Request *request)             \
            ASKS(DOES_GET, GIVES_RESULT, GIVES_TARGET, GIVES_REQUEST)
#define DEFINE_ACCUMULATE(suffix, count_type)                                                      \
    PUBLIC(Accumulate##suffix)                                                                     \
    int PMPI_Accumulate##suffix(ORIGIN(count_type), TARGET(count_type), MPI_Op op, MPI_Win win)    \
        ASKS(DOES_ACCUMULATE, GIVES_ORIGIN, GIVES_TARGET, GIVES_OP)                                \
            PUBLIC(Raccumulate##suffix) int PMPI_Raccumulate##suffix(ORIGIN(count_type),           \
                TARGET(count_type), MPI_Op op, MPI_Win win, MPI_Request *request)                  \
                ASKS(DOES_ACCUMULATE, GIVES_ORIGIN, GIVES_TARGET, GIVES_OP, GIVES_REQUEST)
#define DEFINE_GET_ACCUMULATE(suffix, count_type)                                                  \
    PUBLIC(Get_accumulate##suffix)                                                                 \
    int PMPI_Get_accumulate##suffix(                                                               \
        ORIGIN(count_type), RESULT(count_type), TARGET(count_type), MPI_Op op, MPI_Win win)        \
        ASKS(DOES_GET_ACCUMULATE, GIVES_ORIGIN, GIVES_RESULT, GIVES_TARGET, GIVES_OP)              \
            PUBLIC(Rget_accumulate##suffix) int PMPI_Rget_accumulate##suffix(ORIGIN(count_type),   \
                RESULT(count_type), TARGET(count_type), MPI_Op op, MPI_Win win,                    \
                MPI_Request *request) ASKS(DOES_GET_ACCUMULATE, GIVES_ORIGIN, GIVES_RESULT,        \
                GIVES_TARGET, GIVES_OP, GIVES_REQUEST)
FOUR_FORMS(DEFINE_PUT)
FOUR_FORMS(DEFINE_GET)
FOUR_FORMS(DEFINE_ACCUMULATE)
FOUR_FORMS(DEFINE_GET_ACCUMULATE)

/* One element. */
PUBLIC(Fetch_and_op)
int PMPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype datatype, int target,
    MPI_Aint displacement, MPI_Op op, MPI_Win win)
{
    const struct asked k = {.call = __func__,
        .does = DOES_GET_ACCUMULATE,
        .origin = origin,
        .count = 1,
        .type = datatype,
        .result = result,
        .result_count = 1,
        .result_type = datatype,
        .target = target,
        .displacement = displacement,
        .target_count = 1,
        .target_type = datatype,
        GIVES_OP};
    return ask(win, &k);
}

PUBLIC(Compare_and_swap)
int PMPI_Compare_and_swap(const void *origin, const void *compare, void *result,
    MPI_Datatype datatype, int target, MPI_Aint displacement, MPI_Win win)
{
    const struct asked k = {.call = __func__,
        .does = DOES_COMPARE,
        .origin = origin,
        .count = 1,
        .type = datatype,
        .result = result,
        .result_count = 1,
        .result_type = datatype,
        .target = target,
        .displacement = displacement,
        .target_count = 1,
        .target_type = datatype,
        .compare = compare};
    return ask(win, &k);
}
