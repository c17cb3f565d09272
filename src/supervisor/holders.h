/* holders.h: which hosts are to hold an image, so that few hosts at once, or a whole rack, can not
 * take all of them. It only computes: copies.c has the hosts. */
#ifndef HARK_SUPERVISOR_HOLDERS_H
#define HARK_SUPERVISOR_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#define HARK_HOLDERS_NONE UINT32_MAX

enum {                      /* of a host, with respect to one image */
    HARK_HOLDERS_LIVES = 1, /* it can take a copy */
    HARK_HOLDERS_HAS = 2,   /* it has one */
    HARK_HOLDERS_KIN = 4    /* it runs processes that go back together with the image's own */
};

struct hark_holders {
    uint32_t hosts;
    uint32_t *rack;  /* the number of each host's rack, below `hosts` */
    uint32_t *place; /* of each host in the ring: the first hosts of all racks, then the second ones
                      * ..., so neighbours are in different racks as far as possible */
    uint8_t *flags;
    uint8_t *used; /* of each rack, for our own use */
};

/* Computes the ring from the racks. False: no memory. */
bool hark_holders_ring(struct hark_holders *h);
/* How many living hosts are to have an image that `copies` hosts should have. */
uint32_t hark_holders_needed(const struct hark_holders *h, uint32_t copies);
/* The host for one more copy of an image of host `own`: one in a rack where none lies, then one
 * that is no kin, then the next in the ring. `nth` of several, in turn, where others did not work.
 * HARK_HOLDERS_NONE: every living host has one. */
uint32_t hark_holders_next(const struct hark_holders *h, uint32_t own, uint32_t nth);
/* Do all hosts that live stand in one rack, though there are several? */
bool hark_holders_one_rack(const struct hark_holders *h);

#endif
