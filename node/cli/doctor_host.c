/* doctor_host.c - what a doctor sees of its own host; see doctor.h. */
#include "node/api/moot.h"
#include "node/cli/doctor.h"
#include "node/launch/launch.h"
#include "node/launchers/launchers.h"
#include "node/transport/transport.h"
#include "proto/wire.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 512, LINE_BYTES = 1024, TRY_MS = 5000 };
enum { FILES_LEAST = 1024, PROCESSES_LEAST = 512, MEBIBYTES_LEAST = 64 };

void doctor_release(char text[64])
{
    snprintf(text, 64, "%d.%d.%d-wire%d", MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR,
             MOOT_VERSION_PATCH, WIRE_VERSION);
}

/* --- Limits ----------------------------------------------------------------------- */

static void limit_look(doctor_tell tell, void *context, const char *name, int resource,
                       rlim_t least, const char *advice)
{
    struct rlimit limit;
    char text[TEXT_BYTES];
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) {
        return;
    }
    const bool enough = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= least;
    if (limit.rlim_max == RLIM_INFINITY) {
        snprintf(text, sizeof(text), "no limit");
    } else {
        snprintf(text, sizeof(text), "%ju at most%s%s", (uintmax_t)limit.rlim_max,
                 enough ? "" : ": ", enough ? "" : advice);
    }
    tell(context, enough ? DOCTOR_WELL : DOCTOR_NOTE, name, text);
}

static bool has_rdma(void)
{
    DIR *dir = opendir("/sys/class/infiniband");
    int entries = 0;
    while (dir && readdir(dir)) {
        entries++;
    }
    if (dir) {
        closedir(dir);
    }
    return entries > 2;
}

static void folder_look(doctor_tell tell, void *context, const char *name,
                        const char *path, bool needed, const char *advice)
{
    struct statvfs about;
    char text[TEXT_BYTES];
    if (statvfs(path, &about) != 0 || access(path, W_OK | X_OK) != 0) {
        snprintf(text, sizeof(text), "%s: %s: %s", path, strerror(errno), advice);
        tell(context, needed ? DOCTOR_ILL : DOCTOR_NOTE, name, text);
        return;
    }
    const uintmax_t free_mib = (uintmax_t)about.f_bavail * about.f_frsize >> 20;
    const bool enough = free_mib >= MEBIBYTES_LEAST;
    snprintf(text, sizeof(text), "%s has %ju MiB free%s%s", path, free_mib,
             enough ? "" : ": ", enough ? "" : advice);
    tell(context, enough ? DOCTOR_WELL : DOCTOR_NOTE, name, text);
}

static void limits_look(doctor_tell tell, void *context)
{
    const char *temporary = getenv("TMPDIR");
    limit_look(tell, context, "open files", RLIMIT_NOFILE, FILES_LEAST,
               "each rank takes some, and each peer of a rank one: raise `ulimit -n`");
    limit_look(tell, context, "processes", RLIMIT_NPROC, PROCESSES_LEAST,
               "each rank is two, with threads: raise `ulimit -u`");
    if (has_rdma()) {
        limit_look(tell, context, "locked memory", RLIMIT_MEMLOCK, RLIM_INFINITY,
                   "RDMA devices want all of it: set `ulimit -l unlimited`");
    }
    folder_look(tell, context, "temporary folder",
                temporary && *temporary ? temporary : "/tmp", true,
                "moot leaves what a summary needs there: set TMPDIR");
    folder_look(tell, context, "shared memory", "/dev/shm", false,
                "Open MPI's ranks of one host talk by it: give it more room");
}

/* --- The system ------------------------------------------------------------------- */

static void system_look(doctor_tell tell, void *context)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof(text), "%d", cores_count());
    tell(context, DOCTOR_WELL, "cores", text);
    const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    tell(context, self >= 0 ? DOCTOR_WELL : DOCTOR_NOTE, "deaths on this host",
         self >= 0 ? "seen at once"
                   : "not seen by pidfd_open(2): a newer kernel, or a container that "
                     "allows it, sees them at once");
    if (self >= 0) {
        close(self);
    }
    const int memory = memfd_create("moot-doctor", MFD_CLOEXEC);
    tell(context, memory >= 0 ? DOCTOR_WELL : DOCTOR_NOTE, "rings",
         memory >= 0 ? "memory that ranks share and nobody else sees"
                     : "no memfd_create(2): ranks of this host talk by the wire");
    if (memory >= 0) {
        close(memory);
    }
}

/* --- The network ------------------------------------------------------------------ */

static void interfaces_look(doctor_tell tell, void *context)
{
    struct ifaddrs *all = NULL;
    char text[TEXT_BYTES] = "";
    size_t used = 0;
    (void)getifaddrs(&all);
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        char address[INET6_ADDRSTRLEN];
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET ||
            (one->ifa_flags & IFF_LOOPBACK) || !(one->ifa_flags & IFF_UP)) {
            continue;
        }
        const struct sockaddr_in *at = (const void *)one->ifa_addr;
        inet_ntop(AF_INET, &at->sin_addr, address, sizeof(address));
        const int more = snprintf(text + used, sizeof(text) - used, "%s%s %s",
                                  used ? ", " : "", one->ifa_name, address);
        used += more > 0 && used + (size_t)more < sizeof(text) ? (size_t)more : 0;
    }
    freeifaddrs(all);
    tell(context, used ? DOCTOR_WELL : DOCTOR_NOTE, "interfaces",
         used ? text : "none but the loopback: other hosts do not reach this one");
}

