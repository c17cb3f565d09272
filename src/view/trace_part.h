/* trace_part.h: the part file of one incarnation: a head, a buffer, the records that have left the
 * buffer.
 *
 * Head and buffer are mapped, shared with the file; records are copied into the buffer, and `count`
 * makes them valid. A full buffer is appended to the file in one write: the mapped pages stay the
 * same few, because touching a new page of a file for each 64 records would cost more than the
 * records do. Whenever the writer is killed, records 0 .. written-1 lie behind the buffer and
 * written .. count-1 in it.
 *
 * Private to one machine and one version (it holds records as they lie in memory).
 */
#ifndef HARK_VIEW_TRACE_PART_H
#define HARK_VIEW_TRACE_PART_H

#include "trace.h"

#define HARK_PART_MAGIC                                                                            \
    0x3172747061726b68u        /* as a number, so that it also tells the byte order                \
                                */
#define HARK_PART_BUFFER 1024u /* records in the buffer */

struct hark_part_head {
    uint64_t magic;       /* stored last: without it the part counts as empty */
    uint64_t count;       /* records that are complete */
    uint64_t written;     /* of them, those behind the buffer: a multiple of HARK_PART_BUFFER */
    uint64_t lost;        /* records that found no room */
    uint64_t buffer_at;   /* offset of the buffer, bytes; the written records follow it */
    int64_t ahead;        /* of its host's clock is the one of whoever merges, ns: for each time */
    uint32_t record_size; /* sizeof(struct hark_trace_record) */
    uint32_t ranks;
    char protocol[HARK_TRACE_NAME], transport[HARK_TRACE_NAME];
    uint32_t cluster[]; /* `ranks` of them */
};

#endif
