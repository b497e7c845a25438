/* plan_parse.c - from the word to the rules, and where and why it is wrong.
 *
 * One table says what each fault takes and needs; the functions below follow the
 * grammar of faultplan.h from left to right.
 */
#include "consensus/faultplan/plan_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANCE = 1 << 0,
    TIMES = 1 << 1,
    FACTOR = 1 << 2,
    SPREAD = 1 << 3,
    RANKS = 1 << 4,  /* as the argument */
    SIDES = 1 << 5,  /* likewise */
    KINDS = 1 << 6,  /* as a selector */
    LINK = 1 << 7,   /* likewise */
    WHERE = 1 << 8,  /* likewise: ranks */
    MOMENT = 1 << 9, /* @time */
    POINT = 1 << 10, /* @point, with MOMENT */
    AGAIN = 1 << 11, /* a range of #nth */
    COUNT = 1 << 12, /* #nth without a point */
    LASTS = 1 << 13,
    MESSAGES = CHANCE | KINDS | LINK | MOMENT | POINT | AGAIN | COUNT | LASTS,
    STATES = CHANCE | SPREAD | WHERE | MOMENT | POINT | AGAIN | COUNT | LASTS
};

static const struct shape {
    unsigned takes, needs;
    const char *argument; /* how its argument looks */
} shapes[] = {
    [PLAN_DROP] = {MESSAGES, 0, "drop:0.1"},
    [PLAN_DUP] = {MESSAGES | TIMES, 0, "dup:0.1, dup:0.1:x3"},
    [PLAN_REORDER] = {MESSAGES | TIMES, 0, "reorder:0.1, reorder:0.1:x3"},
    [PLAN_DELAY] = {MESSAGES | SPREAD, SPREAD,
                    "delay:5ms, delay:5ms+-2ms, delay:exp:5ms, delay:pareto:1ms:1.5, "
                    "and with a probability delay:0.1:5ms"},
    [PLAN_PART] = {SIDES | MOMENT | POINT | AGAIN | LASTS, SIDES,
                   "part:0-1/2-3, part:0-1-to-2-3, part:0-1"},
    [PLAN_KILL] = {RANKS | MOMENT | POINT, RANKS | MOMENT, "kill:r2@3s"},
    [PLAN_RESTART] = {RANKS | MOMENT | POINT | LASTS, RANKS | MOMENT | LASTS,
                      "restart:r2@3s+1s"},
    [PLAN_PAUSE] = {RANKS | MOMENT | POINT | AGAIN | LASTS, RANKS | MOMENT | LASTS,
                    "pause:r1@2s+500ms"},
    [PLAN_LEAVE] = {RANKS | MOMENT | POINT, RANKS | MOMENT, "leave:r2@3s"},
    [PLAN_FLIP] = {RANKS | MOMENT | POINT, RANKS | MOMENT, "flip:r1@sign#5"},
    [PLAN_JOIN] = {TIMES | MOMENT, MOMENT, "join@3s, join:x2@3s"},
    [PLAN_CLOCK] = {FACTOR | WHERE | MOMENT | LASTS, FACTOR, "clock:x1.01"},
    [PLAN_SLOW] = {STATES | FACTOR, FACTOR | SPREAD,
                   "slow:x10, slow:50ms, slow:exp:50ms, and with a probability "
                   "slow:0.1:x10"},
    [PLAN_GAP] = {STATES, SPREAD,
                  "gap:50ms, gap:exp:50ms, and with a probability gap:0.01:50ms"},
    [PLAN_DISK_FULL] = {STATES & ~SPREAD, 0, "disk.full@3s+1s, disk.full:0.1"},
    [PLAN_DISK_SLOW] = {STATES, SPREAD,
                        "disk.slow:50ms, and with a probability disk.slow:0.1:50ms"},
    [PLAN_DISK_FLIP] = {STATES & ~SPREAD, 0, "disk.flip:0.1, disk.flip#3"},
};

