/* missed.c: what one run of a job must know of the one before: which hosts have missed that
 * checkpoints were undone, and how long its processes may still live.
 *
 * Numbers of checkpoints that are undone are given again. A host that was away then, dead or not
 * used by a run, may still have an image of such a number, which is whole and of another past. So
 * it is written down, in the store, beside the record, before an image of that number can be
 * decided again. A host that lives is told (UNDO), and may die before it hears it: until it has
 * confirmed that, it has missed it too. The file is `missed`, with lines
 *
 *     hark missed 2             the first; there was none before it had a digest
 *     host NAME                 has ever had images of this job
 *     undo NAME RANK CHECKPOINT its images of the rank behind that checkpoint are of another past
 *     lease MILLISECONDS        a run is on: when it dies its processes may live so much longer
 *     images DIR                hosts keep images there, on their own disks, and no run without
 *                               them has all of the job; `hark store` says so too
 *     digest DIGITS             the last: the checksum of all before it
 *
 * A new store gets one before it gets a record, so a job on hosts is not without.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../store/out.h"
#include "store_file.h"

#define FIRST_LINE "hark missed 2\n"
#define LAST_LINE  "digest "
enum { DIGITS = 32, LAST = sizeof LAST_LINE - 1 + DIGITS + 1 };

struct known {
    char name[HARK_HOST_NAME];
    const struct host *host; /* of this run; NULL: it is not used */
    uint64_t *above;         /* of each rank; UINT64_MAX: nothing was missed */
    bool in_file, not_yet;   /* the file says some of that; does not say all of it */
};

struct hark_missed {
    struct known *known;
    uint32_t count;
    uint64_t lease_ms; /* 0: the run before has ended its processes */
    char *images; /* of the run before, on the disks of its hosts; NULL: they are in the store */
    bool runs;
    bool there;  /* the file */
    bool begins; /* hosts may get images; their folder may not be told before there is a record */
};

static struct known *find(const struct hark_missed *m, const char *name)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (strcmp(m->known[i].name, name) == 0) return &m->known[i];
    return NULL;
}

