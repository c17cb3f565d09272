/* Every allocation of the runtime's parts and of the driver fails in turn: each time a status or one line, never a crash,
 * nothing leaks (seen by a sanitizer build), and the next attempt with memory succeeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/driver.h"
#include "hark/fake.h"
#include "hark/registry.h"
#include "place.h"
#include "wrap.h"
#include "../../src/runtime/clusters.h"
#include "../../src/runtime/control.h"
#include "../../src/runtime/output.h"
#include "../../src/runtime/service.h"

#define MOST 400 /* no body here allocates so often */

/* Runs body with the n-th allocation failing, for each n that it reaches. body answers whether it succeeded; it must where
 * none failed. tolerant: it may also where one did. */
static void each(bool (*body)(void *argument), void *argument, bool tolerant)
{
    unsigned n = 1, calls;
    for (bool done = false; !done; n++) {
        assert_true(n < MOST);
        fault_arm(FAULT_MEMORY, FAULT_FAIL, n, 12);
        bool ok = body(argument);
        calls = fault_disarm();
        done = calls < n;
        if (done) assert_true(ok);
        else if (!tolerant) assert_false(ok);
    }
    assert_true(n > 2); /* it does allocate */
}

/* ---- small parts ----------------------------------------------------------------------------------------------- */

static bool parse_clusters(void *unused)
{
    struct hark_clusters c = {0};
    char error[256] = "", *text = NULL;
    struct hark_range *group = NULL;
    uint32_t count;
    (void)unused;
    bool ok = hark_clusters_parse(&c, 6, "0-1;2 4;3 5", "clusters", error) == 0;
    if (!ok) assert_true(strlen(error) > 0);
    if (ok) text = hark_clusters_text(&c);
    if (text) group = hark_clusters_group(&c, 4, &count);
    ok = group != NULL;
    free(group);
    free(text);
    hark_clusters_free(&c);
    return ok;
}

static bool make_message(void *unused)
{
    struct hark_control m;
    char text[3000] = "text";
    (void)unused;
    hark_control_begin(&m, HARK_C_HELLO);
    hark_control_put32(&m, 1);
    for (int i = 0; i < 10; i++) hark_control_puts(&m, text, sizeof text);
    hark_control_put_bytes(&m, text, sizeof text);
    hark_control_end(&m);
    bool ok = !m.bad;
    hark_control_free(&m);
    return ok;
}

static bool read_setup(void *unused)
{
    static const char text[] = "rank=1\nranks=2\njob=j\ndirectory=/d\nstore=/s\nprotocol=none\ntransport=shm\nclusters=0;1\n";
    struct hark_setup s;
    char error[200] = "";
    (void)unused;
    int status = hark_setup_read(&s, text, sizeof text - 1, error);
    if (status < 0) assert_true(strlen(error) > 0);
    hark_setup_free(&s);
    return status == 0;
}

static void show(void *self, const char *at, size_t length, uint64_t end)
{
    char *text = self;
    (void)end;
    strncat(text, at, length);
}

/* Without memory lines come in pieces, but none is lost, and none comes twice. */
static bool output(void *gated)
{
    char text[200] = "";
    struct hark_output o = {.write = show, .self = text, .gated = gated != NULL};
    hark_output_begin(&o, false);
    hark_output_take(&o, "one\ntw", 6);
    hark_output_take(&o, "o\nthree", 7);
    hark_output_begin(&o, false);
    hark_output_take(&o, "one\ntwo\nthree\n", 14);
    hark_output_open(&o, 14);
    hark_output_end(&o);
    hark_output_free(&o);
    assert_string_equal(text, "one\ntwo\nthree\n");
    return true;
}

static void small_parts(void **state)
{
    (void)state;
    each(parse_clusters, NULL, false);
    each(make_message, NULL, false);
    each(read_setup, NULL, false);
    each(output, NULL, true);
    each(output, "gated", true);
}

/* ---- the failure service, with stores --------------------------------------------------------------------------- */

struct place {
    char path[256];
    unsigned turn;
};

