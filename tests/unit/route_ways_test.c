/* route_ways_test.c - ways from host to host (consensus/route/route.h): all graphs of
 * up to five hosts, and stars and trees of up to seven, with every set of hosts that
 * are gone and of silent ones.  What a way must be is worked out here by itself:
 * distances, by relaxing until nothing changes.
 */
#include "consensus/route/route.h"
#include "node/transport/carrier/route_text.h"
#include "proto/moot_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS_MAX = 7, GRAPH_HOSTS = 5, FAR = 99, TEXT_BYTES = 512 };

static const char *const names[HOSTS_MAX] = {"a", "b", "node-3", "d", "e-", "-f", "g"};

static struct route *read_well(const char *text, uint32_t hosts)
{
    char story[200] = "";
    struct route *route = NULL;
    const int code = route_new(text, names, NULL, hosts, &route, story, sizeof(story));
    if (code != MOOT_OK) {
        fail_msg("'%s': %s", text, story);
    }
    return route;
}

struct graph {
    uint32_t hosts;
    bool beside[HOSTS_MAX][HOSTS_MAX];
};

/* Between hosts, through such as are not in `without`. */
static void measure(const struct graph *g, unsigned without, int far[][HOSTS_MAX])
{
    for (uint32_t a = 0; a < g->hosts; a++) {
        for (uint32_t b = 0; b < g->hosts; b++) {
            far[a][b] = a == b ? 0 : g->beside[a][b] ? 1 : FAR;
        }
    }
    for (uint32_t round = 0; round < g->hosts; round++) {
        for (uint32_t a = 0; a < g->hosts; a++) {
            for (uint32_t b = 0; b < g->hosts; b++) {
                for (uint32_t by = 0; by < g->hosts; by++) {
                    const int length = far[a][by] + far[by][b];
                    if (!(without >> by & 1) && length < far[a][b]) {
                        far[a][b] = length;
                    }
                }
            }
        }
    }
}

static void states_fill(enum route_host *states, uint32_t hosts, unsigned gone,
                        unsigned silent)
{
    for (uint32_t host = 0; host < hosts; host++) {
        states[host] = gone >> host & 1     ? ROUTE_GONE
                       : silent >> host & 1 ? ROUTE_SILENT
                                            : ROUTE_UP;
    }
}

/* Follows a way along which all hosts know the same; its length, FAR in a circle. */
static int follow(uint32_t next[][HOSTS_MAX], uint32_t from, uint32_t to, unsigned gone,
                  bool *through_gone)
{
    int length = 0;
    *through_gone = false;
    while (from != to && length < FAR) {
        from = next[from][to];
        length++;
        *through_gone = *through_gone || (from != to && (gone >> from & 1));
    }
    return length;
}

static void find_all(struct route *route, uint32_t hosts, unsigned gone,
                     uint32_t next[][HOSTS_MAX])
{
    enum route_host states[HOSTS_MAX];
    states_fill(states, hosts, gone, 0);
    for (uint32_t from = 0; from < hosts; from++) {
        route_find(route, from, states, next[from]);
        assert_int_equal(next[from][from], from);
    }
}

/* --- Tables ----------------------------------------------------------------------- */

/* False: the graph is not connected, and was refused for that. */
static bool graph_read(unsigned edges, struct graph *g, struct route **out)
{
    char text[TEXT_BYTES] = "links:", story[200] = "";
    int far[HOSTS_MAX][HOSTS_MAX];
    unsigned edge = 0;
    memset(g->beside, 0, sizeof(g->beside));
    for (uint32_t a = 0; a < g->hosts; a++) {
        for (uint32_t b = 0; b < a; b++, edge++) {
            if (edges >> edge & 1) {
                g->beside[a][b] = g->beside[b][a] = true;
                const size_t used = strlen(text);
                snprintf(text + used, sizeof(text) - used, "%s%s-%s",
                         text[used - 1] == ':' ? "" : ",", names[a], names[b]);
            }
        }
    }
    measure(g, 0, far);
    bool connected = true;
    for (uint32_t host = 0; host < g->hosts; host++) {
        connected = connected && far[0][host] < FAR;
    }
    const int code = route_new(text, names, NULL, g->hosts, out, story, sizeof(story));
    if ((code == MOOT_OK) != connected || (!connected && !strstr(story, "no route"))) {
        fail_msg("%s: %s", text, story);
    }
    return connected;
}

