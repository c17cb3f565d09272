/* The failure service: units, epochs, refused facts, and that all of it is durable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "hark/registry.h"
#include "../../src/supervisor/keeper.h"
#include "../fault/place.h"

#define RANKS 6

struct world {
    char place[256];
    struct hark_clusters clusters;
    struct hark_store *record, *images;
    struct hark_keeper_config config;
    struct hark_keeper *s;
    char error[HARK_KEEPER_ERROR];
    uint32_t fell_back; /* the rank that last did */
};

static void on_fell_back(void *self, uint32_t rank, uint64_t wave, const char *why)
{
    (void)wave;
    assert_true(strlen(why) > 0);
    ((struct world *)self)->fell_back = rank;
}

static void open_service(struct world *w)
{
    assert_int_equal(hark_keeper_open(&w->s, &w->config, w->error), HARK_KEEPER_OK);
}

static void reopen(struct world *w)
{
    hark_keeper_close(w->s);
    open_service(w);
    assert_true(hark_keeper_resumed(w->s));
}

static struct world *begin_as(const char *protocol, bool together)
{
    struct world *w = calloc(1, sizeof *w);
    char path[300];
    assert_non_null(w);
    place_make(w->place);
    assert_int_equal(
        hark_clusters_parse(&w->clusters, RANKS, "0-1;2 4;3 5", "clusters", w->error), 0);
    snprintf(path, sizeof path, "%s/images", w->place);
    assert_int_equal(
        hark_store_open_directory(&w->images, path, "job", RANKS, true, w->error), HARK_S_OK);
    snprintf(path, sizeof path, "%s/record", w->place);
    assert_int_equal(
        hark_store_open_directory(&w->record, path, "job", 1, true, w->error), HARK_S_OK);
    w->config = (struct hark_keeper_config){.protocol = hark_protocol_named(protocol),
        .clusters = &w->clusters,
        .waves_all = together,
        .record = w->record,
        .images = w->images,
        .identity = "protocol=p\nprogram=a b\n",
        .fell_back = on_fell_back,
        .self = w};
    open_service(w);
    assert_false(hark_keeper_resumed(w->s));
    return w;
}

static struct world *begin(const char *protocol)
{
    return begin_as(protocol, false);
}

static void end(struct world *w)
{
    hark_keeper_close(w->s);
    w->record->ops->close(w->record);
    w->images->ops->close(w->images);
    hark_clusters_free(&w->clusters);
    place_remove(w->place);
    free(w);
}

/* Those that go back together when no image is damaged. */
static void expect_unit(struct world *w, uint32_t rank, const char *members)
{
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(hark_service_mates(hark_keeper_core(w->s), r, rank), members[r] == 'x');
}

/* These die; who goes back with them. */
static void die(struct world *w, const char *dead, bool recovery, const char *back)
{
    uint8_t member[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) member[r] = dead[r] == 'x';
    assert_int_equal(hark_keeper_choose(w->s, member, recovery), HARK_KEEPER_OK);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(hark_service_goes_back(hark_keeper_core(w->s), r), back[r] == 'x');
    assert_int_equal(hark_keeper_commit(w->s), HARK_KEEPER_OK);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(hark_keeper_back(w->s)[r], back[r] == 'x');
}

static void fails(struct world *w, const char *members, bool recovery)
{
    die(w, members, recovery, members);
}

/* One dies and goes back to checkpoint `wave`; `fell_back`: that is not the newest. */
static void dies(struct world *w, uint32_t rank, uint64_t wave, bool fell_back)
{
    uint8_t dead[RANKS] = {0};
    dead[rank] = 1;
    w->fell_back = UINT32_MAX;
    assert_int_equal(hark_keeper_choose(w->s, dead, false), HARK_KEEPER_OK);
    assert_int_equal(w->fell_back != UINT32_MAX, fell_back);
    assert_int_equal(hark_service_restart(hark_keeper_core(w->s), rank).checkpoint, wave);
    assert_int_equal(hark_keeper_commit(w->s), HARK_KEEPER_OK);
}

