/* exit_report.c - see exit_report.h. */
#include "node/explain/exit_report.h"

#include "consensus/core_view.h"
#include "node/engine/clock.h"
#include "node/engine/report_queue.h"
#include "node/members/members.h"
#include "node/service/status_socket.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void stats_fill(const struct moot *m, moot_stats *out)
{
    const struct core_stats *core = core_stats(m->core);
    struct transport_stats wire;
    m->transport->ops->stats(m->transport, &wire);
    *out = (moot_stats){
        .tasks_spawned = m->counts.spawned,
        .tasks_run = m->counts.run,
        .tasks_failed = m->counts.failed,
        .tasks_retried = m->counts.retried,
        .tasks_verified = m->counts.verified,
        .tasks_nondeterministic = m->counts.nondeterministic,
        .motions = core->motions_sent,
        .results_pushed = core->results_pushed,
        .results_answered = core->results_answered,
        .results_received = m->counts.results_received,
        .gossip_messages = core->sent[MESSAGE_ROLL] + core->sent[MESSAGE_WANT] +
                           core->sent[MESSAGE_HASHES] + core->sent[MESSAGE_STATE],
        .heartbeat_messages = core->sent[MESSAGE_HEARTBEAT] + core->sent[MESSAGE_GRANT],
        .frames_sent = wire.frames_sent,
        .bytes_sent = wire.bytes_sent,
        .frames_received = wire.frames_received,
        .bytes_received = wire.bytes_received,
        .frames_refused = m->counts.frames_refused,
        .stalls = m->counts.stalls,
        .violations = core->violations,
        .ranks_lost = m->members.lost,
        .tasks_taken_over = m->members.taken_over,
    };
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        out->messages_sent += core->sent[type];
    }
    for (int evidence = EVIDENCE_CLOSED; evidence < EVIDENCE_END; evidence++) {
        out->votes_by[evidence - EVIDENCE_CLOSED] = core->yields[evidence];
        out->votes += core->yields[evidence];
    }
}

size_t summary_figures(const struct moot *m, struct figure out[SUMMARY_FIGURES])
{
    moot_stats stats;
    stats_fill(m, &stats);
    const struct core_stats *core = core_stats(m->core);
    struct transport_stats wire;
    m->transport->ops->stats(m->transport, &wire);
    const struct figure figures[] = {
        {"rank", m->group.rank},
        {"size", m->group.size},
        {"wall_ns", clock_ns() - m->opened_ns},
        {"tasks_spawned", stats.tasks_spawned},
        {"tasks_run", stats.tasks_run},
        {"tasks_failed", stats.tasks_failed},
        {"tasks_retried", stats.tasks_retried},
        {"tasks_verified", stats.tasks_verified},
        {"tasks_nondeterministic", stats.tasks_nondeterministic},
        {"tasks_common", core->common},
        {"tasks_partial", core->partial},
        {"tasks_forgotten", core->dropped},
        {"votes", stats.votes},
        {"votes_closed", core->yields[EVIDENCE_CLOSED]},
        {"votes_declined", core->yields[EVIDENCE_DECLINED]},
        {"votes_hint", core->yields[EVIDENCE_HINT]},
        {"votes_nested", core->yields[EVIDENCE_NESTED]},
        {"votes_blocked", core->yields[EVIDENCE_BLOCKED]},
        {"votes_timeout", core->yields[EVIDENCE_TIMEOUT]},
        {"votes_quiet", core->yields[EVIDENCE_QUIET]},
        {"motions", stats.motions},
        {"results_pushed", stats.results_pushed},
        {"results_answered", stats.results_answered},
        {"results_received", stats.results_received},
        {"gossip_messages", stats.gossip_messages},
        {"heartbeat_messages", stats.heartbeat_messages},
        {"messages_sent", stats.messages_sent},
        {"frames_sent", stats.frames_sent},
        {"bytes_sent", stats.bytes_sent},
        {"frames_refused", stats.frames_refused},
        {"stalls", stats.stalls},
        {"violations", stats.violations},
        {"ranks_lost", stats.ranks_lost},
        {"tasks_taken_over", stats.tasks_taken_over},
        {"peers_by_ring", wire.peers_by_ring},
        {"peers_by_wire", m->group.size - 1 - wire.peers_by_ring},
    };
    static_assert(sizeof(figures) <= SUMMARY_FIGURES * sizeof(figures[0]),
                  "there is room for all figures");
    memcpy(out, figures, sizeof(figures));
    return sizeof(figures) / sizeof(figures[0]);
}

