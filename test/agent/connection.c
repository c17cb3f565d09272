/* Messages over real sockets: sizes, addresses, ends. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

/* Both ways, and each comes once, whole and in order. */
static void messages_of_all_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 17, 4095, 65535, 65536, 65537, 131072, 131073, 1000000,
        HARK_CONNECTION_MESSAGE - 1, HARK_CONNECTION_MESSAGE};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    uint8_t *b = some_bytes(HARK_CONNECTION_MESSAGE + COUNT);
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint64_t sum = 0, bytes = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(hark_connection_say(w.caller.c, b + i, sizes[i]), 0);
        assert_int_equal(hark_connection_say(w.called.c, b + i, sizes[i]), 0);
        bytes += sizes[i];
        sum = sum_of(sum, b + i, sizes[i]);
    }
    until(&w, w.caller.messages == COUNT && w.called.messages == COUNT);
    assert_int_equal(w.caller.bytes, bytes);
    assert_int_equal(w.called.bytes, bytes);
    assert_true(w.caller.sum == sum && w.called.sum == sum);
    assert_int_equal(hark_connection_say(w.caller.c, b, 0), -EINVAL);
    assert_int_equal(hark_connection_say(w.caller.c, b, HARK_CONNECTION_MESSAGE + 1), -EINVAL);
    world_close(&w);
    free(b);
}

static void many_small_ones(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(hark_connection_say(w.caller.c, &i, sizeof i), 0);
        sum = sum_of(sum, (const uint8_t *)&i, sizeof i);
    }
    until(&w, w.called.messages == COUNT);
    assert_true(w.called.sum == sum);
    world_close(&w);
}

static void an_orderly_end(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint8_t *b = some_bytes(3000000);
    assert_int_equal(hark_connection_say(w.caller.c, b, 3000000), 0);
    hark_connection_close(w.caller.c, true);
    w.caller.c = NULL;
    until(&w, w.called.closed);
    assert_string_equal(w.called.why, HARK_CONNECTION_ENDED);
    assert_int_equal(w.called.messages, 1);
    assert_int_equal(w.caller.closed, 0);
    world_close(&w);
    free(b);
}

static void a_cut(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    hark_connection_close(w.called.c, false);
    w.called.c = NULL;
    until(&w, w.caller.closed);
    assert_string_equal(w.caller.why, "it was cut");
    world_close(&w);
}

/* What is not said within silent_ms, because the other takes nothing, is not said any more. */
static void a_flush_in_vain(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.caller.config.silent_ms = 100;
    world_meet(&w);
    hark_connection_pause(w.called.c, true);
    uint8_t *b = some_bytes(HARK_CONNECTION_MESSAGE);
    assert_int_equal(hark_connection_say(w.caller.c, b, HARK_CONNECTION_MESSAGE), 0);
    hark_connection_close(w.caller.c, true);
    assert_int_equal(hark_connection_say(w.caller.c, b, 1), -ENOTCONN);
    w.caller.c = NULL;
    (void)pass_time(&w, 300);
    hark_connection_pause(w.called.c, false);
    until(&w, w.called.closed);
    assert_string_equal(w.called.why, "it was cut");
    assert_int_equal(w.called.messages, 0);
    world_close(&w);
    free(b);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void call(struct world *w, const char *host)
{
    char address[80], error[200];
    struct hark_connection *c;
    snprintf(address, sizeof address, "%s:%u", host, hark_listener_port(w->listener));
    assert_int_equal(hark_connection_begin(&c, &w->caller.config, address, error), 0);
    until(w, w->caller.closed || (w->caller.opened && w->called.opened));
}

static void meet_at(const char *listens, const char *called, const char *address)
{
    struct world w;
    char error[200];
    world_open(&w);
    int status = hark_listener_open(&w.listener, &w.called.config, listens, 0, error);
    if (status == -EADDRNOTAVAIL || status == -EAFNOSUPPORT) { /* no IPv6 here */
        assert_non_null(strchr(listens, ':'));
    } else {
        assert_int_equal(status, 0);
        call(&w, called);
        assert_int_equal(w.caller.closed, 0);
        if (address) {
            assert_string_equal(hark_connection_our_address(w.caller.c), address);
            assert_string_equal(hark_connection_their_address(w.caller.c), address);
            assert_string_equal(hark_connection_our_address(w.called.c), address);
            assert_string_equal(hark_connection_their_address(w.called.c), address);
        }
    }
    world_close(&w);
}

static void addresses(void **state)
{
    (void)state;
    meet_at("127.0.0.1", "127.0.0.1", "127.0.0.1");
    meet_at(NULL, "127.0.0.1", "127.0.0.1");
    meet_at("::1", "[::1]", "::1");
    meet_at("localhost", "localhost", NULL);
    meet_at("127.0.0.1", "localhost", "127.0.0.1"); /* also if ::1 is tried first */
    meet_at("127.0.0.2", "127.0.0.2", NULL);
}

static void addresses_that_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"", ":", ":1", "host", "host:", "host:0", "host:65536",
        "host:99999999", "host:1x", "host:-1", "::1:80", "[::1]", "[::1]80", "[]:80", "[:80"};
    struct world w;
    char error[200];
    struct hark_connection *c;
    world_open(&w);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        error[0] = 0;
        assert_int_equal(hark_connection_begin(&c, &w.caller.config, none[i], error), -EINVAL);
        assert_non_null(strstr(error, "HOST:PORT"));
    }
    assert_true(hark_listener_open(&w.listener, &w.called.config, "192.0.2.1", 0, error) < 0);
    assert_non_null(strstr(error, "cannot listen at 192.0.2.1: "));
    w.listener = NULL;
    world_close(&w);
}

