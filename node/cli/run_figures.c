/* run_figures.c - see run_figures.h. */
#include "node/cli/run_figures.h"
#include "node/explain/rank_snapshot.h"
#include "node/tools/sheet.h"
#include "node/tools/state_sockets.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
enum {
    SILENT_S = 2,   /* who has said nothing for so long is silent */
    PATIENCE_S = 2, /* for a rank's answer, */
    PATIENCE_ALL_S = 10,
    ALL_RANKS = 64, /* all are asked once a second, and one second more for so many */
    OPEN_MAX = 64   /* sockets at a time */
};

static const char all_line[] = "all\n";

/* A question that was asked, and as much of its answer as has come. */
struct figure_query {
    int fd;      /* -1: none is open */
    bool called; /* by an agent, without one */
    uint8_t *bytes;
    size_t size, room;
    size_t rest_max; /* behind the head */
    uint64_t until_ns;
};

struct source {
    char door[DOOR_PATH_BYTES]; /* "": not known, or not on this host */
    char away[DOOR_PATH_BYTES]; /* where nobody was found here; "": nowhere */
    struct figure_query question;
    uint64_t said_ns; /* when it said what follows; 0: never */
    uint64_t done, running, waiting, voted;
    bool closed; /* its moot, and has no other */
    bool gone;   /* from the moot */
};

struct run_figures {
    const char *sheets;
    struct source *sources; /* by rank */
    uint32_t count, open;
    uint64_t epoch; /* the last view that is known */
    uint32_t next;  /* to be asked: they take turns where there are many */
    struct figure_query all;
    uint64_t all_due_ns;
    run_figures_call call; /* NULL: there are no agents */
    void *call_context;
    uint32_t called; /* the rank that was asked last */
};

struct run_figures *run_figures_new(const char *sheets, int ranks)
{
    struct run_figures *figures = calloc(1, sizeof(*figures));
    struct source *sources = calloc((size_t)ranks, sizeof(*sources));
    if (!figures || !sources) {
        free(figures);
        free(sources);
        return NULL;
    }
    for (int i = 0; i < ranks; i++) {
        sources[i].question.fd = -1;
    }
    *figures = (struct run_figures){.sheets = sheets,
                                    .sources = sources,
                                    .count = (uint32_t)ranks,
                                    .all = {.fd = -1}};
    return figures;
}

void run_figures_join(struct run_figures *figures, int ranks)
{
    struct source *sources =
        realloc(figures->sources, (size_t)ranks * sizeof(*sources));
    if (!sources) {
        return;
    }
    figures->sources = sources;
    for (; figures->count < (uint32_t)ranks; figures->count++) {
        sources[figures->count] = (struct source){.question.fd = -1};
    }
}

/* --- Questions -------------------------------------------------------------------- */

static void question_end(struct figure_query *question)
{
    if (question->fd >= 0) {
        close(question->fd);
    }
    free(question->bytes);
    *question = (struct figure_query){.fd = -1};
}

void run_figures_free(struct run_figures *figures)
{
    if (!figures) {
        return;
    }
    for (uint32_t i = 0; i < figures->count; i++) {
        question_end(&figures->sources[i].question);
    }
    question_end(&figures->all);
    free(figures->sources);
    free(figures);
}

/* Room for the head of an answer; false without memory. */
static bool question_begin(struct figure_query *question, const char *line,
                           uint64_t until_ns)
{
    question->room = STATE_HEAD_BYTES;
    question->rest_max =
        strcmp(line, all_line) == 0 ? STATE_ALL_BYTES : STATE_SELF_BYTES;
    question->bytes = malloc(question->room);
    question->until_ns = until_ns;
    return question->bytes != NULL;
}

