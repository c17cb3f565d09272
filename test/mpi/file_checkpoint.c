/* file_checkpoint.c: open files in checkpoints. One is opened before hark_restarted, with a view;
 * another one later, at its end, and closed again. Their file pointers go on where they were. */
#include <string.h>

#include "check.h"
#include "hark/app.h"

enum { ROUNDS = 60, LATE_FROM = 10, LATE_TO = 40 };

static struct {
    int round;
    MPI_File file, late; /* handles stay */
    MPI_Request read;    /* one that is complete, and nobody has waited for */
    int got;
    long long sum;
} state;

#define OK(call)                                                                                   \
    do {                                                                                           \
        int code_ = call;                                                                          \
        CHECK(code_ == MPI_SUCCESS, "round %d: code %d", state.round, code_);                      \
    } while (0)

static int word(int r, int round)
{
    return r * 1000 + round + 1;
}

/* Each process sees each size-th word. */
static void open_first(void)
{
    MPI_Datatype one, mine;
    (void)MPI_File_delete("test.first", MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, "test.first", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
        MPI_INFO_NULL, &state.file));
    MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, size * (MPI_Aint)sizeof(int), &mine);
    MPI_Type_commit(&mine);
    OK(MPI_File_set_view(
        state.file, rank * (MPI_Offset)sizeof(int), MPI_INT, mine, "native", MPI_INFO_NULL));
    MPI_Type_free(&one);
    MPI_Type_free(&mine);
}

static void late(void)
{
    int value = word(rank, state.round);
    char name[32];
    snprintf(name, sizeof name, "test.late.%d", rank);
    if (state.round == LATE_FROM)
        OK(MPI_File_open(MPI_COMM_SELF, name,
            MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
            &state.late));
    if (state.round < LATE_FROM || state.round > LATE_TO) return;
    MPI_Offset place;
    OK(MPI_File_get_position(state.late, &place));
    CHECK(place == (state.round - LATE_FROM) * (MPI_Offset)sizeof(int), "%lld", (long long)place);
    OK(MPI_File_write(state.late, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (state.round == LATE_TO) OK(MPI_File_close(&state.late));
}

static void step(void)
{
    int value = word(rank, state.round), in = 0, all;
    MPI_Status status;
    if (state.round) {
        OK(MPI_Wait(&state.read, &status));
        MPI_Get_count(&status, MPI_INT, &all);
        CHECK(all == 1 && state.got == word(rank, state.round - 1), "%d", state.got);
        state.sum += state.got;
    }
    OK(MPI_File_write_all(state.file, &value, 1, MPI_INT, &status));
    OK(MPI_File_read_at(state.file, state.round / 2, &in, 1, MPI_INT, &status));
    CHECK(in == word(rank, state.round / 2), "round %d: %d", state.round, in);
    OK(MPI_File_iread_at(state.file, state.round, &state.got, 1, MPI_INT, &state.read));
    late();
    MPI_Allreduce(&in, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    state.sum += all;
}

static void print_file(void)
{
    int words[ROUNDS * 64];
    MPI_Status status;
    OK(MPI_File_set_view(state.file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read(state.file, words, ROUNDS * 64, MPI_INT, &status));
    for (int i = 0; i < ROUNDS * size; i++) {
        int expected = word(i % size, i / size);
        CHECK(words[i] == expected, "%d: %d", i, words[i]);
    }
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    if (rank == 0) printf("%d words, %lld\n", count, state.sum);
}

int main(int argc, char *argv[])
{
    uint64_t from;
    begin(argc, argv);
    open_first();
    CHECK(hark_protect(1, &state, sizeof state) == HARK_A_OK, "%d", state.round);
    CHECK(hark_restarted(&from) == HARK_A_OK, "%d", state.round);
    while (state.round < ROUNDS) {
        step();
        state.round++;
        CHECK(hark_checkpoint() == HARK_A_OK, "%d", state.round);
    }
    OK(MPI_Wait(&state.read, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    print_file();
    MPI_File_close(&state.file);
    MPI_Finalize();
    return 0;
}
