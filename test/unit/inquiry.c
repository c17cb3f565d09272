/* Requests as far as they have come, the addresses that metrics can have, and connections that ask
 * one thing: when descriptors are scarce nobody is let in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../src/supervisor/address.h"
#include "../../src/supervisor/http.h"
#include "../../src/supervisor/inquiry.h"
#include "../fault/place.h"

/* ---- requests -------------------------------------------------------------------------------- */

static int read_part(const char *text, size_t length, bool *head)
{
    uint8_t *copy = malloc(length ? length : 1); /* so that a byte read too far is noticed */
    assert_non_null(copy);
    memcpy(copy, text, length);
    const int status = (int)hark_http_read(copy, length, 200, "/metrics", head);
    free(copy);
    return status;
}

/* As a whole; and none of its parts is taken for something else. */
static void expect(int status, const char *text)
{
    bool head;
    for (size_t n = 0; n < strlen(text); n++) {
        const int part = read_part(text, n, &head);
        if (part != HARK_HTTP_MORE && part != status)
            fail_msg("%zu bytes of \"%s\": %d, expected %d", n, text, part, status);
    }
    assert_int_equal(read_part(text, strlen(text), &head), status);
    assert_int_equal(head, status == HARK_HTTP_OK && strncmp(text, "HEAD", 4) == 0);
}

