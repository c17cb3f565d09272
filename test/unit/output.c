/* What a process prints is shown once, in whole lines; and a reader who does not read stops nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "../fault/place.h"
#include "../../src/supervisor/outlet.h"
#include "../../src/supervisor/output.h"

struct screen {
    char text[200000];
    size_t length;
    uint64_t first; /* position of the first byte in text */
};

static void show(void *self, const char *at, size_t length, uint64_t end)
{
    struct screen *s = self;
    assert_int_equal(end, s->first + s->length + length);
    assert_true(s->length + length < sizeof s->text);
    memcpy(s->text + s->length, at, length);
    s->length += length;
    s->text[s->length] = 0;
}

static int setup(void **state)
{
    static struct screen screen;
    static struct hark_output o;
    memset(&screen, 0, sizeof screen);
    o = (struct hark_output){.write = show, .self = &screen};
    hark_output_begin(&o, false);
    *state = &o;
    return 0;
}

static int teardown(void **state)
{
    hark_output_free(*state);
    return 0;
}

static const char *shown(struct hark_output *o)
{
    return ((struct screen *)o->self)->text;
}

static void take(struct hark_output *o, const char *text)
{
    hark_output_take(o, text, strlen(text));
}

static void whole_lines(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntw");
    assert_string_equal(shown(o), "one\n");
    take(o, "o");
    assert_string_equal(shown(o), "one\n");
    take(o, "\nthree\nfo");
    assert_string_equal(shown(o), "one\ntwo\nthree\n");
    assert_int_equal(o->next, 16);
    assert_int_equal(o->shown, 14);
    hark_output_end(o);
    assert_string_equal(shown(o), "one\ntwo\nthree\nfo");
}

static void a_long_line_in_pieces(void **state)
{
    struct hark_output *o = *state;
    char *piece = malloc(HARK_OUTPUT_LINE / 2);
    memset(piece, 'x', HARK_OUTPUT_LINE / 2);
    hark_output_take(o, piece, HARK_OUTPUT_LINE / 2);
    assert_int_equal(strlen(shown(o)), 0);
    hark_output_take(o, piece, HARK_OUTPUT_LINE / 2);
    assert_int_equal(strlen(shown(o)), HARK_OUTPUT_LINE);
    free(piece);
}

static void again_from_the_beginning(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntwo\nth");
    hark_output_begin(o, false);
    hark_output_position(o, 0, NULL, 0);
    take(o, "one\n");
    take(o, "two\nthree\n");
    assert_string_equal(shown(o), "one\ntwo\nthree\n");
    assert_int_equal(o->next, 14);
}

static void again_from_an_image(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntwo\nthree\n");
    hark_output_begin(o, true);
    take(o, "starting\n"); /* before its position is known: belongs to nowhere */
    hark_output_position(o, 4, NULL, 0);
    take(o, "two\nthree\nfour\n");
    assert_string_equal(shown(o), "one\ntwo\nthree\nfour\n");
    assert_int_equal(o->next, 19);
}

static void an_image_within_a_line(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntw"); /* "tw" is in the image, and was not shown */
    take(o, "o");       /* this is not */
    hark_output_begin(o, true);
    hark_output_position(o, 6, NULL, 0);
    take(o, "ice\n");
    assert_string_equal(shown(o), "one\ntwice\n");
}

static void a_void_piece_is_forgotten(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\nprogress 17");
    hark_output_begin(o, false);
    take(o, "one\nprogress 18\n");
    assert_string_equal(shown(o), "one\nprogress 18\n");
}

static void back_twice(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntwo\nthree\n");
    hark_output_begin(o, true);
    hark_output_position(o, 8, NULL, 0);
    take(o, "th");
    hark_output_begin(o, true);
    hark_output_position(o, 4, NULL, 0);
    take(o, "two\nthree\nfour\n");
    assert_string_equal(shown(o), "one\ntwo\nthree\nfour\n");
}

static void goes_on_with_an_earlier_run(void **state)
{
    struct hark_output *o = *state;
    hark_output_begin(o, true);
    ((struct screen *)o->self)->first = 1000;
    hark_output_position(o, 1000, NULL, 0);
    take(o, "on\n");
    assert_string_equal(shown(o), "on\n");
    assert_int_equal(o->next, 1003);
    hark_output_begin(o, true);
    hark_output_position(o, 1000, NULL, 0);
    take(o, "on\nand on\n");
    assert_string_equal(shown(o), "on\nand on\n");
}

/* An earlier supervisor had shown 6 bytes, and the image was taken at 13. */
static void what_was_pending_is_in_the_image(void **state)
{
    struct hark_output *o = *state;
    o->shown = ((struct screen *)o->self)->first = 6;
    hark_output_begin(o, true);
    hark_output_position(o, 13, "two\nthr", 7);
    assert_string_equal(shown(o), "two\n");
    take(o, "ee\nfour\n");
    assert_string_equal(shown(o), "two\nthree\nfour\n");
}

static void what_was_pending_has_been_shown_since(void **state)
{
    struct hark_output *o = *state;
    o->shown = ((struct screen *)o->self)->first = 10;
    hark_output_begin(o, true);
    hark_output_position(o, 13, "two\nthr", 7);
    take(o, "ee\nfour\n");
    assert_string_equal(shown(o), "three\nfour\n");
}

