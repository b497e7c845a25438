/* tcp_test.c - the transport tcp (node/wires/tcp/tcp.h): wherever it listens its peers
 * reach it, and a wrong way among those of an address is passed over. */
#include "node/wires/tcp/tcp.h"
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAY_BYTES = 19 };

struct seat {
    uint64_t uid;
    moot_wire *wire;
    unsigned char address[MOOT_TRANSPORT_ADDRESS_MAX];
    size_t length;
    int frames;
};

static const unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES] = "of the job";

static int try_open(struct seat *seat, uint64_t uid, const char *options,
                    const char *host, char *story, size_t story_size)
{
    const moot_transport_setup setup = {.size = sizeof(setup),
                                        .uid = uid,
                                        .options = options,
                                        .host = host,
                                        .secret = secret};
    *seat = (struct seat){.uid = uid};
    return tcp_transport.open(&setup, &seat->wire, story, story_size);
}

static void open_seat(struct seat *seat, uint64_t uid, const char *options,
                      const char *host)
{
    char story[256] = "";
    if (try_open(seat, uid, options, host, story, sizeof(story)) != MOOT_OK) {
        fail_msg("'%s' of host '%s': %s", options, host, story);
    }
    assert_int_equal(tcp_transport.address(seat->wire, seat->address, &seat->length),
                     MOOT_OK);
    assert_true(seat->length >= WAY_BYTES && seat->length % WAY_BYTES == 0);
}

static void take_frame(void *context, uint64_t from, const void *bytes, size_t size)
{
    (void)from;
    (void)bytes;
    (void)size;
    ((struct seat *)context)->frames++;
}

static void poll_seat(struct seat *seat)
{
    const moot_transport_receiver receiver = {
        .size = sizeof(receiver), .context = seat, .frame = take_frame};
    assert_true(tcp_transport.poll(seat->wire, &receiver, 64) >= 0);
}

/* Whether a frame from a comes to b in ten seconds, if it is sent again and again. */
static bool reaches(struct seat *a, struct seat *b)
{
    const time_t end = time(NULL) + 10;
    const int before = b->frames;
    while (b->frames == before && time(NULL) < end) {
        assert_true(tcp_transport.send(a->wire, b->uid, "frame", 5) >= 0);
        poll_seat(a);
        poll_seat(b);
        (void)usleep(1000);
    }
    return b->frames > before;
}

static void introduce(struct seat *a, const struct seat *b)
{
    assert_int_equal(tcp_transport.introduce(a->wire, b->uid, b->address, b->length),
                     MOOT_OK);
}

/* Debian's /etc/hosts has the host's own name stand for 127.0.1.1, which is another
 * host to everybody else. */
static void a_hosts_name_tells_no_loopback(void **state)
{
    char name[256] = "localhost";
    struct seat seat;
    (void)state;
    (void)gethostname(name, sizeof(name) - 1);
    open_seat(&seat, 1, "", name);
    const size_t ways = seat.length / WAY_BYTES;
    for (size_t i = 0; ways > 1 && i < ways; i++) { /* one: there is no interface */
        const unsigned char *way = seat.address + i * WAY_BYTES;
        assert_false(way[0] == 4 && way[3] == 127);
    }
    tcp_transport.close(seat.wire);
}

static bool has_v6(void)
{
    struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    const int fd = socket(AF_INET6, SOCK_STREAM, 0);
    const bool has = fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof(here)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has;
}

static void peers_reach_it_wherever_it_listens(void **state)
{
    char name[256] = "localhost";
    (void)gethostname(name, sizeof(name) - 1);
    const struct {
        const char *options, *host;
    } rows[] = {
        {"", ""},
        {"", "localhost"},
        {"", "127.0.0.1"},
        {"", name},
        {"listen=127.0.0.1", name},
        {"listen=lo", ""},
        {"listen=0.0.0.0", ""},
        {"listen=0.0.0.0", name},
        {"ports=20000-29999", ""},
        {"listen=127.0.0.2,ports=20000-29999", name},
        {has_v6() ? "listen=::1" : "", ""},
        {has_v6() ? "listen=::" : "", name},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct seat a, b;
        open_seat(&a, 1, rows[i].options, rows[i].host);
        open_seat(&b, 2, rows[i].options, rows[i].host);
        introduce(&a, &b);
        introduce(&b, &a);
        if (!reaches(&a, &b) || !reaches(&b, &a)) {
            fail_msg("'%s' of host '%s' is not reached", rows[i].options, rows[i].host);
        }
        tcp_transport.close(a.wire);
        tcp_transport.close(b.wire);
    }
}

