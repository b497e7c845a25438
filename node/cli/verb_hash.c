/* verb_hash.c - `moot hash`: fingerprints of arrays and files.
 *
 * Ranks diverge for good when they read different inputs; comparing fingerprints is the
 * quickest way to see that they do.  An array has the same one in whatever kind of file
 * it is stored (deploy/doc/FINGERPRINTS.md).
 */
#include "hashing/array_spread.h"
#include "hashing/identity.h"
#include "node/api/moot_fingerprint.h"
#include "node/arrays/arrays.h"
#include "node/cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STORY_BYTES = 512 };

static bool digest_all(const char *name, moot_hash *hash, char story[STORY_BYTES])
{
    const bool standard = strcmp(name, "-") == 0;
    if (standard && cli_input_is_closed()) {
        snprintf(story, STORY_BYTES, "standard input is closed");
        return false;
    }
    const int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && file_digest(fd, hash);
    if (!good) {
        snprintf(story, STORY_BYTES, "%s", strerror(errno));
    }
    if (fd >= 0 && !standard) {
        close(fd);
    }
    return good;
}

static bool name_hash(const char *name, bool bytes)
{
    char text[MOOT_HASH_TEXT_BYTES], story[STORY_BYTES];
    moot_hash hash;
    const bool good =
        bytes || strcmp(name, "-") == 0
            ? digest_all(name, &hash, story)
            : moot_fingerprint_file(name, &hash, story, sizeof(story)) == MOOT_OK;
    if (good) {
        printf("%s  %s\n", hash_format(&hash, text), name);
    } else {
        cli_complain(&verb_hash, "%s: %s", name, story);
    }
    return good;
}

static bool index_read(const char *text, uint64_t *index)
{
    char *end = NULL;
    errno = 0;
    *index = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           *index < ARRAY_COUNT_MAX;
}

/* An array's hash, and the indices of elements. */
static int elements_print(int argc, char **argv)
{
    char text[MOOT_HASH_TEXT_BYTES];
    moot_hash array;
    uint64_t index;
    if (argc < 2) {
        cli_complain(&verb_hash,
                     "--element takes an array's hash, and at least one index");
        return CLI_USAGE;
    }
    if (!hash_parse(argv[0], &array) || !hash_has(&array, MOOT_HASH_ARRAY)) {
        cli_complain(&verb_hash,
                     "%s is no hash of a task array: moot_array_hash() gives 32 "
                     "hexadecimal digits",
                     argv[0]);
        return CLI_USAGE;
    }
    for (int i = 1; i < argc; i++) {
        if (!index_read(argv[i], &index)) {
            cli_complain(&verb_hash, "%s is no index of an element: 0 to 2^32 - 1",
                         argv[i]);
            return CLI_USAGE;
        }
    }
    for (int i = 1; i < argc; i++) {
        (void)index_read(argv[i], &index);
        const moot_hash hash = identity_element(&array, index);
        printf("%s  element %" PRIu64 "\n", hash_format(&hash, text), index);
    }
    return CLI_OK;
}

static int hash_run(int argc, char **argv)
{
    static char dash[] = "-", *standard_input[] = {dash};
    int status = CLI_OK, first = 1;
    if (argc > 1 && strcmp(argv[1], "--element") == 0) {
        return hashing_init() ? elements_print(argc - 2, argv + 2) : CLI_FAILED;
    }
    while (first < argc && strcmp(argv[first], "--bytes") == 0) {
        first++;
    }
    const bool bytes = first > 1;
    if (first < argc && strcmp(argv[first], "--") == 0) {
        first++;
    } else if (first < argc && argv[first][0] == '-' && argv[first][1] != '\0') {
        return cli_no_option(&verb_hash, argv[first]);
    }
    char **names = first < argc ? argv + first : standard_input;
    const int count = first < argc ? argc - first : 1;
    if (!hashing_init()) {
        cli_complain(&verb_hash, "libsodium does not start");
        return CLI_FAILED;
    }
    for (int i = 0; i < count; i++) {
        if (!name_hash(names[i], bytes)) {
            status = CLI_FAILED;
        }
    }
    return status;
}

const struct verb verb_hash = {
    .name = "hash",
    .line = "prints fingerprints of arrays and files",
    .usage =
        "hash [--bytes] [--] [FILE ...]\n"
        "       moot hash --element ARRAY INDEX ...\n"
        "\n"
        "Prints the 16-byte fingerprint of each file as 32 hexadecimal digits, two "
        "spaces\n"
        "and its name.  Of an array (.npy, .json, and .npz, as in run.npz#pressure) "
        "it\n"
        "covers type, shape and elements, so that an array has one fingerprint in all\n"
        "of them.  Of another file, and of standard input, as - or if no file is "
        "named,\n"
        "it is the BLAKE2b-128 of its bytes.\n"
        "\n"
        "  --bytes       of all files their bytes\n"
        "  --element     the hashes of these elements of the task array with that "
        "hash,\n"
        "                as kernels and reports have them, at every number of ranks\n"
        "\n"
        "Exit status: 0; 1 if a file cannot be read, or standard input is closed, or "
        "it "
        "is\n"
        "no array although its name says so; 2 if the command line is wrong.",
    .run = hash_run,
};
