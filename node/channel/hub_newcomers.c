/* hub_newcomers.c - what a hub does for ranks that are started later; see channel.h.
 *
 * The hub that is no branch keeps the cards of each opening, and lets newcomers into
 * openings one at a time, in the order in which they ask.  All links that are in the
 * opening are told of the newcomer's card; when all have answered that they know it, or
 * have gone, or have closed that opening, it gets the cards of the opening, its own
 * among them.  One that goes meanwhile leaves its card: those who were told of it hear
 * that it is dead.  An opening that all have closed, or gone from, is over.  A newcomer
 * that is in it, and all that came before are not, is told so: perhaps none of them has
 * heard what it asks of them.
 *
 * A branch passes on what its newcomers say, and what is said to them.  Of a newcomer
 * it tells its own ranks, and answers when these have.
 *
 * Words of newcomers are counted, and an answer names the last that it is for.  So an
 * answer to a word whose newcomer has gone is not taken for one to the next.
 */
#include "node/channel/hub_private.h"
#include "proto/error.h"
#include "proto/limits.h"

#include <assert.h>
#include <stdlib.h>

static struct hub_newcomer *newcomer_of(const struct channel_hub *hub, uint32_t rank)
{
    assert(rank >= hub->size && rank < hub->room);
    return &hub->newcomers[rank - hub->size];
}

static struct hub_link *link_of(const struct channel_hub *hub, uint32_t rank)
{
    const uint32_t index = hub->ranks[rank].link;
    return index != HUB_NO_LINK ? &hub->links[index] : NULL;
}

/* --- Openings that were ----------------------------------------------------------- */

bool opening_keep(struct channel_hub *hub, struct hub_message *cards,
                  enum channel_why why)
{
    if (hub->room == hub->size) {
        return true;
    }
    if (hub->opening_count == hub->opening_room) {
        const uint32_t room = hub->opening_room ? 2 * hub->opening_room : 4;
        struct hub_opening *more = realloc(hub->openings, room * sizeof(*more));
        if (!more) {
            hub->no_openings = true;
            return false;
        }
        hub->openings = more;
        hub->opening_room = room;
    }
    struct hub_opening *opening = &hub->openings[hub->opening_count++];
    *opening = (struct hub_opening){.why = why};
    if (cards && hub->kept + cards->size <= CHANNEL_GATHERED_MAX) {
        opening->cards = cards;
        cards->users++;
        hub->kept += cards->size;
    } else if (cards) {
        opening->why = CHANNEL_TOO_MUCH;
    }
    return true;
}

static void opening_release(struct hub_opening *opening)
{
    hub_message_leave(opening->cards);
    for (uint32_t i = 0; i < opening->later_count; i++) {
        free(opening->later[i].bytes);
    }
    free(opening->later);
}

static bool rank_is_in(const struct channel_hub *hub, uint32_t rank, uint32_t opening)
{
    return !hub->ranks[rank].gone &&
           !opening_set_has(&hub->ranks[rank].closed, opening);
}

/* Whether one that has come to that opening, but for that rank, is in it still. */
static bool opening_lives(const struct channel_hub *hub, uint32_t number, uint32_t but)
{
    const struct hub_opening *opening = &hub->openings[number];
    bool lives = false;
    for (uint32_t rank = 0; !lives && rank < hub->size; rank++) {
        lives = rank_is_in(hub, rank, number);
    }
    for (uint32_t i = 0; !lives && i < opening->later_count; i++) {
        const uint32_t rank = opening->later[i].rank;
        lives = rank != but && rank_is_in(hub, rank, number);
    }
    return lives;
}

/* Whether one that came to that opening before the newcomer with that place is in it
 * still. */
