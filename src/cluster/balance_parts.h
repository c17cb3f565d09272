/* balance_parts.h: what the strategies of balance.h share. */
#ifndef HARK_CLUSTER_BALANCE_PARTS_H
#define HARK_CLUSTER_BALANCE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hark/balance.h"

struct balance {
    const struct hark_balance *asked;
    const struct hark_graph *graph;
    uint32_t objects, pes, teams, size; /* size: PEs of a team */
    uint64_t total, limit;              /* the sum of the loads; what a PE may have */
    uint64_t *load;                     /* of objects */
    uint64_t *sum;                      /* of PEs */
    uint32_t *order;                    /* objects, the heaviest first */
    uint32_t *now, *pe;                 /* of objects */
    uint32_t *heap;                     /* of PEs */
    /* of refine: objects by PE, heaviest first; where those of a PE begin; what is left of them, to
     * both sides */
    uint32_t *by_pe, *first, *heavier, *lighter;
};

/* PEs and the objects that are to be on them, the heaviest first. */
struct balance_share {
    uint32_t first, pes, objects;
    const uint32_t *object;
};

/* a * thousandths / 1000, rounded down, without overflow. */
static inline uint64_t balance_thousandths(uint64_t a, uint32_t thousandths)
{
    return a / 1000 * thousandths + a % 1000 * thousandths / 1000;
}

void hark_balance_sums(struct balance *w);
/* The load of the fullest PE of a share. */
uint64_t hark_balance_most(const struct balance *w, const struct balance_share *s);
/* Each sets pe and sum of the share's. */
void hark_balance_greedy(struct balance *w, const struct balance_share *s);
/* What is not on a PE of the share yet goes to the least loaded one. */
void hark_balance_add(struct balance *w, const struct balance_share *s);
/* Objects leave PEs beyond the limit; where that can not be, beyond the lowest load above it that
 * can. */
void hark_balance_refine(struct balance *w, const struct balance_share *s);
/* The fullest PE changes an object for a lighter one, or gives one, as long as it is beyond the
 * limit and that helps. */
void hark_balance_smooth(struct balance *w, const struct balance_share *s);
/* Objects by team, the heaviest first: object has room for all, first for teams + 1. */
void hark_balance_by_team(
    const struct balance *w, const uint32_t *team, uint32_t *object, uint32_t *first);
/* The graph is cut into teams. Status as of hark_balance. */
int hark_balance_cut(const struct balance *w, uint32_t slack, uint64_t seed, uint32_t *team);
/* How many cuts are worth their time: so many places of the graph, but two cuts and at most 32. */
uint32_t hark_balance_cuts(const struct balance *w, uint64_t worth);
/* No limit is below what greedy without teams would come to. */
void hark_balance_greedy_limit(struct balance *w);
uint64_t hark_balance_logged(const struct balance *w, const uint32_t *team);
/* What is beyond the limit goes to any PE, where it costs least; changes pe, sum and team. 0, or
 * -ENOMEM. */
int hark_balance_settle(struct balance *w, uint32_t *team);
int hark_balance_team(struct balance *w);
int hark_balance_team_plus(struct balance *w);

#endif
