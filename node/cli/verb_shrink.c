/* verb_shrink.c - `moot shrink`: asks ranks of a running job to leave.
 *
 * It looks at the job as `moot state` does, refuses what cannot be, has any rank on
 * this host pass the word on (node/service/dismissal.h), and looks again until all that
 * were asked say so, or are gone.
 */
#include "node/cli/cli.h"
#include "node/cli/job_choose.h"
#include "node/config/knobs.h"
#include "node/tools/state_sockets.h"
#include "proto/moot_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ANSWER_MS = 8000, LOOK_MS = 50 };

struct shrink_request {
    const char *job; /* NULL: the only one */
    uint32_t count;  /* so many; 0: `ranks` are named */
    char **ranks;    /* "r3" */
    uint32_t rank_count;
    uint32_t *chosen; /* members of the job that are to go */
    uint32_t chosen_count;
};

/* --- Words ------------------------------------------------------------------------ */

/* CLI_USAGE, which is said, if they make no sense. */
static int request_read(int argc, char **argv, struct shrink_request *request)
{
    uint32_t number;
    int at = 1;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            return cli_no_option(&verb_shrink, argv[i]);
        }
    }
    if (at < argc && job_is_named(argv[at])) {
        request->job = argv[at++];
    }
    if (at == argc) {
        return cli_usage(&verb_shrink, "how many ranks are to leave, or which?");
    }
    if (argc - at == 1 && job_number_read(argv[at], &request->count)) {
        return request->count > 0 ? CLI_OK
                                  : cli_usage(&verb_shrink, "0 ranks are none to ask");
    }
    for (int i = at; i < argc; i++) {
        if (argc - at > 1 && job_number_read(argv[i], &number)) {
            return cli_usage(&verb_shrink,
                             "'%s' stands beside other words: name all ranks that are "
                             "to leave, as r3, or say only how many",
                             argv[i]);
        }
        if (argv[i][0] != 'r' || !job_number_read(argv[i] + 1, &number)) {
            return cli_usage(&verb_shrink,
                             "'%s' is no number of ranks, as 2, and no rank, as r3",
                             argv[i]);
        }
    }
    request->ranks = argv + at;
    request->rank_count = (uint32_t)(argc - at);
    return CLI_OK;
}

/* --- The job, as it is ------------------------------------------------------------ */

static const Moot__Account *account_of(const Moot__Picture *picture, uint32_t rank)
{
    for (size_t i = 0; i < picture->n_seats; i++) {
        if (picture->seats[i]->rank == rank) {
            return picture->seats[i]->account;
        }
    }
    return NULL;
}

/* As the rank says that has answered for all: its own account is there. */
static bool is_member(const Moot__Picture *picture, uint32_t rank)
{
    const Moot__Account *told = account_of(picture, picture->rank);
    const size_t byte = rank / 8;
    return rank < picture->size && told && byte < told->members.len &&
           (told->members.data[byte] >> (rank % 8) & 1) != 0;
}

static bool was_asked(const Moot__Picture *picture, uint32_t rank)
{
    const Moot__Account *account = account_of(picture, rank);
    return account && account->asked_ns != 0;
}

static bool is_chosen(const struct shrink_request *request, uint32_t rank)
{
    bool found = false;
    for (uint32_t i = 0; i < request->chosen_count; i++) {
        found |= request->chosen[i] == rank;
    }
    return found;
}

/* False, which is said, if that one cannot be asked. */
static bool rank_judge(const struct shrink_request *request,
                       const Moot__Picture *picture, uint32_t rank)
{
    const Moot__Account *account = account_of(picture, rank);
    if (rank >= picture->size) {
        cli_complain(&verb_shrink, "there is no rank %u: the job has ranks 0 to %u",
                     rank, picture->size - 1);
    } else if (!is_member(picture, rank)) {
        cli_complain(&verb_shrink, "rank %u is not there any more", rank);
    } else if (is_chosen(request, rank)) {
        cli_complain(&verb_shrink, "rank %u is named twice", rank);
    } else if (was_asked(picture, rank)) {
        cli_complain(&verb_shrink, "rank %u was asked to leave already", rank);
    } else if (account && account->closing_ns != 0) {
        cli_complain(&verb_shrink,
                     "rank %u is at its end already, and waits for the others", rank);
    } else if (account && account->stays.len > 0) {
        cli_complain(&verb_shrink, "rank %u cannot leave: %.*s", rank,
                     (int)account->stays.len, (const char *)account->stays.data);
    } else {
        return true;
    }
    return false;
}

static bool can_be_asked(const Moot__Picture *picture, uint32_t rank)
{
    const Moot__Account *account = account_of(picture, rank);
    return is_member(picture, rank) && !was_asked(picture, rank) &&
           !(account && account->closing_ns != 0);
}

/* The highest of those that can be asked. */
static bool count_choose(struct shrink_request *request, const Moot__Picture *picture)
{
    for (uint32_t rank = picture->size;
         rank-- > 0 && request->chosen_count < request->count;) {
        if (can_be_asked(picture, rank)) {
            if (!rank_judge(request, picture, rank)) {
                return false;
            }
            request->chosen[request->chosen_count++] = rank;
        }
    }
    return true;
}

