"""A capture of HTTP/1.1 traffic made up from a seed, and the truth about it: Traffic(seed).

Connections are talks of exchanges, put into TCP segments with the troubles that captures have, behind every link layer, in
every kind of file. The truth is what was sent, and, from the packets in their final order, when each byte was first seen.
"""
import ipaddress
import random as chance

import traffic_http
from capture_files import (ACK, FIN, IPV4, IPV6, LINKS, PSH, RAW, RST, SYN, UDP, Pcap, Pcapng, framed, ipv4, ipv6, tcp,
                           zipped)

CLIENT, SERVER = 0, 1
MS = 10**6
TROUBLES = ("reorder", "again", "overlap", "conflict", "loss", "probe", "zero-window", "midstream", "one-way", "snap",
            "fragments", "big", "silence")


def pieces_at(pieces, at):
    """[(where it begins, the piece)]"""
    out = []
    for piece in pieces:
        out.append((at, piece))
        at += len(piece)
    return out


class Packet:
    def __init__(self, conn, side, t, seq, ack, flags, window, data=b"", off=None, kind="plain"):
        self.conn, self.side, self.t, self.seq, self.ack, self.flags = conn, side, t, seq, ack, flags
        self.window, self.data, self.off, self.kind = window, data, off, kind
        self.kept = len(data)  # of these, so many were captured
        self.options = b""
        self.frame = 0
        self.repeats = self.fresh = False  # brings bytes that were there, bytes that were not


