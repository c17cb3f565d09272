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
    int again; /* so many calls of send() answer AGAIN */
    bool gone; /* then send() answers EGONE */
    int taken; /* frames */
    int waits; /* calls of wait() without a limit */
    int lent;  /* pieces of memory that are out */
    void *piece[64];
    int expect; /* what the first byte of `keep` must be when the transport is closed; 0: anything
                 */
    int behind; /* what behind() answers */
    struct hark_outgoing last;
    struct sent { /* the first of the frames taken */
        uint32_t to, length;
        uint8_t type; /* of the header */
        uint8_t payload[64];
    } sent[64];
    uint8_t *keep;
    uint8_t header[128];   /* of the last frame taken */
    struct hark_sink sink; /* to let frames arrive */
} script;

static int script_open(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    (void)error;
    script.sink = config->sink;
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
    if (frame->keep && frame->keep != frame->part[0].at)
        memcpy(frame->keep, frame->part[0].at, frame->part[0].length);
    if (script.taken < 64) {
        struct sent *s = &script.sent[script.taken];
        *s = (struct sent){frame->to, (uint32_t)frame->part[0].length, frame->header.at[1], {0}};
        memcpy(script.header, frame->header.at,
            frame->header.length < 128 ? frame->header.length : 128);
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
    assert_true(milliseconds >= 0 || script.taken == 0); /* else it would sleep for ever: nothing is
                                                            left to happen */
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
    /* The log is closed by now: what was sent may still be read, until here. */
    if (script.expect) assert_int_equal(script.keep[0], script.expect);
    for (int i = 0; i < script.lent; i++) free(script.piece[i]);
}

static void *script_lend(struct hark_transport *t, uint64_t bytes)
{
    (void)t;
    void *at = script.lent < 64 ? aligned_alloc(4096, bytes) : NULL;
    if (at) script.piece[script.lent++] = at;
    return at;
}

static void script_reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    (void)t, (void)bytes;
    for (int i = 0; i < script.lent; i++)
        if (script.piece[i] == at) {
            script.piece[i] = script.piece[--script.lent];
            free(at);
            return;
        }
    fail_msg("not lent, or reclaimed twice");
}

static int script_behind(const struct hark_transport *t, uint32_t rank)
{
    (void)t, (void)rank;
    return script.behind;
}

static const struct hark_transport_ops plain = {.name = "script",
    .open = script_open,
    .address = script_address,
    .peer = script_peer,
    .send = script_send,
    .poll = script_poll,
    .wait = script_wait,
    .wake = script_wake,
    .drained = script_drained,
    .close = script_close};
static const struct hark_transport_ops lending = {.name = "script",
    .open = script_open,
    .address = script_address,
    .peer = script_peer,
    .send = script_send,
    .poll = script_poll,
    .wait = script_wait,
    .wake = script_wake,
    .drained = script_drained,
    .close = script_close,
    .lend = script_lend,
    .reclaim = script_reclaim,
    .behind = script_behind};

#endif
