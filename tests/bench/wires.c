/* wires.c - half round trips over what carries moot's frames, and beside it.
 *
 *   moot run -n 2 --launcher local wires carrier tcp             by rings
 *   moot run -n 2 --launcher local wires carrier WORD wire       by a wire, sealed
 *   moot run -n 2 --launcher local wires carrier WORD wire open  not sealed
 *   wires sockets                                                TCP alone
 *   mpirun -n 2 wires mpi                                        MPI alone
 *   wires cipher                                                 the cipher alone
 *
 * Prints lines `size median_us` (ways.h).  As the engine does it, what is longer than
 * FRAME_BYTES_MAX goes as a large result, for which the receiver has a buffer, and what
 * is shorter is written to its place if there is one.  `cipher` seals and opens as many
 * bytes in pieces of a datagram: the time of both together.  `sockets` forks, and each
 * process receives right into its place: no wire of TCP can be faster.
 * tests/bench/wires.sh has the ways take turns.
 */
#include "node/channel/channel.h"
#include "node/transport/carrier/seal.h"
#include "node/transport/transport.h"
#include "tests/bench/ways.h"

#include <arpa/inet.h>
#include <errno.h>
#include <mpi.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_BYTES_MAX = 128 << 10 };

/* --- moot's ----------------------------------------------------------------------- */

struct carried {
    struct transport *t;
    uint64_t other;
    unsigned char *place; /* for large ones */
    int came, sent;
};

static void take_frame(void *context, uint64_t from, void *bytes, size_t size)
{
    struct carried *c = context;
    (void)from, (void)size;
    c->came++;
    free(bytes);
}

static void take_lent(void *context, uint64_t from, const void *bytes, size_t size)
{
    struct carried *c = context;
    (void)from, (void)size, (void)bytes;
    c->came++;
}

static void take_bulk(void *context, uint64_t uid, void *cookie)
{
    struct carried *c = context;
    (void)uid, (void)cookie;
    c->came++;
}

static void end_bulk(void *context, uint64_t uid, void *cookie)
{
    struct carried *c = context;
    (void)uid, (void)cookie;
    c->sent++;
}

static void poll_carried(struct carried *c)
{
    const struct transport_receiver receiver = {.context = c,
                                                .frame = take_frame,
                                                .bulk = take_bulk,
                                                .bulk_sent = end_bulk,
                                                .lent = take_lent};
    if (c->t->ops->poll(c->t, &receiver, 64) < 0) {
        fprintf(stderr, "wires: %s\n", c->t->ops->story(c->t));
        exit(1);
    }
}

static void carried_expect(void *context, size_t size)
{
    struct carried *c = context;
    if (size > FRAME_BYTES_MAX) {
        (void)c->t->ops->bulk_receive(c->t, c->other, c->place, size, NULL);
    }
}

static void carried_send(void *context, const void *bytes, size_t size)
{
    struct carried *c = context;
    void *place = NULL;
    if (size > FRAME_BYTES_MAX) {
        (void)c->t->ops->bulk_send(c->t, c->other, bytes, size, NULL);
        for (const int before = c->sent; c->sent == before;) {
            poll_carried(c);
        }
        return;
    }
    if (c->t->ops->place != NULL &&
        (place = c->t->ops->place(c->t, c->other, size)) != NULL) {
        memcpy(place, bytes, size);
        c->t->ops->placed(c->t, c->other, size);
        return;
    }
    void *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, bytes, size);
        (void)c->t->ops->send(c->t, c->other, copy, size);
    }
}

static void carried_wait(void *context, size_t size)
{
    struct carried *c = context;
    (void)size;
    while (c->came == 0) {
        poll_carried(c);
    }
    c->came--;
}

static int carrier_main(const char *word, bool wire, bool open)
{
    struct transport_carrier_options options = {word, open, "mesh"};
    struct transport_group group;
    struct carried c = {.place = malloc(WAYS_BYTES_MAX)};
    char story[256];
    if (transport_carrier_open(&options, "", 0, &group, &c.t, story, sizeof(story)) !=
            MOOT_OK ||
        group.size != 2) {
        fprintf(stderr, "wires: %s\n", story);
        return 1;
    }
    if (wire) {
        c.t->ops->go_plain(c.t);
    }
    c.other = group.uids[1 - group.rank];
    const struct way way = {&c, carried_expect, carried_send, carried_wait};
    ways_measure(&way, group.rank == 0);
    while (!c.t->ops->flushed(c.t)) {
        poll_carried(&c);
    }
    c.t->ops->free(c.t);
    transport_group_release(&group);
    free(c.place);
    return 0;
}

/* --- MPI's ------------------------------------------------------------------------ */

struct passed {
    int other;
    unsigned char *place;
    MPI_Request request;
};

