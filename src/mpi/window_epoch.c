/* Epochs of one-sided calls: fences; start, complete, post and wait; locks and flushes. */
#include "window.h"

#define FAILED(w, status)                                                                          \
    do {                                                                                           \
        int failed_ = (status);                                                                    \
        NEED_OF(w, failed_ >= 0, MPI_ERR_OTHER, "%s", hark_app_error(failed_));                    \
    } while (0)

static bool any_lock(const struct window *w)
{
    for (int i = 0; i < w->comm->size; i++)
        if (w->lane[i].lock != LOCK_NONE) return true;
    return false;
}

static bool any_queued(const struct window *w)
{
    for (int i = 0; i < w->comm->size; i++)
        if (w->lane[i].accesses || w->lane[i].replies) return true;
    return false;
}

/* ---- fences -----------------------------------------------------------------------------------
 */

/* What `from` has queued for this process. It comes in pieces. */
static int take_fence(struct window *w, int from, const char *call)
{
    for (struct window_head head = {0}; !(head.flags & LAST);) {
        struct arrived a;
        int status = hark_mpi_window_receive(w, from, OF_WINDOWS, TAG_FENCE, &a, call);
        if (status < 0) return status;
        memcpy(&head, a.bytes, sizeof head);
        hark_mpi_window_apply(w, from, a.bytes, a.length);
        free(a.bytes);
    }
    return HARK_A_OK;
}

/* Each process sends to each one, so all have come here when it ends. */
int hark_mpi_window_fence(struct window *w, const char *call)
{
    int n = w->comm->size, worst = HARK_A_OK;
    for (int i = 0; i < n && worst >= 0; i++) {
        int target = (w->comm->rank + i) % n;
        worst = hark_mpi_lane_send(
            w, target, LAST | (w->lane[target].wanted ? WANTS_REPLY : 0), TAG_FENCE);
    }
    for (int i = 0; i < n && worst >= 0; i++) worst = take_fence(w, i, call);
    for (int i = 0; i < n && worst >= 0; i++) worst = hark_mpi_lane_collect(w, i, call);
    return worst;
}

PUBLIC(Win_fence)
int PMPI_Win_fence(int assert, MPI_Win win)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, !any_lock(w), MPI_ERR_RMA_SYNC, "a target is locked: unlock it first");
    NEED_OF(w, w->started == NULL && w->posted == NULL, MPI_ERR_RMA_SYNC,
        "an epoch of MPI_Win_start or MPI_Win_post is open: complete it first");
    if (!(assert &MPI_MODE_NOPRECEDE)) FAILED(w, hark_mpi_window_fence(w, "MPI_Win_fence"));
    NEED_OF(w, !any_queued(w), MPI_ERR_RMA_SYNC,
        "MPI_MODE_NOPRECEDE is asserted, and the window was accessed since the last fence");
    w->fence_open = !(assert &MPI_MODE_NOSUCCEED);
    /* Memory that is shared: what others have put into theirs can be loaded from there now. */
    if (w->mapped && !(assert &MPI_MODE_NOPRECEDE)) return PMPI_Barrier(HANDLE(MPI_Comm, w->comm));
    return MPI_SUCCESS;
}

/* ---- start, complete, post and wait -----------------------------------------------------------
 */

/* The ranks of a group in the window's: memory of malloc. NULL: one is not in it. */
static int *ranks_of(struct window *w, struct group *g)
{
    int *rank = hark_mpi_memory((size_t)g->size * sizeof *rank);
    for (int i = 0; i < g->size; i++) {
        rank[i] = hark_mpi_group_local_rank(w->comm->group, hark_mpi_group_world_rank(g, i));
        if (rank[i] != MPI_UNDEFINED) continue;
        free(rank);
        return NULL;
    }
    return rank;
}

#define NEED_GROUP(w, g, handle)                                                                   \
    struct group *g = GROUP(handle);                                                               \
    NEED_OF(w, g, MPI_ERR_GROUP, "the group is not valid: was it freed?")

PUBLIC(Win_start)
int PMPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    (void)assert;
    NEED_WINDOW(w, win);
    NEED_GROUP(w, g, group);
    NEED_OF(w, w->started == NULL, MPI_ERR_RMA_SYNC,
        "an epoch of MPI_Win_start is open: call MPI_Win_complete first");
    NEED_OF(w, !any_lock(w), MPI_ERR_RMA_SYNC, "a target is locked: unlock it first");
    w->started = ranks_of(w, g);
    NEED_OF(w, w->started, MPI_ERR_GROUP, "a process of the group is not in that of the window");
    w->started_count = g->size;
    for (int i = 0; i < g->size; i++) w->lane[w->started[i]].started = true;
    return MPI_SUCCESS;
}

