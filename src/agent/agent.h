/* agent.h: an agent: what of a job runs on one host, for a supervisor on another one. It starts and
 * watches the processes of its host, carries what they say and print, and cleans up.
 *
 * A launcher starts it (`ssh HOST hark agent`, srun), and writes to its standard input lines:
 *
 *     hark agent VERSION
 *     key HEX               the job's, 32 bytes
 *     silent MILLISECONDS   how long the supervisor may be out of reach
 *     host NAME             as which host of the job it reports; absent: under the names it has
 *     supervisor ADDRESS    HOST:PORT, one or more, tried in this order
 *     end
 *
 * The rest is said over one connection (connection.h), in messages of control.h. Slots are the
 * processes of the job: rank, or the number of ranks for the recovery process.
 *
 *   the first on each connection, the agent's and the answer
 *     HELLO     version u32, session u64 (0: a new one), heard u64, number u32 (of the agent's
 *               connections), name string, more names: u32 count + strings, pid u32, run u64: of
 *               the supervisor that it serves
 *     JOB       begins a session; see struct hark_agent_job
 *     JOINED    heard u64: the session goes on
 *     GONE      it does not: the host was taken for dead
 *     ADOPTED   run u64, lease u32, wait u32: the supervisor of that session is dead, and this one
 *               takes its place, see takeover.c. The session begins anew. The agent stops its
 * processes, and says LIVES of each, then READY then, as messages of the session (session.h), agent
 * -> supervisor READY     directory string, spill string, store string, port u32, board u32, store
 * u32, clock u64: the job is made here. Descriptors are those that processes inherit; port is where
 * other agents connect to, 0: nowhere; clock is CLOCK_MONOTONIC, ns UNFIT     line string: it can
 * not be made here LIVES     slot u32, pid u32, journal u32, flags u32 (HARK_LIVES_*), inc u32,
 * program u32, re u32 (of the last FAILED that it was told), checkpoint u64 (it began from), asked
 *               u64 (of the last ASK), input u64, read u64 (so far it has read its input;
 *               UINT64_MAX: it has none), positions u64 of what follows as HEARD of each of its
 *               outputs, address string: see HELLO in control.h; then of each slot u32: 1 + the
 *               incarnation that PEER has told it of, or 0
 *     STARTED   slot u32, status u32, pid u32, journal u32, directory u32: the answer to START.
 *               Status is 0 or an errno, of its working directory if directory is 1; ENODATA: the
 *               image that it begins from can not be had
 *     HEARD     slot u32, line u32 (enum hark_pipe), bytes: what it said or printed. All that it
 *               printed before it said something comes before that
 *     LEFT      slot u32, pid u32: it has closed its control socket; pid: of what was started, if
 *               that does not die just now, else 0
 *     ENDED     slot u32, status u32: of waitpid; nothing more of it
 *     BOARD     (slot u32, bytes), to the end: what has changed on the board. Before HEARD and
 *               ENDED, and some time after each change
 *     ROW       slot u32, bytes: its row of the traffic, before ENDED
 *     TOOK      slot u32, turn u32, put u64, read u64: of its input, positions since the SEEK with
 *               that turn: up to `put` it is in its pipe, up to `read` it has been read. Before
 *               HEARD, if it has changed
 *     BEAT      n u64, clock u64: it lives; a mention
 *     HOLDS     rank u32, id u64, whole u32, round u32: the image is in the host's own store now
 *               (HARK_HOLDS_WHOLE), or not; round is that of COPY, 0: it was not asked for by one
 *     FLUSHED   rank u32, id u64, number u32, status u32, line string: the answer to FLUSH
 *               (enum hark_agent_flushed); line says why not
 *     PREPARED  number u64, run u64, then (length u64, checksum bytes) of each of its images: the
 *               answer to CODE. Length 0: it is there no more
 *     CODED     number u64, run u64, status u32 (enum hark_agent_coded): of what this host has of
 *               that generation
 *     CODES     a generation (coded.h) that lies here; before READY
 *     SPOILT    number u64, run u64, rank u32, id u64: the image can not be rebuilt from it, though
 *               all parts are whole
 *     FILE      name string, offset u64, bytes: a file of the job's directory, on END
 *     SAY       line string
 *     OVER      all processes here were ended, by the lease or a signal; the agent ends
 *     DONE      nothing of the job is left here; the agent ends
 *   supervisor -> agent
 *     START     see hark_agent_put_start
 *     TELL      slot u32, bytes: for its control socket
 *     SIGNAL    slot u32, number u32, group u32
 *     HANDLED   slot u32, program u32, number u32: the signal, if the process handles it
 *     ROOM      slot u32, line u32, paused u32: is it to be read from?
 *     SEEK      slot u32, turn u32, position u64: what it has not read yet of its input is void; it
 *               reads on at this position. The first is the answer to STARTED
 *     INPUT     slot u32, bytes: what comes next of its input, no further than HARK_A_WINDOW behind
 *               the last `put`; none: it ends there
 *     ANSWER    n u64: to BEAT; a mention
 *     GO_ON     behind ADOPTED: processes run again. The agent says again, as HEARD, what
 *               they have printed and nobody has been shown, and what they have said without an
 *               answer
 *     SHOWN     (slot u32, out u64, err u64)..., to the end: so much of their output was shown; a
 *               mention
 *     COPY      rank u32, id u64, address string, round u32: the agent there gets a copy of the
 *               image
 *     DROP      rank u32, below u64: no copies of images before that one are needed
 *     UNDO      {rank u32, above u64, round u32}...: images of the rank behind that one are of no
 *               use, their checkpoints were undone; so are copies up to that round which still
 *               come, and the same images on their way to the store that all share
 *     FLUSH     rank u32, id u64, number u32: the image is to be put into the store that all share
 *     SWEEP     rank u32, count u32, ids u64: of the images of the rank up to the last of
 *               these only these are to be there
 *     CODE      a generation (coded.h), without lengths, then the addresses of its agents, strings:
 *               the images are to be protected by a code
 *     COMBINE   the same generation, with all lengths: parities are to be made
 *     UNCODE    number u64, run u64: that generation is not needed, or can not be made
 *     END       files u32, over u32: kills all, sends its files if that is 1, cleans up (its
 *               own store too if that is 1), and says DONE
 *   agent -> agent
 *     PUT       rank u32, id u64, round u32, offset u64, length u64, bytes: a piece of an image
 *               of that length
 *     GET       rank u32, id u64: the answer is PUT, or NONE
 *     NONE      rank u32, id u64, round u32
 *     SHARD     number u64, run u64, tag u32, stripe u32, offset u64, length u32: what is wanted;
 *               the answer is PIECE
 *     PIECE     tag u32, host u32 (by its place in the set), offset u64, there u32, bytes, behind
 *               which are zeros
 *     ASK       number u64, run u64, host u32: has it all that it should of the generation? The
 *               answer is CODED_IS
 *     CODED_IS  number u64, run u64, host u32, good u32; if it has, the generation
 */
