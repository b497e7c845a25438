/* scale_test.c - what a moot costs as it grows.
 *
 *   scale_test                the quick set of `make check`: up to 1,000 ranks
 *   scale_test --table        the table of SCALING.md, up to 10,000 ranks (`make
 * scale`) scale_test --run RANKS TASKS WORKLOAD [DIRECT_MAX]
 *
 * The sizes run the same workloads on the same even network, and what must not grow
 * with the number of ranks, or no faster than its logarithm, is compared:
 *
 *   agreeing   no vote, and less than a byte of gossip per task and peer
 *   a vote     so many messages for the vote and for each rank that asks (its motion,
 *              the owner hearing of it, its result), whatever the number of ranks
 *   gossip     per rank and task: rolls, hashes, states and the census, in bytes
 *   traffic    messages of one rank, beside those about results
 *
 * With DIRECT_MAX at the number of ranks, everyone tells everyone, as small moots do:
 * the quick set makes sure that this is seen to break the bounds.
 */
#include "consensus/sim/runs/trial.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One run, and what it has cost per unit. */
struct run {
    uint32_t ranks, tasks, direct_max;
    const char *workload;
    bool good;
    uint64_t votes;
    double messages, bytes;     /* of a rank */
    double talk;                /* messages of a rank that are not about results */
    double gossip, gossip_peer; /* bytes of a rank per task; and per peer */
    double vote_messages;       /* per vote and rank that asks */
    double seconds, peak_gb;
};

static double per(uint64_t sum, double count)
{
    return count > 0 ? (double)sum / count : 0;
}

static void judge(const struct tally *tally, struct run *run)
{
    uint64_t gossip = tally_gossip_bytes(tally) + tally->bytes[MESSAGE_CENSUS];
    uint64_t messages = tally_total(tally->messages, MESSAGE_TYPE_END);
    uint64_t results = tally->messages[MESSAGE_MOTION] +
                       tally->messages[MESSAGE_RESULT] +
                       tally->messages[MESSAGE_DECISION];
    run->votes = tally->voted;
    run->messages = per(messages, run->ranks);
    run->bytes = per(tally_total(tally->bytes, MESSAGE_TYPE_END), run->ranks);
    run->talk = per(messages - results, run->ranks);
    run->gossip = per(gossip, (double)run->ranks * run->tasks);
    run->gossip_peer = run->gossip / (run->ranks - 1);
    run->vote_messages = per(tally->vote_messages + tally->messages[MESSAGE_RESOLVE],
                             (double)(tally->voted + tally->vote_asks));
}

static void run_here(struct run *run)
{
    struct trial trial = {
        .ranks = run->ranks, .tasks = run->tasks, .faults = TRIAL_NONE, .steady = true};
    trial.set[TRIAL_DIRECT_MAX] = true;
    trial.settings[TRIAL_DIRECT_MAX] = run->direct_max;
    struct plan_error error;
    if (!workload_parse(run->workload, &trial.workload, &error)) {
        fprintf(stderr, "scale_test: no workload \"%s\"\n", run->workload);
        exit(2);
    }
    static struct tally tally;
    struct trial_result result;
    memset(&tally, 0, sizeof(tally));
    run->good = trial_run(&trial, 1, NULL, &tally, &result);
    if (!run->good) {
        printf("FAILED %s: %s\n%s\n", result.report.check, result.report.why,
               result.report.dump != NULL ? result.report.dump : "");
    }
    free(result.report.dump);
    judge(&tally, run);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    run->seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    run->peak_gb = (double)usage.ru_maxrss / 1e6;
}

/* In a process of its own, so that the memory of one run is not counted in another. */
static void run_one(struct run *run)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t child = fork();
    if (child == 0) {
        run_here(run);
        fflush(stdout);
        _exit(write(ends[1], run, sizeof(*run)) == (ssize_t)sizeof(*run) ? 0 : 1);
    }
    close(ends[1]);
    run->good = child > 0 &&
                read(ends[0], run, sizeof(*run)) == (ssize_t)sizeof(*run) && run->good;
    close(ends[0]);
    waitpid(child, NULL, 0);
}

/* --- The table -------------------------------------------------------------------- */

