/* wrap.h: makes the n-th call of the library into the system go wrong. The test is linked with
 * --wrap for each of them (see meson.build); calls count only while armed. */
#ifndef HARK_TEST_WRAP_H
#define HARK_TEST_WRAP_H

enum fault_kind {
    FAULT_FAIL,        /* the n-th call does nothing and gives `error` */
    FAULT_FAIL_ON,     /* so do all after it */
    FAULT_KILL_BEFORE, /* SIGKILL instead of the n-th call */
    FAULT_KILL_AFTER,  /* after it; of a write half has been done */
    FAULT_TRICKLE /* every call is first interrupted (EINTR), and reads and writes move 1 to 7 bytes
                     at a time */
};
enum fault_what { FAULT_SYSTEM = 1, FAULT_MEMORY = 2 };

/* From now on the n-th (from 1) call of these kinds goes wrong. */
void fault_arm(int what, enum fault_kind kind, unsigned n, int error);
/* Back to normal. Returns how many calls were made since fault_arm. */
unsigned fault_disarm(void);
/* When the n-th call comes, an empty file of that name is made; NULL: none. */
void fault_mark(const char *path);
/* The first 63 of them, a letter each: fsync s, flock l, mkdirat m, unlinkat u, renameat r, linkat
 * k, openat o, writev w, pread p, memory *. */
const char *fault_trace(void);
/* How many of all such calls so far, armed or not, were given descriptor 0, 1 or 2. */
unsigned fault_low_descriptors(void);

#endif
