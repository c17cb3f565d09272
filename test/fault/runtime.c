/* Every allocation of the runtime's parts and of the driver fails in turn: each time a status or
 * one line, never a crash, nothing leaks (seen by a sanitizer build), and the next attempt with
 * memory succeeds. */
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
#include "../../src/control/clusters.h"
#include "../../src/control/control.h"
#include "../../src/supervisor/output.h"
#include "../../src/supervisor/keeper.h"

#define MOST 400 /* no body here allocates so often */

/* Runs body with the n-th allocation failing, for each n that it reaches. body answers whether it
 * succeeded; it must where none failed. tolerant: it may also where one did. */
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

/* ---- small parts ----------------------------------------------------------------------------- */

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
    static const char text[] = "rank=1\nranks=2\njob=j\ndirectory=/d\nstore=/"
                               "s\nprotocol=none\ntransport=shm\nclusters=0;1\n";
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

/* ---- the failure service, with stores -------------------------------------------------------- */

struct place {
    bool spills;
    char path[256];
    unsigned turn;
};

static bool serve(void *argument)
{
    struct place *p = argument;
    struct hark_clusters clusters = {0};
    struct hark_store *record = NULL;
    struct hark_keeper *s = NULL;
    char path[300], error[HARK_KEEPER_ERROR] = "";
    const uint8_t dead[4] = {0, 1, 0, 0};
    bool ok = false;
    snprintf(path, sizeof path, "%s/%u", p->path, p->turn++);
    if (hark_clusters_blocks(&clusters, 4, 2) == 0 &&
        hark_store_open_directory(&record, path, "job", 1, true, error) == HARK_S_OK) {
        struct hark_keeper_config config = {.protocol = hark_protocol_named("hydee"),
            .clusters = &clusters,
            .record = record,
            .identity = "a=b\n"};
        int status = hark_keeper_open(&s, &config, error);
        if (status < 0) assert_true(strlen(error) > 0);
        ok = status == HARK_KEEPER_OK;
        if (ok && hark_keeper_fact(s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}) < 0)
            ok = false, assert_true(strlen(hark_keeper_error(s)) > 0);
        if (ok && (hark_keeper_choose(s, dead, true) < 0 || hark_keeper_commit(s) < 0))
            ok = false, assert_true(strlen(hark_keeper_error(s)) > 0);
        if (ok) assert_int_equal(hark_service_wave(hark_keeper_core(s), 0, 0), 1);
        hark_keeper_close(s);
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
    each(serve, &p, true); /* what can not be cleaned in a store without memory is left, and no
                              failure */
    place_remove(p.path);
}

/* ---- the driver ------------------------------------------------------------------------------ */

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
static void nothing(void *self)
{
    (void)self;
}
static void nothing_id(void *self, uint64_t id)
{
    (void)self;
    (void)id;
}
static void nothing_fact(void *self, const struct hark_fact *x)
{
    (void)self;
    (void)x;
}
static void no_divergence(void *self, const struct hark_divergence *x)
{
    (void)self;
    (void)x;
}
static void nothing_line(void *self, const char *line)
{
    (void)self;
    (void)line;
}

static const char *protocol;

static int open_driver(struct owner *o, uint32_t me, struct hark_fake *network)
{
    const struct hark_protocol *p = hark_protocol_named(protocol);
    bool alone = p->rolls == HARK_ROLLS_CLUSTER; /* each a cluster: then messages are logged */
    struct hark_range group = {alone ? me : 0, alone ? me : 1};
    struct hark_driver_config c = {.protocol = p,
        .digest = true,
        .core = {.me = me,
            .ranks = 2,
            .generations = 2,
            .copies = 1,
            .cluster = &group,
            .cluster_count = 1},
        .hooks = {.self = o,
            .handup = take,
            .resume = nothing,
            .committed = nothing_id,
            .persist = nothing_fact,
            .rollback = nothing_id,
            .diverged = no_divergence,
            .recovered = nothing,
            .trouble = nothing_line}};
    char error[256] = "";
    c.transport = &hark_fake_transport;
    c.transport_config = (struct hark_transport_config){.job = "job", .me = me, .ranks = 2};
    hark_fake_join(network, &c.transport_config);
    int status = hark_driver_open(&o->d, &c, error);
    if (status < 0) {
        assert_null(o->d);
        assert_non_null(strstr(error, "memory"));
        assert_null(strchr(error, '\n'));
    }
    return status;
}

