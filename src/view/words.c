#include "words.h"

#include "../utf8.h"

static const char *behind(const char *text)
{
    uint32_t code;
    size_t n = hark_utf8(text, SIZE_MAX, &code);
    return text + (n ? n : 1);
}

size_t hark_words_length(const char *text)
{
    size_t length = 0;
    for (; *text; text = behind(text)) length++;
    return length;
}

static void put(const char *text, FILE *f)
{
    uint32_t code;
    size_t n = hark_utf8(text, SIZE_MAX, &code);
    if (code == '\t' || code == '\n' || code == '\r') fputc(' ', f);
    else if (code == HARK_NO_CHARACTER || code < ' ' || code == 0xfffe || code == 0xffff)
        fputs("\xef\xbf\xbd", f);
    else if (code == '<') fputs("&lt;", f);
    else if (code == '>') fputs("&gt;", f);
    else if (code == '&') fputs("&amp;", f);
    else fwrite(text, 1, n, f);
}

void hark_words(const char *text, size_t most, enum hark_words_end kept, FILE *f)
{
    static const char cut[] = "\xe2\x80\xa6"; /* … */
    size_t length = hark_words_length(text);
    const size_t show = length <= most ? length : most ? most - 1 : 0;
    if (show < length && most && kept == HARK_WORDS_TAIL) fputs(cut, f);
    for (size_t over = kept == HARK_WORDS_TAIL ? length - show : 0; over; over--)
        text = behind(text);
    for (size_t i = 0; i < show; i++, text = behind(text)) put(text, f);
    if (show < length && most && kept == HARK_WORDS_HEAD) fputs(cut, f);
}
