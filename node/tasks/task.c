/* task.c - see task.h. */
#include "node/tasks/task.h"

#include "node/tasks/board.h"

#include "consensus/core_entry.h"
#include "hashing/base/fetch_ahead.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/config/text.h"
#include "node/context/context.h"
#include "node/tasks/family.h"
#include "node/tasks/handle.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/source.h"
#include "node/tasks/task_list.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Arguments above this are freed when the task has ended; smaller ones stay. */
enum { ARGS_ALONE_BYTES = 256 };

enum { EXPECT_AHEAD = 4, EXPECT_FAR_AHEAD = 8 };

static struct task *entered(struct moot *m, struct task *task)
{
    if (task != NULL && !task->entered) {
        task->entered = true;
        task->number = ++m->counts.entered;
    }
    return task;
}

struct task *task_enter(struct moot *m, const moot_hash *hash)
{
    return entered(m, core_enter(m->core, hash));
}

/* What stands behind the record. */
static size_t room_bytes(const struct task_facts *facts)
{
    return facts->args_size <= ARGS_ALONE_BYTES ? facts->args_size : 0;
}

struct task *task_enter_for(struct moot *m, const moot_hash *hash,
                            const struct task_facts *facts)
{
    return entered(m, core_enter_for(m->core, hash, facts->reg.candidates,
                                     facts->reg.input_count, room_bytes(facts)));
}

const struct task_seldom task_seldom_none = {0};

struct task_seldom *task_seldom_of(struct moot *m, struct task *task)
{
    if (task->seldom == NULL) {
        task->seldom = pool_take(&m->store.pool, sizeof(*task->seldom));
    }
    return task->seldom;
}

/* --- Call sites ----------------------------------------------------------------- */

/* A program has few call sites and spawns from each of them often: one copy of each. */
struct site_name {
    uint64_t hash;
    const char *name;
};

static uint64_t site_hash(const char *site, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)site[i]) * 0x100000001b3ull;
    }
    return hash;
}

static bool sites_grow(struct moot *m)
{
    uint32_t room = m->tasks.site_room ? m->tasks.site_room * 2 : 64;
    struct site_name *sites = calloc(room, sizeof(*sites));
    if (sites == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < m->tasks.site_room; i++) {
        if (m->tasks.sites[i].name != NULL) {
            uint32_t at = (uint32_t)m->tasks.sites[i].hash & (room - 1);
            while (sites[at].name != NULL) {
                at = (at + 1) & (room - 1);
            }
            sites[at] = m->tasks.sites[i];
        }
    }
    free(m->tasks.sites);
    m->tasks.sites = sites;
    m->tasks.site_room = room;
    return true;
}

COLD static const char *site_enter(struct moot *m, const char *site)
{
    size_t length = strnlen(site, LIMIT_SITE_BYTES);
    uint64_t hash = site_hash(site, length);
    if (m->tasks.site_count * 2 >= m->tasks.site_room && !sites_grow(m)) {
        return NULL;
    }
    uint32_t at = (uint32_t)hash & (m->tasks.site_room - 1);
    while (m->tasks.sites[at].name != NULL) {
        const char *name = m->tasks.sites[at].name;
        if (m->tasks.sites[at].hash == hash && strncmp(name, site, length) == 0 &&
            name[length] == '\0') {
            m->tasks.site_last = name;
            return name;
        }
        at = (at + 1) & (m->tasks.site_room - 1);
    }
    const char *copy = board_text(m, site, length);
    m->tasks.sites[at] = (struct site_name){
        hash, copy != NULL ? copy : pool_string(&m->store.pool, site, length)};
    m->tasks.site_count += m->tasks.sites[at].name != NULL;
    m->tasks.site_last = m->tasks.sites[at].name;
    return m->tasks.sites[at].name;
}

const char *task_site_intern(struct moot *m, const char *site)
{
    const char *last = m->tasks.site_last; /* it may be that, for a second time */
    bool again = last == site || (last != NULL && strcmp(last, site) == 0);
    return again ? last : site_enter(m, site);
}

/* --- Filling in ----------------------------------------------------------------- */

/* `room`: for them; NULL: elsewhere. */
static bool fill_args(struct moot *m, struct task *task, const struct task_facts *facts,
                      void *room, bool keep)
{
    if (facts->args_size == 0) {
        return true;
    }
    bool small = facts->args_size <= ARGS_ALONE_BYTES, alone = !small && !keep;
    void *args = small && room != NULL ? room
                 : alone               ? malloc(facts->args_size)
                                       : pool_take(&m->store.pool, facts->args_size);
    if (args == NULL) {
        return false;
    }
    memcpy(args, facts->args, facts->args_size);
    task_drop_args(task);
    task->args = args;
    task->args_alone = alone;
    task->args_inside = args == room;
    task->args_size = (uint32_t)facts->args_size;
    return true;
}

