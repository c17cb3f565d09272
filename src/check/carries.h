/* carries.h: what a frame carries, as people read it. */
#ifndef HARK_CHECK_CARRIES_H
#define HARK_CHECK_CARRIES_H

#include "local.h"

enum { CARRIES_BYTES = 128, CARRIES_BRIEF = 12 };

/* A frame of the lab's protocol that the process lab->who_now sends: "1, phase 2", "REPORT 1 of p0", "2, p0 took p1.1
 * p2.1"; and in a word: "1", "REPORT". What does not fit is cut off. */
void carries(const struct lab *lab, struct hark_bytes header, char text[CARRIES_BYTES], char brief[CARRIES_BRIEF]);

#endif
