/* sessions.c - see sessions.h. */
#include "tests/virtual/sessions.h"

#include "hashing/identity.h"
#include "node/api/moot_session.h"
#include "tests/medley/medley.h"
#include "tests/virtual/session_arrays.h"
#include "tests/virtual/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 8192, SET_NAMES = 3 };

enum kind { KIND_ANY, KIND_OWN, KIND_SET, KIND_ONCE, KIND_ONCE_AGAIN, KINDS };

struct player {
    struct sessions_ledger *ledger;
    moot *m;
    moot_session_info session;
    uint32_t process;
    moot_kernel_id kernel, once;
    moot_task tasks[SESSION_TASKS];
    struct session_arrays arrays;
};

/* --- What is drawn ---------------------------------------------------------------- */

static uint64_t word_of(const struct player *player, uint32_t session, uint32_t of)
{
    return medley_mix(player->ledger->seed * 97 +
                      medley_mix(session * UINT64_C(1000) + of)) >>
           8;
}

static uint32_t now(const struct player *player)
{
    return (uint32_t)player->session.number;
}

static uint32_t session_count(const struct player *player)
{
    return 2 + (uint32_t)(word_of(player, 0, 1) % (SESSIONS_MAX - 2));
}

static enum kind kind_of(const struct player *player, uint32_t task)
{
    const enum kind kind =
        (enum kind)(word_of(player, now(player), 100 + task) % (2 * KINDS));
    return kind >= KINDS ? KIND_ANY : kind;
}

/* The rank that owns a task of KIND_OWN. */
static int owner_of(const struct player *player, uint32_t task)
{
    return (int)(word_of(player, now(player), 300 + task) %
                 (uint64_t)player->session.size);
}

/* One process stays to the end, or dies. */
static bool leaves_at_end(const struct player *player, uint32_t session,
                          uint32_t process)
{
    const uint32_t stays = (uint32_t)(player->ledger->seed % player->ledger->ranks);
    return process != stays && word_of(player, session, 500 + process) % 4 == 0;
}

static bool has_left(const struct player *player, uint32_t process)
{
    bool left = false;
    for (uint32_t session = 1; session < now(player); session++) {
        left |= leaves_at_end(player, session, process);
    }
    return left;
}

static uint64_t value_of(const uint32_t words[2])
{
    return medley_mix(words[0] * UINT64_C(1000) + words[1] + 7);
}

__attribute__((format(printf, 2, 3))) static void say_wrong(struct player *player,
                                                            const char *format, ...)
{
    va_list args;
    if (player->ledger->wrong++ >= 5) {
        return;
    }
    va_start(args, format);
    printf("WRONG: a_%u in session %u: ", (unsigned)player->process,
           (unsigned)now(player));
    vprintf(format, args);
    printf(": %s\n", player->m != NULL ? moot_last_error(player->m) : "");
    va_end(args);
}

static bool has_anybody_died(const struct player *player)
{
    bool died = false;
    for (uint32_t rank = 0; rank < player->ledger->ranks; rank++) {
        died |= world_is_dead(rank, NULL);
    }
    return died;
}

/* Few are left, and a rank that died was on another host, where its death is not seen.
 */
static bool is_cut_off(const struct player *player, int code)
{
    return code == MOOT_ERR_NO_QUORUM && has_anybody_died(player);
}

/* --- Tasks ------------------------------------------------------------------------ */

static int kernel(moot_call *call, void *user)
{
    struct sessions_ledger *ledger = user;
    uint32_t words[2];
    memcpy(words, moot_call_args(call, NULL), sizeof(words));
    ledger->runs[words[0]][words[1]]++;
    const uint64_t value = value_of(words);
    void *out = moot_call_output(call, sizeof(value));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(out, &value, sizeof(value));
    return MOOT_OK;
}

/* A set, maybe one that is invalid, for candidates; NULL: none. */
static const char *set_to_use(struct player *player, uint32_t task)
{
    const size_t count = moot_pset_count(player->m);
    moot_pset_info set;
    const size_t index =
        count > 0 ? word_of(player, now(player), 200 + task) % count : 0;
    if (moot_pset_info(player->m, index, &set) != MOOT_OK) {
        say_wrong(player, "set %zu of %zu is not shown", index, count);
        return NULL;
    }
    return strcmp(set.name, "mpi://SELF") != 0 ? set.name : NULL;
}

