/* checkpoint_print.c - see checkpoint_print.h.
 *
 * Nothing of a record is trusted but what its digest covers, and names in it may have
 * been written by anybody: what a terminal would obey is printed as a question mark.
 */
#include "node/cli/checkpoint_print.h"
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/disk_scan.h"
#include "node/diskstore/disk_snapshot.h"
#include "node/tools/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WHEN_BYTES = 32, NAME_SHOWN = 40, KERNELS_MAX = 1000, STATE_BYTES = 64 };

/* The figures of one kernel. */
struct kernel_sum {
    char name[DISKSTORE_NAME_BYTES];
    uint64_t records, bytes, took_ns;
};

struct print {
    const struct checkpoint_query *query;
    uint64_t records, bytes, damaged, envs;
    uint64_t env_records; /* of the environment that is shown */
    struct kernel_sum *kernels;
    size_t kernel_count;
    struct disk_set seen; /* for verify: good results, */
    struct disk_set bad;  /* and damaged ones, by their tasks alone */
    bool all_seen;        /* nobody writes, and memory sufficed */
    uint64_t missing;     /* results that snapshots name; of each counted anew */
    struct disk_undone undone;
    uint64_t undone_records;
};

/* --- Words ------------------------------------------------------------------------ */

static const char *when_made(uint64_t ns, char text[WHEN_BYTES])
{
    const time_t seconds = (time_t)(ns / 1000000000);
    struct tm when;
    if (ns == 0 || gmtime_r(&seconds, &when) == NULL ||
        strftime(text, WHEN_BYTES, "%Y-%m-%dT%H:%M:%SZ", &when) == 0) {
        snprintf(text, WHEN_BYTES, "-");
    }
    return text;
}

static const char *status_name(int32_t status)
{
    const char *name = moot_err_name(status);
    return strncmp(name, "MOOT_ERR_", 9) == 0 ? name + 9
           : strncmp(name, "MOOT_", 5) == 0   ? name + 5
                                              : name;
}

static void print_name(const char *name)
{
    struct text text = {0};
    text_add_told(&text, name, strlen(name));
    printf("%s", text_get(&text)[0] != '\0' ? text_get(&text) : "-");
    text_release(&text);
}

static void print_duration(uint64_t ns, int width)
{
    struct text text = {0};
    text_add_duration(&text, ns);
    printf("%*s", width, text_get(&text));
    text_release(&text);
}

/* Where the folder cannot be shown, says so. */
static int scan(const struct checkpoint_query *query,
                const struct disk_scan_visitor *visitor)
{
    struct text why = {0};
    const int code = disk_scan(query->folder, visitor, &why);
    if (code != MOOT_OK) {
        cli_complain(&verb_checkpoint, "%s", text_get(&why));
    }
    text_release(&why);
    return code == MOOT_OK ? CLI_OK : CLI_FAILED;
}

static void pass_env(void *context, const struct disk_scan_env *env)
{
    struct print *print = context;
    print->envs++;
    if (env->why != NULL) {
        cli_complain(&verb_checkpoint, "%s: %s", env->path, env->why);
    }
}

static void count_damage(void *context, const struct disk_scan_env *env,
                         const struct disk_key *key)
{
    struct print *print = context;
    (void)env;
    (void)key;
    print->damaged++;
}

/* Records left out for damage are said, but on standard error. */
static int tell_damage(const struct print *print, int status)
{
    if (print->damaged > 0) {
        cli_complain(&verb_checkpoint,
                     "%" PRIu64
                     " damaged are left out; `moot checkpoint verify` names them",
                     print->damaged);
    }
    return status;
}

/* --- ls --------------------------------------------------------------------------- */

static void list_record(void *context, const struct disk_scan_env *env,
                        const struct diskstore_found *found)
{
    struct print *print = context;
    char hash[MOOT_HASH_TEXT_BYTES], when[WHEN_BYTES], status[STATE_BYTES];
    (void)env;
    print->records++;
    snprintf(status, sizeof(status), "%s%s", status_name(found->status),
             disk_undone_has(&print->undone, found) ? ", undone" : "");
    printf("%s  %-8s  %-12s %12" PRIu64 " ", hash_format(&found->hash, hash),
           disk_kind_name(found->kind), status, found->size);
    print_duration(found->took_ns, 10);
    printf("  %s  ", when_made(found->made_ns, when));
    print_name(found->kernel);
    printf("  ");
    print_name(found->label);
    printf("\n");
}