static bool has_before(const struct channel_hub *hub, uint32_t number, uint32_t place)
{
    const struct hub_card *later = hub->openings[number].later;
    bool has = false;
    for (uint32_t rank = 0; !has && rank < hub->size; rank++) {
        has = rank_is_in(hub, rank, number);
    }
    for (uint32_t i = 0; !has && i < place; i++) {
        has = rank_is_in(hub, later[i].rank, number);
    }
    return has;
}

/* Takes the newcomer's card over; false if there is no room for it. */
static bool opening_add(struct channel_hub *hub, struct hub_opening *opening,
                        uint32_t rank)
{
    struct hub_newcomer *newcomer = newcomer_of(hub, rank);
    if (!opening->later) {
        opening->later = calloc(hub->room - hub->size, sizeof(*opening->later));
    }
    if (!opening->later || hub->kept + newcomer->card_size > CHANNEL_GATHERED_MAX) {
        return false;
    }
    opening->later[opening->later_count++] = (struct hub_card){
        .rank = rank, .size = newcomer->card_size, .bytes = newcomer->card};
    hub->kept += newcomer->card_size;
    newcomer->card = NULL;
    return true;
}

/* --- Answers to newcomers --------------------------------------------------------- */

/* The newcomer has had an answer to its opening, which it is in from now on. */
static void newcomer_answer(struct channel_hub *hub, uint32_t rank,
                            struct hub_message *message)
{
    struct hub_newcomer *newcomer = newcomer_of(hub, rank);
    struct hub_link *link = link_of(hub, rank);
    newcomer->waits = false;
    newcomer->opened++;
    free(newcomer->card);
    newcomer->card = NULL;
    if (link) {
        hub_link_tell(hub, link, message, link->kind == LINK_RANK);
    }
    hub_message_leave(message);
}

static void newcomer_fail(struct channel_hub *hub, uint32_t rank, enum channel_why why,
                          uint32_t culprit)
{
    struct channel_header header = channel_header_make(CHANNEL_FAILED, 0);
    header.rank = culprit;
    header.why = (uint32_t)why;
    header.to = rank;
    newcomer_answer(hub, rank, hub_message_new(&header));
}

/* The opening's cards for a newcomer, whose own is among them; NULL without memory. */
static struct hub_message *opened_pack(const struct channel_hub *hub,
                                       const struct hub_opening *opening, uint32_t rank)
{
    const size_t founders = hub->size * sizeof(uint32_t);
    const size_t lengths = hub->room * sizeof(uint32_t);
    const unsigned char *cards = opening->cards->bytes + sizeof(struct channel_header);
    const size_t cards_size =
        opening->cards->size - sizeof(struct channel_header) - founders;
    uint64_t size = lengths + cards_size;
    for (uint32_t i = 0; i < opening->later_count; i++) {
        size += opening->later[i].size;
    }
    struct channel_header header = channel_header_make(CHANNEL_OPENED, size);
    header.to = rank;
    header.count = newcomer_of(hub, rank)->opened;
    struct hub_message *message = hub_message_new(&header);
    if (!message) {
        return NULL;
    }
    unsigned char *length_at = message->bytes + sizeof(header);
    unsigned char *at = length_at + lengths + cards_size;
    memcpy(length_at, cards, founders);
    memset(length_at + founders, 0xff, lengths - founders); /* CHANNEL_NOBODY */
    memcpy(length_at + lengths, cards + founders, cards_size);
    for (uint32_t later = hub->size; later < hub->room; later++) {
        for (uint32_t i = 0; i < opening->later_count; i++) {
            const struct hub_card *card = &opening->later[i];
            if (card->rank == later) {
                memcpy(length_at + later * sizeof(uint32_t), &card->size,
                       sizeof(card->size));
                memcpy(at, card->bytes, card->size);
                at += card->size;
            }
        }
    }
    return message;
}

/* Tells newcomers of an opening whose others have closed it, or gone: such as had their
 * cards, and perhaps nobody who lets them in. */
