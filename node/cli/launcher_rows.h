/* launcher_rows.h - the rows that launchers print about ranks that are gone.
 *
 * Open MPI's launcher says of each death what ranks and the summary say better, in rows
 * that look as if something else were wrong, and as the last thing on the screen:
 *
 *     [host:4711] PMIX ERROR: BAD-PARAM in file ... at line 1033
 *     ------------------------------------------------------ (and once more at its end)
 *     mpirun noticed that process rank 1 with PID 0 on node host exited on signal 9.
 *
 * They are taken out of what passes through, and kept.  All else goes on at once, byte
 * by byte and in its order; what begins like such a row waits for what decides that,
 * and goes on if that does not come.
 */
#ifndef NODE_CLI_LAUNCHER_ROWS_H
#define NODE_CLI_LAUNCHER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum { ROWS_UNDECIDED_BYTES = 4096, ROWS_KEPT_BYTES = 16384 };

/* Zero-initialise. */
struct launcher_rows {
    char undecided[ROWS_UNDECIDED_BYTES]; /* whole rows, and the last one's beginning */
    size_t count;
    size_t row;                 /* where that begins */
    bool passing;               /* the row is not one of these */
    bool banner;                /* what is undecided is one: until its last row */
    char kept[ROWS_KEPT_BYTES]; /* the first of those that were taken out, */
    size_t kept_count;          /* and how much; no more than there is room for */
};

/* Calls `put` with what goes on of the bytes that came. */
typedef void (*rows_put)(void *context, const char *bytes, size_t size);
void launcher_rows_take(struct launcher_rows *rows, const char *bytes, size_t size,
                        rows_put put, void *context);
/* Nothing came for a while, or nothing more comes: what is undecided goes on. */
void launcher_rows_rest(struct launcher_rows *rows, rows_put put, void *context);

#endif
