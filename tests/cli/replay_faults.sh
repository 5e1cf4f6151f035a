#!/bin/sh
# replay_faults.sh TOKAUDIT: whatever the server does, and whatever there is of it, each request of a replay ends with an outcome
# in the ledger, the trace is whole, and `analyze` says the same of it and makes up no figure.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

# faulty NAME ARGS...: tests/support/faulty_server.py; its ports are in $tmp/NAME.ports.
faulty() {
    name=$1
    shift
    python3 "$support/faulty_server.py" "$tmp/$name.ports" "$@" 2>"$tmp/$name.err" &
    server=$!
    pids="$pids $server"
    until [ -s "$tmp/$name.ports" ]; do
        kill -0 $server 2>/dev/null || die "no faulty server: $(cat "$tmp/$name.err")"
        sleep 0.05
    done
}
port_of() { # NAME PORT
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/$1.ports" "$2"
}

cat >"$tmp/faults.py" <<'PY'
"""The plans of this script, and what each of their requests should have become."""
import json, sys
sys.path.insert(0, "tests/support")
from ledger import ledger
tmp = sys.argv[1]
MS = 1_000_000

# model: outcome in the ledger, status there (0: none), outcome of analyze, stated tokens
WANT = {
    "ok": ("complete", 200, "success", 4), "document": ("complete", 200, "success", 4),
    "interim": ("complete", 200, "success", 4), "slow": ("complete", 200, "success", 4),
    "slow-read": ("complete", 200, "success", 4), "twice": ("complete", 200, "success", 4),
    "bad-length": ("complete", 200, "success", 4),
    "reset-before": ("reset", 0, "no-response", None), "reset-mid": ("reset", 200, "cut-short", None),
    "reset-after-much": ("reset", 200, "cut-short", None), "early-reset": ("reset", 0, "no-response", None),
    "silent": ("timeout", 0, "no-response", None), "half": ("timeout", 200, "cut-short", None),
    "garbage": ("bad-response", 0, "no-response", None), "garbage-held": ("timeout", 0, "no-response", None),
    "garbage-in-chunks": ("bad-response", 200, "cut-short", None),
    "close-before": ("closed-early", 0, "no-response", None), "close-in-head": ("closed-early", 0, "no-response", None),
    "close-in-body": ("closed-early", 200, "cut-short", None), "close-in-chunk": ("closed-early", 200, "cut-short", None),
    "close-between": ("closed-early", 200, "cut-short", None),
    "400": ("complete", 400, "http-error", None), "401-bare": ("complete", 401, "http-error", None),
    "429": ("complete", 429, "http-error", None), "500-bare": ("complete", 500, "http-error", None),
    "503": ("complete", 503, "http-error", None), "503-cut": ("closed-early", 503, "http-error", None),
    "204": ("complete", 204, "no-finish", None),
    "redirect": ("complete", 307, "http-error", None), "redirect-away": ("complete", 307, "http-error", None),
    "big-head": ("bad-response", 0, "no-response", None), "flood": ("bad-response", 0, "no-response", None),
    "interim-flood": ("timeout", 0, "no-response", None),
    "early-413": ("complete", 413, "http-error", None), "early-413-drop": ("complete", 413, "http-error", None),
    "keeps-then-closes": ("complete", 200, "success", 4), "keeps-then-resets": ("complete", 200, "success", 4),
    "keeps-then-drops": ("complete", 200, "success", 4),
    "after-keeps-then-closes": ("closed-early", 0, "no-response", None),
    "after-keeps-then-resets": ("reset", 0, "no-response", None),
    "after-keeps-then-drops": ("reset", 0, "no-response", None),
    "idle-408": ("complete", 200, "success", 4), "leave": ("complete", 200, "success", 4),
}
RATES = {"tpot", "output_tps_user", "e2e_output_tps", "wall_tps", "stream_end"}


def request(name, bytes_of_text=1, **more):
    body = {"model": more.pop("model", name), "stream": True, "messages": [{"role": "user", "content": "x" * bytes_of_text}]}
    return {"workload": "faults", "name": name, "path": "/v1/chat/completions", "headers": [["Content-Type", "application/json"]],
            "body": json.dumps(body), **more}


