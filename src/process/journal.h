/* journal.h: the readings of this process that no re-execution would repeat: clocks, random
 * numbers.
 *
 * A process that is killed, or rolls back, executes again and would read other values; what it then
 * sends would differ from what others have received. So each reading is recorded in memory that
 * survives the process (journal_file.h), and given again in the same order to the next incarnation,
 * up to the end of the journal. An image holds the position at which it was taken; readings before
 * the oldest image that may still be needed are trimmed.
 *
 * Whoever makes a reading calls hark_journal_next(); if it returns false, reads the source, and
 * calls hark_journal_record(). Only the application's thread may call. Without a journal (a job of
 * one, `--journal none`, a protocol that survives no failure) the first returns false, and the
 * second does nothing.
 */
#ifndef HARK_PROCESS_JOURNAL_H
#define HARK_PROCESS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hark_transport;

enum hark_journal_kind {
    HARK_JOURNAL_WTIME = 1,      /* hark_wtime, MPI_Wtime */
    HARK_JOURNAL_TIME_OF_DAY,    /* gettimeofday */
    HARK_JOURNAL_TIME,           /* time */
    HARK_JOURNAL_PROCESSOR_TIME, /* clock */
    HARK_JOURNAL_TIMES,          /* times */
    HARK_JOURNAL_USAGE,          /* getrusage */
    HARK_JOURNAL_RANDOM,         /* getrandom and others */
    HARK_JOURNAL_KEPT,           /* found by its key: hark_journal_find */
    HARK_JOURNAL_AGAIN,          /* hark_wtime, the same several times: hark_journal_time */
    HARK_JOURNAL_CLOCK = 32      /* clock_gettime; + the number of the clock, below 32 */
};

/* True: *value is what the first execution read here. The kind and the length must be those of that
 * reading: if they are not, the process took another way than before. Under a protocol for
 * send-deterministic programs this ends the job with a line; under the others the rest of the
 * journal is forgotten, since the order of messages may rightly have been another one. */
bool hark_journal_next(uint8_t kind, void *value, size_t length);
/* Records a reading, of at most 16 KiB, before the caller uses it. If the journal is full or cannot
 * grow, a line says so once, and readings are recorded again from the next image on. */
void hark_journal_record(uint8_t kind, const void *value, size_t length);

/* As hark_journal_record(), of hark_wtime. A program that waits for a time reads it millions of
 * times a second. After 50 us of that *seconds may become what it has read before, less than 100 us
 * and a thousandth of that wait ago, and the journal counts how often. */
void hark_journal_time(double *seconds);

/* The reading of `hark run --steady`, in the place of what the source says: steady.c. */
void hark_steady_fill(uint8_t kind, void *value, size_t length);
/* Results that are found by what was done, not by their order: journal_kept.h. */
struct hark_journal_key {
    uint64_t what, content; /* digests */
};
/* Longest result, bytes. */
#define HARK_JOURNAL_RESULT (16384 - sizeof(struct hark_journal_key))
/* The result that the first execution kept at its n-th call with this key, if this is the n-th call
 * since the image: its length, and at most `room` bytes of it. -1: it kept none. Under a protocol
 * that is not for send-deterministic programs the calls must come in the same order: from the first
 * other one on the rest of the journal is forgotten. */
ptrdiff_t hark_journal_find(struct hark_journal_key key, void *value, size_t room);
/* Keeps a result of at most HARK_JOURNAL_RESULT bytes, before the caller uses it. */
void hark_journal_keep(struct hark_journal_key key, const void *value, size_t length);

/* For app.c and open.c. */
void hark_journal_open(void);
void hark_journal_close(void);
/* A new incarnation begins from image `checkpoint` (0: the initial state), taken at `position`. */
void hark_journal_restart(uint64_t checkpoint, uint64_t position);
/* The program has its protected memory (back): what it reads from here on follows the image. */
void hark_journal_ready(void);
/* Image `id` is taken: the position. */
uint64_t hark_journal_captured(uint64_t id);
void hark_journal_dropped(uint64_t id);

/* Readings of the C library go into the journal too, if `hark run` was asked for it: from here on.
 */
void hark_journal_connect_calls(void);
void hark_journal_disconnect_calls(void);
/* What this transport reads does not. */
void hark_journal_guard(struct hark_transport *t);
/* Not 0: hark itself reads a clock, in the application's thread. */
extern unsigned hark_journal_inside;

/* Latest value of hark_wtime, for images: it never goes back, also on a machine that was restarted.
 */
double hark_wtime_latest(void);
void hark_wtime_restart(double latest);

#endif
