/* words.h: text of others in pictures (SVG). */
#ifndef HARK_VIEW_WORDS_H
#define HARK_VIEW_WORDS_H

#include <stddef.h>
#include <stdio.h>

enum hark_words_end {
    HARK_WORDS_HEAD,
    HARK_WORDS_TAIL
}; /* which is kept: of a sentence its head, of a path its tail */

/* Characters of it. */
size_t hark_words_length(const char *text);
/* Writes at most `most` characters of it, a sign for what is cut off being one of them, as XML
 * takes it: bytes that are no UTF-8, and what XML may not have, become U+FFFD, ends of lines and
 * tabs blanks. */
void hark_words(const char *text, size_t most, enum hark_words_end kept, FILE *f);

#endif
