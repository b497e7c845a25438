/* wires_crowd.c - many processes over one transport, of which some are killed and some
 * stopped at any moment: the others go on, and close in time.
 *
 *     wires_crowd PATH.so PROCESSES NEIGHBOURS SECONDS SEED KILLS
 *
 * Compiled with TABLE, a table that is linked in, it takes that instead of a path's.
 *
 * With a minus before it KILLS begin at once, while processes connect.
 *
 * Process i speaks to the NEIGHBOURS next to it, round a circle.  Prints what the
 * busiest process used.  Exit status 1: a process that lives heard nothing of a
 * neighbour that lives for 4 s, or did not close in time.
 */
#include "moot_transport.h"
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 512 };

static struct shared {
    struct {
        unsigned char address[MOOT_TRANSPORT_ADDRESS_MAX];
        size_t length;
        _Atomic int ready, ended;
        _Atomic bool dead, stopped, failed;
        _Atomic unsigned long long heard;
        _Atomic int met; /* neighbours that were heard */
        long memory_kb, descriptors;
    } of[PROCESSES_MAX];
    _Atomic bool over;
} *shared;

static const moot_transport *table;
static int processes, neighbours, me;
static double heard_at[PROCESSES_MAX];
static bool met[PROCESSES_MAX];

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void take(void *context, uint64_t from, const void *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    if (from >= 1 && from <= (uint64_t)processes) {
        heard_at[from - 1] = now();
        if (!met[from - 1]) {
            met[from - 1] = true;
            atomic_fetch_add(&shared->of[me].met, 1);
        }
        atomic_fetch_add(&shared->of[me].heard, 1);
    }
}

/* A transport takes no signal for itself. */
static bool takes_signal(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        struct sigaction action;
        if (sigaction(faults[i], NULL, &action) != 0 || action.sa_handler != SIG_DFL) {
            return true;
        }
    }
    return false;
}

static bool is_near(int other)
{
    const int apart = (other - me + processes) % processes;
    return apart != 0 &&
           (apart <= neighbours / 2 || processes - apart <= neighbours / 2);
}

static long count_entries(const char *folder)
{
    long count = 0;
    DIR *open = opendir(folder);
    while (open != NULL && readdir(open) != NULL) {
        count++;
    }
    if (open != NULL) {
        (void)closedir(open);
    }
    return count - 3;
}

