/* heard.h: for how long nothing of the other system has come over a connection that waits for it.
 */
#ifndef HARK_UV_HEARD_H
#define HARK_UV_HEARD_H

/* Milliseconds since the other system last acknowledged anything, where it should have: this one
 * sends something again and again, or can not send it though the other has room. 0: it should not,
 * or the system does not know. `fd` is a TCP socket. */
unsigned hark_uv_unheard_for(int fd);

#endif
