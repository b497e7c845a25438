/* context.c - opening a context.
 *
 * Joining is collective, so a rank goes as far as the transport's open even with
 * malformed knobs: rank 0's blob decides for everyone, and carries its failure.
 */
#include "node/context/context.h"

#include "hashing/identity.h"
#include "node/api/close.h"
#include "node/api/context_open.h"
#include "node/api/listing.h"
#include "node/api/wiring.h"
#include "node/checkpoint/checkpoint.h"
#include "node/compose/chain.h"
#include "node/compose/element_find.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/compose/stretch.h"
#include "node/config/ending.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/engine/inbox.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/exit_report.h"
#include "node/explain/holdup.h"
#include "node/explain/report.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/spawn_table.h"
#include "node/explain/usr1.h"
#include "node/faults/faults.h"
#include "node/members/members.h"
#include "node/record/job_clock.h"
#include "node/record/moot_name.h"
#include "node/record/trace.h"
#include "node/reference/reference.h"
#include "node/schedule/self_end.h"
#include "node/schedule/workers.h"
#include "node/service/sigterm.h"
#include "node/service/status_socket.h"
#include "node/session/session.h"
#include "node/spawn/spawn.h"
#include "node/spawn/window.h"
#include "node/tasks/board.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"
#include "node/transport/mpi/mpi.h"
#include "proto/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The durations that `auto` begins with (consensus/state/timers.c). */
#define ASK_DELAY_AUTO_NS UINT64_C(1000000)
#define GOSSIP_PERIOD_NS UINT64_C(2000000)

enum { STORY_BYTES = 1024, SPARE_BYTES = 256 << 10 };

static bool make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

static struct moot *context_new(const moot_options *options)
{
    struct moot *m = calloc(1, sizeof(*m));
    if (m == NULL || !make_condition(&m->engine.changed) ||
        !make_condition(&m->schedule.left_alone) ||
        !make_condition(&m->engine.roused) || !payloads_init(&m->store.payloads)) {
        free(m);
        return NULL;
    }
    m->bond = bond_new(m);
    if (m->bond == NULL) {
        context_free(m);
        return NULL;
    }
    engine_open(m, &wiring);
    report_open(m);
    reports_open(m, options->report, options->report_user);
    return m;
}

/* Rank 0 says these for all; its knobs stand behind them. */
struct common_start {
    struct job_clock clock;
    struct moot_name name;
};

/* Folders of this host, in the place of those that rank 0 was told. */
static void take_own_folder(char knob[KNOB_TEXT_BYTES], const char *variable)
{
    const char *own = getenv(variable);
    if (own != NULL && *own != '\0' && *knob != '\0') {
        (void)snprintf(knob, KNOB_TEXT_BYTES, "%s", own);
    }
}

static int take_blob(struct moot *m, char *story)
{
    const struct transport_group *group = &m->group;
    struct common_start first;
    if (group->blob_size < sizeof(first)) {
        return MOOT_ERR_PROTOCOL;
    }
    memcpy(&first, group->blob, sizeof(first));
    job_clock_take(m, &first.clock,
                   group->hosts == NULL ||
                       group->hosts[group->rank] == group->hosts[0]);
    moot_name_take(m, &first.name);
    const int code = knobs_decode(&m->knobs, (const char *)group->blob + sizeof(first),
                                  group->blob_size - sizeof(first), story, STORY_BYTES);
    if (code == MOOT_OK) {
        take_own_folder(m->knobs.summary, ENDING_SHEETS);
        take_own_folder(m->knobs.trace, ENDING_TRACES);
        kernels_count_builds(&m->tasks.kernels, m->knobs.kernel_by_build != 0);
    }
    return code;
}

