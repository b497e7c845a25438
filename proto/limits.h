/* limits.h - every limit of libmoot, and how they relate.
 *
 * A limit is checked where data come in: at the public call, and before anything that
 * came over a wire is unpacked.  Inside, code may rely on it.
 */
#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

#include <assert.h>

#define LIMIT_RETRIES 1000u                /* of a kernel that fails */
#define LIMIT_MEETINGS (UINT64_C(1) << 62) /* that a rank comes to */
#define LIMIT_WORDS_BYTES (1u << 16)       /* of all that come to a meeting, together */
#define LIMIT_SNAPSHOT_NAME_BYTES 64u      /* a snapshot's name, without the NUL */
#define LIMIT_SNAPSHOT_DIGEST_BYTES 32u    /* what names a rank's part of one */
#define LIMIT_RANKS 16384u                 /* members of one moot */
#define LIMIT_KERNELS 4096u                /* kernels of one context */
#define LIMIT_KERNEL_NAME_BYTES 128u       /* without the NUL */
#define LIMIT_SIGNATURES 16u               /* of a program, in one message */
#define LIMIT_BUILD_BYTES 32u              /* of a build id; the rest is cut */
#define LIMIT_ARGS_BYTES (1u << 20)        /* by-value arguments of one task */
#define LIMIT_KEY_BYTES 256u               /* a task's key */
#define LIMIT_LABEL_BYTES 64u              /* a task's label; a longer one is cut */
#define LIMIT_PSET_BYTES 64u      /* a process set's name that a program gives */
#define LIMIT_PSET_HOST_BYTES 71u /* a host's in that of its sets; else cut */
#define LIMIT_PSET_NAME_BYTES 96u /* a process set's name, whoever gives it */
#define LIMIT_SITE_BYTES 160u     /* "file:line" in reports; a longer one is cut */
#define LIMIT_INPUTS 4096u        /* inputs plus after of one task */
#define LIMIT_SCOPE_NAME_BYTES 128u
#define LIMIT_SCOPE_DEPTH 32u
#define LIMIT_GROUP_DEPTH 64u
#define LIMIT_QUEUE_DEPTH 64u   /* task queues of one thread or running task */
#define LIMIT_QUEUE_LINES 4096u /* kinds of stacks of queues that tasks inherit */
#define LIMIT_LANES 1024u       /* threads that spawn top-level tasks */
#define LIMIT_TASKS (1u << 28)  /* live tasks of one rank */
#define LIMIT_RUNS 1024u        /* kernels of one rank begun and not ended */
#define LIMIT_DATA (1u << 24)   /* live data handles of one rank */
#define LIMIT_PARTS 64u         /* of one result: handles that one task writes */
#define LIMIT_VOTERS 15u
#define LIMIT_ERROR_STORY_BYTES 4096u /* an error chain on the wire */
#define LIMIT_ASKERS 16384u           /* askers in one DECISION */
#define LIMIT_ROLL_HASHES 4096u       /* hashes in one HASHES message */
#define LIMIT_FAMILY_HASHES 4096u     /* children in one FAMILY message */
#define LIMIT_ELEMENT_RANGES 256u     /* of places, in one ELEMENTS message */
#define LIMIT_ARRAY_INPUTS 16u        /* inputs of an array */
#define LIMIT_MAPS_BYTES (1u << 16)   /* arguments of maps, in one spec */
#define LIMIT_PART_RANGES 4096u       /* of places, in a rank's part of an array */
#define LIMIT_ELEMENT_PARTS 1024u     /* results of elements, in one PARTS message, */
#define LIMIT_ELEMENT_PARTS_BYTES (1u << 16) /* and their bytes, together */
#define LIMIT_LOT_HASHES 1056u               /* tasks and marks in one LOT message */
#define LIMIT_CHASE_HOPS 1024u               /* tasks in one reported cycle */
#define LIMIT_NEWCOMERS 64u                  /* in one view */
#define LIMIT_ROLL_BEGINS                                                              \
    (1ull << 32)             /* the place behind which a newcomer's begins             \
                              */
#define LIMIT_PAST_VIEWS 64u /* that not all of their members have settled */
#define LIMIT_LOSSES 64u     /* that a view tells newcomers of */
#define LIMIT_REPORT_ENTRIES                                                           \
    16384u /* in one REPORT; a rank sends as many as it takes */

#define LIMIT_CENSUS_ENTRIES                                                           \
    16384u /* in one CENSUS; a rank sends as many as it takes */

