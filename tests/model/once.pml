/* once.pml - one once task through view changes (PROTOCOL.md T8, *Entering* with its once
 * parts, Rule E).
 *
 * What is modelled.  N ranks, one key, K voters, VIEWS view changes (removals of any ranks;
 * with JOIN, rank 0 joins and takes the key over).  Ballots: the chair proposes, voters
 * accept and ACK, the record is final at a quorum, DECISION, start.  On entry of a view:
 * reports OWN and ACC, the conclusive read, MAYBE, re-acceptance, SETTLED.  There is no
 * lease: a removed rank starts what it was given whenever it likes, so I3 rests on the
 * voters alone.
 *
 * Messages are latched, as in pure.pml:
 *   MOTION motH[e]; ACCEPT{e} prop[e], the one value that chair(e) may propose in e; ACK
 *   acked[e]; DECISION{e} dec[e]; REPORT{e} repOwn[e] and repAcc[], snapshots at entry.
 *   ACC is (epoch, value), and value is prop[epoch].
 *
 * What is abstracted, and why that is sound.
 *   - Crashes, views, chairs and evidence as in pure.pml.  Voters are the chair and its next
 *     peers by rank, or (PEERSDOWN) the last ones: the two ways in which a new chair can, or
 *     cannot, have been a voter.
 *   - Nobody consumes.  A RES makes its owner the record where an ACC makes MAYBE; neither
 *     starts anything.  An owner that has finished reports OWN here, RES in the protocol,
 *     and is the record either way.
 *   - A rank whose wait ended with MAYBE_RAN reports ACC MAYBE: its acc[] is set.
 *   - A record that is carried over is served in the new view before its re-acceptance is
 *     done (T6), which is more than an implementation need allow.
 *
 * The start.  T8 says: on a DECISION of the present view.  With STAYSOWN a rank may start
 * what it was given in an earlier one, too, as long as it is not fenced, which is what the
 * code does with a task whose inputs came late.  It is as safe, because a task that is
 * owned is reported (OWN) whether it has started or not; the search finds the same states.
 *
 * The read.  An ACC of epoch e' says nothing about ballots of later views, so NONE needs the
 * conclusive read over every view of hist after e', also when an ACC of a member was found.
 * Mutant MASKED asks for it only when no ACC was found, and starts the task twice with
 * N = 4, K = 3: an old ballot that failed hides a newer one whose owner and voters left.
 *
 * Invariants: I3; I4; I7; T7_HOLDS; MAYBE_STANDS (after anyone was told MAYBE_RAN no member
 * is given the task); QUIESCENT (when nothing can happen any more, the task was started by
 * its recorded owner, or everyone was told MAYBE_RAN, or no member holds it).  I9 is the
 * guard of `fin`; SMALLQ and NOBALLOT show what it buys.
 *
 * Mutants: NOCONCL STALEACC NOBALLOT SMALLQ NOREACC DROPREACC FREEDEAD NOOWNREP PARTIAL
 * NOHIST STALEDEC, MASKED, HISTANY (as in pure.pml).
 */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 3
#endif
#ifndef VIEWS
#define VIEWS 1
#endif
#define E (VIEWS + 1)
#define EVERYONE ((1 << N) - 1)
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define OWNER(r) ((r) + 1)
#define OWNERBIT(o) (1 << ((o) - 1))
#define MAYBE (N + 1)
#ifdef JOIN
#define FIRST (EVERYONE & ~1)
#else
#define FIRST EVERYONE
#endif

hidden byte I3, I4, I7, MAYBE_STANDS, T7_HOLDS, QUIESCENT;

/* The view layer; pure.pml explains it. */
byte last, mem[E], chair[E], base[E], moved, movedRep;
byte voters[E];      /* C(chair(e), e) */
byte quorum[E];
bit calm;

/* Per rank. */
byte cur[N];
byte rec[N];         /* as chair: 0, OWNER(w) or MAYBE */
byte acc[N];         /* as voter: 1 + epoch of what was accepted; its value is prop[epoch] */
byte fin;            /* as chair: the record is no mere proposal */
byte frozen, holds, own, started;   /* sets of ranks */
byte told;           /* ranks whose wait ended with MAYBE_RAN */
byte starts;

/* Per epoch. */
byte entered[E], motH[E], repOwn[E], acked[E];
byte prop[E];        /* the one value of ACCEPT{e} */
byte dec[E];         /* DECISION{e}: OWNER(w) */
byte repAcc[VIEWS * N];  /* ACC in REPORT{e} of r: acc[r] at entry */
byte readAll;        /* bit e: chair(e) has read all REPORT{e} */
byte settled;        /* bit e: chair(e) has settled e */

