/* fake_network.c: what the fake network promises beyond a transport: the same again from the same
 * seed, death at any moment, and frames chosen by hand. */
#include "harness.h"
#include "hark/fake.h"

enum { RANKS = 4 };

struct world {
    struct hark_fake *network;
    struct hark_transport *t[RANKS];
    uint32_t inc[RANKS];
    uint64_t story; /* a hash over all that happened, in its order */
    size_t arrived, placed, broken;
    uint8_t place[MIB];
    uint8_t last;
};
struct self {
    struct world *world;
    uint32_t rank;
};

static struct world world;
static struct self self[RANKS];

static void *place(void *s, const struct hark_frame *frame)
{
    struct world *w = ((struct self *)s)->world;
    w->placed++;
    w->story = mix(w->story ^ frame->header.at[0] ^ 1000);
    return w->place;
}

static void arrived(void *s, const struct hark_frame *frame, const void *payload)
{
    struct world *w = ((struct self *)s)->world;
    (void)payload;
    w->arrived++;
    w->last = frame->header.at[0];
    w->story = mix(w->story ^ frame->header.at[0] ^ (uint64_t)frame->from << 8 ^
                   (uint64_t)((struct self *)s)->rank << 16);
}

static void broken(void *s, const struct hark_frame *frame, void *at)
{
    struct world *w = ((struct self *)s)->world;
    (void)at;
    w->broken++;
    w->story = mix(w->story ^ frame->header.at[0] ^ 2000);
}

static void open_rank(uint32_t rank)
{
    self[rank] = (struct self){&world, rank};
    struct hark_transport_config config = {.job = "net",
        .me = rank,
        .inc = world.inc[rank],
        .ranks = RANKS,
        .sink = {&self[rank], place, arrived, broken}};
    hark_fake_join(world.network, &config);
    assert_int_equal(hark_fake_transport.open(&world.t[rank], &config, NULL), HARK_T_OK);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(hark_fake_transport.peer(world.t[rank], i, world.inc[i], NULL), HARK_T_OK);
}

static void begin(struct hark_fake_config config)
{
    memset(&world, 0, sizeof world);
    world.network = hark_fake_new(&config);
    assert_non_null(world.network);
    for (uint32_t i = 0; i < RANKS; i++) open_rank(i);
}

static void finish(void)
{
    for (uint32_t i = 0; i < RANKS; i++) hark_fake_transport.close(world.t[i]);
    hark_fake_free(world.network);
}

static int send(uint32_t from, uint32_t to, uint8_t name, uint64_t length)
{
    static const uint8_t zeros[MIB];
    struct hark_outgoing out = {
        .to = to, .inc = world.inc[to], .header = {&name, 1}, .part = {{zeros, length}}};
    return hark_fake_transport.send(world.t[from], &out);
}

static void poll_all(unsigned times)
{
    while (times-- > 0)
        for (uint32_t i = 0; i < RANKS; i++) hark_fake_transport.poll(world.t[i]);
}

static void reborn(uint32_t rank)
{
    assert_true(hark_fake_kill(world.network, rank));
    assert_false(hark_fake_alive(world.network, rank, NULL));
    assert_int_equal(hark_fake_transport.poll(world.t[rank]), HARK_T_ESYSTEM);
    hark_fake_transport.close(world.t[rank]);
    world.inc[rank]++;
    open_rank(rank);
    uint32_t inc = 0;
    assert_true(hark_fake_alive(world.network, rank, &inc));
    assert_int_equal(inc, world.inc[rank]);
}

/* A while with two deaths in it. */
static uint64_t live(uint64_t seed)
{
    begin((struct hark_fake_config){
        .seed = seed, .delay = 9, .reorder = true, .drop = 50, .ghosts = 500});
    for (unsigned i = 0; i < 200; i++) {
        send(i % RANKS, (i / RANKS + i) % RANKS, (uint8_t)i, i % 17 == 0 ? 100000 : i);
        if (i == 70 || i == 140) reborn(i / 70);
        poll_all(1);
    }
    poll_all(100);
    uint64_t story = world.story;
    finish();
    return story;
}

static void same_seed_same_story(void **state)
{
    (void)state;
    uint64_t others = 0;
    for (uint64_t seed = 1; seed < 20; seed++) {
        uint64_t story = live(seed);
        assert_true(live(seed) == story);
        others += live(seed + 1) != story;
    }
    assert_int_equal(others, 19);
}

/* Over a few seeds a death does all of it: frames of the dead are lost, or arrive later. */
static void ghosts(void **state)
{
    (void)state;
    size_t lost = 0, late = 0;
    for (uint64_t seed = 1; seed < 50; seed++) {
        begin((struct hark_fake_config){.seed = seed, .delay = 3, .ghosts = 500});
        send(0, 1, 1, 10);
        reborn(0);
        poll_all(50);
        if (world.arrived) late++;
        else lost++;
        finish();
    }
    assert_true(lost > 0 && late > 0);
}

