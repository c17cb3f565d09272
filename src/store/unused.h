/* unused.h: files of blocks that no image refers to any more, and what images take on the disk.
 * Internal to src/store. */
#ifndef HARK_STORE_UNUSED_H
#define HARK_STORE_UNUSED_H

#include "image.h"

/* Removes the files of blocks in the directory of a rank, whose lock the caller holds, that no
 * image there refers to. Best effort: a leftover is removed next time. A damaged image
 * refers to nothing. If an image can not be read, or is of a newer version, nothing is removed, for
 * what it refers to is not known; it goes when that image is dropped. */
void hark_unused_remove(int dir);
/* The bytes of the image in the file fd, which lies in the directory `dir`: as
 * hark_store_image_bytes(). */
int hark_unused_bytes(int fd, struct hark_store_bytes *bytes, char detail[128], const char **why);

#endif
