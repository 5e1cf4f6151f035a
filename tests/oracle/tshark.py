"""What tshark says of a capture of traffic.py's, against the truth. Made with 4.0.17; where it differs: REASONS."""
import re
import subprocess
import xml.etree.ElementTree as ET

from capture_files import FIN, RST, SYN
from traffic import CLIENT, SERVER, name
from traffic_http import hashed

AGAIN = {"tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission"}
MISSING = re.compile(rb"\[\d+ bytes missing in capture file\]\0?")


class Frame:
    def __init__(self, packet):
        self.number = self.t = self.stream = None
        self.flags, self.messages, parts = set(), [], []
        for field in packet.iter("field"):
            key = field.get("name")
            if key == "frame.number":
                self.number = int(field.get("show"))
            elif key == "frame.time_epoch":
                seconds, fraction = field.get("show").split(".")
                self.t = int(seconds) * 10**9 + int(fraction)
            elif key == "tcp.stream":
                self.stream = int(field.get("show"))
            elif key.startswith("tcp.analysis."):
                self.flags.add(key)
        for proto in packet.findall("proto"):
            for field in proto.iter("field"):
                if field.get("name") == "tcp.segments":
                    parts = [int(f.get("show")) for f in field.findall("field")
                             if f.get("name") == "tcp.segment" and f.get("pos") == "0"]
            if proto.get("name") == "http":
                self.messages.append(Message(proto, min(parts, default=self.number), self))
                parts = []


class Message:
    def __init__(self, proto, first, frame):
        def of(key, what="show"):
            return next((f.get(what) for f in proto.iter("field") if f.get("name") == key), None)

        self.first, self.last, self.t = first, frame.number, frame.t
        self.method, self.target = of("http.request.method"), of("http.request.uri")
        self.status = int(of("http.response.code") or 0)
        self.body = bytes.fromhex(of("http.file_data", "value") or "")


