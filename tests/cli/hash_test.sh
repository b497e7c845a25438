#!/bin/sh
# hash_test.sh - `moot hash`: one fingerprint for an array in all kinds of files, against
# NumPy, and for what is no array a story that says where and why.
#
# The comparison skips where NumPy is not installed.  Finds the build in $BUILD; run from
# the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said

hash_of() { "$build/moot" hash "$@" 2>"$evidence" | cut -c 1-32; }
# npy HEADER: a file of version 1.0 with this dictionary, and 24 bytes of elements
npy() {
    length=${#1}
    printf '\223NUMPY\001\000'
    # shellcheck disable=SC2059 # octal escapes are made here
    printf "\\$(printf %03o $((length % 256)))\\$(printf %03o $((length / 256)))"
    printf '%s' "$1"
    printf '\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\003\000\000\000\000\000\000\000'
}
# refused NAME WORDS: the file $scratch/NAME is, with these words
refused() {
    "$build/moot" hash "$scratch/$1" >"$scratch/out" 2>"$evidence"
    status=$?
    check "$1" "status $status, and not 1" [ $status -eq 1 ]
    check "$1" "it has a fingerprint" [ ! -s "$scratch/out" ]
    check "$1" "it is not said: $2" says "$2"
    check "$1" "its name is not said" says "$1: "
}

# --- The vectors ------------------------------------------------------------------------
python3 tests/golden/fingerprint.py vectors >"$scratch/vectors"
check "the vectors" "the golden file has others" cmp -s "$scratch/vectors" tests/golden/fingerprints.txt

# --- One array --------------------------------------------------------------------------
printf '[1, 2, 3]' >"$scratch/a.json"
printf '{"data": [1, 2, 3], "type": "int64"}' >"$scratch/b.json"
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }" >"$scratch/c.npy"
npy '{"shape":(3L,),"descr":"<i8","fortran_order":True}' >"$scratch/d.npy"
wanted=$(hash_of "$scratch/a.json")
check "one array" "no fingerprint" [ ${#wanted} -eq 32 ]
for file in b.json c.npy d.npy; do
    check "one array" "another in $file" [ "$(hash_of "$scratch/$file")" = "$wanted" ]
done
check "--bytes" "it is not b2sum's" \
    [ "$(hash_of --bytes "$scratch/a.json")" = "$(b2sum -l 128 "$scratch/a.json" | cut -c 1-32)" ]
cp "$scratch/a.json" "$scratch/a.txt"
check "another name" "it is not its bytes'" \
    [ "$(hash_of "$scratch/a.txt")" = "$(hash_of --bytes "$scratch/a.json")" ]
check "standard input" "it is not its bytes'" \
    [ "$(hash_of <"$scratch/a.txt")" = "$(hash_of "$scratch/a.txt")" ]
"$build/moot" hash <&- >"$scratch/out" 2>"$evidence"
status=$?
check "no standard input" "its status is $status, not 1" [ $status -eq 1 ]
check "no standard input" "it has a fingerprint" [ ! -s "$scratch/out" ]
check "no standard input" "it is not said" says '^moot hash: -: standard input is closed$'

# --- Numbers of JSON ----------------------------------------------------------------------
json() { printf '%s' "$1" >"$scratch/x.json" && hash_of "$scratch/x.json"; }
same() { check "$1 and $2" "they differ, $(json "$1")" [ "$(json "$1")" = "$(json "$2")" ]; }
differ() { check "$1 and $2" "they are one" [ "$(json "$1")" != "$(json "$2")" ]; }
same '[1, 2.5]' '{"type": "float64", "data": [1.0, 2.5]}'
same '[]' '{"type": "float64", "shape": [0], "data": []}'
same '{"type": "int8", "shape": [0, 3], "data": []}' '{"type": "int8", "shape": [0, 3], "data": []}'
same '{"type": "float32", "data": [0.1]}' '{"type": "float32", "data": [0.100000001490116]}'
same '{"type": "float16", "data": ["nan", 65504, 6e-8]}' '{"type": "float16", "data": ["nan", 65519, 5.9604644775390625e-8]}'
same '{"type": "complex64", "data": [[1, "inf"]]}' '{"type": "complex64", "shape": [1], "data": [[1.0, "inf"]]}'
differ '[1]' '1'
differ '[1]' '[1.0]'
differ '[1]' '{"type": "int32", "data": [1]}'
differ '[0.0]' '[-0.0]'
differ '[true]' '[1]'
differ '["1"]' '[1]'
differ '[[1, 2]]' '[[1], [2]]'
differ '[[]]' '[]'

bad() {
    printf '%s' "$2" >"$scratch/$1.json"
    refused "$1.json" "$3"
}
bad ragged '[[1, 2], [3]]' '\[1\]: a list of 1, where the first has 2'
bad deeper '[[1], [[2]]]' '\[1\]\[0\]: a list, where its neighbours are none'
bad shallow '[[1], 2]' '\[1\]: a list is expected'
bad mixed '[1, "a"]' '\[1\]: another kind'
bad null '[1, null]' '\[1\]: null is no element'
bad object '[{}]' '\[0\]: an object is no element'
bad large '[9223372036854775808]' 'line 1, column .*: too big'
bad inexact '[0.5, 9007199254740993]' '\[1\]: no float64 holds this integer exactly'
bad constant '[NaN]' 'line 1, column'
bad cut '[1, 2' 'line 1, column'
bad twice '{"type": "int8", "type": "int8", "data": 1}' 'duplicate'
bad unknown '{"type": "int7", "data": 1}' '"int7" is none'
bad more '{"type": "int8", "data": 1, "shap": []}' 'nothing else'
bad range '{"type": "uint8", "data": [255, 256]}' '\[1\]: the integer does not fit'
bad below '{"type": "uint64", "data": [-1]}' '\[0\]: the integer does not fit'
bad real '{"type": "int8", "data": [1.0]}' '\[0\]: an integer is expected'
bad half '{"type": "float16", "data": [65520]}' '\[0\]: the number does not fit'
bad pair '{"type": "complex64", "data": [[1, 2, 3]]}' '\[0\]: a list of two is expected'
bad shape '{"type": "int8", "shape": [2], "data": [1]}' '"shape"\[0\] is 2, and "data" has 1'
bad dimensions '{"type": "int8", "shape": [1, 1], "data": [1]}' '"shape" has 2 dimensions'
bad bytes '{"type": "bytes", "data": ["a"]}' 'JSON has no bytes'

# --- .npy that is none --------------------------------------------------------------------
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }" >"$scratch/short.npy"
refused short.npy 'need 32 bytes after the header, and 24 are there'
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }" >"$scratch/long.npy"
refused long.npy 'need 16 bytes after the header, and 24 are there'
npy "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }" >"$scratch/objects.npy"
refused objects.npy 'objects have no fingerprint; store numbers'
npy "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (3,), }" >"$scratch/records.npy"
refused records.npy 'records have no fingerprint; store each field'
npy "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }" >"$scratch/dates.npy"
refused dates.npy 'dates have no fingerprint; store them as int64'
npy "{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }" >"$scratch/floats.npy"
refused floats.npy 'floats of this size'
npy "{'descr': '<i8', 'shape': (3,), }" >"$scratch/lacks.npy"
refused lacks.npy 'the header lacks one of'
npy "{'descr': '<i8', 'fortran_order': Maybe, 'shape': (3,), }" >"$scratch/maybe.npy"
refused maybe.npy "character 34 of the header: True or False expected, not 'Maybe"
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (3), }" >"$scratch/number.npy"
refused number.npy "character 52 of the header: ',' expected, not '), }"
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,), }" >"$scratch/huge.npy"
refused huge.npy 'a length below 2\^64 expected'
npy "{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }" >"$scratch/vast.npy"
refused vast.npy 'more bytes than there is memory for'
printf '\223NUMPY\004\000' >"$scratch/version.npy"
refused version.npy 'byte 6: version 4.0 of the format; 1.0 to 3.0 are known'
printf 'hello' >"$scratch/hello.npy"
refused hello.npy 'it ends within the magic string'
printf 'hello, world' >"$scratch/world.npy"
refused world.npy 'byte 0: the magic string'
mkdir "$scratch/folder.npy"
refused folder.npy 'Is a directory'
mkdir "$scratch/folder.npz"
refused folder.npz 'an archive has to be a regular file'
npy "{'descr': '$(printf '\033')[31m', 'fortran_order': False, 'shape': (3,), }" >"$scratch/colour.npy"
refused colour.npy "descr '[?]\[31m' is no type"
refused missing.npy 'No such file'
refused missing.npz 'No such file'
printf 'hello, world' >"$scratch/world.npz"
refused world.npz 'zip archive'
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").close()' "$scratch/nothing.npz"
refused nothing.npz 'no array is in it$'

