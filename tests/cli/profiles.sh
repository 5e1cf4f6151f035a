#!/bin/sh
# profiles.sh TOKAUDIT: every shipped profile is served, loaded, and analyzed: its replies are read as what they are in all of
# its dialects, what it states of itself is found in the trace, and every token left when its truth says.
set -eu
. tests/support/cli.sh

if ! command -v python3 >/dev/null; then
    skip "no python3, which reads the truth"
    passed
fi
check="python3 $support/profiles_check.py"
tokens=16

# An address of each server under its name in $tmp/NAME.port; those with stalls or long prompts are shortened.
profiles="ideal superlinear-batching degrading-batching collect-then-replay not-streamed context-32768 cyclic-stalls
quadratic-prefill leftover one-write pairs one-piece"
for profile in $profiles; do
    scale=1
    case $profile in
    quadratic-prefill) scale=0.001 ;;
    leftover) leftover=--leftover-mb=1 ;;
    esac
    serve "$profile" --profile "$profile" --truth "$tmp/$profile.truth" --time-scale $scale ${leftover:-}
    leftover=
done

# --- every reply, in each dialect, streamed and not ---------------------------------------------------------------------
load() { # NAME WORKLOAD TRACE
    "$tokaudit" replay "$2" --target "http://127.0.0.1:$(cat "$tmp/$1.port")" --label "$1" -o "$3" >"$3.out" 2>&1 ||
        fail "replay $2 against $1: $(cat "$3.out")"
}
replies() { # PROFILE
    names=$(sed -n 's/^ *"dialects": \[\(.*\)\],$/\1/p' "replay/profiles/$1.json" | tr -d '",')
    # shellcheck disable=SC2086 # several names
    $check plan $tokens $names >"$tmp/$1.plan"
    load "$1" "$tmp/$1.plan" "$tmp/$1.pcapng.gz"
}
waiting=
for profile in $profiles; do
    replies "$profile" &
    waiting="$waiting $!"
done
# shellcheck disable=SC2086 # several numbers
wait $waiting
for profile in $profiles; do
    trace=$tmp/$profile.pcapng.gz
    "$tokaudit" analyze "$trace" --format json -o "$tmp/$profile.json"
    $check replies "$tmp/$profile.json" "$trace" "$profile" $tokens || fail "$profile: replies"
    $check truth "$trace" "$tmp/$profile.truth" "$tmp/$profile.json" || fail "$profile: truth"
done
found() { # PROFILE FINDING
    grep -q "\"id\": \"$2\"" "$tmp/$1.json" || fail "$1: no finding $2"
}
found collect-then-replay stream.collect-then-replay
found one-write stream.header-silence
found one-piece stream.not-streamed
found not-streamed stream.not-streamed
for profile in ideal superlinear-batching degrading-batching leftover; do
    grep -q '"id": "stream\.' "$tmp/$profile.json" && fail "$profile: a finding about its streams"
done

# --- two at once against one alone --------------------------------------------------------------------------------------
workload() { # NAME MEMBERS
    echo '{"workload": "'"$1"'", "prompts": [{"name": "p", "prompt_tokens": 20, "max_tokens": '$tokens'}],
        "concurrency": '"$2"', "barrier": '"$3"', "repeats": 5}' >"$tmp/$1.spec"
}
workload single 1 false
workload double 2 true
sed 's/"name": "[^"]*"/"name": "two-workers"/; s/"workers": 1/"workers": 2/' replay/profiles/degrading-batching.json \
    >"$tmp/two-workers.json"
compared="ideal superlinear-batching degrading-batching two-workers context-32768"
waiting=
for profile in $compared; do
    named=$profile
    [ "$profile" = two-workers ] && named=$tmp/two-workers.json
    serve "speed-$profile" --profile "$named" --truth "$tmp/speed-$profile.truth"
    (
        load "speed-$profile" "$tmp/single.spec" "$tmp/single-$profile.pcapng.gz"
        load "speed-$profile" "$tmp/double.spec" "$tmp/double-$profile.pcapng.gz"
        [ $failures = 0 ]
    ) &
    waiting="$waiting $!"
done
for number in $waiting; do
    wait "$number" || fail "a load"
done
gets() { # PROFILE SPEEDUP
    "$tokaudit" analyze "$tmp/single-$1.pcapng.gz" "$tmp/double-$1.pcapng.gz" --format json -o "$tmp/$1.json"
    $check speedup "$tmp/speed-$1.truth" "$tmp/$1.json" "$2" || fail "$1: speedup"
    if grep -q '"id": "server.serial-queue"' "$tmp/$1.json"; then
        [ "$1" = context-32768 ] || fail "$1: a queue that is none"
    else
        [ "$1" != context-32768 ] || fail "$1: its queue was not found"
    fi
}
gets ideal 1.96
gets superlinear-batching 2.17
gets degrading-batching 0.85
gets two-workers 2
gets context-32768 1

