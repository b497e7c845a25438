/* poison.c - programs some of whose tasks end whatever rank runs them.
 *
 *   moot run -n 4 poison               nothing does
 *   moot run -n 4 poison HOW           task 20 does, by HOW (see die())
 *   moot run -n 4 poison patient       nothing does, but kernels wait for long
 *   moot run -n 4 poison random SEED   a random program: with up to 4 ranks one poison
 *                                      task, with more two, of random kinds
 *   moot run -n 5 poison beside HOW    the same beside others, for workers: every third
 *                                      task waits for a child between two pauses; says
 *                                      "poison ran alone" or "beside others"
 *   moot run -n 5 poison outside HOW   the same as without, while the program is in its
 *                                      own code; for one worker
 *   moot run -n 4 poison alone HOW     task 20 does, and rank 1 alone spawns it; the
 *                                      others have named it
 *   moot run -n 3 poison effects HOW   task 20 does, and all tasks are once tasks
 *   moot run -n 4 poison two HOW       task 20 does, in one of two moots that are open
 * at once moot run -n 4 poison long FOLDER   no task does, all take their time, and
 * each rank leaves its process number in the folder
 *
 * Each rank that is left checks what became of every task, and says "rank N is good".
 * tests/cli/poison_test.sh runs them.
 */
#include "node/api/moot.h"
#include "node/api/moot_watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TASKS = 40, LONG_MS = 15, PATIENT_MS = 200, POISON_MAX = 2 };

/* Kinds of tasks.  PARENT waits for a poison child, NEST for a good one, PATIENT for
 * several, one after the other. */
enum kind { GOOD, PURE, ONCE, PARENT, NEST, PATIENT };

static struct program {
    struct {
        enum kind kind;
        const char *how;
        bool takes_last; /* the task before it, if that is good */
    } tasks[TASKS];
    bool is_long, beside, outside, alone, effects, two;
    moot_kernel_id child;
} program;

static atomic_int begun, running; /* kernels of this rank, and those not in a wait */

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000L};
    (void)nanosleep(&time, NULL);
}

static void die(const char *how)
{
    volatile int *volatile nothing = NULL;
    volatile int zero = 0;
    if (strcmp(how, "abort") == 0) {
        abort();
    }
    if (strcmp(how, "exit") == 0) {
        exit(0);
    }
    if (strcmp(how, "fpe") == 0) {
        zero = 1 / zero;
        (void)raise(SIGFPE); /* where a division gives something */
    }
    while (strcmp(how, "forever") == 0) {
        zero++; /* until MOOT_KERNEL_LIMIT */
    }
    if (strcmp(how, "kill") == 0) {
        (void)raise(SIGKILL);
    }
    *nothing = 1;
}

static int put(moot_call *call, long value)
{
    long *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = value;
    return MOOT_OK;
}

static int number_of(const moot_call *call)
{
    int number = 0;
    memcpy(&number, moot_call_args(call, NULL), sizeof(number));
    return number;
}

/* Says first whether any other kernel ran meanwhile. */
static void die_beside(const char *how)
{
    const int before = atomic_load(&begun);
    bool beside = atomic_load(&running) > 1;
    pause_ms(LONG_MS / 4);
    beside |= atomic_load(&running) > 1 || atomic_load(&begun) != before;
    printf("poison ran %s\n", beside ? "beside others" : "alone");
    (void)fflush(stdout);
    die(how);
}

static int run_child(moot_call *call, void *user)
{
    (void)user;
    if (program.tasks[number_of(call)].kind == NEST) {
        atomic_fetch_add(&begun, 1);
        atomic_fetch_add(&running, 1);
        pause_ms(LONG_MS);
        atomic_fetch_sub(&running, 1);
    } else if (program.tasks[number_of(call)].kind == PATIENT) {
        pause_ms(PATIENT_MS);
    } else {
        die(program.tasks[number_of(call)].how);
    }
    return put(call, 0);
}

static int wait_for_child(moot_call *call, int number, int which)
{
    moot_task child;
    const int args[] = {number, which};
    const moot_task_spec spec = {.kernel = program.child,
                                 .label = "child",
                                 .args = args,
                                 .args_size = sizeof(args)};
    const int code = moot_call_spawn(call, &spec, &child);
    return code != MOOT_OK ? code : moot_call_wait(call, child, NULL, NULL);
}

/* Between two pauses, in which it is on a thread, unlike in the wait. */
static int nest(moot_call *call, int number)
{
    pause_ms(LONG_MS);
    atomic_fetch_sub(&running, 1);
    const int code = wait_for_child(call, number, 0);
    atomic_fetch_add(&running, 1);
    pause_ms(LONG_MS);
    return code;
}

