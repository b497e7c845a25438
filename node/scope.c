/* scope.c - see scope.h. */
#include "scope.h"

#include "hashing/identity.h"
#include "node/context.h"
#include "node/engine.h"

#include <stdlib.h>
#include <string.h>

static struct scope *scope_find(struct moot *m, const moot_hash *hash)
{
    for (uint32_t i = 0; i < m->scope_count; i++) {
        if (hash_equal(&m->scopes[i].hash, hash)) {
            return &m->scopes[i];
        }
    }
    return NULL;
}

static struct scope *scope_add(struct moot *m, const moot_hash *hash, const char *name)
{
    if (m->scope_count == m->scope_room) {
        uint32_t room = m->scope_room ? m->scope_room * 2 : 16;
        struct scope *grown = realloc(m->scopes, room * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        m->scopes = grown;
        m->scope_room = room;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return NULL;
    }
    struct scope *scope = &m->scopes[m->scope_count++];
    *scope = (struct scope){.hash = *hash, .name = copy};
    return scope;
}

int scope_open(struct moot *m, struct lane *lane, const char *name)
{
    if (lane->scope_depth == LIMIT_SCOPE_DEPTH) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "scope '%s' would be more than %u deep",
                         name, LIMIT_SCOPE_DEPTH);
    }
    moot_hash parent = lane_scope(lane);
    moot_hash hash = identity_scope(&parent, name);
    struct scope *scope = scope_find(m, &hash);
    if (scope != NULL && scope->open_count == 0) {
        return lane_fail(lane, MOOT_ERR_SCOPE_CLOSED,
                         "scope '%s' was closed on rank %u and cannot be opened again; "
                         "a repeated phase needs a name of its own each time",
                         name, m->group.rank);
    }
    if (scope == NULL) {
        scope = scope_add(m, &hash, name);
    }
    if (scope == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for scope '%s'", name);
    }
    scope->open_count++;
    lane->scopes[lane->scope_depth++] = hash;
    return MOOT_OK;
}

int scope_close(struct moot *m, struct lane *lane)
{
    if (lane->scope_depth == 0) {
        return lane_fail(lane, MOOT_ERR_STATE, "this thread has no scope open");
    }
    moot_hash hash = lane_scope(lane);
    lane->scope_depth--;
    struct scope *scope = scope_find(m, &hash);
    if (scope == NULL || --scope->open_count > 0) {
        return MOOT_OK;
    }
    struct core_event event = {.type = CORE_EV_SCOPE_CLOSE, .hash = hash};
    return engine_step(m, &event);
}

void scope_close_all(struct moot *m, struct lane *lane)
{
    while (lane->scope_depth > 0) {
        scope_close(m, lane);
    }
}

void scopes_release(struct moot *m)
{
    for (uint32_t i = 0; i < m->scope_count; i++) {
        free(m->scopes[i].name);
    }
    free(m->scopes);
    m->scopes = NULL;
    m->scope_count = m->scope_room = 0;
}
