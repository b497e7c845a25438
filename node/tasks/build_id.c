/* build_id.c - see build_id.h.  ELF, "Note Section": a note is three words, its name
 * and its bytes, each filled up to a multiple of 4.
 */
#include "node/tasks/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

static const char gnu[] = "GNU";

struct build_search {
    uintptr_t address;
    unsigned char *out;
    size_t size;
};

static size_t filled(size_t size) { return (size + 3) & ~(size_t)3; }

static bool has_address(const struct dl_phdr_info *info, uintptr_t address)
{
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD &&
            address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz) {
            return true;
        }
    }
    return false;
}

/* True once the notes have it. */
static bool read_notes(struct build_search *search, const unsigned char *notes,
                       size_t size)
{
    ElfW(Nhdr) note;
    while (size >= sizeof(note)) {
        memcpy(&note, notes, sizeof(note));
        const size_t name = sizeof(note), bytes = name + filled(note.n_namesz);
        const size_t end = bytes + filled(note.n_descsz);
        if (end > size) {
            return false;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(gnu) &&
            memcmp(notes + name, gnu, sizeof(gnu)) == 0) {
            search->size =
                note.n_descsz < BUILD_ID_BYTES ? note.n_descsz : BUILD_ID_BYTES;
            memcpy(search->out, notes + bytes, search->size);
            return true;
        }
        notes += end;
        size -= end;
    }
    return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct build_search *search = context;
    (void)size;
    if (!has_address(info, search->address)) {
        return 0;
    }
    for (ElfW(Half) i = 0; i < info->dlpi_phnum && search->size == 0; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE) {
            (void)read_notes(search,
                             (const unsigned char *)(info->dlpi_addr + part->p_vaddr),
                             part->p_memsz);
        }
    }
    return 1;
}

size_t build_id_at(uintptr_t address, unsigned char out[BUILD_ID_BYTES])
{
    struct build_search search = {.address = address, .out = out};
    (void)dl_iterate_phdr(look_at, &search);
    return search.size;
}
