/* The target of one-sided calls: what it does with requests, when, and what it sends back. */
#include "window.h"

struct window *hark_mpi_windows;

/* ---- memory of the target ---------------------------------------------------------------------
 */

/* One access of a message, while it is carried out. */
struct served {
    struct window *w;
    int from;
    struct access_head head;
    const struct run *run;
    const uint8_t *data;
};

/* How many bytes from `at` on are attached in one piece. */
static uint64_t attached_at(const struct window *w, uintptr_t at)
{
    for (size_t i = 0; i < w->regions; i++) {
        uintptr_t skip = at - w->region[i].at;
        if (at >= w->region[i].at && skip < w->region[i].length) return w->region[i].length - skip;
    }
    return 0;
}

/* The bytes may be in several attached regions that lie side by side. */
static bool is_attached(const struct window *w, uintptr_t at, uint64_t length)
{
    for (uint64_t n; length; at += n, length -= n) {
        n = attached_at(w, at);
        if (n == 0) return false;
        if (n > length) n = length;
    }
    return true;
}

/* Where these bytes are. The origin has compared them with the size of the window; what is attached
 * to a dynamic one only the target knows. */
static uint8_t *memory_at(const struct served *s, int64_t at, uint64_t length)
{
    const struct window *w = s->w;
    if (w->flavor != MPI_WIN_FLAVOR_DYNAMIC) return w->base + at;
    if (!is_attached(w, (uintptr_t)at, length))
        hark_mpi_fatal(1,
            "rank %d of a dynamic window accesses %llu bytes at %#llx here, where no memory is "
            "attached to it: call MPI_Win_attach before, and MPI_Win_detach after the access",
            s->from, (unsigned long long)length, (unsigned long long)at);
    return (uint8_t *)(uintptr_t)at;
}

/* All bytes of the access, one piece after the other, to or from memory without gaps. */
static void move_runs(const struct served *s, uint8_t *packed, bool out)
{
    for (uint64_t i = 0; i < s->head.runs; i++) {
        const struct run *r = &s->run[i];
        for (uint64_t k = 0; k < r->count; k++, packed += r->length) {
            uint8_t *at = memory_at(s, r->at + (int64_t)k * r->stride, r->length);
            if (out) memcpy(packed, at, r->length);
            else memcpy(at, packed, r->length);
        }
    }
}

static void write_runs(const struct served *s, const uint8_t *packed)
{
    move_runs(s, (uint8_t *)(uintptr_t)packed, false);
}

/* ---- accumulating -----------------------------------------------------------------------------
 */

/* Operations need the layout of the datatype in memory, in which pairs have gaps. */
static void combine_with_gaps(
    const struct op *op, struct type *t, const uint8_t *data, uint8_t *packed, size_t bytes)
{
    size_t count = bytes / t->size;
    uint8_t *a = calloc(2 * count, (size_t)t->extent), *b = a + count * (size_t)t->extent;
    if (a == NULL) hark_mpi_fatal(1, "no memory for an MPI_Accumulate of %zu bytes", bytes);
    hark_mpi_unpack(t, count, a, 0, data, bytes);
    hark_mpi_unpack(t, count, b, 0, packed, bytes);
    hark_mpi_combine(op, a, b, count, t);
    hark_mpi_pack(t, count, b, 0, packed, bytes);
    free(a);
}

static void accumulate(const struct served *s)
{
    if (s->head.operation == OPERATION_NO_OP) return;
    if (s->head.operation == OPERATION_REPLACE) {
        write_runs(s, s->data);
        return;
    }
    const struct op *op = hark_mpi_op_of((enum operation)s->head.operation);
    struct type *t = TYPE(MPI_Type_f2c(s->head.element));
    if (t == NULL) hark_mpi_fatal(1, "an MPI_Accumulate names the datatype %d", s->head.element);
    if (t->contiguous && s->head.runs == 1 && s->run->count == 1) {
        hark_mpi_combine(
            op, s->data, memory_at(s, s->run->at, s->run->length), s->head.bytes / t->size, t);
        return;
    }
    uint8_t *packed = hark_mpi_memory(s->head.bytes);
    move_runs(s, packed, true);
    if (t->contiguous) hark_mpi_combine(op, s->data, packed, s->head.bytes / t->size, t);
    else combine_with_gaps(op, t, s->data, packed, s->head.bytes);
    write_runs(s, packed);
    free(packed);
}

