/* trace_align.c - one clock for all ranks.
 *
 * Ranks of one host share a clock.  Between hosts, every message says something: it
 * cannot have come before it was sent, so with o(i) added to the clock of host i,
 *
 *     o(i) - o(j) <= received(j) - sent(i)      for each message from i to j.
 *
 * The least right side per pair of hosts is an edge of a graph, and shortest paths in
 * it solve such a system (difference constraints; Cormen et al., Introduction to
 * Algorithms, section 24.4).  Paths from the first host and paths to it give the two
 * extreme solutions; the one half way between keeps all constraints as well, since they
 * are linear, and is the estimate with the least error at most.  So no arrow between
 * hosts runs backwards, unless clocks drifted apart by more than a message takes: then
 * what is left over is counted.
 *
 * Heartbeats say their sender's clock, and results are recorded by both sides; both go
 * on from open to close.
 *
 * A record bears the time at which its turn began, so a message that was sent meanwhile
 * is recorded before it was sent.  On a busy machine a turn may take a tenth of a
 * second.  If the records as they are contradict each other, each message is therefore
 * taken to have come before the receiver's next turn, and no more is known of it.
 */
#include "node/tools/trace_data.h"
#include <stdlib.h>
#include <string.h>

#define FAR (INT64_MAX / 4)

/* --- Messages that both sides recorded -------------------------------------------- */

static int compare_sides(const void *a, const void *b)
{
    const struct trace_message *left = a, *right = b;
    if (left->kind != right->kind) {
        return left->kind < right->kind ? -1 : 1;
    }
    if (left->task != right->task) {
        return left->task < right->task ? -1 : 1;
    }
    if (left->from != right->from) {
        return left->from < right->from ? -1 : 1;
    }
    if (left->to != right->to) {
        return left->to < right->to ? -1 : 1;
    }
    const int64_t at = left->sent_ns != TRACE_NEVER ? left->sent_ns : left->received_ns;
    const int64_t other =
        right->sent_ns != TRACE_NEVER ? right->sent_ns : right->received_ns;
    return (at > other) - (at < other);
}

static bool is_same(const struct trace_message *a, const struct trace_message *b)
{
    return a->kind == b->kind && a->task == b->task && a->from == b->from &&
           a->to == b->to;
}

/* The kind of a message that this event is a side of; NONE: of none. */
static Moot__Record__Kind sent_kind(Moot__Record__Kind kind, bool *received)
{
    *received = kind == MOOT__RECORD__KIND__MOTION_RECEIVED ||
                kind == MOOT__RECORD__KIND__DECISION_RECEIVED ||
                kind == MOOT__RECORD__KIND__RESULT_RECEIVED;
    if (*received) {
        return kind - 1;
    }
    const bool sent = kind == MOOT__RECORD__KIND__MOTION_SENT ||
                      kind == MOOT__RECORD__KIND__DECISION_SENT ||
                      kind == MOOT__RECORD__KIND__RESULT_SENT;
    return sent ? kind : MOOT__RECORD__KIND__NONE;
}

static void sides_gather(struct trace_job *trace, uint32_t rank)
{
    const struct trace_rank *each = &trace->ranks[rank];
    for (size_t i = 0; i < each->event_count; i++) {
        const struct trace_event *event = &each->events[i];
        bool received;
        const Moot__Record__Kind kind = sent_kind(event->kind, &received);
        if (kind == MOOT__RECORD__KIND__NONE || event->peer >= trace->rank_count) {
            continue;
        }
        uint64_t room = trace->message_room;
        struct trace_message *messages = trace_grow(
            trace, trace->messages, trace->message_count, &room, sizeof(*messages));
        if (messages == NULL) {
            return;
        }
        trace->messages = messages;
        trace->message_room = (size_t)room;
        messages[trace->message_count++] =
            (struct trace_message){.kind = kind,
                                   .task = event->task,
                                   .from = received ? event->peer : rank,
                                   .to = received ? rank : event->peer,
                                   .sent_ns = received ? TRACE_NEVER : event->at_ns,
                                   .received_ns = received ? event->at_ns : TRACE_NEVER,
                                   .bytes = event->value};
    }
}

/* Of sides that are alike the n-th sent is the n-th received, if they are as many; a
 * result counts where it is first received. */
