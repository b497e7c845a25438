#!/bin/sh
# debian-deps.sh PACKAGE... - installs the Debian packages that are missing.
#
# Silent and without network if nothing is missing.  Elsewhere than on Debian and its
# kin it does nothing: the build then says itself what it lacks.
set -eu

command -v dpkg-query >/dev/null 2>&1 || exit 0

missing=
for package in "$@"; do
    # shellcheck disable=SC2016 # the ${...} is dpkg-query's own
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "moot needs these packages:$missing" >&2
    echo "and there is neither root nor sudo here. Install them with:" >&2
    echo "  apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "installing:$missing"
# With lists that are there but too old the first attempt fails: then they are renewed.
# shellcheck disable=SC2086 # word splitting is meant
install_missing() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $missing
}
if ! install_missing >/dev/null 2>&1; then
    $as_root apt-get update -q
    install_missing
fi
