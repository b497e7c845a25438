#!/bin/sh
# line_test.sh - the live line of `moot run`, on a terminal of its own: what it says, that
# it is gone in the end, that the program's output is what it is without it, and where
# there is none.
#
# The terminal is a small one written for this (python3's pty): it carries out what it is
# sent, and refuses what it does not know.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR="$scratch"
export MOOT_STATE="$scratch/doors"
unset MOOT_CONFIG NO_PROGRESS
export TERM=xterm
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/out $scratch/lines"

# terminal COLUMNS[:LATER] COMMAND...: runs it there, with so many columns, and others once
# the line was there; prints the rows that stand there at the end.  Each row that the line
# stood in for a while is a line of $scratch/lines.  Exits with the command's status.
cat >"$scratch/terminal" <<'END'
import fcntl, os, pty, re, struct, sys, termios

scratch, widths, command = sys.argv[1], sys.argv[2].split(":"), sys.argv[3:]
columns = int(widths[0])

def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

child, terminal = pty.fork()
if child == 0:
    resize(0, columns)
    os.execvp(command[0], command)
sent = b""
while True:
    try:
        sent += os.read(terminal, 65536)
    except OSError:
        break
    if len(widths) > 1 and b"tasks/s" in sent:
        resize(terminal, int(widths.pop()))
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

rows, column, lines = [""], 0, []
for part in re.findall(r"\r|\n|\033\[K|[^\r\n\033]+|\033", sent.decode()):
    if part == "\r":
        column = 0
    elif part == "\n":
        rows.append("")
        column = 0
    elif part == "\033[K":
        rows[-1] = rows[-1][:column]
    else:
        assert part != "\033", "an order that this terminal does not know"
        rows[-1] = rows[-1][:column] + part + rows[-1][column + len(part):]
        column += len(part)
        # On to the next row: what stood in this one is there for ever.
        while len(rows[-1]) >= columns:
            rows.append(rows[-1][columns:])
            rows[-2] = rows[-2][:columns]
            column = len(rows[-1])
    if part == "\033[K" and rows[-1] and not (lines and lines[-1] == rows[-1]):
        lines.append(rows[-1])
print("\n".join(rows))
open(scratch + "/lines", "w").write("".join(line + "\n" for line in lines))
sys.exit(status)
END
terminal() { timeout 60 python3 "$scratch/terminal" "$scratch" "$@" >"$scratch/out" 2>&1; }

shows() { grep -qE -e "$1" "$scratch/out"; }
line_says() { grep -qE -e "$1" "$scratch/lines"; }
no_line() { [ ! -s "$scratch/lines" ] && no shows 'tasks/s'; }

# Ranks that wait for two and a half seconds, and write meanwhile: rows and errors, all
# of them; rows, rank 0 alone, in two pieces; or one has no socket that could be found, as
# on another host; or they close, rank 1 fails, and the others stay for a while.
program="$scratch/program"
cat >"$program" <<END
#!/bin/sh
rank=\$OMPI_COMM_WORLD_RANK
i=0
case \${1-} in
pieces)
    while [ "\$rank" = 0 ] && [ \$i -lt 4 ]; do
        sleep 0.2
        printf 'row %s ' \$i
        sleep 0.6
        echo "of \$rank"
        i=\$((i + 1))
    done & ;;
hidden)
    until [ "\$rank" != 0 ] || rm "$scratch/doors/"*-2-*; do
        sleep 0.02
    done 2>/dev/null & ;;
fails)
    "$build/tests/mpi/stalls" undecided
    [ "\$rank" != 1 ] || exit 3
    exec sleep 20 ;;
*)
    while [ \$i -lt 20 ]; do
        sleep 0.1
        echo "row \$i of \$rank"
        echo "error \$i of \$rank" >&2
        i=\$((i + 1))
    done & ;;
esac
exec "$build/tests/mpi/stalls" undecided
END
chmod +x "$program"
rows() { grep -cE "^$1 [0-9]+ of [0-2]\$" "$2"; }

terminal 120 "$build/moot" run -n 3 "$program"
check line "the job fails" [ $? -eq 0 ]
check line "it does not say how far the job is" line_says \
    '^moot: [0-9]+ s, [01] done, 0 running, [12] waiting, 0 voted, [0-9.]+ tasks/s, 3 of 3 ranks$'
check line "there are few" [ "$(wc -l <"$scratch/lines")" -ge 2 ]
check line "it stays" no shows 'tasks/s'
check output "rows of the ranks are lost, or the line is in them" \
    [ "$(rows row "$scratch/out")" -eq 60 ]
check output "errors are lost, or the line is in them" \
    [ "$(rows error "$scratch/out")" -eq 60 ]
check output "the summary is gone" shows '^moot: 3 ranks, [0-9.]+ s$'

# A row that is drawn piece by piece stays whole: the line waits for its end.
terminal 80 "$build/moot" run -n 3 "$program" pieces
check whole "there is no line" line_says '3 of 3 ranks$'
check whole "a row is broken" [ "$(rows row "$scratch/out")" -eq 4 ]

