/* stream_greeting.c - how two ends of a job make sure of each other (stream.h).
 *
 *     greeting:   | mark | version, 0 | from | to | nonce |
 *     challenge:  | mark | version, 0 | nonce | proof |
 *     proof
 */
#include "hashing/base/byte_order.h"
#include "node/wires/stream/stream.h"
#include <assert.h>
#include <sodium.h>
#include <string.h>

static const unsigned char mark[8] = {'m', 'o', 'o', 't', 'l', 'i', 'n', 'e'};

enum { HEAD = 16, UIDS = 16 };
static_assert(STREAM_PROOF_BYTES >= crypto_generichash_BYTES_MIN &&
                  STREAM_PROOF_BYTES <= crypto_generichash_BYTES_MAX,
              "a digest");
static_assert(MOOT_TRANSPORT_SECRET_BYTES >= crypto_generichash_KEYBYTES_MIN &&
                  MOOT_TRANSPORT_SECRET_BYTES <= crypto_generichash_KEYBYTES_MAX,
              "a key");

static void put_head(unsigned char *at)
{
    memcpy(at, mark, sizeof(mark));
    put_word(at + sizeof(mark), STREAM_VERSION);
}

static bool has_head(const unsigned char *at)
{
    return memcmp(at, mark, sizeof(mark)) == 0 &&
           get_word(at + sizeof(mark)) == STREAM_VERSION;
}

/* The proof of one of both: they have the secret, and mean this line. */
static void make_proof(const struct stream_wire *wire, const struct stream_line *line,
                       bool maker, unsigned char out[STREAM_PROOF_BYTES])
{
    static const char roles[2][16] = {"moot accepts 1", "moot connects 1"};
    unsigned char text[sizeof(roles[0]) + UIDS + 2 * STREAM_NONCE_BYTES], *at = text;
    memcpy(at, roles[maker], sizeof(roles[0]));
    at += sizeof(roles[0]);
    put_word(at, line->from);
    put_word(at + 8, line->to);
    at += UIDS;
    memcpy(at, line->nonce, STREAM_NONCE_BYTES);
    memcpy(at + STREAM_NONCE_BYTES, line->answer, STREAM_NONCE_BYTES);
    (void)crypto_generichash(out, STREAM_PROOF_BYTES, text, sizeof(text), wire->secret,
                             sizeof(wire->secret));
}

static bool is_proof(const struct stream_wire *wire, const struct stream_line *line,
                     bool maker, const unsigned char *bytes)
{
    unsigned char right[STREAM_PROOF_BYTES];
    make_proof(wire, line, maker, right);
    return sodium_memcmp(bytes, right, sizeof(right)) == 0;
}

void stream_greeting_write(const struct stream_wire *wire, struct stream_line *line,
                           unsigned char out[STREAM_GREETING_BYTES])
{
    line->from = wire->uid;
    randombytes_buf(line->nonce, sizeof(line->nonce));
    put_head(out);
    put_word(out + HEAD, line->from);
    put_word(out + HEAD + 8, line->to);
    memcpy(out + HEAD + UIDS, line->nonce, STREAM_NONCE_BYTES);
}

size_t stream_greeting_due(const struct stream_line *line)
{
    switch (line->state) {
    case STREAM_GREETS:
        return STREAM_CHALLENGE_BYTES;
    case STREAM_STRANGER:
        return STREAM_GREETING_BYTES;
    case STREAM_CHALLENGED:
        return STREAM_PROOF_BYTES;
    case STREAM_OPEN:
        break;
    }
    return 0;
}

static bool take_greeting(const struct stream_wire *wire, struct stream_line *line,
                          unsigned char *out)
{
    line->from = get_word(line->words + HEAD);
    line->to = get_word(line->words + HEAD + 8);
    if (!has_head(line->words) || line->to != wire->uid || line->from == wire->uid) {
        return false;
    }
    memcpy(line->nonce, line->words + HEAD + UIDS, STREAM_NONCE_BYTES);
    randombytes_buf(line->answer, sizeof(line->answer));
    put_head(out);
    memcpy(out + HEAD, line->answer, STREAM_NONCE_BYTES);
    make_proof(wire, line, false, out + HEAD + STREAM_NONCE_BYTES);
    line->state = STREAM_CHALLENGED;
    return true;
}

static bool take_challenge(const struct stream_wire *wire, struct stream_line *line,
                           unsigned char *out)
{
    memcpy(line->answer, line->words + HEAD, STREAM_NONCE_BYTES);
    if (!has_head(line->words) ||
        !is_proof(wire, line, false, line->words + HEAD + STREAM_NONCE_BYTES)) {
        return false;
    }
    make_proof(wire, line, true, out);
    line->state = STREAM_OPEN;
    return true;
}

bool stream_greeting_answer(const struct stream_wire *wire, struct stream_line *line,
                            unsigned char out[STREAM_CHALLENGE_BYTES], size_t *size)
{
    assert(line->state != STREAM_OPEN && line->words_size == stream_greeting_due(line));
    line->words_size = 0;
    if (line->state == STREAM_STRANGER) {
        *size = STREAM_CHALLENGE_BYTES;
        return take_greeting(wire, line, out);
    }
    if (line->state == STREAM_GREETS) {
        *size = STREAM_PROOF_BYTES;
        return take_challenge(wire, line, out);
    }
    *size = 0;
    if (!is_proof(wire, line, true, line->words)) {
        return false;
    }
    line->state = STREAM_OPEN;
    return true;
}
