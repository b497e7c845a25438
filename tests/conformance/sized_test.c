/* sized_test.c - programs of other releases: every call that takes or fills a struct
 * takes a longer one that makes no use of what is new, refuses it otherwise, and fills
 * no more than there is.
 */
#include "node/api/moot_array.h"
#include "node/api/moot_reference.h"
#include "tests/conformance/kernels.h"
#include <assert.h>

/* A struct as a later release has it. */
#define LATER(type)                                                                    \
    struct {                                                                           \
        type now;                                                                      \
        uint64_t later;                                                                \
    }

static void expect_taken(struct seat *seat, const int codes[3], const char *call)
{
    static const int wanted[] = {MOOT_OK, MOOT_ERR_INVALID, MOOT_ERR_INVALID};
    static const char *const cases[] = {"longer", "longer, and used", "cut"};
    for (int i = 0; i < 3; i++) {
        if (codes[i] == wanted[i]) {
            continue;
        }
        fprintf(stderr, "rank %d of %d: %s: %s gave %s\n", seat->rank, seat->size,
                cases[i], call, moot_err_name(codes[i]));
        CHECK(seat, codes[i] == wanted[i]);
    }
}

/* How much of it the first release had. */
#define FIRST(x)                                                                       \
    _Generic((x), moot_task_spec : offsetof(moot_task_spec, pset), default : sizeof(x))

