#!/bin/sh
# analyze --as, --slo, --percentile-method, --warmup: what is printed, that the JSON is valid, and what is refused.
set -eu
. tests/support/cli.sh
trace=traces/examples/llama.cpp-smollm2-135m.pcapng.gz

for tool in vllm sglang aiperf guidellm llama-benchy inference-perf llmperf genai-perf all; do
    "$tokaudit" analyze "$trace" --as $tool --format json >"$tmp/$tool.json"
    python3 tests/support/schema_check.py analyze/schema/analysis.schema.json "$tmp/$tool.json"
    "$tokaudit" analyze "$trace" --as $tool >"$tmp/$tool.txt"
done
grep -q '^  mean_ttft_ms  *1,4[0-9][0-9]   *ms ' "$tmp/vllm.txt" || fail "vllm: $(cat "$tmp/vllm.txt")"
grep -q 'time_per_output_token_ms.mean' "$tmp/guidellm.txt" || fail "guidellm: no TPOT"
grep -q '^  genai-perf .* ? ' "$tmp/all.txt" || fail "genai-perf has a count of tokens without a tokenizer"
[ "$(grep -c '^As other tools' "$tmp/all.txt")" = 2 ] || fail "two runs expected"
[ "$(awk '/^As/ { on = 1 } on && length($0) > n { n = length($0) } END { print n }' "$tmp/all.txt")" -le 120 ] ||
    fail "too wide"

"$tokaudit" analyze "$trace" --slo ttft=500ms,tpot=60ms >"$tmp/slo"
grep -q 'run_single goodput 0.13 req/s: 25 % of 8 requests are good' "$tmp/slo" || fail "$(cat "$tmp/slo")"

for tool in vllm:request_goodput sglang:slo_attainment aiperf:good_request_fraction guidellm:slo_attainment \
    inference-perf:goodput_metrics.goodput_percentage genai-perf:request_goodput.avg; do
    "$tokaudit" analyze "$trace" --as ${tool%%:*} --slo ttft=500ms,tpot=60ms >"$tmp/slo"
    grep -q "^  ${tool##*:} " "$tmp/slo" || fail "$tool: no goodput: $(cat "$tmp/slo")"
    ! grep -q good "$tmp/${tool%%:*}.txt" || fail "${tool%%:*}: a goodput that nobody asked for"
done
grep -q 'good_request_fraction  *0.25 ' "$tmp/slo" || "$tokaudit" analyze "$trace" --as aiperf --slo ttft=500ms,tpot=60ms |
    grep -q 'good_request_fraction  *0.25 ' || fail "aiperf: not the fraction of --slo"

for method in linear nearest loadgen weighted; do
    "$tokaudit" analyze "$trace" --percentile-method $method --format json >"$tmp/$method.json"
    python3 tests/support/schema_check.py analyze/schema/analysis.schema.json "$tmp/$method.json"
    grep -q "\"percentile_method\": \"$method\"" "$tmp/$method.json" || fail "$method is not stated"
done

status 2 "$tokaudit" analyze "$trace" --slo ttft=fast
status 2 "$tokaudit" analyze "$trace" --slo ttft=500 # of what?
status 2 "$tokaudit" analyze "$trace" --slo rate=5ms
status 2 "$tokaudit" analyze "$trace" --as wrk
status 2 "$tokaudit" analyze "$trace" --percentile-method type7

passed
