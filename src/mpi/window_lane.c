/* The origin of one-sided calls: what is queued for a target, how it is sent, and what comes back.
 */
#include "window.h"

/* A lane that holds more, or wants more back, is sent before its epoch ends. */
enum { FULL = 1 << 20, ALIGNMENT = 16 };

static size_t aligned(size_t length)
{
    return (length + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

/* Room for so many more bytes. */
static uint8_t *extend(struct lane *l, size_t length)
{
    size_t begin = l->length, end = begin + length;
    if (end > l->room) {
        size_t room = end + end / 2 + 256;
        uint8_t *more = realloc(l->bytes, room);
        if (more == NULL) hark_mpi_fatal(1, "no memory for %zu bytes of one-sided calls", room);
        l->bytes = more;
        l->room = room;
    }
    l->length = end;
    return l->bytes + begin;
}

/* With zeroes: a process that executes again has to send the same bytes. */
static void align(struct lane *l)
{
    size_t gap = aligned(l->length) - l->length;
    memset(extend(l, gap), 0, gap);
}

static void begin_message(struct lane *l)
{
    if (l->length) return;
    memset(extend(l, aligned(sizeof(struct window_head))), 0, aligned(sizeof(struct window_head)));
}

/* The runs of an access are written into its lane while the datatype is walked. */
struct runs {
    struct lane *lane;
    int64_t base;
    uint64_t count;
    struct run open; /* the last one, which may grow */
};

static void put_run(struct runs *runs)
{
    if (runs->open.count == 0) return;
    memcpy(extend(runs->lane, sizeof runs->open), &runs->open, sizeof runs->open);
    runs->count++;
}

/* One piece more: most are as long as the one before, and as far from it as that from its own. */
static void visit(void *argument, ptrdiff_t at, size_t length)
{
    struct runs *runs = argument;
    struct run *r = &runs->open;
    int64_t here = runs->base + at;
    if (r->count == 1 && here == r->at + (int64_t)r->length) {
        r->length += length;
        return;
    }
    if (r->count == 1 && r->length == length) r->stride = here - r->at;
    if (r->count && r->length == length && here == r->at + (int64_t)r->count * r->stride) {
        r->count++;
        return;
    }
    put_run(runs);
    *r = (struct run){here, length, 1, 0};
}

static uint64_t put_runs(struct lane *l, const struct access *a, size_t bytes)
{
    struct runs runs = {.lane = l, .base = a->at};
    hark_mpi_type_walk(a->target_type, a->target_count, 0, bytes, visit, &runs);
    put_run(&runs);
    return runs.count;
}

/* ---- accesses ---------------------------------------------------------------------------------
 */

static bool sends_data(const struct access *a)
{
    return a->does != DOES_GET && !(a->op && a->op->operation == OPERATION_NO_OP);
}

static bool wants_result(const struct access *a)
{
    return a->does == DOES_GET || a->does == DOES_GET_ACCUMULATE || a->does == DOES_COMPARE;
}

static size_t bytes_of(const struct access *a)
{
    if (a->does == DOES_GET) return a->target_count * a->target_type->size;
    if (a->op && a->op->operation == OPERATION_NO_OP) return a->target_count * a->target_type->size;
    return a->count * a->type->size;
}

static void want(struct lane *l, const struct access *a, size_t bytes)
{
    struct result *r = hark_mpi_memory(sizeof *r);
    *r = (struct result){NULL, a->result, a->result_count, bytes, a->result_type};
    a->result_type->o.references++;
    if (l->last) l->last->next = r;
    else l->first = r;
    l->last = r;
    l->wanted += bytes;
}

static uint64_t put_data(struct lane *l, const struct access *a, size_t bytes)
{
    if (!sends_data(a)) return 0;
    align(l);
    hark_mpi_pack(a->type, a->count, a->origin, 0, extend(l, bytes), bytes);
    if (a->does != DOES_COMPARE) return bytes;
    hark_mpi_pack(a->type, a->count, a->compare, 0, extend(l, bytes), bytes);
    return 2 * bytes;
}

static int send_if_full(struct window *w, int target)
{
    struct lane *l = &w->lane[target];
    if (l->length < FULL && l->wanted < FULL) return HARK_A_OK;
    uint32_t reply = l->wanted ? WANTS_REPLY : 0;
    if (l->lock == LOCK_NONE)
        return l->started ? hark_mpi_lane_send(w, target, OF_EPOCH | reply, TAG_REQUEST)
                          : hark_mpi_lane_send(w, target, reply, TAG_FENCE);
    return hark_mpi_lane_send(w, target, reply, TAG_REQUEST);
}

int hark_mpi_access_queue(struct window *w, const struct access *a)
{
    struct lane *l = &w->lane[a->target];
    size_t bytes = bytes_of(a);
    if (bytes == 0) return HARK_A_OK;
    begin_message(l);
    align(l);
    struct access_head head = {.does = (uint8_t)a->does,
        .operation = (uint8_t)(a->op ? a->op->operation : OPERATION_REPLACE),
        .element = a->element ? MPI_Type_c2f(HANDLE(MPI_Datatype, a->element)) : 0,
        .bytes = bytes};
    size_t place = l->length;
    (void)extend(l, sizeof head);
    head.runs = put_runs(l, a, bytes);
    head.data = put_data(l, a, bytes);
    memcpy(l->bytes + place, &head, sizeof head);
    l->accesses++;
    if (wants_result(a)) want(l, a, bytes);
    return send_if_full(w, a->target);
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static bool is_own(const struct window *w, int target)
{
    return target == w->comm->rank;
}

static uint32_t lock_flags(struct lane *l)
{
    if (l->lock == LOCK_NONE || l->lock_is_sent) return 0;
    l->lock_is_sent = true;
    return l->lock == LOCK_SHARED ? LOCKS_SHARED : LOCKS_EXCLUSIVE;
}

static int send_message(struct window *w, const struct lane *l, int target, int tag)
{
    return hark_app_send(l->bytes, l->length, hark_mpi_group_world_rank(w->comm->group, target),
        hark_mpi_context(w->comm, OF_WINDOWS), tag | (tag == TAG_REQUEST ? HARK_APP_MARK : 0));
}

int hark_mpi_lane_send(struct window *w, int target, uint32_t flags, int tag)
{
    struct lane *l = &w->lane[target];
    begin_message(l);
    if (tag == TAG_REQUEST && !(flags & OF_EPOCH)) flags |= lock_flags(l);
    if (flags & LOCKS_EXCLUSIVE && !(flags & UNLOCKS))
        hark_process.unordered = "it flushes windows that it has locked exclusively: these locks "
                                 "are granted to one process after the other";
    struct window_head head = {flags, l->accesses};
    memcpy(l->bytes, &head, sizeof head);
    /* Elsewhere the end of the epoch at the target takes it, and nobody passes that without it. */
    l->unsure = l->lock != LOCK_NONE && !(flags & WANTS_REPLY);
    if (flags & WANTS_REPLY) l->replies++;
    l->wanted = 0;
    int status = HARK_A_OK;
    if (is_own(w, target) && tag == TAG_REQUEST) hark_mpi_window_ask_self(w, l->bytes, l->length);
    else status = send_message(w, l, target, tag);
    l->length = 0;
    l->accesses = 0;
    if (l->room > FULL) {
        free(l->bytes);
        l->bytes = NULL;
        l->room = 0;
    }
    return status;
}

void hark_mpi_lane_take(struct lane *l, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        struct result *r = l->first;
        if (r == NULL || r->bytes > length - at)
            hark_mpi_fatal(
                1, "a reply of a window has %zu bytes more than were asked for", length - at);
        hark_mpi_unpack(r->type, r->count, r->at, 0, bytes + at, r->bytes);
        at += r->bytes;
        l->first = r->next;
        if (l->first == NULL) l->last = NULL;
        hark_mpi_type_release(r->type);
        free(r);
    }
    l->replies--;
}

int hark_mpi_lane_collect(struct window *w, int target, const char *call)
{
    struct lane *l = &w->lane[target];
    int worst = HARK_A_OK;
    while (is_own(w, target) && l->replies) /* a lock that another has */
        if (!hark_app_serve()) hark_app_wait(call, HARK_WAITS_MESSAGE, &w->receive, 1);
    while (l->replies) {
        struct arrived a;
        int status = hark_mpi_window_receive(w, target, OF_ACKNOWLEDGEMENTS, 0, &a, call);
        if (status < 0) worst = status;
        hark_mpi_lane_take(l, a.bytes, a.length);
        free(a.bytes);
    }
    return worst;
}

int hark_mpi_lane_flush(struct window *w, int target, uint32_t flags, const char *call)
{
    if (is_own(w, target)) hark_mpi_window_look(w, call);
    int status = hark_mpi_lane_send(w, target, flags | WANTS_REPLY, TAG_REQUEST);
    int collected = hark_mpi_lane_collect(w, target, call);
    return status < 0 ? status : collected;
}
