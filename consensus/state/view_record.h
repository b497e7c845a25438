/* view_record.h - what a core keeps of views: past, present, and the one to be agreed
 * on. */
#ifndef CONSENSUS_STATE_VIEW_RECORD_H
#define CONSENSUS_STATE_VIEW_RECORD_H

#include "hashing/rankset.h"
#include "proto/message.h"

/* A view of the past. */
struct past {
    uint64_t epoch;
    struct rankset members;
};

/* Members of a view that were in none that followed before one settled. */
struct loss {
    uint64_t epoch; /* of the view */
    struct rankset before, after;
};

/* The value of one slot of the membership. */
struct view {
    uint64_t epoch;
    struct rankset members;
    struct past *past; /* views since the last that all its members had settled */
    uint32_t past_count;
    struct message_newcomer *newcomers;
    uint32_t newcomer_count;
    struct rankset left; /* ranks that left earlier views in good order */
    struct loss *losses; /* what a newcomer is told; of a joinable moot */
    uint32_t loss_count;
    bool losses_cut; /* there were too many to be told */
    struct message_reload reload;
};
/* This rank drains and goes (leave.c). */
struct leave {
    bool going;
    bool returned;     /* what it had not started, in some view (give_all_back) */
    bool told;         /* the members of this view know */
    bool accepts_told; /* what it accepted as a voter is handed over */
    bool ready;        /* nothing is left to hand over: it does no more */
    uint64_t untaken;  /* acceptances that heirs have not said that they have */
};

enum paxos_phase { PAXOS_IDLE, PAXOS_PREPARING, PAXOS_PROPOSING };

/* The slot of the next view (view_paxos.c). */
struct paxos {
    uint64_t promised, accepted; /* as acceptor: ballots */
    struct view value;           /* accepted */
    uint64_t pending_ballot;     /* proposed to us, not voted for yet; 0: none */
    uint64_t pending_due_ns;
    uint32_t pending_from;
    bool
        pending_adopted; /* it was accepted before: no suspicion of our own is needed */
    struct view pending;
    enum paxos_phase phase; /* as proposer */
    uint64_t round, ballot;
    uint64_t best; /* ballot of the proposal if it is an accepted value; 0: our own */
    struct rankset backed; /* whose proposals of somebody new this rank has accepted */
    bool somebody_is_free; /* a promise of this ballot says that nothing was accepted */
    struct view proposal;
    struct rankset voices; /* promises or votes */
    struct rankset listed; /* certified dead in this ballot's messages */
    uint64_t cause_since_ns, next_try_ns, give_up_ns;
    struct message_newcomer *joiners;
    uint32_t joiner_count, joiner_room;
};

/* How far the members of a large view have come, as seen from one place in the tree. */
struct barrier_count {
    bool mine, passed; /* this rank has; it has said so to its parent, or is the root */
    uint32_t below;    /* a bit per child: everyone below it has */
};

struct view_barrier {
    uint32_t untaken; /* chairs that have not said that this rank's report is there */
    bool all_settled;
    struct barrier_count counts[TALLY_END];
};

#endif
