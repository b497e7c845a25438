/* session_boundary.c - meetings of the program's ranks, and the boundaries of its
 * sessions.
 *
 * A session ends as moot_session_next() ends it (PROTOCOL.md, M7): all come to a first
 * meeting; then who goes leaves, and who stays comes to a second one, whose outcome is
 * the next session's list.  A rank begins that session when all who said at the first
 * that they go are members no more.  Who says so is looked up in the host, where the
 * ranks of a node say it in words.
 *
 * A newcomer asks one rank after the other in which session the moot is, and its
 * program begins there, behind the meetings that were before.  A rank that was not in
 * the first meeting, or is not in the list, has come too late: it asks, too, for the
 * session after its own.  Questions and answers are the host's, and take as long as
 * messages, but no link carries them.
 *
 * Where newcomers are let in at boundaries alone, the second meeting is one.  Who is
 * let in there is told the session that ends, comes to that meeting with the others,
 * and begins the next one by its list.  What was dropped before its time its program
 * does not name.
 *
 * A call that the rank's state ends leaves its program out of step with the others'
 * meetings: where there are sessions, the program ends there.  Who was to go leaves.
 * So does the program of a rank that was to go back, and any wait of it: the others
 * start no kernel until it comes, or has closed.
 */
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_BYTES = 24, WORDS_LONG = 30000, WORDS_RANKS = 32 };
enum { PURPOSE_END = 1001, PURPOSE_LIST };
enum { ASK_NS = 200000, ROUNDS_IN_VAIN = 3 };

uint32_t sim_boundary_purpose(const struct program *program)
{
    return program->sessions > 0 ? PURPOSE_LIST : 0;
}

/* --- Meetings --------------------------------------------------------------------- */

/* A rank's words at a meeting, which its neighbour says, too; to each third it has
 * none, to each fifth they are so long that not all may say as much, but at the end of
 * a session.  Among many it has none: there tests count bytes. */
static size_t words_of(const struct host *host, uint32_t purpose, char *words)
{
    const uint64_t sum = host->rank + host->meetings;
    const int used = snprintf(words, WORDS_BYTES, "%u:%" PRIu64 ";",
                              (unsigned)host->rank / 2, host->meetings);
    if (sum % 3 == 0 || host->sim->program->rank_count > WORDS_RANKS) {
        return 0;
    }
    if (host->meetings % 5 != 4 || purpose >= PURPOSE_END) {
        return (size_t)used;
    }
    memset(words + used, '.', (size_t)(WORDS_LONG - used));
    return WORDS_LONG;
}

static void arrive(struct host *host, uint32_t lane, uint32_t purpose)
{
    host->meets = true;
    host->meetings++;
    struct sight sight = host_sight(host, SIGHT_MEET, host->sim->program->task_count);
    sight.lane = lane;
    sight.meeting = host->meetings;
    sight.code = (int32_t)purpose;
    sight.goes = purpose == PURPOSE_END && host->session.goes;
    char words[WORDS_LONG];
    struct core_event event = {.type = CORE_EV_MEET, .hash = sim_purpose(purpose)};
    event.u.meet.words = sight.data = words;
    event.u.meet.words_size = sight.size = words_of(host, purpose, words);
    sim_see(host->sim, &sight);
    host_step(host, &event);
}

/* A call that the rank's state ends has not met: the next one goes on waiting for the
 * outcome of the same meeting, which may have come meanwhile.  So calls that end with
 * an outcome are counted alike on all ranks. */
static void begin_meet(struct host *host, uint32_t lane, uint32_t purpose)
{
    struct sim_thread *state = &host->lanes[lane];
    state->state = LANE_WAITS;
    state->cut = lane_cut_code(host);
    host->woken |= state->cut != MOOT_OK || host->met;
    if (!host->meets && state->cut == MOOT_OK) {
        host->goes_back = host->goes_back || go_back_is_due(host, &host->back_to);
        arrive(host, lane, host->goes_back ? go_back_purpose(&host->back_to) : purpose);
    }
    if (state->state == LANE_WAITS) {
        lane_stands(host, lane, CORE_LANE_BLOCKED);
    }
    worker_fill(host);
}

