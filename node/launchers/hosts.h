/* hosts.h - lists of hosts as people write them, and which ranks go where. */
#ifndef NODE_LAUNCHERS_HOSTS_H
#define NODE_LAUNCHERS_HOSTS_H

#include "node/api/moot_launcher.h"
#include <stddef.h>
#include <stdint.h>

struct host_list {
    moot_launcher_host *items; /* in the order of the list */
    uint32_t count;
};

/* Reads NAME[:SLOTS][,...].  A name is one of DNS, an address, or [IPv6]; user@ may
 * stand before it.  `name` is what was written, without slots; `address` lacks the user
 * and the brackets, too; `slots` is 0 where none are told.  Empty places count for
 * nothing, nor do blanks around a place.  "" gives no hosts.
 *
 * CONFIG, with a line in story that has the place: a name or a number that is none, a
 * name that stands there twice, or too many; out is then empty. */
int hosts_parse(const char *text, struct host_list *out, char *story,
                size_t story_size);
void hosts_release(struct host_list *hosts);

/* As moot_launcher's slot host(): fills out, whose size is set.  INVALID: no such host.
 */
int hosts_describe(const struct host_list *hosts, uint32_t index,
                   moot_launcher_host *out);

/* Places so many ranks, in blocks: host 0 has the first counts[0] ranks, and so on.  A
 * host has as many as it has slots at most.  Hosts whose slots are not told share alike
 * what the others have no slots for, at least one each while ranks are left.  ranks =
 * 0: as many as there are slots, and one for a host whose slots are not told.
 *
 * Returns how many ranks there are; or CONFIG, with a line in story: there are too few
 * slots. */
int64_t hosts_place(const moot_launcher_host *hosts, uint32_t count, uint32_t ranks,
                    uint32_t *counts, char *story, size_t story_size);

#endif
