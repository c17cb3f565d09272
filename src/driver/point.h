/* point.h: named points at which a test lets a process die, or stop: HARK_POINT(name, rank), rank
 * that of the process. Nothing in what is shipped. Test builds define HARK_POINTS and bring the
 * functions (test/kill/points.c). */
#ifndef HARK_DRIVER_POINT_H
#define HARK_DRIVER_POINT_H

#ifdef HARK_POINTS
#include <stdint.h>

void hark_point(const char *name, uint32_t rank);
const char *hark_point_listen(void); /* where the transport listens; NULL: where it likes */
const char *hark_point_address(const char *own); /* what others are told instead */
#define HARK_POINT(name, rank)  hark_point(name, rank)
#define HARK_POINT_LISTEN       hark_point_listen()
#define HARK_POINT_ADDRESS(own) hark_point_address(own)
#else
#define HARK_POINT(name, rank)  ((void)0)
#define HARK_POINT_LISTEN       NULL
#define HARK_POINT_ADDRESS(own) (own)
#endif

#endif
