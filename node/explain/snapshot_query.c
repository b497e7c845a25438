/* snapshot_query.c - see snapshot_query.h. */
#include "node/explain/snapshot_query.h"

#include "node/engine/outbox.h"
#include "node/explain/query_targets.h"
#include "node/members/members.h"
#include "node/session/session.h"

#include <stdlib.h>
#include <string.h>

/* How long answers of one round may take, and how many rounds there are: a chain of
 * waits over as many ranks is followed to its end. */
#define ROUND_NS UINT64_C(500000000)
enum { ROUNDS_MAX = 12, ASK_ALL_MAX = 64 };

struct asked {
    Moot__Account *account;
    uint64_t asked_ns;    /* the last time; 0: not in this inquiry */
    uint64_t answered_ns; /* 0: it has not answered that */
    uint32_t spoken_for;  /* of so many tasks was it asked to speak */
};

struct inquiry {
    uint32_t size;
    struct asked *ranks;
    uint64_t number;
    unsigned purposes;
    uint32_t rounds;  /* begun; 0: none is open */
    uint64_t due_ns;  /* of the round */
    uint32_t missing; /* answers of the round */
};

bool inquiry_open(struct moot *m)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));
    if (inquiry != NULL) {
        inquiry->size = m->group.size;
        inquiry->ranks = calloc(inquiry->size, sizeof(*inquiry->ranks));
    }
    if (inquiry != NULL && inquiry->ranks == NULL) {
        free(inquiry);
        inquiry = NULL;
    }
    m->explain.inquiry = inquiry;
    return inquiry != NULL;
}

static void forget_answers(struct inquiry *inquiry)
{
    for (uint32_t rank = 0; rank < inquiry->size; rank++) {
        account_free(inquiry->ranks[rank].account);
        inquiry->ranks[rank] = (struct asked){0};
    }
}

void inquiry_release(struct moot *m)
{
    struct inquiry *inquiry = m->explain.inquiry;
    if (inquiry != NULL) {
        forget_answers(inquiry);
        free(inquiry->ranks);
        free(inquiry);
    }
}

/* --- Asking --------------------------------------------------------------------- */

static bool can_answer(const struct moot *m, uint32_t rank)
{
    return rank != m->group.rank && members_is_here(m, rank) &&
           !m->members.all[rank].left;
}

static void ask(struct moot *m, uint32_t rank, const struct question *question)
{
    struct inquiry *inquiry = m->explain.inquiry;
    struct message message = {.type = MESSAGE_INQUIRY};
    message.u.inquiry = (struct message_inquiry){
        .number = inquiry->number,
        .hashes = question->hashes,
        .count = question->count,
    };
    inquiry->ranks[rank].asked_ns = m->now_ns;
    inquiry->ranks[rank].answered_ns = 0;
    inquiry->missing++;
    outbox_add_own(m, rank, &message);
}

static bool look_at_self(struct moot *m)
{
    size_t size = 0;
    uint8_t *bytes = account_pack(m, NULL, 0, &size);
    struct asked *self = &m->explain.inquiry->ranks[m->group.rank];
    self->account = bytes != NULL ? account_read(bytes, size) : NULL;
    self->answered_ns = m->now_ns;
    free(bytes);
    return self->account != NULL;
}

/* The first round asks everyone about everything, or, of many ranks, like all others,
 * those that something hangs on. */
static void ask_round(struct moot *m)
{
    struct inquiry *inquiry = m->explain.inquiry;
    struct picture picture = {0};
    struct question question;
    bool all = inquiry->rounds == 0 && transport_group_ever(&m->group) <= ASK_ALL_MAX;
    inquiry->number++;
    inquiry->missing = 0;
    inquiry->due_ns = m->now_ns + ROUND_NS;
    inquiry->rounds++;
    bool good = inquiry_picture(m, m->now_ns, &picture);
    struct questions *questions = good ? questions_new(&picture, all) : NULL;
    free(picture.seats);
    if (questions == NULL) {
        return;
    }
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        struct asked *asked = &inquiry->ranks[rank];
        bool deaf = asked->asked_ns != 0 && asked->account == NULL;
        if (!can_answer(m, rank) || deaf) {
            continue;
        }
        questions_put(questions, rank, &question);
        if (!all && (!question.fresh || question.count <= asked->spoken_for)) {
            continue; /* there is nothing that it could add */
        }
        asked->spoken_for = all ? 0 : question.count;
        ask(m, rank, &question);
    }
    questions_free(questions);
}

