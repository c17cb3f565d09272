/* store_blocks.c: images by blocks: what they give back, what they share and leave, and files that
 * are not what the store wrote. When the system fails or the process dies: store_blocks_system.c.
 */
#include "hark/store.h"
#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

enum { BLOCK = 64 << 10, ENTRY = 32, HEAD = 112, DIGEST = 16 };

static char place[256], error[256];
static struct hark_store *store;

static struct hark_store *open_store(bool incremental, enum hark_compression compression)
{
    struct hark_store *s;
    int status = hark_store_open_directory(&s, place, "ring", 8, false, error);
    if (status != HARK_S_OK) print_error("%s\n", error);
    assert_int_equal(status, HARK_S_OK);
    assert_int_equal(hark_store_write_blocks(s, incremental, compression), HARK_S_OK);
    return s;
}

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    (void)place_disk(place, 256 << 20); /* in memory, where that is allowed: faster */
    store = open_store(true, HARK_COMPRESS_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store->ops->close(store);
    place_remove(place);
    return 0;
}

static uint64_t seed;

static uint32_t next(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void fill(uint8_t *at, size_t length)
{
    for (size_t i = 0; i < length; i++) at[i] = (uint8_t)next(256);
}

static void assert_reads(uint64_t id, const struct hark_section *want, uint32_t wanted)
{
    const struct hark_section *got;
    uint32_t count;
    void *handle;
    int status = store->ops->read(store, 2, id, &got, &count, &handle);
    if (status != HARK_S_OK) print_error("%s\n", store->error);
    assert_int_equal(status, HARK_S_OK);
    assert_int_equal(count, wanted);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(got[i].tag, want[i].tag);
        assert_int_equal(got[i].id, want[i].id);
        assert_int_equal(got[i].length, want[i].length);
        assert_int_equal((uintptr_t)got[i].at % 8, 0);
        if (want[i].length) assert_memory_equal(got[i].at, want[i].at, want[i].length);
    }
    store->ops->release(store, handle);
    assert_int_equal(store->ops->verify(store, 2, id), HARK_S_OK);
}

/* Of rank 2; NULL: its directory. */
static void path_of(const char *name, char path[600])
{
    snprintf(path, 600, "%s/r2%s%s", place, name ? "/" : "", name ? name : "");
}

/* How many files of blocks there are, and the bytes of all files; the name of the last is in
 * `name`. */
static unsigned blocks_files(char name[64], uint64_t *bytes)
{
    char path[600];
    unsigned count = 0;
    path_of(NULL, path);
    DIR *list = opendir(path);
    assert_non_null(list);
    if (bytes) *bytes = 0;
    for (struct dirent *e; (e = readdir(list));) {
        struct stat st;
        if (e->d_name[0] == '.') continue;
        path_of(e->d_name, path);
        assert_int_equal(stat(path, &st), 0);
        if (bytes) *bytes += (uint64_t)st.st_size;
        if (!strstr(e->d_name, ".blocks")) continue;
        count++;
        if (name) snprintf(name, 64, "%.63s", e->d_name);
    }
    closedir(list);
    return count;
}

