/* Scenario files: every keyword and operation, what is wrong with them and where, and that they are
 * written as they were read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "../../src/check/random.h"
#include "hark/parts/mem.h"

/* ---- tools ----------------------------------------------------------------------------------- */

/* From a block of just that size, so that a sanitizer sees what is read behind it. */
static int parse(
    struct hark_scenario *s, const char *text, size_t length, char error[HARK_SCENARIO_ERROR])
{
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    int status = hark_scenario_parse(s, exact, length, "f", error);
    free(exact);
    return status;
}

static void good(struct hark_scenario *s, const char *text)
{
    char error[HARK_SCENARIO_ERROR];
    if (parse(s, text, strlen(text), error) < 0) fail_msg("%s\n%s", error, text);
}

static void assert_empty(const struct hark_scenario *s)
{
    static const struct hark_scenario empty;
    assert_memory_equal(s, &empty, sizeof empty);
}

static void bad(const char *text, const char *expected)
{
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    if (parse(&s, text, strlen(text), error) == 0) fail_msg("no error in\n%s", text);
    assert_string_equal(error, expected);
    assert_empty(&s);
}

static void assert_ops(const struct hark_op *a, const struct hark_op *b)
{
    for (uint32_t i = 0; i <= HARK_SCENARIO_OPS; i++) {
        assert_int_equal(a[i].type, b[i].type);
        assert_int_equal(a[i].peer, b[i].peer);
        assert_int_equal(a[i].ssn, b[i].ssn);
        assert_int_equal(a[i].to, b[i].to);
    }
}

/* But for lines and columns. */
static void assert_same(const struct hark_scenario *a, const struct hark_scenario *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_string_equal(a->protocol, b->protocol);
    assert_string_equal(a->expect, b->expect);
    assert_int_equal(a->ranks, b->ranks);
    for (uint32_t rank = 0; rank < HARK_SCENARIO_RANKS; rank++)
        assert_ops(a->op[rank], b->op[rank]);
    assert_memory_equal(a->cluster, b->cluster, sizeof a->cluster);
    assert_memory_equal(a->parent, b->parent, sizeof a->parent);
    assert_int_equal(a->trees, b->trees);
    assert_int_equal(a->fifo, b->fifo);
    assert_int_equal(a->receives_nested, b->receives_nested);
    assert_memory_equal(&a->core, &b->core, sizeof a->core);
    assert_int_equal(a->generations, b->generations);
    assert_memory_equal(a->epoch, b->epoch, sizeof a->epoch);
    assert_int_equal(a->content, b->content);
    assert_int_equal(a->fails, b->fails);
    assert_memory_equal(a->fail, b->fail, sizeof a->fail);
    assert_int_equal(a->schedule_lines, b->schedule_lines);
    for (uint32_t i = 0; i < a->schedule_lines; i++) {
        assert_int_equal(a->schedule[i].transcript, b->schedule[i].transcript);
        assert_string_equal(a->schedule[i].text, b->schedule[i].text);
    }
}

/* What is written parses to the same scenario and is written alike. */
static void assert_round(const struct hark_scenario *s)
{
    struct hark_scenario again;
    char *text = hark_scenario_text(s), *twice;
    assert_non_null(text);
    good(&again, text);
    assert_same(s, &again);
    twice = hark_scenario_text(&again);
    assert_string_equal(text, twice);
    free(text);
    free(twice);
    hark_scenario_free(&again);
}

static void writes(const char *text, const char *expected)
{
    struct hark_scenario s;
    good(&s, text);
    char *written = hark_scenario_text(&s);
    assert_string_equal(written, expected);
    free(written);
    assert_round(&s);
    hark_scenario_free(&s);
}

