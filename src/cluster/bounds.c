/* bounds.c: clusters that are too small or too large come into their bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "state.h"

#define NONE UINT32_MAX

static uint64_t outside_of(const struct cluster_state *s)
{
    const struct cluster_bounds *b = &s->model->bounds;
    uint64_t sum = 0;
    for (uint32_t c = 0; c < s->slots; c++) {
        if (s->members[c] == 0) continue;
        sum += s->load[c] > b->most    ? s->load[c] - b->most
               : s->load[c] < b->least ? b->least - s->load[c]
                                       : 0;
    }
    return sum;
}

static uint32_t *members_of(const struct cluster_state *s, uint32_t c)
{
    uint32_t *list = malloc(((size_t)s->members[c] + 1) * sizeof *list), n = 0;
    for (uint32_t v = 0; list && v < s->g->n; v++)
        if (s->part[v] == c) list[n++] = v;
    return list;
}

/* A cluster that is too large is cut into as many as it takes. */
static int cut_up(struct cluster_state *s, uint32_t c, uint32_t *place)
{
    uint64_t most = s->model->bounds.most, parts = (s->load[c] + most - 1) / most;
    uint32_t count = s->members[c], *list = members_of(s, c),
             *part = malloc(((size_t)count + 1) * sizeof *part);
    uint32_t *slot = malloc((size_t)(parts + 1) * sizeof *slot);
    struct cluster_graph sub = {0};
    if (parts > count) parts = count;
    int status =
        list && part && slot ? hark_cluster_graph_induce(&sub, s->g, list, count, place) : -ENOMEM;
    if (status == 0 && parts > 1)
        status = hark_cluster_cut_builtin(&sub, (uint32_t)parts, 0, 1, part);
    if (status == 0 && parts > 1) {
        memset(slot, 0xff, (size_t)(parts + 1) * sizeof *slot);
        slot[part[0]] = c; /* its first vertex stays */
        for (uint32_t i = 0; i < count; i++) {
            if (slot[part[i]] == NONE) slot[part[i]] = hark_cluster_new_slot(s);
            if (slot[part[i]] != c) hark_cluster_move(s, list[i], slot[part[i]], s->last_place);
        }
    }
    hark_cluster_graph_free(&sub);
    free(list);
    free(part);
    free(slot);
    return status;
}

/* What v is joined to each cluster, seen from it. */
static uint64_t joined(const struct cluster_state *s, uint32_t v, uint32_t c)
{
    uint64_t sum = 0;
    for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++)
        if (s->part[s->g->column[k]] == c) sum += s->g->weight[k];
    return sum;
}

/* As many of the vertices of c as find room go elsewhere, each to the cluster with room that it is
 * joined to most. */
static void dissolve(struct cluster_state *s, uint32_t c)
{
    for (uint32_t v = 0; v < s->g->n; v++) {
        uint32_t best = NONE;
        uint64_t most = 0;
        if (s->part[v] != c) continue;
        for (uint32_t t = 0; t < s->slots; t++) {
            if (t == c || s->members[t] == 0 || s->load[t] + s->g->load[v] > s->model->bounds.most)
                continue;
            uint64_t j = joined(s, v, t);
            if (best == NONE || j > most) best = t, most = j;
        }
        if (best != NONE) hark_cluster_move(s, v, best, 0);
    }
}

/* The vertex that c gets from a cluster that has more than it needs; NONE if there is none. */
static uint32_t spare(const struct cluster_state *s, uint32_t c)
{
    const struct cluster_bounds *b = &s->model->bounds;
    uint32_t best = NONE;
    int64_t most = 0;
    for (uint32_t v = 0; v < s->g->n; v++) {
        uint32_t own = s->part[v];
        uint64_t load = s->g->load[v];
        if (own == c || s->load[own] < b->least + load || s->load[c] + load > b->most) continue;
        int64_t gain = (int64_t)joined(s, v, c) - (int64_t)joined(s, v, own);
        if (best == NONE || gain > most) best = v, most = gain;
    }
    return best;
}

/* The cluster that c can join as a whole: the cheapest. */
static uint32_t partner(const struct cluster_state *s, uint32_t c)
{
    uint32_t best = NONE;
    uint64_t *to = calloc((size_t)s->slots + 1, sizeof *to), most = 0;
    for (uint32_t v = 0; to && v < s->g->n; v++) {
        if (s->part[v] != c) continue;
        for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++)
            to[s->part[s->g->column[k]]] += s->g->weight[k];
    }
    for (uint32_t t = 0; to && t < s->slots; t++) {
        if (t == c || s->members[t] == 0 || s->load[c] + s->load[t] > s->model->bounds.most)
            continue;
        if (best == NONE || to[t] > most || (to[t] == most && s->load[t] < s->load[best]))
            best = t, most = to[t];
    }
    free(to);
    return best;
}

static bool fill(struct cluster_state *s, uint32_t c)
{
    uint32_t other = partner(s, c), v;
    uint64_t room = 0;
    if (other != NONE) {
        for (v = 0; v < s->g->n; v++)
            if (s->part[v] == c) hark_cluster_move(s, v, other, 0);
        return true;
    }
    while (s->load[c] < s->model->bounds.least && (v = spare(s, c)) != NONE)
        hark_cluster_move(s, v, c, s->place ? s->place[c] : 0);
    if (s->load[c] >= s->model->bounds.least) return true;
    for (uint32_t t = 0; t < s->slots; t++)
        if (t != c && s->members[t] && s->load[t] < s->model->bounds.most)
            room += s->model->bounds.most - s->load[t];
    if (room < s->load[c]) return false;
    dissolve(s, c);
    return s->members[c] == 0;
}

int hark_cluster_refine_bounds(struct cluster_state *s, uint64_t *outside)
{
    const struct cluster_bounds *b = &s->model->bounds;
    uint32_t *place = malloc(((size_t)s->g->n + 1) * sizeof *place);
    int status = place ? 0 : -ENOMEM;
    if (place) memset(place, 0xff, (size_t)s->g->n * sizeof *place);
    for (uint32_t c = 0; status == 0 && c < s->slots; c++)
        if (s->members[c] && s->load[c] > b->most) status = cut_up(s, c, place);
    for (bool more = status == 0; more;) {
        uint32_t least = NONE;
        for (uint32_t c = 0; c < s->slots; c++)
            if (s->members[c] && s->load[c] < b->least &&
                (least == NONE || s->load[c] < s->load[least]))
                least = c;
        more = least != NONE && fill(s, least);
    }
    *outside = outside_of(s);
    free(place);
    return status;
}
