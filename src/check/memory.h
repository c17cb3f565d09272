/* memory.h: how much memory a search may take before others suffer, or it is killed for it. */
#ifndef HARK_CHECK_MEMORY_H
#define HARK_CHECK_MEMORY_H

#include <stdint.h>

/* Bytes that this process can still get: the least of what the machine has available
 * (MemAvailable), what is left under the memory limit of its control group and of each above it
 * (version 2 and 1; pages of files that can be dropped count as left), and the limit of its address
 * space. `root`: the folder in which proc and sys are; "" but in tests. 0: nothing tells. */
uint64_t memory_available(const char *root);

#endif
