/* partition.h: the subcommand `hark partition`. */
#ifndef HARK_CLI_PARTITION_H
#define HARK_CLI_PARTITION_H

#include <stdio.h>

#include "hark/cluster.h"

/* hark partition MATRIX [OPTION]...: finds clusters. Returns the exit status: 0; 2 bad usage or
 * input. */
int hark_cli_partition(int argc, char **argv);
void hark_cli_partition_help(void);

/* ---- its parts */

struct partition_sweep {
    uint32_t clusters;
    double logged, rolled_back, cost;
};

struct partition_report {
    const char *matrix;
    int32_t exponent; /* of its values */
    const struct hark_partition *p;
    const struct hark_partition_options *o;
    double interval, beta; /* minutes; 0: not asked for */
    double ms;
    const struct partition_sweep *sweep;
    uint32_t sweeps;
};

enum { PARTITION_ERROR = 512 };

/* A matrix file, or the trace of a run: bytes by channel. 0, or -1 and one line in error. */
int partition_read(const char *path, struct hark_matrix *m, char error[PARTITION_ERROR]);
/* A file of ranks and ranges, a line for each `what` (cluster, node): of[rank], to be freed. */
uint32_t *partition_read_groups(
    const char *path, const char *what, uint32_t ranks, char error[PARTITION_ERROR]);
void partition_write_clusters(const struct hark_partition *p, FILE *f);
void partition_write_json(const struct partition_report *r, FILE *f);
void partition_write_sweep(const struct partition_report *r, FILE *f);
void partition_write_plot(const struct partition_report *r, FILE *f);
/* The matrix with the ranks of a cluster side by side, and the clusters outlined. 0, or -1 without
 * memory. */
int partition_write_svg(const struct hark_partition *p, const struct hark_matrix *m, bool ordered,
    const char *name, FILE *f);

#endif
