/* knobs.h - configuration: few knobs, one table.
 *
 * The table in knobs.c says of each knob its name, type, default, range and meaning; it
 * drives parsing, `moot info`, moot-knobs(7) and the reports.  Sources, the first that
 * names a knob wins:
 *
 *     moot_options.knobs > environment > file named by MOOT_CONFIG
 *                        > user file ($XDG_CONFIG_HOME or ~/.config)/moot/moot.conf
 *                        > system file /etc/moot/moot.conf > default
 *
 * A file has lines `MOOT_NAME = value`; `#` at a line's start or behind a blank begins
 * a comment.  Durations are `250us`, `5ms`, `2s`, `1m`; where a knob allows it, `auto`
 * and `never`.  What is to be a path is no number and no word like `on`, which was
 * meant as a switch.  An empty environment variable is an unset one.  A wrong value is
 * an error wherever it stands, even if a stronger source hides it; an unknown name is
 * one too.  In the environment it is one to `moot run`; a library that others started
 * says it aloud and goes on, since the prefix may be used by others there
 * (knobs_each_stranger).
 *
 * Rank 0 loads and everyone gets its values: knobs_encode, transport blob,
 * knobs_decode.
 */
#ifndef NODE_CONFIG_KNOBS_H
#define NODE_CONFIG_KNOBS_H

#include "proto/moot_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum knob {
    KNOB_DIVERGENCE,
    KNOB_DIVERGENCE_TABLE,
    KNOB_SIGNATURE,
    KNOB_VOTE_TIMEOUT,
    KNOB_ASK_DELAY,
    KNOB_VOTERS,
    KNOB_TREE_FANOUT,
    KNOB_DIRECT_MAX,
    KNOB_HEARTBEAT,
    KNOB_SUSPECT,
    KNOB_LEASE,
    KNOB_SPLIT,
    KNOB_JOINS,
    KNOB_THREADS,
    KNOB_VERIFY,
    KNOB_CRASHES,
    KNOB_KERNEL_LIMIT,
    KNOB_WINDOW,
    KNOB_PROGRESS,
    KNOB_TRANSPORT,
    KNOB_SEAL,
    KNOB_ROUTE,
    KNOB_RINGS,
    KNOB_GRACE,
    KNOB_STALL,
    KNOB_STALL_ABORT,
    KNOB_CHECKPOINT,
    KNOB_CHECKPOINT_WHEN,
    KNOB_CHECKPOINT_LEAST,
    KNOB_CHECKPOINT_ONCE,
    KNOB_CHECKPOINT_SYNC,
    KNOB_CHECKPOINT_MIB,
    KNOB_CHECKPOINT_AGE,
    KNOB_KERNEL_BY_BUILD,
    KNOB_SUMMARY,
    KNOB_FAULTS,
    KNOB_TRACE,
    KNOB_METRICS,
    KNOB_STATE,
    KNOB_MAX,
    KNOB_COUNT
};

/* Durations that are words. */
#define KNOB_AUTO INT64_C(-1)
#define KNOB_NEVER INT64_MAX

enum { KNOB_TEXT_BYTES = 512, KNOBS_BLOB_BYTES = 8192 };

/* Values of MOOT_DIVERGENCE (in the order of enum core_mode), MOOT_SIGNATURE,
 * MOOT_SPLIT, MOOT_JOINS, MOOT_PROGRESS and MOOT_RINGS. */
enum { KNOB_DIVERGENCE_REPAIR, KNOB_DIVERGENCE_STRICT, KNOB_DIVERGENCE_TRUST };
enum { KNOB_SIGNATURE_WARN, KNOB_SIGNATURE_FAIL };
enum { KNOB_SPLIT_MAJORITY, KNOB_SPLIT_SOLO };
enum { KNOB_JOINS_LIVE, KNOB_JOINS_SESSION };
enum { KNOB_PROGRESS_AUTO, KNOB_PROGRESS_THREAD, KNOB_PROGRESS_CALLER };
enum { KNOB_RINGS_ON, KNOB_RINGS_OFF };
enum { KNOB_SEAL_AUTO, KNOB_SEAL_OFF };

enum knob_source {
    KNOB_FROM_DEFAULT,
    KNOB_FROM_SYSTEM_FILE,
    KNOB_FROM_USER_FILE,
    KNOB_FROM_CONFIG_FILE,
    KNOB_FROM_ENVIRONMENT,
    KNOB_FROM_OPTIONS,
    KNOB_SOURCES
};

struct knob_origin {
    enum knob_source source;
    unsigned line; /* in a file, from 1; otherwise 0 */
};