static int complete(struct window *w)
{
    int worst = HARK_A_OK;
    for (int i = 0; i < w->started_count && worst >= 0; i++) {
        struct lane *l = &w->lane[w->started[i]];
        uint32_t reply = l->wanted ? WANTS_REPLY : 0;
        worst = hark_mpi_lane_send(w, w->started[i], OF_EPOCH | COMPLETES | reply, TAG_REQUEST);
    }
    for (int i = 0; i < w->started_count && worst >= 0; i++)
        worst = hark_mpi_lane_collect(w, w->started[i], "MPI_Win_complete");
    return worst;
}

PUBLIC(Win_complete)
int PMPI_Win_complete(MPI_Win win)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, w->started, MPI_ERR_RMA_SYNC, "there is no epoch: call MPI_Win_start first");
    int status = complete(w);
    for (int i = 0; i < w->started_count; i++) w->lane[w->started[i]].started = false;
    free(w->started);
    w->started = NULL;
    FAILED(w, status);
    return MPI_SUCCESS;
}

PUBLIC(Win_post)
int PMPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    (void)assert;
    NEED_WINDOW(w, win);
    NEED_GROUP(w, g, group);
    NEED_OF(w, w->posted == NULL, MPI_ERR_RMA_SYNC,
        "an epoch of MPI_Win_post is open: call MPI_Win_wait first");
    w->posted = ranks_of(w, g);
    NEED_OF(w, w->posted, MPI_ERR_GROUP, "a process of the group is not in that of the window");
    w->posted_count = g->size;
    for (int i = 0; i < g->size; i++) w->exposed[w->posted[i]] = EXPOSED;
    hark_mpi_window_serve(w);
    return MPI_SUCCESS;
}

#define NEED_POSTED(w)                                                                             \
    NEED_OF(w, w->posted, MPI_ERR_RMA_SYNC, "there is no epoch: call MPI_Win_post first")

PUBLIC(Win_wait)
int PMPI_Win_wait(MPI_Win win)
{
    NEED_WINDOW(w, win);
    NEED_POSTED(w);
    while (!hark_mpi_window_completed(w))
        if (!hark_app_serve()) hark_app_wait("MPI_Win_wait", HARK_WAITS_MESSAGE, &w->receive, 1);
    hark_mpi_window_end_exposure(w);
    return MPI_SUCCESS;
}

PUBLIC(Win_test)
int PMPI_Win_test(MPI_Win win, int *flag)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, flag, MPI_ERR_ARG, "flag is NULL");
    NEED_POSTED(w);
    *flag = 1;
    hark_process_poll();
    while (!hark_mpi_window_completed(w)) {
        if (hark_app_serve()) continue;
        if (hark_app_missed()) {
            *flag = 0;
            return MPI_SUCCESS;
        }
        hark_app_wait("MPI_Win_test", HARK_WAITS_MESSAGE, &w->receive, 1);
    }
    hark_mpi_window_end_exposure(w);
    return MPI_SUCCESS;
}

/* ---- locks ------------------------------------------------------------------------------------
 *
 * The lock is asked for with the first access, for until then nobody can notice. Only a process
 * that locks itself has to have it at once: it may access its memory without a call. */

#define NEED_TARGET(w, rank)                                                                       \
    NEED_OF(w, (rank) >= 0 && (rank) < (w)->comm->size, MPI_ERR_RANK,                              \
        "the target is %d, and the window has ranks 0 .. %d", rank, (w)->comm->size - 1)

static int begin_lock(struct window *w, int target, enum lock lock, const char *call)
{
    w->lane[target].lock = (uint8_t)lock;
    w->lane[target].lock_is_sent = false;
    return target == w->comm->rank ? hark_mpi_lane_flush(w, target, 0, call) : HARK_A_OK;
}

/* Nothing is to be given back if the lock was never asked for. */
static bool has_to_unlock(const struct lane *l)
{
    return l->lock_is_sent || l->accesses;
}

static void end_lock(struct lane *l)
{
    l->lock = LOCK_NONE;
    l->lock_is_sent = false;
}

PUBLIC(Win_lock)
int PMPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    (void)assert;
    NEED_WINDOW(w, win);
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    NEED_TARGET(w, rank);
    NEED_OF(w, lock_type == MPI_LOCK_SHARED || lock_type == MPI_LOCK_EXCLUSIVE, MPI_ERR_LOCKTYPE,
        "the lock type is %d, and may be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE", lock_type);
    NEED_OF(
        w, w->lane[rank].lock == LOCK_NONE, MPI_ERR_RMA_SYNC, "rank %d is locked already", rank);
    NEED_OF(w, w->started == NULL, MPI_ERR_RMA_SYNC,
        "an epoch of MPI_Win_start is open: call MPI_Win_complete first");
    FAILED(w, begin_lock(w, rank, lock_type == MPI_LOCK_SHARED ? LOCK_SHARED : LOCK_EXCLUSIVE,
                  "MPI_Win_lock"));
    return MPI_SUCCESS;
}

