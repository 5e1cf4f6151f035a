#!/bin/sh
# import.sh TOKAUDIT: captures made into traces by `capture --read`: the copy gives the same figures as what it was
# made of; whatever cannot be used is named, with the exit status of its kind.
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
failures=0
fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

# status EXPECTED WORDS COMMAND...: its exit status, and what it says on stderr.
status() {
    expected=$1
    words=$2
    shift 2
    found=0
    "$@" >"$dir/stdout" 2>"$dir/stderr" </dev/null || found=$?
    [ $found = "$expected" ] || fail "$* ended with $found, expected $expected: $(cat "$dir/stderr")"
    grep -q -e "$words" "$dir/stderr" || fail "$*: nothing says '$words': $(cat "$dir/stderr")"
}

# same A B [KEY...]: both are the same run to `analyze`, but for their names, for frame numbers, and for KEYs.
same() {
    "$bin" analyze "$1" --format json >"$dir/a.json"
    "$bin" analyze "$2" --format json >"$dir/b.json"
    # shellcheck disable=SC2086 # several keys
    python3 - "$dir/a.json" "$dir/b.json" ${3:-} <<'END' || fail "$2 is not the same to analyze as $1"
import json, sys

PASSING = {'path', 'sha256', 'packet', 'link', 'redacted', 'vantage', 'complete', 'closed', 'tool', *sys.argv[3:]}


def strip(v):
    if isinstance(v, dict):
        return {k: strip(x) for k, x in v.items() if k not in PASSING}
    return [strip(x) for x in v] if isinstance(v, list) else v


a, b = (strip(json.load(open(p))) for p in sys.argv[1:3])
assert a['requests'], 'no requests'
for key in a.keys() | b.keys():
    if a.get(key) != b.get(key):
        print(f'{key}:\n  {json.dumps(a.get(key))[:2000]}\n  {json.dumps(b.get(key))[:2000]}', file=sys.stderr)
        sys.exit(1)
END
}

# A trace of ours, with its samples, ledger and clocks; then the copy's copy.
example=traces/examples/llama.cpp-smollm2-135m.pcapng.gz
status 0 'packets' "$bin" capture --read $example -o "$dir/copy.pcapng.gz"
same $example "$dir/copy.pcapng.gz"
status 0 'packets' "$bin" capture -r "$dir/copy.pcapng.gz" -o "$dir/again.pcapng.gz" --redact none
same $example "$dir/again.pcapng.gz"
"$bin" analyze $example | sed -n 2p >"$dir/a.txt"
"$bin" analyze "$dir/copy.pcapng.gz" | sed -n 2p >"$dir/b.txt"
cmp "$dir/a.txt" "$dir/b.txt" || fail "vantage, packets, drops or wholeness of the copy differ"

# Two traces of two machines are no machine whose clock was set; one whose clocks jump is.
python3 - traces/examples/collect-then-replay.pcapng.gz "$dir/elsewhere.pcapng.gz" "$dir/stepped.pcapng.gz" <<'END'
import gzip, re, sys

data = gzip.open(sys.argv[1]).read()
with gzip.open(sys.argv[2], 'wb') as f:
    f.write(re.sub(rb'("mono_ns":")(\d)', rb'\g<1>9', data))
with gzip.open(sys.argv[3], 'wb') as f:
    f.write(re.sub(rb'("mono_ns":")(\d)', rb'\g<1>9', data, count=1))
END
for second in elsewhere stepped; do
    status 0 'packets' "$bin" capture --read $example "$dir/$second.pcapng.gz" -o "$dir/both.pcapng.gz"
    "$bin" analyze "$dir/both.pcapng.gz" >"$dir/$second.txt"
done
grep -q 'clock was set' "$dir/elsewhere.txt" && fail "clocks of two machines were compared: $(cat "$dir/elsewhere.txt")"
grep -q 'clock was set' "$dir/stepped.txt" || fail "a step of the clock is lost in the copy: $(cat "$dir/stepped.txt")"

