/* program_print.c - a program as text, for whoever looks at a failing seed.
 *
 *     program seed 17: 3 ranks, 1 lanes, 4 tasks
 *     t2 <- t0 t1 after t1  held by 0,2 declined by 1 once 24 bytes
 *     rank 0 lane 0: +t0 +t2 ?t2
 *
 * In scripts: +t spawns, -t declines, !t waits, !(a|b) waits for any, ?t fetches, ~t
 * polls, .9 computes for 9 us, [] is a barrier, @0 a meeting and its purpose.
 */
#include "consensus/sim/programs/program.h"
#include <inttypes.h>

static void print_ranks(const struct rankset *ranks, FILE *to)
{
    char text[256];
    (void)rankset_format(ranks, text, sizeof(text));
    fputs(rankset_empty(ranks) ? "nobody" : text, to);
}

static void print_word(const char *before, uint64_t word, FILE *to)
{
    if (word == 0) {
        return;
    }
    fputs(before, to);
    print_ranks(&(struct rankset){.low = word}, to);
}

static void print_list(const struct program *program, const char *before,
                       const struct program_list *list, const char *between, FILE *to)
{
    for (uint32_t i = 0; i < list->count; i++) {
        fprintf(to, "%s%s", i == 0 ? before : between,
                program->tasks[list->items[i]].name);
    }
}

static void print_task(const struct program *program, uint32_t index, FILE *to)
{
    const struct program_task *task = &program->tasks[index];
    fprintf(to, "%*s%s", (int)(2 * task->depth), "", task->name);
    print_list(program, " <- ", &task->inputs, " ", to);
    print_list(program, " after ", &task->after, " ", to);
    print_list(program, " spawns ", &task->children, " ", to);
    if (task->parent == PROGRAM_NONE) {
        fputs("  held by ", to);
        print_ranks(&task->holders, to);
        if (program->lane_count > 1) {
            fprintf(to, " lane %" PRIu32, task->lane);
        }
    }
    if (!rankset_empty(&task->decliners)) {
        fputs(" declined by ", to);
        print_ranks(&task->decliners, to);
    }
    print_word(" cancelled by ", task->cancellers, to);
    print_word(" candidates ", task->candidates, to);
    if (task->beside != PROGRAM_NONE) {
        fprintf(to, " beside %s", program->tasks[task->beside].name);
    }
    if (task->elements > 0) {
        fprintf(to, " array of %" PRIu64 " spread %" PRIu32 ",%" PRIu64 "%s",
                task->elements, task->spread, task->block,
                task->stretches ? " by stretches" : "");
        print_word(" at ", task->homes, to);
    }
    fprintf(to, "%s%s%s%s%s%s%s %" PRIu32 " bytes\n", task->once ? " once" : "",
            task->idempotent ? " idempotent" : "", task->portable ? " portable" : "",
            task->hint ? " hint" : "", task->awaited ? " awaited" : "",
            task->fails ? " fails" : "", task->poison ? " poison" : "",
            task->result_bytes);
}

static void print_step(const struct program *program, const struct program_step *step,
                       FILE *to)
{
    switch (step->op) {
    case PROGRAM_SPAWN:
    case PROGRAM_GROW:
        print_list(program, " +", &step->tasks, " +", to);
        if (step->places.end > 0) {
            fprintf(to, "[%" PRIu64 "..%" PRIu64 "]", step->places.first,
                    step->places.end - 1);
        }
        break;
    case PROGRAM_DECLINE:
        print_list(program, " -", &step->tasks, " -", to);
        break;
    case PROGRAM_CANCEL:
        print_list(program, " x", &step->tasks, " x", to);
        break;
    case PROGRAM_WAIT_ALL:
        print_list(program, " !", &step->tasks, "&", to);
        break;
    case PROGRAM_WAIT_ANY:
        print_list(program, " !(", &step->tasks, "|", to);
        fputs(")", to);
        break;
    case PROGRAM_FETCH:
        print_list(program, " ?", &step->tasks, " ?", to);
        break;
    case PROGRAM_POLL:
        print_list(program, " ~", &step->tasks, " ~", to);
        break;
    case PROGRAM_COMPUTE:
        fprintf(to, " .%" PRIu32, step->pause_us);
        break;
    case PROGRAM_PARK:
        fprintf(to, " []%" PRIu32, step->pause_us);
        break;
    case PROGRAM_BARRIER:
        fputs(" []", to);
        break;
    case PROGRAM_MEET:
        fprintf(to, " @%" PRIu32, step->purpose);
        break;
    case PROGRAM_SESSION:
        fputs(step->leaves ? " |leaves" : " |", to);
        break;
    case PROGRAM_SNAPSHOT:
        fputs(" #", to);
        break;
    case PROGRAM_RELOAD:
        fputs(" <", to);
        break;
    default:
        break;
    }
}

void program_print(const struct program *program, FILE *to)
{
    fprintf(to,
            "program seed %" PRIu64 "%s: %" PRIu32 " ranks, %" PRIu32 " lanes, %" PRIu32
            " tasks\n",
            program->seed, program->agree ? " (agreeing)" : "", program->rank_count,
            program->lane_count, program->task_count);
    for (uint32_t i = 0; i < program->task_count; i++) {
        print_task(program, i, to);
    }
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        for (uint32_t lane = 0; lane < program->lane_count; lane++) {
            const struct program_script *script = program_script(program, rank, lane);
            fprintf(to, "rank %" PRIu32 " lane %" PRIu32 ":", rank, lane);
            for (uint32_t i = 0; i < script->count; i++) {
                print_step(program, &script->steps[i], to);
            }
            fputc('\n', to);
        }
    }
}
