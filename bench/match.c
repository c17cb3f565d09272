/* What it costs to match messages when many receives are posted, or many messages wait: bench-match
 * [ROUNDS]. One process sends itself 10, 1,000 and 100,000 messages, and receives them in the order
 * that is worst for a walk over lists. Nanoseconds a message, the sending included; medians of
 * rounds; and the ratio of the most to the fewest in the same run, which grows with the number
 * where a match takes as long as the lists are. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/app.h"
#include "measure.h"

enum { MOST = 100000, ROUNDS_MAX = 99 };

/* Others may use the processor meanwhile. */
static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct hark_request *request[MOST];
static int64_t place[MOST];

static void send_all(int count)
{
    for (int64_t i = 0; i < count; i++) hark_send(&i, sizeof i, 0, (int)i);
}

static void check(int64_t got, int64_t expected)
{
    if (got == expected) return;
    fprintf(stderr, "message %lld was received for message %lld\n", (long long)got,
        (long long)expected);
    exit(1);
}

/* All receives are posted first, and waited for from the last to the first. */
static void posted(int count)
{
    for (int i = 0; i < count; i++) hark_irecv(&place[i], sizeof *place, 0, i, &request[i]);
    send_all(count);
    for (int i = count - 1; i >= 0; i--) hark_wait(&request[i], NULL);
    for (int i = 0; i < count; i++) check(place[i], i);
}

/* All messages are there first. */
static void untaken(int count, int from, bool any_tag, bool probe)
{
    struct hark_info info;
    int64_t got;
    send_all(count);
    for (int i = count - 1; i >= 0; i--) {
        int tag = any_tag ? HARK_ANY_TAG : i;
        if (probe) hark_probe(from, tag, &info);
        hark_recv(&got, sizeof got, from, tag, NULL);
        check(got, any_tag ? count - 1 - i : i);
    }
}

static void receive(int how, int count)
{
    switch (how) {
    case 0: posted(count); break;
    case 1: untaken(count, 0, false, false); break;
    case 2: untaken(count, HARK_ANY_SOURCE, false, false); break;
    case 3: untaken(count, 0, true, false); break;
    default: untaken(count, HARK_ANY_SOURCE, false, true);
    }
}

/* As many matches in each round, whatever their number at a time. */
static double round_of(int how, int count)
{
    double begin = used();
    for (int i = 0; i < MOST; i += count) receive(how, count);
    return (used() - begin) / MOST;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {
        "posted, last first", "untaken, last first", "of any source", "of any tag", "probed"};
    static const int count[] = {10, 1000, MOST};
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench-match: ROUNDS is %s, and may be 1 .. %d\n", argv[1], ROUNDS_MAX);
        return 2;
    }
    if (hark_init() < 0) return 1;
    printf("%-22s %8d %8d %8d  ratio\n", "ns a message", count[0], count[1], count[2]);
    for (int how = 0; how < 5; how++) {
        double time[3][ROUNDS_MAX], median[3];
        for (int i = 0; i < rounds; i++)
            for (int k = 0; k < 3; k++) time[k][i] = round_of(how, count[k]);
        for (int k = 0; k < 3; k++) median[k] = median_of(time[k], (size_t)rounds);
        printf("%-22s %8.0f %8.0f %8.0f %6.1f\n", name[how], median[0], median[1], median[2],
            median[2] / median[0]);
    }
    return hark_finalize() < 0;
}
