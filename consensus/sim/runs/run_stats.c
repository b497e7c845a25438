/* run_stats.c - see run_stats.h; run_stats_print.c is for people. */
#include "consensus/sim/runs/run_stats.h"
#include "proto/wire.h"
#include <stdlib.h>
#include <string.h>

/* --- Sums ------------------------------------------------------------------------- */

static uint32_t bin_of(uint64_t ns)
{
    if (ns < TALLY_STEPS) {
        return (uint32_t)ns;
    }
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(ns) - 4;
    return (shift + 1) * TALLY_STEPS + (uint32_t)((ns >> shift) - TALLY_STEPS);
}

/* The longest that falls into the bin. */
static uint64_t bin_end_ns(uint32_t bin)
{
    if (bin < TALLY_STEPS) {
        return bin;
    }
    uint32_t shift = bin / TALLY_STEPS - 1;
    return ((UINT64_C(1) << shift) * (TALLY_STEPS + bin % TALLY_STEPS + 1)) - 1;
}

static void spread_add(struct tally_spread *spread, uint64_t ns)
{
    spread->count++;
    spread->sum_ns += ns;
    spread->bins[bin_of(ns)]++;
    if (ns > spread->most_ns) {
        spread->most_ns = ns;
    }
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t most_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint64_t tally_percentile_ns(const struct tally_spread *spread, uint32_t per_mille)
{
    uint64_t below = 0, wanted = (spread->count * per_mille + 999) / 1000;
    for (uint32_t bin = 0; bin < TALLY_BINS && spread->count > 0; bin++) {
        below += spread->bins[bin];
        if (below >= wanted) {
            return least_of(bin_end_ns(bin), spread->most_ns);
        }
    }
    return 0;
}

static void spreads_add(struct tally_spread *to, const struct tally_spread *more)
{
    to->count += more->count;
    to->sum_ns += more->sum_ns;
    to->most_ns = most_of(to->most_ns, more->most_ns);
    for (int bin = 0; bin < TALLY_BINS; bin++) {
        to->bins[bin] += more->bins[bin];
    }
}

static void numbers_add(uint64_t *to, const uint64_t *more, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] += more[i];
    }
}

uint64_t tally_total(const uint64_t *numbers, int count)
{
    uint64_t total = 0;
    for (int i = 0; i < count; i++) {
        total += numbers[i];
    }
    return total;
}

static double share_of(const struct sim_standstill *still)
{
    return still->bound_ns == 0 ? 0
                                : (double)still->lasted_ns / (double)still->bound_ns;
}

static void links_add(struct sim_links *to, const struct sim_links *more)
{
    struct sim_links sum = more->busiest_bytes > to->busiest_bytes ? *more : *to;
    sum.frames = to->frames + more->frames;
    sum.bytes = to->bytes + more->bytes;
    sum.local_frames = to->local_frames + more->local_frames;
    sum.local_bytes = to->local_bytes + more->local_bytes;
    sum.relayed = to->relayed + more->relayed;
    sum.lost = to->lost + more->lost;
    sum.hosts = to->hosts > more->hosts ? to->hosts : more->hosts;
    *to = sum;
}

