#!/bin/sh
# late_hosts_test.sh - late_test.sh where the rank is on another host, and its agent looks.
#
# Skips where there are no hosts of namespaces.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

# shellcheck source=tests/cli/fleet_hosts.sh
. tests/cli/fleet_hosts.sh
hosts_enter "$@"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'hosts_end; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
export MOOT_STALL=1s
unset MOOT_CONFIG MOOT_TRANSPORT
hosts_make "$scratch/hosts" a b || {
    echo "no hosts here: $(tail -n 1 "$scratch/hosts/why")"
    exit 77
}
# shellcheck source=tests/cli/late.sh
. tests/cli/late.sh

at_host='on b'
set -- --launcher "ssh:config=$scratch/hosts/ssh_config" --hosts a:2,b:1
opening ssh "$@"
check "an opening, ssh" "its host is not told" says 'process [0-9]+ on host b is stopped'
outlived ssh "$@"
recovered ssh "$@"
check_end