static void list_snapshots(const char *folder)
{
    char id[MOOT_HASH_TEXT_BYTES], when[WHEN_BYTES], state[STATE_BYTES];
    size_t count;
    struct disk_snapshot *all = disk_snapshot_list(folder, true, &count);
    for (size_t i = 0; i < count; i++) {
        printf("%s  snapshot  %" PRIu64 " records %" PRIu64 "  %s  %s%s  ",
               hash_format(&all[i].id, id), all[i].records, all[i].bytes,
               when_made(all[i].made_ns, when),
               disk_snapshot_state(&all[i], state, sizeof(state)),
               all[i].reloaded_to ? ", gone back to" : "");
        print_name(all[i].name);
        printf("\n");
    }
    disk_snapshot_list_free(all, count);
}

int checkpoint_list(const struct checkpoint_query *query)
{
    struct print print = {.query = query};
    const struct disk_scan_visitor visitor = {.context = &print,
                                              .env = pass_env,
                                              .record = list_record,
                                              .damaged = count_damage};
    disk_undone_read(query->folder, &print.undone);
    const int status = scan(query, &visitor);
    disk_undone_release(&print.undone);
    if (status == CLI_OK) {
        list_snapshots(query->folder);
    }
    return tell_damage(&print, status);
}

/* --- show ------------------------------------------------------------------------- */

static void add_kernel(struct print *print, const struct diskstore_found *found)
{
    size_t i = 0;
    while (i < print->kernel_count &&
           strcmp(print->kernels[i].name, found->kernel) != 0) {
        i++;
    }
    if (i == print->kernel_count) {
        struct kernel_sum *more =
            i < KERNELS_MAX ? realloc(print->kernels, (i + 1) * sizeof(*more)) : NULL;
        if (more == NULL) {
            return;
        }
        print->kernels = more;
        more[i] = (struct kernel_sum){.records = 0};
        memcpy(more[i].name, found->kernel, sizeof(more[i].name));
        print->kernel_count++;
    }
    print->kernels[i].records++;
    print->kernels[i].bytes += found->size;
    print->kernels[i].took_ns += found->took_ns;
}

static void sum_env(void *context, const struct disk_scan_env *env)
{
    struct print *print = context;
    print->envs++;
    printf("  ");
    print_name(env->name);
    printf("  %" PRIu64 " bytes on disk", env->bytes);
    if (env->alive && env->writer != 0) {
        printf(", process %ld writes it", (long)env->writer);
    } else if (env->alive) {
        printf(", is being written");
    }
    if (env->why != NULL) {
        printf(", not read: %s", env->why);
    }
    printf("\n");
}

static void sum_record(void *context, const struct disk_scan_env *env,
                       const struct diskstore_found *found)
{
    struct print *print = context;
    (void)env;
    print->records++;
    print->undone_records += disk_undone_has(&print->undone, found);
    print->bytes += found->size;
    if (found->kind == DISKSTORE_RESULT) {
        add_kernel(print, found);
    }
}

static int show_all(const struct checkpoint_query *query)
{
    struct print print = {.query = query};
    const struct disk_scan_visitor visitor = {.context = &print,
                                              .env = sum_env,
                                              .record = sum_record,
                                              .damaged = count_damage};
    disk_undone_read(query->folder, &print.undone);
    const int status = scan(query, &visitor);
    disk_undone_release(&print.undone);
    if (status == CLI_OK) {
        printf("%s: %" PRIu64 " records of %" PRIu64 " bytes, left by %" PRIu64
               " process%s",
               query->folder, print.records, print.bytes, print.envs,
               print.envs == 1 ? "" : "es");
        if (print.undone_records > 0) {
            printf("; %" PRIu64 " of them are undone by a reload",
                   print.undone_records);
        }
        printf("\n");
    }
    for (size_t i = 0; i < print.kernel_count; i++) {
        const struct kernel_sum *sum = &print.kernels[i];
        printf("  ");
        print_name(sum->name);
        printf("  %" PRIu64 " results, %" PRIu64 " bytes, took ", sum->records,
               sum->bytes);
        print_duration(sum->took_ns, 0);
        printf("\n");
    }
    free(print.kernels);
    return tell_damage(&print, status);
}

