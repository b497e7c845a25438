/* session.pml - the boundary of two sessions, and a death in it (PROTOCOL.md, *Meetings*).
 *
 * What is modelled.  N founders end their session: they come to one meeting, and those who
 * are to go say so there.  These leave then, the others come to a second one, and its
 * outcome is the list of the next session, which a rank begins when all who said that they
 * go, and are not in the list, are no members any more.  Up to LEAVERS of them leave.  Up to
 * CLOSERS of them have a call end for nothing after they came to a meeting, and their program
 * closes: they stay members, but who has said that it goes leaves, too.  J newcomers ask to be let
 * in at any moment.  Such a one is let in by the next view, is told by any member in which
 * session that is, and comes to the same meetings behind the one that began it; one that was
 * not at the end, or is not in the list, is told the session once more.  Where nobody is left
 * who could tell, it goes by the outcomes that it has heard.  Up to DEATHS ranks die, each at
 * any moment: also between the acceptance of a view's value and its decision, and while some
 * are in the new view and others are not.
 *
 * With BOUNDARY newcomers are let in at a boundary alone (V4): when all who live have come to
 * the second meeting or leave, and by the votes of all, so that certificates count.
 *
 * What is abstracted, and why that is sound.
 *   - A view has one value (view.pml).  It is accepted while a quorum is in the last view,
 *     and is that view without some of those who have died or may go, and with some who
 *     ask; then it is decided, and each rank enters it when it hears of it.
 *   - Fewer than direct_max members: all goes by the lowest.  Among many each rank of the
 *     tree stands in its place (M4).
 *   - What a rank tells itself takes its time like all else: that adds runs and takes none.
 *   - Tasks: a leaver may go as soon as it has closed.
 *   - A newcomer asks for the last outcome by saying what it has PASSED (M6); here the lowest
 *     tells it in each view.  And where nobody is left who could tell it the session, the
 *     moot ends for it in the code; here it goes by the outcomes that it has heard, which
 *     shows that they are enough to name the list.
 *   - Who is removed alive is as one that has died: what it begins it begins alone.
 *
 * Invariants.
 *   LIST     living ranks that have begun the next session have the same list.
 *   EARLY    who hears of a meeting's outcome, of that one founder each living member of
 *            its view has come to it or has closed (I20).
 *   LEFT     when a rank begins, who came to the end and is not in the list is in its view
 *            no more, or has closed.
 *   REFUSED  the lowest hears nothing that it would not expect (M3).
 *   WAIT     nobody waits for ever: while a quorum lives, each living rank begins the next
 *            session, has left, or has closed.
 *
 * Mutants: MEETEARLY, MEETSTALE, MEETFORGOT, MEETUNTOLD and MEETKEPT as in the code;
 * MEETNEWUNTOLD (the lowest tells no newcomer the last outcome), VIEWLIST (the list is the
 * members of the view in which a rank hears the outcome), ENDLIST (those of the first
 * meeting that are members yet), BESIDE (who leaves is not waited for), CLOSEDKEPT (who
 * came to the end and has closed is waited for), GOERCLOSES (who has said that it goes
 * closes, if its call ends for nothing), BOUNDARYCUT (the
 * list of who hears an outcome is without those who have died since),
 * BOUNDARYANY (with BOUNDARY) as in the code;
 * MUTE (a newcomer is told the session by others, or by nobody), NEWONLY (the last outcome is
 * told to those alone whom the lowest's view lets in).
 */
#ifndef N
#define N 3
#endif
#ifndef J
#define J 0
#endif
#ifndef LEAVERS
#define LEAVERS 1
#endif
#ifndef CLOSERS
#define CLOSERS 0
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define R (N + J)
#define M 4 /* is the most */
#define VIEWS 6
#define BIT(x) (1 << (x))
#define IN(those, x) ((those) & BIT(x))
#define POP(s) (((s) & 1) + (((s) >> 1) & 1) + (((s) >> 2) & 1) + (((s) >> 3) & 1))

mtype = { OUT, ASKS, COMES, RUNS, ENDS, ENDED, GOES, STAYS, WAITS, CATCHES, BEGUN, GONE, SHUT };
mtype = { ARRIVED, CLOSED, MET };

hidden byte LIST, EARLY, LEFT, REFUSED, WAIT; /* for SPIN's message when an assertion fails */

