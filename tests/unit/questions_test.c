/* questions_test.c - of what an inquiry asks whom, and what that and the report of the
 * answers cost where many ranks wait for much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consensus/core_view.h"
#include "node/explain/query_targets.h"
#include "node/explain/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 64, WAITS = LIMIT_ACCOUNT_WAITS, TASKS = 160 };

/* A rank that waits for WAITS tasks and tells of TASKS, with those first. */
struct teller {
    Moot__Account account;
    Moot__Account__Wait wait[WAITS], *waits[WAITS];
    Moot__Account__Task task[TASKS], *tasks[TASKS];
    moot_hash hashes[TASKS + 1];
};

struct job {
    struct picture picture;
    struct seat seats[RANKS_MAX];
    struct teller tellers[RANKS_MAX];
};

static ProtobufCBinaryData name(moot_hash *hash, uint32_t number)
{
    memset(hash, 0x5a, sizeof(*hash));
    memcpy(hash, &number, sizeof(number));
    return (ProtobufCBinaryData){sizeof(*hash), hash->bytes};
}

static void teller_fill(struct teller *teller, uint32_t rank, uint32_t size,
                        uint32_t waits, uint32_t tasks)
{
    moot__account__init(&teller->account);
    teller->account.rank = rank;
    teller->account.size = size;
    teller->account.waits = teller->waits;
    teller->account.tasks = teller->tasks;
    teller->account.n_waits = waits;
    teller->account.n_tasks = tasks;
    for (uint32_t i = 0; i < tasks; i++) { /* half of them are known to all */
        Moot__Account__Task *task = teller->tasks[i] = &teller->task[i];
        const uint32_t number = i % 2 == 0 ? i : (rank + 1) * 1000 + i;
        moot__account__task__init(task);
        task->hash = name(&teller->hashes[i], number);
        task->owner = PLACEMENT_NOBODY;
        task->chair = number % size;
    }
    for (uint32_t i = 0; i < waits; i++) {
        teller->waits[i] = &teller->wait[i];
        moot__account__wait__init(teller->waits[i]);
        teller->waits[i]->hash = teller->task[i].hash;
    }
}

static struct job *job_new(uint32_t size, uint32_t waits, uint32_t tasks)
{
    struct job *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->picture = (struct picture){.rank = 0, .size = size, .seats = job->seats};
    for (uint32_t rank = 0; rank < size; rank++) {
        teller_fill(&job->tellers[rank], rank, size, waits, tasks);
        job->seats[rank].account = &job->tellers[rank].account;
    }
    return job;
}

static struct question question_of(const struct job *job, uint32_t rank, bool all)
{
    struct question question;
    struct questions *questions = questions_new(&job->picture, all);
    assert_non_null(questions);
    questions_put(questions, rank, &question);
    questions_free(questions);
    return question;
}

static uint32_t number_of(const struct question *question, uint32_t i)
{
    uint32_t number;
    assert_true(i < question->count);
    memcpy(&number, &question->hashes[i], sizeof(number));
    return number;
}

/* --- Of what ---------------------------------------------------------------------- */

/* Ranks 0 to 2 wait for 0, and each for one of its own: 1001, 2001, 3001. */
static void each_is_asked_about_what_it_can_tell(void **state)
{
    (void)state;
    struct job *job = job_new(3, 2, 2);
    struct question question = question_of(job, 0, false);
    assert_int_equal(question.count, 2); /* the chair of 0 and of 2001 */
    assert_int_equal(number_of(&question, 0), 0);
    assert_int_equal(number_of(&question, 1), 2001);
    assert_true(question.fresh); /* of the second */
    question = question_of(job, 1, false);
    assert_int_equal(question.count, 1);
    assert_int_equal(number_of(&question, 0), 3001);
    question = question_of(job, 2, false);
    assert_int_equal(question.count, 1);
    assert_int_equal(number_of(&question, 0), 1001);
    free(job);
}

/* An owner speaks before a chair, and who owns it before who has heard of it. */
static void owners_speak_before_chairs(void **state)
{
    (void)state;
    struct job *job = job_new(3, 1, 1);
    assert_int_equal(question_of(job, 0, false).count, 1);
    job->tellers[1].task[0].owner = 2; /* hearsay */
    assert_int_equal(question_of(job, 0, false).count, 0);
    struct question question = question_of(job, 2, false);
    assert_int_equal(question.count, 1);
    assert_false(question.fresh); /* it has told of it */
    job->tellers[2].account.n_tasks = 0;
    assert_true(question_of(job, 2, false).fresh);
    job->tellers[1].task[0].own = CORE_OWN_RUNNING; /* its own word */
    assert_int_equal(question_of(job, 1, false).count, 1);
    assert_int_equal(question_of(job, 2, false).count, 0);
    free(job);
}

