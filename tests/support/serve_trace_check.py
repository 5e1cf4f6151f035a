#!/usr/bin/env python3
"""The clients of tests/cli/serve_trace.sh.

same OLD NEW SPEED    the answers to equal requests are equal bytes, and no event left before its time at that speed
ask TRACE PORT        sends the requests of a trace of ours again, connection by connection, and expects the recorded answers
make OUT              a capture with answers of every shape, as another tool would have written it
play PORT             asks for each of these, and expects every byte and how the connection went on
"""
import gzip
import json
import os
import socket
import statistics
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trace_streams import exchanges, message_end, time_errors  # noqa: E402


def by_request(path):
    found = {}
    for x in exchanges(path):
        found.setdefault((x.start, x.body), []).append(x)
    return found


def same(old, new, speed):
    old, new, speed = by_request(old), by_request(new), float(speed)
    assert old.keys() == new.keys(), (len(old), len(new))
    errors, n = [], 0
    for key, recorded in old.items():
        assert len(recorded) == len(new[key])
        for x, y in zip(recorded, new[key]):
            assert x.answer == y.answer, (key[0], x.answer, y.answer)
            n += 1
            if speed != 1:
                x = x._replace(ready=[(stop, x.asked + int((t - x.asked) / speed)) for stop, t in x.ready])
            errors += time_errors(x, y)
    errors.sort()
    p50, p99 = statistics.median(errors) / 1e6, errors[int(0.99 * (len(errors) - 1))] / 1e6
    print("%d answers equal, %d events: late by p50 %.3f ms, p99 %.3f ms, most %.3f ms, least %.3f ms"
          % (n, len(errors), p50, p99, errors[-1] / 1e6, errors[0] / 1e6))
    # A busy machine makes events late, never early; but then when the client asked may have been stamped late.
    assert abs(p50) < 50, "the times are not the recorded ones"


def dial(port):
    return socket.create_connection(("127.0.0.1", int(port)), timeout=60)


