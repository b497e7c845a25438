/* host_entry.c - what a rank's host and its core share of tasks
 * (consensus/core_entry.h), and what the host tells the core beside the steps.
 *
 * The host goes the way that node/ goes.  It enters a task before the core hears of it,
 * hands entries with its events, registers stubs that were made behind each other in
 * one step, and gives the memory of what is forgotten back.  What a program uses no
 * more it lets go; bytes that it could do without it gives up, where the core agrees.
 */
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include "hashing/identity.h"
#include <stdlib.h>
#include <string.h>

/* --- Entries ---------------------------------------------------------------------- */

static void mark_room(struct core *core, void *entry)
{
    size_t room_bytes;
    void *room = core_entry_room(core, entry, &room_bytes);
    memset(room, ROOM_BYTE, room_bytes);
}

static void *name_entry(struct host *host, uint32_t task, struct sim_entry *entry)
{
    if (entry != NULL) {
        entry->record = &host->records[task];
        entry->record->entry = entry;
    }
    return entry;
}

/* The bytes that were given with the stub come back with it. */
void host_expand(void *context, struct core *core, void *entry, const void *part)
{
    struct host *host = context;
    struct sim_entry *made = entry;
    uint32_t task;
    memcpy(&task, part, sizeof(task));
    if (task != sim_task(host->sim, &made->core.hash)) {
        sim_fail(host->sim, "contract", "rank %u: a stub comes back as another task's",
                 (unsigned)host->rank);
    }
    name_entry(host, task, made);
    mark_room(core, entry);
}

void *host_enter(struct host *host, uint32_t task)
{
    struct record *record = &host->records[task];
    if (!host_goes_on(host)) {
        return NULL;
    }
    host_flush(host);
    if (host->undone) {
        return NULL;
    }
    if (record->entry != NULL && !core_is_stub(record->entry)) {
        return record->entry;
    }
    return name_entry(host, task, core_enter(host->core, &host->sim->hashes[task]));
}

/* Nobody else writes to the room behind it: seen when it is forgotten. */
static void *enter_roomy(struct host *host, uint32_t task,
                         const struct core_register *reg)
{
    bool known = host->records[task].entry != NULL;
    void *entry =
        name_entry(host, task,
                   core_enter_for(host->core, &host->sim->hashes[task], reg->candidates,
                                  reg->input_count, 1 + reg->input_count));
    if (entry != NULL && !known) {
        mark_room(host->core, entry);
    }
    if (entry != NULL) {
        core_entry_set_site(entry, reg->site);
    }
    return entry;
}

static uint32_t input_of(const struct host *host, uint32_t task, size_t i)
{
    const struct program_task *spec = &host->sim->program->tasks[task];
    return i < spec->inputs.count ? spec->inputs.items[i]
                                  : spec->after.items[i - spec->inputs.count];
}

/* --- Stubs ------------------------------------------------------------------------ */

/* The core must know a stub before another stub takes its result. */
static bool may_join(const struct host *host, uint32_t task,
                     const struct core_register *reg)
{
    bool may = host->pruned_count == 0 || host->pruned_lane == reg->lane;
    for (size_t i = 0; i < reg->input_count; i++) {
        const void *known = host->records[input_of(host, task, i)].entry;
        for (uint32_t k = 0; k < host->pruned_count; k++) {
            may &= host->pruned[k] != known;
        }
    }
    return may;
}

