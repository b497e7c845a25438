/* trouble.c - carries a storm's faults out.
 *
 * A crash may come in the middle of a step: what the core has put out before the point
 * is on the wire, the rest is not.  A pause holds back whatever would happen at the
 * rank; messages gather in its inbox.  A cut holds back what is sent, as a link layer
 * that resends would: nothing is lost between live members.
 */
#include "world.h"

static bool has(uint64_t set, uint32_t rank) { return (set >> rank & 1) != 0; }

static void show(struct sim *sim, enum sight_type type, uint32_t rank, int32_t code)
{
    sim_see(sim, &(struct sight){.type = type,
                                 .time_ns = sim->now_ns,
                                 .rank = rank,
                                 .peer = UINT32_MAX,
                                 .task = sim->program->task_count,
                                 .code = code});
}

void trouble_schedule(struct sim *sim)
{
    const struct storm *storm = sim->options.storm;
    for (uint32_t i = 0; storm != NULL && i < storm->fault_count; i++)
        if (storm->faults[i].kind != STORM_CRASH_AT)
            heap_push(sim, &(struct event){.time_ns = storm->faults[i].time_ns,
                                           .kind = EVENT_FAULT,
                                           .index = i});
}

/* --- Deaths -------------------------------------------------------------------------
 */

void trouble_crash(struct host *host)
{
    struct sim *sim = host->sim;
    const struct storm *storm = sim->options.storm;
    host->dead = true;
    sim->report->counts.crashes++;
    sim_moved(sim);
    show(sim, SIGHT_CRASH, host->rank, 0);
    for (uint32_t rank = 0; storm->certify && rank < sim->program->rank_count; rank++)
        if (rank != host->rank && storm->hosts[rank] == storm->hosts[host->rank])
            heap_push(sim, &(struct event){
                               .time_ns = sim->now_ns +
                                          random_below(&sim->faults, UINT64_C(500000)),
                               .kind = EVENT_REAP,
                               .rank = rank,
                               .index = host->rank});
}

/* Who does not know the dead rank yet (a newcomer) will be told by its view. */
void trouble_reap(struct host *host, uint32_t dead)
{
    if (host->epoch == 0 || !has(host->members, dead))
        return;
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = dead;
    host_step(host, &event);
}

bool trouble_at_point(struct host *host, enum core_point point)
{
    struct sim *sim = host->sim;
    const struct storm *storm = sim->options.storm;
    uint32_t count = ++host->passed[point];
    for (uint32_t i = 0; storm != NULL && i < storm->fault_count; i++) {
        const struct storm_fault *fault = &storm->faults[i];
        if (fault->kind == STORM_CRASH_AT && fault->point == point &&
            fault->nth == count && has(fault->ranks, host->rank) &&
            sim->now_ns < storm->stop_ns && !sim->fault_done[i]) {
            sim->fault_done[i] = true;
            trouble_crash(host);
            return true;
        }
    }
    return false;
}

/* --- Faults that begin at a time ----------------------------------------------------
 */

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void disturb_links(struct sim *sim, const struct storm_fault *fault)
{
    uint32_t ranks = sim->program->rank_count;
    uint64_t end_ns = fault->time_ns + fault->duration_ns;
    for (uint32_t from = 0; from < ranks; from++)
        for (uint32_t to = 0; to < ranks; to++) {
            struct link *link = &sim->links[from * ranks + to];
            if (!has(fault->ranks, from) || !has(fault->others, to))
                continue;
            if (fault->kind == STORM_CUT) {
                link->cut_until_ns = later(link->cut_until_ns, end_ns);
            } else {
                link->slow_until_ns = end_ns;
                link->slow_ns = fault->delay_ns;
            }
        }
}

/* Newcomers come one after the other, so that each knows its number. */
static void begin_join(struct sim *sim, uint32_t index)
{
    uint32_t rank = sim->options.storm->faults[index].rank;
    bool first = rank == sim->options.storm->first;
    if (!first && sim->hosts[rank - 1].epoch == 0) {
        if (!host_is_over(&sim->hosts[rank - 1]))
            heap_push(sim, &(struct event){.time_ns = sim->now_ns + 100000,
                                           .kind = EVENT_FAULT,
                                           .index = index});
        return;
    }
    host_open(sim, rank);
    host_step(&sim->hosts[rank], &(struct core_event){.type = CORE_EV_TICK});
}

void trouble_begin(struct sim *sim, uint32_t index)
{
    const struct storm_fault *fault = &sim->options.storm->faults[index];
    struct host *host = &sim->hosts[fault->rank];
    bool links = fault->kind == STORM_CUT || fault->kind == STORM_SLOW;
    if (!links && fault->kind != STORM_JOIN && !host_is_there(host))
        return;
    show(sim, SIGHT_FAULT, fault->rank, (int32_t)index);
    switch (fault->kind) {
    case STORM_CRASH:
        trouble_crash(host);
        break;
    case STORM_PAUSE:
        host->paused_until_ns =
            later(host->paused_until_ns, sim->now_ns + fault->duration_ns);
        break;
    case STORM_DEAF:
        host->deaf_until_ns =
            later(host->deaf_until_ns, sim->now_ns + fault->duration_ns);
        break;
    case STORM_JOIN:
        begin_join(sim, index);
        break;
    case STORM_CUT:
    case STORM_SLOW:
    case STORM_CRASH_AT:
    default:
        disturb_links(sim, fault);
        break;
    }
}

/* --- Views and clocks ---------------------------------------------------------------
 */

void trouble_enter_view(struct host *host, uint64_t members)
{
    struct sim *sim = host->sim;
    uint32_t ranks = sim->program->rank_count;
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (has(host->members & ~members, rank) && sim->options.storm->abandon)
            sim->links[host->rank * ranks + rank].void_until_ns = sim->now_ns;
    host->members = members;
}

uint64_t sim_clock_ns(const struct sim *sim, uint32_t rank)
{
    const struct storm *storm = sim->options.storm;
    if (storm == NULL)
        return sim->now_ns;
    int64_t now_ns = (int64_t)sim->now_ns, ppm = storm->drift_ppm[rank];
    int64_t gained_ns = now_ns / 1000000 * ppm + now_ns % 1000000 * ppm / 1000000;
    return (uint64_t)(now_ns + gained_ns) + storm->ahead_ns[rank];
}

uint64_t trouble_clock_ns(const struct host *host)
{
    return sim_clock_ns(host->sim, host->rank);
}

uint64_t trouble_when_ns(const struct host *host, uint64_t clock_ns)
{
    const struct sim *sim = host->sim;
    uint64_t shown_ns = trouble_clock_ns(host);
    if (clock_ns <= shown_ns || clock_ns == CORE_NEVER)
        return clock_ns <= shown_ns ? sim->now_ns : CORE_NEVER;
    uint64_t span_ns = clock_ns - shown_ns;
    int32_t ppm =
        sim->options.storm != NULL ? sim->options.storm->drift_ppm[host->rank] : 0;
    if (ppm != 0) /* a call that comes a little early is armed again */
        span_ns = (uint64_t)((double)span_ns * 1e6 / (1e6 + ppm)) + 1;
    return sim->now_ns + span_ns;
}
