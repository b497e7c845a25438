/* route.c - see route.h. */
#include "consensus/route/route.h"
#include "consensus/mutant.h"

#include "proto/moot_error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_HOST UINT32_MAX
enum { SHOWN = 80 }; /* characters of a text in a story */

enum route_kind { ROUTE_STAR, ROUTE_TREE, ROUTE_LINKS };

struct route_link {
    uint32_t a, b;
};

struct route {
    enum route_kind kind;
    uint32_t hosts;
    uint32_t middle;   /* of a star */
    uint32_t children; /* K, of a tree */
    struct route_link *links;
    size_t link_count, link_room;
    /* The search that is under way: */
    bool *leaf;               /* nothing goes through it */
    struct route_link *edges; /* the links, or those of the star or tree, */
    size_t edge_count;
    uint32_t *first, *beside; /* and by host: who is beside it */
    uint32_t *queue, *found;  /* by host: the first on the way there */
};

/* --- Ways ------------------------------------------------------------------------- */

/* The lowest that is no leaf; NO_HOST: all are. */
static uint32_t find_inner(const struct route *route)
{
    uint32_t host = 0;
    while (host < route->hosts && route->leaf[host]) {
        host++;
    }
    return host < route->hosts ? host : NO_HOST;
}

static void add_edge(struct route *route, uint32_t a, uint32_t b)
{
    route->edges[route->edge_count++] = (struct route_link){a, b};
}

static void draw_star(struct route *route)
{
    const bool stands = !route->leaf[route->middle] || MUTANT(ROUTESTAR);
    const uint32_t middle = stands ? route->middle : find_inner(route);
    for (uint32_t host = 0; middle != NO_HOST && host < route->hosts; host++) {
        if (host != middle) {
            add_edge(route, middle, host);
        }
    }
}

static void draw_tree(struct route *route)
{
    const uint32_t top = find_inner(route);
    for (uint32_t host = 0; top != NO_HOST && host < route->hosts; host++) {
        uint32_t above = host;
        do {
            above = above > 0 ? (above - 1) / route->children : NO_HOST;
        } while (above != NO_HOST && route->leaf[above]);
        above = above != NO_HOST ? above : top;
        if (above != host) {
            add_edge(route, above, host);
        }
    }
}

static void draw_links(struct route *route)
{
    for (size_t i = 0; i < route->link_count; i++) {
        add_edge(route, route->links[i].a, route->links[i].b);
    }
}

/* Neighbours, from the edges. */
static void sort_edges(struct route *route)
{
    uint32_t *first = route->first;
    memset(first, 0, ((size_t)route->hosts + 2) * sizeof(*first));
    for (size_t i = 0; i < route->edge_count; i++) {
        first[route->edges[i].a + 2]++;
        first[route->edges[i].b + 2]++;
    }
    for (uint32_t host = 0; host < route->hosts; host++) {
        first[host + 2] += first[host + 1];
    }
    for (size_t i = 0; i < route->edge_count; i++) {
        const struct route_link *edge = &route->edges[i];
        route->beside[first[edge->a + 1]++] = edge->b;
        route->beside[first[edge->b + 1]++] = edge->a;
    }
}

static void draw(struct route *route)
{
    route->edge_count = 0;
    switch (route->kind) {
    case ROUTE_STAR:
        draw_star(route);
        break;
    case ROUTE_TREE:
        draw_tree(route);
        break;
    case ROUTE_LINKS:
        draw_links(route);
        break;
    }
    sort_edges(route);
}

/* Finds the shortest ways from there; returns how many hosts the longest goes through.
 * With `cut` none begins with a link to a host that is silent. */
static uint32_t search(struct route *route, uint32_t from, const enum route_host *cut)
{
    uint32_t *queue = route->queue, *found = route->found;
    uint32_t head = 0, tail = 0, last = 1, hops = 0;
    for (uint32_t host = 0; host < route->hosts; host++) {
        found[host] = NO_HOST;
    }
    found[from] = from;
    queue[tail++] = from;
    while (head < tail) {
        if (head == last) {
            last = tail;
            hops++;
        }
        const uint32_t host = queue[head++];
        for (uint32_t i = route->first[host]; i < route->first[host + 1]; i++) {
            const uint32_t next = route->beside[i];
            if (found[next] != NO_HOST ||
                (host != from && route->leaf[host] && !MUTANT(ROUTETHROUGH)) ||
                (host == from && cut && cut[next] == ROUTE_SILENT &&
                 !MUTANT(ROUTECUT))) {
                continue;
            }
            found[next] = host == from ? next : found[host];
            queue[tail++] = next;
        }
    }
    return hops;
}

/* First nothing is presumed but that this host's own links to the silent are cut; then,
 * for who is not reached so, that the silent are gone; and then that all is well, so
 * that what heals is found. */
