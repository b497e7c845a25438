/* electorate.h - which members of a view decide about the next one.
 *
 * For checkers, computed anew from what PROTOCOL.md says, as
 * consensus/membership/committee.c does it, with none of that file's code: all members
 * of a small view; of a large one seven (five or three where few members make a view
 * large), as many hosts as possible, the lightest first; then what is left by the
 * largest hosts.
 */
#ifndef CONSENSUS_SIM_CHECKS_ELECTORATE_H
#define CONSENSUS_SIM_CHECKS_ELECTORATE_H

#include "hashing/rankset.h"

/* Views of more than `above` members are large.  `machines` has a host number per rank.
 * False without memory; the caller releases *out. */
bool electorate_of(const struct rankset *members, const uint32_t *machines,
                   uint32_t above, struct rankset *out);

#endif
