/* A ring of six, cut by every backend that the library has. */
#include <hark/balance.h>
#include <hark/cluster.h>
#include <stdio.h>

int app, cluster_move, balance_sums;

int main(void)
{
    uint64_t first[7] = {0, 1, 2, 3, 4, 5, 6}, bytes[6] = {10, 1, 10, 10, 1, 10};
    uint32_t next[6] = {1, 2, 3, 4, 5, 0}, part[6];
    const struct hark_matrix ring = {
        .ranks = 6, .entries = 6, .first = first, .column = next, .value = bytes};
    struct hark_graph graph;
    if (hark_graph_of(&graph, &ring) < 0) return 1;
    for (enum hark_cut_backend b = HARK_CUT_BUILTIN; b <= HARK_CUT_METIS_RECURSIVE; b++)
        if (hark_cut_has(b) && hark_graph_cut(&graph, 2, 0.1, 1, b, part) < 0) return 1;
    if (hark_graph_cut(&graph, 2, 0.1, 1, HARK_CUT_BUILTIN, part) < 0) return 1;
    printf("%s\n",
        part[2] != part[1] && part[5] != part[4] ? "cut where little is sent" : "cut elsewhere");
    hark_graph_free(&graph);
    return 0;
}
