/* window.h: one-sided communication, on messages.
 *
 * An origin does not touch memory of its target: it queues what it wants there, one lane for each
 * target, and sends it when its epoch is closed, flushed or full. The target carries it out, in one
 * of its own calls: of a fence in the order of ranks; else in whatever call waits. So a window is
 * memory of the program that is changed by messages alone, and recovers as they do.
 *
 * Messages of a window go in two contexts of a communicator of its own: requests and fences in
 * OF_WINDOWS, replies in OF_ACKNOWLEDGEMENTS. A process may reply at any time, but in the order in
 * which a peer has asked, and so the order in each context depends on no time. */
#ifndef HARK_MPI_WINDOW_H
#define HARK_MPI_WINDOW_H

#include "internal.h"

enum { TAG_REQUEST = 1, TAG_FENCE = 2 };

/* What a message begins with. Then come its accesses, each at a multiple of 16 bytes. */
struct window_head {
    uint32_t flags;
    uint32_t accesses;
};
enum {
    LOCKS_SHARED = 1,
    LOCKS_EXCLUSIVE = 2,
    UNLOCKS = 4,
    WANTS_REPLY = 8,
    OF_EPOCH = 16,  /* of MPI_Win_start: for a target that has called MPI_Win_post */
    COMPLETES = 32, /* the last one of such an epoch */
    LAST = 64       /* the last one of a fence */
};

enum does { DOES_PUT, DOES_GET, DOES_ACCUMULATE, DOES_GET_ACCUMULATE, DOES_COMPARE };
/* Then come `runs` struct run, which say where the bytes are in the target's memory, and `data`
 * bytes from the origin. */
struct access_head {
    uint8_t does, operation;
    uint16_t none;
    int32_t element; /* Fortran's number of the predefined datatype that is combined; or 0 */
    uint64_t runs;
    uint64_t bytes; /* that are accessed */
    uint64_t data;
};
/* Pieces of `length` bytes: `count` of them, the first at `at` from the base of the window. */
struct run {
    int64_t at;
    uint64_t length, count;
    int64_t stride;
};

/* Where an origin wants to have what a target sends back. */
struct result {
    struct result *next;
    void *at;
    size_t count, bytes;
    struct type *type; /* a reference */
};

enum lock { LOCK_NONE, LOCK_SHARED, LOCK_EXCLUSIVE };
struct lane {       /* from this process to a target */
    uint8_t *bytes; /* of the message that is queued, its head too */
    size_t length, room;
    uint32_t accesses;
    size_t wanted; /* bytes of results of these accesses */
    struct result *first, *last;
    unsigned replies;  /* that are to come */
    uint8_t lock;      /* enum lock: that the program has asked for */
    bool lock_is_sent; /* it is sent with the first message, and only then to be given back */
    bool started;      /* MPI_Win_start */
    bool unsure;       /* of a lock: the last message wants no reply */
};

struct pending { /* a request that has arrived, and can not be served yet */
    struct pending *next;
    int from; /* rank in the window's group */
    size_t length;
    uint8_t *bytes;
};

struct region { /* of a dynamic window */
    uintptr_t at;
    size_t length;
};

enum exposure { EXPOSED_NOT, EXPOSED, EXPOSED_COMPLETED };
/* Memory of ours, that the base is in. */
struct window_memory {
    void *at;      /* NULL: there is none */
    size_t mapped; /* bytes of mmap; 0: it is of calloc */
};
struct window {
    struct held h;
    struct window *next; /* of all windows */
    struct comm *comm;   /* its own */
    uint8_t *base;
    MPI_Aint bytes;
    int unit; /* bytes of a displacement, at this process */
    int flavor, model;
    struct window_memory memory;
    struct { /* of each process */
        int64_t bytes, unit;
    } * of;
    struct lane *lane; /* to each process */
    bool fence_open;   /* between two fences */
    bool locked_all;
    int *started; /* ranks of MPI_Win_start: memory of malloc; NULL: no such epoch */
    int started_count;
    /* As a target. */
    struct hark_request receive; /* always posted: takes the next request */
    uint8_t *landed;             /* that it has taken */
    size_t landed_length;
    struct pending *first, **last;
    int shared_locks;
    bool exclusive_lock;
    int *posted; /* ranks of MPI_Win_post; NULL: no such epoch */
    int posted_count;
    uint8_t *exposed; /* of each process: enum exposure */
    struct region *region;
    size_t regions;
    void *mapped; /* memory shared by several processes; NULL: none is */
    size_t mapped_bytes;
};