static void emptied_tell(struct channel_hub *hub, uint32_t number)
{
    const struct hub_opening *opening = &hub->openings[number];
    for (uint32_t i = 0; i < opening->later_count; i++) {
        struct hub_card *card = &opening->later[i];
        struct hub_link *link = link_of(hub, card->rank);
        if (card->emptied || !link || !rank_is_in(hub, card->rank, number) ||
            newcomer_of(hub, card->rank)->opened <= number) {
            continue;
        }
        if (has_before(hub, number, i)) {
            return; /* nor have the others been left alone */
        }
        struct channel_header header = channel_header_make(CHANNEL_EMPTIED, 0);
        header.count = number;
        header.to = card->rank;
        struct hub_message *message = hub_message_new(&header);
        card->emptied = true;
        hub_link_tell(hub, link, message, false);
        hub_message_leave(message);
    }
}

static void openings_look(struct channel_hub *hub)
{
    for (uint32_t number = 0; number < hub->opening_count; number++) {
        emptied_tell(hub, number);
    }
}

/* --- One newcomer after the other ------------------------------------------------- */

/* Whether a link, or one behind it, is in that opening. */
static bool link_is_in(const struct channel_hub *hub, const struct hub_link *link,
                       uint32_t opening)
{
    return link->fd >= 0 && link->kind != LINK_TRUNK &&
           (link->kind == LINK_BRANCH ||
            (rank_is_in(hub, link->first, opening) &&
             (link->first < hub->size ||
              newcomer_of(hub, link->first)->opened > opening)));
}

/* Tells of a newcomer's card, by the word of that header. */
static void newcomer_tell(struct channel_hub *hub, const struct channel_header *header,
                          const unsigned char *card)
{
    struct hub_message *message = hub_message_new(header);
    if (message && header->size > 0) {
        memcpy(message->bytes + sizeof(*header), card, (size_t)header->size);
    }
    hub->news = header->why;
    hub->news_opening = header->count;
    for (uint32_t i = 0; i < hub->link_count; i++) {
        struct hub_link *link = &hub->links[i];
        if (link_is_in(hub, link, header->count)) {
            link->news = header->why;
            hub_link_tell(hub, link, message, false);
        }
    }
    hub_message_leave(message);
}

/* Whether all that live have answered what they were told of newcomers. */
static bool news_are_known(const struct channel_hub *hub)
{
    bool known = true;
    for (uint32_t i = 0; known && i < hub->link_count; i++) {
        const struct hub_link *link = &hub->links[i];
        known =
            link->fd < 0 || link->kind == LINK_TRUNK || link->news_known == link->news;
    }
    return known;
}

/* The first that asked of those whose opening has been, or of all, if there will be no
 * other; 0: nobody. */
static uint32_t next_find(const struct channel_hub *hub)
{
    const bool no_more = hub->lost > 0 || hub->no_openings;
    uint32_t first = 0;
    for (uint32_t rank = hub->size; rank < hub->room; rank++) {
        const struct hub_newcomer *newcomer = newcomer_of(hub, rank);
        if (newcomer->waits && (no_more || newcomer->opened < hub->opening_count) &&
            (first == 0 || newcomer->turn < newcomer_of(hub, first)->turn)) {
            first = rank;
        }
    }
    return first;
}

static void joining_begin(struct channel_hub *hub, uint32_t rank)
{
    const struct hub_newcomer *newcomer = newcomer_of(hub, rank);
    const uint32_t number = newcomer->opened;
    if (hub->no_openings) {
        newcomer_fail(hub, rank, CHANNEL_NO_MEMORY, 0);
        return;
    }
    if (number >= hub->opening_count) {
        const uint32_t missing = hub_missing(hub);
        newcomer_fail(hub, rank, hub->ranks[missing].why, missing);
        return;
    }
    struct hub_opening *opening = &hub->openings[number];
    if (opening->why != 0) {
        newcomer_fail(hub, rank, opening->why, 0);
    } else if (!opening_lives(hub, number, rank)) {
        newcomer_fail(hub, rank, CHANNEL_OVER, 0);
    } else if (!opening_add(hub, opening, rank)) {
        newcomer_fail(hub, rank, CHANNEL_TOO_MUCH, 0);
    } else {
        const struct hub_card *card = &opening->later[opening->later_count - 1];
        struct channel_header header =
            channel_header_make(CHANNEL_NEWCOMER, card->size);
        header.rank = rank;
        header.count = number;
        header.why = hub->news + 1;
        hub->joining = rank;
        newcomer_tell(hub, &header, card->bytes);
    }
}

