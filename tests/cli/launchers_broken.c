/* launchers_broken.c - the example's launcher with a defect, for launchers_test.sh,
 * which compiles it with -DDEFECT=NAME. */
#include <moot_launcher.h>

#define moot_launcher_table sound_table
#include "deploy/examples/launcher_exec.c"
#undef moot_launcher_table

enum {
    NONE,
    TELLS_UP_TWICE,
    TELLS_NO_UP,
    TELLS_END_TWICE,
    TELLS_NO_END,
    TELLS_IN_LAUNCH,
    STATUS_OF_WAIT,
    HIDES_SIGNALS,
    LOSES_A_BYTE,
    TRANSLATES_LINES,
    DROPS_AT_THE_END,
    SPLITS_WORDS,
    DROPS_EMPTY_WORDS,
    BLOCKS_IN_POLL,
    BLOCKS_IN_LAUNCH,
    FINALISES_SLOWLY,
    LEAVES_PROCESSES,
    LEAVES_FILES,
    KILLS_NOTHING,
    INTERRUPTS_NOTHING,
    ONE_HOST_AT_A_TIME,
    TAKES_ANY_HOSTS,
    SAYS_NOT_WHY,
    DESCRIBES_ANY_HOST,
    HAS_NO_NAMES,
    STARTS_AGAIN,
    NEVER_WAKES,
    ERROR_IN_THE_STREAM,
    CRASHES
};

static const moot_launcher_receiver *told;
static const moot_launcher_receiver
    *latest; /* dangling, as a careless launcher has it */
static moot_launcher_receiver kept;

static int broken_open(const moot_launcher_setup *setup, moot_fleet **out, char *story,
                       size_t size)
{
    moot_launcher_setup other = *setup;
    if (DEFECT == TAKES_ANY_HOSTS) {
        other.hosts = "a,b,c";
    }
    const int code = sound_table.open(&other, out, story, size);
    if (DEFECT == SAYS_NOT_WHY) {
        *story = '\0';
    }
    return code;
}

static int broken_host(const moot_fleet *fleet, uint32_t index, moot_launcher_host *out)
{
    if (DEFECT == DESCRIBES_ANY_HOST && index >= fleet->count) {
        index = 0;
    }
    const int code = sound_table.host(fleet, index, out);
    if (DEFECT == HAS_NO_NAMES) {
        *out->name = '\0';
    }
    return code;
}

/* A filter between the command and its stream. */
static char *const *filter_words(char *const argv[])
{
    static char text[8192], shell[] = "sh", option[] = "-c";
    static char *words[64];
    int count = 0;
    if (DEFECT == SPLITS_WORDS) {
        size_t used = 0;
        for (int i = 0; argv[i]; i++) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", argv[i]);
        }
        words[0] = shell;
        words[1] = option;
        words[2] = text;
        return words;
    }
    if (DEFECT == DROPS_EMPTY_WORDS) {
        for (int i = 0; argv[i] && count < 60; i++) {
            if (*argv[i]) {
                words[count++] = argv[i];
            }
        }
        words[count] = NULL;
        return words;
    }
    const char *wrap = DEFECT == LOSES_A_BYTE          ? "\"$@\" | tail -c +2"
                       : DEFECT == TRANSLATES_LINES    ? "\"$@\" | sed 's/$/\\r/'"
                       : DEFECT == ERROR_IN_THE_STREAM ? "exec \"$@\" 2>&1"
                       : DEFECT == HIDES_SIGNALS
                           ? "\"$@\"; [ $? = 7 ] && exit 7; exit 0"
                           : NULL;
    if (!wrap) {
        return argv;
    }
    snprintf(text, sizeof(text), "%s", wrap);
    words[count++] = shell;
    words[count++] = option;
    words[count++] = text;
    words[count++] = shell;
    for (int i = 0; argv[i] && count < 60; i++) {
        words[count++] = argv[i];
    }
    words[count] = NULL;
    return words;
}

