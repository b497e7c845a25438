/* process.c - see process.h. */
#include "node/transport/host/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STAT_BYTES = 1024, STATE_FIELD = 3, START_FIELD = 22, CHILDREN_MAX = 8 };

/* Reads the state and the start of a process from /proc; false if it is gone. */
static bool stat_read(uint64_t pid, char *state, uint64_t *start_ticks)
{
    char path[64], line[STAT_BYTES];
    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    const bool got = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    /* The second field is the program's name, which may hold blanks and brackets. */
    const char *at = got ? strrchr(line, ')') : NULL;
    for (int field = STATE_FIELD; at && field <= START_FIELD; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == STATE_FIELD) {
            *state = at[1];
        }
    }
    if (!at) {
        return false;
    }
    *start_ticks = strtoull(at + 1, NULL, 10);
    return true;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * 0x100000001b3ull; /* FNV-1a */
    }
    return hash;
}

/* 0 if the system does not say. */
static uint64_t space_read(void)
{
    char boot[64] = "";
    struct stat namespace;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) {
        return 0;
    }
    const bool got = fgets(boot, sizeof(boot), file) != NULL;
    fclose(file);
    if (!got || stat("/proc/self/ns/pid", &namespace) != 0) {
        return 0;
    }
    const uint64_t inode = namespace.st_ino;
    return mix(mix(0xcbf29ce484222325ull, boot, strlen(boot)), &inode, sizeof(inode));
}

struct process_name process_self(void)
{
    struct process_name self = {.pid = (uint64_t)getpid(), .space = space_read()};
    char state = 0;
    if (self.space == 0 || !stat_read(self.pid, &state, &self.start_ticks)) {
        self = (struct process_name){0};
    }
    return self;
}

bool process_is_near(const struct process_name *name)
{
    return name->space != 0 && name->space == space_read();
}

char process_state(const struct process_name *name)
{
    char state = 0;
    uint64_t start_ticks = 0;
    bool found = stat_read(name->pid, &state, &start_ticks) &&
                 start_ticks == name->start_ticks && state != 'X';
    return found ? state : '\0';
}

bool process_lives(const struct process_name *name)
{
    char state = process_state(name);
    return state != '\0' && state != 'Z';
}

/* The only child; false if there is none, or more than one, or the system does not say.
 */
static bool only_child(const struct process_name *name, struct process_name *out)
{
    char path[64], line[64] = "", state = 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task/%" PRIu64 "/children",
             name->pid, name->pid);
    FILE *file = fopen(path, "re");
    *out = (struct process_name){.space = name->space};
    const bool read = file != NULL && fgets(line, sizeof(line), file) != NULL;
    char *rest = line;
    out->pid = strtoull(line, &rest, 10);
    const bool alone = rest != line && rest[strspn(rest, " \n")] == '\0';
    if (file != NULL) {
        fclose(file);
    }
    return read && alone && stat_read(out->pid, &state, &out->start_ticks);
}

struct process_name process_last_of(const struct process_name *name)
{
    struct process_name last = *name, child;
    for (int i = 0;
         i < CHILDREN_MAX && process_state(&last) == 'S' && only_child(&last, &child);
         i++) {
        last = child;
    }
    return last;
}

int process_open(const struct process_name *name)
{
#ifdef SYS_pidfd_open
    const int fd = (int)syscall(SYS_pidfd_open, (int)name->pid, 0u);
    if (fd < 0 || process_lives(name)) {
        return fd;
    }
    close(fd); /* ended, and the number may be another's */
#else
    (void)name;
#endif
    return -1;
}