static void passed_expect(void *context, size_t size)
{
    struct passed *p = context;
    MPI_Irecv(p->place, (int)size, MPI_BYTE, p->other, 1, MPI_COMM_WORLD, &p->request);
}

static void passed_send(void *context, const void *bytes, size_t size)
{
    const struct passed *p = context;
    MPI_Send(bytes, (int)size, MPI_BYTE, p->other, 1, MPI_COMM_WORLD);
}

static void passed_wait(void *context, size_t size)
{
    struct passed *p = context;
    (void)size;
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
}

static int mpi_main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct passed p = {.other = 1 - rank, .place = malloc(WAYS_BYTES_MAX)};
    const struct way way = {&p, passed_expect, passed_send, passed_wait};
    if (size == 2) {
        ways_measure(&way, rank == 0);
    }
    free(p.place);
    MPI_Finalize();
    return size == 2 ? 0 : 1;
}

/* --- Sockets alone ---------------------------------------------------------------- */

struct socketed {
    int fd;
    unsigned char *place;
};

static void socket_expect(void *context, size_t size) { (void)context, (void)size; }

static void socket_send(void *context, const void *bytes, size_t size)
{
    const struct socketed *s = context;
    for (size_t at = 0; at < size;) {
        const ssize_t went = send(s->fd, (const char *)bytes + at, size - at,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
        if (went < 0 && errno != EAGAIN && errno != EINTR) {
            exit(1);
        }
        at += went > 0 ? (size_t)went : 0;
    }
}

static void socket_wait(void *context, size_t size)
{
    const struct socketed *s = context;
    for (size_t at = 0; at < size;) {
        const ssize_t came = recv(s->fd, s->place + at, size - at, MSG_DONTWAIT);
        if (came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR)) {
            exit(1);
        }
        at += came > 0 ? (size_t)came : 0;
    }
}

static int sockets_main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    const int one = 1, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    static unsigned char place[WAYS_BYTES_MAX];
    struct socketed s = {.place = place};
    if (bind(door, (struct sockaddr *)&at, length) != 0 || listen(door, 1) != 0 ||
        getsockname(door, (struct sockaddr *)&at, &length) != 0) {
        return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
        s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(s.fd, (struct sockaddr *)&at, length) != 0) {
            _exit(1);
        }
    } else {
        s.fd = accept(door, NULL, NULL);
    }
    (void)setsockopt(s.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    const struct way way = {&s, socket_expect, socket_send, socket_wait};
    ways_measure(&way, child != 0);
    close(s.fd);
    close(door);
    return child == 0 || waitpid(child, NULL, 0) == child ? 0 : 1;
}

/* --- The cipher's ----------------------------------------------------------------- */

enum { PIECE_BYTES = (256 << 10) - SEAL_BYTES };

struct ciphered {
    struct seal from;
    unsigned char *sealed, *opened;
    const void *bytes;
};

static void cipher_expect(void *context, size_t size) { (void)context, (void)size; }

/* By libsodium alone, not by seal.c: what that adds is a part of the cost. */
static void cipher_send(void *context, const void *bytes, size_t size)
{
    struct ciphered *c = context;
    c->bytes = bytes;
    unsigned char nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES] = {0};
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        const size_t piece = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        crypto_aead_chacha20poly1305_ietf_encrypt(
            c->sealed, NULL, (const unsigned char *)bytes + at, piece, NULL, 0, NULL,
            nonce, c->from.ours);
        if (crypto_aead_chacha20poly1305_ietf_decrypt(c->opened, NULL, NULL, c->sealed,
                                                      piece + SEAL_TAG_BYTES, NULL, 0,
                                                      nonce, c->from.ours) != 0) {
            abort();
        }
    }
}

/* The way back. */
static void cipher_wait(void *context, size_t size)
{
    struct ciphered *c = context;
    cipher_send(context, c->bytes, size);
}

static int cipher_main(void)
{
    const unsigned char key[SEAL_KEY_BYTES] = {1};
    struct ciphered c = {.sealed = malloc(PIECE_BYTES + SEAL_BYTES),
                         .opened = malloc(PIECE_BYTES)};
    if (sodium_init() < 0 || c.sealed == NULL || c.opened == NULL) {
        return 1;
    }
    seal_begin(&c.from, key, 1, 2);
    const struct way way = {&c, cipher_expect, cipher_send, cipher_wait};
    ways_measure(&way, true);
    free(c.sealed);
    free(c.opened);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "carrier") == 0) {
        return carrier_main(argv[2], argc > 3, argc > 4);
    }
    if (argc > 1 && strcmp(argv[1], "mpi") == 0) {
        return mpi_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "sockets") == 0) {
        return sockets_main();
    }
    return argc > 1 && strcmp(argv[1], "cipher") == 0 ? cipher_main() : 2;
}