/* A port at which nobody listens once the socket is closed. */
static int listen_alone(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = at.sin_port;
    return fd;
}

/* Puts a way before those that b has. */
static void put_way(struct seat *b, uint16_t port)
{
    const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    memmove(b->address + WAY_BYTES, b->address, b->length);
    memset(b->address, 0, WAY_BYTES);
    b->address[0] = 4;
    memcpy(b->address + 1, &port, sizeof(port));
    memcpy(b->address + 3, &loopback, sizeof(loopback));
    b->length += WAY_BYTES;
}

static void wrong_ways_are_passed_over(void **state)
{
    struct seat a, b, other;
    uint16_t port, closed;
    (void)state;
    open_seat(&a, 1, "", "");
    open_seat(&b, 2, "", "");
    open_seat(&other, 3, "", ""); /* of the job, but not who is meant */
    (void)close(listen_alone(&closed));
    memcpy(&port, other.address + 1, sizeof(port));
    put_way(&b, port);
    put_way(&b, closed);
    introduce(&a, &b);
    const time_t end = time(NULL) + 10;
    while (b.frames == 0 && time(NULL) < end) {
        assert_true(tcp_transport.send(a.wire, 2, "frame", 5) >= 0);
        poll_seat(&a);
        poll_seat(&other);
        poll_seat(&b);
        (void)usleep(1000);
    }
    assert_true(b.frames > 0);
    assert_int_equal(other.frames, 0);
    moot_stream_counts counts;
    moot_stream_count(other.wire, &counts);
    assert_int_equal(counts.refused, 1);
    tcp_transport.close(a.wire);
    tcp_transport.close(b.wire);
    tcp_transport.close(other.wire);
}

static void addresses_that_are_none_reach_nobody(void **state)
{
    static const unsigned char rows[][WAY_BYTES + 1] = {{0}, {4}, {5, 1}, {6}, {255}};
    struct seat a;
    (void)state;
    open_seat(&a, 1, "", "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t length = 0; length <= WAY_BYTES + 1; length++) {
            assert_int_equal(tcp_transport.introduce(a.wire, 7, rows[i], length),
                             MOOT_OK);
            assert_int_equal(tcp_transport.send(a.wire, 7, "frame", 5), MOOT_OK);
            poll_seat(&a);
            tcp_transport.forget(a.wire, 7);
        }
    }
    tcp_transport.close(a.wire);
}

static void mistakes_are_one_line(void **state)
{
    static const struct {
        const char *options, *told;
    } rows[] = {
        {"port=7", "'port=7' is no option"},
        {"listen=", "'listen=' is no option"},
        {"ports=0-7", "'0-7' is no port"},
        {"ports=9-7", "'9-7' is no port"},
        {"ports=-7", "'-7' is no port"},
        {"ports=7-", "'7-' is no port"},
        {"ports=7-70000", "'7-70000' is no port"},
        {"listen=nosuch0", "'nosuch0' is no address, and no interface"},
        {"listen=203.0.113.9", "203.0.113.9 is no address of this host"},
        {"listen=300.1.1.1", "'300.1.1.1' is no address"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct seat seat;
        char story[256] = "";
        assert_int_equal(try_open(&seat, 1, rows[i].options, "", story, sizeof(story)),
                         MOOT_ERR_CONFIG);
        assert_null(seat.wire);
        if (strstr(story, rows[i].told) == NULL || strchr(story, '\n') != NULL) {
            fail_msg("%s is told as: %s", rows[i].options, story);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_reach_it_wherever_it_listens),
        cmocka_unit_test(a_hosts_name_tells_no_loopback),
        cmocka_unit_test(wrong_ways_are_passed_over),
        cmocka_unit_test(addresses_that_are_none_reach_nobody),
        cmocka_unit_test(mistakes_are_one_line),
    };
    return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
