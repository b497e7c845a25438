/* growing.c - see growing.h. */
#include "node/service/growing.h"

#include "node/channel/channel.h"
#include "node/engine/progress.h"
#include "proto/moot_error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 1024 };

struct growing {
    atomic_uint users; /* who asked, and the thread */
    atomic_bool answered;
    uint32_t count, first;
    bool at_boundary; /* they are let in when the session ends */
    int code;
    char story[STORY_BYTES];
};

void growing_leave(struct growing *growing)
{
    if (growing != NULL && atomic_fetch_sub(&growing->users, 1) == 1) {
        free(growing);
    }
}

static void *ask_launcher(void *argument)
{
    struct growing *growing = argument;
    struct channel *channel =
        channel_of_process(growing->story, sizeof(growing->story));
    if (channel != NULL) {
        growing->code = channel_grow(channel, growing->count, &growing->first,
                                     growing->story, sizeof(growing->story));
    } else if (growing->story[0] == '\0') {
        snprintf(
            growing->story, sizeof(growing->story),
            "no ranks join this job: its launcher is none of moot's own; over MPI the "
            "program lets them join, by .grow of moot_session_next and MOOT_MAX");
    }
    const size_t length = strlen(growing->story);
    if (growing->at_boundary && growing->code == MOOT_OK) {
        snprintf(growing->story + length, sizeof(growing->story) - length,
                 "; let in when all ranks end their session");
    }
    atomic_store(&growing->answered, true);
    growing_leave(growing);
    return NULL;
}

struct growing *growing_begin(uint32_t count, bool at_boundary)
{
    struct growing *growing = calloc(1, sizeof(*growing));
    pthread_t thread;
    if (growing == NULL) {
        return NULL;
    }
    growing->count = count;
    growing->at_boundary = at_boundary;
    growing->code = MOOT_ERR_UNSUPPORTED;
    atomic_init(&growing->users, 2);
    atomic_init(&growing->answered, false);
    if (!progress_start_thread(&thread, ask_launcher, growing)) {
        free(growing);
        return NULL;
    }
    (void)pthread_detach(thread);
    return growing;
}

bool growing_answer(const struct growing *growing, int *code, uint32_t *first,
                    const char **story)
{
    if (!atomic_load(&growing->answered)) {
        return false;
    }
    *code = growing->code;
    *first = growing->first;
    *story = growing->story;
    return true;
}
