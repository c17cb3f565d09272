/* internal.h: what the parts of the supervisor share: the state of a job, and who calls whom.
 *
 * An event (a message of a process, a death, a signal, a timer, room in an outlet) changes the
 * state, and notes what is due: `heard_due`, `deaths_due`, `finish_due`. At the end of each turn of
 * the loop one place looks at what is due and does it: end_turn() in supervisor.c. So a file calls
 * only files on floors below its own. test/include/floors.sh reads the floors here:
 *
 *   15  supervisor.c     the loop from start to end, and the end of its turns
 *   14  signals.c        what each signal does
 *       quiet.c          looks at the board: can anything move?
 *       json.c           the figures
 *       metrics.c        the figures while it runs, for Prometheus
 *   13  death.c          a death: what it means, and what follows
 *       agents.c         agents of other hosts, from the beginning of a job to its end
 *   12  messages.c       what processes say
 *       takeover.c       processes of a run that has died go on
 *       agent_join.c     connections of agents
 *   11  recover.c        bringing back: after a death, by the recovery line, from a store
 *       agent_said.c     what they say
 *   10  rollback.c       those that go back though they live
 *       host_watch.c     hosts that die, are silent, or come back
 *    9  spawn.c          starts a process, here or there
 *    8  tell.c           what processes are told
 *       trouble.c        a store that fails; a program that its protocol does not suit
 *       inventory.c      what is in a store, for `hark store`
 *    7  job.c            what a job has outside of its processes: directory, stores, board, trace
 *       recluster.c      clusters that change while the job runs
 *       place.c          which process runs on which host
 *    6  streams.c        what processes print, on its way out
 *       checkpoint.c     checkpoints on demand
 *       stall.c          nothing moves: who waits where
 *       takeover_file.c  what we leave to one that takes our place
 *       copies.c         which host has which image
 *       readings.c       copies of journals of other hosts
 *    5  lines.c          what goes between us and a process: control socket and output
 *       launch.c         agents on other hosts are started
 *       flush.c          checkpoints go to the store that all hosts share
 *       input.c          what rank 0 reads
 *       coding.c         codes over sets of hosts are made
 *    4  end.c            the end of a job, wished for or not
 *       status.c         how it stands, for `hark ps`
 *       dispositions.c   what signals are to us and to the processes
 *       planned_kill.c   kills that were asked for
 *       journal.c        where processes keep their readings of clocks
 *       source.c         standard input, and what was read of it
 *       missed.c         what one run must know of the one before
 *       one_run.c        a job has one run at a time, and others that wait
 *       afterwards.c     a job that is done and has failed after that
 *       codes.c          codes over sets of hosts: what they protect
 *       aside.c          a store that a turn waits for
 *    3  alive.c          does a process live? And signals to it
 *       turns.c          turns by a thread, for which the loop need not wait
 *    2  say.c            lines on stderr, the names in them, how far things are
 *       keeper.c         the failure service, with a disk
 *       host.c           what is said to the agent of a host
 *    1  keeper_record.c  its record
 *       outlet.c         writes without blocking us
 *       output.c         what one process prints, over its incarnations
 *       inquiry.c        those that connect, ask one thing, and are gone
 *       status_message.c how a job stands, as bytes
 *       http.c           requests, and the heads of answers
 *       address.c        where metrics can be asked for
 *       holders.c        which hosts are to hold an image
 *       code_sets.c      which hosts are together in a code
 *       store_file.c     small files in a store
 *       identity.c       what must be the same when a job is resumed
 */
#ifndef HARK_SUPERVISOR_INTERNAL_H
#define HARK_SUPERVISOR_INTERNAL_H

#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "../agent/agent.h"
#include "../agent/connection.h"
#include "../agent/feed.h"
#include "../agent/local.h"
#include "../agent/session.h"
#include "../control/board.h"
#include "../control/control.h"
#include "address.h"
#include "holders.h"
#include "hosts.h"
#include "inquiry.h"
#include "output.h"
#include "keeper.h"
#include "status.h"
#include "supervisor.h"
#include "outlet.h"
#include "../driver/point.h"
#include "../view/recording.h"
#include "../view/trace.h"

