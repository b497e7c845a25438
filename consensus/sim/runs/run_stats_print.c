/* run_stats_print.c - a tally for people. */
#include "consensus/sim/runs/run_stats.h"
#include "proto/error.h"
#include <inttypes.h>

void tally_time_format(uint64_t ns, char *text, size_t size)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{UINT64_C(3600000000000), "h"},
                 {1000000000, "s"},
                 {1000000, "ms"},
                 {1000, "us"},
                 {1, "ns"}};
    int unit = 0;
    while (unit < 4 && ns < units[unit].ns) {
        unit++;
    }
    (void)snprintf(text, size, unit == 4 ? "%.0f %s" : "%.3g %s",
                   (double)ns / (double)units[unit].ns, units[unit].name);
}

static void print_bytes(double bytes, FILE *to)
{
    if (bytes < 1e3) {
        fprintf(to, "%.3g B", bytes);
    } else if (bytes < 1e6) {
        fprintf(to, "%.1f kB", bytes / 1e3);
    } else if (bytes < 1e9) {
        fprintf(to, "%.1f MB", bytes / 1e6);
    } else {
        fprintf(to, "%.2f GB", bytes / 1e9);
    }
}

static double share(uint64_t part, uint64_t of)
{
    return of == 0 ? 0 : (double)part / (double)of;
}

/* "1 view", "2 views", and what follows. */
static void print_counted(uint64_t count, const char *what, const char *then, FILE *to)
{
    fprintf(to, "%" PRIu64 " %s%s%s", count, what, count == 1 ? "" : "s", then);
}

static void print_faults(const struct tally *tally, FILE *to)
{
    if (tally_total(tally->fired, PLAN_FAULT_END) == 0 || tally->runs < 2) {
        return;
    }
    const char *separator = "";
    fputs("  faults       ", to);
    for (int fault = 0; fault < PLAN_FAULT_END; fault++) {
        if (tally->fired[fault] != 0) {
            fprintf(to, "%s%s %" PRIu64 " (", separator,
                    plan_fault_name((enum plan_fault)fault), tally->fired[fault]);
            print_counted(tally->struck[fault], "run", ")", to);
            separator = ", ";
        }
    }
    fputc('\n', to);
}

static void print_members(const struct tally *tally, FILE *to)
{
    if (tally->views + tally->deaths + tally->removed + tally->joined +
            tally->departed + tally->quorums_lost ==
        0) {
        return;
    }
    fputs("  membership   ", to);
    print_counted(tally->views, "view", ", ", to);
    print_counted(tally->deaths, "death", ", ", to);
    fprintf(to, "%" PRIu64 " removed alive, %" PRIu64 " joined, %" PRIu64 " left, ",
            tally->removed, tally->joined, tally->departed);
    print_counted(tally->quorums_lost, "time", " without a quorum\n", to);
}

static void print_sessions(const struct tally *tally, FILE *to)
{
    if (tally->boundaries == 0) {
        return;
    }
    fprintf(to,
            "  sessions     %" PRIu64 " boundaries, at which %" PRIu64 " left, %" PRIu64
            " died and %" PRIu64 " were let in\n",
            tally->boundaries, tally->boundary_left, tally->boundary_deaths,
            tally->boundary_joined);
}

static void print_snapshots(const struct tally *tally, FILE *to)
{
    if (tally->snapshots > 0) {
        fprintf(to, "  snapshots    %" PRIu64 " askers were told that one exists\n",
                tally->snapshots);
    }
    if (tally->reloads > 0) {
        fprintf(to, "  reloads      %" PRIu64 " times all went back to one\n",
                tally->reloads);
    }
}

static void print_votes(const struct tally *tally, FILE *to)
{
    uint64_t votes = tally_total(tally->votes, EVIDENCE_END);
    uint64_t needless = tally_total(tally->needless, EVIDENCE_END);
    fprintf(to, "  votes        %" PRIu64, votes);
    const char *separator = ": ";
    for (int i = 0; i < EVIDENCE_END; i++) {
        if (tally->votes[i] != 0) {
            fprintf(to, "%s%" PRIu64 " %s", separator, tally->votes[i],
                    evidence_name((enum evidence)i));
            separator = ", ";
        }
    }
    if (needless != 0) {
        fprintf(to, "; %" PRIu64 " needless", needless);
    }
    fputc('\n', to);
    if (tally->voted == 0) {
        return;
    }
    fprintf(to, "  per vote     %.1f messages, ",
            share(tally->vote_messages, tally->voted));
    print_bytes(share(tally->vote_bytes, tally->voted), to);
    if (tally->vote_asks * 10 < tally->voted) { /* the few would seem to cost it all */
        fputc('\n', to);
        return;
    }
    fprintf(to, ", for %.1f who ask: %.2f messages and ",
            share(tally->vote_asks, tally->voted),
            share(tally->vote_messages, tally->vote_asks));
    print_bytes(share(tally->vote_bytes, tally->vote_asks), to);
    fputs(" for each\n", to);
}

static void print_spread(const char *what, const struct tally_spread *spread,
                         const char *of, FILE *to)
{
    if (spread->count == 0) {
        return;
    }
    static const uint32_t per_mille[] = {500, 900, 990};
    char text[32];
    fprintf(to, "  %-12s", what);
    for (int i = 0; i < 3; i++) {
        tally_time_format(tally_percentile_ns(spread, per_mille[i]), text,
                          sizeof(text));
        fprintf(to, " p%" PRIu32 " %s,", per_mille[i] / 10, text);
    }
    tally_time_format(spread->most_ns, text, sizeof(text));
    fprintf(to, " most %s (%" PRIu64 " %s)\n", text, spread->count, of);
}

