/* disk_pages.c - see disk_pages.h.
 *
 * A file has two meta pages; the one with the higher number of transaction counts.
 * Where its tree is damaged, that of the other is tried: its pages may have been used
 * again since, which the digests of records show.
 *
 * LMDB writes them in turn: the first has the even transactions, the second the odd
 * ones, and they differ by one.  A pair that does not, or of which one cannot be read,
 * may hide the newest transaction; then nothing is said to be absent.
 */
#include "node/diskstore/disk_pages.h"
#include "node/diskstore/disk_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_HEAD = 16,
    NODE_HEAD = 8,
    META_BYTES = 136,
    PAGE_MIN = 512,
    PAGE_MAX = 65536,
    DEPTH_MAX = 32,
    FLAG_BRANCH = 1,
    FLAG_LEAF = 2,
    FLAG_OVERFLOW = 4,
    NODE_BIG = 1, /* the value stands on pages of its own */
    KEPT_MAX = 8192,
    KEPT_PLACES = 4, /* where a branch may be kept */
    RUN_PAGES = 64   /* read at once, by a walk of keys */
};

/* A tree of the file. */
struct pages_root {
    uint64_t transaction, root, entries, last;
};

struct disk_pages {
    int fd;
    size_t page_bytes;
    uint64_t pages; /* of the file */
    struct pages_root roots[2];
    int root_count;
    bool doubtful; /* the newest may be neither of these */
    /* Branches that were checked, by their number, modulo, or a place or some behind;
     * they stay until the end. */
    _Atomic(unsigned char *) kept[KEPT_MAX];
};

static inline uint64_t get_number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

static bool read_at(const struct disk_pages *pages, uint64_t at, void *bytes,
                    size_t size)
{
    size_t got = 0;
    while (got < size) {
        const ssize_t more = pread(pages->fd, (unsigned char *)bytes + got, size - got,
                                   (off_t)(at + got));
        if (more == 0 || (more < 0 && errno != EINTR)) {
            return false;
        }
        got += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* --- Meta pages ------------------------------------------------------------------- */

/* Reads the meta page whose head stands in `bytes`; returns the size of pages, 0: it is
 * none. */
static size_t read_meta(const unsigned char *bytes, uint64_t number,
                        struct pages_root *out)
{
    const unsigned char *meta = bytes + PAGE_HEAD, *main = meta + 24 + 48;
    const uint64_t page_bytes = get_number(meta + 24, 4);
    if (get_number(bytes, 8) != number || get_number(meta, 4) != 0xBEEFC0DE ||
        get_number(meta + 4, 4) != 1 || page_bytes < PAGE_MIN ||
        page_bytes > PAGE_MAX || (page_bytes & (page_bytes - 1)) != 0) {
        return 0;
    }
    out->entries = get_number(main + 32, 8);
    out->root = get_number(main + 40, 8);
    out->last = get_number(meta + 120, 8);
    out->transaction = get_number(meta + 128, 8);
    return (size_t)page_bytes;
}

/* Nothing was ever committed: its writer was killed before, or found no room. */
static bool is_fresh(const struct disk_pages *pages)
{
    bool fresh = pages->root_count == 2;
    for (int i = 0; i < pages->root_count; i++) {
        fresh = fresh && pages->roots[i].transaction == 0 &&
                pages->roots[i].root == UINT64_MAX && pages->roots[i].entries == 0;
    }
    return fresh;
}

/* Finds the trees; false, and why, if the file is none of LMDB's. */
static bool read_metas(struct disk_pages *pages, uint64_t size, const char **why)
{
    unsigned char bytes[PAGE_HEAD + META_BYTES];
    struct pages_root first = {0}, second = {0};
    if (size == 0) { /* its writer shows it with its metas: they are gone */
        *why = "it is empty";
        return false;
    }
    const bool one = read_at(pages, 0, bytes, sizeof(bytes));
    size_t page_bytes = one ? read_meta(bytes, 0, &first) : 0;
    if (page_bytes != 0) {
        pages->roots[pages->root_count++] = first;
    }
    /* Without the first page the second is sought where this machine's would be. */
    const size_t place = page_bytes != 0 ? page_bytes : (size_t)sysconf(_SC_PAGESIZE);
    const size_t other =
        read_at(pages, place, bytes, sizeof(bytes)) ? read_meta(bytes, 1, &second) : 0;
    if (other == place) {
        const bool newer =
            pages->root_count > 0 && second.transaction > first.transaction;
        pages->roots[pages->root_count++] = second;
        if (newer) {
            pages->roots[0] = second;
            pages->roots[1] = first;
        }
        page_bytes = other;
    }
    pages->page_bytes = page_bytes;
    pages->pages = page_bytes != 0 ? (size + page_bytes - 1) / page_bytes : 0;
    pages->doubtful = !is_fresh(pages) &&
                      (pages->root_count < 2 || first.transaction % 2 != 0 ||
                       second.transaction % 2 != 1 ||
                       pages->roots[0].transaction - pages->roots[1].transaction != 1);
    *why = "it is no file of LMDB's, or both its meta pages are damaged";
    return pages->root_count > 0;
}

struct disk_pages *disk_pages_open(const char *path, const char **why)
{
    struct disk_pages *pages = calloc(1, sizeof(*pages));
    struct stat stat;
    if (pages == NULL) {
        *why = strerror(ENOMEM);
        return NULL;
    }
    pages->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (pages->fd < 0 || fstat(pages->fd, &stat) != 0) {
        *why = disk_error(errno);
    } else if (!S_ISREG(stat.st_mode)) {
        *why = "it is no regular file";
    } else if (read_metas(pages, (uint64_t)stat.st_size, why)) {
        return pages;
    }
    if (pages->fd >= 0) {
        close(pages->fd);
    }
    free(pages);
    return NULL;
}

bool disk_pages_sync(struct disk_pages *pages) { return fdatasync(pages->fd) == 0; }

void disk_pages_close(struct disk_pages *pages)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        free(atomic_load(&pages->kept[i]));
    }
    close(pages->fd);
    free(pages);
}