void route_find(struct route *route, uint32_t from, const enum route_host *hosts,
                uint32_t *next)
{
    enum { CUT, WITHOUT, ALL, STEPS };
    uint32_t missing = route->hosts;
    for (uint32_t host = 0; host < route->hosts; host++) {
        next[host] = NO_HOST;
    }
    for (int step = CUT; step < STEPS && missing > 0; step++) {
        for (uint32_t host = 0; host < route->hosts; host++) {
            route->leaf[host] = host != from && step != ALL &&
                                (hosts[host] == ROUTE_GONE ||
                                 (step == WITHOUT && hosts[host] == ROUTE_SILENT));
        }
        draw(route);
        search(route, from, step == CUT ? hosts : NULL);
        missing = 0;
        for (uint32_t host = 0; host < route->hosts; host++) {
            next[host] = next[host] != NO_HOST ? next[host] : route->found[host];
            missing += next[host] == NO_HOST;
        }
    }
    assert(missing == 0); /* route_new() has seen to it */
}

/* --- Reading ---------------------------------------------------------------------- */

struct route_text {
    const char *text; /* whole */
    const char *const *names, *const *addresses;
    struct route *route;
    char *story;
    size_t story_size;
};

static int shown(size_t length) { return length < SHOWN ? (int)length : SHOWN; }

/* "MOOT_ROUTE=star:x: ...", or that of its file. */
__attribute__((format(printf, 2, 3))) static int
refuse_route(const struct route_text *r, const char *format, ...)
{
    const int used =
        snprintf(r->story, r->story_size,
                 "MOOT_ROUTE=%.*s: ", shown(strcspn(r->text, "\n")), r->text);
    if (used > 0 && (size_t)used < r->story_size) {
        va_list values;
        va_start(values, format);
        (void)vsnprintf(r->story + used, r->story_size - (size_t)used, format, values);
        va_end(values);
    }
    return MOOT_ERR_CONFIG;
}

static void add_text(const struct route_text *r, const char *text)
{
    const size_t used = strlen(r->story);
    snprintf(r->story + used, r->story_size - used, "%s", text);
}

static int add_hosts(const struct route_text *r)
{
    const char *before = "; the hosts of this job are ";
    for (uint32_t host = 0; host < r->route->hosts; host++) {
        if (*r->names[host] != '\0') {
            add_text(r, before);
            add_text(r, r->names[host]);
            before = ", ";
        }
    }
    if (*before == ';') {
        add_text(r, "; the launcher has named no hosts");
    }
    return MOOT_ERR_CONFIG;
}

static uint32_t word_find(const struct route_text *r, const char *const *words,
                          const char *name, size_t length)
{
    for (uint32_t host = 0; length > 0 && host < r->route->hosts; host++) {
        if (strncmp(words[host], name, length) == 0 && words[host][length] == '\0') {
            return host;
        }
    }
    return NO_HOST;
}

static uint32_t host_find(const struct route_text *r, const char *name, size_t length)
{
    const uint32_t host = word_find(r, r->names, name, length);
    return host != NO_HOST || r->addresses == NULL
               ? host
               : word_find(r, r->addresses, name, length);
}

static int read_star(const struct route_text *r, const char *name)
{
    r->route->kind = ROUTE_STAR;
    r->route->middle = host_find(r, name, strlen(name));
    if (r->route->middle == NO_HOST) {
        (void)refuse_route(r, "there is no host '%.*s'", shown(strlen(name)), name);
        return add_hosts(r);
    }
    return MOOT_OK;
}

static int read_tree(const struct route_text *r, const char *number)
{
    uint32_t children = 0;
    const char *at = number;
    while (*at >= '0' && *at <= '9' && children <= ROUTE_CHILDREN_MAX) {
        children = children * 10 + (uint32_t)(*at++ - '0');
    }
    r->route->kind = ROUTE_TREE;
    r->route->children = children;
    if (at == number || *at != '\0' || children < 1 || children > ROUTE_CHILDREN_MAX) {
        return refuse_route(
            r, "K is '%.*s', but how many hosts are below each may be 1 to %d",
            shown(strlen(number)), number, ROUTE_CHILDREN_MAX);
    }
    return MOOT_OK;
}

static int add_link(const struct route_text *r, uint32_t a, uint32_t b)
{
    struct route *route = r->route;
    if (route->link_count == route->link_room) {
        const size_t room = route->link_room > 0 ? 2 * route->link_room : 16;
        struct route_link *links = realloc(route->links, room * sizeof(*links));
        if (links == NULL) {
            snprintf(r->story, r->story_size, "out of memory for MOOT_ROUTE");
            return MOOT_ERR_NO_MEMORY;
        }
        route->links = links;
        route->link_room = room;
    }
    route->links[route->link_count++] = (struct route_link){a, b};
    return MOOT_OK;
}

