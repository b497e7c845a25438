/* snapshots.c - snapshots of a program whose results vary, and a check of what they
 * name.
 *
 *     snapshots [ROUNDS [LEDGER [WHO+COUNT@ROUND | WHO~COUNT@ROUND | WHO-@ROUND]...]]
 *                                       a rank of the job; ranks share LEDGER
 *     snapshots --check FOLDER LEDGER   whether each snapshot is whole, and consistent
 *
 * In each round a task that varies is made from the end of the round before, then one
 * from it on whichever rank, and so on: each result is made of all that
 * varied before.  A kernel writes "made HASH OF" into LEDGER: its task was made of OF,
 * the last one before it that varies.  In every third round one rank, by turns, asks
 * for a snapshot, and in every fifth all do.  WHO is a process: in that round it asks
 * for so many ranks more; or waits until so many have joined; or it leaves, while
 * others ask for their snapshot, and its process lives until SNAPSHOTS_ENOUGH, a file's
 * name in its environment, is there. Who comes later runs all rounds from the first one
 * on.
 *
 * What must be true of each snapshot in the folder that has a commit: its parts are
 * whole, and with a task it has the one that varies of which that was made.
 *
 * Without arguments: 6 rounds, no ledger, and without a checkpoint no snapshot.  Exit
 * status: 0 right, 1 wrong.
 */
#include "hashing/identity.h"
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"
#include "node/diskstore/disk_snapshot.h"
#include "tests/mpi/support/joined.h"
#include "tests/mpi/support/must.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct result {
    moot_hash varied; /* the nearest task that varies: this, or one it was made of */
    uint64_t value;
};

enum { WIDTH = 4 }; /* results that are made from each that varies */

static int ledger = -1;

static int work(moot_call *call, void *user)
{
    char line[80], own[MOOT_HASH_TEXT_BYTES], of[MOOT_HASH_TEXT_BYTES];
    const moot_hash *hash = moot_call_hash(call);
    struct result *out = moot_call_output(call, sizeof(*out));
    const bool varies = user != NULL;
    struct timespec now;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, sizeof(*out));
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (varies) {
        out->varied = *hash;
        out->value = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32;
    }
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        const struct result *input = moot_call_input(call, i, NULL);
        out->value = out->value * 31 + input->value;
        const int size =
            snprintf(line, sizeof(line), "made %s %s\n", hash_format(hash, own),
                     hash_format(&input->varied, of));
        out->varied = varies ? *hash : input->varied;
        if (ledger >= 0 && write(ledger, line, (size_t)size) != size) {
            abort();
        }
    }
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    return MOOT_OK;
}

/* --- A rank ----------------------------------------------------------------------- */

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t number,
                       const moot_task *input)
{
    moot_task task;
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number),
                                           .inputs = input,
                                           .input_count = input != NULL},
                         &task),
         "spawn");
    return task;
}

/* Whether a snapshot is asked for in this round by this rank. */
static bool asks(const moot *m, uint64_t round)
{
    return round % 5 == 4 ||
           (round % 3 == 2 && (int)(round / 3) % WIDTH == moot_rank(m));
}

static void ask(moot *m, uint64_t round)
{
    char name[32];
    moot_hash id, found;
    snprintf(name, sizeof(name), "round-%llu", (unsigned long long)round);
    must(m, moot_checkpoint(m, &(moot_checkpoint_options){.name = name}, &id),
         "snapshot");
    must(m, moot_checkpoint_find(m, name, &found), "find");
}

