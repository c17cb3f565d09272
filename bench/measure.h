/* Time, medians, and the processor that a process stays on. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static inline double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int measure_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median_of(double *of, size_t count)
{
    if (count == 0) return 0;
    qsort(of, count, sizeof *of, measure_ascending);
    return of[count / 2];
}

static inline void stay_on(int processor) /* with one processor only: slower, that is all */
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* Batches before the measured ones: the first say how long the others may be; as long as those, the
 * next ones run until the log goes round in memory that it has, four windows under scmel. */
enum { PROBE = 4, WARM = PROBE + 8 };

/* Messages of a batch: a window of bytes; of small ones only as many as take about so many
 * nanoseconds when one takes `each`. Large ones fill the window from the first batch on, so that
 * the log has all its memory when measuring begins. */
static inline long batch_of(size_t size, size_t window, double time, double each)
{
    double n = time / each, most = (double)window / (double)size;
    if (n > most || size >= 65536) n = most;
    return n < 1 ? 1 : n > 50000 ? 50000 : (long)n;
}

enum { BATCHES_MAX = 4096 };

/* Messages of the batch after the n-th, which took `each` ns a message; 0: enough. `limit` ns are
 * for all that are measured, `elapsed` of them are over. */
static inline long next_batch(
    size_t n, long count, size_t size, size_t window, double limit, double elapsed, double each)
{
    if (n > WARM && (n >= BATCHES_MAX || elapsed > limit)) return 0;
    if (n > PROBE) return count;
    return batch_of(size, window, n < PROBE ? limit / 50 : limit / 10, each);
}

#endif
