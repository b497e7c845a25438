/* signature.c - signatures that programs give of their state: who differs, and from
 * which step on (PROTOCOL.md, D1 to D4).
 *
 * What a rank gave, and what it heard of each other, is kept (kept_signatures.c); ranks
 * come to a step at different times, and the later comparison counts.  Where two differ
 * a *dispute* about the first such step begins: this rank tells its own again and asks
 * all who have that step for theirs.  A dispute ends when one signature is that of more
 * than half of all members and nobody's is missing, or after some heartbeats; then the
 * most of those who have told count.  Whoever the majority contradicts is named; where
 * there is none, whoever differs from this rank is.
 */
#include "consensus/signature/signature.h"

#include <assert.h>
#include <stdlib.h>

/* A dispute waits for so many heartbeats. */
enum { DISPUTE_BEATS = 4 };

void signature_end(struct core *core) { free(core->signature.own); }

void signature_forget_all(struct core *core)
{
    signature_end(core);
    core->signature = (struct core_signature){0};
    for (uint32_t i = 0; i < core->state.known_count; i++) {
        struct peer *peer = core->state.known[i];
        free(peer->signatures);
        peer->signatures = NULL;
        peer->contradicted = 0;
        peer->contradicted_by = (moot_hash){{0}};
        peer->told_of = 0;
    }
}

/* --- Who has said what ------------------------------------------------------------ */

static const struct kept_signature *said_by(const struct core *core, uint32_t rank,
                                            uint64_t step)
{
    return kept_find(rank == core->rank ? core->signature.own
                                        : peer_seen(core, rank)->signatures,
                     step);
}

/* Whom most of those who have told this step agree with. */
struct poll_of_step {
    uint32_t known;                   /* members that have told it */
    uint32_t most;                    /* of them, as many as tell the same */
    const struct kept_signature *one; /* one of those; NULL: nobody has told */
};

/* Boyer and Moore's vote, and a count of who won it. */
static struct poll_of_step take_poll(const struct core *core, uint64_t step)
{
    struct poll_of_step poll = {0, 0, NULL};
    uint32_t ahead = 0;
    FOR_MEMBERS(core, rank)
    {
        const struct kept_signature *said = said_by(core, rank, step);
        if (said == NULL) {
            continue;
        }
        poll.known++;
        if (ahead == 0) {
            poll.one = said;
        }
        ahead += hash_equal(&said->hash, &poll.one->hash) ? 1 : UINT32_MAX;
    }
    if (poll.one == NULL) {
        return poll;
    }
    FOR_MEMBERS(core, rank)
    {
        const struct kept_signature *said = said_by(core, rank, step);
        poll.most += said != NULL && hash_equal(&said->hash, &poll.one->hash);
    }
    return poll;
}

bool core_signature_agreed(const struct core *core, uint64_t *step)
{
    const struct signatures *own = core->signature.own;
    for (uint32_t i = own != NULL ? own->count : 0; i-- > 0;) {
        const struct poll_of_step poll = take_poll(core, own->items[i].step);
        if (poll.most == core->member_count) {
            *step = own->items[i].step;
            return true;
        }
    }
    return false;
}

/* --- Telling the host ------------------------------------------------------------- */

static uint8_t *told_of(struct core *core, uint32_t rank)
{
    return rank == core->rank ? &core->signature.told_of
                              : &peer_of(core, rank)->told_of;
}

static void tell_host(struct core *core, enum core_signature_what what, uint32_t rank,
                      uint64_t step, const moot_hash *theirs, const moot_hash *others)
{
    uint8_t *told = told_of(core, rank);
    const uint8_t flag =
        what == CORE_SIGNATURE_CONTRADICTED ? TOLD_CONTRADICTED : TOLD_DIFFERS;
    if ((*told & (flag | TOLD_CONTRADICTED)) != 0) {
        return;
    }
    *told |= flag;
    core->stats.signatures_differing++;
    struct core_output *output = out_add(core, CORE_OUT_SIGNATURE, NULL);
    if (output != NULL) {
        output->u.signature.what = what;
        output->u.signature.rank = rank;
        output->u.signature.step = step;
        output->u.signature.theirs = *theirs;
        output->u.signature.others = *others;
    }
}