static size_t sides_pair(struct trace_message *sides, size_t count,
                         struct trace_message *out)
{
    size_t sent = 0, received = 0, pairs = 0;
    for (size_t i = 0; i < count; i++) {
        sent += sides[i].sent_ns != TRACE_NEVER;
        received += sides[i].received_ns != TRACE_NEVER;
    }
    const bool first = sides[0].kind == MOOT__RECORD__KIND__RESULT_SENT;
    if (sent == 0 || received == 0 || (!first && sent != received)) {
        return 0;
    }
    const size_t most = first ? 1 : sent;
    for (size_t s = 0, r = 0; pairs < most; pairs++, s++, r++) {
        while (sides[s].sent_ns == TRACE_NEVER) {
            s++;
        }
        while (sides[r].received_ns == TRACE_NEVER) {
            r++;
        }
        const int64_t received_ns = sides[r].received_ns;
        out[pairs] = sides[s]; /* out is not ahead of s */
        out[pairs].received_ns = received_ns;
    }
    return pairs;
}

static void messages_gather(struct trace_job *trace)
{
    size_t kept = 0;
    trace->message_count = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        sides_gather(trace, r);
    }
    if (trace->message_count == 0) {
        return;
    }
    struct trace_message *all = trace->messages;
    qsort(all, trace->message_count, sizeof(*all), compare_sides);
    struct trace_message *pairs = calloc(trace->message_count, sizeof(*pairs));
    for (size_t i = 0, end; pairs && i < trace->message_count; i = end) {
        for (end = i + 1; end < trace->message_count && is_same(&all[i], &all[end]);) {
            end++;
        }
        kept += sides_pair(all + i, end - i, pairs + kept);
    }
    free(all);
    trace->messages = pairs;
    trace->message_count = kept;
    trace->out_of_memory |= pairs == NULL;
}

/* When the turn that began at `at_ns` was over at the latest; FAR: nothing tells. */
static int64_t turn_end(const struct trace_rank *rank, int64_t at_ns)
{
    size_t low = 0, high = rank->event_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rank->events[middle].at_ns > at_ns) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < rank->event_count ? rank->events[low].at_ns : FAR;
}

/* A message that is recorded before it was sent was sent within the receiver's turn, if
 * that may be; where both have one clock that is all it can be. */
static void turn_mend(const struct trace_job *trace, struct trace_message *message)
{
    const struct trace_rank *to = &trace->ranks[message->to];
    if (message->received_ns < message->sent_ns &&
        (trace->ranks[message->from].host == to->host ||
         message->sent_ns <= turn_end(to, message->received_ns))) {
        message->received_ns = message->sent_ns;
    }
}

void trace_pair_messages(struct trace_job *trace)
{
    messages_gather(trace);
    trace->backward = 0;
    trace->backward_most_ns = 0;
    for (size_t i = 0; i < trace->message_count; i++) {
        struct trace_message *message = &trace->messages[i];
        turn_mend(trace, message);
        const int64_t over = message->sent_ns - message->received_ns;
        trace->backward += over > 0;
        if (over > trace->backward_most_ns) {
            trace->backward_most_ns = over;
        }
    }
}

/* --- Offsets ---------------------------------------------------------------------- */

struct hosts {
    uint32_t count;
    uint32_t *of_rank;
    int64_t *edge; /* [i * count + j]: the least received(j) - sent(i) */
    int64_t *from, *to;
};

static bool hosts_find(const struct trace_job *trace, struct hosts *hosts)
{
    hosts->of_rank = calloc(trace->rank_count, sizeof(*hosts->of_rank));
    for (uint32_t r = 0; hosts->of_rank && r < trace->rank_count; r++) {
        uint32_t like = 0;
        while (like < r && (!trace->ranks[like].present ||
                            trace->ranks[like].host != trace->ranks[r].host)) {
            like++;
        }
        hosts->of_rank[r] = like < r                  ? hosts->of_rank[like]
                            : trace->ranks[r].present ? hosts->count++
                                                      : 0;
    }
    return hosts->of_rank != NULL;
}

/* Of sums that no sound trace has. */
static int64_t limited(int64_t ns) { return ns > FAR ? FAR : ns < -FAR ? -FAR : ns; }

/* A message that came at `come_ns` (FAR: who knows when).  One within a host says
 * nothing of clocks. */
static void edge_see(struct hosts *hosts, uint32_t from, uint32_t to, int64_t sent_ns,
                     int64_t come_ns)
{
    const uint32_t i = hosts->of_rank[from], j = hosts->of_rank[to];
    int64_t *edge = &hosts->edge[(size_t)i * hosts->count + j];
    if (i != j && come_ns < FAR && come_ns - sent_ns < *edge) {
        *edge = come_ns - sent_ns;
    }
}

/* When a message that a rank recorded at `at_ns` had come: then, or, if turns may be
 * long, before the next one. */
static int64_t come_ns(const struct trace_job *trace, uint32_t rank, int64_t at_ns,
                       bool long_turns)
{
    return long_turns ? turn_end(&trace->ranks[rank], at_ns) : at_ns;
}

