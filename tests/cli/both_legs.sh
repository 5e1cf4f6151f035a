#!/bin/sh
# both_legs.sh TOKAUDIT: a trace with both legs of a proxy holds each request once, and lists its inner leg with it; the same
# prompt sent to two servers at once (the near miss) is two requests. The last reply has no end in the trace: what ends with
# its last text is not measurable.
set -eu
. tests/support/cli.sh
if ! command -v python3 >/dev/null 2>&1; then
    skip "there is no python3 here: no capture was made"
    exit 0
fi

# make_capture LATE HOW: five prompts sent to port 8000 and 1 ms later to 8001. HOW is "stream": events of 8001 come every
# 20 ms, those of 8000 LATE us behind them; "unnamed" or "constant" such
# of no id, or one for all; "document": one document instead; or "renamed": of another id on port 8000.
make_capture() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/oracle python3 - "$1" "$2" "$tmp/made.pcap" <<'EOF'
import sys
from capture_files import ACK, RAW, SYN, Pcap, ipv4, tcp
late, how, path = int(sys.argv[1]) * 1000, sys.argv[2], sys.argv[3]
file, home, ms, start = Pcap("<", True, RAW, 65535), b"\x7f\0\0\1", 10**6, 1700000000 * 10**9
packets = []


class Connection:
    def __init__(self, client, server):
        self.ports, self.said = (client, server), [1, 1]

    def send(self, t, side, flags, data=b""):
        seq = self.said[side] - bool(flags & SYN)
        segment = tcp(self.ports[side], self.ports[1 - side], seq, self.said[1 - side] if flags & ACK else 0, flags, 500,
                      b"", data)
        packets.append((start + t, ipv4(home, home, segment, 0)[0]))
        self.said[side] += len(data)


def answer(c, t, name):
    body = b'{"id":"%s","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"One."},' \
        b'"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}' % name
    c.send(t, 1, ACK, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def ask(c, t, i, delay, events):
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Count to %d."}]}' % i
    c.send(t, 0, ACK, b"POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
           % len(body) + body)
    if how not in ("stream", "unnamed", "constant"):
        return answer(c, t + 500 * ms + delay, b"%d-%d" % (i, c.ports[1] if how == "renamed" else 0))
    c.send(t + 50 * ms + delay, 1, ACK, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    name = {"stream": b'"id":"reply-%d",' % i, "constant": b'"id":"mock",'}.get(how, b"")
    said = [b'{%s"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"w%d "}}]}' % (name, k) for k in range(12)]
    said.append(b'{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
                b'"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}')
    for k, text in enumerate(said[:events]):
        event = b"data: %s\n\n" % text
        c.send(t + (100 + 20 * k) * ms + delay, 1, ACK, b"%x\r\n%s\r\n" % (len(event), event))
    if events > len(said):
        c.send(t + (100 + 20 * len(said)) * ms + delay, 1, ACK, b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


for port in (8000, 8001):
    c = Connection(port + 32000, port)
    for side, flags in ((0, SYN), (1, SYN | ACK), (0, ACK)):
        c.send(0, side, flags)
    for i in range(5):
        ask(c, (1 + i * 1000) * ms + (port == 8001) * ms, i, late if port == 8000 else -ms, 14 if i < 4 else 8)
for t, packet in sorted(packets):
    file.packet(0, t, packet, len(packet))
open(path, "wb").write(b"".join(file.parts))
EOF
}

# requests PATTERN: lines of the list of requests that have it.
requests() {
    sed -n '/^request /,/^$/p' "$tmp/out" | grep -c -e "$1" || :
}

make_capture 300 stream
status 0 "$tokaudit" analyze "$tmp/made.pcap" --requests --claim requests=5 --claim completed=4 --claim ttft=100.3ms \
    --claim output_tokens=12
prints 'All 4 claims are confirmed'
prints 'Both legs of a proxy are in the trace'
prints '5 requests to port 8000 were answered by way of port 8001'
[ "$(requests '/v1/chat/completions')" = 5 ] || fail "not 5 requests: $(cat "$tmp/out")"
[ "$(requests 'inner leg, port 8001')" = 5 ] || fail "not 5 inner legs: $(cat "$tmp/out")"
"$tokaudit" analyze "$tmp/made.pcap" --format json -o "$tmp/made.json"
python3 tests/support/schema_check.py analyze/schema/analysis.schema.json "$tmp/made.json"
python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
inner = d["inner_requests"]
assert [r["id"] for r in d["requests"]] == [1, 2, 3, 4, 5], d["requests"]
assert [(r["of"], r["port"], r["events"]) for r in inner] == [(i, 8001, 12 if i < 5 else 8) for i in range(1, 6)], inner
assert abs(inner[0]["metrics"]["ttft"]["value"] - 0.099) < 1e-6, inner[0]
assert "proxy.both-legs" in [f["id"] for f in d["findings"]]
cut = d["requests"][4]["metrics"]
assert abs(cut["ttft"]["value"] - 0.1003) < 1e-6, cut["ttft"]
for name in "e2el", "decode_window":
    assert cut[name]["value"] is None and cut[name]["reason"] == "the trace ended before the reply did", cut[name]
' "$tmp/made.json" || fail "the JSON: $(cat "$tmp/made.json")"

# of the reply that the end cut off: what is known, and what is not
status 0 "$tokaudit" analyze "$tmp/made.pcap" --claim ttft@5=100.3ms
prints 'The claim is confirmed'
for claim in e2el@5=340ms latency@5=340ms decode_window@5=240ms output_tokens@5=12 itl.mean@5=25ms e2el@5=240.3ms; do
    status 0 "$tokaudit" analyze "$tmp/made.pcap" --fail-on never --claim $claim
    prints '^▲ not-measurable'
    prints 'the trace ended before the reply did'
done

# a server half a piece behind the other
make_capture 10300 unnamed
status 0 "$tokaudit" analyze "$tmp/made.pcap" --requests --claim requests=10
prints 'The claim is confirmed'
[ "$(requests '/v1/chat/completions')" = 10 ] || fail "not 10 requests: $(cat "$tmp/out")"
! grep -q 'proxy' "$tmp/out" || fail "two servers are a proxy: $(cat "$tmp/out")"

# two servers of one speed, one a little behind: no id says that they are one, nor does one that all replies have
for how in unnamed constant; do
    make_capture 300 $how
    status 0 "$tokaudit" analyze "$tmp/made.pcap" --claim requests=10
    ! grep -q 'proxy' "$tmp/out" || fail "two servers are a proxy: $(cat "$tmp/out")"
done

# documents: whose they are, their ids say
make_capture 300 document
status 0 "$tokaudit" analyze "$tmp/made.pcap" --claim requests=5
prints 'Both legs of a proxy'
make_capture 300 renamed
status 0 "$tokaudit" analyze "$tmp/made.pcap" --claim requests=10
! grep -q 'proxy' "$tmp/out" || fail "two servers are a proxy: $(cat "$tmp/out")"
passed
