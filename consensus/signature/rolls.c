/* rolls.c - whether what a rank says that it has announced has come (PROTOCOL.md,
 * D5).
 *
 * Each rank counts the ROLLs that it has sent each rank that watches it in this view,
 * and adds them up; the receiver does so with those that come.  A heartbeat says how
 * far the sender's count is.  It goes past the links and may come before a ROLL that it
 * counts: then it is compared when that has come.  One that is behind says nothing any
 * more.  A ROLL costs an addition on either side, whatever it stands for.
 */
#include "consensus/signature/signature.h"

#include <assert.h>

/* Odd numbers without a pattern, so that fields do not make up for each other. */
#define MIX_HIGH UINT64_C(0x9e3779b97f4a7c15)
#define MIX_FIRST UINT64_C(0xc2b2ae3d27d4eb4f)
#define MIX_COUNT UINT64_C(0x165667b19e3779f9)
#define MIX_LANE UINT64_C(0x27d4eb2f165667c5)
#define MIX_SCOPE UINT64_C(0xd6e8feb86659fd93)

static uint64_t sum_of(const struct message_roll *roll)
{
    return roll->sum.low + MIX_HIGH * roll->sum.high + MIX_FIRST * roll->first +
           MIX_COUNT * roll->count + MIX_LANE * (roll->lane + UINT64_C(1)) +
           MIX_SCOPE * roll->scope;
}

static void add(struct rolls_said *said, const struct message_roll *roll)
{
    said->count++;
    said->sum += sum_of(roll);
}

/* Only who is sent heartbeats can compare. */
void signature_roll_sent(struct core *core, uint32_t to,
                         const struct message_roll *roll)
{
    assert(to != core->rank && to < core->size);
    if (rankset_has(&core->membership.committee, to)) {
        add(&peer_of(core, to)->rolls_told, roll);
    }
}

static void tell(struct core *core, struct peer *peer)
{
    if ((peer->told_of & TOLD_ROLLS) != 0) {
        return;
    }
    peer->told_of |= TOLD_ROLLS;
    core->stats.rolls_differing++;
    struct core_output *output = out_add(core, CORE_OUT_SIGNATURE, NULL);
    if (output != NULL) {
        output->u.signature.what = CORE_SIGNATURE_ROLLS;
        output->u.signature.rank = peer->rank;
        output->u.signature.step = peer->rolls_heard.count;
    }
}

/* Nothing was said of more than has come. */
static void compare(struct core *core, struct peer *peer)
{
    const struct rolls_said *claim = &peer->rolls_claimed;
    if (claim->count == 0 || claim->count > peer->rolls_heard.count) {
        return;
    }
    const bool differs =
        claim->count == peer->rolls_heard.count && claim->sum != peer->rolls_heard.sum;
    peer->rolls_claimed = (struct rolls_said){0, 0};
    if (differs && !MUTANT(ROLLUNCHECKED)) {
        tell(core, peer);
    }
}

void signature_roll_came(struct core *core, uint32_t from,
                         const struct message_roll *roll)
{
    assert(from != core->rank && from < core->size);
    if (!rankset_has(&core->membership.committee, core->rank)) {
        return;
    }
    struct peer *peer = peer_of(core, from);
    add(&peer->rolls_heard, roll);
    compare(core, peer);
}

void signature_rolls_put(const struct core *core, uint32_t to,
                         struct message_heartbeat *heartbeat)
{
    const struct peer *peer = peer_seen(core, to);
    heartbeat->rolls = peer->rolls_told.count;
    heartbeat->rolls_sum = peer->rolls_told.sum;
}

/* A claim that waits is compared before another is taken. */
void signature_rolls_claimed(struct core *core, uint32_t from,
                             const struct message_heartbeat *heartbeat)
{
    struct peer *peer = peer_of(core, from);
    if (peer->rolls_claimed.count == 0) {
        peer->rolls_claimed =
            (struct rolls_said){heartbeat->rolls, heartbeat->rolls_sum};
        compare(core, peer);
    }
}

void signature_enter_view(struct core *core)
{
    for (uint32_t i = 0; i < core->state.known_count; i++) {
        struct peer *peer = core->state.known[i];
        peer->rolls_told = peer->rolls_heard = peer->rolls_claimed =
            (struct rolls_said){0, 0};
    }
}