terminal 40 "$build/moot" run -n 3 "$build/tests/mpi/stalls" undecided
check narrow "there is no line" line_says '^moot: [0-9]+ s, [01] done'
check narrow "it is as wide as the terminal" no line_says '^.{40}'
check narrow "it stays" no shows '^moot: [0-9]+ s,'

terminal 120:30 "$build/moot" run -n 3 "$build/tests/mpi/stalls" undecided
check resized "it is not wide at first" line_says '3 of 3 ranks$'
check resized "it does not follow" [ "$(tail -n 1 "$scratch/lines" | wc -c)" -eq 30 ]

# Who does not answer is named and does not keep the others from being told of; who was
# killed is no rank any more.
terminal 120 "$build/moot" run -n 3 --faults pause:r1@400ms+2600ms MOOT_SUSPECT=20s \
    "$build/tests/mpi/stalls" away
check silent "a rank that is stopped fails the job" [ $? -eq 0 ]
check silent "it is not said" line_says '3 of 3 ranks, 1 silent$'
terminal 120 "$build/moot" run -n 4 --faults kill:r3@300ms "$build/tests/mpi/stalls" away
check dead "it is counted" line_says '3 of 4 ranks$'
check dead "it is waited for" no line_says '3 of 4 ranks, 1 silent$'

# Who cannot be asked itself is told of by another.
terminal 120 "$build/moot" run -n 3 "$program" hidden
check hidden "a rank that cannot be asked fails the job" [ $? -eq 0 ]
check hidden "it is not told of" line_says \
    ' [01] done, 0 running, [12] waiting, 0 voted, [0-9.]+ tasks/s, 3 of 3 ranks$'

# What the command itself has to say meanwhile has a row of its own; and who has closed is
# neither silent nor running.
terminal 120 "$build/moot" run -n 3 "$program" fails
check fails "it is not said, or the line is in it" \
    shows '^moot: rank 1 ended with status 3 after it had closed its moot; the others go on$'
check fails "the last word is not taken" line_says \
    ' 2 done, 0 running, 0 waiting, 1 voted, [0-9.]+ tasks/s, 3 of 3 ranks$'
check fails "who has closed is silent" no line_says silent

# No line: standard output or standard error in a pipe or a file, another terminal, or
# nobody wants it.  The quiet ones print what they print otherwise.
quiet() {
    name=$1
    shift
    terminal 120 "$@"
    check "$name" "there is a line" no_line
    check "$name" "there is no summary" shows '^moot: 3 ranks, [0-9.]+ s$'
}
run="$build/moot run -n 3"
undecided="$build/tests/mpi/stalls undecided"
# shellcheck disable=SC2086 # words are meant to split
{
    quiet option $run --no-progress $undecided
    quiet dumb env TERM=dumb $run $undecided
    quiet unset env -u TERM $run $undecided
    quiet unwanted env NO_PROGRESS=1 $run $undecided
    quiet no-sockets $run MOOT_STATE=off $undecided
}
quiet pipe sh -c "$run $undecided | cat"
terminal 120 sh -c "$run $undecided 2>&1 | cat"
check pipes "there is a line" no_line
terminal 120 sh -c "$run $program 2>$scratch/errors"
check file "there is a line" no_line
check file "the file has one" no grep -q 'tasks/s' "$scratch/errors"
check file "the file lacks errors" [ "$(rows error "$scratch/errors")" -eq 60 ]

# Where no rank is on this host, one is asked by its host's agent.  Hosts are names for this
# one, by the example launcher_exec, with a folder of their own for sockets.
away="$scratch/agent"
mkdir -p "$scratch/doors"
cat >"$away" <<END
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs -o mode=700 none "$scratch/doors" && exec "$build/moot" "\$@"' agent "\$@"
END
chmod +x "$away"
if unshare -m mount -t tmpfs -o mode=700 none "$scratch/doors" 2>/dev/null; then
    terminal 120 "$build/moot" run --launcher "$build/examples/launcher_exec.so" \
        --hosts a:2,b:1 --agent "$away" "$build/tests/mpi/stalls" undecided
    check away "the job fails" [ $? -eq 0 ]
    check away "it does not say how far the job is" line_says \
        ' [01] done, 0 running, [12] waiting, 0 voted, [0-9.]+ tasks/s, 3 of 3 ranks$'
else
    echo "skipped: hosts with folders of their own need unshare -m"
fi

# Standard output in a file: the line stays on the terminal, and out of the file.
terminal 120 sh -c "$run $program >$scratch/rows"
check redirected "there is no line" line_says '3 of 3 ranks$'
check redirected "errors are lost" [ "$(rows error "$scratch/out")" -eq 60 ]
check redirected "the file has it" no grep -q 'tasks/s' "$scratch/rows"
check redirected "the file lacks rows" \
    [ "$(rows row "$scratch/rows")" -eq 60 ]

# In the background the row is the shell's.
terminal 120 bash -ic "$run $undecided & wait"
check background "there is a line" no_line

check_end
