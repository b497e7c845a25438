/* wire_samples.h - one message of each type, at three levels of everything.
 *
 * LEAST has what the type cannot do without, TYPICAL a bit of each field, MOST every
 * field at its limit.  message_same() compares field by field, through the pointers.
 * What samples borrow is static and made by samples_init().
 */
#ifndef TESTS_UNIT_WIRE_SAMPLES_H
#define TESTS_UNIT_WIRE_SAMPLES_H

#include "hashing/array_spread.h"
#include "hashing/identity.h"
#include "proto/limits.h"
#include "proto/moot_error.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

enum level { LEAST, TYPICAL, MOST, LEVELS };

static const uint64_t sample_u64[LEVELS] = {0, UINT64_C(1234567890123), UINT64_MAX};
static const uint32_t sample_u32[LEVELS] = {0, 300, UINT32_MAX};
static const int32_t sample_i32[LEVELS] = {0, -7, INT32_MIN};
static const uint32_t sample_rank[LEVELS] = {0, 70, LIMIT_RANKS - 1};
static const uint32_t sample_lane[LEVELS] = {0, 2, LIMIT_LANES - 1};
static const uint64_t sample_first[LEVELS] = {1, 257, UINT64_MAX - LIMIT_ROLL_HASHES};
static const uint32_t sample_count[LEVELS] = {0, 3, LIMIT_ROLL_HASHES};

static struct {
    moot_hash hashes[LIMIT_ROLL_HASHES];
    const char *sites[LIMIT_ROLL_HASHES];
    struct message_asker askers[LIMIT_ASKERS];
    unsigned char args[LIMIT_ARGS_BYTES];
    unsigned char payload[LIMIT_EAGER_BYTES];
    char name[LEVELS][LIMIT_KERNEL_NAME_BYTES + 1];
    char label[LIMIT_LABEL_BYTES + 1];
    char site[LIMIT_SITE_BYTES + 1];
    struct rankset sets[LEVELS];
    struct rankset left; /* in none of the smaller ones */
    struct message_spec specs[LEVELS], array_spec;
    struct message_map maps[LIMIT_ARRAY_INPUTS];
    struct message_newcomer newcomers[LIMIT_NEWCOMERS];
    uint64_t places[LIMIT_LANES];
    struct message_past past[LEVELS][LIMIT_PAST_VIEWS];
    struct message_loss losses[LEVELS][LIMIT_LOSSES];
    struct message_view views[LEVELS];
    struct message_entry entries[LIMIT_REPORT_ENTRIES];
    struct message_counted counted[LIMIT_CENSUS_ENTRIES];
    struct message_signature signatures[LIMIT_SIGNATURES];
    struct message_signatures signature_lists[LEVELS];
    struct range ranges[LIMIT_ELEMENT_RANGES];
    struct message_part parts[LIMIT_ELEMENT_PARTS];
} samples;

/* Every second one has its bytes: few the first of them, and all as many as they may.
 */
static void samples_init_parts(void)
{
    enum { EACH = 2 * LIMIT_ELEMENT_PARTS_BYTES / LIMIT_ELEMENT_PARTS, FIRST = 5 };
    for (uint32_t i = 0; i < LIMIT_ELEMENT_PARTS; i++) {
        struct message_part *part = &samples.parts[i];
        part->place = UINT64_C(3) * i + i % 3;
        part->state = i % 2 == 0   ? PART_BYTES
                      : i % 4 == 1 ? PART_LARGE
                                   : PART_ELSEWHERE;
        part->size = i % 2 == 0 ? EACH : i % 4 == 1 ? LIMIT_RESULT_BYTES : 0;
    }
    samples.parts[0].size = FIRST;
    samples.parts[LIMIT_ELEMENT_PARTS - 2].size = 2 * EACH - FIRST;
    samples.parts[LIMIT_ELEMENT_PARTS - 1].place = ARRAY_COUNT_MAX - 1;
}