#define POP4(x) (((x) & 1) + (((x) >> 1) & 1) + (((x) >> 2) & 1) + (((x) >> 3) & 1))

hidden byte i, n, w, top;
hidden byte mv;

#define UNDECIDED(e) (cur[chair[e]] < (e) || \
    (cur[chair[e]] == (e) && rec[chair[e]] == 0 && prop[e] == 0))

/* States that differ only in what nobody will look at are made equal. */
inline fold()
{
    for (i : 0 .. VIEWS) {
        if
        :: i <= last && !UNDECIDED(i) -> motH[i] = 0
        :: else
        fi;
        if
        :: i <= last && cur[chair[i]] > i -> acked[i] = 0
        :: i <= last && cur[chair[i]] == i && HAS(fin, chair[i]) && HAS(settled, i) -> acked[i] = 0
        :: else
        fi;
        if
        :: i && i <= last && (HAS(readAll, i) || cur[chair[i]] > i) ->
            repOwn[i] = 0;
            for (n : 0 .. N - 1) {
                repAcc[(i - 1) * N + n] = 0
            }
        :: else
        fi
    }
    i = 0; n = 0
}

#define GONE(e, o) ((o) == MAYBE || !(mem[e] & OWNERBIT(o)))

/* T6: DECISION to the owner, itself included, as soon as the record is final and live. */
inline decide(e)
{
    if
    :: HAS(fin, r) && !HAS(frozen, r) && rec[r] && rec[r] != MAYBE && !GONE(e, rec[r]) ->
        assert(I4 || dec[e] == 0 || dec[e] == rec[r]);
        dec[e] = rec[r]
    :: else
    fi
}

/* ACCEPT{e} to the voters; the chair is one of them. */
inline propose(e)
{
    prop[e] = rec[r];
    acc[r] = e + 1;
    acked[e] = BIT(r)
}

/* Section 5, steps 1 to 4. */
inline enter(e)
{
#ifdef DROPREACC
    mv = HAS(fin, r) && rec[r] && cur[r] && !HAS(settled, cur[r]);
#else
    mv = false;
#endif
    cur[r] = e;
    entered[e] = entered[e] | BIT(r);
    if
    :: HAS(holds, r) && chair[e] != r -> motH[e] = motH[e] | BIT(r)
    :: else
    fi;
#ifndef NOOWNREP
    if
    :: HAS(movedRep, e) && HAS(own, r) -> repOwn[e] = repOwn[e] | BIT(r)
    :: else
    fi;
#endif
    if
    :: acc[r] && (HAS(movedRep, e) || GONE(e, prop[acc[r] - 1])) ->
        repAcc[(e - 1) * N + r] = acc[r]
    :: else
    fi;
    if
    :: chair[e] == r && HAS(moved, e) ->
        rec[r] = 0;
        fin = fin & ~BIT(r);
#ifndef JOINNOWAIT
        frozen = frozen | BIT(r)
#endif
    :: chair[e] == r && !HAS(moved, e) ->
        if
        :: rec[r] && (!HAS(fin, r) || (rec[r] != MAYBE && GONE(e, rec[r])) || mv) ->
            rec[r] = 0;
            fin = fin & ~BIT(r);
            frozen = frozen | BIT(r)
        :: else
        fi;
        decide(e)
    :: else -> rec[r] = 0; fin = fin & ~BIT(r); frozen = frozen & ~BIT(r)
    fi;
    mv = false
}

/* Section 5, step 5: what the reports say. */
inline read(e)
{
    if
    :: HAS(frozen, r) ->
        w = 0; top = 0; n = 0;
        for (i : 0 .. N - 1) {
            if
            :: HAS(repOwn[e], i) ->
                assert(I7 || w == 0);
                w = OWNER(i)
            :: else
            fi;
            if
            :: repAcc[(e - 1) * N + i] > top -> top = repAcc[(e - 1) * N + i]
            :: else
            fi
        }
        if
        :: w == 0 ->
#ifndef FREEDEAD
            if
            :: top && GONE(e, prop[top - 1]) -> w = MAYBE
            :: else
            fi;
#else
            if
            :: top && prop[top - 1] == MAYBE -> w = MAYBE
            :: else
            fi;
#endif
            /* An ACC of e' = top-1 says nothing about the ballots of later views. */
#ifdef MASKED
            top = (top -> e : base[e]);
#else
            top = (top > base[e] -> top : base[e]);
#endif
#ifndef NOCONCL
            for (i : top .. e - 1) {
                if
                :: !HAS(mem[e], chair[i]) && POP4(voters[i] & ~mem[e]) >= quorum[i] -> w = MAYBE
                :: else
                fi
            }
#endif
            skip
        :: else
        fi;
        rec[r] = w;
        i = 0; n = 0; w = 0; top = 0;
        if
        :: rec[r] -> fin = fin | BIT(r)
        :: else
        fi
    :: else
    fi;
    readAll = readAll | BIT(e);
    if
#ifdef NOREACC
    :: rec[r] == MAYBE -> prop[e] = MAYBE /* announced at once */
#else
    :: rec[r] && prop[e] == 0 -> propose(e)
#endif
    :: else
    fi
}

