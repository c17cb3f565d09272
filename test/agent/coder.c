/* A code over two hosts: who asks for a part that is gone hears so, and does not wait for it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/agent/coder.h"
#include "../../src/agent/janitor.h"
#include "hark/store.h"

enum { RANK = 2, RANKS = 4, ID = 5, NUMBER = 3, RUN = 7, LONG = 3 << 20 };

struct side { /* an agent, as far as it keeps codes */
    struct agent a;
    char path[400], address[40];
    uint64_t length; /* PREPARED has said it, and this one */
    uint8_t sum[HARK_CODED_SUM];
    uint32_t prepared, coded, came, came_not;
};

struct set { /* the first has an image, the second its parity */
    char place[300];
    struct side side[2];
    uint32_t over; /* done() */
    bool whole;
};

static int heard(void *of, const void *at, size_t length)
{
    struct side *x = of;
    struct hark_control m;
    const uint8_t *said = (const uint8_t *)at + HARK_SESSION_HEAD;
    uint32_t n;
    assert_true(hark_control_parse(&m, said, length - HARK_SESSION_HEAD) > 0);
    if (m.type != HARK_A_PREPARED && m.type != HARK_A_CODED) return 0;
    (void)hark_control_get64(&m);
    (void)hark_control_get64(&m);
    if (m.type == HARK_A_CODED) {
        x->coded += hark_control_get32(&m) == HARK_CODED;
        return 0;
    }
    x->prepared++;
    x->length = hark_control_get64(&m);
    const uint8_t *sum = hark_control_get_bytes(&m, &n);
    if (!m.bad) memcpy(x->sum, sum, sizeof x->sum);
    return 0;
}

static void image_came(struct agent *a, uint32_t rank, uint64_t id, bool whole)
{
    struct side *x = (struct side *)(void *)a; /* its first */
    (void)rank, (void)id;
    x->came += whole;
    x->came_not += !whole;
}

static void open_side(struct side *x, const char *place, const char *name)
{
    static char job[] = "codes";
    char error[256];
    snprintf(x->path, sizeof x->path, "%s/%s", place, name);
    x->a.job.ranks = RANKS;
    x->a.job.job = job;
    x->a.store_path = x->path;
    x->a.image_came = image_came;
    x->a.silent_ms = 60000;
    assert_int_equal(uv_loop_init(&x->a.loop), 0);
    assert_true(hark_session_join(&x->a.session, heard, x, 0));
    assert_int_equal(
        hark_store_open_directory(&x->a.store, x->path, job, RANKS, true, error), HARK_S_OK);
    x->a.store_fd = open(x->path, O_RDONLY | O_DIRECTORY);
    assert_true(x->a.store_fd >= 0);
    assert_true(hark_coder_open(&x->a, error) && hark_depot_open(&x->a, error));
    snprintf(x->address, sizeof x->address, "127.0.0.1:%u", hark_depot_port(&x->a));
}

static void close_side(struct side *x)
{
    hark_depot_close(&x->a);
    hark_coder_close(&x->a, false);
    while (uv_run(&x->a.loop, UV_RUN_NOWAIT)) {
    }
    assert_int_equal(uv_loop_close(&x->a.loop), 0);
    x->a.store->ops->close(x->a.store);
    close(x->a.store_fd);
    hark_session_free(&x->a.session);
}

static void turn(struct set *s)
{
    for (int i = 0; i < 2; i++) (void)uv_run(&s->side[i].a.loop, UV_RUN_NOWAIT);
}

static void serve(struct side *x, struct hark_control *m)
{
    struct hark_control in;
    hark_control_end(m);
    assert_true(hark_control_parse(&in, m->at, m->length) > 0);
    hark_coder_serve(&x->a, &in);
    hark_control_free(m);
}

