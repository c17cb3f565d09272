/* Frames that a driver holds for its core: what of them is in an image and comes back from one, an
 * image that is none, memory that is short, and memory that is given back. A small protocol of the
 * test's own holds every message until it is told that it may hand them up. */
#undef HARK_LINK /* a protocol of its own is made of the bodies */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hark/parts/channel.h"
#include "hark/registry.h"
#include "hark/store.h"
#include "script.h"

enum { KIND_HOLDER = 98, CTX = 5, OPEN = 16, LATER = 17, WAVE = 18, IMAGE_ARRIVED = 3, MOST = 16 };

/* ---- the core -------------------------------------------------------------------------------- */

struct holder {
    struct hark head;
    struct hark_endpoint endpoint;
    uint64_t last; /* of rank 1's messages that are held */
    uint64_t open; /* WAVE: each message comes with a checkpoint */
};

static const struct hark_field channel_fields[] = {HARK_FIELD(struct hark_channel, peer, "j"),
    HARK_FIELD(struct hark_channel, ctx, "ctx"), HARK_FIELD(struct hark_channel, sent, "sent")};
static const struct hark_field holder_fields[] = {
    HARK_ENDPOINT_FIELDS(struct holder), HARK_FIELD(struct holder, last, "n")};
static const struct hark_rows holder_rows[] = {
    {"channels", "", (uint16_t)offsetof(struct holder, endpoint.channels),
        sizeof(struct hark_channel), HARK_COUNT(channel_fields), channel_fields}};
static const struct hark_shape holder_shape = {"holder", 1, HARK_COUNT(holder_fields),
    HARK_COUNT(holder_rows), sizeof(struct holder), holder_fields, holder_rows, 0, NULL, 0, NULL};

static uint64_t holder_size(const struct hark_config *c)
{
    return hark_config_valid(c) ? sizeof(struct holder) + 4 * sizeof(struct hark_channel) : 0;
}

static int holder_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct holder *s = (struct holder *)(void *)p;
    int status = hark_block_init(p, bytes, &holder_shape, KIND_HOLDER);
    if (status < 0) return status;
    s->endpoint.me = c->me;
    s->endpoint.ranks = c->ranks;
    return HARK_OK;
}

static int holder_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct holder *s = (struct holder *)(void *)p;
    struct hark_head h;
    fx->count = fx->used = 0;
    if (event->type == HARK_CHECKPOINT_POINT) hark_emit_checkpoint(fx, HARK_CAPTURE, 1);
    if (event->type == HARK_DELIVER && s->open == WAVE)
        for (int i = 0; i < 3; i++) hark_emit(fx, HARK_RECOVERED);
    if (event->type != HARK_ARRIVE) return HARK_OK;
    if (hark_head_get(&h, event->u.frame.header, KIND_HOLDER) < 0) return HARK_EFRAME;
    if (h.type == OPEN) {
        s->open = 1;
        hark_emit_offer(fx, HARK_RECOVERY);
        return HARK_OK;
    }
    if (h.type == WAVE) {
        s->open = WAVE;
        return HARK_OK;
    }
    if (h.type == HARK_APP && s->open == WAVE) {
        s->last = h.ssn;
        hark_emit(fx, HARK_HANDUP);
        hark_emit_checkpoint(fx, HARK_CAPTURE, 1);
        hark_emit(fx, HARK_PERSIST)->u.persist.kind = HARK_FACT_WAVE;
        return HARK_OK;
    }
    if (h.type == HARK_APP && s->open) {
        hark_emit(fx, HARK_HANDUP);
        return HARK_OK;
    }
    if (h.type == HARK_APP && h.ssn > s->last) s->last = h.ssn;
    return hark_emit_verdict(fx, s->open ? HARK_DISCARD : HARK_HOLD);
}

static int holder_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct holder *s = (const struct holder *)(const void *)p;
    if (*cursor || s->last == 0) return 0;
    *run = (struct hark_names){.name = hark_name_in(1, CTX, 1), .last = s->last};
    *cursor = 1;
    return 1;
}

static const struct hark_protocol holder = {.name = "holder",
    .kind = KIND_HOLDER,
    .rolls = HARK_ROLLS_PROCESS,
    .shape = &holder_shape,
    .size = holder_size,
    .init = holder_init,
    .step = holder_step,
    .names = holder_names,
    .violated = hark_none_violated};

/* ---- a store in memory, of one image --------------------------------------------------------- */

static struct {
    struct hark_store head;
    struct hark_section section[MOST];
    uint32_t count;
} image;

