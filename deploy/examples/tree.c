/* tree.c - counts an unbalanced tree; tasks spawn tasks, and any rank may run them.
 *
 *     mpirun -n 4 tree [SEED [ROOT_CHILDREN]]
 *
 * The tree is of the binomial kind of UTS, the Unbalanced Tree Search benchmark
 * (Olivier et al., LCPC 2006): the root has ROOT_CHILDREN children, and every other
 * node has four with probability 15/64 and otherwise none.  A node is a 64-bit state;
 * its children's states are hashes of it, so whoever has a node can build all below it,
 * and nobody can tell how much that is without doing so.  Expected are 16 nodes under
 * each child of the root, with a variance that makes any split in advance a bad one.
 *
 * A task takes a few nodes, walks below them until it has seen TASK_NODES, and spawns a
 * task for every few that are still open then.  Nobody but this one task spawns these
 * children, yet each has a chair, any rank: the kernel is portable, so the motion that
 * asks for the child's result carries the child's spec, and the chair runs it.  That is
 * the load balance.
 *
 * The oracle is a serial walk: nodes, leaves and depth must be the same at every rank
 * count and on every rank.  Exit status: 0 right, 1 wrong, 2 bad arguments.
 */
#include <assert.h>
#include <moot.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHILDREN = 4,          /* of a node that has any */
    TASK_NODES = 256,      /* a task walks over this many before it spawns */
    HANDED_NODES = 8,      /* open nodes given to one child task */
    OPEN_NODES_MAX = 2048, /* on the stack of one walk */
    ROOT_CHILDREN_MAX = OPEN_NODES_MAX / 2,
    EXIT_WRONG = 1,
    EXIT_INPUT = 2
};

static_assert(ROOT_CHILDREN_MAX + TASK_NODES * (CHILDREN - 1) <= OPEN_NODES_MAX,
              "a task's share leaves no more nodes open than it has room for");

/* A node, and what a walk found.  These travel: all fields 64 bits, no padding. */
struct node {
    uint64_t state;
    uint64_t depth; /* 0: the root */
    uint64_t children;
};

struct found {
    uint64_t nodes, leaves, depth;
};

/* --- The tree -------------------------------------------------------------------- */

/* The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct node child_of(const struct node *parent, uint64_t i)
{
    uint64_t state = mix(parent->state + (i + 1) * 0x9e3779b97f4a7c15u);

    return (struct node){.state = state,
                         .depth = parent->depth + 1,
                         .children = state >> 58 < 15 ? CHILDREN : 0};
}

/* Takes the top node off the stack, counts it, and puts its children on. */
static void visit(struct node *open, size_t *open_count, struct found *found)
{
    struct node node = open[--*open_count];

    found->nodes++;
    found->leaves += node.children == 0;
    if (node.depth > found->depth) {
        found->depth = node.depth;
    }
    for (uint64_t i = 0; i < node.children; i++) {
        open[(*open_count)++] = child_of(&node, i);
    }
}

static void add(struct found *sum, const struct found *part)
{
    sum->nodes += part->nodes;
    sum->leaves += part->leaves;
    if (part->depth > sum->depth) {
        sum->depth = part->depth;
    }
}

/* The oracle.  Depth first, so the stack grows by CHILDREN - 1 a level at most; false
 * says that this tree is too deep for it. */
static bool walk_serially(const struct node *root, struct found *found)
{
    struct node open[4 * OPEN_NODES_MAX];
    size_t open_count = 1;

    open[0] = *root;
    *found = (struct found){0};
    while (open_count > 0) {
        if (open_count + ROOT_CHILDREN_MAX > sizeof(open) / sizeof(open[0])) {
            return false;
        }
        visit(open, &open_count, found);
    }
    return true;
}

/* --- The kernel
 * ----------------------------------------------------------------------- */

/* Spawns one task for every HANDED_NODES of the open nodes. */
static int spawn_children(moot_call *call, moot_kernel_id kernel,
                          const struct node *open, size_t open_count, moot_task *child,
                          size_t *child_count)
{
    for (size_t i = 0; i < open_count; i += HANDED_NODES) {
        size_t count = open_count - i < HANDED_NODES ? open_count - i : HANDED_NODES;
        moot_task_spec spec = {.kernel = kernel,
                               .args = &open[i],
                               .args_size = count * sizeof(open[i]),
                               .label = "subtree"};
        int code = moot_call_spawn(call, &spec, &child[*child_count]);

        if (code != MOOT_OK) {
            return moot_call_fail(call, code, "cannot spawn a subtree");
        }
        ++*child_count;
    }
    return MOOT_OK;
}

/* Walks below the given nodes until the task's share is done, and spawns the rest.  The
 * stack of nodes is on the heap and gone before the task waits: a thread that waits
 * runs other tasks on top of this one. */
