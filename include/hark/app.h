/* app.h: what a program calls to pass messages under `hark run` and to survive the loss of its
 * processes.
 *
 * The interface is small, and close to MPI and VeloC. Messages between two processes with the same
 * tag arrive in the order in which they were sent. Only one thread at a time may call. A program
 * that is started without `hark run` is a job of one process, without recovery.
 *
 * Every function returns 0 or a negative HARK_A_* (hark_app_error gives the words). If a process
 * cannot be recovered, it prints the reason in one line and ends with status 1; the call does not
 * return. Calls also do not return in a process that rolls back because another one died: it starts
 * its program again (hark-run(1), ROLLING BACK).
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
#define HARK_ANY_TAG    (-1)
#define HARK_TAG_MAX    INT32_MAX /* tags are 0 .. HARK_TAG_MAX */

enum hark_app_status {
    HARK_A_OK = 0,
    HARK_A_EINIT = -81,     /* not between hark_init and hark_finalize */
    HARK_A_ERANK = -82,     /* no such rank */
    HARK_A_ETAG = -83,      /* tag out of its range */
    HARK_A_ETRUNCATE = -84, /* the message is longer than the buffer; the first bytes are there */
    HARK_A_EARGUMENT = -85, /* NULL where memory is needed, an unknown type or operation, or a
                             * reserved id */
    HARK_A_EPENDING = -86,  /* posted receives are not completed: no checkpoint here; not allowed
                             * at finalize */
    HARK_A_EREGION = -87,   /* the image has other regions than the program protects */
    HARK_A_ELENGTH = -88    /* the message is longer than a frame may be: 1 GiB, or `--option
                               frame-limit` */
};

struct hark_info { /* of a received or probed message */
    int source;
    int tag;
    size_t length; /* bytes */
};

struct hark_request; /* of a non-blocking call; the wait or test that reports its completion frees
                      * it */

/* Joins the job. Called once, before all others. HARK_A_EINIT if called twice. */
int hark_init(void);
/* Leaves the job. Returns when it is on record that every process has called finalize; until then
 * this process still sends from its log, and may roll back. HARK_A_EPENDING. */
int hark_finalize(void);
/* Returns this process's rank, 0 .. hark_size()-1; hark_size, the number of processes. Both are -1
 * outside of hark_init and hark_finalize. */
int hark_rank(void);
int hark_size(void);

/* Sends `length` bytes; returns when the caller may change them. It does not wait for the receiver,
 * but it may wait for room (in the transport or the log). */
int hark_send(const void *data, size_t length, int to, int tag);
/* Receives at most `room` bytes from `from` (or HARK_ANY_SOURCE) with `tag` (or HARK_ANY_TAG). info
 * may be NULL. Bytes of `data` beyond the message's length may be overwritten too. */
int hark_recv(void *data, size_t room, int from, int tag, struct hark_info *info);
/* The same without waiting: `data` must stay as it is until wait or test has completed the request.
 * A request of a send counts as completed: a test of it waits until the message needs `data` no
 * more, so that its outcome does not depend on timing. */
int hark_isend(const void *data, size_t length, int to, int tag, struct hark_request **request);
/* Posts a receive. Messages are matched in wait or test, in the order in which the receives were
 * posted. `data` must stay valid until then, and its bytes may change from this call on. */
int hark_irecv(void *data, size_t room, int from, int tag, struct hark_request **request);
/* Waits until the request is completed; *request is NULL afterwards. Waiting for NULL returns at
 * once. */
int hark_wait(struct hark_request **request, struct hark_info *info);
/* Sets *done if the request is completed. The outcome of a test or of a probe, also that it found
 * nothing, depends on timing. scmel, team and camel replay it: a re-execution finds the same. Under
 * coordinated it need not be the same, since all processes roll back. Under the other protocols the
 * messages that a program sends must not depend on it. */
int hark_test(struct hark_request **request, bool *done, struct hark_info *info);
int hark_waitall(size_t count, struct hark_request *request[], struct hark_info info[]);
/* Waits until one of the requests is completed; *index says which, or is -1 if all are NULL. */
int hark_waitany(size_t count, struct hark_request *request[], int *index, struct hark_info *info);
/* Waits until such a message could be received, and gives its source, tag and length; it does not
 * receive the message. info may be NULL. Messages that match a posted receive belong to that
 * receive: a probe does not see them. After a checkpoint call, a message probed before it can still
 * be received with hark_recv() from info.source with info.tag. */
int hark_probe(int from, int tag, struct hark_info *info);
/* As hark_probe, but without waiting: *found is true if there is such a message. */
int hark_iprobe(int from, int tag, bool *found, struct hark_info *info);

