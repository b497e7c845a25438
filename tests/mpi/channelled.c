/* channelled.c - ranks that speak with their launcher alone, and use no MPI.
 *
 *   moot run -n 4 --launcher local channelled many|death|wait
 *
 * `many` times 1,000 gatherings; in `death` rank 1 kills itself, and the others are
 * told so; in `wait` it is for another to kill.  Without a launcher of moot's own, or
 * without arguments, there is nothing to do.
 */
#include "node/channel/channel.h"
#include "proto/error.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GATHERINGS = 1000, MORTAL = 1, PATIENCE_S = 20 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int many(struct channel *channel)
{
    char story[256];
    double slowest_us = 0, began_us = now_us();
    const double first_us = began_us;
    for (uint32_t i = 0; i < GATHERINGS; i++) {
        struct channel_card *all = NULL;
        const uint32_t word = channel_rank(channel) + i;
        if (channel_gather(channel, &word, sizeof(word), &all, story, sizeof(story)) !=
            MOOT_OK) {
            fprintf(stderr, "channelled: %s\n", story);
            return 1;
        }
        for (uint32_t rank = 0; rank < channel_size(channel); rank++) {
            const uint32_t wanted = rank + i;
            if (memcmp(all[rank].bytes, &wanted, sizeof(wanted)) != 0) {
                return 1;
            }
        }
        free(all);
        const double took_us = now_us() - began_us;
        slowest_us = took_us > slowest_us ? took_us : slowest_us;
        began_us += took_us;
    }
    if (channel_rank(channel) == 0) {
        printf("a gathering takes %.0f us, the slowest %.0f us\n",
               (began_us - first_us) / GATHERINGS, slowest_us);
    }
    return 0;
}

/* Until rank 1 is told to be dead, and then a gathering fails for it. */
static int outlive(struct channel *channel)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    char story[256] = "";
    struct channel_card *all = NULL;
    const double until_us = now_us() + PATIENCE_S * 1e6;
    uint32_t dead = UINT32_MAX;
    while (dead == UINT32_MAX && now_us() < until_us) {
        (void)nanosleep(&moment, NULL);
        dead = channel_next_death(channel);
    }
    const int code = channel_gather(channel, "", 0, &all, story, sizeof(story));
    printf("rank %" PRIu32 " knows that rank %" PRIu32 " is dead; %s\n",
           channel_rank(channel), dead, story);
    return dead == MORTAL && code == MOOT_ERR_TRANSPORT ? 0 : 1;
}

int main(int argc, char **argv)
{
    char story[256];
    struct channel *channel = channel_of_process(story, sizeof(story));
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!channel || argc < 2) {
        fprintf(stderr, "channelled: %s\n", *story ? story : "no channel");
        return *story ? 1 : 0;
    }
    if (strcmp(argv[1], "many") == 0) {
        return many(channel);
    }
    if (channel_rank(channel) != MORTAL) {
        return outlive(channel);
    }
    if (strcmp(argv[1], "death") == 0) {
        (void)raise(SIGKILL);
    }
    sleep(PATIENCE_S);
    return 1;
}
