/* report_graph.c - see report_data.h: the task graph.
 *
 * Up to REPORT_GRAPH_MAX tasks each is a node.  Above, the tasks of a kernel that were
 * spawned at one place, at one distance from the first tasks, by the same ranks are one
 * node; if that is still too many, those of a kernel at one place are.  A node's depth
 * is the length of the longest chain of inputs that leads to it.
 */
#include "node/tools/json.h"
#include "node/tools/report_data.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct node {
    uint32_t task; /* its first */
    uint32_t depth, count, divergent;
    double ran_ns;
};

struct graph {
    const struct trace_job *trace;
    uint32_t *depth; /* per task */
    uint32_t *node;  /* likewise */
    struct node *nodes;
    uint32_t node_count;
};

/* --- Depth ------------------------------------------------------------------------ */

/* Chains may be long, so this is no recursion: a task is done when its inputs are. */
static bool depths_find(struct graph *graph)
{
    const struct trace_job *trace = graph->trace;
    uint32_t *stack = calloc(trace->task_count + 1u, sizeof(*stack));
    uint8_t *seen = calloc(trace->task_count + 1u, 1);
    for (uint32_t first = 0; stack && seen && first < trace->task_count; first++) {
        uint32_t count = 0;
        if (seen[first] == 0) {
            stack[count++] = first;
        }
        while (count > 0) {
            const uint32_t at = stack[count - 1];
            const struct trace_task *task = &trace->tasks[at];
            uint32_t depth = 0;
            bool waits = false;
            seen[at] = 1;
            for (uint32_t i = 0; i < task->input_count && !waits; i++) {
                const uint32_t input = task->inputs[i];
                waits = seen[input] == 0;
                if (waits) {
                    stack[count++] = input;
                } else if (graph->depth[input] + 1 > depth) {
                    depth = graph->depth[input] + 1;
                }
            }
            if (task->parent != TRACE_NONE && seen[task->parent] == 2 &&
                graph->depth[task->parent] + 1 > depth) {
                depth = graph->depth[task->parent] + 1;
            }
            if (!waits) {
                graph->depth[at] = depth;
                seen[at] = 2;
                count--;
            }
        }
    }
    const bool good = stack != NULL && seen != NULL;
    free(stack);
    free(seen);
    return good;
}

/* --- Nodes ------------------------------------------------------------------------ */

static bool is_divergent(const struct trace_job *trace, const struct trace_task *task)
{
    const uint32_t spawners = rankset_count(&task->spawners);
    return !(task->flags & MOOT__RECORD__FLAG__NESTED) && spawners > 0 &&
           spawners < trace->present_count;
}

static bool same_spawners(const struct rankset *a, const struct rankset *b)
{
    const uint32_t words =
        rankset_words(a) > rankset_words(b) ? rankset_words(a) : rankset_words(b);
    for (uint32_t i = 0; i < words; i++) {
        if ((i < rankset_words(a) ? rankset_word(a, i) : 0) !=
            (i < rankset_words(b) ? rankset_word(b, i) : 0)) {
            return false;
        }
    }
    return true;
}

/* How much is put together: 0 nothing, 1 by depth as well, 2 by kernel and place. */
static bool is_alike(const struct graph *graph, const struct node *node, uint32_t task,
                     int merge)
{
    const struct trace_task *a = &graph->trace->tasks[node->task];
    const struct trace_task *b = &graph->trace->tasks[task];
    return merge > 0 && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->site, b->site) == 0 &&
           (merge > 1 || (node->depth == graph->depth[task] &&
                          same_spawners(&a->spawners, &b->spawners)));
}

