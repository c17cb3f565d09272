/* process.h: the side of a process of the job: control socket, board, trace, driver. Applications
 * (app.c) and the recovery process (recovery_main.c) stand on it. */
#ifndef HARK_PROCESS_PROCESS_H
#define HARK_PROCESS_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "../control/board.h"
#include "../control/control.h"
#include "hark/driver.h"
#include "../view/recording.h"
#include "../view/trace.h"

struct hark_process_message { /* from the supervisor, whole */
    struct hark_process_message *next;
    size_t length;
    uint8_t bytes[];
};

/* Contexts of the groups of all processes: a multicast of rank 0, and a reduction to it. */
enum { HARK_PROCESS_MULTICAST = 2, HARK_PROCESS_REDUCTION = 3 };

struct hark_process {
    struct hark_setup setup;
    char name[32]; /* "rank 3", for lines */
    int control;   /* -1: a job of one, without a supervisor */
    struct hark_driver *driver;
    struct hark_transport *transport; /* the driver's: for what it refused, and who is out of reach
                                       */
    uint64_t payload_limit; /* a longer one might not fit into a frame, with the longest header */
    uint64_t refused;       /* of that, what the board has */
    struct hark_store *store, *behind; /* behind: of the thread that writes images, or NULL */
    const struct hark_protocol *protocol;
    bool groups;  /* it knows groups, and has that of multicasts below */
    bool reduces; /* and that of reductions */
    struct hark_board *board;
    struct hark_board_slot *slot;
    _Atomic uint64_t *traffic; /* NULL, or bytes to each rank, on the board */
    struct hark_trace_writer *trace;
    struct hark_recorder *recorder; /* NULL: nothing is recorded */
    uint64_t phase;                 /* of the process, as the trace shows it */
    pthread_t reader;
    bool reading;
    pthread_mutex_t lock;
    pthread_cond_t marked_now;
    struct hark_process_message *head, *tail; /* under lock */
    bool marked, lost;                        /* under lock: MARKED came; the supervisor is gone */
    bool input_set;                           /* under lock: INPUT_SET came */
    uint64_t marked_out, marked_err;
    struct hark_process_message *marked_message; /* the pending bytes lie in it */
    atomic_bool pending;
    bool unsettled; /* the journal's copy lacks what was read: journal_away.h */
    /* what the messages brought, for the owner */
    uint32_t re_seen;
    bool all_done, quiet;
    bool sends;            /* a send waits for room */
    bool checkpoint;       /* CHECKPOINT came; the application's checkpoint call takes it back */
    const char *unordered; /* what it has done that may come out otherwise when others come in
                              another order, for the line that it diverged; NULL: nothing known */
    void (*waits)(struct hark_waits *w); /* the owner's: where its application waits; NULL: there is
                                            none */
    uint64_t asked, answered;            /* ASK, STABLE */
};

extern struct hark_process hark_process; /* there is one */

/* Takes HARK_CONTROL from the environment, reads SETUP, opens board, trace, store and driver.
 * `hooks` are the owner's; persist, diverged, trouble and observe are filled in here. On failure
 * says why in one line and exits with status 1. Without HARK_CONTROL: a job of one. */
void hark_process_open(const struct hark_hooks *hooks, bool recovery);
/* Tells the supervisor that this process is up; the reader begins. `out`, `err`: positions of its
 * output, and what was pending of it: as in its image. */
void hark_process_hello(uint64_t out, uint64_t err, const void *pending, uint32_t length);
/* Takes over what the supervisor has said: FAILED, PEER, STORED go to the driver. How many
 * messages, or a negative driver status. */
int hark_process_control(void);
void hark_process_apart(void); /* says whom the transport does not reach, if there is news */
/* Says something to the supervisor; the message is freed. */
void hark_process_say(struct hark_control *m);
/* All output so far belongs to checkpoint `id`: the supervisor's positions, and what it has not
 * shown yet (its own, until the next mark). False: it can not be kept now. */
bool hark_process_mark(
    uint64_t id, uint64_t *out, uint64_t *err, const void **pending, uint32_t *length);
/* The program's memory is as in its image: standard input goes on where it was when that was taken.
 * What the C library has read ahead of the program is dropped. Only rank 0 has an input. */
void hark_process_input(void);
/* One line to the supervisor; the run goes on. */
void hark_process_trouble(const char *line);
/* One line that may help, which is said once in a run whoever sends it. */
void hark_process_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line to the supervisor, and the end of this process with status 1. Needs no memory. */
_Noreturn void hark_process_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends all processes of the job, and `hark run` with the low eight bits of `status`, or with 1 if
 * these are 0: an aborted job never looks like one that is done. All output so far is shown. */
_Noreturn void hark_process_abort(int status);
/* On the board: it is busy, and was awake. */
void hark_process_awake(void);
/* Polls, looks at control messages, and sleeps only if there was nothing: whoever waits for
 * something looks again each time this returns. What is fatal does not return. */
void hark_process_wait(void);
/* A number of the protocol's core by its name in the shape; 0: it has none of that name. */
uint64_t hark_process_number(const char *name);
void hark_process_poll(void);
/* After a hark_driver_poll() of one's own: what it returned, and what else is to be done then. */
void hark_process_polled_seldom(int status);
static inline void hark_process_polled(int status)
{
    if (__builtin_expect(status < 0 ||
                             hark_process.transport->figures.refused != hark_process.refused ||
                             hark_process.asked != hark_process.answered,
            0))
        hark_process_polled_seldom(status);
}
void hark_process_close(void);
/* The next message of the supervisor, to be freed; NULL: it is gone. */
struct hark_process_message *hark_process_read(void);
uint64_t hark_process_now(void); /* CLOCK_MONOTONIC, ns */

/* The whole of the recovery process: returns its exit status. */
int hark_recovery_main(void);

#endif
