#!/bin/sh
# replay_limits.sh TOKAUDIT: a replay that runs out of something (descriptors, ports, the disk, whoever reads its output) or is
# ended by signals: its requests have outcomes, its trace is whole, or, where there was no room for more, readable as far as
# it goes.
set -u
. tests/support/cli.sh
disk=$tmp/disk
mounted=
at_end() {
    [ -z "$mounted" ] || umount "$disk"
}
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

python3 "$support/faulty_server.py" "$tmp/ports" 2>"$tmp/server.err" &
pids=$!
until [ -s "$tmp/ports" ]; do
    kill -0 "$pids" 2>/dev/null || die "no faulty server: $(cat "$tmp/server.err")"
    sleep 0.05
done
url() { # PORT
    echo "http://127.0.0.1:$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/ports" "$1")"
}

cat >"$tmp/plan.py" <<'PY'
"""plan.py NAME N GROUP|'' [TIMES...]: N requests of a model NAME at each time in ms."""
import json, sys
name, n, group, times = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:] or ["0"]
for t in times:
    for i in range(n):
        body = {"model": name, "stream": True, "messages": [{"role": "user", "content": "x"}]}
        line = {"workload": "limits", "name": name, "t_ns": int(t) * 1_000_000, "path": "/v1/chat/completions",
                "headers": [["Content-Type", "application/json"]], "body": json.dumps(body)}
        print(json.dumps(dict(line, group=0) if group else line))
PY
plan() { # FILE ARGS...
    file=$1
    shift
    python3 "$tmp/plan.py" "$@" >>"$tmp/$file.plan"
}

# held NAME: a whole trace, whose ledger (entries) and analysis (a) the python on stdin is content with.
held() {
    "$tokaudit" verify "$tmp/$1.pcapng.gz" >"$tmp/verify" 2>&1 || fail "$1: $(cat "$tmp/verify")"
    "$tokaudit" analyze --format json "$tmp/$1.pcapng.gz" >"$tmp/$1.json" 2>"$tmp/err" || fail "$1: analyze: $(cat "$tmp/err")"
    cat >"$tmp/held.py"
    python3 - "$tmp/$1" "$tmp/held.py" <<'PY' || fail "$1: $(cat "$tmp/out")"
import collections, json, sys
sys.path.insert(0, "tests/support")
from ledger import ledger
entries, a = ledger(sys.argv[1] + ".pcapng.gz"), json.load(open(sys.argv[1] + ".json"))
outcomes = collections.Counter(e["outcome"] for e in entries)
seen = collections.Counter(r["outcome"] for r in a["requests"])
for r in a["requests"]:
    if r["outcome"] != "success":
        assert all(r["metrics"][m]["value"] is None for m in ("tpot", "output_tps_user", "e2e_output_tps", "stream_end")), r
exec(open(sys.argv[2]).read())
PY
}

# More connections than descriptors: some have none, the others go on, and so do later ones.
plan files silent 150 ''
plan files ok 20 '' 1800
(
    ulimit -n 90
    status 1 "$tokaudit" replay "$tmp/files.plan" --target "$(url http)" --timeout 1s -o "$tmp/files.pcapng.gz"
    exit "$failures"
) || failures=$((failures + 1))
held files <<'PY'
assert set(outcomes) == {"timeout", "no-descriptor", "complete"} and outcomes["complete"] == 20, outcomes
assert 50 <= outcomes["timeout"] < 90 and outcomes["no-descriptor"] == 150 - outcomes["timeout"], outcomes
assert seen == {"no-response": outcomes["timeout"], "success": 20}, seen
assert all("sent_ns" not in e and not e.get("local_port") for e in entries if e["outcome"] == "no-descriptor")
PY
# What surely needs more is not begun, and the trace says so of each request.
plan group silent 100 group
(
    ulimit -n 90
    status 4 "$tokaudit" replay "$tmp/group.plan" --target "$(url http)" -o "$tmp/group.pcapng.gz"
    says '100 requests at once need as many descriptors.*ulimit -n'
    prints '^outcomes    no-descriptor 100;'
    status 4 "$tokaudit" replay "$tmp/files.plan" --concurrency 86 --target "$(url http)" -o "$tmp/group.pcapng.gz"
    says '86 requests at once need as many descriptors'
    exit "$failures"
) || failures=$((failures + 1))
held group <<'PY'
assert outcomes == {"no-descriptor": 170} and not a["requests"], outcomes
PY
# What fits is not refused: one at a time wants few.
plan one ok 3 ''
(
    ulimit -n 24
    status 0 "$tokaudit" replay "$tmp/one.plan" --concurrency 1 --target "$(url http)" -o "$tmp/one.pcapng.gz"
    exit "$failures"
) || failures=$((failures + 1))
held one <<'PY'
assert outcomes == {"complete": 3}, outcomes
PY

# A server that takes no more connections: those that never came to be end by --timeout.
plan full silent 6 ''
status 1 "$tokaudit" replay "$tmp/full.plan" --target "$(url full)" --timeout 800ms -o "$tmp/full.pcapng.gz"
held full <<'PY'
assert outcomes == {"timeout": 6}, outcomes
unsent = [e for e in entries if "sent_ns" not in e]
assert unsent and len(a["requests"]) == 6 - len(unsent), entries
PY

# Ports: in a network of its own, with eight of them.
cat >"$tmp/ports.sh" <<'END'
ip link set lo up || exit 77
python3 "$support/faulty_server.py" "$tmp/own.ports" 2>"$tmp/own.err" &
server=$!
until [ -s "$tmp/own.ports" ]; do
    kill -0 $server 2>/dev/null || exit 78
    sleep 0.05
