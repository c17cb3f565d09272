/* hosts.c: which host and which program a process is of, before and after hosts die.
 *
 * hosts SIZE wait: the same again when a line has come on standard input
 * hosts SIZE loop: takes checkpoints without end; from one, the same again */
#include <hark/app.h>
#include <string.h>

#include "check.h"

struct about {
    char host[MPI_MAX_PROCESSOR_NAME];
    int program, together, lowest; /* processes on its host, and the lowest rank of them */
};

static struct about about_this(void)
{
    struct about a = {0};
    char in_info[MPI_MAX_PROCESSOR_NAME] = "";
    int length, found = 0, *program;
    MPI_Comm shared;
    MPI_Get_processor_name(a.host, &length);
    CHECK(length == (int)strlen(a.host), "%d", length);
    MPI_Info_get(MPI_INFO_ENV, "host", (int)sizeof in_info - 1, in_info, &found);
    CHECK(found && strcmp(in_info, a.host) == 0, "%s, not %s", in_info, a.host);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &program, &found);
    a.program = found ? *program : -1;
    /* The last process asks for another kind: nobody waits for it, nor it for them. */
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
        MPI_INFO_NULL, &shared);
    CHECK((shared == MPI_COMM_NULL) == (rank == size - 1), "%s", a.host);
    if (shared != MPI_COMM_NULL) {
        MPI_Comm_size(shared, &a.together);
        MPI_Allreduce(&rank, &a.lowest, 1, MPI_INT, MPI_MIN, shared);
        MPI_Comm_free(&shared);
    }
    return a;
}

static void describe(const char *when)
{
    struct about a = about_this(), *all = malloc((size_t)size * sizeof *all);
    MPI_Gather(&a, sizeof a, MPI_BYTE, all, sizeof a, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == 0; i++)
        printf("%s: rank %d, program %d, host %s: %d from %d\n", when, i, all[i].program,
            all[i].host, all[i].together, all[i].lowest);
    fflush(stdout);
    free(all);
}

int main(int argc, char **argv)
{
    static int step, all;
    uint64_t from;
    begin(argc, argv);
    describe("first");
    hark_protect(1, &step, sizeof step);
    CHECK(hark_restarted(&from) == HARK_A_OK, "");
    if (strcmp(argv[2], "wait") == 0) {
        char line[16];
        if (rank == 0) CHECK(fgets(line, sizeof line, stdin), "no line");
        MPI_Barrier(MPI_COMM_WORLD);
        describe("then");
    } else {
        while (from == 0) {
            step++;
            MPI_Allreduce(&step, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            hark_checkpoint();
        }
        describe("then");
    }
    MPI_Finalize();
    return 0;
}
