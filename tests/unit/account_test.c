/* account_test.c - accounts and pictures that nobody packed: cut, flipped, made by
 * hand.
 *
 * What a rank or a socket says is refused unless it is sound
 * (node/explain/rank_snapshot.h, node/tools/state_sockets.h), and what is sound can be
 * diagnosed and told without harm, whatever its texts hold: a terminal is shown nothing
 * that it would obey.
 */
#include "tests/unit/pictures.h"

#include "hashing/some_elements.h"
#include "node/tools/state_sockets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* A session of all three with so many sets, of which each lacks rank 1, and so many
 * changes. */
static Moot__Account__Session *session_make(struct kit *kit, size_t sets,
                                            size_t changes)
{
    static Moot__Account__Session session;
    static Moot__Account__Set set, *set_list[LIMIT_ACCOUNT_SETS + 1];
    static Moot__Account__Change change, *change_list[LIMIT_ACCOUNT_CHANGES + 1];
    moot__account__session__init(&session);
    moot__account__set__init(&set);
    moot__account__change__init(&change);
    for (size_t i = 0; i < sets; i++) {
        set_list[i] = &set;
    }
    for (size_t i = 0; i < changes; i++) {
        change_list[i] = &change;
    }
    set = (Moot__Account__Set){.base = set.base,
                               .index = 7,
                               .name = kit_text("set"),
                               .members = kit_ranks(kit, 0x7),
                               .gone = 1};
    change = (Moot__Account__Change){.base = change.base,
                                     .rank = 2,
                                     .what = ACCOUNT_CHANGE_REMOVED,
                                     .ago_ns = 5000000000,
                                     .process = kit_text("a_2")};
    session = (Moot__Account__Session){.base = session.base,
                                       .number = 4,
                                       .why = kit_text("lost"),
                                       .age_ns = 3000000000,
                                       .members = kit_ranks(kit, 0x7),
                                       .process = kit_text("a_1"),
                                       .n_sets = sets,
                                       .sets = set_list,
                                       .sets_untold = 2,
                                       .n_changes = changes,
                                       .changes = change_list,
                                       .changes_untold = 9};
    return &session;
}

/* Rank 0 waits for a task that rank 1 owns; every text and every set is there. */
static struct kit *kit_full(void)
{
    struct kit *kit = kit_new(3);
    kit_wait(kit, 0, 0)->waiter = kit_hash(kit, 1);
    Moot__Account__Task *task = kit_own(kit, 1, 0, CORE_OWN_WAIT, TASK_IDLE);
    task->input = kit_hash(kit, 2);
    task->site = task->label = kit_text("text");
    task->holders = task->asked_by = task->awaited = kit_ranks(kit, 0x7);
    task->candidates = kit_ranks(kit, 0x7);
    kit_peer(kit, 0, 1)->waits_for = kit_hash(kit, 0);
    kit_lose(kit, 1, 0);
    kit->ranks[1].account.plan = kit_text("drop:1");
    kit->ranks[1].account.session = session_make(kit, 3, 1);
    return kit;
}

/* --- An account ------------------------------------------------------------------- */

/* As it comes over a wire. */
static bool account_passes(const Moot__Account *account)
{
    size_t size = moot__account__get_packed_size(account);
    uint8_t *bytes = malloc(size);
    moot__account__pack(account, bytes);
    Moot__Account *read = account_read(bytes, size);
    bool good = read != NULL;
    account_free(read);
    free(bytes);
    return good;
}

static void as_it_is(struct kit *kit) { (void)kit; }
static void no_size(struct kit *kit) { kit->ranks[1].account.size = 0; }
static void size_beyond(struct kit *kit)
{
    kit->ranks[1].account.size = LIMIT_RANKS + 1;
}
static void rank_beyond(struct kit *kit) { kit->ranks[1].account.rank = 3; }
/* Spawns of a program at some lines. */
static void spawn_lines(struct kit *kit, size_t lines, size_t samples, size_t bytes)
{
    static uint8_t sample[LIMIT_ACCOUNT_SAMPLE_BYTES + 1];
    static ProtobufCBinaryData args[LIMIT_ACCOUNT_SAMPLES + 1];
    static Moot__Account__Spawns spawns, *list[LIMIT_ACCOUNT_SPAWNS + 1];
    moot__account__spawns__init(&spawns);
    spawns.site = spawns.kernel = kit_text("text");
    for (size_t i = 0; i < samples; i++) {
        args[i] = (ProtobufCBinaryData){bytes, sample};
    }
    spawns.args = args;
    spawns.n_args = samples;
    for (size_t i = 0; i < lines; i++) {
        list[i] = &spawns;
    }
    kit->ranks[1].account.spawns = list;
    kit->ranks[1].account.n_spawns = lines;
}

