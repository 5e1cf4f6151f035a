"""Recomputes the figures of a trace's requests with tshark and Python, and holds `tokaudit analyze` to them.

    recompute.py TOKAUDIT TRACE

tshark gives the TCP payloads with their times and frame numbers; everything above (order, HTTP/1.1, chunks, SSE, JSON,
the definitions of the README) is written again here, in another language, by the documents and not by the C code. Times
must agree to the nanosecond, frames exactly, rates to a part in 10^9.
"""
import json
import subprocess
import sys


def segments(trace):
    fields = ["frame.number", "frame.time_epoch", "tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.payload"]
    command = ["tshark", "-r", trace, "-o", "tcp.relative_sequence_numbers:TRUE", "-Y", "tcp.len>0", "-T", "fields"]
    for f in fields:
        command += ["-e", f]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        number, epoch, stream, source, to, seq, payload = line.split("\t")
        seconds, _, fraction = epoch.partition(".")
        t_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
        yield int(number), t_ns, int(stream), int(source), int(to), int(seq), bytes.fromhex(payload)


class Stream:
    """Bytes of one direction in order; ready[i] is the time and frame at which byte i could be read."""

    def __init__(self):
        self.pieces = {}

    def add(self, seq, data, t_ns, frame):
        self.pieces.setdefault(seq, (data, t_ns, frame))

    def close(self):
        self.data, self.ready = bytearray(), []
        latest, at = (0, 0), 1
        for seq in sorted(self.pieces):
            data, t_ns, frame = self.pieces[seq]
            data = data[at - seq:] if seq < at else data
            assert seq <= at, "a hole in an example trace"
            latest = max(latest, (t_ns, frame), key=lambda x: x[0])
            self.data += data
            self.ready += [latest] * len(data)
            at += len(data)


def head_end(data, at):
    end = data.index(b"\r\n\r\n", at) + 4
    lines = data[at:end].decode("latin-1").split("\r\n")
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
    return end, lines[0], fields


def body(data, at, fields):
    """The body's bytes as indices into data, and where the message ends."""
    if "chunked" in fields.get("transfer-encoding", ""):
        indices = []
        while True:
            eol = data.index(b"\r\n", at)
            size = int(data[at:eol].split(b";")[0], 16)
            at = eol + 2
            if size == 0:
                return indices, data.index(b"\r\n", at) + 2
            indices += range(at, at + size)
            at += size + 2
    n = int(fields.get("content-length", "0"))
    return list(range(at, at + n)), at + n


def messages(stream):
    at = 0
    while at < len(stream.data):
        end, start, fields = head_end(stream.data, at)
        indices, after = body(stream.data, end, fields)
        yield at, end, start, fields, indices, after
        at = after


def events(stream, indices):
    """data of each SSE event, with the index of the line end that completed it."""
    line, data = bytearray(), []
    for i in indices:
        if stream.data[i] != 10:
            line.append(stream.data[i])
            continue
        if not line and data:
            yield b"\n".join(data).decode("utf-8"), i
            data = []
        elif line.startswith(b"data:"):
            data.append(bytes(line[5:].removeprefix(b" ")))
        line = bytearray()


def figures(request, response, ask, answer):
    begin, _, _, _, _, after = ask
    head, _, _, _, indices, end = answer
    t0, t0_end = request.ready[begin][0], request.ready[after - 1][0]
    out, first, tokens, stated = [], None, None, None
    for text, at in events(response, indices):
        t, frame = response.ready[at]
        if first is None:
            first = t
        if text == "[DONE]":
            continue
        chunk = json.loads(text)
        for choice in chunk.get("choices", []):
            if choice.get("delta", {}).get("content"):
                out.append((t, frame))
        if chunk.get("usage"):
            tokens = chunk["usage"]["completion_tokens"]
        if chunk.get("timings"):
            stated = chunk["timings"]["predicted_per_second"]
    window, e2el = out[-1][0] - out[0][0], out[-1][0] - t0
    reads = len({frame for _, frame in out})
    found = {
        "ttfb": (response.ready[head][0] - t0_end) / 1e9,
        "ttfr": (first - t0) / 1e9,
        "ttft": (out[0][0] - t0) / 1e9,
        "e2el": e2el / 1e9,
        "stream_end": (response.ready[end - 1][0] - t0) / 1e9,
        "decode_window": window / 1e9,
        "e2e_output_tps": tokens / (e2el / 1e9),
        "stated_tps": stated,
    }
    n1 = sum(frame == out[0][1] for _, frame in out)
    open_gates = len(out) >= 3 and reads >= 3 and tokens >= 8 and window >= 50e6 and window >= 0.05 * e2el
    found["output_tps_user"] = (tokens - n1) / (window / 1e9) if open_gates else None
    return t0, {"events": len(out), "stated": tokens, "reads": reads}, found


def recomputed(trace):
    streams = {}
    for number, t_ns, stream, source, to, seq, data in segments(trace):
        pair = streams.setdefault(stream, {})
        pair.setdefault((source, to), Stream()).add(seq, data, t_ns, number)
    found = []
    for pair in streams.values():
        for s in pair.values():
            s.close()
        ways = {s.data[:5] == b"HTTP/": s for s in pair.values()}
        if len(ways) < 2:
            continue
        for ask, answer in zip(messages(ways[False]), messages(ways[True])):
            if ask[2].startswith("POST "):
                found.append(figures(ways[False], ways[True], ask, answer))
    return sorted(found, key=lambda f: f[0])


def main():
    tokaudit, trace = sys.argv[1:3]
    run = subprocess.run([tokaudit, "analyze", trace, "--format", "json"], capture_output=True, text=True, check=True)
    analysis = json.loads(run.stdout)
    epoch = int(analysis["traces"][0]["epoch_ns"])
    theirs = [r for r in analysis["requests"] if r["dialect"]]
    ours = recomputed(trace)
    assert len(theirs) == len(ours) > 0, (len(theirs), len(ours))
    figures_held = 0
    for r, (t0, counts, expected) in zip(theirs, ours):
        assert r["t0_ns"] + epoch == t0, (r["id"], r["t0_ns"] + epoch, t0)
        assert r["tokens"]["events"] == counts["events"] and r["tokens"]["stated"] == counts["stated"], r["id"]
        assert r["reads"] == counts["reads"], (r["id"], r["reads"], counts)
        for name, want in expected.items():
            got = r["metrics"][name]["value"]
            agrees = got is want if want is None or got is None else abs(got - want) <= 1e-9 * max(abs(want), 1e-3)
            assert agrees, (r["id"], name, got, want)
            figures_held += 1
    print(f"{trace}: {len(ours)} requests, {figures_held} figures agree")


if __name__ == "__main__":
    main()
