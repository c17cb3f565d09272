/* json.h: what all that write JSON share. */
#ifndef HARK_JSON_H
#define HARK_JSON_H

#include <stdio.h>

#include "utf8.h"

/* The text in quotes, with what JSON does not allow in them escaped; a byte that is no UTF-8
 * becomes U+FFFD. */
static inline void hark_json_string(FILE *f, const char *text)
{
    uint32_t code;
    fputc('"', f);
    for (size_t n; *text; text += n ? n : 1) {
        n = hark_utf8(text, SIZE_MAX, &code);
        if (n == 0) fputs("\\ufffd", f);
        else if (code == '"' || code == '\\') fprintf(f, "\\%c", *text);
        else if (code < 0x20 || code == 0x7f) fprintf(f, "\\u%04x", (unsigned)code);
        else fwrite(text, 1, n, f);
    }
    fputc('"', f);
}
#endif
