/* events_world.h - a few real cores, a wire that an input can abuse, and their hosts.
 *
 * The host is as small as core.h's contract allows: lanes that wait, tasks that run
 * until they are told to end, results without bytes.  It keeps the contract whatever
 * the input says (a woken lane is told to be running before anything else happens), so
 * what goes wrong is the core's doing.  After every step the invariants of PROTOCOL.md
 * that can be seen from outside are asserted:
 *
 *   I1  the counting ranks have taken a task's bytes from one owner
 *   I2  at most one counting rank ran a pure task
 *   I3  a once task was started on one rank, ever
 *   --  no core is broken, and none has counted a violation
 *
 * A rank *counts* while it is live and a member of the newest view that any has
 * entered. I4, I5 and I9 are the core's own assertions.  With a hostile peer only
 * memory, the core's assertions and its soundness are at stake: a liar can give two
 * ranks a task.
 */
#ifndef TESTS_FUZZ_EVENTS_WORLD_H
#define TESTS_FUZZ_EVENTS_WORLD_H

#include "consensus/core.h"
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "proto/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS_MAX = 5, /* the newcomer included */
    TASKS = 9,
    LANES = 2,
    NO_TASK = TASKS,
    US = 1000,
    MS = 1000000,
    RESULT_SIZE = 8,
    LARGE_SIZE = 100000
};

/* Inputs come first; every input has a lower number. */
static const struct {
    unsigned facts;
    uint32_t flags;
    uint64_t candidates;
    int parent;
    uint32_t input_count, after_count;
    int inputs[2];
    uint64_t size;
} specs[TASKS] = {
    {.parent = -1, .size = RESULT_SIZE},
    {.parent = -1, .input_count = 1, .inputs = {0}, .size = RESULT_SIZE},
    {.parent = -1, .size = RESULT_SIZE},
    {MOOT_HASH_ONCE, CORE_TASK_ONCE, .parent = -1, .size = RESULT_SIZE},
    {.parent = -1,
     .input_count = 2,
     .after_count = 1,
     .inputs = {1, 3},
     .size = RESULT_SIZE},
    {MOOT_HASH_CANDIDATES, .candidates = 6, .parent = -1, .size = RESULT_SIZE},
    {MOOT_HASH_NESTED, CORE_TASK_NESTED, .parent = 2, .size = RESULT_SIZE},
    {.flags = CORE_TASK_HINT, .parent = -1, .size = LARGE_SIZE},
    {MOOT_HASH_ONCE, CORE_TASK_ONCE, .parent = -1, .input_count = 1, .inputs = {7},
     .size = RESULT_SIZE},
};

/* A task's entry. */
struct entry {
    struct core_entry core;
    uint32_t task;
};

struct link {
    struct message **items;
    size_t count, room;
};

struct host {
    struct core *core;
    uint32_t rank;
    bool over; /* crashed, fenced or adjourned */
    bool closed, no_quorum, adjourned;
    uint32_t pause_rounds; /* for so many it stands still */
    uint64_t epoch, members;
    struct {
        enum core_lane_state state;
        uint32_t task; /* that it waits for */
        enum want want;
        bool woken;
    } lanes[LANES];
    struct {
        bool held, declined, running, ran, cancelled;
        bool kept; /* its bytes are here */
        uint64_t owner_uid;
    } tasks[TASKS];
};

static struct world {
    uint32_t size; /* cores; the newcomer is the last */
    bool detection, joins, hostile, rough, repairs;
    uint64_t uids[RANKS_MAX];
    moot_hash hashes[TASKS];
    struct host hosts[RANKS_MAX];
    struct link links[RANKS_MAX][RANKS_MAX];
    uint32_t started[TASKS]; /* set of ranks that ever did */
    uint64_t now_ns;
} world;

#define require(condition)                                                             \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                   \
        }                                                                              \
    } while (0)

static inline struct host *host_of(uint32_t rank) { return &world.hosts[rank]; }

static inline bool is_live(const struct host *host)
{
    return host->core != NULL && !host->over;
}

static inline uint32_t task_of(const moot_hash *hash)
{
    uint32_t task = 0;
    while (task < TASKS && !hash_equal(&world.hashes[task], hash)) {
        task++;
    }
    return task;
}

/* --- Invariants ------------------------------------------------------------------- */

static inline uint64_t counting_ranks(void)
{
    uint64_t newest = 0, members = 0, live = 0;
    for (uint32_t i = 0; i < world.size; i++) {
        const struct host *host = host_of(i);
        if (host->core != NULL && host->epoch > newest) {
            newest = host->epoch;
            members = host->members;
        }
        live |= (uint64_t)is_live(host) << i;
    }
    return members & live;
}

