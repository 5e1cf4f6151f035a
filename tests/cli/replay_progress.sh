#!/bin/sh
# replay_progress.sh TOKAUDIT: the line on a terminal says what was done and how fast text comes; elsewhere there is none.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

cat >"$tmp/spec.json" <<'END_OF_SPEC'
{"workload": "line", "concurrency": 2, "repeats": 2, "prompts": [{"name": "a", "text": "one", "max_tokens": 90}]}
END_OF_SPEC
serve ideal --profile ideal

cat >"$tmp/check.py" <<'PY'
import os, pty, re, subprocess, sys
tokaudit, tmp, port = sys.argv[1:]
command = [tokaudit, "replay", f"{tmp}/spec.json", "-t", f"http://127.0.0.1:{port}"]

ours, theirs = pty.openpty()
p = subprocess.Popen(command + ["-o", f"{tmp}/seen.pcapng.gz"], stdout=subprocess.DEVNULL, stderr=theirs,
                     env=os.environ | {"TERM": "xterm"})
os.close(theirs)
said = b""
try:
    while data := os.read(ours, 4096):
        said += data
except OSError:  # the other end is closed
    pass
assert p.wait() == 0, said
lines = re.findall(r"(\d+) of (\d+) requests done, (\d+) in flight, (\d+) failed, (\d+) text events/s, about \S+ left", said.decode())
assert lines, said
done, of, flying, failed, rates = zip(*[map(int, line) for line in lines])
assert set(of) == {4} and set(failed) == {0} and max(flying) == 2 and list(done) == sorted(done), lines
assert max(rates) > 0, lines
assert said.endswith(b"\r\x1b[K"), said[-20:]  # it is wiped away at the end

quiet = subprocess.run(command + ["-o", f"{tmp}/unseen.pcapng.gz"], capture_output=True)
assert quiet.returncode == 0 and quiet.stderr == b"", quiet.stderr
PY
python3 "$tmp/check.py" "$tokaudit" "$tmp" "$port" || fail "the line on a terminal"
passed