byte dead, deaths;
bool calm;              /* nobody dies or asks any more */
byte members[VIEWS];    /* of each view that was decided, */
byte views = 1;         /* so many, */
byte value;             /* and what is accepted of the next; 0: nothing */
byte leavers, closers;
byte goes;              /* who has said at the first meeting that it goes */

mtype phase[M];
byte view[M];           /* in which it is */
byte number[M];         /* meetings that its program came to */
byte met[M], came[M];   /* the last outcome that it knows */
byte here[M], shut[M];  /* at the lowest: arrived, closed in this view */
byte ended[M], list[M]; /* who came to the first meeting; the list */

chan wire[M * M] = [5] of { byte, mtype, byte, byte }; /* from * M + to: view, what, n, came */

hidden byte of_rank, q, it, low, sent, nth, those, tells;
hidden byte good;
hidden mtype what;

#define ALIVE(x) ((x) < R && !IN(dead, x) && phase[x] != GONE)
#define CLOSING(x) (phase[x] == GOES || phase[x] == GONE)
#define WAITING(x) (phase[x] == ENDS || phase[x] == STAYS)
#define LAST (views - 1)
#define HANGS(x) (ALIVE(x) && phase[x] != BEGUN && phase[x] != OUT && phase[x] != SHUT)
#define SHUT_BIT(x) (phase[x] == SHUT -> BIT(x) : 0)
#define ALL_SHUT (SHUT_BIT(0) | SHUT_BIT(1) | SHUT_BIT(2) | SHUT_BIT(3))

inline pick(x) {
  x = 0;
  do
  :: x < R - 1 -> x++
  :: break
  od
}

inline find_lowest(v) {
  low = 0;
  do
  :: !IN(members[v], low) -> low++
  :: else -> break
  od
}

/* Words of an earlier view are nothing (I10). */
inline say(from, to, word, which, who) {
  if
  :: ALIVE(to) && view[to] <= view[from] ->
     assert(nfull(wire[from * M + to]));
     wire[from * M + to]!view[from], word, which, who
  :: else
  fi
}

/* This rank's program hears the outcome which, of which it knows who came, or not. */
inline put_out(x, which, who) {
  it = 0;
  do
  :: it < N ->
     assert(EARLY || number[x] > which || !IN(members[view[x]], it) || !ALIVE(it) ||
            number[it] >= number[x] || CLOSING(it) || phase[it] == SHUT);
     it++
  :: else -> break
  od;
  if
  :: phase[x] == ENDS ->
     ended[x] = 0;
     if :: which == 1 -> ended[x] = who :: else fi;
     phase[x] = ENDED
  :: else ->
     list[x] = 0;
     if :: which == 2 -> list[x] = who :: else fi;
#ifdef VIEWLIST
     list[x] = members[view[x]];
#endif
#ifdef ENDLIST
     list[x] = ended[x] & members[view[x]];
#endif
#ifdef BOUNDARYCUT
     list[x] = list[x] & ~dead;
#endif
     if
     :: IN(ended[x], x) && IN(list[x], x) -> phase[x] = WAITS
     :: else -> phase[x] = CATCHES
     fi
  fi
}

inline come(x) {
  number[x]++;
  if
  :: met[x] < number[x] ->
     find_lowest(view[x]);
     say(x, low, ARRIVED, number[x], 0)
  :: else -> put_out(x, met[x], came[x])
  fi
}

/* All of them in every view: who has missed a view has missed what was said in it. */
#ifndef NEWONLY
#define IS_NEW(x, t) (t >= N)
#else
#define IS_NEW(x, t) (t >= N && !IN(members[view[x] - 1], t))
#endif

inline tell_newcomers(x) {
#ifndef MEETNEWUNTOLD
  it = 0;
  do
  :: it < R ->
     if
     :: it != x && IN(members[view[x]], it) && IS_NEW(x, it) -> say(x, it, MET, met[x], came[x])
     :: else
     fi;
     it++
  :: else -> break
  od
#else
  skip
#endif
}

inline forget(x) {
  here[x] = 0
}

