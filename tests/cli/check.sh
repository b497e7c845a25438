# check.sh - what tests of the command share; they read it from the top of the tree.
#
# A test counts in $passed and $failed, and sets $evidence to the files that a failure
# is to show.
# shellcheck shell=sh
passed=0 failed=0 evidence=''

# note STATUS WHY: 0 is good; of what is called $name.
note() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL $name: $2"
    for file in $evidence; do
        [ ! -f "$file" ] || sed 's/^/    /' "$file"
    done
}
# check NAME WHY COMMAND...: it succeeds.
check() {
    name=$1 why=$2
    shift 2
    if "$@"; then
        note 0
    else
        note 1 "$why"
    fi
}
# says PATTERN: the evidence, which is one file, has a line like that.
says() { grep -qE -e "$1" "$evidence"; }
no() { ! "$@"; }
# The last word: how many, and the status.
check_end() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
