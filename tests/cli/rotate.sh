#!/bin/sh
# rotate.sh TOKAUDIT: `capture --rotate`, live and of a capture, the chain between the files, and an exchange over
# their edges read as one.
set -u
. tests/support/cli.sh
broken=changed
wait_for() {
    tries=0
    until grep -q -e "$1" "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { fail "no '$1' in $2: $(cat "$2")"; return; }
        sleep 0.1
    done
}

# --- usage --------------------------------------------------------------------------------------

for wrong in 100 1.5 x 1x 10kB 500ms ''; do
    status 2 "$tokaudit" capture --rotate "$wrong" --read /dev/null -o "$tmp/none"
done
says 'as in 100MB or 10m'
status 2 "$tokaudit" capture --rotate 1MiB --read /dev/null -o -
says 'several files'

if ! command -v python3 >/dev/null; then
    skip "the rest: no python3"
    passed
fi

# --- of a capture: one long exchange, whose bytes do not compress --------------------------------

cat >"$tmp/make.py" <<'PY'
import os, struct, sys

packets, seq = [], {True: 1000, False: 5000}

def send(from_client, data, flags=0x18):
    a, b = ((b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 8000))[:: 1 if from_client else -1]
    tcp = struct.pack(">HHIIBBHHH", a[1], b[1], seq[from_client], seq[not from_client], 0x50, flags, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, a[0], b[0])
    packets.append(ip + tcp + data)
    seq[from_client] += len(data) + (flags & 3 != 0)