static void samples_init_signatures(void)
{
    for (uint32_t i = 0; i < LIMIT_ELEMENT_RANGES; i++) {
        samples.ranges[i] = (struct range){10u * i, 10u * i + 1 + i % 9};
    }
    samples.ranges[LIMIT_ELEMENT_RANGES - 1].end = ARRAY_COUNT_MAX;
    static const uint32_t count[LEVELS] = {1, 3, LIMIT_SIGNATURES};
    for (uint32_t i = 0; i < LIMIT_SIGNATURES; i++) {
        samples.signatures[i] = (struct message_signature){
            .step = i % 2 == 0 ? i : UINT64_MAX >> 1, .asks = i % 3 == 1};
        memset(samples.signatures[i].hash.bytes, (int)i, sizeof(moot_hash));
    }
    for (int level = LEAST; level < LEVELS; level++) {
        samples.signature_lists[level] =
            (struct message_signatures){count[level], samples.signatures};
    }
}

static void samples_init_specs(void)
{
    static const size_t args_size[LEVELS] = {0, 9, LIMIT_ARGS_BYTES};
    static const size_t inputs[LEVELS] = {0, 3, LIMIT_INPUTS};
    static const size_t after[LEVELS] = {0, 1, LIMIT_INPUTS};
    static const size_t key_size[LEVELS] = {0, 0, LIMIT_KEY_BYTES};
    for (int level = LEAST; level < LEVELS; level++) {
        bool least = level == LEAST;
        samples.specs[level] = (struct message_spec){
            .kernel_name = samples.name[level],
            .kernel_version = sample_u32[level],
            .flags = sample_u32[level],
            .args = least ? NULL : samples.args,
            .args_size = args_size[level],
            .inputs = least ? NULL : samples.hashes,
            .input_count = inputs[level],
            .after_count = after[level],
            .key = least ? NULL : samples.args, /* TYPICAL: an empty key */
            .key_size = key_size[level],
            .candidates = least ? NULL : &samples.sets[level],
            .scope = least ? (moot_hash){{0}} : samples.hashes[1],
            .parent = least ? (moot_hash){{0}} : samples.hashes[2],
            .priority = sample_i32[level],
            .label = least           ? NULL
                     : level == MOST ? samples.label
                                     : "label",
            .site = least           ? NULL
                    : level == MOST ? samples.site
                                    : "main.c:12",
        };
    }
}

/* The spec of an array with three inputs: a single task's result, and those of two
 * maps. */
static void samples_init_array_spec(void)
{
    samples.array_spec = samples.specs[TYPICAL];
    samples.array_spec.after_count = samples.array_spec.input_count;
    samples.array_spec.count = ARRAY_COUNT_MAX;
    samples.array_spec.block = 3;
    samples.array_spec.spread = ARRAY_SPREAD_CYCLIC;
    samples.array_spec.maps = samples.maps;
    samples.array_spec.bound = true;
    samples.maps[1] = (struct message_map){.name = "same"};
    samples.maps[2] = (struct message_map){samples.name[TYPICAL], 7, samples.args, 24};
}

/* The past of TYPICAL has sets of one word and of several, that of MOST all ranks in
 * all epochs up to the last. */
