/* trees.h: what tests of multicasts share: the tree of CAMEL's Figure 3(b), R to S and T, S to U
 * and V, T to W and X, X to Y and Z; a core for each of its processes, and the frames that they
 * have sent, for the test to let arrive. */
#ifndef HARK_TEST_TREES_H
#define HARK_TEST_TREES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

enum { R, S, T, U, V, W, X, Y, Z, N, FRAMES = 64, BLOCK = 1 << 16, CTX = 1 };

static const uint32_t member[N] = {R, S, T, U, V, W, X, Y, Z},
                      parent[N] = {R, R, R, S, S, T, T, X, X};
static const struct hark_group figure = {
    .ctx = CTX, .root = R, .member = member, .parent = parent, .count = N};

struct frame {
    uint32_t from, to, length, determinants;
    bool replay;
    struct hark_name name;
    uint8_t header[HARK_FRAGMENT];
};

struct job {
    struct hark *core[N];
    struct frame frame[FRAMES], up[N];
    uint32_t frames, sent, retained, trimmed, handed_up, suppressed, carried; /* carried: frames
                                                                                 with determinants
                                                                               */
    uint32_t room;                                                            /* of effects */
    uint32_t parts[N], most_parts;   /* of what is being combined; of the widest */
    struct hark_name answer[N];      /* COMBINED is due */
    struct hark_name kept, gone;     /* of the last RETAIN and TRIM */
    uint64_t capture[N], persist[N]; /* STORED is due, of that image, of that decision */
};

/* Each begins with what `like` says. `cluster`: a letter for each process, R's first, those of one
 * letter are together; NULL: the configuration names none. */
static void begin(
    struct job *j, const char *protocol, const struct hark_config *like, const char *cluster)
{
    *j = (struct job){.room = HARK_EFFECTS_ROOM};
    for (uint32_t i = 0; i < N; i++) {
        struct hark_range mate[N];
        struct hark_config c = *like;
        const struct hark_protocol *p = hark_protocol_named(protocol);
        c.me = i;
        c.ranks = N;
        for (uint32_t k = 0; cluster && k < N; k++)
            if (cluster[k] == cluster[i]) mate[c.cluster_count++] = (struct hark_range){k, k};
        if (cluster) c.cluster = mate;
        assert_true(p->size(&c) > 0 && p->size(&c) <= BLOCK);
        j->core[i] = malloc(BLOCK);
        assert_int_equal(p->init(j->core[i], p->size(&c), &c), HARK_OK);
        hark_grow(j->core[i], BLOCK);
    }
}

static void end(struct job *j)
{
    for (uint32_t i = 0; i < N; i++) {
        assert_null(hark_protocol_of(j->core[i])->violated(j->core[i]));
        free(j->core[i]);
    }
}

static void perform(
    struct job *j, uint32_t who, const struct hark_effect *x, const struct frame *arrived)
{
    struct frame *f = &j->frame[j->frames];
    switch (x->type) {
    case HARK_TRANSMIT: {
        const struct hark_transmit *t = &x->u.transmit;
        assert_true(j->frames++ < FRAMES);
        j->sent += t->name.ssn != 0;
        j->carried += t->determinants != 0;
        *f = (struct frame){.from = who,
            .to = t->peer,
            .length = t->header.length,
            .determinants = t->determinants,
            .replay = t->replay,
            .name = t->name};
        memcpy(f->header, t->header.at, f->length);
        break;
    }
    case HARK_RETAIN:
        j->retained++;
        j->kept = x->u.retain.name;
        break;
    case HARK_TRIM:
        j->trimmed++;
        j->gone = x->u.trim.name;
        break;
    case HARK_COMBINE:
        if (x->u.combine.part == HARK_COMBINE_OPERAND) j->parts[who]++;
        if (x->u.combine.part == HARK_COMBINE_REPLY) {
            assert_int_equal(j->answer[who].ssn, 0); /* an embedder keeps one */
            j->answer[who] = x->u.combine.name;
        }
        if (j->parts[who] > j->most_parts) j->most_parts = j->parts[who];
        if (x->u.combine.part != HARK_COMBINE_OPERAND) j->parts[who] = 0;
        break;
    case HARK_HANDUP:
        j->up[who] = *arrived;
        j->handed_up++;
        break;
    case HARK_SUPPRESS: j->suppressed++; break;
    case HARK_CAPTURE: j->capture[who] = x->u.checkpoint.id; break;
    case HARK_PERSIST: j->persist[who] = x->u.persist.id; break;
    default: break;
    }
}

static int step(struct job *j, uint32_t who, struct hark_event e, const struct frame *arrived)
{
    static struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effects, .room = j->room, .bytes = bytes, .bytes_room = HARK_EFFECTS_BYTES};
    int status;
    do {
        status = hark_step(j->core[who], &e, &fx);
        for (uint32_t i = 0; status >= 0 && i < fx.count; i++)
            perform(j, who, &effects[i], arrived);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    if (status != HARK_OK || j->answer[who].ssn == 0) return status;
    e = (struct hark_event){.type = HARK_COMBINED};
    e.u.combined.name = j->answer[who];
    j->answer[who].ssn = 0;
    return step(j, who, e, NULL);
}

static struct hark_event to_group(uint32_t group)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = group;
    e.u.send.ctx = (uint16_t)group;
    e.u.send.to = HARK_GROUP;
    return e;
}

