/* members.c - see members.h. */
#include "node/members/members.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/engine/inbox.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/members/farewell.h"
#include "node/members/peer_monitor.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/tasks/death.h"
#include "proto/error.h"

#include <stdio.h>
#include <stdlib.h>

#define MILLISECONDS(n) (UINT64_C(1000000) * (n))

/* Of PROTOCOL.md, *Views*.  A certain death waits for the batch alone, so that it is
 * short; the rest are for guesses. */
#define STAGGER_NS MILLISECONDS(200)
#define BATCH_NS MILLISECONDS(20)
enum {
    QUORUM_SUSPECTS = 5, /* T_q in terms of T_susp */
    RANKS_TEXT_BYTES = 256
};

/* --- Knobs ----------------------------------------------------------------------- */

int members_options(const struct moot *m, struct core_options *options, char *story,
                    size_t story_size)
{
    const struct knobs *knobs = &m->knobs;
    struct knob_timers timers;
    knobs_timers(knobs, &timers);
    options->opened_ns = m->opened_ns;
    options->stagger_ns = STAGGER_NS;
    options->batch_ns = BATCH_NS;
    options->solo = knobs->split == KNOB_SPLIT_SOLO;
    if (!knobs_may_guess(knobs, m->group.threads)) {
        options->heartbeat_ns = CORE_NEVER;
        return MOOT_OK;
    }
    options->heartbeat_ns = timers.heartbeat_ns;
    options->lease_ns = timers.lease_ns;
    options->suspect_ns = timers.suspect_ns;
    options->adapt |= knobs->suspect_ns == KNOB_AUTO ? (uint32_t)CORE_ADAPT_SUSPECT : 0;
    options->quorum_wait_ns = options->suspect_ns * QUORUM_SUSPECTS;
    return knobs_agree(knobs, m->group.threads, story, story_size);
}

bool members_open(struct moot *m)
{
    m->members.epoch = m->group.rank < m->group.founders;
    m->members.all = calloc(m->group.size, sizeof(*m->members.all));
    m->members.watch = watch_new(&m->group);
    for (uint32_t rank = 0; m->members.all != NULL && rank < m->group.size; rank++) {
        if (m->group.uids[rank] == 0) {
            m->members.all[rank].state = MEMBER_YET_TO_COME;
        }
    }
    return m->members.all != NULL && m->members.watch != NULL;
}

/* --- Those who come later --------------------------------------------------------- */

void members_take_newcomers(struct moot *m)
{
    struct transport *wire = m->transport;
    uint32_t rank;
    while (wire->ops->next_newcomer != NULL &&
           (rank = wire->ops->next_newcomer(wire, &m->group)) != UINT32_MAX) {
        inbox_name(m->engine.inbox, m->group.uids[rank], rank);
        watch_add(m->members.watch, &m->group, rank);
    }
}

/* A view has let it in.  Its end may have been seen before. */
static void let_in(struct moot *m, uint32_t rank)
{
    struct member *member = &m->members.all[rank];
    member->state = MEMBER_HERE;
    member->joined_ns = rank >= m->group.founders ? clock_ns() : 0;
    member->dying = member->ended_ns != 0;
    m->members.dying += member->dying;
}

/* This rank's first view: who is not in it was gone before. */
static void enter_first(struct moot *m, const struct rankset *members)
{
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        struct member *member = &m->members.all[rank];
        if (rankset_has(members, rank)) {
            let_in(m, rank);
        } else if (member->state != MEMBER_YET_TO_COME) {
            member->state = member->state == MEMBER_HERE ? MEMBER_LEFT : member->state;
            member->removed_ns = m->opened_ns;
            m->members.gone++;
        }
    }
    if (m->members.gone > 0) {
        m->transport->ops->go_alone(m->transport);
    }
}

void members_release(struct moot *m)
{
    watch_free(m->members.watch);
    for (uint32_t rank = 0; m->members.all != NULL && rank < m->group.size; rank++) {
        death_free(m->members.all[rank].death);
    }
    free(m->members.all);
}

/* --- Deaths ---------------------------------------------------------------------- */

/* Whether a message of this type of the core's may go to that rank. */
static bool may_send(const struct moot *m, uint32_t to, enum message_type type)
{
    switch (m->members.all[to].state) {
    case MEMBER_HERE:
        /* Among few the farewell says it, when all is flushed. */
        return type != MESSAGE_ADJOURN || farewell_passes_on(m);
    case MEMBER_REMOVED:
    case MEMBER_YET_TO_COME: /* a view that lets it in, or a word that none does */
    case MEMBER_LEFT:        /* the view without it is what it waits for */
        return type == MESSAGE_FENCED || type == MESSAGE_VIEW;
    case MEMBER_DEAD:
        break;
    }
    return false;
}

