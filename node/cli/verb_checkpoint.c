/* verb_checkpoint.c - `moot checkpoint`: what a folder of checkpoints holds.
 *
 * The words of the command line are read here; each subverb prints in its own way what
 * disk_scan() shows (checkpoint_print.c), or prunes.
 */
#include "hashing/identity.h"
#include "node/cli/checkpoint_print.h"
#include "node/config/spelling.h"
#include "node/config/text.h"
#include "node/diskstore/disk_prune.h"
#include "node/diskstore/disk_scan.h"
#include "proto/moot_error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checkpoint_request {
    const char *subverb, *folder, *hash;
    const char *age, *bytes; /* as they were said */
    bool data, dry;
    struct disk_prune_options prune;
};

/* --- Words ------------------------------------------------------------------------ */

/* A number and one of the letters, each of which stands for a factor; false: it is
 * none. */
static bool read_amount(const char *word, const char *letters, const uint64_t *factors,
                        uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(word, &end, 10);
    if (!isdigit((unsigned char)word[0]) || errno != 0) {
        return false;
    }
    const char *letter = *end != '\0' ? strchr(letters, *end) : NULL;
    const uint64_t factor = letter != NULL ? factors[letter - letters] : 1;
    if ((*end != '\0' && (letter == NULL || end[1] != '\0')) ||
        number > UINT64_MAX / factor) {
        return false;
    }
    *out = number * factor;
    return *end != '\0' || letters[0] == 'K';
}

static int read_bounds(struct checkpoint_request *request)
{
    static const uint64_t second = 1000000000;
    static const uint64_t ages[] = {second, 60 * second, 3600 * second, 86400 * second};
    static const uint64_t sizes[] = {1 << 10, 1 << 20, 1 << 30, (uint64_t)1 << 40};
    if (request->age != NULL &&
        (!read_amount(request->age, "smhd", ages, &request->prune.age_max_ns) ||
         request->prune.age_max_ns == 0)) {
        return cli_usage(&verb_checkpoint,
                         "--older '%s' is no age, as 90s, 30m, 12h or 7d",
                         request->age);
    }
    if (request->bytes != NULL &&
        (!read_amount(request->bytes, "KMGT", sizes, &request->prune.bytes_max) ||
         request->prune.bytes_max == 0)) {
        return cli_usage(&verb_checkpoint, "--bytes '%s' is no size, as 500M or 10G",
                         request->bytes);
    }
    return CLI_OK;
}

/* The option at argv[*i]; CLI_USAGE, which is said, if there is none such. */
static int read_option(int argc, char **argv, int *i,
                       struct checkpoint_request *request)
{
    const char *const word = argv[*i];
    const char *value;
    if ((value = cli_option(argc, argv, i, "--older")) != NULL) {
        const int code = cli_once(&verb_checkpoint, "--older", request->age, value);
        request->age = value;
        return code;
    }
    if ((value = cli_option(argc, argv, i, "--bytes")) != NULL) {
        const int code = cli_once(&verb_checkpoint, "--bytes", request->bytes, value);
        request->bytes = value;
        return code;
    }
    if ((value = cli_option(argc, argv, i, "--snapshot")) != NULL) {
        const int code =
            cli_once(&verb_checkpoint, "--snapshot", request->prune.snapshot, value);
        request->prune.snapshot = value;
        return code;
    }
    if (strcmp(word, "--data") == 0) {
        request->data = true;
    } else if (strcmp(word, "--dry-run") == 0) {
        request->dry = true;
    } else if (strcmp(word, "--damaged") == 0) {
        request->prune.damaged = true;
    } else {
        return cli_no_option(&verb_checkpoint, word);
    }
    return CLI_OK;
}

static const char *const subverbs[] = {"ls", "show", "verify", "prune", "export"};
enum { SUBVERBS = sizeof(subverbs) / sizeof(*subverbs) };

static int check_subverb(const char *word)
{
    for (size_t i = 0; i < SUBVERBS; i++) {
        if (strcmp(word, subverbs[i]) == 0) {
            return CLI_OK;
        }
    }
    const char *meant = spelling_closest(word, subverbs, SUBVERBS);
    return meant != NULL
               ? cli_usage(&verb_checkpoint, "there is no '%s'; did you mean '%s'?",
                           word, meant)
           : word[0] == '\0'
               ? cli_usage(&verb_checkpoint, "ls, show, verify, prune or export?")
               : cli_usage(&verb_checkpoint,
                           "ls, show, verify, prune or export, not '%s'", word);
}

/* Options of one subverb with another are refused. */
static int check_options(struct checkpoint_request *request)
{
    const bool prune = strcmp(request->subverb, "prune") == 0;
    if ((request->age != NULL || request->bytes != NULL || request->dry ||
         request->prune.damaged || request->prune.snapshot != NULL) &&
        !prune) {
        return cli_usage(&verb_checkpoint,
                         "--older, --bytes, --snapshot, --damaged and "
                         "--dry-run are for prune");
    }
    if (request->data && strcmp(request->subverb, "export") != 0) {
        return cli_usage(&verb_checkpoint, "--data is for export");
    }
    if (request->prune.snapshot != NULL && request->prune.snapshot[0] == '\0') {
        return cli_usage(&verb_checkpoint, "--snapshot needs a name, or an id");
    }
    return read_bounds(request);
}

static int check_words(const struct checkpoint_request *request)
{
    if (request->folder == NULL || request->folder[0] == '\0') {
        return cli_usage(&verb_checkpoint,
                         "which folder?  The one that `moot run --checkpoint`, or "
                         "MOOT_CHECKPOINT, named");
    }
    if (request->hash != NULL && strcmp(request->subverb, "show") != 0) {
        return cli_usage(&verb_checkpoint, "one folder, not '%s' too", request->hash);
    }
    if (request->hash != NULL && request->hash[0] == '\0') {
        return cli_usage(&verb_checkpoint,
                         "'' is no hash, nor the beginning of one, nor a snapshot's "
                         "name");
    }
    return CLI_OK;
}

