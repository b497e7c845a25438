/* script.h - a user's own program, told in a file: who spawns what, and waits
 * where.
 *
 *     # Each rank refines its tiles; now and then one of them does not.
 *     task grid                         work 200us  result 8kB
 *     task tile[64] <- grid             work 1ms
 *     task fix[64]  <- tile[=] grid     work 300us
 *
 *     on all
 *         spawn grid tile
 *         each 0-63
 *             spawn fix[=] chance 99%
 *         end
 *         compute exp:2ms
 *     on 0
 *         fetch fix
 *
 * A file has lines of words; # begins a comment.  In EBNF, [ ] being optional, { }
 * repeated and quoted signs literal:
 *
 *     line    = [ task | section | action ]
 *     task    = "task" NAME [ "[" count "]" ] { "<-" refs | "after" refs | "in" ref
 *               | "work" time | "result" size | "candidates" ranks
 *               | "elements" number
 *               | "once" | "idempotent" | "portable" | "hint" | "fails" | "loose"
 *               | "poison" }
 *     section = "on" ranks [ "lane" number ]
 *     action  = "spawn" refs [ "chance" chance ] [ "shuffled" ]
 *             | ( "decline" | "cancel" | "wait" | "any" | "fetch" ) refs
 *             | "poll" ref "for" time | "compute" spread | "barrier"
 *             | "meet" [ NAME ]
 *             | "each" range | "end"
 *     refs    = ref { ref }
 *     ref     = NAME [ "[" ( number | range | "=" [ ( "+" | "-" ) number ] ) "]" ]
 *     ranks   = "all" | ( number | range ) { "+" ( number | range ) }
 *     range   = number "-" number
 *     chance  = percent | decimal                            (0% to 100%, or 0 to 1)
 *     size    = number [ "B" | "kB" | "MB" ]
 *     spread  = time | time "+-" time | "exp:" time | "pareto:" time ":" decimal
 *     time    = decimal ( "ns" | "us" | "ms" | "s" | "m" | "h" )
 *
 * task      declares a task, or `count` of them.  <- lists the inputs, `after` the
 *           tasks that must have ended before it; both were declared above.  `in` makes
 *           it a child, spawned by another task's kernel, which waits for it and uses
 *           its result unless it is `loose`; a child takes what its parent takes, and
 *           older siblings.  A task that is `poison` kills the rank that runs it.  With
 *           `elements` it is a task array of so many, in blocks, of which one fails if
 *           it `fails`, or kills its rank if it is `poison`: it stands at the top,
 *           comes after tasks or arrays, and gives nothing but its end.  The other
 *           words are those of moot_task_spawn(3); candidates are among the first 64
 *           ranks.
 * on        says whose program the actions below it are, up to the next `on`.
 * spawn     in the order given, each rank in another if `shuffled`; with a chance, each
 *           rank spawns each task with that chance, so that ranks differ.
 * cancel    whoever has spawned them, or will.
 * wait, any, fetch, poll
 *           wait for all, for one, for each in turn with its bytes, for at most so
 * long. compute   spends the program's own time, drawn for every rank and time anew.
 * barrier   is one of all ranks, in code that is not moot's.
 * meet      waits until all ranks have come to as many meetings, or ended; a meeting to
 *           which they come with different names, or one without, fails for all.  Lane
 * 0 alone meets. each      repeats the actions up to `end` for every number of the
 * range.
 *
 * Each property of a task is said once, but for <- and `after`.
 *
 * NAME alone means all tasks of that name.  [=] is the number of the task that is
 * declared, or of the round of `each`; [=-1] the one before.  What lies beyond an array
 * at such a place is left out.
 *
 * An action of a rank may wait for what that rank never spawns.  But if a rank waits
 * for what nobody has spawned *yet*, and all others have come to rest too, the moot may
 * find that nobody holds it.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_SCRIPT_H
#define CONSENSUS_SIM_PROGRAMS_SCRIPT_H

#include "consensus/sim/programs/program.h"

enum {
    SCRIPT_NAME_BYTES = 17,
    SCRIPT_TASKS_MAX = 1000000,
    SCRIPT_ELEMENTS_MAX = 10000000,
    SCRIPT_WRONG_BYTES = 160,
    SCRIPT_ALLOWED_BYTES = 320
};

struct script;

struct script_error {
    uint32_t line, column, length; /* 1-based, in bytes; line 0: of the whole */
    char wrong[SCRIPT_WRONG_BYTES];
    char allowed[SCRIPT_ALLOWED_BYTES]; /* what may stand there; "" if wrong says it */
};

/* Reads `size` bytes of text.  NULL, and *error says what is wrong.  Memory that runs
 * out ends the process: scripts are a test tool. */
struct script *script_parse(const char *text, size_t size, struct script_error *error);
/* Some of its tasks kill who runs them. */
bool script_has_poison(const struct script *script);
void script_free(struct script *script); /* accepts NULL */

/* The program of so many ranks; chances and orders are drawn from the seed.  NULL, and
 * *error says why it cannot be: a rank that is not there, a task spawned twice. */
struct program *script_program(const struct script *script, uint64_t seed,
                               uint32_t ranks, struct script_error *error);

/* "FILE:7:12: there is no task "tiel"", the line with a caret, and what is allowed;
 * like snprintf. */
size_t script_error_format(const char *path, const char *text, size_t text_size,
                           const struct script_error *error, char *out, size_t size);

#endif
