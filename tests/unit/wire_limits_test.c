/* wire_limits_test.c - what breaks a limit does not go out, and what goes out is good.
 *
 * A frame that is as full as a writer makes it can be decoded: no sender needs to know
 * how much memory that takes (proto/wire.h).
 */
#include "tests/unit/wire_frames.h"

static const struct message_signatures no_signatures;
static const struct message_signatures late_signatures = {
    1, &(const struct message_signature){.step = UINT64_C(1) << 63}};

static struct message *next_row(struct message *rows, size_t *count,
                                enum message_type type)
{
    struct message *row = &rows[(*count)++];
    sample_message(type, TYPICAL, row);
    return row;
}

static void fill_entries(struct message_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        entries[i].hash = samples.hashes[0];
    }
}

static void fill_newcomers(struct message_newcomer *newcomers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        newcomers[i] = (struct message_newcomer){.rank = i, .uid = 1};
    }
}

static void fill_past(struct message_past *past, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        past[i] = (struct message_past){i + 1, &samples.sets[LEAST]};
    }
}

/* A writer takes none of them. */
static void refuse_all(const struct message *m, size_t n)
{
    struct wire_writer *writer = wire_writer_new();
    for (size_t i = 0; i < n; i++) {
        if (wire_writer_add(writer, &m[i]) != MOOT_ERR_INVALID) {
            fail_msg("row %zu (%s) was not refused", i, message_type_name(m[i].type));
        }
    }
    assert_int_equal(wire_writer_count(writer), 0);
    assert_int_equal(wire_writer_size(writer), WIRE_ENVELOPE_BYTES);
    wire_writer_free(writer);
}