static void print_bytes(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        printf("%02x", bytes[i]);
    }
}

static void show_record(void *context, const struct disk_scan_env *env,
                        const struct diskstore_found *found)
{
    struct print *print = context;
    char hash[MOOT_HASH_TEXT_BYTES], when[WHEN_BYTES];
    hash_format(&found->hash, hash);
    if (strncmp(hash, print->query->hash, strlen(print->query->hash)) != 0) {
        return;
    }
    print->records++;
    printf("hash         %s\nkind         %s\nstatus       %s%s\nkernel       ", hash,
           disk_kind_name(found->kind), status_name(found->status),
           disk_undone_has(&print->undone, found) ? ", undone by a reload" : "");
    print_name(found->kernel);
    printf(", version %" PRIu32 "\nlabel        ", found->version);
    print_name(found->label);
    printf("\nbuild        ");
    print_bytes(found->build, found->build_size);
    printf("%s\nbytes        %" PRIu64 "\nrun          ",
           found->build_size == 0 ? "-" : "", found->size);
    print_duration(found->took_ns, 0);
    printf("\nmade         %s\nmoot         %" PRIu32 ".%" PRIu32 ".%" PRIu32
           "\nenvironment  %s\n\n",
           when_made(found->made_ns, when), found->library >> 16,
           found->library >> 8 & 255, found->library & 255, env->name);
}

static void show_snapshot(const struct disk_snapshot *snapshot)
{
    char id[MOOT_HASH_TEXT_BYTES], when[WHEN_BYTES], state[STATE_BYTES];
    printf("snapshot     ");
    print_name(snapshot->name);
    printf(
        "\nid           %s\nstate        %s%s\nmade         %s\nrecords      %" PRIu64
        "\nbytes        %" PRIu64 "\n",
        hash_format(&snapshot->id, id),
        disk_snapshot_state(snapshot, state, sizeof(state)),
        snapshot->reloaded_to ? ", gone back to" : "",
        when_made(snapshot->made_ns, when), snapshot->records, snapshot->bytes);
    for (size_t i = 0; i < snapshot->part_count; i++) {
        const struct diskstore_part *part = &snapshot->parts[i];
        if (part->rank == DISK_PART_REST) {
            printf("part         of all who wrote no more");
        } else {
            printf("part         of rank %" PRIu32, part->rank);
        }
        printf(": %" PRIu64 " records of %" PRIu64 " bytes\n", part->records,
               part->bytes);
    }
    printf("\n");
}

/* The snapshots that have this name, or this id; how many. */
static size_t show_snapshots(const char *folder, const char *word)
{
    char id[MOOT_HASH_TEXT_BYTES];
    size_t count, shown = 0;
    struct disk_snapshot *all = disk_snapshot_list(folder, true, &count);
    for (size_t i = 0; i < count; i++) {
        if ((all[i].name[0] != '\0' && strcmp(all[i].name, word) == 0) ||
            strcmp(hash_format(&all[i].id, id), word) == 0) {
            show_snapshot(&all[i]);
            shown++;
        }
    }
    disk_snapshot_list_free(all, count);
    return shown;
}

int checkpoint_show(const struct checkpoint_query *query)
{
    struct print print = {.query = query};
    const struct disk_scan_visitor visitor = {.context = &print,
                                              .env = pass_env,
                                              .record = show_record,
                                              .damaged = count_damage};
    if (query->hash == NULL) {
        return show_all(query);
    }
    /* A snapshot's name, as "b", may be the beginning of many hashes. */
    if (show_snapshots(query->folder, query->hash) > 0) {
        return CLI_OK;
    }
    disk_undone_read(query->folder, &print.undone);
    int status = scan(query, &visitor);
    disk_undone_release(&print.undone);
    if (status == CLI_OK && print.records == 0) {
        struct text names = {0};
        disk_snapshot_tell_names(query->folder, &names);
        cli_complain(&verb_checkpoint,
                     "%s: no record has a hash that begins with '%s', and no snapshot "
                     "that name or id%s",
                     query->folder, query->hash, text_get(&names));
        text_release(&names);
        status = CLI_FAILED;
    }
    return tell_damage(&print, status);
}

