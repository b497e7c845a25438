/* fresh_file.h - files that a rank leaves in a folder that may be shared.
 *
 * Whoever may write to the folder may put a link where a file is to come, and the link
 * may lead to any file of this user.  So no file is ever opened that was there before:
 * what has its name is removed, and the file is made anew.
 */
#ifndef NODE_RECORD_FRESH_FILE_H
#define NODE_RECORD_FRESH_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* The descriptor of a new and empty file, to be written; -1, and errno says why. */
int fresh_file_open(const char *path);
/* The same as a stream; NULL, and errno says why. */
FILE *fresh_file_stream(const char *path);

/* Makes the folder unless there is one.  A link to a folder is followed if it is this
 * user's or root's; false, and errno says why (EPERM: the link is somebody else's). */
bool fresh_file_folder(const char *path);

#endif
