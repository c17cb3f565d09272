/* pattern.c: the list of generators, and what all of them can be asked. */
#include "pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cluster/source.h"
#include "../short_source.h"
#include "hark/hark.h"

static const struct sim_maker makers[] = {
    {"stencil2d", SIM_BYTES,
        "a grid of px x py processes, each exchanges with its 4 neighbours; no neighbour beyond "
        "the edge",
        sim_grid_make2, sim_stencil2, NULL},
    {"stencil3d", SIM_BYTES,
        "a grid of px x py x pz processes, each exchanges with its 6 neighbours; none beyond the "
        "edge",
        sim_grid_make3, sim_stencil3, NULL},
    {"ring", SIM_BYTES, "each sends to the next, the last to the first", sim_any_make, sim_ring,
        NULL},
    {"alltoall", SIM_BYTES, "each sends to each other", sim_any_make, sim_alltoall, NULL},
    {"random", SIM_BYTES | SIM_DEGREE,
        "each sends to --degree others, by permutations made anew in each iteration (--seed)",
        sim_any_make, sim_random, NULL},
    {"leanmd", SIM_CELLS | SIM_ATOMS | SIM_AWAY | SIM_BRANCHES,
        "3-D cells, --cells on a side: each multicasts its --atoms to the computes of its pairs "
        "(--away), which are "
        "reduced back",
        sim_leanmd_make, sim_leanmd, sim_leanmd_group},
    {"openatom", SIM_BYTES | SIM_CELLS | SIM_BRANCHES,
        "groups of --cells processes: a third multicast, a third reduction, a third to the next "
        "group",
        sim_openatom_make, sim_openatom, sim_openatom_group},
    {"nas-cg", SIM_BYTES,
        "NPB CG, an inner iteration: sums along the rows of a grid by halving, the transposition, "
        "two scalar sums",
        sim_two_make, sim_nas_cg, NULL},
    {"nas-bt", SIM_BYTES,
        "NPB BT, a time step: faces of 6 neighbours, then sweeps to and fro in 3 directions of the "
        "multipartition",
        sim_square_make, sim_nas_bt, NULL},
    {"nas-lu", SIM_BYTES | SIM_PLANES,
        "NPB LU, a time step: a wavefront of --planes planes from one corner, one back, the faces",
        sim_two_make, sim_nas_lu, NULL},
    {"nas-mg", SIM_BYTES,
        "NPB MG, a V-cycle: faces of 6 neighbours on each of 6 levels, then of ever fewer "
        "processes, farther apart",
        sim_two3_make, sim_nas_mg, NULL},
    {"nas-ft", SIM_BYTES, "NPB FT, an iteration: each sends to each other", sim_two_make,
        sim_alltoall, NULL},
    {"nas-sp", SIM_BYTES, "NPB SP, a time step: as nas-bt", sim_square_make, sim_nas_bt, NULL},
};
static const struct sim_maker matrix = {
    "matrix", SIM_MESSAGES, "", sim_matrix_make, sim_matrix_op, NULL};
static const struct sim_maker trace = {"trace", 0, "", sim_trace_make, sim_trace_op, NULL};

void sim_pattern_list(FILE *out)
{
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        fprintf(out, "  %-10s %s\n", makers[i].name, makers[i].formula);
}

static bool is_file(const char *name)
{
    size_t n = strlen(name);
    return (n > 4 && strcmp(name + n - 4, ".mtx") == 0) ||
           (n > 7 && strcmp(name + n - 7, ".mtx.gz") == 0);
}

static const char *const options[] = {
    "bytes", "degree", "cells", "atoms", "away", "branches", "planes", "messages"}; /* by enum
                                                                                       sim_taken */

uint32_t sim_pattern_option(const char *name)
{
    for (uint32_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(name, options[i]) == 0) return UINT32_C(1) << i;
    return 0;
}

/* What it has no use for is not to be asked of it. */
static int check_given(
    const struct sim_maker *maker, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    const uint32_t idle = o->given & ~maker->takes;
    for (uint32_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if ((idle >> i & 1) == 0) continue;
        snprintf(error, SIM_ERROR, "--%s: pattern %s has no use for it", options[i], o->name);
        return -1;
    }
    return 0;
}

static int unknown(const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    snprintf(error, SIM_ERROR,
        "--pattern: expected a file *.mtx or *.mtx.gz, a trace of hark run, or the name of a "
        "pattern (hark help sim), "
        "found \"%s\"",
        o->name);
    return -1;
}

static int make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    int status = p->maker->make(p, o, error);
    if (status < 0) sim_pattern_close(p);
    return status;
}

