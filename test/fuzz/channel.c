/* Bytes that come to a channel: from strangers, from who stands between both and changes what they
 * say, and from one who has the key and says what no honest end would. The input: which of these,
 * and choices. */
#include "../../src/agent/channel.h"
#include "fuzz.h"

enum { WIRE = 1 << 20, MESSAGES = 64 };

static const uint8_t key[HARK_CHANNEL_KEY] = "the key of the job";

/* ---- the same randomness for each input ------------------------------------------------------ */

static uint64_t chance;

static uint32_t by_chance(void)
{
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return (uint32_t)(chance >> 32);
}

static void bytes_by_chance(void *const at, const size_t length)
{
    for (size_t i = 0; i < length; i++) ((uint8_t *)at)[i] = (uint8_t)by_chance();
}

static const char *name(void)
{
    return "fuzz";
}

static struct randombytes_implementation implementation = {
    .implementation_name = name, .random = by_chance, .buf = bytes_by_chance};

/* ---- putting bytes in ------------------------------------------------------------------------ */

/* What is kept for a message is 256 KiB, or no more than twice what has come of it and a record. */
static void check_memory(const struct hark_channel *c)
{
    if (c->state != HARK_CHANNEL_STREAM) return;
    if (c->length > HARK_CHANNEL_MESSAGE) finding("a message of %zu bytes", c->length);
    if (c->room > 4 * HARK_CHANNEL_RECORD && c->room > 2 * (c->length + HARK_CHANNEL_RECORD))
        finding("room for %zu bytes of which %zu are there", c->room, c->length);
}

/* Puts bytes in until there is an event. */
static enum hark_channel_event put(
    struct hark_channel *c, struct choices *from, const uint8_t **at, size_t *length)
{
    for (;;) {
        enum hark_channel_event event = hark_channel_next(c, at, length);
        size_t room = 0;
        check_memory(c);
        if (event != HARK_CHANNEL_MORE || from->left == 0) return event;
        uint8_t *to = hark_channel_room(c, &room);
        if (to == NULL || room == 0) finding("there is no room");
        if (room > from->left) room = from->left;
        memcpy(to, from->at, room);
        hark_channel_came(c, room);
        from->at += room;
        from->left -= room;
    }
}

/* ---- strangers ------------------------------------------------------------------------------- */

static void strange(struct choices *from, bool caller)
{
    struct hark_channel c;
    const uint8_t *at;
    size_t length;
    hark_channel_open(&c, caller, key);
    for (;;) {
        enum hark_channel_event event = put(&c, from, &at, &length);
        if (c.buffer || c.message) finding("memory for a stranger");
        if (event == HARK_CHANNEL_REPLY) free(exactly(at, length));
        else if (event == HARK_CHANNEL_MORE || event == HARK_CHANNEL_FAILED) break;
        else finding("a stranger has got as far as event %d", event);
    }
    hark_channel_close(&c);
}

/* ---- handshakes that are changed ------------------------------------------------------------- */

struct ends {
    struct hark_channel end[2]; /* listener, caller */
    bool open[2];
};

static void shake(struct ends *e, struct choices *c)
{
    uint8_t said[HARK_CHANNEL_ANSWER];
    struct choices none = {0}, heard = {0};
    bool changed = false;
    memset(e, 0, sizeof *e);
    for (int i = 0; i < 2; i++) hark_channel_open(&e->end[i], i, key);
    for (int who = 1, quiet = 0; quiet < 2; who = !who) {
        const uint8_t *at;
        size_t length;
        enum hark_channel_event event = put(&e->end[who], &heard, &at, &length);
        heard = none;
        while (event == HARK_CHANNEL_OPENED) {
            e->open[who] = true;
            event = put(&e->end[who], &none, &at, &length);
        }
        quiet = event == HARK_CHANNEL_REPLY ? 0 : quiet + 1;
        if (event != HARK_CHANNEL_REPLY) continue;
        memcpy(said, at, length);
        while (c && choose(c) % 4 == 3) {
            uint8_t bits = choose(c);
            said[choose(c) % length] ^= bits;
        }
        changed = changed || memcmp(said, at, length) != 0;
        heard = (struct choices){said, length};
        if (hark_channel_next(&e->end[who], &at, &length) == HARK_CHANNEL_OPENED)
            e->open[who] = true;
    }
    if (!changed && !(e->open[0] && e->open[1])) finding("an honest handshake fails");
    if (changed && e->open[1]) finding("a handshake that was changed is none the worse");
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
    struct ends e;
    uint8_t *wire;
    size_t length, given;  /* of the wire, that is to come, and that has */
    size_t size[MESSAGES]; /* of messages */
    unsigned said, heard;  /* messages */
    bool final, over;
    bool tampered; /* by who has not the key */
    bool crafted;  /* by who has it, so anything may come */
};

static uint8_t byte_of(unsigned message, size_t place)
{
    return (uint8_t)(message * 31 + place * 7 + (place >> 8));
}

