/* scenario_check.c: what no line of a scenario shows alone; barriers are written out as messages.
 */
#include <string.h>

#include "scenario_parts.h"

static struct hark_scenario_place place(const struct hark_op *op)
{
    return (struct hark_scenario_place){op->line, op->column};
}

static bool collective(const struct hark_op *op)
{
    return op->type >= HARK_OP_MULTICAST && op->type <= HARK_OP_RESULT;
}

/* ---- ranks, clusters, tree, failures --------------------------------------------------------- */

static int check_ranks(struct hark_scenario_reader *r)
{
    struct hark_scenario *s = r->s;
    if (s->ranks == 0)
        return hark_scenario_wrong(
            r, (struct hark_scenario_place){r->line + 1, 1}, "found the end, expected a line p0:");
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (r->program[rank].line == 0)
            return hark_scenario_wrong(r, r->program[s->ranks - 1],
                "found p%u: without p%u:, expected every lower rank", s->ranks - 1, rank);
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (r->part[rank])
            return hark_scenario_wrong(r, place(&s->op[rank][r->fork[rank]]),
                "found a branch without its end, expected %s",
                r->part[rank] == 1 ? "| and ]" : "]");
    return 0;
}

/* Each alone, or as read, numbered by their lowest ranks. */
static int check_map(struct hark_scenario_reader *r, struct hark_scenario_place line,
    const struct hark_scenario_place *where, uint8_t *of)
{
    const uint32_t ranks = r->s->ranks;
    uint8_t number[HARK_SCENARIO_RANKS], count = 0;
    memset(number, 0xff, sizeof number);
    for (uint32_t rank = 0; rank < HARK_SCENARIO_RANKS; rank++) {
        if (rank >= ranks && where[rank].line)
            return hark_scenario_wrong(
                r, where[rank], "found rank %u, expected ranks below %u", rank, ranks);
        if (rank < ranks && line.line && where[rank].line == 0)
            return hark_scenario_wrong(
                r, line, "found rank %u in no cluster, expected every rank once", rank);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint8_t *to = &number[line.line ? of[rank] : rank];
        if (*to == 0xff) *to = count++;
        of[rank] = *to;
    }
    return 0;
}

static int check_clusters(struct hark_scenario_reader *r)
{
    struct hark_scenario *s = r->s;
    if (check_map(r, r->clusters, r->cluster, s->cluster) < 0) return -1;
    if (s->regroups) return check_map(r, r->regroup, r->next, s->next);
    memcpy(s->next, s->cluster, sizeof s->next);
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        for (const struct hark_op *op = s->op[rank]; op->type; op++)
            if (op->type == HARK_OP_TOLD)
                return hark_scenario_wrong(r, place(op), "found G without a line regroup");
    return 0;
}

static int check_tree(struct hark_scenario_reader *r, uint32_t t)
{
    const struct hark_scenario *s = r->s;
    const int8_t *parent = s->parent[t];
    for (uint32_t rank = 0; rank < r->tree_length[t]; rank++) {
        const struct hark_scenario_place at = {r->tree[t].line, r->tree[t].column + rank};
        int up = parent[rank];
        if (rank >= s->ranks)
            return hark_scenario_wrong(r, at, "found one more parent, expected %u", s->ranks);
        for (uint32_t steps = 0; up >= 0 && steps <= r->tree_length[t]; steps++)
            up = (uint32_t)up < r->tree_length[t] ? parent[up] : -2;
        if (parent[rank] >= 0 && up != -1)
            return hark_scenario_wrong(
                r, at, "found parent %d of p%u, expected a way up to the root", parent[rank], rank);
    }
    const struct hark_scenario_place end = {r->tree[t].line, r->tree[t].column + r->tree_length[t]};
    if (s->trees > t && r->tree_length[t] < s->ranks)
        return hark_scenario_wrong(
            r, end, "found %u parents, expected %u", r->tree_length[t], s->ranks);
    return 0;
}

static int check_epochs(struct hark_scenario_reader *r)
{
    if (r->epochs_length == 0 || r->epochs_length == r->s->ranks) return 0;
    return hark_scenario_wrong(
        r, r->epochs, "found %u epochs, expected %u", r->epochs_length, r->s->ranks);
}

static int check_fails(struct hark_scenario_reader *r)
{
    const struct hark_scenario *s = r->s;
    for (uint32_t i = 0; i < s->fails; i++)
        if (s->fail[i].rank >= (int)s->ranks)
            return hark_scenario_wrong(
                r, r->fail[i], "found p%d, expected a rank below %u", s->fail[i].rank, s->ranks);
    return 0;
}

/* ---- barriers -------------------------------------------------------------------------------- */

struct barriers {
    struct hark_op op[HARK_SCENARIO_RANKS][HARK_SCENARIO_OPS + 1]; /* as they were read */
    uint8_t at[HARK_SCENARIO_RANKS][HARK_SCENARIO_OPS];            /* where each stands */
    uint32_t count[HARK_SCENARIO_RANKS];
};

