/* death.c - see death.h. */
#include "node/members/death.h"

#include "node/config/ending.h"
#include "node/tasks/board.h"
#include "node/tasks/task.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(100000000)

enum { RUNS_MAX = BOARD_SEATS, RUNS_TOLD = 4, HOST_BYTES = 65 };

struct death {
    struct text story;
    struct ending ending;
    bool known; /* how it ended */
    uint32_t count;
    struct board_run runs[RUNS_MAX];
};

static bool find_ending(const struct moot *m, uint32_t rank, struct ending *out)
{
    const char *folder = getenv(ENDING_FOLDER);
    return folder != NULL && m->group.processes != NULL &&
           ending_find(folder, (long)m->group.processes[rank].pid, out);
}

bool death_is_told(const struct moot *m, uint32_t rank, uint64_t for_ns)
{
    struct ending ending;
    return for_ns >= PATIENCE_NS || getenv(ENDING_FOLDER) == NULL ||
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
        text_add(story, "%sno kernel", death->known ? " in " : "in ");
    }
    if (story->length > 0 && gethostname(host, sizeof(host) - 1) == 0) {
        text_add(story, ", on host %s", host);
    }
}

void death_note(struct moot *m, uint32_t rank)
{
    const void *board = m->group.boards != NULL ? m->group.boards[rank] : NULL;
    struct death *death = calloc(1, sizeof(*death));
    if (death == NULL) {
        return; /* it goes untold */
    }
    death->known = find_ending(m, rank, &death->ending);
    if (board != NULL) {
        death->count = board_read(board, death->runs, RUNS_MAX);
    }
    tell_death(death, board != NULL);
    m->members.all[rank].death = death;
    m->members.all[rank].story = text_get(&death->story);
}

const char *death_story(const struct moot *m, uint32_t rank)
{
    const struct death *death = m->members.all[rank].death;
    return death != NULL ? text_get(&death->story) : "";
}

void death_release(struct moot *m)
{
    for (uint32_t rank = 0; m->members.all != NULL && rank < m->group.size; rank++) {
        struct death *death = m->members.all[rank].death;
        if (death != NULL) {
            text_release(&death->story);
        }
        free(death);
    }
}
