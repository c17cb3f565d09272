/* libhark_journal.so, which `hark run --journal clock,random` preloads: what a program reads of the
 * clocks and the random numbers of the C library comes out of the journal of its process.
 *
 * Only calls of the program itself, and of libraries in its name, get here: the C library calls its
 * own functions directly. A call that may fail for its arguments is left alone, since a failure is
 * no reading.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "../control/control.h"
#include "journal.h"
#include "journal_calls.h"
#include "journal_file.h"

#define SHOWN __attribute__((visibility("default")))

static const struct hark_journal_calls *calls;
static _Thread_local bool mine __attribute__((tls_model("initial-exec")));
static bool busy; /* in the journal; a signal handler that reads a clock meanwhile gets the real one
                   */

SHOWN hark_journal_connect_function hark_journal_connect;
void hark_journal_connect(const struct hark_journal_calls *to)
{
    calls = to;
    mine = to != NULL;
}

/* The function that this library has taken the place of. */
static void find(void *function, const char *name)
{
    void *found;
    if (*(void **)function) return;
    found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    memcpy(function, &found, sizeof found);
}
#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    find(&real, name)

static bool keeps(uint32_t what)
{
    return mine && !busy && *calls->inside == 0 && (calls->keeps & what) != 0;
}

static bool next(uint8_t kind, void *value, size_t length)
{
    busy = true;
    bool given = calls->next(kind, value, length);
    busy = false;
    return given;
}

static void record(uint8_t kind, const void *value, size_t length)
{
    busy = true;
    calls->record(kind, value, length);
    busy = false;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Those that every machine has. */
static bool is_sure(clockid_t id)
{
    return (id >= CLOCK_REALTIME && id <= CLOCK_BOOTTIME) || id == CLOCK_TAI;
}

SHOWN int clock_gettime(clockid_t id, struct timespec *t)
{
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    if (!is_sure(id) || !keeps(HARK_KEEPS_CLOCK)) return real(id, t);
    const uint8_t kind = (uint8_t)(HARK_JOURNAL_CLOCK + id);
    if (next(kind, t, sizeof *t)) return 0;
    int status = real(id, t);
    if (status == 0) record(kind, t, sizeof *t);
    return status;
}

SHOWN int timespec_get(struct timespec *t, int base)
{
    REAL(int, "timespec_get", struct timespec *, int);
    if (base != TIME_UTC || !keeps(HARK_KEEPS_CLOCK)) return real(t, base);
    if (next(HARK_JOURNAL_CLOCK, t, sizeof *t)) return base;
    int status = real(t, base);
    if (status) record(HARK_JOURNAL_CLOCK, t, sizeof *t);
    return status;
}

SHOWN int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    REAL(int, "gettimeofday", struct timeval *restrict, void *restrict);
    if (zone || !keeps(HARK_KEEPS_CLOCK)) return real(t, zone);
    if (next(HARK_JOURNAL_TIME_OF_DAY, t, sizeof *t)) return 0;
    int status = real(t, zone);
    if (status == 0) record(HARK_JOURNAL_TIME_OF_DAY, t, sizeof *t);
    return status;
}

SHOWN time_t time(time_t *to)
{
    REAL(time_t, "time", time_t *);
    time_t now;
    if (!keeps(HARK_KEEPS_CLOCK)) return real(to);
    if (!next(HARK_JOURNAL_TIME, &now, sizeof now)) {
        now = real(NULL);
        record(HARK_JOURNAL_TIME, &now, sizeof now);
    }
    if (to) *to = now;
    return now;
}

SHOWN clock_t clock(void)
{
    REAL(clock_t, "clock", void);
    clock_t used;
    if (!keeps(HARK_KEEPS_CLOCK)) return real();
    if (next(HARK_JOURNAL_PROCESSOR_TIME, &used, sizeof used)) return used;
    used = real();
    record(HARK_JOURNAL_PROCESSOR_TIME, &used, sizeof used);
    return used;
}

SHOWN clock_t times(struct tms *to)
{
    REAL(clock_t, "times", struct tms *);
    struct {
        struct tms used;
        clock_t now;
    } x;
    if (!keeps(HARK_KEEPS_CLOCK)) return real(to);
    memset(&x, 0, sizeof x);
    if (!next(HARK_JOURNAL_TIMES, &x, sizeof x)) {
        x.now = real(&x.used);
        record(HARK_JOURNAL_TIMES, &x, sizeof x);
    }
    if (to) *to = x.used;
    return x.now;
}

SHOWN int getrusage(__rusage_who_t who, struct rusage *to)
{
    REAL(int, "getrusage", __rusage_who_t, struct rusage *);
    const int whose = (int)who;
    const bool sure = whose == RUSAGE_SELF || whose == RUSAGE_CHILDREN || whose == RUSAGE_THREAD;
    if (!sure || !keeps(HARK_KEEPS_CLOCK)) return real(who, to);
    if (next(HARK_JOURNAL_USAGE, to, sizeof *to)) return 0;
    int status = real(who, to);
    if (status == 0) record(HARK_JOURNAL_USAGE, to, sizeof *to);
    return status;
}

/* ---- chance ---------------------------------------------------------------------------------- */

/* All of them, which one call need not give. */
static bool fill(uint8_t *to, size_t length, unsigned flags)
{
    REAL(ssize_t, "getrandom", void *, size_t, unsigned);
    while (length) {
        ssize_t n = real(to, length, flags);
        if (n <= 0) return false;
        to += n;
        length -= (size_t)n;
    }
    return true;
}

/* In pieces, as the journal has them. How many there are. */
static size_t random_bytes(uint8_t *to, size_t length, unsigned flags)
{
    size_t at = 0;
    while (at < length) {
        const size_t left = length - at, n = left < HARK_JOURNAL_ENTRY ? left : HARK_JOURNAL_ENTRY;
        if (!next(HARK_JOURNAL_RANDOM, to + at, n)) {
            if (!fill(to + at, n, flags)) break;
            record(HARK_JOURNAL_RANDOM, to + at, n);
        }
        at += n;
    }
    return at;
}

SHOWN ssize_t getrandom(void *to, size_t length, unsigned flags)
{
    REAL(ssize_t, "getrandom", void *, size_t, unsigned);
    if (length == 0 || !keeps(HARK_KEEPS_RANDOM)) return real(to, length, flags);
    const size_t got = random_bytes(to, length, flags);
    return got ? (ssize_t)got : -1;
}

SHOWN int getentropy(void *to, size_t length)
{
    REAL(int, "getentropy", void *, size_t);
    if (length > 256 || !keeps(HARK_KEEPS_RANDOM)) return real(to, length);
    return random_bytes(to, length, 0) == length ? 0 : -1;
}

#if HARK_ARC4RANDOM
SHOWN void arc4random_buf(void *to, size_t length)
{
    REAL(void, "arc4random_buf", void *, size_t);
    if (!keeps(HARK_KEEPS_RANDOM) || random_bytes(to, length, 0) < length) real(to, length);
}

SHOWN uint32_t arc4random(void)
{
    uint32_t number;
    arc4random_buf(&number, sizeof number);
    return number;
}

SHOWN uint32_t arc4random_uniform(uint32_t below)
{
    REAL(uint32_t, "arc4random_uniform", uint32_t);
    uint32_t number;
    if (!keeps(HARK_KEEPS_RANDOM)) return real(below);
    if (next(HARK_JOURNAL_RANDOM, &number, sizeof number)) return number;
    number = real(below);
    record(HARK_JOURNAL_RANDOM, &number, sizeof number);
    return number;
}
#endif
