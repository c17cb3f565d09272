/* Point-to-point messages: blocking sends and receives, and what they stand on. A send of any mode
 * is complete when it returns, for the log has the message; only a synchronous one waits, until a
 * receive has taken it. */
#include <sched.h>

#include "internal.h"

/* ---- contexts and ranks -----------------------------------------------------------------------
 */

static int source_in_job(const struct comm *c, int source)
{
    return source == MPI_ANY_SOURCE ? HARK_ANY_SOURCE
                                    : hark_mpi_group_world_rank(hark_mpi_peers(c), source);
}

static int tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? HARK_ANY_TAG : tag;
}

void hark_mpi_status_set(MPI_Status *s, int source, int tag, uint64_t bytes)
{
    s->MPI_SOURCE = source;
    s->MPI_TAG = tag;
    status_set_cancelled(s, false);
    status_set_bytes(s, bytes);
}

void hark_mpi_status_empty(MPI_Status *s)
{
    hark_mpi_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    s->MPI_ERROR = MPI_SUCCESS;
}

static void status_of_nobody(MPI_Status *s)
{
    hark_mpi_status_set(s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* `room` bytes at most were received. */
void hark_mpi_status_received(
    struct comm *c, const struct hark_info *info, size_t room, MPI_Status *s)
{
    hark_mpi_status_set(s, hark_mpi_group_local_rank(hark_mpi_peers(c), info->source),
        info->tag & TAG_LIMIT, info->length < room ? info->length : room);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

/* `left` NULL: waits until the message has left its memory; see hark_app_start(). */
static int send_bytes(
    struct comm *c, const void *data, size_t length, int peer, int of, int tag, uint32_t *left)
{
    const int to = hark_mpi_group_world_rank(hark_mpi_peers(c), peer);
    const uint32_t ctx = hark_mpi_context(c, of);
    return left ? hark_app_start(data, length, to, ctx, tag, left)
                : hark_app_send(data, length, to, ctx, tag);
}

void hark_mpi_clear_padding(const struct type *t, void *packed, size_t length)
{
    enum { NUMBER = 10, WIDTH = 16 };
    size_t step = t->element == ELEMENT_PAIR_LONG_DOUBLE ? WIDTH + sizeof(int) : WIDTH;
    uint8_t *bytes = packed;
    for (size_t i = 0; i + WIDTH <= length; i += step)
        memset(bytes + i + NUMBER, 0, WIDTH - NUMBER);
}

static int send_type(struct comm *c, const void *data, size_t count, const struct type *t, int peer,
    int of, int tag, uint32_t *left)
{
    size_t length = count * t->size;
    bool has_padding = hark_mpi_has_padding(t);
    if ((hark_mpi_type_is_block(t, count) && !has_padding) || length == 0)
        return send_bytes(
            c, length ? hark_mpi_type_first(t, data) : NULL, length, peer, of, tag, left);
    void *packed = hark_mpi_scratch(length);
    hark_mpi_pack(t, count, data, 0, packed, length);
    if (has_padding) hark_mpi_clear_padding(t, packed, length);
    int status = send_bytes(c, packed, length, peer, of, tag, NULL);
    hark_mpi_scratch_free(packed);
    return status;
}

int hark_mpi_send(struct comm *c, const void *data, size_t count, const struct type *t, int peer,
    int tag, bool synchronous)
{
    return send_type(
        c, data, count, t, peer, OF_MESSAGES, tag | (synchronous ? HARK_APP_MARK : 0), NULL);
}

int hark_mpi_send_start(struct comm *c, const void *data, size_t count, const struct type *t,
    int peer, int tag, bool synchronous, uint32_t *left)
{
    *left = 0;
    return send_type(
        c, data, count, t, peer, OF_MESSAGES, tag | (synchronous ? HARK_APP_MARK : 0), left);
}

static void acknowledge(int from, uint32_t ctx, int tag)
{
    int status = hark_app_send(NULL, 0, from, ctx, tag & TAG_LIMIT);
    if (status < 0) hark_mpi_fatal(1, "an acknowledgement: %s", hark_app_error(status));
}

/* A synchronous message is acknowledged by an empty one of the same tag: those with one tag are
 * taken in their order. A request of a window is served. */
void hark_mpi_acknowledge(void)
{
    for (unsigned i = 0; i < hark_app.taken_count; i++) {
        struct taken t = hark_app.taken[i];
        if (t.ctx % 4 == OF_WINDOWS) hark_mpi_window_taken(t.ctx);
        else acknowledge(t.from, t.ctx + OF_ACKNOWLEDGEMENTS, t.tag);
    }
    hark_app.taken_count = 0;
}

void hark_mpi_acknowledge_found(const struct comm *c, const struct hark_info *info)
{
    if (info->tag & HARK_APP_MARK)
        acknowledge(info->source, hark_mpi_context(c, OF_ACKNOWLEDGEMENTS), info->tag);
}

void hark_mpi_post(struct comm *c, struct hark_request *r, int source, int of, int tag)
{
    r->from = source_in_job(c, source);
    r->tag = tag_of(tag);
    r->ctx = hark_mpi_context(c, of);
    r->mask = hark_app_mask(r->tag, r->ctx);
    hark_app_post(r);
}

static int send_synchronous(
    struct comm *c, const void *data, size_t count, const struct type *t, int peer, int tag)
{
    int status = hark_mpi_send(c, data, count, t, peer, tag, true);
    if (status < 0) return status;
    struct hark_request r = {0};
    hark_mpi_post(c, &r, peer, OF_ACKNOWLEDGEMENTS, tag);
    hark_app_complete(&r, "MPI_Ssend");
    return r.status;
}

#define SEND(suffix, count_type, name, function)                                                   \
    PUBLIC(name##suffix)                                                                           \
    int PMPI_##name##suffix(const void *buffer, count_type count, MPI_Datatype datatype, int dest, \
        int tag, MPI_Comm comm)                                                                    \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_PEER(c, dest);                                                                        \
        NEED_TAG(c, tag);                                                                          \
        if (dest == MPI_PROC_NULL) return MPI_SUCCESS;                                             \
        NEED_BUFFER(c, buffer, count, t);                                                          \
        int status = function;                                                                     \
        return status < 0 ? hark_mpi_status(c, status, __func__) : MPI_SUCCESS;                    \
    }

COUNTS(SEND, Send, hark_mpi_send(c, buffer, (size_t)count, t, dest, tag, false))
COUNTS(SEND, Bsend, hark_mpi_send(c, buffer, (size_t)count, t, dest, tag, false))
COUNTS(SEND, Rsend, hark_mpi_send(c, buffer, (size_t)count, t, dest, tag, false))
COUNTS(SEND, Ssend, send_synchronous(c, buffer, (size_t)count, t, dest, tag))

/* ---- receiving --------------------------------------------------------------------------------
 */

/* The payload of a message that is received into a datatype with gaps. */
struct landing {
    struct hark_request r;
    void *buffer;
    size_t count;
    const struct type *type;
};

static void land(struct hark_request *r, const void *payload, size_t length)
{
    struct landing *l = (struct landing *)r;
    hark_mpi_unpack(l->type, l->count, l->buffer, 0, payload, length < r->room ? length : r->room);
}

/* Waits for a message. Status of the application layer. */
static int receive(struct comm *c, void *buffer, size_t count, const struct type *t, int source,
    int of, int tag, struct hark_info *info, const char *call)
{
    struct landing l = {.buffer = buffer, .count = count, .type = t};
    l.r.room = count * t->size;
    if (hark_mpi_type_is_block(t, count)) l.r.data = hark_mpi_type_first(t, buffer);
    else l.r.land = land;
    hark_mpi_post(c, &l.r, source, of, tag);
    hark_app_complete(&l.r, call);
    *info = l.r.info;
    return l.r.status;
}

#define RECV_FUNCTION(suffix, count_type, name)                                                    \
    PUBLIC(Recv##suffix)                                                                           \
    int PMPI_Recv##suffix(void *buffer, count_type count, MPI_Datatype datatype, int source,       \
        int tag, MPI_Comm comm, MPI_Status *status)                                                \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_SOURCE(c, source);                                                                    \
        NEED_TAG_OR_ANY(c, tag);                                                                   \
        if (source == MPI_PROC_NULL) {                                                             \
            if (status != MPI_STATUS_IGNORE) status_of_nobody(status);                             \
            return MPI_SUCCESS;                                                                    \
        }                                                                                          \
        NEED_BUFFER(c, buffer, count, t);                                                          \
        struct hark_info info;                                                                     \
        int result =                                                                               \
            receive(c, buffer, (size_t)count, t, source, OF_MESSAGES, tag, &info, "MPI_Recv");     \
        if (status != MPI_STATUS_IGNORE)                                                           \
            hark_mpi_status_received(c, &info, (size_t)count * t->size, status);                   \
        return result < 0 ? hark_mpi_truncated(c, &info, (size_t)count * t->size, __func__)        \
                          : MPI_SUCCESS;                                                           \
    }
COUNTS(RECV_FUNCTION, Recv)

int hark_mpi_truncated(struct comm *c, const struct hark_info *info, size_t room, const char *call)
{
    return hark_mpi_error(c, MPI_ERR_TRUNCATE, call,
        "the message from rank %d with tag %d has %zu bytes, and the receive has room for %zu",
        hark_mpi_group_local_rank(hark_mpi_peers(c), info->source), info->tag & TAG_LIMIT,
        info->length, room);
}

/* Both at once: the receive is posted, the message sent, and then the other awaited. */
static int exchange(struct comm *c, const void *out, size_t out_count, const struct type *out_type,
    int to, int out_tag, struct landing *l, int from, int in_tag, const char *call)
{
    l->r.room = l->count * l->type->size;
    if (hark_mpi_type_is_block(l->type, l->count))
        l->r.data = hark_mpi_type_first(l->type, l->buffer);
    else l->r.land = land;
    if (from != MPI_PROC_NULL) hark_mpi_post(c, &l->r, from, OF_MESSAGES, in_tag);
    int status = to == MPI_PROC_NULL
                     ? HARK_A_OK
                     : hark_mpi_send(c, out, out_count, out_type, to, out_tag, false);
    if (from != MPI_PROC_NULL) hark_app_complete(&l->r, call);
    return status;
}

static int after_exchange(
    struct comm *c, int sent, struct landing *l, int from, MPI_Status *status, const char *call)
{
    if (status != MPI_STATUS_IGNORE && from == MPI_PROC_NULL) status_of_nobody(status);
    else if (status != MPI_STATUS_IGNORE)
        hark_mpi_status_received(c, &l->r.info, l->r.room, status);
    if (sent < 0) return hark_mpi_status(c, sent, call);
    return l->r.status < 0 ? hark_mpi_truncated(c, &l->r.info, l->r.room, call) : MPI_SUCCESS;
}

#define SENDRECV_FUNCTION(suffix, count_type, name)                                                \
    PUBLIC(Sendrecv##suffix)                                                                       \
    int PMPI_Sendrecv##suffix(const void *out, count_type out_count, MPI_Datatype out_datatype,    \
        int dest, int out_tag, void *in, count_type in_count, MPI_Datatype in_datatype,            \
        int source, int in_tag, MPI_Comm comm, MPI_Status *status)                                 \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, out_count);                                                                  \
        NEED_COUNT(c, in_count);                                                                   \
        NEED_COMMITTED(c, out_type, out_datatype);                                                 \
        NEED_COMMITTED(c, in_type, in_datatype);                                                   \
        NEED_PEER(c, dest);                                                                        \
        NEED_SOURCE(c, source);                                                                    \
        NEED_TAG(c, out_tag);                                                                      \
        NEED_TAG_OR_ANY(c, in_tag);                                                                \
        if (dest != MPI_PROC_NULL) NEED_BUFFER(c, out, out_count, out_type);                       \
        if (source != MPI_PROC_NULL) NEED_BUFFER(c, in, in_count, in_type);                        \
        struct landing l = {.buffer = in, .count = (size_t)in_count, .type = in_type};             \
        int sent = exchange(c, out, (size_t)out_count, out_type, dest, out_tag, &l, source,        \
            in_tag, "MPI_Sendrecv");                                                               \
        return after_exchange(c, sent, &l, source, status, __func__);                              \
    }
