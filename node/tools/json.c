/* json.c - see json.h. */
#include "node/tools/json.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_bytes(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    static const struct {
        unsigned char first, last, low, high; /* the first byte; the second */
        size_t bytes;
    } rows[] = {
        {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (at[0] < rows[i].first || at[0] > rows[i].last) {
            continue;
        }
        bool good =
            rows[i].bytes == 1 || (at[1] >= rows[i].low && at[1] <= rows[i].high);
        for (size_t k = 2; good && k < rows[i].bytes; k++) {
            good = at[k] >= 0x80 && at[k] <= 0xbf; /* a NUL ends it, too */
        }
        return good ? rows[i].bytes : 0;
    }
    return 0;
}

void json_text(FILE *file, const char *text)
{
    putc('"', file);
    for (const char *at = text; *at;) {
        const size_t bytes = utf8_bytes(at);
        const unsigned char first = (unsigned char)*at;
        if (bytes == 0) {
            fputs("\\ufffd", file);
        } else if (first < 0x20 || first == 0x7f || strchr("<\"\\", first)) {
            fprintf(file, "\\u%04x", first);
        } else {
            fwrite(at, 1, bytes, file);
        }
        at += bytes > 0 ? bytes : 1;
    }
    putc('"', file);
}

void json_pair(FILE *file, const char *name, const char *text)
{
    json_text(file, name);
    putc(':', file);
    json_text(file, text);
}
