/* api_meet.c - the public calls to which all ranks come, or in which one asks all. */
#include "node/api/moot.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/api/listing.h"
#include "node/compose/meet_wait.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/tasks/kernel.h"

#include <stdlib.h>
#include <string.h>

/* A rank that has shown its program what all have spawned keeps their lists, should one
 * of those die before others have it, until all have come to the next meeting: then all
 * have been shown the same. */
static moot_task *take_kept(struct moot *m, size_t *count)
{
    moot_task *kept = m->listing.kept;
    *count = m->listing.kept_count;
    m->listing.kept = NULL;
    m->listing.kept_count = 0;
    return kept;
}

static void release_lists(struct moot *m, moot_task *lists, size_t count)
{
    for (size_t i = 0; i < count && lists != NULL; i++) {
        if (lists[i].id != 0) {
            (void)moot_task_release(m, lists[i]);
        }
    }
    free(lists);
}

#define LISTING_REFUSAL                                                                \
    "the context or the function is NULL, or the filter is of another release, or "    \
    "has "                                                                             \
    "texts of more than 510 bytes"

int moot_barrier(moot *m)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_barrier", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const moot_hash purpose = digest_bytes("barrier", strlen("barrier"));
    uint64_t number;
    size_t count = 0;
    int error = meet_wait_run(m, lane, "moot_barrier",
                              &(struct meet_wait){.purpose = &purpose}, &number);
    moot_task *kept = error == MOOT_OK ? take_kept(m, &count) : NULL;
    engine_leave(m);
    release_lists(m, kept, count);
    return error;
}

/* --- What is asked for ------------------------------------------------------------ */

/* The arguments of the library's own tasks.  A filter's texts stand behind. */
struct listing_ask {
    uint64_t number; /* of the meeting, or of the asker's question */
    uint32_t rank;   /* whose list it is */
    uint32_t asker;  /* live */
    uint64_t mark;
    uint32_t states, kernel_bytes, label_bytes; /* live; of texts with their zeros */
    uint32_t reserved;                          /* no padding is hashed */
};

enum { FILTER_BYTES_MAX = 512 };

struct listing_question {
    struct listing_ask ask;
    char texts[FILTER_BYTES_MAX];
};

static size_t question_size(const struct listing_question *question)
{
    return sizeof(question->ask) + question->ask.kernel_bytes +
           question->ask.label_bytes;
}

static bool put_text(struct listing_question *question, uint32_t at, const char *text,
                     uint32_t *bytes)
{
    *bytes = text != NULL ? (uint32_t)strnlen(text, FILTER_BYTES_MAX) + 1 : 0;
    if (at + *bytes > FILTER_BYTES_MAX) {
        return false;
    }
    if (*bytes > 0) {
        memcpy(question->texts + at, text, *bytes);
    }
    return true;
}

static bool put_filter(struct listing_question *question,
                       const moot_task_filter *filter)
{
    struct listing_ask *ask = &question->ask;
    ask->states = filter->states;
    return put_text(question, 0, filter->kernel, &ask->kernel_bytes) &&
           put_text(question, ask->kernel_bytes, filter->label_prefix,
                    &ask->label_bytes);
}

/* The program's filter (NULL: all), which the question then has; NULL: it is refused.
 */
static const moot_task_filter *take_filter(struct listing_question *question,
                                           const moot_task_filter *filter,
                                           moot_task_filter *room)
{
    static const moot_task_filter all;
    filter = sized_filter(filter != NULL ? filter : &all, room);
    return filter != NULL && put_filter(question, filter) ? filter : NULL;
}

static uint64_t scope_mark(const struct lane *lane)
{
    return lane->scope_depth > 0 ? hash_scope_mark(&lane->scopes[lane->scope_depth - 1])
                                 : 0;
}

/* --- What answers ----------------------------------------------------------------- */

static int put_out(moot_call *call, const void *bytes, size_t size)
{
    void *output = moot_call_output(call, size);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, bytes, size);
    return MOOT_OK;
}

/* A copy of what this rank came to the meeting with; it stays until the next. */
static int answer_met(moot_call *call, void *user)
{
    struct moot *m = user;
    struct listing_ask ask;
    size_t size = 0;
    void *copy = NULL;
    memcpy(&ask, moot_call_args(call, &size), sizeof(ask));
    engine_lock(m);
    const struct moot_listing *listing = &m->listing;
    bool is_here = ask.rank == m->group.rank && listing->meeting == ask.number;
    if (is_here) {
        size = listing->size;
        copy = malloc(size + 1);
    }
    if (copy != NULL) {
        memcpy(copy, listing->bytes, size);
    }
    engine_unlock(m);
    if (!is_here) {
        return moot_call_fail(call, MOOT_ERR_STATE, "the list is of another meeting");
    }
    int error = copy != NULL ? put_out(call, copy, size) : MOOT_ERR_NO_MEMORY;
    free(copy);
    return error;
}

