/* The lists of posted receives and untaken messages, short and long: what the real queue.c answers
 * beside what a walk over plain arrays finds, over random operations of many seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/process/queue.h"

struct app hark_app;
struct hark_process hark_process;

void hark_process_fatal(const char *format, ...)
{
    fail_msg("%s", format);
    abort();
}

enum { SOURCES = 3, TAGS = 6, MANY = 64 };

/* The last two are alike in their lower 16 bits. */
static const uint32_t contexts[] = {
    CTX_POINT, HARK_APP_CONTEXTS, HARK_APP_CONTEXTS + 4, HARK_APP_CONTEXTS + 4 + (1 << 18)};

static struct model {
    struct hark_request *posted[MANY]; /* oldest first, as in the lists */
    struct hark_message *message[MANY];
    unsigned receives, messages;
    uint64_t dice;
    unsigned made, dropped; /* the index */
} model;

static unsigned roll(unsigned most)
{
    model.dice = model.dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(model.dice >> 33) % most;
}

static uint32_t any_context(void)
{
    return contexts[roll(sizeof contexts / sizeof *contexts)];
}

static int32_t any_tag_of_message(uint32_t ctx)
{
    return (int32_t)roll(TAGS) | (ctx >= HARK_APP_CONTEXTS && roll(3) == 0 ? HARK_APP_MARK : 0);
}

static void receive_by_chance(struct hark_request *r)
{
    uint32_t ctx = any_context();
    int tag = roll(3) ? (int)roll(TAGS) : HARK_ANY_TAG;
    *r = (struct hark_request){.from = roll(3) ? (int)roll(SOURCES) : HARK_ANY_SOURCE,
        .tag = tag,
        .mask = hark_app_mask(tag, ctx),
        .ctx = ctx};
}

/* ---- what a walk finds ------------------------------------------------------------------------
 */

static struct hark_request *first_claim(
    const struct hark_request *r, uint32_t from, uint32_t ctx, int32_t tag)
{
    for (unsigned i = 0; i < model.receives && model.posted[i] != r; i++)
        if (!model.posted[i]->reserved && hark_queue_fits(model.posted[i], from, ctx, tag))
            return model.posted[i];
    return (struct hark_request *)(uintptr_t)r;
}

static struct hark_message *next_fit(const struct hark_request *r, unsigned i)
{
    while (i < model.messages && !hark_queue_fits_message(r, model.message[i])) i++;
    return i < model.messages ? model.message[i] : NULL;
}

static struct hark_message *first_of_channel(
    const struct hark_request *q, const struct hark_message *m)
{
    for (unsigned i = 0;; i++)
        if (model.message[i]->from == m->from && hark_queue_fits_message(q, model.message[i]))
            return model.message[i];
}

/* The first marked message that a receive could take, a reserved one among them. */
static struct hark_message *first_claimed_mark(void)
{
    for (unsigned i = 0; i < model.messages; i++)
        for (unsigned k = 0; hark_queue_marked(model.message[i]) && k < model.receives; k++)
            if (hark_queue_fits_message(model.posted[k], model.message[i])) return model.message[i];
    return NULL;
}

/* ---- operations -------------------------------------------------------------------------------
 */

static void post(void)
{
    struct hark_request *r = malloc(sizeof *r);
    if (model.receives == MANY) {
        free(r);
        return;
    }
    receive_by_chance(r);
    hark_queue_post(r);
    model.posted[model.receives++] = r;
}

static void unpost(void)
{
    if (model.receives == 0) return;
    unsigned i = roll(model.receives);
    struct hark_request *r = model.posted[i];
    hark_queue_unpost(r);
    memmove(&model.posted[i], &model.posted[i + 1], (--model.receives - i) * sizeof r);
    assert_int_equal(r->status, 0);
    free(r);
}

static void add(void)
{
    if (model.messages == MANY) return;
    struct hark_message *m = calloc(1, sizeof *m);
    m->from = roll(SOURCES);
    const uint32_t ctx = any_context();
    m->ctx = hark_app_channel(ctx);
    m->tag = hark_app_wire_tag(ctx, any_tag_of_message(ctx));
    hark_queue_add(m);
    model.message[model.messages++] = m;
}