struct knobs {
    int64_t divergence;
    int64_t divergence_table;
    int64_t signature;
    int64_t vote_timeout_ns; /* or KNOB_AUTO, KNOB_NEVER */
    int64_t ask_delay_ns;    /* or KNOB_AUTO */
    int64_t voters;
    int64_t tree_fanout;  /* 0: no trees */
    int64_t direct_max;   /* ranks; above that they count and tell along trees */
    int64_t heartbeat_ns; /* or KNOB_AUTO, KNOB_NEVER */
    int64_t suspect_ns;   /* or KNOB_AUTO */
    int64_t lease_ns;     /* or KNOB_AUTO */
    int64_t split;
    int64_t joins;
    int64_t window; /* tasks; 0: none */
    int64_t threads;
    int64_t verify_ppm;
    int64_t crashes;         /* 0: they are not counted */
    int64_t kernel_limit_ns; /* or KNOB_NEVER */
    int64_t progress;
    char transport[KNOB_TEXT_BYTES];
    int64_t seal;
    char route[KNOB_TEXT_BYTES];
    int64_t rings;
    int64_t grace_ns; /* or KNOB_AUTO */
    int64_t stall_ns; /* or KNOB_NEVER */
    int64_t stall_abort;
    char checkpoint[KNOB_TEXT_BYTES];      /* "": none */
    char checkpoint_when[KNOB_TEXT_BYTES]; /* node/checkpoint/policy.h */
    int64_t checkpoint_least_ns;           /* or KNOB_AUTO */
    int64_t checkpoint_once;
    int64_t checkpoint_sync;
    int64_t checkpoint_mib;    /* 0: no bound */
    int64_t checkpoint_age_ns; /* or KNOB_NEVER */
    int64_t kernel_by_build;
    char summary[KNOB_TEXT_BYTES]; /* "": none */
    char faults[KNOB_TEXT_BYTES];  /* "": none */
    char trace[KNOB_TEXT_BYTES];   /* "": none */
    char metrics[KNOB_TEXT_BYTES]; /* "": none */
    char state[KNOB_TEXT_BYTES];   /* "": the usual places; "off": none */
    int64_t most_ranks;            /* 0: none join */
    struct knob_origin origins[KNOB_COUNT];
};

enum knob_type {
    KNOB_CHOICE,
    KNOB_DURATION,
    KNOB_INTEGER,
    KNOB_RATE,
    KNOB_TEXT,
    KNOB_PATH
};

struct knob_row {
    const char *name; /* "MOOT_STALL" */
    enum knob_type type;
    const char *fallback; /* the default, as written */
    const char *words;    /* CHOICE: the choices, in the order of their values.
                             DURATION: which of auto and never it allows.  PATH: what
                             it may be beside a path.  Separated by blanks, NULL for
                             none */
    int64_t least, most;  /* INTEGER; DURATION, ns; RATE, parts per million */
    bool advanced;        /* most users never need it */
    const char *meaning;  /* one line */
    size_t offset;        /* in struct knobs */
};
extern const struct knob_row knob_table[KNOB_COUNT];

void knobs_default(struct knobs *out);

/* Loads from all sources.  `overrides` are "NAME=VALUE" strings, NULL-terminated, or
 * NULL.  MOOT_ERR_CONFIG: *out is untouched, and `story` (of story_size bytes, at least
 * 1) says where the mistake stands and what is allowed. */
int knobs_load(struct knobs *out, const char *const *overrides, char *story,
               size_t story_size);

/* Sets one knob from text, as a source does; the story does not say where it stood. */
int knobs_set(struct knobs *knobs, const char *name, const char *value,
              struct knob_origin origin, char *story, size_t story_size);

/* "5ms" in ns; no word; false if it is malformed. */
bool knobs_read_duration(const char *text, int64_t *out_ns);

/* Writes a value as it would be written in a file, what it may be ("1 to 15"), or where
 * it came from ("environment", "/etc/moot/moot.conf:3").  All three cut what is too
 * long and return `text`. */
char *knobs_format(const struct knobs *knobs, enum knob knob, char *text, size_t size);
char *knobs_allowed(enum knob knob, char *text, size_t size);
char *knobs_origin(const struct knobs *knobs, enum knob knob, char *text, size_t size);

/* The file of a source; "" if it has none here (no home, MOOT_CONFIG not set).  Returns
 * `path`. */
char *knobs_path(enum knob_source source, const char *const *overrides, char *path,
                 size_t size);

/* Heartbeat, lease and suspicion, with what `auto` stands for. */
struct knob_timers {
    uint64_t heartbeat_ns, lease_ns, suspect_ns;
};
void knobs_timers(const struct knobs *knobs, struct knob_timers *out);
/* Whether silent ranks are voted out.  Without a helper thread, for which MPI has to
 * allow several (`threads`), a rank in a long kernel is silent: then only the dead are,
 * unless the user says how long silence may last. */
bool knobs_may_guess(const struct knobs *knobs, bool threads);
/* Whether what is set can be true at once: MOOT_OK, or MOOT_ERR_CONFIG and what cannot.
 */
int knobs_agree(const struct knobs *knobs, bool threads, char *story,
                size_t story_size);

/* Calls `see` with each MOOT_* variable of the environment that is no knob: most likely
 * a misspelt one.  MOOT_TEST_* are the tests'. */
void knobs_each_stranger(void (*see)(void *context, const char *name), void *context);
/* The story of a name that no knob has, with the nearest that one has.
 * MOOT_ERR_CONFIG. */
int knobs_refuse_name(const char *name, char *story, size_t story_size);

/* Everything to at most KNOBS_BLOB_BYTES, or a failure to load with its story; returns
 * the size. */
size_t knobs_encode(const struct knobs *knobs, char blob[KNOBS_BLOB_BYTES]);
size_t knobs_encode_failure(const char *story, char blob[KNOBS_BLOB_BYTES]);
/* MOOT_ERR_CONFIG: rank 0 could not load, and why.  MOOT_ERR_PROTOCOL: not a blob of
 * this version. */
int knobs_decode(struct knobs *out, const char *blob, size_t size, char *story,
                 size_t story_size);

#endif
