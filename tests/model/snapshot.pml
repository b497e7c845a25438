/* snapshot.pml - a snapshot, deaths in it, and what disks have (PROTOCOL.md, *Snapshots*).
 *
 * What is modelled.  N ranks make a chain of TASKS results that vary, task k on rank k % N:
 * each is stored when it is made, and sent to who makes the next one from it, at any moment.
 * The last rank asks for a snapshot.  Cuts, parts, their way to disks, the commit and the
 * answer go as in the code, each taking its time.  Up to DEATHS ranks die at any moment, the
 * coordinator, too; with REMOVED one that lives is removed.  The living enter the next
 * view one by one; so an old coordinator may still find its commit durable.
 *
 * What is abstracted, and why that is sound.
 *   - A view is decided at once, and each member enters it when it likes: view.pml.
 *   - One snapshot in a view.  Another of the same view has a number of its own, and a
 *     message that names the higher one is as one that names the first.
 *   - Who is no member takes nothing in from members, nor they from it (Rule E): a result
 *     between the two is lost.
 *   - A disk that fails gives no part: less happens.
 *
 * Invariants.
 *   WHOLE  a commit that is durable has the durable parts of all members of its view,
 *   CUT    and of the chain a beginning: what a result was made from is in, too (I44);
 *   TOLD   who is told of a snapshot is told of one whose commit is durable (I45).
 *   WAIT   the asker is told, if it lives and is not removed (I46).
 * What is durable stays, whoever dies later, and is all that a later job finds.
 *
 * Mutants: CUTCOLOUR, CUTLATE, CUTPREPARED, COMMITPART, SNAPVIEW and SNAPTOLD as in the
 * code; DEADLEFT (the commit is without what the dead have stored), AFTERTOLD (a rank stores
 * a result when it has sent it).
 */
#ifndef N
#define N 3
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifdef REMOVED
#define VIEWS (DEATHS + 2)
#else
#define VIEWS (DEATHS + 1)
#endif
#define ASKER (N - 1)
#define DURABLE 128 /* of a part on a disk; the other bits are its results */

hidden byte WHOLE, CUT, TOLD, WAIT; /* for SPIN's message when an assertion fails */

byte dead;              /* a set */
byte newest = 1;        /* the view decided last, */
byte members[VIEWS + 1]; /* and of each its members, a set */
byte view[N];           /* in which each is */
byte deaths;
bool removed;

byte stored;            /* a set of tasks: each is on its rank's disk */
bool made[TASKS], sent[TASKS], got[TASKS];
byte from_view[TASKS];  /* in which the result was sent, */
bool colour[TASKS];     /* and whether its sender had made that view's cut */

bool cut[N];            /* in the rank's view; */
byte noted[N];          /* what was stored then */
byte part[(VIEWS + 1) * N]; /* on disks */
bool asked, told;
byte asks;              /* the view of an ASK that is on its way; 0: none */
byte cuts[N], done[N];  /* likewise CUT and DONE */
byte prepares[N];       /* PREPARED */
bool begun[VIEWS + 1];  /* the coordinator of the view has; */
byte prepared[VIEWS + 1]; /* from whom it has heard */
byte commits[VIEWS + 1];  /* 1: the disk is told so; 2: it is durable, */
bool ended[VIEWS + 1];    /* and all are told */

hidden byte r, k, x, set;

#define BIT(i) (1 << (i))
#define ALIVE(i) (!(dead & BIT(i)))
#define IN(e, i) (members[e] & BIT(i))
#define OWNER(i) ((i) % N)

/* The lowest member of the view. */
inline lowest(e, out) {
  out = 0;
  do
  :: out < N && !IN(e, out) -> out++
  :: else -> break
  od
}

/* The results of rank i that are stored: a set. */
inline own(i, out) {
  out = 0;
  x = 0;
  do
  :: x < TASKS -> if :: OWNER(x) == i && (stored & BIT(x)) -> out = out | BIT(x) :: else fi; x++
  :: else -> break
  od
}

inline make_cut(i) {
  cut[i] = true;
  own(i, noted[i]);
#ifdef CUTPREPARED
  prepares[i] = view[i]
#endif
}

/* The commit of view e is durable. */
inline committed(e) {
  set = 0;
  r = 0;
  do
  :: r < N ->
     if
     :: IN(e, r) ->
        assert(WHOLE || (part[e * N + r] & DURABLE));
        set = set | part[e * N + r]
     :: else ->
#ifndef DEADLEFT
        own(r, k);
        set = set | k
#else
        skip
#endif
     fi;
     r++
  :: else -> break
  od;
  k = 1;
  do
  :: k < TASKS -> assert(CUT || !(set & BIT(k)) || (set & BIT(k - 1))); k++
  :: else -> break
  od
}

inline pick(out, most) {
  out = 0;
  do
  :: out < most - 1 -> out++
  :: break
  od
}

