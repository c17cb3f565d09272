/* address.h: addresses in words and as the system wants them. */
#ifndef HARK_UV_ADDRESS_H
#define HARK_UV_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_TEXT 160

struct address {
    socklen_t length; /* 0: not known */
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } at;
};

/* NULL, or what is wrong with `text`; then *a is not known. */
const char *hark_uv_address_parse(struct address *a, const char *text);
void hark_uv_address_text(const struct address *a, char text[ADDRESS_TEXT]);
/* The path of the socket of an incarnation (rank may be HARK_RECOVERY) as text of an address.
 * False: too long. */
bool hark_uv_address_local(
    char text[ADDRESS_TEXT], const char *directory, const char *job, uint32_t rank, uint32_t inc);
/* Removes all such sockets of the job. */
void hark_uv_address_sweep(const char *job, const char *directory);

static inline bool address_is_local(const struct address *a)
{
    return a->at.any.sa_family == AF_UNIX;
}

#endif
