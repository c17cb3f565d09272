/* heat2d.c: heat on a square plate by explicit steps; the plate is cut into a grid of blocks, one
 * for each process.
 *
 *     hark run -n 4 -- ./heat2d [SIDE [STEPS]]
 *     hark run -n 8 --clusters 4 --kill 3@500 --kill 6@900 -- ./heat2d
 *
 * Shows: a halo exchange with non-blocking calls, a checkpoint call each step, and what belongs
 * into it: the number of the step and the field, nothing else. Everything else is computed from
 * rank and arguments. The one line of output contains a digest of every bit of the field. It is the
 * same on any number of processes, with and without failures.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "common.h"

enum { NORTH, SOUTH, WEST, EAST, SIDES };
enum { REGION_PROGRESS = 1, REGION_FIELD = 2 };

struct progress {
    int64_t step;  /* done */
    double change; /* the largest one of the last step in this block */
};

struct heat {
    int64_t side, steps;
    int64_t row, column;         /* the block's first cell in the plate */
    size_t rows, columns, width; /* of the block; of a row in memory, two ghosts included */
    int neighbour[SIDES];        /* rank, or -1 */
    struct progress done;
    double *now, *next; /* (rows + 2) x width; each step swaps them */
    double *out[SIDES], *in[SIDES];
};

/* Heights of the grid of processes: the divisor of n that is nearest to its square root from below.
 */
static int grid_height(int n)
{
    int height = 1;
    for (int i = 1; i * i <= n; i++)
        if (n % i == 0) height = i;
    return height;
}

static double initial(const struct heat *h, int64_t row, int64_t column)
{
    double x = (double)column / (double)h->side - 0.3, y = (double)row / (double)h->side - 0.4;
    if (row < 0) return 100.0; /* the northern edge is kept hot, the others cold */
    if (row >= h->side || column < 0 || column >= h->side) return 0.0;
    return x * x + y * y < 0.04 ? 60.0 : 10.0;
}

static void cut(struct heat *h)
{
    int n = hark_size(), height = grid_height(n), width = n / height, y = hark_rank() / width,
        x = hark_rank() % width;
    if (h->side < width)
        refuse("heat2d: expected a side of at least %d cells for %d processes", width, n);
    h->row = h->side * y / height;
    h->column = h->side * x / width;
    h->rows = (size_t)(h->side * (y + 1) / height - h->row);
    h->columns = (size_t)(h->side * (x + 1) / width - h->column);
    h->width = h->columns + 2;
    h->neighbour[NORTH] = y > 0 ? hark_rank() - width : -1;
    h->neighbour[SOUTH] = y + 1 < height ? hark_rank() + width : -1;
    h->neighbour[WEST] = x > 0 ? hark_rank() - 1 : -1;
    h->neighbour[EAST] = x + 1 < width ? hark_rank() + 1 : -1;
}

static void fill(struct heat *h)
{
    h->now = allocate((h->rows + 2) * h->width, sizeof *h->now);
    h->next = allocate((h->rows + 2) * h->width, sizeof *h->next);
    for (size_t i = 0; i < h->rows + 2; i++)
        for (size_t k = 0; k < h->width; k++)
            h->now[i * h->width + k] = h->next[i * h->width + k] =
                initial(h, h->row + (int64_t)i - 1, h->column + (int64_t)k - 1);
    for (int side = 0; side < SIDES; side++) {
        size_t length = side < WEST ? h->columns : h->rows;
        h->out[side] = allocate(length, sizeof(double));
        h->in[side] = allocate(length, sizeof(double));
    }
}

/* Cell i of an edge of the block; ghost: of the line beyond it. */
static double *edge(const struct heat *h, int side, size_t i, bool ghost)
{
    size_t near = ghost ? 0 : 1;
    switch (side) {
    case NORTH: return h->now + near * h->width + i + 1;
    case SOUTH: return h->now + (h->rows + 1 - near) * h->width + i + 1;
    case WEST: return h->now + (i + 1) * h->width + near;
    default: return h->now + (i + 1) * h->width + h->columns + 1 - near;
    }
}

