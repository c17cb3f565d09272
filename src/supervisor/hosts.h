/* hosts.h: hosts other than ours, as the supervisor sees them: what it knows of each, and of the
 * images that lie on their disks. internal.h says who calls whom. */
#ifndef HARK_SUPERVISOR_HOSTS_H
#define HARK_SUPERVISOR_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <uv.h>

#include "../agent/connection.h"
#include "../agent/session.h"
#include "../control/control.h"
#include "hark/service.h"

struct child;
struct supervisor;

struct host { /* another one than ours, and its agent */
    struct supervisor *s;
    uint32_t number; /* from 0 */
    const char *name;
    uint32_t slots;
    bool spare;                         /* it runs nothing until another one dies */
    struct hark_connection *connection; /* NULL: none */
    struct hark_session session;        /* over all its connections */
    uint64_t session_name;              /* 0: none */
    uint64_t undone_at;     /* the message that undoes what it had missed; 0: none is on its way */
    uint32_t number_joined; /* of its connections, by the agent's count: the last one */
    char address[64];       /* numeric, of its last connection */
    uint64_t cut_at;        /* when its connection ended (hark_lease_now()); 0: it has one */
    char cut_why[100];
    bool cut_said;
    bool ready, lost, done;  /* it runs the job; it is dead, until it is back; it has cleaned up */
    bool was_ready;          /* ever */
    bool adopted;            /* its agent is of the run before */
    uint32_t deaths, joined; /* how often it died; how often a cut connection was made again */
    uint64_t try_at;         /* a dead one's agent is started again then (hark_lease_now()) */
    uint32_t tries;          /* in a row */
    uint64_t heard;          /* when we last heard of it (hark_lease_now()) */
    int64_t clock;           /* our CLOCK_MONOTONIC less its own, ns */
    bool clock_known;
    char *directory, *spill; /* of the job there; spill NULL: none */
    char *store_path;        /* where its processes keep images */
    char *depot;             /* address for other agents; NULL: none */
    int board, store;        /* descriptors there that processes inherit */
    pid_t launcher;          /* 0: none, or it has ended */
};

/* It was dead in this run: what it lists may be of checkpoints that were undone meanwhile. */
static inline bool hark_sup_host_was_dead(const struct host *h)
{
    return h->was_ready && !h->adopted;
}

struct hark_holding {
    uint64_t id;
    struct host *host;
};

struct hark_holdings { /* which host has which image of a rank */
    struct hark_holding *at;
    uint32_t count;
    uint32_t round; /* of copies: what comes late of an earlier one is of no checkpoint any more */
};

/* host.c */
void hark_sup_host_say(struct host *h, struct hark_control *m); /* ends it, sends it, frees it */
void hark_sup_host_mention(struct host *h, struct hark_control *m); /* the same; it may be lost */
/* Its session is over: if its agent lives, it hears so when it asks, and ends its processes. */
void hark_sup_host_part(struct host *h);
/* Begins a message about a process. */
void hark_sup_host_about(struct hark_control *m, uint16_t type, const struct child *c);
uint32_t hark_sup_slot_number(const struct child *c);
bool hark_sup_host_silent(const struct supervisor *s);      /* one has not been heard of lately */
bool hark_sup_takeover_allowed(const struct supervisor *s); /* may another one take our place? */

/* missed.c: for jobs that may be resumed */
int hark_sup_missed_open(struct supervisor *s); /* the status, after a line */
/* The stores are open: a new one has it before it has a record. The status, after a line. */
int hark_sup_missed_made(struct supervisor *s);
bool hark_sup_missed_begin(struct supervisor *s); /* with hosts; false after a line */
void hark_sup_missed_undo(struct supervisor *s, const uint8_t *member); /* they go back now */
/* Images of the rank behind that one, as the host lists them, are of another past; UINT64_MAX: none
 */
