#!/bin/sh
# capture_signals.sh TOKAUDIT: signals at any moment of a capture, several of them, also while its trace is being closed: the
# trace is whole, or was never begun.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

"$tokaudit" capture --duration 1ms -o "$tmp/probe" 2>"$tmp/err" || { skip "all of it: no rights to capture"; exit 0; }

cat >"$tmp/check.py" <<'PY'
import os, random, signal, socket, subprocess, sys, threading, time
tokaudit, tmp = sys.argv[1:]
ROUNDS = 8
for s in signal.SIGINT, signal.SIGHUP:  # a background job, or nohup, would have them ignored
    signal.signal(s, signal.SIG_DFL)
chance = random.Random(3)
path = f"{tmp}/run.pcapng.gz"
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
noise = chance.randbytes(4 << 20)

def serve():
    while True:
        c, _ = listener.accept()
        c.sendall(noise)
        c.close()

def fetch():
    c = socket.create_connection(("127.0.0.1", port))
    while c.recv(1 << 20):
        pass

def start():
    return subprocess.Popen([tokaudit, "capture", "-p", str(port), "-o", path], stderr=subprocess.PIPE, text=True)

def check(p, when):
    p.wait()
    said = p.stderr.read()
    if not os.path.exists(path):
        assert p.returncode == -signal.SIGINT, (when, p.returncode, said)
        return
    done = subprocess.run([tokaudit, "verify", path], capture_output=True, text=True)
    assert p.returncode == 0 and done.returncode == 0, (when, p.returncode, said, done.stdout)
    os.unlink(path)

threading.Thread(target=serve, daemon=True).start()
for n in range(ROUNDS):  # while it starts, or just has
    p = start()
    time.sleep(chance.random() * 0.06)
    p.send_signal(signal.SIGINT)
    check(p, f"start {n}")
for n in range(ROUNDS):  # while it compresses 12 MB that do not get smaller, and closes
    p = start()
    p.stderr.readline()
    for _ in range(3):
        fetch()
    for _ in range(6):
        if p.poll() is None:
            p.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
        time.sleep(chance.random() * 0.12)
    check(p, f"end {n}")
PY
python3 "$tmp/check.py" "$tokaudit" "$tmp" || fail "a signal cost a trace its end"
passed