static int join_group(struct moot *m, const moot_options *options,
                      transport_open_fn open, void *arg, char *story)
{
    const struct common_start now = {job_clock_read(), moot_name_offer()};
    char blob[sizeof(now) + KNOBS_BLOB_BYTES];
    char *text = blob + sizeof(now);
    struct knobs knobs;
    size_t size;
    knobs_default(&knobs);
    memcpy(blob, &now, sizeof(now));
    if (knobs_load(&knobs, options->knobs, story, STORY_BYTES) == MOOT_OK &&
        faults_check(knobs.faults, story, STORY_BYTES) == MOOT_OK &&
        checkpoint_check(&knobs, story, STORY_BYTES) == MOOT_OK) {
        size = knobs_encode(&knobs, text);
    } else {
        size = knobs_encode_failure(story, text);
    }
    story[0] = '\0';
    struct transport_carrier_options carrier = {.word = knobs.transport,
                                                .open = knobs.seal == KNOB_SEAL_OFF,
                                                .route = knobs.route};
    struct transport_mpi_options mpi = {.most = (uint32_t)knobs.most_ranks};
    if (open == NULL && strcmp(knobs.transport, "mpi") != 0) {
        open = transport_carrier_open;
        arg = &carrier;
    } else if (open == NULL) {
        open = transport_mpi_open;
        arg = &mpi;
    }
    int error = open(arg, blob, sizeof(now) + size, &m->group, &m->transport, story,
                     STORY_BYTES);
    if (error != MOOT_OK) {
        return error;
    }
    if (m->group.size > LIMIT_RANKS) {
        return MOOT_ERR_LIMIT;
    }
    error = take_blob(m, story);
    if (error == MOOT_OK && open != transport_carrier_open &&
        strcmp(m->knobs.route, "mesh") != 0) {
        snprintf(story, STORY_BYTES,
                 "MOOT_ROUTE=%.80s: routes are for a transport of MOOT_TRANSPORT other "
                 "than mpi; leave it at mesh here",
                 m->knobs.route);
        error = MOOT_ERR_CONFIG;
    }
    if (error == MOOT_OK && m->knobs.rings == KNOB_RINGS_OFF &&
        m->transport->ops->go_plain != NULL) {
        m->transport->ops->go_plain(m->transport);
    }
    return error;
}

static int make_core(struct moot *m, char *story)
{
    const struct knobs *knobs = &m->knobs;
    bool ask_auto = knobs->ask_delay_ns == KNOB_AUTO;
    bool vote_auto = knobs->vote_timeout_ns == KNOB_AUTO;
    bool vote_set = !vote_auto && knobs->vote_timeout_ns != KNOB_NEVER;
    const bool founds = m->group.rank < m->group.founders;
    struct core_options options = {
        .rank = m->group.rank,
        .size = founds ? m->group.founders : transport_group_ever(&m->group),
        .joinable = m->group.size > m->group.founders,
        .boundary = session_admits(m),
        .boundary_purpose = session_stay_purpose(),
        .first_size = m->group.founders,
        .join_uid = founds ? 0 : m->group.uids[m->group.rank],
        .join_rank = m->group.rank,
        .join_host = m->group.hosts != NULL ? m->group.hosts[m->group.rank] : 0,
        .uids = m->group.uids,
        .hosts = m->group.hosts,
        .epoch = 1,
        .mode = (enum core_mode)knobs->divergence,
        .voters = (uint32_t)knobs->voters,
        .tree_fanout = (uint32_t)knobs->tree_fanout,
        .direct_max = (uint32_t)knobs->direct_max,
        .crashes = (uint32_t)knobs->crashes,
        .vote_timeout_ns = vote_set ? (uint64_t)knobs->vote_timeout_ns : CORE_NEVER,
        .ask_delay_ns = ask_auto ? ASK_DELAY_AUTO_NS : (uint64_t)knobs->ask_delay_ns,
        .gossip_period_ns = GOSSIP_PERIOD_NS,
        .adapt = (ask_auto ? (uint32_t)CORE_ADAPT_ASK : 0u) |
                 (vote_auto ? (uint32_t)CORE_ADAPT_VOTE : 0u),
        .pages = pool_pages,
        .entry_bytes = sizeof(struct task),
        .spare_bytes = SPARE_BYTES,
        .expand = spawn_expand,
        .expand_context = m,
        .drop_above = window_drop_above((uint64_t)knobs->window, m->group.survives),
        .lot_after = window_lot_after((uint64_t)knobs->window),
        .pass_after = window_pass_after((uint64_t)knobs->window),
        .chunk_mask = window_chunk_mask((uint64_t)knobs->window),
        .notes = (m->faults.plan != NULL ? CORE_NOTES_ALL : 0) |
                 CORE_NOTE(CORE_POINT_VOTE_CAST) | CORE_NOTE(CORE_POINT_DECISION_RECV) |
                 (knobs->trace[0] != '\0' ? TRACE_NOTES : 0)};
    window_open(m);
    int error = members_options(m, &options, story, STORY_BYTES);
    m->core = error == MOOT_OK ? core_new(&options) : NULL;
    return error == MOOT_OK && m->core == NULL ? MOOT_ERR_NO_MEMORY : error;
}

