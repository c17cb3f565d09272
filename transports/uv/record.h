/* record.h: bytes of a connection as encrypted records, one way. No I/O.
 *
 *   0 length u32   4 check u32   8 length bytes, encrypted   tag 16
 *
 * The key is of one way of one connection, and a record's nonce is its number on it: none can be
 * changed, left out, repeated or moved. `check` is a keyed hash of the number and the length: else
 * who changes a length would have us wait for bytes that nobody sends. After RECORDS_OF_A_KEY
 * records both ends go on with a key that is derived from the last one, long before AES-GCM wears
 * out.
 */
#ifndef HARK_UV_RECORD_H
#define HARK_UV_RECORD_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_HEAD = 8, RECORD_TAG = 16, RECORD_AROUND = RECORD_HEAD + RECORD_TAG };
enum { RECORD_MOST = 16 * 1024 }; /* bytes in one */
enum { RECORD_SECRET = 48 };      /* a key, and that of the checks */
#define RECORDS_OF_A_KEY (1ull << 20)

_Static_assert(crypto_aead_aes256gcm_ABYTES == RECORD_TAG &&
                   crypto_aead_chacha20poly1305_ietf_ABYTES == RECORD_TAG,
    "tags are of one length");

struct records { /* one way */
    crypto_aead_aes256gcm_state aes;
    bool is_aes; /* else ChaCha20-Poly1305 */
    uint8_t key[32], check[16];
    uint64_t number; /* of the next */
};

/* This processor has instructions for AES, without which it is slow, and libsodium has none. */
bool hark_uv_records_aes(void);
void hark_uv_records_begin(struct records *r, bool aes, const uint8_t secret[RECORD_SECRET]);
/* `length` is 1 .. RECORD_MOST; `to` has RECORD_AROUND bytes more, and `from` may be its
 * `to + RECORD_HEAD`. */
void hark_uv_record_seal(struct records *r, const uint8_t *from, size_t length, uint8_t *to);
/* How many bytes are in the record that comes next; 0: it is not what the other end has sent. */
size_t hark_uv_record_length(const struct records *r, const uint8_t head[RECORD_HEAD]);
/* Takes them out of the whole record. False: the same; nothing follows. */
bool hark_uv_record_open(struct records *r, const uint8_t *record, size_t length, uint8_t *to);

#endif
