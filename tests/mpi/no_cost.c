/* no_cost.c - ranks that agree pay nothing for the possibility that they might not.
 *
 *   mpirun -n 4 no_cost [--seeds A..B]
 *
 * Random agreeing programs and a tiled wavefront, in which every rank spawns the same
 * tasks in the same order and waits for the same results (of the seeds, those whose
 * programs do so, and leave no task that nobody waits for).  Then, over all ranks:
 *
 *   votes = 0, motions = 0, searches = 0;
 *   results sent = number of pairs (task, rank that must be told of its result), each
 *     sent once and unasked; the pairs are computed here from the program's edges, the
 *     fetches and the chairs;
 *   what else is sent is gossip and polls.  Per rank and peer, gossip is at most
 *
 *     chunks + 2 (1 + T / P)
 *
 *     messages: one for each chunk that the roll is cut into (tasks / 256 on average),
 *     and, while the rank is idle, one partial chunk and one state per gossip period P,
 *     T being the time that the program took.  Rank 0 polls when all seem idle, at most
 *     once per period: 2 (1 + T / P) messages per peer.
 *
 * A rank sends a motion when it has sat idle for the ask delay, and ranks that share a
 * core sit idle while others have it.  So MOOT_ASK_DELAY is raised to a minute here:
 * what is counted is the protocol, not the scheduler.
 */
#include "tests/mpi/support/play.h"
#include "tests/mpi/support/scene.h"

#include "hashing/rollsum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GOSSIP_PERIOD_NS is the runtime's. */
enum { DEADLINE_S = 60, GOSSIP_PERIOD_NS = 2000000, TILES = 12 };

static const char *const KNOBS[] = {"MOOT_ASK_DELAY=1m", NULL};

static uint32_t count_bits(uint64_t word)
{
    uint32_t count = 0;
    for (; word != 0; word &= word - 1) {
        count++;
    }
    return count;
}

static void check_counts(const moot_stats *all, uint64_t pairs, uint64_t chunks,
                         uint64_t took_ns)
{
    uint64_t peers = (uint64_t)harness_size() - 1, ranks = peers + 1;
    uint64_t results = all->results_pushed + all->results_answered;
    uint64_t periods = 1 + took_ns / GOSSIP_PERIOD_NS;
    uint64_t bound = ranks * peers * (chunks + 2 * periods);
    uint64_t other = all->gossip_messages + all->heartbeat_messages;
    uint64_t polls = all->messages_sent - results - other;
    CHECK(all->votes == 0, "%llu votes", (unsigned long long)all->votes);
    CHECK(all->motions == 0, "%llu motions", (unsigned long long)all->motions);
    CHECK(results == pairs && all->results_answered == 0,
          "%llu results pushed and %llu answered, for %llu pairs",
          (unsigned long long)all->results_pushed,
          (unsigned long long)all->results_answered, (unsigned long long)pairs);
    CHECK(all->gossip_messages <= bound, "%llu gossip messages; at most %llu",
          (unsigned long long)all->gossip_messages, (unsigned long long)bound);
    CHECK(all->messages_sent >= results + other && polls <= 2 * peers * periods,
          "%llu messages, of which %llu results and %llu gossip: %llu polls; at most "
          "%llu",
          (unsigned long long)all->messages_sent, (unsigned long long)results,
          (unsigned long long)all->gossip_messages, (unsigned long long)polls,
          (unsigned long long)(2 * peers * periods));
}

/* --- Random agreeing programs ----------------------------------------------------- */

/* Whether every rank waits for the same tasks: a rank that waits for what its owner
 * does not has to ask. */
static bool waits_are_alike(const struct program *program)
{
    const struct program_script *first = program_script(program, 0, 0);
    for (uint32_t rank = 1; rank < program->rank_count; rank++) {
        const struct program_script *script = program_script(program, rank, 0);
        if (script->count != first->count) {
            return false;
        }
        for (uint32_t i = 0; i < script->count; i++) {
            if (script->steps[i].op != first->steps[i].op ||
                (first->steps[i].tasks.count > 0 &&
                 script->steps[i].tasks.items[0] != first->steps[i].tasks.items[0])) {
                return false;
            }
        }
    }
    return true;
}

/* Whether every task is waited for, by a rank or by one that is: what nobody waits for
 * may run as late as in moot_close, after the counting. */
