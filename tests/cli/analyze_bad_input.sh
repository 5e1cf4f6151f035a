#!/bin/sh
# analyze_bad_input.sh TOKAUDIT: every input that is not a good trace gets one clear line and the exit status of
# its kind; none crashes.
set -u
. tests/support/cli.sh

# expect STATUS WORDS ARGUMENTS...: runs analyze, output in $tmp/out and $tmp/err.
expect() {
    status=$1
    words=$2
    shift 2
    "$tokaudit" analyze "$@" >"$tmp/out" 2>"$tmp/err"
    found=$?
    [ $found = "$status" ] || fail "analyze $*: exit status $found, expected $status: $(cat "$tmp/err")"
    cat "$tmp/out" "$tmp/err" | grep -q -e "$words" ||
        fail "analyze $*: nothing says '$words': $(cat "$tmp/out" "$tmp/err")"
}

# unusable NAME: one line on stderr that names the file, nothing on stdout, exit status 3.
unusable() {
    expect 3 "$1" "$tmp/$1"
    if [ "$(wc -l <"$tmp/err")" -ne 1 ] || [ -s "$tmp/out" ]; then
        fail "$1: expected one line on standard error and nothing else: $(cat "$tmp/err" "$tmp/out")"
    fi
}

python3 tests/support/make_captures.py "$tmp" || exit 1
mkdir "$tmp/folder"

unusable missing.pcapng.gz
unusable empty
unusable folder
unusable photo.jpg
unusable random.gz
unusable text.txt
unusable head-only.pcapng

expect 0 'nothing to audit' "$tmp/udp.pcapng"
expect 0 'nothing to audit' "$tmp/no-packets.pcapng"
expect 0 '1 request, ok' "$tmp/good.pcapng"
expect 0 '1 request, ok' "$tmp/good.pcapng.gz"
expect 0 'truncated' "$tmp/truncated.pcapng"
expect 0 'truncated' "$tmp/truncated.pcapng.gz"
expect 0 '"name": "tokaudit"' --format json "$tmp/udp.pcapng"

# One usable trace is enough; the others are named.
expect 0 'photo.jpg' "$tmp/photo.jpg" "$tmp/good.pcapng"
expect 0 'request, ok' "$tmp/photo.jpg" "$tmp/good.pcapng"
expect 3 'photo.jpg' "$tmp/photo.jpg" "$tmp/empty"

# Verdicts decide the status: 20 tokens in 19 gaps of 20 ms are 50 tok/s.
expect 0 'confirmed' "$tmp/good.pcapng" --claim rate=50tok/s
expect 1 '✕' "$tmp/good.pcapng" --claim rate=14000tok/s
expect 0 '✕' "$tmp/good.pcapng" --claim rate=14000tok/s --fail-on never
expect 0 'not measurable' "$tmp/good.pcapng" --gate-tokens 21

expect 2 'needs a trace'
expect 2 'claim' "$tmp/good.pcapng" --claim nonsense
expect 2 'format' "$tmp/good.pcapng" --format xml
expect 2 'tolerance' "$tmp/good.pcapng" --tolerance 2
expect 2 'no-such-option' "$tmp/good.pcapng" --no-such-option
expect 4 'nowhere' "$tmp/good.pcapng" -o "$tmp/nowhere/x.txt"

# What is read is never written over.
cp "$tmp/good.pcapng" "$tmp/kept.pcapng"
echo '{"metric": "ttft", "value": 1, "unit": "s"}' >"$tmp/kept.json"
ln -s kept.pcapng "$tmp/link.pcapng"
expect 2 'read and written at once' "$tmp/kept.pcapng" -o "$tmp/kept.pcapng"
expect 2 'read and written at once' "$tmp/kept.pcapng" -o "$tmp/link.pcapng"
expect 2 'read and written at once' "$tmp/good.pcapng" --claims "$tmp/kept.json" -o "$tmp/kept.json"
cmp -s "$tmp/good.pcapng" "$tmp/kept.pcapng" || fail "a trace was written over"
grep -q ttft "$tmp/kept.json" || fail "claims were written over"

passed
