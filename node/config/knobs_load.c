/* knobs_load.c - where knobs are looked for: files, environment, options.
 *
 * Sources are read from the weakest to the strongest, each overwriting what it names,
 * so that a mistake in any of them is found.
 */
#include "node/config/knobs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { LINE_BYTES = 1024, PATH_BYTES = 1024 };

static const char prefix[] = "MOOT_", test_prefix[] = "MOOT_TEST_";
static const char config_name[] = "MOOT_CONFIG"; /* names a file; no knob itself */

/* Where a failure is put together: "where: what". */
struct loading {
    struct knobs *knobs;
    const char *const *overrides;
    char *story;
    size_t story_size;
};

static int refuse(const struct loading *l, const char *where, const char *what)
{
    snprintf(l->story, l->story_size, "%s: %s", where, what);
    return MOOT_ERR_CONFIG;
}

static int set(const struct loading *l, const char *where, const char *name,
               const char *value, struct knob_origin origin)
{
    char what[256];
    const int code = knobs_set(l->knobs, name, value, origin, what, sizeof(what));
    return code == MOOT_OK ? MOOT_OK : refuse(l, where, what);
}

/* --- Files ------------------------------------------------------------------------ */

/* The value of MOOT_CONFIG, "" if not set. */
static const char *config_path(const char *const *overrides)
{
    const size_t length = strlen(config_name);
    const char *path = getenv(config_name);
    for (; overrides && *overrides; overrides++) {
        if (strncmp(*overrides, config_name, length) == 0 &&
            (*overrides)[length] == '=') {
            path = *overrides + length + 1;
        }
    }
    return path ? path : "";
}

char *knobs_path(enum knob_source source, const char *const *overrides, char *path,
                 size_t size)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    path[0] = '\0';
    if (source == KNOB_FROM_SYSTEM_FILE) {
        snprintf(path, size, "/etc/moot/moot.conf");
    } else if (source == KNOB_FROM_CONFIG_FILE) {
        snprintf(path, size, "%s", config_path(overrides));
    } else if (source == KNOB_FROM_USER_FILE && xdg && *xdg == '/') {
        snprintf(path, size, "%s/moot/moot.conf", xdg);
    } else if (source == KNOB_FROM_USER_FILE && home && *home) {
        snprintf(path, size, "%s/.config/moot/moot.conf", home);
    }
    return path;
}

char *knobs_origin(const struct knobs *knobs, enum knob knob, char *text, size_t size)
{
    static const char *const names[KNOB_SOURCES] = {
        [KNOB_FROM_DEFAULT] = "default",
        [KNOB_FROM_ENVIRONMENT] = "environment",
        [KNOB_FROM_OPTIONS] = "options",
    };
    const struct knob_origin origin = knobs->origins[knob];
    char path[PATH_BYTES];
    if (names[origin.source]) {
        snprintf(text, size, "%s", names[origin.source]);
    } else {
        snprintf(text, size, "%s:%u",
                 knobs_path(origin.source, NULL, path, sizeof(path)), origin.line);
    }
    return text;
}

/* Cuts blanks and the line's end off both sides, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

static void comment_cut(char *line)
{
    for (char *c = line; *c; c++) {
        if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t')) {
            *c = '\0';
            return;
        }
    }
}

static int line_load(const struct loading *l, const char *where, char *line,
                     struct knob_origin origin)
{
    comment_cut(line);
    char *name = trim(line);
    if (*name == '\0') {
        return MOOT_OK;
    }
    char *equals = strchr(name, '=');
    if (!equals) {
        return refuse(l, where, "a line is `MOOT_NAME = value`");
    }
    *equals = '\0';
    if (strcmp(trim(name), config_name) == 0) {
        return refuse(l, where, "MOOT_CONFIG has no place in a file");
    }
    return set(l, where, trim(name), trim(equals + 1), origin);
}

/* By errno, and with the name of what named the file. */
static int file_refuse(const struct loading *l, enum knob_source source,
                       const char *path)
{
    char where[PATH_BYTES + 16];
    snprintf(where, sizeof(where), "%s%s%s",
             source == KNOB_FROM_CONFIG_FILE ? config_name : "",
             source == KNOB_FROM_CONFIG_FILE ? "=" : "", path);
    return refuse(l, where, strerror(errno));
}

/* The next line, without its end; what is wrong with it, NULL: nothing.  At the end of
 * the file *over, and the line is empty. */
static const char *line_read(FILE *file, char line[LINE_BYTES], bool *over)
{
    size_t length = 0;
    int byte;
    while ((byte = getc(file)) != EOF && byte != '\n') {
        if (byte == '\0') { /* or what is behind it would go unread, and unrefused */
            return "a byte of 0 stands in it: this is no text";
        }
        if (length == LINE_BYTES - 1) {
            return "the line is too long";
        }
        line[length++] = (char)byte;
    }
    line[length] = '\0';
    *over = byte == EOF && length == 0;
    return NULL;
}

