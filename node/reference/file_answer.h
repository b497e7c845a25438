/* file_answer.h - what a rank answers when it is asked for a file.
 *
 * Who is asked reads the file, holds the task of its content from then on, and says
 * what the data are, which is enough to name the task.  node/api/api_file.c asks.
 */
#ifndef NODE_REFERENCE_FILE_ANSWER_H
#define NODE_REFERENCE_FILE_ANSWER_H

#include "node/api/moot.h"

enum { DATA_PATH_BYTES_MAX = 4096 };

/* The arguments of a question, before the path and its zero. */
struct file_question {
    uint64_t number; /* of the asker's */
    uint32_t rank;   /* who is asked */
    uint32_t asker;
};

enum { QUESTION_BYTES_MAX = sizeof(struct file_question) + DATA_PATH_BYTES_MAX };

/* A path of which a change of the working directory changes nothing, to be free()d;
 * NULL without memory. */
char *data_whole_path(const char *path);

/* The body of 'moot.data.find'. */
int data_file_answer(moot_call *call, void *user);

#endif