static void is_lost(struct world *w, uint32_t rank)
{
    uint8_t dead[RANKS] = {0};
    const uint32_t re = hark_service_epoch(hark_keeper_core(w->s));
    dead[rank] = 1;
    assert_int_equal(hark_keeper_choose(w->s, dead, false), HARK_KEEPER_ELOST);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), re); /* nothing has changed */
    for (uint32_t r = 0; r < RANKS; r++)
        assert_false(hark_service_goes_back(hark_keeper_core(w->s), r));
}

static void expect_down(struct world *w, const char *members)
{
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(hark_service_is_down(hark_keeper_core(w->s), r), members[r] == 'x');
}

/* Writes image `id` of each of `members`. */
static void image(struct world *w, const char *members, uint64_t id)
{
    struct hark_section section = {.tag = 1, .at = "state", .length = 5};
    for (uint32_t r = 0; r < RANKS; r++)
        if (members[r] == 'x')
            assert_int_equal(w->images->ops->write(w->images, r, id, &section, 1), HARK_S_OK);
}

static void damage(struct world *w, const char *file)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", w->place, file);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damaged", 7, 60), 7);
    close(fd);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void units(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    expect_unit(w, 0, "xx....");
    expect_unit(w, 4, "..x.x.");
    end(w);
    w = begin("coordinated");
    expect_unit(w, 4, "xxxxxx");
    end(w);
    w = begin_as("team", true);
    expect_unit(w, 4, "..x.x.");
    end(w);
    assert_false(hark_service_survives(hark_protocol_named("none")));
}

/* Those whose checkpoints are one with that of `rank`. */
static void expect_wave(const char *protocol, bool together, uint32_t rank, const char *members)
{
    struct world *w = begin_as(protocol, together);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(
            hark_service_same_wave(hark_keeper_core(w->s), r, rank), members[r] == 'x');
    end(w);
}

static void checkpoints_that_are_one(void **state)
{
    (void)state;
    expect_wave("hydee", false, 4, "..x.x.");
    expect_wave("hydee", true, 4, "xxxxxx");
    expect_wave("team", true, 4, "xxxxxx");
    expect_wave("coordinated", false, 4, "xxxxxx");
    expect_wave("scmel", false, 4, "xxxxxx");
    expect_wave("sendet", false, 4, "....x.");
}

/* c: a unit is a cluster; a: the whole job; l: the recovery line says who else goes back;
 * s: the job survives a failure; w: waves are of all. */
static void expect_asks(const char *name, const char *asks)
{
    const struct hark_protocol *protocol = hark_protocol_named(name);
    assert_int_equal(hark_service_by_cluster(protocol), strchr(asks, 'c') != NULL);
    assert_int_equal(hark_service_by_all(protocol), strchr(asks, 'a') != NULL);
    assert_int_equal(hark_service_by_line(protocol), strchr(asks, 'l') != NULL);
    assert_int_equal(hark_service_survives(protocol), strchr(asks, 's') != NULL);
    assert_int_equal(hark_service_waves_all(protocol, 0), strchr(asks, 'w') != NULL);
}

static void what_protocols_ask(void **state)
{
    (void)state;
    expect_asks("none", "");
    expect_asks("coordinated", "as");
    expect_asks("hydee", "cs");
    expect_asks("team", "csw");
    expect_asks("scmel", "s");
    expect_asks("sendet", "ls");
    assert_true(hark_service_waves_all(hark_protocol_named("hydee"), HARK_ASKS_RECLUSTER));
}

static void nested_failures(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    fails(w, "xx....", false);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 1);
    assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), 1), 1);
    fails(w, "..x.x.", false);
    expect_down(w, "xxx.x.");
    fails(w, "xx....", true);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 3);
    assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), 0), 2);
    assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), 4), 1);
    assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), 3), 0);
    assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), HARK_RECOVERY), 1);
    die(w, "......", true, "......");
    expect_down(w, "xxx.x.");
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, 1, 4, 0, 4, 0}), HARK_KEEPER_OK);
    expect_down(w, "x.x.x.");
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, HARK_RECOVERY, 4, 0, 4, 0}),
        HARK_KEEPER_OK);
    assert_int_equal(hark_service_down(hark_keeper_core(w->s)), 0);
    end(w);
}

