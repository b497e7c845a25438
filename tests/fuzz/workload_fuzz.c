/* workload_fuzz.c - no text harms who reads it as a workload or a script, and what can
 * be run is a program.
 *
 * Every input is read as a workload's name and as a script.  A mistake must lie in the
 * text and say something.  A script without large numbers is made into the program of a
 * few ranks, whose lists must stay within it.
 */
#include "consensus/sim/programs/workload.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static void check_error(const char *text, size_t size, const struct script_error *error)
{
    char out[48];
    require(error->wrong[0] != '\0');
    require(memchr(error->wrong, '\0', sizeof(error->wrong)) != NULL);
    require(memchr(error->allowed, '\0', sizeof(error->allowed)) != NULL);
    require(error->column <= size + 1);
    size_t length = script_error_format("f", text, size, error, out, sizeof(out));
    char *whole = malloc(length + 1);
    require(whole != NULL);
    require(script_error_format("f", text, size, error, whole, length + 1) == length);
    require(strlen(whole) == length);
    free(whole);
}

static void check_word(const char *text)
{
    struct workload workload = {0};
    struct plan_error error;
    if (workload_parse(text, &workload, &error)) {
        require(workload.kind < WORKLOAD_END && workload.rate_ppm <= 1000000);
    } else {
        require(error.wrong[0] != '\0' && error.column >= 1 &&
                error.column <= strlen(text) + 1);
    }
}

/* A million tasks are legal, and take their time. */
static bool is_small(const char *text, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (isdigit((unsigned char)text[i]) && isdigit((unsigned char)text[i + 1]) &&
            isdigit((unsigned char)text[i + 2])) {
            return false;
        }
    }
    return size < 2000;
}

static void check_list(const struct program *program, const struct program_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        require(list->items[i] < program->task_count);
    }
}

static void check_program(const struct program *program, uint32_t ranks)
{
    require(program->rank_count == ranks);
    for (uint32_t task = 0; task < program->task_count; task++) {
        check_list(program, &program->tasks[task].inputs);
        check_list(program, &program->tasks[task].after);
        check_list(program, &program->tasks[task].children);
        size_t size;
        require(program_result(program, task, &size) != NULL || size == 0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t lane = 0; lane < program->lane_count; lane++) {
            const struct program_script *script = program_script(program, rank, lane);
            for (uint32_t i = 0; i < script->count; i++) {
                check_list(program, &script->steps[i].tasks);
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);
    struct script_error error;
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check_word(text);
    struct script *script =
        is_small(text, size) ? script_parse(text, size, &error) : NULL;
    if (script != NULL) {
        for (uint32_t ranks = 1; ranks <= 3; ranks++) {
            struct program *program = script_program(script, 7, ranks, &error);
            if (program != NULL) {
                check_program(program, ranks);
            } else {
                check_error(text, size, &error);
            }
            program_free(program);
        }
        script_free(script);
    } else if (is_small(text, size)) {
        check_error(text, size, &error);
    }
    free(text);
    return 0;
}