static void all_spawns(struct kit *kit)
{
    spawn_lines(kit, LIMIT_ACCOUNT_SPAWNS, LIMIT_ACCOUNT_SAMPLES,
                LIMIT_ACCOUNT_SAMPLE_BYTES);
}
static void more_spawns(struct kit *kit)
{
    spawn_lines(kit, LIMIT_ACCOUNT_SPAWNS + 1, 1, 1);
}
static void more_samples(struct kit *kit)
{
    spawn_lines(kit, 1, LIMIT_ACCOUNT_SAMPLES + 1, 1);
}
static void longer_sample(struct kit *kit)
{
    spawn_lines(kit, 1, 1, LIMIT_ACCOUNT_SAMPLE_BYTES + 1);
}

/* Rank 1 says this of the elements of a task that is there. */
static void elements_of_rank_1(struct kit *kit, size_t numbers, size_t input_bytes,
                               uint64_t ranks)
{
    static uint64_t at[2 * SOME_RANGES + 2];
    static Moot__Account__Elements elements;
    static uint8_t input[sizeof(moot_hash)];
    moot__account__elements__init(&elements);
    elements.count = elements.own = UINT64_MAX;
    elements.own_at = elements.unspawned_at = elements.unclaimed_at = at;
    elements.n_own_at = elements.n_unspawned_at = elements.n_unclaimed_at = numbers;
    elements.input = (ProtobufCBinaryData){input_bytes, input};
    elements.lacking = elements.homes = elements.partial = kit_ranks(kit, ranks);
    kit_task(kit, 1, 0)->elements = &elements;
}
static void all_elements(struct kit *kit)
{
    elements_of_rank_1(kit, (size_t)2 * SOME_RANGES, sizeof(moot_hash), 0x7);
}
static void half_a_range(struct kit *kit) { elements_of_rank_1(kit, 1, 0, 0x7); }
static void more_ranges(struct kit *kit)
{
    elements_of_rank_1(kit, (size_t)2 * SOME_RANGES + 2, 0, 0x7);
}
static void half_an_input(struct kit *kit) { elements_of_rank_1(kit, 2, 8, 0x7); }
static void home_beyond(struct kit *kit) { elements_of_rank_1(kit, 2, 0, 0xf); }

