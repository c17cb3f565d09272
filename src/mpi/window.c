/* Windows: how they are made and freed, and what a program may ask of them. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <fcntl.h>
#include <unistd.h>

#include "hark/registry.h"
#include "window.h"

/* ---- objects ----------------------------------------------------------------------------------
 */

static bool window_attribute(struct object *window, int keyval, void **value)
{
    struct window *w = (struct window *)window;
    switch (keyval) {
    case MPI_WIN_BASE: *value = w->base; return true;
    case MPI_WIN_SIZE: *value = &w->bytes; return true;
    case MPI_WIN_DISP_UNIT: *value = &w->unit; return true;
    case MPI_WIN_CREATE_FLAVOR: *value = &w->flavor; return true;
    case MPI_WIN_MODEL: *value = &w->model; return true;
    default: return false;
    }
}

static void *zeroes(size_t bytes)
{
    void *at = hark_mpi_memory(bytes);
    memset(at, 0, bytes);
    return at;
}

/* Memory that is zero, so that a program which reads it before it writes does the same again. Pages
 * of a large window are there when they are used. */
static void *take_memory(struct window_memory *m, size_t bytes)
{
    enum { LARGE = 1 << 20, ALIGNMENT = 64 };
    if (bytes < LARGE) {
        *m = (struct window_memory){calloc(1, bytes + ALIGNMENT), 0};
        return m->at ? (uint8_t *)m->at + (-(uintptr_t)m->at & (ALIGNMENT - 1)) : NULL;
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *m = (struct window_memory){at == MAP_FAILED ? NULL : at, bytes};
    return m->at;
}

static void give_memory_back(const struct window_memory *m)
{
    if (m->mapped) munmap(m->at, m->mapped);
    else free(m->at);
}

/* A window of the processes of c, with a context of its own. Collective. NULL: there is none left.
 */
static struct window *make(struct comm *c, int flavor, const struct info *info)
{
    int context = hark_mpi_context_agree(c);
    if (context < 0) return NULL;
    struct window *w = hark_mpi_new(KIND_WINDOW, sizeof *w);
    c->group->o.references++;
    w->comm = hark_mpi_comm_make(c->group, NULL, (uint32_t)context);
    w->h.errhandler = hark_mpi_errhandler_again(ERRHANDLER(MPI_ERRORS_ARE_FATAL));
    w->h.info = info ? hark_mpi_info_copy(info) : NULL;
    w->flavor = flavor;
    w->model = MPI_WIN_UNIFIED;
    w->of = zeroes((size_t)c->size * sizeof *w->of);
    w->lane = zeroes((size_t)c->size * sizeof *w->lane);
    w->exposed = zeroes((size_t)c->size);
    w->last = &w->first;
    w->next = hark_mpi_windows;
    hark_mpi_windows = w;
    hark_mpi_window_attribute = window_attribute;
    return w;
}

/* Each process tells its size and its unit. */
static int exchange_sizes(struct window *w, struct comm *c)
{
    int64_t mine[2] = {w->bytes, w->unit};
    return PMPI_Allgather(mine, 2, MPI_INT64_T, w->of, 2, MPI_INT64_T, HANDLE(MPI_Comm, c));
}

static void forget(struct window *w)
{
    struct window **at = &hark_mpi_windows;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
}

static void free_lane(struct lane *l)
{
    free(l->bytes);
    for (struct result *r = l->first, *next; r; r = next) {
        next = r->next;
        hark_mpi_type_release(r->type);
        free(r);
    }
}

static void destroy(struct window *w)
{
    hark_mpi_window_deaf(w);
    forget(w);
    for (int i = 0; i < w->comm->size; i++) free_lane(&w->lane[i]);
    if (w->mapped) munmap(w->mapped, w->mapped_bytes);
    give_memory_back(&w->memory);
    free(w->of);
    free(w->lane);
    free(w->exposed);
    free(w->region);
    free(w->started);
    free(w->posted);
    if (w->h.info) hark_mpi_info_release(w->h.info);
    hark_mpi_errhandler_release(w->h.errhandler);
    hark_mpi_comm_release(w->comm);
    hark_mpi_delete(&w->h.o);
}

void hark_mpi_windows_close(void)
{
    for (struct window *w = hark_mpi_windows; w; w = w->next) hark_mpi_window_deaf(w);
}

/* ---- making them ------------------------------------------------------------------------------
 */

struct wanted {
    const char *call;
    void *base;
    MPI_Aint bytes, unit;
    MPI_Info info;
    MPI_Comm comm;
    MPI_Win *win;
};

#define NEED_THAT(c, condition, code, ...)                                                         \
    do {                                                                                           \
        if (!(condition)) return hark_mpi_error(c, code, n->call, __VA_ARGS__);                    \
    } while (0)

static int check(const struct wanted *n, struct comm **comm, const struct info **info)
{
    struct comm *c = *comm = COMM(n->comm);
    NEED_THAT(NULL, c, MPI_ERR_COMM, "the communicator is not valid: was it freed?");
    NEED_THAT(c, c->remote == NULL, MPI_ERR_COMM, "the communicator is an intercommunicator");
    NEED_THAT(c, n->win, MPI_ERR_ARG, "win is NULL");
    NEED_THAT(c, n->bytes >= 0, MPI_ERR_SIZE, "the size is %lld, and must not be negative",
        (long long)n->bytes);
    NEED_THAT(c, n->unit > 0 && n->unit <= INT_MAX, MPI_ERR_DISP,
        "the displacement unit is %lld, and must be positive", (long long)n->unit);
    *info = INFO(n->info);
    NEED_THAT(c, *info || n->info == MPI_INFO_NULL, MPI_ERR_INFO,
        "the info object is not valid: was it freed?");
    return MPI_SUCCESS;
}

static int publish(struct window *w, struct comm *c, MPI_Win *win)
{
    int code = exchange_sizes(w, c);
    hark_mpi_window_listen(w);
    *win = HANDLE(MPI_Win, &w->h);
    return code;
}

#define NO_CONTEXT "there is no context for one window more: free some, or communicators"

static int create(const struct wanted *n, int flavor)
{
    struct comm *c;
    const struct info *info;
    int code = check(n, &c, &info);
    if (code) return code;
    NEED_THAT(c, n->base || n->bytes == 0, MPI_ERR_BASE, "the base is NULL");
    struct window *w = make(c, flavor, info);
    NEED_THAT(c, w, MPI_ERR_OTHER, NO_CONTEXT);
    w->base = n->base;
    w->bytes = n->bytes;
    w->unit = (int)n->unit;
    return publish(w, c, n->win);
}

static int allocate(const struct wanted *n, int flavor)
{
    struct comm *c;
    const struct info *info;
    struct window_memory memory;
    int code = check(n, &c, &info);
    if (code) return code;
    NEED_THAT(c, n->base, MPI_ERR_ARG, "baseptr is NULL");
    void *base = take_memory(&memory, (size_t)n->bytes);
    NEED_THAT(c, base, MPI_ERR_NO_MEM, "no memory for a window of %lld bytes", (long long)n->bytes);
    struct window *w = make(c, flavor, info);
    NEED_THAT(c, w, MPI_ERR_OTHER, NO_CONTEXT);
    w->base = base;
    w->bytes = n->bytes;
    w->unit = (int)n->unit;
    w->memory = memory;
    memcpy(n->base, &base, sizeof base);
    return publish(w, c, n->win);
}

#pragma GCC visibility push(default)
int PMPI_Win_create_c(
    void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);
int PMPI_Win_allocate_c(
    MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win);
int PMPI_Win_allocate_shared_c(
    MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win);
int PMPI_Win_shared_query_c(
    MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr);
#pragma GCC visibility pop

#define CREATE(name, unit_type)                                                                    \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(void *base, MPI_Aint size, unit_type disp_unit, MPI_Info info, MPI_Comm comm,  \
        MPI_Win *win)                                                                              \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return create(&(struct wanted){__func__, base, size, disp_unit, info, comm, win},          \
            MPI_WIN_FLAVOR_CREATE);                                                                \
    }
