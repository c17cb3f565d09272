/* camel.h, group.h, scmel_cast.h: trees, reductions in a row, fan-outs in batches, and what is refused. Who keeps what, and what goes where
 * after failures, is in test/paper/camel.c; failures are searched: test/scenario/camel-*.hark. The tree is that of CAMEL's Figure
 * 3(b): R to S and T, S to U and V, T to W and X, X to Y and Z. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

enum { R, S, T, U, V, W, X, Y, Z, N, FRAMES = 64, BLOCK = 1 << 16, CTX = 1, UP = 2 };

static const uint32_t member[N] = {R, S, T, U, V, W, X, Y, Z}, parent[N] = {R, R, R, S, S, T, T, X, X};
static const struct hark_tree figure = {.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N};
static const struct hark_tree both[] = {{.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};
static const struct hark_tree reductions[] = {{.ctx = CTX, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};

struct frame {
    uint32_t to, length;
    uint8_t header[HARK_FRAGMENT];
};

struct job {
    struct hark *core[N];
    struct frame frame[FRAMES], up[N];
    uint32_t frames, handed_up;
    uint32_t room;                                      /* of effects */
    uint32_t parts[N], most_parts;                      /* of what is being combined; of the widest */
    struct hark_name answer[N];                         /* COMBINED is due */
};

static void begin_on(struct job *j, const char *protocol, uint32_t copies, const struct hark_tree trees[2])
{
    *j = (struct job){.room = HARK_EFFECTS_ROOM};
    for (uint32_t i = 0; i < N; i++) {
        struct hark_config c = {.me = i, .ranks = N, .trees = trees, .tree_count = 2, .copies = copies};
        const struct hark_protocol *p = hark_protocol_named(protocol);
        assert_true(p->size(&c) > 0 && p->size(&c) <= BLOCK);
        j->core[i] = malloc(BLOCK);
        assert_int_equal(p->init(j->core[i], p->size(&c), &c), HARK_OK);
        hark_grow(j->core[i], BLOCK);
    }
}

static void begin(struct job *j, const char *protocol, uint32_t copies)
{
    begin_on(j, protocol, copies, both);
}

static void end(struct job *j)
{
    for (uint32_t i = 0; i < N; i++) {
        assert_null(hark_protocol_of(j->core[i])->violated(j->core[i]));
        free(j->core[i]);
    }
}

static void perform(struct job *j, uint32_t who, const struct hark_effect *x, const struct frame *arrived)
{
    struct frame *f = &j->frame[j->frames];
    switch (x->type) {
    case HARK_TRANSMIT:
        assert_true(j->frames++ < FRAMES);
        *f = (struct frame){.to = x->peer, .length = x->header.length};
        memcpy(f->header, x->header.at, f->length);
        break;
    case HARK_COMBINE:
        if (!x->u.into) j->parts[who]++;
        else if (x->u.into == 2) {
            assert_int_equal(j->answer[who].ssn, 0); /* an embedder keeps one */
            j->answer[who] = x->name;
        }
        if (j->parts[who] > j->most_parts) j->most_parts = j->parts[who];
        if (x->u.into) j->parts[who] = 0;
        break;
    case HARK_HANDUP:
        j->up[who] = *arrived;
        j->handed_up++;
        break;
    default: break;
    }
}

static int step(struct job *j, uint32_t who, struct hark_event e, const struct frame *arrived)
{
    static struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {.at = effects, .room = j->room, .bytes = bytes, .bytes_room = HARK_EFFECTS_BYTES};
    int status;
    do {
        status = hark_step(j->core[who], &e, &fx);
        for (uint32_t i = 0; status >= 0 && i < fx.count; i++) perform(j, who, &effects[i], arrived);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    if (status != HARK_OK || j->answer[who].ssn == 0) return status;
    e = (struct hark_event){.type = HARK_COMBINED};
    e.u.combined.name = j->answer[who];
    j->answer[who].ssn = 0;
    return step(j, who, e, NULL);
}

static int multicast(struct job *j, uint32_t who, uint32_t group)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = group;
    e.u.send.ctx = (uint16_t)group;
    e.u.send.to = HARK_GROUP;
    return step(j, who, e, NULL);
}

