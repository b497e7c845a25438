/* data_task.c - see data_task.h. */
#include "node/reference/data_task.h"

#include "hashing/identity.h"
#include "node/compose/compose.h"
#include "node/engine/engine.h"
#include "node/schedule/call_frame.h"
#include "node/spawn/spawn.h"
#include "node/store/store.h"
#include "node/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 512 };

/* --- Running ---------------------------------------------------------------------- */

/* A reference to bytes that this rank has; NULL: it has none. */
static struct payload *hold_bytes(struct moot *m, const struct task *task)
{
    engine_lock(m);
    const struct task_source *source = task_seldom(task)->sources;
    struct payload *bytes = source != NULL ? source->bytes : NULL;
    bytes = bytes != NULL ? payload_hold(bytes) : NULL;
    engine_unlock(m);
    return bytes;
}

/* A copy of the name of the file number `at` that has them, to be free()d; NULL: there
 * is none, or no memory. */
static char *copy_path(struct moot *m, const struct task *task, uint32_t at)
{
    engine_lock(m);
    const struct task_source *source = task_seldom(task)->sources;
    for (uint32_t i = 0; i < at && source != NULL; i++) {
        source = source->next;
    }
    char *path = source != NULL ? strdup(source->path) : NULL;
    engine_unlock(m);
    return path;
}

/* A file may have changed since its task was named. */
static int refuse_changed(moot_call *call, const char *path,
                          const struct data_facts *wanted,
                          const struct data_facts *found)
{
    char story[STORY_BYTES + 4096], was[MOOT_HASH_TEXT_BYTES], is[MOOT_HASH_TEXT_BYTES];
    snprintf(story, sizeof(story),
             "%s has changed since its task was named: its fingerprint was %s, and "
             "is %s",
             path, hash_format(&wanted->print, was), hash_format(&found->print, is));
    return moot_call_fail(call, MOOT_ERR_FINGERPRINT, story);
}

static int read_file(moot_call *call, const char *path, const struct data_facts *wanted)
{
    char why[STORY_BYTES] = "", story[STORY_BYTES + 4096];
    const struct array_story told = {why, sizeof(why)};
    const struct data_room room = {moot_call_output(call, (size_t)wanted->size),
                                   wanted->size};
    struct data_facts found;
    if (room.bytes == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!data_gather_file(path, &room, &found, &told)) {
        snprintf(story, sizeof(story), "%s: %s", path, why);
        return moot_call_fail(call, MOOT_ERR_FILE, story);
    }
    return hash_equal(&found.print, &wanted->print)
               ? MOOT_OK
               : refuse_changed(call, path, wanted, &found);
}

/* One file after the other, until one has what is wanted. */
static int read_files(moot_call *call, struct moot *m, const struct data_facts *wanted)
{
    int code = moot_call_fail(call, MOOT_ERR_FILE, "the data are not on this rank");
    char *path = copy_path(m, call->task, 0);
    for (uint32_t at = 1; path != NULL; at++) {
        code = read_file(call, path, wanted);
        free(path);
        path = code != MOOT_OK ? copy_path(m, call->task, at) : NULL;
    }
    return code;
}

int data_run(moot_call *call, void *user)
{
    struct moot *m = user;
    struct data_facts wanted;
    size_t size = 0;
    const void *args = moot_call_args(call, &size);
    if (args == NULL || !data_facts_unpack(&wanted, args, size)) {
        return moot_call_fail(call, MOOT_ERR_INVALID, "these are no data");
    }
    struct payload *bytes = hold_bytes(m, call->task);
    if (bytes == NULL) {
        return read_files(call, m, &wanted);
    }
    call_set_output(call, bytes);
    return MOOT_OK;
}

/* --- Naming ----------------------------------------------------------------------- */

static struct kernel *data_kernel(const struct moot *m)
{
    uint32_t number = 0;
    (void)handle_find_kernel(&m->tasks.handles, m->reference.data.id, &number);
    return m->tasks.kernels.items[number];
}

/* The facts of a task that has these arguments; its registration is without a lane. */
static struct task_facts task_facts_of(struct moot *m, const unsigned char *args,
                                       size_t size)
{
    struct kernel *kernel = data_kernel(m);
    struct task_facts facts = {.kernel = kernel, .args = args, .args_size = size};
    facts.reg.flags = kernel->core_flags | (uint32_t)CORE_TASK_HINT;
    return facts;
}

static moot_hash hash_of(const struct task_facts *facts)
{
    struct identity identity = spawn_identity(facts);
    return identity_hash(&identity);
}

/* Its record, which says where the data are before anything can run it. */
static struct task *enter_source(struct moot *m, const moot_hash *hash,
                                 const struct data_source *source)
{
    struct task *task = task_enter(m, hash);
    bool known = task != NULL;
    if (source->bytes != NULL && known) {
        known = source_add_bytes(m, task, source->bytes);
    } else if (source->bytes != NULL) {
        payload_drop(source->bytes);
    } else if (known) {
        known = source_add_file(m, task, source->path);
    }
    return known ? task : NULL;
}

int data_take_in(struct moot *m, const struct data_source *source)
{
    unsigned char args[DATA_FACTS_BYTES_MAX];
    struct task_facts facts =
        task_facts_of(m, args, data_facts_pack(&source->facts, args));
    const moot_hash hash = hash_of(&facts);
    struct task *task = enter_source(m, &hash, source);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!facts.kernel->told) {
        outbox_tell_kernel(m, facts.kernel);
    }
    return spawn_take_in(m, task, &facts);
}

/* The end of a path says more than its beginning. */
static const char *label_of(const char *path)
{
    const size_t size = path != NULL ? strlen(path) : 0;
    return path == NULL || size <= LIMIT_LABEL_BYTES ? path
                                                     : path + size - LIMIT_LABEL_BYTES;
}

static int spawn_checked(struct moot *m, struct lane *lane, struct task_facts *facts,
                         const struct data_source *source, moot_task *out)
{
    facts->reg.scope = (moot_hash){{0}};
    const moot_hash hash = hash_of(facts);
    if (enter_source(m, &hash, source) == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a task of data");
    }
    int error = spawn_at_once(m, lane, facts, out);
    if (error == MOOT_OK && lane->group != NULL) {
        group_add(m, lane, *out);
    }
    if (error == MOOT_OK) {
        spawn_make_room(m, lane);
    }
    return error;
}

int data_spawn(struct moot *m, struct lane *lane, const struct data_source *source,
               const char *site, moot_task *out)
{
    unsigned char args[DATA_FACTS_BYTES_MAX];
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = m->reference.data,
                                 .args = args,
                                 .args_size = data_facts_pack(&source->facts, args),
                                 .flags = MOOT_TASK_CONDITIONAL,
                                 .label = label_of(source->path)};
    struct spawn spawn;
    int error = spawn_check_open(m, lane);
    if (error == MOOT_OK && lane->group != NULL) {
        error = group_reserve(m, lane);
    }
    if (error == MOOT_OK) {
        error = spawn_check(m, lane, &spec, site, NULL, &spawn);
    }
    if (error != MOOT_OK) {
        payload_drop(source->bytes);
        return error;
    }
    return spawn_checked(m, lane, &spawn.facts, source, out);
}

moot_hash data_hash(struct moot *m, const struct data_facts *facts)
{
    unsigned char args[DATA_FACTS_BYTES_MAX];
    const struct task_facts named =
        task_facts_of(m, args, data_facts_pack(facts, args));
    return hash_of(&named);
}
