/* plan_words.h - what the files of the fault plan share.
 *
 *     plan.c          names, sets of ranks, equality, the check against a job's size
 *     plan_lex.c      words, numbers, times, ranks
 *     plan_parse.c    rules
 *     plan_format.c   back to the canonical word; errors and hits for people
 *     plan_explain.c  English
 *     plan_match.c    which rules strike
 *     plan_draw.c     how hard
 */
#ifndef CONSENSUS_FAULTPLAN_PLAN_WORDS_H
#define CONSENSUS_FAULTPLAN_PLAN_WORDS_H

#include "consensus/faultplan/faultplan.h"

/* --- plan.c ----------------------------------------------------------------------- */

const char *plan_group_name(enum plan_group group);
/* Adds first..last and keeps the ranges ascending and apart; false if there are too
 * many. */
bool plan_ranks_add(struct plan_ranks *ranks, uint32_t first, uint32_t last);
bool plan_ranks_has(const struct plan_ranks *ranks, uint32_t rank);
bool plan_spans_have(const struct plan_ranks *ranks, uint32_t number);
bool plan_is_strike(enum plan_fault fault);  /* kill, restart, pause, leave, flip */
bool plan_is_message(enum plan_fault fault); /* drop, dup, reorder, delay */
/* How many `times` a rule has that gives none; 0 if the fault takes none. */
uint32_t plan_times_default(enum plan_fault fault);

/* Text that ends where its buffer ends, and knows how long it would have been. */
struct plan_text {
    char *bytes;
    size_t size, length;
};
void plan_put(struct plan_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends it and returns its whole length. */
size_t plan_text_end(struct plan_text *text);

/* --- plan_lex.c ------------------------------------------------------------------- */

struct lexer {
    const char *text;
    size_t at, end;
    bool failed;
    struct plan_error *error;
};

/* Records the first mistake, at from .. from+length-1 (0-based), and returns false. */
bool lex_wrong(struct lexer *lexer, size_t from, size_t length, const char *allowed,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The mistake that something else should stand here. */
bool lex_expected(struct lexer *lexer, const char *what, const char *allowed);
char lex_peek(const struct lexer *lexer, size_t ahead); /* '\0' at the end */
bool lex_skip(struct lexer *lexer, const char *text);   /* if it stands here */
/* The length of the run of letters, digits, '.', '_' and '%' from here. */
size_t lex_word(const struct lexer *lexer);
/* One of the names; *out is its index.  `what` is what they name, for the error. */
bool lex_name(struct lexer *lexer, const char *what, const char *const *names,
              size_t count, size_t *out);
bool lex_integer(struct lexer *lexer, uint64_t *out);
bool lex_time(struct lexer *lexer, uint64_t *out_ns);
/* At most so long, which is no longer than PLAN_TIME_MAX_NS; `too_long` says so. */
bool lex_time_within(struct lexer *lexer, uint64_t most_ns, const char *too_long,
                     uint64_t *out_ns);
/* A decimal, in parts per million, from least to most; `what` is what it is. */
bool lex_ppm(struct lexer *lexer, const char *what, uint32_t least, uint32_t most,
             uint32_t *out);
/* plan_parse.c's, for whoever else reads one. */
bool lex_spread(struct lexer *lexer, struct plan_spread *out);
/* "0.1" or "10%". */
bool lex_chance(struct lexer *lexer, uint32_t *out_ppb);
/* Spans behind an optional or required "r"; not "all". */
bool lex_ranks(struct lexer *lexer, bool needs_r, struct plan_ranks *out);
/* Likewise; or spans of hosts behind an "h". */
bool lex_places(struct lexer *lexer, bool needs_r, struct plan_ranks *out);

#endif