extern struct window *hark_mpi_windows;

/* `struct window *w` of a handle, or the error. */
#define NEED_WINDOW(w, handle)                                                                     \
    NEED_OPEN();                                                                                   \
    struct window *w = (struct window *)WINDOW(handle);                                            \
    if (__builtin_expect(w == NULL, 0))                                                            \
    return hark_mpi_error(NULL, MPI_ERR_WIN, __func__, "%s",                                       \
        (handle) == MPI_WIN_NULL ? "the window is MPI_WIN_NULL"                                    \
                                 : "the window is not valid: was it freed?")
#define NEED_OF(w, condition, code, ...)                                                           \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            return hark_mpi_error_on(&(w)->h.o, code, __func__, __VA_ARGS__);                      \
    } while (0)

/* ---- the origin: window_lane.c ----------------------------------------------------------------
 */

/* One access, whose arguments are valid. */
struct access {
    enum does does;
    const struct op *op;  /* of accumulates */
    struct type *element; /* the predefined datatype that is combined */
    const void *origin;   /* of MPI_Compare_and_swap the new value */
    const void *compare;
    size_t count;
    const struct type *type;
    void *result;
    size_t result_count;
    struct type *result_type;
    int target;
    int64_t at; /* from the base of the window */
    size_t target_count;
    const struct type *target_type;
};
/* Status of the application layer. */
int hark_mpi_access_queue(struct window *w, const struct access *a);
/* Sends what is queued for this target; `flags` beyond those of the lane's lock. */
int hark_mpi_lane_send(struct window *w, int target, uint32_t flags, int tag);
/* Waits for all replies that are to come, and puts results where the program wants them. */
int hark_mpi_lane_collect(struct window *w, int target, const char *call);
/* A reply has come: its results. */
void hark_mpi_lane_take(struct lane *l, const uint8_t *bytes, size_t length);
/* Sends and collects, of a target that is locked. */
int hark_mpi_lane_flush(struct window *w, int target, uint32_t flags, const char *call);

/* ---- the target: window_serve.c ---------------------------------------------------------------
 */

/* Posts the receive of requests; takes it back. */
void hark_mpi_window_listen(struct window *w);
void hark_mpi_window_deaf(struct window *w);
/* A request has been taken in this context: serves it, or keeps it. */
void hark_mpi_window_taken(uint32_t context);
/* A process asks itself: without a message, for what it does then depends on no time either. */
void hark_mpi_window_ask_self(struct window *w, const uint8_t *bytes, size_t length);
/* Serves a request that has arrived, if there is one: for loops that wait for memory to change. */
void hark_mpi_window_look(struct window *w, const char *call);
/* Serves all that can be served now. */
void hark_mpi_window_serve(struct window *w);
/* Carries a message out. If it wants a reply its results go back. */
void hark_mpi_window_apply(struct window *w, int from, const uint8_t *bytes, size_t length);
/* Has each process of MPI_Win_post called MPI_Win_complete? */
bool hark_mpi_window_completed(const struct window *w);
/* Carries out what they have asked for, in the order of the group, and ends the epoch. */
void hark_mpi_window_end_exposure(struct window *w);
/* Takes a message of unknown length: memory of malloc in *bytes. */
struct arrived {
    struct hark_request r;
    uint8_t *bytes;
    size_t length;
};
int hark_mpi_window_receive(
    struct window *w, int from, int of, int tag, struct arrived *a, const char *call);

/* ---- epochs: window_epoch.c -------------------------------------------------------------------
 */

/* What MPI_Win_fence does: all that was queued is carried out, in all processes. Status of the
 * application layer. */
int hark_mpi_window_fence(struct window *w, const char *call);

#endif
