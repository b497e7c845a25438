/* view.pml - V1: one slot of the view layer (PROTOCOL.md V1).
 *
 * What is modelled.  Classic Paxos among the N members of a view, who are proposers,
 * acceptors and learners, with the stated quorum rule: S with 2|S|+[lowest rank in S] > N,
 * or S and the certified dead together are everyone.  Ranks die (DEATHS); who has died may
 * be certified to any rank at any later moment.  PREP and ACC list the proposer's
 * certificates, whoever accepts the message merges them, and from then on it drops
 * everything from those ranks.  BALLOTS ballots compete; any rank may propose any ballot,
 * or (FIXED) ballot b is rank b mod N's.
 *
 * Messages are latched: PREP{b} is proposer[b] and prepCert[b]; PROM prom[b] and promAcc[];
 * ACC{b} value[b] and accCert[b]; ACKD ackd[b]; DEC exists from whoever has learned.
 *
 * What is abstracted, and why that is sound.
 *   - A PROM or ACKD is counted when it is sent.  One that arrives later, or never, is a
 *     rank that answers later, or never; one that its proposer drops because the sender has
 *     been certified meanwhile is LATE's removal, from the quorum and the values alike.
 *   - The value of ballot b is b: members that differ in ballots differ in values.
 *   - A rank that has learned is in the next epoch and votes no more in this slot, by
 *     Rule E (mutant LEARNEDVOTES: safety depends on it).
 *   - Timing, NACKs and who proposes when: any interleaving is explored.
 *
 * Invariant: I12, on learning and among the living: one value per slot.
 *
 * Mutants: HALF, MAJLIVE, NOPH1, CERTDROP, NOMERGE, LEARNEDVOTES.
 */
#ifndef N
#define N 3
#endif
#ifndef BALLOTS
#define BALLOTS 3       /* ballot b >= 1 */
#endif
#ifndef DEATHS
#define DEATHS (N - 1)
#endif
#define EVERYONE ((1 << N) - 1)
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define POP(s) \
    (((s) & 1) + (((s) >> 1) & 1) + (((s) >> 2) & 1) + (((s) >> 3) & 1))
#define B (BALLOTS + 1)

hidden byte I12; /* for SPIN's message when the assertion fails */

byte dead;              /* ranks that died */
byte cert[N];           /* ranks that r holds to be certified dead; it drops all that they say */
byte promised[N];       /* highest ballot promised or accepted */
byte accepted[N];       /* ballot of the accepted value, 0: none */
byte learned[N];        /* value, 0: none */

/* Ballot b: who proposes it, what it says. */
byte proposer[B];       /* rank + 1, 0: not started */
byte prepCert[B];       /* certificates listed in PREP */
byte value[B];          /* of ACC, 0: not sent */
byte accCert[B];        /* certificates listed in ACC */
byte prom[B], ackd[B];  /* sets of ranks that answered */
byte promAcc[B * N];    /* the ballot whose value the promise reports */
byte decided;           /* bit b: its proposer announced DEC */

hidden byte i, w, top;

#define DROPS(r, s) HAS(cert[r], s)
#ifdef CERTDROP
#undef DROPS
#define DROPS(r, s) false
#endif

#define ALL(s, certs) ((((s) | (certs)) & EVERYONE) == EVERYONE)
#ifdef HALF
#define QUORUM(s, certs) (2 * POP(s) >= N || ALL(s, certs))
#else
#ifdef MAJLIVE
#define QUORUM(s, certs) (2 * POP(s) + ((s) & 1) > N - POP(certs) || ALL(s, certs))
#else
#define QUORUM(s, certs) (2 * POP(s) + ((s) & 1) > N || ALL(s, certs))
#endif
#endif

inline learn(r, v)
{
    assert(I12 || learned[r] == 0 || learned[r] == v);
    learned[r] = v
}

inline check()
{
    w = 0;
    for (i : 0 .. N - 1) {
        if
        :: !HAS(dead, i) && learned[i] ->
            assert(I12 || w == 0 || w == learned[i]);
            w = learned[i]
        :: else
        fi
    }
    i = 0; w = 0
}

#define ALIVE(r) (!HAS(dead, r))
#define OPEN(r) (ALIVE(r) && learned[r] == 0)   /* whoever has learned is in e+1: Rule E */
#define MINE(r, b) (proposer[b] == (r) + 1)

#ifdef NOMERGE
#define MERGE(r, certs) skip
#else
#define MERGE(r, certs) cert[r] = cert[r] | (certs)
#endif

/* The proposer is its own first acceptor. */
inline start(r, b)
{
    proposer[b] = r + 1;
    prepCert[b] = cert[r];
    prom[b] = BIT(r);
    promAcc[b * N + r] = accepted[r];
    promised[r] = b
}

