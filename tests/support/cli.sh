# What the scripts of tests/cli begin with, run from the root of the tree with the program as their argument:
#
#     . tests/support/cli.sh
#
# Then $tokaudit is the program, $tmp a folder of the script's own. When the script ends, so do the processes in $pids; each
# trace that is left in $tmp is held against tshark (check_traces.py), and the folder goes.
# shellcheck shell=sh disable=SC2034 # what is set here is used there
tokaudit=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
script=$(basename "$0")
support=$PWD/tests/support
tmp=$(mktemp -d)
pids=
broken= # names of traces that the script breaks
failures=0

at_end() { :; } # a script's own: last, before the folder goes
end() {
    code=$?
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    if command -v python3 >/dev/null; then
        # shellcheck disable=SC2086 # several names
        python3 "$support/check_traces.py" "$tokaudit" "$tmp" $broken || code=1
    else
        echo "$script: SKIP the check of the traces by tshark: no python3" >&2
    fi
    at_end
    rm -rf "$tmp"
    exit $code
}
trap end EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAIL: $script: $*" >&2
    failures=$((failures + 1))
}
die() {
    fail "$@"
    exit 1
}
skip() {
    echo "$script: SKIP $*" >&2
}
passed() {
    [ $failures = 0 ] || exit 1
    echo "$script: passed"
    exit 0
}

# status EXPECTED COMMAND...: its exit status; its output is in $tmp/out and $tmp/err.
status() {
    expected=$1
    shift
    found=0
    "$@" >"$tmp/out" 2>"$tmp/err" || found=$?
    [ "$found" = "$expected" ] || fail "$*: status $found, expected $expected: $(cat "$tmp/out" "$tmp/err")"
}
prints() { # PATTERN: on stdout
    grep -q -e "$1" "$tmp/out" || fail "expected '$1', found: $(cat "$tmp/out")"
}
says() { # PATTERN: on stderr
    grep -q -e "$1" "$tmp/err" || fail "expected '$1' on stderr, found: $(cat "$tmp/err")"
}

# serve NAME ARGS...: a simulated server in the background; $port, $pid. It says the rest in $tmp/NAME.out and .err.
serve() {
    name=$1
    shift
    "$tokaudit" serve --listen 127.0.0.1:0 --ready-file "$tmp/$name.port" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" &
    pid=$!
    pids="$pids $pid"
    until [ -s "$tmp/$name.port" ]; do
        kill -0 "$pid" 2>/dev/null || die "the server '$name' did not start: $(cat "$tmp/$name.err")"
        sleep 0.05
    done
    port=$(cat "$tmp/$name.port")
}