/* What tasks lack is waited for, too, and everything is told once, as it was met. */
static void all_are_asked_about_everything(void **state)
{
    (void)state;
    struct job *job = job_new(3, 2, 2);
    job->tellers[1].task[0].input = name(&job->tellers[1].hashes[TASKS], 77);
    for (uint32_t rank = 0; rank < 3; rank++) {
        static const uint32_t numbers[] = {0, 1001, 2001, 77, 3001};
        struct question question = question_of(job, rank, true);
        assert_int_equal(question.count, 5);
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(number_of(&question, i), numbers[i]);
        }
    }
    free(job);
}

static void a_question_has_its_limit(void **state)
{
    (void)state;
    struct job *job = job_new(RANKS_MAX, WAITS, TASKS);
    assert_int_equal(question_of(job, 1, true).count, LIMIT_INQUIRY_HASHES);
    free(job);
}

/* --- What it costs -----------------------------------------------------------------
 */

static double cost_for(uint32_t size)
{
    struct job *job = job_new(size, WAITS, TASKS);
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    struct questions *questions = questions_new(&job->picture, false);
    assert_non_null(questions);
    for (uint32_t rank = 0; rank < size; rank++) {
        struct question question;
        questions_put(questions, rank, &question);
    }
    questions_free(questions);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    free(job);
    return (double)(end.tv_sec - begin.tv_sec) +
           (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* Eight times the ranks say eight times as much: which is not 64 times the cost. */
static void many_ranks_may_wait_for_much(void **state)
{
    (void)state;
    (void)cost_for(RANKS_MAX / 8);
    double few = cost_for(RANKS_MAX / 8), many = cost_for(RANKS_MAX);
    if (many > 24 * few + 0.005) {
        print_error("%d ranks took %.6f s, %d took %.6f s\n", RANKS_MAX / 8, few,
                    RANKS_MAX, many);
    }
    assert_true(many <= 24 * few + 0.005);
}

/* Each of the tasks that all know of waits for the next at its owner. */
static void job_chain(struct job *job)
{
    const uint32_t size = job->picture.size;
    for (uint32_t rank = 0; rank < size; rank++) {
        struct teller *teller = &job->tellers[rank];
        for (uint32_t i = 0; i < TASKS; i += 2) {
            teller->task[i].owner = i % size;
            if (rank == i % size) {
                teller->task[i].own = CORE_OWN_WAIT;
            }
            if (rank == i % size && i + 2 < TASKS) {
                teller->task[i].input = teller->task[i + 2].hash;
            }
        }
    }
}

static double report_cost(uint32_t size)
{
    struct job *job = job_new(size, WAITS, TASKS);
    struct timespec begin, end;
    struct text text = {0};
    job_chain(job);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    struct diagnosis *diagnosis = diagnosis_new(&job->picture);
    assert_non_null(diagnosis);
    stall_compose(&text, &job->picture, diagnosis);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_non_null(
        strstr(text_get(&text), "... and so on")); /* a chain was followed */
    diagnosis_free(diagnosis);
    text_release(&text);
    free(job);
    return (double)(end.tv_sec - begin.tv_sec) +
           (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* It goes along every wait's chain; not, at each link, through all that ranks say,
 * which was some 500 times as much as to find out what to ask. */
static void so_may_the_report_of_it(void **state)
{
    (void)state;
    (void)cost_for(RANKS_MAX);
    double questions = cost_for(RANKS_MAX), report = report_cost(RANKS_MAX);
    if (report > 120 * questions + 0.005) {
        print_error("the questions took %.6f s, the report %.6f s\n", questions,
                    report);
    }
    assert_true(report <= 120 * questions + 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_asked_about_what_it_can_tell),
        cmocka_unit_test(owners_speak_before_chairs),
        cmocka_unit_test(all_are_asked_about_everything),
        cmocka_unit_test(a_question_has_its_limit),
        cmocka_unit_test(many_ranks_may_wait_for_much),
        cmocka_unit_test(so_may_the_report_of_it),
    };
    return cmocka_run_group_tests_name("questions", tests, NULL, NULL);
}