static void remove_one(void)
{
    if (model.messages == 0) return;
    unsigned i = roll(model.messages);
    struct hark_message *m = model.message[i];
    hark_queue_remove(m);
    memmove(&model.message[i], &model.message[i + 1], (--model.messages - i) * sizeof m);
    assert_null(m->owner);
    free(m);
}

static void move(void)
{
    if (model.messages < 2) return;
    unsigned i = 1 + roll(model.messages - 1), place = roll(i);
    struct hark_message *m = model.message[i];
    hark_queue_move(m, model.message[place]);
    memmove(&model.message[place + 1], &model.message[place], (i - place) * sizeof m);
    model.message[place] = m;
}

/* One at most is reserved. */
static void reserve(void)
{
    bool any = false;
    for (unsigned i = 0; i < model.receives; i++) any |= model.posted[i]->reserved;
    for (unsigned i = 0; i < model.receives; i++) model.posted[i]->reserved = false;
    if (!any && model.receives) model.posted[roll(model.receives)]->reserved = true;
}

/* ---- comparisons ------------------------------------------------------------------------------
 */

static void compare_lists(void)
{
    const struct hark_request *r = hark_app.posted, *last = NULL;
    const struct hark_message *m = hark_app.first, *newest = NULL;
    unsigned marked = 0;
    for (unsigned i = 0; i < model.receives; i++, last = r, r = r->next) {
        assert_ptr_equal(r, model.posted[i]);
        assert_ptr_equal(r->previous, last);
    }
    for (unsigned i = 0; i < model.messages; i++, newest = m, m = m->next) {
        assert_ptr_equal(m, model.message[i]);
        assert_ptr_equal(m->previous, newest);
        marked += hark_queue_marked(m);
    }
    assert_null(r);
    assert_null(m);
    assert_ptr_equal(hark_app.posted_last, last);
    assert_ptr_equal(hark_app.last, newest);
    assert_int_equal(hark_app.marked, marked);
}

static void compare_claims(void)
{
    uint32_t ctx = any_context();
    uint32_t from = roll(SOURCES);
    int32_t tag = any_tag_of_message(ctx);
    const struct hark_request *r = model.receives ? model.posted[roll(model.receives)] : NULL;
    struct hark_request *bound = roll(2) ? (struct hark_request *)(uintptr_t)r : NULL;
    assert_ptr_equal(
        hark_queue_claimant_of(bound, from, ctx, tag, NULL), first_claim(bound, from, ctx, tag));
    if (model.messages == 0) return;
    const struct hark_message *m = model.message[roll(model.messages)];
    assert_ptr_equal(hark_queue_claimant(bound, m),
        first_claim(bound, m->from, hark_queue_context(m), (int32_t)m->tag));
}

static void compare_messages(void)
{
    struct hark_request unposted, *r = &unposted;
    receive_by_chance(&unposted);
    if (model.receives && roll(2)) r = model.posted[roll(model.receives)];
    const struct hark_message *m = hark_queue_first(r);
    assert_ptr_equal(m, next_fit(r, 0));
    for (unsigned i = 0; m; m = hark_queue_next(r, m)) {
        while (model.message[i] != m) i++;
        assert_ptr_equal(hark_queue_next(r, m), next_fit(r, i + 1));
        assert_ptr_equal(hark_queue_channel(r, m), first_of_channel(r, m));
    }
}

/* The walk begins no later than at the first, and there is one if it begins. */
static void compare_marks(void)
{
    const struct hark_message *m = hark_queue_marked_first(), *first = first_claimed_mark();
    if (hark_app.many) assert_ptr_equal(m, hark_app.marked ? first : NULL);
    else assert_ptr_equal(m, hark_app.marked ? hark_app.first : NULL);
}

static void step(bool grows)
{
    static void (*const other[])(void) = {move, move, reserve, remove_one, unpost, add, post};
    switch (roll(4)) {
    case 0: (grows ? post : unpost)(); break;
    case 1: (grows ? add : remove_one)(); break;
    default: other[roll(sizeof other / sizeof *other)]();
    }
}

static void compare(void)
{
    compare_lists();
    compare_claims();
    compare_messages();
    if (roll(8) == 0) compare_marks(); /* which makes the index, if there are any */
}

