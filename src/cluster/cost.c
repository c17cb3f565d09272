/* cost.c: what clusters cost: equations 1 to 3 of the paper, and Daly's interval. */
#include <math.h>

#include "hark/cluster.h"

double hark_cluster_logged(const struct hark_cluster_figures *f)
{
    return f->bytes ? (double)f->logged / (double)f->bytes : 0;
}

double hark_cluster_rolled_back(const struct hark_cluster_figures *f, bool ordered)
{
    double share = f->ranks ? (double)f->squares / ((double)f->ranks * (double)f->ranks) : 0;
    return ordered ? ((double)f->clusters + 1) / 2 * share : share;
}

double hark_cluster_cost(const struct hark_cluster_cost *c, const struct hark_cluster_figures *f)
{
    if (c->function) return c->function(c->self, f);
    return c->alpha * hark_cluster_logged(f) + c->beta * hark_cluster_rolled_back(f, c->ordered);
}

void hark_cluster_daly(
    double mtbf, double checkpoint, double restart, double *interval, double *beta)
{
    *interval = sqrt(2 * checkpoint * (mtbf + restart));
    *beta = (*interval / 2 + restart) / mtbf;
}
