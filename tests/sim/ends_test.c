/* ends_test.c - what the busiest rank sends and gets while a job ends, and at meetings.
 *
 *   ends_test                 the quick set of `make check`
 *   ends_test --table         the table of SCALING.md, up to 10,000 ranks
 *   ends_test --run RANKS     one row, and what the busiest says, by type
 *
 * All ranks spawn one task and fetch its result, meet twice, and close.  Counted are
 * the messages that say how far programs are: what a rank waits for, meetings, that it
 * has closed, what is held and whether all is quiet.  Above 64 ranks all of these go
 * along trees, so that no rank has more of them than twice as many ranks give it.
 *
 * Counted are rounds, too: the longest chain of messages of which each was sent after
 * the one before had come, from the moment at which the last rank comes to a meeting,
 * or closes, until the last has heard that it has met, or that all is over.  What is
 * said beside it, and nobody waits for, makes chains longer, never shorter.
 */
#include "consensus/sim/checks/checker.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MEETINGS = 2, FEW = 64 };

/* Messages of one rank, by type and way. */
struct talk {
    uint64_t sent[MESSAGE_TYPE_END], got[MESSAGE_TYPE_END];
    uint64_t sent_bytes, got_bytes; /* of MEET */
};

/* A message on its way: who sent it, and how long its chain is. */
struct flight {
    uint32_t from, rounds;
};

/* Messages that a rank is yet to get, in the order in which it was sent. */
struct flights {
    struct flight *items;
    uint32_t first, count, room;
};

/* A stretch of the run, which begins when the last rank has come to it. */
enum stretch { STRETCH_NONE, STRETCH_MEETING, STRETCH_CLOSE, STRETCH_END };

struct seen {
    struct talk *ranks;
    uint32_t size, came;     /* ranks; to the present meeting, or to the close */
    uint32_t *rounds;        /* of each rank */
    struct flights *flights; /* to each rank */
    enum stretch stretch;
    uint64_t since_ns;
    uint32_t most[STRETCH_END]; /* rounds */
    uint64_t most_ns[STRETCH_END];
};

static const struct sim_weather even = {
    .latency_ns = 10000,
    .step_ns = 1,
    .workers = 1,
    .ask_delay_ns = 100000,
    .gossip_period_ns = 1000000,
    .vote_timeout_ns = CORE_NEVER,
    .voters = 3,
    .crashes = SIM_CRASHES,
    .tree_fanout = 4,
};

static void put_flight(struct flights *to, struct flight flight)
{
    if (to->count == to->room) {
        to->room = to->room > 0 ? 2 * to->room : 16;
        to->items = realloc(to->items, to->room * sizeof(*to->items));
        if (to->items == NULL) {
            abort();
        }
    }
    to->items[to->count++] = flight;
}

/* The first from there, as messages of two ranks stay in order. */
static uint32_t take_flight(struct flights *to, uint32_t from)
{
    uint32_t at = to->first;
    while (at < to->count && to->items[at].from != from) {
        at++;
    }
    if (at == to->count) {
        return 0; /* sent before the stretch began */
    }
    const uint32_t rounds = to->items[at].rounds;
    memmove(&to->items[to->first + 1], &to->items[to->first],
            (at - to->first) * sizeof(*to->items));
    to->first++;
    if (to->first == to->count) {
        to->first = to->count = 0;
    }
    return rounds;
}

/* All have come: what they have heard and said before does not count. */
static void begin_stretch(struct seen *seen, enum stretch stretch, uint64_t now_ns)
{
    seen->came = 0;
    seen->stretch = stretch;
    seen->since_ns = now_ns;
    for (uint32_t rank = 0; rank < seen->size; rank++) {
        struct flights *to = &seen->flights[rank];
        seen->rounds[rank] = 0;
        for (uint32_t i = to->first; i < to->count; i++) {
            to->items[i].rounds = 0;
        }
    }
}

static void note_end(struct seen *seen, uint32_t rank, uint64_t now_ns)
{
    const uint64_t lasted_ns = now_ns - seen->since_ns;
    if (seen->rounds[rank] > seen->most[seen->stretch]) {
        seen->most[seen->stretch] = seen->rounds[rank];
    }
    if (lasted_ns > seen->most_ns[seen->stretch]) {
        seen->most_ns[seen->stretch] = lasted_ns;
    }
}

