#!/bin/sh
# Streamed calls of tools, and thinking that is hidden: their marks are counted and never sent. Nobody is accused for that, and a
# rate that is true is never said to be wrong. Beside each is the same reply as plain text, of which both are known.
set -eu
. tests/support/cli.sh

if ! command -v python3 >/dev/null; then
    skip "no python3, which makes the traces"
    passed
fi

cat >"$tmp/make.py" <<'END_OF_PYTHON'
import json, struct, sys

FIN, SYN, ACK = 1, 2, 16
STEP = 0.02  # of each token that is generated, sent or not


class Reply:
    """One reply of a connection of its own; tokens are generated from 100 ms on."""

    def __init__(self, path, body):
        self.packets, self.seq, self.n, self.t = [], [1000, 5000], 0, 0.1
        self.put(-3e-5, 0, flags=SYN)
        self.put(-2e-5, 1, flags=SYN | ACK)
        self.put(-1e-5, 0)
        body = json.dumps(dict(body, model="m", stream=True)).encode()
        self.put(0, 0, b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
        self.put(0.05, 1, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def put(self, t, who, data=b"", flags=ACK):
        ports = (40001, 8000) if who == 0 else (8000, 40001)
        ends = (b"\x0a\0\0\1", b"\x0a\0\0\2") if who == 0 else (b"\x0a\0\0\2", b"\x0a\0\0\1")
        ack = self.seq[1 - who] if flags & ACK else 0
        tcp = struct.pack("!HHIIBBHHH", *ports, self.seq[who], ack, 5 << 4, flags, 60000, 0, 0) + data
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, *ends)
        self.packets.append((t, ip + tcp))
        self.seq[who] += len(data) + bool(flags & (SYN | FIN))

    def event(self, t, *data):
        text = b"".join(b"data: " + (x if isinstance(x, str) else json.dumps(x)).encode() + b"\n\n" for x in data)
        self.put(t, 1, b"%x\r\n%s\r\n" % (len(text), text))
        self.put(t + 1e-5, 0)

    def hidden(self, tokens):
        self.n += tokens
        self.t += tokens * STEP

    def says(self, *data):
        self.event(self.t, *data)
        self.hidden(1)

    def end(self, path):
        self.put(self.t, 1, b"0\r\n\r\n")
        self.put(self.t, 1, flags=FIN | ACK)
        self.put(self.t, 0, flags=FIN | ACK)
        self.put(self.t, 1)
        with open(path, "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101))
            for t, p in self.packets:
                ns = 1796030400 * 10**9 + round((1 + t) * 1e9)
                f.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(p), len(p)) + p)


def choice(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(**function):
    return choice({"tool_calls": [{"index": 0, "function": function}]})


def text(piece):
    return choice({"content": piece})


def chat(name, pieces, before, behind, clock=False):
    """before, behind: marks."""
    r = Reply("/v1/chat/completions", {"messages": [{"role": "user", "content": "?"}]})
    r.event(0.1, choice({"role": "assistant"}))
    r.hidden(before)
    for piece in pieces:
        r.says(piece)
    r.hidden(behind)
    last = {"choices": [], "usage": {"prompt_tokens": 150, "completion_tokens": r.n}}
    if clock:
        last["timings"] = {"prompt_n": 150, "prompt_ms": 95, "predicted_n": r.n, "predicted_ms": 1e3 * STEP * r.n,
                           "predicted_per_second": 1 / STEP}
    r.event(r.t - STEP, choice({}, "tool_calls"), last, "[DONE]")
    r.end("%s/%s.pcap" % (sys.argv[1], name))


def anthropic(name, block):
    r = Reply("/v1/messages", {"max_tokens": 900, "messages": [{"role": "user", "content": "?"}]})
    r.event(0.1, {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 9, "output_tokens": 1}}})
    r.event(0.11, {"type": "content_block_start", "index": 0, "content_block": block})
    r.hidden(100)
    r.event(r.t - STEP / 2, {"type": "content_block_stop", "index": 0})
    for i in range(40):
        r.says({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " word"}})
    r.event(r.t, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": r.n}},
            {"type": "message_stop"})
    r.end("%s/%s.pcap" % (sys.argv[1], name))


arguments = [call(arguments=x) for x in '{|"|city|":| "|Paris|",| "|unit|":| "|celsius|"}'.split("|")]
chat("call", [call(name="get_weather", arguments="")] + arguments, 12, 3)
chat("call-text", [text("get_weather")] + [text(" word")] * len(arguments), 12, 3)
chat("clock", [call(name="get_weather", arguments="")] + arguments, 12, 3, clock=True)
chat("clock-text", [text("get_weather")] + [text(" word")] * len(arguments), 12, 3, clock=True)
chat("empty", [call(name="list_open_orders", arguments=""), call(arguments="{}")], 12, 3)
chat("empty-text", [text("list_open_orders"), text("{}")], 12, 3)
chat("behind", [text(" word")] * 60 + [call(name="get_weather", arguments="")] + arguments, 0, 1)
anthropic("redacted", {"type": "redacted_thinking", "data": "EuYBCkQYAiJA"})
anthropic("redacted-text", {"type": "text", "text": ""})
END_OF_PYTHON
python3 "$tmp/make.py" "$tmp"

# found NAME ID and lacks NAME ID: by the last audit.
found() {
    grep -q "\"id\": \"$2\"" "$tmp/$1.json" || fail "$1: $2 was not found"
}
lacks() {
    if grep -q "\"id\": \"$2\"" "$tmp/$1.json"; then
        fail "$1: $2 is wrong"
    fi
}
audit() { # NAME
    "$tokaudit" analyze --format json --fail-on never "$tmp/$1.pcap" >"$tmp/$1.json"
}
verdict() { # NAME CLAIM VERDICT
    "$tokaudit" analyze --format json --fail-on never --claim "$2" "$tmp/$1.pcap" >"$tmp/claim.json"
    grep -q "\"verdict\": \"$3\"" "$tmp/claim.json" ||
        fail "$1: $2 is not $3: $(grep -e '"verdict"' -e '"reason": "' "$tmp/claim.json" | tail -2)"
}

for name in call clock empty redacted call-text clock-text empty-text redacted-text behind; do
    audit $name
done

# The truth is 50 tok/s, 20 ms a token.
for name in call clock empty redacted; do
    verdict $name rate=50tok/s not-measurable
    verdict $name tpot=20ms not-measurable
    for id in stream.tokens-per-event stream.not-streamed usage.recount usage.text-too-short timings.rate-differs timings.hide-wait; do
        lacks $name $id
    done
done
verdict call rate=10tok/s differs # slower than the whole request
verdict behind rate=50tok/s confirmed
verdict behind rate=40tok/s differs

# As plain text the same is what it looks like.
verdict call-text rate=50tok/s differs
found call-text stream.tokens-per-event
found clock-text timings.rate-differs
found empty-text stream.not-streamed
verdict redacted-text rate=50tok/s differs
found redacted-text stream.tokens-per-event

found redacted usage.thinking-unsent
lacks redacted-text usage.thinking-unsent
passed
