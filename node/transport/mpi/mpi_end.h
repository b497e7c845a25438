/* mpi_end.h - MPI_Finalize under an open moot: a part of mpi.c, after whose includes it
 * stands.
 *
 * MPI runs the delete callbacks of MPI_COMM_SELF's attributes before it finalises
 * anything else (MPI 3.1, section 8.7.1).  A watch is such an attribute: its callback
 * waits until no thread of the library is between enter and leave, and from then on
 * none gets in.  It runs in the program's thread and takes only the watch's own lock,
 * which is taken under the engine lock and never the other way round.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_END_H
#define NODE_TRANSPORT_MPI_MPI_END_H

enum { STANDING_COUNT = 8 };

/* Receives that are taken back before MPI ends. */
struct standings {
    struct standings *next;
    struct standing {
        MPI_Request request; /* persistent */
        bool posted;
    } all[STANDING_COUNT];
};

struct mpi_end {
    pthread_mutex_t lock;
    uint32_t depth; /* of brackets, nested; the transport's alone */
    struct standings *standings;
    int keyval;
    bool has_lock, has_keyval, has_attribute;
    atomic_bool came; /* set under the lock */
};

static void take_back(struct standing *standing)
{
    if (standing->request == MPI_REQUEST_NULL) {
        return;
    }
    if (standing->posted) {
        MPI_Cancel(&standing->request);
        MPI_Wait(&standing->request, MPI_STATUS_IGNORE); /* local: one or the other */
    }
    standing->posted = false;
    MPI_Request_free(&standing->request);
}

static int on_finalize(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    struct mpi_end *end = attribute;
    (void)comm, (void)keyval, (void)extra;
    pthread_mutex_lock(&end->lock);
    end->came = true;
    for (struct standings *some = end->standings; some != NULL; some = some->next) {
        for (int i = 0; i < STANDING_COUNT; i++) {
            take_back(&some->all[i]);
        }
    }
    pthread_mutex_unlock(&end->lock);
    return MPI_SUCCESS;
}

/* Starts the watch; `end` is zero but for its standing receives, stays where it is, and
 * takes these back when MPI ends or the watch does.  False if it cannot
 * be (call mpi_end_unwatch anyway). */
static bool mpi_end_watch(struct mpi_end *end)
{
    end->has_lock = pthread_mutex_init(&end->lock, NULL) == 0;
    end->has_keyval =
        end->has_lock && MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize,
                                                &end->keyval, NULL) == MPI_SUCCESS;
    end->has_attribute =
        end->has_keyval &&
        MPI_Comm_set_attr(MPI_COMM_SELF, end->keyval, end) == MPI_SUCCESS;
    return end->has_attribute;
}

static int on_end_of_mpi(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void)comm, (void)keyval, (void)attribute, (void)extra;
    ending_finalizes();
    return MPI_SUCCESS;
}

/* Has MPI_Finalize leave its mark, whether a moot is open then or not.  Once for the
 * process; without it there is no mark. */
static void mpi_end_mark(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    int keyval = MPI_KEYVAL_INVALID;
    if (!atomic_flag_test_and_set(&done) &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end_of_mpi, &keyval, NULL) ==
            MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
        MPI_Comm_free_keyval(&keyval); /* when the attribute has gone */
    }
}

/* Returns whether MPI still takes calls.  Deleting the attribute runs the callback too:
 * hence the copy of `came`. */
static bool mpi_end_unwatch(struct mpi_end *end)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    bool open = initialized && !finalized;
    if (end->has_lock) {
        pthread_mutex_lock(&end->lock);
        open = open && !end->came;
        pthread_mutex_unlock(&end->lock);
    }
    if (open && end->has_attribute) {
        MPI_Comm_delete_attr(MPI_COMM_SELF, end->keyval);
    }
    if (open && end->has_keyval) {
        MPI_Comm_free_keyval(&end->keyval);
    }
    if (end->has_lock) {
        pthread_mutex_destroy(&end->lock);
    }
    *end = (struct mpi_end){0};
    return open;
}

/* The bracket around MPI calls; pairs nest.  False, with nothing to leave, once
 * MPI_Finalize has been called. */
static bool mpi_end_enter(struct mpi_end *end)
{
    if (!end->has_lock || end->depth++ > 0) {
        return true;
    }
    pthread_mutex_lock(&end->lock);
    if (!end->came) {
        return true;
    }
    end->depth = 0;
    pthread_mutex_unlock(&end->lock);
    return false;
}

static void mpi_end_leave(struct mpi_end *end)
{
    if (end->has_lock && --end->depth == 0) {
        pthread_mutex_unlock(&end->lock);
    }
}

#endif