CREATE(Win_create, int)
CREATE(Win_create_c, MPI_Aint)

#define ALLOCATE(name, unit_type)                                                                  \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(MPI_Aint size, unit_type disp_unit, MPI_Info info, MPI_Comm comm,              \
        void *baseptr, MPI_Win *win)                                                               \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return allocate(&(struct wanted){__func__, baseptr, size, disp_unit, info, comm, win},     \
            MPI_WIN_FLAVOR_ALLOCATE);                                                              \
    }
ALLOCATE(Win_allocate, int)
ALLOCATE(Win_allocate_c, MPI_Aint)

/* Is a process that fails brought back? */
static bool recovers(void)
{
    return hark_process.protocol->manual->programs != HARK_FOR_NOTHING;
}

PUBLIC(Win_create_dynamic)
int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    NEED_OPEN();
    return create(&(struct wanted){__func__, NULL, 0, 1, info, comm, win}, MPI_WIN_FLAVOR_DYNAMIC);
}

/* ---- memory that processes share --------------------------------------------------------------
 *
 * Only where no process is brought back: what one has written there without a message can not be
 * written again. */

/* The first process of c makes the memory, and the others open it at that one: nothing has a name
 * that could be left behind. NULL: that fails. Collective. */
static void *share(struct comm *c, size_t bytes)
{
    struct {
        int pid, descriptor;
    } owner = {getpid(), -1};
    MPI_Comm handle = HANDLE(MPI_Comm, c);
    char path[64];
    if (c->rank == 0) {
        owner.descriptor = memfd_create("hark-window", MFD_CLOEXEC);
        if (ftruncate(owner.descriptor, (off_t)bytes) < 0) owner.pid = 0;
    }
    PMPI_Bcast(&owner, 2, MPI_INT, 0, handle);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", owner.pid, owner.descriptor);
    int descriptor = c->rank == 0 ? owner.descriptor : open(path, O_RDWR | O_CLOEXEC);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    int mine = at != MAP_FAILED, all;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, handle);
    if (descriptor >= 0) close(descriptor);
    if (all) return at;
    if (mine) munmap(at, bytes);
    return NULL;
}