static int read_request(int argc, char **argv, struct checkpoint_request *request)
{
    request->subverb = argc > 1 ? argv[1] : "";
    int code = check_subverb(request->subverb);
    for (int i = 2; i < argc && code == CLI_OK; i++) {
        if (argv[i][0] == '-') {
            code = read_option(argc, argv, &i, request);
        } else if (request->folder == NULL) {
            request->folder = argv[i];
        } else if (request->hash == NULL) {
            request->hash = argv[i];
        } else {
            code = cli_usage(&verb_checkpoint, "'%s' is too much", argv[i]);
        }
    }
    if (code == CLI_OK) {
        code = check_options(request);
    }
    return code == CLI_OK ? check_words(request) : code;
}

/* --- Subverbs --------------------------------------------------------------------- */

static int prune_run(const struct checkpoint_request *request)
{
    struct disk_prune_counts counts;
    struct disk_prune_options options = request->prune;
    struct text why = {0};
    options.dry = request->dry;
    if (disk_prune(request->folder, &options, &counts, &why) != MOOT_OK) {
        cli_complain(&verb_checkpoint, "%s", text_get(&why));
        text_release(&why);
        return CLI_FAILED;
    }
    printf("%s: %" PRIu64 " records of %" PRIu64 " bytes %s\n", request->folder,
           counts.kept, counts.kept_bytes, request->dry ? "would stay" : "stay");
    const struct {
        uint64_t count;
        const char *what;
    } rows[] = {{counts.damaged, "damaged"},
                {counts.old, "too old"},
                {counts.over, "over the size"},
                {counts.twice, "there twice"},
                {counts.ended, "of tasks that have a result"},
                {counts.undone, "undone by a reload"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].count > 0) {
            printf("  %" PRIu64 " %s\n", rows[i].count, rows[i].what);
        }
    }
    if (counts.unnamed_bytes > 0) {
        printf("  %" PRIu64 " bytes that no record has\n", counts.unnamed_bytes);
    }
    if (counts.snapshots > 0) {
        printf("  %" PRIu64 " snapshot%s, with what %s, stay%s\n", counts.snapshots,
               counts.snapshots == 1 ? "" : "s",
               counts.snapshots == 1 ? "it names" : "they name",
               counts.snapshots == 1 ? "s" : "");
    }
    if (counts.foreign > 0) {
        printf("  %" PRIu64
               " environments that cannot be read (another version of moot, "
               "or links) are left alone\n",
               counts.foreign);
    }
    return CLI_OK;
}

static int checkpoint_run(int argc, char **argv)
{
    static int (*const prints[SUBVERBS])(const struct checkpoint_query *query) = {
        checkpoint_list, checkpoint_show, checkpoint_verify, NULL, checkpoint_export};
    struct checkpoint_request request = {0};
    const int code = read_request(argc, argv, &request);
    if (code != CLI_OK) {
        return code;
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* then a write ends with EFBIG */
    if (!hashing_init()) {
        cli_complain(&verb_checkpoint, "libsodium does not start");
        return CLI_FAILED;
    }
    const struct checkpoint_query query = {request.folder, request.hash, request.data};
    size_t i = 0;
    while (strcmp(request.subverb, subverbs[i]) != 0) {
        i++;
    }
    return prints[i] != NULL ? prints[i](&query) : prune_run(&request);
}

const struct verb verb_checkpoint = {
    .name = "checkpoint",
    .line = "looks at, checks and prunes a folder of checkpoints",
    .usage =
        "checkpoint ls|show|verify|prune|export [--older AGE] [--bytes SIZE]\n"
        "            [--snapshot NAME] [--damaged] [--dry-run] [--data]\n"
        "            DIR [HASH | SNAPSHOT]\n"
        "\n"
        "A folder of checkpoints holds results of tasks, by the tasks' hashes, so that "
        "a\n"
        "job that is run again does not run them again.\n"
        "\n"
        "  ls      prints a line for each record: hash, kind, status, bytes, time of "
        "the\n"
        "          run, when it was made, kernel and label; and one for each "
        "snapshot\n"
        "  show    prints what there is by process and by kernel; with a HASH, or its\n"
        "          beginning, all about the records of that task; with the name or "
        "id\n"
        "          of a snapshot, its parts\n"
        "  verify  reads everything and names what is damaged\n"
        "  prune   makes one environment of all that jobs have left, without damaged\n"
        "          and superseded ones; not while a job uses the folder; what a "
        "snapshot\n"
        "          names stays\n"
        "  export  prints a line of JSON for each record\n"
        "\n"
        "  --older AGE    prune: drops what is older, as 90s, 30m, 12h or 7d\n"
        "  --bytes SIZE   prune: drops the oldest until the rest has so many, as 10G\n"
        "  --snapshot NAME  prune: drops that snapshot; also by its id\n"
        "  --damaged      prune: also where damage may hide once tasks that have "
        "started\n"
        "  --dry-run      prune: says what it would do, or why it would fail\n"
        "  --data         export: results too, in base64\n"
        "\n"
        "Records that a job writes at that moment are shown as far as they can be "
        "read.\n"
        "\n"
        "Exit status: 0; 1 if there is no such folder, record or snapshot, verify "
        "finds "
        "damage\n"
        "or a snapshot that lacks a record, or a prune fails or would; 2 if the "
        "command "
        "line\n"
        "is wrong.",
    .run = checkpoint_run,
};
