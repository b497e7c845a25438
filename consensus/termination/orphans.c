/* orphans.c - which waits fail when nobody holds what they are for (PROTOCOL.md,
 * QUIET).
 *
 * When all is quiet and nothing is left to yield, some wait is to fail, for what it is
 * for will never be held.  Which one is a guess, since the program may go on from it to
 * spawn what the others wait for.  Best is the one that is the least likely to be held
 * by anybody still there: of a task that was known to be held by one who has left; then
 * of one that such a rank chaired, and may have claimed without a word.  Of alike ones
 * that of who has come least far goes first, since others may wait for what it is yet
 * to spawn.
 *
 * What the same waits need, and no others, fails together: no spawn can come between
 * the ends of its parts, as a rank goes on only when all have ended that its wait
 * needs.  So do tasks that need several.  But where one part is needed by another wait
 * besides, its rank goes on from that, and may spawn the rest.
 */
#include "consensus/termination/termination_private.h"

#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>

static enum orphan_standing standing_of(const struct core *core,
                                        const struct task_record *task)
{
    if (MUTANT(GONELATE)) {
        return ORPHAN_UNKNOWN;
    }
    if (task->seen || task_ext(task)->bereft) {
        return ORPHAN_BEREFT;
    }
    return presume_left_chaired(core, task) ? ORPHAN_PERHAPS : ORPHAN_UNKNOWN;
}

static bool asks_before(const struct asker *a, const struct asker *b)
{
    return b == NULL || a->len < b->len || (a->len == b->len && a->rank < b->rank);
}

bool orphan_of(const struct core *core, const struct task_record *task,
               struct message_orphan *out)
{
    assert(task->requests != NULL);
    const struct asker *first = NULL;
    uint64_t waits = WAITS_NONE;
    for (uint32_t i = 0; i < task->requests->asker_count; i++) {
        const struct asker *asker = &task->requests->askers[i];
        if (asker->want == WANT_NOTHING) {
            continue;
        }
        waits = waits_union(waits, waits_of_rank(asker->waits, asker->rank));
        if (asks_before(asker, first)) {
            first = asker;
        }
    }
    if (first == NULL) {
        return false;
    }
    *out = (struct message_orphan){.standing = standing_of(core, task),
                                   .len = first->len,
                                   .asker = first->rank,
                                   .wait = MUTANT(WAITAPART)   ? WAITS_ALONE
                                           : MUTANT(WAITFIRST) ? first->waits
                                                               : waits};
    return true;
}

static int compare_words(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare(const struct message_orphan *a, const struct message_orphan *b)
{
    int order = compare_words(a->standing, b->standing);
    order = order != 0 ? order : compare_words(a->len, b->len);
    return order != 0 ? order : compare_words(a->asker, b->asker);
}

bool orphan_is_less(const struct message_orphan *a, const moot_hash *hash_of_a,
                    const struct message_orphan *b, const moot_hash *hash_of_b)
{
    int order = compare(a, b);
    return order < 0 || (order == 0 && hash_compare(hash_of_a, hash_of_b) < 0);
}

bool orphan_is_meant(const struct message_orphan *orphan, const moot_hash *hash,
                     const struct message_orphan *meant, const moot_hash *hash_meant)
{
    return compare(orphan, meant) == 0 &&
           (waits_alike(orphan->wait, meant->wait) || hash_equal(hash, hash_meant));
}

static bool is_orphan(const struct core *core, const struct task_record *task)
{
    return task->requests->undecided && !chair_has_holder(core, task);
}

void orphans_fail(struct core *core, const struct message_orphan *meant,
                  const moot_hash *hash)
{
    const struct task_record *end = &core->ownership.undecided;
    uint32_t all = 0, count = 0;
    for (const struct task_record *task =
             core->ownership.undecided_requests.undecided_next;
         task != end; task = task->requests->undecided_next) {
        all++;
    }
    struct task_record **list = out_borrow(core, (all + 1) * sizeof(*list));
    for (struct task_record *task = core->ownership.undecided_requests.undecided_next;
         list != NULL && task != end; task = task->requests->undecided_next) {
        struct message_orphan orphan;
        if (is_orphan(core, task) && orphan_of(core, task, &orphan) &&
            orphan_is_meant(&orphan, &task->hash, meant, hash)) {
            list[count++] = task;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_orphan(core, list[i])) { /* the end of one may decide others */
            verdict_unheld(core, list[i]);
        }
    }
}
