#!/bin/sh
# replay_modes.sh TOKAUDIT: a load is recorded, and the trace replayed in every mode against the same server: who was sent,
# in which order, over which connections, after whom and when, from the new trace's ledger and from `analyze`.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

cat >"$tmp/spec.json" <<'END'
{"workload": "chat", "concurrency": 2, "repeats": 2, "pause_ms": 30,
 "prompts": [{"name": "a", "text": "one", "max_tokens": 3}, {"name": "b", "text": "two", "max_tokens": 5},
             {"name": "c", "text": "three", "max_tokens": 2}]}
END

serve ideal --profile ideal
target=http://127.0.0.1:$port

replay() { # NAME OPERAND ARGS...: into $tmp/NAME.pcapng.gz, what it says into $tmp/NAME.out
    name=$1
    shift
    status 0 "$tokaudit" replay "$@" --target "$target" -o "$tmp/$name.pcapng.gz"
    cp "$tmp/out" "$tmp/$name.said"
    "$tokaudit" analyze --format json "$tmp/$name.pcapng.gz" >"$tmp/$name.json" 2>"$tmp/err" || fail "$name: $(cat "$tmp/err")"
}

plan() { # NAME OPERAND ARGS...
    name=$1
    shift
    status 0 "$tokaudit" replay "$@" --plan
    cp "$tmp/out" "$tmp/$name.plan"
}

replay users "$tmp/spec.json"
replay pairs run_double --repeat 1 --scale 0.001 --max-tokens 3
for mode in recorded closed barrier; do
    replay users-$mode "$tmp/users.pcapng.gz" --mode $mode
    replay pairs-$mode "$tmp/pairs.pcapng.gz" --mode $mode
    plan users-$mode "$tmp/users.pcapng.gz" --mode $mode
    plan pairs-$mode "$tmp/pairs.pcapng.gz" --mode $mode
done
replay rate "$tmp/users.pcapng.gz" --rate 40
replay poisson "$tmp/users.pcapng.gz" --rate 40 --arrivals poisson --seed 3 --repeat 2 --warmup 5
plan poisson "$tmp/users.pcapng.gz" --rate 40 --arrivals poisson --seed 3 --repeat 2 --warmup 5
replay limit "$tmp/users.pcapng.gz" --concurrency 3 --repeat 2
plan limit "$tmp/users.pcapng.gz" --concurrency 3 --repeat 2
replay again "$tmp/limit.plan" # a plan says all of it
replay fast "$tmp/users.pcapng.gz" --mode closed --speed 4
plan fast "$tmp/users.pcapng.gz" --mode closed --speed 4
replay twice "$tmp/users.pcapng.gz" --repeat 2 --requests 15
replay short "$tmp/users.pcapng.gz" --rate 4 --duration 1120ms
replay model "$tmp/users.pcapng.gz" --mode closed --model "other \"one\""

cat >"$tmp/check.py" <<'PY'
import collections, json, sys
sys.path.insert(0, "tests/support")
from ledger import ledger, notes
tmp = sys.argv[1]
MS = 1_000_000

def entries(name): return ledger(f"{tmp}/{name}.pcapng.gz")
def analysis(name): return json.load(open(f"{tmp}/{name}.json"))
def said(name): return open(f"{tmp}/{name}.said").read()
def plan(name):
    lines = [json.loads(l) for l in open(f"{tmp}/{name}.plan")]
    return lines[1:] if "plan" in lines[0] else lines

def check(name, condition, *what):
    assert condition, (name, *what)

def bodies(es): return collections.Counter(e["body_sha256"] for e in es)

def same_requests(name, source, times=1):
    """The bodies on the wire are those of the recording, and the ledger says the same."""
    es, then = entries(name), entries(source)
    wire = collections.Counter(r["body_sha256"] for r in analysis(name)["requests"])
    want = collections.Counter({k: v * times for k, v in bodies(then).items()})
    check(name, bodies(es) == want and wire == want, wire, want)
    check(name, all(e["outcome"] == "complete" and e["status"] == 200 for e in es))
    check(name, {e["workload"] for e in es} == {e["workload"] for e in then})
    check(name, {(e["body_sha256"], e["name"]) for e in es} == {(e["body_sha256"], e["name"]) for e in then})
    return es

def never_early(name, es):
    check(name, all(e["sent_ns"] >= e["due_ns"] - 100_000 for e in es if "due_ns" in e),
          [e["sent_ns"] - e["due_ns"] for e in es if "due_ns" in e])

