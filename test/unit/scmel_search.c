/* scmel.h: every interleaving of small programs, by name. Compiled twice: as shipped, and with messages that take few
 * determinants at most (HARK_SCMEL_ROOM), so that small programs meet what large ones do. `scmel_search NAME` runs one
 * program and prints its path. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"
#include "world.h"

/* ---- every interleaving ------------------------------------------------------------------------------------------------ */

struct program {
    const char *name, *script, *fails;
    uint32_t copies;
    bool overlap;
    int walks; /* 0: to the end */
};

static const struct program programs[] = {
    {"A", "R R S1 S2;S0 R;S0 R", "0", 1, false, 0},
    {"A, two failures", "R R S1 S2;S0 R;S0 R", "10", 1, false, 1500},
    {"A, three failures", "R R S1 S2;S0 R;S0 R", "010", 1, false, 1500},
    {"B", "R R S1;S0 R;S0", "0", 1, false, 0},
    {"B, p1 p0", "R R S1;S0 R;S0", "10", 1, false, 0},
    {"B, p2 p0", "R R S1;S0 R;S0", "20", 1, false, 1500},
    {"S-3", "R S1 R;S0 R;S0", "0", 1, false, 0},
    {"S-4", "R R S0 R0 S1;S0 R;S0", "0", 1, false, 0},
    {"S-4, acknowledged", "R R S0 R0 R S1;S0 S0 R;S0", "0", 1, false, 1500},
    {"S-7", "S1;R", "00", 1, false, 0},
    {"v1", "S1;R0", "0", 1, false, 0},
    {"v4", "S1;R0;", "12", 1, false, 0},
    {"v6", "R R S1 S2;S0 R0;S0 R0", "10", 1, false, 1500},
    {"v7", "S1 S1 R1;R0.2 R0.1 S0", "1", 1, false, 0},
    {"v7, twice", "S1 S1 R1;R0.2 R0.1 S0", "11", 1, true, 0},
    {"misses", "S1 R1 S1;T0 S0 W0 R0", "1", 1, false, 0},
    {"checkpoint", "S1 C R1;R0 C S0", "1", 1, false, 0},
    {"checkpoints", "S1 C R1 S1 R1;R0 S0 C R0 S0", "0", 1, false, 1000},
    {"checkpoint and miss", "S1 R1 S1 C;T0 S0 W0 R0 C", "1", 1, false, 1000},
    {"checkpoint of three", "R S1 C R;S0 R C;S0 C", "0", 1, false, 1000},
    {"two at once", "R R S1;S0 R;S0", "01", 2, true, 1500},
    {"two at once, p2", "R R S1;S0 R;S0", "20", 2, true, 1500},
    {"two at once, forwarded", "R R S1;R0 S2;S0 R1;S0", "01", 2, true, 1000},
    {"an older self", "R R S1;R0;S0;S0", "10", 2, true, 1000},
    {"k 2, one after the other", "R R S1;S0 R;S0", "012", 2, false, 1000},
    {"v9, checkpoint", "C S2 R2;C S2 S2 S2 R;S0 C S1 R R R R", "1", 2, false, 3000},
    {"v10", "R S1 R S1 R;S0 S0 R R;S0", "0", 1, false, 0},
    {"v10, checkpoint", "C S2 R S2 R S2 R;S2 S0 S0 C R2 R2;S0 C R0 S1 R0 S1 R0 R1", "002", 1, false, 3000},
    {"output", "R O R S1;S0 R;S0", "0", 1, false, 1000},
    {"output of another's order", "R R S1;S0 R0 O;S0", "0", 1, false, 1500},
    {"output, k 2", "R O R S1 O;S0 R0 O;S0 O", "01", 2, true, 3000},
    {"output, checkpoint", "R C O R O R S1;S0 C R0 O;S0 C S0 O", "010", 1, false, 3000},
    {"k 2, checkpoints, overlap", "C R S1 R C S2 S1;S0 C R2 S2 C R0 R0;S0 S1 C C R0 R1", "02", 2, true, 3000},
};

/* I10: what has travelled is known to be stored. */
static const char *at_end(const struct hark *p)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    struct hark_place at = hark_queue_begin(&s->own.rows);
    uint64_t carried = 0;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_scmel_channel *c = (const struct hark_scmel_channel *)hark_row_of(p, &s->ends.channels, i);
        if (c->carried > carried) carried = c->carried;
    }
    for (const uint64_t *row; (row = hark_queue_next(p, &s->pool, &s->own.rows, &at)) != NULL;)
        if (row[0] <= carried && hark_det_holders(&s->own, row) == 0) return "I10: detBuf never drains";
    return s->mode != HARK_SCMEL_NORMAL || s->recovering ? "recovery is not over here" : NULL;
}

static struct world_config config_of(const struct program *p)
{
    return (struct world_config){.protocol = hark_protocol_named("scmel"), .script = p->script, .clusters = "0000",
        .fails = p->fails, .overlap = p->overlap, .piecewise = true, .copies = p->copies, .at_end = at_end};
}

/* With tight messages there are too many states: walks only. */
#ifdef HARK_SCMEL_TIGHT
enum { TO_THE_END = 0 };
#else
enum { TO_THE_END = 1 };
#endif

static void run(const struct program *p)
{
    struct world_config c = config_of(p);
    bool walk = p->walks || !TO_THE_END;
    struct world_result r = walk ? world_walk(&c, 7, p->walks ? p->walks : 1500) : world_search(&c, 0);
    printf("%-28s %9llu %s, %s\n", p->name, (unsigned long long)r.states, walk ? "steps" : "states",
        r.violated ? r.violated : "no violation");
    if (r.violated) printf("%d steps\n%s", r.depth, r.path);
    assert_null(r.violated);
}

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < HARK_COUNT(programs); i++) run(&programs[i]);
}

