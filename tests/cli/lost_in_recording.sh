#!/bin/sh
# What the recording lost, a client that left and packets that came twice: nobody is accused of what he did not do, and what is
# found is found at the packet where it happened. Each beside a trace that differs from it in that alone.
set -eu
. tests/support/cli.sh

if ! command -v python3 >/dev/null; then
    skip "no python3, which makes the traces"
    passed
fi

cat >"$tmp/make.py" <<'END_OF_PYTHON'
import json, struct, sys

CLIENT, SERVER = 0, 1
FIN, SYN, RST, ACK = 1, 2, 4, 16
EVENT_S = 0.01

class Talk:
    """Packets of connections to one server, and which of them the recording lacks."""

    def __init__(self):
        self.packets, self.port, self.lost = [], 40000, set()

    def connect(self, t):
        self.port += 1
        self.seq = [1000, 5000]
        self.window = [60000, 60000]
        self.put(t, CLIENT, flags=SYN)
        self.put(t + 1e-5, SERVER, flags=SYN | ACK)
        self.put(t + 2e-5, CLIENT)

    def put(self, t, who, data=b"", flags=ACK, again=False, options=b""):
        seq = self.seq[who] - (len(data) if again else 0)
        ports = (self.port, 8000) if who == CLIENT else (8000, self.port)
        ends = (b"\x0a\0\0\1", b"\x0a\0\0\2") if who == CLIENT else (b"\x0a\0\0\2", b"\x0a\0\0\1")
        ack = self.seq[1 - who] if flags & ACK else 0
        tcp = struct.pack("!HHIIBBHHH", *ports, seq, ack, (20 + len(options)) // 4 << 4, flags, self.window[who], 0, 0)
        tcp += options + data
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, *ends)
        self.packets.append((t, ip + tcp))
        if not again:
            self.seq[who] += len(data) + bool(flags & (SYN | FIN))
        return len(self.packets)  # its number

    def ask(self, t):
        body = json.dumps({"model": "m", "stream": True, "max_tokens": 30, "messages": [{"role": "user", "content": "%f" % t}]})
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        return self.put(t, CLIENT, (head + body).encode())

    def head(self, t):
        self.put(t, SERVER, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def event(self, t, data, **more):
        text = ("data: %s\n\n" % data).encode()
        n = self.put(t, SERVER, b"%x\r\n%s\r\n" % (len(text), text), **more)
        if not more:
            self.put(t + 1e-5, CLIENT)
        return n

    def word(self, t, **more):
        return self.event(t, json.dumps({"choices": [{"index": 0, "delta": {"content": "word "}}]}), **more)

    def reply(self, t, words=20):
        self.head(t)
        places = [self.word(t + i * EVENT_S) for i in range(words)]
        t += words * EVENT_S
        self.event(t, json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                                  "usage": {"prompt_tokens": 9, "completion_tokens": words}}))
        self.event(t, "[DONE]")
        self.put(t, SERVER, b"0\r\n\r\n")
        self.put(t + 1e-5, CLIENT)
        return places

    def write(self, path):
        with open(path, "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
            kept = [p for n, p in enumerate(self.packets, 1) if n not in self.lost]
            for t, data in kept:
                ns = 1796030400 * 10**9 + round(t * 1e9)
                f.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(data), len(data)) + data)

def keep_alive(path, lose=None):
    """Eight requests on one connection; lose() says which packets the recording lacks, and which one comes behind them."""
    talk, asked, places = Talk(), [], []
    talk.connect(0)
    for i in range(8):
        asked.append(talk.ask(0.1 + 0.5 * i))
        places.append(talk.reply(0.2 + 0.5 * i))
    behind = 0  # the packet behind the hole, by its number before anything is lost
    if lose:
        talk.lost, behind = lose(asked, places)
    talk.write(path)
    return behind - len(talk.lost)