static void what_breaks_a_limit_is_refused_for_good(void **state)
{
    (void)state;
    static char long_name[LIMIT_KERNEL_NAME_BYTES + 2];
    static struct message_asker askers[LIMIT_ASKERS + 1];
    static const struct rankset nobody;
    struct rankset beyond = {0};
    static struct message_entry entries[LIMIT_REPORT_ENTRIES + 1];
    static struct message_newcomer newcomers[LIMIT_NEWCOMERS + 1];
    static struct message_past past[LIMIT_PAST_VIEWS + 1];
    struct message_spec spec[5];
    static struct message_loss losses[LIMIT_LOSSES + 1];
    struct message m[96];
    size_t n = 0;
    fill_entries(entries, LIMIT_REPORT_ENTRIES + 1);
    fill_newcomers(newcomers, LIMIT_NEWCOMERS + 1);
    fill_past(past, LIMIT_PAST_VIEWS + 1);
    for (uint32_t i = 0; i <= LIMIT_LOSSES; i++) {
        losses[i] = (struct message_loss){.before = &samples.sets[LEAST],
                                          .after = &samples.sets[LEAST]};
    }
    memset(long_name, 'n', LIMIT_KERNEL_NAME_BYTES + 1);
    rankset_add(&beyond, LIMIT_RANKS);

#define ROW(name) (&next_row(m, &n, MESSAGE_##name)->u)
    ROW(MOTION)->motion.want = (enum want)3;
    ROW(MOTION)->motion.candidates = &nobody;
    ROW(MOTION)->motion.candidates = &beyond;
    for (size_t i = 0; i < 5; i++) {
        spec[i] = samples.specs[TYPICAL];
        ROW(MOTION)->motion.spec = &spec[i];
    }
    spec[0].kernel_name = long_name;
    spec[1].args_size = LIMIT_ARGS_BYTES + 1;
    spec[2].after_count = spec[2].input_count + 1;
    spec[3].key_size = LIMIT_KEY_BYTES + 1;
    spec[4].kernel_name = "";
    ROW(DECISION)->decision.evidence = EVIDENCE_END;
    ROW(DECISION)->decision = (struct message_decision){
        .evidence = EVIDENCE_HINT, .askers = askers, .asker_count = LIMIT_ASKERS + 1};
    ROW(DECISION)->decision.cancelled_by = LIMIT_RANKS + 1;
    ROW(CANCEL)->cancel.by = LIMIT_RANKS;
    ROW(RESULT)->result.size = LIMIT_EAGER_BYTES + 1;
    ROW(RESULT)->result.payload = NULL;
    ROW(RESULT)->result.status = 5;
    ROW(REFER)->refer.candidates = NULL;
    ROW(ACCEPT)->accept.winner = LIMIT_RANKS;
    ROW(VERDICT)->verdict.code = MOOT_OK;
    ROW(VERDICT)->verdict.what = (enum verdict_what)(VERDICT_VOID + 1);
    ROW(VERDICT)->verdict.by = LIMIT_RANKS;
    ROW(POLLR)->pollr.least.asker = LIMIT_RANKS;
    ROW(RESOLVE)->resolve.orphan.standing = (enum orphan_standing)(ORPHAN_UNKNOWN + 1);
    ROW(ROLL)->roll.first = 0;
    ROW(WANT)->want.lane = LIMIT_LANES;
    ROW(ENDED)->ended.lane = LIMIT_LANES;
    ROW(ENDED)->ended.first = 0;
    ROW(ENDED)->ended.count = 0;
    ROW(ENDED)->ended.count = LIMIT_TASKS + 1;
    ROW(HASHES)->hashes.count = LIMIT_ROLL_HASHES + 1;
    ROW(CHASE)->chase.path_count = LIMIT_CHASE_HOPS + 1;
    ROW(FAMILY)->family.count = LIMIT_FAMILY_HASHES + 1;
    ROW(FAMILY)->family.count = 0;
    ROW(FAMILY)->family.first = LIMIT_TASKS + 1;
    ROW(DIVERGED)->diverged.sides = 5;
    ROW(KERNEL)->kernel.name = NULL;
    ROW(KERNEL)->kernel.build_size = LIMIT_BUILD_BYTES + 1;
    ROW(INQUIRY)->inquiry.count = LIMIT_INQUIRY_HASHES + 1;
    ROW(ACCOUNT)->account.size = LIMIT_ACCOUNT_BYTES + 1;
    ROW(ACCOUNT)->account.size = 0;
    ROW(HEARTBEAT)->heartbeat.suspects = &nobody;
    ROW(HEARTBEAT)->heartbeat.dead = &beyond;
    ROW(HEARTBEAT)->heartbeat.signatures = &no_signatures;
    ROW(SIGNATURE)->signatures.count = LIMIT_SIGNATURES + 1;
    ROW(SIGNATURE)->signatures.count = 0;
    ROW(SIGNATURE)->signatures = late_signatures;
    ROW(GRANT)->grant = (struct message_grant){.others = {{1}}};
    ROW(TALLY)->tally.what = TALLY_END;
    ROW(LEAVE)->leave.what = LEAVE_END;
    ROW(MEET)->meet.what = MEET_END;
    ROW(ADJOURN)->adjourn.what = ADJOURN_END;
    ROW(LOT)->lot.what = LOT_END;
    ROW(LOT)->lot.count = LIMIT_LOT_HASHES + 1;
    ROW(LOT)->lot.marks = LIMIT_LOT_HASHES;
    ROW(SNAPSHOT)->snapshot.what = SNAPSHOT_END;
    ROW(SNAPSHOT)->snapshot.what = SNAPSHOT_DONE; /* without a name */
    ROW(SNAPSHOT)->snapshot.name_size = 1;
    ROW(SNAPSHOT)->snapshot.number = 0;
    ROW(SNAPSHOT)->snapshot.status = 1;
    ROW(SNAPSHOT)->snapshot.rank = LIMIT_RANKS;
    ROW(MEET)->meet.number = LIMIT_MEETINGS + 1;
    ROW(MEET)->meet.code = MOOT_ERR_INVALID;
    ROW(MEET)->meet.came = &beyond;
    ROW(MEET)->meet.words_size = LIMIT_WORDS_BYTES + 1;
    ROW(MEET)->meet = (struct message_meet){
        .number = 1, .words = "\4\0\0\0yes", .words_size = 7}; /* a byte is missing */
    ROW(MEET)->meet = (struct message_meet){
        .number = 1, .words = "\3\0\0\0yes", .words_size = 8}; /* one is too much */
    ROW(PREPARE)->paxos.ballot = 0;
    ROW(PREPARE)->paxos.dead = &beyond;
    ROW(PREPARE)->paxos.accepted = 1u << BALLOT_RANK_BITS;
    ROW(PROPOSE)->paxos.value = NULL;
    ROW(REJECT)->paxos.value = &samples.views[LEAST];
    ROW(VIEW)->view.members = NULL;
    ROW(VIEW)->view.epoch = 2;
    ROW(VIEW)->view.history = 0;
    struct message_view *view = &ROW(VIEW)->view;
    view->newcomer = newcomers;
    view->newcomers = LIMIT_NEWCOMERS + 1;
    view = &ROW(VIEW)->view;
    view->left = view->members;
    view = &ROW(VIEW)->view;
    view->past = past;
    view->history = LIMIT_PAST_VIEWS + 1;
    view->epoch = view->history + 1;
    view = &ROW(VIEW)->view;
    view->losses = LIMIT_LOSSES + 1;
    view->loss = losses;
    ROW(VIEW)->view.losses_cut = true;
    ROW(VIEW)->view.reload.generation = 1;
    ROW(VIEW)->view.reload.met = 1;
    view = &ROW(VIEW)->view;
    view->losses = 1;
    view->loss = losses; /* of no view */
    ROW(REPORT)->report =
        (struct message_report){true, LIMIT_REPORT_ENTRIES + 1, entries};
    ROW(FENCED)->fenced.epoch = 0;
    ROW(JOIN)->join.uid = 0;
    ROW(CENSUS)->census.count = LIMIT_CENSUS_ENTRIES + 1;
    ROW(CENSUS)->census.ranks = LIMIT_RANKS + 1;
    ROW(ROLL)->roll.before = LIMIT_RANKS;
    ROW(RELEASED)->released =
        (struct message_released){.what = RELEASED_CHUNK_ASK, .count = 0};
    ROW(RELEASED)->released = (struct message_released){
        .what = RELEASED_CHUNK_ASK, .count = ROLL_CHUNK_TASKS_MAX + 1};
    next_row(m, &n, MESSAGE_PULL)->hash = (moot_hash){{0}};
    next_row(m, &n, MESSAGE_RELEASED)->hash = (moot_hash){{0}};
    next_row(m, &n, MESSAGE_TYPE_END);
#undef ROW

    assert_true(n <= sizeof(m) / sizeof(*m));
    refuse_all(m, n);
    rankset_release(&beyond);
}

