/* Strangers at real sockets: wrong keys, recordings, damage, slowness, other protocols. */
#include <fcntl.h>

#include "../../src/agent/channel.h"
#include "relay.h"

/* A stranger's socket; what it says fits the system's buffers. */
static int stranger(const struct world *w, const void *said, size_t length)
{
    int fd = connect_to(hark_listener_port(w->listener));
    if (length) assert_int_equal(send(fd, said, length, MSG_NOSIGNAL), length);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* True: the other has closed it. */
static bool is_closed(int fd)
{
    uint8_t b[256];
    ssize_t n;
    do n = recv(fd, b, sizeof b, 0);
    while (n > 0);
    return n == 0 || errno != EAGAIN;
}

static void the_wrong_key(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.caller.config.key[0] ^= 1;
    world_listen(&w, 0);
    (void)world_call(&w, &w.caller);
    until(&w, w.caller.closed && hark_listener_refused(w.listener));
    assert_non_null(strstr(w.caller.why, ": the other end has another key"));
    assert_int_equal(hark_listener_refused(w.listener), 1);
    assert_int_equal(w.caller.opened + w.called.opened + w.called.closed, 0);
    world_close(&w);
}

/* Two jobs, each with its key: who calls the other one's listener is refused, and its own goes on.
 */
static void two_jobs(void **state)
{
    (void)state;
    struct world w, other;
    world_open(&w);
    world_meet(&w);
    memset(&other, 0, sizeof other);
    other.loop = w.loop; /* not used */
    end_init(&w, &other.caller, "another job's");
    end_init(&w, &other.called, "another job's");
    char error[200];
    assert_int_equal(
        hark_listener_open(&other.listener, &other.called.config, "127.0.0.1", 0, error), 0);
    (void)world_call(&other, &other.caller);
    until(&w, other.caller.opened && other.called.opened);
    struct end astray = {0};
    end_init(&w, &astray, "another job's");
    (void)world_call(&w, &astray);
    until(&w, astray.closed);
    assert_int_equal(hark_connection_say(w.caller.c, "mine", 4), 0);
    assert_int_equal(hark_connection_say(other.caller.c, "yours", 5), 0);
    until(&w, w.called.messages && other.called.messages);
    assert_int_equal(w.called.bytes, 4);
    assert_int_equal(other.called.bytes, 5);
    assert_int_equal(astray.opened, 0);
    assert_int_equal(w.called.opened, 1);
    hark_connection_close(other.caller.c, false);
    hark_connection_close(other.called.c, false);
    hark_listener_close(other.listener);
    world_close(&w);
}

/* Who records all that two have said can say none of it again, to either of them. */
static void recordings(void **state)
{
    (void)state;
    struct world w;
    struct relay r;
    world_open(&w);
    world_listen(&w, 0);
    relay_open(&r, hark_listener_port(w.listener));
    relay_call(&r, &w.caller);
    relay_until(&r, &w, w.caller.opened && w.called.opened);
    size_t handshake = r.way[0].length;
    assert_int_equal(hark_connection_say(w.caller.c, "order", 5), 0);
    assert_int_equal(hark_connection_say(w.called.c, "answer", 6), 0);
    relay_until(&r, &w, w.caller.messages && w.called.messages);
    hark_connection_close(w.caller.c, true);
    w.caller.c = NULL;
    relay_until(&r, &w, w.called.closed);
    assert_string_equal(w.called.why, HARK_CONNECTION_ENDED);

    const size_t lengths[] = {handshake, r.way[0].length};
    for (size_t i = 0; i < 2; i++) { /* the handshake alone, and all */
        uint64_t before = hark_listener_refused(w.listener);
        int fd = stranger(&w, r.way[0].kept, lengths[i]);
        until(&w, hark_listener_refused(w.listener) > before);
        close(fd);
    }
    assert_int_equal(w.called.opened, 1);
    assert_int_equal(w.called.messages, 1);

    relay_play(&r); /* it answers a caller with what was said then */
    relay_call(&r, &w.caller);
    relay_until(&r, &w, w.caller.closed);
    assert_non_null(strstr(w.caller.why, "the other end has another key"));
    assert_int_equal(w.caller.opened, 1);
    assert_int_equal(w.caller.messages, 1);
    relay_close(&r);
    world_close(&w);
}

static void say_and_close(struct end *e)
{
    assert_int_equal(hark_connection_say(e->c, "order", 5), 0);
    hark_connection_close(e->c, true);
    e->c = NULL;
}

/* One end says a message and ends it; byte `at` of what it says from the first one on is changed.
 * Returns how much it has said. */
static size_t session(int way, size_t at, bool *ended)
{
    struct world w;
    struct relay r;
    world_open(&w);
    world_listen(&w, 0);
    relay_open(&r, hark_listener_port(w.listener));
    r.way[way].change = at;
    struct end *hears = way ? &w.caller : &w.called;
    (way ? &w.called : &w.caller)->on_opened = say_and_close;
    relay_call(&r, &w.caller);
    relay_until(&r, &w, hears->closed || (!way && hark_listener_refused(w.listener)));
    assert_true(hears->messages <= 1);
    if (hears->messages) assert_true(hears->sum == sum_of(0, (const uint8_t *)"order", 5));
    *ended = hears->messages == 1 && strcmp(hears->why, HARK_CONNECTION_ENDED) == 0;
    relay_close(&r);
    world_close(&w);
    return r.way[way].length;
}

static void each_byte_changed(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        bool ended;
        size_t length = session(way, SIZE_MAX, &ended);
        assert_true(ended);
        assert_true(length > 150);
        for (size_t at = 0; at < length; at++) {
            (void)session(way, at, &ended);
            if (ended) fail_msg("byte %zu of way %d was not missed", at, way);
        }
    }
}