static void write_figures(FILE *file, const struct moot *m, int close_code)
{
    struct figure figures[SUMMARY_FIGURES];
    size_t count = summary_figures(m, figures);
    fprintf(file, "close_code %d\n", close_code);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s %llu\n", figures[i].key,
                (unsigned long long)figures[i].value);
    }
}

/* What the plan did here, by the number of the rule; and times that `moot run` sets
 * beside those of other ranks of this host. */
static void write_faults(FILE *file, const struct moot *m)
{
    const struct faults *faults = &m->faults;
    for (uint32_t i = 0; faults->plan != NULL && i < faults->plan->rule_count; i++) {
        fprintf(file, "fault_%u %llu\n", i, (unsigned long long)faults->hits.fired[i]);
    }
}

static void write_losses(FILE *file, const struct moot *m)
{
    fprintf(file, "ended_ns %llu\n", (unsigned long long)clock_ns());
    fprintf(file, "taken_over_ns %llu\n", (unsigned long long)m->members.taken_over_ns);
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        const struct member *member = &m->members.all[rank];
        if (member->state != MEMBER_HERE) {
            fprintf(file, "lost_%u %llu %llu %llu\n", rank,
                    (unsigned long long)member->ended_ns,
                    (unsigned long long)member->removed_ns,
                    (unsigned long long)member->epoch);
        }
    }
}

static void write_sheet(FILE *file, const struct moot *m, int close_code)
{
    write_figures(file, m, close_code);
    write_losses(file, m);
    write_faults(file, m);
}

static void write_struck(FILE *file, const struct moot *m, int unused)
{
    (void)unused;
    fprintf(file, "rank %u\n", m->group.rank);
    fprintf(file, "struck_ns %llu\n", (unsigned long long)clock_ns());
    write_faults(file, m);
}

/* Writes `name-<rank>` under another name first. */
static bool write_file(const struct moot *m, const char *name,
                       void (*write)(FILE *, const struct moot *, int), int code)
{
    struct text path = {0}, unfinished = {0};
    text_add(&path, "%s/%s-%u", m->knobs.summary, name, m->group.rank);
    text_add(&unfinished, "%s.unfinished", text_get(&path));
    FILE *file = fopen(text_get(&unfinished), "w");
    bool good = file != NULL;
    if (good) {
        write(file, m, code);
        good = fclose(file) == 0 && rename(text_get(&unfinished), text_get(&path)) == 0;
    }
    text_release(&path);
    text_release(&unfinished);
    return good;
}

void summary_begin(const struct moot *m)
{
    struct text path = {0};
    text_add(&path, "%s/rank-%u.unfinished", m->knobs.summary, m->group.rank);
    FILE *file = m->knobs.summary[0] != '\0' ? fopen(text_get(&path), "w") : NULL;
    if (file != NULL) {
        fprintf(file, "door %s\n", door_path(m));
        fclose(file);
    }
    text_release(&path);
}

void summary_write_struck(struct moot *m)
{
    if (m->knobs.summary[0] != '\0') {
        write_file(m, "struck", write_struck, 0);
    }
}

void summary_write(struct moot *m, int close_code)
{
    if (m->knobs.summary[0] != '\0' &&
        !write_file(m, "rank", write_sheet, close_code)) {
        report_add(m, "moot: rank %u cannot write its summary to %s: %s\n",
                   m->group.rank, m->knobs.summary, strerror(errno));
    }
}
