/* mpi_lines.h - lines: the pairs of communicators by which ranks speak to each other; a
 * part of mpi.c, after whose includes it stands.
 *
 * The founders have one line, whose ranks are the moot's numbers.  Newcomers bring a
 * line with them, of themselves and all who were at the boundary where they came
 * (mpi_growth.h).  Two ranks use the line with which the later of the two has come, so
 * all that one says to the other goes by one communicator, and MPI keeps its order.
 *
 * Each line has standing receives of its own (mpi_standing.h).
 */
#ifndef NODE_TRANSPORT_MPI_MPI_LINES_H
#define NODE_TRANSPORT_MPI_MPI_LINES_H

struct line {
    struct line *older;
    MPI_Comm comm;     /* short frames and notices */
    MPI_Comm aside;    /* what a notice or a frame has announced */
    uint32_t *numbers; /* the moot's, by rank of the communicators */
    uint32_t count;
    bool far;            /* frames of some of them come here: there is no ring */
    bool came;           /* a frame, in the last poll */
    int next;            /* standing receive to end */
    MPI_Request entered; /* all who were there before have taken the newcomers in */
    struct standings standings;
    unsigned char short_frames[STANDING_COUNT][SHORT_FRAME_BYTES];
};

/* The way to a peer. */
struct mpi_way {
    struct line *line; /* NULL: this rank has never been in one line with it */
    int rank;          /* in the line */
};

/* With room for the numbers of `count` ranks, 0, 1, ...; NULL without memory. */
static struct line *line_new(uint32_t count)
{
    struct line *line = calloc(1, sizeof(*line));
    if (line == NULL) {
        return NULL;
    }
    line->comm = line->aside = MPI_COMM_NULL;
    line->entered = MPI_REQUEST_NULL;
    for (int i = 0; i < STANDING_COUNT; i++) {
        line->standings.all[i] = (struct standing){MPI_REQUEST_NULL, false};
    }
    line->count = count;
    line->numbers = calloc((size_t)count + 1, sizeof(*line->numbers));
    for (uint32_t rank = 0; line->numbers != NULL && rank < count; rank++) {
        line->numbers[rank] = rank;
    }
    if (line->numbers == NULL) {
        free(line);
        return NULL;
    }
    return line;
}

/* The memory; its communicators are MPI's still. */
static void lines_release(struct line *newest)
{
    while (newest != NULL) {
        struct line *older = newest->older;
        free(newest->numbers);
        free(newest);
        newest = older;
    }
}

/* Collective over the ranks of each line, in the same order on all. */
static void lines_free_comms(struct line *newest)
{
    for (struct line *line = newest; line != NULL; line = line->older) {
        MPI_Comm_free(&line->aside);
        MPI_Comm_free(&line->comm);
    }
}

/* The rank in the line that has this number; -1: it is not in it. */
static int line_rank(const struct line *line, uint32_t number)
{
    for (uint32_t rank = 0; rank < line->count; rank++) {
        if (line->numbers[rank] == number) {
            return (int)rank;
        }
    }
    return -1;
}

#endif
