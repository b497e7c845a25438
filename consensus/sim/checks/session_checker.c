/* session_checker.c - see session_checker.h. */
#include "consensus/sim/checks/session_checker.h"
#include "consensus/sim/programs/ranks.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A session as a rank began it: without a list if it was told of it. */
struct begun {
    bool by_list;
    struct rankset list;
};

/* One rank's sessions, and the meetings to which it came. */
struct goer {
    uint64_t number; /* of its session; 0: none yet */
    struct begun *sessions;
    uint64_t count;              /* numbers below are in sessions[] */
    struct rankset came, before; /* as its last two meetings ended */
    bool goes,
        closed; /* it has said so at the end of its session; has closed, or leaves */
    struct rankset view;
};

struct session_checker {
    uint32_t limit;
    struct goer *goers;
    uint64_t newest_view, newest_session;
    struct rankset members; /* of the newest view */
};

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (items == NULL) {
        abort();
    }
    return items;
}

struct session_checker *session_checker_new(const struct program *program,
                                            const struct storm *storm)
{
    struct session_checker *checker = zeroed(1, sizeof(*checker));
    checker->limit = program->rank_count + storm->comebacks;
    checker->goers = zeroed(checker->limit, sizeof(*checker->goers));
    checker->newest_view = checker->newest_session = 1;
    ranks_fill(&checker->members, storm->first);
    for (uint32_t rank = 0; rank < storm->first; rank++) {
        checker->goers[rank].number = 1;
        ranks_fill(&checker->goers[rank].view, storm->first);
    }
    return checker;
}

void session_checker_free(struct session_checker *checker)
{
    for (uint32_t rank = 0; checker != NULL && rank < checker->limit; rank++) {
        struct goer *goer = &checker->goers[rank];
        for (uint64_t i = 0; i < goer->count; i++) {
            rankset_release(&goer->sessions[i].list);
        }
        rankset_release(&goer->came);
        rankset_release(&goer->before);
        rankset_release(&goer->view);
        free(goer->sessions);
    }
    if (checker != NULL) {
        rankset_release(&checker->members);
        free(checker->goers);
        free(checker);
    }
}

static struct begun *begun_at(struct goer *goer, uint64_t number)
{
    if (number >= goer->count) {
        struct begun *more =
            realloc(goer->sessions, (number + 1) * sizeof(*goer->sessions));
        if (more == NULL) {
            abort();
        }
        memset(more + goer->count, 0, (number + 1 - goer->count) * sizeof(*more));
        goer->sessions = more;
        goer->count = number + 1;
    }
    return &goer->sessions[number];
}

/* --- Checks ----------------------------------------------------------------------- */

static void check_list(struct session_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        struct goer *other = &checker->goers[rank];
        if (sight->meeting >= other->count ||
            !rankset_has(&checker->members, sight->rank) ||
            !rankset_has(&checker->members, rank)) {
            continue;
        }
        const struct begun *begun = &other->sessions[sight->meeting];
        if (begun->by_list && !rankset_equal(&begun->list, sight->members)) {
            sim_fail(sim, "one session",
                     "session %" PRIu64 " is of %s for rank %" PRIu32 ", and of %s for "
                     "rank %" PRIu32,
                     sight->meeting, ranks_text(sight->members).text, sight->rank,
                     ranks_text(&begun->list).text, rank);
        }
    }
}

static void check_gone(struct session_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct goer *goer = &checker->goers[sight->rank];
    FOR_RANKS(rank, &goer->before)
    {
        const bool stays_closed =
            checker->goers[rank].closed && !checker->goers[rank].goes;
        if (!rankset_has(&goer->came, rank) && rankset_has(&goer->view, rank) &&
            !stays_closed) {
            sim_fail(sim, "gone first",
                     "rank %" PRIu32 " begins session %" PRIu64 " without rank %" PRIu32
                     ", which is still a member",
                     sight->rank, sight->meeting, rank);
        }
    }
}

/* By this rank's own lists, that before the last and any before it. */
static void check_again(struct session_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct goer *goer = &checker->goers[sight->rank];
    const struct begun *last =
        sight->meeting - 1 < goer->count ? &goer->sessions[sight->meeting - 1] : NULL;
    for (uint64_t i = 0; last != NULL && last->by_list && i < sight->meeting - 1; i++) {
        FOR_RANKS(rank, &goer->sessions[i].list)
        {
            if (!rankset_has(&last->list, rank) && rankset_has(sight->members, rank)) {
                sim_fail(sim, "not again",
                         "session %" PRIu64 " has rank %" PRIu32 " again, which was in "
                         "session %" PRIu64 " and not in the last",
                         sight->meeting, rank, i);
            }
        }
    }
}

static void check_told(struct session_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    if (sight->meeting > checker->newest_session ||
        sight->meeting <= checker->goers[sight->rank].number) {
        sim_fail(sim, "told",
                 "rank %" PRIu32 " is told session %" PRIu64 "; it was in %" PRIu64
                 ", and the newest is %" PRIu64,
                 sight->rank, sight->meeting, checker->goers[sight->rank].number,
                 checker->newest_session);
    }
}

/* --- Watching --------------------------------------------------------------------- */

static void see_session(struct session_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct goer *goer = &checker->goers[sight->rank];
    if (sight->members == NULL) {
        check_told(checker, sim, sight);
    } else {
        if (sight->meeting != goer->number + 1) {
            sim_fail(sim, "one session",
                     "rank %" PRIu32 " begins session %" PRIu64 " after %" PRIu64,
                     sight->rank, sight->meeting, goer->number);
        }
        if (!rankset_equal(&goer->came, sight->members)) {
            sim_fail(sim, "one session",
                     "rank %" PRIu32 " begins session %" PRIu64 " of %s, and the "
                     "meeting had %s",
                     sight->rank, sight->meeting, ranks_text(sight->members).text,
                     ranks_text(&goer->came).text);
        }
        check_list(checker, sim, sight);
        check_gone(checker, sim, sight);
        check_again(checker, sim, sight);
    }
    goer->number = sight->meeting;
    struct begun *begun = begun_at(goer, sight->meeting);
    begun->by_list = sight->members != NULL;
    if (begun->by_list) {
        ranks_copy(&begun->list, sight->members);
        checker->newest_session = sight->meeting > checker->newest_session
                                      ? sight->meeting
                                      : checker->newest_session;
    }
}

static void see_outcome(struct goer *goer, const struct sight *sight)
{
    rankset_release(&goer->before);
    goer->before = goer->came;
    goer->came = (struct rankset){0};
    if (sight->members != NULL) {
        ranks_copy(&goer->came, sight->members);
    }
}

static void see_view(struct session_checker *checker, const struct sight *sight)
{
    ranks_copy(&checker->goers[sight->rank].view, sight->members);
    if (sight->epoch > checker->newest_view) {
        checker->newest_view = sight->epoch;
        ranks_copy(&checker->members, sight->members);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct session_checker *checker = context;
    if (sight->type == SIGHT_MEET) {
        checker->goers[sight->rank].goes |= sight->goes;
    } else if (sight->type == SIGHT_CLOSE || sight->type == SIGHT_LEAVE) {
        checker->goers[sight->rank].closed = true;
    } else if (sight->type == SIGHT_MET) {
        see_outcome(&checker->goers[sight->rank], sight);
    } else if (sight->type == SIGHT_VIEW) {
        see_view(checker, sight);
    } else if (sight->type == SIGHT_SESSION) {
        see_session(checker, sim, sight);
    }
}

struct sim_watcher session_checker_watcher(struct session_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
