/* MPI_Dims_create: the sizes of a grid for a number of processes. */
#include "topology.h"

/* A search for factors of a number that are as close to each other as can be: the difference
 * between the greatest and the least is the smallest; then the least the greatest; then the sum of
 * all the smallest; then the first ones the greatest. */
struct factors {
    const int *divisor; /* ascending */
    int divisors, count;
    int *now, *best;
    int64_t difference, sum; /* of the best; difference < 0: there is none yet */
};

static int compare(const int *a, const int *b, int count)
{
    int i = 0;
    while (i < count && a[i] == b[i]) i++;
    return i == count ? 0 : a[i] < b[i] ? -1 : 1;
}

static bool better(const struct factors *f, int64_t difference, int64_t sum)
{
    int last = f->count - 1;
    if (f->difference < 0) return true;
    if (difference != f->difference) return difference < f->difference;
    if (f->now[last] != f->best[last]) return f->now[last] > f->best[last];
    if (sum != f->sum) return sum < f->sum;
    return compare(f->now, f->best, f->count) > 0;
}

static void consider(struct factors *f)
{
    int64_t difference = f->now[0] - f->now[f->count - 1], sum = 0;
    for (int i = 0; i < f->count; i++) sum += f->now[i];
    if (!better(f, difference, sum)) return;
    f->difference = difference;
    f->sum = sum;
    memcpy(f->best, f->now, (size_t)f->count * sizeof *f->best);
}

/* d to the power of n, or a number above `limit`. */
static int64_t power(int64_t d, int n, int64_t limit)
{
    int64_t product = 1;
    while (n-- > 0 && product <= limit) product *= d;
    return product;
}

/* The factors from `place` on, none above the one before it; their product is `rest`. */
static void search(struct factors *f, int place, int rest)
{
    int left = f->count - place;
    int limit = place ? f->now[place - 1] : rest;
    if (left == 1) {
        if (rest > limit) return;
        f->now[place] = rest;
        consider(f);
        return;
    }
    for (int i = 0; i < f->divisors && f->divisor[i] <= limit; i++) {
        int d = f->divisor[i];
        if (rest % d || power(d, left, rest) < rest) continue;
        /* The last factor is at most the root of what is left: can it still be close enough? */
        if (f->difference >= 0 && f->now[0] > f->difference && place > 0 &&
            power(f->now[0] - f->difference, left, rest) > rest)
            return;
        if (place == 0 && f->difference >= 0 && d > f->difference &&
            power(d - f->difference, left, rest) > rest)
            return;
        f->now[place] = d;
        search(f, place + 1, rest / d);
    }
}

static int *divisors_of(int number, int *count)
{
    int *divisor = hark_mpi_memory(2048 * sizeof *divisor); /* no int has more than 1536 */
    *count = 0;
    for (int64_t d = 1; d * d <= number; d++)
        if (number % d == 0) divisor[(*count)++] = (int)d;
    for (int i = *count - 1; i >= 0; i--) {
        int other = number / divisor[i];
        if (other != divisor[i]) divisor[(*count)++] = other;
    }
    return divisor;
}

/* `count` factors of `number`, in descending order. */
static void balance(int number, int count, int *factor)
{
    struct factors f = {.count = count, .best = factor, .difference = -1};
    /* A number has at most 30 factors above 1. */
    int open = count < 31 ? count : 31;
    for (int i = open; i < count; i++) factor[i] = 1;
    f.count = open;
    int *divisor = divisors_of(number, &f.divisors);
    f.divisor = divisor;
    f.now = hark_mpi_memory((size_t)open * sizeof *f.now);
    search(&f, 0, number);
    free(f.now);
    free(divisor);
}

PUBLIC(Dims_create)
int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    NEED(NULL, nnodes > 0, MPI_ERR_ARG, "nnodes is %d, and must be at least 1", nnodes);
    NEED(NULL, ndims >= 0, MPI_ERR_DIMS, "ndims is %d, and must not be negative", ndims);
    NEED(NULL, dims || ndims == 0, MPI_ERR_ARG, "dims is NULL");
    int rest = nnodes, open = 0;
    for (int i = 0; i < ndims; i++) {
        NEED(NULL, dims[i] >= 0, MPI_ERR_DIMS, "dims[%d] is %d, and must not be negative", i,
            dims[i]);
        open += dims[i] == 0;
        NEED(NULL, dims[i] == 0 || rest % dims[i] == 0, MPI_ERR_DIMS,
            "%d processes can not be placed so that dims[%d] is %d", nnodes, i, dims[i]);
        if (dims[i]) rest /= dims[i];
    }
    NEED(NULL, open || rest == 1 || ndims == 0, MPI_ERR_DIMS,
        "the dimensions that are given do not make %d", nnodes);
    if (open == 0) return MPI_SUCCESS;
    int *factor = hark_mpi_memory((size_t)open * sizeof *factor);
    balance(rest, open, factor);
    for (int i = 0, n = 0; i < ndims; i++)
        if (dims[i] == 0) dims[i] = factor[n++];
    free(factor);
    return MPI_SUCCESS;
}