static int run_square(moot_call *call, void *user)
{
    const int number = number_of(call);
    const enum kind kind = program.tasks[number].kind;
    int code = MOOT_OK;
    (void)user;
    atomic_fetch_add(&begun, 1);
    atomic_fetch_add(&running, 1);
    if (kind == ONCE) {
        printf("effect %d has begun\n", number);
        (void)fflush(stdout);
    }
    if (kind == PARENT) {
        code = wait_for_child(call, number, 0);
    } else if (kind == PATIENT) {
        for (int i = 0; i < 3 && code == MOOT_OK; i++) {
            code = wait_for_child(call, number, i);
        }
    } else if (kind == NEST) {
        code = nest(call, number);
    } else if (kind != GOOD && program.beside) {
        die_beside(program.tasks[number].how);
    } else if (kind != GOOD) {
        die(program.tasks[number].how);
    } else if (program.is_long) {
        pause_ms(LONG_MS);
    }
    atomic_fetch_sub(&running, 1);
    return code != MOOT_OK ? code : put(call, (long)number * number);
}

/* The error that a task of this kind ends with. */
static int wanted_code(enum kind kind)
{
    if (program.alone && kind == PURE) {
        return MOOT_ERR_NOT_HELD;
    }
    static const int codes[] = {[GOOD] = MOOT_OK,
                                [PURE] = MOOT_ERR_CRASHED,
                                [ONCE] = MOOT_ERR_MAYBE_RAN,
                                [PARENT] = MOOT_ERR_TASK_FAILED,
                                [NEST] = MOOT_OK,
                                [PATIENT] = MOOT_OK};
    return codes[kind];
}

/* Some rank died in this kernel, and in this task of it unless it is another's child.
 */
static bool names_death(const char *story, const char *kernel, bool own)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "kernel '%s', %.13s", kernel,
                   own ? story : ""); /* "task 1a2b3c4d" */
    return strstr(story, "\n  rank ") != NULL && strstr(story, " died ") != NULL &&
           strstr(story, wanted) != NULL;
}

/* Its story names a death, the kernel and where it was spawned. */
static bool names_crash(const char *story, enum kind kind)
{
    const char *const kernel = kind == PARENT ? "child"
                               : kind == ONCE ? "effect"
                                              : "square";
    return names_death(story, kernel, kind != PARENT) &&
           strstr(story, "poison.c:") != NULL;
}

/* Its owner, which nobody else can be, may have died of the other poison task before it
 * began this one.  The kernel says when it begins, so that who looks on can tell. */
static bool was_never_begun(const char *story, int number)
{
    const enum kind kind = program.tasks[number].kind;
    int poison = 0;
    for (int i = 0; i < TASKS; i++) {
        poison += program.tasks[i].kind != GOOD && program.tasks[i].kind != NEST;
    }
    const bool so = kind == ONCE && poison > 1 && !names_death(story, "effect", true) &&
                    strstr(story, "the owner died") != NULL;
    if (so) {
        printf("effect %d was never begun\n", number);
    }
    return so;
}

/* A once task whose owner died of another, which is told. */
static bool died_with_another(const char *story, int code)
{
    return program.effects && code == MOOT_ERR_MAYBE_RAN &&
           strstr(story, ", which died, may have run it") != NULL &&
           names_death(story, "effect", false);
}

static int check(moot *m, moot_task task, int number)
{
    const enum kind kind = program.tasks[number].kind;
    const void *data = NULL;
    const int code = moot_task_fetch(m, task, MOOT_FOREVER, &data, NULL);
    const char *story = code != MOOT_OK ? moot_last_error(m) : "";
    const bool good = (kind == GOOD && died_with_another(story, code)) ||
                      (code == wanted_code(kind) &&
                       (code != MOOT_ERR_CRASHED ||
                        (strstr(story, " died of it, MOOT_CRASHES=") != NULL &&
                         strstr(story, "too late") == NULL)) &&
                       (code == MOOT_OK ? *(const long *)data == (long)number * number
                                        : names_crash(story, kind) ||
                                              was_never_begun(story, number)));
    if (!good) {
        (void)fprintf(stderr, "FAIL task %d: %s, not %s: %s\n", number,
                      moot_err_name(code), moot_err_name(wanted_code(kind)), story);
    }
    return !good;
}

static void tell_event(void *user, const moot_event *event)
{
    (void)user;
    printf("rank %d %s: %s\n", event->rank,
           event->kind == MOOT_EVENT_RANK_DIED ? "has ended" : "is out", event->why);
    (void)fflush(stdout);
}

