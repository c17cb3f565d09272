/* lines.c: a file of C's stdio in a program with checkpoints, as docs/mpi.md has it: a process that
 * goes back to a checkpoint goes on in it where it was. */
#include <stdint.h>

#include "check.h"
#include "hark/app.h"

enum { LINES = 60 };

static struct {
    int line;
    long at;
} state;

static void check_lines(const char *name)
{
    int number, sum, lines = 0;
    FILE *f = fopen(name, "r");
    CHECK(f, "%s", name);
    for (; fscanf(f, "%d %d", &number, &sum) == 2; lines++)
        CHECK(number == lines && sum == lines * size, "%d %d in line %d", number, sum, lines);
    CHECK(lines == LINES && feof(f), "%d lines", lines);
    fclose(f);
}

int main(int argc, char **argv)
{
    char name[32];
    uint64_t from;
    begin(argc, argv);
    snprintf(name, sizeof name, "lines.%d", rank);
    hark_protect(1, &state, sizeof state);
    CHECK(hark_restarted(&from) == HARK_A_OK, "");
    FILE *f = fopen(name, from ? "r+" : "w");
    CHECK(f && fseek(f, state.at, SEEK_SET) == 0, "%s", name);
    while (state.line < LINES) {
        int sum;
        MPI_Allreduce(&state.line, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        fprintf(f, "%d %d\n", state.line++, sum);
        state.at = ftell(f);
        hark_checkpoint();
    }
    fclose(f);
    check_lines(name);
    MPI_Finalize();
    return 0;
}