static uint8_t *load_file(const char *name, size_t *length)
{
    char path[600];
    struct stat st;
    path_of(name, path);
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
    char path[600];
    path_of(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
}

static void assert_bytes(uint64_t id, uint64_t own, uint64_t older)
{
    struct hark_store_bytes b;
    assert_int_equal(hark_store_image_bytes(store, 2, id, &b), HARK_S_OK);
    assert_int_equal(b.own, own);
    assert_int_equal(b.older, older);
}

static uint64_t table(uint64_t sections, uint64_t blocks, uint64_t files)
{
    return HEAD + DIGEST + ENTRY * (sections + blocks + files);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void test_unchanged_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 20 };
    size_t length = BLOCKS * BLOCK;
    uint8_t *first = malloc(length + 3), *second = malloc(length + 3);
    uint64_t ids[4];
    seed = 1;
    fill(first, length + 3);
    memcpy(second, first, length + 3);
    second[5 * BLOCK] ^= 1;
    const struct hark_section a[] = {{.tag = 4, .id = 9, .at = first, .length = length},
        {.tag = 5, .at = NULL}, {.tag = 6, .at = first + length, .length = 3}};
    const struct hark_section b[] = {{.tag = 6, .at = second + length, .length = 3}, /* blocks are
                                                                                        found in any
                                                                                        section */
        {.tag = 4, .id = 9, .at = second, .length = length}};
    assert_int_equal(store->ops->write(store, 2, 1, a, 3), HARK_S_OK);
    assert_bytes(1, table(3, BLOCKS + 1, 1) + length + 3, 0);
    assert_int_equal(store->ops->write(store, 2, 2, b, 2), HARK_S_OK);
    assert_bytes(2, table(2, BLOCKS + 1, 2) + BLOCK, length - BLOCK + 3);
    assert_int_equal(store->ops->write(store, 2, 3, b, 2), HARK_S_OK);
    assert_bytes(3, table(2, BLOCKS + 1, 2), length + 3);
    assert_int_equal(blocks_files(NULL, NULL), 2);
    assert_reads(1, a, 3);
    assert_reads(2, b, 2);
    assert_reads(3, b, 2);
    assert_int_equal(store->ops->list(store, 2, ids, 4), 3);

    /* Another handle knows of no image: it writes a whole one. */
    store->ops->close(store);
    store = open_store(true, HARK_COMPRESS_NONE);
    assert_int_equal(store->ops->write(store, 2, 4, b, 2), HARK_S_OK);
    assert_bytes(4, table(2, BLOCKS + 1, 1) + length + 3, 0);
    assert_int_equal(store->ops->write(store, 3, 1, b, 2), HARK_S_OK); /* of another rank */
    assert_int_equal(store->ops->write(store, 2, 5, b, 2), HARK_S_OK);
    assert_bytes(5, table(2, BLOCKS + 1, 1) + length + 3, 0);
    assert_reads(5, b, 2);
    free(first);
    free(second);
}

/* An image is dropped: what newer ones refer to stays, unlisted, and goes with the last of them. */
static void test_drop(void **state)
{
    (void)state;
    uint8_t *bytes = malloc((size_t)4 * BLOCK);
    const struct hark_section s = {.tag = 1, .at = bytes, .length = (uint64_t)4 * BLOCK};
    uint64_t ids[4];
    seed = 2;
    fill(bytes, (size_t)4 * BLOCK);
    assert_int_equal(store->ops->write(store, 2, 1, &s, 1), HARK_S_OK);
    bytes[0]++;
    assert_int_equal(store->ops->write(store, 2, 2, &s, 1), HARK_S_OK);
    bytes[BLOCK]++;
    assert_int_equal(store->ops->write(store, 2, 3, &s, 1), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 3);
    assert_int_equal(store->ops->drop(store, 2, 1), HARK_S_OK);
    assert_int_equal(store->ops->list(store, 2, ids, 4), 2);
    assert_int_equal(ids[0], 2);
    assert_int_equal(store->ops->verify(store, 2, 1), HARK_S_ENONE);
    assert_int_equal(blocks_files(NULL, NULL), 3);
    assert_reads(3, &s, 1);
    assert_int_equal(store->ops->drop(store, 2, 3), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 2); /* that of 3 */
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_OK);
    assert_int_equal(store->ops->drop(store, 2, 2), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 0);

    /* The handle remembers an image whose blocks have gone: they are written again. */
    assert_int_equal(store->ops->write(store, 2, 4, &s, 1), HARK_S_OK);
    assert_reads(4, &s, 1);
    struct hark_store *other = open_store(false, HARK_COMPRESS_NONE);
    bytes[0]++;
    assert_int_equal(store->ops->write(store, 2, 5, &s, 1), HARK_S_OK);
    assert_int_equal(other->ops->drop(other, 2, 5), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 6, &s, 1), HARK_S_OK);
    assert_reads(6, &s, 1);
    other->ops->close(other);
    free(bytes);
}