static void samples_init_views(void)
{
    static const uint32_t newcomers[LEVELS] = {0, 2, LIMIT_NEWCOMERS};
    static const uint32_t history[LEVELS] = {1, 3, LIMIT_PAST_VIEWS};
    static const uint32_t losses[LEVELS] = {0, 2, LIMIT_LOSSES / 8};
    for (uint32_t i = 0; i < LIMIT_LANES; i++) {
        samples.places[i] = i == 1 ? LIMIT_ROLL_BEGINS : 500u * i;
    }
    for (uint32_t i = 0; i < LIMIT_NEWCOMERS; i++) {
        samples.newcomers[i] = (struct message_newcomer){
            .rank = i == LIMIT_NEWCOMERS - 1 ? LIMIT_RANKS - 1 : 200 * i,
            .host = sample_u32[i % LEVELS],
            .uid = UINT64_MAX - i,
            .lanes = i % 3 == 1 ? i % LIMIT_LANES : 0,
            .places = samples.places};
    }
    for (int level = LEAST; level < LEVELS; level++) {
        uint64_t epoch = level == MOST ? UINT64_MAX : history[level] + 1;
        for (uint32_t i = 0; i < history[level]; i++) {
            samples.past[level][i] = (struct message_past){
                .epoch = epoch - history[level] + i,
                .members = &samples.sets[i == 1 && level == TYPICAL ? LEAST : level]};
        }
        for (uint32_t i = 0; i < losses[level]; i++) {
            samples.losses[level][i] = (struct message_loss){
                .epoch = epoch - 1 - i,
                .before = &samples.sets[level],
                .after = &samples.sets[i == 0 && level == TYPICAL ? LEAST : level]};
        }
        samples.views[level] = (struct message_view){
            .epoch = epoch,
            .members = &samples.sets[level],
            .left = level == TYPICAL ? &samples.left : NULL,
            .newcomers = newcomers[level],
            .newcomer = level == LEAST ? NULL : samples.newcomers,
            .history = history[level],
            .past = samples.past[level],
            .losses = losses[level],
            .loss = samples.losses[level],
            .losses_cut = level == LEAST,
            .reload = {level == MOST ? UINT32_MAX : 0,
                       level == MOST ? LIMIT_MEETINGS : 0,
                       level == MOST ? samples.hashes[0] : (moot_hash){{0}}},
        };
    }
    for (uint32_t i = 0; i < LIMIT_REPORT_ENTRIES; i++) {
        samples.entries[i] = (struct message_entry){
            .hash = digest_bytes(&i, sizeof(i)),
            .what = (enum report_what)(i % (REPORT_VERDICT + 1)),
            .owner = LIMIT_RANKS - 1 - i,
            .epoch = UINT64_MAX - i,
            .has_payload = i % 2 == 0,
            .evidence = (enum evidence)(i % EVIDENCE_END),
            .age_ns = UINT64_MAX - i,
        };
        if (samples.entries[i].what == REPORT_VERDICT) {
            samples.entries[i].code = MOOT_ERR_NOT_HELD;
        } else if (samples.entries[i].what == REPORT_RESULT && i % 4 == 0) {
            samples.entries[i].code = MOOT_ERR_TASK_FAILED;
        }
    }
    for (uint32_t i = 0; i < LIMIT_CENSUS_ENTRIES; i++) {
        samples.counted[i] = (struct message_counted){
            .hash = digest_bytes(&i, sizeof(i)),
            .witness = LIMIT_RANKS - 1 - i,
            .holders = LIMIT_RANKS - i,
            .claimed = i % 2 == 0,
        };
    }
}

static void samples_init(void)
{
    static const char *const sites[] = {"", "a.c:1", samples.site};
    for (uint32_t i = 0; i < LIMIT_ROLL_HASHES; i++) {
        samples.hashes[i] = digest_bytes(&i, sizeof(i));
        samples.sites[i] = sites[i % 3];
    }
    for (uint32_t i = 0; i < LIMIT_ASKERS; i++) {
        samples.askers[i] = (struct message_asker){
            .rank = i, .want = (enum want)(i % 3), .need = sample_u64[i / 3 % LEVELS]};
    }
    for (size_t i = 0; i < sizeof(samples.args); i++) {
        samples.args[i] = (unsigned char)(i * 7 + i / 256);
    }
    memcpy(samples.payload, samples.args, sizeof(samples.payload));
    samples.name[LEAST][0] = 'k';
    memcpy(samples.name[TYPICAL], "square", sizeof("square"));
    memset(samples.name[MOST], 'n', LIMIT_KERNEL_NAME_BYTES);
    memset(samples.label, 'l', LIMIT_LABEL_BYTES);
    memset(samples.site, 's', LIMIT_SITE_BYTES);
    rankset_add(&samples.sets[LEAST], 0);
    rankset_add(&samples.left, 77);
    rankset_add(&samples.sets[TYPICAL], 1);
    rankset_add(&samples.sets[TYPICAL], 200);
    for (uint32_t rank = 0; rank < LIMIT_RANKS; rank++) {
        rankset_add(&samples.sets[MOST], rank);
    }
    samples_init_specs();
    samples_init_array_spec();
    samples_init_signatures();
    samples_init_parts();
    samples_init_views();
}

static void samples_free(void)
{
    for (int level = LEAST; level < LEVELS; level++) {
        rankset_release(&samples.sets[level]);
    }
}