static void count_rounds(struct seen *seen, const struct sight *sight)
{
    uint32_t *rounds = &seen->rounds[sight->rank];
    if (sight->type == SIGHT_SEND) {
        put_flight(&seen->flights[sight->peer],
                   (struct flight){sight->rank, *rounds + 1});
    } else if (sight->type == SIGHT_RECEIVE) {
        const uint32_t of = take_flight(&seen->flights[sight->rank], sight->peer);
        *rounds = of > *rounds ? of : *rounds;
    } else if ((sight->type == SIGHT_MEET || sight->type == SIGHT_CLOSE) &&
               ++seen->came == seen->size) {
        begin_stretch(seen, sight->type == SIGHT_MEET ? STRETCH_MEETING : STRETCH_CLOSE,
                      sight->time_ns);
    } else if (sight->type == SIGHT_MET || sight->type == SIGHT_ADJOURN) {
        note_end(seen, sight->rank, sight->time_ns);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    (void)sim;
    struct seen *seen = context;
    struct talk *ranks = seen->ranks;
    count_rounds(seen, sight);
    if (sight->type == SIGHT_SEND) {
        const bool meets = sight->message->type == MESSAGE_MEET;
        ranks[sight->rank].sent[sight->message->type]++;
        ranks[sight->peer].got[sight->message->type]++;
        ranks[sight->rank].sent_bytes += meets ? sight->size : 0;
        ranks[sight->peer].got_bytes += meets ? sight->size : 0;
    }
}

/* How far programs are, and that they are over. */
static const enum message_type ends[] = {MESSAGE_STATE,  MESSAGE_POLL,
                                         MESSAGE_POLLR,  MESSAGE_MEET,
                                         MESSAGE_CENSUS, MESSAGE_ADJOURN};

static uint64_t count_ends(const uint64_t *of)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        sum += of[ends[i]];
    }
    return sum;
}

struct figures {
    bool good;
    uint64_t ends, meets; /* messages of the busiest, sent and got */
    uint64_t meet_bytes;  /* likewise, of meetings */
    struct talk busiest;  /* the rank with most of `ends` */
    uint64_t end_ns;
    uint32_t rounds[STRETCH_END];
    uint64_t lasted_ns[STRETCH_END];
};

static struct program *write_program(uint32_t ranks)
{
    struct program *p = program_blank(1, ranks, 1);
    const uint32_t task = program_add_task(p, "result", PROGRAM_NONE);
    p->tasks[task].result_bytes = 100;
    p->tasks[task].work_us = 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        program_add_step(p, rank, 0, PROGRAM_SPAWN, task);
        program_add_step(p, rank, 0, PROGRAM_FETCH, task);
        for (int i = 0; i < MEETINGS; i++) {
            program_add_step(p, rank, 0, PROGRAM_MEET, PROGRAM_NONE);
        }
    }
    program_finish(p);
    return p;
}

static void take_busiest(const struct talk *talk, struct figures *figures)
{
    const uint64_t all = count_ends(talk->sent) + count_ends(talk->got);
    const uint64_t meets = talk->sent[MESSAGE_MEET] + talk->got[MESSAGE_MEET];
    const uint64_t bytes = talk->sent_bytes + talk->got_bytes;
    if (all > figures->ends) {
        figures->ends = all;
        figures->busiest = *talk;
    }
    figures->meets = meets > figures->meets ? meets : figures->meets;
    figures->meet_bytes = bytes > figures->meet_bytes ? bytes : figures->meet_bytes;
}

