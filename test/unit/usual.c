/* post and receive do what step does with the same events, or nothing: on long runs of random
 * traffic between three processes. (The explorer compares them in every state that it visits; here
 * are the many messages that it can not have.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

enum { RANKS = 3, BLOCK = 1 << 18, FRAMES = 256, HEADER = 1100, PACK = 1 << 18 };

struct frame {
    uint32_t to;
    uint32_t length;
    uint8_t header[HEADER];
};

static const struct hark_protocol *protocol;
static struct hark *core[RANKS], *twin;
static struct frame frames[RANKS][RANKS][FRAMES]; /* from, to: oldest first */
static uint32_t count[RANKS][RANKS];
static uint64_t dice;
static struct {
    unsigned posts, receives;     /* as usual */
    unsigned other_posts, others; /* not */
    unsigned control;             /* frames without a message */
    unsigned logged, trims;       /* messages whose receiver says so; of usual ones */
} seen;

static uint32_t roll(uint32_t most)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice >> 33) % most;
}

static void begin(const char *name, uint32_t flags, uint32_t copies)
{
    protocol = hark_protocol_named(name);
    assert_non_null(protocol);
    memset(count, 0, sizeof count);
    memset(&seen, 0, sizeof seen);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct hark_range mine = {i, i};
        struct hark_config c = {.me = i, .ranks = RANKS, .flags = flags, .copies = copies};
        if (hark_service_by_line(protocol)) c.epoch = i + 1; /* they have different ones */
        if (protocol->rolls == HARK_ROLLS_CLUSTER) {
            c.cluster = &mine;
            c.cluster_count = 1;
        }
        memset(core[i], 0, BLOCK);
        assert_int_equal(protocol->init(core[i], BLOCK, &c), HARK_OK);
    }
}

static uint64_t packed(const struct hark *p, uint8_t *to)
{
    uint64_t n = hark_pack(p, protocol->shape, to, PACK);
    assert_true(n <= PACK);
    return n;
}

static void assert_alike(const struct hark *a, const struct hark *b)
{
    static uint8_t one[PACK], two[PACK];
    uint64_t n = packed(a, one);
    assert_int_equal(packed(b, two), n);
    assert_memory_equal(one, two, n);
}

static void step(struct hark *p, const struct hark_event *e, struct hark_effects *fx, bool keep)
{
    struct hark_event event = *e;
    for (int status = HARK_MORE; status == HARK_MORE; event.type = HARK_CONTINUE) {
        status = protocol->step(p, &event, fx);
        assert_true(status == HARK_OK || status == HARK_MORE);
        for (uint32_t i = 0; keep && i < fx->count; i++) {
            if (fx->at[i].type != HARK_TRANSMIT) continue;
            const struct hark_transmit *x = &fx->at[i].u.transmit;
            struct frame *f;
            uint32_t from = p == core[0] ? 0 : p == core[1] ? 1 : 2;
            assert_true(count[from][x->peer] < FRAMES && x->header.length <= HEADER);
            f = &frames[from][x->peer][count[from][x->peer]++];
            f->length = x->header.length;
            memcpy(f->header, x->header.at, f->length);
            seen.control += x->name.ssn == 0;
        }
        if (status == HARK_MORE) assert_true(keep);
    }
}

static struct hark_effects *effects(void)
{
    static struct hark_effect at[64];
    static uint8_t bytes[1 << 17];
    static struct hark_effects fx;
    fx = (struct hark_effects){.at = at, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};
    return &fx;
}

static void sends(uint32_t from, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    struct hark_effects *fx = effects();
    uint8_t header[HARK_POSTED_BYTES];
    struct hark_posted posted;
    e.u.send.peer = to;
    e.u.send.length = roll(100);
    e.u.send.digest = roll(1000) + 1;
    memcpy(twin, core[from], core[from]->used);
    int usual = protocol->post(twin, &e.u.send, header, &posted);
    if (usual == HARK_UNUSUAL) assert_alike(twin, core[from]);
    step(core[from], &e, fx, true);
    seen.posts += usual == HARK_OK;
    seen.other_posts += usual == HARK_UNUSUAL;
    if (usual == HARK_UNUSUAL) return;
    assert_int_equal(usual, HARK_OK);
    assert_alike(twin, core[from]);
    assert_int_equal(fx->count, 1 + posted.retain);
    const struct hark_transmit *x = &fx->at[0].u.transmit;
    assert_int_equal(x->header.length, posted.header_length);
    assert_memory_equal(x->header.at, header, posted.header_length);
    assert_int_equal(x->name.ssn, posted.ssn);
    assert_int_equal(x->inc, posted.inc);
    assert_int_equal(x->determinants, posted.determinants);
}

