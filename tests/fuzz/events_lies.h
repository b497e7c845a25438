/* events_lies.h - the input of events_fuzz as a source of choices, and what a hostile
 * peer may say with them.
 *
 * Choices come from the input byte by byte; when it is over they are all 0.
 */
#ifndef TESTS_FUZZ_EVENTS_LIES_H
#define TESTS_FUZZ_EVENTS_LIES_H

#include "tests/fuzz/events_world.h"

/* --- The input -------------------------------------------------------------------- */

static struct {
    const unsigned char *data;
    size_t left;
} input;

static inline uint32_t draw(uint32_t below)
{
    if (input.left == 0) {
        return 0;
    }
    input.left--;
    return *input.data++ % below;
}

static inline uint64_t draw_word(void)
{
    static const uint64_t often[] = {0, 1, 2, UINT64_MAX, UINT32_MAX, 1 << 20};
    uint32_t kind = draw(16);
    return kind < 6 ? often[kind] : draw(256);
}

static inline bool draw_bool(void) { return draw(2) != 0; }

static struct rankset said_set;
static moot_hash said_hashes[2];

/* --- What it says ----------------------------------------------------------------- */

static inline struct message_orphan draw_orphan(void)
{
    return (struct message_orphan){(enum orphan_standing)draw(3), draw_word(),
                                   draw(world.size), draw_word()};
}

static inline const moot_hash *draw_hash(void)
{
    static const moot_hash stranger = {{1, 2, 3}};
    uint32_t task = draw(TASKS + 1);
    return task < TASKS ? &world.hashes[task] : &stranger;
}

static inline void say_of_tasks(struct message *message)
{
    static struct message_asker askers[2];
    switch ((int)message->type) {
    case MESSAGE_MOTION:
        message->u.motion = (struct message_motion){.holds = draw_bool(),
                                                    .hint = draw_bool(),
                                                    .final = draw_bool(),
                                                    .want = (enum want)draw(3),
                                                    .need = draw_word(),
                                                    .len = draw_word()};
        message->u.motion.candidates = draw(4) == 0 ? &said_set : NULL;
        break;
    case MESSAGE_DECISION:
        for (int i = 0; i < 2; i++) {
            askers[i] =
                (struct message_asker){draw(8), (enum want)draw(3), draw_word()};
        }
        message->u.decision = (struct message_decision){
            .evidence = (enum evidence)(1 + draw(EVIDENCE_END - 1)),
            .askers = askers,
            .asker_count = draw(3),
            .seen = draw_bool(),
            .alone = draw_bool()};
        break;
    case MESSAGE_RESULT:
        message->u.result = (struct message_result){
            .owner_uid = world.uids[draw(world.size)],
            .evidence = (enum evidence)(1 + draw(EVIDENCE_END - 1)),
            .status = draw_bool() ? MOOT_OK : MOOT_ERR_TASK_FAILED,
            .data = RESULT_BARE,
            .size = draw_word()};
        break;
    case MESSAGE_REFER:
        message->u.refer.candidates = &said_set;
        break;
    case MESSAGE_ACCEPT:
        message->u.accept.maybe = draw_bool();
        message->u.accept.winner = draw(world.size);
        message->u.accept.winner_uid = world.uids[message->u.accept.winner];
        break;
    case MESSAGE_CANCEL:
        message->u.cancel.by = draw(world.size);
        break;
    case MESSAGE_VERDICT:
        message->u.verdict = (struct message_verdict){
            MOOT_ERR_NOT_HELD, (enum verdict_what)draw(VERDICT_VOID + 1),
            draw(world.size), 1 + draw(3), draw_word()};
        break;
    case MESSAGE_RESOLVE:
        message->u.resolve.what = (enum resolve_what)draw(2);
        message->u.resolve.orphan = draw_orphan();
        break;
    case MESSAGE_CHASE:
        message->u.chase = (struct message_chase){said_hashes, draw(3)};
        message->u.chase.hops = message->u.chase.path_count;
        if (draw_bool()) {
            message->u.chase.hops = draw_word();
            message->u.chase.mark = said_hashes[0];
        }
        break;
    default:
        break;
    }
}

static inline void say_of_rolls(struct message *message)
{
    uint32_t lane = draw(4), count = draw(5);
    uint64_t first = 1 + draw_word() % 16;
    switch ((int)message->type) {
    case MESSAGE_ROLL:
        message->u.roll = (struct message_roll){
            .lane = lane, .first = first, .count = count, .partial = draw_bool()};
        message->u.roll.cut = draw_bool();
        message->u.roll.sum.low = draw_word();
        break;
    case MESSAGE_WANT:
        message->u.want = (struct message_want){lane, first, count};
        break;
    case MESSAGE_HASHES:
        message->u.hashes = (struct message_hashes){lane, first, said_hashes, NULL,
                                                    count < 2 ? count : 2};
        break;
    case MESSAGE_STATE:
        message->u.state = (struct message_state){.blocked = draw_bool(),
                                                  .closed = draw_bool(),
                                                  .passive = draw_bool(),
                                                  .waiting = draw_bool(),
                                                  .lanes = lane,
                                                  .len = draw_word(),
                                                  .need = draw_word(),
                                                  .load = draw(9)};
        break;
    case MESSAGE_POLL:
        message->u.poll.round = draw_word();
        break;
    case MESSAGE_POLLR:
        message->u.pollr = (struct message_pollr){.round = draw_word(),
                                                  .resting = draw_bool(),
                                                  .passive = draw_bool(),
                                                  .closed = draw_bool(),
                                                  .waits = draw_bool(),
                                                  .orphan = draw_bool(),
                                                  .undecided = draw_bool(),
                                                  .stuck = draw_bool(),
                                                  .sent = draw_word(),
                                                  .received = draw_word(),
                                                  .least = draw_orphan(),
                                                  .undecided_hash = *draw_hash(),
                                                  .stuck_hash = *draw_hash()};
        break;
    default:
        break;
    }
}