static void assert_op(const struct hark_op *op, enum hark_op_type type, int peer, int ssn, int to)
{
    assert_int_equal(op->type, type);
    assert_int_equal(op->peer, peer);
    assert_int_equal(op->ssn, ssn);
    assert_int_equal(op->to, to);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static const char whole[] =
    "# a comment, in Greek: \xce\xb1\n"
    "\n"
    "name whole\t# with a comment\r\n"
    "about All that there is, \xce\xb1 # and no comment\n"
    "protocol scmel\n"
    "  clusters 3,0 1-2 4-14,15\n"
    "network fifo\n"
    "content history # all of it\n"
    "copies 2\n"
    "generations 8\n"
    "epochs 1 2 3 4 5 6 7 8 8 7 6 5 4 3 2 1\n"
    "gate exact\n"
    "receives nested # at once\n"
    "tree r01.............\n"
    "tree2 1r.............0\n"
    "p0: S1 S0R0.1 M A Q C A2\n"
    "p1: T0[S2|O] B A C A2Q2 M2\n"
    "p2: R B A T1.1 W1\n"
    "p3:\np4:\np5:\np6:\np7:\np8:\np9:\np10:\np11:\np12: # nothing\np13:\np14:\n"
    "p2: C#C\n"
    "fails p1\n"
    "fails any nested\n"
    "fails recovery during\n"
    "fails p3 wave\n"
    "fails p15 decided\n"
    "fails any damaged\n"
    "fails p2 store\n"
    "expect I5: lost # too\n"
    "p15:\n"
    "schedule\n"
    "  p1 gets MSG from p0 \r\n"
    "# a comment\n"
    "=  p1 recv 1 # no comment\n"
    "\n"
    "=\n"
    "name is a step here";

static void every_keyword(void **state)
{
    static const int8_t parents[] = {-1, 0, 1, -2, -2}, second[] = {1, -1, -2, -2};
    static const uint8_t clusters[] = {0, 1, 1, 0, 2};
    static const uint8_t epochs[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1};
    static const struct hark_fail fails[] = {{1, HARK_FAIL_AFTER}, {-1, HARK_FAIL_NESTED},
        {HARK_FAIL_RECOVERY, HARK_FAIL_DURING}, {3, HARK_FAIL_WAVE}, {15, HARK_FAIL_DECIDED},
        {-1, HARK_FAIL_DAMAGED}, {2, HARK_FAIL_STORE}};
    static const bool transcript[] = {false, true, true, false};
    static const char *const lines[] = {
        "p1 gets MSG from p0", "p1 recv 1 # no comment", "", "name is a step here"};
    struct hark_scenario s;
    (void)state;
    good(&s, whole);
    assert_string_equal(s.name, "whole");
    assert_string_equal(s.about, "All that there is, \xce\xb1 # and no comment");
    assert_string_equal(s.protocol, "scmel");
    assert_string_equal(s.expect, "I5: lost # too");
    assert_int_equal(s.ranks, 16);
    assert_true(s.fifo && s.core.flags & HARK_EXACT_GATE && s.receives_nested && s.trees == 2);
    assert_int_equal(s.content, HARK_CONTENT_HISTORY);
    assert_int_equal(s.core.copies, 2);
    assert_int_equal(s.generations, 8);
    assert_memory_equal(s.epoch, epochs, sizeof epochs);
    assert_memory_equal(s.parent[0], parents, sizeof parents);
    assert_memory_equal(s.parent[1], second, sizeof second);
    assert_memory_equal(s.cluster, clusters, sizeof clusters);
    assert_int_equal(s.cluster[15], 2);
    assert_int_equal(s.fails, HARK_COUNT(fails));
    assert_memory_equal(s.fail, fails, sizeof fails);
    assert_int_equal(s.schedule_lines, HARK_COUNT(lines));
    for (uint32_t i = 0; i < s.schedule_lines; i++) {
        assert_string_equal(s.schedule[i].text, lines[i]);
        assert_int_equal(s.schedule[i].transcript, transcript[i]);
    }
    assert_int_equal(s.schedule[0].line, 42);
    assert_int_equal(s.schedule[1].line, 44);
    assert_round(&s);
    hark_scenario_free(&s);
    assert_empty(&s);
}

static void what_is_left_out(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, "p2:\np0:\np1: S2");
    assert_int_equal(s.ranks, 3);
    for (uint8_t rank = 0; rank < 3; rank++) assert_int_equal(s.cluster[rank], rank);
    assert_true(!s.fifo && !s.core.flags && !s.core.fan && !s.trees && !s.content &&
                !s.core.copies && !s.generations && !s.fails);
    assert_true(!*s.name && !*s.about && !*s.protocol && !*s.expect && !s.schedule_lines);
    writes("p2:\np0:\np1: S2", "p0:\np1: S2\np2:\n");
    writes("network unordered\np0:\nschedule\n", "p0:\n");
    writes("content fixed\np0:\nclusters 0", "content fixed\np0:\n");
    writes("p0:\ntree r\nreports tree 15 # wide\nepochs 2",
        "epochs 2\nreports tree 15\ntree r\np0:\n");
    writes("p0:\np1:\np2:\np3:\np4:\nclusters 4,1 3 0,2",
        "clusters 0,2 1,4 3\np0:\np1:\np2:\np3:\np4:\n");
    writes("p0:\np1:\np2:\np3:\nclusters 2-3 0-1", "clusters 0-1 2-3\np0:\np1:\np2:\np3:\n");
}

static void every_operation(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, "p1: S2S0 R\tR0 R2.3 T1\n p0: M\tA Q O\np2: B A C\np1: B A W1 T0.16 W0 C O\ntree r00");
    const struct hark_op *op = s.op[1];
    assert_op(op++, HARK_OP_SEND, 2, 0, 0);
    assert_op(op++, HARK_OP_SEND, 0, 0, 0);
    assert_op(op++, HARK_OP_RECEIVE, -1, 0, 0);
    assert_op(op++, HARK_OP_RECEIVE, 0, 0, 0);
    assert_op(op++, HARK_OP_RECEIVE, 2, 3, 0);
    assert_op(op++, HARK_OP_TEST, 1, 0, 0);
    assert_op(op++, HARK_OP_TAKE, -1, 0, 0);
    assert_op(op++, HARK_OP_CONTRIBUTE, -1, 0, 0);
    assert_op(op++, HARK_OP_WAIT, 1, 0, 5);
    assert_op(op++, HARK_OP_TEST, 0, 16, 0);
    assert_op(op++, HARK_OP_WAIT, 0, 16, 9);
    assert_op(op++, HARK_OP_CHECKPOINT, -1, 0, 0);
    assert_op(op++, HARK_OP_OUTPUT, -1, 0, 0);
    assert_op(op++, HARK_OP_END, 0, 0, 0);
    assert_op(&s.op[0][0], HARK_OP_MULTICAST, -1, 0, 0);
    assert_op(&s.op[0][2], HARK_OP_RESULT, -1, 0, 0);
    assert_int_equal(s.op[1][1].line, 1);
    assert_int_equal(s.op[1][1].column, 7);
    assert_int_equal(s.op[1][6].line, 4);
    assert_int_equal(s.op[1][6].column, 5);
    assert_round(&s);
    hark_scenario_free(&s);
    writes("p0:cC T0[c|]", "p0: c C T0[c | ]\n");
    writes("p0:PL P0L0.2P0.16 T0[L|P]", "p0: P L P0 L0.2 P0.16 T0[L | P]\n");
    writes("tree r0\np0:S1S1R1.2O\np1:", "tree r0\np0: S1 S1 R1.2 O\np1:\n");
}

