/* mistakes.c: every mistake that app.h has a status for, made by both processes of a job; each call
 * says so, and harms nothing: what is right goes on. Ends with 1 if some call said otherwise. */
#include <stdio.h>
#include <string.h>

#include "hark/app.h"

static int wrong, right, rank = -1;

static void expect(int expected, int found, const char *call)
{
    if (expected == found) {
        right++;
        return;
    }
    wrong++;
    printf("FAILED rank %d: %s: expected %d (%s), found %d (%s)\n", rank, call, expected,
        hark_app_error(expected), found, hark_app_error(found));
}
#define EXPECT(status, call) expect(status, call, #call)

#define TOO_LONG     ((size_t)2 << 30) /* such memory is not looked at */
#define NO_TYPE      ((enum hark_type)4)
#define NO_OPERATION ((enum hark_operation)4)

static int64_t a[4], b[8];
static struct hark_request *request;
static struct hark_info info;
static bool flag;
static int at;
static uint64_t number;

static void outside(void)
{
    EXPECT(HARK_A_EINIT, hark_finalize());
    EXPECT(-1, hark_rank());
    EXPECT(-1, hark_size());
    EXPECT(HARK_A_EINIT, hark_send(a, 8, 0, 0));
    EXPECT(HARK_A_EINIT, hark_recv(a, 8, 0, 0, NULL));
    EXPECT(HARK_A_EINIT, hark_isend(a, 8, 0, 0, &request));
    EXPECT(HARK_A_EINIT, hark_irecv(a, 8, 0, 0, &request));
    EXPECT(HARK_A_EINIT, hark_wait(&request, NULL));
    EXPECT(HARK_A_EINIT, hark_waitall(1, &request, NULL));
    EXPECT(HARK_A_EINIT, hark_waitany(1, &request, &at, NULL));
    EXPECT(HARK_A_EINIT, hark_test(&request, &flag, NULL));
    EXPECT(HARK_A_EINIT, hark_probe(0, 0, &info));
    EXPECT(HARK_A_EINIT, hark_iprobe(0, 0, &flag, &info));
    EXPECT(HARK_A_EINIT, hark_barrier());
    EXPECT(HARK_A_EINIT, hark_bcast(a, 8, 0));
    EXPECT(HARK_A_EINIT, hark_reduce(a, b, 1, HARK_INT64, HARK_SUM, 0));
    EXPECT(HARK_A_EINIT, hark_allreduce(a, b, 1, HARK_INT64, HARK_SUM));
    EXPECT(HARK_A_EINIT, hark_gather(a, 8, b, 0));
    EXPECT(HARK_A_EINIT, hark_scatter(b, a, 8, 0));
    EXPECT(HARK_A_EINIT, hark_allgather(a, 8, b));
    EXPECT(HARK_A_EINIT, hark_alltoall(a, b, 8));
    EXPECT(HARK_A_EINIT, hark_protect(1, a, sizeof a));
    EXPECT(HARK_A_EINIT, hark_checkpoint());
    EXPECT(HARK_A_EINIT, hark_restarted(&number));
}

