/* temporary.h: files being written. Internal to src/store. */
#ifndef HARK_STORE_TEMPORARY_H
#define HARK_STORE_TEMPORARY_H

#include <stdint.h>

/* The directory DIR/tmp, made if need be; -1 with errno. */
int hark_temporaries_open(int root);
/* A new locked file in it, and its name; -1 with errno. *number: of the next one of this handle. */
int hark_temporary_make(int tmp, uint32_t *number, char name[40]);
/* Removes what crashed writers left. Best effort: a leftover harms nobody but the disk. */
void hark_temporaries_clean(int root);

#endif
