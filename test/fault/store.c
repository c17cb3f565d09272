/* store.c: the directory store: what it gives back, and what it does with files that are not what
 * it wrote. What it does when the system fails or the process dies: store_system.c. */
#include "hark/store.h"
#include "place.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

static char place[256], error[256];
static struct hark_store *store;

static const struct hark_section sample[] = {
    {.tag = 7, .id = 0x1122334455667788, .at = "regions", .length = 7},
    {.tag = 8, .id = 2, .at = NULL, .length = 0},
    {.tag = UINT32_MAX, .id = UINT64_MAX, .at = "the core's bytes", .length = 16},
    {.tag = 0, .id = 0, .at = "x", .length = 1},
};

static struct hark_store *open_store(const char *job, uint32_t ranks)
{
    struct hark_store *s;
    int status = hark_store_open_directory(&s, place, job, ranks, false, error);
    if (status != HARK_S_OK) print_error("%s\n", error);
    assert_int_equal(status, HARK_S_OK);
    return s;
}

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    (void)place_disk(place, 256 << 20); /* in memory, where that is allowed: faster */
    store = open_store("ring", 8);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store->ops->close(store);
    place_remove(place);
    return 0;
}

static int write_sample(uint32_t rank, uint64_t id)
{
    return store->ops->write(store, rank, id, sample, 4);
}

static uint8_t *load_file(const char *name, size_t *length)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *length = (size_t)st.st_size;
    uint8_t *bytes = malloc(*length + 64);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, *length), *length);
    close(fd);
    return bytes;
}

static void save_file(const char *name, const uint8_t *bytes, size_t length)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
}

static void assert_sections(
    uint32_t rank, uint64_t id, const struct hark_section *want, uint32_t wanted)
{
    const struct hark_section *got;
    uint32_t count;
    void *handle;
    assert_int_equal(store->ops->read(store, rank, id, &got, &count, &handle), HARK_S_OK);
    assert_int_equal(count, wanted);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(got[i].tag, want[i].tag);
        assert_int_equal(got[i].id, want[i].id);
        assert_int_equal(got[i].length, want[i].length);
        assert_int_equal((uintptr_t)got[i].at % 8, 0);
        if (want[i].length) assert_memory_equal(got[i].at, want[i].at, want[i].length);
    }
    store->ops->release(store, handle);
}

static void test_round_trip(void **state)
{
    (void)state;
    assert_int_equal(store->ops->verify(store, 3, 1), HARK_S_ENONE);
    assert_int_equal(write_sample(3, 1), HARK_S_OK);
    assert_sections(3, 1, sample, 4);
    assert_int_equal(store->ops->write(store, 3, 1, sample + 2, 1), HARK_S_OK); /* replaces */
    assert_sections(3, 1, sample + 2, 1);
    assert_int_equal(store->ops->write(store, 7, UINT64_MAX, NULL, 0), HARK_S_OK);
    assert_sections(7, UINT64_MAX, NULL, 0);
    store->ops->close(store);
    store = open_store("ring", 8);
    assert_sections(3, 1, sample + 2, 1);
}