/* The session and number of what it computes: a once task may be one of before. */
static void words_of(const struct player *player, uint32_t task, uint32_t words[2])
{
    words[0] = kind_of(player, task) == KIND_ONCE_AGAIN ? 1 : now(player);
    words[1] = task;
}

static bool may_end_so(const struct player *player, uint32_t task, int code)
{
    const enum kind kind = kind_of(player, task);
    switch (code) {
    case MOOT_ERR_NO_QUORUM:
        return is_cut_off(player, code);
    case MOOT_ERR_NO_CANDIDATE:
        return kind == KIND_SET ||
               (kind == KIND_OWN && !moot_present(player->m, owner_of(player, task)));
    case MOOT_ERR_MAYBE_RAN: /* which says by itself that a rank died */
    case MOOT_ERR_RESULT_LOST:
        return kind == KIND_ONCE || kind == KIND_ONCE_AGAIN;
    default:
        return false;
    }
}

static void spawn(struct player *player, uint32_t task)
{
    const uint64_t word = word_of(player, now(player), 300 + task);
    const enum kind kind = kind_of(player, task);
    uint32_t words[2];
    words_of(player, task, words);
    moot_task_spec spec = {.size = sizeof(spec),
                           .kernel = player->kernel,
                           .args = words,
                           .args_size = sizeof(words)};
    if (kind == KIND_OWN) {
        spec.owner = MOOT_ON(owner_of(player, task));
    } else if (kind == KIND_SET) {
        spec.pset = set_to_use(player, task);
    } else if (kind == KIND_ONCE || kind == KIND_ONCE_AGAIN) {
        spec.kernel = player->once;
        spec.key = "once";
        spec.key_size = 4;
    }
    if (word >> 20 & 1 && word % 3 != 0) {
        spec.flags = MOOT_TASK_CONDITIONAL;
    }
    int code = moot_task_spawn(player->m, &spec, &player->tasks[task]);
    if (code == MOOT_ERR_INVALID && spec.pset != NULL) { /* it has been deleted */
        spec.pset = NULL;
        code = moot_task_spawn(player->m, &spec, &player->tasks[task]);
    }
    const bool lost = kind == KIND_ONCE_AGAIN && code == MOOT_ERR_RESULT_LOST;
    if (code != MOOT_OK && !lost && !may_end_so(player, task, code)) {
        say_wrong(player, "task %u is not spawned: %s", (unsigned)task,
                  moot_err_name(code));
    }
    if (code != MOOT_OK) {
        player->tasks[task] = (moot_task){0};
    }
}

static void end(struct player *player, uint32_t task)
{
    uint64_t value = 0;
    uint32_t words[2];
    words_of(player, task, words);
    const int code = moot_task_fetch_into(player->m, player->tasks[task], MOOT_FOREVER,
                                          &value, sizeof(value), NULL);
    moot_task_info info;
    if (code == MOOT_OK && kind_of(player, task) == KIND_OWN &&
        (moot_task_info(player->m, player->tasks[task], &info) != MOOT_OK ||
         info.owner != owner_of(player, task))) {
        say_wrong(player, "task %u ran on rank %d, not %d", (unsigned)task, info.owner,
                  owner_of(player, task));
    }
    if (code == MOOT_OK ? value != value_of(words) : !may_end_so(player, task, code)) {
        say_wrong(player, "task %u ends with %s, %llx", (unsigned)task,
                  moot_err_name(code), (unsigned long long)value);
    }
}

static void run_tasks(struct player *player)
{
    const uint32_t count =
        4 + (uint32_t)(word_of(player, now(player), 2) % (SESSION_TASKS - 3));
    for (uint32_t task = 0; task < count; task++) {
        const uint64_t word = word_of(player, now(player), 400 + task);
        player->tasks[task] = (moot_task){0};
        const enum kind kind = kind_of(player, task);
        if (kind == KIND_OWN || kind == KIND_SET ||
            word % (2 * (uint64_t)player->session.size) !=
                (uint64_t)player->session.rank) {
            spawn(player, task);
        }
    }
    for (uint32_t task = 0; task < count; task++) {
        if (player->tasks[task].id == 0) {
            continue;
        }
        if (word_of(player, now(player), 600 + task + 50 * player->process) % 5 != 0) {
            end(player, task);
        }
        if (kind_of(player, task) == KIND_ONCE && task % 2 == 0) {
            continue; /* is held, so a later session may name it, too */
        }
        if (moot_task_release(player->m, player->tasks[task]) != MOOT_OK) {
            say_wrong(player, "task %u is not released", (unsigned)task);
        }
    }
}

