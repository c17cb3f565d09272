/* handshake.c: both ends of a channel prove that they know the key, before anything else. */
#include "channel.h"

#include <stdio.h>
#include <string.h>

enum { START = HARK_CHANNEL_START, NONCE = HARK_CHANNEL_NONCE, SEAL = HARK_CHANNEL_SEAL };
enum { HEAD = crypto_secretstream_xchacha20poly1305_HEADERBYTES };
enum { STREAM_KEY = crypto_secretstream_xchacha20poly1305_KEYBYTES };

_Static_assert(crypto_scalarmult_curve25519_BYTES == 32 && STREAM_KEY == 32, "keys have 32 bytes");

static const uint8_t start[START] = {'h', 'a', 'r', 'k', HARK_CHANNEL_VERSION};
static const char other_key[] = "the other end has another key";
static const char no_public_key[] = "the other end has no proper public key";

/* What is said is as long as its place in the conversation says, so hashes of hashes are hashes of
 * all of it. */
static void note(struct hark_channel *c, const uint8_t *at, size_t length)
{
    crypto_generichash_state h;
    crypto_generichash_init(&h, NULL, 0, sizeof c->transcript);
    crypto_generichash_update(&h, c->transcript, sizeof c->transcript);
    crypto_generichash_update(&h, at, length);
    crypto_generichash_final(&h, c->transcript, sizeof c->transcript);
    sodium_memzero(&h, sizeof h);
}

/* Of the message that is wanted, said or answered in `state`; all before its seal is noted. */
static void seal(const struct hark_channel *c, enum hark_channel_state state, uint8_t to[SEAL])
{
    uint8_t text[16 + sizeof c->transcript] = "hark agent seal";
    text[15] = (uint8_t)state;
    memcpy(text + 16, c->transcript, sizeof c->transcript);
    crypto_generichash(to, SEAL, text, sizeof text, c->key, sizeof c->key);
}

static bool is_sealed(
    const struct hark_channel *c, enum hark_channel_state state, const uint8_t from[SEAL])
{
    uint8_t right[SEAL];
    seal(c, state, right);
    bool same = sodium_memcmp(from, right, SEAL) == 0;
    sodium_memzero(right, sizeof right);
    return same;
}

/* Start, nonce and public key into said[], of a fresh key pair. */
static void greet(struct hark_channel *c)
{
    memcpy(c->said, start, START);
    randombytes_buf(c->said + START, NONCE);
    randombytes_buf(c->secret, sizeof c->secret);
    (void)crypto_scalarmult_curve25519_base(c->said + START + NONCE, c->secret);
    note(c, c->said, HARK_CHANNEL_HELLO);
}

/* Seals what is in said[] up to `length`, which is noted, for the other. */
static void reply(struct hark_channel *c, enum hark_channel_state sealed, size_t length)
{
    seal(c, sealed, c->said + length);
    note(c, c->said + length, SEAL);
    c->reply = (uint16_t)(length + SEAL);
}

/* ---- keys of the streams --------------------------------------------------------------------- */

struct stream_keys {
    uint8_t of_caller[STREAM_KEY], of_listener[STREAM_KEY];
};

/* From the transcript up to the ANSWER, since there both nonces and public keys are known. False:
 * no honest end has such a public key. */
static bool derive(
    struct stream_keys *keys, const struct hark_channel *c, const uint8_t transcript[32])
{
    uint8_t text[16 + 32 + 32] = "hark agent keys";
    if (crypto_scalarmult_curve25519(text + 16, c->secret, c->theirs) != 0) return false;
    memcpy(text + 48, transcript, 32);
    crypto_generichash((uint8_t *)keys, sizeof *keys, text, sizeof text, c->key, sizeof c->key);
    sodium_memzero(text, sizeof text);
    return true;
}

/* Our stream begins: its head comes into said[]. */
static void begin(struct hark_channel *c, const uint8_t key[STREAM_KEY])
{
    (void)crypto_secretstream_xchacha20poly1305_init_push(&c->out, c->said, key);
    note(c, c->said, HEAD);
}

/* The handshake is over; its secrets are not needed any more. */
static void leave(struct hark_channel *c, enum hark_channel_state state)
{
    sodium_memzero(c->key, sizeof c->key);
    sodium_memzero(c->secret, sizeof c->secret);
    sodium_memzero(c->theirs, sizeof c->theirs);
    sodium_memzero(c->transcript, sizeof c->transcript);
    c->state = state;
    c->opened = state == HARK_CHANNEL_STREAM;
}

void hark_channel_fail(struct hark_channel *c, const char *why)
{
    leave(c, HARK_CHANNEL_OVER);
    sodium_memzero(&c->in, sizeof c->in);
    sodium_memzero(&c->out, sizeof c->out);
    snprintf(c->why, sizeof c->why, "%s", why);
}

/* ---- caller ---------------------------------------------------------------------------------- */

