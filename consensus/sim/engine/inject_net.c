/* inject_net.c - what a plan does to frames on the wire: loses, repeats, delays them,
 * lets others pass them, and cuts the way.
 *
 * All of it happens below the links (link_layer.c): to a frame or to an acknowledgement
 * that goes alone, which is of no type and so met only by rules that name none.  A
 * frame that is lost is lost by the first rule that says so; the others do not count
 * it.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>

static uint64_t types_of(const struct sim_flight *flight)
{
    return flight->parcel != NULL ? PLAN_TYPE(flight->parcel->message->type) : 0;
}

static plan_rules rules_about(struct sim *sim, const struct sim_flight *flight,
                              bool arriving)
{
    if (sim->options.plan == NULL || sim->now_ns >= strike_stop_ns(sim)) {
        return 0;
    }
    uint32_t from = sim->hosts[flight->from].role, to = sim->hosts[flight->to].role;
    const struct plan_message message = {types_of(flight), from, to, arriving};
    return plan_message(sim->options.plan, &sim->lived[arriving ? to : from], &message,
                        sim->now_ns);
}

/* --- Leaving ---------------------------------------------------------------------- */

struct net_fate {
    bool lost, overtaken;
    uint32_t copies, waits_for;
    uint64_t delay_ns;
};

static struct net_fate draw_fate(struct sim *sim, const struct sim_flight *flight)
{
    struct net_fate fate = {.copies = 1};
    plan_rules rules = rules_about(sim, flight, false);
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX && !fate.lost; i++) {
        const struct plan_rule *rule = &sim->options.plan->rules[i];
        const bool cuts = sim->cluster != NULL && plan_cuts_links(rule);
        if (cuts || !(rules & PLAN_RULE(i)) ||
            !strike_fires(sim, i, flight->from, flight->to)) {
            continue;
        }
        if (rule->fault == PLAN_DUP) {
            fate.copies += rule->times - 1;
        } else if (rule->fault == PLAN_REORDER) {
            fate.waits_for = rule->times;
        } else if (rule->fault == PLAN_DELAY) {
            fate.delay_ns += plan_spread_ns(&rule->spread, random_next(&sim->faults));
            liveness_harmed(sim, sim->now_ns + fate.delay_ns);
            fate.overtaken = true;
        } else {
            fate.lost = true;
        }
    }
    return fate;
}

static void hold(struct sim *sim, struct pair *pair, struct sim_flight *flight,
                 uint32_t waits_for)
{
    if (pair->held_count == pair->held_room) {
        pair->held_room = pair->held_room * 2 + 4;
        pair->held = realloc(pair->held, pair->held_room * sizeof(*pair->held));
        if (pair->held == NULL) {
            abort();
        }
    }
    uint64_t number = ++sim->held_number;
    pair->held[pair->held_count++] = (struct held_flight){flight, number, waits_for};
    heap_push(sim, &(struct event){.time_ns = sim->now_ns + PLAN_REORDER_HOLD_NS,
                                   .kind = EVENT_LET_GO,
                                   .rank = pair->from,
                                   .index = pair->to,
                                   .ticket = number});
}

static void let_go(struct sim *sim, struct pair *pair, uint32_t at)
{
    struct sim_flight *flight = pair->held[at].flight;
    for (pair->held_count--; at < pair->held_count; at++) {
        pair->held[at] = pair->held[at + 1];
    }
    liveness_harmed(sim, sim->now_ns);
    network_launch(sim, pair, flight, 0, false);
}

void harm_let_go(struct sim *sim, uint32_t from, uint32_t to, uint64_t number)
{
    struct pair *pair = network_find(sim, from, to);
    sim->pinned = pair;
    for (uint32_t i = 0; pair != NULL && i < pair->held_count; i++) {
        if (pair->held[i].number == number) {
            let_go(sim, pair, i);
            return;
        }
    }
}

/* A frame has left: those that wait for it to pass come one nearer. */
static void pass_held(struct sim *sim, struct pair *pair)
{
    uint32_t count = pair->held_count;
    for (uint32_t i = 0; i < count; i++) {
        pair->held[i].waits_for--;
    }
    for (uint32_t i = 0; i < pair->held_count;) {
        if (pair->held[i].waits_for == 0) {
            let_go(sim, pair, i);
        } else {
            i++;
        }
    }
}

static struct sim_flight *copy_of(struct sim *sim, const struct sim_flight *flight)
{
    struct sim_flight *copy =
        flight_new(sim, flight->from, flight->to, parcel_share(flight->parcel));
    copy->sequence = flight->sequence;
    copy->ack = flight->ack;
    return copy;
}

void harm_send(struct sim *sim, struct pair *pair, struct sim_flight *flight)
{
    struct net_fate fate = draw_fate(sim, flight);
    sim->pinned = pair;
    if (fate.lost) {
        flight_free(flight);
        return;
    }
    for (uint32_t i = 1; i < fate.copies; i++) {
        network_launch(sim, pair, copy_of(sim, flight), fate.delay_ns, fate.overtaken);
    }
    if (fate.waits_for > 0) {
        hold(sim, pair, flight, fate.waits_for);
        return;
    }
    network_launch(sim, pair, flight, fate.delay_ns, fate.overtaken);
    pass_held(sim, pair);
}

/* --- From host to host ------------------------------------------------------------ */

bool harm_cuts_link(struct sim *sim, const struct sim_flight *flight)
{
    uint32_t from = sim->hosts[flight->at].role, to = sim->hosts[flight->next].role;
    if (sim->now_ns >= strike_stop_ns(sim) || cluster_is_local(sim, flight)) {
        return false;
    }
    plan_rules rules = plan_link_cuts(sim->options.plan, &sim->lived[from],
                                      &sim->lived[to], from, to, sim->now_ns);
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
        if ((rules & PLAN_RULE(i)) && strike_fires(sim, i, flight->from, flight->to)) {
            return true;
        }
    }
    return false;
}

/* --- Arriving --------------------------------------------------------------------- */

bool harm_loses_arriving(struct sim *sim, const struct sim_flight *flight)
{
    plan_rules rules = rules_about(sim, flight, true);
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
        if ((rules & PLAN_RULE(i)) &&
            (sim->cluster == NULL || !plan_cuts_links(&sim->options.plan->rules[i])) &&
            strike_fires(sim, i, flight->to, flight->from)) {
            return true;
        }
    }
    return false;
}
