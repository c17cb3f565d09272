/* service.h: the failure service: what must not be forgotten about failures, and nothing else.
 *
 * It owns five things: the recovery epoch `re`, the incarnations, the set D of ranks that roll back (cumulative
 * until recovery is over) and the decisions of checkpoint waves; of those also what a recovery line has undone, until
 * recovery is over (N-11). And, where clusters change, the maps of clusters that its checkpoints go by. Each change is written to a store before anybody is told. It does no other I/O, starts nothing
 * and kills nobody: the supervisor does.
 *
 * One thread at a time.
 */
#ifndef HARK_SUPERVISOR_SERVICE_H
#define HARK_SUPERVISOR_SERVICE_H

#include "../control/clusters.h"
#include "../control/control.h"
#include "hark/hark.h"
#include "hark/store.h"

#define HARK_SERVICE_ERROR 512 /* bytes of a message, its NUL included */

enum hark_service_status {
    HARK_SERVICE_OK = 0,
    HARK_SERVICE_REFUSED = 1,    /* a fact of an older recovery epoch, or about nobody */
    HARK_SERVICE_FELL_BACK = 2,  /* the newest image is damaged: the group goes back to an older one */
    HARK_SERVICE_EDURABLE = -51, /* what changed could not be written; hark_service_error */
    HARK_SERVICE_ELOST = -52,    /* no image of the group is whole; hark_service_error */
    HARK_SERVICE_EINVAL = -53,   /* the record of another job, or of none */
    HARK_SERVICE_EMEMORY = -54
};

struct hark_service_config {
    const struct hark_protocol *protocol;
    const struct hark_clusters *clusters; /* at the beginning; must outlive the service */
    bool together;                        /* checkpoints are of all processes, whoever goes back: HARK_WAVES_ALL */
    uint32_t generations;                 /* images kept of each process, 1 .. 8; 0 stands for 2 */
    struct hark_store *record;            /* where its state is kept, two records at a time; NULL: nowhere */
    uint32_t key;                         /* the rank under which `record` keeps it */
    struct hark_store *images;            /* the images of the processes; NULL: all count as whole */
    const char *identity;                 /* lines NAME=VALUE that tell jobs apart, compared at a resume */
};

struct hark_service;

/* Makes a service. If `record` holds one already it goes on from there (then hark_service_resumed() is true). The
 * config is copied, not what it points to. On failure *s is NULL and the reason is in error, one line:
 * HARK_SERVICE_EDURABLE, HARK_SERVICE_EINVAL (of another job), HARK_SERVICE_EMEMORY. */
int hark_service_open(struct hark_service **s, const struct hark_service_config *config,
    char error[HARK_SERVICE_ERROR]);
void hark_service_close(struct hark_service *s);
const char *hark_service_error(const struct hark_service *s);

bool hark_service_resumed(const struct hark_service *s);
bool hark_service_finished(const struct hark_service *s); /* hark_service_finish() was durable */
uint32_t hark_service_re(const struct hark_service *s);
uint32_t hark_service_inc(const struct hark_service *s, uint32_t rank); /* rank may be HARK_RECOVERY */
uint32_t hark_service_down(const struct hark_service *s);               /* how many ranks are in D */
bool hark_service_is_down(const struct hark_service *s, uint32_t rank);
/* The last decided checkpoint of the group of `rank`; 0: none, the initial state. */
uint64_t hark_service_wave(const struct hark_service *s, uint32_t rank);

/* The checkpoints of `rank` beyond that which are undone, ascending; *id lasts until the service changes. How many. */
uint32_t hark_service_undone(const struct hark_service *s, uint32_t rank, const uint64_t **id);

/* The cluster of each rank, by the map that is in force: numbered by lowest rank. It lasts until that changes. */
const uint32_t *hark_service_clusters(const struct hark_service *s);
/* The map that is to come, of which every process is told; NULL: none. The first wave whose fact says so brings it into force. */
const uint32_t *hark_service_next(const struct hark_service *s);
/* Does who goes back now go behind a change of the map? So hark_service_verify() has found; until hark_service_fail(). */
bool hark_service_behind(const struct hark_service *s);
/* Takes a copy of the next map, numbered by lowest rank. HARK_SERVICE_OK; HARK_SERVICE_REFUSED: another one is to come, or the waves are
 * not of all; HARK_SERVICE_EMEMORY. It is not durable before it is in force. */
int hark_service_propose(struct hark_service *s, const uint32_t *of);

/* Sets member[r] (of `ranks` bytes) for each rank r that rolls back when `rank` dies: its unit, or all, if what is whole of the
 * unit's images is older than the map of clusters. False: the protocol survives no failure. */
bool hark_service_unit(struct hark_service *s, uint32_t rank, uint8_t *member);

/* Sets it for each rank that goes back whoever dies: where a line says who does, all that have in a recovery that is not over. */
void hark_service_again(const struct hark_service *s, uint8_t *member);

/* Before the restart of `rank`: verifies the images that it and its unit need. *wave is the checkpoint to restart
 * from. HARK_SERVICE_OK; HARK_SERVICE_FELL_BACK: the group's decision is now an older one, whose images are whole,
 * hark_service_error says what was wrong with the newer; HARK_SERVICE_ELOST. What changed becomes durable with the
 * hark_service_fail() that must follow. */
int hark_service_verify(struct hark_service *s, uint32_t rank, uint64_t *wave);

/* The ranks with rolls[r] != 0 (NULL: none) have died and roll back: new incarnations, into D, re + 1. `recovery`: the
 * recovery process has died too. HARK_SERVICE_OK, or HARK_SERVICE_EDURABLE: it holds, but only in memory. */
int hark_service_fail(struct hark_service *s, const uint8_t *rolls, bool recovery);

/* After HARK_FACT_LINE re is another, and it is for the supervisor to announce it: see hark_service_inc().
 * A fact from a process (PERSIST), to be answered by STORED with ok = (status == HARK_SERVICE_OK). `oldest`: of
 * HARK_FACT_WAVE, the oldest checkpoint that is kept; 0: none yet. `map`: the wave brings the next map of clusters into force.
 * HARK_SERVICE_REFUSED, HARK_SERVICE_EDURABLE: a wave is then
 * not decided; the end of recovery holds in memory. */
int hark_service_fact(struct hark_service *s, uint32_t fact, uint32_t peer, uint32_t re, uint64_t id,
    uint64_t oldest, bool map);

/* Every process has finished. HARK_SERVICE_OK, HARK_SERVICE_EDURABLE. */
int hark_service_finish(struct hark_service *s);

/* The present announcement as a FAILED message, complete; to be freed. */
void hark_service_announce(const struct hark_service *s, struct hark_control *m);

#endif