/* Where the memory of a process begins; and that of all ends. */
static int64_t shared_at(const struct window *w, int rank)
{
    int64_t at = 0;
    for (int i = 0; i < rank; i++) at += w->of[i].bytes;
    return at;
}

static int allocate_shared(const struct wanted *n)
{
    struct comm *c;
    const struct info *info;
    int code = check(n, &c, &info);
    if (code) return code;
    if (c->size == 1) return allocate(n, MPI_WIN_FLAVOR_SHARED);
    if (recovers())
        hark_mpi_fatal(1,
            "%s: memory that %d processes share does not survive the failure of one: use "
            "MPI_Win_allocate, or run with --protocol %s",
            n->call + 1, c->size, hark_protocol_for(HARK_FOR_NOTHING)->name);
    struct window *w = make(c, MPI_WIN_FLAVOR_SHARED, info);
    NEED_THAT(c, w, MPI_ERR_OTHER, NO_CONTEXT);
    w->bytes = n->bytes;
    w->unit = (int)n->unit;
    code = publish(w, c, n->win);
    if (code) return code;
    w->mapped_bytes = (size_t)shared_at(w, c->size);
    if (w->mapped_bytes == 0) w->mapped_bytes = 1;
    w->mapped = share(c, w->mapped_bytes);
    NEED_THAT(c, w->mapped, MPI_ERR_NO_MEM, "no shared memory of %zu bytes", w->mapped_bytes);
    w->base = (uint8_t *)w->mapped + shared_at(w, c->rank);
    memcpy(n->base, &w->base, sizeof w->base);
    return MPI_SUCCESS;
}

#define ALLOCATE_SHARED(name, unit_type)                                                           \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(MPI_Aint size, unit_type disp_unit, MPI_Info info, MPI_Comm comm,              \
        void *baseptr, MPI_Win *win)                                                               \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return allocate_shared(                                                                    \
            &(struct wanted){__func__, baseptr, size, disp_unit, info, comm, win});                \
    }
ALLOCATE_SHARED(Win_allocate_shared, int)
ALLOCATE_SHARED(Win_allocate_shared_c, MPI_Aint)

/* MPI_PROC_NULL: the first process that has memory. */
static int shared_rank(const struct window *w, int rank)
{
    if (rank != MPI_PROC_NULL) return rank;
    for (int i = 0; i < w->comm->size; i++)
        if (w->of[i].bytes) return i;
    return 0;
}

#define SHARED_QUERY(name, unit_type)                                                              \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(MPI_Win win, int rank, MPI_Aint *size, unit_type *disp_unit, void *baseptr)    \
    {                                                                                              \
        NEED_WINDOW(w, win);                                                                       \
        NEED_OF(w, w->flavor == MPI_WIN_FLAVOR_SHARED, MPI_ERR_RMA_FLAVOR,                         \
            "the window was not made by MPI_Win_allocate_shared");                                 \
        NEED_OF(w, size &&disp_unit &&baseptr, MPI_ERR_ARG, "size, disp_unit or baseptr is NULL"); \
        int of = shared_rank(w, rank);                                                             \
        NEED_OF(w, of >= 0 && of < w->comm->size, MPI_ERR_RANK,                                    \
            "the rank is %d, and the window has ranks 0 .. %d", rank, w->comm->size - 1);          \
        void *at = w->mapped ? (uint8_t *)w->mapped + shared_at(w, of) : w->base;                  \
        *size = (MPI_Aint)w->of[of].bytes;                                                         \
        *disp_unit = (unit_type)w->of[of].unit;                                                    \
        if (*size == 0) at = NULL;                                                                 \
        memcpy(baseptr, &at, sizeof at);                                                           \
        return MPI_SUCCESS;                                                                        \
    }