# A pcap of the same packets, in and out of a pipe, as it is and with its ports picked.
python3 tests/support/make_pcap.py $example "$dir/plain.pcap"
gzip -c "$dir/plain.pcap" >"$dir/plain.pcap.gz"
status 0 'packets' "$bin" capture --read "$dir/plain.pcap.gz" -o "$dir/from-pcap.pcapng.gz"
same "$dir/plain.pcap" "$dir/from-pcap.pcapng.gz"
"$bin" analyze "$dir/from-pcap.pcapng.gz" | grep -q 'vantage import' || fail "the copy of a pcap does not say 'import'"
"$bin" capture --read - -o - <"$dir/plain.pcap" 2>"$dir/stderr" | cat >"$dir/piped.pcapng.gz"
same "$dir/plain.pcap" "$dir/piped.pcapng.gz"
port=$(python3 tests/support/make_pcap.py --port $example)
status 0 'packets' "$bin" capture --read "$dir/plain.pcap" -p "$port" -o "$dir/port.pcapng.gz"
same "$dir/plain.pcap" "$dir/port.pcapng.gz"
status 0 ' left out' "$bin" capture --read "$dir/plain.pcap" -p 1 -o "$dir/none.pcapng.gz"
"$bin" analyze "$dir/none.pcapng.gz" | grep -q 'nothing to audit' || fail "port 1 has requests"
status 0 'packets' "$bin" capture --read "$dir/plain.pcap" --label mine -o "$dir/label.pcapng.gz"
"$bin" analyze "$dir/label.pcapng.gz" --format json | grep -q '"label": "mine"' || fail "--label is not in the copy"

# Two halves of a capture, as a ring of files has them.
python3 tests/support/make_pcap.py $example "$dir/half" 2
status 0 'packets' "$bin" capture --read "$dir/half.1" "$dir/half.2" -o "$dir/joined.pcapng.gz"
same "$dir/plain.pcap" "$dir/joined.pcapng.gz"

# Damage is used for what it holds; what is no capture is named.
size=$(wc -c <"$dir/plain.pcap")
head -c $((size - 7)) "$dir/plain.pcap" >"$dir/cut.pcap"
status 0 'cut short or damaged, used for what is there' "$bin" capture -r "$dir/cut.pcap" -o "$dir/cut.pcapng.gz"
"$bin" analyze "$dir/cut.pcapng.gz" | tr -s ' \n' ' ' | grep -q 'not whole.*is cut short, and what it holds was used' ||
    fail "the copy of a truncated capture does not say so"
status 0 'missing.pcap' "$bin" capture --read "$dir/missing.pcap" "$dir/plain.pcap" -o "$dir/x.pcapng.gz"
status 3 'missing.pcap' "$bin" capture --read "$dir/missing.pcap" -o "$dir/nothing.pcapng.gz"
status 3 'not a capture' "$bin" capture --read README.md -o "$dir/nothing.pcapng.gz"
[ ! -e "$dir/nothing.pcapng.gz" ] || fail "a trace was made of nothing"
status 4 'nowhere' "$bin" capture --read "$dir/plain.pcap" -o "$dir/nowhere/x.pcapng.gz"

# What has no meaning for packets that are there already.
status 2 'not go with --read: it is compiled' "$bin" capture --read "$dir/plain.pcap" --filter tcp -o "$dir/x.pcapng.gz"
status 2 'COMMAND' "$bin" capture --read "$dir/plain.pcap" -o "$dir/x.pcapng.gz" -- true
status 2 'recording' "$bin" capture --read "$dir/plain.pcap" -i lo -o "$dir/x.pcapng.gz"
status 2 'recording' "$bin" capture --read "$dir/plain.pcap" --snaplen 96 -o "$dir/x.pcapng.gz"
status 2 'read and written' "$bin" capture --read "$dir/plain.pcap" -o "$dir/plain.pcap"
status 2 'a port from 1' "$bin" capture --read "$dir/plain.pcap" -p 0 -o "$dir/x.pcapng.gz"
[ "$(wc -c <"$dir/plain.pcap")" = "$size" ] || fail "a refused import wrote into its source"

