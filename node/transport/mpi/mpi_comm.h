/* mpi_comm.h - moot_pset_comm: a part of mpi.c, after its table and mpi_wait.h.
 *
 * MPI_Comm_create_group() blocks until all processes of the group are in it, and who
 * is in it serves no peer.  So these first tell each other that they have come: in
 * round k each tells the one 2^k places behind it, and hears the one 2^k places before,
 * by requests that are tested as those of moot_mpi_wait() are.  Whoever is through has
 * sent all that the others may still need, and that all have come is certain.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_COMM_H
#define NODE_TRANSPORT_MPI_MPI_COMM_H

struct comm_wait {
    MPI_Comm aside; /* of a line that has all of the set */
    int *ranks;     /* theirs in it */
    const struct pset_call *set;
    int tag;
    uint32_t round;
    bool under_way; /* this round's requests are */
    MPI_Request tokens[2];
    MPI_Comm *out;
};

static int comm_fails(int code, const char *what, struct text *story)
{
    char words[MPI_MAX_ERROR_STRING + 64];
    describe(code, what, words, sizeof(words));
    text_add(story, "%s", words);
    return MOOT_ERR_TRANSPORT;
}

static int round_begin(struct comm_wait *wait)
{
    const struct pset_call *set = wait->set;
    const uint32_t step = UINT32_C(1) << wait->round;
    const int to = wait->ranks[(set->self + step) % set->count];
    const int from = wait->ranks[(set->self + set->count - step) % set->count];
    const int code =
        MPI_Irecv(NULL, 0, MPI_BYTE, from, wait->tag, wait->aside, &wait->tokens[0]);
    wait->under_way = code == MPI_SUCCESS;
    return code != MPI_SUCCESS ? code
                               : MPI_Isend(NULL, 0, MPI_BYTE, to, wait->tag,
                                           wait->aside, &wait->tokens[1]);
}

static int comm_make(const struct comm_wait *wait)
{
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    int code = MPI_Comm_group(wait->aside, &all);
    if (code == MPI_SUCCESS) {
        code = MPI_Group_incl(all, (int)wait->set->count, wait->ranks, &some);
        MPI_Group_free(&all);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_create_group(wait->aside, some, wait->tag, wait->out);
        MPI_Group_free(&some);
    }
    return code == MPI_SUCCESS
               ? MPI_Comm_set_errhandler(*wait->out, MPI_ERRORS_ARE_FATAL)
               : code;
}

/* Nobody can come any more of whom this one waits to hear. */
static int comm_give_up(struct comm_wait *wait, struct text *story)
{
    MPI_Cancel(&wait->tokens[0]);
    MPI_Request_free(&wait->tokens[0]);
    MPI_Request_free(&wait->tokens[1]);
    text_add(story, "a process of the set is gone");
    return MOOT_ERR_TRANSPORT;
}

/* The oldest line that has all of them: the same for each of them. */
static int comm_line(struct comm_wait *wait, struct text *story)
{
    const struct pset_call *set = wait->set;
    const struct mpi_transport *t = (const struct mpi_transport *)set->transport;
    wait->ranks = calloc((size_t)set->count + 1, sizeof(*wait->ranks));
    if (wait->ranks == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    bool found = false;
    for (const struct line *line = t->lines; line != NULL; line = line->older) {
        uint32_t i = 0;
        while (i < set->count && line_rank(line, set->members[i]) >= 0) {
            i++;
        }
        found |= i == set->count;
        wait->aside = i == set->count ? line->aside : wait->aside;
        for (uint32_t k = 0; i == set->count && k < set->count; k++) {
            wait->ranks[k] = line_rank(line, set->members[k]);
        }
    }
    if (!found) {
        text_add(story, "a process of the set had gone before another one came");
    }
    return found ? FOREIGN_GOES_ON : MOOT_ERR_TRANSPORT;
}

static int comm_test(void *arg, struct text *story)
{
    struct comm_wait *wait = arg;
    if (wait->ranks == NULL) {
        const int found = comm_line(wait, story);
        if (found != FOREIGN_GOES_ON) {
            return found;
        }
    }
    while (wait->set->count > UINT32_C(1) << wait->round) {
        int ended = 0;
        int code = wait->under_way ? MPI_SUCCESS : round_begin(wait);
        code = code == MPI_SUCCESS
                   ? MPI_Testall(2, wait->tokens, &ended, MPI_STATUSES_IGNORE)
                   : code;
        if (code != MPI_SUCCESS) {
            return comm_fails(code, "MPI, as the processes of the set gathered,",
                              story);
        }
        if (!ended) {
            return moot_pset_is_whole(wait->set) ? FOREIGN_GOES_ON
                                                 : comm_give_up(wait, story);
        }
        wait->under_way = false;
        wait->round++;
    }
    const int code = comm_make(wait);
    return code == MPI_SUCCESS ? MOOT_OK
                               : comm_fails(code, "MPI_Comm_create_group", story);
}

int moot_pset_comm(moot *m, const char *name, MPI_Comm *out)
{
    struct pset_call set = {.call = "moot_pset_comm", .ops = &mpi_ops};
    int error = moot_pset_members(m, out != NULL ? name : NULL, &set);
    if (error == MOOT_OK) {
        struct comm_wait wait = {.set = &set,
                                 .tag = TAG_SET + (int)set.index,
                                 .tokens = {MPI_REQUEST_NULL, MPI_REQUEST_NULL},
                                 .out = out};
        error = foreign_wait(m, set.call, comm_test, &wait);
        free(wait.ranks);
    }
    free(set.members);
    return error;
}

#endif
