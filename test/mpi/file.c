/* file.c: files under all protocols, with processes that die. What is read is what the program has
 * written, in views of every kind, and so are the bytes of the files at the end. Some of it can not
 * be done twice: files are deleted, created only if they are not there, cut, and overwritten by
 * other processes than those that had written before. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static const char *const path = "test.data", *const other = "test.other";
static uint64_t digest;

static void mix(uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        int code_ = call;                                                                          \
        CHECK(code_ == MPI_SUCCESS, "code %d", code_);                                             \
    } while (0)

static MPI_File open_it(const char *name, int mode)
{
    MPI_File f;
    OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f));
    return f;
}

static void expect_count(const MPI_Status *status, MPI_Datatype type, int expected)
{
    int count;
    MPI_Get_count(status, type, &count);
    CHECK(count == expected, "%d, not %d", count, expected);
}

/* What belongs at place i of the file in some round. */
static int word(int round, int i)
{
    return round * 1000003 + i * 7 + 1;
}

/* ---- one file, overwritten again and again ----------------------------------------------------
 */

enum { WORDS = 3000 };

/* Each process writes the part of another one than the round before, and reads that of the next:
 * what it has read is gone a round later. */
static void overwrite(int round)
{
    static int out[WORDS], in[WORDS];
    MPI_Status status;
    int part = (rank + round) % size, next = (part + 1) % size;
    MPI_File f = open_it(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int i = 0; i < WORDS; i++) out[i] = word(round, part * WORDS + i);
    OK(MPI_File_write_at_all(
        f, part * WORDS * (MPI_Offset)sizeof(int), out, WORDS, MPI_INT, &status));
    expect_count(&status, MPI_INT, WORDS);
    OK(MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at(f, next * WORDS * (MPI_Offset)sizeof(int), in, WORDS, MPI_INT, &status));
    for (int i = 0; i < WORDS; i++)
        CHECK(in[i] == word(round, next * WORDS + i), "round %d, %d: %d", round, i, in[i]);
    mix((uint64_t)in[round]);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_close(&f));
    CHECK(f == MPI_FILE_NULL, "%d", round);
}

/* ---- files that come and go -------------------------------------------------------------------
 */