static void edges_find(const struct trace_job *trace, struct hosts *hosts,
                       bool long_turns)
{
    for (uint32_t i = 0; i < hosts->count * hosts->count; i++) {
        hosts->edge[i] = FAR;
    }
    for (size_t i = 0; i < trace->message_count; i++) {
        const struct trace_message *each = &trace->messages[i];
        edge_see(hosts, each->from, each->to, each->sent_ns,
                 come_ns(trace, each->to, each->received_ns, long_turns));
    }
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->event_count; i++) {
            if (rank->events[i].kind == MOOT__RECORD__KIND__HEARD &&
                rank->events[i].peer < trace->rank_count &&
                rank->events[i].value <= TRACE_CLOCK_NS_MAX) {
                edge_see(hosts, rank->events[i].peer, r, (int64_t)rank->events[i].value,
                         come_ns(trace, r, rank->events[i].at_ns, long_turns));
            }
        }
    }
}

/* Takes what is less; whether it was. */
static bool improve(int64_t *path_ns, int64_t by_ns)
{
    const bool better = by_ns < *path_ns;
    if (better) {
        *path_ns = limited(by_ns);
    }
    return better;
}

/* Bellman and Ford, over a full matrix; most often some rounds are enough. */
static void paths_find(struct hosts *hosts)
{
    const uint32_t n = hosts->count;
    for (uint32_t i = 0; i < n; i++) {
        hosts->from[i] = hosts->to[i] = i == 0 ? 0 : FAR;
    }
    bool improved = true;
    for (uint32_t round = 1; improved && round < n; round++) {
        improved = false;
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < n; j++) {
                const int64_t edge = hosts->edge[(size_t)i * n + j];
                if (edge >= FAR) {
                    continue;
                }
                /* o(i) <= o(j) + edge; and o(j) >= o(i) - edge, with to = -o */
                improved |= improve(&hosts->from[i], hosts->from[j] + edge);
                improved |= improve(&hosts->to[j], hosts->to[i] + edge);
            }
        }
    }
}

/* Whether the edges contradict each other: a host's least is above its most. */
static bool is_contradicted(const struct hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (hosts->from[i] < FAR / 2 && hosts->to[i] < FAR / 2 &&
            hosts->from[i] + hosts->to[i] < 0) {
            return true;
        }
    }
    return false;
}

/* What a host's clock lacks towards the first one's.  Of a host that was heard in one
 * direction only the one bound is taken, of one never heard the wall clock. */
static int64_t offset_of(const struct trace_job *trace, const struct hosts *hosts,
                         uint32_t rank)
{
    const uint32_t host = hosts->of_rank[rank];
    const int64_t most = hosts->from[host], least = -hosts->to[host];
    if (most < FAR / 2 && least > -FAR / 2) {
        return least + (most - least) / 2;
    }
    if (most < FAR / 2 || least > -FAR / 2) {
        return most < FAR / 2 ? most : least;
    }
    uint32_t first = 0;
    while (!trace->ranks[first].present) {
        first++;
    }
    const struct trace_rank *a = &trace->ranks[first], *b = &trace->ranks[rank];
    return limited((b->wall_ns - b->opened_ns) - (a->wall_ns - a->opened_ns));
}

static void offsets_find(struct trace_job *trace)
{
    struct hosts hosts = {0};
    if (!hosts_find(trace, &hosts)) {
        trace->out_of_memory = true;
        return;
    }
    if (hosts.count <= 1) { /* one clock */
        free(hosts.of_rank);
        return;
    }
    const size_t n = hosts.count;
    hosts.edge = calloc(n * n, sizeof(*hosts.edge));
    hosts.from = calloc(n, sizeof(*hosts.from));
    hosts.to = calloc(n, sizeof(*hosts.to));
    if (hosts.edge == NULL || hosts.from == NULL || hosts.to == NULL) {
        trace->out_of_memory = true;
    } else {
        messages_gather(trace);
        edges_find(trace, &hosts, false);
        paths_find(&hosts);
        if (is_contradicted(&hosts)) {
            edges_find(trace, &hosts, true);
            paths_find(&hosts);
        }
        for (uint32_t r = 0; r < trace->rank_count; r++) {
            if (trace->ranks[r].present) {
                trace->ranks[r].offset_ns = offset_of(trace, &hosts, r);
            }
        }
    }
    free(hosts.of_rank);
    free(hosts.edge);
    free(hosts.from);
    free(hosts.to);
}

/* --- Times ------------------------------------------------------------------------ */

static void shift(int64_t *at_ns, int64_t by_ns)
{
    if (*at_ns != TRACE_NEVER) {
        *at_ns += by_ns;
    }
}