COUNTS(SENDRECV_FUNCTION, Sendrecv)

/* What is sent has left the buffer when the send returns: the message comes into it after that. */
#define SENDRECV_REPLACE_FUNCTION(suffix, count_type, name)                                        \
    PUBLIC(Sendrecv_replace##suffix)                                                               \
    int PMPI_Sendrecv_replace##suffix(void *buffer, count_type count, MPI_Datatype datatype,       \
        int dest, int out_tag, int source, int in_tag, MPI_Comm comm, MPI_Status *status)          \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_PEER(c, dest);                                                                        \
        NEED_SOURCE(c, source);                                                                    \
        NEED_TAG(c, out_tag);                                                                      \
        NEED_TAG_OR_ANY(c, in_tag);                                                                \
        int sent = HARK_A_OK;                                                                      \
        if (dest != MPI_PROC_NULL) {                                                               \
            NEED_BUFFER(c, buffer, count, t);                                                      \
            sent = hark_mpi_send(c, buffer, (size_t)count, t, dest, out_tag, false);               \
        }                                                                                          \
        struct landing l = {.buffer = buffer, .count = (size_t)count, .type = t};                  \
        (void)exchange(                                                                            \
            c, NULL, 0, t, MPI_PROC_NULL, 0, &l, source, in_tag, "MPI_Sendrecv_replace");          \
        return after_exchange(c, sent, &l, source, status, __func__);                              \
    }
