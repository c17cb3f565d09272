/* direct.h: payloads that a receiver copies straight out of its sender's memory.
 *
 * A payload that goes through the ring is copied twice, and each time one processor has to fetch
 * what the other has written. Linux lets a process read another one's memory (process_vm_readv), so
 * one copy is enough. The sender puts an offer into the ring in place of the payload, and the
 * payload stays where it is until the receiver has taken it:
 *
 *   OFFERED -> TAKING -> DONE       the receiver has copied it
 *                     -> REFUSED    it could not: the sender goes the other way, now and later
 *   OFFERED or TAKING -> WITHDRAWN  the sender needs it no more, or sends it another way. The
 *                                   receiver drops a copy that it made meanwhile: it may be torn.
 *
 * While no receive is posted for the payload, the offer stays where it is. Either side ends that
 * before it falls asleep: the sender withdraws the offer and sends the payload through the ring;
 * the receiver takes the payload into other memory, because the sender may be busy with other
 * things.
 *
 * The receiver must not read the memory of a process that has got the number of a dead sender, nor
 * what an execve() has put there. So the offer has 16 random bytes that the sender also keeps in
 * its own memory, and the receiver reads those in the same system call as the payload.
 *
 * Which way is faster depends on the machine: on some a line that one processor has written costs
 * the other so much that one copy takes half the time of two, on others the ring is three times as
 * fast as the kernel. So the receiver measures both, and says in the ring which one it prefers.
 */
#ifndef HARK_SHM_DIRECT_H
#define HARK_SHM_DIRECT_H

#include "ring.h"

#define DIRECT_LEAST                                                                               \
    (32u * 1024)           /* bytes of a payload: what fits one record goes through the ring */
#define DIRECT_CLASSES 6u  /* of lengths: up to 64 KiB, up to 128 KiB ... and over 1 MiB */
#define DIRECT_SAMPLES 4u  /* frames by which a way is judged for the first time */
#define DIRECT_AGAIN   64u /* each frame of that number goes the other way, to judge anew */
#define DIRECT_SHY     64u /* offers left out at most, where nobody takes them */
#define DIRECT_PATIENCE                                                                            \
    100u /* looks at an offer that nobody takes, by who does not fall asleep                       \
          */

enum { DIRECT_OFFERED = 1, DIRECT_TAKING, DIRECT_DONE, DIRECT_REFUSED, DIRECT_WITHDRAWN };

struct direct_proof {
    uint64_t at[2];
};

/* In the ring, in the payload's stead. */
struct direct_offer {
    _Atomic uint32_t state;
    uint32_t pid;
    uint64_t payload, proof; /* addresses in the sender's memory */
    struct direct_proof expected;
};

/* What a receiver has measured of one sender, nanoseconds by class: how long a whole payload took
 * to come, without the time in which nobody worked at it. About the least. */
struct direct_times {
    uint32_t ring[DIRECT_CLASSES], direct[DIRECT_CLASSES];
    uint8_t ring_count[DIRECT_CLASSES], direct_count[DIRECT_CLASSES];
};

static inline uint32_t direct_class(uint64_t length)
{
    uint32_t class = 0;
    for (length = (length - 1) >> 16; length > 0 && class < DIRECT_CLASSES - 1; length >>= 1)
        class ++;
    return class;
}

uint64_t direct_now(void); /* nanoseconds, the same clock in all processes */
/* 16 random bytes, and leave for the other processes of the job to read this one's memory, where
 * the kernel asks for that (Yama). False if there is no randomness. */
bool direct_open(struct direct_proof *proof);
/* Copies the payload. False: the sender is gone, or the kernel does not let us. */
bool direct_copy(const struct direct_offer *offer, void *to, uint64_t length);
/* One more measurement; returns the bits of `prefers` as they are now: for each class, 1 if the
 * ring is the better way. */
uint32_t direct_measured(
    struct direct_times *times, uint32_t prefers, uint64_t length, bool direct, uint64_t time);

#endif
