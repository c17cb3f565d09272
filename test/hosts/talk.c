/* talk.c: a ring whose ranks print what they compute, so that a line that is lost, comes twice or
 * is wrong is seen. talk LAPS [MICROSECONDS [EVERY FILE]]: so long each takes for a lap. After each
 * EVERY laps it waits until FILE has as many bytes as it has waited times, so that a job does not
 * end before what is to happen to it has happened. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "hark/app.h"

static struct {
    uint64_t sum;
    int64_t lap;
} state;

static void wait_for_size(const char *path, int64_t size)
{
    const struct timespec t = {.tv_nsec = 1000000};
    struct stat st;
    while (stat(path, &st) < 0 || st.st_size < size) nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    uint64_t restarted, token;
    if (argc < 2 || hark_init() < 0 || hark_protect(0, &state, sizeof state) < 0) return 2;
    const int64_t laps = atoll(argv[1]), pause = argc > 2 ? atoll(argv[2]) : 0,
                  every = argc > 4 ? atoll(argv[3]) : laps + 1;
    const int me = hark_rank(), size = hark_size(), to = (me + 1) % size,
              from = (me + size - 1) % size;
    hark_restarted(&restarted);
    const struct timespec t = {.tv_nsec = pause * 1000};
    while (state.lap < laps) {
        token = state.sum * 31 + (uint64_t)me;
        if (hark_send(&token, sizeof token, to, 0) < 0) return 2;
        if (hark_recv(&token, sizeof token, from, 0, NULL) < 0) return 2;
        state.sum = state.sum * 7 + token;
        if (pause) nanosleep(&t, NULL);
        if (++state.lap % every == 0) wait_for_size(argv[4], state.lap / every);
        if (state.lap % 10) continue;
        printf("rank %d lap %" PRId64 ": %016" PRIx64 "\n", me, state.lap, state.sum);
        fflush(stdout);
        if (hark_checkpoint() < 0) return 2;
    }
    return hark_finalize() < 0;
}