static const struct rankset *keep_candidates(struct moot *m, const struct rankset *set)
{
    struct rankset *copy = pool_take(&m->store.pool, sizeof(*copy));
    if (copy == NULL) {
        return NULL;
    }
    *copy = (struct rankset){.low = set->low, .high_words = set->high_words};
    if (set->high_words > 0) { /* in the pool, so that nobody has to release it */
        copy->high =
            pool_copy(&m->store.pool, set->high, set->high_words * sizeof(uint64_t));
        return copy->high != NULL ? copy : NULL;
    }
    return copy;
}

/* In the spec of an array: its card, and its maps, whose names stay. */
COLD static bool fill_array(struct moot *m, struct message_spec *spec,
                            const struct task_facts *facts)
{
    const struct array_spread *spread = facts->reg.array;
    const size_t count = facts->reg.input_count;
    struct message_map *maps =
        count > 0 ? pool_take(&m->store.pool, count * sizeof(*maps)) : NULL;
    bool fits = count == 0 || maps != NULL;
    spec->count = spread->count;
    spec->block = spread->block;
    spec->spread = spread->kind;
    spec->bound = facts->reg.bound;
    spec->maps = maps;
    for (size_t i = 0; i < count && fits; i++) {
        const struct identity_map *map = &facts->maps[i];
        const bool has = map->name != NULL && map->args_size > 0;
        if (map->name != NULL) {
            maps[i] = (struct message_map){.name = map->name, .version = map->version};
        }
        if (has) {
            maps[i].args = pool_copy(&m->store.pool, map->args, map->args_size);
            maps[i].args_size = map->args_size;
            fits = maps[i].args != NULL;
        }
    }
    return fits;
}

COLD static void give_maps(struct moot *m, const struct message_spec *spec)
{
    for (size_t i = 0; spec->maps != NULL && i < spec->input_count; i++) {
        if (spec->maps[i].args != NULL) {
            pool_give(&m->store.pool, spec->maps[i].args, spec->maps[i].args_size);
        }
    }
    pool_give(&m->store.pool, spec->maps, spec->input_count * sizeof(*spec->maps));
}

/* What peers are sent of a portable task.  Everything in it lives in the pool. */
COLD static bool fill_spec(struct moot *m, struct task *task,
                           const struct task_facts *facts)
{
    struct message_spec *spec = pool_take(&m->store.pool, sizeof(*spec));
    moot_hash *inputs = pool_copy(&m->store.pool, facts->reg.inputs,
                                  facts->reg.input_count * sizeof(*inputs));
    void *key = facts->key != NULL
                    ? pool_copy(&m->store.pool, facts->key, facts->key_size)
                    : NULL;
    if (spec == NULL || inputs == NULL || (facts->key != NULL && key == NULL)) {
        return false;
    }
    *spec = (struct message_spec){
        .kernel_name = facts->kernel->name,
        .kernel_version = facts->kernel->version,
        .flags = (facts->reg.flags & ~(uint32_t)CORE_TASK_ADOPTED) |
                 (facts->place != 0 ? CORE_TASK_BESIDE : 0u),
        .args = task->args,
        .args_size = task->args_size,
        .inputs = inputs,
        .input_count = facts->reg.input_count,
        .after_count = facts->reg.after_count,
        .key = key,
        .key_size = facts->key_size,
        .scope = facts->reg.scope,
        .parent = facts->reg.parent,
        .priority = facts->priority,
        .label = task_label(task),
        .site = task_site(task)};
    const struct rankset *ranks =
        facts->reg.array != NULL ? facts->reg.homes : facts->reg.candidates;
    if (ranks != NULL) {
        spec->candidates = keep_candidates(m, ranks);
        if (spec->candidates == NULL) {
            return false;
        }
    }
    if (facts->reg.array != NULL && !fill_array(m, spec, facts)) {
        return false;
    }
    task->seldom->spec = spec; /* made before */
    return true;
}

