/* The exact gate of hydee against programs whose receives vary: every interleaving. Each program that the phase
 * gate is searched with is searched with the exact one too. `search-gate NAME` runs one and prints its path. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"
#include "world.h"

struct program {
    const char *name, *script, *clusters, *fails;
    bool overlap;
    int walks; /* 0: searched to the end */
};

#define FIG4 ";S2;R1 S3;R2 S5 R4;R7 S3;R3 S6 S7;R5 S7;R R S4"
#define ST "S1 S2 C R1 R2 S1 R1;R0 S0 C R0 R2 S0;R0 S0 S1"
#define LV "T1[S2 R4|R4 S2 R1];S0;R0;R5 S4;R3 S0;S3"

/* The same cycle with three processes: x and what makes y's phase high come from p2, which also takes o. */
#define LV3 "T2[S2 R1|R1 S2 R2];S2 R2 S0;S0 R1 S1 R0"

/* ... and with o's receiver apart. */
#define LV4 "T3[S2 R1|R1 S2 R3];S3 R3 S0;R0;S0 R1 S1"

static const struct program programs[] = {
    {"lv, three processes", LV3, NULL, "0", false, 0},
    {"lv, three processes, no failure", LV3, NULL, "", false, 0},
    {"lv, four processes", LV4, NULL, "0", false, 3000},
    {"lv", LV, NULL, "0", false, 5000},
    {"lv, no failure", LV, NULL, "", false, 0},
    {"ck", "S1;S2 S2 C R0;R1 R1", NULL, "1", false, 3000},
    {"ck2", "S2 S2 S1;R0 C;R0 R0", NULL, "1", false, 0},
    {"og", "R3 S1 R2;R0 S2;R1 S0;S0", NULL, "0", false, 0},
    {"og-any", "R S1 R;R0 S2;R1 S0;S0", NULL, "0", false, 0},
    {"td", "T1 S2 W1 S2;S0;R0 R0", NULL, "0", false, 0},
    {"td, three failures", "T1 S2 W1 S2;S0;R0 R0", NULL, "000", true, 3000},
    {"wa", "R S3 R;S0;R4 S0;R0;S2", NULL, "0", false, 3000},
    {"lv, two failures", LV, NULL, "03", true, 3000},
    {"fig4 C2", FIG4, "00111222", "2", true, 500},
    {"fig4 C3", FIG4, "00111222", "5", true, 500},
    {"fig4 both", FIG4, "00111222", "25", true, 1000},
    {"fig4 both, nested", FIG4, "00111222", "522", true, 1000},
    {"fig4 and the recovery process", FIG4, "00111222", "2r5", true, 1000},
    {"ring", "S1 R2 S3;R0 S2;R1 S0;R0", "0011", "0202", true, 2000},
    {"pp", "S1 C R1 S1 R1;R0 S0 C R0 S0", NULL, "010", true, 3000},
    {"st", ST, NULL, "012", true, 3000},
    {"waves and failures", "S1 S1 S1 C S1 C S1;R0 R0 S2 C R0 R0 C R0 S2;R1 C R1", "001", "2012", true, 2000},
};

/* E25: y is sent when anything has come: o, if it is there, or a. */
static const struct program cycle = {"cycle", "T1[S2 R2|R2 S2 R1];S0;R S0 R;S2", NULL, "0", false, 20000};
static const struct program calm = {"cycle, no failure", "T1[S2 R2|R2 S2 R1];S0;R S0 R;S2", NULL, "", false, 0};

static struct world_config config_of(const struct program *p, uint32_t flags)
{
    return (struct world_config){.protocol = hark_protocol_named("hydee"), .recovery = hark_protocol_named("recovery"),
        .script = p->script, .clusters = p->clusters, .fails = p->fails, .overlap = p->overlap, .ghosts = true,
        .flags = flags};
}

static struct world_result run(const struct program *p, uint32_t flags)
{
    struct world_config c = config_of(p, flags);
    struct world_result r = p->walks ? world_walk(&c, 11, p->walks) : world_search(&c, 0);
    printf("%-32s %-6s %8llu states or steps, %s\n", p->name, flags ? "exact" : "phases", (unsigned long long)r.states,
        r.violated ? r.violated : "no violation");
    fflush(stdout);
    return r;
}

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct world_result r = run(&programs[i], HARK_EXACT_GATE);
        if (r.violated) printf("%s fails %s: %d steps\n%s", programs[i].script, programs[i].fails, r.depth, r.path);
        assert_null(r.violated);
        assert_true(r.finals > 0);
    }
}

/* E24: with phases `lv` waits for itself: y is withheld for an orphan that it does not depend on. */
static void test_phases_deadlock(void **state)
{
    (void)state;
    const struct program lv3 = {"lv, three processes", LV3, NULL, "0", false, 20000};
    const struct program lv = {"lv", LV, NULL, "0", false, 20000};
    assert_string_equal(run(&lv3, 0).violated, "I8: a process waits for ever"); /* breadth first: 29 steps */
    assert_string_equal(run(&lv, 0).violated, "I8: a process waits for ever");
    assert_null(run(&programs[1], 0).violated); /* nothing is wrong with the programs */
    assert_null(run(&programs[4], 0).violated);
}

/* E25: no gate saves a program whose receives vary in another process as well. A later receiver of o sends y after it
 * in the run that failed, and could have sent it before; the new run needs y before o. */
static void test_real_cycle(void **state)
{
    (void)state;
    assert_string_equal(run(&cycle, HARK_EXACT_GATE).violated, "I8: a process waits for ever");
    assert_string_equal(run(&cycle, 0).violated, "I8: a process waits for ever");
    assert_null(run(&calm, 0).violated);
}

/* Every step also on a packed and unpacked copy in the smallest block. */
static void test_copies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct world_config c = config_of(&programs[i], HARK_EXACT_GATE);
        c.paranoid = true;
        struct world_result r = world_walk(&c, 5, 60);
        if (r.violated) printf("%s: %s\n%s", programs[i].name, r.violated, r.path);
        assert_null(r.violated);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_phases_deadlock),
        cmocka_unit_test(test_real_cycle), cmocka_unit_test(test_copies)};
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, argv[1]) == 0) {
            struct program p = programs[i];
            if (argc > 3) p.walks = atoi(argv[3]);
            struct world_result r = run(&p, argc > 2 && argv[2][0] == 'p' ? 0 : HARK_EXACT_GATE);
            if (r.violated) printf("%d steps\n%s", r.depth, r.path);
            return 0;
        }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
