/* shm.h: the transport between processes of one machine, over shared memory.
 *
 * Each ordered pair of processes that talks has a ring of its own, made by the sender with its
 * first frame; a pair that never talks costs nothing. Each incarnation has a bell: where senders
 * announce their rings, and where it sleeps. No message costs a system call while its receiver is
 * awake.
 *
 * Needs Linux: /dev/shm (tmpfs, O_TMPFILE), /proc, futexes. All processes of a job run as one user;
 * its segments are readable by that user only. `key`, `address` and `directory` of the config are
 * not used.
 *
 * option[0]: bytes of a ring, a power of two, 256 KiB .. 256 MiB; 0: 512 KiB. Memory is used only
 * as far as a ring was ever filled, and while /dev/shm has two pages left for each ring that may
 * still be made: beyond that a ring goes round in what it has, if need be in a page, in small
 * records. Under a limit of the size of files a ring is smaller, 256 KiB at least. option[1]: how
 * many times wait() looks again before it yields, at most 100000; 0: adapts itself.
 */
#ifndef HARK_TRANSPORTS_SHM_H
#define HARK_TRANSPORTS_SHM_H

#include "hark/transport.h"

extern const struct hark_transport_ops hark_shm_transport;

#endif
