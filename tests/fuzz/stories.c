/* stories.c - events_fuzz.c without a fuzzer: stories that are drawn, or kept in files.
 *
 *   stories [--seeds A..B] [FILE...]
 *
 * The fuzzer takes clang; this takes any compiler, and a build that counts arms.
 */
#include "consensus/sim/programs/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_STORIES = 601, STORY_BYTES_MAX = 3000 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Stories of any length, since a long one goes further, and a short one is let finish
 * early. */
static void tell_drawn(uint64_t seed)
{
    unsigned char story[STORY_BYTES_MAX];
    struct random random = random_stream(seed, STREAM_STORIES);
    size_t size = (size_t)random_between(&random, 16, STORY_BYTES_MAX);
    for (size_t i = 0; i < size; i++) {
        story[i] = (unsigned char)random_below(&random, 256);
    }
    (void)LLVMFuzzerTestOneInput(story, size);
}

static int tell_kept(const char *path)
{
    unsigned char story[1 << 16];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 2;
    }
    size_t size = fread(story, 1, sizeof(story), file);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(story, size);
    return 0;
}

int main(int argc, char **argv)
{
    int at = 1, code = 0;
    uint64_t first = 1, last = 0;
    if (argc > 2 && strcmp(argv[1], "--seeds") == 0) {
        if (sscanf(argv[2], "%" SCNu64 "..%" SCNu64, &first, &last) != 2) {
            fprintf(stderr, "usage: stories [--seeds A..B] [FILE...]\n");
            return 2;
        }
        at = 3;
    }
    for (uint64_t seed = first; seed <= last; seed++) {
        tell_drawn(seed);
    }
    for (; at < argc && code == 0; at++) {
        code = tell_kept(argv[at]);
    }
    return code;
}