/* An image that is replaced is gone, but for what others refer to. */
static void test_replaced(void **state)
{
    (void)state;
    uint8_t *bytes = malloc((size_t)3 * BLOCK), *old = malloc((size_t)3 * BLOCK);
    const struct hark_section s = {.tag = 1, .at = bytes, .length = (uint64_t)3 * BLOCK};
    const struct hark_section was = {.tag = 1, .at = old, .length = (uint64_t)3 * BLOCK};
    seed = 3;
    fill(bytes, (size_t)3 * BLOCK);
    assert_int_equal(store->ops->write(store, 2, 1, &s, 1), HARK_S_OK);
    memcpy(old, bytes, (size_t)3 * BLOCK);
    assert_int_equal(store->ops->write(store, 2, 2, &s, 1), HARK_S_OK);
    fill(bytes, (size_t)3 * BLOCK);
    assert_int_equal(store->ops->write(store, 2, 1, &s, 1), HARK_S_OK);
    assert_reads(1, &s, 1);
    assert_reads(2, &was, 1);
    assert_int_equal(blocks_files(NULL, NULL), 2);
    assert_int_equal(store->ops->write(store, 2, 2, &s, 1), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 1);
    assert_reads(1, &s, 1);
    assert_reads(2, &s, 1);

    /* By one of the earlier format too, which all handles read. */
    assert_int_equal(hark_store_write_blocks(store, false, HARK_COMPRESS_NONE), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 1, &was, 1), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 2, &was, 1), HARK_S_OK);
    assert_bytes(2, HEAD + ENTRY + 3 * BLOCK + DIGEST, 0);
    assert_int_equal(store->ops->drop(store, 2, 1), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 0);
    assert_reads(2, &was, 1);
    free(bytes);
    free(old);
}

/* Programs that change a little or much, grow and shrink, with two images kept: what is read is
 * what was written, and the disk never holds more than twice what whole images would take. */
static void one_life(enum hark_compression compression, unsigned images)
{
    enum { SECTIONS = 4, KEPT = 2, MOST = 6 * BLOCK };
    static const size_t lengths[] = {0, 1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, MOST};
    static uint8_t now[SECTIONS][MOST], old[KEPT][SECTIONS][MOST];
    struct hark_section s[KEPT][SECTIONS];
    unsigned saved = 0;
    for (unsigned i = 0; i < SECTIONS; i++) {
        if (compression == HARK_COMPRESS_NONE) fill(now[i], MOST);
        else memset(now[i], (int)i, MOST);
    }
    for (unsigned id = 1; id <= images; id++) {
        unsigned changes = next(4) ? next(4) : 60;
        for (unsigned k = 0; k < changes; k++) now[next(SECTIONS)][next(MOST)]++;
        if (next(5) == 0) fill(now[next(SECTIONS)], BLOCK);
        struct hark_section *mine = s[id % KEPT];
        uint64_t whole = 0, bytes, most = 0;
        for (unsigned i = 0; i < SECTIONS; i++) {
            memcpy(old[id % KEPT][i], now[i], MOST);
            mine[i] = (struct hark_section){.tag = i,
                .id = id,
                .at = old[id % KEPT][i],
                .length = next(4) && id > 1 ? s[(id - 1) % KEPT][i].length : lengths[next(8)]};
            whole += mine[i].length;
        }
        assert_int_equal(store->ops->write(store, 2, id, mine, SECTIONS), HARK_S_OK);
        if (id > KEPT) assert_int_equal(store->ops->drop(store, 2, id - KEPT), HARK_S_OK);
        for (unsigned k = id > 1 ? id - 1 : 1; k <= id; k++) {
            assert_reads(k, s[k % KEPT], SECTIONS);
            uint64_t blocks = 0, sum = 0;
            for (unsigned i = 0; i < SECTIONS; i++) {
                blocks += (s[k % KEPT][i].length + BLOCK - 1) / BLOCK;
                sum += s[k % KEPT][i].length;
            }
            most += 2 * sum + table(SECTIONS, blocks, 64);
        }
        blocks_files(NULL, &bytes);
        assert_true(bytes <= most);
        struct hark_store_bytes b;
        assert_int_equal(hark_store_image_bytes(store, 2, id, &b), HARK_S_OK);
        saved += b.older > whole / 2;
    }
    assert_true(saved > images / 8);
}

