/* dump.c - what a failed run has come to: who waits for what, and what its chair says.
 */
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include <inttypes.h>
#include <stdlib.h>

struct dump {
    const struct sim *sim;
    const struct host *host;
    FILE *to;
};

static const char *name_of(const struct sim *sim, const moot_hash *hash)
{
    uint32_t task = sim_task(sim, hash);
    return task < sim->program->task_count ? sim->program->tasks[task].name : "?";
}

static void dump_wait(void *context, const moot_hash *hash)
{
    struct dump *dump = context;
    struct core_task_view view = {0};
    if (!core_task_look(dump->host->core, hash, &view)) {
        return;
    }
    char asked[64], holders[64];
    rankset_format(&view.asked_by, asked, sizeof(asked));
    rankset_format(&view.holders, holders, sizeof(holders));
    fprintf(dump->to,
            "    waits for %s: %s, chair %d, owner %d, %s, own %d, have %d, missing "
            "%" PRIu32 " (%s), need %" PRId64 ", asked by %s, held by %s\n",
            name_of(dump->sim, hash),
            view.held       ? "held"
            : view.declined ? "declined"
                            : "not held",
            (int)view.chair, (int)view.owner, view.asked ? "asked" : "not asked",
            (int)view.own, (int)view.have, view.missing,
            view.first_missing != NULL ? name_of(dump->sim, view.first_missing) : "-",
            (int64_t)view.need, asked, holders);
    core_task_view_release(&view);
    uint32_t chair = view.chair;
    struct core_task_view there = {0};
    if (chair < dump->sim->host_count && host_is_there(&dump->sim->hosts[chair]) &&
        core_task_look(dump->sim->hosts[chair].core, hash, &there)) {
        rankset_format(&there.asked_by, asked, sizeof(asked));
        rankset_format(&there.holders, holders, sizeof(holders));
        fprintf(dump->to,
                "        at chair %" PRIu32 ": %s, position %" PRIu64
                ", owner %d (%s), own %d, have %d, missing %" PRIu32 " (%s), asked by "
                "%s, held by %s\n",
                chair, there.held ? "held" : "not held", there.position,
                (int)there.owner, evidence_name(there.evidence), (int)there.own,
                (int)there.have, there.missing,
                there.first_missing != NULL ? name_of(dump->sim, there.first_missing)
                                            : "-",
                asked, holders);
        core_task_view_release(&there);
    }
}

static void dump_host(const struct sim *sim, const struct host *host, FILE *to)
{
    static const char *const states[] = {"runs", "waits", "is woken", "is at a barrier",
                                         "is over"};
    fprintf(to, "  rank %" PRIu32 "%s%s%s%s%s%s", host->rank,
            host->closed ? ", closed" : "", host->adjourned ? ", adjourned" : "",
            host->dead ? ", dead" : "", host->fenced ? ", fenced" : "",
            host->left ? ", left" : "", host->no_quorum ? ", no quorum" : "");
    char members[64];
    rankset_format(&host->members, members, sizeof(members));
    if (sim->options.storm != NULL) {
        fprintf(to, ", plays %" PRIu32 ", view %" PRIu64 " {%s}", host->role,
                host->epoch, members);
    }
    fprintf(to, ": ");
    if (!host_is_there(host)) {
        fprintf(to, "not there\n");
        return;
    }
    for (uint32_t lane = 0; lane < sim->program->lane_count; lane++) {
        const struct program_script *script =
            program_script(sim->program, host->role, lane);
        fprintf(to, "lane %" PRIu32 " %s at step %" PRIu32 "/%" PRIu32 "; ", lane,
                states[host->lanes[lane].state], host->lanes[lane].pc, script->count);
    }
    if (host->meets) {
        fprintf(to, "at its meeting %" PRIu64 "; ", host->meetings);
    }
    fprintf(to, "%" PRIu32 " ready, %zu in inbox\n", host->ready_count,
            host->inbox_count);
    for (uint32_t i = 0; i < sim->program->task_count; i++) {
        if (host->records[i].run && !host->records[i].ended) {
            fprintf(to, "    has to run %s%s\n", sim->program->tasks[i].name,
                    host->records[i].started ? " (started)" : "");
        }
    }
    struct dump dump = {sim, host, to};
    core_each_wait(host->core, dump_wait, &dump);
}

char *dump_world(const struct sim *sim)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) {
        abort();
    }
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        dump_host(sim, &sim->hosts[rank], to);
    }
    fclose(to);
    return text;
}
