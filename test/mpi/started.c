/* started.c: sends that are started before anybody receives, short and long, many and few; tests of
 * them; persistent ones; exchanges with oneself and with neighbours; what was in the buffer when
 * the send was started arrives. Ends with a sum of all that was received. */
#include "check.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 1 << 20, KINDS = 6, MANY = 100 };
static const int lengths[KINDS] = {1, 1000, 20000, 40000, 200000, LONGEST};
static uint64_t sum;

static void fill(uint8_t *at, int length, int from, int round)
{
    for (int i = 0; i < length; i += 97) at[i] = (uint8_t)(from * 31 + round * 7 + i / 97);
}

static void look(const uint8_t *at, int length, int from, int round)
{
    for (int i = 0; i < length; i += 97) {
        CHECK(at[i] == (uint8_t)(from * 31 + round * 7 + i / 97), "byte %d of %d from %d, round %d",
            i, length, from, round);
        sum = sum * 31 + at[i];
    }
}

static uint8_t *memory(size_t bytes)
{
    uint8_t *p = calloc(bytes, 1);
    CHECK(p != NULL, "no memory");
    return p;
}

/* Everybody starts its sends to both neighbours before it posts a receive. */
static void all_at_once(int round)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    uint8_t *out = memory(2 * LONGEST), *in = memory(2 * LONGEST);
    for (int k = 0; k < KINDS; k++) {
        MPI_Request r[4];
        fill(out, lengths[k], rank, round);
        fill(out + LONGEST, lengths[k], rank, round + 1);
        MPI_Isend(out, lengths[k], MPI_BYTE, next, k, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out + LONGEST, lengths[k], MPI_BYTE, previous, 100 + k, MPI_COMM_WORLD, &r[1]);
        MPI_Irecv(in, lengths[k], MPI_BYTE, previous, k, MPI_COMM_WORLD, &r[2]);
        MPI_Irecv(in + LONGEST, lengths[k], MPI_BYTE, next, 100 + k, MPI_COMM_WORLD, &r[3]);
        if (k % 3 == 0) { /* who is told that a send is complete may write to its memory */
            int flag = 0;
            MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
            CHECK(flag, "a send counts as complete");
            memset(out, 0xee, LONGEST);
        }
        if ((round + k) % 2) MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        else
            for (int done = 0, which; done < 4; done++) {
                MPI_Waitany(4, r, &which, MPI_STATUS_IGNORE);
                CHECK(which >= 0 && which < 4, "%d", which);
            }
        memset(out, 0xee, 2 * LONGEST);
        look(in, lengths[k], previous, round);
        look(in + LONGEST, lengths[k], next, round + 1);
    }
    free(out);
    free(in);
}

/* More than fits any ring is under way when its receiver begins to receive, and not in that order.
 */
static void many_to_one(int round)
{
    enum { LENGTH = 9000 };
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
    uint8_t *out = memory(MANY * LENGTH), *in = memory(LENGTH);
    MPI_Request *r = calloc(MANY, sizeof *r);
    CHECK(r != NULL, "no memory");
    for (int i = 0; i < MANY; i++) {
        fill(out + i * LENGTH, LENGTH, rank, round + i);
        MPI_Isend(out + i * LENGTH, LENGTH, MPI_BYTE, to, i, MPI_COMM_WORLD, &r[i]);
    }
    for (int i = 0; i < MANY; i++) {
        int tag = i % 2 ? i : MANY - 2 - i;
        MPI_Recv(in, LENGTH, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look(in, LENGTH, from, round + tag);
    }
    for (int i = 0; i < MANY; i++) {
        int kind = i % 3;
        flag = 0;
        if (kind == 0) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        else if (kind == 1) MPI_Request_free(&r[i]);
        else MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
        CHECK(kind != 2 || flag, "a send counts as complete");
    }
    free(out);
    free(in);
    free(r);
}

/* Persistent ones, and the buffer is written anew each time. */
static void again_and_again(int round)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    uint8_t *out = memory(LONGEST), *in = memory(LONGEST);
    MPI_Request r[2];
    MPI_Send_init(out, lengths[4], MPI_BYTE, to, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(in, lengths[4], MPI_BYTE, from, 7, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 5; i++) {
        fill(out, lengths[4], rank, round + i);
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        look(in, lengths[4], from, round + i);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    free(out);
    free(in);
}

/* The same memory is sent and received, and exchanges in which both wait in their sends. */
static void exchanges(int round)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    uint8_t *out = memory(LONGEST), *in = memory(LONGEST);
    for (int k = 2; k < KINDS; k++) {
        fill(out, lengths[k], rank, round);
        MPI_Sendrecv(out, lengths[k], MPI_BYTE, to, k, in, lengths[k], MPI_BYTE, from, k,
            MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look(in, lengths[k], from, round);
        MPI_Sendrecv_replace(
            in, lengths[k], MPI_BYTE, from, k, to, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look(in, lengths[k], rank, round);
        MPI_Request r;
        MPI_Status status;
        MPI_Issend(out, lengths[k], MPI_BYTE, to, k, MPI_COMM_WORLD, &r);
        MPI_Recv(in, LONGEST, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_TAG == k, "%d", status.MPI_TAG);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        look(in, lengths[k], from, round);
    }
    free(out);
    free(in);
}

/* A receive is given up after its payload may have come, and its memory is used again. */
static void given_up(int round)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
    uint8_t *out = memory(LONGEST), *in = memory(LONGEST), *other = memory(LONGEST);
    MPI_Request given, sent;
    MPI_Status status;
    fill(out, lengths[4], rank, round);
    MPI_Irecv(in, LONGEST, MPI_BYTE, from, 50, MPI_COMM_WORLD, &given);
    MPI_Isend(out, lengths[4], MPI_BYTE, to, 50, MPI_COMM_WORLD, &sent);
    MPI_Sendrecv(
        NULL, 0, MPI_BYTE, to, 51, NULL, 0, MPI_BYTE, from, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Cancel(&given);
    MPI_Wait(&given, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "nothing has completed it");
    memset(in, 0xee, LONGEST);
    MPI_Recv(other, LONGEST, MPI_BYTE, from, 50, MPI_COMM_WORLD, &status);
    look(other, lengths[4], from, round);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    free(other);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    for (int round = 0; round < 2; round++) {
        all_at_once(round);
        many_to_one(round);
        again_and_again(round);
        exchanges(round);
        given_up(round);
    }
    uint64_t all = 0;
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%016llx\n", (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
