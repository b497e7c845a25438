/* seal.c - see seal.h. */
#include "node/transport/carrier/seal.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(SEAL_KEY_BYTES == crypto_aead_chacha20poly1305_IETF_KEYBYTES, "RFC 8439");
static_assert(SEAL_TAG_BYTES == crypto_aead_chacha20poly1305_IETF_ABYTES, "RFC 8439");

static void put_word(unsigned char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (unsigned char)(word >> 8 * i);
    }
}

static uint64_t get_word(const unsigned char *at)
{
    uint64_t word = 0;
    for (int i = 8; i-- > 0;) {
        word = word << 8 | at[i];
    }
    return word;
}

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
    derive(seal->ours, job_key, own_uid, peer_uid);
    derive(seal->theirs, job_key, peer_uid, own_uid);
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

bool seal_open(struct seal *seal, const unsigned char *bytes, size_t size, bool rising,
               unsigned char *out)
{
    unsigned char nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
    if (size < SEAL_BYTES) {
        return false;
    }
    const uint64_t number = get_word(bytes);
    if (rising && number <= seal->opened) {
        return false;
    }
    make_nonce(nonce, bytes);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            out, NULL, NULL, bytes + SEAL_NUMBER_BYTES, size - SEAL_NUMBER_BYTES, NULL,
            0, nonce, seal->theirs) != 0) {
        return false;
    }
    seal->opened = number > seal->opened ? number : seal->opened;
    return true;
}
