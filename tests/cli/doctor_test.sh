#!/bin/sh
# doctor_test.sh - `moot doctor`: what it sees of this host and of others, which are names
# for this machine here (launcher_exec); ssh_test.sh has hosts of their own.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

evidence="$scratch/said"
launcher="$build/examples/launcher_exec.so"
# doctor [OPTION...]: its status is $got
doctor() {
    timeout -k 5 60 "$build/moot" doctor "$@" >"$scratch/said" 2>&1 </dev/null
    got=$?
}

doctor
check here "its status is $got" [ "$got" = 0 ]
for row in release cores 'open files' 'temporary folder' 'transport tcp' 'launcher ssh'; do
    check here "$row is not well" says "^ok +$row  "
done
check here "the sum is not there" says '^[0-9]+ well, [0-9]+ to be known, 0 to be mended$'

TMPDIR="$scratch/none" doctor --brief
check folder "its status is $got, not 1" [ "$got" = 1 ]
check folder "the folder is not told" says "^MEND +temporary folder +$scratch/none: No such file.*set TMPDIR"
check folder "what is well is told, too" no says '^ok'

timeout -k 5 60 prlimit --nofile=200 "$build/moot" doctor >"$scratch/said" 2>&1 </dev/null
check files "the limit is not told" says '^note +open files +200 at most: .*ulimit -n'

doctor --launcher "$launcher" --hosts localhost,127.0.0.1
check hosts "its status is $got" [ "$got" = 0 ]
check hosts "a release is not told" says '^ok +localhost: release'
check hosts "a clock is not told" says '^ok +127.0.0.1: clock .* ms (ahead|behind)'
check hosts "a way is not told" says '^ok +localhost: to 127.0.0.1 +[0-9.]+ ms'
check hosts "the way back is not told" says '^ok +127.0.0.1: to localhost +[0-9.]+ ms'

doctor --launcher "$launcher" --hosts localhost,no.such.host.invalid --brief
check name "what is not reached is not told" \
    says '^note +localhost: to no.such.host.invalid +.*(MOOT_ROUTE)'

doctor --launcher "$launcher" --hosts localhost --agent /no/such/moot --brief
check command "its status is $got, not 1" [ "$got" = 1 ]
check command "it is not told" says '^MEND +localhost: begins '

printf '#!/bin/sh\necho "moot-doctor 0.0.1-wire2"\necho ready\ncat >/dev/null\n' >"$scratch/older"
chmod +x "$scratch/older"
doctor --launcher "$launcher" --hosts localhost --agent "$scratch/older" --brief
check older "it is not told" says '^MEND +localhost: release +0.0.1-wire2 there, and .* here: install'

doctor --launcher nobody --hosts a
check launcher "its status is $got, not 2" [ "$got" = 2 ]
check launcher "it is not told" says "there is no launcher 'nobody'"
doctor --loud
check option "its status is $got, not 2" [ "$got" = 2 ]

check_end
