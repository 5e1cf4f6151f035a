#!/bin/sh
# The whole path through the real binary: both simulated servers, a load on each, the analysis against the servers' known
# pace, and the verdict on a phantom. Times are held only against what no delay of a busy machine can undo.
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
pids=
cleanup() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    rm -rf "$dir"
}
trap cleanup EXIT
fail() {
    echo "FAIL: $*" >&2
    exit 1
}

start() { # PROFILE
    "$bin" serve --profile "$1" --listen 127.0.0.1:0 --ready-file "$dir/$1.port" >"$dir/$1.serve" 2>&1 &
    pids="$pids $!"
    tries=0
    until [ -s "$dir/$1.port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fail "serve --profile $1 did not start: $(cat "$dir/$1.serve")"
        sleep 0.1
    done
}

load() { # PROFILE WORKLOAD
    "$bin" replay "$2" --target "http://127.0.0.1:$(cat "$dir/$1.port")" --repeats 2 --scale 0.001 --max-tokens 16 \
        --label "$1" -o "$dir/$1-$2.pcapng.gz" >"$dir/replay.out" 2>&1 || fail "replay $2: $(cat "$dir/replay.out")"
}

for profile in ideal collect-then-replay; do
    start $profile
    load $profile run_single
    load $profile run_double
done

"$bin" analyze "$dir"/*.pcapng.gz --claim 'rate.p50=14000tok/s' --fail-on never --format json -o "$dir/all.json"
"$bin" analyze "$dir"/collect-then-replay-run_single.pcapng.gz --claim 'rate.p50=14000tok/s' --format json \
    -o "$dir/phantom.json" && fail "a claim that differs must end with status 1"
python3 - "$dir/all.json" "$dir/phantom.json" <<'END'
import json, sys

everything, phantom = (json.load(open(p)) for p in sys.argv[1:3])
label = {t["id"]: t["label"] for t in everything["traces"]}
asked = [r for r in everything["requests"] if r["dialect"]]
assert len(asked) == 2 * (16 + 32), len(asked)
for r in asked:
    assert r["outcome"] == "success", r
    assert r["tokens"]["stated"] == 16 and r["tokens"]["events"] == 16, r
    rate, wall = r["metrics"]["output_tps_user"], r["metrics"]["e2e_output_tps"]
    # A delay makes a rate lower; faster than its pace of 60 tok/s a server never is, whatever the machine does,
    # but for the first token's delay, which shortens the window.
    assert 0 < wall["value"] < 66, wall
    if label[r["trace"]] == "ideal":
        assert rate["grade"] == "wire+stated" and rate["value"] < 130, rate
    else:
        assert rate["grade"] == "not-measurable" and rate["value"] is None and rate["reason"], rate
speedups = [m for m in everything["metrics"] if m["name"] == "speedup" and m["value"] is not None]
assert speedups, "no speedup"
kept_back = {label[f["scope"]["trace"]] for f in everything["findings"] if "collect" in f["id"]}
assert kept_back == {"collect-then-replay"}, kept_back
claim = phantom["claims"][0]
assert claim["verdict"] == "differs", claim
assert claim["causes"] and claim["causes"][0]["id"] == "P43" and claim["causes"][0]["fit"] == "sign", claim["causes"]
assert claim["evidence"] and all(e["packet"] > 0 for e in claim["evidence"]), claim
END

# A cited packet number is Wireshark's frame number.
if command -v tshark >/dev/null 2>&1; then
    trace=$dir/collect-then-replay-run_single.pcapng.gz
    frame=$(python3 -c 'import json,sys; print([e["packet"] for e in json.load(open(sys.argv[1]))["claims"][0]["evidence"]][-1])' \
        "$dir/phantom.json")
    tshark -r "$trace" -Y "frame.number==$frame" -T fields -e tcp.len 2>"$dir/tshark.err" | grep -q '^[1-9]' ||
        fail "frame $frame of the trace carries no bytes for tshark"
    tshark -r "$trace" >/dev/null 2>"$dir/tshark.err" || fail "tshark can't read the trace: $(cat "$dir/tshark.err")"
else
    echo "SKIP: tshark is not installed: frame numbers are not checked against it" >&2
fi
echo "first light: ok"