/* Every step also on a packed and unpacked copy in the smallest block. */
static void test_copies(void **state)
{
    (void)state;
    for (size_t i = 0; i < HARK_COUNT(programs); i++) {
        struct world_config c = config_of(&programs[i]);
        c.paranoid = true;
        struct world_result r = world_walk(&c, 5, 40);
        if (r.violated) printf("%s: %s\n%s", programs[i].name, r.violated, r.path);
        assert_null(r.violated);
    }
}

/* ---- random programs ---------------------------------------------------------------------------------------------------- */

struct random_program {
    uint64_t x;
    uint32_t ranks, ops[4], waiting[4][4], sent[4][4];
    bool any[4]; /* receives name nobody */
    char script[4][64], all[260], fails[8];
};

static uint32_t pick(struct random_program *g, uint32_t n)
{
    g->x ^= g->x << 13;
    g->x ^= g->x >> 7;
    g->x ^= g->x << 17;
    return (uint32_t)((g->x >> 11) % n);
}

static void append(struct random_program *g, uint32_t rank, char what, uint32_t peer)
{
    size_t n = strlen(g->script[rank]);
    g->ops[rank]++;
    if (what == 'C' || what == 'O' || (what == 'R' && g->any[rank])) snprintf(g->script[rank] + n, 64 - n, "%c ", what);
    else snprintf(g->script[rank] + n, 64 - n, "%c%u ", what, peer);
}

/* Its steps, with those it has yet to receive. */
static uint32_t length(const struct random_program *g, uint32_t rank)
{
    uint32_t n = g->ops[rank];
    for (uint32_t i = 0; i < g->ranks; i++) n += g->waiting[i][rank];
    return n;
}

static void random_send(struct random_program *g, uint32_t a, uint32_t b)
{
    if (length(g, a) >= 11 || length(g, b) >= 11 || g->sent[a][b] >= 5 || (a == b && pick(g, 3))) return;
    append(g, a, 'S', b);
    g->waiting[a][b]++;
    g->sent[a][b]++;
}

static void random_receive(struct random_program *g, uint32_t rank, uint32_t from)
{
    if (!g->waiting[from][rank]) return;
    append(g, rank, 'R', from);
    g->waiting[from][rank]--;
}

/* A program that runs to its end whatever the order: it is written down as it would run in one order, and each process
 * either names all whom it receives from, or nobody. */
static void random_make(struct random_program *g, uint64_t seed)
{
    uint32_t waves = 0;
    memset(g, 0, sizeof *g);
    g->x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    g->ranks = 3 + pick(g, 2);
    for (uint32_t i = 0; i < g->ranks; i++) g->any[i] = pick(g, 2);
    for (uint32_t n = 20 + pick(g, 40); n > 0; n--) {
        uint32_t a = pick(g, g->ranks), b = pick(g, g->ranks);
        bool wave = waves < 2 && pick(g, 20) == 0;
        for (uint32_t i = 0; i < g->ranks; i++)
            if (length(g, i) >= 10) wave = false;
        for (uint32_t i = 0; wave && i < g->ranks; i++) append(g, i, 'C', 0);
        waves += wave;
        if (length(g, b) < 11 && pick(g, 12) == 0) append(g, b, 'O', 0);
        if (pick(g, 2)) random_send(g, a, b);
        else random_receive(g, a, b);
    }
    for (uint32_t rank = 0; rank < g->ranks; rank++) {
        for (uint32_t i = 0; i < g->ranks; i++)
            while (g->waiting[i][rank]) random_receive(g, rank, i);
        assert_true(g->ops[rank] <= 12);
        snprintf(g->all + strlen(g->all), sizeof g->all - strlen(g->all), "%s%s", rank ? ";" : "", g->script[rank]);
    }
}

/* With k copies, k failures may come at once, and any number one after the other. */
static void test_random(void **state)
{
    struct random_program g;
    uint64_t steps = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        random_make(&g, seed);
        uint32_t k = 1 + pick(&g, g.ranks - 1), overlap = k > 1 && pick(&g, 2), fails = 1 + pick(&g, overlap ? k : 3);
        for (uint32_t i = 0; i < fails; i++) g.fails[i] = (char)('0' + pick(&g, g.ranks));
        struct program p = {"random", g.all, g.fails, k, overlap, 60};
        struct world_config c = config_of(&p);
        c.fifo = pick(&g, 4) == 0;
        struct world_result r = world_walk(&c, seed, p.walks);
        if (r.violated) printf("%s fails %s, k %u: %s\n%s", g.all, g.fails, k, r.violated, r.path);
        assert_null(r.violated);
        steps += r.states;
    }
    printf("random programs: %llu steps\n", (unsigned long long)steps);
}

/* The harness itself: two failures at once are more than one copy survives, and that shows. */
static void test_harness_sees(void **state)
{
    struct world_config c = {.protocol = hark_protocol_named("scmel"), .script = "R R S1 S2;S0 R;S0 R", .clusters = "000",
        .fails = "10", .overlap = true, .piecewise = true, .copies = 1};
    (void)state;
    assert_non_null(world_walk(&c, 3, 20000).violated);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_random), cmocka_unit_test(test_harness_sees)};
    for (size_t i = 0; argc == 2 && i < HARK_COUNT(programs); i++)
        if (strcmp(programs[i].name, argv[1]) == 0) {
            run(&programs[i]);
            return 0;
        }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