static void nobody_there(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_listen(&w, 0);
    struct hark_listener *l = w.listener;
    char text[100];
    snprintf(text, sizeof text, "cannot connect to 127.0.0.1 port %u: Connection refused",
        hark_listener_port(l));
    (void)world_call(&w, &w.caller);
    hark_listener_close(l);
    w.listener = NULL;
    until(&w, w.caller.closed);
    assert_string_equal(w.caller.why, text);
    char error[200];
    struct hark_connection *c;
    assert_int_equal(hark_connection_begin(&c, &w.caller.config, "a..b:1", error), 0);
    until(&w, w.caller.closed == 2);
    assert_non_null(strstr(w.caller.why, "cannot connect to a..b port 1: "));
    world_close(&w);
}

/* A connection that has an owner stays when its listener goes; strangers, and who has no owner yet,
 * go with it. */
static void a_listener_goes(void **state)
{
    (void)state;
    struct world w;
    struct end late = {0}, nameless = {0};
    world_open(&w);
    world_meet(&w);
    struct hark_connection *owned = w.called.c;
    hark_connection_own(owned, &w);
    end_init(&w, &nameless, "key");
    (void)world_call(&w, &nameless);
    until(&w, nameless.opened == 1 && w.called.opened == 2);
    end_init(&w, &late, "key");
    (void)world_call(&w, &late);
    (void)uv_run(&w.loop, UV_RUN_NOWAIT);
    hark_listener_close(w.listener);
    w.listener = NULL;
    w.called.c = owned;
    until(&w, late.closed && nameless.closed);
    assert_int_equal(late.opened, 0);
    assert_int_equal(w.called.closed, 0); /* whoever closes a listener is not told */
    assert_int_equal(hark_connection_say(w.caller.c, "still", 5), 0);
    until(&w, w.called.messages == 1);
    world_close(&w);
}

/* Programs that are started do not get them, and one that nobody accepts holds up nothing. */
static void descriptors_of_sockets(void **state)
{
    (void)state;
    static bool others[4096];
    struct world w;
    for (int fd = 0; fd < 4096; fd++) others[fd] = fcntl(fd, F_GETFD) >= 0;
    world_open(&w);
    world_meet(&w);
    unsigned sockets = 0;
    for (int fd = 3; fd < 4096; fd++) {
        int type;
        socklen_t length = sizeof type;
        if (others[fd] || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
            type != SOCK_STREAM)
            continue;
        length = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &type, &length) != 0 || type != AF_INET) continue;
        sockets++;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    }
    assert_int_equal(sockets, 3);
    world_close(&w);
}

static void a_full_backlog(void **state)
{
    (void)state;
    enum { FULL = 4 };
    struct world w;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof a;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd[FULL];
    assert_int_equal(bind(listening, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(listening, 0), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&a, &length), 0);
    for (int i = 0; i < FULL; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fd[i], (struct sockaddr *)&a, sizeof a);
    }
    char address[40], error[200];
    struct hark_connection *c;
    world_open(&w);
    w.caller.config.handshake_ms = 50;
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(a.sin_port));
    uint64_t begun = uv_hrtime();
    assert_int_equal(hark_connection_begin(&c, &w.caller.config, address, error), 0);
    until(&w, w.caller.closed);
    assert_non_null(strstr(w.caller.why, ": no answer in time"));
    assert_true(uv_hrtime() - begun < 60000000000u); /* the system would have tried for longer */
    for (int i = 0; i < FULL; i++) close(fd[i]);
    close(listening);
    world_close(&w);
}

static void owners(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    assert_null(hark_connection_owner(w.caller.c));
    hark_connection_own(w.caller.c, &w);
    assert_ptr_equal(hark_connection_owner(w.caller.c), &w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_of_all_sizes),
        cmocka_unit_test(many_small_ones), cmocka_unit_test(an_orderly_end),
        cmocka_unit_test(a_cut), cmocka_unit_test(a_flush_in_vain), cmocka_unit_test(addresses),
        cmocka_unit_test(addresses_that_are_none), cmocka_unit_test(nobody_there),
        cmocka_unit_test(a_listener_goes), cmocka_unit_test(descriptors_of_sockets),
        cmocka_unit_test(a_full_backlog), cmocka_unit_test(owners)};
    return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
