/* mpi_hosts.h - which ranks share a host, and what it is called, asked of MPI: a part
 * of mpi.c, after whose includes it stands.  Collective over the communicator; what the
 * functions return is MPI's. */
#ifndef NODE_TRANSPORT_MPI_MPI_HOSTS_H
#define NODE_TRANSPORT_MPI_MPI_HOSTS_H

/* A host's name, with its end; a longer one is cut. */
enum { MPI_HOST_BYTES = 128 };

/* The lowest rank that shares memory with this one names their host. */
static inline int mpi_find_host(MPI_Comm comm, uint32_t rank, uint64_t *host)
{
    MPI_Comm node = MPI_COMM_NULL;
    *host = rank;
    int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (code == MPI_SUCCESS) {
        code = MPI_Allreduce(MPI_IN_PLACE, host, 1, MPI_UINT64_T, MPI_MIN, node);
    }
    if (node != MPI_COMM_NULL) {
        MPI_Comm_free(&node);
    }
    return code;
}

/* The names that all ranks give their hosts, MPI_HOST_BYTES each. */
static inline int mpi_gather_hosts(MPI_Comm comm, const char mine[MPI_HOST_BYTES],
                                   char *all)
{
    return MPI_Allgather(mine, MPI_HOST_BYTES, MPI_CHAR, all, MPI_HOST_BYTES, MPI_CHAR,
                         comm);
}

#endif
