/* Reductions through the driver: five processes over a network in memory, the tree of
 * camel-reduce-tree.hark; contributions of some bytes and of many, images, and processes that die
 * and come back. What the root gets is what it would get without. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../fault/place.h"
#include "hark/driver.h"
#include "hark/fake.h"
#include "hark/registry.h"

enum { N = 5, UP = 7, ROUNDS = 6, MOST = 40000, ROUNDS_MOST = 200000 };

static const uint32_t member[N] = {0, 1, 2, 3, 4}, parent[N] = {0, 0, 0, 2, 2};
static const struct hark_group tree = {
    .ctx = UP, .reduces = 1, .root = 0, .member = member, .parent = parent, .count = N};

struct process {
    struct hark_driver *driver;
    struct hark_store *store;
    uint32_t rank, inc;
    uint64_t made, taken;
    struct hark_message *first, *last;
    struct hark_region region[2];
    bool called, resumed, gone;
    struct hark_fact fact;
    bool asked;
};

static struct job {
    struct process p[N];
    struct hark_fake *network;
    uint64_t bytes;
    uint64_t wave; /* that was decided */
    uint32_t re;
    const struct hark_transport_ops *transport;
} job;

/* The same network, but receivers may look into the log: of that which may go from it because
 * others have it, they must not. */
static struct hark_transport_ops lending;

static int on_open(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    int status = hark_fake_transport.open(t, config, error);
    if (status == HARK_T_OK) (*t)->ops = &lending;
    return status;
}

/* What is lent, and goes with the transports at the latest. */
static void *lent[256];

static void *on_lend(struct hark_transport *t, uint64_t bytes)
{
    (void)t;
    for (unsigned i = 0; i < sizeof lent / sizeof *lent; i++)
        if (lent[i] == NULL) return lent[i] = calloc(1, bytes);
    return NULL;
}

static void on_reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    (void)t, (void)bytes;
    for (unsigned i = 0; i < sizeof lent / sizeof *lent; i++)
        if (lent[i] == at) lent[i] = NULL;
    free(at);
}

static int on_behind(const struct hark_transport *t, uint32_t rank)
{
    (void)t, (void)rank;
    return 1;
}

static int on_send(struct hark_transport *t, struct hark_outgoing *f)
{
    assert_null(f->keep);
    return hark_fake_transport.send(t, f);
}

/* Neither associative nor commutative. */
static uint64_t mixed(uint64_t a, uint64_t b)
{
    return (a ^ b >> 7) * UINT64_C(0x9e3779b97f4a7c15) + b;
}

static uint64_t share(uint32_t rank, uint64_t round)
{
    return mixed(rank + 1, round * 1000);
}

static uint64_t expected(uint64_t n)
{
    uint64_t two = mixed(mixed(share(2, n), share(3, n)), share(4, n));
    return mixed(share(0, n), mixed(share(1, n), two));
}

static void on_combine(
    void *self, uint16_t ctx, int64_t tag, void *into, const void *part, uint64_t length)
{
    (void)self;
    assert_int_equal(ctx, UP);
    assert_int_equal(tag, 11);
    assert_int_equal(length, job.bytes);
    for (uint64_t i = 0; i < length; i += 8) {
        uint64_t a, b;
        memcpy(&a, (const uint8_t *)into + i, 8);
        memcpy(&b, (const uint8_t *)part + i, 8);
        a = mixed(a, b);
        memcpy((uint8_t *)into + i, &a, 8);
    }
}

static void on_handup(void *self, struct hark_message *m)
{
    struct process *p = self;
    m = hark_driver_keep(p->driver, m);
    assert_non_null(m);
    m->next = NULL;
    if (p->last) p->last->next = m;
    else p->first = m;
    p->last = m;
}

static void on_resume(void *self)
{
    ((struct process *)self)->resumed = true;
}

static int on_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    struct process *p = self;
    (void)id;
    p->region[0] = (struct hark_region){1, &p->made, sizeof p->made};
    p->region[1] = (struct hark_region){2, &p->taken, sizeof p->taken};
    *region = p->region;
    *count = 2;
    return 0;
}

static void on_persist(void *self, const struct hark_fact *fact)
{
    struct process *p = self;
    p->fact = *fact;
    p->asked = true;
    if (fact->kind == HARK_FACT_WAVE) job.wave = fact->id;
}

