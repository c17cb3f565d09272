/* record.c: bytes of a connection as encrypted records. See record.h. */
#include "record.h"

#include <string.h>

#include "head.h"

enum { NONCE = crypto_aead_aes256gcm_NPUBBYTES };

_Static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == NONCE, "nonces are of one length");
_Static_assert(crypto_shorthash_KEYBYTES == 16, "the key of the checks");

bool hark_uv_records_aes(void)
{
    return crypto_aead_aes256gcm_is_available();
}

void hark_uv_records_begin(struct records *r, bool aes, const uint8_t secret[RECORD_SECRET])
{
    memset(r, 0, sizeof *r);
    r->is_aes = aes;
    memcpy(r->key, secret, sizeof r->key);
    memcpy(r->check, secret + sizeof r->key, sizeof r->check);
    if (aes) (void)crypto_aead_aes256gcm_beforenm(&r->aes, r->key);
}

static void next_key(struct records *r)
{
    static const uint8_t label[] = "hark uv next key";
    uint8_t key[sizeof r->key];
    crypto_generichash(key, sizeof key, label, sizeof label, r->key, sizeof r->key);
    memcpy(r->key, key, sizeof key);
    sodium_memzero(key, sizeof key);
    if (r->is_aes) (void)crypto_aead_aes256gcm_beforenm(&r->aes, r->key);
}

static void went(struct records *r)
{
    if (++r->number % RECORDS_OF_A_KEY == 0) next_key(r);
}

static uint32_t check_of(const struct records *r, size_t length)
{
    uint8_t text[16], hash[crypto_shorthash_BYTES];
    put_le(text, r->number, 8);
    put_le(text + 8, length, 8);
    crypto_shorthash(hash, text, sizeof text, r->check);
    return (uint32_t)get_le(hash, 4);
}

void hark_uv_record_seal(struct records *r, const uint8_t *from, size_t length, uint8_t *to)
{
    uint8_t nonce[NONCE] = {0}, *at = to + RECORD_HEAD;
    put_le(to, length, 4);
    put_le(to + 4, check_of(r, length), 4);
    put_le(nonce, r->number, 8);
    if (r->is_aes)
        crypto_aead_aes256gcm_encrypt_afternm(
            at, NULL, from, length, NULL, 0, NULL, nonce, &r->aes);
    else
        crypto_aead_chacha20poly1305_ietf_encrypt(
            at, NULL, from, length, NULL, 0, NULL, nonce, r->key);
    went(r);
}

size_t hark_uv_record_length(const struct records *r, const uint8_t head[RECORD_HEAD])
{
    const uint64_t length = get_le(head, 4);
    if (length > RECORD_MOST || get_le(head + 4, 4) != check_of(r, (size_t)length)) return 0;
    return (size_t)length;
}

bool hark_uv_record_open(struct records *r, const uint8_t *record, size_t length, uint8_t *to)
{
    uint8_t nonce[NONCE] = {0};
    const uint8_t *at = record + RECORD_HEAD;
    put_le(nonce, r->number, 8);
    int status = r->is_aes ? crypto_aead_aes256gcm_decrypt_afternm(
                                 to, NULL, NULL, at, length + RECORD_TAG, NULL, 0, nonce, &r->aes)
                           : crypto_aead_chacha20poly1305_ietf_decrypt(
                                 to, NULL, NULL, at, length + RECORD_TAG, NULL, 0, nonce, r->key);
    if (status == 0) went(r);
    return status == 0;
}
