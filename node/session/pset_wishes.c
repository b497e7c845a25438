/* pset_wishes.c - sets that programs define and delete, from the next session on.
 *
 * Each rank says what it wishes when it comes to the end of a session, and hears what
 * all have said (PROTOCOL.md, M5): frames of wishes, a byte what is wished, a byte how
 * long the name is, the name, and for a definition how many members, and these, each
 * four bytes, the lowest first.  Frames are gone through in the order of their bytes,
 * so all ranks do the same, in every run.  Of two wishes for one name the first counts.
 */
#include "node/session/psets_private.h"

#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "proto/meet_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 4, HEAD_BYTES = 2, OWN_BYTES_MAX = 32 << 10 };
enum wish_kind { WISH_DEFINE = 1, WISH_DELETE };

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
           (wish->kind == WISH_DEFINE ? NUMBER_BYTES * (1 + members) : 0);
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
    if (wish->kind == WISH_DEFINE) {
        at = put_number(at, rankset_count(&wish->members));
    }
    for (uint32_t member = rankset_next(&wish->members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(&wish->members, member + 1)) {
        at = put_number(at, member);
    }
    return at;
}

bool session_wishes_pack(const struct moot *m, void **out, size_t *size)
{
    const struct pset_wishes *wishes = m->session.wishes;
    *size = all_bytes(wishes);
    unsigned char *at = *out = malloc(*size + 1);
    for (size_t i = 0; at != NULL && wishes != NULL && i < wishes->count; i++) {
        at = put_wish(at, &wishes->items[i]);
    }
    return at != NULL;
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
        (out->kind != WISH_DEFINE && out->kind != WISH_DELETE)) {
        return false;
    }
    memcpy(out->name, frame->bytes + *at, length);
    *at += length;
    if (out->kind == WISH_DEFINE && !get_members(m, frame, at, &out->members)) {
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

static bool pset_has(const struct pset *set, const struct rankset *members)
{
    bool same = set->count == rankset_count(members);
    for (uint32_t i = 0; same && i < set->count; i++) {
        same = rankset_has(members, set->members[i]);
    }
    return same;
}

static void wish_take(struct moot *m, const struct wish *wish)
{
    struct pset *set = psets_find(m, wish->name);
    if (wish->kind == WISH_DEFINE && set == NULL) {
        if (!psets_add(m, wish->name, &wish->members)) {
            starve(m);
        }
    } else if (wish->kind == WISH_DELETE && set != NULL && set->own && !set->deleted) {
        set->deleted = true;
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
            (set == NULL || !pset_has(set, &wish->members))) {
            observe_pset(m, MOOT_EVENT_PSET_REFUSED, wish->name,
                         "another rank defined it of other processes");
        }
    }
}

void psets_take(struct moot *m)
{
    const struct pset_wishes *wishes = m->session.wishes;
    struct words_frame frame;
    size_t at = 0, count = 0;
    if (wishes == NULL) {
        return;
    }
    struct words_frame *frames =
        calloc(wishes->heard_size / WORDS_HEAD_BYTES + 1, sizeof(*frames));
    if (frames == NULL) {
        starve(m);
        return;
    }
    while (words_next(wishes->heard, wishes->heard_size, &at, &frame)) {
        frames[count++] = frame;
    }
    qsort(frames, count, sizeof(*frames), frames_compare);
    for (size_t i = 0; i < count; i++) {
        struct wish wish;
        size_t place = 0;
        while (get_wish(m, &frames[i], &place, &wish)) {
            wish_take(m, &wish);
            rankset_release(&wish.members);
        }
    }
    free(frames);
    tell_refusals(m);
    psets_forget_wishes(m);
}