/* --- Sets ------------------------------------------------------------------------- */

static void define_sets(struct player *player)
{
    int ranks[SESSION_RANKS];
    char name[24];
    for (uint32_t set = 0; set < SET_NAMES; set++) {
        const uint64_t word =
            word_of(player, now(player), 700 + 10 * set + player->process);
        const uint64_t alike = word_of(player, now(player), 800 + set);
        size_t count = 0;
        for (int rank = 0; rank < player->session.size; rank++) {
            if ((alike % 3 == 0 ? word : alike) >> (8 + rank) & 1) {
                ranks[count++] = rank;
            }
        }
        (void)snprintf(name, sizeof(name), "app://%u.%u",
                       (unsigned)(now(player) - alike / 3 % 2), (unsigned)set);
        if (word % 2 == 0 && count > 0) {
            const int code = moot_pset_define(
                player->m, name, &(moot_ranks){.ranks = ranks, .count = count});
            if (code != MOOT_OK && code != MOOT_ERR_INVALID) { /* there was one */
                say_wrong(player, "%s is not defined: %s", name, moot_err_name(code));
            }
        } else if (word % 7 == 0) {
            (void)moot_pset_delete(player->m, name);
        }
    }
}

/* The processes of the session and all sets, with what all ranks are to say alike of
 * them: whether one is valid each finds by itself. */
static void note_sets(struct player *player)
{
    char story[STORY_BYTES];
    size_t at = 0;
    const size_t count = moot_pset_count(player->m);
    for (size_t i = 0; i < count; i++) {
        moot_pset_info set;
        if (moot_pset_info(player->m, i, &set) != MOOT_OK) {
            say_wrong(player, "a set is not shown");
            return;
        }
        if (strcmp(set.name, "mpi://SELF") == 0) {
            if (set.size != 1 ||
                strcmp(set.processes[0], player->session.process) != 0 ||
                set.ranks[0] != player->session.rank) {
                say_wrong(player, "it is not itself");
            }
            continue;
        }
        at += (size_t)snprintf(story + at, sizeof(story) - at, "%zu %s:", i, set.name);
        for (size_t k = 0; k < set.size && at + 64 < sizeof(story); k++) {
            at += (size_t)snprintf(story + at, sizeof(story) - at, " %s=%d",
                                   set.processes[k], set.ranks[k]);
        }
        for (size_t k = 0; i == 0 && k < set.size; k++) {
            if (has_left(player, (uint32_t)strtoul(set.processes[k] + 2, NULL, 10))) {
                say_wrong(player, "%s has left", set.processes[k]);
            }
        }
        if (i == 0 && (set.size != (size_t)player->session.size ||
                       strcmp(set.processes[player->session.rank],
                              player->session.process) != 0)) {
            say_wrong(player, "its rank is not its place in the world");
        }
    }
    player->ledger->sets[now(player)][player->process] = digest_bytes(story, at);
    player->ledger->saw[now(player)][player->process] = true;
}

/* --- Arrays ----------------------------------------------------------------------- */

static void run_arrays(struct player *player)
{
    const char *wrong = session_arrays_run(&player->arrays);
    const int code = player->arrays.code;
    const bool excused = code != MOOT_OK && has_anybody_died(player) &&
                         session_arrays_may_end(code) && !player->arrays.strays;
    if (wrong != NULL && !excused) {
        say_wrong(player, "%s: %s", wrong, moot_err_name(code));
    }
}

/* --- A rank ----------------------------------------------------------------------- */