static const char *const fault_names[] = {
#define X(name, text) text,
    PLAN_FAULTS(X)
#undef X
        "seed",
};
static const char *const kind_names[] = {
#define X(name, text) text,
    PLAN_GROUPS(X)
#undef X
#define X(name, ...) #name,
        MESSAGE_TYPES(X)
#undef X
};
static const char *const point_names[] = {
#define X(name, text) text,
    CORE_POINTS(X)
#undef X
};
enum {
    FAULT_NAMES = sizeof(fault_names) / sizeof(*fault_names),
    KIND_NAMES = sizeof(kind_names) / sizeof(*kind_names),
    POINT_NAMES = sizeof(point_names) / sizeof(*point_names)
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* --- Arguments -------------------------------------------------------------------- */

/* Where none of the names stands, a time may: false, and the mistake says so. */
static bool or_a_time(const struct lexer *lexer, const char *time)
{
    char *allowed = lexer->error ? lexer->error->allowed : NULL;
    const size_t length = allowed ? strlen(allowed) : 0;
    if (allowed) {
        snprintf(allowed + length, PLAN_ALLOWED_BYTES - length, ", or a time, %s",
                 time);
    }
    return false;
}

bool lex_spread(struct lexer *lexer, struct plan_spread *out)
{
    static const char *const names[] = {"exp", "pareto"};
    if (is_digit(lex_peek(lexer, 0))) {
        size_t from = lexer->at;
        out->type = PLAN_SPREAD_FIXED;
        if (!lex_time(lexer, &out->ns) || !lex_skip(lexer, "+-")) {
            return !lexer->failed;
        }
        out->type = PLAN_SPREAD_UNIFORM;
        if (!lex_time(lexer, &out->spread_ns)) {
            return false;
        }
        if (out->spread_ns > out->ns) {
            return lex_wrong(lexer, from, lexer->at - from, "",
                             "this spread reaches below zero");
        }
        return true;
    }
    size_t name;
    if (!lex_name(lexer, "distribution", names, 2, &name)) {
        return or_a_time(lexer, "5ms or 5ms+-2ms");
    }
    out->type = name == 0 ? PLAN_SPREAD_EXP : PLAN_SPREAD_PARETO;
    if (!lex_skip(lexer, ":")) {
        return lex_expected(lexer, "\":\" and a time", "exp:5ms, pareto:1ms:1.5");
    }
    if (!lex_time(lexer, &out->ns) || out->type == PLAN_SPREAD_EXP) {
        return !lexer->failed;
    }
    if (!lex_skip(lexer, ":")) {
        return lex_expected(lexer, "\":\" and a shape", "pareto:1ms:1.5");
    }
    return lex_ppm(lexer, "a shape", PLAN_SHAPE_MIN_PPM, PLAN_SHAPE_MAX_PPM,
                   &out->shape_ppm);
}

static bool parse_times(struct lexer *lexer, struct plan_rule *rule)
{
    size_t from = lexer->at;
    uint64_t times, least = rule->fault == PLAN_DUP ? 2 : 1;
    if (!lex_integer(lexer, &times)) {
        return false;
    }
    if (times < least || times > PLAN_TIMES_MAX) {
        return lex_wrong(lexer, from, lexer->at - from, "", "%s takes x%u to x%d",
                         plan_fault_name(rule->fault), (unsigned)least, PLAN_TIMES_MAX);
    }
    rule->times = (uint32_t)times;
    return true;
}

/* Whether the number that stands here is meant to be a time: it has a unit, or is too
 * large for a probability. */
static bool looks_like_time(const struct lexer *lexer)
{
    size_t at = 0;
    bool large = is_digit(lex_peek(lexer, 1)) || lex_peek(lexer, 0) > '1';
    while (is_digit(lex_peek(lexer, at)) || lex_peek(lexer, at) == '.') {
        at++;
    }
    if (at < lex_word(lexer)) {
        return lex_peek(lexer, at) != '%';
    }
    return large && lex_peek(lexer, at) != '%';
}

/* One argument behind its colon.  `had` is what the rule has already. */
static bool parse_argument(struct lexer *lexer, struct plan_rule *rule, unsigned *had)
{
    const struct shape *shape = &shapes[rule->fault];
    unsigned open = shape->takes & ~*had;
    char next = lex_peek(lexer, 0);
    if (next == 'x' && (open & TIMES)) {
        *had |= CHANCE | TIMES;
        lexer->at++;
        return parse_times(lexer, rule);
    }
    if (next == 'x' && (open & FACTOR)) {
        *had |= CHANCE | FACTOR | SPREAD;
        lexer->at++;
        return lex_ppm(lexer, "a factor", PLAN_FACTOR_MIN_PPM, PLAN_FACTOR_MAX_PPM,
                       &rule->factor_ppm);
    }
    bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    bool time = is_digit(next) && (!(open & CHANCE) || looks_like_time(lexer));
    if ((open & SPREAD) && (letter || time)) {
        *had |= CHANCE | FACTOR | SPREAD;
        return lex_spread(lexer, &rule->spread);
    }
    if ((open & CHANCE) && (is_digit(next) || next == '-')) {
        *had |= CHANCE;
        return lex_chance(lexer, &rule->chance_ppb);
    }
    if (open & (CHANCE | TIMES | FACTOR | SPREAD)) {
        return lex_expected(lexer, "an argument", shape->argument);
    }
    return lex_wrong(lexer, lexer->at - 1, 1, shape->argument,
                     "%s takes no more arguments", plan_fault_name(rule->fault));
}

static bool parse_ranks_or_all(struct lexer *lexer, struct plan_ranks *out)
{
    if (lex_word(lexer) == 3 && lex_skip(lexer, "all")) {
        out->all = true;
        return true;
    }
    return lex_places(lexer, true, out);
}

static bool towards(struct lexer *lexer)
{
    return lex_skip(lexer, "-to-") || lex_skip(lexer, ">");
}

static bool names_places(char letter) { return letter == 'r' || letter == 'h'; }

static bool parse_sides(struct lexer *lexer, struct plan_rule *rule)
{
    size_t from = lexer->at;
    rule->link = PLAN_LINK_BOUNDARY;
    if (!lex_places(lexer, false, &rule->ranks)) {
        return false;
    }
    if (towards(lexer)) {
        rule->link = PLAN_LINK_TOWARDS;
    } else if (lex_skip(lexer, "/") ||
               (names_places(lex_peek(lexer, 1)) && lex_skip(lexer, "-"))) {
        rule->link = PLAN_LINK_BETWEEN;
    } else {
        return true;
    }
    if (!lex_places(lexer, false, &rule->others)) {
        return false;
    }
    const bool alike = rule->ranks.of_hosts == rule->others.of_hosts;
    for (uint32_t i = 0; alike && i < rule->ranks.count; i++) {
        for (uint32_t j = 0; j < rule->others.count; j++) {
            struct plan_span a = rule->ranks.span[i], b = rule->others.span[j];
            uint32_t both = a.first > b.first ? a.first : b.first;
            if (both <= a.last && both <= b.last) {
                return lex_wrong(lexer, from, lexer->at - from, "",
                                 "%s %u stands on both sides",
                                 rule->ranks.of_hosts ? "host" : "rank", both);
            }
        }
    }
    return true;
}

static bool parse_arguments(struct lexer *lexer, struct plan_rule *rule)
{
    const struct shape *shape = &shapes[rule->fault];
    unsigned had = 0;
    while (lex_skip(lexer, ":")) {
        bool good;
        if (shape->takes & RANKS & ~had) {
            good = parse_ranks_or_all(lexer, &rule->ranks);
        } else if (shape->takes & SIDES & ~had) {
            good = parse_sides(lexer, rule);
        } else {
            good = parse_argument(lexer, rule, &had);
        }
        if (!good) {
            return false;
        }
        had |= RANKS | SIDES;
    }
    unsigned needs = shape->needs & (FACTOR | SPREAD | RANKS | SIDES);
    if (needs != 0 && (needs & had) == 0) {
        return lex_expected(lexer, "an argument", shape->argument);
    }
    return true;
}

/* --- Selectors -------------------------------------------------------------------- */

static bool parse_kinds(struct lexer *lexer, struct plan_rule *rule)
{
    do {
        size_t kind, length = lex_word(lexer);
        if (is_digit(lex_peek(lexer, 0))) {
            return lex_wrong(lexer, lexer->at, length,
                             "ranks, as in /r0-r1; a duration behind @when, as in "
                             "@0s+500ms",
                             "a kind of message has no number");
        }
        if (!lex_name(lexer, "kind of message", kind_names, KIND_NAMES, &kind)) {
            return false;
        }
        if (kind < PLAN_GROUP_END) {
            rule->groups |= 1u << kind;
        } else {
            rule->types |= PLAN_TYPE(kind - PLAN_GROUP_END + 1);
        }
    } while (lex_skip(lexer, "+"));
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        if (rule->groups >> plan_group((enum message_type)type) & 1) {
            rule->types &= ~PLAN_TYPE(type);
        }
    }
    return true;
}

