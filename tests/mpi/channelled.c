/* channelled.c - ranks that speak with their launcher alone, and use no MPI.
 *
 *   moot run -n 4 --launcher local channelled many|death|wait|secret
 *
 * `many` times 1,000 gatherings; in `death` rank 1 kills itself, and the others are
 * told so; in `wait` it is for another to kill; `secret` looks for the job's key in the
 * arguments and the environment of all processes that it can see.  Without a launcher
 * of moot's own, or without arguments, there is nothing to do.
 */
#include "node/channel/channel.h"
#include "proto/error.h"

#include <dirent.h>
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
    uint32_t dead = UINT32_MAX, told = 0;
    while (dead == UINT32_MAX && now_us() < until_us) {
        (void)nanosleep(&moment, NULL);
        dead = channel_next_death(channel, &told);
    }
    const int code = channel_gather(channel, "", 0, &all, story, sizeof(story));
    printf("rank %" PRIu32 " knows that rank %" PRIu32 " is dead; %s\n",
           channel_rank(channel), dead, story);
    return dead == MORTAL && code == MOOT_ERR_TRANSPORT ? 0 : 1;
}

/* In any of these files: the key's bytes, or their hexadecimal digits. */
static int look_for_key(const unsigned char *key, const char *file, unsigned *looked)
{
    static unsigned char text[1 << 20];
    char digits[2 * CHANNEL_KEY_BYTES + 1];
    FILE *stream = fopen(file, "re");
    const size_t size = stream ? fread(text, 1, sizeof(text), stream) : 0;
    if (stream) {
        (void)fclose(stream);
    }
    for (size_t i = 0; i < CHANNEL_KEY_BYTES; i++) {
        (void)snprintf(digits + 2 * i, 3, "%02x", key[i]);
    }
    *looked += size > 0;
    return memmem(text, size, key, CHANNEL_KEY_BYTES) ||
           memmem(text, size, digits, sizeof(digits) - 1);
}

static int secret(const struct channel *channel)
{
    static const char *const files[] = {"cmdline", "environ"};
    const unsigned char *key = channel_key(channel);
    char path[300];
    unsigned looked = 0;
    int found = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *one; processes && (one = readdir(processes));) {
        for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
            (void)snprintf(path, sizeof(path), "/proc/%s/%s", one->d_name, files[i]);
            found |= look_for_key(key, path, &looked);
        }
    }
    if (processes) {
        (void)closedir(processes);
    }
    printf("the key is in %s of %u files\n", found ? "one" : "none", looked);
    return found || looked < 2;
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
    if (strcmp(argv[1], "secret") == 0) {
        return channel_rank(channel) == 0 ? secret(channel) : 0;
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
