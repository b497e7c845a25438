/* yield.pml - when a chair yields: T5's evidence and the demand bound (PROTOCOL.md T1, T2,
 * T5, T7, need, QUIET's choice).
 *
 * What is modelled.  R ranks with one lane each, T tasks, every placement of chairs and
 * every acyclic set of inputs (a task's inputs have lower numbers).  A rank's program is any
 * sequence of spawning a task (in any order, leaving any out), waiting for a task (spawned
 * here or not) and ending.  With AGREE every rank spawns all tasks in the same order, and
 * waits for what it has spawned whenever it likes.  One view; tasks take any time.
 *
 * What is abstracted, and why that is sound.
 *   - Messages.  The chair sees every ask at once, with the `need` that its asker has now.
 *     need falls and holders only grow, so what a chair knows with delay is at most that: it
 *     yields no earlier than here, and once everything has arrived it knows the same.
 *   - Holders are known to the chair whether they asked or not (G4, SEEK, T1a).
 *   - RESULT arrives when the waiter wakes, at any moment after the task is done.
 *   - Hints, declines, nesting, candidates and T_vote are further reasons to yield; without
 *     them the program must get on too.
 *
 * Invariants.
 *   PROGRESS  when nothing can happen and a lane still waits, some asked key has neither
 *             owner nor holder, so that QUIET fails a wait and never needs its fallback
 *             (I14).  QUIET then fails the one of the asker with the shortest roll, and the
 *             program goes on from there.
 *   NO_VOTE   ranks that agree never yield (I13).
 *
 * Mutants: BLOCKEDONLY (a blocked chair yields without looking at need), NOBOUND (need is
 * not passed on from a task to its inputs), NOLACK (a waiter that lacks the task sets no
 * bound).
 */
#ifndef R
#define R 2
#endif
#ifndef T
#define T 3
#endif
#define BIT(x) (1 << (x))
#define HAS(set, x) ((set) & BIT(x))
#define INFINITE 15
#define ALL_TASKS (BIT(T) - 1)

/* A lane: RUNNING, CLOSED, or waiting for task lane - WAITING. */
#define RUNNING 0
#define CLOSED 1
#define WAITING 2

hidden byte PROGRESS, NO_VOTE; /* for SPIN's message when an assertion fails */

byte chair[T], inputs[T];   /* inputs: a set of tasks */
byte idx[R * T];            /* 1-based position on the roll of r; 0: not held */
byte roll[R];
byte lane[R];
byte owner[T];              /* rank + 1 */
byte done;                  /* tasks */
byte need[T];               /* demand bound, a function of the rest: see update() */

hidden byte i, j, k, best;

#define IDX(r, t) idx[(r) * T + (t)]
#define BLOCKED(r) (lane[r] >= WAITING)
#define AWAITS(r, t) (lane[r] == WAITING + (t))
#define HELD(t) (IDX(0, t) || IDX(1, t) || (R > 2 && IDX(R - 1, t)))
#define FEEDS(h, x) (HAS(inputs[x], h) && owner[x] && !HAS(done, x))

/* b of an asker's own view of h: its position, or 0 if it lacks h. */
#ifdef NOLACK
#define BOUND(r, t) (IDX(r, t) -> IDX(r, t) : INFINITE)
#else
#define BOUND(r, t) IDX(r, t)
#endif
#define LESSER(a, b) ((a) < (b) -> (a) : (b))

/* need[], from the tasks without consumers to their inputs. */
inline update()
{
    for (i : 0 .. T - 1) {
        j = T - 1 - i;
        need[j] = INFINITE;
        for (k : 0 .. R - 1) {
            if
            :: AWAITS(k, j) -> need[j] = LESSER(need[j], BOUND(k, j))
            :: else
            fi
        }
        for (k : j + 1 .. T - 1) {
            if
            :: FEEDS(j, k) ->
                need[j] = LESSER(need[j], BOUND(owner[k] - 1, j));
#ifndef NOBOUND
                need[j] = LESSER(need[j], need[k])
#endif
            :: else
            fi
        }
    }
    i = 0; j = 0; k = 0
}

