/* hydee/multicast.h: multicasts under HydEE, core by core: to whom the root sends and what it keeps
 * of it, who passes on what to whom, what is refused. What failures bring about is searched:
 * test/scenario/hydee-cast*.hark. */
#include "trees.h"

static const struct hark_config with_figure = {.groups = &figure, .group_count = 1};
static const struct hark_config with_digest = {
    .groups = &figure, .group_count = 1, .flags = HARK_DIGEST};

static struct hark_hydee *of(struct job *j, uint32_t who)
{
    return (struct hark_hydee *)(void *)j->core[who];
}

/* ---- what the tests are made of -------------------------------------------------------------- */

/* The step answers so, and what is packed is what it was. */
static void refused(struct job *j, uint32_t who, struct hark_event e, int status)
{
    static uint8_t before[BLOCK], after[BLOCK];
    uint64_t n = hark_pack(j->core[who], &hark_hydee_shape, before, BLOCK);
    assert_in_range(n, 1, BLOCK);
    assert_int_equal(step(j, who, e, NULL), status);
    assert_int_equal(hark_pack(j->core[who], &hark_hydee_shape, after, BLOCK), n);
    assert_memory_equal(before, after, n);
}

/* To whom messages are on their way, in the order in which they were sent. */
static const char *under_way(const struct job *j)
{
    static char who[FRAMES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->frames; i++)
        if (j->frame[i].name.ssn) who[n++] = "RSTUVWXYZ"[j->frame[i].to];
    who[n] = 0;
    return who;
}

/* A control frame in the present epoch: words of 8 bytes behind its head. */
static void control(struct job *j, uint32_t who, uint8_t type, uint16_t ctx, uint32_t src,
    const uint64_t *word, uint32_t words)
{
    const struct hark_endpoint *e = &of(j, who)->endpoint;
    struct hark_head h = {HARK_KIND_HYDEE, type, ctx, src, who, 0, e->inc, e->re, 0};
    struct frame f = {.to = who, .length = HARK_WIRE_HEAD + 8 * words};
    hark_head_put(f.header, &h);
    for (uint32_t i = 0; i < words; i++) hark_put64(f.header + HARK_WIRE_HEAD + 8 * i, word[i]);
    arrive(j, &f);
}
#define WORDS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8

/* The first announcement: `down` has died. */
static void failed(struct job *j, uint32_t who, uint32_t down)
{
    const struct hark_incarnation inc = {down, 1};
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = e.u.failed.down_count = e.u.failed.inc_count = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = &inc;
    assert_int_equal(step(j, who, e, NULL), HARK_OK);
}

/* A message of the group's context to T as it comes from there in this epoch; what T sends then is
 * what is under way. */
static void to_t_from(struct job *j, uint32_t from, uint64_t ssn, uint32_t re)
{
    struct hark_head h = {
        HARK_KIND_HYDEE, HARK_APP, CTX, from, T, 0, of(j, T)->endpoint.inc, re, ssn};
    struct frame f = {.from = from, .to = T, .length = HARK_HYDEE_HEADER};
    hark_head_put(f.header, &h);
    hark_put64(f.header + HARK_WIRE_HEAD, 70 + ssn);     /* its phase */
    hark_put64(f.header + HARK_WIRE_HEAD + 8, 80 + ssn); /* and digest */
    j->frames = 0;
    arrive(j, &f);
}

/* A multicast of the root. */
static void to_t(struct job *j, uint64_t ssn, uint32_t re)
{
    to_t_from(j, R, ssn, re);
}

/* ---- the root -------------------------------------------------------------------------------- */

/* Two messages, to its children; one entry each in the log; and all have them, the members of other
 * clusters too. */
