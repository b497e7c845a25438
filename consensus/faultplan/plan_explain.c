/* plan_explain.c - a plan in English: an opening with the count, a sentence per rule.
 *
 *     This plan has 2 rules and seed 42.
 *     1. Each vote message is lost with a probability of 0.1.
 *     2. Rank 2 is killed the 3rd time that it casts a vote.
 *
 * Each sentence is a subject (which messages, which ranks), what befalls it, and when.
 * It says every number of its rule, defaults included, so that two different rules
 * never read alike.
 */
#include "consensus/faultplan/plan_words.h"

#include <inttypes.h>

static void put_time(struct plan_text *text, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    size_t unit = ns == 0 ? 1 : 0;
    while (ns % units[unit].ns != 0) {
        unit++;
    }
    plan_put(text, "%" PRIu64 " %s", ns / units[unit].ns, units[unit].name);
}

static void put_ppm(struct plan_text *text, uint32_t ppm)
{
    unsigned digits = 6;
    uint32_t part = ppm % 1000000;
    plan_put(text, "%" PRIu32, ppm / 1000000);
    if (part == 0) {
        return;
    }
    for (; part % 10 == 0; digits--) {
        part /= 10;
    }
    plan_put(text, ".%0*" PRIu32, (int)digits, part);
}

static void put_ordinal(struct plan_text *text, uint64_t n)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    unsigned last = (unsigned)(n % 10), teen = (unsigned)(n / 10 % 10) == 1;
    plan_put(text, "%" PRIu64 "%s", n, endings[last < 4 && !teen ? last : 0]);
}

/* ", " or the conjunction between the items of a list. */
static const char *between(uint32_t index, uint32_t count, const char *conjunction)
{
    return index == 0 ? "" : index + 1 == count ? conjunction : ", ";
}

/* "rank 2", "ranks 0 to 3 and 5", "all ranks" */
static void put_ranks(struct plan_text *text, const struct plan_ranks *ranks)
{
    if (ranks->all) {
        plan_put(text, "all ranks");
        return;
    }
    bool one = ranks->count == 1 && ranks->span[0].first == ranks->span[0].last;
    plan_put(text, "%s%s ", ranks->of_hosts ? "host" : "rank", one ? "" : "s");
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct plan_span *span = &ranks->span[i];
        plan_put(text, "%s%" PRIu32, between(i, ranks->count, " and "), span->first);
        if (span->last > span->first) {
            plan_put(text, " to %" PRIu32, span->last);
        }
    }
}

/* As a singular subject: "Rank 2", "Each of ranks 0 to 3", "Each rank", "Host 1". */
static void put_subject(struct plan_text *text, const struct plan_ranks *ranks)
{
    if (ranks->all) {
        plan_put(text, "Each rank");
    } else if (ranks->count == 1 && ranks->span[0].first == ranks->span[0].last) {
        plan_put(text, "%s %" PRIu32, ranks->of_hosts ? "Host" : "Rank",
                 ranks->span[0].first);
    } else {
        plan_put(text, "Each of ");
        put_ranks(text, ranks);
    }
}

/* "the 3rd ", "the 3rd to 5th ", "the 3rd and every later ", or `each`. */
static void put_nth(struct plan_text *text, const struct plan_rule *rule,
                    const char *each)
{
    if (rule->nth_first == 0) {
        plan_put(text, "%s", each);
        return;
    }
    plan_put(text, "the ");
    put_ordinal(text, rule->nth_first);
    if (rule->nth_last == PLAN_FOREVER) {
        plan_put(text, " and every later ");
    } else if (rule->nth_last > rule->nth_first) {
        plan_put(text, " to ");
        put_ordinal(text, rule->nth_last);
        plan_put(text, " ");
    } else {
        plan_put(text, " ");
    }
}

/* --- When ------------------------------------------------------------------------- */

