#!/bin/sh
# naive_python.sh TOKAUDIT: ten lines of Python (tests/support/naive.py) against a server that generates first and streams
# afterwards publish a rate of thousands; the audit of each of 20 such runs names why (P43), and confirms what the same lines
# say of a server that streams. Held against a real stack by tests/real/stacks.sh.
set -eu
. tests/support/cli.sh
runs=20

command -v python3 >/dev/null || { skip "no python3"; passed; }
if ! "$tokaudit" capture -p 9 --duration 1ms --sample-hz 0 -o "$tmp/try.pcapng.gz" 2>"$tmp/err"; then
    grep -q 'no right to capture' "$tmp/err" || die "cannot capture: $(cat "$tmp/err")"
    skip "no rights to capture (run it as root)"
    passed
fi
# The leak checker can't look into a program that became another user.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# Quick ones: 400 tok/s. An event of the burst costs the collecting server 71 us, as the profile says.
fast='s/"decode_tps": 60/"decode_tps": 400/; s/"prefill_tps": 2000/"prefill_tps": 20000/'
sed "$fast" replay/profiles/collect-then-replay.json >"$tmp/collect.json"
sed "$fast; s/\"usage\": \"asked\"/\"usage\": \"always\"/" replay/profiles/ideal.json >"$tmp/ideal.json"

# run NAME PORT: one run under capture, and its audit, in $tmp/NAME.json. What such a server can make at most is said, since a
# busy machine may stretch a burst of 3 ms until a very fast server could have made it so.
run() {
    "$tokaudit" capture -p "$2" --tail 20ms --sample-hz 0 -o "$tmp/$1.pcapng.gz" -- python3 tests/support/naive.py "$2" \
        >"$tmp/$1.claims" 2>"$tmp/err" || die "$1: $(cat "$tmp/err")"
    "$tokaudit" analyze "$tmp/$1.pcapng.gz" --claims "$tmp/$1.claims" --max-rate 1000 --fail-on never --format json \
        -o "$tmp/$1.json"
}
# Its verdict, the first cause and how that fits.
verdict() {
    python3 - "$tmp/$1.json" "$tmp/$1.claims" <<'PY'
import json, sys
c, = json.load(open(sys.argv[1]))["claims"]
said = json.load(open(sys.argv[2]))["value"]
assert c["claimed"] == said, (c, said)
first = c["causes"][0] if c["causes"] else {"id": "none", "fit": "none"}
print(c["verdict"], first["id"], first["fit"], "phantom" if said > 2000 else "plausible")
PY
}

# A run in which this machine stretched the burst publishes no phantom, and is made again.
serve collect --profile "$tmp/collect.json"
named=0 done=0 tries=0
while [ $done -lt $runs ] && [ $tries -lt $((3 * runs)) ]; do
    tries=$((tries + 1))
    run collect "$port"
    found=$(verdict collect)
    case $found in
    *plausible) continue ;;
    "differs P43 sign phantom") named=$((named + 1)) ;;
    *) echo "naive_python.sh: run $tries: $found, $(cat "$tmp/collect.claims")" >&2 ;;
    esac
    done=$((done + 1))
done
[ $done = $runs ] || fail "only $done of $tries runs published a phantom"
[ $named = $done ] || fail "P43 was named in $named of $done runs"

serve ideal --profile "$tmp/ideal.json"
run ideal "$port"
case $(verdict ideal) in
*P43*) fail "P43 of a server that streams: $(cat "$tmp/ideal.claims")" ;;
*phantom) fail "a phantom of a server that streams: $(cat "$tmp/ideal.claims")" ;;
esac
grep -q '"id": "stream\.' "$tmp/ideal.json" && fail "a finding about streams of a server that streams"
passed