void tally_add(struct tally *to, const struct tally *more)
{
    to->runs += more->runs;
    to->violations += more->violations;
    to->ranks += more->ranks;
    to->events += more->events;
    to->time_ns += more->time_ns;
    to->views += more->views;
    to->deaths += more->deaths;
    to->removed += more->removed;
    to->joined += more->joined;
    to->departed += more->departed;
    to->boundaries += more->boundaries;
    to->snapshots += more->snapshots;
    to->reloads += more->reloads;
    to->boundary_left += more->boundary_left;
    to->boundary_deaths += more->boundary_deaths;
    to->boundary_joined += more->boundary_joined;
    numbers_add(to->featured, more->featured, TALLY_FEATURES);
    to->quorums_lost += more->quorums_lost;
    if (share_of(&more->standstill) > share_of(&to->standstill)) {
        to->standstill = more->standstill;
    }
    if (more->wire.out_bytes + more->wire.in_bytes >
        to->wire.out_bytes + to->wire.in_bytes) {
        to->wire = more->wire;
    }
    links_add(&to->links, &more->links);
    numbers_add(to->fired, more->fired, PLAN_FAULT_END);
    numbers_add(to->struck, more->struck, PLAN_FAULT_END);
    to->spawns += more->spawns;
    to->tasks_run += more->tasks_run;
    to->elements_ended += more->elements_ended;
    numbers_add(to->votes, more->votes, EVIDENCE_END);
    numbers_add(to->needless, more->needless, EVIDENCE_END);
    to->voted += more->voted;
    to->vote_messages += more->vote_messages;
    to->vote_bytes += more->vote_bytes;
    to->vote_asks += more->vote_asks;
    numbers_add(to->messages, more->messages, MESSAGE_TYPE_END);
    numbers_add(to->bytes, more->bytes, MESSAGE_TYPE_END);
    numbers_add(to->met[0], more->met[0], MESSAGE_TYPE_END * CORE_STANDING_END);
    to->rank_messages_most = most_of(to->rank_messages_most, more->rank_messages_most);
    to->rank_bytes_most = most_of(to->rank_bytes_most, more->rank_bytes_most);
    to->gossip_pairs += more->gossip_pairs;
    spreads_add(&to->asks, &more->asks);
    spreads_add(&to->vote_asks_ns, &more->vote_asks_ns);
    spreads_add(&to->waits, &more->waits);
    numbers_add(to->wait_errors, more->wait_errors, TALLY_CODES);
}

uint64_t tally_gossip_bytes(const struct tally *tally)
{
    uint64_t bytes = 0;
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        if (plan_group((enum message_type)type) == PLAN_GROUP_GOSSIP) {
            bytes += tally->bytes[type];
        }
    }
    return bytes;
}

/* --- Asks ------------------------------------------------------------------------- */

/* A rank's ask for a task, in a table with open addressing; never taken out. */
struct ask {
    uint64_t key;      /* 1 + task << 32 | rank; 0: free */
    uint64_t since_ns; /* 1 + when; 0: answered */
    bool wants_data;
};

struct asks {
    struct ask *items;
    size_t count, capacity; /* a power of two, more than 3/2 of the count */
};

static struct ask *ask_find(struct asks *asks, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20);
    while (asks->items[at & (asks->capacity - 1)].key != 0 &&
           asks->items[at & (asks->capacity - 1)].key != key) {
        at++;
    }
    return &asks->items[at & (asks->capacity - 1)];
}

static void *zeroed(size_t count, size_t bytes)
{
    void *items = calloc(count == 0 ? 1 : count, bytes);
    if (items == NULL) {
        abort();
    }
    return items;
}

static void asks_grow(struct asks *asks)
{
    struct asks more = {.capacity = asks->capacity == 0 ? 256 : 2 * asks->capacity,
                        .count = asks->count};
    more.items = zeroed(more.capacity, sizeof(*more.items));
    for (size_t i = 0; i < asks->capacity; i++) {
        if (asks->items[i].key != 0) {
            *ask_find(&more, asks->items[i].key) = asks->items[i];
        }
    }
    free(asks->items);
    *asks = more;
}

static uint64_t ask_key(uint32_t task, uint32_t rank)
{
    return 1 + ((uint64_t)task << 32 | rank);
}

/* The rank's ask for the task, made if there is none. */
static struct ask *ask_of(struct asks *asks, uint32_t task, uint32_t rank)
{
    if (3 * asks->count >= 2 * asks->capacity) {
        asks_grow(asks);
    }
    uint64_t key = ask_key(task, rank);
    struct ask *ask = ask_find(asks, key);
    asks->count += ask->key == 0;
    ask->key = key;
    return ask;
}

/* --- Watching --------------------------------------------------------------------- */

struct latency_seen {
    uint32_t votes, chair, asks;
    enum evidence evidence;
    bool needless;
    uint64_t messages, bytes;
};

struct sent {
    uint64_t messages, bytes;
};

struct tally_watch {
    const struct program *program;
    struct latency_seen *tasks;
    struct sent *ranks;
    uint32_t rank_count;
    struct asks asks;
    struct asks waits; /* by task, and rank and lane in one number */
    struct tally tally;
};

struct tally_watch *tally_watch_new(const struct program *program)
{
    struct tally_watch *watch = zeroed(1, sizeof(*watch));
    watch->program = program;
    watch->tasks = zeroed(program->task_count, sizeof(*watch->tasks));
    return watch;
}