inline hear_met(x, from) {
  if :: WAITING(x) && nth >= number[x] -> put_out(x, nth, those) :: else fi;
  if
  :: nth > met[x] ->
     tells = 0;
     if :: nth == met[x] + 1 -> tells = those :: else fi;
     it = 0;
     do
     :: it < R ->
        if
#ifndef MEETKEPT
        :: it != x && IN(here[x], it) -> say(x, it, MET, met[x] + 1, tells)
#endif
        :: else
        fi;
        it++
     :: else -> break
     od;
     met[x] = nth; came[x] = those;
     forget(x);
     find_lowest(view[x]);
     if :: low == x && from != x && view[x] > 0 -> tell_newcomers(x) :: else fi
  :: else
  fi
}

inline hear_arrived(x, from) {
  if
  :: nth <= met[x] ->
     tells = 0;
     if :: nth == met[x] -> tells = came[x] :: else fi;
     say(x, from, MET, nth, tells)
  :: else ->
     assert(REFUSED || (nth == met[x] + 1 && !IN(here[x], from) && !IN(shut[x], from)));
     here[x] = here[x] | BIT(from)
  fi
}

#ifdef MEETEARLY
#define ALL_ARE_HERE(x) (here[x] != 0)
#else
#define ALL_ARE_HERE(x) (here[x] != 0 && (members[view[x]] & ~(here[x] | shut[x])) == 0)
#endif

/* At a boundary nobody hears an outcome while a view is about to let somebody in (V4). */
#ifdef BOUNDARY
#define LETS_IN (met[low] == 1 && (value & ~members[LAST]) != 0)
#else
#define LETS_IN false
#endif

inline conclude(x) {
  find_lowest(view[x]);
  if
  :: low == x && ALL_ARE_HERE(x) && !LETS_IN ->
     it = 0;
     do
     :: it < R ->
        if
        :: it != x && IN(here[x], it) -> say(x, it, MET, met[x] + 1, here[x])
        :: else
        fi;
        it++
     :: else -> break
     od;
     nth = met[x] + 1; those = here[x];
     forget(x);
     hear_met(x, x)
  :: else
  fi
}

inline drop_old(x) {
  q = 0;
  do
  :: q < R ->
     do
     :: len(wire[q * M + x]) != 0 ->
        wire[q * M + x]?<sent, what, nth, those>;
        if
        :: sent < view[x] -> wire[q * M + x]?sent, what, nth, those
        :: sent >= view[x] -> break
        fi
     :: len(wire[q * M + x]) == 0 -> break
     od;
     q++
  :: q == R -> break
  od
}

inline enter(x, v) {
  view[x] = v;
  drop_old(x);
#ifndef MEETSTALE
  forget(x);
#endif
  shut[x] = 0;
  find_lowest(v);
#ifndef MEETFORGOT
  if :: met[x] > 0 && low != x -> say(x, low, MET, met[x], came[x]) :: else fi;
#endif
  if :: low == x && met[x] > 0 -> tell_newcomers(x) :: else fi;
#ifndef MEETUNTOLD
  if :: WAITING(x) -> say(x, low, ARRIVED, number[x], 0) :: else fi;
#endif
  if :: phase[x] == GOES || phase[x] == SHUT -> say(x, low, CLOSED, met[x], 0) :: else fi;
  if :: phase[x] == ASKS -> phase[x] = COMES :: else fi
}

#if defined(BESIDE)
#define MAY_BEGIN(x) true
#elif defined(CLOSEDKEPT)
#define MAY_BEGIN(x) ((ended[x] & members[view[x]] & ~list[x]) == 0)
#else
#define MAY_BEGIN(x) ((ended[x] & goes & members[view[x]] & ~list[x]) == 0)
#endif

inline begin(x) {
  phase[x] = BEGUN;
  it = 0;
  do
  :: it < R ->
     assert(LIST || !ALIVE(it) || phase[it] != BEGUN || list[it] == list[x]);
     it++
  :: else -> break
  od
}

#define KNOWS_VIEW(x) (phase[x] != OUT && phase[x] != ASKS)
#define IS_HERE(x) (ALIVE(x) && IN(members[LAST], x) && view[x] == LAST && KNOWS_VIEW(x))
#define STAYS_HERE(x) (IS_HERE(x) && phase[x] != GOES)
#define IS_LOWEST(x) (IS_HERE(x) && (members[LAST] & (BIT(x) - 1)) == 0)
#define MAY_CHANGE(x) \
  ((IN(members[LAST], x) && (IN(dead, x) || CLOSING(x))) || (ALIVE(x) && phase[x] == ASKS))
