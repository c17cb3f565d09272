/* journal_away.h: the journal's copy, in a job of several hosts.
 *
 * A journal lies in the memory of its host, and is lost with that. So what goes into it is said to
 * `hark run` too, which gives it to the next incarnation if that begins on another host. It is said
 * before a message leaves that may depend on it. Under protocols for programs whose sends depend on
 * what they have read (HARK_FOR_PIECEWISE) nobody would notice that a reading is another one after
 * a failure: there the message waits until the copy has it, and so does output that may not be
 * taken back. Under the others a digest tells (sends), or all go back (any): nothing waits.
 */
#ifndef HARK_PROCESS_JOURNAL_AWAY_H
#define HARK_PROCESS_JOURNAL_AWAY_H

#include <stdbool.h>

#include "journal_file.h"

/* Takes the file of the journal from the supervisor, if SETUP says that it follows. */
void hark_journal_away_restore(void);

/* The journal has changed: also its prologue (`begun`). */
void hark_journal_away_changed(struct hark_journal_file *f);
void hark_journal_away_begun(struct hark_journal_file *f);
/* As the functions of journal_file.h of these names. */
void hark_journal_away_image(struct hark_journal_file *f, uint64_t id, uint64_t position);
void hark_journal_away_dropped(struct hark_journal_file *f, uint64_t id);
void hark_journal_away_undone(struct hark_journal_file *f, uint64_t id);
/* The supervisor has answered. */
void hark_journal_away_kept(uint64_t n);

/* hark_process.unsettled is set: a message is about to leave. Says what has changed, and waits if
 * it must. */
void hark_journal_settle(void);
/* Says what has changed. True if a message would not wait. */
bool hark_journal_settled(void);

#endif