static void name_look(doctor_tell tell, void *context)
{
    char name[256] = "", text[TEXT_BYTES];
    struct addrinfo *found = NULL;
    (void)gethostname(name, sizeof(name) - 1);
    const int code = getaddrinfo(name, NULL, NULL, &found);
    if (code == 0) {
        freeaddrinfo(found);
    }
    snprintf(text, sizeof(text), "%s%s%s", name, code ? ": it has no address: " : "",
             code ? gai_strerror(code) : "");
    tell(context, code ? DOCTOR_NOTE : DOCTOR_WELL, "host name", text);
}

static void transport_look(doctor_tell tell, void *context, const char *word,
                           enum doctor_state without)
{
    const moot_transport *table = NULL;
    const char *options = "";
    moot_wire *wire = NULL;
    char name[32], story[TEXT_BYTES] = "", about[TEXT_BYTES] = "";
    snprintf(name, sizeof(name), "transport %s", word);
    int code = transport_table_load(word, &table, &options, story, sizeof(story));
    if (code == MOOT_OK) {
        static const unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES] = {1};
        const moot_transport_setup setup = {.size = sizeof(setup),
                                            .uid = 1,
                                            .options = options,
                                            .host = "",
                                            .job = 1,
                                            .secret = secret};
        code = table->open(&setup, &wire, story, sizeof(story));
    }
    if (code != MOOT_OK) {
        tell(context, without, name, story);
        return;
    }
    table->close(wire);
    (void)transport_table_about(table, about, sizeof(about));
    tell(context, DOCTOR_WELL, name, *about ? about : "opens");
}

static void launchers_look(doctor_tell tell, void *context)
{
    struct launcher mpi;
    char text[LAUNCH_PATH_BYTES + 64];
    const bool found = launcher_find(&mpi);
    if (found && mpi.open_mpi > 0) {
        snprintf(text, sizeof(text), "%s, Open MPI %d", mpi.path, mpi.open_mpi);
    } else {
        snprintf(text, sizeof(text), "%s",
                 found
                     ? mpi.path
                     : "no mpirun in PATH: --launcher local, ssh and slurm do without");
    }
    tell(context, found ? DOCTOR_WELL : DOCTOR_NOTE, "launcher mpirun", text);
    tell(context, DOCTOR_WELL, "launcher ssh",
         launcher_table_about(&launcher_ssh, text, sizeof(text)));
    tell(context, DOCTOR_WELL, "launcher slurm",
         launcher_table_about(&launcher_slurm, text, sizeof(text)));
}

void doctor_look(doctor_tell tell, void *context)
{
    char release[64];
    doctor_release(release);
    tell(context, DOCTOR_WELL, "release", release);
    system_look(tell, context);
    limits_look(tell, context);
    interfaces_look(tell, context);
    name_look(tell, context);
    transport_look(tell, context, "tcp", DOCTOR_ILL);
    transport_look(tell, context, "ucx", DOCTOR_NOTE);
    launchers_look(tell, context);
}

/* --- Answering -------------------------------------------------------------------- */

static void row_print(void *context, enum doctor_state state, const char *name,
                      const char *text)
{
    (void)context;
    printf("row %d %s\t%s\n", (int)state, name, text);
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A socket that listens on a port of the system's choice; -1 with errno. */
static int listen_anywhere(int *port)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in at4 = {.sin_family = AF_INET};
    socklen_t size = sizeof(at), size4 = sizeof(at4);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, size) == 0 &&
        listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
        *port = ntohs(at.sin6_port);
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* no IPv6 here */
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at4, size4) == 0 &&
        listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&at4, &size4) == 0) {
        *port = ntohs(at4.sin_port);
    }
    return fd;
}

/* A connection in time; 0, or why there is none. */
static int connect_timed(const struct addrinfo *to)
{
    int why = 0;
    socklen_t size = sizeof(why);
    const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return errno;
    }
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        struct pollfd end = {.fd = fd, .events = POLLOUT};
        why = errno;
        if (why == EINPROGRESS) {
            why = poll(&end, 1, TRY_MS) > 0 ? 0 : ETIMEDOUT;
        }
        if (why == 0) {
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
        }
    }
    close(fd);
    return why;
}

/* "ADDRESS PORT" */
static void try_answer(char *words)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char *port = strchr(words, ' ');
    if (!port) {
        printf("tried 1 no port\n");
        return;
    }
    *port++ = '\0';
    const int code = getaddrinfo(words, port, &hints, &found);
    if (code != 0) {
        printf("tried 1 %s\n", gai_strerror(code));
        return;
    }
    const uint64_t began = clock_of(CLOCK_MONOTONIC);
    int why = ENOENT;
    for (const struct addrinfo *one = found; one && why != 0; one = one->ai_next) {
        why = connect_timed(one);
    }
    freeaddrinfo(found);
    if (why == 0) {
        printf("tried 0 %" PRIu64 "\n", clock_of(CLOCK_MONOTONIC) - began);
    } else {
        printf("tried 1 %s\n", strerror(why));
    }
}

int doctor_answer(void)
{
    char line[LINE_BYTES], release[64];
    int port = 0;
    const int listening = listen_anywhere(&port);
    doctor_release(release);
    printf("\nmoot-doctor %s\n", release);
    doctor_look(row_print, NULL);
    printf("port %d\nready\n", listening >= 0 ? port : 0);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "time") == 0) {
            printf("time %" PRIu64 "\n", clock_of(CLOCK_REALTIME));
        } else if (strncmp(line, "try ", 4) == 0) {
            try_answer(line + 4);
        }
        fflush(stdout);
    }
    if (listening >= 0) {
        close(listening);
    }
    return EXIT_SUCCESS;
}
