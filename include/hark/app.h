/* app.h: what a program calls to pass messages under `hark run` and to survive the loss of its processes.
 *
 * Small, and as MPI and VeloC users expect it. Messages between two processes on one tag arrive in the order
 * they were sent. One thread at a time may call. Started without `hark run`, a program is a job of
 * one process, and nothing is recovered.
 *
 * Every function returns 0 or a negative HARK_A_* (in words: hark_app_error). When a process
 * is beyond recovery it says why in one line and ends with status 1; no call returns then. Nor does one of a process that
 * goes back because another one was lost: it executes its program again, from the beginning (hark-run(1), GOING BACK).
 */
#ifndef HARK_APP_H
#define HARK_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_ANY_SOURCE (-1)
#define HARK_ANY_TAG (-1)
#define HARK_TAG_MAX INT32_MAX /* tags are 0 .. HARK_TAG_MAX */

enum hark_app_status {
    HARK_A_OK = 0,
    HARK_A_EINIT = -81,     /* not between hark_init and hark_finalize */
    HARK_A_ERANK = -82,     /* no such rank */
    HARK_A_ETAG = -83,      /* tag out of its range */
    HARK_A_ETRUNCATE = -84, /* the message is longer than the buffer; the first bytes are there */
    HARK_A_EARGUMENT = -85, /* NULL where memory is needed, an unknown type or operation, an id that is not for programs */
    HARK_A_EPENDING = -86,  /* receives are posted and not completed: not at a checkpoint or finalize */
    HARK_A_EREGION = -87,   /* the image holds other regions than were protected */
    HARK_A_ELENGTH = -88    /* the message is longer than a frame may be: 1 GiB, or `--option frame-limit` */
};

struct hark_info { /* of a received or probed message */
    int source;
    int tag;
    size_t length; /* bytes */
};

struct hark_request; /* of a non-blocking call; done, it is freed by the wait or test that says so */

/* Joins the job. Called once, before all others. HARK_A_EINIT if called twice. */
int hark_init(void);
/* Leaves the job: returns when every process of it has called finalize, durably; until then this process serves
 * its log and may go back. HARK_A_EPENDING. */
int hark_finalize(void);
/* 0 .. hark_size()-1; -1 outside init and finalize. */
int hark_rank(void);
int hark_size(void);

/* Sends `length` bytes; returns when they may be changed. Does not wait for the receiver, but may for room. */
int hark_send(const void *data, size_t length, int to, int tag);
/* Receives at most `room` bytes from `from` (or HARK_ANY_SOURCE) with `tag` (or HARK_ANY_TAG). info may be NULL. Of `data`, what lies
 * behind the message's length may have been written too. */
int hark_recv(void *data, size_t room, int from, int tag, struct hark_info *info);
int hark_isend(const void *data, size_t length, int to, int tag, struct hark_request **request);
/* The match is made in wait or test, in the order in which receives were posted. `data` must stay till then. */
int hark_irecv(void *data, size_t room, int from, int tag, struct hark_request **request);
/* *request is NULL afterwards; waiting for NULL returns at once. */
int hark_wait(struct hark_request **request, struct hark_info *info);
/* *done says whether it was completed. What a look finds, here and in a probe, or that it found nothing, is a choice: under scmel, team
 * and camel it finds the same when it is executed again. Under the others what is sent must not depend on it (but under coordinated,
 * where all of a cluster execute again). */
int hark_test(struct hark_request **request, bool *done, struct hark_info *info);
int hark_waitall(size_t count, struct hark_request *request[], struct hark_info info[]);
/* Any one of them; *index says which; -1 if all are NULL. */
int hark_waitany(size_t count, struct hark_request *request[], int *index, struct hark_info *info);
/* Waits until such a message could be received, and says of whom it is, its tag and its length; takes nothing. info may be NULL. A receive
 * that is posted has a claim to all that fits it, and those are not seen. Behind a checkpoint call what was seen before it is surely received by
 * hark_recv() from info.source with info.tag. */
int hark_probe(int from, int tag, struct hark_info *info);
/* The same without waiting: *found says whether there is one. */
int hark_iprobe(int from, int tag, bool *found, struct hark_info *info);

enum hark_type { HARK_INT32, HARK_INT64, HARK_UINT64, HARK_DOUBLE };
enum hark_operation { HARK_SUM, HARK_PRODUCT, HARK_MIN, HARK_MAX };

/* Collective calls: every process of the job makes the same ones in the same order. The first four go through groups under
 * protocols that know them (camel; hydee and team with --camel), which log what all get once, and else along a binomial tree of
 * messages; the order in which reductions combine is the same everywhere, so results are the same bit for bit on every run and
 * under every protocol. The last four, in which each process has another part, are messages always. docs/collectives.md says
 * what goes where. */
int hark_barrier(void);
int hark_bcast(void *data, size_t length, int root);
int hark_reduce(const void *data, void *result, size_t count, enum hark_type type, enum hark_operation operation,
    int root);
int hark_allreduce(const void *data, void *result, size_t count, enum hark_type type, enum hark_operation operation);
/* `length` bytes of each process, by rank, to `all` at the root, which has room for hark_size() times as many; elsewhere `all` is
 * not looked at. `data` may be this process's place in `all`. HARK_A_ERANK, HARK_A_ELENGTH of one part. */
int hark_gather(const void *data, size_t length, void *all, int root);
/* The other way: of `all` at the root each gets its `length` bytes. */
int hark_scatter(const void *all, void *data, size_t length, int root);
/* As hark_gather, and all have it. */
int hark_allgather(const void *data, size_t length, void *all);
/* Part i of `data`, of `length` bytes, goes to rank i; part i of `all` is what rank i had for this process. Not the same memory. */
int hark_alltoall(const void *data, void *all, size_t length);

/* Names memory that belongs into checkpoints: `length` bytes at `at` under `id` (0 .. UINT64_MAX-1). The
 * same id again replaces it; length 0 takes it back. The memory must hold still during hark_checkpoint. */
int hark_protect(uint64_t id, void *at, size_t length);
/* Collective over the processes that are checkpointed together (the cluster under hydee; each alone under sendet; all of them
 * under coordinated, scmel, camel, team, and hydee with --recluster): their n-th calls belong together. Takes a checkpoint if one
 * is due, and else returns at once. A program must not need, even indirectly, a message that one of these sends after its n-th
 * call to reach its own n-th call. Protected memory is saved as it is inside the call: a loop counts its step before it, or that step
 * would be made again after a restart. HARK_A_EPENDING while receives are posted. */
int hark_checkpoint(void);
/* To be called once, after the hark_protect calls: if this process begins again from a checkpoint, the protected
 * memory is now as it was inside that hark_checkpoint call and *restarted is its number; else 0.
 * A process that begins again and communicates before it has its memory back is ended with a line, and the job with it.
 * HARK_A_EREGION: an id or length differs. */
int hark_restarted(uint64_t *restarted);

/* The words for a status: never NULL. */
const char *hark_app_error(int status);

#ifdef __cplusplus
}
#endif
#endif
