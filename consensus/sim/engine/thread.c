/* thread.c - steps the scripts: the program's own threads.
 *
 * Between two steps a lane spends a little virtual time in its own code.  A lane that
 * waits is woken by an event of its own after the core has ended the wait, as a thread
 * would be.
 */
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include <string.h>

static const struct program_step *current(const struct host *host, uint32_t lane)
{
    const struct program_script *script =
        program_script(host->sim->program, host->role, lane);
    return host->lanes[lane].pc < script->count ? &script->steps[host->lanes[lane].pc]
                                                : NULL;
}

/* Moves the lane at a time; a call that was due before is off. */
static void schedule(struct host *host, uint32_t lane, uint64_t time_ns)
{
    heap_push(host->sim, &(struct event){.time_ns = time_ns,
                                         .kind = EVENT_LANE,
                                         .rank = host->rank,
                                         .index = lane,
                                         .ticket = ++host->lanes[lane].ticket});
}

static uint64_t own_code_ns(struct host *host)
{
    struct sim *sim = host->sim;
    uint64_t step_ns = random_between(&sim->durations, 1, sim->weather.step_ns);
    return sim->weather.slow == host->role + 1 ? 30 * step_ns : step_ns;
}

/* --- Steps that pass -------------------------------------------------------------- */

/* False: the rank is over. */
static bool leave_step(struct host *host, uint32_t lane)
{
    const struct program_step *step = current(host, lane);
    host->lanes[lane].pc++;
    if (step != NULL) {
        uses_pass(host, step);
    }
    host_spare(host);
    return host_goes_on(host);
}

static void next_step(struct host *host, uint32_t lane, uint64_t pause_ns)
{
    if (leave_step(host, lane)) {
        schedule(host, lane, host->sim->now_ns + own_code_ns(host) + pause_ns);
    }
}

void lane_next_step(struct host *host, uint32_t lane) { next_step(host, lane, 0); }

void lane_skip(struct host *host, uint32_t lane, uint32_t place)
{
    bool there = true;
    while (there && host->lanes[lane].pc < place && current(host, lane) != NULL) {
        there = leave_step(host, lane);
    }
    if (there) {
        schedule(host, lane, host->sim->now_ns + own_code_ns(host));
    }
}

void lane_stands(struct host *host, uint32_t lane, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = lane;
    event.u.lane.state = state;
    if (host->undone) {
        return;
    }
    sim_see(host->sim, &(struct sight){.type = SIGHT_LANE,
                                       .time_ns = host->sim->now_ns,
                                       .rank = host->rank,
                                       .lane = lane,
                                       .task = host->sim->program->task_count,
                                       .code = (int32_t)state});
    host_step(host, &event);
}

/* --- Waits ------------------------------------------------------------------------ */

static enum want want_of(const struct program_step *step)
{
    return step->op == PROGRAM_FETCH ? WANT_DATA : WANT_DONE;
}

static bool has_ended(const struct host *host, uint32_t task, enum want want)
{
    const struct record *record = &host->records[task];
    return record->verdict != MOOT_OK ||
           (record->done && (want == WANT_DONE || record->done_data));
}

static bool is_gathering(const struct program_step *step)
{
    return step->op == PROGRAM_MEET || step->op == PROGRAM_SESSION ||
           step->op == PROGRAM_RELOAD;
}

static bool is_over(const struct host *host, uint32_t lane,
                    const struct program_step *step)
{
    uint32_t ended = 0;
    if (host->lanes[lane].cut != MOOT_OK) {
        return true;
    }
    if (host->lanes[lane].snaps != 0) {
        return host->lanes[lane].snapped;
    }
    if (is_gathering(step)) {
        return boundary_is_over(host);
    }
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        ended += has_ended(host, step->tasks.items[i], want_of(step));
    }
    return ended == step->tasks.count || (step->op == PROGRAM_WAIT_ANY && ended > 0);
}

