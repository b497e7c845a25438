/* events_fuzz.c - no order of events, and nothing that a peer says, breaks the core.
 *
 * An input is a story: its first bytes say how many ranks there are, whether they watch
 * each other, and what the wire is like; the others are events, each a byte that names
 * it and a few that say where.  The wire is one of three:
 *
 *   kind      what was sent arrives once and in order.  When the input is over,
 *             everything is let finish: every wait must end and every rank adjourn,
 *             unless it was fenced, crashed or has lost its majority (P1).
 *   rough     messages come again, or before those that were sent earlier: the models
 *             say that this breaks no safety, so the invariants must hold.
 *   hostile   the last rank is no core but the input itself: it says anything that gets
 *             through the decoder.  No assertion of the core may fail.
 *
 * Invariants and the hosts stand in events_world.h.
 */
#include "tests/fuzz/events_lies.h"

#include "proto/wire.h"
#include "tests/mutant_names.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#ifdef MOOT_MUTANTS
/* To see that the fuzzer sees: MOOT_MUTANT=NAME switches a rule off. */
enum mutant mutant_on;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    mutant_on = mutant_wanted();
    return 0;
}
#endif

static struct host *draw_host(void) { return host_of(draw(world.size)); }

/* --- What the program of a rank does ---------------------------------------------- */

/* The program spawns children only while their parent runs. */
static bool may_register(const struct host *host, uint32_t task, uint32_t lane)
{
    int parent = specs[task].parent;
    if (host->tasks[task].held || host->tasks[task].declined) {
        return false;
    }
    if (host->epoch == 0) {
        return false; /* a newcomer that nobody has let in */
    }
    return parent >= 0 ? host->tasks[parent].running && !host->tasks[parent].cancelled
                       : !host->closed && host->lanes[lane].state == CORE_LANE_RUNNING;
}

static void do_register(struct host *host)
{
    uint32_t task = draw(TASKS), lane = draw(LANES);
    moot_hash inputs[2];
    struct rankset candidates = {.low = specs[task].candidates};
    if (!may_register(host, task, lane)) {
        return;
    }
    for (uint32_t i = 0; i < specs[task].input_count; i++) {
        inputs[i] = world.hashes[specs[task].inputs[i]];
    }
    struct core_register reg = {
        .lane = lane,
        .flags = specs[task].flags,
        .inputs = inputs,
        .input_count = specs[task].input_count,
        .after_count = specs[task].after_count,
        .candidates = candidates.low != 0 ? &candidates : NULL,
        .site = "fuzz.c:1",
        .host_size = sizeof(task),
    };
    if (specs[task].parent >= 0) {
        reg.parent = world.hashes[specs[task].parent];
    }
    struct core_event event = {
        .type = CORE_EV_REGISTER, .hash = world.hashes[task], .u.reg = &reg};
    void *stub = core_prune(host->core, &world.hashes[task], &reg);
    if (stub != NULL) {
        memcpy(core_stub_host(stub), &task, sizeof(task));
        event.type = CORE_EV_PRUNED;
        event.u.pruned.stubs = &stub;
        event.u.pruned.count = 1;
    } else {
        event.entry = enter_for(host, task, &reg);
    }
    host->tasks[task].held = true;
    int code = step(host, &event);
    if (code != MOOT_OK) {
        host->tasks[task].held = false;
    }
    require(code == MOOT_OK || code == MOOT_ERR_NO_CANDIDATE);
}

static void do_wait(struct host *host, bool timed)
{
    uint32_t task = draw(TASKS), lane = draw(LANES);
    if (host->closed || host->lanes[lane].state != CORE_LANE_RUNNING ||
        host->no_quorum || host->epoch == 0) {
        return;
    }
    struct core_event event = {.type = CORE_EV_NEED, .hash = world.hashes[task]};
    event.u.need.lane = lane;
    event.u.need.want = draw_bool() ? WANT_DATA : WANT_DONE;
    host->lanes[lane].task = task;
    host->lanes[lane].want = event.u.need.want;
    require(step(host, &event) == MOOT_OK);
    if (is_live(host) && host->lanes[lane].task == task) {
        set_lane(host, lane, timed ? CORE_LANE_TIMED : CORE_LANE_BLOCKED);
    }
}

