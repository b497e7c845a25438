/* plan_match.c - which rules of a plan strike a rank or a message, and what struck.
 *
 * A rule's place in time is a window.  One at a time is the same for every rank; one at
 * a point opens on the rank that passes it, and plan_rank keeps when it closes.
 */
#include "consensus/faultplan/plan_words.h"

static bool nth_matches(const struct plan_rule *rule, uint64_t count)
{
    return count >= rule->nth_first && count <= rule->nth_last;
}

/* from + lasts, without a wrap. */
static uint64_t end_ns(uint64_t from_ns, uint64_t lasts_ns)
{
    return lasts_ns > PLAN_FOREVER - from_ns ? PLAN_FOREVER : from_ns + lasts_ns;
}

static bool window_open(const struct plan *plan, const struct plan_rank *state,
                        uint32_t index, uint64_t now_ns)
{
    const struct plan_rule *rule = &plan->rules[index];
    switch (rule->when) {
    case PLAN_ALWAYS:
        return true;
    case PLAN_AT_TIME:
        return now_ns >= rule->at_ns && now_ns < end_ns(rule->at_ns, rule->lasts_ns);
    case PLAN_AT_POINT:
        return now_ns < state->open_until_ns[index];
    }
    return false;
}

/* Counts an occasion of the rule; whether it is one of those it picks. */
static bool occasion(const struct plan *plan, struct plan_rank *state, uint32_t index)
{
    const struct plan_rule *rule = &plan->rules[index];
    if (rule->when == PLAN_AT_POINT || rule->nth_first == 0) {
        return true;
    }
    return nth_matches(rule, ++state->seen[index]);
}

/* --- Strikes ---------------------------------------------------------------------- */

plan_rules plan_pass(const struct plan *plan, struct plan_rank *state, uint32_t rank,
                     enum core_point point, uint64_t now_ns)
{
    plan_rules strikes = 0;
    uint64_t count = ++state->passed[point];
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if (rule->when != PLAN_AT_POINT || rule->point != point ||
            !nth_matches(rule, count)) {
            continue;
        }
        if (!plan_is_strike(rule->fault)) {
            state->open_until_ns[i] = end_ns(now_ns, rule->lasts_ns);
        } else if (plan_ranks_has(&rule->ranks, rank)) {
            strikes |= PLAN_RULE(i);
        }
    }
    return strikes;
}

static bool strikes_at_time(const struct plan_rule *rule, uint32_t rank)
{
    return plan_is_strike(rule->fault) && rule->when == PLAN_AT_TIME &&
           plan_ranks_has(&rule->ranks, rank);
}

plan_rules plan_strikes(const struct plan *plan, uint32_t rank, uint64_t from_ns,
                        uint64_t until_ns)
{
    plan_rules strikes = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        uint64_t at_ns = plan->rules[i].at_ns;
        if (strikes_at_time(&plan->rules[i], rank) && at_ns >= from_ns &&
            at_ns < until_ns) {
            strikes |= PLAN_RULE(i);
        }
    }
    return strikes;
}

uint64_t plan_next_strike_ns(const struct plan *plan, uint32_t rank, uint64_t from_ns)
{
    uint64_t next_ns = PLAN_FOREVER;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        uint64_t at_ns = plan->rules[i].at_ns;
        if (strikes_at_time(&plan->rules[i], rank) && at_ns >= from_ns &&
            at_ns < next_ns) {
            next_ns = at_ns;
        }
    }
    return next_ns;
}

/* --- Messages and states ---------------------------------------------------------- */

static bool types_match(const struct plan_rule *rule, uint64_t types)
{
    if (rule->groups == 0 && rule->types == 0) {
        return true;
    }
    if (types & rule->types) {
        return true;
    }
    for (unsigned type = 1; type < MESSAGE_TYPE_END && rule->groups != 0; type++) {
        if ((types & PLAN_TYPE(type)) &&
            (rule->groups >> plan_group((enum message_type)type) & 1)) {
            return true;
        }
    }
    return false;
}

