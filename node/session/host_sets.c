/* host_sets.c - sets of the processes that share a host: moot://host/NAME_k.
 *
 * With each moot://all_k, for which the processes of the moot have changed, a set is
 * defined for every host of them on which now are others than in its last set, behind
 * that moot://all_k and in the order of the hosts' lowest members.  A host that nobody
 * is on any more gets none.  k counts the sets of one host, from 1.
 *
 * NAME is what the host's ranks call it (transport_group_host_of()), which all ranks
 * know alike, so the sets and their indices are alike, too.  A space, a slash, a
 * control character, and a byte beyond ASCII stands in it as `_`; behind
 * LIMIT_PSET_HOST_BYTES it is cut, and an empty one is `_`.  Hosts of one name are one
 * host.
 */
#include "node/session/psets_private.h"

#include "hashing/placement.h"
#include "node/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "moot://host/"

enum { HOST_BYTES = LIMIT_PSET_HOST_BYTES + 1, NUMBER_DIGITS = 10 };
static_assert(sizeof(PREFIX) + LIMIT_PSET_HOST_BYTES + 1 + NUMBER_DIGITS <=
                  LIMIT_PSET_NAME_BYTES + 1,
              "a host's set has a name");

struct member_host {
    uint32_t member;
    char name[HOST_BYTES];
};

static void name_host(const struct moot *m, uint32_t member, struct member_host *out)
{
    out->member = member;
    transport_group_host_of(&m->group, member, out->name, sizeof(out->name));
    for (char *at = out->name; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        *at = byte <= ' ' || byte >= 0x7f || byte == '/' ? '_' : *at;
    }
    if (*out->name == '\0') {
        snprintf(out->name, sizeof(out->name), "_");
    }
}

/* The number of that host's set with this name; 0: it is another's. */
static uint32_t number_of(const char *set, const char *host)
{
    const size_t length = strlen(host);
    if (strncmp(set, PREFIX, strlen(PREFIX)) != 0) {
        return 0;
    }
    set += strlen(PREFIX);
    if (strncmp(set, host, length) != 0 || set[length] != '_') {
        return 0;
    }
    const char *number = set + length + 1;
    const bool good = *number != '\0' && strspn(number, "0123456789") == strlen(number);
    return good ? (uint32_t)strtoul(number, NULL, 10) : 0;
}

/* The host's last set is of these, or a further one is. */
static bool add_host(struct moot *m, const char *host, const struct rankset *members,
                     const struct rankset *world)
{
    const struct psets *psets = m->session.psets;
    char name[LIMIT_PSET_NAME_BYTES + 1];
    uint32_t number = 0;
    size_t at = psets->count;
    while (number == 0 && at-- > FIRST_DEFINED) {
        number = number_of(psets->sets[at].name, host);
    }
    if (number > 0 && psets_has(&psets->sets[at], members)) {
        return true;
    }
    snprintf(name, sizeof(name), PREFIX "%s_%u", host, number + 1);
    return psets_add_of_world(m, name, members, world);
}

/* A set of that one's host, with those behind it who are on it; they are done then. */
static bool add_host_of(struct moot *m, struct member_host *all, size_t count,
                        const struct rankset *world)
{
    char host[HOST_BYTES];
    struct rankset members = {0};
    bool good = true;
    memcpy(host, all->name, sizeof(host));
    for (size_t i = 0; good && i < count; i++) {
        if (strcmp(all[i].name, host) == 0) {
            good = rankset_add(&members, all[i].member);
            *all[i].name = '\0';
        }
    }
    good = good && add_host(m, host, &members, world);
    rankset_release(&members);
    return good;
}

bool host_sets_add(struct moot *m, const struct rankset *world)
{
    size_t count = 0;
    struct member_host *all = calloc((size_t)rankset_count(world) + 1, sizeof(*all));
    bool good = all != NULL;
    for (uint32_t member = rankset_next(world, 0); good && member != PLACEMENT_NOBODY;
         member = rankset_next(world, member + 1)) {
        name_host(m, member, &all[count++]);
    }
    for (size_t i = 0; good && i < count; i++) {
        good = *all[i].name == '\0' || add_host_of(m, all + i, count - i, world);
    }
    free(all);
    return good;
}
