/* veloc.h: the interface of VELOC (https://veloc.readthedocs.io), for programs under `hark run`.
 *
 * A program that was prepared for VELOC is compiled with this header, and hark checkpoints and
 * restarts it: one process alone, a cluster or all of them, as the protocol says. `hark run` also
 * puts this library in the place of VELOC's when a program was linked with that one.
 *
 * What differs from VELOC: hark decides at each VELOC_Checkpoint whether a checkpoint is due
 * (hark-run(1), --interval), and keeps the latest one only. Processes that are checkpointed
 * together must call it equally often. No configuration is read. hark starts a lost process again
 * by itself, so the program finds its version without being started by hand.
 *
 * Each function returns VELOC_SUCCESS, or VELOC_FAILURE after a line on stderr that says why, where
 * nothing else is said here. Only one thread at a time may call.
 */
#ifndef HARK_VELOC_H
#define HARK_VELOC_H

#include <mpi.h>
#include <stddef.h>

#define VELOC_SUCCESS 0
#define VELOC_FAILURE (-1)

#define VELOC_MAX_NAME 1024 /* bytes of a path that VELOC_Route_file gives, with its end */

#define VELOC_CKPT_ALL  0
#define VELOC_CKPT_SOME 1
#define VELOC_CKPT_REST 2

#define VELOC_RECOVER_ALL  0
#define VELOC_RECOVER_SOME 1
#define VELOC_RECOVER_REST 2

#ifdef __cplusplus
extern "C" {
#endif

/* Begins, after MPI_Init. Neither argument matters: hark has the processes of the job, and reads no
 * configuration. VELOC_FAILURE if the program does not run with hark's MPI library. */
int VELOC_Init(MPI_Comm comm, const char *configuration);
int VELOC_Init_single(unsigned id, const char *configuration);
/* Ends, before MPI_Finalize: checkpoints hold nothing of the program from here on. */
int VELOC_Finalize(int drain);

/* Names memory that belongs to checkpoints: `count` elements of `size` bytes at `at` under `id`.
 * Another call with the same id replaces the region, also by one of another size; nothing (0 bytes)
 * removes it. The memory must not be freed before that. Regions with a name belong to the
 * checkpoints of that name only, which then have no others. */
int VELOC_Mem_protect(int id, void *at, size_t count, size_t size);
int VELOC_Region_protect(int id, void *at, size_t count, size_t size, const char *name);
/* VELOC_FAILURE, without a line, if there is no such region. */
int VELOC_Mem_unprotect(int id);
int VELOC_Region_unprotect(int id, const char *name);
int VELOC_Mem_clear(void);
int VELOC_Region_clear(const char *name);

/* Between VELOC_Checkpoint_begin and _end: the path of an empty file, to be written and closed by
 * this process or a child of its; the checkpoint holds what it has then. Between
 * VELOC_Restart_begin and _end: the path of that file, to be read. `routed` has VELOC_MAX_NAME
 * bytes. One file belongs to a checkpoint, so its `original` name does not matter. The file is
 * memory, and has no other names: it can not be renamed. */
int VELOC_Route_file(const char *original, char *routed);
/* Does nothing: hark keeps one checkpoint. */
int VELOC_Cleanup(const char *name);

/* Takes a checkpoint of all regions, if one is due. The version is at least 0 and grows from call
 * to call; none is taken with version 0, which VELOC_Restart_test could not tell from nothing. The
 * first call after a restart takes none if its name and version are those that were restored. */
int VELOC_Checkpoint(const char *name, int version);
/* The same in parts. `mode` is VELOC_CKPT_ALL, or VELOC_CKPT_SOME: the regions `ids`, or
 * VELOC_CKPT_REST: the others. VELOC_Checkpoint_mem is for all. VELOC_Checkpoint_end ends the job
 * with a line if `success` is 0: others can not have a checkpoint without this process. */
int VELOC_Checkpoint_begin(const char *name, int version);
int VELOC_Checkpoint_mem(void);
int VELOC_Checkpoint_selective(int mode, int *ids, int count);
int VELOC_Checkpoint_end(int success);
/* Nothing is under way in the background. VELOC_Checkpoint_wait: VELOC_FAILURE between begin and
 * end. */
int VELOC_Checkpoint_wait(void);
int VELOC_Checkpoint_finished(void);

/* The version of the checkpoint from which this process starts again, or VELOC_FAILURE, without a
 * line: there is none, or none of that name, or its version is not below `version` (if that is not
 * 0). A program must call it in its first execution too, after the same communication: it ends the
 * beginning of the program, of which a restart takes all messages from the checkpoint. From here to
 * VELOC_Restart_end a restarting process must not communicate. Each process has an answer of its
 * own: those that have not failed do not ask. */
int VELOC_Restart_test(const char *name, int version);
/* Restores all regions; each may be larger than it was, not smaller. */
int VELOC_Restart(const char *name, int version);
/* The same in parts; see above. VELOC_Recover_size: bytes of a region in the checkpoint, or -1,
 * without a line. */
int VELOC_Restart_begin(const char *name, int version);
int VELOC_Recover_size(int id);
int VELOC_Recover_mem(void);
int VELOC_Recover_selective(int mode, int *ids, int count);
int VELOC_Restart_end(int success);

#ifdef __cplusplus
}
#endif
#endif
