/* The uniform door of every protocol: what configurations it takes, how large a block, whom it is
 * handed on to; what can be looked at from outside; and that its checks of itself find what is
 * broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

enum { BLOCK = 1 << 18 };

static struct hark *core;
static const struct hark_protocol *protocol;
static struct hark_effect effect[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {
    .at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};

static bool is_recovery(void)
{
    return strcmp(protocol->name, "recovery") == 0;
}

static struct hark_config config(void)
{
    return (struct hark_config){
        .me = is_recovery() ? HARK_RECOVERY : 1, .ranks = 4, .flags = HARK_DIGEST};
}

static void begin(const char *name)
{
    protocol = hark_protocol_named(name);
    struct hark_config c = config();
    assert_int_equal(protocol->init(core, BLOCK, &c), HARK_OK);
}

static int give(const struct hark_event *e)
{
    struct hark_event go_on = {.type = HARK_CONTINUE};
    int first = hark_step(core, e, &fx), status = first;
    while (status == HARK_MORE) status = hark_step(core, &go_on, &fx);
    return first;
}

static void post(uint32_t peer, uint16_t ctx)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = peer;
    e.u.send.ctx = ctx;
    e.u.send.digest = 7;
    assert_int_equal(give(&e), HARK_OK);
}

/* A message of rank 0, with words of 8 bytes behind its head. */
static void message(uint32_t type, uint64_t ssn, const uint64_t *word, uint32_t words)
{
    uint8_t b[HARK_WIRE_HEAD + 64];
    struct hark_head h = {(uint8_t)core->kind, HARK_APP, 0, 0, 1, 0, 0, 0, ssn};
    struct hark_event e = {.type = type};
    hark_head_put(b, &h);
    for (uint32_t i = 0; i < words; i++) hark_put64(b + HARK_WIRE_HEAD + 8 * i, word[i]);
    e.u.frame.header = (struct hark_bytes){b, HARK_WIRE_HEAD + 8 * words};
    assert_int_equal(give(&e), HARK_OK);
}

static void arrives(uint64_t ssn, const uint64_t *word, uint32_t words)
{
    message(HARK_ARRIVE, ssn, word, words);
}

static void delivers(uint64_t ssn, const uint64_t *word, uint32_t words)
{
    message(HARK_DELIVER, ssn, word, words);
}

/* ---- configurations -------------------------------------------------------------------------- */

static void taken(const struct hark_config *c, bool ok)
{
    assert_int_equal(protocol->size(c) != 0, ok);
    assert_int_equal(protocol->init(core, BLOCK, c), ok ? HARK_OK : HARK_EINVAL);
}

static void test_configurations(void **state)
{
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        struct hark_config c = config();
        taken(&c, true);
        c.ranks = 0;
        taken(&c, false);
        c.ranks = HARK_RANKS_MAX + 1;
        taken(&c, false);
        c.ranks = HARK_RANKS_MAX;
        taken(&c, true);
        c.ranks = 2;
        taken(&c, true);
        c.me = is_recovery() ? 0 : 2;
        taken(&c, false);
        if (is_recovery()) continue;
        c.me = HARK_RECOVERY;
        taken(&c, false);
        c = config();
        c.generations = c.copies = 8;
        taken(&c, true);
        c.generations = 9;
        taken(&c, false);
        c.generations = 8, c.copies = 9;
        taken(&c, false);
        c = config();
        c.group_count = 1; /* and none is given */
        taken(&c, false);
    }
}

/* Rows stand one behind the other in the block, and what is behind them begins aligned. */
static void test_rows(void **state)
{
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        assert_int_equal(protocol->shape->fixed % 8, 0);
        for (uint32_t k = 0; k < protocol->shape->tables; k++)
            assert_int_equal(protocol->shape->rows[k].width % 8, 0);
    }
}

