/* loads.h: tables of whole numbers, as the balancer reads them: loads of objects, and maps.
 *
 * A line for each object: its number, or several, separated by commas, semicolons or blanks, as
 * many in each line. `#` starts a comment, empty lines do not count. Every fault is one line: file,
 * line, what was expected, what was found. */
#ifndef HARK_CLUSTER_LOADS_H
#define HARK_CLUSTER_LOADS_H

#include <stdint.h>

#include "hark/cluster.h"

struct hark_loads { /* value[row * columns + column] */
    uint32_t rows, columns;
    uint64_t *value;
};

/* Numbers from 0 to `most`; `columns`: how many are wanted in a line, 0: any number. 0, or -1 and
 * error. */
int hark_loads_read(struct hark_loads *l, const char *path, uint32_t columns, uint64_t most,
    char error[HARK_MATRIX_ERROR]);
void hark_loads_free(struct hark_loads *l);

#endif
