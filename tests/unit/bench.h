/* bench.h - a few cores on a bench, driven by hand: for the unit tests of the core.
 *
 * A wire of FIFO queues between a few cores, no delays, and a host that runs a task the
 * moment it may.  Each test drives the ranks by hand and looks at who asked whom and
 * who ran what; the simulator does the same by the thousand.
 * Ranks can be cut off, crashed and certified dead.
 */
#ifndef TESTS_UNIT_BENCH_H
#define TESTS_UNIT_BENCH_H

#include "consensus/core.h"
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 6, QUEUE_MAX = 4096, MS = 1000000 };

struct parcel {
    uint32_t from, to;
    struct message *message;
};

static struct bench {
    uint32_t size;
    struct core *core[RANKS_MAX];
    uint64_t uids[RANKS_MAX];
    struct parcel *queue[QUEUE_MAX];
    size_t head, tail;
    uint64_t now;
    int runs[64];                 /* by task number */
    int ran_on[64];               /* rank */
    int32_t run_code[64];         /* the last time: what it was to end with instead, */
    bool seen[64];                /* it had ended well before, */
    bool alone[64];               /* and no other kernel was to run beside it */
    int told_of_cancel[64];       /* while it ran, so often */
    int32_t ended[RANKS_MAX][64]; /* 0: not; 1: done; negative: verdict */
    uint32_t chain_count;
    size_t said_most; /* messages, in one step */
    bool forgotten[RANKS_MAX][64];
    bool adjourned[RANKS_MAX], diverged[RANKS_MAX];
    int32_t exit_code[RANKS_MAX];   /* as ADJOURN said */
    uint64_t differs_at[RANKS_MAX]; /* as DIVERGED did */
    bool fenced[RANKS_MAX], left[RANKS_MAX], no_quorum[RANKS_MAX];
    unsigned told_of[RANKS_MAX][RANKS_MAX]; /* by CORE_OUT_SIGNATURE, as bits */
    uint64_t told_step[RANKS_MAX][RANKS_MAX];
    uint64_t met[RANKS_MAX];        /* the last CORE_OUT_MET's number, */
    int32_t met_code[RANKS_MAX];    /* code, */
    struct rankset came[RANKS_MAX]; /* who came, */
    char words[RANKS_MAX][64];      /* and with what words */
    size_t words_size[RANKS_MAX];
    void (*comes)(const struct parcel *parcel); /* NULL, or: ahead of each message */
    uint64_t epoch[RANKS_MAX]; /* as the last CORE_OUT_VIEW said; 0: none */
    struct {
        uint32_t cut;          /* number of the last CORE_OUT_CUT; 0: none */
        moot_hash id;          /* and its id */
        int results;           /* accepted before it */
        uint32_t parts;        /* of the last CORE_OUT_COMMIT; 0: none, */
        uint64_t records;      /* and their records, in all */
        uint32_t mark;         /* generation of the last CORE_OUT_MARK; 0: none */
        int reloads;           /* CORE_OUT_RELOADED, */
        int32_t reload_status; /* and the last one's status, */
        uint32_t generation;   /* and generation */
        moot_hash reload_id;
        int done;       /* answers, */
        int32_t status; /* and the last one's status */
        moot_hash done_id;
    } snapshot[RANKS_MAX];
    struct range given[RANKS_MAX][8]; /* elements, of whatever array, */
    uint32_t given_count[RANKS_MAX];  /* so many times */
    int results[RANKS_MAX];           /* accepted */
    int awaited[RANKS_MAX];           /* CORE_OUT_AWAITED */
    bool crashed[RANKS_MAX];          /* neither acts nor is reached */
    bool deaf[RANKS_MAX];             /* cut off: nothing to or from it arrives */
    bool holds[RANKS_MAX][RANKS_MAX]; /* from, to: what is sent waits (let_go) */
    struct parcel *held[QUEUE_MAX];
    size_t held_count;
    struct rankset members[RANKS_MAX]; /* of the last view; none before */
    bool hurried;                      /* the last step its host */
    uint64_t steps;                    /* of all ranks */
    bool hold_runs;
    bool stub[RANKS_MAX][64]; /* the rank keeps a stub of it (stub_test.c) */
    enum core_mode mode;
    bool joinable, boundary; /* set before it is opened, and kept */
    uint32_t direct_max;     /* core_options; outlives bench_open */
    uint32_t tree_fanout;    /* core_options; likewise */
    bool drops;              /* all released is dropped, in small chunks; likewise */
    uint64_t drop_above;     /* tasks; 0: one; likewise */
    uint64_t lot_after, pass_after; /* core_options; likewise */
    uint32_t adapt;                 /* core_options; likewise */
    size_t spare_bytes;             /* core_options; likewise */
    uint32_t voters;                /* core_options; 0: three; likewise */
    uint64_t result_bytes;          /* of each task; 0: 8 */
    uint64_t heartbeat_ns;          /* 0: membership is fixed */
} bench;

