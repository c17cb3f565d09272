/* steady.c: readings that are the same in every run, for `hark run --steady`.
 *
 * What a process sends may depend on clocks and random numbers, and then two recordings differ
 * though the program is send-deterministic once the journal keeps these readings. So a clock here
 * is one microsecond later at each reading, whatever it is of, and random numbers come from a
 * generator that the rank and the number of the reading begin. */
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "journal.h"
#include "process.h"

enum { MICRO = 1000000, CLOCK_TICK = 10000 /* microseconds, of times() */ };
#define EPOCH 946684800 /* 2000-01-01, of the clocks that have a date */

static uint64_t readings; /* microseconds */

static struct timeval microseconds(uint64_t since)
{
    return (struct timeval){(time_t)(since + readings / MICRO), (suseconds_t)(readings % MICRO)};
}

static bool has_date(int clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

static void fill_random(uint8_t *to, size_t length)
{
    uint64_t state = (uint64_t)hark_process.setup.rank << 40 ^ readings;
    while (length) { /* splitmix64 */
        uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        const size_t n = length < sizeof x ? length : sizeof x;
        memcpy(to, &x, n);
        to += n;
        length -= n;
    }
}

static void fill_clock(int clock, void *value, size_t length)
{
    const struct timeval t = microseconds(has_date(clock) ? EPOCH : 0);
    const struct timespec precise = {t.tv_sec, t.tv_usec * 1000};
    memcpy(value, &precise, length < sizeof precise ? length : sizeof precise);
}

/* The processor times of a process, and behind them the time. */
static void fill_times(uint8_t *value, size_t length)
{
    const clock_t ticks = (clock_t)(readings / CLOCK_TICK);
    const struct tms used = {.tms_utime = ticks};
    memset(value, 0, length);
    if (length < sizeof used + sizeof ticks) return;
    memcpy(value, &used, sizeof used);
    memcpy(value + length - sizeof ticks, &ticks, sizeof ticks);
}

void hark_steady_fill(uint8_t kind, void *value, size_t length)
{
    union {
        double seconds;
        struct timeval of_day;
        time_t time;
        clock_t processor;
        struct rusage used;
    } x;
    readings++;
    memset(&x, 0, sizeof x);
    switch (kind) {
    case HARK_JOURNAL_WTIME: x.seconds = (double)readings / MICRO; break;
    case HARK_JOURNAL_TIME_OF_DAY: x.of_day = microseconds(EPOCH); break;
    case HARK_JOURNAL_TIME: x.time = microseconds(EPOCH).tv_sec; break;
    case HARK_JOURNAL_PROCESSOR_TIME: x.processor = (clock_t)readings; break;
    case HARK_JOURNAL_USAGE: x.used.ru_utime = microseconds(0); break;
    case HARK_JOURNAL_TIMES: fill_times(value, length); return;
    case HARK_JOURNAL_RANDOM: fill_random(value, length); return;
    default: fill_clock(kind - HARK_JOURNAL_CLOCK, value, length); return;
    }
    memcpy(value, &x, length < sizeof x ? length : sizeof x);
}
