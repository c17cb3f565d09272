/* outlet.h: one descriptor of the supervisor's own, written by a thread, so that a reader who does
 * not read stops nobody.
 *
 * Not O_NONBLOCK: that would be set for all who share the descriptor. What waits is in memory;
 * whoever puts looks at hark_outlet_waiting() and stops taking more from where it comes.
 *
 * Pieces belong to streams, and a stream has positions. When bytes have been written, the stream's
 * position is kept in a file, in HARK_OUTLET_NOTE bytes a stream: a later supervisor knows from it
 * what was shown.
 * Only what the very last write() moved can be shown and not be noted, if the supervisor is killed
 * in between. A write is of whole lines where it can be; to a pipe it is of at most PIPE_BUF bytes,
 * and so all or nothing.
 */
#ifndef HARK_SUPERVISOR_OUTLET_H
#define HARK_SUPERVISOR_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_OUTLET_NO_STREAM UINT32_MAX
#define HARK_OUTLET_NOTE      16u /* bytes: a position, and its complement */

struct hark_outlet;

/* `moved` is called from the thread whenever bytes have left. `positions` is a descriptor, or -1. 0
 * or an errno. */
int hark_outlet_open(
    struct hark_outlet **w, int fd, int positions, void (*moved)(void *self), void *self);
void hark_outlet_put_note(uint8_t at[HARK_OUTLET_NOTE], uint64_t position);
/* False: it is damaged. */
bool hark_outlet_get_note(const uint8_t at[HARK_OUTLET_NOTE], uint64_t *position);
/* Copies. `end` is the position behind the last byte in its stream. False without memory. */
bool hark_outlet_put(
    struct hark_outlet *w, uint32_t stream, uint64_t end, const char *at, size_t length);
/* The same behind a `tag` of fewer than HARK_OUTLET_TAG bytes, which is no part of the stream: it
 * has no position, and is not copied by hark_outlet_copy(). */
#define HARK_OUTLET_TAG 16
bool hark_outlet_put_tagged(struct hark_outlet *w, uint32_t stream, uint64_t end, const char *tag,
    const char *at, size_t length);
/* Bytes that wait, of all streams; 0 also when nothing can be written any more. */
size_t hark_outlet_waiting(struct hark_outlet *w);
/* The bytes of one stream that wait; copies them to `to` if that is not NULL. No other may put
 * meanwhile. */
size_t hark_outlet_copy(struct hark_outlet *w, uint32_t stream, char *to, size_t room);
/* errno of the write that failed (all later ones are dropped), of the note of a position that
 * failed; 0: none. */
int hark_outlet_error(struct hark_outlet *w);
int hark_outlet_position_error(struct hark_outlet *w);
/* Ends the thread. If it is stuck in a write it is left behind: it ends with that write, or with
 * the process. */
void hark_outlet_close(struct hark_outlet *w);

#endif