/* A task's entry. */
struct bench_entry {
    struct core_entry core;
    bool named; /* this host has said which task it is: */
    int number;
};

/* Built with -DMOOT_MUTANTS, $MOOT_MUTANT names the rule to break
 * (tests/sim/mutants.c).
 */
#ifdef MOOT_MUTANTS
#include "tests/mutant_names.h"
enum mutant mutant_on;

static inline void bench_break_a_rule(void) { mutant_on = mutant_wanted(); }
#else
static inline void bench_break_a_rule(void) {}
#endif

static inline void carry_out(uint32_t rank, const struct core_outputs *out);

/* The state's invariants; a look takes long where there are many tasks, and is then
 * taken after every few steps. */
static inline void hold_at_times(uint32_t rank)
{
    const uint64_t each = 1 + core_stats(bench.core[rank])->tasks / 64;
    if (bench.steps++ % each == 0) {
        core_hold(bench.core[rank]);
    }
}

static inline int step(uint32_t rank, struct core_event *event)
{
    struct core_outputs out;
    int error = core_step(bench.core[rank], event, bench.now, &out);
    hold_at_times(rank);
    bench.hurried = error != MOOT_OK || out.hurried;
    if (error == MOOT_OK) {
        carry_out(rank, &out);
    }
    return error;
}

static inline void post(uint32_t from, uint32_t to, const struct message *message)
{
    struct parcel *parcel = calloc(1, sizeof(*parcel));
    assert_non_null(parcel);
    *parcel = (struct parcel){from, to, message_copy(message)};
    assert_non_null(parcel->message);
    if (message->type == MESSAGE_RESULT) { /* the bench has no bytes to lose */
        parcel->message->u.result.data = message->u.result.data;
        parcel->message->u.result.part = message->u.result.part;
        parcel->message->u.result.parts = message->u.result.parts;
    }
    bench.queue[bench.tail++ % QUEUE_MAX] = parcel;
    assert_true(bench.tail - bench.head < QUEUE_MAX);
}

/* -1: of an entry that this host has not named. */
static inline int number_of(void *known)
{
    const struct bench_entry *entry = known;
    int number = -1;
    if (core_is_stub(known)) {
        memcpy(&number, core_stub_host(known), sizeof(number));
    } else if (entry->named) {
        number = entry->number;
    }
    return number;
}

/* The bytes given with a stub are in its entry. */
static inline void expand(void *context, struct core *core, void *made,
                          const void *part)
{
    struct bench_entry *entry = made;
    bool(*stub)[64] = context;
    assert_non_null(core);
    entry->named = true;
    memcpy(&entry->number, part, sizeof(entry->number));
    (*stub)[entry->number] = false;
}

static inline void forget(uint32_t rank, void *known)
{
    int number = number_of(known);
    if (number >= 0) {
        bench.forgotten[rank][number] = true;
    }
    core_entry_give(bench.core[rank], known);
}

