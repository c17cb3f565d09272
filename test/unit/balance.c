/* Objects onto processing elements in teams: cases worked out by hand, known optima, what must hold
 * of every map, and tables of loads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/cluster/loads.h"
#include "hark/balance.h"

enum { MOST = 64 };

static const enum hark_cut_backend backends[] = {
    HARK_CUT_BUILTIN, HARK_CUT_SCOTCH, HARK_CUT_METIS, HARK_CUT_METIS_RECURSIVE};

/* ---- graphs, given as bytes between pairs */

struct job {
    struct hark_balance b;
    struct hark_graph g;
    uint64_t between[MOST][MOST], load[MOST], first[MOST + 1], weight[MOST * MOST];
    uint32_t column[MOST * MOST];
};

static void graph_of(struct job *j, uint32_t objects)
{
    uint64_t k = 0;
    for (uint32_t i = 0; i < objects; i++) {
        j->first[i] = k;
        for (uint32_t o = 0; o < objects; o++) {
            uint64_t bytes = j->between[i][o] + j->between[o][i];
            if (o == i || bytes == 0) continue;
            j->column[k] = o;
            j->weight[k++] = bytes;
        }
    }
    j->first[objects] = k;
    j->g = (struct hark_graph){objects, j->first, j->column, j->weight, j->load};
    j->b.graph = &j->g;
}

static struct job *job(uint32_t pes, uint32_t teams, enum hark_balance_strategy strategy)
{
    static struct job j;
    memset(&j, 0, sizeof j);
    j.b = (struct hark_balance){
        .pes = pes, .teams = teams, .strategy = strategy, .slack = 10, .seed = 1};
    return &j;
}

static void loads(struct job *j, uint32_t objects, const uint64_t *load)
{
    memcpy(j->load, load, objects * sizeof *load);
    graph_of(j, objects);
}

