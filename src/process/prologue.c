#include "prologue.h"

#include <stdlib.h>
#include <string.h>

#include "app_state.h"

#define P hark_process

struct prologue hark_prologue;
#define Q hark_prologue

enum event_kind { DELIVERED = 1, SEEN, MISSED };

struct event { /* then the payload of a delivery, filled up to 8 bytes */
    uint32_t kind, from;
    int32_t tag;
    uint32_t ctx;
    uint64_t length; /* of the message; of MISSED how often in a row */
};

/* ---- recording --------------------------------------------------------------------------------
 */

void hark_prologue_begin(void)
{
    Q.recording = true;
}

void hark_prologue_forget(void)
{
    free(Q.bytes);
    Q = (struct prologue){.lost = true};
}

static bool make_room(size_t more)
{
    if (Q.length + more <= Q.room) return true;
    size_t room = Q.room * 2 > Q.length + more ? Q.room * 2 : Q.length + more;
    uint8_t *bytes = room <= 2 * HARK_PROLOGUE_LIMIT ? realloc(Q.bytes, room) : NULL;
    if (bytes == NULL || Q.length + more > HARK_PROLOGUE_LIMIT) {
        if (bytes) Q.bytes = bytes;
        hark_prologue_forget();
        return false;
    }
    Q.bytes = bytes;
    Q.room = room;
    return true;
}

static size_t filled(uint64_t length)
{
    return ((size_t)length + 7) & ~(size_t)7;
}

static void record(struct event e, const void *payload)
{
    size_t length = payload ? (size_t)e.length : 0;
    Q.missed = 0;
    if (!make_room(sizeof e + filled(length))) return;
    memcpy(Q.bytes + Q.length, &e, sizeof e);
    Q.length += sizeof e;
    if (length == 0) return;
    memcpy(Q.bytes + Q.length, payload, length);
    memset(Q.bytes + Q.length + length, 0, filled(length) - length);
    Q.length += filled(length);
}

void hark_prologue_delivered(const struct hark_message *m)
{
    record((struct event){DELIVERED, m->from, (int32_t)m->tag, hark_app_context(m->ctx, m->tag),
               m->length},
        m->payload);
}

void hark_prologue_seen(const struct hark_info *info, uint32_t ctx)
{
    record((struct event){SEEN, (uint32_t)info->source, info->tag, ctx, info->length}, NULL);
}

/* A program that polls misses often. */
void hark_prologue_missed(void)
{
    struct event e;
    if (Q.missed == 0) {
        record((struct event){.kind = MISSED}, NULL);
        if (Q.lost) return;
        Q.missed = Q.length;
    }
    memcpy(&e, Q.bytes + Q.missed - sizeof e, sizeof e);
    e.length++;
    memcpy(Q.bytes + Q.missed - sizeof e, &e, sizeof e);
}

void hark_prologue_end(void)
{
    if (Q.replaying && Q.next != Q.length) hark_prologue_differs();
    Q.recording = Q.replaying = false;
}

/* ---- replaying --------------------------------------------------------------------------------
 */

void hark_prologue_replay(const uint8_t *bytes, size_t length)
{
    Q = (struct prologue){.replaying = true};
    Q.bytes = malloc(length + 1);
    if (Q.bytes == NULL) hark_process_fatal("rank %u: no memory for a restart", P.setup.rank);
    memcpy(Q.bytes, bytes, length);
    Q.length = Q.room = length;
}

_Noreturn void hark_prologue_differs(void)
{
    hark_process_fatal(
        "rank %u begins its program again, and does not communicate before hark_restarted as it "
        "did in its first execution: what it does there must depend only on its arguments, files "
        "and messages, and it must take its memory back at the same place (hark_restarted, or "
        "VELOC_Restart after VELOC_Restart_test)",
        P.setup.rank);
}

static bool event_at_hand(struct event *e)
{
    if (Q.length - Q.next < sizeof *e) return false;
    memcpy(e, Q.bytes + Q.next, sizeof *e);
    return e->kind != DELIVERED || Q.length - Q.next - sizeof *e >= filled(e->length);
}

bool hark_prologue_next(struct hark_message *m)
{
    struct event e;
    if (!event_at_hand(&e) || e.kind != DELIVERED) return false;
    *m = (struct hark_message){.from = e.from,
        .tag = hark_app_wire_tag(e.ctx, e.tag),
        .ctx = hark_app_channel(e.ctx),
        .length = e.length,
        .payload = Q.bytes + Q.next + sizeof e};
    return true;
}

void hark_prologue_take(void)
{
    struct event e;
    if (!event_at_hand(&e)) hark_prologue_differs();
    Q.next += sizeof e + (e.kind == DELIVERED ? filled(e.length) : 0);
}

bool hark_prologue_look(struct hark_info *info)
{
    struct event e;
    if (!event_at_hand(&e) || e.kind != SEEN) return false;
    if (info) *info = (struct hark_info){(int)e.from, e.tag, (size_t)e.length};
    hark_prologue_take();
    return true;
}

bool hark_prologue_miss(void)
{
    struct event e;
    if (!event_at_hand(&e) || e.kind != MISSED) hark_prologue_differs();
    if (++Q.missed == e.length) {
        Q.missed = 0;
        hark_prologue_take();
    }
    return true;
}