def read(path, streams, out_of_order):
    """Frames by number, and bytes by stream; in two runs: while it follows, it does not put messages together rightly."""
    def run(*arguments):
        return subprocess.Popen(["tshark", "-r", path, *arguments, "-o",
                                 "tcp.reassemble_out_of_order:%s" % ("TRUE" if out_of_order else "FALSE")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ended(process):
        out, said = process.communicate()
        said = said.decode().replace('Running as user "root" and group "root". This could be dangerous.\n', "")
        assert process.returncode == 0 and said == "", "tshark: %d %s" % (process.returncode, said)
        return out

    packets = run("-T", "pdml", "-J", "frame tcp http tcp.segments")
    follow = run("-q", *(x for i in range(streams) for x in ("-z", "follow,tcp,raw,%d" % i)))
    frames = [Frame(packet) for packet in ET.fromstring(ended(packets)).iter("packet")]
    return {f.number: f for f in frames}, followed(ended(follow).decode())


def followed(text):
    """By stream: {port of the sender: bytes}."""
    out = {}
    for part in text.split("Follow: tcp,raw\n")[1:]:
        lines = part.split("\n")
        stream = int(lines[0].rsplit(" ", 1)[1])
        ports = [int(line.rsplit(":", 1)[1]) for line in lines[1:3]]
        ways = {port: bytearray() for port in ports}
        for line in lines[3:]:
            if line.startswith("="):
                break
            ways[ports[line.startswith("\t")]] += bytes.fromhex(line.strip())
        out[stream] = ways
    return out


def check(d, traffic, path):
    out_of_order = any("reorder" in c.trouble for c in traffic.connections)
    frames, follow = read(path, len(traffic.connections) + 2, out_of_order)
    d.note("seed %d frames" % traffic.seed, None, max(frames), traffic.frames_n)
    for c in traffic.connections:
        what = "seed %d connection %d %s %s" % (traffic.seed, c.number, "+".join(sorted(c.trouble)), c.how)
        first = next(p.frame for p in c.packets if p.flags & SYN or p.data)
        for p in c.packets:
            d.note("%s frame %d time" % (what, p.frame), None, frames[p.frame].t, p.t)
        check_bytes(d, what, c, follow.get(frames[first].stream, {}))
        check_counts(d, what, c, frames)
        check_messages(d, what, c, [frames[p.frame] for p in c.packets])


def bytes_reason(way):
    """An acknowledgement makes it give up what has not come (our T6: it may have been captured before the data)."""
    acked = 0
    for p in way.conn.packets:
        if p.side == way.side:
            if p.off is not None and p.off < acked and any(q is p for q in way.seen[p.off:p.off + len(p.data)]):
                return "an acknowledgement captured before its data: it takes that for lost"
        else:
            acked = max(acked, p.ack - way.conn.isn[way.side] - 1)
    return None


def check_bytes(d, what, c, ways):
    for side in (CLIENT, SERVER):
        way = c.ways[side]
        found = MISSING.sub(b"", bytes(ways.get(c.ports[side], b"")))
        d.note("%s bytes of %d" % (what, side), bytes_reason(way), (len(found), hashed(found)), (len(way.bytes), hashed(way.bytes)))


def again_reason(flags, p):
    if "tcp.analysis.out_of_order" in flags:
        return "a copy soon after the original: it says out of order"
    if p.fresh and not p.repeats:
        return "first seen behind what follows it: it says retransmission, of something that it has not seen"
    if len(p.data) == 1 and not p.repeats and not p.fresh:
        return "the last byte once more: we take it for a keep-alive probe, which makes bytes up"
    if p.repeats and p.fresh and not flags & AGAIN:
        return "old bytes and new ones in a segment: it says nothing"
    return None


def check_counts(d, what, c, frames):
    for p in c.packets:
        flags = frames[p.frame].flags
        here = "%s frame %d %s %s" % (what, p.frame, p.kind, sorted(f[13:] for f in flags))
        d.note(here + " again", again_reason(flags, p), bool(flags & AGAIN), p.repeats)
        if not p.flags & (SYN | RST | FIN):
            d.note(here + " zero window", None, "tcp.analysis.zero_window" in flags, p.window == 0)


def in_one_frame(way, a, b):
    return way.latest[a][0] == way.latest[b - 1][0]


def message_reason(way, pieces, pipelined_head):
    """Why tshark may not see a message, sent in these pieces (the head, then chunks), as it is."""
    begin, (head, *_) = pieces[0][0], [piece for _, piece in pieces]
    end = pieces[-1][0] + len(pieces[-1][1])
    if not in_one_frame(way, begin, begin + head.index(b"\n") + 1):
        return "a start line in pieces: it waits only for the rest of a message whose first line it has"
    if b"chunked" in head and any(not in_one_frame(way, at, at + piece.index(b"\n") + 1) for at, piece in pieces[1:]):
        return "a chunk's size in pieces: it may lose the message"
    if any(p.kind != "plain" and p.off is not None and p.off < end and p.off + len(p.data) > begin
           for p in way.conn.packets if p.side == way.side):
        return "a message of which something was sent again, cut anew or came late"
    if way.latest[begin][0] != way.seen[begin].frame:
        return "a message that was captured before the end of what precedes it"
    if pipelined_head:
        return "of several requests at once it remembers the last: whether it was a HEAD decides over all responses"
    return None


def nearest(found, want):
    """Of what was found what shares most with what was wanted."""
    return max(found, key=lambda m: sum(a == b for a, b in zip(m, want)), default=None)


def check_messages(d, what, c, frames):
    if any(way.gaps or way.first_bad <= way.end - way.start for way in c.ways):
        return
    messages = [m for f in frames for m in f.messages]
    client, server = c.ways
    asked = [m for m in messages if m.method is not None]
    answered = [m for m in messages if m.status >= 200]
    head = any(x.method == "HEAD" for x in c.talk)
    earlier = [None, None]  # why the latest message of a direction was not seen as it is

    def note(side, here, found, pieces, want):
        reason = message_reason(c.ways[side], pieces, side == SERVER and head and c.pipelined)
        if reason is None and (earlier[side] is not None or earlier[CLIENT] is not None and head):
            reason = "behind such a message, or an answer that it takes for that of a HEAD, or not, for want of one"
        got = nearest(found, want)
        d.note(here, reason, got, want)
        d.messages += got == want
        earlier[side] = None if got == want else reason

    for x in c.talk:
        here = "%s %s %s %s" % (what, x.method, x.target[:20], sorted(x.traits))
        if client.whole(x.asked, x.asked_end):
            want = (x.method, x.target, hashed(x.request_body), client.mark(x.asked)[3], *client.latest[x.asked_end - 1])
            found = [(m.method, m.target, hashed(m.body), m.first, m.last, m.t) for m in asked]
            note(CLIENT, here + " request", found, x.ask_pieces, want)
        if server.whole(x.answered, x.answered_end) and (server.fin is not None or not x.until_close):
            last = tuple(server.end_mark()[4:1:-2]) if x.until_close else server.latest[x.answered_end - 1]
            want = (x.status, hashed(x.body), server.mark(x.answered)[3], *last)
            found = [(m.status, hashed(m.body), m.first, m.last, m.t) for m in answered]
            note(SERVER, here + " response", found, x.answer_pieces, want)
