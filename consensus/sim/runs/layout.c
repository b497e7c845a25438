/* layout.c - see layout.h. */
#include "consensus/sim/runs/layout.h"
#include "consensus/sim/programs/random.h"
#include "proto/limits.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_LAYOUT = 601, LOCAL_SHARE = 16 };

/* --- Words ------------------------------------------------------------------------ */

static bool read_count(struct lexer *lexer, const char *what, uint32_t *out)
{
    size_t from = lexer->at;
    uint64_t number;
    if (!lex_integer(lexer, &number)) {
        return false;
    }
    if (number < 1 || number > LIMIT_RANKS) {
        return lex_wrong(lexer, from, lexer->at - from, "", "there are 1 to %u %s",
                         LIMIT_RANKS, what);
    }
    *out = (uint32_t)number;
    return true;
}

bool layout_hosts_parse(const char *word, struct layout *out, struct plan_error *error)
{
    static const char allowed[] = "hosts and ranks on each, as in 8x4, or drawn";
    struct lexer lexer = {.text = word, .end = strlen(word), .error = error};
    if (strcmp(word, "drawn") == 0) {
        out->drawn = true;
        return true;
    }
    if (word[0] < '0' || word[0] > '9') {
        return lex_expected(&lexer, "a number of hosts", allowed);
    }
    if (!read_count(&lexer, "hosts", &out->hosts)) {
        return false;
    }
    if (!lex_skip(&lexer, "x")) {
        return lex_expected(&lexer, "\"x\" and how many ranks are on each", allowed);
    }
    return read_count(&lexer, "ranks on a host", &out->host_ranks) &&
           (lexer.at == lexer.end || lex_expected(&lexer, "the end", allowed));
}

bool layout_is_there(const struct layout *layout)
{
    return layout->drawn || layout->hosts > 0;
}

static const char *route_word(const struct layout *layout)
{
    return layout->route[0] != '\0' ? layout->route : "mesh";
}

/* Hosts are called by their numbers. */
struct names {
    char (*text)[12];
    const char **each;
};

static void name_hosts(uint32_t hosts, struct names *out)
{
    out->text = calloc(hosts, sizeof(*out->text));
    out->each = calloc(hosts, sizeof(*out->each));
    if (out->text == NULL || out->each == NULL) {
        abort();
    }
    for (uint32_t host = 0; host < hosts; host++) {
        (void)snprintf(out->text[host], sizeof(out->text[host]), "%" PRIu32, host);
        out->each[host] = out->text[host];
    }
}

static void free_names(struct names *names)
{
    free(names->text);
    free(names->each);
}

/* The mistake in a route, without the knob's name in front. */
static const char *told(const char *story)
{
    static const char knob[] = "MOOT_ROUTE=";
    return strncmp(story, knob, sizeof(knob) - 1) == 0 ? story + sizeof(knob) - 1
                                                       : story;
}

bool layout_check(const struct layout *layout, uint32_t ranks, struct plan_error *error)
{
    struct route *route = NULL;
    struct lexer lexer = {.text = "", .error = error};
    const uint64_t room = (uint64_t)layout->hosts * layout->host_ranks;
    if (layout->drawn) {
        return true;
    }
    if (ranks > room || ranks <= room - layout->host_ranks) {
        return lex_wrong(&lexer, 0, 1, "",
                         "%" PRIu32 " hosts of %" PRIu32 " ranks hold %" PRIu64
                         " to %" PRIu64 ", not %" PRIu32,
                         layout->hosts, layout->host_ranks,
                         room - layout->host_ranks + 1, room, ranks);
    }
    char story[PLAN_WRONG_BYTES];
    struct names names;
    name_hosts(layout->hosts, &names);
    const int code = route_new(route_word(layout), names.each, NULL, layout->hosts,
                               &route, story, sizeof(story));
    free_names(&names);
    route_free(route);
    return code == MOOT_OK || lex_wrong(&lexer, 0, 1, "", "--route %s", told(story));
}

/* --- Drawing ---------------------------------------------------------------------- */

/* Each host with one before it, and perhaps a few links more: a tree, or a network with
 * several ways. */