static void name(struct core *core, uint32_t rank, const struct kept_signature *said,
                 const moot_hash *most)
{
    if (rank != core->rank && (*told_of(core, rank) & TOLD_CONTRADICTED) == 0) {
        struct peer *peer = peer_of(core, rank);
        peer->contradicted = said->step + 1;
        peer->contradicted_by = *most;
    }
    tell_host(core, CORE_SIGNATURE_CONTRADICTED, rank, said->step, &said->hash, most);
}

static void name_contradicted(struct core *core, uint64_t step,
                              const struct kept_signature *most)
{
    const moot_hash hash = most->hash;
    FOR_MEMBERS(core, rank)
    {
        const struct kept_signature *said = said_by(core, rank, step);
        if (said != NULL && !hash_equal(&said->hash, &hash)) {
            name(core, rank, said, &hash);
        }
    }
}

static void tell_differing(struct core *core, uint64_t step)
{
    const struct kept_signature *own = said_by(core, core->rank, step);
    FOR_MEMBERS(core, rank)
    {
        const struct kept_signature *said = said_by(core, rank, step);
        if (own != NULL && said != NULL && !hash_equal(&said->hash, &own->hash)) {
            tell_host(core, CORE_SIGNATURE_DIFFERS, rank, step, &said->hash,
                      &own->hash);
        }
    }
}

/* --- Disputes --------------------------------------------------------------------- */

static struct signature_dispute *find_dispute(struct core *core, uint64_t step)
{
    for (uint32_t i = 0; i < core->signature.dispute_count; i++) {
        if (core->signature.disputes[i].step == step) {
            return &core->signature.disputes[i];
        }
    }
    return NULL;
}

static void end_dispute(struct core *core, struct signature_dispute *dispute)
{
    assert(core->signature.dispute_count > 0);
    *dispute = core->signature.disputes[--core->signature.dispute_count];
}

/* Nobody else will tell: the most of those who have count, if there are two or more. */
static void decide_dispute(struct core *core, struct signature_dispute *dispute)
{
    const uint64_t step = dispute->step;
    const struct poll_of_step poll = take_poll(core, step);
    const bool most = poll.most >= 2 && poll.most > poll.known / 2;
    if (most || MUTANT(SIGNATUREFIRST)) {
        name_contradicted(core, step, poll.one);
    } else {
        tell_differing(core, step);
    }
    end_dispute(core, dispute);
}

/* True if it is over. */
static bool look_at_dispute(struct core *core, struct signature_dispute *dispute)
{
    const struct poll_of_step poll = take_poll(core, dispute->step);
    if (poll.most > core->member_count / 2) {
        name_contradicted(core, dispute->step, poll.one);
    }
    if (poll.known < core->member_count) {
        return false;
    }
    decide_dispute(core, dispute);
    return true;
}

/* This rank tells its own again, and asks. */
static void ask_about(struct core *core, uint64_t step)
{
    struct signatures *own = core->signature.own;
    for (uint32_t i = 0; own != NULL && i < own->count; i++) {
        if (own->items[i].step == step && !own->items[i].asks) {
            own->items[i].asks = true;
            own->items[i].told = false;
            core->signature.untold = true;
        }
    }
}

static void begin_dispute(struct core *core, uint64_t step)
{
    struct core_signature *signature = &core->signature;
    if (MUTANT(SIGNATUREDEAF) || find_dispute(core, step) != NULL ||
        signature->dispute_count == DISPUTES_MAX) {
        return;
    }
    const uint64_t wait_ns =
        core->options.heartbeat_ns == 0 ||
                core->options.heartbeat_ns >= CORE_NEVER / DISPUTE_BEATS
            ? CORE_NEVER
            : core->options.heartbeat_ns * DISPUTE_BEATS;
    signature->disputes[signature->dispute_count++] =
        (struct signature_dispute){step, add_ns(core->now_ns, wait_ns)};
    ask_about(core, step);
}

