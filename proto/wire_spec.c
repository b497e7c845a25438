/* wire_spec.c - the spec of a portable task, or task array, on the wire (wire_write.c,
 * wire_read.c and wire_check.c say how these are called).
 *
 * A spec stands in a MOTION and in an ELEMENTS.  The spec of an array has its card, and
 * a map for each of its inputs, which has no name if the input is a single task's
 * result.
 */
#include "proto/wire_private.h"

#include "hashing/array_spread.h"
#include "hashing/identity.h"

#include <string.h>

/* --- Writing ---------------------------------------------------------------------- */

static size_t map_count(const struct message_spec *spec)
{
    return spec->maps != NULL ? spec->input_count : 0;
}

/* With the zero byte behind it. */
static size_t name_bytes(const struct message_map *map)
{
    return map->name != NULL ? strlen(map->name) + 1 : 1;
}

size_t wire_spec_scratch_bytes(const struct message_spec *spec)
{
    size_t bytes = spec != NULL ? wire_set_scratch_bytes(spec->candidates) : 0;
    for (size_t i = 0; spec != NULL && i < map_count(spec); i++) {
        bytes +=
            2 * sizeof(uint32_t) + name_bytes(&spec->maps[i]) + spec->maps[i].args_size;
    }
    return bytes;
}

static void put_maps(struct encoder *encoder, const struct message_spec *spec,
                     Moot__Spec *to)
{
    const size_t count = map_count(spec);
    to->map_versions = wire_scratch_take(encoder, count * sizeof(uint32_t));
    to->map_sizes = wire_scratch_take(encoder, count * sizeof(uint32_t));
    to->n_map_versions = to->n_map_sizes = count;
    char *names = (char *)encoder->scratch;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = name_bytes(&spec->maps[i]);
        memcpy(wire_scratch_take(encoder, bytes), bytes > 1 ? spec->maps[i].name : "",
               bytes);
        to->map_versions[i] = spec->maps[i].version;
        to->map_sizes[i] = (uint32_t)spec->maps[i].args_size;
    }
    to->map_names = wire_borrow(names, (size_t)((char *)encoder->scratch - names));
    char *args = (char *)encoder->scratch;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = spec->maps[i].args_size;
        if (bytes > 0) {
            memcpy(wire_scratch_take(encoder, bytes), spec->maps[i].args, bytes);
        }
    }
    to->map_args = wire_borrow(args, (size_t)((char *)encoder->scratch - args));
}

Moot__Spec *wire_put_spec(struct encoder *encoder, const struct message_spec *spec)
{
    Moot__Spec *to = &encoder->spec;
    moot__spec__init(to);
    to->kernel_name = wire_borrow_text(spec->kernel_name, LIMIT_KERNEL_NAME_BYTES);
    to->kernel_version = spec->kernel_version;
    to->flags = spec->flags;
    to->args = wire_borrow(spec->args, spec->args_size);
    to->inputs = wire_borrow(spec->inputs, spec->input_count * sizeof(*spec->inputs));
    to->after_count = (uint32_t)spec->after_count;
    to->has_key = spec->key != NULL;
    to->key = wire_borrow(spec->key, spec->key != NULL ? spec->key_size : 0);
    to->candidates = wire_put_set(encoder, spec->candidates);
    to->bound = spec->bound;
    to->scope = wire_borrow_hash(&spec->scope);
    to->parent = wire_borrow_hash(&spec->parent);
    to->priority = spec->priority;
    to->label = wire_borrow_text(spec->label, LIMIT_LABEL_BYTES);
    to->site = wire_borrow_text(spec->site, LIMIT_SITE_BYTES);
    to->count = spec->count;
    to->block = spec->block;
    to->spread = spec->spread;
    if (map_count(spec) > 0) {
        put_maps(encoder, spec, to);
    }
    return to;
}

/* --- Reading ---------------------------------------------------------------------- */

/* A name, behind which the next one begins; the arena has put a NUL behind the last. */
static bool get_name(struct reader *reader, const char **at, size_t *left,
                     const char **to)
{
    const size_t length = *left > 0 ? strnlen(*at, *left) : 0;
    if (length == *left || length > LIMIT_KERNEL_NAME_BYTES) {
        return wire_refuse(reader, "a spec has no name for each map");
    }
    *to = length > 0 ? *at : NULL;
    *at += length + 1;
    *left -= length + 1;
    return true;
}

