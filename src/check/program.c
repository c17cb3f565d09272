/* program.c: the program of a lab: its sends as bits, its trees. */
#include "local.h"

uint64_t sends_from(const struct lab *lab, uint32_t who, uint32_t n)
{
    uint32_t first = lab->first_send[who] + n,
             behind = who + 1 < lab->ranks ? lab->first_send[who + 1] : HARK_SCENARIO_SENDS;
    return first < behind ? UINT64_MAX >> (64 - (behind - first)) << first : 0;
}

uint64_t last_send(const struct lab *lab, uint32_t who, uint64_t set)
{
    set &= sends_from(lab, who, 0);
    while (set & (set - 1)) set &= set - 1;
    return set;
}

static bool in_teams(const struct hark_scenario *s)
{
    uint32_t member[HARK_SCENARIO_RANKS], parent[HARK_SCENARIO_RANKS], of[HARK_SCENARIO_RANKS];
    for (uint32_t i = 0; i < s->ranks; i++) of[i] = s->cluster[i];
    for (uint32_t t = 0; t < s->trees; t++) {
        struct hark_group tree = lab_tree(s, t, member, parent);
        if (!hark_tree_in_teams(&tree, of)) return false;
    }
    return true;
}

struct hark_group lab_tree(
    const struct hark_scenario *s, uint32_t t, uint32_t *member, uint32_t *parent)
{
    struct hark_group tree = {.ctx = group_ctx(t, false), .member = member, .parent = parent};
    for (uint32_t i = 0; i < s->ranks; i++) {
        int8_t above = s->parent[t][i];
        if (above == -2) continue;
        if (above == -1) tree.root = i;
        member[tree.count] = i;
        parent[tree.count++] = above == -1 ? i : (uint32_t)above;
    }
    return tree;
}

const char *lab_unreduced(const struct lab *lab)
{
    const struct hark_scenario *s = lab->scenario;
    const bool teams = hark_service_by_cluster(lab->protocol);
    if (!(lab->protocol->traits & HARK_TRAIT_REDUCES))
        return "this protocol has no reductions: A and Q can not be searched";
    if (!lab->groups) return "A and Q: expected a line waves all with this protocol";
    if (lab->options.copies > 1) return "A and Q: expected copies 1";
    if (teams && !in_teams(s))
        return "A and Q: expected each team in one piece of the tree; from the team of the root, "
               "the root only above others";
    return NULL;
}