static const char *point_phrase(enum core_point point)
{
    static const char *const phrases[] = {
        [CORE_POINT_SPAWN] = "spawns a task",
        [CORE_POINT_CLAIM] = "claims a task",
        [CORE_POINT_MOTION_SENT] = "sends a motion",
        [CORE_POINT_MOTION_RECV] = "receives a motion",
        [CORE_POINT_VOTE_CAST] = "casts a vote",
        [CORE_POINT_DECISION_SENT] = "sends a decision",
        [CORE_POINT_DECISION_RECV] = "receives a decision",
        [CORE_POINT_TASK_START] = "starts a task",
        [CORE_POINT_TASK_END] = "ends a task",
        [CORE_POINT_RESULT_SENT] = "sends a result",
        [CORE_POINT_RESULT_RECV] = "receives a result",
        [CORE_POINT_VIEW_PROPOSE] = "proposes a view",
        [CORE_POINT_VIEW_ENTER] = "enters a view",
        [CORE_POINT_REPORT_SENT] = "sends a report",
        [CORE_POINT_CLOSE] = "closes",
        [CORE_POINT_CHECKPOINT_WRITE] = "stores a result",
        [CORE_POINT_SIGN] = "is about to sign its state",
        [CORE_POINT_CHECKPOINT_CUT] = "makes its part of a snapshot",
        [CORE_POINT_CHECKPOINT_COMMIT] = "commits a snapshot",
        [CORE_POINT_CHECKPOINT_RELOAD] = "takes a step back to a snapshot",
    };
    static_assert(sizeof(phrases) / sizeof(*phrases) == CORE_POINT_END,
                  "every point has its phrase");
    return phrases[point];
}

/* "the 3rd time that it casts a vote" */
static void put_point(struct plan_text *text, const struct plan_rule *rule,
                      const char *who)
{
    put_nth(text, rule, "");
    plan_put(text, "time that %s %s", who, point_phrase(rule->point));
}

/* The window of a message, a part or a state. */
static void put_window(struct plan_text *text, const struct plan_rule *rule,
                       const char *who)
{
    bool ends = rule->lasts_ns != PLAN_FOREVER;
    if (rule->when == PLAN_AT_TIME) {
        plan_put(text, ", from ");
        put_time(text, rule->at_ns);
        plan_put(text, ends ? " to " : " on");
        if (ends) {
            put_time(text, rule->at_ns + rule->lasts_ns);
        }
    } else if (rule->when == PLAN_AT_POINT) {
        plan_put(text, ", ");
        if (ends) {
            plan_put(text, "for ");
            put_time(text, rule->lasts_ns);
            plan_put(text, " ");
        }
        plan_put(text, "after ");
        put_point(text, rule, who);
    }
}

static void put_chance(struct plan_text *text, const struct plan_rule *rule)
{
    if (rule->chance_ppb == PLAN_CERTAIN_PPB) {
        return;
    }
    /* Behind "evenly spread" and its like it needs a comma. */
    plan_put(text, rule->spread.type > PLAN_SPREAD_FIXED ? "," : "");
    unsigned digits = 9;
    uint32_t part = rule->chance_ppb;
    for (; part != 0 && part % 10 == 0; digits--) {
        part /= 10;
    }
    if (part == 0) {
        plan_put(text, " with a probability of 0");
    } else {
        plan_put(text, " with a probability of 0.%0*" PRIu32, (int)digits, part);
    }
}

static void put_spread(struct plan_text *text, const struct plan_spread *spread)
{
    switch (spread->type) {
    case PLAN_SPREAD_NONE:
        break;
    case PLAN_SPREAD_FIXED:
        put_time(text, spread->ns);
        break;
    case PLAN_SPREAD_UNIFORM:
        put_time(text, spread->ns - spread->spread_ns);
        plan_put(text, " to ");
        put_time(text, spread->ns + spread->spread_ns);
        plan_put(text, ", evenly spread");
        break;
    case PLAN_SPREAD_EXP:
        put_time(text, spread->ns);
        plan_put(text, " on average, exponentially distributed");
        break;
    case PLAN_SPREAD_PARETO:
        put_time(text, spread->ns);
        plan_put(text, " or more, with a Pareto tail of shape ");
        put_ppm(text, spread->shape_ppm);
        break;
    }
}

/* --- Messages --------------------------------------------------------------------- */