static void tell_need(struct host *host, uint32_t lane, uint32_t task, enum want want,
                      enum core_event_type type)
{
    struct record *record = &host->records[task];
    struct core_event event = {.type = type, .hash = host->sim->hashes[task]};
    event.u.need.want = want;
    event.u.need.lane = lane;
    event.u.need.wait = host->lanes[lane].wait;
    if (type == CORE_EV_UNNEED && record->refused_needs > 0) {
        record->refused_needs--; /* it never began */
        return;
    }
    event.entry = type == CORE_EV_NEED ? host_enter(host, task) : record->entry;
    const int code = host_step(host, &event);
    if (code != MOOT_ERR_SCOPE_CLOSED && code != MOOT_ERR_RESULT_LOST) {
        return;
    }
    record->verdict = code;
    record->refused_needs++;
    host->woken = true;
}

static void show_wait(struct host *host, uint32_t lane, uint32_t task, enum want want,
                      enum sight_type type)
{
    const struct record *record = &host->records[task];
    struct sight sight = {.type = type,
                          .time_ns = host->sim->now_ns,
                          .rank = host->rank,
                          .lane = lane,
                          .task = task};
    if (type == SIGHT_WAITED) {
        sight.code = record->verdict != MOOT_OK ? record->verdict : record->status;
        if (!has_ended(host, task, want)) {
            sight.code = host->lanes[lane].cut;
        }
        if (sim_canary(host->sim, SIM_CANARY_END_WAIT)) {
            sight.code = MOOT_ERR_NOT_HELD;
        }
        if (want == WANT_DATA && record->done_data) {
            sight.data = record->bytes;
            sight.size = record->size;
        }
    }
    sim_see(host->sim, &sight);
}

/* The code that a wait ends with that begins now, whatever it waits for. */
int32_t lane_cut_code(const struct host *host)
{
    return host->lost != MOOT_OK ? host->lost
           : host->no_quorum     ? MOOT_ERR_NO_QUORUM
           : host->diverged      ? MOOT_ERR_DIVERGED
                                 : MOOT_OK;
}

static void begin_wait(struct host *host, uint32_t lane,
                       const struct program_step *step)
{
    struct sim_thread *state = &host->lanes[lane];
    bool timed = step->op == PROGRAM_POLL;
    state->state = LANE_WAITS;
    state->wait = step->op == PROGRAM_WAIT_ANY ? 0 : ++host->waits_begun;
    state->cut = lane_cut_code(host);
    host->woken |= state->cut != MOOT_OK;
    for (uint32_t i = 0; i < step->tasks.count && !host->undone; i++) {
        host->records[step->tasks.items[i]].verdict = MOOT_OK; /* of an earlier wait */
        show_wait(host, lane, step->tasks.items[i], want_of(step), SIGHT_WAIT);
    }
    words_begin(host, lane, step);
    for (uint32_t i = 0; i < step->tasks.count && !host->undone; i++) {
        if (!words_may_tell(host, lane, i)) {
            tell_need(host, lane, step->tasks.items[i], want_of(step), CORE_EV_NEED);
        }
    }
    if (state->state == LANE_WAITS) {
        lane_stands(host, lane, timed ? CORE_LANE_TIMED : CORE_LANE_BLOCKED);
    }
    if (state->state == LANE_WAITS && timed) {
        schedule(host, lane, host->sim->now_ns + UINT64_C(1000) * step->pause_us);
    }
    worker_fill(host);
}

static bool has_bytes(const struct host *host, const struct program_step *step)
{
    bool all = step->op == PROGRAM_FETCH;
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        all &= host->records[step->tasks.items[i]].done_data;
    }
    return all;
}

/* The bytes that ended a wait are there until the lane has gone on. */
static void check_bytes(struct host *host, uint32_t lane,
                        const struct program_step *step)
{
    if (host->lanes[lane].state == LANE_WOKEN && host->lanes[lane].fetched &&
        !has_bytes(host, step)) {
        sim_fail(host->sim, "contract", "rank %u: the bytes that woke lane %u are gone",
                 (unsigned)host->rank, (unsigned)lane);
    }
}

