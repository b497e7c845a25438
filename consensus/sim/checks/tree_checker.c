/* tree_checker.c - see tree_checker.h. */
#include "consensus/sim/checks/tree_checker.h"
#include "proto/limits.h"
#include <inttypes.h>
#include <stdlib.h>

/* Words of one owner about one result in one view. */
struct answers {
    struct answers *next;
    uint32_t owner;
    uint64_t epoch;
    uint32_t firsthand;    /* ranks that it sent the bytes, unless they came back */
    uint32_t *children;    /* by rank: so many were referred to it */
    struct rankset placed; /* whom it sent the bytes, or referred */
    struct rankset again;  /* of those, who has asked it since */
};

/* A rank that was referred to another, in one view. */
struct way {
    struct way *next;
    uint32_t from, at;
    uint64_t epoch;
};

struct tree_seen {
    struct answers *answers;
    struct way *ways;
    struct rankset ended_at; /* ranks that have run it to its end */
};

struct tree_checker {
    const struct program *program;
    struct tree_seen *tasks;
};

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void include(struct rankset *set, uint32_t rank)
{
    if (!rankset_add(set, rank)) {
        abort();
    }
}

struct tree_checker *tree_checker_new(const struct program *program)
{
    struct tree_checker *checker = zeroed(1, sizeof(*checker));
    checker->program = program;
    checker->tasks = zeroed(program->task_count + 1u, sizeof(*checker->tasks));
    return checker;
}

static void clear(struct answers *answers)
{
    free(answers->children);
    rankset_release(&answers->placed);
    rankset_release(&answers->again);
}

void tree_checker_free(struct tree_checker *checker)
{
    for (uint32_t i = 0; checker != NULL && i < checker->program->task_count; i++) {
        struct tree_seen *seen = &checker->tasks[i];
        for (struct answers *it = seen->answers; it != NULL;) {
            struct answers *next = it->next;
            clear(it);
            free(it);
            it = next;
        }
        for (struct way *it = seen->ways; it != NULL;) {
            struct way *next = it->next;
            free(it);
            it = next;
        }
        rankset_release(&seen->ended_at);
    }
    if (checker != NULL) {
        free(checker->tasks);
    }
    free(checker);
}

static struct answers *answers_by(const struct tree_seen *seen, uint32_t owner)
{
    struct answers *found = seen->answers;
    while (found != NULL && found->owner != owner) {
        found = found->next;
    }
    return found;
}

/* Those of this owner in this view, which begin with nothing. */
static struct answers *answers_of(struct tree_seen *seen, const struct sim *sim,
                                  uint32_t owner, uint64_t epoch)
{
    struct answers *found = answers_by(seen, owner);
    if (found != NULL && found->epoch == epoch) {
        return found;
    }
    if (found == NULL) {
        found = zeroed(1, sizeof(*found));
        found->next = seen->answers;
        seen->answers = found;
    }
    clear(found);
    *found = (struct answers){
        .next = found->next,
        .owner = owner,
        .epoch = epoch,
        .children = zeroed(sim_rank_limit(sim), sizeof(*found->children))};
    return found;
}

static bool was_referred(const struct tree_seen *seen, uint32_t from, uint32_t at,
                         uint64_t epoch)
{
    for (const struct way *it = seen->ways; it != NULL; it = it->next) {
        if (it->from == from && it->at == at && it->epoch == epoch) {
            return true;
        }
    }
    return false;
}

