/* generation.c: a generation of a code on the disk: see coder.h. */
#include "coder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/store.h"

static void name_of(char name[64], const struct hark_coded *g)
{
    snprintf(name, 64, "%llu-%016llx", (unsigned long long)g->number, (unsigned long long)g->run);
}

static void image_name(char name[64], const struct hark_coded_item *x)
{
    snprintf(name, 64, "r%u/%llu", x->rank, (unsigned long long)x->id);
}

void hark_generation_parity_name(char name[32], uint32_t parity)
{
    snprintf(name, 32, "parity%u", parity);
}

char *hark_generation_path(const struct agent *a, const struct hark_coded *g, const char *behind)
{
    char name[64], *path;
    name_of(name, g);
    return asprintf(&path, "%s/codes/%s%s", a->store_path, name, behind) < 0 ? NULL : path;
}

struct hark_generation *hark_generation_find(
    const struct hark_coder *c, uint64_t number, uint64_t run)
{
    struct hark_generation *g = c->generation;
    while (g && !hark_coded_is(&g->table, number, run)) g = g->next;
    return g;
}

static struct hark_generation *add(struct hark_coder *c, struct hark_coded *table, int fd)
{
    struct hark_generation *g = calloc(1, sizeof *g);
    if (g == NULL) return NULL;
    g->table = *table;
    *table = (struct hark_coded){0};
    g->coder = c;
    g->fd = fd;
    g->parity_fd = -1;
    g->next = c->generation;
    return c->generation = g;
}

/* ---- links to images ------------------------------------------------------------------------- */

static bool measure(int fd, struct hark_coded_item *x)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)HARK_CODED_SUM) return false;
    x->length = (uint64_t)st.st_size;
    return pread(fd, x->sum, HARK_CODED_SUM, st.st_size - (off_t)HARK_CODED_SUM) ==
           (ssize_t)HARK_CODED_SUM;
}

