/* tsplib.h - reads a symmetric TSPLIB file into a table of distances.
 *
 * Knows the keywords of G. Reinelt's TSPLIB 95 that a file with city coordinates needs,
 * and its two commonest distances: EUC_2D, the Euclidean one rounded to the nearest
 * integer, and GEO, kilometres on a sphere, from coordinates written as
 * degrees.minutes. A file that says anything else is refused with its line number and
 * what is allowed.
 *
 * Header only, because each example is one program; tsp.c is its user.
 */
#ifndef EXAMPLES_TSPLIB_H
#define EXAMPLES_TSPLIB_H

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TSPLIB_CITIES_MAX = 64, TSPLIB_ERROR_BYTES = 256 };

enum tsplib_distance { TSPLIB_UNKNOWN, TSPLIB_EUC_2D, TSPLIB_GEO };

struct tsplib {
    char name[64];
    enum tsplib_distance kind;
    int32_t cities;
    int32_t distance[TSPLIB_CITIES_MAX][TSPLIB_CITIES_MAX];
};

struct tsplib_reader {
    FILE *file;
    const char *path;
    int line_number;
    char line[512];
    struct tsplib *out;
    int32_t coordinates_read;
    bool seen[TSPLIB_CITIES_MAX];
    double x[TSPLIB_CITIES_MAX], y[TSPLIB_CITIES_MAX];
    char *error; /* TSPLIB_ERROR_BYTES */
};

/* Writes "path:line: message" and returns false. */
__attribute__((format(printf, 2, 3))) static inline bool
tsplib_fail(struct tsplib_reader *r, const char *format, ...)
{
    va_list arguments;
    int used =
        snprintf(r->error, TSPLIB_ERROR_BYTES, "%.100s:%d: ", r->path, r->line_number);

    if (used < 0 || used >= TSPLIB_ERROR_BYTES) {
        return false;
    }
    va_start(arguments, format);
    vsnprintf(r->error + used, (size_t)(TSPLIB_ERROR_BYTES - used), format, arguments);
    va_end(arguments);
    return false;
}

/* Reads the next line that is not blank, without the space around it; false at the end
 * of the file. */
static inline bool tsplib_next_line(struct tsplib_reader *r)
{
    while (fgets(r->line, sizeof(r->line), r->file) != NULL) {
        size_t start = strspn(r->line, " \t\r\n");
        size_t length = strlen(r->line + start);

        r->line_number++;
        memmove(r->line, r->line + start, length + 1);
        while (length > 0 && strchr(" \t\r\n", r->line[length - 1]) != NULL) {
            r->line[--length] = '\0';
        }
        if (length > 0) {
            return true;
        }
    }
    return false;
}

/* The text behind "KEYWORD" or "KEYWORD :", or NULL if the line is another keyword's.
 */
static inline const char *tsplib_value(const char *line, const char *keyword)
{
    size_t length = strlen(keyword);
    const char *rest = line + length;

    if (strncmp(line, keyword, length) != 0) {
        return NULL;
    }
    rest += strspn(rest, " \t");
    if (*rest == ':') {
        rest += 1 + strspn(rest + 1, " \t");
    } else if (*rest != '\0') {
        return NULL;
    }
    return rest;
}

static inline bool tsplib_dimension(struct tsplib_reader *r, const char *value)
{
    char *end;
    long cities;

    errno = 0;
    cities = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0') {
        return tsplib_fail(r, "DIMENSION wants a number, not \"%.40s\"", value);
    }
    if (cities < 3 || cities > TSPLIB_CITIES_MAX) {
        return tsplib_fail(r, "%ld cities; allowed are 3 to %d", cities,
                           TSPLIB_CITIES_MAX);
    }
    r->out->cities = (int32_t)cities;
    return true;
}

/* One "KEYWORD: value" line of the part before the coordinates. */
static inline bool tsplib_keyword(struct tsplib_reader *r)
{
    static const char *const ignored[] = {"COMMENT", "NODE_COORD_TYPE",
                                          "DISPLAY_DATA_TYPE", "EDGE_WEIGHT_FORMAT"};
    const char *value;

    if ((value = tsplib_value(r->line, "NAME")) != NULL) {
        snprintf(r->out->name, sizeof(r->out->name), "%.63s", value);
        return true;
    }
    if ((value = tsplib_value(r->line, "TYPE")) != NULL) {
        return strcmp(value, "TSP") == 0 ||
               tsplib_fail(r, "TYPE %.40s; allowed is TSP", value);
    }
    if ((value = tsplib_value(r->line, "DIMENSION")) != NULL) {
        return tsplib_dimension(r, value);
    }
    if ((value = tsplib_value(r->line, "EDGE_WEIGHT_TYPE")) != NULL) {
        r->out->kind = strcmp(value, "EUC_2D") == 0 ? TSPLIB_EUC_2D
                       : strcmp(value, "GEO") == 0  ? TSPLIB_GEO
                                                    : TSPLIB_UNKNOWN;
        return r->out->kind != TSPLIB_UNKNOWN ||
               tsplib_fail(r, "EDGE_WEIGHT_TYPE %.40s; allowed are EUC_2D and GEO",
                           value);
    }
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        if (tsplib_value(r->line, ignored[i]) != NULL) {
            return true;
        }
    }
    return tsplib_fail(r,
                       "unknown keyword \"%.40s\"; allowed are NAME, TYPE, COMMENT, "
                       "DIMENSION, EDGE_WEIGHT_TYPE, NODE_COORD_SECTION",
                       r->line);
}

/* Degrees end at the pole and opposite of Greenwich; a plane ends where neighbouring
 * numbers would lie too far apart for a distance to mean something. */