static int barriers_find(struct hark_scenario_reader *r, struct barriers *b)
{
    const struct hark_scenario *s = r->s;
    const struct hark_op *tree = NULL, *barrier = NULL;
    memcpy(b->op, s->op, sizeof b->op);
    memset(b->count, 0, sizeof b->count);
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        for (uint32_t i = 0; i < r->ops[rank]; i++) {
            const struct hark_op *op = &s->op[rank][i];
            if (op->type == HARK_OP_BARRIER)
                b->at[rank][b->count[rank]++] = (uint8_t)i, barrier = op;
            if (collective(op)) tree = op;
        }
    if (tree && barrier)
        return hark_scenario_wrong(
            r, place(barrier), "found a barrier, expected none in a program with M, B, A or Q");
    for (uint32_t rank = 1; rank < s->ranks; rank++) {
        uint32_t more = b->count[rank] > b->count[0] ? rank : 0, less = rank - more;
        if (b->count[more] == b->count[less]) continue;
        return hark_scenario_wrong(r, place(&s->op[more][b->at[more][b->count[less]]]),
            "found barrier %u of p%u, expected as many in p%u", b->count[less] + 1, more, less);
    }
    return 0;
}

/* How many messages rank has sent to peer before its operation `until`; -1 if that depends on a
 * branch. */
static int sent_before(const struct hark_op *op, uint32_t until, uint32_t peer)
{
    int sent = 0, fork = 0, first = 0;
    uint32_t end = UINT32_MAX;
    for (uint32_t i = 0; i <= until; i++) {
        if (i == end && sent != first) return -1;
        if (i == until) break;
        if (op[i].type == HARK_OP_IF) fork = sent;
        if (op[i].type == HARK_OP_ELSE) {
            first = sent;
            sent = fork;
            end = op[i].to;
        }
        sent += op[i].type == HARK_OP_SEND && op[i].peer == (int)peer;
    }
    return sent;
}

/* Barrier k of rank: everybody sends to 0 and receives from 0. Each message is received by its
 * number in the channel, so that no earlier one opens the barrier. */
static int barrier_write(
    struct hark_scenario_reader *r, const struct barriers *b, uint32_t rank, uint32_t k)
{
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t peer = rank ? 0 : 1; peer < (rank ? 1 : r->s->ranks); peer++) {
            struct hark_op op = b->op[rank][b->at[rank][k]];
            int before = sent_before(b->op[peer], b->at[peer][k], rank);
            if (before < 0)
                return hark_scenario_wrong(r, place(&b->op[peer][b->at[peer][k]]),
                    "found a barrier, expected that both parts of a branch before it send as much "
                    "to p%u",
                    rank);
            op.type = (pass == 0) == (rank == 0) ? HARK_OP_RECEIVE : HARK_OP_SEND;
            op.peer = (int8_t)peer;
            op.ssn = op.type == HARK_OP_RECEIVE ? (uint8_t)(before + (int)k + 1) : 0;
            if (hark_scenario_op(r, rank, op) < 0) return -1;
        }
    return 0;
}

static int barriers_write(struct hark_scenario_reader *r, const struct barriers *b, uint32_t rank)
{
    struct hark_op *to = r->s->op[rank];
    uint8_t moved[HARK_SCENARIO_OPS + 2];
    uint32_t count = r->ops[rank], k = 0;
    r->ops[rank] = 0;
    memset(to, 0, sizeof r->s->op[rank]);
    for (uint32_t i = 0; i < count; i++) {
        const struct hark_op *op = &b->op[rank][i];
        moved[i] = (uint8_t)r->ops[rank];
        int status = op->type == HARK_OP_BARRIER ? barrier_write(r, b, rank, k++)
                                                 : hark_scenario_op(r, rank, *op);
        if (status < 0) return -1;
    }
    moved[count] = (uint8_t)r->ops[rank];
    for (uint32_t i = 0; i < r->ops[rank]; i++)
        if (to[i].type == HARK_OP_IF || to[i].type == HARK_OP_ELSE) to[i].to = moved[to[i].to];
    return 0;
}