static int image_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    (void)s, (void)rank;
    assert_int_equal(id, 1);
    assert_in_range(count, 1, MOST);
    for (image.count = 0; image.count < count; image.count++) {
        struct hark_section *to = &image.section[image.count];
        *to = section[image.count];
        void *copy = malloc(to->length + 1);
        assert_non_null(copy);
        if (to->length) memcpy(copy, to->at, to->length);
        to->at = copy;
    }
    return HARK_S_OK;
}

static int image_read(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section **section, uint32_t *count, void **handle)
{
    (void)rank, (void)id;
    *section = image.section;
    *count = image.count;
    *handle = s;
    return HARK_S_OK;
}

static void image_release(struct hark_store *s, void *handle)
{
    assert_ptr_equal(s, handle);
}

static const struct hark_store_ops image_ops = {
    .name = "image", .write = image_write, .read = image_read, .release = image_release};

static void image_free(void)
{
    for (uint32_t i = 0; i < image.count; i++) free((void *)(uintptr_t)image.section[i].at);
    image.count = 0;
}

static struct hark_section *arrived_section(void)
{
    for (uint32_t i = 0; i < image.count; i++)
        if (image.section[i].tag == IMAGE_ARRIVED) return &image.section[i];
    fail_msg("no section of what has arrived");
    return NULL;
}

/* ---- the embedder ---------------------------------------------------------------------------- */

static struct hark_message *up[MOST];
static int ups, troubles, places, recoveries, persists;
static struct hark_driver *delivers; /* what is handed up is delivered at once */
static char owners[MOST];

static void on_handup(void *self, struct hark_message *m)
{
    (void)self;
    assert_false(m->borrowed);
    assert_in_range(ups, 0, MOST - 1);
    if (delivers) {
        assert_int_equal(persists, ups + 1); /* all effects of the step have been performed */
        assert_int_equal(hark_driver_deliver(delivers, m), HARK_D_OK);
    }
    up[ups++] = m;
}

static int on_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    (void)self, (void)id;
    *region = NULL;
    *count = 0;
    return 0;
}

static void on_recovered(void *self)
{
    (void)self;
    recoveries++;
}

/* A hook that calls, which it must not: every call is refused, and changes nothing. */
static void on_persist(void *self, const struct hark_fact *fact)
{
    struct hark_driver *d = delivers;
    const struct hark_event failed = {.type = HARK_FAILED};
    const struct hark_region *region;
    struct hark_awaited awaited = {0};
    uint32_t count;
    (void)self;
    assert_int_equal(fact->kind, HARK_FACT_WAVE);
    persists++;
    assert_int_equal(hark_driver_send(d, 1, CTX, 0, "x", 1), HARK_D_EBUSY);
    assert_string_equal(hark_driver_error(d), "a call from a hook: the effects of a step are being "
                                              "performed; call when the hook and what "
                                              "led to it have returned");
    assert_int_equal(hark_driver_send_start(d, 2, CTX, 0, "x", 1, &count), HARK_D_EBUSY);
    assert_int_equal(hark_driver_multicast(d, 0, CTX, 0, "x", 1), HARK_D_EBUSY);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_EBUSY);
    assert_int_equal(hark_driver_stored(d, HARK_FACT_WAVE, 1, true), HARK_D_EBUSY);
    assert_int_equal(hark_driver_failed(d, &failed), HARK_D_EBUSY);
    assert_int_equal(hark_driver_restart(d, 1, 1, 1, &region, &count), HARK_D_EBUSY);
    assert_int_equal(hark_driver_recluster(d, NULL, 0), HARK_D_EBUSY);
    assert_int_equal(hark_driver_quiet(d), HARK_D_EBUSY);
    assert_int_equal(hark_driver_miss(d), HARK_D_EBUSY);
    assert_int_equal(hark_driver_stabilise(d), HARK_D_EBUSY);
    assert_int_equal(hark_driver_poll(d), HARK_D_EBUSY);
    assert_int_equal(hark_driver_wait(d, 0), HARK_D_EBUSY);
    assert_int_equal(hark_driver_receive(d, &awaited), HARK_D_EBUSY);
}

static void *on_place(
    void *self, uint32_t from, uint16_t ctx, int64_t tag, uint64_t length, bool at_once)
{
    (void)self, (void)from, (void)ctx, (void)tag, (void)at_once;
    assert_true(length <= sizeof owners);
    places++;
    return owners;
}

static void on_unplace(void *self, void *payload)
{
    (void)self;
    assert_ptr_equal(payload, owners);
    places--;
}

static void on_trouble(void *self, const char *line)
{
    (void)self, (void)line;
    troubles++;
}

