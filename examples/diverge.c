/* diverge.c: a program that is NOT send-deterministic, and so violates the assumption of HydEE.
 *
 *     hark run -n 4 --clusters 4 --kill 0@100 -- ./diverge
 *     hark run -n 4 --clusters 4 --kill 0@100 -- ./diverge --other-channel
 *
 * Rank 0 hands out pieces of work and waits for each answer. Its messages depend on its process id,
 * so they differ when it runs again. The survivors have the messages of its first execution, and
 * the later ones do not fit them. Such a run ends with one line that says so and status 1, and it
 * never hangs; what it printed before that line may be wrong.
 *
 *   no option          the contents differ: the digests of the channel do not agree
 *   --other-channel    the contents are the same, but go to other ranks: nobody sends again what a
 *                      survivor has
 * Without a kill both runs succeed. With a kill of another rank the second one does too. If all
 * processes roll back together (--protocol coordinated), nobody remembers the first execution, and
 * the program may do this.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "common.h"

enum { PIECES = 300, TAG_PIECE = 1, TAG_END = 2 };

/* A program should not do this: two incarnations of a process have different numbers. */
static uint64_t whim(void)
{
    return (uint64_t)getpid();
}

static void hand_out(bool other_channel)
{
    uint64_t workers = (uint64_t)hark_size() - 1, answers = 0;
    for (uint64_t i = 0; i < PIECES; i++) {
        uint64_t piece = other_channel ? 1 : mix(whim() + i), answer;
        int to = 1 + (int)((other_channel ? mix(whim() * PIECES + i) : i) % workers);
        check(hark_send(&piece, sizeof piece, to, TAG_PIECE), "hark_send");
        check(hark_recv(&answer, sizeof answer, to, TAG_PIECE, NULL), "hark_recv");
        answers++;
    }
    for (int to = 1; to < hark_size(); to++) check(hark_send(NULL, 0, to, TAG_END), "hark_send");
    printf("diverge: %" PRIu64 " answers\n", answers);
}

static void work(bool other_channel)
{
    for (;;) {
        uint64_t piece = 0;
        struct hark_info info;
        check(hark_recv(&piece, sizeof piece, 0, HARK_ANY_TAG, &info), "hark_recv");
        if (info.tag == TAG_END) return;
        if (!other_channel) piece ^= whim();
        check(hark_send(&piece, sizeof piece, 0, TAG_PIECE), "hark_send");
    }
}

int main(int argc, char **argv)
{
    bool other_channel = argc == 2 && strcmp(argv[1], "--other-channel") == 0;
    check(hark_init(), "hark_init");
    if (argc > 2 || (argc == 2 && !other_channel)) refuse("usage: diverge [--other-channel]");
    if (hark_size() < 3) refuse("diverge: expected at least 3 processes");
    if (hark_rank() == 0) hand_out(other_channel);
    else work(other_channel);
    check(hark_finalize(), "hark_finalize");
    return 0;
}