static void along_the_tree(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    for (uint64_t ssn = 1; ssn <= 2; ssn++) {
        const struct hark_name name = {CTX, CTX, HARK_OUT, HARK_GROUP, ssn};
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
        assert_string_equal(under_way(&j), "ST");
        assert_int_equal(j.retained, ssn);
        assert_memory_equal(&j.kept, &name, sizeof name);
        for (uint32_t i = 0; i < 2; i++) assert_memory_equal(&j.frame[i].name, &name, sizeof name);
        settle(&j);
        assert_int_equal(j.sent, ssn * (N - 1));
        assert_int_equal(j.handed_up, ssn * (N - 1));
        assert_int_equal(j.retained, ssn); /* who passes it on keeps nothing of it */
        for (uint32_t i = 0; i < N; i++) assert_int_equal(named(&j, i, false), i == R ? ssn : 0);
        for (uint32_t i = S; i < N; i++) assert_int_equal(named(&j, i, true), ssn);
    }
    for (uint32_t i = S; i < N; i++) { /* what crosses clusters is known with its phase, at both
                                          ends */
        const struct hark_hydee_channel *c = hark_hydee_find(of(&j, R), i, CTX),
                                        *d = hark_hydee_find(of(&j, i), R, CTX);
        assert_int_equal(c->channel.sent, 2);
        assert_int_equal(c->pos.transmitted, 2);
        assert_int_equal(c->log.count, i >= U);
        assert_int_equal(d->rpp.count, i >= U);
        take(&j, i);
        assert_int_equal(of(&j, i)->phase, i >= U ? 2 : 1);
    }
    end(&j);
}

/* Inside a cluster nothing is logged; nor is it by a root whose members are all with it. */
static void in_one_cluster(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaaaaaaaa");
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    settle(&j);
    assert_int_equal(j.sent, N - 1);
    assert_int_equal(j.handed_up, N - 1);
    assert_int_equal(j.retained, 0);
    assert_int_equal(named(&j, R, false), 0);
    end(&j);
}

/* X is with the root, and T, from whom it would have it, is not: it has it from the root as well,
 * and passes on the one that comes first. */
static void around(void **state)
{
    static const char *const clusters[] = {"abbccdaee", "abaccdaee"}; /* T elsewhere; T with them */
    (void)state;
    for (uint32_t with = 0; with < 2; with++) {
        struct job j;
        begin(&j, "hydee", &with_figure, clusters[with]);
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
        assert_string_equal(under_way(&j), with ? "ST" : "STX");
        struct frame first = j.frame[2];
        j.frames = 2;
        settle(&j); /* the copy of the tree comes before the root's own */
        if (!with) arrive(&j, &first);
        assert_int_equal(j.frames, 0);
        assert_int_equal(j.handed_up, N - 1);
        assert_int_equal(j.sent, with ? N - 1 : N);
        end(&j);
    }
}

/* While recovery runs nothing goes by the tree: to its own cluster at once, to the others what the
 * gate lets go, and with a mark that who has it keeps it for himself. The log has it once all the
 * same. */
static void directly(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    failed(&j, R, V);
    j.frames = 0;
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_string_equal(under_way(&j), "ST");
    assert_int_equal(j.retained, 1);
    struct frame to_s = j.frame[0];
    j.frames = 0;
    control(&j, R, HARK_H_RELEASE, 0, HARK_RECOVERY, WORDS(HARK_INFINITY));
    assert_string_equal(under_way(&j), "UVWXYZ");
    for (uint32_t i = 0; i < j.frames; i++) {
        if (j.frame[i].name.ssn == 0) continue;
        assert_int_equal(hark_get32(j.frame[i].header + 20), HARK_HYDEE_DIRECT);
        assert_int_equal(hark_get32(j.frame[i].header + 16), j.frame[i].to == V);
        assert_int_equal(j.frame[i].name.to, HARK_GROUP);
        assert_true(j.frame[i].replay);
    }
    j.frames = 0;
    assert_int_equal(multicast(&j, R, CTX), HARK_OK); /* the gate is open, and recovery not over */
    assert_string_equal(under_way(&j), "STUVWXYZ");
    assert_int_equal(j.retained, 2);
    j.frames = 0;
    arrive(&j, &to_s);
    assert_int_equal(j.handed_up, 1);
    assert_string_equal(under_way(&j), "");
    control(&j, R, HARK_H_RECDONE, 0, HARK_RECOVERY, NULL, 0);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_string_equal(under_way(&j), "ST");
    assert_int_equal(hark_get32(j.frame[0].header + 20), 1);
    end(&j);
}

/* Whoever fails, the root asks all members of other clusters what they have: a process between them
 * may not have passed it on. */
