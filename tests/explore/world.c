/* world.c - see world.h. */
#include "tests/explore/world_private.h"

/* --- Moves ------------------------------------------------------------------------ */

/* A rank that sleeps wakes when all others have ended. */
bool world_sleeps(const struct world *world, uint32_t rank)
{
    bool others = false;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        others |= !(world->scene->asleep >> i & 1) && host_is_live(&world->hosts[i]);
    }
    return (world->scene->asleep >> rank & 1) && others;
}

uint32_t world_first_ranks(const struct world *world)
{
    return world->scene->ranks - world->scene->newcomers;
}

bool host_may_go_on(const struct host *host)
{
    return host_is_live(host) && host->epoch > 0 && !host->at_end &&
           host->waits_for == NO_TASK && !host->meets && !host->snaps;
}

uint64_t world_next_deadline(const struct world *world)
{
    uint64_t next = CORE_NEVER;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        const struct host *host = &world->hosts[i];
        bool acts = host_is_live(host) && !world_sleeps(world, i);
        uint64_t due = acts ? core_deadline(host->core) : CORE_NEVER;
        next = due < next ? due : next;
    }
    return next;
}

/* A newcomer that has not been let in is nobody to this rank, and all are to it. */
static bool is_known(const struct world *world, uint32_t rank, uint32_t other)
{
    const struct host *host = &world->hosts[rank];
    return host->epoch > 0 &&
           (other < world_first_ranks(world) || (host->members >> other & 1) != 0);
}

/* The lowest of those whose end the rank has not heard of; UINT32_MAX: there is none.
 */
uint32_t world_uncertified(const struct world *world, uint32_t rank)
{
    for (uint32_t other = 0; other < world->scene->ranks; other++) {
        if (!host_is_live(&world->hosts[other]) && is_known(world, rank, other) &&
            !((world->hosts[rank].certified | world->scene->uncertain) >> other & 1)) {
            return other;
        }
    }
    return UINT32_MAX;
}

static uint64_t moves_of(const struct world *world, uint32_t rank)
{
    const struct scene *scene = world->scene;
    const struct host *host = &world->hosts[rank];
    uint64_t moves = 0;
    if (world_sleeps(world, rank)) {
        return 0;
    }
    for (uint32_t from = 0; from < scene->ranks; from++) {
        bool stopped = (world->stopped[from] >> rank & 1) != 0 &&
                       host_is_live(&world->hosts[from]);
        if (world->links[from][rank].count > 0 && host_is_live(host) && !stopped) {
            moves |= move_bit(MOVE_DELIVER + from * WORLD_RANKS + rank);
        }
    }
    if (host_is_live(host) && world_uncertified(world, rank) != UINT32_MAX) {
        moves |= move_bit(MOVE_CERTIFY + rank);
    }
    if (host_may_go_on(host)) {
        moves |= move_bit(MOVE_PROGRAM + rank);
    }
    if (host_is_live(host) && (host->running_count > 0 || disk_is_busy(host)) &&
        host->epoch >= scene->kernels_end_in) {
        moves |= move_bit(MOVE_END + rank);
    }
    return moves;
}

world_move world_first(const struct world *world, uint64_t moves)
{
    uint32_t at = 0;
    assert(moves != 0);
    while ((moves & move_bit(world->order[at])) == 0) {
        at++;
    }
    return world->order[at];
}

uint64_t world_plain_moves(const struct world *world)
{
    uint64_t moves = 0;
    for (uint32_t rank = 0; rank < world->scene->ranks; rank++) {
        moves |= moves_of(world, rank);
    }
    return moves;
}

/* The first move is the last from now on. */
static void hold(struct world *world)
{
    world_move first = world_first(world, world_plain_moves(world));
    uint32_t at = 0;
    while (world->order[at] != first) {
        at++;
    }
    memmove(world->order + at, world->order + at + 1, sizeof(world->order) - at - 1);
    world->order[sizeof(world->order) - 1] = (uint8_t)first;
    world->holds--;
}

static bool is_slow(const struct scene *scene, uint32_t move)
{
    if (scene->kernels_end_in > 0 && move >= MOVE_END && move < MOVE_DIE) {
        return true;
    }
    return move < MOVE_CERTIFY && (scene->slow >> move / WORLD_RANKS & 1) != 0;
}