static void test_lives(void **state)
{
    (void)state;
    seed = 4;
    one_life(HARK_COMPRESS_NONE, 300);
}

/* Few of the old bytes are in use: the image is written whole. So it is if it would refer to more
 * files than it may. */
static void test_whole_again(void **state)
{
    (void)state;
    enum { BLOCKS = 100 };
    uint8_t *bytes = malloc((size_t)BLOCKS * BLOCK);
    struct hark_section s = {.tag = 1, .at = bytes, .length = (uint64_t)BLOCKS * BLOCK};
    seed = 5;
    fill(bytes, (size_t)BLOCKS * BLOCK);
    assert_int_equal(store->ops->write(store, 2, 1, &s, 1), HARK_S_OK);
    s.length = (uint64_t)BLOCKS / 2 * BLOCK; /* just half of the file */
    assert_int_equal(store->ops->write(store, 2, 2, &s, 1), HARK_S_OK);
    assert_bytes(2, table(1, BLOCKS / 2, 1), s.length);
    s.length -= 1; /* one block is new, so that 49 of 100 remain */
    assert_int_equal(store->ops->write(store, 2, 3, &s, 1), HARK_S_OK);
    assert_bytes(3, table(1, BLOCKS / 2, 1) + s.length, 0);

    unsigned whole = 0;
    s.length = (uint64_t)BLOCKS * BLOCK;
    for (uint64_t id = 4; id < 4 + 70; id++) {
        bytes[id * BLOCK]++; /* always another block: a file more each time */
        assert_int_equal(store->ops->write(store, 2, id, &s, 1), HARK_S_OK);
        struct hark_store_bytes b;
        assert_int_equal(hark_store_image_bytes(store, 2, id, &b), HARK_S_OK);
        if (b.older == 0) assert_int_equal(id, 67); /* it has got 64 files, one each time */
        whole += b.older == 0;
        if (id > 5) assert_int_equal(store->ops->drop(store, 2, id - 2), HARK_S_OK);
    }
    assert_reads(73, &s, 1);
    assert_int_equal(whole, 1);
    free(bytes);
}

/* ---- compression ----------------------------------------------------------------------------- */

static void compressed(enum hark_compression compression)
{
    enum { BLOCKS = 8 };
    size_t length = (size_t)BLOCKS * BLOCK + 100;
    uint8_t *bytes = malloc(length);
    const struct hark_section s[] = {{.tag = 1, .at = bytes, .length = length},
        {.tag = 2, .at = "x", .length = 1}}; /* not to be made smaller */
    struct hark_store_bytes b;
    memset(bytes, 7, length);
    seed = 6;
    fill(bytes + 2 * BLOCK, BLOCK);
    assert_int_equal(hark_store_write_blocks(store, false, compression), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 1, s, 2), HARK_S_OK);
    assert_int_equal(hark_store_image_bytes(store, 2, 1, &b), HARK_S_OK);
    assert_in_range(b.own, BLOCK, BLOCK + 8 * 1024); /* of random bytes, which stay as they are */
    assert_reads(1, s, 2);
    assert_int_equal(store->ops->write(store, 2, 2, s, 2), HARK_S_OK);
    assert_int_equal(hark_store_image_bytes(store, 2, 2, &b), HARK_S_OK);
    assert_int_equal(b.older, 0); /* not incremental */

    /* Both: with one file more, of one small block. */
    assert_int_equal(hark_store_write_blocks(store, true, compression), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 3, s, 2), HARK_S_OK);
    bytes[0]++;
    assert_int_equal(store->ops->write(store, 2, 4, s, 2), HARK_S_OK);
    assert_int_equal(hark_store_image_bytes(store, 2, 4, &b), HARK_S_OK);
    assert_in_range(b.own, table(2, BLOCKS + 2, 2) + 1, table(2, BLOCKS + 2, 2) + 1024);
    assert_in_range(b.older, BLOCK, BLOCK + 8 * 1024);
    assert_reads(4, s, 2);
    free(bytes);
    store->ops->close(store);
    place_remove(place);
    place_make(place);
    (void)place_disk(place, 256 << 20);
    store = open_store(true, compression);
    one_life(compression, 100);
}