struct stream { /* an output of a process, for hark_output */
    struct child *child;
    int kind;    /* 0 stdout, 1 stderr */
    bool inside; /* a line: its beginning was put out already */
};

struct life { /* what its agent says of one that has outlived its supervisor: HARK_A_LIVES */
    uint32_t flags, inc, program, re;
    uint64_t checkpoint, asked, input, read, begin[2];
    char *address;
    uint32_t peer[];
};

struct child { /* a process of the job, over all its incarnations */
    struct supervisor *s;
    struct host *host; /* NULL: ours */
    bool lacks_image;  /* there: it could not begin without it */
    bool lacks_said;
    uint32_t lacks_inc;   /* since then this incarnation has lacked it: */
    uint64_t lacks_since; /* hark_lease_now() */
    bool left, ended;     /* there: it has closed its control socket; it has ended, with `status` */
    int status;
    pid_t left_living; /* there: its process when it had closed that, if it did not die; else 0 */
    bool walked_out;   /* it has closed it and lived on, so we have killed it */
    int journal_there; /* descriptor on its host; -1: none */
    bool paused[HARK_PIPES]; /* there */
    uint32_t rank;           /* HARK_RECOVERY: the recovery process */
    uint32_t inc, re;        /* of this incarnation, and the epoch in which it begins */
    struct hark_local local;
    bool runs;      /* it has been started, and is not buried */
    pid_t program;  /* as it says itself: behind a wrapper another one; 0: it has not said hello */
    uint32_t heard; /* a bit for each line: something has come on it in this turn */
    struct hark_output output[2];
    struct stream stream[2];
    uint64_t kept_moves, kept_since; /* while output is kept back: what it had done, and since when
                                        it is busy with something else (hark_sup_awake()) */
    uint64_t asked, answered, asked_position; /* ASK and STABLE: the output up to there is beyond
                                                 recall then */
    uint64_t ahead;    /* what MARK said: bytes of its input that it has read and not used */
    uint64_t input_at; /* position of its input in the image that it began from */
    bool mark_waits;   /* it has said MARK, and is told MARKED when there is room for more output */
    uint64_t mark;
    uint8_t *in; /* bytes of the control socket: read and not parsed */
    size_t in_length, in_room;
    char *address;                    /* of this incarnation, once it has said hello */
    uint64_t checkpoint;              /* it began from */
    uint64_t began;                   /* hark_sup_progress() when it began */
    uint64_t began_messages;          /* what it had posted then */
    uint64_t place_checkpoint, place; /* of its last death by itself: where it began, progress since
                                       */
    uint64_t far_checkpoint, far;     /* the place that it has come to at most */
    uint32_t no_further;              /* deaths in a row that were no further than that */
    uint32_t look_turn;  /* of its slot when it was last asked to look, or told QUIET */
    uint32_t same_place; /* how many such deaths in a row */
    char kind[24];       /* of its last death by itself: the signal's name */
    bool hello, finished;
    bool exited;    /* after the end of the job, as it should */
    bool dead;      /* and to be restarted */
    bool dying;     /* its last words are being read */
    bool goes_back; /* with another one: its next incarnation is announced, and begins when it says
                       AGAIN or is dead */
    uint64_t answer_by; /* then it is killed (ns); 0: it has been */
    int journal;        /* descriptor of its readings of clocks, over all incarnations; -1: none */
    int journal_stored; /* of another host: a file in the store that is as it; -1: none */
    struct hark_journal_file *readings; /* that journal, of another host; NULL: nothing was said */
    uint64_t readings_from; /* in this turn it has changed from here on; UINT64_MAX: it has not */
    int readings_lost;      /* why there is no more of it, an errno; 0: there is */
    uint64_t readings_session; /* name of the session of its host where the original is; 0: nowhere
                                */
    int kept;                  /* what AGAIN said, for its next SETUP; -1: nothing */
    uint32_t restarts;         /* how often it went back in this run */
    uint64_t checkpointed, checkpointed_at; /* its last checkpoint that was decided in this run, and
                                               when (ns); 0: none */
    bool checkpoint_due; /* one was asked for by a signal, and none of it has been decided since */
    bool waits_known;    /* it has said where it waits, since nothing moves */
    struct hark_waits waits;
    struct life *life;      /* while we take over; else NULL */
    uint64_t shown_said[2]; /* to its agent: so much of its outputs was shown */
    bool troubled;          /* it could not write an image, and its group has decided none since */
};

