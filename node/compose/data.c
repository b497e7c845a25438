/* data.c - see data.h: the handles, and tasks that are spawned through them. */
#include "node/compose/data.h"

#include "node/compose/submit.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "proto/error.h"

#include <assert.h>
#include <stdlib.h>

#define SLOT_BITS 24
#define GENERATION_BITS 20
#define TAG_BITS 20
#define NO_SLOT UINT32_MAX

enum { DATA_INPUTS_INLINE = 16 };

static_assert(SLOT_BITS + GENERATION_BITS + TAG_BITS == 64, "a handle is 64 bits");
static_assert(LIMIT_DATA <= 1u << SLOT_BITS, "a slot number has 24 bits");

struct data {
    uint64_t version; /* a task handle; 0: none yet */
    uint32_t generation;
    uint32_t next_free;
    bool used, beside;
};

struct datas {
    struct data *slots;
    uint32_t count, room, first_free;
    struct kernel *part; /* NULL: not needed so far */
};

/* One checked spawn. */
struct access_spawn {
    const moot_access *accesses;
    size_t count, written;
    bool placed;         /* the spec says itself where */
    moot_task_spec spec; /* with the inputs that the accesses add */
    moot_task *inputs;
    moot_task inline_inputs[DATA_INPUTS_INLINE];
    moot_task versions[LIMIT_PARTS]; /* the new ones, by access that writes */
    moot_task before[LIMIT_PARTS];   /* beside which they are to be; zero: their own */
};

/* --- Handles -------------------------------------------------------------------- */

/* Not the tag of tasks: a task's handle is foreign here. */
static uint64_t tag_of(const struct moot *m)
{
    return m->tasks.handles.tag ^ ((1u << TAG_BITS) - 1);
}

static uint64_t id_of(const struct moot *m, uint32_t slot)
{
    return tag_of(m) << (SLOT_BITS + GENERATION_BITS) |
           (uint64_t)m->compose.datas->slots[slot].generation << SLOT_BITS | slot;
}

/* NULL with the error told. */
static struct data *data_find(struct moot *m, struct lane *lane, const char *call,
                              moot_data data, int *error)
{
    uint32_t slot = (uint32_t)data.id & ((1u << SLOT_BITS) - 1);
    uint32_t generation =
        (uint32_t)(data.id >> SLOT_BITS) & ((1u << GENERATION_BITS) - 1);
    struct datas *datas = m->compose.datas;
    *error = MOOT_OK;
    if (data.id >> (SLOT_BITS + GENERATION_BITS) != tag_of(m)) {
        *error = MOOT_ERR_FOREIGN;
    } else if (datas == NULL || slot >= datas->count || !datas->slots[slot].used ||
               datas->slots[slot].generation != generation) {
        *error = MOOT_ERR_STALE;
    }
    if (*error != MOOT_OK) {
        lane_fail(lane, *error, "%s: the data handle %s", call, handle_why(*error));
        return NULL;
    }
    return &datas->slots[slot];
}

static bool datas_grow(struct datas *datas)
{
    uint32_t room = datas->room ? datas->room * 2 : 64;
    struct data *slots = realloc(datas->slots, room * sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    datas->slots = slots;
    datas->room = room;
    return true;
}

/* A slot with its generation; NO_SLOT at the limit or without memory. */
static uint32_t take_slot(struct moot *m)
{
    if (m->compose.datas == NULL) {
        m->compose.datas = calloc(1, sizeof(*m->compose.datas));
        if (m->compose.datas == NULL) {
            return NO_SLOT;
        }
        m->compose.datas->first_free = NO_SLOT;
    }
    struct datas *datas = m->compose.datas;
    uint32_t slot = datas->first_free;
    if (slot != NO_SLOT) {
        datas->first_free = datas->slots[slot].next_free;
        return slot;
    }
    if (datas->count == LIMIT_DATA ||
        (datas->count == datas->room && !datas_grow(datas))) {
        return NO_SLOT;
    }
    datas->slots[datas->count] = (struct data){.generation = 1};
    return datas->count++;
}

static void give_slot(struct datas *datas, struct data *data)
{
    data->used = false;
    data->generation = (data->generation + 1) & ((1u << GENERATION_BITS) - 1);
    data->next_free = datas->first_free;
    datas->first_free = (uint32_t)(data - datas->slots);
}

static void end_task_handle(struct moot *m, uint64_t id)
{
    struct handle *handle;
    if (id != 0 && task_handle_find(m, id, &handle) == MOOT_OK) {
        task_handle_release(m, handle);
    }
}

/* Another handle on the task of one. */
static int share(struct moot *m, struct lane *lane, const char *call, uint64_t id,
                 uint64_t *out)
{
    struct handle *handle;
    int error = task_handle_find(m, id, &handle);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "%s: the task's handle %s", call,
                         handle_why(error));
    }
    uint64_t shared = task_handle_new(m, handle->task, NULL);
    if (shared == 0) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "%s: no memory for a handle", call);
    }
    *out = shared;
    return MOOT_OK;
}