void inquiry_want(struct moot *m, unsigned purpose)
{
    struct inquiry *inquiry = m->explain.inquiry;
    inquiry->purposes |= purpose;
    if (inquiry->rounds > 0) {
        return;
    }
    forget_answers(inquiry);
    if (look_at_self(m)) {
        ask_round(m);
    } else {
        inquiry->purposes = 0;
    }
}

unsigned inquiry_look(struct moot *m, uint64_t now_ns)
{
    struct inquiry *inquiry = m->explain.inquiry;
    if (inquiry->rounds == 0 || (inquiry->missing > 0 && now_ns < inquiry->due_ns)) {
        return 0;
    }
    if (inquiry->rounds < ROUNDS_MAX) {
        ask_round(m);
        if (inquiry->missing > 0) {
            return 0;
        }
    }
    unsigned purposes = inquiry->purposes;
    inquiry->purposes = 0;
    inquiry->rounds = 0;
    return purposes;
}

bool inquiry_picture(const struct moot *m, uint64_t now_ns, struct picture *picture)
{
    const struct inquiry *inquiry = m->explain.inquiry;
    const uint32_t ever = transport_group_ever(&m->group);
    *picture = (struct picture){.rank = m->group.rank, .size = ever};
    picture->seats = calloc(ever, sizeof(*picture->seats));
    for (uint32_t rank = 0; picture->seats != NULL && rank < ever; rank++) {
        const struct asked *asked = &inquiry->ranks[rank];
        picture->seats[rank] = (struct seat){
            .account = asked->account,
            .age_ns = asked->account != NULL ? now_ns - asked->answered_ns : 0,
            .asked_ns = asked->account == NULL && asked->asked_ns != 0
                            ? now_ns - asked->asked_ns
                            : 0,
        };
    }
    return picture->seats != NULL && picture->seats[picture->rank].account != NULL;
}

/* --- Answers -------------------------------------------------------------------- */

/* A rank that was removed gets no answer. */
static void answer_inquiry(struct moot *m, uint32_t from,
                           const struct message_inquiry *said)
{
    size_t size = 0;
    uint8_t *bytes = said->number == INQUIRY_OF_REST
                         ? account_pack_self(m, &size)
                         : account_pack(m, said->hashes, said->count, &size);
    if (bytes == NULL) {
        return; /* it will take this rank for a silent one */
    }
    struct message message = {.type = MESSAGE_ACCOUNT};
    message.u.account =
        (struct message_account){.number = said->number, .bytes = bytes, .size = size};
    outbox_add_own(m, from, &message);
    free(bytes);
}

bool inquiry_take(struct moot *m, uint32_t from, const struct message *message)
{
    if (message->u.inquiry.number == INQUIRY_OF_SESSION) {
        session_answer(m, from);
        return false;
    }
    if (members_is_here(m, from)) {
        answer_inquiry(m, from, &message->u.inquiry);
    }
    if (message->u.inquiry.number != INQUIRY_OF_REST) {
        m->explain.asked_ns = m->now_ns;
    }
    return false;
}

void inquiry_on_account(struct moot *m, uint32_t from,
                        const struct message_account *said)
{
    struct inquiry *inquiry = m->explain.inquiry;
    struct asked *asked = &inquiry->ranks[from];
    Moot__Account *account = said->number == inquiry->number && asked->answered_ns == 0
                                 ? account_read(said->bytes, said->size)
                                 : NULL;
    if (account == NULL || account->rank != from || account->size > inquiry->size) {
        account_free(account);
        return;
    }
    account_free(asked->account);
    asked->account = account;
    asked->answered_ns = m->now_ns;
    inquiry->missing -= inquiry->missing > 0;
}
