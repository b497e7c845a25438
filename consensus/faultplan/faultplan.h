/* faultplan.h - fault plans: what goes wrong, where, and when, in one word.
 *
 *     seed:42,drop:0.1/vote,delay:5ms+-2ms/r0-r1,pause:r1@2s+500ms,kill:r2@vote.cast#3
 *
 * A plan says the same to the simulator, to real ranks and to a reader.  It is one word
 * that a shell passes on as it stands, so it can be a command line's argument, an
 * environment variable, a line of a file and a failing run's replay line.
 *
 * Everything here is a pure function of its arguments.  Clocks, random numbers, and
 * what a fault does to a process or a message belong to the host; a plan only says
 * which rules strike.
 *
 *
 * The grammar (EBNF; [ ] is optional, { } repeats).  A rule is
 * `what:argument/selector@when#nth+duration`, of which each fault takes a part:
 *
 *     plan     = [ "none" ] | entry { "," entry }
 *     entry    = "seed:" integer | message | part | strike | join | state
 *
 *     message  = ( "drop"    [ ":" chance ]
 *                | "dup"     [ ":" chance ] [ ":" times ]
 *                | "reorder" [ ":" chance ] [ ":" times ]
 *                | "delay"   [ ":" chance ] ":" spread )
 *                [ "/" kinds ] [ "/" link ] [ when ]        (selectors in any order)
 *     part     = "part:" sides [ from ]
 *     strike   = "kill:" ranks moment
 *              | "restart:" ranks moment lasts
 *              | "pause:" ranks again lasts
 *              | "leave:" ranks moment
 *              | "flip:" ranks moment
 *     join     = "join" [ ":" times ] "@" time
 *     state    = "clock:" factor [ "/" ranks ] [ "@" time [ lasts ] ]
 *              | ( "slow" [ ":" chance ] ":" ( factor | spread )
 *                | "gap"  [ ":" chance ] ":" spread
 *                | "disk.full" [ ":" chance ] | "disk.flip" [ ":" chance ]
 *                | "disk.slow" [ ":" chance ] ":" spread ) [ "/" ranks ] [ when ]
 *
 *     chance   = decimal [ "%" ]                            (0 to 1, or 0% to 100%)
 *     times    = "x" integer
 *     factor   = "x" decimal                                (0.001 to 1000)
 *     spread   = time | time "+-" time | "exp:" time | "pareto:" time ":" decimal
 *     time     = decimal ( "ns" | "us" | "ms" | "s" | "m" | "h" )
 *
 *     kinds    = kind { "+" kind }
 *     kind     = "vote" | "result" | "gossip" | "view" | "quiet" | "notice" | TYPE
 *     TYPE     = "MOTION" | "DECISION" | ...                (as transcripts write them)
 *     link     = ranks | ranks "-" ranks | ranks towards ranks
 *     towards  = "-to-" | ">"                 (a shell needs quotes around the second)
 *     ranks    = "all" | "r" span { "+" [ "r" ] span } | hosts
 *     hosts    = "h" span { "+" [ "h" ] span }         (all ranks that are on these)
 *     sides    = side | side ( "/" | towards ) side | side "-" ranks
 *     side     = [ "r" ] span { "+" [ "r" ] span } | hosts           (never "all")
 *     span     = integer [ "-" integer ]
 *
 *     when     = "@" time [ "#" nth ] [ lasts ] | "@" point [ "#" nth ] [ lasts ]
 *              | "#" nth
 *     from     = "@" time [ lasts ] | "@" point [ "#" nth ] [ lasts ]
 *     moment   = "@" time | "@" point [ "#" integer ]
 *     again    = "@" time | "@" point [ "#" nth ]
 *     nth      = integer [ "-" [ integer ] ]                (3rd; 3rd to 5th; from 3rd)
 *     lasts    = "+" time
 *     point    = "spawn" | "claim" | ...                    (CORE_POINTS of core.h)
 *
 * A hyphen before a digit makes a range of ranks and before an "r" or "h" a pair: r0-3
 * are four ranks, r0-r3 are the messages between two.  Times have at most nine decimals
 * and come out as whole nanoseconds.
 *
 *
 * What the rules mean.
 *
 * drop      the message is lost.
 * dup       it arrives `times` times (2 unless said).
 * reorder   it is held back until `times` (1 unless said) later ones of its pair of
 *           ranks have passed it, or for PLAN_REORDER_HOLD_NS if they do not come.
 * delay     it arrives later by a draw from the spread; others may pass it meanwhile.
 * part      nothing passes between the sides (0-1/2-3), from the first to the second
 *           (0-1-to-2-3), or between one side and all other ranks (0-1).  A part of
 * hosts (h0/h1) cuts the links between them, and what a third one relays passes. kill
 * the rank is gone, without a word.  A host (h2) is gone with all its ranks, and
 *           whatever on it could have told so.
 * restart   it is gone, and after `lasts` comes back as a new member.
 * pause     it does nothing at all for `lasts`.
 * leave     its program ends there: it drains, hands over, and is a member no more.
 * flip      a bit of its program's state is another from then on: so are the signatures
 *           that it gives (moot_state_signature).
 * join      `times` processes more (1 unless said) ask to be let in, at once.
 * clock     its clock runs at `factor` times the true rate.
 * slow      its kernels take `factor` times as long, or longer by a draw.
 * gap       after a turn of its progress the next one comes later by a draw.
 * disk.full a batch of results that goes to its checkpoint finds no room.
 * disk.slow such a batch takes longer by a draw.
 * disk.flip a bit of a record flips on its way there.
 *
 * A selector of one rank set on a message means: from or to one of these.  No selector
 * means every message, or every rank.  A rule that names hosts means the ranks on them,
 * which plan_place() says; a host that is struck is struck as a whole, at a point by
 * the first of its ranks that passes it.
 *
 * Time 0 is the end of moot_open; points passed before that do not count, and each rank
 * counts its own, through a restart too.  A rule at a point strikes the rank that
 * passes it, the first time unless #nth says otherwise.  So a kill at a point kills the
 * rank that passes it; a message rule at a point concerns what that rank sends, and a
 * part also what reaches it, from then on, for `lasts` or for good.  #nth without a
 * point picks occasions: of the messages that match and that one rank sends, of the
 * kernels it runs, of the turns of its progress, of the batches or records it stores.
 *
 * A rule with a probability may fire or not.  A rule without one (a probability of 1 is
 * none) says what the author knows will happen: if it never fires the run did not test
 * what it was meant to, and that is an error (plan_unfired).
 */
