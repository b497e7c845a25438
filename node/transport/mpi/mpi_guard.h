/* mpi_guard.h - a newcomer ends itself if it cannot come: a part of mpi.c, before its
 * other parts about newcomers.
 *
 * MPI_Init of a process that MPI_Comm_spawn has started waits for the rank that started
 * it, for ever if that one has died (Open MPI 4.1).  Nobody else knows of the process
 * then, and mpirun waits for it.  So a guard begins with the process, before its
 * program does: a thread that ends it when the rank that asked for it has ended, or
 * when it has not come in time.  What it says goes by write(), as anything may be held.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_GUARD_H
#define NODE_TRANSPORT_MPI_MPI_GUARD_H

enum { GROWTH_SECONDS = 60, GUARD_LOOKS_PER_SECOND = 10 };

/* Set in a newcomer's environment, to the process that asked for it. */
static const char NEWCOMER_VARIABLE[] = "MOOTRUN_JOINS";

static atomic_bool guard_is_over;

/* In a thread of its own, which takes no signals. */
static bool thread_begin(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool begun = pthread_create(&thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun && pthread_detach(thread) == 0;
}

static void *guard_run(void *unused)
{
    static const char end[] =
        "moot: this process was started to join a moot, and ends: "
        "it has not come in time, or the rank that asked for it "
        "has ended\n";
    const struct timespec pause = {.tv_nsec = 1000000000 / GUARD_LOOKS_PER_SECOND};
    struct process_name asker = {0, 0, 0};
    const char *text = getenv(NEWCOMER_VARIABLE);
    (void)unused;
    if (text == NULL || sscanf(text, "%" SCNx64 ".%" SCNx64 ".%" SCNx64, &asker.pid,
                               &asker.start_ticks, &asker.space) != 3) {
        return NULL;
    }
    const bool near = asker.space != 0 && process_is_near(&asker);
    for (int looks = 0; looks < GROWTH_SECONDS * GUARD_LOOKS_PER_SECOND &&
                        (!near || process_lives(&asker));
         looks++) {
        if (atomic_load(&guard_is_over)) {
            return NULL;
        }
        nanosleep(&pause, NULL);
    }
    if (!atomic_load(&guard_is_over)) {
        const ssize_t written = write(STDERR_FILENO, end, sizeof(end) - 1);
        _exit(written < 0 ? 2 : 1);
    }
    return NULL;
}

__attribute__((constructor)) static void guard_begin(void)
{
    if (getenv(NEWCOMER_VARIABLE) != NULL) {
        (void)thread_begin(guard_run, NULL);
    }
}

/* The newcomer has come, or says itself why not. */
static void guard_end(void) { atomic_store(&guard_is_over, true); }

void transport_mpi_waits_only(void) { guard_end(); }

#endif
