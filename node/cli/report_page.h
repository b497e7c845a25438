/* report_page.h - the page's parts, made from report.html, .css and .js by the build.
 */
#ifndef NODE_CLI_REPORT_PAGE_H
#define NODE_CLI_REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char report_html[], report_css[], report_js[]; /* a NUL behind */
extern const size_t report_html_size, report_css_size, report_js_size;

#endif
