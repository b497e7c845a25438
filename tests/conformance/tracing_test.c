/* tracing_test.c - which tasks a rank waits for, as its trace tells it.
 *
 * The ranks of a scene write one trace, which is read once the scenes are over.
 */
#include "node/tools/trace_data.h"
#include "tests/conformance/kernels.h"

enum { FOUND = 3 };
static char directory[] = "/tmp/moot-tracing-XXXXXX", knob[64];
static const char *const traced[] = {knob, NULL};

/* Rank 0 spawns three tasks; rank 1 knows only their hashes. */
static void waits_for_what_it_found(struct seat *seat)
{
    moot_task tasks[FOUND];
    for (uint64_t i = 0; i < FOUND; i++) {
        const moot_hash hash = hash_u64(seat, SQUARE, 80 + i);
        if (seat->rank == 0) {
            tasks[i] = spawn_u64(seat, SQUARE, 80 + i);
        } else {
            EXPECT(seat, moot_task_find(seat->m, &hash, &tasks[i]), MOOT_OK);
        }
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, FOUND, MOOT_FOREVER), MOOT_OK);
    meet(seat);
}

static const struct scene scenes[] = {
    SCENE(waits_for_what_it_found, .sizes = {2}, .knobs = traced),
};

/* The longest wait of the rank: the tasks behind its first that it had not spawned. */
static uint32_t found_most(const struct trace_rank *rank)
{
    uint32_t most = 0;
    for (size_t i = 0; i < rank->event_count; i++) {
        const uint32_t found = rank->events[i].found_count;
        most = found > most ? found : most;
    }
    return most;
}

static bool trace_is_right(void)
{
    static struct trace_job trace;
    char story[4300] = "";
    if (!trace_read(directory, &trace, story, sizeof(story))) {
        fprintf(stderr, "no trace: %s\n", story);
        return false;
    }
    const uint32_t spawner = found_most(&trace.ranks[0]);
    const uint32_t finder = found_most(&trace.ranks[1]);
    trace_release(&trace);
    if (spawner != 0 || finder != FOUND - 1) {
        fprintf(stderr, "found are %u and %u tasks, not 0 and %u\n", spawner, finder,
                FOUND - 1);
        return false;
    }
    return true;
}

static void remove_trace(void)
{
    char path[128];
    for (int rank = 0; rank < 2; rank++) {
        snprintf(path, sizeof(path), "%s/rank-%d.trace", directory, rank);
        unlink(path);
    }
    rmdir(directory);
}

int main(int argc, char **argv)
{
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        return 1;
    }
    snprintf(knob, sizeof(knob), "MOOT_TRACE=%s", directory);
    const int status = play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
    const bool right = trace_is_right();
    remove_trace();
    return right ? status : 1;
}