/* `data` is the new value, and behind it the value with which the old one is compared. */
static void compare_and_swap(const struct served *s, const uint8_t *old)
{
    if (memcmp(old, s->data + s->head.bytes, s->head.bytes) == 0) write_runs(s, s->data);
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static size_t aligned(size_t length)
{
    return (length + 15) & ~(size_t)15;
}

/* The access at `*at`, and the place of the next. The bytes are those of a process of this job. */
static struct served next_access(struct window *w, int from, const uint8_t *bytes, size_t *at)
{
    struct served s = {.w = w, .from = from};
    memcpy(&s.head, bytes + *at, sizeof s.head);
    *at += sizeof s.head;
    s.run = (const struct run *)(const void *)(bytes + *at);
    *at += s.head.runs * sizeof(struct run);
    if (s.head.data) *at = aligned(*at);
    s.data = bytes + *at;
    *at = aligned(*at + s.head.data);
    return s;
}

/* Returns how many bytes of results there are. */
static size_t carry_out(const struct served *s, uint8_t *result)
{
    bool gives = s->head.does == DOES_GET || s->head.does == DOES_GET_ACCUMULATE ||
                 s->head.does == DOES_COMPARE;
    if (gives) move_runs(s, result, true);
    switch ((enum does)s->head.does) {
    case DOES_GET: break;
    case DOES_PUT: write_runs(s, s->data); break;
    case DOES_ACCUMULATE:
    case DOES_GET_ACCUMULATE: accumulate(s); break;
    case DOES_COMPARE: compare_and_swap(s, result); break;
    }
    return gives ? s->head.bytes : 0;
}

static size_t bytes_wanted(struct window *w, const uint8_t *bytes, uint32_t accesses)
{
    size_t all = 0, at = aligned(sizeof(struct window_head));
    for (uint32_t i = 0; i < accesses; i++) {
        struct served s = next_access(w, 0, bytes, &at);
        if (s.head.does != DOES_PUT && s.head.does != DOES_ACCUMULATE) all += s.head.bytes;
    }
    return all;
}

static void reply(struct window *w, int to, const uint8_t *results, size_t length)
{
    if (to == w->comm->rank) {
        hark_mpi_lane_take(&w->lane[to], results, length);
        return;
    }
    int status = hark_app_send(results, length, hark_mpi_group_world_rank(w->comm->group, to),
        hark_mpi_context(w->comm, OF_ACKNOWLEDGEMENTS), 0);
    if (status < 0) hark_mpi_fatal(1, "a reply of a window: %s", hark_app_error(status));
}

void hark_mpi_window_apply(struct window *w, int from, const uint8_t *bytes, size_t length)
{
    struct window_head head;
    memcpy(&head, bytes, sizeof head);
    size_t wanted = head.flags & WANTS_REPLY ? bytes_wanted(w, bytes, head.accesses) : 0;
    uint8_t *results = hark_mpi_memory(wanted), *result = results;
    size_t at = aligned(sizeof head);
    for (uint32_t i = 0; i < head.accesses; i++) {
        struct served s = next_access(w, from, bytes, &at);
        result += carry_out(&s, result);
    }
    (void)length;
    if (head.flags & WANTS_REPLY) reply(w, from, results, wanted);
    free(results);
}

/* ---- when a request is served -----------------------------------------------------------------
 */

static uint32_t flags_of(const struct pending *p)
{
    struct window_head head;
    memcpy(&head, p->bytes, sizeof head);
    return head.flags;
}

/* True if p, or a later pending request of its origin, wants a reply: the origin waits for that,
 * perhaps before this process waits for the origin. */
static bool reply_is_due(const struct pending *p)
{
    for (const struct pending *x = p; x; x = x->next)
        if (x->from == p->from && flags_of(x) & WANTS_REPLY) return true;
    return false;
}

static bool lock_is_free(const struct window *w, uint32_t flags)
{
    return !w->exclusive_lock && (flags & LOCKS_SHARED || w->shared_locks == 0);
}

/* A lock that has to wait delays all locks that were requested after it. */
static bool may_serve(const struct window *w, const struct pending *p, bool *lock_waits)
{
    uint32_t flags = flags_of(p);
    if (flags & OF_EPOCH) return w->exposed[p->from] == EXPOSED && reply_is_due(p);
    if (!(flags & (LOCKS_SHARED | LOCKS_EXCLUSIVE))) return true;
    if (!*lock_waits && lock_is_free(w, flags)) return true;
    *lock_waits = true;
    return false;
}

static void serve(struct window *w, struct pending *p)
{
    uint32_t flags = flags_of(p);
    if (flags & LOCKS_SHARED) w->shared_locks++;
    if (flags & LOCKS_EXCLUSIVE) w->exclusive_lock = true;
    hark_mpi_window_apply(w, p->from, p->bytes, p->length);
    if (flags & UNLOCKS && w->exclusive_lock) w->exclusive_lock = false;
    else if (flags & UNLOCKS) w->shared_locks--;
    if (flags & COMPLETES) w->exposed[p->from] = EXPOSED_COMPLETED;
    free(p->bytes);
    free(p);
}

/* The first pending request that can be served; NULL: there is none. Requests of one origin stay in
 * their order. */
static struct pending **first_servable(struct window *w)
{
    bool lock_waits = false;
    for (struct pending **at = &w->first; *at; at = &(*at)->next) {
        bool earlier = false;
        for (const struct pending *x = w->first; x != *at; x = x->next)
            earlier = earlier || x->from == (*at)->from;
        if (!earlier && may_serve(w, *at, &lock_waits)) return at;
    }
    return NULL;
}

static struct pending *take_out(struct window *w, struct pending **at)
{
    struct pending *p = *at;
    *at = p->next;
    if (w->last == &p->next) w->last = at;
    return p;
}

void hark_mpi_window_serve(struct window *w)
{
    for (struct pending **at; (at = first_servable(w)) != NULL;) serve(w, take_out(w, at));
}

/* ---- requests arrive --------------------------------------------------------------------------
 */

static void land_request(struct hark_request *r, const void *payload, size_t length)
{
    struct window *w = (struct window *)((char *)r - offsetof(struct window, receive));
    w->landed = hark_mpi_memory(length);
    w->landed_length = length;
    memcpy(w->landed, payload, length);
}

void hark_mpi_window_listen(struct window *w)
{
    w->receive = (struct hark_request){.room = SIZE_MAX, .land = land_request};
    hark_mpi_post(w->comm, &w->receive, MPI_ANY_SOURCE, OF_WINDOWS, TAG_REQUEST);
}

void hark_mpi_window_deaf(struct window *w)
{
    if (!w->receive.done) hark_app_unpost(&w->receive);
    w->receive.done = true;
}

/* Takes over the bytes. */
static void arrive(struct window *w, int from, uint8_t *bytes, size_t length)
{
    struct pending *p = hark_mpi_memory(sizeof *p);
    *p = (struct pending){NULL, from, length, bytes};
    *w->last = p;
    w->last = &p->next;
    hark_mpi_window_serve(w);
}

void hark_mpi_window_taken(uint32_t context)
{
    struct window *w = hark_mpi_windows;
    while (w && hark_mpi_context(w->comm, OF_WINDOWS) != context) w = w->next;
    if (w == NULL || w->landed == NULL) return;
    uint8_t *landed = w->landed;
    int from = hark_mpi_group_local_rank(w->comm->group, w->receive.info.source);
    w->landed = NULL;
    hark_mpi_window_listen(w);
    arrive(w, from, landed, w->landed_length);
}

void hark_mpi_window_ask_self(struct window *w, const uint8_t *bytes, size_t length)
{
    uint8_t *copy = hark_mpi_memory(length);
    memcpy(copy, bytes, length);
    arrive(w, w->comm->rank, copy, length);
}

/* That nothing had arrived counts: a process that executes again has to see it as often. */
void hark_mpi_window_look(struct window *w, const char *call)
{
    hark_process_poll();
    while (!hark_app_serve() && !hark_app_missed())
        hark_app_wait(call, HARK_WAITS_MESSAGE, &w->receive, 1);
}

static void land_any(struct hark_request *r, const void *payload, size_t length)
{
    struct arrived *a = (struct arrived *)r;
    a->bytes = hark_mpi_memory(length);
    a->length = length;
    memcpy(a->bytes, payload, length);
}

int hark_mpi_window_receive(
    struct window *w, int from, int of, int tag, struct arrived *a, const char *call)
{
    *a = (struct arrived){.r = {.room = SIZE_MAX, .land = land_any}};
    hark_mpi_post(w->comm, &a->r, from, of, tag);
    hark_app_complete(&a->r, call);
    return a->r.status;
}

/* ---- epochs of MPI_Win_post -------------------------------------------------------------------
 */

static bool has_completed(const struct window *w, int rank)
{
    if (w->exposed[rank] == EXPOSED_COMPLETED) return true;
    for (const struct pending *p = w->first; p; p = p->next)
        if (p->from == rank && flags_of(p) & COMPLETES) return true;
    return false;
}

bool hark_mpi_window_completed(const struct window *w)
{
    for (int i = 0; i < w->posted_count; i++)
        if (!has_completed(w, w->posted[i])) return false;
    return true;
}

static void end_exposure_to(struct window *w, int rank)
{
    struct pending **at = &w->first;
    while (w->exposed[rank] == EXPOSED) {
        if ((*at)->from == rank) serve(w, take_out(w, at));
        else at = &(*at)->next;
    }
    w->exposed[rank] = EXPOSED_NOT;
}

void hark_mpi_window_end_exposure(struct window *w)
{
    for (int i = 0; i < w->posted_count; i++) end_exposure_to(w, w->posted[i]);
    free(w->posted);
    w->posted = NULL;
    w->posted_count = 0;
    hark_mpi_window_serve(w);
}
