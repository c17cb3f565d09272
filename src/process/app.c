/* The application's calls: joining and leaving, sending, checkpoints. Receiving: match.c;
 * collectives: collective.c. */
#include "app_state.h"
#include "hark/parts/wave_state.h"
#include "hark/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../driver/point.h"
#include "interval.h"
#include "journal.h"
#include "journal_away.h"
#include "observe.h"
#include "queue.h"
#include "rollback.h"

struct app hark_app;
#define P hark_process

const char *hark_app_error(int status)
{
    switch (status) {
    case HARK_A_OK: return "ok";
    case HARK_A_EINIT: return "not between hark_init and hark_finalize";
    case HARK_A_ERANK: return "no such rank";
    case HARK_A_ETAG: return "tag out of its range";
    case HARK_A_ETRUNCATE: return "the message is longer than the buffer";
    case HARK_A_EARGUMENT: return "NULL where memory is needed, or an unknown type or operation";
    case HARK_A_EPENDING: return "receives are posted and not completed";
    case HARK_A_ELENGTH: return "the message is longer than the limit of a frame";
    case HARK_A_EREGION: return "the image holds other regions than were protected";
    default: return "unknown status";
    }
}

/* ---- checkpoints: hooks ---------------------------------------------------------------------- */

static void on_resume(void *self)
{
    (void)self;
    hark_app.inside = false;
}

/* Regions of an image: the application's, and one of ours. */
#define OWN_REGION      UINT64_MAX
#define PROLOGUE_REGION (UINT64_MAX - 1)
#define CAPTURED_REGION (UINT64_MAX - 2) /* of the interface above */
#define HOST_REGION     (UINT64_MAX - 3)
#define REGIONS_OF_HARK 4 /* at most, in an image */
#define IS_OF_HARK(id)  ((id) > UINT64_MAX - 16)

static int on_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    (void)self;
    const void *pending;
    uint32_t length;
    hark_interval_tried(hark_process_now());
    if (hark_app.unable) return -1;
    fflush(NULL);
    hark_app.wanted_since = false;
    if (!hark_process_mark(id, &hark_app.own[0], &hark_app.own[1], &pending, &length)) return -1;
    const double latest = hark_wtime_latest();
    hark_app.own[4] = hark_journal_captured(id);
    memcpy(&hark_app.own[5], &latest, sizeof latest);
    struct hark_region *r =
        realloc(hark_app.captured, (hark_app.region_count + REGIONS_OF_HARK) * sizeof *r);
    if (r) hark_app.captured = r;
    uint8_t *own = realloc(hark_app.own_captured, sizeof hark_app.own + length);
    if (own) hark_app.own_captured = own;
    if (r == NULL || own == NULL) {
        hark_process_trouble("no memory for an image");
        return -1;
    }
    if (hark_app.region_count) memcpy(r, hark_app.region, hark_app.region_count * sizeof *r);
    memcpy(own, hark_app.own, sizeof hark_app.own);
    if (length) memcpy(own + sizeof hark_app.own, pending, length);
    uint32_t n = (uint32_t)hark_app.region_count;
    r[n++] = (struct hark_region){OWN_REGION, own, sizeof hark_app.own + length};
    r[n++] = (struct hark_region){HOST_REGION, hark_app.host, strlen(hark_app.host)};
    if (!hark_prologue.lost)
        r[n++] = (struct hark_region){PROLOGUE_REGION, hark_prologue.bytes, hark_prologue.length};
    if (hark_app.capture) {
        struct hark_region *above = &r[n++];
        *above = (struct hark_region){.id = CAPTURED_REGION};
        if (!hark_app.capture(&above->at, &above->length)) return -1;
    }
    *region = r;
    *count = n;
    return 0;
}

static void on_committed(void *self, uint64_t id)
{
    (void)self;
    (void)id;
    hark_app.wanted = hark_app.wanted_since;
    P.checkpoint = false;
    hark_interval_committed(hark_process_now());
}

static void on_dropped(void *self, uint64_t id)
{
    (void)self;
    hark_journal_dropped(id);
}

static void on_wanted(void *self)
{
    (void)self;
    hark_app.wanted = hark_app.wanted_since = true;
}

static void on_rollback(void *self, uint64_t id)
{
    (void)self;
    (void)id; /* the step answers EGONE, and whoever called goes back: rollback.c */
}

static void on_recovered(void *self)
{
    (void)self; /* the supervisor knows it from the failure service */
}

/* ---- joining and leaving --------------------------------------------------------------------- */

