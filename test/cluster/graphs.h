/* graphs.h: matrices for the tests of clusters. */
#ifndef HARK_TEST_GRAPHS_H
#define HARK_TEST_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/cluster.h"

/* Of a function of row and column; rows of any number of entries. */
static inline struct hark_matrix matrix_of(
    uint32_t ranks, uint64_t (*value)(uint32_t from, uint32_t to, void *self), void *self)
{
    struct hark_matrix m = {ranks, 0, malloc(((size_t)ranks + 1) * sizeof *m.first),
        malloc((size_t)ranks * ranks * sizeof *m.column),
        malloc((size_t)ranks * ranks * sizeof *m.value), 0};
    assert_true(m.first && m.column && m.value);
    for (uint32_t v = 0; v < ranks; v++) {
        m.first[v] = m.entries;
        for (uint32_t u = 0; u < ranks; u++) {
            uint64_t x = value(v, u, self);
            if (x == 0) continue;
            m.column[m.entries] = u;
            m.value[m.entries++] = x;
        }
    }
    m.first[ranks] = m.entries;
    return m;
}

static inline uint64_t draw(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline struct hark_matrix read_pattern(const char *name)
{
    struct hark_matrix m;
    char path[512], error[HARK_MATRIX_ERROR];
    snprintf(path, sizeof path, "%s/%s.mtx.gz", HARK_TEST_PATTERNS, name);
    if (hark_matrix_read(&m, path, 0, error) < 0) fail_msg("%s", error);
    return m;
}

static inline struct hark_partition find(
    const struct hark_matrix *m, const struct hark_partition_options *o)
{
    struct hark_partition p;
    char error[HARK_PARTITION_ERROR];
    if (hark_partition(&p, m, o, error) < 0) fail_msg("%s", error);
    return p;
}

/* Every rank once, clusters without gaps, in bounds; figures and cost as one finds them without the
 * library. */
static inline void partition_ok(const struct hark_partition *p, const struct hark_matrix *m,
    const struct hark_partition_options *o)
{
    uint64_t bytes = 0, logged = 0, squares = 0;
    uint32_t *size = calloc((size_t)m->ranks + 1, sizeof *size), next = 0;
    assert_non_null(size);
    assert_int_equal(p->ranks, m->ranks);
    assert_in_range(p->clusters, 1, m->ranks);
    for (uint32_t v = 0; v < m->ranks; v++) {
        assert_in_range(p->of[v], 0, p->clusters - 1);
        if (size[p->of[v]]++ == 0 && !o->cost.ordered) assert_int_equal(p->of[v], next++);
        if (o->node)
            for (uint32_t u = 0; u < v; u++)
                if (o->node[u] == o->node[v]) assert_int_equal(p->of[u], p->of[v]);
        for (uint64_t k = m->first[v]; k < m->first[v + 1]; k++) {
            if (m->column[k] == v) continue;
            bytes += m->value[k];
            uint32_t a = p->of[v], b = p->of[m->column[k]];
            if (o->cost.ordered ? b > a : a != b) logged += m->value[k];
        }
    }
    for (uint32_t c = 0; c < p->clusters; c++) {
        assert_true(size[c] >= (o->least ? o->least : 1));
        assert_true(o->most == 0 || size[c] <= o->most);
        squares += (uint64_t)size[c] * size[c];
    }
    free(size);
    assert_int_equal(p->figures.bytes, bytes);
    assert_int_equal(p->figures.logged, logged);
    assert_int_equal(p->figures.squares, squares);
    double n = m->ranks,
           back = (double)squares / (n * n) * (o->cost.ordered ? (p->clusters + 1.0) / 2 : 1);
    double cost =
        o->cost.alpha * (bytes ? (double)logged / (double)bytes : 0) + o->cost.beta * back;
    if (!o->cost.function) assert_true(p->cost > cost - 1e-12 && p->cost < cost + 1e-12);
}

#endif
