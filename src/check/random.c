#include "random.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGES = 9, EVENTS = 40, COLLECTIVES = 2 /* of each kind, at most */ };

struct maker {
    struct hark_scenario *s;
    uint64_t state;
    bool named, looks;
    uint32_t ops[HARK_SCENARIO_RANKS];
    uint32_t way[HARK_SCENARIO_RANKS][HARK_SCENARIO_RANKS]; /* messages on their way, by sender and
                                                               receiver */
    uint32_t posted;
    uint32_t casts[HARK_SCENARIO_TREES], reductions[HARK_SCENARIO_TREES]; /* that there will be */
    struct {
        uint32_t cast[HARK_SCENARIO_RANKS], gave[HARK_SCENARIO_RANKS], results; /* made or taken,
                                                                                   contributed to,
                                                                                   taken by the root
                                                                                 */
    } of[HARK_SCENARIO_TREES];
};

static uint32_t below(struct maker *m, uint32_t n)
{
    uint64_t z = m->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static void add(struct maker *m, uint32_t who, uint8_t type, int peer)
{
    m->s->op[who][m->ops[who]++] = (struct hark_op){.type = type, .peer = (int8_t)peer};
}

static void post(struct maker *m, uint32_t who)
{
    uint32_t to = below(m, m->s->ranks);
    if (to == who && below(m, 4)) to = (to + 1) % m->s->ranks; /* seldom to itself */
    add(m, who, HARK_OP_SEND, (int)to);
    m->way[who][to]++;
    m->posted++;
}

/* Sees one that is on its way, perhaps another first, or perhaps none; and may tell somebody. */
static void look(struct maker *m, uint32_t who, uint32_t from)
{
    const uint8_t type = below(m, 2) ? HARK_OP_PROBE : HARK_OP_LOOK;
    add(m, who, type, below(m, 2) ? (int)from : -1);
    if (type == HARK_OP_LOOK && below(m, 2))
        add(m, who, type, below(m, 2) ? (int)below(m, m->s->ranks) : -1);
    if (below(m, 2) && m->posted < MESSAGES) post(m, who);
}

/* Takes one of the messages that are on their way to `who`: from its sender, from anyone, or looked
 * for first. */
static void take(struct maker *m, uint32_t who)
{
    uint32_t from = below(m, m->s->ranks);
    for (uint32_t i = 0; i < m->s->ranks && m->way[from][who] == 0; i++)
        from = (from + 1) % m->s->ranks;
    if (m->way[from][who] == 0) return;
    if (m->looks && below(m, 3) == 0) look(m, who, from);
    m->way[from][who]--;
    switch (below(m, 6)) {
    case 0:
    case 1: add(m, who, HARK_OP_RECEIVE, m->named ? (int)from : -1); break;
    case 2:
        add(m, who, HARK_OP_TEST, (int)from);
        if (below(m, 2) && m->posted < MESSAGES) post(m, who);
        add(m, who, HARK_OP_WAIT, (int)from);
        break;
    default: add(m, who, HARK_OP_RECEIVE, (int)from); break;
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* In a reduction among teams each of them is one piece of the tree, and others are below the root's
 * team at the root only. */
static uint32_t among_teams(
    const struct hark_scenario *s, uint32_t root, uint32_t rank, uint32_t above)
{
    for (uint32_t i = root; i != rank; i = (i + 1) % s->ranks)
        if (s->cluster[i] == s->cluster[rank])
            return s->cluster[above] == s->cluster[rank] ? above : i;
    return s->cluster[above] == s->cluster[root] ? root : above;
}

/* A tree with its root at any of them; the last may be outside. */
static void plant_one(struct maker *m, uint32_t t, bool reduces, bool teams)
{
    struct hark_scenario *s = m->s;
    const uint32_t root = below(m, s->ranks), outside = s->ranks > 2 && below(m, 3) == 0;
    s->trees = (uint8_t)(t + 1);
    for (uint32_t i = 0; i < s->ranks; i++) { /* the i-th from the root on is below one of those
                                                 before it */
        const uint32_t rank = (root + i) % s->ranks;
        const bool out = i > 0 && i + outside == s->ranks;
        uint32_t above = i ? (root + below(m, i)) % s->ranks : root;
        if (teams && reduces) above = among_teams(s, root, rank, above);
        s->parent[t][rank] = (int8_t)(i == 0 ? -1 : out ? -2 : (int)above);
    }
    m->casts[t] = reduces ? below(m, COLLECTIVES + 1) : 1 + below(m, COLLECTIVES);
    m->reductions[t] = !reduces      ? 0
                       : m->casts[t] ? below(m, COLLECTIVES + 1)
                                     : 1 + below(m, COLLECTIVES);
}

/* Some have two groups. */
static void plant(struct maker *m, bool reduces, bool teams)
{
    plant_one(m, 0, reduces, teams);
    if (below(m, 4) == 0) plant_one(m, 1, reduces, teams);
}

/* How many multicasts the root has made, and to how many reductions all have contributed. */
static uint32_t made(const struct maker *m, uint32_t t, bool reductions)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < m->s->ranks; i++) {
        if (!reductions && m->s->parent[t][i] == -1) return m->of[t].cast[i];
        if (m->s->parent[t][i] != -2 && m->of[t].gave[i] < least) least = m->of[t].gave[i];
    }
    return least;
}

/* The next of its collective operations on a tree, if it can be done now. */
static bool collective_of(struct maker *m, uint32_t t, uint32_t who)
{
    const int parent = m->s->parent[t][who], which = t ? 2 : -1;
    const bool first = below(m, 2);
    if (parent == -2) return false;
    for (uint32_t turn = 0; turn < 2; turn++) {
        const bool cast = turn == first;
        if (cast && m->of[t].cast[who] < (parent == -1 ? m->casts[t] : made(m, t, false))) {
            m->of[t].cast[who]++;
            add(m, who, parent == -1 ? HARK_OP_MULTICAST : HARK_OP_TAKE, which);
            return true;
        }
        if (!cast && parent == -1 && m->of[t].results < made(m, t, true)) {
            m->of[t].results++;
            add(m, who, HARK_OP_RESULT, which);
            return true;
        }
        if (!cast && m->of[t].gave[who] < m->reductions[t]) {
            m->of[t].gave[who]++;
            add(m, who, HARK_OP_CONTRIBUTE, which);
            return true;
        }
    }
    return false;
}

/* On one of them, or the other. */
static bool collective(struct maker *m, uint32_t who)
{
    const uint32_t first = m->s->trees > 1 ? below(m, 2) : 0;
    for (uint32_t turn = 0; turn < m->s->trees; turn++)
        if (collective_of(m, turn ? 1 - first : first, who)) return true;
    return false;
}

/* ---- a whole one ----------------------------------------------------------------------------- */

static void fail(struct maker *m)
{
    struct hark_scenario *s = m->s;
    s->fails = 1 + below(m, 3);
    for (uint32_t i = 0; i < s->fails; i++) {
        s->fail[i].rank =
            (int8_t)(below(m, 6) == 0 && i > 0 ? HARK_FAIL_RECOVERY : (int)below(m, s->ranks));
        s->fail[i].when = i > 0 && below(m, 2) ? HARK_FAIL_NESTED : HARK_FAIL_AFTER;
    }
}

/* Some of the failures have to do with a checkpoint: where what it has may be lost, or has to be
 * undone. */
static void fail_at_checkpoints(struct maker *m)
{
    struct hark_scenario *s = m->s;
    for (uint32_t i = 0; i < s->fails; i++) {
        static const uint8_t when[] = {
            HARK_FAIL_WAVE, HARK_FAIL_DECIDED, HARK_FAIL_DAMAGED, HARK_FAIL_STORE};
        if (s->fail[i].rank >= 0 && below(m, 2)) s->fail[i].when = when[below(m, 4)];
    }
}

/* Another map, of which everybody is told somewhere before its last checkpoint: in time for that,
 * or one too late. */
static void regroup(struct maker *m)
{
    struct hark_scenario *s = m->s;
    s->regroups = true;
    for (uint32_t i = 0, count = 0; i < s->ranks; i++) { /* with somebody before it, or the first of
                                                            another */
        const uint32_t to = below(m, i + 1);
        s->next[i] = to < i ? s->next[to] : (uint8_t)count++;
    }
    for (uint32_t who = 0; who < s->ranks; who++) {
        struct hark_op *op = s->op[who];
        uint32_t last = m->ops[who];
        while (op[last].type != HARK_OP_CHECKPOINT) last--;
        const uint32_t at = below(m, last + 1);
        memmove(op + at + 1, op + at, (m->ops[who]++ - at) * sizeof *op);
        op[at] = (struct hark_op){.type = HARK_OP_TOLD, .peer = -1};
    }
}

void hark_scenario_random(
    struct hark_scenario *s, uint64_t seed, uint32_t traits, bool named, bool looks)
{
    const bool groups = traits & HARK_TRAIT_GROUPS, reduces = traits & HARK_TRAIT_REDUCES;
    struct maker m = {
        .s = s, .state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1, .named = named, .looks = looks};
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "random-%llu", (unsigned long long)seed);
    s->ranks = 2 + below(&m, 3);
    uint32_t messages = 3 + below(&m, MESSAGES - 3), points = below(&m, 3),
             clusters = 1 + below(&m, s->ranks);
    for (uint32_t i = 0; i < s->ranks; i++) s->cluster[i] = (uint8_t)(i * clusters / s->ranks);
    const bool teams = traits & HARK_TRAIT_WAVES;
    if (groups) plant(&m, reduces, teams);
    const bool sums = m.reductions[0] || m.reductions[1];
    if (sums && below(&m, 2)) messages = below(&m, 4); /* so few that searches go far */
    for (uint32_t event = 0, done = 0; event < EVENTS; event++) {
        uint32_t who = below(&m, s->ranks);
        if (below(&m, 14) == 0) add(&m, who, HARK_OP_OUTPUT, -1);
        if (groups && below(&m, 3) == 0) collective(&m, who);
        if (m.posted < messages && below(&m, 2)) post(&m, who);
        else take(&m, who);
        if (done < points && event * (points + 1) / EVENTS > done) { /* everybody's next checkpoint,
                                                                        at the same place of this
                                                                        execution */
            done++;
            for (uint32_t i = 0; i < s->ranks; i++) add(&m, i, HARK_OP_CHECKPOINT, -1);
        }
    }
    for (bool more = groups; more;) { /* the root's first: others take what it made */
        more = false;
        for (uint32_t i = 0; i < s->ranks; i++)
            while (collective(&m, i)) more = true;
    }
    for (uint32_t to = 0; to < s->ranks; to++)
        for (uint32_t from = 0; from < s->ranks; from++)
            while (m.way[from][to]) {
                m.way[from][to]--;
                add(&m, to, HARK_OP_RECEIVE, (int)from);
            }
    s->fifo = below(&m, 3) == 0;
    s->receives_nested = seed % 4 >= 2;
    s->images_copied = seed % 8 >= 4;
    s->core.copies = 1 + below(&m, 3);
    if (s->core.copies >= s->ranks) s->core.copies = s->ranks - 1;
    if (sums) s->core.copies = 1;
    if (sums && below(&m, 2)) s->generations = 1; /* what an image has is soon trimmed */
    fail(&m);
    for (uint32_t i = 0; i < s->ranks; i++) s->epoch[i] = (uint8_t)(1 + below(&m, 3));
    s->waves_all = teams && (groups || below(&m, 2));
    const bool regroups = traits & HARK_TRAIT_RECLUSTERS && !groups;
    if (regroups) s->waves_all = true;
    if (regroups && points) regroup(&m);
    if ((regroups || groups) && points) fail_at_checkpoints(&m);
}
