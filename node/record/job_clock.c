/* job_clock.c - see job_clock.h. */
#include "node/record/job_clock.h"

#include "node/engine/clock.h"

enum { TRIES = 16, CLOSE_NS = 1000 };

/* Two readings with little between them, so that what they say of one moment is worth
 * something: a rank may be interrupted in between. */
struct job_clock job_clock_read(void)
{
    struct job_clock now;
    uint64_t apart_ns;
    int tries = 0;
    do {
        const uint64_t before_ns = clock_ns();
        now.wall_ns = clock_wall_ns();
        now.monotonic_ns = clock_ns();
        apart_ns = now.monotonic_ns - before_ns;
    } while (apart_ns > CLOSE_NS && ++tries < TRIES);
    return now;
}

void job_clock_take(struct moot *m, const struct job_clock *zero, bool same_host)
{
    m->record.zero_ns = (int64_t)zero->monotonic_ns;
    if (!same_host) {
        const struct job_clock own = job_clock_read();
        m->record.zero_ns = (int64_t)own.monotonic_ns - (own.wall_ns - zero->wall_ns);
    }
}

int64_t job_clock_now(const struct moot *m)
{
    return (int64_t)m->now_ns - m->record.zero_ns;
}