static int lines_load(const struct loading *l, FILE *file, const char *path,
                      enum knob_source source)
{
    char line[LINE_BYTES], where[PATH_BYTES + 16];
    bool over = false;
    for (unsigned number = 1; !over; number++) {
        const struct knob_origin origin = {source, number};
        const char *flaw = line_read(file, line, &over);
        snprintf(where, sizeof(where), "%s:%u", path, number);
        const int code =
            flaw ? refuse(l, where, flaw) : line_load(l, where, line, origin);
        if (code != MOOT_OK) {
            return code;
        }
    }
    return ferror(file) ? file_refuse(l, source, path) : MOOT_OK;
}

/* NULL, and errno says why.  A pipe is opened without waiting for a writer, so that it
 * can be refused: a rank would wait for what is never written. */
static FILE *file_open(const char *path, bool *pipe)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *pipe = fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
    FILE *file = fd >= 0 && !*pipe ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file) {
        const int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}

/* A file that is not there is no mistake, unless it was named. */
static int file_load(const struct loading *l, enum knob_source source)
{
    char path[PATH_BYTES];
    knobs_path(source, l->overrides, path, sizeof(path));
    if (*path == '\0') {
        return MOOT_OK;
    }
    bool pipe;
    FILE *file = file_open(path, &pipe);
    if (pipe) {
        return refuse(l, path, "it is a pipe, which might never end: name a file");
    }
    if (!file) {
        const bool absent = errno == ENOENT || errno == ENOTDIR;
        return absent && source != KNOB_FROM_CONFIG_FILE ? MOOT_OK
                                                         : file_refuse(l, source, path);
    }
    const int code = lines_load(l, file, path, source);
    fclose(file);
    return code;
}

/* --- Environment and options ------------------------------------------------------ */

static int variable_load(const struct loading *l, const char *name)
{
    const struct knob_origin origin = {KNOB_FROM_ENVIRONMENT, 0};
    const char *value = getenv(name);
    return value && *value ? set(l, "environment", name, value, origin) : MOOT_OK;
}

static int environment_load(const struct loading *l)
{
    int code = MOOT_OK;
    for (int i = 0; code == MOOT_OK && i < KNOB_COUNT; i++) {
        code = variable_load(l, knob_table[i].name);
    }
    return code;
}

static int option_load(const struct loading *l, const char *option)
{
    const struct knob_origin origin = {KNOB_FROM_OPTIONS, 0};
    char where[80], name[64];
    snprintf(where, sizeof(where), "'%.60s'", option);
    const char *equals = strchr(option, '=');
    if (!equals || (size_t)(equals - option) >= sizeof(name)) {
        return refuse(l, where, "a knob is set by \"MOOT_NAME=value\"");
    }
    snprintf(name, sizeof(name), "%.*s", (int)(equals - option), option);
    if (strcmp(name, config_name) == 0) {
        return MOOT_OK; /* file_load has used it */
    }
    return set(l, where, name, equals + 1, origin);
}

/* --- All of them ------------------------------------------------------------------ */

int knobs_load(struct knobs *out, const char *const *overrides, char *story,
               size_t story_size)
{
    struct knobs knobs;
    const struct loading l = {&knobs, overrides, story, story_size};
    knobs_default(&knobs);
    int code = file_load(&l, KNOB_FROM_SYSTEM_FILE);
    if (code == MOOT_OK) {
        code = file_load(&l, KNOB_FROM_USER_FILE);
    }
    if (code == MOOT_OK) {
        code = file_load(&l, KNOB_FROM_CONFIG_FILE);
    }
    if (code == MOOT_OK) {
        code = environment_load(&l);
    }
    for (unsigned i = 0; code == MOOT_OK && overrides && overrides[i]; i++) {
        code = option_load(&l, overrides[i]);
    }
    if (code == MOOT_OK) {
        *out = knobs;
    }
    return code;
}

void knobs_each_stranger(void (*see)(void *context, const char *name), void *context)
{
    for (char **variable = environ; variable && *variable; variable++) {
        char name[64];
        const size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, prefix, sizeof(prefix) - 1) != 0 ||
            length >= sizeof(name)) {
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int)length, *variable);
        bool known = strcmp(name, config_name) == 0 ||
                     strncmp(name, test_prefix, sizeof(test_prefix) - 1) == 0;
        for (int i = 0; i < KNOB_COUNT; i++) {
            known |= strcmp(name, knob_table[i].name) == 0;
        }
        if (!known) {
            see(context, name);
        }
    }
}
