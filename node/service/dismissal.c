/* dismissal.c - see dismissal.h. */
#include "node/service/dismissal.h"

#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/snapshot_query.h"
#include "node/members/members.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/service/sigterm.h"

static bool is_last(const struct moot *m)
{
    bool others = false;
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        others |= rank != m->group.rank && members_is_here(m, rank);
    }
    return !others;
}

static bool can_leave(const struct moot *m)
{
    return members_stays(m) == NULL && !is_last(m) && m->engine.fatal == 0;
}

static void begin(struct moot *m, const char *by)
{
    if (m->service.asked_ns != 0 || m->engine.closing || !can_leave(m)) {
        return;
    }
    const bool watched = (m->record.observed_kinds & MOOT_EVENT_RANK_ASKED) != 0;
    m->service.asked_ns = m->now_ns;
    m->service.goes = !watched;
    trace_asked(m, by);
    observe_rank(m, MOOT_EVENT_RANK_ASKED, m->group.rank, by);
    progress_wake(m);
}

void dismissal_begins(struct moot *m)
{
    m->service.goes = false;
    m->service.dismissed = m->service.asked_ns != 0;
}

void dismissal_pass_on(struct moot *m, uint32_t member)
{
    if (member == m->group.rank) {
        begin(m, "by moot shrink");
    } else if (member < m->group.size && members_is_here(m, member)) {
        struct message message = {.type = MESSAGE_INQUIRY,
                                  .u.inquiry = {.number = INQUIRY_TO_LEAVE}};
        outbox_add_own(m, member, &message);
    }
}

bool dismissal_take_inquiry(struct moot *m, uint32_t from,
                            const struct message *message)
{
    if (message->u.inquiry.number != INQUIRY_TO_LEAVE) {
        return inquiry_take(m, from, message);
    }
    if (members_is_here(m, from)) {
        begin(m, "by moot shrink");
    }
    return false;
}

/* One that cannot leave dies of it as any process does; one that closes has the time
 * that it was given. */
void dismissal_look(struct moot *m, uint64_t now_ns)
{
    const unsigned terms = sigterm_count();
    (void)now_ns;
    if (terms == m->service.terms_seen) {
        return;
    }
    m->service.terms_seen = terms;
    if (m->service.asked_ns == 0 && !m->engine.closing && !can_leave(m)) {
        sigterm_die();
        return;
    }
    begin(m, "by SIGTERM");
}
