/* Receiving: posted receives, messages that nobody has taken yet, and the match between them.
 *
 * A match is a delivery, and so is made only inside wait and test, for the request asked about and,
 * before it, for earlier requests that could take the same message. So what is delivered when
 * depends on the program, not on when progress happens to be made.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app_state.h"
#include "../driver/point.h"
#include "observe.h"
#include "prologue.h"
#include "queue.h"

#define P hark_process

void hark_app_post(struct hark_request *r)
{
    hark_queue_post(r);
}

/* m's payload lies in the memory of a receive, which needs that now. */
static void move_out(struct hark_message *m)
{
    void *copy = malloc(m->length + 1);
    if (copy == NULL) hark_process_fatal("rank %u: no memory for a message", P.setup.rank);
    memcpy(copy, m->payload, m->length);
    m->payload = copy;
    m->placed = false;
}

void hark_app_unpost(struct hark_request *r)
{
    if (r->early) move_out(r->early);
    r->early = NULL;
    hark_queue_unpost(r);
    hark_app.claimed.last = NULL;
}

/* A marked message is taken: its sender is to know. */
static void note_taken(const struct hark_message *m)
{
    if (hark_app.taken_count == hark_app.taken_room) {
        unsigned room = hark_app.taken_room * 2 + 8;
        struct taken *more = realloc(hark_app.taken, room * sizeof *more);
        if (more == NULL) hark_process_fatal("rank %u: no memory for a receive", P.setup.rank);
        hark_app.taken = more;
        hark_app.taken_room = room;
    }
    hark_app.taken[hark_app.taken_count++] =
        (struct taken){(int)m->from, (int32_t)m->tag, hark_queue_context(m)};
}

/* r takes m. */
static inline void fill(struct hark_request *r, const struct hark_message *m)
{
    if (__builtin_expect(r->early && r->early != m, 0)) move_out(r->early);
    r->early = NULL;
    size_t n = m->length < r->room ? m->length : r->room;
    if (r->land) r->land(r, m->payload, m->length);
    else if (n && m->payload != r->data) memcpy(r->data, m->payload, n);
    if (hark_queue_marked(m) && !r->only_finds) note_taken(m);
    hark_queue_unpost(r);
    r->info = (struct hark_info){(int)m->from, (int32_t)m->tag, m->length};
    r->status = m->length > r->room ? HARK_A_ETRUNCATE : HARK_A_OK;
    r->done = true;
    r->reserved = false;
}

/* The end of every delivery: the board learns of it. */
static inline void delivered(void)
{
    hark_app.looks = 0;
    atomic_store_explicit(&P.slot->position, ++hark_app.own[3], memory_order_relaxed);
    HARK_POINT("delivered", P.setup.rank);
}

/* The delivery: false if the protocol says not now. m is still to be dropped. */
static bool deliver(struct hark_request *r, struct hark_message *m)
{
    hark_app.delivering = true; /* the step may hand up others: they are not r's */
    int status = hark_driver_deliver(P.driver, m);
    hark_app.delivering = false;
    if (status == 1) return false;
    if (status == HARK_D_EGONE) hark_process_poll(); /* does not come back */
    if (status < 0) hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
    fill(r, m);
    hark_driver_await(P.driver, NULL);
    if (hark_prologue.recording) hark_prologue_delivered(m);
    if (r == hark_app.waiting) hark_driver_enough(P.driver);
    if (P.trace) hark_observe_delivered(m);
    if (P.recorder) hark_recorder_delivered(P.recorder, m->from, hark_queue_context(m), m->ssn);
    delivered();
    if (hark_app.catch_up && hark_app.own[3] >= hark_app.catch_up) {
        atomic_store_explicit(&P.slot->caught_up_ns, hark_process_now(), memory_order_relaxed);
        hark_app.catch_up = 0;
    }
    hark_app.unobserved = !P.trace && !P.recorder && !P.setup.kill_at && !hark_app.catch_up;
    if (P.setup.kill_at && hark_driver_figures(P.driver)->deliveries == P.setup.kill_at) {
        kill(getpid(), SIGKILL); /* asked for on the command line: to see recovery */
        pause();
    }
    return true;
}

/* Which receive takes which message, for q to be rid of its claim to *m: messages of one sender do
 * not overtake each other on the way to a receive that could take both. So q takes the first of
 * them, if no earlier receive could; and that one, in turn, the first of its own. */
