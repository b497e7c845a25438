/* await.c - waiting for many tasks: their ends come in one word for each pair of ranks.
 *
 * T12.  A wait for many needs their ends, and not their data, and mostly all ranks wait
 * for the same tasks.  So a lane's wait for a stretch of its own roll asks for nothing
 * at first.  When all that this rank chairs there has ended here, it tells the others
 * so in one ENDED, which names the stretch and the sum of its hashes: a rank with the
 * same sum there knows the same tasks, and their chairs by itself.  When all members
 * have said so, each of these tasks counts as one whose bare RESULT has come.
 *
 * A word is no more than that.  It holds for what its sender chairs, claimed and ran;
 * how one ended that did not end well, or has more to tell, a RESULT has said before on
 * the same link.  Who cannot say so says nothing, as does who does not wait, or has
 * spawned something else.  Then, or where a word is late, the host asks for each task
 * that has not ended (CORE_OUT_AWAITED): so a wait lasts no longer for want of a word
 * than a push that does not come would make it last.
 *
 * Where a word was said nothing of what it tells is pushed, and who has heard it takes
 * the ends from it for other needs, too: else two would tell the same, or neither.  So
 * both remember the stretches of the latest words (said, heard).  A wait that ends
 * before its word can be said pushes what it would have told.
 *
 * Words do not outlive a view.  What was learnt from them does, as results do.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Words of a rank that are kept, the latest.  What was said is heard by ranks that
 * are a wait or two behind. */
enum { WORDS_MAX = 8, SAID_MAX = 8, HEARD_MAX = 2 * SAID_MAX };

static struct await *find_await(struct core *core, uint32_t lane)
{
    struct awaits *awaits = &core->ownership.awaits;
    for (uint32_t i = 0; i < awaits->count; i++) {
        if (awaits->items[i].lane == lane) {
            return &awaits->items[i];
        }
    }
    return NULL;
}

static uint64_t last_of(const struct ended_word *word)
{
    return word->first + word->count - 1;
}

/* --- Stretches that were told ------------------------------------------------------
 */

static void forget_stretch(struct told_stretches *told, uint32_t i)
{
    rankset_release(&told->items[i].ranks);
    told->count--;
    memmove(&told->items[i], &told->items[i + 1],
            (told->count - i) * sizeof(*told->items));
}

static void forget_stretches(struct told_stretches *told)
{
    while (told->count > 0) {
        forget_stretch(told, told->count - 1);
    }
}

/* Keeps `max` stretches, of all lanes together. */
static void note_told(struct core *core, struct told_stretches *told, uint32_t max,
                      const struct ended_word *word)
{
    uint32_t i = 0;
    while (i < told->count &&
           (told->items[i].lane != word->lane || told->items[i].first != word->first ||
            told->items[i].last != last_of(word))) {
        i++;
    }
    if (i == told->count && i == max) {
        forget_stretch(told, 0);
        i--;
    }
    if (i == told->count) {
        if (!core_grow(core, &told->items, &told->room, i + 1, sizeof(*told->items))) {
            return;
        }
        told->items[told->count++] = (struct told_stretch){
            .lane = word->lane, .first = word->first, .last = last_of(word)};
    }
    core->broken |= !rankset_add(&told->items[i].ranks, word->rank);
}

/* The latest that has this place, and that rank; NULL: there is none. */
static const struct told_stretch *find_stretch(const struct told_stretches *told,
                                               uint32_t lane, uint32_t rank,
                                               uint64_t place)
{
    for (uint32_t i = told->count; i-- > 0;) {
        const struct told_stretch *stretch = &told->items[i];
        if (stretch->lane == lane && stretch->first <= place &&
            stretch->last >= place && rankset_has(&stretch->ranks, rank)) {
            return stretch;
        }
    }
    return NULL;
}

static bool is_told(const struct told_stretches *told, const struct task_record *task,
                    uint32_t rank)
{
    return task->position != 0 &&
           find_stretch(told, task->lane, rank, task->lane_position) != NULL;
}

bool await_has_told(const struct core *core, const struct task_record *task,
                    uint32_t rank)
{
    return task->chair == core->rank &&
           is_told(&core->ownership.awaits.said, task, rank);
}

/* --- What the others say ---------------------------------------------------------- */

