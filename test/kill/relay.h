/* relay.h: stands between processes that talk over TCP, and cuts and delays their connections at
 * random. */
#ifndef HARK_TEST_KILL_RELAY_H
#define HARK_TEST_KILL_RELAY_H

#include <stdint.h>
#include <sys/types.h>

/* A process of its own, which listens at the UNIX socket `path`: who says its address there, with
 * its NUL, is told another one, that leads to it. *cuts is shared memory, and counts. */
pid_t relay_start(const char *path, uint64_t seed, unsigned *cuts);

#endif