tmp = sys.argv[1]
print("whole", keep_alive(tmp + "/whole.pcap"))
print("hole", keep_alive(tmp + "/hole.pcap", lambda asked, places: (set(places[3][8:13]), places[3][13])))
print("hidden", keep_alive(tmp + "/hidden.pcap", lambda asked, places: ({asked[4]}, asked[5])))

talk = Talk()
for i in range(8):
    talk.connect(i)
    talk.ask(i + 0.1)
    if i == 3:  # the server breaks off
        talk.head(i + 0.2)
        for k in range(8):
            talk.word(i + 0.2 + k * EVENT_S)
        talk.put(i + 0.3, SERVER, flags=FIN | ACK)
    else:
        talk.reply(i + 0.2)
talk.write(tmp + "/broken.pcap")

def leaves(path, after, listens):
    """Three of six clients end their side `after` seconds behind the request; the reply begins after 1.4 s."""
    talk, ends = Talk(), []
    for i in range(6):
        t = 3 * i
        talk.connect(t)
        talk.ask(t + 0.1)
        if i % 2 == 0:
            talk.reply(t + 0.2)
            continue
        ends.append(talk.put(t + 0.1 + after, CLIENT, flags=FIN | ACK))
        if listens:
            talk.reply(t + 1.5)
        else:
            talk.head(t + 1.5)
            talk.word(t + 1.5)
            talk.put(t + 1.5 + 1e-5, CLIENT, flags=RST)
    talk.write(path)
    return ends[0]

def ends_open(path, leaves, listens):
    """A head, and no more of the reply in the trace; the client ends its side, or not, and takes what comes then, or not."""
    talk = Talk()
    talk.connect(0)
    talk.ask(0.1)
    talk.head(0.2)
    if leaves:
        talk.put(1.1, CLIENT, flags=FIN | ACK)
    talk.put(1.2, SERVER)
    if listens:
        talk.word(1.3)
    talk.write(path)
    return 0

print("gone", ends_open(tmp + "/gone.pcap", True, False))
print("open", ends_open(tmp + "/open.pcap", False, False))
print("listening", ends_open(tmp + "/listening.pcap", True, True))

print("left", leaves(tmp + "/left.pcap", 1.0, False))
print("half", leaves(tmp + "/half.pcap", 0.0001, True))

def closes(path, closing):
    talk, place = Talk(), 0
    talk.connect(0)
    for i in range(2):
        talk.ask(0.1 + i)
        talk.head(0.2 + i)
        for k in range(20):
            talk.word(0.2 + i + k * EVENT_S)
            if i == 1 and k in (7, 12):  # of the second request, twice
                talk.window[CLIENT] = 0 if closing else 100
                n = talk.put(0.2 + i + k * EVENT_S + 2e-5, CLIENT)
                place = place or n
                talk.window[CLIENT] = 60000
                talk.put(0.2 + i + k * EVENT_S + 5e-3, CLIENT)
        talk.event(0.5 + i, json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                                        "usage": {"prompt_tokens": 9, "completion_tokens": 20}}))
        talk.event(0.5 + i, "[DONE]")
        talk.put(0.5 + i, SERVER, b"0\r\n\r\n")
    talk.write(path)
    return place

print("closed", closes(tmp + "/closed.pcap", True))
print("narrow", closes(tmp + "/narrow.pcap", False))

def resent(path, says):
    """Five words come twice. The client says that it had them, or had acknowledged them; or nobody knows."""
    talk, place = Talk(), 0
    talk.connect(0)
    talk.ask(0.1)
    talk.head(0.2)
    for k in range(20):
        t = 0.2 + k * EVENT_S
        if k % 4 != 3:
            talk.word(t)
            continue
        before = talk.seq[SERVER]
        talk.word(t, options=b"")
        if says == "acked":
            talk.put(t + 1e-3, CLIENT)
        n = talk.word(t + 4e-3, again=True)
        place = place or n
        sack = b"\1\1\5\x0a" + struct.pack("!II", before, talk.seq[SERVER]) if says == "had" else b""
        talk.put(t + 4.1e-3, CLIENT, options=sack)
    talk.event(0.5, json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                                "usage": {"prompt_tokens": 9, "completion_tokens": 20}}))
    talk.event(0.5, "[DONE]")
    talk.put(0.5, SERVER, b"0\r\n\r\n")
    talk.write(path)
    return place

