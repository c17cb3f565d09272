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
 */
#include "end.h"

#include <errno.h>
#include <sodium.h>
#include <sys/socket.h>

#define MAGIC 0x31767568u /* "huv1": the protocol and its version */

enum { NONCE = 32, SEAL = 32 };
enum { HELLO_BYTES = 20 + NONCE, CHALLENGE_BYTES = 12 + NONCE + SEAL, POSITION_BYTES = 8 + SEAL };
enum role { ROLE_CHALLENGE = 1, ROLE_PROOF, ROLE_WELCOME };

_Static_assert(
    HELLO_BYTES <= SHAKE_MESSAGE_MAX && CHALLENGE_BYTES <= SHAKE_MESSAGE_MAX, "messages fit");

static uint32_t wanted_bytes(enum conn_state state)
{
    switch (state) {
    case CONN_WANT_HELLO: return HELLO_BYTES;
    case CONN_WANT_CHALLENGE: return CHALLENGE_BYTES;
    default: return POSITION_BYTES;
    }
}

static void seal(uint8_t to[SEAL], const struct conn *c, enum role role, uint64_t position)
{
    uint8_t text[16 + 40 + 16 + 2 * NONCE + 8] = "hark uv 1 seal";
    struct process a = c->initiator ? c->e->me : c->them, b = c->initiator ? c->them : c->e->me;
    text[15] = (uint8_t)role;
    memcpy(text + 16, c->e->job, 40);
    put_le(text + 56, a.rank, 4);
    put_le(text + 60, a.inc, 4);
    put_le(text + 64, b.rank, 4);
    put_le(text + 68, b.inc, 4);
    memcpy(text + 72, c->nonce, 2 * NONCE);
    put_le(text + 136, position, 8);
    crypto_generichash(to, SEAL, text, sizeof text, c->e->key, sizeof c->e->key);
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

/* ---- initiator ------------------------------------------------------------------------------- */

void hark_uv_shake_begin(struct conn *c)
{
    uint8_t message[HELLO_BYTES];
    c->them = (struct process){c->pair->rank, c->pair->inc};
    randombytes_buf(c->nonce[0], NONCE);
    put_le(message, MAGIC, 4);
    put_le(message + 4, c->e->me.rank, 4);
    put_le(message + 8, c->e->me.inc, 4);
    put_le(message + 12, c->them.rank, 4);
    put_le(message + 16, c->them.inc, 4);
    memcpy(message + 20, c->nonce[0], NONCE);
    if (!say(c, message, sizeof message)) return;
    c->state = CONN_WANT_CHALLENGE;
    hark_uv_conn_watch(c, false);
}

static void challenged(struct conn *c)
{
    const uint8_t *m = c->message;
    memcpy(c->nonce[1], m + 12, NONCE);
    bool right = get_le(m, 4) == MAGIC && get_le(m + 4, 4) == c->them.rank &&
                 get_le(m + 8, 4) == c->them.inc && is_sealed(m + 12 + NONCE, c, ROLE_CHALLENGE, 0);
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
    uint8_t answer[CHALLENGE_BYTES];
    c->them = (struct process){(uint32_t)get_le(m + 4, 4), (uint32_t)get_le(m + 8, 4)};
    uint32_t number = number_of(e, c->them.rank);
    if (get_le(m, 4) != MAGIC || number > e->ranks || number == e->number ||
        c->them.inc == UINT32_MAX) {
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
    put_le(answer, MAGIC, 4);
    put_le(answer + 4, e->me.rank, 4);
    put_le(answer + 8, e->me.inc, 4);
    memcpy(answer + 12, c->nonce[1], NONCE);
    seal(answer + 12 + NONCE, c, ROLE_CHALLENGE, 0);
    if (!say(c, answer, sizeof answer)) return;
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

void hark_uv_shake_read(struct conn *c)
{
    uint32_t want = wanted_bytes(c->state);
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