static inline bool tsplib_in_range(struct tsplib_reader *r, const double xy[2])
{
    static const double plane[] = {1e12, 1e12}, globe[] = {90, 180};
    const double *most = r->out->kind == TSPLIB_GEO ? globe : plane;

    for (int i = 0; i < 2; i++) {
        if (!(fabs(xy[i]) <= most[i])) {
            return tsplib_fail(r, "the coordinate %g; allowed are -%g to %g", xy[i],
                               most[i], most[i]);
        }
    }
    return true;
}

/* One "city x y" line. */
static inline bool tsplib_coordinate(struct tsplib_reader *r)
{
    char *end, *rest = r->line;
    long city = strtol(rest, &end, 10);
    double xy[2];

    for (int i = 0; i < 2; i++) {
        bool number = end != rest;

        rest = end;
        xy[i] = strtod(rest, &end);
        if (!number || end == rest || !isfinite(xy[i])) {
            return tsplib_fail(r, "\"%.40s\" should be: city x y", r->line);
        }
    }
    if (*(end + strspn(end, " \t")) != '\0') {
        return tsplib_fail(r, "\"%.40s\" should be: city x y", r->line);
    }
    if (!tsplib_in_range(r, xy)) {
        return false;
    }
    if (city < 1 || city > r->out->cities) {
        return tsplib_fail(r, "city %ld; allowed are 1 to %d", city, r->out->cities);
    }
    if (r->seen[city - 1]) {
        return tsplib_fail(r, "city %ld stands here a second time", city);
    }
    r->seen[city - 1] = true;
    r->x[city - 1] = xy[0];
    r->y[city - 1] = xy[1];
    r->coordinates_read++;
    return true;
}

/* TSPLIB 95, section 2.1: nint(sqrt(dx^2 + dy^2)). */
static inline double tsplib_euclid(const struct tsplib_reader *r, int a, int b)
{
    double dx = r->x[a] - r->x[b], dy = r->y[a] - r->y[b];

    return floor(sqrt(dx * dx + dy * dy) + 0.5);
}

/* TSPLIB 95, section 2.4; its PI is 3.141592, and every published optimum was found
 * with the degrees cut off, not rounded. */
static inline double tsplib_radians(double degrees_minutes)
{
    double degrees = trunc(degrees_minutes);

    return 3.141592 * (degrees + 5.0 * (degrees_minutes - degrees) / 3.0) / 180.0;
}

static inline double tsplib_geo(const struct tsplib_reader *r, int a, int b)
{
    double latitude_a = tsplib_radians(r->x[a]), latitude_b = tsplib_radians(r->x[b]);
    double q1 = cos(tsplib_radians(r->y[a]) - tsplib_radians(r->y[b]));
    double q2 = cos(latitude_a - latitude_b);
    double q3 = cos(latitude_a + latitude_b);

    return floor(6378.388 * acos(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)) + 1.0);
}

/* Distances so large that a tour's length may not fit 31 bits are refused. */
static inline bool tsplib_measure(struct tsplib_reader *r)
{
    struct tsplib *out = r->out;

    for (int a = 0; a < out->cities; a++) {
        for (int b = 0; b < out->cities; b++) {
            double d = a == b                       ? 0.0
                       : out->kind == TSPLIB_EUC_2D ? tsplib_euclid(r, a, b)
                                                    : tsplib_geo(r, a, b);

            if (!(d >= 0.0 && d <= INT32_MAX / (2 * TSPLIB_CITIES_MAX))) {
                return tsplib_fail(
                    r, "cities %d and %d are %g apart; allowed is up to %d", a + 1,
                    b + 1, d, INT32_MAX / (2 * TSPLIB_CITIES_MAX));
            }
            out->distance[a][b] = (int32_t)d;
        }
    }
    return true;
}

static inline bool tsplib_parse(struct tsplib_reader *r)
{
    bool section = false, ended = false;

    while (!ended && tsplib_next_line(r)) {
        if (strcmp(r->line, "EOF") == 0) {
            ended = true;
        } else if (section) {
            if (!tsplib_coordinate(r)) {
                return false;
            }
        } else if (tsplib_value(r->line, "NODE_COORD_SECTION") != NULL) {
            if (r->out->cities == 0 || r->out->kind == TSPLIB_UNKNOWN) {
                return tsplib_fail(r, "NODE_COORD_SECTION before DIMENSION or "
                                      "EDGE_WEIGHT_TYPE");
            }
            section = true;
        } else if (!tsplib_keyword(r)) {
            return false;
        }
    }
    if (ferror(r->file)) {
        return tsplib_fail(r, "%s", strerror(errno));
    }
    if (!section) {
        return tsplib_fail(r, "the file ends without a NODE_COORD_SECTION");
    }
    if (r->coordinates_read != r->out->cities) {
        return tsplib_fail(r, "%d of %d cities have coordinates", r->coordinates_read,
                           r->out->cities);
    }
    return tsplib_measure(r);
}

/* Reads `path` into *out.  False, with the reason in error[TSPLIB_ERROR_BYTES], if it
 * cannot be read or is not such a file. */
static inline bool tsplib_read(const char *path, struct tsplib *out, char *error)
{
    struct tsplib_reader r = {.path = path, .out = out, .error = error};
    bool good;

    memset(out, 0, sizeof(*out));
    r.file = fopen(path, "r");
    if (r.file == NULL) {
        snprintf(error, TSPLIB_ERROR_BYTES, "%.100s: %s", path, strerror(errno));
        return false;
    }
    good = tsplib_parse(&r);
    fclose(r.file);
    return good;
}

#endif
