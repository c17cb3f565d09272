/* recording_parts.h: the head of a recording, for those who write and read it. */
#ifndef HARK_VIEW_RECORDING_PARTS_H
#define HARK_VIEW_RECORDING_PARTS_H

#define HARK_RECORDING_MAGIC                                                                       \
    {                                                                                              \
        'h', 'a', 'r', 'k', 'r', 'e', 'c', '1'                                                     \
    }
enum { HARK_RECORDING_HEAD = 144 };

#endif