uint64_t disk_pages_entries(const struct disk_pages *pages)
{
    return pages->root_count > 0 ? pages->roots[0].entries : 0;
}

/* --- Pages ------------------------------------------------------------------------ */

/* Whether the bytes are a branch or a leaf with that number, all of whose nodes lie
 * within it. */
static bool check_page(const struct disk_pages *pages, const unsigned char *page,
                       uint64_t number)
{
    const uint64_t flags = get_number(page + 10, 2), lower = get_number(page + 12, 2);
    const uint64_t upper = get_number(page + 14, 2);
    if (get_number(page, 8) != number || (flags != FLAG_BRANCH && flags != FLAG_LEAF) ||
        lower < PAGE_HEAD || lower % 2 != 0 || lower > upper ||
        upper > pages->page_bytes) {
        return false;
    }
    for (uint64_t at = PAGE_HEAD; at < lower; at += 2) {
        const uint64_t node = get_number(page + at, 2);
        if (node < upper || node + NODE_HEAD > pages->page_bytes ||
            node + NODE_HEAD + get_number(page + node + 6, 2) > pages->page_bytes) {
            return false;
        }
    }
    return true;
}

/* Reads the page into `page` and checks it. */
static bool read_page(const struct disk_pages *pages, uint64_t number,
                      unsigned char *page)
{
    return number >= 2 && number < pages->pages &&
           read_at(pages, number * pages->page_bytes, page, pages->page_bytes) &&
           check_page(pages, page, number);
}

static bool is_branch(const unsigned char *page)
{
    return get_number(page + 10, 2) == FLAG_BRANCH;
}

/* The branch, if it was kept; else NULL, and where there is a free place for it, if
 * there is one. */
static const unsigned char *find_kept(struct disk_pages *pages, uint64_t number,
                                      _Atomic(unsigned char *) **place)
{
    for (uint64_t i = 0; i < KEPT_PLACES; i++) {
        *place = &pages->kept[(number + i) % KEPT_MAX];
        const unsigned char *kept = atomic_load_explicit(*place, memory_order_acquire);
        if (kept == NULL || get_number(kept, 8) == number) {
            return kept;
        }
    }
    *place = NULL;
    return NULL;
}

/* The page, checked: a branch that was kept, or `page`, into which it is read; NULL: it
 * is damaged.  A branch is kept for the next time, if there is a place for it. */