static struct hark_driver *open_driver(void)
{
    char error[256];
    struct hark_driver *d;
    struct hark_driver_config c = {.protocol = &holder,
        .transport = &plain,
        .store = &image.head,
        .hooks = {.handup = on_handup,
            .capture = on_capture,
            .trouble = on_trouble,
            .persist = on_persist,
            .recovered = on_recovered,
            .place = on_place,
            .unplace = on_unplace}};
    c.core.ranks = 3;
    memset(&script, 0, sizeof script);
    script.head.ops = &plain;
    image.head.ops = &image_ops;
    ups = troubles = places = recoveries = persists = 0;
    delivers = NULL;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_OK);
    return d;
}

/* `placed`: a payload that the transport writes to where the driver wants it. */
static void comes(uint8_t type, uint64_t ssn, const void *payload, uint32_t length, bool placed)
{
    uint8_t header[HARK_WIRE_HEAD + 8] = {0};
    const struct hark_head h = {KIND_HOLDER, type, CTX, 1, 0, 0, 0, 0, ssn};
    const struct hark_frame f = {.from = 1,
        .header = {header, type == HARK_APP ? sizeof header : HARK_WIRE_HEAD},
        .length = length};
    hark_head_put(header, &h);
    hark_put64(header + HARK_WIRE_HEAD, 100 + ssn); /* the tag */
    void *at = placed ? script.sink.place(script.sink.self, &f) : NULL;
    if (at) memcpy(at, payload, length);
    script.sink.arrived(script.sink.self, &f, placed ? at : payload);
}

static void arrives(uint8_t type, uint64_t ssn, const void *payload, uint32_t length)
{
    comes(type, ssn, payload, length, false);
}

/* ---- memory that is short -------------------------------------------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static int none_at; /* the allocation that fails, from 1; 0: none */

static bool fails_now(void)
{
    return none_at && --none_at == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails_now() ? NULL : __real_calloc(count, bytes);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char *const said[] = {"first", "", "the third"};

static void hold_some(void)
{
    arrives(HARK_APP, 1, said[0], 6);
    arrives(LATER, 2, NULL, 0); /* named as a message would be, and none */
    arrives(HARK_APP, 2, said[1], 0);
    arrives(HARK_APP, 3, said[2], 10);
    assert_int_equal(ups, 0);
}

/* Messages that are held and that the core names are in the image, and nothing else that is held;
 * after a restart they are handed up as they were. */
static void an_image_has_what_is_held(void **state)
{
    (void)state;
    const struct hark_region *region;
    uint32_t count;
    struct hark_driver *d = open_driver();
    hold_some();
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    assert_int_equal(troubles, 0);
    assert_string_equal(hark_driver_error(d), "");
    assert_int_equal(arrived_section()->length, 3 * (24 + HARK_WIRE_HEAD) + 6 + 0 + 10);
    hark_driver_close(d);

    d = open_driver();
    assert_int_equal(hark_driver_restart(d, 1, 1, 1, &region, &count), HARK_D_OK);
    assert_int_equal(count, 0);
    hark_driver_restarted(d);
    arrives(OPEN, 0, NULL, 0);
    assert_int_equal(ups, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(up[i]->ssn, i + 1);
        assert_int_equal(up[i]->tag, 100 + i + 1);
        assert_int_equal(up[i]->length, i == 1 ? 0 : strlen(said[i]) + 1);
        if (up[i]->length) assert_string_equal((char *)up[i]->payload, said[i]);
        assert_int_equal(hark_driver_deliver(d, up[i]), HARK_D_OK);
        hark_driver_drop(d, up[i]);
    }
    hark_driver_close(d);
    image_free();
}

/* A message that is handed up by the step that asks for an image is in the image, and is the
 * owner's when all effects of that step have been performed: so it may be delivered at once. */
static void delivered_beside_an_image(void **state)
{
    (void)state;
    for (int placed = 0; placed < 2; placed++) {
        struct hark_driver *d = open_driver();
        delivers = d;
        arrives(WAVE, 0, NULL, 0);
        comes(HARK_APP, 1, said[0], 6, placed);
        assert_int_equal(persists, 1);
        assert_int_equal(recoveries, 3);
        assert_int_equal(ups, 1);
        assert_int_equal(up[0]->length, 6);
        assert_string_equal((char *)up[0]->payload, said[0]);
        assert_int_equal(arrived_section()->length, 24 + HARK_WIRE_HEAD + 6);
        hark_driver_drop(d, up[0]);
        assert_int_equal(hark_driver_poll(d), 0);
        assert_int_equal(hark_driver_send(d, 1, CTX, 0, "x", 1), HARK_D_OK);
        hark_driver_close(d);
        image_free();
    }
}

/* A restart from an image whose section of messages is `length` bytes, the last of which are the
 * last of a page that can be read. */
static void refused(const uint8_t *bytes, uint64_t length)
{
    const struct hark_region *region;
    uint32_t count;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && length <= page);
    assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
    memcpy(at + page - length, bytes, length);
    struct hark_section *s = arrived_section(), before = *s;
    s->at = at + page - length;
    s->length = length;
    struct hark_driver *d = open_driver();
    assert_int_equal(hark_driver_restart(d, 1, 1, 1, &region, &count), HARK_D_ESYSTEM);
    assert_string_equal(hark_driver_error(d), "restart: the image's messages end in mid-entry");
    hark_driver_close(d);
    *s = before;
    munmap(at, 2 * page);
}

