/* state_text.c - what a socket answered, read and told: nothing in it is believed
 * before it has been looked at, for whoever may write to the folder may listen there,
 * too.
 *
 * The text is the stall report's (node/explain/stall.h), of a job that need not stall,
 * and every rank's timers and wire.
 */
#include "node/explain/rank_snapshot.h"
#include "node/explain/stall.h"
#include "node/tools/sheet.h"
#include "node/tools/state_sockets.h"
#include <inttypes.h>
#include <stdlib.h>

/* --- Reading ---------------------------------------------------------------------- */

/* Seats in the order of ranks, each once; sound accounts; and one of who answered. */
static bool is_sound(const Moot__Picture *picture)
{
    bool has_own = false;
    for (size_t i = 0; i < picture->n_seats; i++) {
        const Moot__Picture__Seat *seat = picture->seats[i];
        const Moot__Account *account = seat->account;
        if (seat->rank >= picture->size ||
            (i > 0 && seat->rank <= picture->seats[i - 1]->rank) ||
            (account && (!account_check(account) || account->rank != seat->rank ||
                         account->size != picture->size))) {
            return false;
        }
        has_own |= account && seat->rank == picture->rank;
    }
    return has_own;
}

/* Two bytes may stand for a struct of a hundred, so what is allocated is bounded, too.
 */
static void *budget_alloc(void *context, size_t size)
{
    size_t *left = context;
    if (size > *left) {
        return NULL;
    }
    *left -= size;
    return malloc(size);
}

static void budget_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

Moot__Picture *state_picture_read(const uint8_t *bytes, size_t size)
{
    enum { UNPACKED_PER_BYTE = 32, UNPACKED_LEAST = 1 << 16 };
    const size_t fair = UNPACKED_LEAST + size * UNPACKED_PER_BYTE;
    size_t left = fair < STATE_UNPACKED_BYTES ? fair : STATE_UNPACKED_BYTES;
    ProtobufCAllocator budget = {budget_alloc, budget_free, &left};
    Moot__Picture *picture = moot__picture__unpack(&budget, size, bytes);
    if (picture && !is_sound(picture)) {
        moot__picture__free_unpacked(picture, NULL);
        return NULL;
    }
    return picture;
}

/* --- For people ------------------------------------------------------------------- */

static void timers_add(struct text *text, const Moot__Account *account)
{
    text_add(text, "  timers of rank %u:", account->rank);
    for (size_t i = 0; i < account->n_timers; i++) {
        const Moot__Account__Number *timer = account->timers[i];
        text_add(text, "%s ", i > 0 ? "," : "");
        text_add_told(text, timer->name.data, timer->name.len);
        text_add(text, " ");
        if (timer->value == UINT64_MAX) {
            text_add(text, "never");
        } else {
            text_add_duration(text, timer->value);
        }
    }
    text_add(text, "\n");
}

static void wire_add(struct text *text, const Moot__Account *account)
{
    const uint64_t by_ring = account_figure(account, "peers_by_ring"),
                   by_wire = account_figure(account, "peers_by_wire");
    if (by_ring + by_wire > 0) {
        text_add(text,
                 "  wire of rank %u: %" PRIu64 " peer%s by rings, %" PRIu64
                 " by the wire\n",
                 account->rank, by_ring, by_ring == 1 ? "" : "s", by_wire);
    }
    const uint64_t strangers = account_figure(account, "frames_of_strangers"),
                   forged = account_figure(account, "frames_forged"),
                   repeated = account_figure(account, "frames_repeated");
    if (strangers + forged + repeated > 0) {
        text_add(text,
                 "  dropped by rank %u: %" PRIu64 " frames of strangers, %" PRIu64
                 " forged or changed, %" PRIu64 " that had come before\n",
                 account->rank, strangers, forged, repeated);
    }
    const uint64_t refused = account_figure(account, "streams_refused"),
                   broken = account_figure(account, "streams_broken");
    if (refused + broken > 0) {
        text_add(text,
                 "  closed by rank %u: %" PRIu64
                 " streams of strangers or too late, %" PRIu64 " broken\n",
                 account->rank, refused, broken);
    }
    const uint64_t linked = account_figure(account, "frames_linked"),
                   resent = account_figure(account, "frames_resent");
    const unsigned percent = sheet_resent_percent(linked, resent);
    if (percent > 0) {
        text_add(text,
                 "  sent again by rank %u: %" PRIu64 " frames beside %" PRIu64
                 " (%u %%): the wire loses or delays frames\n",
                 account->rank, resent, linked, percent);
    }
}

static void differing_add(struct text *text, const Moot__Account *account)
{
    struct rankset ranks = {0};
    char list[128];
    if (account_ranks(&account->differing, &ranks) && !rankset_empty(&ranks)) {
        rankset_format(&ranks, list, sizeof(list));
        text_add(text, "  rank %u was told that the state of rank %s differs\n",
                 account->rank, list);
    }
    rankset_release(&ranks);
}

static void asked_add(struct text *text, const Moot__Account *account)
{
    if (account->asked_ns != 0) {
        text_add(text, "  rank %u was asked to leave ", account->rank);
        text_add_duration(text, account->asked_ns);
        text_add(text, " ago%s\n", account->closing_ns != 0 ? ", and leaves" : "");
    }
}

void state_text(struct text *text, const Moot__Picture *told)
{
    struct picture picture = {.rank = told->rank, .size = told->size};
    picture.seats = calloc(picture.size, sizeof(*picture.seats));
    for (size_t i = 0; picture.seats && i < told->n_seats; i++) {
        picture.seats[told->seats[i]->rank] =
            (struct seat){.account = told->seats[i]->account,
                          .age_ns = told->seats[i]->age_ns,
                          .asked_ns = told->seats[i]->asked_ns};
    }
    struct diagnosis *diagnosis = picture.seats ? diagnosis_new(&picture) : NULL;
    if (diagnosis) {
        text_add(text, "job ");
        text_add_told(text, told->job.data, told->job.len);
        text_add(text, ", ");
        stall_compose(text, &picture, diagnosis);
        state_session_add(text, told);
        for (uint32_t rank = 0; rank < picture.size; rank++) {
            if (picture.seats[rank].account) {
                asked_add(text, picture.seats[rank].account);
                differing_add(text, picture.seats[rank].account);
                timers_add(text, picture.seats[rank].account);
                wire_add(text, picture.seats[rank].account);
            }
        }
    }
    diagnosis_free(diagnosis);
    free(picture.seats);
}
