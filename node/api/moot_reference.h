/* moot_reference.h - data by reference: what a program has, as a task.
 *
 * Input that a program has in memory, or that stands in a file, becomes a task whose
 * result it is: to be fetched, waited for, and taken as an input like any other.  The
 * task's hash is made of the array's fingerprint (moot_fingerprint.h) and of nothing
 * else, not even of the open scope: equal content is one task, on whichever ranks it
 * is, in however many files and in whichever of the formats.
 *
 *     double plate[2][3] = {{0}};
 *     moot_ndarray array = {MOOT_TYPE_FLOAT64, 2, (uint64_t[]){2, 3}, NULL, plate};
 *     moot_data_put(m, &array, &plate_task);
 *     moot_data_file(m, "run.npz#pressure", &pressure_task);
 *
 * The task's result is the array's canonical bytes: the elements in C order and
 * little-endian, every NaN the same (deploy/doc/FINGERPRINTS.md).  Nothing is computed
 * for it, and one rank that has the content gives it to all who want it; should that
 * rank die, another that has it does.  A rank that has it not may name the task by its
 * hash (moot_task_info, moot_task_find), or by the file.
 *
 * What moot.h says of every call holds here.
 */
#ifndef NODE_API_MOOT_REFERENCE_H
#define NODE_API_MOOT_REFERENCE_H

#include "hashing/fingerprint/moot_ndarray.h"
#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The task whose result is this array.  The elements are copied by the call, so the
 * program may change its memory when it returns; the copy stays until the task is
 * forgotten (moot_task_release), and is the result itself where this rank gives it out.
 * Any rank may put it, and several may put the same.  Does not wait, and asks nobody.
 *
 * Errors: INVALID as moot_fingerprint_array(); LIMIT (more bytes than a result can
 * have); NO_MEMORY; STATE in a kernel; and those of moot_task_spawn(). */
#define moot_data_put(m, ...) moot_data_put_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_data_put_at(moot *m, const moot_ndarray *array, moot_task *out,
                              const char *site);

/* The policy for a file that no rank can read. */
typedef struct moot_data_options {
    size_t size; /* sizeof(moot_data_options), or 0 */
    /* For so long it is looked for again and again, and peers are served meanwhile; 0:
     * the call fails at once.  MOOT_FOREVER is possible. */
    moot_duration patience;
    /* In place of that, if it is not NULL: called, without a lock, whenever nobody can
     * read the file.  MOOT_OK: it is looked for again at once, since the program has
     * made it, or has waited; any other code is what the call returns. */
    int (*missing)(void *user, const char *path);
    void *user;
} moot_data_options;

/* The task whose result is the content of this file: the array in one whose name ends
 * in .npy, .json or .npz, where "run.npz#pressure" is a member of an archive (as
 * moot_fingerprint_file() takes them), or else its bytes.  The same task as any of
 * equal content, put or in another file or format.
 *
 * A rank that can open the file reads it in this call, for its fingerprint, and once
 * more when the task runs there; no copy stays.  If the content has changed by then the
 * task ends with MOOT_ERR_FINGERPRINT, and the story has both fingerprints and the
 * path; if it cannot be read any more, with MOOT_ERR_FILE.
 *
 * A rank that cannot open it asks the other ranks, which look for the same path, from
 * their own working directory if it is relative; they need not call anything, and
 * answer when one of their threads next waits, or by a worker (MOOT_THREADS).  The
 * lowest that can read it, as far as they are asked, says what it has and gives it out.
 * Its result comes from there, when it is needed.
 *
 * Blocks while the file is read, and while others are asked.  Errors: INVALID; LIMIT (a
 * path of more than 4095 bytes); FILE (nobody can read it; or this rank can, and it is
 * not what its name says: the story has the place); UNSUPPORTED (others must be asked,
 * which only MOOT_DIVERGENCE=repair allows); what `missing` returned; STATE in a
 * kernel; and those of moot_task_spawn(). */
#define moot_data_file(m, path, ...)                                                   \
    moot_data_file_at((m), (path), NULL, __VA_ARGS__, MOOT_SITE)
#define moot_data_file_with(m, path, ...)                                              \
    moot_data_file_at((m), (path), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_data_file_at(moot *m, const char *path,
                               const moot_data_options *options, moot_task *out,
                               const char *site);

/* The same for a file that is announced as text, a JSON object of three members:
 *
 *     {"uid": "p1", "operation": "read", "input": "run.npz#pressure"}
 *
 * "input" is the path, "operation" is "read", and "uid", a text or an integer, is what
 * the announcer calls the data; it is no part of the task.  `options` may be NULL.
 * Errors: those of moot_data_file_with(); INVALID (no such object; the story has the
 * line); UNSUPPORTED (another operation). */
#define moot_data_announce(m, text, ...)                                               \
    moot_data_announce_at((m), (text), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_data_announce_at(moot *m, const char *text,
                                   const moot_data_options *options, moot_task *out,
                                   const char *site);

/* Bytes go ahead of their need: on a rank that is one of `ranks` (zero: every rank) the
 * task's result begins to come, though nobody waits for it, and is here when somebody
 * does; it goes with the rank's last handle on the task.  On any other rank nothing is
 * done, so all ranks may make the same call.  For any task, not for data alone.  Does
 * not wait.  A wait tells what has come of the task, also that it has failed.
 *
 * Errors: INVALID (no such rank in this session), STALE, FOREIGN, CLOSED, STATE in a
 * kernel. */
MOOT_API int moot_data_place(moot *m, moot_task task, moot_ranks ranks);

#ifdef __cplusplus
}
#endif
#endif
