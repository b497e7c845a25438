/* parcel.c - deep copies of messages. */
#include "parcel.h"
#include <stdlib.h>
#include <string.h>

static void *keep(struct parcel *parcel, const void *data, size_t size)
{
    if (data == NULL)
        return NULL;
    void **owned =
        realloc(parcel->owned, (parcel->owned_count + 1) * sizeof *parcel->owned);
    void *copy = malloc(size == 0 ? 1 : size);
    if (owned == NULL || copy == NULL)
        abort();
    memcpy(copy, data, size);
    parcel->owned = owned;
    parcel->owned[parcel->owned_count++] = copy;
    return copy;
}

static const char *keep_text(struct parcel *parcel, const char *text)
{
    return text == NULL ? NULL : keep(parcel, text, strlen(text) + 1);
}

static const struct rankset *keep_ranks(struct parcel *parcel, const struct rankset *of)
{
    struct rankset *set = keep(parcel, of, sizeof *of);
    if (set != NULL)
        set->high = keep(parcel, of->high, of->high_words * sizeof *of->high);
    return set;
}

static void keep_hashes(struct parcel *parcel, struct message_hashes *hashes)
{
    uint32_t count = hashes->count;
    hashes->hashes = keep(parcel, hashes->hashes, count * sizeof *hashes->hashes);
    if (hashes->sites == NULL)
        return;
    const char **sites = keep(parcel, hashes->sites, count * sizeof *sites);
    for (uint32_t i = 0; i < count; i++)
        sites[i] = keep_text(parcel, sites[i]);
    hashes->sites = sites;
}

static void keep_sides(struct parcel *parcel, struct message_diverged *diverged)
{
    for (uint32_t i = 0; i < diverged->sides; i++) {
        diverged->side[i].site = keep_text(parcel, diverged->side[i].site);
        diverged->side[i].ranks = keep_ranks(parcel, diverged->side[i].ranks);
    }
}

static void keep_borrowed(struct parcel *parcel)
{
    struct message *message = &parcel->message;
    if (message->type == MESSAGE_MOTION) {
        struct message_motion *motion = &message->u.motion;
        motion->candidates = keep_ranks(parcel, motion->candidates);
        motion->spec = keep(parcel, motion->spec, sizeof *motion->spec);
    } else if (message->type == MESSAGE_DECISION) {
        struct message_decision *decision = &message->u.decision;
        decision->askers = keep(parcel, decision->askers,
                                decision->asker_count * sizeof *decision->askers);
    } else if (message->type == MESSAGE_RESULT) {
        struct message_result *result = &message->u.result;
        result->payload = keep(parcel, result->payload, result->size);
    } else if (message->type == MESSAGE_REFER) {
        message->u.refer.candidates = keep_ranks(parcel, message->u.refer.candidates);
    } else if (message->type == MESSAGE_HASHES) {
        keep_hashes(parcel, &message->u.hashes);
    } else if (message->type == MESSAGE_STATE) {
        message->u.state.site = keep_text(parcel, message->u.state.site);
    } else if (message->type == MESSAGE_CHASE) {
        struct message_chase *chase = &message->u.chase;
        chase->path =
            keep(parcel, chase->path, chase->path_count * sizeof *chase->path);
    } else if (message->type == MESSAGE_DIVERGED) {
        keep_sides(parcel, &message->u.diverged);
    }
}

struct parcel *parcel_new(uint32_t from, uint32_t to, const struct message *message)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    if (parcel == NULL)
        abort();
    parcel->from = from;
    parcel->to = to;
    parcel->message = *message;
    keep_borrowed(parcel);
    return parcel;
}

void parcel_free(struct parcel *parcel)
{
    if (parcel == NULL)
        return;
    for (uint32_t i = 0; i < parcel->owned_count; i++)
        free(parcel->owned[i]);
    free(parcel->owned);
    free(parcel);
}
