/* diagnosis_private.h - what the files that find causes offer each other. */
#ifndef NODE_EXPLAIN_DIAGNOSIS_PRIVATE_H
#define NODE_EXPLAIN_DIAGNOSIS_PRIVATE_H

#include "node/explain/diagnosis.h"

/* --- diagnosis.c ------------------------------------------------------------------ */

void conclude(struct finding *finding, enum cause cause, uint32_t culprit);
/* A rank of which nothing can be learnt: dead, cut off, or not driving progress. */
void conclude_silent(const struct picture *picture, struct finding *finding,
                     uint32_t rank);
void conclude_lost(struct finding *finding, uint32_t from, uint32_t to);
/* A kernel is slow once it has run for a tenth of what a stall takes, or for a second.
 */
void conclude_running(struct finding *finding, const Moot__Account *account,
                      uint32_t owner, const Moot__Account__Task *kernel);
/* Something is ready there. */
void conclude_ready(struct finding *finding, const Moot__Account *account,
                    uint32_t owner);

/* --- array_cause.c ---------------------------------------------------------------- */

enum elements_way {
    ELEMENTS_WAY_NONE, /* no array, or its elements are not what it hangs on */
    ELEMENTS_WAY_ENDS, /* they are the cause, */
    ELEMENTS_WAY_ON    /* or wait for *hash */
};
/* The array's chair has spoken, or its owner. */
enum elements_way follow_elements(const struct picture *picture,
                                  struct finding *finding, uint32_t *asker,
                                  moot_hash *hash);

/* --- dispute.c -------------------------------------------------------------------- */

void diagnosis_find_disputes(const struct picture *picture,
                             struct diagnosis *diagnosis);

#endif
