/* stores_private.h - between the program with a checkpoint, and what is read of its
 * disk (stores.h).
 */
#ifndef TESTS_VIRTUAL_STORES_PRIVATE_H
#define TESTS_VIRTUAL_STORES_PRIVATE_H

#include "tests/virtual/stores.h"

#include <stddef.h>

__attribute__((format(printf, 2, 3))) void
stores_say_wrong(struct stores_ledger *ledger, const char *format, ...);
/* A random word that is the same on all ranks. */
uint64_t stores_word(const struct stores_ledger *ledger, uint64_t a, uint64_t b);
/* The value of a task from those of its inputs; a nonce of 0: it does not vary. */
uint64_t stores_combine(uint32_t task, const uint64_t *inputs, uint32_t count,
                        uint64_t nonce);
/* Whether the bytes are a result of the task; its value. */
bool stores_read_value(const struct stores_ledger *ledger, uint32_t task,
                       const unsigned char *bytes, size_t size,
                       struct stores_value *out);

/* Once is once, also after a reload: its result may be made from what is void now. */
bool stores_outlives_reload(const struct stores_ledger *ledger,
                            const struct stores_task *task);
/* All have gone back to the snapshot, and nobody has spawned since. */
void stores_stand_on(struct stores_ledger *ledger, const moot_hash *id);

#endif
