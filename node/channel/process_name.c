/* process_name.c - the names of a job's processes: channel_process_name(); see
 * channel.h.
 *
 * Waves are counted in letters: a to z, and then aa, ab, as columns of a table are.
 */
#include "node/channel/channel.h"

#include <stdio.h>

void channel_process_name(uint32_t wave, uint32_t index,
                          char text[CHANNEL_PROCESS_BYTES])
{
    char letters[8];
    size_t at = sizeof(letters) - 1;
    letters[at] = '\0';
    for (uint64_t left = (uint64_t)wave + 1; left > 0; left = (left - 1) / 26) {
        letters[--at] = (char)('a' + (left - 1) % 26);
    }
    snprintf(text, CHANNEL_PROCESS_BYTES, "%s_%u", letters + at, index);
}
