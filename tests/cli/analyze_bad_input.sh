#!/bin/sh
# analyze_bad_input.sh TOKAUDIT: every input that is not a good trace gets one clear line and the exit status of
# its kind; none crashes.
set -u
tokaudit=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
failures=0

# expect STATUS WORDS ARGUMENTS...: runs analyze, output in $dir/out and $dir/err.
expect() {
    status=$1
    words=$2
    shift 2
    "$tokaudit" analyze "$@" >"$dir/out" 2>"$dir/err"
    found=$?
    if [ "$found" -ne "$status" ]; then
        echo "analyze $*: exit status $found, expected $status"
        sed 's/^/    /' "$dir/err"
        failures=$((failures + 1))
    elif ! cat "$dir/out" "$dir/err" | grep -q -e "$words"; then
        echo "analyze $*: nothing says '$words':"
        sed 's/^/    /' "$dir/out" "$dir/err"
        failures=$((failures + 1))
    fi
}

# unusable NAME: one line on stderr that names the file, nothing on stdout, exit status 3.
unusable() {
    expect 3 "$1" "$dir/$1"
    if [ "$(wc -l <"$dir/err")" -ne 1 ] || [ -s "$dir/out" ]; then
        echo "$1: expected one line on standard error and nothing else:"
        sed 's/^/    /' "$dir/err" "$dir/out"
        failures=$((failures + 1))
    fi
}

python3 tests/support/make_captures.py "$dir" || exit 1
mkdir "$dir/folder"

unusable missing.pcapng.gz
unusable empty
unusable folder
unusable photo.jpg
unusable random.gz
unusable text.txt
unusable head-only.pcapng

expect 0 'nothing to audit' "$dir/udp.pcapng"
expect 0 'nothing to audit' "$dir/no-packets.pcapng"
expect 0 '1 request, ok' "$dir/good.pcapng"
expect 0 '1 request, ok' "$dir/good.pcapng.gz"
expect 0 'truncated' "$dir/truncated.pcapng"
expect 0 'truncated' "$dir/truncated.pcapng.gz"
expect 0 '"name": "tokaudit"' --format json "$dir/udp.pcapng"

# One usable trace is enough; the others are named.
expect 0 'photo.jpg' "$dir/photo.jpg" "$dir/good.pcapng"
expect 0 'request, ok' "$dir/photo.jpg" "$dir/good.pcapng"
expect 3 'photo.jpg' "$dir/photo.jpg" "$dir/empty"

# Verdicts decide the status: 20 tokens in 19 gaps of 20 ms are 50 tok/s.
expect 0 'confirmed' "$dir/good.pcapng" --claim rate=50tok/s
expect 1 '✕' "$dir/good.pcapng" --claim rate=14000tok/s
expect 0 '✕' "$dir/good.pcapng" --claim rate=14000tok/s --fail-on never
expect 0 'not measurable' "$dir/good.pcapng" --gate-tokens 21

expect 2 'needs a trace'
expect 2 'claim' "$dir/good.pcapng" --claim nonsense
expect 2 'format' "$dir/good.pcapng" --format xml
expect 2 'tolerance' "$dir/good.pcapng" --tolerance 2
expect 2 'no-such-option' "$dir/good.pcapng" --no-such-option
expect 4 'nowhere' "$dir/good.pcapng" -o "$dir/nowhere/x.txt"

[ "$failures" -eq 0 ]
