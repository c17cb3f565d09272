#include "values.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hark_cli_bad(const char *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "hark %s: ", command);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return 2;
}

const char *hark_cli_unknown(char *const *argv)
{
    const char *behind = argv[optind - 1];
    const size_t n = strlen(behind);
    const bool through = optopt == 0 || (behind[0] == '-' && behind[1] != '-' && n > 1 && behind[n - 1] == optopt);
    return through || argv[optind] == NULL ? behind : argv[optind];
}

bool hark_cli_number(const char *text, uint64_t most, uint64_t *value, const char **end)
{
    *value = 0;
    *end = text;
    for (; **end >= '0' && **end <= '9'; ++*end) {
        uint64_t digit = (uint64_t)(**end - '0');
        if (digit > most || *value > (most - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return *end != text;
}

bool hark_cli_whole_number(const char *text, uint64_t most, uint64_t *value)
{
    const char *end;
    return hark_cli_number(text, most, value, &end) && *end == 0;
}

bool hark_cli_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *end;
    if (!hark_cli_number(text, UINT64_MAX, bytes, &end)) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if ((unit ? end[1] : *end) != 0 || *bytes > UINT64_MAX >> shift) return false;
    *bytes <<= shift;
    return true;
}

char *hark_cli_whole_file(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t length = 0, room = 0;
    if (f == NULL) return NULL;
    for (;;) {
        if (length + 1 >= room) {
            char *more = realloc(text, room = room ? room * 2 : 4096);
            if (more == NULL) break;
            text = more;
        }
        size_t n = fread(text + length, 1, room - length - 1, f);
        if (n == 0 && !ferror(f)) {
            text[length] = 0;
            fclose(f);
            return text;
        }
        if (n == 0) break;
        length += n;
    }
    int why = errno;
    free(text);
    fclose(f);
    errno = why;
    return NULL;
}
