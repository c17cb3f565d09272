/* The team load balancer, claim by claim: E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load
 * Balance for Optimized Message Logging in Fault Tolerant HPC Applications, Cluster 2011, section
 * V. Loads and bytes are counted, no time is taken; the objects are those of
 * bench/papers/objects.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../bench/papers/objects.h"
#include "hark/balance.h"

enum { PES = 64, TEAMS = 8 };

struct job {
    struct objects o;
    struct hark_graph g;
    struct hark_balance b;
    uint64_t *load;
};

static int by_place(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* The edges as a matrix: sorted, those of one place added up. */
static void graph_of(struct job *j)
{
    struct objects *o = &j->o;
    struct hark_matrix m = {.ranks = o->count};
    uint64_t(*e)[2] = malloc(o->edges * sizeof *e);
    m.first = calloc(o->count + 1, sizeof *m.first);
    m.column = malloc(o->edges * sizeof *m.column);
    m.value = malloc(o->edges * sizeof *m.value);
    assert_true(e && m.first && m.column && m.value);
    for (uint32_t k = 0; k < o->edges; k++) {
        e[k][0] = (uint64_t)o->edge[k].from << 32 | o->edge[k].to;
        e[k][1] = o->edge[k].bytes;
    }
    qsort(e, o->edges, sizeof *e, by_place);
    for (uint32_t k = 0; k < o->edges; k++) {
        if (k == 0 || e[k][0] != e[k - 1][0]) {
            m.column[m.entries] = (uint32_t)e[k][0];
            m.value[m.entries++] = 0;
            m.first[(e[k][0] >> 32) + 1]++;
        }
        m.value[m.entries - 1] += e[k][1];
    }
    for (uint32_t i = 0; i < o->count; i++) m.first[i + 1] += m.first[i];
    assert_int_equal(hark_graph_of(&j->g, &m), 0);
    hark_matrix_free(&m);
    free(e);
}

static void begin(struct job *j)
{
    graph_of(j);
    j->load = malloc(j->o.count * sizeof *j->load);
    assert_non_null(j->load);
    j->g.load = j->load;
    j->b =
        (struct hark_balance){.graph = &j->g, .pes = PES, .teams = TEAMS, .slack = 10, .seed = 1};
}

static void end(struct job *j)
{
    hark_graph_free(&j->g);
    objects_free(&j->o);
    free(j->load);
}

static void column(struct job *j, uint32_t c)
{
    for (uint32_t i = 0; i < j->o.count; i++) j->load[i] = j->o.load[(size_t)i * j->o.columns + c];
}

static struct hark_balance_figures balanced(struct job *j, enum hark_balance_strategy strategy)
{
    struct hark_balance_figures f;
    uint32_t *pe = malloc(j->o.count * sizeof *pe);
    assert_non_null(pe);
    j->b.strategy = strategy;
    assert_int_equal(hark_balance(&j->b, NULL, pe), 0);
    assert_int_equal(hark_balance_measure(&j->b, NULL, pe, &f), 0);
    free(pe);
    return f;
}

/* "BT presents the highest load imbalance among the three": 256 zones of class C are the whole
 * mesh, no point twice, and the largest is 20 times the smallest. */
static void zones_are_those_of_class_c(void **state)
{
    (void)state;
    struct objects o;
    uint64_t sum = 0, least = UINT64_MAX, most = 0;
    uint32_t x[ZONES], y[ZONES];
    assert_true(objects_bt_mz(&o));
    assert_int_equal(o.count, 256);
    for (uint32_t i = 0; i < o.count; i++) {
        sum += o.load[i];
        if (o.load[i] < least) least = o.load[i];
        if (o.load[i] > most) most = o.load[i];
    }
    assert_int_equal(sum, 480 * 320 * 28);
    assert_in_range(most / least, 19, 21);
    zone_sizes(480, x);
    zone_sizes(320, y);
    for (int i = 1; i < ZONES; i++) assert_true(x[i] >= x[i - 1] && y[i] >= y[i - 1]);
    objects_free(&o);
}

