/* spawn_table.c - what this rank keeps and sends; spawn_compare.c makes sense of it. */
#include "node/explain/spawn_table.h"

#include "node/engine/outbox.h"
#include "node/engine/report_queue.h"
#include "node/explain/snapshot_query.h"
#include "node/members/members.h"
#include "node/tasks/kernel.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = LIMIT_ACCOUNT_SPAWNS,
    SAMPLES_MAX = LIMIT_ACCOUNT_SAMPLES,
    SAMPLE_BYTES = LIMIT_ACCOUNT_SAMPLE_BYTES,
    SITE_BYTES = 128
};

struct spawn_row {
    char site[SITE_BYTES];
    const struct kernel *kernel;
    uint64_t count, sum;
    uint32_t samples;
    size_t sizes[SAMPLES_MAX];
    uint8_t bytes[SAMPLES_MAX][SAMPLE_BYTES];
};

struct spawn_table {
    struct spawn_row *rows; /* ROWS_MAX of them */
    uint32_t count, last;   /* the one that the last spawn was added to */
    uint64_t untold;        /* spawns of lines that found no room */
    Moot__Account **heard;  /* per rank */
};

bool spawn_table_open(struct moot *m)
{
    if (m->knobs.divergence_table == 0) {
        return true;
    }
    struct spawn_table *table = calloc(1, sizeof(*table));
    m->explain.table = table;
    if (table != NULL) {
        table->rows = calloc(ROWS_MAX, sizeof(*table->rows));
        table->heard = calloc(m->group.size, sizeof(*table->heard));
    }
    return table != NULL && table->rows != NULL && table->heard != NULL;
}

void spawn_table_release(struct moot *m)
{
    struct spawn_table *table = m->explain.table;
    if (table == NULL) {
        return;
    }
    for (uint32_t rank = 0; table->heard != NULL && rank < m->group.size; rank++) {
        account_free(table->heard[rank]);
    }
    free(table->heard);
    free(table->rows);
    free(table);
    m->explain.table = NULL;
}

/* --- Spawns ----------------------------------------------------------------------- */

static bool is_of(const struct spawn_row *row, const char *site,
                  const struct kernel *kernel)
{
    return row->kernel == kernel && strncmp(row->site, site, SITE_BYTES - 1) == 0;
}

/* A path that is too long loses its beginning. */
static const char *fit_site(const char *site)
{
    size_t length = site != NULL ? strlen(site) : 0;
    return site == NULL ? "an unknown place"
                        : site + (length < SITE_BYTES ? 0 : length - SITE_BYTES + 1);
}

/* NULL: there is no room. */
static struct spawn_row *find_row(struct spawn_table *table, const char *site,
                                  const struct kernel *kernel)
{
    uint32_t at = table->last;
    if (table->count > 0 && is_of(&table->rows[at], site, kernel)) {
        return &table->rows[at];
    }
    for (at = 0; at < table->count; at++) {
        if (is_of(&table->rows[at], site, kernel)) {
            break;
        }
    }
    if (at == ROWS_MAX) {
        return NULL;
    }
    struct spawn_row *row = &table->rows[at];
    if (at == table->count) {
        table->count++;
        row->kernel = kernel;
        memcpy(row->site, site, strlen(site) + 1);
    }
    table->last = at;
    return row;
}

void spawn_table_add(struct moot *m, const moot_hash *hash,
                     const struct task_facts *facts)
{
    struct spawn_table *table = m->explain.table;
    if (facts->nested || strncmp(facts->kernel->name, "moot.", 5) == 0) {
        return; /* a kernel's children, and the library's own */
    }
    struct spawn_row *row = find_row(table, fit_site(facts->reg.site), facts->kernel);
    if (row == NULL) {
        table->untold++;
        return;
    }
    uint64_t word;
    memcpy(&word, hash->bytes, sizeof(word));
    row->count++;
    row->sum += word;
    if (row->samples < SAMPLES_MAX && facts->args_size <= SAMPLE_BYTES) {
        row->sizes[row->samples] = facts->args_size;
        if (facts->args_size > 0) {
            memcpy(row->bytes[row->samples], facts->args, facts->args_size);
        }
        row->samples++;
    }
}