static void no_such_mode(struct kit *kit)
{
    kit->ranks[1].account.mode = CORE_TRUST + 1;
}
static void no_such_lane_state(struct kit *kit)
{
    kit->ranks[1].lane.state = CORE_LANE_ENDED + 1;
}
static void member_beyond(struct kit *kit)
{
    kit->ranks[1].account.members = kit_ranks(kit, 0xf);
}
static void half_a_word(struct kit *kit) { kit->ranks[1].account.members.len = 4; }
static void more_lanes(struct kit *kit)
{
    static Moot__Account__Lane *lanes[LIMIT_ACCOUNT_LANES + 1];
    for (size_t i = 0; i < LIMIT_ACCOUNT_LANES + 1; i++) {
        lanes[i] = &kit->ranks[1].lane;
    }
    kit->ranks[1].account.lanes = lanes;
    kit->ranks[1].account.n_lanes = LIMIT_ACCOUNT_LANES + 1;
}
static void more_tasks(struct kit *kit)
{
    static Moot__Account__Task *tasks[LIMIT_ACCOUNT_TASKS + 1];
    for (size_t i = 0; i < LIMIT_ACCOUNT_TASKS + 1; i++) {
        tasks[i] = &kit->ranks[1].task[0];
    }
    kit->ranks[1].account.tasks = tasks;
    kit->ranks[1].account.n_tasks = LIMIT_ACCOUNT_TASKS + 1;
}
static void more_timers(struct kit *kit)
{
    static Moot__Account__Number *timers[LIMIT_ACCOUNT_NUMBERS + 1];
    for (size_t i = 0; i < LIMIT_ACCOUNT_NUMBERS + 1; i++) {
        timers[i] = &kit->ranks[1].number;
    }
    kit->ranks[1].account.timers = timers;
    kit->ranks[1].account.n_timers = LIMIT_ACCOUNT_NUMBERS + 1;
}
static void no_hash(struct kit *kit) { kit_task(kit, 1, 0)->hash.len = 0; }
static void short_hash(struct kit *kit) { kit_task(kit, 1, 0)->hash.len = 15; }
static void short_input(struct kit *kit) { kit_task(kit, 1, 0)->input.len = 1; }
static void no_chair(struct kit *kit) { kit_task(kit, 1, 0)->chair = PLACEMENT_NOBODY; }
static void chair_beyond(struct kit *kit) { kit_task(kit, 1, 0)->chair = 3; }
static void owner_beyond(struct kit *kit) { kit_task(kit, 1, 0)->owner = 3; }
static void no_such_own(struct kit *kit)
{
    kit_task(kit, 1, 0)->own = CORE_OWN_DONE + 1;
}
static void no_such_stage(struct kit *kit)
{
    kit_task(kit, 1, 0)->stage = TASK_ENDED + 1;
}
static void no_such_lack(struct kit *kit) { kit_task(kit, 1, 0)->lack = CORE_LACK_END; }
static void holder_beyond(struct kit *kit)
{
    kit_task(kit, 1, 0)->holders = kit_ranks(kit, 0x8);
}
static void awaited_beyond(struct kit *kit)
{
    kit_task(kit, 1, 0)->awaited = kit_ranks(kit, UINT64_C(1) << 63);
}
static void candidate_beyond(struct kit *kit)
{
    kit_task(kit, 1, 0)->candidates = kit_ranks(kit, 0x8);
}
static void peer_beyond(struct kit *kit) { kit_peer(kit, 1, 0)->rank = 3; }
static void no_such_member(struct kit *kit)
{
    kit_peer(kit, 1, 0)->state = MEMBER_LEFT + 1;
}
static void short_wait(struct kit *kit)
{
    kit_wait(kit, 1, 0)->waiter = (ProtobufCBinaryData){3, kit->hashes[0].bytes};
}

static void no_session(struct kit *kit) { kit->ranks[1].account.session = NULL; }
static void all_sets(struct kit *kit)
{
    kit->ranks[1].account.session =
        session_make(kit, LIMIT_ACCOUNT_SETS, LIMIT_ACCOUNT_CHANGES);
}
static void more_sets(struct kit *kit)
{
    kit->ranks[1].account.session = session_make(kit, LIMIT_ACCOUNT_SETS + 1, 1);
}
static void more_changes(struct kit *kit)
{
    kit->ranks[1].account.session = session_make(kit, 1, LIMIT_ACCOUNT_CHANGES + 1);
}
static void session_beyond(struct kit *kit)
{
    kit->ranks[1].account.session->members = kit_ranks(kit, 0xf);
}
static void set_beyond(struct kit *kit)
{
    kit->ranks[1].account.session->sets[0]->members = kit_ranks(kit, 0xf);
}
static void gone_beyond(struct kit *kit)
{
    kit->ranks[1].account.session->sets[0]->gone = 3;
}
static void nobody_gone(struct kit *kit)
{
    kit->ranks[1].account.session->sets[0]->gone = PLACEMENT_NOBODY;
}
static void change_beyond(struct kit *kit)
{
    kit->ranks[1].account.session->changes[0]->rank = 3;
}
static void no_such_change(struct kit *kit)
{
    kit->ranks[1].account.session->changes[0]->what = ACCOUNT_CHANGE_END;
}

