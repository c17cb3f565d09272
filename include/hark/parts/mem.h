/* parts/mem.h: the flat block that holds a protocol's state. Its three parts, in reading order:
 *
 *   parts/block.h   the block and its tables, and the shape that describes them
 *   parts/queue.h   queues in a pool of chunks
 *   parts/pack.h    grow, pack, unpack, inspect
 */
#ifndef HARK_PARTS_MEM_H
#define HARK_PARTS_MEM_H

#include "pack.h"

#endif
