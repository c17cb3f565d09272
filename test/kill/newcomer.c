/* newcomer.c: a program with one of the faults of first programs.
 *
 *   newcomer whole | no-protect | no-restarted | other-regions | half-protected | late-step |
 *   no-finalize | exec | close
 * late-step: the step is counted behind the checkpoint call, so that it is made again after a
 * restart. exec, close: rank 1 becomes another program, or closes what is not its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

static void leave(const char *fault)
{
    if (strcmp(fault, "exec") == 0) execlp("sleep", "sleep", "100", (char *)NULL);
    for (int i = 3; i < 1024 && strcmp(fault, "close") == 0; i++) close(i);
}

int main(int count, char **argument)
{
    const char *fault = count > 1 ? argument[1] : "whole";
    int64_t step = 0, sum = 0;
    uint64_t restarted = 0;
    hark_init();
    if (strcmp(fault, "no-protect") != 0) hark_protect(1, &step, sizeof step);
    if (strcmp(fault, "no-protect") != 0 && strcmp(fault, "half-protected") != 0)
        hark_protect(2, &sum, sizeof sum);
    if (strcmp(fault, "other-regions") == 0 && getenv("LATER"))
        hark_protect(3, &restarted, sizeof restarted);
    if (strcmp(fault, "no-protect") != 0 && strcmp(fault, "no-restarted") != 0)
        (void)hark_restarted(&restarted);
    while (step < 80) {
        if (step == 40 && hark_rank() == 1) leave(fault);
        bool late = strcmp(fault, "late-step") == 0;
        int64_t mine = sum / hark_size() + hark_rank() + step;
        hark_allreduce(&mine, &sum, 1, HARK_INT64, HARK_SUM);
        if (!late) step++;
        hark_checkpoint();
        if (late) step++;
    }
    if (hark_rank() == 0) printf("%lld\n", (long long)sum);
    if (strcmp(fault, "no-finalize") != 0) hark_finalize();
    return 0;
}