static void branches(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, "p0: C T0.2[S0 R|C]\np0: T0[|] T0[\np0: O |\np0: O O] C");
    const struct hark_op *op = s.op[0];
    assert_op(&op[1], HARK_OP_IF, 0, 2, 5);
    assert_op(&op[4], HARK_OP_ELSE, -1, 0, 6);
    assert_op(&op[6], HARK_OP_IF, 0, 0, 8);
    assert_op(&op[7], HARK_OP_ELSE, -1, 0, 8);
    assert_op(&op[8], HARK_OP_IF, 0, 0, 11);
    assert_op(&op[10], HARK_OP_ELSE, -1, 0, 13);
    assert_op(&op[13], HARK_OP_CHECKPOINT, -1, 0, 0);
    assert_round(&s);
    hark_scenario_free(&s);
    writes("p0: T0[|]", "p0: T0[ | ]\n");
    writes("p0: T0[S0|]C", "p0: T0[S0 | ] C\n");
    writes("p0: T0[|S0 R]T0[R0.1|R]", "p0: T0[ | S0 R] T0[R0.1 | R]\n");
}

/* A wait completes the first test that it can, and what both parts of a branch complete is
 * completed. */
static void waits(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, "p0: T0 T0.3 T0 W0.3 W0 W0");
    assert_op(&s.op[0][3], HARK_OP_WAIT, 0, 3, 1);
    assert_op(&s.op[0][4], HARK_OP_WAIT, 0, 0, 0);
    assert_op(&s.op[0][5], HARK_OP_WAIT, 0, 0, 2);
    assert_round(&s);
    good(&s, "p0: T0 T0 T0[W0|W0 T0] W0");
    assert_op(&s.op[0][3], HARK_OP_WAIT, 0, 0, 0);
    assert_op(&s.op[0][5], HARK_OP_WAIT, 0, 0, 0);
    assert_op(&s.op[0][7], HARK_OP_WAIT, 0, 0, 1);
    writes("p0: T0.2 W0", "p0: T0.2 W0.2\n");
    bad("p0: T0 T0[W0|] W0", "f:1:16: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T0 T0[|W0] W0", "f:1:16: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T0[T0|T0] W0", "f:1:15: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T0[W0|]", "f:1:8: found W0, expected a T0 before it that is not completed yet");
    bad("p0: W0", "f:1:5: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T0 W0 W0", "f:1:11: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T1 W0\np1:", "f:1:8: found W0, expected a T0 before it that is not completed yet");
    bad("p0: T0.2 W0.12",
        "f:1:10: found W0.12, expected a T0.12 before it that is not completed yet");
}

static void barriers(void **state)
{
    (void)state;
    writes("p0: = C =\np1: S0 = S0 = C\np2: = =", "p0: R1.2 R2.1 S1 S2 C R1.4 R2.2 S1 S2\np1: S0 "
                                                  "S0 R0.1 S0 S0 R0.2 C\np2: S0 R0.1 S0 R0.2\n");
    writes("p0: S1 T1[S1 | S1 O] = T1[C | O]\np1: =",
        "p0: S1 T1[S1 | S1 O] R1.1 S1 T1[C | O]\np1: S0 R0.3\n");
    writes("p0: =", "p0:\n");
    writes("p0: = T0 = W0", "p0: T0 W0\n");
    bad("p0: =\np1: = C =", "f:2:9: found barrier 2 of p1, expected as many in p0");
    bad("p0: = =\np1: = =\np2: C =", "f:1:7: found barrier 2 of p0, expected as many in p2");
    bad("p0: T0[=|=]", "f:1:8: found '=|=]', expected barriers outside of branches");
    bad("p0: T1[S1|]=\np1: =", "f:1:12: found a barrier, expected that both parts of a branch "
                               "before it send as much to p1");
    bad("p0: T1[|S1]O=\np1: =", "f:1:13: found a barrier, expected that both parts of a branch "
                                "before it send as much to p1");
    bad("tree r0\np0: = M\np1: = B",
        "f:3:5: found a barrier, expected none in a program with M, B, A or Q");
}

/* ---- what is wrong, and where ---------------------------------------------------------------- */

#define KEYWORDS                                                                                   \
    "name, about, protocol, clusters, regroup, network, content, generations, epochs, waves, "     \
    "images, receives, tree, tree2, gate, reports, copies, teams, p0:, fails, expect or schedule"
#define OPERATION "an operation (S R T W P L C c O M B A Q G = | ])"

