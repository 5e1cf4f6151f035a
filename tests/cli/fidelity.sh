#!/bin/sh
# fidelity.sh TOKAUDIT: what analyze says of a replayed load holds for workloads with repeats and for several times round: the
# requests in flight are those on the wire, now and in the recording; repeats that overlap are one run; what was never sent is
# named in every report and in both readings of a count; so is what was sent otherwise than recorded.
set -eu
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

serve ideal --profile ideal --time-scale 0.25
target=http://127.0.0.1:$port
cat >"$tmp/over.json" <<'JSON'
{"workload": "over", "model": "m", "rate": 16, "repeats": 8,
 "prompts": [{"name": "a", "prompt_tokens": 10, "max_tokens": 24}, {"name": "b", "prompt_tokens": 10, "max_tokens": 12}]}
JSON
cat >"$tmp/apart.json" <<'JSON'
{"workload": "apart", "model": "m", "repeats": 3,
 "prompts": [{"name": "a", "prompt_tokens": 10, "max_tokens": 8}, {"name": "b", "prompt_tokens": 10, "max_tokens": 8}]}
JSON

# replayed NAME STATUS WHAT ARGS...: the trace, and what analyze makes of it as JSON and as text.
replayed() {
    name=$1 want=$2 what=$3
    shift 3
    status "$want" "$tokaudit" replay "$what" --target "$target" -o "$tmp/$name.pcapng.gz" "$@"
    "$tokaudit" analyze --format json "$tmp/$name.pcapng.gz" >"$tmp/$name.json"
    "$tokaudit" analyze "$tmp/$name.pcapng.gz" >"$tmp/$name.txt"
}
replayed base 0 "$tmp/over.json"
replayed apart 0 "$tmp/apart.json"
replayed fast 0 "$tmp/base.pcapng.gz" --speed 8 --model other
replayed three 0 "$tmp/base.pcapng.gz" --concurrency 3
replayed rate 0 "$tmp/base.pcapng.gz" --rate 40
replayed twice 0 "$tmp/base.pcapng.gz" --repeat 2 --speed 4
replayed waits 0 "$tmp/apart.pcapng.gz" --repeat 2 --mode closed

# More at once than there are descriptors.
cat >"$tmp/many.json" <<'JSON'
{"workload": "many", "model": "m", "rate": 400, "repeats": 60,
 "prompts": [{"name": "a", "prompt_tokens": 10, "max_tokens": 64}]}
JSON
(
    ulimit -n 45
    replayed unsent 1 "$tmp/many.json"
    exit "$failures"
)
for name in base apart fast three rate twice waits unsent; do
    python3 tests/support/schema_check.py analyze/schema/analysis.schema.json "$tmp/$name.json" || fail "$name: the schema"
done

python3 - "$tmp" <<'PY' || fail "the figures are not those of the wire"
import json, sys
tmp = sys.argv[1]
audits = {n: json.load(open(f"{tmp}/{n}.json")) for n in ("base", "apart", "fast", "three", "rate", "twice", "waits", "unsent")}
texts = {n: open(f"{tmp}/{n}.txt").read() for n in audits}


def flight(name):
    """Average and peak of the requests in flight, by the curves of the runs, which know nothing of a ledger."""
    changes = []
    for run in audits[name]["runs"]:
        before = 0
        for t, n in run["in_flight"]:
            changes.append((t, n - before))
            before = n
    area = now = peak = 0
    changes.sort()
    for (t, change), (then, _) in zip(changes, changes[1:] + changes[-1:]):
        now += change
        area += now * (then - t)
        peak = max(peak, now)
    return area / (changes[-1][0] - changes[0][0]), peak


def figure(name, metric):
    return next(m["value"] for m in audits[name]["metrics"] if m["name"] == metric and m["scope"] == {"trace": 1})


def same(found, expected, what):
    assert found["peak"] == expected[1] and abs(found["average"] / expected[0] - 1) < 1e-6, (what, found, expected)


for name in ("base", "fast", "three", "rate"):
    f = audits[name]["traces"][0]["fidelity"]
    same(f["in_flight"], flight(name), name)
    if name != "base":
        same(f["in_flight_recorded"], flight("base"), name + ", recorded")
    if name == "three": # a repeat may begin as the one before ends
        continue
    run, = audits[name]["runs"]
    assert (run["repeat"], run["repeats"]) == (None, 8), run
    assert "8 repeats overlap in time: their figures are those of one run" in texts[name], texts[name]
    tokens = sum(r["tokens"]["stated"] for r in audits[name]["requests"])
    v = run["in_flight"]
    assert abs(figure(name, "output_tps") / (tokens / ((v[-1][0] - v[0][0]) / 1e9)) - 1) < 1e-6
    assert abs(figure(name, "concurrency_avg") / f["in_flight"]["average"] - 1) < 1e-6
