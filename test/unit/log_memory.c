/* log_memory.c: what the payload log says it uses beside what it really does: every allocation and
 * mapping is counted. The test is linked with --wrap for the calls below. */
#include "hark/store.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define MIB        ((uint64_t)1 << 20)
#define PAGE       ((uint64_t)4096)
#define ALLOCATION 16u /* what malloc() needs for itself, about */

static uint64_t allocated;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __real_free(void *at);
void __wrap_free(void *at);

static void *counted(void *at)
{
    if (at) allocated += malloc_usable_size(at) + ALLOCATION;
    return at;
}

static void discounted(void *at)
{
    if (at) allocated -= malloc_usable_size(at) + ALLOCATION;
}

void *__wrap_malloc(size_t bytes)
{
    return counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    discounted(old);
    return counted(__real_realloc(old, bytes));
}

void __wrap_free(void *at)
{
    discounted(at);
    __real_free(at);
}

/* Mappings: of those only what memory stands behind. */
static struct {
    uint8_t *at;
    size_t bytes;
} mapping[4096];
static unsigned mappings;

void *__real_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset)
{
    void *mapped = __real_mmap64(at, length, rights, flags, fd, offset);
    if (mapped == MAP_FAILED) return mapped;
    assert_true(mappings < sizeof mapping / sizeof *mapping);
    mapping[mappings].at = mapped;
    mapping[mappings++].bytes = length;
    return mapped;
}

static bool is_mapped(void *at)
{
    return msync(at, PAGE, MS_ASYNC) == 0;
}

static uint64_t resident(void)
{
    uint64_t bytes = 0;
    unsigned char there;
    for (unsigned i = 0; i < mappings; i++)
        for (size_t k = 0; k < mapping[i].bytes; k += PAGE)
            if (is_mapped(mapping[i].at + k) && mincore(mapping[i].at + k, PAGE, &there) == 0)
                bytes += (there & 1) * PAGE;
    return bytes;
}

static uint64_t used(void)
{
    return allocated + resident();
}

/* ---- what is lent: of anonymous memory, there at once, whole --------------------------------- */

static uint64_t lent;

static void *lend(void *self, uint64_t bytes)
{
    (void)self;
    void *at =
        __real_mmap64(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    lent += bytes;
    return at;
}

static void reclaim(void *self, void *at, uint64_t bytes)
{
    (void)self;
    lent -= bytes;
    munmap(at, bytes);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static uint8_t payload[1 << 16];

static struct hark_log *open_log(const struct hark_log_config *config)
{
    struct hark_log *log;
    char error[256];
    mappings = 0;
    allocated = lent = 0;
    assert_int_equal(hark_log_open(&log, config, error), HARK_L_OK);
    return log;
}

static int retain(struct hark_log *log, uint64_t ssn, uint32_t peers, uint64_t length)
{
    return hark_log_retain(
        log, (uint32_t)(ssn % peers), 0, ssn, &(struct hark_log_part){payload, length}, 1);
}

/* At most a tenth apart; `slack`: and so many bytes. */
static void assert_about(const char *what, uint64_t said, uint64_t real, uint64_t slack)
{
    bool right = real <= said + said / 10 + slack && said <= real + real / 10 + slack;
    if (!right)
        print_error("%s: said %llu, really %llu\n", what, (unsigned long long)said,
            (unsigned long long)real);
    assert_true(right);
}

static const uint64_t lengths[] = {0, 8, 16, 100, 108, 4096, 4104, 40000};
static const uint32_t peers[] = {1, 8, 64};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void fill(
    uint64_t length, uint32_t peers_now, const struct hark_log_config *config, uint64_t bytes)
{
    struct hark_log *log = open_log(config);
    struct hark_log_figures f;
    uint64_t ssn = 0;
    for (; hark_log_used(log) < bytes; ssn++)
        assert_int_equal(retain(log, ssn + 1, peers_now, length), HARK_L_OK);
    hark_log_figures(log, &f);
    uint64_t blocks = peers_now * PAGE; /* that a channel has at least */
    assert_about("memory", f.memory_bytes, used() + lent, blocks / 2);
    if (config->soft_limit) assert_about("entries", hark_log_used(log), f.memory_bytes, blocks);
    else
        assert_in_range(f.memory_bytes, f.bytes, f.bytes + f.bytes / 4 + blocks); /* and blocks that
                                                                                     are half full
                                                                                   */
    assert_true(f.bytes <= ssn * (length + 32 + length / 10)); /* what an entry takes beside its
                                                                  payload */
    hark_log_close(log);
    assert_int_equal(allocated, 0);
}

/* Without a limit: what is said to be used is. Huge pages hold up to 2 MiB more. */
static void test_unlimited(void **state)
{
    (void)state;
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t p = 0; p < COUNT(peers); p++)
            fill(lengths[l], peers[p], &(struct hark_log_config){0}, 40 * MIB);
}

/* Filled up to a limit that the owner keeps: nothing else is used. */
static void test_owner_keeps_a_limit(void **state)
{
    (void)state;
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t p = 0; p < COUNT(peers); p++) {
            fill(lengths[l], peers[p], &(struct hark_log_config){.soft_limit = 16 * MIB}, 16 * MIB);
            fill(lengths[l], peers[p],
                &(struct hark_log_config){.soft_limit = 16 * MIB, .lend = lend, .reclaim = reclaim},
                16 * MIB);
        }
}

/* Up to the limit, and trimmed, again and again, with other lengths and other peers: what was spare
 * goes back. */
static void test_limit_again_and_again(void **state)
{
    (void)state;
    const uint64_t limit = 16 * MIB;
    struct hark_log *log = open_log(&(struct hark_log_config){.soft_limit = limit});
    uint64_t ssn = 0;
    for (unsigned round = 0; round < 24; round++) {
        uint64_t length = lengths[round % COUNT(lengths)];
        uint32_t others = peers[round / 8];
        for (; hark_log_used(log) < limit; ssn++)
            assert_int_equal(retain(log, ssn + 1, others, length), HARK_L_OK);
        uint64_t real = used();
        if (real > limit + limit / 10 + 64 * PAGE)
            print_error("round %u: %llu\n", round, (unsigned long long)real);
        assert_true(real <= limit + limit / 10 + 64 * PAGE);
        for (uint32_t peer = 0; peer < 64; peer++)
            hark_log_trim(log, peer, 0, ssn - (round % 2 ? 0 : 100));
    }
    hark_log_close(log);
    assert_int_equal(allocated, 0);
}

/* The limit that the log keeps itself: what is over it is refused. */
static void test_log_keeps_a_limit(void **state)
{
    (void)state;
    const uint64_t limit = 16 * MIB;
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t p = 0; p < COUNT(peers); p++) {
            struct hark_log *log = open_log(&(struct hark_log_config){.limit = limit});
            uint64_t ssn = 1;
            while (retain(log, ssn, peers[p], lengths[l]) == HARK_L_OK) ssn++;
            assert_about("limit", limit, used(), peers[p] * PAGE / 2);
            assert_true(hark_log_bytes(log) <= limit);
            hark_log_close(log);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unlimited),
        cmocka_unit_test(test_owner_keeps_a_limit), cmocka_unit_test(test_limit_again_and_again),
        cmocka_unit_test(test_log_keeps_a_limit)};
    return cmocka_run_group_tests_name("log memory", tests, NULL, NULL);
}
