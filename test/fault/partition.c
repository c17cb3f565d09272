/* A matrix is read, and clusters are found, while each allocation in turn fails: said, and nothing
 * is left behind (with sanitizers). */
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

#include "hark/cluster.h"
#include "wrap.h"

enum { RANKS = 120, TRIES = 200000 };

static char path[] = "/tmp/hark-fault-XXXXXX";

/* A ring with chords, in fractions: more ranks than the coarsest graph has. */
static void write_matrix(void)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(
        f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", RANKS, RANKS, 2 * RANKS);
    for (int v = 0; v < RANKS; v++) {
        fprintf(f, "%d %d 0.%d\n", v + 1, (v + 1) % RANKS + 1, 1 + v % 7);
        fprintf(f, "%d %d 0.%d\n", v + 1, (v * 7 + 11) % RANKS + 1, 1 + v % 3);
    }
    assert_int_equal(fclose(f), 0);
}

static void reading_without_memory(void **state)
{
    struct hark_matrix m;
    char error[HARK_MATRIX_ERROR];
    unsigned n = 0;
    int status;
    (void)state;
    write_matrix();
    do {
        fault_arm(FAULT_MEMORY, FAULT_FAIL, ++n, ENOMEM);
        status = hark_matrix_read(&m, path, 0, error);
        fault_disarm();
        if (status == 0) break;
        assert_non_null(strstr(error, "memory"));
        assert_null(m.first);
    } while (n < TRIES);
    assert_int_equal(status, 0);
    assert_in_range(n, 4, TRIES - 1);
    assert_int_equal(m.exponent, -1);
    hark_matrix_free(&m);
}

static void clusters_without_memory(void **state)
{
    struct hark_matrix m;
    char error[HARK_MATRIX_ERROR];
    (void)state;
    write_matrix();
    assert_int_equal(hark_matrix_read(&m, path, 0, error), 0);
    for (int ordered = 0; ordered < 2; ordered++) {
        struct hark_partition_options o;
        struct hark_partition p;
        unsigned n = 0, calls, fine = 0, failed = 0;
        hark_partition_defaults(&o);
        o.cost.ordered = ordered;
        do {
            n += 1 + n / 50; /* there are thousands: the first ones all */
            fault_arm(FAULT_MEMORY, FAULT_FAIL, n, ENOMEM);
            int status = hark_partition(&p, &m, &o, error);
            calls = fault_disarm();
            fine += status == 0; /* what could not be made smaller stays as large as it was */
            if (status == 0) hark_partition_free(&p);
            if (status == 0) continue;
            failed++;
            assert_int_equal(status, -ENOMEM);
            assert_string_equal(error, "no memory");
            assert_null(p.of);
        } while (calls >= n);
        assert_in_range(failed, 150, TRIES);
        assert_in_range(fine, 1, failed / 5);
    }
    hark_matrix_free(&m);
}

int main(void)
{
    int descriptor = mkstemp(path);
    if (descriptor < 0 || close(descriptor) != 0) return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_without_memory), cmocka_unit_test(clusters_without_memory)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return unlink(path) != 0 || failed;
}
