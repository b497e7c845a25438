/* text.h - text that grows: stories of errors, reports, the summary.
 *
 * Writing never fails: without memory the text is cut where memory ended, because a
 * story told in part is better than none.
 */
#ifndef NODE_CONFIG_TEXT_H
#define NODE_CONFIG_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
    char *bytes; /* NUL-terminated; NULL while empty */
    size_t length, room;
};

void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_add_args(struct text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Text that another process sent, so any bytes: what a terminal would obey becomes a
 * question mark, and it stays on its line. */
void text_add_told(struct text *text, const void *bytes, size_t size);
void text_clear(struct text *text); /* keeps the memory */
void text_release(struct text *text);
const char *text_get(const struct text *text); /* never NULL */

/* "1.250 s", "37 ms", "120 us": for people. */
void text_add_duration(struct text *text, unsigned long long ns);

#endif
