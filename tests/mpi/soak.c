/* soak.c - one diverging program after another in one moot: nothing grows.
 *
 *     soak [SECONDS [SEED [FILE [no-scopes]]]]    a rank of the job; ranks share FILE
 *
 * Each round is a random program of everything that users have (tests/mpi/hostile/
 * chaos.h), drawn from SEED and its number, in a scope of its own, unless there are to
 * be none; its handles are then released.  Queues and groups come and go with
 * it.  Ranks may die: whoever is left goes on.  Every second a rank writes to its
 * standard output how much it has:
 *
 *     soak: rank R, S s, round N: B resident bytes, F files, T threads, M mappings of
 *     shared memory, K tasks known, L ranks lost
 *
 * Three things must be true: no byte is wrong; an error other than of a kernel or a
 * cancel has a death to explain it; and from the second fifth of the time to the last
 * the mean of what a rank has grows by GROWTH_BYTES_MAX at most (results of some
 * megabytes come and go), and its files, threads and mappings not at all, but for
 * MORE_MAX that pass. tests/cli/soak_jobs.sh kills ranks, and puts a new job in the
 * place of one that has few left.
 *
 * Without arguments: five seconds, over a file of the launcher's process.
 */
#include "tests/mpi/hostile/player.h"
#include "tests/mpi/support/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { GROWTH_BYTES_MAX = 32 << 20, MORE_MAX = 1, EXIT_WRONG = 7 };

/* Memory that ranks share: the first that finds the time over says which round is the
 * last. The others may be a round ahead. */
struct soak_end {
    _Atomic uint32_t round;
};

enum level { BYTES, FILES, THREADS, MAPPINGS, LEVEL_END };