static void settle(struct job *j)
{
    while (j->frames) {
        struct frame f = j->frame[0];
        struct hark_event e = {.type = HARK_ARRIVE};
        memmove(&j->frame[0], &j->frame[1], --j->frames * sizeof f);
        e.u.frame.header = (struct hark_bytes){f.header, f.length};
        assert_int_equal(step(j, f.to, e, &f), HARK_OK);
    }
}

static void point(struct job *j, uint32_t who, bool due)
{
    struct hark_event e = {.type = HARK_CHECKPOINT_POINT};
    e.u.point.due = due;
    assert_int_equal(step(j, who, e, NULL), HARK_OK);
    settle(j);
}

/* What arrives while the root stands still is combined when it goes on, of two groups one after the other. */
static void two_at_once(void **state)
{
    struct job j;
    struct hark_event failed = {.type = HARK_STORED};
    (void)state;
    begin_on(&j, "camel", 1, reductions);
    for (uint32_t group = CTX; group <= UP; group++) assert_int_equal(multicast(&j, R, group), HARK_OK);
    point(&j, R, true);
    for (uint32_t i = S; i < N; i++)
        for (uint32_t group = CTX; group <= UP; group++) assert_int_equal(multicast(&j, i, group), HARK_OK);
    settle(&j);
    for (uint32_t i = S; i < N; i++) point(&j, i, false);
    assert_int_equal(j.handed_up, 0);
    failed.u.stored.of = HARK_CAPTURE;
    failed.u.stored.id = 1;
    assert_int_equal(step(&j, R, failed, NULL), HARK_OK);
    settle(&j);
    assert_int_equal(j.handed_up, 2);
    end(&j);
}

/* Ahead of others by some reductions: each is combined for itself, and the results come in order. */
static void reductions_in_a_row(void **state)
{
    enum { ROW = 5 };
    struct job j;
    (void)state;
    for (uint32_t first = 0; first < N; first++) {
        begin(&j, "camel", 1);
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t n = 0; n < ROW; n++) {
                assert_int_equal(multicast(&j, (first + i) % N, UP), HARK_OK);
                settle(&j);
            }
        assert_int_equal(j.handed_up, ROW);
        assert_int_equal(hark_get64(j.up[R].header + 24), ROW);
        assert_int_equal(j.most_parts, 3);
        end(&j);
    }
}

/* A fan-out needs no array as long as the children: in batches, to each once. */
static void in_batches(void **state)
{
    enum { MANY = 3 * HARK_EFFECTS_ROOM };
    uint32_t of[MANY], above[MANY] = {0}, copies[MANY] = {0}, batches = 0;
    struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {.at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = HARK_EFFECTS_BYTES};
    const struct hark_tree star = {.ctx = CTX, .root = 0, .member = of, .parent = above, .count = MANY};
    struct hark_config c = {.me = 0, .ranks = MANY, .trees = &star, .tree_count = 1};
    struct hark *p = malloc(BLOCK);
    struct hark_event e = {.type = HARK_SEND};
    int status;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) of[i] = i;
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_OK);
    e.u.send.peer = e.u.send.ctx = CTX;
    e.u.send.to = HARK_GROUP;
    do {
        status = hark_camel_step(p, &e, &fx);
        assert_true(status >= 0);
        for (uint32_t i = 0; i < fx.count; i++) {
            if (i == 0 && batches == 0) assert_int_equal(effects[i].type, HARK_RETAIN);
            else copies[effects[i].peer]++;
            if (effects[i].type == HARK_TRANSMIT) assert_false(effects[i].replay); /* it is at hand still */
        }
        batches++;
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    assert_true(batches > 2);
    for (uint32_t i = 1; i < MANY; i++) assert_int_equal(copies[i], 1);
    free(p);
}

