/* pset_wishes.c - sets that programs define and delete, from the next session on.
 *
 * Each rank says what it wishes when it comes to the end of a session, and hears what
 * all have said (PROTOCOL.md, M5): frames of wishes, a byte what is wished, a byte how
 * long the name is, the name, and for a definition how many members, and these, each
 * four bytes, the lowest first.  Frames are gone through in the order of their bytes,
 * so all ranks do the same, in every run.  Of two wishes for one name the first counts.
 *
 * Likewise a rank says of which views with newcomers it has made sets (joinings.c),
 * that it goes, and how many processes more it wishes: a number stands for the name,
 * and for the last two the rank itself for the members.
 */
#include "node/session/psets_private.h"

#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "proto/meet_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 4, HEAD_BYTES = 2, OWN_BYTES_MAX = 32 << 10 };
enum wish_kind { WISH_DEFINE = 1, WISH_DELETE, SAID_JOINING, SAID_LEAVING, WISH_GROW };

struct wish {
    enum wish_kind kind;
    char name[LIMIT_PSET_BYTES + 1];
    struct rankset members;
};

struct pset_wishes {
    struct wish *items; /* this rank's */
    size_t count;
    unsigned char *heard; /* all ranks' */
    size_t heard_size;
    struct rankset leaving; /* who said so, */
    uint32_t growth;        /* and so many more are wished */
};

/* --- This rank's ------------------------------------------------------------------ */

static struct wish *wish_find(const struct moot *m, const char *name)
{
    const struct pset_wishes *wishes = m->session.wishes;
    for (size_t i = 0; wishes != NULL && i < wishes->count; i++) {
        if (strcmp(wishes->items[i].name, name) == 0) {
            return &wishes->items[i];
        }
    }
    return NULL;
}

static size_t wish_bytes(const struct wish *wish)
{
    const size_t members = rankset_count(&wish->members);
    return HEAD_BYTES + strlen(wish->name) +
           (wish->kind != WISH_DELETE ? NUMBER_BYTES * (1 + members) : 0);
}

static size_t all_bytes(const struct pset_wishes *wishes)
{
    size_t size = 0;
    for (size_t i = 0; wishes != NULL && i < wishes->count; i++) {
        size += wish_bytes(&wishes->items[i]);
    }
    return size;
}

static struct pset_wishes *wishes_of(struct moot *m)
{
    if (m->session.wishes == NULL) {
        m->session.wishes = calloc(1, sizeof(*m->session.wishes));
    }
    return m->session.wishes;
}

static int wish_add(struct moot *m, enum wish_kind kind, const char *name,
                    const struct rankset *members)
{
    struct pset_wishes *wishes = wishes_of(m);
    struct wish wish = {.kind = kind};
    snprintf(wish.name, sizeof(wish.name), "%s", name);
    if (wishes == NULL || (members != NULL && !rankset_copy(&wish.members, members))) {
        return MOOT_ERR_NO_MEMORY;
    }
    const bool fits = all_bytes(wishes) + wish_bytes(&wish) <= OWN_BYTES_MAX;
    struct wish *items =
        realloc(wishes->items, (wishes->count + 1) * sizeof(*wishes->items));
    wishes->items = items != NULL ? items : wishes->items;
    if (items == NULL || !fits) {
        rankset_release(&wish.members);
        return items == NULL ? MOOT_ERR_NO_MEMORY : MOOT_ERR_LIMIT;
    }
    wishes->items[wishes->count++] = wish;
    return MOOT_OK;
}

static void wish_drop(struct pset_wishes *wishes, struct wish *wish)
{
    rankset_release(&wish->members);
    *wish = wishes->items[--wishes->count];
}

int session_pset_define(struct moot *m, const char *name, const struct rankset *members)
{
    if (!psets_make(m)) {
        return MOOT_ERR_NO_MEMORY;
    }
    const struct wish *before = wish_find(m, name);
    if (before != NULL && before->kind == WISH_DEFINE &&
        rankset_equal(&before->members, members)) {
        return MOOT_OK;
    }
    return before != NULL || psets_find(m, name) != NULL
               ? MOOT_ERR_STATE
               : wish_add(m, WISH_DEFINE, name, members);
}

int session_pset_delete(struct moot *m, const char *name)
{
    if (!psets_make(m)) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct wish *before = wish_find(m, name);
    const struct pset *set = psets_find(m, name);
    if (before != NULL && before->kind == WISH_DEFINE) {
        wish_drop(m->session.wishes, before);
        return MOOT_OK;
    }
    if (set == NULL || !set->own) {
        return MOOT_ERR_INVALID;
    }
    return before != NULL || set->deleted ? MOOT_OK
                                          : wish_add(m, WISH_DELETE, name, NULL);
}

void psets_forget_wishes(struct moot *m)
{
    struct pset_wishes *wishes = m->session.wishes;
    while (wishes != NULL && wishes->count > 0) {
        wish_drop(wishes, &wishes->items[wishes->count - 1]);
    }
    if (wishes != NULL) {
        free(wishes->items);
        free(wishes->heard);
        rankset_release(&wishes->leaving);
    }
    free(wishes);
    m->session.wishes = NULL;
}

