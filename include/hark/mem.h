/* mem.h: the flat block that holds a protocol's state, in three parts to be read in this order:
 *
 *   block.h   the block and its tables, and the shape that describes them
 *   queue.h   queues in a pool of chunks
 *   pack.h    grow, pack, unpack, inspect
 */
#ifndef HARK_MEM_H
#define HARK_MEM_H

#include "pack.h"

#endif
