/* reference.c - see reference.h. */
#include "node/reference/reference.h"

#include "node/reference/data_task.h"
#include "node/reference/file_answer.h"
#include "node/tasks/tasks.h"

/* The word of the data's kernel is how the task ends: MOOT_ERR_FINGERPRINT, or _FILE.
 */
bool reference_begin(struct moot *m)
{
    const moot_kernel data = {.name = "moot.data", .fn = data_run, .user = m};
    struct kernel *added = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &data);
    if (added == NULL) {
        return false;
    }
    added->ends_as_said = true;
    m->reference.data.id = added->id;
    const moot_kernel find = {.name = "moot.data.find",
                              .fn = data_file_answer,
                              .user = m,
                              .flags =
                                  MOOT_KERNEL_NONDETERMINISTIC | MOOT_KERNEL_PORTABLE};
    added = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &find);
    m->reference.find.id = added != NULL ? added->id : 0;
    return added != NULL;
}

uint64_t reference_asks(struct moot *m) { return ++m->reference.asked; }
