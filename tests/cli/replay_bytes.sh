#!/bin/sh
# replay_bytes.sh TOKAUDIT: requests that no client of ours would make, in a capture made here packet by packet, are replayed to
# a socket that keeps what comes: the same bytes, but for host, credentials and what the closing words name; and what is not
# whole is not sent, and named with its frame. Then the example traces.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

cat >"$tmp/capture.py" <<'PY'
"""capture.py FILE: a pcap file of made connections to 10.0.0.2:8000; frames are counted as they are written."""
import struct, sys
out = open(sys.argv[1], "wb")
out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101)) # nanoseconds, raw IP
frame, t = 0, 1_800_000_000_000_000_000
frames = {}

def packet(port, to_server, seq, ack, flags, data=b""):
    global frame, t
    frame, t = frame + 1, t + 5_000_000
    ports = (port, 8000) if to_server else (8000, port)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0,
                     *([bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])][::1 if to_server else -1]))
    out.write(struct.pack("<IIII", t // 10**9, t % 10**9, len(ip + tcp), len(ip + tcp)) + ip + tcp)

class Conn:
    def __init__(self, port):
        self.port, self.c, self.s = port, 1000, 5000
        packet(port, True, 999, 0, 0x02)
        packet(port, False, 4999, 1000, 0x12)
    def send(self, data, name=None, lose=False):
        if name:
            frames[name] = frame + 1
        if not lose:
            packet(self.port, True, self.c, self.s, 0x18, data)
        self.c += len(data)
    def answer(self, data=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
        packet(self.port, False, self.s, self.c, 0x18, data)
        self.s += len(data)

a = Conn(40001)
a.send(b"POST /v1/chat?mode=x&api_key=abc&n=1 HTTP/1.1\r\nhOST: old.example:8000\r\nX-Latin: caf\xe9\xff\r\n"
       b"Authorization: ******\r\nX-Twice: 1\r\nx-api-key: sk-secret\r\nX-Twice: 2\r\nX-Empty:\r\nContent-Length: 35\r\n\r\n"
       b'{ "model" : "a", "x": "\xc3\xa9\\u0041\xff" }')
a.answer()
a.send(b"POST /chunks HTTP/1.1\r\nHost: old.example:8000\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
a.answer()
a.send(b"GET http://other.example/v1/models?q HTTP/1.1\r\nHost: other.example\r\nCookie: a=b\r\n\r\n")
a.answer()
b = Conn(40002)
b.send(b"POST /gap HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n0123456789", "gap")
b.send(b"0123456789", lose=True)
b.send(b"0123456789")
b.answer()
c = Conn(40003)
c.send(b"CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n", "tunnel")
c.answer(b"HTTP/1.1 200 OK\r\n\r\n")
d = Conn(40004)
d.send(b"POST /last HTTP/1.1\r\nHost: old.example:8000\r\nContent-Length: 16\r\n\r\n{\"model\":\"a\"}   ")
d.answer()
e = Conn(40005)
e.send(b"POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nshort", "cut")
print(" ".join(str(frames[k]) for k in ("gap", "tunnel", "cut")))
PY
frames=$(python3 "$tmp/capture.py" "$tmp/made.pcap") || die "the capture was not made"
# shellcheck disable=SC2086 # words are wanted
set -- $frames
gap=$1 tunnel=$2 cut=$3

cat >"$tmp/server.py" <<'PY'
"""server.py PORTFILE OUT: keeps the bytes of each connection, and answers each request that is whole."""
import json, os, socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
kept, lock = [], threading.Lock()

def save():
    with lock, open(sys.argv[2], "w") as f:
        json.dump([bytes(k).decode("latin-1") for k in kept], f)

def serve(s, k):
    at = 0
    while True:
        data = s.recv(65536)
        if not data:
            return
        k += data
        while (head := k.find(b"\r\n\r\n", at)) >= 0:
            fields = bytes(k[at:head]).lower()
            n = int(fields.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in fields else 0
            end = k.find(b"0\r\n\r\n", head + 4) + 5 if b"transfer-encoding" in fields else head + 4 + n
            if end > len(k):
                break
            at = end
            save()
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

open(sys.argv[1] + ".new", "w").write(str(listener.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    s, _ = listener.accept()
    kept.append(bytearray())
    threading.Thread(target=serve, args=(s, kept[-1]), daemon=True).start()
PY
listen() { # NAME: $port; what comes is in $tmp/NAME.json
    python3 "$tmp/server.py" "$tmp/$1.port" "$tmp/$1.json" &
    pids="$pids $!"
    until [ -s "$tmp/$1.port" ]; do
        kill -0 "$!" || die "no server"
        sleep 0.05
    done
    port=$(cat "$tmp/$1.port")
}

cat >"$tmp/check.py" <<'PY'
"""check.py KEPT AUTHORITY MODEL|'' EXTRA: what came, against what should."""
import json, sys
kept = [k for k in json.load(open(sys.argv[1])) if k] # a connection to see whether the target is there sends nothing
host, model, extra = sys.argv[2], sys.argv[3], sys.argv[4] + "\r\n" if sys.argv[4] else ""
body = '{ "model" : "a", "x": "\xc3\xa9\\u0041\xff" }'
last = '{"model":"a"}   '
if model:
    body, last = body.replace('"a"', json.dumps(model)), last.replace('"a"', json.dumps(model))
first = (f"POST /v1/chat?mode=x&n=1 HTTP/1.1\r\nhOST: {host}\r\nX-Latin: caf\xe9\xff\r\n"
         f"X-Twice: 1\r\nX-Twice: 2\r\nX-Empty: \r\nContent-Length: {len(body)}\r\n{extra}\r\n{body}"
         f"POST /chunks HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n{extra}\r\n5\r\nabcde\r\n0\r\n\r\n"
         f"GET /v1/models?q HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n")
second = f"POST /last HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(last)}\r\n{extra}\r\n{last}"
assert kept == [first, second], (kept, first, second)
PY

listen plain
status 0 "$tokaudit" replay "$tmp/made.pcap" --mode closed --target "http://127.0.0.1:$port" -o "$tmp/plain.pcapng.gz"
prints '^requests    4 of 4 answered'
prints "replaced    Host old.example:8000 and others by 127.0.0.1:$port (4 requests)"
prints 'replaced    the whole URL, as for a proxy, by its path (1 request)'
prints 'replaced    the chunks of a body by one (1 request)'
prints 'replaced    left out: Authorization, x-api-key, Cookie (2 requests)'
prints 'replaced    left out: credentials in the query (1 request)'
prints "replaced    not sent: frame $gap (1 of 7 recorded requests): bytes of it were not captured"
prints "replaced    not sent: frame $tunnel (1 of 7 recorded requests): it made a tunnel"
prints "replaced    not sent: frame $cut (1 of 7 recorded requests): its end was not seen"
python3 "$tmp/check.py" "$tmp/plain.json" "127.0.0.1:$port" '' '' || fail "other bytes"

# By way of the plan, with a model and a field of one's own.
listen other
status 0 "$tokaudit" replay "$tmp/made.pcap" --mode closed --plan -o "$tmp/made.plan"
! grep -q -e sk-secret -e 'a=b' "$tmp/made.plan" || fail "a credential is in the plan"
status 0 "$tokaudit" replay "$tmp/made.plan" --model 'b "c"' -H 'X-Mine: 7' --target "http://127.0.0.1:$port" -o "$tmp/other.pcapng.gz"
prints 'model a by b "c", Content-Length with it (2 requests)'
prints 'no model, where a body names none or has a coding (1 request)'
python3 "$tmp/check.py" "$tmp/other.json" "127.0.0.1:$port" 'b "c"' 'X-Mine: 7' || fail "other bytes by way of the plan"

# Bodies that were overwritten are not sent; requests without one are.
"$tokaudit" capture --read "$tmp/made.pcap" --redact bodies -o "$tmp/redacted.pcapng.gz" >"$tmp/out" 2>"$tmp/err" || fail "redact"
status 0 "$tokaudit" replay "$tmp/redacted.pcapng.gz" --plan
[ "$(grep -c . "$tmp/out")" = 1 ] && grep -q '"path":"/v1/models?q"' "$tmp/out" || fail "of a redacted trace: $(cat "$tmp/out")"

# No request at all.
python3 -c 'import struct; open("'"$tmp"'/none.pcap", "wb").write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101))'
status 3 "$tokaudit" replay "$tmp/none.pcap" --plan
says 'no HTTP request in it'

# The examples: the same bodies again, from a server that plays the recorded answers.
for example in traces/examples/*.pcapng.gz; do
    n=$("$tokaudit" analyze --format json "$example" | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["requests"]))')
    serve "$(basename "$example")" "$example" --as-fast-as-possible
    status 0 "$tokaudit" replay "$example" --mode barrier --speed 1000 --target "http://127.0.0.1:$port" -o "$tmp/example.pcapng.gz"
    prints "^requests    $n of $n answered"
    python3 - "$tmp/example.pcapng.gz" "$example" <<'PY' || fail "$example: other requests"
import sys
sys.path.insert(0, "tests/support")
from ledger import ledger
again, then = ledger(sys.argv[1]), ledger(sys.argv[2])
named = [e for e in again if e["workload"] != "trace"]  # not what its ledger did not know of, such as GET /v1/models
if then:
    said = [sorted((e["workload"], e["name"], e["repeat"], "group" in e) for e in es) for es in (named, then)]
    assert said[0] == said[1], said
assert all(e["status"] == 200 for e in again), [e["status"] for e in again]
PY
done
passed
