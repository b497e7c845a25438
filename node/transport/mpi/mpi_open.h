/* mpi_open.h - opening the transport over MPI: a part of mpi.c, after its table.
 *
 * All ranks of the communicator open it together, by collective calls.  A newcomer
 * opens its first moot otherwise (mpi_newcomer.h).
 */
#ifndef NODE_TRANSPORT_MPI_MPI_OPEN_H
#define NODE_TRANSPORT_MPI_MPI_OPEN_H

struct opening {
    struct mpi_transport *t;
    struct transport_group *group;
    char *story;
    size_t story_size;
};

static int refuse(const struct opening *o, int code, const char *why)
{
    snprintf(o->story, o->story_size, "%s", why);
    return code;
}

static int check(const struct opening *o, int mpi_code, const char *what)
{
    if (mpi_code == MPI_SUCCESS) {
        return MOOT_OK;
    }
    describe(mpi_code, what, o->story, o->story_size);
    return MOOT_ERR_TRANSPORT;
}

/* Sees to it that MPI is there, and that `comm` can be used. */
static int enter_mpi(const struct opening *o, const MPI_Comm *comm)
{
    int initialized = 0, finalized = 0, inter = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized) {
        return refuse(o, MOOT_ERR_TRANSPORT, "MPI is finalised already");
    }
    if (atomic_load(&without_all) && !comm) {
        return refuse(o, MOOT_ERR_TRANSPORT,
                      "a rank was lost in an earlier moot of this process, and MPI "
                      "opens none without it");
    }
    if (!initialized && comm) {
        return refuse(o, MOOT_ERR_INVALID,
                      "a communicator, but MPI is not initialised");
    }
    if (!initialized) {
        const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        o->t->owns_mpi = code == MPI_SUCCESS;
        if (code != MPI_SUCCESS) {
            return check(o, code, "MPI_Init_thread");
        }
    }
    MPI_Query_thread(&level);
    o->group->threads = level == MPI_THREAD_MULTIPLE;
    if (comm && *comm == MPI_COMM_NULL) {
        return refuse(o, MOOT_ERR_INVALID, "the communicator is MPI_COMM_NULL");
    }
    const MPI_Comm from = comm ? *comm : MPI_COMM_WORLD;
    MPI_Comm_test_inter(from, &inter);
    if (inter) {
        return refuse(o, MOOT_ERR_INVALID, "the communicator is an intercommunicator");
    }
    return MOOT_OK;
}

/* The founders' line, of that communicator's ranks. */
static int make_line(const struct opening *o, MPI_Comm from)
{
    int size = 0;
    MPI_Comm_size(from, &size);
    if ((unsigned)size > LIMIT_RANKS) {
        return refuse(o, MOOT_ERR_LIMIT, "more ranks than LIMIT_RANKS");
    }
    struct line *line = o->t->lines = line_new((uint32_t)size);
    if (line == NULL) {
        return refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    o->t->end.standings = &line->standings;
    int code = MPI_Comm_dup(from, &line->comm);
    if (code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(line->comm, MPI_ERRORS_RETURN);
        code = MPI_Comm_dup(line->comm, &line->aside);
    }
    return check(o, code, "MPI_Comm_dup");
}

/* Every rank learns whether all could do their part: a rank must not go on into a
 * collective that another has given up. */
static int all_agree(const struct opening *o, bool mine)
{
    int64_t least[3] = {mine, WIRE_VERSION, -WIRE_VERSION};
    const int code = check(
        o,
        MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_INT64_T, MPI_MIN, o->t->lines->comm),
        "MPI_Allreduce");
    if (code != MOOT_OK) {
        return code;
    }
    if (least[1] != -least[2]) {
        snprintf(o->story, o->story_size, "ranks speak versions %d to %d of the wire",
                 (int)least[1], (int)-least[2]);
        return MOOT_ERR_PROTOCOL;
    }
    return mine && least[0] ? MOOT_OK
                            : refuse(o, MOOT_ERR_NO_MEMORY, "a rank is out of memory");
}

/* The lowest rank that shares memory with this one names their host. */
static int find_host(const struct opening *o, uint64_t *host)
{
    MPI_Comm node = MPI_COMM_NULL;
    *host = o->group->rank;
    int code = MPI_Comm_split_type(o->t->lines->comm, MPI_COMM_TYPE_SHARED, 0,
                                   MPI_INFO_NULL, &node);
    if (code == MPI_SUCCESS) {
        code = MPI_Allreduce(MPI_IN_PLACE, host, 1, MPI_UINT64_T, MPI_MIN, node);
    }
    if (node != MPI_COMM_NULL) {
        MPI_Comm_free(&node);
    }
    return check(o, code, "finding who shares a host");
}

/* Draws this rank's uid and learns everyone's, and their hosts. */
static int meet(const struct opening *o, struct hello **out)
{
    struct transport_group *group = o->group;
    struct hello mine;
    struct hello *all = calloc(group->size, sizeof(*all)); /* of who may come, too */
    int code =
        all_agree(o, hello_make(group, &mine) && all && mpi_end_watch(&o->t->end));
    if (code == MOOT_OK) {
        code = find_host(o, &mine.host);
    }
    if (code == MOOT_OK) {
        code = check(o,
                     MPI_Allgather(&mine, HELLO_WORDS, MPI_UINT64_T, all, HELLO_WORDS,
                                   MPI_UINT64_T, o->t->lines->comm),
                     "MPI_Allgather");
    }
    if (code == MOOT_OK) {
        hello_take(group, all);
    }
    *out = all;
    return code;
}