#define ACTS(r) (HAS(mem[cur[r]], r) && (!calm || HAS(mem[last], r)))
#define IS_CHAIR(r) (chair[cur[r]] == (r))

#ifdef NOBALLOT
#define PICK(w) rec[r] = OWNER(w); prop[cur[r]] = OWNER(w); fin = fin | BIT(r); decide(cur[r])
#else
#define PICK(w) rec[r] = OWNER(w); propose(cur[r])
#endif
#define MAY_PICK(r) (ACTS(r) && IS_CHAIR(r) && !HAS(frozen, r) && rec[r] == 0 && prop[cur[r]] == 0)

#define YIELD(v) \
    :: d_step { (v) < N && (v) != r && MAY_PICK(r) && !HAS(holds, r) && \
                HAS(motH[cur[r]], v) -> \
        PICK(v); fold() }

#define ENTER(e) \
    :: d_step { (e) <= VIEWS && (!calm || HAS(mem[last], r)) && cur[r] < (e) && \
                (e) <= last && HAS(mem[e], r) -> \
        enter(e); fold() }

#define MISSING(e) (mem[e] & ~entered[e])
#ifdef PARTIAL
#define ALL_REPORTED(e) ((MISSING(e) & (MISSING(e) - 1)) == 0)
#else
#define ALL_REPORTED(e) (MISSING(e) == 0)
#endif

#ifdef SMALLQ
#define AT_QUORUM(e) (POP4(acked[e]) >= quorum[e] - 1)
#else
#define AT_QUORUM(e) (POP4(acked[e]) >= quorum[e])
#endif

#ifdef STALEACC
#define ACCEPT(e) \
    :: d_step { (e) <= VIEWS && ACTS(r) && (e) <= cur[r] && prop[e] && HAS(voters[e], r) && \
                !HAS(acked[e], r) && chair[e] != r && acc[r] != (e) + 1 -> \
        acc[r] = (e) + 1; acked[e] = acked[e] | BIT(r); fold() }
#else
#define ACCEPT(e) \
    :: d_step { (e) <= VIEWS && ACTS(r) && (e) == cur[r] && prop[e] && HAS(voters[e], r) && \
                acc[r] != (e) + 1 -> \
        acc[r] = (e) + 1; acked[e] = acked[e] | BIT(r); fold() }
#endif
#ifdef STALEDEC
#define DECIDED(r) (dec[cur[r]] == OWNER(r) || dec[0] == OWNER(r) || (cur[r] && dec[1] == OWNER(r)))
#else
#define DECIDED(r) (dec[cur[r]] == OWNER(r))
#endif

#ifdef STAYSOWN
#define MAY_START(r) true
#else
#define MAY_START(r) DECIDED(r)
#endif

proctype rank(byte r)
{
end:
    do
    :: d_step { ACTS(r) && !calm && !HAS(holds, r) ->
        holds = holds | BIT(r);
        if
        :: !IS_CHAIR(r) -> motH[cur[r]] = motH[cur[r]] | BIT(r)
        :: else
        fi;
        fold() }
    :: d_step { MAY_PICK(r) && HAS(holds, r) -> PICK(r); fold() }
    YIELD(0) YIELD(1) YIELD(2) YIELD(3)
    ACCEPT(0) ACCEPT(1) ACCEPT(2) ACCEPT(3)
    :: d_step { ACTS(r) && IS_CHAIR(r) && rec[r] && !HAS(fin, r) && AT_QUORUM(cur[r]) ->
        fin = fin | BIT(r); decide(cur[r]); fold() }
    :: d_step { ACTS(r) && DECIDED(r) && !HAS(own, r) ->
        assert(T7_HOLDS || HAS(holds, r));
        assert(MAYBE_STANDS || told == 0 || !HAS(mem[last], r));
        own = own | BIT(r); fold() }
    :: d_step { ACTS(r) && HAS(own, r) && !HAS(started, r) && MAY_START(r) ->
        started = started | BIT(r);
        starts++;
        assert(I3 || starts == 1);
        fold() }
    ENTER(1) ENTER(2) ENTER(3)
    :: d_step { ACTS(r) && cur[r] && IS_CHAIR(r) && !HAS(readAll, cur[r]) &&
                ALL_REPORTED(cur[r]) ->
        read(cur[r]); fold() }
    :: d_step { ACTS(r) && cur[r] && IS_CHAIR(r) && HAS(readAll, cur[r]) &&
                !HAS(settled, cur[r]) &&
#ifdef NOREACC
                true ->
#else
                (prop[cur[r]] == 0 || AT_QUORUM(cur[r])) ->
#endif
        settled = settled | BIT(cur[r]);
        frozen = frozen & ~BIT(r);
        decide(cur[r]);
        fold() }
    /* VERDICT MAYBE_RAN: the wait has ended; from now on this rank reports ACC MAYBE. */
    :: d_step { ACTS(r) && HAS(settled, cur[r]) && prop[cur[r]] == MAYBE && !HAS(told, r) ->
        told = told | BIT(r);
        acc[r] = cur[r] + 1;
        fold() }
    od
}