#ifndef HARK_AGENT_AGENT_H
#define HARK_AGENT_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "../control/control.h"
#include "local.h"

#define HARK_AGENT_VERSION 1u
#define HARK_A_WINDOW      (256u << 10) /* bytes of an input */

enum hark_agent_type {
    HARK_A_HELLO = 1,
    HARK_A_READY,
    HARK_A_UNFIT,
    HARK_A_STARTED,
    HARK_A_HEARD,
    HARK_A_LEFT,
    HARK_A_ENDED,
    HARK_A_BOARD,
    HARK_A_ROW,
    HARK_A_BEAT,
    HARK_A_FILE,
    HARK_A_SAY,
    HARK_A_DONE,
    HARK_A_OVER,
    HARK_A_HOLDS,
    HARK_A_TOOK,
    HARK_A_FLUSHED,
    HARK_A_PREPARED,
    HARK_A_CODED,
    HARK_A_CODES,
    HARK_A_SPOILT,
    HARK_A_LIVES,
    HARK_A_JOB = 32,
    HARK_A_START,
    HARK_A_TELL,
    HARK_A_SIGNAL,
    HARK_A_HANDLED,
    HARK_A_ROOM,
    HARK_A_ANSWER,
    HARK_A_COPY,
    HARK_A_DROP,
    HARK_A_END,
    HARK_A_JOINED,
    HARK_A_GONE,
    HARK_A_SEEK,
    HARK_A_INPUT,
    HARK_A_UNDO,
    HARK_A_FLUSH,
    HARK_A_SWEEP,
    HARK_A_CODE,
    HARK_A_COMBINE,
    HARK_A_UNCODE,
    HARK_A_ADOPTED,
    HARK_A_GO_ON,
    HARK_A_SHOWN,
    HARK_A_PUT = 64,
    HARK_A_GET,
    HARK_A_NONE,
    HARK_A_SHARD, /* this one and those behind it: coder.c */
    HARK_A_PIECE,
    HARK_A_ASK,
    HARK_A_CODED_IS
};

