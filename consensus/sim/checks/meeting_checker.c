/* meeting_checker.c - see meeting_checker.h. */
#include "consensus/sim/checks/meeting_checker.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/identity.h"
#include "proto/limits.h"
#include "proto/meet_words.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One rank's knowledge of one meeting. */
struct known {
    bool came, told;
    int32_t purpose, code;
    bool listed; /* it was told who came, */
    struct rankset others;
    unsigned char *words; /* with which it came */
    size_t size;
    moot_hash all_words; /* that it was told */
};

/* The purpose of who comes to reload (reload_checker.h), unlike all others. */
enum { TO_RELOAD = -1 };

/* The neighbours in a large view: a parent, and so many children. */
enum { CHILDREN_MAX = 4, NEIGHBOURS_MAX = 1 + CHILDREN_MAX };

struct attender {
    struct known *meetings; /* by number, from 1 */
    uint64_t count;
    bool closed;
    struct rankset *views; /* in which it has been */
    uint32_t view_count;
    uint64_t epoch;            /* in which it has */
    struct rankset neighbours; /* heard of meetings from these, or told them */
};

struct meeting_checker {
    uint32_t first, limit; /* ranks of the first view; that there may be */
    struct attender *attenders;
    uint64_t newest; /* epoch that any rank has entered, */
    struct rankset members;
    bool boundary; /* newcomers are let in at meetings alone, for this */
    int32_t admits;
    struct rankset gone; /* dead, or no part of it any more */
};

static void *grown(void *items, size_t count, size_t size)
{
    void *more = realloc(items, count * size);
    if (more == NULL) {
        abort();
    }
    return more;
}

/* A rank's knowledge of the meeting, to be written to. */
static struct known *known_at(struct meeting_checker *checker, uint32_t rank,
                              uint64_t meeting)
{
    struct attender *attender = &checker->attenders[rank];
    while (attender->count <= meeting) {
        attender->meetings =
            grown(attender->meetings, attender->count + 1, sizeof(*attender->meetings));
        attender->meetings[attender->count++] = (struct known){0};
    }
    return &attender->meetings[meeting];
}

static void add_view(struct attender *attender, const struct rankset *members)
{
    attender->views =
        grown(attender->views, attender->view_count + 1, sizeof(*attender->views));
    attender->views[attender->view_count] = (struct rankset){0};
    ranks_copy(&attender->views[attender->view_count++], members);
}

struct meeting_checker *meeting_checker_new(const struct program *program,
                                            const struct storm *storm)
{
    struct meeting_checker *checker = calloc(1, sizeof(*checker));
    if (checker == NULL) {
        abort();
    }
    checker->first = storm != NULL ? storm->first : program->rank_count;
    checker->limit = program->rank_count + (storm != NULL ? storm->comebacks : 0);
    checker->attenders = calloc(checker->limit, sizeof(*checker->attenders));
    if (checker->attenders == NULL) {
        abort();
    }
    checker->newest = 1;
    checker->boundary = storm != NULL && storm->boundary;
    checker->admits = (int32_t)sim_boundary_purpose(program);
    ranks_fill(&checker->members, checker->first);
    return checker;
}

void meeting_checker_free(struct meeting_checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        struct attender *attender = &checker->attenders[rank];
        for (uint64_t i = 0; i < attender->count; i++) {
            rankset_release(&attender->meetings[i].others);
            free(attender->meetings[i].words);
        }
        for (uint32_t i = 0; i < attender->view_count; i++) {
            rankset_release(&attender->views[i]);
        }
        rankset_release(&attender->neighbours);
        free(attender->meetings);
        free(attender->views);
    }
    rankset_release(&checker->members);
    rankset_release(&checker->gone);
    free(checker->attenders);
    free(checker);
}

/* --- All came --------------------------------------------------------------------- */

static bool has_come(struct meeting_checker *checker, uint32_t rank, uint64_t meeting)
{
    return known_at(checker, rank, meeting)->came;
}

static bool all_came(struct meeting_checker *checker, const struct rankset *members,
                     uint64_t meeting)
{
    FOR_RANKS(rank, members)
    {
        if (!has_come(checker, rank, meeting) && !checker->attenders[rank].closed) {
            return false;
        }
    }
    return true;
}

/* The first view, which nobody enters, is that of all. */
static bool all_came_in_some_view(struct meeting_checker *checker, uint32_t rank,
                                  uint64_t meeting)
{
    const struct attender *attender = &checker->attenders[rank];
    struct rankset all = {0};
    ranks_fill(&all, checker->first);
    bool good = rank < checker->first && all_came(checker, &all, meeting);
    for (uint32_t i = 0; !good && i < attender->view_count; i++) {
        good = all_came(checker, &attender->views[i], meeting);
    }
    rankset_release(&all);
    return good;
}

