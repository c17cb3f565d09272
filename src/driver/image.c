/* Images: what goes into them, and what is read of them. */
#include "driver_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hark/parts/mem.h"

/* Sections of an image; the embedder's regions follow with its own ids. An entry at the end of a
 * LOG section without its bytes has them in the BYTES section that comes next. */
enum { IMAGE_CORE = 1, IMAGE_LOG = 2, IMAGE_ARRIVED = 3, IMAGE_REGION = 4, IMAGE_BYTES = 5 };

#define LONG_ENTRY 4096u /* written to the store from where the log has it */

struct buffer {
    uint8_t *at;
    uint64_t length, room;
    bool failed;
};

/* The log in an image: most of it in a buffer, and where long entries are cut in. */
struct cut {
    uint64_t behind; /* so much of the buffer */
    const void *at;
    uint64_t length;
};
struct log_image {
    struct buffer bytes;
    struct cut *cut;
    uint32_t cuts, room;
    const char *why; /* there can be no image: a line; or NULL */
};

static void put(struct buffer *b, const void *at, uint64_t length)
{
    if (b->length + length > b->room && !b->failed) {
        uint64_t room = (b->length + length) * 2;
        uint8_t *bigger = realloc(b->at, room);
        b->failed = bigger == NULL;
        if (bigger) b->at = bigger, b->room = room;
    }
    if (b->failed) return;
    if (length) memcpy(b->at + b->length, at, length);
    b->length += length;
}

static bool put_cut(struct log_image *l, const void *at, uint64_t length)
{
    if (l->cuts == l->room) {
        uint32_t room = l->room ? l->room * 2 : 64;
        struct cut *more = realloc(l->cut, room * sizeof *more);
        if (more == NULL) return false;
        l->cut = more;
        l->room = room;
    }
    l->cut[l->cuts++] = (struct cut){l->bytes.length, at, length};
    return true;
}

/* {peer u32, ctx u16, 0 u16, ssn u64, length u64} and the log's bytes, envelope included. */
static int put_log(struct hark_driver *d, struct log_image *l, const struct hark_names *run)
{
    struct buffer *b = &l->bytes;
    struct hark_name name = run->name;
    for (uint64_t ssn = run->name.ssn; ssn <= run->last; ssn++) {
        const void *at;
        uint64_t length;
        uint32_t peer;
        uint8_t head[24] = {0};
        name.ssn = ssn;
        int status = hark_driver_log_entry(d, &name, &peer, &at, &length);
        if (status == HARK_L_ENONE)
            return hark_driver_fail(
                d, HARK_D_ECORE, "checkpoint", "the log lacks a payload that the core names");
        if (status < 0) { /* it is in a file, and can not be read now */
            l->why = hark_log_error(d->log);
            return HARK_D_OK;
        }
        hark_put32(head, peer);
        hark_put16(head + 4, run->name.ctx);
        hark_put64(head + 8, ssn);
        hark_put64(head + 16, length);
        put(b, head, sizeof head);
        /* What a log that spills shows is gone with the next call. */
        if (length < LONG_ENTRY || d->log_spills) put(b, at, length);
        else if (!put_cut(l, at, length)) b->failed = true;
    }
    return HARK_D_OK;
}

/* {header u32, 0 u32, tag i64, length u64}, header, payload. */
static void put_arrived(struct buffer *b, const uint8_t *header, uint32_t header_length,
    int64_t tag, const void *payload, uint64_t length)
{
    uint8_t head[24];
    hark_put64(head, header_length);
    hark_put64(head + 8, (uint64_t)tag);
    hark_put64(head + 16, length);
    put(b, head, sizeof head);
    put(b, header, header_length);
    put(b, payload, length);
}

static bool named(
    const struct hark_names *run, uint32_t count, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    for (uint32_t i = 0; i < count; i++)
        if (run[i].name.peer == peer && run[i].name.ctx == ctx && ssn >= run[i].name.ssn &&
            ssn <= run[i].last)
            return true;
    return false;
}

/* Every arrived message that the core names, wherever it is, oldest first: a restart hands them up
 * in this order. Both lists have the newest first. Returns how many there were. */