static void expect_undone(struct world *w, uint32_t rank, const uint64_t *ids, uint32_t count)
{
    const uint64_t *id;
    assert_int_equal(hark_keeper_undone(w->s, rank, &id), count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(id[i], ids[i]);
}

/* Which checkpoints the line has undone is remembered, durably, until they are decided again or
 * recovery is over; those that no line can reach are forgotten. */
static void what_is_undone(void **state)
{
    (void)state;
    struct world *w = begin("sendet");
    w->config.images = NULL;
    reopen(w);
    for (uint64_t id = 2; id <= 40; id += 2)
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, id, 0}),
            HARK_KEEPER_OK);
    fails(w, "....x.", false);
    expect_undone(w, 0, NULL, 0);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_LINE, 0, 1, 0, 36, 0}),
        HARK_KEEPER_OK);
    expect_undone(w, 0, (uint64_t[]){38, 40}, 2);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 2, 0, 38, 0}),
        HARK_KEEPER_OK);
    expect_undone(w, 0, (uint64_t[]){40}, 1);
    fails(w, "x...x.", false); /* all again */
    reopen(w);
    expect_undone(w, 0, (uint64_t[]){40}, 1);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_LINE, 0, 3, 0, 34, 0}),
        HARK_KEEPER_OK);
    expect_undone(w, 0, (uint64_t[]){36, 38, 40}, 3);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 4, 0, 36, 34}),
        HARK_KEEPER_OK);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, HARK_RECOVERY, 4, 0, 4, 0}),
        HARK_KEEPER_OK);
    expect_undone(w, 0, NULL, 0);
    fails(w, "....x.", false);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_LINE, 0, 5, 0, 0, 0}), HARK_KEEPER_OK);
    expect_undone(w, 0, (uint64_t[]){34, 36}, 2); /* no others: 34 was the oldest that was kept */
    end(w);
}

/* One that can not be made durable has not begun. */
static int no_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count);
static void an_epoch_that_is_not_durable(void **state)
{
    (void)state;
    struct world *w = begin("sendet");
    w->config.images = NULL;
    reopen(w);
    const struct hark_store_ops *ops = w->record->ops;
    struct hark_store_ops broken = *ops;
    broken.write = no_write;
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}), HARK_KEEPER_OK);
    w->record->ops = &broken;
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 2, 1}),
        HARK_KEEPER_EDURABLE);
    expect_undone(w, 0, NULL, 0);
    w->record->ops = ops;
    end(w);
}

/* Who goes back by the line: it is made durable rank by rank, and is an announcement with the last.
 * What they decided behind it has not been (N-6); and when another one fails, all go back again
 * (N-7). */
static void the_line(void **state)
{
    (void)state;
    struct world *w = begin("sendet");
    w->config.images = NULL;
    reopen(w);
    expect_unit(w, 4, "....x.");
    for (uint64_t id = 1; id <= 3; id++)
        for (uint32_t r = 1; r <= 2; r++)
            assert_int_equal(
                hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, r, 0, 0, id, 0}),
                HARK_KEEPER_OK);
    fails(w, "....x.", false);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_BACK, RANKS, 1, 0, 1, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_BACK, 1, 0, 0, 2, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_BACK, 1, 1, 0, 2, 0}), HARK_KEEPER_OK);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 1);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_LINE, 2, 1, 0, 1, 0}), HARK_KEEPER_OK);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 2);
    for (int again = 0; again < 2; again++) {
        expect_down(w, ".xx.x.");
        assert_int_equal(hark_service_incarnation(hark_keeper_core(w->s), 1), 1);
        assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 1, 0), 2); /* not 3: that is
                                                                                 above the line */
        assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 2, 0), 1); /* though it was not
                                                                                 among those
                                                                                 remembered */
        reopen(w);
    }
    expect_undone(w, 1, (uint64_t[]){3}, 1);
    expect_undone(w, 2, (uint64_t[]){2, 3}, 2);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 1, 2, 0, 3, 0}),
        HARK_KEEPER_OK); /* its number is free again */
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 1, 0), 3);
    die(w, ".....x", false, ".xx.xx");
    end(w);
    w = begin("hydee");
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_LINE, 1, 0, 0, 0, 0}),
        HARK_KEEPER_REFUSED);
    fails(w, "xx....", false);
    die(w, "....x.", false, "..x.x.");
    end(w);
}