static void check_came(struct meeting_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    bool anybody = false, good = true;
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        bool is_in = sight->members != NULL && rankset_has(sight->members, rank);
        good &= !is_in || has_come(checker, rank, sight->meeting);
        anybody |= has_come(checker, rank, sight->meeting) &&
                   all_came_in_some_view(checker, rank, sight->meeting);
    }
    bool was_there = sight->members != NULL && rankset_has(sight->members, sight->rank);
    if (!good || !anybody ||
        (was_there && !all_came_in_some_view(checker, sight->rank, sight->meeting))) {
        sim_fail(sim, "all came",
                 "rank %" PRIu32 " leaves meeting %" PRIu64 ", to which some have yet "
                 "to come",
                 sight->rank, sight->meeting);
    }
}

/* --- Words -------------------------------------------------------------------------
 */

static bool says_the_same(const struct known *a, const struct known *b)
{
    return a->size == b->size && memcmp(a->words, b->words, a->size) == 0;
}

/* A speaker is the first of the ranks that came with the same words. */
static bool is_first_to_say(struct meeting_checker *checker, const struct sight *sight,
                            uint32_t speaker)
{
    struct known *known = known_at(checker, speaker, sight->meeting);
    if (known->size == 0) {
        return false;
    }
    FOR_RANKS(rank, sight->members)
    {
        if (rank < speaker &&
            says_the_same(known_at(checker, rank, sight->meeting), known)) {
            return false;
        }
    }
    return true;
}

/* All words of those who came, each once, in bytes. */
static size_t words_size(struct meeting_checker *checker, const struct sight *sight)
{
    size_t size = 0;
    FOR_RANKS(rank, sight->members)
    {
        if (rank < checker->limit && is_first_to_say(checker, sight, rank)) {
            size += WORDS_HEAD_BYTES + known_at(checker, rank, sight->meeting)->size;
        }
    }
    return size;
}

static bool is_told(const struct sight *sight, const struct known *known)
{
    struct words_frame frame;
    size_t at = 0;
    while (words_next(sight->data, sight->size, &at, &frame)) {
        if (frame.size == known->size &&
            memcmp(frame.bytes, known->words, known->size) == 0) {
            return true;
        }
    }
    return false;
}

/* Those of all who came are told, each once, if they are not too many. */
static void check_words(struct meeting_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const size_t whole = words_size(checker, sight);
    bool good = sight->size == (sight->code == MOOT_OK ? whole : 0);
    FOR_RANKS(rank, sight->members)
    {
        const struct known *known = known_at(checker, rank, sight->meeting);
        good = good && (sight->size == 0 || known->size == 0 || is_told(sight, known));
    }
    if (!good) {
        sim_fail(sim, "words",
                 "rank %" PRIu32 " leaves meeting %" PRIu64 " with %zu bytes of words, "
                 "and those who came had %zu, or others",
                 sight->rank, sight->meeting, sight->size, whole);
    }
}

/* --- One outcome ------------------------------------------------------------------ */

static void check_code(struct meeting_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    int32_t purpose = 0;
    bool any = false, mixed = false;
    const int32_t limit =
        words_size(checker, sight) > LIMIT_WORDS_BYTES ? MOOT_ERR_LIMIT : MOOT_OK;
    FOR_RANKS(rank, sight->members)
    {
        int32_t other = rank < checker->limit
                            ? known_at(checker, rank, sight->meeting)->purpose
                            : 0;
        mixed |= any && other != purpose;
        purpose = other;
        any = true;
    }
    if (sight->code != (mixed ? MOOT_ERR_STATE : limit)) {
        sim_fail(sim, "one outcome",
                 "rank %" PRIu32 " leaves meeting %" PRIu64 " with %" PRId32,
                 sight->rank, sight->meeting, sight->code);
    }
}

static void check_alike(struct meeting_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        const struct known *other = known_at(checker, rank, sight->meeting);
        if (!other->told || !other->listed || !rankset_has(&checker->members, rank) ||
            !rankset_has(&checker->members, sight->rank)) {
            continue;
        }
        const moot_hash words = digest_bytes(sight->data, sight->size);
        if (other->code != sight->code || !hash_equal(&other->all_words, &words) ||
            !rankset_equal(&other->others, sight->members)) {
            sim_fail(sim, "one outcome",
                     "rank %" PRIu32 " leaves meeting %" PRIu64 " of %s, and rank "
                     "%" PRIu32 " of %s",
                     sight->rank, sight->meeting, ranks_text(sight->members).text, rank,
                     ranks_text(&other->others).text);
        }
    }
}

/* --- In a large view nobody speaks with many ------------------------------------- */

static void add_neighbour(struct meeting_checker *checker, struct sim *sim,
                          uint32_t rank, uint32_t other, uint64_t epoch)
{
    struct attender *attender = &checker->attenders[rank];
    if (attender->epoch > epoch) {
        return;
    }
    if (attender->epoch < epoch) {
        rankset_release(&attender->neighbours);
        attender->epoch = epoch;
    }
    if (!rankset_add(&attender->neighbours, other)) {
        abort();
    }
    if (rankset_count(&attender->neighbours) > NEIGHBOURS_MAX) {
        sim_fail(sim, "crowd",
                 "rank %" PRIu32 " speaks of meetings with %s in view %" PRIu64, rank,
                 ranks_text(&attender->neighbours).text, epoch);
    }
}