#define ANY(p) (p(0) || p(1) || p(2) || p(3))
#define COUNT(p) ((p(0) -> 1 : 0) + (p(1) -> 1 : 0) + (p(2) -> 1 : 0) + (p(3) -> 1 : 0))
#if J > 0 && !defined(BOUNDARY)
#define QUORUM (2 * COUNT(IS_HERE) + (ANY(IS_LOWEST) -> 1 : 0) > POP(members[LAST]))
#else
#define QUORUM ANY(IS_HERE) /* by certificates */
#endif

/* V4: who is new is let in when all who live stand, and by the votes of all. */
#ifdef BOUNDARY
#define STRAYS(x) (ALIVE(x) && IN(members[LAST], x) && \
  (view[x] != LAST || (phase[x] != STAYS && phase[x] != GOES && phase[x] != SHUT)))
#ifndef BOUNDARYANY
#define MAY_ADD (!ANY(STRAYS) && ALIVE(low) && met[low] == 1)
#else
#define MAY_ADD true
#endif
#else
#define MAY_ADD true
#endif

/* Some of what a quorum of the last view may change, or all; 0: nothing. */
inline accept() {
  find_lowest(LAST);
  value = members[LAST];
  it = 0;
  do
  :: it < R ->
     if
     :: IN(dead, it) || CLOSING(it) -> value = value & ~BIT(it)
     :: !IN(dead, it) && phase[it] == ASKS && MAY_ADD -> value = value | BIT(it)
     :: true
     fi;
     it++
  :: else -> break
  od;
  it = 0; good = 0; /* somebody stays */
  do
  :: it < R ->
     if :: IN(value, it) && KNOWS_VIEW(it) && !CLOSING(it) -> good = 1 :: else fi;
     it++
  :: else -> break
  od;
  if :: value == members[LAST] || good == 0 -> value = 0 :: else fi
}

proctype views_change() {
end:
  do
  :: atomic { /* a value is accepted, */
       value == 0 && ANY(MAY_CHANGE) && ANY(STAYS_HERE) && QUORUM -> accept()
     }
  :: atomic { /* and decided, whoever has died since */
       value != 0 -> members[views] = value; views++; value = 0
     }
  :: atomic { !calm -> calm = true }
  od
}

#define IS_BEHIND(v) (view[r] < (v) && (v) < views && IN(members[v], r))
#define TELLS(s) (ALIVE(s) && KNOWS_VIEW(s) && phase[s] != COMES && phase[s] != GOES && \
  phase[s] != SHUT)
#define STAYS_ON(x) (ALIVE(x) && IN(members[LAST], x) && phase[x] != GOES)

#define COMES_FROM(s) wire[s * M + r]?[eval(view[r]), what, nth, those]
#define COULD_TELL(s) (TELLS(s) && s != r && IN(members[view[r]], s))
#define COULD_BEGIN(s) (COULD_TELL(s) && phase[s] != CATCHES)
#ifndef MUTE
#define NOBODY_TELLS !ANY(COULD_TELL)
#define NOBODY_BEGINS !ANY(COULD_BEGIN)
#else
#define NOBODY_TELLS false
#define NOBODY_BEGINS false
#endif

/* The newcomer is told it, and is behind the meeting that began it; */
#define TELLS_IT(s) (TELLS(s) && (phase[s] != BEGUN || met[r] >= 2))
/* if the list does not have it, or it was not at the end, it is told the next one, too. */
#define BEGINS(s) (ALIVE(s) && phase[s] == BEGUN)

#define ONE_OF(p) if :: p(0) -> of_rank = 0 :: p(1) -> of_rank = 1 :: p(2) -> of_rank = 2 \
  :: p(3) -> of_rank = 3 fi