SHARED_QUERY(Win_shared_query, int)
SHARED_QUERY(Win_shared_query_c, MPI_Aint)

/* ---- memory of dynamic windows ----------------------------------------------------------------
 */

#define NEED_DYNAMIC(w)                                                                            \
    NEED_OF(w, w->flavor == MPI_WIN_FLAVOR_DYNAMIC, MPI_ERR_RMA_FLAVOR,                            \
        "the window was not made by MPI_Win_create_dynamic")

/* Programs send each other addresses of what is attached. A process that begins again has the same
 * ones where MPI_Alloc_mem chooses them, and those of variables if Linux does not choose at random.
 * Memory of malloc may be elsewhere in either case. */
static void need_same_address(const void *base, const char *call)
{
    int persona = personality(0xffffffff);
    if (!recovers() || hark_mpi_memory_stays(base)) return;
    if (persona >= 0 && persona & ADDR_NO_RANDOMIZE) return;
    hark_mpi_fatal(1,
        "%s: memory that MPI_Alloc_mem has not given would be at another address in a process that "
        "begins again: attach memory of MPI_Alloc_mem, or run with --protocol %s; for a static "
        "variable, run the program under setarch -R, as in `hark run ... -- setarch -R ./program`",
        call + 1, hark_protocol_for(HARK_FOR_NOTHING)->name);
}

PUBLIC(Win_attach)
int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    NEED_WINDOW(w, win);
    NEED_DYNAMIC(w);
    NEED_OF(w, size >= 0 && (base || size == 0), MPI_ERR_RMA_ATTACH,
        "the size is negative, or the base is NULL");
    if (size) need_same_address(base, __func__);
    struct region *more = realloc(w->region, (w->regions + 1) * sizeof *more);
    NEED_OF(w, more, MPI_ERR_NO_MEM, "no memory");
    w->region = more;
    w->region[w->regions++] = (struct region){(uintptr_t)base, (size_t)size};
    return MPI_SUCCESS;
}

PUBLIC(Win_detach)
int PMPI_Win_detach(MPI_Win win, const void *base)
{
    NEED_WINDOW(w, win);
    NEED_DYNAMIC(w);
    size_t i = 0;
    while (i < w->regions && w->region[i].at != (uintptr_t)base) i++;
    NEED_OF(w, i < w->regions, MPI_ERR_RMA_ATTACH, "no memory is attached at %p", base);
    w->region[i] = w->region[--w->regions];
    return MPI_SUCCESS;
}

/* ---- freeing, and what a program may ask ------------------------------------------------------
 */

static bool is_idle(const struct window *w)
{
    for (int i = 0; i < w->comm->size; i++)
        if (w->lane[i].lock != LOCK_NONE) return false;
    return w->started == NULL && w->posted == NULL;
}

PUBLIC(Win_free)
int PMPI_Win_free(MPI_Win *win)
{
    NEED_OPEN();
    NEED(NULL, win, MPI_ERR_ARG, "win is NULL");
    NEED_WINDOW(w, *win);
    NEED_OF(w, is_idle(w), MPI_ERR_RMA_SYNC, "an epoch is open: end it first");
    int code = hark_mpi_attributes_delete(&w->h.o, &w->h.attributes);
    NEED_OF(w, code == MPI_SUCCESS, code,
        "the delete function of an attribute has failed with code %d", code);
    int status = hark_mpi_window_fence(w, "MPI_Win_free");
    NEED_OF(w, status >= 0, MPI_ERR_OTHER, "%s", hark_app_error(status));
    destroy(w);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Win_get_group)
int PMPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, group, MPI_ERR_ARG, "group is NULL");
    w->comm->group->o.references++;
    *group = HANDLE(MPI_Group, w->comm->group);
    return MPI_SUCCESS;
}

PUBLIC(Win_set_name)
int PMPI_Win_set_name(MPI_Win win, const char *name)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, name, MPI_ERR_ARG, "win_name is NULL");
    snprintf(w->h.name, sizeof w->h.name, "%s", name);
    return MPI_SUCCESS;
}

PUBLIC(Win_get_name)
int PMPI_Win_get_name(MPI_Win win, char *name, int *length)
{
    NEED_WINDOW(w, win);
    NEED_OF(w, name && length, MPI_ERR_ARG, "win_name or resultlen is NULL");
    *length = (int)strlen(w->h.name);
    memcpy(name, w->h.name, (size_t)*length + 1);
    return MPI_SUCCESS;
}

