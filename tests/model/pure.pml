/* pure.pml - one pure task through view changes (PROTOCOL.md T1, T2, T4-T7, *Entering*,
 * Rule E).
 *
 * What is modelled.  N ranks, one key, up to VIEWS view changes.  Any subset of the
 * ranks comes to hold the task, each at any moment.  Any view may remove any ranks; with
 * JOIN, rank 0 joins as a new member and takes the key over.  Views may be skipped by
 * ranks and decided before anybody has entered the one before.  There is no clock.
 *
 * Messages are latched: what was sent can be received at any later time, any number of
 * times and in any order, and never has to be.  Hence most messages need no state of
 * their own: a message exists iff its sender was once in the position to send it.
 *   MOTION    motH[e]: ranks that held the task while in e.  Every rank waits from the
 *             start, so a motion without holding exists from whoever has entered e.
 *   DECISION  dec[e]: ranks that chair(e) has sent one in e.  T6 sends it as soon as the
 *             record is known, since the chair itself is an asker.
 *   RESULT    an owner may push to anyone (T3a), so its RESULT exists in every epoch that
 *             it is in once it has run; ranBy[e] are the ranks that ran in e or before.
 *             Who serves an adopted result does so on a DECISION of the same epoch.
 *   REPORT    repOwn[e], repRes[e]: who reported OWN, who reported RES (whose owner is in
 *             res[], which never changes); entered[e]: whose REPORT of e is out.
 *
 * What is abstracted, and why that is sound.
 *   - A crash is a removal after which the rank is never scheduled again: SPIN explores a
 *     process that stops for ever at any point.  So every removed rank is an immortal
 *     zombie, which includes the dead; a member that never acts is a crash not yet seen.
 *   - The chair of a set of members is its lowest rank: placement is a fixed order of
 *     ranks per key, and one key is modelled.  Keys do not interact but through evidence.
 *   - T5's evidence: a chair that cannot claim may yield at any moment (yield.pml asks
 *     when it does).  Candidates, hints, declines and nesting only influence that.
 *   - Views are any sequence of member sets (view.pml: one per epoch); hist of a view
 *     starts at any globally settled view that the proposer may know.
 *   - Payloads are kept until the end (no DROPPED), and a kernel does not fail.
 *
 * Liveness.  `calm` ends faults, registrations and pushes at any moment; from then on a
 * result travels on the asked path only (MOTION, DECISION, RESULT of one epoch).  When
 * nothing can happen any more, every member must have its result if anybody holds it.
 *
 * Invariants: I1, I2, I4, I5, I6, I7, I8, I18 (JOIN), QUIESCENT, and I10 as a ghost that
 * states Rule E a second time at every receipt.  M is the last decided view.
 *
 * hist of a new view either keeps its start or starts at the view before, if that is
 * globally settled.  Starting at a settled view in between (mutant HISTANY) is unsafe from
 * three view changes on: the key was moved, so the record was dropped, under the longer
 * hist of an unsettled view; under the shorter one it is not, and nobody reports its owner.
 *
 * Mutants: STALEDEC STALERES ADOPTSTALE PARTIAL NOHIST AMNESIA NOFREEZEDEAD JOINNOWAIT
 * NOOWNREP FWDNOTDEC, HISTANY, and NOSTICKY: a freeze is forgotten
 * at the next view entry.  The ghosts I10 and I8 are off in the mutants that break just
 * them, so that what kills those is the harm done.
 */
#ifndef N
#define N 3
#endif
#ifndef VIEWS
#define VIEWS 2
#endif
#define E (VIEWS + 1)
#define EVERYONE ((1 << N) - 1)
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define OWNER(r) ((r) + 1)   /* res[] and rec[] hold OWNER(rank); 0: none */
#define OWNERBIT(o) (1 << ((o) - 1))
#ifdef JOIN
#define FIRST (EVERYONE & ~1)
#else
#define FIRST EVERYONE
#endif

/* Names for SPIN's message when an assertion fails. */
hidden byte I1, I2, I4, I5, I6, I7, I8, I10, T7_HOLDS, QUIESCENT;

/* The view layer: what was decided. */
byte last;      /* M */
byte mem[E];    /* members */
byte chair[E];
byte base[E];   /* hist is base..e */
byte moved;     /* bit e: the chair of e differs from that of a view in hist(e) */
byte movedRep;  /* the same, as reporters judge it */
bit calm;