/* `call` takes `x`, refuses it if it uses what is new, and if it is cut. */
#define TAKES(seat, x, call)                                                           \
    do {                                                                               \
        int codes_[3];                                                                 \
        (x).now.size = sizeof(x);                                                      \
        codes_[0] = (call);                                                            \
        (x).later = 1;                                                                 \
        codes_[1] = (call);                                                            \
        (x).now.size = FIRST((x).now) - 8;                                             \
        codes_[2] = (call);                                                            \
        (x).now.size = 0;                                                              \
        (x).later = 0;                                                                 \
        expect_taken(seat, codes_, #call);                                             \
    } while (0)

enum { PARENT = RELAY + 1, CHILD };

static int parent(moot_call *call, void *user)
{
    struct seat *seat = user;
    LATER(moot_task_spec) spec = {.now = {.kernel = seat->kernels[CHILD]}};
    moot_task task = {0};
    TAKES(seat, spec, moot_call_spawn(call, &spec.now, &task));
    EXPECT(seat, moot_call_wait(call, task, NULL, NULL), MOOT_OK);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void registrations(struct seat *seat)
{
    LATER(moot_kernel) kernel = {.now = {.name = "parent", .fn = parent, .user = seat}};
    moot_kernel_id id;
    TAKES(seat, kernel,
          moot_kernel_register(seat->m, &kernel.now, &seat->kernels[PARENT]));
    kernel.now = (moot_kernel){.name = "child", .fn = empty};
    TAKES(seat, kernel,
          moot_kernel_register(seat->m, &kernel.now, &seat->kernels[CHILD]));
    EXPECT(seat, moot_kernel_register(seat->m, &kernel.now, &id),
           MOOT_ERR_KERNEL_EXISTS);
}

static int nothing_taken(void *user, const void *args, size_t args_size,
                         uint64_t element, uint64_t count, uint64_t source_count,
                         moot_range *out, size_t room)
{
    (void)user, (void)args, (void)args_size, (void)element, (void)count;
    (void)source_count, (void)out, (void)room;
    return 0;
}

static void arrays(struct seat *seat)
{
    LATER(moot_array_spec) spec = {.now = {.kernel = seat->kernels[CHILD], .count = 2}};
    moot_array array = {0};
    TAKES(seat, spec, moot_array_spawn(seat->m, &spec.now, &array));
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    LATER(moot_map) map = {.now = {.name = "m", .sources = nothing_taken}};
    moot_map_id id;
    TAKES(seat, map, moot_map_register(seat->m, &map.now, &id));
}

static void specs(struct seat *seat)
{
    uint64_t value = 5;
    LATER(moot_task_spec)
    spec = {.now = {.kernel = seat->kernels[SQUARE],
                    .args = &value,
                    .args_size = sizeof(value)}};
    LATER(moot_task_spec) more = {.now = {.kernel = seat->kernels[SUM]}};
    moot_task task, next, named;
    moot_data data;
    moot_hash hash;
    TAKES(seat, spec, moot_task_spawn(seat->m, &spec.now, &task));
    TAKES(seat, spec, moot_spec_hash(seat->m, &spec.now, &hash));
    TAKES(seat, spec, moot_task_name(seat->m, &spec.now, &named));
    TAKES(seat, more, moot_task_then(seat->m, task, &more.now, &next));
    EXPECT(seat, moot_task_wait(seat->m, next, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_data_new(seat->m, task, &data), MOOT_OK);
    TAKES(seat, more,
          moot_data_spawn(seat->m, &more.now, &(moot_access){data, MOOT_READWRITE}, 1,
                          NULL));
    spec.now =
        (moot_task_spec){.kernel = seat->kernels[PARENT], .key = "p", .key_size = 1};
    EXPECT(seat, moot_task_spawn(seat->m, &spec.now, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
}

/* --- What is filled --------------------------------------------------------------- */

enum { LONGEST = 1024, UNTOUCHED = 0xee };

static void expect_filled(struct seat *seat, const unsigned char *bytes, size_t size,
                          const char *call)
{
    const bool filled = bytes[size] == 0 && bytes[size + 7] == 0;
    if (!filled || bytes[size + 8] != UNTOUCHED) {
        fprintf(stderr, "rank %d of %d: %s\n", seat->rank, seat->size, call);
    }
    CHECK(seat, filled && bytes[size + 8] == UNTOUCHED);
}

/* What it returned for a size too small, and for one that is more than there is. */
static void expect_codes(struct seat *seat, int cut, int longer, const char *call)
{
    if (cut != MOOT_ERR_INVALID || longer != MOOT_OK) {
        fprintf(stderr, "rank %d of %d: %s gave %s and %s\n", seat->rank, seat->size,
                call, moot_err_name(cut), moot_err_name(longer));
    }
    CHECK(seat, cut == MOOT_ERR_INVALID && longer == MOOT_OK);
}

/* `call` writes `size` bytes to `out` and no more, and refuses to write fewer than the
 * struct of the first release had, up to the field `first`. */
#define FILLS(seat, type, first, call)                                                 \
    do {                                                                               \
        static_assert(sizeof(type) + 9 <= LONGEST, #type " fits");                     \
        _Alignas(type) unsigned char bytes_[LONGEST];                                  \
        type *out = (type *)(void *)bytes_;                                            \
        memset(bytes_, UNTOUCHED, sizeof(bytes_));                                     \
        size_t size = offsetof(type, first) + sizeof(out->first) - 8;                  \
        const int cut_ = (call);                                                       \
        size += 8;                                                                     \
        EXPECT(seat, (call), MOOT_OK);                                                 \
        CHECK(seat, bytes_[size] == UNTOUCHED);                                        \
        size = sizeof(type) + 8;                                                       \
        expect_codes(seat, cut_, (call), #call);                                       \
        expect_filled(seat, bytes_, sizeof(type), #call);                              \
    } while (0)

static void outputs(struct seat *seat)
{
    moot_task tasks[2] = {spawn_u64(seat, SQUARE, 7), spawn_u64(seat, SQUARE, 8)};
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 2, MOOT_FOREVER), MOOT_OK);
    FILLS(seat, moot_stats, tasks_taken_over, moot_stats_get_sized(seat->m, out, size));
    FILLS(seat, moot_task_info, kernel,
          moot_task_info_sized(seat->m, tasks[0], out, size));
    FILLS(seat, moot_task_info, kernel,
          moot_task_info_all_sized(seat->m, tasks, 1, out, size));
}

static void several_outputs(struct seat *seat)
{
    moot_task tasks[2] = {spawn_u64(seat, SQUARE, 7), spawn_u64(seat, SQUARE, 8)};
    LATER(moot_task_info) infos[2] = {{.later = 9}, {.later = 9}};
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 2, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat,
           moot_task_info_all_sized(seat->m, tasks, 2, &infos[0].now, sizeof(infos[0])),
           MOOT_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(seat, infos[i].later == 0 && infos[i].now.state == MOOT_TASK_DONE &&
                        strcmp(infos[i].now.kernel, "square") == 0);
    }
}

/* --- What is shown ---------------------------------------------------------------- */

static int pass(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                void *state)
{
    struct seat *seat = state;
    FILLS(seat, moot_ticket_view, site, moot_ticket_look_sized(tickets[0], out, size));
    return moot_queue_up(queue, tickets, count);
}

static void see_event(void *user, const moot_event *event)
{
    (void)user;
    (void)event;
}

static int see_task(void *user, const moot_task_info *info)
{
    (void)user;
    (void)info;
    return MOOT_OK;
}

static void tools(struct seat *seat)
{
    LATER(moot_queue_custom)
    queue = {.now = {.name = "pass", .submit = pass, .user = seat}};
    LATER(moot_watch) watch = {.now = {.fn = see_event}};
    LATER(moot_task_filter) filter = {.later = 0};
    LATER(moot_data_options) data = {.later = 0};
    moot_watch_id id;
    TAKES(seat, queue, moot_queue_open_custom(seat->m, &queue.now));
    moot_task task = spawn_u64(seat, SQUARE, 11);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    TAKES(seat, watch, moot_watch_add(seat->m, &watch.now, &id));
    EXPECT(seat, moot_watch_remove(seat->m, id), MOOT_OK);
    TAKES(seat, filter, moot_tasks_each(seat->m, &filter.now, see_task, NULL));
    TAKES(seat, data,
          moot_data_file_with(seat->m, "/proc/self/cmdline", &data.now, &task));
}

static int open_alone(struct inproc_hub *hub, const moot_options *options, moot **out)
{
    struct transport_inproc_options end = {.hub = hub, .rank = 0};
    return moot_open_transport(options, transport_inproc_open, &end, out);
}

static void options(struct seat *seat)
{
    struct inproc_hub *hub = inproc_hub_new(1);
    moot *m = NULL;
    LATER(moot_options) given = {.later = 0};
    CHECK(seat, hub != NULL);
    TAKES(seat, given, open_alone(hub, &given.now, &m));
    EXPECT(seat, moot_close(m), MOOT_OK);
    inproc_hub_free(hub);
}

/* --- All of them ---------------------------------------------------------------- */

static void inputs(struct seat *seat)
{
    registrations(seat);
    specs(seat);
    arrays(seat);
}

static const struct scene scenes[] = {
    SCENE(inputs, .knobs = NULL),          SCENE(outputs, .knobs = NULL),
    SCENE(several_outputs, .knobs = NULL), SCENE(tools, .knobs = NULL),
    SCENE(options, .sizes = {1}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
