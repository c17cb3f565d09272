/* An allocator that reads a clock now and then, as jemalloc does: after so many calls, whoever
 * makes them. */
#include <stddef.h>
#include <time.h>

void *__libc_malloc(size_t length);
void *malloc(size_t length);

void *malloc(size_t length)
{
    static unsigned calls;
    struct timespec now;
    if (++calls % 3 == 0) (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return __libc_malloc(length);
}
