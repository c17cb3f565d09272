/* control.h: what the supervisor and a process of the job say to each other.
 *
 * A stream socket that the process inherits; its number is in the environment as HARK_CONTROL.
 * Messages: u32 length of what follows, u16 type, u16 0, then the fields below, little-endian;
 * strings are u16 length and bytes, bytes are u32 length and bytes. The process is alive as long as
 * its end is open: end of file, confirmed by waitpid, is its death.
 *
 *   supervisor -> process
 *     SETUP     first, and again behind GO: the whole configuration as lines `key=value` (see
 *               struct hark_setup), bytes
 *     PEER      rank u32, inc u32, address string: where an incarnation is reached
 *     FAILED    re u32, D: u32 count + ranks u32, incarnations: u32 count + (rank u32, inc u32),
 *               waves:
 *               u32 count + (group u32, wave u64). Not before HELLO: then the present one, if there
 *               is any
 *     STORED    fact u32, id u64, ok u32: the answer to PERSIST
 *     MARKED    id u64, out u64, err u64, pending bytes: the answer to MARK; pending is what of the
 *               output was not
 *               written yet, belongs into the image, and comes back with HELLO. out is UINT64_MAX
 *               if the output can
 *               not be kept now: no image can be taken
 *     ASK       n u64: answer STABLE n when no failure can take back any more what led to here
 *     GO        the answer to AGAIN: nothing more for this incarnation; SETUP, for the next one,
 *               follows
 *     QUIET     nothing in the job can move; the answer of a process with an application is WAITS
 *     CHECKPOINT  take a checkpoint at the next checkpoint call, though none is due
 *     CLUSTERS  text string, as a cluster file with ';': the clusters that the first checkpoint
 *               brings into force at which all know them
 *     INPUT_SET the answer to INPUT: from here on descriptor 0 gives what comes next
 *     ALL_DONE  every process has finished, durably: finalize may return
 *     JOURNAL   last u32, at u64, bytes: behind a SETUP with `restores`: of the file of its
 * journal, which is lost where it ran before READINGS_KEPT  n u64: the answer to READINGS n; 0:
 * answers may be lost, all is said again process -> supervisor HELLO     inc u32, out u64, err u64,
 * address string, pending bytes, pid u32: up, and where; positions of the output in the image
 *     PERSIST   fact u32, peer u32, re u32, id u64, oldest u64, map u32: of a wave, the oldest
 *               checkpoint that is kept, and 1
 *               if it brings the clusters into force that CLUSTERS has told
 *     MARK      id u64, ahead u64: all output written before this belongs to checkpoint id, and
 *               of the input all that was read but the last `ahead` bytes
 *     ABORT     status u32: the program ends the whole job, with that exit status
 *     INPUT     its memory is as in its image: its input is to go on where it was then
 *     STABLE    n u64: the answer to ASK, maybe much later
 *     AGAIN     kept u32, why string: it goes back as FAILED said, and executes its program again;
 *               kept is the
 *               descriptor of what it keeps. With a `why`, also behind an earlier AGAIN: it can
 *               not, and ends itself
 *     WAITS     call string, what u32, from i32, tag i32, count u32, calls u64, untaken u32, from
 *               i32, tag i32: see struct hark_waits
 *     FINISHED  the application has called finalize
 *     DIVERGED  text string: one line
 *     TROUBLE   text string: one line; the run goes on, though without what failed
 *     NOTE      text string: one line, which is said once in a run
 *     APART     rank u32, milliseconds u64, text string: what it has sent to that one has waited so
 *               long for a connection; where that is, and what came of the last attempt
 *     READINGS  n u64, what u32 (HARK_READINGS_*), at u64, value u64, bytes: of its journal, which
 * is kept by the supervisor too. n is 0 if it waits for no answer FATAL     text string: one line;
 * the process ends itself right after, and the job with it
 */
#ifndef HARK_CONTROL_CONTROL_H
#define HARK_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hark/transport.h"