/* The shortest, and past hosts that are gone if there is such a way at all. */
static void check_gone(struct route *route, const struct graph *g, unsigned gone)
{
    int all[HOSTS_MAX][HOSTS_MAX], left[HOSTS_MAX][HOSTS_MAX];
    uint32_t next[HOSTS_MAX][HOSTS_MAX];
    measure(g, 0, all);
    measure(g, gone, left);
    find_all(route, g->hosts, gone, next);
    for (uint32_t from = 0; from < g->hosts; from++) {
        for (uint32_t to = 0; to < g->hosts; to++) {
            bool through_gone;
            if (gone >> from & 1) {
                continue; /* whoever is gone finds no way that matters */
            }
            const int length = follow(next, from, to, gone, &through_gone);
            assert_true(g->beside[from][next[from][to]] || from == to);
            if (left[from][to] < FAR) {
                assert_int_equal(length, left[from][to]);
                assert_false(through_gone);
            } else {
                assert_true(next[from][to] < g->hosts);
            }
        }
    }
}

/* A host's links to silent ones are not used if there is another way. */
static void check_silent(struct route *route, const struct graph *g, unsigned silent)
{
    enum route_host states[HOSTS_MAX];
    uint32_t next[HOSTS_MAX];
    struct graph cut = *g;
    int far[HOSTS_MAX][HOSTS_MAX];
    states_fill(states, g->hosts, 0, silent);
    for (uint32_t host = 1; host < g->hosts; host++) {
        if (silent >> host & 1) {
            cut.beside[0][host] = cut.beside[host][0] = false;
        }
    }
    measure(&cut, 0, far);
    route_find(route, 0, states, next);
    for (uint32_t to = 1; to < g->hosts; to++) {
        assert_true(g->beside[0][next[to]]);
        if (far[0][to] < FAR) {
            assert_false(silent >> next[to] & 1);
            assert_int_equal(far[next[to]][to] + 1, far[0][to]);
        }
    }
}

static void each_table_gives_the_shortest_ways_past_who_is_gone(void **unused)
{
    unsigned read = 0;
    (void)unused;
    for (uint32_t hosts = 1; hosts <= GRAPH_HOSTS; hosts++) {
        const unsigned sets = 1u << hosts, graphs = 1u << (hosts * (hosts - 1) / 2);
        for (unsigned edges = 0; edges < graphs; edges++) {
            struct graph g = {.hosts = hosts};
            struct route *route = NULL;
            if (!graph_read(edges, &g, &route)) {
                continue;
            }
            read++;
            for (unsigned set = 0; set < sets; set++) {
                check_gone(route, &g, set);
                check_silent(route, &g, set & ~1u);
            }
            route_free(route);
        }
    }
    assert_int_equal(read, 1 + 1 + 4 + 38 + 728); /* connected labelled graphs */
}

/* --- Stars and trees -------------------------------------------------------------- */

/* However many are gone, who is left speaks with each other past them. */
static void check_living(const char *text, uint32_t hosts, int longest)
{
    struct route *route = read_well(text, hosts);
    for (unsigned gone = 0; gone < 1u << hosts; gone++) {
        uint32_t next[HOSTS_MAX][HOSTS_MAX];
        find_all(route, hosts, gone, next);
        for (uint32_t from = 0; from < hosts; from++) {
            for (uint32_t to = 0; to < hosts; to++) {
                bool through_gone;
                if (!(gone >> from & 1)) {
                    assert_in_range(follow(next, from, to, gone, &through_gone), 0,
                                    longest);
                    assert_false(through_gone);
                }
            }
        }
    }
    route_free(route);
}