/* Its effects are HANDUP, and TRIM if receive() has said so. */
static void told(const struct hark_effects *fx, uint32_t from, const struct hark_received *received)
{
    const struct hark_name name = {from, 0, HARK_OUT, HARK_PROCESS, received->trim};
    assert_int_equal(fx->at[0].u.handup.logged, received->logged);
    assert_int_equal(fx->count, received->trim ? 2 : 1);
    seen.logged += received->logged;
    seen.trims += received->trim != 0;
    if (received->trim == 0) return;
    assert_int_equal(fx->at[1].type, HARK_TRIM);
    assert_memory_equal(&fx->at[1].u.trim.name, &name, sizeof name);
}

/* Nothing happens for a while: what is owed is sent. */
static void idles(uint32_t who)
{
    step(core[who], &(struct hark_event){.type = HARK_IDLE}, effects(), true);
}

/* The oldest frame; a message is delivered at once. */
static void arrives(uint32_t from, uint32_t to)
{
    struct frame f = frames[from][to][0];
    struct hark_event e = {.type = HARK_ARRIVE};
    struct hark_effects *fx = effects();
    memmove(frames[from][to], frames[from][to] + 1, --count[from][to] * sizeof f);
    e.u.frame.header.at = f.header;
    e.u.frame.header.length = f.length;
    memcpy(twin, core[to], core[to]->used);
    struct hark_received received = {0};
    int usual = protocol->receive(twin, e.u.frame.header, &received);
    if (usual == HARK_UNUSUAL) assert_alike(twin, core[to]);
    step(core[to], &e, fx, true);
    bool up = fx->count > 0 && fx->at[0].type == HARK_HANDUP;
    if (up) {
        if (usual == HARK_OK) told(fx, from, &received);
        e.type = HARK_DELIVER;
        step(core[to], &e, fx, true);
        if (usual == HARK_OK) assert_int_equal(fx->count, 0);
    }
    seen.receives += usual == HARK_OK;
    seen.others += usual == HARK_UNUSUAL && up;
    if (usual != HARK_OK) return;
    assert_true(up);
    assert_alike(twin, core[to]);
}

/* Bursts one way, so that what is owed and what is loose grows; then all of it arrives. */
static void talk(const char *name, uint32_t flags, uint32_t copies, bool control)
{
    begin(name, flags, copies);
    dice = 1;
    for (int turn = 0; turn < 200; turn++) {
        uint32_t from = roll(RANKS), to = (from + 1 + roll(RANKS - 1)) % RANKS;
        for (uint32_t n = 1 + roll(turn % 10 == 0 ? 60 : 6); n > 0; n--) sends(from, to);
        for (uint32_t n = roll(200); n > 0; n--) {
            uint32_t a = roll(RANKS), b = roll(RANKS);
            if (count[a][b]) arrives(a, b);
        }
        if (roll(20) == 0) idles(roll(RANKS));
        for (uint32_t a = 0; a < RANKS; a++)
            for (uint32_t b = 0; b < RANKS; b++)
                while (count[a][b] > FRAMES / 4) arrives(a, b);
    }
    print_message("%s: %u and %u as usual, %u and %u not, %u control frames\n", name, seen.posts,
        seen.receives, seen.other_posts, seen.others, seen.control);
    assert_true(seen.posts > 4 * seen.other_posts && seen.receives > seen.others);
    assert_int_equal(seen.control > 0, control); /* else this shows nothing of them */
}

static void none(void **state)
{
    (void)state;
    talk("none", 0, 0, false);
}

static void coordinated(void **state)
{
    (void)state;
    talk("coordinated", 0, 0, false);
}

static void hydee(void **state)
{
    (void)state;
    talk("hydee", 0, 0, false);
    talk("hydee", HARK_DIGEST, 0, false);
}

static void scmel(void **state)
{
    (void)state;
    talk("scmel", 0, 1, true);
    talk("scmel", 0, 2, true);
    talk("camel", 0, 1, true);
}

static void team(void **state)
{
    (void)state;
    talk("team", 0, 1, true);
    talk("team", HARK_TEAM_LOST, 1, true);
}

static void sendet(void **state)
{
    (void)state;
    talk("sendet", 0, 0, true);
    assert_true(seen.logged > 400 && seen.trims > 40);
    talk("sendet", HARK_DIGEST, 0, true);
    assert_true(seen.logged > 400 && seen.trims > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none), cmocka_unit_test(coordinated),
        cmocka_unit_test(hydee), cmocka_unit_test(scmel), cmocka_unit_test(team),
        cmocka_unit_test(sendet)};
    for (uint32_t i = 0; i < RANKS; i++) core[i] = calloc(1, BLOCK);
    twin = calloc(1, BLOCK);
    int failed = !core[0] || !core[1] || !core[2] || !twin
                     ? 1
                     : cmocka_run_group_tests_name("usual", tests, NULL, NULL);
    for (uint32_t i = 0; i < RANKS; i++) free(core[i]);
    free(twin);
    return failed;
}
