/* adopt.c - a portable array is run also by ranks that have not spawned it (A8).
 *
 * The spec of a portable array comes to its chair with the motion of a rank that waits,
 * as that of a task does, or with a word about elements, and from the chair to each
 * home that is not known to hold the array, with the question for its stretch.  Who
 * takes it holds the array as if its program had spawned all of it, claims its stretch
 * as with any spawn, and tells the chair so in place of giving the stretch up.  Only
 * who holds all of the array sends the spec: of what nobody has spawned it is the
 * program that is at fault.
 *
 * A chair that runs elements itself is not idle before they have ended, and would ask
 * too late.  So it asks for a portable array while it is busy, too, once somebody has
 * waited for that for some ask delays, as who waits asks the chair (ask_queue.c).  It
 * looks at its arrays for that once in such a time.
 */
#include "consensus/elements/elements_private.h"

#include "consensus/ownership/ownership.h"

#include <assert.h>

enum { SMALL_SPEC_BYTES = 256 };

/* --- The one who has it ----------------------------------------------------------- */

/* A chair that has closed asks for what it has heard of, and gives its own stretch up,
 * so what it hears brings the spec: if that takes much, only if it is known to have
 * closed.  Who has adopted the array has the spec from a chair. */
static bool goes_along(const struct core *core, const struct message_spec *spec,
                       uint32_t chair)
{
    size_t bytes = spec->args_size;
    for (size_t i = 0; spec->maps != NULL && i < spec->input_count; i++) {
        bytes += sizeof(moot_hash) + spec->maps[i].args_size;
    }
    return bytes <= SMALL_SPEC_BYTES || peer_seen(core, chair)->state.closed;
}

const struct message_spec *adopt_spec_for(const struct core *core,
                                          const struct array_record *array, uint32_t to,
                                          enum elements_what what)
{
    const struct message_spec *spec = spec_to_send(array->task);
    if (spec == NULL || what > ELEMENTS_WANTED ||
        keeper_knows_holder(core, array, to)) {
        return NULL;
    }
    const bool adopted = (array->task->flags & CORE_TASK_ADOPTED) != 0;
    return what == ELEMENTS_WANTED || (!adopted && goes_along(core, spec, to)) ? spec
                                                                               : NULL;
}

/* --- Asking while this rank is busy ----------------------------------------------- */

static void look_by(struct core *core, uint64_t time_ns)
{
    if (time_ns < core->elements.busy_look_ns) {
        core->elements.busy_look_ns = time_ns;
    }
}

bool adopt_looks(struct core *core)
{
    const bool looks = core->elements.busy_look_ns <= core->now_ns;
    if (looks) {
        core->elements.busy_look_ns = CORE_NEVER;
    }
    return looks;
}

void adopt_begin_elements(struct core *core)
{
    if (core->elements.any_portable) {
        look_by(core, add_ns(core->now_ns, ask_portable_delay_ns(core)));
    }
}

bool adopt_is_due(struct core *core, struct array_record *array, bool wanted)
{
    if (spec_to_send(array->task) == NULL) {
        return false;
    }
    if (!wanted || array->wanted_ns == CORE_NEVER) {
        array->wanted_ns = wanted ? core->now_ns : CORE_NEVER;
    }
    const uint64_t since_ns = wanted ? array->wanted_ns : core->now_ns;
    const uint64_t due_ns = add_ns(since_ns, ask_portable_delay_ns(core));
    if (due_ns > core->now_ns && elements_run(core)) {
        look_by(core, due_ns);
    }
    return due_ns <= core->now_ns;
}

/* --- The one who adopts ----------------------------------------------------------- */

bool elements_would_adopt(const struct core *core, uint32_t from,
                          const struct task_record *task, const struct message *message)
{
    const struct array_record *array = task != NULL ? task_ext(task)->array : NULL;
    if (task != NULL && (is_over(task) || (task_ext(task)->canceller != NOBODY &&
                                           !MUTANT(ADOPTCANCELLED)))) {
        return false;
    }
    if (array != NULL && (array->given_up.count > 0 || !array_is_open(task))) {
        return false;
    }
    if (message->type == MESSAGE_MOTION) {
        return true;
    }
    const struct message_elements *words = &message->u.elements;
    const struct rankset *homes =
        words->ranks != NULL ? words->ranks : &core->elements.homes;
    const uint32_t chair = placement_chair(&message->hash, &core->members, NULL);
    return words->what == ELEMENTS_WANTED
               ? chair == from && rankset_has(homes, core->rank)
               : chair == core->rank;
}