def write(plan, lines, head=None):
    with open(f"{tmp}/{plan}.plan", "w") as f:
        for line in ([head] if head else []) + lines:
            f.write(json.dumps(line) + "\n")


def check(trace, want, n=None):
    """want: name → what WANT has; of several requests of a name all."""
    entries = ledger(f"{tmp}/{trace}.pcapng.gz")
    a = json.load(open(f"{tmp}/{trace}.json"))
    found = {}
    for r in a["requests"]:
        found.setdefault(r["name"], []).append(r)
    assert len(entries) == (len(want) if n is None else n), len(entries)
    assert {e["name"] for e in entries} == set(want), {e["name"] for e in entries} ^ set(want)
    for e in entries:
        outcome, status, seen, tokens = want[e["name"]]
        assert (e["outcome"], e.get("status", 0)) == (outcome, status), (e, want[e["name"]])
        if seen is None: # it never got as far as a byte on the wire
            assert "sent_ns" not in e and e["name"] not in found, e
            continue
        assert e["sent_ns"] <= e["end_ns"], e
        for r in found[e["name"]]:
            assert (r["outcome"], r["status"] or 0) == (seen, status), (e["name"], r["outcome"], r["status"])
            assert (r["tokens"] or {}).get("stated") == tokens, (e["name"], r["tokens"])
            made_up = {k: m for k, m in r["metrics"].items() if k in RATES and m["value"] is not None}
            if seen in ("http-error", "no-finish"):
                made_up.pop("stream_end", None) # it did end
            assert seen == "success" or not made_up, (e["name"], made_up)
            assert seen != "no-response" or not r["reads"], r
    all_of_them = [r for rs in found.values() for r in rs]
    assert len(all_of_them) == sum(want[e["name"]][2] is not None for e in entries), len(all_of_them)
    return entries, a
PY

# run NAME STATUS TARGET ARGS...: the plan of that name; what analyze makes of the trace is in NAME.json.
run() {
    name=$1 want=$2 target=$3
    shift 3
    status "$want" "$tokaudit" replay "$tmp/$name.plan" --target "$target" -o "$tmp/$name.pcapng.gz" "$@"
    cat "$tmp/out" "$tmp/err" >"$tmp/$name.said"
    "$tokaudit" verify "$tmp/$name.pcapng.gz" >"$tmp/verify" 2>&1 || fail "$name: $(cat "$tmp/verify")"
    "$tokaudit" analyze --format json "$tmp/$name.pcapng.gz" >"$tmp/$name.json" 2>"$tmp/err" ||
        fail "$name: analyze: $(cat "$tmp/err")"
    "$tokaudit" analyze "$tmp/$name.pcapng.gz" >"$tmp/$name.txt" 2>"$tmp/err" || fail "$name: analyze: $(cat "$tmp/err")"
}
made() { # NAME: makes its plan by the python on stdin
    python3 -c 'exec(open("'"$tmp"'/faults.py").read()); exec(sys.stdin.read())' "$tmp" || die "the plan $1 was not made"
}
held() { # NAME: holds its trace against what the python on stdin says
    python3 -c 'exec(open("'"$tmp"'/faults.py").read()); exec(sys.stdin.read())' "$tmp" ||
        fail "$1: $(cat "$tmp/$1.said")"
}

faulty http
http=http://127.0.0.1:$(port_of http http)

