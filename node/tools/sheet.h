/* sheet.h - the figures that ranks leave behind, read and told to a person.
 *
 * A rank whose MOOT_SUMMARY names a directory puts a whole file into it at close
 * (node/explain/exit_report.c has its keys), so a rank without one died before that.
 * Keys that are unknown here are skipped.
 */
#ifndef NODE_TOOLS_SHEET_H
#define NODE_TOOLS_SHEET_H

#include "node/api/moot.h"
#include <stdbool.h>
#include <stdio.h>

/* A peer that the rank lost. */
struct sheet_loss {
    uint64_t rank;
    uint64_t seen_ns;    /* when its end was seen; 0: it was not */
    uint64_t removed_ns; /* when the view without it was entered; 0: none was */
    uint64_t epoch;      /* of that view */
    char death[256];     /* what it died of, as the rank knows; "": nothing */
};

struct sheet {
    uint64_t rank, size, wall_ns;
    uint64_t process;   /* its number for the launcher, by which sheets are in order */
    uint64_t moots;     /* so many are added up here: the process opened several */
    int64_t close_code; /* the rank's own verdict; 0: well */
    uint64_t departed;  /* 1: it left while the others went on, */
    uint64_t dismissed; /* because it was asked to */
    moot_stats stats;
    uint64_t common, partial; /* tasks that all ranks spawned, or only some; each is
                                 counted by the lowest of them */
    uint64_t gates;    /* tasks of the library's own for arrays, of this rank alone */
    uint64_t ended_ns; /* when it was written, by the job's clock (ending.h) */
    uint64_t peers_by_ring, peers_by_wire; /* at open */
    uint64_t handles_left, bytes_left; /* not released at the close, and their bytes */
    uint64_t snapshots, snapshots_ns;  /* whose commits it wrote, and their time */
    uint64_t snapshots_failed;         /* of which it could not write its part */
    uint64_t results_brief;            /* took less than it takes to store them */
    /* Plus 1; 0: none.  Of several moots that of the first. */
    uint64_t agreed_step; /* the latest at which all had told the same state, */
    uint64_t differing_step, differing_rank; /* and the first that differed, and who */
    uint64_t taken_over_ns; /* when the first task of a lost rank began; 0: none did */
    struct sheet_loss *losses;
    size_t loss_count;
    bool present;
};

/* All sheets of a directory, by process; those of one that opened several moots are
 * added up. */
struct sheets {
    struct sheet *items;     /* one per process; not all may be present */
    size_t count;            /* of processes; 0: nobody left anything */
    size_t founders, joined; /* the job began with so many, which others joined; 0: not
                                told */
};

/* The name of what a process leaves: "rank-3", "struck-3", of its job's first moot, or
 * "rank-3.2", of another; ".unfinished" behind it while it is written. */
struct sheet_name {
    bool struck, unfinished;
    unsigned long process;
    char whole[64]; /* without ".unfinished" */
};
bool sheet_name_read(const char *name, struct sheet_name *out);

/* Removes what the ranks of an earlier job left there, or it would be taken for this
 * one's; false, and errno, if that cannot be, or there is no such folder.  What has
 * another name stays. */
bool sheets_clear(const char *directory);

/* Reads what lies in the directory; false without memory.  Release either way. */
bool sheets_read(const char *directory, struct sheets *out);
/* If anybody left anything: there were so many processes that the job began with, and
 * so many that joined it, whether or not they left something.  False without memory. */
bool sheets_reach(struct sheets *sheets, size_t founders, size_t joined);
void sheets_release(struct sheets *sheets);

/* Frames sent again are told where there are so many, and so many in a hundred. */
enum { SHEET_RESENT_LEAST = 32, SHEET_RESENT_PERCENT = 5 };

/* Frames that were sent again, of those sent, in percent; 0 where they are no more than
 * a busy host alone makes them. */
static inline unsigned sheet_resent_percent(uint64_t linked, uint64_t resent)
{
    const bool tells =
        resent >= SHEET_RESENT_LEAST && resent * 100 > linked * SHEET_RESENT_PERCENT;
    return tells && linked > 0 ? (unsigned)(resent * 100 / linked) : 0;
}

/* Tells what happened. */
void sheets_print(const struct sheets *sheets, FILE *to);

#endif