def receive(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        assert more, "the connection ended after %d of %d bytes: %r" % (len(data), n, data[-100:])
        data += more
    return data


def ask(trace, port):
    n, last, s = 0, None, None
    for x in sorted(exchanges(trace), key=lambda x: (x.port, x.asked)):
        if x.port != last:
            s, last = dial(port), x.port
        s.sendall(b"%s\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (x.start.encode("latin-1"), len(x.body), x.body))
        assert receive(s, len(x.answer)) == x.answer, x.start
        n += 1
    print("%d answers equal" % n)


# --- a capture of another tool ----------------------------------------------------------------------------

MS = 10 ** 6
FIN, SYN, RST, ACK = 1, 2, 4, 16


class Capture:
    def __init__(self, path):
        self.f, self.t, self.port = open(path, "wb"), 1700000000 * 10 ** 9, 40000
        self.f.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 101))

    def packet(self, back, flags, data=b""):
        ends = [(b"\x7f\0\0\1", self.port), (b"\x7f\0\0\1", 8000)]
        (a, from_port), (b, to_port) = ends[back], ends[not back]
        tcp = struct.pack(">HHIIBBHHH", from_port, to_port, self.seq[back], self.seq[not back], 0x50, flags, 1000, 0, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0x4000, 64, 6, 0, a, b)
        self.seq[back] += len(data) + bool(flags & (SYN | FIN))
        p = ip + tcp + data
        self.f.write(struct.pack("<IIII", self.t // 10 ** 9, self.t % 10 ** 9, len(p), len(p)) + p)
        self.t += MS

    def connect(self):
        self.port += 1
        self.seq = [1000, 5000]
        self.packet(0, SYN)
        self.packet(1, SYN | ACK)
        self.packet(0, ACK)

    def hole(self, n):
        self.seq[1] += n


def get(name):
    return b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % name.encode()


def chunked(pieces):
    return [b"%x\r\n%s\r\n" % (len(p), p) for p in pieces] + [b"0\r\n\r\n"]


def answers():
    """name -> (the packets of the answer, how it ends)"""
    text = b"".join(b"data: %d\n\n" % i for i in range(500))
    coded = gzip.compress(text, mtime=0)
    return {
        "gzip": ([b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\nDate: never\r\n\r\n"]
                 + chunked([coded[:7], coded[7:200], coded[200:]]), "kept"),
        "odd": ([b"HTTP/1.1 200 OK\r\nTransfer-Enco", b"ding: chunked\r\n\r\n5;x=y\r\nhel", b"lo\r\n0", b"\r\nTrailer: 1\r\n\r\n"],
                "kept"),
        "until-close": ([b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"\0\xff" * 1000, b"end"], "closed"),
        "reset": ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n"], "reset"),
        "nothing": ([], "closed"),
        "cut": ([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"short"], "trace"),
        "empty": ([b"HTTP/1.1 204 No Content\r\n\r\n"], "kept"),
        "large": ([b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n"] + [bytes([i]) * 30000 for i in range(100)], "kept"),
        "hole": ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123", None, b"789"], "kept"),
    }


def make(path):
    c = Capture(path)
    for name, (packets, end) in answers().items():
        c.connect()
        c.packet(0, ACK, get(name))
        for p in packets:
            if p is None:
                c.hole(3)
            else:
                c.packet(1, ACK, p)
            c.packet(0, ACK)
        if end == "closed":
            c.packet(1, FIN | ACK)
            c.packet(0, FIN | ACK)
        elif end == "reset":
            c.packet(1, RST | ACK)
        elif end == "kept":
            c.packet(0, FIN | ACK)
            c.packet(1, FIN | ACK)
    for body in b"first", b"second":  # the same request, other answers
        c.connect()
        c.packet(0, ACK, get("twice"))
        c.packet(1, ACK, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        c.packet(0, FIN | ACK)
        c.packet(1, FIN | ACK)


def ends(s):
    try:
        return "closed" if s.recv(1) == b"" else "goes on"
    except ConnectionResetError:
        return "reset"


def refusal(s):
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(s, 1)
    length = int(data.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(data.split()[1]), json.loads(receive(s, length))["error"]["message"]


def play(port):
    for name, (packets, end) in answers().items():
        with dial(port) as s:
            s.sendall(get(name))
            if None in packets:
                status, why = refusal(s)
                assert status == 502 and "not captured" in why, (status, why)
                continue
            whole = b"".join(packets)
            assert receive(s, len(whole)) == whole, name
            if end != "kept":
                assert ends(s) == {"trace": "closed"}.get(end, end), (name, end)
                continue
            s.sendall(get("none"))
            status, why = refusal(s)
            assert status == 404 and "GET /none" in why and "GET /gzip (1)" in why, (status, why)
    # Order among equals, over two clients, and from the first again; pipelined in one write.
    with dial(port) as a, dial(port) as b:
        a.sendall(get("twice"))
        assert receive(a, 43).endswith(b"first")
        b.sendall(get("twice") + get("twice") + get("gzip"))
        assert receive(b, 44).endswith(b"second")
        assert receive(b, 43).endswith(b"first")
        whole = b"".join(answers()["gzip"][0])
        assert receive(b, len(whole)) == whole
    # Clients that go away without waiting cost nobody anything.
    for _ in range(50):
        with dial(port) as s:
            s.sendall(get("large"))
    # A reader that sleeps gets all of it.
    with dial(port) as s:
        s.sendall(get("large"))
        time.sleep(0.2)
        whole = b"".join(answers()["large"][0])
        assert receive(s, len(whole)) == whole
    assert message_end(whole, 0, True) == len(whole)
    print("all played")


if __name__ == "__main__":
    {"same": same, "ask": ask, "make": make, "play": play}[sys.argv[1]](*sys.argv[2:])
