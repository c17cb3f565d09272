/* internal.h: what a connection keeps.
 *
 *   caller.c      connections that are begun here: names, and addresses one after the other
 *   listener.c    connections that others begin: strangers, until they have proved themselves
 *   connection.c  the life of both
 *   queue.c, socket.c, channel.c, handshake.c   what they are made of
 *
 * Memory of a connection lives until the loop has let go of its handles, so whoever has called an
 * event can look at its stage afterwards, whatever the event has done.
 */
#ifndef HARK_AGENT_INTERNAL_H
#define HARK_AGENT_INTERNAL_H

#include "channel.h"
#include "connection.h"
#include "queue.h"
#include "socket.h"

_Static_assert(HARK_CONNECTION_KEY == HARK_CHANNEL_KEY, "one key");
_Static_assert(HARK_CONNECTION_MESSAGE == HARK_CHANNEL_MESSAGE, "one limit");

enum hark_stage {
    HARK_STAGE_NAME,    /* caller: its name is looked up, or no address is being tried */
    HARK_STAGE_CONNECT, /* caller */
    HARK_STAGE_SHAKE,
    HARK_STAGE_OPEN,
    HARK_STAGE_FLUSH, /* closed here; what was said is still sent */
    HARK_STAGE_GONE   /* to be freed when libuv is through with it */
};

struct hark_watch { /* a socket; apart, since one connection may try several */
    uv_poll_t poll;
    struct hark_connection *c; /* NULL: it is closed */
    int fd, events;
};

struct hark_connection {
    enum hark_stage stage;
    bool paused;
    bool high;   /* more than HARK_CONNECTION_HIGH was waiting */
    int trouble; /* libuv could not watch it: a negative errno */
    uv_loop_t *loop;
    uv_timer_t timer; /* deadline; while open, when silence is looked at */
    struct hark_watch *watch;
    uint32_t handshake_ms, silent_ms;
    struct hark_silence silence;
    struct hark_channel channel;
    struct hark_queue out;
    struct hark_connection_events events;
    char ours[HARK_SOCKET_TEXT], theirs[HARK_SOCKET_TEXT];
    void *owner;
    /* It has ended before it was opened: whoever began it decides. */
    void (*unopened)(struct hark_connection *c, const char *why);
    /* It is opened, or gone, or has an owner since it was opened: NULL from then on. May set
     * another. */
    void (*let_go)(struct hark_connection *c);
    struct hark_caller *caller;
    struct hark_listener *listener;
    struct hark_connection *before, *next; /* strangers of a listener */
};

/* NULL: no memory. Its timer does not run. */
struct hark_connection *hark_connection_new(
    const struct hark_connection_config *config, enum hark_stage stage);
/* Watches the socket, which is taken over, also if it fails. 0, or a negative errno. */
int hark_connection_attach(struct hark_connection *c, int fd, enum hark_stage stage);
/* Closes the socket. */
void hark_connection_detach(struct hark_connection *c);
/* So long it may take until it is opened, from now. */
void hark_connection_hurry(struct hark_connection *c);
/* The end of it, without a word. */
void hark_connection_release(struct hark_connection *c);

#endif
