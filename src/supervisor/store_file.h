/* store_file.h: small files in a store, beside its record and its images. */
#ifndef HARK_SUPERVISOR_STORE_FILE_H
#define HARK_SUPERVISOR_STORE_FILE_H

#include <stdio.h>

/* Opens the file `name` in the store, for itself only, without waiting for anybody, whatever else
 * has that name there. -1: errno, EINVAL if that is no file, which hark_sup_store_file_why() has
 * words for. */
int hark_sup_store_file(const char *store, const char *name, int flags);
/* The same, "r" or (made, or emptied) "w". NULL: errno. */
FILE *hark_sup_store_stream(const char *store, const char *name, const char *mode);
const char *hark_sup_store_file_why(int error);

#endif
