/* hub_private.h - what the files of the hub share. */
#ifndef NODE_CHANNEL_HUB_PRIVATE_H
#define NODE_CHANNEL_HUB_PRIVATE_H

#include "node/channel/channel_wire.h"
#include "node/channel/opening_set.h"
#include "proto/limits.h"

#define HUB_NO_LINK UINT32_MAX
/* The largest answer to a newcomer: all cards, and a length for each number. */
#define CHANNEL_OPENED_MAX                                                             \
    ((uint64_t)CHANNEL_GATHERED_MAX +                                                  \
     sizeof(uint32_t) * ((uint64_t)CHANNEL_RANKS_MAX + LIMIT_NEWCOMERS))

/* A message to one link or to many, as it stands on the wire. */
struct hub_message {
    size_t users, size;
    unsigned char bytes[];
};

struct letter {
    struct letter *next;
    struct hub_message *message;
    bool answers; /* a card */
};

enum link_kind { LINK_RANK, LINK_BRANCH, LINK_TRUNK };

/* One stream, and the ranks that are behind it (a trunk: none of the hub's own). */
struct hub_link {
    enum link_kind kind;
    int fd; /* -1: not any more */
    uint32_t index, first, count;
    bool writes; /* its socket is asked for room, too */

    bool came;           /* to the gathering under way, */
    unsigned char *held; /* with these cards, until it is answered, */
    bool opens;          /* and it is an opening */
    uint32_t gatherings;
    bool told;                 /* a branch: that there will be no gatherings any more */
    uint32_t news, news_known; /* the numbers of the last word of a newcomer that it was
                                  told, and of the last that it knows */

    struct channel_header header; /* of the message that comes, and its bytes */
    size_t header_got, got;
    unsigned char *body;

    struct letter *first_letter, **last_letter; /* what is to be sent, */
    size_t sent;                                /* and how much of the first has been */
    bool answering; /* the answer to its last card is among that */
};

struct hub_rank {
    uint32_t link; /* UINT32_MAX: none was added */
    bool gone, dead;
    enum channel_why why; /* it has gone, */
    uint32_t went;        /* as which of all */
    bool came;            /* to the gathering under way, with this card: */
    const unsigned char *card;
    uint32_t card_size;
    struct opening_set closed;
    uint32_t wish; /* for so many ranks more, not answered; 0: none */
    bool wish_taken;
};

struct hub_newcomer {
    uint32_t wave, index;
    bool waits;          /* for the answer to an opening, */
    uint32_t opened;     /* whose number this is: it has had so many answers, */
    uint32_t turn;       /* since it asked as which of all, */
    unsigned char *card; /* with this, until it is in the opening */
    uint32_t card_size;
};

struct hub_card {
    uint32_t rank, size;
    unsigned char *bytes;
    bool emptied; /* the rank was told that all before it have gone */
};

struct hub_opening {
    struct hub_message *cards; /* the founders' answer */
    enum channel_why why;      /* there are no cards; 0: there are */
    struct hub_card *later;    /* of newcomers, in the order in which they came */
    uint32_t later_count;
};

struct channel_hub {
    uint32_t size;         /* of the job */
    uint32_t room;         /* for so many numbers */
    uint32_t first, count; /* its own ranks: all, if it is no branch */
    int events;
    unsigned char key[CHANNEL_KEY_BYTES];
    struct hub_rank *ranks; /* all that the job has room for */
    struct hub_link *links;
    uint32_t link_count;
    struct hub_link *trunk; /* NULL: it is no branch */
    uint32_t came;          /* own ranks, to the gathering under way, */
    uint32_t lost;          /* and such as have gone and had not come */
    uint32_t gone;
    uint32_t gatherings; /* to which all own ranks have come */

    /* A branch was told that a rank will not come any more. */
    bool failed;
    struct channel_header failure;

    struct hub_newcomer *newcomers; /* from rank `size` on */
    struct hub_opening *openings;   /* all that have been, where this is no branch */
    uint32_t opening_count, opening_room;
    bool no_openings; /* there was no memory for one: their numbers are lost */
    uint64_t kept;    /* bytes of cards in openings */
    uint32_t turns;
    uint32_t joining; /* the newcomer of which all are told; 0: there is none */
    uint32_t news, news_known; /* words of newcomers, and, of a branch, answered ones */
    uint32_t news_opening;     /* the opening of the last of them */
    bool looks;                /* newcomers_look() is under way */
    uint32_t wishes;           /* that the launcher has not taken */
};

/* --- channel_hub.c ---------------------------------------------------------------- */

/* Puts it among what the link is sent, or cuts that off without memory, also of the
 * message. */
void hub_link_tell(struct channel_hub *hub, struct hub_link *link,
                   struct hub_message *message, bool answers);

/* A message without bytes; NULL without memory. */
struct hub_message *hub_word_make(enum channel_kind kind, uint32_t rank,
                                  enum channel_why why);

/* Whether the rank is that of the link, or behind it. */
bool hub_link_has(const struct channel_hub *hub, const struct hub_link *link,
                  uint32_t rank);

void hub_rank_lose(struct channel_hub *hub, uint32_t rank, enum channel_why why);

/* The first that went of the founders that have gone and come to no gathering any more;
 * there is one. */
uint32_t hub_missing(const struct channel_hub *hub);

/* --- hub_newcomers.c: ranks that are started later -------------------------------- */

bool newcomers_make(struct channel_hub *hub); /* false without memory */
void newcomers_free(struct channel_hub *hub);

/* An opening has ended with these cards, or with none because of `why`.  False without
 * memory: then there will be none for newcomers any more. */
bool opening_keep(struct channel_hub *hub, struct hub_message *cards,
                  enum channel_why why);

/* Whether such a word may come there now, and what it does when it is whole. */
bool newcomer_word_is_sound(const struct channel_hub *hub, const struct hub_link *link);
void newcomer_word_take(struct channel_hub *hub, struct hub_link *link);

/* Does what can be done for newcomers now: a rank has come, answered or gone. */
void newcomers_look(struct channel_hub *hub);
void newcomer_lose(struct channel_hub *hub, uint32_t rank);

/* The part of a welcome that says which process that is. */
void hub_process(const struct channel_hub *hub, uint32_t rank,
                 struct channel_welcome *welcome);

/* --- hub_letters.c: what goes out ------------------------------------------------- */

/* With its header, and room for its bytes; NULL without memory. */
struct hub_message *hub_message_new(const struct channel_header *header);
void hub_message_leave(struct hub_message *message); /* accepts NULL */

/* Puts it among what is to be sent; false without memory, also of the message. */
bool letter_add(struct hub_link *link, struct hub_message *message, bool answers);
void letter_drop(struct hub_link *link); /* the first */

/* The socket is to say when there is room, too, or no longer. */
void link_watch(struct channel_hub *hub, struct hub_link *link);
void link_write(struct channel_hub *hub, struct hub_link *link);

#endif
