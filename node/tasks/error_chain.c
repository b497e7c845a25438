/* error_chain.c - see error_chain.h. */
#include "node/tasks/error_chain.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "node/tasks/death.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"
#include "proto/error.h"
#include "proto/limits.h"

#include <assert.h>
#include <string.h>

enum {
    RANKS_TEXT_BYTES = 256,
    NEWS_NS = 1000000 /* how long ago something was decided goes without saying */
};

/* Behind the text: a zero byte, a code, a rank.  Before these a story of elements has a
 * zero byte, and three numbers more. */
enum {
    ROOT_BYTES = 1 + 4 + 4,
    LINKS_BYTES = 1 + 3 * 4,
    TEXT_BYTES_MAX = LIMIT_ERROR_STORY_BYTES - ROOT_BYTES,
    LINK_TEXT_MAX = 400, /* one element's failure for want of its input */
    ORIGIN_TEXT_MAX = 3000
};
static_assert(ORIGIN_TEXT_MAX + 2 * LINK_TEXT_MAX + 200 + LINKS_BYTES < TEXT_BYTES_MAX,
              "a story of elements is whole");

/* --- The root cause as numbers --------------------------------------------------- */

static void put_number(unsigned char *to, int number)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (unsigned char)((uint32_t)number >> 8 * i);
    }
}

static int get_number(const unsigned char *from)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        number |= (uint32_t)from[i] << 8 * i;
    }
    return (int)number;
}

struct payload *story_payload(struct text *story, struct root_cause root)
{
    story_cut(story);
    struct payload *payload = payload_new(story->length + ROOT_BYTES);
    if (payload != NULL) {
        unsigned char *end = payload->data + story->length;
        memcpy(payload->data, text_get(story), story->length);
        end[0] = '\0';
        put_number(end + 1, root.code);
        put_number(end + 5, root.rank);
    }
    return payload;
}

static struct root_cause root_of(const struct payload *payload)
{
    if (payload == NULL || payload->size < ROOT_BYTES) {
        return NO_ROOT_CAUSE;
    }
    const unsigned char *end = payload->data + payload->size - ROOT_BYTES;
    if (end[0] != '\0') {
        return NO_ROOT_CAUSE;
    }
    return (struct root_cause){.code = get_number(end + 1),
                               .rank = get_number(end + 5)};
}

struct root_cause story_root(const struct task *task)
{
    return root_of(task->known && task->status != MOOT_OK ? task->payload : NULL);
}

/* --- Elements that fail one after the other --------------------------------------- */

/* How the text of such a story is divided: where the first failure ends, and the first
 * element that failed for want of it; and so many more before the last one. */
struct links {
    size_t origin, first; /* bytes; first is 0 of a story that is none of elements */
    uint32_t between;
    bool last; /* there is one behind the first */
};

/* Leaves the middle out, so that so many bytes are left. */
static void cut_to(struct text *story, size_t most)
{
    static const char gap[] = "\n  ... (more of the chain) ...\n";
    if (story->length <= most) {
        return;
    }
    const size_t head = most / 4, tail = most - head - (sizeof(gap) - 1);
    memmove(story->bytes + head + sizeof(gap) - 1, story->bytes + story->length - tail,
            tail + 1);
    memcpy(story->bytes + head, gap, sizeof(gap) - 1);
    story->length = most;
}

static struct links read_links(const struct payload *payload, size_t length)
{
    const struct links none = {.origin = length};
    if (payload->size != length + LINKS_BYTES + ROOT_BYTES) {
        return none;
    }
    const unsigned char *numbers = payload->data + length + 1;
    const size_t origin = (uint32_t)get_number(numbers);
    const size_t first = (uint32_t)get_number(numbers + 4);
    const struct links links = {.origin = origin,
                                .first = first,
                                .between = (uint32_t)get_number(numbers + 8),
                                .last = origin + first < length};
    return origin + first <= length ? links : none;
}

