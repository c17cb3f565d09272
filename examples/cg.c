/* cg.c: conjugate gradients with a Jacobi preconditioner; each process has a block of rows.
 *
 *     hark run -n 8 -- ./cg [-g SIDE] [-t TOLERANCE] [-i ITERATIONS] [MATRIX.mtx]
 *     hark run -n 8 --clusters 4 --kill 3@500 --kill 6@900 -- ./cg
 *
 * Solves A x = b for a symmetric positive definite A from a Matrix Market file, or without one for
 * the Poisson equation on a grid of SIDE x SIDE points. b is such that the solution is known:
 * 1, 1.1, ... 1.9, 1, 1.1, ...
 *
 * Shows: what belongs into a checkpoint of an iterative solver (three vectors and a few numbers:
 * struct progress and the regions below) and what does not (the matrix and the lists of neighbours:
 * every process computes them again by itself, without a message). Messages before the loop are
 * sent only if it does not begin from a checkpoint. The one line of output contains a digest of
 * every bit of the solution.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "common.h"
#include "rows.h"

enum { REGION_PROGRESS = 1, REGION_X, REGION_R, REGION_P };

struct options {
    const char *path;
    uint32_t side;
    double tolerance; /* |r| / |b| at which it ends */
    int64_t most;     /* iterations; 0: ten times as many as unknowns */
};

struct progress {
    int64_t iterations;
    double rz, rr, bb; /* r.z, r.r, b.b */
};

struct solver {
    struct rows a;
    struct progress done;
    double *x, *r, *p;           /* p with room for the ghosts */
    double *q, *inverse, *exact; /* A p; of the diagonal; the known solution: not protected,
                                    computed again */
};

static void poisson(struct rows *a, uint32_t side)
{
    uint32_t n = side * side;
    rows_begin(a, n, hark_rank(), hark_size());
    uint32_t first = a->begin > side ? a->begin - side : 0, end = a->begin + a->count + side;
    for (uint32_t i = first; i < end && i < n; i++) { /* my rows, and those that have entries in my
                                                         columns */
        if (i >= side) rows_add(a, &(struct matrix_entry){i, i - side, -1.0});
        if (i % side > 0) rows_add(a, &(struct matrix_entry){i, i - 1, -1.0});
        rows_add(a, &(struct matrix_entry){i, i, 4.0});
        if (i % side + 1 < side) rows_add(a, &(struct matrix_entry){i, i + 1, -1.0});
        if (i + side < n) rows_add(a, &(struct matrix_entry){i, i + side, -1.0});
    }
    rows_end(a);
}

static void read_matrix(struct rows *a, const char *path)
{
    struct matrix_market m;
    struct matrix_entry entry;
    int status = matrix_market_open(&m, path);
    if (status < 0) refuse("cg: %s", m.error);
    if (m.rows != m.columns)
        refuse("cg: %s: expected a square matrix, found %" PRIu32 " x %" PRIu32, path, m.rows,
            m.columns);
    rows_begin(a, m.rows, hark_rank(), hark_size());
    while ((status = matrix_market_next(&m, &entry)) > 0) rows_add(a, &entry);
    if (status < 0) refuse("cg: %s", m.error);
    matrix_market_close(&m);
    rows_end(a);
}

static double known(uint32_t index)
{
    return 1.0 + (double)(index % 10) / 10.0;
}

static void make(struct solver *s)
{
    const struct rows *a = &s->a;
    size_t whole = a->count + a->ghosts;
    s->x = allocate(a->count, sizeof(double));
    s->r = allocate(a->count, sizeof(double));
    s->p = allocate(whole, sizeof(double));
    s->q = allocate(a->count, sizeof(double));
    s->inverse = allocate(a->count, sizeof(double));
    s->exact = allocate(whole, sizeof(double));
    for (uint32_t i = 0; i < a->count; i++) {
        double diagonal = 0;
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++)
            diagonal += a->column[k] == i ? a->value[k] : 0;
        if (!(diagonal > 0))
            refuse("cg: row %" PRIu32 ": expected a positive diagonal, found %g", a->begin + i + 1,
                diagonal);
        s->inverse[i] = 1.0 / diagonal;
        s->exact[i] = known(a->begin + i);
    }
    for (size_t i = 0; i < a->ghosts; i++) s->exact[a->count + i] = known(a->ghost[i]);
}

/* r.z and r.r, of all. */
static void products(const struct solver *s, double product[2])
{
    double own[2] = {0, 0};
    for (uint32_t i = 0; i < s->a.count; i++) {
        own[0] += s->r[i] * (s->inverse[i] * s->r[i]);
        own[1] += s->r[i] * s->r[i];
    }
    check(hark_allreduce(own, product, 2, HARK_DOUBLE, HARK_SUM), "hark_allreduce");
}