static void requests(void **state)
{
    (void)state;
    expect(HARK_HTTP_OK, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    expect(HARK_HTTP_OK, "GET /metrics HTTP/1.0\n\n");
    expect(HARK_HTTP_OK, "GET /metrics? HTTP/1.1\r\n\n");
    expect(HARK_HTTP_OK, "GET http://a/metrics?b=/c HTTP/1.1\n\r\n");
    expect(HARK_HTTP_OK, "HEAD /metrics HTTP/1.1\r\n\r\n");
    expect(HARK_HTTP_MORE, "GET /metrics HTTP/1.1\r\n");
    expect(HARK_HTTP_MORE, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r");
    expect(HARK_HTTP_MORE, "GET /metrics");
    expect(HARK_HTTP_NOT_ALLOWED, "POST /metrics HTTP/1.1\r\n\r\n");
    expect(HARK_HTTP_NOT_FOUND, "GET /metrics/ HTTP/1.1\r\n\r\n");
    expect(HARK_HTTP_NOT_FOUND, "GET http:// HTTP/1.1\r\n\r\n");
    expect(HARK_HTTP_NOT_FOUND, "POST / HTTP/1.1\r\n\r\n");
    expect(HARK_HTTP_BAD, "GET /metrics HTTP/2.0\r\n");
    expect(HARK_HTTP_BAD, "GET /metrics\r\n");
    expect(HARK_HTTP_BAD, "\r\n");
    expect(HARK_HTTP_BAD, "Get / HTTP/1.1\r\n");
    expect(HARK_HTTP_BAD, "GET /\001");
}

static void long_requests(void **state)
{
    bool head;
    char text[201] = "GET /metrics HTTP/1.1\r\nLong: ";
    (void)state;
    memset(text + strlen(text), 'x', sizeof text - 1 - strlen(text));
    assert_int_equal(read_part(text, 199, &head), HARK_HTTP_MORE);
    assert_int_equal(read_part(text, 200, &head), HARK_HTTP_TOO_LONG);
    memcpy(text + 196, "\r\n\r\n", 4);
    assert_int_equal(read_part(text, 199, &head), HARK_HTTP_MORE);
    assert_int_equal(read_part(text, 200, &head), HARK_HTTP_OK);
}

static void answers(void **state)
{
    struct hark_inquiry_answer answer;
    char *text;
    (void)state;
    assert_int_equal(hark_http_answer(HARK_HTTP_OK, false, "page", 4, &answer), 1);
    text = answer.at;
    assert_int_equal(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
    assert_non_null(strstr(text, "\r\nContent-Length: 4\r\n"));
    assert_non_null(strstr(text, "\r\nConnection: close\r\n\r\npage"));
    assert_string_equal(text + answer.length - 4, "page");
    free(text);
    assert_int_equal(hark_http_answer(HARK_HTTP_NOT_ALLOWED, true, NULL, 0, &answer), 1);
    text = answer.at;
    assert_non_null(strstr(text, "\r\nAllow: GET, HEAD\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Length: 23\r\n"));
    assert_string_equal(text + answer.length - 4, "\r\n\r\n");
    free(text);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void addresses(void **state)
{
    struct hark_address a;
    static const char *const wrong[] = {"", ":", ":1", "a", "a:", "a:x", "a:1x", "a:65536",
        "a:100000", "a b:1", "a/b:1", "::1:1", "[::1", "[::1]", "[::1]1", "[]:1", "unix:", "a:1:2"};
    (void)state;
    assert_true(hark_address_parse(&a, "node-1.example:0"));
    assert_string_equal(a.host, "node-1.example");
    assert_string_equal(a.port, "0");
    assert_string_equal(a.path, "");
    assert_true(hark_address_parse(&a, "[fe80::1%eth0]:65535"));
    assert_string_equal(a.host, "fe80::1%eth0");
    assert_string_equal(a.port, "65535");
    assert_true(hark_address_parse(&a, "unix:/a/b:c"));
    assert_string_equal(a.path, "/a/b:c");
    assert_true(hark_address_parse(&a, "unix:b"));
    assert_int_equal(a.path[0], '/');
    assert_string_equal(strrchr(a.path, '/'), "/b");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (hark_address_parse(&a, wrong[i])) fail_msg("\"%s\" is no address", wrong[i]);
}

/* ---- connections ----------------------------------------------------------------------------- */

struct asked {
    uv_loop_t loop;
    struct hark_inquiry *inquiry;
    char path[300];
    int descriptors; /* that were open before */
};

#define BIG ((size_t)3 << 20) /* more than a socket takes at once */

/* One byte is a question, and the answer to it; or that is a big one. */
static int on_ask(void *self, const uint8_t *at, size_t length, struct hark_inquiry_answer *answer)
{
    (void)self;
    if (at[length - 1] == 'n') return -1;
    if (at[length - 1] == 'm') return 0;
    const size_t bytes = at[length - 1] == 'b' ? BIG : 1;
    *answer = (struct hark_inquiry_answer){malloc(bytes), bytes};
    assert_non_null(answer->at);
    memset(answer->at, at[length - 1], bytes);
    return 1;
}

static void close_one(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void begin(struct asked *a, const char *place)
{
    struct hark_address address;
    char error[400];
    assert_int_equal(uv_loop_init(&a->loop), 0); /* the first one opens what stays open */
    assert_int_equal(uv_loop_close(&a->loop), 0);
    a->descriptors = place_descriptors();
    snprintf(a->path, sizeof a->path, "unix:%s/s", place);
    assert_true(hark_address_parse(&address, a->path));
    const int fd = hark_address_listen(&address, error);
    assert_true(fd >= 0);
    assert_int_equal(uv_loop_init(&a->loop), 0);
    assert_int_equal(hark_inquiry_open(&a->inquiry, &a->loop, fd, on_ask, NULL), 0);
}

/* Which descriptors are still open are the caller's. */
static void end(struct asked *a, int still)
{
    hark_inquiry_close(a->inquiry);
    uv_walk(&a->loop, close_one, NULL);
    while (uv_run(&a->loop, UV_RUN_DEFAULT) != 0) {
    }
    assert_int_equal(uv_loop_close(&a->loop), 0); /* no handle is left */
    assert_int_equal(place_descriptors(), a->descriptors + still);
}

static int connected(const struct asked *a)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", a->path + 5);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Bytes that come until the other end closes, while the loop runs. */
static ssize_t heard(struct asked *a, int fd)
{
    static char bytes[65536];
    for (ssize_t sum = 0;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uv_run(&a->loop, UV_RUN_NOWAIT);
        if (poll(&p, 1, 1) == 0) continue;
        const ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) {
            close(fd);
            return sum;
        }
        sum += n;
    }
}

static ssize_t heard_after(struct asked *a, const char *text)
{
    const int fd = connected(a);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return heard(a, fd);
}

static void one_question(void **state)
{
    struct asked a;
    begin(&a, *state);
    assert_int_equal(heard_after(&a, "y"), 1);
    assert_int_equal(heard_after(&a, "n"), 0);
    const int fd = connected(&a);
    assert_int_equal(write(fd, "m", 1), 1);
    uv_run(&a.loop, UV_RUN_NOWAIT);
    assert_int_equal(heard_after(&a, "y"), 1); /* meanwhile */
    assert_int_equal(write(fd, "y", 1), 1);
    assert_int_equal(heard(&a, fd), 1);
    const int open_still = connected(&a);
    uv_run(&a.loop, UV_RUN_NOWAIT);
    end(&a, 1);
    close(open_still);
}

static void big_answer(void **state)
{
    struct asked a;
    begin(&a, *state);
    assert_int_equal(heard_after(&a, "b"), (ssize_t)BIG);
    const int fd = connected(&a); /* one that does not read it */
    assert_int_equal(write(fd, "b", 1), 1);
    uv_run(&a.loop, UV_RUN_NOWAIT);
    assert_int_equal(heard_after(&a, "y"), 1);
    end(&a, 1);
    close(fd);
}

/* What comes behind a question is dropped, up to a limit. */
static void flood(void **state)
{
    struct asked a;
    static const char more[4096];
    size_t sum = 0;
    begin(&a, *state);
    const int fd = connected(&a);
    assert_int_equal(write(fd, "y", 1), 1);
    for (ssize_t n; sum<BIG; sum += n> 0 ? (size_t)n : 0) {
        n = send(fd, more, sizeof more, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) break;
        uv_run(&a.loop, UV_RUN_NOWAIT);
    }
    assert_in_range(sum, 65536, BIG - 1);
    close(fd);
    end(&a, 0);
}

/* The oldest goes, and only one for one. */
static void too_many(void **state)
{
    struct asked a;
    int fd[HARK_INQUIRY_AT_ONCE + 1];
    char byte;
    begin(&a, *state);
    for (int i = 0; i <= HARK_INQUIRY_AT_ONCE; i++) {
        fd[i] = connected(&a);
        uv_run(&a.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(recv(fd[0], &byte, 1, MSG_DONTWAIT), 0);
    for (int i = 1; i <= HARK_INQUIRY_AT_ONCE; i++) {
        assert_int_equal(recv(fd[i], &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(write(fd[i], "y", 1), 1);
        assert_int_equal(heard(&a, fd[i]), 1);
    }
    close(fd[0]);
    end(&a, 0);
}

static void scarce_descriptors(void **state)
{
    struct asked a;
    struct rlimit before, few;
    begin(&a, *state);
    const int next = dup(0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + 2 + 8; /* this end, and that one, which leaves too few */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(heard_after(&a, "y"), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(heard_after(&a, "y"), 1);
    end(&a, 0);
}

static int setup(void **state)
{
    static char place[256];
    place_make(place);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    place_remove(*state);
    return 0;
}

int main(void)
{
#define CONNECTIONS(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests), cmocka_unit_test(long_requests),
        cmocka_unit_test(answers), cmocka_unit_test(addresses), CONNECTIONS(one_question),
        CONNECTIONS(big_answer), CONNECTIONS(flood), CONNECTIONS(too_many),
        CONNECTIONS(scarce_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
