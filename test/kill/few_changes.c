/* few_changes.c: a program of which little changes from one checkpoint to the next: of a table of
 * 4 MiB a few rows a round. Prints one digest of all of it.
 *
 *     few_changes ROUNDS [FILE]
 *
 * FILE: rank 0 makes it after half of the rounds, and all go round, without a change, until FILE.go
 * is there; so a test can look at the store, and kill all, in between. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

enum { ROWS = 64, ROW = 8192 }; /* a row is a block of the store: 64 KiB */

static int64_t table[ROWS][ROW], done, stands;

static void check(int status)
{
    if (status >= 0) return;
    fprintf(stderr, "rank %d: %s\n", hark_rank(), hark_app_error(status));
    exit(1);
}

static int64_t sum_of(int64_t mine)
{
    int64_t all = 0;
    check(hark_allreduce(&mine, &all, 1, HARK_INT64, HARK_SUM));
    return all;
}

static void stand(const char *file)
{
    char go[4200];
    stands = 1; /* who begins again from a checkpoint here, begins here */
    snprintf(go, sizeof go, "%.4090s.go", file);
    FILE *f = hark_rank() == 0 ? fopen(file, "w") : NULL;
    if (f) fclose(f);
    while (sum_of(hark_rank() == 0 && access(go, F_OK) < 0)) check(hark_checkpoint());
    stands = 0;
}

int main(int count, char **arg)
{
    hark_init();
    const int64_t rounds = count > 1 ? atoll(arg[1]) : 100, me = hark_rank();
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < ROW; k++) /* there is little to compress */
            table[i][k] = (int64_t)((uint64_t)((me + 1) * (i + 1) * k) * 0x9e3779b97f4a7c1u);
    hark_protect(1, table, sizeof table);
    hark_protect(2, &done, sizeof done);
    hark_protect(3, &stands, sizeof stands);
    uint64_t again;
    check(hark_restarted(&again));
    if (stands) stand(arg[2]);
    while (done < rounds) {
        const int64_t all = sum_of(table[done % ROWS][done % ROW] & 0xffff);
        int64_t *const one = &table[(done + me) % ROWS][done % ROW];
        *one = (int64_t)((uint64_t)*one + (uint64_t)all);
        table[(done + me) % 3][1] ^= all;
        done++;
        check(hark_checkpoint());
        if (count > 2 && done == rounds / 2) stand(arg[2]);
    }
    uint64_t digest = 0;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < ROW; k++) digest = digest * 31 + (uint64_t)table[i][k];
    digest = (uint64_t)sum_of((int64_t)(digest & 0xffffffffffff));
    if (me == 0) printf("digest %016llx\n", (unsigned long long)digest);
    return hark_finalize();
}