static void joining_end(struct channel_hub *hub)
{
    const uint32_t rank = hub->joining;
    const uint32_t number = newcomer_of(hub, rank)->opened;
    hub->joining = 0;
    if (!opening_lives(hub, number, rank)) {
        newcomer_fail(hub, rank, CHANNEL_OVER, 0);
        return;
    }
    struct hub_message *message = opened_pack(hub, &hub->openings[number], rank);
    if (message) {
        newcomer_answer(hub, rank, message);
    } else {
        newcomer_fail(hub, rank, CHANNEL_NO_MEMORY, 0);
    }
}

/* Whether something was done, after which there may be more. */
static bool newcomers_step(struct channel_hub *hub)
{
    if (!news_are_known(hub)) {
        return false;
    }
    if (hub->joining != 0) {
        joining_end(hub);
        return true;
    }
    const uint32_t next = next_find(hub);
    if (next != 0) {
        joining_begin(hub, next);
    }
    return next != 0;
}

static void branch_look(struct channel_hub *hub)
{
    if (hub->news == hub->news_known || !news_are_known(hub)) {
        return;
    }
    struct channel_header header = channel_header_make(CHANNEL_KNOWN, 0);
    header.count = hub->news_known = hub->news;
    struct hub_message *message = hub_message_new(&header);
    hub_link_tell(hub, hub->trunk, message, false);
    hub_message_leave(message);
}

void newcomers_look(struct channel_hub *hub)
{
    if (hub->room == hub->size || hub->looks) { /* the look under way goes on */
        return;
    }
    hub->looks = true;
    if (hub->trunk) {
        branch_look(hub);
    } else {
        while (newcomers_step(hub)) {
            ;
        }
        openings_look(hub);
    }
    hub->looks = false;
}

/* --- What comes in ---------------------------------------------------------------- */

/* A rank of the link's own; from a branch the header says which. */
static uint32_t speaker_of(const struct hub_link *link)
{
    return link->kind == LINK_RANK ? link->first : link->header.rank;
}

bool newcomer_word_is_sound(const struct channel_hub *hub, const struct hub_link *link)
{
    const struct channel_header *header = &link->header;
    const bool is_from = link->kind == LINK_TRUNK;
    const uint32_t speaker = speaker_of(link);
    const bool speaks =
        !is_from && hub_link_has(hub, link, speaker) && !hub->ranks[speaker].gone;
    const bool to_newcomer = header->to >= hub->size && header->to < hub->room &&
                             hub->ranks[header->to].link != HUB_NO_LINK;
    switch (header->kind) {
    case CHANNEL_OPEN:
        return speaks && speaker >= hub->size && header->size <= CHANNEL_CARD_MAX &&
               !(link->kind == LINK_RANK && link->answering) &&
               !newcomer_of(hub, speaker)->waits &&
               header->count == newcomer_of(hub, speaker)->opened;
    case CHANNEL_KNOWN:
        return !is_from && header->size == 0 &&
               header->count - link->news_known - 1 < link->news - link->news_known;
    case CHANNEL_GROW:
        return speaks && header->size == 0 && header->count > 0 &&
               header->count <= LIMIT_NEWCOMERS && hub->ranks[speaker].wish == 0;
    case CHANNEL_CLOSES:
        return speaks && header->size == 0;
    case CHANNEL_NEWCOMER:
        return is_from && header->rank >= hub->size && header->rank < hub->room &&
               header->size <= CHANNEL_CARD_MAX && header->why == hub->news + 1;
    case CHANNEL_OPENED:
        return is_from && to_newcomer && header->size <= CHANNEL_OPENED_MAX;
    case CHANNEL_FAILED:
        return is_from && to_newcomer && header->size == 0 && header->rank < hub->room;
    case CHANNEL_EMPTIED:
        return is_from && to_newcomer && header->size == 0;
    case CHANNEL_GROWN:
        return is_from && header->to < hub->room && header->size <= CHANNEL_STORY_MAX;
    default:
        return false;
    }
}