static inline void carry_out(uint32_t rank, const struct core_outputs *out)
{
    struct core_output *items = calloc(out->count + 1, sizeof(*items));
    int *numbers = calloc(out->count + 1, sizeof(*numbers));
    if (items == NULL || numbers == NULL) {
        abort(); /* the lint does not know that a test's assertion ends it */
    }
    if (out->count > 0) {
        memcpy(items, out->items, out->count * sizeof(*items));
    }
    size_t count = out->count, said = 0;
    for (size_t i = 0; i < count; i++) { /* first what borrows from the core */
        int number = items[i].user != NULL ? number_of(items[i].user) : 0;
        numbers[i] = number >= 0 ? number : 0;
        if (items[i].type == CORE_OUT_SEND) {
            said++;
            post(rank, items[i].u.send.to, &items[i].u.send.message);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = 0;
             items[i].type == CORE_OUT_FORGET && k < items[i].u.forget.count; k++) {
            forget(rank, items[i].u.forget.users[k]);
        }
    }
    bench.said_most = said > bench.said_most ? said : bench.said_most;
    for (size_t i = 0; i < count; i++) {
        int number = numbers[i];
        switch (items[i].type) {
        case CORE_OUT_RUN:
            bench.runs[number]++;
            bench.ran_on[number] = (int)rank;
            bench.run_code[number] = items[i].u.run.code;
            bench.seen[number] = items[i].u.run.seen;
            bench.alone[number] = items[i].u.run.alone;
            if (!bench.hold_runs) {
                struct core_event event = {.type = CORE_EV_DONE, .hash = items[i].hash};
                event.u.done.size = bench.result_bytes > 0 ? bench.result_bytes : 8;
                if (items[i].u.run.code != MOOT_OK) {
                    event.u.done.status = MOOT_ERR_CANCELLED;
                    bench.runs[number]--;
                }
                assert_int_equal(step(rank, &event), MOOT_OK);
            }
            break;
        case CORE_OUT_CANCEL:
            bench.told_of_cancel[number]++;
            break;
        case CORE_OUT_DONE:
            bench.ended[rank][number] = 1;
            break;
        case CORE_OUT_VERDICT:
            bench.ended[rank][number] = items[i].u.verdict.code;
            bench.chain_count = items[i].u.verdict.chain_count;
            break;
        case CORE_OUT_FORGET:
            break;
        case CORE_OUT_ADJOURN:
            bench.adjourned[rank] = true;
            bench.exit_code[rank] = items[i].u.adjourn.exit_code;
            break;
        case CORE_OUT_DIVERGED:
            bench.diverged[rank] = true;
            bench.differs_at[rank] = items[i].u.diverged.position;
            break;
        case CORE_OUT_MET:
            bench.met[rank] = items[i].u.met.number;
            bench.met_code[rank] = items[i].u.met.code;
            bench.words_size[rank] = items[i].u.met.words_size;
            assert_true(items[i].u.met.words_size <= sizeof(bench.words[rank]));
            memcpy(bench.words[rank],
                   items[i].u.met.words != NULL ? items[i].u.met.words : "",
                   items[i].u.met.words_size);
            if (items[i].u.met.came == NULL) {
                rankset_release(&bench.came[rank]);
            } else {
                assert_true(rankset_copy(&bench.came[rank], items[i].u.met.came));
            }
            break;
        case CORE_OUT_VIEW:
            bench.epoch[rank] = items[i].u.view.epoch;
            assert_true(rankset_copy(&bench.members[rank], items[i].u.view.members));
            break;
        case CORE_OUT_QUORUM:
            bench.no_quorum[rank] = !items[i].u.quorum.have;
            break;
        case CORE_OUT_FENCED:
            bench.fenced[rank] = true;
            break;
        case CORE_OUT_LEFT:
            bench.left[rank] = true;
            break;
        case CORE_OUT_CUT:
            bench.snapshot[rank].cut = items[i].u.cut.number;
            bench.snapshot[rank].id = items[i].hash;
            bench.snapshot[rank].results = bench.results[rank];
            break;
        case CORE_OUT_COMMIT:
            bench.snapshot[rank].parts = items[i].u.commit.part_count;
            bench.snapshot[rank].records = 0;
            for (uint32_t k = 0; k < items[i].u.commit.part_count; k++) {
                bench.snapshot[rank].records += items[i].u.commit.parts[k].records;
            }
            break;
        case CORE_OUT_SNAPSHOT_DONE:
            bench.snapshot[rank].done++;
            bench.snapshot[rank].status = items[i].u.snapshot_done.status;
            bench.snapshot[rank].done_id = items[i].hash;
            break;
        case CORE_OUT_ELEMENTS:
            assert_true(bench.given_count[rank] < 8);
            bench.given[rank][bench.given_count[rank]++] = items[i].u.elements.places;
            break;
        case CORE_OUT_RESULT:
            bench.results[rank]++;
            break;
        case CORE_OUT_MARK:
            bench.snapshot[rank].mark = items[i].u.mark.generation;
            break;
        case CORE_OUT_RELOADED:
            bench.snapshot[rank].reloads++;
            bench.snapshot[rank].reload_status = items[i].u.reloaded.status;
            bench.snapshot[rank].generation = items[i].u.reloaded.generation;
            bench.snapshot[rank].reload_id = items[i].hash;
            break;
        case CORE_OUT_SIGNATURE:
            bench.told_of[rank][items[i].u.signature.rank] |=
                1u << items[i].u.signature.what;
            bench.told_step[rank][items[i].u.signature.rank] =
                items[i].u.signature.step;
            break;
        case CORE_OUT_AWAITED:
            bench.awaited[rank]++;
            break;
        case CORE_OUT_SEND:
        case CORE_OUT_REFUSE:
        case CORE_OUT_PART:
        case CORE_OUT_NOTE:
            break;
        }
    }
    free(numbers);
    free(items);
}

