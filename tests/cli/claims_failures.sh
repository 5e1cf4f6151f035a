#!/bin/sh
# Claims about runs in which requests fail, from the bytes up: what was tried again, refused, broken off or never answered, and
# what servers state of their own time. The captures are made here, so every time in them is known.
set -eu
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

cat >"$tmp/make.py" <<'PY'
"""make.py DIR: failures.pcapng and ollama.pcapng."""
import json, struct, sys

S, T0 = 10 ** 9, 1796030400 * 10 ** 9
packets = []


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    n = len(body) + 12
    return struct.pack("<II", kind, n) + body + struct.pack("<I", n)


def write(path):
    with open(path, "wb") as f:
        f.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        f.write(block(1, struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHB3x", 9, 1, 9) + struct.pack("<HH", 0, 0)))
        for t, p in sorted(packets, key=lambda x: x[0]):
            f.write(block(6, struct.pack("<IIIII", 0, t >> 32, t & 0xFFFFFFFF, len(p), len(p)) + p))
    packets.clear()


class Conn:
    ports = 40000

    def __init__(self, t):
        Conn.ports += 1
        self.port, self.seq = Conn.ports, [1000, 5000]
        self.put(t - 0.002, 0, 2)
        self.put(t - 0.001, 1, 0x12)

    def put(self, t, back, flags, data=b""):
        ends = (8000, self.port) if back else (self.port, 8000)
        tcp = struct.pack(">HHIIBBHHH", *ends, self.seq[back], self.seq[not back], 0x50, flags, 65535, 0, 0) + data
        self.seq[back] += len(data) + (flags & 3 != 0)
        a, b = b"\x7f\0\0\1", b"\x7f\0\0\2"
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + (b + a if back else a + b)
        packets.append((T0 + round(t * S), head + tcp))

    def ask(self, t, path, body):
        data = json.dumps(body).encode()
        self.put(t, 0, 0x18, b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path, len(data), data))

    def chunk(self, t, data):
        self.put(t, 1, 0x18, b"%x\r\n%s\r\n" % (len(data), data))

    def head(self, t, kind):
        self.put(t, 1, 0x18, b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % kind)

    def document(self, t, status, body):
        self.put(t, 1, 0x18, b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            status, len(body), body))


def chat(t, prompt):
    c = Conn(t)
    c.ask(t, b"/v1/chat/completions", {"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]})
    return c


def event(x):
    return b"data: " + (x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n\n"


def delta(text=None, **more):
    return event({"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": more.get("finish")}]})


def streams(c, t, events):
    """Text from 0.1 s on, 20 ms apart."""
    c.head(t + 0.1, b"text/event-stream")
    for i in range(events):
        c.chunk(t + 0.1 + 0.02 * i, delta(" word"))
    return t + 0.1 + 0.02 * events


def answers(c, t):
    end = streams(c, t, 50)
    c.chunk(end, delta(finish="stop"))
    c.chunk(end, event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 50}}))
    c.chunk(end, event(b"[DONE]"))
    c.put(end, 1, 0x18, b"0\r\n\r\n")


ERROR = b'{"error":{"message":"busy","type":"server_error"}}'
for i in range(6):
    answers(chat(2 * i, f"answered {i}"), 2 * i)
chat(12, "again").document(12.05, b"429 Too Many Requests", ERROR)
answers(chat(14, "again"), 14)
c = chat(16, "error inside")
c.head(16.1, b"text/event-stream")
c.chunk(16.2, event(ERROR))
c.put(16.2, 1, 0x18, b"0\r\n\r\n")
c = chat(18, "broken off")
streams(c, 18, 30)
c.put(19, 1, 0x11)
chat(20, "refused").document(20.05, b"503 Service Unavailable", ERROR)
chat(13, "never answered").put(73, 0, 0x14)
write(sys.argv[1] + "/failures.pcapng")

# 4,000 tokens of prompt in 8 s, of which the server's clock keeps 0.5.
c = Conn(0)
c.ask(0, b"/api/chat", {"model": "m", "messages": [{"role": "user", "content": "x"}]})
c.head(8, b"application/x-ndjson")
for i in range(50):
    c.chunk(8 + 0.02 * i, json.dumps({"model": "m", "message": {"role": "assistant", "content": " w"}, "done": False}).encode() + b"\n")
c.chunk(9, json.dumps({"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
                       "total_duration": 9 * S, "load_duration": S // 100, "prompt_eval_count": 4000,
                       "prompt_eval_duration": S // 2, "eval_count": 50, "eval_duration": S}).encode() + b"\n")
c.put(9, 1, 0x18, b"0\r\n\r\n")
write(sys.argv[1] + "/ollama.pcapng")
PY
python3 "$tmp/make.py" "$tmp"

cat >"$tmp/check.py" <<'PY'
"""check.py REPORT: the claim on the command line, its verdict, and the causes that have their sign; then those that have not."""
import json, sys
claim = json.load(open(sys.argv[1]))["claims"][0]
named = sorted({c["id"] for c in claim["causes"] if c["fit"] == "sign"})
print(claim["verdict"], " ".join(named))
PY
expect() { # TRACE CLAIM VERDICT and CAUSES, as a pattern
    "$tokaudit" analyze "$tmp/$1.pcapng" --claim "$2" --fail-on never --format json -o "$tmp/report.json" ||
        fail "$2: status $?"
    found=$(python3 "$tmp/check.py" "$tmp/report.json")
    echo "$found" | grep -q -x -e "$3" || fail "$2: found '$found', expected '$3'"
}

# Twelve attempts at eleven requests; seven were answered, the last at 15.1 s; one was given up after 60 s.
expect failures completed=7 'confirmed *'
expect failures requests=11 'confirmed *'
expect failures requests=12 'confirmed P84'
expect failures failed=4 'confirmed *'
expect failures failed=5 'confirmed *'
expect failures completed=12 'differs .*P86.*'
expect failures completed=8 'differs P85 P86.* P90'
expect failures completed=13 'impossible *'
expect failures failed=0 'differs .*P86 P87.*'
expect failures request_tps=0.0959 'confirmed *' # 7 in 73 s
expect failures request_tps=0.464 'differs P88' # … in 15.1 s
expect failures request_tps=0.164 'differs P84.*P86.*'
expect failures ttft.max=2.1s 'differs P89'
expect failures ttft.max=100ms 'confirmed *'
expect failures latency.max=3.08s 'differs P89'
expect failures ttft.max=1.7s 'differs *'

expect ollama prompt_rate@1=8000 'differs P95'
expect ollama prompt_rate@1=500 'confirmed *'
expect ollama prompt_rate@1=4000 'not-measurable *'
passed