static void times_shift(struct trace_job *trace, int64_t start_ns)
{
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        struct trace_rank *rank = &trace->ranks[r];
        const int64_t by_ns = rank->offset_ns - start_ns;
        for (size_t i = 0; i < rank->event_count; i++) {
            rank->events[i].at_ns += by_ns;
        }
        rank->first_ns += by_ns;
        rank->last_ns += by_ns;
        shift(&rank->close_ns, by_ns);
        shift(&rank->ready_ns, by_ns);
    }
    for (uint32_t i = 0; i < trace->run_count; i++) {
        struct trace_run *run = &trace->runs[i];
        const int64_t by_ns = trace->ranks[run->rank].offset_ns - start_ns;
        shift(&run->ready_ns, by_ns);
        shift(&run->start_ns, by_ns);
        shift(&run->end_ns, by_ns);
    }
}

static void earlier(int64_t *at_ns, int64_t other_ns)
{
    if (other_ns < *at_ns) {
        *at_ns = other_ns;
    }
}

/* What the events say of tasks and of other ranks. */
static void event_apply(struct trace_job *trace, uint32_t rank,
                        const struct trace_event *event)
{
    struct trace_task *task =
        event->task != TRACE_NONE ? &trace->tasks[event->task] : NULL;
    struct trace_rank *peer =
        event->peer < trace->rank_count ? &trace->ranks[event->peer] : NULL;
    const bool lost = event->kind == MOOT__RECORD__KIND__DEAD ||
                      event->kind == MOOT__RECORD__KIND__REMOVED;
    if (task != NULL && event->kind == MOOT__RECORD__KIND__SPAWN) {
        earlier(&task->spawned_ns, event->at_ns);
    }
    if (task != NULL && event->kind == MOOT__RECORD__KIND__MOTION_SENT) {
        earlier(&task->asked_ns, event->at_ns);
    }
    if (task != NULL && event->kind == MOOT__RECORD__KIND__VOTE &&
        event->at_ns < task->voted_ns) {
        task->voted_ns = event->at_ns;
        task->chair = rank;
        task->winner = event->peer;
        task->evidence = (uint32_t)event->value;
    }
    if (peer != NULL && lost && !(peer->whole && peer->last_ns <= event->at_ns)) {
        earlier(&peer->dead_ns, event->at_ns);
        peer->is_dead |= event->kind == MOOT__RECORD__KIND__DEAD;
    }
}

/* The run that counts: the first that ended well; else that ended; else any. */
static int run_weight(const struct trace_run *run)
{
    return run->end_ns == TRACE_NEVER ? 0 : run->code != 0 ? 1 : 2;
}

static void runs_choose(struct trace_job *trace)
{
    for (uint32_t i = 0; i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[i];
        if (run->element != 0) { /* no run of the array's end */
            continue;
        }
        uint32_t *chosen = &trace->tasks[run->task].run;
        const struct trace_run *other =
            *chosen != TRACE_NONE ? &trace->runs[*chosen] : NULL;
        if (other == NULL || run_weight(run) > run_weight(other) ||
            (run_weight(run) == run_weight(other) && run->end_ns < other->end_ns)) {
            *chosen = i;
        }
    }
}

/* A kernel's waits for its children are no time of its own. */
static void kernel_wait_add(struct trace_job *trace, uint32_t rank,
                            const struct trace_event *event)
{
    const uint32_t at =
        event->parent != TRACE_NONE ? trace->tasks[event->parent].run : TRACE_NONE;
    struct trace_run *run = at != TRACE_NONE ? &trace->runs[at] : NULL;
    if (run == NULL || run->rank != rank) {
        return;
    }
    if (event->kind == MOOT__RECORD__KIND__WAIT) {
        run->since_ns = event->at_ns;
    } else if (event->kind == MOOT__RECORD__KIND__WAITED && run->since_ns > 0) {
        run->waited_ns += event->at_ns - run->since_ns;
        run->since_ns = 0;
    }
}

static void kernel_waits_add(struct trace_job *trace)
{
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            kernel_wait_add(trace, r, &trace->ranks[r].events[i]);
        }
    }
}

void trace_align(struct trace_job *trace)
{
    int64_t start_ns = TRACE_NEVER;
    offsets_find(trace);
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        if (rank->present && rank->opened_ns + rank->offset_ns < start_ns) {
            start_ns = rank->opened_ns + rank->offset_ns;
            trace->wall_ns = rank->wall_ns;
        }
    }
    times_shift(trace, start_ns);
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        if (rank->last_ns > trace->makespan_ns) {
            trace->makespan_ns = rank->last_ns;
        }
        for (size_t i = 0; i < rank->event_count; i++) {
            event_apply(trace, r, &rank->events[i]);
        }
    }
    runs_choose(trace);
    kernel_waits_add(trace);
}