static void order_begin(struct world *world)
{
    uint32_t count = 0;
    for (uint32_t slow = 0; slow < 2; slow++) {
        for (uint32_t i = 0; i < MOVE_DIE; i++) {
            uint32_t move = (i + MOVE_PROGRAM) % MOVE_DIE;
            if (is_slow(world->scene, move) == (slow != 0)) {
                world->order[count++] = (uint8_t)move;
            }
        }
    }
}

uint64_t world_moves(const struct world *world)
{
    const struct scene *scene = world->scene;
    if (scene->ballots > 0) {
        return ballots_moves(world);
    }
    uint64_t moves = world_plain_moves(world), deaths = 0;
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        const struct host *host = &world->hosts[rank];
        bool now = scene->may_die_in == 0 || host->epoch == scene->may_die_in;
        if (world->deaths > 0 && (scene->may_die >> rank & 1) && host_is_live(host) &&
            now) {
            deaths |= move_bit(MOVE_DIE + rank);
        }
    }
    bool late = moves != 0;
    if (late && scene->holds > 0) {
        world_move first = world_first(world, moves);
        bool others = moves != move_bit(first);
        moves =
            move_bit(first) | (others && world->holds > 0 ? move_bit(MOVE_HOLD) : 0);
    }
    if ((!late || world->times > 0) && world_next_deadline(world) != CORE_NEVER) {
        moves |= move_bit(MOVE_TIME);
    }
    return moves != 0 ? moves | deaths : 0;
}

/* Where a move has its effect; beside that it only puts messages behind others. */
uint32_t world_rank_of(world_move move)
{
    return move >= MOVE_TIME ? UINT32_MAX
                             : move % WORLD_RANKS; /* CERTIFY and on begin with 0 */
}

bool world_independent(const struct scene *scene, world_move a, world_move b)
{
    if (scene->ballots > 0) {
        return ballots_independent(a, b);
    }
    return a < MOVE_TIME && b < MOVE_TIME && world_rank_of(a) != world_rank_of(b) &&
           !(world_is_death(a) && world_is_death(b));
}

/* --- Playing ---------------------------------------------------------------------- */

struct message *world_take_first(struct world *world, uint32_t from, uint32_t to)
{
    struct link *link = &world->links[from][to];
    struct message *message = link->items[0].message;
    memmove(link->items, link->items + 1, --link->count * sizeof(*link->items));
    link->items[link->count] = (struct parcel){0};
    return message;
}

/* Rule E, as it can be seen from outside: VIEW, FENCED and JOIN tell of views, and the
 * rest is of the view that its sender was in. */
static bool is_of_another_view(const struct world *world, uint32_t from, uint32_t to)
{
    const struct parcel *parcel = &world->links[from][to].items[0];
    enum message_type type = parcel->message->type;
    return parcel->message->epoch == world->hosts[to].epoch &&
           parcel->members != world->hosts[to].members && type != MESSAGE_VIEW &&
           type != MESSAGE_FENCED && type != MESSAGE_JOIN;
}

void world_deliver(struct world *world, uint32_t from, uint32_t to)
{
    const struct core_stats *stats = core_stats(world->hosts[to].core);
    bool forbidden = is_of_another_view(world, from, to);
    struct message *message = world_take_first(world, from, to);
    uint64_t taken = stats->received[message->type];
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.from = from;
    event.u.recv.uid = world->uids[from];
    event.u.recv.message = message;
    require(world, host_step(world, to, &event) == MOOT_OK);
    if (forbidden && stats->received[message->type] != taken) {
        world_fault(world, "I10: a message of another view of that number is taken");
    }
    message_copy_free(message);
}

static void end_kernel(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    if (host->running_count == 0) {
        disk_write(world, rank);
        return;
    }
    uint32_t task = host->running[0];
    memmove(host->running, host->running + 1,
            --host->running_count * sizeof(host->running[0]));
    host->running[host->running_count] = 0;
    host->tasks[task].kept = true;
    host->tasks[task].owner = rank;
    struct core_event event = {.type = CORE_EV_DONE, .hash = world->hashes[task]};
    event.u.done.size = RESULT_BYTES;
    require(world, host_step(world, rank, &event) == MOOT_OK);
}