static bool named_choose(struct shrink_request *request, const Moot__Picture *picture)
{
    for (uint32_t i = 0; i < request->rank_count; i++) {
        const uint32_t rank = (uint32_t)strtoul(request->ranks[i] + 1, NULL, 10);
        if (!rank_judge(request, picture, rank)) {
            return false;
        }
        request->chosen[request->chosen_count++] = rank;
    }
    return true;
}

/* Fills in the ranks that are to go; false, which is said, if they cannot. */
static bool ranks_choose(struct shrink_request *request, const Moot__Picture *picture)
{
    const Moot__Account *told = account_of(picture, picture->rank);
    const uint32_t least = told && told->least > 1 ? told->least : 1;
    uint32_t stay = 0;
    const uint32_t most =
        picture->size > request->rank_count ? picture->size : request->rank_count;
    request->chosen = calloc((size_t)most + 1, sizeof(*request->chosen));
    if (!request->chosen || !(request->count > 0 ? count_choose(request, picture)
                                                 : named_choose(request, picture))) {
        return false;
    }
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        stay += is_member(picture, rank) && !was_asked(picture, rank) &&
                !is_chosen(request, rank);
    }
    if (least > 1 && stay < least) {
        cli_complain(&verb_shrink,
                     "%u rank%s would stay, and the job is to have %u (--min)", stay,
                     stay == 1 ? "" : "s", least);
        return false;
    }
    if (stay == 0 || request->chosen_count < request->count) {
        cli_complain(&verb_shrink, "one rank at least has to stay");
        return false;
    }
    return true;
}

/* --- Asking ----------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The first that has not said so and is there; UINT32_MAX: none is. */
static uint32_t find_unheard(const struct shrink_request *request,
                             const Moot__Picture *picture)
{
    for (uint32_t i = 0; i < request->chosen_count; i++) {
        const uint32_t rank = request->chosen[i];
        if (is_member(picture, rank) && !was_asked(picture, rank)) {
            return rank;
        }
    }
    return UINT32_MAX;
}

/* A job that has ended meanwhile has let them go, too. */
static int answers_await(const char *setting, const struct shrink_request *request)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    const int64_t until_ms = now_ms() + ANSWER_MS;
    for (;;) {
        Moot__Picture *picture = state_ask(setting, request->job, NULL);
        const uint32_t unheard = picture ? find_unheard(request, picture) : UINT32_MAX;
        if (picture) {
            moot__picture__free_unpacked(picture, NULL);
        }
        if (unheard == UINT32_MAX) {
            return CLI_OK;
        }
        if (now_ms() >= until_ms) {
            cli_complain(&verb_shrink,
                         "rank %u was asked, and has not said so yet: nothing of it "
                         "moves messages",
                         unheard);
            return CLI_FAILED;
        }
        nanosleep(&pause, NULL);
    }
}

static int ranks_ask(const char *setting, const struct shrink_request *request)
{
    for (uint32_t i = 0; i < request->chosen_count; i++) {
        if (!state_ask_to_leave(setting, request->job, request->chosen[i])) {
            cli_complain(&verb_shrink, "no rank of job %s answers any more",
                         request->job);
            return CLI_FAILED;
        }
    }
    const int status = answers_await(setting, request);
    if (status == CLI_OK) {
        printf("asked to leave: rank");
        for (uint32_t i = 0; i < request->chosen_count; i++) {
            printf("%s %u",
                   i > 0                       ? ","
                   : request->chosen_count > 1 ? "s"
                                               : "",
                   request->chosen[i]);
        }
        putchar('\n');
    }
    return status;
}

static int job_shrink(const char *setting, struct shrink_request *request)
{
    Moot__Picture *picture = state_ask(setting, request->job, NULL);
    if (!picture) {
        cli_complain(&verb_shrink, "no rank of job %s answers on this host",
                     request->job);
        return CLI_FAILED;
    }
    const bool can = ranks_choose(request, picture);
    moot__picture__free_unpacked(picture, NULL);
    const int status = can ? ranks_ask(setting, request) : CLI_FAILED;
    free(request->chosen);
    return status;
}

static int shrink_run(int argc, char **argv)
{
    struct shrink_request request = {.job = NULL};
    char story[1500] = "", name[STATE_JOB_BYTES];
    struct knobs knobs;
    int status = request_read(argc, argv, &request);
    if (status != CLI_OK) {
        return status;
    }
    if (knobs_load(&knobs, NULL, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_shrink, "%s", story);
        return CLI_USAGE;
    }
    status = job_choose(&verb_shrink, knobs.state, &request.job, name);
    return status == CLI_OK ? job_shrink(knobs.state, &request) : status;
}

const struct verb verb_shrink = {
    .name = "shrink",
    .line = "asks ranks of a running job to leave",
    .usage =
        "shrink [JOB] COUNT | rN ...\n"
        "\n"
        "Asks so many ranks of a job, the highest, or those that are named, as r3 r5,\n"
        "to leave: what they have not begun goes to the others, and so do their\n"
        "results.  The job goes on without them.  JOB, as `moot state` shows it, may\n"
        "be left out if there is only one on this host.\n"
        "\n"
        "Exit status: 0 once all have been asked; 1 if that cannot be, and why; 2 if\n"
        "the command line or a knob is wrong.",
    .run = shrink_run,
};