static void asks_all(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    j.frames = 0;
    failed(&j, R, V);
    assert_int_equal(j.frames, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(j.frame[i].header[1], HARK_H_POS);
        assert_int_equal(j.frame[i].to, U + i);
    }
    j.frames = 0;
    control(&j, R, HARK_H_POS, 0, Y, WORDS(1, CTX, 0, 1, 0)); /* it has it */
    control(&j, R, HARK_H_POS, 0, Z, WORDS(1, CTX, 0, 0, 0)); /* it has not */
    control(&j, R, HARK_H_RELEASE, 0, HARK_RECOVERY, WORDS(HARK_INFINITY));
    assert_string_equal(under_way(&j), "Z");
    end(&j);
}

/* The root begins again: what a member has, it is not sent again, and is logged with the phase that
 * the member has of it. */
static void again(void **state)
{
    struct job j;
    struct hark_event restarted = {.type = HARK_RESTARTED}, send = to_group(CTX);
    (void)state;
    send.u.send.length = 8;
    send.u.send.digest = 5;
    begin(&j, "hydee", &with_digest, "aaabbbccc");
    restarted.u.restarted.re = restarted.u.restarted.inc = 1;
    assert_int_equal(step(&j, R, restarted, NULL), HARK_OK);
    failed(&j, R, R);
    const uint64_t same = hark_digest_mix(0, 1, 8, 5);
    control(&j, R, HARK_H_POS, 0, U, WORDS(1, CTX, 0, 1, same));
    control(&j, R, HARK_H_ORPH, CTX, U, WORDS((uint64_t)1, 1, 1, 9));
    j.frames = 0;
    assert_int_equal(step(&j, R, send, NULL), HARK_OK);
    assert_int_equal(j.suppressed, 1);
    assert_string_equal(under_way(&j), "ST");
    assert_int_equal(hark_get64(j.frame[0].header + HARK_WIRE_HEAD + 8), same);
    control(&j, R, HARK_H_RELEASE, 0, HARK_RECOVERY, WORDS(HARK_INFINITY));
    assert_string_equal(under_way(&j), "STVWXYZ");
    struct hark_hydee_channel *c = hark_hydee_find(of(&j, R), U, CTX),
                              *d = hark_hydee_find(of(&j, R), V, CTX);
    assert_int_equal(hark_queue_first(j.core[R], &of(&j, R)->pool, &c->log)[1], 9);
    assert_int_equal(hark_queue_first(j.core[R], &of(&j, R)->pool, &d->log)[1], 1);
    assert_int_equal(c->pos.digests.count, 1);
    end(&j);
}

/* The payload stays as long as an image of any member of another cluster lacks it. */
static void log_goes(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    for (uint32_t i = 0; i < 3; i++) {
        j.frames = 0;
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    }
    for (uint32_t i = S; i < N; i++) {
        assert_int_equal(named(&j, R, false), 3);
        assert_int_equal(j.trimmed, 0);
        control(&j, R, HARK_H_GC, CTX, i, WORDS((uint64_t)(i == X ? 2 : 3), 0));
    }
    const struct hark_name last = {CTX, CTX, HARK_OUT, HARK_GROUP, 2};
    assert_int_equal(j.trimmed, 1);
    assert_memory_equal(&j.gone, &last, sizeof last);
    assert_int_equal(named(&j, R, false), 1);
    control(&j, R, HARK_H_GC, CTX, X, WORDS((uint64_t)3, 0));
    assert_int_equal(j.gone.ssn, 3);
    assert_int_equal(named(&j, R, false), 0);
    end(&j);
}

/* ---- who passes it on ------------------------------------------------------------------------ */

/* In the order of the numbers, each once, and as it came: number, phase and digest are the root's;
 * the way back is to the root. */