/* The stretch of the last word that was looked at is mostly that of the next. */
static bool sum_here(struct core *core, const struct ended_word *word,
                     struct rollsum *sum)
{
    struct ended_word *same = &core->ownership.awaits.summed;
    if (same->count != word->count || same->first != word->first ||
        same->lane != word->lane) {
        *same = *word;
        if (!roll_sum_of(core, &core->gossip.lanes[word->lane], word->first,
                         word->count, &same->sum)) {
            same->count = 0;
            return false;
        }
    }
    *sum = same->sum;
    return true;
}

/* The same stands here. */
static bool is_of_this_roll(struct core *core, struct ended_word *word)
{
    struct rollsum sum;
    if (!word->compared) {
        word->compared = true;
        word->equal = (sum_here(core, word, &sum) && rollsum_equal(&sum, &word->sum)) ||
                      MUTANT(ENDEDOTHERS);
    }
    return word->equal;
}

/* Where the stretch begins, but for what is forgotten first: that has ended on all
 * ranks. Others may be forgotten behind what is not, as their scope has ended; of a
 * stretch with such a hole there is no sum, and no word. */
static uint64_t behind_forgotten(const struct core *core, const struct await *await)
{
    const struct lane_record *lane = &core->gossip.lanes[await->lane];
    uint64_t first = await->first;
    while (first <= await->last && lane_known(lane, first) == NULL &&
           !MUTANT(WORDSBEHIND)) {
        first++;
    }
    return first;
}

/* Where the rank's words that cover this place end; before it: none does. */
static uint64_t words_cover(struct core *core, uint32_t lane, uint32_t rank,
                            uint64_t place)
{
    struct awaits *awaits = &core->ownership.awaits;
    for (uint32_t i = 0; i < awaits->word_count; i++) {
        struct ended_word *word = &awaits->words[i];
        if (word->rank == rank && word->lane == lane && word->first <= place &&
            last_of(word) >= place && last_of(word) <= core->gossip.lanes[lane].len &&
            is_of_this_roll(core, word)) {
            return last_of(word);
        }
    }
    const struct told_stretch *heard = find_stretch(&awaits->heard, lane, rank, place);
    return heard != NULL && !MUTANT(WORDSLATE) ? heard->last : place - 1;
}

/* The rank's words cover all of it.  Who is a wait ahead says that of the next wait
 * while this one lasts, which takes it along when it ends (heard). */
static bool has_said(struct core *core, const struct await *await, uint32_t rank)
{
    uint64_t next = behind_forgotten(core, await);
    while (next <= await->last) {
        const uint64_t end = words_cover(core, await->lane, rank, next);
        if (end < next) {
            return false;
        }
        next = end + 1;
    }
    return true;
}

static void forget_word(struct awaits *awaits, uint32_t i)
{
    awaits->word_count--;
    memmove(&awaits->words[i], &awaits->words[i + 1],
            (awaits->word_count - i) * sizeof(*awaits->words));
}

static void make_room_for(struct awaits *awaits, uint32_t rank)
{
    uint32_t count = 0, oldest = 0;
    for (uint32_t i = awaits->word_count; i-- > 0;) {
        if (awaits->words[i].rank == rank) {
            oldest = i;
            count++;
        }
    }
    if (count >= WORDS_MAX) {
        forget_word(awaits, oldest);
    }
}

void await_on_ended(struct core *core, uint32_t from, const struct message_ended *ended)
{
    assert(from != core->rank && ended->count > 0);
    struct awaits *awaits = &core->ownership.awaits;
    make_room_for(awaits, from);
    if (!core_grow(core, &awaits->words, &awaits->word_room, awaits->word_count + 1,
                   sizeof(*awaits->words))) {
        return;
    }
    awaits->words[awaits->word_count++] = (struct ended_word){.rank = from,
                                                              .lane = ended->lane,
                                                              .first = ended->first,
                                                              .count = ended->count,
                                                              .sum = ended->sum};
    struct await *await = find_await(core, ended->lane);
    if (await != NULL) {
        await->news = true;
    }
    ask_queue_on_ended(core, from, ended);
}

/* --- What follows ----------------------------------------------------------------- */

/* Its chair's word says that it has ended, and there. */
static void take_end(struct core *core, struct task_record *task)
{
    const struct message message = {
        .type = MESSAGE_RESULT,
        .hash = task->hash,
        .epoch = core->epoch,
        .u.result = {.owner_uid = core->state.uids[task->chair],
                     .evidence = EVIDENCE_CLAIM,
                     .status = MOOT_OK,
                     .data = RESULT_BARE}};
    if (graph_on_result(core, task->chair, task, &message) == GRAPH_TAKEN) {
        graph_result_taken(core, task);
    }
}