/* A cluster is ascending, disjoint, of ranks that exist, and has me in it. */
static void test_groups(void **state)
{
    static const struct {
        struct hark_range range[2];
        bool ok;
    } group[] = {{{{0, 1}, {3, 3}}, true}, {{{1, 1}, {2, 3}}, true}, {{{0, 0}, {1, 1}}, true},
        {{{0, 0}, {2, 3}}, false}, {{{2, 3}, {0, 1}}, false}, {{{0, 1}, {1, 2}}, false},
        {{{1, 1}, {3, 4}}, false}, {{{1, 0}, {1, 1}}, false}};
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        struct hark_config c = config();
        if (is_recovery()) continue;
        c.cluster_count = 2;
        taken(&c, false); /* nowhere */
        for (unsigned k = 0; k < HARK_COUNT(group); k++) {
            c.cluster = group[k].range;
            if (protocol->rolls != HARK_ROLLS_PROCESS || !group[k].ok) taken(&c, group[k].ok);
        }
        c.cluster = (struct hark_range[]){{0, 2}, {3, 3}}; /* all: what those take that go back
                                                              alone */
        taken(&c, true);
    }
}

/* In every block that is too small init says so; in the smallest that is not, the state is that in
 * a large one. */
static void test_blocks(void **state)
{
    static uint8_t small[4096], large[4096];
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        struct hark_range all = {0, 3};
        struct hark_config c = config();
        if (!is_recovery()) c.cluster = &all, c.cluster_count = 1;
        assert_int_equal(protocol->init(core, BLOCK, &c), HARK_OK);
        uint64_t n = hark_pack(core, protocol->shape, large, sizeof large), room = 0;
        while (protocol->init(core, room, &c) == HARK_EFULL) room += 8;
        assert_true(room >= protocol->shape->fixed && room <= protocol->size(&c));
        assert_int_equal(core->used, room);
        assert_int_equal(hark_pack(core, protocol->shape, small, sizeof small), n);
        assert_memory_equal(small, large, n);
        assert_int_equal(hark_grow(core, room - 8), HARK_EINVAL); /* it shrinks no further than to
                                                                     what it uses */
        assert_int_equal(core->bytes, room);
        assert_int_equal(hark_wants(core, NULL), room);
    }
}

/* ---- the registry, and words ----------------------------------------------------------------- */

static void test_registry(void **state)
{
    struct hark_event idle = {.type = HARK_IDLE};
    (void)state;
    assert_null(hark_protocol_named("hyde"));
    assert_null(hark_protocol_named("hydee2"));
    assert_null(hark_protocol_named(""));
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        begin(protocol->name);
        assert_ptr_equal(hark_protocol_of(core), protocol);
        assert_int_equal(hark_step(core, &idle, &fx), HARK_OK);
        assert_int_equal(hark_unstable(core), 0);
        core->kind = 77; /* nobody's */
        assert_null(hark_protocol_of(core));
        assert_int_equal(hark_step(core, &idle, &fx), HARK_EINVAL);
        assert_int_equal(hark_unstable(core), 0);
        core->kind = protocol->kind;
        core->magic++;
        assert_null(hark_protocol_of(core));
        assert_int_equal(hark_step(core, &idle, &fx), HARK_EINVAL);
    }
}

static void test_events_of_none(void **state)
{
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) { /* no event, and a
                                                                             member's at the
                                                                             recovery process */
        struct hark_event e = {.type = 0};
        begin(protocol->name);
        assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
        e.type = HARK_COMBINED;
        assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
        e.type = HARK_SEND;
        e.u.send.to = HARK_GROUP; /* no protocol here knows groups */
        assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
        e.u.send.to = HARK_PROCESS;
        e.u.send.peer = 4;
        assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
        fx.spare = HARK_SPARE_MAX + 1;
        assert_int_equal(hark_step(core, &e, &fx), HARK_ENOROOM);
        fx.spare = 0;
    }
}

/* Undone checkpoints are beyond the one to restart from, and ascend. */
static void test_undone(void **state)
{
    uint64_t again[3] = {0, 5, 6};
    struct hark_event e = {.type = HARK_RESTARTED};
    (void)state;
    begin("sendet");
    e.u.restarted.re = e.u.restarted.inc = 1;
    e.u.restarted.undone = again;
    e.u.restarted.undone_count = 3;
    assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
    again[0] = 5;
    assert_int_equal(hark_step(core, &e, &fx), HARK_EINVAL);
    again[0] = 2;
    assert_int_equal(hark_step(core, &e, &fx), HARK_OK);
    assert_int_equal(((struct hark_sendet *)(void *)core)->again.count, 3);
}