enum phase { RUNNING, FINISHING, ENDING };

#define HARK_SUP_SIGNALS 14 /* that do something: signals.c */

struct failure {
    uint32_t rank;
    uint64_t at; /* deliveries made; by the recovery process: frames received */
    char kind[24];
};

#define HARK_SUP_PIECE 65536u /* bytes of the input at a time */

struct source {  /* standard input; its positions are bytes from the beginning */
    bool is;     /* there is one: else processes have /dev/null */
    bool direct; /* a regular file, read from `begin` on */
    uint64_t begin;
    int spool; /* file with what was read of a stream, up to `got`; -1: direct */
    uint64_t got;
    bool ended;  /* of a stream: there is no more */
    bool failed; /* and more could not be kept */
    int watch;   /* that `from` watches */
    bool watched, always_ready;
    uv_poll_t from;
    uv_timer_t look;                    /* while another job has the terminal */
    void (*came)(struct supervisor *s); /* what was to come later */
};

struct input { /* what rank 0 reads of it */
    struct source source;
    bool feeds;            /* it is to be given more */
    uint64_t given;        /* into its pipe, or to the agent of its host */
    struct hark_feed feed; /* of rank 0 here */
    /* Of rank 0 there, as its agent has said since the last SEEK, which had this `turn`. */
    uint32_t turn;
    uint64_t put, read;
};

struct recovery { /* times are CLOCK_MONOTONIC, ns; 0: not yet */
    uint64_t died, announced, restarted, over, caught_up;
    uint32_t re;     /* of the last announcement in it */
    uint8_t *rolled; /* of each rank: 1 if it went back */
};

struct supervisor {
    const struct hark_run_options *o;
    uint32_t count; /* of children: the ranks, and the recovery process if the protocol needs one */
    struct child *child;
    enum phase phase;
    int exit;   /* status to end with, from ENDING on */
    int signal; /* that was passed on; 0: none */
    bool output_failed, record_failed, positions_failed;
    bool noted;                            /* a NOTE was said */
    char *advice;                          /* of the options' advise, for the JSON */
    bool figures_lost;                     /* no memory for some of them */
    struct hark_outlet *outlet[2];         /* stdout, stderr; the same if these are */
    uv_async_t moved;                      /* an outlet has moved something */
    struct hark_inquiry *status, *metrics; /* those who ask for them; NULL: none can */
    struct hark_address metrics_address;
    int metrics_fd; /* listens there until `metrics` does; -1: none */
    int positions;  /* descriptor of the positions that were shown, in the store that is kept; -1:
                       none */
    struct input input;
    bool give_up;      /* who reads our output has had time enough */
    bool finish_waits; /* all have finished, and not all that they printed is shown */

