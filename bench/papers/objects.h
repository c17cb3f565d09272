/* objects.h: the objects of the experiments in Meneses, Kale, Bronevetsky (Cluster 2011), section
 * V: their loads over time, and what they send each other. Shared by the program that writes them
 * as files and the tests. */
#ifndef HARK_BENCH_OBJECTS_H
#define HARK_BENCH_OBJECTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct objects {
    uint32_t count, columns, edges;
    uint64_t *load; /* load[object * columns + column] */
    struct {
        uint32_t from, to;
        uint64_t bytes;
    } * edge;
};

static void objects_free(struct objects *o)
{
    free(o->load);
    free(o->edge);
    memset(o, 0, sizeof *o);
}

static bool objects_make(struct objects *o, uint32_t count, uint32_t columns, uint32_t edges)
{
    memset(o, 0, sizeof *o);
    o->count = count;
    o->columns = columns;
    o->load = calloc((size_t)count * columns, sizeof *o->load);
    o->edge = calloc(edges, sizeof *o->edge);
    if (o->load && o->edge) return true;
    objects_free(o);
    return false;
}

static void objects_edge(struct objects *o, uint32_t from, uint32_t to, uint64_t bytes)
{
    o->edge[o->edges].from = from;
    o->edge[o->edges].to = to;
    o->edge[o->edges++].bytes = bytes;
}

/* ---- BT-MZ: the zones of the NAS benchmark's multi-zone version, class C: 16 x 16 zones of a mesh
 * of 480 x 320 x 28 points, each as much wider than the one before that the last is 4.5 times as
 * wide as the first, in x and in y: so the largest has 20 times the points of the smallest. Ends
 * are rounded as there (0.45). Faces go both ways, around: 5 doubles for each inner point. */

enum { ZONES = 16, MESH_X = 480, MESH_Y = 320, MESH_Z = 28 };

static void zone_sizes(uint32_t mesh, uint32_t size[ZONES])
{
    double ratio = pow(4.5, 1.0 / (ZONES - 1)),
           smallest = mesh * (ratio - 1) / (pow(ratio, ZONES) - 1);
    uint32_t before = 0;
    for (int i = 0; i < ZONES; i++) {
        uint32_t end = (uint32_t)(smallest * (pow(ratio, i + 1) - 1) / (ratio - 1) + 0.45);
        size[i] = end - before;
        before = end;
    }
}

static bool objects_bt_mz(struct objects *o)
{
    uint32_t x[ZONES], y[ZONES];
    zone_sizes(MESH_X, x);
    zone_sizes(MESH_Y, y);
    if (!objects_make(o, ZONES * ZONES, 1, 4 * ZONES * ZONES)) return false;
    for (uint32_t j = 0; j < ZONES; j++)
        for (uint32_t i = 0; i < ZONES; i++) {
            uint32_t id = j * ZONES + i, east = j * ZONES + (i + 1) % ZONES,
                     north = (j + 1) % ZONES * ZONES + i;
            uint64_t face_x = UINT64_C(40) * (y[j] - 2) * (MESH_Z - 2),
                     face_y = UINT64_C(40) * (x[i] - 2) * (MESH_Z - 2);
            o->load[id] = (uint64_t)x[i] * y[j] * MESH_Z;
            objects_edge(o, id, east, face_x);
            objects_edge(o, east, id, face_x);
            objects_edge(o, id, north, face_y);
            objects_edge(o, north, id, face_y);
        }
    return true;
}

/* ---- LBTest: 4,096 objects in a mesh of three dimensions, each with 6 neighbours (so it is
 * closed), 1 KB to each and as much back in an iteration. All begin with 650 us; in 50,000
 * iterations they drift, the first down to 100, the last up to 1,200, the others in between. A
 * column is 1,000 iterations, with the load in the middle of them, in ns. */

enum { SIDE = 16, LB_OBJECTS = SIDE * SIDE * SIDE, LB_COLUMNS = 50 };

static uint64_t drifted(uint32_t id, uint32_t column)
{
    int64_t end = 100000 + INT64_C(1100000) * id / (LB_OBJECTS - 1), span = 2 * LB_COLUMNS;
    return (uint64_t)(650000 + (end - 650000) * (2 * (int64_t)column + 1) / span);
}

static bool objects_lbtest(struct objects *o)
{
    if (!objects_make(o, LB_OBJECTS, LB_COLUMNS, 6 * LB_OBJECTS)) return false;
    for (uint32_t id = 0; id < LB_OBJECTS; id++) {
        uint32_t place[3] = {id % SIDE, id / SIDE % SIDE, id / SIDE / SIDE},
                 step[3] = {1, SIDE, SIDE * SIDE};
        for (uint32_t c = 0; c < LB_COLUMNS; c++)
            o->load[(size_t)id * LB_COLUMNS + c] = drifted(id, c);
        for (int d = 0; d < 3; d++) {
            uint32_t next = id - place[d] * step[d] + (place[d] + 1) % SIDE * step[d];
            objects_edge(o, id, next, 2048 * 1000); /* a message and the reply to the other's, 1,000
                                                       times */
            objects_edge(o, next, id, 2048 * 1000);
        }
    }
    return true;
}

/* ---- Table II: the topology of NPB-CG on 256 ranks, 16 rows of 16 processes that exchange with
 * four partners each, and with their transposed one; loads grow from the first object to the last.
 * Sizes of messages have nothing to do with the load, or grow with it. */

enum { CG_SIDE = 16, CG_OBJECTS = CG_SIDE * CG_SIDE };

static uint64_t cg_bytes(uint32_t id, bool correlated)
{
    uint64_t z = (id + 1) * UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return 1024 * (1 + (correlated ? id : z % CG_OBJECTS));
}

static bool objects_cg(struct objects *o, bool correlated)
{
    if (!objects_make(o, CG_OBJECTS, 1, 5 * CG_OBJECTS)) return false;
    for (uint32_t id = 0; id < CG_OBJECTS; id++) {
        uint32_t transposed = id % CG_SIDE * CG_SIDE + id / CG_SIDE;
        o->load[id] = 1000 * (id + 1);
        for (uint32_t bit = 1; bit < CG_SIDE; bit *= 2)
            objects_edge(o, id, id ^ bit, cg_bytes(id, correlated));
        if (transposed != id) objects_edge(o, id, transposed, cg_bytes(id, correlated));
    }
    return true;
}

#endif