static void test_words(void **state)
{
    static const int status[] = {HARK_OK, HARK_MORE, HARK_WAIT, HARK_EINVAL, HARK_EFRAME,
        HARK_EFULL, HARK_ENOROOM, HARK_ESTATE, HARK_EIMAGE};
    static const uint32_t none[] = {0, HARK_RECLUSTER + 1, HARK_TRANSMIT - 1, HARK_RECOVERED + 1};
    (void)state;
    for (unsigned i = 0; i < HARK_COUNT(status); i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(hark_status_text(status[i]), hark_status_text(status[k]));
    assert_string_equal(hark_status_text(HARK_EFULL), "block too small");
    assert_string_equal(hark_status_text(-99), "unknown status");
    assert_string_equal(hark_event_text(HARK_SEND), "SEND");
    assert_string_equal(hark_event_text(HARK_CONTINUE), "CONTINUE");
    assert_string_equal(hark_event_text(HARK_RECLUSTER), "RECLUSTER");
    assert_string_equal(hark_event_text(HARK_TRANSMIT), "TRANSMIT");
    assert_string_equal(hark_event_text(HARK_RECOVERED), "RECOVERED");
    for (unsigned i = 0; i < HARK_COUNT(none); i++)
        assert_string_equal(hark_event_text(none[i]), "?");
    assert_string_equal(hark_frame_text(&hark_hydee_shape, HARK_APP), "APP");
    assert_string_equal(hark_frame_text(&hark_hydee_shape, HARK_W_WISH), "WISH");
    assert_string_equal(hark_frame_text(&hark_hydee_shape, HARK_H_POS), "POS");
    assert_string_equal(hark_frame_text(&hark_hydee_shape, HARK_W_END), "?");
    assert_string_equal(hark_frame_text(&hark_hydee_shape, 255), "?");
    assert_string_equal(hark_frame_text(&hark_none_shape, HARK_H_POS), "?");
}

/* ---- what can be looked at ------------------------------------------------------------------- */

/* A packed state has the same numbers as a walk over it with their names; between them it has
 * counts alone. */
static void looks_alike(void)
{
    static uint8_t image[1 << 16];
    const struct hark_shape *shape = protocol->shape;
    uint64_t n = hark_pack(core, shape, image, sizeof image), numbers = 0;
    struct hark_reader r = {image, n, 0, false};
    struct hark_cursor cursor = {0};
    struct hark_item item;
    assert_int_equal(hark_read(&r, 8) & UINT32_MAX, HARK_MAGIC);
    for (uint32_t table = 0; table <= shape->tables; table++) {
        const struct hark_rows *rows = table ? &shape->rows[table - 1] : NULL;
        if (rows && rows->fields == 0) continue;
        uint64_t count = rows ? hark_read(&r, 4) : 1;
        for (uint64_t row = 0; row < count; row++)
            for (uint32_t f = 0; f < (rows ? rows->fields : shape->fields); f++) {
                const struct hark_field *field = rows ? &rows->field[f] : &shape->field[f];
                uint64_t width = field->what == HARK_QUEUE ? hark_read(&r, 4) : 1;
                uint64_t elements = field->what == HARK_QUEUE ? hark_read(&r, 4) : 1;
                for (uint64_t k = 0; k < elements * width; k++, numbers++) {
                    assert_int_equal(hark_inspect(core, shape, &cursor, &item), 1);
                    assert_string_equal(item.name, field->name);
                    assert_ptr_equal(item.symbol, field->symbol);
                    assert_ptr_equal(item.table, rows ? rows->name : NULL);
                    assert_int_equal(item.row, row);
                    assert_int_equal(item.element, k / width);
                    assert_int_equal(item.word, k % width);
                    assert_true(
                        item.value == hark_read(&r, field->what == HARK_QUEUE ? 8 : field->width));
                }
            }
    }
    assert_false(r.bad);
    assert_int_equal(r.left, 0);
    assert_int_equal(hark_inspect(core, shape, &cursor, &item), 0);
    assert_int_equal(hark_inspect(core, shape, &cursor, &item), 0); /* and stays there */
    assert_true(numbers > shape->fields / 2);
}

/* With too little room nothing is written, and the length is told all the same. */
static void packs_whole_or_not(void)
{
    static uint8_t whole[1 << 16], image[1 << 16];
    uint64_t n = hark_pack(core, protocol->shape, whole, sizeof whole);
    assert_int_equal(hark_pack(core, protocol->shape, NULL, 0), n);
    assert_true(n <= core->used);
    for (uint64_t room = 0; room < n; room++) {
        memset(image, 0xa5, n);
        assert_int_equal(hark_pack(core, protocol->shape, image, room), n);
        for (uint64_t i = 0; i < n; i++) assert_int_equal(image[i], 0xa5);
    }
    assert_int_equal(hark_pack(core, protocol->shape, image, n), n);
    assert_memory_equal(image, whole, n);
}

static void test_looks(void **state)
{
    const uint64_t hydee[2] = {1, 0}, sendet[6] = {1, 0, 1, 0, 0, 0}, scmel = (uint64_t)1 << 32;
    (void)state;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        begin(protocol->name);
        looks_alike();
        if (is_recovery()) continue;
        for (uint16_t k = 0; k < 40; k++) post(k % 4, k % 3);
        if (core->kind == HARK_KIND_HYDEE) arrives(1, hydee, 2);
        else if (core->kind == HARK_KIND_SENDET) arrives(1, sendet, 6);
        else if (protocol->unstable) arrives(1, &scmel, 1);
        else arrives(1, NULL, 0);
        looks_alike();
        packs_whole_or_not();
    }
}

