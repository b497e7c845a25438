/* world_ballots.c - scenes that are about views alone.
 *
 * Agreement on the next view (V1) is Paxos, and safe whatever its timers do and in
 * whatever order its messages come.  So here every order is walked through, of a world
 * that is as small as that: real cores, of which only the messages about views are
 * carried.  There are no heartbeats.  The scene says who suspects whom, who has a lease
 * that has yet to run out, and who knows of whom that it is ready to leave, each of
 * which makes a rank propose another view than its neighbour.
 *
 * Each rank has a clock of its own.  It goes on when a *wait* is played: to the moment
 * at which the rank proposes, gives up, or casts a vote that has had to wait.  So what
 * happens at two ranks is independent, but for messages that are lost.
 *
 * A rank that has entered the scene's last view has done its part, and does nothing
 * more.  The check is I12: whoever says what a view is, or enters it, names the same
 * members.
 */
#include "tests/explore/world_private.h"

#include "consensus/membership/membership.h"
#include "consensus/state/state.h"

/* --- Opening -----------------------------------------------------------------------
 */

/* Nothing but what the scene says makes anybody suspect anyone. */
void ballots_options(const struct scene *scene, struct core_options *options)
{
    assert(scene->ranks <= WORLD_BALLOT_RANKS && scene->ballots <= WORLD_VIEWS);
    options->heartbeat_ns = 100 * BALLOTS_BEGIN_NS;
    options->suspect_ns = BALLOTS_BEGIN_NS / 2;
    options->quorum_wait_ns = CORE_NEVER;
}

static void leave(struct world *world, uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    require(world, host_step(world, rank, &event) == MOOT_OK);
    host_tick(world, rank);
}

static void begin_to_know(struct world *world, uint32_t rank)
{
    struct core *core = world->hosts[rank].core;
    for (uint32_t other = 0; other < world->scene->ranks; other++) {
        if (other == rank) {
            continue;
        }
        struct peer *peer = peer_of(core, other);
        bool suspects = (world->scene->knows[rank].suspects >> other & 1) != 0;
        if (suspects || (world->scene->knows[rank].silent >> other & 1)) {
            peer->heard_ns = 0;
        }
        if (suspects) {
            (void)rankset_add(&core->membership.suspects, other);
        }
        if (world->scene->knows[rank].granted >> other & 1) {
            peer->granted_ns = world->hosts[rank].now_ns;
        }
        for (uint32_t whom = 0; whom < world->scene->ranks; whom++) {
            if ((world->scene->knows[rank].told >> other & 1) &&
                (world->scene->knows[other].suspects >> whom & 1)) {
                (void)rankset_add(&peer->suspects, whom);
            }
        }
    }
    core->membership.entered_ns = 0; /* the leases of the view's beginning are over */
    world->hosts[rank].waits = world->scene->knows[rank].waits;
}

void ballots_open(struct world *world)
{
    const struct scene *scene = world->scene;
    world->losses = scene->losses;
    world->decided[1] = world->hosts[0].members;
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        world->hosts[rank].dead = (scene->dead_first >> rank & 1) != 0;
    }
    world->opening = true;
    for (uint32_t rank = 0; rank < scene->ranks && rank < WORLD_BALLOT_RANKS; rank++) {
        if (scene->knows[rank].ready >> rank & 1) {
            leave(world, rank);
        }
    }
    world_settle(world);
    world->opening = false;
    for (uint32_t rank = 0; rank < scene->ranks; rank++) {
        begin_to_know(world, rank);
        host_tick(world, rank);
        /* Its turn has found a cause, and waits for the moment to propose. */
        struct core_event event = {.type = CORE_EV_TICK};
        (void)host_step(world, rank, &event);
    }
}

/* --- Messages -----------------------------------------------------------------------
 */

bool ballots_carry(struct world *world, uint32_t from, uint32_t to,
                   const struct message *message)
{
    const struct scene *scene = world->scene;
    uint64_t *decided = NULL;
    if (world->hosts[to].certified >> from & 1) {
        return false;
    }
    switch ((int)message->type) {
    case MESSAGE_PREPARE:
    case MESSAGE_PROMISE:
    case MESSAGE_PROPOSE:
    case MESSAGE_VOTED:
    case MESSAGE_REJECT:
        return true;
    case MESSAGE_REPORT:
        return scene->ballots > 1 || scene->solo;
    case MESSAGE_SETTLED:
        return scene->ballots > 1;
    case MESSAGE_LEAVE:
        return world->opening ? (scene->knows[to].ready >> from & 1) != 0
                              : scene->ballots > 1;
    case MESSAGE_VIEW:
        if (message->u.view.epoch < WORLD_VIEWS + 2) {
            decided = &world->decided[message->u.view.epoch];
        }
        if (decided != NULL && *decided == 0) {
            *decided = message->u.view.members->low;
        }
        if (decided != NULL && *decided != message->u.view.members->low &&
            !scene->solo) {
            world_fault(world, "I12: two views of one number are decided");
        }
        return true;
    default:
        return false;
    }
}

