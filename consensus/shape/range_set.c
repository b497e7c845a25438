/* range_set.c - see range_set.h.
 *
 * Adding and removing replace a stretch of the ranges by at most two: what they touch
 * is found by bisection, and what is behind it moves.  Whole sets are walked side by
 * side; most have one range, or none, and for those the shorter ways do.
 */
#include "consensus/shape/range_set.h"

#include "hashing/base/hot.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 4 };

static inline struct range *items_of(struct range_set *set)
{
    return set->many != NULL ? set->many : &set->one;
}

void range_set_release(struct range_set *set)
{
    free(set->many);
    *set = (struct range_set){0};
}

/* Room for so many ranges. */
static bool reserve(struct range_set *set, uint32_t count)
{
    if (count <= 1 || count <= set->room) {
        return true;
    }
    uint32_t room = set->room < ROOM_MIN ? ROOM_MIN : set->room * 2;
    room = room < count ? count : room;
    struct range *more = realloc(set->many, room * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    if (set->many == NULL) {
        more[0] = set->one;
    }
    set->many = more;
    set->room = room;
    return true;
}

bool range_set_copy(struct range_set *to, const struct range_set *from)
{
    if (!reserve(to, from->count)) {
        return false;
    }
    memmove(items_of(to), range_set_items(from), from->count * sizeof(struct range));
    to->count = from->count;
    return true;
}

bool range_set_equal(const struct range_set *a, const struct range_set *b)
{
    const struct range *of_a = range_set_items(a), *of_b = range_set_items(b);
    bool equal = a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++) {
        equal = of_a[i].first == of_b[i].first && of_a[i].end == of_b[i].end;
    }
    return equal;
}

/* The first range that ends behind `number`. */
static inline uint32_t find_ending_behind(const struct range_set *set, uint64_t number)
{
    const struct range *items = range_set_items(set);
    uint32_t low = 0, high = set->count;
    if (high == 1) {
        return items[0].end <= number;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle].end > number) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Ranges from .. to - 1 become so many others, none of them, one or two. */
static bool replace(struct range_set *set, uint32_t from, uint32_t to,
                    const struct range *by, uint32_t count)
{
    uint32_t behind = set->count - to, after = from + count + behind;
    if (!reserve(set, after)) {
        return false;
    }
    struct range *items = items_of(set);
    memmove(items + from + count, items + to, behind * sizeof(*items));
    memcpy(items + from, by, count * sizeof(*items));
    set->count = after;
    return true;
}

HOT bool range_set_add(struct range_set *set, struct range range)
{
    if (range.end <= range.first) {
        return true;
    }
    if (set->count == 0) {
        items_of(set)[0] = range;
        set->count = 1;
        return true;
    }
    struct range *items = items_of(set);
    /* A range that ends where this one begins touches it. */
    uint32_t from = range.first > 0 ? find_ending_behind(set, range.first - 1) : 0;
    uint32_t to = from;
    while (to < set->count && items[to].first <= range.end) {
        range.first = items[to].first < range.first ? items[to].first : range.first;
        range.end = items[to].end > range.end ? items[to].end : range.end;
        to++;
    }
    if (to == from + 1) { /* it grew, or had all of it */
        items[from] = range;
        return true;
    }
    return replace(set, from, to, &range, 1);
}

bool range_set_remove(struct range_set *set, struct range range)
{
    if (range.end <= range.first) {
        return true;
    }
    const struct range *items = range_set_items(set);
    if (set->count == 1 && range.first <= items[0].first && range.end >= items[0].end) {
        set->count = 0;
        return true;
    }
    uint32_t from = find_ending_behind(set, range.first), to = from, count = 0;
    struct range left[2];
    if (from < set->count && items[from].first < range.first) {
        left[count++] = (struct range){items[from].first, range.first};
    }
    while (to < set->count && items[to].first < range.end) {
        to++;
    }
    if (to > from && items[to - 1].end > range.end) {
        left[count++] = (struct range){range.end, items[to - 1].end};
    }
    return to == from || replace(set, from, to, left, count);
}

/* The set becomes what was made in its place; or that is let go. */
static bool take_over(struct range_set *set, struct range_set *made, bool good)
{
    range_set_release(good ? set : made);
    if (good) {
        *set = *made;
    }
    return good;
}

