/* channel.h: one end of an encrypted connection, without the connection: bytes that came go in,
 * messages and bytes to be sent come out. No I/O and no clock.
 *
 *   caller                                              listener
 *   HELLO    magic, version, nonce, public key      ->
 *                                                   <-  ANSWER   the same of its own, seal
 *   PROOF    head of its stream, seal               ->
 *                                                   <-  WELCOME  head of its stream, seal
 *
 * A seal is a hash under the job's key over who makes it, which message it closes, and everything
 * that both have said before, so none can be taken from another connection or sent back to who made
 * it. The keys of the two streams come from the job's key, the secret of both fresh key pairs
 * (X25519) and the same hash. Until its seal is right the other end has cost a few hundred bytes,
 * which are in `struct hark_channel`, and one key pair.
 *
 * A record of a stream is its length in 4 bytes, which are authenticated with it, and what
 * libsodium's secretstream makes of at most 64 KiB. A message is several that are full, and a last
 * one of at least a byte, which is tagged. An empty one that is tagged FINAL ends the stream: what
 * ends without it was cut. Memory for a message grows as records arrive that are authentic.
 */
#ifndef HARK_AGENT_CHANNEL_H
#define HARK_AGENT_CHANNEL_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_CHANNEL_VERSION 1u
#define HARK_CHANNEL_KEY     32u
#define HARK_CHANNEL_MESSAGE (16u << 20) /* no message is longer, bytes */
#define HARK_CHANNEL_RECORD  (64u << 10)
#define HARK_CHANNEL_AROUND  (4u + crypto_secretstream_xchacha20poly1305_ABYTES) /* of a record */

enum hark_channel_size {    /* of what is said before the streams, bytes */
    HARK_CHANNEL_START = 5, /* magic and version, which stay where they are in every version */
    HARK_CHANNEL_NONCE = 32,
    HARK_CHANNEL_SEAL = 32,
    HARK_CHANNEL_HELLO =
        HARK_CHANNEL_START + HARK_CHANNEL_NONCE + crypto_scalarmult_curve25519_BYTES,
    HARK_CHANNEL_ANSWER = HARK_CHANNEL_HELLO + HARK_CHANNEL_SEAL,
    HARK_CHANNEL_PROOF = crypto_secretstream_xchacha20poly1305_HEADERBYTES + HARK_CHANNEL_SEAL,
    HARK_CHANNEL_WELCOME = HARK_CHANNEL_PROOF
};

enum hark_channel_state {
    HARK_CHANNEL_WANT_HELLO,   /* listener */
    HARK_CHANNEL_WANT_ANSWER,  /* caller */
    HARK_CHANNEL_WANT_PROOF,   /* listener */
    HARK_CHANNEL_WANT_WELCOME, /* caller */
    HARK_CHANNEL_STREAM,
    HARK_CHANNEL_OVER
};

struct hark_channel {
    enum hark_channel_state state;
    bool caller, opened; /* opened: and that is still to be told */
    uint16_t got;        /* bytes of said[] that have come */
    uint16_t reply;      /* bytes of said[] that are to be sent */
    uint8_t key[HARK_CHANNEL_KEY];
    uint8_t secret[32];     /* of our fresh key pair */
    uint8_t theirs[32];     /* their public key; then the key of their stream */
    uint8_t transcript[32]; /* hash of all that was said */
    uint8_t said[HARK_CHANNEL_ANSWER];
    char why[80]; /* it failed, in one line without a full stop */
    crypto_secretstream_xchacha20poly1305_state out, in;
    uint8_t *buffer; /* of the stream: begin .. end is unread; NULL: nothing came yet */
    size_t begin, end;
    uint8_t *message; /* as far as it has come */
    size_t length, room;
    bool whole; /* it was given, and is done with at the next call */
};

enum hark_channel_event {
    HARK_CHANNEL_MORE,   /* nothing, until more bytes have come */
    HARK_CHANNEL_REPLY,  /* these bytes are to be sent */
    HARK_CHANNEL_OPENED, /* both know the key: messages may be said from now on */
    HARK_CHANNEL_SAID,   /* these bytes are a message */
    HARK_CHANNEL_ENDED,  /* the other has ended the stream, and all it said has come */
    HARK_CHANNEL_FAILED  /* `why` says why; nothing follows */
};

/* The first event of a caller is a REPLY. */
void hark_channel_open(struct hark_channel *c, bool caller, const uint8_t key[HARK_CHANNEL_KEY]);
/* Wipes it. */
void hark_channel_close(struct hark_channel *c);

/* Where the next bytes are to be put, and how many at most: in a handshake what is missing of one
 * message. NULL: there is no memory. Only when hark_channel_next() has answered MORE. */
uint8_t *hark_channel_room(struct hark_channel *c, size_t *length);
/* So many were put there. */
void hark_channel_came(struct hark_channel *c, size_t length);
/* What follows from them, one thing at a time. The bytes are valid until the next call. */
enum hark_channel_event hark_channel_next(
    struct hark_channel *c, const uint8_t **at, size_t *length);

/* How many bytes are to be sent for a message of `length`, 1 .. HARK_CHANNEL_MESSAGE, or, if 0, for
 * the end. */
size_t hark_channel_size(size_t length);
/* Writes them; the next to be sent. */
void hark_channel_say(struct hark_channel *c, const void *at, size_t length, uint8_t *to);

/* ---- between handshake.c and channel.c ------------------------------------------------------- */

/* What has come in said[] is looked at. True: state or reply are others. */
bool hark_channel_shake(struct hark_channel *c);
/* The caller's first message. */
void hark_channel_hello(struct hark_channel *c);
size_t hark_channel_wanted(const struct hark_channel *c); /* bytes, of the message that is to come
                                                           */
void hark_channel_fail(struct hark_channel *c, const char *why);

#endif
