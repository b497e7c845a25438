/* death.c - see death.h. */
#include "node/tasks/death.h"

#include "node/config/ending.h"
#include "node/tasks/board.h"
#include "node/tasks/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(100000000)

enum { RUNS_MAX = BOARD_SEATS, RUNS_TOLD = 4, DEATHS_TOLD = 4, HOST_BYTES = 65 };

struct death {
    struct text story;
    struct ending ending;
    bool known;   /* how it ended */
    bool crowded; /* threads of the program may have been in its own code, */
    bool reloads; /* or one was on its way back to a snapshot */
    uint32_t count;
    struct board_run runs[RUNS_MAX];
};

/* Elsewhere the number of its process would mean another one's. */
static bool was_here(const struct moot *m, uint32_t rank)
{
    return m->group.processes != NULL &&
           m->group.hosts[rank] == m->group.hosts[m->group.rank];
}

static bool find_ending(const struct moot *m, uint32_t rank, struct ending *out)
{
    const char *folder = getenv(ENDING_FOLDER);
    return folder != NULL && was_here(m, rank) &&
           ending_find(folder, (long)m->group.processes[rank].pid, out);
}

bool death_has_witness(void) { return getenv(ENDING_FOLDER) != NULL; }

bool death_is_told(const struct moot *m, uint32_t rank, uint64_t for_ns)
{
    struct ending ending;
    return for_ns >= PATIENCE_NS || !death_has_witness() || !was_here(m, rank) ||
           find_ending(m, rank, &ending);
}

static void tell_ending(struct text *story, const struct ending *ending)
{
    if (ending->signal != 0) {
        text_add(story, "of signal %d (%s%s)", ending->signal,
                 strsignal(ending->signal),
                 ending->out_of_memory ? ", for want of memory" : "");
    } else {
        text_add(story, "by %s with status %d",
                 ending->aborted ? "MPI_Abort or _exit" : "exit", ending->status);
    }
}

static void tell_run(struct text *story, const struct board_run *run)
{
    text_add(story, "kernel '%s', ", run->kernel[0] != '\0' ? run->kernel : "?");
    if (run->element > 0) {
        text_add(story, "element %" PRIu64 " of ", run->element - 1);
    }
    task_describe_hash(story, &run->hash);
    if (run->label[0] != '\0') {
        text_add(story, " '%s'", run->label);
    }
    if (run->site[0] != '\0') {
        text_add(story, " (%s)", run->site);
    }
}

static void tell_death(struct death *death, bool shared)
{
    struct text *story = &death->story;
    char host[HOST_BYTES] = "";
    if (death->known) {
        tell_ending(story, &death->ending);
    }
    for (uint32_t i = 0; i < death->count && i < RUNS_TOLD; i++) {
        text_add(story, "%s", i > 0 ? ", or " : death->known ? " in " : "in ");
        tell_run(story, &death->runs[i]);
    }
    if (death->count > RUNS_TOLD) {
        text_add(story, ", or one of %u others", death->count - RUNS_TOLD);
    } else if (shared && death->count == 0) {
        const bool others = board_moots() > 1; /* in whose kernels it may have been */
        text_add(story, "%soutside of %skernels%s", death->known ? " " : "",
                 others ? "this moot's " : "",
                 death->reloads              ? ", in moot_checkpoint_reload"
                 : death->crowded && !others ? ", in the program's own code"
                                             : "");
    }
    if (story->length > 0 && gethostname(host, sizeof(host) - 1) == 0) {
        text_add(story, ", on host %s", host);
    }
}

/* The kernel that called exit(), or was ended for its length, has said so itself; a
 * rank that calls exit() in none was in none that matters. */
static void keep_blamed(struct death *death)
{
    const bool exited = death->known && death->ending.signal == 0;
    for (uint32_t i = 0; i < death->count; i++) {
        if (death->runs[i].blamed) {
            death->runs[0] = death->runs[i];
            death->count = 1;
            return;
        }
    }
    if (exited && !death->ending.aborted) {
        death->count = 0;
    }
}

struct death *death_look(const struct moot *m, uint32_t rank)
{
    const void *board = m->group.boards != NULL ? m->group.boards[rank] : NULL;
    struct death *death = calloc(1, sizeof(*death));
    if (death == NULL) {
        return NULL; /* it goes untold */
    }
    death->known = find_ending(m, rank, &death->ending);
    if (board != NULL) {
        death->count = board_read(board, death->runs, RUNS_MAX);
        death->crowded = board_is_crowded(board);
        death->reloads = board_is_reloading(board);
        keep_blamed(death);
    }
    tell_death(death, board != NULL);
    return death;
}

const char *death_story(const struct death *death)
{
    return death != NULL ? text_get(&death->story) : "";
}

static bool is_certain(const struct death *death)
{
    const struct board_run *run = &death->runs[0];
    return death->count == 1 && (run->blamed || run->alone || !death->crowded);
}

void death_each_culprit(const struct moot *m, uint32_t rank,
                        void (*see)(struct moot *m, uint32_t rank,
                                    const moot_hash *hash, bool perhaps),
                        struct moot *user)
{
    const struct death *death = m->members.all[rank].death;
    if (death == NULL || !death->known || !ending_is_own_fault(&death->ending)) {
        return;
    }
    for (uint32_t i = 0; i < death->count; i++) {
        see(user, rank, &death->runs[i].hash, !is_certain(death));
    }
}

static bool died_in(const struct death *death, const moot_hash *hash)
{
    bool found = false;
    for (uint32_t i = 0; death != NULL && i < death->count; i++) {
        found |= hash_equal(&death->runs[i].hash, hash);
    }
    return found;
}

static bool is_told(const struct death *death) { return *death_story(death) != '\0'; }

/* How many ranks were told of: those that died in that task's kernel, or all if NULL.
 */
static uint32_t add_stories(struct text *text, const struct moot *m,
                            const moot_hash *hash)
{
    uint32_t count = 0, most = hash != NULL ? UINT32_MAX : DEATHS_TOLD;
    for (uint32_t rank = 0; rank < m->group.size && count < most; rank++) {
        const struct death *death = m->members.all[rank].death;
        if (hash != NULL ? died_in(death, hash) : is_told(death)) {
            text_add(text, "\n  rank %u died %s", rank, death_story(death));
            count++;
        }
    }
    return count;
}

void death_add_stories(struct text *text, const struct moot *m, const moot_hash *hash,
                       bool or_others)
{
    if (add_stories(text, m, hash) == 0 && or_others) {
        (void)add_stories(text, m, NULL);
    }
}

void death_free(struct death *death)
{
    if (death != NULL) {
        text_release(&death->story);
    }
    free(death);
}