static bool question_read(struct listing_question *question, const void *bytes,
                          size_t size)
{
    if (size < sizeof(question->ask) || size > sizeof(*question)) {
        return false;
    }
    memcpy(question, bytes, size);
    const struct listing_ask *ask = &question->ask;
    return ask->kernel_bytes <= FILTER_BYTES_MAX &&
           ask->label_bytes <= FILTER_BYTES_MAX && question_size(question) == size &&
           (ask->kernel_bytes == 0 || question->texts[ask->kernel_bytes - 1] == 0) &&
           (ask->label_bytes == 0 ||
            question->texts[ask->kernel_bytes + ask->label_bytes - 1] == 0);
}

static int answer_live(moot_call *call, void *user)
{
    struct moot *m = user;
    struct listing_question question;
    size_t size = 0;
    const void *args = moot_call_args(call, &size);
    if (!question_read(&question, args, size) || question.ask.rank != m->group.rank) {
        return moot_call_fail(call, MOOT_ERR_STATE, "another rank's list");
    }
    const struct listing_ask *ask = &question.ask;
    const struct listing_scope scope = {
        .mark = ask->mark,
        .filter = {.states = ask->states,
                   .kernel = ask->kernel_bytes > 0 ? question.texts : NULL,
                   .label_prefix = ask->label_bytes > 0
                                       ? question.texts + ask->kernel_bytes
                                       : NULL}};
    engine_lock(m);
    void *bytes = listing_pack(m, &scope, &size);
    engine_unlock(m);
    int error = bytes != NULL ? put_out(call, bytes, size) : MOOT_ERR_NO_MEMORY;
    free(bytes);
    return error;
}

static bool add_kernel(struct moot *m, const moot_kernel *kernel, moot_kernel_id *out)
{
    const struct kernel *added =
        kernel_add_own(&m->tasks.kernels, &m->tasks.handles, kernel);
    out->id = added != NULL ? added->id : 0;
    return added != NULL;
}

bool listing_begin(struct moot *m)
{
    const moot_kernel met = {.name = "moot.tasks.met",
                             .fn = answer_met,
                             .user = m,
                             .flags = MOOT_KERNEL_NONDETERMINISTIC};
    const moot_kernel live = {.name = "moot.tasks.live",
                              .fn = answer_live,
                              .user = m,
                              .flags =
                                  MOOT_KERNEL_NONDETERMINISTIC | MOOT_KERNEL_PORTABLE};
    return add_kernel(m, &met, &m->listing.met) &&
           add_kernel(m, &live, &m->listing.live);
}

/* --- Asking ----------------------------------------------------------------------- */

/* One list for each rank that is asked: a task, and its result once it is here. */
struct listing_asked {
    moot_task *tasks; /* zero: it is gone */
    struct listing_part *parts;
    size_t count;
};

static bool asked_make(struct listing_asked *asked, size_t count)
{
    *asked = (struct listing_asked){.tasks = calloc(count + 1, sizeof(*asked->tasks)),
                                    .parts = calloc(count + 1, sizeof(*asked->parts)),
                                    .count = count};
    return asked->tasks != NULL && asked->parts != NULL;
}

/* A rank that has died is none that has spawned anything, unless somebody has its list.
 */
static int without_the_dead(int code)
{
    return code == MOOT_ERR_NO_CANDIDATE || code == MOOT_ERR_RESULT_LOST ? MOOT_OK
                                                                         : code;
}

/* Asks this rank; that it has died is no error. */
static int ask_rank(struct moot *m, moot_kernel_id kernel,
                    struct listing_question *question, uint32_t rank, moot_task *out)
{
    const int there = session_rank(m, rank);
    if (there < 0) {
        return MOOT_OK; /* it went with a session */
    }
    question->ask.rank = rank;
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = kernel,
                                 .args = question,
                                 .args_size = question_size(question),
                                 .owner = MOOT_ON(there),
                                 .flags = MOOT_TASK_NO_QUEUE};
    return without_the_dead(moot_task_spawn(m, &spec, out));
}

static int fetch_lists(struct moot *m, struct listing_asked *asked)
{
    int code = MOOT_OK;
    for (size_t i = 0; i < asked->count && code == MOOT_OK; i++) {
        if (asked->tasks[i].id != 0) {
            struct listing_part *part = &asked->parts[i];
            code = without_the_dead(moot_task_fetch(m, asked->tasks[i], MOOT_FOREVER,
                                                    &part->data, &part->size));
        }
    }
    return code;
}

/* The caller releases asked->tasks. */
static int ask_all(struct moot *m, moot_kernel_id kernel,
                   struct listing_question *question, const struct rankset *ranks,
                   struct listing_asked *asked)
{
    size_t i = 0;
    int code = asked_make(asked, rankset_count(ranks)) ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    for (uint32_t rank = rankset_next(ranks, 0); code == MOOT_OK && rank != UINT32_MAX;
         rank = rankset_next(ranks, rank + 1)) {
        code = ask_rank(m, kernel, question, rank, &asked->tasks[i++]);
    }
    return code == MOOT_OK ? fetch_lists(m, asked) : code;
}

