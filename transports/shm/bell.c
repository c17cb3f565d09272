/* bell.c: see bell.h. */
#include "bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct bell *make_bell(const struct segment_name *name, struct process of, uint32_t ranks)
{
    int descriptor;
    uint64_t bytes = bell_bytes(ranks);
    struct bell *b = segment_make(bytes, bytes, &descriptor);
    if (!b) return NULL;
    b->magic = BELL_MAGIC;
    b->version = BELL_VERSION;
    b->ranks = ranks;
    b->owner = of;
    if (segment_publish(descriptor, name) == 0) return b;
    int why = errno;
    segment_unmap(b, bytes);
    errno = why;
    return NULL;
}

struct bell *bell_open(const char *job, struct process of, uint32_t ranks, bool make)
{
    struct segment_name name;
    uint64_t bytes = 0;
    segment_bell_name(&name, job, of);
    for (int tries = 0; tries < 100; tries++) { /* it may come and go between our two looks */
        struct bell *b = segment_map(&name, &bytes);
        if (b) {
            if (bytes == bell_bytes(ranks) && b->magic == BELL_MAGIC &&
                b->version == BELL_VERSION && b->ranks == ranks && b->owner.rank == of.rank &&
                b->owner.inc == of.inc)
                return b;
            segment_unmap(b, bytes);
            errno = EBADMSG;
            return NULL;
        }
        if (errno != ENOENT || !make) return NULL;
        b = make_bell(&name, of, ranks);
        if (b || errno != EEXIST) return b;
    }
    return NULL;
}

void bell_unmap(struct bell *b, uint32_t ranks)
{
    segment_unmap(b, bell_bytes(ranks));
}

void bell_announce(struct bell *b, uint32_t number, uint32_t inc)
{
    uint32_t now = atomic_load(&b->slot[number]);
    while (now < inc + 1 && !atomic_compare_exchange_weak(&b->slot[number], &now, inc + 1)) {
    }
    atomic_fetch_add(&b->announced, 1);
    bell_ring(b, true);
}

uint32_t bell_register(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0
               ? BELL_BARRIER
               : BELL_FENCE;
}

void bell_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); /* where it fails, the others
                                                                       fence */
}

static long futex(
    _Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

bool bell_sleep(struct bell *b, uint32_t seen, int milliseconds)
{
    struct timespec limit = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    return futex(&b->count, FUTEX_WAIT, seen, milliseconds < 0 ? NULL : &limit) != 0 &&
           errno == ETIMEDOUT;
}

void bell_wake(struct bell *b, uint32_t asleep)
{
    if (asleep == 0 || asleep == BELL_CLOSED) return;
    atomic_fetch_add(&b->count, 1);
    futex(&b->count, FUTEX_WAKE, INT32_MAX, NULL);
    atomic_compare_exchange_strong(&b->asleep, &asleep, 0);
}
