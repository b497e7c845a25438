/* launch.c - see launch.h. */
#include "node/launch/launch.h"
#include "node/launch/signals.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, LOOK_ROUNDS = 20, FIRST_BYTES = 512, SYSTEM_BYTES = 256 };

/* --- Finding ---------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

static bool path_search(const char *name, char path[LAUNCH_PATH_BYTES])
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        const int length = (int)strcspn(folders, ":");
        const char *folder = length ? folders : "."; /* an empty entry is here */
        const int used = snprintf(path, LAUNCH_PATH_BYTES, "%.*s/%s",
                                  length ? length : 1, folder, name);
        if (used < LAUNCH_PATH_BYTES && is_program(path)) {
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Beside this command: as built, and as installed. */
static bool examples_search(const char *name, char path[LAUNCH_PATH_BYTES])
{
    static const char *const places[] = {"", "examples/", "../libexec/moot/examples/"};
    char self[LAUNCH_PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        slash[1] = '\0';
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const int used =
            snprintf(path, LAUNCH_PATH_BYTES, "%s%s%s", self, places[i], name);
        if (used < LAUNCH_PATH_BYTES && is_program(path)) {
            return true;
        }
    }
    return false;
}

bool program_find(const char *name, char path[LAUNCH_PATH_BYTES])
{
    if (strchr(name, '/')) {
        snprintf(path, LAUNCH_PATH_BYTES, "%s", name);
        return strlen(name) < LAUNCH_PATH_BYTES && is_program(path);
    }
    return path_search(name, path) || examples_search(name, path);
}

/* No control characters but those of lines: formats that a system knows have others. */
static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((bytes[i] < ' ' && (bytes[i] < '\a' || bytes[i] > '\r')) ||
            bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Of a script's first line, "#!INTERPRETER [ARGUMENT]", which is changed.  It may be
 * all of the script, without a line's end. */
static const char *script_flaw(char *line)
{
    static char flaw[2 * FIRST_BYTES + 128];
    char *end = line + strcspn(line, "\n");
    char *name = line + 2 + strspn(line + 2, " \t");
    char *name_end = name + strcspn(name, " \t\n");
    if (end[-1] == '\r') {
        return "is a script whose first line ends with a carriage return";
    }
    if (name_end - line >= SYSTEM_BYTES) {
        return "is a script whose first line is too long: the program must stand in "
               "the "
               "first 255 bytes";
    }
    if (name_end == name) {
        return "is a script that names no program: behind #! stands a path, as in "
               "#!/bin/sh";
    }
    *name_end = '\0';
    if (is_program(name)) {
        return NULL;
    }
    const char *why = access(name, F_OK) == 0 ? "no program" : "not there";
    if (*name == '/') {
        snprintf(flaw, sizeof(flaw), "is a script for %s, which is %s", name, why);
    } else {
        snprintf(flaw, sizeof(flaw),
                 "is a script for %s, which is %s: behind #! stands a path, as in "
                 "#!/usr/bin/env %s, which looks in PATH",
                 name, why, name);
    }
    return flaw;
}

const char *program_flaw(const char *path)
{
    unsigned char bytes[FIRST_BYTES] = {0};
    FILE *file = fopen(path, "re");
    if (!file) {
        return NULL;
    }
    const size_t size = fread(bytes, 1, sizeof(bytes) - 1, file);
    const bool read = !ferror(file);
    fclose(file);
    if (read && size == 0) {
        return "is empty";
    }
    if (read && size >= 2 && memcmp(bytes, "#!", 2) == 0) {
        return script_flaw((char *)bytes);
    }
    return read && is_text(bytes, size) ? "is a text that does not begin with #!"
                                        : NULL;
}

/* What `path --version` says first, "" if nothing. */
static void version_read(char *path, char *text, int size)
{
    static char option[] = "--version";
    char *const argv[] = {path, option, NULL};
    int ends[2];
    text[0] = '\0';
    if (pipe(ends) != 0) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(path, argv);
        _exit(LAUNCH_NOT_FOUND);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (from) {
        if (!fgets(text, size, from)) {
            text[0] = '\0';
        }
        while (fgetc(from) != EOF) { /* so that it is not ended by SIGPIPE */
            ;
        }
        fclose(from);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

bool launcher_find(struct launcher *out)
{
    char version[256];
    if (!path_search("mpirun", out->path) && !path_search("mpiexec", out->path)) {
        return false;
    }
    version_read(out->path, version, sizeof(version));
    const char *known = strstr(version, "Open MPI) ");
    out->open_mpi = known ? (int)strtol(known + strlen("Open MPI) "), NULL, 10) : 0;
    return true;
}

/* The number in a file of /sys; -1 if there is none. */
static long sys_number(size_t cpu, const char *name)
{
    char path[128], line[32];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu,
             name);
    FILE *file = fopen(path, "re");
    if (!file) {
        return -1;
    }
    const bool got = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    return got ? strtol(line, NULL, 10) : -1;
}

/* Hardware threads of one core count once. */
int cores_count(void)
{
    static struct {
        long package, core;
    } seen[CPU_SETSIZE];
    cpu_set_t allowed;
    int count = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return 1;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) {
            continue;
        }
        const long package = sys_number(cpu, "physical_package_id");
        const long core = sys_number(cpu, "core_id");
        int i = 0;
        while (i < count &&
               (core < 0 || seen[i].package != package || seen[i].core != core)) {
            i++;
        }
        if (i == count) {
            seen[count].package = package;
            seen[count++].core = core;
        }
    }
    return count > 0 ? count : 1;
}

/* --- Running ---------------------------------------------------------------------- */

/* Waits for the child, and ends it once that is the only thing left to do. */
static int await(pid_t child, const struct launch_watch *watch, void *context)
{
    int status = 0;
    bool told = false;
    for (unsigned round = 1;; round++) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) {
            return status;
        }
        if (!told && round % LOOK_ROUNDS == 0 && watch->is_hopeless(context)) {
            told = true;
            kill(child, SIGTERM);
        }
        watch->pause(context, PAUSE_MS, -1);
    }
}

const char *launch_remedy(int why)
{
    switch (why) {
    case EAGAIN:
        return "; raise the limit of processes (ulimit -u), or start fewer ranks";
    case EMFILE:
        return "; raise the limit of open files (ulimit -n), or start fewer ranks";
    default:
        return "";
    }
}

int launch(char *const argv[], const struct launch_watch *watch, void *context)
{
    sigset_t before;
    int status;
    signals_hold(&before);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        watch->become(context);
        execv(argv[0], argv);
        _exit(LAUNCH_NOT_FOUND);
    }
    if (child < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return LAUNCH_NOT_FOUND;
    }
    signals_take(child, &before);
    status = await(child, watch, context);
    signals_child(0);
    return WIFSIGNALED(status) ? LAUNCH_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
