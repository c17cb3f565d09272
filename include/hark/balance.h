/* balance.h: which processing element (PE) each object of a program is to run on, the PEs being in teams.
 *
 * E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging in Fault Tolerant HPC
 * Applications, Cluster 2011, section IV. Messages between teams are logged, so objects that talk much belong into
 * one team; and all PEs are to have as much to do. The graph is of hark_graph_of in cluster.h: vertices are objects,
 * with their loads; the weight of an edge is what the two send each other, in bytes.
 *
 * Loads are whole numbers (ns, us, ...). The same input and seed give the same map in every run and with every compiler;
 * of equals the lowest object, PE or team is taken.
 */
#ifndef HARK_BALANCE_H
#define HARK_BALANCE_H

#include <stdint.h>

#include "cluster.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* functions named as structs */
#endif

enum hark_balance_strategy {
    HARK_BALANCE_NONE,     /* as it is */
    HARK_BALANCE_GREEDY,   /* the heaviest object to the least loaded PE, and so on */
    HARK_BALANCE_REFINE,   /* objects leave the PEs that have too much, as few as will do */
    HARK_BALANCE_TEAM,     /* the paper's: the graph is cut into teams of equal load; inside each, greedy */
    HARK_BALANCE_TEAM_PLUS /* teams and PEs improved with both goals and the cost of moves in view */
};

#define HARK_BALANCE_LOAD (UINT64_C(1) << 53) /* the most of an object's load, and of a move's bytes */

struct hark_balance {
    const struct hark_graph *graph; /* load NULL: each object has 1 */
    uint32_t pes, teams;            /* PE p is in team p / (pes / teams); teams divides pes */
    enum hark_balance_strategy strategy;
    enum hark_cut_backend backend; /* that cuts the graph, for team and team+ */
    uint32_t slack;                /* thousandths of the mean that a PE (refine, team+) or team (team) may have beyond */
    uint64_t move;                 /* team+: an object that moves costs as much as so many bytes that are logged */
    uint64_t seed;                 /* of the cut */
};

/* now[i]: the PE that object i is on; NULL: blocks of objects. Writes pe[i], where it is to be; may be `now` itself.
 * 0; -EINVAL: no objects, no PEs, more teams than PEs, teams of different sizes, a PE of `now` that there is not, loads or a
 * move beyond HARK_BALANCE_LOAD, sums of loads, of bytes or of all moves beyond HARK_GRAPH_MOST, slack beyond 1000;
 * -ENOMEM; of the cut: -ENOTSUP, the backend is not built in, -EOVERFLOW, the graph is larger than it takes. pe is
 * unchanged unless 0 is returned. */
int hark_balance(const struct hark_balance *b, const uint32_t *now, uint32_t *pe);

/* Contiguous blocks of objects, as equal in number as can be. */
void hark_balance_blocks(uint32_t objects, uint32_t pes, uint32_t *pe);

struct hark_balance_figures {
    uint64_t load, most, least; /* of all objects; of the PE that has most, and least */
    uint64_t team_most;         /* load of the team that has most */
    uint32_t team_objects_most, team_objects_least;
    uint64_t bytes, logged; /* between objects; of that, between teams */
    uint32_t moved;         /* objects that are elsewhere than in `now` */
};

/* The figures of a map; `now` as above. 0, -EINVAL or -ENOMEM, as above. */
int hark_balance_measure(
    const struct hark_balance *b, const uint32_t *now, const uint32_t *pe, struct hark_balance_figures *f);

/* The paper's I = (max - avg) / avg of the PEs' loads; 0 without any load. */
static inline double hark_balance_imbalance(const struct hark_balance_figures *f, uint32_t pes)
{
    return f->load ? (double)f->most * (double)pes / (double)f->load - 1.0 : 0.0;
}

#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#ifdef __cplusplus
}
#endif

#endif