static const unsigned char *look_at_page(struct disk_pages *pages, uint64_t number,
                                         unsigned char *page)
{
    _Atomic(unsigned char *) *place;
    const unsigned char *kept = find_kept(pages, number, &place);
    unsigned char *none = NULL;
    if (kept != NULL) {
        return kept;
    }
    if (!read_page(pages, number, page)) {
        return NULL;
    }
    unsigned char *copy =
        place != NULL && is_branch(page) ? malloc(pages->page_bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, page, pages->page_bytes);
        if (!atomic_compare_exchange_strong(place, &none, copy)) {
            free(copy);
        }
    }
    return page;
}

static size_t node_count(const unsigned char *page)
{
    return (size_t)(get_number(page + 12, 2) - PAGE_HEAD) / 2;
}

static const unsigned char *node_at(const unsigned char *page, size_t i)
{
    return page + get_number(page + PAGE_HEAD + 2 * i, 2);
}

/* As LMDB orders keys: by bytes, and a shorter one before its continuations. */
static int compare_key(const struct disk_key *key, const unsigned char *node)
{
    const size_t size = (size_t)get_number(node + 6, 2);
    const size_t common = size < DISK_KEY_BYTES ? size : DISK_KEY_BYTES;
    const int order = memcmp(key->bytes, node + NODE_HEAD, common);
    return order != 0 ? order : (DISK_KEY_BYTES > size) - (DISK_KEY_BYTES < size);
}

/* How many nodes from `first` on have keys up to `key`, which is how many come before
 * the place where it would be put. */
static size_t nodes_up_to(const unsigned char *page, size_t first,
                          const struct disk_key *key)
{
    size_t low = first, high = node_count(page);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_key(key, node_at(page, middle)) < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static uint64_t node_child(const unsigned char *node) { return get_number(node, 6); }

/* --- Values ----------------------------------------------------------------------- */

/* Reads a value that stands on pages of its own, from the number that stands at `at`.
 */
static enum disk_end read_big(const struct disk_pages *pages, const unsigned char *at,
                              size_t size, struct disk_value *value)
{
    unsigned char head[PAGE_HEAD];
    const uint64_t first = get_number(at, 8);
    const uint64_t needed =
        (PAGE_HEAD + size + pages->page_bytes - 1) / pages->page_bytes;
    if (first < 2 || first >= pages->pages || needed > pages->pages - first ||
        !read_at(pages, first * pages->page_bytes, head, sizeof(head)) ||
        get_number(head, 8) != first || get_number(head + 10, 2) != FLAG_OVERFLOW ||
        get_number(head + 12, 4) < needed) {
        return DISK_DAMAGED;
    }
    value->bytes = malloc(size + 1);
    value->size = size;
    if (value->bytes == NULL) {
        return DISK_FAILED;
    }
    if (!read_at(pages, first * pages->page_bytes + PAGE_HEAD, value->bytes, size)) {
        free(value->bytes);
        return DISK_DAMAGED;
    }
    return DISK_OK;
}

/* The value of a leaf's node. */
static enum disk_end read_value(const struct disk_pages *pages,
                                const unsigned char *page, const unsigned char *node,
                                struct disk_value *value)
{
    const size_t size = (size_t)get_number(node, 4);
    const uint64_t flags = get_number(node + 4, 2);
    const unsigned char *at = node + NODE_HEAD + get_number(node + 6, 2);
    const size_t here = flags == NODE_BIG ? 8 : size;
    if ((flags != 0 && flags != NODE_BIG) ||
        here > (size_t)(page + pages->page_bytes - at)) {
        return DISK_DAMAGED;
    }
    if (flags == NODE_BIG) {
        return read_big(pages, at, size, value);
    }
    value->bytes = malloc(size + 1);
    value->size = size;
    if (value->bytes == NULL) {
        return DISK_FAILED;
    }
    memcpy(value->bytes, at, size);
    return DISK_OK;
}

static enum disk_end get_from(struct disk_pages *pages, const struct pages_root *root,
                              const struct disk_key *key, unsigned char *room,
                              struct disk_value *value)
{
    uint64_t number = root->root;
    if (number == UINT64_MAX) {
        return DISK_NONE;
    }
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        const unsigned char *page = look_at_page(pages, number, room);
        if (page == NULL) {
            return DISK_DAMAGED;
        }
        if (!is_branch(page)) {
            const size_t before = nodes_up_to(page, 0, key);
            const unsigned char *node = before > 0 ? node_at(page, before - 1) : NULL;
            if (node == NULL || compare_key(key, node) != 0) {
                return DISK_NONE;
            }
            return value != NULL ? read_value(pages, page, node, value) : DISK_OK;
        }
        if (node_count(page) == 0) {
            return DISK_DAMAGED;
        }
        /* A branch's first node has no key: it is before all. */
        number = node_child(node_at(page, nodes_up_to(page, 1, key) - 1));
    }
    return DISK_DAMAGED;
}