/* Says nothing, a byte, almost all of a hello, or hello and no proof: it is dropped in time. */
static void slow_ones(void **state)
{
    (void)state;
    struct world w;
    uint8_t hello[69] = {'h', 'a', 'r', 'k', 1};
    const size_t said[] = {0, 1, sizeof hello - 1, sizeof hello};
    int fd[4];
    world_open(&w);
    w.called.config.handshake_ms = 50;
    world_listen(&w, 0);
    for (size_t i = 0; i < 4; i++) fd[i] = stranger(&w, hello, said[i]);
    until(&w, hark_listener_refused(w.listener) == 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(is_closed(fd[i]));
        close(fd[i]);
    }
    world_close(&w);
}

/* A byte from time to time makes the deadline no later. */
static void a_trickle(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.called.config.handshake_ms = 100;
    world_listen(&w, 0);
    int fd = stranger(&w, "hark\1", 5);
    uint64_t begun = uv_now(&w.loop), said = begun;
    uv_timer_start(&w.patience, out_of_patience, 30000, 0);
    while (hark_listener_refused(w.listener) == 0) {
        (void)uv_run(&w.loop, UV_RUN_NOWAIT);
        if (uv_now(&w.loop) - said < 5) continue;
        said = uv_now(&w.loop);
        (void)send(fd, "x", 1, MSG_NOSIGNAL);
    }
    assert_true(uv_now(&w.loop) - begun >= 99);
    close(fd);
    world_close(&w);
}

/* Who listens and says nothing is given up too. */
static void a_mute_listener(void **state)
{
    (void)state;
    struct world w;
    struct relay r;
    world_open(&w);
    relay_open(&r, 0);
    w.caller.config.handshake_ms = 50;
    relay_call(&r, &w.caller);
    until(&w, w.caller.closed);
    assert_non_null(strstr(w.caller.why, ": no answer in time"));
    relay_close(&r);
    world_close(&w);
}