/* An ELEMENTS without a spec. */
static struct message *next_plain_row(struct message *rows, size_t *count)
{
    struct message *row = next_row(rows, count, MESSAGE_ELEMENTS);
    row->u.elements.spec = NULL;
    return row;
}

static void what_elements_cannot_be_is_refused(void **state)
{
    (void)state;
    struct message m[24];
    size_t n = 0;
    static const struct rankset nobody;
#define ROW() (&next_plain_row(m, &n)->u)
    const struct range touching[] = {{0, 2}, {2, 3}}, empty[] = {{1, 1}},
                       descending[] = {{5, 6}, {1, 2}};
    ROW()->elements.what = ELEMENTS_END;
    ROW()->elements.count = 0;
    ROW()->elements.count = 11; /* places are beyond it */
    ROW()->elements.homes = LIMIT_RANKS + 1;
    ROW()->elements.block = 0; /* of a spread in blocks */
    ROW()->elements.kind = ARRAY_SPREAD_HASHED + 1;
    ROW()->elements.range_count = LIMIT_ELEMENT_RANGES + 1;
    ROW()->elements.range_count = 0;
    ROW()->elements.ranges = touching;
    ROW()->elements.ranges = descending;
    struct message_elements *elements = &ROW()->elements;
    elements->ranges = empty;
    elements->range_count = 1;
    ROW()->elements.failed = ARRAY_COUNT_MAX + 1;
    ROW()->elements.failed = 0; /* and a status */
    ROW()->elements.status = 1;
    ROW()->elements.bound = true; /* to whom? */
    ROW()->elements.ranks = &samples.sets[LEAST];
    elements = &ROW()->elements;
    elements->ranks = &nobody;
    elements->homes = 0;
    next_plain_row(m, &n)->hash.bytes[MOOT_HASH_BYTES - 1] = 0;
    next_row(m, &n, MESSAGE_TYPE_END);
#undef ROW
    assert_true(n <= sizeof(m) / sizeof(*m));
    refuse_all(m, n);
}