static void end_wait(struct host *host, uint32_t lane, const struct program_step *step)
{
    if (host->lanes[lane].snaps != 0) {
        disk_end_wait(host, lane);
        return;
    }
    check_bytes(host, lane, step);
    if (host->lanes[lane].state == LANE_WAITS) { /* out of time */
        lane_stands(host, lane, CORE_LANE_RUNNING);
    }
    host->lanes[lane].state = LANE_RUNS;
    if (is_gathering(step)) {
        sim_moved(host->sim);
        boundary_go_on(host, lane, step);
        return;
    }
    for (uint32_t i = 0; i < step->tasks.count && !host->undone; i++) {
        uint32_t task = step->tasks.items[i];
        bool ended = has_ended(host, task, want_of(step))
                         ? step->op != PROGRAM_POLL ||
                               host->records[task].verdict != MOOT_ERR_NOT_HELD
                         : host->lanes[lane].cut != MOOT_OK;
        show_wait(host, lane, task, want_of(step), ended ? SIGHT_WAITED : SIGHT_LAPSED);
        if (!words_may_tell(host, lane, i)) {
            tell_need(host, lane, task, want_of(step), CORE_EV_UNNEED);
        }
    }
    words_end(host, lane);
    sim_moved(host->sim);
    next_step(host, lane, 0);
}

void lane_wake(struct host *host, uint32_t task)
{
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        const struct program_step *step = current(host, lane);
        if (host->lanes[lane].state != LANE_WAITS || step == NULL) {
            continue;
        }
        for (uint32_t i = 0; i < step->tasks.count; i++) {
            host->woken |= step->tasks.items[i] == task;
        }
    }
}

void lane_need(struct host *host, uint32_t lane, uint32_t task,
               enum core_event_type type)
{
    tell_need(host, lane, task, WANT_DONE, type);
}

void lane_words_in(struct host *host, uint32_t lane)
{
    host->lanes[lane].words_in = host->lanes[lane].state == LANE_WAITS;
    host->woken = true;
}

void lane_settle(struct host *host)
{
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        const struct program_step *step = current(host, lane);
        if (host->lanes[lane].state != LANE_WAITS || step == NULL) {
            continue;
        }
        words_take(host, lane, step);
        if (!is_over(host, lane, step)) {
            if (host->lanes[lane].words_in) {
                words_ask(host, lane, step);
            }
            continue;
        }
        host->lanes[lane].state = LANE_WOKEN;
        host->lanes[lane].fetched = has_bytes(host, step);
        lane_stands(host, lane, CORE_LANE_RUNNING);
        schedule(host, lane, host->sim->now_ns + own_code_ns(host));
    }
}

/* A rank that is fenced is over: its waits end here and now. */
void lane_cut(struct host *host, int32_t code)
{
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        const struct program_step *step = current(host, lane);
        if (host->lanes[lane].state != LANE_WAITS || step == NULL) {
            continue;
        }
        host->lanes[lane].cut = code;
        host->woken = true;
        const bool fenced = code == MOOT_ERR_FENCED && host->lanes[lane].snaps == 0;
        for (uint32_t i = 0; fenced && i < step->tasks.count; i++) {
            show_wait(host, lane, step->tasks.items[i], want_of(step), SIGHT_WAITED);
        }
    }
}

uint32_t lane_idle_count(const struct host *host)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        count += host->lanes[lane].state == LANE_WAITS ||
                 host->lanes[lane].state == LANE_PARKED;
    }
    return count + (host->closed ? 1 : 0);
}

/* --- Barriers and ends ------------------------------------------------------------ */

static void park(struct host *host, uint32_t lane)
{
    host->lanes[lane].state = LANE_PARKED;
    lane_stands(host, lane, CORE_LANE_PARKED);
    worker_fill(host);
}

static void enter_barrier(struct host *host, uint32_t lane)
{
    struct sim *sim = host->sim;
    park(host, lane);
    if (++sim->barrier_count < sim->program->rank_count) {
        return;
    }
    sim->barrier_count = 0;
    sim_moved(sim);
    for (uint32_t rank = 0; rank < sim->program->rank_count; rank++) {
        schedule(&sim->hosts[rank], lane, sim->now_ns + own_code_ns(&sim->hosts[rank]));
    }
}