static void look_at_disputes(struct core *core)
{
    for (uint32_t i = core->signature.dispute_count; i-- > 0;) {
        (void)look_at_dispute(core, &core->signature.disputes[i]);
    }
}

/* The first step that both have told, otherwise; false: there is none. */
static bool find_difference(const struct core *core, uint32_t rank, uint64_t *step)
{
    const struct signatures *own = core->signature.own;
    const struct signatures *theirs = peer_seen(core, rank)->signatures;
    uint32_t i = 0, k = 0;
    while (own != NULL && theirs != NULL && i < own->count && k < theirs->count) {
        const struct kept_signature *a = &own->items[i], *b = &theirs->items[k];
        if (a->step == b->step && !hash_equal(&a->hash, &b->hash)) {
            *step = a->step;
            return true;
        }
        i += a->step <= b->step;
        k += b->step <= a->step;
    }
    return false;
}

/* Ranks that have been named are not looked at any more, nor is anybody by them. */
static void compare_with(struct core *core, uint32_t rank)
{
    uint64_t step;
    const unsigned told = core->signature.told_of | peer_seen(core, rank)->told_of;
    if ((told & TOLD_CONTRADICTED) == 0 && find_difference(core, rank, &step)) {
        begin_dispute(core, step);
    }
}

/* --- The program's own ------------------------------------------------------------ */

/* Peers may have told this step already. */
static void compare_with_peers(struct core *core, uint64_t step)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && said_by(core, rank, step) != NULL) {
            compare_with(core, rank);
        }
    }
    look_at_disputes(core);
}

