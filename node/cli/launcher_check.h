/* launcher_check.h - what the checks of `moot check-launcher` are made of: a process
 * for each that holds a fleet, and a card in shared memory on which it says why it
 * failed.
 *
 * The parent reads on the card in which slot the process is, so a launcher that blocks,
 * crashes or never comes to an end is told by name.  All that a launcher may do wrong
 * at any time, such as to tell of an end twice, is seen by the helpers here.
 */
#ifndef NODE_CLI_LAUNCHER_CHECK_H
#define NODE_CLI_LAUNCHER_CHECK_H

#include "node/api/moot_launcher.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TRIED_HOSTS = 64, /* at most, of those that the launcher has */
    REASON_BYTES = 512,
    ECHO_BYTES = 4 << 20
};

struct launcher_card {
    _Atomic(const char *) slot;     /* that the process is in; NULL: none */
    _Atomic uint64_t slot_since_ns; /* since when */
    char reason[REASON_BYTES];      /* it failed; "" */
};

/* A host's command, as far as is known. */
struct tried {
    bool launched, up, ended;
    enum moot_launcher_end how;
    int status;
    char why[REASON_BYTES];
    moot_launcher_link link;
    char said[4096]; /* what came, if it is kept */
    size_t said_bytes;
};

struct fleet_trial {
    const moot_launcher *table;
    const char *options, *hosts;
    struct launcher_card *card;
    moot_fleet *fleet;
    uint32_t count; /* of hosts that are tried */
    bool polling;
    struct tried tried[TRIED_HOSTS];
};

struct launcher_check {
    const char *name;
    int seconds; /* it is to be done in */
    void (*run)(struct fleet_trial *trial);
};

extern const struct launcher_check launcher_checks[];
extern const size_t launcher_check_count;

/* Runs one; true: it is well.  reason has REASON_BYTES. */
bool launcher_check_run(const struct launcher_check *check, const moot_launcher *table,
                        const char *options, const char *hosts, char *reason);

/* --- In a check's process --------------------------------------------------------- */

uint64_t trial_now_ns(void);
void trial_fail(struct fleet_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Slots.  A failure ends the process, and so does a slot that blocks. */
void trial_open(struct fleet_trial *trial);
void trial_finalise(struct fleet_trial *trial);
int trial_try_open(struct fleet_trial *trial, const char *hosts, moot_fleet **out,
                   char *story);
/* launch() and connect(). */
void trial_launch(struct fleet_trial *trial, uint32_t host, char *const argv[]);
int trial_try_launch(struct fleet_trial *trial, uint32_t host, char *const argv[]);
int trial_try_connect(struct fleet_trial *trial, uint32_t host);
/* The command `sh -c SCRIPT`. */
void trial_script(struct fleet_trial *trial, uint32_t host, const char *script);
int trial_poll(struct fleet_trial *trial);
void trial_interrupt(struct fleet_trial *trial, uint32_t host, int number);
void trial_kill(struct fleet_trial *trial, uint32_t host);

/* Keeps what has come on that host's stream; false: its end has. */
bool trial_read(struct fleet_trial *trial, uint32_t host);

/* Polls and reads until it has ended, and so has its stream. */
void trial_await_end(struct fleet_trial *trial, uint32_t host, int seconds);
/* The same until it has said that. */
void trial_await_word(struct fleet_trial *trial, uint32_t host, const char *word);

/* Ended by itself with that status. */
void trial_expect(struct fleet_trial *trial, uint32_t host, int status);

#endif
