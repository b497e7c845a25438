/* plan_format.c - a plan back to its canonical word; its mistakes and hits for people.
 *
 * The canonical word has the seed first, kinds before ranks, no argument that is the
 * default, and every time as a whole number of the largest unit that allows it.
 */
#include "consensus/faultplan/plan_words.h"

#include <inttypes.h>
#include <string.h>

static void put_time(struct plan_text *text, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
                 {"ms", 1000000},      {"us", 1000},       {"ns", 1}};
    size_t unit = ns == 0 ? 2 : 0;
    while (ns % units[unit].ns != 0) {
        unit++;
    }
    plan_put(text, "%" PRIu64 "%s", ns / units[unit].ns, units[unit].name);
}

/* value / 10^digits, without trailing zeros. */
static void put_decimal(struct plan_text *text, uint64_t value, unsigned digits)
{
    uint64_t one = 1;
    for (unsigned i = 0; i < digits; i++) {
        one *= 10;
    }
    plan_put(text, "%" PRIu64, value / one);
    value %= one;
    if (value == 0) {
        return;
    }
    for (; value % 10 == 0; digits--) {
        value /= 10;
    }
    plan_put(text, ".%0*" PRIu64, (int)digits, value);
}

static void put_spread(struct plan_text *text, const struct plan_spread *spread)
{
    const char *name = spread->type == PLAN_SPREAD_EXP      ? "exp:"
                       : spread->type == PLAN_SPREAD_PARETO ? "pareto:"
                                                            : "";
    plan_put(text, ":%s", name);
    put_time(text, spread->ns);
    if (spread->type == PLAN_SPREAD_UNIFORM) {
        plan_put(text, "+-");
        put_time(text, spread->spread_ns);
    }
    if (spread->type == PLAN_SPREAD_PARETO) {
        plan_put(text, ":");
        put_decimal(text, spread->shape_ppm, 6);
    }
}

static void put_ranks(struct plan_text *text, const struct plan_ranks *ranks,
                      const char *before)
{
    before = ranks->of_hosts ? "h" : before;
    if (ranks->all) {
        plan_put(text, "all");
    }
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct plan_span *span = &ranks->span[i];
        plan_put(text, "%s%" PRIu32, i == 0 ? before : "+", span->first);
        if (span->last > span->first) {
            plan_put(text, "-%" PRIu32, span->last);
        }
    }
}

static void put_kinds(struct plan_text *text, const struct plan_rule *rule)
{
    const char *before = "/";
    for (unsigned group = 0; group < PLAN_GROUP_END; group++) {
        if (rule->groups >> group & 1) {
            plan_put(text, "%s%s", before, plan_group_name((enum plan_group)group));
            before = "+";
        }
    }
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        if (rule->types & PLAN_TYPE(type)) {
            plan_put(text, "%s%s", before, message_type_name((enum message_type)type));
            before = "+";
        }
    }
}

static void put_argument(struct plan_text *text, const struct plan_rule *rule)
{
    if (rule->chance_ppb != PLAN_CERTAIN_PPB) {
        plan_put(text, ":");
        put_decimal(text, rule->chance_ppb, 9);
    }
    if (rule->times != plan_times_default(rule->fault)) {
        plan_put(text, ":x%" PRIu32, rule->times);
    }
    if (rule->factor_ppm != 0) {
        plan_put(text, ":x");
        put_decimal(text, rule->factor_ppm, 6);
    } else if (rule->spread.type != PLAN_SPREAD_NONE) {
        put_spread(text, &rule->spread);
    }
}

/* The ranks: of a strike and of a part they are the argument. */
static void put_where(struct plan_text *text, const struct plan_rule *rule)
{
    bool argument = plan_is_strike(rule->fault) || rule->fault == PLAN_PART;
    if (rule->fault == PLAN_JOIN ||
        (!argument && !plan_is_message(rule->fault) && rule->ranks.all)) {
        return;
    }
    if (!argument && plan_is_message(rule->fault) && rule->link == PLAN_LINK_ANY) {
        return;
    }
    plan_put(text, argument ? ":" : "/");
    const char *before = rule->fault == PLAN_PART ? "" : "r";
    put_ranks(text, &rule->ranks, before);
    if (rule->link == PLAN_LINK_BETWEEN) {
        plan_put(text, rule->fault == PLAN_PART ? "/" : "-");
    }
    if (rule->link == PLAN_LINK_TOWARDS) {
        plan_put(text, "-to-");
    }
    if (rule->link == PLAN_LINK_BETWEEN || rule->link == PLAN_LINK_TOWARDS) {
        put_ranks(text, &rule->others, before);
    }
}

