/* file_answer.c - see file_answer.h. */
#include "node/reference/file_answer.h"

#include "node/engine/engine.h"
#include "node/reference/data_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STORY_BYTES = 512 };

char *data_whole_path(const char *path)
{
    char *here = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    const size_t size = strlen(path) + (here != NULL ? strlen(here) : 0) + 2;
    char *whole = malloc(size);
    if (whole != NULL) {
        snprintf(whole, size, "%s%s%s", here != NULL ? here : "",
                 here != NULL ? "/" : "", path);
    }
    free(here);
    return whole;
}

/* Reads the file, and holds the task of its content.  The answer is what the data are;
 * an empty one says that this rank cannot read it. */
static int answer(moot_call *call, struct moot *m, const char *path)
{
    char why[STORY_BYTES] = "";
    const struct array_story told = {why, sizeof(why)};
    struct data_source source = {.bytes = NULL};
    unsigned char facts[DATA_FACTS_BYTES_MAX];
    int error = MOOT_ERR_NO_MEMORY;
    if (!data_gather_file(path, &(struct data_room){.bytes = NULL}, &source.facts,
                          &told)) {
        return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    }
    char *whole = data_whole_path(path);
    source.path = whole;
    if (whole != NULL && engine_enter(m) != NULL) {
        error = data_take_in(m, &source);
        engine_leave(m);
    }
    free(whole);
    const size_t size = data_facts_pack(&source.facts, facts);
    void *output = error == MOOT_OK ? moot_call_output(call, size) : NULL;
    if (output == NULL) {
        return error != MOOT_OK ? error : MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, facts, size);
    return MOOT_OK;
}

int data_file_answer(moot_call *call, void *user)
{
    struct moot *m = user;
    struct file_question question;
    size_t size = 0;
    const char *args = moot_call_args(call, &size);
    if (size <= sizeof(question) || size > QUESTION_BYTES_MAX ||
        args[size - 1] != '\0') {
        return moot_call_fail(call, MOOT_ERR_INVALID, "this is no question");
    }
    memcpy(&question, args, sizeof(question));
    return question.rank == m->group.rank
               ? answer(call, m, args + sizeof(question))
               : moot_call_fail(call, MOOT_ERR_STATE, "another rank is asked");
}
