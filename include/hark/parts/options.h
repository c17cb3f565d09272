/* parts/options.h: the options of protocols, in a configuration and as text.
 *
 * Options of several protocols with one name differ only in their help: they set the same field by
 * the same values. No two names set the same. So a struct hark_config can hold the options that a
 * user gave before the protocol is known.
 */
#ifndef HARK_PARTS_OPTIONS_H
#define HARK_PARTS_OPTIONS_H

#include "words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the option with the name of `length` bytes in `options`, which ends with a row without a
 * name; NULL: there is none. */
HARK_FN const struct hark_option *hark_option_named(
    const struct hark_option *options, const char *name, uint32_t length);
/* Returns the value of the option in `c`; for an option without value 1 if it is set, else 0. */
HARK_FN uint32_t hark_option_value(const struct hark_option *o, const struct hark_config *c);
/* True if `c` sets the option, to another value than the default. */
HARK_FN bool hark_option_asked(const struct hark_option *o, const struct hark_config *c);
/* Sets the option in `c`; `value` must be in its range, 1 for an option without value. */
HARK_FN void hark_option_set(const struct hark_option *o, uint32_t value, struct hark_config *c);
/* Copies the values of `options` from `from` to `to`. */
HARK_FN void hark_options_take(
    const struct hark_option *options, const struct hark_config *from, struct hark_config *to);
/* Returns the first option set in `c` that cannot be combined with another one set in `c`, *other;
 * NULL: there is no conflict. */
HARK_FN const struct hark_option *hark_options_clash(const struct hark_option *options,
    const struct hark_config *c, const struct hark_option **other);
/* Writes the options set in `c` as on a command line, a blank before each: " --exact-gate --copies
 * 2". With `image` it writes only those on which images depend. */
HARK_FN void hark_options_write(const struct hark_option *options, const struct hark_config *c,
    bool image, struct hark_words *w);
/* Reads what hark_options_write wrote. HARK_EINVAL: another text, or other options; `c` may be
 * changed then. */
HARK_FN int hark_options_read(
    const struct hark_option *options, const char *text, struct hark_config *c);

#if HARK_BODIES

HARK_FN const struct hark_option *hark_option_named(
    const struct hark_option *o, const char *name, uint32_t length)
{
    for (; o->name; o++) {
        uint32_t at = 0;
        while (at < length && o->name[at] && o->name[at] == name[at]) at++;
        if (at == length && o->name[at] == 0) return o;
    }
    return NULL;
}

static inline uint32_t *hark_option_place(const struct hark_option *o, struct hark_config *c)
{
    return (uint32_t *)(void *)((uint8_t *)c + o->at);
}

HARK_FN uint32_t hark_option_value(const struct hark_option *o, const struct hark_config *c)
{
    const uint32_t has = *(const uint32_t *)(const void *)((const uint8_t *)c + o->at);
    if (o->value == NULL) return (has & o->bits) == o->bits;
    return has;
}

HARK_FN bool hark_option_asked(const struct hark_option *o, const struct hark_config *c)
{
    const uint32_t value = hark_option_value(o, c);
    return value != 0 && value != o->usual;
}

HARK_FN void hark_option_set(const struct hark_option *o, uint32_t value, struct hark_config *c)
{
    if (o->value) *hark_option_place(o, c) = value;
    else *hark_option_place(o, c) |= o->bits;
}

HARK_FN void hark_options_take(
    const struct hark_option *o, const struct hark_config *from, struct hark_config *to)
{
    for (; o->name; o++) {
        const uint32_t value = hark_option_value(o, from);
        if (value) hark_option_set(o, value, to);
    }
}

/* Moves *names, names separated by blanks, to the next name. Returns its length; 0 at the end. */
static inline uint32_t hark_options_next(const char **names)
{
    uint32_t n = 0;
    while (**names == ' ') ++*names;
    while ((*names)[n] && (*names)[n] != ' ') n++;
    return n;
}

HARK_FN const struct hark_option *hark_options_clash(const struct hark_option *options,
    const struct hark_config *c, const struct hark_option **other)
{
    for (const struct hark_option *o = options; o->name; o++) {
        const char *names = o->without;
        if (names == NULL || !hark_option_asked(o, c)) continue;
        for (uint32_t n; (n = hark_options_next(&names)) != 0; names += n) {
            *other = hark_option_named(options, names, n);
            if (*other && hark_option_asked(*other, c)) return o;
        }
    }
    return NULL;
}

HARK_FN void hark_options_write(
    const struct hark_option *o, const struct hark_config *c, bool image, struct hark_words *w)
{
    for (; o->name; o++) {
        if (!hark_option_asked(o, c) || (image && !o->image)) continue;
        hark_words_add(w, " --");
        hark_words_add(w, o->name);
        if (o->value) hark_words_number(w, " ", hark_option_value(o, c));
    }
}

HARK_FN int hark_options_read(
    const struct hark_option *options, const char *text, struct hark_config *c)
{
    for (uint32_t n; (n = hark_options_next(&text)) != 0;) {
        const struct hark_option *o = n > 2 && text[0] == '-' && text[1] == '-'
                                          ? hark_option_named(options, text + 2, n - 2)
                                          : NULL;
        uint64_t value = o && o->value ? 0 : 1;
        if (o == NULL) return HARK_EINVAL;
        text += n;
        if (o->value) {
            n = hark_options_next(&text);
            for (uint32_t i = 0; i < n; i++) {
                if (text[i] < '0' || text[i] > '9' || value > UINT32_MAX) return HARK_EINVAL;
                value = value * 10 + (uint64_t)(text[i] - '0');
            }
            if (n == 0 || value < o->least || value > o->most) return HARK_EINVAL;
            text += n;
        }
        hark_option_set(o, (uint32_t)value, c);
    }
    return HARK_OK;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
