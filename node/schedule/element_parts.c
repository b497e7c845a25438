/* element_parts.c - see element_parts.h. */
#include "node/schedule/element_parts.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/engine/engine.h"
#include "node/members/members.h"
#include "node/schedule/element_again.h"
#include "node/schedule/element_end.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/element_wishes.h"
#include "proto/copy.h"

#include <stdlib.h>
#include <string.h>

enum { EARLY_MAX = 256, EARLY_BYTES_MAX = 1 << 20 };

/* A message that came before its array was spawned. */
struct early_parts {
    struct early_parts *next;
    uint32_t from;
    size_t bytes;
    struct message *message;
};

/* --- Out -------------------------------------------------------------------------- */

/* A message to one rank. */
struct shipment {
    uint32_t to;
    struct message message; /* its parts and bytes are in m->schedule.parts */
};

static struct shipment shipment_new(const struct element_link *link, uint32_t to)
{
    struct shipment shipment = {.to = to};
    shipment.message.type = MESSAGE_PARTS;
    shipment.message.hash = link->by->task->hash;
    shipment.message.u.parts.input = link->number;
    shipment.message.u.parts.count = link->from->spread.count;
    shipment.message.u.parts.homes = link->from->spread.homes;
    return shipment;
}

static bool make_room(struct moot *m)
{
    struct moot_parts *parts = &m->schedule.parts;
    if (parts->list == NULL) {
        parts->list = malloc(LIMIT_ELEMENT_PARTS * sizeof(*parts->list));
        parts->bytes = malloc(LIMIT_ELEMENT_PARTS_BYTES);
    }
    if (parts->list == NULL || parts->bytes == NULL) {
        engine_starve(m, "no memory for results of elements");
        return false;
    }
    return true;
}

/* To a rank that is gone nothing is sent: who counts what is on its way would wait for
 * it to come. */
HOT static void post(struct moot *m, struct shipment *shipment)
{
    struct message_parts *said = &shipment->message.u.parts;
    if (said->part_count > 0 && members_is_here(m, shipment->to)) {
        said->parts = m->schedule.parts.list;
        said->bytes = m->schedule.parts.bytes;
        outbox_add_own(m, shipment->to, &shipment->message);
    }
    said->part_count = 0;
    said->byte_count = 0;
}

/* A large result is asked for as a task, and who leaves takes none in. */
static bool is_given(const struct moot *m, const struct payload *result)
{
    return result != NULL &&
           (result->size <= LIMIT_EAGER_BYTES || !core_goes(m->core, m->group.rank));
}

HOT static void put(struct moot *m, struct shipment *shipment, uint64_t place,
                    const struct payload *result)
{
    struct moot_parts *parts = &m->schedule.parts;
    struct message_parts *said = &shipment->message.u.parts;
    struct message_part part = {.place = place, .state = PART_ELSEWHERE};
    if (is_given(m, result)) {
        part.size = result->size;
        part.state = result->size > LIMIT_EAGER_BYTES ? PART_LARGE : PART_BYTES;
    }
    const size_t bytes = part.state == PART_BYTES ? (size_t)part.size : 0;
    if (said->part_count == LIMIT_ELEMENT_PARTS ||
        said->byte_count + bytes > LIMIT_ELEMENT_PARTS_BYTES) {
        post(m, shipment);
    }
    if (bytes > 0) {
        memcpy(parts->bytes + said->byte_count, result->data, bytes);
    }
    said->byte_count += bytes;
    parts->list[said->part_count++] = part;
}

/* The element at that place is asked for. */
static void want(struct moot *m, struct shipment *shipment, uint64_t place)
{
    put(m, shipment, place, NULL);
    m->schedule.parts.list[shipment->message.u.parts.part_count - 1].state =
        PART_WANTED;
}

HOT static void put_own(struct moot *m, struct shipment *shipment,
                        const struct element_link *link, uint32_t own)
{
    const uint64_t place = link->own_first + own;
    put(m, shipment, place, elements_result(link->from, place));
}