static void do_lapse(struct host *host, uint32_t lane)
{
    if (host->lanes[lane].state == CORE_LANE_TIMED) {
        end_wait(host, lane);
    } else if (host->lanes[lane].state == CORE_LANE_PARKED) {
        set_lane(host, lane, CORE_LANE_RUNNING);
    }
}

static void do_park(struct host *host)
{
    uint32_t lane = draw(LANES);
    if (!host->closed && host->lanes[lane].state == CORE_LANE_RUNNING) {
        set_lane(host, lane, CORE_LANE_PARKED);
    }
}

static void do_end(struct host *host, uint32_t task)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = world.hashes[task]};
    if (!host->tasks[task].running) {
        return;
    }
    event.u.done.status = host->tasks[task].cancelled ? MOOT_ERR_CANCELLED : MOOT_OK;
    event.u.done.size = specs[task].size;
    host->tasks[task].running = false;
    host->tasks[task].kept = true;
    host->tasks[task].owner_uid = world.uids[host->rank];
    require(step(host, &event) == MOOT_OK);
}

static void do_decline(struct host *host, uint32_t task)
{
    if (host->tasks[task].held || specs[task].parent >= 0) {
        return;
    }
    host->tasks[task].declined = true;
    require(step(host, &(struct core_event){.type = CORE_EV_DECLINE,
                                            .hash = world.hashes[task]}) == MOOT_OK);
}

/* The core says whether its bytes may go. */
static void do_release(struct host *host, uint32_t task)
{
    if (core_release(host->core, &world.hashes[task], NULL, 0) && is_live(host)) {
        host->tasks[task].kept = false;
    }
}

static void do_close(struct host *host)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        if (host->lanes[lane].task != NO_TASK ||
            host->lanes[lane].state == CORE_LANE_PARKED) {
            return;
        }
    }
    if (host->closed || host->epoch == 0) {
        return;
    }
    host->closed = true;
    require(step(host, &(struct core_event){.type = CORE_EV_CLOSE}) == MOOT_OK);
}

/* --- What happens to ranks and messages ------------------------------------------- */

/* Whoever shares a host with the dead may be told. */
static void do_crash(struct host *host)
{
    bool certified = draw_bool();
    host->over = true;
    for (uint32_t i = 0; certified && i < world.size; i++) {
        struct core_event event = {.type = CORE_EV_DEAD};
        event.u.dead.rank = host->rank;
        if (is_live(host_of(i))) {
            (void)step(host_of(i), &event); /* INVALID: not one that it knows */
        }
    }
}

static void receive(struct host *host, uint32_t from, const struct message *message)
{
    struct core_event event = {.type = CORE_EV_RECV, .hash = message->hash};
    event.u.recv.from = from;
    event.u.recv.uid = world.uids[from];
    event.u.recv.message = message;
    require(step(host, &event) == MOOT_OK);
}

static void deliver_first(uint32_t from, uint32_t to)
{
    if (world.links[from][to].count == 0) {
        return;
    }
    struct message *message = link_take(&world.links[from][to], 0);
    receive(host_of(to), from, message);
    message_copy_free(message);
}

static void do_deliver(struct host *host)
{
    uint32_t from = draw(world.size), to = host->rank;
    struct link *link = &world.links[from][to];
    if (!world.rough) {
        deliver_first(from, to);
        return;
    }
    uint32_t at = draw(256);
    bool again = draw(4) == 0;
    if (link->count == 0) {
        return;
    }
    struct message *message = link_take(link, at % link->count);
    if (again) {
        link_add(link, message);
    }
    receive(host, from, message);
    message_copy_free(message);
}

static void tick(struct host *host)
{
    if (is_live(host)) {
        require(step(host, &(struct core_event){.type = CORE_EV_TICK}) == MOOT_OK);
    }
}

static bool takes_part(const struct host *host)
{
    return is_live(host) && host->pause_rounds == 0;
}

static uint64_t next_deadline_ns(void)
{
    uint64_t due_ns = CORE_NEVER;
    for (uint32_t i = 0; i < world.size; i++) {
        uint64_t mine_ns =
            takes_part(host_of(i)) ? core_deadline(host_of(i)->core) : CORE_NEVER;
        due_ns = mine_ns < due_ns ? mine_ns : due_ns;
    }
    return due_ns;
}

