#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

void hark_cluster_model_make(struct cluster_model *m, const struct cluster_graph *g, uint64_t bytes,
    const struct hark_cluster_cost *cost, struct cluster_bounds bounds)
{
    *m = (struct cluster_model){cost, hark_cluster_graph_load(g), bytes, 0, 0, bounds};
    if (m->bytes) m->a = cost->alpha / (double)m->bytes;
    m->b = cost->beta / ((double)m->ranks * (double)m->ranks);
}

double hark_cluster_state_cost(const struct cluster_state *s)
{
    struct hark_cluster_figures f = {
        s->model->ranks, s->count, s->model->bytes, s->logged, s->squares};
    return hark_cluster_cost(s->model->cost, &f);
}

double hark_cluster_change(
    const struct cluster_state *s, int64_t logged, int64_t squares, int clusters)
{
    const struct cluster_model *m = s->model;
    if (m->cost->function) {
        struct hark_cluster_figures f = {m->ranks, (uint64_t)((int64_t)s->count + clusters),
            m->bytes, (uint64_t)((int64_t)s->logged + logged),
            (uint64_t)((int64_t)s->squares + squares)};
        return m->cost->function(m->cost->self, &f) - hark_cluster_state_cost(s);
    }
    if (!m->cost->ordered) return m->a * (double)logged + m->b * (double)squares;
    double rolled =
        ((double)s->count + 1 + clusters) * (double)squares + (double)clusters * (double)s->squares;
    return m->a * (double)logged + m->b / 2 * rolled;
}

/* ---- the state */

static int by_place(const void *a, const void *b) /* no two slots stand in one place */
{
    const struct cluster_placed *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* What is logged: of pairs of different slots, ordered only what goes to the later one. */
static uint64_t count_logged(const struct cluster_state *s)
{
    const struct cluster_graph *g = s->g;
    uint64_t twice = 0, later = 0;
    for (uint32_t v = 0; v < g->n; v++)
        for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
            uint32_t from = s->part[v], to = s->part[g->column[k]];
            if (from == to) continue;
            twice += g->weight[k];
            if (s->place && s->place[to] > s->place[from]) later += g->out[k];
        }
    return s->place ? later : twice / 2;
}

int hark_cluster_state_make(struct cluster_state *s, const struct cluster_graph *g,
    const struct cluster_model *m, const uint32_t *part)
{
    size_t n = (size_t)g->n + 1;
    *s = (struct cluster_state){.g = g, .model = m, .slots = g->n};
    s->part = malloc(n * sizeof *s->part);
    s->load = calloc(n, sizeof *s->load);
    s->members = calloc(n, sizeof *s->members);
    s->empty = malloc(n * sizeof *s->empty);
    s->joined = calloc(n, sizeof *s->joined);
    s->touched = malloc(n * sizeof *s->touched);
    if (g->out) {
        s->place = malloc(n * sizeof *s->place);
        s->joined_out = calloc(n, sizeof *s->joined_out);
        s->along = malloc(n * sizeof *s->along);
    }
    bool ordered = s->place && s->joined_out && s->along;
    if (!s->part || !s->load || !s->members || !s->empty || !s->joined || !s->touched ||
        (g->out && !ordered)) {
        hark_cluster_state_free(s);
        return -ENOMEM;
    }
    for (uint32_t v = 0; v < g->n; v++) {
        s->part[v] = part[v];
        s->load[part[v]] += g->load[v];
        s->count += s->members[part[v]]++ == 0;
    }
    for (uint32_t c = g->n; c-- > 0;) {
        if (s->members[c] == 0) s->empty[s->empties++] = c;
        if (s->place) s->place[c] = c;
        s->squares += s->load[c] * s->load[c];
    }
    s->last_place = g->n;
    s->first_place = -1;
    s->logged = count_logged(s);
    return 0;
}

