/* disk_records.c - see disk.h: records, behind the table of functions that LMDB fills.
 *
 * The records and what becomes of them are tests/unit/disk_simulated.h's; here they
 * take a rank's time, and are nobody's memory.
 */
#define SIM_ALONE
#include "tests/unit/disk_simulated.h"

#include "tests/virtual/disk_private.h"
#include "tests/virtual/world.h"

#include <errno.h>

static struct disk_env *open_writer(const char *folder, bool sync, const char **why)
{
    world_spend();
    account_own_begin();
    struct disk_env *env =
        sim_open_writer(folder, sync && !disk_has_options()->lies, why);
    account_own_end();
    disk_touch(folder, "data.mdb");
    return env;
}

static struct disk_env *open_reader(const char *folder, const char **why)
{
    world_spend();
    account_own_begin();
    struct disk_env *env = sim_open_reader(folder, why);
    account_own_end();
    return env;
}

/* A value is the caller's, and taken from the rank's memory. */
static enum disk_end get_record(struct disk_env *env, const struct disk_key *key,
                                struct disk_value *value)
{
    world_spend();
    if (disk_has_options()->deaf && disk_draw(4) == 0) {
        return DISK_NONE;
    }
    return sim_get(env, key, value);
}

static enum disk_end put_record(struct disk_env *env, const struct disk_key *key,
                                const struct disk_image *image, const char **why)
{
    world_spend();
    if (disk_draw(1000) < disk_has_options()->full_per_mille) {
        *why = strerror(ENOSPC);
        return DISK_FAILED;
    }
    account_own_begin();
    const enum disk_end end = sim_put(env, key, image, why);
    account_own_end();
    return end;
}

static enum disk_end erase_record(struct disk_env *env, const struct disk_key *key)
{
    account_own_begin();
    const enum disk_end end = sim_erase(env, key);
    account_own_end();
    return end;
}

/* A visit of keys on its way to who asked for it. */
struct keys_visit {
    bool (*visit)(void *context, const struct disk_key *key);
    void *context;
};

static bool visit_key(void *context, const struct disk_key *key)
{
    const struct keys_visit *visit = context;
    world_spend();
    return (disk_has_options()->forgetful && disk_draw(4) == 0) ||
           visit->visit(visit->context, key);
}

/* Damage that hides some keys is told behind the others. */
static enum disk_end show_keys(struct disk_env *env,
                               bool (*visit)(void *context, const struct disk_key *key),
                               void *context)
{
    struct keys_visit step = {visit, context};
    world_spend();
    const enum disk_end end = sim_keys(env, visit_key, &step);
    return disk_draw(1000) < disk_has_options()->unread_per_mille ? DISK_DAMAGED : end;
}

static enum disk_end commit_records(struct disk_env *env, const char **why)
{
    char folder[4096];
    world_spend_ns(disk_draw(disk_has_options()->slow_ns + 1));
    snprintf(folder, sizeof(folder), "%s/%s/%s", DISK_FOLDER, DISK_STORE, env->name);
    disk_touch(folder, "data.mdb");
    return sim_commit(env, why);
}

static void forget_batch(struct disk_env *env)
{
    account_own_begin();
    sim_abort(env);
    account_own_end();
}

static enum disk_end sync_records(struct disk_env *env, const char **why)
{
    world_spend_ns(disk_draw(disk_has_options()->slow_ns + 1));
    return disk_has_options()->lies ? DISK_OK : sim_sync(env, why);
}

const struct disk_table disk_virtual = {
    .open_writer = open_writer,
    .open_reader = open_reader,
    .close = sim_close,
    .entries = sim_entries,
    .get = get_record,
    .each = sim_each,
    .keys = show_keys,
    .begin = sim_begin,
    .put = put_record,
    .erase = erase_record,
    .large = sim_large,
    .commit = commit_records,
    .abort = forget_batch,
    .sync = sync_records,
};

void disk_records_begin(void) { sim_forget(); }
void disk_records_end(void) { sim_forget(); }

/* A batch that nobody has committed is none. */
void disk_records_lose(uint64_t seed) { sim_lose_power(&seed); }

void disk_records_flip(uint64_t seed, uint64_t one_in) { sim_flip_bits(&seed, one_in); }

struct visitor {
    void (*visit)(void *context, const struct disk_key *key,
                  const struct disk_value *value);
    void *context;
};

static bool visit_record(void *context, const struct disk_key *key,
                         const struct disk_value *value)
{
    const struct visitor *visitor = context;
    visitor->visit(visitor->context, key, value);
    return true;
}

void disk_each(void (*visit)(void *context, const struct disk_key *key,
                             const struct disk_value *value),
               void *context)
{
    struct visitor visitor = {visit, context};
    for (size_t i = 0; i < sim_disk.count; i++) {
        if (disk_reads_owner(sim_disk.envs[i].name)) {
            sim_each(&sim_disk.envs[i], visit_record, &visitor);
        }
    }
}
