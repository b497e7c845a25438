/* bench.c - see bench.h. */
#include "tests/bench/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void bench_check(moot *m, int code, const char *what)
{
    if (code != MOOT_OK) {
        bench_die("%s: %s: %s", what, moot_err_name(code), moot_last_error(m));
    }
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        bench_die("no memory for %zu times %zu bytes", count, size);
    }
    return memory;
}

/* --- Time ------------------------------------------------------------------------- */

double bench_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_took_s(double begun_s)
{
    double mine = bench_now_s() - begun_s, most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

void bench_meet(moot *m, moot_task any)
{
    MPI_Request all;
    int here = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    while (MPI_Test(&all, &here, MPI_STATUS_IGNORE), !here) {
        (void)moot_task_wait(m, any, 0);
    }
}

/* --- The machine ------------------------------------------------------------------ */

/* Processor time since some moment, seconds. */
struct usage {
    double at_s;
    double machine_s; /* of the whole machine, all cores, not idle */
    double ours_s;    /* of all ranks, and of commands that they ran */
};

static struct usage begun;

static double machine_used_s(void)
{
    double user = 0, nice = 0, kernel = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "cpu %lf %lf %lf", &user, &nice, &kernel) != 3) {
        user = nice = kernel = 0;
    }
    (void)fclose(file);
    return (user + nice + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double used_s_of(int whose)
{
    struct rusage usage;
    getrusage(whose, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static struct usage usage_now(void)
{
    double used_s = used_s_of(RUSAGE_SELF) + used_s_of(RUSAGE_CHILDREN), all_s;
    MPI_Allreduce(&used_s, &all_s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (struct usage){bench_now_s(), machine_used_s(), all_s};
}

void bench_open(struct bench *bench, const char *name)
{
    int provided;
    bench->name = name;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bench->cores = bench->ranks < online ? bench->ranks : (int)online;
    begun = usage_now();
}

/* Others' share of the cores, from the first moment until now. */
void bench_close(const struct bench *bench)
{
    enum { BUSY_PERCENT = 5 };
    struct usage now = usage_now();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    double others_s = (now.machine_s - begun.machine_s) - (now.ours_s - begun.ours_s);
    double share = 100 * others_s / ((now.at_s - begun.at_s) * (double)online);
    if (bench->rank == 0 && share > BUSY_PERCENT) {
        fprintf(stderr,
                "%s: others had %.0f %% of this machine's %ld cores meanwhile: not to "
                "be relied on\n",
                bench->name, share, online);
    }
    MPI_Finalize();
}

/* --- Figures ---------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figure figure_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), ascending);
    double upper = values[count / 2], lower = values[(count - 1) / 2];
    return (struct figure){values[0], (lower + upper) / 2, values[count - 1],
                           values[(count - 1) / 4]};
}

void bench_row(const struct bench *bench, const char *name, double value, double target,
               const char *remark, ...)
{
    if (bench->rank != 0) {
        return;
    }
    printf("%-38s %8.4g ", name, value);
    if (target > 0) {
        printf("%6.4g", target);
    } else {
        printf("%6s", "-");
    }
    va_list arguments;
    va_start(arguments, remark);
    if (remark[0] != '\0') {
        printf("  # ");
        (void)vprintf(remark, arguments);
    }
    va_end(arguments);
    printf("\n");
    (void)fflush(stdout);
}

/* --- Arguments -------------------------------------------------------------------- */

const char *bench_text(char **arguments, const char *name, const char *fallback)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, name) == 0 && arguments[1] != NULL) {
            return arguments[1];
        }
    }
    return fallback;
}

long bench_number(char **arguments, const char *name, long fallback, long least,
                  long most)
{
    const char *text = bench_text(arguments, name, NULL);
    char *end = NULL;
    long value = text != NULL ? strtol(text, &end, 10) : fallback;
    if (text != NULL &&
        (*text == '\0' || *end != '\0' || value < least || value > most)) {
        bench_die("%s wants a whole number from %ld to %ld", name, least, most);
    }
    return value;
}

double bench_real(char **arguments, const char *name, double fallback, double least,
                  double most)
{
    const char *text = bench_text(arguments, name, NULL);
    char *end = NULL;
    double value = text != NULL ? strtod(text, &end) : fallback;
    bool within = value >= least && value <= most; /* nan is not */
    if (text != NULL && (*text == '\0' || *end != '\0' || !within)) {
        bench_die("%s wants a number from %g to %g", name, least, most);
    }
    return value;
}

bool bench_flag(char **arguments, const char *name)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, name) == 0) {
            return true;
        }
    }
    return false;
}