static void stars_and_trees_are_made_anew_of_who_is_left(void **unused)
{
    char text[TEXT_BYTES];
    (void)unused;
    for (uint32_t hosts = 1; hosts <= HOSTS_MAX; hosts++) {
        for (uint32_t middle = 0; middle < hosts; middle++) {
            snprintf(text, sizeof(text), "star:%s", names[middle]);
            check_living(text, hosts, 2);
        }
        for (int children = 1; children <= 3; children++) {
            snprintf(text, sizeof(text), "tree:%d", children);
            check_living(text, hosts, HOSTS_MAX - 1);
        }
    }
}

/* As in a heap; and without host 1 its children are below host 0. */
static void a_tree_is_the_one_that_is_meant(void **unused)
{
    enum route_host states[HOSTS_MAX] = {ROUTE_UP};
    uint32_t next[HOSTS_MAX];
    struct route *route = read_well("tree:2", HOSTS_MAX);
    (void)unused;
    route_find(route, 4, states, next);
    static const uint32_t from_4[HOSTS_MAX] = {1, 1, 1, 1, 4, 1, 1};
    assert_memory_equal(next, from_4, sizeof(next));
    states[1] = ROUTE_GONE;
    route_find(route, 4, states, next);
    static const uint32_t later[HOSTS_MAX] = {0, 0, 0, 0, 4, 0, 0};
    assert_memory_equal(next, later, sizeof(next));
    states[1] = ROUTE_SILENT; /* to host 1 itself the old way is tried */
    route_find(route, 4, states, next);
    static const uint32_t silent[HOSTS_MAX] = {0, 0, 0, 0, 4, 0, 0};
    assert_memory_equal(next, silent, sizeof(next));
    route_free(route);
}

static void a_star_goes_on_with_the_next_host(void **unused)
{
    enum route_host states[4] = {ROUTE_UP, ROUTE_UP, ROUTE_SILENT, ROUTE_UP};
    uint32_t next[4];
    struct route *route = read_well("star:node-3", 4);
    (void)unused;
    route_find(route, 3, states, next);
    static const uint32_t by_0[] = {0, 0, 0, 3};
    assert_memory_equal(next, by_0, sizeof(next));
    states[2] = ROUTE_UP;
    route_find(route, 3, states, next);
    static const uint32_t by_2[] = {2, 2, 2, 3};
    assert_memory_equal(next, by_2, sizeof(next));
    route_free(route);
}

/* --- Words ------------------------------------------------------------------------ */

static void what_is_no_route_is_refused_with_what_helps(void **unused)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "may be mesh, star:HOST"},
        {"ring",
         "MOOT_ROUTE=ring: may be mesh, star:HOST, tree:K, links:A-B,B-C or @FILE"},
        {"mesh ", "may be mesh"},
        {"star:", "there is no host ''; the hosts of this job are a, b, node-3"},
        {"star:c",
         "MOOT_ROUTE=star:c: there is no host 'c'; the hosts of this job are a, "
         "b, node-3"},
        {"star:node", "no host 'node'"},
        {"tree:", "K is ''"},
        {"tree:0",
         "MOOT_ROUTE=tree:0: K is '0', but how many hosts are below each may be "
         "1 to 1024"},
        {"tree:1025", "1 to 1024"},
        {"tree:99999999999999999999", "1 to 1024"},
        {"tree:2x", "1 to 1024"},
        {"tree:-1", "1 to 1024"},
        {"links:", "no route from host a to host b"},
        {"links:a-b", "MOOT_ROUTE=links:a-b: there is no route from host a to host "
                      "node-3: add a link"},
        {"links:a-b,b-c",
         "'b-c' is no link between two hosts; the hosts of this job are "
         "a, b, node-3"},
        {"links:a-b,b-b", "'b-b' is no link"},
        {"links:a,b", "'a' is no link"},
        {"links:a-b-node-3", "'a-b-node-3' is no link"},
        {"@table\na b\nb x", "MOOT_ROUTE=@table: 'b x' is no link"},
        {"@table\n", "no route"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char story[256] = "";
        struct route *route = NULL;
        const int code =
            route_new(rows[i].text, names, NULL, 3, &route, story, sizeof(story));
        if (code != MOOT_ERR_CONFIG || route != NULL || !strstr(story, rows[i].says) ||
            strchr(story, '\n')) {
            fail_msg("'%s': %d, %s", rows[i].text, code, story);
        }
        for (size_t size = 1; size < 60; size += 7) { /* short stories */
            assert_int_equal(
                route_new(rows[i].text, names, NULL, 3, &route, story, size),
                MOOT_ERR_CONFIG);
        }
    }
}

