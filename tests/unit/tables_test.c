/* tables_test.c - transports in shared objects: a right one is taken, each mistake that
 * a table can have is refused with a line that names it.
 *
 * The objects are built here, each from one text with one thing changed. */
#include "node/transport/tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/moot-tables-XXXXXX";

static const char source[] =
    "#include \"node/api/moot_transport.h\"\n"
    "#include <string.h>\n"
    "static int open_none(const moot_transport_setup *s, moot_wire **o, char *t,"
    " size_t n) { (void)s; (void)o; (void)t; (void)n; return MOOT_ERR_TRANSPORT; }\n"
    "static int address(moot_wire *w, void *b, size_t *l)"
    " { (void)w; (void)b; *l = 0; return 0; }\n"
    "static int introduce(moot_wire *w, uint64_t u, const void *a, size_t l)"
    " { (void)w; (void)u; (void)a; (void)l; return 0; }\n"
    "static int send_none(moot_wire *w, uint64_t u, const void *b, size_t s)"
    " { (void)w; (void)u; (void)b; (void)s; return 0; }\n"
    "static int poll(moot_wire *w, const moot_transport_receiver *r, int m)"
    " { (void)w; (void)r; (void)m; return 0; }\n"
    "static bool flushed(const moot_wire *w) { (void)w; return true; }\n"
    "static void forget(moot_wire *w, uint64_t u) { (void)w; (void)u; }\n"
    "static const char *story(const moot_wire *w) { (void)w; return \"\"; }\n"
    "static void close_none(moot_wire *w) { (void)w; }\n"
    "#ifdef NAMELESS\n"
    "#define NAME_OF_TABLE another_table\n"
    "#else\n"
    "#define NAME_OF_TABLE moot_transport_table\n"
    "#endif\n"
    "#ifdef POINTER\n"
    "const moot_transport *const moot_transport_table = 0;\n"
    "#else\n"
    "const moot_transport NAME_OF_TABLE = {\n"
    "    .version = MOOT_TRANSPORT_VERSION, .size = sizeof(moot_transport),\n"
    "    .name = \"mine\", .frame_max = 4096, .open = open_none, .address = address,\n"
    "    .introduce = introduce, .send = send_none, .poll = poll,\n"
    "    .flushed = flushed, .forget = forget, .story = story, .close = close_none,\n"
    "#ifdef CHANGE\n"
    "    CHANGE\n"
    "#endif\n"
    "};\n"
    "#endif\n";

static int run_shell(const char *command)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void build_object(const char *change, const char *name)
{
    char command[1024];
    (void)snprintf(command, sizeof(command),
                   "${CC:-cc} -w -shared -fPIC -I. %s %s/source.c -o %s/%s.so", change,
                   folder, folder, name);
    assert_int_equal(run_shell(command), 0);
}

static int load_there(const char *name, const moot_transport **out,
                      const char **options, char *story, size_t size)
{
    static char word[256]; /* the options that it gives stand in it */
    (void)snprintf(word, sizeof(word), "%s/%s", folder, name);
    return transport_table_load(word, out, options, story, size);
}

static int make_folder(void **state)
{
    (void)state;
    char file[128];
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(file, sizeof(file), "%s/source.c", folder);
    FILE *to = fopen(file, "w");
    if (to == NULL) {
        return -1;
    }
    fputs(source, to);
    return fclose(to);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return run_shell(command);
}

static void a_right_table_is_taken_with_its_options(void **state)
{
    (void)state;
    const moot_transport *table = NULL;
    const char *options = NULL;
    char word[256], story[512] = "";
    build_object("", "right");
    (void)snprintf(word, sizeof(word), "%s/right.so:a=b:c", folder);
    assert_int_equal(transport_table_load(word, &table, &options, story, sizeof(story)),
                     MOOT_OK);
    assert_string_equal(table->name, "mine");
    assert_string_equal(options, "a=b:c");
    assert_int_equal(load_there("right.so", &table, &options, story, sizeof(story)),
                     MOOT_OK);
    assert_string_equal(options, "");
    build_object("'-DCHANGE=.size=sizeof(moot_transport)+64'", "younger");
    assert_int_equal(load_there("younger.so", &table, &options, story, sizeof(story)),
                     MOOT_OK);
}

