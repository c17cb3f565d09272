/* What a process does with files, it does once.
 *
 * A process that dies executes again, and comes to its reads and writes a second time. Meanwhile
 * others may have overwritten or deleted what it wrote or read. So each result goes into the
 * journal (../process/journal.h), under a key that says what was done: the next execution finds it
 * there, and leaves the file alone. What a read has returned is in the journal too, up to a limit;
 * beyond it there is a digest, and the file must have the same bytes again.
 *
 * Under the protocols for send-deterministic programs it may do them in another order. Under the
 * others it may do something else, since nobody depends on what it did: from the first difference
 * on all is done again, or what it did before would take the place of what it does later.
 *
 * A process that is killed between a write and its entry in the journal writes the same bytes
 * again: nobody can have waited for them.
 */
#include "../process/journal.h"
#include "file.h"

/* Bytes that a process keeps of its reads between two checkpoints. */
enum { KEPT_BYTES = 64 << 20 };
static size_t kept;

void hark_mpi_file_once_trimmed(void)
{
    kept = 0;
}

/* ---- digests ----------------------------------------------------------------------------------
 */

static uint64_t digest_of(const void *data, size_t length)
{
    const uint8_t *at = data;
    uint64_t digest = hark_mpi_file_mix(1, length), word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        digest = hark_mpi_file_mix(digest, word);
    }
    word = 0;
    memcpy(&word, at, length);
    return hark_mpi_file_mix(hark_mpi_file_mix(digest, word), 2);
}

static struct hark_journal_key key_of(const struct deed *d)
{
    uint64_t what = digest_of(d->path, strlen(d->path));
    const uint64_t more[] = {d->does, (uint64_t)d->at, d->length, d->layout};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        what = hark_mpi_file_mix(what, more[i]);
    return (struct hark_journal_key){what, d->content ? digest_of(d->content, d->length) : 0};
}

/* ---- results ----------------------------------------------------------------------------------
 */

bool hark_mpi_file_done(const struct deed *d, long long *result)
{
    long long found;
    if (hark_journal_find(key_of(d), &found, sizeof found) == sizeof found) {
        *result = found;
        return true;
    }
    /* The beginning of a program with checkpoints, whose part of the journal was too long: all of
     * it was done long ago. */
    *result = d->does == DEED_WRITE ? (long long)d->length : 0;
    return hark_prologue.replaying && d->does != DEED_SIZE;
}

void hark_mpi_file_did(const struct deed *d, long long result)
{
    hark_journal_keep(key_of(d), &result, sizeof result);
}

/* ---- reads ------------------------------------------------------------------------------------
 */

struct reading {
    long long result;
    uint64_t digest;
    uint64_t kept; /* bytes that follow, in entries of their own */
};

static struct hark_journal_key part_of(struct hark_journal_key key, size_t part)
{
    key.content = part + 1;
    return key;
}

static bool find_parts(struct hark_journal_key key, uint8_t *data, size_t length)
{
    for (size_t at = 0, part = 0; at < length; at += HARK_JOURNAL_RESULT, part++) {
        size_t n = length - at < HARK_JOURNAL_RESULT ? length - at : HARK_JOURNAL_RESULT;
        if (hark_journal_find(part_of(key, part), data + at, n) != (ptrdiff_t)n) return false;
    }
    return true;
}

static void expect(const struct deed *d, const struct reading *r, const void *data, long long now)
{
    if (now == r->result && digest_of(data, (size_t)now) == r->digest) return;
    hark_mpi_fatal(1,
        "after a failure, %s has other bytes at offset %lld than when this process first read them:"
        " it was overwritten since, and hark keeps no more than %d MiB of what a process reads "
        "between two checkpoints",
        d->path, (long long)d->at, KEPT_BYTES >> 20);
}

/* What an earlier execution has read and not kept: *expected is set, until it is read again. */
static struct reading expected;
static bool expects;

bool hark_mpi_file_done_read(const struct deed *d, void *data, long long *result)
{
    struct hark_journal_key key = key_of(d);
    struct reading r;
    expects = false;
    if (hark_journal_find(key, &r, sizeof r) != sizeof r) return false;
    *result = r.result;
    if (r.result <= 0 || (r.kept && find_parts(key, data, (size_t)r.result))) return true;
    expected = r;
    expects = true;
    return false;
}

void hark_mpi_file_did_read(const struct deed *d, const void *data, long long result)
{
    struct hark_journal_key key = key_of(d);
    struct reading r = {.result = result};
    size_t length = result > 0 ? (size_t)result : 0;
    if (expects) {
        expects = false;
        expect(d, &expected, data, result);
        return;
    }
    r.digest = digest_of(data, length);
    if (length <= KEPT_BYTES - kept) r.kept = length;
    kept += r.kept;
    hark_journal_keep(key, &r, sizeof r);
    for (size_t at = 0, part = 0; at < r.kept; at += HARK_JOURNAL_RESULT, part++) {
        size_t n = length - at < HARK_JOURNAL_RESULT ? length - at : HARK_JOURNAL_RESULT;
        hark_journal_keep(part_of(key, part), (const uint8_t *)data + at, n);
    }
}
