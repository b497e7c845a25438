/* disk_private.h - what the halves of the virtual disk share (disk.h). */
#ifndef TESTS_VIRTUAL_DISK_PRIVATE_H
#define TESTS_VIRTUAL_DISK_PRIVATE_H

#include "tests/virtual/disk.h"

#define DISK_STORE "store" /* the folder of checkpoints, below DISK_FOLDER */

uint64_t disk_draw(uint64_t below);
const struct disk_options *disk_has_options(void);
/* Whether the environment's folder and its owner's file are there, and whole. */
bool disk_reads_owner(const char *env);

void disk_records_begin(void);
void disk_records_end(void);
void disk_records_lose(uint64_t seed);
void disk_records_flip(uint64_t seed, uint64_t one_in);

#endif