static void end_meet(struct host *host)
{
    host->meets &= !host->met;
    host->met = false;
}

void boundary_begin(struct host *host, uint32_t lane, const struct program_step *step)
{
    const bool ends = step->op == PROGRAM_SESSION;
    if (step->op == PROGRAM_RELOAD) {
        host->goes_back = !host->meets && go_back_is_written(host, &host->back_to);
        if (!host->goes_back) {
            lane_next_step(host, lane);
            return;
        }
    }
    if (host->session.phase == SESSION_MEETS) { /* it was let in there */
        begin_meet(host, lane, PURPOSE_LIST);
        return;
    }
    if (ends) {
        host->session.phase = SESSION_ENDS;
        host->session.goes = step->leaves;
    }
    begin_meet(host, lane, ends ? PURPOSE_END : step->purpose);
}

/* --- The next session ------------------------------------------------------------- */

static bool others_are_gone(const struct host *host)
{
    FOR_RANKS(rank, &host->session.ended)
    {
        const bool goes = host->sim->hosts[rank].session.goes;
        if (goes && rankset_has(&host->members, rank) &&
            !rankset_has(&host->came, rank)) {
            return false;
        }
    }
    return true;
}

bool boundary_is_over(const struct host *host)
{
    return host->session.phase == SESSION_ALONE  ? others_are_gone(host)
           : host->session.phase == SESSION_ASKS ? !host->session.asks
                                                 : host->met;
}

/* Where the session begins in this rank's script; behind it, if it does not come so
 * far.  Programs that went back have begun it anew in a later one. */
static uint32_t place_of(const struct host *host, uint64_t session)
{
    const struct program_script *script =
        program_script(host->sim->program, host->role, 0);
    uint64_t number = 1 + go_back_sessions(host);
    uint32_t at = 0;
    for (; at < script->count && number < session; at++) {
        number += script->steps[at].op == PROGRAM_SESSION;
    }
    return number < session ? script->count : at;
}

/* Its script goes as far as the end of that session. */
static bool ends_session(const struct host *host, uint64_t session)
{
    const struct program_script *script =
        program_script(host->sim->program, host->role, 0);
    const uint32_t at = place_of(host, session + 1);
    return at > 0 && script->steps[at - 1].op == PROGRAM_SESSION;
}

static void show_session(struct host *host, const struct rankset *list)
{
    struct sim *sim = host->sim;
    struct sight sight = host_sight(host, SIGHT_SESSION, sim->program->task_count);
    sight.meeting = host->session.number;
    sight.members = list;
    sight.code = list == NULL;
    sight.epoch = host->epoch;
    sim_see(sim, &sight);
    if (list != NULL && host->session.number > sim->newest_session) {
        sim->newest_session = host->session.number;
        sim->report->counts.boundaries++;
    }
}

static void begin_session(struct host *host)
{
    struct rankset list = {0};
    ranks_copy(&list, &host->came);
    if (rankset_count(&list) > 1 && sim_canary(host->sim, SIM_CANARY_OTHER_LIST)) {
        rankset_remove(&list, rankset_at(&list, rankset_count(&list) - 1));
    }
    host->session.phase = SESSION_RUNS;
    host->session.number++;
    host->session.met = host->meetings;
    show_session(host, &list);
    rankset_release(&list);
}

static void wait_for(struct host *host, uint32_t lane, enum session_phase phase)
{
    struct sim_thread *state = &host->lanes[lane];
    host->session.phase = phase;
    state->state = LANE_WAITS;
    state->cut = lane_cut_code(host);
    host->woken |= state->cut != MOOT_OK || boundary_is_over(host);
    lane_stands(host, lane, CORE_LANE_BLOCKED);
    worker_fill(host);
}

static void leave(struct host *host)
{
    struct sight sight = host_sight(host, SIGHT_LEAVE, host->sim->program->task_count);
    sim_see(host->sim, &sight);
    host->sim->report->counts.boundary_left++;
    host->session.gone = true;
    host->session.phase = SESSION_RUNS;
    lane_leave(host);
}

/* The first meeting is over. */
static void end_session(struct host *host, uint32_t lane,
                        const struct program_step *step)
{
    ranks_copy(&host->session.ended, &host->came);
    if (step->leaves) {
        leave(host);
        return;
    }
    host->session.phase = SESSION_MEETS;
    begin_meet(host, lane, PURPOSE_LIST);
}