static void on_nothing(void *self)
{
    (void)self;
}

static void on_trouble(void *self, const char *line)
{
    (void)self;
    fail_msg("%s", line);
}

static void on_rollback(void *self, uint64_t id)
{
    (void)self, (void)id;
    fail_msg("nobody goes back who has not died");
}

static void poll_all(const struct process *but)
{
    for (uint32_t i = 0; i < N; i++) {
        struct process *p = &job.p[i];
        if (p == but || p->gone) continue;
        if (hark_driver_poll(p->driver) < 0) fail_msg("%s", hark_driver_error(p->driver));
        if (!p->asked) continue;
        p->asked = false;
        assert_true(hark_driver_stored(p->driver, p->fact.kind, p->fact.id, true) >= 0);
    }
}

static int on_waiting(void *self)
{
    poll_all(self);
    return 1;
}

static void peers(void)
{
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < N; k++)
            if (i != k)
                assert_true(hark_driver_peer(job.p[i].driver, k, job.p[k].inc,
                                hark_driver_address(job.p[k].driver)) >= 0);
}

static void open_one(struct process *p)
{
    char error[256];
    struct hark_driver_config c = {
        .protocol = hark_protocol_named("camel"), .transport = job.transport, .store = p->store};
    c.core = (struct hark_config){.me = p->rank, .ranks = N, .groups = &tree, .group_count = 1};
    c.hooks = (struct hark_hooks){.self = p,
        .combine = on_combine,
        .handup = on_handup,
        .resume = on_resume,
        .capture = on_capture,
        .persist = on_persist,
        .recovered = on_nothing,
        .trouble = on_trouble,
        .waiting = on_waiting,
        .rollback = on_rollback};
    c.transport_config.job = "reduction";
    c.transport_config.me = p->rank;
    c.transport_config.ranks = N;
    c.transport_config.inc = p->inc;
    hark_fake_join(job.network, &c.transport_config);
    if (hark_driver_open(&p->driver, &c, error) < 0) fail_msg("%s", error);
}

/* `rank` is lost, and comes back from the image that was decided last. */
static void lose(uint32_t rank)
{
    struct process *p = &job.p[rank];
    const struct hark_region *region;
    uint32_t count;
    struct hark_incarnation inc[N];
    struct hark_decision decision = {0, 0, job.wave};
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = ++job.re;
    e.u.failed.down = &rank;
    e.u.failed.inc = inc;
    e.u.failed.down_count = 1;
    e.u.failed.wave = &decision;
    e.u.failed.wave_count = job.wave != 0;
    p->inc++;
    for (uint32_t i = 0; i < N; i++)
        if (job.p[i].inc) inc[e.u.failed.inc_count++] = (struct hark_incarnation){i, job.p[i].inc};
    assert_true(hark_fake_kill(job.network, rank));
    hark_driver_close(p->driver);
    p->first = p->last = NULL;
    p->made = p->taken = 0;
    p->called = p->resumed = job.wave != 0;
    p->asked = false;
    open_one(p);
    p->gone = true;
    assert_true(hark_driver_restart(p->driver, job.wave, job.re, p->inc, &region, &count) >= 0);
    for (uint32_t i = 0; i < count; i++)
        memcpy(region[i].id == 1 ? &p->made : &p->taken, region[i].at, 8);
    hark_driver_restarted(p->driver);
    p->gone = false;
    peers();
    for (uint32_t i = 0; i < N; i++)
        if (hark_driver_failed(job.p[i].driver, &e) < 0)
            fail_msg("%s", hark_driver_error(job.p[i].driver));
}

static void contribute(struct process *p)
{
    static uint8_t text[MOST];
    for (uint64_t i = 0; i < job.bytes; i += 8) {
        uint64_t x = share(p->rank, p->made + 1);
        memcpy(text + i, &x, 8);
    }
    assert_true(hark_driver_multicast(p->driver, UP, UP, 11, text, job.bytes) >= 0);
    memset(text, 0xee, sizeof text); /* the caller's again */
    p->made++;
}