void members_carry_send(struct moot *m, const struct core_output *output)
{
    const struct message *message = &output->u.send.message;
    if (m->members.all[output->u.send.to].state == MEMBER_YET_TO_COME) {
        members_take_newcomers(m);
    }
    if (message->type == MESSAGE_HEARTBEAT) {
        trace_suspects(m, message->u.heartbeat.suspects);
    }
    if (!may_send(m, output->u.send.to, message->type)) {
        return;
    }
    if (message->type == MESSAGE_ADJOURN) {
        struct message told = *message;
        told.u.adjourn.what = ADJOURN_CLOSED;
        outbox_add(m, output->u.send.to, &told, NULL);
        return;
    }
    outbox_add(m, output->u.send.to, message, output->user);
}

static uint32_t lowest_here(const struct moot *m)
{
    uint32_t rank = 0;
    while (rank != m->group.rank && !members_is_here(m, rank)) {
        rank++;
    }
    return rank;
}

/* "died of signal 11 ...", or "died" if no more is known. */
static void tell_watches(struct moot *m, enum moot_event_kind kind, uint32_t rank)
{
    const char *story = m->members.all[rank].story;
    struct text why = {0};
    text_add(&why, "died%s%s", story != NULL && *story != '\0' ? " " : "",
             story != NULL ? story : "");
    observe_rank(m, kind, rank, text_get(&why));
    text_release(&why);
}

static void lose(struct moot *m, uint32_t rank, enum member_state state)
{
    struct member *member = &m->members.all[rank];
    m->members.gone += member->state == MEMBER_HERE;
    m->members.lost += member->state == MEMBER_HERE && state != MEMBER_LEFT;
    member->state = state;
    if (state == MEMBER_DEAD) {
        trace_lost(m, rank, true);
        tell_watches(m, MOOT_EVENT_RANK_DIED, rank);
    }
    outbox_void(m, rank);
    m->transport->ops->go_alone(m->transport);
    if (state == MEMBER_DEAD) {
        m->transport->ops->forget(m->transport, m->group.uids[rank]);
    } else if (state == MEMBER_REMOVED && m->transport->ops->distrust != NULL) {
        m->transport->ops->distrust(m->transport, m->group.uids[rank]);
    }
}

/* In good order: its process may end, now or later, or has ended already. */
static void let_go(struct moot *m, uint32_t rank)
{
    struct member *member = &m->members.all[rank];
    m->members.dying -= member->dying;
    member->dying = false;
    observe_rank(m, MOOT_EVENT_RANK_LEFT, rank, "");
    trace_parted(m, rank);
    lose(m, rank, MEMBER_LEFT);
    if (member->ended_ns != 0) {
        m->transport->ops->forget(m->transport, m->group.uids[rank]);
    }
}

/* Every member but this rank has ended, and none of them said that all is over. */
static bool is_left_behind(const struct moot *m)
{
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        const enum member_state state = m->members.all[rank].state;
        if (rank != m->group.rank &&
            (state == MEMBER_HERE || state == MEMBER_REMOVED)) {
            return false;
        }
    }
    return true;
}

static void say_what_the_launcher_does(struct moot *m, uint32_t rank)
{
    if (!m->group.survives && !m->members.noted && lowest_here(m) == m->group.rank) {
        m->members.noted = true;
        report_add(m,
                   "moot: rank %u has died, and this mpirun ends the whole job with "
                   "it.  To let the other ranks finish, start the job with `moot run` "
                   "or with `mpirun --enable-recovery`.\n",
                   rank);
    }
}

static uint32_t count_dead(const struct moot *m)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        count += m->members.all[rank].state == MEMBER_DEAD;
    }
    return count;
}

/* At the first death: who says it may be the next. */
static void say_that_nobody_waits(struct moot *m)
{
    if (!death_has_witness() && m->group.survives && count_dead(m) == 1) {
        report_add(m,
                   "moot: what it died of only `moot run` can see, and only then is it "
                   "counted whether a task kills each rank that runs it; said once\n");
    }
}

static void tell_crash(struct moot *m, uint32_t rank, const moot_hash *hash,
                       bool perhaps)
{
    struct core_event event = {.type = CORE_EV_CRASH, .hash = *hash};
    event.u.crash.rank = rank;
    event.u.crash.perhaps = perhaps;
    engine_step(m, &event);
}

/* The clock is looked at when the end has been seen, not before: a rank that stood
 * still between the two would take a lease for good that had run out when the other
 * ended, and go on alone beside those who had removed it. */
