#!/bin/sh
# peers.sh TOKAUDIT: result files that other benchmarks wrote of recorded runs (tests/peers, made by tests/real/peers.sh): the
# audit of each confirms what tests/peers/*/expected says, accuses nobody but who was given another model's tokenizer
# ("wrong" in its audit), and prints what the tool printed.
set -eu
. tests/support/cli.sh

command -v python3 >/dev/null || {
    skip "no python3"
    exit 0
}
for folder in tests/peers/*/; do
    python3 tests/support/peer_verdicts.py "$tokaudit" "$folder" >"$tmp/found" || die "$folder"
    diff -u "${folder}expected" "$tmp/found" >&2 || fail "$folder"
    if grep -qE '^  (differs|impossible|claims.contradiction|claims.impossible):' "$tmp/found"; then
        grep -q '^wrong ' "${folder}audit" || fail "$folder: a real tool is accused"
    elif grep -q '^wrong ' "${folder}audit"; then
        fail "$folder: a wrong file is not accused"
    fi
done
passed
