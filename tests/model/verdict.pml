/* verdict.pml - how a task ends that nobody holds (PROTOCOL.md, T9).
 *
 * What is modelled.  N ranks, one pure task without candidates.  Any rank asks for it, and
 * any rank may spawn it at any moment, or never.  Its chair claims it, yields it to a
 * holder of whom it has heard, or, when no motion is on its way and no member is known to
 * hold it, decides NOT_HELD.  Any rank may spawn it just then: all was quiet before the
 * decision, not with it.  Up to DEATHS ranks die; then the living enter the next view,
 * with any of them as the chair.
 *
 * What is abstracted, and why that is sound.
 *   - Views.  All enter a view at once, with all reports in (see cancel.pml).
 *   - Messages stand in sets and arrive in any order, or never, if a view comes first.
 *   - That all is quiet may be found at any moment: quiet.pml shows when it is.
 *
 * Invariants.
 *   AGREE  of the living none has the task's result while another was told NOT_HELD.
 *   LATER  who was told NOT_HELD does not start it, whatever its program spawns.
 *
 * Mutants: VERDICTALONE (the chair tells its askers and records nothing), VERDICTMUTE (who
 * was told does not report it), VERDICTRUNS (who registers the task claims it as any
 * other).
 */
#ifndef N
#define N 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define NOBODY N
#define UNHELD (N + 1)

hidden byte AGREE, LATER; /* for SPIN's message when an assertion fails */

byte dead, out, deaths;   /* sets, but for deaths */
byte chair, rec = NOBODY; /* the chair's record: NOBODY, an owner, UNHELD */
byte maker = NOBODY;      /* whose result it is */
byte holds, asks;         /* sets of ranks */
byte heard;               /* a set: holders that the chair knows */
byte moving;              /* a set: motions of these are on their way */
byte decision = NOBODY;   /* a DECISION for so */
byte saying;              /* a set: to these it is said that nobody holds it */
byte told, has;           /* sets: who was told so; who has its result */
byte owns;                /* a set: who is to run it */

hidden byte r, x;

#define BIT(k) (1 << (k))
#define IN(set, k) ((set) & BIT(k))
#define ALIVE(k) (!IN(dead, k))
#ifndef VERDICTRUNS
#define MAY_CLAIM (rec == NOBODY && !IN(told, chair))
#else
#define MAY_CLAIM (rec == NOBODY || rec == UNHELD)
#endif

inline pick(k) {
  k = 0;
  do
  :: k < N - 1 -> k++
  :: break
  od
}

inline agree() {
  assert(AGREE || (told & ~dead) == 0 || (has & ~dead) == 0)
}

inline hear_unheld(k) {
  told = told | BIT(k);
  agree()
}

inline own(k) {
  assert(LATER || !IN(told, k));
  owns = owns | BIT(k)
}

/* The chair holds it, and its record is empty. */
inline claim() {
  if
  :: MAY_CLAIM && IN(holds, chair) -> rec = chair; own(chair)
  :: else
  fi
}

/* What the living report. */
inline report() {
  byte now = NOBODY;
  r = 0;
  do
  :: r < N ->
     if
     :: ALIVE(r) && IN(has, r) -> now = maker
     :: ALIVE(r) && !IN(has, r) && IN(owns, r) && now == NOBODY -> now = r
     :: else
     fi;
     r++
  :: else -> break
  od;
  if
#ifndef VERDICTMUTE
  :: now == NOBODY && (told & ~dead) -> now = UNHELD; told = told | BIT(chair)
#else
  :: now == NOBODY && IN(told, chair) -> now = UNHELD
#endif
  :: else
  fi;
  rec = now;
  now = 0
}

active proctype world() {
end:
  do
  :: atomic { /* a program spawns it, */
       pick(r);
       if
       :: ALIVE(r) && !IN(holds, r) ->
          holds = holds | BIT(r);
          if :: r == chair -> claim() :: else -> moving = moving | BIT(r) fi
       :: else
       fi
     }
  :: atomic { /* or needs it */
       pick(r);
       if
       :: ALIVE(r) && !IN(asks, r) ->
          asks = asks | BIT(r);
          if :: r != chair -> moving = moving | BIT(r) :: else fi
       :: else
       fi
     }
  :: atomic { /* the chair hears a motion */
       moving && ALIVE(chair) -> pick(r);
       if
       :: IN(moving, r) ->
          moving = moving & ~BIT(r);
          if :: IN(holds, r) -> heard = heard | BIT(r) :: else fi;
          if :: rec == UNHELD -> saying = saying | BIT(r) :: else fi
       :: else
       fi
     }
  :: atomic { /* it yields the task to a holder */
       rec == NOBODY && ALIVE(chair) && heard && asks -> pick(r);
       if
       :: IN(heard, r) -> rec = r; decision = r
       :: else
       fi
     }
  :: atomic { /* who gets the decision, if it was not told otherwise */
       decision != NOBODY && ALIVE(decision) ->
       own(decision);
       decision = NOBODY
     }
  :: atomic { /* all was quiet, and nobody was known to hold it */
       rec == NOBODY && ALIVE(chair) && heard == 0 && asks && !IN(holds, chair) ->
#ifndef VERDICTALONE
       rec = UNHELD;
       told = told | BIT(chair);
       agree();
#endif
       saying = saying | (asks & ~BIT(chair))
     }
  :: atomic { /* who asked is told */
       saying -> pick(r);
       if
       :: IN(saying, r) -> saying = saying & ~BIT(r); if :: ALIVE(r) -> hear_unheld(r) :: else fi
       :: else
       fi
     }
  :: atomic { /* an owner runs it */
       owns -> pick(r);
       if
       :: IN(owns, r) && ALIVE(r) ->
          owns = owns & ~BIT(r);
          has = has | BIT(r);
          maker = r;
          agree()
       :: else
       fi
     }
  :: atomic { /* a rank dies */
       deaths < DEATHS -> pick(r);
       if :: ALIVE(r) -> deaths++; dead = dead | BIT(r) :: else fi
     }
  :: atomic { /* the next view: who asks, asks again */
       dead != out && dead != BIT(N) - 1 ->
       out = dead;
       decision = NOBODY; saying = 0; heard = 0;
       pick(r);
       if
       :: ALIVE(r) -> chair = r
       :: else ->
          chair = 0;
          do
          :: !ALIVE(chair) -> chair++
          :: else -> break
          od
       fi;
       report();
       moving = (asks | holds) & ~dead & ~BIT(chair);
       claim()
     }
  od
}