/* Per rank. */
byte cur[N];
byte res[N];
byte rec[N];    /* as chair */
byte frozen;    /* as chair; sets of ranks */
byte holds;
byte own;       /* owner and not done */

/* Per epoch: sets of ranks. */
byte entered[E], motH[E], dec[E], repOwn[E], repRes[E], ranBy[E];
byte settled;   /* bit e: chair(e) has settled e */

hidden byte i, k, n, w;
hidden byte mv;

/* The chair of e needs no more motions of e: it has left e, or its record is written. */
#define UNDECIDED(e) (cur[chair[e]] < (e) || (cur[chair[e]] == (e) && rec[chair[e]] == 0))

/* States that differ only in what nobody will look at are made equal. */
inline fold()
{
    for (i : 0 .. VIEWS) {
        if
        :: i <= last && !UNDECIDED(i) -> motH[i] = 0
        :: else
        fi;
        if
        :: i <= last && (HAS(settled, i) || cur[chair[i]] > i) -> repOwn[i] = 0; repRes[i] = 0
        :: else
        fi
    }
    i = 0
}

/* After every step. */
inline check()
{
    k = 0; n = 0;
    for (i : 0 .. N - 1) {
        if
        :: HAS(mem[last], i) ->
            if
            :: res[i] ->
                assert(I1 || n == 0 || n == res[i]);
                n = res[i]
            :: else
            fi;
            if
            :: HAS(ranBy[VIEWS], i) -> k++
            :: else
            fi;
            assert(I6 || !(HAS(own, i) && res[i]));
            if
            :: chair[cur[i]] == i && rec[i] && rec[i] != OWNER(i) &&
               (mem[cur[i]] & OWNERBIT(rec[i])) ->
                assert(I5 || !HAS(own, i))
            :: else
            fi
        :: else
        fi
    }
    assert(I2 || k <= 1);
    i = 0; k = 0; n = 0
}

/* I10: an independent reading of Rule E for a message of epoch e from rank s to r. */
#if defined(STALEDEC) || defined(STALERES) || defined(ADOPTSTALE) /* what does it buy? */
#define RULE_E(e, s, isOwnersResult) skip
#else
#define RULE_E(e, s, isOwnersResult) \
    assert(I10 || (HAS(mem[cur[r]], s) && \
                   ((e) == cur[r] || ((e) < cur[r] && (isOwnersResult)))))
#endif

/* T6: the record is another member's, or adopted: then all who reported it may serve. */
inline decide(e)
{
#ifndef FWDNOTDEC
    if
    :: rec[r] && rec[r] != OWNER(r) && HAS(mem[e], rec[r] - 1) ->
        dec[e] = dec[e] | OWNERBIT(rec[r])
    :: else
    fi;
#endif
    skip
}

/* Section 5, steps 1 to 4. */
inline enter(e)
{
#if !defined(STALEDEC) && !defined(ADOPTSTALE)
    for (i : 0 .. e - 1) { /* what it has not received by now it never will */
        if
        :: res[r] == 0 || res[r] == OWNER(r) -> dec[i] = dec[i] & ~BIT(r)
        :: else
        fi
    }
    i = 0;
#endif
    cur[r] = e;
    entered[e] = entered[e] | BIT(r);
    if
    :: HAS(holds, r) && chair[e] != r -> motH[e] = motH[e] | BIT(r)
    :: else
    fi;
    if
    :: HAS(movedRep, e) && HAS(own, r) ->
#ifndef NOOWNREP
        repOwn[e] = repOwn[e] | BIT(r)
#else
        skip
#endif
    :: else
    fi;
    if
    :: res[r] && (HAS(movedRep, e) || !(mem[e] & OWNERBIT(res[r]))) ->
        repRes[e] = repRes[e] | BIT(r)
    :: else
    fi;
    if
    :: chair[e] == r ->
        if
        :: HAS(moved, e) ->
            rec[r] = 0;
#ifdef JOINNOWAIT
            if
            :: r == 0 -> skip
            :: else -> frozen = frozen | BIT(r)
            fi
#else
            frozen = frozen | BIT(r)
#endif
        :: else ->
#ifdef NOSTICKY
            frozen = frozen & ~BIT(r);
#endif
            if
            :: rec[r] && !(mem[e] & OWNERBIT(rec[r])) ->
                rec[r] = 0;
#ifndef NOFREEZEDEAD
                frozen = frozen | BIT(r)
#endif
            :: else
            fi;
            decide(e)
        fi
    :: else -> rec[r] = 0; frozen = frozen & ~BIT(r)
    fi
}