#ifndef CONSENSUS_FAULTPLAN_FAULTPLAN_H
#define CONSENSUS_FAULTPLAN_FAULTPLAN_H

#include "consensus/core.h"

#include <assert.h>

enum {
    PLAN_RULES_MAX = 64, /* so that a set of rules is one word */
    PLAN_SPANS_MAX = 16, /* ranges in one set of ranks */
    PLAN_TIMES_MAX = 1000,
    PLAN_TEXT_BYTES_MAX = 1 << 17, /* holds every canonical text */
    PLAN_WRONG_BYTES = 192,
    PLAN_ALLOWED_BYTES = 640,
    PLAN_CERTAIN_PPB = 1000000000, /* a probability of 1, in parts per billion */
    PLAN_FACTOR_ONE_PPM = 1000000,
    PLAN_FACTOR_MIN_PPM = PLAN_FACTOR_ONE_PPM / 1000,
    PLAN_FACTOR_MAX_PPM = PLAN_FACTOR_ONE_PPM * 1000,
    PLAN_SHAPE_MIN_PPM = 100000, /* of a Pareto tail: 0.1 to 100 */
    PLAN_SHAPE_MAX_PPM = 100000000,
    PLAN_PARETO_CAP = 1000, /* a draw is at most this many times the least */
    PLAN_REORDER_HOLD_NS = 100000000
};
#define PLAN_TIME_MAX_NS UINT64_C(3600000000000000) /* 1000 h */
#define PLAN_FOREVER UINT64_MAX

