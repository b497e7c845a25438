/* lots.pml - forgetting a task where ranks differ (PROTOCOL.md, G6).
 *
 * What is modelled.  N ranks and one task, which its owner, rank 0, has run.  Each other
 * rank's program spawns it at some place, or never; passes that place, and goes on; or
 * declines it, or closes.  Who holds it may need it for a while.  Any rank may send a
 * message about it while it does not know that it is leaving.  The owner asks all whether
 * it may go; each answers yes when it may, and from then on says nothing about it and
 * reads nothing about it; or it objects.  The owner has the answers, with how many
 * messages each has sent and received, and tells all to drop it, or to keep it.
 *
 * What is abstracted, and why that is sound.
 *   - Views, and what is made again after a death, are G5's (see Forgetting).
 *   - The window is one step: a rank has passed the task when its program is a step behind
 *     the place at which it spawns it, or would.  A rank's marks say no more.
 *   - One lot at a time: an owner binds the next when the outcome of the last is told.
 *
 * Invariants.
 *   NEW    a rank whose program has not passed the task does not spawn it when others
 *          have dropped it: to come later than a window is another task.
 *   HELD   nobody drops what its program needs.
 *   FLYING no message about it comes to who has dropped it.
 *
 * Mutants: LOTPASSED (who lacks it lets it go though its program may come to it), LOTHELD
 * (a task goes though a program needs it), LOTFLYING (the counts are not compared), LOTEARLY
 * (the owner does not wait for all answers).
 */
#ifndef N
#define N 3
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif

hidden byte NEW, HELD, FLYING; /* for SPIN's message when an assertion fails */

mtype:place = { BEFORE, HOLDS, PASSED }; /* PASSED: a window behind it, with it or not */
mtype:phase = { FREE, LEAVING, GONE };

mtype:place place[N] = BEFORE;
mtype:phase phase[N] = FREE;
bool holds[N], needs[N], declined[N];  /* never: it has declined it, or closed */
byte sent[N], received[N], flying[N]; /* flying: messages on their way to it */
byte all;                           /* messages so far */
bool asked[N], yes[N];              /* an ASK for it; its answer is with the owner */
bool open, object;
byte counted_sent, counted_received, answers;
byte outcome[N];                    /* 1: DROP is on its way to it, 2: KEEP */

hidden byte r, q;

inline pick(k) {
  k = 0;
  do
  :: k < N - 1 -> k++
  :: break
  od
}

/* Of a rank that is asked. */
#ifndef LOTHELD
#define RELEASED(k) (!needs[k])
#else
#define RELEASED(k) true
#endif
#ifndef LOTPASSED
#define MAY_LACK(k) (place[k] == PASSED || declined[k])
#else
#define MAY_LACK(k) true
#endif
#define MAY_GO(k) (RELEASED(k) && (holds[k] || MAY_LACK(k)))

inline answer(k) {
  if
  :: MAY_GO(k) ->
     phase[k] = LEAVING;
     answers++;
     counted_sent = counted_sent + sent[k];
     counted_received = counted_received + received[k]
  :: else -> object = true; answers++
  fi
}

inline tell(what) {
  q = 0;
  do
  :: q < N -> outcome[q] = what; q++
  :: else -> break
  od;
  open = false
}

active proctype world() {
  holds[0] = true;
  place[0] = HOLDS;
end:
  do
  :: atomic { /* a program comes to the task, and spawns it */
       pick(r);
       if
       :: place[r] == BEFORE && !declined[r] && phase[r] != LEAVING ->
          q = 0;
          do
          :: q < N -> assert(NEW || phase[q] != GONE); q++
          :: else -> break
          od;
          holds[r] = true;
          needs[r] = true;
          place[r] = HOLDS
       :: else
       fi
     }
  :: atomic { /* or does not, and is past it; or goes on behind it */
       pick(r);
       if
       :: place[r] == BEFORE || place[r] == HOLDS -> place[r] = PASSED
       :: else
       fi
     }
  :: atomic { /* it says that it never will */
       pick(r);
       if :: place[r] == BEFORE -> declined[r] = true :: else fi
     }
  :: atomic { /* it needs the task no more */
       pick(r);
       if :: needs[r] -> needs[r] = false :: else fi
     }
  :: atomic { /* a message about it leaves, */
       all < MESSAGES -> pick(r); pick(q);
       if
       :: r != q && holds[r] && phase[r] == FREE ->
          all++;
          sent[r]++;
          flying[q]++
       :: else
       fi
     }
  :: atomic { /* and is there; who lets the task go keeps it unread */
       pick(r);
       if
       :: flying[r] > 0 && phase[r] != LEAVING ->
          assert(FLYING || phase[r] != GONE);
          flying[r]--;
          received[r]++
       :: else
       fi
     }
  :: atomic { /* the owner asks */
       !open && phase[0] == FREE && outcome[0] == 0 && outcome[1] == 0 &&
         outcome[N - 1] == 0 ->
       open = true; object = false; answers = 0; counted_sent = 0; counted_received = 0;
       q = 0;
       do
       :: q < N -> asked[q] = true; q++
       :: else -> break
       od
     }
  :: atomic { /* a rank answers */
       pick(r);
       if
       :: asked[r] -> asked[r] = false; answer(r)
       :: else
       fi
     }
  :: atomic { /* the owner has the answers */
#ifndef LOTEARLY
       open && answers == N ->
#else
       open && answers == N - 1 ->
#endif
       if
#ifndef LOTFLYING
       :: !object && counted_sent == counted_received -> tell(1)
       :: object || counted_sent != counted_received -> tell(2)
#else
       :: !object -> tell(1)
       :: object -> tell(2)
#endif
       fi
     }
  :: atomic { /* a rank hears the outcome */
       pick(r);
       if
       :: outcome[r] == 1 ->
          outcome[r] = 0;
          assert(HELD || !needs[r]);
          phase[r] = GONE
       :: outcome[r] == 2 ->
          outcome[r] = 0;
          if :: phase[r] == LEAVING -> phase[r] = FREE :: else fi
       :: else
       fi
     }
  od
}