# Each fault once, over a connection of its own; behind those that keep one until the next request goes out, a next.
made all <<'PY'
SIZE = {"early-413": 3_000_000, "early-413-drop": 3_000_000, "early-reset": 3_000_000, "slow-read": 200_000}
firsts = [m for m in WANT if not m.startswith("after-") and m not in ("leave", "idle-408")]
lines = [request(m, SIZE.get(m, 1), t_ns=i * 10 * MS, conn=i) for i, m in enumerate(firsts)]
lines += [request("after-" + m, model="ok", t_ns=700 * MS, conn=i) for i, m in enumerate(firsts) if m.startswith("keeps-")]
write("all", lines)
PY
run all 1 "$http" --timeout 1500ms
held all <<'PY'
want = {k: v for k, v in WANT.items() if k not in ("leave", "idle-408")}
entries, a = check("all", want)
assert len({e["local_port"] for e in entries}) == len(entries) - 3 # the three went over the connection that was kept
at = {e["name"]: e for e in entries}
for name, e in at.items():
    if e["outcome"] == "timeout":
        assert 1_500 * MS <= e["end_ns"] - e["sent_ns"] < 3_500 * MS, e
    else:
        assert e["end_ns"] - e["sent_ns"] < 1_500 * MS, e
    assert ("first_ns" in e) == (name not in ("reset-before", "early-reset", "silent", "close-before") and
                                  not name.startswith("after-")), e
r, = [r for r in a["requests"] if r["name"] == "reset-after-much"]
assert r["tokens"]["events"] == 40, r["tokens"] # all that came before the reset was read
said = open(f"{tmp}/all.said").read()
assert "(redirects: 2; they are not followed)" in said, said
n = sum(v[0] == "complete" for v in want.values())
assert f"requests    {n} of {len(want)} answered" in said, said
for outcome in ("reset", "timeout", "bad-response", "closed-early"):
    assert f"{outcome} {sum(v[0] == outcome for v in want.values())}" in said, said
report = open(f"{tmp}/all.txt").read()
assert f"{sum(v[2] == 'success' for v in want.values())} ok" in report, report
PY

# The trace of all that, played by serve, does it all again; but for what the client gave up, whose end nobody knows. Requests
# that were refused before they were whole are not in it to be sent.
serve again "$tmp/all.pcapng.gz"
status 1 "$tokaudit" replay "$tmp/all.pcapng.gz" --target "http://127.0.0.1:$port" --timeout 5s -o "$tmp/again.pcapng.gz"
cat "$tmp/out" "$tmp/err" >"$tmp/again.said"
held again <<'PY'
then, now = ({e["name"]: (e["outcome"], e.get("status")) for e in ledger(f"{tmp}/{t}.pcapng.gz")} for t in ("all", "again"))
given_up = {n for n, (outcome, _) in then.items() if outcome in ("timeout", "bad-response")}
differ = {n: (then[n], now[n]) for n in now if n not in given_up and then[n] != now[n]}
assert len(given_up) < 10 and not differ, differ
assert set(now) <= set(then) and all(n.startswith("early-") for n in set(then) - set(now)), (then, now)
PY

# A target that is not there, not to be found, or speaks no TLS: nothing is sent, and a whole trace says of each request why.
none() { # URL OUTCOME SAYS ARGS...
    url=$1 outcome=$2 text=$3
    shift 3
    rm -f "$tmp/none.pcapng.gz"
    status 4 "$tokaudit" replay "$tmp/one.plan" --target "$url" -o "$tmp/none.pcapng.gz" "$@"
    says "$text"
    prints "^outcomes    $outcome 1; "
    unbegun none "$outcome" 1 yes
}
unbegun() { # NAME OUTCOME N BODIES-KNOWN
    status 0 "$tokaudit" verify "$tmp/$1.pcapng.gz"
    status 0 "$tokaudit" analyze "$tmp/$1.pcapng.gz"
    prints "$3 of the ledger's $3 requests were never sent: $3 $2"
    python3 - "$tmp/$1.pcapng.gz" "$2" "$3" "$4" <<'PY' || fail "$1: see above"
import sys
sys.path.insert(0, "tests/support")
from ledger import ledger
path, outcome, n, bodies = sys.argv[1:]
entries = ledger(path)
assert len(entries) == int(n) and {e["outcome"] for e in entries} == {outcome}, entries
for e in entries:
    assert not {"sent_ns", "first_ns", "status", "due_ns"} & e.keys() and e["local_port"] == 0 and e["end_ns"] > 0, e
    assert ("body_sha256" in e) == (bodies == "yes"), e
PY
}
made one <<'PY'
write("one", [request("ok")])
PY
none http://no-such-host.invalid:8000 unresolved 'no-such-host.invalid'
none http://127.0.0.1:1 refused 'Connection refused'
none "https://127.0.0.1:$(port_of http hangs-up)" tls-failed 'no TLS handshake in time' --timeout 300ms
none "https://127.0.0.1:$(port_of http hangs-up)" tls-failed 'during the TLS handshake'

