/* job_choose.c - see job_choose.h. */
#include "node/cli/job_choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_DIGITS = 8 };

bool job_is_named(const char *word)
{
    return strlen(word) == JOB_DIGITS && strspn(word, "0123456789abcdef") == JOB_DIGITS;
}

bool job_number_read(const char *word, uint32_t *out)
{
    const size_t length = strspn(word, "0123456789");
    *out = (uint32_t)strtoul(word, NULL, 10);
    return length > 0 && length < JOB_DIGITS - 1 && word[length] == '\0';
}

/* "  moot state 3a18bb78  # tsp, 4 ranks, for 12.0 s" */
static void job_print(const struct verb *verb, const char *setting, const char *job)
{
    struct text text = {0};
    Moot__Picture *picture = state_ask_one(setting, job);
    text_add(&text, "  moot %s %s", verb->name, job);
    for (size_t i = 0; picture && i < picture->n_seats; i++) {
        const Moot__Account *account = picture->seats[i]->account;
        if (!account || account->rank != picture->rank) {
            continue;
        }
        text_add(&text, "  # ");
        text_add_told(&text, account->program.data, account->program.len);
        text_add(&text, ", %u rank%s, for ", account->size,
                 account->size == 1 ? "" : "s");
        text_add_duration(&text, account->open_ns);
    }
    fprintf(stderr, "%s\n", text_get(&text));
    text_release(&text);
    if (picture) {
        moot__picture__free_unpacked(picture, NULL);
    }
}

int job_choose(const struct verb *verb, const char *setting, const char **job,
               char name[STATE_JOB_BYTES])
{
    static struct state_jobs jobs;
    if (*job) {
        return CLI_OK;
    }
    state_jobs_find(setting, &jobs);
    if (jobs.count == 1) {
        memcpy(name, jobs.names[0], STATE_JOB_BYTES);
        *job = name;
        return CLI_OK;
    }
    cli_complain(verb,
                 jobs.count == 0 ? "no job of yours runs on this host" : "which job?");
    for (int i = 0; i < jobs.count; i++) {
        job_print(verb, setting, jobs.names[i]);
    }
    return CLI_FAILED;
}
