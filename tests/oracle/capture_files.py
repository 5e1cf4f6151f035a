"""Captures written byte by byte: link layers, IP, TCP; pcap and pcapng of every kind that traces/FORMAT.md names."""
import gzip
import struct

SYN, FIN, RST, PSH, ACK = 2, 1, 4, 8, 16
NULL, ETHERNET, RAW, LOOP, SLL, IPV4, IPV6, SLL2 = 0, 1, 101, 108, 113, 228, 229, 276
LINKS = (NULL, ETHERNET, RAW, LOOP, SLL, IPV4, IPV6, SLL2)
TCP, UDP, FRAGMENT = 6, 17, 44


def tcp(source, to, seq, ack, flags, window, options, data):
    return struct.pack(">HHIIBBHHH", source, to, seq & 0xffffffff, ack & 0xffffffff, 20 + len(options) << 2, flags,
                       window, 0, 0) + options + data


def ipv4_header(source, to, protocol, length, ident, place, options):
    return struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, length, ident & 0xffff, place, 64, protocol, 0,
                       source, to) + options


def ipv4(source, to, payload, ident, protocol=TCP, options=b"", cuts=(), big=False):
    """One packet; with cuts (multiples of 8) its fragments, in order."""
    header = 20 + len(options)
    if not cuts:
        length = 0 if big else header + len(payload)
        return [ipv4_header(source, to, protocol, length, ident, 0x4000, options) + payload]
    ends = [0, *cuts, len(payload)]
    return [ipv4_header(source, to, protocol, header + b - a, ident, a // 8 | (0x2000 if b < len(payload) else 0), options)
            + payload[a:b] for a, b in zip(ends, ends[1:])]


def ipv6_extension(kind, following):
    """(what announces it, its bytes)"""
    bodies = {0: b"\x01\x04\0\0\0\0", 60: b"\x01\x0c" + bytes(12), 43: b"\x00\x00\0\0\0\0"}
    body = bodies[kind]
    return struct.pack(">BB", following, (len(body) + 2) // 8 - 1) + body


def ipv6(source, to, payload, ident, protocol=TCP, extensions=(), cuts=(), big=False, jumbo=False):
    def packet(first, rest):
        length = 0 if big or jumbo else len(rest)
        return struct.pack(">IHBB16s16s", 0x60000000, length, first, 64, source, to) + rest

    chain, following = b"", FRAGMENT if cuts else protocol
    for kind in reversed(extensions):
        chain = ipv6_extension(kind, following) + chain
        following = kind
    if jumbo:
        length = 8 + len(chain) + len(payload)
        chain = struct.pack(">BBBBI", following, 0, 0xc2, 4, length) + chain
        following = 0
    if not cuts:
        return [packet(following, chain + payload)]
    ends = [0, *cuts, len(payload)]
    return [packet(following, chain + struct.pack(">BBHI", protocol, 0, a | (b < len(payload)), ident) + payload[a:b])
            for a, b in zip(ends, ends[1:])]


def framed(link, packet, tags=(), index=1, big_endian=False):
    """A packet behind the header of its link layer; tags: (EtherType, VLAN) outermost first."""
    six = packet[0] >> 4 == 6
    ether = 0x86dd if six else 0x0800
    tail = b"".join(struct.pack(">HH", vlan, following) for (_, vlan), following in
                    zip(tags, [t for t, _ in tags[1:]] + [ether]))
    outer = tags[0][0] if tags else ether
    if link == ETHERNET:
        frame = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + struct.pack(">H", outer) + tail + packet
        return frame + bytes(max(0, 60 - len(frame)))
    if link == SLL:
        return struct.pack(">HHHQH", 0, 1, 6, 0x0200000000010000, outer) + tail + packet
    if link == SLL2:
        return struct.pack(">HHIHBBQ", outer, 0, index, 1, 0, 6, 0x0200000000010000) + tail + packet
    if link in (NULL, LOOP):
        return struct.pack(">I" if link == LOOP or big_endian else "<I", 30 if six else 2) + packet
    return packet


class Pcap:
    """Classic, one link type. packet() returns the frame's number, and the time to what the file can hold."""

    def __init__(self, order, nano, link, snaplen):
        self.order, self.nano, self.frames = order, nano, 0
        self.parts = [struct.pack(order + "IHHiIII", 0xa1b23c4d if nano else 0xa1b2c3d4, 2, 4, 0, 0, snaplen, link)]

    def packet(self, _, t_ns, data, wire):
        unit = 1 if self.nano else 1000
        self.parts.append(struct.pack(self.order + "IIII", t_ns // 10**9, t_ns % 10**9 // unit, len(data), wire) + data)
        self.frames += 1
        return self.frames, t_ns // unit * unit

    def noise(self, random, udp):
        self.packet(0, random.randrange(10**18), udp, len(udp))


class Pcapng:
    """Interfaces: (link, if_tsresol, if_tsoffset in seconds, snaplen)."""

    def __init__(self, order, interfaces):
        self.interfaces, self.frames, self.parts = interfaces, 0, []
        self.section(order)

    def section(self, order):
        self.order = order
        self.block(0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1) + self.options((4, b"traffic.py")))
        for link, resolution, offset, snaplen in self.interfaces:
            options = [(2, b"eth0"), (9, bytes([resolution]))]
            if offset:
                options.append((14, struct.pack(order + "q", offset)))
            self.block(1, struct.pack(order + "HHI", link, 0, snaplen) + self.options(*options))

    def options(self, *some):
        text = b"".join(struct.pack(self.order + "HH", code, len(v)) + v + bytes(-len(v) % 4) for code, v in some)
        return text + bytes(4)

    def block(self, kind, body):
        body += bytes(-len(body) % 4)
        self.parts.append(struct.pack(self.order + "II", kind, len(body) + 12) + body +
                          struct.pack(self.order + "I", len(body) + 12))

    def packet(self, interface, t_ns, data, wire):
        _, resolution, offset, _ = self.interfaces[interface]
        units = 1 << (resolution & 0x7f) if resolution & 0x80 else 10**resolution
        ticks = (t_ns - offset * 10**9) * units // 10**9
        self.block(6, struct.pack(self.order + "IIIII", interface, ticks >> 32, ticks & 0xffffffff, len(data), wire) + data)
        self.frames += 1
        return self.frames, offset * 10**9 + ticks * 10**9 // units

    def noise(self, random, udp):
        """What stands between packets; custom blocks, the journal and packets without a time are frames too."""
        kind = random.choice(("simple", "names", "statistics", "unknown", "custom", "journal"))
        if kind == "simple":
            self.block(3, struct.pack(self.order + "I", len(udp)) + udp)
        elif kind == "names":
            self.block(4, struct.pack(self.order + "HH", 1, 10) + b"\x7f\0\0\x01local\0\0\0" + bytes(4) + bytes(4))
        elif kind == "statistics":
            self.block(5, struct.pack(self.order + "III", 0, 0, 0) + self.options((4, struct.pack(self.order + "Q", 5))))
        elif kind == "unknown":
            self.block(0x70000001, random.randbytes(random.randrange(40)))
        elif kind == "custom":
            self.block(0xbad, struct.pack(self.order + "I", 99999) + b"of others")
        else:
            self.block(9, b"__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=hello\n")
        self.frames += kind in ("simple", "custom", "journal")


def zipped(data, random):
    """In one gzip member or several."""
    cut = random.randrange(len(data)) if random.random() < 0.5 else 0
    return b"".join(gzip.compress(part, 6, mtime=0) for part in (data[:cut], data[cut:]) if part)
