/* Text of others in pictures and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "view/words.h"

#define BAD "\xef\xbf\xbd"
#define CUT "\xe2\x80\xa6"

static void expect_words(
    const char *text, size_t most, enum hark_words_end kept, const char *expected)
{
    char *found = NULL;
    size_t length;
    FILE *f = open_memstream(&found, &length);
    assert_non_null(f);
    hark_words(text, most, kept, f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(found, expected);
    free(found);
}

static void expect_json(const char *text, const char *expected)
{
    char *found = NULL;
    size_t length;
    FILE *f = open_memstream(&found, &length);
    assert_non_null(f);
    hark_json_string(f, text);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(found, expected);
    free(found);
}

static void what_xml_takes(void **state)
{
    (void)state;
    expect_words("", 9, HARK_WORDS_HEAD, "");
    expect_words("a<b>&\"c'", 9, HARK_WORDS_HEAD, "a&lt;b&gt;&amp;\"c'");
    expect_words("1\t2\x01\x7f\n\r.", 9, HARK_WORDS_HEAD, "1 2" BAD "\x7f  .");
    expect_words("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 9, HARK_WORDS_HEAD,
        "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

/* A byte each: alone, overlong, cut short, a surrogate, beyond the last character; and what XML has
 * not. */
static void what_is_no_utf8(void **state)
{
    (void)state;
    expect_words("\xff.\x80.\xc3", 9, HARK_WORDS_HEAD, BAD "." BAD "." BAD);
    expect_words("\x89.\x8a\x8d", 9, HARK_WORDS_HEAD, BAD "." BAD BAD);
    expect_words("\xc0\xaf", 9, HARK_WORDS_HEAD, BAD BAD);
    expect_words("\xe0\x80\xaf", 9, HARK_WORDS_HEAD, BAD BAD BAD);
    expect_words("\xf0\x80\x80\xaf", 9, HARK_WORDS_HEAD, BAD BAD BAD BAD);
    expect_words("\xed\xa0\x80", 9, HARK_WORDS_HEAD, BAD BAD BAD);
    expect_words("\xf4\x90\x80\x80", 9, HARK_WORDS_HEAD, BAD BAD BAD BAD);
    expect_words("\xe2\x82", 9, HARK_WORDS_HEAD, BAD BAD);
    expect_words("\xef\xbf\xbe", 9, HARK_WORDS_HEAD, BAD);
    expect_json("\xff.\xe2\x82 \xed\xa0\x80", "\"\\ufffd.\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\"");
    expect_json(
        "\xc3\xa9\"\\\n\x7f\xf0\x9f\x98\x80", "\"\xc3\xa9\\\"\\\\\\u000a\\u007f\xf0\x9f\x98\x80\"");
}

static void what_is_too_long(void **state)
{
    (void)state;
    expect_words("12345", 5, HARK_WORDS_HEAD, "12345");
    expect_words("123456", 5, HARK_WORDS_HEAD, "1234" CUT);
    expect_words("123456", 5, HARK_WORDS_TAIL, CUT "3456");
    expect_words(
        "\xc3\xa9\xc3\xa8\xc3\xa0\xff.", 5, HARK_WORDS_TAIL, "\xc3\xa9\xc3\xa8\xc3\xa0" BAD ".");
    expect_words("\xc3\xa9\xc3\xa8\xc3\xa0\xff.", 4, HARK_WORDS_TAIL, CUT "\xc3\xa0" BAD ".");
    expect_words(
        "\xc3\xa9\xc3\xa8\xc3\xa0\xff.", 4, HARK_WORDS_HEAD, "\xc3\xa9\xc3\xa8\xc3\xa0" CUT);
    expect_words("<<<<", 3, HARK_WORDS_HEAD, "&lt;&lt;" CUT);
    expect_words("12", 1, HARK_WORDS_TAIL, CUT);
    expect_words("12", 0, HARK_WORDS_TAIL, "");
    assert_int_equal(hark_words_length("\xc3\xa9\xc3\xa8\xc3\xa0\xff."), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_xml_takes),
        cmocka_unit_test(what_is_no_utf8), cmocka_unit_test(what_is_too_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