void hark_cluster_state_free(struct cluster_state *s)
{
    free(s->part);
    free(s->load);
    free(s->members);
    free(s->place);
    free(s->empty);
    free(s->joined);
    free(s->joined_out);
    free(s->along);
    free(s->touched);
    *s = (struct cluster_state){0};
}

int hark_cluster_state_number(const struct cluster_state *s, uint32_t *part)
{
    struct cluster_placed *slot = malloc(((size_t)s->count + 1) * sizeof *slot);
    uint32_t *number = malloc(((size_t)s->slots + 1) * sizeof *number), count = 0;
    if (slot && number) {
        memset(number, 0xff, (size_t)s->slots * sizeof *number);
        for (uint32_t v = 0; v < s->g->n; v++) {
            if (number[s->part[v]] != NO_SLOT) continue;
            slot[count] =
                (struct cluster_placed){s->place ? s->place[s->part[v]] : count, s->part[v], 0, 0};
            number[s->part[v]] = count++;
        }
        qsort(slot, count, sizeof *slot, by_place);
        for (uint32_t i = 0; i < count; i++) number[slot[i].slot] = i;
        for (uint32_t v = 0; v < s->g->n; v++) part[v] = number[s->part[v]];
    }
    bool ok = slot && number;
    free(slot);
    free(number);
    return ok ? 0 : -ENOMEM;
}

uint32_t hark_cluster_new_slot(const struct cluster_state *s)
{
    return s->empties ? s->empty[s->empties - 1] : NO_SLOT;
}

/* ---- moves */

/* Many clusters, ordered: sums from either end, so that what is logged at a place takes no walk
 * through all of them. */
static void sum_up(struct cluster_state *s)
{
    s->summed = s->place && s->touches > 8;
    if (!s->summed) return;
    for (uint32_t i = 0; i < s->touches; i++)
        s->along[i] = (struct cluster_placed){s->place[s->touched[i]], s->touched[i], 0, 0};
    qsort(s->along, s->touches, sizeof *s->along, by_place);
    uint64_t in = 0, out = 0;
    for (uint32_t i = 0; i < s->touches; i++) {
        uint32_t c = s->along[i].slot;
        s->along[i].in = in;
        in += s->joined[c] - s->joined_out[c];
        out += s->joined_out[c];
    }
    s->all_out = out;
    for (uint32_t i = 0; i < s->touches; i++) {
        out -= s->joined_out[s->along[i].slot];
        s->along[i].out = out;
    }
    s->all_in = in;
}

static uint64_t logged_between(const struct cluster_state *s, int64_t place)
{
    uint32_t low = 0, high = s->touches; /* the first that does not stand before it */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->along[middle].place < place) low = middle + 1;
        else high = middle;
    }
    uint64_t in = low < s->touches ? s->along[low].in : s->all_in;
    if (low < s->touches && s->along[low].place == place) return in + s->along[low].out;
    return in + (low ? s->along[low - 1].out : s->all_out);
}

static void look(struct cluster_state *s, uint32_t v)
{
    const struct cluster_graph *g = s->g;
    s->touches = 0;
    for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
        uint32_t c = s->part[g->column[k]];
        if (s->joined[c] == 0) s->touched[s->touches++] = c;
        s->joined[c] += g->weight[k];
        if (s->joined_out) s->joined_out[c] += g->out[k];
    }
    sum_up(s);
}

static void look_away(struct cluster_state *s)
{
    for (uint32_t i = 0; i < s->touches; i++) {
        s->joined[s->touched[i]] = 0;
        if (s->joined_out) s->joined_out[s->touched[i]] = 0;
    }
    s->touches = 0;
}

/* What of v's messages is logged if its cluster is `own` and stands at `place`. */
static uint64_t logged_at(const struct cluster_state *s, uint32_t own, int64_t place)
{
    uint64_t sum = 0;
    if (s->summed)
        return logged_between(s, place); /* of all of v's, only its own cluster can stand there */
    for (uint32_t i = 0; i < s->touches; i++) {
        uint32_t c = s->touched[i];
        if (c == own) continue;
        if (!s->place) sum += s->joined[c];
        else sum += s->place[c] > place ? s->joined_out[c] : s->joined[c] - s->joined_out[c];
    }
    return sum;
}

