/* clusters.h: which process belongs to which cluster. */
#ifndef HARK_CONTROL_CLUSTERS_H
#define HARK_CONTROL_CLUSTERS_H

#include <stdint.h>

#include "hark/hark.h"

struct hark_clusters {
    uint32_t ranks, count;
    uint32_t *of; /* cluster of each rank, 0 .. count-1, numbered by lowest rank */
};

/* Parses the text of a cluster file: a line (or a part before ';') for each cluster, ranks and
 * ranges
 * (`0-3 8 12-15`), '#' starts a comment; every rank below `ranks` exactly once. 0, or -1 and one
 * line in error that names the line of `name` and what was expected. */
int hark_clusters_parse(
    struct hark_clusters *c, uint32_t ranks, const char *text, const char *name, char error[256]);
/* Contiguous blocks of as equal size as can be; 1 <= count <= ranks. 0, or -1 without memory or out
 * of range. */
int hark_clusters_blocks(struct hark_clusters *c, uint32_t ranks, uint32_t count);
/* The same as text, clusters separated by ';': to be freed. */
char *hark_clusters_text(const struct hark_clusters *c);
/* The members of the cluster of `rank`, as ranges: an array to be freed, its length in *count; NULL
 * without memory. */
struct hark_range *hark_clusters_group(
    const struct hark_clusters *c, uint32_t rank, uint32_t *count);
void hark_clusters_free(struct hark_clusters *c);

#endif