/* Lengths that lead out of an image are found before anything is read there. */
static void an_image_that_ends_too_early(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver();
    arrives(HARK_APP, 1, said[0], 6);
    assert_int_equal(hark_driver_checkpoint(d, true), HARK_D_OK);
    hark_driver_close(d);
    const struct hark_section *s = arrived_section();
    const uint64_t whole = 24 + HARK_WIRE_HEAD + 6;
    uint8_t bytes[24 + HARK_WIRE_HEAD + 6];
    assert_int_equal(s->length, whole);
    for (uint64_t less = 1; less < whole; less++) {
        memcpy(bytes, s->at, whole);
        refused(bytes, whole - less);
    }
    for (uint64_t more = 1; more < 100; more++) {
        memcpy(bytes, s->at, whole); /* the payload is longer */
        hark_put64(bytes + 16, 6 + more);
        refused(bytes, whole);
        memcpy(bytes, s->at, whole); /* the header is, and leaves nothing */
        hark_put64(bytes, HARK_WIRE_HEAD + 6 + more);
        hark_put64(bytes + 16, 0);
        refused(bytes, whole);
    }
    memcpy(bytes, s->at, whole);
    hark_put64(bytes, HARK_WIRE_HEAD - 1);
    hark_put64(bytes + 16, 7);
    refused(bytes, whole);
    image_free();
}

/* Fails the nth allocation while a message is held; false if there are not so many. */
static bool holds_without(int nth, bool placed, int *failures)
{
    static const char *const lines[] = {
        "memory: no room for an arrived message", "memory: no room for a held message"};
    struct hark_driver *d = open_driver();
    none_at = nth;
    comes(HARK_APP, 1, said[0], 6, placed);
    const bool failed = none_at == 0;
    none_at = 0;
    if (failed) {
        const bool held = strcmp(hark_driver_error(d), lines[1]) == 0;
        if (!held) assert_string_equal(hark_driver_error(d), lines[0]);
        failures[held]++;
        assert_true(hark_driver_poll(d) < 0);
    } else {
        assert_string_equal(hark_driver_error(d), "");
        assert_int_equal(hark_driver_poll(d), 0);
    }
    assert_int_equal(places, 0); /* what is held is no more where its owner wanted it */
    hark_driver_close(d);
    return failed;
}

/* A frame that can not be held is not lost without a word: the driver fails. */
static void without_memory_for_it(void **state)
{
    (void)state;
    for (int placed = 0; placed < 2; placed++) {
        int failures[2] = {0}, nth = 1;
        while (holds_without(nth, placed, failures)) nth++;
        assert_int_equal(failures[0], placed ? 2 : 0); /* while it arrives: a note of its place,
                                                          and itself */
        assert_int_equal(failures[1], placed ? 2 : 3); /* itself, its payload, the table */
    }
}

/* The payload of a message that was held has memory of its own, wherever that lies: also shortly
 * behind what the message itself lies in. */
static void a_long_one_is_given_back(void **state)
{
    enum { LONG = 120000, HOLES = 32 };
    (void)state;
    static uint8_t payload[LONG];
    void *hole[HOLES];
    size_t taken = 0;
    for (int round = 0; round < 4; round++) {
        struct hark_driver *d = open_driver();
        for (int i = 0; i < HOLES; i++) assert_non_null(hole[i] = malloc(512 + 16 * (size_t)i));
        arrives(HARK_APP, 1, payload, round ? LONG : 1);
        for (int i = 0; i < HOLES; i++) free(hole[i]);
        arrives(OPEN, 0, NULL, 0);
        assert_int_equal(ups, 1);
        assert_int_equal(hark_driver_deliver(d, up[0]), HARK_D_OK);
        hark_driver_drop(d, up[0]);
        hark_driver_close(d);
        const struct mallinfo2 now = mallinfo2();
        if (round == 0) taken = now.uordblks + now.hblkhd;
        assert_in_range(now.uordblks + now.hblkhd, 0, taken + LONG / 2); /* what free() keeps */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_image_has_what_is_held),
        cmocka_unit_test(delivered_beside_an_image), cmocka_unit_test(an_image_that_ends_too_early),
        cmocka_unit_test(without_memory_for_it), cmocka_unit_test(a_long_one_is_given_back)};
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
