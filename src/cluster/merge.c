/* merge.c: clusters as wholes: they join others, are cut in halves, or two of them are cut anew;
 * and the order they stand in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "random.h"
#include "state.h"

/* The clusters as vertices of a graph. list[begin[c]] ..: the vertices of the slot c, if asked for.
 */
static int quotient(const struct cluster_state *s, struct cluster_graph *q, uint32_t **part)
{
    *part = malloc(((size_t)s->g->n + 1) * sizeof **part);
    if (*part == NULL || hark_cluster_state_number(s, *part) < 0 ||
        hark_cluster_graph_contract(q, s->g, *part, s->count) < 0) {
        free(*part);
        return -ENOMEM;
    }
    return 0;
}

/* Takes the clusters of the quotient's state. */
static int take(struct cluster_state *s, const struct cluster_state *of, uint32_t *part)
{
    struct cluster_state anew;
    uint32_t *number = malloc(((size_t)of->g->n + 1) * sizeof *number);
    if (number == NULL || hark_cluster_state_number(of, number) < 0) {
        free(number);
        return -ENOMEM;
    }
    for (uint32_t v = 0; v < s->g->n; v++) part[v] = number[part[v]];
    free(number);
    if (hark_cluster_state_make(&anew, s->g, s->model, part) < 0) return -ENOMEM;
    hark_cluster_state_free(s);
    *s = anew;
    return 0;
}

int hark_cluster_refine_merge(struct cluster_state *s, bool *better)
{
    struct cluster_graph q;
    struct cluster_state of = {0};
    uint32_t *part, *own;
    bool moved = false;
    if (s->count < 2) return 0;
    if (quotient(s, &q, &part) < 0) return -ENOMEM;
    own = malloc(((size_t)q.n + 1) * sizeof *own);
    int status = own ? 0 : -ENOMEM;
    for (uint32_t c = 0; own && c < q.n; c++) own[c] = c;
    if (status == 0) status = hark_cluster_state_make(&of, &q, s->model, own);
    bool all = (s->place || s->model->cost->function) && s->count <= 128;
    if (status == 0) status = hark_cluster_refine_climb(&of, UINT64_MAX, all, &moved);
    for (bool more = moved; status == 0 && more;) {
        more = false;
        status = hark_cluster_refine_climb(&of, UINT64_MAX, all, &more);
    }
    if (status == 0 && moved) {
        *better = true;
        status = take(s, &of, part);
    }
    hark_cluster_state_free(&of);
    hark_cluster_graph_free(&q);
    free(own);
    free(part);
    return status;
}

/* ---- halves */

struct lists { /* the vertices of each slot, ascending */
    uint32_t *begin, *vertex, *place;
};

static void lists_free(struct lists *l)
{
    free(l->begin);
    free(l->vertex);
    free(l->place);
    *l = (struct lists){0};
}

static int lists_make(struct lists *l, const struct cluster_state *s)
{
    size_t n = (size_t)s->g->n + 2;
    *l = (struct lists){
        calloc(n, sizeof *l->begin), malloc(n * sizeof *l->vertex), malloc(n * sizeof *l->place)};
    if (!l->begin || !l->vertex || !l->place) {
        lists_free(l);
        return -ENOMEM;
    }
    memset(l->place, 0xff, n * sizeof *l->place);
    for (uint32_t v = 0; v < s->g->n; v++) l->begin[s->part[v] + 1]++;
    for (uint32_t c = 0; c < s->slots; c++) l->begin[c + 1] += l->begin[c];
    for (uint32_t v = 0; v < s->g->n; v++) l->vertex[l->begin[s->part[v]]++] = v;
    for (uint32_t c = s->slots; c > 0; c--) l->begin[c] = l->begin[c - 1];
    l->begin[0] = 0;
    return 0;
}

