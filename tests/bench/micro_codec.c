/* micro_codec.c - the parts below the core: a task's hash, a frame written and read,
 * the ready queue. */
#include "tests/bench/micro.h"

#include "hashing/identity.h"
#include "node/schedule/ready.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

/* --- The hash of a spec ----------------------------------------------------------- */

static volatile uint64_t sink;

static void *begin_kernel(long count)
{
    (void)count;
    struct identity_kernel *kernel = micro_alloc(1, sizeof(*kernel));
    identity_together_init();
    identity_kernel_init(kernel, "execute", 0);
    return kernel;
}

/* 32 bytes of arguments, two inputs, an owner. */
static void hash_spec(void *kernel, long i)
{
    const int64_t args[4] = {i, 1, 2, 3};
    const moot_hash inputs[2] = {{{1}}, {{2}}};
    const struct rankset owner = {.low = 2};
    moot_hash hash = identity_hash(&(struct identity){.kernel = kernel,
                                                      .args = args,
                                                      .args_size = sizeof(args),
                                                      .inputs = inputs,
                                                      .input_count = 2,
                                                      .candidates = &owner});
    sink = hash_word(&hash);
}

/* Several of these at once, as those of plain spawns are. */
static void hash_some(void *kernel, long i, size_t count)
{
    const moot_hash inputs[2] = {{{1}}, {{2}}};
    struct identity_block blocks[IDENTITY_TOGETHER_MAX];
    const struct identity_block *all[IDENTITY_TOGETHER_MAX];
    moot_hash hashes[IDENTITY_TOGETHER_MAX];
    for (size_t k = 0; k < count; k++) {
        const int64_t args[4] = {i, 1, 2, (int64_t)k};
        unsigned char *to =
            identity_block_fill(&blocks[k], kernel, args, sizeof(args), 2, 2);
        micro_check(to != NULL, "a spec is too long for a block");
        memcpy(to, inputs, sizeof(inputs));
        all[k] = &blocks[k];
    }
    identity_hash_together(all, count, hashes);
    sink = hash_word(&hashes[(size_t)i % count]);
}

static void hash_four(void *kernel, long i) { hash_some(kernel, i, 4); }

/* One by one where the processor has no lanes for them. */
static void hash_eight(void *kernel, long i) { hash_some(kernel, i, 8); }

/* --- Frames ----------------------------------------------------------------------- */

struct frame_state {
    struct wire_writer *writer;
    void *frame; /* the last that was written */
    size_t size;
    struct wire_frame read; /* into the same memory, as the host does */
    uint8_t payload[64];
};

static void write_result(struct frame_state *state, long i)
{
    struct message message = {
        .type = MESSAGE_RESULT, .epoch = 1, .view_id = 2, .hash = micro_hash(i)};
    message.u.result = (struct message_result){.owner_uid = 7,
                                               .evidence = EVIDENCE_CLAIM,
                                               .data = RESULT_EAGER,
                                               .size = sizeof(state->payload),
                                               .payload = state->payload};
    micro_check(wire_writer_add(state->writer, &message) == MOOT_OK, "writing fails");
}

/* A few results of elements, as a turn has them. */
static void write_parts(struct frame_state *state, long i)
{
    enum { PARTS = 4, EACH = 8 };
    struct message_part parts[PARTS];
    struct message message = {
        .type = MESSAGE_PARTS, .epoch = 1, .view_id = 2, .hash = micro_hash(i)};
    message.hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
    for (unsigned k = 0; k < PARTS; k++) {
        parts[k] = (struct message_part){1000 + 3 * k, EACH, PART_BYTES};
    }
    message.u.parts = (struct message_parts){.count = 4096,
                                             .homes = 64,
                                             .part_count = PARTS,
                                             .parts = parts,
                                             .bytes = state->payload,
                                             .byte_count = PARTS * EACH};
    micro_check(wire_writer_add(state->writer, &message) == MOOT_OK, "writing fails");
}

static void finish_frame(struct frame_state *state)
{
    const struct wire_envelope envelope = {
        .src_uid = 7, .dst_uid = 8, .epoch = 1, .view_id = 2};
    free(state->frame);
    state->frame = NULL;
    micro_check(wire_writer_finish(state->writer, &envelope, &state->frame,
                                   &state->size) == MOOT_OK,
                "finishing a frame fails");
}

static void *begin_frame(long count)
{
    (void)count;
    struct frame_state *state = micro_alloc(1, sizeof(*state));
    state->writer = wire_writer_new();
    micro_check(state->writer != NULL, "no memory");
    write_result(state, 0);
    finish_frame(state);
    return state;
}

static void encode_frame(void *argument, long i)
{
    write_result(argument, i);
    finish_frame(argument);
}

static void decode_frame(void *argument, long i)
{
    struct frame_state *state = argument;
    const char *why;
    (void)i;
    micro_check(wire_frame_decode_again(state->frame, state->size, &state->read,
                                        &why) == MOOT_OK,
                "a frame is refused");
}

static void *begin_parts(long count)
{
    struct frame_state *state = begin_frame(count);
    write_parts(state, 0);
    finish_frame(state);
    return state;
}

static void encode_parts(void *argument, long i)
{
    write_parts(argument, i);
    finish_frame(argument);
}

static void end_frame(void *argument)
{
    struct frame_state *state = argument;
    wire_writer_free(state->writer);
    wire_frame_release(&state->read);
    free(state->frame);
    free(state);
}

/* --- The ready queue -------------------------------------------------------------- */

enum { READY_DEPTH = 64 };

struct ready_state {
    struct ready ready;
    struct task tasks[READY_DEPTH];
};

static void *begin_ready(long count)
{
    (void)count;
    struct ready_state *state = micro_alloc(1, sizeof(*state));
    for (int i = 0; i < READY_DEPTH; i++) {
        state->tasks[i].stage = TASK_READY;
        micro_check(ready_push(&state->ready, &state->tasks[i]), "no memory");
    }
    return state;
}

/* One out and in again, among so many others. */
static void pop_and_push(void *argument, long i)
{
    struct ready_state *state = argument;
    (void)i;
    struct task *task = ready_pop(&state->ready);
    micro_check(task != NULL && ready_push(&state->ready, task), "the queue is empty");
}

static void end_ready(void *argument)
{
    struct ready_state *state = argument;
    ready_release(&state->ready);
    free(state);
}

const struct micro micro_codec[] = {
    {"hash", begin_kernel, hash_spec, free},
    {"hash-four", begin_kernel, hash_four, free},
    {"hash-eight", begin_kernel, hash_eight, free},
    {"encode", begin_frame, encode_frame, end_frame},
    {"decode", begin_frame, decode_frame, end_frame},
    {"encode-parts", begin_parts, encode_parts, end_frame},
    {"decode-parts", begin_parts, decode_frame, end_frame},
    {"ready-pop-push", begin_ready, pop_and_push, end_ready},
    {0}};
