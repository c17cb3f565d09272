/* later.h: the name of an image that a later incarnation of its process may have given away.
 * Internal to src/store.
 *
 * A process that stands still for long, with its host, is taken for dead, and its numbers of
 * checkpoints are given again. When it goes on, its image must not replace that of the incarnation
 * which took its place. An image says who wrote it (image.h). */
#ifndef HARK_STORE_LATER_H
#define HARK_STORE_LATER_H

#include "image.h"

/* Why hark_later_name() returned HARK_S_EINVAL. */
extern const char hark_later_why[];

/* Is image `path` of directory `dir` there, whole, and of a later incarnation than name->writer? 1,
 * 0, or -1 with errno: that can not be known. `root`: as hark_image_verify(). */
int hark_later_there(int root, int dir, const char *path, const struct hark_image_name *name);

/* Moves the file `from` of tmp, which is open as fd, to `target` in `to`, where it replaces an
 * image of name->writer, or of an earlier incarnation. HARK_S_OK; HARK_S_EINVAL: a later one has
 * the name; HARK_S_ESYSTEM with errno. After a failure the file is where it was. */
int hark_later_name(int root, int tmp, const char *from, int fd, int to, const char *target,
    const struct hark_image_name *name);

#endif
