/* parts/group.h: groups of processes, and the trees along which their multicasts and reductions go.
 *
 * A group is named by its context. hark_config.groups gives its tree to the core; the functions
 * here make the usual trees. E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The
 * Journal of Supercomputing, 2015, section 3: rootMap, parentMap, childrenMap.
 */
#ifndef HARK_PARTS_GROUP_H
#define HARK_PARTS_GROUP_H

#include "../hark.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the parents of a binomial tree: parent[i] is the rank above member[i], the root's own is
 * the root. `member` has `count` different ranks, the root among them; ranks that are close in
 * `member` are close in the tree. HARK_EINVAL: the root is no member. */
HARK_FN int hark_tree_binomial(
    const uint32_t *member, uint32_t count, uint32_t root, uint32_t *parent);
/* As hark_tree_binomial, for a tree in which each member has at most `k` children, k >= 1; `member`
 * is in the order of levels. HARK_EINVAL: the root is no member, or k is 0. */
HARK_FN int hark_tree_kary(
    const uint32_t *member, uint32_t count, uint32_t root, uint32_t k, uint32_t *parent);
/* As hark_tree_binomial, for teams; of[rank] is the team. Neighbours in `member` that are of one
 * team form a piece: a binomial tree below its first member (in the root's team, below the root).
 * The first members form a binomial tree too. So each piece is entered by one edge. In the root's
 * team only the root has children in other teams. HARK_EINVAL: the root is no member. */
HARK_FN int hark_tree_teams(
    const uint32_t *member, uint32_t count, uint32_t root, const uint32_t *of, uint32_t *parent);
/* True if the protocol `team` can reduce along the tree: each team is one piece of it, and in the
 * root's team only the root has children of other teams. */
HARK_FN bool hark_tree_in_teams(const struct hark_group *tree, const uint32_t *of);

#if HARK_BODIES

/* True if all ranks exist and only the root is its own parent. Cycles are not searched for. */
static inline bool hark_tree_valid(const struct hark_group *t, uint32_t ranks)
{
    if (t->ctx == 0 || t->count == 0) return false;
    for (uint32_t m = 0; m < t->count; m++) {
        if (t->member[m] >= ranks || t->parent[m] >= ranks) return false;
        if ((t->member[m] == t->root) != (t->parent[m] == t->member[m])) return false;
    }
    return true;
}

/* Returns the index of the root; `count` if it is no member. */
static inline uint32_t hark_tree_root(const uint32_t *member, uint32_t count, uint32_t root)
{
    uint32_t at = 0;
    while (at < count && member[at] != root) at++;
    return at;
}

HARK_FN int hark_tree_binomial(
    const uint32_t *member, uint32_t count, uint32_t root, uint32_t *parent)
{
    uint32_t at = hark_tree_root(member, count, root);
    if (at == count) return HARK_EINVAL;
    for (uint32_t i = 0; i < count; i++) { /* the parent of the i-th from the root: i without its
                                              lowest bit */
        uint32_t above = i & (i - 1), me = i < count - at ? at + i : at + i - count;
        if (i == 0) above = 0;
        parent[me] = member[above < count - at ? at + above : at + above - count];
    }
    return HARK_OK;
}

HARK_FN int hark_tree_kary(
    const uint32_t *member, uint32_t count, uint32_t root, uint32_t k, uint32_t *parent)
{
    uint32_t at = hark_tree_root(member, count, root);
    if (at == count || k == 0) return HARK_EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t above = i == 0 ? 0 : (i - 1) / k, me = i < count - at ? at + i : at + i - count;
        parent[me] = member[above < count - at ? at + above : at + above - count];
    }
    return HARK_OK;
}
/* Returns the first rank of the n-th piece of other teams than the root's; `at` is the index of the
 * root, and n = 0 gives the root. */
static inline uint32_t hark_tree_piece(
    const uint32_t *member, uint32_t count, uint32_t at, const uint32_t *of, uint32_t n)
{
    uint32_t team = of[member[at]], before = team;
    for (uint32_t i = 1; n && i < count; i++) {
        uint32_t rank = member[i < count - at ? at + i : at + i - count];
        if (of[rank] != before && of[rank] != team && --n == 0) return rank;
        before = of[rank];
    }
    return member[at];
}

HARK_FN int hark_tree_teams(
    const uint32_t *member, uint32_t count, uint32_t root, const uint32_t *of, uint32_t *parent)
{
    uint32_t at = hark_tree_root(member, count, root), pieces = 0, first = 0;
    if (at == count) return HARK_EINVAL;
    for (uint32_t i = 0; i < count; i++) { /* i-th from the root on, as in a binomial tree */
        uint32_t me = i < count - at ? at + i : at + i - count, before = me ? me - 1 : count - 1;
        bool begins = i == 0 || of[member[me]] != of[member[before]],
             own = of[member[me]] == of[root];
        if (begins) first = i;
        if (begins && !own) pieces++;
        uint32_t above = first + ((i - first) & (i - first - 1));
        if (i == 0 || (begins && own)) parent[me] = root;
        else if (begins) parent[me] = hark_tree_piece(member, count, at, of, pieces & (pieces - 1));
        else parent[me] = member[above < count - at ? at + above : at + above - count];
    }
    return HARK_OK;
}

HARK_FN bool hark_tree_in_teams(const struct hark_group *t, const uint32_t *of)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t rank = t->member[i], above = t->parent[i], team = of[rank];
        if (team == of[above] && rank != t->root) continue;
        if (rank != t->root && above != t->root && of[above] == of[t->root]) return false;
        for (uint32_t j = 0; j < i; j++) /* a second edge into this team? */
            if (of[t->member[j]] == team && (t->member[j] == t->root || of[t->parent[j]] != team))
                return false;
    }
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
