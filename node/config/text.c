/* text.c - see text.h. */
#include "node/config/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM_MIN = 256 };

static bool text_grow(struct text *text, size_t needed)
{
    size_t room = text->room ? text->room : TEXT_ROOM_MIN;
    while (room < needed) {
        room *= 2;
    }
    if (room == text->room) {
        return true;
    }
    char *bytes = realloc(text->bytes, room);
    if (bytes == NULL) {
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

static void add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (text_grow(text, text->length + length + 1)) {
        memcpy(text->bytes + text->length, bytes, length);
        text->length += length;
        text->bytes[text->length] = '\0';
    }
}

void text_add_args(struct text *text, const char *format, va_list args)
{
    const size_t plain = strcspn(format, "%");
    if (format[plain] == '\0') { /* as what a poll that comes too early is told */
        add_bytes(text, format, plain);
        return;
    }
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && text_grow(text, text->length + (size_t)length + 1)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_add_args(text, format, args);
    va_end(args);
}

/* How many bytes a control character takes, of ASCII, or, as UTF-8 writes it, of ISO
 * 6429's C1 set; 0: there is none. */
static size_t command_bytes(const unsigned char *at, size_t size)
{
    if (at[0] == 0xc2 && size > 1 && at[1] >= 0x80 && at[1] < 0xa0) {
        return 2;
    }
    return at[0] < 0x20 || at[0] == 0x7f;
}

void text_add_told(struct text *text, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t from = 0, i = 0;
    while (i < size) {
        size_t skipped = command_bytes(at + i, size - i);
        if (skipped > 0) {
            text_add(text, "%.*s?", (int)(i - from), (const char *)at + from);
            from = i + skipped;
        }
        i += skipped > 0 ? skipped : 1;
    }
    if (from < size) {
        text_add(text, "%.*s", (int)(size - from), (const char *)at + from);
    }
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->bytes != NULL) {
        text->bytes[0] = '\0';
    }
}

void text_release(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

const char *text_get(const struct text *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

void text_add_duration(struct text *text, unsigned long long ns)
{
    if (ns >= 1000000000ull) {
        text_add(text, "%llu.%03llu s", ns / 1000000000ull, ns / 1000000ull % 1000ull);
    } else if (ns >= 1000000ull) {
        text_add(text, "%llu ms", ns / 1000000ull);
    } else {
        text_add(text, "%llu us", ns / 1000ull);
    }
}