inline promise(r, b)
{
    MERGE(r, prepCert[b]);
    promised[r] = b;
    if
    :: ALIVE(proposer[b] - 1) ->
        prom[b] = prom[b] | BIT(r);
        promAcc[b * N + r] = accepted[r]
    :: else
    fi
}

/* Phase 2: the value of the highest ballot reported, or the proposer's own. */
inline propose(r, b)
{
    top = 0;
    for (i : 0 .. N - 1) {
        if
        :: HAS(prom[b], i) && promAcc[b * N + i] > top ->
            top = promAcc[b * N + i]
        :: else
        fi
    }
    value[b] = (top -> value[top] : b);
    for (i : 0 .. N - 1) {
        promAcc[b * N + i] = 0
    }
    i = 0; top = 0;
    prom[b] = 0; prepCert[b] = 0;
    accCert[b] = cert[r];
    promised[r] = b;
    accepted[r] = b;
    ackd[b] = BIT(r)
}

inline accept(r, b)
{
    MERGE(r, accCert[b]);
    promised[r] = b;
    accepted[r] = b;
    if
    :: ALIVE(proposer[b] - 1) && !HAS(decided, b) -> ackd[b] = ackd[b] | BIT(r)
    :: else
    fi
}

/* What a dead rank said stays in the network; what it knew is nobody's business. */
inline die(r)
{
    dead = dead | BIT(r);
    cert[r] = 0; promised[r] = 0; accepted[r] = 0;
    for (i : 1 .. BALLOTS) {
        if
        :: MINE(r, i) ->
            prom[i] = 0; ackd[i] = 0;
            for (w : 0 .. N - 1) {
                promAcc[i * N + w] = 0
            }
        :: else
        fi
    }
    i = 0; w = 0
}

#ifdef LEARNEDVOTES
#define VOTES(r) ALIVE(r)
#else
#define VOTES(r) OPEN(r)
#endif
#ifdef FIXED
#define MAY_START(r, b) ((b) % N == (r))
#else
#define MAY_START(r, b) true
#endif
#ifdef NOPH1
#define PROMISED(b) true
#else
#define PROMISED(b) QUORUM(prom[b], prepCert[b])
#endif

#define BALLOT(b) \
    :: d_step { (b) <= BALLOTS && VOTES(r) && proposer[b] == 0 && promised[r] < (b) && \
                MAY_START(r, b) -> \
        start(r, b) } \
    :: d_step { (b) <= BALLOTS && VOTES(r) && proposer[b] && !MINE(r, b) && value[b] == 0 && \
                !DROPS(r, proposer[b] - 1) && promised[r] < (b) -> \
        promise(r, b) } \
    :: d_step { (b) <= BALLOTS && VOTES(r) && MINE(r, b) && value[b] == 0 && \
                promised[r] <= (b) && PROMISED(b) -> \
        propose(r, b) } \
    :: d_step { (b) <= BALLOTS && VOTES(r) && value[b] && !MINE(r, b) && \
                !DROPS(r, proposer[b] - 1) && promised[r] <= (b) && accepted[r] != (b) -> \
        accept(r, b) } \
    :: d_step { (b) <= BALLOTS && ALIVE(r) && MINE(r, b) && value[b] && !HAS(decided, b) && \
                QUORUM(ackd[b], accCert[b]) -> \
        decided = decided | BIT(b); ackd[b] = 0; learn(r, value[b]); check() }

/* DEC from whoever has learned; a PROM of a certified rank that came too late. */
#define FROM(s) \
    :: d_step { (s) < N && ALIVE(r) && learned[s] && learned[r] != learned[s] && \
                !DROPS(r, s) -> \
        learn(r, learned[s]); check() } \
    :: d_step { (s) < N && ALIVE(r) && HAS(dead, s) && !HAS(cert[r], s) -> \
        cert[r] = cert[r] | BIT(s) }
#define LATE(s, b) \
    :: d_step { (s) < N && (b) <= BALLOTS && ALIVE(r) && MINE(r, b) && value[b] == 0 && \
                HAS(cert[r] & prom[b], s) -> \
        prom[b] = prom[b] & ~BIT(s); promAcc[(b) * N + s] = 0 }
#define LATES(s) LATE(s, 1) LATE(s, 2) LATE(s, 3)

proctype rank(byte r)
{
end:
    do
    BALLOT(1) BALLOT(2) BALLOT(3)
    FROM(0) FROM(1) FROM(2) FROM(3)
    LATES(0) LATES(1) LATES(2) LATES(3)
    :: d_step { ALIVE(r) && POP(dead) < DEATHS -> die(r) }
    od
}

init
{
    atomic {
        for (i : 0 .. N - 1) {
            run rank(i)
        }
        i = 0
    }
}