enum disk_end disk_pages_get(struct disk_pages *pages, const struct disk_key *key,
                             struct disk_value *value)
{
    enum disk_end end = DISK_NONE;
    unsigned char *page = malloc(pages->page_bytes + 1);
    if (page == NULL) {
        return DISK_FAILED;
    }
    if (pages->root_count > 0) {
        end = get_from(pages, &pages->roots[0], key, page, value);
    }
    /* A tree that is older does not tell what is not there. */
    if (end == DISK_DAMAGED && pages->root_count > 1 &&
        get_from(pages, &pages->roots[1], key, page, value) == DISK_OK) {
        end = DISK_OK;
    }
    /* Nor do those of which the newest may be neither. */
    if (end == DISK_NONE && pages->doubtful && value == NULL) {
        end = DISK_DAMAGED;
    }
    free(page);
    return end;
}

/* --- All of them ------------------------------------------------------------------ */

struct pages_walk {
    struct disk_pages *pages;
    bool (*visit)(void *context, const struct disk_key *key,
                  const struct disk_value *value);
    void *context;
    uint64_t budget; /* pages that may still be read: a damaged tree may have circles */
    uint64_t nodes;  /* of leaves, so far */
    bool stopped, damaged;
};

static void walk_node(struct pages_walk *walk, const unsigned char *page,
                      const unsigned char *node)
{
    struct disk_key key;
    struct disk_value value = {NULL, 0};
    walk->nodes++;
    if (get_number(node + 6, 2) != DISK_KEY_BYTES) {
        walk->damaged = true;
        return;
    }
    memcpy(key.bytes, node + NODE_HEAD, sizeof(key.bytes));
    if (read_value(walk->pages, page, node, &value) != DISK_OK) {
        walk->damaged = true;
        return;
    }
    walk->stopped = !walk->visit(walk->context, &key, &value);
    free(value.bytes);
}

/* Each page of the way down has its bytes in a block of its own. */
static void walk_page(struct pages_walk *walk, uint64_t number, int depth)
{
    unsigned char *page = malloc(walk->pages->page_bytes);
    if (page == NULL || depth >= DEPTH_MAX || walk->budget == 0 ||
        !read_page(walk->pages, number, page)) {
        walk->damaged = true;
        free(page);
        return;
    }
    walk->budget--;
    const size_t count = node_count(page);
    for (size_t i = 0; i < count && !walk->stopped; i++) {
        if (is_branch(page)) {
            walk_page(walk, node_child(node_at(page, i)), depth + 1);
        } else {
            walk_node(walk, page, node_at(page, i));
        }
    }
    free(page);
}

enum disk_end disk_pages_each(struct disk_pages *pages,
                              bool (*visit)(void *context, const struct disk_key *key,
                                            const struct disk_value *value),
                              void *context)
{
    struct pages_walk walk = {.pages = pages, .visit = visit, .context = context};
    for (int i = 0; i < pages->root_count && (i == 0 || walk.damaged); i++) {
        walk.budget = pages->pages;
        walk.nodes = 0;
        if (pages->roots[i].root != UINT64_MAX && !walk.stopped) {
            walk_page(&walk, pages->roots[i].root, 0);
        }
        walk.damaged |= !walk.stopped && walk.nodes != pages->roots[i].entries;
    }
    return walk.damaged || pages->doubtful ? DISK_DAMAGED : DISK_OK;
}

/* --- All keys --------------------------------------------------------------------- */

/* Numbers of pages. */
struct pages_list {
    uint64_t *numbers;
    size_t count, room;
};

/* A walk from level to level of the tree.  Pages of a level are all branches or all
 * leaves. */
