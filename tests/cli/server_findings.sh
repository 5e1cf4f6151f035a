#!/bin/sh
# Simulated servers, each with one manner, and what is found in their traces without any claim; and an ideal one, in all
# dialects, that is accused of nothing.
set -eu
. tests/support/cli.sh

if ! command -v python3 >/dev/null; then
    skip "no python3, which changes the profiles"
    passed
fi

variant() { # NAME CHANGES: the ideal profile with other members
    python3 - "$1" "$2" <<'END' >"$tmp/$1.json"
import json, sys
profile = json.load(open("replay/profiles/ideal.json"))
profile.update(json.loads(sys.argv[2]), name=sys.argv[1], decode_tps=200)
print(json.dumps(profile))
END
}
load() { # NAME WORKLOAD TRACE
    "$tokaudit" replay "$2" --target "http://127.0.0.1:$(cat "$tmp/$1.port")" -o "$3" --label "$1" \
        >"$tmp/replay.txt" 2>&1 || die "replay: $(cat "$tmp/replay.txt")"
}
found() { # NAME ID...: of one server's traces; nothing else at warn or fail
    name=$1
    shift
    "$tokaudit" analyze "$tmp/$name"-*.pcapng.gz --format json -o "$tmp/found.json"
    python3 - "$tmp/found.json" "$@" <<'END' || fail "$name: findings"
import json, sys
found = json.load(open(sys.argv[1]))["findings"]
ids = {f["id"] for f in found}
missing = set(sys.argv[2:]) - ids
wrong = [f for f in found if f["severity"] != "info" and f["id"] not in sys.argv[2:]]
assert not missing and not wrong, (missing, wrong)
END
}
spec() { # NAME PROMPT-TOKENS LONG-PROMPT-TOKENS CONCURRENCY BARRIER
    echo '{"workload": "'"$1"'", "prompts": [{"name": "p", "prompt_tokens": '"$2"', "max_tokens": 40},
        {"name": "q", "prompt_tokens": '"$3"', "max_tokens": 40}], "concurrency": '"$4"', "barrier": '"$5"', "repeats": 3}' \
        >"$tmp/$1.spec"
}
spec single 40 60 1 false
spec double 40 60 2 true
spec long 90 140 1 false

variant degrading '{"batching": {"kind": "continuous", "slowdown": 1.5}}'
variant packed '{"delivery": {"kind": "stream", "tokens_per_event": 4}}'
variant silent '{"usage": "never"}'
variant limited '{"context": {"limit": 100, "error": "Prompt too long: {prompt} tokens exceeds max context window of {limit} tokens"}}'
variant ideal '{}'
for name in degrading packed silent limited ideal; do
    serve "$name" --profile "$tmp/$name.json" --time-scale 0.1
done

# --- several at once ----------------------------------------------------------------------------------------------------
for name in degrading ideal; do
    load "$name" "$tmp/single.spec" "$tmp/$name-single.pcapng.gz"
    load "$name" "$tmp/double.spec" "$tmp/$name-double.pcapng.gz"
done
found degrading server.degrades
found ideal server.batching
status 0 "$tokaudit" analyze "$tmp"/ideal-*.pcapng.gz --faster-together 2.5
grep -q 'Several requests at once' "$tmp/out" && fail "a threshold of 2.5 is not kept"

# --- one after the other, with a decode rate and without ----------------------------------------------------------------
sed 's/"max_tokens": 40/"max_tokens": 16/g' "$tmp/double.spec" >"$tmp/pairs.spec"
for name in context-32768 collect-then-replay not-streamed one-write; do
    serve "$name" --profile "$name" --time-scale 0.1
    load "$name" "$tmp/pairs.spec" "$tmp/$name-pairs.pcapng.gz"
done
found context-32768 server.serial-queue
found collect-then-replay server.serial-queue stream.collect-then-replay
found not-streamed server.serial-queue stream.not-streamed
found one-write server.serial-queue stream.header-silence
for delivery in collect-then-replay document; do
    variant "together-$delivery" '{"delivery": {"kind": "'$delivery'"}}'
    serve "together-$delivery" --profile "$tmp/together-$delivery.json" --time-scale 0.1
    load "together-$delivery" "$tmp/pairs.spec" "$tmp/together-$delivery-pairs.pcapng.gz"
done
found together-collect-then-replay stream.header-silence
found together-document stream.not-streamed
for delivery in collect-then-replay document; do
    status 0 "$tokaudit" analyze "$tmp/together-$delivery-pairs.pcapng.gz" --fail-on never
    grep -q 'served one after the other' "$tmp/out" && fail "together-$delivery: a queue that is none"
done

# --- what is in a stream ------------------------------------------------------------------------------------------------
load packed "$tmp/single.spec" "$tmp/packed-single.pcapng.gz"
found packed stream.tokens-per-event
load silent "$tmp/single.spec" "$tmp/silent-single.pcapng.gz"
found silent usage.missing

# --- a limit ------------------------------------------------------------------------------------------------------------
load limited "$tmp/long.spec" "$tmp/limited-long.pcapng.gz"
found limited server.context-limit requests.failed
status 0 "$tokaudit" analyze "$tmp/limited-long.pcapng.gz"
prints '100 tokens by its error'

# --- prompts ------------------------------------------------------------------------------------------------------------
serve quadratic-prefill --profile quadratic-prefill --time-scale 0.001
"$tokaudit" replay run_single --target "http://127.0.0.1:$port" -o "$tmp/quadratic.pcapng.gz" --repeat 1 \
    --max-tokens 12 >"$tmp/replay.txt" 2>&1 || die "replay: $(cat "$tmp/replay.txt")"
status 0 "$tokaudit" analyze "$tmp/quadratic.pcapng.gz"
prints 'The time to first text grows faster than the prompt'
prints 'It grows with the power 1\.[6-9]'
status 0 "$tokaudit" analyze "$tmp/quadratic.pcapng.gz" --prefill-exponent 2
grep -q 'grows faster' "$tmp/out" && fail "a threshold of 2 is not kept"

# --- nothing to find, in any dialect ------------------------------------------------------------------------------------
names=$(sed -n 's/^ *"dialects": \[\(.*\)\],$/\1/p' replay/profiles/ideal.json | tr -d '",')
# shellcheck disable=SC2086 # several names
python3 "$support/profiles_check.py" plan 24 $names >"$tmp/all.plan"
load ideal "$tmp/all.plan" "$tmp/clean-all.pcapng.gz"
found clean

# --- and where it is written --------------------------------------------------------------------------------------------
status 0 "$tokaudit" help findings
prints '^warn  server.degrades$'
prints 'Threshold: --slower-together'
[ "$(awk 'length > 80' "$tmp/out")" = "" ] || fail "help findings is wider than 80 columns"
passed
