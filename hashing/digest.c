/* digest.c - hashes as values: digests of bytes, comparison, text (identity.h). */
#include "hashing/identity.h"

#include <sodium.h>
#include <string.h>

bool hashing_init(void)
{
    identity_together_init();
    return sodium_init() >= 0;
}

moot_hash digest_bytes(const void *data, size_t size)
{
    moot_hash digest;
    crypto_generichash_blake2b(digest.bytes, sizeof(digest.bytes), data, size, NULL, 0);
    return digest;
}

bool hash_is_zero(const moot_hash *hash)
{
    static const moot_hash zero;
    return hash_equal(hash, &zero);
}

int hash_compare(const moot_hash *a, const moot_hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

char *hash_format(const moot_hash *hash, char text[MOOT_HASH_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        text[2 * i] = digits[hash->bytes[i] >> 4];
        text[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    text[2 * MOOT_HASH_BYTES] = '\0';
    return text;
}

/* -1 if it is none. */
static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

bool hash_parse(const char *text, moot_hash *out)
{
    moot_hash hash;
    if (strnlen(text, MOOT_HASH_TEXT_BYTES) != MOOT_HASH_TEXT_BYTES - 1) {
        return false;
    }
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = hash;
    return true;
}