/* Entries or stubs of the inputs; false: one is known by its hash alone. */
static bool find_known(const struct host *host, uint32_t task, size_t count,
                       void **entries)
{
    for (size_t i = 0; i < count; i++) {
        entries[i] = host->records[input_of(host, task, i)].entry;
        if (entries[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Likewise, of what becomes a record; false: the scope of one has ended. */
static bool find_entries(struct host *host, uint32_t task, size_t count, void **entries)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t input = input_of(host, task, i);
        entries[i] = host->records[input].entry;
        if (entries[i] == NULL) {
            entries[i] = host_enter(host, input);
        }
        if (entries[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* True: it is one, and registered with those behind which it was made. */
static bool prune(struct host *host, uint32_t task, struct core_register *reg,
                  void **entries)
{
    if (!may_join(host, task, reg)) {
        host_flush(host);
    }
    reg->input_entries = entries;
    void *stub = !host->undone && find_known(host, task, reg->input_count, entries)
                     ? core_prune(host->core, &host->sim->hashes[task], reg)
                     : NULL;
    if (stub == NULL) {
        return false;
    }
    memcpy(core_stub_host(stub), &task, sizeof(task));
    host->records[task].entry = stub;
    host->pruned[host->pruned_count++] = stub;
    host->pruned_lane = reg->lane;
    return true;
}

void host_flush(struct host *host)
{
    struct core_event event = {.type = CORE_EV_PRUNED};
    void *stubs[STUBS_TOGETHER_MAX];
    if (host->pruned_count == 0) {
        return;
    }
    memcpy(stubs, host->pruned, sizeof(stubs));
    event.u.pruned.stubs = stubs;
    event.u.pruned.count = host->pruned_count;
    host->pruned_count = 0;
    host_step(host, &event);
}

int host_register_entry(struct host *host, uint32_t task, struct core_register *reg)
{
    struct core_event event = {
        .type = CORE_EV_REGISTER, .hash = host->sim->hashes[task], .u.reg = reg};
    void **entries = sim_alloc(reg->input_count, sizeof(*entries));
    int code = MOOT_OK;
    if (!host_goes_on(host)) {
        code = MOOT_OK; /* nobody hears of it */
    } else if (reg->array == NULL && prune(host, task, reg, entries)) {
        if (host->pruned_count >= host->sim->weather.together) {
            host_flush(host);
        }
    } else {
        host_flush(host);
        bool may = !host->undone && core_refusal(host->core, &event.hash, reg->inputs,
                                                 reg->input_count) == MOOT_OK;
        event.entry = may ? enter_roomy(host, task, reg) : NULL;
        may = may && find_entries(host, task, reg->input_count, entries);
        reg->input_entries = may ? entries : NULL;
        code = host_step(host, &event);
    }
    free(entries);
    return code;
}

/* --- Forgetting ------------------------------------------------------------------- */

bool host_keep_forgotten(struct host *host, struct sim_entry *entry)
{
    if (host->forgotten_count == FORGOTTEN_MAX) {
        host_give_forgotten(host);
    }
    size_t room_bytes;
    const uint8_t *room = core_entry_room(host->core, entry, &room_bytes);
    for (size_t i = 0; i < room_bytes; i++) {
        if (room[i] != ROOM_BYTE) {
            return false;
        }
    }
    uint8_t pieces = entry->core.pieces;
    memset(entry, FORGOTTEN_BYTE, sizeof(*entry));
    entry->core.pieces = pieces;
    host->forgotten[host->forgotten_count++] = entry;
    return true;
}

void host_give_forgotten(struct host *host)
{
    for (uint32_t i = 0; i < host->forgotten_count; i++) {
        const unsigned char *bytes = (const unsigned char *)host->forgotten[i];
        for (size_t at = offsetof(struct core_entry, more);
             at < sizeof(struct sim_entry); at++) {
            if (bytes[at] != FORGOTTEN_BYTE) {
                sim_fail(host->sim, "contract",
                         "rank %u: byte %zu of an entry was written to that the core "
                         "had forgotten",
                         (unsigned)host->rank, at);
                break;
            }
        }
        core_entry_give(host->core, host->forgotten[i]);
    }
    host->forgotten_count = 0;
}

/* --- Beside the steps ------------------------------------------------------------- */

void host_let_go(struct host *host, uint32_t task)
{
    struct record *record = &host->records[task];
    if (!host_goes_on(host)) {
        return;
    }
    host_flush(host);
    if (host->undone) {
        return;
    }
    struct sight sight = host_sight(host, SIGHT_LET_GO, task);
    sim_see(host->sim, &sight);
    core_let_go(host->core, &host->sim->hashes[task], record->entry);
}

void host_name(struct host *host, uint32_t task)
{
    void *entry = host_enter(host, task);
    if (entry != NULL) {
        core_name(host->core, entry);
    }
}

/* Results of tasks that a kernel spawned are the kernel's to keep. */
bool host_give_up(struct host *host, uint32_t task, uint32_t readers)
{
    struct record *record = &host->records[task];
    if (!host_goes_on(host) || !record->kept_data || record->entry == NULL ||
        host->sim->program->tasks[task].depth > 0) {
        return false;
    }
    host_flush(host);
    if (host->undone || core_is_stub(record->entry) ||
        !core_release(host->core, &host->sim->hashes[task], record->entry, readers)) {
        return false;
    }
    record->kept_data = record->done_data = false;
    struct sight sight = host_sight(host, SIGHT_GIVE_UP, task);
    sim_see(host->sim, &sight);
    return true;
}

/* Those of any task, or of all. */
void host_spare(struct host *host)
{
    struct sim *sim = host->sim;
    uint32_t count = sim->program->task_count;
    if (!random_chance(&sim->sparing, sim->weather.spare_per_mille)) {
        return;
    }
    bool all = random_chance(&sim->sparing, 100);
    uint32_t first = all ? 0 : (uint32_t)random_below(&sim->sparing, count);
    for (uint32_t task = first; task < count && (all || task == first); task++) {
        if (host_give_up(host, task, 0)) {
            free(host->records[task].bytes);
            host->records[task].bytes = NULL;
        }
    }
}

void host_take_input(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    const struct program_list *inputs = &sim->program->tasks[task].inputs;
    struct record *record = &host->records[task];
    if (inputs->count == 0 ||
        !random_chance(&sim->sparing, sim->weather.spare_per_mille)) {
        return;
    }
    uint32_t i = (uint32_t)random_below(&sim->sparing, inputs->count);
    struct record *input = &host->records[inputs->items[i]];
    if (host_give_up(host, inputs->items[i], 1)) {
        record->taken = input->bytes;
        record->taken_input = 1 + i;
        input->bytes = NULL;
    }
}

/* For some turns in a row, on each rank at other times, and not everywhere alike. */
void host_press(struct host *host)
{
    enum { TURNS = 16, LEVELS = 5 };
    static const uint32_t levels[LEVELS] = {0, 0, 1, 2, 4};
    if (!host->sim->weather.presses) {
        return;
    }
    uint64_t since = host->turns++ / TURNS;
    struct random random =
        random_stream(host->sim->options.seed, since * PROGRAM_RANKS_MAX + host->rank);
    core_press(host->core, levels[random_below(&random, LEVELS)]);
}
