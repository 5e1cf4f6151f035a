"""The exchanges of a trace of ours, read without our code: for tests and benches that compare two traces.

exchanges(path) gives, in the order of their requests, Exchange tuples:
    port      the client's
    start     the request line
    body      the request's
    asked     ns, when the last byte of the request was there
    answer    the response's bytes, head and framing included
    ready     for each byte of it the ns at which it was there, as [(end offset, ns)] of its packets in order
"""
import collections
import gzip
import struct

Exchange = collections.namedtuple("Exchange", "port start body asked answer ready")
RAW, ETHERNET = 101, 1


def packets(path):
    """(ns, IP packet) of a pcapng file of one little-endian section with nanoseconds, as tokaudit writes it."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    at, link = 0, None
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 1:
            link = struct.unpack_from("<H", data, at + 8)[0]
        if kind == 6:
            high, low, captured = struct.unpack_from("<III", data, at + 12)
            packet = data[at + 28:at + 28 + captured]
            yield high << 32 | low, packet[14:] if link == ETHERNET else packet
        at += size


def segments(path):
    """(ns, source port, destination port, sequence number, payload) of every TCP segment with data."""
    for t, p in packets(path):
        version = p[0] >> 4 if p else 0
        head = (p[0] & 15) * 4 if version == 4 else 40
        if version not in (4, 6) or p[9 if version == 4 else 6] != 6:
            continue
        end = struct.unpack_from(">H", p, 2)[0] if version == 4 else 40 + struct.unpack_from(">H", p, 4)[0]
        source, to, seq = struct.unpack_from(">HHI", p, head)
        body = head + (p[head + 12] >> 4) * 4
        if p[head + 13] & 2:
            yield t, source, to, seq + 1, None
        elif end > body:
            yield t, source, to, seq, p[body:end or None]


class Way:
    """One direction of a connection, in order; what was sent again counts once."""

    def __init__(self):
        self.base, self.pieces = None, {}

    def add(self, t, seq, data):
        if self.base is None:
            self.base = seq
        if data is not None:
            self.pieces.setdefault((seq - self.base) % (1 << 32), (t, data))

    def close(self):
        self.data, self.ready, latest = bytearray(), [], 0
        for off in sorted(self.pieces):
            t, data = self.pieces[off]
            assert off <= len(self.data), "a hole in a trace that should have none"
            data, latest = data[len(self.data) - off:], max(latest, t)
            if data:
                self.data += data
                self.ready.append((len(self.data), latest))

    def when(self, at):
        low, high = 0, len(self.ready)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.ready[middle][0] > at else (middle + 1, high)
        return self.ready[low][1]


def message_end(data, at, is_answer):
    end = data.index(b"\r\n\r\n", at) + 4
    head = data[at:end].decode("latin-1").lower()
    if "transfer-encoding: chunked" in head:
        while True:
            eol = data.index(b"\r\n", end)
            size = int(data[end:eol].split(b";")[0], 16)
            end = eol + 2 + size + 2
            if size == 0:
                return end
    for line in head.split("\r\n"):
        if line.startswith("content-length:"):
            return end + int(line[15:])
    return len(data) if is_answer else end


def exchanges(path):
    found, ways = [], {}
    for t, source, to, seq, data in segments(path):
        if data is None and (to, source) not in ways:
            ways[source, to], ways[to, source] = Way(), Way()
        ways.setdefault((source, to), Way()).add(t, seq, data)
    for (source, to), asking in ways.items():
        asking.close()
        if asking.data[:5] == b"HTTP/" or not asking.data:
            continue
        answering = ways.get((to, source), Way())
        answering.close()
        at = behind = 0
        while at < len(asking.data):
            end = message_end(asking.data, at, False)
            start, _, rest = bytes(asking.data[at:end]).partition(b"\r\n")
            answer, ready = b"", []
            if behind < len(answering.data):
                try:
                    over = min(message_end(answering.data, behind, True), len(answering.data))
                except ValueError:  # cut short
                    over = len(answering.data)
                answer = bytes(answering.data[behind:over])
                for stop, t in answering.ready:
                    if stop > behind:
                        ready.append((min(stop, over) - behind, t))
                    if stop >= over:
                        break
                behind = over
            found.append(Exchange(source, start.decode("latin-1"), rest.partition(b"\r\n\r\n")[2], asking.when(end - 1),
                                  answer, ready))
            at = end
    return sorted(found, key=lambda x: x.asked)


def time_errors(old, new):
    """ns by which each packet's bytes of old came later in new, counted from the request; both answers are equal."""
    at = 0
    for stop, t in old.ready:
        while new.ready[at][0] < stop:
            at += 1
        yield (new.ready[at][1] - new.asked) - (t - old.asked)
