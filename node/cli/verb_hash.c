/* verb_hash.c - `moot hash`: fingerprints of files, by the digest that names tasks.
 *
 * Ranks diverge for good when they read different inputs; comparing fingerprints is the
 * quickest way to see that they do.
 */
#include "hashing/identity.h"
#include "node/cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Piece by piece, so that a file may be larger than memory, and that a part which
 * cannot be read is an error and no signal.  False, and errno. */
static bool stream_hash(int fd, moot_hash *out)
{
    static unsigned char piece[1 << 18];
    crypto_generichash_blake2b_state state;
    ssize_t got = 1;
    crypto_generichash_blake2b_init(&state, NULL, 0, sizeof(out->bytes));
    while (got > 0) {
        got = read(fd, piece, sizeof(piece));
        if (got > 0) {
            crypto_generichash_blake2b_update(&state, piece, (size_t)got);
        } else if (got < 0 && errno == EINTR) {
            got = 1; /* nothing read: once more */
        }
    }
    crypto_generichash_blake2b_final(&state, out->bytes, sizeof(out->bytes));
    return got == 0;
}

static bool name_hash(const char *name)
{
    const bool standard = strcmp(name, "-") == 0;
    const int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    char text[MOOT_HASH_TEXT_BYTES];
    moot_hash hash;
    const bool good = fd >= 0 && stream_hash(fd, &hash);
    const int kept = errno;
    if (good) {
        printf("%s  %s\n", hash_format(&hash, text), name);
    }
    if (fd >= 0 && !standard) {
        close(fd);
    }
    errno = kept;
    return good;
}

static int hash_run(int argc, char **argv)
{
    static char dash[] = "-", *standard_input[] = {dash};
    int status = CLI_OK, first = 1;
    if (argc > 1 && strcmp(argv[1], "--") == 0) {
        first = 2;
    } else if (argc > 1 && argv[1][0] == '-' && argv[1][1] != '\0') {
        return cli_no_option(&verb_hash, argv[1]);
    }
    char **names = first < argc ? argv + first : standard_input;
    const int count = first < argc ? argc - first : 1;
    if (!hashing_init()) {
        cli_complain(&verb_hash, "libsodium does not start");
        return CLI_FAILED;
    }
    for (int i = 0; i < count; i++) {
        if (!name_hash(names[i])) {
            cli_complain(&verb_hash, "%s: %s", names[i], strerror(errno));
            status = CLI_FAILED;
        }
    }
    return status;
}

const struct verb verb_hash = {
    .name = "hash",
    .line = "prints fingerprints of files",
    .usage =
        "hash [--] [FILE ...]\n"
        "\n"
        "Prints the 16-byte fingerprint (BLAKE2b-128) of each file as 32 hexadecimal\n"
        "digits, two spaces and its name.  Standard input, as -, if there is none.\n"
        "\n"
        "Exit status: 0; 1 if a file cannot be read; 2 if the command line is wrong.",
    .run = hash_run,
};
