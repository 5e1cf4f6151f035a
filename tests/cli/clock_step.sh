#!/bin/sh
# clock_step.sh TOKAUDIT: the wall clock is really set, forward and back, during a capture and during a replay. The steps
# are found and marked, no figure spans one, nothing that is due by the monotonic clock moves. Both steps together take
# less than half a second each time, and the second takes back exactly what the first added.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "everything: no python3, which sets the clock"; exit 0; }

cat >"$tmp/test.py" <<'PY'
import ctypes, json, os, re, signal, socket, statistics, subprocess, sys, threading, time, zlib

tokaudit, folder = sys.argv[1], sys.argv[2]
STEP_NS = 250_000_000
HELD_S = 0.45


class Timex(ctypes.Structure):
    """struct timex of Linux where long has 64 bits."""
    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
                ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
                ("constant", ctypes.c_long), ("precision", ctypes.c_long), ("tolerance", ctypes.c_long),
                ("sec", ctypes.c_long), ("nsec", ctypes.c_long), ("rest", ctypes.c_char * 256)]


def add_to_clock(ns):
    """By that many ns exactly, whatever time has passed: two calls cancel each other."""
    ADJ_SETOFFSET, ADJ_NANO = 0x100, 0x2000
    t = Timex(modes=ADJ_SETOFFSET | ADJ_NANO, sec=ns // 1_000_000_000, nsec=ns % 1_000_000_000)
    return ctypes.CDLL(None, use_errno=True).clock_adjtime(0, ctypes.byref(t)) >= 0


def offset_ns():
    return min((time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                for _ in range(50)))


class Stepper:
    """A process of its own that nothing ends between the two steps but SIGKILL."""

    def __enter__(self):
        self.before = offset_ns()
        told, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            ok = add_to_clock(STEP_NS)
            os.write(tell, b"%.9f " % time.monotonic())
            time.sleep(HELD_S) # by the monotonic clock
            ok = ok and add_to_clock(-STEP_NS)
            os.write(tell, b"%.9f" % time.monotonic())
            os._exit(0 if ok else 1)
        os.close(tell)
        self.told = told
        self.stepped = float(os.read(told, 100))
        return self

    def __exit__(self, *ignored):
        assert os.waitpid(self.pid, 0)[1] == 0, "the clock was not set back"
        self.over = float(os.read(self.told, 100))
        os.close(self.told)
        assert abs(offset_ns() - self.before) < 1_000_000, "the clock is off by %d ns" % (offset_ns() - self.before)


def sleep_until(t):
    time.sleep(max(0, t - time.monotonic()))


class Server(threading.Thread):
    """Says its first event `first` s after the request and the last `last` s after it, as the request's model asks."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.arrived, self.ending = {}, {}
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.serve, args=self.socket.accept()[:1], daemon=True).start()

    def serve(self, c):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        while not re.search(rb"\r\n\r\n.*}$", data, re.S):
            more = c.recv(65536)
            if not more:
                return
            data += more
        now = time.monotonic()
        name, first, last = re.search(rb'"model": ?"([^"]*)"', data)[1].split(b"/")
        self.arrived[name.decode()] = now
        sleep_until(now + float(first))
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                  b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n')
        sleep_until(now + float(last))
        self.ending[name.decode()] = time.monotonic()
        c.sendall(b'data: {"choices":[{"delta":{"content":"y"},"finish_reason":"stop"}],'
                  b'"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n')
        c.close()


class Client(threading.Thread):
    def __init__(self, port, name, first, last):
        super().__init__(daemon=True)
        self.port, self.model, self.first, self.last = port, "%s/%s/%s" % (name, first, last), first, last
        self.start()

    def run(self):
        body = json.dumps({"model": self.model, "stream": True, "messages": []}).encode()
        c = socket.create_connection(("127.0.0.1", self.port))
        sent = time.monotonic()
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.ttft, data = None, b""
        while more := c.recv(65536):
            data += more
            if self.ttft is None and b"data: " in data:
                self.ttft = time.monotonic() - sent
        self.e2el = time.monotonic() - sent


def clock_pairs(path):
    data, plain = open(path, "rb").read(), b""
    while data:
        d = zlib.decompressobj(31)
        plain += d.decompress(data)
        data = d.unused_data
    return [[(int(p["real_ns"]), int(p["mono_ns"])) for p in json.loads(m)["pairs"]]
            for m in re.findall(rb'{"kind":"clock".*?\]}', plain)]


def steps_in(path):
    """How much real minus monotonic time changes, where it changes by more than a millisecond."""
    pairs = [p for block in clock_pairs(path) for p in block]
    offsets = [real - mono for real, mono in pairs]
    return [b - a for a, b in zip(offsets, offsets[1:]) if abs(b - a) > 1_000_000]


def check_steps(path):
    steps = steps_in(path)
    assert len(steps) == 2, steps
    assert abs(steps[0] - STEP_NS) < 2_000_000 and abs(steps[1] + STEP_NS) < 2_000_000, steps
    # Each is marked by the two looks at the clock between which it was.
    assert sum(len(block) == 2 for block in clock_pairs(path)) >= 2, clock_pairs(path)


def run(*args, status=0):
    r = subprocess.run([tokaudit, *args], capture_output=True, text=True)
    assert r.returncode == status, r
    return r.stdout


def analysis_of(path):
    assert ": whole: " in run("verify", path)
    check_steps(path)
    a = json.loads(run("analyze", "--format", "json", path))
    assert abs(abs(a["traces"][0]["clock"]["step_ns"]) - STEP_NS) < 2_000_000, a["traces"]
    assert "trace.clock-step" in [f["id"] for f in a["findings"]], a["findings"]
    return a


def capture():
    server, path = Server(), os.path.join(folder, "capture.pcapng.gz")
    recorder = subprocess.Popen([tokaudit, "capture", "-p", str(server.port), "-o", path], stderr=subprocess.PIPE,
                                text=True)
    line = recorder.stderr.readline()
    if "capturing" not in line:
        line += recorder.stderr.read()
        assert "no right to capture" in line, line
        print("clock_step.sh: SKIP the capture: no rights to capture here (run it as root)")
        return
    clients = {}

    def go(name, first, last):
        clients[name] = Client(server.port, name, first, last)
        return clients[name]

    go("before", 0.01, 0.03).join()
    time.sleep(0.3)
    go("over-the-first", 0.4, 0.6) # its first byte comes after the step
    go("started-before", 0.01, 0.4) # … and this one's before it
    time.sleep(0.15)
    with Stepper() as s:
        sleep_until(s.stepped + 0.25)
        go("between", 0.01, 0.02)
        go("over-the-second", 0.01, 0.4)
    sleep_until(s.over + 0.6) # until the times from before the clock was set back are past
    go("after", 0.01, 0.03).join()
    for c in clients.values():
        c.join()
    time.sleep(0.2)
    recorder.send_signal(signal.SIGINT)
    recorder.stderr.read()
    assert recorder.wait() == 0

    found = {r["model"].split("/")[0]: r for r in analysis_of(path)["requests"]}
    assert set(found) == set(clients), found.keys()
    for name, r in found.items():
        assert r["outcome"] == "success", r
        c = clients[name]
        for figure, least, most in (("ttft", c.first, c.ttft), ("e2el", c.last - 0.001, c.e2el)):
            m = r["metrics"][figure]
            if m["value"] is None: # withheld, and said why
                assert "clock" in m["reason"], m
            else: # what a clock that nobody sets has measured
                assert least <= m["value"] <= most, (name, figure, m, least, most)
    withheld = {n for n, r in found.items() if r["metrics"]["ttft"]["value"] is None}
    # Sent before a step, surely, and ended behind it: on a slow machine others than were meant.
    over = {n for n in found for step in (s.stepped, s.over) if server.arrived[n] < step - 0.01 and step < server.ending[n]}
    assert over <= withheld, (over, withheld)
    if len(over) < 3:
        print("clock_step.sh: this machine was too slow: %s alone went over a step" % sorted(over))
    assert withheld != set(found), "nothing was measured"
    print("clock_step.sh: capture: withheld %s; measured %s" % (sorted(withheld), sorted(set(found) - withheld)))


def ledger_of(path):
    data, plain = open(path, "rb").read(), b""
    while data:
        d = zlib.decompressobj(31)
        plain += d.decompress(data)
        data = d.unused_data
    return [e for m in re.findall(rb'{"kind":"ledger","entries":\[.*?\]}\0', plain + b"\0")
            for e in json.loads(m[:-1])["entries"]]


def replay():
    server, path = Server(), os.path.join(folder, "replay.pcapng.gz")
    plan, n, every = os.path.join(folder, "plan.jsonl"), 12, 0.1
    with open(plan, "w") as f:
        for i in range(n):
            body = {"model": "%d/0.005/0.01" % i, "stream": True, "messages": []}
            f.write(json.dumps({"name": str(i), "workload": "w", "t_ns": int(i * every * 1e9), "method": "POST",
                                "path": "/v1/chat/completions", "body": json.dumps(body)}) + "\n")
    load = subprocess.Popen([tokaudit, "replay", plan, "--target", "http://127.0.0.1:%d" % server.port, "-o", path],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not server.arrived: # what it asks before it begins has no model
        time.sleep(0.005)
        assert load.poll() is None, load.stdout.read()
    time.sleep(3 * every)
    with Stepper() as s:
        pass
    said = load.stdout.read()
    assert load.wait() == 0, said
    assert len(server.arrived) == n, server.arrived
    # Sent when they were due, by a clock that nobody sets: none came a step too early or too late.
    start = server.arrived["0"]
    off = [server.arrived[str(i)] - start - i * every for i in range(n)]
    between = [off[i] for i in range(n) if s.stepped < server.arrived[str(i)] < s.over]
    assert between and abs(statistics.median(between)) < STEP_NS / 2e9, off
    a = analysis_of(path)
    assert len(a["requests"]) == n and all(r["outcome"] == "success" for r in a["requests"]), a["requests"]
    for r in a["requests"]:
        m = r["metrics"]["e2el"]
        assert m["value"] is None and "clock" in m["reason"] or 0.009 <= m["value"] < STEP_NS / 1e9, m
    # An entry's times are in order, but for one that the clock was set in.
    entries = {int(e["name"]): e for e in ledger_of(path)}
    assert sorted(entries) == list(range(n)), entries
    times = lambda e: [int(e[k]) for k in ("due_ns", "sent_ns", "first_ns", "end_ns")]
    unordered = [i for i, e in entries.items() if times(e) != sorted(times(e))]
    assert len(unordered) <= 1, [entries[i] for i in unordered]
    late = [int(e["sent_ns"]) - int(e["due_ns"]) for e in entries.values()]
    assert min(late) >= 0 and statistics.median(late) < STEP_NS / 2, late
    print("clock_step.sh: replay: %d requests, sent at most %.1f ms late; the server saw them %.1f ms off their spacing" %
          (n, max(late) / 1e6, max(map(abs, off)) * 1e3))


if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_long) != 8:
    print("clock_step.sh: SKIP everything: the clock is set here as 64-bit Linux does it")
elif not add_to_clock(0):
    print("clock_step.sh: SKIP everything: no right to set the clock here (CAP_SYS_TIME): %s" %
          os.strerror(ctypes.get_errno()))
else:
    capture()
    replay()
    print("clock_step.sh: passed")
PY
# The leak checker can't look into a program that became another user.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 python3 "$tmp/test.py" "$tokaudit" "$tmp" || {
    echo "FAIL: see above"
    exit 1
}
