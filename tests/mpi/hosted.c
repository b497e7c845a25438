/* hosted.c - a launcher of ranks that takes this machine for several hosts.
 *
 *     hosted a:2,b:2,c=9:2 [kill:RANK@MS | kill:HOST@MS]... PROGRAM ARGS
 *
 * Each rank is told its host's name and address by its channel, as a launcher of real
 * hosts would (the address is behind a =, or that of the name), and has the number of
 * its moot on standard output like any other process.  After so many milliseconds a
 * rank, or all ranks of a host, are killed; unless a name ends in ! (kill:b!@500) that
 * is told to the others, as by one who has reaped them.  The status is 0 if all ranks
 * ended with 0 that were not killed, from here or by a fault plan, whose times begin
 * when the rank has opened its moot; those here may be over earlier.  Without arguments
 * there is nothing to do.
 */
#include "node/channel/channel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 64, KILLS_MAX = 64, NAME_BYTES = 32 };

struct hosted_rank {
    char host[NAME_BYTES], address[NAME_BYTES];
    pid_t pid;
    bool killed, untold, ended;
};

struct kill {
    char who[NAME_BYTES];
    long at_ms;
    bool untold, done;
};

static struct hosted_rank ranks[RANKS_MAX];
static struct kill kills[KILLS_MAX];
static uint32_t rank_count, kill_count;

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool read_hosts(const char *text)
{
    char name[NAME_BYTES];
    unsigned count;
    int used = 0;
    while (sscanf(text, "%31[^:,]:%u%n", name, &count, &used) == 2) {
        char *address = strchr(name, '=');
        if (address != NULL) {
            *address++ = '\0';
        }
        while (count-- > 0 && rank_count < RANKS_MAX) {
            struct hosted_rank *rank = &ranks[rank_count++];
            snprintf(rank->host, NAME_BYTES, "%s", name);
            snprintf(rank->address, NAME_BYTES, "%s", address ? address : name);
        }
        text += used + (text[used] == ',');
    }
    return *text == '\0' && rank_count > 0;
}

static bool read_kill(const char *text)
{
    struct kill *k = &kills[kill_count];
    if (sscanf(text, "kill:%31[^@!]", k->who) != 1 || strchr(text, '@') == NULL) {
        return false;
    }
    k->untold = strchr(text, '!') != NULL;
    k->at_ms = strtol(strchr(text, '@') + 1, NULL, 10);
    kill_count++;
    return true;
}

static void start(struct channel_hub *hub, uint32_t rank, char **argv)
{
    int ends[2];
    char text[CHANNEL_TEXT_BYTES], number[16];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        abort();
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)fcntl(ends[1], F_SETFD, 0);
        snprintf(number, sizeof(number), "%u", rank);
        if (!channel_describe(ends[1], text) || setenv(CHANNEL_VARIABLE, text, 1) ||
            setenv(CHANNEL_RANK_VARIABLE, number, 1)) {
            abort();
        }
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(ends[1]);
    if (child < 0 ||
        !channel_hub_add(hub, rank, ends[0], ranks[rank].address, ranks[rank].host)) {
        abort();
    }
    ranks[rank].pid = child;
}

static void carry_out(struct kill *k)
{
    char *rest;
    const unsigned long number = strtoul(k->who, &rest, 10);
    k->done = true;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        const bool meant =
            *rest == '\0' ? rank == number : strcmp(ranks[rank].host, k->who) == 0;
        if (meant && !ranks[rank].ended) {
            ranks[rank].killed = true;
            ranks[rank].untold = k->untold;
            kill(ranks[rank].pid, SIGKILL);
        }
    }
}

/* Waits for all; whether they ended well. */
static bool attend(struct channel_hub *hub)
{
    const long began_ms = now_ms();
    bool good = true;
    for (uint32_t left = rank_count; left > 0;) {
        channel_hub_poll(hub, 5);
        for (uint32_t i = 0; i < kill_count; i++) {
            if (!kills[i].done && now_ms() - began_ms >= kills[i].at_ms) {
                carry_out(&kills[i]);
            }
        }
        for (uint32_t rank = 0; rank < rank_count; rank++) {
            int status = 0;
            if (ranks[rank].ended ||
                waitpid(ranks[rank].pid, &status, WNOHANG) != ranks[rank].pid) {
                continue;
            }
            ranks[rank].ended = true;
            left--;
            const bool by_plan = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            if (status != 0 && !by_plan && !ranks[rank].killed) {
                fprintf(stderr, "hosted: rank %u ended with status %#x\n", rank,
                        (unsigned)status);
                good = false;
            }
            if (!ranks[rank].untold) {
                channel_hub_dead(hub, rank);
            }
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    int next = 2;
    if (argc < 2) {
        return 0;
    }
    while (next < argc && kill_count < KILLS_MAX &&
           strncmp(argv[next], "kill:", 5) == 0) {
        if (!read_kill(argv[next++])) {
            return 2;
        }
    }
    if (!read_hosts(argv[1]) || next >= argc) {
        fprintf(stderr, "hosted: wrong words\n");
        return 2;
    }
    struct channel_hub *hub = channel_hub_new(rank_count, rank_count);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        start(hub, rank, argv + next);
    }
    const bool good = attend(hub);
    channel_hub_free(hub);
    return good ? 0 : 1;
}
