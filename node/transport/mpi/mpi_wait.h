/* mpi_wait.h - moot_mpi_wait: a part of mpi.c, after whose includes it stands.
 *
 * The request is the program's, and so is its communicator with its error handler: what
 * goes wrong with it is told, and is no failure of the transport.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_WAIT_H
#define NODE_TRANSPORT_MPI_MPI_WAIT_H

struct request_wait {
    MPI_Request *request;
    MPI_Status *status;
};

static int test_request(void *arg, struct text *story)
{
    const struct request_wait *wait = arg;
    char words[MPI_MAX_ERROR_STRING] = "unknown error";
    int initialized = 0, finalized = 0, ended = 0, length = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        text_add(story, "MPI is %s", finalized ? "finalised" : "not initialised");
        return MOOT_ERR_TRANSPORT;
    }
    const int code = MPI_Test(wait->request, &ended, wait->status);
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, words, &length);
        text_add(story, "%s", words);
        return MOOT_ERR_TRANSPORT;
    }
    return ended ? MOOT_OK : FOREIGN_GOES_ON;
}

int moot_mpi_wait(moot *m, MPI_Request *request, MPI_Status *status)
{
    struct request_wait wait = {request, status != NULL ? status : MPI_STATUS_IGNORE};
    return foreign_wait(m, "moot_mpi_wait", request != NULL ? test_request : NULL,
                        &wait);
}

#endif