static uint64_t random_of(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- by hand */

static void blocks_are_as_equal_as_can_be(void **state)
{
    (void)state;
    uint32_t pe[7];
    const uint32_t expected[] = {0, 0, 0, 1, 1, 2, 2};
    hark_balance_blocks(7, 3, pe);
    assert_memory_equal(pe, expected, sizeof pe);
}

static void greedy_by_hand(void **state)
{
    (void)state;
    struct job *j = job(3, 1, HARK_BALANCE_GREEDY);
    const uint64_t load[] = {3, 5, 2, 7, 4, 3};
    /* 7 to PE 0, 5 to 1, 4 to 2, the first 3 to 2 (7), the other to 1 (8), 2 to 0: 7 is as little
     * as on PE 2 */
    const uint32_t expected[] = {2, 1, 0, 0, 2, 1};
    uint32_t pe[6];
    loads(j, 6, load);
    assert_int_equal(hark_balance(&j->b, NULL, pe), 0);
    assert_memory_equal(pe, expected, sizeof pe);
    struct hark_balance_figures f;
    assert_int_equal(hark_balance_measure(&j->b, NULL, pe, &f), 0);
    assert_int_equal(f.most, 9);
    assert_int_equal(f.least, 7);
    assert_int_equal(f.load, 24);
    assert_int_equal(f.moved, 5); /* blocks: 0 0 1 1 2 2 */
    assert_true(hark_balance_imbalance(&f, 3) == 9.0 * 3 / 24 - 1);
}

static void refine_moves_what_it_must(void **state)
{
    (void)state;
    static const struct {
        uint64_t load[6];
        uint32_t now[6], expected[6], objects, pes;
    } cases[] = {
        {{5, 3, 2, 1, 1}, {0, 0, 0, 1, 1}, {0, 1, 0, 1, 1}, 5, 2}, /* 6 can not be: 3 goes, 7 and 5
                                                                    */
        {{4, 2, 1, 1, 2, 2}, {0, 0, 0, 0, 1, 2}, {0, 1, 2, 2, 1, 2}, 6, 3}, /* three must go, and
                                                                               three do */
        {{3, 3, 3, 3}, {0, 0, 1, 1}, {0, 0, 1, 1}, 4, 2},                   /* nothing to do */
        {{6, 5, 4, 1}, {0, 0, 0, 1}, {1, 0, 0, 1}, 4, 2}, /* nor 8: 6 goes, 9 and 7 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job *j = job(cases[i].pes, 1, HARK_BALANCE_REFINE);
        uint32_t pe[6];
        j->b.slack = 0;
        loads(j, cases[i].objects, cases[i].load);
        assert_int_equal(hark_balance(&j->b, cases[i].now, pe), 0);
        assert_memory_equal(pe, cases[i].expected, cases[i].objects * sizeof *pe);
    }
}

/* Of several objects that are enough the lightest goes, once. */
static void refine_moves_one(void **state)
{
    (void)state;
    struct job *j = job(2, 1, HARK_BALANCE_REFINE);
    const uint64_t load[] = {8, 6, 5, 1, 1, 9};
    const uint32_t now[] = {0, 0, 0, 0, 0, 1}, expected[] = {0, 1, 0, 0, 0, 1}; /* 21 and 9 of 30: 6
                                                                                   is just enough */
    uint32_t pe[6];
    j->b.slack = 0;
    loads(j, 6, load);
    assert_int_equal(hark_balance(&j->b, now, pe), 0);
    assert_memory_equal(pe, expected, sizeof pe);
}

/* Within the slack nothing moves; beyond it, what is beyond. */
static void refine_has_slack(void **state)
{
    (void)state;
    struct job *j = job(2, 1, HARK_BALANCE_REFINE);
    const uint64_t load[] = {50, 5, 1, 44};
    const uint32_t now[] = {0, 0, 0, 1};
    uint32_t pe[4];
    loads(j, 4, load); /* 56 and 44 of 100 */
    j->b.slack = 120;
    assert_int_equal(hark_balance(&j->b, now, pe), 0);
    assert_memory_equal(pe, now, sizeof pe);
    j->b.slack = 119;
    assert_int_equal(hark_balance(&j->b, now, pe), 0);
    const uint32_t expected[] = {0, 0, 1, 1}; /* 1 is enough for 55.95, rounded down */
    assert_memory_equal(pe, expected, sizeof pe);
}

/* Objects of equal load and cliques that do not talk to each other: nothing is cut, and no PE has
 * more than another. */
static void cliques_become_teams(void **state)
{
    (void)state;
    static const enum hark_balance_strategy strategies[] = {
        HARK_BALANCE_TEAM, HARK_BALANCE_TEAM_PLUS};
    for (size_t k = 0; k < sizeof backends / sizeof backends[0]; k++)
        for (size_t s = 0; s < 2; s++) {
            if (!hark_cut_has(backends[k])) continue;
            struct job *j = job(8, 4, strategies[s]);
            struct hark_balance_figures f;
            uint32_t pe[16];
            j->b.backend = backends[k];
            for (uint32_t i = 0; i < 16; i++)
                for (uint32_t o = 0; o < 16; o++) j->between[i][o] = i % 4 == o % 4 ? 10 : 0;
            graph_of(j, 16);
            j->g.load = NULL; /* 1 each */
            assert_int_equal(hark_balance(&j->b, NULL, pe), 0);
            assert_int_equal(hark_balance_measure(&j->b, NULL, pe, &f), 0);
            assert_int_equal(f.logged, 0);
            assert_int_equal(f.bytes, 4 * 12 * 10);
            assert_int_equal(f.most, 2);
            assert_int_equal(f.least, 2);
            for (uint32_t i = 0; i < 16; i++)
                assert_int_equal(pe[i] / 2, pe[i % 4] / 2); /* 2 PEs a team */
        }
}

/* Two pairs that talk, split over two teams. Joining them takes two moves: worth it below the bytes
 * that it saves, not above. */
static void moves_have_their_price(void **state)
{
    (void)state;
    const uint64_t load[] = {5, 5, 5, 5};
    const uint32_t now[] = {0, 1, 0, 1}; /* 0 talks to 1, 2 to 3 */
    for (uint64_t move = 99; move <= 101; move += 2) {
        struct job *j = job(2, 2, HARK_BALANCE_TEAM_PLUS);
        struct hark_balance_figures f;
        uint32_t pe[4];
        j->between[0][1] = j->between[2][3] = 60;
        j->between[1][0] = j->between[3][2] = 40;
        j->b.move = move;
        loads(j, 4, load);
        assert_int_equal(hark_balance(&j->b, now, pe), 0);
        assert_int_equal(hark_balance_measure(&j->b, now, pe, &f), 0);
        assert_int_equal(f.moved, move < 100 ? 2 : 0);
        assert_int_equal(f.logged, move < 100 ? 0 : 200);
        assert_int_equal(f.most, 10);
    }
}

/* What is right is left alone. */
static void team_plus_leaves_the_best(void **state)
{
    (void)state;
    struct job *j = job(4, 2, HARK_BALANCE_TEAM_PLUS);
    const uint64_t load[] = {5, 5, 5, 5};
    const uint32_t now[] = {3, 0, 2, 1};
    uint32_t pe[4];
    j->between[0][2] = j->between[1][3] = 7;
    loads(j, 4, load);
    assert_int_equal(hark_balance(&j->b, now, pe), 0);
    assert_memory_equal(pe, now, sizeof pe);
}

/* ---- what must hold of every map */

static uint32_t any_graph(struct job *j, uint64_t seed)
{
    uint64_t s = seed;
    uint32_t n = 1 + (uint32_t)(random_of(&s) % 40);
    for (uint32_t i = 0; i < n; i++) {
        j->load[i] = random_of(&s) % (seed % 5 == 0 ? 3 : 1000);
        for (int k = 0; k < 3; k++) j->between[i][random_of(&s) % n] += random_of(&s) % 100;
        j->between[i][i] = 0;
    }
    graph_of(j, n);
    return n;
}

static void recompute(
    const struct job *j, const uint32_t *now, const uint32_t *pe, struct hark_balance_figures *f)
{
    uint64_t sum[MOST] = {0}, team[MOST] = {0};
    uint32_t n = j->g.vertices, size = j->b.pes / j->b.teams;
    memset(f, 0, sizeof *f);
    f->least = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(pe[i] < j->b.pes);
        sum[pe[i]] += j->load[i];
        team[pe[i] / size] += j->load[i];
        f->load += j->load[i];
        f->moved += pe[i] != now[i];
        for (uint32_t o = 0; o < n; o++) {
            f->bytes += j->between[i][o];
            if (pe[i] / size != pe[o] / size) f->logged += j->between[i][o];
        }
    }
    for (uint32_t p = 0; p < j->b.pes; p++) {
        if (sum[p] > f->most) f->most = sum[p];
        if (sum[p] < f->least) f->least = sum[p];
        if (team[p / size] > f->team_most) f->team_most = team[p / size];
    }
}

/* An object that refine moved back makes its old PE fuller than all are. */
static void nothing_moved_in_vain(
    const struct job *j, const uint32_t *now, const uint32_t *pe, uint64_t limit)
{
    for (uint32_t i = 0; i < j->g.vertices; i++) {
        uint64_t sum = j->load[i];
        for (uint32_t o = 0; o < j->g.vertices; o++)
            if (pe[o] == now[i]) sum += j->load[o];
        if (pe[i] != now[i]) assert_true(sum > limit);
    }
}

static void one_map(struct job *j, const uint32_t *now, const struct hark_balance_figures *before)
{
    struct hark_balance_figures f, g;
    uint32_t pe[MOST], again[MOST];
    assert_int_equal(hark_balance(&j->b, now, pe), 0);
    memcpy(again, now, sizeof again);
    assert_int_equal(hark_balance(&j->b, again, again), 0); /* in place, and the same again */
    assert_memory_equal(pe, again, j->g.vertices * sizeof *pe);
    recompute(j, now, pe, &f);
    assert_int_equal(hark_balance_measure(&j->b, now, pe, &g), 0);
    assert_true(
        f.load == g.load && f.most == g.most && f.least == g.least && f.team_most == g.team_most);
    assert_true(f.bytes == g.bytes && f.logged == g.logged && f.moved == g.moved);
    if (j->b.strategy == HARK_BALANCE_NONE) assert_int_equal(f.moved, 0);
    if (j->b.strategy == HARK_BALANCE_REFINE) {
        assert_true(f.most <= before->most);
        nothing_moved_in_vain(j, now, pe, f.most);
    }
}

static void every_map_is_one(void **state)
{
    (void)state;
    static const uint32_t pes[][2] = {{1, 1}, {2, 1}, {2, 2}, {6, 3}, {8, 4}, {12, 2}, {60, 60}};
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (size_t k = 0; k < sizeof backends / sizeof backends[0]; k++)
            for (int s = HARK_BALANCE_NONE; s <= HARK_BALANCE_TEAM_PLUS; s++) {
                const uint32_t *p = pes[seed % 7];
                struct job *j = job(p[0], p[1], (enum hark_balance_strategy)s);
                struct hark_balance_figures before;
                uint32_t now[MOST] = {0}, n = any_graph(j, seed);
                if (!hark_cut_has(backends[k]) || (k && (s < HARK_BALANCE_TEAM || n < 4 * p[1])))
                    continue;
                j->b.backend = backends[k];
                j->b.move = seed % 3 * 20;
                for (uint32_t i = 0; i < n; i++) now[i] = i * 7 % p[0];
                recompute(j, now, now, &before);
                one_map(j, now, &before);
            }
}

static uint64_t optimum(const struct job *j, uint32_t object, uint64_t sum[3])
{
    uint64_t best = UINT64_MAX;
    if (object == j->g.vertices) {
        for (int p = 0; p < 3; p++)
            if (p == 0 || sum[p] > best) best = sum[p];
        return best;
    }
    for (int p = 0; p < 3; p++) {
        sum[p] += j->load[object];
        uint64_t most = optimum(j, object + 1, sum);
        sum[p] -= j->load[object];
        if (most < best) best = most;
    }
    return best;
}

/* Graham 1969: the longest first comes to at most 4/3 - 1/(3m) times the best there is. */
static void greedy_is_near_the_optimum(void **state)
{
    (void)state;
    uint64_t s = 3;
    for (int k = 0; k < 60; k++) {
        struct job *j = job(3, 1, HARK_BALANCE_GREEDY);
        struct hark_balance_figures f;
        uint64_t load[8], sum[3] = {0};
        uint32_t pe[8];
        for (int i = 0; i < 8; i++) load[i] = 1 + random_of(&s) % 50;
        loads(j, 8, load);
        assert_int_equal(hark_balance(&j->b, NULL, pe), 0);
        assert_int_equal(hark_balance_measure(&j->b, NULL, pe, &f), 0);
        uint64_t best = optimum(j, 0, sum);
        assert_true(f.most >= best && 9 * f.most <= 11 * best);
    }
}

/* The same with every compiler and in every run: maps of one graph, as a number. */
static void maps_are_the_same_everywhere(void **state)
{
    (void)state;
    static const uint64_t golden[] = {UINT64_C(0x92a22b26491232fd), UINT64_C(0xd075007fd002f0e4),
        UINT64_C(0x84eb004b79e751ff), UINT64_C(0x165b99ea09740033), UINT64_C(0xeda17143c7c003ab)};
    bool same = true;
    for (int s = HARK_BALANCE_NONE; s <= HARK_BALANCE_TEAM_PLUS; s++) {
        struct job *j = job(12, 4, (enum hark_balance_strategy)s);
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
        uint32_t pe[MOST], n = any_graph(j, 11);
        assert_int_equal(hark_balance(&j->b, NULL, pe), 0);
        for (uint32_t i = 0; i < n; i++) hash = (hash ^ pe[i]) * UINT64_C(0x100000001b3);
        if (hash != golden[s])
            print_message("strategy %d: UINT64_C(0x%016llx)\n", s, (unsigned long long)hash);
        same = same && hash == golden[s];
    }
    assert_true(same);
}

/* ---- what is refused */

static void bad_arguments(void **state)
{
    (void)state;
    const uint64_t load[] = {1, 2, 3}, huge[] = {1, HARK_BALANCE_LOAD + 1, 3};
    const uint32_t now[] = {0, 1, 4};
    uint32_t pe[] = {7, 7, 7};
    struct hark_balance_figures f;
    struct job *j = job(4, 2, HARK_BALANCE_GREEDY);
    loads(j, 3, load);
    const struct hark_balance good = j->b;
    assert_int_equal(hark_balance(&j->b, now, pe), -EINVAL);
    assert_int_equal(hark_balance_measure(&j->b, NULL, now, &f), -EINVAL);
    j->b.teams = 3;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b.teams = 8;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b.teams = 0;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b = good;
    j->b.pes = 0;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b = good;
    j->b.slack = 1001;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b = good;
    j->b.strategy = (enum hark_balance_strategy)5;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b = good;
    j->b.move = HARK_BALANCE_LOAD + 1;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    j->b = good;
    j->g.vertices = 0;
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    loads(j, 3, huge);
    assert_int_equal(hark_balance(&j->b, NULL, pe), -EINVAL);
    for (int i = 0; i < 3; i++) assert_int_equal(pe[i], 7);
}

/* All objects may move, and the sum is to be a number. */
static void moves_that_are_too_dear(void **state)
{
    (void)state;
    enum { OBJECTS = 200 };
    static const uint64_t first[OBJECTS + 1];
    uint32_t column, pe[OBJECTS];
    uint64_t weight;
    const struct hark_graph g = {OBJECTS, first, &column, &weight, NULL};
    struct hark_balance b = {.graph = &g, .pes = 4, .teams = 2, .strategy = HARK_BALANCE_TEAM_PLUS};
    b.move = HARK_GRAPH_MOST / OBJECTS + 1;
    assert_int_equal(hark_balance(&b, NULL, pe), -EINVAL);
    b.move--;
    assert_int_equal(hark_balance(&b, NULL, pe), 0);
}

static void backends_that_are_not_there(void **state)
{
    (void)state;
    const uint64_t load[] = {1, 2, 3};
    for (size_t k = 0; k < sizeof backends / sizeof backends[0]; k++) {
        struct job *j = job(2, 2, HARK_BALANCE_TEAM);
        uint32_t pe[3];
        loads(j, 3, load);
        j->b.backend = backends[k];
        assert_int_equal(hark_balance(&j->b, NULL, pe), hark_cut_has(backends[k]) ? 0 : -ENOTSUP);
    }
}

/* ---- tables of loads */

static int table(struct hark_loads *l, const char *text, size_t length, uint32_t columns,
    char error[HARK_MATRIX_ERROR])
{
    char path[] = "/tmp/hark-loads-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    close(fd);
    int status = hark_loads_read(l, path, columns, 100, error);
    unlink(path);
    if (status < 0) memmove(error, error + strlen(path), strlen(error + strlen(path)) + 1);
    return status;
}

static void good_tables(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1,2\n3,4\n5,6\n", "# loads\n\n 1 2\n3\t4 # more\r\n5;  6", "1 , 2\r\n\r\n3,4\n5,6"};
    const uint64_t expected[] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct hark_loads l;
        char error[HARK_MATRIX_ERROR];
        assert_int_equal(table(&l, texts[i], strlen(texts[i]), 0, error), 0);
        assert_int_equal(l.rows, 3);
        assert_int_equal(l.columns, 2);
        assert_memory_equal(l.value, expected, sizeof expected);
        hark_loads_free(&l);
    }
}

static void bad_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
        uint32_t columns;
    } cases[] = {
        {"", ":1: expected a line of numbers for each object, the file has none", 0},
        {"# nothing\n\n", ":3: expected a line of numbers for each object, the file has none", 0},
        {"1\n-5\n", ":2: expected whole numbers from 0 to 100, found \"-5\"", 0},
        {"nan\n", ":1: expected whole numbers from 0 to 100, found \"nan\"", 0},
        {"1.5\n", ":1: expected whole numbers from 0 to 100, found \"1.5\"", 0},
        {"101\n", ":1: expected whole numbers from 0 to 100, found \"101\"", 0},
        {"18446744073709551617\n",
            ":1: expected whole numbers from 0 to 100, found \"18446744073709551617\"", 0},
        {"1,,2\n", ":1: expected whole numbers from 0 to 100, found \"\"", 0},
        {"1,2,\n", ":1: expected whole numbers from 0 to 100, found \"\"", 0},
        {"1 x\033\n", ":1: expected whole numbers from 0 to 100, found \"x?\"", 0},
        {"1,2\n3\n", ":2: expected 2 numbers in each line, found 1", 0},
        {"1,2\n", ":1: expected 1 number in each line, found 2", 1},
    };
    struct hark_loads l;
    char error[HARK_MATRIX_ERROR];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            table(&l, cases[i].text, strlen(cases[i].text), cases[i].columns, error), -1);
        assert_string_equal(error, cases[i].error);
        assert_null(l.value);
    }
    assert_int_equal(table(&l, "1\n2\0\n", 5, 0, error), -1);
    assert_string_equal(error, ":2: expected text, found a zero byte");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_as_equal_as_can_be),
        cmocka_unit_test(greedy_by_hand), cmocka_unit_test(refine_moves_what_it_must),
        cmocka_unit_test(refine_moves_one), cmocka_unit_test(refine_has_slack),
        cmocka_unit_test(cliques_become_teams), cmocka_unit_test(moves_have_their_price),
        cmocka_unit_test(team_plus_leaves_the_best), cmocka_unit_test(every_map_is_one),
        cmocka_unit_test(greedy_is_near_the_optimum),
        cmocka_unit_test(maps_are_the_same_everywhere), cmocka_unit_test(bad_arguments),
        cmocka_unit_test(moves_that_are_too_dear), cmocka_unit_test(backends_that_are_not_there),
        cmocka_unit_test(good_tables), cmocka_unit_test(bad_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
