/* address.h: where a run can be asked for its metrics: HOST:PORT, [ADDRESS]:PORT or unix:PATH. */
#ifndef HARK_SUPERVISOR_ADDRESS_H
#define HARK_SUPERVISOR_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#define HARK_ADDRESS_EXPECTED "HOST:PORT, [ADDRESS]:PORT or unix:PATH"

struct hark_address {
    char host[256], port[8];
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of a UNIX socket; empty: it is none */
    char where[320]; /* once it listens: the address, with the port that was chosen */
};

/* False: it is no such address. Nobody is asked for the host yet. */
bool hark_address_parse(struct hark_address *a, const char *text);
/* A socket that listens there; -1 after one line in error. A socket at the path that nobody listens
 * at is replaced. */
int hark_address_listen(struct hark_address *a, char error[400]);

#endif
