/* transport_test.c - one suite over every transport: what transport.h promises.
 *
 *   transport_test              ranks are threads, over the in-process transport
 *   mpirun -n N transport_test mpi        over rings and MPI
 *   mpirun -n N transport_test mpi plain  over MPI alone
 *   moot run -n N --launcher local transport_test carrier WORD         over rings, and
 *   moot run -n N --launcher local transport_test carrier WORD plain   over that wire
 *
 * Each case is run by every rank of a fresh group, as the engine would: it keeps
 * polling until what the case is about has happened, and a case that waits longer than
 * PATIENCE_SECONDS has failed.  MOOT_TEST_HUGE=1 adds a transfer above 2 GiB;
 * MOOT_TEST_SMALL=1 makes the largest one 20 MB.
 */
#include "node/channel/channel.h"
#include "node/transport/carrier/carrier.h"
#include "node/transport/mpi/mpi.h"
#include "tests/conformance/party.h"
#include <mpi.h>
#include <pthread.h>

static bool plain;  /* the transport is told to do without rings */
static bool routed; /* not all ranks speak with all */

/* --- The cases -------------------------------------------------------------------- */

static void ranks_see_one_group(struct party *p)
{
    const struct transport_group *g = &p->group;
    CHECK(p, g->blob_size == 7 && !memcmp(g->blob, "blob 0", 7));
    for (uint32_t r = 0; r < g->size; r++) {
        CHECK(p, g->uids[r] != 0);
        CHECK(p, g->hosts[r] == g->hosts[0]); /* the suite runs on one host */
        for (uint32_t s = 0; s < r; s++) {
            CHECK(p, g->uids[r] != g->uids[s]);
        }
    }
    CHECK(p, p->t->ops->name && p->t->ops->flushed(p->t));
}

/* Every rank to every other, both ways at once, of sizes around what wires switch
 * protocols at. */
static void frames_keep_their_order(struct party *p)
{
    static const size_t sizes[] = {HEADER_BYTES, 1,    100, 4000, 4001,
                                   4096,         9000, 64,  70000};
    enum { FRAMES = 700 };
    const uint64_t all = (uint64_t)FRAMES * (p->group.size - 1);
    for (int i = 0; i < FRAMES; i++) {
        for (uint32_t to = 0; to < p->group.size; to++) {
            if (to != p->group.rank) {
                CHECK(p, send_frame(p, to, sizes[i % 9], 0) == MOOT_OK);
            }
        }
        if (i % 3 == 0) {
            CHECK(p, poll_some(p, PLENTY) >= 0);
        }
    }
    POLL_UNTIL(p, sum(p->got) == all && p->t->ops->flushed(p->t));
    struct transport_stats stats;
    p->t->ops->stats(p->t, &stats);
    CHECK(p, stats.frames_sent == all && stats.frames_received == all);
    CHECK(p, stats.bytes_sent == p->frame_bytes_sent);
    CHECK(p, stats.bytes_received == p->frame_bytes_got);
    if (p->t->ops->place && p->group.size > 1) {
        CHECK(p, (p->placed > 0) == !plain);
    }
}

/* Far more than a ring holds, of lengths that fill it up to every place, to a peer that
 * does not look for long. */
static void frames_wait_for_who_does_not_look(struct party *p)
{
    enum { FRAMES = 3000, LOOKS = 97 };
    const uint32_t right = right_of(p);
    if (p->group.size == 1) {
        return;
    }
    for (size_t i = 0; i < FRAMES; i++) {
        CHECK(p, send_frame(p, right, HEADER_BYTES + i * 53 % 2900, 0) == MOOT_OK);
        if (i % LOOKS == 0) {
            CHECK(p, poll_some(p, PLENTY) >= 0);
        }
    }
    POLL_UNTIL(p, sum(p->got) == FRAMES && p->t->ops->flushed(p->t));
}

/* The lengths at which frames begin to go another way: a ring takes a quarter of its 8
 * to 64 KiB, and MPI's short frames end at 4,000 bytes. */
