/* session_arrays.c - see session_arrays.h. */
#include "tests/virtual/session_arrays.h"

#include "tests/medley/medley.h"

#include <string.h>

enum { COUNT_MAX = 60, RANKS = 8 };

static uint64_t word_of(const struct session_arrays *arrays, uint64_t session,
                        uint64_t of)
{
    return medley_mix(arrays->seed * 131 + medley_mix(session * 1000 + of)) >> 8;
}

static uint64_t value_of(uint64_t session, uint64_t index)
{
    return medley_mix(session * 1000000 + index);
}

static uint64_t count_of(const struct session_arrays *arrays)
{
    return 1 + word_of(arrays, 0, 1) % COUNT_MAX;
}

/* The count of the second array of a session of so many ranks; 0: none. */
static uint64_t candidates_of(const struct session_arrays *arrays, uint64_t session,
                              int size)
{
    const uint64_t some = word_of(arrays, session, 2) & ((UINT64_C(1) << size) - 1);
    return word_of(arrays, session, 3) % 2 == 0 ? some : 0;
}

/* --- Kernels ---------------------------------------------------------------------- */

static int put(moot_call *call, uint64_t value)
{
    void *out = moot_call_output(call, sizeof(value));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(out, &value, sizeof(value));
    return MOOT_OK;
}

static int first_kernel(moot_call *call, void *user)
{
    uint64_t session;
    (void)user;
    memcpy(&session, moot_call_args(call, NULL), sizeof(session));
    return put(call, value_of(session, moot_call_index(call)));
}

static int second_kernel(moot_call *call, void *user)
{
    struct session_arrays *arrays = user;
    uint64_t session, value;
    memcpy(&session, moot_call_args(call, NULL), sizeof(session));
    memcpy(&value, moot_call_input(call, 0, NULL), sizeof(value));
    const moot_session_info *here = arrays->session;
    const uint64_t candidates = candidates_of(arrays, session, here->size);
    arrays->strays |= here->number == session && here->rank >= 0 && candidates != 0 &&
                      (candidates >> here->rank & 1) == 0;
    return put(call, medley_mix(value + session));
}

const char *session_arrays_begin(struct session_arrays *arrays, moot *m, uint64_t seed,
                                 const moot_session_info *session)
{
    *arrays = (struct session_arrays){.m = m, .seed = seed, .session = session};
    const moot_kernel first = {.name = "first", .fn = first_kernel};
    const moot_kernel second = {.name = "second", .fn = second_kernel, .user = arrays};
    arrays->code = moot_kernel_register(m, &first, &arrays->first);
    if (arrays->code == MOOT_OK) {
        arrays->code = moot_kernel_register(m, &second, &arrays->second);
    }
    return arrays->code == MOOT_OK ? NULL : "a kernel of arrays is not registered";
}

/* --- A session -------------------------------------------------------------------- */

static moot_array_spec spec_of(const struct session_arrays *arrays, uint64_t *session)
{
    const uint64_t kind = word_of(arrays, 0, 4) % 3;
    return (moot_array_spec){.size = sizeof(moot_array_spec),
                             .kernel = arrays->first,
                             .count = count_of(arrays),
                             .args = session,
                             .args_size = sizeof(*session),
                             .spread = {.kind = (enum moot_spread_kind)kind}};
}

static int spawn_second(struct session_arrays *arrays, const moot_array_spec *like,
                        moot_array from, moot_array *out)
{
    const moot_session_info *here = arrays->session;
    const uint64_t candidates = candidates_of(arrays, here->number, here->size);
    const moot_array_input input = {.array = from};
    int ranks[RANKS];
    size_t count = 0;
    for (int rank = 0; rank < here->size && rank < RANKS; rank++) {
        if (candidates >> rank & 1) {
            ranks[count++] = rank;
        }
    }
    moot_array_spec spec = *like;
    spec.kernel = arrays->second;
    spec.inputs = &input;
    spec.input_count = 1;
    spec.candidates = (moot_ranks){count > 0 ? ranks : NULL, count};
    return moot_array_spawn(arrays->m, &spec, out);
}

static int read_one(struct session_arrays *arrays, moot_array array, uint64_t index,
                    uint64_t wanted, const char **wrong)
{
    uint64_t value = 0;
    moot_task task;
    int code = moot_array_at(arrays->m, array, index, &task);
    if (code != MOOT_OK) {
        return code;
    }
    code = moot_task_fetch_into(arrays->m, task, MOOT_FOREVER, &value, sizeof(value),
                                NULL);
    if (code == MOOT_OK && value != wanted) {
        *wrong = "an element of an array has another value";
    }
    (void)moot_task_release(arrays->m, task);
    return code;
}

/* The second takes of `taken`, which was spawned in that session. */
static int look(struct session_arrays *arrays, moot_array taken, uint64_t of,
                moot_array second, const char **wrong)
{
    const uint64_t session = arrays->session->number;
    const uint64_t index = word_of(arrays, session, 5) % count_of(arrays);
    const uint64_t value = value_of(of, index);
    int code = moot_array_wait(arrays->m, second, MOOT_FOREVER);
    if (code == MOOT_OK) {
        code = read_one(arrays, taken, index, value, wrong);
    }
    return code == MOOT_OK
               ? read_one(arrays, second, index, medley_mix(value + session), wrong)
               : code;
}

const char *session_arrays_run(struct session_arrays *arrays)
{
    uint64_t session = arrays->session->number;
    const bool across = arrays->before.id != 0;
    const moot_array_spec spec = spec_of(arrays, &session);
    const char *wrong = NULL;
    moot_array first = {0}, second = {0};
    int code = moot_array_spawn(arrays->m, &spec, &first);
    const moot_array taken = across ? arrays->before : first;
    if (code == MOOT_OK) {
        code = spawn_second(arrays, &spec, taken, &second);
    }
    if (code == MOOT_OK) {
        code = look(arrays, taken, session - across, second, &wrong);
    }
    if (first.id != 0 && code == MOOT_OK) {
        const int ended = moot_array_wait(arrays->m, first, MOOT_FOREVER);
        code = code == MOOT_OK ? ended : code;
    }
    arrays->code = code;
    (void)moot_array_release(arrays->m, second);
    (void)moot_array_release(arrays->m, arrays->before);
    arrays->before = first;
    if (arrays->strays) {
        return "this rank runs an element, and is no candidate";
    }
    return wrong != NULL ? wrong : code != MOOT_OK ? "an array ends otherwise" : NULL;
}

bool session_arrays_may_end(int code)
{
    return code == MOOT_ERR_NO_CANDIDATE || code == MOOT_ERR_NOT_HELD ||
           code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_RESULT_LOST ||
           code == MOOT_ERR_NO_QUORUM;
}
