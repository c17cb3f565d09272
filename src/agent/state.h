/* state.h: what the parts of an agent share.
 *
 *   agent.c    from the launcher's lines to the end
 *   reach.c    the connection to the supervisor, and others when it is cut
 *   serve.c    what the supervisor says, and what becomes of the processes of this host
 *   input.c    what processes read
 *   takeover.c     another supervisor takes the place of the one that died
 *   keep.c     what a supervisor must hear that takes the place of this one
 *   report.c   what goes to it: figures, files
 *   depot.c    images in the host's own store, and other agents: depot.h
 *   coder.c    codes over the images of several hosts: coder.h
 *   removing.c what takes a disk long to free, by threads
 *   shared.c   images in the store that all hosts share
 *   place.c    what of the job is here: directory, board, store, janitor
 *   said.c     what both say, as bytes
 */
#ifndef HARK_AGENT_STATE_H
#define HARK_AGENT_STATE_H

#include "../../transports/entries.h"
#include "../control/board.h"
#include "agent.h"
#include "connection.h"
#include "lease.h"
#include "session.h"

struct agent;
struct hark_depot;
struct hark_placing;
struct hark_removing;
struct hark_coder;
struct hark_agent_input;
struct hark_shared;

struct kept_bytes {
    uint8_t *at;
    size_t length, room;
};

struct kept {       /* of a process, for a supervisor that takes the place of this one: keep.c */
    uint32_t flags; /* HARK_LIVES_* */
    uint32_t inc, program, re;
    uint64_t checkpoint, asked, input, begin[2]; /* positions of out[] */
    uint64_t shown[2];                           /* so much was shown, of any incarnation */
    bool lost[2]; /* there was too much: what lies between `begin` and here is not in out[] */
    char *address;
    uint32_t *peer; /* of each slot: 1 + the incarnation that PEER has told it of; 0: none */
    struct kept_bytes out[2]; /* printed, and not said to be shown */
    struct kept_bytes open;   /* said, whole messages that have no answer */
    struct kept_bytes part;   /* of one that is not whole */
};

struct hosted { /* a process of the job, if this host runs it */
    struct agent *a;
    uint32_t slot;
    struct hark_local local;
    bool runs;
    bool left;                      /* and LEFT was said */
    bool paused[HARK_PIPES];        /* the supervisor has no room for it */
    int journal;                    /* descriptor, over all incarnations on this host; -1: none */
    struct hark_agent_start *waits; /* to be started when its image is here; NULL: none */
    uint32_t tried;                 /* of the places where it is */
    struct hark_agent_input *input; /* of the one that runs; NULL: it is empty */
    struct kept kept;
};

struct sent_files {
    bool open;
    struct entries all;
    const char *name; /* of the one that is being sent */
    int fd;           /* -1: none is */
    uint64_t at;
};

struct agent {
    uv_loop_t loop;
    uv_signal_t on_child, on_end;
    uv_prepare_t turn;
    uv_timer_t beat, figures, fence, again;
    bool deaths_due;
    bool misses_something; /* there was no memory for what the supervisor must hear */

    uint8_t key[HARK_CONNECTION_KEY];
    char name[HARK_HOST_NAME]; /* of this host in the job; empty: it has not been told */
    char own[HARK_HOST_NAME];  /* that it has by itself */
    char supervisor[16][HARK_HOST_NAME + 8];
    uint32_t supervisors, tried, silent_ms;
    struct hark_connection *connection; /* NULL: none */
    uint64_t since;                     /* when it was opened (hark_lease_now()) */
    bool joined;                        /* the session goes on over it */
    struct hark_connection *attempt;    /* another one that is begun; NULL: none */
    uint32_t attempts;                  /* rounds, since the last one was opened */
    uint32_t opened;                    /* how many were */
    uint32_t good;                      /* the address of the last one */
    struct hark_session session;