static void test_large_and_many(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    static struct hark_section many[MANY];
    size_t large = ((size_t)5 << 20) + 3;
    uint8_t *bytes = malloc(large);
    for (size_t i = 0; i < large; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (uint32_t i = 0; i < MANY; i++)
        many[i] = (struct hark_section){
            .tag = i, .id = i * 3, .at = bytes + i, .length = i % 7 ? i * 5 : large - i};
    many[7].length = 0;
    for (uint32_t i = 14; i < MANY; i++)
        if (i % 7 == 0) many[i].length = i;
    assert_int_equal(store->ops->write(store, 0, 9, many, MANY), HARK_S_OK);
    assert_sections(0, 9, many, MANY);
    free(bytes);
}

static void test_arguments(void **state)
{
    (void)state;
    struct hark_section huge[2] = {
        {.at = "x", .length = UINT64_MAX - 100}, {.at = "x", .length = 200}};
    const struct hark_section nowhere = {.at = NULL, .length = 1};
    uint64_t id;
    assert_int_equal(write_sample(8, 1), HARK_S_EINVAL);
    assert_int_equal(write_sample(0, 0), HARK_S_EINVAL);
    assert_int_equal(store->ops->verify(store, 8, 1), HARK_S_EINVAL);
    assert_int_equal(store->ops->drop(store, 0, 0), HARK_S_EINVAL);
    assert_int_equal(store->ops->list(store, 8, &id, 1), HARK_S_EINVAL);
    assert_int_equal(store->ops->write(store, 0, 1, huge, 2), HARK_S_EINVAL);
    huge[0].length = INT64_MAX - 300; /* alone it could be: the sum can not */
    huge[1].length = 1000;
    assert_int_equal(store->ops->write(store, 0, 1, huge, 2), HARK_S_EINVAL);
    assert_int_equal(store->ops->write(store, 0, 1, &nowhere, 1), HARK_S_EINVAL);
    assert_int_equal(store->ops->list(store, 0, &id, 1), 0);
    char path[300];
    snprintf(path, sizeof path, "%s/tmp", place);
    assert_int_equal(place_count(path), 0);
}

static void test_every_byte_flipped(void **state)
{
    (void)state;
    size_t length;
    assert_int_equal(write_sample(2, 5), HARK_S_OK);
    uint8_t *bytes = load_file("r2/5", &length);
    for (size_t i = 0; i < length; i++)
        for (int bit = 0; bit < 9; bit++) {
            uint8_t flip = (uint8_t)(bit < 8 ? 1 << bit : 0xff);
            bytes[i] ^= flip;
            save_file("r2/5", bytes, length);
            assert_int_equal(store->ops->verify(store, 2, 5), HARK_S_EDAMAGED);
            assert_non_null(strstr(store->error, "r2/5"));
            bytes[i] ^= flip;
        }
    save_file("r2/5", bytes, length);
    assert_int_equal(store->ops->verify(store, 2, 5), HARK_S_OK);
    free(bytes);
}

static void test_every_length(void **state)
{
    (void)state;
    size_t length;
    assert_int_equal(write_sample(2, 5), HARK_S_OK);
    uint8_t *bytes = load_file("r2/5", &length);
    memset(bytes + length, 0, 64);
    for (size_t n = 0; n < length + 64; n++) {
        save_file("r2/5", bytes, n);
        assert_int_equal(
            store->ops->verify(store, 2, 5), n == length ? HARK_S_OK : HARK_S_EDAMAGED);
    }
    free(bytes);
}

static void seal(uint8_t *bytes, size_t length)
{
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, length - 16));
    memcpy(bytes + length - 16, digest.digest, 16);
}

/* Somebody wrote these bytes there and made the checksum right again. */
static void assert_crafted(
    const uint8_t *image, size_t length, size_t at, uint64_t value, int width, const char *words)
{
    uint8_t *bytes = malloc(length);
    memcpy(bytes, image, length);
    for (int i = 0; i < width; i++) bytes[at + (size_t)i] = (uint8_t)(value >> (8 * i));
    seal(bytes, length);
    save_file("r2/5", bytes, length);
    assert_int_equal(store->ops->verify(store, 2, 5), HARK_S_EDAMAGED);
    if (!strstr(store->error, words))
        print_error("got \"%s\", expected \"%s\"\n", store->error, words);
    assert_non_null(strstr(store->error, words));
    free(bytes);
}

static void test_crafted(void **state)
{
    (void)state;
    enum { TABLE = 112 };
    size_t length;
    assert_int_equal(write_sample(2, 5), HARK_S_OK);
    uint8_t *image = load_file("r2/5", &length);
    assert_crafted(image, length, 8, 1, 4, "format version 1, expected 2");
    assert_crafted(image, length, 12, 3, 4, "belongs to rank 3, expected 2");
    assert_crafted(image, length, 16, 6, 8, "is checkpoint 6, expected 5");
    assert_crafted(image, length, 24, 9, 4, "job of 9 processes, expected 8");
    assert_crafted(image, length, 28, UINT32_MAX, 4, "more sections");
    assert_crafted(image, length, 28, 5, 4, "section");
    assert_crafted(image, length, 28, 3, 4, "reaches outside");
    assert_crafted(image, length, 28, 0, 4, "no section");
    assert_crafted(image, length, 32, UINT64_MAX, 8, "bytes long");
    assert_crafted(image, length, 40, UINT32_MAX, 4, "too long");
    assert_crafted(image, length, 40, 3, 4, "belongs to job \"rin\"");
    assert_crafted(image, length, 48, 0x0a, 1, "belongs to job \"?ing\"");
    assert_crafted(image, length, TABLE + 16, 0, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 16, UINT64_MAX, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 24, UINT64_MAX, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 24, UINT64_MAX - 7, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 24, (uint64_t)1 << 63, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 24, length, 8, "reaches outside");
    assert_crafted(image, length, TABLE + 3 * 32 + 24, 9, 8, "reaches outside");
    save_file("r2/5", image, length);
    assert_int_equal(store->ops->verify(store, 2, 5), HARK_S_OK);
    free(image);
}