static bool go_on(struct player *player)
{
    const bool leaves = leaves_at_end(player, now(player), player->process);
    const moot_session_options options = {.leave = leaves};
    const uint64_t before = player->session.number;
    const int code = moot_session_next(player->m, &options, &player->session);
    if (code != MOOT_OK) {
        if (!is_cut_off(player, code)) {
            say_wrong(player, "no session follows: %s", moot_err_name(code));
        }
        return false;
    }
    if (leaves ? player->session.rank != -1
               : player->session.number != before + 1 ||
                     player->session.rank != moot_rank(player->m) ||
                     player->session.size != moot_size(player->m)) {
        say_wrong(player, "it is rank %d of %d", player->session.rank,
                  player->session.size);
    }
    return !leaves;
}

static void register_kernels(struct player *player)
{
    const moot_kernel pure = {.name = "pure", .fn = kernel, .user = player->ledger};
    const moot_kernel once = {.name = "once",
                              .fn = kernel,
                              .user = player->ledger,
                              .flags = MOOT_KERNEL_ONCE};
    if (moot_kernel_register(player->m, &pure, &player->kernel) != MOOT_OK ||
        moot_kernel_register(player->m, &once, &player->once) != MOOT_OK ||
        moot_session_info_get(player->m, &player->session) != MOOT_OK) {
        say_wrong(player, "it does not begin");
    }
    const char *wrong = session_arrays_begin(&player->arrays, player->m,
                                             player->ledger->seed, &player->session);
    if (wrong != NULL) {
        say_wrong(player, "%s", wrong);
    }
}

void sessions_play(struct sessions_ledger *ledger, moot *m)
{
    struct player player = {
        .ledger = ledger, .m = m, .process = (uint32_t)moot_rank(m)};
    register_kernels(&player);
    bool here = true;
    while (here) {
        note_sets(&player);
        run_tasks(&player); /* first: who lags behind a small window finds none */
        run_arrays(&player);
        define_sets(&player);
        here = now(&player) < session_count(&player) && go_on(&player);
    }
    player.m = NULL;
    const int code = moot_close(m);
    if (code != MOOT_OK && !is_cut_off(&player, code)) {
        say_wrong(&player, "it does not close: %s", moot_err_name(code));
    }
}

/* --- All of them ------------------------------------------------------------------ */

static bool is_once(struct sessions_ledger *ledger, uint32_t session, uint32_t task)
{
    const struct player any = {.ledger = ledger, .session = {.number = session}};
    return kind_of(&any, task) == KIND_ONCE;
}

static void judge_runs(struct sessions_ledger *ledger, bool any_died)
{
    for (uint32_t session = 1; session < SESSIONS_MAX; session++) {
        for (uint32_t task = 0; task < SESSION_TASKS; task++) {
            /* A number of session 1 may be that of a task that runs once, too. */
            const uint32_t most =
                (session == 1 || ledger->forgets) && !is_once(ledger, session, task)
                    ? 2
                    : 1;
            const uint32_t runs = ledger->runs[session][task];
            if (runs > most && (!any_died || is_once(ledger, session, task))) {
                printf("WRONG: task %u of session %u ran %u times\n", (unsigned)task,
                       (unsigned)session, (unsigned)runs);
                ledger->wrong++;
            }
        }
    }
}

static void judge_sets(struct sessions_ledger *ledger, const bool *died,
                       uint32_t session)
{
    uint32_t first = SESSION_RANKS;
    for (uint32_t process = 0; process < ledger->ranks; process++) {
        if (!ledger->saw[session][process] || died[process]) {
            continue;
        }
        first = first == SESSION_RANKS ? process : first;
        if (!hash_equal(&ledger->sets[session][first],
                        &ledger->sets[session][process])) {
            printf("WRONG: a_%u and a_%u differ about the sets of session %u\n",
                   (unsigned)first, (unsigned)process, (unsigned)session);
            ledger->wrong++;
        }
    }
}

uint32_t sessions_judge(struct sessions_ledger *ledger, const bool *died)
{
    bool any_died = false;
    for (uint32_t process = 0; process < ledger->ranks; process++) {
        any_died |= died[process];
    }
    judge_runs(ledger, any_died);
    for (uint32_t session = 1; session < SESSIONS_MAX; session++) {
        judge_sets(ledger, died, session);
    }
    return ledger->wrong;
}
