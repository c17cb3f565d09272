/* Does membarrier() make every processor fence? Two processors write, each to a word of its own,
 * and then look at the other's word; the first one calls membarrier() in between, the second one
 * only keeps the compiler from reordering. So at least one of them must see the other.
 * bench-barrier counts how often neither does: without the barrier, with it, and with it after this
 * process had run on the second processor before it registered, and perhaps nobody else since. See
 * transports/shm/bell.h. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { ROUNDS = 300000, OTHERS = 64 };

struct line {
    _Alignas(128) _Atomic unsigned word;
};
static struct line mine, theirs, begin, end, others[OTHERS];
static unsigned seen[ROUNDS];

static void compute(double milliseconds)
{
    double from = nanoseconds();
    while (nanoseconds() - from < milliseconds * 1e6) {
    }
}

static void *second(void *unused)
{
    (void)unused;
    stay_on(1);
    for (unsigned i = 1; i < ROUNDS; i++) {
        while (atomic_load_explicit(&begin.word, memory_order_acquire) != i) {
        }
        for (unsigned k = 0; k < OTHERS; k++) /* so that what follows takes its time to be seen */
            atomic_store_explicit(&others[k].word, i, memory_order_relaxed);
        atomic_store_explicit(&theirs.word, i, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        seen[i] = atomic_load_explicit(&mine.word, memory_order_relaxed);
        atomic_store_explicit(&end.word, i, memory_order_release);
    }
    return NULL;
}

static void count(bool barrier, bool was_there)
{
    pthread_t thread;
    unsigned neither = 0;
    if (was_there) {
        stay_on(1);
        compute(20);
    }
    stay_on(0);
    compute(1);
    if (barrier && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) {
        printf("no membarrier() here\n");
        return;
    }
    if (pthread_create(&thread, NULL, second, NULL) != 0) return;
    for (unsigned i = 1; i < ROUNDS; i++) {
        for (unsigned k = 0; k < OTHERS; k++)
            atomic_store_explicit(&others[k].word, 0, memory_order_relaxed);
        atomic_store(&begin.word, i);
        for (unsigned k = 0; k < i % 1024; k++) atomic_signal_fence(memory_order_seq_cst);
        atomic_store(&mine.word, i);
        if (barrier) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
        bool missed = atomic_load_explicit(&theirs.word, memory_order_relaxed) != i;
        while (atomic_load_explicit(&end.word, memory_order_acquire) != i) {
        }
        neither += missed && seen[i] != i;
    }
    pthread_join(thread, NULL);
    printf("%s, %s: neither has seen the other %u times of %d\n",
        barrier ? "with membarrier()" : "without", was_there ? "was on the other" : "was not there",
        neither, ROUNDS - 1);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int way = 0; way < 3; way++) { /* each in a process of its own, which has not registered */
        pid_t pid = fork();
        if (pid < 0) return 1;
        if (pid == 0) {
            count(way > 0, way == 2);
            return 0;
        }
        if (waitpid(pid, NULL, 0) != pid) return 1;
    }
    return 0;
}