/* NULL: no memory. */
static struct known *add(const struct supervisor *s, struct hark_missed *m, const char *name)
{
    struct known *k = find(m, name), *more;
    if (k) return k;
    uint64_t *above = malloc(s->o->ranks * sizeof *above);
    more = above ? realloc(m->known, (m->count + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        free(above);
        return NULL;
    }
    m->known = more;
    k = &more[m->count++];
    for (uint32_t r = 0; r < s->o->ranks; r++) above[r] = UINT64_MAX;
    *k = (struct known){.host = NULL, .above = above};
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum line { TAKEN, UNKNOWN, NO_MEMORY };

static enum line read_line(const struct supervisor *s, struct hark_missed *m, const char *line)
{
    char name[HARK_HOST_NAME];
    uint32_t rank;
    uint64_t checkpoint;
    struct known *k;
    if (sscanf(line, "lease %" SCNu64, &m->lease_ms) == 1) return TAKEN;
    if (strncmp(line, "images ", 7) == 0) {
        free(m->images);
        m->images = strndup(line + 7, strcspn(line + 7, "\n"));
        return m->images ? TAKEN : NO_MEMORY;
    }
    if (sscanf(line, "host %255s", name) == 1) return add(s, m, name) ? TAKEN : NO_MEMORY;
    if (sscanf(line, "undo %255s %" SCNu32 " %" SCNu64, name, &rank, &checkpoint) != 3 ||
        rank >= s->o->ranks)
        return UNKNOWN;
    k = add(s, m, name);
    if (k && checkpoint < k->above[rank]) k->above[rank] = checkpoint;
    if (k) k->in_file = true;
    return k ? TAKEN : NO_MEMORY;
}

/* The last line of these bytes, its newline included. */
static void put_digest(const char *text, size_t length, char line[LAST + 1])
{
    uint8_t digest[16];
    hark_digest(text, length, digest);
    size_t at = (size_t)snprintf(line, LAST + 1, LAST_LINE);
    for (size_t i = 0; i < sizeof digest; i++, at += 2)
        snprintf(line + at, LAST + 1 - at, "%02x", digest[i]);
    line[at++] = '\n';
    line[at] = 0;
}

/* Is this what was written? One of an earlier version has no digest: then each line must be known,
 * and there is one at least. */
static bool is_whole(const char *text, size_t length, bool *has_digest)
{
    const size_t first = sizeof FIRST_LINE - 1;
    char line[LAST + 1];
    *has_digest = length >= first && memcmp(text, FIRST_LINE, first) == 0;
    if (!*has_digest) return length > 0 && text[length - 1] == '\n' && strlen(text) == length;
    if (length < first + LAST) return false;
    put_digest(text, length - LAST, line);
    return memcmp(text + length - LAST, line, LAST) == 0;
}

static char *read_bytes(FILE *f, size_t *length)
{
    char *text = NULL, piece[4096];
    FILE *to = open_memstream(&text, length);
    for (size_t n; to && (n = fread(piece, 1, sizeof piece, f)) > 0;) fwrite(piece, 1, n, to);
    const bool ok = to && !ferror(f) && !ferror(to);
    const int why = errno;
    if (to && fclose(to) == 0 && ok) return text;
    free(text);
    errno = why;
    return NULL;
}

/* What is wrong with it: a text; NULL: nothing, or it is not there (m->there). */
static const char *read_all(const struct supervisor *s, struct hark_missed *m)
{
    static const char damaged[] = "it is damaged, its checksum or a line is wrong";
    size_t length = 0;
    bool has_digest;
    enum line taken = TAKEN;
    FILE *f = hark_sup_store_stream(s->store_path, "missed", "r");
    if (f == NULL) return errno == ENOENT ? NULL : hark_sup_store_file_why(errno);
    m->there = true;
    char *text = read_bytes(f, &length);
    const int why = errno;
    fclose(f);
    if (text == NULL) return strerror(why);
    const bool whole = is_whole(text, length, &has_digest);
    char *line = has_digest ? text + sizeof FIRST_LINE - 1 : text,
         *end = has_digest ? text + length - LAST : text + length;
    while (whole && line < end && (taken == TAKEN || (taken == UNKNOWN && has_digest))) {
        taken = read_line(s, m, line); /* a newer one may write more, with its digest */
        line = strchr(line, '\n') + 1;
    }
    free(text);
    if (taken == NO_MEMORY) return strerror(ENOMEM);
    return whole && (taken == TAKEN || has_digest) ? NULL : damaged;
}

static void put_all(const struct supervisor *s, FILE *f)
{
    const uint64_t before = s->missed->lease_ms, ours = s->o->host_timeout_ms;
    fputs(FIRST_LINE, f);
    if (s->missed->runs) fprintf(f, "lease %" PRIu64 "\n", before > ours ? before : ours);
    if (s->o->host_store && s->missed->begins) fprintf(f, "images %s\n", s->o->host_store);
    for (uint32_t i = 0; i < s->missed->count; i++) {
        const struct known *k = &s->missed->known[i];
        fprintf(f, "host %s\n", k->name);
        for (uint32_t r = 0; r < s->o->ranks; r++)
            if (k->above[r] != UINT64_MAX)
                fprintf(f, "undo %s %" PRIu32 " %" PRIu64 "\n", k->name, r, k->above[r]);
    }
}

/* NULL: no memory. */
static char *make_text(const struct supervisor *s, size_t *length)
{
    char *text = NULL, line[LAST + 1];
    FILE *f = open_memstream(&text, length);
    if (f) put_all(s, f);
    bool ok = f && fflush(f) == 0;
    if (ok) put_digest(text, *length, line);
    ok = ok && fputs(line, f) >= 0;
    if (f && fclose(f) == 0 && ok) return text;
    free(text);
    errno = ENOMEM;
    return NULL;
}

static bool write_all(const struct supervisor *s)
{
    char path[4096], made[4096 + 8];
    size_t length = 0;
    char *text = make_text(s, &length);
    if (text == NULL) return false;
    snprintf(path, sizeof path, "%s/missed", s->store_path);
    snprintf(made, sizeof made, "%s.new", path);
    hark_sup_away(s);
    FILE *f = hark_sup_store_stream(s->store_path, "missed.new", "w");
    bool ok = f != NULL;
    ok = ok && fwrite(text, 1, length, f) == length && fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f) ok = fclose(f) == 0 && ok;
    ok = ok && rename(made, path) == 0;
    const int directory = ok ? open(s->store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    ok = ok && directory >= 0 && fsync(directory) == 0;
    if (directory >= 0) close(directory);
    hark_sup_back(s);
    free(text);
    return ok;
}

static bool misses_some(const struct supervisor *s, const struct known *k)
{
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (k->above[r] != UINT64_MAX) return true;
    return false;
}

static void keep(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->missed->count; i++) {
        struct known *k = &s->missed->known[i];
        k->in_file = misses_some(s, k);
        k->not_yet = false;
    }
    if (write_all(s)) return;
    hark_sup_say(
        "store %s: cannot write down which hosts are away: %s; do not use their disks when "
        "the job is resumed",
        s->store_path, hark_sup_store_file_why(errno));
}

/* ---- what it is for -------------------------------------------------------------------------- */

/* A run without the hosts' disks finds no images, and would begin at the start again. */
static bool lacks_hosts(const struct supervisor *s)
{
    if (s->missed->images == NULL || s->o->host_store) return false;
    hark_sup_say("store %s: images of this job are on the disks of its hosts: it is resumed with "
                 "the same hosts, and with --host-store %s",
        s->o->store, s->missed->images);
    return true;
}

static const char new_store[] = "it says which checkpoints on the disks of hosts must not be used, "
                                "and without it the job can not go on; expected a copy of the "
                                "store that has it whole, or a new store";

int hark_sup_missed_open(struct supervisor *s)
{
    if (s->o->store == NULL) return 0;
    s->missed = calloc(1, sizeof *s->missed);
    const char *wrong = s->missed ? read_all(s, s->missed) : strerror(ENOMEM);
    if (wrong == NULL) return lacks_hosts(s) ? 2 : 0;
    hark_sup_say("store %s: missed: %s; %s", s->o->store, wrong, new_store);
    return s->missed ? 2 : 1;
}

int hark_sup_missed_made(struct supervisor *s)
{
    uint64_t id;
    if (s->missed == NULL || s->missed->there) return 0;
    const bool fresh = s->record->ops->list(s->record, 0, &id, 1) == 0;
    if (fresh && write_all(s)) return 0;
    if (fresh) hark_sup_say("store %s: missed: %s", s->o->store, hark_sup_store_file_why(errno));
    else if (s->o->hosts)
        hark_sup_say("store %s: missed: it is not there; %s", s->o->store, new_store);
    return fresh || s->o->hosts ? 2 : 0; /* stores of earlier versions have it with hosts only */
}

bool hark_sup_missed_begin(struct supervisor *s)
{
    for (uint32_t i = 0; s->missed && i < s->o->hosts; i++) {
        struct known *k = add(s, s->missed, s->host[i].name);
        if (k) k->host = &s->host[i];
        if (k) continue;
        hark_sup_say("no memory for %u hosts", s->o->hosts);
        return false;
    }
    if (s->missed) s->missed->runs = s->missed->begins = true, keep(s);
    return true;
}

void hark_sup_missed_undo(struct supervisor *s, const uint8_t *member)
{
    bool changed = false;
    for (uint32_t i = 0; s->missed && s->holdings && i < s->missed->count; i++) {
        struct known *k = &s->missed->known[i];
        const bool told = k->host && !k->host->lost;
        for (uint32_t r = 0; r < s->o->ranks; r++) {
            const uint64_t checkpoint = s->child[r].checkpoint;
            if (!member[r] || checkpoint >= k->above[r]) continue;
            k->above[r] = checkpoint;
            k->not_yet = true;
            /* If this run dies before a host confirms it, the next one does not know of it. */
            changed |= !told || hark_sup_takeover_allowed(s);
        }
    }
    if (changed) keep(s);
}

void hark_sup_missed_settle(struct supervisor *s)
{
    bool some = false;
    for (uint32_t i = 0; s->missed && i < s->o->hosts; i++) hark_sup_missed_look(&s->host[i]);
    for (uint32_t i = 0; s->missed && i < s->missed->count; i++)
        some |= s->missed->known[i].not_yet;
    if (some) keep(s);
}

uint64_t hark_sup_missed(const struct host *h, uint32_t rank)
{
    const struct known *k = h->s->missed ? find(h->s->missed, h->name) : NULL;
    return k ? k->above[rank] : UINT64_MAX;
}

void hark_sup_missed_look(struct host *h)
{
    if (h->undone_at == 0 || h->session.confirmed < h->undone_at) return;
    struct known *k = h->s->missed ? find(h->s->missed, h->name) : NULL;
    h->undone_at = 0;
    for (uint32_t r = 0; k && r < h->s->o->ranks; r++) k->above[r] = UINT64_MAX;
    if (k) k->not_yet = false;
    if (k && k->in_file) keep(h->s);
}

void hark_sup_missed_over(struct supervisor *s)
{
    const uint64_t before = s->missed ? s->missed->lease_ms : 0;
    if (s->missed) s->missed->lease_ms = 0;
    if (before > (s->o->hosts ? s->o->host_timeout_ms : 0)) keep(s);
}

bool hark_sup_missed_images(const struct supervisor *s)
{
    return s->missed && s->missed->images;
}

uint64_t hark_sup_missed_lease(const struct supervisor *s)
{
    return s->missed ? s->missed->lease_ms : 0;
}

void hark_sup_missed_end(struct supervisor *s, bool all_ended)
{
    if (s->missed && s->missed->runs && all_ended) s->missed->runs = false, keep(s);
}

void hark_sup_missed_close(struct supervisor *s)
{
    for (uint32_t i = 0; s->missed && i < s->missed->count; i++) free(s->missed->known[i].above);
    if (s->missed) free(s->missed->known);
    if (s->missed) free(s->missed->images);
    free(s->missed);
    s->missed = NULL;
}