/* "a-b", where names may have a - of their own, or two names with blanks between. */
static int read_link(const struct route_text *r, const char *text, size_t length)
{
    uint32_t a = NO_HOST, b = NO_HOST;
    size_t name = 0;
    while (name < length && text[name] != ' ' && text[name] != '\t') {
        name++;
    }
    if (name < length) {
        const size_t rest = name + strspn(text + name, " \t");
        a = host_find(r, text, name);
        b = host_find(r, text + rest, length - rest);
    }
    for (size_t dash = 1; a == NO_HOST && b == NO_HOST && dash + 1 < length; dash++) {
        if (text[dash] == '-') {
            a = host_find(r, text, dash);
            b = host_find(r, text + dash + 1, length - dash - 1);
            if (a == NO_HOST || b == NO_HOST) {
                a = b = NO_HOST;
            }
        }
    }
    if (a == NO_HOST || b == NO_HOST || a == b) {
        (void)refuse_route(r, "'%.*s' is no link between two hosts", shown(length),
                           text);
        return add_hosts(r);
    }
    return add_link(r, a, b);
}

/* Links with one of these characters between. */
static int read_links(const struct route_text *r, const char *text, const char *between)
{
    int code = MOOT_OK;
    r->route->kind = ROUTE_LINKS;
    while (code == MOOT_OK && *text != '\0') {
        const size_t whole = strcspn(text, between);
        const char *comment = memchr(text, '#', whole);
        size_t length = comment != NULL ? (size_t)(comment - text) : whole;
        const char *rest = text + whole + (text[whole] != '\0');
        const size_t blanks = strspn(text, " \t\r");
        text += blanks < length ? blanks : length;
        length -= blanks < length ? blanks : length;
        while (length > 0 && strchr(" \t\r", text[length - 1])) {
            length--;
        }
        code = length > 0 ? read_link(r, text, length) : MOOT_OK;
        text = rest;
    }
    return code;
}

static bool begins(const char *text, const char *with, const char **rest)
{
    *rest = text + strlen(with);
    return strncmp(text, with, strlen(with)) == 0;
}

static int read_route(const struct route_text *r)
{
    const char *rest;
    if (begins(r->text, "star:", &rest)) {
        return read_star(r, rest);
    }
    if (begins(r->text, "tree:", &rest)) {
        return read_tree(r, rest);
    }
    if (begins(r->text, "links:", &rest)) {
        return read_links(r, rest, ",");
    }
    if (begins(r->text, "@", &rest)) {
        return read_links(r, rest + strcspn(rest, "\n"), "\n");
    }
    return refuse_route(r, "may be mesh, star:HOST, tree:K, links:A-B,B-C or @FILE");
}

/* Memory for searches. */
static bool make_room(struct route *route)
{
    const size_t edges = route->link_count + route->hosts;
    route->leaf = calloc(route->hosts, sizeof(*route->leaf));
    route->edges = calloc(edges, sizeof(*route->edges));
    route->beside = calloc(2 * edges, sizeof(*route->beside));
    route->first = calloc((size_t)route->hosts + 2, sizeof(*route->first));
    route->queue = calloc(route->hosts, sizeof(*route->queue));
    route->found = calloc(route->hosts, sizeof(*route->found));
    return route->leaf && route->edges && route->beside && route->first &&
           route->queue && route->found;
}

static int check_ways(const struct route_text *r)
{
    struct route *route = r->route;
    draw(route);
    const uint32_t hops = search(route, 0, NULL);
    for (uint32_t host = 0; host < route->hosts; host++) {
        if (route->found[host] == NO_HOST) {
            return refuse_route(r,
                                "there is no route from host %s to host %s: add a link",
                                r->names[0], r->names[host]);
        }
    }
    /* Any way goes through the first host at worst. */
    if (2 * hops > ROUTE_HOPS_MAX) {
        return refuse_route(r, "hosts are more than %d links away from the first",
                            ROUTE_HOPS_MAX / 2);
    }
    return MOOT_OK;
}

int route_new(const char *text, const char *const *names, const char *const *addresses,
              uint32_t hosts, struct route **out, char *story, size_t story_size)
{
    struct route *route = NULL;
    if (strcmp(text, "mesh") == 0) {
        *out = NULL;
        return MOOT_OK;
    }
    route = calloc(1, sizeof(*route));
    const struct route_text r = {text, names, addresses, route, story, story_size};
    if (route == NULL) {
        snprintf(story, story_size, "out of memory for MOOT_ROUTE");
        return MOOT_ERR_NO_MEMORY;
    }
    route->hosts = hosts;
    int code = read_route(&r);
    if (code == MOOT_OK && !make_room(route)) {
        snprintf(story, story_size, "out of memory for MOOT_ROUTE");
        code = MOOT_ERR_NO_MEMORY;
    }
    code = code == MOOT_OK ? check_ways(&r) : code;
    if (code != MOOT_OK) {
        route_free(route);
        return code;
    }
    *out = route;
    return MOOT_OK;
}

void route_free(struct route *route)
{
    if (route == NULL) {
        return;
    }
    free(route->links);
    free(route->leaf);
    free(route->edges);
    free(route->beside);
    free(route->first);
    free(route->queue);
    free(route->found);
    free(route);
}
