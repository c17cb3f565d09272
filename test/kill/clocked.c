/* clocked.c: a program whose messages hold what it has read of clocks: a process that executes
 * again sends the same only if it reads the same.
 *
 *   clocked STEPS [READINGS [KIND]]   READINGS (1) in each step, of a KIND:
 *     wtime     hark_wtime (default)
 *     clock     clock_gettime, gettimeofday, time, clock, times, getrusage
 *     random    getrandom, getentropy
 *     child     wtime and clock, also in a process that it forks meanwhile
 *     wait      wtime until 2 ms are over
 *     turn      wtime or clock, by what the last message's sender happens to be: readings whose
 *               order depends on the order of messages
 *
 * Everybody sends what it has read to its two neighbours, and adds it up. At the end it tells its
 * sum to them, and they compare it with what they have received. The time at which the program
 * began is part of each message too, and is not protected.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hark/app.h"

enum { TAG = 1, TAG_SUM = 2 };

static struct {
    int64_t step;
    uint64_t read;     /* sum of all that was read */
    uint64_t heard[2]; /* sum of what the neighbours say to have read */
    double latest;
    int32_t turn;
    bool back; /* a clock has gone back */
} state;
static int rank, size;

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("rank %d: %s: %s\n", rank, call, hark_app_error(status));
    exit(1);
}

static uint64_t bits(const void *at, size_t length)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++) sum = sum * 257 + ((const uint8_t *)at)[i];
    return sum;
}

static uint64_t read_wtime(void)
{
    const double now = hark_wtime();
    state.back |= now < state.latest;
    state.latest = now;
    return bits(&now, sizeof now);
}

static uint64_t read_clocks(void)
{
    struct timespec t;
    struct timeval day;
    struct tms ticks;
    struct rusage usage;
    const clockid_t id[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        clock_gettime(id[i], &t);
        sum += bits(&t, sizeof t);
    }
    gettimeofday(&day, NULL);
    getrusage(RUSAGE_SELF, &usage);
    const clock_t ticked = times(&ticks), used = clock();
    return sum + bits(&day, sizeof day) + bits(&usage.ru_utime, sizeof usage.ru_utime) +
           (uint64_t)time(NULL) + (uint64_t)ticked + (uint64_t)used + bits(&ticks, sizeof ticks);
}

static uint64_t read_random(void)
{
    uint64_t a = 0, b[5] = {0};
    if (getrandom(&a, sizeof a, 0) != sizeof a || getentropy(b, sizeof b) != 0) exit(1);
    return a + bits(b, sizeof b);
}

/* What a child reads is none of the job. */
static uint64_t read_beside_child(void)
{
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 10; i++) (void)hark_wtime(), (void)time(NULL);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) exit(1);
    return read_wtime() + read_clocks();
}

static uint64_t read_until(double seconds)
{
    uint64_t sum = 0;
    for (const double begin = hark_wtime(); state.latest < begin + seconds;)
        sum = sum * 31 + read_wtime();
    return sum;
}

static uint64_t read_some(const char *kind)
{
    if (strcmp(kind, "wait") == 0) return read_until(2e-3);
    if (strcmp(kind, "clock") == 0) return read_clocks();
    if (strcmp(kind, "child") == 0) return read_beside_child();
    if (strcmp(kind, "random") == 0) return read_random();
    if (strcmp(kind, "turn") == 0 && state.turn) return read_random() & 0;
    if (strcmp(kind, "turn") == 0) return read_wtime() & 0;
    return read_wtime();
}

static void to_both(const uint64_t *value, int tag)
{
    check(hark_send(value, sizeof *value, (rank + 1) % size, tag), "hark_send");
    check(hark_send(value, sizeof *value, (rank + size - 1) % size, tag), "hark_send");
}

/* One of each neighbour, in whatever order they come. */
static void from_both(uint64_t value[2], int tag)
{
    struct hark_info info;
    uint64_t got;
    for (int i = 0; i < 2; i++) {
        int from = i && size > 2 ? (info.source == (rank + 1) % size ? rank + size - 1 : rank + 1)
                                 : HARK_ANY_SOURCE;
        check(hark_recv(&got, sizeof got, from == HARK_ANY_SOURCE ? from : from % size, tag, &info),
            "hark_recv");
        value[size > 2 ? info.source != (rank + 1) % size : i] = got;
        if (i == 0) state.turn = info.source == (rank + 1) % size;
    }
}

int main(int argc, char **argv)
{
    const int64_t steps = argc > 1 ? atoll(argv[1]) : 0, readings = argc > 2 ? atoll(argv[2]) : 1;
    const char *kind = argc > 3 ? argv[3] : "wtime";
    uint64_t from, value[2];
    check(hark_init(), "hark_init");
    rank = hark_rank();
    size = hark_size();
    const double began = hark_wtime();
    const uint64_t beginning = strcmp(kind, "turn") == 0 ? 0 : bits(&began, sizeof began);
    check(hark_protect(1, &state, sizeof state), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    while (state.step < steps) {
        uint64_t sum = beginning;
        for (int64_t i = 0; i < readings; i++) sum += read_some(kind);
        state.read += sum;
        to_both(&sum, TAG);
        from_both(value, TAG);
        for (int i = 0; i < 2; i++) state.heard[i] += value[i];
        state.step++;
        check(hark_checkpoint(), "hark_checkpoint");
    }
    to_both(&state.read, TAG_SUM);
    from_both(value, TAG_SUM);
    bool right = value[0] == state.heard[0] && value[1] == state.heard[1] && !state.back;
    printf("rank %d: %s\n", rank, right ? "right" : "wrong");
    check(hark_finalize(), "hark_finalize");
    return right ? 0 : 1;
}
