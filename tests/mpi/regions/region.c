/* region.c - see region.h. */
#include "tests/mpi/regions/region.h"

#include <stddef.h>
#include <string.h>

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzACDEFGHIJKLMNOQRTUVWXY";

int region_task(char letter)
{
    const char *at = letter != '\0' ? strchr(LETTERS, letter) : NULL;
    return at != NULL ? (int)(at - LETTERS) : -1;
}

char region_letter(int task) { return LETTERS[task]; }

/* --- Reading ---------------------------------------------------------------------- */

/* What leaves a region: batches, one after the other. */
struct batches {
    uint64_t items[REGION_TASKS_MAX];
    int count;
};

struct reader {
    const char *at;
    uint64_t holds;
    struct region_order *order;
};

static void add_batch(struct batches *batches, uint64_t tasks)
{
    if (tasks != 0) {
        batches->items[batches->count++] = tasks;
    }
}

/* Pairs of what comes, whatever batches it came in, in the order of the letters: texts
 * have them in the order of spawning. */
static struct batches in_pairs(const struct batches *inner)
{
    struct batches pairs = {.count = 0};
    uint64_t pair = 0;
    int in_pair = 0;
    for (int i = 0; i < inner->count; i++) {
        for (int task = 0; task < REGION_TASKS_MAX; task++) {
            if ((inner->items[i] >> task & 1) == 0) {
                continue;
            }
            pair |= UINT64_C(1) << task;
            if (++in_pair == 2) {
                add_batch(&pairs, pair);
                pair = 0;
                in_pair = 0;
            }
        }
    }
    add_batch(&pairs, pair);
    return pairs;
}

static void in_sequence(struct region_order *order, const struct batches *batches)
{
    for (int i = 1; i < batches->count; i++) {
        for (int task = 0; task < REGION_TASKS_MAX; task++) {
            if (batches->items[i] >> task & 1) {
                order->before[task] |= batches->items[i - 1];
            }
        }
    }
}

/* The nesting is as deep as the text says: a reader that calls itself is bounded by it.
 */
static bool read_region(struct reader *reader, struct batches *out)
{
    char kind = *reader->at++;
    if (strchr("SBP", kind) == NULL || *reader->at++ != '(') {
        return false;
    }
    struct batches inner = {.count = 0};
    while (*reader->at != ')') {
        int task = region_task(*reader->at);
        if (*reader->at == ' ') {
            reader->at++;
        } else if (task >= 0) {
            uint64_t bit = UINT64_C(1) << task & reader->holds;
            reader->order->tasks |= bit;
            add_batch(&inner, bit);
            reader->at++;
        } else if (*reader->at == '\0' || !read_region(reader, &inner)) {
            return false;
        }
    }
    reader->at++;
    struct batches left = inner;
    if (kind == 'S') {
        in_sequence(reader->order, &inner);
    } else if (kind == 'P') {
        left = in_pairs(&inner);
    } else {
        uint64_t all = 0;
        for (int i = 0; i < inner.count; i++) {
            all |= inner.items[i];
        }
        left.count = 0;
        add_batch(&left, all);
    }
    for (int i = 0; i < left.count; i++) {
        add_batch(out, left.items[i]);
    }
    return true;
}

void region_order_close(struct region_order *order)
{
    for (int middle = 0; middle < REGION_TASKS_MAX; middle++) {
        for (int task = 0; task < REGION_TASKS_MAX; task++) {
            if (order->before[task] >> middle & 1) {
                order->before[task] |= order->before[middle];
            }
        }
    }
}

bool region_order_of(const char *text, uint64_t holds, struct region_order *out)
{
    struct batches left = {.count = 0};
    memset(out, 0, sizeof(*out));
    struct reader reader = {.at = text, .holds = holds, .order = out};
    return read_region(&reader, &left) && *reader.at == '\0';
}

/* --- Writing ---------------------------------------------------------------------- */

struct writer {
    char *text;
    size_t length;
    int next_task;
};

static void put(struct writer *writer, char character)
{
    if (writer->length < REGION_TEXT_BYTES - 1) {
        writer->text[writer->length++] = character;
    }
}

static void write_level(struct writer *writer, const char *kinds)
{
    put(writer, *kinds);
    put(writer, '(');
    put(writer, region_letter(writer->next_task++));
    for (int i = 0; i < 2 && kinds[1] != '\0'; i++) {
        write_level(writer, kinds + 1);
    }
    put(writer, region_letter(writer->next_task++));
    put(writer, ')');
}

void region_write(const char *kinds, char text[REGION_TEXT_BYTES])
{
    struct writer writer = {.text = text};
    write_level(&writer, kinds);
    text[writer.length] = '\0';
}