# --- Against NumPy ------------------------------------------------------------------------
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        "$python" tests/golden/fingerprint.py numpy "$build/moot" "${ARRAYS:-400}" "${SEED:-1}" >"$evidence" 2>&1
        check "against NumPy" "they differ" says '^[0-9]* arrays in [0-9]* files, 0 wrong$'
        "$python" -c "import numpy, sys; numpy.savez(sys.argv[1], one=1, two=[2])" "$scratch/two.npz"
        refused two.npz '2 arrays are in it: name one behind a #, as in #one'
        refused two.npz#three "no array 'three' in it"
        check "of an archive" "another than of JSON" \
            [ "$(hash_of "$scratch/two.npz#two")" = "$(json '[2]')" ]
        "$python" -c "import numpy, sys; numpy.savez(sys.argv[1], **{'a.b#c': [2], 'd': 1})" "$scratch/odd.npz"
        refused odd.npz '2 arrays are in it: name one behind a #, as in #a.b#c'
        check "of a name with a dot and a #" "another than of JSON" \
            [ "$(hash_of "$scratch/odd.npz#a.b#c")" = "$(json '[2]')" ]
        "$python" -c "import sys; a = bytearray(open(sys.argv[1], 'rb').read()); a[a.index(10) + 1] ^= 1; open(sys.argv[2], 'wb').write(a)" \
            "$scratch/two.npz" "$scratch/flip.npz"
        refused flip.npz#one '[Cc][Rr][Cc]|[Cc]hecksum'
        compared=1
        break
    fi
done
# --- Elements of task arrays -------------------------------------------------------------
for ranks in 1 2 3; do
    timeout -k 5 60 "$build/moot" run --no-progress -n $ranks "$build/tests/mpi/element_hashes" \
        2>"$evidence" </dev/null | grep '^[0-9a-f]' >"$scratch/elements-$ranks"
    check "elements at $ranks ranks" "not 9 lines" [ "$(wc -l <"$scratch/elements-$ranks")" -eq 9 ]
    check "elements at $ranks ranks" "other hashes than at one" \
        cmp -s "$scratch/elements-1" "$scratch/elements-$ranks"
done
array=$(sed -n 's/  array 50$//p' "$scratch/elements-1")
# shellcheck disable=SC2046 # indices
"$build/moot" hash --element "$array" $(seq 0 7 49) >"$scratch/out" 2>"$evidence"
check "moot hash --element" "another than kernels have" \
    [ "$(sed 1d "$scratch/elements-1")" = "$(cat "$scratch/out")" ]
for wrong in "" "$array" "12 3" "$(printf %032d 0) 3" "$array x" "$array 4294967296" "$array 1 -1"; do
    # shellcheck disable=SC2086 # words
    "$build/moot" hash --element $wrong >"$scratch/out" 2>"$evidence"
    status=$?
    check "moot hash --element $wrong" "a hash" [ ! -s "$scratch/out" ]
    check "moot hash --element $wrong" "status $status, and not 2" [ $status -eq 2 ]
done

[ -n "${compared-}" ] || echo "skip  against NumPy: python3-numpy is not installed"

check_end
