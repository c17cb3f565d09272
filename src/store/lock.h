/* lock.h: what a run of a job locks, so that there is one at a time. */
#ifndef HARK_STORE_LOCK_H
#define HARK_STORE_LOCK_H

/* A file in the store. A directory would be locked for this host only, on NFS. */
#define HARK_STORE_LOCK "lock"

/* Is there anything in the directory but what a run that has not got far may leave? 1, 0, or -1
 * with errno. directory_job.c. */
int hark_store_has_entries(int root);

#endif
