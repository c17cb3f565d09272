/* heap.h: vertices by keys that change: the largest key first, of the same ones the lowest vertex.
 */
#ifndef HARK_CLUSTER_HEAP_H
#define HARK_CLUSTER_HEAP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_NOWHERE UINT32_MAX

struct cluster_heap {
    uint32_t count;
    uint32_t *item, *at; /* at[v]: where v is in item, or CLUSTER_NOWHERE */
    double *key;
};

static inline void cluster_heap_free(struct cluster_heap *h)
{
    free(h->item);
    free(h->at);
    free(h->key);
    *h = (struct cluster_heap){0};
}

static inline int cluster_heap_make(struct cluster_heap *h, uint32_t n)
{
    *h = (struct cluster_heap){0, malloc(((size_t)n + 1) * sizeof *h->item),
        malloc(((size_t)n + 1) * sizeof *h->at), malloc(((size_t)n + 1) * sizeof *h->key)};
    if (h->item && h->at && h->key) {
        memset(h->at, 0xff, (size_t)n * sizeof *h->at);
        return 0;
    }
    cluster_heap_free(h);
    return -ENOMEM;
}

static inline bool cluster_heap_before(const struct cluster_heap *h, uint32_t a, uint32_t b)
{
    return h->key[a] > h->key[b] || (h->key[a] == h->key[b] && a < b);
}

static inline void cluster_heap_put(struct cluster_heap *h, uint32_t place, uint32_t v)
{
    h->item[place] = v;
    h->at[v] = place;
}

static inline void cluster_heap_up(struct cluster_heap *h, uint32_t place, uint32_t v)
{
    for (; place > 0 && cluster_heap_before(h, v, h->item[(place - 1) / 2]);
         place = (place - 1) / 2)
        cluster_heap_put(h, place, h->item[(place - 1) / 2]);
    cluster_heap_put(h, place, v);
}

static inline void cluster_heap_down(struct cluster_heap *h, uint32_t place, uint32_t v)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && cluster_heap_before(h, h->item[child + 1], h->item[child]))
            child++;
        if (!cluster_heap_before(h, h->item[child], v)) break;
        cluster_heap_put(h, place, h->item[child]);
        place = child;
    }
    cluster_heap_put(h, place, v);
}

static inline bool cluster_heap_has(const struct cluster_heap *h, uint32_t v)
{
    return h->at[v] != CLUSTER_NOWHERE;
}

/* Puts v in, or moves it to its new key. */
static inline void cluster_heap_set(struct cluster_heap *h, uint32_t v, double key)
{
    uint32_t place = h->at[v];
    h->key[v] = key;
    if (place == CLUSTER_NOWHERE) place = h->count++;
    else if (place > 0 && cluster_heap_before(h, v, h->item[(place - 1) / 2])) place = h->at[v];
    else {
        cluster_heap_down(h, place, v);
        return;
    }
    cluster_heap_up(h, place, v);
}

static inline void cluster_heap_remove(struct cluster_heap *h, uint32_t v)
{
    uint32_t place = h->at[v], last;
    if (place == CLUSTER_NOWHERE) return;
    h->at[v] = CLUSTER_NOWHERE;
    last = h->item[--h->count];
    if (last == v) return;
    if (place > 0 && cluster_heap_before(h, last, h->item[(place - 1) / 2]))
        cluster_heap_up(h, place, last);
    else cluster_heap_down(h, place, last);
}

static inline void cluster_heap_clear(struct cluster_heap *h)
{
    for (uint32_t i = 0; i < h->count; i++) h->at[h->item[i]] = CLUSTER_NOWHERE;
    h->count = 0;
}

#endif
