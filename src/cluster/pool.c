#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define NO_PIECE UINT32_MAX

int hark_cluster_pool_make(struct cluster_pool *p, uint32_t n, uint32_t most)
{
    *p = (struct cluster_pool){.n = n, .most = most};
    for (uint32_t i = 0; i < most; i++)
        if ((p->part[i] = malloc(((size_t)n + 1) * sizeof *p->part[i])) == NULL) {
            hark_cluster_pool_free(p);
            return -ENOMEM;
        }
    return 0;
}

void hark_cluster_pool_free(struct cluster_pool *p)
{
    for (uint32_t i = 0; i < CLUSTER_POOL; i++) free(p->part[i]);
    *p = (struct cluster_pool){0};
}

static bool known(const struct cluster_pool *p, double cost)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (cost > p->cost[i] - CLUSTER_LESS && cost < p->cost[i] + CLUSTER_LESS) return true;
    return false;
}

/* Into the room of the one at `at`, and from there to where it belongs. */
static void overwrite(struct cluster_pool *p, uint32_t at, const uint32_t *part, double cost)
{
    uint32_t *room = p->part[at];
    memcpy(room, part, (size_t)p->n * sizeof *room);
    for (; at > 0 && p->cost[at - 1] > cost; at--) {
        p->cost[at] = p->cost[at - 1];
        p->part[at] = p->part[at - 1];
    }
    p->cost[at] = cost;
    p->part[at] = room;
}

void hark_cluster_pool_put(struct cluster_pool *p, const uint32_t *part, double cost)
{
    if (known(p, cost)) return;
    if (p->count < p->most) overwrite(p, p->count++, part, cost);
    else if (cost < p->cost[p->count - 1]) overwrite(p, p->count - 1, part, cost);
}

void hark_cluster_pool_replace(
    struct cluster_pool *p, uint32_t dearer, const uint32_t *part, double cost)
{
    if (cost < p->cost[dearer] && !known(p, cost)) overwrite(p, dearer, part, cost);
}

static bool together(const struct cluster_pool *p, unsigned set, uint32_t v, uint32_t u)
{
    for (uint32_t i = 0; i < p->count; i++)
        if ((set >> i & 1) && p->part[i][v] != p->part[i][u]) return false;
    return true;
}

int hark_cluster_pool_pieces(const struct cluster_pool *p, unsigned set,
    const struct cluster_graph *g, uint32_t *map, uint32_t *pieces)
{
    uint32_t *stack = malloc(((size_t)g->n + 1) * sizeof *stack), top = 0;
    if (stack == NULL) return -ENOMEM;
    memset(map, 0xff, (size_t)g->n * sizeof *map);
    *pieces = 0;
    for (uint32_t first = 0; first < g->n; first++) {
        if (map[first] != NO_PIECE) continue;
        map[first] = *pieces;
        stack[top++] = first;
        while (top > 0) {
            uint32_t v = stack[--top];
            for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
                uint32_t u = g->column[k];
                if (map[u] != NO_PIECE || !together(p, set, v, u)) continue;
                map[u] = *pieces;
                stack[top++] = u;
            }
        }
        ++*pieces;
    }
    free(stack);
    return 0;
}