static uint64_t put_all_arrived(
    struct hark_driver *d, struct buffer *b, const struct hark_names *run, uint32_t count)
{
    uint64_t n = 0;
    const struct hark_message *m = d->up;
    while (m && m->up_next) m = m->up_next;
    for (; m; m = m->up_previous) {
        if (!named(run, count, m->from, m->ctx, m->ssn)) continue;
        put_arrived(b, m->header, m->header_length, m->tag, m->payload, m->length);
        n++;
    }
    for (const struct held *h = d->held.oldest; h; h = h->next) {
        if (h->header[1] != HARK_APP) continue;
        if (!named(run, count, hark_get32(h->header + 4), hark_get16(h->header + 2),
                hark_get64(h->header + 24)))
            continue;
        put_arrived(b, h->header, h->header_length, h->tag, h->payload, h->length);
        n++;
    }
    return n;
}

static const char no_room[] = "memory: no room for an image";

/* Has it arrived into the log, although it may not be readable now? All of a channel have, or none.
 */
static bool is_contribution(struct hark_driver *d, const struct hark_name *name)
{
    uint32_t peer;
    const void *at;
    uint64_t length;
    return name->ctx && hark_driver_log_entry(d, name, &peer, &at, &length) != HARK_L_ENONE;
}

static int put_payloads(struct hark_driver *d, struct log_image *log, struct buffer *arrived)
{
    struct hark_names run, *in = NULL;
    uint32_t count = 0, room = 0;
    uint64_t cursor = 0, expected = 0;
    int status = HARK_D_OK;
    while (status >= 0 && log->why == NULL && d->protocol->names(d->core, &cursor, &run)) {
        if (run.name.way == HARK_OUT || run.name.to == HARK_GROUP ||
            is_contribution(d, &run.name)) {
            status = put_log(d, log, &run);
            continue;
        }
        if (count == room) {
            room = room * 2 + 16;
            struct hark_names *bigger = realloc(in, room * sizeof *in);
            if (bigger == NULL) {
                log->why = no_room;
                break;
            }
            in = bigger;
        }
        in[count++] = run;
        expected += run.last - run.name.ssn + 1;
    }
    if (status >= 0 && log->why == NULL && put_all_arrived(d, arrived, in, count) < expected)
        status = hark_driver_fail(
            d, HARK_D_ECORE, "checkpoint", "an arrived message that the core names is not here");
    free(in);
    return status;
}

/* The sections of the log: two for each cut, and the rest. */
static uint32_t log_sections(const struct log_image *l, struct hark_section *s)
{
    uint64_t from = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->cuts; i++) {
        const struct cut *c = &l->cut[i];
        s[n++] = (struct hark_section){
            .tag = IMAGE_LOG, .at = l->bytes.at + from, .length = c->behind - from};
        s[n++] = (struct hark_section){.tag = IMAGE_BYTES, .at = c->at, .length = c->length};
        from = c->behind;
    }
    if (from < l->bytes.length)
        s[n++] = (struct hark_section){
            .tag = IMAGE_LOG, .at = l->bytes.at + from, .length = l->bytes.length - from};
    return n;
}

