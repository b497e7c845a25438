/* view_data.c - views as values: made, copied, sent, and the past that they carry. */
#include "consensus/membership/membership_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void view_release(struct view *view)
{
    for (uint32_t i = 0; i < view->past_count; i++) {
        rankset_release(&view->past[i].members);
    }
    for (uint32_t i = 0; i < view->loss_count; i++) {
        rankset_release(&view->losses[i].before);
        rankset_release(&view->losses[i].after);
    }
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        free(view->newcomers[i].places);
    }
    free(view->past);
    free(view->losses);
    free(view->newcomers);
    rankset_release(&view->members);
    rankset_release(&view->left);
    *view = (struct view){0};
}

bool view_add_past(struct view *view, uint64_t epoch, const struct rankset *members)
{
    assert(view->past_count < LIMIT_PAST_VIEWS);
    assert(view->past_count == 0 || view->past[view->past_count - 1].epoch < epoch);
    struct past *grown =
        realloc(view->past, (view->past_count + 1) * sizeof(*view->past));
    if (grown == NULL) {
        return false;
    }
    view->past = grown;
    view->past[view->past_count] = (struct past){.epoch = epoch};
    view->past_count++;
    return rankset_copy(&view->past[view->past_count - 1].members, members);
}

/* In the order of their numbers, in which they need not come. */
bool view_add_newcomer(struct view *view, struct message_newcomer newcomer)
{
    assert(view->newcomer_count < LIMIT_NEWCOMERS);
    struct message_newcomer *grown =
        realloc(view->newcomers, (view->newcomer_count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    view->newcomers = grown;
    const size_t size = newcomer.lanes * sizeof(*newcomer.places);
    uint64_t *places = size > 0 ? malloc(size) : NULL;
    if (places == NULL && size > 0) {
        return false;
    }
    if (size > 0) {
        memcpy(places, newcomer.places, size);
    }
    newcomer.places = places;
    uint32_t place = view->newcomer_count++;
    for (; place > 0 && grown[place - 1].rank > newcomer.rank; place--) {
        grown[place] = grown[place - 1];
    }
    grown[place] = newcomer;
    return true;
}

static bool add_loss(struct view *view, uint64_t epoch, const struct rankset *before,
                     const struct rankset *after)
{
    assert(view->loss_count < LIMIT_LOSSES);
    struct loss *grown =
        realloc(view->losses, (view->loss_count + 1) * sizeof(*view->losses));
    if (grown == NULL) {
        return false;
    }
    view->losses = grown;
    struct loss *loss = &view->losses[view->loss_count++];
    *loss = (struct loss){.epoch = epoch};
    return rankset_copy(&loss->before, before) && rankset_copy(&loss->after, after);
}

bool view_add_former_newcomers(const struct core *core, struct view *view)
{
    bool good = true;
    for (uint32_t rank = core->membership.first_size; good && rank < core->size;
         rank++) {
        const struct message_newcomer *begins =
            reload_begins(core, view) ? NULL : peer_beginning(core, rank);
        if (peer_is_named(core, rank)) {
            good = view_add_newcomer(
                view, (struct message_newcomer){
                          .rank = rank,
                          .host = core->state.hosts[rank],
                          .uid = core->state.uids[rank],
                          .lanes = begins != NULL ? begins->lanes : 0,
                          .places = begins != NULL ? begins->places : NULL});
        }
    }
    return good;
}

bool view_add_losses(const struct core *core, struct view *view)
{
    bool good = true;
    uint32_t count = core->options.joinable ? core->membership.loss_count : 0;
    view->losses_cut = core->membership.losses_unknown || count > LIMIT_LOSSES;
    for (uint32_t i = 0; good && i < count && !view->losses_cut; i++) {
        const struct loss *loss = &core->membership.losses[i];
        good = add_loss(view, loss->epoch, &loss->before, &loss->after);
    }
    return good;
}

static bool are_known(const struct core *core, const struct message_view *message,
                      const struct rankset *ranks)
{
    for (uint32_t rank = rankset_next(ranks, 0); rank != NOBODY;
         rank = rankset_next(ranks, rank + 1)) {
        bool known = peer_is_named(core, rank);
        for (uint32_t i = 0; !known && i < message->newcomers; i++) {
            known = message->newcomer[i].rank == rank;
        }
        if (!known) {
            return false;
        }
    }
    return true;
}

/* A number is one incarnation's for ever (N1): nobody's is given to another, and this
 * rank has the one that it asked for. */
static bool are_numbered_well(const struct core *core,
                              const struct message_view *message)
{
    bool good = true;
    for (uint32_t i = 0; good && i < message->newcomers; i++) {
        const struct message_newcomer *newcomer = &message->newcomer[i];
        good = newcomer->rank >= core->membership.first_size &&
               (!peer_is_named(core, newcomer->rank) ||
                peer_is(core, newcomer->rank, newcomer->uid)) &&
               (newcomer->uid != core->uid || core->rank != NOBODY ||
                newcomer->rank == core->options.join_rank || MUTANT(JOINNEXT));
    }
    return good;
}

bool view_is_known(const struct core *core, const struct message_view *message)
{
    bool known =
        are_numbered_well(core, message) && are_known(core, message, message->members);
    for (uint32_t i = 0; known && i < message->history; i++) {
        known = are_known(core, message, message->past[i].members);
    }
    for (uint32_t i = 0; known && i < message->losses; i++) {
        known = are_known(core, message, message->loss[i].before) &&
                are_known(core, message, message->loss[i].after);
    }
    return known;
}

bool view_from_message(struct view *view, const struct message_view *message)
{
    *view = (struct view){.epoch = message->epoch, .reload = message->reload};
    bool good = rankset_copy(&view->members, message->members) &&
                (message->left == NULL || rankset_copy(&view->left, message->left));
    for (uint32_t i = 0; good && i < message->history; i++) {
        good = view_add_past(view, message->past[i].epoch, message->past[i].members);
    }
    for (uint32_t i = 0; good && i < message->newcomers; i++) {
        good = view_add_newcomer(view, message->newcomer[i]);
    }
    view->losses_cut = message->losses_cut;
    for (uint32_t i = 0; good && i < message->losses; i++) {
        const struct message_loss *loss = &message->loss[i];
        good = add_loss(view, loss->epoch, loss->before, loss->after);
    }
    if (!good) {
        view_release(view);
    }
    return good;
}

static uint64_t *copy_places(struct core *core, const struct message_newcomer *newcomer)
{
    const size_t size = newcomer->lanes * sizeof(*newcomer->places);
    uint64_t *places = size > 0 ? out_borrow(core, size) : NULL;
    if (places != NULL) {
        memcpy(places, newcomer->places, size);
    }
    return places;
}

const struct message_view *view_to_message(struct core *core, const struct view *view)
{
    assert(view->epoch > 0);
    struct message_view *message = out_borrow(core, sizeof(*message));
    struct message_past *past =
        out_borrow(core, (view->past_count + 1) * sizeof(*past));
    struct message_newcomer *newcomers =
        out_borrow(core, (view->newcomer_count + 1) * sizeof(*newcomers));
    struct message_loss *losses =
        out_borrow(core, (view->loss_count + 1) * sizeof(*losses));
    if (core->broken) {
        return NULL;
    }
    for (uint32_t i = 0; i < view->loss_count; i++) {
        losses[i] = (struct message_loss){view->losses[i].epoch,
                                          out_copy_set(core, &view->losses[i].before),
                                          out_copy_set(core, &view->losses[i].after)};
    }
    for (uint32_t i = 0; i < view->past_count; i++) {
        past[i] = (struct message_past){view->past[i].epoch,
                                        out_copy_set(core, &view->past[i].members)};
    }
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        newcomers[i] = view->newcomers[i];
        newcomers[i].places = copy_places(core, &newcomers[i]);
    }
    if (core->broken) {
        return NULL;
    }
    *message = (struct message_view){
        .epoch = view->epoch,
        .members = out_copy_set(core, &view->members),
        .newcomers = view->newcomer_count,
        .newcomer = newcomers,
        .history = view->past_count,
        .left = rankset_empty(&view->left) ? NULL : out_copy_set(core, &view->left),
        .past = past,
        .losses = view->loss_count,
        .loss = losses,
        .losses_cut = view->losses_cut,
        .reload = view->reload};
    return message;
}

bool view_take_past(struct core *core, const struct view *view)
{
    assert(view->epoch == core->epoch && view->past_count <= LIMIT_PAST_VIEWS);
    struct view copy = {0};
    for (uint32_t i = 0; i < view->past_count; i++) {
        if (!view_add_past(&copy, view->past[i].epoch, &view->past[i].members)) {
            view_release(&copy);
            return false;
        }
    }
    view_forget_past(core);
    core->membership.past = copy.past;
    core->membership.past_count = copy.past_count;
    return true;
}

void view_forget_past(struct core *core)
{
    for (uint32_t i = 0; i < core->membership.past_count; i++) {
        rankset_release(&core->membership.past[i].members);
    }
    free(core->membership.past);
    core->membership.past = NULL;
    core->membership.past_count = 0;
}

/* A view is its number, its members' incarnations, which quorums it knows, and who
 * decides about the next one. */
void core_name_view(struct core *core)
{
    uint64_t sum[3] = {core->epoch, 0,
                       (uint64_t)core->options.joinable + core->options.boundary};
    FOR_MEMBERS(core, rank)
    {
        uint64_t member[2] = {rank, core->state.uids[rank]};
        moot_hash hash = digest_bytes(member, sizeof(member));
        sum[1] += hash_word(&hash);
    }
    FOR_COMMITTEE(core, rank)
    {
        if (core->membership.large) {
            uint64_t member[2] = {~(uint64_t)rank, core->state.uids[rank]};
            moot_hash hash = digest_bytes(member, sizeof(member));
            sum[1] += hash_word(&hash);
        }
    }
    moot_hash view = digest_bytes(sum, sizeof(sum));
    core->view_id = hash_word(&view);
}
