/* handshake.c: both sides prove who they are, before anything else is read from a connection.
 *
 *   initiator                                   acceptor
 *   HELLO      magic, who I am, whom I mean, nonce  ->
 *                                               <-  CHALLENGE  magic, who I am, nonce, seal
 *   PROOF      position, seal                       ->
 *                                               <-  WELCOME    position, seal
 *
 * A seal is a keyed hash over the role, the job, both processes with their incarnations, both
 * nonces and the position. Nothing that one side seals is what the other has to seal, in this
 * connection or in one of the other direction, so no seal can be sent back to the one who made it.
 * A position says how far the stream of the other direction has come.
 *
 * If the job encrypts, HELLO and CHALLENGE end (before the seal) with a fresh public key and a byte
 * for the cipher: what the initiator can (1: AES too), what the acceptor has chosen. Seals are over
 * these too. The keys of both ways come from the secret of the two public keys (X25519), the job's
 * key, and all that is sealed. Who encrypts and who does not have other magics.
 */
#include "end.h"

#include <errno.h>
#include <sodium.h>
#include <sys/socket.h>

#define MAGIC         0x31767568u /* "huv1": the protocol and its version */
#define MAGIC_ENCRYPT 0x32767568u /* "huv2" */

enum { NONCE = 32, SEAL = 32, PUBLIC = 32, MORE = PUBLIC + 1 };
enum { HELLO_BYTES = 20 + NONCE, CHALLENGE_BYTES = 12 + NONCE + SEAL, POSITION_BYTES = 8 + SEAL };
enum { TEXT = 16 + 40 + 16 + 2 * NONCE + 8, TEXT_MOST = TEXT + 2 * MORE };
enum role { ROLE_CHALLENGE = 1, ROLE_PROOF, ROLE_WELCOME, ROLE_INITIATOR_KEY, ROLE_ACCEPTOR_KEY };

_Static_assert(
    HELLO_BYTES + MORE <= SHAKE_MESSAGE_MAX && CHALLENGE_BYTES + MORE <= SHAKE_MESSAGE_MAX,
    "messages fit");
_Static_assert(crypto_scalarmult_curve25519_BYTES == PUBLIC, "keys are of one length");

static uint32_t magic_of(const struct end *e)
{
    return e->encrypts ? MAGIC_ENCRYPT : MAGIC;
}

static uint32_t more_of(const struct end *e)
{
    return e->encrypts ? MORE : 0;
}

static uint32_t wanted_bytes(const struct conn *c)
{
    switch (c->state) {
    case CONN_WANT_HELLO: return HELLO_BYTES + more_of(c->e);
    case CONN_WANT_CHALLENGE: return CHALLENGE_BYTES + more_of(c->e);
    default: return POSITION_BYTES;
    }
}

/* What is sealed. Returns its length. */
static size_t write_text(
    uint8_t text[TEXT_MOST], const struct conn *c, enum role role, uint64_t position)
{
    struct process a = c->initiator ? c->e->me : c->them, b = c->initiator ? c->them : c->e->me;
    memset(text, 0, 16);
    memcpy(text, c->e->encrypts ? "hark uv 2 seal" : "hark uv 1 seal", 14);
    text[15] = (uint8_t)role;
    memcpy(text + 16, c->e->job, 40);
    put_le(text + 56, a.rank, 4);
    put_le(text + 60, a.inc, 4);
    put_le(text + 64, b.rank, 4);
    put_le(text + 68, b.inc, 4);
    memcpy(text + 72, c->nonce, 2 * NONCE);
    put_le(text + 136, position, 8);
    if (!c->e->encrypts) return TEXT;
    memcpy(text + TEXT, c->public_key, 2 * PUBLIC);
    memcpy(text + TEXT + 2 * PUBLIC, c->ciphers, 2);
    return TEXT_MOST;
}

static void seal(uint8_t to[SEAL], const struct conn *c, enum role role, uint64_t position)
{
    uint8_t text[TEXT_MOST];
    const size_t length = write_text(text, c, role, position);
    crypto_generichash(to, SEAL, text, length, c->e->key, sizeof c->e->key);
}

static bool is_sealed(
    const uint8_t from[SEAL], const struct conn *c, enum role role, uint64_t position)
{
    uint8_t right[SEAL];
    seal(right, c, role, position);
    return sodium_memcmp(from, right, SEAL) == 0;
}