# A machine that recorded two interfaces, through both of which every packet went: no retransmissions (C13).
python3 tests/support/make_pcap.py --twice $example "$dir/twice.pcapng"
same "$dir/plain.pcap" "$dir/twice.pcapng" 'packets findings'
"$bin" analyze "$dir/twice.pcapng" | tr -s ' \n' ' ' | grep -q '2768 of 5536 packets had been seen at another interface' ||
    fail "twins are not counted"
status 0 '2,768 packets, .* 2,768 left out' "$bin" capture --read "$dir/twice.pcapng" -o "$dir/twice.pcapng.gz"
same "$dir/plain.pcap" "$dir/twice.pcapng.gz"

# Link types: several become raw IP, but not from a pipe; those that nobody reads are named.
python3 tests/support/make_pcap.py --links 113 $example "$dir/mixed.pcapng"
status 0 'packets' "$bin" capture --read "$dir/mixed.pcapng" -o "$dir/mixed.pcapng.gz"
same "$dir/plain.pcap" "$dir/mixed.pcapng.gz"
found=0
"$bin" capture --read - -o "$dir/x.pcapng.gz" <"$dir/mixed.pcapng" 2>"$dir/stderr" || found=$?
[ $found = 3 ] || fail "two link types from a pipe: exit status $found"
grep -q 'save it to a file' "$dir/stderr" || fail "two link types from a pipe: $(cat "$dir/stderr")"
python3 tests/support/make_pcap.py --links 105 $example "$dir/wireless.pcapng"
"$bin" analyze "$dir/wireless.pcapng" >"$dir/stdout"
tr -s ' \n' ' ' <"$dir/stdout" | grep -q '1384 of 2768 packets are of link type IEEE 802.11 (105)' ||
    fail "unread packets are not named: $(cat "$dir/stdout")"

if command -v tshark >/dev/null 2>&1; then
    for copy in copy from-pcap mixed joined; do
        tshark -r "$dir/$copy.pcapng.gz" -Y tcp -T fields -e frame.number >"$dir/frames" 2>"$dir/stderr" ||
            fail "tshark can't read $copy: $(cat "$dir/stderr")"
        [ "$(wc -l <"$dir/frames")" = 2768 ] || fail "tshark sees $(wc -l <"$dir/frames") TCP packets in $copy, not 2768"
    done
else
    echo "SKIP: tshark is not installed: the copies are not held against it" >&2
fi

# Captures of others: none crashes, each is read or refused in one clear line.
if [ -n "${TOKAUDIT_CORPORA:-}" ]; then
    find "$TOKAUDIT_CORPORA" -name '*.pcap' -o -name '*.pcapng' | sort >"$dir/list"
    [ "$(wc -l <"$dir/list")" -ge 193 ] || fail "only $(wc -l <"$dir/list") captures in $TOKAUDIT_CORPORA"
    tr '\n' '\0' <"$dir/list" | xargs -0 "$bin" analyze >"$dir/stdout" 2>"$dir/stderr" ||
        fail "analyze of every capture: $(cat "$dir/stderr")"
    [ "$(wc -l <"$dir/stderr")" = 2 ] || fail "analyze refuses other captures than two: $(cat "$dir/stderr")"
    cp "$dir/stderr" "$dir/refused"
    tr '\n' '\0' <"$dir/list" | xargs -0 "$bin" capture -o "$dir/all.pcapng.gz" --read >"$dir/stdout" 2>"$dir/stderr" ||
        fail "a copy of every capture: $(cat "$dir/stderr")"
    head -n 2 "$dir/stderr" | cmp - "$dir/refused" || fail "analyze and capture --read refuse others"
    "$bin" analyze "$dir/all.pcapng.gz" >"$dir/stdout" || fail "the copy of every capture can't be analyzed"
else
    echo "SKIP: TOKAUDIT_CORPORA is not set: the captures of others were not read" >&2
fi
[ $failures = 0 ] || exit 1
echo "import: ok"