/* A matrix or a trace, which may come through a pipe. */
static int make_of_file(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    struct cluster_source source;
    struct sim_pattern_options from = *o; /* what is said of it, and to be read */
    char shown[HARK_SHORT_PATH];
    from.name = hark_short_path(o->name, shown);
    if (hark_cluster_source_open(&source, o->name) < 0) {
        if (errno == ENOENT && !is_file(o->name)) return unknown(&from, error);
        snprintf(error, SIM_ERROR, "%s: %s", from.name, strerror(errno));
        return -1;
    }
    hark_short_source(&source, shown);
    if (is_file(o->name) || hark_cluster_source_is_matrix(&source)) p->maker = &matrix;
    else if (sim_trace_is(source.path)) p->maker = &trace;
    from.path = source.path;
    int status = p->maker ? check_given(p->maker, &from, error) : unknown(&from, error);
    if (status == 0) status = make(p, &from, error);
    hark_cluster_source_rename(&source, error, SIM_ERROR);
    hark_cluster_source_close(&source);
    return status;
}

int sim_pattern_open(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    *p = (struct sim_pattern){.ranks = o->ranks,
        .bytes = o->bytes,
        .seed = o->seed,
        .degree = o->degree,
        .branches = o->branches,
        .away = {o->away[0], o->away[1], o->away[2]}};
    *error = 0;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strcmp(o->name, makers[i].name) == 0) p->maker = &makers[i];
    if (p->maker == NULL) return make_of_file(p, o, error);
    if (check_given(p->maker, o, error) < 0) return -1;
    if (p->ranks > 0) return make(p, o, error);
    snprintf(error, SIM_ERROR, "%s: expected --ranks with it", o->name);
    return -1;
}

void sim_pattern_close(struct sim_pattern *p)
{
    hark_matrix_free(&p->sends);
    hark_matrix_free(&p->counts);
    hark_matrix_free(&p->receives);
    hark_matrix_free(&p->receipts);
    free(p->first);
    free(p->recorded);
    free(p->member);
    free(p->in_slot);
    free(p->slots);
    p->first = p->member = NULL;
    p->recorded = NULL;
    p->in_slot = NULL;
    p->slots = NULL;
}

/* ---- as a matrix ----------------------------------------------------------------------------- */

struct cell {
    uint32_t column, pad;
    uint64_t value;
};

static int by_column(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* One row, sorted and added up, in *row; how many, or -1 without memory. */
static int64_t row_of(
    const struct sim_pattern *p, uint32_t rank, bool messages, struct cell **row, uint64_t *room)
{
    uint64_t n = 0, kept = 0;
    struct sim_op op;
    for (uint64_t place = sim_pattern_op(p, rank, 0, 0, &op); op.kind != SIM_END;
         place = sim_pattern_op(p, rank, 0, place, &op)) {
        if (op.kind != SIM_SEND) continue;
        if (n == *room) {
            uint64_t more = *room ? *room * 2 : 256;
            struct cell *r = realloc(*row, more * sizeof *r);
            if (r == NULL) return -1;
            *row = r;
            *room = more;
        }
        (*row)[n++] = (struct cell){op.peer, 0, messages ? 1 : op.length};
    }
    if (n) qsort(*row, n, sizeof **row, by_column);
    for (uint64_t i = 0; i < n; i++) {
        if (kept && (*row)[kept - 1].column == (*row)[i].column)
            (*row)[kept - 1].value += (*row)[i].value;
        else (*row)[kept++] = (*row)[i];
    }
    return (int64_t)kept;
}

int sim_pattern_write(const struct sim_pattern *p, bool messages, FILE *out)
{
    struct cell *row = NULL;
    uint64_t room = 0, entries = 0;
    int status = 0;
    for (int pass = 0; pass < 2 && status == 0; pass++) {
        if (pass)
            fprintf(out,
                "%%%%MatrixMarket matrix coordinate integer general\n%% %s of an iteration of "
                "%s\n%" PRIu32 " %" PRIu32 " %" PRIu64 "\n",
                messages ? "messages" : "bytes", p->maker->name, p->ranks, p->ranks, entries);
        for (uint32_t rank = 0; rank < p->ranks && status == 0; rank++) {
            int64_t n = row_of(p, rank, messages, &row, &room);
            if (n < 0) {
                errno = ENOMEM;
                status = -1;
            }
            if (n > 0) entries += (uint64_t)n * (pass == 0);
            for (int64_t i = 0; pass && i < n; i++)
                fprintf(out, "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", rank + 1, row[i].column + 1,
                    row[i].value);
        }
    }
    free(row);
    return status < 0 || ferror(out) ? -1 : 0;
}

int sim_pattern_json(const struct sim_pattern *p, FILE *out)
{
    struct cell *row = NULL;
    uint64_t room = 0;
    int64_t n = 0;
    const char *before = "";
    fputc('[', out);
    for (uint32_t rank = 0; rank < p->ranks && n >= 0; rank++) {
        n = row_of(p, rank, false, &row, &room);
        for (int64_t i = 0; i < n; i++, before = ", ")
            fprintf(out, "%s[%" PRIu32 ", %" PRIu32 ", %" PRIu64 "]", before, rank, row[i].column,
                row[i].value);
    }
    fputc(']', out);
    free(row);
    return n < 0 ? -1 : 0;
}