/* Rank 0's blob becomes everyone's. */
static int share_blob(const struct opening *o, const void *blob, size_t blob_size)
{
    struct transport_group *group = o->group;
    uint64_t size = blob_size;
    int code =
        check(o, MPI_Bcast(&size, 1, MPI_UINT64_T, 0, o->t->lines->comm), "MPI_Bcast");
    if (code != MOOT_OK) {
        return code;
    }
    const bool fits = size <= LIMIT_FRAME_BYTES;
    group->blob_size = (size_t)size;
    group->blob = fits ? malloc(size ? (size_t)size : 1) : NULL;
    code = all_agree(o, group->blob != NULL);
    if (code != MOOT_OK) {
        return code;
    }
    if (group->rank == 0 && size) {
        memcpy(group->blob, blob, (size_t)size);
    }
    return check(o, MPI_Bcast(group->blob, (int)size, MPI_BYTE, 0, o->t->lines->comm),
                 "MPI_Bcast");
}

static int all_have(const void *context, bool *have)
{
    const struct opening *o = context;
    int least = *have;
    const int code = check(
        o, MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, o->t->lines->comm),
        "MPI_Allreduce");
    *have = code == MOOT_OK && least != 0;
    return code;
}

/* Memory of this host: rings and boards. */
static int open_memory(const struct opening *o)
{
    struct mpi_transport *self = o->t;
    const int code =
        host_share(&self->exchange.rings, &self->boards, o->group, all_have, o);
    self->lines->far = self->far = self->exchange.rings.count + 1 < o->group->founders;
    return code;
}

static bool make_ways(struct mpi_transport *t, uint32_t size)
{
    t->ways = calloc((size_t)size + 1, sizeof(*t->ways));
    for (uint32_t rank = 0; t->ways != NULL && rank < t->lines->count; rank++) {
        t->ways[t->lines->numbers[rank]] = (struct mpi_way){t->lines, (int)rank};
    }
    return t->ways != NULL;
}

/* How many ranks rank 0 lets the moot have. */
static int learn_room(const struct opening *o, uint32_t most)
{
    const int code =
        check(o, MPI_Bcast(&most, 1, MPI_UINT32_T, 0, o->t->lines->comm), "MPI_Bcast");
    o->t->roster.most = most;
    o->group->size = roster_room(o->group->founders, most);
    return code;
}

/* Founders' names are those of wave 0, which other groups need not say. */
static bool keep_roster(const struct opening *o, const struct hello *all)
{
    struct transport_group *group = o->group;
    if (group->size == group->founders) {
        return true;
    }
    group->origins = calloc(group->size, sizeof(*group->origins));
    if (group->origins == NULL || !roster_make(&o->t->roster, group)) {
        return false;
    }
    for (uint32_t rank = 0; rank < group->founders; rank++) {
        group->origins[rank] = (struct process_origin){0, rank};
        o->t->roster.cards[rank] = (struct mpi_card){all[rank], group->origins[rank]};
    }
    return true;
}

static int join(const struct opening *o, MPI_Comm from, uint32_t most, const void *blob,
                size_t blob_size)
{
    struct mpi_transport *t = o->t;
    struct hello *all = NULL;
    int rank = 0, code = make_line(o, from);
    if (code != MOOT_OK) {
        return code;
    }
    MPI_Comm_rank(t->lines->comm, &rank);
    o->group->rank = (uint32_t)rank;
    o->group->size = o->group->founders = t->lines->count;
    code = learn_room(o, most);
    if (code == MOOT_OK) {
        code = meet(o, &all);
    }
    if (code == MOOT_OK) {
        code = share_blob(o, blob, blob_size);
    }
    if (code == MOOT_OK) {
        code = all_agree(o, exchange_init(&t->exchange, o->group->rank, o->group->size,
                                          o->group->uids) &&
                                make_ways(t, o->group->size) && keep_roster(o, all) &&
                                standing_make(t->lines) == MPI_SUCCESS);
    }
    free(all);
    if (code == MOOT_OK) {
        code = open_memory(o);
    }
    if (code == MOOT_OK && t->lines->far) {
        standing_post(t, t->lines);
    }
    return code;
}

#include "node/transport/mpi/mpi_newcomer.h"

int transport_mpi_open(void *arg, const void *blob, size_t blob_size,
                       struct transport_group *group, struct transport **out,
                       char *story, size_t story_size)
{
    const struct transport_mpi_options *options = arg;
    struct transport_group joined = {0};
    struct mpi_transport *t = calloc(1, sizeof(*t));
    const struct opening o = {t, &joined, story, story_size};
    uint32_t told;
    if (!t) {
        return refuse(&o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    t->exchange.base.ops = &mpi_ops;
    t->exchange.post = piece_post;
    t->exchange.notice = mpi_notice;
    sigpipe_ignore();
    ending_opens();
    const MPI_Comm *comm = options ? options->comm : NULL;
    const bool comes = !comm && is_newcomer();
    if (!comm && !comes && channel_told_rank(&told)) {
        ending_awaits(told);
    }
    int code = enter_mpi(&o, comm);
    if (code == MOOT_OK) {
        code = comes ? join_later(&o)
                     : join(&o, comm ? *comm : MPI_COMM_WORLD,
                            options && !comm ? options->most : 0, blob, blob_size);
    }
    ending_opened();
    if (code == MOOT_OK) {
        mpi_end_mark();
    }
    if (code != MOOT_OK) {
        transport_group_release(&joined);
        mpi_free(&t->exchange.base);
        return code;
    }
    *group = joined;
    *out = &t->exchange.base;
    return MOOT_OK;
}

#endif