/* Section 5, step 5, at the chair. */
inline settle(e)
{
    if
    :: HAS(frozen, r) ->
        w = 0;
        for (i : 0 .. N - 1) {
            if
            :: HAS(repRes[e], i) ->
                assert(I7 || w == 0 || w == res[i]);
                w = res[i]
            :: else
            fi
        }
        for (i : 0 .. N - 1) {
            if
            :: HAS(repOwn[e], i) ->
                assert(I7 || w == 0 || w == OWNER(i));
                w = OWNER(i)
            :: else
            fi
        }
        i = 0;
        assert(I4 || rec[r] == 0);
        rec[r] = w;
        frozen = frozen & ~BIT(r);
        if
        :: w && !(mem[e] & OWNERBIT(w)) -> dec[e] = dec[e] | repRes[e] /* adopted */
        :: else -> decide(e)
        fi;
        w = 0
    :: else
    fi;
    settled = settled | BIT(e)
}

#define ACTS(r) (HAS(mem[cur[r]], r) && (!calm || HAS(mem[last], r)))
#define IS_CHAIR(r) (chair[cur[r]] == (r))

/* A RESULT of s that r may consume: the owner's own, or one that s serves. */
#ifdef STALERES
#define FROM_MEMBER(s) 1
#else
#define FROM_MEMBER(s) HAS(mem[cur[r]], s)
#endif
#define ASKED(s) (cur[s] == cur[r] && \
    (HAS(dec[cur[r]], s) || (chair[cur[r]] == (s) && rec[s] == OWNER(s))))
#define OWNERS_RESULT(s) (HAS(ranBy[cur[r]], s) && FROM_MEMBER(s) && (!calm || ASKED(s)))
#define SERVES(e, s) (HAS(dec[e], s) && res[s] && res[s] != OWNER(s))
#ifdef ADOPTSTALE
#define SERVED_RESULT(s) \
    (SERVES(cur[r], s) || (cur[r] > 0 && SERVES(0, s)) || (cur[r] > 1 && SERVES(1, s)))
#else
#define SERVED_RESULT(s) SERVES(cur[r], s)
#endif

#define CONSUME(s) \
    :: d_step { (s) < N && (s) != r && ACTS(r) && res[r] == 0 && OWNERS_RESULT(s) -> \
        RULE_E(cur[r], s, true); \
        res[r] = OWNER(s); \
        check(); fold() } \
    :: d_step { (s) < N && (s) != r && ACTS(r) && res[r] == 0 && SERVED_RESULT(s) -> \
        RULE_E(cur[r], s, false); \
        res[r] = res[s]; \
        check(); fold() }

/* I8 and I18: a chair of a key that moved waits for every REPORT. */
#ifdef JOINNOWAIT
#define NOT_FROZEN(r) skip
#else
#define NOT_FROZEN(r) assert(I8 || HAS(settled, cur[r]) || !HAS(moved, cur[r]))
#endif

#define YIELD(v) \
    :: d_step { (v) < N && (v) != r && ACTS(r) && IS_CHAIR(r) && !HAS(holds, r) && \
                !HAS(frozen, r) && rec[r] == 0 && HAS(motH[cur[r]], v) -> \
        NOT_FROZEN(r); \
        rec[r] = OWNER(v); dec[cur[r]] = dec[cur[r]] | BIT(v); check(); fold() }

#define ENTER(e) \
    :: d_step { (e) <= VIEWS && (!calm || HAS(mem[last], r)) && cur[r] < (e) && \
                (e) <= last && HAS(mem[e], r) -> \
        enter(e); check(); fold() }

#ifdef STALEDEC
#define DECIDED(r) (HAS(dec[cur[r]], r) || HAS(dec[0], r) || (cur[r] > 1 && HAS(dec[1], r)))
#else
#define DECIDED(r) HAS(dec[cur[r]], r)
#endif

#define MISSING(e) (mem[e] & ~entered[e])
#ifdef PARTIAL
#define ALL_REPORTED(e) ((MISSING(e) & (MISSING(e) - 1)) == 0)
#else
#define ALL_REPORTED(e) (MISSING(e) == 0)
#endif

