/* reload.pml - all go back to a snapshot, and deaths and a restart in it (PROTOCOL.md, *Reload*).
 *
 * What is modelled.  N ranks come to MEETINGS meetings, one after the other, each for a
 * snapshot that its program names.  The lowest has the mark written, tells the outcome, and a
 * view says that all reload.  All the while each of RUNNERS ranks runs a task, whose result it keeps in a
 * record with the generation in which the task was started, and takes results of others.  Up
 * to DEATHS ranks die at any moment, the lowest, too; with REMOVED one that lives is removed,
 * and goes on in its last view.  All die at once, at any moment, up to RESTARTS times: then a
 * new job opens the disks, and comes to the last meeting.  Up to FAILS times a disk says that
 * a mark was not written; it may be there all the same.
 *
 * What is abstracted, and why that is sound.
 *   - A view is decided at once, and each member enters it when it likes: view.pml.  One that
 *     is caused by a death says that all reload, or does not, where a member has heard so.
 *   - Who comes is known to the lowest at once: it stands there until it hears the outcome.
 *     What one member has heard, the others may hear from it: session.pml.
 *   - A record is durable when it is made.  One that is lost is as one that was never made.
 *   - One task, whose result is in no snapshot.  What a snapshot has is valid always.
 *   - A mark that is durable later than its disk said is as one that was durable then: the
 *     highest counts.
 *
 * Invariants.
 *   MARK   who begins a generation finds its mark durable (I47);
 *   NAMED  it had asked for that snapshot;
 *   ONE    marks of one generation are of one snapshot;
 *   VOID   who was told of a reload, or is of a later job, takes no result of an earlier time,
 *          neither from a disk nor from a rank (I47);
 *   WAIT   who lives, and is not removed, hears the outcome of each meeting, and begins what it
 *          has heard to begin.
 *
 * Mutants: MARKEARLY (the outcome is told before the mark is durable), MARKTRIED (the generation
 * of a mark that failed is used again), MARKANY (who names another snapshot is not refused),
 * MARKONCE (the lowest of a later view does not write the mark again), RELOADOLD (a result of a
 * view before the reload is taken), RUNLATE (a record has the generation in which its task
 * ended), UNMARKED (records have no generation), RELOADUNSAID (views do not say that all
 * reload).
 */
#ifndef N
#define N 3
#endif
#ifndef MEETINGS
#define MEETINGS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef RUNNERS
#define RUNNERS N
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifdef REMOVED
#define VIEWS (MEETINGS + DEATHS + 2)
#else
#define VIEWS (MEETINGS + DEATHS + 1)
#endif
#define GENERATIONS 5

hidden byte MARK, NAMED, ONE, VOID, WAIT; /* for SPIN's message when an assertion fails */

byte dead;                 /* a set */
byte newest = 1;           /* the view decided last, */
byte members[VIEWS + 1] = (1 << N) - 1; /* and of each its members, a set, */
byte said[VIEWS + 1];      /* the generation that it says, */
byte times[VIEWS + 1];     /* its time: how many reloads somebody was told of before, */
byte lead[VIEWS + 1];      /* and the lowest of its members */
byte view[N] = 1;          /* in which each is, */
byte generation[N], age[N]; /* its generation, and its time */

/* Disks. */
byte marks[GENERATIONS];   /* of which snapshot each generation is, or 0 */
byte records[GENERATIONS]; /* of each generation: the times at which they were made, a set */

byte at[N];                /* how many meetings each has passed */
byte names[N];             /* the snapshot for which it stands at the next one, or 0 */
byte knows[N];             /* the latest generation of which it has heard */
byte heard[N];             /* a generation that it is to begin, or 0 */
byte writes[N];            /* a generation whose mark is on its way to its disk, or 0, */
byte wrote[N];             /* its snapshot, */
byte in_view[N];           /* and the view in which that began */
byte runs[N];              /* 1 + the generation in which its task was started, or 0, */
byte since[N];             /* and the time */
bool ran[N];               /* in this generation */

/* Outcomes on their way, of each view and meeting: 1 + the generation that was tried, */
byte outcome[(VIEWS + 1) * MEETINGS];
bool good[(VIEWS + 1) * MEETINGS];  /* whether it begins, */
byte untold[(VIEWS + 1) * MEETINGS]; /* and to whom: a set */

byte told;                 /* reloads of which somebody was told */
byte deaths, restarts, fails;
bool removed;

hidden byte r, k, g;

#define BIT(i) (1 << (i))
#define ALIVE(i) (!(dead & BIT(i)))
#define IN(e, i) (members[e] & BIT(i))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define OUTCOME(e, m) ((e) * MEETINGS + (m))

