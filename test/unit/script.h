/* script.h: a transport that does just what the test says, and remembers what it was given. */
#ifndef HARK_TEST_SCRIPT_H
#define HARK_TEST_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/driver.h"

static struct script {
    struct hark_transport head;
    int again;      /* so many calls of send() answer AGAIN */
    bool gone;      /* then send() answers EGONE */
    int taken;      /* frames */
    int waits;      /* calls of wait() without a limit */
    int lent;       /* pieces of memory that are out */
    int behind;     /* what behind() answers */
    struct hark_outgoing last;
    struct sent { /* the first of the frames taken */
        uint32_t to, length;
        uint8_t type; /* of the header */
        uint8_t payload[64];
    } sent[64];
    uint8_t *keep;
} script;

static int script_open(struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    (void)config, (void)error;
    *t = &script.head;
    return HARK_T_OK;
}

static const char *script_address(const struct hark_transport *t)
{
    (void)t;
    return "script";
}

static int script_peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    (void)t, (void)rank, (void)inc, (void)address;
    return HARK_T_OK;
}

static int script_send(struct hark_transport *t, struct hark_outgoing *frame)
{
    (void)t;
    script.last = *frame;
    if (frame->keep) script.keep = frame->keep;
    if (script.again > 0) {
        script.again--;
        return HARK_T_AGAIN;
    }
    if (script.gone) return HARK_T_EGONE;
    if (frame->keep && frame->keep != frame->part[0].at) memcpy(frame->keep, frame->part[0].at, frame->part[0].length);
    if (script.taken < 64) {
        struct sent *s = &script.sent[script.taken];
        *s = (struct sent){frame->to, (uint32_t)frame->part[0].length, frame->header.at[1], {0}};
        if (s->length) memcpy(s->payload, frame->part[0].at, s->length < 64 ? s->length : 64);
    }
    script.taken++;
    return HARK_T_OK;
}

static int script_poll(struct hark_transport *t)
{
    (void)t;
    return 0;
}

static int script_wait(struct hark_transport *t, int milliseconds)
{
    (void)t;
    assert_true(milliseconds >= 0 || script.taken == 0); /* else it would sleep for ever: nothing is left to happen */
    script.waits++;
    return HARK_T_OK;
}

static void script_wake(struct hark_transport *t)
{
    (void)t;
}

static int script_drained(struct hark_transport *t)
{
    (void)t;
    return 1;
}

static void script_close(struct hark_transport *t)
{
    (void)t;
    assert_int_equal(script.lent, 0); /* the log gives it back first */
}

static void *script_lend(struct hark_transport *t, uint64_t bytes)
{
    (void)t;
    script.lent++;
    return aligned_alloc(4096, bytes);
}

static void script_reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    (void)t, (void)bytes;
    script.lent--;
    free(at);
}

static int script_behind(const struct hark_transport *t, uint32_t rank)
{
    (void)t, (void)rank;
    return script.behind;
}

static const struct hark_transport_ops plain = {.name = "script", .open = script_open, .address = script_address,
    .peer = script_peer, .send = script_send, .poll = script_poll, .wait = script_wait, .wake = script_wake,
    .drained = script_drained, .close = script_close};
static const struct hark_transport_ops lending = {.name = "script", .open = script_open, .address = script_address,
    .peer = script_peer, .send = script_send, .poll = script_poll, .wait = script_wait, .wake = script_wake,
    .drained = script_drained, .close = script_close, .lend = script_lend, .reclaim = script_reclaim,
    .behind = script_behind};

#endif
