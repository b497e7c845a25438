/* world_host.c - a host: it keeps the contract of core.h, and plays its program. */
#include "tests/explore/world_private.h"

/* --- A host ----------------------------------------------------------------------- */

uint32_t world_task_of(const struct world *world, const moot_hash *hash)
{
    uint32_t task = 0;
    while (task < world->scene->task_count && !hash_equal(&world->hashes[task], hash)) {
        task++;
    }
    return task < world->scene->task_count ? task : NO_TASK;
}

static void post(struct world *world, uint32_t from, uint32_t to,
                 const struct message *message)
{
    struct link *link = &world->links[from][to];
    if (!host_is_live(&world->hosts[to]) ||
        (world->scene->ballots > 0 && !ballots_carry(world, from, to, message))) {
        return;
    }
    if (link->count == link->room) {
        link->room = link->room == 0 ? 8 : 2 * link->room;
        link->items = realloc(link->items, link->room * sizeof(*link->items));
    }
    struct message *copy = message_copy(message);
    if (message->type == MESSAGE_RESULT) { /* nobody looks at bytes here */
        copy->u.result.data = message->u.result.data;
    }
    const struct core *core =
        world->hosts[from].core; /* may have entered it just now */
    link->items[link->count++] = (struct parcel){
        copy,
        message->epoch == core->epoch ? core->members.low : world->hosts[from].members};
}

static void link_drop(struct link *link)
{
    while (link->count > 0) {
        message_copy_free(link->items[--link->count].message);
        link->items[link->count] = (struct parcel){0};
    }
}

/* The rank hears nothing any more. */
void host_deafen(struct world *world, uint32_t rank)
{
    for (uint32_t from = 0; from < world->scene->ranks; from++) {
        link_drop(&world->links[from][rank]);
    }
}

static bool is_crashed(const struct world *world, uint32_t task)
{
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        if (host_is_live(&world->hosts[i]) &&
            world->hosts[i].tasks[task].verdict == MOOT_ERR_CRASHED) {
            return true;
        }
    }
    return false;
}

static void carry_run(struct world *world, uint32_t rank,
                      const struct core_output *output)
{
    struct host *host = &world->hosts[rank];
    uint32_t task = world_task_of(world, &output->hash);
    require(world, task != NO_TASK && host->tasks[task].held);
    if (output->u.run.code != MOOT_OK) {
        struct core_event event = {.type = CORE_EV_DONE, .hash = output->hash};
        event.u.done.status = output->u.run.code;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        return;
    }
    if (host->tasks[task].ran) {
        world_fault(world, "I2: one rank ran a task twice");
    }
    if (is_crashed(world, task)) {
        world_fault(world, "I23: a task starts that is known to have CRASHED");
    }
    host->tasks[task].ran = true;
    world->started[task] |= 1u << rank;
    host->running[host->running_count++] = task;
}

static void wake(struct world *world, uint32_t rank, uint32_t task)
{
    struct host *host = &world->hosts[rank];
    host->woken |=
        host->waits_for != NO_TASK && (task == NO_TASK || host->waits_for == task);
}

void world_end_host(struct world *world, uint32_t rank)
{
    world->hosts[rank].over = true;
    host_deafen(world, rank);
}

/* The first rank that enters a view with somebody new in it. */
static void check_let_in(struct world *world, uint32_t rank,
                         const struct core_output *output)
{
    const struct host *host = &world->hosts[rank];
    bool first = host->epoch > 0 && (output->u.view.members->low & ~host->members) != 0;
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        first = first && world->hosts[i].epoch < output->u.view.epoch;
    }
    for (uint32_t i = 0; first && i < world->scene->ranks; i++) {
        const struct host *other = &world->hosts[i];
        if ((host->members >> i & 1) != 0 && host_is_live(other) && !other->at_end &&
            !other->meets) {
            world_fault(world,
                        "I37: somebody is let in while a rank is at no boundary");
        }
    }
}