/* X(name, "text") */
#define PLAN_FAULTS(X)                                                                 \
    X(DROP, "drop")                                                                    \
    X(DUP, "dup")                                                                      \
    X(REORDER, "reorder")                                                              \
    X(DELAY, "delay")                                                                  \
    X(PART, "part")                                                                    \
    X(KILL, "kill")                                                                    \
    X(RESTART, "restart")                                                              \
    X(PAUSE, "pause")                                                                  \
    X(CLOCK, "clock")                                                                  \
    X(SLOW, "slow")                                                                    \
    X(GAP, "gap")                                                                      \
    X(LEAVE, "leave")                                                                  \
    X(JOIN, "join")                                                                    \
    X(FLIP, "flip")                                                                    \
    X(DISK_FULL, "disk.full")                                                          \
    X(DISK_SLOW, "disk.slow")                                                          \
    X(DISK_FLIP, "disk.flip")

enum plan_fault {
#define X(name, text) PLAN_##name,
    PLAN_FAULTS(X)
#undef X
        PLAN_FAULT_END
};

/* The groups of message types; plan_group() says which type is in which.
 * X(name, "text") */
#define PLAN_GROUPS(X)                                                                 \
    X(VOTE, "vote")     /* asking for a task, finding and deciding its owner */        \
    X(RESULT, "result") /* results and requests for their bytes */                     \
    X(GOSSIP, "gossip") /* rolls, and what a rank is doing */                          \
    X(VIEW, "view")     /* membership */                                               \
    X(QUIET, "quiet")   /* finding out that nothing moves, or nothing of a scope */    \
    X(NOTICE, "notice") /* all else: cancellation, adjournment, kernels */

enum plan_group {
#define X(name, text) PLAN_GROUP_##name,
    PLAN_GROUPS(X)
#undef X
        PLAN_GROUP_END
};

/* Ranks, as ranges that ascend and do not touch; or the ranks of hosts. */
struct plan_ranks {
    bool all, of_hosts; /* of_hosts: the spans are of hosts */
    uint32_t count;     /* of spans; 0 if all */
    struct plan_span {
        uint32_t first, last;
    } span[PLAN_SPANS_MAX];
    uint32_t column, length; /* where the largest stands in the parsed text; or 0 */
    /* Set by plan_place(): on which host each rank is. */
    const uint32_t *host_of;
    uint32_t host_of_count;
};

enum plan_spread_type {
    PLAN_SPREAD_NONE,
    PLAN_SPREAD_FIXED,   /* ns */
    PLAN_SPREAD_UNIFORM, /* ns - spread_ns .. ns + spread_ns */
    PLAN_SPREAD_EXP,     /* exponential, ns on average */
    PLAN_SPREAD_PARETO   /* at least ns, with a heavy tail */
};
struct plan_spread {
    enum plan_spread_type type;
    uint64_t ns;
    uint64_t spread_ns; /* UNIFORM */
    uint32_t shape_ppm; /* PARETO; the smaller, the heavier */
};

enum plan_link {
    PLAN_LINK_ANY,
    PLAN_LINK_TOUCHES,  /* from or to one of `ranks` */
    PLAN_LINK_BETWEEN,  /* one end in `ranks`, the other in `others` */
    PLAN_LINK_TOWARDS,  /* from `ranks` to `others` */
    PLAN_LINK_BOUNDARY, /* exactly one end in `ranks` */
};

enum plan_when { PLAN_ALWAYS, PLAN_AT_TIME, PLAN_AT_POINT };

struct plan_rule {
    enum plan_fault fault;
    uint32_t chance_ppb; /* PLAN_CERTAIN_PPB: none was given */
    uint32_t times;      /* DUP, REORDER, JOIN */
    uint32_t factor_ppm; /* CLOCK, SLOW; 0: SLOW has a spread */
    struct plan_spread spread;

    uint32_t groups; /* bits 1 << plan_group; with types == 0 too: every message */
    uint64_t types;  /* bits PLAN_TYPE(), of no group in `groups` */
    enum plan_link link;
    struct plan_ranks ranks; /* of the link; those that are struck; those concerned */
    struct plan_ranks others;

    enum plan_when when;
    uint64_t at_ns; /* AT_TIME */
    enum core_point point;
    uint64_t nth_first, nth_last; /* 1-based; PLAN_FOREVER: no end; 0, 0: all */
    uint64_t lasts_ns;            /* PLAN_FOREVER: to the end */

    uint32_t column, length; /* where it stands in the parsed text; or 0 */
};
#define PLAN_TYPE(type) (UINT64_C(1) << (type))
static_assert(MESSAGE_TYPE_END <= 64, "a set of message types is one word");