static void each_mistake_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *change, *told;
    } rows[] = {
        {"-DNAMELESS", "no symbol moot_transport_table"},
        {"-DPOINTER", "has 8 bytes"},
        {"-DCHANGE=.version=2", "of version 2"},
        {"-DCHANGE=.version=0", "of version 0"},
        {"-DCHANGE=.size=8", ".size of its table is 8"},
        {"-DCHANGE=.name=0", ".name"},
        {"'-DCHANGE=.name=\"\"'", ".name"},
        {"'-DCHANGE=.name=\"two words\"'", ".name"},
        {"-DCHANGE=.flags=4", "0x4"},
        {"-DCHANGE=.frame_max=1023", ".frame_max of its table is 1023"},
        {"-DCHANGE=.frame_max=4194305", ".frame_max of its table is 4194305"},
        {"-DCHANGE=.open=0", "no .open"},
        {"-DCHANGE=.address=0", "no .address"},
        {"-DCHANGE=.introduce=0", "no .introduce"},
        {"-DCHANGE=.send=0", "no .send"},
        {"-DCHANGE=.poll=0", "no .poll"},
        {"-DCHANGE=.flushed=0", "no .flushed"},
        {"-DCHANGE=.forget=0", "no .forget"},
        {"-DCHANGE=.story=0", "no .story"},
        {"-DCHANGE=.close=0", "no .close"},
        {"'-Dmemcpy=no_such_function' '-DCHANGE=.story=(const "
         "char*(*)(const moot_wire*))memcpy'",
         "undefined symbol"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const moot_transport *table = NULL;
        const char *options = NULL;
        char name[32], file[32], story[512] = "";
        (void)snprintf(name, sizeof(name), "wrong%zu", i);
        (void)snprintf(file, sizeof(file), "wrong%zu.so", i);
        build_object(rows[i].change, name);
        assert_int_equal(load_there(file, &table, &options, story, sizeof(story)),
                         MOOT_ERR_CONFIG);
        assert_null(table);
        assert_null(options);
        if (strstr(story, rows[i].told) == NULL || strchr(story, '\n') != NULL) {
            fail_msg("%s is told as: %s", rows[i].change, story);
        }
    }
}

static void words_that_name_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *word, *told;
    } rows[] = {
        {"", "here is none"},
        {":x", "here is none"},
        {"no-such-transport", "no transport 'no-such-transport'"},
        {"a b", "no transport 'a b'"},
        {"./no-such-file.so", "No such file"},
        {"/tmp", "is no file"},
        {"./Makefile", "cannot be loaded"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const moot_transport *table = NULL;
        const char *options = NULL;
        char story[512] = "";
        assert_int_equal(
            transport_table_load(rows[i].word, &table, &options, story, sizeof(story)),
            MOOT_ERR_CONFIG);
        assert_null(table);
        if (strstr(story, rows[i].told) == NULL) {
            fail_msg("'%s' is told as: %s", rows[i].word, story);
        }
    }
    char small[8] = "";
    const moot_transport *table = NULL;
    const char *options = NULL;
    assert_int_equal(transport_table_load("./x.so", &table, &options, small, 8),
                     MOOT_ERR_CONFIG);
    assert_int_equal(strlen(small), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_table_is_taken_with_its_options),
        cmocka_unit_test(each_mistake_is_refused_by_name),
        cmocka_unit_test(words_that_name_none_are_refused),
    };
    return cmocka_run_group_tests_name("tables", tests, make_folder, remove_folder);
}