static void refused_facts(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    fails(w, "xx....", false);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 2, 0, 0, 1, 0}),
        HARK_KEEPER_REFUSED); /* of an older re */
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, HARK_RECOVERY, 0, 0, 0, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, HARK_RECOVERY, 2, 0, 2, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 4, 1, 0, 1, 0}),
        HARK_KEEPER_OK); /* any member names it */
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, RANKS, 1, 0, 1, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, RANKS, 1, 0, 1, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){77, 0, 1, 0, 1, 0}), HARK_KEEPER_REFUSED);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 1, 0, 0, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 1, 0, 7, 0}), HARK_KEEPER_OK);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 1, 0, 7, 0}),
        HARK_KEEPER_OK); /* said twice */
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 1, 0, 6, 0}),
        HARK_KEEPER_REFUSED);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 1, 0), 7);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 2, 0), 1);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 5, 0), 0);
    expect_down(w, "xx....");
    end(w);
}

static void reopened_it_is_the_same(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    struct hark_control before, after;
    fails(w, "xx....", true);
    for (uint64_t wave = 1; wave < 6; wave++)
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 2, 1, 0, wave, 0}),
            HARK_KEEPER_OK);
    fails(w, "...x.x", false);
    hark_keeper_announce(w->s, &before);
    reopen(w);
    hark_keeper_announce(w->s, &after);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.at, after.at, before.length);
    hark_control_free(&before);
    hark_control_free(&after);
    uint64_t id[8]; /* two records are kept */
    assert_int_equal(w->record->ops->list(w->record, 0, id, 8), 2);
    assert_false(hark_service_finished(hark_keeper_core(w->s)));
    assert_int_equal(hark_keeper_finish(w->s), HARK_KEEPER_OK);
    reopen(w);
    assert_true(hark_service_finished(hark_keeper_core(w->s)));
    end(w);
}

/* A record says what is remembered, not in what order it came about: of one job the first
 * checkpoints are long forgotten. */
static void a_record_knows_no_history(void **state)
{
    (void)state;
    struct hark *core[2];
    uint8_t bytes[2][8192];
    uint64_t length[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct hark_service_config c = {
            .protocol = hark_protocol_named("sendet"), .ranks = RANKS, .unverified = true};
        struct hark_service_effect effect[4];
        core[i] = malloc(1 << 16);
        assert_non_null(core[i]);
        assert_int_equal(hark_service_init(core[i], 1 << 16, &c), HARK_OK);
        for (uint64_t id = i ? 28 : 1; id <= 30; id++) {
            for (uint32_t r = 0; r < RANKS; r++) {
                struct hark_service_effects fx = {effect, 0, 4};
                struct hark_service_event e = {.type = HARK_SERVICE_FACT};
                e.u.fact.kind = HARK_FACT_WAVE;
                e.u.fact.rank = i ? RANKS - 1 - r : r;
                e.u.fact.id = id;
                e.u.fact.oldest = id > 28 ? 28 : 0;
                assert_int_equal(hark_service_step(core[i], &e, &fx), HARK_OK);
                e = (struct hark_service_event){.type = HARK_SERVICE_DURABLE, .u.durable.ok = true};
                assert_int_equal(hark_service_step(core[i], &e, &fx), HARK_OK);
            }
        }
        length[i] = hark_pack(core[i], &hark_service_shape, bytes[i], sizeof bytes[i]);
        free(core[i]);
    }
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(bytes[0], bytes[1], length[0]);
}

/* To where it was when checkpoint 4 of the first cluster was decided: all ranks, none of whose
 * incarnations and epochs are used again; if an image of then is not whole, nothing changes. */