static bool merge_many(struct range_set *to, const struct range_set *from)
{
    struct range_set made = {0};
    const struct range *of_to = range_set_items(to), *of_from = range_set_items(from);
    uint32_t i = 0, j = 0;
    bool good = true;
    while (good && (i < to->count || j < from->count)) {
        bool first =
            j == from->count || (i < to->count && of_to[i].first < of_from[j].first);
        good = range_set_add(&made, first ? of_to[i++] : of_from[j++]);
    }
    return take_over(to, &made, good);
}

HOT bool range_set_merge(struct range_set *to, const struct range_set *from)
{
    if (from->count <= 1) {
        return from->count == 0 || range_set_add(to, range_set_items(from)[0]);
    }
    return merge_many(to, from);
}

static bool subtract_many(struct range_set *from, const struct range_set *what)
{
    struct range_set made = {0};
    const struct range *items = range_set_items(from), *less = range_set_items(what);
    bool good = true;
    uint32_t j = 0;
    for (uint32_t i = 0; good && i < from->count; i++) {
        struct range rest = items[i];
        for (; good && j < what->count && less[j].first < rest.end; j++) {
            good = range_set_add(&made, (struct range){rest.first, less[j].first});
            rest.first = less[j].end > rest.first ? less[j].end : rest.first;
            if (less[j].end > items[i].end) {
                break; /* it may cut the next one, too */
            }
        }
        good = good && range_set_add(&made, rest);
    }
    return take_over(from, &made, good);
}

HOT bool range_set_subtract(struct range_set *from, const struct range_set *what)
{
    if (from->count == 0 || what->count == 0) {
        return true;
    }
    return what->count == 1 ? range_set_remove(from, range_set_items(what)[0])
                            : subtract_many(from, what);
}

bool range_set_intersect(struct range_set *set, const struct range_set *with)
{
    struct range_set made = {0};
    const struct range *a = range_set_items(set), *b = range_set_items(with);
    bool good = true;
    for (uint32_t i = 0, j = 0; good && i < set->count && j < with->count;) {
        uint64_t first = a[i].first > b[j].first ? a[i].first : b[j].first;
        uint64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;
        good = range_set_add(&made, (struct range){first, end});
        if (a[i].end < b[j].end) {
            i++;
        } else {
            j++;
        }
    }
    return take_over(set, &made, good);
}

HOT bool range_set_has(const struct range_set *set, uint64_t number)
{
    uint32_t at = find_ending_behind(set, number);
    return at < set->count && range_set_items(set)[at].first <= number;
}

bool range_set_covers(const struct range_set *set, struct range range)
{
    if (range.end <= range.first) {
        return true;
    }
    uint32_t at = find_ending_behind(set, range.first);
    const struct range *items = range_set_items(set);
    return at < set->count && items[at].first <= range.first &&
           items[at].end >= range.end;
}

bool range_set_meets(const struct range_set *set, struct range range)
{
    uint32_t at = find_ending_behind(set, range.first);
    return range.end > range.first && at < set->count &&
           range_set_items(set)[at].first < range.end;
}

uint64_t range_set_size(const struct range_set *set)
{
    return range_set_below(set, UINT64_MAX);
}

HOT uint64_t range_set_below(const struct range_set *set, uint64_t number)
{
    const struct range *items = range_set_items(set);
    uint64_t below = 0;
    for (uint32_t i = 0; i < set->count && items[i].first < number; i++) {
        below += (items[i].end < number ? items[i].end : number) - items[i].first;
    }
    return below;
}

HOT uint64_t range_set_at(const struct range_set *set, uint64_t below)
{
    const struct range *items = range_set_items(set);
    for (uint32_t i = 0; i < set->count; i++) {
        if (below < items[i].end - items[i].first) {
            return items[i].first + below;
        }
        below -= items[i].end - items[i].first;
    }
    return UINT64_MAX;
}

bool range_set_valid(const struct range *items, uint32_t count, uint64_t limit)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].end <= items[i].first || items[i].end > limit ||
            (i > 0 && items[i].first <= items[i - 1].end)) {
            return false;
        }
    }
    return true;
}
