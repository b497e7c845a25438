/* cancel.pml - a cancel, deaths, and one outcome (PROTOCOL.md, *Cancel*, *Entering*).
 *
 * What is modelled.  N ranks, one pure task that all hold.  Any rank cancels it at any
 * moment.  Its chair decides for any rank; owners start, end, send their result with or
 * without its bytes; who has the bytes may release them.  What the task takes may be lost
 * or cancelled meanwhile, so that any run of it may fail.  Up to DEATHS ranks die, each at
 * any moment; then the living enter the next view, with any of them as the chair.
 *
 * What is abstracted, and why that is sound.
 *   - Views.  All enter a view at once, with all reports in.  pure.pml shows that chairs
 *     decide frozen keys as if it were so, whoever enters when.
 *   - Messages stand in sets and arrive in any order, or never, if a view comes first
 *     (Rule E).  Between two ranks they are ordered, so a CANCEL that follows a DECISION is
 *     delivered after it.
 *   - A result that a dead owner had sent arrives before the death, or is dropped.
 *
 * Invariants.
 *   ONE    living ranks that know how the task ended know the same.  That it is lost is
 *          no end: who knew another still knows that.
 *   KNOWN  what its chair knew to be cancelled when it decided does not start.
 *
 * Mutants: UNSEEN (what has ended well and is made again may be cancelled), CANCELALONE (a
 * decision does not say that the task was cancelled), SEENALONE (nor that it has ended well,
 * so that its owner does not know that it may only be lost).
 */
#ifndef N
#define N 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define NOBODY N

mtype:own = { IDLE, WAIT, RUNS, DONE };
mtype:end = { NONE, WELL, FAILED, CANCELLED, LOST };

hidden byte ONE, KNOWN; /* for SPIN's message when an assertion fails */

byte dead, deaths;              /* a set */
byte chair, rec = NOBODY;
bool barred;                    /* the chair knows that somebody has seen it end well */
bool told;                      /* a CANCEL for the chair is under way */
byte decision = NOBODY;         /* a DECISION for so, */
bool says_cancelled, says_seen; /* and what it says */
bool order, forwarded;          /* a CANCEL for the owner is under way; was sent */
bool known;                     /* the chair knew of it when it decided */
bool cancels[N], seen[N], bytes[N];
bool again[N];                  /* as an owner: it was told that it has ended well */
mtype:own own[N] = IDLE;
mtype:end end[N] = NONE;        /* as the rank knows now, */
mtype:end ever[N] = NONE;       /* and ever did, but that it is lost */
byte maker = NOBODY;            /* whose result it is */

hidden byte r, q, other;

#define ALIVE(x) (!(dead & (1 << (x))))
#define AGREED (cancels[chair] && !barred)

inline pick(x) {
  x = 0;
  do
  :: x < N - 1 -> x++
  :: break
  od
}

inline learn(x, how) {
  end[x] = how;
  if :: how != LOST -> ever[x] = how :: else fi;
  other = 0;
  do
  :: other < N ->
     assert(ONE || !ALIVE(other) || how == LOST || ever[other] == NONE || ever[other] == how);
     other++
  :: else -> break
  od
}

inline finish(x, how) {
  own[x] = DONE;
  maker = x;
  bytes[x] = true;
  learn(x, how)
}

inline take(x, cancelled, ended) {
  if
  :: own[x] == IDLE && end[x] == NONE && cancelled -> finish(x, CANCELLED)
  :: own[x] == IDLE && end[x] == NONE && !cancelled -> own[x] = WAIT; again[x] = ended
  :: own[x] == WAIT && cancelled -> finish(x, CANCELLED)
  :: else
  fi
}

