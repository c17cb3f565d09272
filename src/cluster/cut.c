#include "cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool hark_cut_has(enum hark_cut_backend backend)
{
    switch (backend) {
    case HARK_CUT_BUILTIN: return true;
    case HARK_CUT_SCOTCH: return HARK_SCOTCH;
    case HARK_CUT_METIS:
    case HARK_CUT_METIS_RECURSIVE: return HARK_METIS;
    }
    return false;
}

const char *hark_cut_name(enum hark_cut_backend backend)
{
    switch (backend) {
    case HARK_CUT_BUILTIN: return "builtin";
    case HARK_CUT_SCOTCH: return "scotch";
    case HARK_CUT_METIS: return "metis";
    case HARK_CUT_METIS_RECURSIVE: return "metis-recursive";
    }
    return "?";
}

/* METIS prints on stdout when a part that it is to bisect has become empty, which it is close to
 * with few vertices a part. */
enum { METIS_LEAST = 4 };

int hark_cluster_cut(const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed,
    enum hark_cut_backend backend, uint32_t *part)
{
    bool metis = backend == HARK_CUT_METIS || backend == HARK_CUT_METIS_RECURSIVE;
    if (metis && g->n / parts < METIS_LEAST) backend = HARK_CUT_BUILTIN;
    switch (backend) {
    case HARK_CUT_BUILTIN: return hark_cluster_cut_builtin(g, parts, slack, seed, part);
    case HARK_CUT_SCOTCH: return hark_cluster_cut_scotch(g, parts, slack, seed, part);
    case HARK_CUT_METIS: return hark_cluster_cut_metis(g, parts, slack, seed, false, part);
    case HARK_CUT_METIS_RECURSIVE: return hark_cluster_cut_metis(g, parts, slack, seed, true, part);
    }
    return -EINVAL;
}

int hark_graph_cut(const struct hark_graph *g, uint32_t parts, double slack, uint64_t seed,
    enum hark_cut_backend backend, uint32_t *part)
{
    struct cluster_graph view;
    uint64_t load = 0;
    if (parts < 1 || parts > g->vertices || !(slack >= 0 && slack <= 1e6)) return -EINVAL;
    if (backend > HARK_CUT_METIS_RECURSIVE) return -EINVAL;
    if (!hark_cut_has(backend)) return -ENOTSUP;
    for (uint32_t v = 0; g->load && v < g->vertices; v++) {
        if (g->load[v] > HARK_GRAPH_MOST - load) return -EOVERFLOW;
        load += g->load[v];
    }
    if (parts == 1) {
        memset(part, 0, (size_t)g->vertices * sizeof *part);
        return 0;
    }
    if (hark_cluster_graph_view(&view, g) < 0) return -ENOMEM;
    int status = hark_cluster_cut(&view, parts, slack, seed, backend, part);
    hark_cluster_graph_view_free(&view);
    return status;
}
