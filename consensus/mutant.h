/* mutant.h - rules that can be switched off, to see that something notices.
 *
 * A checker is worth what it has been seen to catch.  Built with -DMOOT_MUTANTS, the
 * core asks MUTANT(NAME) at the rules below, and the tests break one rule at a time; in
 * any other build MUTANT() is the constant false and the mutants do not exist.  `make
 * mutants` shows what kills each.
 */
#ifndef CONSENSUS_MUTANT_H
#define CONSENSUS_MUTANT_H

/* X(NAME, "what is left out") */
#define MUTANTS(X)                                                                     \
    X(AMNESIA, "a chair that registers a task late claims it although it yielded it")  \
    X(BLOCKEDONLY, "a blocked chair yields without looking at the demand bound")       \
    X(NOBOUND, "the demand bound is not passed on to the inputs of owned tasks")       \
    X(NOLACK, "a waiter that lacks the task counts as if its roll had no end")         \
    X(NORETEST, "a chair that becomes blocked does not look at its undecided keys")    \
    X(LATEMUTE, "who registers what it waits for does not tell the chair")             \
    X(NOSEEK, "a chair that knows no holder seeks none")                               \
    X(NOREFER, "a finder keeps the candidates to itself")                              \
    X(NOSWEEP, "nobody tells a closed chair of tasks that no one waits for")           \
    X(FORGETASKERS, "a decision does not name the askers")                             \
    X(DECIDEONCE, "a decision is not sent again for a later asker")                    \
    X(NOBALLOT, "once tasks are decided without their voters")                         \
    X(SMALLQ, "a quorum is one voter too small")                                       \
    X(NOTFOUND, "what nobody holds fails before what is held is yielded")              \
    X(ONEROUND, "one quiet round of polls is enough")                                  \
    X(NOCOUNT, "quiet rounds do not compare messages sent and received")               \
    X(RESTISPEACE, "a rank with a lane that may wake counts as passive")               \
    X(NOCHASE, "circles of owned tasks are not looked for")                            \
    X(PUSHAGAIN, "a result is pushed for every consumer, not once per rank")           \
    X(ASKANYWAY, "needs are asked for without the ask delay")                          \
    X(NOPULL, "a bare result's bytes are not asked for")

enum mutant {
    MUTANT_NONE,
#define X(name, text) MUTANT_##name,
    MUTANTS(X)
#undef X
        MUTANT_END
};

#ifdef MOOT_MUTANTS
extern enum mutant mutant_on; /* defined by the test program */
#define MUTANT(name) (mutant_on == MUTANT_##name)
#else
#define MUTANT(name) 0
#endif

#endif
