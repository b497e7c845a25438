/* trouble.c - draws what goes wrong in a program (chaos.h): a fault plan of one rank or
 * two, or of the disk of a checkpoint, and in some cases a rank without memory, a full
 * /dev/shm, or a signal from outside.
 */
#include "tests/mpi/hostile/chaos.h"

#include <string.h>

enum { LONG_PAUSE_MS = 2500, SHORT_PAUSE_MS = 200, OUTSIDE_MS_MAX = 400 };

static void draw_fault(struct dice *dice, struct chaos *chaos, uint32_t victim,
                       bool wanted)
{
    static const char *const points[] = {
        "spawn",        "claim",       "task.start",  "task.end",      "result.sent",
        "result.recv",  "motion.sent", "motion.recv", "decision.recv", "vote.cast",
        "view.propose", "view.enter",  "report.sent", "close"};
    char moment[48];
    const char *comma = chaos->plan[0] != '\0' ? "," : "";
    size_t at = strlen(chaos->plan);
    bool stops = dice_chance(dice, 25);
    bool long_ago = dice_chance(dice, 50) && stops;
    const char *point = points[dice_draw(dice, sizeof(points) / sizeof(points[0]))];
    bool timed = dice_chance(dice, 25);
    uint32_t ms = 1 + dice_draw(dice, 300), nth = 1 + dice_draw(dice, 8);
    if (!wanted) {
        return;
    }
    if (timed) {
        (void)snprintf(moment, sizeof(moment), "%ums", (unsigned)ms);
    } else if (strncmp(point, "view", 4) == 0 || strcmp(point, "close") == 0) {
        (void)snprintf(moment, sizeof(moment), "%s", point);
    } else {
        (void)snprintf(moment, sizeof(moment), "%s#%u", point, (unsigned)nth);
    }
    (void)snprintf(chaos->plan + at, sizeof(chaos->plan) - at, "%s%s:r%u@%s", comma,
                   stops ? "pause" : "kill", (unsigned)victim, moment);
    at = strlen(chaos->plan);
    if (stops) {
        (void)snprintf(chaos->plan + at, sizeof(chaos->plan) - at, "+%dms",
                       long_ago ? LONG_PAUSE_MS : SHORT_PAUSE_MS);
    }
    chaos->paused |= long_ago ? UINT64_C(1) << victim : 0;
    chaos->killed |= stops ? 0 : UINT64_C(1) << victim;
}

/* Another rank than `first`. */
static uint32_t draw_other(struct dice *dice, const struct chaos *chaos, uint32_t first)
{
    uint32_t step = dice_draw(dice, 5040); /* divisible by each number of others */
    return chaos->ranks == 1 ? 0
                             : (first + 1 + step % (chaos->ranks - 1)) % chaos->ranks;
}

/* The rank may map only a little more than it has; its kernels come to it, MPI, and the
 * moot itself. */
static void draw_memory(struct dice *dice, struct chaos *chaos, uint32_t victim)
{
    uint32_t moment = dice_draw(dice, CHAOS_TASKS), kib = dice_draw(dice, 1 << 14);
    bool tight = dice_chance(dice, 30);
    chaos->memory.rank = -1;
    if (chaos_flip(chaos, dice, CHAOS_HAS_MEMORY, 15)) {
        chaos->memory = (struct chaos_blow){
            .rank = (int)victim, .moment = moment, .amount = tight ? 0 : kib << 10};
        chaos->killed |= UINT64_C(1) << victim;
    }
}

static void draw_shm(struct dice *dice, struct chaos *chaos, uint32_t victim)
{
    uint32_t moment = dice_draw(dice, CHAOS_TASKS);
    bool fills = dice_chance(dice, 60);
    uint32_t mib = 1 + dice_draw(dice, 8) * chaos->ranks;
    chaos->fill.rank = -1;
    if (chaos_flip(chaos, dice, CHAOS_HAS_SHM, 12)) {
        chaos->shm_mib = fills ? 256 : mib;
        chaos->fill =
            (struct chaos_blow){.rank = fills ? (int)victim : -1, .moment = moment};
        /* A rank that first touches a page of MPI's own that is not there dies of it.
         */
        chaos->killed = (UINT64_C(1) << chaos->ranks) - 1;
    }
}