/* --- verify ----------------------------------------------------------------------- */

static void count_good(void *context, const struct disk_scan_env *env,
                       const struct diskstore_found *found)
{
    struct print *print = context;
    (void)env;
    print->records++;
    print->bytes += found->size;
    if (found->kind == DISKSTORE_RESULT && !disk_set_add(&print->seen, found)) {
        print->all_seen = false;
    }
}

static void verify_env(void *context, const struct disk_scan_env *env)
{
    struct print *print = context;
    print->envs++;
    print->all_seen = print->all_seen && !env->alive;
    if (env->alive) {
        printf("%s: is being written; what cannot be read of it is not counted\n",
               env->name);
    } else if (env->why != NULL) {
        printf("%s: not read: %s\n", env->name, env->why);
    }
}

static void name_damage(void *context, const struct disk_scan_env *env,
                        const struct disk_key *key)
{
    struct print *print = context;
    struct diskstore_found found = {.size = 0};
    char text[MOOT_HASH_TEXT_BYTES];
    print->damaged++;
    if (key == NULL) {
        printf("%s: damaged: not all of its records can be reached\n", env->name);
        return;
    }
    memcpy(found.hash.bytes, key->bytes, MOOT_HASH_BYTES);
    const int kind = key->bytes[MOOT_HASH_BYTES];
    if (kind == DISKSTORE_RESULT && !disk_set_add(&print->bad, &found)) {
        print->all_seen = false;
    }
    printf("%s: damaged: %s %s\n", env->name, hash_format(&found.hash, text),
           disk_kind_name((enum diskstore_kind)kind));
}

/* The snapshot's results that are not good. */
struct bad_results {
    size_t missing, damaged;
};

static struct bad_results count_bad(const struct print *print,
                                    const struct disk_snapshot *snapshot)
{
    static const unsigned char none[DISK_DIGEST_BYTES];
    struct disk_set set = {0};
    struct disk_snapshot again;
    struct bad_results bad = {0, 0};
    disk_snapshot_read(print->query->folder, &snapshot->id, &again, &set);
    for (size_t i = 0; print->all_seen && i < set.count; i++) {
        moot_hash hash;
        memcpy(hash.bytes, set.entries[i].hash, MOOT_HASH_BYTES);
        if (!disk_set_has(&print->seen, &hash, set.entries[i].digest)) {
            const bool damaged = disk_set_has(&print->bad, &hash, none);
            bad.damaged += damaged;
            bad.missing += !damaged;
        }
    }
    disk_snapshot_release(&again);
    disk_set_release(&set);
    return bad;
}

static void print_bad(const struct bad_results *bad)
{
    const size_t last = bad->damaged > 0 ? bad->damaged : bad->missing;
    if (last == 0) {
        return;
    }
    printf(", but ");
    if (bad->missing > 0 && bad->damaged > 0) {
        printf("%zu of its records %s missing, and %zu", bad->missing,
               bad->missing == 1 ? "is" : "are", bad->damaged);
    } else {
        printf("%zu of its records", last);
    }
    printf(" %s %s", last == 1 ? "is" : "are",
           bad->damaged > 0 ? "damaged" : "missing");
}

/* A part that cannot be read as it was is damage; a record that is not there is not. */
static void verify_snapshots(struct print *print)
{
    char id[MOOT_HASH_TEXT_BYTES], state[STATE_BYTES];
    size_t count;
    struct disk_snapshot *all = disk_snapshot_list(print->query->folder, true, &count);
    disk_set_sort(&print->seen);
    disk_set_sort(&print->bad);
    for (size_t i = 0; i < count; i++) {
        const bool whole = disk_snapshot_is_whole(&all[i]);
        const struct bad_results bad =
            whole ? count_bad(print, &all[i]) : (struct bad_results){0, 0};
        printf("snapshot %s ", hash_format(&all[i].id, id));
        print_name(all[i].name);
        printf(": %s", disk_snapshot_state(&all[i], state, sizeof(state)));
        print_bad(&bad);
        printf("\n");
        print->missing += bad.missing;
        print->damaged += all[i].damaged || (all[i].committed && !whole);
    }
    disk_snapshot_list_free(all, count);
}