/* The first view is never entered, and has all its ranks. */
static uint32_t members_of(const struct meeting_checker *checker, uint32_t rank)
{
    const struct attender *attender = &checker->attenders[rank];
    return attender->view_count == 0
               ? checker->first
               : rankset_count(&attender->views[attender->view_count - 1]);
}

static void see_word(struct meeting_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    const uint64_t epoch = sight->message->epoch;
    if (members_of(checker, sight->rank) > sim_direct_max(sim)) {
        add_neighbour(checker, sim, sight->rank, sight->peer, epoch);
        add_neighbour(checker, sim, sight->peer, sight->rank, epoch);
    }
}

/* --- Watching --------------------------------------------------------------------- */

static void see_outcome(struct meeting_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    check_came(checker, sim, sight);
    if (sight->members != NULL) {
        check_code(checker, sim, sight);
        check_words(checker, sim, sight);
        check_alike(checker, sim, sight);
    } else if (sight->rank < checker->first) {
        sim_fail(sim, "one outcome",
                 "rank %" PRIu32 " is not told who came to meeting %" PRIu64,
                 sight->rank, sight->meeting);
    }
    struct known *known = known_at(checker, sight->rank, sight->meeting);
    known->told = true;
    known->code = sight->code;
    known->listed = sight->members != NULL;
    known->all_words = digest_bytes(sight->data, sight->size);
    if (known->listed) {
        ranks_copy(&known->others, sight->members);
    }
}

/* --- At a boundary somebody is let in ----------------------------------------------
 */

static bool stands(const struct meeting_checker *checker, uint32_t rank)
{
    const struct attender *attender = &checker->attenders[rank];
    bool waits = false;
    for (uint64_t i = 0; i < attender->count; i++) {
        const struct known *known = &attender->meetings[i];
        waits =
            waits || (known->came && !known->told && known->purpose == checker->admits);
    }
    return waits || attender->closed || rankset_has(&checker->gone, rank);
}

/* The first rank that enters a view with somebody new. */
static void check_let_in(struct meeting_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    bool anybody = false;
    FOR_RANKS(rank, sight->members)
    {
        anybody = anybody ||
                  (rank >= checker->first && checker->attenders[rank].view_count == 0 &&
                   !rankset_has(&checker->members, rank));
    }
    FOR_RANKS(rank, &checker->members)
    {
        if (anybody && !stands(checker, rank)) {
            sim_fail(sim, "let in",
                     "rank %" PRIu32 " is at no meeting when view %" PRIu64
                     " lets somebody in",
                     rank, sight->epoch);
        }
    }
}

static void enter_view(struct meeting_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    if (checker->boundary && sight->epoch == checker->newest + 1 &&
        rankset_count(&checker->members) <= sim_direct_max(sim)) {
        check_let_in(checker, sim, sight);
    }
    add_view(&checker->attenders[sight->rank], sight->members);
    if (sight->epoch > checker->newest) {
        checker->newest = sight->epoch;
        ranks_copy(&checker->members, sight->members);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct meeting_checker *checker = context;
    if (sight->type == SIGHT_MEET) {
        struct known *known = known_at(checker, sight->rank, sight->meeting);
        known->came = true;
        known->purpose = sight->code;
        if (sight->size > 0) {
            known->words = grown(known->words, 1, sight->size);
            memcpy(known->words, sight->data, sight->size);
        }
        known->size = sight->size;
    } else if (sight->type == SIGHT_MET) {
        see_outcome(checker, sim, sight);
    } else if (sight->type == SIGHT_RELOAD) {
        struct known *known = known_at(checker, sight->rank, sight->meeting);
        known->came = true;
        known->purpose = TO_RELOAD;
    } else if (sight->type == SIGHT_RELOADED && sight->meeting > 0) {
        check_came(checker, sim, sight);
        known_at(checker, sight->rank, sight->meeting)->told = true;
    } else if (sight->type == SIGHT_CLOSE || sight->type == SIGHT_LEAVE) {
        checker->attenders[sight->rank].closed = true;
    } else if (sight->type == SIGHT_SEND && sight->message->type == MESSAGE_MEET) {
        see_word(checker, sim, sight);
    } else if (sight->type == SIGHT_VIEW) {
        enter_view(checker, sim, sight);
    } else if (sight->type == SIGHT_CRASH || sight->type == SIGHT_FENCED ||
               sight->type == SIGHT_LEFT || sight->type == SIGHT_DEPARTED) {
        if (!rankset_add(&checker->gone, sight->rank)) {
            abort();
        }
    }
}

struct sim_watcher meeting_checker_watcher(struct meeting_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