/* Ranks that came back or joined have higher numbers than the program's. */
static struct sent *sent_by(struct tally_watch *watch, uint32_t rank)
{
    if (rank >= watch->rank_count) {
        uint32_t count = rank + 1 > watch->program->rank_count
                             ? rank + 1
                             : watch->program->rank_count;
        struct sent *more = realloc(watch->ranks, count * sizeof(*more));
        if (more == NULL) {
            abort();
        }
        memset(more + watch->rank_count, 0,
               (count - watch->rank_count) * sizeof(*more));
        watch->ranks = more;
        watch->rank_count = count;
    }
    return &watch->ranks[rank];
}

static bool is_of_vote(enum message_type type)
{
    enum plan_group group = plan_group(type);
    return group == PLAN_GROUP_VOTE || group == PLAN_GROUP_RESULT;
}

static void see_send(struct tally_watch *watch, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct sent *sent = sent_by(watch, sight->rank);
    uint64_t bytes = sight->size - WIRE_ENVELOPE_BYTES;
    watch->tally.messages[message->type]++;
    watch->tally.bytes[message->type] += bytes;
    sent->messages++;
    sent->bytes += bytes;
    if (sight->task >= watch->program->task_count || !is_of_vote(message->type)) {
        return;
    }
    struct latency_seen *seen = &watch->tasks[sight->task];
    seen->messages++;
    seen->bytes += bytes;
    if (message->type != MESSAGE_MOTION || message->u.motion.want == WANT_NOTHING) {
        return;
    }
    struct ask *ask = ask_of(&watch->asks, sight->task, sight->rank);
    if (ask->since_ns != 0) {
        return;
    }
    seen->asks++;
    ask->since_ns = 1 + sight->time_ns;
    ask->wants_data = message->u.motion.want == WANT_DATA;
}

/* The rank has the task's result: it came, or its own kernel made it. */
static void see_result(struct tally_watch *watch, const struct sight *sight)
{
    if (watch->asks.count == 0) {
        return;
    }
    struct ask *ask = ask_find(&watch->asks, ask_key(sight->task, sight->rank));
    if (ask->key == 0 || ask->since_ns == 0 ||
        (ask->wants_data && sight->data == NULL)) {
        return;
    }
    uint64_t took_ns = sight->time_ns + 1 - ask->since_ns;
    ask->since_ns = 0;
    spread_add(&watch->tally.asks, took_ns);
    if (watch->tasks[sight->task].votes > 0) {
        spread_add(&watch->tally.vote_asks_ns, took_ns);
    }
}

static void see_vote(struct tally_watch *watch, const struct sight *sight)
{
    watch->tally.votes[sight->evidence]++;
    if (sight->task >= watch->program->task_count) {
        return;
    }
    struct latency_seen *seen = &watch->tasks[sight->task];
    seen->votes++;
    seen->chair = sight->rank;
    seen->evidence = sight->evidence;
}

static struct ask *wait_of(struct tally_watch *watch, const struct sight *sight)
{
    return ask_of(&watch->waits, sight->task,
                  sight->rank * PROGRAM_LANES_MAX + sight->lane);
}

static void see_waited(struct tally_watch *watch, const struct sight *sight)
{
    struct ask *wait = wait_of(watch, sight);
    if (wait->since_ns != 0) {
        spread_add(&watch->tally.waits, sight->time_ns + 1 - wait->since_ns);
    }
    if (sight->code < 0 && sight->code > -TALLY_CODES) {
        watch->tally.wait_errors[-sight->code]++;
    }
    wait->since_ns = 0;
}

