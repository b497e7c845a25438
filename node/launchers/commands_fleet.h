/* commands_fleet.h - a fleet that is a list of hosts and commands for them, and the
 * slots of moot_launcher that the launchers ssh and slurm have alike. */
#ifndef NODE_LAUNCHERS_COMMANDS_FLEET_H
#define NODE_LAUNCHERS_COMMANDS_FLEET_H

#include "node/launchers/commands.h"
#include "node/launchers/hosts.h"

enum { FLEET_STORY_BYTES = 512, FLEET_WORDS_MAX = 64 };

struct moot_fleet {
    const char *launcher; /* its name */
    struct host_list hosts;
    struct commands *commands;    /* NULL until open() is done */
    char *options;                /* cut into words */
    char *words[FLEET_WORDS_MAX]; /* of the starting program, as the options say */
    int word_count;
    char story[FLEET_STORY_BYTES];
};

/* The last step of open(): the rest of `plan` is filled in. */
int fleet_begin(moot_fleet *fleet, struct commands_plan plan, char *story,
                size_t story_size);

uint32_t fleet_hosts(const moot_fleet *fleet);
int fleet_host(const moot_fleet *fleet, uint32_t index, moot_launcher_host *out);
/* Starts argv, of this host, for that one. */
int fleet_start(moot_fleet *fleet, uint32_t host, char *const argv[]);
int fleet_connect(moot_fleet *fleet, uint32_t host, moot_launcher_link *out);
int fleet_poll(moot_fleet *fleet, const moot_launcher_receiver *receiver);
void fleet_interrupt(moot_fleet *fleet, uint32_t host, int number);
const char *fleet_story(const moot_fleet *fleet);
int fleet_descriptor(const moot_fleet *fleet);
void fleet_finalise(moot_fleet *fleet); /* NULL, or half-built */

#endif