/* Sums of so many looks. */
struct levels {
    uint64_t of[LEVEL_END], looks;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    uint32_t count = 0;
    for (; folder != NULL && readdir(folder) != NULL; count++) {
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static uint32_t count_mappings(void)
{
    char line[512];
    uint32_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        count += strstr(line, "/dev/shm/") != NULL || strstr(line, "memfd:") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return count;
}

static int count_task(void *user, const moot_task_info *info)
{
    (void)info;
    ++*(uint64_t *)user;
    return 0;
}

static void measure(struct levels *sums)
{
    sums->of[BYTES] += resident_bytes();
    sums->of[FILES] += count_entries("/proc/self/fd");
    sums->of[THREADS] += count_entries("/proc/self/task");
    sums->of[MAPPINGS] += count_mappings();
    sums->looks++;
}

static void tell(double from_s, uint64_t lost)
{
    struct levels now = {.looks = 0};
    uint64_t known = 0;
    measure(&now);
    (void)moot_tasks_each(player.m, NULL, count_task, &known);
    printf(
        "soak: rank %d, %.0f s, round %u: %llu resident bytes, %llu files, %llu "
        "threads, %llu mappings of shared memory, %llu tasks known, %llu ranks lost\n",
        player.rank, now_s() - from_s, (unsigned)player.round,
        (unsigned long long)now.of[BYTES], (unsigned long long)now.of[FILES],
        (unsigned long long)now.of[THREADS], (unsigned long long)now.of[MAPPINGS],
        (unsigned long long)known, (unsigned long long)lost);
    fflush(stdout);
}

/* --- Rounds ----------------------------------------------------------------------- */

static uint64_t count_lost(void)
{
    moot_stats stats;
    return moot_stats_get(player.m, &stats) == MOOT_OK ? stats.ranks_lost : 0;
}

/* An error of what is lost takes a death, here or before. */
static void judge_round(const struct chaos *chaos, uint64_t lost, uint64_t *ill)
{
    for (uint32_t task = 0; task < chaos->tasks; task++) {
        const struct chaos_end *end = &player.ledger->ends[task][player.rank];
        bool by_itself = end->code == MOOT_OK || end->code == MOOT_ERR_TASK_FAILED ||
                         end->code == MOOT_ERR_CANCELLED;
        bool by_a_death =
            end->code == MOOT_ERR_NOT_HELD || end->code == MOOT_ERR_NO_CANDIDATE ||
            end->code == MOOT_ERR_MAYBE_RAN || end->code == MOOT_ERR_RESULT_LOST;
        *ill += end->seen == 1 && end->code != MOOT_OK;
        if (end->seen == 1 && !by_itself && !(by_a_death && lost > 0)) {
            fprintf(stderr, "soak: rank %d: %s\n", player.rank, end->story);
            player_wrong(task, "ends with an error that no death explains");
        }
    }
}

static void play_round(void)
{
    uint32_t wrong = player.ledger->wrong[player.rank];
    memset(player.ledger, 0, sizeof(*player.ledger));
    player.ledger->wrong[player.rank] = wrong;
    player_draw_round(&player.chaos, player.round);
    player_play(&player.chaos);
}

static double mean_of(const struct levels *sums, enum level level)
{
    return sums->looks > 0 ? (double)sums->of[level] / (double)sums->looks : 0;
}

static bool has_grown(const struct levels *from, const struct levels *to)
{
    bool grown = mean_of(to, BYTES) > mean_of(from, BYTES) + GROWTH_BYTES_MAX;
    for (enum level level = FILES; level < LEVEL_END; level++) {
        grown |= mean_of(to, level) > mean_of(from, level) + MORE_MAX;
    }
    printf("soak: rank %d %s: from %.1f MB, %.1f files, %.1f threads, %.1f mappings to "
           "%.1f MB, %.1f, %.1f, %.1f\n",
           player.rank, grown ? "has grown" : "is level", mean_of(from, BYTES) / 1e6,
           mean_of(from, FILES), mean_of(from, THREADS), mean_of(from, MAPPINGS),
           mean_of(to, BYTES) / 1e6, mean_of(to, FILES), mean_of(to, THREADS),
           mean_of(to, MAPPINGS));
    return grown;
}

static int soak(double seconds, uint64_t seed, struct soak_end *end)
{
    struct levels early = {.looks = 0}, late = {.looks = 0};
    double from_s = now_s(), told_s = from_s;
    uint64_t ill = 0;
    player.seed = seed;
    for (player.round = 1;
         !player.over && (end->round == 0 || player.round < end->round);
         player.round++) {
        play_round();
        judge_round(&player.chaos, count_lost(), &ill);
        double part = (now_s() - from_s) / seconds;
        if (part >= 0.2 && part < 0.4) {
            measure(&early);
        } else if (part >= 0.8) {
            measure(&late);
        }
        if (now_s() - told_s >= 1) {
            tell(from_s, count_lost());
            told_s = now_s();
        }
        uint32_t none = 0;
        if (part >= 1) {
            (void)atomic_compare_exchange_strong(&end->round, &none, player.round + 3);
        }
    }
    tell(from_s, count_lost());
    printf("soak: rank %d ends after %u rounds, %llu tasks with errors\n", player.rank,
           (unsigned)player.round, (unsigned long long)ill);
    if (player.over) {
        player_wrong(0, "it is out");
    }
    return player.ledger->wrong[player.rank] > 0 || has_grown(&early, &late)
               ? EXIT_WRONG
               : 0;
}

static struct soak_end *open_end(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct soak_end)) != 0) {
        return NULL;
    }
    void *place = mmap(NULL, sizeof(struct soak_end), PROT_READ | PROT_WRITE,
                       MAP_SHARED, file, 0);
    close(file);
    return place != MAP_FAILED ? place : NULL;
}

int main(int argc, char **argv)
{
    static struct ledger ledger; /* of a round, and of this rank alone */
    char own[64];
    (void)snprintf(own, sizeof(own), "/tmp/soak-%d", (int)getppid());
    const char *path = argc > 3 ? argv[3] : own;
    struct soak_end *end = open_end(path);
    player.ledger = &ledger;
    player.has_rounds = true;
    player.has_scopes = argc <= 4;
    if (end == NULL || moot_open(NULL, &player.m) != MOOT_OK) {
        fprintf(stderr, "soak: %s: %s\n", path, moot_last_error(NULL));
        return EXIT_WRONG;
    }
    player.rank = moot_rank(player.m);
    if (player_register() != MOOT_OK) {
        return EXIT_WRONG;
    }
    int status = soak(argc > 1 ? strtod(argv[1], NULL) : 5,
                      argc > 2 ? strtoull(argv[2], NULL, 10) : 1, end);
    if (argc <= 3) {
        unlink(path);
    }
    return moot_close(player.m) == MOOT_OK ? status : EXIT_WRONG;
}