static void say_all(struct set *s, uint16_t type)
{
    static char a[] = "a", b[] = "b";
    struct hark_coded_item item = {.rank = RANK, .id = ID, .length = s->side[0].length};
    struct hark_coded table = {
        .number = NUMBER, .run = RUN, .code = {2, 1}, .host = {a, b}, .item = &item, .items = 1};
    memcpy(item.sum, s->side[0].sum, sizeof item.sum);
    for (uint32_t i = 0; i < 2; i++) {
        struct hark_control m;
        hark_control_begin(&m, type);
        table.me = i;
        hark_coded_put(&m, &table);
        for (int k = 0; type == HARK_A_CODE && k < 2; k++)
            hark_control_puts(&m, s->side[k].address, strlen(s->side[k].address));
        serve(&s->side[i], &m);
    }
}

static int setup(void **state)
{
    static uint8_t much[LONG] = {1, 2, 3};
    const struct hark_section section = {.id = 1, .at = much, .length = sizeof much};
    struct set *s = calloc(1, sizeof *s);
    assert_non_null(s);
    snprintf(s->place, sizeof s->place, "/tmp/hark-coder.XXXXXX");
    assert_non_null(mkdtemp(s->place));
    for (int i = 0; i < 2; i++) open_side(&s->side[i], s->place, i ? "b" : "a");
    struct hark_store *store = s->side[0].a.store;
    assert_int_equal(store->ops->write(store, RANK, ID, &section, 1), HARK_S_OK);
    say_all(s, HARK_A_CODE);
    while (s->side[0].prepared == 0 || s->side[1].prepared == 0) turn(s);
    say_all(s, HARK_A_COMBINE);
    while (s->side[0].coded == 0 || s->side[1].coded == 0) turn(s);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct set *s = *state;
    for (int i = 0; i < 2; i++) close_side(&s->side[i]);
    hark_remove_tree(s->place);
    free(s);
    return 0;
}

/* The first host's image is lost, and it asks for it. */
static void get(struct set *s)
{
    char place[120];
    struct hark_store *store = s->side[0].a.store;
    assert_int_equal(store->ops->drop(store, RANK, ID), HARK_S_OK);
    snprintf(place, sizeof place, HARK_AGENT_SET "%d:%x - %s", NUMBER, RUN, s->side[1].address);
    hark_coder_get(&s->side[0].a, RANK, ID, place);
}

static void uncode(struct side *x)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_UNCODE);
    hark_control_put64(&m, NUMBER);
    hark_control_put64(&m, RUN);
    serve(x, &m);
}

static void rebuilt(void **state)
{
    struct set *s = *state;
    get(s);
    while (s->side[0].came + s->side[0].came_not == 0) turn(s);
    assert_int_equal(s->side[0].came, 1);
    struct hark_store *store = s->side[0].a.store;
    assert_int_equal(store->ops->verify(store, RANK, ID), HARK_S_OK);
}

static void dropped_while_it_is_checked(void **state)
{
    struct set *s = *state;
    struct hark_coder *c = s->side[1].a.coder;
    get(s);
    while (c->generation->check != HARK_CHECK_RUNS) turn(s);
    uncode(&s->side[1]);
    while (s->side[0].came + s->side[0].came_not == 0) turn(s);
    assert_int_equal(s->side[0].came_not, 1);
}

static bool out(void *self, uint64_t offset, const uint8_t *at, size_t length)
{
    (void)self, (void)offset, (void)at, (void)length;
    return true;
}

static void done(void *self, bool whole)
{
    struct set *s = self;
    s->over++;
    s->whole = whole;
}

/* A host that has dropped all of it does not know which host of the set it was. */
static void dropped_before_a_piece(void **state)
{
    struct set *s = *state;
    struct hark_coder *c = s->side[0].a.coder;
    const struct hark_combine_of of = {.number = NUMBER,
        .run = RUN,
        .hosts = 2,
        .factor = {0, 1},
        .address = {NULL, s->side[1].address},
        .end = HARK_CODE_UNIT,
        .self = s,
        .out = out,
        .done = done};
    uncode(&s->side[1]);
    assert_non_null(hark_combine_begin(c, &of));
    hark_combine_go_on(c);
    while (s->over == 0) turn(s);
    assert_false(s->whole);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rebuilt), TEST(dropped_before_a_piece), TEST(dropped_while_it_is_checked)};
    return cmocka_run_group_tests_name("coder", tests, NULL, NULL);
}