/* Each living rank finds no record of a time before its own. */
inline look() {
  r = 0;
  do
  :: r < N ->
#ifdef UNMARKED
     k = 0;
#else
     k = generation[r];
#endif
     do
     :: k < GENERATIONS ->
        assert(VOID || !ALIVE(r) || !(records[k] & (BIT(age[r]) - 1)));
        k++
     :: else -> break
     od;
     r++
  :: else -> break
  od
}

/* Rank i begins generation g, at time t. */
inline begin(i, t) {
  assert(MARK || marks[g]);
  assert(NAMED || !marks[g] || marks[g] == names[i]);
  generation[i] = g;
  age[i] = t;
  told = MAX(told, t);
  ran[i] = false;
  if :: heard[i] == 0 -> at[i]++ :: else fi;
  heard[i] = 0;
  names[i] = 0;
  knows[i] = MAX(knows[i], g);
  look()
}

/* The lowest of view e, rank c, tells all its members. */
inline tell(e, c, what, begins) {
  outcome[OUTCOME(e, at[c])] = 1 + (what);
  good[OUTCOME(e, at[c])] = begins;
  untold[OUTCOME(e, at[c])] = members[e]
}

/* Rank i hears the outcome of its meeting: it stands at it as long as it has not. */
inline hear(i, what, begins) {
  if
  :: begins -> heard[i] = what
  :: else ->
     names[i] = 0;
#ifndef MARKTRIED
     knows[i] = MAX(knows[i], what)
#endif
  fi;
  at[i]++
}

/* A member: its program, its task, its disk, and the views that it enters. */
active [N] proctype member() {
end:
  do
  :: atomic { ALIVE(_pid) && at[_pid] < MEETINGS && names[_pid] == 0 ->
       if :: names[_pid] = 1 + at[_pid] :: _pid == N - 1 && at[_pid] == 0 -> names[_pid] = 2 fi
     }
  :: atomic { _pid < RUNNERS && ALIVE(_pid) && runs[_pid] == 0 && !ran[_pid] ->
       runs[_pid] = 1 + generation[_pid];
       since[_pid] = age[_pid];
       ran[_pid] = true
     }
  :: atomic { ALIVE(_pid) && runs[_pid] ->
#ifdef RUNLATE
       g = generation[_pid];
#else
       g = runs[_pid] - 1;
#endif
       records[g] = records[g] | BIT(since[_pid]);
       runs[_pid] = 0;
       since[_pid] = 0;
       look()
     }
  :: atomic { ALIVE(_pid) && view[_pid] < newest && IN(view[_pid] + 1, _pid) ->
       view[_pid]++;
       g = said[view[_pid]];
       if :: g > generation[_pid] -> begin(_pid, times[view[_pid]]) :: else fi;
       /* A result of each view until now may come. */
       k = 1;
       do
       :: k <= view[_pid] ->
#ifdef RELOADOLD
          assert(VOID || times[k] >= age[_pid]);
#else
          assert(VOID || said[k] < generation[_pid] || times[k] >= age[_pid]);
#endif
          k++
       :: else -> break
       od
     }
  :: atomic { ALIVE(_pid) && at[_pid] < MEETINGS && names[_pid] && heard[_pid] == 0 &&
              (untold[OUTCOME(view[_pid], at[_pid])] & BIT(_pid)) ->
       k = OUTCOME(view[_pid], at[_pid]);
       untold[k] = untold[k] & ~BIT(_pid);
       hear(_pid, outcome[k] - 1, good[k])
     }
  /* Another member of this view has heard it. */
#define AHEAD(i) (ALIVE(i) && view[i] == view[_pid] && at[i] == at[_pid] + 1 && \
                  IN(view[_pid], i))
  :: atomic { ALIVE(_pid) && at[_pid] < MEETINGS && names[_pid] && heard[_pid] == 0 &&
              (AHEAD(0) || AHEAD(1) || AHEAD(N - 1)) ->
       r = (AHEAD(0) -> 0 : (AHEAD(1) -> 1 : N - 1));
       if
       :: heard[r] -> hear(_pid, heard[r], true)
       :: else -> hear(_pid, knows[r], false)
       fi
     }
  /* The disk. */
  :: atomic { ALIVE(_pid) && writes[_pid] ->
       g = writes[_pid];
       if
       :: true ->
          assert(ONE || marks[g] == 0 || marks[g] == wrote[_pid]);
          marks[g] = wrote[_pid];
#ifndef MARKEARLY
          if :: in_view[_pid] == view[_pid] -> tell(view[_pid], _pid, g, true) :: else fi
#endif
       :: fails < FAILS ->
          fails++;
          if
          :: assert(ONE || marks[g] == 0 || marks[g] == wrote[_pid]); marks[g] = wrote[_pid]
          :: true
          fi;
          if :: in_view[_pid] == view[_pid] -> tell(view[_pid], _pid, g, false) :: else fi
       fi;
       writes[_pid] = 0;
       wrote[_pid] = 0;
       in_view[_pid] = 0
     }
  od
}