static int make_parts(struct moot *m, char *story)
{
    int error = faults_open(m, story, STORY_BYTES);
    if (error == MOOT_OK) {
        error = checkpoint_open(m, story, STORY_BYTES);
    }
    if (error == MOOT_OK) {
        error = make_core(m, story);
    }
    if (error != MOOT_OK) {
        return error;
    }
    const bool joined = engine_join(m);
    const bool may_ask = inquiry_open(m) && spawn_table_open(m);
    trace_open(m);
    const bool told = board_open(m);
    ending_when_exits(self_end_on_exit);
    const bool sits = session_open(m);
    chain_kernel_init(&m->compose.join_kernel);
    handles_init(&m->tasks.handles, m->group.uids[m->group.rank]);
    const bool lists = listing_begin(m) && reference_begin(m) && reads_begin(m) &&
                       finds_begin(m) && gates_begin(m) && stretches_begin(m) &&
                       founders_begin(m);
    return members_open(m) && joined && may_ask && lists && told && sits
               ? MOOT_OK
               : MOOT_ERR_NO_MEMORY;
}

static void say_caller_mode(struct moot *m)
{
    if (m->group.rank == 0) {
        report_add(m, "moot: MPI was initialised without MPI_THREAD_MULTIPLE, so no "
                      "helper thread moves messages while a rank computes, or blocks "
                      "in MPI, moot_park() or not (MOOT_PROGRESS=caller): wait for "
                      "requests by moot_mpi_wait(); said once\n");
    }
}

static void say_stranger(void *context, const char *name)
{
    struct text *text = context;
    char story[STORY_BYTES];
    (void)knobs_refuse_name(name, story, sizeof(story));
    text_add(text, "moot: environment: %s: IT HAS NO EFFECT\n", story);
}

/* A misspelt variable is no error here, since others may use the prefix, but is told;
 * `moot run` refuses it. */
static void say_strangers(struct moot *m)
{
    struct text text = {0};
    if (m->group.rank == 0) {
        knobs_each_stranger(say_stranger, &text);
    }
    if (text.length > 0) {
        report_add(m, "%s", text_get(&text));
    }
    text_release(&text);
}

/* Room for ranks that join is a matter of MPI, and of those that begin. */
static void say_idle_max(struct moot *m)
{
    const long long most = (long long)m->knobs.most_ranks;
    if (m->group.rank != 0 || most == 0) {
        return;
    }
    if (m->transport->ops->grow_together == NULL) {
        report_add(m,
                   "moot: MOOT_MAX=%lld has no effect: it is for ranks that join over "
                   "MPI; by this transport `moot run --max` lets them\n",
                   most);
    } else if (most < (long long)m->group.founders) {
        report_add(m,
                   "moot: MOOT_MAX=%lld has no effect: it is less than the %u ranks "
                   "that this moot begins with, so none join\n",
                   most, m->group.founders);
    }
}

static bool start_threads(struct moot *m, char *story)
{
    bool helper = m->knobs.progress != KNOB_PROGRESS_CALLER && m->group.size > 1;
    bool workers = m->knobs.threads > 0;
    if (!m->group.threads && (helper || workers)) {
        helper = workers = false;
        say_caller_mode(m);
    }
    atomic_store(&m->engine.driven_ns, engine_look_at_clock(m));
    door_open(m);
    engine_lock(m); /* those that run already tell peers how many there are */
    bool helped = !helper || progress_start_helper(m);
    bool started = helped && (!workers || workers_start(m, (uint32_t)m->knobs.threads));
    if (!started) {
        snprintf(story, STORY_BYTES,
                 "the system gives no thread for %s; raise the limit of processes "
                 "(ulimit -u)",
                 helped ? "a worker (MOOT_THREADS)" : "the helper");
    } else if (!m->engine.helping) {
        lookout_start(m);
    }
    engine_unlock(m);
    return started;
}

