/* changing.c - a rank of a job whose ranks come and go, for changing.py.
 *
 *     moot run --launcher local -n N --max M changing grow ROUNDS
 *     moot run --launcher local -n N --max M changing sessions ROUNDS
 *     moot run --launcher local -n N --max M changing busy ROUNDS spin|sleep FILE
 *
 * grow      ROUNDS times rank 0 wishes for one rank more, which leaves again by itself
 * sessions  ROUNDS boundaries at which nobody goes or comes, as many at which the
 *           highest rank goes, and as many at which one begins that had joined before
 * busy      as `grow`, while all ranks run kernels of a millisecond, which compute or
 *           sleep; each rank appends its kernels to FILE.RANK
 *
 * Ranks print what happens with the clock of their host, in seconds: `WORD RANK ROUND
 * TIME`, and changing.py takes the figures from that.  The words are `wish`, `main` (a
 * newcomer's process runs), `open` (it is a member), `joined` and `left` (this rank has
 * the view that says so), `leave` and `gone` (the leaver's call begins, and returns),
 * `at` and `next` (a boundary's call begins, and returns).  A line of a FILE is when a
 * kernel began and how long it took.  Exit status: 0, or 1 if a call fails. */
#include "node/api/moot.h"
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"

#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MS = 1000000, SETTLE_MS = 400, CHANGE_MS = 2500, KERNELS_MAX = 1 << 17 };

static struct changing {
    moot *m;
    moot_kernel_id empty, work;
    int rank, founders, rounds;
    double began_s; /* main() */
    bool sleeps;
    atomic_int joined, left; /* events so far */
    atomic_int kernels;
    struct {
        double at_s, took_s;
    } ran[KERNELS_MAX];
} self;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void rest_ms(long ms)
{
    const struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};
    nanosleep(&rest, NULL);
}

static void tell(const char *word, int round, double at_s)
{
    printf("%s %d %d %.9f\n", word, self.rank, round, at_s);
    fflush(stdout);
}

static void check(const char *what, int code)
{
    if (code != MOOT_OK) {
        errx(1, "rank %d: %s: %s", self.rank, what, moot_last_error(self.m));
    }
}

static void on_change(void *user, const moot_event *event)
{
    const double at_s = now_s();
    (void)user;
    if (event->kind == MOOT_EVENT_RANK_JOINED) {
        tell("joined", atomic_load(&self.joined), at_s);
        atomic_fetch_add(&self.joined, 1);
    } else {
        tell("left", atomic_load(&self.left), at_s);
        atomic_fetch_add(&self.left, 1);
    }
}

/* Waits until this rank has heard of so many; of many ranks one may pass over a view,
 * and hear of nothing that came and went with it. */
static void wait_for(const atomic_int *events, int count)
{
    const double until_s = now_s() + 20;
    while (atomic_load(events) < count && now_s() < until_s) {
        rest_ms(1);
    }
}

static bool is_newcomer(void) { return self.rank >= self.founders; }

/* --- Kernels ------------------------------------------------------------------------
 */