/* What SETUP says of checkpoints that are undone; to be freed. */
static uint64_t *undone(uint32_t *count)
{
    const char *text = P.setup.again ? P.setup.again : "";
    uint64_t *id = malloc((strlen(text) / 2 + 1) * sizeof *id);
    *count = 0;
    if (id == NULL) hark_process_fatal("rank %u: no memory for a restart", P.setup.rank);
    for (char *end; *text; text = end + (*end == ',')) {
        id[(*count)++] = strtoull(text, &end, 10);
        if (end == text || (*end && *end != ','))
            hark_process_fatal(
                "rank %u: the supervisor's setup: again=%s is not a list of checkpoints",
                P.setup.rank, text);
    }
    return id;
}

static const struct hark_region *of_hark(
    const struct hark_region *region, uint32_t count, uint64_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (region[i].id == id) return &region[i];
    return NULL;
}

static void set_host(void)
{
    if (P.setup.host) snprintf(hark_app.host, sizeof hark_app.host, "%s", P.setup.host);
    else (void)gethostname(hark_app.host, sizeof hark_app.host - 1);
}

static void set_saved_host(const struct hark_region *host)
{
    if (host == NULL || host->length == 0 || host->length >= sizeof hark_app.host) return;
    memcpy(hark_app.host, host->at, (size_t)host->length);
    hark_app.host[host->length] = 0;
}

/* Until hark_restarted, what was recorded takes the place of communication. */
static void begin_again(const struct hark_region *prologue)
{
    if (prologue == NULL) return;
    hark_prologue_replay(prologue->at, (size_t)prologue->length);
    hark_app.own[2] = 0;
    hark_app.ready = true;
}

static void restart(void)
{
    const struct hark_region *region;
    uint32_t count;
    struct hark_bytes kept = hark_rollback_kept();
    hark_driver_kept(P.driver, kept);
    uint64_t *again = undone(&count);
    hark_driver_again(P.driver, again, count);
    if (hark_driver_restart(
            P.driver, P.setup.checkpoint, P.setup.re, P.setup.inc, &region, &count) < 0)
        hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
    free(again);
    HARK_POINT("restarted", P.setup.rank);
    hark_rollback_taken(kept);
    const struct hark_region *own = of_hark(region, count, OWN_REGION);
    if (own && own->length < sizeof hark_app.own) own = NULL;
    if (own) memcpy(hark_app.own, own->at, sizeof hark_app.own);
    double latest;
    memcpy(&latest, &hark_app.own[5], sizeof latest);
    hark_wtime_restart(latest);
    hark_journal_restart(P.setup.checkpoint, hark_app.own[4]);
    memcpy(hark_app.own_saved, hark_app.own, sizeof hark_app.own);
    hark_app.saved = region;
    hark_app.saved_count = count;
    set_saved_host(of_hark(region, count, HOST_REGION));
    begin_again(of_hark(region, count, PROLOGUE_REGION));
    hark_app.catch_up = atomic_load_explicit(&P.slot->position, memory_order_relaxed);
    if (hark_app.catch_up <= hark_app.own[3])
        hark_app.catch_up = hark_app.own[3] + 1; /* it died before it had taken another */
    atomic_store_explicit(&P.slot->restart_ns, hark_process_now(), memory_order_relaxed);
    if (own)
        hark_process_hello(hark_app.own[0], hark_app.own[1],
            (const uint8_t *)own->at + sizeof hark_app.own,
            (uint32_t)(own->length - sizeof hark_app.own));
    else hark_process_hello(0, 0, NULL, 0);
}

/* Has it messages that the application sends? Of the MPI library's contexts it is one in four: that
 * of a communicator's messages. */
static bool of_the_application(uint32_t ctx)
{
    return ctx == CTX_POINT || (ctx >= HARK_APP_CONTEXTS && ctx % 4 == 0);
}

void hark_app_waits(struct hark_waits *w)
{
    *w = (struct hark_waits){.what = hark_app.call ? hark_app.what : HARK_WAITS_NOT,
        .calls = hark_process_number("wave.calls") + hark_app.inside};
    for (const struct hark_message *m = hark_app.first; m; m = m->next) {
        if (!of_the_application(hark_queue_context(m)))
            continue; /* of a collective call: whoever has not come to it is named anyway */
        if (w->untaken++) continue;
        w->untaken_from = (int32_t)m->from;
        w->untaken_tag = (int32_t)m->tag & hark_app_mask(0, m->ctx);
    }
    if (hark_app.call == NULL) return;
    snprintf(
        w->call, sizeof w->call, "%s", hark_app.collective ? hark_app.collective : hark_app.call);
    if (hark_app.collective) w->what = HARK_WAITS_COLLECTIVE;
    w->count = (uint32_t)hark_app.sought_count;
    if (hark_app.sought) w->from = hark_app.sought->from, w->tag = hark_app.sought->tag;
}

