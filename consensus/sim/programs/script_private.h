/* script_private.h - a script as it was read; script_read.c's and script_write.c's.
 *
 * The tasks of one declaration are a *set*: one task, or an array of them.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_SCRIPT_PRIVATE_H
#define CONSENSUS_SIM_PROGRAMS_SCRIPT_PRIVATE_H

#include "consensus/faultplan/plan_words.h"
#include "consensus/sim/programs/script.h"

/* Where something stands, for a mistake that shows only later. */
struct script_place {
    uint32_t line, column, length;
};

enum script_pick { SCRIPT_PICK_ALL, SCRIPT_PICK_RANGE, SCRIPT_PICK_SAME };

struct script_ref {
    uint32_t set;
    enum script_pick pick;
    uint32_t first, last; /* RANGE */
    int64_t offset;       /* SAME: [=-1] has -1 */
    struct script_place place;
};

struct script_refs {
    struct script_ref *items;
    uint32_t count, capacity;
};

struct script_set {
    char name[SCRIPT_NAME_BYTES];
    uint32_t first; /* index of its first task */
    uint32_t count;
    bool array, child;
    struct script_refs inputs, after;
    struct script_ref parent; /* if child */
    uint32_t depth;
    uint32_t work_us, result_bytes;
    uint64_t candidates;
    uint64_t elements; /* each is a task array of so many; 0: a task */
    bool once, idempotent, portable, hint, fails, loose, poison;
    struct script_place place;
};

enum script_op {
    SCRIPT_SPAWN,
    SCRIPT_DECLINE,
    SCRIPT_CANCEL,
    SCRIPT_WAIT,
    SCRIPT_ANY,
    SCRIPT_FETCH,
    SCRIPT_POLL,
    SCRIPT_COMPUTE,
    SCRIPT_BARRIER,
    SCRIPT_MEET,
    SCRIPT_EACH,
    SCRIPT_END
};

/* Whose program the actions are. */
struct script_section {
    struct plan_ranks ranks;
    uint32_t lane;
    struct script_place place;
};

struct script_action {
    enum script_op op;
    uint32_t section;
    struct script_refs refs;
    uint32_t chance_ppb; /* SPAWN */
    bool shuffled;
    struct plan_spread spread; /* COMPUTE */
    uint64_t ns;               /* POLL */
    uint32_t first, last;      /* EACH */
    uint32_t purpose;          /* MEET: 1 + which of the script's; 0: none */
    struct script_place place;
};

struct script {
    struct script_set *sets;
    uint32_t set_count, set_capacity;
    struct script_section *sections;
    uint32_t section_count, section_capacity;
    struct script_action *actions;
    uint32_t action_count, action_capacity;
    uint32_t task_count, lane_count;
    char (*purposes)[SCRIPT_NAME_BYTES]; /* of meetings */
    uint32_t purpose_count, purpose_capacity;
};

/* The set's tasks that the reference means in round or for task `same`, as indices
 * first..first+return-1 of the program. */
uint32_t script_resolve(const struct script *script, const struct script_ref *ref,
                        uint32_t same, uint32_t *first);

/* --- script_words.c -------------------------------------------------------------- */

struct script_reader {
    struct script *script;
    const char *text; /* of the line */
    size_t size, at;
    uint32_t line;
    struct lexer word; /* the one that is read; empty at the line's end */
    size_t from;       /* where it begins */
    struct plan_error mistake;
    const char **names; /* of the sets */
    bool declares_one;  /* the last set is one task, whose own line is read */
    bool in_each;
    struct script_place each_place;
};

void *script_grow(void *items, uint32_t *capacity, uint32_t count, size_t item_bytes);
/* Moves on to the next word of the line; false if there is none. */
bool script_next_word(struct script_reader *reader);
struct script_place script_place_of(const struct script_reader *reader);
bool script_is_word(const struct script_reader *reader, const char *text);
bool script_is_reserved(const struct script_reader *reader);
/* The whole word is wrong. */
bool script_wrong(struct script_reader *reader, const char *allowed, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
/* Nothing of the word is left. */
bool script_word_ends(struct script_reader *reader, const char *what);
bool script_read_time(struct script_reader *reader, uint64_t *out_ns);
/* first-last, or one number if `single` may be. */
bool script_lex_range(struct lexer *word, bool single, uint32_t *first, uint32_t *last);
bool script_read_ranks(struct script_reader *reader, struct plan_ranks *out);
/* One task or some of an array, that stand in the present word. */
bool script_read_ref(struct script_reader *reader, bool may_same,
                     struct script_ref *out);
/* One or more; stops at a reserved word, which is then the present one. */
bool script_read_refs(struct script_reader *reader, bool may_same,
                      struct script_refs *out);

/* --- script_write.c -------------------------------------------------------------- */

void script_error_set(struct script_error *error, struct script_place place,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