/* A task that the program uses no more may be about to be dropped; and what was asked
 * for is answered. */
static bool may_take_end(const struct core *core, const struct task_record *task)
{
    return task->held && !task->finder && task->chair != core->rank &&
           task->own == CORE_OWN_NONE && task->have == CORE_HAVE_NOTHING &&
           (task->owner == NOBODY || task->owner == task->chair) &&
           task_ends_with(task) == 0 && !task->let_go &&
           (!task->asked || MUTANT(WORDSASKED));
}

static bool is_about(const struct ended_word *word, const struct task_record *task)
{
    return word->rank == task->chair && word->lane == task->lane &&
           word->first <= task->lane_position && last_of(word) >= task->lane_position;
}

/* A need of any kind: a word tells what a bare RESULT would have told it. */
bool await_tells(struct core *core, struct task_record *task)
{
    struct awaits *awaits = &core->ownership.awaits;
    bool told = is_told(&awaits->heard, task, task->chair);
    for (uint32_t i = 0; !told && i < awaits->word_count; i++) {
        struct ended_word *word = &awaits->words[i];
        told = is_about(word, task) &&
               last_of(word) <= core->gossip.lanes[word->lane].len &&
               is_of_this_roll(core, word);
    }
    if (!told || !may_take_end(core, task) || MUTANT(WORDSDEAF)) {
        return false;
    }
    take_end(core, task);
    return true;
}

/* Takes words of the stretch as results, of tasks that have more here than a stub. */
static void learn(struct core *core, struct await *await)
{
    struct lane_record *lane = &core->gossip.lanes[await->lane];
    struct rankset said = {0};
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && has_said(core, await, rank) &&
            !rankset_add(&said, rank)) {
            core->broken = true;
        }
    }
    bool any = !rankset_empty(&said);
    for (uint64_t at = await->first; any && at <= await->last && !core->broken; at++) {
        void *known = lane_known(lane, at);
        struct task_record *task = known != NULL && !is_stub(known) ? known : NULL;
        if (task != NULL && may_take_end(core, task) &&
            rankset_has(&said, task->chair)) {
            take_end(core, task);
        }
    }
    rankset_release(&said);
}

/* --- What this rank says ---------------------------------------------------------- */

/* More is to be said of it than a word does. */
static bool is_told_apart(const struct task_record *task)
{
    return task->status != MOOT_OK || task->evidence != EVIDENCE_CLAIM ||
           (task->flags & CORE_TASK_ONCE) != 0 || task->leaves;
}

/* Up to where all that this rank chairs, or runs, has ended. */
static void go_along(struct core *core, struct await *await)
{
    const struct lane_record *lane = &core->gossip.lanes[await->lane];
    for (; await->cursor <= await->last; await->cursor++) {
        const void *known = lane_known(lane, await->cursor);
        if (known == NULL || is_stub(known)) {
            continue; /* forgotten, as all are done with it; or none of this rank's */
        }
        const struct task_record *task = known;
        bool open = task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING ||
                    (task->chair == core->rank && task->own == CORE_OWN_NONE &&
                     task->have == CORE_HAVE_NOTHING && task_ends_with(task) == 0);
        if (open && !MUTANT(ENDEARLY)) {
            return;
        }
        if (task->chair == core->rank) {
            await->mute |= task->own != CORE_OWN_DONE && !MUTANT(ENDEDELSEWHERE);
            await->apart |= task->own == CORE_OWN_DONE && is_told_apart(task);
        }
    }
}

static void tell_apart(struct core *core, const struct await *await, uint32_t to)
{
    const struct lane_record *lane = &core->gossip.lanes[await->lane];
    for (uint64_t at = await->first; at <= await->last; at++) {
        void *known = lane_known(lane, at);
        struct task_record *task = known != NULL && !is_stub(known) ? known : NULL;
        if (task != NULL && task->chair == core->rank && task->own == CORE_OWN_DONE &&
            is_told_apart(task)) {
            graph_push_end(core, task, to);
        }
    }
}