static int check_barriers(struct hark_scenario_reader *r)
{
    struct barriers b;
    if (barriers_find(r, &b) < 0) return -1;
    for (uint32_t rank = 0; b.count[0] && rank < r->s->ranks; rank++)
        if (barriers_write(r, &b, rank) < 0) return -1;
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* What one way through a program has come to. */
struct way {
    uint64_t open; /* tests that may miss and that nothing completes yet, a bit for each operation
                    */
    uint8_t sent[HARK_SCENARIO_RANKS];
};

static int count_send(struct hark_scenario_reader *r, const struct hark_op *op, struct way *w,
    uint32_t peer, uint32_t *sends)
{
    if (w->sent[peer] == HARK_SCENARIO_SSN)
        return hark_scenario_wrong(r, place(op),
            "found one more message to p%u, expected at most %d (HARK_SCENARIO_SSN)", peer,
            HARK_SCENARIO_SSN);
    if (*sends == HARK_SCENARIO_SENDS)
        return hark_scenario_wrong(r, place(op),
            "found one more send, expected at most %d of all processes "
            "(HARK_SCENARIO_SENDS)",
            HARK_SCENARIO_SENDS);
    ++*sends;
    w->sent[peer]++;
    return 0;
}

/* Collectives send along the edges of the tree. */
static int count_sends(struct hark_scenario_reader *r, const struct hark_op *op, uint32_t rank,
    struct way *w, uint32_t *sends)
{
    const struct hark_scenario *s = r->s;
    const int8_t *parent = s->parent[hark_op_tree(op)];
    bool down = op->type == HARK_OP_MULTICAST || op->type == HARK_OP_TAKE,
         up = op->type == HARK_OP_CONTRIBUTE;
    for (uint32_t peer = 0; peer < s->ranks; peer++) {
        bool to = (op->type == HARK_OP_SEND && op->peer == (int)peer) ||
                  (down && parent[peer] == (int)rank) || (up && parent[rank] == (int)peer);
        if (to && count_send(r, op, w, peer, sends) < 0) return -1;
    }
    return 0;
}

static int check_collective(struct hark_scenario_reader *r, const struct hark_op *op, uint32_t rank)
{
    static const char *const who[] = {"the root of the tree",
        "another member of the tree than the root", "a member of the tree", "the root of the tree"};
    const uint32_t t = hark_op_tree(op);
    const int parent = r->s->parent[t][rank];
    bool root = op->type == HARK_OP_MULTICAST || op->type == HARK_OP_RESULT;
    if (r->s->trees <= t)
        return hark_scenario_wrong(r, place(op), "found %c%s, expected a line tree%s for it",
            hark_op_letter(op->type), t ? "2" : "", t ? "2" : "");
    if (root ? parent == -1 : op->type == HARK_OP_TAKE ? parent >= 0 : parent != -2) return 0;
    return hark_scenario_wrong(r, place(op), "found %c%s in p%u, expected %s",
        hark_op_letter(op->type), t ? "2" : "", rank, who[op->type - HARK_OP_MULTICAST]);
}

/* W j completes the first T j before it that nothing has completed. */
static int complete(
    struct hark_scenario_reader *r, uint32_t rank, struct hark_op *op, struct way *w)
{
    const struct hark_op *all = r->s->op[rank];
    for (uint32_t i = 0; i < HARK_SCENARIO_OPS; i++) {
        bool open = w->open >> i & 1;
        if (!open || all[i].peer != op->peer || (op->ssn && all[i].ssn != op->ssn)) continue;
        op->to = (uint8_t)i;
        op->ssn = all[i].ssn;
        w->open &= ~(UINT64_C(1) << i);
        return 0;
    }
    if (op->ssn == 0)
        return hark_scenario_wrong(r, place(op),
            "found W%d, expected a T%d before it that is not completed yet", op->peer, op->peer);
    return hark_scenario_wrong(r, place(op),
        "found W%d.%u, expected a T%d.%u before it that is not completed yet", op->peer, op->ssn,
        op->peer, op->ssn);
}

static int check_operation(struct hark_scenario_reader *r, uint32_t rank, struct hark_op *op,
    struct way *w, uint32_t *sends)
{
    if (!collective(op) && op->peer >= (int)r->s->ranks)
        return hark_scenario_wrong(r, place(op), "found %c%d, expected a rank below %u",
            hark_op_letter(op->type), op->peer, r->s->ranks);
    if (collective(op) && check_collective(r, op, rank) < 0) return -1;
    if (op->type == HARK_OP_WAIT) return complete(r, rank, op, w);
    if (op->type == HARK_OP_TEST) w->open |= UINT64_C(1) << (op - r->s->op[rank]);
    return count_sends(r, op, rank, w, sends);
}

/* Both ways through each branch. Behind it a test is open if it is on both, and as much is sent as
 * on the longer. */
static int check_program(struct hark_scenario_reader *r, uint32_t rank, uint32_t *sends)
{
    struct way now = {0}, fork = {0}, first = {0};
    uint32_t end = UINT32_MAX;
    for (uint32_t i = 0; i < r->ops[rank]; i++) {
        struct hark_op *op = &r->s->op[rank][i];
        if (i == end) {
            now.open &= first.open;
            for (uint32_t peer = 0; peer < HARK_SCENARIO_RANKS; peer++)
                if (first.sent[peer] > now.sent[peer]) now.sent[peer] = first.sent[peer];
        }
        if (op->type == HARK_OP_IF) fork = now;
        if (op->type == HARK_OP_ELSE) {
            first = now;
            now = fork;
            end = op->to;
        }
        if (check_operation(r, rank, op, &now, sends) < 0) return -1;
    }
    return 0;
}

int hark_scenario_check(struct hark_scenario_reader *r)
{
    uint32_t sends = 0;
    if (check_ranks(r) < 0 || check_clusters(r) < 0 || check_tree(r, 0) < 0 ||
        check_tree(r, 1) < 0 || check_epochs(r) < 0)
        return -1;
    if (check_fails(r) < 0) return -1;
    if (check_barriers(r) < 0) return -1;
    for (uint32_t rank = 0; rank < r->s->ranks; rank++)
        if (check_program(r, rank, &sends) < 0) return -1;
    return 0;
}
