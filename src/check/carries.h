/* carries.h: what a frame carries, as people read it. */
#ifndef HARK_CHECK_CARRIES_H
#define HARK_CHECK_CARRIES_H

#include "local.h"

enum { CARRIES_BYTES = 128, CARRIES_BRIEF = 12 };

struct carries {
    char text[CARRIES_BYTES];  /* "1, phase 2", "REPORT 1 of p0", "2, p0 took p1.1 p2.1"; what does
                                * not fit is cut off
                                */
    char brief[CARRIES_BRIEF]; /* in a word: "1", "REPORT" */
    struct hark_names spared;  /* messages of its sender's that, as it says, need not be sent; last
                                  0: none */
};

/* Of a frame of the lab's protocol that the process lab->who_now sends. */
void carries(const struct lab *lab, struct hark_bytes header, struct carries *c);

#endif
