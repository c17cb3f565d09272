/* One-way time of a ping-pong and of a one-way stream between two processes, as `hark run` carries it:
 * pingpong SIZE ROUNDS | pingpong -s SIZE ROUNDS [CHECKPOINT_EVERY]. Rank 0 prints nanoseconds a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hark/app.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void ping(char *buffer, size_t size, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        if (hark_rank() == 0) {
            hark_send(buffer, size, 1, 0);
            hark_recv(buffer, size, 1, 0, NULL);
        } else {
            hark_recv(buffer, size, 0, 0, NULL);
            hark_send(buffer, size, 0, 0);
        }
    }
}

static void stream(char *buffer, size_t size, long rounds, long every)
{
    for (long i = 0; i < rounds; i++) {
        if (hark_rank() == 0) hark_send(buffer, size, 1, 0);
        else hark_recv(buffer, size, 0, 0, NULL);
        if (every && (i + 1) % every == 0) hark_checkpoint();
    }
    if (hark_rank() == 0) hark_recv(buffer, 1, 1, 1, NULL);
    else hark_send(buffer, 1, 0, 1);
}

int main(int argc, char **argv)
{
    int s = argc > 1 && strcmp(argv[1], "-s") == 0;
    if (argc < 3 + s) return 2;
    size_t size = (size_t)atol(argv[1 + s]);
    long rounds = atol(argv[2 + s]), every = argc > 3 + s ? atol(argv[3 + s]) : 0;
    char *buffer = calloc(1, size + 1);
    if (buffer == NULL || hark_init() < 0 || hark_size() != 2) return 2;
    if (s) stream(buffer, size, rounds / 10 + 1, every);
    else ping(buffer, size, rounds / 10 + 1);
    double begin = now();
    if (s) stream(buffer, size, rounds, every);
    else ping(buffer, size, rounds);
    double each = (now() - begin) / (double)rounds / (s ? 1 : 2);
    if (hark_rank() == 0) printf("%.1f\n", each);
    hark_finalize();
    free(buffer);
    return 0;
}
