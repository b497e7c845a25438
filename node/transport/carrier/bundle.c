/* bundle.c - memory for pieces on their way (carrier_private.h). */
#include "node/transport/carrier/carrier_private.h"

#include <stdlib.h>

struct bundle *bundle_take(struct carrier *c, size_t size)
{
    const bool is_long = size >= BUNDLE_LONG_BYTES;
    struct bundle *bundle = is_long ? c->spare : NULL;
    if (bundle != NULL) {
        c->spare = bundle->next;
        c->spares--;
    } else {
        bundle = malloc(sizeof(*bundle) + (is_long ? c->table->frame_max : size));
    }
    if (bundle != NULL) {
        bundle->size = size;
    }
    return bundle;
}

void bundle_give(struct carrier *c, struct bundle *bundle)
{
    if (bundle == NULL || bundle->size < BUNDLE_LONG_BYTES ||
        c->spares == BUNDLES_SPARE_MAX) {
        free(bundle);
        return;
    }
    bundle->next = c->spare;
    c->spare = bundle;
    c->spares++;
}

void bundles_release(struct carrier *c)
{
    while (c->spare != NULL) {
        struct bundle *bundle = c->spare;
        c->spare = bundle->next;
        free(bundle);
    }
    c->spares = 0;
}