static void passes_on(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    to_t(&j, 2, 0);
    assert_int_equal(j.frames + j.handed_up, 0); /* held */
    for (uint64_t ssn = 1; ssn <= 2; ssn++) {
        const struct hark_name name = {R, CTX, HARK_IN, HARK_PROCESS, ssn};
        to_t(&j, ssn, 0);
        assert_string_equal(under_way(&j), "WX");
        assert_int_equal(j.handed_up, ssn);
        for (uint32_t i = 0; i < 2; i++) {
            struct hark_head h;
            assert_memory_equal(&j.frame[i].name, &name, sizeof name);
            assert_int_equal(j.frame[i].length, HARK_HYDEE_HEADER);
            assert_int_equal(
                hark_head_get(
                    &h, (struct hark_bytes){j.frame[i].header, j.frame[i].length}, HARK_KIND_HYDEE),
                HARK_OK);
            assert_int_equal(h.src, R);
            assert_int_equal(h.ssn, ssn);
            assert_int_equal(hark_get64(j.frame[i].header + HARK_WIRE_HEAD), 70 + ssn);
            assert_int_equal(hark_get64(j.frame[i].header + HARK_WIRE_HEAD + 8), 80 + ssn);
        }
    }
    to_t(&j, 2, 0);
    assert_int_equal(j.frames, 0);
    assert_int_equal(j.handed_up, 2);
    assert_int_equal(of(&j, T)->phase, 1); /* it has delivered nothing */
    assert_int_equal(j.retained, 0);
    end(&j);
}

/* One of another epoch, or sent directly, goes no further than the cluster: W is in the root's and
 * T's, X is not. */
static void goes_no_further(void **state)
{
    static const uint32_t re[] = {HARK_HYDEE_DIRECT, 0, 2};
    (void)state;
    for (uint32_t i = 0; i < HARK_COUNT(re); i++) {
        struct job j;
        begin(&j, "hydee", &with_figure, "aaaaaabbb");
        failed(&j, T, W); /* of a cluster of its own, as far as T is told */
        to_t(&j, 1, re[i]);
        assert_string_equal(under_way(&j), "W");
        assert_int_equal(hark_get32(j.frame[0].header + 16), 1); /* it means W's new incarnation */
        /* Of no epoch: neither must W pass it on to other clusters (v28). */
        assert_int_equal(hark_get32(j.frame[0].header + 20), HARK_HYDEE_DIRECT);
        to_t(&j, 2, 1);
        assert_string_equal(under_way(&j), "WX");
        end(&j);
    }
}

/* A message of the group's context that is not the root's, one of another context: to nobody. */
static void nothing_to_pass_on(void **state)
{
    struct job j;
    struct hark_event e = {.type = HARK_SEND};
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    to_t_from(&j, U, 1, 0);
    assert_int_equal(j.frames, 0);
    e.u.send.peer = T;
    e.u.send.ctx = CTX + 1;
    assert_int_equal(step(&j, R, e, NULL), HARK_OK);
    settle(&j);
    to_t(&j, 1, 0);
    assert_string_equal(under_way(&j), "WX");
    assert_int_equal(j.handed_up, 3);
    end(&j);
}

