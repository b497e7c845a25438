#!/bin/sh
# documents_test.sh - what README.md and deploy/doc say to type works, and their code
# compiles.
#
# First the tool that looks (tests/tidy/snippets.py) must see each kind of mistake in a
# document that is made for it, and nothing in one without.
set -eu
: "${BUILD:?}"
if [ -n "${SANITIZE-}" ]; then
    echo "a program that is compiled as documents say does not take a sanitizer's library"
    exit 77
fi
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
evidence=$scratch/out

# of NAME: a document from standard input
of() {
    cat >"$scratch/$1.md"
}
snippets() {
    python3 tests/tidy/snippets.py "$BUILD" "$@" >"$scratch/out" 2>&1
}
# sees NAME LINE WORDS: the only mistake of the document on standard input
sees() {
    of "$1"
    check "$1" "it passes" eval "! snippets '$scratch/$1.md'"
    check "$1" "it is not line $2" grep -q "/$1.md:$2: " "$scratch/out"
    check "$1" "it does not say: $3" grep -qE "$3" "$scratch/out"
    check "$1" "more than one is wrong" grep -q ', 1 wrong$' "$scratch/out"
}

of good <<'END'
```c
static int square(moot_call *call, void *user)
{
    const long *x = moot_call_args(call, &size);
    return *x == 2 ? MOOT_OK : moot_call_fail(call, 1, "not two");
}

CHECK(moot_open(NULL, &m));
...
for (long i = 0; i < 8; i++) {
    spec = (moot_task_spec){.kernel = k, .args = &i, .args_size = sizeof(i)};
    moot_task_spawn(m, &spec, &task);
}
```
<!-- snippet: with static double wide; -->
```c
wide = 1;
```
```cpp
moot_task_spec spec = {};
spec.kernel = kernel;
```
```c
#include <stdio.h>
int main(void) { return puts("whole") < 0; }
```
<!-- snippet: file deploy/examples/conditional.c -->
```c
    moot *m = NULL;
    ...
    long sum = 0;
```
```
$ moot run -n 2 conditional
...
rank 0: the sum is 140
rank 1: the sum is 139
moot: 2 ranks, 0.123 s
  tasks run      9, by rank: 5 ...
```
<!-- snippet: exit 2 -->
    $ moot run
<!-- snippet: exact -->
```console
$ there=here
$ export there \
    && cd deploy
$ echo "$there" 4 $(basename "$PWD")
here 4 deploy
$ cd ..
```
```sh
if [ "$there" = here ]; then
    echo yes
fi
```
    make run      builds, and runs
    make check    is not run
    make install && mpicc prog.c $(pkg-config --cflags --libs moot) -o prog
<!-- snippet: output of ./prog -->
```
rank 0: the sum is 140
```
<!-- snippet: skip there is no such machine -->
```sh
nowhere
```
- an item

    whose second paragraph is indented

`moot run -n 3 cholesky --data`, `moot sim --seeds 1..9`, `make bench`, `make
check TESTS=unit`.
END
check good "a document without mistakes is wrong" snippets "$scratch/good.md"
check good "not all of it was looked at" grep -q ': 19 snippets, 0 wrong$' "$scratch/out"

sees compile 2 "compile.md:3:48: error: 'undone' undeclared" <<'END'

```c
moot_task_fetch(m, task, MOOT_FOREVER, &data, &undone);
```
END
sees type 1 "compile|incompatible|argument" <<'END'
```c
moot_task_fetch(m, &task, MOOT_FOREVER, &data, &size);
```
END
sees whole 1 "exits 3" <<'END'
```c
int main(void) { return 3; }
```
END
sees command 2 "exits 127" <<'END'
Text.
```sh
mooot run
```
END
sees status 1 "exits 2, not 0" <<'END'
    $ moot run
END
sees ends-well 2 "exits 0, not 1" <<'END'
<!-- snippet: exit 1 -->
    $ moot run -n 1 conditional
END
sees output 1 "no such line: rank 0: the total is 140" <<'END'
```
$ moot run -n 2 conditional
rank 1: the sum is 140
rank 0: the total is 140
```
END
sees number 2 "no such line: rank 0: the sum is 141" <<'END'
<!-- snippet: exact -->
```
$ moot run -n 2 conditional
rank 0: the sum is 141
```
END
sees drift 2 "does not have this line" <<'END'
<!-- snippet: file deploy/examples/conditional.c -->
```c
    long sum = 0;
    long x = 0;
```
END
sees silence 2 "does not say why" <<'END'
<!-- snippet: skip -->
```sh
nowhere
```
END
sees verb 2 "no moot runs" <<'END'
Text.
By `moot runs -n 4 tsp`.
END
sees option 1 "no option --rank" <<'END'
By `moot sim --rank 4`.
END
sees goal 1 "no goal chek" <<'END'
By `make chek`.
END

check "a document" "what it says is not so" snippets README.md deploy/doc/*.md deploy/doc/*/*.md
cat "$scratch/out"

# --- What names all of its kind ---
for page in deploy/man/*.3; do
    page=$(basename "$page" .3)
    check moot.3 "its list of pages lacks $page" \
        sh -c "sed -n '/^.Sh SEE ALSO/,\$p' deploy/man/moot.3 | grep -q '^.Xr $page 3' || [ $page = moot ]"
    check "$page.3" "it does not lead to moot(3)" \
        sh -c "grep -q '^.Xr moot 3' deploy/man/$page.3 || [ $page = moot ]"
done
for page in deploy/man/*.[17]; do
    page=$(basename "$page")
    check moot.1 "it does not name $page" \
        sh -c "grep -q 'Xr ${page%.*} ${page##*.}' deploy/man/moot.1 || [ $page = moot.1 ]"
done
for verb in run state report trace sim tune doctor faults check-transport check-launcher info; do
    check README.md "its table of tools lacks moot $verb" grep -q "^| .*\`moot $verb\`.* |" README.md
done
grep '^## ' deploy/doc/USING.md | sed 's/^## //' >"$scratch/sections"
sed -n 's/^- \[\(.*\)\](#.*/\1/p' deploy/doc/USING.md >"$scratch/contents"
check USING.md "its contents are not its sections" cmp -s "$scratch/sections" "$scratch/contents"
check_end
