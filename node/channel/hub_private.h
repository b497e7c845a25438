/* hub_private.h - what the files of the hub share. */
#ifndef NODE_CHANNEL_HUB_PRIVATE_H
#define NODE_CHANNEL_HUB_PRIVATE_H

#include "node/channel/channel_wire.h"

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

    bool came; /* to the gathering under way, and keeps `body` until it is answered */
    uint32_t gatherings;
    bool told; /* a branch: that there will be no gatherings any more */

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
};

struct channel_hub {
    uint32_t size;         /* of the job */
    uint32_t first, count; /* its own ranks: all, if it is no branch */
    int events;
    unsigned char key[CHANNEL_KEY_BYTES];
    struct hub_rank *ranks; /* all of the job */
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
};

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
