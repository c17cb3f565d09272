/* trace.h: what one run did, event by event, for pictures and for people.
 *
 * Each incarnation of each process records into a part file of its own, and so does the supervisor.
 * A part begins with a shared mapping: what was recorded before a SIGKILL is in the kernel's page
 * cache and is read afterwards. (It does not survive the loss of the machine: a trace is no log.)
 * When the run is over the supervisor merges the parts into one text file, which a person can read
 * and hark_trace_read() parses.
 *
 * The text
 *     hark-trace 1 ranks=8 protocol=hydee transport=shm clusters=0-1,2-3,4-5,6-7
 *     12.345678 3.0 deliver from=2 ctx=0 ssn=17 phase=4 bytes=4096
 *     end records=1
 * First line: the job; clusters are separated by commas, the runs of ranks in one cluster by `+`.
 * Then a line for each record, by time: milliseconds since the first record, rank.incarnation (`r`
 * stands for the recovery process, `s` for the supervisor), the kind, and all fields of that kind
 * in the order of its table in trace_text.c. A peer may be followed by its incarnation
 * (`from=2.1`), a record by the word `logged`. The last line counts the records, so that truncation
 * is noticed; ` lost=M` is added to it when M records found no room, ` unfinished` when hark was
 * killed before the run's end.
 */
#ifndef HARK_VIEW_TRACE_H
#define HARK_VIEW_TRACE_H

#include <stdio.h>

#include "hark/hark.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_TRACE_ERROR      256 /* bytes of an error message, its NUL included */
#define HARK_TRACE_NAME       32  /* bytes of a protocol's or transport's name, its NUL included */
#define HARK_TRACE_RANKS_MAX  (1u << 20)       /* a trace of more processes is refused */
#define HARK_TRACE_SUPERVISOR (UINT32_MAX - 1) /* the rank under which the supervisor records */

enum hark_trace_status {
    HARK_TRACE_OK = 0,
    HARK_TRACE_EINVAL = -61,  /* an argument is out of its range */
    HARK_TRACE_ESYSTEM = -62, /* the system refused: no such file, no room, no memory */
    HARK_TRACE_EFORMAT = -63  /* the file is no trace, damaged, or truncated */
};

enum hark_trace_kind {
    HARK_TRACE_START = 1, /* the initial incarnation begins: phase */
    HARK_TRACE_RESTART,   /* a later incarnation begins, from checkpoint id (0: initial state): id,
                             phase */
    HARK_TRACE_SEND, /* the application posted a message that the log keeps: peer, ctx, ssn, phase,
                        bytes */
    HARK_TRACE_TRANSMIT, /* it went on the wire for the first time: as SEND. ssn 0: a control frame
                          */
    HARK_TRACE_REPLAY,   /* it went on the wire from the log: as SEND */
    HARK_TRACE_SUPPRESS, /* an orphan was not sent again: peer, ctx, ssn, phase */
    HARK_TRACE_ARRIVE,  /* a frame came off the wire; not again when it is offered again: as SEND */
    HARK_TRACE_DELIVER, /* the application took it: as SEND */
    HARK_TRACE_DISCARD, /* it was a duplicate or old; after its ARRIVE or without: peer, ctx, ssn */
    HARK_TRACE_CHECKPOINT, /* checkpoint id was captured: id, phase, bytes */
    HARK_TRACE_COMMIT,     /* checkpoint id is a recovery point: id */
    HARK_TRACE_ROLLBACK,   /* this incarnation ends, to begin again from checkpoint id: id */
    HARK_TRACE_FAILED,  /* announcement id (re) with D containing ranks peer .. last: id, peer, last
                         */
    HARK_TRACE_KILL,    /* `rank` was seen to die; recorded by the supervisor */
    HARK_TRACE_RELEASE, /* the recovery process released what waits in `phase` and below: phase */
    HARK_TRACE_RECOVERED, /* failure-free rules apply again at `rank` (supervisor: everywhere) */
    HARK_TRACE_FINISH,    /* the process is done */
    HARK_TRACE_DIVERGED,  /* the re-execution sent otherwise: peer, ctx, ssn, id (last ssn of the
                             range) */
    HARK_TRACE_CLUSTER,   /* from checkpoint id on this rank is in a cluster whose lowest rank is
                             peer; by the supervisor: id, peer */
    HARK_TRACE_KINDS      /* one more than the last kind */
};

enum {
    HARK_TRACE_PEER_INC = 1, /* peer_inc is meant */
    HARK_TRACE_LOGGED = 2    /* the sender's log keeps this message */
};

/* One record. What a kind does not name above is not written to the text, and read back as 0. */
struct hark_trace_record {
    uint64_t time; /* CLOCK_MONOTONIC in ns; as read from a text: ns since its first record */
    uint64_t ssn;
    uint64_t phase; /* of the message; at DELIVER, START, RESTART, CHECKPOINT: of the process, after
                       it */
    uint64_t bytes; /* of the payload or the image */
    uint64_t id;    /* checkpoint, re, or last ssn */
    uint32_t rank;  /* whom the record is about: a rank, HARK_RECOVERY or HARK_TRACE_SUPERVISOR */
    uint32_t inc;   /* and its incarnation */
    uint32_t peer;  /* the process transmitted to, or that sent; FAILED: first rank, HARK_RECOVERY:
                       none */
    uint32_t peer_inc; /* TRANSMIT, REPLAY: incarnation meant; ARRIVE, DELIVER, DISCARD: that sent
                          it */
    uint32_t last;     /* FAILED: last rank */
    uint16_t ctx;
    uint8_t flags; /* HARK_TRACE_PEER_INC, HARK_TRACE_LOGGED */
    uint8_t kind;  /* HARK_TRACE_* */
};
HARK_STATIC_ASSERT(
    sizeof(struct hark_trace_record) == 64, "a record is one cache line, without padding");

