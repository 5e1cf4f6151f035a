#!/bin/sh
# import.sh TOKAUDIT: captures made into traces by `capture --read`: the copy gives the same figures as what it was
# made of; whatever cannot be used is named, with the exit status of its kind.
set -eu
. tests/support/cli.sh
broken="elsewhere.pcapng.gz stepped.pcapng.gz"

# status EXPECTED WORDS COMMAND...: its exit status, and what it says on stderr.
status() {
    expected=$1
    words=$2
    shift 2
    found=0
    "$@" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null || found=$?
    [ $found = "$expected" ] || fail "$* ended with $found, expected $expected: $(cat "$tmp/stderr")"
    grep -q -e "$words" "$tmp/stderr" || fail "$*: nothing says '$words': $(cat "$tmp/stderr")"
}

# same A B [KEY...]: both are the same run to `analyze`, but for their names, for frame numbers, and for KEYs.
same() {
    "$tokaudit" analyze "$1" --format json >"$tmp/a.json"
    "$tokaudit" analyze "$2" --format json >"$tmp/b.json"
    # shellcheck disable=SC2086 # several keys
    python3 - "$tmp/a.json" "$tmp/b.json" ${3:-} <<'END' || fail "$2 is not the same to analyze as $1"
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
status 0 'packets' "$tokaudit" capture --read $example -o "$tmp/copy.pcapng.gz"
same $example "$tmp/copy.pcapng.gz"
status 0 'packets' "$tokaudit" capture -r "$tmp/copy.pcapng.gz" -o "$tmp/again.pcapng.gz" --redact none
same $example "$tmp/again.pcapng.gz"
"$tokaudit" analyze $example | sed -n 2p >"$tmp/a.txt"
"$tokaudit" analyze "$tmp/copy.pcapng.gz" | sed -n 2p >"$tmp/b.txt"
cmp "$tmp/a.txt" "$tmp/b.txt" || fail "vantage, packets, drops or wholeness of the copy differ"

# Two traces of two machines are no machine whose clock was set; one whose clocks jump is.
python3 - traces/examples/collect-then-replay.pcapng.gz "$tmp/elsewhere.pcapng.gz" "$tmp/stepped.pcapng.gz" <<'END'
import gzip, re, sys

data = gzip.open(sys.argv[1]).read()
with gzip.open(sys.argv[2], 'wb') as f:
    f.write(re.sub(rb'("mono_ns":")(\d)', rb'\g<1>9', data))
with gzip.open(sys.argv[3], 'wb') as f:
    f.write(re.sub(rb'("mono_ns":")(\d)', rb'\g<1>9', data, count=1))
END
for second in elsewhere stepped; do
    status 0 'packets' "$tokaudit" capture --read $example "$tmp/$second.pcapng.gz" -o "$tmp/both.pcapng.gz"
    "$tokaudit" analyze "$tmp/both.pcapng.gz" >"$tmp/$second.txt"
done
grep -q 'clock was set' "$tmp/elsewhere.txt" && fail "clocks of two machines were compared: $(cat "$tmp/elsewhere.txt")"
grep -q 'clock was set' "$tmp/stepped.txt" || fail "a step of the clock is lost in the copy: $(cat "$tmp/stepped.txt")"

# A pcap of the same packets, in and out of a pipe, as it is and with its ports picked.
python3 tests/support/make_pcap.py $example "$tmp/plain.pcap"
gzip -c "$tmp/plain.pcap" >"$tmp/plain.pcap.gz"
status 0 'packets' "$tokaudit" capture --read "$tmp/plain.pcap.gz" -o "$tmp/from-pcap.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/from-pcap.pcapng.gz"
"$tokaudit" analyze "$tmp/from-pcap.pcapng.gz" | grep -q 'vantage import' || fail "the copy of a pcap does not say 'import'"
"$tokaudit" capture --read - -o - <"$tmp/plain.pcap" 2>"$tmp/stderr" | cat >"$tmp/piped.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/piped.pcapng.gz"
port=$(python3 tests/support/make_pcap.py --port $example)
status 0 'packets' "$tokaudit" capture --read "$tmp/plain.pcap" -p "$port" -o "$tmp/port.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/port.pcapng.gz"
status 0 ' left out' "$tokaudit" capture --read "$tmp/plain.pcap" -p 1 -o "$tmp/none.pcapng.gz"
"$tokaudit" analyze "$tmp/none.pcapng.gz" | grep -q 'nothing to audit' || fail "port 1 has requests"
status 0 'packets' "$tokaudit" capture --read "$tmp/plain.pcap" --label mine -o "$tmp/label.pcapng.gz"
"$tokaudit" analyze "$tmp/label.pcapng.gz" --format json | grep -q '"label": "mine"' || fail "--label is not in the copy"

# Two halves of a capture, as a ring of files has them.
python3 tests/support/make_pcap.py $example "$tmp/half" 2
status 0 'packets' "$tokaudit" capture --read "$tmp/half.1" "$tmp/half.2" -o "$tmp/joined.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/joined.pcapng.gz"

# Damage is used for what it holds; what is no capture is named.
size=$(wc -c <"$tmp/plain.pcap")
head -c $((size - 7)) "$tmp/plain.pcap" >"$tmp/cut.pcap"
status 0 'cut short or damaged, used for what is there' "$tokaudit" capture -r "$tmp/cut.pcap" -o "$tmp/cut.pcapng.gz"
"$tokaudit" analyze "$tmp/cut.pcapng.gz" | tr -s ' \n' ' ' | grep -q 'not whole.*is cut short, and what it holds was used' ||
    fail "the copy of a truncated capture does not say so"
status 0 'missing.pcap' "$tokaudit" capture --read "$tmp/missing.pcap" "$tmp/plain.pcap" -o "$tmp/x.pcapng.gz"
status 3 'missing.pcap' "$tokaudit" capture --read "$tmp/missing.pcap" -o "$tmp/nothing.pcapng.gz"
status 3 'not a capture' "$tokaudit" capture --read README.md -o "$tmp/nothing.pcapng.gz"
[ ! -e "$tmp/nothing.pcapng.gz" ] || fail "a trace was made of nothing"
status 4 'nowhere' "$tokaudit" capture --read "$tmp/plain.pcap" -o "$tmp/nowhere/x.pcapng.gz"

# What has no meaning for packets that are there already.
status 2 'not go with --read: it is compiled' "$tokaudit" capture --read "$tmp/plain.pcap" --filter tcp -o "$tmp/x.pcapng.gz"
status 2 'COMMAND' "$tokaudit" capture --read "$tmp/plain.pcap" -o "$tmp/x.pcapng.gz" -- true
status 2 'recording' "$tokaudit" capture --read "$tmp/plain.pcap" -i lo -o "$tmp/x.pcapng.gz"
status 2 'recording' "$tokaudit" capture --read "$tmp/plain.pcap" --snaplen 96 -o "$tmp/x.pcapng.gz"
status 2 'read and written' "$tokaudit" capture --read "$tmp/plain.pcap" -o "$tmp/plain.pcap"
status 2 'a port from 1' "$tokaudit" capture --read "$tmp/plain.pcap" -p 0 -o "$tmp/x.pcapng.gz"
[ "$(wc -c <"$tmp/plain.pcap")" = "$size" ] || fail "a refused import wrote into its source"

# A machine that recorded two interfaces, through both of which every packet went: no retransmissions (C13).
python3 tests/support/make_pcap.py --twice $example "$tmp/twice.pcapng"
same "$tmp/plain.pcap" "$tmp/twice.pcapng" 'packets findings'
"$tokaudit" analyze "$tmp/twice.pcapng" | tr -s ' \n' ' ' | grep -q '2768 of 5536 packets had been seen at another interface' ||
    fail "twins are not counted"
status 0 '2,768 packets, .* 2,768 left out' "$tokaudit" capture --read "$tmp/twice.pcapng" -o "$tmp/twice.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/twice.pcapng.gz"

# Link types: several become raw IP, but not from a pipe; those that nobody reads are named.
python3 tests/support/make_pcap.py --links 113 $example "$tmp/mixed.pcapng"
status 0 'packets' "$tokaudit" capture --read "$tmp/mixed.pcapng" -o "$tmp/mixed.pcapng.gz"
same "$tmp/plain.pcap" "$tmp/mixed.pcapng.gz"
found=0
"$tokaudit" capture --read - -o "$tmp/x.pcapng.gz" <"$tmp/mixed.pcapng" 2>"$tmp/stderr" || found=$?
[ $found = 3 ] || fail "two link types from a pipe: exit status $found"
grep -q 'save it to a file' "$tmp/stderr" || fail "two link types from a pipe: $(cat "$tmp/stderr")"
python3 tests/support/make_pcap.py --links 105 $example "$tmp/wireless.pcapng"
"$tokaudit" analyze "$tmp/wireless.pcapng" >"$tmp/stdout"
tr -s ' \n' ' ' <"$tmp/stdout" | grep -q '1384 of 2768 packets are of link type IEEE 802.11 (105)' ||
    fail "unread packets are not named: $(cat "$tmp/stdout")"

if command -v tshark >/dev/null 2>&1; then
    for copy in copy from-pcap mixed joined; do
        tshark -r "$tmp/$copy.pcapng.gz" -Y tcp -T fields -e frame.number >"$tmp/frames" 2>"$tmp/stderr" ||
            fail "tshark can't read $copy: $(cat "$tmp/stderr")"
        [ "$(wc -l <"$tmp/frames")" = 2768 ] || fail "tshark sees $(wc -l <"$tmp/frames") TCP packets in $copy, not 2768"
    done
else
    skip "tshark is not installed: the copies are not held against it"
fi

# Captures of others: none crashes, each is read or refused in one clear line.
if [ -n "${TOKAUDIT_CORPORA:-}" ]; then
    find "$TOKAUDIT_CORPORA" -name '*.pcap' -o -name '*.pcapng' | sort >"$tmp/list"
    [ "$(wc -l <"$tmp/list")" -ge 193 ] || fail "only $(wc -l <"$tmp/list") captures in $TOKAUDIT_CORPORA"
    tr '\n' '\0' <"$tmp/list" | xargs -0 "$tokaudit" analyze >"$tmp/stdout" 2>"$tmp/stderr" ||
        fail "analyze of every capture: $(cat "$tmp/stderr")"
    [ "$(wc -l <"$tmp/stderr")" = 2 ] || fail "analyze refuses other captures than two: $(cat "$tmp/stderr")"
    cp "$tmp/stderr" "$tmp/refused"
    tr '\n' '\0' <"$tmp/list" | xargs -0 "$tokaudit" capture -o "$tmp/all.pcapng.gz" --read >"$tmp/stdout" 2>"$tmp/stderr" ||
        fail "a copy of every capture: $(cat "$tmp/stderr")"
    head -n 2 "$tmp/stderr" | cmp - "$tmp/refused" || fail "analyze and capture --read refuse others"
    "$tokaudit" analyze "$tmp/all.pcapng.gz" >"$tmp/stdout" || fail "the copy of every capture can't be analyzed"
else
    skip "TOKAUDIT_CORPORA is not set: the captures of others were not read"
fi
passed