PUBLIC(Win_unlock)
int PMPI_Win_unlock(int rank, MPI_Win win)
{
    NEED_WINDOW(w, win);
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    NEED_TARGET(w, rank);
    struct lane *l = &w->lane[rank];
    NEED_OF(w, l->lock != LOCK_NONE && !w->locked_all, MPI_ERR_RMA_SYNC,
        "rank %d is not locked by MPI_Win_lock", rank);
    int status =
        has_to_unlock(l) ? hark_mpi_lane_flush(w, rank, UNLOCKS, "MPI_Win_unlock") : HARK_A_OK;
    end_lock(l);
    FAILED(w, status);
    return MPI_SUCCESS;
}

PUBLIC(Win_lock_all)
int PMPI_Win_lock_all(int assert, MPI_Win win)
{
    (void)assert;
    NEED_WINDOW(w, win);
    NEED_OF(w, !any_lock(w), MPI_ERR_RMA_SYNC, "a target is locked already");
    NEED_OF(w, w->started == NULL, MPI_ERR_RMA_SYNC,
        "an epoch of MPI_Win_start is open: call MPI_Win_complete first");
    w->locked_all = true;
    for (int i = 0; i < w->comm->size; i++)
        FAILED(w, begin_lock(w, i, LOCK_SHARED, "MPI_Win_lock_all"));
    return MPI_SUCCESS;
}

/* Sends to all of these targets, and then waits for them. */
static int flush_all(
    struct window *w, bool (*wanted)(const struct lane *l), uint32_t flags, const char *call)
{
    int worst = HARK_A_OK;
    for (int i = 0; i < w->comm->size && worst >= 0; i++)
        if (wanted(&w->lane[i])) worst = hark_mpi_lane_send(w, i, flags | WANTS_REPLY, TAG_REQUEST);
    for (int i = 0; i < w->comm->size && worst >= 0; i++) worst = hark_mpi_lane_collect(w, i, call);
    return worst;
}

PUBLIC(Win_unlock_all)
int PMPI_Win_unlock_all(MPI_Win win)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, w->locked_all, MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called");
    int status = flush_all(w, has_to_unlock, UNLOCKS, "MPI_Win_unlock_all");
    for (int i = 0; i < w->comm->size; i++) end_lock(&w->lane[i]);
    w->locked_all = false;
    FAILED(w, status);
    return MPI_SUCCESS;
}

/* ---- flushes ----------------------------------------------------------------------------------
 */

/* The target may have something to do. */
static bool is_open(const struct lane *l)
{
    return l->lock != LOCK_NONE && (l->accesses || l->unsure || l->replies);
}

/* Its results are not here yet. What is sent has left its buffer when the call returns. */
static bool is_open_here(const struct lane *l)
{
    return l->lock != LOCK_NONE && (l->wanted || l->replies);
}

static int flush_one(struct window *w, int rank, bool local, const char *call)
{
    const struct lane *l = &w->lane[rank];
    bool wanted = local ? is_open_here(l) : is_open(l);
    return wanted ? hark_mpi_lane_flush(w, rank, 0, call) : HARK_A_OK;
}

#define FLUSH(name, local)                                                                         \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(int rank, MPI_Win win)                                                         \
    {                                                                                              \
        NEED_WINDOW(w, win);                                                                       \
        if (rank == MPI_PROC_NULL) return MPI_SUCCESS;                                             \
        NEED_TARGET(w, rank);                                                                      \
        NEED_OF(                                                                                   \
            w, w->lane[rank].lock != LOCK_NONE, MPI_ERR_RMA_SYNC, "rank %d is not locked", rank);  \
        FAILED(w, flush_one(w, rank, local, "MPI_" #name));                                        \
        return MPI_SUCCESS;                                                                        \
    }
#define FLUSH_ALL(name, wanted)                                                                    \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(MPI_Win win)                                                                   \
    {                                                                                              \
        NEED_WINDOW(w, win);                                                                       \
        NEED_OF(w, any_lock(w), MPI_ERR_RMA_SYNC, "no target is locked");                          \
        FAILED(w, flush_all(w, wanted, 0, "MPI_" #name));                                          \
        return MPI_SUCCESS;                                                                        \
    }
FLUSH(Win_flush, false)
FLUSH(Win_flush_local, true)
FLUSH_ALL(Win_flush_all, is_open)
FLUSH_ALL(Win_flush_local_all, is_open_here)

/* A program that looks at its memory until others have changed it calls this: then requests are
 * served that have arrived. */
PUBLIC(Win_sync)
int PMPI_Win_sync(MPI_Win win)
{
    NEED_WINDOW(w, win);
    hark_mpi_window_look(w, "MPI_Win_sync");
    return MPI_SUCCESS;
}
