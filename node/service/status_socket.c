/* status_socket.c - see status_socket.h. */
#include "node/service/status_socket.h"

#include "node/explain/snapshot_query.h"
#include "node/service/dismissal.h"
#include "node/service/growing.h"
#include "node/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Who does not send its line, or take its answer, in so long is let go. */
#define GUEST_NS UINT64_C(10000000000)
enum { GUESTS_MAX = 4, LINE_BYTES = 24, HEAD_BYTES = 16 };

struct guest {
    int fd; /* -1: the place is free */
    char line[LINE_BYTES];
    size_t line_size;
    bool waits;              /* for an inquiry's end */
    struct growing *growing; /* the wish that it waits for; NULL: none */
    uint8_t *answer;
    size_t answer_size, sent;
    uint64_t until_ns;
};

struct door {
    int fd;
    uint64_t due_ns;
    char job[16];
    char path[DOOR_PATH_BYTES];
    bool in_ours; /* its folder is the library's own: who leaves last removes it */
    struct guest guests[GUESTS_MAX];
};

/* --- Where ------------------------------------------------------------------------ */

static bool print_path(char path[DOOR_PATH_BYTES], const char *base, const char *end)
{
    int length = snprintf(path, DOOR_PATH_BYTES, "%s%s", base, end);
    return length > 0 && length < DOOR_PATH_BYTES;
}

/* In a folder that others use, too. */
static bool print_shared(char path[DOOR_PATH_BYTES], const char *base)
{
    char end[32];
    snprintf(end, sizeof(end), "/moot-%u", (unsigned)geteuid());
    return print_path(path, base, end);
}

bool door_place(const char *setting, unsigned n, char path[DOOR_PATH_BYTES])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *temporary = getenv("TMPDIR");
    if (setting[0] != '\0') {
        return n == 0 && print_path(path, setting, "");
    }
    if (runtime != NULL && runtime[0] == '/' && n-- == 0) {
        return print_path(path, runtime, "/moot");
    }
    if (temporary != NULL && temporary[0] == '/' && n-- == 0) {
        return print_shared(path, temporary);
    }
    return n == 0 && print_shared(path, "/tmp");
}

bool door_is_safe(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 077) == 0;
}

/* --- Opening and closing --------------------------------------------------------- */

/* Again where another job has just removed the folder as its last. */
static bool bind_in(int fd, const char *folder, const struct sockaddr_un *address)
{
    for (int again = 0; again < 3; again++) {
        if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0) {
            return true;
        }
        if (errno != ENOENT || (mkdir(folder, 0700) != 0 && errno != EEXIST) ||
            !door_is_safe(folder)) {
            return false;
        }
    }
    return false;
}

static bool listen_at(struct door *door, const char *folder, const struct moot *m)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || !door_is_safe(folder)) {
        return false;
    }
    int length = snprintf(door->path, sizeof(door->path), "%s/%s-%u-%ld", folder,
                          door->job, m->group.rank, (long)getpid());
    if (length <= 0 || length >= (int)sizeof(door->path)) {
        door->path[0] = '\0';
        return false;
    }
    memcpy(address.sun_path, door->path, (size_t)length + 1);
    (void)unlink(door->path); /* of an older process with this number */
    door->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (door->fd >= 0 && bind_in(door->fd, folder, &address) &&
        listen(door->fd, GUESTS_MAX) == 0) {
        return true;
    }
    if (door->fd >= 0) {
        close(door->fd);
    }
    door->path[0] = '\0';
    return false;
}

void door_open(struct moot *m)
{
    struct door *door = calloc(1, sizeof(*door));
    char folder[DOOR_PATH_BYTES];
    bool wanted = m->group.processes != NULL && strcmp(m->knobs.state, "off") != 0;
    bool open = false;
    if (door == NULL || !wanted) {
        free(door);
        return;
    }
    for (int i = 0; i < GUESTS_MAX; i++) {
        door->guests[i].fd = -1;
    }
    snprintf(door->job, sizeof(door->job), "%08x",
             (unsigned)(uint32_t)m->group.uids[0]);
    for (unsigned n = 0; !open && door_place(m->knobs.state, n, folder); n++) {
        open = listen_at(door, folder, m);
        door->in_ours = m->knobs.state[0] == '\0';
    }
    m->service.door = open ? door : NULL;
    if (!open) {
        free(door);
    }
}

const char *door_path(const struct moot *m)
{
    return m->service.door != NULL ? m->service.door->path : "";
}

