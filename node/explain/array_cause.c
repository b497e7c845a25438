/* array_cause.c - what a wait for a task array hangs on, among its elements.
 *
 * The array's chair knows which elements nobody has spawned, and which homes have
 * neither spawned theirs nor given them up (PROTOCOL.md, A8).  Of all others the rank
 * that runs them tells whether they run, are ready, or lack what they take.
 */
#include "node/explain/diagnosis_private.h"

#include "hashing/identity.h"

static const Moot__Account__Elements *elements_by(const struct picture *picture,
                                                  uint32_t rank, const moot_hash *hash)
{
    const Moot__Account__Task *task = picture_task(picture, rank, hash);
    return task != NULL ? task->elements : NULL;
}

/* Its program may yet spawn something: it is neither in a wait nor at its end. */
static bool goes_on(const Moot__Account *account)
{
    bool on = account->running > account->stopped ||
              (account->n_lanes == 0 && !account->closed);
    for (size_t i = 0; i < account->n_lanes; i++) {
        const uint32_t state = account->lanes[i]->state;
        on |= state != CORE_LANE_BLOCKED && state != CORE_LANE_ENDED;
    }
    return on;
}

/* One of these ranks cannot be heard, or not by the chair. */
static bool blame_unheard(const struct picture *picture, struct finding *finding,
                          uint32_t chair, const ProtobufCBinaryData *ranks)
{
    struct rankset among = {0};
    bool found = false;
    (void)account_ranks(ranks, &among);
    for (uint32_t rank = rankset_next(&among, 0); rank < picture->size && !found;
         rank = rankset_next(&among, rank + 1)) {
        found = true;
        if (picture->seats[rank].account == NULL && picture_is_silent(picture, rank)) {
            conclude_silent(picture, finding, rank);
        } else if (picture_loses(picture, rank, chair)) {
            conclude_lost(finding, rank, chair);
        } else if (picture_loses(picture, chair, rank)) {
            conclude_lost(finding, chair, rank);
        } else {
            found = false;
        }
    }
    rankset_release(&among);
    return found;
}

/* The homes that have not spawned theirs.  One that says that it has spawned the array,
 * of which the chair has not heard, has spawned all of it: of a part it is told first.
 */
static void find_lacking(const struct picture *picture, uint32_t chair,
                         const moot_hash *hash, struct rankset *out)
{
    const Moot__Account__Task *task = picture_task(picture, chair, hash);
    struct rankset homes = {0}, known = {0};
    (void)account_ranks(&task->elements->lacking, &homes);
    (void)account_ranks(&task->elements->partial, &known);
    for (uint32_t rank = rankset_next(&homes, 0); rank < picture->size;
         rank = rankset_next(&homes, rank + 1)) {
        const Moot__Account__Task *there = picture_task(picture, rank, hash);
        if (there == NULL || !there->held || rank == chair ||
            rankset_has(&known, rank)) {
            (void)rankset_add(out, rank);
        }
    }
    rankset_release(&homes);
    rankset_release(&known);
}

/* The chair asks homes for what they have not spawned once it is idle, and they answer
 * once they rest. */
static bool blame_unclaimed(const struct picture *picture, struct finding *finding,
                            uint32_t chair, const moot_hash *hash)
{
    const Moot__Account *account = picture->seats[chair].account;
    struct rankset lacking = {0};
    find_lacking(picture, chair, hash, &lacking);
    uint32_t rank = rankset_next(&lacking, 0);
    while (rank < picture->size && (picture->seats[rank].account == NULL ||
                                    !goes_on(picture->seats[rank].account))) {
        rank = rankset_next(&lacking, rank + 1);
    }
    const bool any = !rankset_empty(&lacking), trusts = account->mode != CORE_REPAIR;
    if (rank >= picture->size && any && (trusts || goes_on(account))) {
        rank = trusts ? rankset_next(&lacking, 0) : chair;
    }
    rankset_release(&lacking);
    if (rank < picture->size) {
        conclude(finding, CAUSE_UNDECIDED, rank);
        finding->lack = trusts ? CORE_LACK_MODE : CORE_LACK_EVIDENCE;
        finding->elements = true;
    }
    return rank < picture->size;
}

static bool blame_chair_knows(const struct picture *picture, struct finding *finding,
                              uint32_t chair, const moot_hash *hash)
{
    const Moot__Account__Elements *elements =
        chair < picture->size ? elements_by(picture, chair, hash) : NULL;
    if (elements == NULL || !elements->keeps) {
        return false;
    }
    if (blame_unheard(picture, finding, chair, &elements->homes) ||
        blame_unheard(picture, finding, chair, &elements->lacking) ||
        blame_unclaimed(picture, finding, chair, hash)) {
        return true;
    }
    if (elements->unspawned > 0) {
        conclude(finding, CAUSE_NOBODY, PLACEMENT_NOBODY);
        finding->elements = true;
        return true;
    }
    return false;
}

/* The rank whose element of it has run for longest; PLACEMENT_NOBODY: none runs. */
static uint32_t find_runner(const struct picture *picture, const moot_hash *hash)
{
    const Moot__Account__Task *longest = NULL;
    uint32_t runner = PLACEMENT_NOBODY;
    struct said said = picture_said(picture, hash);
    while (picture_next(&said)) {
        const Moot__Account__Elements *elements = said.task->elements;
        if (elements != NULL && elements->running != 0 &&
            (longest == NULL || said.task->runs_ns > longest->runs_ns)) {
            longest = said.task;
            runner = said.rank;
        }
    }
    return runner;
}

/* The first rank that has such elements: they lack something, or lack nothing. */
static uint32_t find_keeper(const struct picture *picture, const moot_hash *hash,
                            bool lacks)
{
    uint32_t keeper = PLACEMENT_NOBODY;
    struct said said = picture_said(picture, hash);
    while (picture_next(&said) && keeper == PLACEMENT_NOBODY) {
        const Moot__Account__Elements *elements = said.task->elements;
        const bool has =
            elements != NULL && picture->seats[said.rank].account != NULL &&
            (lacks ? elements->input.len > 0 : elements->own > elements->waiting);
        keeper = has ? said.rank : keeper;
    }
    return keeper;
}

enum elements_way follow_elements(const struct picture *picture,
                                  struct finding *finding, uint32_t *asker,
                                  moot_hash *hash)
{
    if (!hash_has(hash, MOOT_HASH_ARRAY)) {
        return ELEMENTS_WAY_NONE;
    }
    if (blame_chair_knows(picture, finding, picture_chair(picture, hash), hash)) {
        return ELEMENTS_WAY_ENDS;
    }
    const uint32_t runner = find_runner(picture, hash);
    const uint32_t lacks = find_keeper(picture, hash, true);
    const uint32_t ready = find_keeper(picture, hash, false);
    if (runner < picture->size) {
        conclude_running(finding, picture->seats[runner].account, runner,
                         picture_task(picture, runner, hash));
        if (finding->cause == CAUSE_SLOW || lacks == PLACEMENT_NOBODY) {
            finding->elements = true;
            return ELEMENTS_WAY_ENDS;
        }
    }
    if (lacks < picture->size) {
        *asker = lacks;
        finding->root = (moot_hash){{0}};
        finding->chain[finding->chain_count - 1].rank = lacks;
        *hash = account_hash(&elements_by(picture, lacks, hash)->input);
        return ELEMENTS_WAY_ON;
    }
    if (ready < picture->size) {
        conclude_ready(finding, picture->seats[ready].account, ready);
        finding->elements = true;
        return ELEMENTS_WAY_ENDS;
    }
    return ELEMENTS_WAY_NONE;
}