static long read_memory_kb(void)
{
    long kb = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        long value;
        if (sscanf(line, "Private_Dirty: %ld", &value) == 1) {
            kb = value;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

static void fail(const char *what, int other)
{
    atomic_store(&shared->of[me].failed, true);
    fprintf(stderr, "process %d: %s %d\n", me, what, other);
    _exit(1);
}

static void run(unsigned seed)
{
    static unsigned char frame[4096];
    static const unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES] = "of this crowd";
    const moot_transport_setup setup = {.size = sizeof(setup),
                                        .uid = (uint64_t)me + 1,
                                        .options = "",
                                        .host = "",
                                        .job = (uint64_t)getppid(),
                                        .secret = secret};
    const moot_transport_receiver receiver = {.size = sizeof(receiver), .frame = take};
    char story[256];
    moot_wire *wire;
    if (table->open(&setup, &wire, story, sizeof(story)) != MOOT_OK ||
        table->address(wire, shared->of[me].address, &shared->of[me].length) !=
            MOOT_OK) {
        fail(story, me);
    }
    if (takes_signal()) {
        fail("has handlers of signals it did not set,", me);
    }
    atomic_store(&shared->of[me].ready, 1);
    for (int i = 0; i < processes; i++) {
        while (is_near(i) && !atomic_load(&shared->of[i].ready) &&
               !atomic_load(&shared->of[i].dead)) {
            (void)usleep(1000);
        }
        if (is_near(i)) {
            (void)table->introduce(wire, (uint64_t)i + 1, shared->of[i].address,
                                   shared->of[i].length);
        }
    }
    double loop_at = now();
    for (int i = 0; i < processes; i++) {
        heard_at[i] = loop_at + 3;
    }
    while (!atomic_load(&shared->over)) {
        const double t = now();
        if (t - loop_at > 0.3) { /* this process did not run itself */
            for (int i = 0; i < processes; i++) {
                heard_at[i] += t - loop_at;
            }
        }
        loop_at = t;
        for (int i = 0; i < processes; i++) {
            if (!is_near(i) || atomic_load(&shared->of[i].dead)) {
                continue;
            }
            seed = seed * 1103515245u + 12345u;
            if (table->send(wire, (uint64_t)i + 1, frame, 1 + seed % sizeof(frame)) <
                0) {
                fail("cannot send to", i);
            }
            if (atomic_load(&shared->of[i].stopped)) {
                heard_at[i] = t;
            } else if (t - heard_at[i] > 4 && !atomic_load(&shared->of[me].stopped)) {
                fail("hears nothing of", i);
            }
        }
        (void)table->poll(wire, &receiver, 64);
        (void)usleep(processes > 8 ? 20000 : 200);
    }
    shared->of[me].memory_kb = read_memory_kb();
    shared->of[me].descriptors = count_entries("/proc/self/fd");
    const double closing = now();
    table->close(wire);
    if (now() - closing > 3) {
        fail("was long in close()", me);
    }
    atomic_store(&shared->of[me].ended, 1);
    _exit(0);
}

int main(int argc, char **argv)
{
    static pid_t pids[PROCESSES_MAX];
    if (argc != 7) {
        return 2;
    }
#ifdef TABLE
    extern const moot_transport TABLE;
    table = &TABLE;
#else
    void *object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    table = object != NULL ? dlsym(object, "moot_transport_table") : NULL;
#endif
    processes = (int)strtol(argv[2], NULL, 10);
    neighbours = (int)strtol(argv[3], NULL, 10);
    const double seconds = strtod(argv[4], NULL);
    unsigned seed = (unsigned)strtoul(argv[5], NULL, 10);
    const bool at_once = argv[6][0] == '-';
    const int kills = (int)strtol(argv[6] + at_once, NULL, 10);
    if (table == NULL || processes < 1 || processes > PROCESSES_MAX) {
        return 2;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getpid();
    for (me = 0; me < processes; me++) {
        pids[me] = fork();
        if (pids[me] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(1);
            }
            run(seed * 7919u + (unsigned)me);
        }
    }
    /* Once all have met: ucx.h says why. */
    for (int i = 0; i < processes && !at_once; i++) {
        const int all =
            neighbours / 2 * 2 < processes ? neighbours / 2 * 2 : processes - 1;
        while (atomic_load(&shared->of[i].met) < all &&
               !atomic_load(&shared->of[i].failed)) {
            (void)usleep(1000);
        }
    }
    const double began = now();
    for (int i = 0; i < kills; i++) {
        (void)usleep((unsigned)(seconds * 1e6 / (kills + 1)));
        seed = seed * 1103515245u + 12345u;
        const int victim = (int)(seed >> 8) % processes;
        if (i % 4 == 3 && !atomic_load(&shared->of[victim].dead)) {
            atomic_store(&shared->of[victim].stopped, true);
            (void)kill(pids[victim], SIGSTOP);
        } else if (!atomic_load(&shared->of[victim].stopped)) {
            atomic_store(&shared->of[victim].dead, true);
            (void)kill(pids[victim], SIGKILL);
        }
    }
    while (now() - began < seconds) {
        (void)usleep(10000);
    }
    atomic_store(&shared->over, true);
    for (int waited = 0; waited < 1000; waited++) {
        bool left = false;
        for (int i = 0; i < processes; i++) {
            left |= !atomic_load(&shared->of[i].ended) &&
                    !atomic_load(&shared->of[i].dead) &&
                    !atomic_load(&shared->of[i].stopped) &&
                    !atomic_load(&shared->of[i].failed);
        }
        if (!left) {
            break;
        }
        (void)usleep(10000);
    }
    int bad = 0, gone = 0, stopped = 0;
    long memory_kb = 0, descriptors = 0;
    unsigned long long heard = 0;
    for (int i = 0; i < processes; i++) {
        const bool dead = atomic_load(&shared->of[i].dead);
        const bool still = atomic_load(&shared->of[i].stopped);
        gone += dead;
        stopped += still;
        bad += !dead && !still && !atomic_load(&shared->of[i].ended);
        heard += atomic_load(&shared->of[i].heard);
        if (shared->of[i].memory_kb > memory_kb) {
            memory_kb = shared->of[i].memory_kb;
        }
        if (shared->of[i].descriptors > descriptors) {
            descriptors = shared->of[i].descriptors;
        }
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    printf(
        "%d processes, %d killed, %d stopped, %d failed; %llu frames; at most %ld kB "
        "and %ld descriptors each\n",
        processes, gone, stopped, bad, heard, memory_kb, descriptors);
    return bad != 0;
}
