/* bell.h: where an incarnation sleeps, and where others tell it of their rings.
 *
 * It is made by whoever needs it first: its owner when it opens, or a sender that wants to keep
 * frames for an owner still to come.
 *
 * Sleeping. The owner writes into `asleep` a number that is new each time, looks once more whether
 * there is something to do, and waits on `count`. Who has work for it publishes that, looks at
 * `asleep`, and if it is not 0 counts up, wakes, and only then writes 0 over the very number it
 * saw. So a waker killed between any two of these steps leaves `asleep` set, and the next one
 * wakes; and one that comes late cannot wipe out a later sleep.
 *
 * Between writing and looking each side needs a full fence, else both may miss each other. With
 * every frame that would cost more than the frame. So who falls asleep, seldom, makes all
 * processors fence by membarrier(), and who works only keeps the compiler from reordering. Where a
 * kernel does not do that, `opened` says so, and the fence with every frame is back.
 *
 * A kernel may also pass by a processor that it should have made fence. Linux 6.18 does: one on
 * which this process ran before bell_register() and nobody else since (bench/barrier.c
 * shows it). Then both sides may have missed each other. But what the other has written before it
 * looked is in sight as soon as its processor has written it back, which takes far less than a
 * millisecond: so a process that has slept for one looks once more before it sleeps on.
 *
 * Announcing. slot[sender] holds 1 + the sender's incarnation; it only ascends. It is written when
 * the ring is complete and has its name; who dies before has announced nothing.
 */
#ifndef HARK_SHM_BELL_H
#define HARK_SHM_BELL_H

#include <stdatomic.h>

#include "segment.h"

#define BELL_MAGIC   0x6c6c65626b726168u
#define BELL_VERSION 1u
enum {
    BELL_BARRIER = 1,
    BELL_FENCE = 2
};                             /* who sleeps makes the others fence; everybody must fence */
#define BELL_CLOSED UINT32_MAX /* in `asleep`: the owner has closed and will not look again */

struct bell {
    uint64_t magic;
    uint32_t version, ranks;
    struct process owner;
    uint32_t pad[10];
    _Atomic uint32_t asleep;    /* a line of its own: looked at with every frame, seldom written */
    _Atomic uint32_t count;     /* the futex */
    _Atomic uint32_t announced; /* counts up after each write to a slot */
    _Atomic uint32_t opened;    /* 0 until its owner comes, then BELL_BARRIER or BELL_FENCE */
    uint32_t more[12];
    _Atomic uint32_t slot[]; /* ranks + 1; the last is the recovery process */
};
HARK_STATIC_ASSERT(offsetof(struct bell, asleep) == 64, "its own cache line");
HARK_STATIC_ASSERT(
    offsetof(struct bell, slot) == 128, "announcing does not disturb the line of asleep");

static inline uint64_t bell_bytes(uint32_t ranks)
{
    return sizeof(struct bell) + ((uint64_t)ranks + 1) * sizeof(uint32_t);
}

/* Maps the bell of `of`, making it if `make` and there is none. NULL and errno on failure; EBADMSG:
 * what bears that name is no bell of this job. */
struct bell *bell_open(const char *job, struct process of, uint32_t ranks, bool make);
void bell_unmap(struct bell *b, uint32_t ranks);
/* Tells the owner that there is a ring from incarnation `inc` of sender number `number`. */
void bell_announce(struct bell *b, uint32_t number, uint32_t inc);
/* Waits until the count is not `seen` any more; negative milliseconds: no limit. May return early.
 * True if the time is over. */
bool bell_sleep(struct bell *b, uint32_t seen, int milliseconds);
void bell_wake(struct bell *b, uint32_t asleep);

/* Asks the kernel for membarrier(). BELL_BARRIER if this process now takes part, else BELL_FENCE.
 */
uint32_t bell_register(void);
/* After writing `asleep` (or `wanting`, see ring.h), before looking. */
void bell_barrier(void);

/* To be called after something was published for the owner. `fence`: one of the two is not
 * registered. Returns what `asleep` was. */
static inline uint32_t bell_ring(struct bell *b, bool fence)
{
    if (__builtin_expect(fence, 0)) atomic_thread_fence(memory_order_seq_cst);
    else atomic_signal_fence(memory_order_seq_cst);
    uint32_t asleep = atomic_load_explicit(&b->asleep, memory_order_relaxed);
    if (__builtin_expect(asleep != 0, 0)) bell_wake(b, asleep);
    return asleep;
}

#endif
