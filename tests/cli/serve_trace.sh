#!/bin/sh
# serve_trace.sh TOKAUDIT: recorded answers played from outside: a run that is served gives the same run again, captures of
# others with answers of every shape, who asks for what, and the examples. Without python3 only the options are tried.
set -eu
. tests/support/cli.sh
check=$support/serve_trace_check.py
examples=traces/examples

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

example=$examples/llama.cpp-smollm2-135m.pcapng.gz
expect 3 'is not the part of a rotation that follows' "$example" "$example"
expect 2 'a trace or a profile' --profile ideal "$example"
expect 2 'belong to a trace' --profile ideal --speed 2
expect 2 'belong to a trace' --profile ideal --match order
expect 2 '--seed belongs to --profile' "$example" --seed 1
expect 2 'expected one of them' "$example" --speed 2 --as-fast-as-possible
expect 2 'speed: expected 0.001' "$example" --speed 0
expect 2 'body|any-model|order' "$example" --match prompt
expect 3 'none.pcapng' "$tmp/none.pcapng"
echo nothing >"$tmp/text"
expect 3 'text' "$tmp/text"
expect 4 'truth' "$example" --listen 127.0.0.1:0 --truth "$tmp/no/such/dir"
expect 2 'numeric address' "$example" --listen nowhere
"$tokaudit" capture --read "$example" --redact bodies -o "$tmp/redacted.pcapng.gz" 2>"$tmp/err" || die "$(cat "$tmp/err")"
expect 3 'match order serves what is left' "$tmp/redacted.pcapng.gz"

# finish NAME STATUS: ends the last server.
finish() {
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = "$2" ] || die "$1: status $status, expected $2: $(cat "$tmp/$1.err")"
}

# told NAME TEXT: on stdout; noted NAME TEXT: on stderr.
told() {
    grep -q -e "$2" "$tmp/$1.out" || die "$1: no '$2' in: $(cat "$tmp/$1.out")"
}
noted() {
    grep -q -e "$2" "$tmp/$1.err" || die "$1: no '$2' in: $(cat "$tmp/$1.err")"
}

serve idle -v "$example"
told idle "^listening on http://127.0.0.1:$port\$"
told idle '^recorded: .*: 26 answers to 26 requests'
finish idle 0
serve redacted -v "$tmp/redacted.pcapng.gz" --match order --speed 0.5
told redacted '^redacted: the recorded texts were overwritten'
told redacted '^timing: 0.5 times as fast'
finish redacted 0

command -v python3 >/dev/null || {
    skip "all that needs a client: no python3"
    passed
}

# --- a run, and the same run against what it recorded ------------------------------------------------

cat >"$tmp/spec.json" <<'END'
{"workload": "w", "concurrency": 3, "repeats": 2, "prompts": [
  {"name": "a", "prompt_tokens": 40, "max_tokens": 12}, {"name": "b", "prompt_tokens": 900, "max_tokens": 20}]}
END

# load TARGET OUT
load() {
    "$tokaudit" replay "$tmp/spec.json" --model "${3:-m}" --target "http://127.0.0.1:$1" -o "$tmp/$2.pcapng.gz" \
        >"$tmp/replay.out" 2>&1 || die "replay $2: $(cat "$tmp/replay.out")"
}
serve ideal -v --profile ideal
load "$port" first
finish ideal 0

serve again -v "$tmp/first.pcapng.gz" --truth "$tmp/truth"
told again ': 12 answers to 12 requests'
told again '^simulated: the recorded server was profile ideal'
load "$port" again
finish again 0
python3 "$check" same "$tmp/first.pcapng.gz" "$tmp/again.pcapng.gz" 1
noted again '12 requests, 12 replies played to their end (0 of them cut'
serve both -v "$tmp/first.pcapng.gz" # the load, too, from the trace
"$tokaudit" replay "$tmp/first.pcapng.gz" --target "http://127.0.0.1:$port" -o "$tmp/both.pcapng.gz" \
    >"$tmp/replay.out" 2>&1 || die "replay of the trace: $(cat "$tmp/replay.out")"
