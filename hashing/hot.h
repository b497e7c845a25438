/* hot.h - what runs for each task stands together.
 *
 * A task passes through some hundred functions of forty files, with ten times as much
 * code between them that hardly ever runs.  Scattered so, the lines that each task
 * needs push each other out of a cache for code of 32 KiB, eight lines to a set: a
 * third of the misses of a spawn went when the functions below stood side by side.
 * Compilers put those that are HOT in a section of their own; it says nothing of what
 * they do.
 */
#ifndef HASHING_HOT_H
#define HASHING_HOT_H

#define HOT __attribute__((hot))

#endif
