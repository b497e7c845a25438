/* figures.c - see figures.h. */
#include "node/record/figures.h"

#include "consensus/core_view.h"
#include "node/engine/clock.h"
#include "node/record/fresh_file.h"
#include "node/record/moot_name.h"

#include <assert.h>
#include <string.h>

void stats_fill(const struct moot *m, moot_stats *out)
{
    const struct core_stats *core = core_stats(m->core);
    struct transport_stats wire;
    m->transport->ops->stats(m->transport, &wire);
    *out = (moot_stats){
        .tasks_spawned = m->counts.spawned,
        .tasks_run = m->counts.run -
                     __atomic_load_n(&m->checkpoint.found, __ATOMIC_RELAXED) -
                     __atomic_load_n(&m->checkpoint.refused, __ATOMIC_RELAXED),
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
        .tasks_crashed = core->crashed,
        .frames_of_strangers = wire.strangers,
        .frames_forged = wire.forged,
        .frames_repeated = wire.repeated,
        .streams_refused = wire.streams_refused,
        .streams_broken = wire.streams_broken,
        .frames_linked = wire.linked,
        .frames_resent = wire.resent,
        .results_relayed = core->results_relayed,
        .results_referred = core->referred,
        .tasks_found = __atomic_load_n(&m->checkpoint.found, __ATOMIC_RELAXED),
        .tasks_found_ns = __atomic_load_n(&m->checkpoint.found_ns, __ATOMIC_RELAXED),
        .results_stored = __atomic_load_n(&m->checkpoint.stored, __ATOMIC_RELAXED),
        .bytes_stored = __atomic_load_n(&m->checkpoint.stored_bytes, __ATOMIC_RELAXED),
        .records_lost = m->checkpoint.lost,
        .kernels_rebuilt = m->tasks.kernels.rebuilt,
        .signatures_differing = core->signatures_differing,
        .rolls_differing = core->rolls_differing,
        .reloads = m->counts.reloads,
        .tasks_undone = m->counts.undone,
        .elements_run = m->counts.elements_run,
        .elements_failed = m->counts.elements_failed,
        .elements_taken = m->counts.elements_taken,
    };
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        out->messages_sent += core->sent[type];
    }
    for (int evidence = EVIDENCE_CLOSED; evidence < EVIDENCE_END; evidence++) {
        out->votes_by[evidence - EVIDENCE_CLOSED] = core->yields[evidence];
        out->votes += core->yields[evidence];
    }
}

enum { KEPT_FIGURES = 17 };

/* Figures of results that outlive a job, and of ranks that are held against each other.
 */
static size_t fill_kept_figures(const struct moot *m, const moot_stats *stats,
                                struct figure *out)
{
    uint64_t agreed = 0;
    const bool agrees = core_signature_agreed(m->core, &agreed);
    const struct first_difference *first = &m->record.first;
    const struct figure figures[] = {
        {"tasks_found", stats->tasks_found},
        {"tasks_found_ns", stats->tasks_found_ns},
        {"results_stored", stats->results_stored},
        {"bytes_stored", stats->bytes_stored},
        {"records_lost", stats->records_lost},
        {"results_brief", __atomic_load_n(&m->checkpoint.brief, __ATOMIC_RELAXED)},
        {"snapshots", m->checkpoint.snapshots},
        {"snapshots_ns", m->checkpoint.snapshots_ns},
        {"snapshots_failed", m->checkpoint.snapshots_failed},
        {"kernels_rebuilt", stats->kernels_rebuilt},
        {"signatures_differing", stats->signatures_differing},
        {"rolls_differing", stats->rolls_differing},
        {"reloads", stats->reloads},
        {"tasks_undone", stats->tasks_undone},
        {"agreed_step", agrees ? agreed + 1 : 0},
        {"differing_step", first->is ? first->step + 1 : 0},
        {"differing_rank", first->is ? first->rank + UINT64_C(1) : 0},
    };
    static_assert(sizeof(figures) == KEPT_FIGURES * sizeof(*out), "as many as that");
    memcpy(out, figures, sizeof(figures));
    return KEPT_FIGURES;
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
        {"size", transport_group_ever(&m->group)},
        {"wall_ns", clock_ns() - m->opened_ns},
        {"tasks_spawned", stats.tasks_spawned},
        {"tasks_run", stats.tasks_run},
        {"tasks_failed", stats.tasks_failed},
        {"tasks_crashed", stats.tasks_crashed},
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
        {"results_relayed", stats.results_relayed},
        {"results_referred", stats.results_referred},
        {"gossip_messages", stats.gossip_messages},
        {"heartbeat_messages", stats.heartbeat_messages},
        {"messages_sent", stats.messages_sent},
        {"frames_sent", stats.frames_sent},
        {"bytes_sent", stats.bytes_sent},
        {"frames_refused", stats.frames_refused},
        {"frames_of_strangers", stats.frames_of_strangers},
        {"frames_forged", stats.frames_forged},
        {"frames_repeated", stats.frames_repeated},
        {"streams_refused", stats.streams_refused},
        {"streams_broken", stats.streams_broken},
        {"frames_linked", stats.frames_linked},
        {"frames_resent", stats.frames_resent},
        {"stalls", stats.stalls},
        {"violations", stats.violations},
        {"ranks_lost", stats.ranks_lost},
        {"tasks_taken_over", stats.tasks_taken_over},
        {"elements_run", stats.elements_run},
        {"peers_by_ring", wire.peers_by_ring},
        {"peers_by_wire", transport_group_ever(&m->group) - 1 - wire.peers_by_ring},
    };
    static_assert(sizeof(figures) <= (SUMMARY_FIGURES - KEPT_FIGURES) * sizeof(*out),
                  "there is room for all figures");
    memcpy(out, figures, sizeof(figures));
    const size_t count = sizeof(figures) / sizeof(figures[0]);
    return count + fill_kept_figures(m, &stats, out + count);
}

void figures_write_hits(FILE *file, const struct moot *m)
{
    const struct faults *faults = &m->faults;
    for (uint32_t i = 0; faults->plan != NULL && i < faults->plan->rule_count; i++) {
        fprintf(file, "fault_%u %llu\n", i, (unsigned long long)faults->hits.fired[i]);
    }
}

void figures_path(const struct moot *m, const char *name, struct text *path)
{
    const char *moot_name = moot_name_text(m);
    text_add(path, "%s/%s-%u%s%s", m->knobs.summary, name, moot_name_process(m),
             moot_name[0] != '\0' ? "." : "", moot_name);
}

bool figures_write_file(const struct moot *m, const char *name,
                        void (*write)(FILE *, const struct moot *, int), int code)
{
    struct text path = {0}, unfinished = {0};
    figures_path(m, name, &path);
    text_add(&unfinished, "%s.unfinished", text_get(&path));
    FILE *file = fresh_file_stream(text_get(&unfinished));
    bool good = file != NULL;
    if (good) {
        write(file, m, code);
        good = fclose(file) == 0 && rename(text_get(&unfinished), text_get(&path)) == 0;
    }
    text_release(&path);
    text_release(&unfinished);
    return good;
}