static int compare(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool takes(const uint32_t *given, uint32_t count, uint32_t own)
{
    return bsearch(&own, given, count, sizeof(*given), compare) != NULL;
}

HOT static void send_link(struct moot *m, struct element_link *link)
{
    const struct array_schedule *schedule = link->schedule;
    const bool all = link->fresh_count == schedule->given_count;
    if (!all && link->fresh_count > 1) {
        qsort(link->fresh, link->fresh_count, sizeof(*link->fresh), compare);
    }
    for (uint32_t i = 0; i < schedule->taker_count; i++) {
        const struct array_peer *taker = &schedule->takers[i];
        const uint32_t *given = schedule->given + taker->first;
        if (!members_is_here(m, taker->rank)) {
            continue;
        }
        struct shipment shipment = shipment_new(link, taker->rank);
        for (uint32_t at = 0; all && at < taker->count; at++) {
            put_own(m, &shipment, link, given[at]);
        }
        for (uint32_t at = 0; !all && at < link->fresh_count; at++) {
            if (takes(given, taker->count, link->fresh[at])) {
                put_own(m, &shipment, link, link->fresh[at]);
            }
        }
        post(m, &shipment);
    }
}

/* --- Wishes ----------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static struct elements *find_array(const struct moot *m, const moot_hash *hash)
{
    const struct task *task = core_user(m->core, hash);
    return task != NULL && !core_is_stub(task) ? elements_of(task) : NULL;
}

/* Sends what has ended here, well or not, and forgets that it was wished for. */
static void grant(struct moot *m, const struct elements *elements,
                  struct element_wish *wish)
{
    struct shipment shipment = {.to = wish->rank};
    struct message_parts *said = &shipment.message.u.parts;
    uint32_t at = 0;
    shipment.message.type = MESSAGE_PARTS;
    shipment.message.hash = wish->by;
    said->input = wish->input;
    said->count = elements->spread.count;
    said->homes = elements->spread.homes;
    for (uint64_t place = wish_take(elements, wish, &at); place != PLACE_NOWHERE;
         place = wish_take(elements, wish, &at)) {
        put(m, &shipment, place, elements_result(elements, place));
    }
    post(m, &shipment);
}

static void grant_wishes(struct moot *m)
{
    struct elements *elements;
    while (m->tasks.wished != NULL && make_room(m) &&
           (elements = wishes_next(m)) != NULL) {
        struct element_wish **at = &elements->wishes->first;
        while (*at != NULL) {
            struct element_wish *wish = *at;
            if (members_is_here(m, wish->rank)) {
                grant(m, elements, wish);
            }
            if (wish->count == 0 || !members_is_here(m, wish->rank)) {
                *at = wish->next;
                free(wish);
            } else {
                at = &wish->next;
            }
        }
        wishes_seen(elements);
    }
}

/* False: the array is not spawned here. */
static bool take_wish(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_parts *said = &message->u.parts;
    struct elements *elements = find_array(m, &said->of);
    if (elements == NULL || elements->spread.count != said->count ||
        elements->spread.homes != said->homes) {
        return elements != NULL;
    }
    struct element_wish *wish =
        malloc(sizeof(*wish) + said->part_count * sizeof(uint64_t));
    if (wish != NULL) { /* else who wishes asks, in the end */
        wish->rank = from;
        wish->input = said->input;
        wish->by = message->hash;
        wish->count = said->part_count;
        for (uint32_t i = 0; i < said->part_count; i++) {
            wish->places[i] = said->parts[i].place;
        }
        wishes_add(m, elements, wish);
        progress_wake(m);
    }
    return true;
}

/* That rank is to send those of the places that have this home, or one that is gone. */
static void wish_of(struct moot *m, const struct element_link *link, uint32_t rank,
                    const uint64_t *places, uint32_t count)
{
    struct shipment shipment = shipment_new(link, rank);
    struct message_parts *said = &shipment.message.u.parts;
    said->of = link->from->task->hash;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t home =
            elements_home_of(&link->from->spread, &link->from->homes, places[i]);
        if (home == rank || !members_is_here(m, home)) {
            want(m, &shipment, places[i]);
        }
    }
    post(m, &shipment);
}

