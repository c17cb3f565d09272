/* coded.h: one generation of a code: the images of a set of hosts that it protects, as bytes in
 * messages and in a file. */
#ifndef HARK_AGENT_CODED_H
#define HARK_AGENT_CODED_H

#include "../control/control.h"
#include "code.h"

#define HARK_CODED_SUM 16u

struct hark_coded_item { /* an image */
    uint32_t host, rank; /* host: by its place in the set */
    uint64_t id, length;
    uint64_t row;                /* of its host's units, its first one; not in messages */
    uint8_t sum[HARK_CODED_SUM]; /* its last bytes, which are its checksum */
    bool undone;                 /* its checkpoint was: it is of no use by itself */
};

struct hark_coded {       /* all zero: none */
    uint64_t number, run; /* its name: numbers grow, and run is of one run of the job */
    struct hark_code code;
    uint32_t me;                  /* the host that has this */
    char *host[HARK_CODE_MOST];   /* names; owned */
    struct hark_coded_item *item; /* by host; owned */
    uint32_t items;
    uint64_t rows; /* of units that each chunk has, and each parity; not in messages */
};

/* False: no memory. */
bool hark_coded_add(struct hark_coded *g, const struct hark_coded_item *item);
/* Rows, when all lengths are known. */
void hark_coded_measure(struct hark_coded *g);
/* NULL: it does not have that one, or of an undone checkpoint. */
const struct hark_coded_item *hark_coded_find(
    const struct hark_coded *g, uint32_t rank, uint64_t id);
bool hark_coded_is(const struct hark_coded *g, uint64_t number, uint64_t run);
void hark_coded_put(struct hark_control *m, const struct hark_coded *g);
/* False: it can not be read, or is none. Then and later: hark_coded_free(). */
bool hark_coded_get(struct hark_control *m, struct hark_coded *g);
void hark_coded_free(struct hark_coded *g);

#endif