    uv_loop_t loop;
    uv_signal_t on_child;
    struct hark_sup_signals *signals;
    uv_signal_t on_signal[HARK_SUP_SIGNALS];
    uv_timer_t quiescence, grace, planned_kill;
    struct host *host;              /* o->hosts of them; NULL: none */
    char *here;                     /* our working directory, with hosts */
    struct hark_store copies;       /* with --host-store: the images that lie on hosts */
    struct hark_holdings *holdings; /* of each rank; NULL without it */
    struct hark_holders holders;    /* of each host */
    bool rack_said;                 /* all hosts that live are in one */
    bool anew; /* those that go back have no images on their hosts: all are started again */
    struct hark_missed *missed;        /* NULL: no host can have missed anything */
    struct hark_codes *codes;          /* NULL: no images on the hosts' own disks */
    struct hark_flush *flush;          /* NULL: none of them go to a store that all share */
    char lost[HARK_KEEPER_ERROR + 64]; /* why somebody can not go back */
    struct hark_wave_waiting *waves;   /* that wait for copies, in the order in which they were said
                                        */
    bool waves_due;                    /* one of them may wait no more */
    bool waits_said;                   /* that a copy does not come; until none of them waits */
    struct hark_takeover *takeover;    /* NULL: none can take our place */
    bool takes_over; /* agents of the run before say what lives, and it is not ours yet */
    uint64_t run;    /* as agents know us */
    struct hark_listener *listener;
    uint8_t agent_key[HARK_CONNECTION_KEY];
    uv_timer_t hosts_look;
    uint64_t hosts_looked;
    uint64_t fetched_at; /* at the end: when the last piece of a file came (hark_lease_now()); 0:
                          * agents have not been told to end */
    uint32_t launched, came_up; /* of the hosts, in the beginning */
    bool launchers_due;         /* one may have ended */
    pid_t launcher;             /* of all hosts at once; 0: none */
    bool kill_watched;
    uv_prepare_t turn;                    /* its end */
    struct hark_turns *turns;             /* NULL: turns are taken by the loop itself */
    struct hark_word *words, **words_end; /* of agents, that a turn is to take */
    bool hosts_due, look_due;             /* a timer is over: hosts_look, quiescence */
    bool heard_due;                       /* `heard` of some: their messages are to be taken */
    bool deaths_due; /* a process has died, or left its control socket: they are to be reaped */
    bool finish_due; /* one more reason for the end of the job to wait is gone */
    bool checkpoint_asked; /* by a signal, and not taken yet */

    char job[41];
    char directory[80];
    char *store_path, *clusters_text, *identity;
    char *spill_path; /* of this job, in the directory for spilled logs; NULL: none */
    char *trace_path; /* absolute; NULL: none */
    uint8_t key[32];
    int lock;
    struct hark_store *record, *images;
    struct hark_keeper *keeper;
    struct hark_janitor janitor;
    struct hark_board *board;
    int board_fd, store_fd;
    bool store_gone;                                     /* and said */
    bool journal_said;                                   /* that the store can not have journals */
    struct hark_readings_said *readings, *readings_last; /* in this turn */
    bool readings_said;                                  /* that we can not */
    bool directory_made;
    bool belongs;      /* the store is of an earlier run */
    bool ended_before; /* it stood by, and the run before has ended by itself */
    bool one_run;      /* the store says that it runs */

    struct hark_trace_writer *trace;
    char **part; /* files of the trace */
    uint32_t parts;

    struct failure *failure;
    struct recovery *recovery;
    uint32_t failures, recoveries;
    uint64_t started, ended, died; /* ns; died: first sign of deaths not announced yet */
    uint64_t diverged, troubles;
    uint64_t trouble_said; /* ns: when a trouble was said last; 0: never */

    uint64_t *sent, *lately; /* recluster: what each rank had sent to each when the last checkpoint
                                was decided; and lately */
    uint64_t ask_after;      /* ns: when `better` is asked again */
    char *reclusterings;     /* for the JSON; NULL: none */
    uint32_t *lowest; /* of the cluster of each rank, as the trace has it; NULL: as at the beginning
                       */

    uint64_t look_stirring, look_progress, look_since; /* quiescence: what was seen, and since when
                                                          (ns) */
    uint64_t look_moves;                   /* frames and progress when all were asked to look */
    uint64_t look_moved, look_moved_since; /* the same when they last changed, and when (ns) */
    uint64_t sends_moves, sends_since;     /* where one waits in a send: the same, and when (ns) */
    uint64_t sends_looked;                 /* when all were asked to look (ns) */
    bool sends_asked;
    bool look_asked, quiet_said;
    bool stall_said;      /* who waits where, since nothing moves */
    bool walks_said;      /* what it means that one has closed its control socket */
    uint32_t apart_said;  /* how often it was said who does not reach whom */
    bool finished_before; /* the store is of a job that has finished: there is nothing to do */
    bool done;            /* the store says that the job has finished in this run */
};

