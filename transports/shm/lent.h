/* lent.h: memory of a process that others read where it stands.
 *
 * A payload log that lies in it is the ring for large payloads: the frame in the ring names the
 * place, and the receiver takes the payload from there. It may, because who retains a payload keeps
 * it until the receiver is known to have it. Each piece is a segment of its own with a number that
 * is never used again.
 */
#ifndef HARK_SHM_LENT_H
#define HARK_SHM_LENT_H

#include <stdbool.h>

#include "segment.h"

#define LENT_SEEN_MAX 64u /* pieces of one sender that stay mapped */

/* In the ring, in the payload's stead. */
struct lent_place {
    uint32_t number, pad;
    uint64_t offset;
    uint64_t part; /* bytes of the payload that are there already */
};

struct lent { /* a piece of ours, or of another */
    uint8_t *at;
    uint64_t bytes;
    uint32_t number;
};

struct lent_list {
    struct lent *list; /* of others: the last used first */
    uint32_t count, room, next;
};

/* A new piece of process `me`, or NULL; see segment_make_spare() for `leave`. */
void *lent_make(
    struct lent_list *l, const char *job, struct process me, uint64_t bytes, uint64_t leave);
void lent_remove(struct lent_list *l, const char *job, struct process me, void *at);
/* Unmaps all; `owner`: removes their names too. */
void lent_close(struct lent_list *l, const char *job, struct process of, bool owner);
/* Where `length` bytes at `at` lie in ours; false if not in one piece of them. */
bool lent_find(
    const struct lent_list *l, const void *at, uint64_t length, struct lent_place *place);
/* What another named; NULL and errno: ENOENT, it is gone; EBADMSG, it can not be. */
const uint8_t *lent_look(struct lent_list *l, const char *job, struct process from,
    struct lent_place place, uint64_t length);

#endif