print("needless", resent(tmp + "/needless.pcap", "had"))
print("acked", resent(tmp + "/acked.pcap", "acked"))
print("resent", resent(tmp + "/resent.pcap", "nothing"))
END_OF_PYTHON
python3 "$tmp/make.py" "$tmp" >"$tmp/places"

claims="--claim failed=0 --claim completed=8 --claim requests=8 --claim throughput=42.0tok/s --claim latency.max=290ms"
for name in whole hole hidden broken left half gone open listening closed narrow needless acked resent; do
    # shellcheck disable=SC2086 # several claims
    "$tokaudit" analyze "$tmp/$name.pcap" $claims --fail-on never --format json -o "$tmp/$name.json" 2>"$tmp/err" ||
        fail "$name: $(cat "$tmp/err")"
done

python3 - "$tmp" <<'END' || fail "what is said of them"
import json, sys

tmp = sys.argv[1]
places = {name: int(n) for name, n in (line.split() for line in open(tmp + "/places"))}

def load(name):
    report = json.load(open("%s/%s.json" % (tmp, name)))
    return report, {f["id"]: f for f in report["findings"]}, {c["text"].split("=")[0]: c for c in report["claims"]}

def cites(finding, packet):
    assert packet in [e["packet"] for e in finding["evidence"]], (packet, finding)

# --- bytes that the recording lost ---
report, found, claims = load("whole")
verdicts = {name: c["verdict"] for name, c in claims.items()}
assert set(verdicts.values()) == {"confirmed"} and "capture.gaps" not in found, (verdicts, list(found))
for name in "hole", "hidden":
    report, found, claims = load(name)
    for c in claims.values():
        assert c["verdict"] in ("confirmed", "not-measurable") and c["causes"] == [], (name, c)
    assert "requests.failed" not in found and "requests.cut-short" not in found, (name, found)
    cites(found["capture.gaps"], places[name])
    assert not any(r["outcome"] == "cut-short" for r in report["requests"]), name
assert len(load("hidden")[0]["requests"]) in (7, 8)
report, found, claims = load("broken")  # the server did that
assert claims["failed"]["verdict"] == claims["completed"]["verdict"] == "differs", claims
assert "requests.failed" in found and {c["id"] for c in claims["failed"]["causes"]} == {"P87", "P90"}, claims["failed"]

# --- clients that leave ---
report, found, claims = load("left")
assert [r["outcome"] for r in report["requests"]].count("cut-short") == 3, report["requests"]
assert "age of 1 s" in found["requests.timeouts"]["detail"] and "network.resets" not in found, found
cites(found["requests.timeouts"], places["left"])
cites(found["client.left"], places["left"])
assert "replies of 0 had begun" in found["client.left"]["detail"], found["client.left"]
assert "requests.cut-short" not in found  # what came later, nobody had
report, found, claims = load("half")  # they have said all, and listen
assert [r["outcome"] for r in report["requests"]] == ["success"] * 6, report["requests"]
assert "requests.timeouts" not in found and "client.left" not in found, found

for name, outcome in ("gone", "cut-short"), ("open", "open"), ("listening", "open"):
    assert [r["outcome"] for r in load(name)[0]["requests"]] == [outcome], (name, load(name)[0]["requests"])

# --- windows, and segments that were sent again ---
cites(load("closed")[1]["client.zero-window"], places["closed"])
assert len(load("closed")[1]["client.zero-window"]["evidence"]) == 1
assert "client.zero-window" not in load("narrow")[1]
cites(load("resent")[1]["network.retransmissions"], places["resent"])
for name in "needless", "acked":
    assert "network.retransmissions" not in load(name)[1], name
END
passed