/* What the program was told instead of a result. */
static void print_wait_errors(const struct tally *tally, FILE *to)
{
    const char *separator = "  wait errors  ";
    for (int i = 0; i < TALLY_CODES; i++) {
        if (tally->wait_errors[i] != 0) {
            fprintf(to, "%s%" PRIu64 " %s", separator, tally->wait_errors[i],
                    error_name(-i));
            separator = ", ";
        }
    }
    if (*separator == ',') {
        fputc('\n', to);
    }
}

static void print_standstill(const struct tally *tally, FILE *to)
{
    const struct sim_standstill *still = &tally->standstill;
    char lasted[32], bound[32];
    if (still->bound_ns == 0) {
        return;
    }
    tally_time_format(still->lasted_ns, lasted, sizeof(lasted));
    tally_time_format(still->bound_ns, bound, sizeof(bound));
    fprintf(to, "  standstill   %s at most, %.0f%% of the bound of %s\n", lasted,
            100 * share(still->lasted_ns, still->bound_ns), bound);
}

/* One way of the rank that sent and got most, where bytes take time. */
static void print_port(const char *verb, uint64_t bytes, uint64_t busy_ns, FILE *to)
{
    char busy[32];
    tally_time_format(busy_ns, busy, sizeof(busy));
    fprintf(to, " %s ", verb);
    print_bytes((double)bytes, to);
    fprintf(to, " in %s", busy);
}

static void print_wire(const struct tally *tally, FILE *to)
{
    const struct sim_wire *wire = &tally->wire;
    if (wire->out_bytes + wire->in_bytes == 0) {
        return;
    }
    fprintf(to, "  busiest      rank %" PRIu32, wire->rank);
    print_port("sends", wire->out_bytes, wire->out_busy_ns, to);
    fputc(',', to);
    print_port("gets", wire->in_bytes, wire->in_busy_ns, to);
    fputc('\n', to);
}

/* With hosts: what went between them, and of each the rank that sent most. */
static void print_links(const struct tally *tally, FILE *to)
{
    const struct sim_links *links = &tally->links;
    if (links->hosts == 0) {
        return;
    }
    fprintf(to, "  links        %" PRIu64 " frames, ", links->frames);
    print_bytes((double)links->bytes, to);
    fprintf(to, " between hosts, %" PRIu64 " of them relayed; %" PRIu64 ", ",
            links->relayed, links->local_frames);
    print_bytes((double)links->local_bytes, to);
    fprintf(to, " within; %" PRIu64 " lost\n", links->lost);
    if (links->busiest_bytes > 0) {
        fprintf(to, "  busiest link host %" PRIu32 " to host %" PRIu32 ", ",
                links->busiest_from, links->busiest_to);
        print_bytes((double)links->busiest_bytes, to);
        fputc('\n', to);
    }
    for (uint32_t host = 0; host < links->hosts && host < SIM_HOSTS_TOLD; host++) {
        const struct sim_busiest *most = &links->busiest[host];
        if (most->frames > 0) {
            fprintf(to,
                    "  %-12s host %" PRIu32 ": rank %" PRIu32 " sends %" PRIu64
                    " frames, ",
                    host == 0 ? "busiest of" : "", host, most->rank, most->frames);
            print_bytes((double)most->bytes, to);
            fputc('\n', to);
        }
    }
}

static void print_messages(const struct tally *tally, FILE *to)
{
    uint64_t messages = tally_total(tally->messages, MESSAGE_TYPE_END);
    uint64_t bytes = tally_total(tally->bytes, MESSAGE_TYPE_END);
    fprintf(to, "  messages     %" PRIu64 ", ", messages);
    print_bytes((double)bytes, to);
    fprintf(to, "; per rank %.1f, ", share(messages, tally->ranks));
    print_bytes(share(bytes, tally->ranks), to);
    fprintf(to, "; most %" PRIu64 ", ", tally->rank_messages_most);
    print_bytes((double)tally->rank_bytes_most, to);
    fputc('\n', to);
    fputs("  by type      ", to);
    const char *separator = "";
    for (int i = 0; i < MESSAGE_TYPE_END; i++) {
        if (tally->messages[i] != 0) {
            fprintf(to, "%s%s %" PRIu64, separator,
                    message_type_name((enum message_type)i), tally->messages[i]);
            separator = ", ";
        }
    }
    fputc('\n', to);
    fprintf(to, "  gossip       ");
    print_bytes((double)tally_gossip_bytes(tally), to);
    fprintf(to, ", %.3f bytes per task and peer\n",
            share(tally_gossip_bytes(tally), tally->gossip_pairs));
}

void tally_print(const struct tally *tally, FILE *to)
{
    static const char asks[] = "asks, from motion to result";
    print_faults(tally, to);
    print_members(tally, to);
    print_sessions(tally, to);
    print_snapshots(tally, to);
    fprintf(to, "  tasks        %" PRIu64 " run, %" PRIu64 " spawns\n",
            tally->tasks_run, tally->spawns);
    if (tally->elements_ended > 0) {
        fprintf(to, "  elements     %" PRIu64 " ended, of task arrays\n",
                tally->elements_ended);
    }
    print_votes(tally, to);
    print_spread("vote latency", &tally->vote_asks_ns, asks, to);
    print_spread("ask latency", &tally->asks, asks, to);
    print_spread("wait latency", &tally->waits, "waits of the program", to);
    print_wait_errors(tally, to);
    print_standstill(tally, to);
    print_wire(tally, to);
    print_links(tally, to);
    print_messages(tally, to);
}