/* The first failure of a call, with its line. */
static int heed(const struct owner *o, int status)
{
    if (status < 0) assert_non_null(strstr(hark_driver_error(o->d), "memory"));
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
        status = heed(&o[0],
            hark_driver_send(o[0].d, i < 5, 0, 7, payload, i == 3 ? sizeof payload : i * 10));
    for (int turn = 0; status >= 0 && turn < 1000 && (o[1].received < 5 || o[0].received < 1);
         turn++)
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

/* ---- images and restarts --------------------------------------------------------------------- */

/* Two processes and, where the protocol has one, the recovery process. What the failure service
 * would decide is kept here. */
enum { BOTH = 2, ALL = 3, SENT = 5 };
static const uint64_t lengths[SENT] = {10, 5000, 100000, 0, 9000};

struct node {
    struct world *w;
    struct hark_driver *d;
    uint32_t rank, inc;
    bool takes, resumed, recovered, capturing;
    struct hark_message *kept[2 * SENT]; /* handed up and not delivered */
    uint32_t count;
    unsigned delivered;
    uint64_t region[2];
    struct hark_region protect;
};
struct world {
    struct node node[ALL];
    struct hark_fake *network;
    struct hark_store *store;
    char spill[300];     /* where the logs go, all but 64 KiB of them; or "" */
    uint64_t wave[BOTH]; /* decided, of each process */
    struct {
        uint32_t node, fact;
        uint64_t id;
    } asked[16];
    uint32_t asks, re;
    unsigned troubles, missing; /* images that could not be */
};

static void node_handup(void *self, struct hark_message *m)
{
    struct node *n = self;
    if ((m = hark_driver_keep(n->d, m)) == NULL) return;
    assert_true(n->count < 2 * SENT);
    n->kept[n->count++] = m;
}
static void node_resume(void *self)
{
    ((struct node *)self)->resumed = true;
}
static void node_recovered(void *self)
{
    ((struct node *)self)->recovered = true;
}
static int node_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    struct node *n = self;
    (void)id;
    n->protect = (struct hark_region){7, n->region, sizeof n->region};
    *region = &n->protect;
    *count = 1;
    return 0;
}
static void node_persist(void *self, const struct hark_fact *fact)
{
    struct node *n = self;
    struct world *w = n->w;
    assert_true(w->asks < 16);
    w->asked[w->asks].node = (uint32_t)(n - w->node);
    w->asked[w->asks].fact = fact->kind;
    w->asked[w->asks++].id = fact->id;
    if (fact->kind != HARK_FACT_WAVE) return;
    bool alone = hark_protocol_named(protocol)->rolls == HARK_ROLLS_CLUSTER;
    for (uint32_t i = 0; i < BOTH; i++)
        if (!alone || i == fact->rank) w->wave[i] = fact->id;
}
static void node_trouble(void *self, const char *line)
{
    assert_non_null(strstr(line, "memory"));
    ((struct node *)self)->w->troubles++;
}

static void node_observe(void *self, const struct hark_event *e, const struct hark_effect *x)
{
    struct node *n = self;
    n->capturing = x && x->type == HARK_CAPTURE; /* until the next thing happens */
    if (e && e->type == HARK_STORED && e->u.stored.of == HARK_CAPTURE && !e->u.stored.ok)
        n->w->missing++;
}

static int node_open(struct world *w, uint32_t i)
{
    struct node *n = &w->node[i];
    bool recovery = i == BOTH;
    n->rank = recovery ? HARK_RECOVERY : i;
    const struct hark_protocol *p = hark_protocol_named(recovery ? "recovery" : protocol);
    struct hark_range group = {i, i};
    struct hark_driver_config c = {.protocol = p,
        .digest = true,
        .store = recovery ? NULL : w->store,
        .core = {.me = n->rank,
            .ranks = BOTH,
            .generations = 2,
            .copies = 1,
            .cluster = &group,
            .cluster_count = p->rolls == HARK_ROLLS_CLUSTER},
        .hooks = {.self = n,
            .handup = node_handup,
            .resume = node_resume,
            .capture = node_capture,
            .committed = nothing_id,
            .persist = node_persist,
            .rollback = nothing_id,
            .diverged = no_divergence,
            .recovered = node_recovered,
            .trouble = node_trouble,
            .observe = node_observe}};
    char error[256] = "";
    if (w->spill[0])
        c.log =
            (struct hark_log_config){.limit = 1, .spill = w->spill, .rank = n->rank, .inc = n->inc};
    n->w = w;
    n->count = 0;
    n->delivered = 0;
    c.transport = &hark_fake_transport;
    c.transport_config =
        (struct hark_transport_config){.job = "job", .me = n->rank, .inc = n->inc, .ranks = BOTH};
    hark_fake_join(w->network, &c.transport_config);
    int status = hark_driver_open(&n->d, &c, error);
    if (status < 0) assert_non_null(strstr(error, "memory"));
    return status;
}

