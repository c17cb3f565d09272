/* A driver whose transport and store give it what they like: frames with any header and payload, in
 * one piece and in many, images with any sections. Whatever comes, it answers with a status, and no
 * memory is lost. */
#include "hark/driver.h"
#include "play.h"

enum { MESSAGES = 16 };

static struct {
    struct hark_transport head;
    struct hark_sink sink;
} end;

static struct {
    struct hark_store head;
    struct hark_section section[8];
    uint32_t count;
} store;

static struct hark_message *up[MESSAGES];
static uint32_t ups;
static struct hark_driver *driver;
static uint64_t rolled; /* + 1 */
static bool wave;       /* a fact to be answered */
static uint64_t fact_id;
static uint32_t fact;

static const struct hark_transport_ops end_ops;
static int end_open(
    struct hark_transport **t, const struct hark_transport_config *c, char error[200])
{
    (void)error;
    end.head.ops = &end_ops;
    end.sink = c->sink;
    *t = &end.head;
    return HARK_T_OK;
}
static const char *end_address(const struct hark_transport *t)
{
    (void)t;
    return "nowhere";
}
static int end_peer(struct hark_transport *t, uint32_t r, uint32_t i, const char *a)
{
    (void)t, (void)r, (void)i, (void)a;
    return HARK_T_OK;
}
static int end_send(struct hark_transport *t, struct hark_outgoing *o)
{
    (void)t, (void)o;
    return HARK_T_OK;
}
static int end_poll(struct hark_transport *t)
{
    (void)t;
    return 0;
}
static int end_wait(struct hark_transport *t, int ms)
{
    (void)t, (void)ms;
    return HARK_T_OK;
}
static int end_drained(struct hark_transport *t)
{
    (void)t;
    return 1;
}
static void end_void(struct hark_transport *t)
{
    (void)t;
}
static void end_sweep(const char *job, const char *directory)
{
    (void)job, (void)directory;
}
static const struct hark_transport_ops end_ops = {.name = "fuzz",
    .open = end_open,
    .address = end_address,
    .peer = end_peer,
    .send = end_send,
    .poll = end_poll,
    .wait = end_wait,
    .wake = end_void,
    .drained = end_drained,
    .close = end_void,
    .sweep = end_sweep};

static int store_read(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section **section, uint32_t *count, void **handle)
{
    (void)s, (void)rank, (void)id;
    *section = store.section;
    *count = store.count;
    *handle = store.section;
    return HARK_S_OK;
}
static void store_release(struct hark_store *s, void *handle)
{
    (void)s, (void)handle;
}
/* What is written can be read again. */
static int store_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    (void)s, (void)rank, (void)id;
    if (count > HARK_COUNT(store.section)) return HARK_S_ESYSTEM;
    for (uint32_t i = 0; i < store.count; i++) free((void *)(uintptr_t)store.section[i].at);
    store.count = count;
    for (uint32_t i = 0; i < count; i++) {
        store.section[i] = section[i];
        store.section[i].at = exactly(section[i].at, section[i].length);
    }
    return HARK_S_OK;
}
static int store_drop(struct hark_store *s, uint32_t rank, uint64_t id)
{
    (void)s, (void)rank, (void)id;
    return HARK_S_OK;
}
static const struct hark_store_ops store_ops = {.name = "fuzz",
    .read = store_read,
    .release = store_release,
    .write = store_write,
    .drop = store_drop};

static void on_handup(void *self, struct hark_message *m)
{
    (void)self;
    m = hark_driver_keep(driver, m);
    if (m && m->length) free(exactly(m->payload, m->length));
    if (m && ups < MESSAGES) up[ups++] = m;
}
static void on_nothing(void *self)
{
    (void)self;
}
static int on_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    static const struct hark_region one = {1, "region", 6};
    (void)self;
    *region = &one;
    *count = 1;
    return id % 8 == 7 ? -1 : 0;
}
static void on_id(void *self, uint64_t id)
{
    (void)self, (void)id;
}
static void on_rollback(void *self, uint64_t id)
{
    (void)self;
    rolled = id + 1;
}
static void on_divergence(void *self, const struct hark_divergence *x)
{
    (void)self, (void)x;
}
static void on_persist(void *self, const struct hark_fact *x)
{
    (void)self;
    wave = true, fact = x->kind, fact_id = x->id;
}
static int on_waiting(void *self)
{
    (void)self;
    return HARK_D_EINVAL;
} /* a send that must wait is given up */
static void on_trouble(void *self, const char *line)
{
    (void)self, (void)line;
}

/* A frame, in one piece or announced first; its sender may die in the middle. */
static void frame(struct choices *c, const uint8_t *b, uint32_t length, uint32_t from)
{
    uint8_t how = choose(c), *header = exactly(b, length);
    uint64_t n = how & 1 ? choose(c) : how & 2 ? 3000 : 0;
    uint8_t *payload = exactly("", 0);
    payload = realloc(payload, n + 1);
    if (payload == NULL) abort();
    memset(payload, how, n + 1);
    struct hark_frame f = {from, 0, {header, length}, n, false};
    if (how & 4) {
        void *at = end.sink.place(end.sink.self, &f);
        if (at) memset(at, how, n);
        if (at && how & 8) end.sink.broken(end.sink.self, &f, at);
        else end.sink.arrived(end.sink.self, &f, at);
    } else {
        end.sink.arrived(end.sink.self, &f, payload);
    }
    free(header);
    free(payload);
}