static bool parse_link(struct lexer *lexer, struct plan_rule *rule)
{
    if (!parse_ranks_or_all(lexer, &rule->ranks)) {
        return false;
    }
    char next = lex_peek(lexer, 1);
    if (towards(lexer)) {
        rule->link = PLAN_LINK_TOWARDS;
    } else if ((names_places(next) || next == 'a') && lex_skip(lexer, "-")) {
        rule->link = PLAN_LINK_BETWEEN;
    } else if (rule->ranks.all) {
        rule->ranks.all = false; /* and so PLAN_LINK_ANY */
    } else {
        rule->link = PLAN_LINK_TOUCHES;
    }
    if (rule->link != PLAN_LINK_TOWARDS && rule->link != PLAN_LINK_BETWEEN) {
        return true;
    }
    return parse_ranks_or_all(lexer, &rule->others);
}

/* A selector that the rule does not take (any more): `ranks` or kinds of messages. */
static bool selector_wrong(struct lexer *lexer, const struct plan_rule *rule,
                           bool ranks)
{
    unsigned takes = shapes[rule->fault].takes;
    const char *fault = plan_fault_name(rule->fault);
    size_t length = lex_word(lexer);
    if (length == 0) {
        return lex_expected(lexer, "a selector", "");
    }
    if (takes & (ranks ? LINK | WHERE : KINDS)) {
        return lex_wrong(lexer, lexer->at, length, "",
                         "this rule has its %s already; a list is written with +",
                         ranks ? "ranks" : "kinds of messages");
    }
    if (takes & WHERE) {
        return lex_expected(lexer, "a rank, such as r2,", "/r2, /r0+2-3");
    }
    return lex_wrong(lexer, lexer->at - 1, length + 1, shapes[rule->fault].argument,
                     "%s takes no selector", fault);
}