uint64_t hark_sup_missed(const struct host *h, uint32_t rank);
void hark_sup_missed_look(struct host *h); /* has it dropped these images? */
/* Before a checkpoint is decided, which may bear the number of one that was undone. */
void hark_sup_missed_settle(struct supervisor *s);
/* Of the run before, which has died: its processes may live so long; 0: it has ended them. */
void hark_sup_missed_over(struct supervisor *s); /* that time is over */
uint64_t hark_sup_missed_lease(const struct supervisor *s);
bool hark_sup_missed_images(const struct supervisor *s); /* has a run kept images on hosts? */
void hark_sup_missed_end(struct supervisor *s, bool all_ended); /* of its processes on hosts */
void hark_sup_missed_close(struct supervisor *s);

/* takeover_file.c: a run that takes the place of one that has died */
bool hark_sup_takeover_open(struct supervisor *s); /* what the run before has left, and the keys of
                                                   this one; false after a line */
uint32_t hark_sup_takeover_left(const struct supervisor *s); /* so many of its agents may live */
/* The host of such an agent; NULL: it is none. */
struct host *hark_sup_takeover_host(struct supervisor *s, uint64_t session);
bool hark_sup_takeover_has_all(const struct supervisor *s); /* all of them have come */
void hark_sup_takeover_call(struct supervisor *s);          /* says where we are */
void hark_sup_takeover_begin(struct supervisor *s);         /* the first of them comes */
void hark_sup_takeover_give_up(struct supervisor *s);       /* no more of them are waited for */
void hark_sup_takeover_leave(struct supervisor *s);         /* ours are the agents of the job now */
void hark_sup_takeover_changed(struct supervisor *s);       /* another agent serves us */
/* Writes down the clusters that are proposed, before processes are told (NULL: none are any more).
 * False: that can not be done; then they are not to be told. */
bool hark_sup_takeover_clusters(struct supervisor *s, const char *text);
const char *hark_sup_takeover_proposed(const struct supervisor *s); /* NULL: none were */
/* None can take over: agents that wait end. */
void hark_sup_takeover_forget(const struct supervisor *s);
void hark_sup_takeover_close(struct supervisor *s, bool all_ended);

/* takeover.c */
bool hark_sup_take_over(struct supervisor *s); /* in place of hark_sup_begin(); false after a line
                                                */

/* launch.c */
/* Lines `supervisor ADDRESS`, how many: where agents reach us. Those that only this host can reach
 * are last. */
unsigned hark_sup_addresses(const struct supervisor *s, FILE *f);
bool hark_sup_launch(struct supervisor *s); /* some of those not launched yet; false after a line */
void hark_sup_launch_again(struct host *h); /* one that is dead: it may be back */
void hark_sup_launchers_reap(struct supervisor *s); /* those that have ended */
void hark_sup_launchers_end(struct supervisor *s);  /* all */
/* Behind a line that agents have not come up: what the launcher may lack. */
const char *hark_sup_launcher_hint(const struct supervisor *s, char text[160]);

/* agents.c */
/* Waits until all are ready, or, without hosts, until processes of the run before that had some can
 * not live any more; false after a line. */
bool hark_sup_agents_open(struct supervisor *s);
void hark_sup_agents_close(struct supervisor *s); /* nothing of the job is left on their hosts, if
                                                     they can be reached */

/* agent_join.c */
struct hark_connection_events hark_sup_agent_events(struct supervisor *s); /* of their connections
                                                                            */
void hark_sup_agents_heard(struct supervisor *s); /* takes what they have said and was put off */

/* agent_said.c */
void hark_sup_agent_said(struct host *h, struct hark_control *m);

/* host_watch.c */
void hark_sup_host_lost(struct host *h, const char *how); /* dead, and what runs on it; `how` it is
                                                             known */
void hark_sup_host_lost_quietly(struct host *h);          /* one on which nothing runs */
void hark_sup_hosts_look(uv_timer_t *timer);              /* from time to time */

/* place.c */
/* Where a process is to run whose host is gone, or that has none yet; false after a line: nowhere.
 */
bool hark_sup_place(struct child *c);
/* The name of the host that it was to run on when the job began; NULL: there are no hosts. */
const char *hark_sup_first_host(const struct child *c);

/* codes.c: codes over the images of several hosts, with --host-store; else nothing happens */
bool hark_sup_codes_open(struct supervisor *s); /* false: no memory */
void hark_sup_codes_close(struct supervisor *s);
bool hark_sup_codes_have(const struct supervisor *s, uint32_t rank, uint64_t id); /* can it be
                                                                                     rebuilt? */