    struct hark_agent_job job;
    bool has_job, cleaning;
    sigset_t ignored;
    char directory[120];
    char *spill; /* this job's part on this host; NULL: none */
    struct hark_janitor janitor;
    struct hark_board *board;
    struct hark_board_slot *told;    /* what the supervisor knows of the board */
    int board_fd, store_fd, lock_fd; /* lock: of the host's own store */
    int owned_fd;                    /* locked: our directory is ours; -1: there is none */
    char *store_path;                /* where images are: the job's store, or this host's own */
    struct hark_store *store;        /* this host's own; NULL: there is none */
    struct hark_depot *depot;        /* NULL: there is none */
    struct hark_shared *shared;      /* NULL: there is none */
    struct hark_coder *coder;        /* NULL: there is none */
    /* With it: a message of another agent about codes; a connection was opened, or one has come
     * further; it is cut. */
    void (*coder_message)(struct agent *a, struct hark_connection *from, struct hark_control *m);
    void (*coder_go_on)(struct agent *a);
    void (*coder_cut)(
        struct agent *a, const struct hark_connection *connection, const char *address);
    /* The image that a process may wait for is here, or (not `whole`) where it was asked for it is
     * not. */
    void (*image_came)(struct agent *a, uint32_t rank, uint64_t id, bool whole);
    struct hosted *hosted; /* job.ranks + 1 */
    uint32_t count;
    struct hark_lease lease;
    uint32_t looks_in_vain; /* in a row: there is no file that says who may take over */
    bool stopped;      /* its processes, since its lease is over or another supervisor takes over */
    bool adopted;      /* by another supervisor, which has not said GO_ON yet */
    bool ending, over; /* END was said; and that the job is not resumed */
    bool done;         /* nothing of the job is left, and it was said */
    struct hark_removing *removing;   /* what of the job is here; NULL: it is not */
    void (*cleared)(struct agent *a); /* when it is */
    struct sent_files files;
    int status;
};

/* reach.c */
const char *hark_agent_name(const struct agent *a); /* for lines */
void hark_agent_reach(struct agent *a);

/* serve.c */
bool hark_agent_take_job(struct agent *a, struct hark_control *m);  /* false: it said why not */
bool hark_agent_take_over(struct agent *a, struct hark_control *m); /* ADOPTED; false: it can not */
void hark_agent_serve(struct agent *a, struct hark_control *m);
void hark_agent_reap(struct agent *a); /* those that are dead */
void hark_agent_kill_all(struct agent *a);
void hark_agent_confirmed(struct agent *a); /* perhaps the supervisor has all, or takes more */
/* Kills all and cleans up; then the loop ends. */
void hark_agent_leave(struct agent *a, int status);

/* depot.c: images in the host's own store, their copies on other hosts and from there */
bool hark_depot_open(struct agent *a, char error[256]);
uint16_t hark_depot_port(const struct agent *a);
/* Is the image here whole? Then a->image_came() */
void hark_depot_check(struct agent *a, uint32_t rank, uint64_t id);
void hark_depot_copy(
    struct agent *a, uint32_t rank, uint64_t id, const char *address, uint32_t round);
/* Then a->image_came() */
void hark_depot_get(struct agent *a, uint32_t rank, uint64_t id, const char *address);
void hark_depot_drop(struct agent *a, uint32_t rank, uint64_t below);
void hark_depot_undo(struct agent *a, uint32_t rank, uint64_t above, uint32_t round);
void hark_depot_list(struct agent *a); /* tells the supervisor what is there */
void hark_depot_tell(struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole);
/* The image is not here, or damaged: that is said, and it is removed, so that it is not taken for a
 * copy again. */
void hark_depot_lacks(struct agent *a, uint32_t rank, uint64_t id, int status, const char *error);
/* The connection to the agent at that address, begun if there is none. False: it can not be. *to
 * NULL: it is not opened yet; a->coder_go_on() is called when it is. */
bool hark_depot_reach(struct agent *a, const char *address, struct hark_connection **to);
void hark_depot_close(struct agent *a);

/* placing.c: in the background */
struct hark_placing_of {
    uint32_t rank;
    uint64_t id;
    int file;         /* its bytes; -1: what bears its name in the store */
    int directory;    /* where it is so far, with that name; NULL: it is verified, */
    const char *name; /* and nothing else */
    void *self;
    void (*named)(void *self); /* it is in the store now, or NULL */
    /* HARK_S_OK: it is whole, and durable; or what is wrong. */
    void (*done)(void *self, int status, const char *error);
};
/* Verifies an image, and puts it into the host's own store if it has a name elsewhere. The
 * descriptors and the name are the caller's. NULL: no memory, and done() is not called; else it is
 * called later, once. */
struct hark_placing *hark_placing_begin(struct agent *a, const struct hark_placing_of *of);
/* Without done(): what has no name in the store gets none. */
void hark_placing_end(struct hark_placing *p);

/* removing.c: in the background */
void hark_agent_close(uv_loop_t *loop, int fd); /* of a file that may have no name any more */
enum { HARK_REMOVED = 3 };
/* Removes the trees that are not NULL, then done(). NULL: no memory. */
struct hark_removing *hark_removing_begin(
    struct agent *a, const char *const path[HARK_REMOVED], void (*done)(struct agent *a));