static struct payload *links_payload(const struct text *story, struct links links,
                                     struct root_cause root)
{
    struct payload *payload = payload_new(story->length + LINKS_BYTES + ROOT_BYTES);
    if (payload != NULL) {
        unsigned char *at = payload->data + story->length;
        memcpy(payload->data, text_get(story), story->length);
        at[0] = '\0';
        put_number(at + 1, (int)links.origin);
        put_number(at + 5, (int)links.first);
        put_number(at + 9, (int)links.between);
        at[LINKS_BYTES] = '\0';
        put_number(at + LINKS_BYTES + 1, root.code);
        put_number(at + LINKS_BYTES + 5, root.rank);
    }
    return payload;
}

struct payload *story_of_element(const struct payload *before, const char *failure)
{
    const char *told = before != NULL ? (const char *)before->data : "";
    told = *told != '\0' ? told : error_text(MOOT_ERR_TASK_FAILED);
    const size_t length = strlen(told);
    struct links links = {.origin = length};
    struct text story = {0};
    if (before != NULL) {
        links = read_links(before, length);
    }
    text_add(&story, "%.*s", (int)links.origin, told);
    cut_to(&story, ORIGIN_TEXT_MAX);
    const size_t origin = story.length;
    if (links.first > 0) {
        links.between += links.last;
        text_add(&story, "%.*s", (int)links.first, told + links.origin);
        if (links.between > 0) {
            text_add(&story, "\n  so %u more failed, each by the one before",
                     (unsigned)links.between);
        }
        text_add(&story, "\n  so %.*s", LINK_TEXT_MAX, failure);
    } else {
        text_add(&story, "\n  so %.*s", LINK_TEXT_MAX, failure);
        links.first = story.length - origin;
    }
    links.origin = origin;
    struct payload *payload = links_payload(&story, links, root_of(before));
    text_release(&story);
    return payload;
}

/* --- Stories --------------------------------------------------------------------- */

static void begin(struct text *story, const struct moot *m, const struct task *task)
{
    task_describe(story, task);
    text_add(story, " on rank %u: ", m->group.rank);
    if (task->seen) {
        text_add(story, "its result is lost, and when made again: ");
    }
}

void story_of_kernel(struct text *story, const struct moot *m, const struct task *task,
                     int code, const char *why)
{
    begin(story, m, task);
    const char *kernel = task->kernel->name;
    if (task_seldom(task)->failures > 0) {
        text_add(story, "failed %u times, last: ", task_seldom(task)->failures + 1);
    }
    if (code == MOOT_ERR_NO_OUTPUT) {
        text_add(story, "kernel '%s' returned without calling moot_call_output() (%s)",
                 kernel, error_name(code));
    } else if (error_known(code)) {
        text_add(story, "kernel '%s' failed with %s (%s)", kernel, error_name(code),
                 error_text(code));
    } else {
        text_add(story, "kernel '%s' failed with code %d", kernel, code);
    }
    if (why[0] != '\0') {
        text_add(story, ": %s", why);
    }
}

void story_of_no_run(struct text *story, const struct moot *m, const struct task *task,
                     const char *why)
{
    begin(story, m, task);
    text_add(story, "%s", why);
}

void story_add_mishap(struct text *story, const char *mishap, const char *its_story)
{
    if (its_story[0] != '\0' && strstr(text_get(story), its_story) == NULL) {
        text_add(story, "; %s:\n  %s", mishap, its_story);
    }
}

void story_of_input(struct text *story, const struct moot *m, const struct task *task,
                    const struct task *input)
{
    begin(story, m, task);
    uint32_t at = 0;
    while (at < task_input_count(task) && task_input(task, at) != input) {
        at++;
    }
    bool order_only = at >= task_data_count(task);
    text_add(story,
             order_only ? "a task that it comes after failed:\n  "
                        : "input %u failed:\n  ",
             at);
    const bool ended = input->known && input->status != MOOT_OK;
    if (ended && input->payload != NULL) {
        text_add(story, "%s", (const char *)input->payload->data);
    } else if (!ended && task_seldom(input)->verdict_story != NULL) {
        text_add(story, "%s", task_seldom(input)->verdict_story);
    } else {
        task_describe(story, input);
        text_add(story, ": %s",
                 error_text(ended ? input->status : task_seldom(input)->verdict));
    }
}

