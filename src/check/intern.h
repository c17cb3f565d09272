/* intern.h: runs of bytes, each kept once and known by a number.
 *
 * A search meets few parts of states in very many combinations. So a state is a row of numbers,
 * parts are compared by their numbers, and equal means equal: nothing here rests on a hash alone.
 */
#ifndef HARK_CHECK_INTERN_H
#define HARK_CHECK_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct intern_entry {
    const void *at;
    uint32_t length;
};

struct intern {
    struct intern_entry *entry; /* number - 1 */
    uint64_t *slot;             /* the hash, and the number; 0: free */
    uint32_t count, room, slots;
    uint8_t *free; /* of the newest piece of memory */
    uint64_t left;
    void **piece;
    uint32_t pieces;
    uint64_t bytes; /* all memory that this has taken */
    bool small;     /* few are expected: it takes little memory at once */
    bool frozen;    /* nothing is added: what is not there has the number 0 */
};

/* The number of these bytes, from 1; the same bytes have the same number. 0 without memory. What
 * intern_at() gives stays where it is, 8-aligned, until intern_free(). */
uint32_t intern_put(struct intern *t, const void *at, uint32_t length);
void intern_free(struct intern *t);

static inline const void *intern_at(const struct intern *t, uint32_t number)
{
    return t->entry[number - 1].at;
}

static inline void intern_fetch(const struct intern *t, uint32_t number)
{
    __builtin_prefetch(&t->entry[number - 1]);
}

static inline uint32_t intern_length(const struct intern *t, uint32_t number)
{
    return number ? t->entry[number - 1].length : 0;
}

#endif