static bool link_image(const struct agent *a, int to, struct hark_coded_item *x)
{
    char name[64], directory[32];
    image_name(name, x);
    snprintf(directory, sizeof directory, "r%u", x->rank);
    if (mkdirat(to, directory, 0700) < 0 && errno != EEXIST) return false;
    if (linkat(a->store_fd, name, to, name, 0) < 0) return false;
    const int fd = openat(to, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool ok = fd >= 0 && measure(fd, x);
    if (fd >= 0) close(fd);
    return ok;
}

/* A process may have dropped one meanwhile, which is needed no more then: its length stays 0. */
static bool link_all(struct agent *a, int to, struct hark_coded *table)
{
    if (linkat(a->store_fd, "job", to, "job", 0) < 0) return false;
    for (uint32_t i = 0; i < table->items; i++) {
        struct hark_coded_item *x = &table->item[i];
        if (x->host != table->me || link_image(a, to, x)) continue;
        const int why = errno;
        x->length = 0;
        if (why == ENOENT) {
            hark_coder_tell_gone(a, x->rank, x->id);
            continue;
        }
        hark_coder_say_trouble(a->coder, strerror(why));
        return false;
    }
    hark_coded_measure(table); /* its own; others may ask before it knows the lengths of theirs */
    return true;
}

struct hark_generation *hark_generation_new(struct hark_coder *c, struct hark_coded *table)
{
    char name[64], made[80];
    name_of(name, table);
    snprintf(made, sizeof made, "%s.new", name);
    struct hark_generation *g = NULL;
    if (mkdirat(c->directory, made, 0700) < 0) return NULL;
    const int fd = openat(c->directory, made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && link_all(c->a, fd, table)) g = add(c, table, fd);
    if (g) return g;
    if (fd >= 0) close(fd);
    char *path = hark_generation_path(c->a, table, ".new");
    if (path) hark_remove_tree(path);
    free(path);
    return NULL;
}

/* ---- what this host has in a stripe ---------------------------------------------------------- */

/* Bytes offset .. offset + length of chunk `chunk`, as far as they are of that image. Returns the
 * end of what it has filled in, 0 if nothing; -1: it can not be read. */
static ssize_t image_piece(const struct hark_generation *g, const struct hark_coded_item *x,
    uint32_t chunk, uint64_t offset, uint32_t length, uint8_t *at)
{
    const struct hark_code *c = &g->table.code;
    const uint64_t chunks = c->hosts - c->parity, first = x->row * HARK_CODE_UNIT,
                   behind = first + hark_code_rows(c, x->length) * HARK_CODE_UNIT;
    char name[64];
    ssize_t filled = 0;
    if (offset >= behind || offset + length <= first) return 0;
    image_name(name, x);
    const int fd = openat(g->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return -1;
    for (uint64_t i = offset < first ? first : offset; i < behind && i < offset + length;
         i += HARK_CODE_UNIT) {
        const uint64_t from = ((i / HARK_CODE_UNIT - x->row) * chunks + chunk) * HARK_CODE_UNIT,
                       left = from < x->length ? x->length - from : 0;
        const size_t n = left < HARK_CODE_UNIT ? (size_t)left : HARK_CODE_UNIT;
        if (n == 0) break;
        if (pread(fd, at + (i - offset), n, (off_t)from) != (ssize_t)n) {
            filled = -1;
            break;
        }
        filled = (ssize_t)(i - offset + n);
    }
    close(fd);
    return filled;
}

static ssize_t parity_piece(
    const struct hark_generation *g, uint32_t parity, uint64_t offset, uint32_t length, uint8_t *at)
{
    char name[32];
    hark_generation_parity_name(name, parity);
    const int fd = openat(g->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const ssize_t n = fd < 0 ? -1 : pread(fd, at, length, (off_t)offset);
    if (fd >= 0) close(fd);
    return n == (ssize_t)length ? n : -1;
}

ssize_t hark_generation_piece(
    const struct hark_generation *g, uint32_t stripe, uint64_t offset, uint32_t length, uint8_t *at)
{
    const struct hark_coded *t = &g->table;
    if (stripe >= t->code.hosts || length > HARK_CODER_PIECE || offset % HARK_CODE_UNIT ||
        length % HARK_CODE_UNIT || offset > UINT64_MAX / 2)
        return -1;
    const uint32_t parity = hark_code_parity(&t->code, stripe, t->me);
    if (parity != HARK_CODE_NONE) return g->kept ? parity_piece(g, parity, offset, length, at) : -1;
    ssize_t filled = 0;
    memset(at, 0, length);
    for (uint32_t i = 0; i < t->items; i++) {
        if (t->item[i].host != t->me) continue;
        const ssize_t n = image_piece(
            g, &t->item[i], hark_code_chunk(&t->code, stripe, t->me), offset, length, at);
        if (n < 0) return -1;
        if (n > filled) filled = n;
    }
    return filled;
}

/* ---- the table ------------------------------------------------------------------------------- */

uint8_t *hark_generation_table(const struct hark_generation *g, size_t *length)
{
    struct hark_control m;
    uint8_t *bytes = NULL;
    hark_control_begin(&m, HARK_A_CODES);
    hark_coded_put(&m, &g->table);
    for (uint32_t i = 0; i < g->table.code.parity; i++)
        hark_control_put_bytes(&m, g->sum[i], HARK_CODED_SUM);
    hark_control_end(&m);
    *length = m.length + HARK_CODED_SUM;
    if (!m.bad) bytes = malloc(*length);
    if (bytes) {
        memcpy(bytes, m.at, m.length);
        crypto_generichash(bytes + m.length, HARK_CODED_SUM, bytes, m.length, NULL, 0);
    }
    hark_control_free(&m);
    return bytes;
}

bool hark_generation_write(int directory, const uint8_t *table, size_t length)
{
    const int fd = openat(directory, "table.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < length;) {
        const ssize_t n = write(fd, table + at, length - at);
        ok = n > 0;
        at += ok ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    if (fd >= 0) ok = close(fd) == 0 && ok;
    return ok && renameat(directory, "table.new", directory, "table") == 0 && fsync(directory) == 0;
}

/* To be freed; NULL: it can not be read. */
static uint8_t *read_table(int directory, size_t *length)
{
    struct stat st;
    uint8_t *bytes = NULL;
    const int fd = openat(directory, "table", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > (off_t)HARK_CODED_SUM &&
        st.st_size <= (off_t)HARK_CONTROL_MAX)
        bytes = malloc((size_t)st.st_size);
    if (bytes && read(fd, bytes, (size_t)st.st_size) != (ssize_t)st.st_size) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes) *length = (size_t)st.st_size;
    if (fd >= 0) close(fd);
    return bytes;
}

static bool take_table(const uint8_t *bytes, size_t length, struct hark_generation *g)
{
    uint8_t sum[HARK_CODED_SUM];
    struct hark_control m;
    const size_t body = length - HARK_CODED_SUM;
    crypto_generichash(sum, sizeof sum, bytes, body, NULL, 0);
    if (memcmp(sum, bytes + body, sizeof sum) != 0) return false;
    if (hark_control_parse(&m, bytes, body) != (long)body || !hark_coded_get(&m, &g->table))
        return false;
    for (uint32_t i = 0; i < g->table.code.parity; i++) {
        uint32_t n;
        const uint8_t *at = hark_control_get_bytes(&m, &n);
        if (m.bad || n != HARK_CODED_SUM) return false;
        memcpy(g->sum[i], at, n);
    }
    return true;
}

bool hark_generation_load(struct hark_coder *c, const char *name)
{
    char is[64] = "";
    size_t length;
    struct hark_generation *g = NULL, read = {.fd = -1};
    const int fd = openat(c->directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    uint8_t *bytes = fd < 0 ? NULL : read_table(fd, &length);
    if (bytes && take_table(bytes, length, &read)) name_of(is, &read.table);
    free(bytes);
    if (strcmp(is, name) == 0) g = add(c, &read.table, fd);
    if (g) {
        memcpy(g->sum, read.sum, sizeof g->sum);
        return g->kept = true;
    }
    hark_coded_free(&read.table);
    if (fd >= 0) close(fd);
    hark_agent_say_line(c->a, HARK_A_SAY,
        "%s/codes/%s: its table is damaged; what this host has of the code is not used",
        c->a->store_path, name);
    return false;
}

/* ---- its end --------------------------------------------------------------------------------- */

static void remove_all(const struct agent *a, const struct hark_coded *g)
{
    for (int i = 0; i < 2; i++) {
        char *path = hark_generation_path(a, g, i ? ".new" : "");
        if (path) hark_remove_tree(path);
        free(path);
    }
}

void hark_generation_end(struct hark_coder *c, struct hark_generation *g, bool remove)
{
    struct hark_generation **at = &c->generation;
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    while (g->asker) {
        struct hark_asker *x = g->asker;
        g->asker = x->next;
        free(x);
    }
    if (remove) remove_all(c->a, &g->table);
    for (uint32_t i = 0; i < HARK_CODE_MOST; i++) free(g->address[i]);
    if (g->fd >= 0) close(g->fd);
    if (g->parity_fd >= 0) close(g->parity_fd);
    hark_coded_free(&g->table);
    free(g);
}