static bool serve(void *argument)
{
    struct place *p = argument;
    struct hark_clusters clusters = {0};
    struct hark_store *record = NULL;
    struct hark_service *s = NULL;
    char path[300], error[HARK_SERVICE_ERROR] = "";
    const uint8_t rolls[4] = {0, 1, 0, 0};
    bool ok = false;
    snprintf(path, sizeof path, "%s/%u", p->path, p->turn++);
    if (hark_clusters_blocks(&clusters, 4, 2) == 0 &&
        hark_store_open_directory(&record, path, "job", 1, true, error) == HARK_S_OK) {
        struct hark_service_config config = {.protocol = hark_protocol_named("hydee"), .clusters = &clusters,
            .record = record, .identity = "a=b\n"};
        int status = hark_service_open(&s, &config, error);
        if (status < 0) assert_true(strlen(error) > 0);
        ok = status == HARK_SERVICE_OK;
        if (ok && hark_service_fact(s, HARK_FACT_WAVE, 0, 0, 1) < 0) ok = false, assert_true(strlen(hark_service_error(s)) > 0);
        if (ok && hark_service_fail(s, rolls, true) < 0) ok = false, assert_true(strlen(hark_service_error(s)) > 0);
        if (ok) assert_int_equal(hark_service_wave(s, 0), 1);
        hark_service_close(s);
    }
    if (record) record->ops->close(record);
    hark_clusters_free(&clusters);
    return ok;
}

static void service(void **state)
{
    struct place p = {.turn = 0};
    (void)state;
    place_make(p.path);
    each(serve, &p, true); /* what can not be cleaned in a store without memory is left, and no failure */
    place_remove(p.path);
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

struct owner {
    struct hark_driver *d;
    struct hark_message *got;
    unsigned received;
};

static void take(void *self, struct hark_message *m)
{
    struct owner *o = self;
    o->got = m = hark_driver_keep(o->d, m);
    if (m == NULL || hark_driver_deliver(o->d, m) != HARK_D_OK) return;
    o->received++;
    hark_driver_drop(o->d, m);
}
static void nothing(void *self) { (void)self; }
static void nothing_id(void *self, uint64_t id) { (void)self; (void)id; }
static void nothing_effect(void *self, const struct hark_effect *x) { (void)self; (void)x; }
static void nothing_line(void *self, const char *line) { (void)self; (void)line; }

static const char *protocol;

static int open_driver(struct owner *o, uint32_t me, struct hark_fake *network)
{
    const struct hark_protocol *p = hark_protocol_named(protocol);
    bool alone = p->rolls == HARK_ROLLS_GROUP; /* each a cluster: then messages are logged */
    struct hark_range group = {alone ? me : 0, alone ? me : 1};
    struct hark_driver_config c = {.protocol = p, .digest = true,
        .core = {.me = me, .ranks = 2, .generations = 2, .copies = 1, .group = &group, .group_count = 1},
        .hooks = {.self = o, .handup = take, .resume = nothing, .committed = nothing_id, .persist = nothing_effect,
            .rollback = nothing_id, .diverged = nothing_effect, .recovered = nothing, .trouble = nothing_line}};
    char error[256] = "";
    c.transport = &hark_fake_transport;
    c.transport_config = (struct hark_transport_config){.job = "job", .me = me, .ranks = 2};
    hark_fake_join(network, &c.transport_config);
    int status = hark_driver_open(&o->d, &c, error);
    if (status < 0) {
        assert_null(o->d);
        assert_true(strlen(error) > 0);
        assert_null(strchr(error, '\n'));
    }
    return status;
}

/* The first failure of a call, with its line. */
static int heed(const struct owner *o, int status)
{
    if (status < 0) assert_true(strlen(hark_driver_error(o->d)) > 0);
    return status;
}

/* Process 0 sends to process 1, short and long, and to itself. */
static bool exchange(void *argument)
{
    struct owner o[2] = {{0}};
    struct hark_fake_config config = {.seed = 1};
    static uint8_t payload[100000];
    (void)argument;
    struct hark_fake *network = hark_fake_new(&config);
    if (network == NULL) return false;
    int status = open_driver(&o[0], 0, network);
    if (status == HARK_D_OK) status = open_driver(&o[1], 1, network);
    for (uint32_t i = 0; status >= 0 && i < 2; i++)
        status = heed(&o[i], hark_driver_peer(o[i].d, 1 - i, 0, hark_driver_address(o[1 - i].d)));
    for (uint32_t i = 0; status >= 0 && i < 6; i++)
        status = heed(&o[0], hark_driver_send(o[0].d, i < 5, 0, 7, payload, i == 3 ? sizeof payload : i * 10));
    for (int turn = 0; status >= 0 && turn < 1000 && (o[1].received < 5 || o[0].received < 1); turn++)
        for (int i = 0; status >= 0 && i < 2; i++) status = heed(&o[i], hark_driver_poll(o[i].d));
    bool ok = status >= 0 && o[1].received == 5 && o[0].received == 1;
    hark_driver_close(o[0].d);
    hark_driver_close(o[1].d);
    hark_fake_free(network);
    return ok;
}

static void driver(void **state)
{
    (void)state;
    static const char *const all[] = {"none", "coordinated", "hydee", "scmel"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        protocol = all[i];
        each(exchange, NULL, true); /* some memory is only for speed */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_parts), cmocka_unit_test(service), cmocka_unit_test(driver)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