static void goes_back_to_an_earlier_state(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    struct hark_store *other;
    uint8_t *bytes;
    uint64_t length;
    char path[300];
    snprintf(path, sizeof path, "%s/flushed", w->place);
    assert_int_equal(hark_store_open_directory(&other, path, "job", 1, true, w->error), HARK_S_OK);
    for (uint64_t wave = 1; wave < 5; wave++)
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, wave, 0}),
            HARK_KEEPER_OK);
    assert_true(hark_keeper_pack(w->s, &bytes, &length));
    assert_int_equal(hark_keeper_put(w->s, other, 1, bytes, length, "more", 4), HARK_KEEPER_OK);
    free(bytes);
    for (uint64_t wave = 5; wave < 9; wave++)
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, wave, 0}),
            HARK_KEEPER_OK);
    image(w, "xx....", 8);
    dies(w, 0, 8, false);
    w->images->ops->drop(w->images, 1, 8);
    is_lost(w, 0);
    assert_int_equal(hark_keeper_return(w->s, other, 1, true), HARK_KEEPER_ELOST);
    assert_int_equal(hark_keeper_return(w->s, other, 2, true), HARK_KEEPER_EDURABLE);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 0, 0), 8);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 1);
    image(w, "xx....", 4);
    assert_int_equal(hark_keeper_return(w->s, other, 1, true), HARK_KEEPER_OK);
    const struct hark *core = hark_keeper_core(w->s);
    for (uint32_t r = 0; r < RANKS; r++) assert_true(hark_service_goes_back(core, r));
    assert_int_equal(hark_keeper_commit(w->s), HARK_KEEPER_OK);
    core = hark_keeper_core(w->s);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(hark_service_restart(core, r).checkpoint, r < 2 ? 4 : 0);
        assert_int_equal(hark_service_restart(core, r).inc, r < 2 ? 2 : 1);
    }
    assert_int_equal(hark_service_epoch(core), 2);
    assert_int_equal(hark_service_incarnation(core, HARK_RECOVERY), 1);
    expect_down(w, "xxxxxx");
    reopen(w); /* and that is its record now */
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 0, 0), 4);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 2);
    other->ops->close(other);
    end(w);
}

static void the_announcement(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    struct hark_control m, r;
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 2, 0, 0, 9, 0}), HARK_KEEPER_OK);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 1, 0, 0, 8, 0}), HARK_KEEPER_OK);
    fails(w, "...x.x", true);
    hark_keeper_announce(w->s, &m);
    assert_int_equal(hark_control_parse(&r, m.at, m.length), m.length);
    assert_int_equal(r.type, HARK_C_FAILED);
    const uint32_t words[] = {1, 2, 3, 5, 3, 3, 1, 5, 1, HARK_RECOVERY, 1, 2, 0};
    for (size_t i = 0; i < HARK_COUNT(words); i++)
        assert_int_equal(hark_control_get32(&r), words[i]);
    assert_int_equal(hark_control_get64(&r), 8); /* of ranks 0 and 1, by the lowest */
    assert_int_equal(hark_control_get32(&r), 2);
    assert_int_equal(hark_control_get64(&r), 9);
    assert_false(r.bad);
    assert_int_equal(r.next, r.length);
    hark_control_free(&m);
    end(w);
}

static void a_damaged_record(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    fails(w, "xx....", false);
    fails(w, "xx....", false);
    hark_keeper_close(w->s);
    damage(w, "record/r0/3");
    open_service(w);
    assert_true(hark_keeper_resumed(w->s));
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 1);
    fails(w, "xx....", false); /* writes anew, under a new number */
    reopen(w);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 2);
    end(w);
}

static int drops;
static int no_drop(struct hark_store *s, uint32_t rank, uint64_t id)
{
    (void)s, (void)rank, (void)id;
    drops++;
    return HARK_S_ESYSTEM;
}

/* Records that can not be removed for a while: the newest one counts all the same, however many
 * there are, and they go when they can. */
static void records_that_stay(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    const struct hark_store_ops *ops = w->record->ops;
    struct hark_store_ops broken = *ops;
    uint64_t id[16];
    broken.drop = no_drop;
    drops = 0;
    w->record->ops = &broken;
    for (int i = 0; i < 8; i++) fails(w, "xx....", false);
    assert_true(drops >= 6);
    w->record->ops = ops;
    const int have = ops->list(w->record, 0, id, 16);
    assert_true(have >= 8);
    reopen(w);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 8);
    fails(w, "xx....", false);
    assert_int_equal(ops->list(w->record, 0, id, 16), 2);
    assert_int_equal(id[0] + 1, id[1]);
    reopen(w);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 9);
    end(w);
}

