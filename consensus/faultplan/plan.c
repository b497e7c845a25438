/* plan.c - a plan as data: names, sets of ranks, equality, the check against a job.
 *
 * The design stands in faultplan.h.
 */
#include "consensus/faultplan/plan_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *plan_fault_name(enum plan_fault fault)
{
    static const char *const names[] = {
#define X(name, text) [PLAN_##name] = text,
        PLAN_FAULTS(X)
#undef X
    };
    return (unsigned)fault < PLAN_FAULT_END ? names[fault] : "?";
}

const char *plan_group_name(enum plan_group group)
{
    static const char *const names[] = {
#define X(name, text) [PLAN_GROUP_##name] = text,
        PLAN_GROUPS(X)
#undef X
    };
    return (unsigned)group < PLAN_GROUP_END ? names[group] : "?";
}

/* No default: a new type of message asks here where it belongs. */
enum plan_group plan_group(enum message_type type)
{
    switch (type) {
    case MESSAGE_MOTION:
    case MESSAGE_DECISION:
    case MESSAGE_SEEK:
    case MESSAGE_REFER:
    case MESSAGE_ACCEPT:
    case MESSAGE_ACK:
    case MESSAGE_VERDICT:
        return PLAN_GROUP_VOTE;
    case MESSAGE_RESULT:
    case MESSAGE_ENDED:
    case MESSAGE_ELEMENTS:
    case MESSAGE_PARTS:
    case MESSAGE_FAMILY:
    case MESSAGE_PULL:
        return PLAN_GROUP_RESULT;
    case MESSAGE_ROLL:
    case MESSAGE_WANT:
    case MESSAGE_HASHES:
    case MESSAGE_STATE:
        return PLAN_GROUP_GOSSIP;
    case MESSAGE_POLL:
    case MESSAGE_POLLR:
    case MESSAGE_RESOLVE:
    case MESSAGE_CHASE:
    case MESSAGE_CENSUS:
    case MESSAGE_LOT:
    case MESSAGE_RELEASED:
        return PLAN_GROUP_QUIET;
    case MESSAGE_CANCEL:
    case MESSAGE_DIVERGED:
    case MESSAGE_ADJOURN:
    case MESSAGE_MEET:
    case MESSAGE_SNAPSHOT:
    case MESSAGE_KERNEL:
    case MESSAGE_INQUIRY:
    case MESSAGE_ACCOUNT:
    case MESSAGE_SIGNATURE:
        return PLAN_GROUP_NOTICE;
    case MESSAGE_HEARTBEAT:
    case MESSAGE_GRANT:
    case MESSAGE_PREPARE:
    case MESSAGE_PROMISE:
    case MESSAGE_PROPOSE:
    case MESSAGE_VOTED:
    case MESSAGE_REJECT:
    case MESSAGE_VIEW:
    case MESSAGE_REPORT:
    case MESSAGE_SETTLED:
    case MESSAGE_FENCED:
    case MESSAGE_JOIN:
    case MESSAGE_LEAVE:
    case MESSAGE_TALLY:
    case MESSAGE_HANDOVER:
        return PLAN_GROUP_VIEW;
    case MESSAGE_NONE:
    case MESSAGE_TYPE_END:
        break;
    }
    return PLAN_GROUP_END;
}

bool plan_is_strike(enum plan_fault fault)
{
    return fault == PLAN_KILL || fault == PLAN_RESTART || fault == PLAN_PAUSE ||
           fault == PLAN_LEAVE || fault == PLAN_FLIP;
}

bool plan_is_message(enum plan_fault fault)
{
    return fault == PLAN_DROP || fault == PLAN_DUP || fault == PLAN_REORDER ||
           fault == PLAN_DELAY;
}

uint32_t plan_times_default(enum plan_fault fault)
{
    return fault == PLAN_DUP ? 2 : fault == PLAN_REORDER || fault == PLAN_JOIN ? 1 : 0;
}

uint32_t plan_newcomers(const struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        count += plan->rules[i].fault == PLAN_JOIN ? plan->rules[i].times : 0;
    }
    return count;
}

