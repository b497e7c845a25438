/* chaos.c - a random program of everything that users have, under a random fault plan.
 *
 *     chaos FILE CASE                  a rank of the job; ranks share FILE, on one host
 *     chaos --command CASE             the words of `moot run` that bring the faults
 *     chaos --check FILE CASE [TABLE]  afterwards: whether what FILE holds may be
 *     chaos --table TABLE              the legitimate errors, as FAILURES.md has them
 *     chaos --show CASE                its tasks, a line each
 *     chaos --features                 what a case may be without, a word a line
 *
 * tests/mpi/hostile/chaos.h says what a case is, what is drawn and how it is judged;
 * tests/mpi/hostile/player.h how it is played; tests/cli/chaos_test.sh runs it.
 *
 * Without arguments it runs case 1, without faults, over a file of its own.
 */
#include "tests/mpi/hostile/player.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_WRONG = 7 };

static const char table_path[] = "tests/mpi/hostile/errors.txt";

/* For the test of what makes failures small: a feature that is wrong wherever it is. */
static bool is_planted(const char *feature, bool has)
{
    const char *planted = getenv("CHAOS_PLANT");
    return has && planted != NULL && strcmp(planted, feature) == 0;
}

/* --- A rank ----------------------------------------------------------------------- */

/* `word` is NULL for case 1 without faults, for as many ranks as there are. */
static int run(const char *word)
{
    char alone[64];
    strike_prepare();
    int code = moot_open(NULL, &player.m);
    if (code != MOOT_OK) {
        fprintf(stderr, "chaos: no moot: %s\n", moot_last_error(NULL));
        return getenv("CHAOS_SHM") != NULL ? 0 : EXIT_WRONG;
    }
    struct chaos *chaos = &player.chaos;
    player.rank = moot_rank(player.m);
    if (word == NULL) {
        (void)snprintf(alone, sizeof(alone),
                       "1:ranks=%d:no-fault:no-memory:no-shm:no-outside",
                       moot_size(player.m));
        word = alone;
    }
    if (!chaos_read(chaos, word) || chaos->ranks != (uint32_t)moot_size(player.m)) {
        return EXIT_WRONG;
    }
    if (is_planted("groups", chaos->groups)) {
        player_wrong(0, "it has groups");
    }
    strike_begin(chaos, player.rank);
    code = player_register();
    if (code == MOOT_OK) {
        player_play(chaos);
    }
    code = moot_close(player.m);
    player.ledger->close_code[player.rank] = code;
    player.ledger->finished[player.rank] = code == MOOT_OK && !player.over;
    return player.ledger->wrong[player.rank] > 0 ? EXIT_WRONG : 0;
}

/* --- The command line ------------------------------------------------------------- */

static int print_features(void)
{
#define X(name, text) puts(text);
    CHAOS_FEATURES(X)
#undef X
    return 0;
}

static int fail_usage(void)
{
    fprintf(stderr,
            "usage: chaos FILE CASE | --command CASE | --show CASE | --features\n"
            "       chaos --check FILE CASE [TABLE] | --table TABLE\n"
            "A CASE is SEED[:ranks=N][:tasks=N][:struck=R-R][:away=R-R]"
            "[:only=FEATURE,...][:no-FEATURE]...\n");
    return 2;
}

static int print_command(const char *word)
{
    static struct chaos chaos;
    if (!chaos_read(&chaos, word)) {
        return fail_usage();
    }
    chaos_print_command(&chaos, stdout);
    return 0;
}

static int show(const char *word)
{
    static const char *const kinds[] = {
#define X(name, text) text,
        CHAOS_KINDS(X)
#undef X
    };
    static struct chaos chaos;
    if (!chaos_read(&chaos, word)) {
        return fail_usage();
    }
    printf("%u ranks, %u lanes%s%s%s: ", (unsigned)chaos.ranks, (unsigned)chaos.lanes,
           chaos.queues ? ", queues" : "", chaos.groups ? ", groups" : "",
           chaos.lets_go ? ", lets go" : "");
    chaos_print_command(&chaos, stdout);
    for (uint32_t task = 0; task < chaos.tasks; task++) {
        const struct recipe *at = &chaos.tasks_of[task];
        printf("%2u %-8s lane %u, holders %02llx, candidates %02llx, %7u bytes, takes",
               (unsigned)task, kinds[at->kind], (unsigned)at->lane,
               (unsigned long long)at->holders, (unsigned long long)at->candidates,
               (unsigned)at->bytes);
        for (uint32_t i = 0; i < at->input_count; i++) {
            printf("%s %u", i == recipe_data_count(at) ? ", after" : "",
                   (unsigned)at->inputs[i]);
        }
        printf("%s%s%s", recipe_will_fail(at) ? ", fails" : "",
               at->hint ? ", hint" : "", at->barrier ? ", barrier" : "");
        if (at->canceller >= 0) {
            printf(", rank %d cancels it", at->canceller);
        }
        if (at->clearer >= 0) {
            printf(", rank %d cancels '%c/'", at->clearer, at->clears);
        }
        putchar('\n');
    }
    return 0;
}

static int check(const char *path, const char *word, const char *table)
{
    static struct chaos chaos;
    const struct ledger *ledger = ledger_open(path);
    if (ledger == NULL || !chaos_read(&chaos, word)) {
        return fail_usage();
    }
    return chaos_judge(&chaos, ledger, table);
}

/* Over a file of the launcher's process, which all ranks have in common. */
static int run_alone(void)
{
    char own[64];
    (void)snprintf(own, sizeof(own), "/tmp/chaos-%d", (int)getppid());
    player.ledger = ledger_open(own);
    int status = player.ledger != NULL ? run(NULL) : fail_usage();
    unlink(own);
    return status;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (argc == 1) {
        return run_alone();
    }
    if (argc == 2 && strcmp(verb, "--features") == 0) {
        return print_features();
    }
    if (argc == 3 && strcmp(verb, "--table") == 0) {
        return chaos_print_table(argv[2], stdout);
    }
    if (argc == 3 && strcmp(verb, "--command") == 0) {
        return print_command(argv[2]);
    }
    if (argc == 3 && strcmp(verb, "--show") == 0) {
        return show(argv[2]);
    }
    if ((argc == 4 || argc == 5) && strcmp(verb, "--check") == 0) {
        return check(argv[2], argv[3], argc == 5 ? argv[4] : table_path);
    }
    if (argc != 3 || verb[0] == '-') {
        return fail_usage();
    }
    player.ledger = ledger_open(argv[1]);
    return player.ledger != NULL ? run(argv[2]) : fail_usage();
}
