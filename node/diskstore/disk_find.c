/* disk_find.c - finds records: in the process' own environment, and in those whose
 * writers are gone, as far as these may have the key (disk_learn.h).
 *
 * A record that is damaged, old, or void after a reload is not found; another
 * environment may have a good one.
 */
#include "hashing/identity.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_filter.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_learn.h"
#include "node/diskstore/disk_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool disk_take_data(struct disk_reserve *reserve, const char *folder,
                    struct disk_value *value, const struct disk_place *place,
                    struct diskstore_found *found)
{
    if (place->spot.home != DISK_IN_VALUE) {
        free(value->bytes);
        value->bytes = NULL;
        errno = 0;
        found->data = disk_large_read(reserve, folder, place, found->size);
        return found->data != NULL;
    }
    memmove(value->bytes, value->bytes + place->at, found->size);
    value->bytes[found->size] = 0;
    found->data = value->bytes;
    return true;
}

/* Whether the record is older than those that are found.  The start of a once task is
 * found whatever its age, and so is its end, beside which that stands.
 */
static bool is_old(struct diskstore *store, struct disk_env *env,
                   const struct diskstore_found *found)
{
    const uint64_t age = store->options.age_max_ns, now = age != 0 ? disk_now_ns() : 0;
    if (found->kind == DISKSTORE_ACCEPTED || found->made_ns >= now ||
        now - found->made_ns <= age) {
        return false;
    }
    const struct disk_key accepted = disk_key(&found->hash, DISKSTORE_ACCEPTED);
    return found->kind != DISKSTORE_RESULT ||
           store->table->get(env, &accepted, NULL) == DISK_NONE;
}

/* `unread`: why it cannot be read now; NULL: it is damaged. */
static void tell_dropped(struct diskstore *store, const char *folder,
                         const char *unread)
{
    if (unread != NULL) {
        disk_tell(store,
                  disk_tells_lack(unread) ? DISK_TROUBLE_FILES : DISK_TROUBLE_READ,
                  "%s: a stored result cannot be read, and its task, if it may, runs "
                  "again: %s",
                  folder, unread);
    } else {
        disk_tell(
            store, DISK_TROUBLE_DAMAGE,
            "%s: a damaged record was dropped; `moot checkpoint verify` finds all",
            folder);
    }
}

/* An environment's record, verified; NONE where it is damaged or old, which is counted,
 * or made void by a reload.  NONE also where it cannot be read now: found->unread. */
static enum disk_end read_record(struct diskstore *store, struct disk_env *env,
                                 const char *folder, const struct disk_key *key,
                                 struct diskstore_found *found)
{
    struct disk_value value;
    struct disk_place place;
    bool damaged = false, old = false, is_void = false;
    int cause = 0;
    const enum disk_end end = store->table->get(env, key, &value);
    if (end == DISK_OK) {
        damaged = !disk_record_read(key, value.bytes, value.size, found, &place);
        old = !damaged && is_old(store, env, found) && !disk_is_named(store, found);
        is_void = !damaged && !old && !disk_counts_by_mark(store, found);
        if (damaged || old || is_void) {
            free(value.bytes);
        } else {
            damaged = !disk_take_data(&store->reserve, folder, &value, &place, found);
            cause = errno;
        }
    }
    if (end == DISK_FAILED) {
        cause = errno;
    }
    damaged = damaged || end == DISK_DAMAGED || end == DISK_FAILED;
    found->unread = damaged && cause != 0 && !disk_large_is_damage(cause)
                        ? disk_error(cause)
                        : NULL;
    if (damaged || old) {
        pthread_mutex_lock(&store->lock);
        store->counts.damaged += damaged;
        store->counts.old += old;
        pthread_mutex_unlock(&store->lock);
    }
    if (damaged) {
        tell_dropped(store, folder, found->unread);
    }
    return end == DISK_OK && !damaged && !old && !is_void ? DISK_OK : DISK_NONE;
}

/* Asks one environment; what it has takes the place of `found`, if that is older. */
static bool ask_env(struct diskstore *store, struct disk_env *env, const char *folder,
                    const struct disk_key *key, struct diskstore_found *found, bool has)
{
    struct diskstore_found other;
    if (read_record(store, env, folder, key, &other) != DISK_OK) {
        if (!has && other.unread != NULL) {
            found->unread = other.unread;
            snprintf(found->environment, sizeof(found->environment), "%s",
                     strrchr(folder, '/') + 1);
        }
        return has;
    }
    const bool older = has && found->made_ns >= other.made_ns;
    void *const data = older ? other.data : has ? found->data : NULL;
    if (!older) {
        *found = other;
    }
    free(data);
    return true;
}