/* False if nobody listens there, or it is too busy for another guest. */
static bool question_ask(struct figure_query *question, const char *door,
                         const char *line, uint64_t until_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(line);
    memcpy(address.sun_path, door, strlen(door) + 1);
    question->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (question->fd >= 0 && question_begin(question, line, until_ns) &&
        connect(question->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(question->fd, line, length, MSG_NOSIGNAL) == (ssize_t)length) {
        return true;
    }
    const int why = errno;
    question_end(question);
    errno = why;
    return false;
}

/* Once the head is there: room for the rest.  False if there is none to come. */
static bool question_grow(struct figure_query *question)
{
    const uint64_t rest = state_head_read(question->bytes);
    const bool fits = rest > 0 && rest <= question->rest_max;
    uint8_t *bytes = fits ? realloc(question->bytes, STATE_HEAD_BYTES + rest) : NULL;
    if (!bytes) {
        return false;
    }
    question->bytes = bytes;
    question->room = STATE_HEAD_BYTES + rest;
    return true;
}

/* Reads on: the answer, once it is whole.  The question is over then, and also where no
 * answer will come. */
static Moot__Picture *question_hear(struct figure_query *question, uint64_t now_ns)
{
    Moot__Picture *picture = NULL;
    bool over = now_ns > question->until_ns;
    while (!over && question->size < question->room) {
        const ssize_t got = recv(question->fd, question->bytes + question->size,
                                 question->room - question->size, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return NULL;
        }
        over = got <= 0;
        question->size += got > 0 ? (size_t)got : 0;
        if (question->size == STATE_HEAD_BYTES) {
            over = over || !question_grow(question);
        }
    }
    if (!over) {
        picture = state_picture_read(question->bytes + STATE_HEAD_BYTES,
                                     question->size - STATE_HEAD_BYTES);
    }
    question_end(question);
    return picture;
}

/* Likewise of an answer that comes by an agent. */
static Moot__Picture *question_take(struct figure_query *question,
                                    const unsigned char *bytes, size_t size)
{
    Moot__Picture *picture = NULL;
    bool over = false;
    while (!over && size > 0 && question->size < question->room) {
        const size_t room = question->room - question->size;
        const size_t part = size < room ? size : room;
        memcpy(question->bytes + question->size, bytes, part);
        question->size += part;
        bytes += part;
        size -= part;
        over = question->size == STATE_HEAD_BYTES && !question_grow(question);
    }
    if (!over && question->size < question->room) {
        return NULL;
    }
    if (!over) {
        picture = state_picture_read(question->bytes + STATE_HEAD_BYTES,
                                     question->size - STATE_HEAD_BYTES);
    }
    question_end(question);
    return picture;
}

/* --- Where they are --------------------------------------------------------------- */

static FILE *file_open(const struct run_figures *figures, const char *name)
{
    char path[4096];
    const int length = snprintf(path, sizeof(path), "%s/%s", figures->sheets, name);
    return length < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/* Reads the line that node/explain/exit_report.c leaves. */
static void door_read(const struct run_figures *figures, const char *name,
                      struct source *source)
{
    FILE *file = file_open(figures, name);
    char door[DOOR_PATH_BYTES];
    if (!file) {
        return;
    }
    if (fscanf(file, "door %107[^\n]", door) == 1) {
        memcpy(source->door, door, sizeof(door));
        source->closed = false;
    }
    fclose(file);
}

/* Takes the last word of a rank that was heard before: its sheet. */
static void sheet_take(const struct run_figures *figures, const char *name,
                       struct source *source)
{
    FILE *file = file_open(figures, name);
    char key[64], number[32];
    uint64_t retried = 0;
    if (!file) {
        return;
    }
    while (fscanf(file, "%63s %31s%*[^\n]", key, number) == 2) {
        const uint64_t value = strtoull(number, NULL, 10);
        if (strcmp(key, "tasks_run") == 0) {
            source->done = value;
        } else if (strcmp(key, "tasks_retried") == 0) {
            retried = value;
        } else if (strcmp(key, "votes") == 0) {
            source->voted = value;
        }
    }
    fclose(file);
    source->done -= retried < source->done ? retried : source->done;
    source->running = source->waiting = 0;
    source->closed = true;
}

/* Looks at one that is not known to listen. */
static void file_look(struct run_figures *figures, const char *name)
{
    struct sheet_name told;
    if (!sheet_name_read(name, &told) || told.struck ||
        told.process >= figures->count ||
        *figures->sources[told.process].door != '\0') {
        return;
    }
    struct source *source = &figures->sources[told.process];
    if (told.unfinished) {
        door_read(figures, name, source);
    } else if (source->said_ns != 0 && !source->closed) {
        sheet_take(figures, name, source);
    }
}

static void doors_find(struct run_figures *figures)
{
    DIR *stream = opendir(figures->sheets);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        file_look(figures, entry->d_name);
    }
    if (stream) {
        closedir(stream);
    }
}

/* --- Asking and hearing ----------------------------------------------------------- */

static void source_take(struct source *source, const Moot__Account *account,
                        uint64_t said_ns)
{
    const uint64_t computing =
        account->running > account->stopped ? account->running - account->stopped : 0;
    if (said_ns <= source->said_ns) {
        return;
    }
    source->said_ns = said_ns;
    source->done = account->done;
    source->running = computing;
    source->waiting =
        (account->unfinished > computing ? account->unfinished - computing : 0) +
        account->undecided;
    source->voted = account_figure(account, "votes");
}

/* Whoever knows the last view knows who is gone. */
static void members_take(struct run_figures *figures, const Moot__Account *account)
{
    struct rankset members = {0};
    if (account->epoch < figures->epoch) {
        return;
    }
    figures->epoch = account->epoch;
    if (account_ranks(&account->members, &members)) {
        for (uint32_t i = 0; i < figures->count; i++) {
            figures->sources[i].gone = !rankset_has(&members, i);
        }
    }
    rankset_release(&members);
}

static void picture_take(struct run_figures *figures, Moot__Picture *picture,
                         uint64_t now_ns)
{
    for (size_t i = 0; i < picture->n_seats; i++) {
        const Moot__Picture__Seat *seat = picture->seats[i];
        if (!seat->account || seat->rank >= figures->count || seat->age_ns >= now_ns) {
            continue;
        }
        members_take(figures, seat->account);
        source_take(&figures->sources[seat->rank], seat->account,
                    now_ns - seat->age_ns);
    }
    moot__picture__free_unpacked(picture, NULL);
}

static void source_ask(struct run_figures *figures, struct source *source,
                       uint64_t now_ns)
{
    if (question_ask(&source->question, source->door, "brief\n",
                     now_ns + PATIENCE_S * SECOND_NS)) {
        figures->open++;
    } else if (errno != EAGAIN) {
        memcpy(source->away, source->door, sizeof(source->away));
        *source->door = '\0'; /* it has closed, or died; or opens another moot */
    }
}

/* One that has a socket elsewhere, each in its turn. */
static void away_ask(struct run_figures *figures, uint64_t now_ns)
{
    if (!question_begin(&figures->all, all_line, now_ns + PATIENCE_ALL_S * SECOND_NS)) {
        return;
    }
    for (uint32_t i = 1; i <= figures->count && !figures->all.called; i++) {
        const uint32_t rank = (figures->called + i) % figures->count;
        const struct source *source = &figures->sources[rank];
        if (*source->away != '\0' && !source->closed && !source->gone) {
            figures->all.called =
                figures->call(figures->call_context, rank, source->away, all_line);
            figures->called = figures->all.called ? rank : figures->called;
        }
    }
    if (!figures->all.called) {
        question_end(&figures->all);
    }
}

/* Where some ranks are not here, one that is asks for them. */
static void others_ask(struct run_figures *figures, uint64_t now_ns)
{
    const struct source *here = NULL;
    bool far = false;
    for (uint32_t i = 0; i < figures->count; i++) {
        const struct source *source = &figures->sources[i];
        if (*source->door == '\0') {
            far |= !source->closed;
        } else if (!here && source->said_ns != 0) {
            here = source;
        }
    }
    if (!far || figures->all.fd >= 0 || figures->all.called ||
        now_ns < figures->all_due_ns) {
        return;
    }
    figures->all_due_ns = now_ns + (1 + figures->count / ALL_RANKS) * SECOND_NS;
    if (here) {
        (void)question_ask(&figures->all, here->door, all_line,
                           now_ns + PATIENCE_ALL_S * SECOND_NS);
    } else if (figures->call) {
        away_ask(figures, now_ns);
    }
}

void run_figures_call_by(struct run_figures *figures, run_figures_call call,
                         void *context)
{
    figures->call = call;
    figures->call_context = context;
}

void run_figures_answer(struct run_figures *figures, const unsigned char *bytes,
                        size_t size, bool over, uint64_t now_ns)
{
    Moot__Picture *picture =
        figures->all.called ? question_take(&figures->all, bytes, size) : NULL;
    if (picture) {
        picture_take(figures, picture, now_ns);
    } else if (over && figures->all.called) {
        question_end(&figures->all);
    }
}

void run_figures_ask(struct run_figures *figures, uint64_t now_ns)
{
    doors_find(figures);
    for (uint32_t i = 0; i < figures->count && figures->open < OPEN_MAX; i++) {
        struct source *source = &figures->sources[figures->next];
        figures->next = (figures->next + 1) % figures->count;
        if (*source->door != '\0' && source->question.fd < 0) {
            source_ask(figures, source, now_ns);
        }
    }
    others_ask(figures, now_ns);
}

void run_figures_hear(struct run_figures *figures, uint64_t now_ns)
{
    Moot__Picture *picture =
        figures->all.fd >= 0 ? question_hear(&figures->all, now_ns) : NULL;
    if (picture) {
        picture_take(figures, picture, now_ns);
    }
    if (figures->all.called && now_ns > figures->all.until_ns) {
        question_end(&figures->all);
    }
    for (uint32_t i = 0; figures->open > 0 && i < figures->count; i++) {
        struct figure_query *question = &figures->sources[i].question;
        if (question->fd < 0) {
            continue;
        }
        picture = question_hear(question, now_ns);
        if (picture) {
            picture_take(figures, picture, now_ns);
        }
        figures->open -= question->fd < 0;
    }
}

bool run_figures_sum(const struct run_figures *figures, uint64_t now_ns,
                     struct run_totals *out)
{
    bool heard = false;
    *out = (struct run_totals){.ranks = figures->count};
    for (uint32_t i = 0; i < figures->count; i++) {
        const struct source *source = &figures->sources[i];
        const bool said = source->said_ns != 0;
        heard |= said;
        out->done += source->done;
        out->voted += source->voted;
        if (source->gone) {
            continue;
        }
        out->alive++;
        const uint64_t rare_s = *source->door == '\0' ? figures->count / ALL_RANKS : 0;
        out->silent +=
            !source->closed &&
            (!said || now_ns >= source->said_ns + (SILENT_S + rare_s) * SECOND_NS);
        out->running += source->running;
        out->waiting += source->waiting;
    }
    return heard;
}