void story_of_cancel(struct text *story, const struct moot *m, const struct task *task,
                     uint32_t by, bool ran)
{
    begin(story, m, task);
    const bool is_array = elements_of(task) != NULL;
    if (by < m->group.size) {
        text_add(story, "it was cancelled by rank %u ", by);
    } else {
        text_add(story, "it was cancelled by a rank that is gone ");
    }
    text_add(story, "%s",
             ran        ? "and gave up"
             : is_array ? "before all of its elements had begun"
                        : "before it started");
}

static void add_cycle(struct text *story, const struct moot *m, const moot_hash *chain,
                      uint32_t chain_count)
{
    for (uint32_t i = 0; i <= chain_count && chain_count > 0; i++) {
        const moot_hash *hash = &chain[i % chain_count];
        const struct task *task = core_user(m->core, hash);
        text_add(story, i == 0 ? "\n  " : "\n  waits for ");
        if (task != NULL) {
            task_describe(story, task);
        } else {
            task_describe_hash(story, hash);
        }
    }
}

/* Ends that ranks which are gone may be the cause of. */
static bool is_of_loss(int code)
{
    return code == MOOT_ERR_NOT_HELD || code == MOOT_ERR_MAYBE_RAN ||
           code == MOOT_ERR_RESULT_LOST;
}

static const char *lost_what(int code)
{
    return code == MOOT_ERR_MAYBE_RAN     ? "may have run it"
           : code == MOOT_ERR_RESULT_LOST ? "may have had its result"
                                          : "may have held it";
}

static void add_gone(struct text *story, const struct moot *m, enum member_state state,
                     const char *how, const char *what)
{
    struct rankset gone = {0};
    char list[RANKS_TEXT_BYTES];
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        if (m->members.all[rank].state == state) {
            (void)rankset_add(&gone, rank);
        }
    }
    if (!rankset_empty(&gone)) {
        rankset_format(&gone, list, sizeof(list));
        text_add(story, "; rank%s %s, which %s, %s",
                 rankset_count(&gone) == 1 ? "" : "s", list, how, what);
    }
    rankset_release(&gone);
}

/* The task ends so for all: who has decided that, and since when it stands. */
static void add_decided(struct text *story, const struct moot *m,
                        const struct task *task, const struct core_output *output,
                        bool late)
{
    uint64_t since_ns = output->u.verdict.since_ns;
    text_add(story, ", decided by rank %u in view %llu", output->u.verdict.by,
             (unsigned long long)output->u.verdict.epoch);
    if (m->now_ns > since_ns + NEWS_NS) {
        text_add(story, ", ");
        text_add_duration(story, m->now_ns - since_ns);
        text_add(story, " ago");
    }
    if (task->held) {
        text_add(story, "; rank %u has spawned it%s, and nobody runs it any more%s",
                 m->group.rank, late ? " too late" : "",
                 late ? ": give the new task another key" : "");
    }
}

/* Who could have run it. */
static void add_candidates(struct text *story, const struct moot *m,
                           const struct task *task)
{
    struct core_task_view view;
    char list[RANKS_TEXT_BYTES];
    if (!core_task_look(m->core, &task->hash, &view)) {
        return;
    }
    if (view.candidates != NULL) {
        rankset_format(view.candidates, list, sizeof(list));
        text_add(story,
                 "; only rank%s %s may own it, and must spawn it unless its kernel is "
                 "portable",
                 rankset_count(view.candidates) == 1 ? "" : "s", list);
    }
    core_task_view_release(&view);
}

static bool is_barred(const struct moot *m, const struct task *task)
{
    struct core_task_view view;
    if (!task->held || !core_task_look(m->core, &task->hash, &view)) {
        return false;
    }
    bool barred =
        view.candidates != NULL && !rankset_has(view.candidates, m->group.rank);
    core_task_view_release(&view);
    return barred;
}

