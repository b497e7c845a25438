/* data_file.h - what other ranks are asked of files. */
#ifndef NODE_REFERENCE_DATA_FILE_H
#define NODE_REFERENCE_DATA_FILE_H

#include "node/api/moot.h"

enum { DATA_PATH_BYTES_MAX = 4096 };

/* The body of 'moot.data.find'. */
int data_file_answer(moot_call *call, void *user);

#endif
