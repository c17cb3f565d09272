/* json.h: what all that write JSON share. */
#ifndef HARK_JSON_H
#define HARK_JSON_H

#include <stdio.h>

/* The text in quotes, with what JSON does not allow in them escaped; bytes above 0x7f are taken to be UTF-8. */
static inline void hark_json_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') fprintf(f, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f) fprintf(f, "\\u%04x", *c);
        else fputc(*c, f);
    }
    fputc('"', f);
}
#endif
