#include "interval.h"

#include <math.h>
#include <string.h>

#include "process.h"

#define P    hark_process
#define LAST 5 /* costs of so many count */

static struct {
    uint64_t since, ns; /* ns: the present interval; 0: none */
    uint64_t tried;     /* when an image was taken last, whatever came of it; 0: never */
    uint64_t cost[LAST];
    unsigned costs;
} at;

double hark_daly(double cost, double mtbf)
{
    double x = cost / (2 * mtbf);
    return cost < 2 * mtbf ? sqrt(2 * cost * mtbf) * (1 + sqrt(x) / 3 + x / 9) - cost : mtbf;
}

static uint64_t figure(const _Atomic uint64_t *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}

static void use(uint64_t ns)
{
    at.ns = ns;
    atomic_store_explicit(&P.slot->interval_ns, ns, memory_order_relaxed);
}

void hark_interval_begin(uint64_t now)
{
    uint64_t before = figure(&P.slot->interval_ns); /* of the earlier incarnation, which may have
                                                       known a cost */
    at.since = now;
    at.tried = 0;
    at.costs = 0;
    use(P.setup.mtbf_ms && before ? before : P.setup.interval_ms * 1000000u);
}

/* Of two in the middle the dearer one. */
static uint64_t median(void)
{
    uint64_t sorted[LAST];
    unsigned n = at.costs < LAST ? at.costs : LAST;
    for (unsigned i = 0; i < n; i++) {
        unsigned k = i;
        for (; k > 0 && sorted[k - 1] > at.cost[i]; k--) sorted[k] = sorted[k - 1];
        sorted[k] = at.cost[i];
    }
    return sorted[n / 2];
}

/* A wave is as slow as its slowest member: the cost is that of the process where it is highest. An
 * image that is written behind the program costs only the time of its copy. */
void hark_interval_committed(uint64_t now)
{
    uint64_t most = 0;
    at.since = now;
    at.cost[at.costs++ % LAST] = figure(&P.slot->capture_ns);
    atomic_store_explicit(&P.slot->cost_ns, median(), memory_order_relaxed);
    if (P.setup.mtbf_ms == 0) return;
    for (uint32_t r = 0; r < P.setup.ranks; r++)
        if (figure(&P.board->slot[r].cost_ns) > most) most = figure(&P.board->slot[r].cost_ns);
    if (most) use((uint64_t)hark_daly((double)most, (double)P.setup.mtbf_ms * 1e6));
}

void hark_interval_tried(uint64_t now)
{
    at.tried = now;
}

bool hark_interval_over(uint64_t now)
{
    if (P.setup.mtbf_ms == 0 && P.setup.interval_ms == 1) return true;
    return at.ns && now - at.since >= at.ns && now - at.tried >= at.ns;
}