/* A fair round: what is under way arrives, what is due happens, time goes on; but who
 * pauses hears and does nothing. */
static void do_round(void)
{
    for (uint32_t from = 0; from < world.size; from++) {
        for (uint32_t to = 0; to < world.size; to++) {
            for (size_t n = world.links[from][to].count;
                 n > 0 && host_of(to)->pause_rounds == 0; n--) {
                deliver_first(from, to);
            }
        }
    }
    uint64_t due_ns = next_deadline_ns();
    if (due_ns != CORE_NEVER) {
        world.now_ns = due_ns > world.now_ns ? due_ns : world.now_ns + US;
    }
    for (uint32_t i = 0; i < world.size; i++) {
        struct host *host = host_of(i);
        if (takes_part(host) && core_deadline(host->core) <= world.now_ns) {
            tick(host);
        }
        host->pause_rounds -= host->pause_rounds > 0;
    }
}

/* --- The hostile peer ------------------------------------------------------------- */

/* Only what a decoder lets through reaches a core. */
static void through_the_wire(struct host *host, uint32_t from,
                             const struct message *message)
{
    struct wire_writer *writer = wire_writer_new();
    struct wire_envelope envelope = {.src_uid = world.uids[from],
                                     .dst_uid = world.uids[host->rank],
                                     .epoch = message->epoch,
                                     .view_id = message->view_id};
    struct wire_frame frame = {0};
    void *bytes = NULL;
    size_t size = 0;
    const char *why;
    require(writer != NULL);
    if (wire_writer_add(writer, message) == MOOT_OK &&
        wire_writer_finish(writer, &envelope, &bytes, &size) == MOOT_OK &&
        wire_frame_decode(bytes, size, &frame, &why) == MOOT_OK) {
        for (size_t i = 0; i < frame.count; i++) {
            receive(host, from, &frame.messages[i]);
        }
    }
    wire_frame_release(&frame);
    free(bytes);
    wire_writer_free(writer);
}

static void do_lie(struct host *host)
{
    struct message_view view;
    uint32_t from = world.size - 1;
    uint64_t epoch, view_id;
    if (!world.hostile || host->rank == from) {
        return;
    }
    core_view(host->core, &epoch, &view_id);
    struct message message = draw_lie(epoch, view_id, &view);
    through_the_wire(host, from, &message);
}

/* --- The story -------------------------------------------------------------------- */

static void open_world(void)
{
    uint32_t shape = draw(256), voters = 1 + draw(4), mode = draw(8);
    world.size = 2 + draw(3);
    world.rough = (shape & 3) == 1;
    world.hostile = (shape & 3) == 2;
    world.detection = (shape >> 2 & 1) != 0;
    world.joins = world.detection && !world.hostile && (shape >> 3 & 1) != 0;
    world.size += world.joins;
    world.now_ns = 1;
    struct core_options options = {.mode = mode == 7   ? CORE_STRICT
                                           : mode == 6 ? CORE_TRUST
                                                       : CORE_REPAIR,
                                   .voters = voters,
                                   .vote_timeout_ns =
                                       (shape >> 4 & 3) == 0 ? 3 * MS : CORE_NEVER,
                                   .ask_delay_ns = MS,
                                   .gossip_period_ns = 2 * MS,
                                   .heartbeat_ns = world.detection ? 10 * MS : 0,
                                   .suspect_ns = 60 * MS,
                                   .lease_ns = (shape >> 6 & 1) ? 40 * MS : 90 * MS,
                                   .stagger_ns = MS,
                                   .batch_ns = MS / 2,
                                   .quorum_wait_ns = 300 * MS,
                                   .joinable = world.joins || draw(2) != 0,
                                   .notes = (shape >> 7 & 1) != 0 ? CORE_NOTES_ALL : 0};
    world.repairs = options.mode == CORE_REPAIR;
    name_tasks();
    for (uint32_t rank = 0; rank < world.size; rank++) {
        world.uids[rank] = 1000 + rank;
    }
    for (uint32_t rank = 0; rank < world.size - world.hostile; rank++) {
        host_open(rank, &options);
    }
}