static struct figures run(uint32_t ranks, uint32_t direct_max)
{
    static struct sim_report report;
    struct program *program = write_program(ranks);
    struct seen seen = {.size = ranks,
                        .ranks = calloc(ranks, sizeof(*seen.ranks)),
                        .rounds = calloc(ranks, sizeof(*seen.rounds)),
                        .flights = calloc(ranks, sizeof(*seen.flights))};
    const bool room = seen.ranks != NULL && seen.rounds != NULL && seen.flights != NULL;
    struct sim_weather weather = even;
    weather.direct_max = direct_max;
    const struct sim_watcher watcher = {see, &seen};
    const struct sim_options options = {.program = program,
                                        .seed = 1,
                                        .weather = &weather,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    struct figures figures = {.good = room && sim_run(&options, &report)};
    if (!figures.good) {
        printf("FAILED %" PRIu32 " ranks: %s: %s\n", ranks, report.check, report.why);
    }
    for (uint32_t rank = 0; room && rank < ranks; rank++) {
        take_busiest(&seen.ranks[rank], &figures);
        free(seen.flights[rank].items);
    }
    figures.end_ns = report.end_ns;
    memcpy(figures.rounds, seen.most, sizeof(figures.rounds));
    memcpy(figures.lasted_ns, seen.most_ns, sizeof(figures.lasted_ns));
    free(report.dump);
    free(seen.ranks);
    free(seen.rounds);
    free(seen.flights);
    program_free(program);
    return figures;
}

static void print_head(void)
{
    printf(
        "| ranks | along trees | messages of the busiest about the end and meetings | "
        "of these about meetings | their bytes | rounds of a meeting | rounds to "
        "close | ms to close |\n|---|---|---|---|---|---|---|---|\n");
}

static void print_row(uint32_t ranks, bool trees, const struct figures *figures)
{
    printf("| %" PRIu32 " | %s | %" PRIu64 " | %" PRIu64 " | %.1f kB | %" PRIu32
           " | %" PRIu32 " | %.1f |\n",
           ranks, trees ? "yes" : "no", figures->ends, figures->meets,
           (double)figures->meet_bytes / 1e3, figures->rounds[STRETCH_MEETING],
           figures->rounds[STRETCH_CLOSE],
           (double)figures->lasted_ns[STRETCH_CLOSE] / 1e6);
    fflush(stdout);
}

static int table(void)
{
    static const struct {
        uint32_t ranks, direct_max;
    } rows[] = {{64, 0}, {65, 0}, {512, 0}, {512, 512}, {4096, 0}, {10000, 0}};
    bool good = true;
    print_head();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct figures figures = run(rows[i].ranks, rows[i].direct_max);
        const uint32_t most = rows[i].direct_max == 0 ? FEW : rows[i].direct_max;
        print_row(rows[i].ranks, rows[i].ranks > most, &figures);
        good = good && figures.good;
    }
    return good ? 0 : 1;
}

static int run_one(uint32_t ranks, uint32_t direct_max)
{
    const struct figures figures = run(ranks, direct_max);
    print_head();
    print_row(ranks, ranks > (direct_max == 0 ? FEW : direct_max), &figures);
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        const struct talk *talk = &figures.busiest;
        if (talk->sent[type] + talk->got[type] > 0) {
            printf("%s: sends %" PRIu64 ", gets %" PRIu64 "\n",
                   message_type_name((enum message_type)type), talk->sent[type],
                   talk->got[type]);
        }
    }
    printf("it ends after %.3f ms\n", (double)figures.end_ns / 1e6);
    return figures.good ? 0 : 1;
}

/* The most that the busiest may have, however many there are: some messages of each
 * kind from and to a parent and four children. */
enum { ENDS_MAX = 100, MEET_BYTES_MAX = 4000 };

/* Rounds for each level of the tree of arity four, there and back: one time for a
 * meeting; three to close, which are two polls and the word that all is over. */
enum { ARITY = 4, MEETING_ROUNDS = 2, CLOSE_ROUNDS = 6, CLOSE_ROUNDS_MORE = 3 };

static uint32_t count_levels(uint32_t ranks)
{
    uint32_t levels = 0;
    for (uint32_t row = 1, all = 1; all < ranks; all += row) {
        row *= ARITY;
        levels++;
    }
    return levels;
}

static bool takes_few_rounds(uint32_t ranks, const struct figures *figures)
{
    const uint32_t levels = count_levels(ranks);
    const uint32_t *rounds = figures->rounds;
    return rounds[STRETCH_MEETING] > 0 && rounds[STRETCH_CLOSE] > 0 &&
           rounds[STRETCH_MEETING] <= MEETING_ROUNDS * levels &&
           rounds[STRETCH_CLOSE] <= CLOSE_ROUNDS * levels + CLOSE_ROUNDS_MORE;
}

static int quick(void)
{
    static const uint32_t sizes[] = {65, 512, 1000};
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const struct figures figures = run(sizes[i], 0);
        const bool good = figures.good && figures.ends <= ENDS_MAX &&
                          figures.meet_bytes <= MEET_BYTES_MAX &&
                          takes_few_rounds(sizes[i], &figures);
        print_row(sizes[i], true, &figures);
        wrong += good ? 0 : 1;
    }
    /* The bounds are worth what they catch: here everyone tells the lowest. */
    const struct figures direct = run(512, 512);
    if (direct.ends <= ENDS_MAX || direct.meet_bytes <= MEET_BYTES_MAX) {
        printf("FAILED nobody sees that everyone tells the lowest\n");
        wrong++;
    }
    printf("4 runs, %" PRIu32 " bounds broken\n", wrong);
    return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        return quick();
    }
    if (argc == 2 && strcmp(argv[1], "--table") == 0) {
        return table();
    }
    if (argc >= 3 && strcmp(argv[1], "--run") == 0) {
        return run_one((uint32_t)strtoul(argv[2], NULL, 10),
                       argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0);
    }
    fprintf(stderr, "usage: ends_test [--table | --run RANKS [DIRECT_MAX]]\n");
    return 2;
}