static int new_locked(struct moot *m, struct lane *lane, moot_task first,
                      uint32_t flags, moot_data *out)
{
    if ((flags & ~(uint32_t)MOOT_DATA_BESIDE) != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "moot_data_new_with: the flags have unknown bits: %#x",
                         (unsigned)flags);
    }
    uint64_t version = 0;
    int error =
        first.id != 0 ? share(m, lane, "moot_data_new", first.id, &version) : MOOT_OK;
    if (error != MOOT_OK) {
        return error;
    }
    uint32_t slot = take_slot(m);
    if (slot == NO_SLOT) {
        end_task_handle(m, version);
        bool full = m->compose.datas != NULL && m->compose.datas->count == LIMIT_DATA;
        return lane_fail(lane, full ? MOOT_ERR_LIMIT : MOOT_ERR_NO_MEMORY,
                         "moot_data_new: no room for a data handle");
    }
    struct data *data = &m->compose.datas->slots[slot];
    data->used = true;
    data->beside = (flags & MOOT_DATA_BESIDE) != 0;
    data->version = version;
    out->id = id_of(m, slot);
    return MOOT_OK;
}

int moot_data_new(moot *m, moot_task first, moot_data *out)
{
    return moot_data_new_with(m, first, 0, out);
}

int moot_data_new_with(moot *m, moot_task first, uint32_t flags, moot_data *out)
{
    if (m == NULL || out == NULL) {
        return lane_invalid(m, "moot_data_new", "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = new_locked(m, lane, first, flags, out);
    engine_leave(m);
    return error;
}

static int release_locked(struct moot *m, struct lane *lane, moot_data data)
{
    int error;
    struct data *found = data_find(m, lane, "moot_data_release", data, &error);
    if (found != NULL) {
        uint64_t version = found->version;
        give_slot(m->compose.datas, found);
        end_task_handle(m, version);
    }
    return error;
}

int moot_data_release(moot *m, moot_data data)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_data_release", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = release_locked(m, lane, data);
    engine_leave(m);
    return error;
}

static int version_locked(struct moot *m, struct lane *lane, moot_data data,
                          moot_task *out)
{
    int error;
    struct data *found = data_find(m, lane, "moot_data_version", data, &error);
    if (found == NULL) {
        return error;
    }
    if (found->version == 0) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "moot_data_version: nothing has been written to it yet");
    }
    return share(m, lane, "moot_data_version", found->version, &out->id);
}

