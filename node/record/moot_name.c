/* moot_name.c - see moot_name.h. */
#include "node/record/moot_name.h"
#include "node/channel/channel.h"

#include <stdatomic.h>
#include <stdio.h>

/* The process has one, and not each context: files are named so. */
static atomic_uint opened_as_first;

struct moot_name moot_name_offer(void)
{
    struct moot_name name = {.number = atomic_load(&opened_as_first) + 1};
    (void)channel_told_rank(&name.process);
    return name;
}

void moot_name_take(struct moot *m, const struct moot_name *name)
{
    char *text = m->record.name;
    const size_t size = sizeof(m->record.name);
    if (m->group.rank == 0) {
        atomic_fetch_add(&opened_as_first, 1);
    }
    if (name->process != 0) {
        snprintf(text, size, "%u-%u", name->process, name->number);
    } else if (name->number > 1) {
        snprintf(text, size, "%u", name->number);
    }
}

const char *moot_name_text(const struct moot *m) { return m->record.name; }

uint32_t moot_name_process(const struct moot *m)
{
    uint32_t process = m->group.rank;
    (void)channel_told_rank(&process);
    return process;
}
