/* direct.c: reading another process's memory, and whether that is worth it. */
#include "direct.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

#define PIECE (64u << 20) /* bytes that one system call copies */

uint64_t direct_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool direct_open(struct direct_proof *proof)
{
    /* Yama lets only ancestors read a process, and those it names with what they have started. The
     * processes of a job have their parent in common. Without Yama there is nothing to name. */
    (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
    return getrandom(proof, sizeof *proof, GRND_NONBLOCK) == (ssize_t)sizeof *proof;
}

static bool copy_piece(const struct direct_offer *offer, uint8_t *to, uint64_t from, uint64_t bytes)
{
    struct direct_proof expected = offer->expected, proof = {{0, 0}};
    struct iovec here[2] = {{to + from, (size_t)bytes}, {&proof, sizeof proof}};
    struct iovec there[2] = {{(void *)(uintptr_t)(offer->payload + from), (size_t)bytes},
        {(void *)(uintptr_t)offer->proof, sizeof proof}};
    ssize_t got = process_vm_readv((pid_t)offer->pid, here, 2, there, 2, 0);
    return got == (ssize_t)(bytes + sizeof proof) && memcmp(&proof, &expected, sizeof proof) == 0;
}

bool direct_copy(const struct direct_offer *offer, void *to, uint64_t length)
{
    for (uint64_t from = 0; from < length;) {
        uint64_t bytes = length - from < PIECE ? length - from : PIECE;
        if (!copy_piece(offer, to, from, bytes)) return false;
        from += bytes;
    }
    return true;
}

/* The least of what was seen, which grows a little with each that took longer: so one lucky frame
 * is forgotten, and one during which the process did not run does not count. */
static void learn(uint32_t *time, uint8_t *count, uint64_t seen)
{
    uint64_t before = *count == 0 ? UINT32_MAX : (uint64_t)*time + *time / 16 + 1;
    if (seen < before) before = seen;
    *time = before < UINT32_MAX ? (uint32_t)before : UINT32_MAX;
    if (*count < UINT8_MAX) ++*count;
}

uint32_t direct_measured(
    struct direct_times *times, uint32_t prefers, uint64_t length, bool direct, uint64_t time)
{
    const uint32_t class = direct_class(length);
    const uint8_t *ring_count = &times->ring_count[class];
    const uint8_t *direct_count = &times->direct_count[class];
    if (direct) learn(&times->direct[class], &times->direct_count[class], time);
    else learn(&times->ring[class], &times->ring_count[class], time);
    /* Through the ring the sender has as much work as the receiver, and could do something else in
     * that time: so the ring has to be well the faster one. */
    bool ring = *ring_count >= DIRECT_SAMPLES
                    ? 3ull * times->ring[class] < 2ull * times->direct[class]
                    : *direct_count >= DIRECT_SAMPLES;
    if (*direct_count < DIRECT_SAMPLES) ring = false;
    return ring ? prefers | 1u << class : prefers & ~(1u << class);
}
