/* inquiry.h: strangers that connect, ask one thing, are answered, and are gone.
 *
 * Whoever they are, they can not hold up the run: nothing blocks, a question has at most
 * HARK_INQUIRY_QUESTION bytes, a connection lasts at most HARK_INQUIRY_MS, and there are at most
 * HARK_INQUIRY_AT_ONCE of them: the oldest goes when one more comes. None is let in when
 * descriptors are about to run out, which the run may need to start a process again.
 */
#ifndef HARK_SUPERVISOR_INQUIRY_H
#define HARK_SUPERVISOR_INQUIRY_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { HARK_INQUIRY_AT_ONCE = 16, HARK_INQUIRY_MS = 5000, HARK_INQUIRY_QUESTION = 8192 };

struct hark_inquiry_answer {
    void *at; /* of malloc; who gets it frees it */
    size_t length;
};

/* What has come so far. 1: *answer answers it; 0: it is not all there; -1: there is no answer. No
 * more than HARK_INQUIRY_QUESTION bytes come. */
typedef int hark_inquiry_ask(
    void *self, const uint8_t *at, size_t length, struct hark_inquiry_answer *answer);

struct hark_inquiry;

/* Takes over `fd`, a socket that listens, also when it fails. 0, or a negative errno. */
int hark_inquiry_open(
    struct hark_inquiry **to, uv_loop_t *loop, int fd, hark_inquiry_ask *ask, void *self);
/* Closes all; what they are made of is freed by the loop. NULL: does nothing. */
void hark_inquiry_close(struct hark_inquiry *q);

#endif