static int node_heed(const struct node *n, int status)
{
    if (status < 0) assert_non_null(strstr(hark_driver_error(n->d), "memory"));
    assert_false(n->capturing); /* that there can be no image is no failure */
    return status;
}

/* Each payload has its length and its bytes, in the order of sending. */
static int deliver_all(struct node *n)
{
    int status = 0;
    for (uint32_t i = 0; status == 0 && n->takes && n->count; i++) {
        struct hark_message *m = n->kept[0];
        status = node_heed(n, hark_driver_deliver(n->d, m));
        if (status) break; /* not now */
        assert_int_equal(m->length, lengths[n->delivered % SENT]);
        for (uint64_t k = 0; k < m->length; k++)
            assert_int_equal(((uint8_t *)m->payload)[k], m->from * 16 + n->delivered);
        n->delivered++;
        hark_driver_drop(n->d, m);
        memmove(n->kept, n->kept + 1, --n->count * sizeof n->kept[0]);
    }
    return status < 0 ? status : HARK_D_OK;
}

/* One round of all: what they asked to be made durable is, and what can move does. */
static int turn(struct world *w)
{
    int status = HARK_D_OK;
    while (status >= 0 && w->asks) {
        struct node *n = &w->node[w->asked[0].node];
        uint32_t fact = w->asked[0].fact;
        uint64_t id = w->asked[0].id;
        memmove(w->asked, w->asked + 1, --w->asks * sizeof w->asked[0]);
        if (n->d) status = node_heed(n, hark_driver_stored(n->d, fact, id, true));
    }
    for (uint32_t i = 0; status >= 0 && i < ALL; i++) {
        struct node *n = &w->node[i];
        if (n->d == NULL) continue;
        status = node_heed(n, hark_driver_wait(n->d, 0));
        if (status >= 0) status = deliver_all(n);
    }
    return status;
}

static int introduce(struct world *w, uint32_t i)
{
    int status = HARK_D_OK;
    struct node *n = &w->node[i];
    for (uint32_t k = 0; status >= 0 && k < ALL; k++) {
        struct node *o = &w->node[k];
        if (k == i || o->d == NULL) continue;
        status = node_heed(n, hark_driver_peer(n->d, o->rank, o->inc, hark_driver_address(o->d)));
        if (status >= 0)
            status =
                node_heed(o, hark_driver_peer(o->d, n->rank, n->inc, hark_driver_address(n->d)));
    }
    return status;
}

static int send_some(struct world *w, uint32_t from)
{
    static uint8_t payload[100000];
    int status = HARK_D_OK;
    for (unsigned i = 0; status >= 0 && i < SENT; i++) {
        memset(payload, (int)(from * 16 + i), sizeof payload);
        status = node_heed(
            &w->node[from], hark_driver_send(w->node[from].d, 1 - from, 0, 7, payload, lengths[i]));
    }
    return status;
}

/* Both are at a checkpoint call, and leave it. */
static int checkpoint(struct world *w)
{
    bool at[BOTH] = {false};
    int status = HARK_D_OK;
    w->node[0].resumed = w->node[1].resumed = false;
    for (int k = 0; status >= 0 && k < 2000 && !(w->node[0].resumed && w->node[1].resumed); k++) {
        for (uint32_t i = 0; status >= 0 && i < BOTH; i++) {
            if (at[i]) continue;
            status = node_heed(&w->node[i], hark_driver_checkpoint(w->node[i].d, true));
            at[i] = status == 0;
        }
        if (status >= 0) status = turn(w);
    }
    if (status >= 0) assert_true(w->node[0].resumed && w->node[1].resumed);
    for (int k = 0; status >= 0 && k < 100; k++) status = turn(w); /* it is decided, or not */
    return status;
}

/* Process `i` is a new incarnation, from its image. */
static int restart_node(struct world *w, uint32_t i)
{
    const struct hark_region *region;
    uint32_t count;
    struct node *n = &w->node[i];
    int status = node_open(w, i);
    if (status < 0) return status;
    memset(n->region, 0, sizeof n->region);
    status = node_heed(n, hark_driver_restart(n->d, w->wave[i], w->re, n->inc, &region, &count));
    if (status >= 0) {
        assert_int_equal(count, 1);
        assert_int_equal(region[0].id, 7);
        assert_int_equal(region[0].length, sizeof n->region);
        memcpy(n->region, region[0].at, sizeof n->region);
        hark_driver_restarted(n->d);
        assert_int_equal(n->region[0], 1000 + i);
        return status;
    }
    hark_driver_close(n->d);
    n->d = NULL;
    return status;
}