static inline void check_task(uint32_t task, uint64_t counting)
{
    uint64_t owner_uid = 0;
    uint32_t ran = 0;
    for (uint32_t i = 0; i < world.size; i++) {
        const struct host *host = host_of(i);
        if ((counting >> i & 1) == 0) {
            continue;
        }
        ran += host->tasks[task].ran;
        if (host->tasks[task].kept) {
            require(owner_uid == 0 || owner_uid == host->tasks[task].owner_uid);
            owner_uid = host->tasks[task].owner_uid;
        }
    }
    require(ran <= 1);
    uint32_t started = world.started[task];
    require((specs[task].facts & MOOT_HASH_ONCE) == 0 ||
            (started & (started - 1)) == 0);
}

static inline void check_world(void)
{
    if (world.hostile) {
        return;
    }
    uint64_t counting = counting_ranks();
    for (uint32_t task = 0; task < TASKS; task++) {
        check_task(task, counting);
    }
    for (uint32_t i = 0; i < world.size; i++) {
        require(host_of(i)->core == NULL ||
                core_stats(host_of(i)->core)->violations == 0);
    }
}

/* --- The wire --------------------------------------------------------------------- */

static inline void link_add(struct link *link, const struct message *message)
{
    struct message *copy = message_copy(message);
    require(copy != NULL);
    if (message->type == MESSAGE_RESULT) { /* nobody looks at bytes here */
        copy->u.result.data = message->u.result.data;
    }
    if (link->count == link->room) {
        link->room = link->room == 0 ? 16 : 2 * link->room;
        link->items = realloc(link->items, link->room * sizeof(*link->items));
        require(link->items != NULL);
    }
    link->items[link->count++] = copy;
}

static inline struct message *link_take(struct link *link, size_t at)
{
    struct message *message = link->items[at];
    memmove(link->items + at, link->items + at + 1,
            (--link->count - at) * sizeof(*link->items));
    return message;
}

/* --- A host ----------------------------------------------------------------------- */

static inline int step(struct host *host, const struct core_event *event);

static inline void carry_result(struct host *host, const struct core_output *output)
{
    uint32_t task = task_of(&output->hash);
    const struct message_result *result = &output->u.result;
    if (task == NO_TASK) {
        return;
    }
    if (result->data != RESULT_BARE) {
        host->tasks[task].kept = true;
        host->tasks[task].owner_uid = result->owner_uid;
    }
}

static inline void carry_run(struct host *host, const struct core_output *output)
{
    uint32_t task = task_of(&output->hash);
    require(task < TASKS && host->tasks[task].held && !host->tasks[task].running);
    require(!host->tasks[task].ran && !host->tasks[task].cancelled);
    host->tasks[task].running = true;
    host->tasks[task].cancelled = output->u.run.code != MOOT_OK;
    if (output->u.run.code == MOOT_OK) {
        host->tasks[task].ran = true;
        world.started[task] |= 1u << host->rank;
    }
}

/* Lanes whose wait an output ends: told to be running before anything else happens. */
static inline void wake(struct host *host, const moot_hash *hash, bool data, bool all)
{
    uint32_t task = task_of(hash);
    for (uint32_t i = 0; i < LANES; i++) {
        if (host->lanes[i].task != NO_TASK &&
            (all || (host->lanes[i].task == task &&
                     (data || host->lanes[i].want == WANT_DONE)))) {
            host->lanes[i].woken = true;
        }
    }
}

static inline void carry(struct host *host, const struct core_output *output)
{
    switch (output->type) {
    case CORE_OUT_SEND:
        require(output->u.send.to != host->rank);
        if (output->u.send.to >= RANKS_MAX) {
            require(world.hostile); /* a JOIN of nobody's was let in */
            break;
        }
        link_add(&world.links[host->rank][output->u.send.to], &output->u.send.message);
        break;
    case CORE_OUT_RUN:
        carry_run(host, output);
        break;
    case CORE_OUT_ELEMENTS: /* it spawns no arrays, and may be told of some */
        require(false);
        break;
    case CORE_OUT_PART:
        break;
    case CORE_OUT_RESULT:
        carry_result(host, output);
        break;
    case CORE_OUT_DONE:
        wake(host, &output->hash, output->u.done.data, false);
        break;
    case CORE_OUT_VERDICT:
        wake(host, &output->hash, true, false);
        break;
    case CORE_OUT_DIVERGED:
        wake(host, &output->hash, true, true);
        break;
    case CORE_OUT_QUORUM:
        host->no_quorum = !output->u.quorum.have;
        wake(host, &output->hash, true, host->no_quorum);
        break;
    case CORE_OUT_VIEW:
        host->epoch = output->u.view.epoch;
        host->members = output->u.view.members->low;
        break;
    case CORE_OUT_FENCED:
    case CORE_OUT_LEFT:
        host->over = true;
        break;
    case CORE_OUT_ADJOURN:
        host->over = host->adjourned = true;
        break;
    case CORE_OUT_CUT:
    case CORE_OUT_COMMIT:
    case CORE_OUT_SNAPSHOT_DONE:
    case CORE_OUT_MARK:
    case CORE_OUT_RELOADED:
    case CORE_OUT_SIGNATURE:
    case CORE_OUT_REFUSE: /* the incarnation that asked is nobody's host */
    case CORE_OUT_FORGET: /* all of it stands in the program's own scope here */
    case CORE_OUT_CANCEL:
    case CORE_OUT_MET:
    case CORE_OUT_AWAITED:
    case CORE_OUT_NOTE:
        break;
    }
}

