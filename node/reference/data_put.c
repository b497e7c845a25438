/* data_put.c - memory of the program becomes a task's result (moot_reference.h). */
#include "node/api/moot_reference.h"

#include "node/engine/engine.h"
#include "node/reference/data_task.h"
#include "node/store/store.h"

static int refuse_put(struct moot *m, int code, const char *why)
{
    return lane_refuse(m, code, "moot_data_put", why);
}

/* The elements' canonical bytes, and what they are. */
static int gather(struct moot *m, const moot_ndarray *array, struct data_source *source)
{
    uint64_t size = 0;
    int error = data_size(array, &size);
    if (error != MOOT_OK) {
        return refuse_put(m, error,
                          error == MOOT_ERR_LIMIT
                              ? "the array has more bytes than a result can have"
                              : "this is no array: its type, its shape or its data");
    }
    source->bytes = payloads_new(&m->store.payloads, size);
    if (source->bytes == NULL) {
        return refuse_put(m, MOOT_ERR_NO_MEMORY, "no memory for a copy of the array");
    }
    const struct data_room room = {source->bytes->data, size};
    error = data_gather_array(array, &room, &source->facts);
    if (error != MOOT_OK) {
        payload_free(source->bytes);
        return refuse_put(m, error, "an element is no text in UTF-8, or has no data");
    }
    return MOOT_OK;
}

int moot_data_put_at(moot *m, const moot_ndarray *array, moot_task *out,
                     const char *site)
{
    if (m == NULL || array == NULL || out == NULL) {
        return refuse_put(m, MOOT_ERR_INVALID,
                          m == NULL       ? "the moot is NULL"
                          : array == NULL ? "the array is NULL"
                                          : "the output is NULL");
    }
    struct data_source source = {.path = NULL};
    int error = gather(m, array, &source);
    if (error != MOOT_OK) {
        return error;
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        payload_free(source.bytes);
        return MOOT_ERR_NO_MEMORY;
    }
    error = data_spawn(m, lane, &source, site, out);
    engine_leave(m);
    return error;
}
