/* Any bytes as a matrix for hark partition: refused in one line; or every rank has one cluster, as
 * many as it says, and figures and cost are those that the matrix gives. The first bytes choose
 * how. */
#include "hark/cluster.h"
#include "file.h"

static void check(const struct hark_partition *p, const struct hark_matrix *m,
    const struct hark_partition_options *o)
{
    uint32_t size[64] = {0};
    struct hark_partition again = *p;
    if (p->ranks != m->ranks || p->clusters < 1 || p->clusters > m->ranks)
        finding("clusters of other ranks");
    for (uint32_t v = 0; v < m->ranks; v++) {
        if (p->of[v] >= p->clusters) finding("a cluster that there is not");
        size[p->of[v]]++;
    }
    for (uint32_t c = 0; c < p->clusters; c++)
        if (size[c] == 0 || size[c] < o->least || (o->most && size[c] > o->most))
            finding("a cluster of %u ranks", size[c]);
    if (hark_partition_measure(&again, m, &o->cost) < 0) finding("no figures");
    if (again.cost < p->cost || again.cost > p->cost) finding("a cost of something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_partition_options o;
    struct hark_partition p;
    struct hark_matrix m;
    char error[HARK_MATRIX_ERROR];
    hark_partition_defaults(&o);
    if (size >= 2) {
        o.effort = data[0] % 8 == 0 ? HARK_PARTITION_BEST
                   : data[0] % 2    ? HARK_PARTITION_FAST
                                    : HARK_PARTITION_PAPER;
        o.cost.ordered = data[0] & 16;
        o.least = data[1] % 8;
        o.most = data[1] / 8 % 16;
        data += 2, size -= 2;
    }
    (void)file_set(data, size);
    if (hark_matrix_read(&m, file_path, 64, error) < 0) {
        file_error_ok(error, sizeof error, file_path);
        return 0;
    }
    if (hark_partition(&p, &m, &o, error) == 0) {
        check(&p, &m, &o);
        hark_partition_free(&p);
    } else {
        file_error_ok(error, HARK_PARTITION_ERROR, "");
    }
    hark_matrix_free(&m);
    return 0;
}