static void draw_links(struct random *random, struct layout *layout)
{
    struct plan_text text = {.bytes = layout->route, .size = sizeof(layout->route)};
    plan_put(&text, "links:");
    for (uint32_t host = 1; host < layout->hosts; host++) {
        plan_put(&text, "%s%" PRIu64 "-%" PRIu32, host > 1 ? "," : "",
                 random_below(random, host), host);
    }
    uint64_t more = random_below(random, layout->hosts);
    for (uint64_t i = 0; i < more; i++) {
        uint32_t a = (uint32_t)random_below(random, layout->hosts);
        uint32_t b = (uint32_t)random_below(random, layout->hosts);
        if (a != b) {
            plan_put(&text, ",%" PRIu32 "-%" PRIu32, a, b);
        }
    }
    plan_text_end(&text);
}

void layout_draw(uint64_t seed, uint32_t ranks, struct layout *out)
{
    struct random random = random_stream(seed, STREAM_LAYOUT);
    uint32_t most = ranks < LAYOUT_DRAWN_HOSTS_MAX ? ranks : LAYOUT_DRAWN_HOSTS_MAX;
    uint32_t hosts = most < 2 ? 1 : (uint32_t)random_between(&random, 2, most);
    *out = (struct layout){.host_ranks = (ranks + hosts - 1) / hosts};
    out->hosts = (ranks + out->host_ranks - 1) / out->host_ranks;
    struct plan_text text = {.bytes = out->route, .size = sizeof(out->route)};
    uint64_t kind = random_below(&random, 4);
    if (kind == 1) {
        plan_put(&text, "star:%" PRIu64, random_below(&random, out->hosts));
    } else if (kind == 2) {
        plan_put(&text, "tree:%" PRIu64, random_between(&random, 1, 2));
    } else if (kind == 3 && out->hosts > 1) {
        draw_links(&random, out);
        return;
    } else {
        plan_put(&text, "mesh");
    }
    plan_text_end(&text);
}

void layout_settle(const struct layout *layout, uint64_t seed, uint32_t ranks,
                   struct layout *out)
{
    if (layout->drawn) {
        layout_draw(seed, ranks, out);
    } else {
        *out = *layout;
    }
}

/* --- The cluster ------------------------------------------------------------------ */

/* The most links on a way while all are up; round one that is cut, a way of a table may
 * pass all hosts. */
static uint32_t count_hops(const struct layout *layout, struct route *route)
{
    uint32_t hosts = layout->hosts, most = 1;
    if (route == NULL || strncmp(layout->route, "links:", 6) == 0) {
        return route == NULL || hosts < 2 ? 1 : hosts - 1;
    }
    enum route_host *up = calloc(hosts, sizeof(*up)); /* ROUTE_UP is 0 */
    uint32_t *next = calloc((size_t)hosts * hosts, sizeof(*next));
    if (up == NULL || next == NULL) {
        abort();
    }
    for (uint32_t from = 0; from < hosts; from++) {
        route_find(route, from, up, &next[(size_t)from * hosts]);
    }
    for (uint32_t i = 0; i < 2 * hosts; i++) { /* the longest begins at either end */
        const uint32_t to = i / 2;
        uint32_t hops = 0, at = i % 2 == 0 ? 0 : hosts - 1;
        for (; at != to; at = next[(size_t)at * hosts + to]) {
            hops++;
        }
        most = hops > most ? hops : most;
    }
    free(up);
    free(next);
    return most;
}

uint64_t layout_sharers(const struct layout *layout)
{
    const bool mesh = strcmp(route_word(layout), "mesh") == 0;
    const uint64_t each = layout->host_ranks;
    const uint64_t half = (uint64_t)layout->hosts * each / 2;
    return mesh || half < each ? each * each : half * half;
}

void layout_cluster(const struct layout *layout, struct sim_weather *weather,
                    struct sim_cluster *out)
{
    struct route *route = NULL;
    char story[PLAN_WRONG_BYTES];
    struct names names;
    name_hosts(layout->hosts, &names);
    if (route_new(route_word(layout), names.each, NULL, layout->hosts, &route, story,
                  sizeof(story)) != MOOT_OK) {
        abort();
    }
    free_names(&names);
    *out = (struct sim_cluster){
        .hosts = layout->hosts, .host_ranks = layout->host_ranks, .route = route};
    weather->hops = count_hops(layout, route);
    weather->sharers = layout_sharers(layout);
    if (weather->local_ns == 0) {
        weather->local_ns = 1 + weather->latency_ns / LOCAL_SHARE;
    }
}

void layout_release(struct sim_cluster *cluster)
{
    route_free(cluster->route);
    cluster->route = NULL;
}