static bool parse_selectors(struct lexer *lexer, struct plan_rule *rule)
{
    unsigned open = shapes[rule->fault].takes & (KINDS | LINK | WHERE);
    while (lex_skip(lexer, "/")) {
        char next = lex_peek(lexer, 0);
        bool ranks =
            is_digit(next) || (names_places(next) && is_digit(lex_peek(lexer, 1))) ||
            (lex_word(lexer) == 3 && memcmp(lexer->text + lexer->at, "all", 3) == 0);
        unsigned chosen = open & (ranks ? LINK | WHERE : KINDS);
        bool good = chosen == KINDS   ? parse_kinds(lexer, rule)
                    : chosen == LINK  ? parse_link(lexer, rule)
                    : chosen == WHERE ? parse_ranks_or_all(lexer, &rule->ranks)
                                      : selector_wrong(lexer, rule, ranks);
        if (!good) {
            return false;
        }
        open &= ~chosen;
    }
    if ((open & WHERE) != 0) {
        rule->ranks.all = true;
    }
    return true;
}

static const char A_TIME[] = "a time, @2s";

/* --- When ------------------------------------------------------------------------- */

static bool parse_moment(struct lexer *lexer, struct plan_rule *rule)
{
    unsigned takes = shapes[rule->fault].takes;
    if (!lex_skip(lexer, "@")) {
        if ((shapes[rule->fault].needs & MOMENT) == 0) {
            return true;
        }
        char what[64];
        snprintf(what, sizeof(what), "the moment of the %s",
                 plan_fault_name(rule->fault));
        return lex_expected(
            lexer, what,
            (takes & POINT) != 0 ? "a time, @2s, or a point, @vote.cast#3" : A_TIME);
    }
    if (is_digit(lex_peek(lexer, 0))) {
        rule->when = PLAN_AT_TIME;
        return lex_time(lexer, &rule->at_ns);
    }
    size_t from = lexer->at, length = lex_word(lexer), point;
    if ((takes & POINT) == 0 && length == 0) {
        return lex_expected(lexer, "a time", A_TIME);
    }
    if ((takes & POINT) == 0) {
        return lex_wrong(lexer, from, length, A_TIME,
                         "a %s rule begins at a time, not at a point",
                         plan_fault_name(rule->fault));
    }
    if (!lex_name(lexer, "point", point_names, POINT_NAMES, &point)) {
        return or_a_time(lexer, "20ms");
    }
    if (rule->fault == PLAN_LEAVE && point == CORE_POINT_CLOSE) {
        return lex_wrong(lexer, from, length, "a time, @2s, or another point",
                         "at this point all programs have ended, and nobody leaves");
    }
    rule->when = PLAN_AT_POINT;
    rule->point = (enum core_point)point;
    rule->nth_first = rule->nth_last = 1;
    return true;
}