static void live_on(void)
{
    const char *enough = getenv("SNAPSHOTS_ENOUGH");
    while (enough != NULL && access(enough, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* Whether a word of the plan is for this process in that round; what it is to do, as
 * *what, and how often. */
static bool is_for(const char *word, const char *process, uint64_t round, char *what,
                   int *count)
{
    const size_t who = strcspn(word, "+~-");
    char *end = NULL;
    *what = word[who];
    if (*what == '\0' || strlen(process) != who || strncmp(word, process, who) != 0) {
        return false;
    }
    *count = (int)strtol(word + who + 1, &end, 10);
    return *end == '@' && strtoull(end + 1, NULL, 10) == round;
}

/* Does what the plan has for this process in that round; false: it has left. */
static bool act(moot *m, char **plan, uint64_t round, moot_task last)
{
    moot_session_info session;
    must(m, moot_session_info_get(m, &session), "session");
    for (; *plan != NULL; plan++) {
        char what;
        int count;
        if (!is_for(*plan, session.process, round, &what, &count)) {
            continue;
        }
        if (what == '+') {
            must(m, moot_grow(m, count, NULL), "grow");
        } else if (what == '~') {
            joined_await(m, last, count);
        } else {
            must(m, moot_leave(m), "leave");
            live_on();
            return false;
        }
    }
    return true;
}

static int run(uint64_t rounds, bool has_folder, char **plan)
{
    moot *m;
    static char yes;
    moot_kernel_id varying, made;
    if (moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "snapshots: moot_open: %s\n", moot_last_error(NULL));
        return 1;
    }
    must(m,
         moot_kernel_register(m,
                              &(moot_kernel){.name = "varying",
                                             .fn = work,
                                             .user = &yes,
                                             .flags = MOOT_KERNEL_NONDETERMINISTIC},
                              &varying),
         "kernel");
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "made", .fn = work}, &made),
         "kernel");
    joined_watch(m);
    moot_task last = {0};
    bool here = true;
    for (uint64_t round = 0; here && round < rounds; round++) {
        last = spawn(m, varying, round, round > 0 ? &last : NULL);
        for (int i = 1; i <= WIDTH; i++) {
            last = spawn(m, made, round * 100 + (uint64_t)i, &last);
        }
        here = act(m, plan, round, last);
        if (here && has_folder && asks(m, round)) {
            ask(m, round);
        }
    }
    if (here) {
        must(m, moot_task_wait(m, last, MOOT_FOREVER), "wait");
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}

/* --- What a folder has ------------------------------------------------------------ */

static bool names_hash(const struct disk_set *set, const moot_hash *hash)
{
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(set->entries[i].hash, hash->bytes, MOOT_HASH_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static size_t count_missing(const struct disk_set *set, FILE *lines)
{
    char own[MOOT_HASH_TEXT_BYTES], of[MOOT_HASH_TEXT_BYTES];
    moot_hash made, from;
    size_t missing = 0;
    rewind(lines);
    while (fscanf(lines, "made %32s %32s\n", own, of) == 2) {
        if (hash_parse(own, &made) && hash_parse(of, &from) && names_hash(set, &made) &&
            !names_hash(set, &from)) {
            printf("%s is in, but %s is not, which it was made of\n", own, of);
            missing++;
        }
    }
    return missing;
}

static int check(const char *folder, const char *path)
{
    size_t count, bad = 0, whole = 0;
    FILE *lines = fopen(path, "r");
    struct disk_snapshot *all = disk_snapshot_list(folder, true, &count), again;
    for (size_t i = 0; lines != NULL && i < count; i++) {
        struct disk_set set = {0};
        if (disk_snapshot_read(folder, &all[i].id, &again, &set)) {
            whole += disk_snapshot_is_whole(&again);
            bad += !disk_snapshot_is_whole(&again);
            bad += count_missing(&set, lines);
            disk_snapshot_release(&again);
        }
        bad += all[i].damaged;
        disk_set_release(&set);
    }
    disk_snapshot_list_free(all, count);
    printf("%zu whole, %zu wrong\n", whole, bad);
    return lines == NULL || fclose(lines) != 0 || bad > 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--check") == 0) {
        return !hashing_init() || check(argv[2], argv[3]);
    }
    const char *folder = getenv("MOOT_CHECKPOINT");
    if (argc > 2) {
        ledger = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
    return run(argc > 1 ? strtoull(argv[1], NULL, 10) : 6,
               folder != NULL && folder[0] != '\0', argc > 3 ? argv + 3 : argv + argc);
}