static struct hark_request *in_order(struct hark_request *q, struct hark_message **m)
{
    for (struct hark_message *x; (x = hark_queue_channel(q, *m)) != *m;
         q = hark_queue_claimant(q, x))
        *m = x;
    return q;
}

/* The next delivery that was recorded goes to the receive that took it: the first that it fits. */
static bool take_recorded(void)
{
    struct hark_message m;
    if (!hark_prologue_next(&m)) return false;
    struct hark_request *r =
        hark_queue_claimant_of(NULL, m.from, hark_queue_context(&m), (int32_t)m.tag, NULL);
    if (r == NULL) return false;
    fill(r, &m);
    hark_prologue_take();
    return true;
}

static inline void acknowledge(void)
{
    if (hark_app.taken_count && hark_app.acknowledge) hark_app.acknowledge();
}

/* A marked message is taken in whatever call comes next; any other by a call that asks for r. The
 * receive that takes the next one may be posted when this one is acknowledged. */
static void take_recorded_for(const struct hark_request *r)
{
    struct hark_message m;
    while (!r->done && hark_prologue_next(&m) &&
           (hark_queue_fits_message(r, &m) || hark_queue_marked(&m))) {
        if (!take_recorded()) return;
        acknowledge();
    }
}

/* Completes r from what has been handed up, if that can be. A replay may put one off that a look
 * saw, and others come before it. */
static void take_untaken(struct hark_request *r)
{
    if (r->done || r->reserved) return;
    for (struct hark_message *m = hark_queue_first(r); m;) {
        struct hark_request *q = hark_queue_claimant(r, m);
        struct hark_message *x = m;
        if (q != r) q = in_order(q, &x);
        if (!deliver(q, x)) {
            m = hark_queue_next(r, m);
            continue;
        }
        hark_queue_remove(x);
        hark_driver_drop(P.driver, x);
        if (r->done) return;
        m = hark_queue_first(r);
    }
}

static inline void take(struct hark_request *r)
{
    if (__builtin_expect(hark_prologue.replaying, 0)) take_recorded_for(r);
    else if (hark_app.first) take_untaken(r);
}

/* ---- hooks of the driver --------------------------------------------------------------------- */

/* Has the receive that waits its message already, though it does not know yet? A transport may
 * bring more in one look. */
static inline bool has_its_message(void)
{
    return hark_app.awaited && hark_app.awaited->done;
}

/* A receive that is posted, and that nobody waits for yet, whose message this will be in all
 * likelihood: it names source and tag, and no other message fits it. */
static struct hark_request *posted_for(uint32_t from, uint32_t ctx, int32_t tag, uint64_t length)
{
    if (hark_app.many || hark_prologue.replaying) return NULL;
    /* The sender of a payload that is being written for the awaited receive may die; then that
     * receive may want this message. */
    if (hark_app.waiting && hark_app.waiting->reserved) return NULL;
    struct hark_request *q = hark_queue_claimant_of(NULL, from, ctx, tag, NULL);
    if (q == NULL || q == hark_app.waiting || length > q->room || q->land ||
        q->from == HARK_ANY_SOURCE || q->mask == 0 || hark_queue_first(q))
        return NULL;
    return q;
}

/* Straight into the memory of the receive that is waited for, if no other message and no other
 * receive has a claim. A payload that is there before anything else happens (`at_once`) also goes
 * to one that is only posted; it is taken when that is waited for. */
void *hark_app_place(
    void *self, uint32_t from, uint16_t channel, int64_t wire_tag, uint64_t length, bool at_once)
{
    const uint32_t ctx = hark_app_context(channel, wire_tag);
    const int32_t tag = (int32_t)wire_tag;
    struct hark_request *r = hark_app.waiting;
    (void)self;
    if (r == NULL || hark_app.delivering || r->done || r->reserved || length > r->room || r->land ||
        has_its_message() || !hark_queue_fits(r, from, ctx, tag) || hark_queue_first(r) ||
        hark_queue_claimant_of(r, from, ctx, tag, NULL) != r) {
        r = at_once ? posted_for(from, ctx, tag, length) : NULL;
        if (r == NULL) return NULL;
    } else {
        hark_driver_await(P.driver, NULL);
    }
    r->reserved = true;
    return r->data;
}