/* What the living report, and what the chair makes of it. */
inline judge() {
  byte with = NOBODY, runs = NOBODY;
  barred = false;
  r = 0;
  do
  :: r < N ->
     if
     :: ALIVE(r) ->
        if :: bytes[r] -> with = maker :: else fi;
        if :: own[r] == WAIT || own[r] == RUNS -> runs = r :: else fi;
#ifndef UNSEEN
        if :: end[r] != NONE || seen[r] -> barred = true :: else fi;
#endif
        if
        :: end[r] != NONE && !bytes[r] && !ALIVE(maker) -> /* gone with its owner */
           end[r] = NONE; seen[r] = true
        :: else
        fi
     :: else
     fi;
     r++
  :: else -> break
  od;
  if
  :: with != NOBODY -> rec = with
  :: else -> rec = runs
  fi;
  r = 0;
  do
  :: r < N ->
     if :: ALIVE(r) && r != chair && cancels[r] && end[r] == NONE -> told = true :: else fi;
     r++
  :: else -> break
  od
}

inline enter_view() {
  decision = NOBODY; says_cancelled = false; says_seen = false; told = false; order = false;
  forwarded = false; known = false;
  pick(r);
  if
  :: ALIVE(r) -> chair = r
  :: else -> /* some living rank */
     chair = 0;
     do
     :: !ALIVE(chair) -> chair++
     :: else -> break
     od
  fi;
  judge()
}

active proctype world() {
  do
  :: atomic { /* a program cancels */
       pick(r);
       if
       :: ALIVE(r) && !cancels[r] && end[r] == NONE -> cancels[r] = true;
          if :: r != chair -> told = true :: else fi
       :: else
       fi
     }
  :: atomic { told -> told = false; cancels[chair] = cancels[chair] || end[chair] == NONE }
  :: atomic { /* T2, T5 */
       rec == NOBODY && end[chair] == NONE -> pick(r);
       if
       :: ALIVE(r) ->
          rec = r; known = AGREED; forwarded = AGREED;
          if
          :: r == chair -> take(r, AGREED, barred)
          :: else -> decision = r;
#ifndef SEENALONE
             says_seen = barred;
#endif
#ifndef CANCELALONE
             says_cancelled = AGREED
#endif
          fi
       :: else
       fi
     }
  :: atomic { decision != NOBODY -> r = decision; decision = NOBODY;
       take(r, says_cancelled, says_seen); says_cancelled = false; says_seen = false }
  :: atomic { /* the chair hears of it later */
       rec != NOBODY && AGREED && !forwarded && ALIVE(rec) -> forwarded = true;
       if
       :: rec == chair -> take(rec, own[rec] == WAIT, false)
       :: else -> order = true
       fi
     }
  :: atomic { order && decision == NOBODY -> order = false;
       if :: own[rec] == WAIT -> take(rec, true, false) :: else fi }
  :: atomic { pick(r);
       if
       :: ALIVE(r) && own[r] == WAIT -> assert(KNOWN || !known); own[r] = RUNS
       :: ALIVE(r) && own[r] == RUNS -> finish(r, WELL)
       :: ALIVE(r) && own[r] == RUNS && !again[r] -> finish(r, FAILED)
       :: ALIVE(r) && own[r] == RUNS && again[r] -> finish(r, LOST)
       :: else
       fi
     }
  :: atomic { /* its result, or, of one who has gone, a copy */
       maker != NOBODY -> pick(r);
       if
       :: ALIVE(r) && !bytes[r] && own[r] == IDLE && (ALIVE(maker) || rec == maker) ->
          pick(q);
          if
          :: ALIVE(q) && bytes[q] ->
             if
             :: bytes[r] = true
             :: end[q] == WELL -> skip /* without its bytes */
             fi;
             learn(r, end[q])
          :: else
          fi
       :: else
       fi
     }
  :: atomic { pick(r); /* an error's bytes stay */
       if
       :: bytes[r] && ALIVE(r) && r != maker && end[r] == WELL && ALIVE(maker) ->
          bytes[r] = false
       :: else
       fi
     }
  :: atomic { deaths < DEATHS && deaths < N - 1 -> pick(r);
       if
       :: ALIVE(r) ->
          dead = dead | (1 << r); deaths++; bytes[r] = false;
          again[r] = false;
          if :: own[r] != DONE -> own[r] = IDLE :: else fi;
          enter_view()
       :: else
       fi
     }
  od
}
