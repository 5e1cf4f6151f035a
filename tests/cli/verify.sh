#!/bin/sh
# verify.sh TOKAUDIT: `tokaudit verify` on a whole, a cut and a tampered trace, and on what is none.
set -u
tokaudit=$1
case $tokaudit in /*) ;; *) tokaudit=$PWD/$tokaudit ;; esac

tmp=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
# status EXPECTED COMMAND...: runs it, its output in $tmp/out and $tmp/err.
status() {
    expected=$1
    shift
    "$@" >"$tmp/out" 2>"$tmp/err"
    found=$?
    [ "$found" = "$expected" ] ||
        fail "$*: status $found, expected $expected: $(cat "$tmp/out" "$tmp/err")"
}
says() {
    grep -q -e "$1" "$tmp/out" || fail "expected '$1', found: $(cat "$tmp/out")"
}
warns() {
    grep -q -e "$1" "$tmp/err" || fail "expected '$1' on stderr, found: $(cat "$tmp/err")"
}

# A trace without rights to capture: what a load generator saw of a simulated server.
"$tokaudit" serve --profile ideal --listen 127.0.0.1:0 --ready-file "$tmp/port" >"$tmp/serve" 2>&1 &
server=$!
tries=0
until [ -s "$tmp/port" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "FAIL: no server: $(cat "$tmp/serve")"; exit 1; }
    sleep 0.1
done
trace=$tmp/run.pcapng.gz
"$tokaudit" replay run_single --target "http://127.0.0.1:$(cat "$tmp/port")" --repeats 2 --scale 0.001 --max-tokens 16 -o "$trace" >"$tmp/out" 2>&1 ||
    fail "replay: $(cat "$tmp/out")"

status 0 "$tokaudit" verify "$trace"
says ': whole: .* members, .* packets'
says "sha256 $(sha256sum "$trace" | cut -d' ' -f1)"
says 'integrity, not authorship'
status 0 "$tokaudit" verify -q "$trace"
[ ! -s "$tmp/out" ] || fail "-q printed $(cat "$tmp/out")"
status 0 "$tokaudit" verify - <"$trace"

size=$(wc -c <"$trace")
head -c $((size - 20)) "$trace" >"$tmp/cut"
status 1 "$tokaudit" verify "$tmp/cut"
says ': UNCLOSED: member .*, at offset .*: the file ends inside this member'
says 'intact, as far as it goes'
says 'integrity, not authorship'

cp "$trace" "$tmp/changed"
printf 'x' | dd of="$tmp/changed" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
status 1 "$tokaudit" verify -q "$tmp/changed"
says ': BROKEN: member .*, at offset .* of '"$size"': it fails its check'
cat "$trace" "$trace" >"$tmp/twice"
status 1 "$tokaudit" verify "$tmp/twice"
says "at offset $size of .*: a member follows the closing block"

gzip -dc "$trace" >"$tmp/plain"
status 3 "$tokaudit" verify "$tmp/plain"
warns "not a trace of tokaudit: it is not gzip'd"
gzip -c "$tokaudit" >"$tmp/other.gz"
status 3 "$tokaudit" verify "$tmp/other.gz"
warns 'not a trace of tokaudit'
status 3 "$tokaudit" verify "$tmp/none"
warns "$tmp/none: No such file"
status 3 "$tokaudit" verify "$tmp"
warns 'is a directory'
status 2 "$tokaudit" verify
warns 'no trace is named'

# Of several, each is named; what is wrong with a trace counts more than what is no trace.
status 0 "$tokaudit" verify "$trace" "$trace"
status 1 "$tokaudit" verify "$trace" "$tmp/none" "$tmp/cut" "$tmp/plain"
says 'run.pcapng.gz: whole'
says 'cut: UNCLOSED'
warns "$tmp/none"
warns "$tmp/plain"
status 3 "$tokaudit" verify "$trace" "$tmp/plain"

[ $failures = 0 ] || exit 1
echo "verify.sh: passed"
