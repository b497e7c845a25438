/* route_text.c - see route_text.h. */
#include "node/transport/carrier/route_text.h"

#include "consensus/route/route.h"
#include "node/transport/carrier/carrier.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 80 }; /* characters of a word in a story */

static int refuse_file(const char *word, const char *why, char *story, size_t size)
{
    snprintf(story, size, "MOOT_ROUTE=%.*s: %s", SHOWN, word, why);
    return MOOT_ERR_CONFIG;
}

int route_load(const char *word, char **out, char *story, size_t story_size)
{
    const size_t head = strlen(word);
    size_t size = head;
    char *text = malloc(head + 2 + ROUTE_TEXT_MAX + 1);
    if (text == NULL) {
        snprintf(story, story_size, "out of memory for MOOT_ROUTE");
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(text, word, head + 1);
    if (*word == '@') {
        FILE *file = fopen(word + 1, "re");
        const int why = errno;
        text[size++] = '\n';
        const size_t got = file ? fread(text + size, 1, ROUTE_TEXT_MAX + 1, file) : 0;
        const bool broke = file && ferror(file) != 0;
        text[size + got] = '\0';
        if (file) {
            fclose(file);
        }
        if (!file || broke || got > ROUTE_TEXT_MAX || strlen(text + size) != got) {
            free(text);
            return refuse_file(word,
                               !file                  ? strerror(why)
                               : broke                ? "it cannot be read"
                               : got > ROUTE_TEXT_MAX ? "it has more than 256 KiB"
                                                      : "it is no text",
                               story, story_size);
        }
    }
    *out = text;
    return MOOT_OK;
}

int transport_route_check(const char *word, const char *const *names,
                          const char *const *addresses, uint32_t hosts, char *story,
                          size_t story_size)
{
    struct route *route = NULL;
    char *text = NULL;
    int code = route_load(word, &text, story, story_size);
    if (code == MOOT_OK) {
        code = route_new(text, names, addresses, hosts, &route, story, story_size);
        route_free(route);
    }
    free(text);
    return code;
}
