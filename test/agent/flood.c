/* Strangers in thousands, and a process that has no descriptors left: who is connected goes on. */
#include <sys/resource.h>

#include "relay.h"

/* Each message is answered by another. */
static void answer(struct end *e, const uint8_t *at, size_t length)
{
    assert_int_equal(hark_connection_say(e->c, at, length), 0);
}

/* Says this or that, and is gone, or waits until it is dropped. */
static int stranger(const struct world *w, unsigned number)
{
    static const struct {
        const char *at;
        size_t length;
    } said[] = {{"", 0}, {"h", 1}, {"GET / HTTP/1.1\r\n\r\n", 18}, {"hark\1", 5},
        {"hark\1 and a nonce of thirty-two bytes, then a public key of as many.", 69},
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32}};
    size_t i = number % (sizeof said / sizeof said[0]);
    int fd = connect_to(hark_listener_port(w->listener));
    (void)send(fd, said[i].at, said[i].length, MSG_NOSIGNAL);
    if (number / 7 % 2 == 0) return fd;
    close(fd);
    return -1;
}

static void a_flood(void **state)
{
    (void)state;
    enum { COUNT = 10000, KEPT = 300 };
    struct world w;
    int kept[KEPT];
    world_open(&w);
    memset(kept, -1, sizeof kept);
    w.called.on_message = answer;
    w.caller.on_message = answer;
    const unsigned before = descriptors();
    world_meet(&w);
    const unsigned met = descriptors();
    assert_int_equal(hark_connection_say(w.caller.c, "ping", 4), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned messages = w.called.messages;
        if (kept[i % KEPT] >= 0) close(kept[i % KEPT]);
        kept[i % KEPT] = stranger(&w, i);
        until(&w, w.called.messages > messages); /* it goes on, at each of them */
    }
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i] >= 0) close(kept[i]);
    until(&w, hark_listener_refused(w.listener) == COUNT);
    assert_int_equal(w.called.opened, 1);
    assert_int_equal(w.called.closed + w.caller.closed, 0);
    assert_true(w.called.messages >= COUNT);
    unsigned messages = w.called.messages;
    until(&w, w.called.messages > messages + 1);
    assert_int_equal(descriptors(), met);
    world_close(&w);
    assert_true(descriptors() <= before); /* a loop has some */
}

/* With no descriptor left strangers are turned away at once, who is connected goes on, and then
 * there are descriptors again. */
static void no_descriptors(void **state)
{
    (void)state;
    enum { ROUNDS = 50 };
    struct world w;
    struct rlimit was, none;
    int fd[ROUNDS];
    world_open(&w);
    w.called.on_message = answer;
    w.caller.on_message = answer;
    world_meet(&w);
    assert_int_equal(hark_connection_say(w.caller.c, "ping", 4), 0);
    for (int i = 0; i < ROUNDS; i++) { /* made while that is still possible */
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd[i] >= 0);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    int next = open("/", O_PATH | O_CLOEXEC);
    close(next);
    none.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct sockaddr_in a = at_port(hark_listener_port(w.listener));
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t refused = hark_listener_refused(w.listener);
        unsigned messages = w.called.messages;
        assert_int_equal(connect(fd[i], (struct sockaddr *)&a, sizeof a), 0);
        until(&w, hark_listener_refused(w.listener) > refused && w.called.messages > messages);
    }
    struct end none_left = {0};
    end_init(&w, &none_left, "key");
    (void)world_call(&w, &none_left); /* and we cannot call, of which we are told */
    until(&w, none_left.closed);
    assert_non_null(strstr(none_left.why, ": Too many open files"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    for (int i = 0; i < ROUNDS; i++) close(fd[i]);
    struct end later = {0};
    end_init(&w, &later, "key");
    w.called.on_message = NULL;
    (void)world_call(&w, &later);
    until(&w, later.opened && w.called.opened == 2);
    hark_connection_close(later.c, false);
    until(&w, w.called.closed == 1);
    world_close(&w);
}

/* Not even the spare one helps: nobody is accepted for a while, and then whoever has waited. */
static void no_spare_descriptor(void **state)
{
    (void)state;
    struct world w;
    struct rlimit was, none;
    struct end later = {0};
    world_open(&w);
    w.called.on_message = answer;
    w.caller.on_message = answer;
    world_meet(&w);
    end_init(&w, &later, "key");
    for (int round = 1; round <= 2; round++) { /* the spare one comes back */
        (void)world_call(&w, &later);
        (void)uv_run(&w.loop, UV_RUN_NOWAIT); /* it has its socket */
        w.called.messages = 0;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
        none = was;
        none.rlim_cur = 3;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        if (round == 1) { /* it does not ask the system again and again */
            assert_in_range(pass_time(&w, 300), 1, 60);
            assert_int_equal(hark_connection_say(w.caller.c, "ping", 4), 0);
        }
        until(&w, w.called.messages > 200);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        until(&w, later.opened + later.closed == (unsigned)round);
        assert_int_equal(hark_listener_refused(w.listener), 0);
        assert_int_equal(later.opened, round);
        hark_connection_close(later.c, false);
        later.c = NULL;
        until(&w, w.called.closed == (unsigned)round);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_flood), cmocka_unit_test(no_descriptors),
        cmocka_unit_test(no_spare_descriptor)};
    return cmocka_run_group_tests_name("floods", tests, NULL, NULL);
}
