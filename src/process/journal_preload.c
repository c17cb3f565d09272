/* libhark_journal.so, which `hark run --journal clock,random` preloads: what a program reads of the
 * clocks and the random numbers of the C library comes out of the journal of its process.
 *
 * Only calls of the program itself, and of libraries in its name, get here: the C library calls its
 * own functions directly. A call that may fail for its arguments is left alone, since a failure is
 * no reading.
 */
#include <dlfcn.h>
#include <link.h>
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

/* An allocator that reads clocks, as jemalloc does, does so after so many calls, those of hark
 * included: its readings are none of the program's. */
static struct {
    uintptr_t begin, end; /* of the object that has malloc; end 0: the program has it */
} allocator;

static int find_end(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (info->dlpi_addr != allocator.begin) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t end =
            info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > allocator.end) allocator.end = end;
    }
    return 1;
}

/* The program may have an allocator of its own within it: what that reads cannot be told from what
 * the program reads. Its addresses begin at 0, or it is the first object. */
static int is_program(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    return info->dlpi_addr == *(const uintptr_t *)base ? 2 : 1;
}

static void find_allocator(void)
{
    Dl_info has;
    void *function = dlsym(RTLD_DEFAULT, "malloc");
    if (function == NULL || dladdr(function, &has) == 0) return;
    allocator.begin = (uintptr_t)has.dli_fbase;
    if (dl_iterate_phdr(is_program, &allocator.begin) == 1) (void)dl_iterate_phdr(find_end, NULL);
}

SHOWN hark_journal_connect_function hark_journal_connect;
void hark_journal_connect(const struct hark_journal_calls *to)
{
    if (to) find_allocator();
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

static bool keeps(uint32_t what, const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    return mine && !busy && *calls->inside == 0 && (calls->keeps & what) != 0 &&
           (at < allocator.begin || at >= allocator.end);
}
#define KEEPS(what) keeps(what, __builtin_return_address(0))

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
    if (!is_sure(id) || !KEEPS(HARK_KEEPS_CLOCK)) return real(id, t);
    const uint8_t kind = (uint8_t)(HARK_JOURNAL_CLOCK + id);
    if (next(kind, t, sizeof *t)) return 0;
    int status = real(id, t);
    if (status == 0) record(kind, t, sizeof *t);
    return status;
}

SHOWN int timespec_get(struct timespec *t, int base)
{
    REAL(int, "timespec_get", struct timespec *, int);
    if (base != TIME_UTC || !KEEPS(HARK_KEEPS_CLOCK)) return real(t, base);
    if (next(HARK_JOURNAL_CLOCK, t, sizeof *t)) return base;
    int status = real(t, base);
    if (status) record(HARK_JOURNAL_CLOCK, t, sizeof *t);
    return status;
}

SHOWN int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    REAL(int, "gettimeofday", struct timeval *restrict, void *restrict);
    if (zone || !KEEPS(HARK_KEEPS_CLOCK)) return real(t, zone);
    if (next(HARK_JOURNAL_TIME_OF_DAY, t, sizeof *t)) return 0;
    int status = real(t, zone);
    if (status == 0) record(HARK_JOURNAL_TIME_OF_DAY, t, sizeof *t);
    return status;
}

SHOWN time_t time(time_t *to)
{
    REAL(time_t, "time", time_t *);
    time_t now;
    if (!KEEPS(HARK_KEEPS_CLOCK)) return real(to);
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
    if (!KEEPS(HARK_KEEPS_CLOCK)) return real();
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
    if (!KEEPS(HARK_KEEPS_CLOCK)) return real(to);
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
    if (!sure || !KEEPS(HARK_KEEPS_CLOCK)) return real(who, to);
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
    if (length == 0 || !KEEPS(HARK_KEEPS_RANDOM)) return real(to, length, flags);
    const size_t got = random_bytes(to, length, flags);
    return got ? (ssize_t)got : -1;
}

SHOWN int getentropy(void *to, size_t length)
{
    REAL(int, "getentropy", void *, size_t);
    if (length > 256 || !KEEPS(HARK_KEEPS_RANDOM)) return real(to, length);
    return random_bytes(to, length, 0) == length ? 0 : -1;
}

#if HARK_ARC4RANDOM
SHOWN void arc4random_buf(void *to, size_t length)
{
    REAL(void, "arc4random_buf", void *, size_t);
    if (!KEEPS(HARK_KEEPS_RANDOM) || random_bytes(to, length, 0) < length) real(to, length);
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
    if (!KEEPS(HARK_KEEPS_RANDOM)) return real(below);
    if (next(HARK_JOURNAL_RANDOM, &number, sizeof number)) return number;
    number = real(below);
    record(HARK_JOURNAL_RANDOM, &number, sizeof number);
    return number;
}
#endif