/* ---- checkpoints ------------------------------------------------------------------------------
 *
 * A window is made before hark_restarted: a restart makes it again. Its memory belongs to the
 * program. An image has the locks, the requests that wait for one, and what a program may set. */

bool hark_mpi_windows_may_capture(void)
{
    for (const struct window *w = hark_mpi_windows; w; w = w->next) {
        if (w->started || w->posted || w->mapped) return false;
        for (int i = 0; i < w->comm->size; i++)
            if (w->lane[i].accesses || w->lane[i].replies || w->lane[i].unsure) return false;
    }
    return true;
}

/* Of a window what is the same size for all; of each lane two numbers. */
struct saved {
    uint32_t number, pending;
    int32_t shared_locks;
    uint8_t exclusive_lock, fence_open, locked_all, none;
};
struct saved_pending {
    int64_t from, length;
};

static void put_window(const struct window *w, void (*put)(const void *from, size_t length))
{
    struct saved s = {
        w->h.o.number, 0, w->shared_locks, w->exclusive_lock, w->fence_open, w->locked_all, 0};
    for (const struct pending *p = w->first; p; p = p->next) s.pending++;
    put(&s, sizeof s);
    put(w->h.name, sizeof w->h.name);
    hark_mpi_errhandler_put(w->h.errhandler, put);
    hark_mpi_info_put(w->h.info, put);
    hark_mpi_attributes_put(w->h.attributes, put);
    for (int i = 0; i < w->comm->size; i++) {
        const uint8_t lock[2] = {w->lane[i].lock, w->lane[i].lock_is_sent};
        put(lock, sizeof lock);
    }
    for (const struct pending *p = w->first; p; p = p->next) {
        const struct saved_pending of = {p->from, (int64_t)p->length};
        put(&of, sizeof of);
        put(p->bytes, p->length);
    }
}

void hark_mpi_windows_put(void (*put)(const void *from, size_t length))
{
    uint32_t count = 0;
    for (const struct window *w = hark_mpi_windows; w; w = w->next) count++;
    put(&count, sizeof count);
    for (const struct window *w = hark_mpi_windows; w; w = w->next) put_window(w, put);
}

static void drop_pending(struct window *w)
{
    for (struct pending *p = w->first, *next; p; p = next) {
        next = p->next;
        free(p->bytes);
        free(p);
    }
    w->first = NULL;
    w->last = &w->first;
}

static void get_pending(struct window *w, void (*get)(void *to, size_t length))
{
    struct saved_pending of;
    struct pending *p = hark_mpi_memory(sizeof *p);
    get(&of, sizeof of);
    *p =
        (struct pending){NULL, (int)of.from, (size_t)of.length, hark_mpi_memory((size_t)of.length)};
    get(p->bytes, p->length);
    *w->last = p;
    w->last = &p->next;
}

static void get_window(void (*get)(void *to, size_t length))
{
    struct saved s;
    get(&s, sizeof s);
    struct window *w = hark_mpi_made(&hark_mpi_slots[KIND_WINDOW], s.number, KIND_WINDOW);
    if (w == NULL || w->h.o.is_new)
        hark_mpi_fatal(1, "the checkpoint has a window that the program made after "
                          "hark_restarted: make windows before it");
    w->shared_locks = s.shared_locks;
    w->exclusive_lock = s.exclusive_lock;
    w->fence_open = s.fence_open;
    w->locked_all = s.locked_all;
    get(w->h.name, sizeof w->h.name);
    w->h.errhandler = hark_mpi_errhandler_get(get);
    w->h.info = hark_mpi_info_get(get);
    hark_mpi_attributes_get(&w->h.attributes, get);
    for (int i = 0; i < w->comm->size; i++) {
        uint8_t lock[2];
        get(lock, sizeof lock);
        w->lane[i].lock = lock[0];
        w->lane[i].lock_is_sent = lock[1];
    }
    drop_pending(w);
    for (; s.pending; s.pending--) get_pending(w, get);
    hark_mpi_window_listen(w);
}

void hark_mpi_windows_get(void (*get)(void *to, size_t length))
{
    uint32_t count;
    for (get(&count, sizeof count); count > 0; count--) get_window(get);
}

void hark_mpi_windows_unposted(void)
{
    for (struct window *w = hark_mpi_windows; w; w = w->next) w->receive.done = true;
}

/* One that was freed after hark_restarted. */
void hark_mpi_window_forget(struct object *window)
{
    struct window *w = (struct window *)window;
    drop_pending(w);
    hark_mpi_attributes_forget(&w->h.attributes);
    destroy(w);
}
