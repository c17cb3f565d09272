/* Uncoordinated checkpoints without domino effect (IPDPS 2011): the recovery line, by a worked
 * example. Three processes in epochs 2, 1 and 3, and five messages:
 *
 *   a: P0(1) -> P1(1)   b: P0(2) -> P1(1)   c: P1(1) -> P2(3), logged   d: P2(3) -> P0(2)   e:
 *                                                                       P2(2) -> P0(2)
 *
 * Here the line alone. The same by the processes' own code, each failing, who is suppressed and
 * what is replayed, step by step: test/scenario/golden/sendet-94-*.hark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hark/registry.h"

static union {
    struct hark head;
    uint64_t room[4096];
} block;

static const struct hark_line_row example[] = {{0, 0, HARK_L_EPOCH, 0, 0, 2, 2},
    {1, 0, HARK_L_EPOCH, 0, 0, 1, 1}, {2, 0, HARK_L_EPOCH, 0, 0, 3, 2},
    {0, 0, HARK_L_IMAGE, 0, 0, 1, 0}, {0, 0, HARK_L_IMAGE, 0, 0, 2, 1},
    {1, 0, HARK_L_IMAGE, 0, 0, 1, 0}, {2, 0, HARK_L_IMAGE, 0, 0, 1, 0},
    {2, 0, HARK_L_IMAGE, 0, 0, 2, 1}, {2, 0, HARK_L_IMAGE, 0, 0, 3, 2},
    {0, 1, HARK_L_SPE, 0, 0, 1, 1}, {0, 1, HARK_L_SPE, 0, 0, 2, 1}, {2, 0, HARK_L_SPE, 0, 0, 2, 2},
    {2, 0, HARK_L_SPE, 0, 0, 3, 2}};

static struct hark_recovery *begin(void)
{
    struct hark_recovery *s = (struct hark_recovery *)(void *)&block;
    const struct hark_config c = {.me = HARK_RECOVERY, .ranks = 3};
    assert_int_equal(hark_recovery_init(&block.head, sizeof block, &c), HARK_OK);
    assert_int_equal(hark_reserve(&s->head, &hark_recovery_shape, &s->line.facts, 32), HARK_OK);
    assert_int_equal(hark_reserve(&s->head, &hark_recovery_shape, &s->line.line, 3), HARK_OK);
    assert_int_equal(hark_reserve(&s->head, &hark_recovery_shape, &s->down, 3), HARK_OK);
    return s;
}

static void add(struct hark_recovery *s, struct hark_line_row f)
{
    hark_line_add(&s->head, &s->line, &f);
}

/* RL of each when those of `down` (a bit each) have gone back; 0: it goes on. Facts come in either
 * order. */
static bool line(struct hark_recovery *s, uint32_t down, const uint64_t rl[3])
{
    for (uint32_t r = 0; r < 3; r++)
        if (down >> r & 1) hark_ranges_add(&s->head, &s->down, r);
    bool others = hark_line_solve(&s->head, &s->line, &s->down);
    for (uint32_t r = 0; r < 3; r++)
        assert_true(hark_back_of(&s->head, &s->line, r)->rl == (rl[r] ? rl[r] : HARK_INFINITY));
    assert_null(hark_recovery_violated(&s->head));
    return others;
}

static void all(struct hark_recovery *s, bool backwards)
{
    for (size_t i = 0; i < HARK_COUNT(example); i++)
        add(s, example[backwards ? HARK_COUNT(example) - 1 - i : i]);
}

static void the_example(void **state)
{
    static const struct {
        uint32_t down;
        uint64_t rl[3];
        bool others;
    } fails[] = {{2, {1, 1, 2}, true}, {4, {0, 0, 3}, false}, {1, {2, 0, 2}, true}};
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++)
        for (size_t i = 0; i < HARK_COUNT(fails); i++) {
            struct hark_recovery *s = begin();
            all(s, backwards);
            assert_int_equal(line(s, fails[i].down, fails[i].rl), fails[i].others);
            assert_int_equal(hark_line_oldest(&s->head, &s->line, 3), 1);
        }
}

/* "Rank by rank": the images, and which is the last. */
static void who_is_told(void **state)
{
    bool more;
    (void)state;
    struct hark_recovery *s = begin();
    all(s, false);
    assert_true(line(s, 2, (const uint64_t[3]){1, 1, 2}));
    struct hark_back *x = hark_line_next(&s->head, &s->line, &more);
    assert_true(x->rank == 0 && x->id == 0 && more);
    x->goes = 2;
    x = hark_line_next(&s->head, &s->line, &more);
    assert_true(x->rank == 2 && x->id == 1 && !more);
    x->goes = 2;
    assert_null(hark_line_next(&s->head, &s->line, &more));
}

/* Those of the line have gone back, from their images: it is the same, and nobody else has to
 * (N-7). */
static void it_is_a_fixed_point(void **state)
{
    (void)state;
    struct hark_recovery *s = begin();
    add(s, (struct hark_line_row){0, 0, HARK_L_EPOCH, 0, 0, 1, 1});
    add(s, (struct hark_line_row){1, 0, HARK_L_EPOCH, 0, 0, 1, 1});
    add(s, (struct hark_line_row){2, 0, HARK_L_EPOCH, 0, 0, 2, 1});
    assert_false(line(s, 7, (const uint64_t[3]){1, 1, 2}));
}

/* A message that is not acknowledged counts if its sender's epoch is that of the line or later, and
 * the image does not have it (N-1). */
static void not_acknowledged(void **state)
{
    (void)state;
    for (uint64_t received = 0; received < 2; received++)
        for (uint64_t epoch = 1; epoch <= 2; epoch++) {
            struct hark_recovery *s = begin();
            add(s, (struct hark_line_row){0, 0, HARK_L_EPOCH, 0, 0, 2, 1});
            add(s, (struct hark_line_row){1, 0, HARK_L_EPOCH, 0, 0, 2, 1});
            add(s, (struct hark_line_row){2, 0, HARK_L_EPOCH, 0, 0, 2, 1});
            add(s, (struct hark_line_row){1, 0, HARK_L_RECV, 0, 0, 2, received});
            add(s, (struct hark_line_row){0, 1, HARK_L_NONACK, 0, 0, epoch, 1});
            bool back = epoch == 2 && received == 0;
            assert_int_equal(line(s, 2, (const uint64_t[3]){back ? 2 : 0, 2, 0}), back);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example), cmocka_unit_test(who_is_told),
        cmocka_unit_test(it_is_a_fixed_point), cmocka_unit_test(not_acknowledged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
