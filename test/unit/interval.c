/* Daly's formula, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/process/interval.h"

static void near(double got, double expected, double error)
{
    if (got < expected - error || got > expected + error)
        fail_msg("expected %.9f, found %.9f", expected, got);
}

static void daly_2006(void **state)
{
    (void)state;
    /* M = 100, d = 2: d/2M = 0.01, so 20 (1 + 0.1/3 + 0.01/9) - 2 = 20 + 2/3 + 1/45 - 2 */
    near(hark_daly(2, 100), 18 + 2 / 3.0 + 1 / 45.0, 1e-9);
    /* d = 8: d/2M = 0.04, 40 (1 + 0.2/3 + 0.04/9) - 8 = 40 + 8/3 + 8/45 - 8 */
    near(hark_daly(8, 100), 32 + 8 / 3.0 + 8 / 45.0, 1e-9);
    /* d = M/2: d/2M = 1/4, M (1 + 1/6 + 1/36) - M/2 = 25/36 M */
    near(hark_daly(18, 36), 25, 1e-9);
    /* A tenth of a second and an hour, in ms: d/2M = 1/72000, 26832.81573 (1 + 0.00372678/3 +
     * 0.00001389/9) - 100 */
    near(hark_daly(100, 3600000), 26766.1905, 1e-3);
    /* Just below 2M the formula: 2M (1 + 1/3 + 1/9) - 2M = 8/9 M; from there on M */
    near(hark_daly(199.9999999, 100), 800 / 9.0, 1e-5);
    near(hark_daly(200, 100), 100, 0);
    near(hark_daly(5000, 100), 100, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(daly_2006)};
    return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