static void an_account_is_sound_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*spoil)(struct kit *kit);
        bool passes;
    } rows[] = {
        {"as it is", as_it_is, true},
        {"no chair", no_chair, true},
        {"all spawns", all_spawns, true},
        {"spawns", more_spawns, false},
        {"samples", more_samples, false},
        {"longer sample", longer_sample, false},
        {"all elements", all_elements, true},
        {"half a range", half_a_range, false},
        {"more ranges", more_ranges, false},
        {"half an input", half_an_input, false},
        {"a home beyond", home_beyond, false},
        {"no session", no_session, true},
        {"all sets", all_sets, true},
        {"nobody gone", nobody_gone, true},
        {"sets", more_sets, false},
        {"changes", more_changes, false},
        {"session beyond", session_beyond, false},
        {"set beyond", set_beyond, false},
        {"gone beyond", gone_beyond, false},
        {"change beyond", change_beyond, false},
        {"change", no_such_change, false},
        {"no size", no_size, false},
        {"size beyond", size_beyond, false},
        {"rank beyond", rank_beyond, false},
        {"mode", no_such_mode, false},
        {"lane's state", no_such_lane_state, false},
        {"member beyond", member_beyond, false},
        {"half a word", half_a_word, false},
        {"lanes", more_lanes, false},
        {"tasks", more_tasks, false},
        {"timers", more_timers, false},
        {"no hash", no_hash, false},
        {"short hash", short_hash, false},
        {"short input", short_input, false},
        {"chair beyond", chair_beyond, false},
        {"owner beyond", owner_beyond, false},
        {"own", no_such_own, false},
        {"stage", no_such_stage, false},
        {"lack", no_such_lack, false},
        {"holder beyond", holder_beyond, false},
        {"awaited beyond", awaited_beyond, false},
        {"candidate beyond", candidate_beyond, false},
        {"peer beyond", peer_beyond, false},
        {"member's state", no_such_member, false},
        {"wait's hash", short_wait, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit *kit = kit_full();
        rows[i].spoil(kit);
        if (account_passes(&kit->ranks[1].account) != rows[i].passes) {
            fail_msg("%s", rows[i].name);
        }
        free(kit);
    }
}

/* --- A picture -------------------------------------------------------------------- */

struct told {
    Moot__Picture picture;
    Moot__Picture__Seat seat[4], *seats[4];
};

static void told_make(struct told *told, struct kit *kit)
{
    moot__picture__init(&told->picture);
    told->picture.rank = kit->picture.rank;
    told->picture.size = kit->picture.size;
    told->picture.job = kit_text("0123abcd");
    told->picture.seats = told->seats;
    for (uint32_t rank = 0; rank < kit->picture.size; rank++) {
        Moot__Picture__Seat *seat = told->seats[rank] = &told->seat[rank];
        moot__picture__seat__init(seat);
        seat->rank = rank;
        seat->account = &kit->ranks[rank].account;
        told->picture.n_seats++;
    }
}

/* Reads it as from a socket and tells it; the text, or NULL if it was refused. */
static char *tell(const uint8_t *bytes, size_t size)
{
    Moot__Picture *picture = state_picture_read(bytes, size);
    struct text text = {0};
    if (picture == NULL) {
        return NULL;
    }
    state_text(&text, picture);
    moot__picture__free_unpacked(picture, NULL);
    return text.bytes;
}

static uint8_t *pack(const struct told *told, size_t *size)
{
    *size = moot__picture__get_packed_size(&told->picture);
    uint8_t *bytes = malloc(*size);
    moot__picture__pack(&told->picture, bytes);
    return bytes;
}

static void seats_whole(struct told *told) { (void)told; }
static void seat_silent(struct told *told) { told->seat[2].account = NULL; }
static void seats_absent(struct told *told) { told->picture.n_seats = 1; }
static void seats_none(struct told *told) { told->picture.n_seats = 0; }
static void seat_own_silent(struct told *told) { told->seat[0].account = NULL; }
static void seat_own_twice(struct told *told)
{
    told->seat[3] = (Moot__Picture__Seat)MOOT__PICTURE__SEAT__INIT;
    told->seats[3] = &told->seat[3]; /* of rank 0 again, and this one says nothing */
    told->picture.n_seats = 4;
}
static void seat_beyond(struct told *told) { told->seat[2].rank = 3; }
static void seat_of_another(struct told *told)
{
    told->seat[2].account = told->seat[1].account;
}
static void size_differs(struct told *told) { told->picture.size = 4; }
static void rank_differs(struct told *told) { told->picture.rank = 7; }

static void a_picture_is_sound_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*spoil)(struct told *told);
        bool passes;
    } rows[] = {
        {"whole", seats_whole, true},           {"one silent", seat_silent, true},
        {"one alone", seats_absent, true},      {"none", seats_none, false},
        {"own silent", seat_own_silent, false}, {"own twice", seat_own_twice, false},
        {"seat beyond", seat_beyond, false},    {"another's", seat_of_another, false},
        {"size", size_differs, false},          {"rank", rank_differs, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit *kit = kit_full();
        struct told told;
        size_t size;
        told_make(&told, kit);
        rows[i].spoil(&told);
        uint8_t *bytes = pack(&told, &size);
        char *text = tell(bytes, size);
        if ((text != NULL) != rows[i].passes) {
            fail_msg("%s", rows[i].name);
        }
        free(text);
        free(bytes);
        free(kit);
    }
}