static void unnamed_hosts_are_said_to_be_so(void **unused)
{
    static const char *const none[] = {"", ""};
    char story[200];
    struct route *route = NULL;
    (void)unused;
    assert_int_equal(route_new("star:a", none, NULL, 2, &route, story, sizeof(story)),
                     MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "the launcher has named no hosts"));
    assert_int_equal(route_new("tree:1", none, NULL, 2, &route, story, sizeof(story)),
                     MOOT_OK);
    route_free(route);
}

static void tables_have_comments_and_blanks(void **unused)
{
    static const char *const good[] = {
        "@f\na b\n\n# all\n  b\tnode-3  # far\n", "@f\r\n a-b\r\nb-node-3",
        "links: a-b , b-node-3,", "links:node-3-b,node-3-a"};
    (void)unused;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        route_free(read_well(good[i], 3));
    }
    struct route *route = read_well("mesh", 3);
    assert_null(route);
}

/* A line of hosts: the longest that frames may still go along, and one more. */
static void ways_that_are_too_long_are_refused(void **unused)
{
    enum { MOST = ROUTE_HOPS_MAX / 2 + 2 };
    static char texts[MOST][8];
    const char *long_names[MOST];
    char story[200];
    struct route *route = NULL;
    (void)unused;
    for (int host = 0; host < MOST; host++) {
        snprintf(texts[host], sizeof(texts[host]), "h%d", host);
        long_names[host] = texts[host];
    }
    assert_int_equal(
        route_new("tree:1", long_names, NULL, MOST - 1, &route, story, sizeof(story)),
        MOOT_OK);
    route_free(route);
    assert_int_equal(
        route_new("tree:1", long_names, NULL, MOST, &route, story, sizeof(story)),
        MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "more than 32 links away"));
}

static void files_are_read_or_refused(void **unused)
{
    char path[] = "/tmp/moot-route-XXXXXX", word[64], story[200], *text = NULL;
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    (void)unused;
    assert_non_null(file);
    fprintf(file, "a b\nb node-3\n");
    fflush(file);
    snprintf(word, sizeof(word), "@%s", path);
    assert_int_equal(route_load(word, &text, story, sizeof(story)), MOOT_OK);
    assert_non_null(strchr(text, '\n'));
    assert_string_equal(strchr(text, '\n'), "\na b\nb node-3\n");
    route_free(read_well(text, 3));
    free(text);
    fprintf(file, "%*s", ROUTE_TEXT_MAX, "");
    fflush(file);
    assert_int_equal(route_load(word, &text, story, sizeof(story)), MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "256 KiB"));
    fclose(file);
    remove(path);
    assert_int_equal(route_load(word, &text, story, sizeof(story)), MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "No such file"));
    assert_int_equal(route_load("@/", &text, story, sizeof(story)), MOOT_ERR_CONFIG);
    assert_int_equal(route_load("tree:2", &text, story, sizeof(story)), MOOT_OK);
    assert_string_equal(text, "tree:2");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_table_gives_the_shortest_ways_past_who_is_gone),
        cmocka_unit_test(stars_and_trees_are_made_anew_of_who_is_left),
        cmocka_unit_test(a_tree_is_the_one_that_is_meant),
        cmocka_unit_test(a_star_goes_on_with_the_next_host),
        cmocka_unit_test(what_is_no_route_is_refused_with_what_helps),
        cmocka_unit_test(unnamed_hosts_are_said_to_be_so),
        cmocka_unit_test(tables_have_comments_and_blanks),
        cmocka_unit_test(ways_that_are_too_long_are_refused),
        cmocka_unit_test(files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