static void frames_keep_their_order_where_their_way_changes(struct party *p)
{
    static const size_t edges[] = {2048, 4000, 4096, 8192, 16384};
    enum { EDGES = sizeof(edges) / sizeof(*edges), ROUNDS = 20, AROUND = 9 };
    if (p->group.size == 1) {
        return;
    }
    for (size_t i = 0; i < (size_t)ROUNDS * EDGES; i++) {
        for (size_t k = 0; k < AROUND; k++) {
            CHECK(p, send_frame(p, right_of(p), edges[i % EDGES] + k - AROUND / 2, 0) ==
                         MOOT_OK);
        }
        CHECK(p, send_frame(p, right_of(p), HEADER_BYTES, 0) == MOOT_OK);
        CHECK(p, poll_some(p, PLENTY) >= 0);
    }
    POLL_UNTIL(p, sum(p->got) == (uint64_t)ROUNDS * EDGES * (AROUND + 1) &&
                      p->t->ops->flushed(p->t));
}

/* Nobody polls before everything is sent: a wire that blocks would never get there. */
static void large_frames_cross_without_blocking(struct party *p)
{
    if (p->group.size == 1) {
        return;
    }
    for (int i = 0; i < 5; i++) {
        CHECK(p, send_frame(p, right_of(p), LIMIT_FRAME_BYTES, 0) == MOOT_OK);
        CHECK(p, send_frame(p, right_of(p), 20, 0) == MOOT_OK); /* must not overtake */
    }
    CHECK(p, !p->t->ops->flushed(p->t));
    CHECK(p, p->t->ops->backlog(p->t, p->group.uids[right_of(p)]) > 0);
    POLL_UNTIL(p, sum(p->got) == 10 && p->t->ops->flushed(p->t));
    CHECK(p, p->t->ops->backlog(p->t, p->group.uids[right_of(p)]) == 0);
}

static void poll_hands_over_at_most_what_it_is_asked_for(struct party *p)
{
    if (p->group.size == 1) {
        return;
    }
    for (int i = 0; i < 50; i++) {
        CHECK(p, send_frame(p, right_of(p), 32, 0) == MOOT_OK);
    }
    CHECK(p, poll_some(p, 0) == 0);
    while (sum(p->got) < 50) {
        const uint64_t before = sum(p->got);
        if (poll_some(p, 3) < 0) {
            break;
        }
        CHECK(p, sum(p->got) - before <= 3);
    }
    POLL_UNTIL(p, sum(p->got) == 50 && p->t->ops->flushed(p->t));
}

static void what_cannot_be_sent_is_refused(struct party *p)
{
    const struct transport_ops *ops = p->t->ops;
    const uint64_t me = p->group.uids[p->group.rank], stranger = 12345;
    char byte = 0;
    CHECK(p, ops->send(p->t, me, malloc(8), 8) == MOOT_ERR_INVALID);
    CHECK(p, *ops->story(p->t) != '\0');
    CHECK(p, ops->send(p->t, stranger, malloc(8), 8) == MOOT_ERR_INVALID);
    CHECK(p, ops->bulk_send(p->t, me, &byte, 1, NULL) == MOOT_ERR_INVALID);
    CHECK(p, ops->bulk_send(p->t, stranger, &byte, 1, NULL) == MOOT_ERR_INVALID);
    CHECK(p, ops->bulk_receive(p->t, me, &byte, 1, NULL) == MOOT_ERR_INVALID);
    CHECK(p, ops->bulk_receive(p->t, stranger, &byte, 1, NULL) == MOOT_ERR_INVALID);
    CHECK(p, ops->backlog(p->t, stranger) == 0);
    ops->forget(p->t, stranger);
    if (p->group.size > 1) {
        const uint64_t right = p->group.uids[right_of(p)];
        CHECK(p, ops->send(p->t, right, malloc(1), 0) == MOOT_ERR_LIMIT);
        CHECK(p, ops->send(p->t, right, malloc(LIMIT_FRAME_BYTES + 1),
                           LIMIT_FRAME_BYTES + 1) == MOOT_ERR_LIMIT);
        CHECK(p, send_frame(p, right_of(p), 32, 0) == MOOT_OK); /* and nothing broke */
        POLL_UNTIL(p, sum(p->got) == 1 && ops->flushed(p->t));
    }
    CHECK(p, ops->flushed(p->t));
}

