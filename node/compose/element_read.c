/* element_read.c - see element_read.h. */
#include "node/compose/element_read.h"

#include "consensus/core_view.h"
#include "hashing/base/byte_order.h"
#include "hashing/placement.h"
#include "node/compose/element_gate.h"
#include "node/engine/engine.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/element_again.h"
#include "node/schedule/element_end.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/task_end.h"
#include "node/spawn/spawn.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { EARLY_LOOKS = 64 }; /* at motions that came early, each time */

static const char read_name[] = "moot.element";

/* A task that reads what this rank has not, and asks members for. */
struct read_seek {
    struct read_seek *next;
    struct task *task;
    struct named_array array;
    struct rankset homes;   /* that one's */
    uint64_t place, number; /* of the asking; PARTS_FOR_READS and more */
    uint32_t asked, denied; /* so many were, and do not have it */
    bool wide;              /* these were all members */
    uint32_t refusals;      /* and so many that have it did not take its task in */
    bool found;             /* it is made again: */
    bool here;              /* by this rank, or */
    struct rankset makers;  /* these said that they can, */
    uint32_t maker;         /* which is the next to be asked to, */
    bool makes;             /* and the one before was */
    bool gated;             /* a task of another rank is to bring it */
};

/* --- The task --------------------------------------------------------------------- */

void read_pack(const moot_hash *array, uint64_t index, unsigned char *args)
{
    memcpy(args, array->bytes, MOOT_HASH_BYTES);
    put_word(args + MOOT_HASH_BYTES, index);
}

bool read_unpack(const struct task *task, uint64_t *index)
{
    const unsigned char *args = task->args;
    if (task->args_size != READ_ARGS_BYTES) {
        return false;
    }
    *index = get_word(args + MOOT_HASH_BYTES);
    return true;
}

/* The array that such arguments name, if this rank has spawned it; NULL: it has not, or
 * they name no element. */
static struct elements *unpack(const struct moot *m, const unsigned char *args,
                               size_t size, uint64_t *place)
{
    moot_hash hash;
    if (size != READ_ARGS_BYTES) {
        return NULL;
    }
    memcpy(hash.bytes, args, MOOT_HASH_BYTES);
    const uint64_t index = get_word(args + MOOT_HASH_BYTES);
    const struct task *task = core_user(m->core, &hash);
    struct elements *elements =
        task != NULL && !core_is_stub(task) ? elements_of(task) : NULL;
    if (elements == NULL || index >= elements->spread.count) {
        return NULL;
    }
    *place = array_place(&elements->spread, index);
    return elements;
}

static bool adopts(struct moot *m, const struct message_spec *spec)
{
    uint64_t place;
    const struct elements *elements = unpack(m, spec->args, spec->args_size, &place);
    if (elements == NULL) {
        return false;
    }
    const struct element_block *block = elements_block(elements, place);
    const bool asked = spec->candidates != NULL; /* by a gate, which waits for no end */
    return asked ? block == NULL || elements_has_ended(block, place) : block != NULL;
}

int read_make_again(moot_call *call, void *user)
{
    struct moot *m = user;
    uint64_t place = 0;
    size_t size = 0;
    const void *args = moot_call_args(call, &size);
    engine_lock(m);
    struct elements *elements = unpack(m, args, size, &place);
    engine_unlock(m);
    if (elements == NULL) {
        return moot_call_fail(call, MOOT_ERR_STATE, "the array is not on this rank");
    }
    if (!elements_can_repeat(elements)) { /* to compare results */
        return moot_call_fail(call, MOOT_ERR_STATE,
                              elements->once ? "its element is not run twice"
                                             : "its element takes others");
    }
    const struct kernel *kernel = elements->task->kernel; /* this task comes after it */
    call_of_element(call, elements, place);
    return kernel->fn(call, kernel->user);
}