/* The root only (C-7), to a group that there is, under a protocol that knows of them. */
static void refused(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "camel", 1);
    assert_int_equal(multicast(&j, S, CTX), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, UP + 1), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, 0), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, UINT32_MAX), HARK_EINVAL);
    end(&j);
    begin(&j, "scmel", 1);
    assert_int_equal(multicast(&j, R, CTX), HARK_EINVAL);
    end(&j);
}

static void bad_trees(void **state)
{
    static const uint32_t other[N] = {S, S, R, S, S, T, T, X, X}, far[N] = {R, R, R, S, S, T, T, X, N};
    const struct hark_tree wrong[] = {{.ctx = 0, .root = R, .member = member, .parent = parent, .count = N},
        {.ctx = CTX, .root = R, .member = member, .parent = parent, .count = 0},
        {.ctx = CTX, .root = R, .member = member, .parent = other, .count = N}, /* the root is not its own parent */
        {.ctx = CTX, .root = R, .member = member, .parent = far, .count = N},   /* a rank that there is not */
        {.ctx = CTX, .root = S, .member = member, .parent = parent, .count = N}};
    struct hark *p = malloc(BLOCK);
    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hark_config c = {.me = R, .ranks = N, .trees = &wrong[i], .tree_count = 1};
        assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_EINVAL);
    }
    const struct hark_tree twice[] = {figure, figure}; /* not ascending */
    struct hark_config c = {.me = R, .ranks = N, .trees = twice, .tree_count = 2};
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_EINVAL);
    c = (struct hark_config){.me = R, .ranks = N, .trees = &figure, .tree_count = 1, .copies = 2};
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_EINVAL);
    c.copies = 1;
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_OK);
    free(p);
}

/* ---- trees -------------------------------------------------------------------------------------------------------- */

static uint32_t depth(const uint32_t *of, const uint32_t *above, uint32_t count, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t at = 0;
        while (of[at] != rank) at++;
        if (above[at] == rank) return n;
        rank = above[at];
        n++;
    }
    fail_msg("a circle");
    return 0;
}

static uint32_t children(const uint32_t *of, const uint32_t *above, uint32_t count, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) n += above[i] == rank && of[i] != rank;
    return n;
}

/* Everybody is below the root, no deeper than such trees are, with no more children than they have. */
static void trees(void **state)
{
    uint32_t of[40], above[40];
    (void)state;
    for (uint32_t count = 1; count <= 40; count++) {
        for (uint32_t i = 0; i < count; i++) of[i] = 100 + 3 * i;
        for (uint32_t root = 0; root < count; root += 1 + count / 5) {
            uint32_t bits = 0, levels = 0;
            while (1u << bits < count) bits++;
            assert_int_equal(hark_tree_binomial(of, count, of[root], above), HARK_OK);
            for (uint32_t i = 0; i < count; i++) assert_true(depth(of, above, count, of[i]) <= bits);
            assert_int_equal(children(of, above, count, of[root]), bits);
            assert_int_equal(hark_tree_kary(of, count, of[root], 3, above), HARK_OK);
            for (uint32_t reach = 1, row = 1; reach < count; levels++, row *= 3, reach += row) {}
            for (uint32_t i = 0; i < count; i++) {
                assert_true(depth(of, above, count, of[i]) <= levels);
                assert_true(children(of, above, count, of[i]) <= 3);
            }
        }
    }
    assert_int_equal(hark_tree_binomial(of, 40, 99, above), HARK_EINVAL);
    assert_int_equal(hark_tree_kary(of, 40, 99, 2, above), HARK_EINVAL);
    assert_int_equal(hark_tree_kary(of, 40, of[0], 0, above), HARK_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_at_once), cmocka_unit_test(reductions_in_a_row), cmocka_unit_test(in_batches), cmocka_unit_test(refused),
        cmocka_unit_test(bad_trees), cmocka_unit_test(trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
