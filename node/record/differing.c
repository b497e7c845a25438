/* differing.c - see differing.h.  The core tells each rank once of each other, so there
 * is nothing to count here.
 */
#include "node/record/differing.h"

#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"

#include <inttypes.h>

/* The first four bytes of a signature are enough to tell it from another. */
static void add_short(struct text *text, const moot_hash *hash)
{
    for (int i = 0; i < 4; i++) {
        text_add(text, "%02x", hash->bytes[i]);
    }
    text_add(text, "...");
}

static void add_rank(struct text *text, const struct moot *m, uint32_t rank)
{
    char host[TRANSPORT_HOST_BYTES];
    text_add(text, "rank %u (%s)", rank,
             transport_group_host_of(&m->group, rank, host, sizeof(host)));
}

static void describe(struct text *text, const struct moot *m,
                     const struct core_output *output)
{
    const uint32_t rank = output->u.signature.rank;
    const uint64_t step = output->u.signature.step;
    if (output->u.signature.what == CORE_SIGNATURE_ROLLS) {
        text_add(text, "what ");
        add_rank(text, m, rank);
        text_add(text,
                 " says that it has announced is not what came here, after %" PRIu64
                 " announcements: memory, or a frame, was changed",
                 step);
        return;
    }
    add_rank(text, m, rank);
    text_add(text, " has another state at step %" PRIu64 ": its signature is ", step);
    add_short(text, &output->u.signature.theirs);
    text_add(text, output->u.signature.what == CORE_SIGNATURE_CONTRADICTED
                       ? ", and that of most ranks "
                       : ", and this rank's ");
    add_short(text, &output->u.signature.others);
    if (output->u.signature.what == CORE_SIGNATURE_DIFFERS) {
        text_add(text, "; no majority says which is wrong");
    }
}

/* The rank that is contradicted ends; where nobody is named, all that differ do. */
static bool ends_by(const struct moot *m, const struct core_output *output)
{
    const enum core_signature_what what = output->u.signature.what;
    return m->knobs.signature == KNOB_SIGNATURE_FAIL &&
           (what == CORE_SIGNATURE_DIFFERS ||
            (what == CORE_SIGNATURE_CONTRADICTED &&
             output->u.signature.rank == m->group.rank));
}

/* The last one told stands of two that are found at the same step, which may be named
 * by most ranks. */
static void note_first(struct moot *m, const struct core_output *output)
{
    struct first_difference *first = &m->record.first;
    const uint64_t step = output->u.signature.step;
    if (output->u.signature.what != CORE_SIGNATURE_ROLLS &&
        (!first->is || step <= first->step)) {
        *first = (struct first_difference){true, output->u.signature.rank, step};
    }
}

void differing_carry(struct moot *m, const struct core_output *output)
{
    struct text text = {0};
    describe(&text, m, output);
    report_add(m, "moot: rank %u: %s\n", m->group.rank, text_get(&text));
    observe_rank(m, MOOT_EVENT_RANK_DIFFERS, output->u.signature.rank, text_get(&text));
    trace_differs(m, output->u.signature.rank, output->u.signature.step,
                  text_get(&text));
    note_first(m, output);
    (void)rankset_add(&m->record.differing, output->u.signature.rank);
    if (ends_by(m, output)) {
        engine_end_alone(m, MOOT_ERR_SIGNATURE, "%s", text_get(&text));
    }
    text_release(&text);
}
