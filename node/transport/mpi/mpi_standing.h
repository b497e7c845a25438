/* mpi_standing.h - the standing receives: a part of mpi.c, behind whose flights it
 * stands.
 *
 * MPI ends them in the order in which they were posted, as what comes from anybody with
 * any tag matches the first: so they take turns.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_STANDING_H
#define NODE_TRANSPORT_MPI_MPI_STANDING_H

static int standing_make(struct line *line)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < STANDING_COUNT && code == MPI_SUCCESS; i++) {
        code = MPI_Recv_init(line->short_frames[i], SHORT_FRAME_BYTES, MPI_BYTE,
                             MPI_ANY_SOURCE, MPI_ANY_TAG, line->comm,
                             &line->standings.all[i].request);
    }
    return code;
}

/* Posts those that have ended, those that ended first first. */
static void standing_post(struct mpi_transport *t, struct line *line)
{
    for (int k = 0; k < STANDING_COUNT; k++) {
        const int i = (line->next + k) % STANDING_COUNT;
        struct standing *standing = &line->standings.all[i];
        if (standing->posted) {
            continue;
        }
        standing->posted =
            succeeded(t, MPI_Start(&standing->request), "receiving frames");
    }
}

static void take_notice(struct mpi_transport *t, uint32_t from,
                        const unsigned char *bytes, size_t size)
{
    size_t frame_bytes = 0;
    struct piece piece;
    if (size == sizeof(frame_bytes)) {
        memcpy(&frame_bytes, bytes, sizeof(frame_bytes));
    }
    if (exchange_expect(&t->exchange, from, frame_bytes, &piece)) {
        piece_start(t, &piece);
    }
}

/* Takes the frame, or the notice, that has come, if one has.  A frame that overtakes
 * none is lent to who is told of it, where it is; there is no other way on which it
 * could be late. */
static bool frame_take(struct mpi_transport *t, struct line *line, bool lends)
{
    int came = 0, size = 0;
    MPI_Status status;
    struct standing *standing = &line->standings.all[line->next];
    const int code =
        standing->posted ? MPI_Test(&standing->request, &came, &status) : MPI_SUCCESS;
    if (!succeeded(t, code, "receiving a frame") || !came) {
        return false;
    }
    MPI_Get_count(&status, MPI_BYTE, &size);
    const uint32_t from = line->numbers[status.MPI_SOURCE];
    const unsigned char *bytes = line->short_frames[line->next];
    if (status.MPI_TAG == TAG_NOTICE) {
        take_notice(t, from, bytes, (size_t)size);
    } else {
        exchange_bring(&t->exchange, from, bytes, (size_t)size, lends);
    }
    standing->posted = false;
    line->next = (line->next + 1) % STANDING_COUNT;
    return true;
}

/* Where frames come one by one, to look for another costs as much as to take one, and
 * whoever waits for the first waits for that, too: it is looked for if the poll before
 * found any. */
static void frames_take(struct mpi_transport *t, struct line *line, size_t frames_max,
                        bool lends)
{
    size_t taken = 0;
    const size_t most = line->came ? STANDING_COUNT : 1;
    while (taken < most && exchange_waiting(&t->exchange) < frames_max &&
           frame_take(t, line, lends)) {
        taken++;
    }
    line->came = taken > 0;
}

#endif