/* The second. */
static void take_list(struct host *host, uint32_t lane)
{
    if (rankset_has(&host->session.ended, host->rank) &&
        rankset_has(&host->came, host->rank)) {
        if (!others_are_gone(host) && sim_canary(host->sim, SIM_CANARY_EARLY_SESSION)) {
            rankset_release(&host->session.ended);
        }
        wait_for(host, lane, SESSION_ALONE);
        return;
    }
    boundary_ask(host);
    wait_for(host, lane, SESSION_ASKS);
}

/* Whether the program is out of step, or the moot without its newcomer. */
static bool is_cut(const struct host *host, uint32_t lane)
{
    return host->lanes[lane].cut != MOOT_OK && host->sim->program->sessions > 0;
}

static void go_on_session(struct host *host, uint32_t lane,
                          const struct program_step *step)
{
    switch (host->session.phase) {
    case SESSION_ENDS:
        end_meet(host);
        end_session(host, lane, step);
        break;
    case SESSION_MEETS:
        end_meet(host);
        take_list(host, lane);
        break;
    case SESSION_ALONE:
        begin_session(host);
        lane_next_step(host, lane);
        break;
    case SESSION_ASKS:
        host->session.phase = SESSION_RUNS;
        lane_skip(host, lane, place_of(host, host->session.number));
        break;
    case SESSION_RUNS:
    default:
        abort();
    }
}

/* The first meeting of a reload is over, or the second in vain.  True: the lane comes
 * to the second. */
static bool goes_back(struct host *host, uint32_t lane)
{
    struct sim_thread *state = &host->lanes[lane];
    const bool comes =
        host->goes_back && !host->drains && host->met && host->met_code == MOOT_OK;
    const bool drained = host->drains;
    host->goes_back = host->drains = false;
    if (drained) {
        worker_fill(host);
    }
    if (!comes) {
        return false;
    }
    end_meet(host);
    state->state = LANE_WAITS;
    state->cut = lane_cut_code(host);
    host->goes_back = true;
    go_back_come(host, lane);
    if (host_goes_on(host) && state->state == LANE_WAITS) {
        lane_stands(host, lane, CORE_LANE_BLOCKED);
    }
    return true;
}

/* As moot_open() has it: a context that has lost the majority, or the agreement, ends
 * every wait with that from then on. */
static void lose(struct host *host, uint32_t lane)
{
    host->lost = host->lanes[lane].cut;
    host->goes_back = host->drains = false;
    lane_cut(host, host->lost);
    worker_fill(host);
    lane_skip(host, lane, UINT32_MAX);
}

void boundary_go_on(struct host *host, uint32_t lane, const struct program_step *step)
{
    if (host->goes_back && host->lanes[lane].cut != MOOT_OK) {
        lose(host, lane);
        return;
    }
    if (step->op != PROGRAM_SESSION && goes_back(host, lane)) {
        return;
    }
    if (is_cut(host, lane) && step->op == PROGRAM_SESSION && step->leaves) {
        leave(host);
    } else if (is_cut(host, lane)) {
        host->session.phase = SESSION_RUNS;
        host->session.asks = false;
        lane_skip(host, lane, UINT32_MAX);
    } else if (step->op != PROGRAM_SESSION) {
        end_meet(host);
        lane_next_step(host, lane);
    } else {
        go_on_session(host, lane, step);
    }
}

/* --- Programs without sessions ---------------------------------------------------- */

/* The step at which a script comes to its n-th meeting; its end, if it does not. */
static uint32_t step_of_meeting(const struct program_script *script, uint64_t number)
{
    for (uint32_t at = 0; at < script->count; at++) {
        number -= script->steps[at].op == PROGRAM_MEET;
        if (number == 0) {
            return at;
        }
    }
    return script->count;
}

static bool stands_at(const struct host *host, const struct host *other,
                      uint64_t number)
{
    return other->meets && other->meetings == number &&
           other->generation == host->generation;
}

static uint32_t count_at(const struct host *host, uint64_t number, bool members)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < host->sim->host_count; rank++) {
        count += stands_at(host, &host->sim->hosts[rank], number) &&
                 rankset_has(&host->members, rank) == members;
    }
    return count;
}