#define LIMIT_INQUIRY_HASHES 256u      /* tasks in one INQUIRY */
#define LIMIT_ACCOUNT_BYTES (1u << 18) /* what a rank says of itself, packed */
#define LIMIT_ACCOUNT_LANES 64u        /* of each, how many it tells of */
#define LIMIT_ACCOUNT_WAITS 64u
#define LIMIT_ACCOUNT_TASKS 256u
#define LIMIT_ACCOUNT_PEERS 128u
#define LIMIT_ACCOUNT_NUMBERS 64u      /* figures, and as many timers */
#define LIMIT_ACCOUNT_SETS 32u         /* process sets */
#define LIMIT_ACCOUNT_CHANGES 64u      /* members that have come or gone */
#define LIMIT_ACCOUNT_SPAWNS 256u      /* lines and kernels, of each */
#define LIMIT_ACCOUNT_SAMPLES 4u       /* arguments of so many tasks, */
#define LIMIT_ACCOUNT_SAMPLE_BYTES 64u /* and none that are longer */

#define LIMIT_EAGER_BYTES (8u << 10) /* results up to this ride with their message */
#define LIMIT_PUSH_BYTES (2u << 20)  /* up to these they are pushed unasked */
#define LIMIT_FRAME_BYTES (4u << 20) /* one frame, all messages and payloads */
#define LIMIT_FRAME_MESSAGES 16384u
#define LIMIT_PART_BYTES                                                               \
    (256u << 10)              /* a result goes in parts, of so much or more,           \
                               */
#define LIMIT_PARTS 64u       /* and of so many at most */
#define LIMIT_DIRECT_MAX 64u  /* ranks that speak with all others */
#define LIMIT_TREE_FANOUT 64u /* ranks that get a result's bytes from one */
#define LIMIT_BULK_PIECE_BYTES (1u << 30) /* large results travel in pieces of this */
#define LIMIT_RESULT_BYTES (1ull << 44)   /* one result */

static_assert(LIMIT_ARGS_BYTES + LIMIT_INPUTS * 32u + (1u << 16) < LIMIT_FRAME_BYTES,
              "a task's spec fits into one frame");
static_assert(LIMIT_EAGER_BYTES * 8 < LIMIT_FRAME_BYTES,
              "eager results fit in a frame");
static_assert(LIMIT_EAGER_BYTES < LIMIT_PUSH_BYTES, "else no push goes in bulk");
static_assert(LIMIT_ROLL_HASHES * (16u + LIMIT_SITE_BYTES + 8u) < LIMIT_FRAME_BYTES,
              "a whole chunk with its call sites fits into one frame");
static_assert(LIMIT_FAMILY_HASHES * 16u + 64u < LIMIT_FRAME_BYTES,
              "children fit a frame");
static_assert(LIMIT_ELEMENT_PARTS * 20u + LIMIT_ELEMENT_PARTS_BYTES + 64u <
                  LIMIT_ARGS_BYTES,
              "results of elements fit where a task's arguments do");
static_assert(LIMIT_EAGER_BYTES <= LIMIT_ELEMENT_PARTS_BYTES,
              "what one RESULT carries fits one PARTS");
static_assert(LIMIT_REPORT_ENTRIES * 64u + 64u < LIMIT_FRAME_BYTES,
              "a whole report fits into one frame");
static_assert(LIMIT_CENSUS_ENTRIES * 32u + 64u < LIMIT_FRAME_BYTES,
              "a whole census fits into one frame");
static_assert((LIMIT_PAST_VIEWS + 2u * LIMIT_LOSSES + 4u) * (LIMIT_RANKS / 8u + 10u) +
                      LIMIT_NEWCOMERS * (24u + LIMIT_LANES * 6u) + 64u <
                  LIMIT_FRAME_BYTES,
              "a view with its history fits into one frame");
static_assert(LIMIT_WORDS_BYTES * 4 < LIMIT_FRAME_BYTES, "words fit into a frame");
static_assert(LIMIT_ACCOUNT_BYTES * 4 < LIMIT_FRAME_BYTES, "accounts fit into a frame");
static_assert(LIMIT_ASKERS >= LIMIT_RANKS, "every rank may ask");
static_assert((LIMIT_CHASE_HOPS & (LIMIT_CHASE_HOPS - 1)) == 0,
              "marks are set from there on, at powers of two");

#endif
