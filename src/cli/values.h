/* values.h: numbers and sizes of the command line, and what is wrong with it. */
#ifndef HARK_CLI_VALUES_H
#define HARK_CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* What is wrong with how the command is used, in a line on standard error; 2, its exit status. */
int hark_cli_bad(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As getopt_long, but that a long option is to be written out: else the answer is '?'. */
struct option;
int hark_cli_next(int argc, char *const *argv, const char *short_ones, const struct option *all);
/* It has returned ':', for an option without its value, or '?': says so; 2. */
int hark_cli_refused(const char *command, int c, char *const *argv);

/* Digits only, at most `most`; *end is behind them. */
bool hark_cli_number(const char *text, uint64_t most, uint64_t *value, const char **end);
bool hark_cli_whole_number(const char *text, uint64_t most, uint64_t *value);
/* Bytes: digits, and K, M, G or T for powers of 1024. */
bool hark_cli_size(const char *text, uint64_t *bytes);
/* A decimal number from 0 to `most`, perhaps with a fraction and an exponent; *end is behind it. No
 * nan, no inf, nothing hexadecimal. */
bool hark_cli_real(const char *text, double most, double *value, const char **end);
/* All of a file, ended by a NUL, to be freed; NULL: errno. */
char *hark_cli_whole_file(const char *path);

#endif