static bool all_is_waited_for(const struct program *program)
{
    bool *waited = harness_alloc(program->task_count, sizeof(*waited));
    const struct program_script *script = program_script(program, 0, 0);
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->steps[i].op == PROGRAM_FETCH) {
            waited[script->steps[i].tasks.items[0]] = true;
        }
    }
    bool all = true;
    for (uint32_t i = program->task_count; i-- > 0;) {
        all = all && waited[i];
        for (uint32_t k = 0; k < program->tasks[i].inputs.count; k++) {
            waited[program->tasks[i].inputs.items[k]] |= waited[i];
        }
    }
    free(waited);
    return all;
}

static uint64_t count_pairs(const struct play *play)
{
    const struct program *program = play->program;
    uint64_t all = UINT64_MAX >> (64 - program->rank_count), pairs = 0;
    uint64_t *told = harness_alloc(program->task_count, sizeof(*told));
    for (uint32_t i = 0; i < program->task_count; i++) {
        for (uint32_t k = 0; k < program->tasks[i].inputs.count; k++) {
            told[program->tasks[i].inputs.items[k]] |= BIT(play_chair(play, i));
        }
    }
    const struct program_script *script = program_script(program, 0, 0);
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->steps[i].op == PROGRAM_FETCH) {
            told[script->steps[i].tasks.items[0]] = all;
        }
    }
    for (uint32_t i = 0; i < program->task_count; i++) {
        pairs += count_bits(told[i] & ~BIT(play_chair(play, i)));
    }
    free(told);
    return pairs;
}

static void look_at_program(struct play *play)
{
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < play->program->task_count; i++) {
        chunks += rollsum_ends_chunk(&play->hashes[i]);
    }
    check_counts(&play->stats, count_pairs(play), chunks,
                 harness_now_ns() - play->begun_ns);
}

static struct program *agreeing_program(uint64_t seed)
{
    /* SKIPS is no feature of agreeing programs, so none is left: pure tasks of small
     * results, whose every destination takes one message. */
    return program_new(&(struct program_options){.seed = seed,
                                                 .ranks = (uint32_t)harness_size(),
                                                 .features = PROGRAM_SKIPS,
                                                 .agree = true});
}

static void run_seed(uint64_t seed)
{
    struct program *program = agreeing_program(seed);
    if (waits_are_alike(program) && all_is_waited_for(program)) {
        char name[160];
        (void)snprintf(name, sizeof(name), "agreeing program %llu",
                       (unsigned long long)seed);
        harness_case_begin(name, DEADLINE_S);
        play_program(program, KNOBS, true, look_at_program);
        harness_case_end();
    }
    program_free(program);
}

/* --- A wavefront ------------------------------------------------------------------ */

/* Tile (i, k) needs its upper and left neighbours; all ranks fetch the last one. */
static void wavefront(void)
{
    uint64_t begun_ns = harness_now_ns();
    struct scene *scene = scene_open(KNOBS);
    uint32_t tiles[TILES][TILES];
    uint64_t told[TILES * TILES] = {0}, pairs = 0, chunks = 0;
    for (uint32_t i = 0; i < TILES; i++) {
        for (uint32_t k = 0; k < TILES; k++) {
            uint32_t inputs[2], count = 0;
            if (i > 0) {
                inputs[count++] = tiles[i - 1][k];
            }
            if (k > 0) {
                inputs[count++] = tiles[i][k - 1];
            }
            tiles[i][k] = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                              .holders = EVERYBODY,
                                                              .inputs = inputs,
                                                              .input_count = count});
            for (uint32_t n = 0; n < count; n++) {
                told[inputs[n]] |= BIT(scene->jobs[tiles[i][k]].chair);
            }
        }
    }
    uint32_t last = tiles[TILES - 1][TILES - 1];
    told[last] = UINT64_MAX >> (64 - scene->size);
    for (uint32_t id = 0; id < scene->job_count; id++) {
        pairs += count_bits(told[id] & ~BIT(scene->jobs[id].chair));
        chunks += rollsum_ends_chunk(&scene->jobs[id].hash);
    }
    scene_spawn_mine(scene);
    scene_expect(scene, last);
    scene_settle(scene);
    check_counts(&scene->stats, pairs, chunks, harness_now_ns() - begun_ns);
    scene_close(scene);
}

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "no_cost");
    uint64_t first = 1, last = 200;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        char *end = NULL;
        first = last = strtoull(argv[2], &end, 10);
        if (strncmp(end, "..", 2) == 0) {
            last = strtoull(end + 2, NULL, 10);
        }
    }
    harness_case_begin("a wavefront of tiles", DEADLINE_S);
    wavefront();
    harness_case_end();
    harness_quiet();
    for (uint64_t seed = first; seed <= last; seed++) {
        run_seed(seed);
    }
    return harness_close();
}
