/* Names with several addresses, with none, and those whose answer does not come. This program has a
 * getaddrinfo() of its own, which libuv calls from its threads. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdatomic.h>

#include "relay.h"

static const char *const *addresses; /* numeric, up to NULL */
static atomic_bool held;             /* no answer until it is false */

static struct addrinfo *made(const char *host, const char *port, struct addrinfo *next)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in address;
    } *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->address = at_port((uint16_t)(port ? atoi(port) : 0));
    if (inet_pton(AF_INET, host, &a->address.sin_addr) != 1) {
        free(a);
        return NULL;
    }
    a->info = (struct addrinfo){.ai_family = AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_addr = (struct sockaddr *)&a->address,
        .ai_addrlen = sizeof a->address,
        .ai_next = next};
    return &a->info;
}

int getaddrinfo(const char *restrict host, const char *restrict port,
    const struct addrinfo *restrict hints, struct addrinfo **restrict to)
{
    size_t count = 0;
    *to = strspn(host, "0123456789.") == strlen(host) ? made(host, port, NULL) : NULL;
    if (*to) return 0;
    if (hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
    while (held) uv_sleep(1);
    while (addresses && addresses[count]) count++;
    while (count > 0) *to = made(addresses[--count], port, *to);
    return *to ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *all)
{
    while (all) {
        struct addrinfo *next = all->ai_next;
        free(all);
        all = next;
    }
}

static int listen_at(const char *host, uint16_t port)
{
    struct sockaddr_in a = at_port(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(inet_pton(AF_INET, host, &a.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 10), 0);
    return fd;
}

static struct hark_connection *call_name(struct world *w, const char *name)
{
    char address[40], error[200];
    struct hark_connection *c;
    snprintf(address, sizeof address, "%s:%u", name, hark_listener_port(w->listener));
    assert_int_equal(hark_connection_begin(&c, &w->caller.config, address, error), 0);
    return c;
}

/* The first that this program does: nobody has made libsodium ready yet. */
static void a_caller_alone(void **state)
{
    (void)state;
    struct world w;
    struct hark_connection *c;
    char error[200];
    world_open(&w);
    assert_int_equal(hark_connection_begin(&c, &w.caller.config, "127.0.0.1:1", error), 0);
    until(&w, w.caller.closed);
    world_close(&w);
}

/* Nobody at the first, somebody mute at the second, another version at the third: and then the one
 * that is meant, or nobody. */
static void several(void **state)
{
    (void)state;
    static const char *const right[] = {"127.0.0.4", "127.0.0.2", "127.0.0.3", "127.0.0.1", NULL};
    static const char *const wrong[] = {"127.0.0.2", "127.0.0.3", "127.0.0.4", NULL};
    for (int how = 0; how < 2; how++) {
        struct world w;
        world_open(&w);
        world_listen(&w, 0);
        const unsigned before = descriptors();
        uint16_t port = hark_listener_port(w.listener);
        int mute = listen_at("127.0.0.2", port), other = listen_at("127.0.0.3", port), fd = -1;
        addresses = how ? wrong : right;
        w.caller.config.handshake_ms = 500; /* of which the mute one takes all */
        (void)call_name(&w, "several");
        until(&w, fd >= 0 || (fd = accept4(other, NULL, NULL, SOCK_CLOEXEC)) >= 0);
        assert_int_equal(send(fd, "hark\2", 5, MSG_NOSIGNAL), 5);
        until(&w, w.caller.closed || (w.caller.opened && w.called.opened));
        assert_int_equal(w.caller.opened, !how);
        if (how) assert_non_null(strstr(w.caller.why, ": the other end speaks another version, 2"));
        close(mute);
        close(other);
        close(fd);
        assert_int_equal(descriptors(), before + 2 * w.caller.opened);
        world_close(&w);
    }
}

static void none(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_listen(&w, 0);
    addresses = NULL;
    (void)call_name(&w, "none");
    until(&w, w.caller.closed);
    assert_non_null(strstr(w.caller.why, "cannot connect to none port "));
    assert_non_null(strstr(w.caller.why, ": unknown node or service"));
    world_close(&w);
}

/* It is given up in time, or closed, and what comes later finds nobody. */
static void no_answer(void **state)
{
    (void)state;
    static const char *const right[] = {"127.0.0.1", NULL};
    for (int closed = 0; closed < 2; closed++) {
        struct world w;
        world_open(&w);
        world_listen(&w, 0);
        addresses = right;
        held = true;
        w.caller.config.handshake_ms = 50;
        struct hark_connection *c = call_name(&w, "slow");
        if (closed) {
            (void)uv_run(&w.loop, UV_RUN_NOWAIT);
            hark_connection_close(c, true);
        } else {
            until(&w, w.caller.closed);
            assert_non_null(strstr(w.caller.why, ": no answer in time"));
        }
        held = false;
        world_close(&w);
        assert_int_equal(w.caller.closed, !closed);
        assert_int_equal(w.caller.opened + w.called.opened, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_caller_alone), cmocka_unit_test(several),
        cmocka_unit_test(none), cmocka_unit_test(no_answer)};
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
