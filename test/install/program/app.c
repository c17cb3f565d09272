/* A program under `hark run` that uses names of its own. */
#include <hark/app.h>
#include <stdio.h>

int app = 3, driver_fail = 4, balance_team, cluster_cut;

int main(void)
{
    int32_t mine, sum = 0;
    if (hark_init() < 0) return 1;
    mine = app + driver_fail + hark_rank();
    if (hark_allreduce(&mine, &sum, 1, HARK_INT32, HARK_SUM) < 0) return 1;
    if (hark_rank() == 0) printf("%d processes, %d\n", hark_size(), (int)sum);
    return hark_finalize() < 0;
}