enum hark_control_type {
    HARK_C_SETUP = 1,
    HARK_C_PEER,
    HARK_C_FAILED,
    HARK_C_STORED,
    HARK_C_MARKED,
    HARK_C_QUIET,
    HARK_C_ALL_DONE,
    HARK_C_ASK,
    HARK_C_GO,
    HARK_C_LOOK,
    HARK_C_CLUSTERS,
    HARK_C_CHECKPOINT,
    HARK_C_INPUT_SET,
    HARK_C_JOURNAL,
    HARK_C_READINGS_KEPT,
    HARK_C_HELLO = 32,
    HARK_C_PERSIST,
    HARK_C_MARK,
    HARK_C_FINISHED,
    HARK_C_DIVERGED,
    HARK_C_FATAL,
    HARK_C_TROUBLE,
    HARK_C_STABLE,
    HARK_C_AGAIN,
    HARK_C_WAITS,
    HARK_C_NOTE,
    HARK_C_INPUT,
    HARK_C_ABORT,
    HARK_C_APART,
    HARK_C_READINGS
};

#define HARK_FRAME_LIMIT                                                                           \
    (UINT64_C(1) << 30)                /* of every transport, if it is not told another, bytes */
#define HARK_SETUP_OPTIONS 512         /* bytes of hark_setup.options at most */
#define HARK_CONTROL_MAX   (16u << 20) /* no message is longer, bytes */

/* A message being made or read. Made ones own `at` (hark_control_free); reading past the end sets
 * `bad`. */
struct hark_control {
    uint8_t *at;
    size_t length, room, next;
    uint16_t type;
    bool bad;
    bool lent; /* `at` is the caller's, and does not grow */
};

void hark_control_begin(struct hark_control *m, uint16_t type);
/* The same in the caller's memory: what must be said also when there is no other. */
void hark_control_begin_in(struct hark_control *m, uint16_t type, void *memory, size_t room);
void hark_control_put32(struct hark_control *m, uint32_t v);
void hark_control_put64(struct hark_control *m, uint64_t v);
void hark_control_puts(struct hark_control *m, const char *text, size_t length);
void hark_control_put_bytes(struct hark_control *m, const void *at, uint32_t length);
/* Completes the length field: m->at .. m->length is what goes on the wire. */
void hark_control_end(struct hark_control *m);
void hark_control_free(struct hark_control *m);

/* Looks for a whole message at the beginning of `at`: its total length, 0 if it is not all there,
 * -1 if it can not be one. On success *m reads its fields (it points into `at`, do not free). */
long hark_control_parse(struct hark_control *m, const uint8_t *at, size_t length);
uint32_t hark_control_get32(struct hark_control *m);
uint64_t hark_control_get64(struct hark_control *m);
/* Points into the message; not terminated. */
const char *hark_control_gets(struct hark_control *m, size_t *length);
const uint8_t *hark_control_get_bytes(struct hark_control *m, uint32_t *length);

/* What WAITS says: where an application waits. */
enum hark_waits_for {
    HARK_WAITS_NOT,        /* it does not wait in a call of hark */
    HARK_WAITS_MESSAGE,    /* for one message, of `from` with `tag` */
    HARK_WAITS_ANY,        /* for one of `count` messages */
    HARK_WAITS_COLLECTIVE, /* in a collective call, for a message of `from` */
    HARK_WAITS_CHECKPOINT, /* in a checkpoint call: for the others that take part in it */
    HARK_WAITS_FINALIZE,
    HARK_WAITS_ROOM /* in a send: for room */
};
struct hark_waits {
    char call[32];     /* the function that the application has called; empty: none */
    uint32_t what;     /* enum hark_waits_for */
    int32_t from, tag; /* -1: any */
    uint32_t count;
    uint64_t calls;   /* of hark_checkpoint, since the job began, this one included */
    uint32_t untaken; /* messages that have come and that no receive has taken */
    int32_t untaken_from, untaken_tag; /* of the first of them */
};
void hark_waits_put(struct hark_control *m, const struct hark_waits *w);
bool hark_waits_get(struct hark_control *m, struct hark_waits *w); /* false: it can not be read */