/* Sections that nobody wrote: with the core's there may be one that was. */
static void sections(struct choices *c)
{
    for (uint32_t n = choose(c) % 4u; n > 0 && store.count < HARK_COUNT(store.section); n--) {
        uint8_t bytes[256];
        size_t length = choose(c);
        struct hark_section *s = &store.section[store.count++];
        for (size_t i = 0; i < length; i++) bytes[i] = choose(c);
        if (length >= 24 && choose(c) & 1)
            play_put(bytes + 16, choose(c), 8); /* the length of an entry of the log */
        if (length >= 16 && choose(c) & 1)
            play_put(bytes, 32 + choose(c) % 32, 4), play_put(bytes + 8, choose(c) % 64, 8);
        *s = (struct hark_section){.tag = 1 + choose(c) % 6u,
            .id = choose(c),
            .at = exactly(bytes, length),
            .length = length};
    }
}

static struct hark_driver *open_driver(uint8_t which)
{
    static const char *const names[] = {"none", "coordinated", "hydee", "scmel"};
    struct hark_driver_config config = {.protocol = hark_protocol_named(names[which % 4]),
        .core = {.me = 1, .ranks = WORLD_RANKS},
        .transport = &end_ops,
        .store = &store.head,
        .digest = (which & 4) != 0};
    config.core.flags = which & 8 ? HARK_EXACT_GATE : 0;
    config.hooks = (struct hark_hooks){.handup = on_handup,
        .resume = on_nothing,
        .capture = on_capture,
        .committed = on_id,
        .persist = on_persist,
        .rollback = on_rollback,
        .diverged = on_divergence,
        .recovered = on_nothing,
        .trouble = on_trouble,
        .waiting = on_waiting,
        .wanted = on_nothing};
    struct hark_driver *d;
    char error[256];
    if (hark_driver_open(&d, &config, error) < 0) finding("%s", error);
    return driver = d;
}

static int act(struct world *w, struct hark_driver **d, uint8_t which)
{
    struct choices *c = &w->c;
    uint8_t what = choose(c), b[PLAY_HEADER + 64] = {0}, to = choose(c);
    uint32_t length;
    switch (what % 12) {
    case 0:
    case 1: return hark_driver_send(*d, to % WORLD_RANKS, to & 64, to, "payload", choose(c) % 8u);
    case 2: {
        if (ups == 0) return 0;
        struct hark_message *m = up[to % ups];
        if (to & 0x80) return hark_driver_look(*d, m);
        int status = hark_driver_deliver(*d, m);
        if (status != HARK_D_OK) return status == 1 ? 0 : status;
        up[to % ups] = up[ups - 1];
        ups--;
        hark_driver_drop(*d, m);
        return status;
    }
    case 3: return hark_driver_miss(*d);
    case 4: return hark_driver_checkpoint(*d, to & 1);
    case 5:
        if (!wave) return hark_driver_wait(*d, 0);
        wave = false;
        return hark_driver_stored(*d, fact, fact_id, to & 1);
    case 6: {
        uint32_t down[1] = {to & 1};
        struct hark_incarnation inc[1] = {{to & 1, 1 + to / 2 % 4u}};
        struct hark_event e = {.type = HARK_FAILED};
        e.u.failed.re = ++w->re;
        e.u.failed.down_count = e.u.failed.inc_count = 1;
        e.u.failed.down = down;
        e.u.failed.inc = inc;
        return hark_driver_failed(*d, &e);
    }
    case 7: { /* as a new incarnation, from what the store gives */
        const struct hark_region *region;
        uint32_t count;
        ups = 0; /* what was not delivered is the driver's */
        hark_driver_close(*d);
        *d = open_driver(which);
        if (to & 1) sections(c);
        w->re++;
        int status = hark_driver_restart(
            *d, store.count > 0, w->re, w->inc[1] = 1 + choose(c) % 4u, &region, &count);
        for (uint32_t i = 0; i < count && status >= 0; i++)
            free(exactly(region[i].at, region[i].length));
        hark_driver_restarted(*d);
        return status;
    }
    case 8:
        for (length = 0; length < to % 64u; length++) b[length] = choose(c);
        if (length > 0) frame(c, b, length, choose(c) % WORLD_RANKS);
        return 0;
    default:
        length = play_frame(w, 1, b);
        if (b[1] == HARK_APP) length += 8;
        if (what & 0x80) length = play_mutate(c, b, length);
        if (length > 0)
            frame(c, b, length, what & 0x40 ? choose(c) % WORLD_RANKS : hark_get32(b + 4));
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.c = {data, size}};
    uint8_t which = choose(&w.c);
    store.head.ops = &store_ops;
    struct hark_driver *d = open_driver(which);
    w.protocol = hark_protocol_of(hark_driver_core(d));
    ups = 0;
    wave = false;
    while (w.c.left > 0) { /* a driver that failed is asked on: it must not fall */
        (void)act(&w, &d, which);
        if (hark_driver_poll(d) < 0 && choose(&w.c) % 4) break;
    }
    hark_driver_close(d);
    for (uint32_t i = 0; i < store.count; i++) free((void *)(uintptr_t)store.section[i].at);
    store.count = 0;
    return 0;
}