static int do_nothing(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int do_work(moot_call *call, void *user)
{
    const double begun_s = now_s();
    (void)user;
    if (self.sleeps) {
        rest_ms(1);
    }
    while (now_s() < begun_s + 1e-3) {
    }
    const int place = atomic_fetch_add(&self.kernels, 1);
    if (place < KERNELS_MAX) {
        self.ran[place].at_s = begun_s;
        self.ran[place].took_s = now_s() - begun_s;
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* --- Growing and shrinking
 * ------------------------------------------------------------ */

/* A newcomer is there for a while, and goes. */
static void come_and_go(long stay_ms)
{
    rest_ms(stay_ms);
    tell("leave", 0, now_s());
    check("leave", moot_leave(self.m));
    tell("gone", 0, now_s());
}

static void wish(int round)
{
    tell("wish", round, now_s());
    check("grow", moot_grow(self.m, 1, NULL));
}

/* A rank that does not wish waits for the end, as a rank of a program would that has
 * nothing to do: for a task of rank 0, which that one spawns when all is over. */
static void grow(void)
{
    moot_task last;
    const moot_task_spec spec = {.kernel = self.empty, .owner = MOOT_ON(0)};
    if (is_newcomer()) {
        come_and_go(SETTLE_MS);
        return;
    }
    for (int round = 0; self.rank == 0 && round < self.rounds; round++) {
        rest_ms(SETTLE_MS / 4);
        wish(round);
        wait_for(&self.left, round + 1);
    }
    check("spawn", moot_task_spawn(self.m, &spec, &last));
    check("wait", moot_task_wait(self.m, last, MOOT_FOREVER));
}

/* --- Boundaries ---------------------------------------------------------------------
 */

/* True: this rank goes. */
static bool begin_session(moot_session_info *session)
{
    const int boundary = (int)session->number - 1, kind = boundary / self.rounds;
    moot_session_options options = {.size = sizeof(options)};
    if (kind == 2) { /* the newcomer of this boundary is there */
        if (session->rank == 0) {
            check("grow", moot_grow(self.m, 1, NULL));
        }
        wait_for(&self.joined, boundary % self.rounds + 1);
    }
    options.leave = kind == 1 && session->rank == session->size - 1;
    const double at_s = now_s();
    check("next", moot_session_next(self.m, &options, session));
    const double next_s = now_s();
    tell("at", boundary, at_s);
    tell("next", boundary, next_s);
    return options.leave;
}

static void sessions(void)
{
    moot_session_info session;
    check("session", moot_session_info_get(self.m, &session));
    if (is_newcomer()) { /* it hears of those that join after it */
        self.joined = (int)(session.number - 1) % self.rounds + 1;
    }
    while (session.number <= (uint64_t)(3 * self.rounds)) {
        if (begin_session(&session)) {
            return;
        }
    }
}

/* --- Kernels meanwhile
 * ---------------------------------------------------------------- */

/* Spawns a wave while two before it run, and rank 0 makes its wishes between waves. */
static void work(void)
{
    enum { WAVE = 100, AHEAD = 3 };
    const size_t width = (size_t)WAVE * (size_t)self.founders;
    const double end_s = (self.rounds * 2 * CHANGE_MS + CHANGE_MS) * 1e-3;
    const uint64_t waves = (uint64_t)(end_s / (WAVE * 1e-3));
    moot_task *tasks = calloc(width * AHEAD, sizeof(*tasks));
    int round = 0;
    double next_s = now_s() + CHANGE_MS * 1e-3;
    if (tasks == NULL) {
        err(1, "no memory for tasks");
    }
    for (uint64_t wave = 0; wave < waves + AHEAD; wave++) {
        moot_task *here = tasks + wave % AHEAD * width;
        if (wave >= AHEAD) {
            check("wait", moot_task_wait_all(self.m, here, width, MOOT_FOREVER));
        }
        for (size_t i = 0; wave >= AHEAD && i < width; i++) {
            check("release", moot_task_release(self.m, here[i]));
        }
        for (uint64_t i = 0; wave < waves && i < width; i++) {
            const uint64_t number[] = {wave, i};
            const moot_task_spec spec = {
                .kernel = self.work, .args = number, .args_size = sizeof(number)};
            check("spawn", moot_task_spawn(self.m, &spec, &here[i]));
        }
        if (self.rank == 0 && round < self.rounds && now_s() >= next_s) {
            wish(round++);
            next_s += 2 * CHANGE_MS * 1e-3;
        }
        if (is_newcomer() && now_s() >= self.began_s + CHANGE_MS * 1e-3) {
            come_and_go(0);
            break;
        }
    }
    free(tasks);
}

static void write_kernels(const char *path)
{
    char name[4096];
    snprintf(name, sizeof(name), "%s.%d", path, self.rank);
    FILE *file = fopen(name, "w");
    if (file == NULL) {
        err(1, "%s", name);
    }
    for (int i = 0; i < self.kernels && i < KERNELS_MAX; i++) {
        fprintf(file, "%.9f %.9f\n", self.ran[i].at_s, self.ran[i].took_s);
    }
    fclose(file);
}

/* --- The program
 * ---------------------------------------------------------------------- */

static void open_all(void)
{
    moot_watch_id watch;
    check("open", moot_open(NULL, &self.m));
    const double open_s = now_s();
    self.rank = moot_rank(self.m);
    self.founders = moot_size(self.m);
    if (is_newcomer()) {
        tell("main", 0, self.began_s);
        tell("open", 0, open_s);
    }
    check("empty",
          moot_kernel_register(
              self.m, &(moot_kernel){.name = "empty", .fn = do_nothing}, &self.empty));
    check("work",
          moot_kernel_register(self.m, &(moot_kernel){.name = "work", .fn = do_work},
                               &self.work));
    check("watch",
          moot_watch_add(self.m,
                         &(moot_watch){.kinds = (uint32_t)MOOT_EVENT_RANK_JOINED |
                                                (uint32_t)MOOT_EVENT_RANK_LEFT,
                                       .fn = on_change},
                         &watch));
}

int main(int argc, char **argv)
{
    self.began_s = now_s();
    self.rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (self.rounds < 1) {
        errx(2, "usage: changing grow|sessions|busy ROUNDS [spin|sleep FILE]");
    }
    self.sleeps = argc > 3 && strcmp(argv[3], "sleep") == 0;
    open_all();
    if (strcmp(argv[1], "grow") == 0) {
        grow();
    } else if (strcmp(argv[1], "sessions") == 0) {
        sessions();
    } else {
        work();
    }
    check("close", moot_close(self.m));
    if (argc > 4) {
        write_kernels(argv[4]);
    }
    return 0;
}