/* --- The own environment ---------------------------------------------------------- */

struct disk_finished *disk_own_take(struct diskstore *store)
{
    if (atomic_load(&store->own) == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&store->lock);
    struct disk_finished *own = atomic_load(&store->own);
    if (own != NULL) {
        own->users++;
    }
    pthread_mutex_unlock(&store->lock);
    return own;
}

static void close_own(const struct diskstore *store, struct disk_finished *own)
{
    store->table->close(own->env);
    free(own);
}

void disk_own_give(struct diskstore *store, struct disk_finished *own)
{
    pthread_mutex_lock(&store->lock);
    const bool last = --own->users == 0 && own->retired;
    pthread_mutex_unlock(&store->lock);
    if (last) {
        close_own(store, own);
    }
}

void disk_own_retire(struct diskstore *store, struct disk_finished *own)
{
    pthread_mutex_lock(&store->lock);
    own->retired = true;
    const bool unused = own->users == 0;
    pthread_mutex_unlock(&store->lock);
    if (unused) {
        close_own(store, own);
    }
}

/* --- All environments ------------------------------------------------------------- */

static struct disk_filter *filter_of(struct disk_finished *env)
{
    return atomic_load_explicit(&env->filter, memory_order_acquire);
}

/* Begins a look for the key; as filters see it. */
static uint64_t seek(struct diskstore *store, const struct disk_key *key)
{
    const uint64_t mark = disk_filter_mark(key);
    for (struct disk_finished *each = atomic_load(&store->finished); each != NULL;
         each = each->next) {
        const struct disk_filter *filter = filter_of(each);
        if (filter != NULL) {
            disk_filter_expect(filter, mark);
        }
    }
    return mark;
}

static bool must_ask(struct disk_finished *env, uint64_t mark)
{
    const struct disk_filter *filter = filter_of(env);
    return filter == NULL || disk_filter_may_have(filter, mark);
}

static bool find_record(struct diskstore *store, const struct disk_key *key,
                        struct diskstore_found *found, bool all)
{
    bool has = false;
    const uint64_t mark = seek(store, key);
    struct disk_finished *own = disk_own_take(store);
    found->unread = NULL;
    if (own != NULL) {
        has = ask_env(store, own->env, own->path, key, found, has);
        disk_own_give(store, own);
    }
    for (struct disk_finished *each = atomic_load(&store->finished);
         each != NULL && (all || !has); each = each->next) {
        if (must_ask(each, mark)) {
            has = ask_env(store, each->env, each->path, key, found, has);
            disk_learn_asked(store, each, !has);
        }
    }
    return has;
}

bool disk_has_key(struct diskstore *store, const struct disk_key *key)
{
    bool has = false;
    const uint64_t mark = seek(store, key);
    struct disk_finished *own = disk_own_take(store);
    if (own != NULL) {
        has = store->table->get(own->env, key, NULL) != DISK_NONE;
        disk_own_give(store, own);
    }
    for (struct disk_finished *each = atomic_load(&store->finished);
         each != NULL && !has; each = each->next) {
        if (must_ask(each, mark)) {
            has = store->table->get(each->env, key, NULL) != DISK_NONE;
            disk_learn_asked(store, each, !has);
        }
    }
    return has;
}

static bool may_have(struct diskstore *store, const struct disk_key *key)
{
    return atomic_load(&store->blind) || disk_has_key(store, key);
}

bool diskstore_find(struct diskstore *store, const moot_hash *hash,
                    enum diskstore_kind kind, struct diskstore_found *found)
{
    const struct disk_key key = disk_key(hash, kind);
    const bool has = found != NULL
                         ? find_record(store, &key, found, kind == DISKSTORE_PROGRESS)
                         : may_have(store, &key);
    pthread_mutex_lock(&store->lock);
    store->counts.asked++;
    store->counts.found += has;
    pthread_mutex_unlock(&store->lock);
    return has;
}

/* --- Harm ------------------------------------------------------------------------- */

void diskstore_harm(struct diskstore *store, const struct diskstore_harm *harm)
{
    pthread_mutex_lock(&store->harming);
    if (store->harm.batch == NULL) {
        store->harm = *harm;
    }
    pthread_mutex_unlock(&store->harming);
}

void diskstore_unharm(struct diskstore *store, const void *context)
{
    pthread_mutex_lock(&store->harming);
    if (store->harm.context == context) {
        store->harm = (struct diskstore_harm){.context = NULL};
    }
    pthread_mutex_unlock(&store->harming);
}
