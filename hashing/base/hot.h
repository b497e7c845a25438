/* hot.h - what runs for each task stands together.
 *
 * A task passes through some hundred functions of forty files, with ten times as much
 * code between them that hardly ever runs.  Scattered so, the lines that each task
 * needs push each other out of a cache for code of 32 KiB, eight lines to a set.
 * Compilers put functions that are HOT in a section of their own, and take what leads
 * to a COLD one out of its caller's way.  Neither says anything of what they do.
 */
#ifndef HASHING_BASE_HOT_H
#define HASHING_BASE_HOT_H

#define HOT __attribute__((hot))
#define COLD __attribute__((cold, noinline))

#endif