static bool get_maps(struct reader *reader, const Moot__Spec *from,
                     struct message_spec *to)
{
    const size_t count = from->n_map_versions;
    const char *name = (const char *)from->map_names.data;
    const uint8_t *args = from->map_args.data;
    size_t names_left = from->map_names.len, args_left = from->map_args.len;
    if (from->n_map_sizes != count || (count > 0 && count != to->input_count) ||
        count > LIMIT_ARRAY_INPUTS) {
        return wire_refuse(reader, "a spec has no map for each input");
    }
    struct message_map *maps = arena_take(&reader->arena, count * sizeof(*maps));
    bool fits = maps != NULL;
    for (size_t i = 0; i < count && fits; i++) {
        const uint32_t size = from->map_sizes[i];
        maps[i] = (struct message_map){
            .version = from->map_versions[i], .args = args, .args_size = size};
        if (size > args_left) {
            return wire_refuse(reader, "a spec's map has no such arguments");
        }
        fits = get_name(reader, &name, &names_left, &maps[i].name);
        args = size > 0 ? args + size : args;
        args_left -= size;
    }
    if (fits && names_left + args_left > 0) {
        return wire_refuse(reader, "a spec has more maps than inputs");
    }
    to->maps = count > 0 ? maps : NULL;
    return fits;
}

bool wire_get_spec(struct reader *reader, const Moot__Spec *from,
                   const struct message_spec **out)
{
    struct message_spec *to = arena_take(&reader->arena, sizeof(*to));
    if (to == NULL) {
        return false;
    }
    *to = (struct message_spec){
        .kernel_version = from->kernel_version,
        .flags = from->flags,
        .args = from->args.data,
        .args_size = from->args.len,
        .after_count = from->after_count,
        .key = from->has_key ? from->key.data : NULL,
        .key_size = from->key.len,
        .priority = from->priority,
        .count = from->count,
        .block = from->block,
        .spread = from->spread,
        .bound = from->bound,
    };
    if (from->has_key && to->key == NULL) {
        to->key = ""; /* empty, but there */
    }
    if (!from->has_key && from->key.len > 0) {
        return wire_refuse(reader, "a key that is none");
    }
    *out = to;
    return wire_get_text(reader, &from->kernel_name, LIMIT_KERNEL_NAME_BYTES,
                         &to->kernel_name) &&
           wire_get_hashes(reader, &from->inputs, &to->inputs, &to->input_count) &&
           wire_get_set(reader, &from->candidates, &to->candidates) &&
           wire_get_hash(reader, &from->scope, &to->scope) &&
           wire_get_hash(reader, &from->parent, &to->parent) &&
           wire_get_text(reader, &from->label, LIMIT_LABEL_BYTES, &to->label) &&
           wire_get_text(reader, &from->site, LIMIT_SITE_BYTES, &to->site) &&
           get_maps(reader, from, to);
}

/* --- Checking --------------------------------------------------------------------- */

static const char *check_maps(const struct message_spec *spec)
{
    size_t bytes = 0;
    for (size_t i = 0; i < spec->input_count; i++) {
        const struct message_map *map = &spec->maps[i];
        const char *why = map->name != NULL ? wire_check_name(map->name) : NULL;
        if (why != NULL) {
            return why;
        }
        if ((map->args == NULL && map->args_size > 0) ||
            (map->name == NULL && (map->args_size > 0 || map->version != 0)) ||
            map->args_size > LIMIT_MAPS_BYTES) {
            return "a spec's map has no such arguments";
        }
        bytes += map->args_size;
    }
    return bytes > LIMIT_MAPS_BYTES ? "a spec's maps have too many arguments" : NULL;
}

static const char *check_array(const moot_hash *hash, const struct message_spec *spec)
{
    const struct array_spread spread = {spec->count, spec->block, 1,
                                        (enum array_spread_kind)spec->spread};
    const bool inputs = spec->input_count > 0;
    if (!hash_has(hash, MOOT_HASH_ARRAY)) {
        return spec->count != 0 || spec->block != 0 || spec->spread != 0 ||
                       spec->maps != NULL || spec->bound
                   ? "a spec of a task has what arrays have"
                   : NULL;
    }
    if (!array_spread_valid(&spread) || (spec->bound && spec->candidates == NULL)) {
        return "a spec is of no such array";
    }
    if (inputs != (spec->maps != NULL) || spec->input_count > LIMIT_ARRAY_INPUTS ||
        spec->after_count != spec->input_count) {
        return "a spec has no map for each input";
    }
    return inputs ? check_maps(spec) : NULL;
}

const char *wire_check_spec(const moot_hash *hash, const struct message_spec *spec)
{
    const char *why = wire_check_name(spec->kernel_name);
    if (why == NULL) {
        why = wire_check_set_or_null(spec->candidates);
    }
    if (why == NULL && spec->input_count > LIMIT_INPUTS) {
        why = "a spec has too many inputs";
    }
    if (why == NULL) {
        why = wire_check_hashes(spec->inputs, spec->input_count);
    }
    if (why != NULL) {
        return why;
    }
    if (spec->args == NULL && spec->args_size > 0) {
        return "a spec's arguments are missing";
    }
    if (spec->args_size > LIMIT_ARGS_BYTES) {
        return "a spec's arguments are too large";
    }
    if (spec->after_count > spec->input_count) {
        return "a spec has more order inputs than inputs";
    }
    if (spec->key_size > LIMIT_KEY_BYTES) {
        return "a spec's key is too long";
    }
    return check_array(hash, spec);
}
