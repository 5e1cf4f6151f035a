"""Packets, streams and custom blocks of a pcapng file, read for the benches by nothing of tokaudit's."""
import bisect
import gzip
import json
import struct
from collections import namedtuple

Packet = namedtuple("Packet", "t_ns source target seq data wire_n")  # TCP over IPv4; data: what was captured


def blocks(path):
    """(type, body, tick in ns, link type) of each block of a file of little-endian sections, plain or gzip'd."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with (gzip.open if zipped else open)(path, "rb") as file:
        data = memoryview(file.read())
    at, tick, link = 0, 1000, 1
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8:at + size - 4]
        if kind == 1:
            link, tick = struct.unpack_from("<H", body)[0], resolution(body[8:])
        yield kind, body, tick, link
        at += size


def resolution(options):
    while len(options) >= 4:
        code, n = struct.unpack_from("<HH", options)
        if code == 9:
            return 10 ** (9 - options[4])
        options = options[4 + (n + 3) // 4 * 4:]
    return 1000


def packets(path):
    """Every Packet; None for one that is none of TCP over IPv4."""
    for kind, body, tick, link in blocks(path):
        if kind != 6:
            continue
        high, low, captured = struct.unpack_from("<III", body, 4)
        yield parse(body[20:20 + captured], (high << 32 | low) * tick, 14 if link == 1 else 0)


def parse(p, t_ns, ip):
    if len(p) < ip + 40 or p[ip] >> 4 != 4 or p[ip + 9] != 6 or (ip and p[12:14] != b"\x08\x00"):
        return None
    tcp = ip + (p[ip] & 15) * 4
    source, target, seq = struct.unpack_from(">HHI", p, tcp)
    body, end = tcp + (p[tcp + 12] >> 4) * 4, ip + struct.unpack_from(">H", p, ip + 2)[0]
    return Packet(t_ns, source, target, seq, p[body:end], end - body)


def customs(path, wanted):
    """The JSON of each of tokaudit's custom blocks of that kind."""
    for kind, body, _, _ in blocks(path):
        if kind != 0xBAD:
            continue
        text = bytes(body)
        start = text.find(b'{"kind"')
        if start < 0:
            continue
        found, _ = json.JSONDecoder().raw_decode(text[start:].decode("utf-8", "replace"))
        if found["kind"] == wanted:
            yield found


def ledger(path):
    return [entry for block in customs(path, "ledger") for entry in block["entries"]]


class Stream:
    """One direction of a connection: its bytes in order, and when each was first seen."""

    def __init__(self):
        self.base, self.pieces = None, []

    def add(self, p):
        if self.base is None:
            self.base = p.seq
        off = (p.seq - self.base + (1 << 31)) % (1 << 32) - (1 << 31)
        self.pieces.append((off, p.t_ns, bytes(p.data)))

    def close(self):
        """Of bytes that were sent again, the first time counts."""
        self.pieces.sort(key=lambda piece: piece[0])
        self.bytes, self.ends, self.times = bytearray(), [], []
        for off, t_ns, data in self.pieces:
            new = off + len(data) - len(self.bytes)
            if off > len(self.bytes) or new <= 0:
                continue
            self.bytes += data[len(data) - new:]
            self.ends.append(len(self.bytes))
            self.times.append(t_ns)

    def time_of(self, offset):
        return self.times[bisect.bisect_right(self.ends, offset)]


def streams(path, from_port):
    """What the server at from_port sent, by the client's port."""
    found = {}
    for p in packets(path):
        if p is not None and p.source == from_port and len(p.data):
            found.setdefault(p.target, Stream()).add(p)
    for stream in found.values():
        stream.close()
    return found


def requests(path, to_port, start=b"POST "):
    """(time of its first packet, client's port, place on the connection) of each request, in order of time. A request
    begins a packet; one that comes again is a retransmission."""
    found, seen, places = [], set(), {}
    for p in packets(path):
        if p is None or p.target != to_port or bytes(p.data[:len(start)]) != start or (p.source, p.seq) in seen:
            continue
        seen.add((p.source, p.seq))
        place = places.get(p.source, 0)
        places[p.source] = place + 1
        found.append((p.t_ns, p.source, place))
    return sorted(found)