static bool parse_nth(struct lexer *lexer, struct plan_rule *rule)
{
    unsigned takes = shapes[rule->fault].takes;
    size_t from = lexer->at;
    if (!lex_skip(lexer, "#")) {
        return true;
    }
    size_t word = lex_word(lexer);
    if (rule->when != PLAN_AT_POINT && (takes & COUNT) == 0) {
        return lex_wrong(lexer, from, 1 + word, "",
                         "%s counts at a point only, as in @vote.cast#3",
                         plan_fault_name(rule->fault));
    }
    if (!lex_integer(lexer, &rule->nth_first)) {
        return false;
    }
    rule->nth_last = rule->nth_first;
    if (rule->nth_first == 0) {
        return lex_wrong(lexer, from, 1 + word, "", "counting starts at #1");
    }
    size_t hyphen = lexer->at;
    if (!lex_skip(lexer, "-")) {
        return true;
    }
    if ((takes & AGAIN) == 0) {
        return lex_wrong(lexer, hyphen, 1 + lex_word(lexer), "",
                         "a %s strikes a rank once", plan_fault_name(rule->fault));
    }
    rule->nth_last = PLAN_FOREVER;
    if (!is_digit(lex_peek(lexer, 0))) {
        return true;
    }
    if (!lex_integer(lexer, &rule->nth_last)) {
        return false;
    }
    if (rule->nth_last < rule->nth_first) {
        return lex_wrong(lexer, from, lexer->at - from, "", "a range goes upwards");
    }
    return true;
}