static void see_spawn(struct tally_watch *watch, const struct sight *sight)
{
    struct latency_seen *seen = &watch->tasks[sight->task];
    watch->tally.spawns++;
    watch->tally.gossip_pairs += watch->program->rank_count - 1;
    if (seen->votes == 0 || seen->needless || seen->chair != sight->rank) {
        return;
    }
    seen->needless = true;
    watch->tally.needless[seen->evidence]++;
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    (void)sim;
    struct tally_watch *watch = context;
    if (sight->type == SIGHT_SEND) {
        see_send(watch, sight);
    } else if (sight->type == SIGHT_NOTE && sight->point == CORE_POINT_VOTE_CAST) {
        see_vote(watch, sight);
    }
    if (sight->task >= watch->program->task_count) {
        return;
    }
    if (sight->type == SIGHT_SPAWN) {
        see_spawn(watch, sight);
    } else if (sight->type == SIGHT_WAIT) {
        wait_of(watch, sight)->since_ns = 1 + sight->time_ns;
    } else if (sight->type == SIGHT_WAITED) {
        see_waited(watch, sight);
    } else if (sight->type == SIGHT_START) {
        watch->tally.tasks_run++;
    } else if (sight->type == SIGHT_ENDED) {
        watch->tally.elements_ended += sight->places.end - sight->places.first;
    } else if (sight->type == SIGHT_KEEP || sight->type == SIGHT_END) {
        see_result(watch, sight);
    }
}

struct sim_watcher tally_watcher(struct tally_watch *watch)
{
    return (struct sim_watcher){see, watch};
}

/* --- The whole run ---------------------------------------------------------------- */

static void count_faults(struct tally *tally, const struct sim_report *report,
                         const struct plan *plan)
{
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        tally->fired[plan->rules[i].fault] += report->hits.fired[i];
    }
    for (int fault = 0; fault < PLAN_FAULT_END; fault++) {
        tally->struck[fault] = tally->fired[fault] != 0;
    }
}

static void count_votes(struct tally_watch *watch)
{
    for (uint32_t i = 0; i < watch->program->task_count; i++) {
        const struct latency_seen *seen = &watch->tasks[i];
        if (seen->votes == 0) {
            continue;
        }
        watch->tally.voted++;
        watch->tally.vote_messages += seen->messages;
        watch->tally.vote_bytes += seen->bytes;
        watch->tally.vote_asks += seen->asks;
    }
}

static void count_members(struct tally *tally, const struct sim_counts *counts)
{
    tally->views = counts->views;
    tally->deaths = counts->crashes;
    tally->removed = counts->fenced;
    tally->joined = counts->joined;
    tally->departed = counts->departed;
    tally->quorums_lost = counts->no_quorum;
    tally->boundaries = counts->boundaries;
    tally->snapshots = counts->snapshots;
    tally->reloads = counts->reloads;
    tally->boundary_left = counts->boundary_left;
    tally->boundary_deaths = counts->boundary_deaths;
    tally->boundary_joined = counts->boundary_joined;
    const bool featured[TALLY_FEATURES] = {
        [TALLY_JOIN] = counts->joined > 0,
        [TALLY_LEAVE] = counts->departed > 0,
        [TALLY_DEATH] = counts->crashes > 0,
        [TALLY_BOUNDARY] = counts->boundaries > 0,
        [TALLY_BOUNDARY_LEAVE] = counts->boundary_left > 0,
        [TALLY_BOUNDARY_DEATH] = counts->boundary_deaths > 0,
        [TALLY_BOUNDARY_JOIN] = counts->boundary_joined > 0,
        [TALLY_BOUNDARIES] = counts->boundaries > 1};
    for (int i = 0; i < TALLY_FEATURES; i++) {
        tally->featured[i] = featured[i];
    }
}

void tally_watch_end(struct tally_watch *watch, const struct sim_report *report,
                     const struct plan *plan, struct tally *to)
{
    struct tally *tally = &watch->tally;
    tally->runs = 1;
    tally->violations = report->failed;
    tally->ranks = watch->program->rank_count;
    tally->events = report->counts.events;
    tally->time_ns = report->end_ns;
    count_members(tally, &report->counts);
    tally->standstill = report->standstill;
    memcpy(tally->met, report->counts.met, sizeof(tally->met));
    tally->wire = report->wire;
    tally->links = report->links;
    count_faults(tally, report, plan);
    count_votes(watch);
    for (uint32_t rank = 0; rank < watch->rank_count; rank++) {
        const struct sent *sent = &watch->ranks[rank];
        tally->rank_messages_most = most_of(tally->rank_messages_most, sent->messages);
        tally->rank_bytes_most = most_of(tally->rank_bytes_most, sent->bytes);
    }
    tally_add(to, tally);
    free(watch->asks.items);
    free(watch->waits.items);
    free(watch->ranks);
    free(watch->tasks);
    free(watch);
}
