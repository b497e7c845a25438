/* disk_learn.c - see disk_learn.h. */
#include "node/diskstore/disk_learn.h"
#include "node/diskstore/disk_filter.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Asking takes as long as to learn KEYS_PER_ASK keys, and to begin as many asks. */
enum { KEYS_PER_ASK = 32, ASKS_TO_BEGIN = 8, NICER = 5 };

/* All filters of a store have room for some 130 million keys. */
static const uint64_t learn_bytes_max = 256 << 20;

static bool is_due(const struct diskstore *store, struct disk_finished *env)
{
    return atomic_load_explicit(&env->vain, memory_order_acquire) >=
           ASKS_TO_BEGIN + store->table->entries(env->env) / KEYS_PER_ASK;
}

struct learning {
    struct diskstore *store;
    struct disk_filter *filter;
};

static bool learn_key(void *context, const struct disk_key *key)
{
    struct learning *learning = context;
    disk_filter_add(learning->filter, disk_filter_mark(key));
    return !atomic_load_explicit(&learning->store->learn_ends, memory_order_relaxed);
}

/* Only a filter with all keys counts. */
static bool learn_env(struct diskstore *store, struct disk_finished *env)
{
    const uint64_t keys = store->table->entries(env->env);
    if (keys > learn_bytes_max ||
        disk_filter_bytes(keys) > learn_bytes_max - store->learned_bytes) {
        return false;
    }
    struct learning learning = {store, disk_filter_new(keys)};
    if (learning.filter == NULL ||
        store->table->keys(env->env, learn_key, &learning) != DISK_OK) {
        free(learning.filter);
        return false;
    }
    store->learned_bytes += disk_filter_bytes(keys);
    atomic_store_explicit(&env->filter, learning.filter, memory_order_release);
    return true;
}

/* The next that is to be learned; NULL: none is. */
static struct disk_finished *next_due(struct diskstore *store)
{
    struct disk_finished *env = atomic_load(&store->finished);
    while (env != NULL && (env->learned || !is_due(store, env))) {
        env = env->next;
    }
    return env;
}

static void *run_learner(void *context)
{
    struct diskstore *store = context;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    (void)nice(NICER); /* Linux: of this thread alone */
    pthread_mutex_lock(&store->lock);
    while (!atomic_load(&store->learn_ends)) {
        struct disk_finished *env = next_due(store);
        if (env == NULL) {
            pthread_cond_wait(&store->to_learn, &store->lock);
            continue;
        }
        pthread_mutex_unlock(&store->lock);
        const bool good = learn_env(store, env);
        pthread_mutex_lock(&store->lock);
        env->learned = true;
        store->counts.learned += good;
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

void disk_learn_asked(struct diskstore *store, struct disk_finished *env, bool vain)
{
    if (!vain || atomic_load_explicit(&env->filter, memory_order_relaxed) != NULL ||
        is_due(store, env)) {
        return;
    }
    atomic_fetch_add_explicit(&env->vain, 1, memory_order_release);
    if (!is_due(store, env)) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    if (!store->learns) { /* without a thread all are asked */
        store->learns = pthread_create(&store->learner, NULL, run_learner, store) == 0;
    }
    pthread_cond_signal(&store->to_learn);
    pthread_mutex_unlock(&store->lock);
}

void disk_learn_end(struct diskstore *store)
{
    pthread_mutex_lock(&store->lock);
    const bool learns = store->learns;
    atomic_store(&store->learn_ends, true);
    pthread_cond_signal(&store->to_learn);
    pthread_mutex_unlock(&store->lock);
    if (learns) {
        pthread_join(store->learner, NULL);
    }
}
