/* quiet.pml - QUIET: nobody acts any more (PROTOCOL.md, *QUIET*).
 *
 * What is modelled.  N ranks in one view, MESSAGES messages, GOSSIP announcements.  An
 * busy rank may send to anyone, register (and then owes an announcement to everyone) and
 * become passive; whatever arrives may make a rank busy, gossip too: a chair that learns
 * of a holder yields, a closed rank that learns a roll sends T1a's motions.  Rank 0 polls
 * while it is passive: each rank answers with its counters and whether it is passive, at any
 * moment of the round.  Two rounds in a row, all passive, S1 = R1 = S2 = R2: quiet.
 *
 * Two things the counters must be, which the protocol says in few words.
 *   - Whatever can make its receiver act is counted, announcements included, and a rank is
 *     passive only if nothing but a message can make it act: it owes no announcement and
 *     holds no motion back.  What is not counted (HB, POLL, POLLR) makes nobody act.
 *   - A message counts in the epoch that it carries.  With OLDRESULT, rank 1 has entered the
 *     view with a wait open: a RESULT of the old epoch may be under way to it (Rule E lets it
 *     in), and so is, by *Entering*, its MOTION of this epoch, then a DECISION to rank
 *     2 and a RESULT, all counted.  The old RESULT is not counted when it arrives.
 *
 * What is abstracted, and why that is sound.
 *   - What messages say.  Any receipt may cause any sending, which is more than happens.
 *   - POLL and POLLR are one step at a moment between the start and the end of the round.
 *   - Resets at view entry: a round in which epochs differ is dropped by Rule E.
 *
 * Invariant: QUIET, at the declaration no counted message is under way and all are passive.
 *
 * Mutants: ONEPOLL (one round is enough), FLAGSONLY (no counters), GOSSIPUNCOUNTED,
 * LATEGOSSIP (passive while an announcement is owed), COUNTOLD (the old RESULT is counted
 * as received in the new epoch), NOREASK (step 4 is left out).
 */
#ifndef N
#define N 3
#endif
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef GOSSIP
#define GOSSIP 1
#endif
#define BIT(r) (1 << (r))
#define HAS(set, r) ((set) & BIT(r))
#define EVERYONE ((1 << N) - 1)

hidden byte QUIET; /* for SPIN's message when the assertion fails */

byte busy = EVERYONE;
byte owes;                  /* ranks with an announcement to make */
byte messages = MESSAGES;   /* yet to be sent */
byte gossip = GOSSIP;
byte sent[N], received[N];
byte coming[N];             /* messages under way to r */
byte news[N];               /* announcements under way to r */

/* With OLDRESULT. */
bit oldResult;              /* the RESULT of the old epoch is under way to rank 1 */
byte reask;                 /* 1: MOTION to 0, 2: DECISION to 2, 3: RESULT to 1 is under way */

/* The coordinator. */
byte round;                 /* 0: none */
byte answered;
bit passive;                /* all that answered were */
byte s1, r1, s2, r2;

hidden byte i;

#ifdef GOSSIPUNCOUNTED
#define COUNTED 0
#else
#define COUNTED 1
#endif
#ifdef FLAGSONLY
#define SAME(a, b) true
#else
#define SAME(a, b) ((a) == (b))
#endif
#ifdef LATEGOSSIP
#define MAY_REST(r) true
#define MAY_ANNOUNCE(r) true
#else
#define MAY_REST(r) (!HAS(owes, r))
#define MAY_ANNOUNCE(r) HAS(busy, r)
#endif

#ifdef NOREASK
#define IS_NEWS true
#else
#define IS_NEWS reask
#endif

#define SEND(d) \
    :: d_step { (d) < N && (d) != r && HAS(busy, r) && messages -> \
        messages--; sent[r]++; coming[d]++ }

inline announce()
{
    owes = owes & ~BIT(r);
    sent[r] = sent[r] + COUNTED * (N - 1);
    for (i : 0 .. N - 1) {
        news[i] = news[i] + (i != r -> 1 : 0)
    }
    i = 0
}

inline forget_round()
{
    round = 0; answered = 0; passive = 0; s1 = 0; r1 = 0; s2 = 0; r2 = 0
}

proctype rank(byte r)
{
end:
    do
    SEND(0) SEND(1) SEND(2)
    :: d_step { HAS(busy, r) && gossip && !HAS(owes, r) -> gossip--; owes = owes | BIT(r) }
    :: d_step { HAS(owes, r) && MAY_ANNOUNCE(r) -> announce() }
    :: d_step { HAS(busy, r) && MAY_REST(r) -> busy = busy & ~BIT(r) }
    :: d_step { coming[r] -> coming[r]--; received[r]++; busy = busy | BIT(r) }
    :: d_step { news[r] ->
        news[r]--;
        received[r] = received[r] + COUNTED;
        busy = busy | BIT(r) }
    :: d_step { round && !HAS(answered, r) ->
        answered = answered | BIT(r);
        passive = passive && !HAS(busy, r);
        if
        :: round == 1 -> s1 = s1 + sent[r]; r1 = r1 + received[r]
        :: else -> s2 = s2 + sent[r]; r2 = r2 + received[r]
        fi }
#ifdef OLDRESULT
    :: d_step { r == 1 && oldResult ->
        oldResult = 0;
#ifdef COUNTOLD
        received[1]++;
#endif
        busy = busy | (IS_NEWS -> BIT(1) : 0) } /* else it is a duplicate */
    :: d_step { r == 0 && reask == 1 -> received[0]++; sent[0]++; reask = 2 }
    :: d_step { r == 2 && reask == 2 -> received[2]++; sent[2]++; reask = 3 }
    :: d_step { r == 1 && reask == 3 ->
        received[1]++; reask = 0; oldResult = 0; busy = busy | BIT(1) }
#endif
    od
}

inline declare_quiet()
{
    assert(QUIET || (busy == 0 && reask == 0 && !(oldResult && IS_NEWS)));
    for (i : 0 .. N - 1) {
        assert(QUIET || (coming[i] == 0 && news[i] == 0))
    }
    i = 0
}

init
{
    d_step {
        skip;
#ifdef OLDRESULT
        oldResult = 1;
#ifdef NOREASK
        busy = busy & ~BIT(1)
#else
        sent[1] = 1; reask = 1
#endif
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
    :: d_step { round == 0 && !HAS(busy, 0) -> round = 1; passive = 1 }
    :: d_step { round == 1 && answered == EVERYONE ->
        if
        :: passive && SAME(s1, r1) ->
#ifdef ONEPOLL
            declare_quiet(); forget_round()
#else
            round = 2; answered = 0
#endif
        :: else -> forget_round()
        fi }
    :: d_step { round == 2 && answered == EVERYONE ->
        if
        :: passive && SAME(s2, r2) && SAME(s1, s2) -> declare_quiet()
        :: else
        fi;
        forget_round() }
    od
}