/* --- Where all ranks come --------------------------------------------------------- */

/* All that is spawned here from now on is of no concern to those who come. */
static int keep_list(struct moot *m, struct lane *lane,
                     const struct listing_question *question,
                     const moot_task_filter *filter)
{
    const struct listing_scope scope = {.mark = question->ask.mark, .filter = *filter};
    size_t size = 0;
    void *bytes = listing_pack(m, &scope, &size);
    if (bytes == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_scope_tasks: no memory");
    }
    free(m->listing.bytes);
    m->listing.bytes = bytes;
    m->listing.size = size;
    m->listing.meeting = m->schedule.meetings.number + 1;
    return MOOT_OK;
}

static int meet_with_list(struct moot *m, struct lane *lane,
                          struct listing_question *question,
                          const moot_task_filter *filter, struct rankset *came)
{
    int error = task_wait_check(m, lane, "moot_scope_tasks", 0);
    if (error == MOOT_OK && m->schedule.meetings.number == m->schedule.meetings.met) {
        error = keep_list(m, lane, question, filter);
    }
    const moot_hash purpose = digest_bytes(question, question_size(question));
    if (error == MOOT_OK) {
        error = meet_wait_run(m, lane, "moot_scope_tasks",
                              &(struct meet_wait){.purpose = &purpose},
                              &question->ask.number);
    }
    if (error == MOOT_OK && !rankset_copy(came, &m->schedule.meetings.came)) {
        error = lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_scope_tasks: no memory");
    }
    return error;
}

static void keep_lists(struct moot *m, struct listing_asked *asked)
{
    size_t before_count = 0;
    engine_lock(m);
    moot_task *before = take_kept(m, &before_count); /* another thread's */
    m->listing.kept = asked->tasks;
    m->listing.kept_count = asked->tasks != NULL ? asked->count : 0;
    engine_unlock(m);
    release_lists(m, before, before_count);
    free(asked->parts);
}

int moot_scope_tasks(moot *m, const moot_task_filter *filter, moot_tasks_fn fn,
                     void *user)
{
    moot_task_filter room;
    struct listing_question question = {0};
    filter = take_filter(&question, filter, &room);
    if (m == NULL || fn == NULL || filter == NULL) {
        return lane_invalid(m, "moot_scope_tasks", LISTING_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct rankset came = {0};
    struct listing_asked asked = {0};
    size_t kept_count = 0;
    question.ask.mark = scope_mark(lane);
    int code = meet_with_list(m, lane, &question, filter, &came);
    moot_task *kept = code == MOOT_OK ? take_kept(m, &kept_count) : NULL;
    engine_leave(m);
    release_lists(m, kept, kept_count);
    /* The filter has done its work: each rank has listed what it admits. */
    question.ask.states = question.ask.kernel_bytes = question.ask.label_bytes = 0;
    if (code == MOOT_OK) {
        code = ask_all(m, m->listing.met, &question, &came, &asked);
    }
    if (code == MOOT_OK) {
        code = listing_show(m, asked.parts, asked.count, fn, user);
    }
    keep_lists(m, &asked);
    rankset_release(&came);
    return code;
}

/* --- Where one asks --------------------------------------------------------------- */

static int begin_live(struct moot *m, struct lane *lane,
                      struct listing_question *question, struct rankset *members)
{
    struct core_self_view self;
    core_self_look(m->core, &self);
    int error = task_wait_check(m, lane, "moot_scope_tasks_live", 0);
    if (error != MOOT_OK) {
        return error;
    }
    if (m->knobs.divergence != (int)CORE_REPAIR) {
        return lane_fail(lane, MOOT_ERR_UNSUPPORTED,
                         "moot_scope_tasks_live spawns on one rank alone, which only "
                         "MOOT_DIVERGENCE=repair allows; moot_scope_tasks does not");
    }
    question->ask.number = ++m->listing.asked;
    question->ask.asker = m->group.rank;
    question->ask.mark = scope_mark(lane);
    return rankset_copy(members, self.members)
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_NO_MEMORY,
                           "moot_scope_tasks_live: no memory");
}

int moot_scope_tasks_live(moot *m, const moot_task_filter *filter, moot_tasks_fn fn,
                          void *user)
{
    moot_task_filter room;
    struct listing_question question = {0};
    filter = take_filter(&question, filter, &room);
    if (m == NULL || fn == NULL || filter == NULL) {
        return lane_invalid(m, "moot_scope_tasks_live", LISTING_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct rankset members = {0};
    struct listing_asked asked = {0};
    int code = begin_live(m, lane, &question, &members);
    engine_leave(m);
    if (code == MOOT_OK) {
        code = ask_all(m, m->listing.live, &question, &members, &asked);
    }
    if (code == MOOT_OK) {
        code = listing_show(m, asked.parts, asked.count, fn, user);
    }
    release_lists(m, asked.tasks, asked.count);
    free(asked.parts);
    rankset_release(&members);
    return code;
}