void parts_wish(struct moot *m, struct element_link *link)
{
    uint64_t *places = malloc((link->source_count + 1u) * sizeof(*places));
    uint32_t count = 0;
    link->dealt = false;
    for (uint32_t slot = link->schedule->own_from;
         places != NULL && slot < link->source_count; slot++) {
        if (link->sources[slot].state == SOURCE_AWAITED && !link_is_sent(link, slot)) {
            places[count++] = link_place(link, slot);
        }
    }
    if (count > 0) {
        qsort(places, count, sizeof(*places), compare_places);
    }
    for (uint32_t rank = 0; count > 0 && rank < m->group.size && make_room(m); rank++) {
        if (rank != m->group.rank && members_is_here(m, rank)) {
            wish_of(m, link, rank, places, count);
        }
    }
    free(places);
}

HOT void parts_flush(struct moot *m)
{
    while (m->tasks.unsent != NULL && make_room(m)) {
        struct element_link *link = m->tasks.unsent;
        if (link->from != NULL) {
            send_link(m, link);
        }
        link_unlist(m, link);
    }
    grant_wishes(m);
}

HOT void parts_ended(struct moot *m, bool more)
{
    const bool any = m->tasks.unsent != NULL || m->tasks.wished != NULL;
    if (any && !more) {
        parts_flush(m);
    }
}

void parts_look(struct moot *m, uint64_t now_ns)
{
    (void)now_ns;
    parts_flush(m);
}

static bool add_homes(const struct moot *m, const struct elements *by,
                      struct range range, struct rankset *out)
{
    bool good = true;
    for (uint64_t index = range.first; good && index < range.end; index++) {
        const uint32_t home = elements_home(&by->spread, &by->homes, index);
        if (home != m->group.rank && members_is_here(m, home)) {
            good = rankset_add(out, home);
        }
    }
    return good;
}

/* The homes of the elements that take it.  Those that an inverse leaves out ask. */
static bool find_takers(const struct moot *m, const struct element_link *link,
                        uint64_t place, struct rankset *out)
{
    const struct array_counts counts = {link->by->spread.count,
                                        link->from->spread.count};
    struct array_answer answer;
    if (link->mapping.map->targets == NULL) {
        return true;
    }
    array_answer_init(&answer);
    const uint64_t index = array_index(&link->from->spread, place);
    const int found = array_targets(&link->mapping, index, &counts, &answer);
    bool good = found != MOOT_ERR_NO_MEMORY;
    for (int i = 0; good && i < found; i++) {
        good = add_homes(m, link->by, answer.ranges[i], out);
    }
    array_answer_release(&answer);
    return good;
}

void parts_send_dealt(struct moot *m, struct elements *from, uint64_t place)
{
    for (const struct element_link *link = from->takers; link != NULL && make_room(m);
         link = link->next_taker) {
        struct rankset homes = {0};
        if (!find_takers(m, link, place, &homes)) {
            engine_starve(m, "no memory for results of elements");
        }
        for (uint32_t rank = rankset_next(&homes, 0); rank != UINT32_MAX;
             rank = rankset_next(&homes, rank + 1)) {
            struct shipment shipment = shipment_new(link, rank);
            put(m, &shipment, place, elements_result(from, place));
            post(m, &shipment);
        }
        rankset_release(&homes);
    }
}

/* --- Seeking ---------------------------------------------------------------------- */

static void seek_at(struct moot *m, const struct element_link *link, uint32_t rank,
                    const uint64_t *places, uint32_t count)
{
    struct shipment shipment = shipment_new(link, rank);
    struct message_parts *said = &shipment.message.u.parts;
    said->of = link->from->task->hash;
    said->seek = link->seek;
    for (uint32_t i = 0; i < count; i++) {
        want(m, &shipment, places[i]);
    }
    post(m, &shipment);
}