static void tell_core(struct moot *m, uint32_t rank)
{
    death_each_culprit(m, rank, tell_crash, m);
    engine_look_at_clock(m);
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = rank;
    if (engine_step(m, &event) == MOOT_ERR_STATE) {
        m->members.uncertain = true;
    }
    if (m->members.uncertain && is_left_behind(m) && !m->engine.adjourned) {
        engine_fail(m, MOOT_ERR_NO_QUORUM,
                    "rank %u was out of touch, and meanwhile all its peers have ended: "
                    "whether they had removed it first cannot be known any more",
                    m->group.rank);
    }
}

/* The lowest of those that can know what it died of. */
static bool tells_of(const struct moot *m, uint32_t rank)
{
    uint32_t lowest = 0;
    while (lowest != m->group.rank && (m->group.hosts[lowest] != m->group.hosts[rank] ||
                                       !members_is_here(m, lowest))) {
        lowest++;
    }
    return lowest == m->group.rank;
}

/* A rank that says so acts no more, and so is as certain as one whose end was seen. */
static void take_ended_alone(struct moot *m, uint32_t rank, int code)
{
    struct member *member = &m->members.all[rank];
    member->ended_ns = clock_ns();
    member->story = code == MOOT_ERR_NO_MEMORY ? "for want of memory"
                                               : "because its state is another";
    lose(m, rank, MEMBER_DEAD);
    progress_wake(m);
    if (!m->engine.adjourned && m->engine.fatal == 0) {
        if (tells_of(m, rank)) {
            report_add(m, "moot: rank %u ended %s\n", rank, member->story);
        }
        tell_core(m, rank);
    }
}

static void take_death(struct moot *m, uint32_t rank)
{
    bool over = m->engine.adjourned || m->engine.fatal != 0;
    const bool left = over && (m->members.all[rank].left || m->members.departed ||
                               farewell_saw_end(m, rank));
    if (left) {
        m->transport->ops->go_alone(m->transport);
        return; /* neither has more to say to the other */
    }
    if (!over && core_is_ready_to_go(m->core, rank)) {
        let_go(m, rank); /* a view without it is decided, or soon will be */
        progress_wake(m);
        tell_core(m, rank);
        return;
    }
    struct member *member = &m->members.all[rank];
    death_free(member->death);
    member->death = death_look(m, rank);
    member->story = death_story(member->death);
    lose(m, rank, MEMBER_DEAD);
    progress_wake(m);
    if (!over) {
        if (*member->story != '\0' && tells_of(m, rank)) {
            report_add(m, "moot: rank %u died %s\n", rank, member->story);
            say_that_nobody_waits(m);
        }
        say_what_the_launcher_does(m, rank);
        tell_core(m, rank);
    }
}

static void look_at_dying(struct moot *m, uint64_t now_ns)
{
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        struct member *member = &m->members.all[rank];
        const bool over = m->engine.adjourned || m->engine.fatal != 0;
        if (member->dying &&
            (over || death_is_told(m, rank, now_ns - member->ended_ns))) {
            member->dying = false;
            m->members.dying--;
            take_death(m, rank);
        }
    }
}

static void give_up_joining(struct moot *m)
{
    m->transport->ops->go_alone(m->transport);
    engine_fail(m, MOOT_ERR_CLOSED,
                "all other ranks closed or ended before they had let rank %u in",
                m->group.rank);
}

/* A newcomer that is not let in yet, and nobody is left who could.  Others that waited
 * as it did learn it by its end, and so it must not wait for theirs. */
static void look_for_anybody(struct moot *m)
{
    if (m->members.epoch == 0 && is_left_behind(m)) {
        give_up_joining(m);
    }
}

/* Its end has been seen, here or by the launcher, which may both come. */
static void find_end(struct moot *m, uint32_t rank, uint64_t now_ns)
{
    struct member *member = &m->members.all[rank];
    if (member->state == MEMBER_LEFT) {
        m->transport->ops->forget(m->transport, m->group.uids[rank]);
        return;
    }
    if (member->state == MEMBER_YET_TO_COME || m->members.epoch == 0) {
        member->ended_ns = now_ns; /* the core hears of it when it is a member */
        member->state = member->state == MEMBER_HERE ? MEMBER_DEAD : member->state;
        look_for_anybody(m);
        return;
    }
    if (member->state == MEMBER_DEAD || member->dying) {
        return; /* it had said so (take_ended_alone), or it is known already */
    }
    member->ended_ns = now_ns;
    member->dying = true;
    m->members.dying++;
}

