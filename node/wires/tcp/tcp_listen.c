/* tcp_listen.c - where the transport `tcp` listens, and by which ways it is reached
 * (tcp.h).
 */
#include "node/wires/tcp/tcp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    OPTIONS_BYTES = 256,
    TEXT_BYTES = INET6_ADDRSTRLEN,
    HOST_BYTES = 65
};

struct tcp_options {
    char listen[OPTIONS_BYTES];
    unsigned first, last; /* ports; 0: any */
};

struct story {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse_open(struct story story,
                                                             const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(story.text, story.size, format, values);
    va_end(values);
    return MOOT_ERR_CONFIG;
}

/* --- Options ------------------------------------------------------------------------
 */

static bool read_ports(const char *text, struct tcp_options *options)
{
    char *end = NULL;
    const unsigned long first = strtoul(text, &end, 10);
    const bool range = *end == '-' && end != text;
    const unsigned long last = range ? strtoul(end + 1, &end, 10) : first;
    options->first = (unsigned)first;
    options->last = (unsigned)last;
    return *text >= '0' && *text <= '9' && *end == '\0' && first > 0 && first <= last &&
           last <= 65535;
}

static int read_options(const char *text, struct tcp_options *options,
                        struct story story)
{
    char copy[OPTIONS_BYTES], *rest = copy;
    *options = (struct tcp_options){.first = 0};
    if (strlen(text) >= sizeof(copy)) {
        return refuse_open(story, "tcp: options have %d bytes at most",
                           OPTIONS_BYTES - 1);
    }
    memcpy(copy, text, strlen(text) + 1);
    for (char *option; (option = strtok_r(rest, ",", &rest)) != NULL;) {
        if (strncmp(option, "listen=", 7) == 0 && option[7] != '\0') {
            memcpy(options->listen, option + 7, strlen(option + 7) + 1);
        } else if (strncmp(option, "ports=", 6) == 0) {
            if (!read_ports(option + 6, options)) {
                return refuse_open(story,
                                   "tcp: '%s' is no port or range of ports: "
                                   "ports=7000-7099, of 1 to 65535",
                                   option + 6);
            }
        } else {
            return refuse_open(story,
                               "tcp: '%s' is no option; they are "
                               "listen=ADDRESS|INTERFACE and ports=FIRST-LAST, with a "
                               "comma between",
                               option);
        }
    }
    return MOOT_OK;
}

/* --- Addresses -----------------------------------------------------------------------
 */

static bool read_address(const char *text, union tcp_address *out)
{
    memset(out, 0, sizeof(*out));
    out->v4.sin_family = AF_INET;
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        return true;
    }
    memset(out, 0, sizeof(*out));
    out->v6.sin6_family = AF_INET6;
    return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1;
}

static const char *tell_address(const union tcp_address *address, char *text)
{
    const bool v4 = address->any.sa_family == AF_INET;
    return inet_ntop(address->any.sa_family,
                     v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr,
                     text, TEXT_BYTES);
}

static bool is_loopback(const union tcp_address *address)
{
    return address->any.sa_family == AF_INET
               ? ntohl(address->v4.sin_addr.s_addr) >> 24 == 127
               : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static bool is_any(const union tcp_address *address)
{
    return address->any.sa_family == AF_INET
               ? address->v4.sin_addr.s_addr == htonl(INADDR_ANY)
               : IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
}

/* An address by which a peer can come; not one that wants a scope. */
static bool is_usable(const struct sockaddr *address, union tcp_address *out)
{
    memset(out, 0, sizeof(*out));
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(&out->v4, address, sizeof(out->v4));
        return true;
    }
    if (address != NULL && address->sa_family == AF_INET6) {
        memcpy(&out->v6, address, sizeof(out->v6));
        return !IN6_IS_ADDR_LINKLOCAL(&out->v6.sin6_addr);
    }
    return false;
}

static void set_port(union tcp_address *address, unsigned port)
{
    *(address->any.sa_family == AF_INET ? &address->v4.sin_port
                                        : &address->v6.sin6_port) =
        htons((uint16_t)port);
}

