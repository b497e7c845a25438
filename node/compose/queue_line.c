/* queue_line.c - see queue_line.h. */
#include "node/compose/queue_line.h"

#include "proto/limits.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct queue_line *queue_line_at(const struct queue_lines *lines, uint16_t line)
{
    assert(line > 0 && line <= lines->count);
    return &lines->items[line - 1];
}

void queue_lines_release(struct queue_lines *lines)
{
    free(lines->items);
    *lines = (struct queue_lines){0};
}

static bool is_kind(const struct queue_lines *lines, uint16_t line,
                    enum queue_kind kind)
{
    return line != 0 && queue_line_at(lines, line)->kind == kind;
}

static uint16_t up_of(const struct queue_lines *lines, uint16_t line)
{
    return queue_line_at(lines, line)->up;
}

static bool same_custom(const moot_queue_custom *a, const moot_queue_custom *b)
{
    return a->open == b->open && a->submit == b->submit && a->flush == b->flush &&
           a->close == b->close && a->user == b->user && strcmp(a->name, b->name) == 0;
}

static bool grow(struct queue_lines *lines)
{
    if (lines->count < lines->room) {
        return true;
    }
    uint32_t room = lines->room ? lines->room * 2 : 8;
    struct queue_line *items = realloc(lines->items, room * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    lines->items = items;
    lines->room = room;
    return true;
}

/* The line with exactly this last queue, found or made. */
static int extend(struct queue_lines *lines, uint16_t up, enum queue_kind kind,
                  const moot_queue_custom *custom, uint16_t *out)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct queue_line *line = &lines->items[i];
        if (line->up == up && line->kind == kind &&
            (kind != QUEUE_CUSTOM || same_custom(&line->custom, custom))) {
            *out = (uint16_t)(i + 1);
            return MOOT_OK;
        }
    }
    if (lines->count == LIMIT_QUEUE_LINES) {
        return MOOT_ERR_LIMIT;
    }
    if (!grow(lines)) {
        return MOOT_ERR_NO_MEMORY;
    }
    lines->items[lines->count] = (struct queue_line){.up = up, .kind = kind};
    if (kind == QUEUE_CUSTOM) {
        lines->items[lines->count].custom = *custom;
    }
    *out = (uint16_t)++lines->count;
    return MOOT_OK;
}

int queue_line_in(struct queue_lines *lines, uint16_t up, enum queue_kind kind,
                  const moot_queue_custom *custom, uint16_t *out)
{
    if (kind == QUEUE_CUSTOM) {
        bool again = is_kind(lines, up, kind) &&
                     same_custom(&queue_line_at(lines, up)->custom, custom);
        *out = up; /* once is enough: the kernel opened what it has inherited */
        return again ? MOOT_OK : extend(lines, up, kind, custom, out);
    }
    if (is_kind(lines, up, kind)) { /* one in another of its kind adds nothing */
        *out = up;
        return MOOT_OK;
    }
    if (kind == QUEUE_BULK || !is_kind(lines, up, QUEUE_BULK) ||
        !is_kind(lines, up_of(lines, up), QUEUE_SEQUENTIAL)) {
        return extend(lines, up, kind, NULL, out);
    }
    /* A chain in a batch in a chain: the outer chain goes. */
    uint16_t outer = up_of(lines, up_of(lines, up));
    if (!is_kind(lines, outer, QUEUE_BULK)) {
        int error = extend(lines, outer, QUEUE_BULK, NULL, &outer);
        if (error != MOOT_OK) {
            return error;
        }
    }
    return extend(lines, outer, QUEUE_SEQUENTIAL, NULL, out);
}