/* The meeting at which most of these stand; 0: none do.  Among many one that is cut off
 * may be at the one before, or have gone on alone. */
static uint64_t meeting_of(const struct host *host, bool members)
{
    uint64_t best = 0;
    for (uint32_t rank = 0; rank < host->sim->host_count; rank++) {
        const uint64_t number = host->sim->hosts[rank].meetings;
        const uint32_t count = count_at(host, number, members);
        if (count > 0 && (best == 0 || count > count_at(host, best, members))) {
            best = number;
        }
    }
    return best;
}

/* One that has come to the meeting; `number` 0: to the last that there was. */
static const struct host *who_came(const struct host *host, uint64_t number)
{
    const struct host *guide = NULL;
    for (uint32_t rank = 0; rank < host->sim->host_count; rank++) {
        const struct host *other = &host->sim->hosts[rank];
        const bool later = other->generation == host->generation &&
                           (guide == NULL || other->meetings > guide->meetings);
        guide = (number == 0 ? later : stands_at(host, other, number)) ? other : guide;
    }
    return guide;
}

/* The meeting of its script that it has come to. */
static uint32_t written_meeting(const struct host *host)
{
    const struct program_script *script =
        program_script(host->sim->program, host->role, 0);
    uint32_t count = 0;
    for (uint32_t at = 0; at < script->count && at <= host->lanes[0].pc; at++) {
        const bool is_there = at < host->lanes[0].pc || host->meets;
        count += script->steps[at].op == PROGRAM_MEET && is_there;
    }
    return count;
}

/* In strict mode, and where all may go back, its program begins at the meeting that
 * lets it in, as that of a session would.  Who stood there may have died since; among
 * many the meeting may be over, and then it begins behind. */
void boundary_come_in(struct host *host)
{
    const struct sim *sim = host->sim;
    const struct storm *storm = sim->options.storm;
    const bool begins_there =
        sim->weather.mode == CORE_STRICT || sim->weather.reloads_per_mille > 0;
    if (!begins_there || storm == NULL || !storm->boundary) {
        return;
    }
    uint64_t number = meeting_of(host, true);
    number = number > 0 ? number : meeting_of(host, false);
    const bool over = number == 0;
    const struct host *guide = who_came(host, number);
    if (guide == NULL || guide->meetings == 0) {
        abort(); /* somebody stands where newcomers are let in */
    }
    host->meetings = over ? guide->meetings : number - 1;
    core_meet_from(host->core, host->meetings);
    const struct program_script *script = program_script(sim->program, host->role, 0);
    const uint32_t at = step_of_meeting(script, written_meeting(guide));
    host->lanes[0].pc = over && at < script->count ? at + 1 : at;
    host_step(host, &(struct core_event){.type = CORE_EV_TICK});
}

/* --- In which session the moot is ------------------------------------------------- */

bool boundary_is_somewhere(const struct sim *sim)
{
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        if (host_is_there(&sim->hosts[rank]) &&
            sim->hosts[rank].session.phase != SESSION_RUNS) {
            return true;
        }
    }
    return false;
}

static void schedule(struct host *host, enum event_kind kind, uint64_t delay_ns,
                     uint32_t number, uint64_t met)
{
    heap_push(host->sim, &(struct event){.time_ns = host->sim->now_ns + delay_ns,
                                         .kind = kind,
                                         .rank = host->rank,
                                         .index = number,
                                         .ticket = met});
}

void boundary_ask(struct host *host)
{
    host->session.asks = true;
    host->session.rounds = 0;
    rankset_release(&host->session.unknowing);
    schedule(host, EVENT_ASK, host->sim->weather.latency_ns, 0, 0);
}

static bool may_know(const struct host *host, uint32_t rank)
{
    return rank != host->rank && rankset_has(&host->members, rank) &&
           host_is_there(&host->sim->hosts[rank]);
}

/* Members answer one after the other. */
static uint32_t next_to_ask(struct host *host)
{
    const uint32_t count = host->sim->host_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t rank = (host->session.asked + i) % count;
        if (may_know(host, rank)) {
            host->session.asked = rank + 1;
            return rank;
        }
    }
    return UINT32_MAX;
}

