/* core_entry.h - the memory that a core and its host share: entries and stubs of tasks.
 *
 * An entry holds the core's record of a task and the host's behind it, so that both are
 * found with one look.  The host makes an entry where it knows of a task before its
 * core does (core_enter), or leaves that to the core, and gives it back when the core
 * has said that it is forgotten.  A task that is none of this rank's business may be a
 * stub.
 *
 * Nothing here puts anything out.  It may be called between steps, and by the host
 * while it carries outputs out; not within a step, but for what core_options.expand is
 * given.
 */
#ifndef CONSENSUS_CORE_ENTRY_H
#define CONSENSUS_CORE_ENTRY_H

#include "consensus/core.h"

/* --- Entries -------------------------------------------------------------------- */

/* A task's record, whose first part is the core's and whose second is the host's: one
 * piece of memory, that both touch together.  A host begins its own record with this;
 * its part is zero when the core makes the entry, on its own or in core_enter(), and
 * `user` is the entry in all that concerns the task.  With CORE_OUT_FORGET the whole of
 * it is the host's, `rest` included, until it gives it back with core_entry_give(). */
enum { CORE_ENTRY_BYTES = 200, CORE_ENTRY_BYTES_MAX = 1024 };
struct core_entry {
    moot_hash hash; /* neither this is to be written */
    uint8_t pieces; /* nor what all of it takes, room behind it included */
    uint8_t more[7];
    void *rest[(CORE_ENTRY_BYTES - sizeof(moot_hash) - 8) / sizeof(void *)];
};

/* Its entry, made of its stub if need be; NULL: nothing is known of it. */
void *core_user(struct core *core, const moot_hash *hash);
/* The task will be entered, or looked up, soon: fetches what that takes. */
void core_expect(const struct core *core, const moot_hash *hash);
/* A message about the task, which is likely to be known, is about to be stepped:
 * fetches its record. */
void core_expect_known(const struct core *core, const moot_hash *hash);
/* The core's entry of a task, made if there is none: NULL without memory, or if its
 * scope has ended on every rank.  It stands until CORE_OUT_FORGET, and carries the
 * host's part from before the task is registered (a pushed result, a wait for a hash).
 */
void *core_enter(struct core *core, const moot_hash *hash);
/* The same for a task that is about to be registered: with candidates (NULL: all),
 * which are copied, and so many inputs.  If the entry is made by this call it has room
 * for them, and behind that for so many bytes of the host's. */
void *core_enter_for(struct core *core, const moot_hash *hash,
                     const struct rankset *candidates, size_t input_count,
                     size_t room_bytes);
/* The host's room behind the entry, aligned for any type and not cleared, and at least
 * as much as was asked for if there is any at all.  It goes with the entry. */
void *core_entry_room(const struct core *core, void *entry, size_t *room_bytes);
/* Where the program spawned it; NULL: not said.  What is set stays the host's, and
 * CORE_EV_REGISTER may say the same.  Also of an entry that the core has forgotten. */
const char *core_entry_site(const void *entry);
void core_entry_set_site(void *entry, const char *site);
/* The inputs that an entry was registered with, not when the core has forgotten it: so
 * many, of which the first so many give it data; the entry of one, NULL if it has
 * been forgotten.  Is it itself an input of another? */
uint32_t core_entry_input_count(const void *entry);
uint32_t core_entry_data_count(const void *entry);
void *core_entry_input(const void *entry, uint32_t i);
bool core_entry_is_input(const void *entry);
/* The memory of a forgotten task's entry, to be used again. */
void core_entry_give(struct core *core, void *entry);
/* Makes entries of all stubs, and calls `see` for every entry that is not forgotten, in
 * no order of meaning, until it returns false.  Nothing is to be entered, stepped or
 * given back meanwhile. */
void core_each_entry(struct core *core, bool (*see)(void *context, void *entry),
                     void *context);

/* --- Stubs ----------------------------------------------------------------------- */

/* A task that this rank neither runs nor feeds may be kept as a stub, which takes a
 * third of what an entry does: its hash, its place on the roll, and what the host puts
 * there (core_stub_host), some hundred bytes.  It becomes an entry when anything else
 * than its release is said of it, and then its stub is gone: whoever keeps one hears of
 * that by core_options.expand.  In what is given to the core, and in CORE_OUT_FORGET,
 * it may stand for an entry; whatever else says that it takes an entry does not take a
 * stub.
 *
 * Makes one of a task that may be one, or returns NULL.  The next event must be the
 * CORE_EV_PRUNED that registers it, alone or behind others made before; until then the
 * host writes its part and has the core look for nothing. */
void *core_prune(struct core *core, const moot_hash *hash,
                 const struct core_register *reg);
/* The entry is a stub.  Both begin with the hash. */
bool core_is_stub(const void *entry);
/* As many bytes as core_register.host_size: what its entry is made of. */
void *core_stub_host(void *stub);
/* As core_entry_site(). */
const char *core_stub_site(const void *stub);

#endif