static inline void parcel_free(struct parcel *parcel)
{
    message_copy_free(parcel->message);
    free(parcel);
}

static inline void deliver(struct parcel *parcel)
{
    uint32_t from = parcel->from, to = parcel->to;
    if (!bench.crashed[to] && !bench.deaf[from] && !bench.deaf[to]) {
        struct core_event event = {.type = CORE_EV_RECV};
        event.u.recv.from = from;
        event.u.recv.uid = bench.uids[from];
        event.u.recv.message = parcel->message;
        if (bench.comes != NULL) {
            bench.comes(parcel);
        }
        assert_int_equal(step(to, &event), MOOT_OK);
    }
    parcel_free(parcel);
}

static inline void deliver_one(void)
{
    struct parcel *parcel = bench.queue[bench.head++ % QUEUE_MAX];
    if (bench.holds[parcel->from][parcel->to]) {
        assert_true(bench.held_count < QUEUE_MAX);
        bench.held[bench.held_count++] = parcel;
    } else {
        deliver(parcel);
    }
}

static inline void deliver_all(void)
{
    while (bench.head < bench.tail) {
        deliver_one();
    }
}

/* What was held back from one to the other arrives now, in order. */
static inline void let_go(uint32_t from, uint32_t to)
{
    size_t kept = 0;
    bench.holds[from][to] = false;
    for (size_t i = 0; i < bench.held_count; i++) {
        struct parcel *parcel = bench.held[i];
        if (parcel->from == from && parcel->to == to) {
            deliver(parcel);
        } else {
            bench.held[kept++] = parcel;
        }
    }
    bench.held_count = kept;
}

static inline void certify_at(uint32_t rank, uint32_t dead)
{
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = dead;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline uint64_t deadline_of(uint32_t rank)
{
    return bench.crashed[rank] ? CORE_NEVER : core_deadline(bench.core[rank]);
}

/* Lets time pass in small steps, as heartbeats need it. */
static inline void pass(uint64_t ns)
{
    uint64_t until = bench.now + ns;
    while (bench.now < until) {
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            if (deadline_of(rank) <= bench.now) {
                struct core_event tick = {.type = CORE_EV_TICK};
                assert_int_equal(step(rank, &tick), MOOT_OK);
            }
        }
        deliver_all();
    }
}

