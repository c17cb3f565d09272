/* veloc_wrong.c: faults of programs that were prepared for VELOC. veloc_wrong PROCESSES FAULT */
#include <string.h>

#include "check.h"
#include "hark-veloc/veloc.h"

static const char *fault;
static int step, values[10];

static int is(const char *name)
{
    return strcmp(fault, name) == 0;
}

/* Those that need no restart: each call returns VELOC_FAILURE. */
static int without_restart(void)
{
    char path[VELOC_MAX_NAME];
    if (is("no-init")) return VELOC_Checkpoint("state", 1);
    CHECK(VELOC_Init(MPI_COMM_WORLD, NULL) == VELOC_SUCCESS, "%s", fault);
    if (is("nothing")) return VELOC_Checkpoint("state", 1);
    VELOC_Mem_protect(1, &step, 1, sizeof step);
    VELOC_Region_protect(2, values, 10, sizeof values[0], "another");
    if (is("null")) return VELOC_Mem_protect(1, NULL, 1, 1);
    if (is("file")) return VELOC_Route_file("a.dat", path);
    if (is("version")) return VELOC_Checkpoint("state", -1);
    if (is("name")) return VELOC_Checkpoint("", 1);
    if (is("begin")) return VELOC_Checkpoint_mem();
    if (is("nested")) return VELOC_Checkpoint_begin("state", 1), VELOC_Checkpoint("state", 2);
    if (is("mode"))
        return VELOC_Checkpoint_begin("state", 1), VELOC_Checkpoint_selective(7, NULL, 0);
    if (is("end")) return VELOC_Checkpoint_end(1);
    if (is("failed")) return VELOC_Checkpoint_begin("state", 1), VELOC_Checkpoint_end(0);
    if (is("restart")) return VELOC_Restart("state", 1);
    return VELOC_SUCCESS;
}

/* Of a process that starts again. */
static int restart(int version)
{
    char path[VELOC_MAX_NAME];
    int other;
    if (is("other-version")) return VELOC_Restart("state", version - 1);
    if (is("small"))
        return VELOC_Mem_protect(3, values, 9, sizeof values[0]), VELOC_Restart("state", version);
    if (is("unprotected")) return VELOC_Mem_unprotect(3), VELOC_Restart("state", version);
    if (is("no-file"))
        return VELOC_Restart_begin("state", version), VELOC_Route_file("a.dat", path);
    if (is("between"))
        MPI_Sendrecv(&step, 1, MPI_INT, rank, 1, &other, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
    return VELOC_SUCCESS; /* "ignored" */
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    fault = argv[2];
    if (without_restart() == VELOC_FAILURE) return 3;
    VELOC_Mem_protect(3, values, 10, sizeof values[0]);
    int version = VELOC_Restart_test("state", 0);
    if (version > 0 && restart(version) == VELOC_FAILURE) return 3;
    for (; step < 100;) {
        int other;
        MPI_Sendrecv(&step, 1, MPI_INT, (rank + 1) % size, 1, &other, 1, MPI_INT,
            (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        step++;
        CHECK(VELOC_Checkpoint("state", step) == VELOC_SUCCESS, "%d", step);
    }
    MPI_Finalize();
    return 0;
}