/* Its host has seen what it died of. */
static void tell_crash(struct world *world, uint32_t dead, uint32_t rank)
{
    for (uint32_t task = 0; task < world->scene->task_count; task++) {
        if (world->died_of[task] >> dead & 1) {
            struct core_event event = {.type = CORE_EV_CRASH,
                                       .hash = world->hashes[task]};
            event.u.dead.rank = dead;
            (void)host_step(world, rank, &event);
        }
    }
}

static void certify(struct world *world, uint32_t dead, uint32_t rank)
{
    assert(dead < world->scene->ranks);
    tell_crash(world, dead, rank);
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = dead;
    world->hosts[rank].certified |= 1u << dead;
    (void)host_step(world, rank,
                    &event); /* STATE: it may have removed this rank before */
}

static void pass(struct world *world)
{
    uint64_t due = world_next_deadline(world);
    world->times -= world->times > 0 && world_plain_moves(world) != 0;
    world->now_ns = due > world->now_ns ? due : world->now_ns;
    for (uint32_t rank = 0; rank < world->scene->ranks; rank++) {
        world->hosts[rank].now_ns = world->now_ns;
        if (!world_sleeps(world, rank)) {
            host_tick(world, rank);
        }
    }
}

static void kill_host(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    host->dead = true;
    for (uint32_t i = 0; i < host->running_count && world->scene->crashes > 0; i++) {
        world->died_of[host->running[i]] |= 1u << rank;
    }
    host_deafen(world, rank);
}

/* A rank that asks to be let in gives up when nobody is left who could hear it. */
static void end_askers(struct world *world)
{
    bool anybody = false;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        const struct host *host = &world->hosts[i];
        anybody |= host_is_live(host) && host->epoch > 0;
    }
    for (uint32_t i = world_first_ranks(world); i < world->scene->ranks; i++) {
        if (!anybody && host_is_live(&world->hosts[i])) {
            world_end_host(world, i);
        }
    }
}

void world_play(struct world *world, world_move move)
{
    uint32_t rank = world_rank_of(move);
    if (world->scene->ballots > 0) {
        ballots_play(world, move);
        return;
    }
    if (move == MOVE_HOLD) {
        hold(world);
        return;
    }
    if (move == MOVE_TIME) {
        pass(world);
    } else if (world_is_death(move)) {
        world->deaths--;
        kill_host(world, rank);
    } else if (move >= MOVE_END) {
        end_kernel(world, rank);
    } else if (move >= MOVE_PROGRAM) {
        host_play_line(world, rank);
    } else if (move >= MOVE_CERTIFY) {
        certify(world, world_uncertified(world, rank), rank);
    } else {
        world_deliver(world, move / WORLD_RANKS, rank);
    }
    if (move != MOVE_TIME) {
        host_tick(world, rank);
    }
    end_askers(world);
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        if (rank == i || move == MOVE_TIME) {
            core_hold(world->hosts[i].core);
        }
    }
    world_check(world);
}

/* --- Opening ---------------------------------------------------------------------- */

static uint32_t voters_of(const struct scene *scene)
{
    return scene->voters > 0 ? scene->voters : 3;
}

/* Among some of the ranks, too, the task's chair and voters are those of the scene. */
static bool is_drawn(const struct scene *scene, uint32_t task, const moot_hash *hash)
{
    for (uint32_t i = 0; i < WORLD_DRAWN; i++) {
        struct rankset members = {.low = scene->tasks[task].drawn[i].members};
        uint32_t chair = scene->tasks[task].drawn[i].chair;
        if (members.low == 0) {
            continue;
        }
        uint32_t ranks[LIMIT_VOTERS], voters = 0;
        uint32_t count =
            placement_voters(hash, chair, &members, NULL, voters_of(scene), ranks);
        for (uint32_t n = 0; n < count; n++) {
            voters |= 1u << ranks[n];
        }
        if (placement_chair(hash, &members, NULL) != chair ||
            (scene->tasks[task].drawn[i].voters != 0 &&
             scene->tasks[task].drawn[i].voters != voters)) {
            return false;
        }
    }
    return true;
}