/* Lets time pass up to then, by what is due. */
static inline void settle_until(uint64_t until)
{
    deliver_all();
    for (;;) {
        uint64_t due = CORE_NEVER;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            uint64_t mine = deadline_of(rank);
            due = mine < due ? mine : due;
        }
        if (due > until) {
            break;
        }
        bench.now = due > bench.now ? due : bench.now + 1000;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            if (deadline_of(rank) <= bench.now) {
                struct core_event tick = {.type = CORE_EV_TICK};
                assert_int_equal(step(rank, &tick), MOOT_OK);
            }
        }
        deliver_all();
    }
    bench.now = until;
}

/* Lets time pass until nothing is due within a second of it. */
static inline void settle(void) { settle_until(bench.now + 1000 * MS); }

/* As all ranks have them; who is who is left open. */
static inline struct core_options options_of(uint32_t rank)
{
    const uint64_t heartbeat_ns = bench.heartbeat_ns;
    return (struct core_options){.mode = bench.mode,
                                 .voters = bench.voters > 0 ? bench.voters : 3,
                                 .crashes = 2,
                                 .vote_timeout_ns = CORE_NEVER,
                                 .ask_delay_ns = 1 * MS,
                                 .gossip_period_ns = 2 * MS,
                                 .heartbeat_ns = heartbeat_ns,
                                 .suspect_ns = 6 * heartbeat_ns,
                                 .lease_ns = 4 * heartbeat_ns,
                                 .stagger_ns = 1 * MS,
                                 .batch_ns = MS / 2,
                                 .quorum_wait_ns = 30 * heartbeat_ns,
                                 .adapt = bench.adapt,
                                 .spare_bytes = bench.spare_bytes,
                                 .joinable = bench.joinable,
                                 .boundary = bench.boundary,
                                 .direct_max = bench.direct_max,
                                 .tree_fanout = bench.tree_fanout,
                                 .drop_above = bench.drops ? bench.drop_above : 0,
                                 .lot_after = bench.drops ? bench.lot_after : 0,
                                 .pass_after = bench.drops ? bench.pass_after : 0,
                                 .chunk_mask = bench.drops ? 7 : 0,
                                 .entry_bytes = sizeof(struct bench_entry),
                                 .expand = expand,
                                 .expand_context = bench.stub[rank]};
}

static inline void bench_open_with(uint32_t size, enum core_mode mode,
                                   uint64_t heartbeat_ns)
{
    bool joinable = bench.joinable, boundary = bench.boundary;
    uint32_t direct_max = bench.direct_max, tree_fanout = bench.tree_fanout;
    bool drops = bench.drops;
    uint64_t drop_above = bench.drop_above > 0 ? bench.drop_above : 1;
    uint64_t lot_after = bench.lot_after, pass_after = bench.pass_after;
    size_t spare_bytes = bench.spare_bytes;
    uint32_t adapt = bench.adapt, voters = bench.voters;
    memset(&bench, 0, sizeof(bench));
    bench.joinable = joinable;
    bench.boundary = boundary;
    bench.direct_max = direct_max;
    bench.tree_fanout = tree_fanout;
    bench.drops = drops;
    bench.drop_above = drop_above;
    bench.lot_after = lot_after;
    bench.pass_after = pass_after;
    bench.adapt = adapt;
    bench.spare_bytes = spare_bytes;
    bench.voters = voters;
    bench.size = size;
    bench.heartbeat_ns = heartbeat_ns;
    bench.mode = mode;
    for (uint32_t rank = 0; rank < size; rank++) {
        bench.uids[rank] = 1000 + rank;
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        struct core_options options = options_of(rank);
        options.rank = rank;
        options.size = size;
        options.uids = bench.uids;
        options.epoch = 1;
        bench.core[rank] = core_new(&options);
        assert_non_null(bench.core[rank]);
    }
}

static inline void bench_open(uint32_t size, enum core_mode mode)
{
    bench_open_with(size, mode, 0);
}