def connections(es):
    """Requests of each connection in their order."""
    conns = collections.defaultdict(list)
    for e in es:
        conns[e["local_port"]].append(e["body_sha256"])
    return sorted(map(tuple, conns.values()))

for source in ("users", "pairs"):
    then = entries(source)
    first = min(r["t0_ns"] for r in analysis(source)["requests"])
    t0 = {(r["conn"], r["nth"]): r["t0_ns"] - first for r in analysis(source)["requests"]}

    # recorded: due when they were sent; a group of the ledger at once, with its first.
    name = f"{source}-recorded"
    es, p = same_requests(name, source), plan(name)
    check(name, sorted(r["recorded"]["t_ns"] for r in p) == sorted(t0.values()))
    check(name, [r["t_ns"] for r in p] == sorted(r["t_ns"] for r in p))
    for r in p:
        group = [q["recorded"]["t_ns"] for q in p if "group" in r and q.get("group") == r["group"]]
        check(name, r["t_ns"] == min(group or [r["recorded"]["t_ns"]]))
    never_early(name, es)
    due = sorted(e["due_ns"] for e in es)
    check(name, all(abs((d - due[0]) - (r["t_ns"] - p[0]["t_ns"])) < MS for d, r in zip(due, p)))
    check(name, len({r["conn"] for r in p}) == len({e["local_port"] for e in then}))
    check(name, all(e["recorded"]["status"] == 200 and e["recorded"]["output_units"] > 0 for e in es))
    if "another" not in said(name) and "found theirs" not in said(name):
        check(name, connections(es) == connections(then))

    # closed: nobody before its predecessor, with the pause that was there; over the same connections.
    name = f"{source}-closed"
    es, p = same_requests(name, source), plan(name)
    never_early(name, es)
    check(name, all("group" not in r for r in p))
    by_body = {e["body_sha256"]: e for e in es}
    for r in p:
        if "after" not in r:
            check(name, r["t_ns"] < 20 * MS, r["t_ns"])
            continue
        before = p[r["after"]]
        check(name, before["conn"] == r["conn"])
        check(name, r["pause_ns"] == r["recorded"]["t_ns"] - before["recorded"]["end_ns"])
        gap = by_body[r["body_sha256"]]["sent_ns"] - by_body[before["body_sha256"]]["end_ns"]
        check(name, gap >= r["pause_ns"] - 100_000, gap, r["pause_ns"])
    if "found theirs" not in said(name):
        check(name, connections(es) == connections(then))

    # barrier: together what was together; the next when all of the last have ended.
    name = f"{source}-barrier"
    es, p = same_requests(name, source), plan(name)
    never_early(name, es)
    groups = collections.defaultdict(list)
    for r in p:
        groups[r.get("group", ("alone", r["id"]))].append(r)
    if source == "pairs":
        check(name, sorted(map(len, groups.values())) == [2] * 8)
    ends = {}
    for g, members in groups.items():
        sent = [by["sent_ns"] for by in es if by["body_sha256"] in {m["body_sha256"] for m in members}]
        if "after" in members[0]:
            check(name, min(sent) >= ends[members[0]["after"]])
        end = max(e["end_ns"] for e in es if e["body_sha256"] in {m["body_sha256"] for m in members})
        ends.update({m["id"]: end for m in members})

def gaps(es):
    due = [e["due_ns"] for e in es]
    return [b - a for a, b in zip(due, due[1:])]

es = same_requests("rate", "users")
never_early("rate", es)
check("rate", all(abs(g - 25 * MS) < MS for g in gaps(es)), gaps(es))
order = [e["body_sha256"] for e in entries("users")]
check("rate", [e["body_sha256"] for e in es] == order)

es, p = same_requests("poisson", "users", 2), plan("poisson")
never_early("poisson", es)
check("poisson", [r["body_sha256"] for r in p] == order * 2)
check("poisson", all(abs(g - (b["t_ns"] - a["t_ns"])) < MS for g, a, b in zip(gaps(es), p, p[1:])))
check("poisson", len({b["t_ns"] - a["t_ns"] for a, b in zip(p, p[1:])}) > 20)
check("poisson", [r["warmup"] for r in p] == [1] * 5 + [0] * 19)
check("poisson", sum(e.get("warmup", 0) for e in es) == 5)

def in_flight(es):
    steps = sorted([(e["sent_ns"], 1) for e in es] + [(e["end_ns"], -1) for e in es])
    n = most = 0
    for _, step in steps:
        n += step
        most = max(most, n)
    return most