/* The failure service, for what hark/service.h tells of it. */
static inline const struct hark *core_of(const struct supervisor *s)
{
    return hark_keeper_core(s->keeper);
}

/* What a rank runs. */
static inline const struct hark_run_program *program_of(const struct child *c)
{
    const struct hark_run_program *p = c->s->o->program;
    for (uint32_t behind = p->ranks;
         behind <= c->rank && p + 1 < c->s->o->program + c->s->o->programs;)
        behind += (++p)->ranks;
    return p;
}

/* say.c */
void hark_sup_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line on
                                                                                     stderr */
void hark_sup_say_through(struct hark_outlet *w); /* NULL: straight to stderr again */
const char *hark_sup_name(const struct child *c, char name[32]); /* "rank 3" */
void hark_sup_name_ranks(
    const struct supervisor *s, const uint8_t *member, char *text, size_t room); /* "0-2 5" */
const char *hark_sup_signal_name(int number, char text[24]);
const char *hark_sup_count(uint64_t n, const char *one, const char *more, char text[48]);
const char *hark_sup_deliveries(uint64_t n, char text[48]); /* "1 delivery" */
uint64_t hark_sup_now(void);
struct hark_board_slot *hark_sup_slot(const struct child *c);
/* Deliveries of all incarnations; of the recovery process: frames received. */
uint64_t hark_sup_progress(const struct child *c);

/* turns.c */
/* From now on turns are taken by a thread; false: said. */
bool hark_sup_turns_open(struct supervisor *s);
void hark_sup_turns_stop(struct supervisor *s); /* from now on by the caller again */
void hark_sup_turns_free(struct supervisor *s); /* the loop is closed */
/* Takes a turn, or goes on with the one that waits for a file, as far as it comes in a moment. */
void hark_sup_take_turn(struct supervisor *s, void (*turn)(struct supervisor *s));
/* A turn waits for a file meanwhile: what is called by the loop must change nothing that it may
 * have begun to change. */
bool hark_sup_frozen(const struct supervisor *s);
/* Around what may wait for a file; elsewhere than in a turn they do nothing. errno stays. */
void hark_sup_away(const struct supervisor *s);
void hark_sup_back(const struct supervisor *s);
/* aside.c: puts a store around it that does all so. False: no memory. */
bool hark_sup_aside(struct supervisor *s, struct hark_store **store);

/* end.c */
void hark_sup_end(struct supervisor *s, int status); /* kills all; the loop ends when they are gone
                                                      */
void hark_sup_no_memory(struct supervisor *s, const char *what); /* a line, once, and the end with
                                                                    status 1 */
void hark_sup_child_gone(struct supervisor *s);                  /* looks whether all is over */
void hark_sup_kill_all(struct supervisor *s);
void hark_sup_stop_if_gone(struct supervisor *s); /* the loop, if no process runs any more */

/* dispositions.c */
bool hark_sup_signals_begin(struct supervisor *s); /* before anything is started: mask, and what is
                                                      ignored; false after a line */
void hark_sup_signals_end(struct supervisor *s);   /* all as it was */
bool hark_sup_signal_ignored(const struct supervisor *s, int number); /* was it, when we began? */
const sigset_t *hark_sup_signals_ignored(const struct supervisor *s); /* all of them */
/* To the processes and to those that they have started; also to the recovery process? */
void hark_sup_signal_groups(const struct supervisor *s, int number, bool recovery);
void hark_sup_stops_begin(struct supervisor *s); /* from then on processes are stopped with us */
void hark_sup_stops_end(struct supervisor *s);
uint64_t hark_sup_awake(void); /* as hark_sup_now(), less the time that we were stopped */

/* status.c */
/* False: there is no memory. Else hark_status_free() frees it. */
bool hark_sup_status(const struct supervisor *s, bool processes, struct hark_job_status *status);
void hark_sup_status_open(struct supervisor *s);
void hark_sup_status_close(struct supervisor *s);

/* planned_kill.c */
uint64_t hark_sup_next_kill(const struct child *c);     /* progress at the next one; 0: none */
void hark_sup_watch_planned_kill(struct supervisor *s); /* of the recovery process, if any */