static void draw_outside(struct dice *dice, struct chaos *chaos, uint32_t victim)
{
    uint32_t ms = dice_draw(dice, OUTSIDE_MS_MAX);
    bool kills = dice_chance(dice, 60), is_long = dice_chance(dice, 30);
    chaos->outside.rank = -1;
    if (chaos_flip(chaos, dice, CHAOS_HAS_OUTSIDE, 12)) {
        chaos->outside =
            (struct chaos_blow){.rank = (int)victim,
                                .moment = ms,
                                .is_forever = kills,
                                .amount = is_long ? LONG_PAUSE_MS : SHORT_PAUSE_MS};
        chaos->killed |= kills ? UINT64_C(1) << victim : 0;
        chaos->paused |= !kills && is_long ? UINT64_C(1) << victim : 0;
    }
}

static void add_setting(struct chaos *chaos, const char *setting)
{
    size_t at = strlen(chaos->settings);
    (void)snprintf(chaos->settings + at, sizeof(chaos->settings) - at, "%s%s",
                   at > 0 ? " " : "", setting);
}

/* Results are stored, on a disk that may be full, slow, or flip bits.  Once tasks start
 * though it is full: that they do not is another test's. */
static void draw_store(struct dice *dice, struct chaos *chaos)
{
    static const char *const harms[] = {"disk.full:0.3", "disk.slow:0.3:20ms",
                                        "disk.flip:0.3", "disk.slow:5ms/r0"};
    const uint32_t harm = dice_draw(dice, 4);
    const bool harmed = dice_chance(dice, 60);
    const size_t at = strlen(chaos->plan);
    chaos->stores = chaos_flip(chaos, dice, CHAOS_HAS_STORE, 25);
    if (chaos->stores && harmed) {
        (void)snprintf(chaos->plan + at, sizeof(chaos->plan) - at, "%s%s",
                       at > 0 ? "," : "", harms[harm]);
        add_setting(chaos, "MOOT_CHECKPOINT_ONCE=0");
    }
}

void chaos_draw_trouble(struct chaos *chaos)
{
    static const char *const windows[] = {"MOOT_WINDOW=8", "MOOT_WINDOW=16",
                                          "MOOT_WINDOW=8"};
    struct dice dice = chaos_dice(chaos->seed, 1001);
    uint32_t first = dice_draw(&dice, 5040) % chaos->ranks;
    uint32_t second = draw_other(&dice, chaos, first);
    bool two = chaos_flip(chaos, &dice, CHAOS_HAS_SECOND_FAULT, 60) && chaos->ranks > 2;
    bool one = chaos_has(chaos, CHAOS_HAS_FAULT);
    draw_fault(&dice, chaos, first, one);
    draw_fault(&dice, chaos, second, one && two);
    draw_memory(&dice, chaos, draw_other(&dice, chaos, first));
    draw_shm(&dice, chaos, first);
    draw_outside(&dice, chaos, second);
    uint32_t window = dice_draw(&dice, 3), workers = 1 + dice_draw(&dice, 2);
    bool worked = chaos_flip(chaos, &dice, CHAOS_HAS_WORKERS, 30);
    draw_store(&dice, chaos);
    if (chaos->paused != 0) {
        add_setting(chaos, "MOOT_SUSPECT=1s");
    }
    if (chaos->lets_go) {
        add_setting(chaos, windows[window]);
    }
    if (worked) {
        add_setting(chaos, workers == 1 ? "MOOT_THREADS=1" : "MOOT_THREADS=2");
    }
}

void chaos_print_command(const struct chaos *chaos, FILE *to)
{
    if (chaos->memory.rank >= 0) {
        fprintf(to, "memory ");
    }
    if (chaos->shm_mib > 0) {
        fprintf(to, "shm=%u ", (unsigned)chaos->shm_mib);
    }
    if (chaos->stores) {
        fprintf(to, "store ");
    }
    fprintf(to, "-n %u", (unsigned)chaos->ranks);
    if (chaos->plan[0] != '\0') {
        fprintf(to, " --faults %s", chaos->plan);
    }
    fprintf(to, "%s%s\n", chaos->settings[0] != '\0' ? " " : "", chaos->settings);
}