void hark_channel_hello(struct hark_channel *c)
{
    greet(c);
    c->reply = HARK_CHANNEL_HELLO;
}

static void answered(struct hark_channel *c)
{
    struct stream_keys keys;
    note(c, c->said, HARK_CHANNEL_HELLO);
    if (!is_sealed(c, HARK_CHANNEL_WANT_ANSWER, c->said + HARK_CHANNEL_HELLO)) {
        hark_channel_fail(c, other_key);
        return;
    }
    note(c, c->said + HARK_CHANNEL_HELLO, SEAL);
    memcpy(c->theirs, c->said + START + NONCE, sizeof c->theirs);
    if (!derive(&keys, c, c->transcript)) {
        hark_channel_fail(c, no_public_key);
        return;
    }
    memcpy(c->theirs, keys.of_listener, STREAM_KEY); /* until the head of that stream comes */
    begin(c, keys.of_caller);
    sodium_memzero(&keys, sizeof keys);
    reply(c, HARK_CHANNEL_WANT_PROOF, HEAD);
    c->state = HARK_CHANNEL_WANT_WELCOME;
}

static void welcomed(struct hark_channel *c)
{
    note(c, c->said, HEAD);
    if (!is_sealed(c, HARK_CHANNEL_WANT_WELCOME, c->said + HEAD)) {
        hark_channel_fail(c, other_key);
        return;
    }
    (void)crypto_secretstream_xchacha20poly1305_init_pull(&c->in, c->said, c->theirs);
    leave(c, HARK_CHANNEL_STREAM);
}

/* ---- listener -------------------------------------------------------------------------------- */

static void greeted(struct hark_channel *c)
{
    note(c, c->said, HARK_CHANNEL_HELLO);
    memcpy(c->theirs, c->said + START + NONCE, sizeof c->theirs);
    greet(c);
    reply(c, HARK_CHANNEL_WANT_ANSWER, HARK_CHANNEL_HELLO);
    c->state = HARK_CHANNEL_WANT_PROOF;
}

/* The secret of both is computed only here: nobody who has not proved anything makes us do it. */
static void proved(struct hark_channel *c)
{
    struct stream_keys keys;
    uint8_t up_to_answer[sizeof c->transcript];
    memcpy(up_to_answer, c->transcript, sizeof up_to_answer);
    note(c, c->said, HEAD);
    if (!is_sealed(c, HARK_CHANNEL_WANT_PROOF, c->said + HEAD)) {
        hark_channel_fail(c, other_key);
        return;
    }
    note(c, c->said + HEAD, SEAL);
    if (!derive(&keys, c, up_to_answer)) {
        hark_channel_fail(c, no_public_key);
        return;
    }
    (void)crypto_secretstream_xchacha20poly1305_init_pull(&c->in, c->said, keys.of_caller);
    begin(c, keys.of_listener);
    sodium_memzero(&keys, sizeof keys);
    reply(c, HARK_CHANNEL_WANT_WELCOME, HEAD);
    leave(c, HARK_CHANNEL_STREAM);
}

/* ---- both ------------------------------------------------------------------------------------ */

size_t hark_channel_wanted(const struct hark_channel *c)
{
    switch (c->state) {
    case HARK_CHANNEL_WANT_HELLO: return HARK_CHANNEL_HELLO;
    case HARK_CHANNEL_WANT_ANSWER: return HARK_CHANNEL_ANSWER;
    case HARK_CHANNEL_WANT_PROOF: return HARK_CHANNEL_PROOF;
    default: return HARK_CHANNEL_WELCOME;
    }
}

/* A stranger of another protocol is known by its first bytes; one of another version is told ours,
 * so that both can say it. */
static void look_at_start(struct hark_channel *c)
{
    char why[sizeof c->why];
    size_t magic = c->got < START - 1 ? c->got : START - 1;
    if (memcmp(c->said, start, magic) != 0) {
        hark_channel_fail(c, "the other end does not speak hark's protocol");
    } else if (c->got >= START && c->said[START - 1] != HARK_CHANNEL_VERSION) {
        snprintf(why, sizeof why, "the other end speaks another version, %u, and this one %u",
            c->said[START - 1], HARK_CHANNEL_VERSION);
        hark_channel_fail(c, why);
        if (c->caller) return;
        memcpy(c->said, start, START);
        c->reply = START;
    }
}

bool hark_channel_shake(struct hark_channel *c)
{
    if (c->state == HARK_CHANNEL_WANT_HELLO || c->state == HARK_CHANNEL_WANT_ANSWER)
        look_at_start(c);
    if (c->state == HARK_CHANNEL_OVER) return true;
    if (c->got < hark_channel_wanted(c)) return false;
    c->got = 0;
    switch (c->state) {
    case HARK_CHANNEL_WANT_HELLO: greeted(c); break;
    case HARK_CHANNEL_WANT_ANSWER: answered(c); break;
    case HARK_CHANNEL_WANT_PROOF: proved(c); break;
    default: welcomed(c); break;
    }
    return true;
}
