/* crash.pml - a task that kills whoever runs it (PROTOCOL.md, T10).
 *
 * What is modelled.  N ranks on HOSTS hosts, one pure task that all hold, and whose kernel
 * ends its rank by a fault of its own.  Up to KILLS ranks die from outside, too, one of
 * them perhaps while it runs the task.  Who shares a host with the dead learns of what
 * they died, in any order among ranks.  A chair decides for any rank, or that the task
 * ends CRASHED, and tells the others one by one.  After a death the living enter the next
 * view, with any of them as the chair.
 *
 * What is abstracted, and why that is sound.
 *   - Views.  All enter a view at once, with all reports in.  pure.pml shows that chairs
 *     decide frozen keys as if it were so, whoever enters when.
 *   - What a rank learns when the view has gone on without the dead is a message to the
 *     chair, which comes at any moment, or never, if a view comes first (Rule E).
 *   - Who proposes a view knows of what the dead of its host died: its host tells it of
 *     all of them before it certifies the last.  A rank of another host proposes when it
 *     likes.
 *
 * Invariants.
 *   BOUND  on one host no rank starts the task when LIMIT have died of it.
 *   TRUTH  it ends CRASHED only if LIMIT ranks have died of it.
 *   LAST   nobody starts it when somebody alive has been told CRASHED.
 *   CHAIR  no chair that knows of LIMIT deaths gives it away.
 *
 * Mutants: CRASHMUTE (nobody reports), CRASHTWICE (a death of which two tell counts
 * twice), CRASHKILLED (a death from outside counts, too), CRASHGIVEN (a chair looks at
 * deaths in a new view alone), CERTIFIEDFIRST (a host certifies a death before it tells of
 * what), VERDICTMUTE (who was told CRASHED does not report it).
 */
#ifndef N
#define N 4
#endif
#ifndef HOSTS
#define HOSTS 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#define NOBODY N

hidden byte BOUND, TRUTH, LAST, CHAIR; /* for SPIN's message when an assertion fails */

byte dead, out;           /* sets: who has died; who is no member any more */
byte died, killed;        /* of these: of the task; from outside while they ran it */
byte chair, owner = NOBODY;
bool runs, decided;       /* the owner runs it; the chair has decided CRASHED */
byte kills;
byte knows[N];            /* sets: of whose deaths in the task each knows */
byte count[N];            /* how many those are, as the rank counts */
byte late;                /* a set: of these deaths the chair is being told */
bool told[N];             /* that it ends CRASHED */

hidden byte r, x, n;

#define BIT(k) (1 << (k))
#define ALIVE(k) (!(dead & BIT(k)))
#define SAME(a, b) ((a) % HOSTS == (b) % HOSTS)
#ifdef CRASHKILLED
#define SEEN (died | killed)
#else
#define SEEN died
#endif

inline pick(k) {
  k = 0;
  do
  :: k < N - 1 -> k++
  :: break
  od
}

/* The rank k hears of the death of d. */
inline hear(k, d) {
  if
  :: !(knows[k] & BIT(d)) -> knows[k] = knows[k] | BIT(d); count[k]++
  :: else ->
#ifdef CRASHTWICE
     if :: count[k] < LIMIT -> count[k]++ :: else fi
#else
     skip
#endif
  fi
}

inline size(set) {
  n = 0;
  x = 0;
  do
  :: x < N -> if :: set & BIT(x) -> n++ :: else fi; x++
  :: else -> break
  od
}

/* The chair ends it, for all. */
inline crash() {
  size(died);
  assert(TRUTH || n >= LIMIT);
  decided = true;
  told[chair] = true
}

inline start(k) {
  size(died);
  assert(BOUND || HOSTS > 1 || n < LIMIT);
  x = 0;
  do
  :: x < N -> assert(LAST || !ALIVE(x) || !told[x]); x++
  :: else -> break
  od;
  owner = k;
  runs = true
}

/* Of all that died on its host the proposer knows. */
inline may_propose(k, may) {
  may = true;
#ifndef CERTIFIEDFIRST
  x = 0;
  do
  :: x < N ->
     if
     :: (SEEN & BIT(x)) && SAME(k, x) && !(knows[k] & BIT(x)) -> may = false
     :: else
     fi;
     x++
  :: else -> break
  od
#endif
}

/* All that the living report to the chair. */
inline report() {
  byte other = 0, whose;
  bool ended = told[chair];
  do
  :: other < N ->
     if
     :: ALIVE(other) && other != chair ->
#ifndef CRASHMUTE
        whose = 0;
        do
        :: whose < N ->
           if :: knows[other] & BIT(whose) -> hear(chair, whose) :: else fi;
           whose++
        :: else -> break
        od;
#endif
#ifndef VERDICTMUTE
        ended = ended || told[other];
#endif
        skip
     :: else
     fi;
     other++
  :: else -> break
  od;
  decided = false;
  if
  :: runs && ALIVE(owner) -> skip
  :: else ->
     runs = false;
     owner = NOBODY;
     if
     :: ended -> decided = true; told[chair] = true
     :: !ended && count[chair] >= LIMIT -> crash()
     :: else
     fi
  fi;
  other = 0;
  whose = 0;
  ended = false
}

active proctype world() {
  bool may;
end:
  do
  :: atomic { /* its kernel ends its rank */
       runs && ALIVE(owner) ->
       died = died | BIT(owner);
       dead = dead | BIT(owner);
       runs = false
     }
  :: atomic { /* somebody dies from outside */
       kills < KILLS -> pick(r);
       if
       :: ALIVE(r) ->
          kills++;
          dead = dead | BIT(r);
          if :: runs && owner == r -> killed = killed | BIT(r); runs = false :: else fi
       :: else
       fi
     }
  :: atomic { /* a rank learns of what another died; late, it tells the chair */
       SEEN != 0 -> pick(r); pick(x);
       if
       :: ALIVE(r) && (SEEN & BIT(x)) && SAME(r, x) && !(knows[r] & BIT(x)) ->
          hear(r, x);
          if :: (out & BIT(x)) && r != chair -> late = late | BIT(x) :: else fi
       :: else
       fi
     }
  :: atomic { /* which the chair hears */
       late != 0 && ALIVE(chair) -> pick(x);
       if
       :: late & BIT(x) -> late = late & ~BIT(x); hear(chair, x)
       :: else
       fi
     }
  :: atomic { /* the chair decides */
       ALIVE(chair) && owner == NOBODY && !decided && !told[chair] ->
       if
#ifndef CRASHGIVEN
       :: count[chair] >= LIMIT -> crash()
       :: count[chair] < LIMIT ->
#else
       :: true ->
#endif
          assert(CHAIR || count[chair] < LIMIT);
          pick(r);
          if
          :: ALIVE(r) -> start(r)
          :: else -> owner = r /* it does not know that it is dead */
          fi
       fi
     }
  :: atomic { /* and tells another how it ends */
       decided && ALIVE(chair) -> pick(r);
       if :: ALIVE(r) -> told[r] = true :: else fi
     }
  :: atomic { /* the next view */
       dead != out && dead != BIT(N) - 1 -> pick(r);
       if
       :: ALIVE(r) ->
          may_propose(r, may);
          if
          :: may ->
             out = dead;
             late = 0;
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
             report()
          :: else
          fi
       :: else
       fi;
       may = false;
       x = 0
     }
  od
}
