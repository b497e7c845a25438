/* harness.c - see harness.h. */
#include "tests/mpi/support/harness.h"

#include "node/channel/channel.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HARNESS_LSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HARNESS_LSAN 1
#endif
#ifdef HARNESS_LSAN
#include <sanitizer/lsan_interface.h>
#endif

enum { TOKEN_TAG = 1, COMPLAINTS_MAX = 12, GRACE_S = 3 };

static struct {
    const char *program;
    MPI_Comm comm;           /* MPI_COMM_NULL: there is a channel instead */
    struct channel *channel; /* of a launcher of moot's own; NULL: there is MPI */
    int rank, size;
    char case_name[160], alarm_text[224];
    uint64_t begun_ns;
    atomic_uint complaints; /* of this case, on this rank */
    const moot *explains;
    unsigned passed, failed, skipped;
    bool quiet;
    volatile sig_atomic_t warned;
} harness;

/* --- Deadlines -------------------------------------------------------------------- */

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* moot's report of who waits for what, if a context is open to give it. */
static void ask_for_report(void)
{
    struct sigaction present;
    if (sigaction(SIGUSR1, NULL, &present) == 0 && present.sa_handler != SIG_DFL) {
        (void)raise(SIGUSR1);
    }
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    if (!harness.warned) {
        harness.warned = 1;
        say(harness.alarm_text);
        ask_for_report();
        (void)alarm(GRACE_S);
        return;
    }
    say("*** aborted\n");
    _exit(3);
}

static void arm(unsigned deadline_s)
{
    harness.warned = 0;
    (void)alarm(deadline_s);
}

/* --- Leaks ------------------------------------------------------------------------ */

/* With ASan.  Open MPI loses memory while it starts, and keeps more than it finds again
 * after it has unloaded its plugins.  So what MPI_Init allocates does not count, and
 * leaks are looked for before MPI_Finalize: those are ours. */
static void init_mpi(int *argc, char ***argv, int *provided)
{
#ifdef HARNESS_LSAN
    __lsan_disable();
#endif
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, provided);
#ifdef HARNESS_LSAN
    __lsan_enable();
#endif
}

static void look_for_leaks(void)
{
#ifdef HARNESS_LSAN
    __lsan_do_leak_check();
#endif
}

/* --- Opening and closing ---------------------------------------------------------- */

