/* joining.c - ranks that join a job, and know each other by the channel alone.
 *
 *   moot run -n 2 --max 4 --launcher local joining NEWCOMER [WORD...]
 *
 * The founders open what stands for a moot, and rank 0 does one word after the other:
 * grow:N asks the launcher for N ranks more and prints the answer, met:N waits until so
 * many newcomers were told of, dead:R until rank R is, and pause:MS passes time.  The
 * others stay until it has ended.  A newcomer opens, says what it has got, and stays
 * likewise (well); or it is killed before (killed) or behind that (dies), has a fault
 * of its own (crashes), ends with status 5 (leaves), or opens when all others have
 * ended (late).  Each rank that is through leaves a sheet, as one that closes its moot
 * does.  Without a launcher of moot's own, or without arguments, there is nothing to
 * do.
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

enum { PATIENCE_MS = 20000, TEXT_BYTES = 1024 };

static void pause_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Whether that rank is told to be dead, within the time that a job may take. */
static bool death_wait(struct channel *channel, uint32_t rank)
{
    for (uint32_t told = 0, ms = 0; ms < PATIENCE_MS; ms++) {
        uint32_t dead;
        while ((dead = channel_next_death(channel, &told)) != UINT32_MAX) {
            if (dead == rank) {
                return true;
            }
        }
        pause_ms(1);
    }
    return false;
}

static bool newcomers_wait(struct channel *channel, uint64_t count)
{
    struct channel_card card;
    uint32_t told = 0, rank, ms = 0;
    while (channel_newcomers(channel) < count && ms++ < PATIENCE_MS) {
        (void)channel_next_newcomer(channel, 0, &told, &rank, &card);
        pause_ms(1);
    }
    return channel_newcomers(channel) >= count;
}

/* The file that a rank leaves as long as its moot is open, or the sheet behind that. */
static bool sheet_leave(const struct channel *channel, bool closed)
{
    char path[TEXT_BYTES], unfinished[TEXT_BYTES + 16];
    const char *folder = getenv("MOOT_SUMMARY");
    const uint32_t rank = channel_rank(channel);
    (void)snprintf(path, sizeof(path), "%s/rank-%" PRIu32, folder ? folder : ".", rank);
    (void)snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
    FILE *sheet = fopen(unfinished, "we");
    if (!sheet) {
        return false;
    }
    fprintf(sheet, "rank %" PRIu32 "\nsize %" PRIu32 "\nclose_code 0\n", rank,
            channel_size(channel));
    return fclose(sheet) == 0 && (!closed || rename(unfinished, path) == 0);
}

static int grow(struct channel *channel, uint32_t count)
{
    char story[TEXT_BYTES] = "";
    uint32_t first = 0;
    const int code = channel_grow(channel, count, &first, story, sizeof(story));
    printf("grow %" PRIu32 ": %s, %s\n", count, error_name(code), story);
    return code;
}

static int word_do(struct channel *channel, const char *word)
{
    const char *value = strchr(word, ':');
    const unsigned long number = value ? strtoul(value + 1, NULL, 10) : 0;
    bool done = true;
    if (strncmp(word, "grow:", 5) == 0) {
        (void)grow(channel, (uint32_t)number);
    } else if (strncmp(word, "met:", 4) == 0) {
        done = newcomers_wait(channel, number);
    } else if (strncmp(word, "dead:", 5) == 0) {
        done = death_wait(channel, (uint32_t)number);
    } else {
        pause_ms((long)number);
    }
    if (!done) {
        fprintf(stderr, "joining: %s did not come\n", word);
    }
    return done ? 0 : 1;
}

/* Opens, and says with whom. */
static int moot_open_by_channel(struct channel *channel)
{
    char story[TEXT_BYTES] = "", name[CHANNEL_PROCESS_BYTES];
    struct channel_card *all = NULL;
    uint32_t opening = 0, wave, index, cards = 0;
    const uint32_t rank = channel_rank(channel);
    const int code = channel_open(channel, &rank, sizeof(rank), &all, &opening, story,
                                  sizeof(story));
    channel_process(channel, &wave, &index);
    channel_process_name(wave, index, name);
    for (uint32_t r = 0; all && r < channel_room(channel); r++) {
        cards +=
            all[r].size == sizeof(rank) && memcmp(all[r].bytes, &r, sizeof(r)) == 0;
    }
    free(all);
    printf("rank %" PRIu32 " is %s: %s, %" PRIu32 " cards%s%s\n", rank, name,
           error_name(code), cards, *story ? ": " : "", story);
    return code == MOOT_OK && !sheet_leave(channel, false) ? MOOT_ERR_TRANSPORT : code;
}

static int newcomer_run(struct channel *channel, const char *how)
{
    if (strcmp(how, "killed") == 0 || strcmp(how, "crashes") == 0) {
        (void)raise(strcmp(how, "killed") == 0 ? SIGKILL : SIGSEGV);
    }
    if (strcmp(how, "leaves") == 0) {
        return 5;
    }
    for (uint32_t r = 0; strcmp(how, "late") == 0 && r < channel_size(channel); r++) {
        (void)death_wait(channel, r);
    }
    if (moot_open_by_channel(channel) != MOOT_OK) {
        return 1;
    }
    if (strcmp(how, "dies") == 0) {
        (void)raise(SIGKILL);
    }
    return death_wait(channel, 0) && sheet_leave(channel, true) ? 0 : 1;
}

int main(int argc, char **argv)
{
    char story[TEXT_BYTES];
    struct channel *channel = channel_of_process(story, sizeof(story));
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!channel || argc < 2) {
        fprintf(stderr, "joining: %s\n", *story ? story : "no channel");
        return *story ? 1 : 0;
    }
    if (channel_is_newcomer(channel)) {
        return newcomer_run(channel, argv[1]);
    }
    int status = moot_open_by_channel(channel) == MOOT_OK ? 0 : 1;
    for (int i = 2; status == 0 && channel_rank(channel) == 0 && i < argc; i++) {
        status = word_do(channel, argv[i]);
    }
    if (channel_rank(channel) != 0 && !death_wait(channel, 0)) {
        return 1;
    }
    return status == 0 && sheet_leave(channel, true) ? 0 : 1;
}