static void do_of_rank(uint32_t what, struct host *host)
{
    switch (what) {
    case 0:
    case 1:
    case 2:
        do_register(host);
        break;
    case 3:
        do_wait(host, false);
        break;
    case 4:
        do_wait(host, true);
        break;
    case 5:
        do_lapse(host, draw(LANES));
        break;
    case 6:
        do_park(host);
        break;
    case 7:
        do_end(host, draw(TASKS));
        break;
    case 8:
        do_decline(host, draw(TASKS));
        break;
    case 9:
        do_release(host, draw(TASKS));
        break;
    case 10:
        (void)step(host, &(struct core_event){.type = CORE_EV_CANCEL,
                                              .hash = world.hashes[draw(TASKS)]});
        break;
    case 11:
        if (draw(4) == 0) {
            do_close(host);
        }
        break;
    case 12:
        if (world.detection && draw(2) == 0) {
            do_crash(host);
        }
        break;
    default:
        tick(host);
    }
}

static void do_next(void)
{
    static const uint64_t spans_ns[] = {US,      100 * US, MS,      5 * MS,
                                        20 * MS, 70 * MS,  200 * MS};
    uint32_t what = draw(32);
    struct host *host = draw_host();
    if (what < 14) {
        if (is_live(host)) {
            do_of_rank(what, host);
        }
    } else if (what < 20) {
        do_deliver(host);
    } else if (what < 22) {
        if (is_live(host)) {
            do_lie(host);
        }
    } else if (what < 24) {
        host->pause_rounds = 1 + draw(64);
    } else if (what < 31) {
        for (uint32_t rounds = 1 + draw(32); rounds > 0; rounds--) {
            do_round();
        }
    } else {
        world.now_ns += spans_ns[draw(7)];
    }
}

/* --- The end ---------------------------------------------------------------------- */

/* Kernels, timed waits and foreign code end; so does a lane that waits for nothing. */
static bool finish(struct host *host)
{
    for (uint32_t task = 0; task < TASKS && is_live(host); task++) {
        do_end(host, task);
    }
    for (uint32_t lane = 0; lane < LANES && is_live(host); lane++) {
        do_lapse(host, lane);
        if (is_live(host) && host->lanes[lane].state == CORE_LANE_RUNNING) {
            set_lane(host, lane, CORE_LANE_ENDED);
        }
    }
    if (is_live(host)) {
        do_close(host);
    }
    return !is_live(host) || host->epoch == 0 || (host->closed && host->no_quorum);
}

static void tell_host(const struct host *host)
{
    fprintf(stderr, "rank %u:%s%s%s%s view %u {%x}", host->rank,
            is_live(host) ? "" : " over", host->closed ? " closed" : "",
            host->no_quorum ? " no-quorum" : "", host->adjourned ? " adjourned" : "",
            (unsigned)host->epoch, (unsigned)host->members);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        fprintf(stderr, " lane %u: state %d waits %u", lane,
                (int)host->lanes[lane].state, host->lanes[lane].task);
    }
    for (uint32_t task = 0; task < TASKS; task++) {
        fprintf(stderr, " %s%s%s%s", host->tasks[task].held ? "h" : "-",
                host->tasks[task].ran ? "r" : "", host->tasks[task].kept ? "k" : "",
                host->tasks[task].declined ? "d" : "");
    }
    if (is_live(host)) {
        fprintf(stderr, " now %llu, due %llu ns", (unsigned long long)world.now_ns,
                (unsigned long long)core_deadline(host->core));
    }
    fprintf(stderr, "\n");
}

static void finish_all(void)
{
    enum { ROUNDS_MAX = 20000 };
    for (int round = 0; round < ROUNDS_MAX; round++) {
        bool all = true;
        for (uint32_t i = 0; i < world.size; i++) {
            all &= finish(host_of(i));
        }
        if (all) {
            return;
        }
        do_round();
    }
    for (uint32_t i = 0; i < world.size; i++) {
        tell_host(host_of(i));
    }
    abort(); /* P1: a wait does not end, or the ranks do not adjourn */
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    require(hashing_init());
    input.data = data;
    input.left = size < 600 ? size : 600;
    open_world();
    while (input.left > 0) {
        do_next();
    }
    if (!world.rough && !world.hostile && world.repairs) {
        finish_all();
    }
    world_close();
    return 0;
}
