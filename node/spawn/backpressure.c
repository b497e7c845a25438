/* backpressure.c - see backpressure.h. */
#include "node/spawn/backpressure.h"

static void begin_anew(struct patience *patience, uint64_t moved)
{
    patience->moved = moved;
    patience->spent_ns = 0;
    patience->ask_ns = PATIENCE_NS;
    patience->stale = patience->asked;
    patience->resting = patience->busy = 0;
    patience->rounds = 0;
    patience->computes = patience->closed = false;
}

void patience_begin(struct patience *patience, uint64_t now_ns, uint64_t moved,
                    uint64_t dropped)
{
    patience->outlasted &= patience->dropped == dropped;
    patience->dropped = dropped;
    patience->looked_ns = now_ns;
    begin_anew(patience, moved);
}

static void spend(struct patience *patience, uint64_t now_ns)
{
    uint64_t turn_ns = now_ns - patience->looked_ns;
    patience->looked_ns = now_ns;
    patience->spent_ns += turn_ns < PATIENCE_TURN_NS ? turn_ns : PATIENCE_TURN_NS;
}

static bool is_useless(struct patience *patience, uint64_t peers)
{
    if ((peers & ~patience->resting) == 0) {
        patience->rounds++;
        patience->resting = 0;
    }
    return peers == 0 || patience->closed || patience->rounds >= PATIENCE_ROUNDS;
}

static uint64_t end_ns(const struct patience *patience)
{
    return patience->outlasted  ? PATIENCE_NS
           : patience->computes ? PATIENCE_COMPUTES_NS
                                : PATIENCE_SILENT_NS;
}

/* What the others said before it ends is void: it may be what they wait for. */
static void compute(struct patience *patience)
{
    patience->computes = true;
    patience->stale = patience->asked;
    patience->resting = 0;
    patience->rounds = 0;
}

enum patience_verdict patience_look(struct patience *patience, uint64_t now_ns,
                                    uint64_t moved, uint64_t peers, bool computes)
{
    spend(patience, now_ns);
    if (moved != patience->moved) {
        begin_anew(patience, moved);
    }
    if (computes) {
        compute(patience);
    }
    if (patience->spent_ns < PATIENCE_NS) {
        return PATIENCE_WAIT;
    }
    if (!computes && is_useless(patience, peers)) {
        return PATIENCE_USELESS;
    }
    if (patience->spent_ns >= end_ns(patience)) {
        patience->outlasted = true;
        return PATIENCE_LONG;
    }
    if (computes) {
        return PATIENCE_WAIT;
    }
    uint64_t wanted = (patience->busy & peers) != 0 ? patience->busy : peers;
    bool pauses = patience->spent_ns < patience->ask_ns;
    patience->to_ask = pauses ? 0 : wanted & ~patience->asked & ~patience->resting;
    patience->asked |= patience->to_ask;
    return patience->to_ask != 0 ? PATIENCE_ASK : PATIENCE_WAIT;
}

void patience_hear(struct patience *patience, uint32_t rank,
                   enum patience_answer answer)
{
    uint64_t bit = UINT64_C(1) << rank;
    bool counts = (patience->asked & ~patience->stale & bit) != 0;
    patience->asked &= ~bit;
    patience->stale &= ~bit;
    if (!counts) {
        return;
    }
    if (answer == PATIENCE_RESTS) {
        patience->resting |= bit;
        patience->busy &= ~bit;
        return;
    }
    patience->closed |= answer == PATIENCE_CLOSED;
    patience->computes |= answer == PATIENCE_COMPUTES;
    patience->resting = 0;
    patience->busy = bit;
    patience->rounds = 0;
    patience->ask_ns = patience->spent_ns + PATIENCE_NS;
}