static void name_tasks(struct world *world)
{
    const struct scene *scene = world->scene;
    struct rankset members = {.low = (UINT64_C(1) << world_first_ranks(world)) - 1};
    uint64_t number = 0;
    for (uint32_t task = 0; task < scene->task_count; task++) {
        moot_hash *hash = &world->hashes[task];
        unsigned facts =
            (scene->tasks[task].once ? (unsigned)MOOT_HASH_ONCE : 0) |
            (scene->tasks[task].candidates != 0 ? (unsigned)MOOT_HASH_CANDIDATES : 0);
        do {
            number++;
            *hash = digest_bytes(&number, sizeof(number));
            hash->bytes[MOOT_HASH_BYTES - 1] =
                (uint8_t)((hash->bytes[MOOT_HASH_BYTES - 1] &
                           ~(uint32_t)MOOT_HASH_FACTS) |
                          facts);
            if (scene->lot_after > 0) {
                hash->bytes[0] = (uint8_t)((hash->bytes[0] & 0xfe) | (task == 0));
            }
        } while (placement_chair(hash, &members, NULL) != scene->tasks[task].chair ||
                 !is_drawn(scene, task, hash));
    }
}

static void open_host(struct world *world, uint32_t rank)
{
    const struct scene *scene = world->scene;
    const uint32_t first = world_first_ranks(world);
    struct host *host = &world->hosts[rank];
    struct core_options options = {
        .rank = rank,
        .size = first,
        .uids = world->uids,
        .epoch = 1,
        .mode = CORE_REPAIR,
        .voters = voters_of(scene),
        .crashes = scene->crashes,
        .vote_timeout_ns = CORE_NEVER,
        .ask_delay_ns = MS,
        .gossip_period_ns = 2 * MS,
        .heartbeat_ns = scene->detection ? 1000 * (uint64_t)MS : 0,
        .suspect_ns = 6000 * (uint64_t)MS,
        .lease_ns = 4000 * (uint64_t)MS,
        .stagger_ns = 5 * MS,
        .batch_ns = MS / 2,
        .quorum_wait_ns = 10000 * (uint64_t)MS,
        .solo = scene->solo,
        .joinable = scene->joinable || scene->newcomers > 0,
        .boundary = scene->newcomers > 0,
        .drop_above = scene->drop_above,
        .lot_after = scene->lot_after,
        .pass_after = scene->pass_after,
        .chunk_mask = scene->drop_above > 0 ? 1 : 0,
        .entry_bytes = sizeof(struct entry),
    };
    if (scene->ballots > 0) {
        ballots_options(scene, &options);
    }
    host->now_ns = world->now_ns;
    host->waits_for = NO_TASK;
    if (rank >= first) {
        options.join_uid = world->uids[rank];
        options.join_rank = rank;
        options.first_size = first;
    } else {
        host->epoch = 1;
        host->members = (UINT64_C(1) << first) - 1;
    }
    host->core = core_new(&options);
    host_set_lane(world, rank, CORE_LANE_RUNNING);
}

/* The first heartbeats and all else that opening takes: in one order, the same for all.
 */
void world_settle(struct world *world)
{
    for (bool any = true; any;) {
        any = false;
        for (uint32_t from = 0; from < world->scene->ranks; from++) {
            for (uint32_t to = 0; to < world->scene->ranks; to++) {
                while (world->links[from][to].count > 0) {
                    world_deliver(world, from, to);
                    host_tick(world, to);
                    any = true;
                }
            }
        }
    }
}

static bool has_come_to(const struct world *world, const struct opening *opening)
{
    const struct core_stats *stats = core_stats(world->hosts[opening->rank].core);
    if (opening->what == OPENING_LACKS) {
        return world->hosts[opening->rank].no_quorum;
    }
    return opening->what == OPENING_STARTS
               ? (world->started[opening->which] >> opening->rank & 1) != 0
               : stats->received[opening->which] > 0;
}