static void bulk_transfers_of_any_size_arrive(struct party *p)
{
    static const size_t sizes[] = {0, 1, 4095, 100000, 0, 9000000};
    if (p->group.size == 1) {
        return;
    }
    p->announces = true;
    for (int i = 0; i < 6; i++) {
        send_bulk(p, right_of(p), sizes[i]);
    }
    CHECK(p, !p->t->ops->flushed(p->t));
    POLL_UNTIL(p, sum(p->bulk_got) == 6 && sum(p->bulk_sent) == 6);
    POLL_UNTIL(p, p->t->ops->flushed(p->t));
    struct transport_stats stats;
    p->t->ops->stats(p->t, &stats);
    CHECK(p, stats.bulk_sent == 6 && stats.bulk_received == 6);
}

static void many_bulk_transfers_are_paired_in_order(struct party *p)
{
    enum { EACH = 150 };
    p->announces = true;
    for (int i = 0; i < EACH; i++) {
        for (uint32_t to = 0; to < p->group.size; to++) {
            if (to != p->group.rank) {
                send_bulk(p, to, (size_t)(i * 7919) % 60000);
            }
        }
    }
    const uint64_t all = (uint64_t)EACH * (p->group.size - 1);
    POLL_UNTIL(p, sum(p->bulk_got) == all && sum(p->bulk_sent) == all);
    POLL_UNTIL(p, p->t->ops->flushed(p->t));
}

/* One transfer from rank 0 to the last rank; the others just leave, but by a route, on
 * which it may go through them. */
static void send_one(struct party *p, size_t size)
{
    const uint32_t last = p->group.size - 1;
    const bool receives = last > 0 && p->group.rank == last;
    p->announces = receives;
    if (last > 0 && p->group.rank == 0) {
        send_bulk(p, last, size);
    }
    POLL_UNTIL(p, p->t->ops->flushed(p->t) && sum(p->bulk_got) == receives);
    for (uint32_t to = 0; routed && receives && to < last; to++) {
        CHECK(p, send_frame(p, to, 32, 0) == MOOT_OK); /* that it is over */
    }
    POLL_UNTIL(p, p->t->ops->flushed(p->t) &&
                      (!routed || last == 0 || receives || p->got[last] == 1));
}

static void a_large_transfer_arrives(struct party *p)
{
    send_one(p, (getenv("MOOT_TEST_SMALL") ? 20u : 300u) * 1000 * 1000);
}

static void a_transfer_above_2_gib_arrives(struct party *p)
{
    if (getenv("MOOT_TEST_HUGE")) {
        send_one(p, (size_t)2300 << 20);
    }
}

static void on_any(void *context, uint64_t uid, void *cookie)
{
    (void)context, (void)uid, (void)cookie;
}

static void on_any_sent(void *context, uint64_t uid, void *cookie)
{
    struct party *p = context;
    (void)uid, (void)cookie;
    p->bulk_sent[p->group.rank]++;
}

static void a_wrong_size_is_found(struct party *p)
{
    if (p->group.size == 1) {
        return;
    }
    static const char data[100];
    const struct transport_ops *ops = p->t->ops;
    const struct transport_receiver nothing = {p, on_frame, on_any, on_any_sent, NULL};
    int code = MOOT_OK;
    if (p->group.rank == 0) {
        CHECK(p, ops->bulk_send(p->t, p->group.uids[1], data, 100, NULL) == MOOT_OK);
        const time_t start = time(NULL); /* in one process the offer stays */
        while (ops->poll(p->t, &nothing, PLENTY) >= 0 && !p->hub &&
               sum(p->bulk_sent) == 0 && time(NULL) - start < PATIENCE_SECONDS) {
            ;
        }
    } else if (p->group.rank == 1) {
        code = ops->bulk_receive(p->t, p->group.uids[0], p->scratch, 200, NULL);
        for (int i = 0; i < 1000000 && code >= 0; i++) {
            code = ops->poll(p->t, &nothing, PLENTY);
        }
        CHECK(p, code == MOOT_ERR_TRANSPORT);
        CHECK(p, strstr(ops->story(p->t), "size"));
    }
    meet(p->twin);       /* nobody leaves before all have seen it */
    ops->go_alone(p->t); /* one has failed, and is not to be waited for */
}

