#!/bin/sh
# routes_hosts_test.sh - jobs by ssh on three hosts of which two do not reach each other: they
# end right by way of the third; its rank that passes frames on dies, then the host whole,
# and who cannot be reached any more is voted out and named.
#
# tests/cli/fleet.sh has trees and tables.  Skips where there are no hosts of namespaces.
# Finds the programs in $BUILD; run from the top of the tree.
set -u

# shellcheck source=tests/cli/fleet_jobs.sh
. tests/cli/fleet_jobs.sh
jobs_enter "$@"
wall_build b c
check "the wall" "b reaches c" no on b timeout 1 ssh -F "$scratch/hosts/ssh_config" c true

# shellcheck disable=SC2086 # words are meant to split
routed star:a $tsp
relay_killed
check_end