class Connection:
    """Both directions; packets in the order in which they were captured."""

    def __init__(self, random, number, t):
        self.random, self.number, self.t = random, number, t
        self.six = random.random() < 0.35
        self.ends = [self.address(), self.address()]
        self.ports = [40000 + number, random.choice((80, 8080))]
        self.trouble = set(random.sample(TROUBLES, random.choice((0, 1, 1, 2, 3))))
        if self.trouble & {"one-way", "snap", "midstream"}:
            self.trouble -= {"loss", "reorder", "conflict", "overlap", "again", "silence"}
        if "probe" in self.trouble:  # a byte made up by a probe must not come before the real one
            self.trouble -= {"reorder", "loss", "silence"}
        wraps = random.random() < 0.3
        self.isn = [(2**32 - random.randrange(1, 3000)) if wraps else random.randrange(2**32) for _ in range(2)]
        self.sent = [bytearray(), bytearray()]
        self.talk = traffic_http.exchanges(random)
        self.packets = []
        self.ended = None
        self.make()

    def address(self):
        return self.random.randbytes(16) if self.six else bytes([10]) + self.random.randbytes(3)

    # --- what was sent

    def send(self, side, flags, data=b"", window=None, kind="plain", off=None):
        self.t += self.random.choice((1000, 20000, 300000, 5 * MS))
        off = len(self.sent[side]) if off is None else off
        shift = 1 if flags & SYN else 0
        p = Packet(self, side, self.t, self.isn[side] + 1 - shift + off, self.acks(1 - side) if flags & ACK else 0, flags,
                   self.random.randrange(500, 65535) if window is None else window, bytes(data),
                   off if data else None, kind)
        self.packets.append(p)
        return p

    def acks(self, side):
        fin = any(p.flags & FIN for p in self.packets if p.side == side)
        return self.isn[side] + 1 + len(self.sent[side]) + fin

    def write(self, side, data, head):
        most = self.random.choice((1, 20, 536, 1460, 1460, 9000, 60000))
        if "big" in self.trouble and len(data) > 66000:
            most = 70000
        if most < 536 and (len(data) > 60 * most or (head and self.random.random() < 0.8)):
            most = 1460
        for at in range(0, len(data), most):
            piece = data[at:at + most]
            self.send(side, ACK | PSH, piece)
            self.sent[side] += piece
            self.trouble_after(side)
            if self.random.random() < 0.5:
                self.send(1 - side, ACK)

    def trouble_after(self, side):
        """What stands behind a segment."""
        random = self.random
        if "probe" in self.trouble and random.random() < 0.2:
            self.t += 200 * MS
            self.send(side, ACK, random.choice((b"", b"\0")), kind="keep-alive", off=len(self.sent[side]) - 1)
            self.send(1 - side, ACK)
        if "zero-window" in self.trouble and random.random() < 0.15:
            for _ in range(random.randrange(1, 3)):
                self.send(1 - side, ACK, window=0)
            self.send(1 - side, ACK, window=4000)

    def make(self):
        random = self.random
        self.send(CLIENT, SYN).options = b"\x02\x04\x05\xb4\x01\x03\x03\x07"
        self.send(SERVER, SYN | ACK)
        self.send(CLIENT, ACK)
        self.pipelined = random.random() < 0.25
        for i, x in enumerate(self.talk):
            self.ask(x)
            if self.pipelined and i < len(self.talk) - 1:
                continue
            for y in self.talk if self.pipelined else [x]:
                self.answer(y)
        self.close()
        for trouble in ("silence", "again", "overlap", "conflict", "reorder", "loss", "snap", "midstream", "one-way"):
            if trouble in self.trouble:
                getattr(self, trouble.replace("-", "_"))()
        self.packets.sort(key=lambda p: p.t)

    def ask(self, x):
        x.asked = len(self.sent[CLIENT])
        x.ask_pieces = pieces_at(x.request, x.asked)
        pieces = x.request if self.random.random() < 0.5 else [b"".join(x.request)]
        for i, piece in enumerate(pieces):
            self.write(CLIENT, piece, i == 0)
        x.asked_end = len(self.sent[CLIENT])
        if b"\r\nContent-Length:" in x.request[0]:
            x.counted[CLIENT] = x.asked + len(x.request[0]), x.asked_end

    def answer(self, x):
        long = "silence" in self.trouble and self.random.random() < 0.5
        self.t += self.random.randrange((20000 if long else 100) * MS)
        x.answered = len(self.sent[SERVER]) + x.first
        x.answer_pieces = pieces_at(x.response, len(self.sent[SERVER]))
        if self.random.random() < 0.1:
            pieces = [b"".join(x.response)]
        else:
            pieces = x.response
        for i, piece in enumerate(pieces):
            self.write(SERVER, piece, i == 0)
        x.answered_end = len(self.sent[SERVER])
        if "length" in x.traits:
            x.counted[SERVER] = x.answered - x.first + len(x.response[0]), x.answered_end

    def close(self):
        how = self.random.choice(("fin", "fin", "half", "rst", "none"))
        if self.talk[-1].until_close and how in ("half", "none"):
            how = "fin"
        self.how = how
        if how == "half":  # the client has said all; answers were already there
            self.send(CLIENT, FIN | ACK)
            self.send(SERVER, ACK)
            self.t += 50 * MS
            self.send(SERVER, FIN | ACK)
            self.send(CLIENT, ACK)
        elif how == "fin":
            self.send(CLIENT, ACK)
            self.send(SERVER, FIN | ACK)
            self.send(CLIENT, FIN | ACK)
            self.send(SERVER, ACK)
        else:
            self.send(CLIENT, ACK)
            self.send(SERVER, ACK)
            if how == "rst":
                self.send(self.random.randrange(2), RST | ACK)

    # --- what became of it

    def segments(self):
        """Indices of packets with data that may be troubled: what stands before the first FIN or RST."""
        stop = next((i for i, p in enumerate(self.packets) if p.flags & (FIN | RST)), len(self.packets))
        return [i for i in range(stop) if self.packets[i].off is not None and self.packets[i].kind == "plain"]

    def insert(self, p, i):
        """Behind packet i, and a little later than it."""
        stop = next((k for k, q in enumerate(self.packets) if q.flags & (FIN | RST)), len(self.packets))
        i = min(i, stop - 1)
        p.t = self.packets[i].t + 300
        self.packets.insert(i + 1, p)

    def copy(self, p, a, b, kind, data=None):
        q = Packet(self, p.side, p.t, p.seq + a, p.ack, p.flags, p.window,
                   self.sent[p.side][p.off + a:p.off + b] if data is None else data, p.off + a, kind)
        return q

    def again(self):
        for i in reversed(self.segments()):
            if self.random.random() < 0.15:
                p = self.packets[i]
                self.insert(self.copy(p, 0, len(p.data), "again"), i + self.random.choice((0, 1, 3, 20)))
        self.again_behind_fin()

    def again_behind_fin(self):
        fin = next((i for i, p in enumerate(self.packets) if p.flags & FIN), None)
        latest = [p for p in self.packets[:fin] if fin is not None and p.off is not None and p.side == self.packets[fin].side]
        if latest:
            q = self.copy(latest[-1], 0, len(latest[-1].data), "again")
            q.t = self.packets[fin].t + 300
            self.packets.insert(fin + 1, q)

    def overlap(self):
        """Segments cut anew: some of what went before, some that has not been."""
        for i in reversed(self.segments()):
            p = self.packets[i]
            if self.random.random() < 0.2:
                a = -self.random.randrange(min(p.off, 500) + 1)
                b = self.random.randrange(1, len(p.data) + 1)
                q = self.copy(p, a, b, "overlap")
                q.t = p.t - 300
                self.packets.insert(i, q)

    def conflict(self):
        """Other bytes in the place of some that were captured before: the first count."""
        for i in reversed(self.segments()):
            p = self.packets[i]
            if self.random.random() < 0.1 and len(p.data) > 1:
                self.insert(self.copy(p, 0, len(p.data), "conflict", bytes(b ^ 0x20 for b in p.data)), i + 1)

    def reorder(self):
        """A segment comes behind later ones of its direction."""
        for i in reversed(self.segments()):
            p = self.packets[i]
            if self.random.random() < 0.15:
                later = i
                for _ in range(self.random.randrange(1, 5)):
                    nxt = later + 1
                    # Not behind the other side's answer: that was sent by one who had it.
                    if nxt >= len(self.packets) or self.packets[nxt].flags & (FIN | RST) or \
                            (self.packets[nxt].side != p.side and self.packets[nxt].off is not None):
                        break
                    later = nxt
                if later > i:
                    del self.packets[i]
                    p.kind = "late" if p.kind == "plain" else p.kind
                    p.t = self.packets[later - 1].t + 300
                    self.packets.insert(later, p)

    def silence(self):
        """Of a body of known length a segment is not captured, and the other side takes its time."""
        inside = []
        for i in self.segments():
            p = self.packets[i]
            bodies = [x.counted[p.side] for x in self.talk]
            if len(p.data) > 1 and any(a <= p.off and p.off + len(p.data) <= b for a, b in bodies):
                inside.append(i)
        for i in sorted(self.random.sample(inside, min(2, len(inside))), reverse=True):
            del self.packets[i]

    def loss(self):
        """Segments that the receiver had and the capture has not."""
        some = self.segments()
        self.random.shuffle(some)
        gone = {id(self.packets[i]) for i in some[:self.random.randrange(1, 4)] if len(self.packets[i].data) > 1}
        self.packets = [p for p in self.packets if id(p) not in gone]

    def snap(self):
        most = self.random.choice((100, 400))
        for p in self.packets:
            p.kept = min(p.kept, most)

    def midstream(self):
        """The capture begins when the handshake and some exchanges are over."""
        x = self.random.choice(self.talk)
        if self.pipelined:
            x = self.talk[0]
        first = next(i for i, p in enumerate(self.packets) if p.side == CLIENT and p.off == x.asked and p.data)
        self.packets = self.packets[first:]

    def one_way(self):
        side = self.random.randrange(2)
        self.packets = [p for p in self.packets if p.side == side]


