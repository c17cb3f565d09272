/* A persistent collective call that is made after hark_restarted: no checkpoint has its arguments.
 * made_late SIZE early|late */
#include <hark/app.h>
#include <string.h>

#include "check.h"

enum { STEPS = 400 };

int main(int argc, char **argv)
{
    static int step, sum;
    static MPI_Request request;
    uint64_t restarted;
    begin(argc, argv);
    bool early = argc > 2 && strcmp(argv[2], "early") == 0;
    if (early)
        MPI_Allreduce_init(
            &step, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    hark_protect(1, &step, sizeof step);
    hark_protect(2, &sum, sizeof sum);
    hark_protect(3, &request, sizeof request);
    CHECK(hark_restarted(&restarted) == HARK_A_OK, "");
    if (restarted == 0 && !early)
        MPI_Allreduce_init(
            &step, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    while (step < STEPS) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == size * step, "step %d", step);
        step++;
        hark_checkpoint();
    }
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
