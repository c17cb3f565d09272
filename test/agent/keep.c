/* keep.c: what an agent keeps of its processes for a supervisor that takes over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/state.h"

enum { RANKS = 3, SLOT = 1 };

struct box { /* what the agent has said */
    uint8_t heard[HARK_PIPES][4096];
    size_t length[HARK_PIPES];
    uint32_t flags, inc, re, program, peer[RANKS + 1];
    uint64_t checkpoint, asked, begin[2];
    char address[64];
};

struct world {
    struct agent a;
    struct hosted hosted[RANKS + 1];
    struct box box;
};

static void on_lives(struct box *b, struct hark_control *m)
{
    size_t length;
    assert_int_equal(hark_control_get32(m), SLOT);
    (void)hark_control_get32(m);
    (void)hark_control_get32(m);
    b->flags = hark_control_get32(m);
    b->inc = hark_control_get32(m);
    b->program = hark_control_get32(m);
    b->re = hark_control_get32(m);
    b->checkpoint = hark_control_get64(m);
    b->asked = hark_control_get64(m);
    (void)hark_control_get64(m);
    assert_true(hark_control_get64(m) == UINT64_MAX); /* it has no input */
    for (int i = 0; i < 2; i++) b->begin[i] = hark_control_get64(m);
    const char *address = hark_control_gets(m, &length);
    snprintf(b->address, sizeof b->address, "%.*s", (int)length, address);
    for (int i = 0; i <= RANKS; i++) b->peer[i] = hark_control_get32(m);
    assert_false(m->bad);
    assert_int_equal(m->next, m->length);
}

static int take(void *self, const void *at, size_t length)
{
    struct box *b = self;
    struct hark_control m;
    const uint8_t *bytes = (const uint8_t *)at + HARK_SESSION_HEAD;
    uint32_t n;
    assert_int_equal(
        hark_control_parse(&m, bytes, length - HARK_SESSION_HEAD), length - HARK_SESSION_HEAD);
    if (m.type == HARK_A_LIVES) {
        on_lives(b, &m);
        return 0;
    }
    assert_int_equal(m.type, HARK_A_HEARD);
    assert_int_equal(hark_control_get32(&m), SLOT);
    const uint32_t line = hark_control_get32(&m);
    const uint8_t *text = hark_control_get_bytes(&m, &n);
    assert_true(line < HARK_PIPES && b->length[line] + n <= sizeof b->heard[line]);
    memcpy(b->heard[line] + b->length[line], text, n);
    b->length[line] += n;
    return 0;
}

static struct hosted *begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->a.hosted = w->hosted;
    w->a.count = RANKS + 1;
    w->a.job.ranks = RANKS;
    w->a.job.wait_ms = 1000;
    for (uint32_t i = 0; i <= RANKS; i++) w->hosted[i].a = &w->a, w->hosted[i].slot = i;
    w->hosted[SLOT].runs = true;
    return &w->hosted[SLOT];
}

/* What another supervisor would hear. */
static void look(struct world *w)
{
    memset(&w->box, 0, sizeof w->box);
    assert_true(hark_session_join(&w->a.session, take, &w->box, w->a.session.said));
    hark_kept_lives(&w->hosted[SLOT]);
    hark_kept_say_again(&w->hosted[SLOT]);
    assert_false(w->a.misses_something);
}

static void end(struct world *w)
{
    for (uint32_t i = 0; i <= RANKS; i++) hark_kept_free(&w->hosted[i]);
    hark_session_free(&w->a.session);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void tell(struct hosted *h, struct hark_control *m)
{
    hark_control_end(m);
    hark_kept_told(h, m->at, m->length);
    hark_control_free(m);
}

static void tell_setup(struct hosted *h, const char *text)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_SETUP);
    hark_control_put_bytes(&m, text, (uint32_t)strlen(text));
    tell(h, &m);
}

static void say(struct hosted *h, struct hark_control *m)
{
    hark_control_end(m);
    hark_kept_heard(h, HARK_PIPE_CONTROL, m->at, m->length);
    hark_control_free(m);
}

static void say_hello(struct hosted *h, uint32_t inc, uint64_t out, const char *pending)
{
    struct hark_control m, p;
    hark_control_begin(&p, HARK_C_HELLO);
    hark_control_put_bytes(&p, pending, (uint32_t)strlen(pending));
    hark_control_put_bytes(&p, NULL, 0);
    hark_control_end(&p);
    hark_control_begin(&m, HARK_C_HELLO);
    hark_control_put32(&m, inc);
    hark_control_put64(&m, out);
    hark_control_put64(&m, 0);
    hark_control_puts(&m, "here", 4);
    hark_control_put_bytes(&m, p.at + 8, (uint32_t)(p.length - 8));
    hark_control_put32(&m, 77);
    say(h, &m);
    hark_control_free(&p);
}

static void persist(struct hosted *h, uint32_t fact, uint64_t id)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_PERSIST);
    hark_control_put32(&m, fact);
    hark_control_put32(&m, 0);
    hark_control_put32(&m, 0);
    hark_control_put64(&m, id);
    hark_control_put64(&m, 0);
    hark_control_put32(&m, 0);
    say(h, &m);
}