/* The spec of an array in an ELEMENTS, and of a task in a MOTION. */
static void a_spec_that_is_of_no_array_is_refused(void **state)
{
    (void)state;
    enum { SPECS = 10 };
    struct message m[16];
    struct message_spec spec[SPECS], task = samples.specs[TYPICAL], bound;
    struct message_map of_task[3], huge[3], unnamed[3];
    size_t n = 0;
    memcpy(of_task, samples.maps, sizeof(of_task));
    memcpy(huge, samples.maps, sizeof(huge));
    memcpy(unnamed, samples.maps, sizeof(unnamed));
    for (size_t i = 0; i < SPECS; i++) {
        spec[i] = samples.array_spec;
        next_row(m, &n, MESSAGE_ELEMENTS)->u.elements.spec = &spec[i];
    }
    spec[0].count--; /* the message's is another */
    spec[1].block = 0;
    spec[2].spread = ARRAY_SPREAD_HASHED + 1;
    spec[3].maps = NULL;
    spec[4].after_count--;
    spec[5].input_count = spec[5].after_count = LIMIT_ARRAY_INPUTS + 1;
    of_task[0].version = 1; /* and no name */
    spec[6].maps = of_task;
    huge[1].args = huge[2].args = samples.args;
    huge[1].args_size = 1;
    huge[2].args_size = LIMIT_MAPS_BYTES;
    spec[7].maps = huge;
    unnamed[1].name = "";
    spec[8].maps = unnamed;
    spec[9].candidates = NULL; /* bound to whom? */
    next_row(m, &n, MESSAGE_ELEMENTS)->u.elements.what = ELEMENTS_HELD;
    task.count = 1;
    bound = samples.specs[TYPICAL];
    bound.bound = true;
    next_row(m, &n, MESSAGE_MOTION)->u.motion.spec = &bound;
    next_row(m, &n, MESSAGE_MOTION)->u.motion.spec = &task;
    assert_true(n <= sizeof(m) / sizeof(*m));
    refuse_all(m, n);
}