static void of_another_job(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    hark_keeper_close(w->s);
    w->config.identity = "protocol=p\nprogram=a c\n";
    assert_int_equal(hark_keeper_open(&w->s, &w->config, w->error), HARK_KEEPER_EINVAL);
    assert_string_equal(
        w->error, "the store belongs to a job with program=a b, this one has program=a c");
    assert_null(w->s);
    end(w);
}

static void a_damaged_image(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    dies(w, 2, 0, false);
    for (uint64_t id = 1; id <= 3; id++) {
        image(w, "..x.x.", id);
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 2,
                                       hark_service_epoch(hark_keeper_core(w->s)), 0, id, 0}),
            HARK_KEEPER_OK);
    }
    dies(w, 4, 3, false);
    damage(w, "images/r4/3");
    dies(w, 2, 2, true); /* the other one's counts too */
    assert_non_null(strstr(hark_keeper_error(w->s), "r4/3"));
    reopen(w);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 2, 0), 2);
    assert_int_equal(w->images->ops->drop(w->images, 2, 2), HARK_S_OK);
    is_lost(w, 2); /* image 1 is trimmed away */
    end(w);
}

/* One decision is for all clusters; where an image of one is damaged it falls back alone. */
static void checkpoints_of_all_together(void **state)
{
    (void)state;
    struct world *w = begin_as("team", true);
    for (uint64_t id = 1; id <= 2; id++) {
        image(w, "xxxxxx", id);
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, id, 0}),
            HARK_KEEPER_OK);
    }
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(hark_service_wave(hark_keeper_core(w->s), r, 0), 2);
    damage(w, "images/r4/2");
    dies(w, 2, 1, true);
    dies(w, 0, 2, false);
    reopen(w);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 2, 0), 2); /* what is decided stays
                                                                             so, for the others */
    dies(w, 4, 1, true);
    end(w);
}

/* Clusters change with a decided checkpoint, durably; one after the other. */
static void clusters_that_change(void **state)
{
    (void)state;
    struct world *w = begin_as("hydee", true);
    const uint32_t pairs[RANKS] = {0, 1, 2, 0, 1, 2}, one[RANKS] = {0};
    const struct hark_store_ops *ops = w->record->ops;
    struct hark_store_ops broken = *ops;
    w->config.images = NULL;
    reopen(w);
    broken.write = no_write;
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 1, 1, 0}),
        HARK_KEEPER_REFUSED); /* to what? */
    assert_int_equal(hark_keeper_propose(w->s, pairs), HARK_KEEPER_OK);
    assert_int_equal(hark_keeper_propose(w->s, one), HARK_KEEPER_REFUSED);
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}),
        HARK_KEEPER_OK); /* not all knew it */
    expect_unit(w, 4, "..x.x.");
    w->record->ops = &broken;
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 1, 2, 0}),
        HARK_KEEPER_EDURABLE);
    expect_unit(w, 4, "..x.x.");
    assert_memory_equal(hark_keeper_next(w->s), pairs, sizeof pairs);
    w->record->ops = ops;
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 1, 2, 0}),
            HARK_KEEPER_OK);
        expect_unit(w, 4, ".x..x.");
        assert_null(hark_keeper_next(w->s));
    }
    reopen(w);
    expect_unit(w, 4, ".x..x.");
    assert_memory_equal(hark_keeper_clusters(w->s), pairs, sizeof pairs);
    for (uint64_t id = 3; id <= 40; id++) { /* as many as one likes: those that no checkpoint goes
                                               by are forgotten */
        assert_int_equal(hark_keeper_propose(w->s, id % 2 ? one : pairs), HARK_KEEPER_OK);
        assert_int_equal(
            hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 1, id, 0}),
            HARK_KEEPER_OK);
        expect_unit(w, 4, id % 2 ? "xxxxxx" : ".x..x.");
    }
    reopen(w);
    expect_unit(w, 4, ".x..x.");
    end(w);
    w = begin_as("hydee", false);
    assert_int_equal(hark_keeper_propose(w->s, pairs), HARK_KEEPER_REFUSED);
    end(w);
}

/* Where what is whole of a cluster's images is older than the clusters, all go back, to clusters as
 * they were then. */
