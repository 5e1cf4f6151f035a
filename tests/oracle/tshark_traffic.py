"""Our reading of captures against tshark's, and both against the truth, on traffic that traffic.py makes up.

    tshark_traffic.py HTTP_DUMP [SEEDS [FIRST]]

Held against the truth: of each connection the bytes of both directions, what was lost of them, retransmissions and zero
windows; of each exchange method, target, status, bodies or events without chunks and codings, and of its first and last
byte the place, the times and the frames. tshark is a second witness, not the law: where it differs from the truth, the
table says why, and nothing else may differ.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import tshark  # noqa: E402
from capture_files import SYN  # noqa: E402
from traffic import CLIENT, SERVER, Traffic, name  # noqa: E402
from traffic_http import hashed  # noqa: E402


class Differences:
    def __init__(self):
        self.bad, self.listed, self.checked = [], {}, 0
        self.messages = 0  # that tshark sees as they are

    def equal(self, what, found, expected):
        self.checked += 1
        if found != expected:
            self.bad.append("%s: %r, expected %r" % (what, found, expected))

    def note(self, what, reason, found, expected):
        """Of tshark: reason None, nothing is known that would explain it."""
        self.checked += 1
        if found == expected:
            return
        if reason is None:
            self.bad.append("tshark, %s: %r, expected %r" % (what, found, expected))
        else:
            self.listed[reason] = self.listed.get(reason, 0) + 1


# --- ours against the truth ----------------------------------------------------------------------

def dumped(dump, path):
    out = subprocess.run([dump, path], capture_output=True, check=True).stdout
    lines = [json.loads(line) for line in out.decode().splitlines()]
    return [x for x in lines if "nth" not in x], [x for x in lines if "nth" in x]


def merged(gaps):
    out = []
    for off, n in gaps:
        if out and out[-1][0] + out[-1][1] == off:
            out[-1] = (out[-1][0], out[-1][1] + n)
        else:
            out.append((off, n))
    return out


def check_connection(d, what, c, ours):
    for side, key in ((CLIENT, "from_client"), (SERVER, "from_server")):
        way, found = c.ways[side], ours[key]
        gaps = merged([tuple(g) for g in json.loads("[%s]" % found["gaps"])])
        expected = way.gaps
        if way.blind and gaps and gaps[-1][1] == expected[-1][1] - 1:  # what was acknowledged last was a FIN, or a byte
            expected = gaps
        d.equal("%s %s gaps" % (what, key), gaps, expected)
        d.equal("%s %s bytes" % (what, key), (found["bytes"], found["sha256"]), (len(way.bytes), hashed(way.bytes)))
    for count in ("retransmissions", "zero_windows"):
        attribute = {"retransmissions": "again"}.get(count, count)
        d.equal("%s %s" % (what, count), ours[count], sum(getattr(w, attribute) for w in c.ways))


def wanted(c):
    """By the place of the request: what must be said of the exchanges that were captured whole."""
    client, server = c.ways
    out = {}
    for x in c.talk:
        if not client.whole(x.asked, x.asked_end) or not server.whole(x.answered - x.first, x.answered_end):
            continue
        if x.until_close and server.fin is None:
            continue
        response = {"status": x.status, "interim": x.interim, "bytes": x.wire_body, "decoded": len(x.body),
                    "stream": x.stream, "complete": True, "first": server.mark(x.answered),
                    "last": server.end_mark() if x.until_close else server.mark(x.answered_end - 1)}
        if x.stream == "none":
            response["body"] = hashed(x.body)
        else:
            response["n_events"], response["events"] = len(x.events), x.events_hash()
        request = {"method": x.method, "target": x.target, "complete": True, "bytes": len(x.request_body),
                   "body": hashed(x.request_body), "first": client.mark(x.asked), "last": client.mark(x.asked_end - 1)}
        out[x.asked - client.start] = (x, {"request": request, "response": response})
    return out


def first_late(c):
    """Where the first request is that was captured behind its answer: from there on, nobody can tell."""
    for x in c.talk:
        request, response = c.ways[CLIENT].seen[x.asked], c.ways[SERVER].seen[x.answered]
        if request is not None and response is not None and request.frame > response.frame:
            return x.asked
    return len(c.sent[CLIENT]) + 1


def check_exchanges(d, what, c, ours):
    """Behind a loss of framing an exchange may be said to be damaged though it is not, but nothing may be made up."""
    whole, found = wanted(c), {x["request"]["first"][0]: x for x in ours}
    spoiled = [way.start + way.first_unsure for way in c.ways]
    late = first_late(c)
    for place, (x, want) in whole.items():
        here = "%s, %s %s at %d" % (what, x.method, x.target[:20], place)
        said = found.pop(place, None)
        sure = x.asked_end <= min(spoiled[CLIENT], late) and x.answered_end <= spoiled[SERVER] and \
            want["request"]["first"][4] < want["response"]["first"][3]  # captured before its answer
        if not sure and (said is None or said["damaged"] or not said["response"]["complete"]):
            continue
        if said is None:
            d.equal(here, said, "an exchange")
            continue
        for half in ("request", "response"):
            for key, value in want[half].items():
                d.equal("%s, %s %s" % (here, half, key), said[half][key], value)
    if not any("conflict" == p.kind for p in c.packets):
        d.equal(what + ", made up", [x for x in found.values() if not x["damaged"] and x["request"]["complete"] and
                                     x["response"]["complete"]], [])


def check_ours(d, traffic, connections, exchanges):
    left = list(connections)
    for c in traffic.connections:
        first = next(p.frame for p in c.packets if p.flags & SYN or p.data)
        what = "seed %d connection %d %s %s" % (traffic.seed, c.number, "+".join(sorted(c.trouble)), c.how)
        found = next((x for x in left if x["client"] == name(c)[0] and x["first_frame"] == first), None)
        if found is None:
            d.equal(what, [x["first_frame"] for x in left], first)
            continue
        left.remove(found)
        check_connection(d, what, c, found)
        check_exchanges(d, what, c, [x for x in exchanges if x["conn"] == found["conn"]])
    d.equal("seed %d connections" % traffic.seed, len(left), 0)


def main():
    dump = sys.argv[1]
    seeds, first = (int(x) for x in (sys.argv[2:] + ["40", "21"][len(sys.argv) - 2:]))
    d = Differences()
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/it"
        for seed in range(first, first + seeds):
            traffic = Traffic(seed)
            pathlib.Path(path).write_bytes(traffic.data)
            check_ours(d, traffic, *dumped(dump, path))
            tshark.check(d, traffic, path)
    for line in d.bad[:40]:
        print(line[:600], file=sys.stderr)
    for reason, n in sorted(d.listed.items()):
        print("%6d times tshark differs: %s" % (n, reason))
    print("%d seeds: %d facts compared, %d messages as tshark has them, %d differences" %
          (seeds, d.checked, d.messages, len(d.bad)))
    sys.exit(1 if d.bad or d.messages < 5 * seeds else 0)


main()
