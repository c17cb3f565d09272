/* queue.h: bytes that wait until the system takes them. */
#ifndef HARK_AGENT_QUEUE_H
#define HARK_AGENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct hark_queue_chunk;

struct hark_queue {
    struct hark_queue_chunk *first, *last;
    size_t waiting; /* bytes */
};

/* Room for `length` more, in one piece, which is part of the queue at once. NULL: no memory. */
uint8_t *hark_queue_add(struct hark_queue *q, size_t length);
/* Sends what the system takes. 0, or -errno. */
int hark_queue_send(struct hark_queue *q, int fd);
void hark_queue_free(struct hark_queue *q);

#endif