static void test_lz4(void **state)
{
    (void)state;
    if (!hark_compression_built(HARK_COMPRESS_LZ4)) skip();
    compressed(HARK_COMPRESS_LZ4);
}

static void test_zstd(void **state)
{
    (void)state;
    if (!hark_compression_built(HARK_COMPRESS_ZSTD)) skip();
    compressed(HARK_COMPRESS_ZSTD);
}

static void test_unknown_compression(void **state)
{
    (void)state;
    static const struct hark_store_ops none;
    struct hark_store other = {.ops = &none};
    struct hark_store_bytes b;
    assert_int_equal(hark_store_write_blocks(store, true, HARK_COMPRESSIONS), HARK_S_EINVAL);
    assert_non_null(strstr(store->error, "built without"));
    assert_int_equal(hark_store_write_blocks(&other, true, HARK_COMPRESS_NONE), HARK_S_EINVAL);
    assert_non_null(strstr(other.error, "no directory"));
    assert_int_equal(hark_store_image_bytes(&other, 2, 1, &b), HARK_S_EINVAL);
    assert_int_equal(hark_store_image_bytes(store, 2, 1, &b), HARK_S_ENONE);
    assert_int_equal(hark_store_image_bytes(store, 8, 1, &b), HARK_S_EINVAL);
    assert_true(hark_compression_built(HARK_COMPRESS_NONE));
    assert_false(hark_compression_built(HARK_COMPRESSIONS));
    assert_null(hark_compression_name(HARK_COMPRESSIONS));
    assert_string_equal(hark_compression_name(HARK_COMPRESS_ZSTD), "zstd");
}

/* ---- damage and hostile files ---------------------------------------------------------------- */

/* Two images; the second one refers to two files, `older` and `own`, and lies in "2". */
static const struct hark_section sample[] = {
    {.tag = 7, .id = 0x1122334455667788, .at = "regions, regions, regions, regions", .length = 34},
    {.tag = 8, .id = 2, .at = NULL, .length = 0},
    {.tag = 9, .id = 3, .at = "the core's bytes", .length = 16}};
static char older[64], own[64];

static void write_sample(void)
{
    assert_int_equal(store->ops->write(store, 2, 1, sample, 2), HARK_S_OK);
    assert_int_equal(blocks_files(older, NULL), 1);
    assert_int_equal(store->ops->write(store, 2, 2, sample, 3), HARK_S_OK);
    size_t length;
    uint8_t *t = load_file("2", &length);
    assert_int_equal(length, table(3, 2, 2));
    for (int i = 0; i < 16; i++)
        snprintf(own + (size_t)2 * (size_t)i, 3, "%02x", t[length - DIGEST - ENTRY + (size_t)i]);
    strcat(own, ".blocks");
    assert_string_not_equal(own, older);
    free(t);
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_OK);
}

