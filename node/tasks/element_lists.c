/* element_lists.c - the lists of arrays that take others, and of their links
 * (element_inputs.h): what is to be sent, what is to be looked at, and what has yet to
 * end.  Nothing here depends on how long they are but taking a link off.
 */
#include "node/tasks/element_inputs.h"

#include "node/context/context.h"

/* --- To be sent ------------------------------------------------------------------- */

void link_list(struct moot *m, struct element_link *link)
{
    if (!link->listed && link->schedule->taker_count > 0) {
        link->listed = true;
        link->next_unsent = m->tasks.unsent;
        m->tasks.unsent = link;
    }
}

void link_unlist(struct moot *m, struct element_link *link)
{
    struct element_link **at = &m->tasks.unsent;
    while (link->listed && *at != link) {
        at = &(*at)->next_unsent;
    }
    if (link->listed) {
        *at = link->next_unsent;
        link->listed = false;
    }
    while (link->fresh_count > 0) {
        link->is_fresh[link->fresh[--link->fresh_count]] = false;
    }
}

/* --- To be looked at -------------------------------------------------------------- */

void link_look(struct moot *m, struct element_link *link)
{
    if (!link->to_look) {
        struct element_link **last =
            m->tasks.to_look != NULL ? m->tasks.last_to_look : &m->tasks.to_look;
        link->to_look = true;
        link->next_to_look = NULL;
        *last = link;
        m->tasks.last_to_look = &link->next_to_look;
    }
}

struct element_link *link_to_look(struct moot *m)
{
    struct element_link *link = m->tasks.to_look;
    if (link != NULL) {
        m->tasks.to_look = link->next_to_look;
        link->to_look = false;
    }
    return link;
}

void link_look_no_more(struct moot *m, struct element_link *link)
{
    struct element_link **at = &m->tasks.to_look;
    while (link->to_look && *at != link) {
        at = &(*at)->next_to_look;
    }
    if (link->to_look) {
        *at = link->next_to_look;
        link->to_look = false;
        m->tasks.last_to_look = *at == NULL ? at : m->tasks.last_to_look;
    }
}

/* --- Arrays that take others ------------------------------------------------------ */

void links_list(struct moot *m, struct elements *elements)
{
    struct elements **last =
        m->tasks.last_taking != NULL ? m->tasks.last_taking : &m->tasks.taking;
    if (elements->taking == NULL) {
        elements->taking = last;
        elements->next_taking = NULL;
        *last = elements;
        m->tasks.last_taking = &elements->next_taking;
    }
}

void links_close(struct moot *m, struct elements *elements)
{
    if (elements->taking == NULL) {
        return;
    }
    *elements->taking = elements->next_taking;
    if (elements->next_taking != NULL) {
        elements->next_taking->taking = elements->taking;
    } else {
        m->tasks.last_taking = elements->taking;
    }
    elements->taking = NULL;
    for (int i = 0; i < LINKS_CURSORS; i++) {
        if (m->tasks.taking_at[i] == elements) {
            m->tasks.taking_at[i] = elements->next_taking;
        }
    }
}

struct elements *links_next(struct moot *m, enum links_cursor cursor)
{
    struct elements *next = m->tasks.taking_at[cursor];
    m->tasks.taking_at[cursor] = next != NULL ? next->next_taking : m->tasks.taking;
    return next;
}

void links_first(struct moot *m, enum links_cursor cursor)
{
    m->tasks.taking_at[cursor] = m->tasks.taking;
}

void links_news(struct moot *m) { m->tasks.element_news++; }