static void wrong_lines(void **state)
{
    (void)state;
    bad("", "f:1:1: found the end, expected a line p0:");
    bad("# only\n\n", "f:3:1: found the end, expected a line p0:");
    bad("p0:\nfoo bar\n", "f:2:1: found 'foo', expected " KEYWORDS);
    bad("  names x", "f:1:3: found 'names', expected " KEYWORDS);
    bad("\xef\xbb\xbfp0:", "f:1:1: found '???p0:', expected " KEYWORDS);
    bad("p:", "f:1:1: found 'p:', expected " KEYWORDS);
    bad("pp0:", "f:1:1: found 'pp0:', expected " KEYWORDS);
    bad("p0", "f:1:3: found the end of the line, expected a colon");
    bad("p0 :", "f:1:3: found ' :', expected a colon");
    bad("p16:", "f:1:2: found '16:', expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p9999999999999999999999:",
        "f:1:2: found '9999999999999999999999:', expected a rank from 0 to 15 "
        "(HARK_SCENARIO_RANKS)");
    bad("p0:\np3:\np1:", "f:2:1: found p3: without p2:, expected every lower rank");
    bad("name", "f:1:5: found the end of the line, expected a name");
    bad("name # x", "f:1:6: found the end of the line, expected a name");
    bad("about", "f:1:6: found the end of the line, expected a sentence");
    bad("expect", "f:1:7: found the end of the line, expected ok, or how the violation begins");
    bad("protocol", "f:1:9: found the end of the line, expected one of none coordinated hydee "
                    "scmel team camel sendet");
    bad("protocol hydeee",
        "f:1:10: found 'hydeee', expected one of none coordinated hydee scmel team camel sendet");
    bad("protocol recovery",
        "f:1:10: found 'recovery', expected one of none coordinated hydee scmel team camel sendet");
    bad("protocol hydee scmel", "f:1:16: found 'scmel', expected the end of the line");
    bad("network", "f:1:8: found the end of the line, expected fifo or unordered");
    bad("network fifos", "f:1:9: found 'fifos', expected fifo or unordered");
    bad("network fifo, please", "f:1:9: found 'fifo,', expected fifo or unordered");
    bad("network fifo please", "f:1:14: found 'please', expected the end of the line");
    bad("content new", "f:1:9: found 'new', expected fixed or history");
    bad("gate phases", "f:1:6: found 'phases', expected exact");
    bad("reports", "f:1:8: found the end of the line, expected tree");
    bad("reports 2", "f:1:9: found '2', expected tree");
    bad("reports tree", "f:1:13: found the end of the line, expected a number from 2 to 15");
    bad("reports tree 1", "f:1:14: found '1', expected a number from 2 to 15");
    bad("reports tree 16", "f:1:14: found '16', expected a number from 2 to 15");
    bad("reports tree 2 3", "f:1:16: found '3', expected the end of the line");
    bad("copies", "f:1:7: found the end of the line, expected a number from 1 to 8");
    bad("copies 0", "f:1:8: found '0', expected a number from 1 to 8");
    bad("copies 9", "f:1:8: found '9', expected a number from 1 to 8");
    bad("copies 2x", "f:1:9: found 'x', expected the end of the line");
    bad("epochs", "f:1:7: found the end of the line, expected an epoch from 1 to 8");
    bad("epochs 1 9", "f:1:10: found '9', expected an epoch from 1 to 8");
    bad("epochs 1 2\np0: S0", "f:1:8: found 2 epochs, expected 1");
    bad("epochs 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "f:1:40: found one more epoch, expected at most 16 (HARK_SCENARIO_RANKS)");
    bad("generations -1", "f:1:13: found '-1', expected a number from 1 to 8");
    bad("generations 4294967297", "f:1:13: found '4294967297', expected a number from 1 to 8");
    bad("schedule now", "f:1:10: found 'now', expected the end of the line");
    bad("p0:\nschedule\n = x", "f:3:2: found '=', expected a step before its transcript");
}

static void wrong_clusters(void **state)
{
    (void)state;
    bad("clusters", "f:1:9: found the end of the line, expected a rank, or a range such as 0-3");
    bad("clusters 0 x", "f:1:12: found 'x', expected a rank, or a range such as 0-3");
    bad("clusters 0 16", "f:1:12: found '16', expected a rank, or a range such as 0-3");
    bad("clusters 0, 1", "f:1:12: found ' 1', expected a rank, or a range such as 0-3");
    bad("clusters 0;1", "f:1:11: found ';1', expected a comma, a blank or the end of the line");
    bad("clusters 0-1-2", "f:1:13: found '-2', expected a comma, a blank or the end of the line");
    bad("clusters 0- 1", "f:1:12: found ' 1', expected the last rank of a range");
    bad("clusters 3-1", "f:1:10: found '3-1', expected an ascending range");
    bad("clusters 0-3 2", "f:1:14: found rank 2 again, expected every rank once");
    bad("clusters 0 1-3\np0:\np1:", "f:1:12: found rank 2, expected ranks below 2");
    bad("clusters 0 2\np0:\np1:\np2:",
        "f:1:10: found rank 1 in no cluster, expected every rank once");
}

static void wrong_trees(void **state)
{
    (void)state;
    bad("tree", "f:1:5: found the end of the line, expected a root r");
    bad("tree 0.", "f:1:8: found the end of the line, expected a root r");
    bad("tree r0r", "f:1:8: found 'r', expected one root");
    bad("tree r0g", "f:1:8: found 'g', expected r, the rank of a parent, or .");
    bad("tree r0000000000000000\np0:", "f:1:22: found '0', expected the end of the line");
    bad("tree r0 0\np0:", "f:1:9: found '0', expected the end of the line");
    bad("tree r00\np0:\np1:", "f:1:8: found one more parent, expected 2");
    bad("tree r\np0:\np1:", "f:1:7: found 1 parents, expected 2");
    bad("tree r1\np0:\np1:", "f:1:7: found parent 1 of p1, expected a way up to the root");
    bad("tree r.1\np0:\np1:\np2:", "f:1:8: found parent 1 of p2, expected a way up to the root");
    bad("tree r21\np0:\np1:\np2:", "f:1:7: found parent 2 of p1, expected a way up to the root");
    bad("tree2 r0\np0:\np1:", "f:1:1: found tree2, expected a line tree before it");
    bad("tree r0\ntree2 0\np0:\np1:", "f:2:8: found the end of the line, expected a root r");
    bad("tree r0\ntree2 r\np0:\np1:", "f:2:8: found 1 parents, expected 2");
    bad("tree r0\ntree2 1.\np0:\np1:", "f:2:9: found the end of the line, expected a root r");
    bad("tree r00\ntree2 0r1\np0:\np1:\np2:",
        "f:2:7: found parent 0 of p0, expected a way up to the root");
    bad("tree r0\ntree2 r0\ntree2 r0\np0:\np1:",
        "f:3:1: found tree2 again, expected it once (it is in line 2)");
    bad("tree r9\np0:\np1:", "f:1:7: found parent 9 of p1, expected a way up to the root");
}

static void wrong_failures(void **state)
{
    (void)state;
    bad("fails", "f:1:6: found the end of the line, expected p0 to p15, any, recovery or service");
    bad("fails 1", "f:1:7: found '1', expected p0 to p15, any, recovery or service");
    bad("fails p", "f:1:7: found 'p', expected p0 to p15, any, recovery or service");
    bad("fails p16", "f:1:7: found 'p16', expected p0 to p15, any, recovery or service");
    bad("fails p1x", "f:1:7: found 'p1x', expected p0 to p15, any, recovery or service");
    bad("fails p1, p2", "f:1:7: found 'p1,', expected p0 to p15, any, recovery or service");
    bad("fails anyone", "f:1:7: found 'anyone', expected p0 to p15, any, recovery or service");
    bad("fails p1 p2", "f:1:10: found 'p2', expected nested, during, wave, decided, damaged, "
                       "store, cluster or the end of the line");
    bad("fails p1 nested wave", "f:1:17: found 'wave', expected the end of the line");
    bad("fails recovery  wave",
        "f:1:17: found 'wave', expected a process that takes checkpoints, or nested or during");
    bad("fails recovery decided",
        "f:1:16: found 'decided', expected a process that takes checkpoints, or nested or during");
    bad("p0:\nfails p0\nfails p1", "f:3:7: found p1, expected a rank below 1");
}

static void wrong_operations(void **state)
{
    (void)state;
    bad("p0: C X1", "f:1:7: found 'X1', expected " OPERATION);
    bad("p0: s0", "f:1:5: found 's0', expected " OPERATION);
    bad("p0: S0.1", "f:1:7: found '.1', expected " OPERATION);
    bad("p0: R.1", "f:1:6: found '.1', expected " OPERATION);
    bad("p0: T0 [|]", "f:1:8: found '[|]', expected " OPERATION);
    bad("p0: C1", "f:1:6: found '1', expected " OPERATION);
    bad("p0: S",
        "f:1:6: found the end of the line, expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p0: S 0", "f:1:6: found ' 0', expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p0: T",
        "f:1:6: found the end of the line, expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p0: W#0",
        "f:1:6: found the end of the line, expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p0: R16", "f:1:6: found '16', expected a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    bad("p0: R0.0",
        "f:1:8: found '0', expected a message of the channel, from 1 to 16 (HARK_SCENARIO_SSN)");
    bad("p0: T0.17[",
        "f:1:8: found '17[', expected a message of the channel, from 1 to 16 (HARK_SCENARIO_SSN)");
    bad("p0: W0.", "f:1:8: found the end of the line, expected a message of the channel, from 1 to "
                   "16 (HARK_SCENARIO_SSN)");
    bad("p0:\np1: S0 R2", "f:2:8: found R2, expected a rank below 2");
    bad("p0: T0[C T1[O|O]|]",
        "f:1:10: a branch inside a branch, expected branches that are not nested");
    bad("p0: T0[|T1[O|O]]",
        "f:1:9: a branch inside a branch, expected branches that are not nested");
    bad("p0: C ]", "f:1:7: found ']', expected T j[ before it");
    bad("p0: C | C", "f:1:7: found '|', expected T j[ before it");
    bad("p0: T0[C]", "f:1:9: found ']', expected | before it");
    bad("p0: T0[C||]", "f:1:10: found '|]', expected ] after two parts");
    bad("p0: T0[C\np1: C", "f:1:5: found a branch without its end, expected | and ]");
    bad("p0: T0[C| C", "f:1:9: found a branch without its end, expected ]");
    bad("p0: T1[ | ]", "f:1:5: found T1, expected a rank below 1");
    bad("p0:\np1: C M", "f:2:7: found M, expected a line tree for it");
    bad("p0: A\np1:", "f:1:5: found A, expected a line tree for it");
    bad("tree r0.\np0:\np1: M\np2:", "f:3:5: found M in p1, expected the root of the tree");
    bad("tree r0.\np0: B\np1:\np2:",
        "f:2:5: found B in p0, expected another member of the tree than the root");
    bad("tree r0.\np0:\np1:\np2: B",
        "f:4:5: found B in p2, expected another member of the tree than the root");
    bad("tree r0\np0: A\np1: A2", "f:3:5: found A2, expected a line tree2 for it");
    bad("tree r0\ntree2 1r\np0: Q2\np1:", "f:3:5: found Q2 in p0, expected the root of the tree");
    bad("tree r0\np0: A1\np1:",
        "f:2:6: found '1', expected an operation (S R T W P L C c O M B A Q G = | ])");
    bad("tree r0.\np0:\np1:\np2: A", "f:4:5: found A in p2, expected a member of the tree");
    bad("tree r0.\np0:\np1: Q\np2:", "f:3:5: found Q in p1, expected the root of the tree");
}

/* Each keyword but p and fails stands once. */
static void keywords_again(void **state)
{
    static const char *const once[] = {"name x", "about x", "protocol none", "clusters 0",
        "network fifo", "content fixed", "copies 1", "generations 1", "epochs 1", "gate exact",
        "reports tree 2", "tree r", "expect ok"};
    (void)state;
    for (size_t i = 0; i < HARK_COUNT(once); i++) {
        char text[64], expected[96];
        snprintf(text, sizeof text, "p0:\n%s\n%s\n", once[i], once[i]);
        snprintf(expected, sizeof expected,
            "f:3:1: found %.*s again, expected it once (it is in line 2)",
            (int)strcspn(once[i], " "), once[i]);
        bad(text, expected);
    }
}

static void wrong_bytes(void **state)
{
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    (void)state;
    bad("name \xc3\xa4", "f:1:6: found the byte 0xc3, expected ASCII");
    bad("p0: S0 \x01", "f:1:8: found the byte 0x01, expected ASCII");
    bad("p0: S0\rS0", "f:1:7: found the byte 0x0d, expected ASCII");
    bad("p0:\nschedule\na\nb \xce\xb1", "f:4:3: found the byte 0xce, expected ASCII");
    bad("p0:\nschedule\na\n= \x7f", "f:4:3: found the byte 0x7f, expected ASCII");
    bad("about a \xc3(", "f:1:9: found the byte 0xc3, expected text in UTF-8");
    bad("about \xc3", "f:1:7: found the byte 0xc3, expected text in UTF-8");
    bad("about \xc0\xaf", "f:1:7: found the byte 0xc0, expected text in UTF-8");
    bad("about \xe0\x80\xaf", "f:1:7: found the byte 0xe0, expected text in UTF-8");
    bad("about \xed\xa0\x80", "f:1:7: found the byte 0xed, expected text in UTF-8");
    bad("about \xf0\x8f\xbf\xbf", "f:1:7: found the byte 0xf0, expected text in UTF-8");
    bad("about \xf4\x90\x80\x80", "f:1:7: found the byte 0xf4, expected text in UTF-8");
    bad("about \xc2\x85", "f:1:7: found the byte 0xc2, expected text in UTF-8");
    bad("about a\x1b", "f:1:8: found the byte 0x1b, expected text in UTF-8");
    assert_int_equal(parse(&s, "p0: S0\0", 7, error), -1);
    assert_string_equal(error, "f:1:7: found the byte 0x00, expected ASCII");
    writes("about \xf0\x9f\x90\x95 \xe2\x88\x9e\np0: # \xff\x00",
        "about \xf0\x9f\x90\x95 \xe2\x88\x9e\np0:\n");
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* `head`, `count` times `unit`, `tail`. */
static const char *many(const char *head, int count, const char *unit, const char *tail)
{
    static char text[4096];
    char *at = text;
    at += snprintf(text, sizeof text, "%s", head);
    for (int i = 0; i < count; i++)
        at += snprintf(at, (size_t)(text + sizeof text - at), "%s", unit);
    snprintf(at, (size_t)(text + sizeof text - at), "%s", tail);
    return text;
}

static void accepted(const char *text)
{
    struct hark_scenario s;
    good(&s, text);
    assert_round(&s);
    hark_scenario_free(&s);
}

static void limits(void **state)
{
    static const char ops[] = "expected at most 64 (HARK_SCENARIO_OPS)";
    char expected[128];
    (void)state;
    accepted(many("p0: ", 64, "C", ""));
    snprintf(expected, sizeof expected, "f:1:69: p0 has more operations, %s", ops);
    bad(many("p0: ", 65, "C", ""), expected);
    accepted(many("p0: ", 60, "C", "T0[O|]C"));
    snprintf(expected, sizeof expected, "f:1:72: p0 has more operations, %s", ops);
    bad(many("p0: ", 63, "C", "T0[ |"), expected);
    /* a barrier of three is four operations of p0 */
    accepted(many("p0: =", 60, "C", "\np1: =\np2: ="));
    snprintf(expected, sizeof expected, "f:1:66: p0 has more operations, %s", ops);
    bad(many("p0: =", 61, "C", "\np1: =\np2: ="), expected);
    snprintf(expected, sizeof expected, "f:1:66: p0 has more operations, %s", ops);
    bad(many("p0: ", 61, "C", "=\np1: =\np2: ="), expected);
    /* messages of a channel */
    accepted(many("p0: ", 16, "S1", "\np1:"));
    bad(many("p0: ", 17, "S1", "\np1:"),
        "f:1:37: found one more message to p1, expected at most 16 (HARK_SCENARIO_SSN)");
    accepted(many("p0: ", 15, "S1", "T1[S1|S1]\np1:"));
    bad(many("p0: ", 15, "S1", "T1[S1|S1S1]\np1:"),
        "f:1:43: found one more message to p1, expected at most 16 (HARK_SCENARIO_SSN)");
    bad(many("p0: ", 15, "S1", "T1[S1|]S1\np1:"),
        "f:1:42: found one more message to p1, expected at most 16 (HARK_SCENARIO_SSN)");
    bad(many("p0: ", 16, "S1", "=\np1: ="),
        "f:1:37: found one more message to p1, expected at most 16 (HARK_SCENARIO_SSN)");
    bad(many("tree r0\np0: ", 17, "M", "\np1:"),
        "f:2:21: found one more message to p1, expected at most 16 (HARK_SCENARIO_SSN)");
    bad(many("tree r0\np0:\np1: ", 17, "A", ""),
        "f:3:21: found one more message to p0, expected at most 16 (HARK_SCENARIO_SSN)");
    /* sends of all */
    accepted(many("p2:\np1:\np3:\np0: ", 16, "S0S1S2S3", ""));
    bad(many("p1: S2\np2:\np3:\np0: ", 16, "S0S1S2S3", ""),
        "f:1:5: found one more send, expected at most 64 of all processes (HARK_SCENARIO_SENDS)");
    accepted(many("tree r00\np0: ", 16, "M", "\np1: R\np2: R"));
    accepted(many("tree r001\np3:\np0: ", 16, "M", "\np1: BBBBBBBBBBBBBBBB\np2:"));
    accepted(many("tree r0\np0: ", 16, "A", "\np1:")); /* the root sends none */
}

static void long_texts(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, many("p0:\nname ", 63, "n", ""));
    assert_int_equal(strlen(s.name), 63);
    bad(many("p0:\nname ", 64, "n", ""), "f:2:69: found more text, expected at most 63 bytes");
    good(&s, many("p0:\nabout ", 255, "n", ""));
    assert_int_equal(strlen(s.about), 255);
    bad(many("p0:\nabout ", 256, "n", ""), "f:2:262: found more text, expected at most 255 bytes");
    good(&s, many("p0:\nexpect ", 127, "n", ""));
    bad(many("p0:\nexpect ", 128, "n", ""), "f:2:135: found more text, expected at most 127 bytes");
    accepted(many("p0:\n", 8, "fails p0\n", ""));
    bad(many("p0:\n", 9, "fails p0\n", ""),
        "f:10:7: found one more failure, expected at most 8 (HARK_SCENARIO_FAILS)");
}

/* Every operation knows where it stands. */
static void far_down(void **state)
{
    static char down[70000], right[70000];
    (void)state;
    memset(down, '\n', 65534);
    strcpy(down + 65534, "p0: S0 R7");
    bad(down, "f:65535:8: found R7, expected a rank below 1");
    strcpy(down + 65534, "\np0: S0 R7");
    bad(down, "f:65536:5: found an operation, expected it in the first 65535 lines and columns");
    memset(right, ' ', 65534);
    memcpy(right, "p0:", 3);
    strcpy(right + 65534, "R7");
    bad(right, "f:1:65535: found R7, expected a rank below 1");
    strcpy(right + 65534, "OO");
    bad(right, "f:1:65536: found an operation, expected it in the first 65535 lines and columns");
}

/* A name of any length leaves room for what is wrong. */
static void long_names(void **state)
{
    struct hark_scenario s;
    char name[400], error[HARK_SCENARIO_ERROR];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(hark_scenario_parse(&s, "x", 1, name, error), -1);
    assert_true(strlen(error) < HARK_SCENARIO_ERROR);
    assert_string_equal(error + 90, ":1:1: found 'x', expected " KEYWORDS);
}

/* ---- schedules, files ------------------------------------------------------------------------ */

static void lines_added(void **state)
{
    struct hark_scenario s;
    (void)state;
    good(&s, "p0: S0");
    assert_int_equal(hark_scenario_add(&s, true, "too early"), -1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(hark_scenario_add(&s, i % 3, i % 3 ? "  = # x\t" : "\tp0 S0 "), 0);
    assert_int_equal(hark_scenario_add(&s, true, " "), 0);
    assert_int_equal(hark_scenario_add(&s, false, ""), -1);
    assert_int_equal(hark_scenario_add(&s, false, " # x"), -1);
    assert_int_equal(hark_scenario_add(&s, false, "= x"), -1);
    assert_int_equal(hark_scenario_add(&s, false, "x\ny"), -1);
    assert_int_equal(hark_scenario_add(&s, true, "\xce\xb1"), -1);
    assert_int_equal(hark_scenario_add(&s, true, "\x7f"), -1);
    assert_int_equal(s.schedule_lines, 101);
    assert_string_equal(s.schedule[99].text, "p0 S0");
    assert_string_equal(s.schedule[98].text, "= # x");
    assert_round(&s);
    hark_scenario_free(&s);
}

/* Calls `one` for every file of the project. */
static void each_file(void (*one)(struct hark_scenario *, const char *path))
{
    glob_t found;
    assert_int_equal(glob(HARK_TEST_SCENARIOS "/*.hark", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 100);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct hark_scenario s;
        char error[HARK_SCENARIO_ERROR];
        if (hark_scenario_read(&s, found.gl_pathv[i], error) < 0) fail_msg("%s", error);
        one(&s, found.gl_pathv[i]);
        hark_scenario_free(&s);
    }
    globfree(&found);
}

/* Each bears its name, says what it is about, and is written as it would be written. */
static void file_holds(struct hark_scenario *s, const char *path)
{
    char text[4096], *written = hark_scenario_text(s);
    const char *name = strrchr(path, '/') + 1;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_int_equal(strlen(name) - 5, strlen(s->name));
    assert_memory_equal(name, s->name, strlen(s->name));
    assert_true(*s->about && *s->protocol);
    assert_string_equal(written, text);
    assert_round(s);
    free(written);
}

static void files_hold(void **state)
{
    (void)state;
    each_file(file_holds);
}

/* A file cut anywhere parses, or says what is missing; nothing is read behind its end. */
static void cut(const char *text, size_t length)
{
    for (size_t n = 0; n <= length; n++) {
        struct hark_scenario s;
        char error[HARK_SCENARIO_ERROR];
        if (parse(&s, text, n, error) == 0) {
            assert_round(&s);
            hark_scenario_free(&s);
        } else {
            assert_memory_equal(error, "f:", 2);
            assert_null(strchr(error, '\n'));
            assert_empty(&s);
        }
    }
}

static void file_is_cut(struct hark_scenario *s, const char *path)
{
    char *text = hark_scenario_text(s);
    (void)path;
    cut(text, strlen(text));
    free(text);
}

static void cut_anywhere(void **state)
{
    (void)state;
    each_file(file_is_cut);
    cut(whole, sizeof whole - 1);
}

static void files_that_are_none(void **state)
{
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    (void)state;
    assert_int_equal(hark_scenario_read(&s, HARK_TEST_SCENARIOS "/none such", error), -1);
    assert_non_null(strstr(error, ": No such file or directory"));
    assert_empty(&s);
    assert_int_equal(hark_scenario_read(&s, "/", error), -1);
    assert_string_equal(error, "/: Is a directory");
    assert_int_equal(hark_scenario_read(&s, "/dev/zero", error), -1);
    assert_string_equal(error, "/dev/zero: more than 16777216 bytes");
    assert_empty(&s);
    assert_non_null(freopen(HARK_TEST_SCENARIOS "/ck2.hark", "rb", stdin));
    assert_int_equal(hark_scenario_read(&s, "-", error), 0);
    assert_string_equal(s.name, "ck2");
    hark_scenario_free(&s);
    assert_int_equal(hark_scenario_read(&s, "-", error), -1);
    assert_string_equal(error, "stdin:1:1: found the end, expected a line p0:");
}

/* ---- anything -------------------------------------------------------------------------------- */

static uint32_t pick(uint64_t *x, uint32_t n)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)((*x >> 11) % n);
}

