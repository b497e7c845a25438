/* outcome_private.h - what is left of a rank's end, and read: between the files of
 * outcome.h.
 */
#ifndef NODE_LAUNCH_OUTCOME_PRIVATE_H
#define NODE_LAUNCH_OUTCOME_PRIVATE_H

#define REFUSED "refused" /* the key of the line with why no moot was opened */

#endif
