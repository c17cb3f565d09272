/* session.h: messages between a supervisor and an agent that outlive a connection.
 *
 * Each message has a number, and is kept until the other end has confirmed it. When the connection
 * is cut, the agent begins another one; each says what it has heard, the other says what is missing
 * again, and goes on. So each message comes once and in order, or the whole session is over.
 *
 * No I/O and no clock: bytes to be sent go to a function, bytes that came are taken.
 *
 * A message on the wire: number u64, heard u64 (up to that number all of the other's have come),
 * then what is said. Number 0 is a mention: it may be lost, and is not kept.
 */
#ifndef HARK_AGENT_SESSION_H
#define HARK_AGENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_SESSION_HEAD    16u
#define HARK_SESSION_MENTION 256u         /* no mention is longer, bytes */
#define HARK_SESSION_TELL    (256u << 10) /* at the latest after so many bytes they are confirmed */
#define HARK_SESSION_HIGH    (4u << 20)
#define HARK_SESSION_LOW     (1u << 20)

struct hark_session_kept;

struct hark_session {   /* all zero: nothing was said, and there is no connection */
    uint64_t said;      /* the number of our last message */
    uint64_t confirmed; /* ours up to that one have come */
    uint64_t heard;     /* the last of theirs that has come */
    size_t untold;      /* bytes that have come since they were told so */
    struct hark_session_kept *first, *last;
    size_t kept; /* said and not confirmed, bytes */
    bool full;
    /* 0, or a negative errno: then nothing goes there any more. */
    int (*send)(void *to, const void *at, size_t length);
    void *to; /* NULL: there is no connection */
};

/* Says a message, now or when there is a connection. 0, -ENOMEM, or -EINVAL (longer than a
 * connection carries). */
int hark_session_say(struct hark_session *s, const void *at, size_t length);
/* Says it if there is a connection, of at most HARK_SESSION_MENTION bytes. */
void hark_session_mention(struct hark_session *s, const void *at, size_t length);
/* What came on the connection. True: *at and *length are now those of a message that is to be acted
 * upon. False: it was none, or has come before. */
bool hark_session_take(struct hark_session *s, const uint8_t **at, size_t *length);
/* A connection is there, and the other end has heard all up to `heard`: the rest is said again.
 * False: it can not have heard that; it speaks of another session. */
bool hark_session_join(
    struct hark_session *s, int (*send)(void *, const void *, size_t), void *to, uint64_t heard);
/* It is there no more. */
void hark_session_part(struct hark_session *s);
/* More than HARK_SESSION_HIGH is kept, or was, and not less than HARK_SESSION_LOW since. */
bool hark_session_full(const struct hark_session *s);
/* True, once, when it is full no more. */
bool hark_session_room(struct hark_session *s);
void hark_session_free(struct hark_session *s); /* and all zero again */

#endif