/* --- Moves --------------------------------------------------------------------------
 */

uint64_t ballots_moves(const struct world *world)
{
    uint64_t moves = 0;
    for (uint32_t rank = 0; rank < world->scene->ranks; rank++) {
        const struct host *host = &world->hosts[rank];
        if (!host_is_live(host)) {
            continue;
        }
        for (uint32_t from = 0; from < world->scene->ranks; from++) {
            if (world->links[from][rank].count == 0) {
                continue;
            }
            moves |= move_bit(MOVE_DELIVER + from * WORLD_RANKS + rank);
            if (world->losses > 0) {
                moves |= move_bit(MOVE_LOSE + from * WORLD_BALLOT_RANKS + rank);
            }
        }
        if (world->scene->knows[rank].gives_up != 0 && host->certified == 0 &&
            host->core->membership.voted_next) {
            moves |= move_bit(MOVE_CERTIFY + rank);
        }
        if (host->waits > 0 && view_deadline(host->core) != CORE_NEVER) {
            moves |= move_bit(MOVE_WAIT + rank);
        }
    }
    return moves;
}

static uint32_t place_of_move(world_move move)
{
    return move >= MOVE_LOSE ? (move - MOVE_LOSE) % WORLD_BALLOT_RANKS
                             : move % WORLD_RANKS;
}

/* Losses are so many in all. */
bool ballots_independent(world_move a, world_move b)
{
    return place_of_move(a) != place_of_move(b) && (a < MOVE_LOSE || b < MOVE_LOSE);
}

static void wait(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    struct core_event event = {.type = CORE_EV_TICK};
    uint64_t due_ns = view_deadline(host->core);
    host->now_ns = due_ns > host->now_ns ? due_ns : host->now_ns;
    host->waits--;
    (void)host_step(world, rank, &event);
}

/* As certify_silent() does, with MOOT_SPLIT=solo. */
static void give_up(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    struct core_event event = {.type = CORE_EV_TICK};
    struct rankset dead = {.low = world->scene->knows[rank].gives_up};
    host->certified = (uint32_t)dead.low;
    require(world, detector_certify(host->core, &dead)); /* and a step follows */
    host_deafen(world, rank); /* it takes nothing of theirs any more */
    (void)host_step(world, rank, &event);
}

void ballots_play(struct world *world, world_move move)
{
    uint32_t rank = place_of_move(move);
    if (move >= MOVE_LOSE) {
        message_copy_free(
            world_take_first(world, (move - MOVE_LOSE) / WORLD_BALLOT_RANKS, rank));
        world->losses--;
        return;
    }
    if (move >= MOVE_WAIT) {
        wait(world, rank);
    } else if (move >= MOVE_CERTIFY) {
        give_up(world, rank);
    } else {
        world_deliver(world, move / WORLD_RANKS, rank);
    }
    host_tick(world, rank);
    core_hold(world->hosts[rank].core);
    world_check(world);
    if (world->hosts[rank].epoch > world->scene->ballots && !world->scene->solo &&
        host_is_live(&world->hosts[rank])) {
        world_end_host(world, rank);
    }
}

/* --- Looking ------------------------------------------------------------------------
 */

void ballots_check(struct world *world)
{
    for (uint32_t i = 0; i < world->scene->ranks && !world->scene->solo; i++) {
        const struct host *host = &world->hosts[i];
        if (host->epoch >= WORLD_VIEWS + 2) {
            continue;
        }
        uint64_t *decided = &world->decided[host->epoch];
        *decided = *decided == 0 ? host->members : *decided;
        if (*decided != host->members) {
            world_fault(world, "I12: two views of one number are entered");
        }
    }
}

void ballots_tell(const struct world *world, world_move move, FILE *out)
{
    uint32_t rank = place_of_move(move);
    if (move >= MOVE_LOSE) {
        uint32_t from = (move - MOVE_LOSE) / WORLD_BALLOT_RANKS;
        fprintf(out, "%s from rank %u to rank %u is lost\n",
                message_type_name(world->links[from][rank].items[0].message->type),
                (unsigned)from, (unsigned)rank);
        return;
    }
    const struct host *host = &world->hosts[rank];
    if (move < MOVE_WAIT) {
        fprintf(out, "rank %u takes those whom it does not hear for dead\n",
                (unsigned)rank);
        return;
    }
    uint64_t due_ns = view_deadline(host->core);
    due_ns = due_ns > BALLOTS_BEGIN_NS ? due_ns - BALLOTS_BEGIN_NS : 0;
    fprintf(out, "rank %u waits, to %.3f ms\n", (unsigned)rank, (double)due_ns / MS);
}
