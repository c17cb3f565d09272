/* balance.h: chooses the processing element (PE) on which each object of a program is to run, where
 * PEs form teams.
 *
 * E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging in
 * Fault Tolerant HPC Applications, Cluster 2011, section IV. Messages between teams are logged, so
 * objects that send much to each other belong in one team; and all PEs should have equal load. The
 * graph is one of hark_graph_of in cluster.h: vertices are objects with their loads; the weight of
 * an edge is the bytes that the two send each other.
 *
 * Loads are whole numbers (ns, us, ...). The same input and seed give the same map, in every run
 * and with every compiler; among equals the lowest object, PE or team is taken.
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
    HARK_BALANCE_NONE,     /* objects stay where they are */
    HARK_BALANCE_GREEDY,   /* the heaviest object to the least loaded PE, and so on */
    HARK_BALANCE_REFINE,   /* as few objects as needed leave overloaded PEs */
    HARK_BALANCE_TEAM,     /* the paper's: the graph is cut into teams of equal load; inside each,
                              greedy */
    HARK_BALANCE_TEAM_PLUS /* weighs logged bytes, load and the cost of moves together */
};

#define HARK_BALANCE_LOAD                                                                          \
    (UINT64_C(1) << 53) /* the largest load of an object, and the largest cost                     \
                         * of a move */

struct hark_balance {
    const struct hark_graph *graph; /* load NULL: 1 for each object */
    uint32_t pes, teams;            /* PE p is in team p / (pes / teams); teams divides pes */
    enum hark_balance_strategy strategy;
    enum hark_cut_backend backend; /* cuts the graph, for team and team+ */
    uint32_t slack;                /* load above the mean that a PE (refine, team+) or a team (team)
                                    * may have, in thousandths of the mean */
    uint64_t move;                 /* team+: the cost of moving an object, in logged bytes */
    uint64_t seed;                 /* for the cut */
};

/* Maps objects to PEs. now[i] is the present PE of object i; NULL: contiguous blocks of objects.
 * Writes pe[i], its new PE; `pe` may be `now`. Returns 0; -EINVAL: no objects, no PEs, more teams
 * than PEs, teams of different sizes, a PE in `now` that does not exist, loads or a move beyond
 * HARK_BALANCE_LOAD, a sum of loads, of bytes or of all moves beyond HARK_GRAPH_MOST, slack beyond
 * 1000; -ENOMEM; from the cut: -ENOTSUP, the backend is not built in, or -EOVERFLOW, the graph is
 * too large for it. pe is changed only if 0 is returned. */
int hark_balance(const struct hark_balance *b, const uint32_t *now, uint32_t *pe);

/* Places contiguous blocks of objects, of as equal number as possible. */
void hark_balance_blocks(uint32_t objects, uint32_t pes, uint32_t *pe);

struct hark_balance_figures {
    uint64_t load, most, least; /* of all objects; of the PEs with the most and with the least
                                 * load */
    uint64_t team_most;         /* load of the team with the most load */
    uint32_t team_objects_most, team_objects_least;
    uint64_t bytes, logged; /* between objects; of that, between teams */
    uint32_t moved;         /* objects that are not on their PE in `now` */
};

/* Computes the figures of a map; `now` as above. Returns 0, -EINVAL or -ENOMEM, as above. */
int hark_balance_measure(const struct hark_balance *b, const uint32_t *now, const uint32_t *pe,
    struct hark_balance_figures *f);

/* Returns the paper's I = (max - avg) / avg of the PEs' loads; 0 without any load. */
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