static void what_parts_cannot_be_is_refused(void **state)
{
    (void)state;
    struct message m[32];
    size_t n = 0;
#define ROW(name) (&next_row(m, &n, MESSAGE_##name)->u)
    const struct message_part unknown[] = {{0, 0, PART_END}},
                              twice[] = {{4, 0, PART_LARGE}, {4, 0, PART_LARGE}},
                              descending[] = {{4, 5, PART_BYTES}, {3, 0, PART_LARGE}},
                              there[] = {{0, 5, PART_BYTES}, {1, 1, PART_ELSEWHERE}},
                              large[] = {{0, 5, PART_BYTES},
                                         {1, LIMIT_RESULT_BYTES + 1, PART_LARGE}},
                              round[] = {{0, 6, PART_BYTES},
                                         {1, UINT64_MAX, PART_BYTES}},
                              many[] = {{0, LIMIT_ELEMENT_PARTS_BYTES + 1, PART_BYTES}},
                              wanted[] = {{3, 0, PART_WANTED}};
    ROW(PARTS)->parts.input = LIMIT_INPUTS;
    ROW(PARTS)->parts.count = 0;
    ROW(PARTS)->parts.count = ARRAY_COUNT_MAX + 1;
    ROW(PARTS)->parts.count = 4; /* a place is beyond it */
    ROW(PARTS)->parts.homes = 0;
    ROW(PARTS)->parts.homes = LIMIT_RANKS + 1;
    ROW(PARTS)->parts.part_count = LIMIT_ELEMENT_PARTS + 1;
    ROW(PARTS)->parts.part_count = 0; /* and bytes */
    ROW(PARTS)->parts.byte_count++;
    ROW(PARTS)->parts.byte_count--;
    ROW(PARTS)->parts.bytes = NULL;
    ROW(PARTS)->parts = (struct message_parts){
        .count = 9, .homes = 1, .part_count = 1, .parts = unknown};
    ROW(PARTS)->parts =
        (struct message_parts){.count = 9, .homes = 1, .part_count = 2, .parts = twice};
    ROW(PARTS)->parts.parts = descending;
    ROW(PARTS)->parts.parts = there;
    ROW(PARTS)->parts.parts = large;
    ROW(PARTS)->parts.parts = round; /* sums up to 5 */
    ROW(PARTS)->parts = (struct message_parts){.count = 9,
                                               .homes = 1,
                                               .part_count = 1,
                                               .parts = many,
                                               .bytes = samples.args,
                                               .byte_count = many[0].size};
    ROW(PARTS)->parts = (struct message_parts){
        .count = 9, .homes = 1, .part_count = 1, .parts = wanted, .seek = 1};
    ROW(PARTS)->parts.of = m[0].hash;  /* asks and tells */
    ROW(PARTS)->parts.of.bytes[0] = 1; /* of no array */
    next_row(m, &n, MESSAGE_PARTS)->hash.bytes[MOOT_HASH_BYTES - 1] = 0;
    next_row(m, &n, MESSAGE_TYPE_END);
#undef ROW
    assert_true(n <= sizeof(m) / sizeof(*m));
    refuse_all(m, n);
}

static void texts_for_people_are_cut(void **state)
{
    (void)state;
    static char site[LIMIT_SITE_BYTES + 50];
    memset(site, 's', sizeof(site) - 1);
    struct message_spec spec = samples.specs[TYPICAL];
    spec.label = spec.site = site;
    struct message message;
    sample_message(MESSAGE_MOTION, TYPICAL, &message);
    message.u.motion.spec = &spec;
    struct wire_writer *writer = wire_writer_new();
    struct wire_frame frame;
    const char *why;
    assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
    struct bytes bytes = finish(writer);
    assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why), MOOT_OK);
    const struct message_spec *back = frame.messages[0].u.motion.spec;
    assert_int_equal(strlen(back->label), LIMIT_LABEL_BYTES);
    assert_int_equal(strlen(back->site), LIMIT_SITE_BYTES);
    wire_frame_release(&frame);
    free(bytes.at);
    wire_writer_free(writer);
}

static void a_full_frame_says_so_and_is_good(void **state)
{
    (void)state;
    static const enum message_type types[] = {
        MESSAGE_MOTION, MESSAGE_DECISION, MESSAGE_HASHES, MESSAGE_DIVERGED,
        MESSAGE_VIEW,   MESSAGE_REPORT,   MESSAGE_PARTS};
    struct message message;
    size_t count;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        sample_message(types[i], MOST, &message);
        struct bytes frame = fill(&message, &count);
        assert_true(count > 1 && frame.size <= LIMIT_FRAME_BYTES);
        assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
        free(frame.at);
    }
    sample_message(MESSAGE_PULL, MOST, &message);
    struct bytes frame = fill(&message, &count);
    assert_int_equal(count, LIMIT_FRAME_MESSAGES);
    assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
    free(frame.at);

    sample_message(MESSAGE_RESULT, TYPICAL, &message);
    message.u.result.status = MOOT_OK;
    message.u.result.size = LIMIT_EAGER_BYTES;
    frame = fill(&message, &count);
    assert_true(frame.size > LIMIT_FRAME_BYTES - LIMIT_EAGER_BYTES - 100);
    assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
    free(frame.at);
}