enum hark_agent_lives {
    HARK_LIVES_HELLO = 1,    /* it has said HELLO */
    HARK_LIVES_FINISHED = 2, /* and FINISHED */
    HARK_LIVES_BACK = 4      /* it was about to go back */
};

enum hark_agent_holds {
    HARK_HOLDS_NOT = 0,     /* a copy could not be made */
    HARK_HOLDS_WHOLE = 1,   /* it is there */
    HARK_HOLDS_GONE = 2,    /* it is there no more, or damaged */
    HARK_HOLDS_UNSHARED = 3 /* the store that all share does not have it whole */
};

enum hark_agent_flushed {
    HARK_FLUSHED_NOT = 0,
    HARK_FLUSHED = 1,
    HARK_FLUSHED_NONE = 2 /* the host had no such image any more */
};

enum hark_agent_coded {
    HARK_CODED_NOT = 0,  /* it could not be made */
    HARK_CODED = 1,      /* it is there, durably */
    HARK_CODED_GONE = 2, /* it is there no more, or damaged */
};

#define HARK_AGENT_TAKEOVER "takeover" /* a file in the store that all share: takeover.c */
#define HARK_AGENT_SET      "set:"     /* begins one: a set of hosts, see rebuild.c */
#define HARK_AGENT_SHARED   "store"    /* a place of an image: the store that all share */

/* The job, as an agent is told of it. Strings of one that was read point into the message. */
struct hark_agent_job {
    const char *name; /* of the job on this host: of its directory and segments */
    const char *job;  /* to whom its store belongs */
    const char *transport;
    const char *store;      /* path of a directory that all hosts see; empty: there is none */
    const char *host_store; /* of a directory on each host, for images; empty: they go to `store`,
                               or if there is none either, nobody makes any */
    const char *spill;      /* directory for spilled logs; empty: none */
    uint64_t session;       /* its name, not 0 */
    uint32_t ranks, traffic;
    uint32_t journals;  /* 1: processes keep their readings */
    uint32_t belongs;   /* the store is of an earlier run */
    uint32_t shared;    /* images go from host_store to store too */
    uint32_t lease_ms;  /* so long after its last answered BEAT it ends all, see lease.h; or, with
                           wait_ms, stops it, and ends it only so much later */
    uint32_t wait_ms;   /* 0: none can take the supervisor's place */
    uint64_t run;       /* the supervisor's */
    uint64_t ignored;   /* a bit for each signal that processes ignore from their start */
    char **environment; /* of all processes; NULL behind the last; owned */
};
void hark_agent_put_job(struct hark_control *m, const struct hark_agent_job *job);
/* False: it can not be read. Then and later: hark_agent_job_free(). */
bool hark_agent_get_job(struct hark_control *m, struct hark_agent_job *job);
void hark_agent_job_free(struct hark_agent_job *job);

/* Of the program: all but inherited and ignored; of input only whether there is one (not -1): its
 * pipe is the agent's. The process begins from image `checkpoint` (0: none), which is to be had
 * from these places, the best first: "" is the host's own store, HARK_AGENT_SHARED the one that all
 * share, and others are addresses of agents. */
void hark_agent_put_start(struct hark_control *m, uint32_t slot,
    const struct hark_local_program *program, uint64_t checkpoint, char *const *from);
/* The strings are owned by the result; hark_agent_start_free(). */
struct hark_agent_start {
    uint32_t slot;
    struct hark_local_program program;
    uint64_t checkpoint;
    bool input; /* SEEK and INPUT say what it reads */
    char **from, **argv, **environment, *file, *directory, *preload;
};
bool hark_agent_get_start(struct hark_control *m, struct hark_agent_start *start);
void hark_agent_start_free(struct hark_agent_start *start);

/* A name of a host: one word of at most 255 bytes. */
#define HARK_HOST_NAME 256

/* `hark agent`: reads its standard input, serves the supervisor, cleans up. Its exit status: 0 the
 * job has ended; 1 it could not serve; 2 the input is not that of a launcher; 3 it had lost its
 * supervisor. */
int hark_agent(void);

#endif