/* A message's tag is the side it comes from, as its receiver sees it. */
static void exchange(struct heat *h)
{
    static const int opposite[SIDES] = {SOUTH, NORTH, EAST, WEST};
    struct hark_request *request[2 * SIDES] = {NULL};
    for (int side = 0; side < SIDES; side++) {
        size_t length = (side < WEST ? h->columns : h->rows) * sizeof(double);
        if (h->neighbour[side] < 0) continue;
        check(hark_irecv(h->in[side], length, h->neighbour[side], side, &request[side]),
            "hark_irecv");
    }
    for (int side = 0; side < SIDES; side++) {
        size_t length = side < WEST ? h->columns : h->rows;
        if (h->neighbour[side] < 0) continue;
        for (size_t i = 0; i < length; i++) h->out[side][i] = *edge(h, side, i, false);
        check(hark_isend(h->out[side], length * sizeof(double), h->neighbour[side], opposite[side],
                  &request[SIDES + side]),
            "hark_isend");
    }
    for (int side = 0; side < SIDES; side++) {
        check(hark_wait(&request[side], NULL), "hark_wait");
        check(hark_wait(&request[SIDES + side], NULL), "hark_wait");
        for (size_t i = 0; h->neighbour[side] >= 0 && i < (side < WEST ? h->columns : h->rows); i++)
            *edge(h, side, i, true) = h->in[side][i];
    }
}

static void step(struct heat *h)
{
    size_t w = h->width;
    double *swap = h->now;
    h->done.change = 0;
    for (size_t i = 1; i <= h->rows; i++) {
        const double *u = h->now + i * w, *above = u - w, *below = u + w;
        double *v = h->next + i * w;
        for (size_t k = 1; k <= h->columns; k++) {
            v[k] = u[k] + 0.2 * (u[k - 1] + u[k + 1] + above[k] + below[k] - 4.0 * u[k]);
            h->done.change = fmax(h->done.change, fabs(v[k] - u[k]));
        }
    }
    h->now = h->next;
    h->next = swap;
    h->done.step++;
}

static void protect(struct heat *h)
{
    check(hark_protect(REGION_PROGRESS, &h->done, sizeof h->done), "hark_protect");
    check(hark_protect(REGION_FIELD, h->now, (h->rows + 2) * h->width * sizeof(double)),
        "hark_protect");
}

static void report(const struct heat *h)
{
    uint64_t digest = 0, whole = 0;
    double change = 0;
    for (size_t i = 0; i < h->rows; i++)
        for (size_t k = 0; k < h->columns; k++)
            digest += digest_of(
                (uint64_t)(h->row + (int64_t)i) * (uint64_t)h->side + (uint64_t)h->column + k,
                h->now[(i + 1) * h->width + k + 1]);
    check(hark_reduce(&digest, &whole, 1, HARK_UINT64, HARK_SUM, 0), "hark_reduce");
    check(hark_reduce(&h->done.change, &change, 1, HARK_DOUBLE, HARK_MAX, 0), "hark_reduce");
    if (hark_rank() == 0)
        printf("heat2d: %" PRId64 " x %" PRId64 " cells, %" PRId64
               " steps, residual %.6e, digest %016" PRIx64 "\n",
            h->side, h->side, h->done.step, change, whole);
}

int main(int argc, char **argv)
{
    struct heat h = {.side = 512, .steps = 500};
    uint64_t from;
    check(hark_init(), "hark_init");
    if (argc > 3) refuse("usage: heat2d [SIDE [STEPS]]");
    if (argc > 1) h.side = number(argv[1], 1, 32768, "heat2d: SIDE");
    if (argc > 2) h.steps = number(argv[2], 0, INT32_MAX, "heat2d: STEPS");
    cut(&h);
    fill(&h);
    protect(&h);
    check(hark_restarted(&from), "hark_restarted");
    while (h.done.step < h.steps) {
        exchange(&h);
        step(&h);
        protect(&h); /* the field is in the other array now */
        check(hark_checkpoint(), "hark_checkpoint");
    }
    report(&h);
    check(hark_finalize(), "hark_finalize");
    free(h.now);
    free(h.next);
    for (int side = 0; side < SIDES; side++) free(h.out[side]), free(h.in[side]);
    return 0;
}
