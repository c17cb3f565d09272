/* Small programs through the shipped headers: every interleaving of frames, application steps, announcements, stores,
 * restarts and failures; larger ones by seeded random walks. `search NAME` runs one and prints its path. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"
#include "world.h"

struct program {
    const char *name, *protocol, *script, *clusters, *fails;
    bool overlap;
    int walks; /* 0: searched to the end */
};

#define FIG4 ";S2;R1 S3;R2 S5 R4;R7 S3;R3 S6 S7;R5 S7;R R S4"
#define ST "S1 S2 C R1 R2 S1 R1;R0 S0 C R0 R2 S0;R0 S0 S1"

static const struct program programs[] = {
    /* to the end */
    {"one message", "hydee", "S1;R0", NULL, "0", false, 0},
    {"one message, receiver", "hydee", "S1;R0", NULL, "1", false, 0},
    {"v1", "hydee", "S1;R0", "00", "0", false, 0},
    {"v2", "hydee", "S1;S2 R0;R1", NULL, "1", false, 0},
    {"v3", "hydee", "S2;S2;R0 R1", "001", "0", false, 0},
    {"v5", "hydee", "S1;R0", NULL, "0r", true, 0},
    {"v5, receiver", "hydee", "S1;R0", NULL, "1r", true, 0},
    {"ck2", "hydee", "S2 S2 S1;R0 C;R0 R0", NULL, "1", false, 0},
    {"og", "hydee", "R3 S1 R2;R0 S2;R1 S0;S0", NULL, "0", false, 0},
    {"og-any", "hydee", "R S1 R;R0 S2;R1 S0;S0", NULL, "0", false, 0},
    {"U-1", "hydee", "S1 C;R0", NULL, "01", false, 0},
    {"wave in one cluster", "hydee", "S1 C;C R0", "00", "0", false, 0},
    {"wave and answer", "hydee", "S1 C R1;R0 S0 C", "00", "1", false, 0},
    {"wave and outside", "hydee", "S1 C;R0 C S2;R1", "001", "1", false, 0},
    {"coordinated", "coordinated", "S1 C;C R0", "00", "0", false, 0},
    {"coordinated, answer", "coordinated", "S1 C R1;R0 S0 C", "00", "1", false, 0},
    /* by walks */
    {"ck", "hydee", "S1;S2 S2 C R0;R1 R1", NULL, "1", false, 3000},
    {"td", "hydee", "T1 S2 W1 S2;S0;R0 R0", NULL, "0", false, 3000},
    {"td, three failures", "hydee", "T1 S2 W1 S2;S0;R0 R0", NULL, "000", true, 3000},
    {"wa", "hydee", "R S3 R;S0;R4 S0;R0;S2", NULL, "0", false, 3000},
    {"v4", "hydee", "S1;R0;", NULL, "12", false, 3000},
    {"fig4 C2", "hydee", FIG4, "00111222", "2", true, 500},
    {"fig4 C3", "hydee", FIG4, "00111222", "5", true, 500},
    {"fig4 both", "hydee", FIG4, "00111222", "25", true, 1000},
    {"fig4 both, nested", "hydee", FIG4, "00111222", "522", true, 1000},
    {"fig4 and the recovery process", "hydee", FIG4, "00111222", "2r5", true, 1000},
    {"ring", "hydee", "S1 R2 S3;R0 S2;R1 S0;R0", "0011", "0202", true, 2000},
    {"pp", "hydee", "S1 C R1 S1 R1;R0 S0 C R0 S0", NULL, "010", true, 3000},
    {"st", "hydee", ST, NULL, "012", true, 3000},
    {"st, the same", "hydee", ST, NULL, "02", true, 3000},
    {"waves and failures", "hydee", "S1 S1 S1 C S1 C S1;R0 R0 S2 C R0 R0 C R0 S2;R1 C R1", "001", "2012", true, 2000},
    {"coordinated, many", "coordinated", "S1 C R2 C S1;R0 S2 C C R0;R1 S0 C C", "000", "0120", true, 2000},
};

static struct world_config config_of(const struct program *p)
{
    struct world_config c = {.protocol = hark_protocol_named(p->protocol), .script = p->script, .clusters = p->clusters,
        .fails = p->fails, .overlap = p->overlap, .ghosts = true};
    if (c.protocol->recovery) c.recovery = hark_protocol_named("recovery");
    return c;
}

static void run(const struct program *p)
{
    struct world_config c = config_of(p);
    struct world_result r = p->walks ? world_walk(&c, 11, p->walks) : world_search(&c, 0);
    printf("%-32s %8llu states or steps, %s\n", p->name, (unsigned long long)r.states,
        r.violated ? r.violated : "no violation");
    if (r.violated) printf("%s fails %s: %d steps\n%s", p->script, p->fails, r.depth, r.path);
    assert_null(r.violated);
    assert_true(r.finals > 0);
}

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) run(&programs[i]);
}

/* Every step also on a packed and unpacked copy in the smallest block. */
static void test_copies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct world_config c = config_of(&programs[i]);
        c.paranoid = true;
        struct world_result r = world_walk(&c, 5, 60);
        if (r.violated) printf("%s: %s\n%s", programs[i].name, r.violated, r.path);
        assert_null(r.violated);
    }
}

/* The harness itself: a program that can not finish is seen, and so is a duplicate. */
static void test_harness_sees(void **state)
{
    (void)state;
    struct program stuck = {"stuck", "hydee", "R1;", NULL, "", false, 0};
    struct world_config c = config_of(&stuck);
    assert_string_equal(world_search(&c, 0).violated, "I8: a process waits for ever");
    /* Without any protocol a lost process takes its messages with it. */
    struct program none = {"none", "none", "S1;R0", NULL, "1", false, 0};
    c = config_of(&none);
    assert_non_null(world_search(&c, 0).violated);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_harness_sees)};
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, argv[1]) == 0) {
            run(&programs[i]);
            return 0;
        }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