static void say(struct core *core, struct await *await)
{
    assert(await->last <= core->gossip.lanes[await->lane].len);
    struct ended_word word = {.lane = await->lane,
                              .first = behind_forgotten(core, await)};
    word.count = (uint32_t)(await->last + 1 - word.first);
    if (word.count == 0 || core->membership.leave.going) {
        return;
    }
    if (!sum_here(core, &word, &word.sum)) {
        await->mute = !MUTANT(WORDSHOLE);
        return;
    }
    FOR_MEMBERS(core, rank)
    {
        const struct peer *peer = rank != core->rank ? peer_seen(core, rank) : NULL;
        if (peer == NULL || peer->state.closed) {
            continue;
        }
        if (await->apart && !MUTANT(ENDEDFAILED)) {
            tell_apart(core, await, rank);
        }
        struct message *message = out_send(core, rank, MESSAGE_ENDED, NULL);
        if (message != NULL) {
            message->u.ended =
                (struct message_ended){word.lane, word.first, word.count, word.sum};
            word.rank = rank;
            note_told(core, &core->ownership.awaits.said, SAID_MAX, &word);
        }
    }
}

/* --- When ------------------------------------------------------------------------- */

/* As for what is pushed: as long as the motions for it are held back. */
static uint64_t due_ns(const struct core *core, const struct await *await)
{
    const uint64_t delay = core->options.ask_delay_ns;
    if (await->told || delay > CORE_NEVER / ASK_BUSY_FACTOR) {
        return CORE_NEVER;
    }
    const uint64_t busy_delay = await->shares ? ask_portable_delay_ns(core)
                                              : delay * ASK_BUSY_FACTOR + ASK_BUSY_NS;
    const uint64_t busy_ns = add_ns(await->since_ns, busy_delay);
    if (!core->step.idle) {
        return busy_ns;
    }
    bool before = await->since_ns < core->step.idle_since_ns;
    uint64_t idle_ns = add_ns(before ? core->step.idle_since_ns : await->since_ns,
                              delay * ASK_WAITER_FACTOR);
    return idle_ns < busy_ns ? idle_ns : busy_ns;
}

/* Nothing more is to be expected: who has closed waits no more. */
static bool all_have_said(struct core *core, const struct await *await)
{
    bool all = true;
    FOR_MEMBERS(core, rank)
    {
        all = all && (rank == core->rank || peer_seen(core, rank)->state.closed ||
                      has_said(core, await, rank));
    }
    return all;
}

static void say_if_ended(struct core *core, struct await *await)
{
    if (await->cursor > await->last) {
        return;
    }
    go_along(core, await);
    if (await->cursor > await->last) {
        await->news = true;
        if (!await->mute) {
            say(core, await);
        }
    }
}

static void look(struct core *core, struct await *await)
{
    say_if_ended(core, await);
    bool due = core->now_ns >= due_ns(core, await) && !MUTANT(WORDSALONE);
    if (!await->news && !due) {
        return;
    }
    await->news = false;
    bool all = await->cursor > await->last && all_have_said(core, await);
    if (all || due || await->told) {
        learn(core, await);
    }
    if ((all || due) && !await->told) {
        await->told = true;
        struct core_output *output = out_add(core, CORE_OUT_AWAITED, NULL);
        if (output != NULL) {
            output->u.awaited.lane = await->lane;
        }
    }
}

void await_look_again(struct core *core)
{
    for (uint32_t i = 0; i < core->ownership.awaits.count; i++) {
        core->ownership.awaits.items[i].news = true;
    }
}

void await_turn(struct core *core)
{
    for (uint32_t i = 0; i < core->ownership.awaits.count; i++) {
        look(core, &core->ownership.awaits.items[i]);
    }
}

