/* entry.c - what a host does with entries (core_entry.h); stubs are stub.c's. */
#include "consensus/step/step.h"

#include "consensus/state/state.h"

#include <assert.h>

void *core_user(struct core *core, const moot_hash *hash)
{
    return table_find(core, hash);
}

void core_expect(const struct core *core, const moot_hash *hash)
{
    table_expect(core, hash);
}

HOT void core_expect_known(const struct core *core, const moot_hash *hash)
{
    table_expect_record(core, hash);
}

void *core_enter_for(struct core *core, const moot_hash *hash,
                     const struct rankset *candidates, size_t input_count,
                     size_t room_bytes)
{
    bool none = core->broken || scope_is_dropped(core, hash);
    return none ? NULL
                : table_enter_for(core, hash, candidates, input_count, room_bytes);
}

void *core_entry_room(const struct core *core, void *entry, size_t *room_bytes)
{
    return record_room(core, entry, room_bytes);
}

void *core_enter(struct core *core, const moot_hash *hash)
{
    return core_enter_for(core, hash, NULL, 0, 0);
}

const char *core_entry_site(const void *entry)
{
    const struct task_record *task = entry;
    return task->site;
}

const char *core_stub_site(const void *stub)
{
    assert(is_stub(stub));
    return ((const struct stub *)stub)->site;
}

void core_entry_set_site(void *entry, const char *site)
{
    struct task_record *task = entry;
    task->site = site;
}

uint32_t core_entry_input_count(const void *entry)
{
    const struct task_record *task = entry;
    return task->input_count;
}

uint32_t core_entry_data_count(const void *entry)
{
    const struct task_record *task = entry;
    return (uint32_t)task->input_count - task->after_count;
}

void *core_entry_input(const void *entry, uint32_t i)
{
    assert(i < core_entry_input_count(entry));
    const struct task_record *task = entry;
    assert(i < task->input_count);
    return task_inputs(task)[i].from;
}

bool core_entry_is_input(const void *entry)
{
    const struct task_record *task = entry;
    return task->consumers != NULL;
}

void core_entry_give(struct core *core, void *entry)
{
    assert(entry != NULL);
    if (is_stub(entry)) {
        stub_give(core, entry);
    } else {
        table_give(core, entry);
    }
}

void core_each_entry(struct core *core, bool (*see)(void *context, void *entry),
                     void *context)
{
    stub_expand_all(core); /* it may ask for its inputs */
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL && !see(context, task)) {
            return;
        }
    }
}