/* The root takes a result, if there is one. */
static void take(struct process *p)
{
    struct hark_message *m = p->first;
    if (m == NULL || hark_driver_deliver(p->driver, m) != HARK_D_OK) return;
    p->first = m->next;
    if (p->first == NULL) p->last = NULL;
    p->taken++;
    assert_int_equal(m->length, job.bytes);
    for (uint64_t i = 0; i < m->length; i += 8) {
        uint64_t x;
        memcpy(&x, (const uint8_t *)m->payload + i, 8);
        assert_int_equal(x, expected(p->taken));
    }
    hark_driver_drop(p->driver, m);
}

/* One thing that a process can do now. The third contribution of all is before the checkpoint; the
 * root is behind by one result. */
static void go(struct process *p)
{
    if (p->called && !p->resumed) return;
    if (p->made == 3 && !p->called) {
        p->called = true;
        assert_true(hark_driver_checkpoint(p->driver, true) >= 0);
    } else if (p->made < ROUNDS && (p->rank || p->made <= p->taken)) {
        contribute(p);
    } else {
        take(p);
    }
}

static bool over(void)
{
    for (uint32_t i = 0; i < N; i++)
        if (job.p[i].made < ROUNDS || job.p[i].first) return false;
    return job.p[0].taken == ROUNDS;
}

/* Loses who is named, each when so many results have been taken (at 0: when it has contributed
 * once); `seed`: of the network. */
static void run_on(const struct hark_transport_ops *transport, uint64_t bytes, uint64_t seed,
    const char *who, uint64_t at)
{
    char error[256];
    job = (struct job){.bytes = bytes, .transport = transport};
    char place[256];
    place_make(place);
    job.network =
        hark_fake_new(&(struct hark_fake_config){.seed = seed, .delay = 5, .chunk = 20000});
    for (uint32_t i = 0; i < N; i++) {
        job.p[i].rank = i;
        if (hark_store_open_directory(&job.p[i].store, place, "reduction", N, false, error) < 0)
            fail_msg("%s", error);
        open_one(&job.p[i]);
    }
    peers();
    bool recovers = false;
    for (uint32_t round = 0; !over() || *who; round++) {
        assert_true(round < ROUNDS_MOST);
        for (uint32_t i = 0; i < N; i++) go(&job.p[(round + i) % N]);
        poll_all(NULL);
        for (uint32_t i = 0; i < N; i++) assert_true(hark_driver_wait(job.p[i].driver, 0) >= 0);
        recovers = false;
        for (uint32_t i = 0; i < N; i++)
            recovers =
                recovers || hark_protocol_named("camel")->unrest(hark_driver_core(job.p[i].driver));
        if (*who && !recovers && (job.p[0].taken >= at || over())) lose((uint32_t)(*who++ - '0'));
    }
    for (uint32_t i = 0; i < N; i++) {
        assert_null(hark_protocol_named("camel")->violated(hark_driver_core(job.p[i].driver)));
        hark_driver_close(job.p[i].driver);
        job.p[i].store->ops->close(job.p[i].store);
    }
    for (unsigned i = 0; i < sizeof lent / sizeof *lent; i++) {
        free(lent[i]);
        lent[i] = NULL;
    }
    hark_fake_free(job.network);
    place_remove(place);
}

static void run(uint64_t bytes, uint64_t seed, const char *who, uint64_t at)
{
    run_on(&hark_fake_transport, bytes, seed, who, at);
}

static void without_failures(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run(8, seed, "", 0);
        run(MOST, seed, "", 0);
    }
}

static void with_failures(void **state)
{
    static const char *const who[] = {"0", "1", "2", "3", "20", "02", "420", "2020"};
    (void)state;
    for (unsigned i = 0; i < sizeof who / sizeof *who; i++)
        for (uint64_t at = 0; at < ROUNDS; at++) run(at % 2 ? 8 : MOST, at + i, who[i], at);
}

static void nothing_is_lent(void **state)
{
    (void)state;
    lending = hark_fake_transport;
    lending.open = on_open;
    lending.lend = on_lend;
    lending.reclaim = on_reclaim;
    lending.behind = on_behind;
    lending.send = on_send;
    for (uint64_t at = 0; at < ROUNDS; at++) {
        run_on(&lending, MOST, at, "0", at);
        run_on(&lending, MOST, at, "2020", at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_failures),
        cmocka_unit_test(with_failures), cmocka_unit_test(nothing_is_lent)};
    return cmocka_run_group_tests_name("reduction", tests, NULL, NULL);
}
