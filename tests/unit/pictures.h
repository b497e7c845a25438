/* pictures.h - what ranks say of themselves, made by hand.
 *
 * A kit is a job of some ranks: each has an account, with one lane that is in a wait
 * and nothing else.  A scene adds waits, tasks, peers, and takes accounts away.  Tasks
 * are named by small numbers.
 */
#ifndef TESTS_UNIT_PICTURES_H
#define TESTS_UNIT_PICTURES_H

#include "consensus/core_view.h"
#include "node/explain/diagnosis.h"
#include "node/members/members.h"

#include <stdlib.h>
#include <string.h>

enum {
    KIT_RANKS = 4,
    KIT_TASKS = 40,
    KIT_WAITS = 40,
};

struct kit {
    struct picture picture;
    struct seat seats[KIT_RANKS];
    struct kit_rank {
        Moot__Account account;
        Moot__Account__Lane lane, *lanes[1];
        Moot__Account__Wait wait[KIT_WAITS], *waits[KIT_WAITS];
        Moot__Account__Task task[KIT_TASKS], *tasks[KIT_TASKS];
        Moot__Account__Peer peer[KIT_RANKS], *peers[KIT_RANKS];
        Moot__Account__Number number, *numbers[1];
        Moot__Account__Number figure, *figures[1];
    } ranks[KIT_RANKS];
    moot_hash hashes[KIT_TASKS];
    uint64_t sets[64];
    size_t set_count;
};

static inline ProtobufCBinaryData kit_text(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static inline ProtobufCBinaryData kit_hash(struct kit *kit, int task)
{
    moot_hash *hash = &kit->hashes[task];
    memset(hash, task + 1, sizeof(*hash));
    return (ProtobufCBinaryData){sizeof(*hash), hash->bytes};
}

/* A set of ranks, as bits. */
static inline ProtobufCBinaryData kit_ranks(struct kit *kit, uint64_t ranks)
{
    uint64_t *set = &kit->sets[kit->set_count++];
    *set = ranks;
    return (ProtobufCBinaryData){sizeof(*set), (uint8_t *)set};
}

static inline struct kit *kit_new(uint32_t size)
{
    struct kit *kit = calloc(1, sizeof(*kit));
    kit->picture = (struct picture){.rank = 0, .size = size, .seats = kit->seats};
    for (uint32_t rank = 0; rank < size; rank++) {
        struct kit_rank *at = &kit->ranks[rank];
        kit->seats[rank].account = &at->account;
        moot__account__init(&at->account);
        moot__account__lane__init(&at->lane);
        at->lane.state = CORE_LANE_BLOCKED;
        at->lanes[0] = &at->lane;
        at->account.rank = rank;
        at->account.size = size;
        at->account.lease = at->account.helper = true;
        at->account.stall_ns = UINT64_C(10000000000);
        at->account.members = kit_ranks(kit, (1u << size) - 1);
        at->account.lanes = at->lanes;
        at->account.n_lanes = 1;
        at->account.waits = at->waits;
        at->account.tasks = at->tasks;
        at->account.peers = at->peers;
        moot__account__number__init(&at->number);
        at->number = (Moot__Account__Number){
            .base = at->number.base, .name = kit_text("suspect"), .value = 7000000};
        at->numbers[0] = &at->number;
        at->account.timers = at->numbers;
        at->account.n_timers = 1;
        moot__account__number__init(&at->figure);
        at->figure.name = kit_text("tasks_forgotten");
        at->figures[0] = &at->figure;
        at->account.figures = at->figures;
        at->account.n_figures = 1;
    }
    return kit;
}

/* Its program waits for the task; change what is returned for a kernel's wait. */
static inline Moot__Account__Wait *kit_wait(struct kit *kit, uint32_t rank, int task)
{
    struct kit_rank *at = &kit->ranks[rank];
    size_t n = at->account.n_waits++;
    Moot__Account__Wait *wait = at->waits[n] = &at->wait[n];
    moot__account__wait__init(wait);
    wait->hash = kit_hash(kit, task);
    wait->count = 1;
    wait->since_ns = 1000000000;
    return wait;
}

/* What the rank says of the task: its chair is rank 1, and nobody owns it. */
static inline Moot__Account__Task *kit_task(struct kit *kit, uint32_t rank, int task)
{
    struct kit_rank *at = &kit->ranks[rank];
    for (size_t i = 0; i < at->account.n_tasks; i++) {
        if (at->task[i].hash.data == kit->hashes[task].bytes) {
            return &at->task[i];
        }
    }
    size_t n = at->account.n_tasks++;
    Moot__Account__Task *to = at->tasks[n] = &at->task[n];
    moot__account__task__init(to);
    to->hash = kit_hash(kit, task);
    to->kernel = kit_text("work");
    to->chair = 1;
    to->owner = PLACEMENT_NOBODY;
    return to;
}

/* The rank owns the task, all know that, and it is that far; what runs does so for
 * long.
 */
static inline Moot__Account__Task *kit_own(struct kit *kit, uint32_t owner, int task,
                                           enum core_own own, enum task_stage stage)
{
    for (uint32_t rank = 0; rank < kit->picture.size; rank++) {
        kit_task(kit, rank, task)->owner = owner;
    }
    Moot__Account__Task *to = kit_task(kit, owner, task);
    to->own = own;
    to->stage = stage;
    to->runs_ns = stage == TASK_RUNNING ? 2000000000 : 0;
    return to;
}

/* What the rank says of a peer. */
static inline Moot__Account__Peer *kit_peer(struct kit *kit, uint32_t rank, uint32_t of)
{
    struct kit_rank *at = &kit->ranks[rank];
    for (size_t i = 0; i < at->account.n_peers; i++) {
        if (at->peer[i].rank == of) {
            return &at->peer[i];
        }
    }
    size_t n = at->account.n_peers++;
    Moot__Account__Peer *peer = at->peers[n] = &at->peer[n];
    moot__account__peer__init(peer);
    peer->rank = of;
    peer->state = MEMBER_HERE;
    return peer;
}

/* Frames from the rank to another are sent again and again. */
static inline void kit_lose(struct kit *kit, uint32_t from, uint32_t to)
{
    kit_peer(kit, from, to)->backlog = 2;
    kit_peer(kit, from, to)->resent = 5;
}

/* It was asked and has given no answer. */
static inline void kit_silence(struct kit *kit, uint32_t rank)
{
    kit->seats[rank] = (struct seat){.asked_ns = 500000000};
}

#endif
