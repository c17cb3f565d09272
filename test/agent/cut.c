/* A link that is cut without a word: both ends notice, idle or not. In a network of the test's own,
 * where it can take the only interface away. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum { SILENT = 400 }; /* milliseconds */

static bool set_link(bool up)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP | IFF_RUNNING : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;
    close(fd);
    return good;
}

static void cut(bool said)
{
    struct world w;
    world_open(&w);
    assert_true(set_link(true));
    w.caller.config.silent_ms = w.called.config.silent_ms = SILENT;
    world_meet(&w);
    (void)pass_time(&w, 700); /* that nothing was said before is no silence of the other */
    assert_true(set_link(false));
    const uint64_t begun = uv_now(&w.loop);
    if (said) assert_int_equal(hark_connection_say(w.caller.c, "lost", 4), 0);
    until(&w, w.caller.closed);
    if (said) assert_true(uv_now(&w.loop) - begun >= SILENT);
    until(&w, w.called.closed);
    assert_string_equal(w.caller.why, "the other host does not answer");
    assert_string_equal(w.called.why, "the other host does not answer");
    assert_int_equal(w.called.messages, 0);
    world_close(&w);
}

static void while_idle(void **state)
{
    (void)state;
    cut(false);
}

static void while_something_is_said(void **state)
{
    (void)state;
    cut(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_idle), cmocka_unit_test(while_something_is_said)};
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !set_link(true)) {
        puts("no network of its own: skipped");
        return 77;
    }
    return cmocka_run_group_tests_name("cut links", tests, NULL, NULL);
}