/* How the sum of the squares changes when so much load goes from one to another. */
static int64_t squares_of(const struct cluster_state *s, uint32_t from, uint32_t to, uint64_t load)
{
    int64_t x = (int64_t)s->load[from], y = (int64_t)s->load[to], l = (int64_t)load;
    return 2 * l * (y - x + l);
}

static bool in_bounds(const struct cluster_state *s, uint32_t from, uint32_t to, uint64_t load)
{
    const struct cluster_bounds *b = &s->model->bounds;
    uint64_t left = s->load[from] - load;
    return s->load[to] + load <= b->most && s->load[to] + load >= b->least &&
           (left >= b->least || left == 0);
}

static void consider(struct cluster_state *s, uint32_t v, uint32_t to, int64_t place,
    uint64_t logged_now, struct cluster_move *best)
{
    uint32_t own = s->part[v];
    uint64_t load = s->g->load[v];
    if (to == own || !in_bounds(s, own, to, load)) return;
    uint64_t logged =
        s->place ? logged_at(s, to, place) : logged_now + s->joined[own] - s->joined[to];
    int clusters = (s->members[to] == 0) - (s->members[own] == 1);
    double change = hark_cluster_change(
        s, (int64_t)logged - (int64_t)logged_now, squares_of(s, own, to, load), clusters);
    if (best->to != own && (change > best->change || (change == best->change && to >= best->to)))
        return;
    *best = (struct cluster_move){change, to, place};
}

struct cluster_move hark_cluster_best_move(
    struct cluster_state *s, uint32_t v, bool leave, bool all)
{
    uint32_t own = s->part[v], fresh = hark_cluster_new_slot(s);
    struct cluster_move best = {0, own, 0};
    look(s, v);
    uint64_t now = s->place ? logged_at(s, own, s->place[own]) : 0; /* without order only
                                                                       differences count */
    if (all) {
        for (uint32_t c = 0, left = s->count; left > 0; c++)
            if (s->members[c]) left--, consider(s, v, c, s->place ? s->place[c] : 0, now, &best);
    } else {
        for (uint32_t i = 0; i < s->touches; i++)
            consider(s, v, s->touched[i], s->place ? s->place[s->touched[i]] : 0, now, &best);
    }
    if (fresh != NO_SLOT && s->members[own] > 1) {
        consider(s, v, fresh, s->last_place, now, &best);
        if (s->place) consider(s, v, fresh, s->first_place, now, &best);
    }
    look_away(s);
    if (!leave && best.change > -CLUSTER_LESS) best.to = own;
    return best;
}

void hark_cluster_move(struct cluster_state *s, uint32_t v, uint32_t to, int64_t place)
{
    uint32_t own = s->part[v];
    uint64_t load = s->g->load[v];
    look(s, v);
    uint64_t now = logged_at(s, own, s->place ? s->place[own] : 0);
    if (s->members[to] == 0) {
        for (uint32_t i = s->empties; i-- > 0;) /* nearly always the last */
            if (s->empty[i] == to) {
                s->empty[i] = s->empty[--s->empties];
                break;
            }
        s->count++;
        if (s->place) {
            s->place[to] = place;
            if (place >= s->last_place) s->last_place = place + 1;
            if (place <= s->first_place) s->first_place = place - 1;
        }
    }
    s->logged = s->logged - now + logged_at(s, to, s->place ? s->place[to] : 0);
    s->squares = (uint64_t)((int64_t)s->squares + squares_of(s, own, to, load));
    look_away(s);
    s->load[own] -= load;
    s->load[to] += load;
    s->members[to]++;
    s->part[v] = to;
    if (--s->members[own] == 0) {
        s->empty[s->empties++] = own;
        s->count--;
    }
}