static void come_and_go(int round)
{
    MPI_File f;
    MPI_Offset bytes;
    int value = round + 1;
    if (rank == 0 && round == 0) (void)MPI_File_delete(other, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    f = open_it(other, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
    OK(MPI_File_write_at(
        f, rank * (MPI_Offset)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_size(f, size * (MPI_Offset)sizeof value + 10));
    OK(MPI_File_get_size(f, &bytes));
    CHECK(bytes == size * (MPI_Offset)sizeof value + 10, "%lld", (long long)bytes);
    OK(MPI_File_close(&f));
    int code = MPI_File_open(MPI_COMM_WORLD, other,
        MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &f);
    CHECK(code == MPI_ERR_FILE_EXISTS, "%d", code);
    f = open_it(other, MPI_MODE_RDONLY | (round % 2 ? MPI_MODE_DELETE_ON_CLOSE : 0));
    int got = 0, left = (rank + 1) % size;
    OK(MPI_File_read_at(f, left * (MPI_Offset)sizeof got, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(got == value, "%d", got);
    OK(MPI_File_close(&f));
    if (round % 2 == 0 && rank == size - 1) OK(MPI_File_delete(other, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    code = MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    CHECK(code == MPI_ERR_NO_SUCH_FILE && f == MPI_FILE_NULL, "%d", code);
}

/* ---- views ------------------------------------------------------------------------------------
 */

/* A process sees each size-th block of two words; in memory its words have gaps. */
static void stripes(void)
{
    enum { BLOCKS = 50 };
    MPI_Datatype blocks, gaps;
    MPI_File f = open_it(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    int memory[4 * BLOCKS], again[2 * BLOCKS];
    MPI_Status status;
    MPI_Offset place;
    MPI_Type_vector(BLOCKS, 2, 2 * size, MPI_INT, &blocks);
    MPI_Type_vector(2 * BLOCKS, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&blocks);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < 4 * BLOCKS; i++) memory[i] = i % 2 ? -1 : word(rank, i / 2);
    OK(MPI_File_set_view(
        f, 8 + rank * 2 * (MPI_Offset)sizeof(int), MPI_INT, blocks, "native", MPI_INFO_NULL));
    MPI_Type_free(&blocks);
    OK(MPI_File_write_all(f, memory, 1, gaps, &status));
    expect_count(&status, MPI_INT, 2 * BLOCKS);
    OK(MPI_File_get_position(f, &place));
    CHECK(place == 2 * BLOCKS, "%lld", (long long)place);
    OK(MPI_File_get_byte_offset(f, 3, &place));
    CHECK(
        place == 8 + (rank * 2 + 2 * size + 1) * (MPI_Offset)sizeof(int), "%lld", (long long)place);
    OK(MPI_File_seek(f, 5, MPI_SEEK_SET));
    OK(MPI_File_read(f, again, 11, MPI_INT, &status));
    for (int i = 0; i < 11; i++) CHECK(again[i] == word(rank, 5 + i), "%d: %d", i, again[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_view(f, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int r = 0; r < size; r++) {
        OK(MPI_File_read_at(f, (17 * size + r) * 2, again, 2, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(again[0] == word(r, 34) && again[1] == word(r, 35), "%d: %d", r, again[0]);
    }
    MPI_Type_free(&gaps);
    OK(MPI_File_close(&f));
}

/* The cells of a cube, some planes for each process, as BT of the NAS benchmarks writes them: five
 * numbers a cell, behind what earlier steps wrote. In memory the cube has ghost cells. */
enum { SIDE = 6, STEPS = 3 };

static double cell(int step, int x, int y, int z, int m)
{
    return step * 1e6 + ((x * 100 + y) * 100 + z) * 10 + m;
}

static MPI_Datatype cube(const int whole[3], const int part[3], const int from[3])
{
    MPI_Datatype number, t;
    MPI_Type_contiguous(5, MPI_DOUBLE, &number);
    MPI_Type_create_subarray(3, whole, part, from, MPI_ORDER_C, number, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&number);
    return t;
}

static void cubes(void)
{
    static double u[SIDE + 2][SIDE + 2][SIDE + 2][5], back[SIDE + 2][SIDE + 2][SIDE + 2][5];
    const int whole[] = {SIDE, SIDE, SIDE * size}, part[] = {SIDE, SIDE, SIDE};
    const int from[] = {0, 0, SIDE * rank}, ghosts[] = {SIDE + 2, SIDE + 2, SIDE + 2};
    const int inside[] = {1, 1, 1};
    MPI_Datatype file_type = cube(whole, part, from), memory_type = cube(ghosts, part, inside);
    MPI_File f = open_it(path, MPI_MODE_WRONLY | MPI_MODE_CREATE);
    OK(MPI_File_set_view(f, 0, MPI_DOUBLE, file_type, "native", MPI_INFO_NULL));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < SIDE * SIDE * SIDE; i++)
            for (int m = 0, x = i / SIDE / SIDE, y = i / SIDE % SIDE, z = i % SIDE; m < 5; m++)
                u[x + 1][y + 1][z + 1][m] = cell(step, x, y, z + SIDE * rank, m);
        OK(MPI_File_write_at_all(
            f, step * SIDE * SIDE * SIDE * 5, u, 1, memory_type, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_File_close(&f));
    f = open_it(path, MPI_MODE_RDONLY);
    OK(MPI_File_set_view(f, 0, MPI_DOUBLE, file_type, "native", MPI_INFO_NULL));
    for (int step = 0; step < STEPS; step++) {
        MPI_Status status;
        OK(MPI_File_read_all(f, back, 1, memory_type, &status));
        expect_count(&status, MPI_DOUBLE, SIDE * SIDE * SIDE * 5);
        for (int i = 0; i < SIDE * SIDE * SIDE; i++)
            for (int m = 0, x = i / SIDE / SIDE, y = i / SIDE % SIDE, z = i % SIDE; m < 5; m++)
                CHECK(back[x + 1][y + 1][z + 1][m] == cell(step, x, y, z + SIDE * rank, m),
                    "step %d, cell %d", step, i);
    }
    OK(MPI_File_close(&f));
    MPI_Type_free(&file_type);
    MPI_Type_free(&memory_type);
}

/* ---- other forms of calls ---------------------------------------------------------------------
 */

static void forms(void)
{
    int out[4] = {rank, rank + 1, rank + 2, rank + 3}, in[4] = {0};
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_File f = open_it(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    OK(MPI_File_set_size(f, 0));
    OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_iwrite_at(f, rank * 4, out, 2, MPI_INT, &request[0]));
    OK(MPI_File_iwrite_at(f, rank * 4 + 2, out + 2, 2, MPI_INT, &request[1]));
    OK(MPI_Waitall(2, request, status));
    expect_count(&status[1], MPI_INT, 2);
    OK(MPI_File_read_at_all_begin(f, rank * 4, in, 4, MPI_INT));
    CHECK(MPI_File_read_all_begin(f, in, 4, MPI_INT) == MPI_ERR_OTHER, "two at once");
    OK(MPI_File_read_at_all_end(f, in, &status[0]));
    expect_count(&status[0], MPI_INT, 4);
    CHECK(memcmp(in, out, sizeof in) == 0, "%d", in[0]);
    /* Ordered: each process writes rank + 1 words; the second time behind those of the first. */
    OK(MPI_File_seek_shared(f, 4 * size, MPI_SEEK_SET));
    int many[64], before = rank * (rank + 1) / 2, all = size * (size + 1) / 2;
    for (int i = 0; i < 64; i++) many[i] = word(rank, i);
    OK(MPI_File_write_ordered(f, many, rank + 1, MPI_INT, &status[0]));
    OK(MPI_File_write_ordered_begin(f, many, rank + 1, MPI_INT));
    OK(MPI_File_write_ordered_end(f, many, &status[0]));
    expect_count(&status[0], MPI_INT, rank + 1);
    MPI_Offset place;
    OK(MPI_File_get_position_shared(f, &place));
    CHECK(place == 4 * size + 2 * all, "%lld", (long long)place);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at(f, 4 * size + all + before, in, 1, MPI_INT, &status[0]));
    CHECK(in[0] == word(rank, 0), "%d", in[0]);
    /* At the end there is less than asked for. */
    OK(MPI_File_seek(f, -1, MPI_SEEK_END));
    OK(MPI_File_read(f, in, 4, MPI_INT, &status[0]));
    expect_count(&status[0], MPI_INT, 1);
    OK(MPI_File_read(f, in, 4, MPI_INT, &status[0]));
    expect_count(&status[0], MPI_INT, 0);
    OK(MPI_File_close(&f));
}

/* Several processes add to one number of the file, at once and in atomic mode: none sees a half.
 */
static void atomic(void)
{
    char block[512], seen[512];
    int flag = 0;
    MPI_File f = open_it(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    OK(MPI_File_set_atomicity(f, 1));
    OK(MPI_File_get_atomicity(f, &flag));
    CHECK(flag, "%d", flag);
    memset(block, 'a' + rank % 20, sizeof block);
    OK(MPI_File_write_at(f, 0, block, sizeof block, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f, 0, seen, sizeof seen, MPI_CHAR, MPI_STATUS_IGNORE));
    for (size_t i = 1; i < sizeof seen; i++) CHECK(seen[i] == seen[0], "%c %c", seen[i], seen[0]);
    OK(MPI_File_close(&f));
}

/* The same of more than is packed at once, from memory with gaps: each process writes all of it. */
static void atomic_with_gaps(int round)
{
    enum { BYTES = 3 << 20 };
    const char *const name = "test.atomic";
    char *memory = malloc(2 * (size_t)BYTES), *seen = malloc(BYTES);
    MPI_Datatype gaps;
    MPI_Type_vector(BYTES, 1, 2, MPI_CHAR, &gaps);
    MPI_Type_commit(&gaps);
    MPI_File f = open_it(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    OK(MPI_File_set_atomicity(f, 1));
    memset(memory, 'a' + (rank + round) % 20, 2 * (size_t)BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_at(f, 0, memory, 1, gaps, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f, 0, seen, BYTES, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int i = 1; i < BYTES; i++)
        CHECK(seen[i] == seen[0], "byte %d: %c %c", i, seen[i], seen[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_close(&f));
    MPI_Type_free(&gaps);
    free(memory);
    free(seen);
}

static void external(void)
{
    double out[3] = {1.5, -rank, 1e100}, in[3] = {0};
    unsigned char bytes[8];
    MPI_Aint extent;
    MPI_File f = open_it(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    OK(MPI_File_set_view(f, rank * 24, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(f, MPI_LONG, &extent));
    CHECK(extent == 4, "%ld", (long)extent);
    OK(MPI_File_write(f, out, 3, MPI_DOUBLE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f, 1, in, 2, MPI_DOUBLE, MPI_STATUS_IGNORE));
    CHECK(in[0] == out[1] && in[1] == out[2], "%g", in[0]);
    OK(MPI_File_set_view(f, rank * 24, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(f, 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(bytes[0] == 0x3f && bytes[1] == 0xf8 && bytes[7] == 0, "%02x", bytes[0]);
    OK(MPI_File_close(&f));
}

static void wrong(void)
{
    MPI_File f;
    int one = 1, class;
    int code =
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &f);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_AMODE, "%d", class);
    code = MPI_File_open(
        MPI_COMM_WORLD, path, rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    CHECK(size == 1 || code == MPI_ERR_NOT_SAME, "%d", code);
    if (size == 1) MPI_File_close(&f);
    f = open_it(path, MPI_MODE_RDONLY);
    CHECK(MPI_File_write(f, &one, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_ERR_READ_ONLY, "written");
    CHECK(MPI_File_seek(f, -1, MPI_SEEK_SET) == MPI_ERR_ARG, "sought");
    CHECK(MPI_File_set_size(f, 5) == MPI_ERR_READ_ONLY, "resized");
    CHECK(
        MPI_File_set_view(f, 0, MPI_INT, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_ERR_IO, "seen");
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL) ==
              MPI_ERR_UNSUPPORTED_DATAREP,
        "represented");
    OK(MPI_File_close(&f));
    CHECK(MPI_File_delete("no such file", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE, "deleted");
}

/* The bytes of the file, without MPI. */
static void read_all(void)
{
    static unsigned char bytes[1 << 20];
    int fd = open(path, O_RDONLY);
    ssize_t length = read(fd, bytes, sizeof bytes);
    CHECK(length > 0, "%ld", (long)length);
    for (ssize_t i = 0; i < length; i++) mix(bytes[i]);
    close(fd);
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    for (int round = 0; round < 12; round++) {
        overwrite(round);
        come_and_go(round);
        if (round == 4) stripes();
        if (round == 6) cubes();
        if (round == 8) forms();
        if (round == 9) external();
        if (round == 10) atomic();
        if (round >= 9) atomic_with_gaps(round);
    }
    wrong();
    uint64_t sum;
    MPI_Allreduce(&digest, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    digest = sum;
    if (rank == 0) {
        read_all();
        printf("%016llx\n", (unsigned long long)digest);
    }
    MPI_Finalize();
    return 0;
}