static void sample_motion(enum level level, struct message_motion *motion)
{
    bool set = level != LEAST;
    *motion = (struct message_motion){
        .holds = set,
        .hint = set,
        .final = level == MOST,
        .want = (enum want)level,
        .need = sample_u64[level],
        .priority = sample_i32[level],
        .wait = sample_u64[level],
        .len = sample_u64[level],
        .scope = set ? samples.hashes[3] : (moot_hash){{0}},
        .candidates = set ? &samples.sets[level] : NULL,
        .spec = set ? &samples.specs[level] : NULL,
    };
}

static void sample_result(enum level level, struct message_result *result)
{
    static const uint64_t sizes[LEVELS] = {0, 13, LIMIT_RESULT_BYTES};
    *result = (struct message_result){
        .owner_uid = sample_u64[level],
        .evidence = level == LEAST ? EVIDENCE_NONE : EVIDENCE_QUIET,
        .status = level == TYPICAL ? MOOT_ERR_TASK_FAILED : MOOT_OK,
        .data = (enum result_data)level, /* BARE, EAGER, BULK */
        .size = sizes[level],
        .payload = level == TYPICAL ? samples.payload : NULL,
        .handover = level != LEAST,
        .digest = sample_u64[level],
        .at = level == LEAST ? LIMIT_RANKS : 0,
        .away = level == LEAST,
        .part = level == MOST ? LIMIT_PARTS : 0,
        .parts = level == MOST ? LIMIT_PARTS : 0,
    };
}

static void sample_state(enum level level, struct message_state *state)
{
    static const uint32_t lanes[LEVELS] = {0, 2, LIMIT_LANES};
    bool set = level != LEAST;
    *state = (struct message_state){
        .blocked = set,
        .closed = level == MOST,
        .passive = set,
        .waiting = set,
        .lanes = lanes[level],
        .len = sample_u64[level],
        .need = sample_u64[level],
        .load = sample_u32[level],
        .site = !set            ? NULL
                : level == MOST ? samples.site
                                : "main.c:40",
    };
}

static struct message_orphan sample_orphan(enum level level)
{
    return (struct message_orphan){(enum orphan_standing)level, sample_u64[level],
                                   sample_rank[level], sample_u64[level]};
}

static void sample_pollr(enum level level, struct message_pollr *pollr)
{
    bool set = level != LEAST;
    *pollr = (struct message_pollr){
        .round = sample_u64[level],
        .passive = set,
        .resting = set,
        .closed = set,
        .waits = set,
        .orphan = set,
        .undecided = set,
        .stuck = set,
        .sent = sample_u64[level],
        .received = sample_u64[level],
        .least = sample_orphan(level),
        .undecided_hash = set ? samples.hashes[4] : (moot_hash){{0}},
        .stuck_hash = set ? samples.hashes[5] : (moot_hash){{0}},
        .exit_code = sample_i32[level],
    };
}

static void sample_diverged(enum level level, struct message_diverged *diverged)
{
    static const uint32_t sides[LEVELS] = {1, 2, 4};
    *diverged = (struct message_diverged){.lane = sample_lane[level],
                                          .position = sample_first[level],
                                          .sides = sides[level]};
    for (uint32_t i = 0; i < diverged->sides; i++) {
        diverged->side[i].hash = i == 0 ? (moot_hash){{0}} : samples.hashes[i];
        diverged->side[i].site = level == MOST ? samples.site : NULL;
        diverged->side[i].ranks = &samples.sets[level];
    }
}

static void sample_paxos(enum message_type type, enum level level,
                         struct message_paxos *paxos)
{
    static const uint64_t ballots[LEVELS] = {
        UINT64_C(1) << BALLOT_RANK_BITS, UINT64_C(7) << BALLOT_RANK_BITS | 300,
        UINT64_MAX << BALLOT_RANK_BITS | (LIMIT_RANKS - 1)};
    bool accepted = type == MESSAGE_PROMISE && level != LEAST;
    bool heard = type == MESSAGE_REJECT && level != LEAST;
    *paxos = (struct message_paxos){
        .ballot = ballots[level],
        .accepted = accepted ? ballots[level] - 1 : 0,
        .dead = level == LEAST ? NULL : &samples.sets[level],
        .heard = heard ? &samples.sets[level] : NULL,
        .value = accepted || type == MESSAGE_PROPOSE ? &samples.views[level] : NULL,
    };
}

