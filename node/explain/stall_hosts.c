/* stall_hosts.c - which ranks are on which host, as far as they say so:
 * stall_add_hosts() of stall.h.
 */
#include "node/explain/stall.h"

#include "hashing/placement.h"

#include <string.h>

enum { HOSTS_TOLD = 16 };

static bool is_on(const Moot__Account *account, const ProtobufCBinaryData *host)
{
    return account != NULL && account->host_name.len == host->len &&
           (host->len == 0 ||
            memcmp(account->host_name.data, host->data, host->len) == 0);
}

/* Ranks that no host before has. */
static uint32_t find_host(const struct picture *picture, const struct rankset *told)
{
    uint32_t rank = 0;
    while (rank < picture->size &&
           (picture->seats[rank].account == NULL || rankset_has(told, rank))) {
        rank++;
    }
    return rank;
}

static bool are_several(const struct picture *picture)
{
    const Moot__Account *own = picture->seats[picture->rank].account;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        if (account != NULL && !is_on(account, &own->host_name)) {
            return true;
        }
    }
    return false;
}

/* That of `first` and the ranks behind it. */
static bool add_host(struct text *text, const struct picture *picture, uint32_t first,
                     struct rankset *told)
{
    const ProtobufCBinaryData *host = &picture->seats[first].account->host_name;
    struct rankset here = {0};
    for (uint32_t rank = first; rank < picture->size; rank++) {
        if (is_on(picture->seats[rank].account, host)) {
            (void)rankset_add(&here, rank);
        }
    }
    text_add_told(text, host->data, host->len);
    text_add(text, " has ");
    stall_add_ranks(text, &here);
    (void)rankset_merge(told, &here);
    rankset_release(&here);
    return rankset_has(told, first);
}

void stall_add_hosts(struct text *text, const struct picture *picture)
{
    struct rankset told = {0};
    uint32_t count = 0, first;
    if (!are_several(picture)) {
        return;
    }
    while (count < HOSTS_TOLD && (first = find_host(picture, &told)) < picture->size) {
        text_add(text, count++ == 0 ? "  hosts: " : "; ");
        if (!add_host(text, picture, first, &told)) {
            break; /* without memory */
        }
    }
    text_add(text, count == HOSTS_TOLD ? "; at most 16 are told\n" : "\n");
    rankset_release(&told);
}