static void play_opening(struct world *world)
{
    uint64_t resting = 0;
    for (const struct opening *step = world->scene->opening;
         step < world->scene->opening + WORLD_OPENING && step->what != OPENING_END;
         step++) {
        if (step->what == OPENING_DIES) {
            kill_host(world, step->rank);
            continue;
        }
        if (step->what == OPENING_STOPS) {
            world->stopped[step->rank] |= 1u << step->which;
            continue;
        }
        if (step->what == OPENING_PARTS || step->what == OPENING_HEALS) {
            for (uint32_t rank = 0; rank < world->scene->ranks; rank++) {
                world->stopped[rank] = step->what == OPENING_PARTS ? UINT32_MAX : 0;
            }
            continue;
        }
        if (step->what == OPENING_SETTLES) {
            world_settle(world);
            continue;
        }
        if (step->what == OPENING_RESTS) {
            resting |= move_bit(MOVE_PROGRAM + step->rank);
            resting |= move_bit(MOVE_END + step->rank);
            continue;
        }
        for (uint32_t played = 0; !has_come_to(world, step); played++) {
            uint64_t moves = world_plain_moves(world) & ~resting;
            if (played == OPENING_MOVES ||
                (moves == 0 && world_next_deadline(world) == CORE_NEVER)) {
                world_fault(world, "the scene's opening is not come to");
                return;
            }
            world_play(world, moves != 0 ? world_first(world, moves) : MOVE_TIME);
        }
    }
}

static void begin_hosts(struct world *world, uint32_t from, uint32_t to)
{
    struct core_event event = {.type = CORE_EV_TICK};
    for (uint32_t rank = from; rank < to; rank++) {
        (void)host_step(world, rank, &event);
        host_tick(world, rank);
    }
}

struct world *world_open(const struct scene *scene, uint32_t holds)
{
    struct world *world = calloc(1, sizeof(*world));
    world->scene = scene;
    world->now_ns = scene->ballots > 0 ? BALLOTS_BEGIN_NS : MS;
    world->times = scene->times;
    world->deaths = scene->deaths;
    world->holds = holds;
    order_begin(world);
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        world->uids[rank] = 1000 + rank;
    }
    name_tasks(world);
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        open_host(world, rank);
    }
    begin_hosts(world, 0, world_first_ranks(world));
    if (scene->ballots > 0) {
        ballots_open(world);
        return world;
    }
    world_settle(world);
    begin_hosts(world, world_first_ranks(world), scene->ranks);
    for (uint32_t line = 0; line < scene->started; line++) {
        for (uint32_t rank = 0; rank < scene->ranks; rank++) {
            if (host_may_go_on(&world->hosts[rank])) {
                host_play_line(world, rank);
                host_tick(world, rank);
            }
        }
    }
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        if (scene->dead_first >> rank & 1) {
            kill_host(world, rank);
        }
    }
    play_opening(world);
    return world;
}

/* --- Telling states apart --------------------------------------------------------- */

/* Outputs of the last step, pools that stand empty here, and counters that nothing is
 * decided by. */
static size_t blind_parts(const struct core *core, struct arena_blind *blind)
{
    const struct core_stats *stats = &core->stats;
    size_t count = 0;
    blind[count++] = (struct arena_blind){&core->state.out, sizeof(core->state.out)};
    blind[count++] =
        (struct arena_blind){&core->state.memory, sizeof(core->state.memory)};
    blind[count++] = (struct arena_blind){
        stats, (size_t)((const char *)stats->sent - (const char *)stats)};
    blind[count++] = (struct arena_blind){&core->step.ticks, sizeof(core->step.ticks)};
    return count;
}

enum { BLIND_PARTS = 4 };

/* Nothing that a core holds is another's or the world's, and it changes in the core's
 * own steps: most moves leave all cores but one as they are. */
static void digest_core(struct host *host)
{
    struct arena_blind blind[BLIND_PARTS];
    size_t count = blind_parts(host->core, blind);
    if (!host_is_live(host)) {
        host->digest = (struct digest128){1, 1}; /* nothing comes of it any more */
    }
    if (host->digest.high == 0) {
        host->digest = arena_digest(host->core, blind, count);
        host->digest.high |= 1;
    }
}

struct digest128 world_digest(struct world *world)
{
    struct arena_blind blind[WORLD_RANKS];
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        struct host *host = &world->hosts[i];
        digest_core(host);
        blind[i] = (struct arena_blind){&host->core, sizeof(host->core)};
    }
    return arena_digest(world, blind, world->scene->ranks);
}
