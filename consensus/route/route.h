/* route.h - which hosts of a job speak with each other directly, and by which of them a
 * frame for another host goes.
 *
 *     mesh        all do
 *     star:HOST   all with HOST, through which the others speak
 *     tree:K      host i with host (i - 1) / K, in the order of their lowest ranks
 *     links:A-B,B-C   those that are named
 *     @FILE       likewise, a link in a line: two names and a blank between, and behind
 *                 a # what is for people
 *
 * Star and tree are there to have few connections, so without a host they are made anew
 * of the others: the next host is the star's middle, and a host's place in the tree is
 * below the nearest that is left above it.  A table says which hosts can reach each
 * other at all, and nothing goes past it.
 *
 * Pure: hosts are numbers, and what is known of them comes in.  All hosts that know the
 * same find ways that fit together; those that do not may send a frame in a circle,
 * which is for who carries it to end.
 */
#ifndef CONSENSUS_ROUTE_ROUTE_H
#define CONSENSUS_ROUTE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

enum {
    ROUTE_CHILDREN_MAX = 1024, /* K */
    ROUTE_HOPS_MAX = 64        /* from host to host, on the longest way */
};

enum route_host {
    ROUTE_UP,
    ROUTE_SILENT, /* this host cannot reach it, at present */
    ROUTE_GONE    /* nothing goes through it any more */
};

struct route;

/* Reads a route's word, behind which a file's text stands if it is one, of the hosts
 * with these names ("": without one).  A host may be called by its address, too, if no
 * other has that for a name; `addresses` may be NULL.  *out is NULL for a mesh. CONFIG:
 * it is none, names a host that is not there, has no way from one host to another, or a
 * way that is too long; the story names the knob and the place.
 */
int route_new(const char *text, const char *const *names, const char *const *addresses,
              uint32_t hosts, struct route **out, char *story, size_t story_size);
void route_free(struct route *route); /* accepts NULL */

/* For each host the one to which host `from` sends what is for it, or for a rank of it:
 * one that it speaks with directly.  `hosts` says of each what `from` knows.  Uses
 * memory of the route's. */
void route_find(struct route *route, uint32_t from, const enum route_host *hosts,
                uint32_t *next);

#endif