/* As START has it; until the next call. NULL: it can not be rebuilt. */
char *hark_sup_codes_place(const struct supervisor *s, uint32_t rank, uint64_t id);
/* It has just written that image, and waits until it is protected; it waits no more. */
void hark_sup_codes_anew(struct supervisor *s, uint32_t rank, uint64_t id);
void hark_sup_codes_abandon(struct supervisor *s, uint32_t rank);
void hark_sup_codes_undo(struct supervisor *s, const uint8_t *member);

/* coding.c */
bool hark_sup_codes_lack(const struct supervisor *s, uint32_t rank, uint64_t id); /* is it not
                                                                                     protected yet?
                                                                                   */
void hark_sup_codes_work(struct supervisor *s); /* protects what is not */
void hark_sup_codes_look(struct supervisor *s); /* from time to time: also what could not be */
void hark_sup_codes_decided(struct supervisor *s, const struct hark_fact *fact);
void hark_sup_codes_lose(const struct host *h);
void hark_sup_codes_said(struct host *h, struct hark_control *m); /* by its agent */

/* copies.c */
#define HARK_SUP_HOLDERS 11
bool hark_sup_copies_open(struct supervisor *s); /* false after a line */
void hark_sup_copies_close(struct supervisor *s);
/* What its agent says: HARK_HOLDS_*. `round` of a copy that was asked for; 0: of none. */
void hark_sup_holds(struct host *h, uint32_t rank, uint64_t id, uint32_t whole, uint32_t round);
void hark_sup_holds_nothing(struct host *h);
bool hark_sup_has_own(const struct child *c); /* has its host the image that it goes back to? */
/* Where its image is, as START has it: how many places, at most HARK_SUP_HOLDERS. */
uint32_t hark_sup_holders(const struct child *c, uint64_t id, char **address);
/* A wave is said to be decided by `c`: true if it waits for copies first. */
bool hark_sup_wave_waits(struct child *c, const struct hark_fact *fact);
/* One that waits no more, if there is any. */
bool hark_sup_wave_ready(struct supervisor *s, struct child **c, struct hark_fact *fact);
void hark_sup_waves_drop(struct supervisor *s, const uint8_t *member);
void hark_sup_waves_look(struct supervisor *s); /* from time to time: asks again */
void hark_sup_copies_undo(struct supervisor *s, const uint8_t *member);
void hark_sup_copies_none(struct host *h);   /* it is back */
void hark_sup_copies_missed(struct host *h); /* it is there, after an earlier run */
void hark_sup_copies_drop(struct supervisor *s, const struct hark_fact *fact);

/* flush.c */
int hark_sup_flush_open(struct supervisor *s); /* 0, or the exit status after one line */
void hark_sup_flush_close(struct supervisor *s);
void hark_sup_flush_watch(struct supervisor *s); /* from time to time: does it hang? */
void hark_sup_flush_look(struct supervisor *s);  /* a checkpoint was decided: is it time? */
/* The run is to end behind the last checkpoint: with that in the shared store. False: none is to be
 * there. */
bool hark_sup_flush_ends(const struct supervisor *s); /* being written: no later one is decided */
bool hark_sup_flush_then_end(struct supervisor *s);
/* What its agent says: HARK_FLUSHED. */
void hark_sup_flushed(
    struct host *h, uint32_t rank, uint64_t id, uint32_t number, uint32_t status, const char *line);
void hark_sup_flush_again(const struct host *lost); /* asks others */
bool hark_sup_flush_has(const struct supervisor *s, uint32_t rank, uint64_t id);
void hark_sup_flush_gone(struct supervisor *s, uint32_t rank, uint64_t id); /* it has not */
void hark_sup_flush_undo(struct supervisor *s, const uint8_t *member);
/* The failure service goes back to the newest that is whole there, as hark_keeper_return(); what
 * that is. HARK_KEEPER_ELOST: there is none. */
int hark_sup_flush_return(struct supervisor *s, bool recovery, char *text, size_t room);

#endif
