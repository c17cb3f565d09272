/* Partitioned communication of MPI 4: a persistent send whose parts become ready one by one, and a
 * receive that can tell which parts are there.
 *
 * A send and a receive belong together in the order in which they were made, among those with the
 * same processes, tag and communicator; other messages never match them. So MPI_Psend_init sends a
 * notice with the program's tag, for which MPI_Precv_init posts a receive. The notice names a
 * channel, which no other send of this process has in this communicator: its parts go there, each
 * when it becomes ready, with its number in front. The two sides may divide the data differently.
 */
#include "internal.h"

struct notice {
    uint32_t channel, partitions; /* of the sender */
    uint64_t bytes;               /* of each of them, packed */
};

struct partitioned {
    int partitions;       /* of this process */
    bool noticed;         /* a receive: the notice is there */
    bool freed;           /* a receive: by the program, before the notice was there */
    bool posted;          /* a receive: for the notice, or the next part */
    struct notice notice; /* of the sender */
    uint32_t count;       /* the sender's parts that are ready, or have arrived, */
    uint8_t *is_there;    /* and which they are; NULL: the notice is not there yet */
};

enum { HEADER = sizeof(uint64_t) };

static size_t bytes_of(const struct request *r)
{
    return r->count * r->type->size;
}

static uint8_t *flags(uint32_t count)
{
    uint8_t *p = hark_mpi_memory(count + 1);
    memset(p, 0, count + 1);
    return p;
}

void hark_mpi_partitioned_free(struct partitioned *p)
{
    free(p->is_there);
    free(p);
}

/* ---- receiving --------------------------------------------------------------------------------
 */

static void land(struct hark_request *h, const void *payload, size_t length)
{
    struct request *r = hark_mpi_request_of(h);
    struct partitioned *p = r->partitioned;
    size_t whole = bytes_of(r) * (size_t)p->partitions;
    uint64_t number = 0;
    if (length >= HEADER) memcpy(&number, payload, HEADER);
    if (length != HEADER + p->notice.bytes || number >= p->notice.partitions) return;
    size_t at = (size_t)(number * p->notice.bytes), bytes = (size_t)p->notice.bytes;
    if (at < whole)
        hark_mpi_unpack(r->type, r->count * (size_t)p->partitions, r->buffer, at,
            (const uint8_t *)payload + HEADER, bytes < whole - at ? bytes : whole - at);
    p->is_there[number] = 1;
    p->count++;
}

/* Posts the receive of the notice, or, if the notice is there, of the next part. */
void hark_mpi_partitioned_post(struct request *r)
{
    struct partitioned *p = r->partitioned;
    struct hark_request *h = &r->receive;
    p->posted = true;
    if (!p->noticed) {
        *h = (struct hark_request){.data = &p->notice, .room = sizeof p->notice};
        hark_mpi_post(r->comm, h, r->peer, OF_ACKNOWLEDGEMENTS, HARK_APP_OWN | r->tag);
        return;
    }
    *h = (struct hark_request){.room = SIZE_MAX, .land = land};
    hark_mpi_post(r->comm, h, r->peer, OF_COLLECTIVES, HARK_APP_OWN | (int)p->notice.channel);
}

