/* mpi_newcomer.h - a newcomer opens its first moot over MPI: its side of mpi_growth.h;
 * a part of mpi.c.
 *
 * MPI_Comm_spawn has started it, for the members of a moot.  Its calls are the mirror
 * of theirs.  They may have to wait for a rank that has died meanwhile, so that they
 * are made by a thread of their own where MPI allows it, and the newcomer gives up
 * after a while.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_NEWCOMER_H
#define NODE_TRANSPORT_MPI_MPI_NEWCOMER_H

struct newcomer_call {
    _Atomic int state; /* enum growth_state */
    struct transport_group group;
    struct mpi_growth growth; /* of which .members and .roster are its own */
    int place;                /* among those that came together */
};

/* This process was started to join a moot, and has not opened one yet. */
static bool is_newcomer(void)
{
    static atomic_flag opened = ATOMIC_FLAG_INIT;
    return !atomic_flag_test_and_set(&opened) && getenv(NEWCOMER_VARIABLE) != NULL &&
           getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

/* Whether all that came together can go on, as who asked for them learns. */
static bool answer_hail(struct growth_intro *intro, MPI_Comm pair, bool has_memory)
{
    struct growth_hail hail = {0, 0};
    MPI_Bcast(&hail, sizeof(hail), MPI_BYTE, 0, pair);
    int good = has_memory && hail.wire_version == WIRE_VERSION &&
               hail.intro_bytes == sizeof(*intro);
    growth_did(intro, MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, pair),
               "MPI_Allreduce");
    if (!good) {
        growth_fail(intro, MOOT_ERR_PROTOCOL,
                    "the moot that started this process is of another version of "
                    "libmoot");
    }
    return intro->code == MOOT_OK;
}

static bool make_room(struct newcomer_call *call)
{
    struct mpi_growth *growth = &call->growth;
    struct mpi_roster *roster = &growth->roster;
    roster->cards = calloc(growth->intro.size, sizeof(*roster->cards));
    roster->blob = malloc((size_t)growth->intro.blob_size + 1);
    roster->blob_size = (size_t)growth->intro.blob_size;
    growth->members =
        calloc((size_t)growth->intro.members + 1, sizeof(*growth->members));
    return roster->cards != NULL && roster->blob != NULL && growth->members != NULL;
}

/* Everything that who asked for them tells them, and who they are. */
static void hear_intro(struct newcomer_call *call, MPI_Comm pair)
{
    struct mpi_growth *growth = &call->growth;
    struct growth_intro *intro = &growth->intro;
    struct hello mine;
    MPI_Bcast(intro, sizeof(*intro), MPI_BYTE, 0, pair);
    if (intro->code != MOOT_OK) {
        return;
    }
    struct transport_group *group = &call->group;
    group->size = intro->size;
    group->founders = intro->founders;
    group->rank = intro->first + (uint32_t)call->place;
    if (!make_room(call) || !hello_make(group, &mine)) {
        growth_fail(intro, MOOT_ERR_NO_MEMORY, "out of memory");
        return;
    }
    const struct mpi_card card = {.hello = mine};
    MPI_Bcast(growth->roster.cards, (int)(intro->ever * sizeof(card)), MPI_BYTE, 0,
              pair);
    MPI_Bcast(growth->members, (int)(intro->members * sizeof(*growth->members)),
              MPI_BYTE, 0, pair);
    MPI_Bcast(growth->roster.blob, (int)intro->blob_size, MPI_BYTE, 0, pair);
    MPI_Gather(&card, sizeof(card), MPI_BYTE, NULL, 0, MPI_BYTE, 0, pair);
    growth_did(
        intro,
        MPI_Bcast(growth->cards, (int)(intro->count * sizeof(card)), MPI_BYTE, 0, pair),
        "MPI, as this process was told of the others,");
}

static void connect_newcomer(struct newcomer_call *call, MPI_Comm pair)
{
    struct growth_intro *intro = &call->growth.intro;
    MPI_Comm mine = MPI_COMM_NULL;
    call->growth.line = line_of_all(intro, call->growth.members);
    if (call->growth.line == NULL) {
        growth_fail(intro, MOOT_ERR_NO_MEMORY, "out of memory");
    } else if (growth_did(intro, MPI_Comm_dup(MPI_COMM_WORLD, &mine), "MPI_Comm_dup")) {
        line_connect(intro, call->growth.line, mine, pair, 0, true);
    }
    comm_drop(&mine);
}

