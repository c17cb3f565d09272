/* processes.h: work that is shared out to processes: steps of cores are made in memory that there
 * is once, and may trap. */
#ifndef HARK_CHECK_PROCESSES_H
#define HARK_CHECK_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

enum { PROCESSES_ERROR = 128 };

/* Each of `count` processes calls work() with its number, from 0, and with memory that all of them
 * and the caller share, all 0 at first. Returns that memory, for processes_free(), when all have
 * returned. NULL: one could not be started, or has died; `error` says why, and none is left. None
 * outlives its caller either. */
void *processes_run(uint32_t count, size_t bytes,
    void (*work)(void *self, uint32_t number, void *shared), void *self,
    char error[PROCESSES_ERROR]);
void processes_free(void *shared, size_t bytes);

#endif