static bool is_let_in(const struct moot *m)
{
    return m->members.epoch > 0 || m->engine.fatal != 0;
}

static bool knows_session(const struct moot *m)
{
    return session_is_known(m) || m->engine.fatal != 0;
}

static void drive_until(struct moot *m, bool (*until)(const struct moot *m))
{
    struct idle idle = {0};
    while (!until(m)) {
        if (progress_drive_free(m)) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, CORE_NEVER);
        }
    }
    progress_hand_over(m);
}

/* A newcomer waits until the members let it in, and tell it where they are. */
static int join(struct moot *m, char *story)
{
    if (m->group.rank < m->group.founders) {
        return MOOT_OK;
    }
    engine_lock(m);
    drive_until(m, is_let_in);
    const int finds =
        m->engine.fatal == 0 ? checkpoint_join(m, story, STORY_BYTES) : MOOT_OK;
    if (finds != MOOT_OK) {
        engine_unlock(m);
        return finds;
    }
    if (m->engine.fatal == 0) {
        session_ask(m);
        drive_until(m, knows_session);
    }
    const bool at_boundary =
        m->engine.fatal == 0 && m->session.ending && session_admits(m);
    engine_unlock(m);
    const int stays =
        at_boundary ? moot_session_come_in(m, story, STORY_BYTES) : MOOT_OK;
    if (stays != MOOT_OK) {
        return stays;
    }
    engine_lock(m);
    const int error = m->engine.fatal;
    if (error != 0) {
        snprintf(story, STORY_BYTES, "%s", text_get(&m->engine.fatal_story));
    }
    engine_unlock(m);
    return error;
}

/* Ends the threads of a context that did not get far. */
static void give_up(struct moot *m)
{
    if (m->bond != NULL) {
        engine_lock(m);
        __atomic_store_n(&m->engine.stop, true, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&m->engine.changed);
        engine_unlock(m);
        workers_join(m);
        progress_join_helper(m);
        lookout_join(m);
    }
    context_free(m);
}

int moot_open_transport(const moot_options *options, transport_open_fn open, void *arg,
                        moot **out)
{
    static const moot_options defaults;
    moot_options room;
    if (out == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "moot_open: the output is NULL");
    }
    options = sized_options(options != NULL ? options : &defaults, &room);
    if (options == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "moot_open: " SIZED_REFUSAL(moot_options));
    }
    struct moot *m = hashing_init() ? context_new(options) : NULL;
    if (m == NULL) {
        return thread_fail(MOOT_ERR_NO_MEMORY, "moot_open: no memory");
    }
    char story[STORY_BYTES] = "";
    int error = join_group(m, options, open, arg, story);
    if (error == MOOT_OK) {
        error = make_parts(m, story);
    }
    if (error == MOOT_OK && !start_threads(m, story)) {
        error = MOOT_ERR_NO_MEMORY;
    }
    error = error == MOOT_OK ? join(m, story) : error;
    if (error != MOOT_OK) {
        give_up(m);
        const char *why = story[0] != '\0' ? story : error_text(error);
        ending_refused(why); /* `moot run` tells it, whether or not the program does */
        return thread_fail(error, "moot_open: %s", why);
    }
    usr1_join();
    sigterm_join(m->knobs.grace_ns);
    lane_forget_closed();
    engine_lock(m);
    say_strangers(m);
    say_idle_max(m);
    summary_begin(m, door_path(m));
    faults_begin(m);
    trace_opened(m);
    if (m->group.rank < m->group.founders) {
        trace_session(m); /* a newcomer's was told when it learnt it */
    }
    engine_unlock(m); /* gives out what was queued for the report hook */
    *out = m;
    return MOOT_OK;
}

int moot_open(const moot_options *options, moot **out)
{
    return moot_open_transport(options, NULL, NULL, out);
}