static void in_batches(void **state)
{
    (void)state;
    assert_true(fan_out("hydee", false) > 2);
    assert_true(fan_out("hydee", true) > 2);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* What hark_tree_valid says of, and what no tree here may be: one that reduces, one with the exact
 * gate, more of them between two processes than these may have contexts. The size that is asked for
 * is enough, and less is not. */
static void bad_trees(void **state)
{
    enum { MANY = HARK_HYDEE_CTX_MAX + 1 };
    struct hark_group tree[MANY];
    struct hark *p = malloc(1 << 20);
    (void)state;
    refuse_bad_trees("hydee");
    for (uint16_t i = 0; i < MANY; i++) {
        tree[i] = figure;
        tree[i].ctx = (uint16_t)(1 + i);
    }
    for (uint32_t me = R; me < N; me++) {
        struct hark_config c = {.me = me, .ranks = N, .groups = tree, .group_count = MANY - 1};
        const struct hark_config none = {.me = me, .ranks = N};
        assert_int_equal(hark_hydee_init(p, hark_hydee_size(&c), &c), HARK_OK);
        assert_int_equal(hark_hydee_init(p, hark_hydee_size(&none), &c), HARK_EFULL);
        c.group_count = MANY;
        assert_int_equal(
            hark_hydee_init(p, hark_hydee_size(&c), &c), me == R ? HARK_EINVAL : HARK_OK);
        c.group_count = 1;
        c.flags = HARK_EXACT_GATE;
        assert_int_equal(hark_hydee_init(p, hark_hydee_size(&c), &c), HARK_EINVAL);
        c.flags = HARK_DIGEST;
        assert_int_equal(hark_hydee_init(p, hark_hydee_size(&c), &c), HARK_OK);
        tree[0].reduces = 1;
        assert_int_equal(hark_hydee_init(p, hark_hydee_size(&c), &c), HARK_EINVAL);
        tree[0].reduces = 0;
    }
    free(p);
}

/* Another than the root, a group that there is not, or that one is not in, a context that is
 * another's. */
static void bad_groups(void **state)
{
    struct job j;
    struct hark_event e = to_group(CTX);
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    for (uint32_t i = S; i < N; i++) refused(&j, i, e, HARK_EINVAL);
    refused(&j, R, to_group(CTX + 1), HARK_EINVAL);
    refused(&j, R, to_group(0), HARK_EINVAL);
    refused(&j, R, to_group(UINT32_MAX), HARK_EINVAL);
    e.u.send.peer = CTX + 0x10000; /* the same number in 16 bits */
    refused(&j, R, e, HARK_EINVAL);
    e = to_group(CTX);
    e.u.send.ctx = 0;
    refused(&j, R, e, HARK_EINVAL);
    e.u.send.peer = S; /* to one, on the context of a group */
    e.u.send.to = HARK_PROCESS;
    e.u.send.ctx = CTX;
    refused(&j, R, e, HARK_EINVAL);
    refused(&j, T, e, HARK_EINVAL);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(j.retained, 1);
    assert_int_equal(j.kept.ssn, 1);
    end(&j);
    const struct hark_group pair = {
        .ctx = CTX, .root = R, .member = member, .parent = parent, .count = 2};
    const struct hark_config with_pair = {.groups = &pair, .group_count = 1},
                             with_none = {.group_count = 0};
    begin(&j, "hydee", &with_pair, NULL);
    refused(&j, T, to_group(CTX), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_string_equal(under_way(&j), "S");
    end(&j);
    begin(&j, "hydee", &with_none, NULL);
    refused(&j, R, to_group(CTX), HARK_EINVAL);
    end(&j);
}

/* Not inside a checkpoint call, not before it is known why one runs again, not in a block or with
 * effects that are too small; and when that is over, it goes out as if nothing had been asked. */
static void not_now(void **state)
{
    struct job j;
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT}, restarted = {.type = HARK_RESTARTED};
    (void)state;
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    j.room = HARK_EFFECTS_ROOM - 1;
    refused(&j, R, to_group(CTX), HARK_ENOROOM);
    j.room = HARK_EFFECTS_ROOM;
    assert_int_equal(hark_grow(j.core[R], j.core[R]->used), HARK_OK);
    refused(&j, R, to_group(CTX), HARK_EFULL);
    assert_in_range(hark_wants(j.core[R], NULL), j.core[R]->used + 1, BLOCK);
    assert_int_equal(hark_grow(j.core[R], hark_wants(j.core[R], NULL)), HARK_OK);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(j.kept.ssn, 1);
    assert_int_equal(hark_grow(j.core[R], BLOCK), HARK_OK);
    point.u.point.due = 1;
    assert_int_equal(step(&j, R, point, NULL), HARK_OK);
    refused(&j, R, to_group(CTX), HARK_ESTATE);
    end(&j);
    begin(&j, "hydee", &with_figure, "aaabbbccc");
    restarted.u.restarted.re = restarted.u.restarted.inc = 1;
    assert_int_equal(step(&j, R, restarted, NULL), HARK_OK);
    refused(&j, R, to_group(CTX), HARK_WAIT);
    failed(&j, R, R);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(j.kept.ssn, 1);
    end(&j);
}

/* ---- images ---------------------------------------------------------------------------------- */

static const struct hark_group two[] = {
    {.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = CTX + 1, .root = R, .member = member, .parent = parent, .count = N}};

static struct hark_event from_image(const struct job *j, uint32_t who)
{
    static uint8_t image[BLOCK];
    struct hark_event e = {.type = HARK_RESTARTED};
    uint64_t n = hark_pack(j->core[who], &hark_hydee_shape, image, BLOCK);
    assert_in_range(n, 1, BLOCK);
    e.u.restarted.checkpoint = e.u.restarted.re = e.u.restarted.inc = 1;
    e.u.restarted.image = (struct hark_bytes){image, (uint32_t)n};
    return e;
}

/* With as many groups as there were it goes on where it was; with more or fewer there is no way
 * back to that image. */
static void other_groups(void **state)
{
    (void)state;
    for (uint32_t was = 0; was < 3; was++)
        for (uint32_t is = 0; is < 3; is++) {
            const struct hark_config before = {.groups = two, .group_count = was},
                                     now = {.groups = two, .group_count = is};
            struct job j, k;
            begin(&j, "hydee", &before, "aaabbbccc");
            begin(&k, "hydee", &now, "aaabbbccc");
            for (uint32_t i = 0; i < was; i++) assert_int_equal(multicast(&j, R, CTX + i), HARK_OK);
            struct hark_event e = from_image(&j, R);
            if (was == is) assert_int_equal(step(&k, R, e, NULL), HARK_OK);
            else refused(&k, R, e, HARK_EIMAGE);
            if (was == is) failed(&k, R, R);
            assert_int_equal(named(&k, R, false), was == is ? was : 0);
            for (uint32_t i = 0; i < is; i++) {
                assert_int_equal(multicast(&k, R, CTX + i), HARK_OK);
                assert_int_equal(k.kept.ssn, was == is ? 2 : 1);
            }
            end(&j);
            end(&k);
        }
}

/* What it says of its groups, and of who belongs to them, is no state of a process: one thing is
 * wrong with each. */
static void damaged(void **state)
{
    (void)state;
    for (uint32_t what = 0; what < 10; what++) {
        const uint32_t who = what == 5 ? T : R;
        struct job j, k;
        struct hark_event e = {.type = HARK_SEND};
        begin(&j, "hydee", &with_figure, "aaabbbccc");
        begin(&k, "hydee", &with_figure, "aaabbbccc");
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
        e.u.send.peer = S;
        assert_int_equal(step(&j, R, e, NULL), HARK_OK);
        struct hark *p = j.core[who];
        struct hark_hydee *s = of(&j, who);
        struct hark_hydee_group *g = hark_hydee_group(s, CTX);
        struct hark_hydee_branch *last = hark_hydee_branch(s, s->branches.count - 1);
        switch (what) {
        case 1: /* fewer groups than it says itself */
            hark_empty(p, &s->groups);
            hark_empty(p, &s->branches);
            for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
                hark_hydee_at(s, i)->channel.flags &= HARK_INTRA;
            break;
        case 2: g->root = N; break;
        case 3: g->first = 0; break;
        case 4: g->first = g->sent + 2; break;
        case 5: last->rank = N; break;
        case 6: last->ctx = CTX + 1; break;
        case 7: last->ctx = CTX + 0x10000; break;
        case 8:
            hark_remove(p, &s->endpoint.channels, s->endpoint.channels.count - 1);
            break; /* none to Z */
        case 9:
            hark_hydee_find(s, S, 0)->channel.flags |= HARK_HYDEE_GROUP;
            break; /* of no group */
        default: break;
        }
        if (what) refused(&k, who, from_image(&j, who), HARK_EIMAGE);
        else assert_int_equal(step(&k, who, from_image(&j, who), NULL), HARK_OK);
        for (uint32_t i = 0; i < N; i++) free(j.core[i]);
        end(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(along_the_tree),
        cmocka_unit_test(in_one_cluster), cmocka_unit_test(around), cmocka_unit_test(directly),
        cmocka_unit_test(asks_all), cmocka_unit_test(again), cmocka_unit_test(log_goes),
        cmocka_unit_test(passes_on), cmocka_unit_test(goes_no_further),
        cmocka_unit_test(nothing_to_pass_on), cmocka_unit_test(in_batches),
        cmocka_unit_test(bad_trees), cmocka_unit_test(bad_groups), cmocka_unit_test(not_now),
        cmocka_unit_test(other_groups), cmocka_unit_test(damaged)};
    return cmocka_run_group_tests_name("hydee_multicast", tests, NULL, NULL);
}