/* Random bytes with a right checksum: never a crash (the sanitizers watch), never sections outside
 * of the image. */
static void test_crafted_at_random(void **state)
{
    (void)state;
    size_t length;
    uint32_t random = 1, damaged = 0;
    assert_int_equal(write_sample(2, 5), HARK_S_OK);
    uint8_t *image = load_file("r2/5", &length), *bytes = malloc(length);
    for (int round = 0; round < 4000; round++) {
        memcpy(bytes, image, length);
        for (int k = 0; k <= round % 3; k++) {
            random = random * 1664525 + 1013904223;
            bytes[12 + (random >> 8) % (length - 12)] = (uint8_t)(random >> 24);
        }
        seal(bytes, length);
        save_file("r2/5", bytes, length);
        const struct hark_section *s;
        uint32_t count, sum = 0;
        void *handle;
        int status = store->ops->read(store, 2, 5, &s, &count, &handle);
        assert_true(status == HARK_S_OK || status == HARK_S_EDAMAGED);
        damaged += status == HARK_S_EDAMAGED;
        if (status != HARK_S_OK) continue;
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t k = 0; k < s[i].length; k++) sum += ((const uint8_t *)s[i].at)[k];
        assert_true(sum > 0);
        store->ops->release(store, handle);
    }
    assert_true(damaged > 1000);
    free(bytes);
    free(image);
}

static void test_foreign(void **state)
{
    (void)state;
    size_t length;
    struct hark_store *s;
    assert_int_equal(write_sample(2, 5), HARK_S_OK);
    assert_int_equal(write_sample(3, 5), HARK_S_OK);
    uint8_t *bytes = load_file("r2/5", &length);
    save_file("r3/5", bytes, length);
    save_file("r2/6", bytes, length);
    free(bytes);
    assert_int_equal(store->ops->verify(store, 3, 5), HARK_S_EDAMAGED);
    assert_int_equal(store->ops->verify(store, 2, 6), HARK_S_EDAMAGED);
    assert_int_equal(hark_store_open_directory(&s, place, "rings", 8, false, error), HARK_S_EINVAL);
    assert_non_null(strstr(error, "belongs to job \"ring\", expected \"rings\""));
    assert_null(s);
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 9, false, error), HARK_S_EINVAL);
    assert_non_null(strstr(error, "8 processes, expected 9"));
    static const char *const bad[] = {"a/b", "a\nb", "a\x7f", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(
            hark_store_open_directory(&s, place, bad[i], 8, false, error), HARK_S_EINVAL);
        assert_non_null(strstr(error, "printable and without '/'")); /* not only another's name */
    }
    assert_int_equal(hark_store_open_directory(&s, place, "", 8, false, error), HARK_S_EINVAL);
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 0, false, error), HARK_S_EINVAL);
    char job[66];
    memset(job, 'j', 65);
    job[65] = 0;
    assert_int_equal(hark_store_open_directory(&s, place, job, 8, false, error), HARK_S_EINVAL);
}

static void test_job_file_damaged(void **state)
{
    (void)state;
    size_t length;
    struct hark_store *s;
    uint8_t *bytes = load_file("job", &length);
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 0x10;
        save_file("job", bytes, length);
        assert_int_equal(
            hark_store_open_directory(&s, place, "ring", 8, false, error), HARK_S_EDAMAGED);
        assert_null(s);
        bytes[i] ^= 0x10;
        save_file("job", bytes, i);
        assert_int_equal(
            hark_store_open_directory(&s, place, "ring", 8, false, error), HARK_S_EDAMAGED);
    }
    bytes[length] = 0;
    save_file("job", bytes, length + 1);
    assert_int_equal(
        hark_store_open_directory(&s, place, "ring", 8, false, error), HARK_S_EDAMAGED);
    free(bytes);
}

