#!/bin/sh
# claims.sh TOKAUDIT: result files of other tools, with a trace and without one.
set -eu
. tests/support/cli.sh

example=traces/examples/collect-then-replay.pcapng.gz

# A naive harness's figure, in our own form: the founding verdict.
echo '{"metric":"rate","stat":"p50","value":14000,"unit":"tok/s","tool":"naive"}' >"$tmp/naive.jsonl"
status 1 "$tokaudit" analyze "$example" --claims "$tmp/naive.jsonl"
prints 'differs  rate.p50=14000tok/s'
prints 'P43 Server generates first, streams afterwards'
printf 'metric,stat,value,unit\nrate,p50,60.5,tok/s\n' >"$tmp/true.csv"
status 0 "$tokaudit" analyze "$example" --claims "$tmp/true.csv"
prints 'confirmed'

# The same, as the harness itself prints it (tests/support/naive_harness.c).
echo '{"requests":9,"gen_tps_p50":13754,"ttft_p50_ms":1053.1}' >"$tmp/harness.json"
status 1 "$tokaudit" analyze "$example" --claims "$tmp/harness.json"
prints 'differs  gen_tps_p50=13754'
prints 'P43'
prints 'confirmed  *ttft_p50  *1053.1 ms  *1.05 s'

# A tool's file about this trace: one figure is what its own definition gives, the rate is none.
cat >"$tmp/vllm.json" <<'END'
{"backend":"vllm","tokenizer_id":"t","num_prompts":9,"completed":9,"failed":0,"duration":9.53,"total_output_tokens":576,
 "output_throughput":60.44,"mean_tpot_ms":0.0703,"request_goodput":null}
END
status 1 "$tokaudit" analyze "$example" --claims "$tmp/vllm.json"
prints 'confirmed  *vllm: output_throughput  *60.44 tok'
prints 'differs.*mean_tpot_ms'
prints 'P43'

# Without a trace: what a summary says against itself, and nothing more.
cat >"$tmp/bad.json" <<'END'
{"successes":{"count":100,"latency":{"request_latency":{"mean":1.15,"min":1.0,"max":1.3},
 "time_to_first_token":{"mean":0.06,"min":0.05,"max":0.07},
 "time_per_output_token":{"mean":0.0049,"min":0.0048,"max":0.0051}},
 "output_len":{"mean":110.4,"min":105,"max":115}},"load_summary":{"count":100},"failures":{"count":0}}
END
status 1 "$tokaudit" analyze --claims "$tmp/bad.json"
prints 'impossible.*time_per_output_token.mean'
prints '110.4 tokens - 1'
sed 's/0\.0049/0.0100/; s/0\.0048/0.0095/; s/0\.0051/0.0105/' "$tmp/bad.json" >"$tmp/good.json"
status 0 "$tokaudit" analyze --claims "$tmp/good.json"
prints 'nothing in the file speaks against them'
status 0 "$tokaudit" analyze --claims - --claims-format inference-perf <"$tmp/good.json"
status 0 "$tokaudit" analyze -v --claims "$tmp/good.json"
says 'read as inference-perf'

# The JSON and the page.
"$tokaudit" analyze --claims "$tmp/bad.json" --format json --report "$tmp/report" -o "$tmp/bad.out" || :
grep -q '"verdict": *"impossible"' "$tmp/bad.out" || fail "no verdict in the JSON"
[ -s "$tmp/report/report.html" ] || fail "no page"
if command -v python3 >/dev/null; then
    python3 tests/support/schema_check.py analyze/schema/analysis.schema.json "$tmp/bad.out" || fail "the schema"
fi

# Files as they come: gzip'd, cut, as CSV, as YAML.
gzip -c "$tmp/good.json" >"$tmp/good.json.gz"
status 0 "$tokaudit" analyze --claims "$tmp/good.json.gz"
prints 'nothing in the file speaks against them'
status 0 "$tokaudit" analyze --claims - <"$tmp/good.json.gz"
head -c 100 "$tmp/good.json.gz" >"$tmp/cut.json.gz"
status 3 "$tokaudit" analyze --claims "$tmp/cut.json.gz"
says 'cut.json.gz'
status 0 "$tokaudit" analyze -v --claims tests/peers/guidellm-0.8.1/benchmarks.csv
says 'read as GuideLLM; 91 figures'
sed '4s/,"\[0.5528452396392822/,"[0.7/' tests/peers/guidellm-0.8.1/benchmarks.csv >"$tmp/bad.csv"
status 1 "$tokaudit" analyze --claims "$tmp/bad.csv"
prints 'request_latency'
status 0 "$tokaudit" analyze -v --claims tests/peers/aiperf-0.13.0/profile_export_aiperf.csv
says 'read as AIPerf; '
printf '%s\n' 'Metric,avg,min,max,p99,p95,p90,p75,p50,p25' \
    'Time To First Token (ms),20.00,10.00,30.00,29.00,28.00,27.00,25.00,20.00,15.00' \
    'Request Latency (ms),15.00,12.00,18.00,17.90,17.80,17.00,16.00,15.00,13.00' '' 'Metric,Value' \
    'Request Throughput (per sec),2.00' >"$tmp/genai.csv"
status 1 "$tokaudit" analyze -v --claims "$tmp/genai.csv"
says 'read as GenAI-Perf; '
prints 'impossible.*time_to_first_token.avg = 20.00'
printf 'benchmarks:\n- config:\n    backend:\n' >"$tmp/benchmarks.yaml"
status 3 "$tokaudit" analyze --claims "$tmp/benchmarks.yaml"
says 'kind=json'

printf '%s\n' 'model,test_name,t_s_mean,ttfr_mean,e2e_ttft_mean' 'm,pp2048,100,25,20' 'm,tg32 (c4),50,,' >"$tmp/benchy.csv"
status 1 "$tokaudit" analyze -v --claims "$tmp/benchy.csv"
says 'read as llama-benchy; '
prints 'impossible.*ttfr.mean = 25'

# A file that ends inside a result is used for the whole ones before it, and that is said; one with none is not read.
echo '{"mean_ttft_ms":1.5,"median_ttft_ms":1.4}' >"$tmp/appended.json"
printf '{"mean_ttft_ms":90.5,"median_tt' >>"$tmp/appended.json"
status 0 "$tokaudit" analyze --claims "$tmp/appended.json"
prints 'A result file ends inside a result'
prints 'line 2: the file ends inside a JSON value; 1 whole result'
says 'line 2: the file ends inside a JSON value'
status 1 "$tokaudit" analyze --claims "$tmp/appended.json" --fail-on warn
printf '{"mean_ttft_ms":90.5,"median_tt' >"$tmp/cut.json"
status 3 "$tokaudit" analyze --claims "$tmp/cut.json"
says 'the file ends inside a JSON value'

# What cannot be read ends it, and is named.
status 3 "$tokaudit" analyze "$example" --claims "$tmp/nothing"
says 'nothing'
echo '{"a":1}' >"$tmp/unknown.json"
status 3 "$tokaudit" analyze --claims "$tmp/unknown.json"
says 'no result file that is known'
status 2 "$tokaudit" analyze
says 'analyze needs a trace'
passed