void parts_seek(struct moot *m, struct element_link *link)
{
    uint64_t *places = malloc((link->source_count + 1u) * sizeof(*places));
    uint32_t count = 0;
    if (places == NULL) {
        engine_starve(m, "no memory to ask for results of elements");
        return;
    }
    for (uint32_t slot = 0; slot < link->source_count; slot++) {
        if (link->sources[slot].state == SOURCE_SOUGHT) {
            link->sources[slot].denied = 0;
            places[count++] = link_place(link, slot);
        }
    }
    qsort(places, count, sizeof(*places), compare_places);
    link->seek++;
    link->sought = 0;
    for (uint32_t rank = 0; count > 0 && rank < m->group.size && make_room(m); rank++) {
        if (rank != m->group.rank && members_is_here(m, rank)) {
            seek_at(m, link, rank, places, count);
            link->sought++;
        }
    }
    for (uint32_t i = 0; i < count && link->sought == 0; i++) { /* alone */
        link->sources[link_slot(link, places[i])].state = SOURCE_LOST;
        link_look(m, link);
    }
    free(places);
}

static void seek_one_at(struct moot *m, const struct named_array *array, uint64_t place,
                        uint32_t rank, uint64_t number)
{
    struct shipment shipment = {.to = rank};
    struct message_parts *said = &shipment.message.u.parts;
    shipment.message.type = MESSAGE_PARTS;
    shipment.message.hash = array->hash;
    said->of = array->hash;
    said->count = array->spread.count;
    said->homes = array->spread.homes;
    said->seek = number;
    want(m, &shipment, place);
    post(m, &shipment);
}

uint32_t parts_seek_one(struct moot *m, const struct named_array *array, uint64_t place,
                        uint32_t rank, uint64_t number)
{
    uint32_t count = 0;
    for (uint32_t to = 0; to < m->group.size && make_room(m); to++) {
        const bool asked = rank == UINT32_MAX || rank == to;
        if (asked && to != m->group.rank && members_is_here(m, to)) {
            seek_one_at(m, array, place, to, number);
            count++;
        }
    }
    return count;
}

struct payload *parts_find(const struct elements *elements, uint64_t place)
{
    struct payload *result = elements_result(elements, place);
    for (const struct element_link *link = elements->takers;
         result == NULL && link != NULL; link = link->next_taker) {
        const uint32_t slot = link_slot(link, place);
        if (slot != UINT32_MAX && link->sources[slot].state == SOURCE_HERE) {
            result = link->sources[slot].payload;
        }
    }
    return result;
}

/* Says which it has of those that another rank seeks. */
static void answer(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_parts *asked = &message->u.parts;
    const struct elements *elements = find_array(m, &asked->of);
    const bool fits = elements != NULL && elements->spread.count == asked->count &&
                      elements->spread.homes == asked->homes;
    struct shipment shipment = {.to = from, .message = *message};
    struct message_parts *said = &shipment.message.u.parts;
    said->part_count = 0;
    said->of = (moot_hash){{0}};
    if (asked->seek >= PARTS_FOR_READS) {
        said->input = fits && element_can_again(m, elements);
    }
    for (uint32_t i = 0; i < asked->part_count && make_room(m); i++) {
        const uint64_t place = asked->parts[i].place;
        put(m, &shipment, place, fits ? parts_find(elements, place) : NULL);
    }
    post(m, &shipment);
}

void parts_send_again(struct moot *m)
{
    for (struct elements *elements = m->tasks.taking; elements != NULL;
         elements = elements->next_taking) {
        for (uint32_t i = 0; i < elements->link_count; i++) {
            if (elements->links[i]->from != NULL) {
                link_list_all(m, elements->links[i]);
                parts_seek(m, elements->links[i]);
            }
        }
    }
}

/* --- In --------------------------------------------------------------------------- */

/* An asking has a number, and a wish has none. */
static bool is_wish(const struct message *message)
{
    return !hash_is_zero(&message->u.parts.of) && message->u.parts.seek == 0;
}

static void forget_early(struct moot *m, struct early_parts **at)
{
    struct early_parts *early = *at;
    *at = early->next;
    m->schedule.parts.early_count--;
    m->schedule.parts.early_bytes -= early->bytes;
    message_copy_free(early->message);
    free(early);
}