/* The lowest of each view. */
#define VIEW (_pid - N + 1)
#define LEAD lead[VIEW]
#define CAME(i)                                                                               \
  (!IN(VIEW, i) || (view[i] == VIEW && names[i] && heard[i] == 0 && at[i] == at[LEAD]))
#define SAME(i) (!IN(VIEW, i) || names[i] == names[LEAD])
#ifdef MARKONCE
#define MAY_MARK (VIEW == 1 || said[VIEW] != said[VIEW - 1])
#else
#define MAY_MARK true
#endif
#define KNOWS(i) (IN(VIEW, i) -> knows[i] : 0)

active [VIEWS] proctype coordinator() {
end:
  do
  :: atomic { VIEW <= newest && ALIVE(LEAD) && writes[LEAD] == 0 && at[LEAD] < MEETINGS &&
              outcome[OUTCOME(VIEW, at[LEAD])] == 0 && CAME(0) && CAME(1) && CAME(N - 1) &&
              MAY_MARK ->
       if
#ifdef MARKANY
       :: true ->
#else
       :: SAME(0) && SAME(1) && SAME(N - 1) ->
#endif
          g = MAX(KNOWS(0), KNOWS(1));
          g = MAX(g, KNOWS(N - 1)) + 1;
          writes[LEAD] = g;
          wrote[LEAD] = names[LEAD];
          in_view[LEAD] = VIEW;
#ifdef MARKEARLY
          tell(VIEW, LEAD, g, true)
#endif
#ifndef MARKANY
       :: else -> tell(VIEW, LEAD, 0, false)
#endif
       fi
     }
  od
}

/* A view without those that are gone says what one of the last one's members has heard. */
#define HEARD(i) (IN(newest, i) && view[i] == newest -> heard[i] : 0)

inline decide(without, says) {
  members[newest + 1] = members[newest] & ~(without);
  said[newest + 1] = MAX(said[newest], says);
  times[newest + 1] = (says > said[newest] -> told + 1 : times[newest]);
  newest++;
  lead[newest] = 0;
  do
  :: !IN(newest, lead[newest]) -> lead[newest]++
  :: else -> break
  od
}

/* All have died, and a new job opens the disks. */
inline restart() {
  g = GENERATIONS - 1;
  do
  :: g > 0 && marks[g] == 0 -> g--
  :: else -> break
  od;
  dead = 0;
  newest = 1;
  members[1] = BIT(N) - 1;
  said[1] = g;
  times[1] = told;
  lead[1] = 0;
  r = 0;
  do
  :: r < N ->
     view[r] = 1;
     generation[r] = g;
     age[r] = told;
     at[r] = MEETINGS - 1;
     names[r] = 0;
     knows[r] = g;
     heard[r] = 0;
     writes[r] = 0;
     wrote[r] = 0;
     in_view[r] = 0;
     runs[r] = 0;
     since[r] = 0;
     ran[r] = false;
     r++
  :: else -> break
  od;
  r = 0;
  do
  :: r < (VIEWS + 1) * MEETINGS -> outcome[r] = 0; good[r] = false; untold[r] = 0; r++
  :: else -> break
  od;
  r = 2;
  do
  :: r <= VIEWS -> members[r] = 0; said[r] = 0; times[r] = 0; lead[r] = 0; r++
  :: else -> break
  od;
  look()
}

/* Deaths, views, and the restart. */
active proctype world() {
  byte i;
end:
  do
  :: atomic { deaths < DEATHS ->
       do :: i < N - 1 -> i++ :: break od;
       if :: ALIVE(i) -> dead = dead | BIT(i) :: else fi;
       i = 0;
       deaths++ /* one less may die */
     }
  :: atomic { restarts < RESTARTS -> restarts++; restart() }
#ifdef REMOVED
  :: atomic { !removed && newest < VIEWS ->
       removed = true;
       do :: i < N - 1 -> i++ :: break od;
       if
       :: ALIVE(i) && IN(newest, i) && (members[newest] & ~dead & ~BIT(i)) ->
          decide(dead | BIT(i), 0)
       :: else
       fi;
       i = 0
     }
#endif
  :: atomic { newest < VIEWS && (members[newest] & dead) && (members[newest] & ~dead) ->
       decide(dead, 0)
     }
#ifndef RELOADUNSAID
  :: atomic { newest < VIEWS && (members[newest] & ~dead) &&
              (HEARD(0) > said[newest] || HEARD(1) > said[newest] ||
               HEARD(N - 1) > said[newest]) ->
       g = MAX(HEARD(0), HEARD(1));
       g = MAX(g, HEARD(N - 1));
       decide(dead, g)
     }
#endif
  :: atomic { timeout ->
       do
       :: i < N ->
          assert(WAIT || !ALIVE(i) || !IN(newest, i) || (at[i] == MEETINGS && heard[i] == 0));
          i++
       :: else -> break
       od;
       break
     }
  od
}
