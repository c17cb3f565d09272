/* gather.c: a program in which determinants become more than a message can take along: rank 0 takes
 * a message of each other process as they come, and then sends each a long answer, which has to
 * wait until they have gone ahead.
 *
 *   gather ROUNDS WORDS [EACH]     WORDS of 8 bytes in each answer. EACH: so many messages of each,
 *                                  rank 0 takes none before all are sent,
 *                                  and answers rank 1 only, who answers the others
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/app.h"

enum { UP = 1, DOWN, SENT };

static void check(int status)
{
    if (status >= 0) return;
    fprintf(stderr, "gather: %s\n", hark_app_error(status));
    exit(1);
}

static int answers(uint64_t *answer, size_t words, uint64_t sum, int first, int end)
{
    for (int to = first; to < end; to++) {
        for (size_t k = 0; k < words; k++) answer[k] = sum * (k + 1) + (uint64_t)to;
        int status = hark_send(answer, words * sizeof *answer, to, DOWN);
        if (status < 0) return status;
    }
    return 0;
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? atol(argv[1]) : 0;
    size_t words = argc > 2 ? (size_t)atol(argv[2]) : 0;
    const int each = argc > 3 ? atoi(argv[3]) : 1;
    uint64_t state[2] = {0, 1}, *answer = calloc(words + 1, sizeof *answer), piece, from; /* rounds
                                                                                             done, a
                                                                                             sum */
    if (rounds < 1 || words < 1 || each < 1 || answer == NULL) return 2;
    check(hark_init());
    int rank = hark_rank(), size = hark_size();
    check(hark_protect(1, state, sizeof state));
    check(hark_restarted(&from));
    for (; state[0] < (uint64_t)rounds; check(hark_checkpoint())) {
        uint64_t sum = 0;
        if (rank == 0 && each > 1) check(hark_recv(&piece, sizeof piece, size - 1, SENT, NULL));
        for (int i = each; rank == 0 && i < size * each; i++, sum += piece)
            check(hark_recv(&piece, sizeof piece, HARK_ANY_SOURCE, UP, NULL));
        if (rank == 0) check(answers(answer, words, sum, 1, each > 1 ? 2 : size));
        if (rank) {
            piece = state[1] * (uint64_t)rank;
            for (int i = 0; i < each; i++) check(hark_send(&piece, sizeof piece, 0, UP));
            for (int i = 1; each > 1 && rank == size - 1 && i < rank; i++)
                check(hark_recv(answer, sizeof *answer, i, SENT, NULL));
            if (each > 1)
                check(hark_send(&piece, sizeof piece, rank == size - 1 ? 0 : size - 1, SENT));
            check(hark_recv(answer, words * sizeof *answer, each > 1 && rank > 1, DOWN, NULL));
            sum = answer[0] - (uint64_t)rank;
            for (size_t k = 0; k < words; k++)
                if (answer[k] != sum * (k + 1) + (uint64_t)rank)
                    return fprintf(stderr, "rank %d: word %zu of the answer is wrong\n", rank, k),
                           1;
            if (each > 1 && rank == 1) check(answers(answer, words, sum, 2, size));
        }
        state[1] = sum % 1000003 + 1;
        state[0]++;
    }
    printf("rank %d: %" PRIu64 "\n", rank, state[1]);
    check(hark_finalize());
    free(answer);
    return 0;
}
