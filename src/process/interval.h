/* interval.h: how long a process goes on between two checkpoints. */
#ifndef HARK_PROCESS_INTERVAL_H
#define HARK_PROCESS_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS
 * 22 (2006): the time between checkpoints that loses least, when one costs `cost` (> 0) and
 * failures are `mtbf` (> 0) apart on average. Any unit of time, the answer in the same. */
double hark_daly(double cost, double mtbf);

/* Times are CLOCK_MONOTONIC, ns. All look at SETUP and at the board of the process (process.h). */
void hark_interval_begin(uint64_t now);
/* A checkpoint was committed: its cost goes into the figures, and into the next interval. */
void hark_interval_committed(uint64_t now);
/* An image is taken. If it can not be written, as while a disk is full, the next one is tried an
 * interval later: each try costs as much as a checkpoint. */
void hark_interval_tried(uint64_t now);
bool hark_interval_over(uint64_t now);

#endif