struct plan {
    bool seeded;
    uint64_t seed;
    uint32_t rule_count;
    struct plan_rule rules[PLAN_RULES_MAX];
};

/* --- Text ------------------------------------------------------------------------- */

struct plan_error {
    uint32_t column, length;      /* of the mistake, in bytes; 1-based, at least 1 */
    char wrong[PLAN_WRONG_BYTES]; /* "unknown fault "dorp"; did you mean "drop"?" */
    char allowed[PLAN_ALLOWED_BYTES]; /* what may stand there; "" if wrong says it */
};

/* Reads a plan; white space around it is skipped.  MOOT_OK, and the caller frees *out;
 * MOOT_ERR_CONFIG, and *error (which may be NULL) says what is wrong; or
 * MOOT_ERR_NO_MEMORY.  *out is untouched on failure. */
int plan_parse(const char *text, struct plan **out, struct plan_error *error);
void plan_free(struct plan *plan); /* accepts NULL */
/* Whether they say the same; where it stood in a text does not matter. */
bool plan_equal(const struct plan *a, const struct plan *b);

/* Says on which host each of so many ranks is; the array is borrowed for as long as the
 * plan, or a copy of it, is asked.  Without it no rank is on any host. */
void plan_place(struct plan *plan, const uint32_t *host_of, uint32_t ranks);
bool plan_names_hosts(const struct plan *plan);
/* Checks a plan, or one made by hand, against the size of the job: MOOT_OK, or
 * MOOT_ERR_CONFIG if a rank or a host is out of range, hosts are named that nobody has
 * placed, or a part leaves a side empty. */
int plan_check_ranks(const struct plan *plan, uint32_t size, struct plan_error *error);

/* These write at most `size` bytes, a NUL included, and return the length of the whole
 * text without it, like snprintf: a return of `size` or more means that it was cut.
 * `text` may be NULL if size is 0. */

/* The canonical word: plan_parse() turns it into an equal plan. */
size_t plan_format(const struct plan *plan, char *text, size_t size);
size_t plan_rule_format(const struct plan_rule *rule, char *text, size_t size);
/* In English: an opening with the count, then one numbered sentence per rule and line.
 */
size_t plan_explain(const struct plan *plan, char *text, size_t size);
/* The plan, or the part of a long one around the mistake; a caret under the mistake;
 * what is wrong and what is allowed.  `plan_text` is what was parsed. */
size_t plan_error_format(const char *plan_text, const struct plan_error *error,
                         char *text, size_t size);

const char *plan_fault_name(enum plan_fault fault); /* "drop"; "?" if out of range */
/* The group of a message type; PLAN_GROUP_END if it is none. */
enum plan_group plan_group(enum message_type type);

/* --- Which rules strike ---------------------------------------------------------- */

/* A set of rules: bit i is rules[i]. */
typedef uint64_t plan_rules;
#define PLAN_RULE(i) (UINT64_C(1) << (i))

/* What one rank has been through; zero at the end of moot_open, kept through a restart.
 */
struct plan_rank {
    uint64_t passed[CORE_POINT_END];        /* how often, by point */
    uint64_t seen[PLAN_RULES_MAX];          /* occasions, of rules that count them */
    uint64_t open_until_ns[PLAN_RULES_MAX]; /* windows that a point opened */
};

/* `now_ns` below is true time since the end of moot_open, and never falls for one rank.
 *
 * The rules that these return match, but for their probability: for each the host draws
 * plan_chance() with a word of its own, carries the fault out, and counts it.  A plan
 * has at most one strike in progress per rank: a host that is carrying out a kill
 * forgets the rest. */

/* `rank` passes a point: opens windows, and returns the strikes on this rank. */
plan_rules plan_pass(const struct plan *plan, struct plan_rank *state, uint32_t rank,
                     enum core_point point, uint64_t now_ns);
/* The strikes on `rank` with a time in from_ns .. until_ns - 1. */
plan_rules plan_strikes(const struct plan *plan, uint32_t rank, uint64_t from_ns,
                        uint64_t until_ns);
/* The time of the first strike on `rank` at from_ns or later; PLAN_FOREVER: none. */
uint64_t plan_next_strike_ns(const struct plan *plan, uint32_t rank, uint64_t from_ns);