/* Many short things unfold furthest: nothing that a writer takes is too much for
 * whoever decodes it. */
static void a_full_frame_of_short_things_is_good(void **state)
{
    (void)state;
    static struct message_newcomer newcomers[LIMIT_NEWCOMERS];
    static struct message_past past[LIMIT_PAST_VIEWS];
    static struct message_loss losses[LIMIT_LOSSES];
    for (uint32_t i = 0; i < LIMIT_LOSSES; i++) {
        losses[i] =
            (struct message_loss){1, &samples.sets[LEAST], &samples.sets[LEAST]};
    }
    static const uint32_t lengths[] = {
        1, 1, 8, 16, 24, 32, LIMIT_PAST_VIEWS, LIMIT_PAST_VIEWS};
    fill_newcomers(newcomers, LIMIT_NEWCOMERS);
    fill_past(past, LIMIT_PAST_VIEWS);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct message_view view = {.epoch = lengths[i] + 1,
                                    .members = &samples.sets[LEAST],
                                    .newcomers = i % 2 == 0 ? lengths[i] : 0,
                                    .newcomer = newcomers,
                                    .history = lengths[i],
                                    .past = past,
                                    .losses = lengths[i],
                                    .loss = losses};
        struct message message;
        size_t count;
        sample_message(MESSAGE_PROPOSE, LEAST, &message);
        message.u.paxos.value = &view;
        struct bytes frame = fill(&message, &count);
        assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
        free(frame.at);
    }
}

/* These unfold furthest of all messages: a place of a byte or two becomes a number of
 * protobuf's and one of ours. */
static void a_full_frame_of_short_places_is_good(void **state)
{
    (void)state;
    static struct range ranges[LIMIT_ELEMENT_RANGES];
    static struct message_part parts[LIMIT_ELEMENT_PARTS];
    for (uint32_t i = 0; i < LIMIT_ELEMENT_RANGES; i++) {
        ranges[i] = (struct range){2u * i, 2u * i + 1};
    }
    for (uint32_t i = 0; i < LIMIT_ELEMENT_PARTS; i++) {
        parts[i] = (struct message_part){i, 0, PART_ELSEWHERE};
    }
    struct message messages[2];
    sample_message(MESSAGE_ELEMENTS, LEAST, &messages[0]);
    messages[0].u.elements.count = ARRAY_COUNT_MAX;
    messages[0].u.elements.range_count = LIMIT_ELEMENT_RANGES;
    messages[0].u.elements.ranges = ranges;
    sample_message(MESSAGE_PARTS, LEAST, &messages[1]);
    messages[1].u.parts = (struct message_parts){.count = ARRAY_COUNT_MAX,
                                                 .homes = 1,
                                                 .part_count = LIMIT_ELEMENT_PARTS,
                                                 .parts = parts};
    for (int i = 0; i < 2; i++) {
        size_t count;
        struct bytes frame = fill(&messages[i], &count);
        assert_true(count > 1000);
        assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
        free(frame.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_breaks_a_limit_is_refused_for_good),
        cmocka_unit_test(what_elements_cannot_be_is_refused),
        cmocka_unit_test(a_spec_that_is_of_no_array_is_refused),
        cmocka_unit_test(what_parts_cannot_be_is_refused),
        cmocka_unit_test(texts_for_people_are_cut),
        cmocka_unit_test(a_full_frame_says_so_and_is_good),
        cmocka_unit_test(a_full_frame_of_short_things_is_good),
        cmocka_unit_test(a_full_frame_of_short_places_is_good),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
