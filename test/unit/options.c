/* The options of protocols: what their tables must keep to, and how they are written and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* One name is one option, whichever protocol has it; only what it does there may be said otherwise.
 */
static void the_same_everywhere(void **state)
{
    const struct hark_option *o, *own;
    (void)state;
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL; i++) {
        unsigned having = 0;
        assert_true(o->help[0] && o->at + sizeof(uint32_t) <= sizeof(struct hark_config) &&
                    o->at % sizeof(uint32_t) == 0);
        assert_true(o->value ? o->least <= o->most && o->bits == 0 && o->usual < o->most
                             : o->bits != 0 && o->usual == 0);
        for (unsigned k = 0; hark_protocol_at(k); k++) {
            if ((own = hark_option_of(hark_protocol_at(k), o)) == NULL) continue;
            having++;
            assert_true(same(own->value, o->value) && same(own->line, o->line));
            assert_true(own->at == o->at && own->bits == o->bits && own->least == o->least &&
                        own->most == o->most);
            assert_true(own->usual == o->usual && own->image == o->image);
        }
        assert_true(having > 0);
        for (unsigned k = 0; k < i; k++) {
            const struct hark_option *other = hark_option_at(k);
            assert_false(same(other->name, o->name));
            assert_false(other->at == o->at &&
                         (o->value || other->value || o->bits & other->bits)); /* who
                                                                                  asked
                                                                                  for
                                                                                  which?
                                                                                */
            assert_false(o->line && same(other->line, o->line));
        }
    }
}

static void one_protocol_is_usual(void **state)
{
    unsigned usual = 0;
    (void)state;
    for (unsigned i = 0; hark_protocol_at(i); i++)
        usual += hark_protocol_at(i)->traits & HARK_TRAIT_USUAL ? 1 : 0;
    assert_int_equal(usual, 1);
    for (uint32_t programs = HARK_FOR_ANY; programs <= HARK_FOR_SENDS; programs++)
        assert_non_null(hark_protocol_for(programs));
}

/* Of a table of its own: two values, two bits. */
static const struct hark_option table[] = {
    {"first", NULL, "a", "a line", "second third", NULL, 0, 0, 0, 1, HARK_SETS(flags), true},
    {"second", "K", "b", NULL, NULL, NULL, 2, 9, 0, 0, HARK_SETS(fan), false},
    {"third", "N", "c", NULL, NULL, "it is so", 1, UINT32_MAX, 1, 0, HARK_SETS(copies), true},
    {"fourth", NULL, "d", NULL, "none-such third", NULL, 0, 0, 0, 6, HARK_SETS(flags), true},
    HARK_OPTIONS_END};

static void writes(const struct hark_config *c, bool image, const char *expected)
{
    char text[100];
    struct hark_words w;
    hark_words_begin(&w, text, sizeof text);
    hark_options_write(table, c, image, &w);
    assert_string_equal(text, expected);
}

static void written_and_read(void **state)
{
    static const char *const wrong[] = {"--fifth", "-first", "first", "--", "--second",
        "--second 1", "--second 10", "--second x", "--second 3x", "--first 1", "--third 4294967296",
        "--third 99999999999999999999", "--second --first", "--firs", "--firstt"};
    struct hark_config c = {0};
    (void)state;
    writes(&c, false, "");
    assert_int_equal(hark_options_read(table, "", &c), HARK_OK);
    assert_int_equal(
        hark_options_read(table, " --first --second 9  --third 4294967295 --fourth", &c), HARK_OK);
    assert_true(c.flags == 7 && c.fan == 9 && c.copies == UINT32_MAX);
    writes(&c, false, " --first --second 9 --third 4294967295 --fourth");
    writes(&c, true, " --first --third 4294967295 --fourth");
    c.copies = 1; /* as it is by itself */
    c.flags = 3;  /* half of the fourth */
    writes(&c, false, " --first --second 9");
    for (size_t i = 0; i < HARK_COUNT(wrong); i++)
        if (hark_options_read(table, wrong[i], &(struct hark_config){0}) != HARK_EINVAL)
            fail_msg("%s was read", wrong[i]);
}

static void what_does_not_go_together(void **state)
{
    const struct hark_option *other = NULL;
    (void)state;
    const struct hark_config none = {0}, alone = {.flags = 1},
                             second = {.flags = 1, .fan = 3, .copies = 2},
                             third = {.flags = 6, .copies = 2}, usual = {.flags = 7, .copies = 1};
    assert_null(hark_options_clash(table, &none, &other));
    assert_null(hark_options_clash(table, &alone, &other));
    assert_null(hark_options_clash(table, &usual, &other));
    assert_ptr_equal(hark_options_clash(table, &second, &other), &table[0]);
    assert_ptr_equal(other, &table[1]);
    assert_ptr_equal(hark_options_clash(table, &third, &other), &table[3]);
    assert_ptr_equal(other, &table[2]);
}

static void what_others_have_not_is_left_out(void **state)
{
    const struct hark_config from = {.flags = 7, .fan = 3, .copies = 4};
    struct hark_config to = {.ranks = 5};
    (void)state;
    hark_options_take(table + 3, &from, &to);
    assert_true(to.flags == 6 && to.fan == 0 && to.copies == 0 && to.ranks == 5);
    hark_options_take(table, &from, &to);
    assert_true(to.flags == 7 && to.fan == 3 && to.copies == 4 && to.ranks == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_everywhere),
        cmocka_unit_test(one_protocol_is_usual), cmocka_unit_test(written_and_read),
        cmocka_unit_test(what_does_not_go_together),
        cmocka_unit_test(what_others_have_not_is_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