static void messages(void)
{
    EXPECT(HARK_A_EINIT, hark_init());
    EXPECT(HARK_A_EARGUMENT, hark_send(NULL, 8, 0, 0));
    EXPECT(HARK_A_ERANK, hark_send(a, 8, 2, 0));
    EXPECT(HARK_A_ERANK, hark_send(a, 8, -1, 0));
    EXPECT(HARK_A_ETAG, hark_send(a, 8, 0, -1));
    EXPECT(HARK_A_ELENGTH, hark_send(a, TOO_LONG, 0, 0));
    EXPECT(HARK_A_EARGUMENT, hark_isend(a, 8, 0, 0, NULL));
    EXPECT(HARK_A_ERANK, hark_isend(a, 8, 2, 0, &request));
    EXPECT(HARK_A_ETAG, hark_isend(a, 8, 0, -1, &request));
    EXPECT(HARK_A_EARGUMENT, hark_recv(NULL, 8, 0, 0, NULL));
    EXPECT(HARK_A_ERANK, hark_recv(a, 8, 2, 0, NULL));
    EXPECT(HARK_A_ERANK, hark_recv(a, 8, -2, 0, NULL));
    EXPECT(HARK_A_ETAG, hark_recv(a, 8, 0, -2, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_irecv(a, 8, 0, 0, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_irecv(NULL, 8, 0, 0, &request));
    EXPECT(HARK_A_ERANK, hark_irecv(a, 8, 2, 0, &request));
    EXPECT(HARK_A_ETAG, hark_irecv(a, 8, 0, -2, &request));
    EXPECT(HARK_A_ERANK, hark_probe(2, 0, &info));
    EXPECT(HARK_A_ETAG, hark_probe(0, -2, &info));
    EXPECT(HARK_A_EARGUMENT, hark_iprobe(0, 0, NULL, &info));
    EXPECT(HARK_A_ERANK, hark_iprobe(2, 0, &flag, &info));
    EXPECT(HARK_A_ETAG, hark_iprobe(0, -2, &flag, &info));
}

static void requests(void)
{
    EXPECT(HARK_A_EARGUMENT, hark_wait(NULL, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_test(NULL, &flag, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_test(&request, NULL, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_waitall(1, NULL, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_waitany(1, NULL, &at, NULL));
    EXPECT(HARK_A_EARGUMENT, hark_waitany(1, &request, NULL, NULL));
    EXPECT(HARK_A_OK, hark_wait(&request, NULL)); /* there is none */
    EXPECT(HARK_A_OK, hark_test(&request, &flag, NULL));
    EXPECT(true, flag);
    EXPECT(HARK_A_OK, hark_waitany(1, &request, &at, NULL));
    EXPECT(-1, at);
    EXPECT(HARK_A_OK, hark_waitall(0, NULL, NULL));
}

static void collectives(void)
{
    EXPECT(HARK_A_EARGUMENT, hark_bcast(NULL, 8, 0));
    EXPECT(HARK_A_ERANK, hark_bcast(a, 8, 2));
    EXPECT(HARK_A_ERANK, hark_bcast(a, 8, -1));
    EXPECT(HARK_A_ELENGTH, hark_bcast(a, TOO_LONG, 0));
    EXPECT(HARK_A_EARGUMENT, hark_reduce(NULL, b, 1, HARK_INT64, HARK_SUM, 0));
    EXPECT(HARK_A_EARGUMENT, hark_reduce(a, NULL, 1, HARK_INT64, HARK_SUM, rank));
    EXPECT(HARK_A_EARGUMENT, hark_reduce(a, b, 1, NO_TYPE, HARK_SUM, 0));
    EXPECT(HARK_A_EARGUMENT, hark_reduce(a, b, 1, HARK_INT64, NO_OPERATION, 0));
    EXPECT(HARK_A_ERANK, hark_reduce(a, b, 1, HARK_INT64, HARK_SUM, 2));
    EXPECT(HARK_A_ERANK, hark_reduce(a, b, 1, HARK_INT64, HARK_SUM, -1));
    EXPECT(HARK_A_ELENGTH, hark_reduce(a, b, TOO_LONG / 8, HARK_INT64, HARK_SUM, 0));
    EXPECT(HARK_A_ELENGTH, hark_reduce(a, b, SIZE_MAX / 8 + 2, HARK_INT64, HARK_SUM, 0)); /* in
                                                                                             bytes:
                                                                                             a few
                                                                                           */
    EXPECT(HARK_A_ELENGTH, hark_allreduce(a, b, TOO_LONG / 4, HARK_INT32, HARK_SUM));
    EXPECT(HARK_A_ELENGTH, hark_allreduce(a, b, SIZE_MAX / 4 + 2, HARK_INT32, HARK_SUM));
    EXPECT(HARK_A_EARGUMENT, hark_allreduce(NULL, b, 1, HARK_INT64, HARK_SUM));
    EXPECT(HARK_A_EARGUMENT, hark_allreduce(a, NULL, 1, HARK_INT64, HARK_SUM));
    EXPECT(HARK_A_EARGUMENT, hark_allreduce(a, b, 1, NO_TYPE, HARK_SUM));
    EXPECT(HARK_A_EARGUMENT, hark_allreduce(a, b, 1, HARK_INT64, NO_OPERATION));
    EXPECT(HARK_A_EARGUMENT, hark_gather(NULL, 8, b, 0));
    EXPECT(HARK_A_EARGUMENT, hark_gather(a, 8, NULL, rank));
    EXPECT(HARK_A_ERANK, hark_gather(a, 8, b, 2));
    EXPECT(HARK_A_ERANK, hark_gather(a, 8, b, -1));
    EXPECT(HARK_A_ELENGTH, hark_gather(a, TOO_LONG, b, 0));
    EXPECT(HARK_A_EARGUMENT, hark_scatter(b, NULL, 8, 0));
    EXPECT(HARK_A_EARGUMENT, hark_scatter(NULL, a, 8, rank));
    EXPECT(HARK_A_ERANK, hark_scatter(b, a, 8, 2));
    EXPECT(HARK_A_ERANK, hark_scatter(b, a, 8, -1));
    EXPECT(HARK_A_ELENGTH, hark_scatter(b, a, TOO_LONG, 0));
    EXPECT(HARK_A_EARGUMENT, hark_allgather(NULL, 8, b));
    EXPECT(HARK_A_EARGUMENT, hark_allgather(a, 8, NULL));
    EXPECT(HARK_A_ELENGTH, hark_allgather(a, TOO_LONG, b));
    EXPECT(HARK_A_EARGUMENT, hark_alltoall(NULL, b, 8));
    EXPECT(HARK_A_EARGUMENT, hark_alltoall(a, NULL, 8));
    EXPECT(HARK_A_EARGUMENT, hark_alltoall(b, b, 8));
    EXPECT(HARK_A_ELENGTH, hark_alltoall(a, b, TOO_LONG));
}

static void checkpoints(void)
{
    EXPECT(HARK_A_EARGUMENT, hark_protect(1, NULL, 8));
    EXPECT(HARK_A_EARGUMENT, hark_protect(UINT64_MAX, a, 8));
    EXPECT(HARK_A_EARGUMENT, hark_restarted(NULL));
    EXPECT(HARK_A_OK, hark_irecv(a, sizeof a, 1 - rank, 7, &request));
    EXPECT(HARK_A_EPENDING, hark_checkpoint());
    EXPECT(HARK_A_EPENDING, hark_finalize());
    EXPECT(HARK_A_OK, hark_send(b, sizeof b, 1 - rank, 7));
    EXPECT(HARK_A_ETRUNCATE, hark_wait(&request, &info));
    EXPECT(sizeof b, (int)info.length);
    /* Of several the one that went wrong is told, though those behind it are right. */
    struct hark_request *both[2];
    struct hark_info told[2];
    for (int i = 0; i < 2; i++)
        EXPECT(HARK_A_OK, hark_irecv(a, i ? sizeof a : 1, 1 - rank, i, &both[i]));
    for (int i = 0; i < 2; i++) EXPECT(HARK_A_OK, hark_send(b, 8, 1 - rank, i));
    EXPECT(HARK_A_ETRUNCATE, hark_waitall(2, both, told));
    for (int i = 0; i < 2; i++) EXPECT(i, told[i].tag);
}

/* A process that only tests, or only looks, hears what comes all the same: it is sent when the
 * process waits no more, and is told so. */
static void only_tests(void)
{
    int64_t word = 0, answer = 0;
    bool done = false, found = false;
    if (rank == 1) {
        for (int tag = 1; tag < 3; tag++) {
            EXPECT(HARK_A_OK, hark_recv(&word, sizeof word, 0, 0, NULL));
            EXPECT(HARK_A_OK, hark_send(&word, sizeof word, 0, tag));
        }
        return;
    }
    EXPECT(HARK_A_OK, hark_irecv(&answer, sizeof answer, 1, 1, &request));
    word = 5;
    EXPECT(HARK_A_OK, hark_send(&word, sizeof word, 1, 0));
    while (!done && hark_test(&request, &done, NULL) == HARK_A_OK) {
    }
    EXPECT(5, (int)answer);
    word = 6;
    EXPECT(HARK_A_OK, hark_send(&word, sizeof word, 1, 0));
    while (!found && hark_iprobe(1, 2, &found, &info) == HARK_A_OK) {
    }
    EXPECT(HARK_A_OK, hark_recv(&answer, sizeof answer, 1, 2, NULL));
    EXPECT(6, (int)answer);
}

/* Nothing is left of all that: the next message of each kind is the right one. */
static void goes_on(void)
{
    int64_t sum = 0;
    a[0] = rank + 1;
    EXPECT(HARK_A_OK, hark_send(a, 8, 1 - rank, 0));
    EXPECT(HARK_A_OK, hark_recv(b, 8, HARK_ANY_SOURCE, HARK_ANY_TAG, &info));
    EXPECT(2 - rank, (int)b[0]);
    EXPECT(HARK_A_OK, hark_allreduce(a, &sum, 1, HARK_INT64, HARK_SUM));
    EXPECT(3, (int)sum);
    EXPECT(HARK_A_OK, hark_gather(a, 8, b, 1));
    if (rank == 1) EXPECT(1 + 2 * 16, (int)(b[0] + 16 * b[1]));
    EXPECT(HARK_A_OK, hark_reduce(a, b, 0, HARK_DOUBLE, HARK_MAX, 1));
    EXPECT(HARK_A_OK, hark_barrier());
    EXPECT(HARK_A_OK, hark_checkpoint());
}

int main(void)
{
    outside();
    EXPECT(HARK_A_OK, hark_init());
    rank = hark_rank();
    EXPECT(2, hark_size());
    messages();
    requests();
    collectives();
    checkpoints();
    only_tests();
    goes_on();
    int here = rank;
    EXPECT(HARK_A_OK, hark_finalize());
    rank = -1;
    outside();
    EXPECT(HARK_A_EINIT, hark_init());
    for (int status = 0; status > -200; status--)
        if (strlen(hark_app_error(status)) == 0) wrong++;
    if (here == 0) printf("%d passed, %d failed\n", right, wrong);
    return wrong != 0;
}
