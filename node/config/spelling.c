/* spelling.c - see spelling.h.
 *
 * Words are compared by how many letters have to be put in, left out, replaced, or
 * swapped with the next one, to make one of the other: the "optimal string alignment"
 * distance.
 */
#include "node/config/spelling.h"

#include <string.h>

enum { WORD_BYTES = 48 };

static unsigned least_of(unsigned a, unsigned b) { return a < b ? a : b; }

/* Neither has more than WORD_BYTES letters. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_BYTES + 1];
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least_of(row[j], least_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least_of(row[j], above2[j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

/* So many are no slip any more, but another word. */
static unsigned far_off(size_t length) { return length < 4 ? 2 : length < 10 ? 3 : 4; }

const char *spelling_closest(const char *word, const char *const *names, size_t count)
{
    const char *closest = NULL;
    size_t length = strlen(word);
    unsigned least = far_off(length);
    for (size_t i = 0; i < count && length <= WORD_BYTES; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > WORD_BYTES) {
            continue;
        }
        unsigned edits = distance(word, length, names[i], name_length);
        if (edits < least && edits < name_length) {
            least = edits;
            closest = names[i];
        }
    }
    return closest;
}
