/* disk_gone.c - data that vanish under the writer: files in the environment's LARGE
 * that somebody removes, or cuts, while their process runs.
 *
 * The writer looks once a batch, since it would go on appending to a file that has no
 * name any more.  Then it begins another, and the results whose data are gone are
 * counted, and told once.
 */
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"

#include <inttypes.h>

struct gone_count {
    const char *path; /* the environment's */
    uint64_t records;
};

static bool count_gone(void *context, const struct disk_key *key,
                       const struct disk_value *value)
{
    struct gone_count *count = context;
    struct diskstore_found found;
    struct disk_place place;
    count->records +=
        disk_record_read(key, value->bytes, value->size, &found, &place) &&
        place.spot.home != DISK_IN_VALUE &&
        !disk_large_is_there(count->path, &place.spot, found.size);
    return true;
}

static void tell_gone(struct diskstore *store, struct disk_env *own)
{
    struct gone_count count = {.path = store->own_path};
    store->table->each(own, count_gone, &count);
    const uint64_t more = count.records > store->gone ? count.records - store->gone : 0;
    store->gone = count.records;
    pthread_mutex_lock(&store->lock);
    store->counts.damaged += more;
    pthread_mutex_unlock(&store->lock);
    disk_tell(
        store, DISK_TROUBLE_GONE,
        "%s/large: files were removed or cut while they are in use, and with them "
        "the data of %" PRIu64 " stored results; a later job runs those again",
        store->own_path, more);
}

void disk_gone_look(struct diskstore *store, struct disk_env *own)
{
    const bool folder_gone =
        store->large_node != 0 && disk_large_node(store->own_path) != store->large_node;
    const bool pack_gone = store->pack.open && !disk_pack_is_there(&store->pack);
    if (pack_gone || folder_gone) {
        disk_pack_close(&store->pack);
        store->large_node = 0;
        tell_gone(store, own);
    }
}