/* "Applying SCOTCH to this graph and looking for a partition into 8 teams gives us an edge cut
 * ratio of 0.18." */
static void without_loads_little_is_cut(void **state)
{
    (void)state;
    struct job j;
    assert_true(objects_bt_mz(&j.o));
    begin(&j);
    j.g.load = NULL;
    for (int k = HARK_CUT_BUILTIN; k <= HARK_CUT_METIS; k++) {
        uint32_t part[256];
        uint64_t cut = 0, bytes = 0;
        if (!hark_cut_has((enum hark_cut_backend)k)) continue;
        assert_int_equal(hark_graph_cut(&j.g, TEAMS, 0.05, 1, (enum hark_cut_backend)k, part), 0);
        for (uint32_t i = 0; i < 256; i++)
            for (uint64_t e = j.g.first[i]; e < j.g.first[i + 1]; e++) {
                bytes += j.g.weight[e];
                if (part[i] != part[j.g.column[e]]) cut += j.g.weight[e];
            }
        assert_true(cut * 100 <= bytes * 21);
    }
    end(&j);
}

/* "The GreedyLB algorithm ... has the least load imbalance but increases the message log size. The
 * TeamLB algorithm changes the execution time little compared to GreedyLB ... 2 % ... just 56.73 %
 * of GreedyLB's logs ... an edge cut ratio of 0.26." */
static void bt_mz(void **state)
{
    (void)state;
    struct job j;
    assert_true(objects_bt_mz(&j.o));
    begin(&j);
    column(&j, 0);
    struct hark_balance_figures none = balanced(&j, HARK_BALANCE_NONE),
                                greedy = balanced(&j, HARK_BALANCE_GREEDY);
    assert_true(none.most > 2 * greedy.most); /* "a speedup of 2.12" */
    for (int k = HARK_CUT_BUILTIN; k <= HARK_CUT_METIS_RECURSIVE; k++)
        for (int s = HARK_BALANCE_TEAM; s <= HARK_BALANCE_TEAM_PLUS; s++) {
            if (!hark_cut_has((enum hark_cut_backend)k)) continue;
            j.b.backend = (enum hark_cut_backend)k;
            struct hark_balance_figures f = balanced(&j, (enum hark_balance_strategy)s);
            assert_true(f.most * 100 <= greedy.most * 103);
            assert_true(f.logged * 100 <= f.bytes * 30);
            assert_true(f.logged * 100 <= greedy.logged * 57);
        }
    end(&j);
}

/* The two steps as they are printed, and nothing else: one cut; in each team the heaviest object to
 * the least loaded PE. */
static uint64_t as_printed(const struct job *j, enum hark_cut_backend backend, uint64_t *logged)
{
    uint32_t part[256];
    uint64_t sum[PES] = {0}, most = 0;
    bool placed[256] = {false};
    assert_int_equal(hark_graph_cut(&j->g, TEAMS, 0.01, 1, backend, part), 0);
    for (int k = 0; k < 256; k++) {
        uint32_t heavy = UINT32_MAX, pe;
        for (uint32_t i = 0; i < 256; i++)
            if (!placed[i] && (heavy == UINT32_MAX || j->load[i] > j->load[heavy])) heavy = i;
        pe = part[heavy] * (PES / TEAMS);
        for (uint32_t p = pe; p < (part[heavy] + 1) * (PES / TEAMS); p++)
            if (sum[p] < sum[pe]) pe = p;
        placed[heavy] = true;
        sum[pe] += j->load[heavy];
        if (sum[pe] > most) most = sum[pe];
    }
    *logged = 0;
    for (uint32_t i = 0; i < 256; i++)
        for (uint64_t e = j->g.first[i]; e < j->g.first[i + 1]; e++)
            if (j->g.column[e] > i && part[i] != part[j->g.column[e]]) *logged += j->g.weight[e];
    return most;
}

