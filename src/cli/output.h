/* output.h: the files that a command writes: whole or not at all, and none that it reads. */
#ifndef HARK_CLI_OUTPUT_H
#define HARK_CLI_OUTPUT_H

#include <stdio.h>

struct hark_cli_file {         /* that a command is to write when it is through */
    const char *option, *path; /* path NULL: none */
};

/* Can they be written, up to one without option, and is each another file? 0; or 2, having said
 * which not and why. They are left as they were, and none is made. */
int hark_cli_writable(const char *command, const struct hark_cli_file *file);
/* Is none of them the file `read`, which the command reads (NULL: none)? As above. */
int hark_cli_apart(const char *command, const struct hark_cli_file *file, const char *read);

/* The file, to be written; NULL, having said why not. What is there stays as it is until
 * hark_cli_close, but for devices, pipes, and files with other names or another owner. Option NULL:
 * the file has a name that nobody gave. */
FILE *hark_cli_create(const char *command, const char *option, const char *path);
/* Closes it, and puts it in its place; 0; or 2, having said that not all of it was written: then
 * what was there is there still. */
int hark_cli_close(const char *command, const char *option, const char *path, FILE *f);
/* Closes it, and drops what was written, of which something is wrong. */
void hark_cli_discard(FILE *f);

#endif
