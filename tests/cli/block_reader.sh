#!/bin/sh
# block_reader.sh TOKAUDIT: a client that reads blocks of 8192 bytes sees bursts where the wire has none (P46); one that reads
# lines sees what the wire has.
set -eu
. tests/support/cli.sh

command -v python3 >/dev/null || { skip "no python3"; passed; }
if ! "$tokaudit" capture -p 9 --duration 1ms --sample-hz 0 -o "$tmp/try.pcapng.gz" 2>"$tmp/err"; then
    grep -q 'no right to capture' "$tmp/err" || die "cannot capture: $(cat "$tmp/err")"
    skip "no rights to capture (run it as root)"
    passed
fi
# The leak checker can't look into a program that became another user.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# said BYTES: the verdict and the first cause of the median gap that such a client publishes.
said() {
    "$tokaudit" capture -p "$port" --tail 20ms --sample-hz 0 -o "$tmp/$1.pcapng.gz" -- \
        python3 tests/support/block_reader.py "$port" "$1" >"$tmp/$1.claims" 2>"$tmp/err" || die "$1: $(cat "$tmp/err")"
    "$tokaudit" analyze "$tmp/$1.pcapng.gz" --claims "$tmp/$1.claims" --fail-on never --format json -o "$tmp/$1.json"
    python3 - "$tmp/$1.json" <<'PY'
import json, sys
c, = json.load(open(sys.argv[1]))["claims"]
first = c["causes"][0] if c["causes"] else {"id": "none", "fit": "none"}
print(c["verdict"], first["id"], first["fit"])
PY
}

serve ideal --profile replay/profiles/ideal.json
found=$(said 8192)
[ "$found" = "differs P46 number" ] || fail "read in blocks: $found, $(cat "$tmp/8192.claims")"
found=$(said 0)
case $found in
*P46*) fail "read line by line: $found, $(cat "$tmp/0.claims")" ;;
esac
passed