/* False if there are too many. */
static bool nodes_find(struct graph *graph, int merge)
{
    const struct trace_job *trace = graph->trace;
    graph->node_count = 0;
    for (uint32_t t = 0; t < trace->task_count; t++) {
        uint32_t at = 0;
        while (at < graph->node_count &&
               !is_alike(graph, &graph->nodes[at], t, merge)) {
            at++;
        }
        if (at == REPORT_GRAPH_MAX) {
            return false;
        }
        if (at == graph->node_count) {
            graph->nodes[graph->node_count++] =
                (struct node){.task = t, .depth = graph->depth[t]};
        }
        struct node *node = &graph->nodes[at];
        node->count++;
        node->divergent += is_divergent(trace, &trace->tasks[t]);
        node->ran_ns += (double)model_ran_ns(trace, t);
        graph->node[t] = at;
    }
    return true;
}

/* --- Writing ---------------------------------------------------------------------- */

static void node_write(const struct graph *graph, const struct node *node, FILE *file)
{
    const struct trace_job *trace = graph->trace;
    const struct trace_task *task = &trace->tasks[node->task];
    char name[200], ranks[256];
    const bool one = node->count == 1;
    putc('[', file);
    json_text(file, one ? trace_task_name(trace, node->task, name, sizeof(name))
                        : task->kernel);
    putc(',', file);
    json_text(file, task->site);
    rankset_format(&task->spawners, ranks, sizeof(ranks));
    fprintf(file, ",%u,%u,%u,%d,%.3f,", node->depth, node->count, node->divergent,
            one && task->run != TRACE_NONE ? (int)trace->runs[task->run].rank : -1,
            node->ran_ns / 1e3);
    json_text(file, ranks);
    fprintf(file, ",%d]", one && task->voted_ns != TRACE_NEVER);
}

/* Each pair of nodes once, with how many inputs it stands for. */
static bool edges_write(const struct graph *graph, FILE *file)
{
    const uint32_t n = graph->node_count;
    uint32_t *edges = calloc((size_t)n * n + 1, sizeof(*edges));
    const char *join = "";
    for (uint32_t t = 0; edges && t < graph->trace->task_count; t++) {
        const struct trace_task *task = &graph->trace->tasks[t];
        for (uint32_t i = 0; i < task->input_count; i++) {
            edges[(size_t)graph->node[task->inputs[i]] * n + graph->node[t]]++;
        }
        if (task->parent != TRACE_NONE) {
            edges[(size_t)graph->node[task->parent] * n + graph->node[t]]++;
        }
    }
    fputs("],\"edges\":[", file);
    for (uint32_t a = 0; edges && a < n; a++) {
        for (uint32_t b = 0; b < n; b++) {
            if (edges[(size_t)a * n + b] > 0) {
                fprintf(file, "%s%u,%u,%u", join, a, b, edges[(size_t)a * n + b]);
                join = ",";
            }
        }
    }
    fputs("]}", file);
    free(edges);
    return edges != NULL;
}

bool report_graph_write(const struct model *model, FILE *file)
{
    struct graph graph = {.trace = model->trace};
    const uint32_t tasks = model->trace->task_count;
    graph.depth = calloc(tasks + 1u, sizeof(*graph.depth));
    graph.node = calloc(tasks + 1u, sizeof(*graph.node));
    graph.nodes = calloc(REPORT_GRAPH_MAX, sizeof(*graph.nodes));
    bool good = graph.depth && graph.node && graph.nodes && depths_find(&graph);
    if (good) {
        int merge = 0;
        while (merge <= 2 && !nodes_find(&graph, merge)) {
            merge++;
        }
        fprintf(file, ",\n\"graph\":{\"merged\":%d,\"nodes\":[", merge);
        for (uint32_t i = 0; i < graph.node_count && merge <= 2; i++) {
            fputs(i > 0 ? ",\n" : "", file);
            node_write(&graph, &graph.nodes[i], file);
        }
        graph.node_count = merge <= 2 ? graph.node_count : 0;
        good = merge <= 2 ? edges_write(&graph, file)
                          : fputs("],\"edges\":[]}", file) >= 0;
    }
    free(graph.depth);
    free(graph.node);
    free(graph.nodes);
    return good;
}