int hark_init(void)
{
    struct hark_hooks hooks = {.place = hark_app_place,
        .unplace = hark_app_unplace,
        .handup = hark_app_handup,
        .resume = on_resume,
        .capture = on_capture,
        .committed = on_committed,
        .dropped = on_dropped,
        .rollback = on_rollback,
        .recovered = on_recovered,
        .wanted = on_wanted,
        .combine = hark_app_combine};
    if (hark_app.joined || hark_app.left) return HARK_A_EINIT;
    hark_process_open(&hooks, false);
    P.waits = hark_app_waits;
    hark_app.joined = true;
    hark_app.ready = P.setup.checkpoint == 0;
    set_host();
    hark_interval_begin(hark_process_now());
    if (P.setup.checkpoint == 0 && hark_service_survives(P.protocol)) hark_prologue_begin();
    if (P.setup.inc || P.setup.re) restart();
    else hark_process_hello(0, 0, NULL, 0);
    hark_journal_connect_calls();
    return HARK_A_OK;
}

int hark_app_end(const char *call)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (hark_app.posted) return HARK_A_EPENDING;
    fflush(NULL);
    if (P.control >= 0) {
        struct hark_control m;
        hark_driver_quiet(P.driver); /* orphans that were not sent again never will be */
        hark_control_begin(&m, HARK_C_FINISHED);
        hark_process_say(&m);
        HARK_POINT("finishing", P.setup.rank);
        atomic_store_explicit(&P.slot->turn, P.slot->turn + 1, memory_order_relaxed);
        while (!P.all_done) hark_app_wait(call, HARK_WAITS_FINALIZE, NULL, 0);
    }
    hark_app.joined = hark_app.ready = false;
    hark_app.left = true;
    free(hark_app.region);
    free(hark_app.captured);
    free(hark_app.own_captured);
    hark_process_close();
    return HARK_A_OK;
}

int hark_finalize(void)
{
    return hark_app_end("hark_finalize");
}

int hark_rank(void)
{
    return hark_app.joined ? (int)P.setup.rank : -1;
}

int hark_size(void)
{
    return hark_app.joined ? (int)P.setup.ranks : -1;
}

/* ---- beginning again ------------------------------------------------------------------------- */

/* Legal for a program that keeps nothing from one checkpoint to the next; most that do this have
 * forgotten something. */
static void note_empty_image(void)
{
    hark_process_note("rank %u begins its program again, and checkpoint %llu holds no memory of "
                      "it: hark_protect names the variables that belong "
                      "into checkpoints, hark_restarted gives them back",
        P.setup.rank, (unsigned long long)P.setup.checkpoint);
}

bool hark_app_unready(void)
{
    if (!hark_app.joined) return false;
    bool empty = true;
    for (uint32_t i = 0; hark_app.saved && i < hark_app.saved_count; i++)
        empty = empty && IS_OF_HARK(hark_app.saved[i].id);
    if (!empty)
        hark_process_fatal("rank %u begins again from checkpoint %llu, and communicates before it "
                           "has its protected memory back: call hark_restarted behind the "
                           "hark_protect calls, before the first hark_checkpoint and after at most "
                           "%d MiB of messages, and see that it returns no error",
            P.setup.rank, (unsigned long long)P.setup.checkpoint, HARK_PROLOGUE_LIMIT >> 20);
    if (hark_app.saved) note_empty_image();
    hark_app.ready = true;
    hark_journal_ready();
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The log has a limit and can not spill. From half of it on, and again at each further eighth, the
 * receiver that pins most is asked to checkpoint; at the limit this process waits until that has
 * helped. */
HARK_COLD void wait_for_log(size_t length)
{
    static unsigned asked_at;
    unsigned share;
    P.quiet = false;
    while ((share = hark_driver_log_share(P.driver, length)) >= 50) {
        uint32_t heaviest;
        if (share >= asked_at && hark_driver_ask_checkpoint(P.driver, &heaviest) < 0)
            hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
        if (share >= asked_at) asked_at = share + 12;
        if (share <= 100) return;
        if (P.quiet)
            hark_process_fatal("rank %u: the payload log is full: %zu bytes more would go over its "
                               "limit of %llu, and no receiver can checkpoint; a larger "
                               "--log-limit, --spill DIR, or more frequent checkpoint calls help",
                P.setup.rank, length, (unsigned long long)P.setup.log_limit);
        hark_app_wait("hark_send", HARK_WAITS_ROOM, NULL, 0);
    }
    asked_at = 50;
}

/* What a send looks at first. */
static inline int ready_to_send(const void *data, size_t length)
{
    if (data == NULL && length) return HARK_A_EARGUMENT;
    if (length > P.payload_limit) return HARK_A_ELENGTH;
    if (atomic_load_explicit(&P.pending, memory_order_acquire)) hark_process_poll();
    if (__builtin_expect(P.unsettled, 0)) hark_journal_settle();
    if (P.setup.log_limit) wait_for_log(length);
    return HARK_A_OK;
}

static inline void check_sent(int status)
{
    if (status == HARK_D_EGONE) hark_process_poll(); /* does not come back */
    if (status < 0) hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
}

static inline void count_traffic(int to, size_t length)
{
    if (P.traffic)
        atomic_store_explicit(&P.traffic[to],
            atomic_load_explicit(&P.traffic[to], memory_order_relaxed) + length,
            memory_order_relaxed);
}

/* HARK_A_OK; 1: it was sent long ago; or why it cannot be sent. */
static inline int may_send(const void *data, size_t length, int to, uint32_t ctx, int tag)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    if (to < 0 || to >= (int)P.setup.ranks) return HARK_A_ERANK;
    if (tag < 0 && (ctx < HARK_APP_CONTEXTS || tag & HARK_APP_MARK)) return HARK_A_ETAG;
    if (__builtin_expect(hark_prologue.replaying, 0)) return 1;
    return ready_to_send(data, length);
}

