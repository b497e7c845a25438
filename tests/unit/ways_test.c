/* ways_test.c - routes: each frame arrives, and over links that are open.
 *
 * Carries its own copy of the route, so that its rules can be broken one by one.
 */
#define MOOT_MUTANTS
#include "consensus/route/route.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum mutant mutant_on;

enum { HOSTS = 8, FAR = 1000 };

static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};

static int parse(const char *word, uint32_t hosts, struct route **out, char *story,
                 size_t size)
{
    return route_new(word, names, NULL, hosts, out, story, size);
}

/* --- Words ------------------------------------------------------------------------ */

static void wrong_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        uint32_t hosts;
        const char *wrong;
    } rows[] = {
        {"", 3, ": may be mesh, star:HOST, tree:K, links:A-B,B-C or @FILE"},
        {"ring", 3, "ring: may be mesh, star:HOST, tree:K, links:A-B,B-C or @FILE"},
        {"star:3", 3,
         "star:3: there is no host '3'; the hosts of this job are 0, 1, 2"},
        {"tree:0", 3,
         "tree:0: K is '0', but how many hosts are below each may be 1 to "
         "1024"},
        {"links:0-1,1-1", 3,
         "links:0-1,1-1: '1-1' is no link between two hosts; the "
         "hosts of this job are 0, 1, 2"},
        {"links:0-1", 3,
         "links:0-1: there is no route from host 0 to host 2: add a "
         "link"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char story[256] = "";
        struct route *route = NULL;
        assert_int_equal(
            parse(rows[i].word, rows[i].hosts, &route, story, sizeof(story)),
            MOOT_ERR_CONFIG);
        assert_null(route);
        assert_memory_equal(story, "MOOT_ROUTE=", 11);
        assert_string_equal(story + 11, rows[i].wrong);
    }
}

/* --- Ways ------------------------------------------------------------------------- */

static struct route *parsed(const char *word)
{
    char story[256];
    struct route *route = NULL;
    assert_int_equal(parse(word, HOSTS, &route, story, sizeof(story)), MOOT_OK);
    return route;
}

/* The hosts that are gone are so for all; `from` finds `silent` silent, and it him. */
struct scene {
    bool gone[HOSTS];
    uint32_t from, silent; /* HOSTS: nobody */
};

static void find(struct route *route, const struct scene *scene, uint32_t host,
                 uint32_t *next)
{
    enum route_host states[HOSTS];
    for (uint32_t other = 0; other < HOSTS; other++) {
        const bool silent = (host == scene->from && other == scene->silent) ||
                            (host == scene->silent && other == scene->from);
        states[other] = scene->gone[other] ? ROUTE_GONE
                        : silent           ? ROUTE_SILENT
                                           : ROUTE_UP;
    }
    route_find(route, host, states, next);
}

/* NULL, or what is wrong with the way of a frame between two that are there. */
static const char *walk(struct route *route, const struct scene *scene, uint32_t from,
                        uint32_t to)
{
    uint32_t next[HOSTS], hops = 0;
    for (uint32_t at = from; at != to; at = next[to]) {
        find(route, scene, at, next);
        if (next[to] == at || hops++ > HOSTS) {
            return "a frame goes round for ever";
        }
        if (next[to] != to && scene->gone[next[to]]) {
            return "a frame goes through who is gone";
        }
        if ((at == scene->from && next[to] == scene->silent) ||
            (at == scene->silent && next[to] == scene->from)) {
            return "a frame goes where silence is";
        }
    }
    return NULL;
}

static const char *walk_all(struct route *route, const struct scene *scene)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < HOSTS * HOSTS && why == NULL; i++) {
        const uint32_t from = i / HOSTS, to = i % HOSTS;
        if (!scene->gone[from] && !scene->gone[to]) {
            why = walk(route, scene, from, to);
        }
    }
    return why;
}

/* round_links: each link has a way round it of two others, so that no host on it takes
 * the link to be open. */
static const struct {
    const char *word;
    bool round_links;
} networks[] = {
    {"star:0", false},
    {"star:5", false},
    {"tree:1", false},
    {"tree:2", false},
    {"tree:4", false},
    {"links:0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-0", false},
    {"links:0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-0,0-2,1-3,2-4,3-5,4-6,5-7,6-0,7-1", true},
};
enum { NETWORKS = sizeof(networks) / sizeof(*networks) };

/* NULL, or what is wrong with some network while nobody is gone, while one is, and
 * while a link is cut that there is. */
static const char *check_networks(void)
{
    const char *why = NULL;
    for (size_t i = 0; i < NETWORKS && why == NULL; i++) {
        struct route *route = parsed(networks[i].word);
        struct scene calm = {.from = HOSTS, .silent = HOSTS};
        why = walk_all(route, &calm);
        for (uint32_t host = 0; host < HOSTS && why == NULL; host++) {
            struct scene scene = calm;
            scene.gone[host] = true;
            why = walk_all(route, &scene);
        }
        for (size_t link = 0; link < route->link_count && why == NULL; link++) {
            struct scene scene = {.from = route->links[link].a,
                                  .silent = route->links[link].b};
            why = networks[i].round_links ? walk_all(route, &scene) : NULL;
        }
        route_free(route);
    }
    return why;
}

static void frames_find_a_way_round(void **state)
{
    (void)state;
    const char *why = check_networks();
    if (why != NULL) {
        fail_msg("%s", why);
    }
}

/* How far all are apart by the links alone: Floyd's, as the other is by breadth. */
static void ways_of_a_table_are_the_shortest(void **state)
{
    (void)state;
    struct route *route = parsed(networks[NETWORKS - 1].word);
    uint32_t far[HOSTS][HOSTS];
    for (uint32_t a = 0; a < HOSTS; a++) {
        for (uint32_t b = 0; b < HOSTS; b++) {
            far[a][b] = a == b ? 0 : FAR;
        }
    }
    for (size_t i = 0; i < route->link_count; i++) {
        far[route->links[i].a][route->links[i].b] = 1;
        far[route->links[i].b][route->links[i].a] = 1;
    }
    for (uint32_t i = 0; i < HOSTS * HOSTS * HOSTS; i++) {
        const uint32_t k = i / HOSTS / HOSTS, a = i / HOSTS % HOSTS, b = i % HOSTS;
        far[a][b] =
            far[a][k] + far[k][b] < far[a][b] ? far[a][k] + far[k][b] : far[a][b];
    }
    const struct scene calm = {.from = HOSTS, .silent = HOSTS};
    for (uint32_t from = 0; from < HOSTS; from++) {
        uint32_t next[HOSTS];
        find(route, &calm, from, next);
        for (uint32_t to = 0; to < HOSTS; to++) {
            assert_int_equal(far[from][to], from == to ? 0 : 1 + far[next[to]][to]);
            assert_true(from == to || far[from][next[to]] == 1);
        }
    }
    route_free(route);
}

static void broken_routes_are_noticed(void **state)
{
    (void)state;
    static const struct {
        enum mutant mutant;
        const char *name;
    } mutants[] = {
#define X(name, text) {MUTANT_##name, #name},
        ROUTE_MUTANTS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        mutant_on = mutants[i].mutant;
        const char *why = check_networks();
        mutant_on = MUTANT_NONE;
        if (why == NULL) {
            fail_msg("nothing notices %s", mutants[i].name);
        }
        print_message("%s: %s\n", mutants[i].name, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(frames_find_a_way_round),
        cmocka_unit_test(ways_of_a_table_are_the_shortest),
        cmocka_unit_test(broken_routes_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