echo '{"workload": "w", "prompts": [{"name": "a", "text": "x"}]}' >"$tmp/spec.json"
status 4 "$tokaudit" replay "$tmp/spec.json" --target "http://127.0.0.1:$(port_of http floods)" -o "$tmp/none.pcapng.gz"
says '/v1/models had no whole HTTP answer; name the model with --model'
unbegun none no-model 1 no
status 4 "$tokaudit" replay "$tmp/spec.json" --target http://127.0.0.1:1 -o "$tmp/none.pcapng.gz"
says 'Connection refused'
unbegun none refused 1 no
rm "$tmp/none.pcapng.gz"
status 4 "$tokaudit" replay "$tmp/spec.json" --target http://127.0.0.1:1 --plan -o "$tmp/none.plan"
[ ! -e "$tmp/none.plan" ] || fail "a plan is left whose model is not known"

# A signal while the model is asked for, of a server that never answers.
python3 - "$tokaudit" "$tmp" <<'PY' || fail "a signal before the run: see above"
import os, signal, socket, subprocess, sys
tokaudit, tmp = sys.argv[1:]
deaf = socket.create_server(("127.0.0.1", 0))
for number, path in [(signal.SIGINT, "asked"), (signal.SIGTERM, "asked-too")]:
    p = subprocess.Popen([tokaudit, "replay", f"{tmp}/spec.json", "--target", f"http://127.0.0.1:{deaf.getsockname()[1]}",
                          "-o", f"{tmp}/{path}.pcapng.gz"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM)])
    conns = [deaf.accept()[0]] # that of the reaching, closed at once, …
    assert conns[0].recv(1) == b""
    conns.append(deaf.accept()[0]) # … and that of the question
    assert conns[1].recv(4000).startswith(b"GET /v1/models ")
    p.send_signal(number)
    said = p.communicate()[0]
    assert p.returncode == 1 and "ended by a signal" in said and "outcomes    interrupted 1;" in said, (p.returncode, said)
PY
unbegun asked interrupted 1 no
unbegun asked-too interrupted 1 no

# One that closes, or resets, each connection as soon as it is there.
made gone <<'PY'
write("gone", [request(f"r{i}", model="ok", conn=i) for i in range(8)])
PY
for port in hangs-up resets; do
    run gone 1 "http://127.0.0.1:$(port_of http $port)"
    held gone <<'PY'
entries = ledger(f"{tmp}/gone.pcapng.gz")
assert len(entries) == 8 and {e["outcome"] for e in entries} <= {"closed-early", "reset"}, entries
assert all("first_ns" not in e and "status" not in e for e in entries), entries
for r in json.load(open(f"{tmp}/gone.json"))["requests"]: # of those that were on their way before it closed
    assert r["outcome"] == "no-response" and r["status"] is None and r["metrics"]["e2el"]["value"] is None, r
PY
done

# One that takes connections and never reads: 8 MB do not fit into the sockets.
made deaf <<'PY'
write("deaf", [request("deaf", 8_000_000), request("small", t_ns=0)])
PY
run deaf 1 "http://127.0.0.1:$(port_of http deaf)" --timeout 700ms
held deaf <<'PY'
entries, a = check("deaf", {"deaf": ("timeout", 0, "no-response", None), "small": ("timeout", 0, "no-response", None)})
PY

