#!/bin/sh
# rows_test.sh - `moot run` takes the launcher's rows about ranks that are gone out of what
# a job says, and nothing else: all other bytes come at once, whole and in their order.
#
# A launcher that is made here says what the launcher of Open MPI says, in pieces of any
# length.  Last a real rank dies.  BUILD says where the command is.
set -u

moot=$(cd "${BUILD:-build}" && pwd)/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

mkdir "$scratch/bin"
cat >"$scratch/bin/mpirun" <<'END'
#!/bin/sh
[ "${1-}" != --version ] || { echo 'mpirun (Open MPI) 4.1.4'; exit 0; }
exec python3 "$SPEAKER"
END
cat >"$scratch/bin/program" <<'END'
#!/bin/sh
END
chmod +x "$scratch/bin/"*
# run SPEAKER [OPTION]: the launcher says what that does; an option may be missing.
# shellcheck disable=SC2086
run() { PATH="$scratch/bin:$PATH" SPEAKER="$1" timeout 60 "$moot" run -n 1 ${2-} "$scratch/bin/program"; }
not() { ! "$@"; }

# --- Rows: what begins with a > is to be held back ---

line=--------------------------------------------------------------------------
cat >"$scratch/rows" <<END
a row of the program
>[vm-1.x:13098] PMIX ERROR: BAD-PARAM in file ../../../src/event/x.c at line 1033
[vm:13098] *** Process received signal ***
[vm:13098] Signal: Segmentation fault (11)
>[vm:13582] [[23024,0],0] ORTE_ERROR_LOG: Data unpack had inadequate space in file x.c at line 513
[[1,0],0] ORTE_ERROR_LOG of the program
[vm] PMIX ERROR of the program
[vm:12x] PMIX ERROR of the program
[:12] PMIX ERROR of the program
 [vm:12] PMIX ERROR of the program
say: [vm:12] PMIX ERROR
[vm:12] PMIX
$line
a table of the program
$line
>$line
>mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).
>$line
-----

>$line
>Primary job  terminated normally, but 1 process returned
>a non-zero exit code. Per user-direction, the job has been aborted.
>$line
[
[vm:
-
>[vm:13098] PMIX ERROR: UNREACHABLE in file x.c at line 7
the last row
END
sed 's/^>//' "$scratch/rows" >"$scratch/said"
grep -v '^>' "$scratch/rows" >"$scratch/wanted"
printf 'no end of a row' | tee -a "$scratch/said" >>"$scratch/wanted"
cat >"$scratch/pieces.py" <<END
import os, random, sys
said = open("$scratch/said", "rb").read()
seed = int(open("$scratch/seed").read())
draw = random.Random(seed)
while said:
    size = draw.choice([1, 2, 7, 40, 300, 5000]) if seed else 1
    os.write(2, said[:size])
    said = said[size:]
END
evidence="$scratch/heard"
for seed in 0 1 2 3 4 5 6 7; do
    echo $seed >"$scratch/seed"
    run "$scratch/pieces.py" >/dev/null 2>"$scratch/all"
    grep -v '^moot: ' "$scratch/all" | sed 's/moot: no rank closed a moot.*//' | head -c "$(wc -c <"$scratch/wanted")" >"$scratch/heard"
    check "pieces of seed $seed" "other bytes than wanted" cmp -s "$scratch/heard" "$scratch/wanted"
done
run "$scratch/pieces.py" --verbose >/dev/null 2>"$scratch/all"
head -c "$(wc -c <"$scratch/said")" "$scratch/all" >"$scratch/heard"
check verbose "rows are held back" cmp -s "$scratch/heard" "$scratch/said"

# --- The launcher fails: its words are told after all ---

cat >"$scratch/fails.py" <<'END'
import os, sys
os.write(2, b"[vm:1] PMIX ERROR: that is why\n")
sys.exit(9)
END
run "$scratch/fails.py" >/dev/null 2>"$scratch/heard"
check "a launcher that fails" "it does not say why" grep -q '^\[vm:1\] PMIX ERROR: that is why' "$scratch/heard"

# --- At once, and in order ---

cat >"$scratch/slow.py" <<'END'
import os, time
for text in b"prompt? ", b"[vm:12] PM", b"----":
    os.write(2, text)
    time.sleep(0.6)
    os.write(2, b"\n")
END
# Each comes alone, so it has not waited for the end of its row.
cat >"$scratch/reader.py" <<'END'
import os, sys
wanted, heard = [b"prompt? ", b"[vm:12] PM", b"----"], b"?"
while heard:
    heard = os.read(0, 4096)
    if heard in wanted:
        wanted.remove(heard)
sys.exit(len(wanted) > 0)
END
(run "$scratch/slow.py" 2>&1 >/dev/null) | python3 "$scratch/reader.py"
check "at once" "a row that is not whole waits for its end" [ $? -eq 0 ]

cat >"$scratch/both.py" <<'END'
import os
for i in range(2000):
    os.write(1, b"out %d\n" % i)
    os.write(2, b"err %d\n" % i)
END
run "$scratch/both.py" >"$scratch/mixed" 2>&1
seq 0 1999 | sed 's/.*/out &\nerr &/' >"$scratch/order"
grep -E '^(out|err) ' "$scratch/mixed" >"$scratch/heard"
check "in order" "standard output and error do not come in their order" cmp -s "$scratch/heard" "$scratch/order"

# --- A real rank dies ---

timeout 60 "$moot" run -n 3 --faults kill:r1@task.start#2 --verbose cholesky >"$scratch/verbose" 2>&1
timeout 60 "$moot" run -n 3 --faults kill:r1@task.start#2 cholesky >"$scratch/heard" 2>&1
check "a death" "the job fails" [ $? -eq 0 ]
check "a death" "it is not told" grep -q 'rank 1 died' "$scratch/heard"
check "a death" "the launcher's rows stand there" not grep -qE 'PMIX ERROR|noticed that process' "$scratch/heard"
echo "$(grep -cE 'PMIX ERROR|noticed that' "$scratch/verbose") rows of the launcher's with --verbose"
check_end