static int announce(struct world *w, const bool dead[BOTH])
{
    uint32_t down[BOTH];
    struct hark_incarnation inc[BOTH];
    bool alone = hark_protocol_named(protocol)->rolls == HARK_ROLLS_CLUSTER;
    struct hark_decision wave[BOTH] = {
        {.cluster = 0, .wave = w->wave[0]}, {.cluster = 1, .wave = w->wave[1]}};
    struct hark_event e = {.type = HARK_FAILED};
    int status = HARK_D_OK;
    for (uint32_t i = 0; i < BOTH; i++) {
        if (dead[i]) down[e.u.failed.down_count++] = i;
        if (w->node[i].inc)
            inc[e.u.failed.inc_count++] = (struct hark_incarnation){i, w->node[i].inc};
    }
    e.u.failed.re = w->re;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    e.u.failed.wave_count = alone ? 2 : 1;
    for (uint32_t i = 0; status >= 0 && i < ALL; i++)
        if (w->node[i].d) status = node_heed(&w->node[i], hark_driver_failed(w->node[i].d, &e));
    return status;
}

/* Those that go back with process 1 die and come back; what they had not taken comes again, from
 * the image or its sender. */
static int go_back(struct world *w)
{
    const bool dead[BOTH] = {hark_protocol_named(protocol)->rolls == HARK_ROLLS_ALL, true};
    int status = HARK_D_OK;
    w->re++;
    for (uint32_t i = 0; i < BOTH; i++) {
        if (!dead[i]) continue;
        hark_driver_close(w->node[i].d);
        w->node[i].d = NULL;
        w->node[i].inc++;
    }
    for (uint32_t i = 0; status >= 0 && i < BOTH; i++)
        if (dead[i] && restart_node(w, i) < 0) {
            w->node[i].inc++;
            status = restart_node(w, i); /* with memory: now it can */
            assert_true(status >= 0);
        }
    for (uint32_t i = 0; status >= 0 && i < BOTH; i++)
        if (dead[i]) status = introduce(w, i);
    return status >= 0 ? announce(w, dead) : status;
}

static int images_and_restarts(struct world *w)
{
    bool recovery = hark_protocol_named(protocol)->recovery != 0;
    int status = HARK_D_OK;
    for (uint32_t i = 0; status >= 0 && i < (recovery ? ALL : BOTH); i++) {
        w->node[i].region[0] = 1000 + i;
        status = node_open(w, i);
        if (status >= 0) status = introduce(w, i);
    }
    for (uint32_t i = 0; status >= 0 && i < BOTH; i++) status = send_some(w, i);
    for (int k = 0; status >= 0 && k < 2000 && w->node[0].count + w->node[1].count < 2 * SENT; k++)
        status = turn(w);
    if (status >= 0) assert_int_equal(w->node[0].count + w->node[1].count, 2 * SENT);
    /* The first call may only agree on the next one; an image that there is no memory for is said,
     * and then comes another. */
    for (int k = 0; status >= 0 && k < 4 && (w->wave[0] == 0 || w->wave[1] == 0); k++)
        status = checkpoint(w);
    if (status >= 0) assert_true(w->wave[0] && w->wave[1]);
    assert_int_equal(w->troubles, w->missing);
    if (status >= 0) status = go_back(w);
    w->node[0].takes = w->node[1].takes = true;
    for (int k = 0;
         status >= 0 && k < 4000 && w->node[0].delivered + w->node[1].delivered < 2 * SENT; k++)
        status = turn(w);
    if (status >= 0) assert_int_equal(w->node[0].delivered + w->node[1].delivered, 2 * SENT);
    return status;
}

static bool image(void *argument)
{
    struct place *p = argument;
    struct world *w = calloc(1, sizeof *w);
    struct hark_fake_config config = {.seed = 1};
    char path[300], error[256] = "";
    if (w == NULL) return false;
    if (p->spills) snprintf(w->spill, sizeof w->spill, "%s/spill-%u", p->path, p->turn);
    snprintf(path, sizeof path, "%s/%u", p->path, p->turn++);
    w->network = hark_fake_new(&config);
    int status = w->network && hark_store_open_directory(
                                   &w->store, path, "job", BOTH, true, error) == HARK_S_OK
                     ? 0
                     : -1;
    if (status >= 0) status = images_and_restarts(w);
    for (uint32_t i = 0; i < ALL; i++) hark_driver_close(w->node[i].d);
    if (w->store) w->store->ops->close(w->store);
    hark_fake_free(w->network);
    free(w);
    return status >= 0;
}

static void images(void **state)
{
    (void)state;
    static const char *const all[] = {"coordinated", "hydee", "scmel", "hydee"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct place p = {.spills = i == 3};
        protocol = all[i];
        place_make(p.path);
        each(image, &p, true); /* what is told and goes on is no failure */
        place_remove(p.path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_parts), cmocka_unit_test(service),
        cmocka_unit_test(driver), cmocka_unit_test(images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