int signature_give(struct core *core, uint64_t step, const moot_hash *hash)
{
    const struct signatures *own = core->signature.own;
    if (step > CORE_SIGNATURE_STEP_MAX) {
        return MOOT_ERR_INVALID;
    }
    if (own != NULL && step <= own->items[own->count - 1].step) {
        return MOOT_ERR_STATE;
    }
    if (kept_add(core, &core->signature.own, step, hash) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    core->signature.untold = true;
    if (step <= core->signature.heard_last) {
        compare_with_peers(core, step);
    }
    return MOOT_OK;
}

/* --- Telling peers ---------------------------------------------------------------- */

/* The latest first, and then those that others are most likely to have, too: what asks,
 * and of the rest the earliest, which are kept because many twos divide them. */
static struct kept_signature *choose_told(struct signatures *own, uint32_t chosen)
{
    struct kept_signature *found = NULL;
    for (uint32_t i = 0; i < own->count; i++) {
        struct kept_signature *item = &own->items[i];
        const bool latest = chosen < LIMIT_SIGNATURES / 2;
        if (!item->told && (found == NULL || latest || (item->asks && !found->asks))) {
            found = item;
        }
    }
    return found;
}

const struct message_signatures *signature_tell(struct core *core)
{
    struct signatures *own = core->signature.own;
    if (!core->signature.untold || own == NULL) {
        return NULL;
    }
    struct message_signature items[LIMIT_SIGNATURES];
    struct message_signatures list = {0, NULL};
    struct kept_signature *next = choose_told(own, 0);
    while (next != NULL && list.count < LIMIT_SIGNATURES) {
        next->told = true;
        items[list.count++] =
            (struct message_signature){next->step, next->hash, next->asks};
        next = choose_told(own, list.count);
    }
    core->signature.untold = next != NULL;
    list.items = out_copy_bytes(core, items, list.count * sizeof(*items));
    return list.count > 0 ? out_copy_bytes(core, &list, sizeof(list)) : NULL;
}

/* Beside heartbeats, which may never come any more. */
static void tell_all(struct core *core)
{
    const struct message_signatures *list = signature_tell(core);
    if (list == NULL || core->broken) {
        return;
    }
    FOR_COMMITTEE(core, rank)
    {
        struct message *message =
            rank != core->rank && !rankset_has(&core->membership.dead, rank)
                ? out_send(core, rank, MESSAGE_SIGNATURE, NULL)
                : NULL;
        if (message != NULL) {
            message->u.signatures = *list;
        }
    }
}

/* --- Hearing ---------------------------------------------------------------------- */

/* Askers are answered once. */
static void answer(struct core *core, uint64_t step)
{
    struct signatures *own = core->signature.own;
    for (uint32_t i = 0; own != NULL && i < own->count; i++) {
        struct kept_signature *item = &own->items[i];
        if (item->step == step && item->told && !item->answered) {
            item->answered = true;
            item->told = false;
            core->signature.untold = true;
        }
    }
}

static void hear_one(struct core *core, struct peer *peer,
                     const struct message_signature *said)
{
    const struct kept_signature *before = kept_find(peer->signatures, said->step);
    if (before != NULL && !hash_equal(&before->hash, &said->hash)) {
        core->stats.refused++;
        return;
    }
    if (before == NULL &&
        kept_add(core, &peer->signatures, said->step, &said->hash) == NULL) {
        return;
    }
    if (said->step > core->signature.heard_last) {
        core->signature.heard_last = said->step;
    }
    if (said->asks) {
        answer(core, said->step);
    }
}

void signature_hear(struct core *core, uint32_t from,
                    const struct message_signatures *said)
{
    assert(from != core->rank && said->count <= LIMIT_SIGNATURES);
    for (uint32_t i = 0; i < said->count && !core->broken; i++) {
        hear_one(core, peer_of(core, from), &said->items[i]);
    }
    compare_with(core, from);
    look_at_disputes(core);
}

void signature_put_grant(const struct core *core, uint32_t to,
                         struct message_grant *grant)
{
    const struct peer *peer = peer_seen(core, to);
    grant->contradicted = peer->contradicted;
    grant->others = peer->contradicted_by;
}

/* Among many the members do not hear each other. */
void signature_on_grant(struct core *core, const struct message_grant *grant)
{
    const struct kept_signature *own =
        grant->contradicted > 0 ? said_by(core, core->rank, grant->contradicted - 1)
                                : NULL;
    if (own != NULL && !hash_equal(&own->hash, &grant->others)) {
        tell_host(core, CORE_SIGNATURE_CONTRADICTED, core->rank, own->step, &own->hash,
                  &grant->others);
    }
}

/* --- The turn --------------------------------------------------------------------- */

void signature_turn(struct core *core)
{
    if (core->signature.own == NULL) {
        return;
    }
    for (uint32_t i = core->signature.dispute_count; i-- > 0;) {
        struct signature_dispute *dispute = &core->signature.disputes[i];
        if (dispute->until_ns <= core->now_ns) {
            decide_dispute(core, dispute);
        }
    }
    look_at_disputes(core); /* members may have gone */
    if (core->step.closed && core->signature.untold && !MUTANT(SIGNATUREMUTE)) {
        tell_all(core);
    }
}

uint64_t signature_deadline(const struct core *core)
{
    uint64_t due_ns =
        core->step.closed && core->signature.untold && !MUTANT(SIGNATUREMUTE)
            ? core->now_ns
            : CORE_NEVER;
    for (uint32_t i = 0; i < core->signature.dispute_count; i++) {
        const uint64_t until_ns = core->signature.disputes[i].until_ns;
        due_ns = until_ns < due_ns ? until_ns : due_ns;
    }
    return due_ns;
}

void signature_settle(struct core *core)
{
    while (core->signature.dispute_count > 0) {
        decide_dispute(core, &core->signature.disputes[0]);
    }
}
