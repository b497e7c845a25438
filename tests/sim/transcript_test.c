/* transcript_test.c - the protocol told by its own cores, one golden file per case.
 *
 * The transcript of each scene of consensus/sim/runs/cases.h must be the one in
 * tests/golden/<name>.txt, which is meant to be read.
 *
 *   transcript_test            compares
 *   transcript_test NAME       prints one transcript
 *   MOOT_UPDATE_GOLDEN=1       writes the golden files instead; read the diff
 */
#include "consensus/sim/runs/cases.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSCRIPT_BYTES_MAX = 1 << 16 };

/* --- Comparing -------------------------------------------------------------------- */

static void golden_path(const char *name, char *path, size_t size)
{
    const char *root = getenv("MOOT_TEST_ROOT");
    (void)snprintf(path, size, "%s/tests/golden/%s.txt", root != NULL ? root : ".",
                   name);
}

static bool write_golden(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* True if the file holds exactly this text; else says where they part. */
static bool compare_golden(const char *path, const char *text)
{
    char *golden = calloc(1, TRANSCRIPT_BYTES_MAX);
    FILE *file = fopen(path, "r");
    if (golden == NULL) {
        abort();
    }
    if (file != NULL) {
        (void)fread(golden, 1, TRANSCRIPT_BYTES_MAX - 1, file);
        fclose(file);
    }
    bool same = strcmp(golden, text) == 0;
    if (!same) {
        size_t at = 0, line = 0;
        for (size_t i = 0; golden[i] != '\0' && golden[i] == text[i]; i++) {
            if (golden[i] == '\n') {
                at = i + 1;
            }
        }
        for (size_t i = 0; i < at; i++) {
            line += golden[i] == '\n';
        }
        printf("  %s:%zu\n  - %.*s\n  + %.*s\n", path, line + 1,
               (int)strcspn(golden + at, "\n"), golden + at,
               (int)strcspn(text + at, "\n"), text + at);
    }
    free(golden);
    return same;
}

static bool run_scene(size_t scene, bool update, bool print)
{
    char *text = NULL, path[512];
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) {
        abort();
    }
    struct sim_report report;
    bool good = scene_tell(scene, to, &report);
    fclose(to);
    golden_path(scene_name(scene), path, sizeof(path));
    if (!good) {
        printf("  %s: %s\n%s", report.check, report.why,
               report.dump != NULL ? report.dump : "");
    }
    if (print) {
        fputs(text, stdout);
    } else {
        good = good && (update ? write_golden(path, text) : compare_golden(path, text));
    }
    if (!good) {
        printf("FAILED %s\n", scene_name(scene));
    }
    free(report.dump);
    free(text);
    return good;
}

int main(int argc, char **argv)
{
    const char *update = getenv("MOOT_UPDATE_GOLDEN");
    uint32_t passed = 0, failed = 0;
    for (size_t i = 0; i < scene_count(); i++) {
        if (argc > 1 && strcmp(argv[1], scene_name(i)) != 0) {
            continue;
        }
        bool good = run_scene(i, update != NULL && *update == '1', argc > 1);
        passed += good;
        failed += !good;
    }
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
