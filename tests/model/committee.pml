/* committee.pml - leases across the hand-over from one committee to the next (large views).
 *
 * What is modelled.  Three views of N = 5 ranks, each led by a committee of its three
 * lowest members.  The committee of view 1 decides view 2, which removes X, or rank 0 of
 * the committee; in the second case the committee of view 2 decides view 3, which removes
 * X.  A member of a committee that has not voted grants X a lease for T ticks whenever it
 * likes, while both are in that view; X may stay in view 1 as long as it likes, and so may
 * members of the old committee.  A vote that removes X waits until T ticks after the
 * voter's last grant to X and after its own entry.  Ranks of the committees die, also
 * after having granted.
 *
 * What is abstracted, and why that is sound.
 *   - Each slot has one value: view.pml shows that of Paxos over any set of acceptors, of
 *     which these committees are one.
 *   - A lease counts from the heartbeat, which is older than the grant; here from the grant,
 *     which is worse.  Clocks run alike: T' covers the drift (lease.pml).
 *   - Messages: what is granted, voted or decided is known at any later moment, or never.
 *
 * Invariant: I11.  Once a view without X is decided, X has no lease, of any view.
 *
 * Mutants: NOPEND (a vote does not wait for the voter's own grants), NOENTRY (nor for its
 * entry), GRANTAFTERVOTE, SMALLQ (two views need no common voter), DEADQUORUM (committee
 * members that are certified dead count towards a quorum).
 */
#ifndef X
#define X 4             /* 4: in neither committee; 2: in both */
#endif
#define N 5
#define T 2
#ifndef MAXT
#define MAXT 6            /* ticks; the first is T + 1 */
#endif
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define POP(s) \
    (((s) & 1) + (((s) >> 1) & 1) + (((s) >> 2) & 1) + (((s) >> 3) & 1) + (((s) >> 4) & 1))
#define C1 (BIT(0) | BIT(1) | BIT(2))
#define C2 (BIT(1) | BIT(2) | BIT(3))   /* of view 2 without rank 0 */
#ifdef SMALLQ
#define ENOUGH 1
#else
#define ENOUGH 2
#endif
#ifdef DEADQUORUM
#define QUORUM(votes, c) (POP(votes) >= ENOUGH || (((votes) | dead) & (c)) == (c))
#else
#define QUORUM(votes, c) (POP(votes) >= ENOUGH)
#endif

hidden byte I11; /* the invariant; so that SPIN's message is short */

byte now = T + 1;       /* so that no rank has entered, or granted, before */
byte dead;
byte inTwo;             /* who has entered view 2 */
byte votedTwo, votedThree;
bool removesX;          /* view 2 does; else it removes rank 0 */
bool two, three;        /* decided */
byte entered[N];        /* when, view 2 */
byte grantOne[N], grantTwo[N]; /* the last to X, in view 1 and 2; 0: none */

#define ALIVE(g) (!HAS(dead, g))
#define FRESH(t) ((t) != 0 && now < (t) + T)
#define LEASEONE (POP(C1 & ( \
      (FRESH(grantOne[0]) << 0) | (FRESH(grantOne[1]) << 1) | (FRESH(grantOne[2]) << 2) | \
      ((HAS(C1, X) && !HAS(votedTwo, X)) << X))) >= 2)
#define LEASETWO (POP(C2 & ( \
      (FRESH(grantTwo[1]) << 1) | (FRESH(grantTwo[2]) << 2) | (FRESH(grantTwo[3]) << 3) | \
      ((HAS(C2, X) && !HAS(votedThree, X)) << X))) >= 2)
#define GONE ((two && removesX) || three)
#define XLIVES (ALIVE(X))

#ifdef NOPEND
#define WAITED(g, last, entry) true
#else
#ifdef NOENTRY
#define WAITED(g, last, entry) ((last) == 0 || now >= (last) + T)
#else
#define WAITED(g, last, entry) (((last) == 0 || now >= (last) + T) && now >= (entry) + T)
#endif
#endif
#ifdef GRANTAFTERVOTE
#define MAYGRANT(voted, g) true
#else
#define MAYGRANT(voted, g) (!HAS(voted, g))
#endif

inline check()
{
    I11 = !(GONE && XLIVES && (LEASEONE || (HAS(inTwo, X) && LEASETWO)));
    assert(I11);
}

active proctype moot()
{
    byte g;
    if
    :: removesX = true
    :: removesX = false
    fi;
    do
    :: d_step { now < MAXT -> now++; }
    :: atomic { select(g : 0 .. 3);
        if
        /* Of view 1: X has not entered view 2, nor has g. */
        :: g != X && ALIVE(g) && HAS(C1, g) && !HAS(inTwo, g) && !HAS(inTwo, X) &&
           MAYGRANT(votedTwo, g) -> grantOne[g] = now
        :: g != X && ALIVE(g) && HAS(C2, g) && HAS(inTwo, g) && HAS(inTwo, X) && !removesX &&
           MAYGRANT(votedThree, g) -> grantTwo[g] = now
        /* Votes; X itself votes at once, and then no longer counts itself. */
        :: ALIVE(g) && HAS(C1, g) && !HAS(votedTwo, g) && !HAS(inTwo, g) &&
           (!removesX || g == X || WAITED(g, grantOne[g], 0)) -> votedTwo = votedTwo | BIT(g)
        :: ALIVE(g) && HAS(C2, g) && HAS(inTwo, g) && !removesX && !HAS(votedThree, g) &&
           (g == X || WAITED(g, grantTwo[g], entered[g])) -> votedThree = votedThree | BIT(g)
        :: two && ALIVE(g) && !HAS(inTwo, g) && !(removesX && g == X) &&
           !(!removesX && g == 0) -> inTwo = inTwo | BIT(g); entered[g] = now
        :: POP(dead) < 2 && ALIVE(g) -> dead = dead | BIT(g)
        :: else
        fi;
        g = 0; check() }
    :: d_step { two && !HAS(inTwo, X) && !removesX -> inTwo = inTwo | BIT(X);
        entered[X] = now; }
    :: atomic { !two && QUORUM(votedTwo, C1) -> two = true; check() }
    :: atomic { two && !three && !removesX && QUORUM(votedThree, C2) -> three = true; check() }
    od
}