# One that stops listening in the middle: those in flight end, the next are refused.
made leaves <<'PY'
lines = [request("ok", conn=i) for i in range(3)] + [request("leave", conn=3, after=2)]
write("leaves", lines + [request("refused", conn=4 + i, after=3, pause_ns=20 * MS) for i in range(3)])
PY
run leaves 1 "http://127.0.0.1:$(port_of http leaves)"
held leaves <<'PY'
entries, a = check("leaves", {"ok": WANT["ok"], "leave": WANT["leave"], "refused": ("refused", 0, None, None)}, 7)
assert len(a["requests"]) == 4
PY
grep -q "4 of the ledger's 7 requests are on the wire" "$tmp/leaves.txt" || fail "leaves: $(cat "$tmp/leaves.txt")"

# One that says 408 where nothing comes, and closes: no answer to the next request, which goes over another connection.
made idle <<'PY'
write("idle", [request("idle-408", conn=0, t_ns=0), request("ok", conn=0, t_ns=300 * MS)])
PY
run idle 0 "$http"
held idle <<'PY'
entries, a = check("idle", {n: WANT[n] for n in ("idle-408", "ok")})
assert len({e["local_port"] for e in entries}) == 2, entries
PY

# 256 at once, of which half fail, four times over.
made many <<'PY'
FAULTS = ["ok", "reset-mid", "document", "close-in-head", "interim", "garbage", "ok", "503-cut"]
write("many", [request(FAULTS[(i + i // 256) % 8], group=i // 256, t_ns=i // 256 * 300 * MS) for i in range(1024)])
PY
run many 1 "$http" --timeout 20s
held many <<'PY'
names = ["ok", "reset-mid", "document", "close-in-head", "interim", "garbage", "503-cut"]
entries, a = check("many", {n: WANT[n] for n in names}, 1024)
assert sum(e["outcome"] == "complete" for e in entries) == 512
assert {len([e for e in entries if e["group"] == g]) for g in range(4)} == {256}
PY

# A server whose idle time-out is met on one connection keeps the others: not so one that closes after every reply.
made others <<'PY'
lines = [request("keeps-then-closes", conn=0, t_ns=0), request("after-keeps-then-closes", model="ok", conn=0, t_ns=1_400 * MS)]
lines += [request("ok", conn=1, t_ns=i * 200 * MS) for i in range(12)]
write("others", lines)
PY
run others 1 "$http"
held others <<'PY'
entries, a = check("others", {n: WANT[n] for n in ("keeps-then-closes", "after-keeps-then-closes", "ok")}, 14)
assert len({e["local_port"] for e in entries if e["name"] == "ok"}) == 1, entries
PY

# TLS: another certificate in the middle, then handshakes that are closed, reset, answered with garbage and not at all.
front=$(dirname "$tokaudit")/tests/tls_front
plain=$(port_of http http)
mkfifo "$tmp/hold"
for side in a b; do
    "$front" "$plain" "$tmp/$side.pem" "$tmp/$side.port" <"$tmp/hold" 2>"$tmp/front.err" &
    pids="$pids $!"
done
exec 9>"$tmp/hold" # the fronts end when this does
until [ -s "$tmp/a.port" ] && [ -s "$tmp/b.port" ]; do
    kill -0 $! 2>/dev/null || die "tls_front did not start: $(cat "$tmp/front.err")"
    sleep 0.05
done
faulty tls "$(cat "$tmp/a.port")" "$(cat "$tmp/b.port")"
made tls <<'PY'
names = ["ok", "another", "closed", "reset", "garbage", "silent", "ok"]
write("tls", [request(n, model="ok", conn=i, **({"after": i - 1} if i else {})) for i, n in enumerate(names)])
PY
run tls 1 "https://127.0.0.1:$(port_of tls tls)" --ca "$tmp/a.pem" --timeout 1s
grep -q 'TLS failed in the midst of the run: its certificate is not accepted' "$tmp/tls.said" ||
    fail "tls: $(cat "$tmp/tls.said")"
held tls <<'PY'
failed = ("tls-failed", 0, None, None)
want = {"ok": WANT["ok"], "silent": ("timeout", 0, None, None)}
want |= {name: failed for name in ("another", "closed", "reset", "garbage")}
entries, a = check("tls", want, 7)
PY
passed