static void let_go(struct guest *guest)
{
    close(guest->fd);
    free(guest->answer);
    growing_leave(guest->growing);
    *guest = (struct guest){.fd = -1};
}

void door_close(struct moot *m)
{
    struct door *door = m->service.door;
    if (door == NULL) {
        return;
    }
    for (int i = 0; i < GUESTS_MAX; i++) {
        if (door->guests[i].fd >= 0) {
            let_go(&door->guests[i]);
        }
    }
    (void)unlink(door->path);
    if (door->in_ours) {
        *strrchr(door->path, '/') = '\0';
        (void)rmdir(door->path); /* fails while others are in it */
    }
    close(door->fd);
    free(door);
    m->service.door = NULL;
}

/* --- Answers --------------------------------------------------------------------- */

static uint8_t *pack_picture(const struct door *door, const struct picture *picture,
                             Moot__Picture__Grown *grown, size_t *size)
{
    Moot__Picture told = MOOT__PICTURE__INIT;
    Moot__Picture__Seat *seats = calloc(picture->size, sizeof(*seats));
    Moot__Picture__Seat **list = calloc(picture->size, sizeof(*list));
    uint8_t *bytes = NULL;
    told.rank = picture->rank;
    told.size = picture->size;
    told.job =
        (ProtobufCBinaryData){strlen(door->job), (uint8_t *)(uintptr_t)door->job};
    told.seats = list;
    told.grown = grown;
    for (uint32_t rank = 0; seats != NULL && list != NULL && rank < picture->size;
         rank++) {
        const struct seat *seat = &picture->seats[rank];
        Moot__Picture__Seat *to = &seats[told.n_seats];
        if (seat->account == NULL && seat->asked_ns == 0) {
            continue;
        }
        moot__picture__seat__init(to);
        to->rank = rank;
        to->age_ns = seat->age_ns;
        to->asked_ns = seat->asked_ns;
        to->account = (Moot__Account *)(uintptr_t)seat->account;
        list[told.n_seats++] = to;
    }
    size_t packed = moot__picture__get_packed_size(&told);
    bytes = told.n_seats > 0 ? malloc(HEAD_BYTES + packed) : NULL;
    if (bytes != NULL) {
        memcpy(bytes, DOOR_MAGIC, 8);
        for (int i = 0; i < 8; i++) {
            bytes[8 + i] = (uint8_t)((uint64_t)packed >> (8 * i));
        }
        moot__picture__pack(&told, bytes + HEAD_BYTES);
        *size = HEAD_BYTES + packed;
    }
    free(seats);
    free(list);
    return bytes;
}

/* The launcher's answer to the guest's wish, if that is what it waits for. */
static Moot__Picture__Grown *grown_of(const struct guest *guest,
                                      Moot__Picture__Grown *grown)
{
    int code = 0;
    const char *story = "";
    moot__picture__grown__init(grown);
    if (guest->growing == NULL ||
        !growing_answer(guest->growing, &code, &grown->first, &story)) {
        return NULL;
    }
    grown->code = code;
    grown->story = (ProtobufCBinaryData){strlen(story), (uint8_t *)(uintptr_t)story};
    return grown;
}

static void answer(struct moot *m, struct guest *guest, const struct picture *picture)
{
    Moot__Picture__Grown grown;
    guest->answer = pack_picture(m->service.door, picture, grown_of(guest, &grown),
                                 &guest->answer_size);
    if (guest->answer == NULL) {
        let_go(guest);
    }
}

static void answer_self(struct moot *m, struct guest *guest, bool brief)
{
    struct picture picture = {.rank = m->group.rank,
                              .size = transport_group_ever(&m->group)};
    size_t size = 0;
    uint8_t *bytes =
        brief ? account_pack_brief(m, &size) : account_pack(m, NULL, 0, &size);
    Moot__Account *account = bytes != NULL ? account_read(bytes, size) : NULL;
    picture.seats = calloc(picture.size, sizeof(*picture.seats));
    if (account != NULL && picture.seats != NULL) {
        picture.seats[picture.rank].account = account;
        answer(m, guest, &picture);
    } else {
        let_go(guest);
    }
    free(bytes);
    account_free(account);
    free(picture.seats);
}

