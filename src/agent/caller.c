/* caller.c: connections that are begun here. All addresses of a name are tried, one after the
 * other, until one has proved that it knows the key. */
#include "internal.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST = 256, PORT = 6 };

struct hark_caller {
    uv_getaddrinfo_t request;
    bool asking;               /* libuv has the request */
    struct hark_connection *c; /* NULL: nobody waits for the answer */
    struct addrinfo *all, *next;
    uint8_t key[HARK_CONNECTION_KEY];
    char host[HOST], port[PORT];
    char why[128]; /* the address that got farthest has failed */
    bool met;      /* there was somebody at an address */
};

static int failed(char error[200], int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int failed(char error[200], int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, 200, format, args);
    va_end(args);
    return status;
}

/* ---- the address that is given --------------------------------------------------------------- */

/* "HOST:PORT", "[ADDRESS]:PORT". */
static bool parse(const char *address, char host[HOST], char port[PORT])
{
    const char *colon = strrchr(address, ':');
    bool six = address[0] == '[';
    if (colon == NULL || (six && (colon < address + 3 || colon[-1] != ']'))) return false;
    size_t length = (size_t)(colon - address) - (six ? 2 : 0), digits = strlen(colon + 1);
    if (length == 0 || length >= HOST || digits == 0 || digits >= PORT) return false;
    if (strspn(colon + 1, "0123456789") != digits) return false;
    unsigned long number = strtoul(colon + 1, NULL, 10);
    memcpy(host, address + six, length);
    host[length] = 0;
    memcpy(port, colon + 1, digits + 1);
    return number > 0 && number < 65536 && (six || strchr(host, ':') == NULL);
}

/* ---- one address after the other ------------------------------------------------------------- */

static void drop(struct hark_caller *k)
{
    if (k->asking) return; /* libuv answers first */
    if (k->all) uv_freeaddrinfo(k->all);
    sodium_memzero(k, sizeof *k);
    free(k);
}

static void let_go(struct hark_connection *c)
{
    struct hark_caller *k = c->caller;
    c->caller = NULL;
    k->c = NULL;
    if (k->asking) (void)uv_cancel((uv_req_t *)&k->request);
    drop(k);
}

static void give_up(struct hark_connection *c)
{
    struct hark_caller *k = c->caller;
    char why[HOST + PORT + sizeof k->why + 32];
    snprintf(why, sizeof why, "cannot connect to %s port %s: %s", k->host, k->port, k->why);
    hark_connection_release(c);
    c->events.closed(c->events.self, c, why);
}

/* What somebody at one address has answered says more than that nobody is at another. */
static void note(struct hark_caller *k, const char *why, bool met)
{
    if (k->met && !met) return;
    snprintf(k->why, sizeof k->why, "%s", why);
    k->met = met;
}

static bool try_one(struct hark_connection *c, const struct addrinfo *a)
{
    int fd = hark_socket_new(a->ai_family), status = fd;
    if (fd >= 0) {
        bool begun = connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS;
        status = begun ? hark_connection_attach(c, fd, HARK_STAGE_CONNECT) : -errno;
        if (!begun) close(fd);
    }
    if (status < 0) {
        note(c->caller, strerror(-status), false);
        return false;
    }
    hark_channel_close(&c->channel);
    hark_channel_open(&c->channel, true, c->caller->key);
    hark_connection_hurry(c);
    return true;
}

static void try_next(struct hark_connection *c)
{
    struct hark_caller *k = c->caller;
    while (k->next) {
        const struct addrinfo *a = k->next;
        k->next = a->ai_next;
        if (try_one(c, a)) return;
    }
    give_up(c);
}

static void unopened(struct hark_connection *c, const char *why)
{
    note(c->caller, why, c->stage == HARK_STAGE_SHAKE);
    hark_connection_detach(c);
    c->stage = HARK_STAGE_NAME;
    try_next(c);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void on_begin(uv_timer_t *timer)
{
    try_next(timer->data);
}

static void on_addresses(uv_getaddrinfo_t *request, int status, struct addrinfo *all)
{
    struct hark_caller *k = request->data;
    k->asking = false;
    k->all = k->next = status == 0 ? all : NULL;
    if (k->c == NULL) {
        drop(k);
        return;
    }
    if (status != 0) note(k, uv_strerror(status), false);
    try_next(k->c);
}

/* A numeric address needs no threads, which libuv ends the program for if it has none. */
static int find(struct hark_connection *c, char error[200])
{
    struct hark_caller *k = c->caller;
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int status = getaddrinfo(k->host, k->port, &hints, &k->all);
    if (status == 0) {
        k->next = k->all;
        uv_timer_start(&c->timer, on_begin, 0, 0);
        return 0;
    }
    if (status == EAI_MEMORY) return failed(error, -ENOMEM, "no memory for a connection");
    hints.ai_flags = AI_NUMERICSERV;
    k->request.data = k;
    status = uv_getaddrinfo(c->loop, &k->request, on_addresses, k->host, k->port, &hints);
    if (status != 0)
        return failed(error, status, "cannot find %.100s: %s", k->host, uv_strerror(status));
    k->asking = true;
    hark_connection_hurry(c);
    return 0;
}

int hark_connection_begin(struct hark_connection **to, const struct hark_connection_config *config,
    const char *address, char error[200])
{
    struct hark_caller *k = sodium_init() < 0 ? NULL : calloc(1, sizeof *k);
    if (k == NULL) return failed(error, -ENOMEM, "no memory for a connection");
    if (!parse(address, k->host, k->port)) {
        free(k);
        return failed(
            error, -EINVAL, "no address: \"%.100s\"; one is HOST:PORT or [ADDRESS]:PORT", address);
    }
    struct hark_connection *c = hark_connection_new(config, HARK_STAGE_NAME);
    if (c == NULL) {
        free(k);
        return failed(error, -ENOMEM, "no memory for a connection");
    }
    memcpy(k->key, config->key, sizeof k->key);
    snprintf(k->why, sizeof k->why, "it has no address");
    k->c = c;
    c->caller = k;
    c->unopened = unopened;
    c->let_go = let_go;
    int status = find(c, error);
    if (status < 0) hark_connection_release(c);
    else *to = c;
    return status;
}