static void open_mpi(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;
    init_mpi(argc, argv, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &harness.comm);
    MPI_Comm_rank(harness.comm, &harness.rank);
    MPI_Comm_size(harness.comm, &harness.size);
    if (provided != MPI_THREAD_MULTIPLE) {
        (void)fprintf(stderr, "%s: MPI gives no MPI_THREAD_MULTIPLE\n",
                      harness.program);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void harness_open(int *argc, char ***argv, const char *program)
{
    char story[256] = "";
    harness.program = program;
    harness.comm = MPI_COMM_NULL;
    harness.channel = channel_of_process(story, sizeof(story));
    if (harness.channel != NULL) {
        harness.rank = (int)channel_rank(harness.channel);
        harness.size = (int)channel_size(harness.channel);
    } else if (story[0] != '\0') {
        (void)fprintf(stderr, "%s: %s\n", program, story);
        exit(2);
    } else {
        open_mpi(argc, argv);
    }
    (void)signal(SIGALRM, on_alarm);
}

void harness_abort(int status)
{
    if (harness.channel == NULL) {
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    exit(status);
}

int harness_close(void)
{
    if (harness.rank == 0) {
        printf("%s, %d rank%s: %u passed, %u failed", harness.program, harness.size,
               harness.size == 1 ? "" : "s", harness.passed, harness.failed);
        if (harness.skipped > 0) {
            printf(", %u not for this number of ranks", harness.skipped);
        }
        printf("\n");
        (void)fflush(stdout);
    }
    int status = harness.failed == 0 ? 0 : 1;
    if (harness.channel == NULL) {
        MPI_Comm_free(&harness.comm);
        look_for_leaks();
        MPI_Finalize();
    }
    return status;
}

int harness_rank(void) { return harness.rank; }
int harness_size(void) { return harness.size; }
MPI_Comm harness_comm(void) { return harness.comm; }

int harness_moot_open(const moot_options *options, moot **out)
{
    return harness.channel != NULL ? moot_open(options, out)
                                   : moot_open_comm(options, MPI_COMM_WORLD, out);
}

/* --- Cases ------------------------------------------------------------------------ */

void harness_case_begin(const char *name, unsigned deadline_s)
{
    (void)snprintf(harness.case_name, sizeof(harness.case_name), "%s", name);
    (void)snprintf(harness.alarm_text, sizeof(harness.alarm_text),
                   "\n*** rank %d: the deadline passed in: %s\n", harness.rank, name);
    arm(deadline_s);
    harness.complaints = 0;
    harness.explains = NULL;
    harness_barrier();
    harness.begun_ns = harness_now_ns();
}

bool harness_case_end(void)
{
    uint64_t bad = harness.complaints;
    harness_sum(&bad, 1);
    (void)alarm(0);
    if (harness.rank == 0 && (bad != 0 || !harness.quiet)) {
        double seconds = (double)(harness_now_ns() - harness.begun_ns) / 1e9;
        printf("%s %s (%.2f s)\n", bad == 0 ? "  ok    " : "  FAILED",
               harness.case_name, seconds);
        (void)fflush(stdout);
    }
    harness.passed += bad == 0;
    harness.failed += bad != 0;
    return bad == 0;
}

void harness_case_skip(const char *name, const char *why)
{
    harness.skipped++;
    if (harness.rank == 0) {
        printf("  -      %s: %s\n", name, why);
    }
}

void harness_quiet(void) { harness.quiet = true; }

bool harness_case_is_good(void) { return harness.complaints == 0; }

void harness_explain_with(const moot *m) { harness.explains = m; }

void harness_check(bool holds, const char *site, const char *format, ...)
{
    if (holds) {
        return;
    }
    unsigned before = harness.complaints++;
    if (before >= COMPLAINTS_MAX) {
        return;
    }
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "rank %d: %s: %s: %s%s\n", harness.rank, site,
                  harness.case_name, text,
                  before + 1 == COMPLAINTS_MAX ? " (no more is told)" : "");
}

bool harness_check_code(int got, int wanted, const char *call, const char *site)
{
    if (got == wanted) {
        return true;
    }
    const char *story =
        got < 0 && harness.explains != NULL ? moot_last_error(harness.explains) : "";
    harness_check(false, site, "%s gave %s, not %s%s%s", call, moot_err_name(got),
                  moot_err_name(wanted), *story != '\0' ? ": " : "", story);
    return false;
}

/* --- The harness's own messages --------------------------------------------------- */

static void wait_softly(MPI_Request *request)
{
    uint64_t pause_us = 20;
    for (int done = 0; !done;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            harness_sleep_us(pause_us);
        }
        pause_us = pause_us < 1000 ? pause_us * 2 : pause_us;
    }
}

/* Each rank's words, by the channel, put together. */
static void gather(uint64_t *words, size_t count, bool largest)
{
    struct channel_card *all = NULL;
    char story[256] = "";
    if (channel_gather(harness.channel, words, count * sizeof(*words), &all, story,
                       sizeof(story)) != MOOT_OK) {
        (void)fprintf(stderr, "%s: rank %d: %s\n", harness.program, harness.rank,
                      story);
        exit(2);
    }
    for (int rank = 0; rank < harness.size; rank++) {
        const uint64_t *theirs = all[rank].bytes;
        for (size_t i = 0; i < count && rank != harness.rank; i++) {
            uint64_t word;
            memcpy(&word, &theirs[i], sizeof(word));
            words[i] = !largest ? words[i] + word : word > words[i] ? word : words[i];
        }
    }
    free(all);
}

void harness_barrier(void)
{
    MPI_Request request;
    if (harness.channel != NULL) {
        gather(NULL, 0, false);
        return;
    }
    MPI_Ibarrier(harness.comm, &request);
    wait_softly(&request);
}

static void reduce(uint64_t *words, size_t count, MPI_Op op)
{
    MPI_Request request;
    if (harness.channel != NULL) {
        gather(words, count, op == MPI_MAX);
        return;
    }
    MPI_Iallreduce(MPI_IN_PLACE, words, (int)count, MPI_UINT64_T, op, harness.comm,
                   &request);
    wait_softly(&request);
}

void harness_sum(uint64_t *words, size_t count) { reduce(words, count, MPI_SUM); }
void harness_maximum(uint64_t *words, size_t count) { reduce(words, count, MPI_MAX); }

void harness_token_send(int to)
{
    char token = 1;
    MPI_Send(&token, 1, MPI_CHAR, to, TOKEN_TAG, harness.comm);
}

void harness_token_send_all(void)
{
    for (int rank = 0; rank < harness.size; rank++) {
        if (rank != harness.rank) {
            harness_token_send(rank);
        }
    }
}

void harness_token_wait(int from)
{
    char token = 0;
    MPI_Request request;
    MPI_Irecv(&token, 1, MPI_CHAR, from, TOKEN_TAG, harness.comm, &request);
    wait_softly(&request);
}

/* --- Small things ----------------------------------------------------------------- */

uint64_t harness_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void harness_sleep_us(uint64_t us)
{
    struct timespec left = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0) {
    }
}

void *harness_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        (void)fprintf(stderr, "%s: out of memory\n", harness.program);
        harness_abort(2);
    }
    return memory;
}