static void stored(struct hosted *h, uint32_t fact, uint64_t id)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_STORED);
    hark_control_put32(&m, fact);
    hark_control_put64(&m, id);
    hark_control_put32(&m, 1);
    tell(h, &m);
}

static void numbered(struct hosted *h, uint16_t type, uint64_t number, bool told)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_put64(&m, number);
    if (told) tell(h, &m);
    else say(h, &m);
}

static void print(struct hosted *h, const char *text)
{
    hark_kept_heard(h, HARK_PIPE_OUT, (const uint8_t *)text, strlen(text));
}

static void shown_both(struct world *w, uint64_t out, uint64_t err)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_SHOWN);
    hark_control_put32(&m, SLOT);
    hark_control_put64(&m, out);
    hark_control_put64(&m, err);
    hark_control_end(&m);
    struct hark_control read;
    assert_true(hark_control_parse(&read, m.at, m.length) > 0);
    hark_kept_shown(&w->a, &read);
    hark_control_free(&m);
}

static void shown(struct world *w, uint64_t out)
{
    shown_both(w, out, 0);
}

static bool printed(const struct world *w, uint64_t begin, const char *text)
{
    return w->box.begin[0] == begin && w->box.length[HARK_PIPE_OUT] == strlen(text) &&
           memcmp(w->box.heard[HARK_PIPE_OUT], text, strlen(text)) == 0;
}

/* The types of what was said again, and its numbers behind `skip` bytes. */
static unsigned open_messages(const struct world *w, uint16_t *type, uint64_t *id)
{
    const uint8_t *at = w->box.heard[HARK_PIPE_CONTROL];
    size_t left = w->box.length[HARK_PIPE_CONTROL];
    struct hark_control m;
    unsigned n = 0;
    for (long all; left && (all = hark_control_parse(&m, at, left)) > 0;
         at += all, left -= (size_t)all, n++) {
        type[n] = m.type;
        if (m.type == HARK_C_PERSIST) m.next += 12;
        id[n] = hark_control_get64(&m);
    }
    return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void who_it_is(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    struct hark_control m;
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    look(&w);
    assert_int_equal(w.box.flags, 0); /* it has not said hello */
    say_hello(h, 3, 0, "");
    hark_control_begin(&m, HARK_C_FAILED);
    hark_control_put32(&m, 5);
    tell(h, &m);
    for (int i = 0; i < 2; i++) {
        hark_control_begin(&m, HARK_C_PEER);
        hark_control_put32(&m, i ? HARK_RECOVERY : 0);
        hark_control_put32(&m, i ? 4 : 0);
        hark_control_puts(&m, "there", 5);
        tell(h, &m);
    }
    numbered(h, HARK_C_ASK, 9, true);
    look(&w);
    assert_int_equal(w.box.flags, HARK_LIVES_HELLO);
    assert_int_equal(w.box.inc, 3);
    assert_int_equal(w.box.program, 77);
    assert_int_equal(w.box.re, 5);
    assert_int_equal(w.box.asked, 9);
    assert_string_equal(w.box.address, "here");
    assert_int_equal(w.box.peer[0], 1);
    assert_int_equal(w.box.peer[2], 0); /* of that it has not been told */
    assert_int_equal(w.box.peer[RANKS], 5);
    hark_control_begin(&m, HARK_C_AGAIN);
    hark_control_put32(&m, 0);
    say(h, &m);
    look(&w);
    assert_int_equal(w.box.flags, HARK_LIVES_HELLO | HARK_LIVES_BACK);
    tell_setup(h, "rank=1\ncheckpoint=8\n"); /* its next incarnation, which has said nothing */
    look(&w);
    assert_int_equal(w.box.flags, 0);
    assert_int_equal(w.box.re, 0);
    assert_int_equal(w.box.checkpoint, 8);
    assert_int_equal(w.box.peer[0], 0);
    end(&w);
}

static void what_has_no_answer(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    uint16_t type[16];
    uint64_t id[16];
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    say_hello(h, 0, 0, "");
    persist(h, 1, 7);
    numbered(h, HARK_C_MARK, 8, false);
    persist(h, 2, 7);
    persist(h, 1, 8);
    look(&w);
    assert_int_equal(open_messages(&w, type, id), 4);
    stored(h, 2, 7); /* of another kind, with the same number as the first */
    stored(h, 1, 9); /* of nothing */
    numbered(h, HARK_C_MARKED, 7, true);
    look(&w);
    assert_int_equal(open_messages(&w, type, id), 3);
    assert_int_equal(type[0], HARK_C_PERSIST);
    assert_int_equal(id[0], 7);
    assert_int_equal(type[1], HARK_C_MARK);
    numbered(h, HARK_C_MARKED, 8, true);
    stored(h, 1, 7);
    look(&w);
    assert_int_equal(open_messages(&w, type, id), 1);
    assert_int_equal(id[0], 8);
    end(&w);
}

/* Bytes come as they come; of a message that is not whole the rest comes later. */
static void a_piece_of_one(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    struct hark_control m;
    uint16_t type[16];
    uint64_t id[16];
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    hark_control_begin(&m, HARK_C_MARK);
    hark_control_put64(&m, 6);
    hark_control_end(&m);
    hark_kept_heard(h, HARK_PIPE_CONTROL, m.at, 5);
    look(&w);
    assert_int_equal(w.box.length[HARK_PIPE_CONTROL], 5);
    hark_kept_heard(h, HARK_PIPE_CONTROL, m.at + 5, m.length - 5);
    hark_control_free(&m);
    look(&w);
    assert_int_equal(open_messages(&w, type, id), 1);
    assert_int_equal(id[0], 6);
    end(&w);
}

static void what_was_not_shown(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    print(h, "before "); /* from the beginning that counts */
    say_hello(h, 0, 0, "");
    print(h, "hello and after");
    look(&w);
    assert_true(printed(&w, 0, "before hello and after"));
    shown(&w, 7);
    look(&w);
    assert_true(printed(&w, 7, "hello and after"));
    shown(&w, 3); /* an old word */
    look(&w);
    assert_true(printed(&w, 7, "hello and after"));
    shown(&w, 100); /* an incarnation that is no more had come further */
    look(&w);
    assert_true(printed(&w, 22, ""));
    print(h, "more"); /* so had it with this */
    look(&w);
    assert_true(printed(&w, 26, ""));
    tell_setup(h, "rank=1\ncheckpoint=0\n"); /* from the beginning, again */
    print(h, "before hello and after, more, ");
    look(&w);
    assert_true(printed(&w, 30, ""));
    end(&w);
    h = begin(&w);
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    print(h, "more");
    w.a.adopted = true; /* what LIVES has said must stay so */
    shown(&w, 2);
    look(&w);
    assert_true(printed(&w, 0, "more"));
    end(&w);
}

/* It never waits for what is kept of it: with too much it can not be taken over for a while. */
static void too_much(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20, PIECES = 70 };
    struct world w;
    struct hosted *h = begin(&w);
    uint8_t *piece = calloc(1, PIECE);
    assert_non_null(piece);
    tell_setup(h, "rank=1\ncheckpoint=0\n");
    say_hello(h, 0, 0, "");
    for (int i = 0; i < PIECES; i++) hark_kept_heard(h, HARK_PIPE_ERR, piece, PIECE);
    look(&w);
    assert_int_equal(w.box.flags, HARK_LIVES_HELLO | HARK_LIVES_BACK);
    assert_int_equal(w.box.length[HARK_PIPE_ERR], 0);
    shown_both(&w, 0, PIECE); /* not all of it */
    look(&w);
    assert_int_equal(w.box.flags, HARK_LIVES_HELLO | HARK_LIVES_BACK);
    shown_both(&w, 0, UINT64_C(1) * PIECES * PIECE);
    hark_kept_heard(h, HARK_PIPE_ERR, piece, 5);
    look(&w);
    assert_int_equal(w.box.flags, HARK_LIVES_HELLO);
    assert_int_equal(w.box.begin[1], UINT64_C(1) * PIECES * PIECE);
    assert_int_equal(w.box.length[HARK_PIPE_ERR], 5);
    free(piece);
    end(&w);
}