bool plan_harms_wire(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        enum plan_fault fault = plan->rules[i].fault;
        if (plan_is_message(fault) || fault == PLAN_PART) {
            return true;
        }
    }
    return false;
}

const struct plan_rule *plan_harms_disk(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const enum plan_fault fault = plan->rules[i].fault;
        if (fault == PLAN_DISK_FULL || fault == PLAN_DISK_SLOW ||
            fault == PLAN_DISK_FLIP) {
            return &plan->rules[i];
        }
    }
    return NULL;
}

void plan_free(struct plan *plan) { free(plan); }

/* --- Sets of ranks ---------------------------------------------------------------- */

bool plan_spans_have(const struct plan_ranks *ranks, uint32_t number)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (number >= ranks->span[i].first && number <= ranks->span[i].last) {
            return true;
        }
    }
    return ranks->all;
}

bool plan_ranks_has(const struct plan_ranks *ranks, uint32_t rank)
{
    if (!ranks->of_hosts) {
        return plan_spans_have(ranks, rank);
    }
    return rank < ranks->host_of_count && plan_spans_have(ranks, ranks->host_of[rank]);
}

void plan_place(struct plan *plan, const uint32_t *host_of, uint32_t ranks)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        struct plan_ranks *sets[] = {&plan->rules[i].ranks, &plan->rules[i].others};
        for (int set = 0; set < 2; set++) {
            sets[set]->host_of = sets[set]->of_hosts ? host_of : NULL;
            sets[set]->host_of_count = sets[set]->of_hosts ? ranks : 0;
        }
    }
}

bool plan_names_hosts(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].ranks.of_hosts || plan->rules[i].others.of_hosts) {
            return true;
        }
    }
    return false;
}

bool plan_ranks_add(struct plan_ranks *ranks, uint32_t first, uint32_t last)
{
    struct plan_span *span = ranks->span;
    uint32_t from = 0, to;
    while (from < ranks->count && (uint64_t)span[from].last + 1 < first) {
        from++;
    }
    /* from .. to-1 overlap or touch the new one, which takes their place */
    for (to = from; to < ranks->count && span[to].first <= (uint64_t)last + 1; to++) {
        first = span[to].first < first ? span[to].first : first;
        last = span[to].last > last ? span[to].last : last;
    }
    if (from == to && ranks->count == PLAN_SPANS_MAX) {
        return false;
    }
    memmove(span + from + 1, span + to, (ranks->count - to) * sizeof(*span));
    ranks->count = ranks->count + 1 - (to - from);
    span[from] = (struct plan_span){first, last};
    return true;
}

static bool ranks_equal(const struct plan_ranks *a, const struct plan_ranks *b)
{
    if (a->all != b->all || a->of_hosts != b->of_hosts || a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->span[i].first != b->span[i].first ||
            a->span[i].last != b->span[i].last) {
            return false;
        }
    }
    return true;
}

/* --- Equality --------------------------------------------------------------------- */

static bool rule_equal(const struct plan_rule *a, const struct plan_rule *b)
{
    return a->fault == b->fault && a->chance_ppb == b->chance_ppb &&
           a->times == b->times && a->factor_ppm == b->factor_ppm &&
           a->spread.type == b->spread.type && a->spread.ns == b->spread.ns &&
           a->spread.spread_ns == b->spread.spread_ns &&
           a->spread.shape_ppm == b->spread.shape_ppm && a->groups == b->groups &&
           a->types == b->types && a->link == b->link &&
           ranks_equal(&a->ranks, &b->ranks) && ranks_equal(&a->others, &b->others) &&
           a->when == b->when && a->at_ns == b->at_ns && a->point == b->point &&
           a->nth_first == b->nth_first && a->nth_last == b->nth_last &&
           a->lasts_ns == b->lasts_ns;
}

bool plan_equal(const struct plan *a, const struct plan *b)
{
    if (a->seeded != b->seeded || (a->seeded && a->seed != b->seed) ||
        a->rule_count != b->rule_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->rule_count; i++) {
        if (!rule_equal(&a->rules[i], &b->rules[i])) {
            return false;
        }
    }
    return true;
}

