/* utf8.h: text of others (names of files, of scenarios) in formats that are UTF-8. */
#ifndef HARK_UTF8_H
#define HARK_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { HARK_NO_CHARACTER = 0xfffd }; /* Unicode's own */

/* Bytes of the character at `at`, and its number; 0, and HARK_NO_CHARACTER: none begins there (RFC
 * 3629). At least one byte is there, and `room` or a NUL ends them. */
static inline size_t hark_utf8(const char *at, size_t room, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)at;
    const size_t n = *c < 0x80   ? 1
                     : *c < 0xc2 ? 0
                     : *c < 0xe0 ? 2
                     : *c < 0xf0 ? 3
                     : *c < 0xf5 ? 4
                                 : 0;
    uint32_t number = n == 1 ? *c : *c & 0x7fu >> n;
    *code = HARK_NO_CHARACTER;
    if (n > room) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        number = number << 6 | (c[i] & 0x3f);
    }
    if (n == 0 || number < least[n] || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return 0;
    *code = number;
    return n;
}
#endif