/* A job does not begin where this is wrong. */
static void verify_mark(struct print *print)
{
    struct disk_mark mark;
    struct disk_snapshot snapshot = {0};
    char id[MOOT_HASH_TEXT_BYTES], state[STATE_BYTES];
    if (!disk_mark_read(print->query->folder, &mark)) {
        printf("reloads: the mark of the last reload is damaged, or not to be read\n");
        print->damaged++;
    } else if (mark.generation > 0) {
        const bool is_there =
            disk_snapshot_read(print->query->folder, &mark.id, &snapshot, NULL);
        const bool whole = is_there && disk_snapshot_is_whole(&snapshot);
        const struct bad_results bad =
            whole ? count_bad(print, &snapshot) : (struct bad_results){0, 0};
        printf("reloads: the last one went back to snapshot %s: %s",
               hash_format(&mark.id, id),
               is_there ? disk_snapshot_state(&snapshot, state, sizeof(state))
                        : "its commit is not there, or damaged");
        print_bad(&bad); /* counted where its snapshot is listed */
        printf("\n");
        print->damaged += !whole;
        if (is_there) {
            disk_snapshot_release(&snapshot);
        }
    }
}

int checkpoint_verify(const struct checkpoint_query *query)
{
    struct print print = {.query = query, .all_seen = true};
    const struct disk_scan_visitor visitor = {.context = &print,
                                              .data = true,
                                              .env = verify_env,
                                              .record = count_good,
                                              .damaged = name_damage};
    const int status = scan(query, &visitor);
    if (status == CLI_OK) {
        verify_snapshots(&print);
        verify_mark(&print);
        printf("%s: %" PRIu64 " records of %" PRIu64 " bytes are good, %" PRIu64
               " damaged",
               query->folder, print.records, print.bytes, print.damaged);
        if (print.missing > 0) {
            printf(", %" PRIu64 " missing from snapshots", print.missing);
        }
        printf("\n");
    }
    disk_set_release(&print.seen);
    disk_set_release(&print.bad);
    return status == CLI_OK && print.damaged + print.missing > 0 ? CLI_FAILED : status;
}

/* --- export ----------------------------------------------------------------------- */

static void export_data(const struct diskstore_found *found)
{
    const size_t room =
        sodium_base64_encoded_len((size_t)found->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    if (text != NULL) {
        sodium_bin2base64(text, room, found->data, (size_t)found->size,
                          sodium_base64_VARIANT_ORIGINAL);
        printf(", \"data\": \"%s\"", text);
        free(text);
    }
}

static void export_record(void *context, const struct disk_scan_env *env,
                          const struct diskstore_found *found)
{
    struct print *print = context;
    char hash[MOOT_HASH_TEXT_BYTES], when[WHEN_BYTES];
    print->records++;
    printf("{\"hash\": \"%s\", \"kind\": \"%s\", \"status\": \"%s\", ",
           hash_format(&found->hash, hash), disk_kind_name(found->kind),
           status_name(found->status));
    json_pair(stdout, "kernel", found->kernel);
    printf(", \"version\": %" PRIu32 ", ", found->version);
    json_pair(stdout, "label", found->label);
    printf(", \"build\": \"");
    print_bytes(found->build, found->build_size);
    printf("\", \"made\": \"%s\", \"made_ns\": %" PRIu64 ", \"took_ns\": %" PRIu64
           ", \"moot\": \"%" PRIu32 ".%" PRIu32 ".%" PRIu32 "\", ",
           when_made(found->made_ns, when), found->made_ns, found->took_ns,
           found->library >> 16, found->library >> 8 & 255, found->library & 255);
    json_pair(stdout, "environment", env->name);
    printf(", \"undone\": %s, \"size\": %" PRIu64,
           disk_undone_has(&print->undone, found) ? "true" : "false", found->size);
    if (print->query->data) {
        export_data(found);
    }
    printf("}\n");
}

int checkpoint_export(const struct checkpoint_query *query)
{
    struct print print = {.query = query};
    const struct disk_scan_visitor visitor = {.context = &print,
                                              .data = query->data,
                                              .env = pass_env,
                                              .record = export_record,
                                              .damaged = count_damage};
    disk_undone_read(query->folder, &print.undone);
    const int status = scan(query, &visitor);
    disk_undone_release(&print.undone);
    return tell_damage(&print, status);
}