struct keys_walk {
    struct disk_pages *pages;
    bool (*visit)(void *context, const struct disk_key *key);
    void *context;
    unsigned char *run; /* room for RUN_PAGES */
    struct pages_list level, below;
    uint64_t nodes; /* of leaves, so far */
    bool stopped;
};

static bool list_page(const struct disk_pages *pages, struct pages_list *list,
                      uint64_t number)
{
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 64;
        uint64_t *more = realloc(list->numbers, room * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        list->numbers = more;
        list->room = room;
    }
    list->numbers[list->count++] = number;
    return list->count <= pages->pages;
}

static bool list_children(struct keys_walk *walk, const unsigned char *page)
{
    const size_t count = node_count(page);
    bool good = count > 0;
    for (size_t i = 0; i < count && good; i++) {
        good = list_page(walk->pages, &walk->below, node_child(node_at(page, i)));
    }
    return good;
}

static bool show_keys(struct keys_walk *walk, const unsigned char *page)
{
    const size_t count = node_count(page);
    for (size_t i = 0; i < count && !walk->stopped; i++) {
        struct disk_key key;
        const unsigned char *node = node_at(page, i);
        if (get_number(node + 6, 2) != DISK_KEY_BYTES) {
            return false;
        }
        memcpy(key.bytes, node + NODE_HEAD, sizeof(key.bytes));
        walk->nodes++;
        walk->stopped = !walk->visit(walk->context, &key);
    }
    return true;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* How many pages of the level from `at` on stand one behind the other in the file. */
static size_t run_length(const struct pages_list *level, size_t at)
{
    size_t length = 1;
    while (length < RUN_PAGES && at + length < level->count &&
           level->numbers[at + length] == level->numbers[at] + length) {
        length++;
    }
    return length;
}

/* Reads a run into `run` and takes its pages; false: one is damaged. */
static bool take_run(struct keys_walk *walk, uint64_t first, size_t length,
                     bool *branches)
{
    const struct disk_pages *pages = walk->pages;
    if (first < 2 || first >= pages->pages || length > pages->pages - first ||
        !read_at(pages, first * pages->page_bytes, walk->run,
                 length * pages->page_bytes)) {
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < length && good && !walk->stopped; i++) {
        const unsigned char *page = walk->run + i * pages->page_bytes;
        good = check_page(pages, page, first + i);
        if (good && walk->nodes == 0 && walk->below.count == 0) {
            *branches = is_branch(page);
        }
        good = good && is_branch(page) == *branches &&
               (*branches ? list_children(walk, page) : show_keys(walk, page));
    }
    return good;
}

/* Takes all pages of a level, in the order of the file; a page that is there twice is
 * damage. */
static bool take_level(struct keys_walk *walk)
{
    struct pages_list *level = &walk->level;
    bool good = true, branches = false;
    qsort(level->numbers, level->count, sizeof(*level->numbers), compare_numbers);
    for (size_t at = 0; at < level->count && good && !walk->stopped;) {
        const size_t length = run_length(level, at);
        good = (at == 0 || level->numbers[at] != level->numbers[at - 1]) &&
               take_run(walk, level->numbers[at], length, &branches);
        at += length;
    }
    level->count = 0;
    return good;
}

static bool take_levels(struct keys_walk *walk, const struct pages_root *root)
{
    bool good =
        root->root == UINT64_MAX || list_page(walk->pages, &walk->level, root->root);
    for (int depth = 0; good && walk->level.count > 0 && !walk->stopped; depth++) {
        good = depth < DEPTH_MAX && take_level(walk);
        const struct pages_list taken = walk->level;
        walk->level = walk->below;
        walk->below = taken;
    }
    return good && (walk->stopped || walk->nodes == root->entries);
}

enum disk_end disk_pages_keys(struct disk_pages *pages,
                              bool (*visit)(void *context, const struct disk_key *key),
                              void *context)
{
    struct keys_walk walk = {.pages = pages, .visit = visit, .context = context};
    walk.run = malloc(RUN_PAGES * pages->page_bytes);
    const bool good =
        walk.run != NULL && !pages->doubtful && take_levels(&walk, &pages->roots[0]);
    free(walk.run);
    free(walk.level.numbers);
    free(walk.below.numbers);
    return good ? DISK_OK : DISK_DAMAGED;
}
