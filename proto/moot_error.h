/* moot_error.h - every error a public call can return.
 *
 * Public and self-contained.  One list makes the enum, the names and the texts; numbers
 * are stable: a new error goes to the end, none is reused.  moot_strerror() gives the
 * text, moot_err_name() the name, moot_last_error() the long story of a failure.
 */
#ifndef MOOT_ERROR_H
#define MOOT_ERROR_H

/* X(name, number, text) */
#define MOOT_ERRORS(X)                                                                 \
    X(INVALID, -1, "invalid argument")                                                 \
    X(NO_MEMORY, -2, "out of memory")                                                  \
    X(TIMEOUT, -3, "the wait's timeout passed")                                        \
    X(STALE, -4, "the handle was released or never valid")                             \
    X(FOREIGN, -5, "the handle belongs to another context")                            \
    X(LIMIT, -6, "a stated limit is exceeded")                                         \
    X(CLOSED, -7, "the context is closed or closing")                                  \
    X(STATE, -8, "the call is not allowed in this state")                              \
    X(CONFIG, -9, "a configuration value is malformed")                                \
    X(TRANSPORT, -10, "the transport failed")                                          \
    X(PROTOCOL, -11, "a peer speaks another version of the protocol")                  \
    X(UNKNOWN_KERNEL, -12, "the kernel is not registered on this rank")                \
    X(KERNEL_MISMATCH, -13, "the kernel is registered differently on two ranks")       \
    X(KERNEL_EXISTS, -14, "a kernel of this name is registered already")               \
    X(NO_KEY, -15, "a once task needs a key")                                          \
    X(NO_CANDIDATE, -16, "no candidate for the task is a member")                      \
    X(NOT_HELD, -17, "no rank holds the task, and none will")                          \
    X(CYCLE, -18, "the order dependencies form a cycle")                               \
    X(TASK_FAILED, -19, "the task or one of its inputs failed")                        \
    X(CANCELLED, -20, "the task was cancelled")                                        \
    X(DIVERGED, -21, "ranks spawned different tasks (strict mode)")                    \
    X(DECLINED, -22, "the task was declined on this rank")                             \
    X(NOT_CHILD, -23, "a running task may wait only for tasks that it spawned")        \
    X(NO_OUTPUT, -24, "the kernel returned without setting its output")                \
    X(SCOPE_CLOSED, -25, "the task's scope is closed")                                 \
    X(MAYBE_RAN, -26, "the owner died; the once task may have run")                    \
    X(RESULT_LOST, -27, "the result is lost, and must not be made again")              \
    X(NO_QUORUM, -28, "this rank is cut off from the majority")                        \
    X(FENCED, -29, "this rank was removed from the moot")                              \
    X(STALLED, -30, "the job stalled and MOOT_STALL_ABORT ended it")                   \
    X(KERNEL_CODE, -31, "a kernel failed with a code of its own")                      \
    X(UNSUPPORTED, -32, "not supported by this build or transport")                    \
    X(NONDETERMINISTIC, -33, "a pure task gave other bytes when it was run again")     \
    X(CRASHED, -34, "as many ranks died of the task as MOOT_CRASHES says")             \
    X(FILE, -35,                                                                       \
      "a file or a snapshot is not there, cannot be read or written, or is not of "    \
      "the "                                                                           \
      "format that its name says")                                                     \
    X(FINGERPRINT, -36, "a file's content is not what it was when its task was named") \
    X(SIGNATURE, -37, "the rank's state is not what most ranks have (MOOT_SIGNATURE)")

enum moot_error {
    MOOT_OK = 0,
#define X(name, number, text) MOOT_ERR_##name = number,
    MOOT_ERRORS(X)
#undef X
};

#endif