#define GLOBALLY_SETTLED(v) (HAS(settled, v) && entered[v] == mem[v])
#ifdef JOIN
#if VIEWS == 3
#define EVER (mem[0] | mem[1] | mem[2] | mem[3])
#else
#define EVER (mem[0] | mem[1] | mem[VIEWS])
#endif
#define MAY_FOLLOW(x) (((x) & ~(mem[last] | 1)) == 0 && \
    (!HAS(x, 0) || HAS(mem[last], 0) || !HAS(EVER, 0)))
#else
#define MAY_FOLLOW(x) (((x) & ~mem[last]) == 0)
#endif
#ifdef HISTANY
#define HIST_FROM(v) ((v) <= last)
#else
#define HIST_FROM(v) ((v) == last)
#endif
#define VIEW(x, v) \
    :: d_step { (x) <= EVERYONE && (v) < VIEWS && !calm && last < VIEWS && (x) != mem[last] && \
                MAY_FOLLOW(x) && ((v) == base[last] || \
                                  ((v) > base[last] && HIST_FROM(v) && GLOBALLY_SETTLED(v))) -> \
        decide_view(x, v); fold() }
#define VIEWS_OF(x) VIEW(x, 0) VIEW(x, 1) VIEW(x, 2)

/* C(c, e): the chair and K-1 peers, in an order of the ranks. */
inline elect(v)
{
    for (i : 0 .. N - 1) {
        if
        :: HAS(mem[v], i) -> chair[v] = i; break
        :: else
        fi
    }
    voters[v] = BIT(chair[v]);
    n = 1;
    for (i : 0 .. N - 1) {
#ifdef PEERSDOWN
        w = N - 1 - i;
#else
        w = i;
#endif
        if
        :: n < K && HAS(mem[v] & ~voters[v], w) -> voters[v] = voters[v] | BIT(w); n++
        :: else
        fi
    }
    quorum[v] = n / 2 + 1;
    i = 0; n = 0; w = 0
}

inline decide_view(x, v)
{
    last++;
    mem[last] = x;
    base[last] = v;
    elect(last);
    mv = false;
    for (i : v .. last - 1) {
        mv = mv || chair[i] != chair[last]
    }
    i = 0;
    moved = moved | (mv << last);
#ifdef NOHIST
    mv = chair[last - 1] != chair[last];
#endif
    movedRep = movedRep | (mv << last);
    mv = false
}

init
{
    d_step {
        mem[0] = FIRST;
        entered[0] = FIRST;
        elect(0);
        settled = 1;
        readAll = 1
    }
    atomic {
        for (i : 0 .. N - 1) {
            run rank(i)
        }
        i = 0
    }
end:
    do
    VIEWS_OF(1) VIEWS_OF(2) VIEWS_OF(3) VIEWS_OF(4) VIEWS_OF(5) VIEWS_OF(6) VIEWS_OF(7)
    VIEWS_OF(8) VIEWS_OF(9) VIEWS_OF(10) VIEWS_OF(11) VIEWS_OF(12) VIEWS_OF(13) VIEWS_OF(14)
    VIEWS_OF(15)
    :: d_step { !calm -> calm = true }
    :: timeout ->
        d_step {
            for (i : 0 .. N - 1) {
                if
                :: HAS(mem[last], i) -> assert(QUIESCENT || cur[i] == last)
                :: else
                fi
            }
            w = rec[chair[last]];
            assert(QUIESCENT || HAS(settled, last));
            assert(QUIESCENT || w || (holds & mem[last]) == 0);
            assert(QUIESCENT || w == 0 || w == MAYBE || HAS(started, w - 1));
            assert(QUIESCENT || w != MAYBE || (told & mem[last]) == mem[last]);
            i = 0; w = 0
        }
        break
    od
}