/* What SETUP says. Strings are owned by the struct (hark_setup_free). */
enum {                    /* which readings go into the journal of a process */
    HARK_KEEPS_WTIME = 1, /* hark_wtime */
    HARK_KEEPS_CLOCK = 2, /* the clocks of the C library */
    HARK_KEEPS_RANDOM = 4 /* getrandom and others */
};
/* READINGS: what is said of the journal. */
enum hark_readings {
    HARK_READINGS_ARE,     /* from `at` on, to its end, it is these bytes; more may follow */
    HARK_READINGS_BEGIN,   /* it is empty, and goes on at `at` */
    HARK_READINGS_PINNED,  /* its prologue is these bytes */
    HARK_READINGS_IMAGE,   /* image `value` was taken at `at` */
    HARK_READINGS_DROPPED, /* image `value` is not needed any more */
    HARK_READINGS_UNDONE   /* images beyond `value` are undone */
};

struct hark_setup {
    uint32_t rank; /* UINT32_MAX: the recovery process */
    uint32_t ranks, inc;
    uint32_t re;         /* 0: the first start */
    uint64_t checkpoint; /* id of the image to restart from; 0: the initial state */
    char *job;           /* name, also in the names of segments and sockets */
    char *directory;     /* of the job, for sockets, traces and spilled logs */
    char *store;         /* directory of the checkpoint store */
    char *protocol, *transport;
    char *options;  /* of the protocol, as hark_options_write has them; NULL: none */
    char *clusters; /* ranks of each cluster, as in a cluster file, separated by ';' */
    char *trace;    /* where this process writes its part of the trace; NULL: none */
    char *listen;   /* what the transport listens on; NULL: as it chooses */
    char *spill;    /* NULL: the log does not spill */
    char *host;     /* name of the one that was chosen for the rank when the job began, also if it
                       runs on another one now; NULL: there are no hosts */
    char *again;    /* checkpoints beyond that one which are undone, ascending, each with a comma
                       behind it; NULL: none */
    uint64_t log_limit;   /* bytes, 0: none */
    uint64_t interval_ms; /* between checkpoints; 0: only when asked; 1: at every call */
    uint64_t mtbf_ms; /* of the job; not 0: interval_ms is only until the cost of a checkpoint is
                         known */
    uint32_t generations, digest;
    uint32_t waits;       /* 1: for each image to be durable, instead of copying it */
    uint32_t incremental; /* 1: images without the blocks that older ones have */
    uint32_t compression; /* of images: enum hark_compression */
    uint32_t keeps;       /* HARK_KEEPS_*, if there is a journal */
    uint32_t record;      /* 1: what it sends and takes goes into DIRECTORY/record-RANK */
    uint32_t steady;      /* 1: the readings of `keeps` are the same in every run */
    uint32_t encrypts;    /* 1: the transport encrypts what leaves the host */
    uint32_t traffic;     /* 1: the board has rows for who sends how much to whom */
    uint32_t readings;    /* 1: what goes into the journal is said to the supervisor too */
    uint32_t restores;    /* 1: JOURNAL follows */
    uint32_t program;     /* which of the job's programs it is, from 0 */
    uint64_t kill_at; /* SIGKILL myself when I have made that many deliveries since the job began;
                         0: never */
    uint64_t frame_limit;                    /* bytes of header and payload; 0: HARK_FRAME_LIMIT */
    uint64_t option[HARK_TRANSPORT_OPTIONS]; /* the transport's own */
    uint8_t key[32];
    int board;    /* descriptor of the board, inherited */
    int journal;  /* of the journal of this process (src/process/journal.h), inherited; -1: none */
    int store_fd; /* of the store's directory, inherited: it stays when the directory is renamed;
                     -1: none */
    int kept;     /* descriptor of what the earlier incarnation of this process kept; -1: nothing */
};
/* Lines `key=value`; returns a string to be freed, or NULL without memory. */
char *hark_setup_write(const struct hark_setup *s);
/* 0, or -1 and one line in error. */
int hark_setup_read(struct hark_setup *s, const char *text, size_t length, char error[200]);
void hark_setup_free(struct hark_setup *s);

#endif