/* --- Texts ------------------------------------------------------------------------ */

static bool obeys(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char here = (unsigned char)at[0], next = (unsigned char)at[1];
        if ((here < 0x20 && here != '\n') || here == 0x7f ||
            (here == 0xc2 && next >= 0x80 && next < 0xa0)) {
            return true;
        }
    }
    return false;
}

static void a_terminal_is_shown_nothing_that_it_would_obey(void **state)
{
    (void)state;
    static const char evil[] = "\033[2J\a\xc2\x9b"
                               "31m\r\n\x7fz";
    const ProtobufCBinaryData told_evil = {sizeof(evil), /* and its NUL */
                                           (uint8_t *)(uintptr_t)evil};
    struct kit *kit = kit_full();
    struct told told;
    size_t size;
    for (uint32_t rank = 0; rank < 3; rank++) {
        Moot__Account__Task *task = kit_task(kit, rank, 0);
        task->kernel = task->label = task->site = told_evil;
        kit->ranks[rank].lane.site = kit->ranks[rank].account.plan = told_evil;
        kit->ranks[rank].lane.state = CORE_LANE_PARKED;
        kit->ranks[rank].number.name = told_evil;
        kit_task(kit, rank, 0)->input.len = 0;
    }
    Moot__Account__Session *session = kit->ranks[1].account.session;
    session->why = session->sets[2]->name = session->changes[0]->process = told_evil;
    kit_task(kit, 1, 0)->own = CORE_OWN_DONE; /* its result is lost: the plan is told */
    told_make(&told, kit);
    told.picture.job = told_evil;
    uint8_t *bytes = pack(&told, &size);
    char *text = tell(bytes, size);
    assert_non_null(text);
    assert_non_null(strstr(text, "[lost]"));
    const char *shown = text;
    int places = 0;
    for (; (shown = strstr(shown, "?[2J??31m???z?")) != NULL; shown++) {
        places++;
    }
    /* Job, plan, kernel, label, site, lanes, 3 timers; why the session began, one who
     * has gone, and the name of its set. */
    assert_int_equal(places, 12);
    assert_false(obeys(text));
    free(text);
    free(bytes);
    free(kit);
}

static void a_session_is_told_once(void **state)
{
    (void)state;
    struct kit *kit = kit_full();
    struct told told;
    size_t size;
    Moot__Account__Session behind = *kit->ranks[1].account.session;
    behind.number = 3;
    kit->ranks[2].account.session = &behind;
    told_make(&told, kit);
    uint8_t *bytes = pack(&told, &size);
    char *text = tell(bytes, size);
    assert_non_null(text);
    assert_non_null(strstr(text,
                           "  session 4, for 3.000 s, of ranks 0-2 (lost)\n"
                           "    rank 2 is in session 3 still\n"
                           "    9 joined, left or died before:\n"
                           "    rank 2 (a_2) was removed 5.000 s ago\n"
                           "    2 older sets, and of the last ones:\n"
                           "    set 7 set: ranks 0-2, invalid: rank 1 is gone\n"));
    assert_null(strstr(strstr(text, "session 4") + 1, "session 4"));
    free(text);
    free(bytes);
    free(kit);
}

/* --- Any bytes -------------------------------------------------------------------- */

static void cut_or_flipped_it_does_no_harm(void **state)
{
    (void)state;
    struct kit *kit = kit_full();
    struct told told;
    size_t size;
    told_make(&told, kit);
    uint8_t *bytes = pack(&told, &size);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut + 1); /* its end is an end for a sanitizer, too */
        memcpy(part, bytes, cut);
        free(tell(part, cut));
        free(part);
    }
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        char *text = tell(bytes, size);
        assert_false(text != NULL && obeys(text));
        free(text);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
    free(kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_is_sound_or_refused),
        cmocka_unit_test(a_picture_is_sound_or_refused),
        cmocka_unit_test(a_terminal_is_shown_nothing_that_it_would_obey),
        cmocka_unit_test(a_session_is_told_once),
        cmocka_unit_test(cut_or_flipped_it_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