for name in ("limit", "again"):
    es = same_requests(name, "users", 2)
    check(name, in_flight(es) == 3, in_flight(es))
    check(name, not any("due_ns" in e for e in es))
check("limit", json.loads(open(f"{tmp}/limit.plan").readline()) == {"plan": 1, "concurrency": 3})

slow, fast = plan("users-closed"), plan("fast")
check("fast", all(abs(f.get("pause_ns", 0) - s.get("pause_ns", 0) / 4) <= 1 for f, s in zip(fast, slow)))
same_requests("fast", "users")

# twice: the second after the end of the first, on connections of its own, and no more than 15.
es = entries("twice")
check("twice", len(es) == 15 and [e["repeat"] for e in es[:12]] and {e["repeat"] for e in es[12:]} <= {2, 3})
check("twice", min(e["sent_ns"] for e in es[12:]) >= max(e["end_ns"] for e in es[:12]))
check("twice", not {e["conn_planned"] for e in es[:12]} & {e["conn_planned"] for e in es[12:]})

# short: none is started after its time; who was under way ended.
es = entries("short")
check("short", [e["outcome"] for e in es] == ["complete"] * len(es) and len(es) == 5, len(es))
check("short", "ended when its time was over" in said("short") and "not sent 7" in said("short"))

# model: the body is the old one but for the name, and it is said.
es = entries("model")
check("model", not bodies(es) & bodies(entries("users")) and len(es) == 12)
check("model", {r["model"] for r in analysis("model")["requests"]} == {'other "one"'})
check("model", 'model simulated-ideal by other "one", Content-Length with it (12 requests)' in said("model"))
first, note = notes(f"{tmp}/model.pcapng.gz") # what is meant, and what was done
check("model", first["replaced"] and not any("request" in l for l in first["replaced"]), first)
check("model", any(l.endswith("(12 requests)") for l in note["replaced"]), note)
check("model", note["text"].startswith("replay of ") and any(l.startswith("model ") for l in note["replaced"]), note)

# The closing words: five lines, what was replaced, and where the rest is.
lines = said("users-closed").splitlines()
check("said", [l.split("  ")[0].rstrip() for l in lines[:4]] == ["requests", "outcomes", "send error", "release"], lines)
check("said", lines[4].startswith("connections ") and len(lines) == 6 and "see: tokaudit analyze" in lines[5], lines)
PY
python3 "$tmp/check.py" "$tmp" || fail "a mode is not what it should be"

# A plan of a plan is the same plan.
status 0 "$tokaudit" replay "$tmp/users-barrier.plan" --plan
cmp -s "$tmp/out" "$tmp/users-barrier.plan" || fail "--plan of a plan differs"

# A signal in the middle: the trace is whole, and says which were under way.
"$tokaudit" replay "$tmp/users.pcapng.gz" --mode closed --speed 0.01 --target "$target" -o "$tmp/ended.pcapng.gz" \
    >"$tmp/out" 2>"$tmp/err" &
pid=$!
sleep 1
kill -TERM $pid
found=0
wait $pid || found=$?
[ $found = 1 ] || fail "ended by a signal: status $found, expected 1: $(cat "$tmp/err")"
prints 'ended by a signal'
prints 'not sent'
status 0 "$tokaudit" verify "$tmp/ended.pcapng.gz"

# What does not go together.
refused() { # TEXT ARGS...
    text=$1
    shift
    status 2 "$tokaudit" replay "$@" --plan
    says "$text"
}
trace=$tmp/users.pcapng.gz
refused 'mode rate, --concurrency N the mode concurrency' "$trace" --mode closed --rate 3
refused 'mode rate, --concurrency N the mode concurrency' "$trace" --mode rate
refused 'mode rate, --concurrency N the mode concurrency' "$trace" --rate 3 --concurrency 3
refused 'expected more than 0' "$trace" --rate 0
refused 'expected more than 0' "$trace" --concurrency 0
refused 'expected more than 0' "$trace" --requests 0
refused 'speed' "$trace" --speed 0
refused '--speed is about recorded times' "$trace" --rate 1 --speed 2
refused 'arrivals is about --rate' "$trace" --arrivals poisson
refused 'sent as they are' "$trace" --scale 2
refused 'sent as they are' "$tmp/limit.plan" --max-tokens 2
refused 'in a recording' run_single --model m --mode closed
refused 'sent together' run_single --model m --mode barrier
refused 'from stdin' - <"$trace"
passed