/* Nothing is retained, nothing waits, nothing is ever wrong. */
static void test_none(void **state)
{
    struct hark_names run;
    uint64_t cursor = 0;
    (void)state;
    begin("none");
    post(0, 0);
    assert_int_equal(effect[0].type, HARK_TRANSMIT);
    assert_int_equal(effect[0].u.transmit.name.ssn, 1);
    arrives(1, NULL, 0);
    assert_int_equal(effect[0].type, HARK_HANDUP);
    assert_int_equal(protocol->names(core, &cursor, &run), 0);
    assert_null(protocol->violated(core));
    assert_null(protocol->unrest(core));
    begin("recovery");
    assert_int_equal(protocol->names(core, &cursor, &run), 0);
}

/* ---- its checks of itself -------------------------------------------------------------------- */

/* What violated() and unrest() are to find, they find when it is there, and else nothing. */
static void says(
    const char *(*check)(const struct hark *), uint64_t *at, uint64_t value, const char *words)
{
    const uint64_t was = *at;
    assert_null(check(core));
    *at = value;
    if (words) assert_string_equal(check(core), words);
    else assert_null(check(core));
    *at = was;
}

static void says32(
    const char *(*check)(const struct hark *), uint32_t *at, uint32_t value, const char *words)
{
    const uint32_t was = *at;
    assert_null(check(core));
    *at = value;
    assert_string_equal(check(core), words);
    *at = was;
}

static void test_violated_waves(void **state)
{
    (void)state;
    begin("coordinated");
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)core;
    post(0, 0);
    arrives(1, NULL, 0);
    struct hark_channel *c = hark_channel_at(core, &s->endpoint, 0);
    says(protocol->violated, &c->done, 2, "a message was delivered that has not arrived");
    says(protocol->violated, &c->done, 1, NULL);
    says32(
        protocol->violated, &s->wave.owed, 1, "the count of channels that owe messages is wrong");
    assert_int_equal(hark_reserve(core, protocol->shape, &s->wave.kept, 3), HARK_OK);
    for (uint32_t i = 0; i < 2; i++)
        ((struct hark_image *)hark_insert(core, &s->wave.kept, i))->id = i + 1;
    says32(protocol->violated, &s->wave.generations, 1, "more images kept than generations");
    says32(
        protocol->unrest, &s->endpoint.awaiting, 1, "the announcement of its restart has not come");
}

static void test_violated_hydee(void **state)
{
    (void)state;
    begin("hydee");
    struct hark_hydee *s = (struct hark_hydee *)(void *)core;
    post(0, 0);
    struct hark_hydee_channel *c = hark_hydee_at(s, 0);
    says(protocol->violated, &c->pos.transmitted, 2, "more was transmitted than posted");
    says(
        protocol->violated, &c->pos.transmitted, 0, "a message is delayed though no recovery runs");
    says(protocol->violated, &c->pos.first, 3, "the log begins behind its end");
    says(protocol->violated, &c->pos.first, 2, NULL); /* all trimmed */
    says32(protocol->violated, &s->usual, 0, "it is not known whether all is as usual");
    s->recovering = 1;
    s->usual = 0;
    says(protocol->violated, &c->pos.transmitted, 0, NULL);
    s->recovering = 0;
    s->usual = 1;
    says32(protocol->unrest, &s->recovering, 1, "recovery is not over here");
}