static void a_resumed_run_goes_back_further(void **state)
{
    struct hark_output *o = *state;
    o->shown = ((struct screen *)o->self)->first = 10;
    hark_output_begin(o, true);
    hark_output_position(o, 4, NULL, 0);
    take(o, "two\nthr");
    assert_string_equal(shown(o), "");
    take(o, "ee\n");
    assert_string_equal(shown(o), "ree\n");
}

static void behind_a_gate(void **state)
{
    struct hark_output *o = *state;
    o->gated = true;
    take(o, "one\ntwo\nthree\n");
    assert_string_equal(shown(o), "");
    hark_output_open(o, 6);
    assert_string_equal(shown(o), "one\n");
    hark_output_open(o, 8);
    assert_string_equal(shown(o), "one\ntwo\n");
    take(o, "four\n");
    assert_string_equal(shown(o), "one\ntwo\n");
    /* it dies, and another execution takes its place from what was open on */
    hark_output_begin(o, false);
    take(o, "one\ntwo\ntree\n");
    hark_output_open(o, 13);
    assert_string_equal(shown(o), "one\ntwo\ntree\n");
    take(o, "last");
    hark_output_end(o);
    assert_string_equal(shown(o), "one\ntwo\ntree\nlast");
}

static void moved(void *self)
{
    (void)self;
}

/* The outlet is given up while its thread is stuck; when somebody reads after all, the thread ends
 * and takes with it what it had (seen by a sanitizer build). */
static void a_stuck_outlet_is_given_up(void **state)
{
    enum { MORE = 10000 };
    int to[2];
    struct hark_outlet *w;
    (void)state;
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    size_t room = (size_t)fcntl(to[1], F_GETPIPE_SZ), got = 0;
    char *text = calloc(1, room + MORE);
    assert_non_null(text);
    assert_int_equal(hark_outlet_open(&w, to[1], -1, moved, NULL), 0);
    assert_true(hark_outlet_put(w, HARK_OUTLET_NO_STREAM, 0, text, room + MORE));
    while (hark_outlet_waiting(w) > MORE) (void)poll(NULL, 0, 1);
    hark_outlet_close(w); /* returns, though nobody has read */
    for (ssize_t n; got < room && (n = read(to[0], text, room - got)) > 0;) got += (size_t)n;
    assert_int_equal(got, room);
    while (place_count("/proc/self/task") > 1) (void)poll(NULL, 0, 1);
    close(to[0]);
    close(to[1]);
    free(text);
}

/* A terminal takes what it has room for: writes end within tags and within lines. */
static void tags_are_whole(void **state)
{
    enum { LINES = 3000 };
    struct hark_outlet *w;
    struct termios raw;
    char *text = calloc(LINES, 40), *expected = calloc(LINES, 40), line[40];
    size_t length = 0, got = 0;
    (void)state;
    int reader = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(reader >= 0 && grantpt(reader) == 0 && unlockpt(reader) == 0);
    int writer = open(ptsname(reader), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    assert_true(writer >= 0 && tcgetattr(writer, &raw) == 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(writer, TCSANOW, &raw), 0);
    assert_int_equal(hark_outlet_open(&w, writer, -1, moved, NULL), 0);
    for (unsigned i = 0; i < LINES; i++) {
        const char *tag = i % 3 ? "[12345] " : "";
        size_t n = (size_t)snprintf(line, sizeof line, "line %u\n", i);
        assert_true(hark_outlet_put_tagged(w, 1, 0, tag, line, n));
        length += (size_t)snprintf(expected + length, 40, "%s%s", tag, line);
    }
    struct pollfd more = {.fd = reader, .events = POLLIN};
    while (got < length && poll(&more, 1, 20000) == 1) got += (size_t)read(reader, text + got, 7);
    assert_string_equal(text, expected);
    hark_outlet_close(w);
    close(reader);
    close(writer);
    free(text);
    free(expected);
}

/* Output that is kept back is shown later in its order, or never. */
static void kept_back(void **state)
{
    struct hark_output *o = *state;
    take(o, "one\ntw");
    hark_output_keep(o, true);
    take(o, "o\nthree\nfo");
    assert_string_equal(shown(o), "one\n");
    hark_output_begin(o, false); /* it goes back, and prints the same until it knows better */
    take(o, "one\ntwo\n3\n");
    assert_string_equal(shown(o), "one\n");
    hark_output_keep(o, false);
    assert_string_equal(shown(o), "one\ntwo\n3\n");
    take(o, "fou");
    hark_output_keep(o, true);
    take(o, "r\nfive\n");
    hark_output_drop(o);
    assert_string_equal(shown(o), "one\ntwo\n3\n");
    hark_output_keep(o, false);
    assert_string_equal(shown(o), "one\ntwo\n3\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(whole_lines), TEST(a_long_line_in_pieces),
        TEST(again_from_the_beginning), TEST(again_from_an_image), TEST(an_image_within_a_line),
        TEST(a_void_piece_is_forgotten), TEST(back_twice), TEST(goes_on_with_an_earlier_run),
        TEST(what_was_pending_is_in_the_image), TEST(what_was_pending_has_been_shown_since),
        TEST(a_resumed_run_goes_back_further), TEST(behind_a_gate), TEST(kept_back),
        cmocka_unit_test(a_stuck_outlet_is_given_up), cmocka_unit_test(tags_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
