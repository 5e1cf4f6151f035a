"""The bars of replay and serve, judged on the wire: what dumpcap records (tokaudit capture, where there is none), held
against the ledger's due times, the server's truth, and a bare peer of the same run.

    replay.py TOKAUDIT HTTP_BARE FOLDER [rate|llm|barrier|stream|flood...]     (default all; needs the right to capture)

Prints the tables of BENCHMARKS.md. A request's time on the wire is that of its first packet. Peers are those that PATH
has; aiperf and guidellm need TOKENIZER, a folder with a tokenizer of theirs, too (tests/real/peers.sh makes one).
"""
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import wire

RATE, RATE_S = 1000, 20
LLM_RATE, LLM_S, LLM_TOKENS = 25, 20, 32
PAIRS, CROWD, CROWDS = 400, 256, 50
BARE_APART_NS = 2 * 10**7  # between rounds of http_bare release, which pauses for longer
STREAMS, STREAM_TPS, STREAM_TOKENS = 256, 45, 700
FLOOD_STREAMS, FLOOD_TPS, FLOOD_TOKENS = 16, 5000, 10000
IDEAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../replay/profiles/ideal.json")
HEADERS = [["Content-Type", "application/json"]]


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def us(values):
    """p50, p99 and the largest, in microseconds from nanoseconds."""
    return " | ".join(f"{quantile(values, q) / 1000:.1f}" for q in (0.5, 0.99, 1))


class Turns:
    """How often a process's loop got a processor, and how long it waited for one in all: the kernel's own count, of its
    first thread, as it was last seen."""

    def __init__(self, pid):
        self.pid, self.waited_s, self.n, self.over = pid, 0, 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()

    def watch(self):
        while not self.over.wait(0.1):
            try:
                with open(f"/proc/{self.pid}/schedstat") as file:
                    _, waited_ns, n = map(int, file.read().split())
            except (OSError, ValueError):  # gone, or a kernel that does not count
                return
            if n > 0:
                self.waited_s, self.n = waited_ns / 1e9, n

    def end(self):
        self.over.set()
        self.watcher.join()

    def said(self):
        return f"{self.waited_s:.2f} s in {self.n} turns" if self.n > 0 else "not counted here"


class Bench:
    def __init__(self, tokaudit, bare, folder):
        self.tokaudit, self.bare, self.folder = tokaudit, bare, folder
        os.makedirs(folder, exist_ok=True)
        self.judge = "dumpcap" if shutil.which("dumpcap") else "tokaudit capture"

    def path(self, name):
        return os.path.join(self.folder, name)

    def judged(self, port, command):
        """Runs command while the judge records the port; returns the recording's path and what command said."""
        path = self.path("judge.pcapng")
        recorder = (["dumpcap", "-q", "-i", "lo", "-B", "64", "-f", f"tcp port {port}", "-w", path]
                    if self.judge == "dumpcap" else [self.tokaudit, "capture", "-p", str(port), "-o", path])
        with open(self.path("judge.said"), "w") as said:
            judge = subprocess.Popen(recorder, stderr=said)
        time.sleep(0.5)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        turns = Turns(run.pid)
        said = run.communicate()
        turns.end()
        done = subprocess.CompletedProcess(command, run.returncode, *said)
        done.turns = turns
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        done.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        time.sleep(0.5)
        judge.send_signal(signal.SIGINT)
        judge.wait()
        with open(self.path("judge.said")) as said:
            if re.search(r"DROPPED|dropped[^:]*: \d+/[1-9]", said.read()):
                print("the judge lost packets: this part is void")
        return path, done

    def replay(self, plan, port):
        """Drives the plan; returns the judge's recording and the ledger."""
        name, trace = self.path("plan.jsonl"), self.path("replay.pcapng.gz")
        with open(name, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in plan)
        judged, done = self.judged(port, [self.tokaudit, "replay", name, "-t", f"http://127.0.0.1:{port}", "-o", trace])
        if done.returncode != 0:
            sys.exit(f"replay: status {done.returncode}: {done.stderr}")
        return judged, wire.ledger(trace), trace, done