send(True, b"", 0x02); send(False, b"", 0x12); send(True, b"", 0x10)
send(True, b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n{"stream":true}')
send(False, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
def event(text):
    send(False, b"%x\r\n" % len(text) + text + b"\r\n")
EVENTS = 4000
for i in range(EVENTS):
    event(b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % os.urandom(400).hex().encode())
event(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\n'
      b'data: [DONE]\n\n' % EVENTS)
send(False, b"0\r\n\r\n"); send(True, b"", 0x11); send(False, b"", 0x11)
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
    for i, p in enumerate(packets):
        f.write(struct.pack("<IIII", 1796030400 + i // 1000, i % 1000 * 1000, len(p), len(p)) + p)
print(len(packets))
PY
packets=$(python3 "$tmp/make.py" "$tmp/one.pcap")
status 0 "$tokaudit" capture --read "$tmp/one.pcap" --rotate 1MiB -o "$tmp/run.pcapng.gz"
says 'run-00001.pcapng.gz \.\.\. .*run-0000[3-9].pcapng.gz: '
[ ! -e "$tmp/run.pcapng.gz" ] || fail "the name without a number was used, too"
parts=$(find "$tmp" -name 'run-0*' | wc -l)
[ "$parts" -ge 3 ] || fail "only $parts files"

status 0 "$tokaudit" verify "$tmp"/run-*.pcapng.gz
prints "parts 1 to $parts of a rotation"
prints "part 2 of a rotation, after run-00001.pcapng.gz with sha256 $(sha256sum "$tmp/run-00001.pcapng.gz" | cut -d' ' -f1)"
if grep -q 'goes on' "$tmp/out"; then fail "the last part goes on: $(cat "$tmp/out")"; fi
status 0 "$tokaudit" verify -q "$tmp"/run-*.pcapng.gz
[ ! -s "$tmp/out" ] || fail "-q printed $(cat "$tmp/out")"

# Each packet once, in its order: by Wireshark's reader, of the files joined, and of the source.
if command -v tshark >/dev/null; then
    for f in "$tmp/one.pcap" "$tmp"/run-*.pcapng.gz; do
        tshark -r "$f" -Y ip -T fields -e frame.time_epoch -e tcp.seq_raw -e tcp.len 2>"$tmp/err" >"$tmp/fields" ||
            fail "tshark does not read $f: $(cat "$tmp/err")"
        case $f in *.pcap) mv "$tmp/fields" "$tmp/expected" ;; *) cat "$tmp/fields" >>"$tmp/found" ;; esac
    done
    cmp "$tmp/expected" "$tmp/found" || fail "packets were lost, doubled or changed"
    [ "$(wc -l <"$tmp/found")" = "$packets" ] || fail "$(wc -l <"$tmp/found") packets of $packets"
else
    skip "the check by tshark: it is not installed"
fi

# --- the chain -----------------------------------------------------------------------------------

one=$tmp/run-00001.pcapng.gz two=$tmp/run-00002.pcapng.gz three=$tmp/run-00003.pcapng.gz
status 0 "$tokaudit" verify "$two"
prints 'part 2 of a rotation, after run-00001.pcapng.gz with sha256'
prints 'the rotation goes on in run-00003.pcapng.gz, which was not looked at'
status 0 "$tokaudit" verify "$two" "$three"
prints 'parts 2 to 3 of a rotation'
status 1 "$tokaudit" verify "$one" "$three"
prints 'run-00003.pcapng.gz: MISSING before it: part 2, run-00002.pcapng.gz with sha256'
status 1 "$tokaudit" verify "$two" "$one"
prints 'run-00002.pcapng.gz: OUT OF ORDER: part 2 goes behind part 1, which is .*run-00001.pcapng.gz'
mv "$one" "$tmp/renamed"
status 0 "$tokaudit" verify "$tmp/renamed" "$two"
mv "$tmp/renamed" "$one"
# Another first part, itself whole.
status 0 "$tokaudit" capture --read "$tmp/one.pcap" --rotate 1MiB -o "$tmp/other.pcapng.gz" --label other
status 1 "$tokaudit" verify -q "$tmp/other-00001.pcapng.gz" "$two" "$three"
prints 'run-00002.pcapng.gz: CHAIN BROKEN: part 2 was written after another file than .*other-00001.pcapng.gz'
# A changed byte breaks the file, and the chain behind it.
cp "$two" "$tmp/changed"
printf 'x' | dd of="$tmp/changed" bs=1 seek=20000 conv=notrunc 2>/dev/null
status 1 "$tokaudit" verify "$one" "$tmp/changed" "$three"
prints 'changed: BROKEN: member'
prints 'run-00003.pcapng.gz: CHAIN BROKEN'
status 1 "$tokaudit" verify "$one" "$tmp/one.pcap" "$three"
prints 'MISSING before it: part 2'

# --- read as one ---------------------------------------------------------------------------------

status 0 "$tokaudit" capture --read "$tmp/one.pcap" -o "$tmp/whole.pcapng.gz"
"$tokaudit" analyze --format json "$tmp/whole.pcapng.gz" >"$tmp/whole.json" || fail "analyze whole.pcapng.gz"
"$tokaudit" analyze --format json "$tmp"/run-*.pcapng.gz >"$tmp/parts.json" || fail "analyze run-*"
"$tokaudit" analyze --format json "$two" "$one" >"$tmp/apart.json" || fail "analyze two one"
python3 - "$tmp" "$parts" <<'PY' || fail "the parts give other figures than the whole"
import json, sys
def load(name): return json.load(open(sys.argv[1] + "/" + name))
whole, parts, apart = load("whole.json"), load("parts.json"), load("apart.json")
assert len(parts["traces"]) == 1 and len(whole["traces"]) == 1
assert len(parts["traces"][0]["files"]) == int(sys.argv[2]), parts["traces"][0]
assert parts["traces"][0]["complete"] and parts["traces"][0]["closed"]
assert parts["traces"][0]["packets"] == whole["traces"][0]["packets"]
assert len(whole["requests"]) == 1 and whole["requests"][0]["outcome"] == "success", whole["requests"]
for key in ("requests", "metrics", "runs"):
    assert whole[key] == parts[key], key
assert not any(f["id"] == "trace.part" for f in parts["findings"]), parts["findings"]
# Apart, each says what it is; the exchange that crosses the edge is not called whole.
assert len(apart["traces"]) == 2 and sum(f["id"] == "trace.part" for f in apart["findings"]) == 2, apart["findings"]
assert [r["outcome"] for r in apart["requests"]] == ["open"], apart["requests"]
PY
# Evidence names the file in which Wireshark shows it.
status 1 "$tokaudit" analyze --format json --claim ttft=60min "$tmp"/run-*.pcapng.gz
python3 - "$tmp/out" <<'PY' || fail "evidence of a rotation"
import json, sys
e = [e for c in json.load(open(sys.argv[1]))["claims"] for e in c["evidence"]]
assert e and all(e["file"].endswith(".pcapng.gz") for e in e), e
assert e[0]["file"].endswith("run-00001.pcapng.gz") and e[0]["packet"] < 10, e
PY
status 1 "$tokaudit" analyze --claim rate=1tok/s "$tmp"/run-*.pcapng.gz
prints "frame [0-9]* of run-0000$parts.pcapng.gz at"
status 2 "$tokaudit" analyze --claim ttft=60min --claim-trace 2 "$one" "$two"
says 'parts of a rotation'

# By the time of the packets.
status 0 "$tokaudit" capture --read "$tmp/one.pcap" --rotate 2s -o "$tmp/time.pcapng.gz"
status 0 "$tokaudit" verify "$tmp"/time-*.pcapng.gz
prints 'parts 1 to 3 of a rotation'
# A rotation copied is one again; what would be overwritten while it is read is not.
status 0 "$tokaudit" capture --read "$tmp"/run-*.pcapng.gz -o "$tmp/joined.pcapng.gz"
says "joined.pcapng.gz: $(printf %s "$packets" | sed 's/\(.*\)\(...\)$/\1,\2/') packets"
status 2 "$tokaudit" capture --read "$two" --rotate 1MiB -o "$tmp/run.pcapng.gz"
says 'run-00002.pcapng.gz would be read and written at once'
status 0 "$tokaudit" verify -q "$tmp"/run-*.pcapng.gz

# --- live ----------------------------------------------------------------------------------------

# The leak checker can't look into a program that became another user.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
if ! "$tokaudit" capture -p 1 --duration 1ms -o "$tmp/probe" 2>"$tmp/err"; then
    grep -q "no right to capture" "$tmp/err" || fail "cannot capture: $(cat "$tmp/err")"
    skip "all that captures: no rights here (run it as root)"
    passed
fi
cat >"$tmp/load.py" <<'PY'
import os, socket, struct, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
client = socket.create_connection(listener.getsockname())
out = listener.accept()[0]
for i in range(3000):
    out.sendall(struct.pack(">I", i) + os.urandom(1996))
    got = 0
    while got < 2000:
        got += len(client.recv(2000 - got))
PY
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
status 0 "$tokaudit" capture -p "$port" --redact none --rotate 1MiB -o "$tmp/live.pcapng.gz" -- python3 "$tmp/load.py" "$port"
says 'none dropped'
status 0 "$tokaudit" verify "$tmp"/live-*.pcapng.gz
prints 'parts 1 to [3-9] of a rotation'
for f in "$tmp"/live-*.pcapng.gz; do
    gzip -dc "$f"
done | python3 -c '
import json, re, struct, sys
data, next_one, stated, packets, sysinfo = sys.stdin.buffer.read(), 0, 0, 0, 0
while data:
    kind, n = struct.unpack_from("<II", data)
    block, data = data[:n], data[n:]
    sysinfo += block.count(b"\"sysinfo\"")
    if kind == 6:
        caplen, = struct.unpack_from("<I", block, 20)
        packet = block[28:28 + caplen]
        packets += 1
        payload = packet[34 + (packet[46] >> 4) * 4:]
        assert len(payload) in (0, 2000), len(payload)
        if payload:
            assert struct.unpack_from(">I", payload)[0] == next_one, (payload[:4], next_one)
            next_one += 1
    m = re.search(rb"{\"kind\":\"closing\".*}", block)
    if kind == 0xBAD and m:
        closing = json.loads(m[0])
        assert closing["received"] == closing["packets"] and closing["dropped"] == 0, closing
        stated += closing["packets"]
assert next_one == 3000, next_one
assert stated == packets, (stated, packets)
assert sysinfo >= 2, sysinfo # parts that last no tenth of a second have no sample
' || fail "packets were lost or doubled at an edge, or counts are wrong"

# By time, with nothing going on.
status 0 "$tokaudit" capture -p 1 --rotate 1s --duration 2500ms -o "$tmp/idle.pcapng.gz"
status 0 "$tokaudit" verify "$tmp"/idle-*.pcapng.gz
prints 'parts 1 to 3 of a rotation'

# Under sudo the later files are made without rights.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 711 "$tmp"
    mkdir -m 755 "$tmp/closed"
    status 4 env SUDO_UID=65534 SUDO_GID=65534 "$tokaudit" capture -p 1 --rotate 1s --duration 10ms -o "$tmp/closed/x"
    says 'the files that follow the first could not be created'
    mkdir -m 777 "$tmp/open"
    status 0 env SUDO_UID=65534 SUDO_GID=65534 "$tokaudit" capture -p 1 --rotate 1s --duration 1500ms -o "$tmp/open/x"
    [ "$(ls -n "$tmp/open" | awk 'NR > 1 { print $3, $9 }' | xargs)" = "65534 x-00001 65534 x-00002" ] ||
        fail "the files of a rotation under sudo: $(ls -ln "$tmp/open")"
fi

passed
