/* report_queue.c - see report_queue.h. */
#include "node/engine/report_queue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reports_open(struct moot *m, moot_report_fn hook, void *user)
{
    m->engine.report = hook != NULL ? hook : report_to_stderr;
    m->engine.report_user = user;
}

void reports_release(struct moot *m)
{
    for (uint32_t i = 0; i < m->engine.report_count; i++) {
        text_release(&m->engine.reports[i]);
    }
    free(m->engine.reports);
}

void report_add_text(struct moot *m, struct text text)
{
    if (m->engine.report_count == m->engine.report_room) {
        uint32_t room = m->engine.report_room ? m->engine.report_room * 2 : 4;
        struct text *grown = realloc(m->engine.reports, room * sizeof(*grown));
        if (grown == NULL) {
            text_release(&text);
            return;
        }
        m->engine.reports = grown;
        m->engine.report_room = room;
    }
    m->engine.reports[m->engine.report_count++] = text;
}

void report_add(struct moot *m, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_add_args(&text, format, args);
    va_end(args);
    report_add_text(m, text);
}

void reports_unlock(struct moot *m)
{
    struct text *reports = m->engine.reports;
    uint32_t count = m->engine.report_count;
    moot_report_fn hook = m->engine.report;
    void *user = m->engine.report_user;
    m->engine.reports = NULL;
    m->engine.report_count = m->engine.report_room = 0;
    pthread_mutex_unlock(&m->bond->lock);
    for (uint32_t i = 0; i < count; i++) {
        hook(user, text_get(&reports[i]));
        text_release(&reports[i]);
    }
    free(reports);
}

void report_to_stderr(void *user, const char *text)
{
    (void)user;
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);
        if (written <= 0) {
            return;
        }
        text += written;
        left -= (size_t)written;
    }
}
