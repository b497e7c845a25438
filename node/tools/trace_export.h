/* trace_export.h - a trace as other tools read it. */
#ifndef NODE_TOOLS_TRACE_EXPORT_H
#define NODE_TOOLS_TRACE_EXPORT_H

#include "node/tools/trace_model.h"
#include <stdio.h>

/* Kernels of a rank that overlap (workers) get rows of their own. */
struct export_rows {
    uint32_t *of_run;    /* per run of the trace */
    uint32_t *row_count; /* per rank */
};
bool export_rows_make(const struct trace_job *trace, struct export_rows *out);
void export_rows_release(struct export_rows *rows);

/* Each writes all of it; false without memory. */
bool export_chrome(const struct model *model, FILE *file);     /* Trace Event Format */
bool export_dot(const struct model *model, FILE *file);        /* graphviz */
bool export_csv(const struct model *model, FILE *file);        /* RFC 4180; tasks */
bool export_paje(const struct model *model, FILE *file);       /* Paje 1.2.6 */
bool export_prometheus(const struct model *model, FILE *file); /* exposition format */

#endif
