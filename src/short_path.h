/* short_path.h: names of files in messages that have room for so much. A long one loses its middle,
 * never the message its end, where it says what is wrong. */
#ifndef HARK_SHORT_PATH_H
#define HARK_SHORT_PATH_H

#include <stddef.h>
#include <string.h>

enum { HARK_SHORT_PATH = 121 /* bytes, the NUL included */ };

/* Does a character begin with it? (UTF-8) */
static inline int hark_short_begins(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* The path itself if it is short; else in `shown`: how it begins, an ellipsis, how it ends; cut
 * between folders if there is a place near. */
static inline const char *hark_short_path(const char *path, char shown[HARK_SHORT_PATH])
{
    static const char cut[] = "\xe2\x80\xa6"; /* … */
    enum { HEAD = 40, TAIL = HARK_SHORT_PATH - HEAD - (int)sizeof cut, NEAR = 24 };
    const size_t length = strlen(path);
    size_t head = HEAD, tail = length - TAIL;
    if (length < HARK_SHORT_PATH) return path;
    while (head > HEAD - NEAR && path[head - 1] != '/') head--;
    if (path[head - 1] != '/')
        for (head = HEAD; head > 0 && !hark_short_begins(path[head]);) head--;
    while (tail < length - TAIL + NEAR && path[tail] != '/') tail++;
    if (path[tail] != '/')
        for (tail = length - TAIL; !hark_short_begins(path[tail]);) tail++;
    memcpy(shown, path, head);
    memcpy(shown + head, cut, sizeof cut - 1);
    memcpy(shown + head + sizeof cut - 1, path + tail, length - tail + 1);
    return shown;
}

#endif
