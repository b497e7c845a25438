/* close_reduce.c - T1a where there are many: what is held, and what its chair lacks.
 *
 * A task that nobody waits for must run too, so a chair that lacks it must hear of a
 * holder once everybody has closed.  Up to SWEEPERS_MAX members compare their rolls
 * with everyone's (ask_sweep), and each holder tells.  Where there are more, each
 * that has closed tells its parent in the tree, when it has heard its children, which
 * tasks are held below it, one holder each, and which of them their chairs hold or have
 * decided.  The root, when it has closed too, sees what is held and not claimed, and
 * has one holder of each tell the chair (RESOLVE_TELL): three messages for each such
 * vote, however many ranks hold the task.
 *
 * While all below a rank have the same roll, the roll is told as its sum, and hashes
 * are told only of what chairs below have claimed: of a task once on its way up.  Where
 * sums differ, whole rolls are told, about 20 bytes per task, each once to the parent.
 *
 * Why this rests on nothing that may be lost: a census is made of messages alone.  It
 * is sent in the step in which the last of what it waits for comes, so if all have
 * closed and no message is under way it is complete, and what follows from it has been
 * done.  That is when QUIET lets a moot adjourn.  A new view has another tree, and
 * everybody tells anew.
 */
#include "consensus/termination/termination.h"

#include "consensus/state/state.h"
#include "consensus/state/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void close_reduce_reset(struct core *core)
{
    free(core->termination.close_reduce.items);
    free(core->termination.close_reduce.index);
    core->termination.close_reduce = (struct close_reduce){0};
}

/* --- Entries, by hash ------------------------------------------------------------ */

static void index_put(struct close_reduce *census, uint32_t item)
{
    assert(item < census->count && census->count < census->index_size);
    uint32_t mask = census->index_size - 1;
    uint32_t slot = (uint32_t)hash_word(&census->items[item].hash) & mask;
    while (census->index[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    census->index[slot] = item + 1;
}

static bool index_widen(struct core *core, struct close_reduce *census)
{
    uint32_t size = census->index_size ? census->index_size * 2 : 256;
    uint32_t *index = core_alloc(core, size * sizeof(*index));
    if (index == NULL) {
        return false;
    }
    free(census->index);
    census->index = index;
    census->index_size = size;
    for (uint32_t i = 0; i < census->count; i++) {
        index_put(census, i);
    }
    return true;
}

/* Finds or makes; NULL if the core broke. */
static struct message_counted *entry_of(struct core *core, const moot_hash *hash)
{
    struct close_reduce *census = &core->termination.close_reduce;
    if (census->count * 2 >= census->index_size && !index_widen(core, census)) {
        return NULL;
    }
    uint32_t mask = census->index_size - 1;
    for (uint32_t slot = (uint32_t)hash_word(hash) & mask; census->index[slot] != 0;
         slot = (slot + 1) & mask) {
        struct message_counted *entry = &census->items[census->index[slot] - 1];
        if (hash_equal(&entry->hash, hash)) {
            return entry;
        }
    }
    if (!core_grow(core, &census->items, &census->room, census->count + 1,
                   sizeof(*census->items))) {
        return NULL;
    }
    struct message_counted *entry = &census->items[census->count++];
    *entry = (struct message_counted){.hash = *hash};
    index_put(census, census->count - 1);
    return entry;
}

/* Which of two holders is to tell: a draw, or the same few would run all that is
 * yielded. */
static uint64_t draw(const moot_hash *hash, uint32_t rank)
{
    uint64_t mixed = (hash_word(hash) ^ rank) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 32;
}

static void add_holders(struct core *core, const moot_hash *hash, uint32_t holders,
                        uint32_t witness)
{
    assert(witness < core->size);
    struct message_counted *entry = entry_of(core, hash);
    if (entry == NULL || holders == 0) {
        return;
    }
    if (entry->holders == 0 || draw(hash, witness) < draw(hash, entry->witness)) {
        entry->witness = witness;
    }
    entry->holders += holders;
}

static void add_claim(struct core *core, const moot_hash *hash)
{
    struct message_counted *entry = entry_of(core, hash);
    if (entry != NULL) {
        entry->claimed = true;
    }
}

/* --- This rank's own ------------------------------------------------------------- */

static struct rollsum own_sum(const struct core *core)
{
    struct rollsum sum = {0, 0};
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        for (uint64_t at = 0; at < core->gossip.lanes[i].len; at++) {
            const moot_hash *hash = lane_hash(&core->gossip.lanes[i], at + 1);
            if (hash != NULL) {
                rollsum_add(&sum, hash);
            }
        }
    }
    return sum;
}

static void add_own_roll(struct core *core, uint32_t holders)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        for (uint64_t at = 0; at < core->gossip.lanes[i].len; at++) {
            const moot_hash *hash = lane_hash(&core->gossip.lanes[i], at + 1);
            if (hash != NULL) {
                add_holders(core, hash, holders, core->rank);
            }
        }
    }
}

