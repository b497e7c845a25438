/* state_session.c - the session of a job in `moot state`: its number and ranks, who has
 * come and gone, and the process sets.
 *
 * All ranks of a session have the same sets, so it is told once, as the lowest rank
 * knows it of those that are in the latest; ranks that are in another one are named.
 */
#include "node/explain/rank_snapshot.h"
#include "node/tools/state_sockets.h"
#include <inttypes.h>
#include <stdlib.h>

enum { RANKS_BYTES = 256 };

static void ranks_add(struct text *text, const ProtobufCBinaryData *bytes)
{
    struct rankset ranks = {0};
    char told[RANKS_BYTES];
    if (account_ranks(bytes, &ranks)) {
        rankset_format(&ranks, told, sizeof(told));
        text_add(text, "rank%s %s", rankset_count(&ranks) == 1 ? "" : "s", told);
    }
    rankset_release(&ranks);
}

static const Moot__Account *latest_find(const Moot__Picture *picture)
{
    const Moot__Account *latest = NULL;
    for (size_t i = 0; i < picture->n_seats; i++) {
        const Moot__Account *account = picture->seats[i]->account;
        if (account && account->session &&
            (!latest || account->session->number > latest->session->number)) {
            latest = account;
        }
    }
    return latest;
}

static void others_add(struct text *text, const Moot__Picture *picture, uint64_t number)
{
    for (size_t i = 0; i < picture->n_seats; i++) {
        const Moot__Account *account = picture->seats[i]->account;
        if (!account || !account->session || account->session->number == number) {
            continue;
        }
        text_add(text, "    rank %" PRIu32 " ", account->rank);
        if (account->session->number == 0) {
            text_add(text, "has yet to hear in which session it is\n");
        } else {
            text_add(text, "is in session %" PRIu64 " still\n",
                     account->session->number);
        }
    }
}

static void change_add(struct text *text, const Moot__Account__Change *change)
{
    static const char *const words[] = {"joined", "left", "died", "was removed"};
    text_add(text, "    rank %" PRIu32 " (", change->rank);
    text_add_told(text, change->process.data, change->process.len);
    text_add(text, ") %s ", words[change->what]);
    text_add_duration(text, change->ago_ns);
    text_add(text, " ago\n");
}

static void set_add(struct text *text, const Moot__Account__Set *set)
{
    text_add(text, "    set %" PRIu32 " ", set->index);
    text_add_told(text, set->name.data, set->name.len);
    text_add(text, ": ");
    ranks_add(text, &set->members);
    if (set->deleted) {
        text_add(text, ", deleted\n");
    } else if (set->gone != PLACEMENT_NOBODY) {
        text_add(text, ", invalid: rank %" PRIu32 " is gone\n", set->gone);
    } else {
        text_add(text, ", valid\n");
    }
}

/* WORLD and SELF say nothing that the session's line does not. */
static void sets_add(struct text *text, const Moot__Account__Session *session)
{
    enum { FIRST = 2 };
    if (session->sets_untold > 0) {
        text_add(text, "    %" PRIu64 " older set%s, and of the last ones:\n",
                 session->sets_untold, session->sets_untold == 1 ? "" : "s");
    }
    for (size_t i = FIRST; i < session->n_sets; i++) {
        set_add(text, session->sets[i]);
    }
}

void state_session_add(struct text *text, const Moot__Picture *picture)
{
    const Moot__Account *latest = latest_find(picture);
    const Moot__Account__Session *session = latest ? latest->session : NULL;
    if (!session || session->number == 0) {
        return;
    }
    text_add(text, "  session %" PRIu64 ", for ", session->number);
    text_add_duration(text, session->age_ns);
    text_add(text, ", of ");
    ranks_add(text, &session->members);
    text_add(text, " (");
    text_add_told(text, session->why.data, session->why.len);
    text_add(text, ")\n");
    others_add(text, picture, session->number);
    if (session->changes_untold > 0) {
        text_add(text, "    %" PRIu64 " joined, left or died before:\n",
                 session->changes_untold);
    }
    for (size_t i = 0; i < session->n_changes; i++) {
        change_add(text, session->changes[i]);
    }
    sets_add(text, session);
}