static bool link_matches(const struct plan_rule *rule, uint32_t from, uint32_t to)
{
    const struct plan_ranks *ranks = &rule->ranks, *others = &rule->others;
    switch (rule->link) {
    case PLAN_LINK_ANY:
        return true;
    case PLAN_LINK_TOUCHES:
        return plan_ranks_has(ranks, from) || plan_ranks_has(ranks, to);
    case PLAN_LINK_BETWEEN:
        return (plan_ranks_has(ranks, from) && plan_ranks_has(others, to)) ||
               (plan_ranks_has(ranks, to) && plan_ranks_has(others, from));
    case PLAN_LINK_TOWARDS:
        return plan_ranks_has(ranks, from) && plan_ranks_has(others, to);
    case PLAN_LINK_BOUNDARY:
        return plan_ranks_has(ranks, from) != plan_ranks_has(ranks, to);
    }
    return false;
}

plan_rules plan_message(const struct plan *plan, struct plan_rank *state,
                        const struct plan_message *message, uint64_t now_ns)
{
    plan_rules matches = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        bool part = rule->fault == PLAN_PART;
        if (!part && (message->arriving || !plan_is_message(rule->fault))) {
            continue;
        }
        if (message->arriving && rule->when != PLAN_AT_POINT) {
            continue;
        }
        if (window_open(plan, state, i, now_ns) && types_match(rule, message->types) &&
            link_matches(rule, message->from, message->to) &&
            occasion(plan, state, i)) {
            matches |= PLAN_RULE(i);
        }
    }
    return matches;
}

plan_rules plan_state(const struct plan *plan, struct plan_rank *state, uint32_t rank,
                      enum plan_fault fault, uint64_t now_ns)
{
    plan_rules matches = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if (rule->fault == fault && plan_ranks_has(&rule->ranks, rank) &&
            window_open(plan, state, i, now_ns) && occasion(plan, state, i)) {
            matches |= PLAN_RULE(i);
        }
    }
    return matches;
}

/* --- Links between hosts ---------------------------------------------------------- */

bool plan_cuts_links(const struct plan_rule *rule)
{
    return rule->fault == PLAN_PART && rule->ranks.of_hosts &&
           (rule->link == PLAN_LINK_BOUNDARY || rule->others.of_hosts);
}

plan_rules plan_link_cuts(const struct plan *plan, const struct plan_rank *from_state,
                          const struct plan_rank *to_state, uint32_t from, uint32_t to,
                          uint64_t now_ns)
{
    plan_rules cuts = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        if (plan_cuts_links(&plan->rules[i]) &&
            (window_open(plan, from_state, i, now_ns) ||
             window_open(plan, to_state, i, now_ns)) &&
            link_matches(&plan->rules[i], from, to)) {
            cuts |= PLAN_RULE(i);
        }
    }
    return cuts;
}

/* As link_matches, for hosts. */
static bool parts(const struct plan_rule *rule, uint32_t from, uint32_t to)
{
    const bool first_from = plan_spans_have(&rule->ranks, from),
               first_to = plan_spans_have(&rule->ranks, to);
    if (rule->link == PLAN_LINK_BOUNDARY) {
        return first_from != first_to;
    }
    return (first_from && plan_spans_have(&rule->others, to)) ||
           (rule->link == PLAN_LINK_BETWEEN && first_to &&
            plan_spans_have(&rule->others, from));
}

bool plan_parts_hosts(const struct plan *plan, uint32_t from_host, uint32_t to_host,
                      uint64_t since_ns, uint64_t now_ns, uint64_t *until_ns)
{
    const uint64_t began_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    bool parted = false;
    *until_ns = now_ns;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        const uint64_t at_ns = rule->when == PLAN_AT_TIME ? rule->at_ns : 0;
        const uint64_t over_ns =
            rule->when == PLAN_AT_TIME ? end_ns(at_ns, rule->lasts_ns) : PLAN_FOREVER;
        if (rule->when != PLAN_AT_POINT && plan_cuts_links(rule) &&
            parts(rule, from_host, to_host) && began_ns >= at_ns && now_ns < over_ns) {
            parted = true;
            *until_ns = over_ns > *until_ns ? over_ns : *until_ns;
        }
    }
    return parted;
}

/* --- Hits ------------------------------------------------------------------------- */

void plan_hits_add(struct plan_hits *to, const struct plan_hits *more)
{
    for (uint32_t i = 0; i < PLAN_RULES_MAX; i++) {
        to->fired[i] += more->fired[i];
    }
}

plan_rules plan_unfired(const struct plan *plan, const struct plan_hits *hits)
{
    plan_rules unfired = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].chance_ppb == PLAN_CERTAIN_PPB && hits->fired[i] == 0) {
            unfired |= PLAN_RULE(i);
        }
    }
    return unfired;
}
