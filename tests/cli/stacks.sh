#!/bin/sh
# stacks.sh TOKAUDIT [FOLDER]: what must be found in recordings of stacks that others wrote, and what must not. FOLDER holds
# fresh ones, or some of them (tests/real/stacks.sh, tests/real/mlx.sh); by default those of traces/examples/stacks, all.
set -eu
folder=${2:-}
[ -z "$folder" ] || folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/../.."
. tests/support/cli.sh
examples=traces/examples/stacks
held=0

command -v python3 >/dev/null || { skip "no python3"; passed; }

# holds NAME WORD...: +ID: that finding is there. -PREFIX: none of these is. VERDICT:METRIC[:CAUSE]: what is said of the claim
# that the client of this run published, and first of all causes. N=OUTCOME: so many requests. Of findings that are not named,
# none may be a warning.
holds() {
    name=$1
    shift
    trace=${folder:-$examples}/$name.pcapng.gz
    [ -n "$folder" ] && [ ! -e "$trace" ] && return 0
    held=$((held + 1))
    "$tokaudit" verify "$trace" >"$tmp/verify" || fail "$name: $(cat "$tmp/verify")"
    "$tokaudit" analyze "$trace" --claims "${trace%.pcapng.gz}.json" --fail-on never --format json -o "$tmp/$name.json" ||
        fail "$name: not analyzed"
    python3 - "$tmp/$name.json" "$@" <<'PY' || fail "$name"
import json, sys

analysis = json.load(open(sys.argv[1]))
requests = [r for r in analysis["requests"] if r["dialect"]]
found = {f["id"]: f["severity"] for f in analysis["findings"]}
named = set()
for word in sys.argv[2:]:
    if word[0] == "+":
        named.add(word[1:])
        assert word[1:] in found, f"no {word[1:]} but {found}"
    elif word[0] == "-":
        assert not any(i.startswith(word[1:]) for i in found), found
    elif "=" in word:
        n, outcome = word.split("=")
        outcomes = [r["outcome"] for r in requests]
        assert outcomes.count(outcome) == int(n), outcomes
    else:
        verdict, metric, cause = (word + "::").split(":")[:3]
        claim, = [c for c in analysis["claims"] if c["metric"] == metric]
        causes = [c["id"] for c in claim["causes"]]
        assert claim["verdict"] == verdict, claim
        assert not cause or causes[:1] == [cause] and claim["causes"][0]["fit"] == "sign", claim
others = [i for i, severity in found.items() if severity != "info" and i not in named]
assert not others, others
PY
}

# Starlette on uvicorn: generates first and streams afterwards (vllm-mlx's list).
holds collect 4=success +stream.collect-then-replay -stream.header -server.serial differs:rate:P43 \
    confirmed:ttft confirmed:latency
holds collect-layers 4=success +stream.collect-then-replay -stream.header differs:rate:P43
# Blocks the event loop, and uvloop keeps what is written until the loop turns; with a turn behind each event, or on asyncio,
# the same generator streams.
holds block 4=success +stream.header-silence -stream.collect differs:rate:P43
holds block-yield 4=success -stream. confirmed:latency
holds block-asyncio 4=success -stream. +server.serial-queue
# Pairs: middleware lets the event before go only when the next is there.
holds pairs 4=success -stream.collect -stream.header -stream.not -requests. +stream.coalesced -server.joint
holds pairs-asyncio 4=success -stream.collect -stream.header -stream.not -requests. +stream.coalesced -server.joint
holds thread 4=success -stream. -server. -requests. confirmed:latency
# nginx, whose default is to pass on buffers of 4 KiB of a stream that comes without chunks.
holds nginx 3=success +stream.fixed-bursts -stream.collect -stream.header differs:rate:P45 confirmed:latency
holds nginx-http11 3=success -stream. -server. confirmed:rate confirmed:latency
holds nginx-unbuffered 3=success -stream. -server. confirmed:rate confirmed:latency
holds nginx-gzip 3=success +stream.header-silence differs:rate:P43
# Servers of the MLX family. vllm-mlx without batching answers the second of two at once with an error, and with SpecPrefill
# it generates first and streams afterwards: ten thousand tok/s, published by OpenAI's client, of twenty.
holds mlx-lm 4=success -stream. +server.cache-reuse
holds vllm-mlx 3=success 1=error-event -stream. +requests.failed +requests.error-in-success
holds vllm-mlx-specprefill 3=success 1=error-event +stream.collect-then-replay -stream.header \
    +requests.failed +requests.error-in-success differs:rate:P43 confirmed:ttft

if [ -z "$folder" ]; then
    [ $held = 15 ] && [ "$(ls $examples/*.pcapng.gz | wc -l)" = 15 ] || fail "$held traces are held, of $(ls $examples)"
else
    [ $held -gt 0 ] || fail "no trace that is known in $folder"
    echo "stacks.sh: $held traces of $folder"
fi
passed