/* journal.c */
int hark_sup_journal(struct child *c); /* opens it for the first incarnation; 0, or an errno */
void hark_sup_journal_close(struct child *c);
/* readings.c */
void hark_sup_on_readings(struct child *c, struct hark_control *m);
void hark_sup_readings_write(struct supervisor *s); /* of this turn; and answers */
void hark_sup_readings_again(struct child *c);      /* we have taken it over */
bool hark_sup_readings_elsewhere(struct child *c);
void hark_sup_readings_give(struct child *c);
void hark_sup_readings_close(struct supervisor *s);

/* lines.c */
void hark_sup_lines_prepare(struct child *c);
/* Reads until there is nothing now; not all: or until there is no room for it. */
void hark_sup_drain(struct child *c, enum hark_pipe line, bool all);
bool hark_sup_full(struct supervisor *s, int kind); /* no more is to be read from pipes of this kind
                                                       now */
void hark_sup_resume_reading(struct child *c);      /* what was paused */
/* It has said or printed so much on another host. */
void hark_sup_heard(struct child *c, enum hark_pipe line, const uint8_t *at, size_t length);
void hark_sup_tell(struct child *c, struct hark_control *m); /* sends; the message stays the
                                                                caller's */

/* alive.c */
void hark_sup_life_free(struct life *l);
bool hark_sup_is_dead(const struct child *c); /* also when it is not buried yet */
bool hark_sup_left(const struct child *c);    /* it has closed its control socket */
/* And that not because it dies, as far as can be told (not behind a wrapper). */
bool hark_sup_walks_out(const struct child *c);
/* With `group` also to those that it has started. */
void hark_sup_signal(const struct child *c, int number, bool group);
/* To its program, if that handles it; true then. */
bool hark_sup_pass(const struct child *c, int number);

char *hark_sup_identity(const struct supervisor *s); /* identity.c; NULL: no memory */
/* afterwards.c */
void hark_sup_afterwards_begin(struct supervisor *s); /* nothing is known yet */
/* The store is about to say that the job is done; its processes have not ended yet. */
int hark_sup_afterwards_finishing(struct supervisor *s); /* 0, or an errno, to be said */
void hark_sup_afterwards_say(const struct supervisor *s, int why);
/* They have ended, of their own: the job's exit status. */
void hark_sup_afterwards_ended(struct supervisor *s, int status);
#define HARK_SUP_NOT_ENDED (-1) /* as far as is known */
/* How those of an earlier run have ended: its exit status, or HARK_SUP_NOT_ENDED. */
int hark_sup_afterwards(const struct supervisor *s);

/* streams.c */
int hark_sup_output_open(struct supervisor *s, bool belongs); /* the positions; 0, or the exit
                                                                 status after one line */
/* one_run.c: the lock of the store; if it is to stand by, when it is free, and another run that has
 * it is asked about first: `fits`, 0 or a status after one line. 0; 2: said. */
int hark_sup_lock_store(struct supervisor *s, int (*fits)(const struct supervisor *s));
/* The store says who runs the job, until that has ended by itself. 0; 2: said. */
int hark_sup_one_run_begins(struct supervisor *s);
void hark_sup_one_run_ends(struct supervisor *s);
bool hark_sup_outlets_open(struct supervisor *s);  /* from then on nothing that is printed can block
                                                      us */
void hark_sup_outlets_close(struct supervisor *s); /* waits for readers, but not for ever after a
                                                      signal */
void hark_sup_output_prepare(struct child *c);     /* all zero before */
void hark_sup_let_out(struct supervisor *s);       /* from time to time, while it is kept */
void hark_sup_keep_output(struct supervisor *s);   /* or show it: a recovery has begun, or ended */
void hark_sup_room(struct supervisor *s); /* there may be room: reads on, and answers marks */
void hark_sup_marked(struct child *c);    /* answers its MARK */
/* Tells its agent how much was shown of what its processes have printed, if of one it is `least`
 * bytes more than it knows: it keeps the rest for one that takes our place. */
