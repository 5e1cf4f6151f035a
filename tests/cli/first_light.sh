#!/bin/sh
# The whole path through the real binary: both simulated servers, a load on each, the analysis against the servers' known
# pace, and the verdict on a phantom. Times are held only against what no delay of a busy machine can undo.
set -eu
. tests/support/cli.sh

load() { # PROFILE WORKLOAD
    "$tokaudit" replay "$2" --target "http://127.0.0.1:$(cat "$tmp/$1.port")" --repeat 2 --scale 0.001 --max-tokens 16 \
        --label "$1" -o "$tmp/$1-$2.pcapng.gz" >"$tmp/replay.out" 2>&1 || die "replay $2: $(cat "$tmp/replay.out")"
}

for profile in ideal collect-then-replay; do
    serve $profile --profile $profile
    load $profile run_single
    load $profile run_double
done

# What a stopwatch between first and last event would have printed of the phantom's stream.
phantom=$tmp/collect-then-replay-run_single.pcapng.gz
"$tokaudit" analyze "$tmp"/*.pcapng.gz --format json -o "$tmp/all.json"
"$tokaudit" analyze "$phantom" --format json -o "$tmp/phantom.json"
naive=$(python3 - "$tmp/all.json" "$tmp/phantom.json" <<'END'
import json, statistics, sys

everything, phantom = (json.load(open(p)) for p in sys.argv[1:3])
label = {t["id"]: t["label"] for t in everything["traces"]}
asked = [r for r in everything["requests"] if r["dialect"]]
assert len(asked) == 2 * (16 + 32), len(asked)
withheld = 0
for r in asked:
    assert r["outcome"] == "success", r
    assert r["tokens"]["stated"] == 16 and r["tokens"]["events"] == 16, r
    rate, wall = r["metrics"]["output_tps_user"], r["metrics"]["e2e_output_tps"]
    # A delay makes a rate over the whole request lower; faster than its pace of 60 tok/s a server never is.
    assert 0 < wall["value"] < 66, wall
    assert rate["grade"] == "wire+stated" or (rate["value"] is None and rate["reason"]), rate
    withheld += label[r["trace"]] == "collect-then-replay" and rate["value"] is None
assert withheld > 24, withheld  # of 48: a busy machine may stretch some bursts
assert any(m["name"] == "speedup" and m["value"] is not None for m in everything["metrics"]), "no speedup"
kept_back = {label[f["scope"]["trace"]] for f in everything["findings"] if "collect" in f["id"]}
assert "collect-then-replay" in kept_back, kept_back
windows = [r["metrics"]["decode_window"]["value"] for r in phantom["requests"] if r["dialect"]]
# All in one read: a window of nothing, by which a client divides to whatever its clock can resolve.
print(round(16 / max(statistics.median(windows), 16e-6)))
END
)
"$tokaudit" analyze "$phantom" --claim "rate.p50=${naive}tok/s" --format json -o "$tmp/judged.json" &&
    die "a claim that differs must end with status 1"
python3 - "$tmp/judged.json" <<'END'
import json, sys

claim = json.load(open(sys.argv[1]))["claims"][0]
assert claim["verdict"] == "differs", claim
assert claim["causes"] and claim["causes"][0]["id"] == "P43" and claim["causes"][0]["fit"] == "sign", claim
assert claim["evidence"] and all(e["packet"] > 0 for e in claim["evidence"]), claim
END

# A cited packet number is Wireshark's frame number.
if command -v tshark >/dev/null 2>&1; then
    trace=$phantom
    frame=$(python3 -c 'import json,sys; print([e["packet"] for e in json.load(open(sys.argv[1]))["claims"][0]["evidence"]][-1])' \
        "$tmp/judged.json")
    tshark -r "$trace" -Y "frame.number==$frame" -T fields -e tcp.len 2>"$tmp/tshark.err" | grep -q '^[1-9]' ||
        die "frame $frame of the trace carries no bytes for tshark"
    tshark -r "$trace" >/dev/null 2>"$tmp/tshark.err" || die "tshark can't read the trace: $(cat "$tmp/tshark.err")"
else
    skip "tshark is not installed: frame numbers are not checked against it"
fi
passed