COUNTS(SENDRECV_REPLACE_FUNCTION, Sendrecv_replace)

/* ---- probes -----------------------------------------------------------------------------------
 */

static bool look(struct comm *c, int source, int tag, struct hark_info *info)
{
    return hark_app_look(
        source_in_job(c, source), hark_mpi_context(c, OF_MESSAGES), tag_of(tag), info);
}

/* A program that asks in a loop would keep the processor from those that it waits for. */
bool hark_mpi_missed(void)
{
    if (!hark_app_missed()) return false;
    sched_yield();
    return true;
}

/* Until there is a message, or once: then whether there is one. */
bool hark_mpi_probe(
    struct comm *c, int source, int tag, bool wait, struct hark_info *info, const char *call)
{
    struct hark_request sought = {.from = source_in_job(c, source), .tag = tag_of(tag)};
    if (!wait) hark_process_poll();
    while (!look(c, source, tag, info)) {
        if (hark_app_serve()) continue;
        if (!wait && hark_mpi_missed()) return false;
        hark_app_wait(call, HARK_WAITS_MESSAGE, &sought, 1);
    }
    return true;
}

PUBLIC(Probe)
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    NEED_COMM(c, comm);
    NEED_SOURCE(c, source);
    NEED_TAG_OR_ANY(c, tag);
    struct hark_info info;
    if (source == MPI_PROC_NULL) {
        if (status != MPI_STATUS_IGNORE) status_of_nobody(status);
        return MPI_SUCCESS;
    }
    hark_mpi_probe(c, source, tag, true, &info, "MPI_Probe");
    if (status != MPI_STATUS_IGNORE) hark_mpi_status_received(c, &info, info.length, status);
    return MPI_SUCCESS;
}