/* What this rank chairs and holds, or has decided. */
static void add_own_claims(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task =
            !is_stub(core->state.slots[i]) ? core->state.slots[i] : NULL;
        if (task != NULL && task->chair == core->rank && !task->finder &&
            (task->held || task->rec != NOBODY)) {
            add_claim(core, &task->hash);
        }
    }
}

/* --- Telling --------------------------------------------------------------------- */

static void tell_parent(struct core *core, bool alike, const struct rollsum *sum)
{
    assert(core->gossip.tree.parent != NOBODY && core->step.closed);
    struct close_reduce *census = &core->termination.close_reduce;
    uint32_t done = 0;
    do {
        uint32_t count = census->count - done;
        count = count < LIMIT_CENSUS_ENTRIES ? count : LIMIT_CENSUS_ENTRIES;
        size_t bytes = count * sizeof(*census->items);
        struct message_counted *entries = out_borrow(core, bytes);
        struct message *message =
            out_send(core, core->gossip.tree.parent, MESSAGE_CENSUS, NULL);
        if (core->broken || message == NULL) {
            return;
        }
        if (count > 0) {
            memcpy(entries, census->items + done, bytes);
        }
        done += count;
        message->u.census = (struct message_census){.last = done == census->count,
                                                    .alike = alike,
                                                    .ranks = census->ranks,
                                                    .tasks = core->gossip.roll_len,
                                                    .sum = *sum,
                                                    .count = count,
                                                    .entry = entries};
    } while (done < census->count);
}

static void forget_entries(struct close_reduce *census)
{
    free(census->items);
    free(census->index);
    census->items = NULL;
    census->index = NULL;
    census->count = census->room = census->index_size = 0;
}

/* Not before: another view takes another census. */
void close_reduce_count(struct core *core)
{
    assert(core->termination.adjourned);
    core->stats.common += core->termination.close_reduce.common;
    core->stats.partial += core->termination.close_reduce.partial;
}

/* At the root: whoever is held and not claimed is told of. */
static void act(struct core *core)
{
    assert(core->gossip.tree.parent == NOBODY && core->step.closed);
    struct close_reduce *census = &core->termination.close_reduce;
    for (uint32_t i = 0; i < census->count; i++) {
        const struct message_counted *entry = &census->items[i];
        if (entry->holders == 0) {
            continue;
        }
        census->common += entry->holders == core->member_count;
        census->partial += entry->holders != core->member_count;
        if (entry->claimed || MUTANT(CENSUSMUTE)) {
            continue;
        }
        if (entry->witness == core->rank) {
            termination_on_resolve(core, &entry->hash,
                                   &(struct message_resolve){.what = RESOLVE_TELL});
            continue;
        }
        struct message *message =
            rankset_has(&core->members, entry->witness)
                ? out_send(core, entry->witness, MESSAGE_RESOLVE, NULL)
                : NULL;
        if (message != NULL) {
            message->hash = entry->hash;
            message->u.resolve.what = RESOLVE_TELL;
        }
    }
}

/* Not once it has been asked for all of it, though our roll may have become like that
 * meanwhile: its answer is waited for, and counted. */