static bool parse_lasts(struct lexer *lexer, struct plan_rule *rule)
{
    const struct shape *shape = &shapes[rule->fault];
    size_t from = lexer->at;
    rule->lasts_ns = PLAN_FOREVER;
    if (!lex_skip(lexer, "+")) {
        if ((shape->needs & LASTS) == 0) {
            return true;
        }
        char what[64];
        snprintf(what, sizeof(what), "how long the %s lasts",
                 plan_fault_name(rule->fault));
        return lex_expected(lexer, what, "a duration, +500ms");
    }
    size_t word = lex_word(lexer);
    if (rule->fault == PLAN_KILL) {
        return lex_wrong(lexer, from, 1 + word, "restart:r2@3s+1s",
                         "a killed rank stays dead; a restart brings it back");
    }
    if (rule->fault == PLAN_LEAVE) {
        return lex_wrong(lexer, from, 1 + word, "leave:r2@3s",
                         "a rank that leaves does not come back");
    }
    if (rule->fault == PLAN_FLIP) {
        return lex_wrong(lexer, from, 1 + word, "flip:r1@3s",
                         "a bit that is flipped stays so");
    }
    if (rule->fault == PLAN_JOIN) {
        return lex_wrong(lexer, from, 1 + word, "join@3s,leave:r4@5s",
                         "a newcomer stays until a leave of its number");
    }
    if (rule->when == PLAN_ALWAYS) {
        return lex_wrong(lexer, from, 1 + word, "a moment and a duration, @0s+500ms",
                         "a duration stands behind a moment");
    }
    if (!lex_time(lexer, &rule->lasts_ns)) {
        return false;
    }
    if (rule->lasts_ns == 0) {
        return lex_wrong(lexer, from, 1 + word, "", "a duration is more than zero");
    }
    return true;
}

/* --- Rules ------------------------------------------------------------------------ */

static bool parse_seed(struct lexer *lexer, struct plan *plan, size_t from)
{
    if (plan->seeded) {
        return lex_wrong(lexer, from, 4, "", "a plan has one seed");
    }
    if (!lex_skip(lexer, ":")) {
        return lex_expected(lexer, "\":\" and a number", "seed:42");
    }
    plan->seeded = true;
    return lex_integer(lexer, &plan->seed);
}

static bool parse_entry(struct lexer *lexer, struct plan *plan)
{
    size_t from = lexer->at, name;
    if (!lex_name(lexer, "fault", fault_names, FAULT_NAMES, &name)) {
        return false;
    }
    if (name == PLAN_FAULT_END) {
        return parse_seed(lexer, plan, from);
    }
    if (plan->rule_count == PLAN_RULES_MAX) {
        return lex_wrong(lexer, from, lexer->at - from, "",
                         "a plan has at most %d rules", PLAN_RULES_MAX);
    }
    struct plan_rule *rule = &plan->rules[plan->rule_count];
    *rule = (struct plan_rule){.fault = (enum plan_fault)name,
                               .chance_ppb = PLAN_CERTAIN_PPB,
                               .times = plan_times_default((enum plan_fault)name)};
    if (!parse_arguments(lexer, rule) || !parse_selectors(lexer, rule) ||
        !parse_moment(lexer, rule) || !parse_nth(lexer, rule) ||
        !parse_lasts(lexer, rule)) {
        return false;
    }
    rule->column = (uint32_t)from + 1;
    rule->length = (uint32_t)(lexer->at - from);
    plan->rule_count++;
    return true;
}

static bool parse_plan(struct lexer *lexer, struct plan *plan)
{
    if (lexer->end == lexer->at) {
        return true;
    }
    if (lexer->end - lexer->at == 4 && lex_skip(lexer, "none")) {
        return true;
    }
    do {
        if (!parse_entry(lexer, plan)) {
            return false;
        }
    } while (lex_skip(lexer, ","));
    if (lexer->at < lexer->end) {
        return lex_expected(lexer, "\",\" or the plan's end",
                            "what:argument/selector@when#nth+duration, in this order");
    }
    return true;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int plan_parse(const char *text, struct plan **out, struct plan_error *error)
{
    struct lexer lexer = {.text = text, .end = strlen(text), .error = error};
    while (lexer.end > 0 && is_space(text[lexer.end - 1])) {
        lexer.end--;
    }
    while (lexer.at < lexer.end && is_space(text[lexer.at])) {
        lexer.at++;
    }
    if (lexer.end - lexer.at > PLAN_TEXT_BYTES_MAX) {
        lex_wrong(&lexer, lexer.at, 1, "", "a plan is at most %d bytes long",
                  PLAN_TEXT_BYTES_MAX);
        return MOOT_ERR_CONFIG;
    }
    struct plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!parse_plan(&lexer, plan)) {
        plan_free(plan);
        return MOOT_ERR_CONFIG;
    }
    *out = plan;
    return MOOT_OK;
}
