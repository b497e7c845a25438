/* stores.h - a program with a checkpoint, over several lives of its job.
 *
 * Each rank spawns the same few tasks: pure ones, ones that vary, once tasks, and once
 * tasks that may run again, each made from results of earlier ones.  It fetches them,
 * stores what waits, and asks for snapshots.  A life ends well, or all ranks are
 * killed, or power is lost with them; then the program runs again over what the disk
 * has (disk.h), on as many ranks as are drawn.  In some lives all ranks go back to a
 * snapshot, of this life or an earlier one, and run the program again from there.  The
 * last life is calm.
 *
 * These must be true.  A result is one that a kernel made, to the last byte, in this
 * life or an earlier one: no damaged record is used.  What it was made from is what
 * ranks find of its inputs, in whatever life.  What the disk has at the beginning of a
 * life does not run in it.  A once task starts once in all lives.  A snapshot of which
 * somebody was told is whole in all later lives, what it names can be read, and with a
 * result it has those that vary from which that was made.  In the calm life all ends
 * well, but for once tasks that had started, and what takes their results.
 *
 * After a reload, and in the lives behind it, what the snapshot names does not run, and
 * what varies has the value that stands there; of what it does not name no result that
 * varies is from before the reload.
 *
 * A loss of a disk, by a plan's harm, by flipped bits or removed packs, for lack of
 * descriptors, or with power before a sync, excuses what could not be otherwise then;
 * never a damaged result, and in the calm life none that was made from others than
 * ranks find.  A rank that has but few descriptors still finds what the disk has.
 */
#ifndef TESTS_VIRTUAL_STORES_H
#define TESTS_VIRTUAL_STORES_H

#include "node/api/moot.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORES_LIVES_MAX = 4,
    STORES_TASKS = 24,
    STORES_RANKS = 8,
    STORES_INPUTS = 2,
    STORES_RUNS = 64,
    STORES_SNAPSHOTS = 64,
    STORES_BACKS = 2
};

enum stores_kind {
    STORES_PURE,
    STORES_VARIES,
    STORES_ONCE,
    STORES_AGAIN,
    STORES_KINDS
};

/* A result begins with this. */
struct stores_value {
    uint64_t task, value, nonce;
};

struct stores_task {
    enum stores_kind kind;
    uint32_t input_count, inputs[STORES_INPUTS];
    uint32_t bytes;
    bool named; /* its hash is known: */
    moot_hash hash;
    uint32_t starts, run_count; /* in all lives */
    struct stores_value runs[STORES_RUNS];
    /* In this life: its result, or that it was about to start, is on the disk at its
     * beginning; and as each rank has it in the end. */
    bool stored, accepted;
    bool stored_known; /* its value, of which there is one; */
    struct stores_value stored_value;
    /* All went back to a snapshot that names it, with that value if it is known; or to
     * none that does, when this many runs had begun. */
    bool kept, kept_known;
    uint64_t kept_value, void_before;
    bool seen[STORES_RANKS];
    int32_t codes[STORES_RANKS];
    struct stores_value values[STORES_RANKS];
};

struct stores_ledger {
    uint64_t seed, nonces;
    struct stores_task tasks[STORES_TASKS];
    uint32_t life, ranks;
    bool calm;
    bool closed[STORES_RANKS]; /* well, in this life */
    struct {
        moot_hash id;
        uint32_t life;
    } snapshots[STORES_SNAPSHOTS]; /* somebody was told of */
    uint32_t snapshot_count;
    /* The reloads of this life; the first rank that comes to one draws the snapshot. */
    struct stores_back {
        bool drawn, done;
        moot_hash id;
    } backs[STORES_BACKS];
    uint32_t back_count;
    uint32_t reloads; /* ever tried, by any rank */
    /* Losses of a disk so far: records that it was given, acceptances among them;
     * or bits have flipped there. */
    bool lost, forgot, flipped;
    bool unstored; /* in this life what a rank makes may find no descriptor */
    uint32_t found, ran_again, checked; /* for people: stored tasks that did not run */
    uint32_t wrong;
    bool quiet;
};

void stores_draw(struct stores_ledger *ledger, uint64_t seed);
/* A life begins, over what the disk has. */
void stores_begin_life(struct stores_ledger *ledger, uint32_t ranks, bool calm);
/* Before the first rank opens, on it; also where the last reload has left the job. */
void stores_check_snapshots(struct stores_ledger *ledger);
/* Plays the rank's part, and closes. */
void stores_play(struct stores_ledger *ledger, uint32_t rank, moot *m);
/* Looks at what ranks saw that have not died.  How much was wrong so far, as told. */
uint32_t stores_judge(struct stores_ledger *ledger, const bool *died);

#endif