static int run_program(moot *m)
{
    const moot_kernel square = {.name = "square", .fn = run_square},
                      child = {.name = "child", .fn = run_child},
                      effect = {.name = "effect",
                                .fn = run_square,
                                .flags = MOOT_KERNEL_ONCE};
    const moot_watch watch = {.kinds = (uint32_t)MOOT_EVENT_RANK_DIED |
                                       (uint32_t)MOOT_EVENT_RANK_REMOVED,
                              .fn = tell_event};
    moot_watch_id watching;
    moot_kernel_id squares, effects;
    moot_task tasks[TASKS];
    int failed = 0;
    if (moot_watch_add(m, &watch, &watching) != MOOT_OK ||
        moot_kernel_register(m, &square, &squares) != MOOT_OK ||
        moot_kernel_register(m, &effect, &effects) != MOOT_OK ||
        moot_kernel_register(m, &child, &program.child) != MOOT_OK) {
        return 1;
    }
    for (int i = 0; i < TASKS; i++) {
        const bool once = program.tasks[i].kind == ONCE || program.effects;
        const bool named =
            program.alone && program.tasks[i].kind != GOOD && moot_rank(m) != 1;
        const bool takes =
            program.tasks[i].takes_last && i > 0 && program.tasks[i - 1].kind == GOOD;
        const moot_task_spec spec = {.kernel = once ? effects : squares,
                                     .args = &i,
                                     .args_size = sizeof(i),
                                     .key = once ? &i : NULL,
                                     .key_size = once ? sizeof(i) : 0,
                                     .inputs = takes ? &tasks[i - 1] : NULL,
                                     .input_count = takes};
        if ((named ? moot_task_name(m, &spec, &tasks[i])
                   : moot_task_spawn(m, &spec, &tasks[i])) != MOOT_OK) {
            return 1;
        }
    }
    for (int i = 0; program.outside && i < TASKS * LONG_MS; i++) {
        pause_ms(1); /* long enough for all of them, and their deaths */
    }
    for (int i = 0; i < TASKS; i++) {
        failed += check(m, tasks[i], i);
    }
    return failed;
}

static uint64_t draw(uint64_t *state) /* Vigna's splitmix64 */
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static void draw_program(uint64_t seed, int ranks)
{
    static const char *const hows[] = {"null", "abort", "exit", "fpe"};
    for (int i = 0; i < TASKS; i++) {
        program.tasks[i].takes_last = draw(&seed) % 3 == 0;
    }
    for (int p = 0; p < (ranks > 2 * POISON_MAX ? POISON_MAX : 1); p++) {
        const uint64_t at = draw(&seed) % TASKS;
        program.tasks[at].kind = (enum kind)(1 + draw(&seed) % 3);
        program.tasks[at].how = hows[draw(&seed) % 4];
        printf("poison is task %d, of kind %d, by %s\n", (int)at,
               (int)program.tasks[at].kind, program.tasks[at].how);
    }
}

static void draw_company(const char *how, bool outside)
{
    for (int i = 0; i < TASKS; i++) {
        program.tasks[i].kind = i % 3 == 0 ? NEST : GOOD;
    }
    program.tasks[TASKS / 2].kind = PURE;
    program.tasks[TASKS / 2].how = how;
    program.is_long = true;
    program.beside = !outside;
    program.outside = outside;
}

static void leave_number(const char *folder, int rank)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/pid-%d", folder, rank);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        (void)fprintf(file, "%ld\n", (long)getpid());
        (void)fclose(file);
    }
}

int main(int argc, char **argv)
{
    moot *m = NULL, *other = NULL;
    const char *how = argc > 1 ? argv[1] : "none", *more = argc > 2 ? argv[2] : "";
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    if (strcmp(how, "random") == 0) {
        draw_program(strtoull(more, NULL, 10), moot_size(m));
    } else if (strcmp(how, "long") == 0) {
        program.is_long = true;
        leave_number(more, moot_rank(m));
    } else if (strcmp(how, "beside") == 0 || strcmp(how, "outside") == 0) {
        draw_company(more, strcmp(how, "outside") == 0);
    } else if (strcmp(how, "patient") == 0) {
        program.tasks[TASKS / 2].kind = program.tasks[TASKS / 3].kind = PATIENT;
    } else if (strcmp(how, "none") != 0) {
        program.two = strcmp(how, "two") == 0;
        program.alone = strcmp(how, "alone") == 0;
        program.effects = strcmp(how, "effects") == 0;
        program.tasks[TASKS / 2].kind = program.effects ? ONCE : PURE;
        program.tasks[TASKS / 2].how = *more != '\0' ? more : how;
    }
    if (program.two && moot_open(NULL, &other) != MOOT_OK) {
        return 1;
    }
    const int rank = moot_rank(m), failed = run_program(m);
    if (failed == 0) {
        printf("rank %d is good\n", rank);
        (void)fflush(stdout);
    }
    return (other != NULL && moot_close(other) != MOOT_OK) ||
           moot_close(m) != MOOT_OK || failed != 0;
}