/* --- As bytes --------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < NUMBER_BYTES; i++) {
        *at++ = (unsigned char)(number >> (8 * i));
    }
    return at;
}

static unsigned char *put_wish(unsigned char *at, const struct wish *wish)
{
    const size_t length = strlen(wish->name);
    *at++ = (unsigned char)wish->kind;
    *at++ = (unsigned char)length;
    memcpy(at, wish->name, length);
    at += length;
    if (wish->kind != WISH_DELETE) {
        at = put_number(at, rankset_count(&wish->members));
    }
    for (uint32_t member = rankset_next(&wish->members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(&wish->members, member + 1)) {
        at = put_number(at, member);
    }
    return at;
}

struct own_words { /* beside wishes of sets */
    bool leaves;
    uint64_t grow;
    struct rankset self;
};

/* As a wish; it borrows the members. */
static bool next_joining(const struct moot *m, size_t *at, struct wish *out)
{
    uint64_t epoch;
    const struct rankset *members;
    if (!joinings_next(m, at, true, &epoch, &members)) {
        return false;
    }
    *out = (struct wish){.kind = SAID_JOINING, .members = *members};
    snprintf(out->name, sizeof(out->name), "%llu", (unsigned long long)epoch);
    return true;
}

/* The index-th that this rank says; it borrows the members.  False: there are no more.
 */
static bool next_word(const struct moot *m, const struct own_words *said, size_t *at,
                      size_t *next, struct wish *out)
{
    const struct pset_wishes *wishes = m->session.wishes;
    if (next_joining(m, next, out)) {
        return true;
    }
    const size_t index = (*at)++;
    if (index < 2) {
        const uint64_t number = index == 0 ? said->leaves : said->grow;
        *out = (struct wish){.kind = index == 0 ? SAID_LEAVING : WISH_GROW,
                             .members = said->self};
        snprintf(out->name, sizeof(out->name), "%llu", (unsigned long long)number);
        return true;
    }
    if (wishes != NULL && index - 2 < wishes->count) {
        *out = wishes->items[index - 2];
        return true;
    }
    return false;
}

/* Nothing is said of a number that is 0. */
static bool is_word(const struct wish *word)
{
    return (word->kind != SAID_LEAVING && word->kind != WISH_GROW) ||
           strcmp(word->name, "0") != 0;
}

bool session_words_pack(const struct moot *m, bool leaves, uint64_t grow, void **out,
                        size_t *size)
{
    struct own_words said = {.leaves = leaves, .grow = grow};
    struct wish word;
    size_t at = 0, next = 0;
    *out = NULL;
    if (!rankset_add(&said.self, m->group.rank)) {
        return false;
    }
    for (*size = 0; next_word(m, &said, &at, &next, &word);) {
        *size += is_word(&word) ? wish_bytes(&word) : 0;
    }
    unsigned char *to = *out = malloc(*size + 1);
    for (at = next = 0; to != NULL && next_word(m, &said, &at, &next, &word);) {
        to = is_word(&word) ? put_wish(to, &word) : to;
    }
    rankset_release(&said.self);
    return to != NULL;
}

static bool get_number(const struct words_frame *frame, size_t *at, uint32_t *out)
{
    *out = 0;
    if (frame->size - *at < NUMBER_BYTES) {
        return false;
    }
    for (int i = 0; i < NUMBER_BYTES; i++) {
        *out |= (uint32_t)frame->bytes[(*at)++] << (8 * i);
    }
    return true;
}

static bool get_members(const struct moot *m, const struct words_frame *frame,
                        size_t *at, struct rankset *out)
{
    uint32_t count, member;
    bool good = get_number(frame, at, &count) && count > 0;
    for (uint32_t i = 0; good && i < count; i++) {
        good = get_number(frame, at, &member) && member < m->group.size &&
               rankset_add(out, member);
    }
    return good;
}

/* The wish that begins there; its members are to be released.  False: none does, or it
 * makes no sense, as a peer of this job never says. */
static bool get_wish(const struct moot *m, const struct words_frame *frame, size_t *at,
                     struct wish *out)
{
    *out = (struct wish){0};
    if (frame->size - *at < HEAD_BYTES) {
        return false;
    }
    out->kind = (enum wish_kind)frame->bytes[*at];
    const size_t length = frame->bytes[*at + 1];
    *at += HEAD_BYTES;
    if (length == 0 || length > LIMIT_PSET_BYTES || length > frame->size - *at ||
        out->kind < WISH_DEFINE || out->kind > WISH_GROW) {
        return false;
    }
    memcpy(out->name, frame->bytes + *at, length);
    *at += length;
    if (out->kind != WISH_DELETE && !get_members(m, frame, at, &out->members)) {
        rankset_release(&out->members);
        return false;
    }
    return true;
}

/* --- All ranks' ------------------------------------------------------------------- */