/* Words that a branch has heard, as they stand, with the speaker's number. */
static struct hub_message *word_copy(const struct hub_link *link)
{
    struct channel_header header = link->header;
    header.rank = link->kind == LINK_TRUNK ? header.rank : speaker_of(link);
    struct hub_message *message = hub_message_new(&header);
    if (message && header.size > 0) {
        memcpy(message->bytes + sizeof(header), link->body, (size_t)header.size);
    }
    return message;
}

static void word_pass_up(struct channel_hub *hub, const struct hub_link *link)
{
    struct hub_message *message = word_copy(link);
    hub_link_tell(hub, hub->trunk, message, false);
    hub_message_leave(message);
}

static void open_take(struct channel_hub *hub, struct hub_link *link)
{
    struct hub_newcomer *newcomer = newcomer_of(hub, speaker_of(link));
    newcomer->waits = true;
    newcomer->turn = hub->turns++;
    if (hub->trunk) {
        word_pass_up(hub, link);
        return;
    }
    newcomer->card = link->body;
    newcomer->card_size = (uint32_t)link->header.size;
    link->body = NULL;
    newcomers_look(hub);
}

static void wish_take(struct channel_hub *hub, const struct hub_link *link)
{
    struct hub_rank *rank = &hub->ranks[speaker_of(link)];
    rank->wish = link->header.count;
    rank->wish_taken = hub->trunk != NULL;
    hub->wishes += !rank->wish_taken;
    if (hub->trunk) {
        word_pass_up(hub, link);
    }
}

/* A rank that has closed the opening of a newcomer answers no word of it any more. */
static void closing_take(struct channel_hub *hub, struct hub_link *link)
{
    opening_set_add(&hub->ranks[speaker_of(link)].closed, link->header.count);
    if (link->kind == LINK_RANK && link->header.count == hub->news_opening) {
        link->news_known = link->news;
    }
    if (hub->trunk) {
        word_pass_up(hub, link);
    }
    newcomers_look(hub);
}

/* A word from above to a rank here, other than an answer to its card. */
static void word_pass_down(struct channel_hub *hub, const struct hub_link *trunk)
{
    struct hub_link *link = link_of(hub, trunk->header.to);
    struct hub_message *message = word_copy(trunk);
    if (link) {
        hub_link_tell(hub, link, message, false);
    }
    hub_message_leave(message);
}

void newcomer_word_take(struct channel_hub *hub, struct hub_link *link)
{
    switch (link->header.kind) {
    case CHANNEL_OPEN:
        open_take(hub, link);
        break;
    case CHANNEL_KNOWN:
        link->news_known = link->header.count;
        newcomers_look(hub);
        break;
    case CHANNEL_GROW:
        wish_take(hub, link);
        break;
    case CHANNEL_CLOSES:
        closing_take(hub, link);
        break;
    case CHANNEL_NEWCOMER:
        newcomer_tell(hub, &link->header, link->body);
        newcomers_look(hub);
        break;
    case CHANNEL_GROWN:
        hub->ranks[link->header.to].wish = 0;
        word_pass_down(hub, link);
        break;
    case CHANNEL_EMPTIED:
        word_pass_down(hub, link);
        break;
    default: /* OPENED, and FAILED to a newcomer */
        newcomer_answer(hub, link->header.to, word_copy(link));
        break;
    }
}