static inline int note_sent(
    int status, const void *data, size_t length, int to, uint32_t ctx, int tag)
{
    check_sent(status);
    count_traffic(to, length);
    if (__builtin_expect(P.recorder != NULL, 0))
        hark_recorder_sent(P.recorder, (uint32_t)to, ctx, tag, data, length);
    return HARK_A_OK;
}

int hark_app_send(const void *data, size_t length, int to, uint32_t ctx, int tag)
{
    int status = may_send(data, length, to, ctx, tag);
    if (__builtin_expect(status != HARK_A_OK, 0)) return status < 0 ? status : HARK_A_OK;
    status = hark_driver_send(
        P.driver, (uint32_t)to, hark_app_channel(ctx), hark_app_wire_tag(ctx, tag), data, length);
    return note_sent(status, data, length, to, ctx, tag);
}

int hark_app_start(const void *data, size_t length, int to, uint32_t ctx, int tag, uint32_t *left)
{
    int status = may_send(data, length, to, ctx, tag);
    *left = 0;
    if (__builtin_expect(status != HARK_A_OK, 0)) return status < 0 ? status : HARK_A_OK;
    status = hark_driver_send_start(P.driver, (uint32_t)to, hark_app_channel(ctx),
        hark_app_wire_tag(ctx, tag), data, length, left);
    return note_sent(status, data, length, to, ctx, tag);
}

void hark_app_sent(uint32_t *left)
{
    if (__builtin_expect(*left != 0, 0)) check_sent(hark_driver_sent(P.driver, left));
}

int hark_app_group(const void *data, size_t length, uint16_t ctx, int tag)
{
    if (hark_prologue.replaying) return HARK_A_OK;
    int status = ready_to_send(data, length), me = (int)P.setup.rank, n = (int)P.setup.ranks;
    if (status < 0) return status;
    check_sent(hark_driver_multicast(P.driver, ctx, ctx, tag, data, length));
    if (ctx == CTX_REDUCTION && me)
        count_traffic(me & (me - 1), length); /* to the parent in the tree */
    for (int to = 1; ctx == CTX_MULTICAST && to < n; to++)
        count_traffic(to, length); /* who passes it on is the tree's affair */
    if (P.recorder) hark_recorder_sent(P.recorder, HARK_RECORDING_GROUP, ctx, tag, data, length);
    return HARK_A_OK;
}