static unsigned get_port(const union tcp_address *address)
{
    return ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port
                                                   : address->v6.sin6_port);
}

static bool is_same_ip(const union tcp_address *a, const union tcp_address *b)
{
    return a->any.sa_family == b->any.sa_family &&
           (a->any.sa_family == AF_INET
                ? a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr
                : IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr));
}

/* --- Listening -----------------------------------------------------------------------
 */

/* A socket that listens there, at the port of `at`, which is set if it was 0; -1, by
 * errno. */
static int listen_at(union tcp_address *at)
{
    const int on = 1, off = 0;
    socklen_t size = tcp_address_size(at);
    const int fd =
        socket(at->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->any.sa_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, is_any(at) ? &off : &on,
                         sizeof(on));
    }
    if (bind(fd, &at->any, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, &at->any, &size) != 0) {
        const int why = errno;
        (void)close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* This host, for people. */
static const char *tell_host(char host[HOST_BYTES])
{
    host[HOST_BYTES - 1] = '\0';
    return gethostname(host, HOST_BYTES - 1) == 0 ? host : "this host";
}

/* At one of the ports that are allowed; which is in `at` then. */
static int listen_somewhere(moot_stream_end *end, const struct tcp_options *options,
                            union tcp_address *at, struct story story)
{
    char text[TEXT_BYTES], host[HOST_BYTES];
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const unsigned count = options->last - options->first + 1;
    const unsigned start = ((unsigned)getpid() * 7919u + (unsigned)now.tv_nsec) % count;
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < count; i++) {
        set_port(at, options->first + (start + i) % count);
        fd = listen_at(at);
        if (fd < 0 && errno != EADDRINUSE) {
            break;
        }
    }
    if (fd >= 0) {
        end->listeners[end->listener_count++] = fd;
        return MOOT_OK;
    }
    if (errno == EADDRNOTAVAIL) {
        return refuse_open(story,
                           "tcp: %s is no address of this host; name one that is by "
                           "tcp:listen=ADDRESS",
                           tell_address(at, text));
    }
    if (errno == EADDRINUSE && count == 1) {
        return refuse_open(story,
                           "tcp: port %u of %s is in use; name others by "
                           "tcp:ports=FIRST-LAST, or see who has it: ss -ltnp 'sport = "
                           ":%u', on %s",
                           options->first, tell_address(at, text), options->first,
                           tell_host(host));
    }
    if (errno == EADDRINUSE) {
        return refuse_open(story,
                           "tcp: all %u ports from %u to %u of %s are in use; each "
                           "rank of a host needs one: tcp:ports=FIRST-LAST, or see who "
                           "has them: ss -ltnp, on %s",
                           count, options->first, options->last, tell_address(at, text),
                           tell_host(host));
    }
    return refuse_open(story, "tcp: listening at port %u of %s: %s", get_port(at),
                       tell_address(at, text), strerror(errno));
}

/* --- Ways ----------------------------------------------------------------------------
 */

static void add_way(moot_stream_end *end, const union tcp_address *ip, unsigned port)
{
    for (int i = 0; i < end->way_count; i++) {
        if (is_same_ip(&end->ways[i], ip)) {
            return;
        }
    }
    if (end->way_count < TCP_WAYS_MAX) {
        end->ways[end->way_count] = *ip;
        set_port(&end->ways[end->way_count++], port);
    }
}

/* The ways to a socket that listens on all interfaces. */
static void find_ways(moot_stream_end *end, const char *host,
                      const union tcp_address *at)
{
    const bool v6 = at->any.sa_family == AF_INET6;
    const unsigned port = get_port(at);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_family = v6 ? AF_UNSPEC : AF_INET};
    struct addrinfo *found = NULL;
    struct ifaddrs *all = NULL;
    union tcp_address ip;
    if (*host != '\0' && getaddrinfo(host, NULL, &hints, &found) == 0) {
        for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
            if (is_usable(each->ai_addr, &ip) && !is_loopback(&ip)) {
                add_way(end, &ip, port);
            }
        }
        freeaddrinfo(found);
    }
    if (getifaddrs(&all) == 0) {
        for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
            if ((each->ifa_flags & IFF_UP) != 0 && is_usable(each->ifa_addr, &ip) &&
                !is_loopback(&ip) && (v6 || ip.any.sa_family == AF_INET)) {
                add_way(end, &ip, port);
            }
        }
        freeifaddrs(all);
    }
    if (end->way_count == 0) {
        (void)read_address("127.0.0.1", &ip);
        add_way(end, &ip, port);
    }
}