/* Those of the view layer. */
static void sample_view_message(enum message_type type, enum level level,
                                struct message *m)
{
    static const uint32_t lot[LEVELS] = {0, 3, LIMIT_LOT_HASHES};
    static const uint32_t entries[LEVELS] = {0, 5, LIMIT_REPORT_ENTRIES};
    if (type == MESSAGE_HEARTBEAT) {
        m->u.heartbeat = (struct message_heartbeat){
            sample_u64[level],
            sample_u32[level],
            level == LEAST ? NULL : &samples.sets[level],
            level == LEAST ? NULL : &samples.sets[TYPICAL],
            sample_u64[level],
            sample_u64[level],
            level == LEAST ? NULL : &samples.signature_lists[level]};
    } else if (type == MESSAGE_GRANT) {
        m->u.grant = (struct message_grant){sample_u64[level], sample_u64[level],
                                            level == LEAST ? (moot_hash){{0}}
                                                           : samples.hashes[level]};
    } else if (type == MESSAGE_SIGNATURE) {
        m->u.signatures = samples.signature_lists[level];
    } else if (type >= MESSAGE_PREPARE && type <= MESSAGE_REJECT) {
        sample_paxos(type, level, &m->u.paxos);
    } else if (type == MESSAGE_VIEW) {
        m->u.view = samples.views[level];
    } else if (type == MESSAGE_LEAVE) {
        m->u.leave.what = (enum leave_what)(level * LEAVE_READY / MOST);
    } else if (type == MESSAGE_REPORT || type == MESSAGE_HANDOVER) {
        m->u.report = (struct message_report){level != TYPICAL, entries[level],
                                              level == LEAST ? NULL : samples.entries};
    } else if (type == MESSAGE_FENCED) {
        m->u.fenced = (struct message_fenced){sample_first[level], level != LEAST};
    } else if (type == MESSAGE_CENSUS) {
        m->u.census = (struct message_census){
            level == TYPICAL,  level != TYPICAL,
            level == MOST,     sample_rank[level],
            sample_u64[level], {~sample_u64[level], 7},
            entries[level],    level == LEAST ? NULL : samples.counted};
    } else if (type == MESSAGE_JOIN) {
        m->u.join = (struct message_join){sample_first[level], sample_u32[level],
                                          (uint32_t)level * (LIMIT_RANKS - 1) / MOST};
    } else if (type == MESSAGE_MEET) {
        m->u.meet =
            (struct message_meet){(enum meet_what)(level * MEET_ALL / MOST),
                                  level == MOST ? LIMIT_MEETINGS : level + 1u,
                                  level == MOST ? MOOT_ERR_STATE : MOOT_OK,
                                  level == LEAST ? NULL : &samples.sets[level],
                                  level == LEAST ? NULL : "\3\0\0\0yes",
                                  level == LEAST ? 0 : 7,
                                  level == MOST ? UINT32_MAX : 0,
                                  level == MOST ? samples.hashes[0] : (moot_hash){{0}}};
    } else if (type == MESSAGE_LOT) {
        m->u.lot = (struct message_lot){(enum lot_what)(level * (LOT_END - 1) / MOST),
                                        sample_u64[level], samples.hashes, lot[level],
                                        level == TYPICAL ? 1 : lot[level] / 2};
    } else if (type == MESSAGE_ELEMENTS) {
        m->hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
        m->u.elements = (struct message_elements){
            .what = (enum elements_what)(level == LEAST  ? ELEMENTS_OWNED
                                         : level == MOST ? ELEMENTS_END - 1
                                                         : ELEMENTS_WANTED),
            .spec = level == TYPICAL ? &samples.array_spec : NULL,
            .count = level == LEAST ? 1 : ARRAY_COUNT_MAX,
            .block = level == TYPICAL ? 3 : 0,
            .kind = level == TYPICAL ? ARRAY_SPREAD_CYCLIC
                    : level == MOST  ? ARRAY_SPREAD_HASHED
                                     : ARRAY_SPREAD_BLOCK,
            .homes = level == MOST ? LIMIT_RANKS : level + 1u,
            .range_count = level == LEAST  ? 0
                           : level == MOST ? LIMIT_ELEMENT_RANGES
                                           : 2,
            .ranges = level == LEAST ? NULL : samples.ranges,
            .failed = level == LEAST ? 0 : ARRAY_COUNT_MAX,
            .status = level == LEAST ? 0 : sample_i32[level],
            .need = sample_u64[level],
            .quiet = level == MOST,
            .tell = level == MOST,
            .ranks = level == MOST ? &samples.sets[MOST] : NULL,
            .bound = level == MOST,
        };
    } else if (type == MESSAGE_PARTS) {
        m->hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
        m->u.parts = (struct message_parts){
            .input = level == MOST ? LIMIT_INPUTS - 1 : level,
            .count = level == LEAST ? 1 : ARRAY_COUNT_MAX,
            .homes = level == MOST ? LIMIT_RANKS : level + 1u,
            .part_count = level == LEAST  ? 0
                          : level == MOST ? LIMIT_ELEMENT_PARTS
                                          : 2,
            .parts = level == LEAST ? NULL : samples.parts,
            .bytes = level == LEAST ? NULL : samples.args,
            .byte_count = level == LEAST  ? 0
                          : level == MOST ? LIMIT_ELEMENT_PARTS_BYTES
                                          : (size_t)samples.parts[0].size,
            .seek = sample_u64[level],
        };
        if (level == LEAST) { /* a wish */
            m->u.parts.of = m->hash;
        }
    } else if (type == MESSAGE_SNAPSHOT) {
        const bool named = level != TYPICAL; /* a PREPARED has no name */
        m->u.snapshot = (struct message_snapshot){
            .what = (enum snapshot_what)((int)level == MOST ? SNAPSHOT_DONE
                                                            : (int)level * 2),
            .number = level,
            .name = named ? samples.label : NULL,
            .name_size = named ? (level == MOST ? LIMIT_LABEL_BYTES : 1) : 0,
            .status = level == MOST ? MOOT_ERR_LIMIT : MOOT_OK,
            .rank = sample_rank[level],
            .digest = {(unsigned char)level},
            .records = sample_u64[level],
            .bytes = ~sample_u64[level]};
    } else if (type == MESSAGE_TALLY) {
        m->u.tally.what = level == LEAST ? TALLY_TAKEN : TALLY_SETTLED;
    } else if (type == MESSAGE_RELEASED) {
        m->u.released = (struct message_released){
            .what = (enum released_what)(level * RELEASED_DROP / MOST),
            .rests = level == TYPICAL,
            .ready = level != LEAST,
            .swept = level == MOST,
            .alike = level == TYPICAL,
            .round = sample_u64[level],
            .count = sample_u64[level],
            .sum = {sample_u64[level], ~sample_u64[level]},
            .sent = sample_u64[level],
            .received = sample_u64[level],
        };
    }
}