static void end_lane(struct host *host, uint32_t lane)
{
    struct sim *sim = host->sim;
    host->lanes[lane].state = LANE_OVER;
    lane_stands(host, lane, CORE_LANE_ENDED);
    sim_moved(sim);
    if (host->undone) {
        return;
    }
    for (uint32_t i = 0; i < sim->program->lane_count; i++) {
        if (host->lanes[i].state != LANE_OVER) {
            return;
        }
    }
    host->closed = true;
    sim_see(sim, &(struct sight){.type = SIGHT_CLOSE,
                                 .time_ns = sim->now_ns,
                                 .rank = host->rank,
                                 .task = sim->program->task_count,
                                 .code = host->lost});
    host_step(host, &(struct core_event){.type = CORE_EV_CLOSE});
    worker_fill(host);
}

/* Whatever the lanes were about to do, they do not. */
void lane_leave(struct host *host)
{
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        struct sim_thread *state = &host->lanes[lane];
        const struct program_step *step = current(host, lane);
        bool waits = (state->state == LANE_WAITS || state->state == LANE_WOKEN) &&
                     state->snaps == 0;
        state->ticket++; /* calls that are due are off */
        state->cut = MOOT_ERR_CLOSED;
        waits = waits && step != NULL && !host->undone;
        for (uint32_t i = 0; waits && i < step->tasks.count; i++) {
            show_wait(host, lane, step->tasks.items[i], want_of(step), SIGHT_WAITED);
            if (!words_may_tell(host, lane, i)) {
                tell_need(host, lane, step->tasks.items[i], want_of(step),
                          CORE_EV_UNNEED);
            }
        }
        words_end(host, lane);
        state->state = LANE_OVER;
    }
    host->closed = true;
    host->goes_back = host->drains = false;
    sim_moved(host->sim);
    host_step(host, &(struct core_event){.type = CORE_EV_LEAVE});
    worker_give_back(host);
    worker_fill(host);
}

/* --- Steps ------------------------------------------------------------------------ */

/* A program that cannot spawn ends, as soon as this thread has stepped back. */
static bool is_refused(struct host *host)
{
    struct sim *sim = host->sim;
    if (!sim->options.starves || !core_is_short(host->core)) {
        return false;
    }
    sim->report->counts.refused_spawns++;
    heap_push(sim, &(struct event){.time_ns = sim->now_ns,
                                   .kind = EVENT_LEAVE,
                                   .index = host->role});
    return true;
}

static void spawn(struct host *host, uint32_t lane, const struct program_step *step)
{
    const uint32_t task = step->tasks.items[0];
    if (is_refused(host)) {
        return;
    }
    host_register(host, task, lane, false, step);
    uint64_t cancellers = host->sim->program->tasks[task].cancellers;
    if (host->role < 64 && (cancellers >> host->role & 1)) {
        host_step(host, &(struct core_event){.type = CORE_EV_CANCEL,
                                             .hash = host->sim->hashes[task]});
    }
    sim_moved(host->sim);
    next_step(host, lane, 0);
}

static void decline(struct host *host, uint32_t lane, uint32_t task)
{
    struct core_event event = {.type = CORE_EV_DECLINE,
                               .hash = host->sim->hashes[task]};
    host->records[task].declined = true;
    sim_see(host->sim, &(struct sight){.type = SIGHT_DECLINE,
                                       .time_ns = host->sim->now_ns,
                                       .rank = host->rank,
                                       .lane = lane,
                                       .task = task});
    host_step(host, &event);
    if (uses_are_counted(host) && host->task_uses_left[task] > 0) {
        host_name(host, task); /* it is to read another rank's */
    }
    next_step(host, lane, 0);
}