COLD static void give_spec(struct moot *m, const struct message_spec *spec)
{
    give_maps(m, spec);
    pool_give(&m->store.pool, spec->inputs,
              spec->input_count > 0 ? spec->input_count * sizeof(*spec->inputs) : 1);
    pool_give(&m->store.pool, spec->key, spec->key_size > 0 ? spec->key_size : 1);
    if (spec->candidates != NULL) {
        pool_give(&m->store.pool, spec->candidates->high,
                  spec->candidates->high_words * sizeof(uint64_t));
        pool_give(&m->store.pool, spec->candidates, sizeof(*spec->candidates));
    }
    pool_give(&m->store.pool, spec, sizeof(*spec));
}

static void give_label(struct moot *m, struct task_seldom *seldom)
{
    if (seldom->label != NULL) {
        pool_give(&m->store.pool, seldom->label, strlen(seldom->label) + 1);
        seldom->label = NULL;
    }
}

HOT bool task_fill(struct moot *m, struct task *task, const struct task_facts *facts)
{
    bool portable = (facts->reg.flags & CORE_TASK_PORTABLE) != 0;
    size_t bytes;
    char *room = core_entry_room(m->core, &task->entry, &bytes);
    bool fits = bytes >= room_bytes(facts);
    if (!fill_args(m, task, facts, fits ? room : NULL, portable)) {
        return false;
    }
    if (facts->reg.site != NULL) {
        core_entry_set_site(&task->entry, task_site_intern(m, facts->reg.site));
    }
    bool some = facts->label != NULL || facts->parent != NULL || portable;
    struct task_seldom *seldom = some ? task_seldom_of(m, task) : NULL;
    if (some && seldom == NULL) {
        return false;
    }
    if (some) {
        seldom->parent = facts->parent;
    }
    if (facts->label != NULL) {
        give_label(m, seldom); /* that it was named with */
        seldom->label = pool_string(&m->store.pool, facts->label, LIMIT_LABEL_BYTES);
    }
    if (portable && !fill_spec(m, task, facts)) {
        return false;
    }
    /* A task that takes it has raised it; 0 is that of a new record. */
    bool raised = task->priority > 0 && task->priority > facts->priority;
    task->priority = raised ? task->priority : facts->priority;
    task->queue_line = facts->queue_line;
    task->nested = facts->nested;
    task->kernel = facts->kernel;
    return true;
}

/* --- What is known of others' ----------------------------------------------------- */

const char *task_kernel_name(const struct task *task)
{
    const struct kernel *kernel =
        task->kernel != NULL ? task->kernel : task_seldom(task)->named;
    return kernel != NULL ? kernel->name : "";
}

void task_note_named(struct moot *m, struct task *task, const struct kernel *kernel,
                     const char *label)
{
    struct task_seldom *seldom = task->kernel == NULL ? task_seldom_of(m, task) : NULL;
    if (seldom == NULL) {
        return; /* spawned here: it has a name */
    }
    seldom->named = kernel;
    if (label != NULL && seldom->label == NULL) {
        seldom->label = pool_string(&m->store.pool, label, LIMIT_LABEL_BYTES);
    }
}

/* --- Stubs ------------------------------------------------------------------------ */

uint32_t task_stub_trace_number(const void *part)
{
    struct task_stub stub;
    uint32_t number = 0;
    memcpy(&stub, part, sizeof(stub));
    if (stub.traced) {
        memcpy(&number, (const char *)part + sizeof(stub) + stub.args_size,
               sizeof(number));
    }
    return number;
}

/* --- Rewriting what is not registered yet ----------------------------------------- */

bool task_order_spec(struct moot *m, struct task *task, struct task *const *inputs,
                     size_t count, size_t after_count)
{
    struct message_spec *spec = task_seldom(task)->spec;
    if (spec == NULL) {
        return true;
    }
    moot_hash *hashes = pool_take(&m->store.pool, count * sizeof(*hashes));
    if (hashes == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        hashes[i] = inputs[i]->hash;
    }
    pool_give(&m->store.pool, spec->inputs,
              spec->input_count > 0 ? spec->input_count * sizeof(*hashes) : 1);
    spec->inputs = hashes;
    spec->input_count = count;
    spec->after_count = after_count;
    return true;
}

bool task_relabel(struct moot *m, struct task *task, const char *label)
{
    struct task_seldom *seldom = task_seldom_of(m, task);
    char *copy =
        seldom != NULL ? pool_string(&m->store.pool, label, LIMIT_LABEL_BYTES) : NULL;
    if (copy == NULL) {
        return false;
    }
    give_label(m, seldom);
    seldom->label = copy;
    if (seldom->spec != NULL) {
        seldom->spec->label = copy;
    }
    return true;
}