static int multicast(struct job *j, uint32_t who, uint32_t group)
{
    return step(j, who, to_group(group), NULL);
}

static void arrive(struct job *j, const struct frame *f)
{
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){f->header, f->length};
    assert_int_equal(step(j, f->to, e, f), HARK_OK);
}

static void settle(struct job *j)
{
    while (j->frames) {
        struct frame f = j->frame[0];
        memmove(&j->frame[0], &j->frame[1], --j->frames * sizeof f);
        arrive(j, &f);
    }
}

static void take(struct job *j, uint32_t who)
{
    struct hark_event e = {.type = HARK_DELIVER};
    e.u.frame.header = (struct hark_bytes){j->up[who].header, j->up[who].length};
    assert_int_equal(step(j, who, e, NULL), HARK_OK);
}

/* What the core names for an image: of its own messages, or of what has come. */
static uint64_t named(const struct job *j, uint32_t who, bool come)
{
    uint64_t cursor = 0, n = 0;
    struct hark_names run = {.last = 0};
    while (hark_protocol_of(j->core[who])->names(j->core[who], &cursor, &run))
        if (come == (run.name.way == HARK_IN && run.name.to == HARK_PROCESS))
            n += run.last - run.name.ssn + 1;
    return n;
}

/* Trees that are none: whoever is given one in its configuration is told so. */
static void refuse_bad_trees(const char *protocol)
{
    static const uint32_t other[N] = {S, S, R, S, S, T, T, X, X},
                          far[N] = {R, R, R, S, S, T, T, X, N},
                          beyond[N] = {R, S, T, U, V, W, X, Y, N};
    const struct hark_group wrong[][2] = {
        {{.ctx = 0, .root = R, .member = member, .parent = parent, .count = N}},
        {{.ctx = CTX, .root = R, .member = member, .parent = parent, .count = 0}},
        {{.ctx = CTX, .root = R, .member = member, .parent = other, .count = N}}, /* the root is not
                                                                                     its own parent
                                                                                   */
        {{.ctx = CTX, .root = R, .member = member, .parent = far, .count = N}}, /* a rank that there
                                                                                   is not, above
                                                                                   another */
        {{.ctx = CTX, .root = R, .member = beyond, .parent = parent, .count = N}}, /* and as a
                                                                                      member */
        {{.ctx = CTX, .root = S, .member = member, .parent = parent, .count = N}}, /* another one
                                                                                      than the root
                                                                                      is its own
                                                                                      parent */
        {figure, figure}}; /* not ascending */
    const struct hark_protocol *p = hark_protocol_named(protocol);
    struct hark *core = malloc(BLOCK);
    for (uint32_t i = 0; i < HARK_COUNT(wrong); i++) {
        struct hark_config c = {
            .me = R, .ranks = N, .groups = wrong[i], .group_count = 1 + (wrong[i][1].count != 0)};
        assert_int_equal(p->init(core, BLOCK, &c), HARK_EINVAL);
    }
    struct hark_config c = {.me = R, .ranks = N, .groups = &figure, .group_count = 1};
    assert_int_equal(p->init(core, BLOCK, &c), HARK_OK);
    free(core);
}

/* A fan-out needs no array as long as the children: it goes in batches, to each once; in how many
 * is returned. `between`: it is of one who has the multicast from the root, else the root's own. */
static uint32_t fan_out(const char *protocol, bool between)
{
    enum { MANY = 3 * HARK_EFFECTS_ROOM };
    uint32_t of[MANY], above[MANY] = {0}, copies[MANY] = {0}, batches = 0;
    static struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t bytes[HARK_EFFECTS_BYTES], first[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = HARK_EFFECTS_BYTES};
    const struct hark_group tree = {
        .ctx = CTX, .root = 0, .member = of, .parent = above, .count = MANY};
    const struct hark_protocol *p = hark_protocol_named(protocol);
    struct hark *core = malloc(BLOCK);
    int status = HARK_MORE;
    for (uint32_t i = 0; i < MANY; i++) of[i] = i;
    for (uint32_t i = 2; i < MANY; i++) above[i] = between;
    for (uint32_t me = 0; me <= between; me++) {
        struct hark_config c = {.me = me, .ranks = MANY, .groups = &tree, .group_count = 1};
        struct hark_event e = to_group(CTX);
        assert_int_equal(p->init(core, BLOCK, &c), HARK_OK);
        if (me) {
            memcpy(first, effects[1].u.transmit.header.at, effects[1].u.transmit.header.length);
            e = (struct hark_event){.type = HARK_ARRIVE};
            e.u.frame.header = (struct hark_bytes){first, effects[1].u.transmit.header.length};
        }
        memset(copies, 0, sizeof copies);
        batches = 0;
        do {
            status = p->step(core, &e, &fx);
            assert_true(status >= 0);
            for (uint32_t i = 0; i < fx.count; i++) {
                if (i == 0 && batches == 0)
                    assert_int_equal(effects[i].type, me ? HARK_HANDUP : HARK_RETAIN);
                else copies[effects[i].u.transmit.peer]++;
                if (effects[i].type == HARK_TRANSMIT)
                    assert_false(effects[i].u.transmit.replay); /* it is at hand still */
            }
            batches++;
            e = (struct hark_event){.type = HARK_CONTINUE};
        } while (status == HARK_MORE);
    }
    for (uint32_t i = 1 + between; i < MANY; i++) assert_int_equal(copies[i], 1);
    free(core);
    return batches;
}

#endif