/* Vertices of a list go to slot[side[i]], which stands at place[side[i]]. */
static void apply(struct cluster_state *s, const uint32_t *list, uint32_t count,
    const uint32_t *side, const uint32_t slot[2], const int64_t place[2])
{
    for (uint32_t i = 0; i < count; i++)
        if (s->part[list[i]] != slot[side[i]])
            hark_cluster_move(s, list[i], slot[side[i]], place[side[i]]);
}

static int64_t place_of(const struct cluster_state *s, uint32_t slot)
{
    return s->place ? s->place[slot] : 0;
}

static bool sizes_ok(const struct cluster_state *s, uint32_t c)
{
    return s->members[c] == 0 ||
           (s->load[c] >= s->model->bounds.least && s->load[c] <= s->model->bounds.most);
}

static int cut_in_two(const struct cluster_state *s, struct lists *l, const uint32_t *list,
    uint32_t count, uint64_t aim, uint64_t seed, uint32_t *side)
{
    struct cluster_graph sub;
    if (hark_cluster_graph_induce(&sub, s->g, list, count, l->place) < 0) return -ENOMEM;
    uint64_t load = hark_cluster_graph_load(&sub),
             most[2] = {aim + aim / 32, load - aim + (load - aim) / 32};
    for (int i = 0; i < 2; i++) most[i] += most[0] + most[1] == load; /* room to move at all */
    int status = hark_cluster_bisect(&sub, aim, most, seed, side);
    hark_cluster_graph_free(&sub);
    return status;
}

int hark_cluster_refine_split(struct cluster_state *s, uint64_t seed, bool *better)
{
    struct lists l = {0};
    uint32_t *side = malloc(((size_t)s->g->n + 1) * sizeof *side),
             *zero = calloc((size_t)s->g->n + 1, sizeof *zero);
    int status = side && zero ? lists_make(&l, s) : -ENOMEM;
    for (uint32_t c = 0; status == 0 && c < s->slots; c++) {
        uint32_t *list = l.vertex + l.begin[c], count = l.begin[c + 1] - l.begin[c],
                 to = hark_cluster_new_slot(s);
        if (count < 2 || s->load[c] < 2 * s->model->bounds.least || s->members[c] != count)
            continue;
        double before = hark_cluster_state_cost(s);
        status = cut_in_two(s, &l, list, count, s->load[c] / 2, seed, side);
        if (status < 0) break;
        uint32_t slot[2] = {c, to};
        int64_t place[2] = {place_of(s, c), s->last_place};
        apply(s, list, count, side, slot, place);
        if (hark_cluster_state_cost(s) < before - CLUSTER_LESS && sizes_ok(s, c) && sizes_ok(s, to))
            *better = true;
        else apply(s, list, count, zero, slot, place);
    }
    lists_free(&l);
    free(side);
    free(zero);
    return status;
}

/* ---- pairs */

/* The two clusters a and b, cut anew at their sizes, and at equal ones. */
static int pair(struct cluster_state *s, struct lists *l, uint32_t a, uint32_t b, uint64_t seed,
    uint32_t *list, uint32_t *side, bool *better)
{
    uint32_t count = 0, *was = side + s->g->n, slot[2] = {a, b};
    int64_t place[2] = {place_of(s, a), place_of(s, b)};
    for (uint32_t v = 0; v < s->g->n; v++)
        if (s->part[v] == a || s->part[v] == b) {
            was[count] = s->part[v] == b;
            list[count++] = v;
        }
    for (int way = 0; way < 2; way++) {
        double before = hark_cluster_state_cost(s);
        uint64_t load = s->load[a] + s->load[b], aim = way ? load / 2 : s->load[a];
        if (way && s->load[a] == aim) break;
        int status = cut_in_two(s, l, list, count, aim, seed, side);
        if (status < 0) return status;
        apply(s, list, count, side, slot, place);
        if (hark_cluster_state_cost(s) < before - CLUSTER_LESS && sizes_ok(s, a) &&
            sizes_ok(s, b)) {
            *better = true;
            memcpy(was, side, (size_t)count * sizeof *was);
        } else {
            apply(s, list, count, was, slot, place);
        }
    }
    return 0;
}

