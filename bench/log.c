/* log.c: what it costs to retain a payload, beside a plain memcpy of the same bytes round the same
 * amount of memory.
 *
 * Both are run in turns, ROUNDS times, and the medians are printed. "window": the log is trimmed to
 * so many bytes of payload, in steps of a sixteenth; memcpy goes round a buffer as large as the
 * memory that the log then has, with huge pages like the log's. */
#include "hark/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 31 };
#define HUGE ((uint64_t)2 << 20)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *time)
{
    qsort(time, ROUNDS, sizeof *time, ascending);
    return time[ROUNDS / 2];
}

struct run {
    struct hark_log *log;
    uint64_t ssn, trimmed;
    uint8_t *ring, *payload;
    uint64_t length, window, around, at;
    uint32_t peers;
};

static double run_log(struct run *r, uint64_t count)
{
    struct hark_log_part part = {.at = r->payload, .length = r->length};
    uint64_t keep = r->window / r->length, step = keep / 16 + 1;
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        r->ssn++;
        if (hark_log_retain(r->log, (uint32_t)(r->ssn % r->peers), 0, r->ssn, &part, 1) !=
            HARK_L_OK)
            abort();
        if (r->ssn - r->trimmed >= keep + step) {
            r->trimmed = r->ssn - keep;
            for (uint32_t peer = 0; peer < r->peers; peer++)
                hark_log_trim(r->log, peer, 0, r->trimmed);
        }
    }
    return (now() - start) / (double)count;
}

static double run_memcpy(struct run *r, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        if (r->at + r->length > r->around) r->at = 0;
        memcpy(r->ring + r->at, r->payload, r->length);
        __asm__ volatile("" : : "r"(r->ring) : "memory"); /* the copies must be made */
        r->at += r->length;
    }
    return (now() - start) / (double)count;
}

static void row(uint64_t length, uint64_t window, uint32_t peers)
{
    double log_time[ROUNDS], copy_time[ROUNDS], ratio[ROUNDS];
    char error[256];
    struct hark_log_config config = {0};
    struct run r = {.length = length, .window = window, .peers = peers};
    if (hark_log_open(&r.log, &config, error) != HARK_L_OK) abort();
    r.payload = malloc(length);
    if (!r.payload) abort();
    memset(r.payload, 2, length);
    uint64_t fill = window / length * 5 / 4, count = fill < 64        ? 64
                                                     : fill > 1 << 22 ? 1 << 22
                                                                      : fill;
    double first = run_log(&r, fill);
    run_log(&r, fill);
    struct hark_log_figures figures;
    hark_log_figures(r.log, &figures);
    r.around = figures.memory_bytes;
    uint64_t mapped = (r.around + HUGE - 1) / HUGE * HUGE;
    r.ring = aligned_alloc(HUGE, mapped);
    if (!r.ring) abort();
    madvise(r.ring, mapped, MADV_HUGEPAGE);
    memset(r.ring, 1, mapped);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2) copy_time[i] = run_memcpy(&r, count);
        log_time[i] = run_log(&r, count);
        if (i % 2 == 0) copy_time[i] = run_memcpy(&r, count);
        ratio[i] = log_time[i] / copy_time[i];
    }
    printf("%9llu B  %4llu MiB  %5u  %7.1f  %12.1f  %12.1f  %6.3f  %12.1f\n",
        (unsigned long long)length, (unsigned long long)(window >> 20), peers,
        (double)r.around / (1 << 20), median(log_time), median(copy_time), median(ratio), first);
    free(r.ring);
    free(r.payload);
    hark_log_close(r.log);
}

int main(void)
{
    static const uint64_t length[] = {8, 1024, 65536, 1 << 20};
    printf("    payload    window  peers  all MiB    retain, ns    memcpy, ns   ratio  first fill, "
           "ns\n");
    for (int w = 0; w < 2; w++)
        for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
            row(length[i], (uint64_t)(w ? 512 : 8) << 20, 1);
            row(length[i], (uint64_t)(w ? 512 : 8) << 20, 8);
        }
    return 0;
}