static void carry(struct world *world, uint32_t rank, const struct core_output *output)
{
    struct host *host = &world->hosts[rank];
    uint32_t task = world_task_of(world, &output->hash);
    switch (output->type) {
    case CORE_OUT_RUN:
        carry_run(world, rank, output);
        break;
    case CORE_OUT_ELEMENTS: /* no scene has arrays */
    case CORE_OUT_PART:
        break;
    case CORE_OUT_RESULT:
        if (task != NO_TASK && output->u.result.data != RESULT_BARE) {
            host->tasks[task].kept = true;
            host->tasks[task].status = output->u.result.status;
            for (uint32_t i = 0; i < world->scene->ranks; i++) {
                if (world->uids[i] == output->u.result.owner_uid) {
                    host->tasks[task].owner = i;
                }
            }
        }
        break;
    case CORE_OUT_DONE:
        if (task != NO_TASK) {
            host->tasks[task].well = true;
        }
        wake(world, rank, task);
        break;
    case CORE_OUT_VERDICT:
        if (task != NO_TASK && host->waits_for == task) {
            host->tasks[task].verdict = output->u.verdict.code;
        }
        wake(world, rank, task);
        break;
    case CORE_OUT_QUORUM:
        host->no_quorum = !output->u.quorum.have;
        host->decided = world_decided(host->core);
        if (host->no_quorum) {
            wake(world, rank, NO_TASK);
            host->snaps = false;
        }
        break;
    case CORE_OUT_VIEW:
        check_let_in(world, rank, output);
        host->epoch = output->u.view.epoch;
        host->members = output->u.view.members->low;
        break;
    case CORE_OUT_MET:
        host->meets = false;
        if (output->u.met.number <= WORLD_MEETINGS) {
            host->came[output->u.met.number - 1] =
                output->u.met.came != NULL ? output->u.met.came->low : 0;
        }
        if (output->u.met.came != NULL && !rankset_has(output->u.met.came, rank)) {
            world_fault(world, "I20: a rank is not among those who came");
        }
        break;
    case CORE_OUT_FENCED:
    case CORE_OUT_LEFT:
    case CORE_OUT_ADJOURN:
        world_end_host(world, rank);
        break;
    case CORE_OUT_FORGET:
        for (uint32_t i = 0; i < output->u.forget.count; i++) {
            core_entry_give(host->core, output->u.forget.users[i]);
        }
        break;
    case CORE_OUT_CUT:
    case CORE_OUT_COMMIT:
    case CORE_OUT_SNAPSHOT_DONE:
    case CORE_OUT_MARK:
    case CORE_OUT_RELOADED:
        disk_carry(world, rank, output);
        break;
    case CORE_OUT_AWAITED:
    case CORE_OUT_DIVERGED:
    case CORE_OUT_REFUSE:
    case CORE_OUT_SIGNATURE:
    case CORE_OUT_SEND:
    case CORE_OUT_CANCEL:
    case CORE_OUT_NOTE:
        break;
    }
}

void host_set_lane(struct world *world, uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.state = state;
    require(world, host_step(world, rank, &event) == MOOT_OK);
}

static void end_wait(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    struct core_event event = {.type = CORE_EV_UNNEED,
                               .hash = world->hashes[host->waits_for]};
    event.u.need.want = WANT_DATA;
    host->woken = false;
    host->waits_for = NO_TASK;
    host_set_lane(world, rank, CORE_LANE_RUNNING);
    if (host_is_live(host)) {
        require(world, host_step(world, rank, &event) == MOOT_OK);
    }
}

/* Outputs are copied before they are carried out: that may step the core again. */
int host_step(struct world *world, uint32_t rank, const struct core_event *event)
{
    struct host *host = &world->hosts[rank];
    struct core_outputs out = {0};
    if (!host_is_live(host)) {
        return MOOT_OK;
    }
    host->digest = (struct digest128){0};
    int code = core_step(host->core, event, host->now_ns, &out);
    size_t count = code == MOOT_OK ? out.count : 0;
    struct core_output *items = malloc((count + 1) * sizeof(*items));
    if (count > 0) {
        memcpy(items, out.items, count * sizeof(*items));
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].type == CORE_OUT_SEND) {
            post(world, rank, items[i].u.send.to, &items[i].u.send.message);
        }
    }
    bool met = host->meets, snapped = host->snaps;
    for (size_t i = 0; i < count; i++) {
        carry(world, rank, &items[i]);
    }
    free(items);
    block_free(host->core->state.out.arena); /* else each core keeps a large one */
    host->core->state.out.arena = NULL;
    if (host_is_live(host) && host->at_end && host->no_quorum) {
        world_end_host(world, rank); /* a host that has closed does not wait for one */
    }
    if (host_is_live(host) && ((met && !host->meets) || (snapped && !host->snaps))) {
        host_set_lane(world, rank, CORE_LANE_RUNNING);
    }
    if (host_is_live(host) && host->woken) {
        end_wait(world, rank);
    }
    return code;
}

/* Work that is due at once is done at once: a host ticks when it has no more events at
 * hand.
 */
