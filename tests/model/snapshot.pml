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
 *   - Nobody is let in.  Who begins to write after the coordinator's cut is left out (S4);
 *     storms have newcomers, and disks that are slow.
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
byte newest = 1;         /* the view decided last, */
byte members[VIEWS + 1] = (1 << N) - 1; /* and of each its members, a set, */
byte lead[VIEWS + 1];    /* and the lowest of them */
byte view[N] = 1;       /* in which each is */
byte deaths;
bool removed;

byte stored;            /* a set of tasks: each is on its rank's disk */
bool made[TASKS], sent[TASKS], got[TASKS];
byte from_view[TASKS];  /* in which the result was sent, */
bool colour[TASKS];     /* and whether its sender had made that view's cut */

bool cut[N], over[N];   /* in the rank's view: made; and over, as it has heard */
byte noted[N];          /* what was stored then */
byte part[(VIEWS + 1) * N]; /* on disks */
bool asked, told;
/* Messages on their way, to or from each rank: sets of views. */
byte asks, cuts[N], done[N], prepares[N];
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
  own(i, k);
  noted[i] = k;
#ifdef CUTPREPARED
  prepares[i] = prepares[i] | BIT(view[i])
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

/* Task k: made, stored and sent on its rank; taken on the next one's. */
active [TASKS] proctype task() {
end:
  do
  :: atomic { ALIVE(OWNER(_pid)) && !made[_pid] && (_pid == 0 || got[_pid - (_pid > 0)]) ->
       made[_pid] = true;
#ifndef AFTERTOLD
       stored = stored | BIT(_pid)
#endif
     }
#ifdef AFTERTOLD
  :: atomic { ALIVE(OWNER(_pid)) && sent[_pid] && !(stored & BIT(_pid)) ->
       stored = stored | BIT(_pid)
     }
#endif
  :: atomic { ALIVE(OWNER(_pid)) && made[_pid] && !sent[_pid] ->
       sent[_pid] = true;
       from_view[_pid] = view[OWNER(_pid)];
#ifndef CUTCOLOUR
       colour[_pid] = cut[OWNER(_pid)] && !over[OWNER(_pid)]
#endif
     }
  :: atomic { sent[_pid] && !got[_pid] && ALIVE(OWNER(_pid + 1)) &&
              from_view[_pid] <= view[OWNER(_pid + 1)] &&
              IN(view[OWNER(_pid + 1)], OWNER(_pid)) ->
#ifndef CUTLATE
       if
       :: colour[_pid] && from_view[_pid] == view[OWNER(_pid + 1)] &&
          !cut[OWNER(_pid + 1)] -> make_cut(OWNER(_pid + 1))
       :: else
       fi;
#endif
       got[_pid] = true
     }
  od
}

#define ME (_pid - TASKS)

/* A member: its cut, its part, what it hears, and the views that it enters. */
active [N] proctype member() {
end:
  do
  :: atomic { ME == ASKER && !asked && ALIVE(ME) -> asked = true; asks = asks | BIT(view[ME]) }
  :: atomic { ALIVE(ME) && (cuts[ME] & BIT(view[ME])) ->
       if :: !cut[ME] -> make_cut(ME) :: else fi;
       cuts[ME] = cuts[ME] & ~BIT(view[ME])
     }
  :: atomic { ALIVE(ME) && cut[ME] && part[view[ME] * N + ME] == 0 ->
       part[view[ME] * N + ME] = noted[ME] | DURABLE;
#ifndef CUTPREPARED
       prepares[ME] = prepares[ME] | BIT(view[ME])
#endif
     }
  :: atomic { ALIVE(ME) && (done[ME] & BIT(view[ME])) && !(cuts[ME] & BIT(view[ME])) ->
       done[ME] = done[ME] & ~BIT(view[ME]);
       over[ME] = true;
       assert(TOLD || commits[view[ME]] == 2);
       if :: ME == ASKER && asked -> told = true :: else fi
     }
  :: atomic { ALIVE(ME) && view[ME] < newest && IN(view[ME] + 1, ME) ->
       view[ME]++;
       cut[ME] = false;
       over[ME] = false;
       noted[ME] = 0;
#ifndef SNAPVIEW
       if :: ME == ASKER && asked && !told -> asks = asks | BIT(view[ME]) :: else fi
#endif
     }
  od
}