/* The oldest makes room for it. */
static void keep_early(struct moot *m, uint32_t from, const struct message *message)
{
    struct moot_parts *parts = &m->schedule.parts;
    const size_t bytes = message->u.parts.byte_count + sizeof(struct early_parts) +
                         message->u.parts.part_count * sizeof(struct message_part);
    while (parts->early != NULL && (parts->early_count == EARLY_MAX ||
                                    parts->early_bytes + bytes > EARLY_BYTES_MAX)) {
        parts->dropped |= !is_wish(parts->early->message);
        forget_early(m, &parts->early);
    }
    struct early_parts *early = calloc(1, sizeof(*early));
    struct message *copy = early != NULL ? message_copy(message) : NULL;
    if (copy == NULL) {
        parts->dropped |= !is_wish(message);
        free(early);
        return;
    }
    *early = (struct early_parts){.from = from, .bytes = bytes, .message = copy};
    struct early_parts **last = &parts->early;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = early;
    parts->early_count++;
    parts->early_bytes += bytes;
}

static void deny(struct moot *m, struct element_link *link, uint64_t place)
{
    const uint32_t slot = link_slot(link, place);
    if (slot != UINT32_MAX && link->sources[slot].state == SOURCE_SOUGHT &&
        ++link->sources[slot].denied >= link->sought) {
        link->sources[slot].state = SOURCE_LOST;
        link_look(m, link);
    }
}

HOT static void hear(struct moot *m, uint32_t from, struct element_link *link,
                     const struct message_parts *said)
{
    const unsigned char *bytes = said->bytes;
    for (uint32_t i = 0; i < said->part_count; i++) {
        const struct message_part *part = &said->parts[i];
        if (part->state == PART_BYTES) {
            struct payload *payload =
                payloads_copy(&m->store.payloads, bytes, part->size);
            bytes += part->size;
            if (payload == NULL) {
                engine_starve(m, "no memory for results of elements");
                return;
            }
            link_hear(m, link, part->place, SOURCE_HERE, payload);
            continue;
        }
        if (part->state == PART_LARGE) {
            link_hear_large(m, link, part->place, from);
        } else if (said->seek == 0) {
            link_hear(m, link, part->place, SOURCE_ELSEWHERE, NULL);
        } else if (said->seek == link->seek) {
            deny(m, link, part->place);
        }
    }
}

/* The link that it is for here; NULL: none that this rank has spawned so. */
static struct element_link *link_of(const struct elements *elements,
                                    const struct message_parts *said)
{
    struct element_link *link =
        said->input < elements->link_count ? elements->links[said->input] : NULL;
    const bool fits = link != NULL && link->from != NULL &&
                      link->from->spread.count == said->count &&
                      link->from->spread.homes == said->homes;
    return fits ? link : NULL;
}

HOT bool parts_take(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_parts *said = &message->u.parts;
    if (is_wish(message)) {
        if (!take_wish(m, from, message)) {
            keep_early(m, from, message);
        }
        return false;
    }
    if (!hash_is_zero(&said->of)) {
        answer(m, from, message);
        return false;
    }
    const struct elements *elements = find_array(m, &message->hash);
    struct element_link *link = elements != NULL ? link_of(elements, said) : NULL;
    if (link != NULL) {
        hear(m, from, link, said);
        elements_go_on(m);
        progress_wake(m);
    } else if (elements == NULL && said->seek == 0) {
        keep_early(m, from, message);
    }
    return false;
}

void parts_take_early(struct moot *m, struct elements *elements)
{
    struct early_parts **at = &m->schedule.parts.early;
    while (*at != NULL) {
        struct early_parts *early = *at;
        const struct message_parts *said = &early->message->u.parts;
        const bool wish = is_wish(early->message);
        if (!hash_equal(wish ? &said->of : &early->message->hash,
                        &elements->task->hash)) {
            at = &early->next;
            continue;
        }
        struct element_link *link = wish ? NULL : link_of(elements, said);
        if (wish) {
            (void)take_wish(m, early->from, early->message);
        } else if (link != NULL) {
            hear(m, early->from, link, said);
        }
        forget_early(m, at);
    }
}

void parts_release(struct moot *m)
{
    struct moot_parts *parts = &m->schedule.parts;
    while (parts->early != NULL) {
        forget_early(m, &parts->early);
    }
    free(parts->list);
    free(parts->bytes);
    parts->list = NULL;
    parts->bytes = NULL;
}
