/* veloc.c: a program that was prepared for VELOC: a region that grows, one that comes and goes, one
 * that no checkpoint has, and either memory or a file, as its second argument says. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "hark-veloc/veloc.h"

enum { ROUNDS = 80, MOST = 4000 };
enum { ROUND, VALUES, COUNT, SOMETIMES, SCRATCH };

static int round_now, count = 10, sometimes;
static uint64_t *values;
static MPI_Comm ring;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 31;
}

static void protect(int n)
{
    values = realloc(values, (size_t)n * sizeof *values);
    CHECK(values != NULL, "%d", n);
    while (count < n) values[count++] = 0;
    CHECK(VELOC_Mem_protect(VALUES, values, (size_t)n, sizeof *values) == VELOC_SUCCESS, "%d", n);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* VALUES has the size of its time; SOMETIMES is there in every other checkpoint. */
static void restore(int version)
{
    const bool even = version % 2 == 0;
    int first[] = {COUNT, ROUND}, rest[] = {COUNT, ROUND, SCRATCH};
    CHECK(VELOC_Restart_begin("state", version) == VELOC_SUCCESS, "%d", version);
    CHECK(VELOC_Recover_selective(VELOC_RECOVER_SOME, first, 2) == VELOC_SUCCESS, "%d", version);
    CHECK(VELOC_Recover_size(VALUES) == count * (int)sizeof *values, "%d", count);
    CHECK(VELOC_Recover_size(99) == VELOC_FAILURE && VELOC_Recover_size(SCRATCH) < 0, "none");
    CHECK((VELOC_Recover_size(SOMETIMES) > 0) == even, "%d", version);
    protect(count + 5); /* larger is allowed */
    count -= 5;
    protect(count);
    VELOC_Mem_protect(SOMETIMES, &sometimes, 1, sizeof sometimes);
    CHECK(VELOC_Recover_selective(VELOC_RECOVER_REST, rest, 3) == VELOC_SUCCESS, "%d", version);
    CHECK(VELOC_Restart_end(1) == VELOC_SUCCESS, "%d", version);
    CHECK(!even || sometimes == version, "%d at %d", sometimes, version);
}

static void save(int version)
{
    int scratch[] = {SCRATCH};
    CHECK(VELOC_Checkpoint_wait() == VELOC_SUCCESS, "%d", version);
    sometimes = version;
    if (version % 2 == 0) VELOC_Mem_protect(SOMETIMES, &sometimes, 1, sizeof sometimes);
    else VELOC_Mem_unprotect(SOMETIMES);
    CHECK(VELOC_Checkpoint_begin("state", version) == VELOC_SUCCESS, "%d", version);
    CHECK(VELOC_Checkpoint_selective(VELOC_CKPT_REST, scratch, 1) == VELOC_SUCCESS, "%d", version);
    CHECK(VELOC_Checkpoint_end(1) == VELOC_SUCCESS, "%d", version);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static FILE *routed(const char *mode)
{
    char path[VELOC_MAX_NAME];
    CHECK(VELOC_Route_file("state.dat", path) == VELOC_SUCCESS, "%s", mode);
    FILE *f = fopen(path, mode);
    CHECK(f != NULL, "%s", path);
    return f;
}

static void restore_file(int version)
{
    CHECK(VELOC_Restart_begin("state", version) == VELOC_SUCCESS, "%d", version);
    FILE *f = routed("rb");
    int n;
    CHECK(fread(&round_now, sizeof round_now, 1, f) == 1, "%d", version);
    CHECK(fread(&n, sizeof n, 1, f) == 1, "%d", version);
    protect(n);
    CHECK(fread(values, sizeof *values, (size_t)n, f) == (size_t)n, "%d", version);
    CHECK(fgetc(f) == EOF, "%d", version);
    fclose(f);
    CHECK(VELOC_Restart_end(1) == VELOC_SUCCESS, "%d", version);
}

static void save_file(int version)
{
    CHECK(VELOC_Checkpoint_begin("state", version) == VELOC_SUCCESS, "%d", version);
    FILE *f = routed("wb");
    fwrite(&round_now, sizeof round_now, 1, f);
    fwrite(&count, sizeof count, 1, f);
    fwrite(values, sizeof *values, (size_t)count, f);
    fclose(f);
    CHECK(VELOC_Checkpoint_end(1) == VELOC_SUCCESS, "%d", version);
}

/* ---- the work -------------------------------------------------------------------------------- */

static void step(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (round_now % 3 == 0 && count < MOST) protect(count + 7 * (rank + 1));
    uint64_t out = values[round_now % count], in;
    MPI_Sendrecv(
        &out, 1, MPI_UINT64_T, right, 1, &in, 1, MPI_UINT64_T, left, 1, ring, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) values[i] = mix(values[i] + in + (uint64_t)i);
}

int main(int argc, char *argv[])
{
    uint64_t sum = 0, all;
    static uint64_t scratch[100];
    begin(argc, argv);
    const bool file = argc > 2 && strcmp(argv[2], "file") == 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    CHECK(VELOC_Init(MPI_COMM_WORLD, "no.cfg") == VELOC_SUCCESS, "%d", argc);
    values = calloc((size_t)count, sizeof *values);
    values[0] = (uint64_t)rank;
    protect(count);
    VELOC_Mem_protect(ROUND, &round_now, 1, sizeof round_now);
    VELOC_Mem_protect(COUNT, &count, 1, sizeof count);
    VELOC_Mem_protect(SCRATCH, scratch, 100, sizeof scratch[0]);
    CHECK(VELOC_Restart_test("another", 0) == VELOC_FAILURE, "%d", argc);
    int version = VELOC_Restart_test("state", 0);
    if (version > 0) {
        CHECK(VELOC_Restart_test("state", version) == VELOC_FAILURE, "%d", version);
        CHECK(VELOC_Restart_test("state", version + 1) == version, "%d", version);
        (file ? restore_file : restore)(version);
        CHECK(round_now == version, "%d at %d", round_now, version);
        fprintf(stderr, "hark: rank %d begins at version %d\n", rank, version);
    }
    while (round_now < ROUNDS) {
        (file ? save_file : save)(round_now);
        step();
        round_now++;
    }
    for (int i = 0; i < count; i++) sum += values[i];
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%016llx\n", (unsigned long long)all);
    CHECK(VELOC_Finalize(1) == VELOC_SUCCESS, "%d", argc);
    free(values);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