/* The receive into whose memory the transport is writing, or has just written. */
static struct hark_request *reserved_with(const void *payload)
{
    struct hark_request *r = hark_app.posted;
    while (r && (!r->reserved || r->data != payload)) r = r->next;
    return r;
}

void hark_app_unplace(void *self, void *payload)
{
    struct hark_request *r = reserved_with(payload);
    (void)self;
    if (r) r->reserved = false;
}

/* Keeps a message that lies in memory which will not last. */
static void keep(struct hark_message *m)
{
    struct hark_request *r = m->placed ? reserved_with(m->payload) : NULL;
    if (r) r->reserved = false;
    if (r && r != hark_app.waiting) r->early = m;
    else if (m->placed) move_out(m);
    m = hark_driver_keep(P.driver, m);
    if (m == NULL) hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
    hark_queue_add(m);
    hark_driver_await(P.driver, NULL); /* it may come before what is waited for */
}

void hark_app_handup(void *self, struct hark_message *m)
{
    struct hark_request *r = hark_app.waiting;
    (void)self;
    if (m->placed) { /* while it was written, what a recovery had held back may have been handed up:
                        that is before it */
        bool own = r && !hark_app.delivering && r->reserved && r->data == m->payload &&
                   !hark_queue_first(r);
        if (own && deliver(r, m)) hark_driver_drop(P.driver, m);
        else keep(m);
        return;
    }
    if (r == NULL || hark_app.delivering || r->done || r->reserved || has_its_message() ||
        !hark_queue_fits_message(r, m) ||
        hark_queue_claimant_of(r, m->from, hark_queue_context(m), (int32_t)m->tag, NULL) != r ||
        hark_queue_first(r)) {
        keep(m);
        return;
    }
    if (deliver(r, m)) hark_driver_drop(P.driver, m);
    else keep(m);
}

/* ---- calls ----------------------------------------------------------------------------------- */

int hark_app_valid(const void *data, size_t room, int from, int tag)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    if (data == NULL && room) return HARK_A_EARGUMENT;
    if (from != HARK_ANY_SOURCE && (from < 0 || from >= (int)P.setup.ranks)) return HARK_A_ERANK;
    if (tag != HARK_ANY_TAG && tag < 0) return HARK_A_ETAG;
    return HARK_A_OK;
}

/* Whoever sends a marked message waits until a receive takes it: any posted one does, whatever this
 * process waits for, once it has taken what was sent before. False: none was taken. */
static bool take_marked(void)
{
    bool any = false;
    for (struct hark_message *m = hark_queue_marked_first(), *next; m; m = next) {
        next = m->next;
        struct hark_request *q = hark_queue_marked(m) ? hark_queue_claimant(NULL, m) : NULL;
        struct hark_message *x = m;
        if (q) q = in_order(q, &x);
        if (q == NULL || !deliver(q, x)) continue;
        hark_queue_remove(x);
        hark_driver_drop(P.driver, x);
        next = hark_queue_marked_first();
        any = true;
    }
    return any;
}

/* Inside the application's call `call`. */
static void complete_recorded(const struct hark_request *r)
{
    while (!r->done) {
        if (!take_recorded()) hark_prologue_differs();
        acknowledge();
    }
}

/* May the driver deliver the next message that fits r by itself? Nobody else wants it, and nobody
 * looks on. `r` NULL: one that is not posted. */
static inline bool may_await(const struct hark_request *r)
{
    return hark_app.unobserved && hark_app.posted == r && hark_app.first == NULL &&
           (r == NULL || (!r->land && !r->reserved));
}

/* The messages that a receive fits; marked ones are to be acknowledged, and go the other way. */
static inline struct hark_awaited awaited_by(
    void *data, size_t room, int from, uint32_t ctx, int32_t tag, int32_t mask)
{
    const bool wide = ctx >= HARK_APP_CONTEXTS;
    const int64_t high = wide ? (int64_t)((uint64_t)UINT32_MAX << 32) : 0;
    return (struct hark_awaited){.from = from == HARK_ANY_SOURCE ? HARK_RECOVERY : (uint32_t)from,
        .ctx = hark_app_channel(ctx),
        .tag = hark_app_wire_tag(ctx, tag) & ~(int64_t)(wide ? HARK_APP_MARK : 0),
        .mask = high | (uint32_t)(mask | (wide ? HARK_APP_MARK : 0)),
        .data = data,
        .room = room};
}

