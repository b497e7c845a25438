/* plan_parsed.h - what the tests of fault plans share. */
#ifndef TESTS_UNIT_PLAN_PARSED_H
#define TESTS_UNIT_PLAN_PARSED_H

#include "consensus/faultplan/faultplan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A plan that must be right. */
static inline struct plan *parse(const char *text)
{
    struct plan *plan = NULL;
    struct plan_error error;
    if (plan_parse(text, &plan, &error) != MOOT_OK) {
        fail_msg("\"%s\" is refused at %u: %s", text, error.column, error.wrong);
    }
    return plan;
}

/* SplitMix64. */
static inline uint64_t next_word(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

#endif
