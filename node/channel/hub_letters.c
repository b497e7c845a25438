/* hub_letters.c - what a hub has to send; see hub_private.h. */
#include "node/channel/hub_private.h"

#include <sodium.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct hub_message *hub_message_new(const struct channel_header *header)
{
    struct hub_message *message =
        malloc(sizeof(*message) + sizeof(*header) + (size_t)header->size);
    if (message) {
        message->users = 1;
        message->size = sizeof(*header) + (size_t)header->size;
        memcpy(message->bytes, header, sizeof(*header));
    }
    return message;
}

void hub_message_leave(struct hub_message *message)
{
    if (message && --message->users == 0) {
        sodium_memzero(message->bytes, message->size); /* the key */
        free(message);
    }
}

bool letter_add(struct hub_link *link, struct hub_message *message, bool answers)
{
    struct letter *letter = message ? malloc(sizeof(*letter)) : NULL;
    if (!letter) {
        return false;
    }
    *letter = (struct letter){.message = message, .answers = answers};
    message->users++;
    link->answering |= answers;
    *link->last_letter = letter;
    link->last_letter = &letter->next;
    return true;
}

void letter_drop(struct hub_link *link)
{
    struct letter *letter = link->first_letter;
    link->first_letter = letter->next;
    link->last_letter = link->first_letter ? link->last_letter : &link->first_letter;
    link->answering = link->answering && !letter->answers;
    link->sent = 0;
    hub_message_leave(letter->message);
    free(letter);
}

void link_watch(struct channel_hub *hub, struct hub_link *link)
{
    const bool writes = link->first_letter != NULL;
    struct epoll_event event = {.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.u32 = link->index};
    if (writes != link->writes &&
        epoll_ctl(hub->events, EPOLL_CTL_MOD, link->fd, &event) == 0) {
        link->writes = writes;
    }
}

void link_write(struct channel_hub *hub, struct hub_link *link)
{
    while (link->first_letter) {
        const struct hub_message *message = link->first_letter->message;
        const ssize_t put =
            send(link->fd, message->bytes + link->sent, message->size - link->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0) { /* of one that has closed its end reading tells */
            break;
        }
        link->sent += (size_t)put;
        if (link->sent == message->size) {
            letter_drop(link);
        }
    }
    link_watch(hub, link);
}
