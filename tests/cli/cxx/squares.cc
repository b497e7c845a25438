// squares.cc - a program in C++: the structs are filled by MOOT_INIT, as in C.  Each
// sensor's task is spawned on one rank only, and every rank adds up all results.
#ifdef WITH_MPI
#include <moot_mpi.h>
#endif
#include <moot.h>

#include <cstdio>
#include <vector>

static int square(moot_call *call, void *)
{
    const long *x = static_cast<const long *>(moot_call_args(call, nullptr));
    long *result = static_cast<long *>(moot_call_output(call, sizeof(long)));
    if (result == nullptr) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for a square");
    }
    *result = *x * *x;
    return MOOT_OK;
}

struct watched {
    int ended;
};

static void count_ends(void *user, const moot_event *event)
{
    static_cast<watched *>(user)->ended += event->status == MOOT_OK;
}

#define CHECK(call)                                                                    \
    do {                                                                               \
        if ((call) != MOOT_OK) {                                                       \
            std::fprintf(stderr, "%s: %s\n", #call, moot_last_error(m));               \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

static int run(moot *m, watched *seen)
{
    enum { SENSORS = 8 };
    moot_kernel kernel = MOOT_INIT(moot_kernel);
    moot_kernel_id id;
    kernel.name = "square";
    kernel.fn = square;
    CHECK(moot_kernel_register(m, &kernel, &id));

    moot_watch watch = MOOT_INIT(moot_watch);
    moot_watch_id watch_id;
    watch.kinds = MOOT_EVENT_DONE;
    watch.fn = count_ends;
    watch.user = seen;
    CHECK(moot_watch_add(m, &watch, &watch_id));

    std::vector<moot_task> tasks(SENSORS);
    std::vector<const void *> data(SENSORS);
    for (long i = 0; i < SENSORS; i++) {
        moot_task_spec spec = MOOT_INIT(moot_task_spec);
        spec.kernel = id;
        spec.args = &i;
        spec.args_size = sizeof(i);
        spec.owner = MOOT_ON(static_cast<int>(i) % moot_size(m));
        if (i % moot_size(m) == moot_rank(m)) {
            CHECK(moot_task_spawn(m, &spec, &tasks[static_cast<size_t>(i)]));
        } else {
            CHECK(moot_task_name(m, &spec, &tasks[static_cast<size_t>(i)]));
        }
    }
    CHECK(moot_task_fetch_all(m, tasks.data(), tasks.size(), MOOT_SECONDS(60),
                              data.data(), nullptr));
    long sum = 0;
    for (const void *result : data) {
        sum += *static_cast<const long *>(result);
    }
    moot_task_info info;
    moot_stats stats;
    CHECK(moot_task_info(m, tasks[0], &info));
    CHECK(moot_stats_get(m, &stats));
    CHECK(moot_task_release_all(m, tasks.data(), tasks.size()));
    std::printf("rank %d: the sum is %ld\n", moot_rank(m), sum);
    return sum == 140 && info.owner == 0 && info.code == 0 && stats.tasks_run > 0 ? 0
                                                                                  : 1;
}

int main()
{
    moot *m = nullptr;
    moot_options options = MOOT_INIT(moot_options);
    watched seen = {0};
    int code;
#ifdef WITH_MPI
    int level;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    CHECK(moot_open_comm(&options, MPI_COMM_WORLD, &m));
#else
    CHECK(moot_open(&options, &m));
#endif
    code = run(m, &seen);
    CHECK(moot_close(m)); /* which ends the watch, after its last event */
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return code != 0 || seen.ended == 0;
}
