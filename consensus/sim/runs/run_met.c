/* run_met.c - what has come to whom: pairs of a message's type and its receiver's
 * state.
 *
 * A rule is thinly tested where the messages that it is about come to ranks in few
 * states.  The table shows which states those were, over all runs of a tally; a dot is
 * a pair that no run had, and a dash one that cannot be.
 */
#include "consensus/sim/runs/run_stats.h"

#include "proto/wire.h"

#include <inttypes.h>

enum { NUMBER_BYTES = 16 };

static const char *standing_name(int standing)
{
    static const char *const names[CORE_STANDING_END] = {
#define X(name, text) [CORE_STANDING_##name] = text,
        CORE_STANDINGS(X)
#undef X
    };
    return names[standing];
}

/* In four columns at most. */
static void format_count(uint64_t count, char text[NUMBER_BYTES])
{
    static const char units[] = " kMGTPE";
    int unit = 0;
    for (; count >= 1000; unit++) {
        count /= 1000;
    }
    (void)snprintf(text, NUMBER_BYTES, unit == 0 ? "%" PRIu64 : "%" PRIu64 "%c", count,
                   units[unit]);
}

/* Pairs that cannot be, by the protocol.  One that is met after all is shown, and
 * counts. */
#define JOINS (1u << CORE_STANDING_JOINS)
static const uint32_t impossible[MESSAGE_TYPE_END] = {
    /* Answers: who is in no view yet has asked for nothing but to be let in. */
    [MESSAGE_PULL] = JOINS, /* ... and has no result */
    [MESSAGE_REFER] = JOINS,
    [MESSAGE_ACK] = JOINS,
    [MESSAGE_WANT] = JOINS, /* ... and has announced nothing */
    [MESSAGE_HASHES] = JOINS,
    [MESSAGE_POLLR] = JOINS,
    [MESSAGE_GRANT] = JOINS,
    [MESSAGE_PROMISE] = JOINS,
    [MESSAGE_VOTED] = JOINS,
    [MESSAGE_REJECT] = JOINS,
    /* Said when all members have reported, or rest, in this view. */
    [MESSAGE_DECISION] = JOINS, /* ... to who holds the task */
    [MESSAGE_VERDICT] = JOINS,
    [MESSAGE_POLL] = JOINS,
    [MESSAGE_RESOLVE] = JOINS,
    [MESSAGE_CHASE] = JOINS,
    [MESSAGE_SETTLED] = JOINS,
    /* Strict mode: who is in no view yet is told by none, and nobody leaves. */
    [MESSAGE_DIVERGED] = JOINS | 1u << CORE_STANDING_LEAVES,
    /* All have closed, the receiver included, which shows before it waits or runs. */
    [MESSAGE_ADJOURN] = JOINS | 1u << CORE_STANDING_WAITS | 1u << CORE_STANDING_RUNS,
};

static bool is_impossible(int type, int standing, uint64_t count)
{
    return count == 0 && (impossible[type] >> standing & 1) != 0;
}

static uint32_t print_row(int type, const uint64_t counts[CORE_STANDING_END],
                          uint32_t *pairs, FILE *to)
{
    uint32_t met = 0;
    for (int i = 0; i < CORE_STANDING_END; i++) {
        char text[NUMBER_BYTES] = ".";
        if (is_impossible(type, i, counts[i])) {
            text[0] = '-';
        } else {
            *pairs += 1;
        }
        if (counts[i] != 0) {
            format_count(counts[i], text);
        }
        fprintf(to, " %8s", text);
        met += counts[i] != 0;
    }
    fputc('\n', to);
    return met;
}

void tally_print_met(const struct tally *tally, FILE *to)
{
    uint32_t pairs = 0, met = 0;
    fprintf(to, "%-10s", "");
    for (int i = 0; i < CORE_STANDING_END; i++) {
        fprintf(to, " %8s", standing_name(i));
    }
    fputc('\n', to);
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        if (message_is((enum message_type)type, MESSAGE_IS_HOST)) {
            continue;
        }
        fprintf(to, "%-10s", message_type_name((enum message_type)type));
        met += print_row(type, tally->met[type], &pairs, to);
    }
    fprintf(to,
            "%" PRIu32 " of %" PRIu32
            " possible pairs of a message and its receiver's state\n",
            met, pairs);
}

void tally_print_features(const struct tally *tally, FILE *to)
{
    static const char *const names[TALLY_FEATURES] = {
#define X(name, text) [TALLY_##name] = text,
        TALLY_FEATURE_LIST(X)
#undef X
    };
    for (int i = 0; i < TALLY_FEATURES; i++) {
        if (tally->featured[i] == 0) {
            fprintf(to, "     never  %s\n", names[i]);
        } else {
            fprintf(to, "%10" PRIu64 "  %s\n", tally->featured[i], names[i]);
        }
    }
    fprintf(to, "of %" PRIu64 " runs\n", tally->runs);
}
