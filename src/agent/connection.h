/* connection.h: messages between a supervisor and its agents, over TCP.
 *
 * Before any message both ends prove that they know the job's key, by keyed hashes over fresh
 * nonces and fresh public keys of both; what follows is encrypted and authenticated, in order,
 * under keys that only this connection has (channel.h). So an old connection that was recorded can
 * neither be replayed nor, when the key becomes known later, be read. Who does not prove it, is too
 * slow, or sends anything else, is dropped and counted, and nobody else notices.
 *
 * All calls come from the thread of the loop; events come from the loop only, never during a call.
 * Functions of `events` may call any function here, and close any connection, also the one that
 * they are called for.
 */
#ifndef HARK_AGENT_CONNECTION_H
#define HARK_AGENT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define HARK_CONNECTION_KEY     32u
#define HARK_CONNECTION_MESSAGE (16u << 20) /* no message is longer, bytes */

struct hark_connection;
struct hark_listener;

struct hark_connection_events {
    void *self;
    /* Both have proved that they know the key: from now on messages can be said. */
    void (*opened)(void *self, struct hark_connection *c);
    /* A message has come; its bytes are valid during this call, also if it closes the connection.
     * Not while it is paused. */
    void (*message)(void *self, struct hark_connection *c, const uint8_t *at, size_t length);
    /* What was said is less than HARK_CONNECTION_LOW bytes again, and was more than
     * HARK_CONNECTION_HIGH. May be NULL. */
    void (*room)(void *self, struct hark_connection *c);
    /* It has ended by itself (not by hark_connection_close): `why` in one line, without a full
     * stop. For one that was never opened too, if we began it. The connection is gone when this
     * returns; in it nothing can be said any more, and closing it does nothing. */
    void (*closed)(void *self, struct hark_connection *c, const char *why);
};
/* `why` if the other end has closed it with flush, and all that it said has come. Any other is a
 * cut, after which messages may be missing. */
#define HARK_CONNECTION_ENDED "the other end has ended it"
/* What lies between them is encrypted in one turn of the loop, for each connection; beats wait for
 * it. */
#define HARK_CONNECTION_HIGH (1u << 20)
#define HARK_CONNECTION_LOW  (256u << 10)

struct hark_connection_config {
    uv_loop_t *loop;
    uint8_t key[HARK_CONNECTION_KEY];
    struct hark_connection_events events; /* of every connection that a listener accepts, too */
    /* So long a handshake may take in all, and so long a connection to one address, or the answer
     * to a name; 0: 10000. */
    uint32_t handshake_ms;
    /* So long sent bytes may stay unacknowledged by the other host's kernel; then it ends, at 1.25
     * times this. An idle one is asked each second, and ends after 3 seconds without an answer, or
     * this if it is more. The other's kernel answers for a process that is paused, stopped or busy;
     * 0: 5000. */
    uint32_t silent_ms;
};

/* Listens on `host` (a name or numeric address, IPv4 or IPv6; NULL: on all interfaces) and a port
 * that the system chooses. Accepts at most `strangers` (0: 128) at a time that have not proved
 * themselves; the oldest makes room for a new one. A name is looked up before this returns. 0, or a
 * negative errno, and then a line in error. */
int hark_listener_open(struct hark_listener **l, const struct hark_connection_config *config,
    const char *host, uint32_t strangers, char error[200]);
uint16_t hark_listener_port(const struct hark_listener *l);
uint64_t hark_listener_refused(const struct hark_listener *l); /* connections dropped as above */
/* Accepts no more, and drops strangers, and who has no owner yet; `closed` is not called for them.
 * Connections that have an owner stay. */
void hark_listener_close(struct hark_listener *l);

/* Connects to "HOST:PORT" ("[ADDRESS]:PORT" for IPv6; HOST may be a name: all its addresses are
 * tried). events.opened or events.closed says what became of it. 0, or a negative errno, and then a
 * line in error. */
int hark_connection_begin(struct hark_connection **c, const struct hark_connection_config *config,
    const char *address, char error[200]);

/* Sends a message of 1 .. HARK_CONNECTION_MESSAGE bytes, which are copied. 0; -EINVAL (its length);
 * -ENOTCONN (not opened, or ending); -ENOMEM. */
int hark_connection_say(struct hark_connection *c, const void *at, size_t length);
/* Said and not yet taken by the kernel, bytes. */
size_t hark_connection_waiting(const struct hark_connection *c);
/* While paused no message is given, and the other's bytes stay in the kernel, so that it waits.
 * That the connection was cut is told all the same, and then what was not given is lost; an orderly
 * end comes behind the messages. */
void hark_connection_pause(struct hark_connection *c, bool paused);
/* Ours and theirs, numeric, without a port: "10.0.0.1", "fe80::1". Valid while opened. */
const char *hark_connection_our_address(const struct hark_connection *c);
const char *hark_connection_their_address(const struct hark_connection *c);
/* For the caller's use. One that a listener accepted is the listener's until it has an owner. */
void hark_connection_own(struct hark_connection *c, void *owner);
void *hark_connection_owner(const struct hark_connection *c);
/* Ends it; `closed` is not called, and nothing else. With `flush` what was said is sent first, as
 * long as the other takes it and no longer than silent_ms in all; the loop stays busy with it until
 * then. Without it the other end sees a cut. */
void hark_connection_close(struct hark_connection *c, bool flush);

#endif