PUBLIC(Iprobe)
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    NEED_COMM(c, comm);
    NEED_SOURCE(c, source);
    NEED_TAG_OR_ANY(c, tag);
    NEED(c, flag, MPI_ERR_ARG, "flag is NULL");
    struct hark_info info;
    *flag = 1;
    if (source == MPI_PROC_NULL) {
        if (status != MPI_STATUS_IGNORE) status_of_nobody(status);
        return MPI_SUCCESS;
    }
    *flag = hark_mpi_probe(c, source, tag, false, &info, "MPI_Iprobe");
    if (*flag && status != MPI_STATUS_IGNORE)
        hark_mpi_status_received(c, &info, info.length, status);
    return MPI_SUCCESS;
}

/* ---- inside collective calls ------------------------------------------------------------------
 */

int hark_mpi_coll_send(struct comm *c, const void *data, size_t length, int peer, int tag)
{
    return send_bytes(c, data, length, peer, OF_COLLECTIVES, tag, NULL);
}

int hark_mpi_coll_send_type(
    struct comm *c, const void *data, size_t count, const struct type *t, int peer, int tag)
{
    return send_type(c, data, count, t, peer, OF_COLLECTIVES, tag, NULL);
}

void hark_mpi_coll_post(
    struct comm *c, struct hark_request *r, void *data, size_t room, int peer, int tag)
{
    *r = (struct hark_request){.data = data, .room = room};
    hark_mpi_post(c, r, peer, OF_COLLECTIVES, tag);
}

int hark_mpi_coll_recv(struct comm *c, void *data, size_t room, int peer, int tag)
{
    struct hark_request r;
    hark_mpi_coll_post(c, &r, data, room, peer, tag);
    hark_app_complete(&r, "MPI_Recv");
    return r.status;
}

int hark_mpi_coll_recv_type(
    struct comm *c, void *data, size_t count, const struct type *t, int peer, int tag)
{
    struct hark_info info;
    return receive(c, data, count, t, peer, OF_COLLECTIVES, tag, &info, "MPI_Recv");
}

int hark_mpi_coll_exchange(struct comm *c, const void *out, size_t out_length, int to, void *in,
    size_t in_room, int from, int tag)
{
    struct hark_request r = {.status = HARK_A_OK};
    if (from != MPI_PROC_NULL) hark_mpi_coll_post(c, &r, in, in_room, from, tag);
    int status = to == MPI_PROC_NULL ? HARK_A_OK : hark_mpi_coll_send(c, out, out_length, to, tag);
    if (from != MPI_PROC_NULL) hark_app_complete(&r, "MPI_Recv");
    return status < 0 ? status : r.status;
}