bool read_aim(const struct moot *m, struct task_facts *facts,
              const struct element_homes *homes, uint32_t home)
{
    const struct identity identity = spawn_identity(facts);
    moot_hash hash = identity_hash(&identity);
    struct rankset among = {0};
    const bool good =
        rankset_copy(&among, &m->tasks.founders) && rankset_merge(&among, homes->ranks);
    while (good && placement_chair(&hash, &among, NULL) != home) {
        hash_set_place(&hash, hash_place(&hash) + 1);
    }
    facts->place = hash_place(&hash);
    rankset_release(&among);
    return good;
}

bool read_take_in(struct moot *m, const struct named_array *array, uint64_t index,
                  uint32_t rank, uint32_t refusals, moot_hash *hash)
{
    unsigned char args[READ_ARGS_BYTES];
    struct rankset candidates = {0};
    read_pack(&array->hash, index, args);
    struct kernel *kernel = kernel_find(&m->tasks.kernels, read_name);
    struct task_facts facts = {
        .kernel = kernel, .args = args, .args_size = sizeof(args)};
    facts.reg.flags = kernel->core_flags;
    facts.reg.scope = array->scope;
    bool good = true;
    if (rank != UINT32_MAX) {
        good = rankset_add(&candidates, rank);
        facts.reg.candidates = &candidates;
        facts.place = refusals;
    } else {
        facts.reg.inputs = &array->hash;
        facts.reg.input_count = facts.reg.after_count = 1;
        good = read_aim(m, &facts, &array->homes,
                        elements_home(&array->spread, &array->homes, index));
    }
    const struct identity identity = spawn_identity(&facts);
    *hash = identity_hash(&identity);
    struct task *task = good ? task_enter(m, hash) : NULL;
    good = task != NULL && (task->held || spawn_take_in(m, task, &facts) == MOOT_OK);
    rankset_release(&candidates);
    return good;
}

void reads_take_early(struct moot *m)
{
    if (m->spawn.early != NULL) {
        early_take(m, kernel_find(&m->tasks.kernels, read_name), EARLY_LOOKS);
    }
}

/* --- Seeking ---------------------------------------------------------------------- */

static void free_seek(struct read_seek *seek)
{
    rankset_release(&seek->makers);
    rankset_release(&seek->homes);
    free(seek);
}

static void end_seek(struct moot *m, struct read_seek **at, struct payload *result)
{
    struct read_seek *seek = *at;
    struct task *task = seek->task;
    *at = seek->next;
    elements_go_on(m);
    if (result != NULL) {
        task_end(m, task, MOOT_OK, result);
    } else {
        struct text story = {0};
        task_describe(&story, task);
        text_add(&story,
                 ": no rank has the element's result any more: the one that had "
                 "made it is gone, and with it what that was made of");
        task_end_with_story(m, task, MOOT_ERR_RESULT_LOST, NO_ROOT_CAUSE, &story);
    }
    task->pins--;
    progress_wake(m);
    free_seek(seek);
}

static struct read_seek **find_seek(struct moot *m, uint64_t number)
{
    struct read_seek **at = &m->compose.reads.seeks;
    while (*at != NULL && (*at)->number != number) {
        at = &(*at)->next;
    }
    return *at != NULL ? at : NULL;
}

/* That rank, or all members (UINT32_MAX). */
static void ask(struct moot *m, struct read_seek *seek, uint32_t rank)
{
    seek->number = PARTS_FOR_READS + m->compose.reads.asked++;
    seek->denied = 0;
    seek->wide = rank == UINT32_MAX;
    seek->makes = seek->here = seek->gated = false;
    seek->maker = 0;
    rankset_release(&seek->makers);
    seek->asked = parts_seek_one(m, &seek->array, seek->place, rank, seek->number);
}

/* Its task is to be run by that rank, which has it or is to make it again. */
static void take_of(struct moot *m, struct read_seek *seek, uint32_t rank)
{
    moot_hash read;
    seek->gated = true;
    const uint64_t index = array_index(&seek->array.spread, seek->place);
    if (!read_take_in(m, &seek->array, index, rank, seek->refusals, &read) ||
        !gate_for_read(m, &seek->array, seek->number, &read)) {
        engine_starve(m, "no memory to ask for an element");
    }
}