static void run(uint64_t seed)
{
    enum { PHASES = 6, STEPS = 160 };
    memset(&hark_app, 0, sizeof hark_app);
    model.receives = model.messages = 0;
    model.dice = seed * 2654435761u + 1;
    for (unsigned phase = 0; phase < PHASES; phase++)
        for (unsigned i = roll(STEPS); i > 0; i--) {
            const struct match_index *before = hark_app.index;
            step(phase % 2 == 0);
            compare();
            model.made += before == NULL && hark_app.index;
            model.dropped += before && hark_app.index == NULL;
        }
    while (model.receives) unpost();
    while (model.messages) remove_one();
    assert_null(hark_app.index);
    assert_int_equal(hark_app.posted_more, 0);
    assert_int_equal(hark_app.untaken_more, 0);
}

static void the_index_finds_what_a_walk_finds(void **state)
{
    enum { SEEDS = 1000 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) run(seed);
    print_message("the index was made %u times and given up %u times\n", model.made, model.dropped);
    assert_true(model.made > SEEDS && model.dropped > SEEDS / 2); /* else this shows little of it */
}

static void setup_messages(struct hark_message *message, unsigned count)
{
    memset(&hark_app, 0, sizeof hark_app);
    memset(message, 0, count * sizeof *message);
    for (unsigned i = 0; i < count; i++) {
        message[i].from = i % SOURCES;
        message[i].tag = (int32_t)i;
        hark_queue_add(&message[i]);
    }
}

enum { COUNT = 100 };

/* In the order in which they came, and nearly: an index would take longer. From the last to the
 * first: it is made before all have been passed a few times. */
static void only_long_walks_make_the_index(void **state)
{
    static struct hark_message message[COUNT];
    struct hark_request any = {.from = HARK_ANY_SOURCE, .tag = HARK_ANY_TAG, .ctx = CTX_POINT};
    struct hark_request exact = any;
    (void)state;
    exact.mask = hark_app_mask(0, CTX_POINT);
    setup_messages(message, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        exact.tag = (int)(i ^ 1);
        assert_ptr_equal(hark_queue_first(&exact), &message[i ^ 1]);
        assert_ptr_equal(hark_queue_first(&any), &message[i & 1 ? i & ~1u : i]);
        hark_queue_remove(&message[i ^ 1]);
        assert_null(hark_app.index);
    }
    assert_null(hark_app.first);
    setup_messages(message, COUNT);
    for (unsigned i = COUNT - 1; hark_app.index == NULL; i--) {
        assert_in_range(i, COUNT - 8, COUNT);
        exact.tag = (int)i;
        assert_ptr_equal(hark_queue_first(&exact), &message[i]);
        hark_queue_remove(&message[i]);
    }
    for (struct hark_message *m; (m = hark_app.first) != NULL;) hark_queue_remove(m);
    assert_null(hark_app.index);
    assert_false(hark_app.many);
    assert_int_equal(hark_app.walked, 0);
}

/* Each message goes to before the last that was moved, behind the same one: the room between their
 * numbers ends. */
static void numbers_between_two_messages_end(void **state)
{
    static struct hark_message message[COUNT];
    struct hark_request any = {.from = HARK_ANY_SOURCE, .tag = HARK_ANY_TAG, .ctx = CTX_POINT};
    (void)state;
    setup_messages(message, COUNT);
    (void)hark_queue_long_marked(); /* makes the index */
    assert_non_null(hark_app.index);
    for (unsigned i = COUNT - 1; i > 1; i--)
        hark_queue_move(&message[i], &message[i + 1 < COUNT ? i + 1 : 1]);
    const struct hark_message *m = hark_queue_first(&any);
    assert_ptr_equal(m, &message[0]);
    for (unsigned i = 2; i <= COUNT; i++) {
        m = hark_queue_next(&any, m);
        assert_ptr_equal(m, &message[i < COUNT ? i : 1]);
    }
    hark_queue_move(&message[1], &message[0]); /* and before the first */
    assert_ptr_equal(hark_queue_first(&any), &message[1]);
    for (unsigned i = 0; i < COUNT; i++) hark_queue_remove(&message[i]);
    assert_null(hark_app.index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_finds_what_a_walk_finds),
        cmocka_unit_test(only_long_walks_make_the_index),
        cmocka_unit_test(numbers_between_two_messages_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
