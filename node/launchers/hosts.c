/* hosts.c - see hosts.h. */
#include "node/launchers/hosts.h"
#include "node/transport/transport.h"
#include "proto/limits.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = LIMIT_RANKS };

/* --- Reading ---------------------------------------------------------------------- */

struct word {
    const char *begin;
    size_t length;
};

static bool is_user(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("._-", text[i]) == NULL) {
            return false;
        }
    }
    return length > 0 && *text != '-';
}

/* An address of IPv6 may have a scope: fe80::1%eth0. */
static bool is_ipv6(const char *text, size_t length)
{
    bool scope = false;
    for (size_t i = 0; i < length; i++) {
        scope |= text[i] == '%';
        if (scope
                ? !isalnum((unsigned char)text[i]) && strchr("%._-", text[i]) == NULL
                : !isxdigit((unsigned char)text[i]) && strchr(":.", text[i]) == NULL) {
            return false;
        }
    }
    return length > 0;
}

/* Splits a place into user, host and slots; NULL, or what is wrong with it. */
static const char *split_place(struct word place, struct word *name, struct word *host,
                               struct word *slots)
{
    const char *end = place.begin + place.length;
    const char *at = memchr(place.begin, '@', place.length);
    const char *from = at != NULL ? at + 1 : place.begin;
    if (at != NULL && !is_user(place.begin, (size_t)(at - place.begin))) {
        return "the user before the @ is no name";
    }
    const char *behind = memchr(from, ':', (size_t)(end - from));
    if (from < end && *from == '[') {
        const char *close = memchr(from, ']', (size_t)(end - from));
        if (close == NULL || (close + 1 < end && close[1] != ':')) {
            return "it lacks the ] behind the address";
        }
        *host = (struct word){from + 1, (size_t)(close - from - 1)};
        if (!is_ipv6(host->begin, host->length)) {
            return "between [ and ] stands no address of IPv6";
        }
        behind = close + 1 < end ? close + 1 : NULL;
    } else {
        const char *stop = behind != NULL ? behind : end;
        if (behind != NULL && memchr(behind + 1, ':', (size_t)(end - behind - 1))) {
            return "it has several colons: an address of IPv6 is to stand in brackets, "
                   "as [::1]:2";
        }
        *host = (struct word){from, (size_t)(stop - from)};
        if (!is_user(host->begin, host->length)) {
            return host->length == 0 ? "it has no name"
                                     : "this is no name of a host, as of a:2";
        }
    }
    *name = (struct word){place.begin, behind != NULL ? (size_t)(behind - place.begin)
                                                      : place.length};
    *slots = behind != NULL ? (struct word){behind + 1, (size_t)(end - behind - 1)}
                            : (struct word){NULL, 0};
    return name->length < MOOT_LAUNCHER_NAME_BYTES ? NULL : "its name is too long";
}

static bool read_slots(struct word word, uint32_t *out)
{
    uint32_t value = 0;
    for (size_t i = 0; i < word.length; i++) {
        if (!isdigit((unsigned char)word.begin[i])) {
            return false;
        }
        value = value * 10 + (uint32_t)(word.begin[i] - '0');
        if (value > SLOTS_MAX) {
            return false;
        }
    }
    *out = value;
    return value > 0;
}

/* Appends the host of a place. */
static int take_place(struct word place, struct host_list *out, char *story,
                      size_t story_size)
{
    struct word name, host, slots;
    const int shown = place.length > 64 ? 64 : (int)place.length;
    const char *wrong = split_place(place, &name, &host, &slots);
    if (wrong != NULL) {
        return object_refuse(story, story_size, "'%.*s': %s", shown, place.begin,
                             wrong);
    }
    uint32_t number = 0;
    if (slots.begin != NULL && !read_slots(slots, &number)) {
        return object_refuse(story, story_size,
                             "'%.*s': behind the colon stand slots, a number from 1 to "
                             "%d",
                             shown, place.begin, SLOTS_MAX);
    }
    if (out->count == MOOT_LAUNCHER_HOSTS_MAX) {
        return object_refuse(story, story_size, "there are more than %d hosts",
                             MOOT_LAUNCHER_HOSTS_MAX);
    }
    moot_launcher_host *item = &out->items[out->count++];
    *item = (moot_launcher_host){.size = sizeof(*item), .slots = number};
    memcpy(item->name, name.begin, name.length);
    memcpy(item->address, host.begin, host.length);
    return MOOT_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const moot_launcher_host *)a)->name,
                  ((const moot_launcher_host *)b)->name);
}

