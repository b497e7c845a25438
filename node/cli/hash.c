/* hash.c - `moot hash`: fingerprints of files, by the digest that names tasks.
 *
 * Ranks diverge for good when they read different inputs; comparing fingerprints is the
 * quickest way to see that they do.
 */
#include "cli.h"
#include "hashing/identity.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fingerprint_print(const void *data, size_t size, const char *name)
{
    const moot_hash hash = digest_bytes(data, size);
    char text[MOOT_HASH_TEXT_BYTES];
    printf("%s  %s\n", hash_format(&hash, text), name);
}

/* What a pipe has, to its end, in memory that grows; errno is set on failure. */
static bool stream_hash(int fd, const char *name)
{
    size_t size = 0, room = 1 << 16;
    char *data = malloc(room);
    ssize_t got = data ? 1 : -1;
    while (got > 0) {
        if (size == room) {
            char *larger = realloc(data, 2 * room);
            if (!larger) {
                got = -1;
                break;
            }
            data = larger;
            room *= 2;
        }
        got = read(fd, data + size, room - size);
        if (got < 0 && errno == EINTR)
            got = 1; /* nothing read: once more */
        else if (got > 0)
            size += (size_t)got;
    }
    if (got == 0)
        fingerprint_print(data, size, name);
    free(data);
    return got == 0;
}

static bool file_hash(int fd, size_t size, const char *name)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return stream_hash(fd, name);
    fingerprint_print(data, size, name);
    munmap(data, size);
    return true;
}

static bool name_hash(const char *name)
{
    struct stat status;
    if (strcmp(name, "-") == 0)
        return stream_hash(STDIN_FILENO, name);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fstat(fd, &status) == 0;
    if (good && S_ISREG(status.st_mode) && status.st_size > 0)
        good = file_hash(fd, (size_t)status.st_size, name);
    else if (good)
        good = stream_hash(fd, name);
    const int kept = errno;
    close(fd);
    errno = kept;
    return good;
}

static int hash_run(int argc, char **argv)
{
    static char dash[] = "-", *standard_input[] = {dash};
    int status = CLI_OK, first = 1;
    if (argc > 1 && strcmp(argv[1], "--") == 0)
        first = 2;
    else if (argc > 1 && argv[1][0] == '-' && argv[1][1] != '\0')
        return cli_no_option(&verb_hash, argv[1]);
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
