#include "journal_kept.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    struct hark_journal_key key;
    uint64_t position;
    size_t number; /* so many are before it in the journal */
    size_t found;  /* of the first with this key: how many with it were found */
};

static struct {
    uint64_t from, to;
    bool sorted; /* the table is made: when the first is looked for */
    struct kept *kept;
    size_t count, room;
    size_t found; /* of all */
} table;

static uint8_t entry[HARK_JOURNAL_ENTRY];

void hark_journal_kept_begin(uint64_t from, uint64_t to)
{
    table.from = from;
    table.to = to;
    table.sorted = from == to;
    table.count = table.found = 0;
}

/* Length of the kept entry at *position, which `entry` then has; *position is behind it. 0: what is
 * there is none. */
static size_t read_kept(struct hark_journal_file *f, uint64_t *position)
{
    uint8_t found;
    size_t length;
    enum hark_journal_found result =
        hark_journal_read(f, position, 0, entry, 0, &found, &length); /* none has kind 0 */
    if (result != HARK_JOURNAL_DIFFERENT || found != HARK_JOURNAL_KEPT) return 0;
    (void)hark_journal_read(f, position, found, entry, length, &found, &length);
    return length;
}

/* Passes an entry of any kind; false: it is damaged. */
static bool pass(struct hark_journal_file *f, uint64_t *position)
{
    uint8_t found;
    size_t length;
    if (hark_journal_read(f, position, 0, entry, 0, &found, &length) == HARK_JOURNAL_DAMAGED)
        return false;
    return hark_journal_read(f, position, found, entry, length, &found, &length) ==
           HARK_JOURNAL_GIVEN;
}

static int compare_keys(struct hark_journal_key a, struct hark_journal_key b)
{
    if (a.what != b.what) return a.what < b.what ? -1 : 1;
    return a.content < b.content ? -1 : a.content > b.content;
}

static int compare(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    int order = compare_keys(x->key, y->key);
    return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

static bool note(uint64_t position)
{
    if (table.count == table.room) {
        size_t room = table.room * 2 + 256;
        struct kept *more = realloc(table.kept, room * sizeof *more);
        if (more == NULL) return false;
        table.kept = more;
        table.room = room;
    }
    struct kept *k = &table.kept[table.count];
    *k = (struct kept){.position = position, .number = table.count++};
    memcpy(&k->key, entry, sizeof k->key);
    return true;
}

/* Without memory fewer are found: what they did is done again. */
static void make_table(struct hark_journal_file *f)
{
    uint64_t start = hark_journal_start(f), position = table.from > start ? table.from : start;
    table.sorted = true;
    while (position < table.to) {
        uint64_t at = position;
        if (read_kept(f, &position)) {
            if (!note(at)) break;
        } else if (!pass(f, &position)) break;
    }
    if (table.count) qsort(table.kept, table.count, sizeof *table.kept, compare);
}

/* The first with this key; NULL: there is none. */
static struct kept *first_of(struct hark_journal_key key)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(table.kept[middle].key, key) < 0) low = middle + 1;
        else high = middle;
    }
    if (low == table.count || compare_keys(table.kept[low].key, key)) return NULL;
    return &table.kept[low];
}

/* The next with the key of the first: the first that was not found yet. NULL: there is none. */
static const struct kept *next_of(const struct kept *first)
{
    if (first == NULL) return NULL;
    const struct kept *next = first + first->found;
    return next == table.kept + table.count || compare_keys(next->key, first->key) ? NULL : next;
}

bool hark_journal_kept_follows(struct hark_journal_file *f, struct hark_journal_key key)
{
    if (!table.sorted) make_table(f);
    if (table.found == table.count) return true;
    const struct kept *next = next_of(first_of(key));
    return next && next->number == table.found;
}

ptrdiff_t hark_journal_kept_find(
    struct hark_journal_file *f, struct hark_journal_key key, void *value, size_t room)
{
    if (!table.sorted) make_table(f);
    struct kept *first = first_of(key);
    const struct kept *next = next_of(first);
    if (next == NULL) return -1;
    first->found++;
    table.found++;
    uint64_t position = next->position;
    if (position < hark_journal_start(f)) return -1; /* trimmed meanwhile */
    size_t length = read_kept(f, &position);
    if (length < sizeof key) return -1;
    length -= sizeof key;
    if (value) memcpy(value, entry + sizeof key, length < room ? length : room);
    return (ptrdiff_t)length;
}

uint64_t hark_journal_kept_skip(struct hark_journal_file *f, uint64_t position, uint64_t limit)
{
    while (position < limit && read_kept(f, &position)) continue;
    return position;
}

/* `entry` has the one at `position`. Those that this process has kept itself are not in the table.
 */
static bool was_found(uint64_t position)
{
    struct hark_journal_key key;
    if (position >= table.to) return true;
    memcpy(&key, entry, sizeof key);
    const struct kept *first = table.sorted ? first_of(key) : NULL;
    for (size_t i = 0; first && i < first->found; i++)
        if (first[i].position == position) return true;
    return false;
}

uint64_t hark_journal_kept_skip_found(
    struct hark_journal_file *f, uint64_t position, uint64_t limit)
{
    for (uint64_t next = position; position < limit; position = next)
        if (!read_kept(f, &next) || !was_found(position)) break;
    return position;
}
