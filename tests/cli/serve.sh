#!/bin/sh
# serve.sh TOKAUDIT: the verb from outside: options, what it prints, its end, and both shipped profiles as a client sees
# them. The client is python3; without it the parts that need one are skipped, loudly.
set -eu
. tests/support/cli.sh

# expect STATUS TEXT ARGS...: what is wrong is said on stderr.
expect() {
    want=$1 text=$2
    shift 2
    status=0
    "$tokaudit" serve "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ "$status" = "$want" ] || die "serve $*: status $status, expected $want: $(cat "$tmp/err")"
    grep -q -e "$text" "$tmp/err" || die "serve $*: no '$text' in: $(cat "$tmp/err")"
    [ ! -s "$tmp/out" ] || die "serve $*: an error on stdout"
}

expect 2 'expected a trace, or --profile'
expect 2 'expected a trace or a profile' --profile ideal trace.pcapng.gz
expect 2 'time-scale: expected more than 0' --profile ideal --time-scale 0
expect 2 'time-scale: expected more than 0' --profile ideal --time-scale 2
expect 2 'numeric address' --profile ideal --listen nowhere
expect 3 "no profile 'nosuch'" --profile nosuch
expect 3 'cannot read' --profile "$tmp/none.json"
echo '{"name":"x","speed":1}' >"$tmp/bad.json"
expect 3 'unknown field "speed"' --profile "$tmp/bad.json"
expect 4 'ready-file' --profile ideal --listen 127.0.0.1:0 --ready-file "$tmp/no/such/dir"
expect 4 'truth' --profile ideal --listen 127.0.0.1:0 --truth "$tmp/no/such/dir"
"$tokaudit" serve --help | grep -q -e '--profile NAME|FILE' || die "--help does not name --profile"

# finish NAME SIGNAL STATUS: ends the last server; nothing is left of it.
finish() {
    kill "-$2" "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = "$3" ] || die "$1: status $status after SIG$2, expected $3: $(cat "$tmp/$1.err")"
    [ ! -e "$tmp/$1.port" ] || die "$1: its ready file is still there"
}

for signal in TERM INT; do
    serve idle --profile ideal --time-scale 0.5
    grep -q "^listening on http://127.0.0.1:$port\$" "$tmp/idle.out" || die "stdout: $(cat "$tmp/idle.out")"
    grep -q '^simulated: ' "$tmp/idle.out" || die "it does not say that it is simulated"
    grep -q '^scaled: .*decoding' "$tmp/idle.out" || die "it does not say what is scaled"
    expect 4 'cannot listen' --profile ideal --listen "127.0.0.1:$port"
    # A background job of a shell may have SIGINT ignored; the server sets its own handler.
    finish idle "$signal" 0
done

if ! command -v python3 >/dev/null; then
    skip "no python3, no request was sent to a server"
    passed
fi

cat >"$tmp/client.py" <<'PY'
"""client.py PORT TRUTH KIND: two streams at once through a client that nobody here wrote, held against the truth."""
import collections, http.client, json, sys, threading, time

port, truth_path, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
TOKENS = 30

def ask(n, out):
    c = http.client.HTTPConnection("127.0.0.1", port)
    body = {"model": "any", "stream": True, "max_tokens": TOKENS, "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": f"request number {n}"}]}
    c.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    assert r.status == 200 and "simulated" in r.getheader("Server"), r.headers
    assert r.getheader("Transfer-Encoding") == "chunked"
    for line in r:
        line = line.strip()
        if line.startswith(b"data: "):
            out.append((time.time_ns(), line[6:]))
    c.close()

streams = [[], []]
threads = [threading.Thread(target=ask, args=(i, s)) for i, s in enumerate(streams)]
for t in threads: t.start()
for t in threads: t.join()

ids = []
for s in streams:
    assert s[-1][1] == b"[DONE]" and b'"role"' in s[0][1]
    events = [json.loads(d) for _, d in s[:-1]]
    ids.append(events[0]["id"])
    texts = [e["choices"][0]["delta"].get("content") for e in events if e["choices"]]
    assert sum(1 for t in texts if t) == TOKENS, texts
    assert len("".join(t for t in texts if t).split(" ")) == TOKENS
    times = 1 if kind == "ideal" else 2  # vllm-mlx states it with the finish, and again where it is asked
    assert [e["usage"]["completion_tokens"] for e in events if e.get("usage")] == [TOKENS] * times
    assert [e["usage"]["prompt_tokens"] for e in events if e.get("usage")] == [3] * times
    assert [e["choices"][0]["finish_reason"] for e in events if e["choices"]][-1] == "length"

made, left, number = collections.defaultdict(list), collections.defaultdict(list), {}
for line in open(truth_path):
    t = json.loads(line)
    if "id" in t:
        number[t["id"]] = t["request"]
        assert t["prompt_tokens"] == 3 and t["output_tokens"] == TOKENS
    else:
        assert t["index"] == len(made[t["request"]])
        made[t["request"]].append(int(t["made_ns"]))
        left[t["request"]].append(int(t["t_ns"]))

MS = 1_000_000
for s, i in zip(streams, ids):
    m, l = made[number[i]], left[number[i]]
    rate = (TOKENS - 1) / (m[-1] - m[0]) * 1e9
    assert 55 < rate < 61, rate                       # the true rate, of either kind
    seen = [t for t, d in s if b'"content":"' in d and b'"role"' not in d]
    assert all(a >= b - MS for a, b in zip(seen, l)), "read before it left"
    if kind == "ideal":
        assert all(a >= b - MS for a, b in zip(l, m)), "left before it was made"
    else:
        assert l[0] >= m[-1] - MS, "left before all was made"
first, second = made[1], made[2]
if kind == "ideal":
    assert second[0] < first[-1], "two at once do not run together"
else:
    assert second[0] >= first[-1] - MS, "two at once are not behind one lock"
print(kind, "ok")
PY

for kind in ideal collect-then-replay; do
    serve "$kind" --profile "$kind" --truth "$tmp/truth"
    python3 "$tmp/client.py" "$port" "$tmp/truth" "$kind" || die "$kind"
    finish "$kind" TERM 0
done

# What is cut by the end is said in the status.
serve cut --profile collect-then-replay
python3 - "$port" "$pid" <<'PY' || die "cut"
import json, os, signal, socket, sys
body = json.dumps({"stream": True, "max_tokens": 100000, "messages": [{"role": "user", "content": "x"}]}).encode()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
got = b""
while b'"role"' not in got:
    got += s.recv(65536)
os.kill(int(sys.argv[2]), signal.SIGTERM)
while True:
    try:
        if not s.recv(65536):
            break
    except ConnectionResetError:
        break
PY
status=0
wait "$pid" || status=$?
[ "$status" = 1 ] || die "a cut reply: status $status, expected 1"
passed