int moot_data_version(moot *m, moot_data data, moot_task *out)
{
    if (m == NULL || out == NULL) {
        return lane_invalid(m, "moot_data_version", "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = version_locked(m, lane, data, out);
    engine_leave(m);
    return error;
}

void datas_release(struct moot *m)
{
    if (m->compose.datas != NULL) { /* the task handles go with all others */
        free(m->compose.datas->slots);
        free(m->compose.datas);
        m->compose.datas = NULL;
    }
}

/* --- Accesses ------------------------------------------------------------------- */

static bool reads(const moot_access *access) { return (access->mode & MOOT_READ) != 0; }

static bool writes(const moot_access *access)
{
    return (access->mode & MOOT_WRITE) != 0;
}

static bool named_before(const moot_access *accesses, size_t at)
{
    size_t i = 0;
    while (i < at && accesses[i].data.id != accesses[at].data.id) {
        i++;
    }
    return i < at;
}

/* Checks one access, and adds the version that it reads to the inputs. */
static int add_access(struct moot *m, struct lane *lane, struct access_spawn *spawn,
                      size_t at, size_t *input_count)
{
    const moot_access *access = &spawn->accesses[at];
    int error;
    struct data *data = data_find(m, lane, "moot_data_spawn", access->data, &error);
    if (data == NULL) {
        return error;
    }
    bool mode = access->mode == MOOT_READ || access->mode == MOOT_WRITE ||
                access->mode == MOOT_READWRITE;
    if (!mode || named_before(spawn->accesses, at)) {
        return lane_fail(lane, MOOT_ERR_INVALID, "moot_data_spawn: access %zu: %s", at,
                         mode ? "the handle stands in the list before"
                              : "the mode is none of MOOT_READ, _WRITE, _READWRITE");
    }
    if (reads(access) && data->version == 0) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "moot_data_spawn: access %zu reads a handle to which nothing "
                         "has been written yet",
                         at);
    }
    if (reads(access)) {
        spawn->inputs[(*input_count)++].id = data->version;
    }
    if (writes(access) && spawn->written == LIMIT_PARTS) {
        return lane_fail(lane, MOOT_ERR_LIMIT,
                         "moot_data_spawn: one task writes more than %u handles",
                         LIMIT_PARTS);
    }
    if (writes(access)) {
        spawn->before[spawn->written++].id = data->beside ? data->version : 0;
    }
    return MOOT_OK;
}

static int add_accesses(struct moot *m, struct lane *lane, struct access_spawn *spawn,
                        const moot_task_spec *spec)
{
    size_t input_count = 0;
    int error = MOOT_OK;
    for (size_t i = 0; error == MOOT_OK && i < spawn->count; i++) {
        error = add_access(m, lane, spawn, i, &input_count);
    }
    for (size_t i = 0; error == MOOT_OK && i < spec->input_count; i++) {
        spawn->inputs[input_count++] = spec->inputs[i];
    }
    spawn->spec = *spec;
    spawn->spec.inputs = spawn->inputs;
    spawn->spec.input_count = input_count;
    spawn->placed = spec->owner.rank_plus_one != 0 || spec->candidates.ranks != NULL ||
                    spec->pset != NULL || spec->beside.id != 0;
    for (size_t i = 0; !spawn->placed && i < spawn->written; i++) {
        if (spawn->spec.beside.id == 0) {
            spawn->spec.beside = spawn->before[i];
        }
    }
    return error;
}

/* --- Spawning ------------------------------------------------------------------- */

static int part_kernel(struct moot *m, struct lane *lane, moot_kernel_id *out)
{
    struct datas *datas = m->compose.datas;
    if (datas->part == NULL) {
        const moot_kernel kernel = {
            .name = DATA_PART_KERNEL, .fn = data_part, .flags = MOOT_KERNEL_PORTABLE};
        if (kernel_find(&m->tasks.kernels, kernel.name) != NULL) {
            return lane_fail(lane, MOOT_ERR_KERNEL_EXISTS,
                             "the program has registered a kernel '%s', a name that "
                             "moot needs itself",
                             kernel.name);
        }
        if (m->tasks.kernels.count == LIMIT_KERNELS + KERNELS_OWN) {
            return lane_fail(lane, MOOT_ERR_LIMIT, "more than %u kernels",
                             LIMIT_KERNELS);
        }
        datas->part = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &kernel);
        if (datas->part == NULL) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a kernel");
        }
    }
    out->id = datas->part->id;
    return MOOT_OK;
}