/* A name that stands there twice; NULL: none does, or it is not to be known. */
static const char *find_twice(const struct host_list *hosts, char *name)
{
    const char *found = NULL;
    moot_launcher_host *sorted = calloc(hosts->count + 1u, sizeof(*sorted));
    if (sorted == NULL) {
        return NULL;
    }
    memcpy(sorted, hosts->items, hosts->count * sizeof(*sorted));
    qsort(sorted, hosts->count, sizeof(*sorted), compare_names);
    for (uint32_t i = 1; i < hosts->count && found == NULL; i++) {
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0) {
            memcpy(name, sorted[i].name, MOOT_LAUNCHER_NAME_BYTES);
            found = name;
        }
    }
    free(sorted);
    return found;
}

int hosts_parse(const char *text, struct host_list *out, char *story, size_t story_size)
{
    size_t places = 1;
    int code = MOOT_OK;
    for (const char *at = text; *at != '\0'; at++) {
        places += *at == ',';
    }
    *out = (struct host_list){NULL, 0};
    if (places > MOOT_LAUNCHER_HOSTS_MAX) {
        places = MOOT_LAUNCHER_HOSTS_MAX;
    }
    out->items = calloc(places, sizeof(*out->items));
    if (out->items == NULL) {
        return object_refuse(story, story_size, "no memory for the hosts");
    }
    while (code == MOOT_OK) {
        struct word place = {text, strcspn(text, ",")};
        text += place.length;
        while (place.length > 0 && isspace((unsigned char)*place.begin)) {
            place.begin++;
            place.length--;
        }
        while (place.length > 0 &&
               isspace((unsigned char)place.begin[place.length - 1])) {
            place.length--;
        }
        if (place.length > 0) {
            code = take_place(place, out, story, story_size);
        }
        if (*text == '\0') {
            break;
        }
        text++;
    }
    char name[MOOT_LAUNCHER_NAME_BYTES];
    if (code == MOOT_OK && find_twice(out, name) != NULL) {
        code = object_refuse(
            story, story_size,
            "'%s' stands there twice: name it once, with all its slots", name);
    }
    if (code != MOOT_OK) {
        hosts_release(out);
    }
    return code;
}

void hosts_release(struct host_list *hosts)
{
    free(hosts->items);
    *hosts = (struct host_list){NULL, 0};
}

int hosts_describe(const struct host_list *hosts, uint32_t index,
                   moot_launcher_host *out)
{
    if (index >= hosts->count || out->size < sizeof(*out)) {
        return MOOT_ERR_INVALID;
    }
    const size_t size = out->size;
    *out = hosts->items[index];
    out->size = size;
    return MOOT_OK;
}

/* --- Placing ---------------------------------------------------------------------- */

int64_t hosts_place(const moot_launcher_host *hosts, uint32_t count, uint32_t ranks,
                    uint32_t *counts, char *story, size_t story_size)
{
    uint64_t told = 0, untold = 0;
    for (uint32_t i = 0; i < count; i++) {
        told += hosts[i].slots;
        untold += hosts[i].slots == 0;
    }
    const uint64_t all = ranks > 0 ? ranks : told + untold;
    if (all > LIMIT_RANKS) {
        return object_refuse(story, story_size,
                             "%llu ranks are more than a job may have, which is %d",
                             (unsigned long long)all, LIMIT_RANKS);
    }
    if (untold == 0 && all > told) {
        return object_refuse(
            story, story_size,
            "%llu ranks, and the %u host%s ha%s %llu slots: give more "
            "(%s:%llu), or fewer ranks",
            (unsigned long long)all, count, count == 1 ? "" : "s",
            count == 1 ? "s" : "ve", (unsigned long long)told,
            count > 0 ? hosts[0].name : "NAME",
            (unsigned long long)((all + count - 1) / (count + !count)));
    }
    const uint64_t rest = all > told ? all - told : 0;
    uint64_t left = all, sharer = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t share = hosts[i].slots;
        if (share == 0) {
            share = rest / untold + (sharer < rest % untold);
            share = share == 0 ? 1 : share;
            sharer++;
        }
        counts[i] = (uint32_t)(share < left ? share : left);
        left -= counts[i];
    }
    return (int64_t)all;
}