/* All parts are there. */
static void settle(struct request *r)
{
    const struct notice *n = &r->partitioned->notice;
    uint64_t bytes = n->bytes * n->partitions, room = bytes_of(r);
    room *= (uint64_t)r->partitioned->partitions;
    r->done = true;
    hark_mpi_status_set(&r->status, r->peer, r->tag, bytes < room ? bytes : room);
    r->status.MPI_ERROR = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

static void go_on(struct request *r)
{
    const struct partitioned *p = r->partitioned;
    if (p->noticed && p->count == p->notice.partitions) settle(r);
    else hark_mpi_partitioned_post(r);
}

/* The posted receive is done. */
static void took(struct request *r)
{
    struct partitioned *p = r->partitioned;
    p->posted = false;
    if (!p->noticed) {
        p->noticed = true;
        p->is_there = flags(p->notice.partitions);
    }
    if (r->active) go_on(r);
}

/* Takes one message at most: a look at one part must not depend on whether others have arrived. */
static bool take_one(struct request *r)
{
    if (!r->partitioned->posted) return false;
    hark_app_try(&r->receive);
    if (!r->receive.done) return false;
    took(r);
    return true;
}

static int start_receive(struct request *r)
{
    struct partitioned *p = r->partitioned;
    r->active = true;
    r->done = false;
    if (r->peer == MPI_PROC_NULL) {
        r->done = true;
        hark_mpi_status_set(&r->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return HARK_A_OK;
    }
    p->count = 0;
    if (p->is_there) memset(p->is_there, 0, p->notice.partitions);
    if (!p->posted) go_on(r);
    return HARK_A_OK;
}

/* True if all parts of the sender that overlap this partition of the receiver have arrived. */
static bool has_arrived(const struct request *r, int partition)
{
    const struct partitioned *p = r->partitioned;
    uint64_t bytes = bytes_of(r), from = bytes * (uint64_t)partition;
    if (r->done) return true;
    if (!p->noticed || p->notice.bytes == 0 || bytes == 0) return false;
    uint64_t last = (from + bytes - 1) / p->notice.bytes;
    for (uint64_t i = from / p->notice.bytes; i <= last && i < p->notice.partitions; i++)
        if (!p->is_there[i]) return false;
    return true;
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static int start_send(struct request *r)
{
    struct partitioned *p = r->partitioned;
    r->active = true;
    r->done = p->notice.partitions == 0;
    p->count = 0;
    memset(p->is_there, 0, p->notice.partitions);
    hark_mpi_status_empty(&r->status);
    return HARK_A_OK;
}

static int send_part(struct request *r, int partition)
{
    size_t bytes = bytes_of(r);
    uint64_t number = (uint64_t)partition;
    uint8_t *message = hark_mpi_memory(HEADER + bytes);
    memcpy(message, &number, HEADER);
    hark_mpi_pack(r->type, r->count * (size_t)r->partitioned->partitions, r->buffer,
        (size_t)number * bytes, message + HEADER, bytes);
    if (hark_mpi_has_padding(r->type)) hark_mpi_clear_padding(r->type, message + HEADER, bytes);
    int tag = HARK_APP_OWN | (int)r->partitioned->notice.channel;
    int status = hark_mpi_coll_send(r->comm, message, HEADER + bytes, r->peer, tag);
    free(message);
    return status;
}

/* Returns an error code of MPI. */
static int make_ready(struct request *r, int partition, const char *call)
{
    struct partitioned *p = r->partitioned;
    if (partition < 0 || partition >= p->partitions)
        return hark_mpi_error(r->comm, MPI_ERR_ARG, call,
            "the partition is %d, and the request has 0 .. %d", partition, p->partitions - 1);
    if (p->is_there[partition])
        return hark_mpi_error(
            r->comm, MPI_ERR_ARG, call, "partition %d is marked as ready already", partition);
    if (r->peer != MPI_PROC_NULL) {
        int status = send_part(r, partition);
        if (status < 0) return hark_mpi_status(r->comm, status, call);
    }
    p->is_there[partition] = 1;
    r->done = ++p->count == p->notice.partitions;
    return MPI_SUCCESS;
}

/* ---- what requests do: request.c, image.c -----------------------------------------------------
 */

void hark_mpi_partitioned_again(struct request *r)
{
    r->start = r->what == REQUEST_PARTITIONED_SEND ? start_send : start_receive;
}

bool hark_mpi_partitioned_try(struct request *r)
{
    while (!r->done && take_one(r)) continue;
    return r->done;
}

void hark_mpi_partitioned_wait(struct request *r, const char *call)
{
    if (r->what == REQUEST_PARTITIONED_SEND)
        hark_mpi_fatal(1,
            "%s waits for partitions that only this thread could make ready: call MPI_Pready for "
            "each before it",
            call);
    while (!r->done) {
        hark_app_complete(&r->receive, call);
        took(r);
    }
}

void hark_mpi_partitioned_note(struct request *r)
{
    while (r->partitioned->posted && r->receive.done) took(r);
}

/* The requests that the program has freed before their notice came, linked by `next`: a notice that
 * comes later still matches them. */
static struct request *kept;

/* Releases the requests of `kept` whose notice has come; at the end all of them. */
static void sweep(bool all)
{
    for (struct request **at = &kept, *r; (r = *at) != NULL;) {
        bool waits = r->partitioned->posted && !r->receive.done;
        if (waits && !all) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (waits) hark_app_unpost(&r->receive);
        hark_mpi_request_release(r);
    }
}

static void keep(struct request *r)
{
    r->partitioned->freed = true;
    r->next = kept;
    kept = r;
}

bool hark_mpi_partitioned_keeps(struct request *r)
{
    sweep(false);
    hark_mpi_partitioned_note(r);
    if (!r->partitioned->posted || r->active) return false;
    keep(r);
    return true;
}

/* Cancels all receives that wait in vain: those of `kept`; that of a notice, if the program has not
 * started the request; and that of a part, if it has freed the request. */
void hark_mpi_partitioned_close(void)
{
    sweep(true);
    for (struct hark_request *h = hark_app.posted, *next; h; h = next) {
        next = h->next;
        if (h->tag >= 0 || (h->ctx % 4 != OF_ACKNOWLEDGEMENTS && h->ctx % 4 != OF_COLLECTIVES))
            continue;
        struct request *r = hark_mpi_request_of(h);
        if (r->active && !r->forgotten) continue; /* the program should have waited for it */
        hark_app_unpost(h);
        r->partitioned->posted = false;
    }
}

void hark_mpi_partitioned_remember(void)
{
    kept = NULL;
}

/* ---- checkpoints ------------------------------------------------------------------------------
 */

void hark_mpi_partitioned_put(const struct request *r, void (*put)(const void *from, size_t length))
{
    const struct partitioned *p = r->partitioned;
    const uint32_t of[] = {(uint32_t)p->partitions, p->noticed, p->freed, p->posted,
        p->notice.channel, p->notice.partitions, p->count, p->is_there != NULL};
    put(of, sizeof of);
    put(&p->notice.bytes, sizeof p->notice.bytes);
    if (p->is_there) put(p->is_there, p->notice.partitions);
}

void hark_mpi_partitioned_get(struct request *r, void (*get)(void *to, size_t length))
{
    struct partitioned *p = r->partitioned;
    uint32_t of[8];
    if (p == NULL) r->partitioned = p = hark_mpi_memory(sizeof *p);
    else free(p->is_there);
    get(of, sizeof of);
    *p = (struct partitioned){.partitions = (int)of[0],
        .noticed = of[1],
        .freed = of[2],
        .posted = of[3],
        .notice = {.channel = of[4], .partitions = of[5]},
        .count = of[6]};
    if (p->freed) keep(r);
    get(&p->notice.bytes, sizeof p->notice.bytes);
    if (!of[7]) return;
    p->is_there = flags(p->notice.partitions);
    get(p->is_there, p->notice.partitions);
}

/* ---- what the program calls -------------------------------------------------------------------
 */

#if MPI_VERSION >= 4
static struct request *make(struct comm *c, int what, const void *buffer, int partitions,
    MPI_Count count, struct type *t, int peer, int tag)
{
    struct request *r = hark_mpi_request_new(c);
    r->what = (__typeof__(r->what))what;
    r->buffer = (void *)(uintptr_t)buffer;
    r->count = (size_t)count;
    r->type = t;
    t->o.references++;
    r->peer = peer;
    r->tag = tag;
    r->persistent = r->done = true;
    r->partitioned = hark_mpi_memory(sizeof *r->partitioned);
    *r->partitioned = (struct partitioned){.partitions = partitions};
    hark_mpi_partitioned_again(r);
    return r;
}

/* Status of the application layer. */
static int announce(struct request *r)
{
    struct partitioned *p = r->partitioned;
    struct comm *c = r->comm;
    p->notice = (struct notice){.partitions = (uint32_t)p->partitions, .bytes = bytes_of(r)};
    p->is_there = flags(p->notice.partitions);
    if (r->peer == MPI_PROC_NULL) return HARK_A_OK;
    p->notice.channel = c->channels++ & TAG_LIMIT;
    return hark_app_send(&p->notice, sizeof p->notice,
        hark_mpi_group_world_rank(hark_mpi_peers(c), r->peer),
        hark_mpi_context(c, OF_ACKNOWLEDGEMENTS), HARK_APP_OWN | r->tag);
}

static int expect(struct request *r)
{
    if (r->peer != MPI_PROC_NULL) hark_mpi_partitioned_post(r);
    return HARK_A_OK;
}

#if defined(HARK_MPI_ABI)
#define BOTH_COUNTS(X, ...) X(, __VA_ARGS__) X(_c, __VA_ARGS__)
#else
#define BOTH_COUNTS(X, ...) X(, __VA_ARGS__)
#endif

#define PARTITIONED(suffix, name, buffer_type, kind, prepare)                                      \
    PUBLIC(name##suffix)                                                                           \
    int PMPI_##name##suffix(buffer_type buffer, int partitions, MPI_Count count,                   \
        MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Info info,                    \
        MPI_Request *request)                                                                      \
    {                                                                                              \
        (void)info;                                                                                \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED(c, partitions >= 0, MPI_ERR_COUNT, "there are %d partitions", partitions);            \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_PEER(c, peer);                                                                        \
        NEED_TAG(c, tag);                                                                          \
        NEED(c, request, MPI_ERR_ARG, "request is NULL");                                          \
        if (peer != MPI_PROC_NULL && partitions) NEED_BUFFER(c, buffer, count, t);                 \
        struct request *r = make(c, kind, buffer, partitions, count, t, peer, tag);                \
        *request = HANDLE(MPI_Request, r);                                                         \
        int status = prepare(r);                                                                   \
        return status < 0 ? hark_mpi_status(c, status, __func__) : MPI_SUCCESS;                    \
    }
BOTH_COUNTS(PARTITIONED, Psend_init, const void *, REQUEST_PARTITIONED_SEND, announce)
BOTH_COUNTS(PARTITIONED, Precv_init, void *, REQUEST_PARTITIONED_RECEIVE, expect)

#define NEED_SENDING(r, handle)                                                                    \
    NEED_OPEN();                                                                                   \
    struct request *r = REQUEST(handle);                                                           \
    NEED(NULL, r && r->what == REQUEST_PARTITIONED_SEND, MPI_ERR_REQUEST,                          \
        "the request is no partitioned send, or not valid");                                       \
    NEED(r->comm, r->active, MPI_ERR_REQUEST,                                                      \
        "the partitioned send is not active: call MPI_Start first")

PUBLIC(Pready)
int PMPI_Pready(int partition, MPI_Request request)
{
    NEED_SENDING(r, request);
    return make_ready(r, partition, __func__);
}

PUBLIC(Pready_range)
int PMPI_Pready_range(int low, int high, MPI_Request request)
{
    NEED_SENDING(r, request);
    int code = MPI_SUCCESS;
    for (int i = low; i <= high && code == MPI_SUCCESS; i++) code = make_ready(r, i, __func__);
    return code;
}

/* MPICH 4.0's mpi.h has no const there. */
#if defined(HARK_MPI_MPICH)
#define LIST int
#else
#define LIST const int
#endif

PUBLIC(Pready_list)
int PMPI_Pready_list(int length, LIST partitions[], MPI_Request request)
{
    NEED_SENDING(r, request);
    NEED_COUNT(r->comm, length);
    NEED(r->comm, partitions || length == 0, MPI_ERR_ARG, "the list of partitions is NULL");
    int code = MPI_SUCCESS;
    for (int i = 0; i < length && code == MPI_SUCCESS; i++)
        code = make_ready(r, partitions[i], __func__);
    return code;
}

PUBLIC(Parrived)
int PMPI_Parrived(MPI_Request request, int partition, int *flag)
{
    NEED_OPEN();
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = 1;
    if (request == MPI_REQUEST_NULL) return MPI_SUCCESS;
    struct request *r = REQUEST(request);
    NEED(NULL, r && r->what == REQUEST_PARTITIONED_RECEIVE, MPI_ERR_REQUEST,
        "the request is no partitioned receive, or not valid");
    NEED(r->comm, partition >= 0 && partition < r->partitioned->partitions, MPI_ERR_ARG,
        "the partition is %d, and the request has 0 .. %d", partition,
        r->partitioned->partitions - 1);
    if (!r->active || has_arrived(r, partition)) return MPI_SUCCESS;
    hark_process_poll();
    while (!has_arrived(r, partition)) {
        if (take_one(r)) continue;
        if (hark_mpi_missed()) {
            *flag = 0;
            return MPI_SUCCESS;
        }
        hark_app_wait("MPI_Parrived", HARK_WAITS_MESSAGE, &r->receive, 1);
    }
    return MPI_SUCCESS;
}
#endif
