/* segment.h: named pieces of shared memory, and what they are called.
 *
 *     /dev/shm/hark-JOB.RANK.INC                the bell of an incarnation
 *     /dev/shm/hark-JOB.RANK.INC.RANK.INC       the ring from the first to the second
 *     /dev/shm/hark-JOB.RANK.INC.L.NUMBER       memory of it that others read, see lent.h
 *
 * The recovery process has R for its rank. A job's name has no dot in it, so no job's names begin
 * with another's. A segment gets its name only when it is complete: who dies while making one
 * leaves nothing.
 */
#ifndef HARK_SHM_SEGMENT_H
#define HARK_SHM_SEGMENT_H

#include "hark/transport.h"
#include "names.h"

struct segment_name {
    char path[128];
};

struct process { /* an incarnation of a process */
    uint32_t rank, inc;
};

void segment_bell_name(struct segment_name *name, const char *job, struct process of);
void segment_lent_name(
    struct segment_name *name, const char *job, struct process of, uint32_t number);
void segment_ring_name(
    struct segment_name *name, const char *job, struct process from, struct process to);

/* Anonymous memory of `bytes` bytes, zero. `reserved` of them, from the first, are certain to be
 * there: writing to others may be a bus error when memory runs out, see segment_reserve(). Gives
 * the descriptor for segment_publish(). NULL and errno on failure. */
void *segment_make(uint64_t bytes, uint64_t reserved, int *descriptor);
/* Gives it its name and closes the descriptor, also on failure. 0, or -1 and errno (EEXIST). */
int segment_publish(int descriptor, const struct segment_name *name);
/* Maps an existing one whole. NULL and errno on failure. */
void *segment_map(const struct segment_name *name, uint64_t *bytes);
/* Its memory goes back to the system, whoever has it mapped. */
void segment_empty(void *at, uint64_t bytes);
void segment_unmap(void *at, uint64_t bytes);
/* Memory as segment_make with all of it reserved, if a quarter of all that there is, and `leave`
 * bytes, stay free after that. */
void *segment_make_spare(uint64_t bytes, uint64_t leave, int *descriptor);
/* Makes sure that memory stands behind these bytes (whole pages). 0, or -1: there is none left. */
int segment_reserve(void *at, uint64_t bytes);
/* How much memory there is for segments in all, and how much of it is free, bytes. False: the
 * system does not say. */
bool segment_memory(uint64_t *all, uint64_t *free);
/* Do `leave` bytes stay free when so many are taken? 0: always. */
bool segment_leaves(uint64_t bytes, uint64_t leave);
void segment_remove(const struct segment_name *name);
/* Removes what older incarnations of a process left: their bells, what they lent, and rings from
 * and to them. */
void segment_remove_older(const char *job, struct process than);
/* Removes everything of the job. */
void segment_sweep(const char *job);

#endif