static inline void say_of_views(struct message *message, struct message_view *view)
{
    static struct message_past past;
    static struct message_newcomer newcomer;
    static struct message_entry entry;
    static struct rankset others;
    others.low = 1 + draw(31);
    past = (struct message_past){1 + draw(4), &others};
    newcomer = (struct message_newcomer){draw(8), 0, 1 + draw_word() % 1000};
    *view = (struct message_view){.epoch = past.epoch + 1 + draw(2),
                                  .members = &said_set,
                                  .newcomers = draw(2),
                                  .newcomer = &newcomer,
                                  .history = 1,
                                  .past = &past};
    switch ((int)message->type) {
    case MESSAGE_HEARTBEAT:
        message->u.heartbeat = (struct message_heartbeat){
            draw_word(), draw(4), draw_bool() ? &said_set : NULL};
        break;
    case MESSAGE_GRANT:
        message->u.grant.token = draw_word();
        break;
    case MESSAGE_PREPARE:
    case MESSAGE_PROMISE:
    case MESSAGE_PROPOSE:
    case MESSAGE_VOTED:
    case MESSAGE_REJECT:
        message->u.paxos = (struct message_paxos){
            .ballot = (uint64_t)(1 + draw(4)) << BALLOT_RANK_BITS | draw(world.size),
            .accepted = draw_bool() ? (uint64_t)1 << BALLOT_RANK_BITS | draw(4) : 0,
            .dead = draw(4) == 0 ? &others : NULL,
            .heard = draw(4) == 0 ? &others : NULL,
            .value = draw_bool() ? view : NULL};
        break;
    case MESSAGE_VIEW:
        message->u.view = *view;
        break;
    case MESSAGE_REPORT:
        entry =
            (struct message_entry){.hash = *draw_hash(),
                                   .what = (enum report_what)draw(REPORT_VERDICT + 1),
                                   .owner = draw(world.size),
                                   .epoch = 1 + draw(3),
                                   .has_payload = draw_bool(),
                                   .evidence = EVIDENCE_CLAIM};
        entry.code = entry.what == REPORT_VERDICT ? MOOT_ERR_NOT_HELD : 0;
        message->u.report = (struct message_report){draw_bool(), draw(2), &entry};
        break;
    case MESSAGE_FENCED:
        message->u.fenced.epoch = draw_word();
        break;
    case MESSAGE_JOIN:
        message->u.join = (struct message_join){1 + draw_word() % 1000, 0,
                                                (uint32_t)(draw_word() % 16)};
        break;
    default:
        break;
    }
}

static inline void say_of_elements(struct message *message)
{
    static struct range range;
    const uint64_t count = 1 + draw(40);
    range.first = draw((uint32_t)count);
    range.end = range.first + 1 + draw((uint32_t)(count - range.first));
    message->hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
    message->u.elements = (struct message_elements){
        .what = (enum elements_what)draw(ELEMENTS_END),
        .count = count,
        .homes = draw(4) == 0 ? 1 + draw(8) : world.size,
        .range_count = 1,
        .ranges = &range,
        .need = draw(10),
        .quiet = draw_bool(),
    };
    if (draw(3) == 0) {
        message->u.elements.ranks = &said_set;
        message->u.elements.homes = rankset_count(&said_set);
        message->u.elements.bound = draw_bool();
    }
}

/* A message of the receiver's epoch or one beside it; what it borrows lives until the
 * next one, or in *view. */
static inline struct message draw_lie(uint64_t epoch, uint64_t view_id,
                                      struct message_view *view)
{
    static const int offsets[] = {0, 1, -1};
    struct message message = {.type =
                                  (enum message_type)(1 + draw(MESSAGE_TYPE_END - 1)),
                              .epoch = epoch + (uint64_t)offsets[draw(3)],
                              .view_id = view_id,
                              .hash = *draw_hash()};
    said_set.low = 1 + draw(31);
    said_hashes[0] = *draw_hash();
    said_hashes[1] = *draw_hash();
    if (message.type == MESSAGE_ELEMENTS) {
        say_of_elements(&message);
    } else if (message.type >= MESSAGE_HEARTBEAT) {
        say_of_views(&message, view);
    } else if (message.type >= MESSAGE_ROLL && message.type <= MESSAGE_POLLR) {
        say_of_rolls(&message);
    } else {
        say_of_tasks(&message);
    }
    return message;
}

#endif