/* The tasks that make each part of the result a version. */
static int spawn_parts(struct moot *m, struct lane *lane, struct access_spawn *spawn,
                       const char *site, const moot_task *whole)
{
    moot_task_spec part = {.args_size = sizeof(uint32_t),
                           .inputs = whole,
                           .input_count = 1,
                           .owner = spawn->spec.owner,
                           .candidates = spawn->spec.candidates,
                           .pset = spawn->spec.pset,
                           .priority = spawn->spec.priority,
                           .flags = spawn->spec.flags,
                           .label = spawn->spec.label};
    int error = part_kernel(m, lane, &part.kernel);
    uint32_t made = 0;
    while (error == MOOT_OK && made < spawn->written) {
        uint32_t number = made;
        part.args = &number;
        part.beside = spawn->placed ? spawn->spec.beside : spawn->before[made];
        error = spawn_task(m, lane, &part, site, NULL, &spawn->versions[made]);
        made += error == MOOT_OK;
    }
    while (error != MOOT_OK && made > 0) {
        end_task_handle(m, spawn->versions[--made].id);
    }
    return error;
}

/* Every handle that is written has its new version.  A thread that released one
 * meanwhile, while the spawn waited for room, has the last word. */
static void set_versions(struct moot *m, struct lane *lane,
                         const struct access_spawn *spawn)
{
    size_t made = 0;
    for (size_t i = 0; i < spawn->count; i++) {
        if (!writes(&spawn->accesses[i])) {
            continue;
        }
        uint64_t version = spawn->versions[made++].id;
        uint64_t before = version;
        int error;
        struct data *data =
            data_find(m, lane, "moot_data_spawn", spawn->accesses[i].data, &error);
        if (data != NULL) {
            before = data->version;
            data->version = version;
        }
        end_task_handle(m, before);
    }
}

static int spawn_checked(struct moot *m, struct lane *lane, struct access_spawn *spawn,
                         moot_task *out, const char *site)
{
    moot_task whole, given = {0};
    int error = spawn_task(m, lane, &spawn->spec, site, NULL, &whole);
    if (error != MOOT_OK) {
        return error;
    }
    if (out != NULL) {
        error = share(m, lane, "moot_data_spawn", whole.id, &given.id);
    }
    if (error == MOOT_OK && spawn->written > 1) {
        error = spawn_parts(m, lane, spawn, site, &whole);
    }
    if (error != MOOT_OK) {
        end_task_handle(m, given.id);
        end_task_handle(m, whole.id);
        return error;
    }
    if (spawn->written == 1) {
        spawn->versions[0] = whole;
    } else {
        end_task_handle(m, whole.id);
    }
    set_versions(m, lane, spawn);
    if (out != NULL) {
        *out = given;
    }
    return MOOT_OK;
}

static int spawn_locked(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        struct access_spawn *spawn, moot_task *out, const char *site)
{
    if (spec->inputs == NULL && spec->input_count > 0) {
        return spawn_task(m, lane, spec, site, NULL,
                          out); /* which says what is wrong */
    }
    if (spec->input_count > LIMIT_INPUTS || spawn->count > LIMIT_INPUTS) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "more than %u inputs", LIMIT_INPUTS);
    }
    size_t room = spawn->count + spec->input_count;
    spawn->inputs = spawn->inline_inputs;
    if (room > DATA_INPUTS_INLINE) {
        spawn->inputs = calloc(room, sizeof(*spawn->inputs));
        if (spawn->inputs == NULL) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the inputs");
        }
    }
    int error = add_accesses(m, lane, spawn, spec);
    if (error == MOOT_OK) {
        error = spawn_checked(m, lane, spawn, out, site);
    }
    if (spawn->inputs != spawn->inline_inputs) {
        free(spawn->inputs);
    }
    return error;
}

int moot_data_spawn_at(moot *m, const moot_task_spec *spec, const moot_access *accesses,
                       size_t count, moot_task *out, const char *site)
{
    if (m == NULL || spec == NULL || (accesses == NULL && count > 0)) {
        return lane_invalid(m, "moot_data_spawn",
                            spec == NULL ? "the spec is NULL"
                                         : "the accesses are NULL, and count is not 0");
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_data_spawn", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct access_spawn spawn = {.accesses = accesses, .count = count};
    int error = spawn_locked(m, lane, spec, &spawn, out, site);
    if (error != MOOT_OK) {
        lane_name_call(lane, "moot_data_spawn");
    }
    engine_leave(m);
    return error;
}