enum hark_type { HARK_INT32, HARK_INT64, HARK_UINT64, HARK_DOUBLE };
enum hark_operation { HARK_SUM, HARK_PRODUCT, HARK_MIN, HARK_MAX };

/* Collective calls: every process of the job must make the same calls in the same order. The first
 * four use groups under protocols that have them (camel; hydee and team with --camel), which log a
 * multicast once; under the others they are messages along a binomial tree. Reductions combine in
 * the same order everywhere, so their results are the same bit for bit in every run and under every
 * protocol. The last four, in which each process has a part of its own, are always messages.
 * docs/collectives.md has the details. */
int hark_barrier(void);
int hark_bcast(void *data, size_t length, int root);
int hark_reduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation, int root);
int hark_allreduce(const void *data, void *result, size_t count, enum hark_type type,
    enum hark_operation operation);
/* Collects `length` bytes of each process, by rank, in `all` at the root, which has room for
 * hark_size() times `length`. On other processes `all` is ignored. At the root `data` may be this
 * process's place in `all`. HARK_A_ERANK; HARK_A_ELENGTH: one part is too long. */
int hark_gather(const void *data, size_t length, void *all, int root);
/* Reverses hark_gather: part i of `all` at the root, of `length` bytes, goes to rank i. */
int hark_scatter(const void *all, void *data, size_t length, int root);
/* As hark_gather, but every process gets `all`. */
int hark_allgather(const void *data, size_t length, void *all);
/* Exchanges parts: part i of `data`, of `length` bytes, goes to rank i; part i of `all` is what
 * rank i sent to this process. The two must not overlap. */
int hark_alltoall(const void *data, void *all, size_t length);

/* Names memory that belongs to checkpoints: `length` bytes at `at` under `id`, which is at most
 * UINT64_MAX - 16.
 * Another call with the same id replaces the region; length 0 removes it. The memory must not
 * change during hark_checkpoint. */
int hark_protect(uint64_t id, void *at, size_t length);
/* Takes a checkpoint if one is due; else returns at once. The call is collective over the processes
 * that are checkpointed together (under hydee the cluster; under sendet each process alone; under
 * coordinated, scmel, camel, team, and hydee with --recluster all processes): their n-th calls form
 * one checkpoint. To reach its own n-th call a process must not need, even indirectly, a message
 * that another of them sends after its n-th call. Protected memory is saved as it is inside the
 * call: so a loop must count its step before the call, or a restart repeats that step.
 * HARK_A_EPENDING while receives are posted (docs/mpi.md has what else, of MPI programs): the call
 * counts, it waits as others do, and none of these processes takes a checkpoint there. */
int hark_checkpoint(void);
/* Call it once, after the hark_protect calls. If this process starts again from a checkpoint, the
 * protected memory is restored to its state inside that hark_checkpoint call, and *restarted is the
 * checkpoint's number; else it is 0. On rank 0 standard input, read by C's stdio or read(2), then
 * goes on where it was in that call. A program may communicate before this call: images hold what
 * it received by then (up to 16 MiB), so a process that starts again sends nothing and receives the
 * same until this call. Before this call the program must do what it did in its first execution.
 * Files are as they are then: open those that go on after the call, without emptying them if
 * *restarted is not 0, and go to the place where they were in the checkpoint (protect it).
 * HARK_A_EREGION: an id or a length differs. */
int hark_restarted(uint64_t *restarted);

/* Gives what the checkpoint has under `id`, in a process that starts again from a checkpoint and
 * has not called hark_restarted; so a program can learn how much memory it needs, or what it was
 * doing. The memory is hark's, must not be changed, and lasts until hark_restarted. The program may
 * protect this memory itself, as a region that it no longer wants. HARK_A_EREGION: there is no such
 * region, or no checkpoint, or hark_restarted was called. */
int hark_saved(uint64_t id, const void **at, size_t *length);

/* Returns the time in seconds, from an origin that all processes of a machine have in common and
 * that is as old as the machine's last start. It never goes back. Under `hark run` the readings are
 * kept in a journal: a process that executes again reads the same times as before, up to where it
 * was lost, so a program may send what it has measured (hark-run(1), CLOCKS AND CHANCE). Readings
 * before the call of hark_restarted() belong to the beginning of the program, which each restart
 * executes again: it reads the same times. Readings before hark_init or after hark_finalize are not
 * kept. A program that waits by reading it all the time reads each value several times, once it has
 * waited for 50 us: they are at most 100 us and a thousandth of its wait old. */
double hark_wtime(void);

/* Returns the words for a status; never NULL. */
const char *hark_app_error(int status);

#ifdef __cplusplus
}
#endif
#endif