/* All forget the last rank, as when a view removes it, while it still talks. */
static void a_forgotten_peer_is_a_stranger(struct party *p)
{
    const struct transport_ops *ops = p->t->ops;
    const uint32_t size = p->group.size, last = size - 1, me = p->group.rank;
    if (size == 1) {
        return;
    }
    if (me != last) {
        /* Left unmatched, and must not keep this rank from being flushed. */
        CHECK(p, ops->bulk_receive(p->t, p->group.uids[last], p->scratch, 64, NULL) ==
                     MOOT_OK);
        CHECK(p, send_frame(p, last, 32, 0) == MOOT_OK);
        ops->forget(p->t, p->group.uids[last]);
        CHECK(p, send_frame(p, last, 32, 0) == MOOT_ERR_INVALID);
        CHECK(p, ops->backlog(p->t, p->group.uids[last]) == 0);
        /* A frame for it may be on the way to who passes it on. */
        CHECK(p, routed || ops->flushed(p->t));
    }
    meet(p->twin);
    for (uint32_t to = 0; to < last; to++) {
        if (to != me) {
            CHECK(p, send_frame(p, to, 32, 0) == MOOT_OK);
        }
    }
    for (int i = 0; i < 3000; i++) {
        CHECK(p, poll_some(p, PLENTY) >= 0);
    }
    if (me != last) {
        POLL_UNTIL(p, sum(p->got) == last - 1);
    }
    CHECK(p, p->got[last] == 0);
    for (uint32_t r = 0; me == last && r < last; r++) {
        ops->forget(p->t, p->group.uids[r]);
    }
    POLL_UNTIL(p, ops->flushed(p->t));
}

static void a_held_pair_waits(struct party *p)
{
    if (!p->hub || p->group.size == 1) {
        return;
    }
    if (p->group.rank == 0) {
        inproc_hub_hold(p->hub, 0, 1, true);
        CHECK(p, send_frame(p, 1, 32, 0) == MOOT_OK);
        for (int i = 0; i < 100; i++) {
            poll_some(p, PLENTY);
        }
        CHECK(p, p->t->ops->backlog(p->t, p->group.uids[1]) == 1);
        inproc_hub_hold(p->hub, 0, 1, false);
        POLL_UNTIL(p, p->t->ops->flushed(p->t));
    } else if (p->group.rank == 1) {
        POLL_UNTIL(p, p->got[0] == 1);
    }
}

static void two_groups_do_not_mix(struct party *p)
{
    if (p->group.size == 1) {
        return;
    }
    for (int i = 0; i < 200; i++) {
        CHECK(p, send_frame(p, right_of(p), 100, 0) == MOOT_OK);
        if (i % 2) {
            CHECK(p, send_frame(p->twin, right_of(p->twin), 3000, 0) == MOOT_OK);
        }
        CHECK(p, poll_some(p->twin, PLENTY) >= 0 && poll_some(p, PLENTY) >= 0);
    }
    POLL_UNTIL(p->twin, sum(p->twin->got) == 100);
    POLL_UNTIL(p, sum(p->got) == 200 && poll_some(p->twin, PLENTY) >= 0 &&
                      p->t->ops->flushed(p->t) && p->twin->t->ops->flushed(p->twin->t));
    CHECK(p, p->group.uids[0] != p->twin->group.uids[0]);
}