static bool nobody_knows(const struct host *host)
{
    for (uint32_t rank = 0; rank < host->sim->host_count; rank++) {
        if (may_know(host, rank) && !rankset_has(&host->session.unknowing, rank)) {
            return false;
        }
    }
    return true;
}

/* The program ends without having begun, or gone on. */
static void give_up(struct host *host)
{
    const bool began = host->session.number > 0;
    host->session.asks = false;
    host->session.phase = SESSION_RUNS;
    for (uint32_t lane = 0; !began && lane < host->sim->program->lane_count; lane++) {
        host->lanes[lane].pc =
            program_script(host->sim->program, host->role, lane)->count;
    }
    if (began) {
        host->lanes[0].cut = MOOT_ERR_CLOSED;
        host->session.phase = SESSION_ASKS;
        lane_settle(host);
    } else {
        lane_start(host);
    }
}

/* A rank whose program has ended begins no session after its own. */
static bool may_tell(const struct host *host, const struct host *other)
{
    const bool too_old = other->closed && other->session.number <= host->session.number;
    return other->session.number > 0 && !other->session.asks && !other->session.gone &&
           !too_old;
}

/* Let in at a boundary: those tell it who stand there. */
static bool is_let_in(const struct host *host)
{
    return host->sim->options.storm->boundary && host->session.number == 0;
}

static bool stands(const struct host *other)
{
    return other->session.phase == SESSION_MEETS && other->meets;
}

void boundary_ask_on(struct host *host)
{
    struct sim *sim = host->sim;
    const uint32_t rank = next_to_ask(host);
    if (!host->session.asks || host->closed) {
        return;
    }
    if (nobody_knows(host)) {
        rankset_release(&host->session.unknowing);
        if (host->session.rounds++ == ROUNDS_IN_VAIN) {
            give_up(host);
            return;
        }
    }
    const struct host *other = rank != UINT32_MAX ? &sim->hosts[rank] : NULL;
    const bool waits = other != NULL && is_let_in(host) && !stands(other) &&
                       !other->closed && may_tell(host, other);
    const bool tells =
        other != NULL && may_tell(host, other) && (!is_let_in(host) || stands(other));
    if (tells) {
        const uint64_t beyond = sim_canary(sim, SIM_CANARY_LATER_SESSION);
        rankset_release(&host->session.unknowing);
        schedule(host, EVENT_TOLD, sim->weather.latency_ns,
                 (uint32_t)(other->session.number + beyond),
                 is_let_in(host) ? other->meetings - 1 : other->session.met);
    } else if (other != NULL && !waits &&
               !rankset_add(&host->session.unknowing, rank)) {
        abort();
    }
    schedule(host, EVENT_ASK, ASK_NS + 2 * sim->weather.latency_ns, 0, 0);
}

/* Its program is at the end of the session, and all else of it behind that. */
static void begin_at_boundary(struct host *host)
{
    const struct program *program = host->sim->program;
    for (uint32_t lane = 1; lane < program->lane_count; lane++) {
        host->lanes[lane].pc = program_script(program, host->role, lane)->count;
    }
    host->lanes[0].pc = place_of(host, host->session.number + 1) - 1;
    host->session.phase = SESSION_MEETS;
    if (!rankset_add(&host->session.ended, host->rank)) {
        abort();
    }
}

void boundary_told(struct host *host, uint64_t number, uint64_t met)
{
    const bool begins = host->session.number == 0, let_in = is_let_in(host);
    if (!host->session.asks || host->closed || number <= host->session.number) {
        return;
    }
    host->session.asks = false;
    host->session.number = number;
    host->session.met = met;
    show_session(host, NULL);
    core_meet_from(host->core, met);
    host->meetings = met;
    if (let_in && ends_session(host, number)) {
        begin_at_boundary(host);
    } else if (begins) {
        host->lanes[0].pc = place_of(host, let_in ? number + 1 : number);
    }
    host_step(host, &(struct core_event){.type = CORE_EV_TICK});
    if (host_is_there(host) && begins) {
        lane_start(host);
    } else if (host_is_there(host)) {
        lane_settle(host);
    }
}