assert flight("fast")[1] > flight("base")[1]
assert flight("three")[1] == 3

# Twice round: the first round is what is held against the recording.
f = audits["twice"]["traces"][0]["fidelity"]
assert f["entries"] == 32 and f["in_flight"]["peak"] <= 16, f
same(f["in_flight_recorded"], flight("base"), "twice, recorded")
assert [r.get("repeats") for r in audits["twice"]["runs"]] == [8, 8], audits["twice"]["runs"]

# Repeats one after the other stay what they are.
assert [(r["repeat"], r.get("repeats")) for r in audits["apart"]["runs"]] == [(i, None) for i in range(3)]
assert [(r["repeat"], r.get("repeats")) for r in audits["waits"]["runs"]] == [(i, None) for i in range(6)]
assert "overlap" not in texts["apart"] + texts["waits"]
f = audits["waits"]["traces"][0]["fidelity"]
assert f["in_flight"]["peak"] == f["in_flight_recorded"]["peak"] == 1, f

# What was replaced.
lines = audits["fast"]["traces"][0]["replaced"]
assert any("model m by other" in line and "16 requests" in line for line in lines), lines
assert len(lines) == len(set(lines)), lines # once, though the trace says it at its beginning and its end
assert "replaced: model m by other" in texts["fast"], texts["fast"]
assert "replaced" not in audits["base"]["traces"][0]

# What was never sent.
a, text = audits["unsent"], " ".join(texts["unsent"].split())
f = a["traces"][0]["fidelity"]
unsent, sent = f["entries"] - f["found"], f["found"]
assert f["entries"] == 60 and 0 < sent < 60, f
assert f["unseen"] == [{"outcome": "no-descriptor", "sent": False, "n": unsent}], f
assert [x["severity"] for x in a["findings"] if x["id"] == "requests.unsent"] == ["warn"], a["findings"]
for words in (f"{sent} requests, all ok, {unsent} more never sent", f"{unsent} of the ledger's 60 requests were never sent",
              f"never sent {unsent} no-descriptor"):
    assert words in text, (words, text)
assert not [x for n in audits if n != "unsent" for x in audits[n]["findings"] if x["id"] == "requests.unsent"]
open(f"{tmp}/counts", "w").write(f"{sent} {unsent}\n")
PY

# Both readings of a count are right, what lies between is not.
read -r sent unsent <"$tmp/counts"
status 0 "$tokaudit" analyze "$tmp/unsent.pcapng.gz" --claim "failed=$unsent" --claim failed=0 --claim requests=60 \
    --claim "requests=$sent" --claim "completed=$sent"
status 1 "$tokaudit" analyze "$tmp/unsent.pcapng.gz" --claim "failed=$((unsent / 2))"
status 1 "$tokaudit" analyze "$tmp/unsent.pcapng.gz" --claim completed=60

# The title of the plot counts too.
if command -v gnuplot >/dev/null; then
    status 0 "$tokaudit" analyze "$tmp/unsent.pcapng.gz" --report "$tmp/report"
    grep -q "TITLE = '$sent of 60 requests left, within " "$tmp/report/plots/fidelity-1.gp" ||
        fail "the plot's title: $(grep TITLE "$tmp/report/plots/fidelity-1.gp")"
    grep -q "<b>$unsent</b> more never sent" "$tmp/report/report.html" || fail "the report does not say what was never sent"
else
    skip "the plot: no gnuplot"
fi

# Who ended a reply is on the wire: our own limit of time is no reset of the server's.
status 1 "$tokaudit" replay "$tmp/over.json" --target "$target" --timeout 60ms -o "$tmp/late.pcapng.gz"
status 0 "$tokaudit" analyze "$tmp/late.pcapng.gz"
prints 'The client ended [0-9]* of [0-9]* requests itself'
tr -s ' \n' ' ' <"$tmp/out" | grep -q 'its ledger says [0-9]* timeout' || fail "the ledger's outcome is not named: $(cat "$tmp/out")"
! grep -q 'were reset' "$tmp/out" || fail "a server is blamed for our timeout: $(cat "$tmp/out")"
passed
