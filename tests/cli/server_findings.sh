#!/bin/sh
# A simulated server whose prefill grows with the square of the prompt, and one whose prefill is linear: the first is found
# out by what it sends, the second is not accused.
set -eu
. tests/support/cli.sh

try() { # PROFILE TIME-SCALE
    serve "$1" --profile "$1" --time-scale "$2"
    "$tokaudit" replay run_single --target "http://127.0.0.1:$port" -o "$tmp/$1.pcapng.gz" --repeat 1 \
        --max-tokens 12 >"$tmp/replay.txt" 2>&1 || die "replay: $(cat "$tmp/replay.txt")"
    kill "$pid"
    wait "$pid" 2>/dev/null || :
    status 0 "$tokaudit" analyze "$tmp/$1.pcapng.gz"
}

try quadratic-prefill 0.001
prints 'The time to first text grows faster than the prompt'
prints 'It grows with the power 1\.[6-9]'
status 0 "$tokaudit" analyze "$tmp/quadratic-prefill.pcapng.gz" --prefill-exponent 2
grep -q 'grows faster' "$tmp/out" && fail "a threshold of 2 is not kept"

try ideal 0.02
grep -q 'grows faster\|stalls in cycles\|one after the other\|stopped early' "$tmp/out" && fail "ideal: $(cat "$tmp/out")"
passed
