/* agent_stream_test.c - the stream between `moot run` and an agent, at its end. */
#include "node/launch/agent_stream.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct heard {
    char words[64];
    uint32_t done;
};

static void hear(void *context, const struct agent_header *header,
                 const unsigned char *bytes)
{
    struct heard *heard = context;
    heard->done += header->kind == AGENT_DONE;
    if (header->kind == AGENT_SAID && header->size < sizeof(heard->words)) {
        memcpy(heard->words, bytes, header->size);
    }
}

/* An agent says its last words and goes; `moot run` notices as it says something. */
static void last_words_are_read_of_one_that_takes_nothing_any_more(void **unused)
{
    struct heard heard = {"", 0};
    int ends[2];
    (void)unused;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct agent_stream *agent = agent_stream_new(ends[0], ends[0]);
    struct agent_stream *run = agent_stream_new(ends[1], ends[1]);
    assert_non_null(agent);
    assert_non_null(run);
    agent_stream_greet(agent);
    agent_stream_say(agent, AGENT_SAID, 0, 0, "last", sizeof("last"));
    agent_stream_say(agent, AGENT_DONE, 0, 0, NULL, 0);
    assert_int_equal(agent_stream_waiting(agent), 0);
    agent_stream_free(agent);
    close(ends[0]);
    agent_stream_say(run, AGENT_BEAT, 0, 0, NULL, 0);
    agent_stream_say(run, AGENT_BEAT, 0, 0, NULL, 0);
    assert_int_equal(agent_stream_waiting(run), 0);
    agent_stream_read(run, true, hear, &heard);
    assert_string_equal(heard.words, "last");
    assert_int_equal(heard.done, 1);
    assert_true(agent_stream_is_over(run));
    assert_string_equal(agent_stream_story(run), "");
    agent_stream_free(run);
    close(ends[1]);
}

/* One that keeps its output open says nothing more, either. */
static void a_stream_that_takes_nothing_is_over_when_all_is_read(void **unused)
{
    struct heard heard = {"", 0};
    int to[2], from[2];
    (void)unused;
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    struct agent_stream *run = agent_stream_new(from[0], to[1]);
    assert_non_null(run);
    agent_stream_read(run, true, hear, &heard);
    assert_false(agent_stream_is_over(run));
    close(to[0]);
    agent_stream_say(run, AGENT_BEAT, 0, 0, NULL, 0);
    assert_false(agent_stream_is_over(run));
    agent_stream_read(run, true, hear, &heard);
    assert_true(agent_stream_is_over(run));
    agent_stream_free(run);
    close(to[1]);
    close(from[0]);
    close(from[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_words_are_read_of_one_that_takes_nothing_any_more),
        cmocka_unit_test(a_stream_that_takes_nothing_is_over_when_all_is_read)};
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