void hark_sup_say_shown(struct host *h, uint64_t least);
void hark_sup_ask(struct child *c);                /* is the output that waits beyond recall? */
void hark_sup_stable(struct child *c, uint64_t n); /* its answer */
bool hark_sup_shown(struct supervisor *s); /* all that was printed is written and noted; if not,
                                              more is on its way there */

/* source.c */
#define HARK_SUP_LATER (-1)
int hark_sup_source_open(struct supervisor *s); /* 0, or the exit status after one line */
/* How many bytes there are from `position` on; 0: no more, perhaps after a line; HARK_SUP_LATER:
 * source.came() says when there are. */
ssize_t hark_sup_source_get(struct supervisor *s, uint64_t position, char *at, size_t room);
void hark_sup_source_stop(struct supervisor *s); /* with the loop */
void hark_sup_source_close(struct supervisor *s);

/* input.c: 0, or an errno if there is no other comment */
int hark_sup_input_open(struct supervisor *s); /* 0, or the exit status after one line */
/* A new one, for the next incarnation of rank 0, which reads from the beginning: its end of it; on
 * another host any that is not -1, and hark_sup_input_seek() to 0 follows when it has started. -1:
 * there is no input. */
int hark_sup_input_pipe(struct supervisor *s, int *reader);
/* The present incarnation reads on at `position`; what lies in the pipe is gone. */
int hark_sup_input_seek(struct supervisor *s, uint64_t position);
/* Its agent's TOOK, behind the slot. */
void hark_sup_input_took(struct supervisor *s, struct hark_control *m);
/* Where rank 0 is which has `ahead` bytes in a buffer and not used yet. */
uint64_t hark_sup_input_position(const struct supervisor *s, uint64_t ahead);
void hark_sup_input_stop(struct supervisor *s); /* with the loop */
void hark_sup_input_close(struct supervisor *s);

/* recluster.c */
static inline bool hark_sup_reclusters(const struct supervisor *s) /* do clusters change while it
                                                                    runs? */
{
    return s->o->core.asks & HARK_ASKS_RECLUSTER;
}
/* A checkpoint was decided, and has `changed` the clusters or not: should others be together from
 * the next one on? */
void hark_sup_recluster(struct supervisor *s, bool changed);
/* We take the place of a run that has died: some processes know the clusters that it has proposed,
 * and no checkpoint is decided without them. False after a line. */
bool hark_sup_propose_again(struct supervisor *s);
void hark_sup_reclustered(struct supervisor *s, uint64_t id); /* that checkpoint has brought the
                                                                 next clusters into force */
/* Who is in another cluster than the trace says, because of that checkpoint or going back to it. */
void hark_sup_trace_clusters(struct supervisor *s, uint64_t id);
void hark_sup_tell_clusters(struct supervisor *s, struct child *only); /* the next ones, if there
                                                                          are any, to all (only
                                                                          NULL) that are up */

/* checkpoint.c */
void hark_sup_ask_checkpoint(struct supervisor *s);
void hark_sup_checkpoint_wanted(struct child *c);                /* it has said hello: tells it */
void hark_sup_checkpointed(struct supervisor *s, uint32_t rank); /* one of the group of `rank` was
                                                                    decided */
void hark_sup_checkpoint_done(struct supervisor *s);             /* is none missing any more? */

/* stall.c */
#define HARK_SUP_STALL_NS                                                                          \
    UINT64_C(1000000000) /* so long nothing moves behind QUIET, then it is said */
void hark_sup_waits(struct child *c, struct hark_control *m); /* its WAITS */
/* Nothing has moved for `since_ns`: says it once. True: the run ends for it. */
bool hark_sup_stalled(struct supervisor *s, uint64_t since_ns);
void hark_sup_say_waits(struct supervisor *s);                      /* who waits where */
void hark_sup_moves(struct supervisor *s);                          /* something moves again */
void hark_sup_apart(const struct child *c, struct hark_control *m); /* its APART */

