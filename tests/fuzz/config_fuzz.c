/* config_fuzz.c - no configuration harms who reads it, and what is read can be written.
 *
 * An input is up to four parts with NUL between them: the file that MOOT_CONFIG names;
 * a byte that picks a knob, and its value in the environment; an option; the bytes of
 * what rank 0 hands round.  What loads must be written back as the same values, in a
 * file's words as in rank 0's bytes; what does not must say why, and leave the knobs
 * alone.
 */
#include "node/config/knobs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { PARTS = 4, STORY_BYTES = 96 };

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

/* A file without a disk, which MOOT_CONFIG names. */
static int config_file(void)
{
    static int file = -1;
    char path[64];
    if (file >= 0) {
        return file;
    }
    file = memfd_create("moot.conf", MFD_CLOEXEC);
    require(file >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    require(setenv("MOOT_CONFIG", path, 1) == 0);
    require(setenv("XDG_CONFIG_HOME", "/nowhere", 1) == 0);
    return file;
}

static void write_file(const char *text, size_t size)
{
    int file = config_file();
    require(ftruncate(file, 0) == 0);
    require(pwrite(file, text, size, 0) == (ssize_t)size);
}

static void check_story(const char *story)
{
    require(story[0] != '\0' && memchr(story, '\0', STORY_BYTES) != NULL);
}

/* The values, not where they came from. */
static bool same_values(const struct knobs *a, const struct knobs *b)
{
    char first[KNOB_TEXT_BYTES], second[KNOB_TEXT_BYTES];
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        knobs_format(a, (enum knob)knob, first, sizeof(first));
        knobs_format(b, (enum knob)knob, second, sizeof(second));
        if (strcmp(first, second) != 0) {
            return false;
        }
    }
    return true;
}

static void check_words(const struct knobs *knobs)
{
    struct knobs again;
    char text[KNOB_TEXT_BYTES], story[STORY_BYTES];
    knobs_default(&again);
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        knobs_format(knobs, (enum knob)knob, text, sizeof(text));
        if (text[0] != '\0') {
            require(knobs_set(&again, knob_table[knob].name, text, knobs->origins[knob],
                              story, sizeof(story)) == MOOT_OK);
        }
        knobs_origin(knobs, (enum knob)knob, text, 8);
        require(memchr(text, '\0', 8) != NULL);
    }
    require(same_values(knobs, &again));
}

static void check_bytes(const struct knobs *knobs)
{
    char blob[KNOBS_BLOB_BYTES], story[STORY_BYTES];
    struct knobs again;
    size_t size = knobs_encode(knobs, blob);
    require(size <= sizeof(blob));
    require(knobs_decode(&again, blob, size, story, sizeof(story)) == MOOT_OK);
    require(same_values(knobs, &again));
}

static void check_load(const char *option)
{
    const char *overrides[] = {option, NULL};
    char story[STORY_BYTES] = "";
    struct knobs knobs, before;
    memset(&knobs, 0x5a, sizeof(knobs));
    before = knobs;
    int code =
        knobs_load(&knobs, option != NULL ? overrides : NULL, story, sizeof(story));
    if (code == MOOT_OK) {
        check_words(&knobs);
        check_bytes(&knobs);
        return;
    }
    require(code == MOOT_ERR_CONFIG);
    require(memcmp(&knobs, &before, sizeof(knobs)) == 0);
    check_story(story);
    char blob[KNOBS_BLOB_BYTES], told[STORY_BYTES];
    size_t size = knobs_encode_failure(story, blob);
    require(size <= sizeof(blob));
    require(knobs_decode(&knobs, blob, size, told, sizeof(told)) == MOOT_ERR_CONFIG);
    check_story(told);
}

static void check_decode(const char *bytes, size_t size)
{
    char story[STORY_BYTES] = "";
    struct knobs knobs;
    if (knobs_decode(&knobs, bytes, size, story, sizeof(story)) == MOOT_OK) {
        check_bytes(&knobs);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1), *parts[PARTS];
    size_t sizes[PARTS], at = 0;
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (int i = 0; i < PARTS; i++) { /* the last may hold more NULs */
        parts[i] = text + at;
        sizes[i] = i == PARTS - 1 ? size - at : strnlen(text + at, size - at);
        at += sizes[i] < size - at ? sizes[i] + 1 : sizes[i];
    }
    const char *name = NULL;
    if (sizes[1] > 0) {
        name = knob_table[(unsigned char)parts[1][0] % KNOB_COUNT].name;
        require(setenv(name, parts[1] + 1, 1) == 0);
    }
    write_file(parts[0], sizes[0]);
    check_load(sizes[2] > 0 ? parts[2] : NULL);
    check_decode(parts[3], sizes[3]);
    if (name != NULL) {
        unsetenv(name);
    }
    free(text);
    return 0;
}
