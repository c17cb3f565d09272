/* What `hark run --record` is tried with: rank 0 receives three messages of each other process, and
 * all get their sum. The argument says what is different from other runs:
 *
 *     same      nothing              order     rank 0 receives in another order
 *     contents  rank 2's second message has other bytes, tag another tag, length another length
 *     more      rank 2 sends one more
 *     aside     rank 1 sends one to rank 2
 *     answer    rank 0 receives in another order, and sends on in which order that was
 *     clock     rank 1 sends the time
 *     fail      rank 1 ends with status 1
 */
#include <hark/app.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 3, TAG = 7, TAG_ORDER = 9 };
static int rank, size;
static const char *mode;

static bool is(const char *text)
{
    return strcmp(mode, text) == 0;
}

static void send_one(int i)
{
    int64_t bytes[MESSAGES + 2] = {100 * rank + i};
    const bool changed = rank == 2 && i == 1;
    size_t length = (size_t)(i + 1) * sizeof bytes[0];
    if (changed && is("contents")) bytes[1] = 1;
    if (changed && is("length")) length += sizeof bytes[0];
    if (is("clock") && rank == 1) memcpy(bytes, &(double){hark_wtime()}, sizeof bytes[0]);
    hark_send(bytes, length, 0, changed && is("tag") ? TAG + 1 : TAG);
}

static int64_t receive(int from)
{
    int64_t bytes[MESSAGES + 2], sum = 0;
    const int messages = MESSAGES + (from == 2 && is("more"));
    for (int i = 0; i < messages; i++) {
        hark_recv(bytes, sizeof bytes, from, HARK_ANY_TAG, NULL);
        sum += is("clock") ? 0 : bytes[0];
    }
    return sum;
}

static int64_t receive_all(void)
{
    const bool backwards = is("order") || is("answer");
    int64_t sum = 0;
    for (int i = 1; i < size; i++) sum += receive(backwards ? size - i : i);
    return sum;
}

int main(int argc, char **argv)
{
    int64_t sum = 0, first = 0;
    mode = argc > 1 ? argv[1] : "same";
    if (hark_init() < 0) return 1;
    rank = hark_rank();
    size = hark_size();
    if (rank == 1 && is("fail")) exit(1);
    for (int i = 0; rank && i < MESSAGES; i++) send_one(i);
    if (rank == 2 && is("more")) send_one(0);
    if (rank == 1 && is("aside")) hark_send(&first, sizeof first, 2, TAG);
    if (rank == 2 && is("aside")) hark_recv(&first, sizeof first, 1, TAG, NULL);
    if (rank == 0) {
        sum = receive_all();
        first = is("answer") ? size - 1 : 1;
        for (int i = 1; i < size; i++) hark_send(&first, sizeof first, i, TAG_ORDER);
    } else {
        hark_recv(&first, sizeof first, 0, TAG_ORDER, NULL);
    }
    hark_bcast(&sum, sizeof sum, 0);
    if (rank == 0) printf("%lld\n", (long long)sum);
    return hark_finalize();
}