finish both 0
python3 "$check" same "$tmp/first.pcapng.gz" "$tmp/both.pcapng.gz" 1
serve fast -v "$tmp/first.pcapng.gz" --as-fast-as-possible
told fast '^timing: none'
load "$port" fast
finish fast 0
serve twice -v "$tmp/first.pcapng.gz" --speed 2
load "$port" twice
finish twice 0
python3 "$check" same "$tmp/first.pcapng.gz" "$tmp/twice.pcapng.gz" 2
"$tokaudit" analyze "$tmp/first.pcapng.gz" "$tmp/again.pcapng.gz" "$tmp/fast.pcapng.gz" --format json -o "$tmp/all.json"
python3 - "$tmp/all.json" "$tmp/truth" <<'END'
import json, sys

everything = json.load(open(sys.argv[1]))
runs = {}
for r in everything["requests"]:
    runs.setdefault(r["trace"], []).append(r)
first, again, fast = (sorted((r["tokens"]["stated"], r["tokens"]["events"], r["outcome"], r["status"]) for r in v)
                      for v in runs.values())
assert first == again == fast and len(first) == 12, (first, again, fast)
assert {r["outcome"] for v in runs.values() for r in v} == {"success"}
lines = [json.loads(line) for line in open(sys.argv[2])]
asked = {l["request"]: l for l in lines if "recorded" in l}
left = [l for l in lines if "segment" in l]
assert len(asked) == 12 and len(left) == sum(l["segments"] for l in asked.values()), (len(asked), len(left))
assert all(int(l["t_ns"]) >= int(l["due_ns"]) for l in left)
END

# The parts of a rotation are one trace.
"$tokaudit" capture --read "$example" --rotate 10s -o "$tmp/part.pcapng.gz" 2>"$tmp/err" || die "$(cat "$tmp/err")"
serve parts -v "$tmp"/part-*.pcapng.gz --as-fast-as-possible
told parts ': 26 answers to 26 requests'
python3 "$check" ask "$example" "$port" || die "$(tail -5 "$tmp/parts.err")"
finish parts 0

# Another model's name, and other texts.
serve model -v "$tmp/first.pcapng.gz" --as-fast-as-possible
"$tokaudit" replay "$tmp/spec.json" --model other --target "http://127.0.0.1:$port" -o "$tmp/other.pcapng.gz" \
    >"$tmp/replay.out" 2>&1 || : # what it makes of 404s is its own affair
finish model 1
noted model "differs in the model's name alone: --match any-model"
noted model '12 of 12 requests without their answer: 12 not recorded'
serve any -v "$tmp/first.pcapng.gz" --as-fast-as-possible --match any-model
load "$port" other other
finish any 0
noted any 'found by any-model'
sed 's/"prompt_tokens": 40/"prompt_tokens": 41/' "$tmp/spec.json" >"$tmp/spec2.json" && mv "$tmp/spec2.json" "$tmp/spec.json"
serve order -v "$tmp/first.pcapng.gz" --as-fast-as-possible --match order
load "$port" order
finish order 0
noted order 'found by order'

# --- answers of every shape ---------------------------------------------------------------------------

python3 "$check" make "$tmp/shapes.pcap"
serve shapes -v "$tmp/shapes.pcap"
told shapes ': 10 answers to 11 requests'
told shapes '^not served: 1 response (502): bytes of it were not captured'
told shapes '^cut: 3 responses'
python3 "$check" play "$port" || die "$(tail -5 "$tmp/shapes.err")"
finish shapes 1
noted shapes 'all such have been given'

for trace in "$examples"/*.pcapng.gz; do
    serve example -v "$trace" --as-fast-as-possible
    python3 "$check" ask "$trace" "$port" || die "$trace: $(tail -5 "$tmp/example.err")"
    finish example 0
done
rm "$tmp/shapes.pcap" # its hole and its made-up headers are nothing for tshark
passed