/* The other end, outside the loop: hears what has come, and answers it. True: it is open. */
static bool answer(struct hark_channel *c, int fd)
{
    size_t length;
    const uint8_t *at;
    for (;;) {
        enum hark_channel_event event = hark_channel_next(c, &at, &length);
        if (event == HARK_CHANNEL_OPENED) return true;
        if (event == HARK_CHANNEL_REPLY) {
            assert_int_equal(send(fd, at, length, MSG_NOSIGNAL), length);
            if (c->state != HARK_CHANNEL_STREAM) return false;
            continue;
        }
        uint8_t *to = hark_channel_room(c, &length);
        ssize_t n = recv(fd, to, length, 0);
        assert_true(n > 0);
        hark_channel_came(c, (size_t)n);
    }
}

/* Who was busy past its own deadline looks first at what has come meanwhile, at each step. */
static void a_busy_caller(void **state)
{
    (void)state;
    enum { DEADLINE = 100 };
    int fd = -1;
    struct world w;
    struct relay r;
    struct hark_channel c;
    world_open(&w);
    relay_open(&r, 0);
    w.caller.config.handshake_ms = DEADLINE;
    hark_channel_open(&c, false, w.caller.config.key);
    relay_call(&r, &w.caller);
    until(&w, fd >= 0 || (fd = accept4(r.listening, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    for (bool open = false; !open;) {
        open = answer(&c, fd);
        uint64_t begun = uv_hrtime();
        while (uv_hrtime() - begun < 2 * DEADLINE * 1000000ull) continue;
        (void)uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(w.caller.opened, 1);
    hark_channel_close(&c);
    close(fd);
    relay_close(&r);
    world_close(&w);
}

static void other_versions(void **state)
{
    (void)state;
    struct world w;
    struct relay r;
    uint8_t b[100];
    world_open(&w);
    world_listen(&w, 0);
    int fd = stranger(&w, "hark\2 what a later one says", 27);
    until(&w, hark_listener_refused(w.listener) == 1);
    assert_int_equal(recv(fd, b, sizeof b, 0), 5);
    assert_memory_equal(b, "hark\1", 5);
    assert_true(is_closed(fd));
    close(fd);
    relay_open(&r, 0);
    r.plays = true;
    memcpy(r.way[1].kept, "hark\2", 5);
    r.way[1].length = 5;
    relay_call(&r, &w.caller);
    relay_until(&r, &w, w.caller.closed);
    assert_non_null(
        strstr(w.caller.why, ": the other end speaks another version, 2, and this one 1"));
    relay_close(&r);
    world_close(&w);
}

/* There is room for four: each new one takes the place of the oldest, also when it is one that
 * would have proved itself. */
static void room_for_a_few(void **state)
{
    (void)state;
    enum { FEW = 4, MORE = 6 };
    struct world w;
    int fd[FEW + MORE];
    world_open(&w);
    world_listen(&w, FEW);
    for (int i = 0; i < FEW + MORE; i++) fd[i] = stranger(&w, "h", 1);
    until(&w, hark_listener_refused(w.listener) == MORE);
    for (int i = 0; i < FEW + MORE; i++) assert_int_equal(is_closed(fd[i]), i < MORE);
    (void)world_call(&w, &w.caller);
    until(&w, w.called.opened && w.caller.opened);
    assert_int_equal(hark_listener_refused(w.listener), MORE + 1);
    assert_true(is_closed(fd[MORE]));
    assert_false(is_closed(fd[MORE + 1])); /* it takes no place any more */
    for (int i = 0; i < FEW + MORE; i++) close(fd[i]);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_wrong_key), cmocka_unit_test(two_jobs),
        cmocka_unit_test(recordings), cmocka_unit_test(each_byte_changed),
        cmocka_unit_test(slow_ones), cmocka_unit_test(a_trickle), cmocka_unit_test(a_mute_listener),
        cmocka_unit_test(a_busy_caller), cmocka_unit_test(other_versions),
        cmocka_unit_test(room_for_a_few)};
    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