void story_of_verdict(struct text *story, const struct moot *m, const struct task *task,
                      const struct core_output *output)
{
    /* Of a task that is held right here the candidates may be missing. */
    const int code = output->u.verdict.code;
    bool barred = code == MOOT_ERR_NOT_HELD && is_barred(m, task);
    task_describe(story, task);
    if (code == MOOT_ERR_CRASHED) {
        const long long most = m->knobs.crashes;
        text_add(story, ": %lld rank%s died of it, MOOT_CRASHES=%lld (%s)", most,
                 most == 1 ? "" : "s", most, error_name(code));
    } else {
        text_add(story, ": %s (%s)",
                 barred ? "no candidate of the task holds it, and none will"
                        : error_text(code),
                 error_name(code));
    }
    if (output->u.verdict.for_good) {
        add_decided(story, m, task, output, code == MOOT_ERR_NOT_HELD && !barred);
    } else {
        text_add(story, ", found on rank %u", m->group.rank);
    }
    if (code == MOOT_ERR_CYCLE) {
        add_cycle(story, m, output->u.verdict.chain, output->u.verdict.chain_count);
    }
    if (barred) {
        add_candidates(story, m, task);
    }
    if (is_of_loss(code)) {
        add_gone(story, m, MEMBER_DEAD, "died", lost_what(code));
        add_gone(story, m, MEMBER_REMOVED, "the others voted out", lost_what(code));
    }
    /* Who asks too late is told that nobody holds it, too. */
    uint64_t dropped = core_stats(m->core)->dropped;
    if (code == MOOT_ERR_NOT_HELD && !task->held && dropped > 0) {
        text_add(story,
                 "; or it is one of %llu tasks that had ended, were released by every "
                 "rank, and forgotten here (MOOT_WINDOW)",
                 (unsigned long long)dropped);
    }
    if (code == MOOT_ERR_CRASHED || is_of_loss(code)) {
        death_add_stories(story, m, &task->hash, is_of_loss(code));
    }
    story_cut(story);
}

static void add_build(struct text *story, const unsigned char *build, size_t size)
{
    text_add(story, "%sbuild ", size > 0 ? ", " : ", no ");
    for (size_t i = 0; i < size; i++) {
        text_add(story, "%02x", build[i]);
    }
}

static void add_registration(struct text *story, uint32_t rank, uint32_t version,
                             uint32_t flags)
{
    text_add(story, "rank %u has version %u, flags %s%s%s%s%s", rank, version,
             flags == 0 ? "none" : "", (flags & MOOT_KERNEL_ONCE) ? "once " : "",
             (flags & MOOT_KERNEL_IDEMPOTENT) ? "idempotent " : "",
             (flags & MOOT_KERNEL_PORTABLE) ? "portable " : "",
             (flags & MOOT_KERNEL_NONDETERMINISTIC) ? "nondeterministic" : "");
}

void story_of_conflict(struct text *story, const struct moot *m,
                       const struct kernel *kernel)
{
    text_add(story, "kernel '%s' is registered differently: ", kernel->name);
    const bool by_build = m->tasks.kernels.by_build && kernel->rebuilt &&
                          kernel->rebuilt_rank == kernel->peer_rank;
    add_registration(story, m->group.rank, kernel->version, kernel->flags);
    if (by_build) {
        add_build(story, kernel->build, kernel->build_size);
    }
    text_add(story, "; ");
    add_registration(story, kernel->peer_rank, kernel->peer_version,
                     kernel->peer_flags);
    if (by_build) {
        add_build(story, kernel->peer_build, kernel->peer_build_size);
    }
}

void story_of_wait(struct text *story, const struct moot *m, const struct task *task,
                   int code)
{
    if (code == m->engine.fatal) {
        text_add(story, "%s", text_get(&m->engine.fatal_story));
    } else if (task->undone) {
        task_describe(story, task);
        text_add(story, " is of before the reload of a checkpoint, which has cancelled "
                        "it: spawn it again");
    } else if (code == MOOT_ERR_KERNEL_MISMATCH && task->kernel != NULL) {
        story_of_conflict(story, m, task->kernel);
    } else if (task->known && task->status != MOOT_OK && task->payload != NULL &&
               task->payload->size > 0) {
        text_add(story, "%s", (const char *)task->payload->data);
    } else if (code == task_seldom(task)->verdict &&
               task_seldom(task)->verdict_story != NULL) {
        text_add(story, "%s", task_seldom(task)->verdict_story);
    } else {
        task_describe(story, task);
        text_add(story, ": %s (%s) on rank %u", error_text(code), error_name(code),
                 m->group.rank);
    }
}

void story_cut(struct text *story) { cut_to(story, TEXT_BYTES_MAX); }