/* A rank that is found ended is lost by a later look: its last words are taken before.
 */
void members_look(struct moot *m, uint64_t now_ns)
{
    struct transport *wire = m->transport;
    uint32_t rank;
    members_take_newcomers(m);
    if (m->members.dying > 0) {
        look_at_dying(m, now_ns);
    }
    while ((rank = watch_next(m->members.watch, now_ns)) != UINT32_MAX) {
        find_end(m, rank, now_ns);
    }
    while (wire->ops->next_death != NULL &&
           (rank = wire->ops->next_death(wire)) != UINT32_MAX) {
        find_end(m, rank, now_ns);
    }
    if (m->members.epoch == 0 && m->engine.fatal == 0 && wire->ops->emptied != NULL &&
        wire->ops->emptied(wire)) {
        give_up_joining(m);
    }
    farewell_look(m, now_ns);
}

/* --- Views ----------------------------------------------------------------------- */

static void tell_view(struct moot *m, const struct rankset *members,
                      const struct text *gone)
{
    char ranks[RANKS_TEXT_BYTES];
    if (rankset_next(members, 0) == m->group.rank) {
        report_add(m, "moot: %s; rank%s %s go%s on in view %llu\n", text_get(gone),
                   rankset_count(members) == 1 ? "" : "s",
                   (rankset_format(members, ranks, sizeof(ranks)), ranks),
                   rankset_count(members) == 1 ? "es" : "",
                   (unsigned long long)m->members.epoch);
    }
}

/* "b_0", as the launcher has named it. */
char *members_process(const struct moot *m, uint32_t rank,
                      char text[MEMBERS_NAME_BYTES])
{
    const struct process_origin first = {0, rank};
    const struct process_origin *origin =
        m->group.origins != NULL ? &m->group.origins[rank] : &first;
    char wave[8];
    size_t at = sizeof(wave) - 1;
    wave[at] = '\0';
    for (uint32_t left = origin->wave + 1; left > 0 && at > 0; left = (left - 1) / 26) {
        wave[--at] = (char)('a' + (left - 1) % 26);
    }
    snprintf(text, MEMBERS_NAME_BYTES, "%s_%u", wave + at, origin->index);
    return text;
}

static void tell_newcomer(struct moot *m, const struct rankset *members, uint32_t rank)
{
    char name[MEMBERS_NAME_BYTES];
    observe_rank(m, MOOT_EVENT_RANK_JOINED, rank, members_process(m, rank, name));
    trace_joined(m, rank, name);
    if (rankset_next(members, 0) == m->group.rank) {
        report_add(m, "moot: rank %u (%s) joins in view %llu\n", rank,
                   members_process(m, rank, name),
                   (unsigned long long)m->members.epoch);
    }
}

static const char OUT_OF_REACH[] = "was silent for too long or is out of reach";

static void add_gone(struct text *text, const struct moot *m, uint32_t rank)
{
    const struct member *member = &m->members.all[rank];
    text_add(text, "%srank %u ", text->length > 0 ? ", " : "", rank);
    if (member->state != MEMBER_DEAD) {
        text_add(text, "%s", OUT_OF_REACH);
        return;
    }
    text_add(text, "died (agreed on ");
    text_add_duration(text, member->removed_ns - member->ended_ns);
    text_add(text, " after it was seen)");
}

void members_carry_view(struct moot *m, const struct core_output *output)
{
    const struct rankset *members = output->u.view.members;
    struct text gone = {0};
    uint64_t now_ns = clock_ns();
    members_take_newcomers(m);
    if (m->members.epoch == 0) {
        enter_first(m, members);
    }
    m->members.epoch = output->u.view.epoch;
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        struct member *member = &m->members.all[rank];
        if (rankset_has(members, rank) && member->state == MEMBER_YET_TO_COME) {
            let_in(m, rank);
            tell_newcomer(m, members, rank);
        }
        if (rankset_has(members, rank) || member->removed_ns != 0 ||
            member->state == MEMBER_YET_TO_COME) {
            continue;
        }
        member->removed_ns = now_ns;
        member->epoch = m->members.epoch;
        if (member->state == MEMBER_LEFT) {
            continue;
        }
        if (rankset_has(output->u.view.left, rank)) {
            outbox_hurry(m, rank); /* the view itself may be among it */
            let_go(m, rank);
            continue;
        }
        trace_lost(m, rank, false);
        if (member->state == MEMBER_DEAD) {
            tell_watches(m, MOOT_EVENT_RANK_REMOVED, rank);
        } else {
            observe_rank(m, MOOT_EVENT_RANK_REMOVED, rank, OUT_OF_REACH);
        }
        if (member->state == MEMBER_HERE) {
            outbox_hurry(m, rank); /* the view itself may be among it */
            lose(m, rank, MEMBER_REMOVED);
        }
        add_gone(&gone, m, rank);
    }
    if (gone.length > 0) {
        tell_view(m, members, &gone);
    }
    outbox_tell_kernels_again(m);
    text_release(&gone);
}