static void from_an_image(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    tell_setup(h, "rank=1\ncheckpoint=4\n");
    print(h, "belongs to nowhere");
    say_hello(h, 1, 50, "in the image");
    print(h, ", then this");
    look(&w);
    assert_true(printed(&w, 38, "in the image, then this"));
    assert_int_equal(w.box.checkpoint, 4);
    end(&w);
}

/* Of a job of 20000 processes in clusters of one: the map of them alone is longer than a string. */
static void a_long_setup(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    fputs("rank=1\nclusters=0", f);
    for (int r = 1; r < 20000; r++) fprintf(f, ";%d", r);
    fputs("\ncheckpoint=4\n", f);
    assert_int_equal(fclose(f), 0);
    assert_true(length > UINT16_MAX);
    tell_setup(h, text);
    free(text);
    look(&w);
    assert_int_equal(w.box.checkpoint, 4);
    end(&w);
}

/* Nothing is kept where nobody can take over, but from ADOPTED to GO_ON. */
static void nobody_takes_over(void **state)
{
    (void)state;
    struct world w;
    struct hosted *h = begin(&w);
    w.a.job.wait_ms = 0;
    print(h, "lost");
    look(&w);
    assert_true(printed(&w, 0, ""));
    w.a.adopted = true;
    print(h, "kept");
    persist(h, 1, 1);
    w.a.adopted = false;
    look(&w);
    assert_true(printed(&w, 0, "kept"));
    assert_true(w.box.length[HARK_PIPE_CONTROL] > 0);
    look(&w);
    assert_true(printed(&w, 0, ""));
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_it_is),
        cmocka_unit_test(what_has_no_answer), cmocka_unit_test(a_piece_of_one),
        cmocka_unit_test(what_was_not_shown), cmocka_unit_test(too_much),
        cmocka_unit_test(from_an_image), cmocka_unit_test(a_long_setup),
        cmocka_unit_test(nobody_takes_over)};
    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
