/* disk_scan_bench.h - visitors of a scan that tests share: any environment is welcome,
 * and no damage is. */
#ifndef TESTS_UNIT_DISK_SCAN_BENCH_H
#define TESTS_UNIT_DISK_SCAN_BENCH_H

#include "disk_bench.h"

#include "node/diskstore/disk_scan.h"

static void pass_env(void *context, const struct disk_scan_env *env)
{
    (void)context;
    (void)env;
}

static void refuse_damage(void *context, const struct disk_scan_env *env,
                          const struct disk_key *key)
{
    (void)context;
    (void)env;
    (void)key;
    fail_msg("damage");
}

#endif
