/* journal_kept.h: entries of a journal that are found by a key instead of by their order.
 *
 * What a process does with files has results that no re-execution would repeat (a file that it
 * deleted is gone), and must not be done twice (others may have written there since). So each
 * result is kept under a key that says what was done. Two calls may change places, since the order
 * in which a process takes messages may change; the n-th call with a key gets the n-th result. Who
 * does not want that asks first whether the order is that of the journal.
 */
#ifndef HARK_PROCESS_JOURNAL_KEPT_H
#define HARK_PROCESS_JOURNAL_KEPT_H

#include "journal.h"
#include "journal_file.h"

/* Those at [from, to) may be found from here on, and none of them was. */
void hark_journal_kept_begin(uint64_t from, uint64_t to);
/* The next result with this key: its length, and at most `room` bytes of it. -1: there is none. */
ptrdiff_t hark_journal_kept_find(
    struct hark_journal_file *f, struct hark_journal_key key, void *value, size_t room);
/* True: of those that were not found yet, the first in the journal has this key; or there are none.
 */
bool hark_journal_kept_follows(struct hark_journal_file *f, struct hark_journal_key key);
/* The first position from `position` on that has no kept entry. */
uint64_t hark_journal_kept_skip(struct hark_journal_file *f, uint64_t position, uint64_t limit);
/* The same, where entries that were not found yet count as others do. */
uint64_t hark_journal_kept_skip_found(
    struct hark_journal_file *f, uint64_t position, uint64_t limit);

#endif