/* Epoch and view stay 0. */
static void sample_message(enum message_type type, enum level level,
                           struct message *out)
{
    static const size_t askers[LEVELS] = {0, 5, LIMIT_ASKERS};
    static const uint32_t hops[LEVELS] = {0, 2, LIMIT_CHASE_HOPS};
    static const uint32_t children[LEVELS] = {1, 3, LIMIT_FAMILY_HASHES};
    static const size_t build_bytes[LEVELS] = {0, 20, LIMIT_BUILD_BYTES};
    static const uint32_t asked[LEVELS] = {0, 2, LIMIT_INQUIRY_HASHES};
    static const uint32_t told[LEVELS] = {1, 90, LIMIT_ACCOUNT_BYTES};
    static const int32_t codes[LEVELS] = {MOOT_ERR_INVALID, MOOT_ERR_NOT_HELD,
                                          MOOT_ERR_UNSUPPORTED};
    struct message m = {.type = type, .hash = samples.hashes[0]};
    if (type == MESSAGE_MOTION) {
        sample_motion(level, &m.u.motion);
        m.hash.bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_ARRAY; /* its spec */
    } else if (type == MESSAGE_DECISION) {
        m.u.decision =
            (struct message_decision){(enum evidence)(level * (EVIDENCE_END - 1) / 2),
                                      samples.askers,
                                      askers[level],
                                      level == MOST ? LIMIT_RANKS : sample_rank[level],
                                      sample_i32[level],
                                      level == MOST,
                                      level == MOST};
    } else if (type == MESSAGE_RESULT) {
        sample_result(level, &m.u.result);
    } else if (type == MESSAGE_REFER) {
        m.u.refer.candidates = &samples.sets[level];
    } else if (type == MESSAGE_ACCEPT) {
        m.u.accept = (struct message_accept){level == LEAST, sample_rank[level],
                                             sample_u64[level]};
    } else if (type == MESSAGE_CANCEL) {
        m.u.cancel.by = sample_rank[level];
    } else if (type == MESSAGE_VERDICT) {
        m.u.verdict = (struct message_verdict){codes[level], (enum verdict_what)level,
                                               sample_rank[level], sample_u64[level],
                                               sample_u64[level]};
    } else if (type == MESSAGE_ROLL) {
        m.u.roll = (struct message_roll){sample_lane[level],
                                         sample_first[level],
                                         sample_count[level],
                                         level == TYPICAL,
                                         {sample_u64[level], ~sample_u64[level]},
                                         sample_rank[level],
                                         sample_u64[level],
                                         level != LEAST};
    } else if (type == MESSAGE_ENDED) {
        m.u.ended = (struct message_ended){sample_lane[level],
                                           sample_first[level],
                                           level == LEAST ? 1 : sample_count[level],
                                           {sample_u64[level], ~sample_u64[level]}};
    } else if (type == MESSAGE_WANT) {
        m.u.want = (struct message_want){sample_lane[level], sample_first[level],
                                         sample_count[level]};
    } else if (type == MESSAGE_HASHES) {
        m.u.hashes = (struct message_hashes){
            sample_lane[level], sample_first[level], samples.hashes,
            level == LEAST ? NULL : samples.sites, sample_count[level]};
    } else if (type == MESSAGE_STATE) {
        sample_state(level, &m.u.state);
    } else if (type == MESSAGE_POLL) {
        m.u.poll.round = sample_u64[level];
    } else if (type == MESSAGE_POLLR) {
        sample_pollr(level, &m.u.pollr);
    } else if (type == MESSAGE_RESOLVE) {
        m.u.resolve.orphan = sample_orphan(level);
        m.u.resolve.what = level == LEAST  ? RESOLVE_NOT_HELD
                           : level == MOST ? RESOLVE_TELL
                                           : RESOLVE_YIELD;
    } else if (type == MESSAGE_CHASE) {
        m.u.chase = (struct message_chase){
            samples.hashes, hops[level], sample_u64[level],
            level == MOST ? samples.hashes[1] : (moot_hash){{0}}};
    } else if (type == MESSAGE_FAMILY) {
        m.u.family = (struct message_family){level == MOST ? LIMIT_TASKS : level,
                                             samples.hashes, children[level]};
    } else if (type == MESSAGE_DIVERGED) {
        sample_diverged(level, &m.u.diverged);
    } else if (type == MESSAGE_ADJOURN) {
        m.u.adjourn.exit_code = sample_i32[level];
        m.u.adjourn.what = level == MOST ? ADJOURN_OVER : ADJOURN_ALL;
    } else if (type == MESSAGE_KERNEL) {
        m.u.kernel = (struct message_kernel){samples.name[level],
                                             sample_u32[level],
                                             sample_u32[level],
                                             level == MOST ? sample_u32[level] : 0,
                                             level == LEAST ? NULL : samples.label,
                                             build_bytes[level]};
    } else if (type == MESSAGE_INQUIRY) {
        m.u.inquiry =
            (struct message_inquiry){sample_u64[level], samples.hashes, asked[level]};
    } else if (type == MESSAGE_ACCOUNT) {
        m.u.account =
            (struct message_account){sample_u64[level], samples.args, told[level]};
    } else {
        sample_view_message(type, level, &m);
    }
    m.cut = level == MOST ? UINT32_MAX : 0; /* of any type */
    *out = m;
}

#endif