/* x = 0, r = b, p = z. */
static void start(struct solver *s)
{
    double product[2];
    rows_multiply(&s->a, s->exact, s->r);
    for (uint32_t i = 0; i < s->a.count; i++) s->p[i] = s->inverse[i] * s->r[i];
    products(s, product);
    s->done = (struct progress){0, product[0], product[1], product[1]};
}

static void iterate(struct solver *s)
{
    double own = 0, pq, product[2];
    uint32_t n = s->a.count;
    rows_exchange(&s->a, s->p);
    rows_multiply(&s->a, s->p, s->q);
    for (uint32_t i = 0; i < n; i++) own += s->p[i] * s->q[i];
    check(hark_allreduce(&own, &pq, 1, HARK_DOUBLE, HARK_SUM), "hark_allreduce");
    if (!(pq > 0))
        refuse("cg: expected a positive definite matrix, found p.Ap = %g after %" PRId64
               " iterations",
            pq, s->done.iterations);
    double alpha = s->done.rz / pq;
    for (uint32_t i = 0; i < n; i++) {
        s->x[i] += alpha * s->p[i];
        s->r[i] -= alpha * s->q[i];
    }
    products(s, product);
    double beta = product[0] / s->done.rz;
    for (uint32_t i = 0; i < n; i++) s->p[i] = s->inverse[i] * s->r[i] + beta * s->p[i];
    s->done.rz = product[0];
    s->done.rr = product[1];
    s->done.iterations++;
}

static double residual(const struct solver *s)
{
    return s->done.bb > 0 ? sqrt(s->done.rr / s->done.bb) : 0;
}

static void protect(struct solver *s)
{
    size_t bytes = s->a.count * sizeof(double);
    check(hark_protect(REGION_PROGRESS, &s->done, sizeof s->done), "hark_protect");
    check(hark_protect(REGION_X, s->x, bytes), "hark_protect");
    check(hark_protect(REGION_R, s->r, bytes), "hark_protect");
    check(hark_protect(REGION_P, s->p, bytes), "hark_protect");
}

static void report(const struct solver *s)
{
    uint64_t digest = 0, whole = 0;
    double error = 0, worst = 0;
    for (uint32_t i = 0; i < s->a.count; i++) {
        digest += digest_of(s->a.begin + i, s->x[i]);
        error = fmax(error, fabs(s->x[i] - s->exact[i]));
    }
    check(hark_reduce(&digest, &whole, 1, HARK_UINT64, HARK_SUM, 0), "hark_reduce");
    check(hark_reduce(&error, &worst, 1, HARK_DOUBLE, HARK_MAX, 0), "hark_reduce");
    if (hark_rank() == 0)
        printf("cg: %" PRIu32 " unknowns, %" PRId64
               " iterations, residual %.6e, error %.1e, digest %016" PRIx64 "\n",
            s->a.n, s->done.iterations, residual(s), worst, whole);
}

static struct options options_of(int argc, char **argv)
{
    struct options o = {.side = 400, .tolerance = 1e-10};
    int option;
    opterr = 0;
    while ((option = getopt(argc, argv, "g:t:i:")) != -1) {
        char *end = NULL;
        switch (option) {
        case 'g': o.side = (uint32_t)number(optarg, 1, 32768, "cg: -g"); break;
        case 'i': o.most = number(optarg, 1, INT64_MAX, "cg: -i"); break;
        case 't':
            o.tolerance = strtod(optarg, &end);
            if (end == optarg || *end || !(o.tolerance > 0 && o.tolerance < 1))
                refuse("cg: -t: expected a number between 0 and 1, found \"%s\"", optarg);
            break;
        default: refuse("usage: cg [-g SIDE] [-t TOLERANCE] [-i ITERATIONS] [MATRIX.mtx]");
        }
    }
    if (argc - optind > 1)
        refuse("usage: cg [-g SIDE] [-t TOLERANCE] [-i ITERATIONS] [MATRIX.mtx]");
    o.path = argv[optind];
    return o;
}

int main(int argc, char **argv)
{
    struct solver s = {.done = {0}};
    uint64_t from;
    check(hark_init(), "hark_init");
    struct options o = options_of(argc, argv);
    if (o.path) read_matrix(&s.a, o.path);
    else poisson(&s.a, o.side);
    if (o.most == 0) o.most = 10 * (int64_t)s.a.n;
    make(&s);
    protect(&s);
    check(hark_restarted(&from), "hark_restarted");
    if (from == 0)
        start(&s); /* it sends messages: not again if they are in the checkpoint's past */
    while (!(residual(&s) <= o.tolerance) && s.done.iterations < o.most) {
        iterate(&s);
        check(hark_checkpoint(), "hark_checkpoint");
    }
    report(&s);
    check(hark_finalize(), "hark_finalize");
    rows_free(&s.a);
    free(s.x), free(s.r), free(s.p), free(s.q), free(s.inverse), free(s.exact);
    return residual(&s) <= o.tolerance ? 0 : 1; /* not converged */
}