static void test_fresh(void **state)
{
    (void)state;
    struct hark_store *s;
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 8, true, error), HARK_S_OK);
    s->ops->close(s);
    assert_int_equal(write_sample(7, 1), HARK_S_OK);
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 8, true, error), HARK_S_EINVAL);
    assert_non_null(strstr(error, "holds checkpoints"));
    assert_int_equal(store->ops->drop(store, 7, 1), HARK_S_OK);
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 8, true, error), HARK_S_OK);
    s->ops->close(s);

    /* A directory with somebody's files is no store and does not become one. */
    char other[300], file[320];
    snprintf(other, sizeof other, "%s/other", place);
    assert_int_equal(mkdir(other, 0700), 0);
    snprintf(file, sizeof file, "other/letter");
    save_file(file, (const uint8_t *)"dear", 4);
    assert_int_equal(hark_store_open_directory(&s, other, "ring", 8, false, error), HARK_S_EINVAL);
    assert_non_null(strstr(error, "not a store"));
    assert_int_equal(place_count(other), 1);
}

static void make_pipe(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", place, name);
    unlink(path);
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

/* Nobody writes into a pipe that lies where a file or a directory should: whoever opened it as it
 * is would wait for ever. */
static void test_pipes(void **state)
{
    (void)state;
    struct hark_store *s;
    uint64_t id;
    assert_int_equal(write_sample(1, 7), HARK_S_OK);
    make_pipe("r1/7");
    assert_int_equal(store->ops->verify(store, 1, 7), HARK_S_EDAMAGED);
    make_pipe("r4");
    assert_int_equal(store->ops->list(store, 4, &id, 1), HARK_S_ESYSTEM);
    assert_non_null(strstr(store->error, "cannot list"));
    assert_int_equal(write_sample(4, 1), HARK_S_ESYSTEM);
    make_pipe("tmp/1.0");
    s = open_store("ring", 8);
    s->ops->close(s);
    char temporaries[300];
    snprintf(temporaries, sizeof temporaries, "%s/tmp", place);
    assert_int_equal(place_count(temporaries), 0);
    assert_int_equal(store->ops->drop(store, 1, 7), HARK_S_OK);
    assert_int_equal(store->ops->list(store, 1, &id, 1), 0);
    make_pipe("job");
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 8, false, error), HARK_S_ESYSTEM);
    assert_non_null(strstr(error, "cannot read"));
    make_pipe("tmp");
    assert_int_equal(write_sample(1, 8), HARK_S_ESYSTEM);
}

static void test_list_and_drop(void **state)
{
    (void)state;
    static const uint64_t ids[] = {12, 3, 100, 7, 1, UINT64_MAX, 50};
    uint64_t got[8] = {0};
    assert_int_equal(store->ops->list(store, 1, got, 8), 0);
    for (size_t i = 0; i < 7; i++) assert_int_equal(write_sample(1, ids[i]), HARK_S_OK);
    assert_int_equal(write_sample(0, 4), HARK_S_OK);
    save_file("r1/9x", (const uint8_t *)"", 0); /* not ours */
    save_file("r1/09", (const uint8_t *)"", 0);
    assert_int_equal(store->ops->list(store, 1, got, 8), 7);
    static const uint64_t sorted[] = {1, 3, 7, 12, 50, 100, UINT64_MAX};
    assert_memory_equal(got, sorted, sizeof sorted);
    for (uint32_t room = 0; room < 7; room++) {
        memset(got, 0xee, sizeof got);
        assert_int_equal(store->ops->list(store, 1, got, room), 7);
        assert_memory_equal(got, sorted, room * sizeof *sorted);
        assert_int_equal(got[room], 0xeeeeeeeeeeeeeeee);
    }
    assert_int_equal(store->ops->drop(store, 1, 12), HARK_S_OK);
    assert_int_equal(store->ops->drop(store, 1, 12), HARK_S_OK);
    assert_int_equal(store->ops->drop(store, 5, 12), HARK_S_OK);
    assert_int_equal(store->ops->list(store, 1, got, 8), 6);
    assert_int_equal(got[3], 50);
    assert_int_equal(store->ops->verify(store, 1, 12), HARK_S_ENONE);
    assert_int_equal(store->ops->verify(store, 0, 4), HARK_S_OK);
}

static bool not_wanted(void *asked)
{
    ++*(int *)asked;
    return false;
}