/* `named`: in the message about image 2. */
static void flip_all(const char *name, const char *named)
{
    size_t length;
    uint8_t *bytes = load_file(name, &length);
    memset(bytes + length, 0, 64);
    for (size_t i = 0; i < length; i++)
        for (int bit = 0; bit < 9; bit++) {
            uint8_t flip = (uint8_t)(bit < 8 ? 1 << bit : 0xff);
            bytes[i] ^= flip;
            save_file(name, bytes, length);
            assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_EDAMAGED);
            assert_non_null(strstr(store->error, "r2/2: "));
            assert_non_null(strstr(store->error, named));
            bytes[i] ^= flip;
        }
    for (size_t n = 0; n < length + 64; n++) {
        save_file(name, bytes, n);
        assert_int_equal(
            store->ops->verify(store, 2, 2), n == length ? HARK_S_OK : HARK_S_EDAMAGED);
        if (n != length) assert_non_null(strstr(store->error, named));
    }
    save_file(name, bytes, length);
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_OK);
    free(bytes);
}

static void test_every_bit_and_length(void **state)
{
    (void)state;
    write_sample();
    flip_all("2", "");
    flip_all(own, own);
    flip_all(older, older); /* damages both generations: it is shared */
    char path[600];
    path_of(older, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_EDAMAGED);
    assert_non_null(strstr(store->error, "lacks its file"));
    assert_non_null(strstr(store->error, older));
    assert_int_equal(store->ops->verify(store, 2, 1), HARK_S_EDAMAGED);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody waits for who never writes */
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_EDAMAGED);
}

static void seal(uint8_t *bytes, size_t length)
{
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, length - DIGEST));
    memcpy(bytes + length - DIGEST, digest.digest, DIGEST);
}

/* Somebody wrote these bytes into the table and made its checksum right again. */
static void assert_crafted(
    const uint8_t *image, size_t length, size_t at, uint64_t value, int width, const char *words)
{
    uint8_t *bytes = malloc(length);
    memcpy(bytes, image, length);
    for (int i = 0; i < width; i++) bytes[at + (size_t)i] = (uint8_t)(value >> (8 * i));
    seal(bytes, length);
    save_file("2", bytes, length);
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_EDAMAGED);
    if (!strstr(store->error, words))
        print_error("got \"%s\", expected \"%s\"\n", store->error, words);
    assert_non_null(strstr(store->error, words));
    free(bytes);
}