int hark_send(const void *data, size_t length, int to, int tag)
{
    return hark_app_send(data, length, to, 0, tag);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

int hark_protect(uint64_t id, void *at, size_t length)
{
    size_t i = 0;
    if (!hark_app.joined) return HARK_A_EINIT;
    if (IS_OF_HARK(id) || (at == NULL && length)) return HARK_A_EARGUMENT;
    while (i < hark_app.region_count && hark_app.region[i].id != id) i++;
    if (length == 0) {
        if (i < hark_app.region_count)
            hark_app.region[i] = hark_app.region[--hark_app.region_count];
        return HARK_A_OK;
    }
    if (i == hark_app.region_count) {
        struct hark_region *r = realloc(hark_app.region, (i + 1) * sizeof *r);
        if (r == NULL)
            hark_process_fatal("rank %u: no memory for a protected region", P.setup.rank);
        hark_app.region = r;
        hark_app.region_count++;
    }
    hark_app.region[i] = (struct hark_region){id, at, length};
    return HARK_A_OK;
}

/* Somebody's log runs full, who can let go of messages when this process's image is decided: it is
 * not written behind the program this time. All of its group have come to the call of the image, so
 * nobody waits for this process. */
HARK_COLD void wait_for_decision(void)
{
    while (hark_process_number("wave.mode") >= HARK_W_GOES_ON)
        hark_app_wait("hark_checkpoint", HARK_WAITS_CHECKPOINT, NULL, 0);
}

/* A process that can have no image now makes its n-th call all the same, and refuses the image: its
 * group goes on without one. Whether it can depends on timing, the number of a call must not. */
int hark_checkpoint(void)
{
    if (!hark_app_ready()) return HARK_A_EINIT;
    const bool unable = hark_app.may_capture ? !hark_app.may_capture() : hark_app.posted != NULL;
    hark_app.unable = unable;
    if (hark_prologue.recording) hark_prologue_forget(); /* this program does not ask for it */
    hark_app.looks = 0; /* who goes back to an image of this call has seen nothing yet */
    hark_process_poll();
    const bool wanted = hark_app.wanted && !unable;
    const bool due =
        wanted || (!unable && (P.checkpoint || hark_interval_over(hark_process_now())));
    hark_app.inside = true;
    for (;;) {
        int status = hark_driver_checkpoint(P.driver, due);
        if (status < 0 && status != HARK_D_EGONE)
            hark_process_fatal("rank %u: %s", P.setup.rank, hark_driver_error(P.driver));
        if (status == 0) break;
        hark_app_wait("hark_checkpoint", HARK_WAITS_CHECKPOINT, NULL, 0);
    }
    while (hark_app.inside) hark_app_wait("hark_checkpoint", HARK_WAITS_CHECKPOINT, NULL, 0);
    if (wanted) wait_for_decision();
    return unable ? HARK_A_EPENDING : HARK_A_OK;
}

/* The saved region of this one of the program's; NULL: there is none of this length. */
static const struct hark_region *saved_of(const struct hark_region *r)
{
    for (uint32_t k = 0; k < hark_app.saved_count; k++)
        if (hark_app.saved[k].id == r->id)
            return hark_app.saved[k].length == r->length ? &hark_app.saved[k] : NULL;
    return NULL;
}

static bool same_regions(void)
{
    size_t saved = 0;
    for (uint32_t k = 0; k < hark_app.saved_count; k++) saved += !IS_OF_HARK(hark_app.saved[k].id);
    for (size_t i = 0; i < hark_app.region_count; i++)
        if (saved_of(&hark_app.region[i]) == NULL) return false;
    return saved == hark_app.region_count;
}

static void take_back(void)
{
    for (size_t i = 0; i < hark_app.region_count; i++) {
        const struct hark_region *r = &hark_app.region[i];
        if (r->at != saved_of(r)->at) memcpy((void *)(uintptr_t)r->at, saved_of(r)->at, r->length);
    }
    hark_app.own[2] = hark_app.own_saved[2];
    const struct hark_region *above =
        of_hark(hark_app.saved, hark_app.saved_count, CAPTURED_REGION);
    if (above && hark_app.restore) hark_app.restore(above->at, (size_t)above->length);
}

int hark_saved(uint64_t id, const void **at, size_t *length)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (at == NULL || length == NULL || IS_OF_HARK(id)) return HARK_A_EARGUMENT;
    for (uint32_t k = 0; hark_app.saved && k < hark_app.saved_count; k++) {
        if (hark_app.saved[k].id != id) continue;
        *at = hark_app.saved[k].at;
        *length = (size_t)hark_app.saved[k].length;
        return HARK_A_OK;
    }
    return HARK_A_EREGION;
}

int hark_restarted(uint64_t *restarted)
{
    if (!hark_app.joined) return HARK_A_EINIT;
    if (restarted == NULL) return HARK_A_EARGUMENT;
    *restarted = 0;
    hark_app.ready = hark_app.ready || hark_app.saved == NULL;
    if (hark_app.saved && !same_regions()) return HARK_A_EREGION;
    hark_prologue_end();
    if (hark_app.saved) take_back();
    hark_journal_ready();
    if (hark_app.saved == NULL) return HARK_A_OK;
    hark_process_input();
    *restarted = P.setup.checkpoint;
    hark_app.saved = NULL;
    hark_app.ready = true;
    if (hark_app.region_count == 0) note_empty_image();
    hark_driver_restarted(P.driver);
    return HARK_A_OK;
}
