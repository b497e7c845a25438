/* lane_scope.c - see lane_scope.h. */
#include "node/engine/lane_scope.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/context/context.h"
#include "node/engine/engine.h"

#include <assert.h>
#include <stdlib.h>

static struct scope **bucket_of(struct moot *m, uint64_t mark)
{
    return &m->engine.scopes[(mark * 0x9e3779b97f4a7c15u >> 32) % SCOPE_BUCKETS];
}

static struct scope *scope_find(struct moot *m, uint64_t mark)
{
    struct scope *scope = m->engine.scopes != NULL ? *bucket_of(m, mark) : NULL;
    while (scope != NULL && scope->mark != mark) {
        scope = scope->next;
    }
    return scope;
}

static struct scope *scope_add(struct moot *m, const moot_hash *hash)
{
    if (m->engine.scopes == NULL) {
        m->engine.scopes = calloc(SCOPE_BUCKETS, sizeof(struct scope *));
    }
    struct scope *scope = m->engine.scopes != NULL ? calloc(1, sizeof(*scope)) : NULL;
    if (scope == NULL) {
        return NULL;
    }
    scope->hash = *hash;
    scope->mark = hash_scope(hash);
    struct scope **bucket = bucket_of(m, scope->mark);
    scope->next = *bucket;
    *bucket = scope;
    return scope;
}

/* Closed, and nothing of it is in use: only the core has to know it any longer. */
static int scope_end(struct moot *m, struct scope *scope)
{
    struct core_event event = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope->hash};
    struct scope **link = bucket_of(m, scope->mark);
    while (*link != scope) {
        link = &(*link)->next;
    }
    *link = scope->next;
    free(scope);
    return engine_step(m, &event);
}

int scope_open(struct moot *m, struct lane *lane, const char *name)
{
    if (lane->scope_depth == LIMIT_SCOPE_DEPTH) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "scope '%s' would be more than %u deep",
                         name, LIMIT_SCOPE_DEPTH);
    }
    moot_hash parent = lane_scope(lane);
    moot_hash hash = identity_scope(&parent, name);
    struct scope *scope = scope_find(m, hash_scope(&hash));
    if (scope != NULL ? scope->open_count == 0 : core_scope_closed(m->core, &hash)) {
        return lane_fail(lane, MOOT_ERR_SCOPE_CLOSED,
                         "scope '%s' was closed on rank %u and cannot be opened again; "
                         "a repeated phase needs a name of its own each time",
                         name, m->group.rank);
    }
    if (scope == NULL) {
        scope = scope_add(m, &hash);
    }
    if (scope == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for scope '%s'", name);
    }
    scope->open_count++;
    lane->scopes[lane->scope_depth++] = hash;
    return MOOT_OK;
}

/* One less has it open. */
static int leave(struct moot *m, const moot_hash *hash)
{
    struct scope *scope = scope_find(m, hash_scope(hash));
    if (scope == NULL || --scope->open_count > 0) {
        return MOOT_OK;
    }
    if (scope->handle_count == 0) {
        return scope_end(m, scope);
    }
    struct core_event event = {.type = CORE_EV_SCOPE_CLOSE, .hash = *hash};
    return engine_step(m, &event);
}

int scope_close(struct moot *m, struct lane *lane)
{
    if (lane->scope_depth == 0) {
        return lane_fail(lane, MOOT_ERR_STATE, "this thread has no scope open");
    }
    moot_hash hash = lane_scope(lane);
    lane->scope_depth--;
    return leave(m, &hash);
}

bool scope_keep(struct moot *m, const moot_hash *hash)
{
    struct scope *scope = scope_find(m, hash_scope(hash));
    if (scope == NULL) {
        return false;
    }
    scope->open_count++;
    return true;
}

void scope_unkeep(struct moot *m, const moot_hash *hash) { leave(m, hash); }

bool scope_use(struct moot *m, uint64_t mark)
{
    struct scope *scope = mark != 0 ? scope_find(m, mark) : NULL;
    if (scope == NULL) {
        return false;
    }
    scope->handle_count++;
    return true;
}

void scope_unuse(struct moot *m, uint64_t mark)
{
    struct scope *scope = scope_find(m, mark);
    assert(scope != NULL && scope->handle_count > 0);
    if (--scope->handle_count == 0 && scope->open_count == 0) {
        scope_end(m, scope);
    }
}

void scope_close_all(struct moot *m, struct lane *lane)
{
    while (lane->scope_depth > 0) {
        scope_close(m, lane);
    }
}

void scopes_release(struct moot *m)
{
    for (uint32_t i = 0; m->engine.scopes != NULL && i < SCOPE_BUCKETS; i++) {
        while (m->engine.scopes[i] != NULL) {
            struct scope *next = m->engine.scopes[i]->next;
            free(m->engine.scopes[i]);
            m->engine.scopes[i] = next;
        }
    }
    free(m->engine.scopes);
    m->engine.scopes = NULL;
}
