#!/bin/sh
# memory.sh TOKAUDIT: claims of any size, and a server-sent event of 10 MB, take little memory and little time. By hand, of a
# gigabyte of claims: tests/support/claims_memory.py TOKAUDIT 1000.
set -eu
. tests/support/cli.sh

command -v python3 >/dev/null || { skip "no python3"; passed; }
# What a sanitizer keeps of freed memory is no memory of ours.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=2
export ASAN_OPTIONS

python3 "$support/claims_memory.py" "$tokaudit" 10 >"$tmp/claims" || fail "claims: $(cat "$tmp/claims")"

# Of the same stream, once with an event of 10 MB, once with one of 10 kB between the others: as many escapes as there can be.
cat >"$tmp/make.py" <<'PY'
import struct, sys

packets, seq = [], {True: 1000, False: 5000}

def send(from_client, data, flags=0x18):
    a, b = ((b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 8000))[:: 1 if from_client else -1]
    for at in range(0, max(len(data), 1), 60000):
        part = data[at:at + 60000]
        tcp = struct.pack(">HHIIBBHHH", a[1], b[1], seq[from_client], seq[not from_client], 0x50, flags, 65535, 0, 0)
        packets.append(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(part), 0, 0, 64, 6, 0, a[0], b[0]) + tcp + part)
        seq[from_client] += len(part)
    seq[from_client] += flags & 3 != 0

def event(text):
    send(False, b"%x\r\n" % len(text) + text + b"\r\n")

def content(text):
    event(b'data: {"choices":[{"delta":{"content":"' + text + b'"}}]}\n\n')

send(True, b"", 0x02); send(False, b"", 0x12); send(True, b"", 0x10)
send(True, b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n{"stream":true}')
send(False, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
for i in range(20):
    content(b"owl ")
content(b"\\u00e4\\n\\ud83e\\udd89" * (int(sys.argv[2]) // 20))
for i in range(20):
    content(b"owl ")
event(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":41}}\n\n'
      b'data: [DONE]\n\n')
send(False, b"0\r\n\r\n"); send(True, b"", 0x11); send(False, b"", 0x11)
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
    for i, p in enumerate(packets):
        f.write(struct.pack("<IIII", 1796030400 + i // 1000, i % 1000 * 1000, len(p), len(p)) + p)
PY
cat >"$tmp/peak.py" <<'PY'
import os, sys
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss // 1024)
sys.exit(os.waitstatus_to_exitcode(status))
PY
peak() { # BYTES: of the event; its peak memory in MiB in $found
    python3 "$tmp/make.py" "$tmp/$1.pcap" "$1"
    found=$(python3 "$tmp/peak.py" "$tokaudit" analyze "$tmp/$1.pcap" --requests --format json -o "$tmp/$1.json") ||
        fail "analyze of an event of $1 bytes"
    grep -q '"outcome": *"success"' "$tmp/$1.json" || fail "$1: no success: $(cat "$tmp/$1.json")"
    grep -q '"events": *41' "$tmp/$1.json" || fail "$1: not all 41 events: $(cat "$tmp/$1.json")"
}
peak 10000
small=$found
peak 10000000
[ "$found" -le $((small + 64)) ] || fail "an event of 10 MB: $found MiB, and $small MiB with one of 10 kB"
echo "memory.sh: an event of 10 MB: $found MiB, $small MiB with one of 10 kB"
passed
