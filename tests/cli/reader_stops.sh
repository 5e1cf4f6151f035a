#!/bin/sh
# reader_stops.sh TOKAUDIT: traces that go to a pipe nobody reads any more, or to a FIFO nobody has opened. Signals end the
# program, in the midst of the load and while the trace is being closed; what the reader took can be read. A reader that goes on
# gets all of it, however many signals come.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

serve ideal --profile ideal

cat >"$tmp/check.py" <<'PY'
import base64, json, os, random, signal, socket, subprocess, sys, threading, time, zlib
tokaudit, tmp, port = sys.argv[1], sys.argv[2], sys.argv[3]
MB = 1 << 20
for s in signal.SIGINT, signal.SIGHUP:  # a background job, or nohup, would have them ignored
    signal.signal(s, signal.SIG_DFL)

def plan():
    """A request that gzip makes no smaller."""
    text = base64.b64encode(random.Random(1).randbytes(MB * 3 // 4)).decode()
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": text}]}
    with open(f"{tmp}/plan.jsonl", "w") as f:
        f.write(json.dumps({"id": 0, "t_ns": 0, "name": "r", "path": "/v1/chat/completions",
                            "headers": [["Content-Type", "application/json"]], "body": json.dumps(body)}) + "\n")

class Replay:
    def __init__(self, repeat, output="-", stdout=subprocess.PIPE):
        ledger, theirs = os.pipe()
        self.lines = 0
        self.process = subprocess.Popen(
            [tokaudit, "replay", f"{tmp}/plan.jsonl", "-t", f"http://127.0.0.1:{port}", "--repeat", str(repeat), "-o", output],
            stdout=stdout, stderr=subprocess.PIPE, pass_fds=[theirs], env=os.environ | {"TOKAUDIT_LEDGER_FD": str(theirs)})
        os.close(theirs)
        threading.Thread(target=self.count, args=[ledger], daemon=True).start()

    def count(self, ledger):
        with open(ledger) as f:
            for _ in f:
                self.lines += 1

    def wait_for(self, n):
        """So many requests have ended."""
        while self.lines < n:
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.05)

    def wait_until_stuck(self):
        """No request ends any more."""
        last, since = self.lines, time.monotonic()
        while time.monotonic() - since < 3:
            if self.lines != last:
                last, since = self.lines, time.monotonic()
            time.sleep(0.05)
        return last

def end(process):
    """So many Ctrl-C as it takes; it says how many it were."""
    for n in range(1, 21):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(2)
            return n
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    raise AssertionError("20 signals did not end it")

def held(process):
    """What the reader would have got: gzip'd pcapng, as far as it goes."""
    data = process.stdout.read()
    text = zlib.decompressobj(31).decompress(data)
    assert text[:4] == b"\x0a\x0d\x0d\x0a", text[:4]
    with open(f"{tmp}/held.pcapng.gz", "wb") as f:
        f.write(data)
    done = subprocess.run([tokaudit, "analyze", f"{tmp}/held.pcapng.gz"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

def check(process, what):
    assert process.returncode == 4, (what, process.returncode)
    said = process.stderr.read().decode()
    assert "its reader took no more" in said, (what, said)

plan()

# The load has ended, the closing waits for the reader.
r = Replay(8)
r.wait_for(8)
end(r.process)
check(r.process, "closing")
held(r.process)

# The queue to the reader is full in the midst of the load.
r = Replay(150)
r.wait_for(9)
n = r.wait_until_stuck()
assert n < 150, n
end(r.process)
check(r.process, "in the midst")
held(r.process)

# Nobody has opened the FIFO.
os.mkfifo(f"{tmp}/fifo")
r = Replay(1, f"{tmp}/fifo")
time.sleep(0.5)
end(r.process)
assert r.process.returncode == 4 or r.process.returncode == -signal.SIGINT, r.process.returncode

# The reader is slow, and there to the end: it gets all of it, though the signals are many.
with open(f"{tmp}/slow.pcapng.gz", "wb") as out:
    r = Replay(150)
    total = told = 0
    while data := os.read(r.process.stdout.fileno(), 65536):
        out.write(data)
        total += len(data)
        if total > 4 * MB and told < 20 and r.process.poll() is None:
            r.process.send_signal(signal.SIGINT)
            told += 1
    r.process.wait()
assert r.process.returncode == 1, (r.process.returncode, r.process.stderr.read())
done = subprocess.run([tokaudit, "verify", f"{tmp}/slow.pcapng.gz"], capture_output=True, text=True)
assert done.returncode == 0, done.stdout

# capture, likewise; it needs rights.
listener = socket.create_server(("127.0.0.1", 0))
args = [tokaudit, "capture", "-p", str(listener.getsockname()[1]), "--sample-hz", "0", "-o", "-"]
c = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
first = c.stderr.readline().decode()
if "capturing" not in first:
    print("SKIP capture to a pipe: no rights here")
    c.wait()
    sys.exit()
def drain():
    while data := theirs.recv(MB):
        pass
client = socket.create_connection(listener.getsockname())
theirs, _ = listener.accept()
thread = threading.Thread(target=drain)
thread.start()
client.sendall(random.Random(2).randbytes(8 * MB))
client.close()
thread.join()
time.sleep(0.5)
end(c)
check(c, "capture")
PY
python3 "$tmp/check.py" "$tokaudit" "$tmp" "$port" >"$tmp/said" || fail "a reader that stops holds tokaudit up, or gets less than it could"
grep -q SKIP "$tmp/said" && skip "$(cat "$tmp/said")"
broken=held.pcapng.gz
passed
