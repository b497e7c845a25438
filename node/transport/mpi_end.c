/* mpi_end.c - see mpi_end.h. */
#include "mpi_end.h"

#include "moot_mpi.h"

static int on_finalize(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    struct mpi_end *end = attribute;
    (void)comm, (void)keyval, (void)extra;
    pthread_mutex_lock(&end->lock);
    end->came = true;
    pthread_mutex_unlock(&end->lock);
    return MPI_SUCCESS;
}

static bool make_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    const bool made =
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
        pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return made;
}

bool mpi_end_watch(struct mpi_end *end)
{
    end->has_lock = make_lock(&end->lock);
    end->has_keyval =
        end->has_lock && MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize,
                                                &end->keyval, NULL) == MPI_SUCCESS;
    end->has_attribute =
        end->has_keyval &&
        MPI_Comm_set_attr(MPI_COMM_SELF, end->keyval, end) == MPI_SUCCESS;
    return end->has_attribute;
}

/* Deleting the attribute runs the callback too: hence the copy of `came`. */
bool mpi_end_unwatch(struct mpi_end *end)
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
    if (open && end->has_attribute)
        MPI_Comm_delete_attr(MPI_COMM_SELF, end->keyval);
    if (open && end->has_keyval)
        MPI_Comm_free_keyval(&end->keyval);
    if (end->has_lock)
        pthread_mutex_destroy(&end->lock);
    *end = (struct mpi_end){0};
    return open;
}

bool mpi_end_enter(struct mpi_end *end)
{
    if (!end->has_lock)
        return true;
    pthread_mutex_lock(&end->lock);
    if (!end->came)
        return true;
    pthread_mutex_unlock(&end->lock);
    return false;
}

void mpi_end_leave(struct mpi_end *end)
{
    if (end->has_lock)
        pthread_mutex_unlock(&end->lock);
}