HARK_COLD void record_awaited(const struct hark_awaited *a, uint32_t ctx)
{
    const struct hark_message m = {.from = a->source,
        .tag = a->tag,
        .ctx = hark_app_channel(ctx),
        .length = a->length,
        .payload = a->data};
    hark_prologue_delivered(&m);
}

/* The driver has delivered into *a. */
static inline struct hark_info take_awaited(const struct hark_awaited *a, uint32_t ctx)
{
    if (__builtin_expect(hark_prologue.recording, 0)) record_awaited(a, ctx);
    delivered();
    return (struct hark_info){(int)a->source, (int32_t)a->tag, a->length};
}

/* The same for a posted r, which is done. */
static inline void fill_awaited(struct hark_request *r, const struct hark_awaited *a)
{
    hark_queue_unpost(r);
    r->info = take_awaited(a, r->ctx);
    r->status = HARK_A_OK; /* one that is too long comes the other way */
    r->done = true;
}

/* As hark_app_complete(); out of line, for most receives need no more than it does itself. */
HARK_COLD void complete_seldom(struct hark_request *r, const char *call)
{
    if (hark_prologue.replaying) {
        complete_recorded(r);
        return;
    }
    hark_app.waiting = r;
    if (atomic_load_explicit(&P.pending, memory_order_acquire)) hark_process_poll();
    for (take(r); !r->done; take(r)) {
        bool more = hark_app.marked && take_marked(); /* r's turn may have come in a replay */
        acknowledge();
        if (more || r->done) continue;
        struct hark_awaited a = awaited_by(r->data, r->room, r->from, r->ctx, r->tag, r->mask);
        if (may_await(r)) {
            hark_app.awaited = &a;
            hark_driver_await(P.driver, &a);
        }
        hark_app_wait(call, HARK_WAITS_MESSAGE, r, 1);
        hark_driver_await(P.driver, NULL);
        hark_app.awaited = NULL;
        if (a.done) fill_awaited(r, &a);
    }
    hark_app.waiting = NULL;
    acknowledge();
}

/* True if in addition nothing is to be seen to before a message is taken. */
static inline bool may_await_now(const struct hark_request *r)
{
    return may_await(r) && !hark_prologue.replaying &&
           !atomic_load_explicit(&P.pending, memory_order_acquire);
}

void hark_app_complete(struct hark_request *r, const char *call)
{
    if (__builtin_expect(may_await_now(r), 1)) {
        struct hark_awaited a = awaited_by(r->data, r->room, r->from, r->ctx, r->tag, r->mask);
        hark_app.waiting = r;
        hark_app.awaited = &a;
        hark_process_polled(hark_driver_receive(P.driver, &a));
        hark_app.awaited = NULL;
        if (__builtin_expect(a.done, 1)) {
            fill_awaited(r, &a);
            hark_app.waiting = NULL;
            return;
        }
    }
    complete_seldom(r, call);
}

void hark_app_try(struct hark_request *r)
{
    if (!r->done) take(r);
    while (!r->done && hark_app.marked && take_marked()) {
        acknowledge();
        take(r);
    }
    acknowledge();
}

static bool take_recorded_marked(void)
{
    struct hark_message m;
    return hark_prologue_next(&m) && hark_queue_marked(&m) && take_recorded();
}

bool hark_app_serve(void)
{
    bool any = hark_prologue.replaying ? take_recorded_marked() : hark_app.marked && take_marked();
    acknowledge();
    return any;
}

int hark_app_recv(void *data, size_t room, int from, uint32_t ctx, int tag, struct hark_info *info)
{
    enum {
        AT_ONCE = 4096
    }; /* bytes: a longer message is written where it belongs, by the help of
          its request */
    int status = hark_app_valid(data, room, from, tag);
    if (status < 0) return status;
    const int32_t mask = hark_app_mask(tag, ctx);
    if (__builtin_expect(room <= AT_ONCE && may_await_now(NULL), 1)) {
        struct hark_awaited a = awaited_by(data, room, from, ctx, tag, mask);
        hark_process_polled(hark_driver_receive(P.driver, &a));
        if (__builtin_expect(a.done, 1)) {
            const struct hark_info got = take_awaited(&a, ctx);
            if (info) *info = got;
            return HARK_A_OK;
        }
    }
    struct hark_request r; /* what is not set here is not read: this is on the way of a message */
    r.data = data;
    r.room = room;
    r.from = from;
    r.tag = tag;
    r.mask = mask;
    r.ctx = ctx;
    r.done = r.reserved = false;
    r.land = NULL;
    r.left = 0;
    hark_queue_post(&r);
    hark_app_complete(&r, "hark_recv");
    if (info) *info = r.info;
    return r.status;
}