proctype rank(byte r)
{
end:
    do
    /* T1 register. */
    :: d_step { ACTS(r) && !calm && !HAS(holds, r) && res[r] == 0 ->
        holds = holds | BIT(r);
        if
        :: !IS_CHAIR(r) -> motH[cur[r]] = motH[cur[r]] | BIT(r)
        :: else ->
#ifdef AMNESIA
            if
            :: rec[r] && rec[r] != OWNER(r) && res[r] == 0 -> own = own | BIT(r)
            :: else
            fi;
#endif
            skip
        fi;
        check(); fold() }
    /* T2 claim. */
    :: d_step { ACTS(r) && IS_CHAIR(r) && HAS(holds, r) && !HAS(frozen, r) && rec[r] == 0 ->
        NOT_FROZEN(r);
        assert(I6 || res[r] == 0);
        rec[r] = OWNER(r);
        own = own | BIT(r);
        check(); fold() }
    /* T5 yield, with T6's DECISION. */
    YIELD(0) YIELD(1) YIELD(2) YIELD(3)
    /* T7: a DECISION arrives; then the kernel runs. */
    :: d_step { ACTS(r) && DECIDED(r) && !HAS(own, r) && res[r] == 0 ->
        RULE_E(cur[r], chair[cur[r]], false);
        assert(T7_HOLDS || HAS(holds, r));
        own = own | BIT(r);
        check(); fold() }
    :: d_step { ACTS(r) && HAS(own, r) ->
        assert(I6 || res[r] == 0);
        own = own & ~BIT(r);
        res[r] = OWNER(r);
        for (i : cur[r] .. VIEWS) {
            ranBy[i] = ranBy[i] | BIT(r)
        }
        check(); fold() }
    CONSUME(0) CONSUME(1) CONSUME(2) CONSUME(3)
    ENTER(1) ENTER(2) ENTER(3)
    /* Section 5, step 5. */
    :: d_step { ACTS(r) && cur[r] && IS_CHAIR(r) && !HAS(settled, cur[r]) &&
                ALL_REPORTED(cur[r]) ->
        settle(cur[r]); check(); fold() }
    od
}

#define GLOBALLY_SETTLED(v) (HAS(settled, v) && entered[v] == mem[v])
#ifdef JOIN
#define MAY_FOLLOW(x) (((x) & ~(mem[last] | 1)) == 0 && \
    (!HAS(x, 0) || HAS(mem[last], 0) || !HAS(EVER, 0)))
#if VIEWS == 3
#define EVER (mem[0] | mem[1] | mem[2] | mem[3])
#else
#define EVER (mem[0] | mem[1] | mem[2])
#endif
#else
#define MAY_FOLLOW(x) (((x) & ~mem[last]) == 0)
#endif

#ifdef HISTANY
#define HIST_FROM(v) ((v) <= last)
#else
#define HIST_FROM(v) ((v) == last)
#endif

/* View last+1 has members x, and its hist starts at v. */
#define VIEW(x, v) \
    :: d_step { (x) <= EVERYONE && (v) < VIEWS && !calm && last < VIEWS && (x) != mem[last] && \
                MAY_FOLLOW(x) && ((v) == base[last] || \
                                  ((v) > base[last] && HIST_FROM(v) && GLOBALLY_SETTLED(v))) -> \
        decide_view(x, v); check(); fold() }
#define VIEWS_OF(x) VIEW(x, 0) VIEW(x, 1) VIEW(x, 2)

inline decide_view(x, v)
{
    last++;
    mem[last] = x;
    base[last] = v;
    for (i : 0 .. N - 1) {
        if
        :: HAS(x, i) -> chair[last] = i; break
        :: else
        fi
    }
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
        settled = 1;
#ifdef JOIN
        chair[0] = 1;
#endif
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
            k = 0; n = 0; w = 0;
            for (i : 0 .. N - 1) {
                if
                :: HAS(mem[last], i) ->
                    w++;
                    assert(QUIESCENT || cur[i] == last);
                    assert(QUIESCENT || !HAS(own, i));
                    k = k + (res[i] -> 1 : 0);
                    n = n + ((res[i] || HAS(holds, i)) -> 1 : 0)
                :: else
                fi
            }
            assert(QUIESCENT || n == 0 || k == w)
        }
        break
    od
}