struct hark_trace_job {
    uint32_t ranks;          /* 1 .. HARK_TRACE_RANKS_MAX */
    const char *protocol;    /* lower-case letters, digits, - and _; below HARK_TRACE_NAME bytes */
    const char *transport;   /* the same */
    const uint32_t *cluster; /* number of the cluster of each rank, any numbers; NULL: all in one */
};

/* ---- recording ------------------------------------------------------------------------------- */

struct hark_trace_writer;

/* Creates the part file `path` (an existing one is emptied) and maps it. `limit` is the most that
 * the file may grow to, in bytes; 0: no limit. `job` is copied. Returns the writer, owned by the
 * caller until hark_trace_close(); or NULL with one line in `error`. */
struct hark_trace_writer *hark_trace_open(const char *path, const struct hark_trace_job *job,
    uint64_t limit, char error[HARK_TRACE_ERROR]);

/* Records *record, which is copied. Survives a SIGKILL from the moment this returns; a kill inside
 * loses this record only. A time below that of the record before is raised to it. One thread at a
 * time. `t` NULL: tracing is off, nothing happens. HARK_TRACE_EINVAL: no such kind.
 * HARK_TRACE_ESYSTEM: no room (disk full, or the limit); the record is counted as lost, and the
 * next ones are too. */
int hark_trace_add(struct hark_trace_writer *t, const struct hark_trace_record *record);

/* Records the announcement *record (rank, inc, time, id = re) with the set D, ascending: a FAILED
 * record for each run of ranks, one without ranks if count is 0. Errors as hark_trace_add. */
int hark_trace_add_failed(struct hark_trace_writer *t, const struct hark_trace_record *record,
    const uint32_t *down, uint32_t count);

/* Unmaps and frees; the file needs no end. NULL is allowed. */
void hark_trace_close(struct hark_trace_writer *t);

/* ---- merging --------------------------------------------------------------------------------- */

/* Merges the part files into the text file `out`. Their writers must be closed or dead. A part that
 * does not exist, or whose writer died while creating it, counts as empty; all others must belong
 * to one job, and at least one must be there. Times are comparable only if all processes share a
 * clock, or hark_trace_set_clock() was told of each part from another host. HARK_TRACE_EINVAL
 * (`out` is one of the parts), HARK_TRACE_ESYSTEM, HARK_TRACE_EFORMAT (a part is foreign or
 * damaged; what was written to `out` is then no whole trace): one line in `error`. Else `error` is
 * empty, or says how many records have found no room. */
int hark_trace_merge(
    const char *out, const char *const *parts, uint32_t count, char error[HARK_TRACE_ERROR]);
/* The same of a run whose supervisor was killed: the last line says that it is unfinished. */
int hark_trace_merge_unfinished(
    const char *out, const char *const *parts, uint32_t count, char error[HARK_TRACE_ERROR]);
/* For a part that has come from another host, by whose clock it is `ahead_ns` earlier than by ours.
 * HARK_TRACE_EFORMAT: it is no part; HARK_TRACE_ESYSTEM. */
int hark_trace_set_clock(const char *part, int64_t ahead_ns);

/* ---- reading --------------------------------------------------------------------------------- */

/* A whole trace in memory. hark_trace_read makes it and hark_trace_free frees what it owns; a
 * caller may also fill one from its own memory (records by time), and then frees it himself. */
struct hark_trace {
    struct hark_trace_job job;
    struct hark_trace_record *record; /* `count` of them, time non-decreasing */
    uint64_t count;
    uint64_t lost;   /* records that found no room */
    bool unfinished; /* hark was killed before the run's end: this is what was known by then */
};

/* Reads the text file `path` into *trace. On error *trace is empty, owns nothing, and `error` is
 * one line "FILE:LINE: expected WHAT, found 'THIS'". HARK_TRACE_ESYSTEM, HARK_TRACE_EFORMAT. */
int hark_trace_read(const char *path, struct hark_trace *trace, char error[HARK_TRACE_ERROR]);

/* Frees what hark_trace_read made and empties *trace. */
void hark_trace_free(struct hark_trace *trace);

/* Writes *trace as text to `out`, times relative to its first record. HARK_TRACE_EINVAL: the job or
 * a record is out of its range. HARK_TRACE_ESYSTEM: writing failed (errno says why). */
int hark_trace_write(const struct hark_trace *trace, FILE *out);

/* Of each rank of the job the lowest rank of its cluster: lowest[job->ranks], the caller's.
 * HARK_TRACE_ESYSTEM: no memory. */
int hark_trace_lowest(const struct hark_trace_job *job, uint32_t *lowest);

/* The word for a kind, as in the text; "?" for none. Never NULL. */
const char *hark_trace_kind_text(uint32_t kind);

/* NULL if the job can be written to a trace, else what is wrong with it. */
const char *hark_trace_job_invalid(const struct hark_trace_job *job);

#ifdef __cplusplus
}
#endif
#endif