class Way:
    """The truth about one direction, from the packets in the order of the file."""

    def __init__(self, conn, side):
        self.conn, self.side = conn, side
        packets = conn.packets
        while packets and not packets[0].data and not packets[0].flags & SYN:
            packets = packets[1:]  # what begins no connection
        mine = [p for p in packets if p.side == side]
        begins = [p.off for p in mine if p.off is not None]
        syn = any(p.flags & SYN for p in packets)
        self.start = 0 if syn or not begins else begins[0]
        n = len(conn.sent[side])
        self.seen = [None] * n      # the packet that first had this byte
        self.data = bytearray(n)
        self.held = [False] * n     # its contents were captured
        self.again = self.zero_windows = 0
        highest, zero = 0, False
        for p in mine:
            if not p.flags & (SYN | RST):
                self.zero_windows += p.window == 0 and not zero
                zero = p.window == 0
            if p.off is None:
                continue
            end = p.off + len(p.data)
            fresh = [i for i in range(max(p.off, self.start), end) if self.seen[i] is None]
            p.repeats = len(fresh) < len(p.data) and not (len(p.data) == 1 and end == highest)
            p.fresh = bool(fresh)
            self.again += p.repeats
            for i in fresh:
                self.seen[i] = p
                if i - p.off < p.kept:
                    self.data[i] = p.data[i - p.off]
                    self.held[i] = True
            highest = max(highest, end)
        self.close(mine, packets)

    def close(self, mine, packets):
        """Where the direction ends, and what was lost of it."""
        conn = self.conn
        acks = [p.ack - conn.isn[1 - p.side] - 1 for p in packets if p.side != self.side and p.flags & ACK]
        seen = [i for i, p in enumerate(self.seen) if p is not None]
        fin = next((p for p in mine if p.flags & FIN), None)
        synced = bool(seen) or fin or any(p.flags & SYN and (p.side == self.side or p.flags & ACK) for p in packets)
        self.end = seen[-1] + 1 if seen else self.start
        if fin is not None:
            self.end = len(self.seen)
        elif synced and acks and max(acks) > self.end + 1:  # one number more may be a FIN that was not captured
            self.end = max(acks)
        self.fin = fin
        self.blind = not seen and fin is None
        self.held += [False] * (self.end - len(self.held))
        self.gaps, at = [], self.start
        while at < self.end:
            stop = at
            while stop < self.end and self.held[stop] == self.held[at]:
                stop += 1
            if not self.held[at]:
                self.gaps.append((at - self.start, stop - at))
            at = stop
        sent = conn.sent[self.side]
        bad = [i for i in range(self.start, self.end) if not self.held[i] or self.data[i] != sent[i]]
        counted = set()             # bytes of bodies of known length: without them all framing is there
        for x in conn.talk:
            counted.update(range(*x.counted[self.side]))
        self.first_bad = next(iter(bad), len(sent) + 1) - self.start
        self.first_unsure = next((i for i in bad if i not in counted), len(sent) + 1) - self.start
        self.bytes = bytes(b for b, held in zip(self.data[self.start:self.end], self.held[self.start:self.end]) if held)
        self.latest = []            # (frame, time) of all bytes up to this one
        frame = t = 0
        for p in self.seen:
            if p is not None:
                frame, t = max(frame, p.frame), max(t, p.t)
            self.latest.append((frame, t))

    def whole(self, a, b):
        """Were these bytes captured, and first as they were sent?"""
        return a >= self.start and b <= self.end and all(self.held[a:b]) and \
            self.data[a:b] == self.conn.sent[self.side][a:b]

    def mark(self, i):
        """As http_dump prints a place."""
        p = self.seen[i]
        frame, t = self.latest[i]
        return [i - self.start, p.t, t, p.frame, frame]

    def end_mark(self):
        frame, t = self.latest[-1]
        return [self.end - self.start, self.fin.t, max(t, self.fin.t), self.fin.frame, max(frame, self.fin.frame)]