static const char *name(const struct tree_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

/* An owner's bytes. */
static void check_copy(const struct tree_checker *checker, struct sim *sim,
                       const struct sight *sight, struct answers *answers)
{
    if (rankset_has(&answers->placed, sight->peer)) {
        if (!rankset_has(&answers->again, sight->peer)) {
            sim_fail(sim, "copies",
                     "rank %" PRIu32 " sends rank %" PRIu32
                     " the bytes of %s again, unasked",
                     sight->rank, sight->peer, name(checker, sight->task));
        }
        rankset_remove(&answers->again, sight->peer);
        return;
    }
    include(&answers->placed, sight->peer);
    if (sim_tree_fanout(sim) != 0 && ++answers->firsthand > sim_tree_fanout(sim)) {
        sim_fail(sim, "copies",
                 "rank %" PRIu32 " sends %" PRIu32 " ranks the bytes of %s",
                 sight->rank, answers->firsthand, name(checker, sight->task));
    }
}

static void check_referral(const struct tree_checker *checker, struct sim *sim,
                           const struct sight *sight, struct tree_seen *seen,
                           struct answers *answers)
{
    const uint32_t at = sight->message->u.result.at - 1;
    if (at >= sim_rank_limit(sim) || at == sight->peer ||
        !rankset_has(&answers->placed, at) ||
        rankset_has(&answers->placed, sight->peer)) {
        sim_fail(sim, "referral",
                 "rank %" PRIu32 " refers rank %" PRIu32 " to rank %" PRIu32 " for %s",
                 sight->rank, sight->peer, at, name(checker, sight->task));
        return;
    }
    include(&answers->placed, sight->peer);
    if (++answers->children[at] > sim_tree_fanout(sim)) {
        sim_fail(sim, "copies",
                 "rank %" PRIu32 " refers %" PRIu32 " ranks to rank %" PRIu32 " for %s",
                 sight->rank, answers->children[at], at, name(checker, sight->task));
    }
    struct way *way = zeroed(1, sizeof(*way));
    *way = (struct way){seen->ways, sight->peer, at, sight->message->epoch};
    seen->ways = way;
}

static void check_result(struct tree_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    struct tree_seen *seen = &checker->tasks[sight->task];
    const struct message_result *result = &sight->message->u.result;
    const uint64_t epoch = sight->message->epoch;
    if (result->away) {
        if (!was_referred(seen, sight->peer, sight->rank, epoch)) {
            sim_fail(sim, "referral",
                     "rank %" PRIu32 " says that the bytes of %s are away to rank"
                     " %" PRIu32 ", which was not referred to it",
                     sight->rank, name(checker, sight->task), sight->peer);
        }
        return;
    }
    if (result->handover || result->part > 1 ||
        result->owner_uid != sim_uid(sim, sight->rank)) {
        return;
    }
    if (result->data == RESULT_BULK) {
        check_copy(checker, sim, sight, answers_of(seen, sim, sight->rank, epoch));
    } else if (result->at != 0) {
        check_referral(checker, sim, sight, seen,
                       answers_of(seen, sim, sight->rank, epoch));
    }
}

static void check_pull(struct tree_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct tree_seen *seen = &checker->tasks[sight->task];
    const uint64_t epoch = sight->message->epoch;
    if (!rankset_has(&seen->ended_at, sight->peer) &&
        !was_referred(seen, sight->rank, sight->peer, epoch)) {
        sim_fail(sim, "referral",
                 "rank %" PRIu32 " asks rank %" PRIu32
                 " for the bytes of %s, and was not referred to it",
                 sight->rank, sight->peer, name(checker, sight->task));
    }
    struct answers *answers = answers_by(seen, sight->peer);
    if (answers != NULL && answers->epoch == epoch &&
        rankset_has(&answers->placed, sight->rank)) {
        include(&answers->again, sight->rank);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct tree_checker *checker = context;
    if (sight->task >= checker->program->task_count) {
        return;
    }
    if (sight->type == SIGHT_END) {
        include(&checker->tasks[sight->task].ended_at, sight->rank);
    } else if (sight->type == SIGHT_SEND && sight->message->type == MESSAGE_RESULT) {
        check_result(checker, sim, sight);
    } else if (sight->type == SIGHT_SEND && sight->message->type == MESSAGE_PULL) {
        check_pull(checker, sim, sight);
    }
}

struct sim_watcher tree_checker_watcher(struct tree_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
