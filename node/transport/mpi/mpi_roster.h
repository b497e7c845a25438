/* mpi_roster.h - what a rank keeps of all that have come, so that it can tell
 * newcomers: a part of mpi.c, after whose includes it stands.
 *
 * Only a moot that has room for newcomers has a roster (MOOT_MAX).
 */
#ifndef NODE_TRANSPORT_MPI_MPI_ROSTER_H
#define NODE_TRANSPORT_MPI_MPI_ROSTER_H

struct mpi_card {
    struct hello hello;
    struct process_origin origin;
};

struct mpi_roster {
    struct mpi_card *cards; /* by number; NULL: no ranks join */
    uint32_t size;          /* numbers; */
    uint32_t ever;          /* of them those below this one have been given */
    uint32_t founders;
    uint32_t waves;
    uint32_t most; /* ranks at a time */
    bool threads;  /* of all that have come: MPI_THREAD_MULTIPLE */
    bool grown;    /* newcomers have come, or this rank is one */
    void *blob;    /* rank 0's */
    size_t blob_size;
};

/* How many numbers a moot has that begins with so many ranks and may have up to `most`.
 */
static uint32_t roster_room(uint32_t founders, uint32_t most)
{
    const bool fits = founders + (uint32_t)LIMIT_NEWCOMERS <= (uint32_t)LIMIT_RANKS;
    return most >= founders && fits ? founders + (uint32_t)LIMIT_NEWCOMERS : founders;
}

static void roster_release(struct mpi_roster *roster)
{
    free(roster->cards);
    free(roster->blob);
    *roster = (struct mpi_roster){.cards = NULL};
}

/* For a group with room, whose blob is known; false without memory. */
static bool roster_make(struct mpi_roster *roster, const struct transport_group *group)
{
    roster->size = group->size;
    roster->founders = roster->ever = group->founders;
    roster->waves = 1;
    roster->threads = group->threads;
    roster->cards = calloc(group->size, sizeof(*roster->cards));
    roster->blob = malloc(group->blob_size + 1);
    roster->blob_size = group->blob_size;
    if (roster->cards == NULL || roster->blob == NULL) {
        roster_release(roster);
        return false;
    }
    memcpy(roster->blob, group->blob, group->blob_size);
    return true;
}

/* Enters the card of a rank that has this number. */
static void roster_enter(struct mpi_roster *roster, uint32_t number,
                         const struct mpi_card *card)
{
    roster->cards[number] = *card;
    roster->threads = roster->threads && card->hello.threads != 0;
    roster->ever = number >= roster->ever ? number + 1 : roster->ever;
    roster->waves =
        card->origin.wave >= roster->waves ? card->origin.wave + 1 : roster->waves;
}

/* A newcomer shares a host with the first whose process numbers can be compared with
 * its own; else it is alone on its host. */
static uint32_t roster_host(const struct mpi_card *cards, uint32_t count,
                            uint32_t number, const struct hello *hello)
{
    for (uint32_t other = 0; other < count && hello->process.space != 0; other++) {
        if (cards[other].hello.process.space == hello->process.space) {
            return (uint32_t)cards[other].hello.host;
        }
    }
    return number;
}

#endif