done
echo "40001 40008" 2>/dev/null >/proc/sys/net/ipv4/ip_local_port_range || { kill $server; exit 77; }
port=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["http"])' "$tmp/own.ports")
"$tokaudit" replay "$tmp/ports.plan" --target "http://127.0.0.1:$port" --timeout 1s -o "$tmp/ports.pcapng.gz" \
    >"$tmp/out" 2>"$tmp/err"
found=$?
kill $server
exit $found
END
plan ports silent 20 ''
plan ports ok 2 '' 1800
found=77
if command -v ip >/dev/null && command -v unshare >/dev/null && unshare -n true 2>/dev/null; then
    found=0
    export tmp tokaudit support
    unshare -n sh "$tmp/ports.sh" 2>"$tmp/unshare.err" || found=$?
fi
if [ $found = 77 ]; then
    skip "ports: no network of its own to be had here (unshare -n, ip, a writable ip_local_port_range)"
else
    [ $found = 1 ] || fail "ports: status $found: $(cat "$tmp/out" "$tmp/err" "$tmp/own.err")"
    held ports <<'PY'
assert set(outcomes) == {"timeout", "no-local-port", "complete"} and outcomes["complete"] == 2, outcomes
assert 1 <= outcomes["timeout"] <= 8 and outcomes["no-local-port"] == 20 - outcomes["timeout"], outcomes
assert seen == {"no-response": outcomes["timeout"], "success": 2}, seen
PY
fi

# The disk is full in the middle, and from the start.
plan bulk bulk 3 ''
if mkdir "$disk" && [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=512k,mode=777 none "$disk" 2>"$tmp/mount.err"; then
    mounted=yes
    status 4 "$tokaudit" replay "$tmp/bulk.plan" --target "$(url http)" -o "$disk/run.pcapng.gz"
    says "cannot write the trace to $disk/run.pcapng.gz after [0-9]* bytes; what is there so far can be read: No space left"
    status 1 "$tokaudit" verify "$disk/run.pcapng.gz"
    prints ': UNCLOSED: member '
    prints 'intact, as far as it goes'
    status 0 "$tokaudit" analyze "$disk/run.pcapng.gz"
    prints 'truncated'
    cp "$disk/run.pcapng.gz" "$tmp/disk-was-full.pcapng.gz"
    dd if=/dev/zero of="$disk/fill" bs=4096 2>/dev/null
    status 4 "$tokaudit" replay "$tmp/bulk.plan" --target "$(url http)" -o "$disk/none.pcapng.gz"
    says 'No space left'
else
    skip "the full disk: only root may mount a small one: $(cat "$tmp/mount.err" 2>/dev/null)"
fi
if [ -c /dev/full ]; then
    "$tokaudit" replay "$tmp/bulk.plan" --target "$(url http)" -o - >/dev/full 2>"$tmp/err"
    [ $? = 4 ] || fail "/dev/full: $(cat "$tmp/err")"
    says 'No space left'
fi

# Signals, and readers that go.
plan slow silent 8 ''
plan slow half 8 ''
# shellcheck disable=SC2046 # times
plan slow ok 3 '' $(seq 0 50 5000)
cat >"$tmp/signals.py" <<'PY'
import os, random, signal, subprocess, sys, time
tokaudit, tmp, target = sys.argv[1:]


def usual():
    """Whatever this script's parent has us ignore."""
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, signal.SIG_DFL)


def replay(name, output, **more):
    return subprocess.Popen([tokaudit, "replay", f"{tmp}/{name}.plan", "--target", target, "-o", output], text=True,
                            preexec_fn=usual, **more)


def say(p):
    return p.stdout.read() if p.stdout else ""


# One, two, and as many as fit in before the end; at any time from when the trace is there.
for i, (signals, wait) in enumerate([(1, 1), (2, 1), (0, 1), (0, 0), (0, 0.02), (0, 0.1), (2, 0.003)]):
    path, kind = f"{tmp}/signal{i}.pcapng.gz", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP][i % 3]
    p = replay("slow", path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not os.path.exists(path):
        assert p.poll() is None, say(p)
    time.sleep(wait)
    n = 0
    while p.poll() is None and (n < signals or not signals):
        p.send_signal(kind)
        n += 1
    assert p.wait() == 1, (i, p.returncode, n, say(p))
    said = say(p)
    assert "ended by a signal" in said and "not sent" in said, said
    assert wait < 1 or "interrupted" in said, said

# Who reads the trace goes.
p = replay("bulk", "-", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
os.read(p.stdout.fileno(), 1000)
p.stdout.close()
said = p.stderr.read()
assert p.wait() == 4 and "cannot write the trace to the standard output" in said and "Broken pipe" in said, (p.returncode, said)

# Who reads the closing words goes: the trace does not suffer.
r, w = os.pipe()
os.close(r)
p = replay("few", f"{tmp}/words.pcapng.gz", stdout=w, stderr=w)
assert p.wait() == 0, p.returncode
PY
plan few ok 3 ''
python3 "$tmp/signals.py" "$tokaudit" "$tmp" "$(url http)" || fail "signals: see above"
for i in 0 1 2 3 4 5 6; do
    [ -e "$tmp/signal$i.pcapng.gz" ] || continue
    held signal$i <<'PY'
assert set(outcomes) <= {"interrupted", "complete"}, outcomes
assert set(seen) <= {"success", "no-response", "cut-short"}, seen
assert seen["success"] == outcomes["complete"] and sum(seen.values()) == len(entries), (seen, outcomes)
PY
done
held words <<'PY'
assert outcomes == {"complete": 3}, outcomes
PY
passed