static void *newcomer_run(void *argument)
{
    struct newcomer_call *call = argument;
    struct growth_intro *intro = &call->growth.intro;
    MPI_Comm parent = MPI_COMM_NULL, pair = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &call->place);
    if (parent == MPI_COMM_NULL) {
        growth_fail(intro, MOOT_ERR_TRANSPORT, "MPI does not know who started it");
    } else if (growth_did(intro, MPI_Intercomm_merge(parent, 1, &pair),
                          "MPI_Intercomm_merge") &&
               answer_hail(intro, pair, true)) {
        hear_intro(call, pair);
        if (intro->code == MOOT_OK) {
            connect_newcomer(call, pair);
        }
    }
    comm_drop(&pair);
    comm_drop(&parent);
    atomic_store(&call->state,
                 intro->code == MOOT_OK ? GROWTH_CONNECTED : GROWTH_REFUSED);
    return NULL;
}

/* --- The transport ---------------------------------------------------------------- */

static bool take_group(const struct opening *o, struct newcomer_call *call)
{
    struct mpi_growth *growth = &call->growth;
    struct transport_group *group = o->group;
    struct mpi_roster *roster = &o->t->roster;
    struct hello *all = calloc(group->size, sizeof(*all));
    group->origins = calloc(group->size, sizeof(*group->origins));
    *roster = growth->roster;
    roster->size = group->size;
    roster->founders = group->founders;
    roster->most = growth->intro.most;
    roster->threads = roster->grown = true;
    group->blob_size = roster->blob_size;
    group->blob = malloc(roster->blob_size + 1);
    growth->roster = (struct mpi_roster){.cards = NULL};
    if (all == NULL || group->origins == NULL || group->blob == NULL) {
        free(all);
        return false;
    }
    memcpy(group->blob, roster->blob, roster->blob_size);
    for (uint32_t i = 0; i < growth->intro.count; i++) {
        roster_enter(roster, growth->intro.first + i, &growth->cards[i]);
    }
    for (uint32_t number = 0; number < roster->ever; number++) {
        roster_enter(roster, number, &roster->cards[number]);
        all[number] = roster->cards[number].hello;
        group->origins[number] = roster->cards[number].origin;
    }
    hello_take(group, all);
    free(all);
    return true;
}

/* A rank that had gone before this one came has no way. */
static bool take_line(const struct opening *o, struct newcomer_call *call)
{
    struct mpi_transport *t = o->t;
    t->lines = call->growth.line;
    call->growth.line = NULL;
    t->far = true;
    t->end.standings = &t->lines->standings;
    if (!mpi_end_watch(&t->end) || !make_ways(t, o->group->size) ||
        !exchange_init(&t->exchange, o->group->rank, o->group->size, o->group->uids)) {
        return false;
    }
    if (t->lines->count < t->roster.ever) {
        exchange_go_alone(&t->exchange.base);
    }
    standing_post(t, t->lines);
    return true;
}

/* Waits for the thread, and then until all members know this rank. */
static int await_members(const struct opening *o, struct newcomer_call *call)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const double until = MPI_Wtime() + GROWTH_SECONDS;
    while (atomic_load(&call->state) == GROWTH_UNDER_WAY && MPI_Wtime() < until) {
        nanosleep(&pause, NULL);
    }
    if (atomic_load(&call->state) == GROWTH_UNDER_WAY) {
        return refuse(o, MOOT_ERR_TRANSPORT,
                      "the moot that started this process does not connect with it");
    }
    if (call->growth.intro.code != MOOT_OK) {
        return refuse(o, (int)call->growth.intro.code, call->growth.intro.story);
    }
    *o->group = call->group;
    if (!take_group(o, call) || !take_line(o, call)) {
        return refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    int all = 0, code = MPI_Ibarrier(o->t->lines->aside, &o->t->lines->entered);
    while (code == MPI_SUCCESS && !all && MPI_Wtime() < until) {
        code = MPI_Test(&o->t->lines->entered, &all, MPI_STATUS_IGNORE);
        nanosleep(&pause, NULL);
    }
    return code != MPI_SUCCESS ? check(o, code, "MPI_Ibarrier")
           : all               ? MOOT_OK
                               : refuse(o, MOOT_ERR_TRANSPORT,
                                        "not all members of the moot that started this process know "
                                                      "it");
}

static int join_later(const struct opening *o)
{
    struct newcomer_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        return refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    call->group = *o->group;
    if (!o->group->threads || !thread_begin(newcomer_run, call)) {
        newcomer_run(call);
    }
    const int code = await_members(o, call);
    guard_end();
    if (code == MOOT_OK) {
        ending_awaits(o->group->rank);
    }
    if (atomic_load(&call->state) == GROWTH_UNDER_WAY) {
        o->t->growth = &call->growth; /* MPI is at it still */
        return code;
    }
    free(call->growth.members);
    roster_release(&call->growth.roster);
    lines_release(call->growth.line);
    free(call);
    return code;
}

#endif