static void behind_a_change_all_go_back(void **state)
{
    (void)state;
    const uint32_t pairs[RANKS] = {0, 1, 2, 0, 1, 2};
    for (int initial = 0; initial < 2; initial++) {
        struct world *w = begin_as("hydee", true);
        uint64_t first = initial ? 0 : 1;
        if (first) image(w, "xxxxxx", 1);
        if (first)
            assert_int_equal(
                hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}),
                HARK_KEEPER_OK);
        assert_int_equal(hark_keeper_propose(w->s, pairs), HARK_KEEPER_OK);
        image(w, "xxxxxx", 2);
        assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 1, 2, 0}),
            HARK_KEEPER_OK);
        expect_unit(w, 4, ".x..x.");
        damage(w, "images/r4/2");
        die(w, "..x...", false, "..x..x"); /* whose own are whole */
        assert_false(hark_service_behind(hark_keeper_core(w->s)));
        die(w, ".xx...", false, "xxxxxx");
        assert_true(hark_service_behind(hark_keeper_core(w->s)));
        for (uint32_t r = 0; r < RANKS; r++)
            assert_int_equal(hark_service_restart(hark_keeper_core(w->s), r).checkpoint, first);
        for (int again = 0; again < 2; again++, reopen(w)) {
            expect_unit(w, 4, "..x.x.");
            assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 2, 0), first);
        }
        end(w);
    }
}

static void the_initial_state_counts_as_an_image(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    image(w, "xx....", 1);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}), HARK_KEEPER_OK);
    damage(w, "images/r1/1");
    dies(w, 0, 0, true);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 0, 0), 0);
    image(w, "xx....", 2);
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 1, 0, 2, 0}), HARK_KEEPER_OK);
    damage(w, "images/r0/2");
    is_lost(w, 0); /* two were committed: it may be trimmed */
    end(w);
}

static int no_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    (void)rank, (void)id, (void)section, (void)count;
    snprintf(s->error, sizeof s->error, "disk full");
    return HARK_S_ESYSTEM;
}

static void what_is_not_durable(void **state)
{
    (void)state;
    struct world *w = begin("hydee");
    const struct hark_store_ops *ops = w->record->ops;
    struct hark_store_ops broken = *ops;
    const uint8_t member[RANKS] = {1, 1};
    broken.write = no_write;
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 1, 0}), HARK_KEEPER_OK);
    w->record->ops = &broken;
    assert_int_equal(hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_WAVE, 0, 0, 0, 2, 0}),
        HARK_KEEPER_EDURABLE);
    assert_int_equal(hark_service_wave(hark_keeper_core(w->s), 0, 0), 1); /* not decided */
    assert_string_equal(hark_keeper_error(w->s), "disk full");
    assert_int_equal(hark_keeper_choose(w->s, member, false), HARK_KEEPER_OK);
    assert_int_equal(hark_keeper_commit(w->s), HARK_KEEPER_EDURABLE);
    assert_int_equal(hark_service_epoch(hark_keeper_core(w->s)), 1); /* but this has happened */
    assert_int_equal(
        hark_keeper_fact(w->s, &(struct hark_fact){HARK_FACT_DONE, HARK_RECOVERY, 1, 0, 1, 0}),
        HARK_KEEPER_EDURABLE);
    assert_int_equal(hark_service_down(hark_keeper_core(w->s)), 0);
    w->record->ops = ops;
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units),
        cmocka_unit_test(checkpoints_that_are_one), cmocka_unit_test(what_protocols_ask),
        cmocka_unit_test(nested_failures), cmocka_unit_test(the_line),
        cmocka_unit_test(what_is_undone), cmocka_unit_test(an_epoch_that_is_not_durable),
        cmocka_unit_test(a_record_knows_no_history), cmocka_unit_test(refused_facts),
        cmocka_unit_test(reopened_it_is_the_same), cmocka_unit_test(the_announcement),
        cmocka_unit_test(a_damaged_record), cmocka_unit_test(records_that_stay),
        cmocka_unit_test(of_another_job), cmocka_unit_test(a_damaged_image),
        cmocka_unit_test(checkpoints_of_all_together), cmocka_unit_test(clusters_that_change),
        cmocka_unit_test(behind_a_change_all_go_back),
        cmocka_unit_test(the_initial_state_counts_as_an_image),
        cmocka_unit_test(what_is_not_durable), cmocka_unit_test(goes_back_to_an_earlier_state)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