/* --- Against a job's size --------------------------------------------------------- */

static int refuse(struct plan_error *error, uint32_t column, uint32_t length,
                  const char *wrong, const char *allowed)
{
    if (error != NULL) {
        error->column = column > 0 ? column : 1;
        error->length = length > 0 ? length : 1;
        snprintf(error->wrong, sizeof(error->wrong), "%s", wrong);
        snprintf(error->allowed, sizeof(error->allowed), "%s", allowed);
    }
    return MOOT_ERR_CONFIG;
}

/* How many hosts the ranks of a set are on, as far as it is placed. */
static uint32_t count_hosts(const struct plan_ranks *ranks)
{
    uint32_t hosts = 0;
    for (uint32_t rank = 0; rank < ranks->host_of_count; rank++) {
        hosts = ranks->host_of[rank] >= hosts ? ranks->host_of[rank] + 1 : hosts;
    }
    return hosts;
}

static int check_hosts(const struct plan_ranks *ranks, struct plan_error *error)
{
    const uint32_t last = ranks->span[ranks->count - 1].last,
                   hosts = count_hosts(ranks);
    char wrong[PLAN_WRONG_BYTES], allowed[64] = "";
    if (last < hosts) {
        return MOOT_OK;
    }
    if (hosts == 0) {
        return refuse(error, ranks->column, ranks->length,
                      "nothing is known of hosts here", "ranks, as in r2");
    }
    snprintf(wrong, sizeof(wrong), "there is no host %u: the job has %u %s", last,
             hosts, hosts == 1 ? "host" : "hosts");
    snprintf(allowed, sizeof(allowed), "hosts 0 to %u", hosts - 1);
    return refuse(error, ranks->column, ranks->length, wrong, allowed);
}

static int check_set(const struct plan_ranks *ranks, uint32_t size,
                     struct plan_error *error)
{
    if (ranks->count > 0 && ranks->of_hosts) {
        return check_hosts(ranks, error);
    }
    if (ranks->count == 0 || ranks->span[ranks->count - 1].last < size) {
        return MOOT_OK;
    }
    char wrong[PLAN_WRONG_BYTES], allowed[64] = "only rank 0";
    snprintf(wrong, sizeof(wrong), "there is no rank %u: the job has %u %s",
             ranks->span[ranks->count - 1].last, size, size == 1 ? "rank" : "ranks");
    if (size > 1) {
        snprintf(allowed, sizeof(allowed), "ranks 0 to %u", size - 1);
    }
    return refuse(error, ranks->column, ranks->length, wrong, allowed);
}

int plan_check_ranks(const struct plan *plan, uint32_t size, struct plan_error *error)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        int code = check_set(&rule->ranks, size, error);
        if (code == MOOT_OK) {
            code = check_set(&rule->others, size, error);
        }
        if (code != MOOT_OK) {
            return code;
        }
        const struct plan_ranks *ranks = &rule->ranks;
        const uint32_t all = ranks->of_hosts ? count_hosts(ranks) : size;
        if (rule->link == PLAN_LINK_BOUNDARY && ranks->count == 1 &&
            ranks->span[0].first == 0 && ranks->span[0].last == all - 1) {
            return refuse(error, rule->column, rule->length,
                          "the whole job is on one side of this part",
                          "a side that leaves some rank on the other");
        }
    }
    return MOOT_OK;
}

/* --- Text that ends where its buffer ends ----------------------------------------- */

void plan_put(struct plan_text *text, const char *format, ...)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list args;
    va_start(args, format);
    int length =
        vsnprintf(room > 0 ? text->bytes + text->length : NULL, room, format, args);
    va_end(args);
    text->length += length > 0 ? (size_t)length : 0;
}

size_t plan_text_end(struct plan_text *text)
{
    if (text->size > 0) {
        text->bytes[text->length < text->size ? text->length : text->size - 1] = '\0';
    }
    return text->length;
}
