/* mpi_growth.h - ranks that join a moot over MPI: the side of those who are there; a
 * part of mpi.c, after its slots.
 *
 * All who are at the boundary of a session bring newcomers in together.  They make a
 * communicator of themselves (MPI_Comm_create_group, for which ranks that have left are
 * not needed).  The first of them, who asks, starts the newcomers.  It does so alone
 * (MPI_Comm_spawn over itself), since of a call of all of them that fails only one rank
 * hears (Open MPI 4.1).  It tells the newcomers what they need to know, takes their
 * cards, and gives these to the others.  Then both sides make one communicator of all
 * (MPI_Intercomm_create, MPI_Intercomm_merge): the newcomers' line.
 *
 * These calls block, for ever if a rank dies or the program that is started never opens
 * a moot.  So they are made by a thread of their own, and whoever waits for them does
 * not do so for ever: the thread is then left to MPI, and this moot takes no newcomers
 * any more.  Others make calls of MPI meanwhile, which takes MPI_THREAD_MULTIPLE.
 *
 * When the engine asks for newcomers (the slot next_newcomer) the line begins to be
 * used.  A newcomer sends nothing before all have come so far, which a barrier that
 * does not block tells it: so nobody hears from a rank that it does not know.
 *
 * Open MPI's mpirun never ends once it has refused to start processes for want of slots
 * (4.1.4).  So it is not asked where that is known beforehand.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_GROWTH_H
#define NODE_TRANSPORT_MPI_MPI_GROWTH_H

enum { GROWTH_STORY_BYTES = 256, SPAWN_WORDS_MAX = 4096 };
enum growth_state { GROWTH_UNDER_WAY, GROWTH_CONNECTED, GROWTH_REFUSED };

/* The first that is said to newcomers; alike in all versions. */
struct growth_hail {
    uint64_t wire_version, intro_bytes;
};

/* Words of the rank that asks, to newcomers and to the others who are there. */
struct growth_intro {
    int64_t code; /* other than MOOT_OK: none come, and this is why */
    uint64_t blob_size;
    uint32_t first, wave, count; /* newcomers' numbers */
    uint32_t founders, size, ever, members, most;
    char story[GROWTH_STORY_BYTES];
};

struct mpi_growth {
    _Atomic int state;
    bool starts;              /* the newcomers: what the thread knows of asks */
    bool asks;                /* and has no answer yet */
    double begun;             /* by MPI_Wtime() */
    MPI_Comm base;            /* of which all who are there are members */
    uint32_t *members;        /* numbers, ascending; the first asks */
    int *ranks;               /* theirs in base */
    struct mpi_roster roster; /* borrowed; it does not change meanwhile */
    struct growth_intro intro;
    struct mpi_card cards[LIMIT_NEWCOMERS];
    struct line *line;
    uint32_t told; /* newcomers that the engine knows */
};

static void growth_free(struct mpi_growth *growth)
{
    if (growth != NULL) {
        lines_release(growth->line);
        free(growth->members);
        free(growth->ranks);
        free(growth);
    }
}

/* The first that went wrong stays. */
static int growth_fail(struct growth_intro *intro, int code, const char *why)
{
    if (intro->code == MOOT_OK) {
        intro->code = code;
        snprintf(intro->story, sizeof(intro->story), "%s", why);
    }
    return (int)intro->code;
}

/* Whether MPI did it. */
static bool growth_did(struct growth_intro *intro, int mpi_code, const char *what)
{
    char story[GROWTH_STORY_BYTES];
    if (mpi_code != MPI_SUCCESS) {
        describe(mpi_code, what, story, sizeof(story));
        growth_fail(intro, MOOT_ERR_TRANSPORT, story);
    }
    return mpi_code == MPI_SUCCESS;
}

static void comm_drop(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        MPI_Comm_free(comm);
    }
}

/* --- Starting processes ----------------------------------------------------------- */

/* This process's command line, in one block of `size` bytes; NULL: it is not to be had.
 */