int hark_recv(void *data, size_t room, int from, int tag, struct hark_info *info)
{
    return hark_app_recv(data, room, from, CTX_POINT, tag, info);
}

static struct hark_request *request_memory(void)
{
    struct hark_request *r = malloc(sizeof *r);
    if (r == NULL) hark_process_fatal("rank %u: no memory for a request", P.setup.rank);
    return r;
}

int hark_isend(const void *data, size_t length, int to, int tag, struct hark_request **request)
{
    if (request == NULL) return HARK_A_EARGUMENT;
    struct hark_request *r = request_memory();
    *r = (struct hark_request){.done = true};
    int status = hark_app_start(data, length, to, CTX_POINT, tag, &r->left);
    if (status < 0) free(r);
    else *request = r;
    return status;
}

int hark_irecv(void *data, size_t room, int from, int tag, struct hark_request **request)
{
    if (request == NULL) return HARK_A_EARGUMENT;
    int status = hark_app_valid(data, room, from, tag);
    if (status < 0) return status;
    struct hark_request *r = *request = request_memory();
    *r = (struct hark_request){.data = data,
        .room = room,
        .from = from,
        .tag = tag,
        .mask = hark_app_mask(tag, CTX_POINT)};
    hark_queue_post(r);
    return HARK_A_OK;
}

/* The request is done: its results, and it is no more. */
static int finish(struct hark_request **request, struct hark_info *info)
{
    struct hark_request *r = *request;
    int status = r->status;
    hark_app_sent(&r->left);
    if (info) *info = r->info;
    free(r);
    *request = NULL;
    return status;
}

static int wait_for(struct hark_request **request, struct hark_info *info, const char *call)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (request == NULL) return HARK_A_EARGUMENT;
    if (*request == NULL) return HARK_A_OK;
    if (!(*request)->done) hark_app_complete(*request, call);
    return finish(request, info);
}

int hark_wait(struct hark_request **request, struct hark_info *info)
{
    return wait_for(request, info, "hark_wait");
}

/* Nothing was found: may the application know? Protocols that repeat this choice may say: look
 * again. */
bool hark_app_missed(void)
{
    if (hark_prologue.replaying) return hark_prologue_miss();
    int status = hark_driver_miss(P.driver);
    if (status == HARK_D_EGONE) hark_process_poll(); /* does not come back */
    if (status < 0) hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
    if (status == 0 && hark_prologue.recording) hark_prologue_missed();
    return status == 0;
}

int hark_test(struct hark_request **request, bool *done, struct hark_info *info)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (request == NULL || done == NULL) return HARK_A_EARGUMENT;
    *done = true;
    if (*request == NULL) return HARK_A_OK;
    if (!(*request)->done) hark_process_poll();
    for (;;) {
        if (!(*request)->done) take(*request);
        if ((*request)->done) return finish(request, info);
        if (hark_app_missed()) break;
        hark_app_wait("hark_test", HARK_WAITS_MESSAGE, *request, 1);
    }
    *done = false;
    return HARK_A_OK;
}

int hark_waitall(size_t count, struct hark_request *request[], struct hark_info info[])
{
    int worst = HARK_A_OK;
    if (request == NULL && count) return HARK_A_EARGUMENT;
    for (size_t i = 0; i < count; i++) {
        int status = wait_for(&request[i], info ? &info[i] : NULL, "hark_waitall");
        if (status < 0) worst = status;
    }
    return worst;
}

int hark_waitany(size_t count, struct hark_request *request[], int *index, struct hark_info *info)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (index == NULL || (request == NULL && count)) return HARK_A_EARGUMENT;
    for (;;) {
        const struct hark_request *any = NULL;
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            if (request[i] == NULL) continue;
            any = request[i];
            open++;
            if (!request[i]->done) take(request[i]);
            if (!request[i]->done) continue;
            *index = (int)i;
            return finish(&request[i], info);
        }
        *index = -1;
        if (any == NULL) return HARK_A_OK;
        hark_app_wait("hark_waitany", open > 1 ? HARK_WAITS_ANY : HARK_WAITS_MESSAGE, any, open);
    }
}