static void put_when(struct plan_text *text, const struct plan_rule *rule)
{
    bool at_point = rule->when == PLAN_AT_POINT;
    if (rule->when == PLAN_AT_TIME) {
        plan_put(text, "@");
        put_time(text, rule->at_ns);
    }
    if (at_point) {
        plan_put(text, "@%s", core_point_name(rule->point));
    }
    bool first = rule->nth_first == 1 && rule->nth_last == 1;
    if (rule->nth_first != 0 && !(at_point && first)) {
        plan_put(text, "#%" PRIu64, rule->nth_first);
        if (rule->nth_last == PLAN_FOREVER) {
            plan_put(text, "-");
        } else if (rule->nth_last > rule->nth_first) {
            plan_put(text, "-%" PRIu64, rule->nth_last);
        }
    }
    if (rule->when != PLAN_ALWAYS && rule->lasts_ns != PLAN_FOREVER) {
        plan_put(text, "+");
        put_time(text, rule->lasts_ns);
    }
}

static void put_rule(struct plan_text *text, const struct plan_rule *rule)
{
    plan_put(text, "%s", plan_fault_name(rule->fault));
    put_argument(text, rule);
    put_kinds(text, rule);
    put_where(text, rule);
    put_when(text, rule);
}

size_t plan_rule_format(const struct plan_rule *rule, char *bytes, size_t size)
{
    struct plan_text text = {.bytes = bytes, .size = size};
    put_rule(&text, rule);
    return plan_text_end(&text);
}

size_t plan_format(const struct plan *plan, char *bytes, size_t size)
{
    struct plan_text text = {.bytes = bytes, .size = size};
    if (!plan->seeded && plan->rule_count == 0) {
        plan_put(&text, "none");
    }
    if (plan->seeded) {
        plan_put(&text, "seed:%" PRIu64, plan->seed);
    }
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        plan_put(&text, "%s", plan->seeded || i > 0 ? "," : "");
        put_rule(&text, &plan->rules[i]);
    }
    return plan_text_end(&text);
}

/* --- Mistakes --------------------------------------------------------------------- */

size_t plan_error_format(const char *plan_text, const struct plan_error *error,
                         char *bytes, size_t size)
{
    enum { WIDTH = 72, BEFORE = 40 };
    struct plan_text text = {.bytes = bytes, .size = size};
    size_t length = strlen(plan_text), at = error->column - 1, from = 0, to;
    while (length > 0 &&
           (plan_text[length - 1] == '\n' || plan_text[length - 1] == ' ')) {
        length--;
    }
    if (length > WIDTH && at > BEFORE) {
        from = at - BEFORE;
    }
    to = length > from + WIDTH ? from + WIDTH : length;
    plan_put(&text, "%s", from > 0 ? "..." : "");
    for (size_t i = from; i < to; i++) {
        char c = plan_text[i];
        plan_put(&text, "%c", c >= ' ' && c <= '~' ? c : '?');
    }
    plan_put(&text, "%s\n%*s^", to < length ? "..." : "",
             (int)(at - from + (from > 0 ? 3 : 0)), "");
    for (size_t i = at + 1; i < at + error->length && i < to; i++) {
        plan_put(&text, "~");
    }
    plan_put(&text, "\n%s\n", error->wrong);
    if (error->allowed[0] != '\0') {
        plan_put(&text, "allowed: %s\n", error->allowed);
    }
    return plan_text_end(&text);
}

/* --- Hits ------------------------------------------------------------------------- */

size_t plan_hits_format(const struct plan *plan, const struct plan_hits *hits,
                        char *bytes, size_t size)
{
    struct plan_text text = {.bytes = bytes, .size = size};
    plan_rules unfired = plan_unfired(plan, hits);
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        put_rule(&text, &plan->rules[i]);
        if (unfired & PLAN_RULE(i)) {
            plan_put(&text, ": never fired, and it should have\n");
        } else if (hits->fired[i] == 0) {
            plan_put(&text, ": never fired\n");
        } else if (hits->fired[i] == 1) {
            plan_put(&text, ": fired once\n");
        } else {
            plan_put(&text, ": fired %" PRIu64 " times\n", hits->fired[i]);
        }
    }
    return plan_text_end(&text);
}