static int broken_launch(moot_fleet *fleet, uint32_t index, char *const argv[])
{
    static int again;
    if (DEFECT == BLOCKS_IN_LAUNCH) {
        sleep(3);
    }
    if (DEFECT == CRASHES && ++again == 3) {
        abort();
    }
    if (DEFECT == STARTS_AGAIN && index < fleet->count && fleet->hosts[index].pid) {
        return MOOT_OK;
    }
    if (DEFECT == ONE_HOST_AT_A_TIME) {
        for (uint32_t i = 0; i < fleet->count; i++) {
            if (fleet->hosts[i].pid && !fleet->hosts[i].ended) {
                snprintf(fleet->story, sizeof(fleet->story), "one at a time");
                return MOOT_ERR_INVALID;
            }
        }
    }
    const int code =
        sound_table.launch(fleet, index, (char *const *)filter_words(argv));
    if (DEFECT == TELLS_IN_LAUNCH && latest) {
        latest->up(latest->context, index);
    }
    return code;
}

static void pass_up(void *context, uint32_t host)
{
    (void)context;
    if (DEFECT != TELLS_NO_UP) {
        told->up(told->context, host);
    }
    if (DEFECT == TELLS_UP_TWICE) {
        told->up(told->context, host);
    }
}

static moot_fleet *polled;

static void pass_ended(void *context, uint32_t host, enum moot_launcher_end how,
                       int status, const char *why)
{
    (void)context;
    if (DEFECT == STATUS_OF_WAIT) {
        status = status > 128 ? status - 128 : status << 8;
    }
    if (DEFECT == DROPS_AT_THE_END) {
        char bytes[4096];
        fcntl(polled->hosts[host].stream, F_SETFL, O_NONBLOCK);
        while (read(polled->hosts[host].stream, bytes, sizeof(bytes)) > 0) {
        }
    }
    if (DEFECT != TELLS_NO_END) {
        told->ended(told->context, host, how, status, why);
    }
    if (DEFECT == TELLS_END_TWICE) {
        told->ended(told->context, host, how, status, why);
    }
}

static int broken_poll(moot_fleet *fleet, const moot_launcher_receiver *receiver)
{
    const moot_launcher_receiver mine = {
        .size = sizeof(mine), .up = pass_up, .ended = pass_ended};
    if (DEFECT == BLOCKS_IN_POLL && fleet->hosts[0].pid) {
        sleep(3);
    }
    kept = *receiver;
    latest = &kept;
    told = receiver;
    polled = fleet;
    return sound_table.poll(fleet, &mine);
}

static void broken_interrupt(moot_fleet *fleet, uint32_t index, int signal)
{
    if (DEFECT != INTERRUPTS_NOTHING) {
        sound_table.interrupt(fleet, index, signal);
    }
}

static void broken_kill(moot_fleet *fleet, uint32_t index)
{
    if (DEFECT != KILLS_NOTHING) {
        sound_table.kill(fleet, index);
    }
}

static void broken_finalise(moot_fleet *fleet)
{
    if (DEFECT == FINALISES_SLOWLY) {
        sleep(7);
    }
    if (DEFECT == LEAVES_PROCESSES) {
        for (uint32_t i = 0; i < fleet->count; i++) {
            fleet->hosts[i].pid = 0;
        }
    }
    if (DEFECT == LEAVES_FILES) {
        (void)!dup(0);
    }
    sound_table.finalise(fleet);
}

static int broken_descriptor(const moot_fleet *fleet)
{
    static int ends[2];
    (void)fleet;
    return DEFECT == NEVER_WAKES && pipe2(ends, O_CLOEXEC) == 0 ? ends[0] : -1;
}

const moot_launcher moot_launcher_table = {
    .version = MOOT_LAUNCHER_VERSION,
    .size = sizeof(moot_launcher),
    .name = "broken",
    .open = broken_open,
    .hosts = exec_hosts,
    .host = broken_host,
    .launch = broken_launch,
    .connect = exec_connect,
    .poll = broken_poll,
    .interrupt = broken_interrupt,
    .kill = broken_kill,
    .story = exec_story,
    .finalise = broken_finalise,
    .descriptor = DEFECT == NEVER_WAKES ? broken_descriptor : NULL,
};