static void cancel(struct host *host, uint32_t lane, uint32_t task)
{
    sim_see(host->sim, &(struct sight){.type = SIGHT_CANCEL,
                                       .time_ns = host->sim->now_ns,
                                       .rank = host->rank,
                                       .lane = lane,
                                       .task = task});
    host_step(host, &(struct core_event){.type = CORE_EV_CANCEL,
                                         .hash = host->sim->hashes[task]});
    next_step(host, lane, 0);
}

/* The state that all ranks have at a step of the program, and one that was flipped has
 * not; each flip is another. */
static moot_hash state_at(const struct host *host, uint64_t step)
{
    const uint64_t words[2] = {random_mix(step + 1),
                               host->flipped ? host->rank + UINT64_C(1) : 0};
    moot_hash hash;
    static_assert(sizeof(words) == sizeof(hash), "the words are the hash");
    memcpy(&hash, words, sizeof(hash));
    return hash;
}

static void sign(struct host *host, uint32_t lane)
{
    const uint32_t every = host->sim->weather.signs;
    const uint64_t step = host->lanes[lane].pc;
    if (every == 0 || lane != 0 || step % every != 0 || step < host->signs_from) {
        return;
    }
    host->signs_from = step + 1;
    strike_at_point(host, CORE_POINT_SIGN);
    if (host->dead) {
        return;
    }
    struct core_event event = {.type = CORE_EV_SIGNATURE, .hash = state_at(host, step)};
    event.u.signature.step = step;
    struct sight sight = host_sight(host, SIGHT_SIGN, host->sim->program->task_count);
    sight.step = step;
    sight.hash = &event.hash;
    sim_see(host->sim, &sight);
    host_step(host, &event);
}

static void take_step(struct host *host, uint32_t lane)
{
    sign(host, lane);
    if (host->dead || host->undone) {
        return;
    }
    const struct program_step *step = current(host, lane);
    if (step == NULL) {
        end_lane(host, lane);
        return;
    }
    if (step->op != PROGRAM_SPAWN) { /* of arrays the core hears at once */
        host_flush(host);
    }
    if (host->undone || disk_asks(host, lane)) {
        return;
    }
    switch (step->op) {
    case PROGRAM_SPAWN:
    case PROGRAM_GROW:
        spawn(host, lane, step);
        break;
    case PROGRAM_DECLINE:
        decline(host, lane, step->tasks.items[0]);
        break;
    case PROGRAM_CANCEL:
        cancel(host, lane, step->tasks.items[0]);
        break;
    case PROGRAM_COMPUTE:
        next_step(host, lane, UINT64_C(1000) * step->pause_us);
        break;
    case PROGRAM_PARK:
        park(host, lane);
        schedule(host, lane, host->sim->now_ns + UINT64_C(1000) * step->pause_us);
        break;
    case PROGRAM_BARRIER:
        enter_barrier(host, lane);
        break;
    case PROGRAM_SNAPSHOT:
        disk_ask(host, lane, 'a', true);
        break;
    case PROGRAM_MEET:
    case PROGRAM_SESSION:
    case PROGRAM_RELOAD:
        boundary_begin(host, lane, step);
        break;
    case PROGRAM_WAIT_ALL:
    case PROGRAM_WAIT_ANY:
    case PROGRAM_FETCH:
    case PROGRAM_POLL:
    default:
        begin_wait(host, lane, step);
        break;
    }
}

void lane_start(struct host *host)
{
    uses_begin(host);
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        lane_stands(host, lane, CORE_LANE_RUNNING);
        schedule(host, lane, host->sim->now_ns + own_code_ns(host));
    }
}

void lane_go_on(struct host *host, uint32_t lane, uint64_t ticket)
{
    struct sim_thread *state = &host->lanes[lane];
    if (ticket != state->ticket || state->state == LANE_OVER) {
        return;
    }
    const struct program_step *step = current(host, lane);
    if (step != NULL && (state->state == LANE_WAITS || state->state == LANE_WOKEN)) {
        end_wait(host, lane, step);
    } else if (state->state == LANE_PARKED) {
        state->state = LANE_RUNS;
        lane_stands(host, lane, CORE_LANE_RUNNING);
        next_step(host, lane, 0);
    } else {
        take_step(host, lane);
    }
}