void newcomer_lose(struct channel_hub *hub, uint32_t rank)
{
    struct hub_newcomer *newcomer = newcomer_of(hub, rank);
    newcomer->waits = false;
    free(newcomer->card);
    newcomer->card = NULL;
    hub->joining = hub->joining == rank ? 0 : hub->joining;
}

/* --- For the launcher ------------------------------------------------------------- */

bool newcomers_make(struct channel_hub *hub)
{
    hub->newcomers = calloc(hub->room - hub->size + 1, sizeof(*hub->newcomers));
    return hub->newcomers != NULL;
}

void newcomers_free(struct channel_hub *hub)
{
    for (uint32_t i = 0; i < hub->opening_count; i++) {
        opening_release(&hub->openings[i]);
    }
    for (uint32_t i = 0; hub->newcomers && i < hub->room - hub->size; i++) {
        free(hub->newcomers[i].card);
    }
    free(hub->openings);
    free(hub->newcomers);
}

void channel_hub_name(struct channel_hub *hub, uint32_t wave, uint32_t first,
                      uint32_t count)
{
    assert(first >= hub->size && first <= hub->room && count <= hub->room - first);
    for (uint32_t index = 0; index < count; index++) {
        struct hub_newcomer *newcomer = newcomer_of(hub, first + index);
        newcomer->wave = wave;
        newcomer->index = index;
    }
}

void channel_hub_place(struct channel_hub *hub, uint32_t rank, uint32_t beside)
{
    assert(rank >= hub->size && rank < hub->room);
    hub->ranks[rank].link = hub->ranks[beside].link;
    const struct hub_link *link = link_of(hub, rank);
    if (!link || link->fd < 0) {
        hub_rank_lose(hub, rank, CHANNEL_LOST);
    }
}

void hub_process(const struct channel_hub *hub, uint32_t rank,
                 struct channel_welcome *welcome)
{
    welcome->room = hub->room;
    welcome->wave = rank < hub->size ? 0 : newcomer_of(hub, rank)->wave;
    welcome->index = rank < hub->size ? rank : newcomer_of(hub, rank)->index;
}

bool channel_hub_next_wish(struct channel_hub *hub, uint32_t *rank, uint32_t *count)
{
    for (uint32_t r = 0; hub->wishes > 0 && r < hub->room; r++) {
        struct hub_rank *of = &hub->ranks[r];
        if (of->wish > 0 && !of->wish_taken) {
            of->wish_taken = true;
            hub->wishes--;
            *rank = r;
            *count = of->wish;
            return true;
        }
    }
    return false;
}

static enum channel_grown grown_of(int code)
{
    return code == MOOT_OK                ? CHANNEL_GROWN_WELL
           : code == MOOT_ERR_LIMIT       ? CHANNEL_GROWN_LIMIT
           : code == MOOT_ERR_UNSUPPORTED ? CHANNEL_GROWN_UNSUPPORTED
                                          : CHANNEL_GROWN_FAILED;
}

void channel_hub_answer(struct channel_hub *hub, uint32_t rank, int code,
                        uint32_t first, const char *story)
{
    const size_t size = strnlen(story, CHANNEL_STORY_MAX);
    struct channel_header header = channel_header_make(CHANNEL_GROWN, size);
    struct hub_link *link = link_of(hub, rank);
    header.rank = first;
    header.why = (uint32_t)grown_of(code);
    header.to = rank;
    struct hub_message *message = hub_message_new(&header);
    if (message) {
        memcpy(message->bytes + sizeof(header), story, size);
    }
    hub->ranks[rank].wish = 0;
    if (link) {
        hub_link_tell(hub, link, message, false);
    }
    hub_message_leave(message);
}