proctype rank(byte r) {
end:
  do
  :: atomic { /* a program comes to the end of its session, */
       ALIVE(r) && phase[r] == RUNS ->
       if
       :: r < N && leavers < LEAVERS -> leavers++; goes = goes | BIT(r) /* to leave, */
       :: true
       fi;
       phase[r] = ENDS; come(r)
     }
  :: atomic { /* and stays, */
       ALIVE(r) && phase[r] == ENDED && !IN(goes, r) -> phase[r] = STAYS; come(r)
     }
  :: atomic { /* or goes, */
       ALIVE(r) && phase[r] == ENDED && IN(goes, r) -> phase[r] = GOES;
       find_lowest(view[r]);
       say(r, low, CLOSED, met[r], 0)
     }
  :: atomic { /* or its call ends for nothing, and its program with it */
       ALIVE(r) && r < N && closers < CLOSERS &&
       (phase[r] == ENDS || phase[r] == ENDED || phase[r] == STAYS) ->
       closers++;
#ifdef GOERCLOSES
       phase[r] = SHUT;
#else
       if :: IN(goes, r) -> phase[r] = GOES :: else -> phase[r] = SHUT fi;
#endif
       find_lowest(view[r]);
       say(r, low, CLOSED, met[r], 0)
     }
  :: atomic { /* it hears of a view without it, or is alone */
       ALIVE(r) && phase[r] == GOES && (!IN(members[LAST], r) || !ANY(STAYS_ON)) ->
       phase[r] = GONE
     }
  :: atomic { /* the next session begins */
       ALIVE(r) && phase[r] == WAITS && MAY_BEGIN(r) ->
       assert(LEFT || (ended[r] & members[view[r]] & ~list[r] & ~ALL_SHUT) == 0);
       begin(r)
     }
  :: atomic { /* one of a later view waits, one of an earlier is nothing */
       ALIVE(r) && ANY(COMES_FROM) ->
       ONE_OF(COMES_FROM);
       wire[of_rank * M + r]?sent, what, nth, those;
       if
       :: what == MET -> hear_met(r, of_rank)
       :: what == ARRIVED -> hear_arrived(r, of_rank)
       :: what == CLOSED -> shut[r] = shut[r] | BIT(of_rank)
       fi;
       if :: what != MET -> conclude(r) :: else fi
     }
  :: atomic { /* it enters the next view, or a later one */
       ALIVE(r) && phase[r] != OUT &&
       (IS_BEHIND(1) || IS_BEHIND(2) || IS_BEHIND(3) || IS_BEHIND(4)) ->
       if
       :: IS_BEHIND(1) -> of_rank = 1
       :: IS_BEHIND(2) -> of_rank = 2
       :: IS_BEHIND(3) -> of_rank = 3
       :: IS_BEHIND(4) -> of_rank = 4
       fi;
       enter(r, of_rank)
     }
  :: atomic { /* nobody is left who could tell a newcomer: it goes by the outcomes */
       ALIVE(r) && phase[r] == COMES && view[r] == LAST && NOBODY_TELLS ->
       if
       :: met[r] >= 2 -> number[r] = 2; list[r] = came[r]; begin(r)
       :: else -> phase[r] = RUNS
       fi
     }
  :: atomic {
       ALIVE(r) && phase[r] == CATCHES && view[r] == LAST && NOBODY_BEGINS -> begin(r)
     }
  :: atomic { /* somebody is */
       ALIVE(r) && phase[r] == COMES && ANY(TELLS_IT) ->
       ONE_OF(TELLS_IT);
       if
       :: phase[of_rank] == BEGUN -> number[r] = 2; list[r] = list[of_rank]; begin(r)
#ifdef BOUNDARY
       :: else -> /* all have heard that the first meeting is over */
          if :: met[r] == 0 -> met[r] = 1 :: else fi;
          number[r] = 1; phase[r] = STAYS; come(r)
#else
       :: else -> phase[r] = RUNS
#endif
       fi
     }
  :: atomic {
       ALIVE(r) && phase[r] == CATCHES && ANY(BEGINS) ->
       ONE_OF(BEGINS);
       list[r] = list[of_rank]; begin(r)
     }
  :: atomic { !calm && ALIVE(r) && phase[r] == OUT -> phase[r] = ASKS }
  :: atomic { !calm && ALIVE(r) && phase[r] != OUT && deaths < DEATHS ->
       dead = dead | BIT(r); deaths++ }
  od
}

init {
  atomic {
    members[0] = BIT(N) - 1;
    run views_change();
    low = 0;
    do
    :: low < R ->
       if :: low < N -> phase[low] = RUNS :: else -> phase[low] = OUT fi;
       run rank(low);
       low++
    :: else -> break
    od
  }
  timeout ->
  assert(WAIT || value != 0 || !QUORUM || !ANY(HANGS))
}
