/* check_rows.c - see check_rows.h. */
#include "node/cli/check_rows.h"
#include "node/cli/cli.h"

#include <stdio.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool run_row(const struct check_rows *rows, size_t i)
{
    char why[CHECK_WHY_BYTES] = "";
    const double began_s = now_s();
    const bool well = rows->run(rows->context, i, why);
    printf("%-7s %-34s %5.1f s%s%s\n", well ? "ok" : "FAILED", rows->name(i),
           now_s() - began_s, well ? "" : "  ", why);
    (void)fflush(stdout);
    return well;
}

int check_rows_run(const struct check_rows *rows, bool first)
{
    int good = 0, bad = 0;
    for (size_t i = 0; i < rows->count && (bad == 0 || (!first && good > 0)); i++) {
        *(run_row(rows, i) ? &good : &bad) += 1;
    }
    printf("%d ok, %d failed\n", good, bad);
    return bad == 0 ? CLI_OK : CLI_FAILED;
}