static const struct test_case {
    const char *name;
    void (*run)(struct party *p);
} cases[] = {
#define CASE(name)                                                                     \
    {                                                                                  \
#name, name                                                                    \
    }
    CASE(ranks_see_one_group),
    CASE(frames_keep_their_order),
    CASE(frames_wait_for_who_does_not_look),
    CASE(frames_keep_their_order_where_their_way_changes),
    CASE(large_frames_cross_without_blocking),
    CASE(poll_hands_over_at_most_what_it_is_asked_for),
    CASE(what_cannot_be_sent_is_refused),
    CASE(bulk_transfers_of_any_size_arrive),
    CASE(many_bulk_transfers_are_paired_in_order),
    CASE(a_large_transfer_arrives),
    CASE(a_transfer_above_2_gib_arrives),
    CASE(two_groups_do_not_mix),
    CASE(a_held_pair_waits),
    CASE(a_forgotten_peer_is_a_stranger),
    CASE(a_wrong_size_is_found),
#undef CASE
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* --- Running them ----------------------------------------------------------------- */

static bool party_open(struct party *p, uint32_t rank, transport_open_fn open,
                       void *arg)
{
    char blob[8], story[256] = "";
    snprintf(blob, sizeof(blob), "blob %u", rank % 10);
    const int code =
        open(arg, blob, 7, &p->group, &p->t, story, sizeof(story)); /* with the NUL */
    if (code != MOOT_OK) {
        fprintf(stderr, "open: error %d: %s\n", code, story);
    }
    CHECK(p, code == MOOT_OK);
    if (code == MOOT_OK && plain) {
        p->t->ops->go_plain(p->t);
    }
    return code == MOOT_OK;
}

static void party_close(struct party *p)
{
    p->t->ops->free(p->t);
    transport_group_release(&p->group);
}

struct attendant {
    struct party *p;
    _Atomic bool done;
};

static void *attend(void *arg)
{
    struct attendant *a = arg;
    while (!a->done && poll_some(a->p, PLENTY) >= 0) {
    }
    return NULL;
}

/* Each group is looked after while the other one parts, as by threads of two engines:
 * a rank that stands between others carries what they still send each other. */
static void part_from_twin(struct party *p, struct party *twin)
{
    struct attendant attendant = {.p = p};
    pthread_t thread;
    p->twin = NULL;
    const bool attended = routed && !pthread_create(&thread, NULL, attend, &attendant);
    party_close(twin);
    attendant.done = true;
    if (attended) {
        pthread_join(thread, NULL);
    }
}

/* One rank's part in one case; its twin stands by for the case that wants it. */
static void take_part(const struct test_case *test, uint32_t rank,
                      transport_open_fn open, void *arg, void *twin_arg,
                      struct inproc_hub *hub)
{
    struct party twin = {0}, p = {.hub = hub, .twin = &twin};
    if (!party_open(&p, rank, open, arg)) {
        return;
    }
    if (party_open(&twin, rank, open, twin_arg)) {
        test->run(&p);
        part_from_twin(&p, &twin);
    }
    party_close(&p);
}

struct thread_rank {
    const struct test_case *test;
    struct transport_inproc_options options, twin;
    pthread_t thread;
};

static void *thread_main(void *arg)
{
    struct thread_rank *r = arg;
    take_part(r->test, r->options.rank, transport_inproc_open, &r->options, &r->twin,
              r->options.hub);
    return NULL;
}

static void run_threads(const struct test_case *test, uint32_t size)
{
    struct inproc_hub *hub = inproc_hub_new(size), *twin = inproc_hub_new(size);
    struct thread_rank ranks[RANKS_MAX];
    if (!hub || !twin) {
        abort();
    }
    for (uint32_t r = 0; r < size; r++) {
        ranks[r] = (struct thread_rank){test, {hub, r}, {twin, r}, 0};
        if (pthread_create(&ranks[r].thread, NULL, thread_main, &ranks[r])) {
            abort();
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        pthread_join(ranks[r].thread, NULL);
    }
    struct transport_group group;
    struct transport *t;
    char story[100] = "";
    const int again = transport_inproc_open(&ranks[0].options, "", 0, &group, &t, story,
                                            sizeof(story));
    if (again != MOOT_ERR_INVALID || !*story) {
        fprintf(stderr, "an end was opened twice\n");
        failures++;
    }
    inproc_hub_free(hub);
    inproc_hub_free(twin);
}

static int report(int passed, int failed, uint32_t size)
{
    printf("transport, %u ranks: %d passed, %d failed\n", size, passed, failed);
    return failed > 0;
}

static int main_inproc(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 5};
    int worst = 0;
    for (int s = 0; s < 4; s++) {
        int failed = 0;
        for (int c = 0; c < CASES; c++) {
            current_case = cases[c].name;
            const int before = failures;
            run_threads(&cases[c], sizes[s]);
            failed += failures != before;
        }
        worst |= report(CASES - failed, failed, sizes[s]);
    }
    return worst;
}

static int open_refuses(const void *comm)
{
    struct transport_mpi_options options = {.comm = comm};
    struct transport_group group;
    struct transport *t;
    char story[200] = "";
    const int code =
        transport_mpi_open(&options, "", 0, &group, &t, story, sizeof(story));
    return code == MOOT_ERR_INVALID && *story;
}

/* Half of the world to the other half. */
static bool bad_communicators_are_refused(int rank, int size)
{
    const MPI_Comm none = MPI_COMM_NULL;
    bool ok = open_refuses(&none);
    if (size == 1) {
        return ok;
    }
    MPI_Comm half, inter;
    const int side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
    ok = open_refuses(&inter) && ok;
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return ok;
}

enum { LATE_BYTES = 100, LOOKS = 1000 };

/* What arrives when its receiver has left without the others finds no place there, and
 * the memory that was meant for it is its owner's again. */
static bool late_transfers_find_no_place(int rank, int size)
{
    static unsigned char bytes[LATE_BYTES];
    struct transport_mpi_options world = {NULL};
    struct party p = {0};
    bool ok = true, left = rank != 0;
    if (size == 1) {
        return true;
    }
    if (!party_open(&p, (uint32_t)rank, transport_mpi_open, &world)) {
        return false;
    }
    const struct transport_ops *ops = p.t->ops;
    memset(bytes, rank, sizeof(bytes));
    if (rank == 1) {
        ok = ops->bulk_receive(p.t, p.group.uids[0], bytes, sizeof(bytes), &p) ==
             MOOT_OK;
    }
    ops->go_alone(p.t);
    ok = (!left || ops->free(p.t)) && ok;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        struct load *x = load_new(0, sizeof(bytes), 1);
        ok = ops->bulk_send(p.t, p.group.uids[1], x->bytes, x->size, x) == MOOT_OK;
        POLL_UNTIL(&p, ops->flushed(p.t));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < LOOKS; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &(int){0},
                   MPI_STATUS_IGNORE);
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        ok = ok && bytes[i] == rank;
    }
    ok = (left || ops->free(p.t)) && ok;
    transport_group_release(&p.group);
    return ok;
}