static inline void set_lane(struct host *host, uint32_t lane, enum core_lane_state to)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = lane;
    event.u.lane.state = to;
    host->lanes[lane].state = to;
    require(step(host, &event) == MOOT_OK);
}

static inline void end_wait(struct host *host, uint32_t lane)
{
    struct core_event event = {.type = CORE_EV_UNNEED,
                               .hash = world.hashes[host->lanes[lane].task]};
    event.u.need.lane = lane;
    event.u.need.want = host->lanes[lane].want;
    host->lanes[lane].task = NO_TASK;
    host->lanes[lane].woken = false;
    set_lane(host, lane, CORE_LANE_RUNNING);
    require(!is_live(host) || step(host, &event) == MOOT_OK);
}

static inline void wake_lanes(struct host *host)
{
    for (uint32_t i = 0; i < LANES && is_live(host); i++) {
        if (host->lanes[i].woken) {
            end_wait(host, i);
        }
    }
}

static inline int step(struct host *host, const struct core_event *event)
{
    struct core_outputs out = {0};
    if (!is_live(host)) {
        return MOOT_OK;
    }
    int code = core_step(host->core, event, world.now_ns, &out);
    require(code != MOOT_ERR_NO_MEMORY); /* a broken core */
    for (size_t i = 0; i < out.count; i++) {
        carry(host, &out.items[i]);
    }
    check_world();
    wake_lanes(host);
    return code;
}

/* --- Opening and closing ---------------------------------------------------------- */

static inline void name_tasks(void)
{
    for (uint32_t task = 0; task < TASKS; task++) {
        moot_hash *hash = &world.hashes[task];
        *hash = digest_bytes(&task, sizeof(task));
        hash->bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_FACTS;
        hash->bytes[MOOT_HASH_BYTES - 1] |= (uint8_t)specs[task].facts;
    }
}

/* The bytes given with a stub are of the same task. */
static inline void expand(void *context, struct core *core, void *entry,
                          const void *part)
{
    struct entry *made = entry;
    const struct host *host = context;
    require(host->core == core);
    memcpy(&made->task, part, sizeof(made->task));
    require(hash_equal(&world.hashes[made->task], &made->core.hash));
}

/* The entry of a task that is about to be registered. */
static inline void *enter_for(struct host *host, uint32_t task,
                              const struct core_register *reg)
{
    struct entry *entry = core_enter_for(host->core, &world.hashes[task],
                                         reg->candidates, reg->input_count, 0);
    require(entry != NULL);
    entry->task = task;
    return entry;
}

static inline void host_open(uint32_t rank, const struct core_options *common)
{
    struct host *host = host_of(rank);
    struct core_options options = *common;
    uint32_t first = world.size - world.joins;
    options.rank = rank;
    options.size = first;
    options.uids = world.uids;
    options.epoch = 1;
    options.entry_bytes = sizeof(struct entry);
    options.expand = expand;
    options.expand_context = host;
    if (rank < first) {
        host->epoch = 1;
        host->members = (UINT64_C(1) << first) - 1;
    } else {
        options.join_uid = world.uids[rank];
        options.join_rank = rank;
    }
    host->rank = rank;
    for (uint32_t i = 0; i < LANES; i++) {
        host->lanes[i].task = NO_TASK;
    }
    host->core = core_new(&options);
    require(host->core != NULL);
    for (uint32_t i = 0; i < LANES; i++) {
        set_lane(host, i, CORE_LANE_RUNNING);
    }
}

static inline void world_close(void)
{
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        core_free(world.hosts[i].core);
        for (uint32_t j = 0; j < RANKS_MAX; j++) {
            struct link *link = &world.links[i][j];
            while (link->count > 0) {
                message_copy_free(link->items[--link->count]);
            }
            free(link->items);
        }
    }
    memset(&world, 0, sizeof(world));
}

#endif