bool psets_hear(struct moot *m, const void *words, size_t size)
{
    struct pset_wishes *wishes = size > 0 ? wishes_of(m) : m->session.wishes;
    if (wishes == NULL) {
        return size == 0;
    }
    free(wishes->heard);
    wishes->heard = size > 0 ? malloc(size) : NULL;
    wishes->heard_size = wishes->heard != NULL ? size : 0;
    if (wishes->heard != NULL) {
        memcpy(wishes->heard, words, size);
    }
    return wishes->heard != NULL || size == 0;
}

static int frames_compare(const void *a, const void *b)
{
    const struct words_frame *x = a, *y = b;
    const size_t both = x->size < y->size ? x->size : y->size;
    const int order = memcmp(x->bytes, y->bytes, both);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Without memory a set is missing here that others have: the rank is as good as dead.
 */
static void starve(struct moot *m) { engine_starve(m, "no memory for a process set"); }

static void wish_take(struct moot *m, const struct wish *wish)
{
    struct pset *set = psets_find(m, wish->name);
    if (wish->kind == WISH_DEFINE && set == NULL) {
        if (!psets_add(m, wish->name, &wish->members)) {
            starve(m);
        }
    } else if (wish->kind == WISH_DELETE && set != NULL && set->own && !set->deleted) {
        set->deleted = true;
        trace_set(m, (size_t)(set - m->session.psets->sets), wish->name, NULL);
        observe_pset(m, MOOT_EVENT_PSET_DELETED, wish->name, "");
    }
}

/* This rank's definitions that lost against others'. */
static void tell_refusals(struct moot *m)
{
    const struct pset_wishes *wishes = m->session.wishes;
    for (size_t i = 0; i < wishes->count; i++) {
        const struct wish *wish = &wishes->items[i];
        const struct pset *set = psets_find(m, wish->name);
        if (wish->kind == WISH_DEFINE &&
            (set == NULL || !psets_has(set, &wish->members))) {
            observe_pset(m, MOOT_EVENT_PSET_REFUSED, wish->name,
                         "another rank defined it of other processes");
        }
    }
}

/* Goes through all that was said.  False without memory. */
static bool each_said(struct moot *m,
                      void (*take)(struct moot *m, const struct wish *wish))
{
    const struct pset_wishes *wishes = m->session.wishes;
    struct words_frame frame;
    size_t at = 0, count = 0;
    struct words_frame *frames =
        calloc(wishes->heard_size / WORDS_HEAD_BYTES + 1, sizeof(*frames));
    if (frames == NULL) {
        return false;
    }
    while (words_next(wishes->heard, wishes->heard_size, &at, &frame)) {
        frames[count++] = frame;
    }
    qsort(frames, count, sizeof(*frames), frames_compare);
    for (size_t i = 0; i < count; i++) {
        struct wish wish;
        size_t place = 0;
        while (get_wish(m, &frames[i], &place, &wish)) {
            take(m, &wish);
            rankset_release(&wish.members);
        }
    }
    free(frames);
    return true;
}

static void take_joining(struct moot *m, const struct wish *wish)
{
    if (wish->kind == SAID_JOINING) {
        joinings_add(m, strtoull(wish->name, NULL, 10), &wish->members);
    }
}

static void take_made(struct moot *m, const struct wish *wish)
{
    if (wish->kind == SAID_JOINING) {
        joinings_make(m, strtoull(wish->name, NULL, 10));
    }
}

/* --- Growing ---------------------------------------------------------------------- */

static void take_growth(struct moot *m, const struct wish *wish)
{
    struct pset_wishes *wishes = m->session.wishes;
    const uint64_t number = strtoull(wish->name, NULL, 10);
    if (wish->kind == WISH_GROW && number > wishes->growth) {
        wishes->growth = number < LIMIT_RANKS ? (uint32_t)number : LIMIT_RANKS;
    }
    if (wish->kind == SAID_LEAVING &&
        !rankset_merge(&wishes->leaving, &wish->members)) {
        starve(m);
    }
}

uint32_t session_growth(struct moot *m, struct rankset *stay)
{
    struct pset_wishes *wishes = m->session.wishes;
    rankset_release(stay);
    if (wishes == NULL) {
        return 0;
    }
    wishes->growth = 0;
    rankset_release(&wishes->leaving);
    if (!each_said(m, take_growth)) {
        starve(m);
        return 0;
    }
    const struct rankset *ended = &m->session.ended;
    for (uint32_t member = rankset_next(ended, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(ended, member + 1)) {
        if (!rankset_has(&wishes->leaving, member) && !rankset_add(stay, member)) {
            starve(m);
            return 0;
        }
    }
    return wishes->growth;
}

const struct rankset *psets_leaving(const struct moot *m)
{
    return m->session.wishes != NULL ? &m->session.wishes->leaving : NULL;
}

void psets_take_joinings(struct moot *m)
{
    if (m->session.wishes != NULL &&
        (!each_said(m, take_joining) || !each_said(m, take_made))) {
        starve(m);
    }
}

void psets_take(struct moot *m)
{
    if (m->session.wishes == NULL) {
        return;
    }
    if (!each_said(m, wish_take)) {
        starve(m);
        return;
    }
    tell_refusals(m);
    psets_forget_wishes(m);
}