/* "Load imbalance I is brought down to 0.32"; cut, and logs, as above. It is further from greedy
 * than the 2 % there. */
static void bt_mz_as_printed(void **state)
{
    (void)state;
    struct job j;
    assert_true(objects_bt_mz(&j.o));
    begin(&j);
    column(&j, 0);
    struct hark_balance_figures greedy = balanced(&j, HARK_BALANCE_GREEDY);
    for (int k = HARK_CUT_BUILTIN; k <= HARK_CUT_METIS; k++) {
        uint64_t logged;
        if (!hark_cut_has((enum hark_cut_backend)k)) continue;
        uint64_t most = as_printed(&j, (enum hark_cut_backend)k, &logged);
        assert_true(most * PES * 100 <= greedy.load * 132);
        assert_true(logged * 100 <= greedy.bytes * 26);
        assert_true(logged * 100 <= greedy.logged * 57);
    }
    end(&j);
}

/* "When no load balancing is performed, the imbalance and iteration times increase steadily. The
 * team-based load balancer eliminates this imbalance, resulting in drops in iteration times every
 * 10,000 iterations ... a factor of 1.23 speedup." What is within 2 % of the mean has nothing to
 * drop by. */
static void lbtest(void **state)
{
    (void)state;
    static const enum hark_balance_strategy strategies[] = {
        HARK_BALANCE_TEAM, HARK_BALANCE_TEAM_PLUS};
    struct job j;
    static uint32_t blocks[LB_OBJECTS], pe[LB_OBJECTS];
    assert_true(objects_lbtest(&j.o));
    begin(&j);
    hark_balance_blocks(LB_OBJECTS, PES, blocks);
    for (int s = 0; s < 2; s++) {
        struct hark_balance_figures f = {0}, still;
        uint64_t time = 0, never = 0, before = 0, last = 0;
        j.b.strategy = strategies[s];
        memcpy(pe, blocks, sizeof pe);
        for (uint32_t c = 0; c < LB_COLUMNS; c++) {
            bool now = c && c % 10 == 0;
            before = f.most;                                          /* of the column before */
            if (now) assert_int_equal(hark_balance(&j.b, pe, pe), 0); /* by its loads */
            column(&j, c);
            assert_int_equal(hark_balance_measure(&j.b, NULL, pe, &f), 0);
            assert_int_equal(hark_balance_measure(&j.b, NULL, blocks, &still), 0);
            assert_true(still.most > last);
            if (now && before * PES * 100 > f.load * 102) assert_true(f.most < before);
            if (now)
                assert_true(f.most * PES * 100 <= f.load * 103); /* all but eliminated, each time */
            last = still.most;
            time += f.most;
            never += still.most;
        }
        assert_true(never * 100 >= time * 120);
    }
    end(&j);
}

/* Table II: "correlation of load and message size in a clustered application hurt the performance
 * of TeamLB. Although the execution time was marginally affected": 118.90 to 115.09. */
static void table_ii(void **state)
{
    (void)state;
    uint64_t most[2];
    for (int correlated = 0; correlated < 2; correlated++) {
        struct job j;
        assert_true(objects_cg(&j.o, correlated));
        begin(&j);
        column(&j, 0);
        struct hark_balance_figures greedy = balanced(&j, HARK_BALANCE_GREEDY),
                                    f = balanced(&j, HARK_BALANCE_TEAM);
        assert_true(f.logged < greedy.logged);
        assert_true(f.logged * 100 <= f.bytes * (correlated ? 53 : 47));
        most[correlated] = f.most;
        end(&j);
    }
    assert_true(most[1] * 100 <= most[0] * 110 && most[0] * 100 <= most[1] * 110);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(zones_are_those_of_class_c),
        cmocka_unit_test(without_loads_little_is_cut), cmocka_unit_test(bt_mz),
        cmocka_unit_test(bt_mz_as_printed), cmocka_unit_test(lbtest), cmocka_unit_test(table_ii)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
