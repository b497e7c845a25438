/* world_told.c - what is wrong with a world, and what may happen next, in words. */
#include "tests/explore/world_private.h"

/* --- What is wrong ---------------------------------------------------------------- */

void world_fault(struct world *world, const char *what)
{
    if (world->wrong[0] == '\0') {
        (void)snprintf(world->wrong, sizeof(world->wrong), "%s", what);
    }
}

static uint64_t counting_ranks(const struct world *world)
{
    uint64_t newest = 0, members = 0, live = 0;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        const struct host *host = &world->hosts[i];
        if (host->epoch > newest) {
            newest = host->epoch;
            members = host->members;
        }
        live |= (uint64_t)!host->dead << i;
    }
    return members & live;
}

static uint32_t count_bits(uint32_t set)
{
    uint32_t count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

uint64_t world_decided(const struct core *core)
{
    const struct core_stats *stats = core_stats(core);
    uint64_t decided = stats->claimed;
    for (int evidence = 0; evidence < EVIDENCE_END; evidence++) {
        decided += stats->yields[evidence];
    }
    return decided;
}

static void check_quorum(struct world *world, const struct host *host)
{
    if (host_is_live(host) && host->no_quorum &&
        world_decided(host->core) != host->decided) {
        world_fault(world, "V3: a rank without a quorum claims or yields");
    }
}

static void check_task(struct world *world, uint32_t task, uint64_t counting)
{
    uint32_t owner = UINT32_MAX, ran = 0;
    bool well = false, not_held = false, maybe = false, crashed = false;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        const struct host *host = &world->hosts[i];
        if (!(counting >> i & 1)) {
            continue;
        }
        ran += host->tasks[task].ran;
        well |= host->tasks[task].well;
        not_held |= host->tasks[task].verdict == MOOT_ERR_NOT_HELD;
        maybe |= host->tasks[task].verdict == MOOT_ERR_MAYBE_RAN;
        crashed |= host->tasks[task].verdict == MOOT_ERR_CRASHED;
        if (host->tasks[task].kept) {
            if (owner != UINT32_MAX && owner != host->tasks[task].owner) {
                world_fault(world, "I1: results of two owners");
            }
            owner = host->tasks[task].owner;
        }
    }
    if (ran > 1) {
        world_fault(world, "I2: two ranks ran a task");
    }
    if (maybe && world->scene->never_maybe) {
        world_fault(world, "MAYBE_RAN of what nobody can have started");
    }
    if (crashed && count_bits(world->died_of[task]) < world->scene->crashes) {
        world_fault(world, "I23: CRASHED of what too few died of");
    }
    if (well && not_held) {
        world_fault(world, "I15: NOT_HELD of what another has had the end of");
    }
    uint32_t started = world->started[task];
    if (world->scene->tasks[task].once && (started & (started - 1)) != 0) {
        world_fault(world, "I3: a once task started on two ranks");
    }
}

/* Views of those who live: a quorum of which nobody is left may have had a view of its
 * own.
 */
static void check_views(struct world *world)
{
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct host *a = &world->hosts[i], *b = &world->hosts[j];
            if (host_is_live(a) && host_is_live(b) && !world->scene->solo &&
                a->epoch == b->epoch && a->members != b->members) {
                world_fault(world, "I12: two views of one number");
            }
        }
    }
}

/* Members of one view know the same of who came to a meeting: the second of two that
 * end a session says who is in the next. */
static void check_meetings(struct world *world)
{
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct host *a = &world->hosts[i], *b = &world->hosts[j];
            bool together = host_is_live(a) && host_is_live(b) && a->epoch == b->epoch;
            for (int k = 0; together && k < WORLD_MEETINGS; k++) {
                if (a->came[k] != 0 && b->came[k] != 0 && a->came[k] != b->came[k]) {
                    world_fault(world, "I36: two lists of one meeting");
                }
            }
        }
    }
}