static void test_crafted(void **state)
{
    (void)state;
    enum { SECTION = HEAD, BLOCKS = HEAD + 3 * ENTRY, FILES = BLOCKS + 2 * ENTRY };
    size_t length;
    write_sample();
    uint8_t *t = load_file("2", &length);
    assert_crafted(t, length, 8, 2, 4, "reaches outside");
    assert_crafted(t, length, 8, 4, 4, "format version 4, expected 2 or 3");
    assert_crafted(t, length, 12, 3, 4, "belongs to rank 3");
    assert_crafted(t, length, 28, UINT32_MAX, 4, "more sections");
    assert_crafted(t, length, 28, 4, 4, "");
    assert_crafted(t, length, 28, 0, 4, "");
    assert_crafted(t, length, 44, 65, 4, "more files");
    assert_crafted(t, length, 44, 5, 4, "more files");
    assert_crafted(t, length, 44, UINT32_MAX, 4, "more files");
    assert_crafted(t, length, 44, 3, 4, "");
    assert_crafted(t, length, 44, 1, 4, "");
    assert_crafted(t, length, SECTION + ENTRY + 4, 1, 4, "numbers that this format does not know");
    assert_crafted(t, length, SECTION + 16, 1, 8, "numbers that this format does not know");
    static const uint64_t wrong[] = {
        UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63, 3 * BLOCK, 2 * BLOCK + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_crafted(t, length, SECTION + 24, wrong[i], 8, "more bytes than its blocks");
    assert_crafted(t, length, SECTION + 24, 0, 8, "");
    assert_crafted(t, length, SECTION + 24, 33, 8, "block of a wrong length");
    assert_crafted(t, length, BLOCKS + 28, 2, 2, "in a file that it does not name");
    assert_crafted(t, length, BLOCKS + 28, 0xffff, 2, "in a file that it does not name");
    assert_crafted(t, length, BLOCKS + 30, 3, 2, "a compression that this format does not know");
    assert_crafted(t, length, BLOCKS + 30, 1, 2, "wrong length"); /* it is not shorter */
    assert_crafted(t, length, BLOCKS + 24, 0, 4, "wrong length");
    assert_crafted(t, length, BLOCKS + 24, 33, 4, "wrong length");
    assert_crafted(t, length, BLOCKS + 24, UINT32_MAX, 4, "outside of its file");
    assert_crafted(t, length, BLOCKS + 16, 1, 8, "outside of its file");
    assert_crafted(t, length, BLOCKS + 16, UINT64_MAX, 8, "outside of its file");
    assert_crafted(t, length, FILES + 16, 35, 8, "bytes, expected 35");
    assert_crafted(t, length, FILES + 16, 33, 8, "outside of its file");
    assert_crafted(t, length, FILES + 16, UINT64_MAX, 8, "expected 18446744073709551615");
    assert_crafted(t, length, FILES + 24, 2, 4, "numbers that this format does not know");
    assert_crafted(t, length, FILES + 28, 1, 4, "numbers that this format does not know");
    assert_crafted(t, length, FILES, 0, 8, "lacks its file 0000000000000000");
    save_file("2", t, length);
    assert_int_equal(store->ops->verify(store, 2, 2), HARK_S_OK);
    free(t);
}

/* Random bytes with a right checksum: never a crash (the sanitizers watch), never sections outside
 * of the image; and the rest of the store goes on. */
static void test_crafted_at_random(void **state)
{
    (void)state;
    uint32_t damaged = 0;
    size_t length, packed;
    if (hark_compression_built(HARK_COMPRESS_LZ4))
        assert_int_equal(hark_store_write_blocks(store, true, HARK_COMPRESS_LZ4), HARK_S_OK);
    write_sample();
    uint8_t *t = load_file("2", &length), *bytes = malloc(length),
            *blocks = load_file(older, &packed);
    seed = 8;
    for (int round = 0; round < 4000; round++) {
        memcpy(bytes, t, length);
        for (int k = 0; k <= round % 3; k++)
            bytes[12 + next((uint32_t)length - 12)] = (uint8_t)next(256);
        if (round % 4 == 3) blocks[next((uint32_t)packed)] = (uint8_t)next(256);
        seal(bytes, length);
        save_file("2", bytes, length);
        save_file(older, blocks, packed);
        const struct hark_section *s;
        struct hark_store_bytes b;
        uint32_t count, sum = 0;
        void *handle;
        int status = store->ops->read(store, 2, 2, &s, &count, &handle);
        assert_true(status == HARK_S_OK || status == HARK_S_EDAMAGED);
        damaged += status == HARK_S_EDAMAGED;
        (void)hark_store_image_bytes(store, 2, 2, &b);
        if (status != HARK_S_OK) continue;
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t k = 0; k < s[i].length; k++) sum += ((const uint8_t *)s[i].at)[k];
        assert_true(sum > 0);
        store->ops->release(store, handle);
    }
    assert_true(damaged > 1000);
    assert_int_equal(store->ops->write(store, 2, 3, sample, 3), HARK_S_OK);
    assert_int_equal(store->ops->drop(store, 2, 2), HARK_S_OK);
    free(bytes);
    free(blocks);
    free(t);
}