static void answer_all(struct moot *m, uint64_t now_ns)
{
    struct picture picture;
    bool have = inquiry_picture(m, now_ns, &picture);
    for (int i = 0; i < GUESTS_MAX; i++) {
        struct guest *guest = &m->service.door->guests[i];
        if (guest->fd >= 0 && guest->waits) {
            guest->waits = false;
            if (have) {
                answer(m, guest, &picture);
            } else {
                let_go(guest);
            }
        }
    }
    free(picture.seats);
}

/* --- Guests ---------------------------------------------------------------------- */

static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void let_in(struct door *door, uint64_t now_ns)
{
    for (int i = 0; i < GUESTS_MAX; i++) {
        struct guest *guest = &door->guests[i];
        if (guest->fd >= 0) {
            continue;
        }
        int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        if (!is_ours(fd)) {
            close(fd);
            continue;
        }
        *guest = (struct guest){.fd = fd, .until_ns = now_ns + GUEST_NS};
    }
}

/* Reads "WORD NUMBER" of a whole line. */
static bool number_read(const char *line, const char *word, uint32_t *out)
{
    const size_t length = strlen(word);
    const bool asks = strncmp(line, word, length) == 0 && line[length] == ' ' &&
                      line[length + 1] >= '0' && line[length + 1] <= '9';
    char *rest = NULL;
    const unsigned long number = asks ? strtoul(line + length, &rest, 10) : 0;
    *out = (uint32_t)number;
    return asks && *rest == '\n' && number < LIMIT_RANKS;
}

/* The launcher may take longer than a guest has otherwise. */
static void grow(struct moot *m, struct guest *guest, uint32_t count, uint64_t now_ns)
{
    guest->growing = growing_begin(count, session_admits(m));
    guest->until_ns = now_ns + 2 * GUEST_NS;
    if (guest->growing == NULL) {
        let_go(guest);
    }
}

static void growing_look(struct moot *m, struct guest *guest)
{
    const char *story;
    uint32_t first;
    int code;
    if (growing_answer(guest->growing, &code, &first, &story)) {
        answer_self(m, guest, true);
    }
}

/* Takes the line in; once it is whole, does what it asks. */
static void hear(struct moot *m, struct guest *guest, uint64_t now_ns)
{
    ssize_t got = recv(guest->fd, guest->line + guest->line_size,
                       sizeof(guest->line) - guest->line_size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    uint32_t number;
    guest->line_size += got > 0 ? (size_t)got : 0;
    bool whole = memchr(guest->line, '\n', guest->line_size) != NULL;
    if (whole && memcmp(guest->line, "all\n", 4) == 0) {
        guest->waits = true;
        inquiry_want(m, INQUIRY_FOR_DOOR);
    } else if (whole && memcmp(guest->line, "self\n", 5) == 0) {
        answer_self(m, guest, false);
    } else if (whole && number_read(guest->line, "leave", &number)) {
        dismissal_pass_on(m, number);
        answer_self(m, guest, true);
    } else if (whole && number_read(guest->line, "grow", &number)) {
        grow(m, guest, number, now_ns);
    } else if (whole && memcmp(guest->line, "brief\n", 6) == 0) {
        answer_self(m, guest, true);
    } else if (whole || got <= 0 || guest->line_size == sizeof(guest->line)) {
        let_go(guest);
    }
}

static void give(struct guest *guest)
{
    ssize_t put = send(guest->fd, guest->answer + guest->sent,
                       guest->answer_size - guest->sent, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    guest->sent += put > 0 ? (size_t)put : 0;
    if (put <= 0 || guest->sent == guest->answer_size) {
        let_go(guest);
    }
}

void door_look(struct moot *m, uint64_t now_ns)
{
    struct door *door = m->service.door;
    if (door == NULL) {
        return;
    }
    if (m->explain.answered & INQUIRY_FOR_DOOR) {
        answer_all(m, now_ns);
    } else if (now_ns < door->due_ns) {
        return;
    }
    door->due_ns = now_ns + DOOR_LOOK_NS;
    let_in(door, now_ns);
    for (int i = 0; i < GUESTS_MAX; i++) {
        struct guest *guest = &door->guests[i];
        if (guest->fd >= 0 && guest->answer == NULL && guest->growing != NULL) {
            growing_look(m, guest);
        } else if (guest->fd >= 0 && guest->answer == NULL && !guest->waits) {
            hear(m, guest, now_ns);
        }
        if (guest->fd >= 0 && guest->answer != NULL) {
            give(guest);
        }
        if (guest->fd >= 0 && now_ns > guest->until_ns) {
            let_go(guest);
        }
    }
}
