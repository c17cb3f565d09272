/* How long a checkpoint of MIB megabytes stops its program, beside a memcpy of the same memory to
 * memory that is there:
 *
 *   hark run -n 1 --interval 1ms --store DIR stall MIB COUNT [PAUSE]
 *
 * Before each of them the program does nothing for PAUSE milliseconds (0). Prints a line for each
 * of COUNT checkpoints: nanoseconds of the memcpy, and of the call that took the checkpoint. All
 * memory changes between two of them. */
#include <hark/app.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *memory_of(size_t bytes)
{
    char *at = aligned_alloc((size_t)2 << 20, bytes);
    if (at) memset(at, 1, bytes);
    else fprintf(stderr, "stall: no memory\n");
    return at;
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) << 20;
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    const long pause = argc > 3 ? atol(argv[3]) : 0;
    const struct timespec rest = {pause / 1000, pause % 1000 * 1000000};
    uint64_t from;
    if (bytes == 0 || count < 1) {
        fprintf(stderr, "stall: expected MIB COUNT [PAUSE]\n");
        return 2;
    }
    bytes = (bytes + ((size_t)2 << 20) - 1) & ~(((size_t)2 << 20) - 1);
    hark_init();
    char *at = memory_of(bytes), *to = memory_of(bytes);
    if (at == NULL || to == NULL) return 1;
    hark_protect(1, at, bytes);
    hark_restarted(&from);
    for (int taken = 0; taken < count; taken++) {
        uint64_t copy, stall = 0;
        if (pause > 0) nanosleep(&rest, NULL);
        for (size_t i = 0; i < bytes; i += 64) at[i] = (char)(taken + (int)(i >> 6));
        copy = now();
        memcpy(to, at, bytes);
        copy = now() - copy;
        /* While the image before is being written, a call takes no checkpoint and no time. */
        while (stall < copy / 4) {
            const struct timespec moment = {0, 1000000};
            if (stall) nanosleep(&moment, NULL);
            stall = now();
            hark_checkpoint();
            stall = now() - stall;
        }
        printf("%llu %llu\n", (unsigned long long)copy, (unsigned long long)stall);
    }
    hark_finalize();
    free(at);
    free(to);
    return 0;
}