/* The first bytes of a connection always fit; one where they do not is not worth keeping. */
static bool say(struct conn *c, const uint8_t *message, uint32_t length)
{
    ssize_t n;
    do n = send(c->fd, message, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)length) return true;
    hark_uv_conn_lost(c);
    return false;
}

static bool say_position(struct conn *c, enum role role, uint64_t position)
{
    uint8_t message[POSITION_BYTES];
    put_le(message, position, 8);
    seal(message + 8, c, role, position);
    return say(c, message, sizeof message);
}

/* ---- encryption ------------------------------------------------------------------------------ */

/* A fresh key pair; `who` is 0 for the initiator, 1 for the acceptor. */
static void make_keys(struct conn *c, int who, uint8_t cipher, uint8_t to[MORE])
{
    if (!c->e->encrypts) return;
    randombytes_buf(c->secret, sizeof c->secret);
    (void)crypto_scalarmult_curve25519_base(c->public_key[who], c->secret);
    c->ciphers[who] = cipher;
    memcpy(to, c->public_key[who], PUBLIC);
    to[PUBLIC] = cipher;
}

static void take_keys(struct conn *c, int whose, const uint8_t from[MORE])
{
    if (!c->e->encrypts) return;
    memcpy(c->public_key[whose], from, PUBLIC);
    c->ciphers[whose] = from[PUBLIC];
}

static void derive(
    uint8_t to[RECORD_SECRET], const struct conn *c, enum role role, const uint8_t shared[PUBLIC])
{
    uint8_t text[TEXT_MOST + PUBLIC];
    (void)write_text(text, c, role, 0);
    memcpy(text + TEXT_MOST, shared, PUBLIC);
    crypto_generichash(to, RECORD_SECRET, text, sizeof text, c->e->key, sizeof c->e->key);
    sodium_memzero(text, sizeof text);
}

bool hark_uv_shake_guard(struct conn *c)
{
    uint8_t shared[PUBLIC], key[2][RECORD_SECRET];
    const int we = !c->initiator;
    if (crypto_scalarmult_curve25519(shared, c->secret, c->public_key[!we]) != 0) {
        hark_uv_conn_refuse(c); /* no honest end has such a public key */
        return false;
    }
    derive(key[0], c, ROLE_INITIATOR_KEY, shared);
    derive(key[1], c, ROLE_ACCEPTOR_KEY, shared);
    c->guard = hark_uv_guard_new(c->ciphers[1], key[we], key[!we]);
    sodium_memzero(key, sizeof key);
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(c->secret, sizeof c->secret);
    if (c->guard) return true;
    c->e->trouble = hark_uv_failed(c->e, "cannot keep a connection", "", ENOMEM);
    hark_uv_conn_lost(c);
    return false;
}

/* ---- initiator ------------------------------------------------------------------------------- */

void hark_uv_shake_begin(struct conn *c)
{
    uint8_t message[HELLO_BYTES + MORE];
    c->them = (struct process){c->pair->rank, c->pair->inc};
    randombytes_buf(c->nonce[0], NONCE);
    put_le(message, magic_of(c->e), 4);
    put_le(message + 4, c->e->me.rank, 4);
    put_le(message + 8, c->e->me.inc, 4);
    put_le(message + 12, c->them.rank, 4);
    put_le(message + 16, c->them.inc, 4);
    memcpy(message + 20, c->nonce[0], NONCE);
    make_keys(c, 0, hark_uv_records_aes(), message + HELLO_BYTES);
    if (!say(c, message, HELLO_BYTES + more_of(c->e))) return;
    c->state = CONN_WANT_CHALLENGE;
    hark_uv_conn_watch(c, false);
}

static void challenged(struct conn *c)
{
    const uint8_t *m = c->message;
    memcpy(c->nonce[1], m + 12, NONCE);
    take_keys(c, 1, m + 12 + NONCE);
    bool right = get_le(m + 4, 4) == c->them.rank && get_le(m + 8, 4) == c->them.inc &&
                 is_sealed(m + 12 + NONCE + more_of(c->e), c, ROLE_CHALLENGE, 0) &&
                 c->ciphers[1] <= c->ciphers[0];
    if (!right) {
        hark_uv_conn_refuse(c);
        return;
    }
    if (say_position(c, ROLE_PROOF, c->pair->in.position)) c->state = CONN_WANT_WELCOME;
}

static void welcomed(struct conn *c)
{
    uint64_t position = get_le(c->message, 8);
    if (is_sealed(c->message + 8, c, ROLE_WELCOME, position))
        hark_uv_pair_join(c->pair, c, position);
    else hark_uv_conn_refuse(c);
}

