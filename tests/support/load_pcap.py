"""A capture of a load whose truth is known: streams, and what tools take for answers or not.

    load_pcap.py OUT [KIND]

24 requests of an OpenAI chat endpoint, four at a time: among them replies without a finish, documents, replies of one
token, refusals (503), and at the end streams that are reset. With KIND (document, unfinished, one, refused, reset) none is
of that kind.
"""
import json
import random
import struct
import sys

NS = 10**9
CLIENT, SERVER, PORT = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), 8000
USED = [40000]


class Connection:
    def __init__(self, packets, t):
        USED[0] += 1
        self.packets, self.port, self.sent = packets, USED[0], {True: 1000, False: 5000}
        self.packet(t, True, 2)
        self.sent[True] += 1
        self.packet(t + 20000, False, 18)
        self.sent[False] += 1
        self.packet(t + 40000, True, 16)

    def packet(self, t, up, flags, data=b""):
        ports = (self.port, PORT) if up else (PORT, self.port)
        tcp = struct.pack(">HHIIBBHHH", *ports, self.sent[up], self.sent[not up] if flags != 2 else 0, 80, flags, 65535,
                          0, 0)
        ip = struct.pack(">BBHHHBBH", 69, 0, 40 + len(data), 1, 16384, 64, 6, 0) + \
            (CLIENT + SERVER if up else SERVER + CLIENT)
        check = sum(struct.unpack(">10H", ip))
        while check >> 16:
            check = (check & 0xFFFF) + (check >> 16)
        ip = ip[:10] + struct.pack(">H", ~check & 0xFFFF) + ip[12:]
        self.packets.append((t, len(self.packets), ip + tcp + data))

    def say(self, t, up, data):
        self.packet(t, up, 24, data)
        self.sent[up] += len(data)
        self.packet(t + 5000, not up, 16)

    def close(self, t):
        self.packet(t, True, 17)
        self.sent[True] += 1
        self.packet(t + 5000, False, 17)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(choices, usage=None):
    body = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return chunk(b"data: " + json.dumps(dict(body, **({"usage": usage} if usage else {}))).encode() + b"\n\n")


def document(text, usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(body).encode()


def whole(status, body):
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def request(packets, t, kind, chance):
    """Returns when it ended."""
    c = Connection(packets, t - 200000)
    prompt, n = chance.randint(20, 200), 1 if kind == "one" else chance.randint(20, 40)
    usage = {"prompt_tokens": prompt, "completion_tokens": n, "total_tokens": prompt + n}
    body = json.dumps({"model": "m", "stream": kind != "document", "stream_options": {"include_usage": True},
                       "max_tokens": 64, "messages": [{"role": "user", "content": "x" * prompt}]}).encode()
    c.say(t, True, b"POST /v1/chat/completions HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"
          b"Content-Length: %d\r\n\r\n" % len(body) + body)
    if kind in ("document", "refused"):
        t += int((0.02 if kind == "refused" else 0.8) * NS)
        error = b'{"error":{"message":"busy","type":"x","code":503}}'
        c.say(t, False, whole(b"503 Busy", error) if kind == "refused" else whole(b"200 OK", document("word " * n, usage)))
        c.close(t + 100000)
        return t
    t += int(chance.uniform(0.1, 0.2) * NS)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    for k in range(n // 2 if kind == "reset" else n):
        c.say(t, False, (head if k == 0 else b"") + event([{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]))
        t += int(chance.uniform(0.015, 0.025) * NS)
    if kind == "reset":
        c.packet(t, False, 20)
        return t
    reason = None if kind == "unfinished" else "stop"
    c.say(t, False, event([{"index": 0, "delta": {}, "finish_reason": reason}]) + event([], usage))
    t += 1000000
    c.say(t, False, chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    c.close(t + 100000)
    return t


def main():
    chance, packets, free = random.Random(24), [], [NS // 2 + k * NS // 1000 for k in range(4)]
    kinds = ["stream", "unfinished", "stream", "document", "stream", "one", "refused", "stream"] * 3
    kinds[-2:] = ["reset", "reset"]
    kinds = ["stream" if kind in sys.argv[2:] else kind for kind in kinds]
    for kind in kinds:
        free.sort()
        free[0] = request(packets, free[0], kind, chance) + 2000000
    with open(sys.argv[1], "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101))
        for t, _, data in sorted(packets):
            t += 1790000000 * NS
            out.write(struct.pack("<IIII", t // NS, t % NS, len(data), len(data)) + data)


main()