static void put_kinds(struct plan_text *text, const struct plan_rule *rule)
{
    uint32_t count = 0, index = 0;
    for (unsigned group = 0; group < PLAN_GROUP_END; group++) {
        count += rule->groups >> group & 1;
    }
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        count += (rule->types & PLAN_TYPE(type)) != 0;
    }
    for (unsigned group = 0; group < PLAN_GROUP_END; group++) {
        if (rule->groups >> group & 1) {
            const char *before = between(index++, count, " or ");
            plan_put(text, "%s%s", before, plan_group_name((enum plan_group)group));
        }
    }
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        if (rule->types & PLAN_TYPE(type)) {
            const char *before = between(index++, count, " or ");
            plan_put(text, "%s%s", before, message_type_name((enum message_type)type));
        }
    }
    plan_put(text, count > 0 ? " " : "");
}

static void put_link(struct plan_text *text, const struct plan_rule *rule)
{
    static const char *const before[] = {
        [PLAN_LINK_ANY] = "",
        [PLAN_LINK_TOUCHES] = " from or to ",
        [PLAN_LINK_BETWEEN] = " between ",
        [PLAN_LINK_TOWARDS] = " from ",
        [PLAN_LINK_BOUNDARY] = " between ",
    };
    plan_put(text, "%s", before[rule->link]);
    if (rule->link == PLAN_LINK_ANY) {
        return;
    }
    put_ranks(text, &rule->ranks);
    if (rule->link == PLAN_LINK_BOUNDARY) {
        plan_put(text, " and all others");
    }
    if (rule->link == PLAN_LINK_BETWEEN) {
        plan_put(text, " and ");
    }
    if (rule->link == PLAN_LINK_TOWARDS) {
        plan_put(text, " to ");
    }
    if (rule->link == PLAN_LINK_BETWEEN || rule->link == PLAN_LINK_TOWARDS) {
        put_ranks(text, &rule->others);
    }
}

static void put_message(struct plan_text *text, const struct plan_rule *rule)
{
    if (rule->when == PLAN_AT_POINT || rule->nth_first == 0) {
        plan_put(text, "Each ");
    } else {
        plan_put(text, "Of the messages of each sender, ");
        put_nth(text, rule, "");
    }
    put_kinds(text, rule);
    plan_put(text, "message");
    put_link(text, rule);
    if (rule->fault == PLAN_DROP) {
        plan_put(text, " is lost");
    } else if (rule->fault == PLAN_DUP && rule->times == 2) {
        plan_put(text, " arrives twice");
    } else if (rule->fault == PLAN_DUP) {
        plan_put(text, " arrives %" PRIu32 " times", rule->times);
    } else if (rule->fault == PLAN_REORDER && rule->times == 1) {
        plan_put(text, " lets the next one of its pair of ranks pass");
    } else if (rule->fault == PLAN_REORDER) {
        plan_put(text, " lets the next %" PRIu32 " of its pair of ranks pass",
                 rule->times);
    } else {
        plan_put(text, " arrives later by ");
        put_spread(text, &rule->spread);
    }
    put_chance(text, rule);
    put_window(text, rule, "its sender");
}

static void put_part(struct plan_text *text, const struct plan_rule *rule)
{
    plan_put(text, "No message passes");
    put_link(text, rule);
    put_window(text, rule, "one of its two ranks");
}

/* --- Ranks ------------------------------------------------------------------------ */

static void put_strike(struct plan_text *text, const struct plan_rule *rule)
{
    put_subject(text, &rule->ranks);
    plan_put(text, rule->fault == PLAN_PAUSE   ? " is paused"
                   : rule->fault == PLAN_LEAVE ? " leaves"
                   : rule->fault == PLAN_FLIP  ? " has a bit of its state flipped"
                                               : " is killed");
    plan_put(text, rule->ranks.of_hosts ? ", with all its ranks," : "");
    if (rule->fault == PLAN_PAUSE) {
        plan_put(text, " for ");
        put_time(text, rule->lasts_ns);
    }
    plan_put(text, rule->when == PLAN_AT_TIME ? " at " : " ");
    if (rule->when == PLAN_AT_TIME) {
        put_time(text, rule->at_ns);
    } else {
        put_point(text, rule, rule->ranks.of_hosts ? "one of these" : "it");
    }
    if (rule->fault == PLAN_RESTART) {
        plan_put(text, rule->ranks.of_hosts
                           ? " and comes back with new members in their place "
                           : " and comes back as a new member ");
        put_time(text, rule->lasts_ns);
        plan_put(text, " later");
    }
}

