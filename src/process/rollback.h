/* rollback.h: ROLLBACK: a process can not return to an earlier stack, so it executes its program
 * again, as its next incarnation and with what its core knew.
 *
 * What is executed is /proc/self/exe: the file that runs, also when its name is gone or was found
 * in PATH; of a script it is the interpreter. Arguments and environment are those of
 * /proc/self/cmdline and /proc/self/environ when hark_init was called; working directory, ignored
 * signals, signal mask, stdin, stdout and stderr are as they were then. Of the other descriptors
 * only those of hark live on; timers, threads and memory do not. Limits, umask and priority stay as
 * they are.
 */
#ifndef HARK_PROCESS_ROLLBACK_H
#define HARK_PROCESS_ROLLBACK_H

#include "hark/hark.h"

/* In hark_init: how the program began. What can not be had keeps a later rollback from being one.
 */
void hark_rollback_remember(void);
void hark_rollback_forget(void);

/* The driver has answered HARK_D_EGONE. Does not return: the process executes its program again or,
 * where it can not (which the supervisor is told), ends by SIGKILL and is started anew. */
_Noreturn void hark_rollback(void);

/* What the core of the earlier incarnation had kept, for hark_driver_kept(); empty if there was
 * none, or it died. It lasts until hark_rollback_taken(). */
struct hark_bytes hark_rollback_kept(void);
void hark_rollback_taken(struct hark_bytes kept);

#endif