class Traffic:
    def __init__(self, seed):
        self.random = random = chance.Random(seed)
        self.seed = seed
        t = random.randrange(1_500_000_000, 1_900_000_000) * 10**9
        self.connections = []
        for i in range(random.randrange(2, 6)):
            c = Connection(random, i, t + random.randrange(200 * MS))
            if self.connections and random.random() < 0.2:
                self.reuse(c)
            self.connections.append(c)
        self.capture()
        for c in self.connections:
            c.ways = [Way(c, side) for side in (CLIENT, SERVER)]

    def reuse(self, c):
        """The ports of the connection before it, once that is over."""
        before = self.connections[-1]
        if c.trouble & {"midstream", "one-way"} or before.trouble & {"one-way", "snap"}:
            return
        c.six, c.ends, c.ports = before.six, before.ends, before.ports
        shift = before.packets[-1].t + 100 * MS - c.packets[0].t
        if shift > 0:
            for p in c.packets:
                p.t += shift

    # --- the file

    def capture(self):
        random = self.random
        links = [random.choice(LINKS) for _ in range(random.choice((1, 2, 4)))]
        snaplen = 262144
        if random.random() < 0.5:
            link = links[0]
            out = Pcap(random.choice("<>"), random.random() < 0.5, link, snaplen)
            interfaces = [(link, 0, 0, snaplen)]
        else:
            interfaces = [(link, random.choice((6, 9, 9, 9, 0x80 | 20, 0x80 | 30, 7)), random.choice((0, 0, 1000)), snaplen)
                          for link in links]
            out = Pcapng(random.choice("<>"), interfaces)
        self.kind = type(out).__name__
        for c in self.connections:
            c.interface = random.randrange(len(interfaces))
            c.link = interfaces[c.interface][0]
            if c.link in (IPV4, IPV6):
                c.six = c.link == IPV6
                c.ends = [c.address(), c.address()]
            c.tags = random.choice(((), (), ((0x8100, 5),), ((0x88a8, 7), (0x8100, 5)), ((0x8100, 7), (0x8100, 9)),
                                    ((0x9100, 1), (0x8100, 2))))
            c.extensions = random.choice(((), (), (0,), (60,), (0, 60), (0, 43, 60)))
            c.options = random.choice((b"", b"", b"\x01\x01\x01\x00"))
        self.write(out, interfaces)

    def write(self, out, interfaces):
        random = self.random
        queue = sorted(((p.t, i, p) for c in self.connections for i, p in enumerate(c.packets)), key=lambda x: x[:2])
        udp = ipv4(b"\x0a\0\0\1", b"\x0a\0\0\2", b"\0\1\0\2\0\x0c\0\0abcd", 1, UDP)[0]
        ident = 0
        for _, _, p in queue:
            c = p.conn
            if random.random() < 0.05:
                link = interfaces[0][0]
                if link != IPV6:
                    out.noise(random, framed(link, udp))
            if self.kind == "Pcapng" and random.random() < 0.01:
                out.section(random.choice("<>"))
            ident += 1
            frames = self.frames(p, ident)
            for data in frames:
                wire = len(data)
                if p.kept < len(p.data) and len(frames) == 1:
                    data = data[:len(data) - (len(p.data) - p.kept)]
                p.frame, stamped = out.packet(c.interface, p.t, data, wire)
            p.t = stamped
        self.data = b"".join(out.parts)
        self.frames_n = out.frames
        self.zipped = random.random() < 0.3
        if self.zipped:
            self.data = zipped(self.data, random)

    def frames(self, p, ident):
        c, random = p.conn, self.random
        source, to = c.ends[p.side], c.ends[1 - p.side]
        segment = tcp(c.ports[p.side], c.ports[1 - p.side], p.seq, p.ack, p.flags, p.window, p.options, p.data)
        cuts = ()
        if "fragments" in c.trouble and 600 < len(segment) < 65000 and p.kept == len(p.data):
            step = random.choice((256, 512, 1400))
            cuts = tuple(range(step, len(segment), step))
        big = len(segment) > 65400  # BIG TCP: the length has no room in the header
        if c.six:
            extensions = tuple(kind for kind in c.extensions if kind != 0 or not big)  # one hop-by-hop header at most
            some = ipv6(source, to, segment, ident, extensions=extensions, cuts=cuts, jumbo=big)
        else:
            some = ipv4(source, to, segment, ident, options=c.options, cuts=cuts, big=big)
        if len(some) > 1 and random.random() < 0.5:
            random.shuffle(some)
        return [framed(c.link, packet, c.tags if c.link not in (RAW, IPV4, IPV6) else (), 1) for packet in some]


def name(c):
    """Endpoints as http_dump prints them."""
    def text(side):
        a = ipaddress.ip_address(c.ends[side])
        return ("[%s]:%d" if c.six else "%s:%d") % (a, c.ports[side])
    return text(CLIENT), text(SERVER)
