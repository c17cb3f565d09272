/* codes.h: what codes.c keeps and coding.c makes: generations of codes over sets of hosts. */
#ifndef HARK_SUPERVISOR_CODES_H
#define HARK_SUPERVISOR_CODES_H

#include "../agent/coded.h"
#include "internal.h"

enum hark_code_part { /* of what one host of the set is to have */
    HARK_PART_ASKED,
    HARK_PART_PREPARED, /* its images are linked, and their lengths known */
    HARK_PART_THERE,
    HARK_PART_GONE
};

struct hark_generation_of_set {
    struct hark_generation_of_set *next;
    struct hark_coded table;
    struct host *host[HARK_CODE_MOST]; /* NULL: it is not of this run */
    enum hark_code_part part[HARK_CODE_MOST];
    bool made; /* by all, once */
};

struct hark_codes {
    struct hark_generation_of_set *first;
    uint64_t number, run; /* of the last generation; of this run */
    uint64_t *fresh;      /* of each rank: the checkpoint that waits to be decided; 0: none */
    struct host **chosen; /* hosts that are in sets, room for all; and of each ... */
    uint32_t *rack, *set;
    uint32_t failed;     /* so many in a row could not be made, */
    uint64_t try_at;     /* and until then no other one is (hark_lease_now()) */
    uint32_t hosts_said; /* how many were chosen when it was last said */
    bool rack_said;
    char *place; /* that START has */
};

/* Are all parts there, on hosts that live? */
bool hark_sup_code_is_whole(const struct hark_generation_of_set *g);
struct hark_generation_of_set *hark_sup_code_find(
    const struct supervisor *s, uint64_t number, uint64_t run);
/* Takes over the table; NULL: no memory, and the caller still has it. */
struct hark_generation_of_set *hark_sup_code_add(struct supervisor *s, struct hark_coded *table);
/* The hosts that have some of it remove it. */
void hark_sup_code_drop(struct supervisor *s, struct hark_generation_of_set *g);
void hark_sup_code_say_drop(struct host *h, uint64_t number, uint64_t run);
/* Does a generation that is whole have the image? `but`: not that one, and none before it; NULL:
 * any. */
bool hark_sup_code_covers(const struct supervisor *s, uint32_t rank, uint64_t id,
    const struct hark_generation_of_set *but);

#endif