static void put_join(struct plan_text *text, const struct plan_rule *rule)
{
    if (rule->times == 1) {
        plan_put(text, "A newcomer asks to be let in at ");
    } else {
        plan_put(text, "At once %" PRIu32 " newcomers ask to be let in at ",
                 rule->times);
    }
    put_time(text, rule->at_ns);
}

/* The occasions of a state, and what befalls them where no number says it. */
static const struct state_words {
    const char *noun, *befalls;
} state_words[PLAN_FAULT_END] = {
    [PLAN_SLOW] = {"kernel", " takes longer by "},
    [PLAN_GAP] = {"turn of progress", " is followed by a gap of "},
    [PLAN_DISK_FULL] = {"batch of results for the checkpoint",
                        " finds the disk to be full"},
    [PLAN_DISK_SLOW] = {"batch of results for the checkpoint", " takes longer by "},
    [PLAN_DISK_FLIP] = {"record for the checkpoint", " has a bit flipped on its way"},
};

static void put_state(struct plan_text *text, const struct plan_rule *rule)
{
    const struct state_words *words = &state_words[rule->fault];
    plan_put(text, "On ");
    if (rule->ranks.all) {
        plan_put(text, "each rank");
    } else {
        put_ranks(text, &rule->ranks);
    }
    if (rule->fault == PLAN_CLOCK) {
        plan_put(text, " the clock runs ");
        put_ppm(text, rule->factor_ppm);
        plan_put(text, " times as fast as true time");
        put_window(text, rule, "it");
        return;
    }
    plan_put(text, " ");
    if (rule->when == PLAN_AT_POINT) {
        plan_put(text, "each ");
    } else {
        put_nth(text, rule, "each ");
    }
    plan_put(text, "%s", words->noun);
    if (rule->factor_ppm != 0) {
        plan_put(text, " takes ");
        put_ppm(text, rule->factor_ppm);
        plan_put(text, " times as long");
    } else {
        plan_put(text, "%s", words->befalls);
        put_spread(text, &rule->spread);
    }
    put_chance(text, rule);
    put_window(text, rule, "the rank");
}

static void put_rule(struct plan_text *text, const struct plan_rule *rule)
{
    if (plan_is_message(rule->fault)) {
        put_message(text, rule);
    } else if (rule->fault == PLAN_PART) {
        put_part(text, rule);
    } else if (plan_is_strike(rule->fault)) {
        put_strike(text, rule);
    } else if (rule->fault == PLAN_JOIN) {
        put_join(text, rule);
    } else {
        put_state(text, rule);
    }
    plan_put(text, ".\n");
}

size_t plan_explain(const struct plan *plan, char *bytes, size_t size)
{
    struct plan_text text = {.bytes = bytes, .size = size};
    uint32_t count = plan->rule_count;
    if (count == 0) {
        plan_put(&text, "This plan has no rules: nothing goes wrong");
    } else {
        plan_put(&text, "This plan has %" PRIu32 " %s", count,
                 count == 1 ? "rule" : "rules");
    }
    if (plan->seeded) {
        plan_put(&text, "%s seed %" PRIu64, count == 0 ? "; it has" : " and",
                 plan->seed);
    }
    plan_put(&text, ".");
    bool timed = false;
    for (uint32_t i = 0; i < count; i++) {
        timed |= plan->rules[i].when != PLAN_ALWAYS || plan->rules[i].nth_first != 0;
    }
    plan_put(&text, timed ? "  Times and counts begin when moot_open ends.\n" : "\n");
    for (uint32_t i = 0; i < count; i++) {
        plan_put(&text, "%" PRIu32 ". ", i + 1);
        put_rule(&text, &plan->rules[i]);
    }
    return plan_text_end(&text);
}