/* The next member that can make it, and stays; UINT32_MAX: there is none. */
static uint32_t next_maker(const struct moot *m, const struct read_seek *seek)
{
    uint32_t rank = rankset_next(&seek->makers, seek->maker);
    while (rank != UINT32_MAX &&
           (!members_is_here(m, rank) || core_goes(m->core, rank))) {
        rank = rankset_next(&seek->makers, rank + 1);
    }
    return rank;
}

/* No rank has it.  Who has spawned the array can make it again: this rank, or another
 * one, if the task looks for such. */
static void make_again(struct moot *m, struct read_seek **at)
{
    struct read_seek *seek = *at;
    uint64_t place;
    struct elements *here = unpack(m, seek->task->args, seek->task->args_size, &place);
    const uint32_t maker = seek->found ? next_maker(m, seek) : UINT32_MAX;
    seek->makes = true;
    if (here != NULL && element_again(m, here, place)) {
        seek->here = true; /* reads_look() */
    } else if (maker == UINT32_MAX) {
        end_seek(m, at, NULL);
    } else {
        seek->maker = maker + 1;
        seek->refusals++;
        take_of(m, seek, maker);
    }
}

/* Those that were asked do not have it. */
static void go_on(struct moot *m, struct read_seek **at)
{
    if (!(*at)->wide) {
        ask(m, *at, UINT32_MAX);
    }
    if ((*at)->wide && (*at)->denied >= (*at)->asked) {
        make_again(m, at);
    }
}

void read_seek(struct moot *m, struct task *task, const struct named_array *array,
               uint64_t place, bool found)
{
    struct read_seek *seek = calloc(1, sizeof(*seek));
    if (seek == NULL || !rankset_copy(&seek->homes, array->homes.ranks)) {
        free(seek);
        engine_starve(m, "no memory to ask for an element");
        return;
    }
    seek->next = m->compose.reads.seeks;
    seek->task = task;
    seek->array = *array;
    seek->array.homes.ranks = &seek->homes;
    seek->place = place;
    seek->found = found;
    task->pins++;
    m->compose.reads.seeks = seek;
    ask(m, seek,
        found ? elements_home_of(&array->spread, &array->homes, place) : UINT32_MAX);
    if (seek->asked == 0) {
        go_on(m, &m->compose.reads.seeks);
    }
}

/* A gate asks for an element that is not here, of an array that is cancelled and has
 * not ended well: nobody begins it any more.  Who asked goes by the array's end then.
 */
static bool end_cancelled(struct moot *m, struct task *task, const struct task *array)
{
    struct core_task_view view;
    const bool over = array->known && array->status == MOOT_OK;
    if (over || !hash_has(&task->hash, MOOT_HASH_CANDIDATES) ||
        !core_task_look(m->core, &array->hash, &view)) {
        return false;
    }
    const uint32_t by = view.canceller;
    core_task_view_release(&view);
    if (by == PLACEMENT_NOBODY) {
        return false;
    }
    struct text story = {0};
    story_of_cancel(&story, m, array, by, false);
    task_end_with_story(m, task, MOOT_ERR_TASK_FAILED, NO_ROOT_CAUSE, &story);
    progress_wake(m);
    return true;
}

/* In the place of a run. */
static bool open_read(struct moot *m, struct task *task, const struct task *failed)
{
    uint64_t place = 0;
    struct elements *elements = unpack(m, task->args, task->args_size, &place);
    if (failed != NULL || elements == NULL) {
        return false;
    }
    struct payload *result = parts_find(elements, place);
    if (result != NULL) {
        task_end(m, task, MOOT_OK, payload_hold(result));
        progress_wake(m);
        return true;
    }
    if (end_cancelled(m, task, elements->task)) {
        return true;
    }
    const bool may = elements_may_run(m, &elements->homes);
    if (elements_can_repeat(elements) && may) {
        return false;
    }
    const struct named_array array = elements_name(elements);
    read_seek(m, task, &array, place, !may);
    return true;
}