/* job.c: 0, or the exit status after one line */
int hark_sup_job_open(struct supervisor *s);
void hark_sup_job_close(struct supervisor *s);
/* The part file of an incarnation, remembered for the merge; NULL if nothing is traced. */
const char *hark_sup_part(struct supervisor *s, uint32_t rank, uint32_t inc);
/* Says once if the store's directory is not where it was. */
void hark_sup_look_for_store(struct supervisor *s);
void hark_sup_trace(struct supervisor *s, uint8_t kind, uint32_t rank, uint32_t inc, uint64_t id);
void hark_sup_trace_failed(struct supervisor *s);
/* Joins the parts of the recording: 0, or -1 after one line. */
int hark_sup_close_recording(struct supervisor *s);
int hark_sup_close_trace(struct supervisor *s); /* merges the parts: 0, or -1 after one line */

/* tell.c */
void hark_sup_setup(struct child *c);
void hark_sup_announce(struct supervisor *s, struct child *only);   /* the present FAILED, to all
                                                                       (only NULL) that are up */
void hark_sup_introduce(const struct child *who, struct child *to); /* PEER */
/* A message without contents, to all that are up. */
void hark_sup_tell_all(struct supervisor *s, uint16_t type);

/* trouble.c */
/* The store fails, for a process or (NULL) for us: said once, until it works again. */
void hark_sup_trouble(struct supervisor *s, struct child *whose, const char *line);
/* A wave of the group of `rank` was decided: images are written again, and so is the record. */
void hark_sup_works_again(struct supervisor *s, uint32_t rank);
void hark_sup_lost(struct supervisor *s);                  /* somebody can not go back: the end */
void hark_sup_advise_diverged(const struct supervisor *s); /* what to do: a line */

/* spawn.c: 0, or an errno; -1: after a line, and the end has begun */
int hark_sup_spawn(struct child *c);
void hark_sup_incarnate(struct child *c); /* its next incarnation is that of the failure service */
void hark_sup_fresh(struct child *c); /* what was of its last incarnation is none of the next one's
                                       */

/* rollback.c */
void hark_sup_replace(struct child *c);   /* it goes back, and not by itself */
void hark_sup_send_back(struct child *c); /* it goes back with a dead one: the announcement tells
                                             it, or it is killed */
void hark_sup_on_rollback_request(struct child *c, struct hark_control *m); /* its AGAIN */
void hark_sup_hurry(struct supervisor *s); /* looks for those that have not answered in time */

/* recover.c */
bool hark_sup_begin(struct supervisor *s); /* starts all; false after a line */
/* Starts the next incarnation of a dead process; false after a line. */
bool hark_sup_restart(struct supervisor *s, struct child *c);
/* Those with dead[r] != 0 have died; `member` has room for who goes back. */
void hark_sup_bring_back(struct supervisor *s, const uint8_t *dead, uint8_t *member);
/* The failure service has been told who goes back by the recovery line: so they do. */
void hark_sup_on_recovery_line(struct supervisor *s);
void hark_sup_recovered(struct supervisor *s);                      /* D may be empty now */
void hark_sup_close_recovery(struct supervisor *s);                 /* its last figures */
const char *hark_sup_back_to(const struct child *c, char text[64]); /* "checkpoint 3" */

/* messages.c */
void hark_sup_take(struct child *c);       /* what has come on the control socket */
void hark_sup_waves(struct supervisor *s); /* waves that have got their copies */

/* death.c */
void hark_sup_reap_all(struct supervisor *s); /* the dead: takes their last words, and sees what
                                                 follows */

/* quiet.c */
void hark_sup_check_quiescence(uv_timer_t *timer);

/* signals.c */
void hark_sup_signals_open(struct supervisor *s); /* handlers, in the loop */

/* metrics.c */
int hark_sup_metrics_listen(struct supervisor *s); /* before anything is started: 0, or the exit
                                                      status after one line */
void hark_sup_metrics_open(struct supervisor *s);  /* they are answered from now on */
void hark_sup_metrics_close(struct supervisor *s);
void hark_sup_metrics_end(struct supervisor *s); /* nothing is left of its socket */

/* json.c: 0, or -1 after one line */
int hark_sup_json(const struct supervisor *s);

#endif
