/* ring.c: the smallest program: a token goes round, every process adds its rank, rank 0 prints a
 * line for each lap.
 *
 *     hark run -n 4 -- ./ring
 *     hark run -n 4 --kill 2@5 -- ./ring        the same lines, although rank 2 is lost after five
 *                                               laps
 *
 * It survives because its whole state (lap, token) is protected, and because a process that
 * restarts from a checkpoint goes on after the hark_checkpoint call in which the checkpoint was
 * taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/app.h"

enum { LAPS = 10, TAG = 1 };

static void check(int status)
{
    if (status >= 0) return;
    fprintf(stderr, "ring: %s\n", hark_app_error(status));
    exit(1);
}

int main(void)
{
    int64_t state[2] = {0, 0}; /* laps done, token */
    uint64_t from;
    check(hark_init());
    int rank = hark_rank(), next = (rank + 1) % hark_size(),
        previous = (rank + hark_size() - 1) % hark_size();
    check(hark_protect(1, state, sizeof state));
    check(hark_restarted(&from)); /* state is now as it was in checkpoint `from`, if that is not 0
                                   */
    while (state[0] < LAPS) {
        if (rank == 0) check(hark_send(&state[1], sizeof state[1], next, TAG));
        check(hark_recv(&state[1], sizeof state[1], previous, TAG, NULL));
        state[1] += rank;
        if (rank != 0) check(hark_send(&state[1], sizeof state[1], next, TAG));
        state[0]++;
        if (rank == 0) printf("lap %" PRId64 ": token %" PRId64 "\n", state[0], state[1]);
        check(hark_checkpoint());
    }
    check(hark_finalize());
    return 0;
}
