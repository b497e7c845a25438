/* 2-some.c - a spawn that only some ranks make; all ranks take its result. */
#include <err.h>
#include <moot.h>
#include <stdio.h>

enum { SENSORS = 6 };

#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

/* A sensor's reading, made up. */
static int read_sensor(moot_call *call, void *user)
{
    const long *sensor = moot_call_args(call, NULL);
    long *reading = moot_call_output(call, sizeof(*reading));
    (void)user;
    if (reading == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *reading = 100 + *sensor;
    return MOOT_OK;
}

int main(void)
{
    moot *m = NULL;
    moot_kernel_id k;
    long sum = 0;

    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(
        m, &(moot_kernel){.name = "read_sensor", .fn = read_sensor}, &k));

    for (long sensor = 0; sensor < SENSORS; sensor++) {
        moot_task_spec spec = {
            .kernel = k, .args = &sensor, .args_size = sizeof(sensor)};
        moot_task task;
        const void *reading;
        if (sensor % moot_size(m) == moot_rank(m)) {
            CHECK(moot_task_spawn(m, &spec, &task)); /* only this rank has the sensor */
        } else {
            CHECK(moot_task_name(m, &spec, &task)); /* a handle, without a spawn */
        }
        CHECK(moot_task_fetch(m, task, MOOT_FOREVER, &reading, NULL));
        sum += *(const long *)reading;
    }
    printf("rank %d: the sum is %ld\n", moot_rank(m), sum);
    CHECK(moot_close(m));
    return 0;
}