#ifdef BLOCKEDONLY
#define EVIDENCE(c, t) (lane[c] == CLOSED || (BLOCKED(c) && need[t] < INFINITE))
#else
#define EVIDENCE(c, t) (lane[c] == CLOSED || (BLOCKED(c) && need[t] <= roll[c]))
#endif
#ifdef AGREE
#define MAY_SPAWN(r, t) (roll[r] == (t))
#define MAY_WAIT(r, t) (IDX(r, t) && !HAS(done, t))
#define MAY_CLOSE(r) (roll[r] == T)
#else
#define MAY_SPAWN(r, t) (IDX(r, t) == 0)
#define MAY_WAIT(r, t) (!HAS(done, t))
#define MAY_CLOSE(r) true
#endif

#define TASK(t) \
    /* T1 register, T2 claim */ \
    :: d_step { (t) < T && lane[r] == RUNNING && MAY_SPAWN(r, t) -> \
        roll[r]++; \
        IDX(r, t) = roll[r]; \
        owner[t] = (owner[t] == 0 && chair[t] == r -> r + 1 : owner[t]); \
        update() } \
    :: d_step { (t) < T && lane[r] == RUNNING && MAY_WAIT(r, t) -> \
        lane[r] = WAITING + (t); \
        update() } \
    :: d_step { (t) < T && AWAITS(r, t) && HAS(done, t) -> \
        lane[r] = RUNNING; \
        update() } \
    /* T5: this rank holds it and is the one that the chair yields to */ \
    :: d_step { (t) < T && owner[t] == 0 && chair[t] != r && IDX(r, t) && \
                EVIDENCE(chair[t], t) -> \
        YIELDED(); \
        owner[t] = r + 1; \
        update() } \
    /* T7 */ \
    :: d_step { (t) < T && owner[t] == r + 1 && !HAS(done, t) && \
                (inputs[t] & ~done) == 0 -> \
        done = done | BIT(t); \
        update() }
#ifdef AGREE
#define YIELDED() assert(NO_VOTE)
#else
#define YIELDED() skip
#endif

proctype rank(byte r)
{
end:
    do
    TASK(0) TASK(1) TASK(2) TASK(3)
    :: d_step { lane[r] == RUNNING && MAY_CLOSE(r) -> lane[r] = CLOSED; update() }
    od
}

#define ANYONE_BLOCKED (BLOCKED(0) || BLOCKED(1) || (R > 2 && BLOCKED(R - 1)))

/* Among keys without owner and holder, fail the ask of the shortest roll. */
inline fail_one()
{
    best = INFINITE; j = INFINITE; /* the asker's length, and who it is */
    for (i : 0 .. T - 1) {
        if
        :: owner[i] == 0 && !HELD(i) ->
            for (k : 0 .. R - 1) {
                if
                :: AWAITS(k, i) && roll[k] < best -> best = roll[k]; j = k
                :: else
                fi
            }
            for (k : i + 1 .. T - 1) {
                if
                :: FEEDS(i, k) && roll[owner[k] - 1] < best ->
                    best = roll[owner[k] - 1]; j = R + k
                :: else
                fi
            }
        :: else
        fi
    }
    assert(PROGRESS || j != INFINITE);
    if
    :: j < R -> lane[j] = RUNNING
    :: j >= R && j < R + T -> done = done | BIT(j - R) /* an error result */
    :: else
    fi;
    i = 0; j = 0; k = 0; best = 0
}

init
{
    byte t = 0;
    atomic {
        do
        :: t < T ->
            if
            :: chair[t] = 0
            :: chair[t] = 1
            :: R > 2 -> chair[t] = R - 1
            fi;
            if
            :: inputs[t] = 0
            :: t > 0 -> inputs[t] = BIT(t - 1)
            :: t > 1 -> inputs[t] = BIT(t - 2)
            :: t > 1 -> inputs[t] = BIT(t - 1) | BIT(t - 2)
            fi;
            need[t] = INFINITE;
            t++
        :: else -> break
        od;
        t = 0;
        do
        :: t < R -> run rank(t); t++
        :: else -> break
        od;
        t = 0
    }
end:
    do
    :: d_step { timeout && ANYONE_BLOCKED -> fail_one(); update() }
    od
}