/* Messages that are held back never come. */
static inline void lose_held(void)
{
    while (bench.held_count > 0) {
        parcel_free(bench.held[--bench.held_count]);
    }
}

static inline void bench_close(void)
{
    while (bench.head < bench.tail) {
        parcel_free(bench.queue[bench.head++ % QUEUE_MAX]);
    }
    lose_held();
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (bench.core[rank] != NULL) { /* else nobody had this number */
            assert_int_equal(core_stats(bench.core[rank])->violations, 0);
        }
        core_free(bench.core[rank]);
        rankset_release(&bench.members[rank]);
        rankset_release(&bench.came[rank]);
    }
}

/* Time goes on, message by message, until this is so for the task on this rank. */
static inline void pass_until(bool (*holds)(const struct core *core,
                                            const moot_hash *hash),
                              uint32_t rank, const moot_hash *hash)
{
    for (int i = 0; i < 40000 && !holds(bench.core[rank], hash); i++) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t each = 0; each < bench.size; each++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(each, &tick), MOOT_OK);
        }
    }
    assert_true(holds(bench.core[rank], hash));
}

/* The n-th hash whose default chair is `chair`, with these facts. */
static inline moot_hash chaired_by(uint32_t chair, int n, unsigned facts)
{
    struct rankset members = {0};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        rankset_add(&members, rank);
    }
    for (uint64_t i = 0;; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[15] =
            (uint8_t)((hash.bytes[15] & ~(uint32_t)MOOT_HASH_FACTS) | facts);
        if (placement_chair(&hash, &members, NULL) == chair && n-- == 0) {
            rankset_release(&members);
            return hash;
        }
    }
}

static inline void *name(struct bench_entry *entry, int number)
{
    if (entry != NULL) {
        entry->named = true;
        entry->number = number;
    }
    return entry;
}

/* The host has an entry of what its program names by hash. */
static inline void enter(uint32_t rank, int number, moot_hash hash)
{
    assert_non_null(name(core_enter(bench.core[rank], &hash), number));
}

/* The entry of what is about to be registered; NULL: its scope has ended. */
static inline void *enter_for(uint32_t rank, int number, const moot_hash *hash,
                              const struct core_register *reg)
{
    return name(
        core_enter_for(bench.core[rank], hash, reg->candidates, reg->input_count, 0),
        number);
}

static inline int spawn_with(uint32_t rank, int number, moot_hash hash,
                             struct core_register reg)
{
    struct core_event event = {.type = CORE_EV_REGISTER,
                               .hash = hash,
                               .entry = enter_for(rank, number, &hash, &reg),
                               .u.reg = &reg};
    reg.site = "test.c:1";
    return step(rank, &event);
}

static inline void spawn(uint32_t rank, int number, moot_hash hash)
{
    struct core_register reg = {0};
    if (hash.bytes[15] & MOOT_HASH_ONCE) {
        reg.flags |= CORE_TASK_ONCE;
    }
    if (hash.bytes[15] & MOOT_HASH_IDEMPOTENT) {
        reg.flags |= CORE_TASK_IDEMPOTENT;
    }
    assert_int_equal(spawn_with(rank, number, hash, reg), MOOT_OK);
}

static inline void set_lane(uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.state = state;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void begin_wait(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_NEED, .hash = hash};
    event.u.need.want = WANT_DATA;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

static inline void end_wait(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_UNNEED, .hash = hash};
    event.u.need.want = WANT_DATA;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_RUNNING);
}

static inline void close_rank(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_CLOSE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void close_all(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        close_rank(rank);
    }
    settle();
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_true(bench.adjourned[rank]);
    }
}

static inline uint64_t sum_yields(void)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int i = 0; i < EVIDENCE_END; i++) {
            sum += core_stats(bench.core[rank])->yields[i];
        }
    }
    return sum;
}

static inline uint64_t sum_sent(enum message_type type)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        sum += core_stats(bench.core[rank])->sent[type];
    }
    return sum;
}

#endif
