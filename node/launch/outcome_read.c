/* outcome_read.c - what ranks and their `moot rank` have left of their ends, read:
 * outcome_read() of outcome.h.
 */
#include "node/config/ending.h"
#include "node/launch/outcome.h"
#include "node/launch/outcome_private.h"
#include "proto/error.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = ENDING_STORY_BYTES + 64, KEY_BYTES = 64 };

static void refusal_take(struct rank_end *end, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    free(end->refused);
    end->refused = strdup(line + sizeof(REFUSED)); /* and the blank */
}

static void line_take(struct rank_end *end, const char *key, uint64_t value)
{
    if (strcmp(key, "status") == 0) {
        end->status = (int)value;
    } else if (strcmp(key, "signal") == 0) {
        end->signal = (int)value;
    } else if (strcmp(key, "aborted") == 0) {
        end->aborted = value != 0;
    } else if (strcmp(key, "stalled") == 0) {
        end->stalled = value != 0;
    } else if (strcmp(key, "ended_ns") == 0 && end->ended_ns == 0) {
        end->ended_ns = value;
    } else if (strcmp(key, "close_code") == 0) {
        end->removed =
            (int)value == MOOT_ERR_FENCED || (int)value == MOOT_ERR_NO_QUORUM;
    } else if (strcmp(key, "dismissed") == 0) {
        end->dismissed = value != 0;
    } else if (strcmp(key, "struck_ns") == 0) {
        end->struck_ns = value;
    } else if (strncmp(key, "fault_", 6) == 0) {
        const unsigned long rule = strtoul(key + 6, NULL, 10);
        if (rule < PLAN_RULES_MAX) {
            end->hits.fired[rule] = value;
        }
    }
}

/* False if there is no such file. */
static bool file_take(const char *directory, const char *name, struct rank_end *end)
{
    char path[PATH_BYTES], line[LINE_BYTES], key[KEY_BYTES], value[KEY_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, REFUSED " ", sizeof(REFUSED)) == 0) {
            refusal_take(end, line);
        } else if (sscanf(line, "%63s %63s", key, value) == 2) {
            line_take(end, key, strtoull(value, NULL, 10));
        }
    }
    fclose(file);
    return true;
}

/* The sheet of a moot that the rank closed says what the plan did there; else the file
 * that it left when the plan struck. */
static void left_take(const char *sheets, const struct sheet_name *name,
                      struct rank_end *end)
{
    char path[PATH_BYTES];
    struct rank_end of_moot = {.known = false};
    snprintf(path, sizeof(path), "%s/rank-%s", sheets, strchr(name->whole, '-') + 1);
    const bool closed = access(path, F_OK) == 0;
    if (name->unfinished) {
        end->open |= !name->struck;
        end->begun |= !name->struck;
        return;
    }
    file_take(sheets, name->whole, &of_moot);
    end->begun |= !name->struck;
    end->removed |= of_moot.removed;
    end->dismissed |= of_moot.dismissed;
    end->struck_ns = of_moot.struck_ns ? of_moot.struck_ns : end->struck_ns;
    end->ended_ns = end->ended_ns ? end->ended_ns : of_moot.ended_ns;
    if (!name->struck || !closed) {
        plan_hits_add(&end->hits, &of_moot.hits);
    }
}

static void marks_read(const char *directory, struct outcome *out)
{
    static const char opens[] = ENDING_OPENS "-", finalizes[] = ENDING_FINALIZES "-",
                      stalled[] = ENDING_STALLED "-";
    DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        out->opening |= strncmp(entry->d_name, opens, sizeof(opens) - 1) == 0;
        out->finalizing +=
            strncmp(entry->d_name, finalizes, sizeof(finalizes) - 1) == 0;
        out->stalled += strncmp(entry->d_name, stalled, sizeof(stalled) - 1) == 0;
    }
    if (dir) {
        closedir(dir);
    }
}

bool outcome_read(const char *ends, const char *sheets, size_t founders, size_t ranks,
                  struct outcome *out)
{
    *out = (struct outcome){.ends = calloc(ranks, sizeof(*out->ends)),
                            .founders = founders,
                            .count = ranks};
    marks_read(ends, out);
    for (size_t r = 0; out->ends && r < ranks; r++) {
        char name[KEY_BYTES];
        snprintf(name, sizeof(name), "end-%zu", r);
        out->ends[r].known = file_take(ends, name, &out->ends[r]);
    }
    DIR *dir = out->ends ? opendir(sheets) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct sheet_name name;
        if (sheet_name_read(entry->d_name, &name) && name.process < ranks) {
            left_take(sheets, &name, &out->ends[name.process]);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return out->ends != NULL;
}

void outcome_release(struct outcome *outcome)
{
    for (size_t r = 0; outcome->ends && r < outcome->count; r++) {
        free(outcome->ends[r].refused);
    }
    free(outcome->ends);
    *outcome = (struct outcome){0};
}
