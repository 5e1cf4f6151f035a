#!/bin/sh
# mislabelled.sh TOKAUDIT: replies are what their bytes are, whatever Content-Type says, and JSON says what it says, however it
# spells its keys. The capture is made here: each reply twice, under its own type and under others, with the same times.
set -eu
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

cat >"$tmp/make.py" <<'PY'
"""make.py DIR: NAME.pcapng for each reply, one request in each."""
import json, struct, sys

T0 = 1796030400 * 10 ** 9


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    n = len(body) + 12
    return struct.pack("<II", kind, n) + body + struct.pack("<I", n)


class Trace:
    def __init__(self):
        self.packets, self.seq = [], [1000, 5000]
        self.put(0, 0, 2)
        self.put(0.001, 1, 0x12)

    def put(self, t, back, flags, data=b""):
        ends = (8000, 40000) if back else (40000, 8000)
        tcp = struct.pack(">HHIIBBHHH", *ends, self.seq[back], self.seq[not back], 0x50, flags, 65535, 0, 0) + data
        self.seq[back] += len(data) + (flags & 3 != 0)
        a, b = b"\x7f\0\0\1", b"\x7f\0\0\2"
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + (b + a if back else a + b)
        self.packets.append((T0 + round(t * 1e9), head + tcp))

    def write(self, path):
        with open(path, "wb") as f:
            f.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
            f.write(block(1, struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHB3x", 9, 1, 9) + struct.pack("<HH", 0, 0)))
            for t, p in self.packets:
                f.write(block(6, struct.pack("<IIIII", 0, t >> 32, t & 0xFFFFFFFF, len(p), len(p)) + p))


def make(name, path, kind, pieces, chunked=True):
    """Pieces of the body from 0.5 s on, 50 ms apart."""
    t = Trace()
    ask = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
    t.put(0.01, 0, 0x18, b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path, len(ask), ask))
    fields = b"Content-Type: %s\r\n" % kind if kind else b""
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % sum(map(len, pieces))
    t.put(0.4, 1, 0x18, b"HTTP/1.1 200 OK\r\n%s%s\r\n\r\n" % (fields, length))
    for i, piece in enumerate(pieces):
        t.put(0.5 + 0.05 * i, 1, 0x18, b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
    if chunked:
        t.put(0.5 + 0.05 * (len(pieces) - 1), 1, 0x18, b"0\r\n\r\n")
    t.put(3, 0, 0x11)
    t.put(3.001, 1, 0x11)
    t.write("%s/%s.pcapng" % (sys.argv[1], name))


lines = [{"model": "m", "created_at": "x", "message": {"role": "assistant", "content": " word"}, "done": False} for i in range(20)]
lines.append({"model": "m", "created_at": "x", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
              "prompt_eval_count": 9, "eval_count": 20, "eval_duration": 950000000})
lines = [json.dumps(x).encode() + b"\n" for x in lines]
events = [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " word"}, "finish_reason": None}]}
          for i in range(20)]
events.append({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
               "usage": {"prompt_tokens": 9, "completion_tokens": 20}})
events = [b"data: " + json.dumps(x).encode() + b"\n\n" for x in events] + [b"data: [DONE]\n\n"]
whole = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": " word" * 20},
                    "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 20}}, indent=1).encode()
halves = [whole[:100], whole[100:]]


def spelled(event):
    """With escapes in keys, in one letter each."""
    for word in (b"choices", b"delta", b"content", b"finish_reason", b"usage", b"completion_tokens", b"stop"):
        event = event.replace(b'"%s"' % word, b'"%s\\u%04x%s"' % (word[:1], word[1], word[2:]))
    return event


TYPES = {"own": None, "json": b"application/json; charset=utf-8", "none": b"", "events": b"text/event-stream", "html": b"text/html"}
for name, kind in TYPES.items():
    make("lines-" + name, b"/api/chat", kind if kind is not None else b"application/x-ndjson", lines)
    make("sse-" + name, b"/v1/chat/completions", kind if kind is not None else b"text/event-stream", events)
    make("whole-" + name, b"/v1/chat/completions", kind if kind is not None else b"application/json", halves)
    make("whole-lf-" + name, b"/v1/chat/completions", kind if kind is not None else b"application/json", halves + [b"\n"], False)
make("sse-spelled", b"/v1/chat/completions", b"text/event-stream", [spelled(x) for x in events])
PY
python3 "$tmp/make.py" "$tmp"

cat >"$tmp/said.py" <<'PY'
"""said.py REPORT: what is said of the request, and of the run. Hashes of bodies are salted where text is overwritten."""
import json, sys
report = json.load(open(sys.argv[1]))
r = report["requests"][0]
print(r["dialect"], r["outcome"], r["stream"], [e for e in r.items() if e[0] != "body_sha256"], [f["id"] for f in report["findings"]])
PY
said() {
    "$tokaudit" analyze "$tmp/$1.pcapng" --fail-on never --format json -o "$tmp/report.json" || fail "$1: status $?"
    python3 "$tmp/said.py" "$tmp/report.json"
}

for reply in lines sse whole whole-lf; do
    said "$reply-own" >"$tmp/own"
    grep -q ' success ' "$tmp/own" || fail "$reply: $(cut -c1-80 "$tmp/own")"
    case $reply in
    whole*) grep -q " False .*'stream.not-streamed'" "$tmp/own" || fail "$reply: a stream was asked for, and none was given" ;;
    *) grep -q ' True ' "$tmp/own" || fail "$reply: it is a stream" ;;
    esac
    for type in json none events html; do
        said "$reply-$type" >"$tmp/other"
        cmp -s "$tmp/own" "$tmp/other" ||
            fail "$reply, said to be $type: $(cut -c1-200 "$tmp/other") instead of $(cut -c1-200 "$tmp/own")"
    done
done
# Overwritten, they are still what they were.
for reply in lines sse whole; do
    for type in own json events; do
        "$tokaudit" capture --read "$tmp/$reply-$type.pcapng" --redact bodies -o "$tmp/redacted-$type.pcapng" 2>"$tmp/err" ||
            fail "$reply-$type: $(cat "$tmp/err")"
        said "redacted-$type" >"$tmp/other"
        [ $type != own ] || cp "$tmp/other" "$tmp/own"
        grep -q ' success ' "$tmp/other" || fail "$reply, said to be $type and overwritten: $(cut -c1-200 "$tmp/other")"
        cmp -s "$tmp/own" "$tmp/other" || fail "$reply, said to be $type and overwritten: not as under its own type"
    done
done
said sse-own >"$tmp/own"
said sse-spelled >"$tmp/other"
cmp -s "$tmp/own" "$tmp/other" || fail "keys with escapes: $(cut -c1-300 "$tmp/other")"
passed