/* --- At the close ----------------------------------------------------------------- */

static uint32_t lowest_member(const struct moot *m)
{
    uint32_t rank = 0;
    while (rank < m->group.rank && !members_is_here(m, rank)) {
        rank++;
    }
    return rank;
}

static ProtobufCBinaryData borrow(const void *bytes, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)bytes};
}

struct packing {
    Moot__Account__Spawns spawns[ROWS_MAX], *list[ROWS_MAX];
    ProtobufCBinaryData samples[ROWS_MAX][SAMPLES_MAX];
};

/* This rank's account, with nothing else in it; NULL without memory. */
static uint8_t *pack(const struct moot *m, size_t *size)
{
    const struct spawn_table *table = m->explain.table;
    struct packing *packing = malloc(sizeof(*packing));
    Moot__Account account;
    if (packing == NULL) {
        return NULL;
    }
    moot__account__init(&account);
    account.rank = m->group.rank;
    account.size = m->group.size;
    account.spawns = packing->list;
    account.n_spawns = table->count;
    account.spawns_untold = table->untold;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct spawn_row *row = &table->rows[i];
        Moot__Account__Spawns *to = packing->list[i] = &packing->spawns[i];
        moot__account__spawns__init(to);
        to->site = borrow(row->site, strlen(row->site));
        to->kernel = borrow(row->kernel->name, strlen(row->kernel->name));
        to->count = row->count;
        to->sum = row->sum;
        to->args = packing->samples[i];
        to->n_args = row->samples;
        for (uint32_t k = 0; k < row->samples; k++) {
            packing->samples[i][k] = borrow(row->bytes[k], row->sizes[k]);
        }
    }
    *size = moot__account__get_packed_size(&account);
    uint8_t *bytes = *size <= LIMIT_ACCOUNT_BYTES ? malloc(*size) : NULL;
    if (bytes != NULL) {
        moot__account__pack(&account, bytes);
    }
    free(packing);
    return bytes;
}

void spawn_table_send(struct moot *m)
{
    size_t size = 0;
    uint8_t *bytes = m->explain.table != NULL ? pack(m, &size) : NULL;
    if (bytes == NULL) {
        return;
    }
    struct message message = {.type = MESSAGE_ACCOUNT};
    message.u.account = (struct message_account){
        .number = INQUIRY_OF_SPAWNS, .bytes = bytes, .size = size};
    uint32_t lowest = lowest_member(m);
    if (lowest == m->group.rank) {
        spawn_table_hear(m, lowest, &message.u.account);
    } else {
        outbox_add_own(m, lowest, &message);
    }
    free(bytes);
}

bool spawn_table_is_here(struct moot *m)
{
    const struct spawn_table *table = m->explain.table;
    if (table == NULL || lowest_member(m) != m->group.rank) {
        return true;
    }
    bool all = true;
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        all &= table->heard[rank] != NULL || !members_is_here(m, rank);
    }
    return all;
}

void spawn_table_hear(struct moot *m, uint32_t from, const struct message_account *said)
{
    struct spawn_table *table = m->explain.table;
    Moot__Account *account = table != NULL && table->heard[from] == NULL
                                 ? account_read(said->bytes, said->size)
                                 : NULL;
    if (account == NULL || account->rank != from || account->size != m->group.size) {
        account_free(account);
        return;
    }
    table->heard[from] = account;
}

void spawn_table_tell(struct moot *m)
{
    const struct spawn_table *table = m->explain.table;
    if (table == NULL || lowest_member(m) != m->group.rank) {
        return;
    }
    struct text text = {0};
    spawn_table_compose(&text, table->heard, transport_group_ever(&m->group));
    report_add_text(m, text);
}
