/* anysource.c: rank 0 receives from the others in any order, and its answer is always the same.
 *
 *     hark run -n 8 -- ./anysource [ROUNDS]
 *     hark run -n 8 --clusters 4 --kill 0@900 --kill 5@300 -- ./anysource
 *
 * Shows: receives from HARK_ANY_SOURCE in a program that is nevertheless send-deterministic, as
 * HydEE needs it. In each round every worker sends a few pieces of work of different lengths. Rank
 * 0 receives them in the order in which they come, but adds each to a sum of its sender. It
 * combines the sums by rank only when all pieces are in; so what it then sends does not depend on
 * the order. The tag is the round, so that rank 0 receives no piece of another round. Workers also
 * exchange messages among themselves, in a ring.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "common.h"

enum { WORDS = 64, PIECES = 4 };
enum { REGION_ROUND = 1, REGION_STATE = 2 };
enum { TAG_LEFT = HARK_TAG_MAX - 2, TAG_RIGHT, TAG_VERDICT };

struct work {
    int64_t rounds;
    int64_t round; /* done */
    size_t words;  /* of state: a worker has WORDS, rank 0 a sum for each sender and the number of
                      pieces */
    uint64_t *state;
};

/* Its time depends on its input, so that pieces come in ever different orders. */
static uint64_t labour(uint64_t seed)
{
    for (uint64_t i = 0, n = seed % 2000; i < n; i++) seed = mix(seed + i);
    return seed;
}

/* A piece: the number of pieces that its sender sends in this round; words. */
static void send_pieces(struct work *w)
{
    uint64_t piece[WORDS + 1], pieces = 1 + mix(w->state[0]) % PIECES;
    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t length = 1 + mix(w->state[1] + i) % WORDS;
        piece[0] = pieces;
        for (uint64_t k = 0; k < length; k++) piece[k + 1] = mix(w->state[k] + i);
        piece[1] ^= labour(piece[1]);
        check(hark_send(piece, (length + 1) * sizeof *piece, 0, (int)w->round), "hark_send");
    }
}

static void exchange(struct work *w)
{
    int workers = hark_size() - 1, me = hark_rank() - 1;
    int left = (me + workers - 1) % workers + 1, right = (me + 1) % workers + 1;
    uint64_t from[2][WORDS];
    struct hark_request *request[2];
    if (workers < 2) return;
    check(hark_irecv(from[0], sizeof from[0], left, TAG_LEFT, &request[0]), "hark_irecv");
    check(hark_irecv(from[1], sizeof from[1], right, TAG_RIGHT, &request[1]), "hark_irecv");
    check(hark_send(w->state, sizeof from[0], right, TAG_LEFT), "hark_send");
    check(hark_send(w->state, sizeof from[0], left, TAG_RIGHT), "hark_send");
    for (int done = 0; done < 2; done++) { /* whichever comes first */
        int index;
        check(hark_waitany(2, request, &index, NULL), "hark_waitany");
    }
    for (size_t i = 0; i < WORDS; i++)
        w->state[i] = mix(w->state[i] ^ from[0][i] ^ (from[1][i] << 1));
}

static void work_round(struct work *w)
{
    uint64_t verdict;
    send_pieces(w);
    exchange(w);
    check(hark_recv(&verdict, sizeof verdict, 0, TAG_VERDICT, NULL), "hark_recv");
    w->state[w->round % WORDS] ^= verdict;
}

static void gather_round(struct work *w, uint64_t *open)
{
    uint64_t piece[WORDS + 1], *sum = w->state, *taken = &w->state[w->words - 1], verdict = 0;
    int missing = hark_size() - 1;
    for (int i = 0; i < hark_size(); i++)
        open[i] = UINT64_MAX; /* pieces still to come; not known */
    while (missing) {
        struct hark_info info;
        check(hark_recv(piece, sizeof piece, HARK_ANY_SOURCE, (int)w->round, &info), "hark_recv");
        if (open[info.source] == UINT64_MAX) open[info.source] = piece[0];
        if (--open[info.source] == 0) missing--;
        for (size_t i = 1; i < info.length / sizeof *piece; i++)
            sum[info.source] = mix(sum[info.source] ^ piece[i]);
        ++*taken;
    }
    for (int i = 1; i < hark_size(); i++) verdict = mix(verdict ^ sum[i]);
    sum[0] = verdict;
    for (int i = 1; i < hark_size(); i++)
        check(hark_send(&verdict, sizeof verdict, i, TAG_VERDICT), "hark_send");
}

int main(int argc, char **argv)
{
    struct work w = {.rounds = 300};
    uint64_t from;
    check(hark_init(), "hark_init");
    if (argc > 2) refuse("usage: anysource [ROUNDS]");
    if (argc > 1) w.rounds = number(argv[1], 0, HARK_TAG_MAX - 3, "anysource: ROUNDS");
    bool gatherer = hark_rank() == 0;
    w.words = gatherer ? (size_t)hark_size() + 1 : WORDS;
    w.state = allocate(w.words, sizeof *w.state);
    uint64_t *open = allocate((size_t)hark_size(), sizeof *open);
    for (size_t i = 0; !gatherer && i < WORDS; i++)
        w.state[i] = mix((uint64_t)hark_rank() * WORDS + i);
    check(hark_protect(REGION_ROUND, &w.round, sizeof w.round), "hark_protect");
    check(hark_protect(REGION_STATE, w.state, w.words * sizeof *w.state), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    while (w.round < w.rounds) {
        if (gatherer) gather_round(&w, open);
        else work_round(&w);
        w.round++;
        check(hark_checkpoint(), "hark_checkpoint");
    }
    if (gatherer)
        printf("anysource: %" PRId64 " rounds, %" PRIu64 " pieces, digest %016" PRIx64 "\n",
            w.rounds, w.state[w.words - 1], w.state[0]);
    check(hark_finalize(), "hark_finalize");
    free(w.state);
    free(open);
    return 0;
}