/* Images of one store of a job become images of another one; what is damaged does not. */
static void test_import(void **state)
{
    (void)state;
    char path[600];
    size_t length;
    int asked = 0;
    struct hark_store *from;
    snprintf(path, sizeof path, "%s/other", place);
    assert_int_equal(hark_store_open_directory(&from, path, "ring", 8, true, error), HARK_S_OK);
    assert_int_equal(from->ops->write(from, 3, 1, sample, 4), HARK_S_OK);
    assert_int_equal(write_sample(3, 2), HARK_S_OK);
    strcat(path, "/r3/1");
    int fd = open(path, O_RDWR);
    assert_int_equal(hark_store_import(store, 3, 1, fd, not_wanted, &asked), HARK_S_ENONE);
    assert_int_equal(asked, 1);
    assert_int_equal(store->ops->verify(store, 3, 1), HARK_S_ENONE);
    assert_int_equal(hark_store_import(store, 3, 1, fd, NULL, NULL), HARK_S_OK);
    assert_sections(3, 1, sample, 4);
    assert_int_equal(hark_store_verify_file(store, 3, 1, fd), HARK_S_OK);
    assert_int_equal(hark_store_verify_file(store, 3, 2, fd), HARK_S_EDAMAGED);
    assert_int_equal(hark_store_verify_file(store, 8, 1, fd), HARK_S_EINVAL);
    assert_int_equal(hark_store_verify_file(store, 3, 1, -1), HARK_S_EINVAL);
    assert_int_equal(hark_store_import(store, 3, 2, fd, NULL, NULL), HARK_S_EDAMAGED); /* that is
                                                                                          another
                                                                                          one */
    assert_int_equal(hark_store_import(store, 8, 1, fd, NULL, NULL), HARK_S_EINVAL);
    assert_int_equal(pwrite(fd, "x", 1, 150), 1);
    assert_int_equal(hark_store_import(store, 3, 1, fd, NULL, NULL), HARK_S_EDAMAGED);
    assert_non_null(strstr(store->error, "checksum"));
    assert_int_equal(hark_store_verify_file(store, 3, 1, fd), HARK_S_EDAMAGED);
    close(fd);
    assert_sections(3, 1, sample, 4);
    assert_int_equal(hark_store_import(store, 3, 1, -1, NULL, NULL), HARK_S_EINVAL);
    uint8_t *bytes = load_file("r3/1", &length);
    assert_int_not_equal(bytes[150], 'x');
    free(bytes);
    from->ops->close(from);
}

/* ---- incarnations ---------------------------------------------------------------------------- */

static struct hark_store *open_as(uint32_t incarnation)
{
    struct hark_store *s = open_store("ring", 8);
    assert_int_equal(hark_store_write_as(s, incarnation), HARK_S_OK);
    return s;
}

static int write_word(struct hark_store *s, uint64_t id, const char *word)
{
    const struct hark_section section = {.tag = 1, .id = 5, .at = word, .length = strlen(word)};
    return s->ops->write(s, 3, id, &section, 1);
}

static void assert_word(uint64_t id, const char *word)
{
    const struct hark_section section = {.tag = 1, .id = 5, .at = word, .length = strlen(word)};
    assert_sections(3, id, &section, 1);
}

static void assert_refused(struct hark_store *s, uint64_t id)
{
    char tmp[300];
    assert_int_equal(write_word(s, id, "refused"), HARK_S_EINVAL);
    assert_non_null(strstr(s->error, "r3/"));
    assert_non_null(strstr(s->error, "a later incarnation"));
    snprintf(tmp, sizeof tmp, "%s/tmp", place);
    assert_int_equal(place_count(tmp), 0);
}