static void print_head(void)
{
    printf(
        "| ranks | tasks | workload | votes | messages per vote and asker | messages "
        "per rank | of them not about results | bytes per rank | gossip per rank and "
        "task | per task and peer | seconds | GB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_run(const struct run *run)
{
    char vote[32] = "-";
    if (run->votes > 0) {
        (void)snprintf(vote, sizeof(vote), "%.2f", run->vote_messages);
    }
    printf("| %" PRIu32 " | %" PRIu32 " | %s | %" PRIu64
           " | %s | %.0f | %.0f | %.1f kB | %.1f B | %.4f B | %.0f | %.1f |\n",
           run->ranks, run->tasks, run->workload, run->votes, vote, run->messages,
           run->talk, run->bytes / 1e3, run->gossip, run->gossip_peer, run->seconds,
           run->peak_gb);
    fflush(stdout);
}

static int table(void)
{
    static struct run runs[] = {
        {.ranks = 8, .tasks = 1000, .workload = "skip:0.01"},
        {.ranks = 64, .tasks = 1000, .workload = "skip:0.01"},
        {.ranks = 512, .tasks = 1000, .workload = "skip:0.01"},
        {.ranks = 4096, .tasks = 1000, .workload = "skip:0.01"},
        {.ranks = 10000, .tasks = 1000, .workload = "skip:0.01"},
        {.ranks = 1000, .tasks = 10000, .workload = "skip:0.01"},
        {.ranks = 8, .tasks = 1000, .workload = "agree"},
        {.ranks = 64, .tasks = 1000, .workload = "agree"},
        {.ranks = 512, .tasks = 1000, .workload = "agree"},
        {.ranks = 4096, .tasks = 1000, .workload = "agree"},
        {.ranks = 10000, .tasks = 1000, .workload = "agree"},
    };
    bool good = true;
    print_head();
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        run_one(&runs[i]);
        print_run(&runs[i]);
        good = good && runs[i].good;
    }
    return good ? 0 : 1;
}

/* --- The quick set ---------------------------------------------------------------- */

enum { SIZES = 5, SWEEPERS = 8 };
static const struct {
    uint32_t ranks, tasks;
} sizes[SIZES] = {{8, 500}, {64, 500}, {128, 500}, {512, 150}, {1000, 150}};

/* What a size may cost.  The bounds are those of PROTOCOL.md, with room for what a run
 * adds to them by chance. */
#define GOSSIP_PEER_MAX 1.0
#define VOTE_MESSAGES_MAX 4.0 /* above so few that every holder tells */
#define GOSSIP_PER_LOG2_MAX 6.0
#define TALK_PER_LOG2_MAX 50.0

static uint32_t complain(const struct run *run, const char *what, double value,
                         double bound)
{
    if (value <= bound) {
        return 0;
    }
    printf("%s %" PRIu32 " ranks, %s: %s is %.3f, more than %.3f\n",
           run->direct_max != 0 ? "broken, as it has to be:" : "FAILED", run->ranks,
           run->workload, what, value, bound);
    return 1;
}

static uint32_t check_agreeing(const struct run *run)
{
    uint32_t wrong = run->good ? 0 : 1;
    wrong += complain(run, "votes", (double)run->votes, 0);
    wrong +=
        complain(run, "gossip per task and peer", run->gossip_peer, GOSSIP_PEER_MAX);
    return wrong;
}

/* Few ranks may tell each other everything; from 128 on the logarithm counts. */
static uint32_t check_growth(const struct run *run)
{
    double log2_ranks = log2((double)run->ranks);
    return complain(run, "gossip per rank and task, over log2 of the ranks",
                    run->gossip / log2_ranks, GOSSIP_PER_LOG2_MAX) +
           complain(run, "talk per rank, over log2 of the ranks",
                    run->talk / log2_ranks, TALK_PER_LOG2_MAX);
}

static uint32_t check_diverging(const struct run *run)
{
    uint32_t wrong = run->good ? 0 : 1;
    if (run->votes == 0) {
        printf("FAILED %" PRIu32 " ranks: nothing was voted on\n", run->ranks);
        wrong++;
    }
    return wrong + complain(run, "messages per vote and asker", run->vote_messages,
                            run->ranks > SWEEPERS ? VOTE_MESSAGES_MAX : SWEEPERS);
}

static int quick(void)
{
    uint32_t wrong = 0, checked = 0;
    for (int i = 0; i < SIZES; i++) {
        struct run agree = {
            .ranks = sizes[i].ranks, .tasks = sizes[i].tasks, .workload = "agree"};
        struct run skip = {
            .ranks = sizes[i].ranks, .tasks = sizes[i].tasks, .workload = "skip:0.01"};
        run_one(&agree);
        print_run(&agree);
        run_one(&skip);
        print_run(&skip);
        wrong += check_agreeing(&agree) + check_diverging(&skip);
        if (sizes[i].ranks > 64) {
            wrong += check_growth(&agree) + check_growth(&skip);
        }
        checked += 2;
    }
    /* The bounds are worth what they catch: here everyone tells everyone. */
    struct run direct = {
        .ranks = 128, .tasks = 500, .workload = "agree", .direct_max = 128};
    run_one(&direct);
    print_run(&direct);
    if (check_growth(&direct) != 2) {
        printf("FAILED nobody sees that everyone tells everyone\n");
        wrong++;
    }
    printf("%" PRIu32 " runs, %" PRIu32 " bounds broken\n", checked, wrong);
    return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        return quick();
    }
    if (argc == 2 && strcmp(argv[1], "--table") == 0) {
        return table();
    }
    if (argc >= 5 && strcmp(argv[1], "--run") == 0) {
        struct run run = {.ranks = (uint32_t)strtoul(argv[2], NULL, 10),
                          .tasks = (uint32_t)strtoul(argv[3], NULL, 10),
                          .direct_max =
                              argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0,
                          .workload = argv[4]};
        run_one(&run);
        print_head();
        print_run(&run);
        return run.good ? 0 : 1;
    }
    fprintf(stderr, "usage: scale_test [--table | --run RANKS TASKS WORKLOAD]\n");
    return 2;
}
