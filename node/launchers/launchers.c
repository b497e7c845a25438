/* launchers.c - see launchers.h. */
#include "node/launchers/launchers.h"
#include "node/launchers/commands.h"
#include "node/transport/transport.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const moot_launcher *table;
    const char *program;
} built_in[] = {{&launcher_ssh, "ssh"}, {&launcher_slurm, "srun"}};
enum { BUILT_IN = sizeof(built_in) / sizeof(*built_in) };

static int check_found(const void *table, const char *origin, char *story,
                       size_t story_size)
{
    return launcher_table_check(table, origin, story, story_size);
}

static const struct object_kind launchers = {
    "launcher",
    "moot_launcher_table",
    "moot_launcher",
    sizeof(moot_launcher),
    offsetof(moot_launcher, descriptor),
    check_found,
};

int launcher_table_check(const moot_launcher *table, const char *origin, char *story,
                         size_t story_size)
{
    const struct object_head head = {table->version, table->size, table->name};
    const struct object_slot slots[] = {
        {"open", table->open != NULL},           {"hosts", table->hosts != NULL},
        {"host", table->host != NULL},           {"launch", table->launch != NULL},
        {"connect", table->connect != NULL},     {"poll", table->poll != NULL},
        {"interrupt", table->interrupt != NULL}, {"kill", table->kill != NULL},
        {"story", table->story != NULL},         {"finalise", table->finalise != NULL},
    };
    int code = object_check_head(&launchers, &head, MOOT_LAUNCHER_VERSION, origin,
                                 story, story_size);
    if (code == MOOT_OK) {
        code = object_check_flags(table->flags, origin, story, story_size);
    }
    return code != MOOT_OK
               ? code
               : object_check_slots(&launchers, slots, sizeof(slots) / sizeof(*slots),
                                    origin, story, story_size);
}

int launcher_table_load(const char *word, const moot_launcher **out,
                        const char **options, char *story, size_t story_size)
{
    char name[PATH_MAX];
    const char *rest = "";
    const moot_launcher *found = NULL;
    int code = object_split_word(&launchers, word, name, sizeof(name), &rest, story,
                                 story_size);
    if (code != MOOT_OK) {
        return code;
    }
    for (int i = 0; i < BUILT_IN; i++) {
        found = strcmp(name, built_in[i].table->name) == 0 ? built_in[i].table : found;
    }
    if (found == NULL && strchr(name, '/') == NULL) {
        return object_refuse(story, story_size,
                             "there is no launcher '%s'; there are mpirun, local, ssh "
                             "and slurm, and a file of your own is given with a slash: "
                             "./mine.so",
                             name);
    }
    if (found == NULL) {
        const void *table = NULL;
        code = object_load(&launchers, name, &table, story, story_size);
        if (code != MOOT_OK) {
            return code;
        }
        found = table;
    }
    *out = found;
    *options = rest;
    return MOOT_OK;
}

char *launcher_table_about(const moot_launcher *table, char *text, size_t size)
{
    *text = '\0';
    for (int i = 0; i < BUILT_IN; i++) {
        if (table == built_in[i].table &&
            !commands_find(built_in[i].program, text, size)) {
            (void)snprintf(text, size, "not here: there is no %s in PATH",
                           built_in[i].program);
        }
    }
    return text;
}