static int walk_share(moot_call *call, moot_kernel_id kernel, struct found *found,
                      moot_task *child, size_t *child_count)
{
    size_t size;
    const struct node *given = moot_call_args(call, &size);
    struct node *open = malloc(OPEN_NODES_MAX * sizeof(*open));
    size_t open_count = size / sizeof(*given);
    int code;

    if (open == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for open nodes");
    }
    memcpy(open, given, size);
    while (open_count > 0 && found->nodes < TASK_NODES) {
        visit(open, &open_count, found);
    }
    code = spawn_children(call, kernel, open, open_count, child, child_count);
    free(open);
    return code;
}

/* tree.walk: nodes -> struct found for all below them.  `user` is the kernel's own id.
 */
static int kernel_walk(moot_call *call, void *user)
{
    moot_task child[OPEN_NODES_MAX / HANDED_NODES];
    struct found found = {0}, *result;
    size_t child_count = 0;
    int code = walk_share(call, *(moot_kernel_id *)user, &found, child, &child_count);

    for (size_t i = 0; code == MOOT_OK && i < child_count; i++) {
        const void *data;
        size_t size;

        code = moot_call_wait(call, child[i], &data, &size);
        if (code == MOOT_OK) {
            add(&found, data);
        } else {
            moot_call_fail(call, code, "a subtree is missing");
        }
    }
    if (code != MOOT_OK) {
        return code;
    }
    result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for three numbers");
    }
    *result = found;
    return MOOT_OK;
}

/* --- The program
 * ---------------------------------------------------------------------- */

static void check(const moot *m, const char *what, int code)
{
    if (code == MOOT_OK) {
        return;
    }
    fprintf(stderr, "tree: rank %d: %s: %s\n", m == NULL ? -1 : moot_rank(m), what,
            moot_last_error(m));
    exit(EXIT_WRONG);
}

/* Counts below the root on all ranks and compares; returns the exit status. */
static int run(moot *m, const struct node *root)
{
    moot_kernel_id walk; /* the kernel finds its own id here */
    moot_task task;
    moot_stats stats;
    struct found expected;
    const struct found *found;
    const void *data;
    size_t size;

    check(m, "register",
          moot_kernel_register(m,
                               &(moot_kernel){.name = "tree.walk",
                                              .fn = kernel_walk,
                                              .user = &walk,
                                              .flags = MOOT_KERNEL_PORTABLE},
                               &walk));
    check(m, "spawn",
          moot_task_spawn(m,
                          &(moot_task_spec){.kernel = walk,
                                            .args = root,
                                            .args_size = sizeof(*root),
                                            .label = "root"},
                          &task));
    check(m, "fetch", moot_task_fetch(m, task, MOOT_FOREVER, &data, &size));
    check(m, "stats", moot_stats_get(m, &stats));
    found = data;
    printf("rank %d ran %llu tasks\n", moot_rank(m),
           (unsigned long long)stats.tasks_run);
    if (!walk_serially(root, &expected)) {
        fprintf(stderr, "tree: the tree is too deep for the serial walk\n");
        return EXIT_INPUT;
    }
    if (memcmp(found, &expected, sizeof(expected)) != 0) {
        fprintf(stderr,
                "tree: rank %d: WRONG: %llu nodes, the serial walk finds %llu\n",
                moot_rank(m), (unsigned long long)found->nodes,
                (unsigned long long)expected.nodes);
        return EXIT_WRONG;
    }
    if (moot_rank(m) == 0) {
        printf("nodes %llu, leaves %llu, depth %llu (the serial walk agrees)\n",
               (unsigned long long)found->nodes, (unsigned long long)found->leaves,
               (unsigned long long)found->depth);
    }
    return EXIT_SUCCESS;
}

/* A number between `low` and `high`, or false. */
static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || *text == '-' || value < low || value > high) {
        return false;
    }
    *out = value;
    return true;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    struct node root = {.state = 0, .children = 1000};
    uint64_t seed = 42;
    int status = EXIT_INPUT;
    bool good = argc <= 3;

    if (good && argc > 1) {
        good = parse_number(argv[1], 0, UINT64_MAX, &seed);
    }
    if (good && argc > 2) {
        good = parse_number(argv[2], 1, ROOT_CHILDREN_MAX, &root.children);
    }
    root.state = mix(seed);
    check(NULL, "open", moot_open(NULL, &m));
    if (good) {
        status = run(m, &root);
    } else if (moot_rank(m) == 0) {
        fprintf(stderr, "usage: tree [SEED [ROOT_CHILDREN]], 1 to %d children\n",
                ROOT_CHILDREN_MAX);
    }
    return moot_close(m) == MOOT_OK ? status : EXIT_WRONG;
}