static void no_ghosts_unless_wanted(void **state)
{
    (void)state;
    begin((struct hark_fake_config){.seed = 3, .delay = 3});
    send(0, 1, 1, 10); /* from the one that dies */
    send(1, 0, 2, 10); /* to it */
    send(1, 2, 3, 10); /* between others */
    reborn(0);
    poll_all(50);
    assert_int_equal(world.arrived, 1);
    assert_int_equal(world.last, 3);
    finish();
}

/* Without `reorder` one channel keeps its order; with it, some seed does not. */
static void order(void **state)
{
    (void)state;
    size_t changed[2] = {0, 0};
    for (unsigned reorder = 0; reorder < 2; reorder++)
        for (uint64_t seed = 1; seed < 30; seed++) {
            begin((struct hark_fake_config){.seed = seed, .delay = 9, .reorder = reorder});
            uint64_t expected = 0;
            for (uint8_t i = 0; i < 9; i++) {
                send(0, 1, i, i == 4 ? 90000 : 5);
                if (i == 4) expected = mix(expected ^ i ^ 1000);
                expected = mix(expected ^ i ^ (uint64_t)1 << 16);
            }
            poll_all(200);
            assert_int_equal(world.arrived, 9);
            changed[reorder] += world.story != expected;
            finish();
        }
    assert_int_equal(changed[0], 0);
    assert_true(changed[1] > 0);
}

static void by_hand(void **state)
{
    (void)state;
    struct hark_fake_flight flight[8];
    begin((struct hark_fake_config){.manual = true});
    for (uint8_t i = 0; i < 3; i++) assert_int_equal(send(i, 3, i, 10), HARK_T_OK);
    poll_all(20);
    assert_int_equal(world.arrived, 0);
    assert_int_equal(hark_fake_in_flight(world.network, flight, 8), 3);
    assert_int_equal(flight[1].from, 1);
    assert_int_equal(flight[1].header.at[0], 1);
    assert_true(flight[1].open && !flight[1].half);
    assert_true(hark_fake_deliver(world.network, 2));
    assert_false(hark_fake_deliver(world.network, 2)); /* let in already */
    assert_false(hark_fake_deliver(world.network, 3));
    assert_false(hark_fake_lose(world.network, 0)); /* both of its ends live */
    poll_all(1);
    assert_int_equal(world.arrived, 1);
    assert_int_equal(world.last, 2);
    assert_true(hark_fake_deliver(world.network, 1));
    assert_true(hark_fake_deliver(world.network, 0));
    poll_all(1);
    assert_int_equal(world.arrived, 3);
    assert_int_equal(world.last, 0); /* in the order of letting in */
    assert_int_equal(hark_fake_in_flight(world.network, flight, 8), 0);
    finish();
}

/* A long frame is chosen again for each of its steps; death in between breaks it. */
static void half_by_hand(void **state)
{
    (void)state;
    struct hark_fake_flight flight[2];
    begin((struct hark_fake_config){.manual = true});
    assert_int_equal(send(0, 1, 7, 100000), HARK_T_OK);
    assert_true(hark_fake_deliver(world.network, 0));
    poll_all(1);
    assert_int_equal(world.placed, 1);
    assert_int_equal(hark_fake_in_flight(world.network, flight, 2), 1);
    assert_true(flight[0].half);
    assert_true(hark_fake_kill(world.network, 0));
    assert_int_equal(hark_fake_transport.poll(world.t[1]), 0);
    assert_int_equal(world.broken, 1);
    assert_int_equal(world.arrived, 0);
    finish();
}

static void ghosts_by_hand(void **state)
{
    (void)state;
    begin((struct hark_fake_config){.manual = true, .ghosts = 1000});
    assert_int_equal(send(0, 1, 1, 10), HARK_T_OK);
    assert_int_equal(send(0, 1, 2, 10), HARK_T_OK);
    reborn(0);
    assert_true(hark_fake_lose(world.network, 0)); /* its sender is dead */
    assert_true(hark_fake_deliver(world.network, 0));
    poll_all(1);
    assert_int_equal(world.arrived, 1);
    assert_int_equal(world.last, 2);
    finish();
}

static void bad_networks(void **state)
{
    (void)state;
    assert_null(hark_fake_new(NULL));
    assert_null(hark_fake_new(&(struct hark_fake_config){.drop = 1001}));
    assert_null(hark_fake_new(&(struct hark_fake_config){.ghosts = 1001}));
    struct hark_fake *n = hark_fake_new(&(struct hark_fake_config){.seed = 1});
    assert_false(hark_fake_kill(n, 0));
    assert_false(hark_fake_deliver(n, 0));
    assert_false(hark_fake_alive(n, HARK_RECOVERY, NULL));
    hark_fake_free(n);
    hark_fake_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_story),
        cmocka_unit_test(ghosts),
        cmocka_unit_test(no_ghosts_unless_wanted),
        cmocka_unit_test(order),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(half_by_hand),
        cmocka_unit_test(ghosts_by_hand),
        cmocka_unit_test(bad_networks),
    };
    return cmocka_run_group_tests_name("fake network", tests, NULL, NULL);
}