int hark_cluster_refine_pairs(struct cluster_state *s, uint64_t seed, bool *better)
{
    struct cluster_graph q;
    struct lists l;
    uint32_t *part, *slot = malloc(((size_t)s->count + 1) * sizeof *slot),
                    *list = malloc(((size_t)s->g->n + 1) * sizeof *list),
                    *side = malloc((2 * (size_t)s->g->n + 2) * sizeof *side);
    int status = slot && list && side ? lists_make(&l, s) : -ENOMEM;
    if (status == 0 && quotient(s, &q, &part) < 0) {
        lists_free(&l);
        status = -ENOMEM;
    } else if (status == 0) {
        for (uint32_t v = 0; v < s->g->n; v++) slot[part[v]] = s->part[v];
        for (uint32_t a = 0; status == 0 && a < q.n; a++)
            for (uint64_t k = q.first[a]; status == 0 && k < q.first[a + 1]; k++) {
                uint32_t x = slot[a], y = slot[q.column[k]];
                if (a < q.column[k] && s->members[x] && s->members[y])
                    status = pair(s, &l, x, y, seed + k, list, side, better);
            }
        lists_free(&l);
        hark_cluster_graph_free(&q);
        free(part);
    }
    free(slot);
    free(list);
    free(side);
    return status;
}

/* ---- the order */

/* What is logged more when the cluster at i of the order goes to j, by what goes between two (m, by
 * rows of numbers). */
static int64_t insertion(
    const int64_t *m, const uint32_t *order, uint32_t count, uint32_t i, uint32_t *to)
{
    int64_t best = 0, sum = 0;
    uint64_t k = count, c = order[i];
    *to = i;
    for (uint32_t j = i; j-- > 0;) { /* before those that it stood behind: what it sends them
                                        counts, what they send it does not */
        sum += m[c * k + order[j]] - m[order[j] * k + c];
        if (sum < best) best = sum, *to = j;
    }
    sum = 0;
    for (uint32_t j = i + 1; j < count; j++) {
        sum += m[order[j] * k + c] - m[c * k + order[j]];
        if (sum < best) best = sum, *to = j;
    }
    return best;
}

static bool insert_all(const int64_t *m, uint32_t *order, uint32_t count)
{
    bool any = false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t to, c = order[i];
            if (insertion(m, order, count, i, &to) >= 0) continue;
            if (to < i) memmove(order + to + 1, order + to, (i - to) * sizeof *order);
            else memmove(order + i, order + i + 1, (to - i) * sizeof *order);
            order[to] = c;
            more = any = true;
        }
    }
    return any;
}

enum { ORDER_MOST = 1500 }; /* clusters whose order is looked for pair by pair */

int hark_cluster_refine_order(struct cluster_state *s, bool *better)
{
    struct cluster_graph q;
    uint32_t *part, n = s->count;
    if (!s->place || n < 2 || n > ORDER_MOST) return 0;
    if (quotient(s, &q, &part) < 0) return -ENOMEM;
    int64_t *m = calloc((size_t)n * n, sizeof *m);
    uint32_t *order = malloc(2 * (size_t)n * sizeof *order), *number = order ? order + n : NULL;
    int status = m && order ? 0 : -ENOMEM;
    if (status == 0) {
        for (uint32_t c = 0; c < n; c++) {
            order[c] = c;
            for (uint64_t k = q.first[c]; k < q.first[c + 1]; k++)
                m[(size_t)c * n + q.column[k]] = (int64_t)q.out[k];
        }
        if (insert_all(m, order, n)) {
            struct cluster_state anew;
            *better = true;
            for (uint32_t i = 0; i < n; i++) number[order[i]] = i;
            for (uint32_t v = 0; v < s->g->n; v++) part[v] = number[part[v]];
            status = hark_cluster_state_make(&anew, s->g, s->model, part);
            if (status == 0) {
                hark_cluster_state_free(s);
                *s = anew;
            }
        }
    }
    free(m);
    free(order);
    free(part);
    hark_cluster_graph_free(&q);
    return status;
}