void task_reprioritise(struct task *task, int32_t priority)
{
    task->priority = priority;
    if (task_seldom(task)->spec != NULL) {
        task->seldom->spec->priority = priority;
    }
}

/* --- Letting go ----------------------------------------------------------------- */

/* Of one that the core has forgotten. */
static bool is_unused(const struct task *task)
{
    return task->pins == 0 && task->handle_count == 0 && !task->lingers &&
           task->queued == 0;
}

static void give_record(struct moot *m, struct task *task)
{
    payload_drop(task->payload);
    task->payload = NULL;
    pool_give(&m->store.pool, task->seldom, sizeof(*task->seldom));
    core_entry_give(m->core, task);
}

HOT void task_try_free(struct moot *m, struct task *task)
{
    if (task->gone && is_unused(task)) {
        task_unlink_gone(m, task);
        give_record(m, task);
    }
}

/* A handle that a program which has closed or left still has may borrow the result. */
static void drop_own_bytes(struct moot *m, struct task *task)
{
    if (task->handle_count == 0) {
        payload_drop(task->payload);
        task->payload = NULL;
    }
    if (task->seldom != NULL) {
        free(task->seldom->verdict_story);
        task->seldom->verdict_story = NULL;
        payload_drop(task->seldom->partial);
        task->seldom->partial = NULL;
        family_free(task);
        source_free_all(task);
        elements_free(m, task);
        if (task->seldom->spec != NULL) {
            give_spec(m, task->seldom->spec);
            task->seldom->spec = NULL;
        }
        give_label(m, task->seldom);
    }
    if (!task->args_alone) {
        if (!task->args_inside) {
            pool_give(&m->store.pool, task->args, task->args_size);
        }
        task->args = NULL;
        task->args_size = 0;
    }
    task_drop_args(task);
}

/* Only a reload forgets a stub whose handle the program has. */
static void free_stub_handle(struct moot *m, struct task *stub)
{
    const struct task_stub *part = core_stub_host(stub);
    if (m->tasks.undoing && part->handle != 0) {
        handle_free(&m->tasks.handles, handle_at(&m->tasks.handles, part->handle));
    }
}

static void forget(struct moot *m, struct task *task)
{
    if (core_is_stub(task)) {
        free_stub_handle(m, task);
        core_entry_give(m->core, task);
        return;
    }
    task->gone = true;
    task->undone = m->tasks.undoing;
    drop_own_bytes(m, task);
    if (is_unused(task)) {
        give_record(m, task);
    } else {
        task_link_gone(m, task);
    }
}

/* What is forgotten has been out of every cache for long. */
static void expect(void *const *tasks, uint32_t i, uint32_t count)
{
    if (i + EXPECT_FAR_AHEAD < count) {
        const char *record = tasks[i + EXPECT_FAR_AHEAD];
        fetch_ahead(record + CORE_ENTRY_BYTES, sizeof(struct task) - CORE_ENTRY_BYTES);
    }
    if (i + EXPECT_AHEAD < count && !core_is_stub(tasks[i + EXPECT_AHEAD])) {
        const struct task *task = tasks[i + EXPECT_AHEAD];
        fetch_ahead(task->payload, 1);
        fetch_ahead(task->args, 1);
    }
}

void task_undoing(struct moot *m, bool undoing) { m->tasks.undoing = undoing; }

void task_carry_forget(struct moot *m, const struct core_output *output)
{
    void *const *tasks = output->u.forget.users;
    const uint32_t count = output->u.forget.count;
    for (uint32_t i = 0; i < count; i++) {
        expect(tasks, i, count);
        forget(m, tasks[i]);
    }
}

void task_drop_args(struct task *task)
{
    if (task->args_alone) {
        free(task->args);
        task->args = NULL;
        task->args_size = 0;
        task->args_alone = false;
    }
}

/* --- Naming --------------------------------------------------------------------- */

void task_describe_hash(struct text *text, const moot_hash *hash)
{
    char digits[MOOT_HASH_TEXT_BYTES];
    text_add(text, hash_has(hash, MOOT_HASH_ARRAY) ? "array %.8s" : "task %.8s",
             hash_format(hash, digits));
}

void task_describe(struct text *text, const struct task *task)
{
    const char *kernel = task_kernel_name(task);
    task_describe_hash(text, &task->hash);
    if (*kernel != '\0') {
        text_add(text, " of kernel '%s'", kernel);
    }
    if (task_label(task) != NULL) {
        text_add(text, " '%s'", task_label(task));
    }
    if (task_site(task) != NULL) {
        text_add(text, " (%s)", task_site(task));
    }
}
