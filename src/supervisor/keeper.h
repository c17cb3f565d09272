/* keeper.h: the failure service (hark/service.h) with a disk: its record in a store, and the images
 * of processes in another.
 *
 * What it decides is the core's; here VERIFY and RECORD are done at once, so no answer is ever
 * awaited when a call returns, but between hark_keeper_choose() and hark_keeper_commit(). It starts
 * nothing and kills nobody: the supervisor does.
 *
 * One thread at a time.
 */
#ifndef HARK_SUPERVISOR_KEEPER_H
#define HARK_SUPERVISOR_KEEPER_H

#include "../control/clusters.h"
#include "../control/control.h"
#include "hark/service.h"
#include "hark/store.h"

#define HARK_KEEPER_ERROR 512 /* bytes of a message, its NUL included */

enum hark_keeper_status {
    HARK_KEEPER_OK = 0,
    HARK_KEEPER_REFUSED = 1,    /* a fact of an older recovery epoch, or about nobody */
    HARK_KEEPER_EDURABLE = -51, /* what changed could not be written; hark_keeper_error */
    HARK_KEEPER_ELOST = -52,    /* no image of the group is whole; hark_keeper_error */
    HARK_KEEPER_EINVAL = -53,   /* the record of another job, or of none */
    HARK_KEEPER_EMEMORY = -54
};

struct hark_keeper_config {
    const struct hark_protocol *protocol;
    const struct hark_clusters *clusters; /* at the beginning */
    bool waves_all;       /* checkpoints are of all processes, whoever goes back: HARK_WAVES_ALL */
    uint32_t generations; /* images kept of each process, 1 .. 8; 0 stands for 2 */
    struct hark_store *record; /* where its state is kept, two records at a time; NULL: nowhere */
    uint32_t key;              /* the rank under which `record` keeps it */
    struct hark_store *images; /* the images of the processes; NULL: all count as whole */
    const char *identity;      /* lines NAME=VALUE that tell jobs apart, compared at a resume */
    /* NULL, or told of each rank that goes back to an older image than the newest, with its unit;
     * `why`: what was wrong with the newer. */
    void (*fell_back)(void *self, uint32_t rank, uint64_t wave, const char *why);
    /* NULL, or told that no image of the rank's unit is whole. */
    void (*lost)(void *self, uint32_t rank, const char *why);
    void *self;
};

struct hark_keeper;

/* Makes one. If `record` holds a record already it goes on from there (then hark_keeper_resumed()
 * is true); if that is not the newest one, error says what is wrong with the newest, else it is
 * empty. The config is copied, not what it points to. On failure *k is NULL and the reason is in
 * error, one line: HARK_KEEPER_EDURABLE, HARK_KEEPER_EINVAL (of another job), HARK_KEEPER_EMEMORY.
 */
int hark_keeper_open(
    struct hark_keeper **k, const struct hark_keeper_config *config, char error[HARK_KEEPER_ERROR]);
void hark_keeper_close(struct hark_keeper *k);
const char *hark_keeper_error(const struct hark_keeper *k);
bool hark_keeper_resumed(const struct hark_keeper *k);

/* The core, for what hark/service.h tells of it; it may move with the next call. */
const struct hark *hark_keeper_core(const struct hark_keeper *k);
/* RESTARTED.undone of a rank: *id lasts until the next call. How many. */
uint32_t hark_keeper_undone(struct hark_keeper *k, uint32_t rank, const uint64_t **id);
/* The cluster of each rank, by the map that is in force, or (hark_keeper_next) that is to come,
 * NULL: none is. Until the next call. */
const uint32_t *hark_keeper_clusters(struct hark_keeper *k);
const uint32_t *hark_keeper_next(struct hark_keeper *k);

/* The ranks with dead[r] != 0 (NULL: none), and perhaps the recovery process, have died: looks at
 * the images of all that go back (hark_service_goes_back()). HARK_KEEPER_OK: hark_keeper_commit()
 * must follow; HARK_KEEPER_ELOST, HARK_KEEPER_EMEMORY. */
int hark_keeper_choose(struct hark_keeper *k, const uint8_t *dead, bool recovery);
/* The same after hark_keeper_resumed(): nobody lives. */
int hark_keeper_resume(struct hark_keeper *k, bool recovery);
/* Instead, after hark_keeper_resumed(): forgets what `record` held, and all begin as in a new job.
 * HARK_KEEPER_OK, HARK_KEEPER_EMEMORY. */
int hark_keeper_begin_anew(struct hark_keeper *k);
/* Makes a choice durable. HARK_KEEPER_OK, or HARK_KEEPER_EDURABLE: it holds, but only in memory. */
int hark_keeper_commit(struct hark_keeper *k);
/* By the last change: back[r] != 0 for each rank that went back with it; of HARK_FACT_LINE those of
 * the facts before it too. */
const uint8_t *hark_keeper_back(const struct hark_keeper *k);

/* A fact from a process (PERSIST), to be answered by STORED with ok = (status == HARK_KEEPER_OK);
 * the arguments are those of HARK_SERVICE_FACT. After HARK_FACT_LINE `re` is another, and it is for
 * the supervisor to announce it. HARK_KEEPER_REFUSED; HARK_KEEPER_EDURABLE: a wave is then not
 * decided, all else holds in memory; HARK_KEEPER_ELOST; HARK_KEEPER_EMEMORY. */
int hark_keeper_fact(struct hark_keeper *k, const struct hark_fact *fact);
/* Takes a copy of the next map. HARK_KEEPER_OK; HARK_KEEPER_REFUSED: another one is to come, or the
 * waves are not of all. It is not durable before it is in force. */
int hark_keeper_propose(struct hark_keeper *k, const uint32_t *of);
/* The present state, to be put into a store later, if that turns out to be of use: *bytes is to be
 * freed. False: no memory. */
bool hark_keeper_pack(const struct hark_keeper *k, uint8_t **bytes, uint64_t *length);
/* Writes it as image `id` of rank 0, with the caller's own `more`. HARK_KEEPER_OK, or
 * HARK_KEEPER_EDURABLE with the reason in to->error. */
int hark_keeper_put(const struct hark_keeper *k, struct hark_store *to, uint64_t id,
    const void *bytes, uint64_t length, const void *more, uint64_t more_length);
/* Goes back to what hark_keeper_put() wrote there, with all ranks (and the recovery process), and
 * looks at the images, as hark_keeper_resume() does: HARK_KEEPER_OK, then hark_keeper_commit() must
 * follow. After HARK_KEEPER_EDURABLE (it can not be read), HARK_KEEPER_EINVAL (of another job),
 * HARK_KEEPER_ELOST and HARK_KEEPER_EMEMORY all is as it was. */
int hark_keeper_return(struct hark_keeper *k, struct hark_store *from, uint64_t id, bool recovery);
/* Every process has finished. HARK_KEEPER_OK, HARK_KEEPER_EDURABLE. */
int hark_keeper_finish(struct hark_keeper *k);

/* The present announcement as a FAILED message, complete; to be freed. m->failed if there was no
 * memory for it. */
void hark_keeper_announce(const struct hark_keeper *k, struct hark_control *m);

#endif