void host_tick(struct world *world, uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_TICK};
    for (int i = 0; host_is_live(&world->hosts[rank]) &&
                    core_deadline(world->hosts[rank].core) <= world->hosts[rank].now_ns;
         i++) {
        if (i == 1000) {
            world_fault(world, "a core has something to do for ever");
            return;
        }
        (void)host_step(world, rank, &event);
    }
}

/* --- Lines of a program ----------------------------------------------------------- */

static void spawn(struct world *world, uint32_t rank, uint32_t task, uint32_t flags)
{
    struct host *host = &world->hosts[rank];
    const struct scene *scene = world->scene;
    struct core_register reg = {.flags = flags, .site = "scene"};
    struct rankset candidates = {.low = scene->tasks[task].candidates};
    reg.flags |= scene->tasks[task].once ? (uint32_t)CORE_TASK_ONCE : 0;
    reg.candidates = candidates.low != 0 ? &candidates : NULL;
    struct entry *entry =
        core_enter_for(host->core, &world->hashes[task], reg.candidates, 0, 0);
    if (entry == NULL) {
        return;
    }
    entry->task = task;
    host->tasks[task].held = true;
    struct core_event event = {.type = CORE_EV_REGISTER,
                               .hash = world->hashes[task],
                               .entry = entry,
                               .u.reg = &reg};
    int code = host_step(world, rank, &event);
    host->tasks[task].held = host->tasks[task].held && code == MOOT_OK;
}

static void begin_wait(struct world *world, uint32_t rank, uint32_t task)
{
    struct host *host = &world->hosts[rank];
    struct core_event event = {.type = CORE_EV_NEED, .hash = world->hashes[task]};
    event.u.need.want = WANT_DATA;
    host->waits_for = task;
    require(world, host_step(world, rank, &event) == MOOT_OK);
    if (host_is_live(host) && host->waits_for != NO_TASK) {
        host_set_lane(world, rank, CORE_LANE_BLOCKED);
    }
}

static void end_program(struct world *world, uint32_t rank, enum core_event_type how)
{
    struct core_event event = {.type = how};
    world->hosts[rank].at_end = true;
    require(world, host_step(world, rank, &event) == MOOT_OK);
}

void host_play_line(struct world *world, uint32_t rank)
{
    struct host *host = &world->hosts[rank];
    const struct line *line = &world->scene->programs[rank][host->line++];
    struct core_event event = {.hash = world->hashes[line->task % WORLD_TASKS]};
    switch (line->what) {
    case LINE_SPAWN:
        spawn(world, rank, line->task, 0);
        break;
    case LINE_HINT:
        spawn(world, rank, line->task, CORE_TASK_HINT);
        break;
    case LINE_WAIT:
        begin_wait(world, rank, line->task);
        break;
    case LINE_FREE:
        core_let_go(host->core, &event.hash, NULL);
        host->digest = (struct digest128){0};
        break;
    case LINE_DECLINE:
        event.type = CORE_EV_DECLINE;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        break;
    case LINE_CANCEL:
        event.type = CORE_EV_CANCEL;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        break;
    case LINE_MEET:
        event.type = CORE_EV_MEET;
        event.hash = (moot_hash){{(unsigned char)line->task}};
        host->meets = true;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        if (host_is_live(host) && host->meets) {
            host_set_lane(world, rank, CORE_LANE_BLOCKED);
        }
        break;
    case LINE_SNAPSHOT:
        event.type = CORE_EV_SNAPSHOT;
        event.u.snapshot.name = &"abcd"[line->task % 4];
        event.u.snapshot.name_size = 1;
        host->snaps = !host->no_quorum;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        if (host_is_live(host) && host->snaps) {
            host_set_lane(world, rank, CORE_LANE_TIMED);
        }
        break;
    case LINE_RELOAD:
        event.type = CORE_EV_RELOAD;
        event.hash = (moot_hash){{(unsigned char)line->task, 1}};
        host->meets = true;
        require(world, host_step(world, rank, &event) == MOOT_OK);
        if (host_is_live(host) && host->meets) {
            host_set_lane(world, rank, CORE_LANE_BLOCKED);
        }
        break;
    case LINE_PASS:
        core_meet_from(host->core, line->task);
        host->digest = (struct digest128){0};
        break;
    case LINE_LEAVE:
        end_program(world, rank, CORE_EV_LEAVE);
        break;
    case LINE_END:
        end_program(world, rank, CORE_EV_CLOSE);
        break;
    }
}
