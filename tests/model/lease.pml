/* lease.pml - V2: the lease is the fence (PROTOCOL.md V2; T').
 *
 * What is modelled.  N ranks through VIEWS view changes; rank X is the one whose lease is
 * watched.  X's heartbeats are granted by members of its own epoch that have not voted;
 * ranks vote for the next view under V1's quorum rule, certified deaths (DEATHS) included;
 * whoever votes for a view without X waits T' since its last GRANT to X and since its own
 * entry.  Removed ranks never learn of it and keep granting.  Views may be skipped.
 *
 * Time is discrete.  A tick is one unit of X's clock, which runs as slow as it may, and
 * RATE units of everybody else's, which run as fast as they may: RATE is
 * (1+rho)/(1-rho), here 2 (rho = 1/3), so T' = T_lease (1+rho)/(1-rho) is 4 for T_lease = 2.
 * That is the worst case: a faster X loses its lease sooner, a slower voter waits longer.
 * Ages stop growing at T_lease, past which nobody looks at them.
 *
 * What is abstracted, and why that is sound.
 *   - A heartbeat is sent, granted and heard in one moment, at any moment.  The lease counts
 *     from the sending and the voter's wait from the grant, so any delay shortens the lease
 *     against the wait.  A GRANT heard in a later epoch of X is dropped (Rule E).
 *   - One value per slot (view.pml).  Votes for values that lost only end more grants.
 *   - Suspicion is free: anybody may propose any smaller view at any moment.
 *   - What voters owe to other removed ranks only makes them wait longer.
 *   - X itself may vote for its own removal (a certificate quorum can need that); its vote
 *     ends its own grant.
 *
 * Invariant: I11, checked after every step, ticks included: once DEC of a view without X
 * exists, X holds no lease in any epoch.
 *
 * Mutants: NOPEND (no wait since one's own entry), GRANTAFTERVOTE, NOOWNWAIT (the lease does
 * not need one's own grant), NOWAIT (no wait since the last GRANT), NOSKEW (T' = T_lease).
 * EPOCHLESS drops the same-epoch condition on grants, Rule E kept; no configuration here
 * catches it, nor did earlier models, so it is not counted among the mutants.
 */
#ifndef N
#define N 5
#endif
#ifndef X
#define X 2
#endif
#ifndef VIEWS
#define VIEWS 2
#endif
#define E (VIEWS + 1)
#define EVERYONE ((1 << N) - 1)
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define POP(s) \
    (((s) & 1) + (((s) >> 1) & 1) + (((s) >> 2) & 1) + (((s) >> 3) & 1) + (((s) >> 4) & 1))

#define T_LEASE 2        /* in ticks of x's clock, the slowest */
#define RATE 2           /* ticks of g's clock, the fastest, for one of x's: (1+rho)/(1-rho) */
#ifdef NOSKEW
#define T_PRIME T_LEASE
#else
#define T_PRIME (T_LEASE * RATE)
#endif
#define EXPIRED T_LEASE
#define WAITED(age) ((age) * RATE >= T_PRIME)

hidden byte I11, hasLease; /* for SPIN's message when the assertion fails */

byte last, mem[E];
byte next;          /* the value of slot last+1, 0: none proposed yet */
byte cur[N];
byte voted;         /* for cur+1; sets of ranks */
byte ballots;       /* votes in slot last+1 */
byte dead;
byte heard[N];      /* at x: age of the youngest HB of x's epoch that g granted */
byte granted[N];    /* at g: age of its last GRANT to x */
byte since[N];      /* at g: age of its entry into cur */

hidden byte i;

#define FRESH(g) (HAS(mem[cur[X]], g) && (g) != X && heard[g] < T_LEASE -> 1 : 0)
#if N == 5
#define GRANTS (FRESH(0) + FRESH(1) + FRESH(2) + FRESH(3) + FRESH(4))
#elif N == 4
#define GRANTS (FRESH(0) + FRESH(1) + FRESH(2) + FRESH(3))
#else
#define GRANTS (FRESH(0) + FRESH(1) + FRESH(2))
#endif
#ifdef NOOWNWAIT
#define LEASE (2 * (1 + GRANTS) > POP(mem[cur[X]]))
#else
#define LEASE (!HAS(voted, X) && 2 * (1 + GRANTS) > POP(mem[cur[X]]))
#endif

#define LOWEST(s) ((s) & (0 - (s)))