/* ---- acceptor -------------------------------------------------------------------------------- */

static void greeted(struct conn *c)
{
    struct end *e = c->e;
    const uint8_t *m = c->message;
    uint8_t answer[CHALLENGE_BYTES + MORE], *end = answer + 12 + NONCE;
    c->them = (struct process){(uint32_t)get_le(m + 4, 4), (uint32_t)get_le(m + 8, 4)};
    uint32_t number = number_of(e, c->them.rank);
    if (number > e->ranks || number == e->number || c->them.inc == UINT32_MAX) {
        hark_uv_conn_refuse(c);
        return;
    }
    struct pair *p = e->pairs[number]; /* none is made for somebody who has proved nothing */
    bool old = p && c->them.inc < p->inc;
    if (old || get_le(m + 12, 4) != e->me.rank || get_le(m + 16, 4) != e->me.inc) {
        hark_uv_conn_drop(c); /* the dead, and those who look for the dead */
        return;
    }
    c->gen = p ? p->gen : 0;
    memcpy(c->nonce[0], m + 20, NONCE);
    randombytes_buf(c->nonce[1], NONCE);
    put_le(answer, magic_of(e), 4);
    put_le(answer + 4, e->me.rank, 4);
    put_le(answer + 8, e->me.inc, 4);
    memcpy(answer + 12, c->nonce[1], NONCE);
    take_keys(c, 0, m + HELLO_BYTES);
    make_keys(c, 1, c->ciphers[0] && hark_uv_records_aes(), end);
    end += more_of(e);
    seal(end, c, ROLE_CHALLENGE, 0);
    if (!say(c, answer, CHALLENGE_BYTES + more_of(e))) return;
    c->state = CONN_WANT_PROOF;
    hark_uv_conn_hurry(c);
}

/* Two connections of one pair may be on their way, one begun by each. Which of them becomes the one
 * is decided here only, by the acceptor of each, and both decide alike:
 * - The initiator had no connection when it sent its proof, or it would not have. If the two have
 * met since the challenge, it may have one by now.
 * - If a proof of ours is under way too, that of the lower number wins; the other is not accepted.
 */
static bool wins(const struct conn *c, const struct pair *p)
{
    if (p->gen != c->gen) return false;
    return !p->attempt || p->attempt->state != CONN_WANT_WELCOME || p->number < p->e->number;
}

static void proved(struct conn *c)
{
    struct end *e = c->e;
    struct pair *p;
    uint64_t position = get_le(c->message, 8);
    if (!is_sealed(c->message + 8, c, ROLE_PROOF, position)) {
        hark_uv_conn_refuse(c);
        return;
    }
    p = hark_uv_pair_get(e, number_of(e, c->them.rank));
    if (!p || c->them.inc < p->inc || (c->them.inc == p->inc && !wins(c, p))) {
        hark_uv_conn_drop(c);
        return;
    }
    (void)hark_uv_pair_at(e, p->number, c->them.inc, &p);
    if (p->attempt) hark_uv_conn_drop(p->attempt);
    if (p->conn) hark_uv_conn_drop(p->conn);
    if (say_position(c, ROLE_WELCOME, p->in.position)) hark_uv_pair_join(p, c, position);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Who speaks another protocol is known by the first bytes, and might never send as many as ours
 * has.
 */
static bool begins_wrong(const struct conn *c)
{
    const bool first = c->state == CONN_WANT_HELLO || c->state == CONN_WANT_CHALLENGE;
    return first && c->got >= 4 && get_le(c->message, 4) != magic_of(c->e);
}

void hark_uv_shake_read(struct conn *c)
{
    uint32_t want = wanted_bytes(c);
    ssize_t n;
    do n = recv(c->fd, c->message + c->got, want - c->got, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
        hark_uv_conn_lost(c);
        return;
    }
    bool first = c->got == 0;
    c->got += (uint32_t)n;
    if (begins_wrong(c)) {
        hark_uv_conn_refuse(c);
        return;
    }
    if (c->got < want) { /* a peer writes each in one go */
        if (first && c->initiator) hark_uv_conn_hurry(c);
        return;
    }
    if (c->initiator) uv_timer_stop(&c->deadline);
    c->got = 0;
    switch (c->state) {
    case CONN_WANT_HELLO: greeted(c); break;
    case CONN_WANT_CHALLENGE: challenged(c); break;
    case CONN_WANT_PROOF: proved(c); break;
    case CONN_WANT_WELCOME: welcomed(c); break;
    default: break;
    }
}