void hark_removing_leave(struct hark_removing *r); /* without done() */

/* coder.c */
bool hark_coder_open(struct agent *a, char error[256]);
void hark_coder_list(struct agent *a); /* tells the supervisor what is there */
void hark_coder_serve(struct agent *a, struct hark_control *m); /* CODE, COMBINE, UNCODE */
/* Rebuilds it from what the hosts of that place have; then a->image_came() */
void hark_coder_get(struct agent *a, uint32_t rank, uint64_t id, const char *place);
void hark_coder_undo(struct agent *a, uint32_t rank, uint64_t above);
void hark_coder_undone(struct agent *a);             /* what was undone is brought to the disk */
void hark_coder_give_up(struct agent *a);            /* what is being made */
void hark_coder_close(struct agent *a, bool remove); /* remove: what is still being written too */

/* takeover.c */
void hark_takeover_stop(struct agent *a); /* its processes */
void hark_takeover_go_on(struct agent *a);
bool hark_takeover_look(struct agent *a); /* where one may be, by the store; true: elsewhere than
                                           * before
                                           */
bool hark_takeover_adopted(struct agent *a, struct hark_control *m); /* ADOPTED; false: it can not
                                                                        be */
void hark_takeover_say_all(struct agent *a);                         /* LIVES of all, and figures */
void hark_takeover_serve(struct agent *a);                           /* GO_ON */

/* keep.c */
void hark_kept_heard(struct hosted *h, enum hark_pipe line, const uint8_t *at, size_t length);
void hark_kept_told(struct hosted *h, const uint8_t *at, size_t length);
void hark_kept_shown(struct agent *a, struct hark_control *m); /* SHOWN */
void hark_kept_lives(struct hosted *h);                        /* says LIVES */
void hark_kept_say_again(struct hosted *h);                    /* as HEARD */
void hark_kept_free(struct hosted *h);

/* input.c */
/* A pipe, for the one that is to be started: its end of it. 0, or an errno. */
int hark_agent_input_open(struct hosted *h, int *reader);
void hark_agent_input_close(struct hosted *h);                   /* also if there is none */
void hark_agent_seek(struct hosted *h, struct hark_control *m);  /* SEEK, behind the slot */
void hark_agent_input(struct hosted *h, struct hark_control *m); /* INPUT */
void hark_agent_took(struct hosted *h);                          /* TOOK, if there is news */
uint64_t hark_agent_input_read(const struct hosted *h); /* up to there; UINT64_MAX: it has none */
/* shared.c: in the background */
bool hark_shared_open(struct agent *a); /* false: no memory */
void hark_shared_flush(struct agent *a, uint32_t rank, uint64_t id, uint32_t number);
/* Into the own store; then a->image_came() */
void hark_shared_get(struct agent *a, uint32_t rank, uint64_t id);
/* Images of the rank behind that one are of no use any more, neither there nor here. */
void hark_shared_undo(struct agent *a, uint32_t rank, uint64_t above);
void hark_shared_sweep(struct agent *a, uint32_t rank, const uint64_t *keep, uint32_t kept);
void hark_shared_close(struct agent *a);

/* report.c */
void hark_agent_say(struct agent *a, struct hark_control *m); /* and frees it */
/* And frees it; may be lost: a later one says the same. */
void hark_agent_mention(struct agent *a, struct hark_control *m);
void hark_agent_say_line(struct agent *a, uint16_t type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void hark_agent_figures(struct agent *a, uint32_t first, uint32_t count); /* of slots, if changed */
void hark_agent_row(struct agent *a, uint32_t slot);
/* Files of the job's directory that the supervisor wants, as far as it takes them. */
void hark_agent_files_begin(struct agent *a);
bool hark_agent_files_go_on(struct agent *a); /* true: all are said */
void hark_agent_files_end(struct agent *a);

/* place.c */
bool hark_agent_place(struct agent *a, char error[256]); /* makes what of the job is here */
/* If the janitor has died another one is started, which knows what that one knew. False: there is
 * none. */
bool hark_agent_keep_janitor(struct agent *a);
int hark_agent_journal(struct hosted *h); /* opens it; 0 or an errno */
/* Removes all of it; but its own store only if the job is `over`. */
void hark_agent_clear(struct agent *a, bool over);
/* The same while the loop goes on; then done(), perhaps before this returns. */
void hark_agent_clear_on(struct agent *a, bool over, void (*done)(struct agent *a));

#endif