/* Lines of tokens that belong there, most of the time. */
static size_t soup(uint64_t *x, char *text, size_t room)
{
    static const char *const heads[] = {"p0:", "p1:", "p2:", "p0:", "p1:", "p3:", "p15:", "p:",
        "name", "about", "protocol", "clusters", "network", "content", "copies", "generations",
        "epochs", "gate", "reports", "tree", "tree", "tree2", "fails", "fails", "expect",
        "schedule", "#", "=", "", "\xce\xb1", "p16:"};
    static const char *const ops[] = {"S0", "S1", "S2", "R", "R1", "R0.2", "T0", "T1", "W0", "W1",
        "T1[", "|", "]", "C", "O", "=", "M", "B", "A", "Q", "A2", "M2", "T2.1[", "P", "P1", "L",
        "L0.2", "C", "C", "C", "S0", "S1", "R", "W0.2", "S15", "#"};
    static const char *const words[] = {"0", "1", "0-2", "0,1", "2", "r", "r0", "r01", "r00",
        "hydee", "scmel", "fifo", "unordered", "fixed", "history", "exact", "ok", "any", "p0", "p1",
        "recovery", "nested", "during", "wave", "decided", "damaged", "store", "-", ",", "\xce\xb1",
        "99999999999999", "\x01", "\r", "3", "8", "tree 2", "tree 15"};
    size_t n = 0;
    for (uint32_t lines = 1 + pick(x, 8), i = 0; i < lines; i++) {
        uint32_t head = pick(x, HARK_COUNT(heads)), tidy = pick(x, 8);
        if (i < 2 && tidy) head = i;
        n += (size_t)snprintf(text + n, room - n, "%s%s", heads[head], tidy ? " " : "");
        for (uint32_t k = pick(x, head < 8 ? 12 : 3); k > 0; k--) {
            const char *token =
                head < 8 ? ops[pick(x, HARK_COUNT(ops))] : words[pick(x, HARK_COUNT(words))];
            n += (size_t)snprintf(text + n, room - n, "%s%s", token, pick(x, 8) ? " " : "");
        }
        text[n++] = '\n';
    }
    if (pick(x, 4) == 0) text[pick(x, (uint32_t)n)] = (char)pick(x, 256);
    return n;
}

