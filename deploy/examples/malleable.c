/* malleable.c - a job whose processes change between its sessions.
 *
 *     moot run --launcher local -n 8 --max 8 malleable
 *
 * Eight processes begin, a_0 to a_7.  In session B a_6 is gone.  While that goes on the
 * launcher starts another, b_0, which is a member from then on, and one of the ranks in
 * session C.  That takes newcomers that are let in at once: with --joins session rank 0
 * would wait for ever.  Rank 0 prints the process sets each time: a set stays as it was
 * defined, and is invalid once a process of it is gone.  Sets of single hosts,
 * moot://host/..., it leaves out, and does not count. */
#include <err.h>
#include <moot.h>
#include <moot_session.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

static void print_sets(moot *m, const char *title)
{
    moot_pset_info set;
    int number = 0;
    if (moot_rank(m) != 0) {
        return;
    }
    printf("%s\n", title);
    for (size_t i = 0; i < moot_pset_count(m); i++) {
        CHECK(moot_pset_info(m, i, &set));
        if (strncmp(set.name, "moot://host/", strlen("moot://host/")) == 0) {
            continue;
        }
        printf("  %d %s: processes [", number++, set.name);
        for (size_t k = 0; k < set.size; k++) {
            printf("%s%s", k > 0 ? ", " : "", set.processes[k]);
        }
        printf("], ranks [");
        for (size_t k = 0; k < set.size; k++) {
            printf("%s%d", k > 0 ? ", " : "", set.ranks[k]);
        }
        printf("], %s\n", set.valid ? "valid" : "invalid");
    }
}

/* A newcomer makes a set more. */
static void await_newcomer(moot *m)
{
    const size_t before = moot_pset_count(m);
    CHECK(moot_grow(m, 1, NULL));
    while (moot_pset_count(m) == before) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int main(void)
{
    moot *m = NULL;
    moot_session_info session;
    CHECK(moot_open(NULL, &m));
    CHECK(moot_session_info_get(m, &session));
    if (session.number == 1) { /* else this is b_0, which has come in session B */
        print_sets(m, "session A");
        const moot_session_options goes = {.size = sizeof(goes), .leave = 1};
        const bool is_a6 = strcmp(session.process, "a_6") == 0;
        CHECK(moot_session_next(m, is_a6 ? &goes : NULL, &session));
        if (is_a6) {
            return moot_close(m) == MOOT_OK ? 0 : 1;
        }
        print_sets(m, "session B, without a_6");
        if (session.rank == 0) {
            await_newcomer(m);
        }
        print_sets(m, "session B, b_0 has come");
    }
    CHECK(moot_session_next(m, NULL, &session));
    print_sets(m, "session C");
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