static bool is_like_ours(const struct core *core,
                         const struct close_reduce_child *child,
                         const struct rollsum *sum)
{
    assert(child->in);
    return child->alike && !child->asked &&
           ((child->tasks == core->gossip.roll_len &&
             rollsum_equal(&child->sum, sum)) ||
            MUTANT(CENSUSALIKE));
}

/* Asks children whose rolls are alike, but not like ours, for all of it.  True while an
 * answer is missing. */
static bool ask_others(struct core *core, const struct rollsum *sum)
{
    bool missing = false;
    for (uint32_t i = 0; i < core->gossip.tree.child_count; i++) {
        struct close_reduce_child *child = &core->termination.close_reduce.child[i];
        if (!child->alike || is_like_ours(core, child, sum)) {
            continue;
        }
        missing |= !child->answered;
        if (!child->asked) {
            child->asked = true;
            struct message *message =
                out_send(core, core->gossip.tree.children[i], MESSAGE_CENSUS, NULL);
            if (message != NULL) {
                message->u.census = (struct message_census){.ask = true};
            }
        }
    }
    return missing;
}

void close_reduce_turn(struct core *core)
{
    assert(core->step.closed && close_reduce_is_on(core));
    struct close_reduce *census = &core->termination.close_reduce;
    if (census->told || core->broken) {
        return;
    }
    uint32_t like_ours = 1;
    bool alike = true;
    for (uint32_t i = 0; i < core->gossip.tree.child_count; i++) {
        if (!census->child[i].in && !MUTANT(CENSUSEARLY)) {
            return;
        }
    }
    struct rollsum sum = own_sum(core);
    if (ask_others(core, &sum)) {
        return;
    }
    census->ranks = 1;
    for (uint32_t i = 0; i < core->gossip.tree.child_count; i++) {
        bool like = is_like_ours(core, &census->child[i], &sum);
        alike = alike && like;
        like_ours += like ? census->child[i].ranks : 0;
        census->ranks += census->child[i].ranks;
    }
    census->told = true;
    add_own_claims(core);
    if (!alike || core->gossip.tree.parent == NOBODY) {
        add_own_roll(core, like_ours);
    }
    if (core->gossip.tree.parent == NOBODY) {
        act(core);
    } else {
        tell_parent(core, alike, &sum);
    }
    forget_entries(census);
}

/* --- Hearing --------------------------------------------------------------------- */

/* The parent's own roll, or another child's, is not like ours and all below us. */
static void tell_all(struct core *core)
{
    assert(core->termination.close_reduce.told);
    struct rollsum none = {0, 0};
    add_own_roll(core, core->termination.close_reduce.ranks);
    tell_parent(core, false, &none);
    forget_entries(&core->termination.close_reduce);
}

void close_reduce_on_census(struct core *core, uint32_t from,
                            const struct message_census *message)
{
    assert(from < core->size && from != core->rank);
    struct close_reduce *census = &core->termination.close_reduce;
    if (message->ask && from == core->gossip.tree.parent && census->told) {
        tell_all(core);
        return;
    }
    uint32_t i = 0;
    while (i < core->gossip.tree.child_count && core->gossip.tree.children[i] != from) {
        i++;
    }
    if (message->ask || i == core->gossip.tree.child_count ||
        !close_reduce_is_on(core) || census->told) {
        core->stats.refused++;
        return;
    }
    for (uint32_t k = 0; k < message->count; k++) {
        const struct message_counted *entry = &message->entry[k];
        add_holders(core, &entry->hash, entry->holders, entry->witness);
        if (entry->claimed) {
            add_claim(core, &entry->hash);
        }
    }
    struct close_reduce_child *child = &census->child[i];
    if (!message->last) {
        return;
    }
    if (child->asked) {
        child->answered = true;
        return;
    }
    *child = (struct close_reduce_child){.in = true,
                                         .alike = message->alike,
                                         .ranks = message->ranks,
                                         .tasks = message->tasks,
                                         .sum = message->sum};
}