static void token_soup(void **state)
{
    uint64_t x = 88172645463325252;
    uint32_t fine = 0;
    (void)state;
    for (uint32_t i = 0; i < 200000; i++) {
        struct hark_scenario s;
        char text[4096], error[HARK_SCENARIO_ERROR];
        size_t n = soup(&x, text, sizeof text);
        if (parse(&s, text, n, error) == 0) {
            fine++;
            assert_round(&s);
            hark_scenario_free(&s);
        } else {
            assert_memory_equal(error, "f:", 2);
            assert_null(strchr(error, '\n'));
            assert_empty(&s);
        }
    }
    printf("%u of 200000 are scenarios\n", fine);
    assert_true(fine > 2000);
}

/* Programs made by chance: the same again, and with trees failures are of all these kinds. */
static void made_by_chance(void **state)
{
    static const uint32_t traits[] = {
        0, HARK_TRAIT_GROUPS, HARK_TRAIT_GROUPS | HARK_TRAIT_REDUCES, HARK_TRAIT_RECLUSTERS};
    (void)state;
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t kinds[HARK_FAIL_CLUSTER + 1] = {0}, looks[2] = {0};
        for (uint64_t seed = 1; seed <= 200; seed++) {
            static struct hark_scenario s, again;
            hark_scenario_random(&s, seed, traits[t], false, seed % 2);
            hark_scenario_random(&again, seed, traits[t], false, seed % 2);
            assert_memory_equal(&s, &again, sizeof s);
            for (uint32_t i = 0; i < s.fails; i++) kinds[s.fail[i].when]++;
            for (uint32_t i = 0; i < s.ranks; i++)
                for (const struct hark_op *op = s.op[i]; op->type; op++)
                    if (hark_op_looks(op->type)) looks[seed % 2]++;
        }
        assert_int_equal(looks[0], 0);
        assert_true(looks[1] > 50);
        assert_true(kinds[HARK_FAIL_AFTER] > 20 && kinds[HARK_FAIL_NESTED] > 20);
        for (uint32_t when = HARK_FAIL_WAVE; when <= HARK_FAIL_STORE; when++)
            if (traits[t]) assert_true(kinds[when] > 5);
            else assert_int_equal(kinds[when], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_keyword),
        cmocka_unit_test(what_is_left_out), cmocka_unit_test(every_operation),
        cmocka_unit_test(branches), cmocka_unit_test(waits), cmocka_unit_test(barriers),
        cmocka_unit_test(wrong_lines), cmocka_unit_test(wrong_clusters),
        cmocka_unit_test(wrong_trees), cmocka_unit_test(wrong_failures),
        cmocka_unit_test(wrong_operations), cmocka_unit_test(keywords_again),
        cmocka_unit_test(wrong_bytes), cmocka_unit_test(limits), cmocka_unit_test(long_texts),
        cmocka_unit_test(long_names), cmocka_unit_test(far_down), cmocka_unit_test(lines_added),
        cmocka_unit_test(files_hold), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(files_that_are_none), cmocka_unit_test(token_soup),
        cmocka_unit_test(made_by_chance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