static void test_violated_recovery(void **state)
{
    (void)state;
    begin("recovery");
    struct hark_recovery *s = (struct hark_recovery *)(void *)core;
    assert_int_equal(hark_recovery_room(s, 1), HARK_OK);
    hark_recovery_add(s, 0, 1, 0, &(struct hark_orphan){5, 5, 3, 0});
    struct hark_orphan *o = hark_orphans_first(s, 0);
    s->released_phase = 2;
    says(protocol->violated, &o->first, 6, "an empty range of orphans");
    s->stage = HARK_R_RELEASING;
    says(protocol->violated, &o->phase, 1, "an orphan below the released phase");
    says(protocol->violated, &s->released_phase, 3, NULL);
    s->stage = HARK_R_DRAINING;
    assert_string_equal(protocol->violated(core), "released without end while orphans remain");
    assert_string_equal(protocol->unrest(core), "orphans are counted that nobody has sent again");
    hark_recovery_take(s, 0, 1, 0, 5);
    assert_null(protocol->violated(core));
    assert_string_equal(protocol->unrest(core), "recovery is not over here");
    s->stage = HARK_R_DONE;
    assert_null(protocol->unrest(core));
}

static void test_violated_scmel(void **state)
{
    const uint64_t plain = (uint64_t)1 << 32; /* k = 1, no determinants */
    (void)state;
    begin("scmel");
    struct hark_scmel *s = (struct hark_scmel *)(void *)core;
    post(0, 0);
    for (uint64_t ssn = 1; ssn <= 2; ssn++) {
        arrives(ssn, &plain, 1);
        delivers(ssn, &plain, 1);
    }
    struct hark_scmel_channel *c = hark_scmel_at(s, 0);
    uint64_t *row = hark_dets_find(core, &s->pool, &s->own, 2);
    says(protocol->violated, &c->transmitted, 2, "more was transmitted than posted");
    says(protocol->violated, &c->first, 3, "the log begins behind its end");
    says(protocol->violated, &c->transmitted, 0, "a message is put off and nobody will send it");
    says(protocol->violated, &s->rsn, 1, "a determinant lies in the future");
    says(
        protocol->violated, &row[0], 1, "rsnMap is out of order, or its loose rows are miscounted");
    says(protocol->violated, &s->own.top, 3,
        "rsnMap is out of order, or its loose rows are miscounted");
    says32(protocol->violated, &s->own.loose, 1,
        "rsnMap is out of order, or its loose rows are miscounted");
    c->channel.flags |= HARK_SCMEL_AHEAD;
    assert_string_equal(protocol->violated(core), "determinants should have gone ahead");
    c->channel.flags &= (uint16_t)~HARK_SCMEL_AHEAD;
    assert_int_equal(hark_reserve(core, protocol->shape, &s->owed, 1), HARK_OK);
    c = hark_scmel_at(s, 0); /* rows may have moved */
    hark_owed_add(core, &s->owed, 0, 0, 1, HARK_SCMEL_OWED - 1);
    assert_null(protocol->violated(core));
    hark_owed_add(core, &s->owed, 0, 0, 1, HARK_SCMEL_OWED);
    assert_string_equal(protocol->violated(core), "I10: too many acknowledgements are owed");
    hark_empty(core, &s->owed);
    says(protocol->unrest, &c->carried, 2, "detBuf never drains");
    says32(protocol->unrest, &s->recovering, 1, "recovery is not over here");
    says32(protocol->unrest, &s->mode, HARK_SCMEL_REPLAY, "recovery is not over here");
    assert_int_equal(hark_reserve(core, protocol->shape, &s->logs, 1), HARK_OK);
    hark_scmel_log(s, 2, true)->dets.loose = 1;
    assert_string_equal(protocol->violated(core), "detLog is out of order, or miscounted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_rows), cmocka_unit_test(test_groups), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_registry), cmocka_unit_test(test_events_of_none),
        cmocka_unit_test(test_undone), cmocka_unit_test(test_words), cmocka_unit_test(test_looks),
        cmocka_unit_test(test_none), cmocka_unit_test(test_violated_waves),
        cmocka_unit_test(test_violated_hydee), cmocka_unit_test(test_violated_recovery),
        cmocka_unit_test(test_violated_scmel)};
    core = calloc(1, BLOCK);
    if (core == NULL) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(core);
    return failed;
}
