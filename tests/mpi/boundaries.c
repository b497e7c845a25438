/* boundaries.c - ranks that do something else where the others end a session.
 *
 *     boundaries barrier|kernel|absent|closed|cut|cut-leave|leave|wrong  a rank of a
 * job
 *
 * barrier: rank 1 is at a barrier, and all are told so.  kernel: one calls it inside a
 * kernel.  absent: rank 1 sleeps for 3 s and then comes; the stall report names it.
 * closed: rank 1 has closed, and is in no further session.  cut: it comes to the end of
 * the session, and another of its threads closes while the others are yet to come.
 * cut-leave: likewise, and it was to go.  leave: it leaves, or, where
 * that is refused, does not.  wrong: calls that are refused.  Each rank prints what it
 * was told.
 */
#include "node/api/moot_session.h"
#include "tests/mpi/support/must.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell(moot *m, const char *what, int code)
{
    printf("boundaries: rank %d: %s: %s %s\n", moot_rank(m), what, moot_err_name(code),
           code == MOOT_OK ? "" : moot_last_error(m));
}

static int ends_session(moot_call *call, void *user)
{
    (void)user;
    moot *m = moot_call_context(call);
    tell(m, "in a kernel", moot_session_next(m, NULL, NULL));
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void run_kernel(moot *m)
{
    moot_kernel_id kernel;
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "ends", .fn = ends_session},
                              &kernel),
         "kernel");
    moot_task task;
    must(m, moot_task_spawn(m, &(moot_task_spec){.kernel = kernel}, &task), "spawn");
    must(m, moot_task_wait(m, task, MOOT_FOREVER), "wait");
}

static void be_wrong(moot *m)
{
    moot_session_info session;
    moot_pset_info set;
    tell(m, "no moot", moot_session_next(NULL, NULL, NULL));
    tell(m, "a size of 4",
         moot_session_next(m, &(moot_session_options){.size = 4}, NULL));
    tell(m, "no output", moot_session_info_get(m, NULL));
    tell(m, "no set", moot_pset_info(m, moot_pset_count(m), &set));
    tell(m, "no moot's set", moot_pset_info(NULL, 0, &set));
    tell(m, "present", moot_present(m, moot_size(m)));
    tell(m, "next", moot_session_next(m, NULL, &session));
    printf("boundaries: session %llu of %d: %s, %zu sets, none without a moot: %zu\n",
           (unsigned long long)session.number, session.size, session.why,
           moot_pset_count(m), moot_pset_count(NULL));
}

static void *come_to_end(void *context)
{
    moot *m = context;
    const int code = moot_session_next(m, NULL, NULL);
    printf("boundaries: cut: %s\n", moot_err_name(code));
    return NULL;
}

static void *come_to_go(void *context)
{
    moot *m = context;
    const int code = moot_session_next(m, &(moot_session_options){.leave = true}, NULL);
    printf("boundaries: cut: %s\n", moot_err_name(code));
    return NULL;
}

/* The others come a second later, when this rank's call has long been cut. */
static int be_cut(moot *m, bool leaves)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, leaves ? come_to_go : come_to_end, m) != 0) {
        return MOOT_ERR_NO_MEMORY;
    }
    usleep(300000);
    const int code = moot_close(m);
    (void)pthread_join(thread, NULL);
    return code;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    const char *how = argc > 1 ? argv[1] : "barrier";
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    const bool odd = moot_rank(m) == 1;
    if (odd && strncmp(how, "cut", 3) == 0) {
        return be_cut(m, strcmp(how, "cut-leave") == 0) == MOOT_OK ? 0 : 1;
    }
    if (strncmp(how, "cut", 3) == 0) {
        sleep(1);
    }
    if (strcmp(how, "kernel") == 0) {
        run_kernel(m);
    } else if (strcmp(how, "wrong") == 0) {
        be_wrong(m);
    } else if (odd && strcmp(how, "barrier") == 0) {
        tell(m, "barrier", moot_barrier(m));
    } else if (!odd || strcmp(how, "closed") != 0) {
        if (odd && strcmp(how, "absent") == 0) {
            must(m, moot_park(m), "park");
            sleep(3);
            must(m, moot_unpark(m), "unpark");
        }
        moot_session_info session = {0};
        int code = moot_session_next(
            m, &(moot_session_options){.leave = odd && strcmp(how, "leave") == 0},
            &session);
        if (code == MOOT_ERR_UNSUPPORTED) {
            tell(m, "leave", code);
            code = moot_session_next(m, NULL, &session);
        }
        tell(m, "next", code);
        printf("boundaries: session %llu of %d: %s\n",
               (unsigned long long)session.number, session.size,
               session.why != NULL ? session.why : "");
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