/* A message, or a frame with several, between two ranks. */
struct plan_message {
    uint64_t types; /* PLAN_TYPE() bits of what is in it */
    uint32_t from, to;
    bool arriving; /* it is at its receiver; else its sender is about to send it */
};
/* The message rules and parts that match; counts the occasion.  Ask once at the sender
 * with the sender's state and once on arrival with the receiver's (which can only match
 * parts that a point of the receiver opened). */
plan_rules plan_message(const struct plan *plan, struct plan_rank *state,
                        const struct plan_message *message, uint64_t now_ns);
/* The rules of a kind (PLAN_SLOW as a kernel ends, PLAN_GAP after a turn of progress,
 * PLAN_DISK_FULL and _SLOW of a batch, PLAN_DISK_FLIP of a record, PLAN_CLOCK) that
 * match on `rank`; counts the occasion. */
plan_rules plan_state(const struct plan *plan, struct plan_rank *state, uint32_t rank,
                      enum plan_fault fault, uint64_t now_ns);

/* Parts of hosts, among these, strike each link on a frame's way, and the others the
 * frame from end to end: whether the rule is one of the former. */
bool plan_cuts_links(const struct plan_rule *rule);
/* The parts of hosts that cut the way of a frame between two ranks whose hosts have a
 * link.  Counts nothing. */
plan_rules plan_link_cuts(const struct plan *plan, const struct plan_rank *from_state,
                          const struct plan_rank *to_state, uint32_t from, uint32_t to,
                          uint64_t now_ns);
/* Whether a part of hosts that is not one at a point cuts the link from one host to
 * another now, or did since_ns ago and without a break to now; *until_ns: when it is
 * over (PLAN_FOREVER: never). */
bool plan_parts_hosts(const struct plan *plan, uint32_t from_host, uint32_t to_host,
                      uint64_t since_ns, uint64_t now_ns, uint64_t *until_ns);

/* How many newcomers a plan has ask.  They are numbered behind those who are there from
 * the start, in the order of the rules. */
uint32_t plan_newcomers(const struct plan *plan);
/* Whether any rule touches messages: the wire may then not be declared reliable. */
bool plan_harms_wire(const struct plan *plan);
/* The first rule about disks, which ranks with a store have; NULL: there is none. */
const struct plan_rule *plan_harms_disk(const struct plan *plan);

/* --- How hard they strike --------------------------------------------------------- */

/* `word` is a uniformly random 64-bit word.  All arithmetic is on integers, so that a
 * seed gives the same run on every machine and compiler. */

bool plan_chance(const struct plan_rule *rule, uint64_t word);
uint64_t plan_spread_ns(const struct plan_spread *spread, uint64_t word);
/* How much longer a kernel that took `took_ns` shall take by a SLOW rule; 0 if its
 * factor is below 1 and the host cannot turn time back. */
uint64_t plan_slow_ns(const struct plan_rule *rule, uint64_t took_ns, uint64_t word);
/* What the clock of `rank` has counted when true time is now_ns, by all CLOCK rules:
 * now_ns itself without any.  Factors that overlap multiply. */
uint64_t plan_clock_ns(const struct plan *plan, uint32_t rank, uint64_t now_ns);
/* The first true time at which that clock has counted clock_ns; PLAN_FOREVER is never.
 */
uint64_t plan_clock_reaches_ns(const struct plan *plan, uint32_t rank,
                               uint64_t clock_ns);

/* --- What struck ------------------------------------------------------------------ */

/* How often each rule fired.  The host counts a fault when it carries it out, once per
 * message, strike, kernel or turn; a CLOCK rule when a rank first reads by it. */
struct plan_hits {
    uint64_t fired[PLAN_RULES_MAX];
};
void plan_hits_add(struct plan_hits *to, const struct plan_hits *more);
/* The rules without a probability that never fired. */
plan_rules plan_unfired(const struct plan *plan, const struct plan_hits *hits);
/* One line per rule: its canonical word, and how often it fired.  Like plan_format. */
size_t plan_hits_format(const struct plan *plan, const struct plan_hits *hits,
                        char *text, size_t size);

/* Headers of this room that other rooms use, too: */
#include "consensus/faultplan/plan_words.h"

#endif
