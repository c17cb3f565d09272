/* Objects onto processing elements while each allocation in turn fails: said, and the map is as it
 * was. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/cluster/loads.h"
#include "hark/balance.h"
#include "wrap.h"

enum { OBJECTS = 24, TRIES = 20000 };

/* A ring, and loads that take some exchanges. */
struct ring {
    uint64_t first[OBJECTS + 1], weight[2 * OBJECTS], load[OBJECTS];
    uint32_t column[2 * OBJECTS];
};

static struct hark_graph ring(struct ring *r)
{
    for (uint32_t i = 0; i < OBJECTS; i++) {
        uint32_t a = (i + 1) % OBJECTS, b = (i + OBJECTS - 1) % OBJECTS;
        r->first[i] = 2 * i;
        r->column[2 * i] = a < b ? a : b;
        r->column[2 * i + 1] = a < b ? b : a;
        r->weight[2 * i] = r->weight[2 * i + 1] = 5;
        r->load[i] = 1 + i * i % 17;
    }
    r->first[OBJECTS] = 2 * OBJECTS;
    return (struct hark_graph){OBJECTS, r->first, r->column, r->weight, r->load};
}

static void balance_without_memory(void **state)
{
    (void)state;
    for (int s = HARK_BALANCE_NONE; s <= HARK_BALANCE_TEAM_PLUS; s++) {
        struct ring r;
        struct hark_graph g = ring(&r);
        struct hark_balance b = {.graph = &g,
            .pes = 8,
            .teams = 4,
            .strategy = (enum hark_balance_strategy)s,
            .slack = 10};
        uint32_t pe[OBJECTS], before[OBJECTS];
        unsigned n = 0;
        int status;
        memset(pe, 0xab, sizeof pe);
        memcpy(before, pe, sizeof pe);
        do {
            fault_arm(FAULT_MEMORY, FAULT_FAIL, ++n, ENOMEM);
            status = hark_balance(&b, NULL, pe);
            fault_disarm();
            if (status == 0) break;
            assert_int_equal(status, -ENOMEM);
            assert_memory_equal(pe, before, sizeof pe);
        } while (n < TRIES);
        assert_int_equal(status, 0);
        assert_in_range(n, 12, TRIES - 1); /* eleven of them are of all strategies */
    }
}

static void measure_without_memory(void **state)
{
    (void)state;
    struct ring r;
    struct hark_graph g = ring(&r);
    const struct hark_balance b = {.graph = &g, .pes = 8, .teams = 4};
    struct hark_balance_figures f;
    uint32_t pe[OBJECTS];
    hark_balance_blocks(OBJECTS, 8, pe);
    for (unsigned n = 1; n <= 3; n++) {
        fault_arm(FAULT_MEMORY, FAULT_FAIL, n, ENOMEM);
        int status = hark_balance_measure(&b, NULL, pe, &f);
        fault_disarm();
        assert_int_equal(status, n < 3 ? -ENOMEM : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_without_memory), cmocka_unit_test(measure_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