/* The coordinator of each view, which is a member in it, and its disk, in whatever view it
 * is by then. */
#define AT(e, c) (ALIVE(c) && view[c] == (e))
#define VIEW (_pid - TASKS - N + 1)

/* From a member, of which there are four at most. */
#define HEARD(e) ((prepares[0] | prepares[1] | prepares[N / 2] | prepares[N - 1]) & BIT(e))

active [VIEWS] proctype coordinator() {
end:
  do
  :: atomic { VIEW <= newest && (asks & BIT(VIEW)) && AT(VIEW, lead[VIEW]) ->
       asks = asks & ~BIT(VIEW);
       if
       :: !begun[VIEW] ->
          begun[VIEW] = true;
          r = 0;
          do
          :: r < N -> if :: IN(VIEW, r) -> cuts[r] = cuts[r] | BIT(VIEW) :: else fi; r++
          :: else -> break
          od
       :: else
       fi
     }
  :: atomic { begun[VIEW] && commits[VIEW] == 0 && AT(VIEW, lead[VIEW]) && HEARD(VIEW) ->
       r = 0;
       do
       :: r < N - 1 && !(prepares[r] & BIT(VIEW)) -> r++
       :: else -> break
       od;
       prepares[r] = prepares[r] & ~BIT(VIEW);
       prepared[VIEW] = prepared[VIEW] | BIT(r);
       if
       :: prepared[VIEW] == members[VIEW] -> commits[VIEW] = 1
#ifdef COMMITPART
       :: prepared[VIEW] != members[VIEW] -> commits[VIEW] = 1
#else
       :: else
#endif
       fi
     }
  :: atomic { commits[VIEW] == 1 && ALIVE(lead[VIEW]) ->
       commits[VIEW] = 2;
       committed(VIEW)
     }
#ifdef SNAPTOLD
  :: atomic { commits[VIEW] >= 1 && !ended[VIEW] && AT(VIEW, lead[VIEW]) ->
#else
  :: atomic { commits[VIEW] == 2 && !ended[VIEW] && AT(VIEW, lead[VIEW]) ->
#endif
       ended[VIEW] = true;
       r = 0;
       do
       :: r < N -> if :: IN(VIEW, r) -> done[r] = done[r] | BIT(VIEW) :: else fi; r++
       :: else -> break
       od
     }
  od
}

inline decide(set_of) {
  members[newest + 1] = set_of;
  newest++;
  lowest(newest, lead[newest])
}

/* Deaths, and views. */
active proctype world() {
  byte i;
end:
  do
  :: atomic { deaths < DEATHS ->
       i = 0;
       do :: i < N - 1 -> i++ :: break od;
       if :: ALIVE(i) -> dead = dead | BIT(i) :: else fi;
       deaths++ /* one less may die */
     }
#ifdef REMOVED
  :: atomic { !removed ->
       removed = true;
       i = 0;
       do :: i < N - 1 -> i++ :: break od;
       if
       :: ALIVE(i) && IN(newest, i) && (members[newest] & ~dead & ~BIT(i)) ->
          decide(members[newest] & ~dead & ~BIT(i))
       :: else
       fi
     }
#endif
  :: atomic { (members[newest] & dead) && (members[newest] & ~dead) ->
       decide(members[newest] & ~dead)
     }
  :: atomic { timeout ->
       assert(WAIT || !ALIVE(ASKER) || !IN(newest, ASKER) || told);
       break
     }
  od
}