active proctype world() {
  byte c, e;
  atomic {
    members[1] = BIT(N) - 1;
    r = 0;
    do :: r < N -> view[r] = 1; r++ :: else -> break od
  }
end:
  do
  /* Tasks. */
  :: atomic { pick(k, TASKS); r = OWNER(k);
       if
       :: ALIVE(r) && !made[k] && (k == 0 || got[k - (k > 0)]) ->
          made[k] = true;
#ifndef AFTERTOLD
          stored = stored | BIT(k)
#endif
       :: ALIVE(r) && made[k] && !sent[k] ->
          sent[k] = true; from_view[k] = view[r];
#ifndef CUTCOLOUR
          colour[k] = cut[r] && !ended[view[r]]
#endif
#ifdef AFTERTOLD
       :: ALIVE(r) && sent[k] && !(stored & BIT(k)) -> stored = stored | BIT(k)
#endif
       :: else
       fi
     }
  :: atomic { pick(k, TASKS); r = OWNER(k + 1);
       if
       :: sent[k] && !got[k] && ALIVE(r) && from_view[k] <= view[r] &&
          IN(view[r], OWNER(k)) ->
#ifndef CUTLATE
          if
          :: colour[k] && from_view[k] == view[r] && !cut[r] -> make_cut(r)
          :: else
          fi;
#endif
          got[k] = true
       :: else
       fi
     }
  /* The asker. */
  :: atomic { !asked && ALIVE(ASKER) -> asked = true; asks = view[ASKER] }
  :: atomic { done[ASKER] != 0 && cuts[ASKER] == 0 && ALIVE(ASKER) &&
              done[ASKER] == view[ASKER] ->
       done[ASKER] = 0;
       assert(TOLD || commits[view[ASKER]] == 2);
       told = true
     }
  /* The coordinator of its view. */
  :: atomic { pick(c, N); e = view[c]; lowest(e, x);
       if
       :: ALIVE(c) && x == c && asks == e ->
          asks = 0;
          if
          :: !begun[e] ->
             begun[e] = true;
             r = 0;
             do :: r < N -> if :: IN(e, r) -> cuts[r] = e :: else fi; r++ :: else -> break od
          :: else
          fi
       :: ALIVE(c) && x == c && begun[e] && commits[e] == 0 ->
          pick(r, N);
          if
          :: prepares[r] == e ->
             prepares[r] = 0;
             prepared[e] = prepared[e] | BIT(r);
             if
             :: prepared[e] == members[e] -> commits[e] = 1
#ifdef COMMITPART
             :: prepared[e] != 0 -> commits[e] = 1
#endif
             :: else
             fi
          :: else
          fi
#ifdef SNAPTOLD
       :: ALIVE(c) && x == c && commits[e] >= 1 && !ended[e] ->
#else
       :: ALIVE(c) && x == c && commits[e] == 2 && !ended[e] ->
#endif
          ended[e] = true;
          r = 0;
          do :: r < N -> if :: IN(e, r) -> done[r] = e :: else fi; r++ :: else -> break od
       :: else
       fi
     }
  /* Its disk, in whatever view it is by now. */
  :: atomic { pick(e, VIEWS + 1); 
       if
       :: e > 0 && commits[e] == 1 ->
          lowest(e, c);
          if :: ALIVE(c) -> commits[e] = 2; committed(e) :: else fi
       :: else
       fi
     }
  /* Members. */
  :: atomic { pick(r, N);
       if
       :: ALIVE(r) && cuts[r] != 0 && cuts[r] <= view[r] ->
          if :: cuts[r] == view[r] && !cut[r] -> make_cut(r) :: else fi;
          cuts[r] = 0
       :: ALIVE(r) && cut[r] && part[view[r] * N + r] == 0 ->
          part[view[r] * N + r] = noted[r] | DURABLE;
#ifndef CUTPREPARED
          prepares[r] = view[r]
#endif
       :: ALIVE(r) && view[r] < newest && IN(newest, r) ->
          view[r] = newest; /* none of those between had it without the next */
          cut[r] = false; noted[r] = 0; prepares[r] = 0;
          if :: done[r] < view[r] -> done[r] = 0 :: else fi;
#ifndef SNAPVIEW
          if :: r == ASKER && asked && !told -> asks = view[r] :: else fi
#endif
       :: else
       fi
     }
  /* Deaths, and views. */
  :: atomic { deaths < DEATHS -> pick(r, N);
       if :: ALIVE(r) -> dead = dead | BIT(r); deaths++ :: else fi
     }
#ifdef REMOVED
  :: atomic { !removed && newest < VIEWS -> pick(r, N);
       if
       :: ALIVE(r) && IN(newest, r) && (members[newest] & ~dead & ~BIT(r)) ->
          removed = true;
          newest++;
          members[newest] = members[newest - 1] & ~dead & ~BIT(r)
       :: else
       fi
     }
#endif
  :: atomic { (members[newest] & dead) && (members[newest] & ~dead) && newest < VIEWS ->
       newest++;
       members[newest] = members[newest - 1] & ~dead
     }
  :: atomic { timeout ->
       assert(WAIT || !ALIVE(ASKER) || !IN(newest, ASKER) || told);
       break
     }
  od
}
