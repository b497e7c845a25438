/* seal.c - see seal.h. */
#include "node/transport/carrier/seal.h"
#include "hashing/base/byte_order.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(SEAL_KEY_BYTES == crypto_aead_chacha20poly1305_IETF_KEYBYTES, "RFC 8439");
static_assert(SEAL_TAG_BYTES == crypto_aead_chacha20poly1305_IETF_ABYTES, "RFC 8439");

static void derive(unsigned char out[SEAL_KEY_BYTES],
                   const unsigned char job_key[SEAL_KEY_BYTES], uint64_t from,
                   uint64_t to)
{
    static const char purpose[] = "moot datagram 1";
    unsigned char text[sizeof(purpose) + 16];
    memcpy(text, purpose, sizeof(purpose));
    put_word(text + sizeof(purpose), from);
    put_word(text + sizeof(purpose) + 8, to);
    crypto_generichash(out, SEAL_KEY_BYTES, text, sizeof(text), job_key,
                       SEAL_KEY_BYTES);
}

void seal_begin(struct seal *seal, const unsigned char job_key[SEAL_KEY_BYTES],
                uint64_t own_uid, uint64_t peer_uid)
{
    seal->sent = seal->opened = 0;
    memset(seal->seen, 0, sizeof(seal->seen));
    derive(seal->ours, job_key, own_uid, peer_uid);
    derive(seal->theirs, job_key, peer_uid, own_uid);
}

void seal_share(const unsigned char job_key[SEAL_KEY_BYTES],
                unsigned char secret[SEAL_KEY_BYTES], uint64_t *job)
{
    static const char wires[] = "moot wires 1", jobs[] = "moot job 1";
    unsigned char number[crypto_generichash_BYTES_MIN];
    crypto_generichash(secret, SEAL_KEY_BYTES, (const unsigned char *)wires,
                       sizeof(wires), job_key, SEAL_KEY_BYTES);
    crypto_generichash(number, sizeof(number), (const unsigned char *)jobs,
                       sizeof(jobs), job_key, SEAL_KEY_BYTES);
    *job = get_word(number);
}

/* The number behind four zeros. */
static void make_nonce(unsigned char nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES],
                       const unsigned char *number)
{
    memset(nonce, 0, crypto_aead_chacha20poly1305_IETF_NPUBBYTES);
    memcpy(nonce + crypto_aead_chacha20poly1305_IETF_NPUBBYTES - SEAL_NUMBER_BYTES,
           number, SEAL_NUMBER_BYTES);
}

void seal_close(struct seal *seal, const void *bytes, size_t size, unsigned char *out)
{
    unsigned char nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
    put_word(out, ++seal->sent);
    make_nonce(nonce, out);
    crypto_aead_chacha20poly1305_ietf_encrypt(out + SEAL_NUMBER_BYTES, NULL, bytes,
                                              size, NULL, 0, NULL, nonce, seal->ours);
}

static uint64_t *seen_word(struct seal *seal, uint64_t number)
{
    return &seal->seen[number / 64 % SEAL_WORDS];
}

static bool was_opened(struct seal *seal, uint64_t number)
{
    return number <= seal->opened &&
           (seal->opened - number >= SEAL_WINDOW ||
            (*seen_word(seal, number) >> number % 64 & 1) != 0);
}

static void set_opened(struct seal *seal, uint64_t number)
{
    if (number > seal->opened) {
        const uint64_t words = number / 64 - seal->opened / 64;
        for (uint64_t i = 0; i < words && i < SEAL_WORDS; i++) {
            *seen_word(seal, number - 64 * i) = 0;
        }
        seal->opened = number;
    }
    *seen_word(seal, number) |= UINT64_C(1) << number % 64;
}

enum seal_found seal_open(struct seal *seal, const unsigned char *bytes, size_t size,
                          bool rising, unsigned char *out)
{
    unsigned char nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
    if (size < SEAL_BYTES) {
        return SEAL_FORGED;
    }
    const uint64_t number = get_word(bytes);
    if (rising ? number <= seal->opened : was_opened(seal, number)) {
        return SEAL_REPEATED;
    }
    make_nonce(nonce, bytes);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            out, NULL, NULL, bytes + SEAL_NUMBER_BYTES, size - SEAL_NUMBER_BYTES, NULL,
            0, nonce, seal->theirs) != 0) {
        return SEAL_FORGED;
    }
    set_opened(seal, number);
    return SEAL_OPENED;
}