void members_carry_quorum(struct moot *m, const struct core_output *output)
{
    if (!output->u.quorum.have) {
        m->transport->ops->go_alone(m->transport);
        engine_fail(m, MOOT_ERR_NO_QUORUM,
                    "rank %u has been cut off from the majority for too long",
                    m->group.rank);
    }
}

void members_carry_fenced(struct moot *m, const struct core_output *output)
{
    m->transport->ops->go_alone(m->transport);
    if (m->members.epoch == 0) {
        engine_fail(m, output->u.fenced.code,
                    "the others did not let rank %u in: their moot takes no newcomers, "
                    "or not so many",
                    m->group.rank);
        return;
    }
    observe_rank(m, MOOT_EVENT_RANK_REMOVED, m->group.rank,
                 "the others did not hear it");
    engine_fail(m, output->u.fenced.code,
                "the others removed rank %u from the moot: they had not heard it for "
                "longer than MOOT_SUSPECT",
                m->group.rank);
}

void members_carry_refuse(struct moot *m, const struct core_output *output)
{
    uint32_t rank = m->group.founders;
    while (rank < m->group.size && m->group.uids[rank] != output->u.refuse.uid) {
        rank++;
    }
    if (rank < m->group.size) {
        outbox_add(m, rank, &output->u.refuse.message, NULL);
    }
}

void members_carry_left(struct moot *m, const struct core_output *output)
{
    m->members.departed = true;
    trace_left(m);
    if (m->group.size > 1) {
        m->transport->ops->go_alone(m->transport);
    }
    engine_carry_end(m, output);
}

bool members_take_over(struct moot *m, const struct task *task)
{
    struct rankset first = {0};
    if (m->members.lost == 0 || task == NULL ||
        hash_has(&task->hash, MOOT_HASH_CANDIDATES)) {
        return false; /* whose candidates only the core knows */
    }
    for (uint32_t rank = 0; rank < m->group.founders; rank++) {
        if (!rankset_add(&first, rank)) {
            break;
        }
    }
    uint32_t chair = placement_chair(&task->hash, &first, NULL);
    rankset_release(&first);
    if (chair >= m->group.founders || members_is_here(m, chair) ||
        m->members.all[chair].state == MEMBER_LEFT) {
        return false;
    }
    m->members.taken_over_ns =
        m->members.taken_over == 0 ? clock_ns() : m->members.taken_over_ns;
    m->members.taken_over++;
    observe_event(m, MOOT_EVENT_RERUN, task, (int)chair, NULL);
    return true;
}

const char *members_stays(const struct moot *m)
{
    if (m->knobs.divergence == CORE_STRICT) {
        return "with MOOT_DIVERGENCE=strict every rank spawns all that the others "
               "spawn, to the end";
    }
    if (m->group.size > 1 && !m->group.survives) {
        return "this mpirun ends the whole job when a rank ends before the others: "
               "start the job with `moot run`, or with `mpirun --enable-recovery`";
    }
    return NULL;
}

/* --- Farewells ------------------------------------------------------------------- */

/* ADJOURN of one that is no member is ignored: it ended by itself, and for itself. */
bool members_take_adjourn(struct moot *m, uint32_t from, const struct message *message)
{
    const int code = message->u.adjourn.exit_code;
    const bool here = members_is_here(m, from);
    if (here && (code == MOOT_ERR_NO_MEMORY || code == MOOT_ERR_SIGNATURE) &&
        m->group.survives) {
        take_ended_alone(m, from, code);
        return false;
    }
    if (here) {
        if (!m->members.all[from].left && code == MOOT_OK &&
            message->u.adjourn.what != ADJOURN_CLOSED) {
            observe_rank(m, MOOT_EVENT_RANK_LEFT, from, "");
        }
        if (code == MOOT_OK) {
            farewell_take(m, from, message);
        } else {
            m->members.all[from].left = true;
        }
        progress_wake(m);
    }
    if (here && code != MOOT_OK) {
        engine_fail(m, error_known(code) ? code : MOOT_ERR_CLOSED,
                    "rank %u ended the moot for everyone: %s (%s)", from,
                    error_text(code), error_name(code));
    }
    return code == MOOT_OK;
}
