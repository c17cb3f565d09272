/* fabric_strangers.h: neighbours of an end over libfabric's tcp that throw garbage at its port, or
 * do not know the key of the job. */
#ifndef HARK_TEST_FABRIC_STRANGERS_H
#define HARK_TEST_FABRIC_STRANGERS_H

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "harness.h"

/* ---- who does not know the key --------------------------------------------------------------- */

static struct hark_transport *fabric_stranger;

static inline void *fabric_no_place(void *self, const struct hark_frame *frame)
{
    (void)self, (void)frame;
    return NULL;
}

static inline void fabric_must_not_arrive(
    void *self, const struct hark_frame *frame, const void *payload)
{
    (void)self, (void)frame, (void)payload;
    must(false, "a stranger is answered", __FILE__, __LINE__);
}

static inline void fabric_must_not_break(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame, (void)payload;
    must(false, "a stranger was sent half a frame", __FILE__, __LINE__);
}

static inline void fabric_wrong_key(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    static const uint8_t header[40];
    struct hark_transport_config config = *victim;
    struct hark_outgoing frame = {.to = victim->me, .inc = victim->inc, .header = {header, 40}};
    char error[200];
    if (!fabric_stranger) {
        config.me = as;
        config.address = NULL;
        config.key[31] ^= 1;
        config.sink = (struct hark_sink){
            NULL, fabric_no_place, fabric_must_not_arrive, fabric_must_not_break};
        MUST(hark_fabric_transport.open(&fabric_stranger, &config, error) == HARK_T_OK);
    }
    MUST(
        hark_fabric_transport.peer(fabric_stranger, victim->me, victim->inc, address) == HARK_T_OK);
    if (round % 4 == 1) (void)hark_fabric_transport.send(fabric_stranger, &frame);
    for (int i = 0; i < 4; i++) MUST(hark_fabric_transport.poll(fabric_stranger) == 0);
}

/* ---- who speaks another language ------------------------------------------------------------- */

static int fabric_open_fds[128];
static size_t fabric_open_count;

/* The last word of the address is the bytes of a sockaddr_in. */
static inline int fabric_connect_to(const char *address)
{
    const char *hex = strrchr(address, ':') + 1;
    struct sockaddr_in at;
    uint8_t bytes[sizeof at];
    MUST(strlen(hex) == 2 * sizeof at);
    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned byte = 0;
        MUST(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (uint8_t)byte;
    }
    memcpy(&at, bytes, sizeof at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static inline void fabric_noise(const char *address, unsigned round)
{
    uint8_t text[300];
    const int fd = fabric_connect_to(address);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)mix(round * 1000 + i);
    (void)!send(fd, text, mix(round) % sizeof text, MSG_NOSIGNAL);
    if (round % 3 && fabric_open_count < sizeof fabric_open_fds / sizeof *fabric_open_fds)
        fabric_open_fds[fabric_open_count++] = fd;
    else close(fd);
}

static inline void fabric_garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    if (round % 2) fabric_wrong_key(victim, address, as, round);
    else fabric_noise(address, round);
}

static inline void fabric_hang_up(void)
{
    while (fabric_open_count > 0) close(fabric_open_fds[--fabric_open_count]);
    if (fabric_stranger) hark_fabric_transport.close(fabric_stranger);
    fabric_stranger = NULL;
}

#endif