static uint64_t now(void)
{
    struct timespec t;
    /* Not by the C library, where an owner may have put another function in the place of it. */
    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A large file takes long to delete: not in the program's time. */
static void drop_now(struct hark_driver *d, uint64_t id)
{
    if (d->behind && hark_behind_drop(d->behind, d->me, id)) return;
    if (d->store && d->store->ops->drop(d->store, d->me, id) < 0)
        d->hooks.trouble(d->hooks.self, d->store->error);
}

/* Takes note of an image that is written, if one is; then it is dropped if nobody wants it any
 * more. */
static void take_written(struct hark_driver *d, int status)
{
    d->writes = false;
    if (status < 0) d->hooks.trouble(d->hooks.self, hark_behind_error(d->behind));
    else if (!d->writes_dropped) driver_set(&d->figures->image_ns, now() - d->writes_since);
    else drop_now(d, d->writes_id);
    d->writes_dropped = false;
    char line[256];
    if (hark_behind_trouble(d->behind, line)) d->hooks.trouble(d->hooks.self, line);
}

/* An image of an aborted wave may still be being written when the next wave captures. */
static void wait_for_image(struct hark_driver *d)
{
    uint64_t id;
    int status;
    if (!d->writes) return;
    hark_behind_wait(d->behind);
    if (hark_behind_written(d->behind, &id, &status)) take_written(d, status);
}

void hark_driver_drop_image(struct hark_driver *d, uint64_t id)
{
    if (d->writes && d->writes_id == id) d->writes_dropped = true; /* when it is written */
    else drop_now(d, id);
}

/* Called by the thread that writes. */
void hark_driver_image_done(void *self)
{
    struct hark_driver *d = self;
    HARK_POINT("written", d->me);
    hark_driver_wake(d);
}

/* Gives STORED when the image that is being written is durable, or could not be written. Returns 1
 * then, else 0, or a negative status. */
int hark_driver_image_written(struct hark_driver *d)
{
    struct hark_event e = {.type = HARK_STORED};
    const bool wanted = !d->writes_dropped;
    struct subject none = {0};
    uint64_t id;
    int status;
    if (!hark_behind_written(d->behind, &id, &status)) return 0;
    take_written(d, status);
    HARK_POINT("captured", d->me);
    if (!wanted) return 1;
    e.u.stored.of = HARK_CAPTURE;
    e.u.stored.ok = status == HARK_S_OK;
    e.u.stored.id = id;
    status = driver_step(d, &e, &none);
    return status < 0 ? status : 1;
}

static int write_image(struct hark_driver *d, uint64_t id, const struct buffer *core,
    const struct log_image *log, const struct buffer *arrived)
{
    const struct hark_region *region = NULL;
    uint32_t count = 0;
    if (d->hooks.capture(d->hooks.self, id, &region, &count) < 0) return HARK_S_EINVAL;
    struct hark_section *s = calloc((size_t)count + 2 * (size_t)log->cuts + 3, sizeof *s);
    if (s == NULL) {
        d->hooks.trouble(d->hooks.self, no_room);
        return HARK_S_ESYSTEM;
    }
    uint32_t n = 0;
    s[n++] = (struct hark_section){.tag = IMAGE_CORE, .at = core->at, .length = core->length};
    n += log_sections(log, s + n);
    s[n++] =
        (struct hark_section){.tag = IMAGE_ARRIVED, .at = arrived->at, .length = arrived->length};
    for (uint32_t i = 0; i < count; i++)
        s[n++] = (struct hark_section){.tag = IMAGE_REGION,
            .id = region[i].id,
            .at = region[i].at,
            .length = region[i].length};
    int status = HARK_S_ENOMEMORY;
    if (d->behind) {
        status = hark_behind_write(d->behind, d->me, id, s, n);
        d->writes = status == HARK_S_OK;
    }
    if (status == HARK_S_ENOMEMORY) { /* there is none for a copy: the program waits this time */
        status = d->store->ops->write(d->store, d->me, id, s, n);
        if (status < 0) d->hooks.trouble(d->hooks.self, d->store->error);
    }
    free(s);
    return status;
}

/* CAPTURE: copied when this returns, or written and durable; a failure, also of memory, only means
 * that there is no such image. */
int hark_driver_capture(struct hark_driver *d, uint64_t id)
{
    struct buffer core = {0}, arrived = {0};
    struct log_image log = {0};
    struct hark_event e = {.type = HARK_STORED};
    struct subject none = {0};
    uint64_t began = now();
    HARK_POINT("capture", d->me);
    core.room = core.length = hark_pack(d->core, d->protocol->shape, NULL, 0);
    core.at = malloc(core.length + 1);
    int status = put_payloads(d, &log, &arrived);
    bool ok = false;
    if (!core.at || log.bytes.failed || arrived.failed) log.why = no_room;
    if (status >= 0 && d->store && log.why) d->hooks.trouble(d->hooks.self, log.why);
    if (status >= 0 && d->store && log.why == NULL) {
        hark_pack(d->core, d->protocol->shape, core.at, core.length);
        wait_for_image(d);
        d->writes_id = id;
        d->writes_since = began;
        ok = write_image(d, id, &core, &log, &arrived) == HARK_S_OK;
        if (ok) driver_set(&d->figures->capture_ns, now() - began);
        if (ok && !d->writes) driver_set(&d->figures->image_ns, now() - began);
    }
    free(core.at);
    free(log.bytes.at);
    free(log.cut);
    free(arrived.at);
    if (status < 0) return status;
    if (d->writes) {
        HARK_POINT("copied", d->me);
        return HARK_D_OK; /* STORED when it is written */
    }
    HARK_POINT("captured", d->me);
    e.u.stored.of = HARK_CAPTURE;
    e.u.stored.ok = ok;
    e.u.stored.id = id;
    return hark_driver_later(d, &e, &none);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* `next`: the section behind, for an entry that is cut in; or NULL. */
static int take_log(
    struct hark_driver *d, const uint8_t *at, uint64_t left, const struct hark_section *next)
{
    while (left >= 24) {
        uint64_t length = hark_get64(at + 16);
        bool cut = left == 24 && next && next->tag == IMAGE_BYTES && next->length == length;
        if (length > left - 24 && !cut) break;
        struct hark_log_part part = {cut ? next->at : at + 24, length};
        if (hark_log_retain(
                d->log, hark_get32(at), hark_get16(at + 4), hark_get64(at + 8), &part, 1) < 0)
            return hark_driver_fail(d, HARK_D_ESYSTEM, "restart", hark_log_error(d->log));
        at += cut ? 24 : 24 + length;
        left -= cut ? 24 : 24 + length;
    }
    return left == 0 ? HARK_D_OK
                     : hark_driver_fail(
                           d, HARK_D_ESYSTEM, "restart", "the image's log ends in mid-entry");
}

static int take_arrived(struct hark_driver *d, const uint8_t *at, uint64_t left)
{
    while (left >= 24) {
        uint64_t header = hark_get64(at), length = hark_get64(at + 16);
        if (header < HARK_WIRE_HEAD || header > left - 24 || length > left - 24 - header) break;
        int status = hark_driver_hold_restored(
            d, at + 24, (uint32_t)header, (int64_t)hark_get64(at + 8), at + 24 + header, length);
        if (status < 0) return status;
        at += 24 + header + length;
        left -= 24 + header + length;
    }
    return left == 0 ? HARK_D_OK
                     : hark_driver_fail(
                           d, HARK_D_ESYSTEM, "restart", "the image's messages end in mid-entry");
}

/* `next`: as take_log. */
static int take_section(struct hark_driver *d, const struct hark_section *s,
    const struct hark_section *next, struct hark_event *e, uint32_t *regions)
{
    switch (s->tag) {
    case IMAGE_CORE:
        if (s->length > UINT32_MAX)
            return hark_driver_fail(d, HARK_D_ESYSTEM, "restart", "the image's core is too long");
        e->u.restarted.image = (struct hark_bytes){s->at, (uint32_t)s->length};
        return HARK_D_OK;
    case IMAGE_LOG: return take_log(d, s->at, s->length, next);
    case IMAGE_BYTES: return HARK_D_OK; /* taken with the one before */
    case IMAGE_ARRIVED: return take_arrived(d, s->at, s->length);
    case IMAGE_REGION:
        d->image_region[(*regions)++] = (struct hark_region){s->id, s->at, s->length};
        return HARK_D_OK;
    default:
        return hark_driver_fail(d, HARK_D_ESYSTEM, "restart",
            "the image has a section that this version does not know");
    }
}

int hark_driver_image_read(
    struct hark_driver *d, uint64_t id, struct hark_event *restarted, uint32_t *regions)
{
    const struct hark_section *section = NULL;
    uint32_t sections = 0;
    int status = HARK_D_OK;
    if (d->store == NULL)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "restart", "there is no store");
    if (d->store->ops->read(d->store, d->me, id, &section, &sections, &d->image) < 0)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "restart", d->store->error);
    d->image_region = calloc(sections + 1, sizeof *d->image_region);
    if (d->image_region == NULL)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for an image");
    for (uint32_t i = 0; i < sections && status >= 0; i++)
        status = take_section(
            d, &section[i], i + 1 < sections ? &section[i + 1] : NULL, restarted, regions);
    return status;
}

void hark_driver_image_close(struct hark_driver *d)
{
    if (d->image) d->store->ops->release(d->store, d->image);
    free(d->image_region);
    d->image = NULL;
    d->image_region = NULL;
}
