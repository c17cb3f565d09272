/* queue.c: see queue.h. Short ones share a chunk, and many chunks go in one call of the system. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { CHUNK = 16 << 10, AT_ONCE = 32, ROUNDS = 16 };

struct hark_queue_chunk {
    struct hark_queue_chunk *next;
    size_t begin, end, room;
    uint8_t bytes[];
};

uint8_t *hark_queue_add(struct hark_queue *q, size_t length)
{
    struct hark_queue_chunk *k = q->last;
    if (k == NULL || k->room - k->end < length) {
        size_t room = length < CHUNK ? CHUNK : length;
        k = malloc(sizeof *k + room);
        if (k == NULL) return NULL;
        *k = (struct hark_queue_chunk){.room = room};
        if (q->last) q->last->next = k;
        else q->first = k;
        q->last = k;
    }
    uint8_t *at = k->bytes + k->end;
    k->end += length;
    q->waiting += length;
    return at;
}

static void drop_first(struct hark_queue *q)
{
    struct hark_queue_chunk *k = q->first;
    q->first = k->next;
    if (q->first == NULL) q->last = NULL;
    free(k);
}

static void sent(struct hark_queue *q, size_t length)
{
    q->waiting -= length;
    while (length > 0) {
        struct hark_queue_chunk *k = q->first;
        size_t n = k->end - k->begin < length ? k->end - k->begin : length;
        k->begin += n;
        length -= n;
        if (k->begin == k->end) drop_first(q);
    }
}

int hark_queue_send(struct hark_queue *q, int fd)
{
    for (int round = 0; q->first && round < ROUNDS; round++) {
        struct iovec piece[AT_ONCE];
        struct msghdr m = {.msg_iov = piece};
        for (struct hark_queue_chunk *k = q->first; k && m.msg_iovlen < AT_ONCE; k = k->next)
            piece[m.msg_iovlen++] = (struct iovec){k->bytes + k->begin, k->end - k->begin};
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) sent(q, (size_t)n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
        else if (errno != EINTR) return -errno;
    }
    return 0;
}

void hark_queue_free(struct hark_queue *q)
{
    while (q->first) drop_first(q);
    q->waiting = 0;
}
