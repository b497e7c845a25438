/* mpi_flights.h - requests of MPI that did not end at once, and what travels with each:
 * a part of mpi.c, after whose includes it stands.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_FLIGHTS_H
#define NODE_TRANSPORT_MPI_MPI_FLIGHTS_H

struct flights {
    MPI_Request *requests; /* the four arrays have `room` places, `count` in use */
    struct piece *pieces;
    int *landed; /* scratch of MPI_Testsome */
    MPI_Status *statuses;
    int count, room;
};

static bool is_receive(const struct piece *piece)
{
    const enum transfer_kind kind = piece->transfer->kind;
    return kind == TRANSFER_FRAME_IN || kind == TRANSFER_BULK_IN;
}

/* False without memory; what there is stays. */
static bool flights_grow(struct flights *f)
{
    const size_t room = f->room ? 2 * (size_t)f->room : 64;
    void *requests = realloc(f->requests, room * sizeof(*f->requests));
    f->requests = requests ? requests : f->requests;
    void *pieces = realloc(f->pieces, room * sizeof(*f->pieces));
    f->pieces = pieces ? pieces : f->pieces;
    void *landed = realloc(f->landed, room * sizeof(*f->landed));
    f->landed = landed ? landed : f->landed;
    void *statuses = realloc(f->statuses, room * sizeof(*f->statuses));
    f->statuses = statuses ? statuses : f->statuses;
    if (!requests || !pieces || !landed || !statuses) {
        return false;
    }
    f->room = (int)room;
    return true;
}

static void flights_release(struct flights *f)
{
    free(f->requests), free(f->pieces);
    free(f->landed), free(f->statuses);
}

/* Closes the gaps that MPI_Testsome left where a transfer ended. */
static void flights_compact(struct flights *f)
{
    int kept = 0;
    for (int i = 0; i < f->count; i++) {
        if (f->requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        f->requests[kept] = f->requests[i];
        f->pieces[kept++] = f->pieces[i];
    }
    f->count = kept;
}

/* Takes receives back for which nothing has come, and starts nothing more.  False: MPI
 * is not through with all that was under way. */
static bool flights_end(struct flights *f, struct exchange *x)
{
    for (int i = 0; i < f->count; i++) {
        if (is_receive(&f->pieces[i])) {
            MPI_Cancel(&f->requests[i]);
        }
    }
    for (int i = 0; i < f->count; i++) {
        int ended = 0;
        const int code = MPI_Test(&f->requests[i], &ended, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && ended) {
            exchange_land(x, &f->pieces[i], 0);
        }
    }
    flights_compact(f);
    return f->count == 0;
}

#endif