/* --- Where ---------------------------------------------------------------------------
 */

static bool has_v6(void)
{
    union tcp_address at;
    (void)read_address("::", &at);
    const int fd = listen_at(&at);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

/* The host's own address for itself; one without IPv4 has that of IPv6. */
static void read_loopback(union tcp_address *at)
{
    (void)read_address("127.0.0.1", at);
    const int fd = listen_at(at);
    if (fd >= 0) {
        (void)close(fd);
    } else if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
        (void)read_address("::1", at);
    }
}

static int listen_everywhere(moot_stream_end *end, const struct tcp_options *options,
                             const char *host, struct story story)
{
    union tcp_address at;
    (void)read_address(has_v6() ? "::" : "0.0.0.0", &at);
    const int code = listen_somewhere(end, options, &at, story);
    if (code == MOOT_OK) {
        find_ways(end, host, &at);
    }
    return code;
}

static int listen_there(moot_stream_end *end, const struct tcp_options *options,
                        union tcp_address *at, const char *host, struct story story)
{
    const bool any = is_any(at);
    const int code = listen_somewhere(end, options, at, story);
    if (code == MOOT_OK && any) {
        find_ways(end, host, at);
    } else if (code == MOOT_OK) {
        add_way(end, at, get_port(at));
    }
    return code;
}

/* The first address of either family that the interface has. */
static int listen_on_interface(moot_stream_end *end, const struct tcp_options *options,
                               struct story story)
{
    char names[128] = "";
    struct ifaddrs *all = NULL;
    bool has[2] = {false, false};
    int code = MOOT_OK;
    if (getifaddrs(&all) != 0) {
        return refuse_open(story, "tcp: getifaddrs: %s", strerror(errno));
    }
    for (const struct ifaddrs *each = all; each != NULL && code == MOOT_OK;
         each = each->ifa_next) {
        union tcp_address at;
        if (!is_usable(each->ifa_addr, &at)) {
            continue;
        }
        const size_t used = strlen(names);
        if (strstr(names, each->ifa_name) == NULL) {
            (void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                           each->ifa_name);
        }
        bool *seen = &has[at.any.sa_family == AF_INET6];
        if (strcmp(each->ifa_name, options->listen) == 0 && !*seen) {
            *seen = true;
            code = listen_there(end, options, &at, "", story);
        }
    }
    freeifaddrs(all);
    if (code == MOOT_OK && !has[0] && !has[1]) {
        return refuse_open(story,
                           "tcp: '%s' is no address, and no interface with one; this "
                           "host has: %s",
                           options->listen, names);
    }
    return code;
}

int tcp_listen(moot_stream_end *end, const moot_transport_setup *setup, char *text,
               size_t size)
{
    const struct story story = {text, size};
    struct tcp_options options;
    union tcp_address at;
    const int code = read_options(setup->options, &options, story);
    if (code != MOOT_OK) {
        return code;
    }
    if (*options.listen != '\0') {
        return read_address(options.listen, &at)
                   ? listen_there(end, &options, &at, setup->host, story)
                   : listen_on_interface(end, &options, story);
    }
    const bool is_number = read_address(setup->host, &at);
    if (is_number && !is_loopback(&at)) {
        const int listened = listen_everywhere(end, &options, "", story);
        if (listened == MOOT_OK) {
            set_port(&at, get_port(&end->ways[0]));
            end->ways[0] = at;
            end->way_count = 1;
        }
        return listened;
    }
    if (*setup->host != '\0' && strcmp(setup->host, "localhost") != 0 && !is_number) {
        return listen_everywhere(end, &options, setup->host, story);
    }
    if (!is_number) {
        read_loopback(&at);
    }
    return listen_there(end, &options, &at, "", story);
}
