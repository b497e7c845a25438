/* api_file.c - a file becomes a task of its content (moot_reference.h).
 *
 * Who can open the file reads it once, for its fingerprint, and spawns the task.  Who
 * cannot asks the others, the lowest first and twice as many with each round, so that a
 * file which only one of many can read is not read by all.  Who is asked answers by a
 * kernel, as moot_scope_tasks_live() has it: it reads the file, holds the task of its
 * content from then on, and says what the data are.  That is enough to name the task.
 *
 * Nobody's word is kept: a file that was not there may come.
 */
#include "node/api/moot_reference.h"

#include "consensus/core_view.h"
#include "node/compose/compose.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/reference/reference.h"
#include "node/schedule/wait.h"
#include "node/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STORY_BYTES = 512, NAP_FIRST_MS = 10, NAP_LAST_MS = 1000 };

static int refuse_file(struct moot *m, int code, const char *why)
{
    return lane_refuse(m, code, "moot_data_file", why);
}

/* --- Asking ----------------------------------------------------------------------- */

/* A file that this rank cannot open. */
struct file_search {
    const char *path;
    uint64_t number;        /* of the question */
    struct rankset members; /* who can be asked: all others */
    struct data_facts facts;
    bool found;
    uint32_t asked; /* in this round of all */
};

/* A rank that has died cannot read it. */
static int without_the_dead(int code)
{
    return code == MOOT_ERR_NO_CANDIDATE || code == MOOT_ERR_RESULT_LOST ||
                   code == MOOT_ERR_TASK_FAILED
               ? MOOT_OK
               : code;
}

static int ask_rank(struct moot *m, const struct file_search *search, uint32_t member,
                    moot_task *out)
{
    char args[QUESTION_BYTES_MAX];
    const struct file_question question = {search->number, member, m->group.rank};
    const size_t path_bytes = strlen(search->path) + 1;
    const int there = session_rank(m, member);
    if (there < 0) {
        return MOOT_OK; /* it went with a session */
    }
    memcpy(args, &question, sizeof(question));
    memcpy(args + sizeof(question), search->path, path_bytes);
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = m->reference.find,
                                 .args = args,
                                 .args_size = sizeof(question) + path_bytes,
                                 .owner = MOOT_ON(there),
                                 .flags = MOOT_TASK_NO_QUEUE};
    return without_the_dead(moot_task_spawn(m, &spec, out));
}

static int hear_rank(struct moot *m, struct file_search *search, moot_task task)
{
    const void *data = NULL;
    size_t size = 0;
    const int code =
        without_the_dead(moot_task_fetch(m, task, MOOT_FOREVER, &data, &size));
    if (code == MOOT_OK && size > 0 && !search->found) {
        search->found = data_facts_unpack(&search->facts, data, size);
    }
    (void)moot_task_release(m, task);
    return code;
}

/* Asks `count` members from this one on, all at once.  The next one; UINT32_MAX: there
 * is none. */
static int ask_some(struct moot *m, struct file_search *search, uint32_t *member,
                    uint32_t count)
{
    moot_task *tasks = calloc(count, sizeof(*tasks));
    int code = tasks != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    for (uint32_t i = 0; code == MOOT_OK && i < count && *member != UINT32_MAX; i++) {
        code = ask_rank(m, search, *member, &tasks[i]);
        *member = rankset_next(&search->members, *member + 1);
        search->asked++;
    }
    for (uint32_t i = 0; tasks != NULL && i < count; i++) {
        if (tasks[i].id != 0) {
            const int heard = hear_rank(m, search, tasks[i]);
            code = code == MOOT_OK ? heard : code;
        }
    }
    free(tasks);
    return code;
}

static int begin_search(struct moot *m, struct file_search *search)
{
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct core_self_view self;
    core_self_look(m->core, &self);
    int error = task_wait_check(m, lane, "moot_data_file", 0);
    if (error == MOOT_OK && m->knobs.divergence != (int)CORE_REPAIR) {
        error = lane_fail(lane, MOOT_ERR_UNSUPPORTED,
                          "moot_data_file: this rank cannot read %s, and to ask others "
                          "it would spawn alone, which only MOOT_DIVERGENCE=repair "
                          "allows",
                          search->path);
    }
    if (error == MOOT_OK && !rankset_copy(&search->members, self.members)) {
        error = lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_data_file: no memory");
    }
    rankset_remove(&search->members, m->group.rank);
    search->number = reference_asks(m);
    engine_leave(m);
    return error;
}

/* All others are asked, until one has it. */
static int ask_all(struct moot *m, struct file_search *search)
{
    uint32_t count = 1;
    search->asked = 0;
    int code = begin_search(m, search);
    uint32_t member = code == MOOT_OK ? rankset_next(&search->members, 0) : UINT32_MAX;
    while (code == MOOT_OK && !search->found && member != UINT32_MAX) {
        code = ask_some(m, search, &member, count);
        count *= 2;
    }
    rankset_release(&search->members);
    return code;
}

/* --- Unreadable files ------------------------------------------------------------- */

static bool never(const struct moot *m)
{
    (void)m;
    return false;
}