/* Ranks of a communicator in reverse: moot's ranks are its, not the world's. */
static int main_mpi(int argc, char **argv)
{
    int level, rank, size, failed = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    struct transport_mpi_options options = {.comm = &reversed}, world = {NULL};
    for (int c = 0; c < CASES; c++) {
        current_case = cases[c].name;
        const int before = failures;
        take_part(&cases[c], (uint32_t)(size - 1 - rank), transport_mpi_open, &options,
                  &world, NULL);
        int bad = failures != before;
        MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        failed += bad;
    }
    failed += !bad_communicators_are_refused(rank, size);
    int late = !late_transfers_find_no_place(rank, size);
    MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    failed += late;
    if (rank == 0) {
        report(CASES + 2 - failed, failed, (uint32_t)size);
    }
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return failed > 0;
}

/* Ranks that a launcher of moot's own has started. */
static int main_carrier(const char *word)
{
    char story[200] = "";
    struct channel *channel = channel_of_process(story, sizeof(story));
    const char *route = getenv("MOOT_ROUTE");
    routed = route && strcmp(route, "mesh") != 0;
    struct transport_carrier_options options = {.word = word,
                                                .route = route ? route : "mesh"};
    int failed = 0;
    if (!channel) {
        fprintf(stderr, "no launcher of moot's: %s\n", story);
        return 1;
    }
    const uint32_t size = channel_size(channel);
    for (int c = 0; c < CASES; c++) {
        current_case = cases[c].name;
        const int before = failures;
        struct channel_card *all = NULL;
        take_part(&cases[c], channel_rank(channel), transport_carrier_open, &options,
                  &options, NULL);
        const char mine = failures != before;
        if (channel_gather(channel, &mine, 1, &all, story, sizeof(story)) != MOOT_OK) {
            fprintf(stderr, "%s: %s\n", current_case, story);
            return 1;
        }
        char bad = 0;
        for (uint32_t rank = 0; rank < size; rank++) {
            bad |= *(const char *)all[rank].bytes;
        }
        failed += bad;
        free(all);
    }
    if (channel_rank(channel) == 0) {
        report(CASES - failed, failed, size);
    }
    return failed > 0;
}

int main(int argc, char **argv)
{
    plain = argc > 2 && strcmp(argv[argc - 1], "plain") == 0;
    if (argc > 2 && strcmp(argv[1], "carrier") == 0) {
        return main_carrier(argv[2]);
    }
    if (argc > 1 && strcmp(argv[1], "mpi") == 0) {
        return main_mpi(argc, argv);
    }
    return main_inproc();
}
