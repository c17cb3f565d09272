/* world.h: both ends of connections in one loop, and what they have seen. */
#ifndef HARK_TEST_AGENT_WORLD_H
#define HARK_TEST_AGENT_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/connection.h"

struct world;

struct end { /* all connections that have these events */
    struct world *w;
    struct hark_connection_config config;
    struct hark_connection *c; /* the last that something came from, and is not closed */
    unsigned opened, closed, messages, rooms;
    uint64_t bytes;
    uint64_t sum; /* of the bytes of all messages, by place */
    char why[300];
    void (*on_opened)(struct end *e);
    void (*on_message)(struct end *e, const uint8_t *at, size_t length);
    void (*on_room)(struct end *e);
    void (*on_closed)(struct end *e);
};

struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    struct hark_listener *listener;
    struct end caller, called;
};

static inline unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 4096; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static inline uint64_t sum_of(uint64_t sum, const uint8_t *at, size_t length)
{
    for (size_t i = 0; i < length; i++) sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static void end_opened(void *self, struct hark_connection *c)
{
    struct end *e = self;
    e->opened++;
    e->c = c;
    if (e->on_opened) e->on_opened(e);
}

static void end_message(void *self, struct hark_connection *c, const uint8_t *at, size_t length)
{
    struct end *e = self;
    e->c = c;
    e->messages++;
    e->bytes += length;
    e->sum = sum_of(e->sum, at, length);
    if (e->on_message) e->on_message(e, at, length);
}

static void end_room(void *self, struct hark_connection *c)
{
    struct end *e = self;
    assert_ptr_equal(e->c, c);
    e->rooms++;
    if (e->on_room) e->on_room(e);
}

static void end_closed(void *self, struct hark_connection *c, const char *why)
{
    struct end *e = self;
    e->closed++;
    if (e->c == c) e->c = NULL;
    snprintf(e->why, sizeof e->why, "%s", why);
    if (e->on_closed) e->on_closed(e);
}

static inline void end_init(struct world *w, struct end *e, const char *key)
{
    memset(e, 0, sizeof *e);
    e->w = w;
    e->config.loop = &w->loop;
    e->config.events =
        (struct hark_connection_events){e, end_opened, end_message, end_room, end_closed};
    snprintf((char *)e->config.key, sizeof e->config.key, "%s", key);
}

static void out_of_patience(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("it has not come in 30 seconds");
}

static inline void world_open(struct world *w)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->patience);
    end_init(w, &w->caller, "key");
    end_init(w, &w->called, "key");
}

static inline void world_listen(struct world *w, uint32_t strangers)
{
    char error[200];
    assert_int_equal(
        hark_listener_open(&w->listener, &w->called.config, "127.0.0.1", strangers, error), 0);
}

static inline struct hark_connection *world_call(struct world *w, struct end *e)
{
    char address[40], error[200];
    struct hark_connection *c;
    snprintf(address, sizeof address, "127.0.0.1:%u", hark_listener_port(w->listener));
    assert_int_equal(hark_connection_begin(&c, &e->config, address, error), 0);
    return c;
}

/* Drives the loop by what happens, until `condition` holds. Timers are first: what they do may be
 * all that happens for long. */
#define until(w, condition)                                                                        \
    do {                                                                                           \
        uv_timer_start(&(w)->patience, out_of_patience, 30000, 0);                                 \
        while (!(condition)) {                                                                     \
            (void)uv_run(&(w)->loop, UV_RUN_NOWAIT);                                               \
            if (!(condition)) (void)uv_run(&(w)->loop, UV_RUN_ONCE);                               \
        }                                                                                          \
        uv_timer_stop(&(w)->patience);                                                             \
    } while (0)

static void time_has_passed(uv_timer_t *timer)
{
    (void)timer;
}

/* For what is not to happen. Returns how often the loop has found something to do. */
static inline unsigned pass_time(struct world *w, uint64_t milliseconds)
{
    unsigned turns = 0;
    uv_update_time(&w->loop);
    uint64_t begun = uv_now(&w->loop);
    uv_timer_start(&w->patience, time_has_passed, milliseconds, 0);
    for (; uv_now(&w->loop) - begun < milliseconds; turns++) (void)uv_run(&w->loop, UV_RUN_ONCE);
    return turns;
}

static inline void world_meet(struct world *w)
{
    world_listen(w, 0);
    (void)world_call(w, &w->caller);
    until(w, w->caller.opened == 1 && w->called.opened == 1);
}

/* Nothing of a connection may be left in the loop. */
static inline void world_close(struct world *w)
{
    if (w->caller.c) hark_connection_close(w->caller.c, false);
    if (w->called.c) hark_connection_close(w->called.c, false);
    if (w->listener) hark_listener_close(w->listener);
    uv_close((uv_handle_t *)&w->patience, NULL);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
}

/* Bytes that are not the same in any two places near each other. */
static inline uint8_t *some_bytes(size_t length)
{
    uint8_t *b = malloc(length);
    uint32_t x = 1;
    assert_non_null(b);
    for (size_t i = 0; i < length; i++) {
        x = x * 1664525u + 1013904223u;
        b[i] = (uint8_t)(x >> 24);
    }
    return b;
}

#endif