static void hear_large(struct moot *m, struct read_seek *seek, uint32_t rank)
{
    if (members_is_here(m, rank)) { /* else the next view has all asked again */
        take_of(m, seek, rank);
    }
}

void reads_hear_large(struct moot *m, uint64_t number, const struct task *result)
{
    struct read_seek **at = find_seek(m, number);
    if (at == NULL) {
        return;
    }
    (*at)->gated = false;
    if (result != NULL) {
        end_seek(m, at, payload_hold(result->payload));
    } else if ((*at)->makes) {
        make_again(m, at);
    } else { /* who had it is gone, or goes */
        (*at)->refusals++;
        ask(m, *at, UINT32_MAX);
    }
}

/* That rank does not have it. */
static void deny(struct moot *m, struct read_seek **at, uint32_t from, bool can_make)
{
    struct read_seek *seek = *at;
    if (can_make && !rankset_add(&seek->makers, from)) {
        engine_starve(m, "no memory to ask for an element");
        return;
    }
    if (++seek->denied >= seek->asked) {
        go_on(m, at);
    }
}

bool reads_take_parts(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_parts *said = &message->u.parts;
    core_took_own(m->core, from, message->epoch, message->view_id);
    if (said->seek < PARTS_FOR_READS || !hash_is_zero(&said->of)) {
        return parts_take(m, from, message);
    }
    struct read_seek **at = find_seek(m, said->seek);
    const struct message_part *part = said->parts;
    if (at == NULL || said->part_count != 1 || part->place != (*at)->place) {
        return false;
    }
    if (part->state == PART_BYTES) {
        struct payload *result =
            payloads_copy(&m->store.payloads, said->bytes, part->size);
        if (result == NULL) {
            engine_starve(m, "no memory for an element");
            return false;
        }
        end_seek(m, at, result);
    } else if (part->state == PART_LARGE) {
        hear_large(m, *at, from);
    } else {
        deny(m, at, from, said->input != 0);
    }
    return false;
}

void reads_look(struct moot *m)
{
    struct read_seek **at = &m->compose.reads.seeks;
    while (*at != NULL) {
        struct read_seek *seek = *at;
        uint64_t place;
        struct elements *here =
            seek->here ? unpack(m, seek->task->args, seek->task->args_size, &place)
                       : NULL;
        struct payload *result = here != NULL ? parts_find(here, place) : NULL;
        if (result != NULL) {
            end_seek(m, at, payload_hold(result));
        } else if (seek->here && (here == NULL || !element_again(m, here, place))) {
            end_seek(m, at, NULL);
        } else {
            at = &seek->next;
        }
    }
}

uint32_t reads_waiting(const struct moot *m)
{
    uint32_t count = 0;
    for (const struct read_seek *seek = m->compose.reads.seeks; seek != NULL;
         seek = seek->next) {
        count += (seek->here || seek->gated) && !seek->task->gone;
    }
    return count;
}

void reads_seek_again(struct moot *m)
{
    struct read_seek **at = &m->compose.reads.seeks;
    while (*at != NULL) {
        struct read_seek *seek = *at;
        ask(m, seek, UINT32_MAX);
        if (seek->asked == 0) {
            go_on(m, at);
        }
        at = *at == seek ? &seek->next : at;
    }
}

/* --- Beginning and ending --------------------------------------------------------- */

bool reads_begin(struct moot *m)
{
    const moot_kernel read = {.name = read_name,
                              .fn = read_make_again,
                              .user = m,
                              .flags = MOOT_KERNEL_PORTABLE};
    struct kernel *added = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &read);
    if (added == NULL) {
        return false;
    }
    added->adopts = adopts;
    added->opens = open_read;
    m->compose.element.id = added->id;
    return true;
}

void reads_release(struct moot *m)
{
    while (m->compose.reads.seeks != NULL) {
        struct read_seek *seek = m->compose.reads.seeks;
        m->compose.reads.seeks = seek->next;
        free_seek(seek);
    }
}