/* Serves peers meanwhile. */
static int nap(struct moot *m, uint64_t until_ns)
{
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct wait wait = {.want = WANT_DONE,
                        .lane = lane,
                        .deadline_ns = until_ns,
                        .until = never,
                        .goes_on = true};
    int code = wait_run(m, &wait);
    if (code == MOOT_OK && m->engine.fatal != 0) {
        code = lane_fail(lane, m->engine.fatal, "moot_data_file: %s",
                         text_get(&m->engine.fatal_story));
    }
    engine_leave(m);
    return code == MOOT_ERR_TIMEOUT ? MOOT_OK : code;
}

static uint64_t end_of(moot_duration patience)
{
    const uint64_t now_ns = clock_ns();
    return patience < (int64_t)(CORE_NEVER / 4) ? now_ns + (uint64_t)patience
                                                : CORE_NEVER;
}

static int refuse_missing(struct moot *m, const struct file_search *search,
                          const char *why)
{
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        return MOOT_ERR_FILE;
    }
    if (search->asked == 0) {
        return lane_fail(lane, MOOT_ERR_FILE, "moot_data_file: %s: %s", search->path,
                         why);
    }
    return lane_fail(lane, MOOT_ERR_FILE,
                     "moot_data_file: %s: %s; nor can another rank read it (%u asked)",
                     search->path, why, search->asked);
}

/* Spawns the task if this rank can read the file; *opens: it can open it.  A file that
 * opens and is no array is nobody else's affair. */
static int read_here(struct moot *m, const char *path, moot_task *out, const char *site,
                     bool *opens)
{
    char why[STORY_BYTES] = "", story[STORY_BYTES + DATA_PATH_BYTES_MAX];
    const struct array_story told = {why, sizeof(why)};
    struct data_source source = {.bytes = NULL};
    *opens = array_file_opens(path);
    if (!*opens) {
        return MOOT_OK;
    }
    if (!data_gather_file(path, &(struct data_room){.bytes = NULL}, &source.facts,
                          &told)) {
        snprintf(story, sizeof(story), "%s: %s", path, why);
        return refuse_file(m, MOOT_ERR_FILE, story);
    }
    char *whole = data_whole_path(path);
    source.path = whole;
    struct lane *lane = whole != NULL ? engine_enter(m) : NULL;
    int error = MOOT_ERR_NO_MEMORY;
    if (lane != NULL) {
        error = data_spawn(m, lane, &source, site, out);
        engine_leave(m);
    }
    free(whole);
    return error;
}

static int find_data(struct moot *m, const struct data_facts *facts, moot_task *out)
{
    const moot_hash hash = data_hash(m, facts);
    return moot_task_find(m, &hash, out);
}

/* Again and again, as the program wishes. */
static int resolve(struct moot *m, const char *path, const moot_data_options *options,
                   moot_task *out, const char *site)
{
    struct file_search search = {.path = path};
    const uint64_t end_ns = end_of(options->patience);
    uint64_t nap_ns = NAP_FIRST_MS * UINT64_C(1000000);
    for (;;) {
        bool opens;
        int error = read_here(m, path, out, site, &opens);
        const int why = errno;
        if (error == MOOT_OK && !opens) {
            error = ask_all(m, &search);
        }
        if (error != MOOT_OK || opens || search.found) {
            return error == MOOT_OK && search.found ? find_data(m, &search.facts, out)
                                                    : error;
        }
        const bool asks = options->missing != NULL;
        error = asks ? options->missing(options->user, path) : MOOT_OK;
        if (error != MOOT_OK || (!asks && clock_ns() >= end_ns)) {
            return error != MOOT_OK
                       ? refuse_file(m, error, "the program gives the file up")
                       : refuse_missing(m, &search, strerror(why));
        }
        const uint64_t wakes_ns = clock_ns() + nap_ns;
        error = asks ? MOOT_OK : nap(m, wakes_ns < end_ns ? wakes_ns : end_ns);
        if (error != MOOT_OK) {
            return error;
        }
        nap_ns = nap_ns * 2 < NAP_LAST_MS * UINT64_C(1000000)
                     ? nap_ns * 2
                     : NAP_LAST_MS * UINT64_C(1000000);
    }
}

int moot_data_file_at(moot *m, const char *path, const moot_data_options *options,
                      moot_task *out, const char *site)
{
    static const moot_data_options none;
    moot_data_options room;
    if (m == NULL || path == NULL || out == NULL || path[0] == '\0') {
        return refuse_file(m, MOOT_ERR_INVALID,
                           m == NULL      ? "the moot is NULL"
                           : path == NULL ? "the path is NULL"
                           : out == NULL  ? "the output is NULL"
                                          : "the path is empty");
    }
    if (strnlen(path, DATA_PATH_BYTES_MAX) == DATA_PATH_BYTES_MAX) {
        return refuse_file(m, MOOT_ERR_LIMIT, "the path is too long");
    }
    options = sized_data(options != NULL ? options : &none, &room);
    if (options == NULL || options->patience < 0) {
        return refuse_file(m, MOOT_ERR_INVALID,
                           options == NULL ? SIZED_REFUSAL(moot_data_options)
                                           : ".patience is negative");
    }
    return resolve(m, path, options, out, site);
}