class BareServer:
    def __init__(self, bare):
        self.process = subprocess.Popen([bare, "serve"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def request(i, t_ns, **more):
    return {"id": i, "t_ns": t_ns, "name": "r", "path": "/v1/chat/completions", "headers": HEADERS, "body": "{}"} | more


# --- rate ---------------------------------------------------------------------------------------


def lateness(times, rate):
    """Against the earliest grid of the rate that no request is ahead of: what can be said without a ledger."""
    off = [t - i * 10**9 // rate for i, t in enumerate(times)]
    return [o - min(off) for o in off]


def bench_rate(b):
    print(f"\n### Send error at {RATE} requests/s, open loop, {RATE_S} s\n")
    print("| | requests | p50 µs | p99 µs | max µs |\n|---|--:|--:|--:|--:|")
    with BareServer(b.bare) as server:
        plan = [request(i, 10**9 + i * 10**9 // RATE) for i in range(RATE * RATE_S)]
        judged, ledger, _, _ = b.replay(plan, server.port)
        on_wire = {(port, nth): t for t, port, nth in wire.requests(judged, server.port)}
        due = {(e["local_port"], e["nth"]): int(e["due_ns"]) for e in ledger}
        errors = [on_wire[place] - due[place] for place in due if place in on_wire]
        print(f"| tokaudit replay: wire minus due | {len(errors)} | {us(errors)} |")
        print(f"| tokaudit replay: wire against its best grid | {len(on_wire)} | {us(lateness(sorted(on_wire.values()), RATE))} |")
        judged, done = b.judged(server.port, [b.bare, "rate", str(RATE), str(RATE_S), str(server.port)])
        times = [t for t, _, _ in wire.requests(judged, server.port)]
        print(f"| a bare loop of sleep and write: wire against its best grid | {len(times)} | {us(lateness(times, RATE))} |")
        peer = shutil.which("oha", path=os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin"))
        if peer is None:
            print("\nnot installed: oha")
            return
        judged, done = b.judged(server.port, [peer, "--no-tui", "-q", str(RATE), "-z", f"{RATE_S}s", "-c", "50", "-m", "POST",
                                              "-d", "{}", f"http://127.0.0.1:{server.port}/v1/chat/completions"])
        if done.returncode != 0:
            sys.exit(f"oha: {done.stderr}")
        times = [t for t, _, _ in wire.requests(judged, server.port)]
        print(f"| oha -q {RATE}: wire against its best grid | {len(times)} | {us(lateness(times, RATE))} |")


# --- LLM load -----------------------------------------------------------------------------------


def llm_peers(port):
    """The peers that are installed, each with its command for the same load."""
    url, tokenizer = f"http://127.0.0.1:{port}", os.environ.get("TOKENIZER", "")
    n = LLM_RATE * LLM_S
    commands = {
        "aiperf": ["profile", "-m", "bench", "--endpoint-type", "chat", "--streaming", "-u", url, "--tokenizer", tokenizer,
                   "--request-count", str(n), "--request-rate", str(LLM_RATE), "--arrival-pattern", "constant",
                   "--synthetic-input-tokens-mean", "60", "--output-tokens-mean", str(LLM_TOKENS), "--ui", "none"],
        "guidellm": ["run", "--backend", f"kind=openai_http,target={url},model=bench", "--profile",
                     f"kind=constant,rate={LLM_RATE}", "--constraint", f"kind=max_requests,count={n}", "--tokenizer",
                     f"kind=huggingface_auto,model={tokenizer}", "--data",
                     f"kind=synthetic_text,prompt_tokens=60,output_tokens={LLM_TOKENS}", "--output",
                     "kind=json,path=guidellm.json", "--disable-progress"]}
    for name, arguments in commands.items():
        if shutil.which(name) is None or not os.path.isdir(tokenizer):
            print(f"| {name}: not installed, or no TOKENIZER | | | | | |")
        else:
            yield name, [name] + arguments


def bench_llm(b):
    print(f"\n### {LLM_RATE} streamed chats of {LLM_TOKENS} tokens a second, {LLM_S} s, open loop: wire against its best grid\n")
    print("| | requests | p50 µs | p99 µs | max µs | CPU s |\n|---|--:|--:|--:|--:|--:|")

    def row(name, judged, port, done):
        times = [t for t, _, _ in wire.requests(judged, port)]
        print(f"| {name} | {len(times)} | {us(lateness(times, LLM_RATE))} | {done.cpu_s:.2f} |", flush=True)

    server, port = start_server(b, 200)
    body = json.dumps({"model": "bench", "stream": True, "max_tokens": LLM_TOKENS,
                       "messages": [{"role": "user", "content": "word " * 60}]})
    plan = [request(i, 10**9 + i * 10**9 // LLM_RATE, body=body) for i in range(LLM_RATE * LLM_S)]
    judged, _, _, done = b.replay(plan, port)
    row("tokaudit replay", judged, port, done)
    for name, command in llm_peers(port):
        judged, done = b.judged(port, command)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
        row(name, judged, port, done)
    server.send_signal(signal.SIGINT)
    server.wait()


# --- barrier ------------------------------------------------------------------------------------


def spreads(groups):
    return [max(g) - min(g) for g in groups if len(g) > 1]


def replayed_spreads(b, port, n, groups, apart_ns):
    plan = [request(g * n + k, 10**9 + g * apart_ns, group=g, member=k) for g in range(groups) for k in range(n)]
    judged, ledger, _, _ = b.replay(plan, port)
    on_wire = {(p, nth): t for t, p, nth in wire.requests(judged, port)}
    by_group, written = {}, {}
    for e in ledger:
        place = e["local_port"], e["nth"]
        written.setdefault(e["group"], []).append(int(e["sent_ns"]))
        if place in on_wire:
            by_group.setdefault(e["group"], []).append(on_wire[place])
    return spreads(by_group.values()), spreads(written.values())


def bare_spreads(b, port, n, rounds):
    judged, done = b.judged(port, [b.bare, "release", str(n), str(rounds), str(port)])
    if done.returncode != 0:
        sys.exit(f"release: {done.stderr}")
    groups, last = [], None
    for t, _, _ in wire.requests(judged, port):
        if last is None or t - last > BARE_APART_NS:
            groups.append([])
        groups[-1].append(t)
        last = t
    return spreads(groups)


def bench_barrier(b):
    print("\n### Spread of a barrier: last first packet minus first\n")
    print("| | barriers | p50 µs | p99 µs | max µs |\n|---|--:|--:|--:|--:|")
    with BareServer(b.bare) as server:
        for n, groups, apart_ns in (2, PAIRS, 5 * 10**7), (CROWD, CROWDS, 5 * 10**8):
            ours, written = replayed_spreads(b, server.port, n, groups, apart_ns)
            bare = bare_spreads(b, server.port, n, groups)
            print(f"| tokaudit replay, {n} | {len(ours)} | {us(ours)} |")
            print(f"| its write calls, as the ledger has them | {len(written)} | {us(written)} |")
            print(f"| a bare loop of {n} writes | {len(bare)} | {us(bare)} |")
            print(f"| ratio of the medians, {n} | | {quantile(ours, 0.5) / quantile(bare, 0.5):.2f} | | |")


# --- streams ------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_server(b, tps):
    profile, port = b.path("bench.json"), free_port()
    with open(IDEAL) as file:
        steady = json.load(file) | {"name": "bench", "prefill_tps": 1000000, "decode_tps": tps,
                                    "batching": {"kind": "continuous", "max": STREAMS}}
    with open(profile, "w") as file:
        json.dump(steady, file)
    ready, said = b.path("ready"), b.path("serve.said")
    if os.path.exists(ready):
        os.unlink(ready)
    with open(said, "w") as to:
        server = subprocess.Popen([b.tokaudit, "serve", "--profile", profile, "-l", f"127.0.0.1:{port}", "--truth",
                                   b.path("truth.jsonl"), "--ready-file", ready], stdout=to, stderr=to)
    while not os.path.exists(ready):
        if server.poll() is not None:
            sys.exit(f"serve ended: {open(said).read()}")
        time.sleep(0.01)
    return server, port


def stream_plan(streams, tps, tokens, evenly):
    """Evenly: one begins each step and a little, so that the tokens of a step are due one after the other. Otherwise all
    begin at one instant, and so do all tokens of each step, as those of one batch do."""
    body = json.dumps({"model": "bench", "stream": True, "max_tokens": tokens,
                       "messages": [{"role": "user", "content": "Write a story."}]})
    step_ns = 10**9 // tps
    apart_ns = step_ns + step_ns // streams if evenly else 0
    return [request(i, 10**9 + i * apart_ns, body=body) for i in range(streams)]


def event_ends(stream):
    return [m.end() - 1 for m in re.finditer(rb"\n\n", stream.bytes)]


def all_open(on_wire):
    """From when the last stream has begun to when the first ends."""
    return max(s.times[0] for s in on_wire.values()), min(s.times[-1] for s in on_wire.values())


def read_delays(on_wire, at_socket):
    """Of each event while all streams were open: when its last byte was read minus when that byte's packet passed."""
    begin, end = all_open(on_wire)
    delays, skipped = [], 0
    for port, stream in on_wire.items():
        other = at_socket.get(port)
        if other is None or other.bytes != stream.bytes:
            skipped += 1
            continue
        passed = [(at, stream.time_of(at)) for at in event_ends(stream)]
        delays += [other.time_of(at) - t for at, t in passed if begin <= t <= end]
    return delays, skipped


def truth_by_port(path):
    ports, made = {}, {}
    with open(path) as file:
        for line in map(json.loads, file):
            if "port" in line:
                ports[line["request"]] = line["port"]
            else:
                made.setdefault(ports[line["request"]], []).append(int(line["made_ns"]))
    return made


def event_errors(on_wire, made):
    """Of each token's event while all streams were open: when its last byte passed minus when the model made the token."""
    begin, end = all_open(on_wire)
    errors = []
    for port, due in made.items():
        stream = on_wire[port]
        texts = [m.end() - 1 for m in re.finditer(rb'data: \{[^\n]*"delta":\{[^}]*"content":"[^"][^\n]*\n\n', stream.bytes)]
        if len(texts) == len(due):
            passed = [(stream.time_of(at), t) for at, t in zip(texts, due)]
            errors += [at - t for at, t in passed if begin <= at <= end]
    return errors


class Run:
    """Streams served, replayed and judged."""

    def __init__(self, b, streams, tps, tokens, evenly=True):
        server, port = start_server(b, tps)
        turns = Turns(server.pid)
        judged, self.ledger, self.trace, self.replay = b.replay(stream_plan(streams, tps, tokens, evenly), port)
        turns.end()
        self.serve_turns = turns
        server.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(server.pid, 0)
        self.serve_s = usage.ru_utime + usage.ru_stime
        self.on_wire, self.at_socket = wire.streams(judged, port), wire.streams(self.trace, port)

    def said(self):
        first, last = (pick(s.times[at] for s in self.on_wire.values()) for pick, at in ((min, 0), (max, -1)))
        span_s = (last - first) / 1e9
        events = sum(len(event_ends(s)) for s in self.on_wire.values())
        complete = sum(e["outcome"] == "complete" for e in self.ledger)
        return (f"{complete} of {len(self.ledger)} replies complete; {events} events in {span_s:.2f} s "
                f"({events / span_s:.0f}/s) cost the server {self.serve_s:.2f} s of CPU: "
                f"{events / self.serve_s:.0f} events/s a core; replay {self.replay.cpu_s:.2f} s. "
                f"Waited for a processor: replay's loop {self.replay.turns.said()}, serve's {self.serve_turns.said()}.")


def bench_stream(b):
    print(f"\n### {STREAMS} streams at once, {STREAM_TPS} events/s each\n")
    print("| | events | p50 µs | p99 µs | max µs |\n|---|--:|--:|--:|--:|")
    said = []
    for evenly, due in (True, "tokens due one after the other"), (False, "all tokens of a step due at once"):
        run = Run(b, STREAMS, STREAM_TPS, STREAM_TOKENS, evenly)
        delays, skipped = read_delays(run.on_wire, run.at_socket)
        errors = event_errors(run.on_wire, truth_by_port(b.path("truth.jsonl")))
        print(f"| {due}. replay: read minus packet | {len(delays)} | {us(delays)} |")
        print(f"| serve: packet minus due | {len(errors)} | {us(errors)} |")
        said.append(f"{due.capitalize()}: {run.said()} The bytes of {skipped} connections differed between the two traces.")
    print("\n" + "\n\n".join(said))


def bench_flood(b):
    """What an event costs the server is seen where it never has to wait for the next."""
    print(f"\n### {FLOOD_STREAMS} streams that ask for {FLOOD_STREAMS * FLOOD_TPS} events/s\n")
    print(Run(b, FLOOD_STREAMS, FLOOD_TPS, FLOOD_TOKENS).said())


def main():
    b = Bench(*map(os.path.abspath, sys.argv[1:4]))
    parts = {"rate": bench_rate, "llm": bench_llm, "barrier": bench_barrier, "stream": bench_stream, "flood": bench_flood}
    print(f"Judge: {b.judge}.")
    for name in sys.argv[4:] or parts:
        parts[name](b)


main()
