/* player.c - a rank plays a random program (player.h). */
#include "tests/mpi/hostile/player.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FAR_BEHIND = 2 * CHAOS_REACH };

struct player player;

struct ledger *ledger_open(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct ledger)) != 0) {
        return NULL;
    }
    void *place =
        mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return place != MAP_FAILED ? place : NULL;
}

void player_wrong(uint32_t task, const char *what)
{
    fprintf(stderr, "chaos: WRONG: rank %d, round %u, task %u: %s\n", player.rank,
            (unsigned)player.round, (unsigned)task, what);
    player.ledger->wrong[player.rank]++;
}

void player_note(uint32_t task, int code, uint64_t nonce)
{
    struct chaos_end *end = &player.ledger->ends[task][player.rank];
    int unseen = 0;
    if (!atomic_compare_exchange_strong(&end->seen, &unseen, 2)) {
        return; /* the first word is the one that counts */
    }
    end->code = code;
    end->nonce = nonce;
    if (code != MOOT_OK) {
        (void)snprintf(end->story, sizeof(end->story), "%s", moot_last_error(player.m));
    }
    end->seen = 1;
}

void player_draw_round(struct chaos *chaos, uint32_t round)
{
    *chaos = (struct chaos){.seed = chaos_mix(player.seed) + round,
                            .ranks = (uint32_t)moot_size(player.m),
                            .tasks = CHAOS_TASKS,
                            .off = UINT64_C(1) << CHAOS_HAS_LANES,
                            .memory.rank = -1,
                            .fill.rank = -1};
    chaos_draw_program(chaos);
}

/* --- A program -------------------------------------------------------------------- */

/* A round among others: its tasks are let go of, and no rank is more than one ahead. */
static void end_round(struct strand *strand)
{
    for (uint32_t task = 0; task < strand->chaos->tasks; task++) {
        strand_release(strand, task);
    }
    if (strand->datum.is_open) {
        (void)moot_data_release(player.m, strand->datum.data);
    }
    for (uint32_t i = 0; i < strand->scopes; i++) {
        (void)moot_scope_close(player.m);
    }
    if (!player.over) {
        player.over |= player_is_out(moot_barrier(player.m));
    }
}

static void begin_round(struct strand *strand)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "round %u", (unsigned)player.round);
    if (player.has_scopes && moot_scope_open(player.m, name) == MOOT_OK) {
        strand->scopes++;
    }
}

static pthread_barrier_t lanes_ready;

/* A rank rests when all its lanes wait or have ended, and the moot knows of a lane from
 * its first call on: so none goes on before each has made one. */
static void begin_lane(void)
{
    if (moot_park(player.m) == MOOT_OK) {
        (void)moot_unpark(player.m);
    }
    pthread_barrier_wait(&lanes_ready);
}

static void *run_lane(void *place)
{
    struct strand *strand = place;
    const struct chaos *chaos = strand->chaos;
    if (chaos->lanes > 1) {
        begin_lane();
    }
    if (player.has_rounds) {
        begin_round(strand);
    }
    for (uint32_t task = 0; task < chaos->tasks && !player.over; task++) {
        if (strand->number == 0) {
            strike_at(chaos, player.rank, task);
        }
        strand_before(strand, task);
        strand_meet(strand, task);
        strand_after(strand, task);
        if (chaos->lets_go && task >= FAR_BEHIND) {
            strand_look(strand, task - FAR_BEHIND);
            strand_release(strand, task - FAR_BEHIND);
        }
    }
    strand_close_queues(strand);
    strand_close_groups(strand);
    for (uint32_t task = 0; task < chaos->tasks; task++) {
        strand_look(strand, task);
    }
    if (player.has_rounds) {
        end_round(strand);
    }
    return NULL;
}

void player_play(const struct chaos *chaos)
{
    static struct strand lanes[CHAOS_LANES_MAX];
    pthread_t threads[CHAOS_LANES_MAX];
    uint32_t begun = 0;
    for (uint32_t i = 0; i < chaos->lanes; i++) {
        lanes[i] = (struct strand){.number = i, .chaos = chaos, .scope = -1};
    }
    if (chaos->lanes == 1) {
        (void)run_lane(&lanes[0]);
        return;
    }
    pthread_barrier_init(&lanes_ready, NULL, chaos->lanes);
    /* This thread spawns nothing, so it is no lane, and may wait outside the moot. */
    while (begun < chaos->lanes &&
           pthread_create(&threads[begun], NULL, run_lane, &lanes[begun]) == 0) {
        begun++;
    }
    for (uint32_t i = 0; i < begun; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&lanes_ready);
}