/* V1: a majority, the lowest rank breaking ties, or everyone who is not certified dead. */
#define QUORUM(s) \
    (2 * POP(s) + ((s) & LOWEST(mem[last]) -> 1 : 0) > POP(mem[last]) || \
     (((s) | dead) & mem[last]) == mem[last])

inline check()
{
    hasLease = (LEASE -> 1 : 0);
    assert(I11 || HAS(dead, X) || HAS(mem[last], X) || !hasLease);
    hasLease = 0
}

#ifdef EPOCHLESS
#define SAME_EPOCH(g) (cur[g] >= cur[X] && HAS(mem[cur[g]], X))
#else
#define SAME_EPOCH(g) (cur[g] == cur[X])
#endif
#ifdef GRANTAFTERVOTE
#define NOT_VOTED(g) true
#else
#define NOT_VOTED(g) (!HAS(voted, g))
#endif
#ifdef NOPEND
#define SINCE_ENTRY(g) true
#else
#define SINCE_ENTRY(g) WAITED(since[g])
#endif
#ifdef NOWAIT
#define SINCE_GRANT(g) true
#else
#define SINCE_GRANT(g) WAITED(granted[g])
#endif

inline enter(e)
{
    cur[g] = e;
    voted = voted & ~BIT(g);
    since[g] = 0;
#ifndef EPOCHLESS
    granted[g] = EXPIRED; /* older grants are younger than nothing: since[] covers them */
#endif
    if
    :: g == X ->
        for (i : 0 .. N - 1) {
            heard[i] = EXPIRED
        }
        i = 0
    :: else
    fi
}
#define ENTER(e) \
    :: d_step { (e) <= VIEWS && cur[g] < (e) && (e) <= last && HAS(mem[e], g) && !HAS(dead, g) -> \
        enter(e); check() }

proctype rank(byte g)
{
end:
    do
    /* x's HB goes out, is granted and heard in one moment: any delay shortens the lease. */
    :: d_step { g != X && !HAS(dead, g) && !HAS(dead, X) && HAS(mem[cur[X]], g) &&
                SAME_EPOCH(g) && NOT_VOTED(g) && (heard[g] || granted[g]) ->
        heard[g] = 0;
        granted[g] = 0;
        check() }
    :: d_step { next && cur[g] == last && !HAS(voted, g) && HAS(mem[last], g) && !HAS(dead, g) &&
                (g == X || HAS(next, X) || HAS(dead, X) || (SINCE_GRANT(g) && SINCE_ENTRY(g))) ->
        voted = voted | BIT(g);
        ballots = ballots | BIT(g);
        check() }
    ENTER(1) ENTER(2) /* views may be skipped */
#ifdef DEATHS
    :: d_step { !HAS(dead, g) && POP(dead) < DEATHS && HAS(mem[last], g) -> dead = dead | BIT(g) }
#endif
    od
}

#define PROPOSE(x) \
    :: d_step { last < VIEWS && next == 0 && (x) != mem[last] && \
                ((x) & ~mem[last]) == 0 -> \
        next = x }

init
{
    d_step {
        mem[0] = EVERYONE;
        for (i : 0 .. N - 1) {
            heard[i] = EXPIRED; granted[i] = EXPIRED; since[i] = EXPIRED
        }
    }
    atomic {
        for (i : 0 .. N - 1) {
            run rank(i)
        }
        i = 0
    }
end:
    do
    :: d_step { true ->
        for (i : 0 .. N - 1) {
            heard[i] = (heard[i] < EXPIRED -> heard[i] + 1 : EXPIRED);
            granted[i] = (granted[i] < EXPIRED -> granted[i] + 1 : EXPIRED);
            since[i] = (since[i] < EXPIRED -> since[i] + 1 : EXPIRED)
        }
        i = 0;
        check() }
    PROPOSE(1) PROPOSE(2) PROPOSE(3) PROPOSE(4) PROPOSE(5) PROPOSE(6) PROPOSE(7) PROPOSE(8)
    PROPOSE(9) PROPOSE(10) PROPOSE(11) PROPOSE(12) PROPOSE(13) PROPOSE(14) PROPOSE(15)
#if N == 5
    PROPOSE(16) PROPOSE(17) PROPOSE(18) PROPOSE(19) PROPOSE(20) PROPOSE(21) PROPOSE(22)
    PROPOSE(23) PROPOSE(24) PROPOSE(25) PROPOSE(26) PROPOSE(27) PROPOSE(28) PROPOSE(29)
    PROPOSE(30)
#endif
    :: d_step { next && QUORUM(ballots) ->
        last++;
        mem[last] = next;
        next = 0;
        ballots = 0;
        check() }
    od
}
