/* text.c - see text.h. */
#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

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

void text_add_args(struct text *text, const char *format, va_list args)
{
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
