#include "values.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
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

/* ---- options --------------------------------------------------------------------------------- */

static const struct option *known; /* what was looked for last */
static const char *letters;
static const char *beginning; /* the word that is only the beginning of an option's name; or NULL */
static const char *whole;     /* that name */

static bool is_named(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (word[2 + length] == 0 || word[2 + length] == '=');
}

/* getopt_long takes the beginning of a name for it, and a slip of the finger for an option that was
 * not meant. Its word was the last, or the one before its value. */
int hark_cli_next(int argc, char *const *argv, const char *short_ones, const struct option *all)
{
    int at = -1, c = getopt_long(argc, argv, short_ones, all, &at);
    known = all;
    letters = short_ones;
    beginning = NULL;
    if (c == -1 || at < 0) return c;
    whole = all[at].name;
    for (int i = 1; i <= 2 && optind > i; i++)
        if (is_named(argv[optind - i], whole)) return c;
    const char *last = argv[optind - 1];
    const size_t name = last[0] == '-' && last[1] == '-' ? strcspn(last + 2, "=") : 0;
    beginning = name && strncmp(last + 2, whole, name) == 0 ? last : argv[optind - 2];
    return '?';
}

/* The word that was just refused: getopt_long may not be through with it, if its one letter was the
 * first of several. */
static const char *unknown(char *const *argv)
{
    const char *behind = argv[optind - 1], *here = argv[optind];
    const size_t n = strlen(behind);
    const bool through = behind[0] == '-' && behind[1] != '-' && n > 1 && behind[n - 1] == optopt;
    const bool one = here && here[0] == '-' && here[1] != '-' && optopt > 0 && optopt < 256;
    if (beginning) return beginning;
    return one && !through && strchr(here + 1, optopt) ? here : behind;
}

static bool is_known(const char *word)
{
    for (const struct option *o = known; o->name; o++)
        if (is_named(word, o->name)) return true;
    return false;
}

int hark_cli_refused(const char *command, int c, char *const *argv)
{
    if (c == ':') return hark_cli_bad(command, "%s needs a value", argv[optind - 1]);
    const char *word = unknown(argv);
    const int name = (int)strcspn(word, "=");
    if (is_known(word)) /* it is refused for its value */
        return hark_cli_bad(command, "%.*s takes no value, found \"%s\"", name, word,
            word[name] ? word + name + 1 : "");
    if (name == 3 && word[1] == '-' && strchr(letters, word[2]))
        return hark_cli_bad(command, "%.*s: no such option, expected -%c", name, word, word[2]);
    if (beginning)
        return hark_cli_bad(
            command, "%.*s: no such option, expected its whole name, --%s", name, word, whole);
    return hark_cli_bad(command, "%s: no such option, see `hark help %s`", word, command);
}

/* ---- values ---------------------------------------------------------------------------------- */

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

bool hark_cli_real(const char *text, double most, double *value, const char **end)
{
    char *behind;
    if (*text == 0 || strchr("0123456789.", *text) == NULL) return false;
    if (*text == '0' && (text[1] == 'x' || text[1] == 'X')) return false; /* strtod takes these */
    *value = strtod(text, &behind);
    *end = behind;
    return behind != text && isfinite(*value) && *value <= most;
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