uint64_t await_deadline(const struct core *core)
{
    uint64_t least_ns = CORE_NEVER;
    for (uint32_t i = 0; i < core->ownership.awaits.count; i++) {
        uint64_t ns = due_ns(core, &core->ownership.awaits.items[i]);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns;
}

bool await_none_held_back(const struct core *core)
{
    for (uint32_t i = 0; i < core->ownership.awaits.count; i++) {
        if (!core->ownership.awaits.items[i].asked) {
            return false;
        }
    }
    return true;
}

/* --- Beginning and ending --------------------------------------------------------- */

static bool is_on(const struct core *core)
{
    return core->member_count > 1 && !disseminate_is_on(core) && core->epoch > 0 &&
           !core->membership.leave.going && !core->step.closed;
}

bool core_may_await(const struct core *core, uint32_t lane, const void *entry)
{
    const struct task_record *task = entry;
    const unsigned apart =
        CORE_TASK_ONCE | CORE_TASK_NESTED | CORE_TASK_HINT | CORE_TASK_ADOPTED;
    if (!is_on(core) || is_stub(task) || !task->held || task->position == 0 ||
        task->lane != lane || (task->flags & apart) != 0 || task->finder ||
        task->chair == NOBODY || task_ends_with(task) != 0) {
        return false;
    }
    if (task->chair == core->rank) {
        return true;
    }
    return !peer_seen(core, task->chair)->state.closed &&
           (!core->gossip.differs || roll_knows_holder(core, task, task->chair));
}

uint64_t core_roll_len(const struct core *core, uint32_t lane)
{
    return lane < core->gossip.lane_count ? core->gossip.lanes[lane].len : 0;
}

static void note_stretch(const struct core *core, const struct core_event *event,
                         struct await *await)
{
    await->first = UINT64_MAX;
    for (size_t i = 0; i < event->u.await.count; i++) {
        const struct task_record *task = event->u.await.tasks[i];
        assert(task->lane == await->lane && task->position != 0);
        uint64_t at = task->lane_position;
        await->shares |=
            hash_has(&task->hash, MOOT_HASH_ARRAY) && spec_to_send(task) != NULL;
        await->first = at < await->first ? at : await->first;
        await->last = at > await->last ? at : await->last;
    }
    if (event->u.await.behind != CORE_NEVER) {
        await->first = event->u.await.behind + 1 < await->first
                           ? event->u.await.behind + 1
                           : await->first;
        await->last = core->gossip.lanes[await->lane].len;
    }
    await->cursor = await->first;
}

int await_begin(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_AWAIT);
    struct awaits *awaits = &core->ownership.awaits;
    struct await *await = find_await(core, event->u.await.lane);
    if (event->u.await.count == 0) {
        if (await == NULL || !await->told) {
            return MOOT_ERR_STATE;
        }
        await->asked = true;
        return MOOT_OK;
    }
    struct await made = {
        .lane = event->u.await.lane, .since_ns = core->now_ns, .news = true};
    if (await != NULL || !is_on(core) || made.lane >= core->gossip.lane_count) {
        return MOOT_ERR_STATE;
    }
    note_stretch(core, event, &made);
    if (event->u.await.behind == CORE_NEVER &&
        made.last - made.first >= event->u.await.count && !MUTANT(WORDSWIDE)) {
        return MOOT_ERR_STATE;
    }
    if (!core_grow(core, &awaits->items, &awaits->room, awaits->count + 1,
                   sizeof(*awaits->items))) {
        return MOOT_ERR_NO_MEMORY;
    }
    awaits->items[awaits->count++] = made;
    return MOOT_OK;
}

/* The wait ends, and no word will tell others of it: this rank's own are pushed to
 * those who spawned them, as if the lane had waited for each (T3a). */
static void push_instead(struct core *core, const struct await *await)
{
    const struct lane_record *lane = &core->gossip.lanes[await->lane];
    for (uint64_t at = await->first; at <= await->last; at++) {
        void *known = lane_known(lane, at);
        struct task_record *task = known != NULL && !is_stub(known) ? known : NULL;
        if (task != NULL && task->own != CORE_OWN_NONE && !task->push_holders) {
            graph_lane_waits(core, task);
        }
    }
}

int await_end(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_UNAWAIT);
    struct awaits *awaits = &core->ownership.awaits;
    struct await *await = find_await(core, event->u.await.lane);
    if (await == NULL) {
        return MOOT_ERR_STATE;
    }
    say_if_ended(core, await);
    if ((await->mute || await->cursor <= await->last) && !MUTANT(WORDSENDED)) {
        push_instead(core, await);
    }
    for (uint32_t i = awaits->word_count; i-- > 0;) {
        struct ended_word *word = &awaits->words[i];
        if (word->lane != await->lane || last_of(word) > await->last) {
            continue;
        }
        if (is_of_this_roll(core, word)) {
            note_told(core, &awaits->heard, HEARD_MAX, word);
        }
        forget_word(awaits, i);
    }
    *await = awaits->items[--awaits->count];
    return MOOT_OK;
}

void await_enter_view(struct core *core)
{
    struct awaits *awaits = &core->ownership.awaits;
    awaits->word_count = 0;
    forget_stretches(&awaits->said);
    forget_stretches(&awaits->heard);
    for (uint32_t i = 0; i < awaits->count; i++) {
        struct await *await = &awaits->items[i];
        await->cursor = await->first;
        await->mute = await->apart = false;
        await->news = true;
    }
}

void await_release(struct core *core)
{
    struct awaits *awaits = &core->ownership.awaits;
    forget_stretches(&awaits->said);
    forget_stretches(&awaits->heard);
    free(awaits->items);
    free(awaits->words);
    free(awaits->said.items);
    free(awaits->heard.items);
    *awaits = (struct awaits){0};
}