/* Two incarnations of a process write one image, in both orders; blocks and whole. */
static void later_incarnation(bool blocks)
{
    struct hark_store *early = open_as(0), *late = open_as(1);
    if (blocks) {
        assert_int_equal(hark_store_write_blocks(early, true, HARK_COMPRESS_NONE), HARK_S_OK);
        assert_int_equal(hark_store_write_blocks(late, true, HARK_COMPRESS_NONE), HARK_S_OK);
    }
    assert_int_equal(write_word(early, 1, "early"), HARK_S_OK);
    assert_int_equal(write_word(early, 1, "early again"), HARK_S_OK);
    assert_word(1, "early again");
    assert_int_equal(write_word(late, 1, "late"), HARK_S_OK);
    assert_word(1, "late");
    assert_refused(early, 1);
    assert_word(1, "late");
    assert_int_equal(write_word(late, 2, "late"), HARK_S_OK);
    assert_refused(early, 2);
    assert_word(2, "late");
    assert_int_equal(early->ops->drop(early, 3, 2), HARK_S_OK); /* what it wrote is not there */
    assert_word(2, "late");
    assert_int_equal(write_word(late, 2, "late again"), HARK_S_OK);
    assert_int_equal(late->ops->drop(late, 3, 2), HARK_S_OK);
    assert_int_equal(store->ops->verify(store, 3, 2), HARK_S_ENONE);
    assert_int_equal(write_word(early, 2, "early"), HARK_S_OK);
    assert_int_equal(late->ops->drop(late, 3, 2), HARK_S_OK);
    assert_int_equal(store->ops->verify(store, 3, 2), HARK_S_ENONE);
    /* Who does not say who it is replaces any, and any replaces what does not say. */
    assert_int_equal(write_word(store, 1, "anybody"), HARK_S_OK);
    assert_int_equal(write_word(early, 1, "early"), HARK_S_OK);
    assert_word(1, "early");
    early->ops->close(early);
    late->ops->close(late);
}

static void test_incarnations(void **state)
{
    (void)state;
    static const struct hark_store_ops none;
    struct hark_store other = {.ops = &none};
    later_incarnation(false);
    later_incarnation(true);
    assert_int_equal(hark_store_write_as(&other, 1), HARK_S_EINVAL);
    assert_non_null(strstr(other.error, "no directory"));
}

/* A damaged image is nobody's, whatever it says. */
static void test_incarnation_of_a_damaged_image(void **state)
{
    (void)state;
    size_t length;
    struct hark_store *early = open_as(0), *late = open_as(UINT32_MAX);
    assert_int_equal(write_word(late, 1, "late"), HARK_S_OK);
    assert_refused(early, 1);
    uint8_t *bytes = load_file("r3/1", &length);
    bytes[length - 1] ^= 1;
    save_file("r3/1", bytes, length);
    free(bytes);
    assert_int_equal(write_word(early, 1, "early"), HARK_S_OK);
    assert_word(1, "early");
    early->ops->close(early);
    late->ops->close(late);
}

/* The later incarnation writes its image when the early one's is durable and has no name yet. */
static bool late_comes(void *late)
{
    return write_word(late, 1, "late") == HARK_S_OK;
}

static void test_incarnations_imported(void **state)
{
    (void)state;
    char path[600];
    struct hark_store *from, *late = open_as(1);
    snprintf(path, sizeof path, "%s/other", place);
    assert_int_equal(hark_store_open_directory(&from, path, "ring", 8, true, error), HARK_S_OK);
    assert_int_equal(hark_store_write_as(from, 0), HARK_S_OK);
    assert_int_equal(write_word(from, 1, "early"), HARK_S_OK);
    strcat(path, "/r3/1");
    int fd = open(path, O_RDONLY);
    assert_int_equal(hark_store_import(store, 3, 1, fd, late_comes, late), HARK_S_EINVAL);
    assert_non_null(strstr(store->error, "a later incarnation"));
    assert_word(1, "late");
    assert_int_equal(store->ops->drop(store, 3, 1), HARK_S_OK);
    assert_int_equal(hark_store_import(store, 3, 1, fd, NULL, NULL), HARK_S_OK);
    assert_word(1, "early");
    assert_int_equal(write_word(late, 1, "late"), HARK_S_OK); /* it is known who wrote that one */
    assert_int_equal(hark_store_import(store, 3, 1, fd, NULL, NULL), HARK_S_EINVAL);
    assert_word(1, "late");
    close(fd);
    from->ops->close(from);
    late->ops->close(late);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_round_trip), TEST(test_large_and_many),
        TEST(test_arguments), TEST(test_every_byte_flipped), TEST(test_every_length),
        TEST(test_crafted), TEST(test_crafted_at_random), TEST(test_foreign),
        TEST(test_job_file_damaged), TEST(test_fresh), TEST(test_pipes), TEST(test_list_and_drop),
        TEST(test_import), TEST(test_incarnations), TEST(test_incarnation_of_a_damaged_image),
        TEST(test_incarnations_imported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