/* A block that says lz4 and is none, with all checksums right but its own. */
static void test_not_compressed(void **state)
{
    (void)state;
    enum { LENGTH = 4000 };
    static uint8_t zero[LENGTH];
    const struct hark_section s = {.tag = 1, .at = zero, .length = LENGTH};
    char name[64];
    size_t length;
    unsigned refused = 0;
    if (!hark_compression_built(HARK_COMPRESS_LZ4)) skip();
    assert_int_equal(hark_store_write_blocks(store, true, HARK_COMPRESS_LZ4), HARK_S_OK);
    assert_int_equal(store->ops->write(store, 2, 1, &s, 1), HARK_S_OK);
    assert_int_equal(blocks_files(name, NULL), 1);
    uint8_t *bytes = load_file(name, &length);
    assert_true(length < 100);
    seed = 9;
    for (int round = 0; round < 3000; round++) {
        fill(bytes, length);
        save_file(name, bytes, length);
        assert_int_equal(store->ops->verify(store, 2, 1), HARK_S_EDAMAGED);
        refused += strstr(store->error, "can not be decompressed") != NULL;
        assert_non_null(strstr(store->error, name));
    }
    assert_true(refused > 100);
    free(bytes);
}

/* What no whole image refers to is removed at the next write or drop; not while there is an image
 * of a newer version, whose blocks they might be; and no file of somebody else's. */
static void test_leftovers(void **state)
{
    (void)state;
    static const char left[] = "0123456789abcdef0123456789abcdef.blocks";
    size_t length;
    write_sample();
    save_file(left, (const uint8_t *)"left", 4);
    save_file("0123456789abcdef0123456789abcdeg.blocks", (const uint8_t *)"", 0);
    save_file("0123456789ABCDEF0123456789abcdef.blocks", (const uint8_t *)"", 0);
    save_file("letter", (const uint8_t *)"", 0);
    assert_int_equal(blocks_files(NULL, NULL), 5);
    assert_int_equal(store->ops->drop(store, 2, 77), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 4);
    save_file(left, (const uint8_t *)"left", 4);
    assert_int_equal(store->ops->write(store, 2, 3, sample, 3), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 4);
    uint8_t *t = load_file("1", &length);
    const struct {
        size_t at, length;
        int files;
    } damage[] = {{40, length, 4}, {length - 1, length, 4}, {0, length, 4}, {0, 0, 4}, {0, 11, 4},
        {40, length - 1, 4}, {8, length, 5}};
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        t[damage[i].at] ^= 4;
        save_file("1", t, damage[i].length);
        t[damage[i].at] ^= 4;
        save_file(left, (const uint8_t *)"left", 4);
        assert_int_equal(store->ops->drop(store, 2, 2), HARK_S_OK);
        assert_int_equal(blocks_files(NULL, NULL), damage[i].files);
    }
    assert_reads(3, sample, 3);
    assert_int_equal(store->ops->drop(store, 2, 1), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 4);
    assert_reads(3, sample, 3);
    free(t);
}

/* Somebody holds the lock for ever: nobody waits, and nobody removes. */
static void test_locked(void **state)
{
    (void)state;
    char path[600];
    write_sample();
    path_of(NULL, path);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(store->ops->drop(store, 2, 2), HARK_S_OK);
    assert_int_equal(blocks_files(NULL, NULL), 2);
    assert_int_equal(store->ops->write(store, 2, 3, sample, 3), HARK_S_OK);
    assert_reads(3, sample, 3);
    assert_bytes(3, HEAD + 3 * ENTRY + 40 + 16 + DIGEST, 0); /* whole, in the earlier format */
    close(fd);
    assert_int_equal(store->ops->write(store, 2, 4, sample, 3), HARK_S_OK);
    assert_reads(4, sample, 3);
    assert_int_equal(store->ops->drop(store, 2, 1), HARK_S_OK);
    assert_reads(4, sample, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_unchanged_blocks), TEST(test_drop),
        TEST(test_replaced), TEST(test_lives), TEST(test_whole_again), TEST(test_lz4),
        TEST(test_zstd), TEST(test_unknown_compression), TEST(test_every_bit_and_length),
        TEST(test_crafted), TEST(test_crafted_at_random), TEST(test_not_compressed),
        TEST(test_leftovers), TEST(test_locked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