void world_check(struct world *world)
{
    if (world->scene->ballots > 0) {
        ballots_check(world);
    }
    check_views(world);
    check_meetings(world);
    uint64_t counting = counting_ranks(world);
    for (uint32_t task = 0; task < world->scene->task_count; task++) {
        check_task(world, task, counting);
    }
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        check_quorum(world, &world->hosts[i]);
        if (core_stats(world->hosts[i].core)->violations != 0) {
            world_fault(world, "a core counts a violation");
        }
    }
}

const char *world_wrong(const struct world *world)
{
    return world->wrong[0] != '\0' ? world->wrong : NULL;
}

static bool is_left_out(const struct world *world)
{
    bool out = false, anybody = false;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        out |= !world->hosts[i].dead && world->hosts[i].epoch == 0;
        anybody |= !world->hosts[i].dead && world->hosts[i].epoch > 0;
    }
    return out && anybody;
}

const char *world_unfinished(const struct world *world)
{
    if (world->scene->in_time && is_left_out(world)) {
        return "I37: who asked before the boundary is not let in there";
    }
    for (uint32_t i = 0; world->scene->ballots == 0 && i < world->scene->ranks; i++) {
        const struct host *host = &world->hosts[i];
        if (!host->dead && !host->over) {
            return host->waits_for != NO_TASK ? "I16: a wait never ends"
                   : host->meets              ? "I16: a meeting never ends"
                   : host->snaps              ? "I16: a snapshot is never answered"
                                              : "I16: the ranks never part";
        }
    }
    return NULL;
}

/* --- In words --------------------------------------------------------------------- */

static char letter(uint32_t task) { return task < NO_TASK ? (char)('a' + task) : '-'; }

static void tell_line(const struct line *line, FILE *out)
{
    static const char *const words[] = {"closes",
                                        "spawns",
                                        "spawns with a hint",
                                        "waits for",
                                        "lets go of",
                                        "declines",
                                        "cancels",
                                        "comes to a meeting",
                                        "asks for a snapshot",
                                        "comes to reload",
                                        "passes a meeting",
                                        "leaves"};
    fprintf(out, "%s", words[line->what]);
    if (line->what != LINE_END && line->what < LINE_MEET) {
        fprintf(out, " %c", letter(line->task));
    }
}

void world_tell(const struct world *world, world_move move, FILE *out)
{
    uint32_t rank = world_rank_of(move);
    fprintf(out, "%2u  ", (unsigned)move);
    if (world->scene->ballots > 0 && move >= MOVE_CERTIFY) {
        ballots_tell(world, move, out);
        return;
    }
    if (move == MOVE_TIME) {
        fprintf(out, "time passes to %.3f ms\n",
                (double)world_next_deadline(world) / MS);
        return;
    }
    if (move == MOVE_HOLD) {
        fprintf(out, "what comes next is held back: ");
        world_tell(world, world_first(world, world_plain_moves(world)), out);
        return;
    }
    const struct host *host = &world->hosts[rank];
    fprintf(out, "rank %u ", (unsigned)rank);
    if (world_is_death(move)) {
        fprintf(out, "dies");
    } else if (move >= MOVE_END) {
        if (host->running_count > 0) {
            fprintf(out, "ends %c", letter(host->running[0]));
        } else {
            fprintf(out, "has written to its disk");
        }
    } else if (move >= MOVE_PROGRAM) {
        tell_line(&world->scene->programs[rank][host->line], out);
    } else if (move >= MOVE_CERTIFY) {
        fprintf(out, "hears that rank %u has ended",
                (unsigned)world_uncertified(world, rank));
    } else {
        const struct message *message =
            world->links[move / WORLD_RANKS][rank].items[0].message;
        fprintf(out, "takes %s", message_type_name(message->type));
        uint32_t task = world_task_of(world, &message->hash);
        if (task != NO_TASK) {
            fprintf(out, " %c", letter(task));
        }
        fprintf(out, " from rank %u", (unsigned)(move / WORLD_RANKS));
    }
    fprintf(out, "\n");
}