# --- the manner of single streams ---------------------------------------------------------------------------------------
ask() { # PROFILE TOKENS WORDS: one stream, into $tmp/PROFILE-one.pcapng.gz; $port is the server's
    echo '{"workload": "one", "prompts": [{"name": "p", "prompt_tokens": '"$3"', "max_tokens": '"$2"'}]}' >"$tmp/one.spec"
    load "$1" "$tmp/one.spec" "$tmp/$1-one.pcapng.gz"
}
ask pairs 24 20
$check pairs "$tmp/pairs-one.pcapng.gz" || fail "pairs"
ask one-write 24 20
$check one-write "$tmp/one-write-one.pcapng.gz" || fail "one-write"

serve quick-stalls --profile cyclic-stalls --time-scale 0.05 --truth "$tmp/quick-stalls.truth"
grep -q '^stalls: after every 20 s, 3.5 tok/s for 20 s$' "$tmp/quick-stalls.out" || fail "stalls are not said"
grep -q '^scaled: .*stalls .* 0.05 .*decoding' "$tmp/quick-stalls.out" || fail "it is not said what is scaled"
ask quick-stalls 1000 20
$check stalls "$tmp/quick-stalls-one.pcapng.gz" || fail "stalls"
"$tokaudit" analyze "$tmp/quick-stalls-one.pcapng.gz" --format json -o "$tmp/one.json"
$check truth "$tmp/quick-stalls-one.pcapng.gz" "$tmp/quick-stalls.truth" "$tmp/one.json" || fail "stalls: truth"

# 52,000 tokens take 1860 s, and 100 of them 0.3 s: at 0.001.
ask quadratic-prefill 4 52000
"$tokaudit" analyze "$tmp/quadratic-prefill-one.pcapng.gz" --format json -o "$tmp/one.json"
python3 - "$tmp/one.json" <<'PY' || fail "quadratic-prefill: time to first token"
import json, sys
(r,) = [r for r in json.load(open(sys.argv[1]))["requests"] if r["dialect"]]
ttft = r["metrics"]["ttft"]["value"]
assert 51990 < r["tokens"]["prompt"] <= 52000 and 1.859 < ttft < 2.2, (r["tokens"], ttft)
PY

# --- refusals ---------------------------------------------------------------------------------------------------------------
cat >"$tmp/refused.py" <<'PY'
"""refused.py PORT WORDS STATUS BODY: a chat request of so many words, and what comes of it."""
import http.client, json, sys
port, words, status, body = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
c = http.client.HTTPConnection("127.0.0.1", port)
c.request("POST", "/v1/chat/completions",
          json.dumps({"stream": True, "max_tokens": 1, "messages": [{"role": "user", "content": "a " * words}]}))
r = c.getresponse()
text = r.read().decode()
assert r.status == status and body in text, (r.status, text[:300])
PY
refused() { # PROFILE WORDS STATUS BODY
    python3 "$tmp/refused.py" "$(cat "$tmp/$1.port")" "$2" "$3" "$4" || fail "$1: $2 words"
}
serve limit --profile context-32768 --time-scale 0.001
refused limit 32768 200 '"finish_reason":"length"'
refused limit 32769 400 '{"error":{"message":"Prompt too long: 32769 tokens exceeds max context window of 32768 tokens",'\
'"type":"invalid_request_error","param":null,"code":null}}'
refused quadratic-prefill 131073 400 '"Prompt exceeds maximum context length: 131073 tokens requested, 131072 available"'
refused superlinear-batching 0 400 '{"error":"messages: '
refused collect-then-replay 0 400 '{"detail":"messages: '

# --- the process that is left over -------------------------------------------------------------------------------------------
sed 's/"for_s": 60/"for_s": 2/' replay/profiles/leftover.json >"$tmp/short.json"
serve short --profile "$tmp/short.json" --leftover-mb 24
server=$pid
left=$(sed -n 's/^left over: process \([0-9]*\) holds 24 MiB and ends 2 s after this one$/\1/p' "$tmp/short.out")
[ -n "$left" ] || die "no process is named: $(cat "$tmp/short.out")"
kill -0 "$left" || fail "process $left is not there"
held=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$left/status")
[ "${held:-0}" -ge 24576 ] || fail "process $left holds $held KiB, expected 24576"
kill -KILL "$server" # it outlives that too
{ wait "$server" || :; } 2>/dev/null
kill -0 "$left" 2>/dev/null || fail "process $left ended with its server"
while kill -0 "$left" 2>/dev/null; do sleep 0.1; done # the test ends when it does
status 2 "$tokaudit" serve --profile ideal --leftover-mb 9999999
says 'leftover-mb: expected 0 to'
passed
