/* place.h: directories for tests, small disks, and a count of open descriptors. */
#ifndef HARK_TEST_PLACE_H
#define HARK_TEST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A new empty directory, in TMPDIR or /tmp; fails the test otherwise. */
void place_make(char path[256]);
/* Removes it with all that is in it; unmounts it first if it is a disk of place_disk. */
void place_remove(const char *path);
/* Mounts an empty disk of `bytes` on it, seen by this process only. If this machine does not allow
 * it, says so loudly and returns false. */
bool place_disk(const char *path, size_t bytes);
bool place_disk_readonly(const char *path);
bool place_disk_larger(const char *path, size_t bytes);
/* How many entries but . and .. a directory has; -1 if it is not there. */
int place_count(const char *path);
int place_descriptors(void);

/* From now on, files longer than `bytes` can not be written (EFBIG), until place_file_limit_off().
 */
void place_file_limit(size_t bytes);
void place_file_limit_off(void);

#endif
