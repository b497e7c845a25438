/* usr1.h - SIGUSR1 asks for a report.
 *
 * The handler counts, nothing else; the progress loops of all contexts compare.  It is
 * installed with the first context only if the program has left the signal at its
 * default, and taken out with the last.  The counter and the number of contexts are
 * process-wide because signals are.
 */
#ifndef NODE_EXPLAIN_USR1_H
#define NODE_EXPLAIN_USR1_H

unsigned usr1_count(void);
void usr1_join(void);
void usr1_leave(void);

#endif