static char *own_words(size_t *size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *words = NULL;
    size_t room = 0;
    *size = 0;
    while (file != NULL) {
        char *more = realloc(words, room += 4096);
        if (more == NULL) {
            break;
        }
        words = more;
        const size_t got = fread(words + *size, 1, room - *size - 1, file);
        *size += got;
        if (got == 0) {
            fclose(file);
            words[*size] = '\0';
            return words;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    free(words);
    return NULL;
}

/* The start of newcomers: this process's program with its words, below a `moot rank`
 * that waits for it if this process is below one. */
struct start {
    char program[PATH_MAX]; /* this process's */
    char *command;          /* the command that has `moot rank`, */
    char *folder;           /* and its folder of ends; NULL: nobody waits */
    char *words;            /* this process's command line, in one block, */
    size_t size;            /* of so many bytes */
    char **argv;            /* pointers to the words behind what is started */
};

static void start_release(struct start *start)
{
    free(start->argv);
    free(start->words);
}

/* NULL: they are too many, or there is no memory. */
static char **start_argv(const struct start *start)
{
    static char verb[] = "rank";
    char **argv = calloc(SPAWN_WORDS_MAX + 4, sizeof(*argv)), *words = start->words;
    size_t count = 0, at = strlen(words) + 1;
    if (argv != NULL && start->folder != NULL) {
        argv[count++] = verb;
        argv[count++] = start->folder;
        argv[count++] =
            (char *)(uintptr_t)start->program; /* MPI does not write to it */
    }
    for (; argv != NULL && at < start->size && count < SPAWN_WORDS_MAX;
         at += strlen(words + at) + 1) {
        argv[count++] = words + at;
    }
    if (at < start->size) {
        free(argv);
        return NULL;
    }
    return argv;
}

/* False: this process's program or command line is not to be had.  Release either way.
 */
static bool start_make(struct start *start)
{
    const ssize_t length =
        readlink("/proc/self/exe", start->program, sizeof(start->program) - 1);
    start->program[length > 0 ? length : 0] = '\0';
    start->command = getenv(ENDING_COMMAND);
    start->folder = start->command != NULL ? getenv(ENDING_FOLDER) : NULL;
    start->words = own_words(&start->size);
    start->argv = start->words != NULL && start->size > 0 ? start_argv(start) : NULL;
    return length > 0 && start->argv != NULL;
}

/* The number of the first newcomer among the processes of the job: behind those that it
 * began with, of which this moot may have some. */
static uint32_t first_process(const struct growth_intro *intro, uint32_t own)
{
    uint32_t told = 0;
    int size = 0;
    if (getenv(NEWCOMER_VARIABLE) != NULL && channel_told_rank(&told) && told >= own) {
        return told - own + intro->first;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return (uint32_t)size - intro->founders + intro->first;
}

/* Where the newcomers run, and how they know that they are some, and of whom. */
static MPI_Info start_info(uint32_t first)
{
    MPI_Info info = MPI_INFO_NULL;
    const struct process_name self = process_self();
    char folder[PATH_MAX], marks[sizeof(NEWCOMER_VARIABLE) + 128];
    if (MPI_Info_create(&info) != MPI_SUCCESS) {
        return MPI_INFO_NULL;
    }
    snprintf(marks, sizeof(marks),
             "%s=%" PRIx64 ".%" PRIx64 ".%" PRIx64 "\n" CHANNEL_FIRST_VARIABLE "=%u",
             NEWCOMER_VARIABLE, self.pid, self.start_ticks, self.space, first);
    MPI_Info_set(info, "env", marks);
    if (getcwd(folder, sizeof(folder)) != NULL && strlen(folder) < MPI_MAX_INFO_VAL) {
        MPI_Info_set(info, "wdir", folder);
    }
    return info;
}

/* By a communicator of this process alone, whose errors come back. */
static bool spawn_call(struct mpi_growth *growth, const struct start *start,
                       MPI_Comm *children)
{
    struct growth_intro *intro = &growth->intro;
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Info info = start_info(first_process(intro, growth->members[0]));
    int codes[LIMIT_NEWCOMERS];
    bool good = growth_did(intro, MPI_Comm_dup(MPI_COMM_SELF, &own), "MPI_Comm_dup");
    if (good) {
        MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
        good = growth_did(
            intro,
            MPI_Comm_spawn(start->folder != NULL ? start->command : start->program,
                           start->argv, (int)intro->count, info, 0, own, children,
                           codes),
            "MPI_Comm_spawn");
    }
    comm_drop(&own);
    if (info != MPI_INFO_NULL) {
        MPI_Info_free(&info);
    }
    return good;
}

static bool spawn_newcomers(struct mpi_growth *growth, MPI_Comm *children)
{
    struct start start = {.size = 0};
    bool good = start_make(&start);
    if (good) {
        good = spawn_call(growth, &start, children);
    } else {
        growth_fail(&growth->intro, MOOT_ERR_TRANSPORT,
                    "this process's command line cannot be read");
    }
    start_release(&start);
    return good;
}

/* --- Telling them ----------------------------------------------------------------- */

/* Each newcomer says whether it can come; its word and this rank's own are alike. */
static bool hail_newcomers(struct mpi_growth *growth, MPI_Comm pair)
{
    struct growth_hail hail = {WIRE_VERSION, sizeof(growth->intro)};
    int good = 1;
    MPI_Bcast(&hail, sizeof(hail), MPI_BYTE, 0, pair);
    growth_did(&growth->intro,
               MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, pair),
               "MPI, as newcomers were greeted,");
    if (good == 0) {
        growth_fail(&growth->intro, MOOT_ERR_PROTOCOL,
                    "the processes that were started run another version of libmoot");
    }
    return growth->intro.code == MOOT_OK;
}

/* Their cards, in the order of their numbers, with who shares a host with whom. */
static void take_cards(struct mpi_growth *growth, struct mpi_card *all)
{
    struct mpi_roster *roster = &growth->roster;
    for (uint32_t i = 0; i < growth->intro.count; i++) {
        struct mpi_card *card = &growth->cards[i];
        *card = all[i + 1];
        card->origin = (struct process_origin){growth->intro.wave, i};
        card->hello.host = roster_host(roster->cards, roster->ever,
                                       growth->intro.first + i, &card->hello);
    }
}

/* This rank is the first of the pair, the newcomers are the others. */
static void tell_newcomers(struct mpi_growth *growth, MPI_Comm pair)
{
    struct growth_intro *intro = &growth->intro;
    const struct mpi_roster *roster = &growth->roster;
    struct mpi_card *all = calloc((size_t)intro->count + 1, sizeof(*all));
    if (all == NULL) {
        growth_fail(intro, MOOT_ERR_NO_MEMORY, "out of memory for newcomers");
    }
    MPI_Bcast(intro, sizeof(*intro), MPI_BYTE, 0, pair);
    if (intro->code != MOOT_OK) {
        free(all);
        return;
    }
    MPI_Bcast(roster->cards, (int)(roster->ever * sizeof(*roster->cards)), MPI_BYTE, 0,
              pair);
    MPI_Bcast(growth->members, (int)(intro->members * sizeof(*growth->members)),
              MPI_BYTE, 0, pair);
    MPI_Bcast(roster->blob, (int)roster->blob_size, MPI_BYTE, 0, pair);
    const bool good = growth_did(intro,
                                 MPI_Gather(MPI_IN_PLACE, sizeof(*all), MPI_BYTE, all,
                                            sizeof(*all), MPI_BYTE, 0, pair),
                                 "MPI, as newcomers told of themselves,");
    if (good) {
        take_cards(growth, all);
    }
    MPI_Bcast(growth->cards, (int)(intro->count * sizeof(*all)), MPI_BYTE, 0, pair);
    free(all);
}

/* One communicator of who asks and the newcomers; none if none come. */
static MPI_Comm start_newcomers(struct mpi_growth *growth)
{
    MPI_Comm children = MPI_COMM_NULL, pair = MPI_COMM_NULL;
    if (!spawn_newcomers(growth, &children)) {
        return MPI_COMM_NULL;
    }
    if (growth_did(&growth->intro, MPI_Intercomm_merge(children, 0, &pair),
                   "MPI_Intercomm_merge") &&
        hail_newcomers(growth, pair)) {
        tell_newcomers(growth, pair);
    }
    comm_drop(&children);
    return pair;
}

/* --- The line --------------------------------------------------------------------- */

/* Both sides connect: these, by `here`, and the others, of whom the first has that rank
 * in `pair`.  Numbers are ascending, newcomers last. */
static bool line_connect(struct growth_intro *intro, struct line *line, MPI_Comm here,
                         MPI_Comm pair, int first, bool comes)
{
    MPI_Comm across = MPI_COMM_NULL;
    const bool good =
        growth_did(intro,
                   MPI_Intercomm_create(here, 0, pair, first, TAG_GROWTH, &across),
                   "MPI_Intercomm_create") &&
        growth_did(intro, MPI_Intercomm_merge(across, comes, &line->comm),
                   "MPI_Intercomm_merge") &&
        growth_did(intro, MPI_Comm_dup(line->comm, &line->aside), "MPI_Comm_dup");
    comm_drop(&across);
    if (good) {
        MPI_Comm_set_errhandler(line->comm, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(line->aside, MPI_ERRORS_RETURN);
    }
    return good && growth_did(intro, standing_make(line), "MPI_Recv_init");
}

static struct line *line_of_all(const struct growth_intro *intro,
                                const uint32_t *members)
{
    struct line *line = line_new(intro->members + intro->count);
    for (uint32_t i = 0; line != NULL && i < line->count; i++) {
        line->numbers[i] =
            i < intro->members ? members[i] : intro->first + (i - intro->members);
    }
    if (line != NULL) {
        line->far = true;
    }
    return line;
}

static MPI_Comm gather_members(struct mpi_growth *growth)
{
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm here = MPI_COMM_NULL;
    if (!growth_did(&growth->intro, MPI_Comm_group(growth->base, &all),
                    "MPI_Comm_group")) {
        return here;
    }
    if (growth_did(
            &growth->intro,
            MPI_Group_incl(all, (int)growth->intro.members, growth->ranks, &some),
            "MPI_Group_incl")) {
        growth_did(&growth->intro,
                   MPI_Comm_create_group(growth->base, some, TAG_GROWTH, &here),
                   "MPI_Comm_create_group");
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
    if (here != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(here, MPI_ERRORS_RETURN);
    }
    return here;
}

static void *growth_run(void *argument)
{
    struct mpi_growth *growth = argument;
    struct growth_intro *intro = &growth->intro;
    MPI_Comm pair = MPI_COMM_NULL, here = gather_members(growth);
    if (here != MPI_COMM_NULL) {
        if (growth->starts && intro->code == MOOT_OK) {
            pair = start_newcomers(growth);
        }
        MPI_Bcast(intro, sizeof(*intro), MPI_BYTE, 0, here);
    }
    if (intro->code == MOOT_OK) {
        MPI_Bcast(growth->cards, (int)(intro->count * sizeof(growth->cards[0])),
                  MPI_BYTE, 0, here);
        growth->line = line_of_all(intro, growth->members);
        if (growth->line == NULL) {
            growth_fail(intro, MOOT_ERR_NO_MEMORY, "out of memory for newcomers");
        } else {
            line_connect(intro, growth->line, here, pair, 1, false);
        }
    }
    comm_drop(&pair);
    comm_drop(&here);
    const bool comes = intro->code == MOOT_OK;
    atomic_store(&growth->state, comes ? GROWTH_CONNECTED : GROWTH_REFUSED);
    return NULL;
}

/* --- The slots -------------------------------------------------------------------- */

/* Slots are counted by mpirun; 0: it does not count. */
static uint32_t slots_of_job(void)
{
    const char *always = getenv("OMPI_MCA_rmaps_base_oversubscribe");
    const char *policy = getenv("OMPI_MCA_rmaps_base_mapping_policy");
    int *slots = NULL, found = 0;
    if ((always != NULL && strcmp(always, "0") != 0) ||
        (policy != NULL && strstr(policy, "OVERSUBSCRIBE") != NULL &&
         strstr(policy, "NOOVERSUBSCRIBE") == NULL)) {
        return 0;
    }
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &slots, &found);
    return found && *slots > 0 ? (uint32_t)*slots : 0;
}

/* Why the asker does not ask, though there is room for newcomers. */
static void wish_check(struct mpi_growth *growth, const struct mpi_roster *roster)
{
    struct growth_intro *intro = &growth->intro;
    const uint32_t slots = slots_of_job(), members = intro->members;
    char why[GROWTH_STORY_BYTES];
    if (intro->count > roster->most || members > roster->most - intro->count) {
        snprintf(why, sizeof(why),
                 "%u rank%s and %u more are over the %u that the moot may have "
                 "(MOOT_MAX)",
                 members, members == 1 ? "" : "s", intro->count, roster->most);
        growth_fail(intro, MOOT_ERR_LIMIT, why);
    } else if (intro->count > roster->size - roster->ever) {
        snprintf(why, sizeof(why),
                 "a moot takes in %u ranks in all, and %u have come: there is no room "
                 "for %u more",
                 roster->size - roster->founders, roster->ever - roster->founders,
                 intro->count);
        growth_fail(intro, MOOT_ERR_LIMIT, why);
    } else if (slots > 0 && members + intro->count > slots) {
        snprintf(why, sizeof(why),
                 "mpirun has %u slot%s, and %u rank%s of this moot run: give it more "
                 "(--host HOST:N), or --oversubscribe",
                 slots, slots == 1 ? "" : "s", members, members == 1 ? "" : "s");
        growth_fail(intro, MOOT_ERR_LIMIT, why);
    }
}

/* Why nobody can join: alike on all ranks.  NULL: they can. */
static const char *growth_flaw(const struct mpi_transport *t)
{
    if (t->roster.cards == NULL) {
        return "this moot has no room for more ranks over MPI: MOOT_MAX says how many "
               "it may have; by other transports `moot run --max` does";
    }
    if (!t->roster.threads) {
        return "MPI was initialised without MPI_THREAD_MULTIPLE on some rank, and a "
               "rank that is in MPI_Comm_spawn could not serve its peers";
    }
    return t->growth != NULL ? "newcomers that were started before have not come"
                             : NULL;
}

static struct mpi_growth *growth_new(const struct mpi_transport *t,
                                     const struct transport_growth *wish)
{
    struct mpi_growth *growth = calloc(1, sizeof(*growth));
    const size_t count = wish->count;
    if (growth == NULL) {
        return NULL;
    }
    const struct mpi_roster *roster = &t->roster;
    growth->base = t->lines->aside;
    growth->begun = MPI_Wtime();
    growth->asks = wish->members[0] == t->exchange.rank;
    growth->starts = growth->asks;
    growth->roster = *roster;
    growth->members = calloc(count + 1, sizeof(*growth->members));
    growth->ranks = calloc(count + 1, sizeof(*growth->ranks));
    growth->intro = (struct growth_intro){.blob_size = roster->blob_size,
                                          .first = roster->ever,
                                          .wave = roster->waves,
                                          .count = wish->newcomers,
                                          .founders = roster->founders,
                                          .size = roster->size,
                                          .ever = roster->ever,
                                          .members = wish->count,
                                          .most = roster->most};
    bool good = growth->members != NULL && growth->ranks != NULL;
    for (uint32_t i = 0; good && i < wish->count; i++) {
        growth->members[i] = wish->members[i];
        growth->ranks[i] = line_rank(t->lines, wish->members[i]);
        good = growth->ranks[i] >= 0;
    }
    if (!good) {
        growth_free(growth);
        return NULL;
    }
    return growth;
}

static int growth_refuse(char *story, size_t story_size, int code, const char *why)
{
    snprintf(story, story_size, "%s", why);
    return code;
}

static int mpi_grow_together(struct transport *base,
                             const struct transport_growth *wish, char *story,
                             size_t story_size)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    const char *flaw = growth_flaw(t);
    if (flaw != NULL) {
        return growth_refuse(story, story_size, MOOT_ERR_UNSUPPORTED, flaw);
    }
    struct mpi_growth *growth = growth_new(t, wish);
    if (growth == NULL) {
        return growth_refuse(story, story_size, MOOT_ERR_NO_MEMORY,
                             "out of memory for newcomers");
    }
    if (growth->asks) {
        wish_check(growth, &t->roster);
    }
    if (!thread_begin(growth_run, growth)) {
        growth_free(growth);
        return growth_refuse(story, story_size, MOOT_ERR_NO_MEMORY,
                             "the system gives no thread to bring newcomers in");
    }
    t->growth = growth;
    return MOOT_OK;
}

/* Asked by who asks, until there is an answer. */
static int mpi_grown(struct transport *base, uint32_t *first, char *story,
                     size_t story_size)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    struct mpi_growth *growth = t->growth;
    if (growth == NULL) {
        return growth_refuse(story, story_size, MOOT_ERR_STATE, "nobody is awaited");
    }
    if (atomic_load(&growth->state) != GROWTH_UNDER_WAY) {
        growth->asks = false;
        *first = growth->intro.first;
        return growth_refuse(story, story_size, (int)growth->intro.code,
                             growth->intro.story);
    }
    if (MPI_Wtime() - growth->begun > GROWTH_SECONDS) {
        growth->asks = false;
        return growth_refuse(story, story_size, MOOT_ERR_TRANSPORT,
                             "they have not opened a moot in time, or a rank is at the "
                             "boundary no more");
    }
    return TRANSPORT_GROWS;
}

/* From now on it is used. */
static void line_add(struct mpi_transport *t, struct line *line)
{
    if (!enter(t)) {
        return;
    }
    line->standings.next = t->end.standings;
    t->end.standings = &line->standings;
    line->older = t->lines;
    t->lines = line;
    t->far = true;
    for (uint32_t rank = 0; rank < line->count; rank++) {
        struct mpi_way *way = &t->ways[line->numbers[rank]];
        if (way->line == NULL) {
            *way = (struct mpi_way){line, (int)rank};
        }
    }
    standing_post(t, line);
    succeeded(t, MPI_Ibarrier(line->aside, &line->entered), "MPI_Ibarrier");
    mpi_end_leave(&t->end);
}

static uint32_t mpi_next_newcomer(struct transport *base, struct transport_group *group)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    struct mpi_growth *growth = t->growth;
    const int state = growth != NULL ? atomic_load(&growth->state) : GROWTH_UNDER_WAY;
    if (state == GROWTH_CONNECTED && growth->told < growth->intro.count) {
        const uint32_t number = growth->intro.first + growth->told;
        const struct mpi_card *card = &growth->cards[growth->told++];
        roster_enter(&t->roster, number, card);
        exchange_add(&t->exchange, number, card->hello.uid);
        hello_take_one(group, number, &card->hello);
        group->origins[number] = card->origin;
        return number;
    }
    if (state == GROWTH_CONNECTED && growth->line != NULL) {
        t->roster.grown = true; /* MPI may write to who is gone from now on */
        line_add(t, growth->line);
        growth->line = NULL;
    }
    if (state != GROWTH_UNDER_WAY && !growth->asks) {
        t->growth = NULL;
        growth_free(growth);
    }
    return UINT32_MAX;
}

#endif