static void say(struct stream *s, size_t length)
{
    size_t size = hark_channel_size(length);
    if (s->said == MESSAGES || s->length + size > WIRE || s->final) return;
    uint8_t *text = malloc(length + 1);
    if (text == NULL) abort();
    for (size_t i = 0; i < length; i++) text[i] = byte_of(s->said, i);
    hark_channel_say(&s->e.end[1], text, length, s->wire + s->length);
    free(text);
    s->length += size;
    if (length == 0) s->final = true;
    if (length == 0) return;
    s->size[s->said++] = length;
}

/* A record under the right key, with any tag and length. */
static void craft(struct stream *s, struct choices *c)
{
    static const uint8_t text[HARK_CHANNEL_RECORD];
    unsigned char tag = choose(c);
    size_t length = choose(c) % 4 == 0 ? HARK_CHANNEL_RECORD : choose(c);
    if (s->length + length + HARK_CHANNEL_AROUND > WIRE) return;
    uint8_t *at = s->wire + s->length;
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(length >> (8 * i));
    (void)crypto_secretstream_xchacha20poly1305_push(
        &s->e.end[1].out, at + 4, NULL, text, length, at, 4, tag);
    s->length += length + HARK_CHANNEL_AROUND;
    s->crafted = true;
}

static void tamper(struct stream *s, struct choices *c)
{
    size_t left = s->length - s->given, at = s->given;
    uint8_t how = choose(c), bits = choose(c);
    if (left == 0) return;
    at += choose_bytes(c, left > 256 ? 3 : 1) % left;
    s->tampered = true;
    if (how % 4 == 0) { /* a byte is lost */
        memmove(s->wire + at, s->wire + at + 1, s->length - at - 1);
        s->length--;
    } else if (how % 4 == 1 && s->length < WIRE) { /* one more */
        memmove(s->wire + at + 1, s->wire + at, s->length - at);
        s->wire[at] = bits;
        s->length++;
    } else {
        s->wire[at] ^= bits;
    }
}

static void hear(struct stream *s, const uint8_t *at, size_t length)
{
    unsigned i = s->heard++;
    free(exactly(at, length));
    if (s->crafted) return;
    if (i >= s->said || s->size[i] != length) finding("a message that nobody has said");
    for (size_t k = 0; k < length; k++)
        if (at[k] != byte_of(i, k)) finding("a message that was changed");
}

static void give(struct stream *s, size_t length)
{
    if (length > s->length - s->given) length = s->length - s->given;
    struct choices from = {exactly(s->wire + s->given, length), length};
    void *copy = (void *)(uintptr_t)from.at;
    const uint8_t *at;
    size_t n;
    s->given += length;
    while (!s->over) {
        enum hark_channel_event event = put(&s->e.end[0], &from, &at, &n);
        if (event == HARK_CHANNEL_MORE) break;
        if (event == HARK_CHANNEL_SAID) hear(s, at, n);
        else s->over = true;
        if (event == HARK_CHANNEL_ENDED && !s->crafted && !(s->final && s->heard == s->said))
            finding("it has ended before it has");
        if (event == HARK_CHANNEL_FAILED && !s->crafted && !s->tampered)
            finding("an honest stream fails: %s", s->e.end[0].why);
    }
    free(copy);
}

static size_t choose_length(struct choices *c)
{
    uint8_t b = choose(c);
    if (b < 128) return 1 + b;
    if (b < 192) return HARK_CHANNEL_RECORD * (b % 3u + 1) - 2 + choose(c) % 4;
    return 1 + choose_bytes(c, 2);
}

static void stream(struct choices *c)
{
    static uint8_t wire[WIRE];
    struct stream s = {.wire = wire};
    shake(&s.e, NULL);
    while (c->left && !s.over) {
        switch (choose(c) % 8) {
        case 0:
        case 1:
        case 2: say(&s, choose_length(c)); break;
        case 3: give(&s, choose(c)); break;
        case 4: give(&s, choose_bytes(c, 2)); break;
        case 5: tamper(&s, c); break;
        case 6:
            if (choose(c) % 4 == 0) craft(&s, c);
            break;
        default:
            if (choose(c) % 4 == 0) say(&s, 0);
        }
    }
    give(&s, WIRE);
    if (!s.crafted && !s.tampered && s.heard != s.said)
        finding("%u of %u messages have come", s.heard, s.said);
    for (int i = 0; i < 2; i++) hark_channel_close(&s.e.end[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    struct choices c = {data, size};
    struct ends e;
    if (!begun) {
        (void)randombytes_set_implementation(&implementation);
        if (sodium_init() < 0) abort();
        begun = true;
    }
    chance = 88172645463325252u;
    switch (choose(&c) % 4) {
    case 0: strange(&c, false); break;
    case 1: strange(&c, true); break;
    case 2:
        shake(&e, &c);
        for (int i = 0; i < 2; i++) hark_channel_close(&e.end[i]);
        break;
    default: stream(&c);
    }
    return 0;
}
